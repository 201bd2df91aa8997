//! Sums over rows: gradient, information and squared scores, by several rows at a time and on several threads.
//!
//! Rows of one pair of models follow each other. Each run of them is summed for itself, by whichever thread; the sums of
//! runs are then added up in their order. So the number of threads changes no bit.

use std::borrow::Cow;
use std::ops::Range;

use crate::comparisons::{Comparisons, in_parallel};
use crate::linear_algebra::Matrix;
use crate::wide::{self, Work};

/// Sums over rows are kept in so many parts, row by row in turn: as many as a vector register holds.
const LANES: usize = 4;
/// Rows that are worked on together: enough to fill vector registers, few enough to stay in the first cache.
const BLOCK: usize = 512;
/// Rows that one thread takes at a time; a longer run is cut into several.
const SHARD: usize = 1 << 14;
/// Numbers to be looked at, features included, from which on a second thread gains more than it costs to begin.
const THREADED: usize = 1 << 16;

#[inline(always)]
fn add(sum: &mut [f64; LANES], x: [f64; LANES]) {
    for lane in 0..LANES {
        sum[lane] += x[lane];
    }
}

#[inline(always)]
fn add_product(sum: &mut [f64; LANES], x: [f64; LANES], y: [f64; LANES]) {
    for lane in 0..LANES {
        sum[lane] += x[lane] * y[lane];
    }
}

#[inline(always)]
fn total(sum: [f64; LANES]) -> f64 {
    (sum[0] + sum[1]) + (sum[2] + sum[3])
}

/// The rows that do not fill a chunk, filled up with 0.
#[inline(always)]
fn filled(rest: &[f64]) -> [f64; LANES] {
    std::array::from_fn(|lane| rest.get(lane).copied().unwrap_or(0.0))
}

/// Battles of one pair of models: a run of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(super) i: u32,
    pub(super) j: u32,
    pub(super) end: usize,
}

/// What each row is about: the models by runs, the features by column.
#[derive(Debug)]
pub(crate) struct Design<'a> {
    pub(super) n_models: usize,
    // Invariant: the ends ascend, and the last one is the number of rows.
    pub(super) runs: Vec<Run>,
    /// One column for each feature: sums over rows then work on several rows at once.
    pub(super) features: Vec<Cow<'a, [f64]>>,
    /// Known part of each row's log-odds; empty when there is none.
    pub(super) offsets: Vec<f64>,
    pub(super) n_threads: usize,
}

/// What is summed: turns the log-odds of rows into a residual and a curvature each.
pub(crate) trait Terms: Sync {
    /// `values` holds log-odds before and residuals after. Both slices belong to the given rows.
    ///
    /// To be `#[inline(always)]`, so that it is compiled for the vectors in use.
    fn terms(&self, rows: Range<usize>, values: &mut [f64], curvatures: &mut [f64]);
}

/// Sums by run, and of features by shard.
///
/// Σ r and Σ c z zᵀ with z = (e_i − e_j, x), r the residual and c the curvature of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    pub(super) n_models: usize,
    pub(super) n_features: usize,
    /// For each run Σ r, Σ c, and Σ c x for each feature.
    by_run: Vec<f64>,
    /// Σ r x for each feature, then the lower triangle of Σ c x xᵀ by rows; summed over shards in their order.
    pub(super) of_features: Vec<f64>,
    by_shard: Vec<f64>,
}

impl<'a> Design<'a> {
    /// A design without rows.
    pub(super) fn empty(n_models: usize, n_features: usize) -> Self {
        Self {
            n_models,
            runs: Vec::new(),
            features: (0..n_features).map(|_| Cow::Owned(Vec::new())).collect(),
            offsets: Vec::new(),
            n_threads: 1,
        }
    }

