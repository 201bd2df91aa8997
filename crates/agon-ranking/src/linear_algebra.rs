//! The little dense linear algebra that the fits need: Cholesky, solving, inverse, symmetric products.
//!
//! Own code rather than a library: a few dozen lines, no allocation inside an iteration, and the same sequence of
//! operations on every machine, where a library that picks instructions at run time may round differently.
//!
//! Everything is made of inner products of rows, several at a time, so that numbers once loaded are used often.

mod blocked;

use std::num::NonZeroUsize;

use crate::comparisons::in_parallel;
use crate::wide::{self, Work};
use blocked::deal;

/// What is left of a diagonal entry after elimination is rounding error below this share of it.
const SINGULAR: f64 = 1e-13;
/// From so many rows on, matrices are worked on by blocks.
const BLOCKED: usize = 400;

/// A square matrix by rows; symmetric ones keep only the lower triangle until it is said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    n: usize,
    values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zeros(n: usize) -> Self {
        Self {
            n,
            values: vec![0.0; n * n],
        }
    }

    pub(crate) fn n(&self) -> usize {
        self.n
    }

    pub(crate) fn get(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.n + column]
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.n + column] = value;
    }

    pub(crate) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.n + column] += value;
    }

    pub(crate) fn clear(&mut self) {
        self.values.fill(0.0);
    }

    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.values.copy_from_slice(&other.values);
    }

    /// A column of a full symmetric matrix, which is its row.
    pub(crate) fn column(&self, column: usize) -> &[f64] {
        row(&self.values, self.n, column)
    }

    pub(crate) fn row_mut(&mut self, idx: usize) -> &mut [f64] {
        &mut self.values[idx * self.n..(idx + 1) * self.n]
    }

    /// `self · x`, where `x` may be shorter and is then filled up with 0.
    pub(crate) fn multiply(&self, x: &[f64], product: &mut [f64]) {
        wide::run(Multiply {
            matrix: self,
            x,
            product,
        });
    }

    /// Replaces row and column `idx` by those of the identity.
    pub(crate) fn ground(&mut self, idx: usize) {
        for other in 0..self.n {
            self.set(idx, other, 0.0);
            self.set(other, idx, 0.0);
        }
        self.set(idx, idx, 1.0);
    }

    /// Copies the lower triangle to the upper one.
    pub(crate) fn mirror(&mut self) {
        for row in 0..self.n {
            for column in 0..row {
                self.values[column * self.n + row] = self.values[row * self.n + column];
            }
        }
    }

    /// Factors the lower triangle in place into `L` with `L Lᵀ` = the matrix (Cholesky; Golub & Van Loan 2013, §4.2).
    ///
    /// Returns the first column that is a combination of those before it, if there is one.
    pub(crate) fn factor(&mut self) -> Result<(), usize> {
        wide::run(Factor(self))
    }

    /// Solves `L Lᵀ x = b` in place, where `self` holds `L` from [`Matrix::factor`].
    pub(crate) fn solve(&self, b: &mut [f64]) {
        let n = self.n;
        for idx in 0..n {
            let lower = row(&self.values, n, idx);
            b[idx] = (b[idx] - dot(&lower[..idx], &b[..idx])) / lower[idx];
        }
        for idx in (0..n).rev() {
            let lower = row(&self.values, n, idx);
            let value = b[idx] / lower[idx];
            b[idx] = value;
            for (t, x) in b[..idx].iter_mut().zip(lower) {
                *t -= value * x;
            }
        }
    }

    /// The full inverse of the matrix whose factor `L` is in `self`.
    pub(crate) fn inverse(&self) -> Self {
        self.inverse_on(NonZeroUsize::MIN)
    }

    /// The same on several threads.
    fn inverse_on(&self, n_threads: NonZeroUsize) -> Self {
        let n = self.n;
        let strip = TALL * n.max(1);
        // Row `a` of U is column `a` of L⁻¹, which starts at position `a`.
        let mut upper = vec![0.0; n * n];
        let strips = deal(upper.chunks_mut(strip).enumerate(), n_threads.get());
        in_parallel(strips, |strips| {
            for (idx, rows) in strips {
                wide::run(InverseColumns {
                    lower: self,
                    start: idx * TALL,
                    rows,
                });
            }
        });
        // A⁻¹ = L⁻ᵀ L⁻¹: rows of U against each other, from where the lower of the two starts.
        let mut inverse = Self::zeros(n);
        let strips = deal(
            inverse.values.chunks_mut(strip).enumerate(),
            n_threads.get(),
        );
        in_parallel(strips, |strips| {
            for (idx, rows) in strips {
                wide::run(GramRows {
                    n,
                    upper: &upper,
                    start: idx * TALL,
                    rows,
                });
            }
        });
        inverse.mirror();
        inverse
    }

    /// The full inverse of a symmetric matrix given by its lower triangle, in place.
    ///
    /// Returns the first column that is a combination of those before it, if there is one.
    pub(crate) fn invert(&mut self, n_threads: NonZeroUsize) -> Result<(), usize> {
        if self.n < BLOCKED {
            self.factor()?;
            *self = self.inverse_on(n_threads);
            return Ok(());
        }
        for row in 0..self.n {
            self.values[row * self.n + row + 1..(row + 1) * self.n].fill(0.0);
        }
        blocked::factor(self, n_threads.get())?;
        blocked::invert_factored(self, n_threads.get());
        Ok(())
    }

    /// `self · inner · self` for two full symmetric matrices, on several threads.
    pub(crate) fn sandwich_on(&self, inner: &Self, n_threads: NonZeroUsize) -> Self {
        if self.n < BLOCKED {
            return self.sandwich(inner);
        }
        blocked::sandwich(self, inner, n_threads.get())
    }

    /// The diagonal of `self · inner · self` for two full symmetric matrices, in a third of the time for all of it.
    pub(crate) fn quadratic_forms(&self, inner: &Self, n_threads: NonZeroUsize) -> Vec<f64> {
        blocked::quadratic_forms(self, inner, n_threads.get())
    }

    /// `self · inner · self` for two full symmetric matrices.
    pub(crate) fn sandwich(&self, inner: &Self) -> Self {
        let mut product = wide::run(Sandwich(self, inner));
        product.mirror();
        product
    }
}

