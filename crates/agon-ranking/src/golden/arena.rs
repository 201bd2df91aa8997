//! The reference arena's small sets: values where it is right, the right behaviour where it is not.

use super::{Battles, all_close, close, entry};
use crate::{
    Anchor, Comparisons, Error, LeaderboardOptions, ProvisionalReason, Status, UnratedReason, elo,
    leaderboard, ranks,
};

/// Set G1: 34 battles of three models in a fixed order, as (first, second, wins of first, wins of second, ties).
pub(super) fn g1() -> Battles {
    let mut battles = Battles::default();
    for (first, second, wins, losses, ties) in [
        ("A", "B", 6, 3, 1),
        ("B", "A", 2, 0, 2),
        ("B", "C", 5, 4, 0),
        ("C", "A", 2, 7, 2),
    ] {
        battles.add(first, second, 1.0, wins);
        battles.add(first, second, 0.0, losses);
        battles.add(first, second, 0.5, ties);
    }
    battles
}

#[test]
fn g1_ratings_are_those_of_the_reference() {
    let board = leaderboard(&g1().comparisons(), &LeaderboardOptions::default()).unwrap();
    let ratings: Vec<f64> = (0..3).map(|model| entry(&board, model).rating).collect();
    all_close(&ratings, &[1060.6510, 1009.7088, 929.6402], 1e-3, "set G1");
    close(ratings.iter().sum::<f64>(), 3000.0, 1e-9, "mean");
}

#[test]
fn g1_ratings_relative_to_an_anchor_model_are_those_of_the_reference() {
    let options = LeaderboardOptions {
        anchor: Anchor::Model {
            model: 2,
            rating: 1114.0,
        },
        ..LeaderboardOptions::default()
    };
    let board = leaderboard(&g1().comparisons(), &options).unwrap();
    let ratings: Vec<f64> = (0..3).map(|model| entry(&board, model).rating).collect();
    all_close(
        &ratings,
        &[1245.0108, 1194.0686, 1114.0],
        1e-3,
        "set G1 with anchor C",
    );
    let anchor = entry(&board, 2).interval.unwrap();
    all_close(
        &[anchor.lower, anchor.upper],
        &[1114.0, 1114.0],
        1e-9,
        "the anchor's interval",
    );
}

#[test]
fn g1_online_elo_is_that_of_the_reference() {
    let ratings = elo::online(3, g1().rows(), &elo::EloOptions::default()).unwrap();
    all_close(
        &ratings,
        &[1010.618841, 1000.378705, 989.002454],
        5e-7,
        "online Elo",
    );
}

#[test]
fn ranks_of_the_reference_example_tie_and_skip() {
    let lower = [1000.0, 990.0, 960.0, 950.0, 900.0];
    let upper = [1010.0, 1000.0, 980.0, 960.0, 905.0];
    let intervals: Vec<_> = lower.into_iter().zip(upper).map(Some).collect();
    let places = ranks(&intervals);
    assert_eq!(
        places.iter().map(|place| place.rank).collect::<Vec<_>>(),
        [1, 1, 3, 3, 5]
    );
    assert_eq!(
        places.iter().map(|place| place.upper).collect::<Vec<_>>(),
        [1, 1, 3, 3, 5]
    );
    // Touching ends do not separate from above, and do not overlap from below.
    assert_eq!(
        places.iter().map(|place| place.lower).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5]
    );
}

/// What became of one model: rated at a value, or provisional for a reason.
#[derive(Debug)]
enum Fate {
    Rated(f64),
    Provisional(ProvisionalReason),
}

