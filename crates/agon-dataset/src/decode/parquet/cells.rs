//! Rows of a Parquet file as a whole: the wanted columns, nested as they are, read through Arrow a few rows at a time.
//!
//! How many rows that is follows from the size of the row group, so that pictures do not fill the memory.

use std::sync::Arc;

use arrow_array::{Array, BinaryViewArray, RecordBatch, cast::AsArray as _, types};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder,
        },
    },
    file::metadata::ParquetMetaData,
};

use super::{
    BLOCK_ROWS, Column, Damage, conversations::OwnedChunks, damage, unpacking::Unpacking,
    untyped::bytes_only,
};
use crate::{
    ConversationSelection, Error,
    conversations::{BATCH_BYTES, Cell, NOT_UTF8, RowCells, is_wanted},
    decode::shown_columns,
    error::found_instead,
    input::access::RandomAccess,
};

/// The columns of a file that whole rows need.
pub(super) struct RowColumns {
    pub(super) leaves: Vec<Column>,
}

impl RowColumns {
    /// Finds them. The bytes of pictures are only among them when they are selected.
    ///
    /// # Errors
    ///
    /// [`Error::MissingSelected`] for a selected column of which the file has no beginning.
    pub(super) fn find(
        path: &str,
        metadata: &ParquetMetaData,
        selection: &ConversationSelection,
    ) -> Result<Self, Error> {
        let schema = metadata.file_metadata().schema_descr();
        let fields = schema.root_schema().get_fields();
        for name in &selection.columns {
            let is_there = fields.iter().any(|field| {
                let rest = name.strip_prefix(field.name());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
            if !is_there {
                let found = shown_columns(fields.iter().map(|field| field.name()));
                return Err(Error::MissingSelected {
                    path: path.to_owned(),
                    what: "column",
                    name: name.clone(),
                    detail: found_instead(&format!("`{name}`"), false, &found),
                });
            }
        }
        let is_picture = |parts: &[String]| {
            let column = parts[0].to_lowercase();
            let last = parts.last().map_or("", String::as_str);
            let is_column = matches!(column.trim(), "images" | "image");
            let is_nested = parts.len() > 1;
            is_column && (!is_nested || last != "path") || is_nested && last == "bytes"
        };
        let leaves = (0..schema.num_columns())
            .map(|leaf_idx| Column {
                leaf_idx,
                description: schema.column(leaf_idx),
            })
            .filter(|column| {
                let parts = column.description.path().parts();
                is_wanted(&parts[0], selection) && (selection.images || !is_picture(parts))
            })
            .collect();
        Ok(Self { leaves })
    }
}

/// The wanted cells of one row group, block by block.
pub(super) struct CellStream {
    reader: Option<ParquetRecordBatchReader>,
    /// The columns of the file as it types them.
    types: SchemaRef,
    block_rows: usize,
}

impl CellStream {
    pub(super) fn new(
        metadata: &ParquetMetaData,
        file: &Arc<dyn RandomAccess>,
        unpacking: &Arc<Unpacking>,
        columns: &RowColumns,
        row_group_idx: usize,
    ) -> Result<Self, Damage> {
        let row_group = metadata.row_group(row_group_idx);
        let leaves = columns.leaves.iter().map(|column| column.leaf_idx);
        let bytes: u64 = leaves
            .clone()
            .map(|idx| {
                let column = row_group.column(idx);
                // Of the two sizes only the packed one is held against the file, so that it cannot be too small.
                let bytes = column.uncompressed_size().max(column.compressed_size());
                u64::try_from(bytes).unwrap_or(0)
            })
            .fold(0, u64::saturating_add);
        let n_rows = u64::try_from(row_group.num_rows()).unwrap_or(0);
        let row_bytes = bytes / n_rows.max(1);
        let block_rows = BATCH_BYTES as u64 / 2 / row_bytes.max(1);
        let block_rows = usize::try_from(block_rows)
            .unwrap_or(BLOCK_ROWS)
            .clamp(1, BLOCK_ROWS);
        let mut reader = None;
        let mut types = Arc::new(Schema::empty());
        if !columns.leaves.is_empty() {
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let typed = ArrowReaderMetadata::try_new(Arc::new(metadata.clone()), options.clone())
                .map_err(|error| damage(&error))?;
            types = Arc::clone(typed.schema());
            // Which bytes are text is told by the types of the file, row by row.
            let untyped = bytes_only(metadata, row_group_idx).map_err(|error| damage(&error))?;
            let untyped = Arc::new(untyped);
            let plain = ArrowReaderMetadata::try_new(Arc::clone(&untyped), options.clone())
                .map_err(|error| damage(&error))?;
            // Pictures are taken out of their pages without a copy.
            let options = options.with_schema(with_views(plain.schema()));
            let arrow = ArrowReaderMetadata::try_new(Arc::clone(&untyped), options)
                .map_err(|error| damage(&error))?;
            let schema = untyped.file_metadata().schema_descr();
            let mask = ProjectionMask::leaves(schema, leaves);
            let chunks = OwnedChunks {
                file: Arc::clone(file),
                unpacking: Arc::clone(unpacking),
            };
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, arrow)
                .with_row_groups(vec![0])
                .with_projection(mask)
                .with_batch_size(block_rows);
            reader = Some(builder.build().map_err(|error| damage(&error))?);
        }
        Ok(Self {
            reader,
            types,
            block_rows,
        })
    }

    /// Rows of a block at most.
    pub(super) const fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Reads the next block, which has to have `n` rows.
    pub(super) fn block(&mut self, n: usize) -> Result<CellBlock, Damage> {
        let Some(reader) = &mut self.reader else {
            return Ok(CellBlock {
                batch: None,
                types: Arc::clone(&self.types),
            });
        };
        let batch = reader.next().transpose();
        let batch = batch.map_err(|error| error.to_string())?;
        match batch.filter(|batch| batch.num_rows() == n) {
            Some(batch) => Ok(CellBlock {
                batch: Some(batch),
                types: Arc::clone(&self.types),
            }),
            None => Err("its columns differ in their number of rows".into()),
        }
    }
}

/// The wanted cells of a few rows.
pub(super) struct CellBlock {
    batch: Option<RecordBatch>,
    types: SchemaRef,
}

impl CellBlock {
    /// Those of one row.
    pub(super) fn row(&self, row: usize) -> RowCells {
        let mut cells = RowCells::default();
        if let Some(batch) = &self.batch {
            let schema = batch.schema_ref();
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                let kind = member(self.types.fields(), field.name());
                let mut reading = Reading { is_utf8: true };
                let cell = reading.cell(column.as_ref(), row, kind);
                cells.push(field.name(), cell);
                if !reading.is_utf8 {
                    cells.push_problem(field.name(), NOT_UTF8.to_owned());
                }
            }
        }
        cells
    }
}

