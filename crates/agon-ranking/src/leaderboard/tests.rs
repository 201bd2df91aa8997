//! Tests of boards: who is rated, places, intervals, starts.

use super::*;
use crate::Comparison;

fn three_models() -> Comparisons {
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(30),
        Comparison::new(0, 1, 0.0).with_count(20),
        Comparison::new(1, 2, 1.0).with_count(4),
        Comparison::new(1, 2, 0.0).with_count(2),
    ];
    Comparisons::new(4, rows).unwrap()
}

#[test]
fn few_battles_change_the_display_and_not_the_fit() {
    let plain = leaderboard(&three_models(), &LeaderboardOptions::default()).unwrap();
    let options = LeaderboardOptions {
        min_battles: 50,
        ..LeaderboardOptions::default()
    };
    let strict = leaderboard(&three_models(), &options).unwrap();
    let last = strict.main().entries[2];
    assert_eq!(last.model, 2);
    let expected = Status::Provisional {
        reason: ProvisionalReason::FewBattles,
        votes_needed: 44,
    };
    assert_eq!((last.status, last.rank), (expected, None));
    for entry in &plain.main().entries {
        let other = strict
            .main()
            .entries
            .iter()
            .find(|other| other.model == entry.model)
            .unwrap();
        assert_eq!(
            (entry.rating, entry.interval),
            (other.rating, other.interval)
        );
    }
    assert_eq!(strict.without_battles, [3]);
}

#[test]
fn only_rated_models_take_places() {
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(900),
        Comparison::new(0, 1, 0.0).with_count(100),
        Comparison::new(1, 2, 1.0).with_count(900),
        Comparison::new(1, 2, 0.0).with_count(100),
        Comparison::new(3, 0, 1.0).with_count(40),
    ];
    let board = leaderboard(
        &Comparisons::new(4, rows).unwrap(),
        &LeaderboardOptions::default(),
    )
    .unwrap();
    let places: Vec<_> = board
        .main()
        .entries
        .iter()
        .map(|entry| (entry.model, entry.rank.map(|rank| rank.rank)))
        .collect();
    assert_eq!(
        places,
        [(0, Some(1)), (1, Some(2)), (2, Some(3)), (3, None)]
    );
    assert_eq!(board.main().strong_components, 2);
    assert_eq!(
        (
            board.main().battles,
            board.main().fitted.as_ref().unwrap().battles
        ),
        (2040, 2000)
    );
}

#[test]
fn an_anchor_that_is_not_rated_is_refused() {
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(2),
        Comparison::new(0, 1, 0.0),
        Comparison::new(2, 0, 1.0),
        Comparison::new(4, 5, 1.0),
        Comparison::new(4, 5, 0.0),
    ];
    let comparisons = Comparisons::new(6, rows).unwrap();
    let anchored = |model| {
        let anchor = Anchor::Model {
            model,
            rating: 1200.0,
        };
        leaderboard(
            &comparisons,
            &LeaderboardOptions {
                anchor,
                ..LeaderboardOptions::default()
            },
        )
    };
    // Provisional, without battles, unknown.
    for model in [2, 3, 6, usize::MAX] {
        assert_eq!(anchored(model), Err(Error::AnchorNotRated { model }));
    }
    let board = anchored(4).unwrap();
    // The anchor stands on the second board; the first keeps its mean at the initial rating.
    let sum: f64 = board.main().entries[..2]
        .iter()
        .map(|entry| entry.rating)
        .sum();
    assert!((sum - 2000.0).abs() < 1e-9);
    let anchor = board.boards[1]
        .entries
        .iter()
        .find(|entry| entry.model == 4)
        .unwrap();
    assert!((anchor.rating - 1200.0).abs() < 1e-9);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let default = LeaderboardOptions::default();
    for options in [
        LeaderboardOptions {
            scale: 0.0,
            ..default
        },
        LeaderboardOptions {
            scale: f64::NAN,
            ..default
        },
        LeaderboardOptions {
            base: 1.0,
            ..default
        },
        LeaderboardOptions {
            init: f64::INFINITY,
            ..default
        },
        LeaderboardOptions {
            level: 95.0,
            ..default
        },
        LeaderboardOptions {
            anchor: Anchor::Model {
                model: 0,
                rating: f64::NAN,
            },
            ..default
        },
    ] {
        assert!(
            matches!(
                leaderboard(&three_models(), &options),
                Err(Error::Option { .. })
            ),
            "{options:?}"
        );
    }
}

#[test]
fn scale_base_and_init_only_change_the_units() {
    let default = leaderboard(&three_models(), &LeaderboardOptions::default()).unwrap();
    let options = LeaderboardOptions {
        scale: 1.0,
        base: std::f64::consts::E,
        init: 0.0,
        ..LeaderboardOptions::default()
    };
    let nats = leaderboard(&three_models(), &options).unwrap();
    let points = 400.0 / 10.0_f64.ln();
    for (x, y) in default.main().entries.iter().zip(&nats.main().entries) {
        assert!((x.rating - 1000.0 - points * y.rating).abs() < 1e-9);
        let (x, y) = (
            x.interval.unwrap().standard_error,
            y.interval.unwrap().standard_error,
        );
        assert!((x - points * y).abs() < 1e-9);
    }
}

