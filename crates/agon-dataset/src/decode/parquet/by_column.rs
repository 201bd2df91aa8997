//! Rows of a Parquet file by column: leaves are found once, decoded block by block, and summed while they are decoded.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

use super::{
    BLOCK_ROWS, Column, Damage, THREAD_ROWS_MIN, Table,
    cells::{CellStream, RowColumns},
    conversations::ConversationStream,
    guarded,
    json_cells::{Found, JsonStream},
    numbers::NumberStream,
    pages::{ColumnStream, ListStream, Raw},
    plan::{FeatureNumbers, NumberPlan, Plan, SlicePlan, TimeKind},
    winner::WinnerStream,
};
use crate::{
    AnswerStyle, ConversationCounter, Dedup, Error, FeatureOrigin, Place,
    battles::{
        chunk::{Chunk, SliceKind},
        collect::Collector,
        conversation::{Conversation, add_text, content_hash, number},
        intern::{NO_HASH, text_hash},
        time::Time,
    },
    conversations::{RowHead, row as whole_row},
    count::{Code, Counter, Noted, RowPlace},
    decode::{DecodeOptions, Decoded, OnProgress, check, is_false},
    fate::Rejections,
};
use agon_domain::Winner;

/// Rows of a chunk when one thread reads a file alone.
const CHUNK_ROWS: usize = 128 * 1024;
/// Rows of a row group whose features are worth another thread, where there is one to spare.
const SUMMED_ROWS: std::ops::RangeInclusive<usize> = 4_096..=CHUNK_ROWS;

/// Reads a file whose directory is known.
pub(super) fn read(
    table: &Table,
    collector: &Collector<'_>,
    options: DecodeOptions<'_>,
    on_progress: &mut OnProgress<'_>,
) -> Result<Decoded, Error> {
    let plan = Plan::new(table, collector)?;
    let row_columns = collector
        .rows
        .map(|rows| RowColumns::find(&table.path, &table.metadata, rows.selection()))
        .transpose()?;
    let mut columns = plan.columns();
    columns.extend(row_columns.iter().flat_map(|rows| &rows.leaves));
    table.announce_columns(options, &columns);
    let n_row_groups = table.metadata.num_row_groups();
    // Rejected rows are told in order and in little memory.
    let is_sequential = options.strict || collector.rejects.is_some() || collector.rows.is_some();
    let n_threads = if is_sequential || table.n_rows < THREAD_ROWS_MIN {
        1
    } else {
        options.n_threads_max.min(n_row_groups).max(1)
    };
    collector.reserve(table.n_rows);
    let work = Work {
        table,
        plan: &plan,
        row_columns,
        collector,
        options,
        n_threads,
        next: AtomicUsize::new(0),
        n_strong: AtomicU64::new(0),
        n_renamed: AtomicU64::new(0),
        n_rows: AtomicU64::new(0),
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads)
            .map(|_| scope.spawn(|| work.run(&mut |_| {})))
            .collect();
        let mut rows_done = 0;
        let mut done = work.run(&mut |rows| {
            // The other threads are about as far.
            rows_done = (rows_done + rows * n_threads as u64).min(table.n_rows);
            let share = u128::from(table.bytes_total()) * u128::from(rows_done)
                / u128::from(table.n_rows.max(1));
            on_progress(u64::try_from(share).unwrap_or(u64::MAX), rows_done);
        });
        for other in others {
            // Panics inside are caught where they would arise.
            done.extend(other.join().unwrap_or_default());
        }
        done
    });
    if let Some(error) = collector.take_failure() {
        return Err(error);
    }
    done.sort_unstable_by_key(|(idx, _)| *idx);
    if done.len() < n_row_groups && !collector.is_stopped() {
        return Err(table.malformed(format!(
            "only {} of {n_row_groups} row groups were read",
            done.len()
        )));
    }
    let mut rejections = Rejections::default();
    for (_, more) in done {
        rejections.merge(more);
    }
    let n_rows = work.n_rows.into_inner();
    on_progress(table.bytes_total(), n_rows);
    let mut counter = table.counter();
    counter.add_noted(Noted {
        n_strong: work.n_strong.into_inner(),
        n_renamed: work.n_renamed.into_inner(),
    });
    let mut origins = plan.origins;
    if table.n_rows == 0 {
        origins.fill(FeatureOrigin::NoRows);
    }
    Ok(Decoded {
        format: table.format,
        rows: n_rows,
        counters: vec![counter],
        columns: table.columns(),
        oddities: Vec::new(),
        rejections,
        origins,
    })
}

