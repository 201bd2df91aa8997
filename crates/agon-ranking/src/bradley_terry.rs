//! The Bradley-Terry fit, with or without features, by Newton's method to a checked optimum.
//!
//! Not for incomplete comparisons: [`leaderboard()`](crate::leaderboard()) first splits those.

use crate::Error;
use crate::comparisons::Comparisons;
use crate::components::Components;
use crate::linear_algebra::Matrix;

/// How to fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// Penalty ½ · `ridge_strengths` · ‖θ‖² on the summed log-loss, θ in nats; 0 for none.
    ///
    /// FastChat's style control, which penalises r = θ / ln 10 with ½ · 0.5 · ‖r‖², is 0.5 / (ln 10)².
    pub ridge_strengths: f64,
    /// Penalty ½ · `ridge_coefficients` · ‖β‖² on the summed log-loss; 0 for none.
    pub ridge_coefficients: f64,
    /// The fit is accepted when no entry of the gradient exceeds this share of the total weight.
    pub gradient_tolerance: f64,
    /// Newton steps after which the fit is given up.
    pub iterations_max: usize,
}

impl Default for FitOptions {
    /// No penalty, gradient at most 1e-9 of the total weight, 100 steps (six are the rule).
    fn default() -> Self {
        Self {
            ridge_strengths: 0.0,
            ridge_coefficients: 0.0,
            gradient_tolerance: 1e-9,
            iterations_max: 100,
        }
    }
}

impl FitOptions {
    fn check(&self) -> Result<(), Error> {
        for (option, value) in [
            ("ridge_strengths", self.ridge_strengths),
            ("ridge_coefficients", self.ridge_coefficients),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Option {
                    option,
                    value,
                    expected: "a finite number, 0 or more",
                });
            }
        }
        if !(self.gradient_tolerance.is_finite() && self.gradient_tolerance > 0.0) {
            return Err(Error::Option {
                option: "gradient_tolerance",
                value: self.gradient_tolerance,
                expected: "a finite number above 0",
            });
        }
        Ok(())
    }
}

/// The evidence that a fit is at the optimum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// Largest absolute entry of the gradient at the returned estimate, penalty included.
    pub gradient_max: f64,
    /// What it was allowed to be: tolerance times total weight.
    pub gradient_limit: f64,
    /// Largest absolute entry of the Newton step that was still to go, in nats: how far the optimum is.
    pub step_max: f64,
    /// Newton steps taken.
    pub iterations: usize,
    /// Weighted log-likelihood at the estimate, without penalty.
    pub log_likelihood: f64,
}

/// A fitted Bradley-Terry model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Strength θ of each model in nats (natural log-odds); their mean is 0.
    pub strengths: Vec<f64>,
    /// Coefficient β of each feature, log-odds for one unit of the feature.
    pub coefficients: Vec<f64>,
    /// The evidence that this is the optimum.
    pub certificate: Certificate,
    /// Penalised information at the estimate, lower triangle, models before features.
    pub(crate) information: Matrix,
    /// Gradient of the penalty at the estimate, models before features.
    pub(crate) penalty_gradient: Vec<f64>,
    /// The model held fixed while solving; `None` when a penalty already fixes the location.
    pub(crate) ground: Option<usize>,
}

impl Fit {
    /// Probability that model `a` beats model `b` (plus half that of a tie) when all features are 0.
    ///
    /// P = 1 / (1 + exp(θb − θa)) (Bradley & Terry 1952). `None` for a model that is not in the fit.
    pub fn win_probability(&self, a: usize, b: usize) -> Option<f64> {
        Some(sigmoid(self.strengths.get(a)? - self.strengths.get(b)?))
    }
}

