//! Models in which a tie is an outcome of its own, and "both bad" may be one: Davidson, Rao-Kupper, grounded Rao-Kupper.
//!
//! The plain fit counts a tie as half a win. These models estimate from the same votes how readily people call a tie,
//! and the grounded one how often they find neither answer good enough, which gives each model an absolute level.
//!
//! | [`TieModel`] | P(a wins) | P(tie) | P(both bad) |
//! |---|---|---|---|
//! | `Davidson` | πa / D, D = πa + πb + 2ν√(πa πb) | 2ν√(πa πb) / D | – |
//! | `RaoKupper` | πa / (πa + η πb) | the rest | – |
//! | `GroundedRaoKupper` | πa / (πa + η πb + 1) | the rest | 1 / (1 + πa + πb) |
//!
//! with π = exp θ, ν > 0 and η > 1. For η = 1 the rest is exactly 0, and it grows with η: η ≥ 1 is the whole constraint.
//!
//! # What is guaranteed
//!
//! Davidson's log-likelihood is that of a multinomial logit and Rao-Kupper's that of an ordered logit (a win, a tie and a
//! loss cut a logistic variable at ±ln η); both are concave in (θ, ln 2ν) or (θ, ln η) (Burridge 1981, Pratt 1981), so
//! that the optimum is the only one. In the grounded model wins and "both bad" are concave, but a tie is not: with
//! weak models and a wide tie, log P(tie) bends up along θa − θb. Its fit is therefore a checked local maximum (the
//! information is positive definite there), sought from several starts: see [`Optimum`].
//!
//! A fit is refused where no finite best estimate exists. The condition is exact for the concave models and sufficient
//! for the grounded one: strong connectivity alone does not do. When A beat B, and both tied with C, strengths and
//! the tie parameter can grow together and predict every result; some cycle of results must hold more wins than ties.
//!
//! # References
//!
//! - P. V. Rao, L. L. Kupper (1967), *Ties in paired-comparison experiments*, JASA 62.
//! - R. R. Davidson (1970), *On extending the Bradley-Terry model to accommodate ties*, JASA 65.
//! - E. Frick et al. (2025), *Prompt-to-Leaderboard*, arXiv 2502.14855 (the grounded model).

mod existence;
mod outcomes;

use crate::bradley_terry::{Certificate, sigmoid};
use crate::comparisons::{Comparison, Comparisons};
use crate::covariance::{Covariance, CovarianceMethod};
use crate::interval::critical_value;
use crate::linear_algebra::Matrix;
use crate::{Anchor, Error};
use outcomes::log_probabilities;

/// What can happen in a battle of models a and b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Model a wins.
    WinA,
    /// Model b wins.
    WinB,
    /// Both are equally good.
    Tie,
    /// Neither is good enough.
    BothBad,
}

impl Outcome {
    /// All outcomes, in the order in which probabilities are given.
    pub const ALL: [Self; 4] = [Self::WinA, Self::WinB, Self::Tie, Self::BothBad];
}

/// How ties and "both bad" come about; formulas in the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieModel {
    /// Davidson (1970): ties are likeliest between equals, in proportion to the geometric mean of their worths.
    Davidson,
    /// Rao & Kupper (1967): a difference that nobody notices is a tie.
    RaoKupper,
    /// Rao-Kupper with a third contestant, the bar "good enough", of worth 1 (Prompt-to-Leaderboard 2025).
    GroundedRaoKupper,
}

impl TieModel {
    fn has_both_bad(self) -> bool {
        self == Self::GroundedRaoKupper
    }
}

/// How often each outcome was seen between model `a` on side A and model `b` on side B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TieCounts {
    /// Index of the first model.
    pub a: u32,
    /// Index of the second model.
    pub b: u32,
    /// Battles that `a` won.
    pub wins_a: u64,
    /// Battles that `b` won.
    pub wins_b: u64,
    /// Battles called a tie.
    pub ties: u64,
    /// Battles in which both were called bad.
    pub both_bad: u64,
}

impl TieCounts {
    /// No battle yet of `a` and `b`.
    pub fn new(a: u32, b: u32) -> Self {
        Self {
            a,
            b,
            ..Self::default()
        }
    }

