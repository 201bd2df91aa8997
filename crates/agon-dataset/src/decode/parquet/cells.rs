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

use super::{BLOCK_ROWS, Column, Damage, conversations::OwnedChunks, damage, unpacking::Unpacking};
use crate::{
    ConversationSelection, Error,
    conversations::{BATCH_BYTES, Cell, RowCells, is_wanted},
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
        if !columns.leaves.is_empty() {
            let metadata = Arc::new(metadata.clone());
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options.clone())
                .map_err(|error| damage(&error))?;
            // Pictures are taken out of their pages without a copy.
            let options = options.with_schema(with_views(plain.schema()));
            let arrow = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options)
                .unwrap_or(plain);
            let schema = metadata.file_metadata().schema_descr();
            let mask = ProjectionMask::leaves(schema, leaves);
            let chunks = OwnedChunks {
                file: Arc::clone(file),
                unpacking: Arc::clone(unpacking),
            };
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, arrow)
                .with_row_groups(vec![row_group_idx])
                .with_projection(mask)
                .with_batch_size(block_rows);
            reader = Some(builder.build().map_err(|error| damage(&error))?);
        }
        Ok(Self { reader, block_rows })
    }

    /// Rows of a block at most.
    pub(super) const fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Reads the next block, which has to have `n` rows.
    pub(super) fn block(&mut self, n: usize) -> Result<CellBlock, Damage> {
        let Some(reader) = &mut self.reader else {
            return Ok(CellBlock(None));
        };
        let batch = reader.next().transpose();
        let batch = batch.map_err(|error| error.to_string())?;
        match batch.filter(|batch| batch.num_rows() == n) {
            Some(batch) => Ok(CellBlock(Some(batch))),
            None => Err("its columns differ in their number of rows".into()),
        }
    }
}

/// The wanted cells of a few rows.
pub(super) struct CellBlock(Option<RecordBatch>);

impl CellBlock {
    /// Those of one row.
    pub(super) fn row(&self, row: usize) -> RowCells {
        let mut cells = RowCells::default();
        if let Some(batch) = &self.0 {
            let schema = batch.schema_ref();
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                cells.push(field.name(), cell(column.as_ref(), row));
            }
        }
        cells
    }
}

/// One value, nested as it is.
fn cell(array: &dyn Array, row: usize) -> Cell {
    if array.is_null(row) {
        return Cell::Null;
    }
    let found = match array.data_type() {
        DataType::Boolean => array
            .as_boolean_opt()
            .map(|array| Cell::Bool(array.value(row))),
        DataType::Utf8 => array.as_string_opt::<i32>().map(|a| text(a.value(row))),
        DataType::LargeUtf8 => array.as_string_opt::<i64>().map(|a| text(a.value(row))),
        DataType::Utf8View => array.as_string_view_opt().map(|a| text(a.value(row))),
        DataType::Binary => array.as_binary_opt::<i32>().map(|a| bytes(a.value(row))),
        DataType::LargeBinary => array.as_binary_opt::<i64>().map(|a| bytes(a.value(row))),
        DataType::BinaryView => array.as_binary_view_opt().map(|a| viewed_bytes(a, row)),
        DataType::FixedSizeBinary(_) => array
            .as_fixed_size_binary_opt()
            .map(|a| bytes(a.value(row))),
        DataType::List(_) => array.as_list_opt::<i32>().map(|a| list(&a.value(row))),
        DataType::LargeList(_) => array.as_list_opt::<i64>().map(|a| list(&a.value(row))),
        DataType::FixedSizeList(..) => array.as_fixed_size_list_opt().map(|a| list(&a.value(row))),
        DataType::Struct(fields) => array.as_struct_opt().map(|array| {
            let members = fields.iter().zip(array.columns());
            Cell::Group(
                members
                    .map(|(field, column)| (field.name().clone(), cell(column.as_ref(), row)))
                    .collect(),
            )
        }),
        DataType::Map(..) => array.as_map_opt().map(|array| {
            let entries = array.value(row);
            let member = |idx| {
                let name = cell(entries.column(0).as_ref(), idx);
                let name = name.as_label().unwrap_or_default().into_owned();
                (name, cell(entries.column(1).as_ref(), idx))
            };
            Cell::Group((0..entries.len()).map(member).collect())
        }),
        DataType::Timestamp(unit, _) => seconds(array, row, *unit),
        DataType::Date32 => number::<types::Date32Type>(array, row)
            .map(|days| Cell::Seconds(f64::from(days) * 86_400.0)),
        _ => plain_number(array, row),
    };
    found.unwrap_or_else(|| Cell::Other(format!("a value of the type {}", array.data_type())))
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
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

fn list(elements: &dyn Array) -> Cell {
    Cell::List((0..elements.len()).map(|idx| cell(elements, idx)).collect())
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
