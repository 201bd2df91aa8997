//! Application errors as HTTP answers: one table of stable codes, listed in `docs/api.md`.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::{AppError, plots::PlotError},
    http::api::views::VoteBody,
};

/// An error as it leaves the server.
#[derive(Debug)]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// A stable code.
    pub code: &'static str,
    /// What is wrong, in words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// When to come back, in seconds.
    pub retry_after_s: Option<u64>,
    /// The first vote, for `already_voted`.
    pub vote: Option<Box<VoteBody>>,
}

/// The body of an error.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// What is wrong.
    pub error: ErrorDetail,
    /// The first vote, when a second one is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vote: Option<VoteBody>,
}

/// What is wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDetail {
    /// A stable code; the list is in the API reference.
    #[schema(example = "already_voted")]
    pub code: String,
    /// What is wrong, in words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Every code with its status and meaning: the reference, and what the tests compare.
pub const CODES: &[(&str, u16, &str)] = &[
    (
        "already_voted",
        409,
        "the battle has a vote; the first one's result is in `vote`",
    ),
    (
        "answer_incomplete",
        409,
        "an answer is not valid: ask for it again before voting or going on",
    ),
    (
        "bad_request",
        400,
        "the request cannot be understood; the message says where",
    ),
    (
        "busy",
        503,
        "as many answers run, or plots are drawn, as may at once",
    ),
    (
        "consent_outdated",
        409,
        "the terms have changed since they were read",
    ),
    (
        "consent_required",
        403,
        "the terms have to be accepted first",
    ),
    (
        "conversation_ended",
        409,
        "the battle was ended; nothing can be added to it",
    ),
    (
        "cross_site",
        403,
        "the request comes from another site's page",
    ),
    (
        "idempotency_key_reused",
        409,
        "the key was used for another request",
    ),
    ("image_broken", 422, "the image cannot be decoded"),
    (
        "image_cannot_fit",
        422,
        "the image cannot be encoded within the limit",
    ),
    ("image_empty", 422, "the image file is empty"),
    (
        "image_side_too_long",
        422,
        "a side of the image has too many pixels",
    ),
    (
        "image_too_costly",
        422,
        "the image needs too much memory or work to be decoded",
    ),
    ("image_too_large", 413, "the image has too many bytes"),
    (
        "image_too_many_pixels",
        422,
        "the image has too many pixels",
    ),
    (
        "image_unsupported",
        415,
        "the file is not a JPEG, PNG, WebP, GIF, BMP or TIFF image",
    ),
    ("internal", 500, "the arena failed; nothing is said of why"),
    (
        "method_not_allowed",
        405,
        "the address exists, not for this method",
    ),
    (
        "no_pair",
        503,
        "fewer than two models can take part in this battle",
    ),
    ("not_found", 404, "there is nothing at this address"),
    (
        "not_screenable",
        422,
        "the picture or the text has a form that cannot be screened; nothing was sent",
    ),
    (
        "not_screened",
        503,
        "the picture or the text could not be screened now; nothing was sent",
    ),
    ("nothing_to_retry", 409, "no answer failed"),
    (
        "personal_data",
        422,
        "the text or the picture seems to hold personal data; nothing was sent",
    ),
    (
        "picture_refused",
        422,
        "the picture cannot be used in this arena; nothing was sent",
    ),
    (
        "plot_too_large",
        422,
        "there is more to draw than the server draws",
    ),
    ("prompt_empty", 422, "neither a text nor an image was sent"),
    ("prompt_too_long", 422, "the prompt has too many characters"),
    (
        "prompt_unprintable",
        422,
        "the prompt holds a NUL character",
    ),
    (
        "rate_limited",
        429,
        "too many prompts in a short time; `Retry-After` says when the next is welcome",
    ),
    ("still_answering", 409, "an answer is not complete yet"),
    ("stopping", 503, "the arena is stopping"),
    (
        "text_refused",
        422,
        "the text cannot be used in this arena; nothing was sent",
    ),
    (
        "too_many_refusals",
        429,
        "screening refused too much in a short time; `Retry-After` says when something new is welcome",
    ),
    (
        "too_many_turns",
        409,
        "the battle has as many turns as it may",
    ),
    (
        "unknown_battle",
        404,
        "there is no such battle on this device",
    ),
    ("upload_too_large", 413, "the request body is too large"),
];

