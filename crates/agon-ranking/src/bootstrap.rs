//! Bootstrap intervals: battles or voters drawn anew, the whole fit done again, ends read off the rounds.
//!
//! Not for point estimates: those are always of the battles as they are.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::Error;
use crate::bradley_terry::{CHORD, Fit, FitOptions, Likelihood, Workspace};
use crate::comparisons::{Comparisons, Group};
use crate::interval::{Anchor, critical_value};
use crate::leaderboard::{Fitted, LeaderboardOptions};

/// What is drawn with replacement in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resampling {
    /// As many battles as there are, each equally likely (Efron 1979). A battle keeps its weight and features.
    ///
    /// Without features this is one multinomial draw of the counts of equal battles, as in FastChat.
    #[default]
    Battles,
    /// As many clusters (voters) as there are, each with all its battles (Davison & Hinkley 1997, §3.8).
    Clusters,
}

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootstrapOptions {
    /// Number of rounds, 1 or more.
    pub rounds: usize,
    /// The seed: the same seed gives the same bits.
    pub seed: u64,
    /// Threads to work on, 1 or more. Their number changes no bit of the result.
    pub threads: usize,
    /// What is drawn.
    pub resampling: Resampling,
}

impl Default for BootstrapOptions {
    /// 1,000 rounds of battles with seed 0 on one thread.
    fn default() -> Self {
        Self {
            rounds: 1_000,
            seed: 0,
            threads: 1,
            resampling: Resampling::default(),
        }
    }
}

impl BootstrapOptions {
    fn check(&self) -> Result<(), Error> {
        for (option, value) in [("rounds", self.rounds), ("threads", self.threads)] {
            if value == 0 {
                return Err(Error::Option {
                    option,
                    value: 0.0,
                    expected: "1 or more",
                });
            }
        }
        Ok(())
    }
}

/// The ratings of every round.
///
/// In a round in which a model has lost every tie to the main part (it was not drawn, or drawn undefeated or winless),
/// it has no finite estimate. Such a round is *degenerate* and says nothing about that model; the others are fitted
/// without it, and it is taken to be where the estimate has it when the location of the round is worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    /// Number of rounds.
    pub rounds: usize,
    /// Rounds in which at least one model has no finite estimate.
    pub degenerate_rounds: usize,
    /// For each model, numbered like the fit, the rounds in which it has no finite estimate.
    pub degenerate_of: Vec<usize>,
    /// The model that all are measured from, whose interval rightly has no width.
    anchor: Option<usize>,
    n_models: usize,
    n_features: usize,
    // Invariant: `rounds` rows of ratings in points, then coefficients; NaN where there is no finite estimate.
    draws: Vec<f64>,
}

/// An interval from the rounds of a bootstrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapInterval {
    /// Lower end: the quantile at half of what the level leaves out.
    pub lower: f64,
    /// Upper end, likewise from above.
    pub upper: f64,
    /// Standard deviation over the rounds, the one with n − 1.
    pub standard_error: f64,
    /// Rounds that it was made of.
    pub rounds: usize,
}

impl Bootstrap {
    /// Percentile interval of a model's rating, in points; the model is numbered like the fit.
    ///
    /// Its ends are quantiles of the rounds with a finite estimate, by linear interpolation ([`quantile`]).
    /// `None` for a model that does not exist, that has fewer than two such rounds, or whose rating is the same in all
    /// of them although it is not the anchor (only ties): no width is no certainty.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] unless the level lies between 0 and 1, both excluded.
    pub fn interval(&self, model: usize, level: f64) -> Result<Option<BootstrapInterval>, Error> {
        critical_value(level)?;
        /// Rounds nearer to each other than this, in points, differ by rounding only.
        const NO_VARIATION: f64 = 1e-9;
        if model >= self.n_models {
            return Ok(None);
        }
        let values = self.column(model);
        let varies = values
            .iter()
            .any(|value| (value - values[0]).abs() > NO_VARIATION);
        if !varies && self.anchor != Some(model) {
            return Ok(None);
        }
        Ok(interval_of(values, level))
    }

    /// Percentile interval of a feature's coefficient; `None` as for [`Bootstrap::interval`].
    ///
    /// # Errors
    ///
    /// As [`Bootstrap::interval`].
    pub fn coefficient_interval(
        &self,
        feature: usize,
        level: f64,
    ) -> Result<Option<BootstrapInterval>, Error> {
        critical_value(level)?;
        if feature >= self.n_features {
            return Ok(None);
        }
        Ok(interval_of(self.column(self.n_models + feature), level))
    }

