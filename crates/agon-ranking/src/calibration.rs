//! Whether a fit describes the votes: predicted against observed win rates, deviance, dispersion, condition.

use crate::Error;
use crate::bradley_terry::{Fit, probabilities, saturated_log_likelihood};
use crate::comparisons::{Comparisons, GROUPS_AT_A_TIME, Group};
use crate::interval::critical_value;
use crate::leaderboard::Fitted;
use crate::linear_algebra::{dot, make_orthogonal};

/// How well a fit describes the battles it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Predicted and observed score of each pair that met, in ascending order.
    pub pairs: Vec<PairFit>,
    /// Battles by the predicted score of their favourite, from ½ up to 1.
    pub bins: Vec<CalibrationBin>,
    /// Mean distance of predicted and observed scores over the bins, weighted by battles
    /// (expected calibration error: Naeini et al. 2015). Small bins make it larger than the truth.
    pub calibration_error: f64,
    /// Twice the log-likelihood that the saturated model has over the fit (McCullagh & Nelder 1989, §2.3).
    pub deviance: f64,
    /// Pearson's χ² = Σ (score − n p)² / (n p (1 − p)) over groups of battles that share models and features.
    pub pearson: f64,
    /// Groups minus estimated parameters; negative when there are more parameters than groups.
    pub degrees_of_freedom: i64,
    /// Pearson's χ² over the degrees of freedom; `None` where there are none.
    ///
    /// About 1 for wins and losses that follow the model. Ties as half wins vary less than wins and losses do, and pull it
    /// below 1 (which is why intervals come from the sandwich). Far above 1 the model misses something.
    /// When features make nearly every battle a group of its own, neither it nor the deviance says much.
    pub dispersion: Option<f64>,
}

/// Predicted and observed score of two models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairFit {
    /// Index of the first model; the lower of the two.
    pub a: u32,
    /// Index of the second model.
    pub b: u32,
    /// How often they met.
    pub battles: u64,
    /// Mean score of the first model, ties ½, in the weights of the battles.
    pub observed: f64,
    /// What the fit expects it to be, features included.
    pub predicted: f64,
    /// (observed − predicted) in standard errors of a binomial score; too small where ties are common.
    pub residual: f64,
}

/// Battles whose favourite was expected to score between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationBin {
    /// Lower bound of the predicted score.
    pub lower: f64,
    /// Upper bound, excluded except in the last bin.
    pub upper: f64,
    /// Number of battles.
    pub battles: u64,
    /// What was predicted and observed; `None` without battles.
    pub scores: Option<BinScores>,
}

/// Mean scores of the favourites of one bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinScores {
    /// Mean predicted score.
    pub predicted: f64,
    /// Mean observed score, ties ½.
    pub observed: f64,
    /// Lower end of the Wilson interval of the observed score.
    pub observed_lower: f64,
    /// Upper end of the Wilson interval.
    pub observed_upper: f64,
}

/// The Wilson score interval of a proportion `share` of `n` trials (Wilson 1927).
///
/// (p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n). A share with ties as ½ varies less than a proportion, so that
/// the interval is then too wide rather than too narrow. `n` may be an effective number.
///
/// # Errors
///
/// [`Error::Option`] unless `share` lies in 0 to 1, `n` is a finite number above 0 and `level` between 0 and 1.
///
/// # Examples
///
/// ```
/// use agon_ranking::calibration::wilson_interval;
///
/// let (lower, upper) = wilson_interval(0.8, 10.0, 0.95)?;
/// assert!((lower - 0.490_162_5).abs() < 1e-6 && (upper - 0.943_317_8).abs() < 1e-6);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn wilson_interval(share: f64, n: f64, level: f64) -> Result<(f64, f64), Error> {
    let z = critical_value(level)?;
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::Option {
            option: "share",
            value: share,
            expected: "a number from 0 to 1",
        });
    }
    if !(n.is_finite() && n > 0.0) {
        return Err(Error::Option {
            option: "n",
            value: n,
            expected: "a finite number above 0",
        });
    }
    let ratio = z * z / n;
    let centre = share + ratio / 2.0;
    let half = z * (share * (1.0 - share) / n + ratio / (4.0 * n)).sqrt();
    // Rounding may step over the ends, which are met exactly at shares of 0 and 1.
    let lower = ((centre - half) / (1.0 + ratio)).max(0.0);
    let upper = ((centre + half) / (1.0 + ratio)).min(1.0);
    Ok((lower, upper))
}

