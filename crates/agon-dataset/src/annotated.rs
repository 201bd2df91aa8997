//! An annotated dataset: the rows of any readable set in the columns of a release, with labels beside them.
//!
//! Five columns follow the thirteen of [`crate::release_schema`]:
//!
//! | column | what it holds |
//! |---|---|
//! | `source` | the name of the file that the row comes from, without its folders |
//! | `row` | its row there, from 1 |
//! | `content_sha256` | what the labels were given for: SHA-256 of messages and pictures, in hexadecimal |
//! | `dedup_tag` | whether the prompt is one of the most frequent, and whether the row stays when those are thinned out |
//! | `annotations` | every label: annotator, its version, and the label as JSON |
//!
//! `language`, `categories` and `conv_metadata` hold what the labels come down to.
//! A row whose source lacks an id, a judge, a time or a second conversation has null there.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use agon_domain::StyleFeatures;
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StructArray, builder::StringBuilder,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    ConversationRow, Error, ReleaseFile, RowConversation, RowRole,
    clean::DedupTag,
    dataset_folder::DatasetFolder,
    decode::window::hexadecimal,
    record_columns::{Cells, RecordColumns, TurnCells, list},
    schema::{CATEGORIES, hugging_face_info, release_schema},
    shards::Shards,
};

/// What `manifest.json` calls the schema.
const SCHEMA: &str = "agon-annotated";
/// Its version, raised with every change that a reader could notice.
const SCHEMA_VERSION: &str = "1";
/// Uncompressed bytes of a row group at most, but for a single larger row.
const ROW_GROUP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Rows of a row group at most.
const ROW_GROUP_ROWS_MAX: usize = 20_000;
/// Bytes after which a file is closed and the next one begun.
const SHARD_BYTES_MAX: u64 = 500_000_000;

/// A label as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The annotator's name.
    pub annotator: String,
    /// The annotator's version.
    pub version: u32,
    /// What it said, as JSON.
    pub label: String,
}

/// What the labels of a row come down to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowLabels {
    /// The SHA-256 of what was labelled.
    pub content_sha256: [u8; 32],
    /// Who voted, as it is to be written; a source may name network addresses, which are not.
    pub judge: Option<String>,
    /// The language of the first prompt by its English name.
    pub language: Option<String>,
    /// The flags in the order of [`CATEGORIES`].
    pub categories: [Option<bool>; CATEGORIES.len()],
    /// The style counts of a battle.
    pub style: Option<StyleFeatures>,
    /// The frequency tag of the prompt.
    pub dedup_tag: Option<DedupTag>,
    /// Every label.
    pub labels: Vec<Label>,
}

/// How an annotated dataset is written.
#[derive(Clone, Debug)]
pub struct AnnotatedOptions {
    /// When it was made, for the manifest.
    pub created_at: Timestamp,
    /// The version of the program.
    pub agon_version: String,
    /// Whether an earlier annotated dataset in the target folder is replaced.
    pub replace: bool,
    /// What else the manifest says: annotators, inputs, counts.
    pub facts: BTreeMap<&'static str, serde_json::Value>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedSummary {
    /// Where.
    pub folder: PathBuf,
    /// Rows.
    pub n_rows: u64,
    /// The data files.
    pub files: Vec<ReleaseFile>,
}

/// Writes one annotated dataset.
#[derive(Debug)]
pub struct AnnotatedWriter {
    folder: DatasetFolder,
    shards: Shards,
    columns: RecordColumns,
    source: StringBuilder,
    row: Vec<i64>,
    content_sha256: StringBuilder,
    dedup_tags: Vec<Option<DedupTag>>,
    label_counts: Vec<usize>,
    annotator: StringBuilder,
    version: Vec<i64>,
    label: StringBuilder,
    n_rows: u64,
    options: AnnotatedOptions,
}

