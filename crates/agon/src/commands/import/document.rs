//! What `agon import --json` prints.

use std::collections::BTreeMap;

use agon_dataset::{InputReport, Reason, clean::Cleaned};
use agon_store::ImportId;
use serde::Serialize;

use crate::{
    app::{
        import::{ImportCounts, clean::AuditBody},
        leaderboard::AliasBody,
    },
    cli::ImportArgs,
};

/// What became of everything that was read. `rows` is `kept` and the sum of `rejected`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Import {
    /// The id of the import.
    pub(super) import: String,
    /// The namespace of the battles' ids.
    pub(super) source_name: String,
    /// Rows read.
    pub(super) rows: u64,
    /// Rows that are battles of the store now.
    pub(super) kept: u64,
    /// Of these, the ones that an interrupted run had stored.
    pub(super) resumed: u64,
    /// Rows that are not, by reason. `repeated_id`: the source has a battle with this id.
    pub(super) rejected: BTreeMap<String, u64>,
    /// The first rejected row of each reason of the reader.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) rejected_first: BTreeMap<String, String>,
    /// Kept rows of which something but the vote could not be read.
    pub(super) damaged: u64,
    /// Pictures that are in the store.
    pub(super) images: u64,
    /// Pictures that are not, by reason.
    pub(super) image_problems: BTreeMap<String, u64>,
    /// What cleaning found, when asked for. It judges all rows that are votes, second copies too.
    pub(super) cleaning: Option<AuditBody>,
    /// The names that models are counted under, when asked for.
    pub(super) aliases: Option<AliasBody>,
    /// What was read.
    pub(super) sources: Vec<Source>,
    /// Files of a folder that hold no votes.
    pub(super) skipped: Vec<Skipped>,
}

/// One thing that was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Source {
    pub(super) path: String,
    pub(super) format: &'static str,
    pub(super) rows: u64,
    pub(super) sha256: Option<String>,
}

/// A file that holds no votes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Skipped {
    pub(super) path: String,
    pub(super) detail: String,
}

impl Import {
    pub(super) fn new(
        id: ImportId,
        args: &ImportArgs,
        report: &InputReport,
        counts: &ImportCounts,
        cleaned: Option<&Cleaned>,
        aliases: Option<AliasBody>,
    ) -> Self {
        let mut rejected: BTreeMap<String, u64> = report
            .rejected
            .iter()
            .map(|(reason, rows)| (reason.as_str().to_owned(), rows.count))
            .collect();
        if counts.repeated > 0 {
            *rejected
                .entry(Reason::RepeatedId.as_str().to_owned())
                .or_default() += counts.repeated;
        }
        Self {
            import: id.to_string(),
            source_name: args.source.clone(),
            rows: report.rows,
            kept: report.kept - counts.repeated,
            resumed: counts.resumed,
            rejected,
            rejected_first: report
                .rejected
                .iter()
                .map(|(reason, rows)| (reason.as_str().to_owned(), rows.first.to_string()))
                .collect(),
            damaged: counts.damaged,
            images: counts.images,
            image_problems: counts.image_problems.clone(),
            cleaning: cleaned.map(|cleaned| AuditBody::from(&cleaned.audit)),
            aliases,
            sources: report
                .sources
                .iter()
                .map(|source| Source {
                    path: source.path.clone(),
                    format: source.format.as_str(),
                    rows: source.rows,
                    sha256: source.sha256.clone(),
                })
                .collect(),
            skipped: report
                .skipped
                .iter()
                .map(|skipped| Skipped {
                    path: skipped.path.clone(),
                    detail: skipped.detail.clone(),
                })
                .collect(),
        }
    }
}
