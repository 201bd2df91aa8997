//! Covariances of a fit under a stated anchor.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use crate::Error;
use crate::bradley_terry::{Design, Fit, SquaredScores, SquaredScoresOfPairs, sigmoid};
use crate::comparisons::{Cell, Comparisons};
use crate::linear_algebra::Matrix;

/// Parameters from which on the two matrices of a sandwich are made at the same time.
const THREADED_PARAMETERS_MIN: usize = 128;

/// How uncertainty is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CovarianceMethod {
    /// H⁻¹ B H⁻¹ with B the sum of squared scores of battles (Huber 1967, White 1980: HC0, no small-sample factor).
    ///
    /// The default: right also when ties count ½, where the model's own variance is too large.
    #[default]
    Sandwich,
    /// The same with scores summed by cluster (voter) before squaring (Liang & Zeger 1986: CR0).
    ClusteredSandwich,
    /// H⁻¹, the inverse Fisher information.
    ModelBased,
}

/// Covariance of strengths and coefficients, in nats, under one anchor.
///
/// Standard errors are worked out when the first one is asked for, covariances of two parameters likewise: a board needs
/// only the former, which is a third of the work. Either way the numbers are the same.
#[derive(Clone, Debug)]
pub struct Covariance {
    n_models: usize,
    form: Form,
    // Diagonal of B for the models: what their own battles contribute; absent for model-based errors.
    meat: Option<Vec<f64>>,
    // What `meat` would be about if every outcome were the farthest from its expectation.
    mass: Vec<f64>,
}

/// How a covariance is kept. All matrices are full and symmetric, models before features.
#[derive(Clone, Debug)]
enum Form {
    Whole(Matrix),
    /// H⁻¹ under the anchor in use.
    Inverse(Matrix),
    Sandwich {
        /// Under the anchor in use.
        bread: Matrix,
        /// B of scores whose entries for models sum to 0, so that it is the same under every anchor.
        meat: Arc<Matrix>,
        n_threads: NonZeroUsize,
        variances: OnceLock<Vec<f64>>,
        whole: OnceLock<Matrix>,
    },
}

impl PartialEq for Covariance {
    /// What is worked out later follows from the rest.
    fn eq(&self, other: &Self) -> bool {
        let same_form = match (&self.form, &other.form) {
            (Form::Whole(own), Form::Whole(other)) | (Form::Inverse(own), Form::Inverse(other)) => {
                own == other
            }
            (
                Form::Sandwich { bread, meat, .. },
                Form::Sandwich {
                    bread: other_bread,
                    meat: other_meat,
                    ..
                },
            ) => bread == other_bread && meat == other_meat,
            _ => false,
        };
        same_form
            && self.n_models == other.n_models
            && self.meat == other.meat
            && self.mass == other.mass
    }
}

impl Covariance {
    /// Computes the covariance of a fit with one model held fixed; see [`Covariance::anchored`].
    ///
    /// H = Σ w p (1 − p) z zᵀ and B = Σ w² (y − p)² z zᵀ over battles, z = (eₐ − e_b, x).
    /// With a penalty, H includes it and each battle's score is centred by its share of the penalty's gradient.
    ///
    /// `comparisons` must be those that the fit was made from.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when the comparisons have another number of models or features than the fit,
    /// [`Error::NoClusters`], [`Error::Singular`].
    pub fn of(
        fit: &Fit,
        comparisons: &Comparisons,
        method: CovarianceMethod,
    ) -> Result<Self, Error> {
        Self::on_threads(fit, comparisons, method, NonZeroUsize::MIN)
    }

