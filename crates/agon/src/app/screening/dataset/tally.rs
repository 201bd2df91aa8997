//! What is counted of the rows of a dataset.

use std::collections::BTreeMap;

use agon_domain::{Action, Decision, Policy, Screening, Verdict};
use serde::{Deserialize, Serialize};

use super::RowFate;

/// Texts or pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Contents {
    /// Looked at.
    pub screened: u64,
    /// Published without what was found in them.
    pub changed: u64,
}

/// Counts of rows, contents, findings and failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Tally {
    /// Rows.
    pub rows: u64,
    /// Rows that are published, changed ones among them.
    pub rows_published: u64,
    /// Rows that are published without something.
    pub rows_changed: u64,
    /// Rows that are left out, by reason.
    pub rows_left_out: BTreeMap<String, u64>,
    /// Rows by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Prompts, answers and other messages.
    pub texts: Contents,
    /// Pictures.
    pub pictures: Contents,
    /// Pictures of which the dataset has no bytes.
    pub pictures_missing: u64,
    /// Pictures that cannot be decoded.
    pub pictures_unreadable: u64,
    /// Values of other columns that were replaced, by column.
    pub columns_changed: BTreeMap<String, u64>,
    /// Findings that count, by kind.
    pub findings: BTreeMap<String, u64>,
    /// The same by kind and category, such as `pii_text/EMAIL_ADDRESS`.
    pub categories: BTreeMap<String, u64>,
    /// The same by detector and version.
    pub detectors: BTreeMap<String, u64>,
    /// The same by what follows.
    pub actions: BTreeMap<String, u64>,
    /// Findings below their thresholds.
    pub below_threshold: u64,
    /// Texts and pictures without an answer that is required, by kind.
    pub unanswered: BTreeMap<String, u64>,
    /// Failures, by why and by detector.
    pub failures: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Adds to a count.
pub(super) fn count(counts: &mut BTreeMap<String, u64>, name: &str, n: u64) {
    match counts.get_mut(name) {
        Some(count) => *count += n,
        None => {
            counts.insert(name.to_owned(), n);
        }
    }
}

impl Tally {
    /// Counts a row.
    pub(super) fn row(&mut self, fate: RowFate, left_out: Option<String>, verdict: Verdict) {
        self.rows += 1;
        self.rows_published += u64::from(fate != RowFate::LeftOut);
        self.rows_changed += u64::from(fate == RowFate::Changed);
        if let Some(reason) = left_out {
            count(&mut self.rows_left_out, &reason, 1);
        }
        count(&mut self.verdicts, verdict.as_str(), 1);
    }

    /// Counts one look at a text or picture.
    pub(super) fn look(
        &mut self,
        pass: u32,
        screening: &Screening,
        decision: &Decision,
        policy: &Policy,
    ) {
        for finding in &screening.findings {
            let action = policy.action(finding.kind, &finding.category);
            if !finding.counts() || action == Action::Off {
                self.below_threshold += u64::from(!finding.counts());
                continue;
            }
            count(&mut self.findings, finding.kind.as_str(), 1);
            let category = format!("{}/{}", finding.kind, finding.category);
            count(&mut self.categories, &category, 1);
            count(&mut self.detectors, &finding.detector.to_string(), 1);
            count(&mut self.actions, action.as_str(), 1);
        }
        if pass == 1 {
            for kind in &decision.unanswered {
                count(&mut self.unanswered, kind.as_str(), 1);
            }
        }
        for failure in &screening.failures {
            let of_kind = self
                .failures
                .entry(failure.kind.as_str().to_owned())
                .or_default();
            count(of_kind, &failure.detector.name, 1);
        }
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.rows_published += other.rows_published;
        self.rows_changed += other.rows_changed;
        for (contents, others) in [
            (&mut self.texts, other.texts),
            (&mut self.pictures, other.pictures),
        ] {
            contents.screened += others.screened;
            contents.changed += others.changed;
        }
        self.pictures_missing += other.pictures_missing;
        self.pictures_unreadable += other.pictures_unreadable;
        self.below_threshold += other.below_threshold;
        for (counts, others) in [
            (&mut self.rows_left_out, &other.rows_left_out),
            (&mut self.verdicts, &other.verdicts),
            (&mut self.columns_changed, &other.columns_changed),
            (&mut self.findings, &other.findings),
            (&mut self.categories, &other.categories),
            (&mut self.detectors, &other.detectors),
            (&mut self.actions, &other.actions),
            (&mut self.unanswered, &other.unanswered),
        ] {
            for (name, n) in others {
                count(counts, name, *n);
            }
        }
        for (why, others) in &other.failures {
            let counts = self.failures.entry(why.clone()).or_default();
            for (name, n) in others {
                count(counts, name, *n);
            }
        }
    }
}
