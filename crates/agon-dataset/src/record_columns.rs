//! Records turned into Arrow columns, one row group at a time.

use std::{borrow::Cow, sync::Arc};

use agon_domain::{MarkdownCounts, Side, StyleFeatures, Winner};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StructArray,
    builder::{BinaryBuilder, StringBuilder},
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};

use crate::{
    Record,
    record::Message,
    schema::{
        CATEGORIES, METADATA_GROUPS, METADATA_NUMBERS, category_fields, image_fields,
        message_fields, metadata_fields, release_schema,
    },
};

/// The columns of the records that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct RecordColumns {
    n_rows: usize,
    bytes: usize,
    judge: StringBuilder,
    winner: StringBuilder,
    num_turns: Vec<Option<i64>>,
    language: StringBuilder,
    categories: [Vec<Option<bool>>; CATEGORIES.len()],
    images: ImageColumn,
    question_id: StringBuilder,
    model_a: StringBuilder,
    model_b: StringBuilder,
    conversation_a: ConversationColumn,
    conversation_b: ConversationColumn,
    tstamp: Vec<Option<f64>>,
    numbers: [Vec<Option<i64>>; METADATA_NUMBERS.len()],
    groups: [Vec<Vec<Option<i64>>>; METADATA_GROUPS.len()],
}

/// The messages of one turn, each a role and what was written.
pub(crate) type TurnCells<'a> = Vec<(&'a str, Option<&'a str>)>;

/// Bytes and path of a picture.
pub(crate) type ImageCell<'a> = (Option<&'a [u8]>, Option<Cow<'a, str>>);

/// One row as its columns take it; what is `None` is written as null.
#[derive(Debug)]
pub(crate) struct Cells<'a> {
    pub(crate) judge: Option<&'a str>,
    pub(crate) winner: Option<Winner>,
    pub(crate) n_turns: Option<usize>,
    pub(crate) language: Option<&'a str>,
    pub(crate) categories: [Option<bool>; CATEGORIES.len()],
    pub(crate) images: Vec<ImageCell<'a>>,
    pub(crate) question_id: Option<&'a str>,
    pub(crate) models: [Option<&'a str>; 2],
    pub(crate) conversations: [Option<Vec<TurnCells<'a>>>; 2],
    /// Seconds since 1970.
    pub(crate) tstamp: Option<f64>,
    pub(crate) style: Option<&'a StyleFeatures>,
}

impl<'a> From<&'a Record> for Cells<'a> {
    fn from(record: &'a Record) -> Self {
        let turns = |conversation: &'a Vec<Vec<Message>>| {
            let turns = conversation.iter().map(|turn| {
                turn.iter()
                    .map(|message| (message.role.as_str(), Some(message.content.as_str())))
                    .collect()
            });
            Some(turns.collect())
        };
        let images = record.images.iter();
        Self {
            judge: Some(&record.judge),
            winner: Some(record.winner),
            n_turns: Some(record.n_turns()),
            language: record.language.as_deref(),
            categories: record.categories,
            images: images
                .map(|image| (Some(image.bytes()), Some(Cow::Owned(image.path()))))
                .collect(),
            question_id: Some(&record.question_id),
            models: [Some(&record.models.a), Some(&record.models.b)],
            conversations: [
                turns(&record.conversations.a),
                turns(&record.conversations.b),
            ],
            tstamp: Some(seconds(record.cast_at)),
            style: record.style.as_ref(),
        }
    }
}

#[derive(Debug, Default)]
struct ImageColumn {
    lengths: Vec<usize>,
    bytes: BinaryBuilder,
    path: StringBuilder,
}

#[derive(Debug, Default)]
struct ConversationColumn {
    is_there: Vec<bool>,
    turns: Vec<usize>,
    messages: Vec<usize>,
    role: StringBuilder,
    content: StringBuilder,
}

impl RecordColumns {
    pub(crate) fn new() -> Self {
        Self {
            groups: METADATA_GROUPS.map(|(_, members)| vec![Vec::new(); members.len()]),
            ..Self::default()
        }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Bytes of the cells that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a row of so many bytes.
    pub(crate) fn push(&mut self, cells: &Cells<'_>, bytes: usize) {
        self.n_rows += 1;
        self.bytes += bytes;
        self.judge.append_option(cells.judge);
        self.winner
            .append_option(cells.winner.map(Winner::release_spelling));
        self.num_turns.push(cells.n_turns.map(count));
        self.language.append_option(cells.language);
        for (column, flag) in self.categories.iter_mut().zip(cells.categories) {
            column.push(flag);
        }
        self.images.lengths.push(cells.images.len());
        for (bytes, path) in &cells.images {
            self.images.bytes.append_option(*bytes);
            self.images.path.append_option(path.as_deref());
        }
        self.question_id.append_option(cells.question_id);
        self.model_a.append_option(cells.models[0]);
        self.model_b.append_option(cells.models[1]);
        let [a, b] = &cells.conversations;
        self.conversation_a.push(a.as_deref());
        self.conversation_b.push(b.as_deref());
        self.tstamp.push(cells.tstamp);
        self.push_metadata(cells);
    }

    fn push_metadata(&mut self, cells: &Cells<'_>) {
        let style = cells.style;
        let numbers = [
            style.map(|style| style.assistant_tokens.a),
            style.map(|style| style.assistant_tokens.b),
            style.map(|style| style.context_tokens.a),
            style.map(|style| style.context_tokens.b),
            style.map(|style| style.user_tokens),
        ];
        let numbers = numbers.map(|n| n.map(i64::from));
        // The number of turns is known without any counting of style.
        let turns = cells.n_turns.map(count);
        for (column, n) in self
            .numbers
            .iter_mut()
            .zip(numbers.into_iter().chain([turns]))
        {
            column.push(n);
        }
        for (column, (name, members)) in self.groups.iter_mut().zip(METADATA_GROUPS) {
            let side = if name.ends_with("_a") {
                Side::A
            } else {
                Side::B
            };
            let counts = style.map(|style| group_counts(name, style.markdown.get(side)));
            for (idx, member) in column.iter_mut().enumerate() {
                debug_assert!(idx < members.len());
                member.push(counts.as_ref().map(|counts| i64::from(counts[idx])));
            }
        }
    }

    /// The waiting records as one batch; afterwards none waits.
    pub(crate) fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(release_schema(), self.take_columns()?)
    }