    /// All battles.
    pub fn battles(&self) -> u64 {
        self.of()
            .into_iter()
            .fold(0, |sum, count| sum.saturating_add(count))
    }

    fn is_empty(&self) -> bool {
        self.of() == [0; 4]
    }

    /// Counts in the order of [`Outcome::ALL`].
    fn of(&self) -> [u64; 4] {
        [self.wins_a, self.wins_b, self.ties, self.both_bad]
    }

    fn swapped(self) -> Self {
        Self {
            a: self.b,
            b: self.a,
            wins_a: self.wins_b,
            wins_b: self.wins_a,
            ..self
        }
    }

    fn absorb(&mut self, other: &Self) {
        self.wins_a = self.wins_a.saturating_add(other.wins_a);
        self.wins_b = self.wins_b.saturating_add(other.wins_b);
        self.ties = self.ties.saturating_add(other.ties);
        self.both_bad = self.both_bad.saturating_add(other.both_bad);
    }
}

/// Checked counts of outcomes in canonical order: the same battles give the same bits,
/// whatever the order of rows and whichever model was side A.
///
/// # Examples
///
/// ```
/// use agon_ranking::ties::{TieComparisons, TieCounts};
///
/// let one_way = TieCounts { wins_a: 3, ties: 1, ..TieCounts::new(0, 1) };
/// let the_other = TieCounts { wins_b: 3, ties: 1, ..TieCounts::new(1, 0) };
/// assert_eq!(TieComparisons::new(2, [one_way])?, TieComparisons::new(2, [the_other])?);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TieComparisons {
    n_models: usize,
    // Invariant: a < b in each, ascending, no pair twice, none empty.
    pairs: Vec<TieCounts>,
}

impl TieComparisons {
    /// Checks the counts and adds up those of the same two models.
    ///
    /// # Errors
    ///
    /// [`Error::ModelOutOfRange`], [`Error::SelfComparison`], and [`Error::Count`] for a row without any battle.
    pub fn new(
        n_models: usize,
        counts: impl IntoIterator<Item = TieCounts>,
    ) -> Result<Self, Error> {
        let mut pairs = Vec::new();
        for (row, counts) in counts.into_iter().enumerate() {
            for model in [counts.a, counts.b] {
                if model as usize >= n_models {
                    return Err(Error::ModelOutOfRange {
                        row,
                        model,
                        n_models,
                    });
                }
            }
            if counts.a == counts.b {
                return Err(Error::SelfComparison {
                    row,
                    model: counts.a,
                });
            }
            if counts.is_empty() {
                return Err(Error::Count { row });
            }
            pairs.push(if counts.a < counts.b {
                counts
            } else {
                counts.swapped()
            });
        }
        pairs.sort_unstable_by_key(|counts| (counts.a, counts.b));
        pairs.dedup_by(|next, kept| {
            let same = (next.a, next.b) == (kept.a, kept.b);
            if same {
                kept.absorb(next);
            }
            same
        });
        Ok(Self { n_models, pairs })
    }

    /// Number of models, those without a battle included.
    pub fn n_models(&self) -> usize {
        self.n_models
    }

    /// Counts of each pair that met, the lower index as `a`, in ascending order.
    pub fn pairs(&self) -> &[TieCounts] {
        &self.pairs
    }

    /// All battles together; its model indices mean nothing.
    fn total(&self) -> TieCounts {
        let mut total = TieCounts::default();
        for counts in &self.pairs {
            total.absorb(counts);
        }
        total
    }

    /// The same battles with every "both bad" called a tie, as Davidson's and Rao-Kupper's models need it.
    ///
    /// A decision rather than a default: it mixes what is equally good with what is equally useless.
    pub fn with_both_bad_as_ties(&self) -> Self {
        let merged = |counts: &TieCounts| TieCounts {
            ties: counts.ties.saturating_add(counts.both_bad),
            both_bad: 0,
            ..*counts
        };
        Self {
            n_models: self.n_models,
            pairs: self.pairs.iter().map(merged).collect(),
        }
    }

