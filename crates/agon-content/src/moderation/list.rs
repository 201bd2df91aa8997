//! Lists of words as operators write them.
//!
//! ```text
//! # A comment.
//! hate: someword
//! hate mild: another word
//! spam severe: prefix*
//! scam: /free\s+(money|coins)/
//! ```
//!
//! Each line is a category, perhaps a severity (`mild`, `moderate`, `severe`, which is the default), a colon, and a word, a phrase, the beginning of words with `*`, or a pattern between slashes.
//! Words are found through disguises; patterns are matched on the text as it stands, whatever the case.

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

use super::disguise::pattern;

/// The most entries of a list.
const ENTRIES_MAX: usize = 20_000;
/// The most bytes of a line.
const LINE_BYTES_MAX: usize = 1_000;
/// The most memory of one compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Words compiled into one pattern.
const WORDS_IN_ONE: usize = 200;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Not that bad, or not that certain.
    Mild,
    /// Bad.
    Moderate,
    /// Very bad.
    Severe,
}

impl Severity {
    /// The score in findings: 0.33, 0.67, 1, as for the severities of services.
    pub const fn score(self) -> f64 {
        match self {
            Self::Mild => 0.33,
            Self::Moderate => 0.67,
            Self::Severe => 1.0,
        }
    }

    fn parse(word: &str) -> Option<Self> {
        match word {
            "mild" => Some(Self::Mild),
            "moderate" => Some(Self::Moderate),
            "severe" => Some(Self::Severe),
            _ => None,
        }
    }
}

/// What an entry of a list says of what it finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The category in findings.
    pub category: String,
    /// How bad it is.
    pub severity: Severity,
}

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ListError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what is accepted.
    pub problem: String,
}

/// A list of words and patterns, ready to be searched for.
#[derive(Clone, Debug, Default)]
pub struct WordList {
    /// Patterns of words on the unmasked text, each with the entry of each of its groups.
    pub(super) words: Vec<(Regex, Vec<usize>)>,
    /// Patterns on the text as it stands.
    pub(super) patterns: Vec<(Regex, usize)>,
    pub(super) entries: Vec<Entry>,
}

impl WordList {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// The first line that is no comment, no empty line and no entry, with its number.
    pub fn parse(text: &str) -> Result<Self, ListError> {
        let mut list = Self::default();
        let mut words: Vec<(usize, String, usize)> = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let line_number = n + 1;
            let fail = |problem: String| ListError {
                line: line_number,
                problem,
            };
            if line.len() > LINE_BYTES_MAX {
                return Err(fail(format!(
                    "the line has {} bytes: expected at most {LINE_BYTES_MAX}",
                    line.len()
                )));
            }
            let line = line.trim_start_matches('\u{feff}').trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if list.entries.len() == ENTRIES_MAX {
                return Err(fail(format!(
                    "the list has more than {ENTRIES_MAX} entries"
                )));
            }
            let (entry, rest) = head(line).map_err(fail)?;
            let index = list.entries.len();
            list.entries.push(entry);
            if let Some(source) = rest.strip_prefix('/') {
                let Some(source) = source.strip_suffix('/').filter(|source| !source.is_empty())
                else {
                    return Err(fail(
                        "the pattern has no end: expected `/pattern/`".to_owned(),
                    ));
                };
                let regex = RegexBuilder::new(source)
                    .case_insensitive(true)
                    .size_limit(PATTERN_BYTES_MAX)
                    .build()
                    .map_err(|error| {
                        fail(format!("the pattern cannot be used: {}", one_line(&error)))
                    })?;
                if regex.is_match("") {
                    return Err(fail(
                        "the pattern matches nothing at all, and so everything: expected one that needs a character"
                            .to_owned(),
                    ));
                }
                list.patterns.push((regex, index));
            } else {
                let (word, is_prefix) = rest
                    .strip_suffix('*')
                    .map_or((rest, false), |word| (word, true));
                let Some(pattern) = pattern(word, is_prefix) else {
                    return Err(fail(
                        "the word has no letter: expected a word, a phrase or a `/pattern/`"
                            .to_owned(),
                    ));
                };
                words.push((line_number, pattern, index));
            }
        }
        list.compile(&words)?;
        Ok(list)
    }

    /// How many entries there are.
    pub fn n_entries(&self) -> usize {
        self.entries.len()
    }

    fn compile(&mut self, words: &[(usize, String, usize)]) -> Result<(), ListError> {
        for chunk in words.chunks(WORDS_IN_ONE) {
            let mut joined = String::new();
            for (n, (_, pattern, _)) in chunk.iter().enumerate() {
                let _memory = write!(joined, "{}(?:{pattern})", if n > 0 { "|" } else { "" });
            }
            // Words are at most as long as a line, so this is far below the limit; the size is bounded all the same.
            let regex = RegexBuilder::new(&joined)
                .size_limit(16 * PATTERN_BYTES_MAX)
                .build()
                .map_err(|error| ListError {
                    line: chunk[0].0,
                    problem: format!(
                        "the words from here on cannot be searched for: {}",
                        one_line(&error)
                    ),
                })?;
            let entries = chunk.iter().map(|(_, _, index)| *index).collect();
            self.words.push((regex, entries));
        }
        Ok(())
    }
}

/// The category and severity of a line, and what follows the colon.
fn head(line: &str) -> Result<(Entry, &str), String> {
    const EXPECTED: &str =
        "expected `category: word`, `category severity: word` or `category: /pattern/`";
    let Some((head, rest)) = line.split_once(':') else {
        return Err(format!("there is no category: {EXPECTED}"));
    };
    let mut parts = head.split_whitespace();
    let category = parts.next().unwrap_or_default();
    let is_category = (1..=60).contains(&category.len())
        && category
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/'));
    if !is_category {
        return Err(format!(
            "the category is not one: expected letters, digits, `-`, `_` and `/`, and {EXPECTED}"
        ));
    }
    let severity = match parts.next() {
        None => Severity::Severe,
        Some(word) => Severity::parse(word).ok_or_else(|| {
            let word: String = word.chars().take(40).collect();
            format!("`{word}` is not a severity: expected `mild`, `moderate` or `severe`")
        })?,
    };
    if parts.next().is_some() {
        return Err(format!("there is too much before the colon: {EXPECTED}"));
    }
    let rest = rest.trim();
    if rest.is_empty() {
        return Err(format!("there is no word: {EXPECTED}"));
    }
    let category = category.to_owned();
    Ok((Entry { category, severity }, rest))
}

/// A pattern's error without the drawing of where it is.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .to_owned()
}
