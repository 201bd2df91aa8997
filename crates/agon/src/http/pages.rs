//! The pages: HTML that is complete without script, which scripts then enliven.
//!
//! Handlers call a verb of the application, turn what it returns into what a template shows, and nothing else.

mod battle;
mod documents;
mod history;
mod home;
mod leaderboard;
mod screening;

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};

use crate::{
    app::{App, AppError},
    http::{assets, error::ApiError},
};

/// The routes of all pages.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/consent", post(home::give_consent))
        .route("/battle", post(home::start_battle))
        .route("/battle/{id}", get(battle::show))
        .route("/battle/{id}/turns", post(battle::add_turn))
        .route("/battle/{id}/retry", post(battle::retry))
        .route("/battle/{id}/vote", post(battle::vote))
        .route("/my", get(history::show))
        .route("/leaderboard", get(leaderboard::show))
        .route("/leaderboard.csv", get(leaderboard::download))
        .route("/leaderboard/plots/{name}", get(leaderboard::plots::show))
        .route("/about", get(documents::about))
        .route("/terms", get(documents::terms))
        .route("/privacy", get(documents::privacy))
        .route("/screening", get(screening::show))
        .route("/api", get(documents::api_reference))
}

/// The answer to an address where there is nothing: a page for people, JSON below `/api/`.
pub async fn not_found(State(app): State<App>, uri: axum::http::Uri) -> Response {
    let error = ApiError::new("not_found", "There is nothing at this address");
    if uri.path().starts_with("/api/") {
        error.into_response()
    } else {
        error_page(&app, error, None)
    }
}

/// What the frame of every page shows.
#[derive(Debug)]
struct Page {
    arena_name: String,
    contact: Option<String>,
    is_demo: bool,
    /// What the addresses of assets start with.
    assets: &'static str,
    /// Which entry of the navigation is this page.
    nav: &'static str,
}

impl Page {
    fn new(app: &App, nav: &'static str) -> Self {
        Self {
            arena_name: app.arena_name().to_owned(),
            contact: app.config().raw.arena.contact.clone(),
            is_demo: app.is_demo(),
            assets: assets::base(),
            nav,
        }
    }
}

/// Renders a template. One that fails is our own fault.
fn html(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            ApiError::new("internal", "Something went wrong here").into_response()
        }
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    page: Page,
    status: u16,
    title: &'static str,
    message: String,
    back: Option<String>,
}

/// An error as a page, with the way back to where it happened.
fn error_page(app: &App, error: ApiError, back: Option<String>) -> Response {
    let title = match error.code {
        "not_found" => "Nothing here",
        "unknown_battle" => "No such battle on this device",
        "consent_required" => "Please read the terms first",
        "rate_limited" => "That was quick",
        "busy" | "stopping" => "The arena is busy",
        "internal" => "Something went wrong",
        _ => "That did not work",
    };
    let hint = match error.code {
        // The hints of the API speak to programs.
        "consent_required" => Some("They are on the first page.".to_owned()),
        "not_found" => Some("The address may be mistyped, or what was here is gone.".to_owned()),
        _ => error.hint.clone(),
    };
    let page = ErrorPage {
        page: Page::new(app, ""),
        status: error.status.as_u16(),
        title,
        message: sentences(&error.message, hint.as_deref()),
        back,
    };
    let mut response = html(error.status, &page);
    if let Some(seconds) = error.retry_after_s {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// What is wrong and what to do about it, as sentences.
fn sentences(message: &str, hint: Option<&str>) -> String {
    let mut text = message.trim_end_matches('.').to_owned();
    text.push('.');
    if let Some(hint) = hint {
        text.push(' ');
        text.push_str(hint);
    }
    text
}

/// A refusal on the way to a page.
#[derive(Debug)]
struct Refusal(Box<ApiError>);

impl From<AppError> for Refusal {
    fn from(error: AppError) -> Self {
        Self(Box::new(error.into()))
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self(Box::new(error))
    }
}

/// The page that a handler made, or the page of why it could not.
fn or_error(app: &App, result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(|Refusal(error)| error_page(app, *error, None))
}

/// Redirects to an address of our own after a form was sent, so that loading the page again sends nothing again.
fn see_other(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(address) => (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response(),
        // Our own addresses are ASCII; should one not be, the first page is never wrong.
        Err(_) => (
            StatusCode::SEE_OTHER,
            [(header::LOCATION, HeaderValue::from_static("/"))],
        )
            .into_response(),
    }
}
