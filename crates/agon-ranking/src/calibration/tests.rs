//! Closed forms for two and three models, R's deviance, a simulated arena that follows its model and one that does not.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::bradley_terry::sigmoid;
use crate::{Anchor, Columns, Comparison, FitOptions, LeaderboardOptions, fit, leaderboard};

fn fitted(comparisons: &Comparisons) -> Fit {
    fit(comparisons, &FitOptions::default()).unwrap()
}

fn comparisons(n_models: usize, rows: &[(u32, u32, f64, u64)]) -> Comparisons {
    let rows = rows
        .iter()
        .map(|&(a, b, outcome, count)| Comparison::new(a, b, outcome).with_count(count));
    Comparisons::new(n_models, rows).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "found {found}, expected {expected}"
    );
}

/// A circle: each beat the next three times of four. By symmetry all strengths are equal.
fn circle() -> Comparisons {
    comparisons(
        3,
        &[
            (0, 1, 1.0, 30),
            (0, 1, 0.0, 10),
            (1, 2, 1.0, 30),
            (1, 2, 0.0, 10),
            (2, 0, 1.0, 30),
            (2, 0, 0.0, 10),
        ],
    )
}

#[test]
fn a_circle_has_its_misfit_in_closed_form() {
    let comparisons = circle();
    let fit = fitted(&comparisons);
    let found = calibration(&fit, &comparisons, 5, 0.95).unwrap();
    // p = ½ everywhere against 30 of 40: χ² = 3 · 10² / (40 · ¼), deviance = 2 · 3 · (30 ln 1.5 + 10 ln ½).
    close(found.pearson, 30.0, 1e-9);
    close(
        found.deviance,
        6.0 * (30.0 * 1.5_f64.ln() + 10.0 * 0.5_f64.ln()),
        1e-9,
    );
    assert_eq!(found.degrees_of_freedom, 1);
    close(found.dispersion.unwrap(), 30.0, 1e-9);
    for (pair, observed) in found.pairs.iter().zip([0.75, 0.25, 0.75]) {
        assert_eq!(pair.battles, 40);
        close(pair.observed, observed, 1e-15);
        close(pair.predicted, 0.5, 1e-12);
        close(pair.residual.abs(), 10.0 / 10.0_f64.sqrt(), 1e-9);
    }
    assert_eq!(found.bins[0].battles, 120);
    assert!(found.bins[1..].iter().all(|bin| bin.scores.is_none()));
    assert_eq!((found.bins[0].lower, found.bins[4].upper), (0.5, 1.0));
}

#[test]
fn favourites_are_counted_whatever_their_index_or_side() {
    // Model 1 is the favourite with 80 of 100.
    let one_way = comparisons(2, &[(0, 1, 1.0, 20), (0, 1, 0.0, 80)]);
    let other = comparisons(2, &[(0, 1, 1.0, 80), (0, 1, 0.0, 20)]);
    for comparisons in [one_way, other] {
        let found = calibration(&fitted(&comparisons), &comparisons, 10, 0.95).unwrap();
        let bin = found.bins.iter().find(|bin| bin.battles > 0).unwrap();
        assert!(bin.lower <= 0.8 + 1e-9 && 0.8 <= bin.upper + 1e-9);
        let scores = bin.scores.unwrap();
        close(scores.predicted, 0.8, 1e-9);
        close(scores.observed, 0.8, 1e-15);
        let (lower, upper) = wilson_interval(0.8, 100.0, 0.95).unwrap();
        close(scores.observed_lower, lower, 1e-15);
        close(scores.observed_upper, upper, 1e-15);
        close(found.calibration_error, 0.0, 1e-9);
    }
}

