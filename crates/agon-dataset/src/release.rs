//! A release: records in, a folder of Parquet files with a dataset card and a manifest out.
//!
//! Everything is written into a temporary folder beside the target and renamed into place at the end, so a release is there whole or not at all.
//! The same records under the same options give the same bytes.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use agon_domain::Winner;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    Error, Record,
    card::{Facts, card},
    dataset_folder::DatasetFolder,
    decode::window::hexadecimal,
    record_columns::RecordColumns,
    schema::{SCHEMA_VERSION, release_schema},
    shards::Shards,
};

/// Bytes of one record at most.
pub const RECORD_BYTES_MAX: usize = 128 * 1024 * 1024;

/// What has screened the content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Screening {
    /// Nothing: the card says so in plain words.
    #[default]
    None,
    /// Detectors, by name and version.
    Detectors(Vec<String>),
}

/// Under which terms a release may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Licence {
    /// Its identifier in a Hugging Face card, `other` when it has none.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its text or what it comes down to, in Markdown.
    pub terms: String,
}

impl Default for Licence {
    fn default() -> Self {
        Self {
            id: "other".to_owned(),
            name: "not decided".to_owned(),
            terms: "The operator has not stated a licence for the prompts. No right to use, copy or pass on the data is given. Each model's answers are also under the terms of its provider.".to_owned(),
        }
    }
}

/// How a release is written.
#[derive(Clone, Debug)]
pub struct ReleaseOptions {
    /// The heading of the card.
    pub title: String,
    /// When the release was made, in the card and the manifest.
    pub created_at: Timestamp,
    /// The version of the program.
    pub agon_version: String,
    /// Whether an earlier release in the target folder is replaced.
    pub replace: bool,
    /// What has screened the content.
    pub screening: Screening,
    /// Under which terms the release may be used.
    pub licence: Licence,
    /// Whom to write to for deletion, if anybody.
    pub contact: Option<String>,
    /// How pairs were drawn, one paragraph of Markdown.
    pub pair_sampling: String,
    /// How the column `judge` came about, one paragraph of Markdown.
    pub pseudonyms: String,
    /// Uncompressed bytes of a row group at most, but for a single larger record. Viewers refuse row groups of a few hundred megabytes.
    pub row_group_bytes_max: usize,
    /// Rows of a row group at most.
    pub row_group_rows_max: usize,
    /// Bytes after which a file is closed and the next one begun.
    pub shard_bytes_max: u64,
}

impl ReleaseOptions {
    /// The usual options: nothing screened, no licence, no contact, no replacing.
    pub fn new(created_at: Timestamp, agon_version: &str) -> Self {
        Self {
            title: "Battles of a vision arena".to_owned(),
            created_at,
            agon_version: agon_version.to_owned(),
            replace: false,
            screening: Screening::None,
            licence: Licence::default(),
            contact: None,
            pair_sampling: "Two different models are drawn at random by weights that the operator sets, and a fair coin decides which of them is shown as A.".to_owned(),
            pseudonyms: "`judge` is a keyed hash (HMAC-SHA-256, 128 bits) of a keyed hash of the voter's network address (IPv4 address or IPv6 /64 network). Neither key is published, so the address cannot be found by trying all of them. The same voter has the same value within this release.".to_owned(),
            row_group_bytes_max: 64 * 1024 * 1024,
            row_group_rows_max: 20_000,
            shard_bytes_max: 500_000_000,
        }
    }
}

/// One file of a release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ReleaseFile {
    /// Its path inside the folder, with `/`.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The SHA-256 of its content in lower-case hexadecimal.
    pub sha256: String,
    /// Its rows, when it holds data.
    pub rows: Option<u64>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSummary {
    /// Where.
    pub folder: PathBuf,
    /// Battles, each one row.
    pub n_battles: u64,
    /// Different models.
    pub n_models: u64,
    /// Different voters.
    pub n_voters: u64,
    /// Different pictures.
    pub n_images: u64,
    /// Battles by winner, in the order of [`Winner::ALL`].
    pub winners: [u64; 4],
    /// Battles that were left out, by the reason the caller gave.
    pub left_out: BTreeMap<String, u64>,
    /// The data files and the card; not the manifest, which lists them.
    pub files: Vec<ReleaseFile>,
}

/// What `manifest.json` calls the schema.
const SCHEMA: &str = "vision-arena-battle";

/// `manifest.json`.
#[derive(Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    schema_version: &'static str,
    agon_version: &'a str,
    created_at: String,
    rows: u64,
    models: u64,
    voters: u64,
    images: u64,
    winners: BTreeMap<&'static str, u64>,
    screening: &'a [String],
    screened: bool,
    licence: &'a str,
    licence_sha256: String,
    contact: Option<&'a str>,
    consent_versions: &'a BTreeMap<String, u64>,
    left_out: &'a BTreeMap<String, u64>,
    files: &'a [ReleaseFile],
}

/// Writes one release.
#[derive(Debug)]
pub struct ReleaseWriter {
    folder: DatasetFolder,
    options: ReleaseOptions,
    columns: RecordColumns,
    shards: Shards,
    facts: Facts,
    left_out: BTreeMap<String, u64>,
}

