//! Whether side A is favoured: the order effect of the fit, with its interval.

use crate::bradley_terry::{probabilities, sigmoid};
use crate::comparisons::{Columns, Comparison, Comparisons};
use crate::components::Components;
use crate::covariance::CovarianceMethod;
use crate::interval::critical_value;
use crate::leaderboard::{DropReason, Fitted, LeaderboardOptions, leaderboard};
use crate::{Coefficient, Error};

/// How much the side on which an answer is shown matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideBias {
    /// Log-odds by which side A is favoured, strengths being equal, with its interval.
    pub coefficient: Coefficient,
    /// Score that side A makes against an equal: σ(coefficient); ½ without bias.
    pub score: f64,
    /// Lower end of its interval.
    pub score_lower: f64,
    /// Upper end of its interval.
    pub score_upper: f64,
    /// Share of the points that side A won in all battles, whoever stood there.
    pub share: f64,
}

/// Estimates the advantage of side A together with the strengths (Davidson & Beaver 1977).
///
/// `clusters` are the judges, one for each row; with them the errors are clustered. The estimate is that of the
/// main board, so models that cannot be rated do not matter.
///
/// # Errors
///
/// [`Error::CollinearFeature`] when sides and models cannot be told apart (a model always on one side of all its battles,
/// so that nothing contradicts); [`Error::NotConnected`] when nobody can be rated; those of
/// [`Comparisons::with_columns`] and [`leaderboard()`](crate::leaderboard()).
///
/// # Examples
///
/// ```
/// use agon_ranking::Comparison;
/// use agon_ranking::influence::side_bias;
///
/// // Whoever stands on side A wins three of four battles.
/// let rows = [
///     Comparison::new(0, 1, 1.0).with_count(30),
///     Comparison::new(0, 1, 0.0).with_count(10),
///     Comparison::new(1, 0, 1.0).with_count(30),
///     Comparison::new(1, 0, 0.0).with_count(10),
/// ];
/// let bias = side_bias(2, &rows, None, 0.95)?;
/// assert!((bias.score - 0.75).abs() < 1e-9 && bias.score_lower > 0.5);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn side_bias(
    n_models: usize,
    rows: &[Comparison],
    clusters: Option<&[u32]>,
    level: f64,
) -> Result<SideBias, Error> {
    let ones = vec![1.0; rows.len()];
    let columns = Columns {
        n_features: 1,
        features: &ones,
        clusters,
    };
    let comparisons = Comparisons::with_columns(n_models, rows, columns)?;
    let covariance = if clusters.is_some() {
        CovarianceMethod::ClusteredSandwich
    } else {
        CovarianceMethod::Sandwich
    };
    let options = LeaderboardOptions {
        level,
        covariance,
        ..LeaderboardOptions::default()
    };
    let board = leaderboard(&comparisons, &options)?;
    if let Some(dropped) = board.main().dropped.first() {
        return Err(match dropped.reason {
            DropReason::Collinear => Error::CollinearFeature { feature: 0 },
            DropReason::Separates => Error::Singular,
        });
    }
    let Some(&coefficient) = board.main().coefficients.first() else {
        let components = Components::of(&comparisons);
        return Err(Error::NotConnected {
            connected: components.connected.len(),
            strong: components.strong.len(),
        });
    };
    let (mut points, mut mass) = (0.0, 0.0);
    for row in rows {
        let weight = row.weight * row.count as f64;
        points += weight * row.outcome;
        mass += weight;
    }
    Ok(SideBias::new(coefficient, points / mass))
}

/// Battles by pair of models and by side, without anything else: what [`side_bias_of_fit`] looks at.
///
/// A vote more is added at the cost of a search.
///
/// # Examples
///
/// ```
/// use agon_ranking::Comparison;
/// use agon_ranking::influence::Sides;
///
/// let mut sides = Sides::of([Comparison::new(0, 1, 1.0), Comparison::new(1, 0, 0.5)]);
/// sides.add(&Comparison::new(1, 0, 0.0));
/// let at_once = [
///     Comparison::new(0, 1, 1.0),
///     Comparison::new(1, 0, 0.0),
///     Comparison::new(1, 0, 0.5),
/// ];
/// assert_eq!(sides, Sides::of(at_once));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sides {
    // Invariant: ascending, no pair twice, `i < j`; all three columns are as long, `squares` empty while all weights are 1.
    pairs: Vec<(u32, u32)>,
    /// Sums of weights, and of squared weights: first with `i` on side A, then with `j` there.
    sums: Vec<[OfSide; 2]>,
    squares: Vec<[OfSide; 2]>,
}

