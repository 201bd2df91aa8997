//! Two boards against each other: moves, differences, rank correlation, and agreement as benchmark papers define it.

use std::cmp::Ordering;

use crate::Error;
use crate::interval::critical_value;
use crate::leaderboard::{Entry, Interval};

/// A model on a board, as far as a comparison of boards needs it.
///
/// The number of a model must mean the same model on both boards: the caller, who knows names, sees to that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedModel {
    /// The model, numbered alike for both boards.
    pub model: usize,
    /// Rating in points.
    pub rating: f64,
    /// Interval of the rating, where there is one.
    pub interval: Option<Interval>,
    /// Published place; `None` for a provisional model.
    pub rank: Option<usize>,
}

impl From<&Entry> for PlacedModel {
    fn from(entry: &Entry) -> Self {
        Self {
            model: entry.model,
            rating: entry.rating,
            interval: entry.interval,
            rank: entry.rank.map(|rank| rank.rank),
        }
    }
}

/// How two boards differ.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardComparison {
    /// Models on both boards, in the order of the later one.
    pub moves: Vec<Move>,
    /// Models on the earlier board only, ascending.
    pub only_before: Vec<usize>,
    /// Models on the later board only, ascending.
    pub only_after: Vec<usize>,
    /// Mean of the rating differences of the shared models. Far from 0 when the boards are anchored differently:
    /// differences then say little, correlations and agreement stay valid.
    pub mean_difference: f64,
    /// Kendall's τ-b of the shared models' ratings; `None` for fewer than two, or when a board has one rating only.
    pub kendall: Option<f64>,
    /// Spearman's ρ of the shared models' ratings; `None` alike.
    pub spearman: Option<f64>,
    /// Pearson's r of the shared models' ratings; `None` alike.
    pub pearson: Option<f64>,
    /// Share of the pairs of shared models that the earlier board tells apart; see [`separability`].
    pub separability_before: Option<f64>,
    /// The same of the later board.
    pub separability_after: Option<f64>,
    /// Agreement with confidence of the two boards, from −1 to 1; see [`confidence_agreement`].
    pub confidence_agreement: Option<f64>,
}

/// How one model moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The model.
    pub model: usize,
    /// Its place on the earlier board.
    pub rank_before: Option<usize>,
    /// Its place on the later board.
    pub rank_after: Option<usize>,
    /// Places gained: positive when the later place is better.
    pub places_gained: Option<i64>,
    /// Rating now minus rating before.
    pub difference: f64,
    /// Interval of the difference, the two boards being independent: √(s₁² + s₂²) standard errors.
    ///
    /// Boards that share votes are not independent; for those it is usually too wide.
    pub interval: Option<Interval>,
}

