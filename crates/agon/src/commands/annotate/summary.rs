//! What an annotation found, counted and printed.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
};

use agon_content::annotate::{identity::IDENTITY_ANNOTATOR, refusal::REFUSAL_ANNOTATOR};
use agon_dataset::{AnnotatedSummary, ConversationRow, InputReport, RowLabels, schema::CATEGORIES};
use serde_json::{Value, json};

use crate::{cli::GlobalArgs, commands::rank::print::visible, exit_code::CommandError};

/// Languages that are listed in the text for people.
const LANGUAGES_SHOWN_MAX: usize = 10;

/// Counts of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// Labels that were given.
    pub(super) n_new: u64,
    /// Labels that were there already.
    pub(super) n_kept: u64,
    n_rows: u64,
    languages: BTreeMap<String, u64>,
    /// Yes, no and unknown of each category.
    categories: [[u64; 3]; CATEGORIES.len()],
    /// Rows with a side that declined wholly, and partly.
    n_refused: [u64; 2],
    /// Rows in which a model said who it is.
    n_leaks: u64,
    n_frequent: u64,
    n_thinned: u64,
    /// Rows of which something could not be read, by column.
    problems: BTreeMap<String, u64>,
}

impl Summary {
    /// Counts a row.
    pub(super) fn add(&mut self, row: &ConversationRow, labels: &RowLabels) {
        self.n_rows += 1;
        if let Some(language) = &labels.language {
            *self.languages.entry(language.clone()).or_default() += 1;
        }
        for (counts, label) in self.categories.iter_mut().zip(labels.categories) {
            counts[match label {
                Some(true) => 0,
                Some(false) => 1,
                None => 2,
            }] += 1;
        }
        if let Some(tag) = labels.dedup_tag {
            self.n_frequent += u64::from(tag.high_freq);
            self.n_thinned += u64::from(tag.high_freq && !tag.sampled);
        }
        for label in &labels.labels {
            if label.annotator == REFUSAL_ANNOTATOR.name {
                let value: Value = serde_json::from_str(&label.label).unwrap_or_default();
                let has = |what: &str| {
                    let mut sides = ["a", "b"].into_iter();
                    sides.any(|side| value[side]["refusal"] == what)
                };
                self.n_refused[0] += u64::from(has("full"));
                self.n_refused[1] += u64::from(has("partial") && !has("full"));
            } else if label.annotator == IDENTITY_ANNOTATOR.name {
                let value: Value = serde_json::from_str(&label.label).unwrap_or_default();
                let mut sides = ["a", "b"].into_iter();
                let leaks = sides.any(|side| {
                    let leaks = value[side]["leaks"].as_array();
                    leaks.is_some_and(|leaks| !leaks.is_empty())
                });
                self.n_leaks += u64::from(leaks);
            }
        }
        for problem in &row.problems {
            *self.problems.entry(problem.column.clone()).or_default() += 1;
        }
    }

