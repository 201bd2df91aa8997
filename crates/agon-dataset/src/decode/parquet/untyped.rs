//! A row group whose texts are read as bytes.
//!
//! Arrow's reader refuses a whole column for one text that is not UTF-8.
//! Read as bytes, it is one value of one row.

use std::sync::Arc;

use parquet::{
    basic::{LogicalType, Type as PhysicalType},
    errors::ParquetError,
    file::metadata::{ColumnChunkMetaData, FileMetaData, ParquetMetaData, RowGroupMetaData},
    schema::types::{ColumnDescPtr, SchemaDescriptor, Type, TypePtr},
};

/// The directory of a file with one of its row groups alone, whose columns of bytes say of none that it is text.
///
/// # Errors
///
/// When the columns of the row group are not those of the file.
pub(super) fn bytes_only(
    metadata: &ParquetMetaData,
    row_group_idx: usize,
) -> Result<ParquetMetaData, ParquetError> {
    let file = metadata.file_metadata();
    let root = without_texts(file.schema_descr().root_schema())?;
    let schema = Arc::new(SchemaDescriptor::new(root));
    let row_group = metadata.row_group(row_group_idx);
    let columns = row_group
        .columns()
        .iter()
        .zip(schema.columns())
        .map(|(chunk, column)| moved(chunk, column))
        .collect::<Result<_, _>>()?;
    let row_group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_num_rows(row_group.num_rows())
        .set_total_byte_size(row_group.total_byte_size())
        .set_column_metadata(columns)
        .build()?;
    let file = FileMetaData::new(
        file.version(),
        row_group.num_rows(),
        file.created_by().map(ToOwned::to_owned),
        None,
        schema,
        None,
    );
    Ok(ParquetMetaData::new(file, vec![row_group]))
}

/// The same chunk of a column of another type, without what is known of its values.
fn moved(
    chunk: &ColumnChunkMetaData,
    column: &ColumnDescPtr,
) -> Result<ColumnChunkMetaData, ParquetError> {
    ColumnChunkMetaData::builder(Arc::clone(column))
        .set_encodings(chunk.encodings().collect())
        .set_num_values(chunk.num_values())
        .set_compression_codec(chunk.compression_codec())
        .set_total_compressed_size(chunk.compressed_size())
        .set_total_uncompressed_size(chunk.uncompressed_size())
        .set_data_page_offset(chunk.data_page_offset())
        .set_index_page_offset(chunk.index_page_offset())
        .set_dictionary_page_offset(chunk.dictionary_page_offset())
        .build()
}

/// The same type, in which no bytes are text.
fn without_texts(of: &Type) -> Result<TypePtr, ParquetError> {
    let info = of.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if of.is_primitive() {
        let is_decimal = matches!(info.logical_type_ref(), Some(LogicalType::Decimal { .. }))
            || info.converted_type() == parquet::basic::ConvertedType::DECIMAL;
        if of.get_physical_type() != PhysicalType::BYTE_ARRAY || is_decimal {
            return Ok(Arc::new(of.clone()));
        }
        let plain = Type::primitive_type_builder(of.name(), PhysicalType::BYTE_ARRAY)
            .with_repetition(info.repetition())
            .with_id(id)
            .build()?;
        return Ok(Arc::new(plain));
    }
    let fields = of
        .get_fields()
        .iter()
        .map(|field| without_texts(field))
        .collect::<Result<_, _>>()?;
    let mut group = Type::group_type_builder(of.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_fields(fields)
        .with_id(id);
    if info.has_repetition() {
        group = group.with_repetition(info.repetition());
    }
    group.build().map(Arc::new)
}