/// Compares two boards with the same scale and anchor.
///
/// # Errors
///
/// [`Error::Option`] for a level outside 0 to 1 or a rating that is not finite,
/// [`Error::RepeatedModel`] for a model that is twice on a board.
///
/// # Examples
///
/// ```
/// use agon_ranking::compare::{PlacedModel, compare_boards};
///
/// let placed = |model, rating, rank| PlacedModel { model, rating, interval: None, rank: Some(rank) };
/// let before = [placed(0, 1100.0, 1), placed(1, 1000.0, 2), placed(2, 900.0, 3)];
/// let after = [placed(0, 1080.0, 1), placed(2, 1020.0, 2), placed(1, 990.0, 3)];
/// let comparison = compare_boards(&before, &after, 0.95)?;
/// assert_eq!(comparison.moves[1].places_gained, Some(1));
/// assert!((comparison.spearman.unwrap_or_default() - 0.5).abs() < 1e-12);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn compare_boards(
    before: &[PlacedModel],
    after: &[PlacedModel],
    level: f64,
) -> Result<BoardComparison, Error> {
    let critical = critical_value(level)?;
    let before_by_model = sorted(before)?;
    let after_by_model = sorted(after)?;
    let find = |board: &[PlacedModel], model: usize| {
        let idx = board
            .binary_search_by_key(&model, |placed| placed.model)
            .ok()?;
        Some(board[idx])
    };
    let missing = |from: &[PlacedModel], other: &[PlacedModel]| -> Vec<usize> {
        let models = from.iter().map(|placed| placed.model);
        models
            .filter(|&model| find(other, model).is_none())
            .collect()
    };
    let pairs: Vec<(PlacedModel, PlacedModel)> = after
        .iter()
        .filter_map(|now| Some((find(&before_by_model, now.model)?, *now)))
        .collect();
    let moves: Vec<Move> = pairs
        .iter()
        .map(|(then, now)| {
            let difference = now.rating - then.rating;
            let interval = then.interval.zip(now.interval).map(|(then, now)| {
                let standard_error = then.standard_error.hypot(now.standard_error);
                Interval {
                    lower: difference - critical * standard_error,
                    upper: difference + critical * standard_error,
                    standard_error,
                }
            });
            let places_gained = then
                .rank
                .zip(now.rank)
                .map(|(then, now)| then as i64 - now as i64);
            Move {
                model: now.model,
                rank_before: then.rank,
                rank_after: now.rank,
                places_gained,
                difference,
                interval,
            }
        })
        .collect();
    let (shared_before, shared_after): (Vec<PlacedModel>, Vec<PlacedModel>) =
        pairs.into_iter().unzip();
    let ratings =
        |board: &[PlacedModel]| -> Vec<f64> { board.iter().map(|placed| placed.rating).collect() };
    let (x, y) = (ratings(&shared_before), ratings(&shared_after));
    let sum: f64 = moves.iter().map(|moved| moved.difference).sum();
    let mean_difference = if moves.is_empty() {
        0.0
    } else {
        sum / moves.len() as f64
    };
    let bounds = |board: &[PlacedModel]| -> Vec<Option<(f64, f64)>> {
        let intervals = board.iter().map(|placed| placed.interval);
        intervals
            .map(|interval| interval.map(|interval| (interval.lower, interval.upper)))
            .collect()
    };
    let (bounds_before, bounds_after) = (bounds(&shared_before), bounds(&shared_after));
    // The lengths agree, so that an error means too few or constant ratings: the statistic does not exist.
    Ok(BoardComparison {
        moves,
        only_before: missing(&before_by_model, &after_by_model),
        only_after: missing(&after_by_model, &before_by_model),
        mean_difference,
        kendall: kendall_tau_b(&x, &y).ok(),
        spearman: spearman_rho(&x, &y).ok(),
        pearson: pearson_r(&x, &y).ok(),
        separability_before: separability(&bounds_before),
        separability_after: separability(&bounds_after),
        confidence_agreement: confidence_agreement(&bounds_before, &bounds_after)?,
    })
}

fn sorted(board: &[PlacedModel]) -> Result<Vec<PlacedModel>, Error> {
    check_finite(board.iter().map(|placed| placed.rating))?;
    let mut board = board.to_vec();
    board.sort_by_key(|placed| placed.model);
    match board.windows(2).find(|pair| pair[0].model == pair[1].model) {
        Some(pair) => Err(Error::RepeatedModel {
            model: pair[0].model,
        }),
        None => Ok(board),
    }
}

/// Separability with confidence: the share of pairs of models whose intervals do not overlap
/// (Arena-Hard, Li et al. 2024, arXiv 2406.11939, §3).
///
/// A model without an interval is told apart from nobody. `None` for fewer than two models.
pub fn separability(intervals: &[Option<(f64, f64)>]) -> Option<f64> {
    let mut separated = 0_u64;
    for (idx, x) in intervals.iter().enumerate() {
        for y in &intervals[idx + 1..] {
            separated += u64::from(order(*x, *y) != Ordering::Equal);
        }
    }
    let pairs = n_pairs(intervals.len());
    (pairs > 0).then(|| separated as f64 / pairs as f64)
}

/// Agreement with confidence (Arena-Hard, Li et al. 2024, arXiv 2406.11939, §3): the mean over pairs of models of
/// 1 where both boards tell the two apart and agree, −1 where both tell them apart and disagree, 0 otherwise.
///
/// The lists hold the same models in the same order. `None` for fewer than two models.
///
/// # Errors
///
/// [`Error::Length`] when the lists differ in length.
///
/// # Examples
///
/// ```
/// use agon_ranking::compare::confidence_agreement;
///
/// let board = [Some((0.0, 1.0)), Some((2.0, 3.0)), Some((2.5, 4.0))];
/// // Pairs 0–1 and 0–2 are told apart and agree, 1–2 is not.
/// assert_eq!(confidence_agreement(&board, &board)?, Some(2.0 / 3.0));
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn confidence_agreement(
    before: &[Option<(f64, f64)>],
    after: &[Option<(f64, f64)>],
) -> Result<Option<f64>, Error> {
    check_length(before.len(), after.len())?;
    let mut sum = 0_i64;
    for i in 0..before.len() {
        for j in i + 1..before.len() {
            let (x, y) = (order(before[i], before[j]), order(after[i], after[j]));
            if x != Ordering::Equal && y != Ordering::Equal {
                sum += if x == y { 1 } else { -1 };
            }
        }
    }
    let pairs = n_pairs(before.len());
    Ok((pairs > 0).then(|| sum as f64 / pairs as f64))
}

