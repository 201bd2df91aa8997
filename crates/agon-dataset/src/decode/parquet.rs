//! Parquet: only the columns that are needed, page by page, without ever building a row.
//!
//! Text columns are nearly always dictionary-encoded: each entry of a dictionary is given its meaning once, and a row is then a table look-up of a few bits.
//! Pages are taken apart here rather than by Arrow's readers, which would build an array of strings first and panic on some damaged files; what this module does not know (delta encodings) goes through Parquet's own column reader.
//! Nested columns (conversations, images, metadata) are not touched, whatever their nesting.
//!
//! Layout of pages and of the run-length encoding: Apache Parquet format, `Encodings.md` and `README.md`.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::{Buf as _, Bytes};
use parquet::{
    basic::{ConvertedType, Encoding, LogicalType, Type},
    column::{
        page::{Page, PageReader as _},
        reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader},
    },
    data_type::{AsBytes as _, ByteArrayType, DataType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{
        metadata::{ParquetMetaData, ParquetMetaDataReader},
        reader::{ChunkReader, Length},
        serialized_reader::SerializedPageReader,
    },
    schema::types::ColumnDescPtr,
};

use crate::{
    Error, Format,
    columns::Columns,
    count::{Code, Counter, RowPlace},
    decode::{DecodeOptions, Decoded, OnProgress, check, id_hash, is_false},
    fate::Rejections,
};

/// Rows decoded at once: few enough for their codes to stay in the first-level cache.
const BLOCK_ROWS: usize = 2_048;

/// Below so many rows a second thread costs more than it saves.
const THREAD_ROWS_MIN: u64 = 100_000;

/// The top-level columns by which the VisionArena-Battle layout is known.
const VISION_ARENA_COLUMNS: [&str; 5] = [
    "judge",
    "conversation_a",
    "conversation_b",
    "images",
    "conv_metadata",
];

/// Reads a Parquet file of `bytes_total` bytes.
pub(crate) fn read(
    path: &str,
    file: File,
    bytes_total: u64,
    options: DecodeOptions,
    on_progress: &mut OnProgress<'_>,
) -> Result<Decoded, Error> {
    let metadata = guarded(path, || {
        ParquetMetaDataReader::new()
            .parse_and_finish(&file)
            .map_err(|error| damage(&error))
    })?;
    let table = Table::new(path, file, bytes_total, metadata)?;
    let n_row_groups = table.metadata.num_row_groups();
    let n_threads = if options.strict || table.n_rows < THREAD_ROWS_MIN {
        1
    } else {
        options.n_threads_max.min(n_row_groups).max(1)
    };
    let work = Work {
        table: &table,
        options,
        next: AtomicUsize::new(0),
        done: Mutex::new(Vec::new()),
    };
    let counters = std::thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads)
            .map(|_| scope.spawn(|| work.run(&mut |_| {})))
            .collect();
        let mut rows_done = 0;
        let own = work.run(&mut |rows| {
            // The other threads are about as far.
            rows_done = (rows_done + rows * n_threads as u64).min(table.n_rows);
            let share =
                u128::from(bytes_total) * u128::from(rows_done) / u128::from(table.n_rows.max(1));
            on_progress(u64::try_from(share).unwrap_or(bytes_total), rows_done);
        });
        let mut counters = vec![own];
        for other in others {
            // Panics inside are caught where they would arise; a thread that still ends so has no counter.
            counters.extend(other.join());
        }
        counters
    });
    let mut done = work
        .done
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(idx, _)| *idx);
    let mut rejections = Rejections::default();
    let mut n_done = 0;
    for (idx, result) in done {
        // The first row group that failed decides, whichever thread came to it.
        rejections.merge(result?);
        debug_assert_eq!(idx, n_done, "each row group is read once");
        n_done += 1;
    }
    if n_done < n_row_groups {
        return Err(table.malformed(format!(
            "only {n_done} of {n_row_groups} row groups were read"
        )));
    }
    for counter in &counters {
        counter.check()?;
    }
    on_progress(bytes_total, table.n_rows);
    Ok(Decoded {
        format: table.format,
        rows: table.n_rows,
        rejections,
        counters,
    })
}