    /// The battles of the given models among themselves, numbered anew; `models` are distinct and ascend.
    fn among(&self, models: &[usize]) -> Self {
        let mut position = vec![None; self.n_models];
        for (new, &old) in models.iter().enumerate() {
            position[old] = Some(new as u32);
        }
        let pairs = self.pairs.iter().filter_map(|counts| {
            let (a, b) = (position[counts.a as usize]?, position[counts.b as usize]?);
            Some(TieCounts { a, b, ..*counts })
        });
        Self {
            n_models: models.len(),
            pairs: pairs.collect(),
        }
    }

    /// The models that a fit can place, ascending, and their battles among themselves, numbered in that order.
    ///
    /// In Davidson's and Rao-Kupper's models it is the part with most battles in which everybody has scored against
    /// everybody, directly or through others, as on a board of the plain model. In the grounded model it is everybody who
    /// has passed the bar "good enough" and failed it, directly or through others. Both may be empty. A fit of the part
    /// can still be refused for want of ties, or because wins and ties never contradict each other.
    ///
    /// # Examples
    ///
    /// ```
    /// use agon_ranking::ties::{TieComparisons, TieCounts, TieFitOptions, TieModel, fit_ties};
    ///
    /// // Model 0 never lost.
    /// let comparisons = TieComparisons::new(
    ///     3,
    ///     [
    ///         TieCounts { wins_a: 5, ..TieCounts::new(0, 1) },
    ///         TieCounts { wins_a: 4, wins_b: 3, ties: 2, ..TieCounts::new(1, 2) },
    ///     ],
    /// )?;
    /// let (models, part) = comparisons.linked_part(TieModel::Davidson);
    /// assert_eq!(models, [1, 2]);
    /// assert!(fit_ties(&part, TieModel::Davidson, &TieFitOptions::default()).is_ok());
    /// # Ok::<(), agon_ranking::Error>(())
    /// ```
    pub fn linked_part(&self, model: TieModel) -> (Vec<usize>, Self) {
        let models = existence::linked(self, model);
        let part = self.among(&models);
        (models, part)
    }

    /// The same battles for the plain model, ties of both kinds as half a win.
    pub fn to_comparisons(&self) -> Comparisons {
        let rows = self.pairs.iter().flat_map(|counts| {
            let ties = counts.ties.saturating_add(counts.both_bad);
            let parts = [(1.0, counts.wins_a), (0.0, counts.wins_b), (0.5, ties)];
            parts
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(outcome, count)| {
                    Comparison::new(counts.a, counts.b, outcome).with_count(count)
                })
        });
        Comparisons::new(self.n_models, rows).expect(
            "indices were checked when these counts were made, and empty cells are left out",
        )
    }
}

/// How to fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TieFitOptions {
    /// The fit is accepted when no entry of the gradient exceeds this share of the number of battles.
    pub gradient_tolerance: f64,
    /// Newton steps after which the fit is given up.
    pub iterations_max: usize,
}

impl Default for TieFitOptions {
    /// Gradient at most 1e-9 of the number of battles, 200 steps (fewer than ten are the rule).
    fn default() -> Self {
        Self {
            gradient_tolerance: 1e-9,
            iterations_max: 200,
        }
    }
}

/// What is known about the optimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimum {
    /// The log-likelihood is concave: this is its only maximum.
    Global,
    /// A strict local maximum, the best that was found.
    Local {
        /// From how many starts it was sought.
        starts: usize,
        /// How many of them ended at this very maximum.
        agreeing: usize,
    },
}

/// A fitted tie model.
#[derive(Clone, Debug, PartialEq)]
pub struct TieFit {
    /// Which model was fitted.
    pub model: TieModel,
    /// Strength θ = ln π of each model in nats. Their mean is 0, except in the grounded model, where 0 is the strength
    /// of the bar "good enough".
    pub strengths: Vec<f64>,
    /// The tie parameter: ν > 0 of Davidson's model, η > 1 of the others.
    pub tie: f64,
    /// The evidence that this is an optimum.
    pub certificate: Certificate,
    /// Whether it is the only one.
    pub optimum: Optimum,
    // ln 2ν or ln η.
    psi: f64,
    // Negative Hessian at the estimate, lower triangle, models before ψ.
    information: Matrix,
    // The model held fixed while solving; none in the grounded model.
    ground: Option<usize>,
}

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TieEstimate {
    /// The estimate.
    pub estimate: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Standard error of the estimate.
    pub standard_error: f64,
}

