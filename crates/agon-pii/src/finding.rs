//! What was found: the entity, the place, the score, and why.

use std::ops::Range;

use crate::{Country, Entity, Strength};

/// Personal data at one place of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is.
    pub entity: Entity,
    /// The country that issues it, if one does.
    pub country: Option<Country>,
    /// Where it stands, in bytes of the text; always on boundaries of characters.
    pub bytes: Range<usize>,
    /// Where it stands, in code points.
    pub chars: Range<usize>,
    /// How sure the detector is, from 0 to 1.
    pub score: f64,
    /// What the score is made of.
    pub evidence: Evidence,
}

/// What speaks for and against a finding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Which way of recognising it: `shape`, or the name of a recogniser such as `email` or `label`.
    pub pattern: &'static str,
    /// Whether check digits exist and are right.
    pub check: Verdict,
    /// The word nearby that announces it, as it stands in the catalogue, and how close it is.
    pub word: Option<(&'static str, Strength)>,
    /// Log-odds of the form alone.
    pub prior: f64,
    /// Log-odds of what stands right beside it.
    pub around: f64,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is nothing to check, or the rule is not public.
    None,
    /// The check digits are right.
    Passed,
    /// They are wrong, which some valid documents are too.
    Failed,
}

impl Evidence {
    /// Evidence of a recogniser that is sure by itself.
    pub(crate) const fn by(pattern: &'static str, prior: f64) -> Self {
        Self {
            pattern,
            check: Verdict::None,
            word: None,
            prior,
            around: 0.0,
        }
    }

    /// The same with the outcome of a check.
    pub(crate) const fn checked(mut self, passed: bool) -> Self {
        self.check = if passed {
            Verdict::Passed
        } else {
            Verdict::Failed
        };
        self
    }

    /// The same with the word that announced it.
    pub(crate) const fn announced(mut self, word: Option<(Strength, &'static str)>) -> Self {
        if let Some((strength, word)) = word {
            self.word = Some((word, strength));
        }
        self
    }
}
