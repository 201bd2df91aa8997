//! The little dense linear algebra that the fits need: Cholesky, solving, inverse, symmetric products.
//!
//! Own code rather than a library: a few dozen lines, no allocation inside an iteration, and the same sequence of
//! operations on every machine, where a library that picks instructions at run time may round differently.

/// A square matrix in column-major order; symmetric ones keep only the lower triangle until it is said otherwise.
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
        self.values[column * self.n + row]
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[column * self.n + row] = value;
    }

    pub(crate) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.values[column * self.n + row] += value;
    }

    pub(crate) fn clear(&mut self) {
        self.values.fill(0.0);
    }

    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.values.copy_from_slice(&other.values);
    }

    pub(crate) fn column(&self, column: usize) -> &[f64] {
        &self.values[column * self.n..(column + 1) * self.n]
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
        for column in 0..self.n {
            for row in column + 1..self.n {
                self.values[row * self.n + column] = self.values[column * self.n + row];
            }
        }
    }

    /// Factors the lower triangle in place into `L` with `L Lᵀ` = the matrix (Cholesky; Golub & Van Loan 2013, §4.2).
    ///
    /// Returns the first column that is a combination of those before it, if there is one.
    pub(crate) fn factor(&mut self) -> Result<(), usize> {
        // What is left of a diagonal entry after elimination is rounding error below this share of it.
        const SINGULAR: f64 = 1e-13;
        let n = self.n;
        for column in 0..n {
            let (left, right) = self.values.split_at_mut(column * n);
            let target = &mut right[column..n];
            let diagonal = target[0];
            // Four earlier columns at a time: one pass over the target instead of four.
            let mut k = 0;
            while k + 4 <= column {
                let part = |offset: usize| &left[(k + offset) * n + column..(k + offset + 1) * n];
                let (c0, c1, c2, c3) = (part(0), part(1), part(2), part(3));
                let (f0, f1, f2, f3) = (c0[0], c1[0], c2[0], c3[0]);
                for ((((t, x0), x1), x2), x3) in target.iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                    *t -= f0 * x0 + f1 * x1 + f2 * x2 + f3 * x3;
                }
                k += 4;
            }
            for k in k..column {
                let source = &left[k * n + column..(k + 1) * n];
                let factor = source[0];
                for (t, x) in target.iter_mut().zip(source) {
                    *t -= factor * x;
                }
            }
            let pivot = target[0];
            // Written so that a NaN fails too.
            if !(pivot > SINGULAR * diagonal && diagonal > 0.0 && pivot.is_finite()) {
                return Err(column);
            }
            let root = pivot.sqrt();
            for t in target.iter_mut() {
                *t /= root;
            }
        }
        Ok(())
    }

    /// Solves `L Lᵀ x = b` in place, where `self` holds `L` from [`Matrix::factor`].
    pub(crate) fn solve(&self, b: &mut [f64]) {
        let n = self.n;
        for column in 0..n {
            let lower = self.column(column);
            let value = b[column] / lower[column];
            b[column] = value;
            for (t, x) in b[column + 1..].iter_mut().zip(&lower[column + 1..]) {
                *t -= value * x;
            }
        }
        for column in (0..n).rev() {
            let lower = self.column(column);
            let known: f64 = b[column + 1..]
                .iter()
                .zip(&lower[column + 1..])
                .map(|(x, y)| x * y)
                .sum();
            b[column] = (b[column] - known) / lower[column];
        }
    }

    /// The full inverse of the matrix whose factor `L` is in `self`.
    pub(crate) fn inverse(&self) -> Self {
        let n = self.n;
        let mut inverse_factor = Self::zeros(n);
        for column in 0..n {
            let target = &mut inverse_factor.values[column * n..(column + 1) * n];
            target[column] = 1.0;
            for k in column..n {
                let lower = self.column(k);
                let value = target[k] / lower[k];
                target[k] = value;
                for (t, x) in target[k + 1..].iter_mut().zip(&lower[k + 1..]) {
                    *t -= value * x;
                }
            }
        }
        let mut inverse = Self::zeros(n);
        for column in 0..n {
            for row in column..n {
                let x = &inverse_factor.column(column)[row..];
                let y = &inverse_factor.column(row)[row..];
                inverse.values[column * n + row] = dot(x, y);
            }
        }
        inverse.mirror();
        inverse
    }

    /// `self · inner · self` for two full symmetric matrices.
    pub(crate) fn sandwich(&self, inner: &Self) -> Self {
        let half = self.times(inner);
        let mut product = Self::zeros(self.n);
        // The product is symmetric: rows of `half` against columns of `self`, lower triangle only.
        let n = self.n;
        let mut transposed = Self::zeros(n);
        for column in 0..n {
            for row in 0..n {
                transposed.values[row * n + column] = half.values[column * n + row];
            }
        }
        for column in 0..n {
            for row in column..n {
                product.values[column * n + row] = dot(transposed.column(row), self.column(column));
            }
        }
        product.mirror();
        product
    }

    fn times(&self, other: &Self) -> Self {
        let n = self.n;
        let mut product = Self::zeros(n);
        for column in 0..n {
            let factors = other.column(column);
            let target = &mut product.values[column * n..(column + 1) * n];
            let mut k = 0;
            while k + 4 <= n {
                let (f0, f1, f2, f3) = (factors[k], factors[k + 1], factors[k + 2], factors[k + 3]);
                let (c0, c1, c2, c3) = (
                    self.column(k),
                    self.column(k + 1),
                    self.column(k + 2),
                    self.column(k + 3),
                );
                for ((((t, x0), x1), x2), x3) in target.iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                    *t += f0 * x0 + f1 * x1 + f2 * x2 + f3 * x3;
                }
                k += 4;
            }
            for (k, &factor) in factors.iter().enumerate().skip(k) {
                for (t, x) in target.iter_mut().zip(self.column(k)) {
                    *t += factor * x;
                }
            }
        }
        product
    }
}

/// Inner product in four interleaved sums, which the compiler can keep in vector registers.
fn dot(x: &[f64], y: &[f64]) -> f64 {
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
        for n in 1..14 {
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
            for row in 0..n {
                for column in 0..n {
                    assert!((sandwich.get(row, column) - inverse.get(row, column)).abs() < 1e-13);
                }
            }
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
