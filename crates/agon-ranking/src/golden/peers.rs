//! The boards of other programs: presets that reproduce them, bootstraps that agree in distribution, composite fits.

use std::collections::HashMap;

use super::style::{Battle, large_fixture};
use super::{Battles, all_close, close, csv_rows, json, numbers, testdata};
use crate::presets::{
    ArenaRankOptions, FastChatOptions, PresetBoard, PresetEntry, arena_rank, fastchat,
};
use crate::style_control::{DifferenceRule, Scaling, scale_features};
use crate::{
    BootstrapOptions, Columns, Comparison, Comparisons, Error, FitOptions, LeaderboardOptions,
    Source, composite, composite_covariance, fit,
};

fn by_model(board: &PresetBoard) -> Vec<PresetEntry> {
    let mut entries = board.entries.clone();
    entries.sort_by_key(|entry| entry.model);
    entries
}

#[track_caller]
fn check_arena_rank(board: &PresetBoard, expected: &serde_json::Value, tolerance: f64, what: &str) {
    let entries = by_model(board);
    let of = |get: fn(&PresetEntry) -> f64| entries.iter().map(get).collect::<Vec<_>>();
    all_close(
        &of(|entry| entry.rating),
        &numbers(&expected["elo"]),
        5e-9,
        what,
    );
    let lower = of(|entry| entry.interval.unwrap().0);
    all_close(&lower, &numbers(&expected["lower"]), tolerance, what);
    let upper = of(|entry| entry.interval.unwrap().1);
    all_close(&upper, &numbers(&expected["upper"]), tolerance, what);
    if !expected["variance"].is_null() {
        for (found, expected) in of(|entry| entry.variance.unwrap())
            .into_iter()
            .zip(numbers(&expected["variance"]))
        {
            close(found / expected, 1.0, tolerance, what);
        }
    }
    if !expected["beta"].is_null() {
        all_close(
            &board.coefficients,
            &numbers(&expected["beta"]),
            1e-11,
            what,
        );
    }
    assert!(!board.warnings.is_empty());
}

fn counts(path: &std::path::PathBuf) -> Comparisons {
    let mut battles = Battles::default();
    for row in csv_rows(path) {
        battles.add(
            &row[0],
            &row[1],
            row[2].parse().unwrap(),
            row[3].parse().unwrap(),
        );
    }
    battles.comparisons()
}

#[test]
fn arena_rank_is_met_on_the_large_fixture() {
    let Some(path) = testdata("votes/ranking-fixtures/bt_30k_counts.csv") else {
        return;
    };
    let comparisons = counts(&path);
    let expected = json(&testdata("votes/ranking-fixtures/bt_30k.json").unwrap());
    let plain = ArenaRankOptions::plain();
    let board = arena_rank(&comparisons, &plain).unwrap();
    check_arena_rank(
        &board,
        &expected["peers"]["arena_rank_tight"],
        1e-8,
        "plain",
    );
    let reweighted = ArenaRankOptions {
        reweighted: true,
        ..plain
    };
    let board = arena_rank(&comparisons, &reweighted).unwrap();
    // Weighted, H is all but singular (1e-5 against 0.2), and the program's general inverse loses half its digits.
    let theirs = &expected["peers"]["arena_rank_reweighted_tight"];
    check_arena_rank(&board, theirs, 5e-6, "reweighted");
    // The same formula with 64-bit mantissas, computed once.
    let exact = [
        844.419_329_801_202,
        1_090.739_671_494_589,
        953.885_994_231_647,
    ];
    for (entry, exact) in by_model(&board).iter().zip(exact) {
        close(entry.interval.unwrap().0, exact, 2e-9, "reweighted");
    }
}

/// The large fixture with centred features.
fn with_features(
    battles: &[Battle],
    n_models: usize,
    rows: &[Comparison],
    rule: DifferenceRule,
) -> Comparisons {
    let raw = battles
        .iter()
        .flat_map(|battle| battle.totals)
        .map(|(a, b)| rule.apply(a, b));
    let (features, _) = scale_features(&raw.collect::<Vec<_>>(), 4, Scaling::Centred).unwrap();
    let columns = Columns {
        n_features: 4,
        features: &features,
        clusters: None,
    };
    Comparisons::with_columns(n_models, rows, columns).unwrap()
}

