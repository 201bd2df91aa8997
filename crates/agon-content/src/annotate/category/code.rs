//! Code: code blocks by a parser of Markdown, and talk of code by the rules of FastChat.
//!
//! The rules by content are those of FastChat's `serve/monitor/code_tagger.py` (commit 74aa8ae3), word for word in what they look for, with three repairs:
//! blocks of plain text and Markdown are cut out by a parser, where FastChat cuts at the wrong line;
//! a word of Latin letters is a word of its own right beside letters of another script ("用python写");
//! "pull request", two words that FastChat compares with single words, is found.

use std::sync::LazyLock;

use comrak::{Arena, Options, nodes::NodeValue, parse_document};
use regex::Regex;

/// A fenced code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// The first word of its info string, in lower case: the language, as far as told. Empty when none is.
    pub language: String,
    /// What stands in it.
    pub text: String,
    /// The lines it takes, fences included, counted from 1.
    pub lines: std::ops::RangeInclusive<usize>,
}

/// Longest text that is parsed, in bytes; what lies behind is not looked at. Far beyond what an arena accepts.
const PARSED_BYTES_MAX: usize = 1 << 20;

/// The fenced code blocks of a text, by CommonMark: in lists and quotations too, with backticks or tildes, closed or not.
///
/// Indented blocks do not count: people indent prose and poems.
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    // Most texts have no fence, and need no parser.
    if !text.contains("```") && !text.contains("~~~") {
        return Vec::new();
    }
    let arena = Arena::new();
    let root = parse_document(
        &arena,
        &text[..text.floor_char_boundary(PARSED_BYTES_MAX)],
        &Options::default(),
    );
    root.descendants()
        .filter_map(|node| {
            let data = node.data.borrow();
            let NodeValue::CodeBlock(block) = &data.value else {
                return None;
            };
            block.fenced.then(|| CodeBlock {
                language: block
                    .info
                    .split(|c: char| c.is_whitespace() || c == ',' || c == '{')
                    .next()
                    .unwrap_or_default()
                    .to_lowercase(),
                text: block.literal.clone(),
                lines: data.sourcepos.start.line..=data.sourcepos.end.line,
            })
        })
        .collect()
}

/// What in a text speaks of code, by content, in the order looked for. Empty when nothing does.
///
/// `backticks` stands for a triple backtick; the other reasons are the words and patterns of FastChat.
pub fn reasons(text: &str) -> Vec<&'static str> {
    let text = without_prose_blocks(text);
    let lower = text.to_lowercase();
    if lower.contains("ascii art") {
        return Vec::new();
    }
    if text.contains("```") {
        return vec!["backticks"];
    }
    let words = |wanted: &'static [&'static str]| -> Vec<&'static str> {
        wanted
            .iter()
            .copied()
            .filter(|word| contains_word(&lower, word))
            .collect()
    };
    for wanted in [CONCEPTS, LANGUAGES] {
        let found = words(wanted);
        if !found.is_empty() {
            return found;
        }
    }
    let found: Vec<&'static str> = FRAGMENTS
        .iter()
        .copied()
        .filter(|fragment| text.contains(fragment))
        .collect();
    if !found.is_empty() {
        return found;
    }
    PATTERNS
        .iter()
        .filter(|(_, regex)| regex.is_match(&text))
        .map(|(source, _)| *source)
        .collect()
}

const CONCEPTS: &[&str] = &["git", "github", "pull request", "dataframe", "nginx", "pip"];

const LANGUAGES: &[&str] = &[
    "python",
    "c++",
    "cpp",
    "java",
    "javascript",
    "typescript",
    "html",
    "css",
    "sql",
    "bash",
    "powershell",
    "matlab",
    "golang",
    "linux",
    "ubuntu",
];

const FRAGMENTS: &[&str] = &[
    "import pandas",
    "import numpy",
    "import torch",
    "jax",
    "tensorflow",
    "pytorch",
    "keras",
    "scikit-learn",
    "sklearn",
    " apt-get ",
];

static PATTERNS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    [
        r"from \w+ import \w+",
        r"conda install \w+",
        r"pip install -r \w+",
        r"conda install -c \w+ \w+",
        r"#include <\w+>",
        r"import \w+ as \w+",
        r#"#include "\w+\.h""#,
    ]
    .into_iter()
    .map(|source| {
        // Unwrap safety: the patterns are constants, and the tests of this module compile them.
        (source, Regex::new(source).expect("a valid pattern"))
    })
    .collect()
});

/// The text without its code blocks that are marked as plain text or Markdown.
fn without_prose_blocks(text: &str) -> String {
    let prose: Vec<_> = code_blocks(text)
        .into_iter()
        .filter(|block| matches!(block.language.as_str(), "plaintext" | "markdown"))
        .collect();
    if prose.is_empty() {
        return text.to_owned();
    }
    text.lines()
        .enumerate()
        .filter(|(idx, _)| !prose.iter().any(|block| block.lines.contains(&(idx + 1))))
        .map(|(_, line)| line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether `word` stands in `lower` as a word of its own, where NLTK's tokeniser would cut it out.
///
/// NLTK does not cut at hyphens, slashes and inner full stops: `html/css` and `python-based` are other words.
fn contains_word(lower: &str, word: &str) -> bool {
    lower.match_indices(word).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let rest = &lower[at + word.len()..];
        let mut after = rest.chars();
        let next = after.next();
        let then = after.next();
        let is_cut = |c: char| {
            c.is_whitespace()
                || ",:;@#$%&?!()[]{}<>\"`'*“”‘’«»".contains(c)
                || !c.is_ascii() && c.is_alphanumeric()
        };
        let is_end = match next {
            None => true,
            // A full stop ends a word only where the sentence or line ends.
            Some('.') => then.is_none_or(|c| c.is_whitespace() || "\"')]}".contains(c)),
            Some(c) => is_cut(c) || !c.is_ascii(),
        };
        before.is_none_or(|c| is_cut(c) || !c.is_ascii()) && is_end
    })
}
