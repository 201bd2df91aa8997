//! Pages that are read: about, terms, privacy, the API reference.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};

use super::{Page, html, screening};
use crate::{
    app::App,
    http::{api, markdown, reference},
};

#[derive(Template)]
#[template(path = "about.html")]
struct AboutPage {
    page: Page,
    models: Vec<ListedModel>,
}

struct ListedModel {
    name: String,
    organization: String,
    license: String,
    vision: bool,
    scripted: bool,
}

#[derive(Template)]
#[template(path = "privacy.html")]
struct PrivacyPage {
    page: Page,
    looked_for: String,
    not_looked_for: String,
    terms_version: String,
}

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage {
    page: Page,
    title: &'static str,
    show_title: bool,
    html: String,
    meta: Option<String>,
}

/// `GET /about`.
pub(super) async fn about(State(app): State<App>) -> Response {
    let or_unknown =
        |text: &Option<String>| text.clone().unwrap_or_else(|| "not stated".to_owned());
    let mut models: Vec<ListedModel> = app
        .models()
        .iter()
        .filter(|model| model.weight > 0.0)
        .map(|model| ListedModel {
            name: model.name.clone(),
            organization: or_unknown(&model.organization),
            license: or_unknown(&model.license),
            vision: model.vision,
            scripted: model.scripted,
        })
        .collect();
    models.sort_by(|one, other| one.name.cmp(&other.name));
    let page = AboutPage {
        page: Page::new(&app, "about"),
        models,
    };
    html(StatusCode::OK, &page)
}

/// `GET /terms`.
pub(super) async fn terms(State(app): State<App>) -> Response {
    let terms = app.terms();
    let html_text = markdown::render_document(&terms.text_markdown, 1);
    let page = DocumentPage {
        page: Page::new(&app, ""),
        title: "Terms of use",
        // The page's own title stands in for a text that has none.
        show_title: !html_text.starts_with("<h1"),
        html: html_text,
        meta: Some(format!(
            "Version {}. A changed text is another version, and asks again.",
            terms.version
        )),
    };
    html(StatusCode::OK, &page)
}

/// `GET /privacy`.
pub(super) async fn privacy(State(app): State<App>) -> Response {
    let page = PrivacyPage {
        looked_for: screening::listed(&app, true),
        not_looked_for: screening::listed(&app, false),
        page: Page::new(&app, ""),
        terms_version: app.terms().version.clone(),
    };
    html(StatusCode::OK, &page)
}

/// `GET /api`.
pub(super) async fn api_reference(State(app): State<App>) -> Response {
    let page = DocumentPage {
        page: Page::new(&app, ""),
        title: "API reference",
        show_title: false,
        html: reference::body(&api::openapi_value()),
        meta: None,
    };
    html(StatusCode::OK, &page)
}