    /// One row for each cell of comparisons.
    pub(crate) fn of_cells(comparisons: &'a Comparisons, n_threads: usize) -> Self {
        let mut design = Self {
            features: comparisons
                .feature_columns()
                .iter()
                .map(|column| Cow::Borrowed(&column[..]))
                .collect(),
            n_threads,
            ..Self::empty(comparisons.n_models(), 0)
        };
        design.runs.reserve(comparisons.pairs().len());
        for (pair, cells) in comparisons.by_pair() {
            let mut start = cells.start;
            while start < cells.end {
                let end = cells.end.min(start + SHARD);
                design.runs.push(Run {
                    i: pair.i,
                    j: pair.j,
                    end,
                });
                start = end;
            }
        }
        design
    }

    /// One row for each pair of comparisons without features.
    pub(crate) fn of_pairs(comparisons: &Comparisons, n_threads: usize) -> Self {
        let pairs = (1..).zip(comparisons.pairs());
        Self {
            runs: pairs
                .map(|(end, pair)| Run {
                    i: pair.i,
                    j: pair.j,
                    end,
                })
                .collect(),
            n_threads,
            ..Self::empty(comparisons.n_models(), 0)
        }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// Whether each run is one row, as it is without features: run and row then have the same number.
    #[inline(always)]
    fn has_single_rows(&self) -> bool {
        self.features.is_empty() && self.n_rows() == self.runs.len()
    }

    pub(super) fn n_features(&self) -> usize {
        self.features.len()
    }

    /// Threads that are worth beginning.
    fn n_threads(&self) -> usize {
        if self.n_rows() * (1 + self.n_features()) < THREADED {
            1
        } else {
            self.n_threads.max(1)
        }
    }

    /// Adds a row at the end of the last run or as a new one.
    pub(super) fn push(&mut self, i: u32, j: u32, features: &[f64]) {
        for (column, &value) in self.features.iter_mut().zip(features) {
            column.to_mut().push(value);
        }
        let end = self.n_rows() + 1;
        let start = self
            .runs
            .len()
            .checked_sub(2)
            .map_or(0, |before| self.runs[before].end);
        match self.runs.last_mut() {
            Some(run) if (run.i, run.j) == (i, j) && end - start <= SHARD => run.end = end,
            _ => self.runs.push(Run { i, j, end }),
        }
    }

    /// Runs that are summed together: whole runs of about [`SHARD`] rows.
    fn shards(&self) -> Vec<Range<usize>> {
        let mut shards = Vec::new();
        let (mut first, mut start) = (0, 0);
        while first < self.runs.len() {
            let end = self
                .runs
                .partition_point(|run| run.end <= start + SHARD)
                .max(first + 1);
            shards.push(first..end);
            start = self.runs[end - 1].end;
            first = end;
        }
        shards
    }

    /// Lower triangle of Σ c z zᵀ and Σ r z at a point.
    pub(crate) fn squares<T: Terms>(&self, terms: &T, parameters: &[f64]) -> (Matrix, Vec<f64>) {
        let n = self.n_models + self.n_features();
        let mut sums = Sums::default();
        self.sum(terms, parameters, true, &mut sums);
        let (mut matrix, mut vector) = (Matrix::zeros(n), vec![0.0; n]);
        sums.add_information(&self.runs, &mut matrix);
        sums.add_gradient(&self.runs, &mut vector);
        (matrix, vector)
    }

    /// First row of a run.
    fn start_of(&self, run: usize) -> usize {
        run.checked_sub(1).map_or(0, |before| self.runs[before].end)
    }

    /// All sums at a point; `sums` keeps its memory for the next call. Without `with_information` no curvature is summed.
    pub(crate) fn sum<T: Terms>(
        &self,
        terms: &T,
        parameters: &[f64],
        with_information: bool,
        sums: &mut Sums,
    ) {
        let n_features = self.n_features();
        let width = 2 + n_features;
        let shard_width = n_features + n_features * (n_features + 1) / 2;
        let shards = self.shards();
        sums.n_models = self.n_models;
        sums.n_features = n_features;
        sums.by_run.clear();
        sums.by_run.resize(self.runs.len() * width, 0.0);
        sums.by_shard.clear();
        sums.by_shard.resize(shards.len() * shard_width, 0.0);
        let mut parts = Vec::new();
        let (mut runs_left, mut shards_left) = (&mut sums.by_run[..], &mut sums.by_shard[..]);
        let each = shards.len().div_ceil(self.n_threads()).max(1);
        for shards in shards.chunks(each) {
            let n_runs = shards.last().map_or(0, |shard| shard.end) - shards[0].start;
            let (by_run, after) = std::mem::take(&mut runs_left).split_at_mut(n_runs * width);
            runs_left = after;
            let (by_shard, after) =
                std::mem::take(&mut shards_left).split_at_mut(shards.len() * shard_width);
            shards_left = after;
            parts.push(Part {
                design: self,
                terms,
                parameters,
                with_information,
                shards,
                by_run,
                by_shard,
            });
        }
        in_parallel(parts, wide::run);
        sums.of_features.clear();
        sums.of_features.resize(shard_width, 0.0);
        if shard_width > 0 {
            for of_shard in sums.by_shard.chunks_exact(shard_width) {
                for (sum, value) in sums.of_features.iter_mut().zip(of_shard) {
                    *sum += value;
                }
            }
        }
    }

    /// Sum of the residuals of all rows.
    pub(crate) fn total<T: Terms>(&self, terms: &T, parameters: &[f64]) -> f64 {
        let shards = self.shards();
        let each = shards.len().div_ceil(self.n_threads()).max(1);
        let mut totals = vec![0.0; shards.len()];
        let parts = shards.chunks(each).zip(totals.chunks_mut(each));
        let parts = parts.map(|(shards, totals)| TotalPart {
            design: self,
            terms,
            parameters,
            shards,
            totals,
        });
        in_parallel(parts.collect(), wide::run);
        totals.iter().sum()
    }

    /// Works out log-odds, then the terms, of the rows from `start` to at most `end`, and returns where it stopped.
    ///
    /// `run` is the run that holds row `start`, and afterwards the one that holds the end.
    #[inline(always)]
    fn fill_block<T: Terms>(
        &self,
        terms: &T,
        parameters: &[f64],
        start: usize,
        end: usize,
        run: &mut usize,
        block: &mut Block,
    ) -> usize {
        let end = end.min(start + BLOCK);
        let values = &mut block.values[..end - start];
        let curvatures = &mut block.curvatures[..end - start];
        block.segments.clear();
        let mut row = start;
        if self.has_single_rows() {
            let runs = &self.runs[start..end];
            for (d, run) in values.iter_mut().zip(runs) {
                *d = parameters[run.i as usize] - parameters[run.j as usize];
            }
            *run = end;
            row = end;
        }
        while row < end {
            let segment = self.runs[*run];
            let until = segment.end.min(end);
            let base = parameters[segment.i as usize] - parameters[segment.j as usize];
            values[row - start..until - start].fill(base);
            block.segments.push((*run, until));
            row = until;
            if until == segment.end {
                *run += 1;
            }
        }
        for (column, &beta) in self.features.iter().zip(&parameters[self.n_models..]) {
            for (d, x) in values.iter_mut().zip(&column[start..end]) {
                *d += x * beta;
            }
        }
        if !self.offsets.is_empty() {
            for (d, offset) in values.iter_mut().zip(&self.offsets[start..end]) {
                *d += offset;
            }
        }
        terms.terms(start..end, values, curvatures);
        end
    }
}

/// What one thread sums.
struct Part<'a, T> {
    design: &'a Design<'a>,
    terms: &'a T,
    parameters: &'a [f64],
    with_information: bool,
    shards: &'a [Range<usize>],
    by_run: &'a mut [f64],
    by_shard: &'a mut [f64],
}