#[test]
fn arena_rank_is_met_with_features() {
    let Some((battles, names, rows)) = large_fixture() else {
        return;
    };
    let expected = json(&testdata("votes/ranking-fixtures/ctx_30k.json").unwrap());
    let comparisons = with_features(&battles, names.len(), &rows, DifferenceRule::ZeroWhenEmpty);
    let default = ArenaRankOptions::contextual();
    let unpenalised = ArenaRankOptions {
        ridge_coefficients: 0.0,
        ..default
    };
    for (case, options) in [
        ("arena_rank_default_tight", default),
        ("arena_rank_reg0_ipw_tight", unpenalised),
        (
            "arena_rank_reg0_unweighted_tight",
            ArenaRankOptions {
                reweighted: false,
                ..unpenalised
            },
        ),
    ] {
        println!("case {case}");
        let board = arena_rank(&comparisons, &options).unwrap();
        let entries = by_model(&board);
        let expected = &expected["peers"][case];
        let of = |get: fn(&PresetEntry) -> f64| entries.iter().map(get).collect::<Vec<_>>();
        // arena-rank's own rest of gradient, 1e-12 of the mean loss, leaves up to 4e-8 points.
        all_close(
            &of(|entry| entry.rating),
            &numbers(&expected["elo"]),
            5e-8,
            case,
        );
        all_close(&board.coefficients, &numbers(&expected["beta"]), 1e-9, case);
        let lower = of(|entry| entry.interval.unwrap().0);
        all_close(&lower, &numbers(&expected["lower"]), 1e-7, case);
        let upper = of(|entry| entry.interval.unwrap().1);
        all_close(&upper, &numbers(&expected["upper"]), 1e-7, case);
    }
}

#[test]
fn arena_rank_is_met_on_genai_arena() {
    let Some(path) = testdata("votes/genai-arena/clean_battle_20240220.json") else {
        return;
    };
    let all = json(&path);
    for (name, anonymous, reweighted) in [
        ("t2i_anony_arena_rank_expected", true, false),
        ("t2i_anony_arena_rank_expected_reweighted", true, true),
        ("t2i_full_arena_rank_expected", false, false),
        ("t2i_full_arena_rank_expected_reweighted", false, true),
    ] {
        let expected = csv_rows(&testdata(&format!("votes/genai-arena/{name}.csv")).unwrap());
        let known: Vec<&str> = expected.iter().map(|row| row[0].as_str()).collect();
        let mut battles = Battles::default();
        for row in all.as_array().unwrap() {
            let (a, b) = (
                row["model_a"].as_str().unwrap(),
                row["model_b"].as_str().unwrap(),
            );
            // A model against itself: rejected by the caller.
            if a == b || !known.contains(&a) || (anonymous && !row["anony"].as_bool().unwrap()) {
                continue;
            }
            let outcome = match row["winner"].as_str().unwrap() {
                "model_a" => 1.0,
                "model_b" => 0.0,
                _ => 0.5,
            };
            battles.add(a, b, outcome, 1);
        }
        let names = battles.names();
        let options = ArenaRankOptions {
            reweighted,
            ..ArenaRankOptions::plain()
        };
        let board = arena_rank(&battles.comparisons(), &options).unwrap();
        assert_eq!(board.entries.len(), expected.len(), "{name}");
        for (entry, row) in board.entries.iter().zip(&expected) {
            assert_eq!(names[entry.model], row[0], "{name}");
            let (lower, upper) = entry.interval.unwrap();
            let found = [entry.rating, lower, upper, entry.variance.unwrap()];
            let expected: Vec<f64> = row[1..5].iter().map(|cell| cell.parse().unwrap()).collect();
            // The program was run with its own tolerances, 1e-9 of the mean loss, and one battle more in its ridge: the
            // one of a model against itself. Most of the difference is its rounding, as on the large fixture.
            all_close(&found, &expected, 5e-5, name);
        }
    }
}