/// The type of a member in the file.
fn member<'t>(fields: &'t Fields, name: &str) -> &'t DataType {
    let mut fields = fields.iter();
    let field = fields.find(|field| field.name() == name);
    field.map_or(&DataType::Null, |field| field.data_type())
}

/// Whether bytes of this type are text.
fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// The reading of one cell.
struct Reading {
    /// Whether all of its texts are UTF-8; the others are null.
    is_utf8: bool,
}

impl Reading {
    /// One value, nested as it is. `kind` is its type in the file.
    fn cell(&mut self, array: &dyn Array, row: usize, kind: &DataType) -> Cell {
        if array.is_null(row) {
            return Cell::Null;
        }
        let found = match array.data_type() {
            DataType::BinaryView => array.as_binary_view_opt().map(|array| {
                if !is_text(kind) {
                    return viewed_bytes(array, row);
                }
                match std::str::from_utf8(array.value(row)) {
                    Ok(value) => Cell::Text(value.to_owned()),
                    Err(_) => {
                        self.is_utf8 = false;
                        Cell::Null
                    }
                }
            }),
            DataType::List(_) => array
                .as_list_opt::<i32>()
                .map(|array| self.list(&array.value(row), kind)),
            DataType::LargeList(_) => array
                .as_list_opt::<i64>()
                .map(|array| self.list(&array.value(row), kind)),
            DataType::FixedSizeList(..) => array
                .as_fixed_size_list_opt()
                .map(|array| self.list(&array.value(row), kind)),
            DataType::Struct(fields) => array.as_struct_opt().map(|array| {
                let members = fields.iter().zip(array.columns());
                let members = members.map(|(field, column)| {
                    let kind = match kind {
                        DataType::Struct(kinds) => member(kinds, field.name()),
                        _ => &DataType::Null,
                    };
                    let cell = self.cell(column.as_ref(), row, kind);
                    (field.name().clone(), cell)
                });
                Cell::Group(members.collect())
            }),
            DataType::Map(..) => array.as_map_opt().map(|array| {
                let entries = array.value(row);
                let kinds = match kind {
                    DataType::Map(entries, _) => match entries.data_type() {
                        DataType::Struct(fields) => fields.clone(),
                        _ => Fields::empty(),
                    },
                    _ => Fields::empty(),
                };
                let kind = |idx: usize| kinds.get(idx).map_or(&DataType::Null, |f| f.data_type());
                let entry = |idx| {
                    let name = self.cell(entries.column(0).as_ref(), idx, kind(0));
                    let name = name.as_label().unwrap_or_default().into_owned();
                    (name, self.cell(entries.column(1).as_ref(), idx, kind(1)))
                };
                Cell::Group((0..entries.len()).map(entry).collect())
            }),
            _ => return flat(array, row),
        };
        found.unwrap_or_else(|| unread(array))
    }

    fn list(&mut self, elements: &dyn Array, kind: &DataType) -> Cell {
        let kind = match kind {
            DataType::List(element)
            | DataType::LargeList(element)
            | DataType::FixedSizeList(element, _) => element.data_type(),
            _ => &DataType::Null,
        };
        let cells = (0..elements.len()).map(|idx| self.cell(elements, idx, kind));
        Cell::List(cells.collect())
    }
}

fn unread(array: &dyn Array) -> Cell {
    Cell::Other(format!("a value of the type {}", array.data_type()))
}

