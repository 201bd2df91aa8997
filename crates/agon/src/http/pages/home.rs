//! The first page: the terms to whoever has not accepted them, the composer to whoever has.

use agon_domain::BattleId;
use askama::Template;
use axum::{
    Form,
    extract::{State, rejection::FormRejection},
    http::{StatusCode, header},
    response::Response,
};
use serde::Deserialize;

use super::{Page, Refusal, error_page, html, or_error, see_other, sentences};
use crate::{
    app::App,
    http::{
        error::ApiError,
        extract::PromptForm,
        markdown,
        visit::{self, Visitor},
    },
};

/// The language of the pages and of the built-in terms, which a consent records.
const LOCALE: &str = "en";

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentPage {
    page: Page,
    terms_version: String,
    terms_html: String,
    error: Option<String>,
}

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    page: Page,
    open_battle: Option<BattleId>,
    prompt: String,
    error: Option<FormError>,
    vision: bool,
    n_models: usize,
    upload_bytes_max: usize,
    upload_mb: usize,
    prompt_chars_max: usize,
    samples: Vec<Sample>,
}

/// What was wrong with the form.
struct FormError {
    message: String,
    hint: Option<String>,
}

/// A question to start with.
struct Sample {
    label: &'static str,
    prompt: &'static str,
    image: bool,
}

const SAMPLES: [Sample; 6] = [
    Sample {
        label: "Explain a photo",
        prompt: "What is happening in this picture? Say what you are sure of and what you are guessing.",
        image: true,
    },
    Sample {
        label: "Read a receipt",
        prompt: "Read this receipt and list each item with its price as a table. Then check the sum.",
        image: true,
    },
    Sample {
        label: "Why is the sky blue?",
        prompt: "Why is the sky blue, and why is it red in the evening? Explain it to a ten-year-old.",
        image: false,
    },
    Sample {
        label: "Find the bug",
        prompt: "This Python function should return the median. What is wrong with it?\n\ndef median(xs):\n    xs.sort\n    return xs[len(xs) / 2]",
        image: false,
    },
    Sample {
        label: "Solve a puzzle",
        prompt: "A farmer has 17 sheep. All but 9 run away, then he buys twice as many as he has left. How many does he have? Show the steps.",
        image: false,
    },
    Sample {
        label: "Write in another language",
        prompt: "Write a short, friendly invitation to a garden party, in French and in Arabic.",
        image: false,
    },
];

/// The consent form.
#[derive(Deserialize)]
pub(super) struct ConsentForm {
    policy_version: String,
}

/// `GET /`.
pub(super) async fn show(State(app): State<App>, visitor: Visitor) -> Response {
    or_error(&app, first_page(&app, &visitor).await)
}

async fn first_page(app: &App, visitor: &Visitor) -> Result<Response, Refusal> {
    let Some(visit) = visitor.visit else {
        return Ok(consent_page(app, StatusCode::OK, None));
    };
    if !app.consent(visit).await? {
        return Ok(consent_page(app, StatusCode::OK, None));
    }
    let open_battle = app.open_battle(visit).await?;
    Ok(home_page(
        app,
        StatusCode::OK,
        open_battle,
        String::new(),
        None,
    ))
}

fn consent_page(app: &App, status: StatusCode, error: Option<String>) -> Response {
    let terms = app.terms();
    let page = ConsentPage {
        page: Page::new(app, "battle"),
        terms_version: terms.version.clone(),
        terms_html: markdown::render_document(&terms.text_markdown, 3),
        error,
    };
    html(status, &page)
}

fn home_page(
    app: &App,
    status: StatusCode,
    open_battle: Option<BattleId>,
    prompt: String,
    error: Option<FormError>,
) -> Response {
    let limits = &app.config().raw.limits;
    let in_battles = || app.models().iter().filter(|model| model.weight > 0.0);
    let vision = in_battles().filter(|model| model.vision).count() >= 2;
    let page = HomePage {
        page: Page::new(app, "battle"),
        open_battle,
        prompt,
        error,
        vision,
        n_models: in_battles().count(),
        upload_bytes_max: limits.upload_bytes_max,
        upload_mb: limits.upload_bytes_max / (1024 * 1024),
        prompt_chars_max: limits.prompt_chars_max,
        samples: SAMPLES
            .into_iter()
            .filter(|sample| vision || !sample.image)
            .collect(),
    };
    html(status, &page)
}

/// `POST /consent`.
pub(super) async fn give_consent(
    State(app): State<App>,
    visitor: Visitor,
    form: Result<Form<ConsentForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else {
        let error = "The form came without the version of the terms. Please try again.".to_owned();
        return consent_page(&app, StatusCode::UNPROCESSABLE_ENTITY, Some(error));
    };
    match visit::give_consent(
        &app,
        &visitor,
        &form.policy_version,
        Some(LOCALE.to_owned()),
    )
    .await
    {
        Ok(cookie) => {
            let mut response = see_other("/");
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response
        }
        Err(error) => {
            let error = ApiError::from(error);
            if error.code == "consent_outdated" {
                let text = "The terms have changed since you opened this page. Please read the version below.".to_owned();
                consent_page(&app, error.status, Some(text))
            } else {
                error_page(&app, error, None)
            }
        }
    }
}

/// `POST /battle`.
pub(super) async fn start_battle(
    State(app): State<App>,
    visitor: Visitor,
    form: Result<PromptForm, ApiError>,
) -> Response {
    let form = match form {
        Ok(form) => form,
        Err(error) => return refused(&app, error, String::new(), false),
    };
    let prompt = form.prompt.clone();
    let had_image = form.image.is_some();
    match app.start_battle(&visitor, form.prompt, form.image).await {
        Ok(id) => see_other(&format!("/battle/{id}")),
        Err(error) => refused(&app, error.into(), prompt, had_image),
    }
}

/// The composer again, with what was written and why it was refused.
fn refused(app: &App, error: ApiError, prompt: String, had_image: bool) -> Response {
    if matches!(error.code, "consent_required" | "consent_outdated") {
        return consent_page(
            app,
            error.status,
            Some("Please accept the terms first.".to_owned()),
        );
    }
    if error.status.is_server_error() && error.code == "internal" {
        return error_page(app, error, None);
    }
    let again = if had_image {
        " Please choose the image again."
    } else {
        ""
    };
    let hint = error
        .hint
        .map(|hint| format!("{hint}{again}"))
        .or_else(|| had_image.then(|| again.trim().to_owned()));
    let form_error = FormError {
        message: sentences(&error.message, None)
            .trim_end_matches('.')
            .to_owned(),
        hint,
    };
    home_page(app, error.status, None, prompt, Some(form_error))
}
