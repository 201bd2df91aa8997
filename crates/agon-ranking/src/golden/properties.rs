//! What holds for all comparisons: order, names, sides and units do not matter.

use proptest::prelude::*;

use super::entry;
use crate::{Columns, Comparison, Comparisons, Leaderboard, LeaderboardOptions, leaderboard};

/// Battles of up to eight models; many are only partly tied together.
fn battles() -> impl Strategy<Value = Vec<Comparison>> {
    let outcome = prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.0..=1.0_f64];
    let battle = (0_u32..8, 0_u32..7, outcome, 1_u64..5, 0.25..4.0_f64).prop_map(
        |(a, b, outcome, count, weight)| {
            // The second model skips the first one's index, so that the two differ.
            let b = if b < a { b } else { b + 1 };
            Comparison::new(a, b, outcome)
                .with_count(count)
                .with_weight(weight)
        },
    );
    prop::collection::vec(battle, 1..60)
}

fn swapped(row: Comparison) -> Comparison {
    Comparison {
        a: row.b,
        b: row.a,
        outcome: 1.0 - row.outcome,
        ..row
    }
}

fn board(rows: &[Comparison]) -> Leaderboard {
    leaderboard(
        &Comparisons::new(8, rows.iter().copied()).unwrap(),
        &LeaderboardOptions::default(),
    )
    .unwrap()
}

/// The same boards up to rounding, `scale` being the factor between the errors of the two.
fn same_up_to_rounding(
    x: &Leaderboard,
    y: &Leaderboard,
    scale: f64,
    rename: impl Fn(usize) -> usize,
) -> bool {
    x.boards.iter().flat_map(|board| &board.entries).all(|x| {
        let y = entry(y, rename(x.model));
        let near = |x: f64, y: f64| {
            (x - y).abs() <= 1e-6 * f64::max(1.0, f64::max(x.abs(), y.abs()) / 1e3)
        };
        let errors = match (x.interval, y.interval) {
            (None, None) => true,
            (Some(x), Some(y)) => near(x.standard_error, scale * y.standard_error),
            _ => false,
        };
        near(x.rating, y.rating) && errors && x.status == y.status && x.record == y.record
    })
}

proptest! {
    #[test]
    fn neither_the_order_of_rows_nor_the_sides_change_a_bit(
        (rows, shuffled) in battles().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        sides in prop::collection::vec(any::<bool>(), 60),
    ) {
        let turned: Vec<Comparison> =
            shuffled.iter().zip(sides).map(|(&row, swap)| if swap { swapped(row) } else { row }).collect();
        prop_assert_eq!(board(&rows), board(&turned));
    }

    #[test]
    fn features_turn_with_the_sides(rows in battles(), values in prop::collection::vec(-2.0..2.0_f64, 120)) {
        let features = &values[..2 * rows.len()];
        let negated: Vec<f64> = features.iter().map(|value| -value).collect();
        let turned: Vec<Comparison> = rows.iter().map(|&row| swapped(row)).collect();
        let of = |rows: &[Comparison], features: &[f64]| {
            let columns = Columns { n_features: 2, features, clusters: None };
            let comparisons = Comparisons::with_columns(8, rows, columns).unwrap();
            leaderboard(&comparisons, &LeaderboardOptions::default())
        };
        prop_assert_eq!(of(&rows, features), of(&turned, &negated));
    }

    #[test]
    fn names_do_not_matter(rows in battles(), names in Just((0_usize..8).collect::<Vec<_>>()).prop_shuffle()) {
        let renamed: Vec<Comparison> = rows
            .iter()
            .map(|row| Comparison { a: names[row.a as usize] as u32, b: names[row.b as usize] as u32, ..*row })
            .collect();
        let (before, after) = (board(&rows), board(&renamed));
        // Between parts of equal size the first model decides, and names may change which is first.
        let rated = |board: &Leaderboard, rename: &dyn Fn(usize) -> usize| {
            let mut rated: Vec<Vec<usize>> = board
                .boards
                .iter()
                .filter_map(|board| board.fitted.as_ref())
                .map(|fitted| {
                    let mut models: Vec<usize> = fitted.models.iter().map(|&model| rename(model)).collect();
                    models.sort_unstable();
                    models
                })
                .collect();
            rated.sort();
            rated
        };
        prop_assume!(rated(&before, &|model| names[model]) == rated(&after, &|model| model));
        prop_assert!(same_up_to_rounding(&before, &after, 1.0, |model| names[model]));
    }

    #[test]
    fn copies_of_rows_are_counts(rows in battles(), copies in 1_u64..4) {
        let repeated: Vec<Comparison> = (0..copies).flat_map(|_| rows.iter().copied()).collect();
        let counted: Vec<Comparison> = rows.iter().map(|row| row.with_count(row.count * copies)).collect();
        prop_assert_eq!(board(&repeated), board(&counted));
    }

    #[test]
    fn copies_shrink_errors_by_the_root_of_their_number(rows in battles()) {
        let twice: Vec<Comparison> = rows.iter().map(|row| row.with_count(row.count * 2)).collect();
        let (once, twice) = (board(&rows), board(&twice));
        // Only rated models: an estimate under a prior does move, and a single battle is no longer one.
        for x in once.boards.iter().flat_map(|board| &board.entries) {
            let y = entry(&twice, x.model);
            if x.rank.is_some() && y.rank.is_some() && once.boards.len() == twice.boards.len() {
                let parts = |board: &Leaderboard| {
                    board.boards.iter().map(|board| board.fitted.as_ref().map(|f| f.models.clone())).collect::<Vec<_>>()
                };
                prop_assume!(parts(&once) == parts(&twice));
                // Doubled, a model with one battle has two: it is rated, and moves the mean of the rated.
                let n_rated = |board: &Leaderboard| {
                    board.boards.iter().flat_map(|board| &board.entries).filter(|entry| entry.rank.is_some()).count()
                };
                prop_assume!(n_rated(&once) == n_rated(&twice));
                prop_assert!((x.rating - y.rating).abs() < 1e-6);
                if let (Some(x), Some(y)) = (x.interval, y.interval) {
                    prop_assert!((x.standard_error / y.standard_error - 2.0_f64.sqrt()).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn a_common_factor_of_all_weights_changes_nothing(rows in battles(), factor in 1e-3..1e3_f64) {
        let scaled: Vec<Comparison> = rows.iter().map(|row| row.with_weight(row.weight * factor)).collect();
        prop_assert!(same_up_to_rounding(&board(&rows), &board(&scaled), 1.0, |model| model));
    }

    #[test]
    fn outsiders_move_nobody(rows in battles(), wins in 1_u64..50) {
        // Model 8 beats everybody.
        let mut more = rows.clone();
        more.extend((0..8).map(|model| Comparison::new(8, model, 1.0).with_count(wins)));
        let before = board(&rows);
        let after =
            leaderboard(&Comparisons::new(9, more).unwrap(), &LeaderboardOptions::default()).unwrap();
        // Groups that had not met have joined; among equally large parts another one may now be rated.
        let rated = |board: &Leaderboard| board.main().fitted.as_ref().map(|fitted| fitted.models.clone());
        prop_assume!(rated(&before) == rated(&after));
        for x in before.main().entries.iter().filter(|entry| entry.rank.is_some()) {
            let y = entry(&after, x.model);
            prop_assert_eq!((x.rating, x.interval, x.rank), (y.rating, y.interval, y.rank));
        }
    }
}
