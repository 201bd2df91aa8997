//! Brings rows into the canonical order: by pair with a counting sort, inside a pair by features, outcome, weight, cluster.
//!
//! The order is a total one over everything that a row says, so neither the order of rows, nor the sides, nor the number
//! of threads can be seen in the result.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::{Cell, Comparisons, Pair, Record, Rows, canonical_outcome, check_row, count};
use crate::Error;

/// Buckets of the counting sort for each row; where more would be needed, pairs are sorted by comparison.
const BUCKETS_PER_ROW: usize = 4;
/// So many buckets are always fine.
const BUCKETS_FEW: usize = 1 << 16;
/// Fewer rows than this are not worth another thread.
const ROWS_PER_THREAD: usize = 1 << 14;

/// Set in the number of a row while it is sorted when side A has the higher index.
const SWAPPED: u32 = 1 << 31;

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

/// Position of a pair among all pairs of `n` models, in ascending order; `i < j`.
#[inline(always)]
fn pair_index(n: usize, (i, j): (u32, u32)) -> usize {
    let (i, j) = (i as usize, j as usize);
    i * (2 * n - i - 1) / 2 + (j - i - 1)
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
    let n_pairs = n_models.saturating_mul(n_models.saturating_sub(1)) / 2;
    let direct = n_pairs <= BUCKETS_FEW.max(n_rows.saturating_mul(BUCKETS_PER_ROW))
        && n_pairs <= u32::MAX as usize;

    // Check and count, each thread its share of the rows.
    let share = n_rows.div_ceil(n_threads).max(1);
    let checked = in_parallel(
        (0..n_threads)
            .map(|thread| (thread * share).min(n_rows)..((thread + 1) * share).min(n_rows))
            .collect(),
        |positions: Range<usize>| -> Result<_, Error> {
            let mut counts = vec![0_u32; if direct { n_pairs } else { 0 }];
            let mut weighted = false;
            for position in positions {
                let row = input.row(position);
                input.check(row, n_models)?;
                weighted |= input.weight(row) != 1.0;
                if direct {
                    counts[pair_index(n_models, input.pair(row))] += 1;
                }
            }
            Ok((counts, weighted))
        },
    );
    let mut counts: Vec<u32> = Vec::new();
    let mut weighted = false;
    for part in checked {
        // The first part with an error has the first row with one.
        let (of_part, weighted_part) = part?;
        weighted |= weighted_part;
        if counts.is_empty() {
            counts = of_part;
        } else {
            for (sum, count) in counts.iter_mut().zip(of_part) {
                *sum += count;
            }
        }
    }

    let mut order = vec![0_u32; n_rows];
    // Ends of the runs of one pair each in `order`.
    let ends = if direct {
        scatter(n_models, input, &counts, &mut order, n_threads)
    } else {
        sort_pairs(input, &mut order)
    };
    drop(counts);
    Ok(fill(n_models, input, &order, &ends, weighted, n_threads))
}

/// Writes the numbers of rows by pair, in ascending order inside each, and returns where each pair ends.
fn scatter(
    n_models: usize,
    input: &Counted<'_>,
    counts: &[u32],
    order: &mut [u32],
    n_threads: usize,
) -> Vec<u32> {
    let mut ends = Vec::with_capacity(counts.len());
    let mut end = 0_u32;
    for count in counts {
        end += count;
        ends.push(end);
    }
    // Each thread reads all rows and writes those of its own range of pairs.
    let mut parts = Vec::with_capacity(n_threads);
    let mut rest = order;
    let mut first = 0;
    for pairs in shares(&ends, n_threads) {
        let start = if pairs.start == 0 {
            0
        } else {
            ends[pairs.start - 1]
        };
        let length = (ends[pairs.end - 1] - start) as usize;
        let (own, after) = rest.split_at_mut(length);
        rest = after;
        debug_assert_eq!(first, pairs.start);
        first = pairs.end;
        parts.push((pairs, start, own));
    }
    in_parallel(parts, |(pairs, start, own)| {
        let mut next: Vec<u32> = pairs
            .clone()
            .map(|pair| ends[pair] - counts[pair] - start)
            .collect();
        for position in 0..input.len() {
            let row = input.row(position);
            let pair = pair_index(n_models, input.pair(row)).wrapping_sub(pairs.start);
            if let Some(next) = next.get_mut(pair) {
                own[*next as usize] = input.number(row);
                *next += 1;
            }
        }
    });
    ends.dedup();
    if ends.first() == Some(&0) {
        ends.remove(0);
    }
    ends
}

