//! A release: records in, a folder of Parquet files with a dataset card and a manifest out.
//!
//! Everything is written into a temporary folder beside the target and renamed into place at the end, so a release is there whole or not at all.
//! The same records under the same options give the same bytes.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use agon_domain::Winner;
use jiff::Timestamp;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::{EnabledStatistics, WriterProperties},
    schema::types::ColumnPath,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::{
    Error, Record,
    card::{Facts, card},
    decode::window::hexadecimal,
    record_columns::RecordColumns,
    schema::{SCHEMA_VERSION, release_schema},
};

/// Bytes of one record at most.
pub const RECORD_BYTES_MAX: usize = 128 * 1024 * 1024;

/// How strongly data are compressed: zstd's own default.
const ZSTD_LEVEL: i32 = 3;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    target: PathBuf,
    /// Removed with all that is in it unless the release was moved out of it.
    temporary: TempDir,
    folder: PathBuf,
    options: ReleaseOptions,
    columns: RecordColumns,
    shard: Option<Shard>,
    /// Finished data files, under their temporary names.
    shards: Vec<ReleaseFile>,
    facts: Facts,
    left_out: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Shard {
    name: String,
    path: PathBuf,
    writer: ArrowWriter<HashingFile>,
    rows: u64,
}

/// A file whose SHA-256 is computed while it is written.
#[derive(Debug)]
struct HashingFile {
    file: BufWriter<File>,
    hasher: Sha256,
    bytes: u64,
}

impl Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl ReleaseWriter {
    /// Begins a release into `folder`, which must not exist, be empty, or hold an earlier release that the options allow to replace.
    ///
    /// # Errors
    ///
    /// [`Error::TargetNotEmpty`], [`Error::TargetNotARelease`] or [`Error::Write`].
    pub fn create(folder: &Path, options: ReleaseOptions) -> Result<Self, Error> {
        let failed = |source| Error::Write {
            path: folder.to_owned(),
            source,
        };
        // What a link leads to is replaced, not the link.
        let resolved = match fs::symlink_metadata(folder) {
            Ok(metadata) if metadata.is_symlink() => fs::canonicalize(folder).map_err(failed)?,
            _ => folder.to_owned(),
        };
        let folder = resolved.as_path();
        check_target(folder, options.replace)?;
        let parent = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(failed)?;
        let temporary = tempfile::Builder::new()
            .prefix(".release-")
            .tempdir_in(parent)
            .map_err(failed)?;
        // A folder of its own inside: the outer one can be entered by nobody else, which a release should not be.
        let inner = temporary.path().join("release");
        fs::create_dir_all(inner.join("data")).map_err(failed)?;
        Ok(Self {
            target: folder.to_owned(),
            temporary,
            folder: inner,
            options,
            columns: RecordColumns::new(),
            shard: None,
            shards: Vec::new(),
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
        self.columns.push(record, bytes);
        Ok(())
    }

    /// Notes that `n` battles were left out for `reason`, a code such as `no_vote`.
    pub fn leave_out(&mut self, reason: &str, n: u64) {
        *self.left_out.entry(reason.to_owned()).or_default() += n;
    }

    fn write_row_group(&mut self) -> Result<(), Error> {
        let shard = match self.shard.take() {
            Some(shard) => shard,
            None => self.begin_shard()?,
        };
        let shard = self.shard.insert(shard);
        let encoding_failed = |source: Box<dyn std::error::Error + Send + Sync>| Error::Encode {
            path: shard.path.clone(),
            source,
        };
        let batch = self
            .columns
            .take_batch()
            .map_err(|error| encoding_failed(error.into()))?;
        shard.rows += batch.num_rows() as u64;
        shard
            .writer
            .write(&batch)
            .and_then(|()| shard.writer.flush())
            .map_err(|error| encoding_failed(error.into()))?;
        if shard.writer.inner().bytes >= self.options.shard_bytes_max {
            self.finish_shard()?;
        }
        Ok(())
    }

    fn begin_shard(&self) -> Result<Shard, Error> {
        let name = format!("part-{:05}.parquet", self.shards.len());
        let path = self.folder.join("data").join(&name);
        let file = File::create(&path).map_err(|source| Error::Write {
            path: path.clone(),
            source,
        })?;
        let file = HashingFile {
            file: BufWriter::with_capacity(1 << 20, file),
            hasher: Sha256::new(),
            bytes: 0,
        };
        let writer = writer_properties(&self.options)
            .and_then(|properties| ArrowWriter::try_new(file, release_schema(), Some(properties)))
            .map_err(|error| Error::Encode {
                path: path.clone(),
                source: error.into(),
            })?;
        Ok(Shard {
            name,
            path,
            writer,
            rows: 0,
        })
    }

    fn finish_shard(&mut self) -> Result<(), Error> {
        let Some(shard) = self.shard.take() else {
            return Ok(());
        };
        let path = shard.path;
        let mut file = shard.writer.into_inner().map_err(|error| Error::Encode {
            path: path.clone(),
            source: error.into(),
        })?;
        file.flush()
            .and_then(|()| file.file.get_ref().sync_all())
            .map_err(|source| Error::Write { path, source })?;
        self.shards.push(ReleaseFile {
            path: shard.name,
            bytes: file.bytes,
            sha256: hexadecimal(&file.hasher.finalize()),
            rows: Some(shard.rows),
        });
        Ok(())
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
        self.finish_shard()?;
        if self.shards.is_empty() {
            return Err(Error::EmptyRelease);
        }
        let n_shards = self.shards.len();
        let mut files = Vec::new();
        for (idx, shard) in self.shards.iter().enumerate() {
            let path = format!("data/train-{idx:05}-of-{n_shards:05}.parquet");
            let (from, to) = (
                self.folder.join("data").join(&shard.path),
                self.folder.join(&path),
            );
            fs::rename(from, &to).map_err(|source| Error::Write { path: to, source })?;
            files.push(ReleaseFile {
                path,
                ..shard.clone()
            });
        }
        let bytes = files.iter().map(|file| file.bytes).sum();
        let card = card(&self.facts, &self.options, bytes, &self.left_out);
        files.push(self.write_text("README.md", &card)?);
        let manifest = self.manifest(&files)?;
        self.write_text("manifest.json", &manifest)?;
        self.move_into_place()?;
        Ok(ReleaseSummary {
            folder: self.target,
            n_battles: self.facts.n_battles(),
            n_models: self.facts.n_models(),
            n_voters: self.facts.n_voters(),
            n_images: self.facts.n_images(),
            winners: self.facts.winners(),
            left_out: self.left_out,
            files,
        })
    }

    fn manifest(&self, files: &[ReleaseFile]) -> Result<String, Error> {
        let detectors: &[String] = match &self.options.screening {
            Screening::None => &[],
            Screening::Detectors(detectors) => detectors,
        };
        let winners = Winner::ALL.map(Winner::release_spelling);
        let manifest = Manifest {
            schema: SCHEMA,
            schema_version: SCHEMA_VERSION,
            agon_version: &self.options.agon_version,
            created_at: self.options.created_at.to_string(),
            rows: self.facts.n_battles(),
            models: self.facts.n_models(),
            voters: self.facts.n_voters(),
            images: self.facts.n_images(),
            winners: winners.into_iter().zip(self.facts.winners()).collect(),
            screening: detectors,
            screened: !detectors.is_empty(),
            licence: &self.options.licence.id,
            licence_sha256: hexadecimal(&Sha256::digest(&self.options.licence.terms)),
            contact: self.options.contact.as_deref(),
            consent_versions: self.facts.consent_versions(),
            left_out: &self.left_out,
            files,
        };
        serde_json::to_string_pretty(&manifest)
            .map(|text| text + "\n")
            .map_err(|error| Error::Encode {
                path: self.folder.join("manifest.json"),
                source: error.into(),
            })
    }

    fn write_text(&self, name: &str, text: &str) -> Result<ReleaseFile, Error> {
        let path = self.folder.join(name);
        File::create(&path)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            })
            .map_err(|source| Error::Write { path, source })?;
        Ok(ReleaseFile {
            path: name.to_owned(),
            bytes: text.len() as u64,
            sha256: hexadecimal(&Sha256::digest(text)),
            rows: None,
        })
    }

