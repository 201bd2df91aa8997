//! Style: how long and how formatted answers are. The input of style control, in the spelling of published releases.
//!
//! Bit for bit the counts of FastChat's `serve/monitor/add_markdown_info.py`, quirks included, so that ratings with style control can be compared with published ones.
//! The quirks are not repaired here: a cleaner count would be another annotator.
//!
//! Two other annotators stand beside it: [`commonmark_counts`] asks a parser what is a header or an item, and [`text_counts`] counts characters, words and emoji.
//! [`conversation_style`] gives all of them for one conversation.
//! Named entities, the fifth style feature of the VisionArena paper, are not counted: that needs a language model for each language, and no local method is good enough in ninety.
//!
//! # Markdown, as published
//!
//! All answers of one side are joined by a newline.
//! Then, for each span between two triple backticks whose inside holds no backtick, *the inside text* is deleted wherever it stands: inside the fence and anywhere else.
//! The fences stay.
//! What is left is counted:
//!
//! | element | pattern of Python's `re`, multi-line |
//! |---|---|
//! | header of level n | `^#{n}\s` |
//! | ordered item | `^\s*\d+\.\s` |
//! | unordered item | `^\s*[-*+]\s` |
//! | bold, asterisks | `\*\*[^*\n]+\*\*` |
//! | bold, underscores | `__[^_\n]+__` |
//!
//! # Tokens
//!
//! [`Encoding::Cl100k`] is what FastChat counts with, special tokens allowed: a text such as `<|endoftext|>` counts as one.
//!
//! # Cost
//!
//! Time linear in the text, but for one thing: when an answer has the insides of many code blocks outside of them too, each takes its own look at the rest of the answer, because each deletion can make or break the next one's matches.
//! A megabyte made for that purpose takes seconds.

mod commonmark;
mod compat;
mod conversation;
mod marks;
mod text;

use agon_domain::{Battle, Side, StyleFeatures};

pub use commonmark::{CommonmarkCounts, STYLE_COMMONMARK_ANNOTATOR, commonmark_counts};
pub use compat::markdown_counts;
pub use conversation::{ConversationStyle, TokenCounts, conv_metadata, conversation_style};
pub use text::{STYLE_TEXT_ANNOTATOR, TextCounts, text_counts};

use super::Annotator;

/// The annotator of this module.
pub const STYLE_ANNOTATOR: Annotator = Annotator {
    name: "style-compat",
    version: 1,
};

/// A way to cut text into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `cl100k_base`, of GPT-3.5 and GPT-4: what FastChat and the arena's releases count with.
    Cl100k,
    /// `o200k_base`, of GPT-4o and later: what Arena-Hard's records count with.
    O200k,
}

impl Encoding {
    /// Its usual name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cl100k => "cl100k_base",
            Self::O200k => "o200k_base",
        }
    }

    /// Texts that are one token each, whatever stands around them.
    const fn special_tokens(self) -> &'static [&'static str] {
        match self {
            Self::Cl100k => &[
                "<|endoftext|>",
                "<|fim_prefix|>",
                "<|fim_middle|>",
                "<|fim_suffix|>",
                "<|endofprompt|>",
            ],
            Self::O200k => &["<|endoftext|>", "<|endofprompt|>"],
        }
    }

    /// The number of tokens of `text`, its special tokens counted as one each.
    ///
    /// Equals `len(tiktoken.get_encoding(name).encode(text, allowed_special="all"))`.
    /// The first call unpacks the vocabulary (about 60 ms, once a process).
    pub fn count_tokens(self, text: &str) -> u32 {
        let tokenizer = match self {
            Self::Cl100k => bpe_openai::cl100k_base(),
            Self::O200k => bpe_openai::o200k_base(),
        };
        let mut n_tokens = 0;
        let mut plain_from = 0;
        let mut look_from = 0;
        while let Some(offset) = text[look_from..].find("<|") {
            let at = look_from + offset;
            let special = self
                .special_tokens()
                .iter()
                .find(|special| text[at..].starts_with(**special));
            look_from = match special {
                Some(special) => {
                    n_tokens += tokenizer.count(&text[plain_from..at]) + 1;
                    plain_from = at + special.len();
                    plain_from
                }
                None => at + 2,
            };
        }
        n_tokens += tokenizer.count(&text[plain_from..]);
        // A text has fewer tokens than bytes, and texts of 4 GiB do not occur.
        u32::try_from(n_tokens).unwrap_or(u32::MAX)
    }
}

/// The style of the answers that a vote is about: the first `n_turns` turns of `battle`, or all if it has fewer.
///
/// Tokens by [`Encoding::Cl100k`].
/// `context_tokens` is everything that stood in front of the last answer: the user messages and the side's earlier answers.
/// [`StyleFeatures::n_turns`] is the number of turns counted.
pub fn style_features(battle: &Battle, n_turns: u32) -> StyleFeatures {
    let n_turns = battle
        .turns
        .len()
        .min(usize::try_from(n_turns).unwrap_or(usize::MAX));
    let turns = &battle.turns[..n_turns];
    let count = |text: &str| Encoding::Cl100k.count_tokens(text);
    let user_tokens = turns.iter().map(|turn| count(&turn.prompt)).sum::<u32>();
    let mut features = StyleFeatures {
        user_tokens,
        // It was the smaller of two numbers, one of which fits.
        n_turns: u32::try_from(n_turns).unwrap_or(u32::MAX),
        ..StyleFeatures::default()
    };
    for side in Side::BOTH {
        let answers: Vec<&str> = turns
            .iter()
            .map(|turn| turn.generations.get(side).text.as_str())
            .collect();
        let tokens: Vec<u32> = answers.iter().map(|answer| count(answer)).collect();
        let earlier = &tokens[..tokens.len().saturating_sub(1)];
        *features.assistant_tokens.get_mut(side) = tokens.iter().sum();
        *features.context_tokens.get_mut(side) = user_tokens + earlier.iter().sum::<u32>();
        *features.markdown.get_mut(side) = markdown_counts(&answers);
    }
    features
}

#[cfg(test)]
mod tests;
