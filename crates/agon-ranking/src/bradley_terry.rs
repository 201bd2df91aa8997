//! The Bradley-Terry fit, with or without features, by Newton's method to a checked optimum.
//!
//! Not for incomplete comparisons: [`leaderboard()`](crate::leaderboard()) first splits those.

use crate::Error;
use crate::comparisons::Comparisons;
use crate::components::Components;
use crate::linear_algebra::Matrix;
use crate::wide::{self, Work};

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
    check_existence(comparisons, options)?;
    Likelihood::new(comparisons, options).maximise(options)
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
    Likelihood::new(comparisons, options).maximise_from(Some(start), options)
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
    let mut likelihood = Likelihood::new(comparisons, options);
    likelihood.prior.clone_from(&prior.strengths);
    likelihood.prior.extend_from_slice(&prior.coefficients);
    likelihood.maximise_from(Some(prior), options)
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
    Ok(())
}

/// Fits comparisons that are known to be strongly connected.
pub(crate) fn fit_connected(comparisons: &Comparisons, options: &FitOptions) -> Result<Fit, Error> {
    fit_connected_from(None, comparisons, options)
}

/// The same from a start of the right size.
pub(crate) fn fit_connected_from(
    start: Option<&Start>,
    comparisons: &Comparisons,
    options: &FitOptions,
) -> Result<Fit, Error> {
    options.check()?;
    Likelihood::new(comparisons, options).maximise_from(start, options)
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

/// e^x for x ≤ 0, to about one unit in the last place; below −708 as at −708.
///
/// Own code, as a call of the platform's library would keep the compiler from working on several numbers at once and
/// may round differently elsewhere. x = k ln 2 + r with |r| ≤ ½ ln 2 (Cody & Waite 1980), e^r by its series to r¹³.
#[inline(always)]
fn exp_of_negative(x: f64) -> f64 {
    /// Adding it leaves the nearest whole number in the lowest bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Written so that a NaN stays one.
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x * std::f64::consts::LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut sum = 1.0 / 6_227_020_800.0;
    for factorial in [
        479_001_600.0,
        39_916_800.0,
        3_628_800.0,
        362_880.0,
        40_320.0,
        5_040.0,
        720.0,
        120.0,
        24.0,
        6.0,
        2.0,
        1.0,
        1.0,
    ] {
        sum = sum * r + 1.0 / factorial;
    }
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// Sums over rows are kept in so many parts, row by row in turn: as many as a vector register holds.
const LANES: usize = 4;

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

/// Several rows of a column at a time, the last ones filled up with 0.
#[inline(always)]
fn chunk(column: &[f64], idx: usize) -> [f64; LANES] {
    let (chunks, rest) = column.as_chunks::<LANES>();
    chunks.get(idx).copied().unwrap_or_else(|| {
        let mut filled = [0.0; LANES];
        filled[..rest.len()].copy_from_slice(rest);
        filled
    })
}

/// Replaces a column by chosen rows of another one.
fn gather(column: &mut Vec<f64>, rows: &[u32], from: &[f64]) {
    column.clear();
    column.extend(rows.iter().map(|&row| from[row as usize]));
}

/// Battles of one pair of models: a run of rows.
#[derive(Clone, Copy, Debug)]
struct Run {
    i: u32,
    j: u32,
    end: usize,
}

/// The objective in the form that an iteration needs: one row for each group of equal battles, runs of rows by pair.
#[derive(Debug)]
pub(crate) struct Likelihood {
    n_models: usize,
    n_features: usize,
    // Invariant: the ends ascend, and the last one is the number of rows.
    runs: Vec<Run>,
    scores: Vec<f64>,
    masses: Vec<f64>,
    /// One column for each feature: sums over rows then work on several rows at once.
    features: Vec<Vec<f64>>,
    /// Known part of each group's log-odds; empty when there is none.
    offsets: Vec<f64>,
    ridge: Vec<f64>,
    /// What the penalty draws towards; empty for 0.
    prior: Vec<f64>,
    ground: Option<usize>,
    /// Rows that the last refill took over.
    kept: Vec<u32>,
}

/// Gradient and information at one point; reused between iterations.
#[derive(Debug)]
struct Evaluation {
    gradient: Vec<f64>,
    gradient_max: f64,
    information: Matrix,
    /// Log-likelihood and objective, once they have been asked for.
    value: Option<(f64, f64)>,
}

impl Evaluation {
    fn new(n: usize) -> Self {
        Self {
            gradient: vec![0.0; n],
            gradient_max: 0.0,
            information: Matrix::zeros(n),
            value: None,
        }
    }
}

/// Everything that a fit writes to, so that the next one of the same size allocates nothing.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Strengths, then coefficients: the start before, the optimum after.
    pub(crate) parameters: Vec<f64>,
    /// Parameters that keep the value of the start, besides the model held fixed.
    pub(crate) fixed: Vec<usize>,
    candidate: Vec<f64>,
    step: Vec<f64>,
    factor: Matrix,
    current: Evaluation,
    next: Evaluation,
    block: Block,
}

impl Workspace {
    pub(crate) fn new(n_parameters: usize) -> Self {
        Self {
            parameters: vec![0.0; n_parameters],
            fixed: Vec::new(),
            candidate: vec![0.0; n_parameters],
            step: vec![0.0; n_parameters],
            factor: Matrix::zeros(n_parameters),
            current: Evaluation::new(n_parameters),
            next: Evaluation::new(n_parameters),
            block: Block::default(),
        }
    }
}

/// Rows that are worked on together: enough to fill vector registers, few enough to stay in the first cache.
#[derive(Debug, Default)]
struct Block {
    /// Log-odds, then the residual.
    residuals: Vec<f64>,
    curvatures: Vec<f64>,
    segments: Vec<(Run, usize)>,
}

/// The sums over all rows at one point.
struct Sums<'a> {
    likelihood: &'a Likelihood,
    parameters: &'a [f64],
    at: &'a mut Evaluation,
    with_information: bool,
    block: &'a mut Block,
}