    /// The same on several threads.
    pub(crate) fn on_threads(
        fit: &Fit,
        comparisons: &Comparisons,
        method: CovarianceMethod,
        n_threads: NonZeroUsize,
    ) -> Result<Self, Error> {
        let n_models = fit.strengths.len();
        let n = n_models + fit.coefficients.len();
        let given = comparisons.n_models() + comparisons.n_features();
        if given != n || comparisons.n_models() != n_models {
            return Err(Error::Length {
                found: given,
                expected: n,
            });
        }
        let meat = || match method {
            CovarianceMethod::ModelBased => Ok(None),
            CovarianceMethod::Sandwich => Ok(Some(squared_scores(fit, comparisons, n_threads))),
            CovarianceMethod::ClusteredSandwich => {
                squared_cluster_scores(fit, comparisons).map(Some)
            }
        };
        let bread = || inverse_information(fit, n_threads);
        // Neither needs the other, and each has a part that several threads cannot share.
        let (meat, bread) = if n_threads.get() > 1 && n > THREADED_PARAMETERS_MIN {
            std::thread::scope(|scope| {
                let meat = scope.spawn(meat);
                let bread = bread();
                match meat.join() {
                    Ok(meat) => (meat, bread),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            })
        } else {
            (meat(), bread())
        };
        Ok(Self::of_parts(fit, comparisons, meat?, bread?, n_threads))
    }

    /// H⁻¹ B H⁻¹ for a full B, H⁻¹ without one.
    pub(crate) fn with_meat(
        fit: &Fit,
        comparisons: &Comparisons,
        meat: Option<Matrix>,
        n_threads: NonZeroUsize,
    ) -> Result<Self, Error> {
        let bread = inverse_information(fit, n_threads)?;
        Ok(Self::of_parts(fit, comparisons, meat, bread, n_threads))
    }

    fn of_parts(
        fit: &Fit,
        comparisons: &Comparisons,
        meat: Option<Matrix>,
        bread: Matrix,
        n_threads: NonZeroUsize,
    ) -> Self {
        let n_models = fit.strengths.len();
        let mut mass: Vec<f64> = (0..n_models)
            .map(|model| comparisons.record(model).battles as f64)
            .collect();
        if comparisons.weights().is_some() {
            mass.fill(0.0);
            for cell in comparisons.cells() {
                for model in [cell.i, cell.j] {
                    mass[model as usize] += cell.mass() * cell.weight;
                }
            }
        }
        let of_models = |meat: &Matrix| (0..n_models).map(|model| meat.get(model, model)).collect();
        Self {
            n_models,
            meat: meat.as_ref().map(of_models),
            mass,
            form: match meat {
                None => Form::Inverse(bread),
                Some(meat) => Form::Sandwich {
                    bread,
                    meat: Arc::new(meat),
                    n_threads,
                    variances: OnceLock::new(),
                    whole: OnceLock::new(),
                },
            },
        }
    }

    /// A covariance that was computed elsewhere: full and symmetric, models before other parameters.
    ///
    /// `meat` and `mass` are the diagonal of B for the models and what it could be at most.
    pub(crate) fn from_parts(
        n_models: usize,
        matrix: Matrix,
        meat: Option<Vec<f64>>,
        mass: Vec<f64>,
    ) -> Self {
        Self {
            n_models,
            form: Form::Whole(matrix),
            meat,
            mass,
        }
    }

    /// The covariance of strengths measured from their mean under the given weights.
    ///
    /// V' = T V Tᵀ with T = I − 1 aᵀ, a the weights scaled to sum 1: all equal for the plain mean, battles for the
    /// weighted mean, one model only for that model as anchor. It does not matter under which anchor V was.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] unless there is one weight for each model,
    /// [`Error::Option`] unless the weights are finite, not negative and not all 0.
    pub fn anchored(&self, weights: &[f64]) -> Result<Self, Error> {
        if weights.len() != self.n_models {
            return Err(Error::Length {
                found: weights.len(),
                expected: self.n_models,
            });
        }
        let expected = "finite weights, 0 or more, not all 0";
        if let Some(&value) = weights
            .iter()
            .find(|weight| !(weight.is_finite() && **weight >= 0.0))
        {
            return Err(Error::Option {
                option: "anchor weights",
                value,
                expected,
            });
        }
        let total: f64 = weights.iter().sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(Error::Option {
                option: "anchor weights",
                value: total,
                expected,
            });
        }
        let form = match &self.form {
            Form::Whole(matrix) => Form::Whole(anchored(matrix, weights, total)),
            Form::Inverse(matrix) => Form::Inverse(anchored(matrix, weights, total)),
            // Tᵀ B T = B, so that T H⁻¹ B H⁻¹ Tᵀ = (T H⁻¹ Tᵀ) B (T H⁻¹ Tᵀ).
            Form::Sandwich {
                bread,
                meat,
                n_threads,
                ..
            } => Form::Sandwich {
                bread: anchored(bread, weights, total),
                meat: Arc::clone(meat),
                n_threads: *n_threads,
                variances: OnceLock::new(),
                whole: OnceLock::new(),
            },
        };
        Ok(Self {
            n_models: self.n_models,
            form,
            meat: self.meat.clone(),
            mass: self.mass.clone(),
        })
    }

