//! The detector: reads a text once for each way of reading it, adds up evidence, and settles overlaps.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::{
    Entity, Error, Finding, Policy, Redacted,
    context::Lexicon,
    evasion,
    finding::Verdict,
    normalise::{View, lower_in_place},
    recogniser::{RECOGNISERS, Reading, Recogniser, rules},
    redact::{Numbers, redact_numbered},
    score,
    shapes::{Candidate, Shapes},
};

/// The score from which a finding counts, unless [`Options`] say otherwise.
pub const THRESHOLD: f64 = 0.4;

/// What to look for, and how sure to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// The entities to look for; `None` for all but [`Entity::DateTime`], because a date by itself says nothing about a person.
    pub entities: Option<BTreeSet<Entity>>,
    /// The lowest score reported, from 0 to 1. At 0 everything that has the form is reported.
    pub threshold: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            entities: None,
            threshold: THRESHOLD,
        }
    }
}

/// Which detector found something: belongs beside every stored finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// The detector's name.
    pub name: &'static str,
    /// Its version; findings of two versions are not comparable.
    pub version: &'static str,
    /// The lowest score it reports.
    pub threshold: f64,
}

/// Finds personal data in text.
///
/// Building one compiles the shapes and words of all entities, which takes some milliseconds; keep it.
/// Searching needs no exclusive access, so that one detector serves many threads.
#[derive(Debug)]
pub struct Detector {
    shapes: Shapes,
    lexicon: Lexicon,
    recognisers: Vec<&'static Recogniser>,
    entities: BTreeSet<Entity>,
    threshold: f64,
    log_odds_min: f64,
}

impl Detector {
    /// A detector for these options.
    ///
    /// # Errors
    ///
    /// [`Error::Threshold`] if the threshold is no number from 0 to 1, [`Error::NoEntity`] if nothing is to be found.
    pub fn new(options: &Options) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&options.threshold) {
            return Err(Error::Threshold(options.threshold));
        }
        if options.entities.as_ref().is_some_and(BTreeSet::is_empty) {
            return Err(Error::NoEntity);
        }
        let entities = options.entities.clone().unwrap_or_else(|| {
            Entity::ALL
                .iter()
                .copied()
                .filter(|entity| *entity != Entity::DateTime)
                .collect()
        });
        let wanted = |entity: &Entity| entities.contains(entity);
        let rules: Vec<_> = rules()
            .into_iter()
            .filter(|rule| wanted(&rule.entity))
            .collect();
        let recognisers: Vec<&Recogniser> = RECOGNISERS
            .iter()
            .filter(|recogniser| recogniser.entities.iter().any(wanted))
            .collect();
        let words = rules
            .iter()
            .map(|rule| (rule.entity, rule.words))
            .chain(
                recognisers
                    .iter()
                    .flat_map(|recogniser| recogniser.words.iter().copied()),
            )
            .collect::<Vec<_>>();
        Ok(Self {
            shapes: Shapes::new(&rules).map_err(|error| Error::Shapes(error.to_string()))?,
            lexicon: Lexicon::new(words.into_iter())
                .map_err(|error| Error::Words(error.to_string()))?,
            recognisers,
            entities,
            threshold: options.threshold,
            log_odds_min: score::log_odds(options.threshold),
        })
    }

    /// Name, version and threshold.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            threshold: self.threshold,
        }
    }

    /// Personal data in a text, in the order of the text, without overlaps.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Finding> {
        self.find_in(text, None)
    }

    /// The same with a hint about the text's language (ISO 639-1), which tells numbers of one country from another's.
    #[must_use]
    pub fn find_in(&self, text: &str, language: Option<&str>) -> Vec<Finding> {
        let view = View::of(text);
        let lower = lower_in_place(&view.text);
        let mut candidates = Vec::new();
        self.scan(&view, &lower, language, &mut candidates);
        for candidate in &mut candidates {
            candidate.range = view.original(candidate.range.clone());
        }
        for reread in evasion::rereads(&view.text, &lower) {
            let lower = lower_in_place(&reread.view.text);
            let mut further = Vec::new();
            self.scan(&reread.view, &lower, language, &mut further);
            candidates.extend(further.into_iter().filter_map(|mut candidate| {
                let holds = !reread.needs_check || candidate.evidence.check == Verdict::Passed;
                let changed = reread.view.changes_in(&candidate.range);
                candidate.range = view.original(reread.view.original(candidate.range.clone()));
                (holds && changed).then_some(candidate)
            }));
        }
        candidates.retain(|candidate| {
            candidate.log_odds >= self.log_odds_min
                && !candidate.range.is_empty()
                && self.entities.contains(&candidate.entity)
        });
        in_code_points(text, settle(candidates))
    }

    /// A text without what is found in it.
    ///
    /// What was hidden behind a stronger finding shows only when that is gone, so the text is searched again until nothing is found.
    ///
    /// # Errors
    ///
    /// Those of [`crate::redact`], which findings of the same text do not cause.
    pub fn redact(
        &self,
        text: &str,
        language: Option<&str>,
        policy: &Policy,
    ) -> Result<Redacted, Error> {
        let mut redacted = Redacted {
            text: text.to_owned(),
            spans: Vec::new(),
        };
        let mut numbers = Numbers::default();
        loop {
            let mut findings = self.find_in(&redacted.text, language);
            // Each round takes away some of the original text, so that there is a last one.
            findings.retain(|finding| !redacted.replaced(&finding.bytes));
            if findings.is_empty() {
                return Ok(redacted);
            }
            let next = redact_numbered(&redacted.text, &findings, policy, &mut numbers)?;
            redacted = redacted.then(next);
        }
    }

    fn scan<'r>(
        &'r self,
        view: &'r View<'r>,
        lower: &'r str,
        language: Option<&'r str>,
        candidates: &mut Vec<Candidate>,
    ) {
        let surroundings = self.lexicon.read(lower);
        let reading = Reading {
            view,
            lower,
            surroundings: &surroundings,
            language,
        };
        self.shapes.find(&reading, self.log_odds_min, candidates);
        for recogniser in &self.recognisers {
            (recogniser.find)(&reading, candidates);
        }
    }
}