/// Which interval lies wholly below the other; equal when they overlap, touch or one is unknown.
fn order(x: Option<(f64, f64)>, y: Option<(f64, f64)>) -> Ordering {
    match (x, y) {
        (Some((_, upper)), Some((lower, _))) if upper < lower => Ordering::Less,
        (Some((lower, _)), Some((_, upper))) if lower > upper => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

fn n_pairs(n: usize) -> u64 {
    let n = n as u64;
    n * n.saturating_sub(1) / 2
}

/// Kendall's τ-b: (concordant − discordant) / √((pairs untied in x) (pairs untied in y)) (Kendall 1945).
///
/// # Errors
///
/// [`Error::Length`] when the lists differ in length, [`Error::NoVariation`] for fewer than two values or a constant list,
/// [`Error::Option`] for a value that is not finite.
///
/// # Examples
///
/// ```
/// use agon_ranking::compare::kendall_tau_b;
///
/// // One of three pairs is turned round.
/// assert!((kendall_tau_b(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0])? - 1.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn kendall_tau_b(x: &[f64], y: &[f64]) -> Result<f64, Error> {
    check_columns(x, y)?;
    let (mut balance, mut untied_x, mut untied_y) = (0_i64, 0_u64, 0_u64);
    for i in 0..x.len() {
        for j in i + 1..x.len() {
            let sign = |values: &[f64]| match values[i].partial_cmp(&values[j]) {
                Some(Ordering::Less) => -1,
                Some(Ordering::Greater) => 1,
                _ => 0,
            };
            let (sx, sy): (i64, i64) = (sign(x), sign(y));
            balance += sx * sy;
            untied_x += sx.unsigned_abs();
            untied_y += sy.unsigned_abs();
        }
    }
    if untied_x == 0 || untied_y == 0 {
        return Err(Error::NoVariation);
    }
    Ok(balance as f64 / ((untied_x as f64).sqrt() * (untied_y as f64).sqrt()))
}

/// Spearman's ρ: Pearson's correlation of ranks, tied values having their mean rank (Spearman 1904).
///
/// # Errors
///
/// As [`kendall_tau_b`].
pub fn spearman_rho(x: &[f64], y: &[f64]) -> Result<f64, Error> {
    check_columns(x, y)?;
    pearson_r(&mean_ranks(x), &mean_ranks(y))
}

/// Pearson's correlation r.
///
/// # Errors
///
/// As [`kendall_tau_b`].
pub fn pearson_r(x: &[f64], y: &[f64]) -> Result<f64, Error> {
    check_columns(x, y)?;
    let n = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    if !(xx > 0.0 && yy > 0.0) {
        return Err(Error::NoVariation);
    }
    // Rounding may step over the ends.
    Ok((xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0))
}

/// Correlation of the win rates that two boards give the same models; models without a rate on either are left out.
///
/// # Errors
///
/// As [`kendall_tau_b`].
///
/// # Examples
///
/// ```
/// use agon_ranking::compare::win_rate_correlation;
///
/// let r = win_rate_correlation(&[Some(0.2), Some(0.5), None, Some(0.8)], &[Some(0.3), Some(0.5), Some(0.9), Some(0.7)])?;
/// assert!((r - 1.0).abs() < 1e-12);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn win_rate_correlation(before: &[Option<f64>], after: &[Option<f64>]) -> Result<f64, Error> {
    check_length(before.len(), after.len())?;
    let (x, y): (Vec<f64>, Vec<f64>) = before
        .iter()
        .zip(after)
        .filter_map(|(before, after)| before.zip(*after))
        .unzip();
    pearson_r(&x, &y)
}

