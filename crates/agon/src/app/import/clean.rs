//! Cleaning of whole rows: the facts of each, with the identity annotator run on its messages, and the counts as they are printed.

use std::{cell::Cell, collections::HashMap, thread};

use agon_content::annotate::identity::{CatalogueModel, IdentityAnnotator};
use agon_dataset::{
    ConversationRow, RowRole,
    clean::{Audit, Cleaned, Cleaner, MixedTimeUnits, Profile, RuleCount},
};
use serde::Serialize;

use crate::app::leaderboard::Threads;

/// Annotators kept at a time: one for each model, as an answer leaks its own model's name.
const ANNOTATORS_MAX: usize = 256;

/// Takes rows in their order, then says which to keep.
#[derive(Debug)]
pub struct RowCleaner {
    cleaner: Cleaner,
    /// Whether the profile looks at who an answer says it is, rather than at words.
    annotates: bool,
    annotators: HashMap<String, IdentityAnnotator>,
    n_threads: Threads,
}

impl RowCleaner {
    /// A cleaner without rows.
    pub fn new(profile: Profile, n_threads: Threads) -> Self {
        Self {
            annotates: matches!(profile, Profile::Agon1(_)),
            cleaner: Cleaner::new(profile),
            annotators: HashMap::new(),
            n_threads,
        }
    }

    /// Takes in the next rows, each of which must be a battle with a vote, as all are that [`agon_dataset::read_conversations`] gives without chats.
    ///
    /// # Errors
    ///
    /// [`MixedTimeUnits`] when a time is in another unit than those before.
    pub fn add(&mut self, rows: &[ConversationRow]) -> Result<(), MixedTimeUnits> {
        let identities = self.identities(rows);
        for (row, identities) in rows.iter().zip(&identities) {
            // Messages are asked for in their order, side A first.
            let next = Cell::new(0);
            let identity = |_: &agon_dataset::RowMessage| {
                let idx = next.get();
                next.set(idx + 1);
                identities.get(idx).copied().flatten()
            };
            row.with_facts(&identity, |facts| self.cleaner.add(facts))
                .transpose()?;
        }
        Ok(())
    }

    /// The verdict on each row, by its number in the order of adding, and the counts.
    pub fn finish(self) -> Cleaned {
        self.cleaner.finish()
    }

    /// For each row, what the annotator says of its messages by voter and models.
    fn identities(&mut self, rows: &[ConversationRow]) -> Vec<Vec<Option<bool>>> {
        if !self.annotates {
            return vec![Vec::new(); rows.len()];
        }
        if self.annotators.len() > ANNOTATORS_MAX {
            self.annotators.clear();
        }
        for row in rows {
            for model in &row.models {
                if !self.annotators.contains_key(model) {
                    let catalogue = [CatalogueModel {
                        name: model,
                        aliases: &[],
                        vendor: None,
                    }];
                    // A name that is too long for a search leaves the built-in ones, and the row counts as one that no annotator has seen.
                    if let Ok(annotator) = IdentityAnnotator::new(&catalogue) {
                        self.annotators.insert(model.clone(), annotator);
                    }
                }
            }
        }
        let annotators = &self.annotators;
        let n_each = rows.len().div_ceil(self.n_threads.get()).max(1);
        thread::scope(|scope| {
            let workers: Vec<_> = rows
                .chunks(n_each)
                .map(|rows| {
                    scope.spawn(|| -> Vec<Vec<Option<bool>>> {
                        rows.iter().map(|row| identities(row, annotators)).collect()
                    })
                })
                .collect();
            workers
                .into_iter()
                .flat_map(|worker| match worker.join() {
                    Ok(found) => found,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        })
    }
}

fn identities(
    row: &ConversationRow,
    annotators: &HashMap<String, IdentityAnnotator>,
) -> Vec<Option<bool>> {
    let mut identities = Vec::new();
    for (conversation, model) in row.conversations.iter().zip(&row.models) {
        let annotator = annotators.get(model);
        let mut after_probe = false;
        for message in &conversation.messages {
            let text = message.text.as_deref().unwrap_or_default();
            match message.role {
                RowRole::User => {
                    let probes = annotator.map(|annotator| !annotator.prompt(text).is_empty());
                    after_probe = probes == Some(true);
                    identities.push(probes);
                }
                RowRole::Assistant => identities.push(annotator.map(|annotator| {
                    let mentions = annotator.answer(text, after_probe);
                    mentions.iter().any(|mention| mention.kind.is_leak())
                })),
                RowRole::System | RowRole::Other(_) => {}
            }
        }
    }
    identities
}

/// What cleaning did, in counts. `rows` is `kept` and the sum of `first` over `rules`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditBody {
    /// The name of the profile.
    pub profile: &'static str,
    /// Rows.
    pub rows: u64,
    /// Rows that no rule excludes.
    pub kept: u64,
    /// The excluding rules in their order, those without a row too.
    pub rules: Vec<RuleBody>,
    /// What was found without excluding.
    pub notes: Vec<RuleBody>,
    /// Rows that do not say whether names were hidden; they are taken to be.
    pub anonymity_unknown: u64,
    /// Rows without conversations: rules about messages do not see them.
    pub without_conversations: u64,
    /// Rows with an answer on which no identity annotator has run.
    pub without_identity: u64,
    /// Rows that escape the daily cap, as judge or time is missing.
    pub uncapped: u64,
    /// Rows whose time is no time; it counts as missing.
    pub bad_times: u64,
}

/// How many rows a rule concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleBody {
    /// The code of the rule.
    pub rule: &'static str,
    /// The rule in words.
    pub meaning: &'static str,
    /// Rows that it is the first to exclude.
    pub first: u64,
    /// Rows that it flags.
    pub total: u64,
}

impl From<RuleCount> for RuleBody {
    fn from(count: RuleCount) -> Self {
        Self {
            rule: count.rule.as_str(),
            meaning: count.rule.description(),
            first: count.first,
            total: count.total,
        }
    }
}

impl From<&Audit> for AuditBody {
    fn from(audit: &Audit) -> Self {
        let bodies = |counts: &[RuleCount]| counts.iter().copied().map(RuleBody::from).collect();
        Self {
            profile: audit.profile,
            rows: audit.rows,
            kept: audit.kept,
            rules: bodies(&audit.rules),
            notes: bodies(&audit.notes),
            anonymity_unknown: audit.n_anonymity_unknown,
            without_conversations: audit.n_without_conversations,
            without_identity: audit.n_without_identity,
            uncapped: audit.n_uncapped,
            bad_times: audit.n_bad_times,
        }
    }
}
