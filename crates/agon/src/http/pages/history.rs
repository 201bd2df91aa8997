//! The battles of this browser.

use agon_domain::{BattleId, Winner};
use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};

use super::{Page, Refusal, html, or_error};
use crate::{
    app::{App, HistoryEntry},
    http::visit::Visitor,
};

#[derive(Template)]
#[template(path = "my.html")]
struct HistoryPage {
    page: Page,
    entries: Vec<Entry>,
}

struct Entry {
    id: BattleId,
    prompt: String,
    vote: Option<&'static str>,
    models: Option<(String, String)>,
    /// RFC 3339.
    started_at: String,
    /// For readers whose browser does not turn it into local time.
    started_at_words: String,
}

impl From<HistoryEntry> for Entry {
    fn from(entry: HistoryEntry) -> Self {
        Self {
            id: entry.id,
            prompt: entry.prompt,
            vote: entry.vote.map(|winner| match winner {
                Winner::A => "A was better",
                Winner::B => "B was better",
                Winner::Tie => "Tie",
                Winner::BothBad => "Both were bad",
            }),
            models: entry.models.map(|models| (models.a, models.b)),
            started_at: entry.started_at.to_string(),
            started_at_words: entry.started_at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        }
    }
}

/// `GET /my`.
pub(super) async fn show(State(app): State<App>, visitor: Visitor) -> Response {
    or_error(&app, history(&app, &visitor).await)
}

async fn history(app: &App, visitor: &Visitor) -> Result<Response, Refusal> {
    let entries = match visitor.visit {
        Some(visit) => app
            .history(visit)
            .await?
            .into_iter()
            .map(Entry::from)
            .collect(),
        None => Vec::new(),
    };
    let page = HistoryPage {
        page: Page::new(app, "my"),
        entries,
    };
    Ok(html(StatusCode::OK, &page))
}
