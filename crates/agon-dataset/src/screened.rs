//! A screened dataset: the rows that may be published, without what was taken out of them, and everything that was found, without content.
//!
//! `data/` holds the columns of [`crate::release_schema`], and `source` and `row`: where the row comes from, as in an annotated dataset.
//! `findings/` holds one row for each finding, those of rows that were left out too; [`findings_schema`] has the columns.
//!
//! It is written in parts, each finished by itself, so that a run that was interrupted goes on behind its last part: a [`PartWriter`] for each, and [`ScreenedParts::assemble`] at the end.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use agon_domain::{Action, Finding, FindingPlace, Verdict};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, builder::StringBuilder,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::{
    ConversationRow, Error, ReleaseFile, RowLabels,
    annotated::{cells, file_name},
    dataset_folder::DatasetFolder,
    record_columns::RecordColumns,
    schema::{hugging_face_info, release_schema},
    shards::Shards,
};

/// What `manifest.json` calls the schema.
const SCHEMA: &str = "agon-screened";
/// Its version, raised with every change that a reader could notice.
const SCHEMA_VERSION: &str = "1";
/// Uncompressed bytes of a row group at most, but for a single larger row.
const ROW_GROUP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Findings of a row group at most.
const FINDINGS_MAX: usize = 50_000;
/// The folders of the two tables, in a part and in the dataset.
const TABLES: [&str; 2] = ["data", "findings"];
/// What a finished part of one file is called by [`Shards`].
const PART_FILE: &str = "data/train-00000-of-00001.parquet";

/// One finding with its place in the dataset. It holds no content.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetFinding {
    /// The id of the row as it is published.
    pub row_id: Option<String>,
    /// What was looked at: `message`, `picture`, or the column of the row.
    pub field: &'static str,
    /// The side of the battle, `a` or `b`, of a message.
    pub side: Option<&'static str>,
    /// The turn of a message, from 1.
    pub turn: Option<u32>,
    /// Who wrote the message: `user`, `assistant`, `system` or `other`.
    pub role: Option<&'static str>,
    /// The number of the picture in the row, from 0.
    pub picture: Option<u32>,
    /// 1 for the content as it came; 2 and more after what was found before was taken out, and places are then those of that content.
    pub pass: u32,
    /// What was found.
    pub finding: Finding,
    /// What follows from it.
    pub action: Action,
    /// The verdict on the text or picture.
    pub verdict: Verdict,
}

/// The Arrow schema of the rows.
pub fn screened_schema() -> SchemaRef {
    let mut fields: Vec<Field> = release_schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    fields.extend([
        Field::new("source", DataType::Utf8, true),
        Field::new("row", DataType::Int64, true),
    ]);
    let metadata = [("huggingface".to_owned(), hugging_face_info(&fields))];
    Arc::new(Schema::new_with_metadata(
        fields,
        metadata.into_iter().collect(),
    ))
}

/// The Arrow schema of the findings.
pub fn findings_schema() -> SchemaRef {
    let text = |name| Field::new(name, DataType::Utf8, true);
    let number = |name| Field::new(name, DataType::Int64, true);
    let share = |name| Field::new(name, DataType::Float64, true);
    Arc::new(Schema::new(vec![
        text("row_id"),
        text("source"),
        number("row"),
        text("field"),
        text("side"),
        number("turn"),
        text("role"),
        number("picture"),
        number("pass"),
        text("kind"),
        text("category"),
        text("detector"),
        text("version"),
        share("score"),
        share("threshold"),
        Field::new("counts", DataType::Boolean, true),
        number("start_byte"),
        number("end_byte"),
        number("start_char"),
        number("end_char"),
        number("left_px"),
        number("top_px"),
        number("width_px"),
        number("height_px"),
        text("action"),
        text("verdict"),
        text("disposition"),
    ]))
}

/// One finished part.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Part {
    /// Its rows and its findings, with their paths in the part's folder.
    files: [ReleaseFile; 2],
}

/// Writes one part into a folder of its own.
#[derive(Debug)]
pub struct PartWriter {
    folder: PathBuf,
    shards: [Shards; 2],
    columns: RecordColumns,
    source: StringBuilder,
    row: Vec<i64>,
    findings: FindingColumns,
}