    /// Rating of a model in each round, in points; `None` in degenerate ones, nothing for a model that does not exist.
    pub fn ratings_of(&self, model: usize) -> impl Iterator<Item = Option<f64>> + '_ {
        let exists = model < self.n_models;
        let rounds = if exists { self.rounds } else { 0 };
        (0..rounds).map(move |round| {
            let value = self.draws[round * self.width() + model];
            value.is_finite().then_some(value)
        })
    }

    /// Share of rounds in which at least one model has no finite estimate, from 0 to 1.
    ///
    /// Where it is large, rare models have intervals only from the rounds that treated them kindly: prefer the sandwich.
    pub fn degenerate_share(&self) -> f64 {
        self.degenerate_rounds as f64 / self.rounds as f64
    }

    fn width(&self) -> usize {
        self.n_models + self.n_features
    }

    fn column(&self, idx: usize) -> Vec<f64> {
        let column = self.draws.iter().skip(idx).step_by(self.width());
        column.copied().filter(|value| value.is_finite()).collect()
    }
}

/// Ends and spread of values without NaN; `None` below two values.
pub(crate) fn interval_of(mut values: Vec<f64>, level: f64) -> Option<BootstrapInterval> {
    let rounds = values.len();
    if rounds < 2 {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    let mean = values.iter().sum::<f64>() / rounds as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(BootstrapInterval {
        lower: quantile(&values, tail)?,
        upper: quantile(&values, 1.0 - tail)?,
        standard_error: (squares / (rounds - 1) as f64).sqrt(),
        rounds,
    })
}

/// The quantile of ascending values by linear interpolation between the two nearest.
///
/// Position (n − 1) · p from 0: type 7 of Hyndman & Fan 1996, the default of numpy and R. `None` without values or for
/// p outside of 0 to 1.
///
/// # Examples
///
/// ```
/// use agon_ranking::quantile;
///
/// assert_eq!(quantile(&[1.0, 2.0, 4.0, 8.0], 0.25), Some(1.75));
/// assert_eq!(quantile(&[], 0.5), None);
/// ```
pub fn quantile(ascending: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let last = ascending.len().checked_sub(1)?;
    let position = last as f64 * p;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let share = position - below as f64;
    let (low, high) = (ascending[below], ascending[above]);
    Some(low + (high - low) * share)
}

/// Draws the battles behind a board anew and fits every round to the same certificate as the estimate.
///
/// `comparisons` and `options` are those that the leaderboard was made with, `fitted` is the fit of one of its boards.
/// Each round has its own stream of a ChaCha8 generator, so rounds do not depend on who computes them. Fits start at the
/// estimate, which changes the way to the optimum but not the optimum. Ratings of a round are measured from the same
/// anchor as the estimate; [`Anchor::WeightedMean`] keeps the weights of the battles as they are, as the sandwich does.
///
/// # Errors
///
/// [`Error::Option`]; [`Error::NoClusters`]; [`Error::Length`] when `fitted` is not of these comparisons.
///
/// # Examples
///
/// ```
/// use agon_ranking::{
///     BootstrapOptions, Comparison, Comparisons, LeaderboardOptions, bootstrap, leaderboard,
/// };
///
/// let comparisons = Comparisons::new(
///     2,
///     [Comparison::new(0, 1, 1.0).with_count(600), Comparison::new(0, 1, 0.0).with_count(400)],
/// )?;
/// let options = LeaderboardOptions::default();
/// let board = leaderboard(&comparisons, &options)?;
/// let fitted = board.main().fitted.as_ref().expect("both models are rated");
/// let rounds = bootstrap(&comparisons, fitted, &options, &BootstrapOptions::default())?;
/// let interval = rounds.interval(0, 0.95)?.expect("outcomes vary");
/// let sandwich = board.main().entries[0].interval.expect("outcomes vary");
/// assert!((interval.standard_error / sandwich.standard_error - 1.0).abs() < 0.1);
/// assert_eq!(rounds.degenerate_rounds, 0);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn bootstrap(
    comparisons: &Comparisons,
    fitted: &Fitted,
    options: &LeaderboardOptions,
    bootstrap: &BootstrapOptions,
) -> Result<Bootstrap, Error> {
    let n_models = fitted.models.len();
    let inside = fitted.comparisons(comparisons)?;
    let mut weights = vec![1.0; n_models];
    let mut anchor = None;
    match options.anchor {
        Anchor::Mean => {}
        Anchor::WeightedMean => {
            for (weight, &battles) in weights.iter_mut().zip(&fitted.battles_of) {
                *weight = battles as f64;
            }
        }
        Anchor::Model { model, .. } => {
            if let Ok(position) = fitted.models.binary_search(&model) {
                weights.fill(0.0);
                weights[position] = 1.0;
                anchor = Some(position);
            }
        }
    }
    let points = options.points_per_nat();
    let mut rounds = resample(&inside, &fitted.fit, &options.fit, bootstrap)?;
    rounds.anchor = anchor;
    rounds.measure_from(
        &fitted.fit.strengths,
        &weights,
        fitted.location,
        fitted.origin,
        points,
    );
    Ok(rounds)
}