/// Sums over the battles of a pair with the same model on side A.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct OfSide {
    /// Of battles that side A won.
    won: f64,
    lost: f64,
    /// Of those between, where a score y is neither 1 nor 0: Σ w, Σ w y and Σ w y².
    drawn: [f64; 3],
}

impl OfSide {
    fn add(&mut self, weight: f64, outcome: f64) {
        if outcome == 1.0 {
            self.won += weight;
        } else if outcome == 0.0 {
            self.lost += weight;
        } else {
            for (sum, power) in self.drawn.iter_mut().zip([1.0, outcome, outcome * outcome]) {
                *sum += weight * power;
            }
        }
    }

    fn mass(&self) -> f64 {
        self.won + self.lost + self.drawn[0]
    }

    fn points(&self) -> f64 {
        self.won + self.drawn[1]
    }

    /// Σ w (y − p), q being 1 − p: no difference of large numbers where nearly all was won.
    fn residual(&self, p: f64, q: f64) -> f64 {
        self.won * q - self.lost * p + (self.drawn[1] - self.drawn[0] * p)
    }

    /// Σ w (y − p)².
    fn squared_residual(&self, p: f64, q: f64) -> f64 {
        let [mass, score, squares] = self.drawn;
        self.won * q * q + self.lost * p * p + (squares - 2.0 * p * score + p * p * mass)
    }
}

/// The pair of a comparison, which of its models is on side A, and its weights.
fn on_side(row: &Comparison) -> ((u32, u32), usize, [f64; 2]) {
    let mass = row.count as f64 * row.weight;
    let side = usize::from(row.a > row.b);
    (
        (row.a.min(row.b), row.a.max(row.b)),
        side,
        [mass, mass * row.weight],
    )
}

impl Sides {
    /// Sums comparisons, in any order.
    pub fn of(rows: impl IntoIterator<Item = Comparison>) -> Self {
        /// Entries of a table of all pairs for each row, above which sorting is quicker.
        const TABLE_SHARE: usize = 4;
        let rows: Vec<Comparison> = rows.into_iter().collect();
        let highest = rows.iter().map(|row| row.a.max(row.b)).max();
        let n_models = highest.map_or(0, |highest| highest as usize + 1);
        let is_weighted = rows.iter().any(|row| row.weight != 1.0);
        let mut sides = Self::default();
        if n_models.saturating_mul(n_models) <= rows.len().saturating_mul(TABLE_SHARE) {
            let mut position = vec![usize::MAX; n_models * n_models];
            let place = |(i, j): (u32, u32)| i as usize * n_models + j as usize;
            for row in &rows {
                position[place(on_side(row).0)] = 0;
            }
            for i in 0..n_models as u32 {
                for j in i..n_models as u32 {
                    let position = &mut position[place((i, j))];
                    if *position == 0 {
                        *position = sides.pairs.len();
                        sides.pairs.push((i, j));
                    }
                }
            }
            sides.make_room(is_weighted);
            for row in &rows {
                let (pair, side, weights) = on_side(row);
                sides.add_at(position[place(pair)], side, weights, row.outcome);
            }
        } else {
            let mut order: Vec<&Comparison> = rows.iter().collect();
            order.sort_by_key(|row| on_side(row).0);
            sides.pairs.extend(order.iter().map(|row| on_side(row).0));
            sides.pairs.dedup();
            sides.make_room(is_weighted);
            let mut position = 0;
            for row in order {
                let (pair, side, weights) = on_side(row);
                position += usize::from(sides.pairs[position] != pair);
                sides.add_at(position, side, weights, row.outcome);
            }
        }
        sides
    }

    fn make_room(&mut self, is_weighted: bool) {
        let n_pairs = self.pairs.len();
        self.sums.resize(n_pairs, <[OfSide; 2]>::default());
        self.squares
            .resize(if is_weighted { n_pairs } else { 0 }, <_>::default());
    }

    fn add_at(&mut self, position: usize, side: usize, weights: [f64; 2], outcome: f64) {
        self.sums[position][side].add(weights[0], outcome);
        if let Some(squares) = self.squares.get_mut(position) {
            squares[side].add(weights[1], outcome);
        }
    }