/// Fits θ and β by maximum (penalised) likelihood.
///
/// ℓ(θ, β) = Σ w [ y log σ(d) + (1 − y) log σ(−d) ] with d = θa − θb + xᵀβ (Bradley & Terry 1952; with features:
/// Springall 1973, Chiang et al. 2024, arXiv 2403.04132). Newton's method from 0 with step halving; the objective is
/// concave, so the optimum is global, and unique by the mean of θ = 0 (Hunter 2004).
/// A tie counts as half a win for each side.
///
/// It stops when no gradient entry exceeds `gradient_tolerance` × total weight *and* no entry of the next step exceeds
/// 1e-12 nats (or what rounding leaves): the gradient alone would leave models with few battles too far from their optimum.
///
/// # Errors
///
/// [`Error::NoBattles`]; without a penalty on strengths, [`Error::NotConnected`] when not all models (those without
/// battles included) are tied together; [`Error::CollinearFeature`]; [`Error::Singular`];
/// [`Error::NotConverged`], also when features separate the outcomes; [`Error::Option`].
///
/// # Examples
///
/// Two models with 3 wins and 1 loss: θ₀ − θ₁ = ln 3.
///
/// ```
/// use agon_ranking::{Comparison, Comparisons, FitOptions, fit};
///
/// let comparisons = Comparisons::new(
///     2,
///     [Comparison::new(0, 1, 1.0).with_count(3), Comparison::new(0, 1, 0.0)],
/// )?;
/// let fit = fit(&comparisons, &FitOptions::default())?;
/// assert!((fit.strengths[0] - fit.strengths[1] - 3.0_f64.ln()).abs() < 1e-12);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn fit(comparisons: &Comparisons, options: &FitOptions) -> Result<Fit, Error> {
    options.check()?;
    if comparisons.cells().is_empty() {
        return Err(Error::NoBattles);
    }
    if options.ridge_strengths == 0.0 {
        let components = Components::of(comparisons);
        let idle = (0..comparisons.n_models())
            .filter(|&model| comparisons.record(model).battles == 0)
            .count();
        if !components.is_strongly_connected() || idle > 0 {
            return Err(Error::NotConnected {
                connected: components.connected.len() + idle,
                strong: components.strong.len() + idle,
            });
        }
    }
    Likelihood::new(comparisons, options).maximise(options)
}

/// Fits comparisons that are known to be strongly connected.
pub(crate) fn fit_connected(comparisons: &Comparisons, options: &FitOptions) -> Result<Fit, Error> {
    options.check()?;
    Likelihood::new(comparisons, options).maximise(options)
}

/// 1 / (1 + exp(−x)) without overflow.
pub(crate) fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x >= 0.0 {
        1.0 / (1.0 + e)
    } else {
        e / (1.0 + e)
    }
}

/// What one group of battles with log-odds `d` says: the log-likelihood, p and p (1 − p).
struct Logistic {
    log_likelihood: f64,
    probability: f64,
    variance: f64,
}

impl Logistic {
    /// `score` of the first model in battles of total weight `mass`.
    fn at(d: f64, score: f64, mass: f64) -> Self {
        let e = (-d.abs()).exp();
        let sum = 1.0 + e;
        let probability = if d >= 0.0 { 1.0 / sum } else { e / sum };
        // −log σ(d) = max(−d, 0) + log(1 + exp(−|d|)), and alike for −d.
        let linear = if d >= 0.0 {
            (mass - score) * d
        } else {
            -score * d
        };
        Self {
            log_likelihood: -linear - mass * e.ln_1p(),
            probability,
            variance: e / (sum * sum),
        }
    }
}

/// The objective in the form that an iteration needs: one entry for each group of equal battles.
#[derive(Debug)]
pub(crate) struct Likelihood {
    n_models: usize,
    n_features: usize,
    pairs: Vec<(u32, u32)>,
    scores: Vec<f64>,
    masses: Vec<f64>,
    features: Vec<f64>,
    /// Known part of each group's log-odds; empty when there is none.
    offsets: Vec<f64>,
    ridge: Vec<f64>,
    ground: Option<usize>,
}

/// Value, gradient and information at one point; reused between iterations.
struct Evaluation {
    log_likelihood: f64,
    objective: f64,
    gradient: Vec<f64>,
    gradient_max: f64,
    information: Matrix,
}

impl Evaluation {
    fn new(n: usize) -> Self {
        Self {
            log_likelihood: 0.0,
            objective: 0.0,
            gradient: vec![0.0; n],
            gradient_max: 0.0,
            information: Matrix::zeros(n),
        }
    }
}

impl Likelihood {
    fn new(comparisons: &Comparisons, options: &FitOptions) -> Self {
        let n_models = comparisons.n_models();
        let n_features = comparisons.n_features();
        let mut likelihood = Self {
            n_models,
            n_features,
            pairs: Vec::new(),
            scores: Vec::new(),
            masses: Vec::new(),
            features: Vec::new(),
            offsets: Vec::new(),
            ridge: vec![options.ridge_strengths; n_models],
            ground: None,
        };
        likelihood
            .ridge
            .extend(std::iter::repeat_n(options.ridge_coefficients, n_features));
        let mut weight_of = vec![0.0; n_models];
        for group in comparisons.groups() {
            let cell = &comparisons.cells()[group.start];
            let (score, mass) = group.score_and_mass(comparisons.cells());
            likelihood.pairs.push((cell.i, cell.j));
            likelihood.scores.push(score);
            likelihood.masses.push(mass);
            likelihood
                .features
                .extend_from_slice(comparisons.features_of(group.start));
            weight_of[cell.i as usize] += mass;
            weight_of[cell.j as usize] += mass;
        }
        if options.ridge_strengths == 0.0 {
            // The model with most battles is the best known one, which keeps the reduced system well conditioned.
            let mut ground = 0;
            for model in 1..n_models {
                if weight_of[model] > weight_of[ground] {
                    ground = model;
                }
            }
            likelihood.ground = Some(ground);
        }
        likelihood
    }