impl Work for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            likelihood,
            parameters,
            at,
            with_information: with,
            block,
        } = self;
        // A number known while compiling lets the sums over features stay in registers.
        match likelihood.n_features {
            0 => likelihood.accumulate::<0>(parameters, at, with, block),
            1 => likelihood.accumulate::<1>(parameters, at, with, block),
            2 => likelihood.accumulate::<2>(parameters, at, with, block),
            3 => likelihood.accumulate::<3>(parameters, at, with, block),
            4 => likelihood.accumulate::<4>(parameters, at, with, block),
            5 => likelihood.accumulate::<5>(parameters, at, with, block),
            6 => likelihood.accumulate::<6>(parameters, at, with, block),
            7 => likelihood.accumulate::<7>(parameters, at, with, block),
            8 => likelihood.accumulate::<8>(parameters, at, with, block),
            _ => likelihood.accumulate_any(parameters, at, with, block),
        }
    }
}

impl Likelihood {
    pub(crate) fn new(comparisons: &Comparisons, options: &FitOptions) -> Self {
        let mut likelihood = Self::empty(comparisons.n_models(), comparisons.n_features(), options);
        let mut weight_of = vec![0.0; comparisons.n_models()];
        for group in comparisons.groups() {
            let cell = &comparisons.cells()[group.start];
            let (score, mass) = group.score_and_mass(comparisons.cells());
            likelihood.push_row(
                cell.i,
                cell.j,
                score,
                mass,
                comparisons.features_of(group.start),
            );
            weight_of[cell.i as usize] += mass;
            weight_of[cell.j as usize] += mass;
        }
        if options.ridge_strengths == 0.0 {
            // The model with most battles is the best known one, which keeps the reduced system well conditioned.
            let mut ground = 0;
            for model in 1..weight_of.len() {
                if weight_of[model] > weight_of[ground] {
                    ground = model;
                }
            }
            likelihood.ground = Some(ground);
        }
        likelihood
    }

    /// An objective without rows, and without a model held fixed.
    pub(crate) fn empty(n_models: usize, n_features: usize, options: &FitOptions) -> Self {
        let mut ridge = vec![options.ridge_strengths; n_models];
        ridge.extend(std::iter::repeat_n(options.ridge_coefficients, n_features));
        Self {
            n_models,
            n_features,
            runs: Vec::new(),
            scores: Vec::new(),
            masses: Vec::new(),
            features: vec![Vec::new(); n_features],
            offsets: Vec::new(),
            ridge,
            prior: Vec::new(),
            ground: None,
            kept: Vec::new(),
        }
    }

