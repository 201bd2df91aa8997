//! The local floor under text moderation: words and patterns that need no network, and prompts that probe the arena.
//!
//! [`WordDetector`] finds words of the built-in English list and of the operator's own lists, through the usual disguises.
//! [`ProbeDetector`] finds questions for the model behind an answer and attempts to give models other instructions; those are flagged, as they harm nobody.
//!
//! A list of words is a floor and no judge: it sees neither meaning nor quotation, and most hateful text holds no listed word.
//! The figures are in `docs/moderation.md`.
//!
//! Everything is linear in the text, holds no content in findings, and learns nothing.

mod disguise;
mod list;
mod probe;
mod words;

use std::ops::Range;

use agon_domain::FindingPlace;

pub use self::{
    list::{Entry, ListError, Severity, WordList},
    probe::ProbeDetector,
    words::{WordDetector, WordOptions},
};

/// Places of many ranges, which must come in the order of their starts, in one walk over the text.
fn places(text: &str, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<FindingPlace> {
    let (mut at, mut n_chars) = (0, 0);
    ranges
        .into_iter()
        .map(|bytes| {
            n_chars += text[at..bytes.start].chars().count();
            at = bytes.start;
            let end = n_chars + text[bytes.clone()].chars().count();
            FindingPlace::Text {
                bytes,
                chars: n_chars..end,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
