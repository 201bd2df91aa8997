//! What `agon check --json` prints.

use std::collections::BTreeMap;

use agon_dataset::{Battles, InputReport, Place, SliceValues, SourceReport};
use agon_domain::Winner;
use jiff::Timestamp;
use serde::Serialize;

use super::sources::Unreadable;
use crate::app::{import::clean::AuditBody, leaderboard::AliasBody};

/// Everything that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Check {
    /// Rows read.
    pub(super) rows: u64,
    /// Rows that are votes.
    pub(super) kept: u64,
    /// Rows that are not, by reason.
    pub(super) rejected: Vec<Rejected>,
    /// Kept rows by winner.
    pub(super) winners: BTreeMap<&'static str, u64>,
    /// Kept rows with a strong verdict.
    pub(super) strong: u64,
    /// Kept rows whose voter knew the names.
    pub(super) named: u64,
    /// Kept rows whose id an earlier row has; null when no row has an id.
    pub(super) repeated_ids: Option<u64>,
    /// Kept rows of each model.
    pub(super) models: BTreeMap<String, u64>,
    /// Names that are nearly the same, as [`InputReport::near_duplicates`] says. They are kept apart.
    pub(super) near_duplicates: Vec<Vec<String>>,
    /// The names that models are counted under, when asked for.
    pub(super) aliases: Option<AliasBody>,
    /// When the votes were cast; null when no row has a time.
    pub(super) times: Option<Times>,
    /// Who voted; null when no row says so.
    pub(super) judges: Option<Judges>,
    /// Kept rows by language, as the sources spell it; null when no row has one.
    pub(super) languages: Option<Languages>,
    /// What was read.
    pub(super) sources: Vec<Source>,
    /// What cleaning found, when asked for. It judges the kept rows.
    pub(super) cleaning: Option<AuditBody>,
    /// Files of a folder that hold no votes.
    pub(super) skipped: Vec<Skipped>,
    /// Sources that cannot be read. Nothing of them is counted.
    pub(super) unreadable: Vec<Skipped>,
}

/// Rows rejected for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Rejected {
    /// The code of the reason.
    pub(super) reason: &'static str,
    /// The reason in words.
    pub(super) meaning: &'static str,
    /// Whether it is a fault, rather than a row that a sound source has too.
    pub(super) is_fault: bool,
    /// How many.
    pub(super) rows: u64,
    /// The first of them.
    pub(super) first: First,
    /// The offending values with their counts, as far as they are listed.
    pub(super) values: BTreeMap<String, u64>,
    /// Rows whose value is not listed.
    pub(super) other_values: u64,
}

/// A place in the input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct First {
    pub(super) source: String,
    pub(super) row: u64,
    pub(super) line: Option<u64>,
    pub(super) column: Option<String>,
    pub(super) value: Option<String>,
}

/// The range of times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Times {
    /// The first, as RFC 3339 in UTC, or null when it is beyond the years that this can write.
    pub(super) first: Option<String>,
    /// The last, likewise.
    pub(super) last: Option<String>,
    /// Kept rows without one.
    pub(super) missing: u64,
}

/// Who voted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Judges {
    /// How many there are.
    pub(super) judges: u64,
    /// The most votes of one of them.
    pub(super) most_votes: u64,
    /// Kept rows that do not say.
    pub(super) missing: u64,
}

/// Languages, by label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Languages {
    /// Kept rows of each. A row with several counts for each of them.
    pub(super) rows: BTreeMap<String, u64>,
    /// Kept rows without one.
    pub(super) missing: u64,
}

/// One source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Source {
    pub(super) path: String,
    /// What it was recognised as.
    pub(super) format: &'static str,
    pub(super) rows: u64,
    pub(super) kept: u64,
    pub(super) sha256: Option<String>,
    pub(super) etag: Option<String>,
    /// An earlier source of the same bytes.
    pub(super) same_as: Option<String>,
    /// Its columns, or the keys of its first record, at most fifty.
    pub(super) columns: Vec<String>,
    /// What its times are given in.
    pub(super) time_unit: Option<&'static str>,
    /// What is unusual about its text.
    pub(super) oddities: Vec<&'static str>,
}

/// A file that holds no votes, or that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Skipped {
    pub(super) path: String,
    pub(super) detail: String,
}