/// Rows that are worked on together: so many inner products are in progress at once.
const TALL: usize = 4;
/// Rows that they are multiplied with.
const BROAD: usize = 2;

/// Rows that fit in the first cache for the sizes that matter, a multiple of the other two.
const PANEL: usize = 16;

struct Multiply<'a> {
    matrix: &'a Matrix,
    x: &'a [f64],
    product: &'a mut [f64],
}

impl Work for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { matrix, x, product } = self;
        inner_products(&matrix.values, matrix.n, x, product);
    }
}

struct Factor<'a>(&'a mut Matrix);

impl Work for Factor<'_> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let n = self.0.n;
        let values = &mut self.0.values;
        let mut start = 0;
        while start < n {
            // A whole block of rows, or the last rows one by one.
            let tall = if start + TALL <= n { TALL } else { 1 };
            let (done, own) = values.split_at_mut(start * n);
            if tall == TALL {
                // Blocks start at multiples of TALL, so pairs of columns fill what is left of them.
                for column in (0..start).step_by(BROAD) {
                    let sums = tile(
                        std::array::from_fn(|r| &own[r * n..r * n + column]),
                        std::array::from_fn(|c| &done[(column + c) * n..(column + c) * n + column]),
                    );
                    let pivots = [
                        done[column * n + column],
                        done[(column + 1) * n + column + 1],
                    ];
                    let between = done[(column + 1) * n + column];
                    for (r, sums) in sums.iter().enumerate() {
                        let target = &mut own[r * n + column..r * n + column + BROAD];
                        target[0] = (target[0] - sums[0]) / pivots[0];
                        target[1] = (target[1] - sums[1] - target[0] * between) / pivots[1];
                    }
                }
            }
            for r in 0..tall {
                let idx = start + r;
                // Columns that the block above has not filled.
                let first = if tall == TALL { start } else { 0 };
                for column in first..idx {
                    let (before, after) = own.split_at_mut(r * n);
                    let other = if column < start {
                        row(done, n, column)
                    } else {
                        row(before, n, column - start)
                    };
                    let known = dot(&after[..column], &other[..column]);
                    after[column] = (after[column] - known) / other[column];
                }
                let own_row = &mut own[r * n..r * n + idx + 1];
                let diagonal = own_row[idx];
                let pivot = diagonal - dot(&own_row[..idx], &own_row[..idx]);
                // Written so that a NaN fails too.
                if !(pivot > SINGULAR * diagonal && diagonal > 0.0 && pivot.is_finite()) {
                    return Err(idx);
                }
                own_row[idx] = pivot.sqrt();
            }
            start += tall;
        }
        Ok(())
    }
}

