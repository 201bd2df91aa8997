//! The JSON API, one file for each noun: what the pages can do, programs can do.

pub mod battles;
pub mod consents;
pub mod events;
pub mod leaderboard;
pub mod models;
pub mod views;

use axum::Json;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::app::App;

/// The description that the routes below are added to.
#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Agon",
        description = "The HTTP API of an Agon arena. A visit is a cookie, set when the terms are accepted; a battle can be seen and voted on only by the visit that started it. No model's name leaves the server before the vote.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "consents", description = "Accepting the terms"),
        (name = "battles", description = "Asking, voting, revealing"),
        (name = "leaderboard", description = "What the votes say"),
    )
)]
struct Description;

/// Every API route with its description.
pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(consents::terms))
        .routes(routes!(consents::give))
        .routes(routes!(battles::list, battles::start))
        .routes(routes!(battles::show))
        .routes(routes!(battles::add_turn))
        .routes(routes!(battles::retry))
        .routes(routes!(battles::vote))
        .routes(routes!(events::stream))
        .routes(routes!(leaderboard::show))
        .routes(routes!(leaderboard::history))
        .routes(routes!(models::list))
}

/// The OpenAPI document.
pub fn openapi() -> utoipa::openapi::OpenApi {
    router().into_openapi()
}

/// The OpenAPI document as JSON.
pub fn openapi_value() -> serde_json::Value {
    // It is made of strings and maps with string keys, which serialise always.
    serde_json::to_value(openapi()).unwrap_or_default()
}

/// `GET /api/openapi.json`.
pub async fn openapi_json() -> Json<utoipa::openapi::OpenApi> {
    Json(openapi())
}