/// Compares a fit with the battles it was made from.
///
/// Each battle counts once, seen from its favourite, so that neither names nor sides matter. `comparisons` must be
/// those of the fit; for a board, [`rated_comparisons`] gives them.
///
/// # Errors
///
/// [`Error::Length`] when the comparisons have another number of models or features than the fit, [`Error::NoBattles`],
/// [`Error::Option`] unless there is at least one bin and the level lies between 0 and 1.
///
/// # Examples
///
/// ```
/// use agon_ranking::calibration::calibration;
/// use agon_ranking::{Comparison, Comparisons, FitOptions, fit};
///
/// let comparisons = Comparisons::new(
///     2,
///     [Comparison::new(0, 1, 1.0).with_count(3), Comparison::new(0, 1, 0.0)],
/// )?;
/// let fit = fit(&comparisons, &FitOptions::default())?;
/// let calibration = calibration(&fit, &comparisons, 10, 0.95)?;
/// // Two models are described exactly.
/// assert!((calibration.pairs[0].observed - calibration.pairs[0].predicted).abs() < 1e-9);
/// assert!(calibration.deviance.abs() < 1e-9 && calibration.degrees_of_freedom == 0);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn calibration(
    fit: &Fit,
    comparisons: &Comparisons,
    bins: usize,
    level: f64,
) -> Result<Calibration, Error> {
    check_fit(fit, comparisons)?;
    critical_value(level)?;
    if bins == 0 {
        return Err(Error::Option {
            option: "bins",
            value: 0.0,
            expected: "1 or more",
        });
    }
    if comparisons.is_empty() {
        return Err(Error::NoBattles);
    }
    let mut sums = PairSums::new(bins, comparisons.pairs().len());
    let mut all_groups = comparisons.groups();
    let (mut groups, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        groups.clear();
        groups.extend(all_groups.by_ref().take(GROUPS_AT_A_TIME));
        if groups.is_empty() {
            break;
        }
        first.clear();
        first.extend(groups.iter().map(|group| {
            let features = comparisons.features_of(group.start);
            log_odds(fit, group.i, group.j, features)
        }));
        probabilities(&mut first, &mut second);
        for (group, (&p, &q)) in groups.iter().zip(first.iter().zip(&second)) {
            sums.add(comparisons, *group, p, q);
        }
        sums.close_block();
    }
    let PairSums {
        tallies,
        pairs,
        pearson,
        groups,
        saturated,
        ..
    } = sums;

    let total: f64 = tallies.iter().map(|tally| tally.mass).sum();
    let mut calibration_error = 0.0;
    let width = 0.5 / bins as f64;
    let mut filled = Vec::with_capacity(bins);
    for (idx, tally) in tallies.iter().enumerate() {
        let scores = if tally.battles == 0 {
            None
        } else {
            let (predicted, observed) = (tally.predicted / tally.mass, tally.score / tally.mass);
            calibration_error += tally.mass / total * (predicted - observed).abs();
            // Kish's effective number: the number itself when all weights are equal.
            let effective = tally.mass * tally.mass / tally.squares;
            // A mean of scores can exceed 1 by rounding.
            let (observed_lower, observed_upper) =
                wilson_interval(observed.clamp(0.0, 1.0), effective, level)?;
            Some(BinScores {
                predicted,
                observed,
                observed_lower,
                observed_upper,
            })
        };
        filled.push(CalibrationBin {
            lower: 0.5 + width * idx as f64,
            upper: 0.5 + width * (idx as f64 + 1.0),
            battles: tally.battles,
            scores,
        });
    }
    let location = usize::from(fit.ground.is_some());
    let parameters = fit.strengths.len() - location + fit.coefficients.len();
    let degrees_of_freedom = groups - parameters as i64;
    // Rounding can leave the deviance of a perfect fit just below 0.
    let deviance = 2.0 * (saturated - fit.certificate.log_likelihood);
    Ok(Calibration {
        pairs,
        bins: filled,
        calibration_error,
        deviance: deviance.max(0.0),
        pearson,
        degrees_of_freedom,
        dispersion: (degrees_of_freedom > 0).then(|| pearson / degrees_of_freedom as f64),
    })
}

/// The comparisons that the fit of a board was made from: battles of the rated models, numbered like the fit.
///
/// `models` is [`Fitted::models`](crate::Fitted::models). All features are kept; where the fit had to leave some out, use
/// [`Fitted::comparisons`](crate::Fitted::comparisons) instead.
///
/// # Errors
///
/// [`Error::ModelOutOfRange`] for a model that does not exist, [`Error::Option`] when the models do not ascend.
pub fn rated_comparisons(
    comparisons: &Comparisons,
    models: &[usize],
) -> Result<Comparisons, Error> {
    check_models(comparisons.n_models(), models)?;
    if let Some(pair) = models.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(Error::Option {
            option: "models",
            value: pair[1] as f64,
            expected: "distinct indices in ascending order",
        });
    }
    Ok(comparisons.among(models))
}

