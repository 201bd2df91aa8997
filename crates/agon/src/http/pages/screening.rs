//! The page that says who looks for what, and what nobody looks for.

use agon_domain::{Action, FindingKind, Purpose};
use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};

use super::{Page, html};
use crate::app::{
    App,
    screening::{KindCoverage, Standing},
};

#[derive(Template)]
#[template(path = "screening.html")]
struct ScreeningPage {
    page: Page,
    rows: Vec<Row>,
}

struct Row {
    what: &'static str,
    by: String,
    chat: String,
    release: String,
}

/// `GET /screening`.
pub(super) async fn show(State(app): State<App>) -> Response {
    let rows = app
        .screener()
        .coverage()
        .kinds
        .iter()
        .map(|kind| Row {
            what: words(kind.kind),
            by: match kind.by.as_slice() {
                [] => "nobody".to_owned(),
                by => by
                    .iter()
                    .map(|detector| detector.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            },
            chat: standing(kind, Purpose::Chat),
            release: standing(kind, Purpose::Release),
        })
        .collect();
    let page = ScreeningPage {
        page: Page::new(&app, ""),
        rows,
    };
    html(StatusCode::OK, &page)
}

/// What a kind is called on pages.
pub(super) const fn words(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::KnownImage => "known abuse images",
        FindingKind::NsfwImage => "sexual pictures",
        FindingKind::ViolentImage => "violent pictures",
        FindingKind::Face => "faces",
        FindingKind::PiiText => "personal data in text",
        FindingKind::PiiImage => "personal data in pictures",
        FindingKind::HarmfulText => "harmful text",
        FindingKind::Probe => "questions after the model's name",
    }
}

fn standing(kind: &KindCoverage, purpose: Purpose) -> String {
    match kind.standing(purpose) {
        Standing::Covered => match kind.action(purpose) {
            Action::Off | Action::Log => "counted",
            Action::Warn => "pointed out",
            Action::Blur => "made unrecognisable",
            Action::Block | Action::Quarantine => "refused",
        },
        Standing::SwitchedOff => "not looked for: switched off",
        Standing::NotInstalled => "not looked for: nothing is installed",
        Standing::Missing => "not sent or published: required, and nothing is installed",
    }
    .to_owned()
}

/// The kinds that somebody looks for in what is sent, or that nobody does, in words.
pub(super) fn listed(app: &App, is_covered: bool) -> String {
    app.screener()
        .coverage()
        .kinds
        .iter()
        .filter(|kind| (kind.chat == Standing::Covered) == is_covered)
        .map(|kind| words(kind.kind))
        .collect::<Vec<_>>()
        .join(", ")
}
