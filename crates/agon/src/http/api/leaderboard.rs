//! What the votes say.

use axum::{Json, extract::State};
use std::sync::Arc;

use crate::{
    app::{App, leaderboard::Board},
    http::error::ApiError,
};

/// Show the leaderboard
///
/// The same document as `agon rank --json` prints. Computed from all votes, the newest included.
#[utoipa::path(get, path = "/api/v1/leaderboard", tag = "leaderboard",
    responses((status = 200, description = "The leaderboard", body = Board)))]
pub async fn show(State(app): State<App>) -> Result<Json<Arc<Board>>, ApiError> {
    Ok(Json(app.leaderboard().await?))
}