/// Strengths in nats and coefficients of every round, before any anchor.
///
/// `comparisons` are those of the fit itself.
pub(crate) fn resample(
    comparisons: &Comparisons,
    fit: &Fit,
    fit_options: &FitOptions,
    options: &BootstrapOptions,
) -> Result<Bootstrap, Error> {
    options.check()?;
    let given = comparisons.n_models() + comparisons.n_features();
    let expected = fit.strengths.len() + fit.coefficients.len();
    if given != expected || comparisons.n_models() != fit.strengths.len() {
        return Err(Error::Length {
            found: given,
            expected,
        });
    }
    let source = Source::new(comparisons, fit, fit_options, options)?;
    let width = expected;
    let mut rounds = Bootstrap {
        rounds: options.rounds,
        degenerate_rounds: 0,
        degenerate_of: vec![0; fit.strengths.len()],
        anchor: None,
        n_models: fit.strengths.len(),
        n_features: fit.coefficients.len(),
        draws: vec![f64::NAN; options.rounds * width],
    };
    let share = options.rounds.div_ceil(options.threads);
    std::thread::scope(|scope| {
        let source = &source;
        let mut shares = rounds.draws.chunks_mut(share * width).enumerate();
        // This thread takes the first share itself, so that one thread means no other one.
        let own = shares.next();
        for (position, rows) in shares {
            scope.spawn(move || source.fill(position * share, rows));
        }
        if let Some((_, rows)) = own {
            source.fill(0, rows);
        }
    });
    rounds.count_degenerate();
    Ok(rounds)
}

impl Bootstrap {
    /// Turns strengths into ratings: `location` of the estimate, weighted mean of strengths, is rated `origin`.
    pub(crate) fn measure_from(
        &mut self,
        estimate: &[f64],
        weights: &[f64],
        location: f64,
        origin: f64,
        points: f64,
    ) {
        let width = self.width();
        for row in self.draws.chunks_exact_mut(width) {
            let strengths = &mut row[..self.n_models];
            // How far the location moved, over the models that have an estimate in this round.
            let (mut moved, mut total) = (0.0, 0.0);
            for ((value, estimate), weight) in strengths.iter().zip(estimate).zip(weights) {
                if value.is_finite() {
                    moved += weight * (value - estimate);
                    total += weight;
                }
            }
            // Without an anchor in this round nothing can be measured from it.
            let now = if total > 0.0 {
                location + moved / total
            } else {
                f64::NAN
            };
            for value in strengths {
                *value = origin + points * (*value - now);
            }
        }
        self.count_degenerate();
    }

    fn count_degenerate(&mut self) {
        self.degenerate_of.fill(0);
        self.degenerate_rounds = 0;
        let width = self.n_models + self.n_features;
        for row in self.draws.chunks_exact(width) {
            let mut degenerate = false;
            for (value, count) in row.iter().zip(&mut self.degenerate_of) {
                if !value.is_finite() {
                    *count += 1;
                    degenerate = true;
                }
            }
            self.degenerate_rounds += usize::from(degenerate);
        }
    }
}

/// Everything that rounds share.
struct Source<'a> {
    comparisons: &'a Comparisons,
    fit: &'a Fit,
    options: &'a FitOptions,
    seed: u64,
    groups: Vec<Group>,
    /// The objective of the battles as they are: one row for each group.
    base: Likelihood<'static>,
    draw: Draw,
}

/// How the multiplicity of each cell is drawn.
enum Draw {
    /// One number for each battle: the cell it belongs to.
    Table(Vec<u32>),
    /// Conditional binomials over the counts of cells.
    Counts { total: u64 },
    /// One number for each cell: the position of its cluster.
    Clusters { of_cell: Vec<u32>, n: u32 },
}