#[test]
fn wilson_has_its_published_values() {
    // 8 of 10, 0 of 10 and 10 of 10 at 95 %, as R's `prop.test(…, correct = FALSE)` gives them.
    for (share, lower, upper) in [
        (0.8, 0.490_162_5, 0.943_317_8),
        (0.0, 0.0, 0.277_532_8),
        (1.0, 0.722_467_2, 1.0),
    ] {
        let found = wilson_interval(share, 10.0, 0.95).unwrap();
        close(found.0, lower, 1e-6);
        close(found.1, upper, 1e-6);
    }
    for (share, n, level) in [
        (1.1, 10.0, 0.95),
        (f64::NAN, 10.0, 0.95),
        (0.5, 0.0, 0.95),
        (0.5, 10.0, 1.0),
    ] {
        assert!(matches!(
            wilson_interval(share, n, level),
            Err(Error::Option { .. })
        ));
    }
}

#[test]
fn the_condition_number_of_a_dense_table_does_not_depend_on_names() {
    // Everybody met everybody, now more and now less: the eigenvalues lie close together.
    let n: u32 = 80;
    let table = |name: fn(u32, u32) -> u32| {
        let votes: Vec<_> = (0..n)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .flat_map(|(a, b)| {
                let count = 1 + (a * a + 7 * b + a * b) % 11;
                let (a, b) = (name(a, n), name(b, n));
                [(a, b, 1.0, count.into()), (a, b, 0.0, count.into())]
            })
            .collect();
        condition_number(&fitted(&comparisons(n as usize, &votes))).unwrap()
    };
    let as_given = table(|model, _| model);
    for renamed in [
        table(|model, n| n - 1 - model),
        table(|model, n| model * 7 % n),
    ] {
        close(renamed / as_given, 1.0, 1e-6);
    }
    assert!(as_given > 1.1 && as_given < 3.0, "{as_given}");
}

#[test]
fn condition_numbers_have_closed_forms() {
    // Each met each other equally often and drew level: n/4 · (K I − 1 1ᵀ), all eigenvalues equal.
    let all = comparisons(
        3,
        &[
            (0, 1, 1.0, 5),
            (0, 1, 0.0, 5),
            (1, 2, 1.0, 5),
            (1, 2, 0.0, 5),
            (2, 0, 1.0, 5),
            (2, 0, 0.0, 5),
        ],
    );
    close(condition_number(&fitted(&all)).unwrap(), 1.0, 1e-9);
    // A path of equals: the Laplacian of a path of three has eigenvalues 0, 1 and 3; of four 0, 2 − √2, 2, 2 + √2.
    let path: Vec<_> = (0..3)
        .flat_map(|model| [(model, model + 1, 1.0, 8), (model, model + 1, 0.0, 8)])
        .collect();
    let three = comparisons(3, &path[..4]);
    close(condition_number(&fitted(&three)).unwrap(), 3.0, 1e-6);
    let four = comparisons(4, &path);
    let expected = (2.0 + 2.0_f64.sqrt()) / (2.0 - 2.0_f64.sqrt());
    close(condition_number(&fitted(&four)).unwrap(), expected, 1e-5);
    // Of n, 2 − 2 cos(k π / n): a long path has many eigenvalues near the largest.
    let n: u32 = 300;
    let path: Vec<_> = (0..n - 1)
        .flat_map(|model| [(model, model + 1, 1.0, 8), (model, model + 1, 0.0, 8)])
        .collect();
    let angle = std::f64::consts::PI / f64::from(n);
    let expected = (1.0 + angle.cos()) / (1.0 - angle.cos());
    let long = condition_number(&fitted(&comparisons(300, &path))).unwrap();
    close(long / expected, 1.0, 1e-5);
    // A rare model: eigenvalues of the Laplacian with weights 1 and r.
    let (w, r) = (4_000.0_f64, 4.0_f64);
    let rare = comparisons(
        3,
        &[
            (0, 1, 1.0, 2000),
            (0, 1, 0.0, 2000),
            (1, 2, 1.0, 2),
            (1, 2, 0.0, 2),
        ],
    );
    let root = (w * w + r * r - w * r).sqrt();
    let expected = (w + r + root) / (w + r - root);
    close(
        condition_number(&fitted(&rare)).unwrap() / expected,
        1.0,
        1e-6,
    );
    // Names do not matter.
    let renamed = comparisons(
        3,
        &[
            (2, 0, 1.0, 2000),
            (2, 0, 0.0, 2000),
            (0, 1, 1.0, 2),
            (0, 1, 0.0, 2),
        ],
    );
    close(
        condition_number(&fitted(&renamed)).unwrap() / expected,
        1.0,
        1e-6,
    );
    // A penalty gives the common direction information, which the ratio then contains.
    let options = FitOptions {
        ridge_strengths: 5.0,
        ..FitOptions::default()
    };
    let ridged = fit(&all, &options).unwrap();
    close(condition_number(&ridged).unwrap(), (7.5 + 5.0) / 5.0, 1e-6);
}

