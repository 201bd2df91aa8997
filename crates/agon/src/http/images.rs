//! A battle's own picture, for the visit that uploaded it.

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};

use crate::{
    app::App,
    http::{error::ApiError, extract::BattlePath, visit::Visitor},
};

/// `GET /battle/{id}/image`.
///
/// # Errors
///
/// `unknown_battle` for another visit's battle, `not_found` for one without an image.
pub async fn show(
    State(app): State<App>,
    visitor: Visitor,
    BattlePath(id): BattlePath,
) -> Result<Response, ApiError> {
    let image = app
        .battle_image(visitor.visit()?, id)
        .await?
        .ok_or_else(|| ApiError::new("not_found", "This battle has no image"))?;
    let media_type = HeaderValue::from_static(image.meta.format.media_type());
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("inline; filename=\"image\""),
        ),
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static("private, max-age=31536000, immutable"),
        ),
    ];
    Ok((headers, image.bytes).into_response())
}
