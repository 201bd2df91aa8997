//! The Bradley-Terry fit, with or without features, by Newton's method to a checked optimum.
//!
//! Not for incomplete comparisons: [`leaderboard()`](crate::leaderboard()) first splits those.

mod conjugate_gradients;
mod design;
mod elementary;
mod information;
mod likelihood;
mod newton;

use std::num::NonZeroUsize;

use crate::Error;
use crate::comparisons::Comparisons;
use crate::components::Components;
use crate::linear_algebra::Matrix;
pub(crate) use design::Design;
pub(crate) use elementary::{probabilities, saturated_log_likelihood};
pub(crate) use information::Information;
pub(crate) use likelihood::{Likelihood, SquaredScores, SquaredScoresOfPairs};
pub(crate) use newton::{CHORD, Workspace};

/// Fits that are not told otherwise stay on this thread.
const ONE: NonZeroUsize = NonZeroUsize::MIN;

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
    /// Penalised information at the estimate.
    pub(crate) information: Information,
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
/// With more than 600 models and features together, steps come from conjugate gradients; the rule is the same. With very
/// many rows the first steps are taken on a sixteenth of them, which changes the way and not the optimum.
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
    check_existence(comparisons, options)?;
    Likelihood::new(comparisons, options, ONE).maximise(options)
}

/// Fits as [`fit()`] does, but starts at given strengths instead of 0.
///
/// After a few more battles the optimum is near the previous one, and two or three steps reach it.
/// The optimum is unique and the certificate the same, so the result agrees with that of [`fit()`] to about 1e-12 nats;
/// the last bits depend on the start.
///
/// # Errors
///
/// As [`fit()`]; further, [`Error::Length`] when the start has another number of models or features,
/// [`Error::Option`] when it holds a number that is not finite.
///
/// # Examples
///
/// ```
/// use agon_ranking::{Comparison, Comparisons, FitOptions, Start, fit, refit_from};
///
/// let before = [Comparison::new(0, 1, 1.0).with_count(300), Comparison::new(0, 1, 0.0).with_count(100)];
/// let options = FitOptions::default();
/// let start = Start::of(&fit(&Comparisons::new(2, before)?, &options)?);
///
/// let after = Comparisons::new(2, before.into_iter().chain([Comparison::new(1, 0, 1.0)]))?;
/// let refit = refit_from(&start, &after, &options)?;
/// assert!((refit.strengths[0] - fit(&after, &options)?.strengths[0]).abs() < 1e-12);
/// assert!(refit.certificate.iterations <= 3);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn refit_from(
    start: &Start,
    comparisons: &Comparisons,
    options: &FitOptions,
) -> Result<Fit, Error> {
    check_existence(comparisons, options)?;
    start.check(comparisons)?;
    Likelihood::new(comparisons, options, ONE).maximise_from(Some(start), None, options)
}

/// Fits with the penalty of `options` drawn towards given strengths and coefficients instead of towards 0.
///
/// The penalty is ½ · `ridge_strengths` · ‖θ − θ⁰‖² + ½ · `ridge_coefficients` · ‖β − β⁰‖²: a normal prior with mean θ⁰
/// and variance 1 / `ridge_strengths`, as for ratings that another arena has measured.
/// A model without a battle gets the strength of the prior.
///
/// With a penalty on strengths the location is that of the prior: the strengths' mean need not be 0.
///
/// # Errors
///
/// As [`refit_from`], `prior` taking the place of the start.
///
/// # Examples
///
/// Without battles the prior speaks; with very many it is silent.
///
/// ```
/// use agon_ranking::{Comparison, Comparisons, FitOptions, Start, fit_with_prior};
///
/// let prior = Start { strengths: vec![0.7, -0.7, 0.1], coefficients: vec![] };
/// let battles = [
///     Comparison::new(0, 1, 1.0).with_count(1_000_000),
///     Comparison::new(0, 1, 0.0).with_count(1_000_000),
/// ];
/// let options = FitOptions { ridge_strengths: 1.0, ..FitOptions::default() };
/// let fit = fit_with_prior(&prior, &Comparisons::new(3, battles)?, &options)?;
/// assert!((fit.strengths[0] - fit.strengths[1]).abs() < 1e-5);
/// assert!((fit.strengths[2] - 0.1).abs() < 1e-12);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn fit_with_prior(
    prior: &Start,
    comparisons: &Comparisons,
    options: &FitOptions,
) -> Result<Fit, Error> {
    check_existence(comparisons, options)?;
    prior.check(comparisons)?;
    let mut likelihood = Likelihood::new(comparisons, options, ONE);
    likelihood.draw_towards(prior);
    likelihood.maximise_from(Some(prior), None, options)
}

/// Strengths and coefficients to start from, or to be drawn towards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// Strength of each model in nats. Only differences matter to a start without a penalty on strengths.
    pub strengths: Vec<f64>,
    /// Coefficient of each feature.
    pub coefficients: Vec<f64>,
}

