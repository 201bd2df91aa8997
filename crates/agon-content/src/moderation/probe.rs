//! Prompts that ask which model answers, or try to give models other instructions. They are flagged and harm nobody.

use std::sync::LazyLock;

use agon_domain::{DetectorIdentity, Finding, FindingKind};
use regex::{Regex, RegexBuilder};

use super::{places, probe::patterns::PATTERNS};
use crate::annotate::identity::{
    CatalogueModel, IdentityAnnotator, TooManyNames,
    fold::{fold, fold_literal},
};

mod patterns;

/// Raised with every change of patterns.
const VERSION: u32 = 1;

/// Finds probes in prompts. Build it once for a catalogue.
#[derive(Clone, Debug)]
pub struct ProbeDetector {
    identity: DetectorIdentity,
    annotator: IdentityAnnotator,
}

/// The compiled patterns, each with its category.
static COMPILED: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    PATTERNS
        .iter()
        .map(|(category, sources)| {
            let joined = sources.join("|");
            let regex = RegexBuilder::new(&fold_literal(&joined))
                .size_limit(64 * 1024 * 1024)
                .build();
            match regex {
                Ok(regex) => (*category, regex),
                Err(error) => unreachable!("a built-in pattern of `{category}`: {error}"),
            }
        })
        .collect()
});

impl ProbeDetector {
    /// A detector that knows the names of the catalogue beside the built-in ones.
    ///
    /// # Errors
    ///
    /// [`TooManyNames`] when the names exceed what a search can hold.
    pub fn new(catalogue: &[CatalogueModel<'_>]) -> Result<Self, TooManyNames> {
        Ok(Self {
            identity: DetectorIdentity::new(
                "probe",
                format!(
                    "{VERSION}+identity-{}",
                    crate::annotate::identity::IDENTITY_ANNOTATOR.version
                ),
            ),
            annotator: IdentityAnnotator::new(catalogue)?,
        })
    }

    /// Name and version, as in its findings.
    pub const fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    /// [`FindingKind::Probe`].
    pub const fn screens_for(&self) -> &'static [FindingKind] {
        &[FindingKind::Probe]
    }

    /// Every probe in a prompt, in the order of their starts.
    ///
    /// Categories: `identity_question`, `ignore_instructions`, `prompt_extraction`, `role_tag`, `persona`.
    pub fn find(&self, prompt: &str) -> Vec<Finding> {
        let mut hits: Vec<_> = self
            .annotator
            .prompt(prompt)
            .into_iter()
            .map(|mention| ("identity_question", mention.span))
            .collect();
        let folded = fold(prompt);
        for (category, regex) in COMPILED.iter() {
            hits.extend(regex.find_iter(&folded.text).map(|found| {
                let range = folded.source_range(prompt, found.range());
                (*category, range)
            }));
        }
        hits.sort_by_key(|(_, range)| (range.start, range.end));
        let at = places(prompt, hits.iter().map(|(_, range)| range.clone()));
        hits.into_iter()
            .zip(at)
            .map(|((category, _), place)| Finding {
                detector: self.identity.clone(),
                kind: FindingKind::Probe,
                category: category.to_owned(),
                score: 1.0,
                threshold: 1.0,
                place,
            })
            .collect()
    }
}