/// Row groups that threads take one after the other.
struct Work<'a> {
    table: &'a Table,
    options: DecodeOptions,
    next: AtomicUsize,
    done: Mutex<Vec<(usize, Result<Rejections, Error>)>>,
}

impl Work<'_> {
    fn run(&self, on_rows: &mut dyn FnMut(u64)) -> Counter {
        let table = self.table;
        let mut counter = Counter::new(&table.path);
        counter.set_columns(table.column_names.clone());
        loop {
            let idx = self.next.fetch_add(1, Ordering::Relaxed);
            if idx >= table.metadata.num_row_groups() {
                return counter;
            }
            let result = guarded(&table.path, || {
                table.read_row_group(idx, &mut counter, self.options)
            })
            .and_then(|()| check(&counter, self.options))
            .map(|()| counter.take_rejections());
            let failed = result.is_err();
            self.done
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((idx, result));
            if failed {
                // Whoever comes next finds nothing left to do.
                self.next.store(usize::MAX / 2, Ordering::Relaxed);
                return counter;
            }
            on_rows(u64::try_from(table.metadata.row_group(idx).num_rows()).unwrap_or(0));
        }
    }
}

/// An opened file with what is needed of its directory.
struct Table {
    path: String,
    file: Mutex<File>,
    bytes_total: u64,
    metadata: ParquetMetaData,
    format: Format,
    n_rows: u64,
    /// The row number before each row group.
    rows_before: Vec<u64>,
    column_names: [String; 3],
    model_a: Column,
    model_b: Column,
    winner: Column,
    anonymous: Option<Column>,
    id: Option<Column>,
}

/// A column that is read.
#[derive(Clone, Debug)]
struct Column {
    leaf_idx: usize,
    description: ColumnDescPtr,
}