/// Probabilities of the outcomes of one battle; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutcomeProbabilities {
    /// Model a wins.
    pub win_a: f64,
    /// Model b wins.
    pub win_b: f64,
    /// Both are equally good.
    pub tie: f64,
    /// Neither is good enough; 0 in models without this outcome.
    pub both_bad: f64,
}

impl TieFit {
    /// What a battle of models `a` and `b` would give; `None` for a model that is not in the fit.
    pub fn probabilities(&self, a: usize, b: usize) -> Option<OutcomeProbabilities> {
        let (a, b) = (*self.strengths.get(a)?, *self.strengths.get(b)?);
        let [win_a, win_b, tie, both_bad] = outcomes::probabilities(self.model, a, b, self.psi);
        Some(OutcomeProbabilities {
            win_a,
            win_b,
            tie,
            both_bad,
        })
    }

    /// The model's absolute level: the probability π / (1 + π) that its answer passes the bar "good enough" by itself.
    ///
    /// It is what the grounded model gives for a battle against an opponent that never passes (πb = 0).
    /// `None` in models without "both bad", and for a model that is not in the fit.
    pub fn good_enough_probability(&self, model: usize) -> Option<f64> {
        let strength = *self.strengths.get(model)?;
        self.model.has_both_bad().then(|| sigmoid(strength))
    }

    /// Covariance of the strengths and, as coefficient 0, of the tie parameter on its log scale (ln 2ν or ln η), in nats.
    ///
    /// H⁻¹ B H⁻¹ with H the negative Hessian and B the sum of squared scores of battles; [`CovarianceMethod::ModelBased`]
    /// is H⁻¹ with the observed information. Strengths are measured from their mean ([`Anchor::Mean`]),
    /// in the grounded model from the bar; [`Covariance::anchored`] changes that.
    ///
    /// `comparisons` must be those that the fit was made from.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when the comparisons have another number of models than the fit;
    /// [`Error::NoClusters`] for clustered errors, as counts do not say who voted; [`Error::Singular`].
    pub fn covariance(
        &self,
        comparisons: &TieComparisons,
        method: CovarianceMethod,
    ) -> Result<Covariance, Error> {
        let n_models = self.strengths.len();
        if comparisons.n_models() != n_models {
            return Err(Error::Length {
                found: comparisons.n_models(),
                expected: n_models,
            });
        }
        let mut factor = self.information.clone();
        if let Some(ground) = self.ground {
            factor.ground(ground);
        }
        factor.factor().map_err(|_| Error::Singular)?;
        let mut bread = factor.inverse();
        if let Some(ground) = self.ground {
            // The inverse of the grounded matrix has a 1 there; the fixed model has no variance.
            bread.set(ground, ground, 0.0);
        }
        let mut mass = vec![0.0; n_models];
        for counts in comparisons.pairs() {
            for model in [counts.a, counts.b] {
                mass[model as usize] += counts.battles() as f64;
            }
        }
        let covariance = match method {
            CovarianceMethod::ModelBased => Covariance::from_parts(n_models, bread, None, mass),
            CovarianceMethod::ClusteredSandwich => return Err(Error::NoClusters),
            CovarianceMethod::Sandwich => {
                let scores = self.squared_scores(comparisons);
                let meat = (0..n_models)
                    .map(|model| scores.get(model, model))
                    .collect();
                Covariance::from_parts(n_models, bread.sandwich(&scores), Some(meat), mass)
            }
        };
        if self.ground.is_some() {
            covariance.anchored(&vec![1.0; n_models])
        } else {
            Ok(covariance)
        }
    }

    /// Sum over battles of the outer products of their scores, full.
    fn squared_scores(&self, comparisons: &TieComparisons) -> Matrix {
        let tie_row = self.strengths.len();
        let mut meat = Matrix::zeros(tie_row + 1);
        for counts in comparisons.pairs() {
            let (i, j) = (counts.a as usize, counts.b as usize);
            let jets =
                log_probabilities(self.model, self.strengths[i], self.strengths[j], self.psi);
            for (jet, count) in jets.iter().zip(counts.of()) {
                if count > 0 {
                    add_symmetric(&mut meat, [i, j, tie_row], |row, column| {
                        count as f64 * jet.gradient[row] * jet.gradient[column]
                    });
                }
            }
        }
        meat.mirror();
        meat
    }