/// The same for many models and few rows, by comparison.
fn sort_pairs(input: &Counted<'_>, order: &mut [u32]) -> Vec<u32> {
    let mut keys: Vec<((u32, u32), u32)> = (0..input.len())
        .map(|position| {
            let row = input.row(position);
            (input.pair(row), input.number(row))
        })
        .collect();
    keys.sort_unstable();
    for (slot, (_, row)) in order.iter_mut().zip(&keys) {
        *slot = *row;
    }
    let mut end = 0;
    keys.chunk_by(|x, y| x.0 == y.0)
        .map(|run| {
            end += run.len() as u32;
            end
        })
        .collect()
}

/// Ranges of runs with about equally many rows, at most `n` of them, none empty.
fn shares(ends: &[u32], n: usize) -> Vec<Range<usize>> {
    let total = ends.last().copied().unwrap_or(0) as usize;
    let mut shares = Vec::with_capacity(n);
    let mut start = 0;
    for share in 1..=n {
        let limit = (total as u128 * share as u128 / n as u128) as u32;
        let end = if share == n {
            ends.len()
        } else {
            ends.partition_point(|&end| end <= limit)
        };
        if end > start {
            shares.push(start..end);
            start = end;
        }
    }
    shares
}

/// What one thread writes: its part of every column.
struct Part<'a> {
    order: &'a [u32],
    /// Ends of its runs, counted from `first`.
    ends: &'a [u32],
    first: u32,
    features: Vec<&'a mut [f64]>,
    outcomes: &'a mut [f64],
    weights: &'a mut [f64],
    counts: &'a mut [u64],
    clusters: &'a mut [u32],
}

/// Sorts inside pairs, merges equal battles and writes the columns.
fn fill(
    n_models: usize,
    input: &Counted<'_>,
    order: &[u32],
    ends: &[u32],
    weighted: bool,
    n_threads: usize,
) -> Comparisons {
    let n_rows = order.len();
    let n_features = input.rows.features.len();
    let mut features: Vec<Vec<f64>> = (0..n_features).map(|_| vec![0.0; n_rows]).collect();
    let mut outcomes = vec![0.0; n_rows];
    let mut weights = vec![0.0; if weighted { n_rows } else { 0 }];
    let mut counts = vec![0_u64; n_rows];
    let mut clusters = vec![
        0_u32;
        if input.rows.clusters.is_some() {
            n_rows
        } else {
            0
        }
    ];

    let mut parts = Vec::new();
    let mut offsets = Vec::new();
    {
        let mut rest_features: Vec<&mut [f64]> =
            features.iter_mut().map(|column| &mut column[..]).collect();
        let (mut rest_outcomes, mut rest_weights) = (&mut outcomes[..], &mut weights[..]);
        let (mut rest_counts, mut rest_clusters) = (&mut counts[..], &mut clusters[..]);
        for runs in shares(ends, n_threads) {
            let first = if runs.start == 0 {
                0
            } else {
                ends[runs.start - 1]
            };
            let last = ends[runs.end - 1];
            let length = (last - first) as usize;
            offsets.push(first as usize);
            parts.push(Part {
                order: &order[first as usize..last as usize],
                ends: &ends[runs],
                first,
                features: rest_features
                    .iter_mut()
                    .map(|column| split(column, length))
                    .collect(),
                outcomes: split(&mut rest_outcomes, length),
                weights: split(&mut rest_weights, if weighted { length } else { 0 }),
                counts: split(&mut rest_counts, length),
                clusters: split(
                    &mut rest_clusters,
                    if input.rows.clusters.is_some() {
                        length
                    } else {
                        0
                    },
                ),
            });
        }
    }
    let filled = in_parallel(parts, |part| fill_part(n_models, input, part));

    // Merged battles leave a gap behind each part.
    let mut pairs = Vec::with_capacity(ends.len());
    let mut records = vec![Record::default(); n_models];
    let mut end = 0;
    for (offset, (of_part, pairs_of_part, records_of_part)) in offsets.into_iter().zip(filled) {
        if offset != end {
            let moved = offset..offset + of_part;
            for column in features.iter_mut().chain([&mut outcomes]) {
                column.copy_within(moved.clone(), end);
            }
            if weighted {
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
        n_models,
        n_features,
        pairs,
        outcomes,
        weights,
        counts,
        features,
        clusters,
        records,
    }
}

/// Takes the first `length` entries off a slice.
fn split<'a, T>(rest: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    let (own, after) = std::mem::take(rest).split_at_mut(length);
    *rest = after;
    own
}

/// The rows of one pair while they are sorted.
#[derive(Default)]
struct Local {
    features: Vec<Vec<f64>>,
    outcomes: Vec<f64>,
    weights: Vec<f64>,
    counts: Vec<u64>,
    clusters: Vec<u32>,
    /// What is compared first, and the position among the rows.
    keys: Vec<(u64, u32)>,
}

/// Bits that order like the number does under `total_cmp`.
#[inline(always)]
fn sortable(value: f64) -> u64 {
    let bits = value.to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | 1 << 63)
}

