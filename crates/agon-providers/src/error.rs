//! Whose fault it is that a generation failed, and whether to try again.

use std::{sync::Arc, time::Duration};

use agon_domain::Finish;

/// What kind of failure it is: what a caller, an operator or a voter would do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Nothing came within the limit on time, or the provider said that it took too long itself.
    Timeout,
    /// The provider could not be reached.
    Connect,
    /// The provider wants fewer requests.
    RateLimited,
    /// The provider broke or is too busy.
    Overloaded,
    /// The provider does not accept the key.
    BadCredentials,
    /// The provider wants to be paid, or a quota is used up.
    Payment,
    /// The provider does not accept the request: unknown model, too many tokens, unknown option, wrong address.
    RejectedRequest,
    /// The provider does not accept the image, or the model cannot see.
    ImageRejected,
    /// The provider's filter stopped the prompt or the answer.
    FilteredContent,
    /// The provider answered with something that is not its protocol.
    MalformedResponse,
    /// The answer outgrew the limit on size.
    TooLarge,
    /// The answer broke off without an end.
    Cut,
    /// The options of the provider cannot be used; raised before anything is sent.
    Configuration,
}

impl ErrorKind {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Timeout,
        Self::Connect,
        Self::RateLimited,
        Self::Overloaded,
        Self::BadCredentials,
        Self::Payment,
        Self::RejectedRequest,
        Self::ImageRejected,
        Self::FilteredContent,
        Self::MalformedResponse,
        Self::TooLarge,
        Self::Cut,
        Self::Configuration,
    ];

    /// Whether the same request may succeed a little later.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Timeout | Self::Connect | Self::RateLimited | Self::Overloaded | Self::Cut
        )
    }

    /// Its canonical spelling, for metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::BadCredentials => "bad_credentials",
            Self::Payment => "payment",
            Self::RejectedRequest => "rejected_request",
            Self::ImageRejected => "image_rejected",
            Self::FilteredContent => "filtered_content",
            Self::MalformedResponse => "malformed_response",
            Self::TooLarge => "too_large",
            Self::Cut => "cut",
            Self::Configuration => "configuration",
        }
    }

    /// What a voter may read. It names no vendor and no model, because the battle may still be anonymous.
    pub const fn user_message(self) -> &'static str {
        match self {
            Self::Timeout => "This side took too long to answer.",
            Self::Connect => "This side could not be reached.",
            Self::RateLimited | Self::Overloaded => "This side is too busy at the moment.",
            Self::BadCredentials | Self::Payment | Self::Configuration => {
                "This side is not available at the moment. The operator of this arena has to look at it."
            }
            Self::RejectedRequest => "This side did not accept the request.",
            Self::ImageRejected => "This side did not accept the image.",
            Self::FilteredContent => "A content filter stopped this side's answer.",
            Self::MalformedResponse => "This side sent something that is not an answer.",
            Self::TooLarge => "This side's answer was too long and has been cut off.",
            Self::Cut => "This side's answer broke off before its end.",
        }
    }
}

/// Why a generation failed.
///
/// `message` is safe for an operator's log: it holds no prompt, no answer and no key.
/// It may hold what the provider calls itself or its model, so it is not for voters; [`Error::user_message`] is.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What happened, for the operator.
    pub message: String,
    /// The HTTP status, when the provider answered with one that is not success.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether a part of the answer had arrived.
    pub partial: bool,
    /// What caused it.
    #[source]
    pub source: Option<Arc<dyn std::error::Error + Send + Sync + 'static>>,
}

impl Error {
    /// A failure of this kind, before any part of the answer.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            partial: false,
            source: None,
        }
    }

    /// The same failure with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// How a generation that failed so is recorded.
    ///
    /// [`Finish::Cut`] when it broke off or a limit cut it, [`Finish::Filtered`] when a filter stopped it, else [`Finish::Failed`].
    pub const fn finish(&self) -> Finish {
        match self.kind {
            ErrorKind::Cut | ErrorKind::TooLarge => Finish::Cut,
            ErrorKind::Timeout if self.partial => Finish::Cut,
            ErrorKind::FilteredContent => Finish::Filtered,
            _ => Finish::Failed,
        }
    }

    /// What a voter may read; see [`ErrorKind::user_message`].
    pub const fn user_message(&self) -> &'static str {
        self.kind.user_message()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_distinct_and_user_messages_are_sentences() {
        let spellings: std::collections::HashSet<_> =
            ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(spellings.len(), ErrorKind::ALL.len());
        for kind in ErrorKind::ALL {
            let message = kind.user_message();
            assert!(message.ends_with('.') && message.len() < 100, "{message}");
            assert!(!message.contains('`'), "{message}");
        }
    }

    #[test]
    fn a_failure_is_recorded_as_cut_only_when_the_answer_broke_off() {
        let check = |kind, partial, expected| {
            let mut error = Error::new(kind, "x");
            error.partial = partial;
            assert_eq!(error.finish(), expected, "{kind:?} {partial}");
        };
        check(ErrorKind::Timeout, false, Finish::Failed);
        check(ErrorKind::Timeout, true, Finish::Cut);
        check(ErrorKind::Cut, false, Finish::Cut);
        check(ErrorKind::TooLarge, true, Finish::Cut);
        check(ErrorKind::FilteredContent, true, Finish::Filtered);
        check(ErrorKind::Overloaded, true, Finish::Failed);
    }
}
