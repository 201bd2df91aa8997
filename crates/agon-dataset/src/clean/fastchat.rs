//! What is particular to the reference: FastChat's `serve/monitor/clean_battle_data.py` at revision 0e6d3e4b of 12 April 2025.
//!
//! Words, markers and renames are its own, faults included; they are for comparison, not for use.
//! What it cannot do, it does here as it would: rows with images, over which it breaks, are cleaned by their text.
//! Its language detector is not repeated; the language comes with the facts.

use memchr::memmem::Finder;

use super::Rule;

/// The order of the cleaning program. Its first is dropped without being counted.
pub(super) const RULES: &[Rule] = &[
    Rule::SelectorNull,
    Rule::SelectorOneEmpty,
    Rule::SelectorMismatch,
    Rule::NoUserTurn,
    Rule::EmptyMessage,
    Rule::IdentityWord,
    Rule::ErrorText,
    Rule::CursorText,
    Rule::ExcludedModel,
    Rule::BannedJudge,
];

/// Names that the reference looks for anywhere in any message, in lower case.
pub const IDENTITY_WORDS: [&str; 33] = [
    "vicuna",
    "lmsys",
    "koala",
    "uc berkeley",
    "open assistant",
    "laion",
    "chatglm",
    "chatgpt",
    "gpt-4",
    "openai",
    "anthropic",
    "claude",
    "bard",
    "palm",
    "lamda",
    "google",
    "gemini",
    "llama",
    "qianwan",
    "qwen",
    "alibaba",
    "mistral",
    "zhipu",
    "keg lab",
    "01.ai",
    "ai2",
    "tülu",
    "tulu",
    "deepseek",
    "hermes",
    "cohere",
    "dbrx",
    "databricks",
];

/// The leading words of its error sentences, in lower case.
///
/// The vision arena writes `$MODERATION$ YOUR TEXT` and `$MODERATION$ YOUR IMAGE`, which none of them matches.
pub const ERROR_MARKERS: [&str; 4] = [
    "network error due to high traffic",
    "$moderation$ your input",
    "api request error.",
    "**api request error**",
];

/// What it leaves in an answer that is still being written, in lower case.
pub const UNFINISHED_MARKERS: [&str; 2] = ["▌", "<span class=\"cursor\">"];

/// The version of [`RENAMES`], to be kept with whatever was made with them.
pub const RENAMES_VERSION: &str = "fastchat-2025-04";

/// From this time on, in seconds since 1970, `gpt-4` and `gpt-3.5-turbo` are the version of June 2023.
const NEWER_AFTER_S: f64 = 1_687_849_200.0;

/// A model whose name the reference replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The name in the log.
    pub from: &'static str,
    /// The canonical name.
    pub to: &'static str,
    /// The canonical name after 27 June 2023, 07:00 UTC (1687849200), where it depends on the time.
    pub to_later: Option<&'static str>,
}

/// Its renames.
pub const RENAMES: [Rename; 10] = [
    always("bard", "palm-2"),
    always("claude-v1", "claude-1"),
    always("claude-instant-v1", "claude-instant-1"),
    always("claude-2", "claude-2.0"),
    always("oasst-sft-1-pythia-12b", "oasst-pythia-12b"),
    always("StripedHyena-Nous-7B", "stripedhyena-nous-7b"),
    always("gpt-4-turbo", "gpt-4-1106-preview"),
    always("gpt-4-0125-assistants-api", "gpt-4-turbo-browsing"),
    Rename {
        from: "gpt-4",
        to: "gpt-4-0314",
        to_later: Some("gpt-4-0613"),
    },
    Rename {
        from: "gpt-3.5-turbo",
        to: "gpt-3.5-turbo-0314",
        to_later: Some("gpt-3.5-turbo-0613"),
    },
];

const fn always(from: &'static str, to: &'static str) -> Rename {
    Rename {
        from,
        to,
        to_later: None,
    }
}

/// The canonical name of a model in a vote cast at `time_s` seconds since 1970. Without a time, the earlier of two versions.
pub fn canonical_name(name: &str, time_s: Option<f64>) -> &str {
    let Some(rename) = RENAMES.iter().find(|rename| rename.from == name) else {
        return name;
    };
    match rename.to_later {
        Some(later) if time_s.is_some_and(|time_s| time_s > NEWER_AFTER_S) => later,
        _ => rename.to,
    }
}

/// Its texts, ready to be searched for.
#[derive(Clone, Debug)]
pub(super) struct Markers {
    words: Vec<Finder<'static>>,
    errors: Vec<Finder<'static>>,
    unfinished: Vec<Finder<'static>>,
}

impl Markers {
    pub(super) fn new() -> Self {
        let finders = |texts: &'static [&'static str]| texts.iter().map(Finder::new).collect();
        Self {
            words: finders(&IDENTITY_WORDS),
            errors: finders(&ERROR_MARKERS),
            unfinished: finders(&UNFINISHED_MARKERS),
        }
    }

    pub(super) fn has_identity_word(&self, lower: &str) -> bool {
        is_any_in(&self.words, lower)
    }

    pub(super) fn has_error(&self, lower: &str) -> bool {
        is_any_in(&self.errors, lower)
    }

    pub(super) fn is_unfinished(&self, lower: &str) -> bool {
        is_any_in(&self.unfinished, lower)
    }
}

fn is_any_in(finders: &[Finder<'static>], text: &str) -> bool {
    finders
        .iter()
        .any(|finder| finder.find(text.as_bytes()).is_some())
}
