//! The objective of a fit, and its maximum.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::design::{Design, Run, Sums, Terms};
use super::elementary::{both_probabilities, exp_of_negative, ln_1p_of_share};
use super::newton::{CHORD, Workspace};
use super::{Certificate, Fit, FitOptions, Information, Start};
use crate::Error;
use crate::comparisons::Comparisons;
use crate::linear_algebra::Matrix;

/// Replaces a column by chosen rows of another one.
fn gather(column: &mut Vec<f64>, rows: &[u32], from: &[f64]) {
    column.clear();
    column.extend(rows.iter().map(|&row| from[row as usize]));
}

/// The objective in the form that an iteration needs: one row for each group of equal battles, or for each cell.
#[derive(Debug)]
pub(crate) struct Likelihood<'a> {
    pub(super) design: Design<'a>,
    /// Weight of what the first model won, and of what it lost; a tie is half of each. Both are kept rather than their
    /// sum: where nearly all was won, the little that was lost decides, and a difference would lose it.
    pub(super) scores: Vec<f64>,
    pub(super) losses: Vec<f64>,
    pub(super) ridge: Vec<f64>,
    /// What the penalty draws towards; empty for 0.
    pub(super) prior: Vec<f64>,
    pub(super) ground: Option<usize>,
    /// Rows that the last refill took over.
    kept: Vec<u32>,
}

/// Residual and curvature of the log-likelihood.
struct Slopes<'a> {
    scores: &'a [f64],
    losses: &'a [f64],
}

impl Terms for Slopes<'_> {
    #[inline(always)]
    fn terms(&self, rows: Range<usize>, values: &mut [f64], curvatures: &mut [f64]) {
        let known = self.scores[rows.clone()].iter().zip(&self.losses[rows]);
        for ((d, curvature), (score, loss)) in
            values.iter_mut().zip(curvatures.iter_mut()).zip(known)
        {
            let (p, q) = both_probabilities(*d);
            *curvature = (score + loss) * p * q;
            *d = score * q - loss * p;
        }
    }
}

/// The log-likelihood itself.
struct Values<'a> {
    scores: &'a [f64],
    losses: &'a [f64],
}

impl Terms for Values<'_> {
    #[inline(always)]
    fn terms(&self, rows: Range<usize>, values: &mut [f64], _: &mut [f64]) {
        let known = self.scores[rows.clone()].iter().zip(&self.losses[rows]);
        for (d, (score, loss)) in values.iter_mut().zip(known) {
            // −log σ(d) = max(−d, 0) + log(1 + exp(−|d|)), and alike for −d.
            let linear = if *d >= 0.0 { loss * *d } else { -score * *d };
            *d = -(linear + (score + loss) * ln_1p_of_share(exp_of_negative(-d.abs())));
        }
    }
}

/// Score of each cell as the residual, and the sum of the squared scores of its battles as the curvature.
pub(crate) struct SquaredScores<'a> {
    outcomes: &'a [f64],
    counts: &'a [u64],
    weights: Option<&'a [f64]>,
}

impl<'a> SquaredScores<'a> {
    pub(crate) fn of(comparisons: &'a Comparisons) -> Self {
        Self {
            outcomes: comparisons.outcomes(),
            counts: comparisons.counts(),
            weights: comparisons.weights(),
        }
    }
}

impl Terms for SquaredScores<'_> {
    #[inline(always)]
    fn terms(&self, rows: Range<usize>, values: &mut [f64], curvatures: &mut [f64]) {
        for (d, outcome) in values.iter_mut().zip(&self.outcomes[rows.clone()]) {
            let (p, q) = both_probabilities(*d);
            // y − p as a difference of small numbers where y is near p: 1 − p is σ(−d), without cancellation.
            *d = if *outcome == 1.0 { q } else { outcome - p };
        }
        if let Some(weights) = self.weights {
            for (d, weight) in values.iter_mut().zip(&weights[rows.clone()]) {
                *d *= weight;
            }
        }
        for ((d, curvature), &count) in values
            .iter_mut()
            .zip(curvatures.iter_mut())
            .zip(&self.counts[rows])
        {
            let count = count as f64;
            *curvature = count * *d * *d;
            *d *= count;
        }
    }
}

/// The same for pairs of models: sums over the cells of each, which share one probability where there are no features.
pub(crate) struct SquaredScoresOfPairs<'a>(pub(crate) &'a Comparisons);