impl Start {
    /// The estimate of a fit.
    pub fn of(fit: &Fit) -> Self {
        Self {
            strengths: fit.strengths.clone(),
            coefficients: fit.coefficients.clone(),
        }
    }

    fn check(&self, comparisons: &Comparisons) -> Result<(), Error> {
        for (found, expected) in [
            (self.strengths.len(), comparisons.n_models()),
            (self.coefficients.len(), comparisons.n_features()),
        ] {
            if found != expected {
                return Err(Error::Length { found, expected });
            }
        }
        match self
            .strengths
            .iter()
            .chain(&self.coefficients)
            .find(|value| !value.is_finite())
        {
            Some(&value) => Err(Error::Option {
                option: "start",
                value,
                expected: "finite numbers",
            }),
            None => Ok(()),
        }
    }
}

/// Refuses options that make no sense and comparisons without a finite optimum.
fn check_existence(comparisons: &Comparisons, options: &FitOptions) -> Result<(), Error> {
    options.check()?;
    if comparisons.is_empty() {
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
    Ok(())
}

/// Fits comparisons that are known to be strongly connected.
pub(crate) fn fit_connected(comparisons: &Comparisons, options: &FitOptions) -> Result<Fit, Error> {
    fit_connected_from(None, None, comparisons, options, ONE)
}

/// The same from a start of the right size, and with an inverse of the information near it, on several threads.
pub(crate) fn fit_connected_from(
    start: Option<&Start>,
    inverse: Option<&Matrix>,
    comparisons: &Comparisons,
    options: &FitOptions,
    n_threads: NonZeroUsize,
) -> Result<Fit, Error> {
    options.check()?;
    Likelihood::new(comparisons, options, n_threads).maximise_from(start, inverse, options)
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
    fn a_start_changes_the_way_and_not_the_optimum() {
        let rows: Vec<_> = (0..5_u32)
            .flat_map(|model| {
                [
                    Comparison::new(model, (model + 1) % 5, 1.0).with_count(u64::from(40 + model)),
                    Comparison::new(model, (model + 1) % 5, 0.0).with_count(30),
                ]
            })
            .collect();
        let comparisons = Comparisons::new(5, rows).unwrap();
        let options = FitOptions::default();
        let cold = fit(&comparisons, &options).unwrap();
        for start in [
            Start::of(&cold),
            Start {
                strengths: vec![9.0, -9.0, 3.0, 0.0, 1.0],
                coefficients: vec![],
            },
        ] {
            let warm = refit_from(&start, &comparisons, &options).unwrap();
            for (x, y) in warm.strengths.iter().zip(&cold.strengths) {
                assert!((x - y).abs() < 1e-12);
            }
            assert!(warm.certificate.gradient_max <= warm.certificate.gradient_limit);
        }
        let at_once = refit_from(&Start::of(&cold), &comparisons, &options).unwrap();
        assert!(at_once.certificate.iterations <= 1);
        let start = |strengths: Vec<f64>| Start {
            strengths,
            coefficients: vec![],
        };
        let refused = refit_from(&start(vec![0.0; 4]), &comparisons, &options);
        assert_eq!(
            refused,
            Err(Error::Length {
                found: 4,
                expected: 5
            })
        );
        let refused = refit_from(&start(vec![f64::NAN; 5]), &comparisons, &options);
        assert!(matches!(
            refused,
            Err(Error::Option {
                option: "start",
                ..
            })
        ));
    }

    #[test]
    fn a_prior_is_as_strong_as_it_says() {
        // One model against a prior: the optimum solves n (y − p) = λ (θ − θ⁰) for the difference of two models.
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(30),
            Comparison::new(0, 1, 0.0).with_count(10),
        ];
        let comparisons = Comparisons::new(2, rows).unwrap();
        let prior = Start {
            strengths: vec![-0.5, 0.5],
            coefficients: vec![],
        };
        let options = FitOptions {
            ridge_strengths: 4.0,
            ..FitOptions::default()
        };
        let fit = fit_with_prior(&prior, &comparisons, &options).unwrap();
        let pull = 30.0 - 40.0 * fit.win_probability(0, 1).unwrap();
        assert!((pull - 4.0 * (fit.strengths[0] + 0.5)).abs() < 1e-9);
        assert!((fit.strengths[0] + fit.strengths[1]).abs() < 1e-12);
        // Towards 0 it is the plain penalty.
        let zero = Start {
            strengths: vec![0.0; 2],
            coefficients: vec![],
        };
        let towards_zero = fit_with_prior(&zero, &comparisons, &options).unwrap();
        let plain = super::fit(&comparisons, &options).unwrap();
        assert!((towards_zero.strengths[0] - plain.strengths[0]).abs() < 1e-12);
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
