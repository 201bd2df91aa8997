//! Covariances of a fit under a stated anchor, and the normal quantile that turns them into intervals.

use crate::Error;
use crate::bradley_terry::{Fit, sigmoid};
use crate::comparisons::Comparisons;
use crate::linear_algebra::Matrix;

/// What ratings are measured from. Only differences of strengths can be estimated, so something has to be held fixed;
/// the location of ratings and their covariance are always taken under the same anchor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Anchor {
    /// The plain mean of the models in the fit is the initial rating. The default: it is what the published boards
    /// (FastChat, arena-rank) do, so that ratings agree with theirs without a shift, and it does not change when only
    /// the numbers of battles do.
    ///
    /// Its price: the mean contains the rarest models, and their uncertainty enters every interval
    /// (five rare models among 100 raised the median standard error by a tenth).
    #[default]
    Mean,
    /// The mean of the models in the fit, weighted by their battles, is the initial rating.
    ///
    /// Rare models hardly enter it, so intervals are the narrowest and a new model moves nobody.
    WeightedMean,
    /// One model has a given rating; its interval has no width, and all others are relative to it.
    Model {
        /// Index of the model.
        model: usize,
        /// The rating it shall have.
        rating: f64,
    },
}

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
#[derive(Clone, Debug, PartialEq)]
pub struct Covariance {
    n_models: usize,
    // Invariant: full and symmetric, models before features.
    matrix: Matrix,
    // Diagonal of B for the models: what their own battles contribute; absent for model-based errors.
    meat: Option<Vec<f64>>,
    // What `meat` would be about if every outcome were the farthest from its expectation.
    mass: Vec<f64>,
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
        let n_models = fit.strengths.len();
        let n = n_models + fit.coefficients.len();
        let given = comparisons.n_models() + comparisons.n_features();
        if given != n || comparisons.n_models() != n_models {
            return Err(Error::Length {
                found: given,
                expected: n,
            });
        }
        let meat = match method {
            CovarianceMethod::ModelBased => None,
            CovarianceMethod::Sandwich => Some(squared_scores(fit, comparisons)),
            CovarianceMethod::ClusteredSandwich => Some(squared_cluster_scores(fit, comparisons)?),
        };
        Self::with_meat(fit, comparisons, meat.as_ref())
    }

    /// H⁻¹ B H⁻¹ for a full B, H⁻¹ without one.
    pub(crate) fn with_meat(
        fit: &Fit,
        comparisons: &Comparisons,
        meat: Option<&Matrix>,
    ) -> Result<Self, Error> {
        let n_models = fit.strengths.len();
        let mut factor = fit.information.clone();
        if let Some(ground) = fit.ground {
            factor.ground(ground);
        }
        factor.factor().map_err(|_| Error::Singular)?;
        let mut bread = factor.inverse();
        if let Some(ground) = fit.ground {
            // The inverse of the grounded matrix has a 1 there; the fixed model has no variance.
            bread.set(ground, ground, 0.0);
        }

        let mut mass = vec![0.0; n_models];
        for cell in comparisons.cells() {
            for model in [cell.i, cell.j] {
                mass[model as usize] += cell.mass() * cell.weight;
            }
        }
        Ok(Self {
            n_models,
            matrix: meat.map_or_else(|| bread.clone(), |meat| bread.sandwich(meat)),
            meat: meat.map(|meat| (0..n_models).map(|model| meat.get(model, model)).collect()),
            mass,
        })
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
            matrix,
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
        let n = self.matrix.n();
        // Covariance of each parameter with the weighted mean, and the mean's own variance.
        let with_mean: Vec<f64> = (0..n)
            .map(|column| {
                self.matrix
                    .column(column)
                    .iter()
                    .zip(weights)
                    .map(|(v, a)| v * a)
                    .sum::<f64>()
                    / total
            })
            .collect();
        let of_mean = with_mean
            .iter()
            .zip(weights)
            .map(|(v, a)| v * a)
            .sum::<f64>()
            / total;
        let mut matrix = self.matrix.clone();
        for column in 0..n {
            for row in column..n {
                let (row_is_model, column_is_model) = (row < self.n_models, column < self.n_models);
                let mut value = self.matrix.get(row, column);
                if row_is_model {
                    value -= with_mean[column];
                }
                if column_is_model {
                    value -= with_mean[row];
                }
                if row_is_model && column_is_model {
                    value += of_mean;
                }
                matrix.set(row, column, value);
            }
        }
        matrix.mirror();
        Ok(Self {
            n_models: self.n_models,
            matrix,
            meat: self.meat.clone(),
            mass: self.mass.clone(),
        })
    }

    /// Number of parameters: models, then features.
    pub fn n_parameters(&self) -> usize {
        self.matrix.n()
    }

    /// Covariance of two parameters (models first, then features); `None` out of range.
    pub fn get(&self, row: usize, column: usize) -> Option<f64> {
        (row < self.matrix.n() && column < self.matrix.n()).then(|| self.matrix.get(row, column))
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
        (idx < self.matrix.n()).then(|| self.error_of(idx))
    }

    /// Standard error of the difference of two models' strengths in nats, the same under every anchor.
    ///
    /// `None` as for [`Covariance::strength_error`].
    pub fn difference_error(&self, a: usize, b: usize) -> Option<f64> {
        self.strength_error(a)?;
        self.strength_error(b)?;
        let variance = self.matrix.get(a, a) + self.matrix.get(b, b) - 2.0 * self.matrix.get(a, b);
        Some(variance.max(0.0).sqrt())
    }

    fn error_of(&self, idx: usize) -> f64 {
        // Rounding can leave a tiny negative number where the variance is 0, as for the anchor model.
        self.matrix.get(idx, idx).max(0.0).sqrt()
    }
}