impl Terms for SquaredScoresOfPairs<'_> {
    #[inline(always)]
    fn terms(&self, rows: Range<usize>, values: &mut [f64], curvatures: &mut [f64]) {
        let Self(comparisons) = self;
        for (d, curvature) in values.iter_mut().zip(curvatures.iter_mut()) {
            (*d, *curvature) = both_probabilities(*d);
        }
        let pairs = &comparisons.pairs()[rows.clone()];
        let before = rows.start.checked_sub(1);
        let mut start = before.map_or(0, |before| comparisons.pairs()[before].end);
        let weights = comparisons.weights();
        let pairs = pairs.iter().zip(values).zip(curvatures);
        for ((pair, value), curvature) in pairs {
            let (p, q) = (*value, *curvature);
            (*value, *curvature) = (0.0, 0.0);
            let cells = start..pair.end;
            let known = comparisons.outcomes()[cells.clone()].iter();
            let known = known.zip(&comparisons.counts()[cells.clone()]);
            for (idx, (outcome, &count)) in cells.zip(known) {
                let distance = if *outcome == 1.0 { q } else { outcome - p };
                let score = weights.map_or(1.0, |weights| weights[idx]) * distance;
                *value += count as f64 * score;
                *curvature += count as f64 * score * score;
            }
            start = pair.end;
        }
    }
}

impl<'a> Likelihood<'a> {
    /// The objective of comparisons: one row for each cell where there are many with features, else one for each group.
    pub(crate) fn new(
        comparisons: &'a Comparisons,
        options: &FitOptions,
        n_threads: NonZeroUsize,
    ) -> Self {
        /// From so many cells on their features are borrowed; merging equal ones would copy all to save a few.
        const BORROWED: usize = 16_384;
        if comparisons.n_features() == 0 || comparisons.n_cells() < BORROWED {
            let mut grouped = Self::by_group(comparisons, options);
            grouped.design.n_threads = n_threads.get();
            return grouped;
        }
        let counts = comparisons.counts();
        let weights = comparisons.weights();
        let share = |of: fn(f64) -> f64| -> Vec<f64> {
            let cells = counts.iter().zip(comparisons.outcomes()).enumerate();
            cells
                .map(|(idx, (&count, &outcome))| {
                    let weight = weights.map_or(1.0, |weights| weights[idx]);
                    count as f64 * weight * of(outcome)
                })
                .collect()
        };
        let scores = share(|outcome| outcome);
        let losses = share(|outcome| 1.0 - outcome);
        let mut likelihood = Self {
            design: Design::of_cells(comparisons, n_threads.get()),
            scores,
            losses,
            ..Self::empty(comparisons.n_models(), comparisons.n_features(), options)
        };
        likelihood.choose_ground(options);
        likelihood
    }

    /// The objective with one row for each group of comparisons, in their order.
    pub(crate) fn by_group(comparisons: &Comparisons, options: &FitOptions) -> Self {
        let mut likelihood = Self::empty(comparisons.n_models(), comparisons.n_features(), options);
        if comparisons.n_features() == 0 {
            let n_pairs = comparisons.pairs().len();
            likelihood.scores.reserve_exact(n_pairs);
            likelihood.losses.reserve_exact(n_pairs);
            likelihood.design.runs.reserve_exact(n_pairs);
            // Each pair is a group, and each group a run.
            for (end, group) in (1..).zip(comparisons.groups()) {
                let (score, loss) = group.score_and_loss(comparisons);
                likelihood.scores.push(score);
                likelihood.losses.push(loss);
                let (i, j) = (group.i, group.j);
                likelihood.design.runs.push(Run { i, j, end });
            }
            likelihood.choose_ground(options);
            return likelihood;
        }
        let mut features = vec![0.0; comparisons.n_features()];
        for group in comparisons.groups() {
            let (score, loss) = group.score_and_loss(comparisons);
            for (value, of_group) in features
                .iter_mut()
                .zip(comparisons.features_of(group.start))
            {
                *value = of_group;
            }
            likelihood.push_row(group.i, group.j, score, loss, &features);
        }
        likelihood.choose_ground(options);
        likelihood
    }

    /// Without a penalty one model has to be held fixed.
    fn choose_ground(&mut self, options: &FitOptions) {
        if options.ridge_strengths > 0.0 {
            return;
        }
        let mut weight_of = vec![0.0; self.design.n_models];
        let mut start = 0;
        let mut rows = self.scores.iter().zip(&self.losses);
        for run in &self.design.runs {
            let (mut won, mut lost) = (0.0, 0.0);
            for (score, loss) in rows.by_ref().take(run.end - start) {
                won += score;
                lost += loss;
            }
            weight_of[run.i as usize] += won + lost;
            weight_of[run.j as usize] += won + lost;
            start = run.end;
        }
        // The model with most battles is the best known one, which keeps the reduced system well conditioned.
        let mut ground = 0;
        for model in 1..weight_of.len() {
            if weight_of[model] > weight_of[ground] {
                ground = model;
            }
        }
        self.ground = Some(ground);
    }

