//! Whether side A is favoured: the order effect of the fit, with its interval.

use crate::bradley_terry::sigmoid;
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
    Ok(SideBias::new(coefficient, rows.iter()))
}

/// Estimates the advantage of side A from a fit that does not know it, by one Newton step instead of a fit.
///
/// With x̃ = 1 − zᵀ H⁻¹ Σ w p(1 − p) z, the part of the constant that strengths do not explain, and z = eₐ − e_b, the
/// estimate is Σ w x̃ (y − p) / Σ w p(1 − p) x̃², and its error comes from Σ w² x̃² (y − p)²: the efficient score test of
/// no bias in its robust form (Rao 1948; Boos 1992, American Statistician 46). It costs one pass over the rows.
/// Where there is no bias it agrees with [`side_bias`]; a large one comes out too small, but not its sign or certainty.
///
/// Rows with a model that is not in the fit are left out.
///
/// # Errors
///
/// [`Error::Length`] for a fit with features, which the rows do not have; [`Error::NoBattles`] when no row is left;
/// [`Error::CollinearFeature`] when sides and models cannot be told apart; [`Error::Singular`]; [`Error::Option`].
///
/// # Examples
///
/// Side A wins 22 of 40 battles in both orders: the log-odds of 22 to 18 are 0.2007, one step gives 0.2.
///
/// ```
/// use agon_ranking::influence::side_bias_of_fit;
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
/// let bias = side_bias_of_fit(fitted, &rows, 0.95)?;
/// assert!((bias.coefficient.estimate - 0.2).abs() < 1e-9);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn side_bias_of_fit(
    fitted: &Fitted,
    rows: &[Comparison],
    level: f64,
) -> Result<SideBias, Error> {
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
    let mut position = vec![None; highest];
    for (local, &model) in fitted.models.iter().enumerate() {
        position[model] = Some(local);
    }
    let local = |model: u32| position.get(model as usize).copied().flatten();
    // Rows of one pair mostly follow each other, and share what is expected of them.
    let inside: Vec<Run<'_>> = rows
        .chunk_by(|x, y| (x.a, x.b) == (y.a, y.b))
        .filter_map(|rows| {
            let (a, b) = (local(rows[0].a)?, local(rows[0].b)?);
            let mass = rows.iter().map(|row| row.weight * row.count as f64).sum();
            let p = sigmoid(fit.strengths[a] - fit.strengths[b]);
            Some(Run {
                a,
                b,
                rows,
                mass,
                p,
            })
        })
        .collect();
    if inside.is_empty() {
        return Err(Error::NoBattles);
    }

    let mut explained = vec![0.0; n_models];
    let mut unexplained = 0.0;
    for run in &inside {
        let information = run.mass * run.p * (1.0 - run.p);
        explained[run.a] += information;
        explained[run.b] -= information;
        unexplained += information;
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
    for run in &inside {
        let rest = 1.0 - (explained[run.a] - explained[run.b]);
        information += run.mass * run.p * (1.0 - run.p) * rest * rest;
        for row in run.rows {
            let (mass, residual) = (row.weight * row.count as f64, row.outcome - run.p);
            score += mass * rest * residual;
            meat += mass * row.weight * (residual * rest).powi(2);
        }
    }
    if information <= COLLINEAR * unexplained {
        return Err(Error::CollinearFeature { feature: 0 });
    }
    let (estimate, standard_error) = (score / information, meat.sqrt() / information);
    let coefficient = Coefficient {
        feature: 0,
        estimate,
        standard_error,
        lower: estimate - critical * standard_error,
        upper: estimate + critical * standard_error,
    };
    Ok(SideBias::new(
        coefficient,
        inside.iter().flat_map(|run| run.rows),
    ))
}

/// Rows of the same models on the same sides.
struct Run<'a> {
    a: usize,
    b: usize,
    rows: &'a [Comparison],
    mass: f64,
    /// Expected score of side A.
    p: f64,
}

/// What is left of the information about the bias, once strengths have explained theirs, is rounding below this share.
const COLLINEAR: f64 = 1e-10;

impl SideBias {
    fn new<'a>(coefficient: Coefficient, rows: impl Iterator<Item = &'a Comparison>) -> Self {
        let (mut points, mut mass) = (0.0, 0.0);
        for row in rows {
            let weight = row.weight * row.count as f64;
            points += weight * row.outcome;
            mass += weight;
        }
        Self {
            coefficient,
            score: sigmoid(coefficient.estimate),
            score_lower: sigmoid(coefficient.lower),
            score_upper: sigmoid(coefficient.upper),
            share: points / mass,
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
        let step = side_bias_of_fit(fitted, &rows, 0.95).unwrap();
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
        assert_eq!(side_bias_of_fit(fitted, &more, 0.95).unwrap(), step);
        assert_eq!(
            side_bias_of_fit(fitted, &more[rows.len()..], 0.95),
            Err(Error::NoBattles)
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
            side_bias_of_fit(board.main().fitted.as_ref().unwrap(), &rows, 0.95),
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