/// Observed and predicted scores of some models against each other, for heat maps.
#[derive(Clone, Debug, PartialEq)]
pub struct WinMatrix {
    /// The models, in the order of rows and columns.
    pub models: Vec<usize>,
    /// Battles of the row's model with the column's, row by row.
    pub battles: Vec<u64>,
    /// Mean score of the row's model, ties ½; `None` where they never met.
    pub observed: Vec<Option<f64>>,
    /// Score that the fit expects when all features are 0; `None` for a model with itself.
    pub predicted: Vec<Option<f64>>,
}

/// Makes the matrices of the given models, which may be in any order (that of the board, say).
///
/// # Errors
///
/// [`Error::Length`] as for [`calibration`], [`Error::ModelOutOfRange`] for a model that is not in the fit,
/// [`Error::Option`] for a model that is named twice.
pub fn win_matrix(
    fit: &Fit,
    comparisons: &Comparisons,
    models: &[usize],
) -> Result<WinMatrix, Error> {
    check_fit(fit, comparisons)?;
    check_models(comparisons.n_models(), models)?;
    let n = models.len();
    let mut position = vec![None; comparisons.n_models()];
    for (idx, &model) in models.iter().enumerate() {
        if position[model].replace(idx).is_some() {
            return Err(Error::Option {
                option: "models",
                value: model as f64,
                expected: "each model once",
            });
        }
    }
    let mut battles = vec![0_u64; n * n];
    let mut scores = vec![0.0; n * n];
    let mut masses = vec![0.0; n * n];
    for cell in comparisons.cells() {
        let (Some(row), Some(column)) = (position[cell.i as usize], position[cell.j as usize])
        else {
            continue;
        };
        for (idx, outcome) in [
            (row * n + column, cell.outcome),
            (column * n + row, 1.0 - cell.outcome),
        ] {
            battles[idx] = battles[idx].saturating_add(cell.count);
            scores[idx] += cell.mass() * outcome;
            masses[idx] += cell.mass();
        }
    }
    let observed = scores
        .iter()
        .zip(&masses)
        .map(|(score, &mass): (&f64, &f64)| (mass > 0.0).then(|| score / mass))
        .collect();
    let mut predicted = Vec::with_capacity(n * n);
    for &row in models {
        for &column in models {
            predicted.push(if row == column {
                None
            } else {
                fit.win_probability(row, column)
            });
        }
    }
    Ok(WinMatrix {
        models: models.to_vec(),
        battles,
        observed,
        predicted,
    })
}

/// Condition number of the information matrix: largest over smallest eigenvalue, in what can be estimated.
///
/// The direction in which all strengths move together carries no information without a penalty, and is left out. Large
/// numbers (1e8) mean that some difference is known far worse than others, 1e13 that it is lost in rounding.
/// Features enter in their own units. Both eigenvalues come from Lanczos' method (Golub & Van Loan 2013, §10.1), to about
/// six digits.
///
/// # Errors
///
/// [`Error::Singular`]; [`Error::NoBattles`] for a fit of one model without features.
pub fn condition_number(fit: &Fit) -> Result<f64, Error> {
    let n_models = fit.strengths.len();
    let mut shifted = fit.information.matrix();
    let n = shifted.n();
    let free = fit.ground.is_none();
    if !free {
        // Lifts the direction without information to the average eigenvalue; nothing else changes.
        let trace: f64 = (0..n).map(|idx| shifted.get(idx, idx)).sum();
        let lift = trace / (n as f64 * n_models as f64);
        for column in 0..n_models {
            for row in column..n_models {
                shifted.add(row, column, lift);
            }
        }
    }
    if n > 1 || free {
        shifted.factor().map_err(|_| Error::Singular)?;
    }
    condition(fit, |from, to| {
        to.copy_from_slice(from);
        shifted.solve(to);
    })
}

/// The condition number of the fit behind a board, from the inverse that its intervals were made of where there is one.
///
/// It is that of [`condition_number`] to about six digits, without a matrix that is factored anew.
///
/// # Errors
///
/// As [`condition_number`].
pub fn condition_number_of_board(fitted: &Fitted) -> Result<f64, Error> {
    let fit = &fitted.fit;
    match fitted.covariance.inverse_information() {
        // Under whichever anchor it is: what the anchors differ in is projected away.
        Some(inverse) if fit.ground.is_some() => {
            condition(fit, |from, to| inverse.multiply(from, to))
        }
        _ => condition_number(fit),
    }
}

