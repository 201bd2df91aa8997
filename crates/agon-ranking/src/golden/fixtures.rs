//! Exact double-precision fits of our own generator's battles, and the twenty cases at the edges.

use super::{Battles, all_close, close, csv_rows, entry, json, numbers, rated, testdata};
use crate::{
    Anchor, CovarianceMethod, Error, Leaderboard, LeaderboardOptions, ProvisionalReason, Status,
    UnratedReason, elo, leaderboard,
};

/// Compares a fit under each anchor with the exact one.
#[track_caller]
fn check_exact(battles: &Battles, expected: &serde_json::Value) {
    let comparisons = battles.comparisons();
    let names: Vec<String> = expected["names"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    assert_eq!(battles.names(), names);

    let check = |options: LeaderboardOptions,
                 elo: &serde_json::Value,
                 errors: &serde_json::Value,
                 what: &str| {
        let board = leaderboard(&comparisons, &options).unwrap();
        let entries: Vec<_> = (0..names.len()).map(|model| entry(&board, model)).collect();
        let ratings: Vec<f64> = entries.iter().map(|entry| entry.rating).collect();
        all_close(&ratings, &numbers(elo), 1e-6, what);
        for (entry, expected) in entries.iter().zip(numbers(errors)) {
            let found = entry.interval.unwrap().standard_error;
            if expected == 0.0 {
                close(found, 0.0, 1e-9, what);
            } else {
                close(found / expected, 1.0, 1e-8, what);
            }
        }
        board
    };
    let default = LeaderboardOptions::default();
    let exact = &expected["exact"];
    let board = check(default, &exact["elo"], &exact["se_hc0"], "plain mean");
    let places: Vec<f64> = (0..names.len())
        .map(|model| entry(&board, model).rank.unwrap().rank as f64)
        .collect();
    assert_eq!(places, numbers(&exact["rank_ub"]));
    let lower: Vec<f64> = (0..names.len())
        .map(|model| entry(&board, model).interval.unwrap().lower)
        .collect();
    all_close(&lower, &numbers(&exact["lower"]), 2e-6, "lower ends");
    let fitted = board.main().fitted.as_ref().unwrap();
    close(
        fitted.fit.certificate.log_likelihood,
        exact["loglik"].as_f64().unwrap(),
        1e-7,
        "log-likelihood",
    );
    assert!(fitted.fit.certificate.gradient_max <= fitted.fit.certificate.gradient_limit);
    for (row, expected) in exact["cov_hc0_nats"].as_array().unwrap().iter().enumerate() {
        for (column, expected) in numbers(expected).into_iter().enumerate() {
            let found = fitted.covariance.get(row, column).unwrap();
            close(
                found,
                expected,
                1e-8 * fitted.covariance.get(row, row).unwrap(),
                "covariance",
            );
        }
    }

    let model_based = LeaderboardOptions {
        covariance: CovarianceMethod::ModelBased,
        ..default
    };
    check(
        model_based,
        &exact["elo"],
        &exact["se_model_based"],
        "model-based",
    );
    let weighted = LeaderboardOptions {
        anchor: Anchor::WeightedMean,
        ..default
    };
    let others = &expected["exact_other_anchors"];
    let other = &others["battle_weighted_mean_1000"];
    check(
        weighted,
        &other["elo"],
        &other["se_hc0"],
        "battle-weighted mean",
    );
    let first = LeaderboardOptions {
        anchor: Anchor::Model {
            model: 0,
            rating: 1000.0,
        },
        ..default
    };
    let other = &others["first_name_1000"];
    check(first, &other["elo"], &other["se_hc0"], "first model");

    let reweighted = leaderboard(&comparisons.reweighted_by_pair(50), &default).unwrap();
    let pairwise = &expected["exact_ipw50"];
    let ratings: Vec<f64> = (0..names.len())
        .map(|model| entry(&reweighted, model).rating)
        .collect();
    all_close(
        &ratings,
        &numbers(&pairwise["elo"]),
        1e-6,
        "weighted by pair",
    );
    for (model, expected) in numbers(&pairwise["se_hc0"]).into_iter().enumerate() {
        let found = entry(&reweighted, model).interval.unwrap().standard_error;
        close(found / expected, 1.0, 1e-8, "weighted by pair");
    }
}

#[test]
fn the_large_fixture_is_met_under_every_anchor() {
    let Some(path) = testdata("votes/ranking-fixtures/bt_30k_counts.csv") else {
        return;
    };
    let mut battles = Battles::default();
    for row in csv_rows(&path) {
        battles.add(
            &row[0],
            &row[1],
            row[2].parse().unwrap(),
            row[3].parse().unwrap(),
        );
    }
    check_exact(
        &battles,
        &json(&testdata("votes/ranking-fixtures/bt_30k.json").unwrap()),
    );
}

#[test]
fn the_small_fixtures_are_met_under_every_anchor() {
    for name in ["simple", "food"] {
        let Some(path) = testdata(&format!("votes/evalica/{name}.csv")) else {
            return;
        };
        let mut battles = Battles::default();
        for row in csv_rows(&path) {
            let outcome = match row[2].as_str() {
                "left" => 1.0,
                "right" => 0.0,
                "tie" => 0.5,
                other => panic!("unknown winner {other}"),
            };
            battles.add(&row[0], &row[1], outcome, 1);
        }
        let expected = json(&testdata(&format!("votes/ranking-fixtures/bt_{name}.json")).unwrap());
        check_exact(&battles, &expected);
        let online = elo::online(
            battles.names().len(),
            battles.rows(),
            &elo::EloOptions::default(),
        )
        .unwrap();
        all_close(
            &online,
            &numbers(&expected["peers"]["evalica_elo"]["score"]),
            1e-9,
            "online Elo",
        );
    }
}

/// The battles of a case as the application would pass them on: what cannot be a comparison is rejected and counted.
fn accepted(case: &serde_json::Value) -> (Battles, usize) {
    let mut battles = Battles::default();
    let mut rejected = 0;
    for row in case["battles"].as_array().unwrap() {
        let outcome = match row[2].as_str() {
            Some("model_a") => 1.0,
            Some("model_b") => 0.0,
            Some("tie" | "tie (bothbad)" | "both_bad") => 0.5,
            _ => {
                rejected += 1;
                continue;
            }
        };
        match (row[0].as_str(), row[1].as_str()) {
            (Some(a), Some(b)) if a != b => battles.add(a, b, outcome, 1),
            _ => rejected += 1,
        }
    }
    (battles, rejected)
}

/// Ratings, standard errors and nothing provisional, as the case's exact block says.
#[track_caller]
fn check_rated(battles: &Battles, exact: &serde_json::Value) -> Leaderboard {
    let board = leaderboard(&battles.comparisons(), &LeaderboardOptions::default()).unwrap();
    assert!(board.is_connected());
    for (model, name) in battles.names().iter().enumerate() {
        let entry = entry(&board, model);
        close(
            entry.rating,
            exact["elo"][name].as_f64().unwrap(),
            1e-6,
            name,
        );
        let expected = exact["se_hc0"][name].as_f64().unwrap();
        match entry.status {
            Status::Rated if expected == 0.0 => assert_eq!(entry.interval, None, "{name}"),
            Status::Rated => close(entry.interval.unwrap().standard_error, expected, 1e-6, name),
            Status::Provisional { reason, .. } => {
                assert_eq!(
                    (reason, entry.interval),
                    (ProvisionalReason::SingleBattle, None),
                    "{name}"
                );
            }
        }
    }
    board
}

#[test]
fn all_cases_at_the_edges_behave() {
    let Some(path) = testdata("votes/ranking-fixtures/edge_cases.json") else {
        return;
    };
    let cases = json(&path);
    let cases = cases["cases"].as_object().unwrap();
    assert_eq!(cases.len(), 20);
    let base = &cases["base"]["exact"];
    let options = LeaderboardOptions::default();
    let provisional =
        |board: &Leaderboard, names: &[String], name: &str, expected: ProvisionalReason| {
            let model = names.iter().position(|other| other == name).unwrap();
            let entry = entry(board, model);
            assert!(
                matches!(entry.status, Status::Provisional { reason, .. } if reason == expected),
                "{name}: {:?}",
                entry.status
            );
            let interval = entry.interval.unwrap();
            assert!(interval.upper - interval.lower > 300.0);
        };
    for (name, case) in cases {
        let exact = &case["exact"];
        if name == "near_separable_10000_1" {
            let mut battles = Battles::default();
            battles.add("A", "B", 1.0, 10_000);
            battles.add("A", "B", 0.0, 1);
            check_rated(&battles, exact);
            println!("case {name}: 1800 and 200 with their intervals");
            continue;
        }
        let (battles, rejected) = accepted(case);
        let names = battles.names();
        let result = leaderboard(&battles.comparisons(), &options);
        match name.as_str() {
            "base"
            | "only_ties"
            | "all_model_a_wins_but_cyclic"
            | "self_battle_rows"
            | "both_bad_label"
            | "bothbad_paren_label"
            | "duplicated_rows_x2"
            | "swapped_sides" => {
                check_rated(&battles, exact);
                assert_eq!(rejected, if name == "self_battle_rows" { 6 } else { 0 });
                println!("case {name}: exact, {rejected} rows rejected");
            }
            "unknown_label" | "null_winner" | "null_model" => {
                assert_eq!(rejected, 4);
                check_rated(&battles, base);
                println!("case {name}: {rejected} rows rejected, the rest as without them");
            }
            "disconnected_two_components" => {
                let board = result.unwrap();
                assert_eq!(board.boards.len(), 2);
                let first = rated(&board.boards[0], &names);
                let win = 200.0 * 2.0_f64.log10();
                close(first["A"], 1000.0 + win, 1e-9, "A");
                close(first["B"], 1000.0 - win, 1e-9, "B");
                let second = rated(&board.boards[1], &names);
                assert_eq!(second.into_values().collect::<Vec<_>>(), [1000.0, 1000.0]);
                println!("case {name}: two boards");
            }
            "wins_all" | "loses_all" => {
                let board = result.unwrap();
                let ratings = rated(board.main(), &names);
                assert_eq!(ratings.len(), 3);
                for (name, rating) in ratings {
                    close(rating, base["elo"][&name].as_f64().unwrap(), 1e-6, &name);
                    let model = names.iter().position(|other| *other == name).unwrap();
                    let error = entry(&board, model).interval.unwrap().standard_error;
                    close(error, base["se_hc0"][&name].as_f64().unwrap(), 1e-6, &name);
                }
                if name == "wins_all" {
                    provisional(&board, &names, "W", ProvisionalReason::Undefeated);
                } else {
                    provisional(&board, &names, "L", ProvisionalReason::Winless);
                }
                println!("case {name}: provisional, the others as without it");
            }
            "one_battle_tie_model" => {
                // The base case, and N that tied with A once: N is placed beside A and moves nobody.
                let board = result.unwrap();
                let ratings = rated(board.main(), &names);
                assert_eq!(ratings.len(), 3);
                for (name, rating) in &ratings {
                    close(*rating, base["elo"][name].as_f64().unwrap(), 1e-6, name);
                    let model = names.iter().position(|other| other == name).unwrap();
                    let error = entry(&board, model).interval.unwrap().standard_error;
                    close(error, base["se_hc0"][name].as_f64().unwrap(), 1e-6, name);
                }
                let beside = names.iter().position(|name| name == "N").unwrap();
                let beside = entry(&board, beside);
                close(beside.rating, ratings["A"], 1e-9, "N");
                // One battle, met exactly, leaves nothing to estimate an error from.
                assert_eq!(beside.interval, None);
                assert!(matches!(
                    beside.status,
                    Status::Provisional {
                        reason: ProvisionalReason::SingleBattle,
                        ..
                    }
                ));
                println!("case {name}: provisional, the others as without it");
            }
            "dominance_chain" | "two_models_10_0" => {
                let board = result.unwrap();
                assert_eq!(board.main().unrated, Some(UnratedReason::OneWay));
                assert!(rated(board.main(), &names).is_empty());
                println!("case {name}: nobody rated, all results point one way");
            }
            "single_battle" => {
                let board = result.unwrap();
                assert_eq!(board.main().unrated, Some(UnratedReason::OneBattle));
                provisional(&board, &names, "A", ProvisionalReason::SingleBattle);
                println!("case {name}: nobody rated, one battle only");
            }
            "empty" => {
                assert_eq!(result, Err(Error::NoBattles));
                println!("case {name}: refused, no battles");
            }
            other => panic!("case {other} has no stated behaviour"),
        }
    }
    let boards = ["base", "swapped_sides"]
        .map(|name| leaderboard(&accepted(&cases[name]).0.comparisons(), &options).unwrap());
    assert_eq!(boards[0], boards[1], "swapping sides changes no bit");
}