    /// An objective for models whose opponents may be known already.
    ///
    /// The last model stands for everything known: it is held at 0, and the known strengths are in the offsets.
    pub(crate) fn against_known(n_models: usize) -> Self {
        Self {
            ground: n_models.checked_sub(1),
            ..Self::empty(n_models, 0, &FitOptions::default())
        }
    }

    /// Adds battles of total weight `mass` in which model `i` scored `score` against `j`, with log-odds θi − θj + offset.
    pub(crate) fn push(&mut self, i: u32, j: u32, offset: f64, score: f64, mass: f64) {
        // Only the lower triangle of the information is kept, so the lower index comes first.
        if i < j {
            self.offsets.push(offset);
            self.push_row(i, j, score, mass, &[]);
        } else {
            self.offsets.push(-offset);
            self.push_row(j, i, mass - score, mass, &[]);
        }
    }

    /// Adds battles of total weight `mass` in which model `i` scored `score` against `j`, `i < j`.
    fn push_row(&mut self, i: u32, j: u32, score: f64, mass: f64, features: &[f64]) {
        self.scores.push(score);
        self.masses.push(mass);
        for (column, &value) in self.features.iter_mut().zip(features) {
            column.push(value);
        }
        let end = self.scores.len();
        match self.runs.last_mut() {
            Some(run) if (run.i, run.j) == (i, j) => run.end = end,
            _ => self.runs.push(Run { i, j, end }),
        }
    }

    /// Takes over the rows of another objective with new scores and masses, without those of mass 0.
    ///
    /// Calls `pair` with each pair of models that keeps a row, and its score and mass.
    pub(crate) fn refill(
        &mut self,
        from: &Self,
        scores: &[f64],
        masses: &[f64],
        mut pair: impl FnMut(u32, u32, f64, f64),
    ) {
        self.runs.clear();
        self.kept.resize(scores.len(), 0);
        let (mut start, mut n_kept) = (0, 0);
        for run in &from.runs {
            let (mut score_sum, mut mass_sum) = (0.0, 0.0);
            for idx in start..run.end {
                // Written without a branch: which rows are empty is chance, so a branch would often be mispredicted.
                self.kept[n_kept] = idx as u32;
                n_kept += usize::from(masses[idx] > 0.0);
                score_sum += scores[idx];
                mass_sum += masses[idx];
            }
            start = run.end;
            if mass_sum > 0.0 {
                pair(run.i, run.j, score_sum, mass_sum);
                self.runs.push(Run {
                    end: n_kept,
                    ..*run
                });
            }
        }
        self.kept.truncate(n_kept);
        gather(&mut self.scores, &self.kept, scores);
        gather(&mut self.masses, &self.kept, masses);
        for (column, from) in self.features.iter_mut().zip(&from.features) {
            gather(column, &self.kept, from);
        }
    }

    /// Takes the battles of the given models out of the sums, keeping their rows.
    pub(crate) fn drop_rows_of(&mut self, models: &[usize]) {
        let mut start = 0;
        for run in &self.runs {
            if [run.i, run.j]
                .iter()
                .any(|&model| models.contains(&(model as usize)))
            {
                self.scores[start..run.end].fill(0.0);
                self.masses[start..run.end].fill(0.0);
            }
            start = run.end;
        }
    }

    /// Holds a model fixed, or none.
    pub(crate) fn hold(&mut self, model: Option<usize>) {
        self.ground = model;
    }

    /// The maximum of the objective, from 0.
    pub(crate) fn maximise(&self, options: &FitOptions) -> Result<Fit, Error> {
        self.maximise_from(None, options)
    }