#[test]
fn only_ties_leave_places_open() {
    let rows = [
        Comparison::new(0, 1, 0.5).with_count(4),
        Comparison::new(1, 2, 0.5).with_count(4),
    ];
    let board = leaderboard(
        &Comparisons::new(3, rows).unwrap(),
        &LeaderboardOptions::default(),
    )
    .unwrap();
    for entry in &board.main().entries {
        assert_eq!(
            (entry.rating, entry.interval, entry.status),
            (1000.0, None, Status::Rated)
        );
        assert_eq!(
            entry.rank,
            Some(Rank {
                rank: 1,
                upper: 1,
                lower: 3
            })
        );
    }
}

#[test]
fn a_single_tie_rates_nobody() {
    let tie = Comparisons::new(2, [Comparison::new(0, 1, 0.5)]).unwrap();
    let board = leaderboard(&tie, &LeaderboardOptions::default()).unwrap();
    assert_eq!(board.main().unrated, Some(UnratedReason::OneBattle));
    let expected = Status::Provisional {
        reason: ProvisionalReason::SingleBattle,
        votes_needed: 1,
    };
    assert!(
        board
            .main()
            .entries
            .iter()
            .all(|entry| entry.status == expected && entry.rating == 1000.0)
    );
}

#[test]
fn a_small_group_that_features_cannot_fit_does_not_spoil_the_main_board() {
    let mut rows = Vec::new();
    let mut features = Vec::new();
    for battle in 0..60_u32 {
        rows.push(Comparison::new(
            battle % 2,
            1 - battle % 2,
            f64::from(battle % 3) / 2.0,
        ));
        features.push(f64::from(battle % 7) - 3.0);
    }
    for outcome in [1.0, 0.0] {
        rows.push(Comparison::new(2, 3, outcome));
        features.push(0.0);
    }
    let columns = crate::Columns {
        n_features: 1,
        features: &features,
        clusters: None,
    };
    let comparisons = Comparisons::with_columns(4, &rows, columns).unwrap();
    let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
    assert_eq!(board.main().coefficients.len(), 1);
    let small = &board.boards[1];
    let dropped = DroppedFeature {
        feature: 0,
        reason: DropReason::Collinear,
    };
    assert_eq!(
        (small.unrated.clone(), &small.dropped[..]),
        (None, &[dropped][..])
    );
    assert_eq!((small.entries.len(), small.coefficients.len()), (2, 0));
}

#[test]
fn models_with_one_tie_have_no_say_and_leave_nobody_rated_alone() {
    // Two rated models, 3 : 1, and one that tied with the first once.
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(3),
        Comparison::new(0, 1, 0.0),
        Comparison::new(0, 2, 0.5),
    ];
    let options = LeaderboardOptions::default();
    for anchor in [Anchor::Mean, Anchor::WeightedMean] {
        let options = LeaderboardOptions { anchor, ..options };
        let with = leaderboard(&Comparisons::new(3, rows).unwrap(), &options).unwrap();
        let mean: f64 = with
            .main()
            .entries
            .iter()
            .filter(|entry| entry.status == Status::Rated)
            .map(|entry| entry.rating)
            .sum::<f64>()
            / 2.0;
        if anchor == Anchor::Mean {
            assert!((mean - 1000.0).abs() < 1e-9, "{mean}");
            let half = 200.0 * 3.0_f64.log10();
            assert!((with.main().entries[0].rating - 1000.0 - half).abs() < 1e-9);
        }
    }
    // One model that tied with two others, once each: nothing here could be rated.
    let star = Comparisons::new(3, [Comparison::new(0, 1, 0.5), Comparison::new(0, 2, 0.5)]);
    let board = leaderboard(&star.unwrap(), &options).unwrap();
    assert_eq!(board.main().unrated, Some(UnratedReason::OneWay));
    assert!(
        board
            .main()
            .entries
            .iter()
            .all(|entry| entry.status != Status::Rated)
    );
}

#[test]
fn any_earlier_board_leads_to_the_same_ratings() {
    let rows = |scale: u64, weight: f64| -> Vec<Comparison> {
        let mut rows = Vec::new();
        for a in 0..12_u32 {
            for b in a + 1..12 {
                let wins = scale * u64::from(3 + (a * 5 + b * 7) % 9);
                let losses = scale * u64::from(1 + (a + b) % 5);
                for (outcome, count) in [(1.0, wins), (0.0, losses), (0.5, scale)] {
                    let row = Comparison::new(a, b, outcome).with_count(count);
                    rows.push(row.with_weight(weight));
                }
            }
        }
        rows
    };
    let few = Comparisons::new(12, rows(1, 1.0)).unwrap();
    let mut one_more = few.clone();
    one_more.add(Comparison::new(3, 9, 0.0)).unwrap();
    let many = Comparisons::new(12, rows(1_000_000, 1.0)).unwrap();
    let light = Comparisons::new(12, rows(1, 1e-6)).unwrap();
    let all = [&few, &one_more, &many, &light];
    let options = LeaderboardOptions::default();
    for before in all {
        let previous = leaderboard(before, &options).unwrap();
        for now in all {
            let expected = leaderboard(now, &options).unwrap();
            let found = leaderboard_from(&previous, now, &options).unwrap();
            let entries = found.main().entries.iter().zip(&expected.main().entries);
            for (found, expected) in entries {
                assert_eq!(found.model, expected.model);
                assert!((found.rating - expected.rating).abs() < 1e-9);
                let error = |entry: &Entry| entry.interval.unwrap().standard_error;
                assert!((error(found) / error(expected) - 1.0).abs() < 1e-9);
            }
            for n_threads in [2, 3] {
                let options = LeaderboardOptions {
                    n_threads: NonZeroUsize::new(n_threads).unwrap(),
                    ..options
                };
                let again = leaderboard_from(&previous, now, &options).unwrap();
                assert_eq!(again, found);
            }
        }
    }
}