#[test]
fn fastchat_is_met_at_its_optimum_and_in_distribution() {
    let Some((battles, names, rows)) = large_fixture() else {
        return;
    };
    let plain = Comparisons::new(names.len(), rows.iter().copied()).unwrap();
    let style = with_features(&battles, names.len(), &rows, DifferenceRule::PlusOne);
    let bt = json(&testdata("votes/ranking-fixtures/bt_30k.json").unwrap());
    let ctx = json(&testdata("votes/ranking-fixtures/ctx_30k.json").unwrap());
    for (comparisons, optimum, published, rounds, n_rounds) in [
        (
            &plain,
            &bt["exact"],
            &bt["peers"]["fastchat_compute_bt"],
            &bt["peers"]["fastchat_bootstrap_bt_400"],
            400,
        ),
        (
            &style,
            &ctx["exact"]["fastchat_ridge"],
            &ctx["peers"]["fastchat_compute_style_control"],
            &ctx["peers"]["fastchat_bootstrap_style_200"],
            60,
        ),
    ] {
        let options = FastChatOptions {
            bootstrap: BootstrapOptions {
                rounds: n_rounds,
                threads: 2,
                ..BootstrapOptions::default()
            },
            ..FastChatOptions::default()
        };
        let board = fastchat(comparisons, &options).unwrap();
        assert_eq!(board.degenerate_share, 0.0);
        let entries = by_model(&board);
        let ratings: Vec<f64> = entries.iter().map(|entry| entry.rating).collect();
        all_close(&ratings, &numbers(&optimum["elo"]), 1e-6, "optimum");
        // Where the program itself stopped.
        all_close(&ratings, &numbers(&published["elo"]), 0.2, "published");
        let lower = numbers(&rounds["q025"]);
        let upper = numbers(&rounds["q975"]);
        for ((entry, lower), upper) in entries.iter().zip(lower).zip(upper) {
            let width = upper - lower;
            let (found_lower, found_upper) = entry.interval.unwrap();
            // A tail quantile of n normal rounds has an error of 2.7 / √n deviations, both sides differ by chance.
            let tolerance = width / 3.92 * 2.7 * 4.0 * (1.0 / n_rounds as f64 + 1.0 / 200.0).sqrt();
            close(found_lower, lower, tolerance, "lower percentile");
            close(found_upper, upper, tolerance, "upper percentile");
        }
    }
}

#[test]
fn composite_fits_are_met() {
    let Some((battles, names, rows)) = large_fixture() else {
        return;
    };
    let expected = json(&testdata("votes/ranking-fixtures/extras_30k.json").unwrap());
    let expected = &expected["composite"];
    let all = Comparisons::new(names.len(), rows.iter().copied()).unwrap();
    let english = rows
        .iter()
        .zip(&battles)
        .filter(|(_, battle)| battle.language == "English")
        .map(|(row, _)| *row);
    let english = Comparisons::new(names.len(), english).unwrap();
    assert_eq!(english.n_battles(), 17_379);
    let sources = [
        Source {
            comparisons: &all,
            share: 0.7,
        },
        Source {
            comparisons: &english,
            share: 0.3,
        },
    ];
    let both = composite(&sources).unwrap();
    let options = FitOptions {
        ridge_strengths: 1e-5 * both.n_battles() as f64,
        ..FitOptions::default()
    };
    let fit = fit(&both, &options).unwrap();
    let points = LeaderboardOptions::default().points_per_nat();
    let ratings: Vec<f64> = fit
        .strengths
        .iter()
        .map(|strength| 1000.0 + points * strength)
        .collect();
    all_close(&ratings, &numbers(&expected["elo"]), 1e-6, "ratings");
    let covariance = composite_covariance(&fit, &sources).unwrap();
    for (model, expected) in numbers(&expected["se"]).into_iter().enumerate() {
        let found = points * covariance.strength_error(model).unwrap();
        close(found / expected, 1.0, 1e-8, "relative standard error");
    }
}