    /// Each model's strength in nats with its interval, under the anchor of the covariance; `None` where the error cannot
    /// be estimated.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] unless the level lies between 0 and 1, both excluded.
    pub fn strength_estimates(
        &self,
        covariance: &Covariance,
        level: f64,
    ) -> Result<Vec<Option<TieEstimate>>, Error> {
        let critical = critical_value(level)?;
        let estimates = self.strengths.iter().enumerate().map(|(model, &estimate)| {
            let standard_error = covariance.strength_error(model)?;
            Some(TieEstimate {
                estimate,
                lower: estimate - critical * standard_error,
                upper: estimate + critical * standard_error,
                standard_error,
            })
        });
        Ok(estimates.collect())
    }

    /// The tie parameter (ν or η) with an interval that stays in its range.
    ///
    /// The interval is taken on the scale ln ν or ln (η − 1) and carried back (delta method), so that ν > 0 and η > 1
    /// hold for both ends. `standard_error` is that of ν or η itself.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] unless the level lies between 0 and 1, both excluded;
    /// [`Error::Length`] for a covariance that is not of this fit.
    pub fn tie_estimate(&self, covariance: &Covariance, level: f64) -> Result<TieEstimate, Error> {
        let critical = critical_value(level)?;
        let error = covariance.coefficient_error(0).ok_or(Error::Length {
            found: covariance.n_parameters(),
            expected: self.strengths.len() + 1,
        })?;
        let standard_error = error * self.tie;
        let floor = if self.model == TieModel::Davidson {
            0.0
        } else {
            1.0
        };
        // exp_m1 keeps η − 1 exact when it is tiny.
        let above = if floor == 0.0 {
            self.tie
        } else {
            self.psi.exp_m1()
        };
        let half = critical * standard_error / above;
        Ok(TieEstimate {
            estimate: self.tie,
            lower: floor + above * (-half).exp(),
            upper: floor + above * half.exp(),
            standard_error,
        })
    }

    /// Each model's absolute level with its interval, taken on the logit scale; `None` where the error cannot be estimated.
    ///
    /// # Errors
    ///
    /// As [`TieFit::strength_estimates`]; [`Error::NoLevel`] for a model without "both bad".
    pub fn good_enough_estimates(
        &self,
        covariance: &Covariance,
        level: f64,
    ) -> Result<Vec<Option<TieEstimate>>, Error> {
        if !self.model.has_both_bad() {
            return Err(Error::NoLevel);
        }
        let strengths = self.strength_estimates(covariance, level)?;
        let levels = strengths.into_iter().map(|strength| {
            strength.map(|strength| {
                let estimate = sigmoid(strength.estimate);
                TieEstimate {
                    estimate,
                    lower: sigmoid(strength.lower),
                    upper: sigmoid(strength.upper),
                    standard_error: strength.standard_error * estimate * (1.0 - estimate),
                }
            })
        });
        Ok(levels.collect())
    }

    /// What strengths are measured from: [`Anchor::Mean`], or `None` where the bar "good enough" holds them.
    pub fn anchor(&self) -> Option<Anchor> {
        self.ground.map(|_| Anchor::Mean)
    }
}

/// Adds a symmetric 3 × 3 block to the lower triangle; the indices must ascend.
fn add_symmetric(matrix: &mut Matrix, indices: [usize; 3], entry: impl Fn(usize, usize) -> f64) {
    for row in 0..3 {
        for column in 0..=row {
            matrix.add(indices[row], indices[column], entry(row, column));
        }
    }
}