impl Table {
    fn new(
        path: &str,
        file: File,
        bytes_total: u64,
        metadata: ParquetMetaData,
    ) -> Result<Self, Error> {
        let schema = metadata.file_metadata().schema_descr();
        let fields = schema.root_schema().get_fields();
        let names = || fields.iter().map(|field| field.name());
        let columns = Columns::find(path, names())?;
        let column = |field_idx: usize| {
            let leaf_idx = (0..schema.num_columns())
                .find(|&leaf_idx| schema.get_column_root_idx(leaf_idx) == field_idx)?;
            Some(Column {
                leaf_idx,
                description: schema.column(leaf_idx),
            })
        };
        let needed = |field_idx: usize, types: &[Type], expected: &'static str| {
            let field = &fields[field_idx];
            let wrong = |found: String| Error::ColumnType {
                path: path.to_owned(),
                column: field.name().to_owned(),
                found,
                expected,
            };
            let column = column(field_idx)
                .filter(|column| field.is_primitive() && column.description.max_rep_level() == 0)
                .ok_or_else(|| wrong("nested values".to_owned()))?;
            let physical = column.description.physical_type();
            if !types.contains(&physical) {
                return Err(wrong(format!("{physical} values")));
            }
            if types == TEXT && !is_text_or_whole_number(&column.description) {
                return Err(wrong("dates, times or decimal fractions".to_owned()));
            }
            Ok(column)
        };
        const TEXT: &[Type] = &[Type::BYTE_ARRAY, Type::INT32, Type::INT64];
        const TRUTH: &[Type] = &[Type::BOOLEAN, Type::BYTE_ARRAY, Type::INT32, Type::INT64];
        // Data frames make fractions of whole numbers as soon as one is missing.
        const ID: &[Type] = &[
            Type::BYTE_ARRAY,
            Type::INT32,
            Type::INT64,
            Type::FLOAT,
            Type::DOUBLE,
            Type::FIXED_LEN_BYTE_ARRAY,
        ];
        let mut n_rows = 0_u64;
        let mut rows_before = Vec::new();
        for row_group in metadata.row_groups() {
            rows_before.push(n_rows);
            n_rows = u64::try_from(row_group.num_rows())
                .ok()
                .and_then(|rows| n_rows.checked_add(rows))
                .ok_or_else(|| Error::Malformed {
                    path: path.to_owned(),
                    format: "Parquet",
                    detail: "a row group has an impossible number of rows".to_owned(),
                })?;
        }
        let is_vision_arena = VISION_ARENA_COLUMNS
            .iter()
            .all(|&column| names().any(|name| name == column));
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(file),
            bytes_total,
            format: if is_vision_arena {
                Format::VisionArenaBattle
            } else {
                Format::BattlesParquet
            },
            n_rows,
            rows_before,
            column_names: [columns.model_a, columns.model_b, columns.winner]
                .map(|idx| fields[idx].name().to_owned()),
            model_a: needed(columns.model_a, TEXT, "text")?,
            model_b: needed(columns.model_b, TEXT, "text")?,
            winner: needed(columns.winner, TEXT, "text")?,
            anonymous: columns
                .anonymous
                .map(|idx| needed(idx, TRUTH, "true or false"))
                .transpose()?,
            id: columns.id.map(|idx| needed(idx, ID, "text")).transpose()?,
            metadata,
        })
    }

    fn malformed(&self, detail: String) -> Error {
        malformed(&self.path, detail)
    }

    /// The bytes of one column of one row group.
    fn chunk(&self, row_group_idx: usize, leaf_idx: usize) -> Result<ColumnBytes, Damage> {
        let column = self.metadata.row_group(row_group_idx).column(leaf_idx);
        let offsets = [
            Some(column.data_page_offset()),
            column.dictionary_page_offset(),
        ];
        // Parquet's own code takes these numbers for good and panics when they are not.
        if offsets.iter().flatten().any(|&offset| offset < 0) || column.compressed_size() < 0 {
            return Err("a column lies at a negative place".into());
        }
        let (start, length) = column.byte_range();
        if start
            .checked_add(length)
            .is_none_or(|end| end > self.bytes_total)
        {
            return Err("a column lies beyond the end of the file".into());
        }
        let mut bytes = Vec::new();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))
            .and_then(|_| (&mut *file).take(length).read_to_end(&mut bytes))
            .map_err(|error| format!("cannot be read on: {error}"))?;
        Ok(ColumnBytes {
            start,
            bytes: bytes.into(),
        })
    }

    fn stream<T: Copy>(
        &self,
        row_group_idx: usize,
        column: &Column,
    ) -> Result<ColumnStream<T>, Damage> {
        let row_group = self.metadata.row_group(row_group_idx);
        let chunk = row_group.column(column.leaf_idx);
        let n_rows = usize::try_from(row_group.num_rows()).map_err(|_| "too many rows")?;
        let bytes = self.chunk(row_group_idx, column.leaf_idx)?;
        let pages = SerializedPageReader::new(Arc::new(bytes), chunk, n_rows, None)
            .map_err(|error| damage(&error))?;
        let is_plain = chunk.encodings().all(|encoding| {
            #[expect(
                deprecated,
                reason = "old files say `BIT_PACKED` of levels they do not have"
            )]
            let is_plain = matches!(
                encoding,
                Encoding::PLAIN
                    | Encoding::RLE
                    | Encoding::BIT_PACKED
                    | Encoding::PLAIN_DICTIONARY
                    | Encoding::RLE_DICTIONARY
            );
            is_plain
        });
        let physical = column.description.physical_type();
        let source = if is_plain {
            let width = usize::try_from(column.description.type_length()).unwrap_or(0);
            PageSource::Pages(Pages {
                pages,
                physical,
                width,
                is_unsigned: is_unsigned(&column.description),
                is_nullable: column.description.max_def_level() > 0,
                table: Vec::new(),
                page: None,
            })
        } else {
            PageSource::Typed(Typed::new(column, pages)?)
        };
        Ok(ColumnStream { source })
    }

    fn read_row_group(
        &self,
        idx: usize,
        counter: &mut Counter,
        options: DecodeOptions,
    ) -> Result<(), Damage> {
        let n_rows = usize::try_from(self.metadata.row_group(idx).num_rows())
            .map_err(|_| "too many rows")?;
        let mut model_a = self.stream::<Code>(idx, &self.model_a)?;
        let mut model_b = self.stream::<Code>(idx, &self.model_b)?;
        let mut winner = self.stream::<Code>(idx, &self.winner)?;
        let mut anonymous = self
            .anonymous
            .as_ref()
            .map(|column| self.stream::<bool>(idx, column))
            .transpose()?;
        let mut id = self
            .id
            .as_ref()
            .filter(|_| options.ids)
            .map(|column| self.stream::<Option<u64>>(idx, column))
            .transpose()?;
        let mut codes_a = [Code::MISSING; BLOCK_ROWS];
        let mut codes_b = [Code::MISSING; BLOCK_ROWS];
        let mut codes_winner = [Code::MISSING; BLOCK_ROWS];
        let mut is_named = [false; BLOCK_ROWS];
        let mut hashes = [None; BLOCK_ROWS];
        let mut row = self.rows_before[idx];
        let mut n_left = n_rows;
        while n_left > 0 {
            let n = n_left.min(BLOCK_ROWS);
            n_left -= n;
            let (a, b, w) = (&mut codes_a[..n], &mut codes_b[..n], &mut codes_winner[..n]);
            model_a.fill(a, Code::MISSING, &mut |raw| counter.model(raw))?;
            model_b.fill(b, Code::MISSING, &mut |raw| counter.model(raw))?;
            winner.fill(w, Code::MISSING, &mut |raw| counter.winner(raw))?;
            for ((&a, &b), &winner) in a.iter().zip(b.iter()).zip(w.iter()) {
                row += 1;
                counter.row(a, b, winner, || RowPlace { row, line: None });
            }
            if let Some(anonymous) = &mut anonymous {
                anonymous.fill(&mut is_named[..n], false, &mut is_false)?;
                for i in (0..n).filter(|&i| is_named[i]) {
                    if Counter::would_keep(a[i], b[i], w[i]) {
                        counter.add_named(1);
                    }
                }
            }
            if let Some(id) = &mut id {
                let mut hash = |raw: &[u8]| (!raw.is_empty()).then(|| id_hash(raw));
                id.fill(&mut hashes[..n], None, &mut hash)?;
                for i in 0..n {
                    if let Some(hash) = hashes[i]
                        && Counter::would_keep(a[i], b[i], w[i])
                    {
                        counter.add_id(hash);
                    }
                }
            }
            if options.strict && counter.n_rejected() > 0 {
                break;
            }
        }
        Ok(())
    }
}