impl Local {
    fn gather(&mut self, input: &Counted<'_>, numbers: &[u32]) {
        let row_of = |number: u32| (number & !SWAPPED) as usize;
        self.features.resize(input.rows.features.len(), Vec::new());
        for (column, from) in self.features.iter_mut().zip(input.rows.features) {
            column.clear();
            column.extend(numbers.iter().map(|&number| {
                let negated = u64::from(number & SWAPPED) << 32;
                // Adding zero turns a negative zero into a positive one: both must sort alike.
                f64::from_bits(from[row_of(number)].to_bits() ^ negated) + 0.0
            }));
        }
        self.outcomes.clear();
        self.outcomes.extend(numbers.iter().map(|&number| {
            canonical_outcome(number & SWAPPED != 0, input.rows.scores[row_of(number)])
        }));
        if let Some(weights) = input.rows.weights {
            self.weights.clear();
            self.weights
                .extend(numbers.iter().map(|&number| weights[row_of(number)]));
        }
        if let Some(counts) = input.counts {
            self.counts.clear();
            self.counts
                .extend(numbers.iter().map(|&number| counts[row_of(number)]));
        }
        if let Some(clusters) = input.rows.clusters {
            self.clusters.clear();
            self.clusters
                .extend(numbers.iter().map(|&number| clusters[row_of(number)]));
        }
        let first = self.features.first().unwrap_or(&self.outcomes);
        self.keys.clear();
        self.keys.extend(
            first
                .iter()
                .zip(0..)
                .map(|(&value, idx)| (sortable(value), idx)),
        );
    }

    /// Everything that two rows of the pair can differ in.
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

    fn sort(&mut self) {
        self.keys.sort_unstable_by_key(|key| key.0);
        // Where the first column says nothing the others decide.
        let mut keys = std::mem::take(&mut self.keys);
        for run in keys.chunk_by_mut(|x, y| x.0 == y.0) {
            if run.len() > 1 {
                run.sort_unstable_by(|x, y| self.compare(x.1, y.1));
            }
        }
        self.keys = keys;
    }
}

fn fill_part(
    n_models: usize,
    input: &Counted<'_>,
    mut part: Part<'_>,
) -> (usize, Vec<Pair>, Vec<Record>) {
    let mut records = vec![Record::default(); n_models];
    let mut pairs = Vec::with_capacity(part.ends.len());
    let mut local = Local::default();
    let (mut start, mut written) = (0, 0);
    for &end in part.ends {
        let end = (end - part.first) as usize;
        let numbers = &part.order[start..end];
        start = end;
        let (i, j) = input.pair((numbers[0] & !SWAPPED) as usize);
        local.gather(input, numbers);
        local.sort();
        let mut previous: Option<(u64, u32)> = None;
        for &(key, idx) in &local.keys {
            let own_count = local.counts.get(idx as usize).copied().unwrap_or(1);
            if let Some((key_before, before)) = previous
                && key_before == key
                && local.compare(before, idx).is_eq()
            {
                let kept: &mut u64 = &mut part.counts[written - 1];
                *kept = kept.saturating_add(own_count);
                continue;
            }
            previous = Some((key, idx));
            let from = idx as usize;
            for (column, source) in part.features.iter_mut().zip(&local.features) {
                column[written] = source[from];
            }
            part.outcomes[written] = local.outcomes[from];
            if let Some(weight) = part.weights.get_mut(written) {
                *weight = local.weights[from];
            }
            if let Some(cluster) = part.clusters.get_mut(written) {
                *cluster = local.clusters[from];
            }
            part.counts[written] = own_count;
            written += 1;
        }
        let first = pairs.last().map_or(0, |pair: &Pair| pair.end);
        for idx in first..written {
            count(
                &mut records,
                &Cell {
                    i,
                    j,
                    outcome: part.outcomes[idx],
                    weight: 1.0,
                    count: part.counts[idx],
                },
            );
        }
        pairs.push(Pair { i, j, end: written });
    }
    (written, pairs, records)
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
