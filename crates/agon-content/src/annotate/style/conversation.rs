//! All counts of one conversation, and the published ones of two.

use agon_domain::{MarkdownCounts, Side, Sides, StyleFeatures};

use super::{
    CommonmarkCounts, Encoding, TextCounts, commonmark_counts, markdown_counts, text_counts,
};
use crate::annotate::{Message, Role};

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// By [`Encoding::Cl100k`].
    pub cl100k: u32,
    /// By [`Encoding::O200k`].
    pub o200k: u32,
}

impl TokenCounts {
    fn of(text: &str) -> Self {
        Self {
            cl100k: Encoding::Cl100k.count_tokens(text),
            o200k: Encoding::O200k.count_tokens(text),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cl100k: self.cl100k.saturating_add(other.cl100k),
            o200k: self.o200k.saturating_add(other.o200k),
        }
    }
}

/// The style of a conversation with one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConversationStyle {
    /// Number of user messages.
    pub n_turns: u32,
    /// Tokens of all user messages.
    pub user_tokens: TokenCounts,
    /// Tokens of all answers.
    pub assistant_tokens: TokenCounts,
    /// Tokens of everything in front of the last answer; of everything, if there is no answer.
    pub context_tokens: TokenCounts,
    /// Markdown of all answers, as published.
    pub compat: MarkdownCounts,
    /// Markdown of all answers, each parsed by itself.
    pub commonmark: CommonmarkCounts,
    /// Lengths of all user messages.
    pub user_text: TextCounts,
    /// Lengths of all answers.
    pub assistant_text: TextCounts,
}

/// Counts everything in a conversation.
pub fn conversation_style(messages: &[Message<'_>]) -> ConversationStyle {
    let mut style = ConversationStyle::default();
    let mut answers = Vec::new();
    let mut so_far = TokenCounts::default();
    let mut before_last_answer = None;
    for message in messages {
        let tokens = TokenCounts::of(message.text);
        match message.role {
            Role::User => {
                style.n_turns += 1;
                style.user_tokens = style.user_tokens.plus(tokens);
                style.user_text += text_counts(message.text);
            }
            Role::Assistant => {
                before_last_answer = Some(so_far);
                style.assistant_tokens = style.assistant_tokens.plus(tokens);
                style.assistant_text += text_counts(message.text);
                style.commonmark += commonmark_counts(message.text);
                answers.push(message.text);
            }
        }
        so_far = so_far.plus(tokens);
    }
    style.context_tokens = before_last_answer.unwrap_or(so_far);
    style.compat = markdown_counts(&answers);
    style
}

/// What `conv_metadata` of a release says of the two conversations of a battle: the published counts, tokens by [`Encoding::Cl100k`].
///
/// User messages and turns are those of side A, which side B shares.
pub fn conv_metadata(sides: &Sides<ConversationStyle>) -> StyleFeatures {
    let mut features = StyleFeatures {
        user_tokens: sides.a.user_tokens.cl100k,
        n_turns: sides.a.n_turns,
        ..StyleFeatures::default()
    };
    for side in Side::BOTH {
        let style = sides.get(side);
        *features.assistant_tokens.get_mut(side) = style.assistant_tokens.cl100k;
        *features.context_tokens.get_mut(side) = style.context_tokens.cl100k;
        *features.markdown.get_mut(side) = style.compat;
    }
    features
}
