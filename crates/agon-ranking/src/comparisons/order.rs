//! Brings rows into the canonical order: by pair with counting sorts, inside a pair by features, outcome, weight, cluster.
//!
//! Rows are first dealt out to buckets of neighbouring pairs, each of which is then sorted in the cache: looking rows up all
//! over memory would take longer for each the more there are.
//!
//! The order is a total one over everything that a row says, so neither the order of rows, nor the sides, nor the number
//! of threads can be seen in the result.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::{Cell, Comparisons, Pair, Record, Rows, check_row, count};
use crate::Error;

mod deal;

use deal::{Bucket, Dealt, SWAPPED, Slots, deal, split};

/// Fewer rows than this are not worth another thread.
const ROWS_PER_THREAD: usize = 1 << 13;

/// Rows, and how many battles each stands for (1 without the column).
pub(super) struct Counted<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) counts: Option<&'a [u64]>,
}

impl Counted<'_> {
    fn len(&self) -> usize {
        self.rows
            .subset
            .map_or(self.rows.model_a.len(), <[u32]>::len)
    }

    fn row(&self, position: usize) -> usize {
        self.rows
            .subset
            .map_or(position, |subset| subset[position] as usize)
    }

    fn weight(&self, row: usize) -> f64 {
        self.rows.weights.map_or(1.0, |weights| weights[row])
    }

    fn count(&self, row: usize) -> u64 {
        self.counts.map_or(1, |counts| counts[row])
    }

    /// Columns must have one entry for each row, and a subset must name rows that exist.
    fn check_lengths(&self) -> Result<(), Error> {
        let expected = self.rows.model_a.len();
        let lengths = [self.rows.model_b.len(), self.rows.scores.len()]
            .into_iter()
            .chain(self.rows.features.iter().map(|column| column.len()))
            .chain(self.rows.clusters.map(<[u32]>::len))
            .chain(self.rows.weights.map(<[f64]>::len))
            .chain(self.counts.map(<[u64]>::len));
        for found in lengths {
            if found != expected {
                return Err(Error::Length { found, expected });
            }
        }
        // Rows are numbered by 31 bits while they are sorted.
        let most = (SWAPPED - 1) as usize;
        if self.len() > most || expected > most {
            return Err(Error::Length {
                found: self.len().max(expected),
                expected: most,
            });
        }
        if let Some(subset) = self.rows.subset
            && let Some(&row) = subset.iter().find(|row| **row as usize >= expected)
        {
            return Err(Error::Length {
                found: row as usize + 1,
                expected,
            });
        }
        Ok(())
    }

    fn check(&self, row: usize, n_models: usize) -> Result<(), Error> {
        let rows = &self.rows;
        check_row(
            row,
            [rows.model_a[row], rows.model_b[row]],
            rows.scores[row],
            self.weight(row),
            self.count(row),
            n_models,
        )?;
        for (feature, column) in rows.features.iter().enumerate() {
            if !column[row].is_finite() {
                return Err(Error::Feature {
                    row,
                    feature,
                    value: column[row],
                });
            }
        }
        Ok(())
    }

    fn pair(&self, row: usize) -> (u32, u32) {
        let (a, b) = (self.rows.model_a[row], self.rows.model_b[row]);
        (a.min(b), a.max(b))
    }

    /// The number of a row, and whether its sides have to be exchanged.
    fn number(&self, row: usize) -> u32 {
        let swapped = self.rows.model_a[row] > self.rows.model_b[row];
        row as u32 | if swapped { SWAPPED } else { 0 }
    }
}