    fn move_into_place(&self) -> Result<(), Error> {
        // Somebody may have put something there in the meantime.
        check_target(&self.target, self.options.replace)?;
        let failed = |source| Error::Write {
            path: self.target.clone(),
            source,
        };
        let old = self.temporary.path().join("replaced");
        let is_there = self.target.exists();
        if is_there {
            // The old one goes with the temporary folder when the new one is in place.
            fs::rename(&self.target, &old).map_err(failed)?;
        }
        fs::rename(&self.folder, &self.target).map_err(|source| {
            if is_there {
                // If putting the old one back fails too, the first error still says what happened.
                let _ = fs::rename(&old, &self.target);
            }
            failed(source)
        })
    }
}

/// Checks that a release may go to `folder`.
fn check_target(folder: &Path, replace: bool) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: folder.to_owned(),
        source,
    };
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    if !replace {
        return Err(Error::TargetNotEmpty {
            path: folder.to_owned(),
        });
    }
    foreign(folder).map_or(Ok(()), |detail| {
        Err(Error::TargetNotARelease {
            path: folder.to_owned(),
            detail,
        })
    })
}

/// What is in a folder that a release did not put there, in words. Replacing would delete it.
fn foreign(folder: &Path) -> Option<String> {
    let listed = fs::read(folder.join("manifest.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
        .filter(|manifest| manifest["schema"] == SCHEMA)
        .and_then(|manifest| {
            let files = manifest["files"].as_array()?;
            files
                .iter()
                .map(|file| Some(folder.join(file["path"].as_str()?)))
                .collect::<Option<Vec<_>>>()
        });
    let Some(mut expected) = listed else {
        return Some("it has no `manifest.json` of a release".to_owned());
    };
    expected.push(folder.join("manifest.json"));
    expected.push(folder.join("data"));
    for inside in [folder.to_owned(), folder.join("data")] {
        let Ok(entries) = fs::read_dir(&inside) else {
            return Some(format!("`{}` cannot be listed", inside.display()));
        };
        for entry in entries {
            let Ok(entry) = entry else {
                return Some(format!("`{}` cannot be listed", inside.display()));
            };
            let path = entry.path();
            if !expected.contains(&path) {
                return Some(format!(
                    "`{}` is not a file of the release that is there",
                    path.display()
                ));
            }
        }
    }
    None
}

fn writer_properties(
    options: &ReleaseOptions,
) -> Result<WriterProperties, parquet::errors::ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_created_by(format!("agon {}", options.agon_version))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(None)
        .set_max_row_group_bytes(None);
    // The least and the greatest picture or answer tell nobody anything, and hardly two of them are equal.
    for column in [
        &["images", "list", "element", "bytes"][..],
        &[
            "conversation_a",
            "list",
            "element",
            "list",
            "element",
            "content",
        ],
        &[
            "conversation_b",
            "list",
            "element",
            "list",
            "element",
            "content",
        ],
    ] {
        let path = ColumnPath::new(column.iter().map(|part| (*part).to_owned()).collect());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_statistics_enabled(path, EnabledStatistics::None);
    }
    Ok(properties.build())
}

#[cfg(test)]
mod tests;
