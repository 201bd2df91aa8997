//! Style: how long and how formatted answers are. The input of style control, in the spelling of published releases.
//!
//! Bit for bit the counts of FastChat's `serve/monitor/add_markdown_info.py`, quirks included, so that ratings with style control can be compared with published ones.
//! The quirks are not repaired here: a cleaner count would be another annotator.
//!
//! # Markdown
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
//! Tokens and patterns take time linear in the text.
//! Deleting the insides of code blocks takes the length times the number of blocks, because each deletion can make or break the next one's matches.

use std::sync::LazyLock;

use agon_domain::{Battle, MarkdownCounts, Side, StyleFeatures};
use regex::Regex;

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

/// Markdown elements of all answers of one side. The module's documentation has the rules.
pub fn markdown_counts(answers: &[&str]) -> MarkdownCounts {
    let text = without_code(answers.join("\n"));
    let count = |regex: &Regex| u32::try_from(regex.find_iter(&text).count()).unwrap_or(u32::MAX);
    MarkdownCounts {
        headers: PATTERNS.headers.each_ref().map(count),
        list_ordered: count(&PATTERNS.list_ordered),
        list_unordered: count(&PATTERNS.list_unordered),
        bold_asterisks: count(&PATTERNS.bold_asterisks),
        bold_underscores: count(&PATTERNS.bold_underscores),
    }
}

/// Deletes the inside of each code block wherever that text stands, block after block.
fn without_code(mut text: String) -> String {
    let insides: Vec<String> = PATTERNS
        .code
        .find_iter(&text)
        .map(|found| found.as_str()[3..found.len() - 3].to_owned())
        .collect();
    for inside in insides {
        // Deleting an empty text deletes nothing.
        if !inside.is_empty() && text.contains(&inside) {
            text = text.replace(&inside, "");
        }
    }
    text
}

struct Patterns {
    code: Regex,
    headers: [Regex; 6],
    list_ordered: Regex,
    list_unordered: Regex,
    bold_asterisks: Regex,
    bold_underscores: Regex,
}

/// White space as Python's `re` has it: Unicode's, and the four separators U+001C to U+001F.
const SPACE: &str = r"[\s\x1c-\x1f]";

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    // Unwrap safety: the patterns are constants, and every test of this module compiles them.
    let compile = |pattern: &str| Regex::new(pattern).expect("a valid pattern");
    Patterns {
        code: compile("```[^`]*```"),
        headers: [1, 2, 3, 4, 5, 6].map(|level| compile(&format!("(?m)^#{{{level}}}{SPACE}"))),
        // Digits are Unicode's decimal digits in both; new scripts reach the two at different times.
        list_ordered: compile(&format!(r"(?m)^{SPACE}*\d+\.{SPACE}")),
        list_unordered: compile(&format!("(?m)^{SPACE}*[-*+]{SPACE}")),
        bold_asterisks: compile(r"\*\*[^*\n]+\*\*"),
        bold_underscores: compile(r"__[^_\n]+__"),
    }
});

#[cfg(test)]
mod tests;