/// Row groups that threads take one after the other.
struct Work<'a> {
    table: &'a Table,
    plan: &'a Plan,
    /// The columns of whole rows, when somebody wants them.
    row_columns: Option<RowColumns>,
    collector: &'a Collector<'a>,
    options: DecodeOptions<'a>,
    n_threads: usize,
    next: AtomicUsize,
    n_strong: AtomicU64,
    n_renamed: AtomicU64,
    /// Rows that were read, of which there are fewer than in the file when no more are wanted.
    n_rows: AtomicU64,
}

/// What one thread works with.
struct Worker {
    counter: Counter,
    positions: Vec<u32>,
    /// The next chunk, when one thread reads alone.
    seq: u64,
    scratch: Box<Scratch>,
}

/// Values of one block.
struct Scratch {
    codes: [[Code; BLOCK_ROWS]; 3],
    sides: [[f64; BLOCK_ROWS]; 2],
    numbers: [f64; BLOCK_ROWS],
    hashes: [u128; BLOCK_ROWS],
    judges: [u128; BLOCK_ROWS],
    times: [Time; BLOCK_ROWS],
    labels: [u32; BLOCK_ROWS],
    bits: [u64; BLOCK_ROWS],
    truths: [bool; BLOCK_ROWS],
}

impl Worker {
    fn new(table: &Table, collector: &Collector<'_>, options: DecodeOptions<'_>) -> Self {
        let mut counter = table.counter();
        counter.set_aliases(options.aliases);
        if collector.rejects.is_some() {
            counter.keep_rejected_rows();
        }
        Self {
            counter,
            positions: Vec::new(),
            seq: 0,
            scratch: Box::new(Scratch {
                codes: [[Code::MISSING; BLOCK_ROWS]; 3],
                sides: [[0.0; BLOCK_ROWS]; 2],
                numbers: [0.0; BLOCK_ROWS],
                hashes: [0; BLOCK_ROWS],
                judges: [0; BLOCK_ROWS],
                times: [Time::Missing; BLOCK_ROWS],
                labels: [0; BLOCK_ROWS],
                bits: [0; BLOCK_ROWS],
                truths: [false; BLOCK_ROWS],
            }),
        }
    }
}

