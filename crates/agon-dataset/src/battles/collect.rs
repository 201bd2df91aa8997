//! Chunks of all sources, appended in the order of reading, whichever thread filled them first.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use agon_domain::{Tally, Winner};
use foldhash::fast::RandomState;

use super::{
    Battles, FeatureColumn, FeatureOrigin, Judges, Labels, REFUSED_MAX, RefusedNumbers,
    SliceColumn, SliceValues,
    chunk::{Chunk, ChunkSlice, FLAGS_MAX, LABELS_MAX, SliceKind},
    intern::{Interner, renumber},
    time::Unit,
    wanted::Wanted,
};
use crate::{
    Dedup, Error, Place, Reason, RejectedRow, conversations::RowSink, count::Counter,
    fate::Rejections, repeated::Hashes,
};

/// Chunks that may wait for an earlier one, for each thread.
const WAITING_MAX: u64 = 3;

/// What becomes of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// They are kept by column.
    Battles,
    /// They are only counted.
    Tally,
}

/// Collects the chunks of all sources.
pub(crate) struct Collector<'a> {
    pub(crate) wanted: &'a Wanted<'a>,
    pub(crate) strict: bool,
    /// Whether ids are to be noted, for whatever reason.
    pub(crate) ids: bool,
    pub(crate) rejects: Option<&'a (dyn Fn(&RejectedRow) + Sync)>,
    /// What takes the rows as a whole, when somebody wants them.
    pub(crate) rows: Option<&'a dyn RowSink>,
    product: Product,
    judges: Interner,
    seen: Interner,
    state: Mutex<State>,
    is_next: Condvar,
}

impl fmt::Debug for Collector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector")
            .field("wanted", self.wanted)
            .field("product", &self.product)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    positions: HashMap<String, u32, RandomState>,
    battles: Battles,
    slices: Vec<SliceOutput>,
    pairs: HashMap<(u32, u32), [u64; 4], RandomState>,
    n_rows: usize,
    id_hashes: Hashes,
    source: SourceState,
    free: Vec<Chunk>,
}

/// What is known of the source that is being read.
#[derive(Default)]
struct SourceState {
    path: String,
    /// The next chunk to be appended.
    next: u64,
    waiting: BTreeMap<u64, Chunk>,
    /// The first chunk that failed.
    failure: Option<(u64, Error)>,
    unit: Option<(Unit, u64)>,
    has_times: bool,
    kept: u64,
    n_named: u64,
    repeated: Rejections,
}

/// What one source adds to the sums of a report.
pub(crate) struct SourceOutcome {
    pub(crate) kept: u64,
    pub(crate) n_named: u64,
    pub(crate) repeated: Rejections,
    /// What its times are given in, if they were read and there are any.
    pub(crate) time_unit: Option<&'static str>,
}