#[test]
fn matrices_mirror_each_other() {
    let comparisons = comparisons(
        4,
        &[
            (0, 1, 1.0, 3),
            (1, 0, 1.0, 1),
            (1, 2, 0.5, 2),
            (2, 3, 0.5, 1),
        ],
    );
    let fit = fitted(&comparisons);
    let matrix = win_matrix(&fit, &comparisons, &[2, 0, 1]).unwrap();
    let at = |row: usize, column: usize| row * 3 + column;
    assert_eq!(matrix.battles[at(1, 2)], 4);
    assert_eq!(matrix.observed[at(1, 2)], Some(0.75));
    assert_eq!(matrix.observed[at(2, 1)], Some(0.25));
    assert_eq!(matrix.observed[at(0, 1)], None);
    close(matrix.predicted[at(1, 2)].unwrap(), 0.75, 1e-12);
    for row in 0..3 {
        assert_eq!(matrix.predicted[at(row, row)], None);
        for column in (0..3).filter(|&column| column != row) {
            let sum = matrix.predicted[at(row, column)].unwrap()
                + matrix.predicted[at(column, row)].unwrap();
            close(sum, 1.0, 1e-15);
        }
    }
    assert!(matches!(
        win_matrix(&fit, &comparisons, &[0, 4]),
        Err(Error::ModelOutOfRange {
            row: 1,
            model: 4,
            ..
        })
    ));
    assert!(matches!(
        win_matrix(&fit, &comparisons, &[1, 1]),
        Err(Error::Option {
            option: "models",
            ..
        })
    ));
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let comparisons = circle();
    let fit = fitted(&comparisons);
    let other = super::tests::comparisons(2, &[(0, 1, 0.5, 2)]);
    assert!(matches!(
        calibration(&fit, &other, 10, 0.95),
        Err(Error::Length {
            found: 2,
            expected: 3
        })
    ));
    assert!(matches!(
        calibration(&fit, &comparisons, 0, 0.95),
        Err(Error::Option { option: "bins", .. })
    ));
    assert!(matches!(
        calibration(&fit, &comparisons, 10, 0.0),
        Err(Error::Option {
            option: "level",
            ..
        })
    ));
    let empty = Comparisons::new(3, []).unwrap();
    assert_eq!(calibration(&fit, &empty, 10, 0.95), Err(Error::NoBattles));
    let rated = rated_comparisons(&comparisons, &[0, 1, 2]).unwrap();
    assert_eq!(rated, comparisons);
    assert!(rated_comparisons(&comparisons, &[1, 0]).is_err());
    assert!(rated_comparisons(&comparisons, &[0, 3]).is_err());
}

/// 20 models, 200 battles for each pair, won with the given probability of a difference in strength.
fn simulated(seed: u64, chance: impl Fn(f64) -> f64) -> Comparisons {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Vec::new();
    for a in 0..20_u32 {
        for b in a + 1..20 {
            let p = chance(0.15 * (f64::from(b) - f64::from(a)));
            let wins = (0..200).filter(|_| rng.random::<f64>() < p).count() as u64;
            rows.extend([(a, b, 1.0, wins), (a, b, 0.0, 200 - wins)]);
        }
    }
    rows.retain(|row| row.3 > 0);
    comparisons(20, &rows)
}