impl Work<'_> {
    fn run(&self, on_rows: &mut dyn FnMut(u64)) -> Vec<(usize, Rejections)> {
        let table = self.table;
        let mut worker = Worker::new(table, self.collector, self.options);
        let mut done = Vec::new();
        loop {
            let idx = self.next.fetch_add(1, Ordering::Relaxed);
            if idx >= table.metadata.num_row_groups() {
                return done;
            }
            let result = guarded(&table.path, || self.row_group(idx, &mut worker))
                .and_then(|()| check(&worker.counter, self.options));
            if let Err(error) = result {
                let seq = if self.n_threads == 1 {
                    worker.seq
                } else {
                    idx as u64
                };
                self.collector.fail(seq, error);
            }
            let noted = worker.counter.take_noted();
            self.n_strong.fetch_add(noted.n_strong, Ordering::Relaxed);
            self.n_renamed.fetch_add(noted.n_renamed, Ordering::Relaxed);
            done.push((idx, worker.counter.take_rejections()));
            if self.collector.has_failed() {
                // Whoever comes next finds nothing left to do.
                self.next.store(usize::MAX / 2, Ordering::Relaxed);
                return done;
            }
            on_rows(u64::try_from(table.metadata.row_group(idx).num_rows()).unwrap_or(0));
        }
    }

    /// Reads a row group and hands its rows over.
    fn row_group(&self, idx: usize, worker: &mut Worker) -> Result<(), Damage> {
        let table = self.table;
        let n_rows = usize::try_from(table.metadata.row_group(idx).num_rows())
            .map_err(|_| "too many rows")?;
        let mut streams = Streams::new(self, idx)?;
        let mut chunk = self.collector.chunk();
        let mut row = table.rows_before[idx];
        let mut n_left = n_rows;
        while n_left > 0 {
            let block_rows = streams.cells.as_ref().map(CellStream::block_rows);
            let n = n_left.min(block_rows.unwrap_or(BLOCK_ROWS));
            n_left -= n;
            streams.block(self, n, row, worker, &mut chunk)?;
            streams.whole_rows(self, n, row, worker, &mut chunk)?;
            row += n as u64;
            self.n_rows.fetch_add(n as u64, Ordering::Relaxed);
            if self.options.strict && worker.counter.n_faults() > 0 {
                break;
            }
            let is_full = chunk.len() >= CHUNK_ROWS || chunk.is_full();
            if self.n_threads == 1 && is_full && n_left > 0 {
                let full = std::mem::replace(&mut chunk, self.collector.chunk());
                self.submit(worker.seq, full, worker);
                if self.collector.has_failed() {
                    return Ok(());
                }
            }
        }
        let seq = if self.n_threads == 1 {
            worker.seq
        } else {
            idx as u64
        };
        self.submit(seq, chunk, worker);
        Ok(())
    }

    fn submit(&self, seq: u64, chunk: Chunk, worker: &mut Worker) {
        self.collector
            .submit(seq, chunk, &mut worker.counter, &mut worker.positions);
        worker.seq += 1;
    }
}

/// The columns of one row group while they are read.
struct Streams<'a> {
    models: [ColumnStream<Code>; 2],
    winner: WinnerStream,
    anonymous: Option<ColumnStream<bool>>,
    id: Option<ColumnStream<u128>>,
    features: Vec<FeatureStream>,
    weight: Option<NumberStream>,
    judge: Option<ColumnStream<u128>>,
    time: Option<(ColumnStream<Time>, TimeKind)>,
    slices: Vec<SliceStream>,
    prompt: Option<ColumnStream<u128>>,
    json: JsonStream<'a>,
    conversations: ConversationStream<'a>,
    /// The cells of whole rows, when somebody wants them.
    cells: Option<CellStream>,
}

enum FeatureStream {
    Sides([Vec<NumberStream>; 2]),
    /// The sums of all rows, and how many of them have been taken.
    Summed([Vec<f64>; 2], usize),
    Difference(Box<NumberStream>),
    Json,
    Nowhere,
}

enum SliceStream {
    One(ColumnStream<u32>),
    Flags(Vec<(String, ColumnStream<bool>)>),
    List(ListStream),
    Json,
    Nowhere,
}

/// A number, NaN unless it is finite.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// The kept ones of a block.
fn extend_kept<T: Copy>(out: &mut Vec<T>, block: &[T], kept: Option<&[usize]>) {
    match kept {
        None => out.extend_from_slice(block),
        Some(kept) => out.extend(kept.iter().map(|&i| block[i])),
    }
}

