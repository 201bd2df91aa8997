//! What is looked for: one rule for each entity, with its shapes, its check, and the words that announce it.
//!
//! A rule states facts about a number. How they become a score is in `score`, and how a text is searched for all of them at once in `shapes`.

mod address;
mod crypto;
mod date;
mod email;
mod labelled;
mod mrz;
mod name;
mod national;
mod network;
mod phone;
mod place;
mod secret;
mod url;
mod worldwide;

use std::ops::Range;

use crate::{Entity, context::Surroundings, normalise::View, shapes::Candidate, work};

/// Whether the value's own check holds.
pub(crate) type CheckFn = fn(&str) -> bool;

/// What a failed check means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// It is not this entity.
    Reject,
    /// Valid documents without the check exist, so only the score is lower.
    Lower,
}

/// How one entity is recognised by its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// What is found.
    pub(crate) entity: Entity,
    /// Regular expressions on text in lower case; each is matched from the start of a word.
    pub(crate) shapes: &'static [&'static str],
    /// Conditions that are not check digits: a real date, a region, a list of codes. They always reject.
    pub(crate) require: Option<CheckFn>,
    /// The check digits, and the chance that a random value passes.
    pub(crate) check: Option<(CheckFn, f64)>,
    /// What a failed check means.
    pub(crate) on_failure: OnFailure,
    /// Words that announce it, in lower case; `~` in front marks a word that many other things share.
    pub(crate) words: &'static [&'static str],
    /// Log-odds before any evidence; by default it follows from the value's characters.
    pub(crate) prior: Option<f64>,
    /// Whether it is reported only beside one of its words.
    pub(crate) needs_word: bool,
}

impl Rule {
    /// A rule with shapes alone.
    pub(crate) const fn new(entity: Entity, shapes: &'static [&'static str]) -> Self {
        Self {
            entity,
            shapes,
            require: None,
            check: None,
            on_failure: OnFailure::Reject,
            words: &[],
            prior: None,
            needs_word: false,
        }
    }

    /// Check digits, of which one random value in `one_in` is right.
    pub(crate) const fn check(mut self, check: CheckFn, one_in: f64) -> Self {
        self.check = Some((check, 1.0 / one_in));
        self
    }

    /// A failed check only lowers the score.
    pub(crate) const fn lowers(mut self) -> Self {
        self.on_failure = OnFailure::Lower;
        self
    }

    /// A condition without which it is not this entity.
    pub(crate) const fn require(mut self, require: CheckFn) -> Self {
        self.require = Some(require);
        self
    }

    /// The words that announce it.
    pub(crate) const fn words(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    /// Log-odds before any evidence.
    pub(crate) const fn prior(mut self, log_odds: f64) -> Self {
        self.prior = Some(log_odds);
        self
    }

    /// Reported only beside one of its words.
    pub(crate) const fn needs_word(mut self) -> Self {
        self.needs_word = true;
        self
    }
}

/// What a recogniser reads.
#[derive(Debug)]
pub(crate) struct Reading<'r> {
    /// The normalised text.
    pub(crate) view: &'r View<'r>,
    /// The same in lower case, every character at the same place.
    pub(crate) lower: &'r str,
    /// The words in it that announce something.
    pub(crate) surroundings: &'r Surroundings<'r>,
    /// The reader's hint about the language, ISO 639-1.
    pub(crate) language: Option<&'r str>,
}

impl Reading<'_> {
    /// The normalised text.
    pub(crate) fn text(&self) -> &str {
        &self.view.text
    }
}

/// A recogniser that is more than a shape.
#[derive(Debug)]
pub(crate) struct Recogniser {
    /// What it can find.
    pub(crate) entities: &'static [Entity],
    /// The words that announce each of them.
    pub(crate) words: &'static [(Entity, &'static [&'static str])],
    /// Finds it.
    pub(crate) find: fn(&Reading<'_>, &mut Vec<Candidate>),
}

/// All rules.
pub(crate) fn rules() -> Vec<&'static Rule> {
    [
        worldwide::RULES,
        crypto::RULES,
        date::RULES,
        phone::RULES,
        address::RULES,
    ]
    .into_iter()
    .chain(national::ALL.iter().copied())
    .flatten()
    .collect()
}

/// All recognisers that are more than a shape.
pub(crate) const RECOGNISERS: &[Recogniser] = &[
    email::RECOGNISER,
    url::RECOGNISER,
    network::RECOGNISER,
    phone::RECOGNISER,
    place::RECOGNISER,
    mrz::RECOGNISER,
    secret::RECOGNISER,
    labelled::RECOGNISER,
    name::RECOGNISER,
    address::RECOGNISER,
];

/// The words that announce an entity, in lower case, in the catalogue's order.
pub fn words_of(entity: Entity) -> impl Iterator<Item = &'static str> {
    rules()
        .into_iter()
        .map(|rule| (rule.entity, rule.words))
        .chain(
            RECOGNISERS
                .iter()
                .flat_map(|recogniser| recogniser.words.iter().copied()),
        )
        .filter(move |(announced, _)| *announced == entity)
        .flat_map(|(_, words)| words.iter())
        .map(|word| word.trim_start_matches('~'))
}

/// The longest stretch from `start` whose bytes satisfy `allowed`, at most `bytes_max` long.
pub(crate) fn run_forwards(
    text: &str,
    start: usize,
    bytes_max: usize,
    allowed: impl Fn(u8) -> bool,
) -> Range<usize> {
    let len = text.as_bytes()[start..]
        .iter()
        .take(bytes_max)
        .take_while(|byte| allowed(**byte))
        .count();
    work::count(len + 1);
    start..start + len
}