/// Rows that are worked on together.
struct Block {
    /// Log-odds, then residuals.
    values: [f64; BLOCK],
    curvatures: [f64; BLOCK],
    /// Runs in the block, and where each ends in it.
    segments: Vec<(usize, usize)>,
}

impl Block {
    fn new() -> Self {
        Self {
            values: [0.0; BLOCK],
            curvatures: [0.0; BLOCK],
            segments: Vec::with_capacity(BLOCK),
        }
    }
}

impl<T: Terms> Work for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        // A number known while compiling lets the sums over features stay in registers.
        match self.design.n_features() {
            0 => self.accumulate::<0>(),
            1 => self.accumulate::<1>(),
            2 => self.accumulate::<2>(),
            3 => self.accumulate::<3>(),
            4 => self.accumulate::<4>(),
            5 => self.accumulate::<5>(),
            6 => self.accumulate::<6>(),
            _ => self.accumulate_any(),
        }
    }
}

impl<T: Terms> Part<'_, T> {
    /// Sums over rows for a number of features that is known while compiling.
    #[inline(always)]
    fn accumulate<const F: usize>(&mut self) {
        let width = 2 + F;
        let shard_width = F + F * (F + 1) / 2;
        let mut block = Block::new();
        let first_run = self.shards.first().map_or(0, |shard| shard.start);
        for (shard_idx, shard) in self.shards.iter().enumerate() {
            let mut gradient_features = [[0.0; LANES]; F];
            let mut information_features = [[[0.0; LANES]; F]; F];
            let mut run = shard.start;
            let mut start = self.design.start_of(shard.start);
            let last = self.design.runs[shard.end - 1].end;
            while start < last {
                let end = self.design.fill_block(
                    self.terms,
                    self.parameters,
                    start,
                    last,
                    &mut run,
                    &mut block,
                );
                if F == 0 && self.design.has_single_rows() {
                    let by_run = &mut self.by_run[(start - first_run) * width..];
                    let rows = block.values[..end - start].iter().zip(&block.curvatures);
                    for (sums, (residual, curvature)) in by_run.chunks_exact_mut(width).zip(rows) {
                        sums[0] = *residual;
                        sums[1] = *curvature;
                    }
                    start = end;
                    continue;
                }
                let mut row = start;
                for &(run, until) in &block.segments {
                    let sums = &mut self.by_run[(run - first_run) * width..][..width];
                    let residuals = &block.values[row - start..until - start];
                    let curvatures = &block.curvatures[row - start..until - start];
                    if F == 0 {
                        // Without features a pair has one row as a rule, and nothing to gain from lanes.
                        sums[0] += residuals.iter().sum::<f64>();
                        if self.with_information {
                            sums[1] += curvatures.iter().sum::<f64>();
                        }
                        row = until;
                        continue;
                    }
                    let columns: [&[f64]; F] =
                        std::array::from_fn(|f| &self.design.features[f][row..until]);
                    let split = columns.map(|column| column.as_chunks::<LANES>());
                    let (chunks, rest) = residuals.as_chunks::<LANES>();
                    let n_chunks = chunks.len();
                    let cut: [&[[f64; LANES]]; F] = split.map(|column| &column.0[..n_chunks]);
                    let mut residual_sum = [0.0; LANES];
                    for (idx, &residual) in chunks.iter().enumerate() {
                        add(&mut residual_sum, residual);
                        for f in 0..F {
                            add_product(&mut gradient_features[f], residual, cut[f][idx]);
                        }
                    }
                    if !rest.is_empty() {
                        let residual = filled(rest);
                        add(&mut residual_sum, residual);
                        for f in 0..F {
                            add_product(&mut gradient_features[f], residual, filled(split[f].1));
                        }
                    }
                    sums[0] += total(residual_sum);
                    if self.with_information {
                        let (chunks, rest) = curvatures.as_chunks::<LANES>();
                        let mut curvature_sum = [0.0; LANES];
                        let mut cross = [[0.0; LANES]; F];
                        let mut step = |curvature: [f64; LANES], x: [[f64; LANES]; F]| {
                            add(&mut curvature_sum, curvature);
                            for f in 0..F {
                                let mut y = [0.0; LANES];
                                add_product(&mut y, curvature, x[f]);
                                add(&mut cross[f], y);
                                for g in 0..=f {
                                    add_product(&mut information_features[f][g], y, x[g]);
                                }
                            }
                        };
                        for (idx, &curvature) in chunks[..n_chunks].iter().enumerate() {
                            step(curvature, std::array::from_fn(|f| cut[f][idx]));
                        }
                        if !rest.is_empty() {
                            step(filled(rest), std::array::from_fn(|f| filled(split[f].1)));
                        }
                        sums[1] += total(curvature_sum);
                        for f in 0..F {
                            sums[2 + f] += total(cross[f]);
                        }
                    }
                    row = until;
                }
                start = end;
            }
            let of_shard = &mut self.by_shard[shard_idx * shard_width..][..shard_width];
            let mut position = F;
            for f in 0..F {
                of_shard[f] = total(gradient_features[f]);
                for sum in &information_features[f][..=f] {
                    of_shard[position] = total(*sum);
                    position += 1;
                }
            }
        }
    }

    /// Sums over rows for any number of features.
    #[inline(always)]
    fn accumulate_any(&mut self) {
        let n_features = self.design.n_features();
        let width = 2 + n_features;
        let shard_width = n_features + n_features * (n_features + 1) / 2;
        let mut block = Block::new();
        let first_run = self.shards.first().map_or(0, |shard| shard.start);
        for (shard_idx, shard) in self.shards.iter().enumerate() {
            let of_shard = &mut self.by_shard[shard_idx * shard_width..][..shard_width];
            let mut run = shard.start;
            let mut start = self.design.start_of(shard.start);
            let last = self.design.runs[shard.end - 1].end;
            while start < last {
                let end = self.design.fill_block(
                    self.terms,
                    self.parameters,
                    start,
                    last,
                    &mut run,
                    &mut block,
                );
                let mut row = start;
                for &(run, until) in &block.segments {
                    let sums = &mut self.by_run[(run - first_run) * width..][..width];
                    for idx in row..until {
                        let residual = block.values[idx - start];
                        let curvature = block.curvatures[idx - start];
                        sums[0] += residual;
                        if self.with_information {
                            sums[1] += curvature;
                        }
                        let mut position = n_features;
                        for (f, column) in self.design.features.iter().enumerate() {
                            let x = column[idx];
                            of_shard[f] += residual * x;
                            if self.with_information {
                                let y = curvature * x;
                                sums[2 + f] += y;
                                for other in &self.design.features[..=f] {
                                    of_shard[position] += y * other[idx];
                                    position += 1;
                                }
                            }
                        }
                    }
                    row = until;
                }
                start = end;
            }
        }
    }
}

