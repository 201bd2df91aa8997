//! Turns and the answers to them.

use jiff::Timestamp;

use crate::{ImageId, Sides};

/// One user message and the two answers to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// What the user wrote. May be empty only when there is an image.
    pub prompt: String,
    /// The image shown with it. Only the first turn of a battle may carry one.
    pub image: Option<ImageId>,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// The newest answer of each side. Answers that a retry replaced are kept in the store, not here.
    pub generations: Sides<Generation>,
}

/// One model producing one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The answer as far as it came, in Markdown, as the model wrote it.
    pub text: String,
    /// How it ended; `None` while it runs.
    pub finish: Option<Finish>,
    /// 1 for the first try; a retry counts up.
    pub attempt: u32,
    /// Tokens, as far as the provider told.
    pub usage: Usage,
    /// From the request to the first token, in milliseconds.
    pub first_token_ms: Option<u32>,
    /// From the request to the end, in milliseconds.
    pub duration_ms: Option<u32>,
}

impl Generation {
    /// Attempt `attempt`, before its first token.
    pub fn started(attempt: u32) -> Self {
        Self {
            text: String::new(),
            finish: None,
            attempt,
            usage: Usage::default(),
            first_token_ms: None,
            duration_ms: None,
        }
    }

    /// Whether it ended as a full answer that may be voted on.
    pub fn is_valid(&self) -> bool {
        self.finish.is_some_and(Finish::is_valid)
    }
}

/// Tokens that a provider says it read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request, image included.
    pub input_tokens: Option<u32>,
    /// Tokens of the answer.
    pub output_tokens: Option<u32>,
}

/// How a generation ended. A failure is a state of the message, never text inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The model said that it was done.
    Stop,
    /// The answer reached the token limit. It is complete as far as the arena let it be, and can be voted on.
    Length,
    /// The provider's own filter withheld the answer.
    Filtered,
    /// The model ended without a single visible character.
    Empty,
    /// The stream ended without a finish, or a limit on time or size cut it.
    Cut,
    /// The provider refused or broke.
    Failed,
    /// The server stopped while the generation ran.
    Interrupted,
}

impl Finish {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Stop,
        Self::Length,
        Self::Filtered,
        Self::Empty,
        Self::Cut,
        Self::Failed,
        Self::Interrupted,
    ];

    /// Whether such an answer may be voted on.
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Stop | Self::Length)
    }

    /// Its canonical spelling, in the API and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Filtered => "filtered",
            Self::Empty => "empty",
            Self::Cut => "cut",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// The finish with this canonical spelling.
    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|finish| finish.as_str() == text)
    }
}