    /// Number of parameters: models, then features.
    pub fn n_parameters(&self) -> usize {
        match &self.form {
            Form::Whole(matrix) | Form::Inverse(matrix) => matrix.n(),
            Form::Sandwich { bread, .. } => bread.n(),
        }
    }

    /// Covariance of two parameters (models first, then features); `None` out of range.
    pub fn get(&self, row: usize, column: usize) -> Option<f64> {
        let n = self.n_parameters();
        (row < n && column < n).then(|| self.covariance(row, column))
    }

    /// Standard error of a model's strength in nats.
    ///
    /// `None` for a model out of range, and where it cannot be estimated: when every battle of the model came out
    /// exactly as fitted (only ties against equals, say), the squared residuals are all 0,
    /// and a standard error made of them would claim a certainty that nothing supports.
    pub fn strength_error(&self, model: usize) -> Option<f64> {
        /// Residuals of a converged fit are off by about 1e-10 at most; their squares are far below this.
        const NO_VARIATION: f64 = 1e-16;
        if model >= self.n_models {
            return None;
        }
        if let Some(meat) = &self.meat
            && meat[model] <= NO_VARIATION * self.mass[model]
        {
            return None;
        }
        Some(self.error_of(model))
    }

    /// Standard error of a feature's coefficient; `None` out of range.
    pub fn coefficient_error(&self, feature: usize) -> Option<f64> {
        let idx = self.n_models.checked_add(feature)?;
        (idx < self.n_parameters()).then(|| self.error_of(idx))
    }

    /// Standard error of the difference of two models' strengths in nats, the same under every anchor.
    ///
    /// `None` as for [`Covariance::strength_error`].
    pub fn difference_error(&self, a: usize, b: usize) -> Option<f64> {
        self.strength_error(a)?;
        self.strength_error(b)?;
        let variance = self.covariance(a, a) + self.covariance(b, b) - 2.0 * self.covariance(a, b);
        Some(variance.max(0.0).sqrt())
    }

    /// Standard errors of the differences of all models' strengths to that of one, in nats.
    ///
    /// What [`Covariance::difference_error`] gives for each, for the work of one column instead of all.
    pub fn difference_errors(&self, model: usize) -> Vec<Option<f64>> {
        if self.strength_error(model).is_none() {
            return vec![None; self.n_models];
        }
        let n = self.n_parameters();
        let column = match &self.form {
            Form::Whole(matrix) | Form::Inverse(matrix) => matrix.column(model).to_vec(),
            Form::Sandwich { bread, meat, .. } => {
                let (mut half, mut column) = (vec![0.0; n], vec![0.0; n]);
                meat.multiply(bread.column(model), &mut half);
                bread.multiply(&half, &mut column);
                column
            }
        };
        let own = self.variance(model);
        (0..self.n_models)
            .map(|other| {
                if other == model {
                    return Some(0.0);
                }
                self.strength_error(other)?;
                let variance = own + self.variance(other) - 2.0 * column[other];
                Some(variance.max(0.0).sqrt())
            })
            .collect()
    }

