//! The conversations of a file, read through Arrow for the few rows that need them, pictures left where they are.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, cast::AsArray as _};
use arrow_schema::DataType;
use bytes::Bytes;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder,
        },
    },
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
    schema::types::SchemaDescriptor,
};

use super::{BLOCK_ROWS, Damage, Table, damage};
use crate::{
    battles::conversation::{Conversation, add_part},
    input::access::{Chunks, RandomAccess},
};

/// The columns of both sides.
pub(super) struct ConversationColumns {
    names: [String; 2],
    leaves: Vec<usize>,
    /// Whether a text that is no JSON is an answer.
    may_be_plain: bool,
}

/// Parts of a message that are text; pictures and their types are not.
const TEXT_PARTS: [&str; 3] = ["role", "content", "text"];
/// Names that Parquet's lists put between a column and its elements.
const LIST_PARTS: [&str; 6] = ["list", "element", "item", "array", "bag", "array_element"];

impl ConversationColumns {
    /// Finds them, by the preferred name of which both sides are there.
    pub(super) fn find(schema: &SchemaDescriptor) -> Option<Self> {
        let has = |name: &String| {
            let mut fields = schema.root_schema().get_fields().iter();
            fields.any(|field| field.name() == name)
        };
        ["conversation", "messages", "response"]
            .into_iter()
            .map(|stem| (stem, [format!("{stem}_a"), format!("{stem}_b")]))
            .find(|(_, names)| names.iter().all(has))
            .map(|(stem, names)| {
                let leaves = (0..schema.num_columns())
                    .filter(|&idx| {
                        let column = schema.column(idx);
                        let parts = column.path().parts();
                        let last = parts
                            .iter()
                            .rev()
                            .find(|part| !LIST_PARTS.contains(&part.as_str()));
                        names.contains(&parts[0])
                            && last.is_some_and(|last| {
                                last == &parts[0] || TEXT_PARTS.contains(&last.as_str())
                            })
                    })
                    .collect();
                Self {
                    names,
                    leaves,
                    may_be_plain: stem == "response",
                }
            })
    }

    /// Whether both sides can be read.
    pub(super) fn has_both(&self) -> bool {
        self.leaves.len() >= 2
    }
}

/// Bytes that Arrow's reader may keep.
pub(super) struct OwnedChunks(pub(super) Arc<dyn RandomAccess>);

impl Length for OwnedChunks {
    fn len(&self) -> u64 {
        self.0.size()
    }
}

impl ChunkReader for OwnedChunks {
    type T = <Chunks<'static> as ChunkReader>::T;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Chunks(&self.0).get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        Chunks(&self.0).get_bytes(start, length)
    }
}

/// The conversations of one row group, block by block; nothing is read before it is needed.
pub(super) struct ConversationStream<'a> {
    table: &'a Table,
    columns: Option<&'a ConversationColumns>,
    row_group_idx: usize,
    reader: Option<ParquetRecordBatchReader>,
    /// Blocks that went by, and blocks that were read.
    n_blocks: usize,
    n_read: usize,
}

impl<'a> ConversationStream<'a> {
    pub(super) fn new(
        table: &'a Table,
        columns: Option<&'a ConversationColumns>,
        row_group_idx: usize,
    ) -> Self {
        Self {
            table,
            columns,
            row_group_idx,
            reader: None,
            n_blocks: 0,
            n_read: 0,
        }
    }

    /// Moves over the next block of `n` rows, and gives their conversations if they are needed and there.
    pub(super) fn block(
        &mut self,
        n: usize,
        is_needed: bool,
    ) -> Result<Option<[Vec<Conversation>; 2]>, Damage> {
        self.n_blocks += 1;
        let Some(columns) = self.columns.filter(|_| is_needed) else {
            return Ok(None);
        };
        if self.reader.is_none() {
            self.reader = Some(self.open(columns)?);
        }
        let mut batch = None;
        while self.n_read < self.n_blocks {
            let reader = self.reader.as_mut().and_then(Iterator::next);
            batch = reader.transpose().map_err(|error| error.to_string())?;
            self.n_read += 1;
        }
        let Some(batch) = batch.filter(|batch| batch.num_rows() == n) else {
            return Err("the conversations have fewer rows than the row group".into());
        };
        Ok(Some(
            columns
                .names
                .each_ref()
                .map(|name| side(&batch, name, columns.may_be_plain, n)),
        ))
    }

    fn open(&self, columns: &ConversationColumns) -> Result<ParquetRecordBatchReader, Damage> {
        let metadata = Arc::new(self.table.metadata.clone());
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata =
            ArrowReaderMetadata::try_new(metadata, options).map_err(|error| damage(&error))?;
        let chunks = OwnedChunks(Arc::clone(&self.table.file));
        let schema = self.table.metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::leaves(schema, columns.leaves.iter().copied());
        ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, metadata)
            .with_row_groups(vec![self.row_group_idx])
            .with_projection(mask)
            .with_batch_size(BLOCK_ROWS)
            .build()
            .map_err(|error| damage(&error))
    }
}

fn side(batch: &RecordBatch, name: &str, may_be_plain: bool, n: usize) -> Vec<Conversation> {
    let column = batch.column_by_name(name);
    (0..n)
        .map(|row| {
            let mut conversation = Conversation::default();
            if let Some(column) = column {
                add(&mut conversation, column.as_ref(), row, may_be_plain);
            }
            conversation
        })
        .collect()
}

/// The text of a row of a column of text.
fn text(array: &dyn Array, row: usize) -> Option<&str> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string_opt::<i32>().map(|array| array.value(row)),
        DataType::LargeUtf8 => array.as_string_opt::<i64>().map(|array| array.value(row)),
        DataType::Utf8View => array.as_string_view_opt().map(|array| array.value(row)),
        DataType::Binary => array
            .as_binary_opt::<i32>()
            .and_then(|array| std::str::from_utf8(array.value(row)).ok()),
        _ => None,
    }
}

/// The elements of a row of a list column.
fn elements(array: &dyn Array, row: usize) -> Option<Arc<dyn Array>> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::List(_) => array.as_list_opt::<i32>().map(|array| array.value(row)),
        DataType::LargeList(_) => array.as_list_opt::<i64>().map(|array| array.value(row)),
        _ => None,
    }
}

fn add(conversation: &mut Conversation, array: &dyn Array, row: usize, may_be_plain: bool) {
    if let Some(text) = text(array, row) {
        let more = Conversation::of_text(text, may_be_plain);
        conversation.messages.extend(more.messages);
    } else if let Some(elements) = elements(array, row) {
        for element in 0..elements.len() {
            match text(elements.as_ref(), element) {
                Some(text) => conversation.add("", text),
                None => add(conversation, elements.as_ref(), element, may_be_plain),
            }
        }
    } else if let Some(message) = array.as_struct_opt()
        && message.is_valid(row)
        && let Some(role) = message
            .column_by_name("role")
            .and_then(|role| text(role, row))
        && let Some(content) = message.column_by_name("content")
        && content.is_valid(row)
    {
        let mut all = String::new();
        add_content(content.as_ref(), row, &mut all);
        conversation.add(role, &all);
    }
}

fn add_content(content: &dyn Array, row: usize, all: &mut String) {
    if let Some(part) = text(content, row) {
        add_part(part, all);
    } else if let Some(parts) = elements(content, row) {
        for part in 0..parts.len() {
            add_content(parts.as_ref(), part, all);
        }
    } else if let Some(part) = content.as_struct_opt()
        && part.is_valid(row)
        && let Some(part) = part.column_by_name("text").and_then(|part| text(part, row))
    {
        add_part(part, all);
    }
}