/// Fits strengths and the tie parameter by maximum likelihood.
///
/// Newton's method with step halving; where the log-likelihood is not concave, with a multiple of the identity added
/// (Levenberg 1944). See the [module](self) for what is guaranteed about the result.
///
/// It stops as [`fit()`](crate::fit()) does: the gradient is within its tolerance and no parameter has further than
/// 1e-12 (or what rounding leaves) to go.
///
/// # Errors
///
/// [`Error::NoBattles`]; [`Error::BothBad`] where the model has no such outcome
/// (see [`TieComparisons::with_both_bad_as_ties`]); where no finite estimate exists [`Error::NotConnected`],
/// [`Error::NotGrounded`], [`Error::NoTies`] or [`Error::SeparatedTies`]; [`Error::NotConverged`];
/// [`Error::Option`].
///
/// # Examples
///
/// Two models are known in closed form: πa / πb = 40 / 10 and ν = 30 / (2 √(40 · 10)).
///
/// ```
/// use agon_ranking::ties::{TieComparisons, TieCounts, TieFitOptions, TieModel, fit_ties};
///
/// let counts = TieCounts { wins_a: 40, wins_b: 10, ties: 30, ..TieCounts::new(0, 1) };
/// let comparisons = TieComparisons::new(2, [counts])?;
/// let fit = fit_ties(&comparisons, TieModel::Davidson, &TieFitOptions::default())?;
/// assert!((fit.strengths[0] - fit.strengths[1] - 4.0_f64.ln()).abs() < 1e-12);
/// assert!((fit.tie - 0.75).abs() < 1e-12);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn fit_ties(
    comparisons: &TieComparisons,
    model: TieModel,
    options: &TieFitOptions,
) -> Result<TieFit, Error> {
    if !(options.gradient_tolerance.is_finite() && options.gradient_tolerance > 0.0) {
        return Err(Error::Option {
            option: "gradient_tolerance",
            value: options.gradient_tolerance,
            expected: "a finite number above 0",
        });
    }
    existence::check(comparisons, model)?;
    let likelihood = Likelihood::new(comparisons, model);
    let start = likelihood.start();
    let (peak, optimum) = if model.has_both_bad() {
        likelihood.search(start, options)?
    } else {
        (likelihood.maximise(start, options)?, Optimum::Global)
    };

    let mut strengths = peak.parameters;
    let psi = strengths.pop().unwrap_or(0.0);
    if likelihood.ground.is_some() {
        let mean = strengths.iter().sum::<f64>() / strengths.len() as f64;
        for strength in &mut strengths {
            *strength -= mean;
        }
    }
    let tie = match model {
        TieModel::Davidson => psi.exp() / 2.0,
        TieModel::RaoKupper | TieModel::GroundedRaoKupper => psi.exp(),
    };
    Ok(TieFit {
        model,
        strengths,
        tie,
        certificate: peak.certificate,
        optimum,
        psi,
        information: peak.information,
        ground: likelihood.ground,
    })
}

struct Likelihood<'a> {
    comparisons: &'a TieComparisons,
    model: TieModel,
    ground: Option<usize>,
    total: TieCounts,
}

/// Value, gradient and negative Hessian at one point; reused between iterations.
struct Evaluation {
    log_likelihood: f64,
    gradient: Vec<f64>,
    gradient_max: f64,
    information: Matrix,
}

struct Peak {
    parameters: Vec<f64>,
    certificate: Certificate,
    information: Matrix,
}

impl<'a> Likelihood<'a> {
    fn new(comparisons: &'a TieComparisons, model: TieModel) -> Self {
        let n_models = comparisons.n_models();
        let mut battles = vec![0_u64; n_models];
        for counts in comparisons.pairs() {
            for model in [counts.a, counts.b] {
                let sum = &mut battles[model as usize];
                *sum = sum.saturating_add(counts.battles());
            }
        }
        // The model with most battles is the best known one, which keeps the reduced system well conditioned.
        let mut ground = 0;
        for model in 1..n_models {
            if battles[model] > battles[ground] {
                ground = model;
            }
        }
        Self {
            comparisons,
            model,
            ground: (!model.has_both_bad()).then_some(ground),
            total: comparisons.total(),
        }
    }

    fn n_parameters(&self) -> usize {
        self.comparisons.n_models() + 1
    }