/// Columns of the inverse of a factor, as rows.
struct InverseColumns<'a> {
    lower: &'a Matrix,
    start: usize,
    /// At most [`TALL`] whole rows.
    rows: &'a mut [f64],
}

impl Work for InverseColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lower, start, rows } = self;
        let n = lower.n;
        let lower = &lower.values;
        let tall = rows.len() / n;
        for r in 0..tall {
            let own = &mut rows[r * n..(r + 1) * n];
            own[start + r] = 1.0 / lower[(start + r) * n + start + r];
            for k in start + r + 1..start + tall {
                let other = row(lower, n, k);
                own[k] = -dot(&own[start..k], &other[start..k]) / other[k];
            }
        }
        let mut k = start + tall;
        if tall == TALL {
            while k + BROAD <= n {
                let sums = tile(
                    std::array::from_fn(|r| &rows[r * n + start..r * n + k]),
                    std::array::from_fn(|c| &lower[(k + c) * n + start..(k + c) * n + k]),
                );
                let pivots = [lower[k * n + k], lower[(k + 1) * n + k + 1]];
                let between = lower[(k + 1) * n + k];
                for (r, sums) in sums.iter().enumerate() {
                    let target = &mut rows[r * n + k..r * n + k + BROAD];
                    target[0] = -sums[0] / pivots[0];
                    target[1] = -(sums[1] + target[0] * between) / pivots[1];
                }
                k += BROAD;
            }
        }
        for k in k..n {
            let other = row(lower, n, k);
            for own in rows.chunks_exact_mut(n) {
                own[k] = -dot(&own[start..k], &other[start..k]) / other[k];
            }
        }
    }
}

/// Rows of U Uᵀ up to the diagonal, for an upper triangle U.
struct GramRows<'a> {
    n: usize,
    upper: &'a [f64],
    start: usize,
    /// At most [`TALL`] whole rows.
    rows: &'a mut [f64],
}

impl Work for GramRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            n,
            upper,
            start,
            rows,
        } = self;
        let tall = rows.len() / n;
        let own = &upper[start * n..(start + tall) * n];
        product_rows(n, own, upper, tall, start, 0..start + tall, rows);
    }
}

struct Sandwich<'a>(&'a Matrix, &'a Matrix);

impl Work for Sandwich<'_> {
    type Output = Matrix;

    #[inline(always)]
    fn run(self) -> Matrix {
        let n = self.0.n;
        let (outer, inner) = (&self.0.values, &self.1.values);
        // Both are symmetric, so their rows are their columns.
        let mut half = vec![0.0; n * n];
        // A panel of rows of B stays in the first cache while all rows of the other matrix pass by.
        for first in (0..n).step_by(PANEL) {
            let mut start = 0;
            while start < n {
                let tall = if start + TALL <= n { TALL } else { 1 };
                let columns = first..n.min(first + PANEL);
                let rows = start * n..(start + tall) * n;
                product_rows(
                    n,
                    &outer[rows.clone()],
                    inner,
                    tall,
                    0,
                    columns,
                    &mut half[rows],
                );
                start += tall;
            }
        }
        let mut product = Matrix::zeros(n);
        lower_products(n, &half, outer, &mut product.values);
        product
    }
}

