//! Newton steps for very many models, who meet only some of the others: no matrix, only the sums of each pair.

use super::design::{Run, Sums};
use crate::Error;

/// Conjugate gradients with the diagonal as preconditioner (Hestenes & Stiefel 1952; Golub & Van Loan 2013, §11.5).
///
/// The matrix of the models is a weighted graph Laplacian (plus the penalty). Where models met at random it has few
/// distinct eigenvalues after scaling, and a few dozen rounds are enough whatever the number of models.
#[derive(Debug)]
pub(super) struct ConjugateGradients {
    n_models: usize,
    /// Curvature of each run, and for each feature the matrix row of the models.
    curvatures: Vec<f64>,
    cross: Vec<Vec<f64>>,
    of_features: Vec<f64>,
    ridge: Vec<f64>,
    ground: Option<usize>,
    /// 1 / diagonal; 0 for parameters that do not move.
    scaling: Vec<f64>,
    residual: Vec<f64>,
    scaled: Vec<f64>,
    direction: Vec<f64>,
    product: Vec<f64>,
}

impl ConjugateGradients {
    pub(super) fn new(n: usize) -> Self {
        Self {
            n_models: 0,
            curvatures: Vec::new(),
            cross: Vec::new(),
            of_features: Vec::new(),
            ridge: Vec::new(),
            ground: None,
            scaling: vec![0.0; n],
            residual: vec![0.0; n],
            scaled: vec![0.0; n],
            direction: vec![0.0; n],
            product: vec![0.0; n],
        }
    }

    /// Takes over the information at a point.
    pub(super) fn prepare(
        &mut self,
        runs: &[Run],
        sums: &Sums,
        ridge: &[f64],
        ground: Option<usize>,
        fixed: &[usize],
    ) -> Result<(), Error> {
        let n_features = sums.n_features;
        self.n_models = sums.n_models;
        self.ground = ground;
        self.ridge.clear();
        self.ridge.extend_from_slice(ridge);
        self.curvatures.clear();
        self.cross.clear();
        self.cross.resize(n_features, vec![0.0; self.n_models]);
        let mut diagonal = self.ridge.clone();
        for (run, sums) in runs.iter().zip(sums.by_run()) {
            self.curvatures.push(sums[1]);
            diagonal[run.i as usize] += sums[1];
            diagonal[run.j as usize] += sums[1];
            for (row, value) in self.cross.iter_mut().zip(&sums[2..]) {
                row[run.i as usize] += value;
                row[run.j as usize] -= value;
            }
        }
        self.of_features.clear();
        self.of_features.resize(n_features * n_features, 0.0);
        let mut position = n_features;
        for f in 0..n_features {
            for g in 0..=f {
                let value = sums.of_features[position];
                self.of_features[f * n_features + g] = value;
                self.of_features[g * n_features + f] = value;
                position += 1;
            }
            diagonal[self.n_models + f] += self.of_features[f * n_features + f];
        }
        for (idx, (scaling, diagonal)) in self.scaling.iter_mut().zip(&diagonal).enumerate() {
            if fixed.contains(&idx) {
                *scaling = 0.0;
            } else if *diagonal > 0.0 && diagonal.is_finite() {
                *scaling = 1.0 / diagonal;
            } else {
                return Err(match idx.checked_sub(self.n_models) {
                    Some(feature) => Error::CollinearFeature { feature },
                    None => Error::Singular,
                });
            }
        }
        Ok(())
    }

