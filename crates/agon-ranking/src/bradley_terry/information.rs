//! The information of a fit: dense for the numbers of models that are usual, by pairs for very many.

use super::design::{Run, Sums};
use super::likelihood::Likelihood;
use crate::linear_algebra::Matrix;

/// From so many parameters on, systems are solved by conjugate gradients and no matrix is kept.
pub(crate) const DENSE_MAX: usize = 600;

/// Penalised information Σ w p (1 − p) z zᵀ + ridge at an estimate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Information {
    /// Lower triangle, models before features.
    Dense(Matrix),
    /// What it is the sum of.
    ByPair(ByPair),
}

/// Terms of an information matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByPair {
    pub(super) sums: Sums,
    pub(super) runs: Vec<Run>,
    pub(super) ridge: Vec<f64>,
}

impl Information {
    pub(super) fn new(likelihood: &Likelihood<'_>, sums: Sums) -> Self {
        let (runs, ridge) = (&likelihood.design.runs, &likelihood.ridge);
        if ridge.len() > DENSE_MAX {
            Self::ByPair(ByPair {
                sums,
                runs: runs.clone(),
                ridge: ridge.clone(),
            })
        } else {
            Self::Dense(matrix(&sums, runs, ridge))
        }
    }

    /// The whole matrix, lower triangle.
    pub(crate) fn matrix(&self) -> Matrix {
        match self {
            Self::Dense(matrix) => matrix.clone(),
            Self::ByPair(by_pair) => matrix(&by_pair.sums, &by_pair.runs, &by_pair.ridge),
        }
    }
}

/// Lower triangle of the sum of all terms.
fn matrix(sums: &Sums, runs: &[Run], ridge: &[f64]) -> Matrix {
    let mut matrix = Matrix::zeros(ridge.len());
    sums.add_information(runs, &mut matrix);
    for (idx, &ridge) in ridge.iter().enumerate() {
        matrix.add(idx, idx, ridge);
    }
    matrix
}