#[derive(Default)]
struct SliceOutput {
    kind: SliceKind,
    labels: Vec<String>,
    positions: HashMap<String, u32, RandomState>,
    codes: Vec<u32>,
    bits: Vec<u64>,
    /// Values of different kinds are not counted together.
    is_given_up: bool,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        wanted: &'a Wanted<'a>,
        product: Product,
        options: &crate::ReadOptions<'a>,
    ) -> Self {
        let selection = wanted.selection;
        let battles = Battles {
            features: selection
                .features
                .iter()
                .map(|request| FeatureColumn {
                    name: request.name.clone(),
                    values: Vec::new(),
                    n_missing: 0,
                    n_from_conversations: 0,
                    origins: Vec::new(),
                    n_refused: 0,
                    refused: Vec::new(),
                    first_text: None,
                })
                .collect(),
            judges: selection.judge.then(Judges::default),
            times: selection.time.then(Vec::new),
            weights: selection.weight.is_some().then(Vec::new),
            ..Battles::default()
        };
        Self {
            wanted,
            strict: options.strict,
            ids: options.repeated_ids || options.dedup == Some(Dedup::Id),
            rejects: options.rejects,
            rows: None,
            product,
            judges: Interner::new(),
            seen: Interner::new(),
            state: Mutex::new(State {
                slices: selection
                    .slices
                    .iter()
                    .map(|_| SliceOutput::default())
                    .collect(),
                battles,
                ..State::default()
            }),
            is_next: Condvar::new(),
        }
    }

    /// The same, and the rows are also handed over as a whole.
    pub(crate) fn with_rows(self, rows: &'a dyn RowSink) -> Self {
        Self {
            rows: Some(rows),
            ..self
        }
    }

    /// Whether whoever takes whole rows wants no more of them.
    pub(crate) fn is_stopped(&self) -> bool {
        self.rows.is_some_and(RowSink::is_stopped)
    }

    /// The position of the present source among those that are read.
    pub(crate) fn source_idx(&self) -> usize {
        self.lock().battles.sources.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a source of about so many rows.
    pub(crate) fn begin(&self, path: &str) {
        self.lock().source = SourceState {
            path: path.to_owned(),
            ..SourceState::default()
        };
    }

    /// Makes room for `n_rows` more rows. It is only address space until it is used, and a number that cannot be true is passed over.
    pub(crate) fn reserve(&self, n_rows: u64) {
        if self.product == Product::Tally {
            return;
        }
        let Ok(n) = usize::try_from(n_rows) else {
            return;
        };
        let battles = &mut self.lock().battles;
        // Where there is no room, the columns grow as they fill, and reading fails where it has to.
        let _ = battles.model_a.try_reserve(n);
        let _ = battles.model_b.try_reserve(n);
        let _ = battles.winner.try_reserve(n);
        for feature in &mut battles.features {
            let _ = feature.values.try_reserve(n);
        }
        if let Some(judges) = &mut battles.judges {
            let _ = judges.codes.try_reserve(n);
        }
        for column in [&mut battles.times, &mut battles.weights]
            .into_iter()
            .flatten()
        {
            let _ = column.try_reserve(n);
        }
    }

    /// An empty chunk.
    pub(crate) fn chunk(&self) -> Chunk {
        let free = self.lock().free.pop();
        free.unwrap_or_else(|| Chunk::new(self.wanted))
    }

    /// Notes that chunk `seq` cannot be had. The first one that fails decides what [`Self::end`] gives.
    pub(crate) fn fail(&self, seq: u64, error: Error) {
        let mut state = self.lock();
        state.fail(seq, error);
        self.is_next.notify_all();
    }

    /// Whether a chunk has failed, so that nothing more is needed.
    pub(crate) fn has_failed(&self) -> bool {
        self.is_stopped() || self.lock().source.failure.is_some()
    }

    /// Takes over chunk `seq` of the present source, whose models are numbered by `counter`; `positions` remembers what they are here.
    ///
    /// Waits while too many earlier chunks are missing.
    pub(crate) fn submit(
        &self,
        seq: u64,
        mut chunk: Chunk,
        counter: &mut Counter,
        positions: &mut Vec<u32>,
    ) {
        if positions.len() < counter.models().len() {
            let mut state = self.lock();
            let new = &counter.models()[positions.len()..];
            // In the order of names, so that as a rule nothing has to be numbered anew in the end.
            let mut sorted: Vec<&String> = new.iter().collect();
            sorted.sort_unstable();
            for name in sorted {
                state.model(name);
            }
            positions.extend(new.iter().map(|name| state.model(name)));
        }
        for model in chunk.model_a.iter_mut().chain(&mut chunk.model_b) {
            *model = positions[*model as usize];
        }
        chunk.rejected = counter.take_rejected_rows();
        let mut judges = Vec::new();
        if self.wanted.selection.judge && self.product == Product::Battles {
            judges = self.judges.numbers(&chunk.judge_hashes);
        }
        let n_missing = missing(&chunk);
        let mut state = self.lock();
        while state.source.failure.is_none() && seq > state.source.next + WAITING_MAX {
            state = self
                .is_next
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.source.failure.is_some() && seq > state.source.next {
            return;
        }
        chunk.judges = judges;
        chunk.n_missing = n_missing;
        state.source.waiting.insert(seq, chunk);
        loop {
            let next = state.source.next;
            let Some(chunk) = state.source.waiting.remove(&next) else {
                break;
            };
            if let Err(error) = self.append(&mut state, chunk) {
                state.fail(next, error);
                break;
            }
            state.source.next += 1;
        }
        self.is_next.notify_all();
    }

    /// Appends a chunk whose turn it is.
    fn append(&self, state: &mut State, mut chunk: Chunk) -> Result<(), Error> {
        self.check_unit(state, &chunk)?;
        if let Some(dedup) = self.wanted.dedup {
            self.drop_repeated(state, dedup, &mut chunk)?;
        }
        if let Some(rejects) = self.rejects {
            chunk.rejected.sort_by_key(|rejected| rejected.place.row);
            chunk.rejected.iter().for_each(rejects);
        }
        let n = chunk.len();
        state.source.has_times |= chunk.times.seconds.iter().any(|time| time.is_finite());
        state.n_rows += n;
        state.source.kept += chunk.n_kept() as u64;
        if let Some(rows) = self.rows {
            rows.take(std::mem::take(&mut chunk.rows));
        }
        state.source.n_named += chunk.is_named.iter().filter(|&&named| named).count() as u64;
        let ids = chunk.ids.iter().filter(|&&id| id != super::intern::NO_HASH);
        // The lower half of a good hash is a good hash.
        ids.for_each(|&id| state.id_hashes.push(id as u64));
        if self.product == Product::Tally {
            let rows = chunk.model_a.iter().zip(&chunk.model_b).zip(&chunk.winner);
            for ((&a, &b), &winner) in rows {
                state.pairs.entry((a, b)).or_default()[winner as usize] += 1;
            }
        } else {
            let battles = &mut state.battles;
            for (number, place) in chunk.texts.drain(..) {
                let mut features = self.wanted.features.iter().zip(&mut battles.features);
                let first = if self.wanted.weight == Some(number) {
                    Some(&mut battles.first_text_weight)
                } else {
                    features
                        .find(|(places, _)| places.numbers().any(|own| own == number))
                        .map(|(_, feature)| &mut feature.first_text)
                };
                if let Some(first) = first {
                    first.get_or_insert(place);
                }
            }
            let first = battles.winner.len();
            for &(idx, refused) in &chunk.refused {
                let feature = &mut battles.features[idx];
                feature.n_refused += 1;
                if feature.refused.len() < REFUSED_MAX {
                    feature.refused.push(RefusedNumbers {
                        battle: first + refused.battle,
                        ..refused
                    });
                }
            }
            append(&mut battles.model_a, &mut chunk.model_a);
            append(&mut battles.model_b, &mut chunk.model_b);
            append(&mut battles.winner, &mut chunk.winner);
            for (idx, feature) in battles.features.iter_mut().enumerate() {
                append(&mut feature.values, &mut chunk.features[idx]);
                feature.n_missing += chunk.n_missing[idx];
                feature.n_from_conversations += chunk.n_from_conversations[idx];
            }
            if let Some(judges) = &mut battles.judges {
                judges.codes.extend_from_slice(&chunk.judges);
            }
            if let Some(times) = &mut battles.times {
                times.extend_from_slice(&chunk.times.seconds);
            }
            if let Some(weights) = &mut battles.weights {
                weights.extend_from_slice(&chunk.weights);
            }
            let path = &state.source.path;
            let names = &self.wanted.selection.slices;
            for ((output, slice), name) in state.slices.iter_mut().zip(&chunk.slices).zip(names) {
                let appended = output.append(path, name, slice);
                if self.wanted.selection.optional_slices
                    && matches!(appended, Err(Error::ColumnType { .. }))
                {
                    output.is_given_up = true;
                } else {
                    appended?;
                }
            }
        }
        if state.free.len() < 8 {
            chunk.clear();
            state.free.push(chunk);
        }
        Ok(())
    }

    fn check_unit(&self, state: &mut State, chunk: &Chunk) -> Result<(), Error> {
        if !self.wanted.selection.time {
            return Ok(());
        }
        let source = &mut state.source;
        let Some(unit) = chunk.times.unit else {
            return Ok(());
        };
        let known = *source.unit.get_or_insert(unit);
        let other = if known.0 == unit.0 {
            chunk.times.other_unit
        } else {
            Some(unit)
        };
        match other {
            None => Ok(()),
            Some((found, row)) => Err(Error::MixedTimeUnits {
                path: source.path.clone(),
                expected: known.0.as_str(),
                first_row: known.1,
                found: found.as_str(),
                row,
            }),
        }
    }

    /// Rejects the rows that came before.
    fn drop_repeated(
        &self,
        state: &mut State,
        dedup: Dedup,
        chunk: &mut Chunk,
    ) -> Result<(), Error> {
        let drop = self.seen.are_repeated(chunk.hashes(dedup));
        if !drop.contains(&true) {
            return Ok(());
        }
        let reason = match dedup {
            Dedup::Id => Reason::RepeatedId,
            Dedup::Content => Reason::RepeatedContent,
        };
        for (place, _) in chunk.places.iter().zip(&drop).filter(|(_, drop)| **drop) {
            let place = || Place {
                source: state.source.path.clone(),
                row: place.row,
                line: place.line,
                column: None,
                value: None,
            };
            if self.strict {
                return Err(Error::RowRejected {
                    place: place(),
                    reason: reason.as_static(),
                });
            }
            state.source.repeated.add(reason, None, place);
            if self.rejects.is_some() {
                chunk.rejected.push(RejectedRow {
                    reason,
                    place: place(),
                });
            }
        }
        chunk.remove(&drop);
        chunk.n_missing = missing(chunk);
        Ok(())
    }

    /// The error of the first chunk that failed, once.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.lock().source.failure.take().map(|(_, error)| error)
    }

    /// Ends the present source, whose features come from `origins`.
    pub(crate) fn end(&self, origins: &[FeatureOrigin]) -> Result<SourceOutcome, Error> {
        let mut state = self.lock();
        let source = std::mem::take(&mut state.source);
        if let Some((_, error)) = source.failure {
            return Err(error);
        }
        for (feature, &origin) in state.battles.features.iter_mut().zip(origins) {
            feature.origins.push(origin);
        }
        let end = state.battles.winner.len();
        let start = state.battles.sources.last().map_or(0, |rows| rows.end);
        state.battles.sources.push(start..end);
        Ok(SourceOutcome {
            kept: source.kept,
            n_named: source.n_named,
            repeated: source.repeated,
            time_unit: match source.unit {
                Some((unit, _)) => Some(unit.as_str()),
                None => source.has_times.then_some("dates"),
            },
        })
    }

    /// The hashes of the ids of the kept rows, once.
    pub(crate) fn take_id_hashes(&self) -> Hashes {
        std::mem::take(&mut self.lock().id_hashes)
    }

    /// The rows by column.
    pub(crate) fn into_battles(self) -> Battles {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut battles = state.battles;
        let mut names = vec![String::new(); state.positions.len()];
        for (name, position) in state.positions {
            names[position as usize] = name;
        }
        let mut is_used = vec![false; names.len()];
        for &model in battles.model_a.iter().chain(&battles.model_b) {
            is_used[model as usize] = true;
        }
        let mut order: Vec<usize> = (0..names.len()).filter(|&idx| is_used[idx]).collect();
        order.sort_unstable_by(|&i, &j| names[i].cmp(&names[j]));
        let mut new = vec![0_u32; names.len()];
        for (position, &idx) in (0..).zip(&order) {
            new[idx] = position;
        }
        if !order.iter().copied().eq(0..order.len()) {
            for model in battles.model_a.iter_mut().chain(&mut battles.model_b) {
                *model = new[*model as usize];
            }
        }
        battles.models = order
            .into_iter()
            .map(|idx| std::mem::take(&mut names[idx]))
            .collect();
        if let Some(judges) = &mut battles.judges {
            judges.n_judges = renumber(&mut judges.codes);
        }
        let slices = &self.wanted.selection.slices;
        battles.slices = slices
            .iter()
            .zip(state.slices)
            .map(|(name, output)| SliceColumn {
                name: name.clone(),
                values: output.into_values(),
            })
            .collect();
        battles
    }

    /// The rows, counted.
    pub(crate) fn into_tally(self) -> Tally {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut names = vec![String::new(); state.positions.len()];
        for (name, position) in state.positions {
            names[position as usize] = name;
        }
        let mut is_used = vec![false; names.len()];
        for &(a, b) in state.pairs.keys() {
            is_used[a as usize] = true;
            is_used[b as usize] = true;
        }
        let mut tally = Tally::new();
        let mut used: Vec<&String> = names
            .iter()
            .zip(&is_used)
            .filter_map(|(name, is_used)| is_used.then_some(name))
            .collect();
        used.sort_unstable();
        for name in used {
            tally.model(name);
        }
        for ((a, b), counts) in state.pairs {
            let (a, b) = (
                tally.model(&names[a as usize]),
                tally.model(&names[b as usize]),
            );
            for winner in Winner::ALL {
                if counts[winner as usize] > 0 {
                    tally.add(a, b, winner, counts[winner as usize]);
                }
            }
        }
        tally
    }
}