    /// The counts as JSON.
    pub(super) fn json(&self) -> Value {
        let categories: BTreeMap<&str, Value> = CATEGORIES
            .into_iter()
            .zip(self.categories)
            .map(|(category, [yes, no, unknown])| {
                (
                    category,
                    json!({ "true": yes, "false": no, "unknown": unknown }),
                )
            })
            .collect();
        json!({
            "rows": self.n_rows,
            "labels_new": self.n_new,
            "labels_kept": self.n_kept,
            "languages": self.languages,
            "categories": categories,
            "refusals": { "full": self.n_refused[0], "partial": self.n_refused[1] },
            "identity_leaks": self.n_leaks,
            "frequent_prompts": { "rows": self.n_frequent, "thinned_out": self.n_thinned },
            "unreadable": self.problems,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{} labels given, {} taken over\n", self.n_new, self.n_kept);
        if !self.languages.is_empty() {
            let mut languages: Vec<(&String, &u64)> = self.languages.iter().collect();
            languages.sort_by_key(|&(name, n)| (std::cmp::Reverse(*n), name));
            let n_more = languages.len().saturating_sub(LANGUAGES_SHOWN_MAX);
            languages.truncate(LANGUAGES_SHOWN_MAX);
            let languages: Vec<String> = languages
                .into_iter()
                .map(|(name, n)| format!("{name} {n}"))
                .collect();
            text.push_str(&format!("languages: {}", languages.join(", ")));
            if n_more > 0 {
                text.push_str(&format!(" and {n_more} more"));
            }
            text.push('\n');
        }
        text.push_str("category              yes         no    unknown\n");
        for (category, [yes, no, unknown]) in CATEGORIES.into_iter().zip(self.categories) {
            text.push_str(&format!(
                "{category:<16} {yes:>8}   {no:>8}   {unknown:>8}\n"
            ));
        }
        text.push_str(&format!(
            "refusals: {} full, {} partial; answers that name their model: {} rows\nfrequent prompts: {} rows, {} of them to be thinned out\n",
            self.n_refused[0], self.n_refused[1], self.n_leaks, self.n_frequent, self.n_thinned
        ));
        for (column, n) in &self.problems {
            text.push_str(&format!("`{column}` could not be read in {n} rows\n"));
        }
        text
    }
}

/// Prints what became of a dataset.
pub(super) fn print(
    global: &GlobalArgs,
    summary: &Summary,
    report: &InputReport,
    written: &AnnotatedSummary,
    asked: Option<&Value>,
) -> Result<(), CommandError> {
    let text = if global.json {
        let rejected: BTreeMap<&str, u64> = report
            .rejected
            .iter()
            .map(|(reason, rows)| (reason.as_str(), rows.count))
            .collect();
        let document = json!({
            "folder": written.folder,
            "rows": report.rows,
            "rejected": rejected,
            "summary": summary.json(),
            "labeller": asked,
            "files": written.files,
        });
        format!("{}\n", serde_json::to_string_pretty(&document)?)
    } else if global.quiet {
        String::new()
    } else {
        let mut text = format!(
            "{} of {} rows in {}\n",
            written.n_rows,
            report.rows,
            written.folder.display()
        );
        for (reason, rows) in &report.rejected {
            text.push_str(&format!(
                "  {} left out: {}\n",
                rows.count,
                reason.description()
            ));
        }
        text.push_str(&summary.text());
        if let Some(asked) = asked {
            text.push_str(&asked_text(asked));
        }
        text
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// What became of the closed questions, in words.
pub(super) fn asked_text(asked: &Value) -> String {
    let n = |name: &str| asked[name].as_u64().unwrap_or(0);
    let failure = asked["last_failure"]
        .as_str()
        .map_or_else(String::new, |failure| {
            format!("the last request that failed: {}\n", visible(failure))
        });
    let counts = format!(
        "questions to {}: {} answered, {} from the cache, {} unreadable, {} failed, {} left for another run; {} requests, {} tokens\n",
        asked["model"].as_str().unwrap_or_default(),
        n("answered"),
        n("cached"),
        n("unreadable"),
        n("failed"),
        n("left"),
        n("requests"),
        n("tokens"),
    );
    counts + &failure
}

/// Prints what became of the arena's battles.
pub(super) fn print_arena(
    global: &GlobalArgs,
    n_battles: u64,
    summary: &Summary,
    asked: Option<&Value>,
) -> Result<(), CommandError> {
    let text = if global.json {
        let document = json!({
            "battles": n_battles,
            "labels_new": summary.n_new,
            "labels_kept": summary.n_kept,
            "labeller": asked,
        });
        format!("{}\n", serde_json::to_string_pretty(&document)?)
    } else if global.quiet {
        String::new()
    } else {
        let mut text = format!(
            "{n_battles} battles with a vote: {} labels given, {} were there\n",
            summary.n_new, summary.n_kept
        );
        if let Some(asked) = asked {
            text.push_str(&asked_text(asked));
        }
        text
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