impl PartWriter {
    /// Begins a part in `folder`, which is made, and emptied of what an interrupted run left.
    ///
    /// # Errors
    ///
    /// [`Error::Write`].
    pub fn create(folder: &Path, agon_version: &str) -> Result<Self, Error> {
        let failed = |source| Error::Write {
            path: folder.to_owned(),
            source,
        };
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed)?;
        }
        for table in TABLES {
            fs::create_dir_all(folder.join(table).join("data")).map_err(failed)?;
        }
        let shards =
            |table: &str, schema| Shards::new(&folder.join(table), schema, agon_version, u64::MAX);
        Ok(Self {
            folder: folder.to_owned(),
            shards: [
                shards(TABLES[0], screened_schema()),
                shards(TABLES[1], findings_schema()),
            ],
            columns: RecordColumns::new(),
            source: StringBuilder::new(),
            row: Vec::new(),
            findings: FindingColumns::default(),
        })
    }

    /// Adds one row as it is to be published; of `labels` who voted, language, categories and style.
    ///
    /// # Errors
    ///
    /// That it cannot be written.
    pub fn push(&mut self, row: &ConversationRow, labels: &RowLabels) -> Result<(), Error> {
        let bytes = row.bytes();
        if self.columns.n_rows() > 0 && self.columns.bytes() + bytes > ROW_GROUP_BYTES_MAX {
            self.write_rows()?;
        }
        self.columns.push(&cells(row, labels), bytes);
        self.source.append_value(file_name(&row.place.source));
        self.row.push(whole(row.place.row));
        Ok(())
    }

    /// Adds the findings of a row, which is in the dataset or not, as `disposition` says.
    ///
    /// # Errors
    ///
    /// That they cannot be written.
    pub fn push_findings(
        &mut self,
        place: &crate::Place,
        disposition: &str,
        findings: &[DatasetFinding],
    ) -> Result<(), Error> {
        for finding in findings {
            self.findings.push(place, disposition, finding);
            if self.findings.n_rows() >= FINDINGS_MAX {
                self.write_findings()?;
            }
        }
        Ok(())
    }

    fn encode_error(&self, error: ArrowError) -> Error {
        Error::Encode {
            path: self.folder.clone(),
            source: error.into(),
        }
    }

    fn write_rows(&mut self) -> Result<(), Error> {
        let batch = self.take_rows().map_err(|error| self.encode_error(error))?;
        self.shards[0].write(&batch)
    }

    fn take_rows(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut columns = self.columns.take_columns()?;
        columns.extend([
            Arc::new(self.source.finish()) as ArrayRef,
            Arc::new(Int64Array::from(std::mem::take(&mut self.row))),
        ]);
        RecordBatch::try_new(screened_schema(), columns)
    }

    fn write_findings(&mut self) -> Result<(), Error> {
        let columns = std::mem::take(&mut self.findings).into_columns();
        let batch = RecordBatch::try_new(findings_schema(), columns)
            .map_err(|error| self.encode_error(error))?;
        self.shards[1].write(&batch)
    }

    /// Ends the part. Both tables have a file, if it has no rows.
    ///
    /// # Errors
    ///
    /// That something cannot be written.
    pub fn finish(mut self) -> Result<Part, Error> {
        self.write_rows()?;
        self.write_findings()?;
        let mut files = Vec::new();
        for (table, shards) in TABLES.into_iter().zip(self.shards) {
            for file in shards.finish()? {
                files.push(ReleaseFile {
                    path: format!("{table}/{PART_FILE}"),
                    ..file
                });
            }
        }
        let files = <[ReleaseFile; 2]>::try_from(files).map_err(|_| Error::Encode {
            path: self.folder,
            source: "a part has a file of rows and one of findings".into(),
        })?;
        Ok(Part { files })
    }
}

impl Part {
    /// Whether its files are in `folder` with the sizes that they were written with.
    pub fn is_whole(&self, folder: &Path) -> bool {
        self.files.iter().all(|file| {
            fs::metadata(folder.join(&file.path)).is_ok_and(|found| found.len() == file.bytes)
        })
    }

    /// How many rows it has.
    pub fn n_rows(&self) -> u64 {
        self.files[0].rows.unwrap_or_default()
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenedSummary {
    /// Where.
    pub folder: PathBuf,
    /// Rows.
    pub n_rows: u64,
    /// Findings.
    pub n_findings: u64,
    /// All files but the manifest, which lists them.
    pub files: Vec<ReleaseFile>,
}

/// What a screened dataset is put together from.
#[derive(Debug)]
pub struct ScreenedParts<'a> {
    /// The folders of the finished parts, in the order of their rows.
    pub parts: &'a [(PathBuf, Part)],
    /// Further files of the folder: their names and what they say.
    pub texts: &'a [(&'static str, String)],
    /// When it was made, in RFC 3339.
    pub created_at: String,
    /// The version of the program.
    pub agon_version: &'a str,
    /// What else the manifest says.
    pub facts: BTreeMap<&'static str, serde_json::Value>,
}

/// Checks that a screened dataset may go to `folder`, which must not exist, be empty, or hold an earlier one that `replace` allows to replace.
///
/// # Errors
///
/// [`Error::TargetNotEmpty`], [`Error::TargetNotARelease`] or [`Error::Write`].
pub fn check_screened_target(folder: &Path, replace: bool) -> Result<(), Error> {
    // The folder beside it goes when it goes out of scope.
    DatasetFolder::create(folder, SCHEMA, replace).map(drop)
}