    fn maximise_from(&self, start: Option<&Start>, options: &FitOptions) -> Result<Fit, Error> {
        let mut work = Workspace::new(self.n_models + self.n_features);
        let mut chord = 0.0;
        if let Some(start) = start {
            let (strengths, coefficients) = work.parameters.split_at_mut(self.n_models);
            strengths.copy_from_slice(&start.strengths);
            coefficients.copy_from_slice(&start.coefficients);
            chord = CHORD;
        }
        let reached = self.newton(&mut work, options, chord)?;
        if chord > 0.0 {
            // What the covariance needs is the information at the optimum itself.
            self.evaluate(&work.parameters, &mut work.current, true, &mut work.block);
        }
        let (log_likelihood, _) = self.value(&work.parameters);
        let penalty_gradient = (0..work.parameters.len())
            .map(|idx| self.ridge[idx] * (work.parameters[idx] - self.prior_of(idx)))
            .collect();
        let coefficients = work.parameters.split_off(self.n_models);
        let mut strengths = work.parameters;
        if self.ground.is_some() {
            let mean = strengths.iter().sum::<f64>() / strengths.len() as f64;
            for strength in &mut strengths {
                *strength -= mean;
            }
        }
        Ok(Fit {
            strengths,
            coefficients,
            certificate: Certificate {
                gradient_max: reached.gradient_max,
                gradient_limit: reached.gradient_limit,
                step_max: reached.step_max,
                iterations: reached.iterations,
                log_likelihood,
            },
            information: work.current.information,
            penalty_gradient,
            ground: self.ground,
        })
    }

    fn prior_of(&self, idx: usize) -> f64 {
        self.prior.get(idx).copied().unwrap_or(0.0)
    }

    /// Log-likelihood and objective (the penalty taken away).
    fn value(&self, parameters: &[f64]) -> (f64, f64) {
        let mut log_likelihood = 0.0;
        let mut start = 0;
        for run in &self.runs {
            for idx in start..run.end {
                let d = self.log_odds(parameters, *run, idx);
                let (score, mass) = (self.scores[idx], self.masses[idx]);
                // −log σ(d) = max(−d, 0) + log(1 + exp(−|d|)), and alike for −d.
                let linear = if d >= 0.0 {
                    (mass - score) * d
                } else {
                    -score * d
                };
                log_likelihood -= linear + mass * exp_of_negative(-d.abs()).ln_1p();
            }
            start = run.end;
        }
        let mut penalty = 0.0;
        for (idx, (&ridge, &value)) in self.ridge.iter().zip(parameters).enumerate() {
            let distance = value - self.prior_of(idx);
            penalty += 0.5 * ridge * distance * distance;
        }
        (log_likelihood, log_likelihood - penalty)
    }

    fn log_odds(&self, parameters: &[f64], run: Run, idx: usize) -> f64 {
        let mut d = parameters[run.i as usize] - parameters[run.j as usize];
        if let Some(offset) = self.offsets.get(idx) {
            d += offset;
        }
        for (column, beta) in self.features.iter().zip(&parameters[self.n_models..]) {
            d += column[idx] * beta;
        }
        d
    }

    /// Gradient, and the information if it is asked for, at a point.
    fn evaluate(
        &self,
        parameters: &[f64],
        at: &mut Evaluation,
        with_information: bool,
        block: &mut Block,
    ) {
        at.value = None;
        at.gradient.fill(0.0);
        if with_information {
            at.information.clear();
        }
        wide::run(Sums {
            likelihood: self,
            parameters,
            at,
            with_information,
            block,
        });
        for (idx, &ridge) in self.ridge.iter().enumerate() {
            if ridge > 0.0 {
                at.gradient[idx] -= ridge * (parameters[idx] - self.prior_of(idx));
                if with_information {
                    at.information.add(idx, idx, ridge);
                }
            }
        }
        at.gradient_max = at
            .gradient
            .iter()
            .fold(0.0, |max, value| f64::max(max, value.abs()));
    }