    /// An objective for models whose opponents may be known already.
    ///
    /// The last model stands for everything known: it is held at 0, and the known strengths are in the offsets.
    pub(crate) fn against_known(n_models: usize) -> Self {
        Self {
            n_models,
            n_features: 0,
            pairs: Vec::new(),
            scores: Vec::new(),
            masses: Vec::new(),
            features: Vec::new(),
            offsets: Vec::new(),
            ridge: vec![0.0; n_models],
            ground: n_models.checked_sub(1),
        }
    }

    /// Adds battles of total weight `mass` in which model `i` scored `score` against `j`, with log-odds θi − θj + offset.
    pub(crate) fn push(&mut self, i: u32, j: u32, offset: f64, score: f64, mass: f64) {
        // Only the lower triangle of the information is kept, so the lower index comes first.
        if i < j {
            self.pairs.push((i, j));
            self.offsets.push(offset);
            self.scores.push(score);
        } else {
            self.pairs.push((j, i));
            self.offsets.push(-offset);
            self.scores.push(mass - score);
        }
        self.masses.push(mass);
    }

    /// The maximum of the objective, from 0.
    pub(crate) fn maximise(&self, options: &FitOptions) -> Result<Fit, Error> {
        newton(self, options, self.masses.iter().sum())
    }

    fn n_parameters(&self) -> usize {
        self.n_models + self.n_features
    }

    fn evaluate(&self, parameters: &[f64], at: &mut Evaluation) {
        let (strengths, coefficients) = parameters.split_at(self.n_models);
        at.gradient.fill(0.0);
        at.information.clear();
        let mut log_likelihood = 0.0;
        for (idx, &(i, j)) in self.pairs.iter().enumerate() {
            let (i, j) = (i as usize, j as usize);
            let features = &self.features[idx * self.n_features..(idx + 1) * self.n_features];
            let mut d = strengths[i] - strengths[j];
            if let Some(offset) = self.offsets.get(idx) {
                d += offset;
            }
            for (x, beta) in features.iter().zip(coefficients) {
                d += x * beta;
            }
            let logistic = Logistic::at(d, self.scores[idx], self.masses[idx]);
            log_likelihood += logistic.log_likelihood;
            let residual = self.scores[idx] - self.masses[idx] * logistic.probability;
            let curvature = self.masses[idx] * logistic.variance;
            at.gradient[i] += residual;
            at.gradient[j] -= residual;
            at.information.add(i, i, curvature);
            at.information.add(j, j, curvature);
            at.information.add(j, i, -curvature);
            for (f, x) in features.iter().enumerate() {
                let row = self.n_models + f;
                at.gradient[row] += residual * x;
                at.information.add(row, i, curvature * x);
                at.information.add(row, j, -curvature * x);
                for (g, y) in features[..=f].iter().enumerate() {
                    at.information
                        .add(row, self.n_models + g, curvature * x * y);
                }
            }
        }
        let mut penalty = 0.0;
        for (idx, (&ridge, &value)) in self.ridge.iter().zip(parameters).enumerate() {
            if ridge > 0.0 {
                penalty += 0.5 * ridge * value * value;
                at.gradient[idx] -= ridge * value;
                at.information.add(idx, idx, ridge);
            }
        }
        at.log_likelihood = log_likelihood;
        at.objective = log_likelihood - penalty;
        at.gradient_max = at
            .gradient
            .iter()
            .fold(0.0, |max, value| f64::max(max, value.abs()));
    }
}