    /// Equal models with the overall shares of ties and "both bad".
    fn start(&self) -> Vec<f64> {
        let battles = self.total.battles() as f64;
        let tie = self.total.ties as f64 / battles;
        let (strength, psi) = match self.model {
            // P(tie) = ν / (1 + ν).
            TieModel::Davidson => (0.0, (2.0 * tie / (1.0 - tie)).ln()),
            // P(tie) = (η − 1) / (η + 1).
            TieModel::RaoKupper => (0.0, ((1.0 + tie) / (1.0 - tie)).ln()),
            // P(both bad) = 1 / (1 + 2π), P(a) = π / (π + η π + 1).
            TieModel::GroundedRaoKupper => {
                let both_bad = self.total.both_bad as f64 / battles;
                let worth = (1.0 - both_bad) / (2.0 * both_bad);
                let win = (1.0 - both_bad - tie) / 2.0;
                let eta = 1.0 / win - 1.0 - 1.0 / worth;
                (worth.ln(), eta.max(1.01).ln())
            }
        };
        let mut start = vec![strength; self.n_parameters()];
        start[self.comparisons.n_models()] = psi;
        start
    }

    fn evaluate(&self, parameters: &[f64], at: &mut Evaluation) {
        let tie_row = self.comparisons.n_models();
        let psi = parameters[tie_row];
        at.log_likelihood = 0.0;
        at.gradient.fill(0.0);
        at.information.clear();
        for counts in self.comparisons.pairs() {
            let indices = [counts.a as usize, counts.b as usize, tie_row];
            let jets = log_probabilities(
                self.model,
                parameters[indices[0]],
                parameters[indices[1]],
                psi,
            );
            let mut hessian = [[0.0_f64; 3]; 3];
            for (jet, count) in jets.iter().zip(counts.of()) {
                if count == 0 {
                    continue;
                }
                let count = count as f64;
                at.log_likelihood += count * jet.value;
                for row in 0..3 {
                    at.gradient[indices[row]] += count * jet.gradient[row];
                    for (sum, second) in hessian[row].iter_mut().zip(jet.hessian[row]) {
                        *sum += count * second;
                    }
                }
            }
            add_symmetric(&mut at.information, indices, |row, column| {
                -hessian[row][column]
            });
        }
        at.gradient_max = at
            .gradient
            .iter()
            .fold(0.0, |max, value| f64::max(max, value.abs()));
    }