    /// Adds one comparison.
    pub fn add(&mut self, row: &Comparison) {
        let (pair, side, weights) = on_side(row);
        if row.weight != 1.0 && self.squares.is_empty() {
            self.squares.clone_from(&self.sums);
        }
        let position = match self.pairs.binary_search(&pair) {
            Ok(position) => position,
            Err(position) => {
                self.pairs.insert(position, pair);
                self.sums.insert(position, <_>::default());
                if row.weight != 1.0 || !self.squares.is_empty() {
                    self.squares.insert(position, <_>::default());
                }
                position
            }
        };
        self.add_at(position, side, weights, row.outcome);
    }
}

/// Estimates the advantage of side A from a fit that does not know it, by one Newton step instead of a fit.
///
/// With x̃ = 1 − zᵀ H⁻¹ Σ w p(1 − p) z, the part of the constant that strengths do not explain, and z = eₐ − e_b, the
/// estimate is Σ w x̃ (y − p) / Σ w p(1 − p) x̃², and its error comes from Σ w² x̃² (y − p)²: the efficient score test of
/// no bias in its robust form (Rao 1948; Boos 1992, American Statistician 46). It costs one pass over the pairs.
/// Where there is no bias it agrees with [`side_bias`]; a large one comes out too small, but not its sign or certainty.
///
/// Pairs with a model that is not in the fit are left out.
///
/// # Errors
///
/// [`Error::Length`] for a fit with features, which the sides do not have; [`Error::NoBattles`] when no pair is left;
/// [`Error::CollinearFeature`] when sides and models cannot be told apart; [`Error::Singular`]; [`Error::Option`].
///
/// # Examples
///
/// Side A wins 22 of 40 battles in both orders: the log-odds of 22 to 18 are 0.2007, one step gives 0.2.
///
/// ```
/// use agon_ranking::influence::{Sides, side_bias_of_fit};
/// use agon_ranking::{Comparison, Comparisons, LeaderboardOptions, leaderboard};
///
/// let rows = [
///     Comparison::new(0, 1, 1.0).with_count(22),
///     Comparison::new(0, 1, 0.0).with_count(18),
///     Comparison::new(1, 0, 1.0).with_count(22),
///     Comparison::new(1, 0, 0.0).with_count(18),
/// ];
/// let board = leaderboard(&Comparisons::new(2, rows)?, &LeaderboardOptions::default())?;
/// let fitted = board.main().fitted.as_ref().expect("both models have won");
/// let bias = side_bias_of_fit(fitted, &Sides::of(rows), 0.95)?;
/// assert!((bias.coefficient.estimate - 0.2).abs() < 1e-9);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn side_bias_of_fit(fitted: &Fitted, sides: &Sides, level: f64) -> Result<SideBias, Error> {
    let critical = critical_value(level)?;
    let fit = &fitted.fit;
    let n_models = fit.strengths.len();
    if !fit.coefficients.is_empty() {
        return Err(Error::Length {
            found: n_models,
            expected: n_models + fit.coefficients.len(),
        });
    }
    let highest = fitted.models.last().map_or(0, |&last| last + 1);
    let mut position = vec![u32::MAX; highest];
    for (local, &model) in (0..).zip(&fitted.models) {
        position[model] = local;
    }
    let local = |model: u32| position.get(model as usize).copied().unwrap_or(u32::MAX);
    // The pairs inside the fit: their positions in the sides, and their models in the fit.
    let mut inside: Vec<[u32; 3]> = Vec::with_capacity(sides.pairs.len());
    for (idx, &(i, j)) in (0..).zip(&sides.pairs) {
        let (i, j) = (local(i), local(j));
        if i != u32::MAX && j != u32::MAX {
            inside.push([idx, i, j]);
        }
    }
    let inside = || inside.iter().map(|inside| inside.map(|idx| idx as usize));
    if inside().next().is_none() {
        return Err(Error::NoBattles);
    }
    let strengths = &fit.strengths;
    let log_odds = inside().map(|[_, i, j]| strengths[i] - strengths[j]);
    let (mut first, mut second) = (log_odds.collect::<Vec<f64>>(), Vec::new());
    probabilities(&mut first, &mut second);

    let mut explained = vec![0.0; n_models];
    let mut unexplained = 0.0;
    for ([idx, i, j], (p, q)) in inside().zip(first.iter().zip(&second)) {
        let [forward, backward] = sides.sums[idx].map(|sums| sums.mass());
        // What stands on side A and on side B in turn says nothing of the side.
        let information = (forward - backward) * p * q;
        explained[i] += information;
        explained[j] -= information;
        unexplained += (forward + backward) * p * q;
    }
    // Each battle adds as much to one model as it takes from the other, so the anchor of the inverse does not matter: only
    // differences of the solution are used.
    match fitted.covariance.inverse_information() {
        Some(inverse) if inverse.n() == n_models => {
            let mut solution = vec![0.0; n_models];
            inverse.multiply(&explained, &mut solution);
            explained = solution;
        }
        _ => {
            let mut factor = fit.information.matrix();
            if let Some(ground) = fit.ground {
                factor.ground(ground);
                explained[ground] = 0.0;
            }
            factor.factor().map_err(|_| Error::Singular)?;
            factor.solve(&mut explained);
        }
    }

    let (mut score, mut information, mut meat) = (0.0, 0.0, 0.0);
    let (mut points, mut mass) = (0.0, 0.0);
    for ([idx, i, j], (&p, &q)) in inside().zip(first.iter().zip(&second)) {
        let difference = explained[i] - explained[j];
        let sums = &sides.sums[idx];
        let squares = sides.squares.get(idx).unwrap_or(sums);
        let of_sides = [(1.0 - difference, p, q), (1.0 + difference, q, p)];
        for ((sums, squares), (rest, p, q)) in sums.iter().zip(squares).zip(of_sides) {
            information += sums.mass() * p * q * rest * rest;
            score += rest * sums.residual(p, q);
            meat += rest * rest * squares.squared_residual(p, q);
            points += sums.points();
            mass += sums.mass();
        }
    }
    if information <= COLLINEAR * unexplained {
        return Err(Error::CollinearFeature { feature: 0 });
    }
    // Rounding can leave a little below 0 where every outcome was as expected.
    let (estimate, standard_error) = (score / information, meat.max(0.0).sqrt() / information);
    let coefficient = Coefficient {
        feature: 0,
        estimate,
        standard_error,
        lower: estimate - critical * standard_error,
        upper: estimate + critical * standard_error,
    };
    Ok(SideBias::new(coefficient, points / mass))
}