/// Checks rows and brings them into order.
pub(super) fn order(
    n_models: usize,
    input: &Counted<'_>,
    n_threads: NonZeroUsize,
) -> Result<Comparisons, Error> {
    input.check_lengths()?;
    let n_rows = input.len();
    let n_threads = n_threads.get().min(n_rows / ROWS_PER_THREAD).max(1);
    let slots = Slots::new(n_models, n_rows);

    // Check and count, each thread its share of the rows.
    let share = n_rows.div_ceil(n_threads).max(1);
    let shares: Vec<Range<usize>> = (0..n_threads)
        .map(|thread| (thread * share).min(n_rows)..((thread + 1) * share).min(n_rows))
        .collect();
    let checked = in_parallel(
        shares.clone(),
        |positions: Range<usize>| -> Result<_, Error> {
            let mut counts = vec![0_u32; slots.n_slots];
            let mut weighted = false;
            for position in positions {
                let row = input.row(position);
                input.check(row, n_models)?;
                weighted |= input.weight(row) != 1.0;
                counts[slots.of(input.pair(row))] += 1;
            }
            Ok((counts, weighted))
        },
    );
    let mut counts = Vec::with_capacity(n_threads);
    let mut weighted = false;
    for part in checked {
        // The first part with an error has the first row with one.
        let (of_part, weighted_part) = part?;
        weighted |= weighted_part;
        counts.push(of_part);
    }
    let mut columns = Dealt {
        pairs: vec![(0, 0); n_rows],
        features: (0..input.rows.features.len())
            .map(|_| vec![0.0; n_rows])
            .collect(),
        outcomes: vec![0.0; n_rows],
        weights: vec![0.0; if weighted { n_rows } else { 0 }],
        counts: vec![0; n_rows],
        clusters: vec![0; input.rows.clusters.map_or(0, |_| n_rows)],
    };
    let buckets = deal(slots, input, &shares, &counts, &mut columns);
    drop(counts);
    Ok(sort(slots, input, columns, &buckets, n_threads))
}

/// The same, nothing off an empty slice.
fn split_if_any<'a, T>(rest: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    let length = length.min(rest.len());
    split(rest, length)
}

/// What one thread sorts: its part of every column.
struct Part<'a> {
    buckets: &'a [Bucket],
    pairs: &'a [(u32, u32)],
    features: Vec<&'a mut [f64]>,
    outcomes: &'a mut [f64],
    weights: &'a mut [f64],
    counts: &'a mut [u64],
    clusters: &'a mut [u32],
}

/// Sorts the rows of each bucket, and merges equal battles.
fn sort(
    slots: Slots,
    input: &Counted<'_>,
    columns: Dealt,
    buckets: &[Bucket],
    n_threads: usize,
) -> Comparisons {
    let Dealt {
        pairs: dealt,
        mut features,
        mut outcomes,
        mut weights,
        mut counts,
        mut clusters,
    } = columns;
    let is_counted = input.counts.is_some();
    let mut parts = Vec::new();
    let mut offsets = Vec::new();
    {
        let mut rest_features: Vec<&mut [f64]> =
            features.iter_mut().map(|column| &mut column[..]).collect();
        let (mut rest_outcomes, mut rest_weights) = (&mut outcomes[..], &mut weights[..]);
        let (mut rest_counts, mut rest_clusters) = (&mut counts[..], &mut clusters[..]);
        let mut first = 0;
        for buckets in shares(buckets, n_threads) {
            let length = buckets.iter().map(|bucket| bucket.n_rows).sum();
            offsets.push(first);
            parts.push(Part {
                buckets,
                pairs: &dealt[first..first + length],
                features: rest_features
                    .iter_mut()
                    .map(|column| split(column, length))
                    .collect(),
                outcomes: split(&mut rest_outcomes, length),
                weights: split_if_any(&mut rest_weights, length),
                counts: split(&mut rest_counts, length),
                clusters: split_if_any(&mut rest_clusters, length),
            });
            first += length;
        }
    }
    let sorted = in_parallel(parts, |part| part.sort(slots, is_counted));
    drop(dealt);

    // Merged battles leave a gap behind each part.
    let mut pairs = Vec::with_capacity(sorted.iter().map(|(_, pairs, _)| pairs.len()).sum());
    let mut records = vec![Record::default(); slots.n_models];
    let mut end = 0;
    for (offset, (of_part, pairs_of_part, records_of_part)) in offsets.into_iter().zip(sorted) {
        if offset != end {
            let moved = offset..offset + of_part;
            for column in features.iter_mut().chain([&mut outcomes]) {
                column.copy_within(moved.clone(), end);
            }
            if !weights.is_empty() {
                weights.copy_within(moved.clone(), end);
            }
            counts.copy_within(moved.clone(), end);
            if !clusters.is_empty() {
                clusters.copy_within(moved, end);
            }
        }
        pairs.extend(pairs_of_part.into_iter().map(|pair: Pair| Pair {
            end: pair.end + end,
            ..pair
        }));
        end += of_part;
        for (record, more) in records.iter_mut().zip(records_of_part) {
            record.add(&more);
        }
    }
    for column in features.iter_mut().chain([&mut outcomes, &mut weights]) {
        column.truncate(end);
        column.shrink_to_fit();
    }
    counts.truncate(end);
    counts.shrink_to_fit();
    clusters.truncate(end);
    clusters.shrink_to_fit();
    Comparisons {
        n_models: slots.n_models,
        n_features: features.len(),
        pairs,
        outcomes,
        weights,
        counts,
        features,
        clusters,
        records,
    }
}