    /// The columns of the waiting records, in the order of the schema; afterwards none waits.
    pub(crate) fn take_columns(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut taken = std::mem::replace(self, Self::new());
        let categories = taken
            .categories
            .into_iter()
            .map(|flags| Arc::new(BooleanArray::from(flags)) as ArrayRef)
            .collect();
        Ok(vec![
            Arc::new(taken.judge.finish()),
            Arc::new(taken.winner.finish()),
            Arc::new(Int64Array::from(taken.num_turns)),
            Arc::new(taken.language.finish()),
            Arc::new(StructArray::try_new(category_fields(), categories, None)?),
            Arc::new(taken.images.finish()?),
            Arc::new(taken.question_id.finish()),
            Arc::new(taken.model_a.finish()),
            Arc::new(taken.model_b.finish()),
            Arc::new(taken.conversation_a.finish()?),
            Arc::new(taken.conversation_b.finish()?),
            Arc::new(Float64Array::from(taken.tstamp)),
            Arc::new(metadata(taken.numbers, taken.groups)?),
        ])
    }
}

fn metadata(
    numbers: [Vec<Option<i64>>; METADATA_NUMBERS.len()],
    groups: [Vec<Vec<Option<i64>>>; METADATA_GROUPS.len()],
) -> Result<StructArray, ArrowError> {
    let fields = metadata_fields();
    let mut columns: Vec<ArrayRef> = numbers
        .into_iter()
        .map(|numbers| Arc::new(Int64Array::from(numbers)) as ArrayRef)
        .collect();
    for (members, field) in groups.into_iter().zip(&fields[METADATA_NUMBERS.len()..]) {
        let members = members
            .into_iter()
            .map(|numbers| Arc::new(Int64Array::from(numbers)) as ArrayRef)
            .collect();
        columns.push(Arc::new(StructArray::try_new(
            struct_fields(field),
            members,
            None,
        )?));
    }
    StructArray::try_new(fields, columns, None)
}

fn struct_fields(field: &Field) -> Fields {
    match field.data_type() {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    }
}

impl ImageColumn {
    fn finish(mut self) -> Result<ListArray, ArrowError> {
        let fields = image_fields();
        let columns: Vec<ArrayRef> =
            vec![Arc::new(self.bytes.finish()), Arc::new(self.path.finish())];
        let images = StructArray::try_new(fields, columns, None)?;
        list(self.lengths, Arc::new(images), None)
    }
}

impl ConversationColumn {
    fn push(&mut self, turns: Option<&[TurnCells<'_>]>) {
        self.is_there.push(turns.is_some());
        let turns = turns.unwrap_or_default();
        self.turns.push(turns.len());
        for turn in turns {
            self.messages.push(turn.len());
            for (role, content) in turn {
                self.role.append_value(role);
                self.content.append_option(*content);
            }
        }
    }

    fn finish(mut self) -> Result<ListArray, ArrowError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.role.finish()),
            Arc::new(self.content.finish()),
        ];
        let messages = StructArray::try_new(message_fields(), columns, None)?;
        let turns = list(self.messages, Arc::new(messages), None)?;
        let nulls = NullBuffer::from(self.is_there);
        list(self.turns, Arc::new(turns), Some(nulls))
    }
}

pub(crate) fn list(
    lengths: Vec<usize>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ListArray, ArrowError> {
    let field = Field::new("element", values.data_type().clone(), true);
    ListArray::try_new(
        Arc::new(field),
        OffsetBuffer::from_lengths(lengths),
        values,
        nulls,
    )
}

/// The counts of one group of `conv_metadata`, in the order of its members.
fn group_counts(group: &str, markdown: &MarkdownCounts) -> Vec<u32> {
    match group.split('_').next() {
        Some("header") => markdown.headers.to_vec(),
        Some("list") => vec![markdown.list_ordered, markdown.list_unordered],
        _ => vec![markdown.bold_asterisks, markdown.bold_underscores],
    }
}

/// Seconds since 1970 with their fraction. Microseconds are exact until the year 2255.
fn seconds(time: jiff::Timestamp) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds since 1970 fit into 53 bits until the year 2255"
    )]
    let microseconds = time.as_microsecond() as f64;
    microseconds / 1e6
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