impl<'a> Streams<'a> {
    fn new(work: &Work<'a>, idx: usize) -> Result<Self, Damage> {
        let table = work.table;
        let plan = work.plan;
        let number = |column: &Column| {
            Ok::<_, Damage>(NumberStream::new(column, table.stream(idx, column)?))
        };
        let numbers = |columns: &[Column]| columns.iter().map(number).collect::<Result<_, _>>();
        let features = || {
            let features = plan.features.iter().map(|feature| {
                Ok(match &feature.numbers {
                    FeatureNumbers::Sides([a, b]) => {
                        FeatureStream::Sides([numbers(a)?, numbers(b)?])
                    }
                    FeatureNumbers::Difference(column) => {
                        FeatureStream::Difference(Box::new(number(column)?))
                    }
                    FeatureNumbers::Json => FeatureStream::Json,
                    FeatureNumbers::Nowhere => FeatureStream::Nowhere,
                })
            });
            features.collect::<Result<Vec<_>, Damage>>()
        };
        let slices = plan
            .slices
            .iter()
            .map(|slice| {
                Ok(match slice {
                    SlicePlan::One(column) => SliceStream::One(table.stream(idx, column)?),
                    SlicePlan::Flags(flags) => SliceStream::Flags(
                        flags
                            .iter()
                            .map(|(label, column)| Ok((label.clone(), table.stream(idx, column)?)))
                            .collect::<Result<Vec<_>, Damage>>()?,
                    ),
                    SlicePlan::List(column) => {
                        SliceStream::List(ListStream::new(column, table.pages(idx, column)?))
                    }
                    SlicePlan::Json => SliceStream::Json,
                    SlicePlan::Nowhere => SliceStream::Nowhere,
                })
            })
            .collect::<Result<Vec<_>, Damage>>()?;
        let optional =
            |column: Option<&Column>| column.map(|column| table.stream(idx, column)).transpose();
        let weight = match &plan.weight {
            Some(NumberPlan::Column(column)) => Some(number(column)?),
            _ => None,
        };
        let anonymous = table.anonymous.as_ref();
        let n_rows = usize::try_from(table.metadata.row_group(idx).num_rows()).unwrap_or(0);
        let features = if work.options.n_threads_max > work.n_threads
            && work.n_threads == 1
            && table.metadata.num_row_groups() == 1
            && SUMMED_ROWS.contains(&n_rows)
        {
            match summed(features()?, n_rows)? {
                Some(summed) => summed,
                // The place of what is no number is found row by row.
                None => features()?,
            }
        } else {
            features()?
        };
        Ok(Self {
            models: [
                table.stream(idx, &table.model_a)?,
                table.stream(idx, &table.model_b)?,
            ],
            winner: WinnerStream::new(table, idx)?,
            anonymous: anonymous
                .map(|column| table.stream(idx, column))
                .transpose()?,
            id: optional(table.id.as_ref().filter(|_| work.collector.ids))?,
            features,
            weight,
            judge: optional(plan.judge.as_ref())?,
            time: plan
                .time
                .as_ref()
                .map(|(column, kind)| Ok::<_, Damage>((table.stream(idx, column)?, *kind)))
                .transpose()?,
            slices,
            prompt: optional(plan.prompt.as_ref())?,
            json: JsonStream::new(table, &plan.json, work.collector, idx)?,
            conversations: ConversationStream::new(table, plan.conversations.as_ref(), idx),
            cells: (work.row_columns.as_ref())
                .map(|columns| {
                    CellStream::new(&table.metadata, &table.file, &table.unpacking, columns, idx)
                })
                .transpose()?,
        })
    }

    /// Puts the kept ones of the block that was read last together as whole rows.
    fn whole_rows(
        &mut self,
        work: &Work<'_>,
        n: usize,
        row: u64,
        worker: &Worker,
        chunk: &mut Chunk,
    ) -> Result<(), Damage> {
        let (Some(cells), Some(rows)) = (&mut self.cells, work.collector.rows) else {
            return Ok(());
        };
        let block = cells.block(n)?;
        let source = work.collector.source_idx();
        let [a, b, w] = &worker.scratch.codes;
        for i in (0..n).filter(|&i| Counter::would_keep(a[i], b[i], w[i])) {
            let models = worker.counter.models();
            let head = RowHead {
                place: Place {
                    source: work.table.path.clone(),
                    row: row + i as u64 + 1,
                    line: None,
                    column: None,
                    value: None,
                },
                source,
                models: [a[i], b[i]]
                    .map(|code| models[code.position() as usize].clone())
                    .into(),
                winner: Some(winner_of(w[i])),
                folder: work.options.folder,
            };
            chunk.push_row(whole_row(head, &block.row(i), rows));
        }
        Ok(())
    }