/// Neighbouring buckets with about equally many rows together, in at most `n` shares.
fn shares(buckets: &[Bucket], n: usize) -> Vec<&[Bucket]> {
    let total: usize = buckets.iter().map(|bucket| bucket.n_rows).sum();
    let mut shares = Vec::with_capacity(n);
    let (mut start, mut n_before) = (0, 0);
    for (idx, bucket) in buckets.iter().enumerate() {
        n_before += bucket.n_rows;
        if n_before * n >= total * (shares.len() + 1) || idx + 1 == buckets.len() {
            shares.push(&buckets[start..=idx]);
            start = idx + 1;
        }
    }
    shares
}

/// The rows of one bucket while they are sorted, slot after slot.
#[derive(Default)]
struct Local {
    pairs: Vec<(u32, u32)>,
    features: Vec<Vec<f64>>,
    outcomes: Vec<f64>,
    weights: Vec<f64>,
    counts: Vec<u64>,
    clusters: Vec<u32>,
}

/// Bits that order like the number does under `total_cmp`.
#[inline(always)]
fn sortable(value: f64) -> u64 {
    let bits = value.to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | 1 << 63)
}

/// The entries of a column in an order; none of an empty one.
fn gather<T: Copy>(to: &mut Vec<T>, from: &[T], start: usize, order: &[u32]) {
    to.clear();
    if let Some(from) = from.get(start..).filter(|from| !from.is_empty()) {
        to.extend(order.iter().map(|&offset| from[offset as usize]));
    }
}

impl Local {
    /// Takes the rows of a bucket, of which the first is `start` in the part.
    fn gather(&mut self, part: &Part<'_>, start: usize, order: &[u32], is_counted: bool) {
        gather(&mut self.pairs, part.pairs, start, order);
        self.features.resize(part.features.len(), Vec::new());
        for (to, from) in self.features.iter_mut().zip(&part.features) {
            gather(to, from, start, order);
        }
        gather(&mut self.outcomes, part.outcomes, start, order);
        gather(&mut self.weights, part.weights, start, order);
        if is_counted {
            gather(&mut self.counts, part.counts, start, order);
        }
        gather(&mut self.clusters, part.clusters, start, order);
    }

    /// Everything that two rows of a pair can differ in.
    fn compare(&self, x: u32, y: u32) -> std::cmp::Ordering {
        let (x, y) = (x as usize, y as usize);
        for column in self.features.iter().chain([&self.outcomes]) {
            let order = column[x].total_cmp(&column[y]);
            if order.is_ne() {
                return order;
            }
        }
        let weights = || match self.weights.get(x).zip(self.weights.get(y)) {
            Some((x, y)) => x.total_cmp(y),
            None => std::cmp::Ordering::Equal,
        };
        weights().then_with(|| self.clusters.get(x).cmp(&self.clusters.get(y)))
    }

    /// Rows of one pair in order, each with what is compared first.
    fn sort(&self, keys: &mut Vec<(u64, u32)>, rows: impl Iterator<Item = u32>) {
        let first = self.features.first().unwrap_or(&self.outcomes);
        keys.clear();
        keys.extend(rows.map(|idx| (sortable(first[idx as usize]), idx)));
        keys.sort_unstable_by_key(|key| key.0);
        // Where the first column says nothing the others decide.
        for run in keys.chunk_by_mut(|x, y| x.0 == y.0) {
            if run.len() > 1 {
                run.sort_unstable_by(|x, y| self.compare(x.1, y.1));
            }
        }
    }
}