/// What one thread works with.
struct Scratch {
    likelihood: Likelihood<'static>,
    work: Workspace,
    /// How often each cell's battles were drawn: whole numbers, which a float holds exactly up to 2⁵³.
    multiplicities: Vec<f64>,
    clusters: Vec<f64>,
    /// What was won and lost in each group.
    scores: Vec<f64>,
    losses: Vec<f64>,
    graph: Graph,
}

impl<'a> Source<'a> {
    fn new(
        comparisons: &'a Comparisons,
        fit: &'a Fit,
        options: &'a FitOptions,
        bootstrap: &BootstrapOptions,
    ) -> Result<Self, Error> {
        let total = comparisons.n_battles();
        let draw = match bootstrap.resampling {
            Resampling::Clusters => {
                let clusters = comparisons.clusters().ok_or(Error::NoClusters)?;
                let mut known = clusters.to_vec();
                known.sort_unstable();
                known.dedup();
                let of_cell = clusters
                    .iter()
                    .map(|cluster| known.partition_point(|other| other < cluster) as u32)
                    .collect();
                Draw::Clusters {
                    of_cell,
                    n: known.len() as u32,
                }
            }
            // Where a cell holds few battles it is quicker to draw the battles than the counts.
            Resampling::Battles if total <= 4 * comparisons.n_cells() as u64 && total < 1 << 31 => {
                let mut of_battle = Vec::with_capacity(total as usize);
                for (idx, &count) in comparisons.counts().iter().enumerate() {
                    of_battle.extend(std::iter::repeat_n(idx as u32, count as usize));
                }
                Draw::Table(of_battle)
            }
            Resampling::Battles => Draw::Counts { total },
        };
        Ok(Self {
            comparisons,
            fit,
            options,
            seed: bootstrap.seed,
            groups: comparisons.groups().collect(),
            base: Likelihood::by_group(comparisons, options),
            draw,
        })
    }

    /// Fills rows with the rounds from `first` on.
    fn fill(&self, first: usize, rows: &mut [f64]) {
        let width = self.comparisons.n_models() + self.comparisons.n_features();
        let mut scratch = self.scratch();
        for (idx, row) in rows.chunks_exact_mut(width).enumerate() {
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
            rng.set_stream((first + idx) as u64);
            self.draw(&mut rng, &mut scratch);
            self.refit(&mut scratch, row);
        }
    }

    fn scratch(&self) -> Scratch {
        let n_models = self.comparisons.n_models();
        let n_features = self.comparisons.n_features();
        Scratch {
            likelihood: Likelihood::empty(n_models, n_features, self.options),
            work: Workspace::new(n_models + n_features),
            multiplicities: vec![0.0; self.comparisons.n_cells()],
            clusters: Vec::new(),
            scores: vec![0.0; self.groups.len()],
            losses: vec![0.0; self.groups.len()],
            graph: Graph::new(n_models),
        }
    }

    fn draw(&self, rng: &mut ChaCha8Rng, scratch: &mut Scratch) {
        let multiplicities = &mut scratch.multiplicities;
        match &self.draw {
            Draw::Table(of_battle) => {
                multiplicities.fill(0.0);
                let n = of_battle.len() as u32;
                for _ in 0..n {
                    multiplicities[of_battle[below(rng, n) as usize] as usize] += 1.0;
                }
            }
            Draw::Counts { total } => {
                // A multinomial is a chain of binomials, each over what the ones before have left (Devroye 1986, §XI.1.4).
                let (mut left, mut left_of) = (*total, *total);
                for (&count, multiplicity) in self.comparisons.counts().iter().zip(multiplicities) {
                    let drawn = if left == 0 {
                        0
                    } else if count >= left_of {
                        left
                    } else {
                        binomial(rng, left, count as f64 / left_of as f64)
                    };
                    *multiplicity = drawn as f64;
                    left -= drawn;
                    left_of = left_of.saturating_sub(count);
                }
            }
            Draw::Clusters { of_cell, n } => {
                scratch.clusters.clear();
                scratch.clusters.resize(*n as usize, 0.0);
                for _ in 0..*n {
                    scratch.clusters[below(rng, *n) as usize] += 1.0;
                }
                let counts = self.comparisons.counts();
                for ((multiplicity, &count), &cluster) in
                    multiplicities.iter_mut().zip(counts).zip(of_cell)
                {
                    *multiplicity = scratch.clusters[cluster as usize] * count as f64;
                }
            }
        }
    }