/// Residual of one battle of a cell: weight × (outcome − probability).
pub(crate) fn residual(fit: &Fit, comparisons: &Comparisons, idx: usize) -> f64 {
    let cell = &comparisons.cells()[idx];
    let mut d = fit.strengths[cell.i as usize] - fit.strengths[cell.j as usize];
    for (x, beta) in comparisons.features_of(idx).iter().zip(&fit.coefficients) {
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
pub(crate) fn squared_scores(fit: &Fit, comparisons: &Comparisons) -> Matrix {
    let n_models = fit.strengths.len();
    let mut meat = Matrix::zeros(n_models + fit.coefficients.len());
    for (idx, cell) in comparisons.cells().iter().enumerate() {
        let residual = residual(fit, comparisons, idx);
        let square = cell.count as f64 * residual * residual;
        let (i, j) = (cell.i as usize, cell.j as usize);
        meat.add(i, i, square);
        meat.add(j, j, square);
        meat.add(j, i, -square);
        let features = comparisons.features_of(idx);
        for (f, x) in features.iter().enumerate() {
            let row = n_models + f;
            meat.add(row, i, square * x);
            meat.add(row, j, -square * x);
            for (g, y) in features[..=f].iter().enumerate() {
                meat.add(row, n_models + g, square * x * y);
            }
        }
    }
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
            let cell = &comparisons.cells()[idx];
            let residual = cell.count as f64 * residual(fit, comparisons, idx);
            score[cell.i as usize] += residual;
            score[cell.j as usize] -= residual;
            touched.extend([cell.i as usize, cell.j as usize]);
            for (f, x) in comparisons.features_of(idx).iter().enumerate() {
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

/// The number of standard errors to each side of a two-sided interval: Φ⁻¹(½ + level / 2).
///
/// # Errors
///
/// [`Error::Option`] unless the level lies between 0 and 1, both excluded.
pub fn critical_value(level: f64) -> Result<f64, Error> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::Option {
            option: "level",
            value: level,
            expected: "a number between 0 and 1, both excluded",
        });
    }
    // The upper tail is half of what the level leaves out; its quantile is minus that of the upper end.
    Ok(-normal_quantile((1.0 - level) / 2.0))
}

/// Quantile of the standard normal distribution, Φ⁻¹(p), for 0 < p < 1; ±∞ at the ends and NaN outside.
///
/// Algorithm AS 241, PPND16 (Wichura 1988, Applied Statistics 37, 477–484): relative error about 1e-16.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRAL_NUMERATOR, &CENTRAL_DENOMINATOR);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return if q < 0.0 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    let r = (-tail.ln()).sqrt();
    let value = if r <= 5.0 {
        ratio(r - 1.6, &MIDDLE_NUMERATOR, &MIDDLE_DENOMINATOR)
    } else {
        ratio(r - 5.0, &FAR_NUMERATOR, &FAR_DENOMINATOR)
    };
    if q < 0.0 { -value } else { value }
}