/// The lower triangle of X Yᵀ, for a product that is symmetric.
#[inline(always)]
fn lower_products(n: usize, x: &[f64], y: &[f64], out: &mut [f64]) {
    for first in (0..n).step_by(PANEL) {
        let mut start = first / TALL * TALL;
        while start < n {
            let tall = if start + TALL <= n { TALL } else { 1 };
            let rows = start * n..(start + tall) * n;
            let columns = first..(start + tall).min(first + PANEL);
            product_rows(n, &x[rows.clone()], y, tall, 0, columns, &mut out[rows]);
            start += tall;
        }
    }
}

/// `tall` rows of X Yᵀ, some columns of it, inner products from position `from` on.
#[inline(always)]
fn product_rows(
    n: usize,
    x: &[f64],
    y: &[f64],
    tall: usize,
    from: usize,
    columns: std::ops::Range<usize>,
    out: &mut [f64],
) {
    let mut column = columns.start;
    if tall == TALL {
        while column + BROAD <= columns.end {
            let sums = tile(
                std::array::from_fn(|r| &x[r * n + from..(r + 1) * n]),
                std::array::from_fn(|c| &y[(column + c) * n + from..(column + c + 1) * n]),
            );
            for (r, sums) in sums.iter().enumerate() {
                out[r * n + column..r * n + column + BROAD].copy_from_slice(sums);
            }
            column += BROAD;
        }
    }
    for column in column..columns.end {
        for r in 0..tall {
            out[r * n + column] = dot(&row(x, n, r)[from..], &row(y, n, column)[from..]);
        }
    }
}

#[inline(always)]
fn row(values: &[f64], n: usize, idx: usize) -> &[f64] {
    &values[idx * n..(idx + 1) * n]
}

/// Inner products of each of the first rows with each of the second ones, all of one length, summed like [`dot`].
#[inline(always)]
fn tile(x: [&[f64]; TALL], y: [&[f64]; BROAD]) -> [[f64; BROAD]; TALL] {
    let length = x[0].len();
    let x_chunks = x.map(|x| x[..length].as_chunks::<4>());
    let y_chunks = y.map(|y| y[..length].as_chunks::<4>());
    let mut sums = [[[0.0; 4]; BROAD]; TALL];
    // Cut to one length that the compiler sees, so that the innermost loop needs no check of bounds.
    let chunks = length / 4;
    let x_cut = x_chunks.map(|x| &x.0[..chunks]);
    let y_cut = y_chunks.map(|y| &y.0[..chunks]);
    for chunk in 0..chunks {
        let y = [y_cut[0][chunk], y_cut[1][chunk]];
        for r in 0..TALL {
            let x = x_cut[r][chunk];
            for c in 0..BROAD {
                for lane in 0..4 {
                    sums[r][c][lane] += x[lane] * y[c][lane];
                }
            }
        }
    }
    std::array::from_fn(|r| {
        std::array::from_fn(|c| {
            let rest = x_chunks[r].1.iter().zip(y_chunks[c].1);
            let rest: f64 = rest.map(|(x, y)| x * y).sum();
            let [s0, s1, s2, s3] = sums[r][c];
            (s0 + s1) + (s2 + s3) + rest
        })
    })
}

/// Takes the parts along unit vectors, which follow each other in `basis`, away from a vector.
///
/// `parts` is room for one number for each of them.
pub(crate) fn make_orthogonal(vector: &mut [f64], basis: &[f64], parts: &mut Vec<f64>) {
    parts.resize(basis.len() / vector.len().max(1), 0.0);
    wide::run(MakeOrthogonal {
        vector,
        basis,
        parts,
    });
}

struct MakeOrthogonal<'a> {
    vector: &'a mut [f64],
    basis: &'a [f64],
    parts: &'a mut [f64],
}

impl Work for MakeOrthogonal<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            vector,
            basis,
            parts,
        } = self;
        let n = vector.len();
        inner_products(basis, n, vector, parts);
        let mut rows = basis.chunks_exact(n.max(1));
        let (by_four, rest) = parts.as_chunks::<TALL>();
        for four in by_four {
            let own: [&[f64]; TALL] = std::array::from_fn(|_| rows.next().unwrap_or(&[]));
            let own = own.map(|own| &own[..n.min(own.len())]);
            for (idx, x) in vector.iter_mut().enumerate() {
                for (part, own) in four.iter().zip(own) {
                    *x -= part * own[idx];
                }
            }
        }
        for (part, own) in rest.iter().zip(rows) {
            for (x, own) in vector.iter_mut().zip(own) {
                *x -= part * own;
            }
        }
    }
}