    /// Reads the next `n` rows, before which there are `row`.
    fn block(
        &mut self,
        work: &Work<'_>,
        n: usize,
        row: u64,
        worker: &mut Worker,
        chunk: &mut Chunk,
    ) -> Result<(), Damage> {
        let wanted = work.collector.wanted;
        let selection = wanted.selection;
        let Worker {
            counter, scratch, ..
        } = worker;
        let scratch = &mut **scratch;
        let [a, b, w] = &mut scratch.codes;
        let (a, b, w) = (&mut a[..n], &mut b[..n], &mut w[..n]);
        let [model_a, model_b] = &mut self.models;
        model_a.fill(a, Code::MISSING, &mut |raw: Raw<'_>| {
            counter.model(&raw.text())
        })?;
        model_b.fill(b, Code::MISSING, &mut |raw: Raw<'_>| {
            counter.model(&raw.text())
        })?;
        self.winner.fill(counter, a, b, w)?;
        let mut kept_rows = Vec::new();
        let n_kept = (0..n)
            .filter(|&i| Counter::would_keep(a[i], b[i], w[i]))
            .count();
        if n_kept < n {
            kept_rows.reserve(n_kept);
            for i in 0..n {
                if Counter::would_keep(a[i], b[i], w[i]) {
                    kept_rows.push(i);
                } else {
                    let row = row + i as u64 + 1;
                    counter.reject(a[i], b[i], w[i], RowPlace { row, line: None });
                }
            }
        }
        let kept = (n_kept < n).then_some(kept_rows.as_slice());
        let each = |f: &mut dyn FnMut(usize)| match kept {
            None => (0..n).for_each(f),
            Some(kept) => kept.iter().copied().for_each(f),
        };
        each(&mut |i| counter.note(a[i], b[i], w[i], 1));
        let before = chunk.len();
        match kept {
            None => {
                chunk.model_a.extend(a.iter().map(|code| code.position()));
                chunk.model_b.extend(b.iter().map(|code| code.position()));
                chunk.winner.extend(w.iter().map(|&code| winner_of(code)));
            }
            Some(kept) => {
                chunk.model_a.extend(kept.iter().map(|&i| a[i].position()));
                chunk.model_b.extend(kept.iter().map(|&i| b[i].position()));
                chunk.winner.extend(kept.iter().map(|&i| winner_of(w[i])));
            }
        }
        if wanted.dedup.is_some() {
            each(&mut |i| {
                let row = row + i as u64 + 1;
                chunk.places.push(RowPlace { row, line: None });
            });
        }
        if let Some(anonymous) = &mut self.anonymous {
            let truths = &mut scratch.truths[..n];
            anonymous.fill(truths, false, &mut |raw: Raw<'_>| is_false(&raw.text()))?;
            extend_kept(&mut chunk.is_named, truths, kept);
        }
        let mut text_hash_of = |raw: Raw<'_>| text_hash(&raw.text());
        if let Some(id) = &mut self.id {
            let hashes = &mut scratch.hashes[..n];
            id.fill(hashes, NO_HASH, &mut text_hash_of)?;
            extend_kept(&mut chunk.ids, hashes, kept);
        } else if wanted.dedup == Some(Dedup::Id) {
            chunk.ids.extend(std::iter::repeat_n(NO_HASH, n_kept));
        }
        self.json.block(n)?;
        let place = |i: usize| RowPlace {
            row: row + i as u64 + 1,
            line: None,
        };
        let texts = RefCell::new(Vec::new());
        let tell = |number: Option<usize>| {
            let (texts, work) = (&texts, work);
            move |i: usize, column: &str, value: &str| {
                let place = Place {
                    source: work.table.path.clone(),
                    row: row + i as u64 + 1,
                    line: None,
                    column: Some(column.to_owned()),
                    value: Some(value.to_owned()),
                };
                texts
                    .borrow_mut()
                    .extend(number.map(|number| (number, place)));
            }
        };
        for (idx, request) in selection.features.iter().enumerate() {
            let mut tell = tell(wanted.features[idx].numbers().next());
            match &mut self.features[idx] {
                FeatureStream::Sides(streams) => {
                    for (streams, sums) in streams.iter_mut().zip(&mut scratch.sides) {
                        let sums = &mut sums[..n];
                        sum(streams, sums, &mut scratch.numbers[..n], kept, &mut tell)?;
                    }
                    let [a, b] = &scratch.sides;
                    let mut out = std::mem::take(&mut chunk.features[idx]);
                    each(&mut |i| {
                        let place = place(i);
                        out.push(chunk.difference((idx, request), [a[i], b[i]], out.len(), place));
                    });
                    chunk.features[idx] = out;
                }
                FeatureStream::Summed([a, b], n_taken) => {
                    let (a, b) = (&a[*n_taken..], &b[*n_taken..]);
                    let mut out = std::mem::take(&mut chunk.features[idx]);
                    each(&mut |i| {
                        let place = place(i);
                        out.push(chunk.difference((idx, request), [a[i], b[i]], out.len(), place));
                    });
                    chunk.features[idx] = out;
                    *n_taken += n;
                }
                FeatureStream::Difference(stream) => {
                    let numbers = &mut scratch.numbers[..n];
                    stream.fill(numbers, kept, &mut tell)?;
                    extend_kept(&mut chunk.features[idx], numbers, kept);
                }
                FeatureStream::Json => {
                    let json = &self.json;
                    let places = &wanted.features[idx];
                    let mut out = std::mem::take(&mut chunk.features[idx]);
                    each(&mut |i| {
                        out.push(match json.feature(i, places) {
                            Found::Sides(numbers) => {
                                let place = place(i);
                                chunk.difference((idx, request), numbers, out.len(), place)
                            }
                            Found::Difference(value) => finite(value),
                        });
                    });
                    chunk.features[idx] = out;
                }
                FeatureStream::Nowhere => {
                    chunk.features[idx].extend(std::iter::repeat_n(f64::NAN, n_kept));
                }
            }
        }
        if let Some(weight) = &mut self.weight {
            let numbers = &mut scratch.numbers[..n];
            weight.fill(numbers, kept, &mut tell(wanted.weight))?;
            extend_kept(&mut chunk.weights, numbers, kept);
        } else if let Some(number) = wanted.weight {
            let json = &self.json;
            each(&mut |i| {
                chunk
                    .weights
                    .push(json.number(i, number).unwrap_or(f64::NAN));
            });
        }
        // Of several columns the first row counts.
        let mut texts = texts.into_inner();
        texts.sort_by_key(|(_, place)| place.row);
        chunk.texts.append(&mut texts);
        let judges = &mut scratch.judges[..n];
        match &mut self.judge {
            Some(judge) => judge.fill(judges, NO_HASH, &mut text_hash_of)?,
            None => judges.fill(NO_HASH),
        }
        if selection.judge {
            extend_kept(&mut chunk.judge_hashes, judges, kept);
        }
        let times = &mut scratch.times[..n];
        match &mut self.time {
            Some((time, kind)) => {
                let kind = *kind;
                time.fill(times, Time::Missing, &mut |raw: Raw<'_>| time_of(raw, kind))?;
            }
            None => times.fill(Time::Missing),
        }
        if selection.time {
            each(&mut |i| chunk.times.push(times[i], row + i as u64 + 1));
        }
        for (idx, stream) in self.slices.iter_mut().enumerate() {
            let slice = &mut chunk.slices[idx];
            match stream {
                SliceStream::One(stream) => {
                    let labels = &mut scratch.labels[..n];
                    stream.fill(labels, u32::MAX, &mut |raw: Raw<'_>| {
                        slice.label(&raw.text())
                    })?;
                    slice.be(SliceKind::One);
                    extend_kept(&mut slice.codes, labels, kept);
                }
                SliceStream::Flags(streams) => {
                    slice.be(SliceKind::Many);
                    let bits = &mut scratch.bits[..n];
                    bits.fill(0);
                    let truths = &mut scratch.truths[..n];
                    for (label, stream) in streams {
                        let bit = slice.flag(label.as_bytes());
                        stream.fill(truths, false, &mut |raw: Raw<'_>| {
                            matches!(raw, Raw::Truth(true))
                        })?;
                        for (bits, &truth) in bits.iter_mut().zip(truths.iter()) {
                            *bits |= if truth { bit } else { 0 };
                        }
                    }
                    extend_kept(&mut slice.bits, bits, kept);
                }
                SliceStream::List(stream) => {
                    slice.be(SliceKind::Many);
                    let bits = &mut scratch.bits[..n];
                    bits.fill(0);
                    let is_kept = |i: usize| Counter::would_keep(a[i], b[i], w[i]);
                    stream.each(n, |i, raw| {
                        if is_kept(i) {
                            bits[i] |= slice.flag(raw);
                        }
                    })?;
                    extend_kept(&mut slice.bits, bits, kept);
                }
                SliceStream::Nowhere => each(&mut |_| slice.push_code(u32::MAX)),
                SliceStream::Json => {
                    let json = &self.json;
                    each(&mut |i| json.push_slice(i, idx, slice));
                }
            }
        }
        let features = &work.plan.features;
        let needs_conversations = wanted.dedup == Some(Dedup::Content)
            || features
                .iter()
                .zip(&chunk.features)
                .any(|(feature, values)| {
                    feature.counted.is_some() && values[before..].iter().any(|value| value.is_nan())
                });
        let conversations = self.conversations.block(n, needs_conversations)?;
        if let Some(sides) = &conversations
            && let Some(counter) = selection.conversation_features
        {
            let mut position = before;
            each(&mut |i| {
                let mut styles = None;
                for (idx, feature) in features.iter().enumerate() {
                    let is_missing = chunk.features[idx][position].is_nan();
                    let Some(counted) = feature.counted.filter(|_| is_missing) else {
                        continue;
                    };
                    let [a, b] = *styles.get_or_insert_with(|| {
                        sides.each_ref().map(|side| style(&side[i], counter))
                    });
                    if let (Some(a), Some(b)) = (a, b) {
                        let request = (idx, &selection.features[idx]);
                        let numbers = [number(&a, counted), number(&b, counted)];
                        let value = chunk.difference(request, numbers, position, place(i));
                        chunk.features[idx][position] = value;
                        chunk.n_from_conversations[idx] += u64::from(value.is_finite());
                    }
                }
                position += 1;
            });
        }
        if wanted.dedup == Some(Dedup::Content) {
            let prompts = &mut scratch.hashes[..n];
            match &mut self.prompt {
                Some(prompt) => prompt.fill(prompts, NO_HASH, &mut text_hash_of)?,
                None => prompts.fill(NO_HASH),
            }
            let models = counter.models();
            let mut content = Vec::new();
            each(&mut |i| {
                content.clear();
                add_text(&mut content, models[a[i].position() as usize].as_bytes());
                add_text(&mut content, models[b[i].position() as usize].as_bytes());
                content.push(w[i].position() as u8);
                content.extend_from_slice(&judges[i].to_le_bytes());
                content.extend_from_slice(&times[i].seconds().to_bits().to_le_bytes());
                for conversation in conversations.iter().flatten().map(|side| &side[i]) {
                    if !conversation.messages.is_empty() {
                        conversation.add_to_content(&mut content);
                    }
                }
                content.extend_from_slice(&prompts[i].to_le_bytes());
                chunk.contents.push(content_hash(&content));
            });
        }
        Ok(())
    }
}

