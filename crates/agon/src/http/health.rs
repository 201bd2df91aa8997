//! What operators' machines ask: alive, ready, figures.

use agon_domain::Purpose;
use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};

use crate::app::{
    App,
    screening::{Coverage, Standing},
};

/// `GET /healthz`: the process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the store answers and a battle can be drawn; says which protections are off.
pub async fn ready(State(app): State<App>) -> Response {
    let store = app.store().last_sequence().await.is_ok();
    let pair = agon_domain::sampling::can_draw(app.models(), false);
    let stopping = app.stopping().is_cancelled();
    let coverage = app.screener().coverage();
    let is_missing = coverage
        .with(Purpose::Chat, Standing::Missing)
        .next()
        .is_some();
    let is_covered = !is_missing || !app.config().raw.screening.ready_needs_coverage;
    let is_ready = store && pair && !stopping && is_covered;
    let body = Json(json!({
        "ready": is_ready,
        "store": store,
        "pair_can_be_drawn": pair,
        "stopping": stopping,
        "demo": app.is_demo(),
        "screening": coverage_json(coverage),
    }));
    let status = if is_ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, body).into_response()
}

/// What is screened for, by kind: who looks, what follows, and how it stands for chats and releases.
pub fn coverage_json(coverage: &Coverage) -> Value {
    let kinds: serde_json::Map<String, Value> = coverage
        .kinds
        .iter()
        .map(|kind| {
            let by: Vec<String> = kind.by.iter().map(ToString::to_string).collect();
            let standing = |purpose| {
                json!({
                    "standing": kind.standing(purpose).as_str(),
                    "action": kind.action(purpose).as_str(),
                })
            };
            let entry = json!({
                "by": by,
                "chat": standing(Purpose::Chat),
                "release": standing(Purpose::Release),
            });
            (kind.kind.as_str().to_owned(), entry)
        })
        .collect();
    Value::Object(kinds)
}

/// `GET /metrics`: figures in Prometheus' text format.
///
/// None carries a model's name: whoever watched a counter move could tell which model answers.
pub async fn metrics(State(app): State<App>) -> Response {
    (
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        app.render_metrics(),
    )
        .into_response()
}
