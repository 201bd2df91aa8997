//! Deals rows out to buckets of neighbouring pairs, which are then sorted one by one.

use std::ops::Range;

use super::super::canonical_outcome;
use super::{Counted, in_parallel};

/// Slots of the counting sort for each row; where there are more pairs, several share one.
const SLOTS_PER_ROW: usize = 4;
/// So many slots are always fine.
const SLOTS_FEW: usize = 1 << 16;
/// Rows of a bucket: few enough to stay in the second-level cache.
const BUCKET_ROWS: usize = 1 << 14;
/// Buckets at most: places that are written to in turn, few enough for the processor to keep track of.
const BUCKETS_MAX: usize = 512;
/// Rows that are dealt out together, column by column.
const BLOCK_ROWS: usize = 1 << 10;

/// Set in the number of a row while it is sorted when side A has the higher index.
pub(super) const SWAPPED: u32 = 1 << 31;

/// Pairs of models by number, in ascending order; several share one where there are far more pairs than rows.
#[derive(Clone, Copy)]
pub(super) struct Slots {
    pub(super) n_models: usize,
    pub(super) shift: u32,
    pub(super) n_slots: usize,
}

impl Slots {
    pub(super) fn new(n_models: usize, n_rows: usize) -> Self {
        let n_pairs = n_models.saturating_mul(n_models.saturating_sub(1)) / 2;
        let n_max = SLOTS_FEW.max(n_rows.saturating_mul(SLOTS_PER_ROW));
        let mut shift = 0;
        while n_pairs >> shift > n_max {
            shift += 1;
        }
        Self {
            n_models,
            shift,
            n_slots: (n_pairs >> shift) + 1,
        }
    }

    /// The number of a pair; `i < j`.
    #[inline(always)]
    pub(super) fn of(self, (i, j): (u32, u32)) -> usize {
        let (n, i, j) = (self.n_models, i as usize, j as usize);
        (i * (2 * n - i - 1) / 2 + (j - i - 1)) >> self.shift
    }
}

/// Rows by column, as many as there are or, for a column that nobody needs, none.
pub(super) struct Dealt {
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) features: Vec<Vec<f64>>,
    pub(super) outcomes: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) counts: Vec<u64>,
    pub(super) clusters: Vec<u32>,
}

/// Rows of neighbouring slots, few enough to be sorted in the cache unless they are of one pair.
pub(super) struct Bucket {
    pub(super) first_slot: usize,
    /// Rows of each slot.
    pub(super) counts: Vec<u32>,
    pub(super) n_rows: usize,
}

/// Where a row goes.
struct Place {
    /// The row, and whether its sides are exchanged.
    number: u32,
    bucket: u32,
    offset: u32,
}

/// What one thread deals out: for each column and bucket where its rows go.
struct Hand<'a> {
    positions: Range<usize>,
    pairs: Vec<&'a mut [(u32, u32)]>,
    features: Vec<Vec<&'a mut [f64]>>,
    outcomes: Vec<&'a mut [f64]>,
    weights: Vec<&'a mut [f64]>,
    counts: Vec<&'a mut [u64]>,
    clusters: Vec<&'a mut [u32]>,
}