    /// An objective without rows, and without a model held fixed.
    pub(crate) fn empty(n_models: usize, n_features: usize, options: &FitOptions) -> Self {
        let mut ridge = vec![options.ridge_strengths; n_models];
        ridge.extend(std::iter::repeat_n(options.ridge_coefficients, n_features));
        Self {
            design: Design::empty(n_models, n_features),
            scores: Vec::new(),
            losses: Vec::new(),
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

    /// Adds battles in which model `i` won and lost so much weight against `j`, with log-odds θi − θj + offset.
    pub(crate) fn push(&mut self, i: u32, j: u32, offset: f64, score: f64, loss: f64) {
        // Only the lower triangle of the information is kept, so the lower index comes first.
        if i < j {
            self.design.offsets.push(offset);
            self.push_row(i, j, score, loss, &[]);
        } else {
            self.design.offsets.push(-offset);
            self.push_row(j, i, loss, score, &[]);
        }
    }

    /// Adds battles in which model `i` won and lost so much weight against `j`, `i < j`.
    pub(super) fn push_row(&mut self, i: u32, j: u32, score: f64, loss: f64, features: &[f64]) {
        self.scores.push(score);
        self.losses.push(loss);
        self.design.push(i, j, features);
    }

    /// Total weight of all battles.
    pub(super) fn total_weight(&self) -> f64 {
        self.scores.iter().sum::<f64>() + self.losses.iter().sum::<f64>()
    }

    /// Takes over the rows of another objective with new scores and losses, without those of neither.
    ///
    /// Calls `pair` with each pair of models that keeps a row, and its score and loss.
    pub(crate) fn refill(
        &mut self,
        from: &Likelihood<'_>,
        scores: &[f64],
        losses: &[f64],
        mut pair: impl FnMut(u32, u32, f64, f64),
    ) {
        self.design.runs.clear();
        self.kept.resize(scores.len(), 0);
        let (mut start, mut n_kept) = (0, 0);
        for run in &from.design.runs {
            let (mut score_sum, mut loss_sum) = (0.0, 0.0);
            for idx in start..run.end {
                // Written without a branch: which rows are empty is chance, so a branch would often be mispredicted.
                self.kept[n_kept] = idx as u32;
                n_kept += usize::from(scores[idx] + losses[idx] > 0.0);
                score_sum += scores[idx];
                loss_sum += losses[idx];
            }
            start = run.end;
            if score_sum + loss_sum > 0.0 {
                pair(run.i, run.j, score_sum, loss_sum);
                self.design.runs.push(Run {
                    end: n_kept,
                    ..*run
                });
            }
        }
        self.kept.truncate(n_kept);
        gather(&mut self.scores, &self.kept, scores);
        gather(&mut self.losses, &self.kept, losses);
        for (column, from) in self.design.features.iter_mut().zip(&from.design.features) {
            gather(column.to_mut(), &self.kept, from);
        }
    }

    /// Takes the battles of the given models out of the sums, keeping their rows.
    pub(crate) fn drop_rows_of(&mut self, models: &[usize]) {
        let mut start = 0;
        for run in &self.design.runs {
            if [run.i, run.j]
                .iter()
                .any(|&model| models.contains(&(model as usize)))
            {
                self.scores[start..run.end].fill(0.0);
                self.losses[start..run.end].fill(0.0);
            }
            start = run.end;
        }
    }

    /// Holds a model fixed, or none.
    pub(crate) fn hold(&mut self, model: Option<usize>) {
        self.ground = model;
    }

    /// Draws strengths and coefficients towards these instead of towards 0.
    pub(super) fn draw_towards(&mut self, prior: &Start) {
        self.prior.clone_from(&prior.strengths);
        self.prior.extend_from_slice(&prior.coefficients);
    }

    pub(super) fn n_parameters(&self) -> usize {
        self.design.n_models + self.design.n_features()
    }

    /// The maximum of the objective, from 0.
    pub(crate) fn maximise(&self, options: &FitOptions) -> Result<Fit, Error> {
        self.maximise_from(None, None, options)
    }

    /// The maximum from a start, and with an inverse of the information that was right near it, if there are such.
    pub(crate) fn maximise_from(
        &self,
        start: Option<&Start>,
        inverse: Option<&Matrix>,
        options: &FitOptions,
    ) -> Result<Fit, Error> {
        let n_models = self.design.n_models;
        let mut work = Workspace::new(self.n_parameters());
        let mut chord = 0.0;
        if let Some(start) = start {
            let (strengths, coefficients) = work.parameters.split_at_mut(n_models);
            strengths.copy_from_slice(&start.strengths);
            coefficients.copy_from_slice(&start.coefficients);
            chord = CHORD;
        } else if let Some(near) = self.start_from_sample(options) {
            work.parameters = near;
        }
        let reached = match inverse {
            Some(inverse) if self.ground.is_some() => {
                self.newton_near(&mut work, options, inverse)?
            }
            _ => self.newton(&mut work, options, chord)?,
        };
        if chord > 0.0 {
            // What the covariance needs is the information at the optimum itself.
            work.evaluate_fully(self);
        }
        let (log_likelihood, _) = self.value(&work.parameters);
        let penalty_gradient = (0..work.parameters.len())
            .map(|idx| self.ridge[idx] * (work.parameters[idx] - self.prior_of(idx)))
            .collect();
        let information = Information::new(self, work.take_sums());
        let coefficients = work.parameters.split_off(n_models);
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
            information,
            penalty_gradient,
            ground: self.ground,
        })
    }