/// What is wrong with the bytes, in words.
type Damage = std::borrow::Cow<'static, str>;

fn damage(error: &ParquetError) -> Damage {
    let text = error.to_string();
    // The library prefixes its own name, which says nothing to whoever reads the message.
    let text = text.strip_prefix("Parquet error: ").unwrap_or(&text);
    text.to_owned().into()
}

fn malformed(path: &str, detail: String) -> Error {
    Error::Malformed {
        path: path.to_owned(),
        format: "Parquet",
        detail,
    }
}

/// Runs `f`; a panic inside the decoder, on bytes that nobody foresaw, is damage like any other.
fn guarded<T>(path: &str, f: impl FnOnce() -> Result<T, Damage>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(detail)) => Err(malformed(path, detail.into_owned())),
        Err(_) => Err(malformed(path, "the decoder gave up".to_owned())),
    }
}

/// A piece of a file that is in memory, under the offsets of the file.
struct ColumnBytes {
    start: u64,
    bytes: Bytes,
}

impl ColumnBytes {
    fn from(&self, offset: u64) -> Result<Bytes, ParquetError> {
        offset
            .checked_sub(self.start)
            .and_then(|offset| usize::try_from(offset).ok())
            .filter(|&offset| offset <= self.bytes.len())
            .map(|offset| self.bytes.slice(offset..))
            .ok_or_else(|| ParquetError::EOF("a page lies outside of its column".to_owned()))
    }
}

impl Length for ColumnBytes {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for ColumnBytes {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::EOF(
                "a page is longer than its column".to_owned(),
            ));
        }
        Ok(bytes.slice(..length))
    }
}