/// Deals rows out to buckets, with the sides of each in order.
///
/// Rows are read one after the other and written to a few hundred places, so that no memory is waited for; the time for
/// each does not depend on how many there are.
pub(super) fn deal(
    slots: Slots,
    input: &Counted<'_>,
    shares: &[Range<usize>],
    counts: &[Vec<u32>],
    columns: &mut Dealt,
) -> Vec<Bucket> {
    let rows_min = (input.len() / BUCKETS_MAX).max(BUCKET_ROWS);
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut bucket_of = vec![0_u32; slots.n_slots];
    // Rows of each thread in each bucket.
    let mut sizes: Vec<Vec<usize>> = vec![Vec::new(); shares.len()];
    for (slot, bucket_of) in bucket_of.iter_mut().enumerate() {
        if buckets
            .last()
            .is_none_or(|bucket| bucket.n_rows >= rows_min)
        {
            buckets.push(Bucket {
                first_slot: slot,
                counts: Vec::new(),
                n_rows: 0,
            });
            sizes.iter_mut().for_each(|sizes| sizes.push(0));
        }
        let idx = buckets.len() - 1;
        *bucket_of = idx as u32;
        let bucket = &mut buckets[idx];
        let mut n = 0;
        for (sizes, counts) in sizes.iter_mut().zip(counts) {
            sizes[idx] += counts[slot] as usize;
            n += counts[slot];
        }
        bucket.counts.push(n);
        bucket.n_rows += n as usize;
    }

    let mut features: Vec<_> = columns
        .features
        .iter_mut()
        .map(|column| pieces(column, &sizes).into_iter())
        .collect();
    let mut outcomes = pieces(&mut columns.outcomes, &sizes).into_iter();
    let mut weights = pieces(&mut columns.weights, &sizes).into_iter();
    let given_counts = if input.counts.is_some() {
        &mut columns.counts[..]
    } else {
        &mut []
    };
    let mut counts = pieces(given_counts, &sizes).into_iter();
    let mut clusters = pieces(&mut columns.clusters, &sizes).into_iter();
    let hands = pieces(&mut columns.pairs, &sizes)
        .into_iter()
        .zip(shares)
        .map(|(pairs, positions)| Hand {
            positions: positions.clone(),
            pairs,
            features: features.iter_mut().filter_map(Iterator::next).collect(),
            outcomes: outcomes.next().unwrap_or_default(),
            weights: weights.next().unwrap_or_default(),
            counts: counts.next().unwrap_or_default(),
            clusters: clusters.next().unwrap_or_default(),
        })
        .collect();
    in_parallel(hands, |hand| hand.deal(slots, input, &bucket_of));
    buckets
}

/// Cuts a column into pieces for each thread, of each bucket one; an empty column into none.
fn pieces<'a, T>(column: &'a mut [T], sizes: &[Vec<usize>]) -> Vec<Vec<&'a mut [T]>> {
    let n_buckets = sizes.first().map_or(0, Vec::len);
    let mut pieces: Vec<_> = sizes.iter().map(|_| Vec::new()).collect();
    if column.is_empty() {
        return pieces;
    }
    let mut rest = column;
    for bucket in 0..n_buckets {
        for (pieces, sizes) in pieces.iter_mut().zip(sizes) {
            pieces.push(split(&mut rest, sizes[bucket]));
        }
    }
    pieces
}

impl Hand<'_> {
    fn deal(mut self, slots: Slots, input: &Counted<'_>, bucket_of: &[u32]) {
        let rows = &input.rows;
        let mut next = vec![0_u32; self.pairs.len()];
        let mut places = Vec::with_capacity(BLOCK_ROWS);
        let mut start = self.positions.start;
        while start < self.positions.end {
            let end = self.positions.end.min(start + BLOCK_ROWS);
            places.clear();
            for position in start..end {
                let row = input.row(position);
                let pair = input.pair(row);
                let bucket = bucket_of[slots.of(pair)];
                let next = &mut next[bucket as usize];
                self.pairs[bucket as usize][*next as usize] = pair;
                places.push(Place {
                    number: input.number(row),
                    bucket,
                    offset: *next,
                });
                *next += 1;
            }
            start = end;
            for (to, from) in self.features.iter_mut().zip(rows.features) {
                write(to, &places, |number| {
                    let negated = u64::from(number & SWAPPED) << 32;
                    // Adding zero turns a negative zero into a positive one: both must sort alike.
                    f64::from_bits(from[row_of(number)].to_bits() ^ negated) + 0.0
                });
            }
            write(&mut self.outcomes, &places, |number| {
                canonical_outcome(number & SWAPPED != 0, rows.scores[row_of(number)])
            });
            write(&mut self.weights, &places, |number| {
                input.weight(row_of(number))
            });
            write(&mut self.counts, &places, |number| {
                input.count(row_of(number))
            });
            if let Some(clusters) = rows.clusters {
                write(&mut self.clusters, &places, |number| {
                    clusters[row_of(number)]
                });
            }
        }
    }
}

fn row_of(number: u32) -> usize {
    (number & !SWAPPED) as usize
}

/// Writes a value for each place, unless nobody needs them.
#[inline(always)]
fn write<T>(to: &mut [&mut [T]], places: &[Place], value: impl Fn(u32) -> T) {
    if to.is_empty() {
        return;
    }
    for place in places {
        to[place.bucket as usize][place.offset as usize] = value(place.number);
    }
}

/// Takes the first `length` entries off a slice.
pub(super) fn split<'a, T>(rest: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    let (own, after) = std::mem::take(rest).split_at_mut(length);
    *rest = after;
    own
}