impl Check {
    /// What is found in the rows and in the report on them.
    pub(super) fn new(
        battles: &Battles,
        report: &InputReport,
        aliases: Option<AliasBody>,
        unreadable: Vec<Unreadable>,
    ) -> Self {
        let mut winners: BTreeMap<&str, u64> =
            Winner::ALL.map(|winner| (winner.as_str(), 0)).into();
        for winner in &battles.winner {
            *winners.entry(winner.as_str()).or_default() += 1;
        }
        let mut n_of_model = vec![0_u64; battles.models.len()];
        for &model in battles.model_a.iter().chain(&battles.model_b) {
            n_of_model[model as usize] += 1;
        }
        Self {
            rows: report.rows,
            kept: report.kept,
            rejected: rejected(report),
            winners,
            strong: report.n_strong,
            named: report.n_named,
            repeated_ids: report.n_repeated_ids,
            models: battles.models.iter().cloned().zip(n_of_model).collect(),
            near_duplicates: report.near_duplicates.clone(),
            aliases,
            times: times(battles),
            judges: judges(battles),
            languages: languages(battles),
            sources: (0..report.sources.len())
                .map(|idx| source(&report.sources, idx))
                .collect(),
            cleaning: None,
            skipped: report
                .skipped
                .iter()
                .map(|skipped| Skipped {
                    path: skipped.path.clone(),
                    detail: skipped.detail.clone(),
                })
                .collect(),
            unreadable: unreadable
                .into_iter()
                .map(|Unreadable { path, detail }| Skipped { path, detail })
                .collect(),
        }
    }

    /// Rows rejected for a fault.
    pub(super) fn n_faults(&self) -> u64 {
        let faults = self.rejected.iter().filter(|rejected| rejected.is_fault);
        faults.map(|rejected| rejected.rows).sum()
    }
}

fn rejected(report: &InputReport) -> Vec<Rejected> {
    report
        .rejected
        .iter()
        .map(|(reason, rows)| {
            let Place {
                source,
                row,
                line,
                column,
                value,
            } = rows.first.clone();
            Rejected {
                reason: reason.as_str(),
                meaning: reason.description(),
                is_fault: reason.is_fault(),
                rows: rows.count,
                first: First {
                    source,
                    row,
                    line,
                    column,
                    value,
                },
                values: rows.values.clone(),
                other_values: rows.n_other_values,
            }
        })
        .collect()
}

fn times(battles: &Battles) -> Option<Times> {
    let times = battles.times.as_deref().unwrap_or_default();
    let known = || times.iter().copied().filter(|time| time.is_finite());
    let first = known().reduce(f64::min)?;
    let last = known().reduce(f64::max)?;
    let n_missing = times.len() - known().count();
    Some(Times {
        first: date(first),
        last: date(last),
        missing: n_missing as u64,
    })
}

/// A point in time to the second.
fn date(seconds: f64) -> Option<String> {
    // Rust cuts what is beyond the range, and jiff refuses it.
    let timestamp = Timestamp::from_second(seconds.floor() as i64).ok()?;
    Some(timestamp.to_string())
}

fn judges(battles: &Battles) -> Option<Judges> {
    let judges = battles.judges.as_ref()?;
    let mut votes = vec![0_u64; judges.n_judges as usize];
    let mut n_missing = 0;
    for &code in &judges.codes {
        match votes.get_mut(code as usize) {
            Some(n) => *n += 1,
            None => n_missing += 1,
        }
    }
    Some(Judges {
        judges: votes.len() as u64,
        most_votes: votes.iter().copied().max()?,
        missing: n_missing,
    })
}

fn languages(battles: &Battles) -> Option<Languages> {
    let column = battles.slices.first()?;
    let mut rows: BTreeMap<String, u64> = BTreeMap::new();
    let mut n_missing = 0;
    let mut add = |label: Option<&String>| match label {
        Some(label) => *rows.entry(label.clone()).or_default() += 1,
        None => n_missing += 1,
    };
    match &column.values {
        SliceValues::One(labels) => {
            for &code in &labels.codes {
                add(labels.values.get(code as usize));
            }
        }
        SliceValues::Many { labels, bits } => {
            for &bits in bits {
                if bits == 0 {
                    add(None);
                }
                for (idx, label) in labels.iter().enumerate() {
                    if bits >> idx & 1 == 1 {
                        add(Some(label));
                    }
                }
            }
        }
    }
    (!rows.is_empty()).then_some(Languages {
        rows,
        missing: n_missing,
    })
}

fn source(sources: &[SourceReport], idx: usize) -> Source {
    let source = &sources[idx];
    let is_same = |earlier: &&SourceReport| {
        // The files of an archive all have its checksum.
        source.rows > 0
            && source.sha256.is_some()
            && earlier.sha256 == source.sha256
            && earlier.member == source.member
    };
    Source {
        path: source.path.clone(),
        format: source.format.as_str(),
        rows: source.rows,
        kept: source.kept,
        sha256: source.sha256.clone(),
        etag: source.etag.clone(),
        same_as: sources[..idx]
            .iter()
            .find(is_same)
            .map(|earlier| earlier.path.clone()),
        columns: source.columns.clone(),
        time_unit: source.time_unit,
        oddities: source.oddities.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_beyond_all_years_are_not_written() {
        assert_eq!(date(0.5).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(date(-0.5).as_deref(), Some("1969-12-31T23:59:59Z"));
        assert_eq!(date(1e300), None);
    }
}