#[test]
fn votes_that_follow_the_model_fit_it_and_others_do_not() {
    let good = simulated(3, sigmoid);
    let found = calibration(&fitted(&good), &good, 10, 0.95).unwrap();
    assert_eq!(found.degrees_of_freedom, 190 - 19);
    // χ² with 171 degrees of freedom has a standard deviation of 18.5.
    close(found.pearson, 171.0, 4.0 * 18.5);
    close(found.deviance, 171.0, 4.0 * 18.5);
    let scores = found.bins.iter().filter_map(|bin| bin.scores);
    let covered = scores
        .clone()
        .filter(|s| s.observed_lower <= s.predicted && s.predicted <= s.observed_upper)
        .count();
    assert!(covered + 1 >= scores.count());
    assert!(found.calibration_error < 0.01);

    // Votes that are random one time in two for clear differences only: no logistic curve has that shape.
    let bad = simulated(3, |d| if d < 1.0 { sigmoid(4.0 * d) } else { 0.6 });
    let found = calibration(&fitted(&bad), &bad, 10, 0.95).unwrap();
    assert!(found.dispersion.unwrap() > 3.0);
    assert!(found.calibration_error > 0.02);
}

#[test]
fn features_and_weights_enter_the_prediction() {
    // Side A wins three of four between equals.
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(30),
        Comparison::new(0, 1, 0.0).with_count(10),
        Comparison::new(1, 0, 1.0).with_count(30),
        Comparison::new(1, 0, 0.0).with_count(10),
    ];
    let ones = [1.0; 4];
    let columns = Columns {
        n_features: 1,
        features: &ones,
        clusters: None,
    };
    let ordered = Comparisons::with_columns(2, &rows, columns).unwrap();
    let found = calibration(&fitted(&ordered), &ordered, 7, 0.95).unwrap();
    assert_eq!(found.pairs.len(), 1);
    close(found.pairs[0].predicted, 0.5, 1e-9);
    assert_eq!(found.bins[3].battles, 80);
    close(found.bins[3].scores.unwrap().predicted, 0.75, 1e-9);
    assert_eq!(found.degrees_of_freedom, 0);

    // A common weight changes neither scores nor the intervals around them.
    let plain = circle();
    let weighted = plain.reweighted_by_pair(50);
    let [x, y] = [plain, weighted]
        .map(|comparisons| calibration(&fitted(&comparisons), &comparisons, 1, 0.95).unwrap());
    let (x, y) = (x.bins[0].scores.unwrap(), y.bins[0].scores.unwrap());
    close(x.observed_lower, y.observed_lower, 1e-12);
    close(x.predicted, y.predicted, 1e-12);
}

#[test]
fn the_condition_number_of_a_board_is_that_of_its_fit() {
    let rows: Vec<_> = (0..7_u32)
        .flat_map(|a| (0..a).map(move |b| (a, b)))
        .flat_map(|(a, b)| {
            let count = u64::from(1 + (a * a + 7 * b) % 11);
            [
                Comparison::new(a, b, 1.0).with_count(count),
                Comparison::new(a, b, 0.0).with_count(2 * count),
            ]
        })
        .collect();
    let features: Vec<f64> = (0..rows.len()).map(|n| (n * 5 % 9) as f64 - 4.0).collect();
    let columns = Columns {
        n_features: 1,
        features: &features,
        clusters: None,
    };
    let plain = Comparisons::new(7, rows.iter().copied()).unwrap();
    let styled = Comparisons::with_columns(7, &rows, columns).unwrap();
    let anchor = Anchor::Model {
        model: 3,
        rating: 1000.0,
    };
    for comparisons in [&plain, &styled] {
        for (anchor, ridge_strengths) in [
            (Anchor::Mean, 0.0),
            (Anchor::WeightedMean, 0.0),
            (anchor, 0.0),
            (Anchor::Mean, 2.0),
        ] {
            let options = LeaderboardOptions {
                anchor,
                fit: FitOptions {
                    ridge_strengths,
                    ..FitOptions::default()
                },
                ..LeaderboardOptions::default()
            };
            let board = leaderboard(comparisons, &options).unwrap();
            let fitted = board.main().fitted.as_ref().unwrap();
            let expected = condition_number(&fitted.fit).unwrap();
            assert!(expected > 1.01);
            close(
                condition_number_of_board(fitted).unwrap() / expected,
                1.0,
                1e-6,
            );
        }
    }
}