    /// Works out the residuals and curvatures of the block of rows from `start` on, and returns where it ends.
    ///
    /// `run` is the run that holds row `start`, and afterwards the one that holds the end.
    #[inline(always)]
    fn fill_block(
        &self,
        parameters: &[f64],
        start: usize,
        run: &mut usize,
        block: &mut Block,
    ) -> usize {
        const ROWS: usize = 512;
        let end = self.scores.len().min(start + ROWS);
        block.residuals.resize(end - start, 0.0);
        block.curvatures.resize(end - start, 0.0);
        block.segments.clear();
        let mut row = start;
        while row < end {
            let segment = self.runs[*run];
            let until = segment.end.min(end);
            let base = parameters[segment.i as usize] - parameters[segment.j as usize];
            block.residuals[row - start..until - start].fill(base);
            block.segments.push((segment, until));
            row = until;
            if until == segment.end {
                *run += 1;
            }
        }
        for (column, &beta) in self.features.iter().zip(&parameters[self.n_models..]) {
            for (d, x) in block.residuals.iter_mut().zip(&column[start..end]) {
                *d += x * beta;
            }
        }
        if !self.offsets.is_empty() {
            for (d, offset) in block.residuals.iter_mut().zip(&self.offsets[start..end]) {
                *d += offset;
            }
        }
        let rows = self.scores[start..end].iter().zip(&self.masses[start..end]);
        for ((d, curvature), (score, mass)) in block
            .residuals
            .iter_mut()
            .zip(block.curvatures.iter_mut())
            .zip(rows)
        {
            let e = exp_of_negative(-d.abs());
            let near = 1.0 / (1.0 + e);
            let far = e * near;
            let probability = if *d >= 0.0 { near } else { far };
            *curvature = mass * near * far;
            *d = score - mass * probability;
        }
        end
    }

    /// Sums over rows for a number of features that is known while compiling.
    #[inline(always)]
    fn accumulate<const F: usize>(
        &self,
        parameters: &[f64],
        at: &mut Evaluation,
        with_information: bool,
        block: &mut Block,
    ) {
        let n_models = self.n_models;
        let mut gradient_features = [[0.0; LANES]; F];
        let mut information_features = [[[0.0; LANES]; F]; F];
        let (mut start, mut run) = (0, 0);
        while start < self.scores.len() {
            let end = self.fill_block(parameters, start, &mut run, block);
            let mut row = start;
            for &(run, until) in &block.segments {
                let (i, j) = (run.i as usize, run.j as usize);
                if F == 0 {
                    // Without features a pair has one row as a rule, and nothing to gain from lanes.
                    for idx in row - start..until - start {
                        at.gradient[i] += block.residuals[idx];
                        at.gradient[j] -= block.residuals[idx];
                        if with_information {
                            let curvature = block.curvatures[idx];
                            at.information.add(i, i, curvature);
                            at.information.add(j, j, curvature);
                            at.information.add(j, i, -curvature);
                        }
                    }
                    row = until;
                    continue;
                }
                let columns: [&[f64]; F] = std::array::from_fn(|f| &self.features[f][row..until]);
                let residuals = &block.residuals[row - start..until - start];
                let mut residual_sum = [0.0; LANES];
                for idx in 0..residuals.len().div_ceil(LANES) {
                    let residual = chunk(residuals, idx);
                    add(&mut residual_sum, residual);
                    for f in 0..F {
                        add_product(&mut gradient_features[f], residual, chunk(columns[f], idx));
                    }
                }
                let residual_sum = total(residual_sum);
                at.gradient[i] += residual_sum;
                at.gradient[j] -= residual_sum;
                if with_information {
                    let curvatures = &block.curvatures[row - start..until - start];
                    let mut curvature_sum = [0.0; LANES];
                    let mut cross = [[0.0; LANES]; F];
                    for idx in 0..curvatures.len().div_ceil(LANES) {
                        let curvature = chunk(curvatures, idx);
                        add(&mut curvature_sum, curvature);
                        for f in 0..F {
                            let mut y = [0.0; LANES];
                            add_product(&mut y, curvature, chunk(columns[f], idx));
                            add(&mut cross[f], y);
                            for g in 0..=f {
                                add_product(
                                    &mut information_features[f][g],
                                    y,
                                    chunk(columns[g], idx),
                                );
                            }
                        }
                    }
                    let curvature_sum = total(curvature_sum);
                    at.information.add(i, i, curvature_sum);
                    at.information.add(j, j, curvature_sum);
                    at.information.add(j, i, -curvature_sum);
                    for (f, cross) in cross.into_iter().enumerate() {
                        let cross = total(cross);
                        at.information.add(n_models + f, i, cross);
                        at.information.add(n_models + f, j, -cross);
                    }
                }
                row = until;
            }
            start = end;
        }
        for f in 0..F {
            at.gradient[n_models + f] += total(gradient_features[f]);
            if with_information {
                for (g, sum) in information_features[f].iter().enumerate().take(f + 1) {
                    at.information.add(n_models + f, n_models + g, total(*sum));
                }
            }
        }
    }