/// Inner products of the first rows of a matrix of width `n` with a vector, which may be shorter and is then filled up with 0.
///
/// Several rows at a time, as the sums of one would have to wait for each other; each is that of [`dot`] to the last bit.
#[inline(always)]
fn inner_products(values: &[f64], n: usize, x: &[f64], products: &mut [f64]) {
    let (x_chunks, x_rest) = x.as_chunks::<4>();
    let (by_four, last) = products.as_chunks_mut::<TALL>();
    let mut first = 0;
    for products in by_four {
        let rows: [&[f64]; TALL] = std::array::from_fn(|r| &row(values, n, first + r)[..x.len()]);
        let split = rows.map(|row| row.as_chunks::<4>());
        // Cut to one length that the compiler sees, so that the innermost loop needs no check of bounds.
        let chunks = split.map(|(chunks, _)| &chunks[..x_chunks.len()]);
        let mut sums = [[0.0; 4]; TALL];
        for (idx, x) in x_chunks.iter().enumerate() {
            for r in 0..TALL {
                for lane in 0..4 {
                    sums[r][lane] += chunks[r][idx][lane] * x[lane];
                }
            }
        }
        for r in 0..TALL {
            let rest: f64 = split[r].1.iter().zip(x_rest).map(|(v, x)| v * x).sum();
            let [s0, s1, s2, s3] = sums[r];
            products[r] = (s0 + s1) + (s2 + s3) + rest;
        }
        first += TALL;
    }
    for (r, product) in last.iter_mut().enumerate() {
        *product = dot(&row(values, n, first + r)[..x.len()], x);
    }
}