    /// Solves for the right side in `x`, in place, to the given share of it in the norm of the preconditioner.
    pub(super) fn solve(
        &mut self,
        runs: &[Run],
        x: &mut [f64],
        tolerance: f64,
    ) -> Result<(), Error> {
        /// A step that is known to this share still leads to the optimum, in a few more rounds.
        const GOOD_ENOUGH: f64 = 0.1;
        let n = x.len();
        self.residual.copy_from_slice(x);
        x.fill(0.0);
        for (residual, scaling) in self.residual.iter_mut().zip(&self.scaling) {
            if *scaling == 0.0 {
                *residual = 0.0;
            }
        }
        self.balance();
        let mut rho = self.precondition();
        let limit = rho * tolerance * tolerance;
        let enough = rho * GOOD_ENOUGH * GOOD_ENOUGH;
        self.direction.copy_from_slice(&self.scaled);
        // In exact arithmetic n rounds are enough.
        for _ in 0..2 * n + 100 {
            if rho <= limit || rho == 0.0 {
                break;
            }
            self.multiply(runs);
            let bend = dot(&self.direction, &self.product);
            if !(bend > 0.0 && bend.is_finite()) {
                break;
            }
            let alpha = rho / bend;
            for (x, direction) in x.iter_mut().zip(&self.direction) {
                *x += alpha * direction;
            }
            for (residual, product) in self.residual.iter_mut().zip(&self.product) {
                *residual -= alpha * product;
            }
            self.balance();
            let before = rho;
            rho = self.precondition();
            let beta = rho / before;
            for (direction, scaled) in self.direction.iter_mut().zip(&self.scaled) {
                *direction = scaled + beta * *direction;
            }
        }
        if rho.is_nan() || rho > limit.max(enough) {
            return Err(Error::Singular);
        }
        // Adding a number to all strengths changes no battle: the model held fixed shall not move.
        if let Some(ground) = self.ground {
            let shift = x[ground];
            for (value, scaling) in x[..self.n_models].iter_mut().zip(&self.scaling) {
                if *scaling > 0.0 {
                    *value -= shift;
                }
            }
        }
        Ok(())
    }

    /// Takes out what rounding has left of the direction in which all strengths move together, which has no solution.
    fn balance(&mut self) {
        if self.ground.is_none() {
            return;
        }
        let (mut sum, mut n) = (0.0, 0.0);
        let models = self
            .residual
            .iter_mut()
            .zip(&self.scaling)
            .take(self.n_models);
        for (residual, scaling) in models {
            if *scaling > 0.0 {
                sum += *residual;
                n += 1.0;
            }
        }
        let models = self
            .residual
            .iter_mut()
            .zip(&self.scaling)
            .take(self.n_models);
        for (residual, scaling) in models {
            if *scaling > 0.0 {
                *residual -= sum / n;
            }
        }
    }

    /// Scales the residual; returns its squared norm.
    fn precondition(&mut self) -> f64 {
        for ((scaled, residual), scaling) in self
            .scaled
            .iter_mut()
            .zip(&self.residual)
            .zip(&self.scaling)
        {
            *scaled = residual * scaling;
        }
        dot(&self.residual, &self.scaled)
    }

    /// `product` becomes the matrix times `direction`.
    fn multiply(&mut self, runs: &[Run]) {
        let n_models = self.n_models;
        let n_features = self.cross.len();
        let (direction, product) = (&self.direction, &mut self.product);
        for ((product, ridge), direction) in product.iter_mut().zip(&self.ridge).zip(direction) {
            *product = ridge * direction;
        }
        for (run, curvature) in runs.iter().zip(&self.curvatures) {
            let (i, j) = (run.i as usize, run.j as usize);
            let flow = curvature * (direction[i] - direction[j]);
            product[i] += flow;
            product[j] -= flow;
        }
        for (f, row) in self.cross.iter().enumerate() {
            let own = direction[n_models + f];
            let mut sum = dot(row, &direction[..n_models]);
            for (product, value) in product.iter_mut().zip(row) {
                *product += value * own;
            }
            for g in 0..n_features {
                sum += self.of_features[f * n_features + g] * direction[n_models + g];
            }
            product[n_models + f] += sum;
        }
        for (product, scaling) in product.iter_mut().zip(&self.scaling) {
            if *scaling == 0.0 {
                *product = 0.0;
            }
        }
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
