//! Parquet: only the columns that are needed, page by page, without ever building a row.
//!
//! Text columns are nearly always dictionary-encoded: each entry of a dictionary is given its meaning once, and a row is then a table look-up of a few bits.
//! Pages are taken apart here rather than by Arrow's readers, which would build an array of strings first and panic on some damaged files; what this module does not know (delta encodings) goes through Parquet's own column reader.
//! Nested columns (conversations, images, metadata) are not touched, whatever their nesting.
//!
//! Layout of pages and of the run-length encoding: Apache Parquet format, `Encodings.md` and `README.md`.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::{Buf as _, Bytes};
use parquet::{
    basic::{ConvertedType, Encoding, LogicalType, Type},
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
    columns::{Columns, Role, WinnerRule},
    conversations::RowSink,
    count::{Code, Counter, RowPlace},
    decode::{DecodeOptions, Decoded, OnProgress, check, id_hash, is_false, shown_columns},
    fate::Rejections,
    input::access::{Chunks, RandomAccess, read_range},
    layout,
};

mod by_column;
mod cells;
mod chats;
mod conversations;
mod json_cells;
mod numbers;
mod pages;
mod plan;
mod unpacking;
mod untyped;
mod winner;

use pages::{ColumnStream, Raw};
use unpacking::Unpacking;
use winner::WinnerStream;

/// Rows decoded at once: few enough for their codes to stay in the first-level cache.
const BLOCK_ROWS: usize = 2_048;

/// Below so many rows a second thread costs more than it saves.
const THREAD_ROWS_MIN: u64 = 100_000;

/// Reads a Parquet file.
pub(crate) fn read(
    path: &str,
    file: Arc<dyn RandomAccess>,
    options: DecodeOptions<'_>,
    on_progress: &mut OnProgress<'_>,
) -> Result<Decoded, Error> {
    let bytes_total = file.size();
    let metadata = guarded(path, || {
        ParquetMetaDataReader::new()
            .parse_and_finish(&Chunks(&file))
            .map_err(|error| damage(&error))
    })?;
    if let Some(collector) = options.collector
        && let Some(selection) = collector.rows.map(RowSink::selection)
        && selection.chats
    {
        let root = metadata.file_metadata().schema_descr().root_schema();
        if let Some(format) = layout::chats(root.get_fields().iter().map(|field| field.name())) {
            let chats = chats::Chats {
                path,
                file,
                metadata,
                format,
            };
            return chats.read(collector, selection, options, on_progress);
        }
    }
    let table = Table::new(path, file, metadata)?;
    if let Some(collector) = options.collector {
        return by_column::read(&table, collector, options, on_progress);
    }
    table.announce(options);
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
        columns: table.columns(),
        oddities: Vec::new(),
        origins: Vec::new(),
    })
}

/// Row groups that threads take one after the other.
struct Work<'a> {
    table: &'a Table,
    options: DecodeOptions<'a>,
    next: AtomicUsize,
    done: Mutex<Vec<(usize, Result<Rejections, Error>)>>,
}

