//! What comes back while a model answers.

use std::{fmt, pin::Pin};

use agon_domain::{Finish, Usage};
use futures_util::Stream;

use crate::Error;

/// A generation under way: its events in order, the last of which is terminal.
pub type GenerationStream = Pin<Box<dyn Stream<Item = GenerationEvent> + Send + 'static>>;

/// One thing that happened in a generation.
#[derive(Clone)]
pub enum GenerationEvent {
    /// The provider accepted the request. At most once, and before any other event but a failure.
    Started,
    /// The model thinks: reasoning arrived, which is not kept.
    Thinking,
    /// The next piece of the answer, never empty.
    Text(String),
    /// The model ended. Terminal.
    Finished {
        /// How: [`Finish::Stop`], [`Finish::Length`], [`Finish::Filtered`] or [`Finish::Empty`].
        finish: Finish,
        /// Tokens, as far as the provider told.
        usage: Usage,
    },
    /// The generation broke, or a limit cut it. Terminal; the text so far stays what it is.
    Failed(Error),
}

impl GenerationEvent {
    /// How the generation ended, when this event ends it.
    pub fn finish(&self) -> Option<Finish> {
        match self {
            Self::Started | Self::Thinking | Self::Text(_) => None,
            Self::Finished { finish, .. } => Some(*finish),
            Self::Failed(error) => Some(error.finish()),
        }
    }

    /// Whether nothing comes after it.
    pub fn is_terminal(&self) -> bool {
        self.finish().is_some()
    }
}

impl fmt::Debug for GenerationEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("Started"),
            Self::Thinking => f.write_str("Thinking"),
            // The answer never enters a log, not even by a debug print.
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Finished { finish, usage } => f
                .debug_struct("Finished")
                .field("finish", finish)
                .field("usage", usage)
                .finish(),
            Self::Failed(error) => f.debug_tuple("Failed").field(error).finish(),
        }
    }
}