    /// The maximum for a sixteenth of very many rows, to start from: it is near, and a sixteenth of the work to find.
    ///
    /// A weak penalty makes sure that it exists. Nothing where there are few rows.
    fn start_from_sample(&self, options: &FitOptions) -> Option<Vec<f64>> {
        const ROWS_MIN: usize = 400_000;
        const EVERY: usize = 16;
        if self.design.n_rows() < ROWS_MIN {
            return None;
        }
        let rough = FitOptions {
            ridge_strengths: options.ridge_strengths / EVERY as f64 + 0.1,
            ridge_coefficients: options.ridge_coefficients / EVERY as f64 + 0.1,
            gradient_tolerance: 1e-6,
            iterations_max: 20,
        };
        let n_features = self.design.n_features();
        let mut sample = Likelihood::empty(self.design.n_models, n_features, &rough);
        sample.prior.clone_from(&self.prior);
        sample.design.n_threads = self.design.n_threads;
        let mut features = vec![0.0; n_features];
        let mut row = 0;
        for run in &self.design.runs {
            while row < run.end {
                for (value, column) in features.iter_mut().zip(&self.design.features) {
                    *value = column[row];
                }
                sample.push_row(run.i, run.j, self.scores[row], self.losses[row], &features);
                row += EVERY;
            }
        }
        let mut work = Workspace::new(self.n_parameters());
        sample.newton_roughly(&mut work, &rough).ok()?;
        Some(work.parameters)
    }

    /// The first feature that is a combination of the models and the features before it, whatever the outcomes were.
    pub(crate) fn collinear_feature(&self) -> Option<usize> {
        let mut sums = Sums::default();
        let mut gradient = vec![0.0; self.n_parameters()];
        self.slopes(
            &vec![0.0; self.n_parameters()],
            true,
            &mut gradient,
            &mut sums,
        );
        let mut information = Information::new(self, sums).matrix();
        if let Some(ground) = self.ground {
            information.ground(ground);
        }
        let column = information.factor().err()?;
        column.checked_sub(self.design.n_models)
    }

    pub(super) fn prior_of(&self, idx: usize) -> f64 {
        self.prior.get(idx).copied().unwrap_or(0.0)
    }

    /// Log-likelihood and objective (the penalty taken away).
    pub(super) fn value(&self, parameters: &[f64]) -> (f64, f64) {
        let terms = Values {
            scores: &self.scores,
            losses: &self.losses,
        };
        let log_likelihood = self.design.total(&terms, parameters);
        let mut penalty = 0.0;
        for (idx, (&ridge, &value)) in self.ridge.iter().zip(parameters).enumerate() {
            let distance = value - self.prior_of(idx);
            penalty += 0.5 * ridge * distance * distance;
        }
        (log_likelihood, log_likelihood - penalty)
    }

    /// Gradient of the objective, and the sums behind the information if they are asked for, at a point.
    pub(super) fn slopes(
        &self,
        parameters: &[f64],
        with_information: bool,
        gradient: &mut [f64],
        sums: &mut Sums,
    ) {
        let terms = Slopes {
            scores: &self.scores,
            losses: &self.losses,
        };
        self.design.sum(&terms, parameters, with_information, sums);
        gradient.fill(0.0);
        sums.add_gradient(&self.design.runs, gradient);
        for (idx, &ridge) in self.ridge.iter().enumerate() {
            if ridge > 0.0 {
                gradient[idx] -= ridge * (parameters[idx] - self.prior_of(idx));
            }
        }
    }
}
