//! Whether side A is favoured: the order effect of the fit, with its interval.

use crate::bradley_terry::sigmoid;
use crate::comparisons::{Columns, Comparison, Comparisons};
use crate::components::Components;
use crate::interval::CovarianceMethod;
use crate::leaderboard::{LeaderboardOptions, leaderboard};
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
    Ok(SideBias {
        coefficient,
        score: sigmoid(coefficient.estimate),
        score_lower: sigmoid(coefficient.lower),
        score_upper: sigmoid(coefficient.upper),
        share: points / mass,
    })
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
    fn what_cannot_be_told_apart_is_refused() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(3),
            Comparison::new(0, 1, 0.0),
        ];
        assert_eq!(
            side_bias(2, &rows, None, 0.95),
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