    /// Sums over rows for any number of features.
    #[inline(always)]
    fn accumulate_any(
        &self,
        parameters: &[f64],
        at: &mut Evaluation,
        with_information: bool,
        block: &mut Block,
    ) {
        let n_models = self.n_models;
        let (mut start, mut run) = (0, 0);
        while start < self.scores.len() {
            let end = self.fill_block(parameters, start, &mut run, block);
            let mut row = start;
            for &(run, until) in &block.segments {
                let (i, j) = (run.i as usize, run.j as usize);
                for idx in row..until {
                    let residual = block.residuals[idx - start];
                    let curvature = block.curvatures[idx - start];
                    at.gradient[i] += residual;
                    at.gradient[j] -= residual;
                    if with_information {
                        at.information.add(i, i, curvature);
                        at.information.add(j, j, curvature);
                        at.information.add(j, i, -curvature);
                    }
                    for (f, column) in self.features.iter().enumerate() {
                        let row = n_models + f;
                        let x = column[idx];
                        at.gradient[row] += residual * x;
                        if with_information {
                            let y = curvature * x;
                            at.information.add(row, i, y);
                            at.information.add(row, j, -y);
                            for (g, other) in self.features[..=f].iter().enumerate() {
                                at.information.add(row, n_models + g, y * other[idx]);
                            }
                        }
                    }
                }
                row = until;
            }
            start = end;
        }
    }

    /// Newton's method with step halving, from the parameters in `work` to the optimum.
    ///
    /// Once a step was no longer than `chord`, and as long as steps shrink to a tenth each time, the information is not
    /// computed anew (chord method; Ortega & Rheinboldt 1970, §7.1): the optimum is the same, each step cheaper.
    pub(crate) fn newton(
        &self,
        work: &mut Workspace,
        options: &FitOptions,
        chord: f64,
    ) -> Result<Reached, Error> {
        /// The optimum is reached when no strength has further than this to go, in nats.
        const STEP_LIMIT: f64 = 1e-12;
        /// Steps below this that no longer shrink are rounding errors.
        const STEP_NOISE: f64 = 1e-6;
        /// Steps longer than this, in nats, must raise the objective.
        const LONG_STEP: f64 = 1.0;
        /// The shortest step tried before the search is given up.
        const SHARE_MIN: f64 = 1e-9;

        let Workspace {
            parameters,
            fixed,
            candidate,
            step,
            factor,
            current,
            next,
            block,
        } = work;
        let total_weight: f64 = self.masses.iter().sum();
        let gradient_limit = options.gradient_tolerance * total_weight;
        // A fixed parameter has no gradient that could vanish.
        let free_max = |at: &mut Evaluation, fixed: &[usize]| {
            if !fixed.is_empty() {
                for &idx in fixed {
                    at.gradient[idx] = 0.0;
                }
                at.gradient_max = at
                    .gradient
                    .iter()
                    .fold(0.0, |max, g| f64::max(max, g.abs()));
            }
        };
        self.evaluate(parameters, current, true, block);
        free_max(current, fixed);
        let mut refresh = true;
        let mut iterations = 0;
        let mut step_before = f64::INFINITY;
        loop {
            if refresh {
                factor.copy_from(&current.information);
                for &idx in self.ground.iter().chain(fixed.iter()) {
                    factor.ground(idx);
                }
                factor
                    .factor()
                    .map_err(|column| match column.checked_sub(self.n_models) {
                        Some(feature) => Error::CollinearFeature { feature },
                        None => Error::Singular,
                    })?;
            }
            step.copy_from_slice(&current.gradient);
            if let Some(ground) = self.ground {
                step[ground] = 0.0;
            }
            factor.solve(step);
            let step_max = step
                .iter()
                .fold(0.0, |max, value| f64::max(max, value.abs()));
            let shrinking = step_max < 0.5 * step_before;
            let reached = Reached {
                gradient_max: current.gradient_max,
                gradient_limit,
                step_max,
                iterations,
            };
            if current.gradient_max <= gradient_limit
                && (step_max <= STEP_LIMIT || (step_max <= STEP_NOISE && !shrinking))
            {
                return Ok(reached);
            }
            let failed = Error::NotConverged {
                iterations,
                gradient_max: current.gradient_max,
                gradient_limit,
            };
            if iterations == options.iterations_max {
                return Err(failed);
            }
            // A first step says nothing about how fast they shrink, but a short one comes from a near start.
            let reliable = iterations == 0 || step_max <= 0.1 * step_before;
            refresh = step_max > chord || !reliable;
            step_before = step_max;

            let mut share = 1.0;
            loop {
                for ((candidate, value), step) in
                    candidate.iter_mut().zip(parameters.iter()).zip(step.iter())
                {
                    *candidate = value + share * step;
                }
                self.evaluate(candidate, next, refresh, block);
                free_max(next, fixed);
                // The objective is dearer than the gradient, so it is asked only where the gradient did not fall, and
                // after long steps: those may lead to where every outcome looks certain, and the gradient is small too.
                if share * step_max <= LONG_STEP && next.gradient_max < current.gradient_max {
                    break;
                }
                let before = *current.value.get_or_insert_with(|| self.value(parameters));
                let after = *next.value.get_or_insert_with(|| self.value(candidate));
                if after.1 >= before.1 {
                    break;
                }
                share *= 0.5;
                if share < SHARE_MIN {
                    // No step gains anything: this is the optimum as far as it can be computed.
                    if current.gradient_max <= gradient_limit && step_max <= STEP_NOISE {
                        return Ok(reached);
                    }
                    return Err(failed);
                }
            }
            std::mem::swap(parameters, candidate);
            std::mem::swap(current, next);
            iterations += 1;
        }
    }
}