/// What one thread sums of a single number for each row.
struct TotalPart<'a, T> {
    design: &'a Design<'a>,
    terms: &'a T,
    parameters: &'a [f64],
    shards: &'a [Range<usize>],
    totals: &'a mut [f64],
}

impl<T: Terms> Work for TotalPart<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut block = Block::new();
        for (shard, sum) in self.shards.iter().zip(self.totals) {
            let mut run = shard.start;
            let mut start = self.design.start_of(shard.start);
            let last = self.design.runs[shard.end - 1].end;
            let mut lanes = [0.0; LANES];
            while start < last {
                let end = self.design.fill_block(
                    self.terms,
                    self.parameters,
                    start,
                    last,
                    &mut run,
                    &mut block,
                );
                let (chunks, rest) = block.values[..end - start].as_chunks::<LANES>();
                for &chunk in chunks {
                    add(&mut lanes, chunk);
                }
                add(&mut lanes, filled(rest));
                start = end;
            }
            *sum = total(lanes);
        }
    }
}

impl Sums {
    /// For each run Σ r, Σ c, and Σ c x for each feature.
    pub(super) fn by_run(&self) -> impl Iterator<Item = &[f64]> {
        self.by_run.chunks_exact(2 + self.n_features)
    }

    /// Adds Σ r z: models, then features.
    pub(super) fn add_gradient(&self, runs: &[Run], gradient: &mut [f64]) {
        for (run, sums) in runs.iter().zip(self.by_run()) {
            gradient[run.i as usize] += sums[0];
            gradient[run.j as usize] -= sums[0];
        }
        let of_features = &mut gradient[self.n_models..];
        for (sum, value) in of_features.iter_mut().zip(&self.of_features) {
            *sum += value;
        }
    }