/// Ranks from 1, equal values sharing the mean of theirs.
fn mean_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&x, &y| values[x].total_cmp(&values[y]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    // Compared as numbers, since 0 and −0 are equal.
    for run in order.chunk_by(|&x, &y| values[x] == values[y]) {
        let rank = start as f64 + (run.len() as f64 + 1.0) / 2.0;
        for &idx in run {
            ranks[idx] = rank;
        }
        start += run.len();
    }
    ranks
}

fn check_columns(x: &[f64], y: &[f64]) -> Result<(), Error> {
    check_length(x.len(), y.len())?;
    check_finite(x.iter().chain(y).copied())?;
    if x.len() < 2 {
        return Err(Error::NoVariation);
    }
    Ok(())
}

fn check_length(expected: usize, found: usize) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::Length { found, expected })
    }
}

fn check_finite(mut values: impl Iterator<Item = f64>) -> Result<(), Error> {
    match values.find(|value| !value.is_finite()) {
        None => Ok(()),
        Some(value) => Err(Error::Option {
            option: "rating",
            value,
            expected: "a finite number",
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "found {found}, expected {expected}"
        );
    }

    #[test]
    fn correlations_have_their_published_values() {
        // The examples of SciPy's documentation for `kendalltau` (τ-b) and `spearmanr`.
        let x = [12.0, 2.0, 1.0, 12.0, 2.0];
        let y = [1.0, 4.0, 7.0, 1.0, 0.0];
        close(kendall_tau_b(&x, &y).unwrap(), -0.471_404_520_791_031_73);
        let x = [1.0, 2.0, 3.0, 4.0, 5.0];
        let y = [5.0, 6.0, 7.0, 8.0, 7.0];
        close(spearman_rho(&x, &y).unwrap(), 0.820_782_681_668_123_3);
        // Without ties ρ = 1 − 6 Σ d² / (n (n² − 1)).
        let y = [2.0, 1.0, 4.0, 3.0, 5.0];
        close(spearman_rho(&x, &y).unwrap(), 1.0 - 6.0 * 4.0 / 120.0);
        close(kendall_tau_b(&x, &y).unwrap(), 0.6);
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        for correlation in [kendall_tau_b, spearman_rho, pearson_r] {
            assert_eq!(correlation(&[], &[]), Err(Error::NoVariation));
            assert_eq!(correlation(&[1.0], &[2.0]), Err(Error::NoVariation));
            assert_eq!(
                correlation(&[1.0, 1.0], &[1.0, 2.0]),
                Err(Error::NoVariation)
            );
            assert_eq!(
                correlation(&[1.0, 2.0], &[1.0]),
                Err(Error::Length {
                    found: 1,
                    expected: 2
                })
            );
            assert!(matches!(
                correlation(&[1.0, f64::NAN], &[1.0, 2.0]),
                Err(Error::Option { .. })
            ));
        }
        assert_eq!(separability(&[None]), None);
        assert_eq!(confidence_agreement(&[], &[]), Ok(None));
        assert!(confidence_agreement(&[None], &[]).is_err());
        assert_eq!(
            win_rate_correlation(&[None, Some(0.5)], &[Some(0.1), Some(0.2)]),
            Err(Error::NoVariation)
        );
    }

    fn placed(model: usize, rating: f64, error: f64, rank: usize) -> PlacedModel {
        let half = 1.96 * error;
        PlacedModel {
            model,
            rating,
            interval: Some(Interval {
                lower: rating - half,
                upper: rating + half,
                standard_error: error,
            }),
            rank: Some(rank),
        }
    }

    #[test]
    fn boards_are_compared_model_by_model() {
        let before = [
            placed(0, 1100.0, 3.0, 1),
            placed(1, 1000.0, 4.0, 2),
            placed(2, 990.0, 4.0, 2),
            placed(5, 900.0, 4.0, 4),
        ];
        let after = [
            placed(2, 1050.0, 4.0, 1),
            placed(0, 1010.0, 3.0, 2),
            placed(7, 1005.0, 3.0, 2),
            placed(1, 1000.0, 3.0, 4),
        ];
        let found = compare_boards(&before, &after, 0.95).unwrap();
        assert_eq!((found.only_before, found.only_after), (vec![5], vec![7]));
        let models: Vec<usize> = found.moves.iter().map(|moved| moved.model).collect();
        assert_eq!(models, [2, 0, 1]);
        let gained: Vec<i64> = found
            .moves
            .iter()
            .map(|moved| moved.places_gained.unwrap())
            .collect();
        assert_eq!(gained, [1, -1, -2]);
        assert_eq!(found.moves[2].difference, 0.0);
        let interval = found.moves[2].interval.unwrap();
        close(interval.standard_error, 5.0);
        assert!((interval.upper - 5.0 * 1.959_963_984_540_054).abs() < 1e-9);
        close(found.mean_difference, -10.0);
        // Before 0 > 1 > 2, after 2 > 0 > 1: one of three pairs agrees.
        close(found.kendall.unwrap(), -1.0 / 3.0);
        close(found.spearman.unwrap(), -0.5);
        // Before: 0 apart from both. After: 2 apart from both. Both told 0 and 2 apart, and disagree.
        close(found.separability_before.unwrap(), 2.0 / 3.0);
        close(found.separability_after.unwrap(), 2.0 / 3.0);
        close(found.confidence_agreement.unwrap(), -1.0 / 3.0);
    }

    #[test]
    fn boards_without_a_common_model_have_nothing_to_compare() {
        let found =
            compare_boards(&[placed(0, 1.0, 1.0, 1)], &[placed(1, 2.0, 1.0, 1)], 0.95).unwrap();
        assert!(found.moves.is_empty() && found.mean_difference == 0.0);
        assert_eq!((found.kendall, found.confidence_agreement), (None, None));
        let twice = [placed(3, 1.0, 1.0, 1), placed(3, 1.0, 1.0, 1)];
        assert_eq!(
            compare_boards(&twice, &[], 0.95),
            Err(Error::RepeatedModel { model: 3 })
        );
        assert!(compare_boards(&[], &[placed(0, f64::NAN, 1.0, 1)], 0.95).is_err());
        assert!(compare_boards(&[], &[], 1.0).is_err());
    }

    #[test]
    fn provisional_models_have_no_place_to_move_from() {
        let provisional = PlacedModel {
            interval: None,
            rank: None,
            ..placed(0, 990.0, 1.0, 1)
        };
        let found = compare_boards(&[provisional], &[placed(0, 1000.0, 1.0, 1)], 0.95).unwrap();
        assert_eq!(found.moves[0].places_gained, None);
        assert_eq!(found.moves[0].interval, None);
        assert_eq!(found.moves[0].difference, 10.0);
    }

    proptest! {
        #[test]
        fn correlations_are_symmetric_bounded_and_only_ranks_matter(
            pairs in prop::collection::vec((0_i32..6, 0_i32..6), 2..20),
        ) {
            let (x, y): (Vec<f64>, Vec<f64>) =
                pairs.iter().map(|&(x, y)| (f64::from(x), f64::from(y))).unzip();
            let raised: Vec<f64> = x.iter().map(|x| x.exp()).collect();
            let negated: Vec<f64> = x.iter().map(|x| -x).collect();
            for correlation in [kendall_tau_b, spearman_rho] {
                match correlation(&x, &y) {
                    Err(error) => prop_assert_eq!(error, Error::NoVariation),
                    Ok(value) => {
                        prop_assert!((-1.0 - 1e-12..=1.0 + 1e-12).contains(&value));
                        prop_assert!((correlation(&y, &x).unwrap() - value).abs() < 1e-12);
                        prop_assert!((correlation(&raised, &y).unwrap() - value).abs() < 1e-12);
                        prop_assert!((correlation(&negated, &y).unwrap() + value).abs() < 1e-12);
                        prop_assert!((correlation(&x, &x).unwrap() - 1.0).abs() < 1e-12);
                    }
                }
            }
        }

        #[test]
        fn a_board_agrees_with_itself_as_far_as_it_separates(
            ends in prop::collection::vec((-9.0..9.0_f64, 0.0..4.0_f64, any::<bool>()), 2..12),
        ) {
            let board: Vec<Option<(f64, f64)>> = ends
                .iter()
                .map(|&(lower, width, known)| known.then_some((lower, lower + width)))
                .collect();
            prop_assert_eq!(confidence_agreement(&board, &board).unwrap(), separability(&board));
            let mirrored: Vec<Option<(f64, f64)>> =
                board.iter().map(|bounds| bounds.map(|(lower, upper)| (-upper, -lower))).collect();
            let agreement = confidence_agreement(&board, &mirrored).unwrap().unwrap();
            prop_assert!((agreement + separability(&board).unwrap()).abs() < 1e-12);
        }
    }
}