/// The values of one column of one row group, from first to last.
struct ColumnStream<T> {
    source: PageSource<T>,
}

enum PageSource<T> {
    Pages(Pages<T>),
    Typed(Typed),
}

impl<T: Copy> ColumnStream<T> {
    /// Fills `out` with the meaning of the next values; nulls become `missing`.
    fn fill(
        &mut self,
        out: &mut [T],
        missing: T,
        meaning: &mut dyn FnMut(&[u8]) -> T,
    ) -> Result<(), Damage> {
        match &mut self.source {
            PageSource::Pages(pages) => pages.fill(out, missing, meaning),
            PageSource::Typed(typed) => typed.fill(out, missing, meaning),
        }
    }
}

struct Pages<T> {
    pages: SerializedPageReader<ColumnBytes>,
    physical: Type,
    /// Bytes of a value of fixed length.
    width: usize,
    is_unsigned: bool,
    is_nullable: bool,
    /// The meaning of each dictionary entry.
    table: Vec<T>,
    page: Option<DataPage>,
}

struct DataPage {
    n_left: usize,
    /// 1 for a value and 0 for a null, when there can be nulls.
    levels: Option<Hybrid>,
    values: Values,
}

enum Values {
    Keys(Hybrid),
    Plain(Bytes),
    /// Truth values, one bit each.
    Bits(Hybrid),
}

impl<T: Copy> Pages<T> {
    fn fill(
        &mut self,
        mut out: &mut [T],
        missing: T,
        meaning: &mut dyn FnMut(&[u8]) -> T,
    ) -> Result<(), Damage> {
        while !out.is_empty() {
            let Some(page) = self.page.as_mut().filter(|page| page.n_left > 0) else {
                self.next_page(meaning)?;
                continue;
            };
            let n_max = page.n_left.min(out.len());
            let (is_value, n) = match &mut page.levels {
                None => (true, n_max),
                Some(levels) => {
                    let (level, n) = levels.next_equal(n_max)?;
                    (level > 0, n)
                }
            };
            let (part, rest) = out.split_at_mut(n);
            out = rest;
            page.n_left -= n;
            if !is_value {
                part.fill(missing);
                continue;
            }
            match &mut page.values {
                Values::Keys(keys) => keys.fill(part, &self.table)?,
                Values::Bits(bits) => {
                    let table = [meaning(b"false"), meaning(b"true")];
                    bits.fill(part, &table)?;
                }
                Values::Plain(bytes) => {
                    for value in part {
                        *value = next_plain(
                            bytes,
                            self.physical,
                            self.width,
                            self.is_unsigned,
                            meaning,
                        )?;
                    }
                }
            }
        }
        Ok(())
    }

    fn next_page(&mut self, meaning: &mut dyn FnMut(&[u8]) -> T) -> Result<(), Damage> {
        let page = self
            .pages
            .get_next_page()
            .map_err(|error| damage(&error))?
            .ok_or("a column has fewer values than the row group has rows")?;
        match page {
            Page::DictionaryPage {
                mut buf,
                num_values,
                ..
            } => {
                self.table.clear();
                for _ in 0..num_values {
                    self.table.push(next_plain(
                        &mut buf,
                        self.physical,
                        self.width,
                        self.is_unsigned,
                        meaning,
                    )?);
                }
            }
            Page::DataPage {
                mut buf,
                num_values,
                encoding,
                def_level_encoding,
                ..
            } => {
                let levels = if self.is_nullable {
                    if def_level_encoding != Encoding::RLE {
                        return Err(format!("levels in encoding {def_level_encoding}").into());
                    }
                    let length = buf.try_get_u32_le().map_err(|_| CUT)? as usize;
                    Some(Hybrid::new(take(&mut buf, length)?, 1)?)
                } else {
                    None
                };
                self.begin_page(num_values, levels, encoding, buf)?;
            }
            Page::DataPageV2 {
                mut buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                take(&mut buf, rep_levels_byte_len as usize)?;
                let levels = take(&mut buf, def_levels_byte_len as usize)?;
                let levels = if self.is_nullable {
                    Some(Hybrid::new(levels, 1)?)
                } else {
                    None
                };
                self.begin_page(num_values, levels, encoding, buf)?;
            }
        }
        Ok(())
    }