impl ReleaseWriter {
    /// Begins a release into `folder`, which must not exist, be empty, or hold an earlier release that the options allow to replace.
    ///
    /// # Errors
    ///
    /// [`Error::TargetNotEmpty`], [`Error::TargetNotARelease`] or [`Error::Write`].
    pub fn create(folder: &Path, options: ReleaseOptions) -> Result<Self, Error> {
        let folder = DatasetFolder::create(folder, SCHEMA, options.replace)?;
        let shards = Shards::new(
            folder.path(),
            release_schema(),
            &options.agon_version,
            options.shard_bytes_max,
        );
        Ok(Self {
            folder,
            options,
            columns: RecordColumns::new(),
            shards,
            facts: Facts::default(),
            left_out: BTreeMap::new(),
        })
    }

    /// Adds one battle.
    ///
    /// # Errors
    ///
    /// [`Error::UnfitRecord`] when it contradicts itself or repeats an id, [`Error::RecordTooLarge`], or that it cannot be written.
    pub fn push(&mut self, record: &Record) -> Result<(), Error> {
        let unfit = |detail| Error::UnfitRecord {
            question_id: record.question_id.clone(),
            detail,
        };
        if let Some(detail) = record.fault() {
            return Err(unfit(detail));
        }
        let bytes = record.bytes();
        if bytes > RECORD_BYTES_MAX {
            return Err(Error::RecordTooLarge {
                place: format!("battle `{}`", record.question_id),
                bytes_max: RECORD_BYTES_MAX,
            });
        }
        if !self.facts.add(record, bytes) {
            return Err(unfit("its id is there already".to_owned()));
        }
        let is_full = self.columns.n_rows() >= self.options.row_group_rows_max
            || self.columns.bytes() + bytes > self.options.row_group_bytes_max;
        if is_full && self.columns.n_rows() > 0 {
            self.write_row_group()?;
        }
        self.columns.push(&record.into(), bytes);
        Ok(())
    }

    /// Notes that `n` battles were left out for `reason`, a code such as `no_vote`.
    pub fn leave_out(&mut self, reason: &str, n: u64) {
        *self.left_out.entry(reason.to_owned()).or_default() += n;
    }

    fn write_row_group(&mut self) -> Result<(), Error> {
        let batch = self.columns.take_batch().map_err(|error| Error::Encode {
            path: self.folder.path().to_owned(),
            source: error.into(),
        })?;
        self.shards.write(&batch)
    }

    /// Writes the card and the manifest and moves the release into place.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyRelease`] when no battle was added, or that something cannot be written. The target is then as it was.
    pub fn finish(mut self) -> Result<ReleaseSummary, Error> {
        if self.columns.n_rows() > 0 {
            self.write_row_group()?;
        }
        let mut files = self.shards.finish()?;
        if files.is_empty() {
            return Err(Error::EmptyRelease);
        }
        let bytes = files.iter().map(|file| file.bytes).sum();
        let card = card(&self.facts, &self.options, bytes, &self.left_out);
        files.push(self.folder.write_text("README.md", &card)?);
        let manifest =
            manifest(&self.facts, &self.options, &self.left_out, &files).map_err(|error| {
                Error::Encode {
                    path: self.folder.path().join("manifest.json"),
                    source: error.into(),
                }
            })?;
        self.folder.write_text("manifest.json", &manifest)?;
        self.folder.move_into_place()?;
        Ok(ReleaseSummary {
            folder: self.folder.target().to_owned(),
            n_battles: self.facts.n_battles(),
            n_models: self.facts.n_models(),
            n_voters: self.facts.n_voters(),
            n_images: self.facts.n_images(),
            winners: self.facts.winners(),
            left_out: self.left_out,
            files,
        })
    }
}

/// The text of `manifest.json`.
fn manifest(
    facts: &Facts,
    options: &ReleaseOptions,
    left_out: &BTreeMap<String, u64>,
    files: &[ReleaseFile],
) -> Result<String, serde_json::Error> {
    let detectors: &[String] = match &options.screening {
        Screening::None => &[],
        Screening::Detectors(detectors) => detectors,
    };
    let winners = Winner::ALL.map(Winner::release_spelling);
    let manifest = Manifest {
        schema: SCHEMA,
        schema_version: SCHEMA_VERSION,
        agon_version: &options.agon_version,
        created_at: options.created_at.to_string(),
        rows: facts.n_battles(),
        models: facts.n_models(),
        voters: facts.n_voters(),
        images: facts.n_images(),
        winners: winners.into_iter().zip(facts.winners()).collect(),
        screening: detectors,
        screened: !detectors.is_empty(),
        licence: &options.licence.id,
        licence_sha256: hexadecimal(&Sha256::digest(&options.licence.terms)),
        contact: options.contact.as_deref(),
        consent_versions: facts.consent_versions(),
        left_out,
        files,
    };
    serde_json::to_string_pretty(&manifest).map(|text| text + "\n")
}

#[cfg(test)]
mod tests;