    /// The covariance that follows from the model alone, H⁻¹ under the same anchor; `None` where this one was not computed from it.
    pub fn model_based(&self) -> Option<Self> {
        Some(Self {
            n_models: self.n_models,
            form: Form::Inverse(self.inverse_information()?.clone()),
            meat: None,
            mass: self.mass.clone(),
        })
    }

    /// H⁻¹ under the anchor in use, where the covariance was computed from it.
    ///
    /// Of vectors whose entries for models sum to 0 it gives what H⁻¹ does, but for the location.
    pub(crate) fn inverse_information(&self) -> Option<&Matrix> {
        match &self.form {
            Form::Whole(_) => None,
            Form::Inverse(bread) | Form::Sandwich { bread, .. } => Some(bread),
        }
    }

    fn variance(&self, idx: usize) -> f64 {
        match &self.form {
            Form::Whole(matrix) | Form::Inverse(matrix) => matrix.get(idx, idx),
            Form::Sandwich {
                bread,
                meat,
                n_threads,
                variances,
                ..
            } => variances.get_or_init(|| bread.quadratic_forms(meat, *n_threads))[idx],
        }
    }

    fn covariance(&self, row: usize, column: usize) -> f64 {
        if row == column {
            return self.variance(row);
        }
        match &self.form {
            Form::Whole(matrix) | Form::Inverse(matrix) => matrix.get(row, column),
            Form::Sandwich {
                bread,
                meat,
                n_threads,
                whole,
                ..
            } => whole
                .get_or_init(|| bread.sandwich_on(meat, *n_threads))
                .get(row, column),
        }
    }

    fn error_of(&self, idx: usize) -> f64 {
        // Rounding can leave a tiny negative number where the variance is 0, as for the anchor model.
        self.variance(idx).max(0.0).sqrt()
    }
}

/// H⁻¹ with one model held fixed, or with the penalty that fixes the location.
fn inverse_information(fit: &Fit, n_threads: NonZeroUsize) -> Result<Matrix, Error> {
    let mut bread = fit.information.matrix();
    if let Some(ground) = fit.ground {
        bread.ground(ground);
    }
    bread.invert(n_threads).map_err(|_| Error::Singular)?;
    if let Some(ground) = fit.ground {
        // The inverse of the grounded matrix has a 1 there; the fixed model has no variance.
        bread.set(ground, ground, 0.0);
    }
    Ok(bread)
}

/// T M Tᵀ with T = I − 1 aᵀ for the models and a the weights over their total.
fn anchored(matrix: &Matrix, weights: &[f64], total: f64) -> Matrix {
    let (n, n_models) = (matrix.n(), weights.len());
    // Covariance of each parameter with the weighted mean, and the mean's own variance.
    let mut with_mean = vec![0.0; n];
    matrix.multiply(weights, &mut with_mean);
    for value in &mut with_mean {
        *value /= total;
    }
    let of_mean = with_mean
        .iter()
        .zip(weights)
        .map(|(v, a)| v * a)
        .sum::<f64>()
        / total;
    let mut moved = matrix.clone();
    for row in 0..n {
        let (models, features) = moved.row_mut(row).split_at_mut(n_models);
        if row < n_models {
            for (value, other) in models.iter_mut().zip(&with_mean) {
                // The two means are added first, so that what was symmetric stays so to the last bit.
                *value = *value - (other + with_mean[row]) + of_mean;
            }
            for (value, other) in features.iter_mut().zip(&with_mean[n_models..]) {
                *value -= other;
            }
        } else {
            for value in models {
                *value -= with_mean[row];
            }
        }
    }
    let mut anchors = (0..n_models).filter(|&model| weights[model] > 0.0);
    if let (Some(anchor), None) = (anchors.next(), anchors.next()) {
        // What is held fixed has no variance, whatever rounding left.
        for other in 0..n {
            moved.set(anchor, other, 0.0);
            moved.set(other, anchor, 0.0);
        }
    }
    moved
}