/// Quotient of two polynomials, coefficients from the constant term up.
fn ratio(x: f64, numerator: &[f64; 8], denominator: &[f64; 8]) -> f64 {
    let horner =
        |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    horner(numerator) / horner(denominator)
}

// Coefficients of AS 241: central region, tails, far tails.
const CENTRAL_NUMERATOR: [f64; 8] = [
    3.387_132_872_796_366_5,
    1.331_416_678_917_843_8e2,
    1.971_590_950_306_551_3e3,
    1.373_169_376_550_946e4,
    4.592_195_393_154_987e4,
    6.726_577_092_700_87e4,
    3.343_057_558_358_813e4,
    2.509_080_928_730_122_7e3,
];
const CENTRAL_DENOMINATOR: [f64; 8] = [
    1.0,
    4.231_333_070_160_091e1,
    6.871_870_074_920_579e2,
    5.394_196_021_424_751e3,
    2.121_379_430_158_659_7e4,
    3.930_789_580_009_271e4,
    2.872_908_573_572_194_3e4,
    5.226_495_278_852_545e3,
];
const MIDDLE_NUMERATOR: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    2.417_807_251_774_506e-1,
    2.272_384_498_926_918_4e-2,
    7.745_450_142_783_414e-4,
];
const MIDDLE_DENOMINATOR: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    6.897_673_349_851e-1,
    1.481_039_764_274_800_8e-1,
    1.519_866_656_361_645_7e-2,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const FAR_NUMERATOR: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    2.965_605_718_285_048_7e-1,
    2.653_218_952_657_612_4e-2,
    1.242_660_947_388_078_4e-3,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const FAR_DENOMINATOR: [f64; 8] = [
    1.0,
    5.998_322_065_558_88e-1,
    1.369_298_809_227_358e-1,
    1.487_536_129_085_061_5e-2,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_quantile_has_full_double_precision() {
        // From the definition, with 60-digit arithmetic for the binary numbers nearest to these.
        for (p, expected) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_081_7),
            (0.9, 1.281_551_565_544_600_5),
            (0.95, 1.644_853_626_951_472_7),
            (0.975, 1.959_963_984_540_054_2),
            (0.995, 2.575_829_303_548_901),
            (0.025, -1.959_963_984_540_054_2),
            (1e-10, -6.361_340_902_404_056),
            (1e-100, -21.273_453_560_965_324),
            (1e-300, -37.047_096_299_361_2),
        ] {
            let found = normal_quantile(p);
            assert!(
                (found - expected).abs() <= 1e-15 * f64::max(1.0, expected.abs()),
                "{p}: {found}"
            );
        }
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(1.5).is_nan() && normal_quantile(f64::NAN).is_nan());
    }

    #[test]
    fn a_level_is_between_zero_and_one() {
        assert!((critical_value(0.95).unwrap() - 1.959_963_984_540_054).abs() < 1e-14);
        for level in [0.0, 1.0, -0.5, 95.0, f64::NAN] {
            assert!(matches!(
                critical_value(level),
                Err(Error::Option {
                    option: "level",
                    ..
                })
            ));
        }
    }

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
        assert_eq!(mean.strength_error(0), there_and_back.strength_error(0));
        assert_eq!(
            mean.anchored(&[0.0, 3.0]).unwrap().strength_error(1),
            Some(0.0)
        );
        assert_eq!(
            Covariance::of(&fit, &comparisons, CovarianceMethod::ClusteredSandwich),
            Err(Error::NoClusters)
        );
        let other = Comparisons::new(3, rows).unwrap();
        assert!(matches!(
            Covariance::of(&fit, &other, CovarianceMethod::Sandwich),
            Err(Error::Length { .. })
        ));
    }
}
