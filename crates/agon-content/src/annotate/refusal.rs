//! Refusal: answers that decline what was asked, in full or in part. Offline, by patterns in fourteen languages and a small model.
//!
//! A refusal is the speaker's own: "I can't help with that", "作为AI，我无法…", "this violates my guidelines".
//! "You cannot divide by zero", "I'm sorry to hear about your dog", a letter of rejection that was asked for, and a character of a story who says no are none.
//!
//! | kind | what it is |
//! |---|---|
//! | full | the answer declines, and gives nothing of what was asked beyond a reason, a hint or an offer |
//! | partial | it declines one part, or declines and then gives something else at length; or it declines behind a beginning that answers |
//! | none | it does not decline |
//!
//! Saying "I have no opinions, but …" is not declining, and neither is asking back.
//! The first [`READ_CHARS`] characters are looked at, as refusals stand at the beginning; code blocks and quotations are not.

mod patterns;

use std::{cmp::Ordering, ops::Range, sync::LazyLock};

use agon_domain::Sides;

use self::patterns::{PATTERNS, Patterns};
use super::{
    Annotator,
    category::{Category, CategoryLabel, Label, linear::Model},
};

/// The annotator of this module.
pub const REFUSAL_ANNOTATOR: Annotator = Annotator {
    name: "refusal",
    version: 1,
};

/// How much of an answer is looked at, in characters.
pub const READ_CHARS: usize = 1_500;

/// An answer that goes on for longer than this many characters after it declined gives something, and is a partial refusal.
const FULL_CHARS_MAX: usize = 700;
/// A refusal has to begin within this many characters to be the answer's main point.
const OPENING_CHARS: usize = 240;

/// How far an answer declines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// It does not decline.
    None,
    /// It declines a part, or gives something else at length.
    Partial,
    /// It declines.
    Full,
}

impl Refusal {
    /// The canonical spelling: `none`, `partial` or `full`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }
}

/// The label of an answer, or of all answers of a side.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusalLabel {
    /// The verdict; `None` when there is nothing to judge, as in an empty answer.
    pub refusal: Option<Refusal>,
    /// The estimate of the probability that it is right, 0 to 1; 0 without a verdict.
    pub confidence: f64,
    /// The passage that declines, in bytes of the answer. For a side, of the answer that was decisive.
    pub evidence: Option<Range<usize>>,
    /// Who judged.
    pub annotator: Annotator,
}

impl RefusalLabel {
    const fn unknown() -> Self {
        Self {
            refusal: None,
            confidence: 0.0,
            evidence: None,
            annotator: REFUSAL_ANNOTATOR,
        }
    }

    /// As a yes, no or unknown: a partial refusal is one.
    pub const fn label(&self) -> Label {
        match self.refusal {
            Some(Refusal::Full | Refusal::Partial) => Label::True,
            Some(Refusal::None) => Label::False,
            None => Label::Unknown,
        }
    }
}

static MODEL: LazyLock<Model> = LazyLock::new(|| {
    Model::from_bytes(include_bytes!("../../models/refusal.bin"))
        // Unwrap safety: the file is part of the binary, and the tests of this module read it.
        .expect("the model of refusals")
});

/// Whether and how far an answer declines.
pub fn refusal(answer: &str) -> RefusalLabel {
    let read_end = answer
        .char_indices()
        .nth(READ_CHARS)
        .map_or(answer.len(), |(at, _)| at);
    let read = &answer[..read_end];
    if !read.chars().any(char::is_alphanumeric) {
        return RefusalLabel::unknown();
    }
    let patterns: &Patterns = &PATTERNS;
    let Some(passage) = patterns.find(read) else {
        return RefusalLabel {
            refusal: Some(Refusal::None),
            // What the model takes for a refusal and no pattern does is less sure to be none.
            confidence: 1.0 - probability(read) / 2.0,
            evidence: None,
            annotator: REFUSAL_ANNOTATOR,
        };
    };
    let n_before = answer[..passage.span.start].chars().count();
    let n_after = answer[passage.span.end..].chars().count();
    let gives = patterns.gives_something(&answer[passage.span.end..]);
    let is_full = n_before <= OPENING_CHARS && n_after <= FULL_CHARS_MAX && !gives;
    RefusalLabel {
        refusal: Some(if is_full {
            Refusal::Full
        } else {
            Refusal::Partial
        }),
        // A pattern alone is right nine times in ten; the model's agreement makes it surer.
        confidence: passage.weight + (1.0 - passage.weight) * probability(read) * 0.9,
        evidence: Some(passage.span),
        annotator: REFUSAL_ANNOTATOR,
    }
}

/// The probability of a refusal by the words of the opening.
fn probability(read: &str) -> f64 {
    let end = read
        .char_indices()
        .nth(OPENING_CHARS)
        .map_or(read.len(), |(at, _)| at);
    MODEL
        .probabilities(&read[..end])
        .first()
        .copied()
        .unwrap_or(0.0)
}

/// The refusal of one side: that of the answer which declines most, the surest of these.
///
/// Unknown only when no answer can be judged.
pub fn side_refusal(answers: &[&str]) -> RefusalLabel {
    answers
        .iter()
        .map(|answer| refusal(answer))
        .reduce(
            |strongest, next| match next.refusal.cmp(&strongest.refusal) {
                Ordering::Greater => next,
                Ordering::Less => strongest,
                Ordering::Equal => {
                    // A side that does not decline is as sure as its least sure answer, one that does as its surest.
                    let declines = next.refusal > Some(Refusal::None);
                    let is_surer = next.confidence > strongest.confidence;
                    if is_surer == declines {
                        next
                    } else {
                        strongest
                    }
                }
            },
        )
        .unwrap_or_else(RefusalLabel::unknown)
}

/// The category [`Category::Refusal`] of a battle: whether either side declines.
///
/// Unknown when no side declines and one cannot be judged.
pub fn refusal_category(answers: &Sides<&[&str]>) -> CategoryLabel {
    let sides = answers.map(side_refusal);
    let (label, confidence) = match (sides.a.label(), sides.b.label()) {
        (Label::True, Label::True) => (Label::True, sides.a.confidence.max(sides.b.confidence)),
        (Label::True, _) => (Label::True, sides.a.confidence),
        (_, Label::True) => (Label::True, sides.b.confidence),
        (Label::False, Label::False) => (Label::False, sides.a.confidence.min(sides.b.confidence)),
        _ => (Label::Unknown, 0.0),
    };
    CategoryLabel {
        category: Category::Refusal,
        label,
        confidence,
        annotator: REFUSAL_ANNOTATOR,
    }
}

#[cfg(test)]
mod tests;