/// The Arrow schema of an annotated dataset.
pub fn annotated_schema() -> SchemaRef {
    let mut fields: Vec<Field> = release_schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    fields.extend([
        Field::new("source", DataType::Utf8, true),
        Field::new("row", DataType::Int64, true),
        Field::new("content_sha256", DataType::Utf8, true),
        Field::new("dedup_tag", DataType::Struct(dedup_tag_fields()), true),
        Field::new(
            "annotations",
            DataType::List(Arc::new(Field::new(
                "element",
                DataType::Struct(label_fields()),
                true,
            ))),
            true,
        ),
    ]);
    let metadata = [("huggingface".to_owned(), hugging_face_info(&fields))];
    Arc::new(Schema::new_with_metadata(
        fields,
        metadata.into_iter().collect(),
    ))
}

fn dedup_tag_fields() -> Fields {
    Fields::from(vec![
        Field::new("high_freq", DataType::Boolean, true),
        Field::new("sampled", DataType::Boolean, true),
    ])
}

fn label_fields() -> Fields {
    Fields::from(vec![
        Field::new("annotator", DataType::Utf8, true),
        Field::new("version", DataType::Int64, true),
        Field::new("label", DataType::Utf8, true),
    ])
}

impl AnnotatedWriter {
    /// Begins an annotated dataset in `folder`, which must not exist, be empty, or hold an earlier one that the options allow to replace.
    ///
    /// # Errors
    ///
    /// [`Error::TargetNotEmpty`], [`Error::TargetNotARelease`] or [`Error::Write`].
    pub fn create(folder: &Path, options: AnnotatedOptions) -> Result<Self, Error> {
        let folder = DatasetFolder::create(folder, SCHEMA, options.replace)?;
        let shards = Shards::new(
            folder.path(),
            annotated_schema(),
            &options.agon_version,
            SHARD_BYTES_MAX,
        );
        Ok(Self {
            folder,
            shards,
            columns: RecordColumns::new(),
            source: StringBuilder::new(),
            row: Vec::new(),
            content_sha256: StringBuilder::new(),
            dedup_tags: Vec::new(),
            label_counts: Vec::new(),
            annotator: StringBuilder::new(),
            version: Vec::new(),
            label: StringBuilder::new(),
            n_rows: 0,
            options,
        })
    }

    /// Adds one row with its labels.
    ///
    /// # Errors
    ///
    /// That it cannot be written.
    pub fn push(&mut self, row: &ConversationRow, labels: &RowLabels) -> Result<(), Error> {
        let label_bytes: usize = labels
            .labels
            .iter()
            .map(|label| label.annotator.len() + label.label.len() + 16)
            .sum();
        let bytes = row.bytes() + label_bytes;
        let is_full = self.columns.n_rows() >= ROW_GROUP_ROWS_MAX
            || self.columns.bytes() + bytes > ROW_GROUP_BYTES_MAX;
        if is_full && self.columns.n_rows() > 0 {
            self.write_row_group()?;
        }
        self.columns.push(&cells(row, labels), bytes);
        self.source.append_value(file_name(&row.place.source));
        self.row
            .push(i64::try_from(row.place.row).unwrap_or(i64::MAX));
        self.content_sha256
            .append_value(hexadecimal(&labels.content_sha256));
        self.dedup_tags.push(labels.dedup_tag);
        self.label_counts.push(labels.labels.len());
        for label in &labels.labels {
            self.annotator.append_value(&label.annotator);
            self.version.push(i64::from(label.version));
            self.label.append_value(&label.label);
        }
        self.n_rows += 1;
        Ok(())
    }

    fn write_row_group(&mut self) -> Result<(), Error> {
        let batch = self.take_batch().map_err(|error| Error::Encode {
            path: self.folder.path().to_owned(),
            source: error.into(),
        })?;
        self.shards.write(&batch)
    }

    fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut columns = self.columns.take_columns()?;
        let tags = std::mem::take(&mut self.dedup_tags);
        let flags = |flag: fn(&DedupTag) -> bool| -> ArrayRef {
            let flags = tags.iter().map(|tag| tag.as_ref().map(flag));
            Arc::new(BooleanArray::from_iter(flags))
        };
        let tag = StructArray::try_new(
            dedup_tag_fields(),
            vec![flags(|tag| tag.high_freq), flags(|tag| tag.sampled)],
            Some(NullBuffer::from_iter(tags.iter().map(Option::is_some))),
        )?;
        let labels: Vec<ArrayRef> = vec![
            Arc::new(self.annotator.finish()),
            Arc::new(Int64Array::from(std::mem::take(&mut self.version))),
            Arc::new(self.label.finish()),
        ];
        let labels = StructArray::try_new(label_fields(), labels, None)?;
        let counts = std::mem::take(&mut self.label_counts);
        columns.extend([
            Arc::new(self.source.finish()) as ArrayRef,
            Arc::new(Int64Array::from(std::mem::take(&mut self.row))),
            Arc::new(self.content_sha256.finish()),
            Arc::new(tag),
            Arc::new(list(counts, Arc::new(labels), None)?),
        ]);
        RecordBatch::try_new(annotated_schema(), columns)
    }

    /// Writes the manifest with these further facts and moves the dataset into place.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyRelease`] when no row was added, or that something cannot be written. The target is then as it was.
    pub fn finish(
        mut self,
        facts: BTreeMap<&'static str, serde_json::Value>,
    ) -> Result<AnnotatedSummary, Error> {
        if self.columns.n_rows() > 0 {
            self.write_row_group()?;
        }
        let files = self.shards.finish()?;
        if files.is_empty() {
            return Err(Error::EmptyRelease);
        }
        self.options.facts.extend(facts);
        let manifest = Manifest {
            schema: SCHEMA,
            schema_version: SCHEMA_VERSION,
            agon_version: &self.options.agon_version,
            created_at: self.options.created_at.to_string(),
            rows: self.n_rows,
            facts: &self.options.facts,
            files: &files,
        };
        let manifest = serde_json::to_string_pretty(&manifest).map_err(|error| Error::Encode {
            path: self.folder.path().join("manifest.json"),
            source: error.into(),
        })?;
        self.folder
            .write_text("manifest.json", &(manifest + "\n"))?;
        self.folder.move_into_place()?;
        Ok(AnnotatedSummary {
            folder: self.folder.target().to_owned(),
            n_rows: self.n_rows,
            files,
        })
    }
}

/// `manifest.json`.
#[derive(Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    schema_version: &'static str,
    agon_version: &'a str,
    created_at: String,
    rows: u64,
    #[serde(rename = "annotation")]
    facts: &'a BTreeMap<&'static str, serde_json::Value>,
    files: &'a [ReleaseFile],
}

/// A path without its folders, which are the writing machine's.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The cells of a release for a row, with what `labels` say.
pub(crate) fn cells<'a>(row: &'a ConversationRow, labels: &'a RowLabels) -> Cells<'a> {
    let conversation = |idx: usize| row.conversations.get(idx).map(turns);
    let conversations = [conversation(0), conversation(1)];
    let n_turns = conversations.iter().flatten().map(Vec::len).max();
    let images = row.images.iter();
    Cells {
        judge: labels.judge.as_deref(),
        winner: row.winner,
        n_turns,
        language: labels.language.as_deref().or(row.language.as_deref()),
        categories: labels.categories,
        images: images
            .map(|image| {
                let path = image.path.as_deref().map(file_name).map(Cow::Borrowed);
                (image.bytes.as_deref(), path)
            })
            .collect(),
        question_id: row.id.as_deref(),
        models: [0, 1].map(|idx| row.models.get(idx).map(String::as_str)),
        conversations,
        tstamp: row.time,
        style: labels.style.as_ref(),
    }
}

/// The messages by turn: a user's message begins one, unless the turn has no answer yet.
fn turns(conversation: &RowConversation) -> Vec<TurnCells<'_>> {
    let mut turns: Vec<TurnCells<'_>> = Vec::new();
    let mut is_answered = true;
    for message in &conversation.messages {
        let is_prompt = matches!(message.role, RowRole::User);
        if turns.is_empty() || (is_prompt && is_answered) {
            turns.push(Vec::new());
            is_answered = false;
        }
        is_answered |= matches!(message.role, RowRole::Assistant);
        if let Some(turn) = turns.last_mut() {
            turn.push((message.role.as_str(), message.text.as_deref()));
        }
    }
    turns
}