    /// Fits the round that was drawn; the row keeps NaN for what has no finite estimate.
    fn refit(&self, scratch: &mut Scratch, row: &mut [f64]) {
        let Scratch {
            likelihood,
            work,
            multiplicities,
            scores,
            losses,
            graph,
            ..
        } = scratch;
        let n_models = self.comparisons.n_models();
        let outcomes = self.comparisons.outcomes();
        let weights = self.comparisons.weights();
        let of_group = scores.iter_mut().zip(losses.iter_mut());
        for ((score, loss), group) in of_group.zip(&self.groups) {
            (*score, *loss) = (0.0, 0.0);
            let range = group.start..group.end;
            for idx in range {
                let weight = weights.map_or(1.0, |weights| weights[idx]);
                let cell_mass = multiplicities[idx] * weight;
                *score += cell_mass * outcomes[idx];
                *loss += cell_mass * (1.0 - outcomes[idx]);
            }
        }
        graph.clear();
        let penalised = self.options.ridge_strengths > 0.0;
        likelihood.refill(&self.base, scores, losses, |i, j, score, loss| {
            if !penalised {
                graph.add(i, j, score > 0.0, loss > 0.0, score + loss);
            }
        });
        work.fixed.clear();
        if !penalised {
            let main = graph.main_part();
            let lost = |model: usize| !main[model];
            work.fixed
                .extend((0..n_models).filter(|&model| lost(model)));
            if !work.fixed.is_empty() {
                likelihood.drop_rows_of(&work.fixed);
            }
            // A model that was not drawn is held where the estimate has it, and so is the one that all are measured from.
            let ground = match self.fit.ground {
                Some(ground) if main[ground] => Some(ground),
                _ => (0..n_models).find(|&model| main[model]),
            };
            likelihood.hold(ground);
        }
        let (strengths, coefficients) = work.parameters.split_at_mut(n_models);
        strengths.copy_from_slice(&self.fit.strengths);
        coefficients.copy_from_slice(&self.fit.coefficients);
        // A round whose features separate the outcomes has no finite estimate for anybody: the row stays as it is.
        if likelihood.newton(work, self.options, CHORD).is_ok() {
            row.copy_from_slice(&work.parameters);
            for &model in &work.fixed {
                row[model] = f64::NAN;
            }
        }
    }
}

/// Who scored against whom in one round, one bit for each pair.
struct Graph {
    n: usize,
    words: usize,
    scored: Vec<u64>,
    scored_against: Vec<u64>,
    mass: Vec<f64>,
    pairs: Vec<(u32, u32, f64)>,
    main: Vec<bool>,
}

impl Graph {
    fn new(n: usize) -> Self {
        let words = n.div_ceil(64);
        Self {
            n,
            words,
            scored: vec![0; n * words],
            scored_against: vec![0; n * words],
            mass: vec![0.0; n],
            pairs: Vec::new(),
            main: vec![false; n],
        }
    }

    fn clear(&mut self) {
        self.scored.fill(0);
        self.scored_against.fill(0);
        self.pairs.clear();
    }

    fn add(&mut self, i: u32, j: u32, forward: bool, backward: bool, mass: f64) {
        self.pairs.push((i, j, mass));
        let (i, j) = (i as usize, j as usize);
        for (from, to, is) in [(i, j, forward), (j, i, backward)] {
            if is {
                self.scored[from * self.words + to / 64] |= 1 << (to % 64);
                self.scored_against[to * self.words + from / 64] |= 1 << (from % 64);
            }
        }
    }

    /// The models of the strongly connected part with most weight of battles, the first one among equals.
    fn main_part(&mut self) -> &[bool] {
        let mut part_of = vec![usize::MAX; self.n];
        let mut n_parts = 0;
        for model in 0..self.n {
            if part_of[model] != usize::MAX {
                continue;
            }
            let forward = self.reachable(model, &self.scored);
            let backward = self.reachable(model, &self.scored_against);
            for (other, part) in part_of.iter_mut().enumerate() {
                let bit = |set: &[u64]| set[other / 64] >> (other % 64) & 1 == 1;
                if bit(&forward) && bit(&backward) {
                    *part = n_parts;
                }
            }
            n_parts += 1;
        }
        self.mass.clear();
        self.mass.resize(n_parts, 0.0);
        for &(i, j, mass) in &self.pairs {
            let (i, j) = (part_of[i as usize], part_of[j as usize]);
            if i == j {
                self.mass[i] += mass;
            }
        }
        let mut main = 0;
        for part in 1..n_parts {
            if self.mass[part] > self.mass[main] {
                main = part;
            }
        }
        // A single model has nobody to be compared with.
        let some = self.mass.get(main).is_some_and(|&mass| mass > 0.0);
        for (is_main, part) in self.main.iter_mut().zip(part_of) {
            *is_main = some && part == main;
        }
        &self.main
    }