impl Work<'_> {
    fn run(&self, on_rows: &mut dyn FnMut(u64)) -> Counter {
        let table = self.table;
        let mut counter = table.counter();
        counter.set_aliases(self.options.aliases);
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
    file: Arc<dyn RandomAccess>,
    unpacking: Arc<Unpacking>,
    metadata: ParquetMetaData,
    format: Format,
    n_rows: u64,
    /// The row number before each row group.
    rows_before: Vec<u64>,
    column_names: [String; 3],
    model_a: Column,
    model_b: Column,
    winner: WinnerRule<Column>,
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
        file: Arc<dyn RandomAccess>,
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
        let has_parts = (0..schema.num_columns()).any(|leaf_idx| {
            let column = schema.column(leaf_idx);
            let parts = column.path().parts();
            // The text of a part, below the content of a message.
            let is_part = parts.last().is_some_and(|name| name == "text")
                && parts.iter().any(|name| name == "content");
            parts.first().is_some_and(|name| name == "conversation_a") && is_part
        });
        let published = layout::recognise(names(), has_parts);
        const FLAG: &[Type] = &[
            Type::BOOLEAN,
            Type::BYTE_ARRAY,
            Type::INT32,
            Type::INT64,
            Type::FLOAT,
            Type::DOUBLE,
        ];
        Ok(Self {
            path: path.to_owned(),
            unpacking: Unpacking::new(file.size()),
            file,
            format: published.unwrap_or(Format::BattlesParquet),
            n_rows,
            rows_before,
            column_names: [columns.model_a, columns.model_b, *columns.winner.first()]
                .map(|idx| fields[idx].name().to_owned()),
            model_a: needed(columns.model_a, TEXT, "text")?,
            model_b: needed(columns.model_b, TEXT, "text")?,
            winner: columns.winner.map(|idx, role| match role {
                Role::WonA | Role::WonB | Role::Tied | Role::Equal => {
                    needed(idx, FLAG, "true or false")
                }
                Role::Score => needed(idx, ID, "a number"),
                _ => needed(idx, TEXT, "text"),
            })?,
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

    /// The names of the columns, as far as they are shown.
    fn columns(&self) -> Vec<String> {
        let root = self.metadata.file_metadata().schema_descr().root_schema();
        shown_columns(root.get_fields().iter().map(|field| field.name()))
    }

    /// A counter of this file's rows.
    fn counter(&self) -> Counter {
        let mut counter = Counter::new(&self.path);
        counter.set_columns(self.column_names.clone());
        counter.set_without_winner(layout::without_winner(Some(self.format)));
        counter
    }

    /// Tells the file which bytes will be read, so that a remote one can fetch them together.
    fn announce(&self, options: DecodeOptions<'_>) {
        self.announce_columns(options, &[]);
    }

    /// The same with further columns.
    fn announce_columns(&self, options: DecodeOptions<'_>, more: &[&Column]) {
        let mut columns = vec![&self.model_a, &self.model_b];
        columns.extend(self.winner.columns());
        columns.extend(&self.anonymous);
        columns.extend(self.id.as_ref().filter(|_| options.ids));
        columns.extend(more);
        let ranges: Vec<_> = (0..self.metadata.num_row_groups())
            .flat_map(|idx| columns.iter().map(move |column| (idx, column.leaf_idx)))
            .filter_map(|(idx, leaf_idx)| self.range(idx, leaf_idx).ok())
            .collect();
        self.file.will_read(&ranges);
    }

    fn bytes_total(&self) -> u64 {
        self.file.size()
    }

    /// Where one column of one row group lies.
    fn range(&self, row_group_idx: usize, leaf_idx: usize) -> Result<Range<u64>, Damage> {
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
        start
            .checked_add(length)
            .filter(|&end| end <= self.file.size())
            .map(|end| start..end)
            .ok_or_else(|| "a column lies beyond the end of the file".into())
    }

    /// The bytes of one column of one row group.
    fn chunk(&self, row_group_idx: usize, leaf_idx: usize) -> Result<ColumnBytes, Damage> {
        let range = self.range(row_group_idx, leaf_idx)?;
        let start = range.start;
        let bytes = read_range(self.file.as_ref(), range)
            .map_err(|error| format!("cannot be read on: {error}"))?;
        Ok(ColumnBytes {
            start,
            bytes,
            unpacking: Arc::clone(&self.unpacking),
        })
    }

    /// The pages of one column of one row group.
    fn pages(
        &self,
        row_group_idx: usize,
        column: &Column,
    ) -> Result<SerializedPageReader<ColumnBytes>, Damage> {
        let row_group = self.metadata.row_group(row_group_idx);
        let chunk = row_group.column(column.leaf_idx);
        let n_rows = usize::try_from(row_group.num_rows()).map_err(|_| "too many rows")?;
        let bytes = self.chunk(row_group_idx, column.leaf_idx)?;
        SerializedPageReader::new(Arc::new(bytes), chunk, n_rows, None)
            .map_err(|error| damage(&error))
    }

    fn stream<T: Copy>(
        &self,
        row_group_idx: usize,
        column: &Column,
    ) -> Result<ColumnStream<T>, Damage> {
        let pages = self.pages(row_group_idx, column)?;
        let row_group = self.metadata.row_group(row_group_idx);
        let chunk = row_group.column(column.leaf_idx);
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
        ColumnStream::new(column, pages, is_plain)
    }

    fn read_row_group(
        &self,
        idx: usize,
        counter: &mut Counter,
        options: DecodeOptions<'_>,
    ) -> Result<(), Damage> {
        let n_rows = usize::try_from(self.metadata.row_group(idx).num_rows())
            .map_err(|_| "too many rows")?;
        let mut model_a = self.stream::<Code>(idx, &self.model_a)?;
        let mut model_b = self.stream::<Code>(idx, &self.model_b)?;
        let mut winner = WinnerStream::new(self, idx)?;
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
            model_a.fill(a, Code::MISSING, &mut |raw| counter.model(&raw.text()))?;
            model_b.fill(b, Code::MISSING, &mut |raw| counter.model(&raw.text()))?;
            winner.fill(counter, a, b, w)?;
            for ((&a, &b), &winner) in a.iter().zip(b.iter()).zip(w.iter()) {
                row += 1;
                counter.row(a, b, winner, || RowPlace { row, line: None });
            }
            if let Some(anonymous) = &mut anonymous {
                anonymous.fill(&mut is_named[..n], false, &mut |raw| is_false(&raw.text()))?;
                for i in (0..n).filter(|&i| is_named[i]) {
                    if Counter::would_keep(a[i], b[i], w[i]) {
                        counter.add_named(1);
                    }
                }
            }
            if let Some(id) = &mut id {
                let mut hash = |raw: Raw<'_>| {
                    let text = raw.text();
                    (!text.is_empty()).then(|| id_hash(&text))
                };
                id.fill(&mut hashes[..n], None, &mut hash)?;
                for i in 0..n {
                    if let Some(hash) = hashes[i]
                        && Counter::would_keep(a[i], b[i], w[i])
                    {
                        counter.add_id(hash);
                    }
                }
            }
            if options.strict && counter.n_faults() > 0 {
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
    unpacking: Arc<Unpacking>,
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
        let bytes = self.from(start)?;
        // Pages are asked for by the place of their headers.
        self.unpacking.add(&bytes)?;
        Ok(bytes.reader())
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