    fn begin_page(
        &mut self,
        n_values: u32,
        levels: Option<Hybrid>,
        encoding: Encoding,
        mut bytes: Bytes,
    ) -> Result<(), Damage> {
        let values = match encoding {
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
                // A page of nulls only may have no byte at all.
                let bit_width = bytes.try_get_u8().unwrap_or(0);
                Values::Keys(Hybrid::new(bytes, bit_width)?)
            }
            Encoding::PLAIN if self.physical == Type::BOOLEAN => {
                Values::Bits(Hybrid::packed(bytes, 1))
            }
            Encoding::RLE if self.physical == Type::BOOLEAN => {
                let length = bytes.try_get_u32_le().unwrap_or(0) as usize;
                Values::Bits(Hybrid::new(take(&mut bytes, length)?, 1)?)
            }
            Encoding::PLAIN => Values::Plain(bytes),
            other => return Err(format!("values in encoding {other}").into()),
        };
        self.page = Some(DataPage {
            n_left: n_values as usize,
            levels,
            values,
        });
        Ok(())
    }
}

const CUT: &str = "a page ends too early";

fn take(bytes: &mut Bytes, length: usize) -> Result<Bytes, Damage> {
    if length > bytes.len() {
        return Err(CUT.into());
    }
    Ok(bytes.split_to(length))
}

/// Whether the column holds text or whole numbers by its annotations, which physical types leave open.
fn is_text_or_whole_number(description: &ColumnDescPtr) -> bool {
    let is_logical = !matches!(
        description.logical_type_ref(),
        Some(
            LogicalType::Date
                | LogicalType::Time(_)
                | LogicalType::Timestamp(_)
                | LogicalType::Decimal(_)
        )
    );
    let is_converted = !matches!(
        description.converted_type(),
        ConvertedType::DATE
            | ConvertedType::TIME_MILLIS
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS
            | ConvertedType::DECIMAL
    );
    is_logical && is_converted
}

/// Whether the column holds whole numbers without a sign.
fn is_unsigned(description: &ColumnDescPtr) -> bool {
    let is_logical = matches!(
        description.logical_type_ref(),
        Some(LogicalType::Integer(number)) if !number.is_signed
    );
    let is_converted = matches!(
        description.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    );
    is_logical || is_converted
}

/// A whole number of `n_bits` in decimal digits; without a sign, its bits are read anew.
fn digits(value: i64, n_bits: u32, is_unsigned: bool) -> String {
    if is_unsigned {
        let bits = value.cast_unsigned();
        (bits << (64 - n_bits) >> (64 - n_bits)).to_string()
    } else {
        value.to_string()
    }
}

/// The meaning of the next value in plain encoding.
#[inline]
fn next_plain<T>(
    bytes: &mut Bytes,
    physical: Type,
    width: usize,
    is_unsigned: bool,
    meaning: &mut dyn FnMut(&[u8]) -> T,
) -> Result<T, Damage> {
    let length = match physical {
        Type::BYTE_ARRAY => bytes.try_get_u32_le().map_err(|_| CUT)? as usize,
        Type::FLOAT => 4,
        Type::DOUBLE => 8,
        // Values of no length would make a page of any number of them.
        Type::FIXED_LEN_BYTE_ARRAY if width > 0 => width,
        Type::INT32 => {
            let value = bytes.try_get_i32_le().map_err(|_| CUT)?;
            return Ok(meaning(digits(value.into(), 32, is_unsigned).as_bytes()));
        }
        Type::INT64 => {
            let value = bytes.try_get_i64_le().map_err(|_| CUT)?;
            return Ok(meaning(digits(value, 64, is_unsigned).as_bytes()));
        }
        other => return Err(format!("{other} values in plain encoding").into()),
    };
    let value = bytes.get(..length).ok_or(CUT)?;
    let value = meaning(value);
    bytes.advance(length);
    Ok(value)
}

/// Parquet's hybrid of run lengths and packed bits.
struct Hybrid {
    bytes: Bytes,
    bit_width: u8,
    run: Run,
}