fn winner_of(code: Code) -> Winner {
    Winner::ALL[code.position() as usize % Winner::ALL.len()]
}

/// The style of the answers of a side, if there are any.
fn style(conversation: &Conversation, counter: &ConversationCounter) -> Option<AnswerStyle> {
    let answers = conversation.answers();
    (!answers.is_empty()).then(|| counter(&answers))
}

/// Sums columns row by row.
fn sum(
    streams: &mut [NumberStream],
    sums: &mut [f64],
    numbers: &mut [f64],
    kept: Option<&[usize]>,
    tell: &mut dyn FnMut(usize, &str, &str),
) -> Result<(), Damage> {
    let mut is_first = true;
    for stream in streams {
        if is_first {
            stream.fill(sums, kept, tell)?;
            is_first = false;
        } else {
            stream.fill(numbers, kept, tell)?;
            for (sum, number) in sums.iter_mut().zip(numbers.iter()) {
                *sum += number;
            }
        }
    }
    Ok(())
}

/// Sums what features are made of for all rows at once: side A on one thread and side B on another.
///
/// A small file is one row group, which the threads would otherwise not share.
/// Nothing where some value is no number.
fn summed(
    features: Vec<FeatureStream>,
    n_rows: usize,
) -> Result<Option<Vec<FeatureStream>>, Damage> {
    let mut sides = [Vec::new(), Vec::new()];
    let mut others = Vec::with_capacity(features.len());
    for feature in features {
        if let FeatureStream::Sides([a, b]) = feature {
            sides[0].push(a);
            sides[1].push(b);
            others.push(None);
        } else {
            others.push(Some(feature));
        }
    }
    let sum_all = |features: Vec<Vec<NumberStream>>| -> Result<Option<Vec<Vec<f64>>>, Damage> {
        let mut numbers = [0.0; BLOCK_ROWS];
        let mut all = Vec::with_capacity(features.len());
        for mut streams in features {
            let mut sums = vec![0.0; n_rows];
            for sums in sums.chunks_mut(BLOCK_ROWS) {
                let numbers = &mut numbers[..sums.len()];
                sum(&mut streams, sums, numbers, None, &mut |_, _, _| {})?;
                if streams.iter().any(NumberStream::has_texts) {
                    return Ok(None);
                }
            }
            all.push(sums);
        }
        Ok(Some(all))
    };
    let [of_a, of_b] = sides;
    let (of_a, of_b) = std::thread::scope(|scope| {
        let other = scope.spawn(|| sum_all(of_b));
        let own = sum_all(of_a);
        // As `guarded` has it for this thread.
        let other = other.join();
        (
            own,
            other.unwrap_or_else(|_| Err("the decoder gave up".into())),
        )
    });
    let (Some(of_a), Some(of_b)) = (of_a?, of_b?) else {
        return Ok(None);
    };
    let mut sums = of_a.into_iter().zip(of_b);
    let features = others.into_iter().map(|other| {
        other.unwrap_or_else(|| {
            let (a, b) = sums.next().unwrap_or_default();
            FeatureStream::Summed([a, b], 0)
        })
    });
    Ok(Some(features.collect()))
}

