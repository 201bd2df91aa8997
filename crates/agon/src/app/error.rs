//! Why a verb of the application was not done.

use agon_content::image::ImageError;
use agon_domain::{Finish, Side, sampling::DrawError};

use crate::app::{Reveal, screening::gate::RefusalClass};

/// Why a verb was not done: a list of what the caller may do about it.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The terms were not accepted, or their text has changed since.
    #[error("the terms have to be accepted first")]
    ConsentRequired,
    /// The terms that were accepted are not the current ones.
    #[error("the terms have changed: version `{given}` was accepted, `{current}` is in force")]
    ConsentOutdated {
        /// What was accepted.
        given: String,
        /// What is in force.
        current: String,
    },
    /// There is no such battle, or it belongs to another visit.
    #[error("there is no such battle on this device")]
    UnknownBattle,
    /// Neither a text nor an image was sent.
    #[error("the prompt is empty")]
    PromptEmpty,
    /// The prompt is too long.
    #[error("the prompt has {n_chars} characters: at most {n_chars_max} are accepted")]
    PromptTooLong {
        /// How long it is, in Unicode scalar values.
        n_chars: usize,
        /// How long it may be.
        n_chars_max: usize,
    },
    /// The prompt holds a character that cannot be kept.
    #[error("the prompt holds a NUL character")]
    PromptUnprintable,
    /// Screening refuses the content.
    #[error("{}", class.message())]
    ContentRefused {
        /// As far as its sender is told.
        class: RefusalClass,
    },
    /// The content could not be screened now.
    #[error("the {} could not be checked, so it was not sent", content(*is_picture))]
    NotScreened {
        /// Whether it is a picture; otherwise it is a text.
        is_picture: bool,
        /// When it is welcome again, in seconds.
        retry_after_s: u64,
    },
    /// The content is of a form that cannot be screened.
    #[error("the {} cannot be checked, so it was not sent", content(*is_picture))]
    CannotBeScreened {
        /// Whether it is a picture; otherwise it is a text.
        is_picture: bool,
    },
    /// The battle was ended.
    #[error("this conversation has ended")]
    ConversationEnded,
    /// Too much content of this visit was refused in a short time.
    #[error("too much was refused in a short time")]
    TooManyRefusals {
        /// When something new is welcome, in seconds.
        retry_after_s: u64,
    },
    /// The image was refused.
    #[error("the image was refused")]
    Image(#[source] ImageError),
    /// The upload is too large to be looked at.
    #[error("the upload is larger than {n_bytes_max} bytes")]
    UploadTooLarge {
        /// How large it may be.
        n_bytes_max: usize,
    },
    /// No pair can be drawn.
    #[error("no pair of models can be drawn")]
    Draw(#[source] DrawError),
    /// A side is still answering.
    #[error("side {} is still answering", side.as_str().to_uppercase())]
    StillAnswering {
        /// Which.
        side: Side,
    },
    /// A side's answer is not valid.
    #[error("the answer of side {} is not complete ({})", side.as_str().to_uppercase(), finish.as_str())]
    AnswerInvalid {
        /// Which.
        side: Side,
        /// How it ended.
        finish: Finish,
    },
    /// The battle has a vote already.
    #[error("this battle has been voted on")]
    AlreadyVoted(Box<Reveal>),
    /// An idempotency key came with another request before.
    #[error("the idempotency key was used for another request")]
    IdempotencyKeyReused,
    /// The battle has as many turns as it may.
    #[error("the battle has {n_turns_max} turns, which is the most a battle may have")]
    TooManyTurns {
        /// How many it may have.
        n_turns_max: u32,
    },
    /// No side's answer failed.
    #[error("there is no failed answer to retry")]
    NothingToRetry,
    /// Too many prompts in a short time.
    #[error("too many prompts in a short time")]
    RateLimited {
        /// When the next one is welcome, in seconds.
        retry_after_s: u64,
    },
    /// As many answers run as may run at once.
    #[error("the arena is busy")]
    Busy,
    /// The server is stopping.
    #[error("the arena is stopping")]
    Stopping,
    /// The store failed.
    #[error("the store failed")]
    Store(#[source] agon_store::Error),
    /// Something else broke in a way that no caller can mend.
    #[error("{what}")]
    Internal {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        source: anyhow::Error,
    },
}

const fn content(is_picture: bool) -> &'static str {
    if is_picture { "picture" } else { "text" }
}