#[derive(Clone, Copy, Debug)]
enum Run {
    /// So many times the same value.
    Repeated { value: u32, n_left: usize },
    /// So many packed values, the first at this bit of the bytes.
    Packed { bit: usize, n_left: usize },
}

impl Run {
    const EMPTY: Self = Self::Repeated {
        value: 0,
        n_left: 0,
    };
}

impl Hybrid {
    fn new(bytes: Bytes, bit_width: u8) -> Result<Self, Damage> {
        if bit_width > 32 {
            return Err(format!("{bit_width} bits to a dictionary key").into());
        }
        // Keys of no bits need no bytes: all of them are 0.
        let run = if bit_width == 0 {
            Run::Repeated {
                value: 0,
                n_left: usize::MAX,
            }
        } else {
            Run::EMPTY
        };
        Ok(Self {
            bytes,
            bit_width,
            run,
        })
    }

    /// Packed bits without runs.
    fn packed(bytes: Bytes, bit_width: u8) -> Self {
        let n_left = bytes.len() * 8 / usize::from(bit_width);
        Self {
            bytes,
            bit_width,
            run: Run::Packed { bit: 0, n_left },
        }
    }

    /// Starts the next run when the present one is used up.
    fn refresh(&mut self) -> Result<(), Damage> {
        loop {
            match self.run {
                Run::Repeated { n_left, .. } | Run::Packed { n_left, .. } if n_left > 0 => {
                    return Ok(());
                }
                Run::Packed { bit, .. } => {
                    let length = bit.div_ceil(8).min(self.bytes.len());
                    self.bytes.advance(length);
                }
                Run::Repeated { .. } => {}
            }
            self.run = Run::EMPTY;
            let mut header = 0_u64;
            for shift in (0..35).step_by(7) {
                let byte = self.bytes.try_get_u8().map_err(|_| CUT)?;
                header |= u64::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let n = usize::try_from(header >> 1).map_err(|_| CUT)?;
            if header & 1 == 1 {
                let bits_at_hand = self.bytes.len() * 8;
                // The last group may be cut short behind its last value.
                let n_left = (n * 8).min(bits_at_hand / usize::from(self.bit_width));
                if n_left == 0 && n > 0 {
                    return Err(CUT.into());
                }
                self.run = Run::Packed { bit: 0, n_left };
            } else {
                let mut value = [0; 4];
                let width = usize::from(self.bit_width).div_ceil(8);
                self.bytes
                    .try_copy_to_slice(&mut value[..width])
                    .map_err(|_| CUT)?;
                self.run = Run::Repeated {
                    value: u32::from_le_bytes(value),
                    n_left: n,
                };
            }
        }
    }

    /// The next value and how often it stands there in a row, at least once and at most `n_max` times.
    fn next_equal(&mut self, n_max: usize) -> Result<(u32, usize), Damage> {
        self.refresh()?;
        match &mut self.run {
            Run::Repeated { value, n_left } => {
                let n = n_max.min(*n_left);
                *n_left -= n;
                Ok((*value, n))
            }
            Run::Packed { bit, n_left } => {
                let width = usize::from(self.bit_width);
                let first = unpack(&self.bytes, *bit, width);
                let n_max = n_max.min(*n_left);
                let n = (1..n_max)
                    .find(|i| unpack(&self.bytes, *bit + i * width, width) != first)
                    .unwrap_or(n_max);
                *bit += n * width;
                *n_left -= n;
                Ok((first, n))
            }
        }
    }

    /// Fills `out` with the entries of `table` that the next values point to.
    fn fill<T: Copy>(&mut self, mut out: &mut [T], table: &[T]) -> Result<(), Damage> {
        const OUTSIDE: &str = "a key points outside of its dictionary";
        while !out.is_empty() {
            self.refresh()?;
            match &mut self.run {
                Run::Repeated { value, n_left } => {
                    let n = out.len().min(*n_left);
                    *n_left -= n;
                    let (part, rest) = out.split_at_mut(n);
                    part.fill(*table.get(*value as usize).ok_or(OUTSIDE)?);
                    out = rest;
                }
                Run::Packed { bit, n_left } => {
                    let n = out.len().min(*n_left);
                    let (part, rest) = out.split_at_mut(n);
                    let width = usize::from(self.bit_width);
                    for (i, value) in part.iter_mut().enumerate() {
                        let key = unpack(&self.bytes, *bit + i * width, width);
                        *value = *table.get(key as usize).ok_or(OUTSIDE)?;
                    }
                    *bit += n * width;
                    *n_left -= n;
                    out = rest;
                }
            }
        }
        Ok(())
    }
}

/// The value of `width` bits, at most 32, that starts at `bit`. Bits behind the end are 0.
#[inline]
fn unpack(bytes: &[u8], bit: usize, width: usize) -> u32 {
    let start = bit / 8;
    let word = match bytes.get(start..start + 8) {
        Some(eight) => {
            let mut word = [0; 8];
            word.copy_from_slice(eight);
            u64::from_le_bytes(word)
        }
        None => {
            let rest = bytes.get(start..).unwrap_or_default();
            let mut word = [0; 8];
            word[..rest.len().min(8)].copy_from_slice(&rest[..rest.len().min(8)]);
            u64::from_le_bytes(word)
        }
    };
    let mask = (1_u64 << width) - 1;
    u32::try_from((word >> (bit % 8)) & mask).unwrap_or(0)
}

/// Parquet's own column reader, for encodings that are seldom seen; with whole numbers, whether they have no sign.
enum Typed {
    Text(ColumnReaderImpl<ByteArrayType>),
    Int32(ColumnReaderImpl<Int32Type>, bool),
    Int64(ColumnReaderImpl<Int64Type>, bool),
}

impl Typed {
    fn new(column: &Column, pages: SerializedPageReader<ColumnBytes>) -> Result<Self, Damage> {
        let description = Arc::clone(&column.description);
        let physical = description.physical_type();
        let is_unsigned = is_unsigned(&description);
        let reader = get_column_reader(description, Box::new(pages));
        match physical {
            Type::BYTE_ARRAY => Ok(Self::Text(get_typed_column_reader(reader))),
            Type::INT32 => Ok(Self::Int32(get_typed_column_reader(reader), is_unsigned)),
            Type::INT64 => Ok(Self::Int64(get_typed_column_reader(reader), is_unsigned)),
            other => Err(format!("{other} values in a rare encoding").into()),
        }
    }