/// Largest over smallest eigenvalue, given what solves the information's system but for the location.
fn condition(fit: &Fit, solve: impl Fn(&[f64], &mut [f64])) -> Result<f64, Error> {
    let n_models = fit.strengths.len();
    let mut information = fit.information.matrix();
    let n = information.n();
    let free = fit.ground.is_none();
    if n == 0 || (n == 1 && !free) {
        return Err(Error::NoBattles);
    }
    information.mirror();
    let project = |vector: &mut [f64]| {
        if !free {
            let mean = vector[..n_models].iter().sum::<f64>() / n_models as f64;
            for value in &mut vector[..n_models] {
                *value -= mean;
            }
        }
    };
    let largest = dominant(n, project, |from, to| information.multiply(from, to));
    let smallest_inverse = dominant(n, project, solve);
    Ok((largest * smallest_inverse).max(1.0))
}

/// Largest eigenvalue of a symmetric positive operator, within the space that `project` projects on.
///
/// Lanczos' method with every vector kept orthogonal to all before it: the largest eigenvalue of the tridiagonal matrix
/// that it builds rises to the one sought, in some tens of steps where the power method takes hundreds.
fn dominant(n: usize, project: impl Fn(&mut [f64]), apply: impl Fn(&[f64], &mut [f64])) -> f64 {
    const STEPS: usize = 500;
    const TOLERANCE: f64 = 1e-9;
    /// Steps between two looks at the eigenvalue.
    const STRIDE: usize = 4;
    // Any start with a part in every direction; irrational steps keep it from being orthogonal to one by symmetry.
    let mut vector: Vec<f64> = (0..n)
        .map(|idx| (1.0 + idx as f64 * std::f64::consts::SQRT_2).sin())
        .collect();
    project(&mut vector);
    // The vectors so far, one after the other.
    let (mut basis, mut parts): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let (mut diagonal, mut below) = (Vec::new(), Vec::new());
    let mut image = vec![0.0; n];
    let mut value = 0.0;
    let mut norm = dot(&vector, &vector).sqrt();
    while diagonal.len() < STEPS.min(n) {
        for x in &mut vector {
            *x /= norm;
        }
        apply(&vector, &mut image);
        project(&mut image);
        diagonal.push(dot(&vector, &image));
        basis.extend_from_slice(&vector);
        // Twice: where the eigenvalues lie close together most of the image is taken away, and what is left after one
        // pass is the less orthogonal the more that was (Parlett 1998, §6.9).
        for _ in 0..2 {
            make_orthogonal(&mut image, &basis, &mut parts);
        }
        norm = dot(&image, &image).sqrt();
        std::mem::swap(&mut vector, &mut image);
        // What is left is rounding: the space is exhausted.
        let n_steps = diagonal.len();
        let exhausted = norm <= 1e-12 * f64::max(diagonal[0], value).abs();
        if exhausted || n_steps.is_multiple_of(STRIDE) || n_steps == n {
            let next = largest_of_tridiagonal(&diagonal, &below);
            let done = (next - value).abs() <= TOLERANCE * next;
            value = next;
            if exhausted || done {
                break;
            }
        }
        below.push(norm);
    }
    value
}

/// Largest eigenvalue of a symmetric tridiagonal matrix, by bisection on Sturm's count (Golub & Van Loan 2013, §8.4).
fn largest_of_tridiagonal(diagonal: &[f64], below: &[f64]) -> f64 {
    let beside = |idx: usize| below.get(idx).copied().unwrap_or_default().abs();
    // Gershgorin's circles bound it from above, the diagonal from below.
    let mut upper = f64::MIN;
    let mut lower = f64::MIN;
    for (idx, &own) in diagonal.iter().enumerate() {
        let left = if idx > 0 { beside(idx - 1) } else { 0.0 };
        let right = if idx + 1 < diagonal.len() {
            beside(idx)
        } else {
            0.0
        };
        upper = upper.max(own + left + right);
        lower = lower.max(own);
    }
    let any_above = |x: f64| {
        let mut pivot = 1.0;
        diagonal.iter().enumerate().any(|(idx, own)| {
            let left = if idx > 0 { beside(idx - 1) } else { 0.0 };
            pivot = own - x - left * left / pivot;
            if pivot == 0.0 {
                pivot = f64::MIN_POSITIVE;
            }
            pivot > 0.0
        })
    };
    for _ in 0..60 {
        let middle = lower + (upper - lower) / 2.0;
        if any_above(middle) {
            lower = middle;
        } else {
            upper = middle;
        }
    }
    upper
}