/// Moves values behind those that are there: without copying them where there are none, and no more to come as it seems.
fn append<T: Copy>(to: &mut Vec<T>, from: &mut Vec<T>) {
    if to.is_empty() && from.len() >= to.capacity() {
        std::mem::swap(to, from);
    } else {
        to.extend_from_slice(from);
    }
}

/// How many values of each feature are missing.
fn missing(chunk: &Chunk) -> Vec<u64> {
    let count = |column: &Vec<f64>| column.iter().filter(|value| value.is_nan()).count() as u64;
    chunk.features.iter().map(count).collect()
}

impl State {
    fn fail(&mut self, seq: u64, error: Error) {
        let failure = &mut self.source.failure;
        if failure.as_ref().is_none_or(|(first, _)| seq < *first) {
            *failure = Some((seq, error));
        }
    }

    fn model(&mut self, name: &str) -> u32 {
        if let Some(&position) = self.positions.get(name) {
            return position;
        }
        let position = u32::try_from(self.positions.len()).unwrap_or(u32::MAX);
        self.positions.insert(name.to_owned(), position);
        position
    }
}

impl SliceOutput {
    fn append(&mut self, path: &str, name: &str, chunk: &ChunkSlice) -> Result<(), Error> {
        if chunk.is_mixed
            || (self.kind == SliceKind::One && chunk.kind == SliceKind::Many)
            || (self.kind == SliceKind::Many && chunk.kind == SliceKind::One)
        {
            return Err(Error::ColumnType {
                path: path.to_owned(),
                column: name.to_owned(),
                found: "one value in some rows and many in others".to_owned(),
                expected: "the same kind in all",
            });
        }
        let n_max = if chunk.kind == SliceKind::Many {
            FLAGS_MAX
        } else {
            LABELS_MAX
        };
        let too_many = || Error::TooManyLabels {
            path: path.to_owned(),
            column: name.to_owned(),
            n_max,
        };
        if chunk.has_too_many {
            return Err(too_many());
        }
        if chunk.kind == SliceKind::Many {
            if self.kind == SliceKind::Unknown {
                self.bits.resize(self.codes.len(), 0);
                self.codes = Vec::new();
            }
            self.kind = SliceKind::Many;
            // Labels of a group are there whether a row has them or not.
            let mut new = Vec::with_capacity(chunk.labels.len());
            for label in &chunk.labels {
                new.push(self.label(label));
            }
            if self.labels.len() > FLAGS_MAX {
                return Err(too_many());
            }
            let is_same = new
                .iter()
                .enumerate()
                .all(|(old, &new)| old == new as usize);
            self.bits.extend(chunk.bits.iter().map(|&bits| {
                if is_same {
                    return bits;
                }
                let mut rest = bits;
                let mut mapped = 0;
                while rest != 0 {
                    mapped |= 1 << new[rest.trailing_zeros() as usize];
                    rest &= rest - 1;
                }
                mapped
            }));
            return Ok(());
        }
        if self.kind == SliceKind::Many {
            self.bits.extend(chunk.codes.iter().map(|_| 0));
            return Ok(());
        }
        if chunk.kind == SliceKind::One {
            self.kind = SliceKind::One;
        }
        let mut new = vec![u32::MAX; chunk.labels.len()];
        self.codes.reserve(chunk.codes.len());
        for &code in &chunk.codes {
            let code = match new.get(code as usize) {
                None => u32::MAX,
                Some(&known) if known != u32::MAX => known,
                Some(_) => {
                    let label = self.label(&chunk.labels[code as usize]);
                    new[code as usize] = label;
                    label
                }
            };
            self.codes.push(code);
        }
        if self.labels.len() > LABELS_MAX {
            return Err(too_many());
        }
        Ok(())
    }

    fn label(&mut self, label: &str) -> u32 {
        if let Some(&position) = self.positions.get(label) {
            return position;
        }
        let position = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        self.labels.push(label.to_owned());
        self.positions.insert(label.to_owned(), position);
        position
    }

    fn into_values(self) -> SliceValues {
        if self.is_given_up {
            return SliceValues::One(Labels::default());
        }
        if self.kind == SliceKind::Many {
            SliceValues::Many {
                labels: self.labels,
                bits: self.bits,
            }
        } else {
            SliceValues::One(Labels {
                values: self.labels,
                codes: self.codes,
            })
        }
    }
}