    /// Adds the lower triangle of Σ c z zᵀ.
    pub(super) fn add_information(&self, runs: &[Run], information: &mut Matrix) {
        for (run, sums) in runs.iter().zip(self.by_run()) {
            let (i, j) = (run.i as usize, run.j as usize);
            information.add(i, i, sums[1]);
            information.add(j, j, sums[1]);
            information.add(j, i, -sums[1]);
            for (f, cross) in sums[2..].iter().enumerate() {
                information.add(self.n_models + f, i, *cross);
                information.add(self.n_models + f, j, -cross);
            }
        }
        let mut position = self.n_features;
        for f in 0..self.n_features {
            for g in 0..=f {
                information.add(
                    self.n_models + f,
                    self.n_models + g,
                    self.of_features[position],
                );
                position += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bradley_terry::{FitOptions, Likelihood};

    /// Runs of one to nine rows in three columns, or of very many, and so many features that are always 0.
    fn example(n_rows: u32, zeros: usize) -> Likelihood<'static> {
        let mut likelihood = Likelihood::empty(4, 3 + zeros, &FitOptions::default());
        for idx in 0..n_rows {
            let run = if idx > 2_000 {
                1
            } else {
                idx / (1 + idx % 9) % 3
            };
            let x = |k: u32| f64::from((idx * k) % 17) / 8.0 - 1.0;
            let mut features = vec![x(3), x(5), x(7)];
            features.resize(3 + zeros, 0.0);
            likelihood.push_row(
                run,
                3,
                f64::from(idx % 3),
                2.0 - f64::from(idx % 3),
                &features,
            );
        }
        likelihood
    }

    fn at(likelihood: &Likelihood<'_>, parameters: &[f64]) -> (Vec<f64>, Matrix) {
        let mut sums = Sums::default();
        let mut gradient = vec![0.0; parameters.len()];
        likelihood.slopes(parameters, true, &mut gradient, &mut sums);
        let mut information = Matrix::zeros(parameters.len());
        sums.add_information(&likelihood.design.runs, &mut information);
        (gradient, information)
    }

    #[test]
    fn sums_do_not_depend_on_how_they_are_worked_out() {
        let parameters = [0.3, -0.2, 0.5, 0.0, 0.1, -0.4, 0.2, 1.0, 1.0, 1.0, 1.0];
        for n_rows in [700, 50_000] {
            // Three features are summed in registers, seven in a loop.
            let (mut known, any) = (example(n_rows, 0), example(n_rows, 4));
            let expected = at(&any, &parameters);
            let found = at(&known, &parameters[..7]);
            for row in 0..7 {
                assert!((found.0[row] - expected.0[row]).abs() < 1e-8);
                for column in 0..=row {
                    let (x, y) = (found.1.get(row, column), expected.1.get(row, column));
                    assert!((x - y).abs() < 1e-8, "{row} {column}: {x} {y}");
                }
            }
            for n_threads in [2, 3, 64] {
                known.design.n_threads = n_threads;
                assert_eq!(at(&known, &parameters[..7]), found);
            }
            // The gradient is that of the value.
            for idx in 0..7 {
                let value = |shift: f64| {
                    let mut moved = parameters[..7].to_vec();
                    moved[idx] += shift;
                    known.value(&moved).0
                };
                let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
                assert!(
                    (found.0[idx] - slope).abs() < 1e-7 * f64::from(n_rows),
                    "{idx}"
                );
            }
        }
    }
}
