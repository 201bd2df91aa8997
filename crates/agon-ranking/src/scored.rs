//! Scores of their own for both sides, for methods in which a battle need not have a winner: both can lose.
//!
//! Not for the fit: in the Bradley-Terry model what one side wins the other loses.

use crate::Error;
use crate::comparisons::{Comparison, check};
use crate::elo::EloOptions;

/// One or more equal battles with a score for each side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Index of the first model (side A).
    pub a: u32,
    /// Index of the second model (side B).
    pub b: u32,
    /// Score of `a`, from 0 to 1.
    pub score_a: f64,
    /// Score of `b`, from 0 to 1; the two need not sum to 1.
    pub score_b: f64,
    /// How many battles these are, 1 or more.
    pub count: u64,
}

/// Online Elo as [`elo::online`](crate::elo::online), each side by its own score: R ← R + K (score − E).
///
/// Where both lose, both ratings fall, so that the mean of all ratings does not stay where it was.
///
/// # Errors
///
/// As [`elo::online`](crate::elo::online).
///
/// # Examples
///
/// ```
/// use agon_ranking::{Scored, elo::EloOptions, online_scored};
///
/// let both_lost = Scored { a: 0, b: 1, score_a: 0.0, score_b: 0.0, count: 1 };
/// assert_eq!(online_scored(2, [both_lost], &EloOptions::default())?, [998.0, 998.0]);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn online_scored(
    n_models: usize,
    battles: impl IntoIterator<Item = Scored>,
    options: &EloOptions,
) -> Result<Vec<f64>, Error> {
    options.check()?;
    let mut ratings = vec![options.initial; n_models];
    for (row, battle) in battles.into_iter().enumerate() {
        check_scored(row, &battle, n_models)?;
        let (a, b) = (battle.a as usize, battle.b as usize);
        for _ in 0..battle.count {
            let expected =
                1.0 / (1.0 + options.base.powf((ratings[b] - ratings[a]) / options.scale));
            ratings[a] += options.k * (battle.score_a - expected);
            ratings[b] += options.k * (battle.score_b - (1.0 - expected));
        }
    }
    Ok(ratings)
}

/// Mean over the opponents a model met of its mean score against each, as
/// [`average_win_rates`](crate::average_win_rates); `None` for a model without battles.
///
/// # Errors
///
/// As [`Comparisons::new`](crate::Comparisons::new) for each row.
///
/// # Examples
///
/// ```
/// use agon_ranking::{Scored, average_scores};
///
/// let won = Scored { a: 0, b: 1, score_a: 1.0, score_b: 0.0, count: 1 };
/// let both_lost = Scored { score_a: 0.0, ..won };
/// assert_eq!(average_scores(2, [won, both_lost])?, [Some(0.5), Some(0.0)]);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn average_scores(
    n_models: usize,
    battles: impl IntoIterator<Item = Scored>,
) -> Result<Vec<Option<f64>>, Error> {
    let mut pairs = std::collections::BTreeMap::new();
    for (row, battle) in battles.into_iter().enumerate() {
        check_scored(row, &battle, n_models)?;
        let count = battle.count as f64;
        for (model, other, score) in [
            (battle.a, battle.b, battle.score_a),
            (battle.b, battle.a, battle.score_b),
        ] {
            let (sum, battles) = pairs.entry((model, other)).or_insert((0.0, 0.0));
            *sum += score * count;
            *battles += count;
        }
    }
    let mut sums = vec![(0.0, 0_u32); n_models];
    for (&(model, _), &(score, battles)) in &pairs {
        let (sum, opponents) = &mut sums[model as usize];
        *sum += score / battles;
        *opponents += 1;
    }
    let mean = |(sum, opponents): (f64, u32)| (opponents > 0).then(|| sum / f64::from(opponents));
    Ok(sums.into_iter().map(mean).collect())
}

fn check_scored(row: usize, battle: &Scored, n_models: usize) -> Result<(), Error> {
    for score in [battle.score_a, battle.score_b] {
        let side = Comparison::new(battle.a, battle.b, score).with_count(battle.count);
        check(row, &side, n_models)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Comparisons, average_win_rates, elo};

    #[test]
    fn scores_that_sum_to_one_are_the_usual_ones() {
        let outcomes = [(0, 1, 1.0), (1, 2, 0.5), (2, 0, 0.0), (0, 1, 0.0)];
        let scored = outcomes.map(|(a, b, score)| Scored {
            a,
            b,
            score_a: score,
            score_b: 1.0 - score,
            count: 3,
        });
        let rows = outcomes.map(|(a, b, score)| Comparison::new(a, b, score).with_count(3));
        let options = EloOptions::default();
        let found = online_scored(3, scored, &options).unwrap();
        let expected = elo::online(3, rows, &options).unwrap();
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9);
        }
        let comparisons = Comparisons::new(3, rows).unwrap();
        let found = average_scores(3, scored).unwrap();
        for (found, expected) in found.iter().zip(average_win_rates(&comparisons)) {
            assert!((found.unwrap() - expected.unwrap()).abs() < 1e-12);
        }
    }

    #[test]
    fn rows_are_checked() {
        let battle = Scored {
            a: 0,
            b: 1,
            score_a: 0.0,
            score_b: 0.0,
            count: 1,
        };
        for wrong in [
            Scored { b: 0, ..battle },
            Scored { b: 2, ..battle },
            Scored {
                score_b: 2.0,
                ..battle
            },
            Scored { count: 0, ..battle },
        ] {
            assert!(average_scores(2, [wrong]).is_err());
            assert!(online_scored(2, [wrong], &EloOptions::default()).is_err());
        }
    }
}