/// How much one more byte of a longer reading is worth against a surer but shorter one.
const LOG_ODDS_PER_BYTE: f64 = 0.12;

/// Keeps the best of overlapping candidates: by log-odds and length, then the earlier, then the entity's order.
fn settle(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    // Lengths of hidden data are short, so that the conversion is exact.
    let rank = |candidate: &Candidate| {
        candidate.log_odds + LOG_ODDS_PER_BYTE * candidate.range.len().min(1000) as f64
    };
    candidates.sort_by(|a, b| {
        rank(b)
            .total_cmp(&rank(a))
            .then(a.range.start.cmp(&b.range.start))
            .then(b.range.end.cmp(&a.range.end))
            .then(a.entity.cmp(&b.entity))
    });
    let mut kept: BTreeMap<usize, Candidate> = BTreeMap::new();
    for candidate in candidates {
        let Range { start, end } = candidate.range;
        let before = kept.range(..end).next_back();
        if before.is_none_or(|(_, other)| other.range.end <= start) {
            kept.insert(start, candidate);
        }
    }
    kept.into_values().collect()
}

/// Findings with their places in code points, counted in one walk over the text.
fn in_code_points(text: &str, candidates: Vec<Candidate>) -> Vec<Finding> {
    let (mut byte, mut count) = (0, 0);
    let mut chars_at = |place: usize| {
        count += text[byte..place].chars().count();
        byte = place;
        count
    };
    candidates
        .into_iter()
        .map(|candidate| {
            let chars = chars_at(candidate.range.start)..chars_at(candidate.range.end);
            Finding {
                entity: candidate.entity,
                country: candidate.entity.country(),
                bytes: candidate.range,
                chars,
                score: score::score(candidate.log_odds),
                evidence: candidate.evidence,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