impl ScreenedParts<'_> {
    /// Puts the dataset together in `target`. The parts stay as they are, for another try.
    ///
    /// # Errors
    ///
    /// As [`check_screened_target`], or that something cannot be written. The target is then as it was.
    pub fn assemble(self, target: &Path, replace: bool) -> Result<ScreenedSummary, Error> {
        let folder = DatasetFolder::create(target, SCHEMA, replace)?;
        let mut files = Vec::new();
        let mut n_rows = [0; 2];
        for (table_idx, table) in TABLES.into_iter().enumerate() {
            let inside = folder.path().join(table);
            fs::create_dir_all(&inside).map_err(|source| Error::Write {
                path: inside,
                source,
            })?;
            for (idx, (part_folder, part)) in self.parts.iter().enumerate() {
                let file = &part.files[table_idx];
                let path = format!("{table}/train-{idx:05}-of-{:05}.parquet", self.parts.len());
                let to = folder.path().join(&path);
                link(&part_folder.join(&file.path), &to)
                    .map_err(|source| Error::Write { path: to, source })?;
                n_rows[table_idx] += file.rows.unwrap_or_default();
                files.push(ReleaseFile {
                    path,
                    ..file.clone()
                });
            }
        }
        for (name, text) in self.texts {
            files.push(folder.write_text(name, text)?);
        }
        let manifest = serde_json::json!({
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "agon_version": self.agon_version,
            "created_at": self.created_at,
            "rows": n_rows[0],
            "findings": n_rows[1],
            "screening": self.facts,
            "files": files,
        });
        folder.write_text("manifest.json", &format!("{manifest:#}\n"))?;
        folder.move_into_place()?;
        Ok(ScreenedSummary {
            folder: folder.target().to_owned(),
            n_rows: n_rows[0],
            n_findings: n_rows[1],
            files,
        })
    }
}

/// A second name for a file, or a copy where the file system has none.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
}

/// The columns of findings that wait to be written.
#[derive(Debug, Default)]
struct FindingColumns {
    /// `row_id`, `source`, `field`, `side`, `role`, `kind`, `category`, `detector`, `version`, `action`, `verdict`, `disposition`.
    texts: [StringBuilder; 12],
    /// `row`, `turn`, `picture`, `pass`, then the eight of the place.
    numbers: [Vec<Option<i64>>; 12],
    scores: Vec<f64>,
    thresholds: Vec<f64>,
    counts: Vec<bool>,
}

impl FindingColumns {
    fn n_rows(&self) -> usize {
        self.scores.len()
    }

    fn push(&mut self, place: &crate::Place, disposition: &str, found: &DatasetFinding) {
        let finding = &found.finding;
        let texts = [
            found.row_id.as_deref(),
            Some(file_name(&place.source)),
            Some(found.field),
            found.side,
            found.role,
            Some(finding.kind.as_str()),
            Some(&*finding.category),
            Some(&*finding.detector.name),
            Some(&*finding.detector.version),
            Some(found.action.as_str()),
            Some(found.verdict.as_str()),
            Some(disposition),
        ];
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.append_option(text);
        }
        let mut numbers = [None; 12];
        numbers[..4].copy_from_slice(&[
            Some(whole(place.row)),
            found.turn.map(i64::from),
            found.picture.map(i64::from),
            Some(i64::from(found.pass)),
        ]);
        match &finding.place {
            FindingPlace::Whole => {}
            FindingPlace::Text { bytes, chars } => {
                let ends = [bytes.start, bytes.end, chars.start, chars.end];
                numbers[4..8].copy_from_slice(&ends.map(|end| Some(whole(end as u64))));
            }
            FindingPlace::Picture(place) => {
                let sides = [place.left_px, place.top_px, place.width_px, place.height_px];
                numbers[8..].copy_from_slice(&sides.map(|side| Some(i64::from(side))));
            }
        }
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.push(number);
        }
        self.scores.push(finding.score);
        self.thresholds.push(finding.threshold);
        self.counts.push(finding.counts());
    }

    /// In the order of [`findings_schema`].
    fn into_columns(self) -> Vec<ArrayRef> {
        let [
            row_id,
            source,
            field,
            side,
            role,
            kind,
            category,
            detector,
            version,
            action,
            verdict,
            disposition,
        ] = self
            .texts
            .map(|mut text| -> ArrayRef { Arc::new(text.finish()) });
        let [row, turn, picture, pass, place @ ..] = self
            .numbers
            .map(|numbers| -> ArrayRef { Arc::new(Int64Array::from(numbers)) });
        let scores = [self.scores, self.thresholds]
            .map(|numbers| -> ArrayRef { Arc::new(Float64Array::from(numbers)) });
        let mut columns = vec![
            row_id, source, row, field, side, turn, role, picture, pass, kind, category, detector,
            version,
        ];
        columns.extend(scores);
        columns.push(Arc::new(BooleanArray::from(self.counts)));
        columns.extend(place);
        columns.extend([action, verdict, disposition]);
        columns
    }
}

/// A count as Arrow has it.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