/// What is left of the information about the bias, once strengths have explained theirs, is rounding below this share.
const COLLINEAR: f64 = 1e-10;

impl SideBias {
    fn new(coefficient: Coefficient, share: f64) -> Self {
        Self {
            coefficient,
            score: sigmoid(coefficient.estimate),
            score_lower: sigmoid(coefficient.lower),
            score_upper: sigmoid(coefficient.upper),
            share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bias_of_two_equal_models_is_in_closed_form() {
        // 40 battles in each order; side A wins 30 of 40. The error of the log-odds of 60 to 20 is √(1/60 + 1/20).
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(30),
            Comparison::new(0, 1, 0.0).with_count(10),
            Comparison::new(1, 0, 1.0).with_count(30),
            Comparison::new(1, 0, 0.0).with_count(10),
        ];
        let bias = side_bias(2, &rows, None, 0.95).unwrap();
        assert!((bias.coefficient.estimate - 3.0_f64.ln()).abs() < 1e-10);
        let error = (1.0 / 60.0 + 1.0 / 20.0_f64).sqrt();
        assert!((bias.coefficient.standard_error - error).abs() < 1e-10);
        assert_eq!(bias.share, 0.75);
        // The same judge for each pair of rows: errors are clustered.
        let clustered = side_bias(2, &rows, Some(&[0, 0, 1, 1]), 0.95).unwrap();
        assert!(clustered.coefficient.standard_error != bias.coefficient.standard_error);
    }

    #[test]
    fn no_bias_is_found_where_sides_are_balanced() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(30),
            Comparison::new(0, 1, 0.0).with_count(10),
            Comparison::new(1, 0, 1.0).with_count(10),
            Comparison::new(1, 0, 0.0).with_count(30),
        ];
        let bias = side_bias(2, &rows, None, 0.95).unwrap();
        assert!(bias.coefficient.estimate.abs() < 1e-12);
        assert!(bias.score_lower < 0.5 && bias.score_upper > 0.5);
    }

    #[test]
    fn one_step_from_the_fit_agrees_with_the_fit_where_the_bias_is_small() {
        // Six models in steps of strength; side A has an advantage of some hundredths, and a third of all battles tie.
        let mut rows = Vec::new();
        for a in 0..6_u32 {
            for b in (0..6_u32).filter(|&b| b != a) {
                let p = sigmoid(0.3 * (f64::from(b) - f64::from(a)) + 0.04);
                let wins = (3000.0 * p).round() as u64;
                rows.push(Comparison::new(a, b, 1.0).with_count(wins));
                rows.push(Comparison::new(a, b, 0.0).with_count(3000 - wins));
                rows.push(Comparison::new(a, b, 0.5).with_count(100 + u64::from(a + 2 * b)));
            }
        }
        let exact = side_bias(6, &rows, None, 0.95).unwrap();
        let comparisons = Comparisons::new(6, rows.iter().copied()).unwrap();
        let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
        let fitted = board.main().fitted.as_ref().unwrap();
        let step = side_bias_of_fit(fitted, &Sides::of(rows.iter().copied()), 0.95).unwrap();
        let close = |x: f64, y: f64| assert!((x / y - 1.0).abs() < 2e-3, "{x} {y}");
        close(step.coefficient.estimate, exact.coefficient.estimate);
        close(
            step.coefficient.standard_error,
            exact.coefficient.standard_error,
        );
        assert_eq!(step.share, exact.share);
        // Models without a rating are left out.
        let mut more = rows.clone();
        more.push(Comparison::new(7, 0, 1.0).with_count(500));
        let others = Sides::of(more[rows.len()..].iter().copied());
        let all = Sides::of(more);
        assert_eq!(side_bias_of_fit(fitted, &all, 0.95).unwrap(), step);
        assert_eq!(
            side_bias_of_fit(fitted, &others, 0.95),
            Err(Error::NoBattles)
        );
    }

    #[test]
    fn sides_are_the_same_however_they_came() {
        let draw = |n: u32| {
            let (a, b) = (n * 7 % 5, (n * 7 + 1 + n % 3) % 5);
            let outcome = [1.0, 0.0, 0.5, 0.25][n as usize % 4];
            Comparison::new(a, b, outcome).with_count(1 + u64::from(n % 2))
        };
        let rows: Vec<Comparison> = (0..60).map(draw).collect();
        let at_once = Sides::of(rows.iter().copied());
        let mut one_by_one = Sides::default();
        for row in rows.iter().rev() {
            one_by_one.add(row);
        }
        assert_eq!(one_by_one, at_once);
        // Among many models pairs are sorted instead of looked up.
        let far = |row: &Comparison| Comparison {
            a: row.a * 1_000,
            b: row.b * 1_000,
            ..*row
        };
        let sorted = Sides::of(rows.iter().map(far));
        assert_eq!(
            (&sorted.sums, sorted.pairs.len()),
            (&at_once.sums, at_once.pairs.len())
        );
        // Weights that are all the same change neither the estimate nor its error.
        let double = |row: &Comparison| row.with_weight(2.0);
        let weighted = Sides::of(rows.iter().map(double));
        let mut later = Sides::default();
        for row in &rows {
            later.add(&double(row));
        }
        assert_eq!(later, weighted);
        let board = leaderboard(
            &Comparisons::new(5, rows.iter().copied()).unwrap(),
            &LeaderboardOptions::default(),
        )
        .unwrap();
        let fitted = board.main().fitted.as_ref().unwrap();
        let (once, twice) = (
            side_bias_of_fit(fitted, &at_once, 0.95).unwrap(),
            side_bias_of_fit(fitted, &weighted, 0.95).unwrap(),
        );
        let close = |x: f64, y: f64| assert!((x - y).abs() < 1e-12, "{x} {y}");
        close(once.coefficient.estimate, twice.coefficient.estimate);
        close(
            once.coefficient.standard_error,
            twice.coefficient.standard_error,
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(3),
            Comparison::new(0, 1, 0.0),
        ];
        assert_eq!(
            side_bias(2, &rows, None, 0.95),
            Err(Error::CollinearFeature { feature: 0 })
        );
        let board = leaderboard(
            &Comparisons::new(2, rows).unwrap(),
            &LeaderboardOptions::default(),
        )
        .unwrap();
        assert_eq!(
            side_bias_of_fit(
                board.main().fitted.as_ref().unwrap(),
                &Sides::of(rows),
                0.95
            ),
            Err(Error::CollinearFeature { feature: 0 })
        );
        let one_way = [Comparison::new(0, 1, 1.0).with_count(3)];
        assert_eq!(
            side_bias(2, &one_way, None, 0.95),
            Err(Error::NotConnected {
                connected: 1,
                strong: 2
            })
        );
    }
}