/// Inner product in four interleaved sums, which the compiler can keep in vector registers.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (x_chunks, x_rest) = x.as_chunks::<4>();
    let (y_chunks, y_rest) = y.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (x, y) in x_chunks.iter().zip(y_chunks) {
        for lane in 0..4 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A well-conditioned symmetric matrix with entries that differ.
    fn example(n: usize) -> Matrix {
        let mut matrix = Matrix::zeros(n);
        for row in 0..n {
            for column in 0..n {
                let distance = row.abs_diff(column) as f64;
                matrix.set(
                    row,
                    column,
                    (1.0 + ((row + column) % 3) as f64) / (1.0 + distance),
                );
            }
            matrix.add(row, row, 3.0 * n as f64);
        }
        matrix
    }

    fn product(x: &Matrix, y: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(x.n());
        for row in 0..x.n() {
            for column in 0..x.n() {
                let sum = (0..x.n()).map(|k| x.get(row, k) * y.get(k, column)).sum();
                product.set(row, column, sum);
            }
        }
        product
    }

    #[test]
    fn factor_solve_inverse_and_sandwich_agree_with_plain_loops() {
        // Sizes around the width of the unrolled loops.
        for n in 1..30 {
            let matrix = example(n);
            let mut factor = matrix.clone();
            factor.factor().unwrap();
            let inverse = factor.inverse();
            let identity = product(&matrix, &inverse);
            let mut solution: Vec<f64> = (0..n).map(|idx| idx as f64 - 2.0).collect();
            let right = solution.clone();
            factor.solve(&mut solution);
            for (row, right) in right.iter().enumerate() {
                let value: f64 = (0..n).map(|k| matrix.get(row, k) * solution[k]).sum();
                assert!((value - right).abs() < 1e-12);
                for column in 0..n {
                    let expected = if row == column { 1.0 } else { 0.0 };
                    assert!((identity.get(row, column) - expected).abs() < 1e-13);
                }
            }
            let sandwich = inverse.sandwich(&matrix);
            let forms = inverse.quadratic_forms(&matrix, NonZeroUsize::MIN);
            for (row, form) in forms.iter().enumerate() {
                assert!((sandwich.get(row, row) - form).abs() < 1e-13);
                for column in 0..n {
                    assert!((sandwich.get(row, column) - inverse.get(row, column)).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn blocks_and_threads_agree_with_rows() {
        // Below the size from which blocks are used: two blocks, and a rest that is no multiple of anything.
        let lower = |matrix: &Matrix| {
            let mut lower = Matrix::zeros(matrix.n());
            for row in 0..matrix.n() {
                for column in 0..=row {
                    lower.set(row, column, matrix.get(row, column));
                }
            }
            lower
        };
        for n in [128, 261] {
            let matrix = example(n);
            let mut factor = matrix.clone();
            factor.factor().unwrap();
            let expected = factor.inverse();
            let expected_sandwich = expected.sandwich(&matrix);
            let on = |n_threads: usize| {
                let n_threads = NonZeroUsize::new(n_threads).unwrap();
                let mut inverse = lower(&matrix);
                blocked::factor(&mut inverse, n_threads.get()).unwrap();
                blocked::invert_factored(&mut inverse, n_threads.get());
                let sandwich = blocked::sandwich(&inverse, &matrix, n_threads.get());
                let forms = inverse.quadratic_forms(&matrix, n_threads);
                for (row, form) in forms.iter().enumerate() {
                    assert!((sandwich.get(row, row) - form).abs() < 1e-14, "{row}");
                }
                (inverse, sandwich, forms)
            };
            let found = on(1);
            for row in 0..n {
                for column in 0..n {
                    let close = |x: &Matrix, y: &Matrix| {
                        (x.get(row, column) - y.get(row, column)).abs() < 1e-14
                    };
                    assert!(close(&found.0, &expected), "{row} {column}");
                    assert!(close(&found.1, &expected_sandwich), "{row} {column}");
                }
            }
            assert_eq!(on(3), found);
        }
        let mut repeated = example(300);
        for k in 0..300 {
            let value = repeated.get(k.max(50), k.min(50));
            repeated.set(k.max(200), k.min(200), value);
        }
        let corner = repeated.get(50, 50);
        repeated.set(200, 50, corner);
        repeated.set(200, 200, corner);
        assert_eq!(blocked::factor(&mut repeated, 1), Err(200));
    }

    #[test]
    fn wider_vectors_change_no_bit() {
        for n in [3, 19, 23, 64] {
            let matrix = example(n);
            let (mut wide, mut narrow) = (matrix.clone(), matrix.clone());
            wide.factor().unwrap();
            Factor(&mut narrow).run().unwrap();
            assert_eq!(wide, narrow);
            let inverse = wide.inverse();
            for n_threads in [2, 3] {
                let n_threads = NonZeroUsize::new(n_threads).unwrap();
                assert_eq!(narrow.inverse_on(n_threads), inverse);
            }
            let mut upper = vec![0.0; n * n];
            for (idx, rows) in upper.chunks_mut(TALL * n).enumerate() {
                let (start, lower) = (idx * TALL, &narrow);
                InverseColumns { lower, start, rows }.run();
            }
            let mut by_hand = Matrix::zeros(n);
            for (idx, rows) in by_hand.values.chunks_mut(TALL * n).enumerate() {
                let (start, upper) = (idx * TALL, &upper[..]);
                GramRows {
                    n,
                    upper,
                    start,
                    rows,
                }
                .run();
            }
            by_hand.mirror();
            assert_eq!(inverse, by_hand);
            let mut by_hand = Sandwich(&inverse, &matrix).run();
            by_hand.mirror();
            assert_eq!(inverse.sandwich(&matrix), by_hand);
        }
    }

    #[test]
    fn the_first_dependent_column_is_named() {
        let mut matrix = example(4);
        // Row and column 2 repeat row and column 1.
        for k in 0..4 {
            let value = matrix.get(1, k);
            matrix.set(2, k, value);
            matrix.set(k, 2, value);
        }
        let corner = matrix.get(1, 1);
        matrix.set(2, 1, corner);
        matrix.set(1, 2, corner);
        matrix.set(2, 2, corner);
        assert_eq!(matrix.factor(), Err(2));
        let mut broken = example(3);
        broken.set(1, 1, f64::NAN);
        assert_eq!(broken.factor(), Err(1));
        assert_eq!(Matrix::zeros(2).factor(), Err(0));
    }
}