/// One value that is not nested, and no bytes of any length.
fn flat(array: &dyn Array, row: usize) -> Cell {
    let found = match array.data_type() {
        DataType::Boolean => array
            .as_boolean_opt()
            .map(|array| Cell::Bool(array.value(row))),
        DataType::FixedSizeBinary(_) => array
            .as_fixed_size_binary_opt()
            .map(|a| bytes(a.value(row))),
        DataType::Timestamp(unit, _) => seconds(array, row, *unit),
        DataType::Date32 => number::<types::Date32Type>(array, row)
            .map(|days| Cell::Seconds(f64::from(days) * 86_400.0)),
        _ => plain_number(array, row),
    };
    found.unwrap_or_else(|| unread(array))
}

fn bytes(bytes: &[u8]) -> Cell {
    Cell::Bytes(Bytes::copy_from_slice(bytes))
}

/// Bytes of a column without a copy, when they are many and their page is not too large: they keep it alive.
fn viewed_bytes(array: &BinaryViewArray, row: usize) -> Cell {
    /// Bytes from which on a copy costs more than it saves.
    const SHARED_BYTES_MIN: usize = 4096;
    /// Bytes of a page that pictures may keep alive until they are handed on: one page more than the one that is decoded.
    const PAGE_BYTES_MAX: usize = 128 * 1024 * 1024;
    let value = array.value(row);
    let shared = || {
        // Layout of a long view: length, prefix, number of the buffer, place in it, each of 32 bits (Arrow columnar format, “Variable-size Binary View Layout”).
        let view = *array.views().get(row)?;
        let buffer = array.data_buffers().get((view >> 64) as u32 as usize)?;
        let from = (view >> 96) as usize;
        let is_worth_it = value.len() >= SHARED_BYTES_MIN && buffer.len() <= PAGE_BYTES_MAX;
        is_worth_it.then(|| buffer.slice_with_length(from, value.len()))
    };
    match shared() {
        Some(slice) => Cell::Bytes(Bytes::from_owner(SharedBuffer(slice))),
        None => bytes(value),
    }
}

/// The same columns, bytes as views into the pages that they are in.
fn with_views(schema: &Schema) -> SchemaRef {
    fn viewed(field: &Field) -> FieldRef {
        let data_type = match field.data_type() {
            DataType::Binary => DataType::BinaryView,
            DataType::List(element) => DataType::List(viewed(element)),
            DataType::LargeList(element) => DataType::LargeList(viewed(element)),
            DataType::Map(entries, is_sorted) => DataType::Map(viewed(entries), *is_sorted),
            DataType::Struct(fields) => {
                DataType::Struct(fields.iter().map(|field| viewed(field)).collect())
            }
            other => other.clone(),
        };
        Arc::new(field.clone().with_data_type(data_type))
    }
    let fields: Fields = schema.fields().iter().map(|field| viewed(field)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A piece of a page as an owner of bytes.
struct SharedBuffer(Buffer);

impl AsRef<[u8]> for SharedBuffer {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

fn number<T: types::ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Option<T::Native> {
    array.as_primitive_opt::<T>().map(|array| array.value(row))
}

fn plain_number(array: &dyn Array, row: usize) -> Option<Cell> {
    Some(match array.data_type() {
        DataType::Int8 => Cell::Number(number::<types::Int8Type>(array, row)?.into()),
        DataType::Int16 => Cell::Number(number::<types::Int16Type>(array, row)?.into()),
        DataType::Int32 => Cell::Number(number::<types::Int32Type>(array, row)?.into()),
        DataType::Int64 => Cell::Number(number::<types::Int64Type>(array, row)?.into()),
        DataType::UInt8 => Cell::Number(number::<types::UInt8Type>(array, row)?.into()),
        DataType::UInt16 => Cell::Number(number::<types::UInt16Type>(array, row)?.into()),
        DataType::UInt32 => Cell::Number(number::<types::UInt32Type>(array, row)?.into()),
        DataType::UInt64 => Cell::Number(number::<types::UInt64Type>(array, row)?.into()),
        DataType::Float32 => Cell::of_f64(number::<types::Float32Type>(array, row)?.into()),
        DataType::Float64 => Cell::of_f64(number::<types::Float64Type>(array, row)?),
        _ => return None,
    })
}

fn seconds(array: &dyn Array, row: usize, unit: TimeUnit) -> Option<Cell> {
    let (value, per_second) = match unit {
        TimeUnit::Second => (number::<types::TimestampSecondType>(array, row)?, 1),
        TimeUnit::Millisecond => (
            number::<types::TimestampMillisecondType>(array, row)?,
            1_000,
        ),
        TimeUnit::Microsecond => (
            number::<types::TimestampMicrosecondType>(array, row)?,
            1_000_000,
        ),
        TimeUnit::Nanosecond => (
            number::<types::TimestampNanosecondType>(array, row)?,
            1_000_000_000,
        ),
    };
    // Nanoseconds of today have more digits than a float: whole seconds go by themselves.
    let whole = value.div_euclid(per_second) as f64;
    let rest = value.rem_euclid(per_second) as f64 / per_second as f64;
    Some(Cell::Seconds(whole + rest))
}