/// The point in time that a value of a column of this kind is.
fn time_of(raw: Raw<'_>, kind: TimeKind) -> Time {
    match kind {
        TimeKind::Bare => match raw {
            Raw::Bytes(bytes) => std::str::from_utf8(bytes).map_or(Time::Missing, Time::of_text),
            raw => Time::of_number(raw.number()),
        },
        TimeKind::In(unit) => Time::Exact(match raw {
            // Nanoseconds of today have more digits than a float: whole seconds go by themselves.
            Raw::Whole(value) => {
                let per_second = unit.per_second() as i64;
                let rest = value.rem_euclid(per_second) as f64;
                value.div_euclid(per_second) as f64 + rest / unit.per_second()
            }
            raw => raw.number() / unit.per_second(),
        }),
        TimeKind::Days => Time::Exact(raw.number() * 86_400.0),
        TimeKind::Int96 => {
            const JULIAN_DAY_1970: f64 = 2_440_588.0;
            let Raw::Bytes(bytes) = raw else {
                return Time::Missing;
            };
            let (Some(&nanoseconds), Some(&day)) =
                (bytes.first_chunk::<8>(), bytes.last_chunk::<4>())
            else {
                return Time::Missing;
            };
            let nanoseconds = i64::from_le_bytes(nanoseconds) as f64;
            let day = f64::from(i32::from_le_bytes(day));
            Time::Exact((day - JULIAN_DAY_1970) * 86_400.0 + nanoseconds / 1e9)
        }
    }
}