    /// The best of the maxima found from several starts.
    fn search(&self, start: Vec<f64>, options: &TieFitOptions) -> Result<(Peak, Optimum), Error> {
        /// Ends of two searches that differ by less than this are the same maximum.
        const SAME: f64 = 1e-6;
        let n_models = self.comparisons.n_models();
        let first = self.maximise(start.clone(), options);
        // A narrow and a wide tie, and the strengths found upside down.
        let mut starts = vec![start.clone(), start.clone()];
        starts[0][n_models] = 0.1 * start[n_models];
        starts[1][n_models] = start[n_models] + 3.0;
        if let Ok(peak) = &first {
            let strengths = &peak.parameters[..n_models];
            let mean = strengths.iter().sum::<f64>() / n_models as f64;
            let mut reversed: Vec<f64> = strengths.iter().map(|s| 2.0 * mean - s).collect();
            reversed.push(start[n_models]);
            starts.push(reversed);
        }
        let mut ends = vec![first];
        ends.extend(
            starts
                .into_iter()
                .map(|start| self.maximise(start, options)),
        );
        let starts = ends.len();
        let mut best: Option<Peak> = None;
        let mut parameters = Vec::new();
        let mut failure = None;
        for end in ends {
            match end {
                Ok(peak) => {
                    parameters.push(peak.parameters.clone());
                    // Strict by more than rounding, so that equal maxima leave the first one.
                    let better = best.as_ref().is_none_or(|best| {
                        let known = best.certificate.log_likelihood;
                        peak.certificate.log_likelihood > known + 1e-9 * known.abs().max(1.0)
                    });
                    if better {
                        best = Some(peak);
                    }
                }
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        let Some(best) = best else {
            return Err(failure.unwrap_or(Error::Singular));
        };
        let agreeing = parameters
            .iter()
            .filter(|end| {
                let pairs = end.iter().zip(&best.parameters);
                pairs.clone().all(|(x, y)| (x - y).abs() < SAME)
            })
            .count();
        Ok((best, Optimum::Local { starts, agreeing }))
    }

    /// Newton's method from the given start.
    fn maximise(&self, start: Vec<f64>, options: &TieFitOptions) -> Result<Peak, Error> {
        /// The optimum is reached when no parameter has further than this to go.
        const STEP_LIMIT: f64 = 1e-12;
        /// Steps below this that no longer shrink are rounding errors.
        const STEP_NOISE: f64 = 1e-6;
        /// The shortest step tried before the search is given up.
        const SHARE_MIN: f64 = 1e-9;
        /// Losses of the objective below this share of it are rounding errors.
        const ROUNDING: f64 = 1e-12;
        /// Share of the way to the bound η = 1 that one step may take.
        const BOUND_SHARE: f64 = 0.9;

        let n = self.n_parameters();
        let tie_row = n - 1;
        let gradient_limit = options.gradient_tolerance * self.total.battles() as f64;
        let mut parameters = start;
        let mut candidate = vec![0.0; n];
        let mut step = vec![0.0; n];
        let mut factor = Matrix::zeros(n);
        let evaluation = || Evaluation {
            log_likelihood: 0.0,
            gradient: vec![0.0; n],
            gradient_max: 0.0,
            information: Matrix::zeros(n),
        };
        let (mut current, mut next) = (evaluation(), evaluation());
        self.evaluate(&parameters, &mut current);

        let mut iterations = 0;
        let mut step_before = f64::INFINITY;
        let step_max = loop {
            let concave = self.newton_step(&current, &mut factor, &mut step)?;
            let step_max = step
                .iter()
                .fold(0.0, |max, value| f64::max(max, value.abs()));
            let shrinking = step_max < 0.5 * step_before;
            if concave
                && current.gradient_max <= gradient_limit
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
            if self.model != TieModel::Davidson && step[tie_row] < 0.0 {
                share = f64::min(share, BOUND_SHARE * parameters[tie_row] / -step[tie_row]);
            }
            let stuck = loop {
                for ((candidate, value), step) in candidate.iter_mut().zip(&parameters).zip(&step) {
                    *candidate = value + share * step;
                }
                self.evaluate(&candidate, &mut next);
                // Near the optimum the objective no longer changes in double precision; there the gradient decides.
                // Elsewhere it must not: far out the likelihood is flat. Written so that a NaN is not accepted.
                let gain = next.log_likelihood - current.log_likelihood;
                if gain >= 0.0
                    || (gain >= -ROUNDING * current.log_likelihood.abs()
                        && next.gradient_max < current.gradient_max)
                {
                    break false;
                }
                share *= 0.5;
                if share < SHARE_MIN {
                    break true;
                }
            };
            if stuck {
                // No step gains anything: this is the optimum as far as it can be computed.
                if concave && current.gradient_max <= gradient_limit && step_max <= STEP_NOISE {
                    break step_max;
                }
                return Err(failed);
            }
            std::mem::swap(&mut parameters, &mut candidate);
            std::mem::swap(&mut current, &mut next);
            iterations += 1;
        };
        Ok(Peak {
            parameters,
            certificate: Certificate {
                gradient_max: current.gradient_max,
                gradient_limit,
                step_max,
                iterations,
                log_likelihood: current.log_likelihood,
            },
            information: current.information,
        })
    }

    /// Puts an ascent direction into `step`; says whether it is Newton's own, so that the point is locally concave.
    fn newton_step(
        &self,
        current: &Evaluation,
        factor: &mut Matrix,
        step: &mut [f64],
    ) -> Result<bool, Error> {
        /// First share of the largest diagonal entry that is added, and how it grows.
        const SHIFT: f64 = 1e-4;
        const GROWTH: f64 = 10.0;
        /// From here on the direction is that of steepest ascent.
        const SHIFT_MAX: f64 = 1e12;
        let n = self.n_parameters();
        let largest = (0..n).fold(0.0, |max, idx| {
            f64::max(max, current.information.get(idx, idx).abs())
        });
        let mut shift = 0.0;
        while shift <= SHIFT_MAX {
            factor.copy_from(&current.information);
            step.copy_from_slice(&current.gradient);
            if shift > 0.0 {
                for idx in 0..n {
                    factor.add(idx, idx, shift * largest);
                }
            }
            if let Some(ground) = self.ground {
                factor.ground(ground);
                step[ground] = 0.0;
            }
            if factor.factor().is_ok() {
                factor.solve(step);
                return Ok(shift == 0.0);
            }
            shift = f64::max(SHIFT, shift * GROWTH);
        }
        Err(Error::Singular)
    }
}

#[cfg(test)]
mod tests;