impl Part<'_> {
    /// Sorts bucket by bucket; gives how many battles are left, the pairs and the records.
    fn sort(mut self, slots: Slots, is_counted: bool) -> (usize, Vec<Pair>, Vec<Record>) {
        let mut output = (0, Vec::new(), vec![Record::default(); slots.n_models]);
        let mut local = Local::default();
        let (mut order, mut next) = (Vec::new(), Vec::new());
        let (mut by_pair, mut keys) = (Vec::new(), Vec::new());
        let mut start = 0;
        for bucket in self.buckets {
            // A counting sort by slot; rows in order of slots leave room for what is written.
            next.clear();
            let mut end = 0;
            for &n in &bucket.counts {
                next.push(end);
                end += n;
            }
            order.clear();
            order.resize(bucket.n_rows, 0);
            for (offset, &pair) in (0..).zip(&self.pairs[start..start + bucket.n_rows]) {
                let next = &mut next[slots.of(pair) - bucket.first_slot];
                order[*next as usize] = offset;
                *next += 1;
            }
            local.gather(&self, start, &order, is_counted);
            start += bucket.n_rows;
            let mut first = 0;
            for &end in &next {
                if slots.shift == 0 {
                    if first < end {
                        local.sort(&mut keys, first..end);
                        self.write(&local, &keys, &mut output);
                    }
                } else {
                    by_pair.clear();
                    by_pair.extend(first..end);
                    by_pair.sort_unstable_by_key(|&idx: &u32| local.pairs[idx as usize]);
                    let pair_of = |idx: &u32| local.pairs[*idx as usize];
                    for rows in by_pair.chunk_by(|x, y| pair_of(x) == pair_of(y)) {
                        local.sort(&mut keys, rows.iter().copied());
                        self.write(&local, &keys, &mut output);
                    }
                }
                first = end;
            }
        }
        output
    }

    /// Writes the rows of one pair behind those that are there, equal ones as one.
    fn write(
        &mut self,
        local: &Local,
        keys: &[(u64, u32)],
        (written, pairs, records): &mut (usize, Vec<Pair>, Vec<Record>),
    ) {
        let Some(&(_, any)) = keys.first() else {
            return;
        };
        let (i, j) = local.pairs[any as usize];
        let first = *written;
        let mut previous: Option<(u64, u32)> = None;
        for &(key, idx) in keys {
            let from = idx as usize;
            let own_count = local.counts.get(from).copied().unwrap_or(1);
            if let Some((key_before, before)) = previous
                && key_before == key
                && local.compare(before, idx).is_eq()
            {
                let kept: &mut u64 = &mut self.counts[*written - 1];
                *kept = kept.saturating_add(own_count);
                continue;
            }
            previous = Some((key, idx));
            for (column, source) in self.features.iter_mut().zip(&local.features) {
                column[*written] = source[from];
            }
            self.outcomes[*written] = local.outcomes[from];
            if let Some(weight) = self.weights.get_mut(*written) {
                *weight = local.weights[from];
            }
            if let Some(cluster) = self.clusters.get_mut(*written) {
                *cluster = local.clusters[from];
            }
            self.counts[*written] = own_count;
            *written += 1;
        }
        for idx in first..*written {
            let cell = Cell {
                i,
                j,
                outcome: self.outcomes[idx],
                weight: 1.0,
                count: self.counts[idx],
            };
            count(records, &cell);
        }
        pairs.push(Pair {
            i,
            j,
            end: *written,
        });
    }
}

/// Does the work for each part, the last one on this thread and the others on one each; results in the order of parts.
pub(crate) fn in_parallel<P: Send, R: Send>(parts: Vec<P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    let mut parts = parts;
    let Some(last) = parts.pop() else {
        return Vec::new();
    };
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = parts
            .into_iter()
            .map(|part| scope.spawn(move || work(part)))
            .collect();
        let own = work(last);
        let mut results: Vec<R> = others
            .into_iter()
            .map(|other| match other.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect();
        results.push(own);
        results
    })
}
