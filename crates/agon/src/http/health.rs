//! What operators' machines ask: alive, ready, figures.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use crate::app::App;

/// `GET /healthz`: the process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the store answers and a battle can be drawn; says which protections are off.
pub async fn ready(State(app): State<App>) -> Response {
    let store = app.store().last_sequence().await.is_ok();
    let pair = agon_domain::sampling::can_draw(app.models(), false);
    let stopping = app.stopping().is_cancelled();
    let is_ready = store && pair && !stopping;
    let body = Json(json!({
        "ready": is_ready,
        "store": store,
        "pair_can_be_drawn": pair,
        "stopping": stopping,
        "demo": app.is_demo(),
        "not_screened": ["known abuse images", "NSFW images", "faces", "personal data in text", "personal data in images"],
    }));
    let status = if is_ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, body).into_response()
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
