//! What the votes say.

use axum::{Json, extract::State};
use std::sync::Arc;

use crate::{
    app::{App, RatingHistory, leaderboard::Board},
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

/// Show ratings over time
///
/// One point for each model and month (UTC), from all votes up to the end of that month, the newest included.
/// Only the group of models with most battles is followed.
#[utoipa::path(get, path = "/api/v1/leaderboard/history", tag = "leaderboard",
    responses((status = 200, description = "The ratings by month", body = RatingHistory)))]
pub async fn history(State(app): State<App>) -> Result<Json<Arc<RatingHistory>>, ApiError> {
    Ok(Json(app.rating_history().await?))
}