/// Steps below this, in nats, need no new information matrix when a fit starts near its optimum.
pub(crate) const CHORD: f64 = 1e-3;

/// How near the optimum Newton's method came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    pub(crate) gradient_max: f64,
    pub(crate) gradient_limit: f64,
    pub(crate) step_max: f64,
    pub(crate) iterations: usize,
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
    fn the_exponential_agrees_with_the_library() {
        assert_eq!(exp_of_negative(0.0), 1.0);
        for step in 0..200_000 {
            let x = -f64::from(step) * 0.003_517;
            let (found, expected) = (exp_of_negative(x), x.exp());
            assert!(
                (found / expected - 1.0).abs() < 5e-16,
                "{x}: {found} {expected}"
            );
        }
        assert!(exp_of_negative(-1e300) < 1e-300 && exp_of_negative(f64::NAN).is_nan());
    }

    #[test]
    fn sums_do_not_depend_on_how_they_are_worked_out() {
        // Runs of one to nine rows in three columns, across the end of a block.
        let mut likelihood = Likelihood::empty(4, 3, &FitOptions::default());
        for idx in 0..700_u32 {
            let run = idx / (1 + idx % 9) % 3;
            let x = |k: u32| f64::from((idx * k) % 17) / 8.0 - 1.0;
            likelihood.push_row(run, 3, f64::from(idx % 3), 2.0, &[x(3), x(5), x(7)]);
        }
        let parameters = [0.3, -0.2, 0.5, 0.0, 0.1, -0.4, 0.2];
        let evaluate = |with: fn(&Likelihood, &[f64], &mut Evaluation, &mut Block)| {
            let mut at = Evaluation::new(7);
            with(&likelihood, &parameters, &mut at, &mut Block::default());
            at
        };
        let known = evaluate(|l, p, at, block| l.accumulate::<3>(p, at, true, block));
        let any = evaluate(|l, p, at, block| l.accumulate_any(p, at, true, block));
        let wide = evaluate(|l, p, at, block| l.evaluate(p, at, true, block));
        assert_eq!(
            (&wide.gradient, &wide.information),
            (&known.gradient, &known.information)
        );
        for row in 0..7 {
            assert!((known.gradient[row] - any.gradient[row]).abs() < 1e-10);
            for column in 0..=row {
                let (x, y) = (
                    known.information.get(row, column),
                    any.information.get(row, column),
                );
                assert!((x - y).abs() < 1e-10, "{row} {column}: {x} {y}");
            }
        }
        // The gradient is that of the value.
        for idx in 0..7 {
            let value = |shift: f64| {
                let mut moved = parameters;
                moved[idx] += shift;
                likelihood.value(&moved).0
            };
            let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
            assert!((known.gradient[idx] - slope).abs() < 1e-5, "{idx}");
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