    fn reachable(&self, model: usize, edges: &[u64]) -> Vec<u64> {
        let mut reached = vec![0_u64; self.words];
        reached[model / 64] |= 1 << (model % 64);
        let mut open = vec![model];
        while let Some(from) = open.pop() {
            for word in 0..self.words {
                let mut fresh = edges[from * self.words + word] & !reached[word];
                reached[word] |= fresh;
                while fresh != 0 {
                    open.push(word * 64 + fresh.trailing_zeros() as usize);
                    fresh &= fresh - 1;
                }
            }
        }
        reached
    }
}

/// A whole number from 0 to `n` − 1, each equally likely (Lemire 2019, Fast random integer generation in an interval).
fn below(rng: &mut ChaCha8Rng, n: u32) -> u32 {
    let mut product = u64::from(rng.next_u32()) * u64::from(n);
    if (product as u32) < n {
        let threshold = n.wrapping_neg() % n;
        while (product as u32) < threshold {
            product = u64::from(rng.next_u32()) * u64::from(n);
        }
    }
    (product >> 32) as u32
}

/// A number from 0 to 1, 1 excluded, in steps of 2⁻⁵³.
pub(crate) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// Number of successes in `n` trials of probability `p`.
///
/// Inversion for small means; otherwise transformed rejection with squeeze, BTRS (Hörmann 1993, The generation of
/// binomial random variates, J. Stat. Comput. Simul. 46).
fn binomial(rng: &mut ChaCha8Rng, n: u64, p: f64) -> u64 {
    if p > 0.5 {
        return n - binomial(rng, n, 1.0 - p);
    }
    if n == 0 || p <= 0.0 {
        return 0;
    }
    let trials = n as f64;
    let odds = p / (1.0 - p);
    if trials * p < 10.0 {
        // The probabilities of 0, 1, 2 … are taken away from a uniform number until it is used up.
        let at_zero = (trials * (-p).ln_1p()).exp();
        loop {
            let mut left = uniform(rng);
            let mut probability = at_zero;
            for k in 0..=n.min(120) {
                if left < probability {
                    return k;
                }
                left -= probability;
                probability *= odds * (trials - k as f64) / (k as f64 + 1.0);
            }
            // Only rounding leads here: more than 120 successes where fewer than 10 are expected do not happen.
        }
    }
    let deviation = (trials * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let centre = trials * p + 0.5;
    let squeeze = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((trials + 1.0) * p).floor();
    loop {
        let v = uniform(rng);
        let u = uniform(rng) - 0.5;
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + centre).floor();
        if !(0.0..=trials).contains(&k) {
            continue;
        }
        if us >= 0.07 && v <= squeeze {
            return k as u64;
        }
        let left = (v * alpha / (a / (us * us) + b)).ln();
        let right = (mode + 0.5) * ((mode + 1.0) / (odds * (trials - mode + 1.0))).ln()
            + (trials + 1.0) * ((trials - mode + 1.0) / (trials - k + 1.0)).ln()
            + (k + 0.5) * (odds * (trials - k + 1.0) / (k + 1.0)).ln()
            + stirling_rest(mode)
            + stirling_rest(trials - mode)
            - stirling_rest(k)
            - stirling_rest(trials - k);
        if left <= right {
            return k as u64;
        }
    }
}

/// What Stirling's formula leaves of log k!: log k! − [ (k + ½) log(k + 1) − (k + 1) + ½ log 2π ].
fn stirling_rest(k: f64) -> f64 {
    const FIRST: [f64; 10] = [
        8.106_146_679_532_726e-2,
        4.134_069_595_540_929e-2,
        2.767_792_568_499_834e-2,
        2.079_067_210_376_509_3e-2,
        1.664_469_118_982_119_3e-2,
        1.387_612_882_307_074_8e-2,
        1.189_670_994_589_177e-2,
        1.041_126_526_197_209_7e-2,
        9.255_462_182_712_733e-3,
        8.330_563_433_362_87e-3,
    ];
    if let Some(&rest) = FIRST.get(k as usize) {
        return rest;
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

#[cfg(test)]
mod tests;