/// Residual of one battle of a cell: weight × (outcome − probability).
pub(crate) fn residual(fit: &Fit, cell: &Cell, features: impl Iterator<Item = f64>) -> f64 {
    let mut d = fit.strengths[cell.i as usize] - fit.strengths[cell.j as usize];
    for (x, beta) in features.zip(&fit.coefficients) {
        d += x * beta;
    }
    // y − p as a difference of small numbers where y is near p: 1 − p is σ(−d), without cancellation.
    let distance = if cell.outcome == 1.0 {
        sigmoid(-d)
    } else {
        cell.outcome - sigmoid(d)
    };
    cell.weight * distance
}

/// B of the plain sandwich, full.
pub(crate) fn squared_scores(
    fit: &Fit,
    comparisons: &Comparisons,
    n_threads: NonZeroUsize,
) -> Matrix {
    let parameters = [&fit.strengths[..], &fit.coefficients[..]].concat();
    let (mut meat, _) = if comparisons.n_features() == 0 {
        let design = Design::of_pairs(comparisons, n_threads.get());
        design.squares(&SquaredScoresOfPairs(comparisons), &parameters)
    } else {
        let design = Design::of_cells(comparisons, n_threads.get());
        design.squares(&SquaredScores::of(comparisons), &parameters)
    };
    // At the optimum the scores sum to the penalty's gradient g; centring each by g / N takes g gᵀ / N away.
    if fit.penalty_gradient.iter().any(|&value| value != 0.0) {
        let n_battles = comparisons.n_battles() as f64;
        for column in 0..meat.n() {
            for row in column..meat.n() {
                meat.add(
                    row,
                    column,
                    -fit.penalty_gradient[row] * fit.penalty_gradient[column] / n_battles,
                );
            }
        }
    }
    meat.mirror();
    meat
}

