//! Reading requests, with errors in the API's shape.

use agon_domain::BattleId;
use std::{sync::LazyLock, time::Duration};

use axum::{
    Json, RequestExt as _,
    body::Bytes,
    extract::{
        DefaultBodyLimit, FromRequest, FromRequestParts, Multipart, Path, Query, Request,
        multipart::{Field, MultipartError},
        rejection::JsonRejection,
    },
    http::{StatusCode, header, request::Parts},
};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use crate::{
    app::{App, AppError},
    http::{error::ApiError, visit::Visitor},
};

/// Room in a JSON body beside a prompt, in bytes.
const JSON_OVERHEAD_BYTES: usize = 64 * 1024;
/// How many bytes of JSON one character of a prompt takes at most: two escapes of six.
const JSON_BYTES_PER_CHAR: usize = 12;
/// How many forms above [`FORM_SMALL_BYTES`] are read at the same time; the others wait, unread. Each is held in memory, up to twice its size while it grows.
const LARGE_FORMS_MAX: usize = 12;
/// A form of at most so many bytes waits for no other.
const FORM_SMALL_BYTES: u64 = 256 * 1024;
/// How long a form may take to arrive, in seconds.
const FORM_READ_S: u64 = 120;

static LARGE_FORMS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(LARGE_FORMS_MAX));

/// A JSON body.
#[derive(Debug)]
pub struct ApiJson<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for ApiJson<T> {
    type Rejection = ApiError;

    async fn from_request(mut request: Request, app: &App) -> Result<Self, ApiError> {
        let prompt_bytes_max = app
            .config()
            .raw
            .limits
            .prompt_chars_max
            .saturating_mul(JSON_BYTES_PER_CHAR);
        DefaultBodyLimit::max(prompt_bytes_max.saturating_add(JSON_OVERHEAD_BYTES))
            .apply(&mut request);
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

    async fn from_request(mut request: Request, app: &App) -> Result<Self, ApiError> {
        // A stranger's upload is not read at all.
        let visitor: Visitor = match request.extract_parts_with_state(app).await {
            Ok(visitor) => visitor,
            Err(never) => match never {},
        };
        if !app.consent(visitor.visit()?).await? {
            return Err(AppError::ConsentRequired.into());
        }
        let is_small = request
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse::<u64>().ok())
            .is_some_and(|n_bytes| n_bytes <= FORM_SMALL_BYTES);
        let read = async {
            let _place = match is_small {
                true => None,
                // Never closed.
                false => LARGE_FORMS.acquire().await.ok(),
            };
            Self::read(request, app).await
        };
        tokio::time::timeout(Duration::from_secs(FORM_READ_S), read)
            .await
            .map_err(|_| ApiError::new("bad_request", "The upload took too long to arrive"))?
    }
}

impl PromptForm {
    async fn read(request: Request, app: &App) -> Result<Self, ApiError> {
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
                "prompt" => prompt.replace(read_text(field).await?).is_some(),
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

/// A field's text, which has to be UTF-8: another encoding or broken text is not guessed at.
async fn read_text(field: Field<'_>) -> Result<String, ApiError> {
    let bytes = field
        .bytes()
        .await
        .map_err(|error| multipart_error(&error))?;
    String::from_utf8(bytes.into())
        .map_err(|_| ApiError::new("bad_request", "The field `prompt` is not UTF-8 text"))
}

fn multipart_error(error: &MultipartError) -> ApiError {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        ApiError::new("upload_too_large", "The upload is too large")
            .with_hint("Send a smaller image.")
    } else {
        ApiError::new("bad_request", error.body_text())
    }
}