fn newton(likelihood: &Likelihood, options: &FitOptions, total_weight: f64) -> Result<Fit, Error> {
    /// The optimum is reached when no strength has further than this to go, in nats.
    const STEP_LIMIT: f64 = 1e-12;
    /// Steps below this that no longer shrink are rounding errors.
    const STEP_NOISE: f64 = 1e-6;
    /// The shortest step tried before the search is given up.
    const SHARE_MIN: f64 = 1e-9;

    let n = likelihood.n_parameters();
    let gradient_limit = options.gradient_tolerance * total_weight;
    let mut parameters = vec![0.0; n];
    let mut candidate = vec![0.0; n];
    let mut step = vec![0.0; n];
    let mut factor = Matrix::zeros(n);
    let mut current = Evaluation::new(n);
    let mut next = Evaluation::new(n);
    likelihood.evaluate(&parameters, &mut current);

    let mut iterations = 0;
    let mut step_before = f64::INFINITY;
    let step_max = loop {
        factor.copy_from(&current.information);
        step.copy_from_slice(&current.gradient);
        if let Some(ground) = likelihood.ground {
            factor.ground(ground);
            step[ground] = 0.0;
        }
        factor
            .factor()
            .map_err(|column| match column.checked_sub(likelihood.n_models) {
                Some(feature) => Error::CollinearFeature { feature },
                None => Error::Singular,
            })?;
        factor.solve(&mut step);
        let step_max = step
            .iter()
            .fold(0.0, |max, value| f64::max(max, value.abs()));
        let shrinking = step_max < 0.5 * step_before;
        if current.gradient_max <= gradient_limit
            && (step_max <= STEP_LIMIT || (step_max <= STEP_NOISE && !shrinking))
        {
            break step_max;
        }
        let failed = Error::NotConverged {
            iterations,
            gradient_max: current.gradient_max,
            gradient_limit,
        };
        if iterations == options.iterations_max {
            return Err(failed);
        }
        step_before = step_max;

        let mut share = 1.0;
        loop {
            for ((candidate, value), step) in candidate.iter_mut().zip(&parameters).zip(&step) {
                *candidate = value + share * step;
            }
            likelihood.evaluate(&candidate, &mut next);
            // Near the optimum the objective no longer changes in double precision; there the gradient decides.
            if next.objective >= current.objective || next.gradient_max < current.gradient_max {
                break;
            }
            share *= 0.5;
            if share < SHARE_MIN {
                // No step gains anything: this is the optimum as far as it can be computed.
                if current.gradient_max <= gradient_limit && step_max <= STEP_NOISE {
                    break;
                }
                return Err(failed);
            }
        }
        if share < SHARE_MIN {
            break step_max;
        }
        std::mem::swap(&mut parameters, &mut candidate);
        std::mem::swap(&mut current, &mut next);
        iterations += 1;
    };

    let penalty_gradient = likelihood
        .ridge
        .iter()
        .zip(&parameters)
        .map(|(ridge, value)| ridge * value)
        .collect();
    let coefficients = parameters.split_off(likelihood.n_models);
    let mut strengths = parameters;
    if likelihood.ground.is_some() {
        let mean = strengths.iter().sum::<f64>() / strengths.len() as f64;
        for strength in &mut strengths {
            *strength -= mean;
        }
    }
    Ok(Fit {
        strengths,
        coefficients,
        certificate: Certificate {
            gradient_max: current.gradient_max,
            gradient_limit,
            step_max,
            iterations,
            log_likelihood: current.log_likelihood,
        },
        information: current.information,
        penalty_gradient,
        ground: likelihood.ground,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Columns, Comparison};

    #[track_caller]
    fn check_refused(n_models: usize, rows: &[Comparison], features: &[f64], expected: &Error) {
        let n_features = features.len().checked_div(rows.len()).unwrap_or(0);
        let columns = Columns {
            n_features,
            features,
            clusters: None,
        };
        let comparisons = Comparisons::with_columns(n_models, rows, columns).unwrap();
        assert_eq!(
            fit(&comparisons, &FitOptions::default()).as_ref(),
            Err(expected)
        );
    }

    #[test]
    fn what_has_no_finite_optimum_is_refused() {
        let win = Comparison::new(0, 1, 1.0);
        let loss = Comparison::new(0, 1, 0.0);
        check_refused(2, &[], &[], &Error::NoBattles);
        check_refused(
            2,
            &[win],
            &[],
            &Error::NotConnected {
                connected: 1,
                strong: 2,
            },
        );
        check_refused(
            3,
            &[win, loss],
            &[],
            &Error::NotConnected {
                connected: 2,
                strong: 2,
            },
        );
        check_refused(
            2,
            &[win, loss],
            &[0.0, 0.0],
            &Error::CollinearFeature { feature: 0 },
        );
        // A feature that only says which model it is.
        check_refused(
            2,
            &[win, loss],
            &[1.0, 1.0],
            &Error::CollinearFeature { feature: 0 },
        );
        check_refused(
            2,
            &[win, loss, win, loss],
            &[1.0, 1.0, 2.0, 2.0, -3.0, -3.0, 5.0, 5.0],
            &Error::CollinearFeature { feature: 1 },
        );
    }

    #[test]
    fn a_feature_that_separates_the_outcomes_is_an_error_and_not_a_huge_number() {
        let rows = [
            Comparison::new(0, 1, 1.0),
            Comparison::new(0, 1, 0.0),
            Comparison::new(1, 2, 0.5),
        ];
        let columns = Columns {
            n_features: 1,
            features: &[1.0, -1.0, 0.0],
            clusters: None,
        };
        let comparisons = Comparisons::with_columns(3, &rows, columns).unwrap();
        let refused = fit(&comparisons, &FitOptions::default());
        assert!(matches!(
            refused,
            Err(Error::NotConverged { .. } | Error::Singular | Error::CollinearFeature { .. })
        ));
        let ridge = FitOptions {
            ridge_coefficients: 0.1,
            ..FitOptions::default()
        };
        assert!(fit(&comparisons, &ridge).unwrap().coefficients[0] > 0.0);
    }

    #[test]
    fn a_penalty_makes_any_comparisons_fit() {
        let comparisons = Comparisons::new(3, [Comparison::new(0, 1, 1.0).with_count(5)]).unwrap();
        let ridge = FitOptions {
            ridge_strengths: 1.0,
            ..FitOptions::default()
        };
        let fit = fit(&comparisons, &ridge).unwrap();
        assert!(fit.strengths[0] > 0.0 && fit.strengths[2] == 0.0);
        assert!(fit.strengths.iter().sum::<f64>().abs() < 1e-12);
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let rows = [Comparison::new(0, 1, 1.0), Comparison::new(0, 1, 0.0)];
        let comparisons = Comparisons::new(2, rows).unwrap();
        let default = FitOptions::default();
        for options in [
            FitOptions {
                ridge_strengths: -1.0,
                ..default
            },
            FitOptions {
                ridge_coefficients: f64::NAN,
                ..default
            },
            FitOptions {
                gradient_tolerance: 0.0,
                ..default
            },
        ] {
            assert!(matches!(
                fit(&comparisons, &options),
                Err(Error::Option { .. })
            ));
        }
        let unbalanced = Comparisons::new(2, [rows[0].with_count(9), rows[1]]).unwrap();
        let none = FitOptions {
            iterations_max: 0,
            ..default
        };
        assert!(matches!(
            fit(&unbalanced, &none),
            Err(Error::NotConverged { iterations: 0, .. })
        ));
    }

    #[test]
    fn the_certificate_says_how_near_the_optimum_is() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(900),
            Comparison::new(0, 1, 0.0).with_count(100),
        ];
        let comparisons = Comparisons::new(2, rows).unwrap();
        let certificate = fit(&comparisons, &FitOptions::default())
            .unwrap()
            .certificate;
        assert_eq!(certificate.gradient_limit, 1000.0 * 1e-9);
        assert!(certificate.gradient_max <= certificate.gradient_limit);
        assert!(certificate.step_max <= 1e-12 && certificate.iterations <= 8);
        let expected = 900.0 * 0.9_f64.ln() + 100.0 * 0.1_f64.ln();
        assert!((certificate.log_likelihood - expected).abs() < 1e-9);
        assert!((comparisons.saturated_log_likelihood() - expected).abs() < 1e-9);
    }

    #[test]
    fn a_very_long_ladder_converges() {
        // 200 models, each beating the next 999 times of 1000: strengths span 200 · ln 999 nats.
        let rows = (0..199).flat_map(|model| {
            [
                Comparison::new(model, model + 1, 1.0).with_count(999),
                Comparison::new(model, model + 1, 0.0).with_count(1),
            ]
        });
        let comparisons = Comparisons::new(200, rows).unwrap();
        let fit = fit(&comparisons, &FitOptions::default()).unwrap();
        for pair in fit.strengths.windows(2) {
            assert!((pair[0] - pair[1] - 999.0_f64.ln()).abs() < 1e-9);
        }
    }

    #[test]
    fn probabilities_follow_strengths() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(3),
            Comparison::new(0, 1, 0.0),
        ];
        let fit = fit(&Comparisons::new(2, rows).unwrap(), &FitOptions::default()).unwrap();
        assert!((fit.win_probability(0, 1).unwrap() - 0.75).abs() < 1e-12);
        assert!((fit.win_probability(1, 0).unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(fit.win_probability(0, 2), None);
    }
}