#[track_caller]
fn check(
    rows: &[(&str, &str, u64, u64)],
    boards: usize,
    unrated: Option<UnratedReason>,
    fates: &[Fate],
) {
    let mut battles = Battles::default();
    for &(a, b, wins, losses) in rows {
        battles.add(a, b, 1.0, wins);
        battles.add(a, b, 0.0, losses);
    }
    let board = leaderboard(&battles.comparisons(), &LeaderboardOptions::default()).unwrap();
    assert_eq!(board.boards.len(), boards);
    assert_eq!(board.main().unrated, unrated);
    for (model, fate) in fates.iter().enumerate() {
        let entry = entry(&board, model);
        match (fate, entry.status) {
            (Fate::Rated(rating), Status::Rated) => close(entry.rating, *rating, 1e-6, "rating"),
            (
                Fate::Provisional(expected),
                Status::Provisional {
                    reason,
                    votes_needed,
                },
            ) => {
                assert_eq!(reason, *expected);
                assert!(votes_needed > 0);
                let interval = entry.interval.unwrap();
                assert!(
                    interval.upper - interval.lower > 300.0,
                    "{interval:?} claims too much"
                );
                assert_eq!(entry.rank, None);
            }
            (fate, status) => panic!("model {model}: expected {fate:?}, found {status:?}"),
        }
    }
}

#[test]
fn an_undefeated_model_is_provisional_and_moves_nobody() {
    // The reference gives 3454, -227 and -227.
    check(
        &[("A", "B", 20, 0), ("B", "C", 5, 5)],
        1,
        None,
        &[
            Fate::Provisional(ProvisionalReason::Undefeated),
            Fate::Rated(1000.0),
            Fate::Rated(1000.0),
        ],
    );
}

#[test]
fn pairs_that_never_met_have_boards_of_their_own() {
    // The reference puts all four on one scale.
    let win = 200.0 * 1.5_f64.log10();
    let rout = 200.0 * 4.0_f64.log10();
    check(
        &[("A", "B", 6, 4), ("C", "D", 8, 2)],
        2,
        None,
        &[
            Fate::Rated(1000.0 + win),
            Fate::Rated(1000.0 - win),
            Fate::Rated(1000.0 + rout),
            Fate::Rated(1000.0 - rout),
        ],
    );
}

#[test]
fn a_chain_of_wins_rates_nobody_and_says_why() {
    check(
        &[("A", "B", 5, 0), ("B", "C", 5, 0)],
        1,
        Some(UnratedReason::OneWay),
        &[
            Fate::Provisional(ProvisionalReason::Undefeated),
            Fate::Provisional(ProvisionalReason::OtherGroup),
            Fate::Provisional(ProvisionalReason::Winless),
        ],
    );
}

#[test]
fn ten_wins_to_none_rate_nobody() {
    check(
        &[("A", "B", 10, 0)],
        1,
        Some(UnratedReason::OneWay),
        &[
            Fate::Provisional(ProvisionalReason::Undefeated),
            Fate::Provisional(ProvisionalReason::Winless),
        ],
    );
}

#[test]
fn one_battle_rates_nobody() {
    check(
        &[("A", "B", 1, 0)],
        1,
        Some(UnratedReason::OneBattle),
        &[
            Fate::Provisional(ProvisionalReason::SingleBattle),
            Fate::Provisional(ProvisionalReason::SingleBattle),
        ],
    );
}

#[test]
fn dropping_an_undefeated_model_does_not_make_its_victim_undefeated() {
    // W beats A, A beats B and B beats C, C beats B: only {B, C} scored both ways, and A stays out with W.
    check(
        &[("W", "A", 9, 0), ("A", "B", 4, 0), ("B", "C", 3, 3)],
        1,
        None,
        &[
            Fate::Provisional(ProvisionalReason::OtherGroup),
            Fate::Rated(1000.0),
            Fate::Rated(1000.0),
            Fate::Provisional(ProvisionalReason::Undefeated),
        ],
    );
}

#[test]
fn no_battles_are_refused() {
    let nothing = Comparisons::new(3, []).unwrap();
    assert_eq!(
        leaderboard(&nothing, &LeaderboardOptions::default()),
        Err(Error::NoBattles)
    );
}