/// B of the sandwich clustered by voter, full.
fn squared_cluster_scores(fit: &Fit, comparisons: &Comparisons) -> Result<Matrix, Error> {
    let clusters = comparisons.clusters().ok_or(Error::NoClusters)?;
    let n_models = fit.strengths.len();
    let n = n_models + fit.coefficients.len();
    let mut meat = Matrix::zeros(n);
    let mut order: Vec<usize> = (0..clusters.len()).collect();
    // A stable sort keeps the canonical order of cells inside a cluster.
    order.sort_by_key(|&idx| clusters[idx]);
    let mut score = vec![0.0; n];
    let mut touched = Vec::new();
    for members in order.chunk_by(|&x, &y| clusters[x] == clusters[y]) {
        for &idx in members {
            let cell = comparisons.cell(idx);
            let residual = cell.count as f64 * residual(fit, &cell, comparisons.features_of(idx));
            score[cell.i as usize] += residual;
            score[cell.j as usize] -= residual;
            touched.extend([cell.i as usize, cell.j as usize]);
            for (f, x) in comparisons.features_of(idx).enumerate() {
                score[n_models + f] += residual * x;
            }
        }
        touched.extend(n_models..n);
        touched.sort_unstable();
        touched.dedup();
        for (position, &column) in touched.iter().enumerate() {
            for &row in &touched[position..] {
                meat.add(row, column, score[row] * score[column]);
            }
        }
        for idx in touched.drain(..) {
            score[idx] = 0.0;
        }
    }
    meat.mirror();
    Ok(meat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Comparison, FitOptions, fit};

    #[test]
    fn anchors_are_weights_that_make_sense() {
        let rows = [
            crate::Comparison::new(0, 1, 1.0),
            crate::Comparison::new(1, 0, 1.0),
        ];
        let comparisons = Comparisons::new(2, rows).unwrap();
        let fit = crate::fit(&comparisons, &crate::FitOptions::default()).unwrap();
        let covariance = Covariance::of(&fit, &comparisons, CovarianceMethod::Sandwich).unwrap();
        for weights in [
            vec![1.0],
            vec![0.0, 0.0],
            vec![-1.0, 2.0],
            vec![f64::NAN, 1.0],
            vec![f64::MAX, f64::MAX],
        ] {
            assert!(covariance.anchored(&weights).is_err(), "{weights:?}");
        }
        // An anchor can be changed from any other one.
        let mean = covariance.anchored(&[1.0, 1.0]).unwrap();
        let there_and_back = mean
            .anchored(&[0.0, 3.0])
            .unwrap()
            .anchored(&[1.0, 1.0])
            .unwrap();
        let (once, again) = (mean.strength_error(0), there_and_back.strength_error(0));
        assert!((once.unwrap() - again.unwrap()).abs() < 1e-15);
        assert_eq!(
            mean.anchored(&[0.0, 3.0]).unwrap().strength_error(1),
            Some(0.0)
        );
        assert_eq!(
            Covariance::of(&fit, &comparisons, CovarianceMethod::ClusteredSandwich),
            Err(Error::NoClusters)
        );
        // What has been worked out makes no difference.
        let fresh = covariance.anchored(&[1.0, 1.0]).unwrap();
        assert!(mean.difference_error(0, 1).is_some() && mean == fresh && mean != covariance);
        let other = Comparisons::new(3, rows).unwrap();
        assert!(matches!(
            Covariance::of(&fit, &other, CovarianceMethod::Sandwich),
            Err(Error::Length { .. })
        ));
    }

    /// A round of battles of five models, each of which has lost and won.
    fn round() -> Comparisons {
        let rows = (0..5_u32).flat_map(|a| {
            (0..5_u32).filter(move |&b| b != a).map(move |b| {
                let n = 3 + u64::from((a * 5 + b * 3) % 7);
                Comparison::new(a, b, if (a + 2 * b) % 3 == 0 { 0.5 } else { 1.0 }).with_count(n)
            })
        });
        Comparisons::new(5, rows).unwrap()
    }

    #[test]
    fn errors_to_one_model_are_those_of_each_difference() {
        let comparisons = round();
        let fit = fit(&comparisons, &FitOptions::default()).unwrap();
        for method in [CovarianceMethod::Sandwich, CovarianceMethod::ModelBased] {
            let covariance = Covariance::of(&fit, &comparisons, method).unwrap();
            for covariance in [covariance.anchored(&[1.0; 5]).unwrap(), covariance] {
                let found = covariance.difference_errors(2);
                for (other, found) in found.into_iter().enumerate() {
                    let expected = covariance.difference_error(2, other).unwrap();
                    assert!((found.unwrap() - expected).abs() < 1e-12, "{other}");
                }
            }
        }
    }

    #[test]
    fn the_model_based_covariance_is_kept_with_every_other() {
        let comparisons = round();
        let fit = fit(&comparisons, &FitOptions::default()).unwrap();
        let expected = Covariance::of(&fit, &comparisons, CovarianceMethod::ModelBased).unwrap();
        let sandwich = Covariance::of(&fit, &comparisons, CovarianceMethod::Sandwich).unwrap();
        assert_eq!(sandwich.model_based().unwrap(), expected);
        let weights = [1.0, 2.0, 0.0, 1.0, 3.0];
        assert_eq!(
            sandwich.anchored(&weights).unwrap().model_based().unwrap(),
            expected.anchored(&weights).unwrap()
        );
        let other = Covariance::from_parts(1, Matrix::zeros(1), None, vec![1.0]);
        assert_eq!(other.model_based(), None);
    }
}