impl ApiError {
    /// An error with a code of [`CODES`], which gives the status.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        let status = CODES
            .iter()
            .find(|(known, ..)| *known == code)
            .map_or(500, |(_, status, _)| *status);
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code,
            message: message.into(),
            hint: None,
            retry_after_s: None,
            vote: None,
        }
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<AppError> for ApiError {
    fn from(error: AppError) -> Self {
        let message = capitalised(&error.to_string());
        match error {
            AppError::ConsentRequired => Self::new("consent_required", message).with_hint(
                "Read the terms and accept them: POST /api/v1/consents, or the first page.",
            ),
            AppError::ConsentOutdated { .. } => Self::new("consent_outdated", message)
                .with_hint("Load the page again to read the terms in force."),
            AppError::UnknownBattle => Self::new("unknown_battle", message)
                .with_hint("A battle can be seen only by the browser that started it."),
            AppError::PromptEmpty => {
                Self::new("prompt_empty", message).with_hint("Write a question, or add an image.")
            }
            AppError::PromptTooLong { .. } => Self::new("prompt_too_long", message)
                .with_hint("Shorten it; nothing is cut off silently."),
            AppError::PromptUnprintable => Self::new("prompt_unprintable", message)
                .with_hint("Remove it; it is not visible text."),
            AppError::ContentRefused { class } => {
                Self::new(class.code(), message).with_hint(class.hint())
            }
            AppError::NotScreened { retry_after_s, .. } => {
                let mut error = Self::new("not_screened", message)
                    .with_hint("Nothing was sent or kept. Try again later.");
                error.retry_after_s = Some(retry_after_s);
                error
            }
            AppError::CannotBeScreened { is_picture } => Self::new("not_screenable", message)
                .with_hint(if is_picture {
                    "Nothing was sent or kept. Choose another picture."
                } else {
                    "Nothing was sent or kept. Write it differently."
                }),
            AppError::ConversationEnded => {
                Self::new("conversation_ended", message).with_hint("Start a new battle.")
            }
            AppError::TooManyRefusals { retry_after_s } => {
                let mut error = Self::new("too_many_refusals", message)
                    .with_hint(format!("Try again in {retry_after_s} s."));
                error.retry_after_s = Some(retry_after_s);
                error
            }
            AppError::Image(error) => Self::new(error.code(), error.voter_message()),
            AppError::UploadTooLarge { .. } => {
                Self::new("upload_too_large", message).with_hint("Send a smaller image.")
            }
            AppError::Draw(error) => {
                tracing::error!(error = %error, "no pair can be drawn");
                Self::new("no_pair", "No two models can take part in this battle").with_hint(
                    "With an image, two models that can see are needed; the operator can add them.",
                )
            }
            AppError::StillAnswering { .. } => Self::new("still_answering", message)
                .with_hint("Wait until both answers are complete."),
            AppError::AnswerInvalid { .. } => Self::new("answer_incomplete", message)
                .with_hint("Ask for the failed answer again."),
            AppError::AlreadyVoted(reveal) => {
                let mut error = Self::new("already_voted", message)
                    .with_hint("One vote for each battle: start a new one.");
                error.vote = Some(Box::new(VoteBody::from(*reveal)));
                error
            }
            AppError::IdempotencyKeyReused => Self::new("idempotency_key_reused", message)
                .with_hint("Choose a new key for each vote."),
            AppError::TooManyTurns { .. } => {
                Self::new("too_many_turns", message).with_hint("Vote, and start a new battle.")
            }
            AppError::NothingToRetry => Self::new("nothing_to_retry", message),
            AppError::RateLimited { retry_after_s } => {
                let mut error = Self::new("rate_limited", message)
                    .with_hint(format!("Try again in {retry_after_s} s."));
                error.retry_after_s = Some(retry_after_s);
                error
            }
            AppError::Busy => {
                let mut error = Self::new("busy", message).with_hint("Try again in a few seconds.");
                error.retry_after_s = Some(5);
                error
            }
            AppError::Stopping => {
                Self::new("stopping", message).with_hint("Try again in a minute.")
            }
            AppError::Store(error) => Self::internal(&error),
            AppError::Internal { what, source } => {
                let chain = source
                    .chain()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(": ");
                tracing::error!(what, error.chain = %chain, "the arena failed");
                Self::new("internal", "Something went wrong here")
                    .with_hint("It has been noted. Try again.")
            }
        }
    }
}

impl From<PlotError> for ApiError {
    fn from(error: PlotError) -> Self {
        match error {
            PlotError::Missing(missing) => {
                Self::new("not_found", capitalised(&missing.to_string()))
            }
            PlotError::TooMuch { .. } => {
                Self::new("plot_too_large", capitalised(&error.to_string()))
                    .with_hint("Larger plots can be drawn from a release, with `agon rank --plot`.")
            }
            PlotError::Busy => {
                let mut busy = Self::new("busy", capitalised(&error.to_string()))
                    .with_hint("Try again in a few seconds.");
                busy.retry_after_s = Some(5);
                busy
            }
            PlotError::Draw(_) | PlotError::BrokenOff(_) => {
                let chain = chain(&error);
                tracing::error!(error.chain = %chain, "a plot was not drawn");
                Self::new("internal", "Something went wrong here")
                    .with_hint("It has been noted. Try again.")
            }
        }
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut chain = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        chain.push_str(": ");
        chain.push_str(&cause.to_string());
        source = cause.source();
    }
    chain
}

impl ApiError {
    /// A failure that the caller is told nothing of; its chain is logged here, once.
    fn internal(error: &dyn std::error::Error) -> Self {
        tracing::error!(error.chain = %chain(error), "the store failed");
        Self::new("internal", "Something went wrong here")
            .with_hint("Nothing was recorded. Try again.")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: ErrorDetail {
                code: self.code.to_owned(),
                message: self.message,
                hint: self.hint,
            },
            vote: self.vote.map(|vote| *vote),
        };
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after_s {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}
