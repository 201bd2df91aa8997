//! Annotating: what is labelled, by which annotators, and what their labels come down to.
//!
//! An annotator is one file below, and one entry of [`ALL`].
//! A label is JSON, kept with the annotator's name and version; what a label says is described in `docs/annotation.md`.
//! Labels of vision models, which answer closed questions, are made by [`questions`].

mod arena;
mod category;
mod content;
mod duplicate;
mod identity;
mod language;
mod outcome;
pub mod questions;
mod refusal;
pub mod stored;
mod style;

use agon_content::annotate::{
    Annotator,
    duplicates::DUPLICATES_ANNOTATOR,
    identity::{CatalogueModel, IdentityAnnotator, TooManyNames},
};
use agon_dataset::Label;
use serde_json::Value;

pub use self::{
    arena::{missing, voted_content},
    content::Content,
    duplicate::{label as duplicate_label, prompt_text},
    outcome::{outcome, published_style},
};

/// An annotator that labels a conversation by itself, offline.
#[derive(Debug)]
pub struct Registration {
    /// Its name and version, which stand beside each of its labels.
    pub annotator: Annotator,
    /// The name by which it is chosen, which annotators of one subject share.
    pub subject: &'static str,
    /// What it labels, in a line.
    pub about: &'static str,
    /// Whether it looks for the names of the models.
    pub needs_names: bool,
    label: fn(&Content<'_>, &Tools) -> Value,
}

/// What annotators need beside the content.
#[derive(Debug)]
pub struct Tools {
    identity: IdentityAnnotator,
}

/// Every annotator, in the order in which their labels are kept.
pub const ALL: [&Registration; 8] = [
    &style::COMPAT,
    &style::COMMONMARK,
    &style::TEXT,
    &language::LANGUAGE,
    &category::RULES,
    &category::WORDS,
    &refusal::REFUSAL,
    &identity::IDENTITY,
];

/// The subject of duplicates, which need all rows at once and have no [`Registration`].
pub const DUPLICATES: &str = "duplicates";

impl Tools {
    /// Tools that know models by these names.
    ///
    /// # Errors
    ///
    /// [`TooManyNames`].
    pub fn new<'a>(models: impl IntoIterator<Item = &'a str>) -> Result<Self, TooManyNames> {
        let catalogue: Vec<CatalogueModel<'_>> = models
            .into_iter()
            .map(|name| CatalogueModel {
                name,
                aliases: &[],
                vendor: None,
            })
            .collect();
        Ok(Self {
            identity: IdentityAnnotator::new(&catalogue)?,
        })
    }
}

impl Registration {
    /// The label of a conversation.
    pub fn label(&self, content: &Content<'_>, tools: &Tools) -> Label {
        kept(self.annotator, &(self.label)(content, tools))
    }

    /// Whether a label that is there is this annotator's present one.
    pub fn is_current(&self, label: &Label) -> bool {
        label.annotator == self.annotator.name && label.version == self.annotator.version
    }
}

/// The subjects that can be chosen, each once.
pub fn subjects() -> Vec<&'static str> {
    let mut subjects: Vec<&'static str> = ALL
        .iter()
        .map(|registration| registration.subject)
        .collect();
    subjects.dedup();
    subjects.push(DUPLICATES);
    subjects
}

/// Subject, annotator and description of everything that labels.
pub fn descriptions() -> Vec<(&'static str, Annotator, &'static str)> {
    let mut descriptions: Vec<_> = ALL
        .iter()
        .map(|registration| {
            (
                registration.subject,
                registration.annotator,
                registration.about,
            )
        })
        .collect();
    descriptions.push((
        DUPLICATES,
        DUPLICATES_ANNOTATOR,
        "prompts that are there more than once, exactly or nearly",
    ));
    descriptions
}

/// Whether a label that was there before stays beside the new ones: one of a vision model, or one of an annotator that was not asked this time and has the same version still.
pub fn is_worth_keeping(label: &Label, labels: &[Label]) -> bool {
    let is_there = labels
        .iter()
        .any(|other| other.annotator == label.annotator);
    let is_current = label.annotator.starts_with(outcome::QUESTION_PREFIX)
        || ALL
            .iter()
            .any(|registration| registration.is_current(label));
    !is_there && is_current
}

/// A label as it is kept.
fn kept(annotator: Annotator, label: &Value) -> Label {
    Label {
        annotator: annotator.name.to_owned(),
        version: annotator.version,
        label: label.to_string(),
    }
}