/// Sums over battles.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    battles: u64,
    mass: f64,
    squares: f64,
    score: f64,
    predicted: f64,
    variance: f64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.battles = self.battles.saturating_add(other.battles);
        self.mass += other.mass;
        self.squares += other.squares;
        self.score += other.score;
        self.predicted += other.predicted;
        self.variance += other.variance;
    }
}

/// What is summed over groups of battles, which come in their order.
struct PairSums {
    /// By bin.
    tallies: Vec<Tally>,
    pairs: Vec<PairFit>,
    /// The last pair, as far as its groups have come.
    pair: Tally,
    pearson: f64,
    groups: i64,
    /// Largest possible log-likelihood, but for the groups that are kept below.
    saturated: f64,
    scores: Vec<f64>,
    losses: Vec<f64>,
}

impl PairSums {
    fn new(bins: usize, n_pairs: usize) -> Self {
        Self {
            tallies: vec![Tally::default(); bins],
            pairs: Vec::with_capacity(n_pairs),
            pair: Tally::default(),
            pearson: 0.0,
            groups: 0,
            saturated: 0.0,
            scores: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// Sums what was kept of groups, which is quicker for several at a time.
    fn close_block(&mut self) {
        self.saturated += saturated_log_likelihood(&self.scores, &self.losses);
        self.scores.clear();
        self.losses.clear();
    }

    /// Adds a group whose first model should score `p`, and its second one `q`.
    fn add(&mut self, comparisons: &Comparisons, group: Group, p: f64, q: f64) {
        self.groups += 1;
        let mut tally = Tally::default();
        let mut loss = 0.0;
        for cell in group.cells(comparisons) {
            let mass = cell.mass();
            tally.battles = tally.battles.saturating_add(cell.count);
            tally.mass += mass;
            tally.squares += mass * cell.weight;
            tally.score += mass * cell.outcome;
            loss += mass * (1.0 - cell.outcome);
        }
        self.scores.push(tally.score);
        self.losses.push(loss);
        tally.predicted = tally.mass * p;
        let variance = p * q;
        tally.variance = tally.squares * variance;
        let distance = tally.score - tally.predicted;
        if variance > 0.0 {
            self.pearson += distance * distance / (tally.mass * variance);
        }

        let (favoured, score) = if p >= 0.5 {
            (p, tally.score)
        } else {
            (q, tally.mass - tally.score)
        };
        let n_bins = self.tallies.len();
        let bin = (((favoured - 0.5) * 2.0 * n_bins as f64) as usize).min(n_bins - 1);
        self.tallies[bin].add(&Tally {
            score,
            predicted: tally.mass * favoured,
            ..tally
        });

        let same = self
            .pairs
            .last()
            .is_some_and(|last| (last.a, last.b) == (group.i, group.j));
        if !same {
            self.pair = Tally::default();
            self.pairs.push(PairFit {
                a: group.i,
                b: group.j,
                battles: 0,
                observed: 0.0,
                predicted: 0.0,
                residual: 0.0,
            });
        }
        self.pair.add(&tally);
        let pair = &self.pair;
        if let Some(last) = self.pairs.last_mut() {
            last.battles = pair.battles;
            last.observed = pair.score / pair.mass;
            last.predicted = pair.predicted / pair.mass;
            last.residual = if pair.variance > 0.0 {
                (pair.score - pair.predicted) / pair.variance.sqrt()
            } else {
                0.0
            };
        }
    }
}

/// Log-odds of the first of two models.
fn log_odds(fit: &Fit, i: u32, j: u32, features: impl Iterator<Item = f64>) -> f64 {
    let mut d = fit.strengths[i as usize] - fit.strengths[j as usize];
    for (x, beta) in features.zip(&fit.coefficients) {
        d += x * beta;
    }
    d
}

fn check_fit(fit: &Fit, comparisons: &Comparisons) -> Result<(), Error> {
    let expected = fit.strengths.len() + fit.coefficients.len();
    let found = comparisons.n_models() + comparisons.n_features();
    if found != expected || comparisons.n_models() != fit.strengths.len() {
        return Err(Error::Length { found, expected });
    }
    Ok(())
}

fn check_models(n_models: usize, models: &[usize]) -> Result<(), Error> {
    match models.iter().position(|&model| model >= n_models) {
        None => Ok(()),
        Some(row) => Err(Error::ModelOutOfRange {
            row,
            model: u32::try_from(models[row]).unwrap_or(u32::MAX),
            n_models,
        }),
    }
}

#[cfg(test)]
mod tests;