#[test]
fn groups_that_never_met_are_merged_with_a_warning() {
    let mut battles = Battles::default();
    battles.add("A", "B", 1.0, 6);
    battles.add("A", "B", 0.0, 4);
    battles.add("C", "D", 1.0, 8);
    battles.add("C", "D", 0.0, 2);
    let comparisons = battles.comparisons();
    let (win, rout) = (200.0 * 1.5_f64.log10(), 200.0 * 4.0_f64.log10());
    let expected = [1000.0 + win, 1000.0 - win, 1000.0 + rout, 1000.0 - rout];
    let ratings = |board: &PresetBoard| {
        by_model(board)
            .iter()
            .map(|entry| entry.rating)
            .collect::<Vec<_>>()
    };
    let board = arena_rank(&comparisons, &ArenaRankOptions::plain()).unwrap();
    all_close(&ratings(&board), &expected, 1e-9, "arena-rank");
    assert!(
        board
            .warnings
            .iter()
            .any(|warning| warning.contains("never met"))
    );
    // One difference θ of n battles, H = n p (1 − p) (1, −1)(1, −1)ᵀ: with λ = 1e-5 · 20 the variance of each is
    // n p (1 − p) / (2 n p (1 − p) + λ)².
    let curvature = 10.0 * 0.6 * 0.4;
    let points = LeaderboardOptions::default().points_per_nat();
    let variance = curvature / (2.0_f64 * curvature + 2e-4).powi(2) * points * points;
    close(
        by_model(&board)[0].variance.unwrap() / variance,
        1.0,
        1e-9,
        "variance",
    );

    let board = fastchat(&comparisons, &FastChatOptions::default()).unwrap();
    all_close(&ratings(&board), &expected, 1e-9, "FastChat");
    let anchored = FastChatOptions {
        baseline: Some((3, 1114.0)),
        ..FastChatOptions::default()
    };
    let board = fastchat(&comparisons, &anchored).unwrap();
    let shift = 1114.0 - expected[3];
    all_close(
        &ratings(&board),
        &expected.map(|rating| rating + shift),
        1e-9,
        "anchored",
    );
    let anchor = by_model(&board)[3].interval.unwrap();
    all_close(
        &[anchor.0, anchor.1],
        &[1114.0; 2],
        1e-9,
        "the anchor's interval",
    );
}

#[test]
fn presets_refuse_what_has_no_optimum() {
    let mut battles = Battles::default();
    battles.add("A", "B", 1.0, 10);
    let comparisons = battles.comparisons();
    let expected = Error::NotConnected {
        connected: 1,
        strong: 2,
    };
    let arena = arena_rank(&comparisons, &ArenaRankOptions::plain());
    assert_eq!(arena, Err(expected.clone()));
    assert_eq!(
        fastchat(&comparisons, &FastChatOptions::default()),
        Err(expected)
    );
    let none = Comparisons::new(2, []).unwrap();
    assert_eq!(
        arena_rank(&none, &ArenaRankOptions::plain()),
        Err(Error::NoBattles)
    );
    assert_eq!(
        fastchat(&none, &FastChatOptions::default()),
        Err(Error::NoBattles)
    );
    battles.add("A", "B", 0.0, 10);
    let unknown = FastChatOptions {
        baseline: Some((7, 1000.0)),
        ..FastChatOptions::default()
    };
    assert_eq!(
        fastchat(&battles.comparisons(), &unknown),
        Err(Error::AnchorNotRated { model: 7 })
    );
}

#[test]
fn the_penalty_of_fastchat_rates_even_a_model_that_never_lost() {
    let rows: Vec<Comparison> = (0..8).map(|_| Comparison::new(0, 1, 1.0)).collect();
    let features: Vec<f64> = (0..8).map(|row| f64::from(row % 3) - 1.0).collect();
    let columns = Columns {
        n_features: 1,
        features: &features,
        clusters: None,
    };
    let comparisons = Comparisons::with_columns(3, &rows, columns).unwrap();
    let board = fastchat(&comparisons, &FastChatOptions::default()).unwrap();
    // The third model has no battle, so it is not on the board.
    assert_eq!(board.entries.len(), 2);
    assert!(board.entries[0].rating > 1100.0 && board.entries[0].rating < 3000.0);
    assert!(
        board
            .warnings
            .iter()
            .any(|warning| warning.contains("never lost"))
    );
    let lookup: HashMap<usize, f64> = board
        .entries
        .iter()
        .map(|entry| (entry.model, entry.rating))
        .collect();
    close(lookup[&0] + lookup[&1], 2000.0, 1e-9, "mean");
}