    fn fill<T: Copy>(
        &mut self,
        out: &mut [T],
        missing: T,
        meaning: &mut dyn FnMut(&[u8]) -> T,
    ) -> Result<(), Damage> {
        match self {
            Self::Text(reader) => {
                fill_typed(reader, out, missing, |value| meaning(value.as_bytes()))
            }
            Self::Int32(reader, is_unsigned) => fill_typed(reader, out, missing, |&value| {
                meaning(digits(value.into(), 32, *is_unsigned).as_bytes())
            }),
            Self::Int64(reader, is_unsigned) => fill_typed(reader, out, missing, |&value| {
                meaning(digits(value, 64, *is_unsigned).as_bytes())
            }),
        }
    }
}

fn fill_typed<D: DataType, T: Copy>(
    reader: &mut ColumnReaderImpl<D>,
    mut out: &mut [T],
    missing: T,
    mut meaning: impl FnMut(&D::T) -> T,
) -> Result<(), Damage> {
    let mut levels = Vec::new();
    let mut values = Vec::new();
    while !out.is_empty() {
        levels.clear();
        values.clear();
        let (n, _, _) = reader
            .read_records(out.len(), Some(&mut levels), None, &mut values)
            .map_err(|error| damage(&error))?;
        if n == 0 || n > out.len() {
            return Err("a column has fewer values than the row group has rows".into());
        }
        let (part, rest) = out.split_at_mut(n);
        out = rest;
        let mut values = values.iter();
        for (i, slot) in part.iter_mut().enumerate() {
            let is_null = levels.get(i).is_some_and(|&level| level == 0);
            *slot = if is_null {
                missing
            } else {
                meaning(values.next().ok_or(CUT)?)
            };
        }
    }
    Ok(())
}
