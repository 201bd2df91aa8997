//! Reading requests, with errors in the API's shape.

use agon_domain::BattleId;
use axum::{
    Json,
    body::Bytes,
    extract::{
        FromRequest, FromRequestParts, Multipart, Path, Query, Request, multipart::MultipartError,
        rejection::JsonRejection,
    },
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;

use crate::{app::App, http::error::ApiError};

/// A JSON body.
#[derive(Debug)]
pub struct ApiJson<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for ApiJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        match Json::<T>::from_request(request, app).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(json_error(&rejection)),
        }
    }
}

fn json_error(rejection: &JsonRejection) -> ApiError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::new("upload_too_large", "The request body is too large");
    }
    ApiError::new("bad_request", rejection.body_text()).with_hint(
        "Send a JSON object with `Content-Type: application/json`; the fields are in /api.",
    )
}

/// A battle's id in the path. A malformed one is an unknown battle.
#[derive(Debug)]
pub struct BattlePath(pub BattleId);

impl FromRequestParts<App> for BattlePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let id = Path::<String>::from_request_parts(parts, app)
            .await
            .ok()
            .and_then(|Path(text)| text.parse().ok());
        id.map(Self)
            .ok_or_else(|| crate::app::AppError::UnknownBattle.into())
    }
}

/// A query string.
#[derive(Debug)]
pub struct ApiQuery<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for ApiQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        match Query::<T>::from_request_parts(parts, app).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(ApiError::new("bad_request", rejection.body_text())),
        }
    }
}

/// The form that starts a battle: `prompt`, and optionally `image`.
#[derive(Debug)]
pub struct PromptForm {
    /// What was written.
    pub prompt: String,
    /// The file, when one was chosen.
    pub image: Option<Bytes>,
}

impl FromRequest<App> for PromptForm {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let mut form = Multipart::from_request(request, app)
            .await
            .map_err(|rejection| {
                ApiError::new("bad_request", rejection.body_text())
                    .with_hint("Send `multipart/form-data` with the fields `prompt` and `image`.")
            })?;
        let mut prompt = None;
        let mut image = None;
        while let Some(field) = form
            .next_field()
            .await
            .map_err(|error| multipart_error(&error))?
        {
            let name = field.name().unwrap_or_default().to_owned();
            let seen_twice = match name.as_str() {
                "prompt" => prompt
                    .replace(
                        field
                            .text()
                            .await
                            .map_err(|error| multipart_error(&error))?,
                    )
                    .is_some(),
                "image" => {
                    // A browser sends an empty file without a name when none was chosen.
                    let was_chosen = field
                        .file_name()
                        .is_some_and(|file_name| !file_name.is_empty());
                    let bytes = field
                        .bytes()
                        .await
                        .map_err(|error| multipart_error(&error))?;
                    (was_chosen || !bytes.is_empty()) && image.replace(bytes).is_some()
                }
                _ => {
                    return Err(ApiError::new(
                        "bad_request",
                        format!(
                            "`{}` is not a field of this form: expected `prompt` and `image`",
                            name.chars().take(80).collect::<String>()
                        ),
                    ));
                }
            };
            if seen_twice {
                return Err(ApiError::new(
                    "bad_request",
                    format!("The field `{name}` came twice; one is accepted"),
                ));
            }
        }
        Ok(Self {
            // Browsers send line ends as CR LF.
            prompt: prompt.unwrap_or_default().replace("\r\n", "\n"),
            image,
        })
    }
}

fn multipart_error(error: &MultipartError) -> ApiError {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        ApiError::new("upload_too_large", "The upload is too large")
            .with_hint("Send a smaller image.")
    } else {
        ApiError::new("bad_request", error.body_text())
    }
}
