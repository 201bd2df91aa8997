//! Tests of the bootstrap: the draws themselves, refits, degenerate rounds, threads and seeds.

use super::*;
use crate::{Columns, Comparison, Covariance, CovarianceMethod, fit, leaderboard};

/// Six models, every pair met often, strengths in even steps.
fn regular() -> Vec<Comparison> {
    let mut rows = Vec::new();
    for a in 0..6_u32 {
        for b in a + 1..6 {
            rows.push(Comparison::new(a, b, 1.0).with_count(u64::from(60 + 10 * (b - a))));
            rows.push(Comparison::new(a, b, 0.0).with_count(u64::from(60 - 8 * (b - a))));
            rows.push(Comparison::new(a, b, 0.5).with_count(30));
        }
    }
    rows
}

fn single_battles(rows: &[Comparison]) -> Vec<Comparison> {
    let single = rows
        .iter()
        .flat_map(|row| std::iter::repeat_n(row.with_count(1), row.count as usize));
    single.collect()
}

/// A feature for each battle that takes a few hundred different values.
fn feature(row: usize) -> f64 {
    f64::from((row as u32 * 7_919) % 401) / 200.0 - 1.0
}

fn run(comparisons: &Comparisons, options: &BootstrapOptions) -> Bootstrap {
    let leaderboard_options = LeaderboardOptions::default();
    let board = leaderboard(comparisons, &leaderboard_options).unwrap();
    let fitted = board.main().fitted.as_ref().unwrap();
    bootstrap(comparisons, fitted, &leaderboard_options, options).unwrap()
}

fn bits(rounds: &Bootstrap) -> Vec<u64> {
    rounds.draws.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn quantiles_interpolate_between_neighbours() {
    let values = [1.0, 2.0, 3.0, 4.0, 10.0];
    for (p, expected) in [
        (0.0, 1.0),
        (0.1, 1.4),
        (0.5, 3.0),
        (0.9, 7.6),
        (0.975, 9.4),
        (1.0, 10.0),
    ] {
        assert!(
            (quantile(&values, p).unwrap() - expected).abs() < 1e-14,
            "{p}"
        );
    }
    assert_eq!(quantile(&[5.0], 0.3), Some(5.0));
    assert_eq!(quantile(&values, f64::NAN), None);
    assert_eq!(quantile(&values, 1.1), None);
}

/// Compares drawn frequencies with the probabilities of the binomial by Pearson's statistic.
#[track_caller]
fn check_binomial(n: u64, p: f64) {
    const DRAWS: usize = 200_000;
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut seen = vec![0_u32; n as usize + 1];
    for _ in 0..DRAWS {
        seen[binomial(&mut rng, n, p) as usize] += 1;
    }
    // Probabilities by recursion from the mode outwards, then scaled to sum 1.
    let mode = ((n + 1) as f64 * p) as usize;
    let mut probabilities = vec![0.0; n as usize + 1];
    probabilities[mode.min(n as usize)] = 1.0;
    let odds = p / (1.0 - p);
    for k in mode.min(n as usize)..n as usize {
        probabilities[k + 1] = probabilities[k] * odds * (n as f64 - k as f64) / (k as f64 + 1.0);
    }
    for k in (0..mode.min(n as usize)).rev() {
        probabilities[k] = probabilities[k + 1] * (k as f64 + 1.0) / (odds * (n as f64 - k as f64));
    }
    let total: f64 = probabilities.iter().sum();
    let (mut statistic, mut freedom) = (0.0, -1.0);
    let (mut rest_seen, mut rest_expected) = (0.0, 0.0);
    for (seen, probability) in seen.iter().zip(&probabilities) {
        let expected = DRAWS as f64 * probability / total;
        if expected < 20.0 {
            rest_seen += f64::from(*seen);
            rest_expected += expected;
            continue;
        }
        statistic += (f64::from(*seen) - expected).powi(2) / expected;
        freedom += 1.0;
    }
    if rest_expected > 5.0 {
        statistic += (rest_seen - rest_expected).powi(2) / rest_expected;
        freedom += 1.0;
    }
    // The statistic has mean `freedom` and variance twice that; five deviations are far out.
    let limit = freedom + 5.0 * f64::sqrt(2.0 * f64::max(freedom, 1.0));
    assert!(statistic < limit, "n {n}, p {p}: {statistic} on {freedom}");
}

#[test]
fn binomials_have_the_right_distribution() {
    for (n, p) in [
        (1, 0.3),
        (9, 0.5),
        (40, 0.2),
        (30_000, 0.000_3),
        (50, 0.25),
        (300, 0.4),
        (300, 0.93),
        (30_000, 0.002),
        (5_000, 0.5),
    ] {
        check_binomial(n, p);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    assert_eq!(binomial(&mut rng, 0, 0.5), 0);
    assert_eq!(binomial(&mut rng, 7, 0.0), 0);
    assert_eq!(binomial(&mut rng, 7, 1.0), 7);
}

#[test]
fn bounded_numbers_are_all_drawn_about_equally_often() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut seen = [0_i32; 7];
    for _ in 0..70_000 {
        seen[below(&mut rng, 7) as usize] += 1;
    }
    for count in seen {
        assert!((count - 10_000).abs() < 500, "{seen:?}");
    }
}

/// Draws one round and fits it from scratch, as anybody would.
#[track_caller]
fn check_round(comparisons: &Comparisons, resampling: Resampling) {
    let estimate = fit(comparisons, &FitOptions::default()).unwrap();
    let options = BootstrapOptions {
        rounds: 3,
        seed: 5,
        resampling,
        ..BootstrapOptions::default()
    };
    let rounds = resample(comparisons, &estimate, &FitOptions::default(), &options).unwrap();
    let fit_options = FitOptions::default();
    let source = Source::new(comparisons, &estimate, &fit_options, &options).unwrap();
    let (n_models, n_features) = (comparisons.n_models(), comparisons.n_features());
    for (round, found) in rounds.draws.chunks_exact(n_models + n_features).enumerate() {
        let mut scratch = source.scratch();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        rng.set_stream(round as u64);
        source.draw(&mut rng, &mut scratch);
        if resampling == Resampling::Battles {
            let drawn: f64 = scratch.multiplicities.iter().sum();
            assert_eq!(drawn, comparisons.n_battles() as f64);
        }
        let (mut rows, mut features) = (Vec::new(), Vec::new());
        for (idx, cell) in comparisons.cells().enumerate() {
            if scratch.multiplicities[idx] > 0.0 {
                rows.push(
                    Comparison::new(cell.i, cell.j, cell.outcome)
                        .with_weight(cell.weight)
                        .with_count(scratch.multiplicities[idx] as u64),
                );
                features.extend(comparisons.features_of(idx));
            }
        }
        let columns = Columns {
            n_features,
            features: &features,
            clusters: None,
        };
        let drawn = Comparisons::with_columns(n_models, &rows, columns).unwrap();
        let expected = fit(&drawn, &fit_options).unwrap();
        let mean = found[..n_models].iter().sum::<f64>() / n_models as f64;
        for (found, expected) in found.iter().zip(&expected.strengths) {
            assert!((found - mean - expected).abs() < 1e-11, "round {round}");
        }
        for (found, expected) in found[n_models..].iter().zip(&expected.coefficients) {
            assert!((found - expected).abs() < 1e-11, "round {round}");
        }
    }
}

#[test]
fn each_round_is_the_full_fit_of_what_was_drawn() {
    let rows = regular();
    check_round(
        &Comparisons::new(6, rows.clone()).unwrap(),
        Resampling::Battles,
    );
    let weighted: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(idx, row)| row.with_weight(1.0 + (idx % 3) as f64 / 2.0))
        .collect();
    check_round(&Comparisons::new(6, weighted).unwrap(), Resampling::Battles);
    let single = single_battles(&rows);
    let features: Vec<f64> = (0..2 * single.len()).map(feature).collect();
    let clusters: Vec<u32> = (0..single.len() as u32).map(|row| row % 97).collect();
    let columns = Columns {
        n_features: 2,
        features: &features,
        clusters: Some(&clusters),
    };
    let comparisons = Comparisons::with_columns(6, &single, columns).unwrap();
    check_round(&comparisons, Resampling::Battles);
    check_round(&comparisons, Resampling::Clusters);
}

#[test]
fn threads_change_no_bit_and_seeds_do() {
    let single = single_battles(&regular());
    let features: Vec<f64> = (0..single.len()).map(feature).collect();
    let columns = Columns {
        n_features: 1,
        features: &features,
        clusters: None,
    };
    for comparisons in [
        Comparisons::new(6, regular()).unwrap(),
        Comparisons::with_columns(6, &single, columns).unwrap(),
    ] {
        let of = |threads, seed| {
            let options = BootstrapOptions {
                rounds: 23,
                seed,
                threads,
                ..BootstrapOptions::default()
            };
            bits(&run(&comparisons, &options))
        };
        let one = of(1, 9);
        for threads in [2, 5, 40] {
            assert_eq!(of(threads, 9), one, "{threads} threads");
        }
        assert_ne!(of(1, 10), one);
    }
}

/// Compares standard errors and ends of many rounds with a sandwich.
#[track_caller]
fn check_sandwich(
    comparisons: &Comparisons,
    resampling: Resampling,
    method: CovarianceMethod,
    n_rounds: usize,
) {
    let options = LeaderboardOptions {
        covariance: method,
        ..LeaderboardOptions::default()
    };
    let board = leaderboard(comparisons, &options).unwrap();
    let main = board.main();
    let fitted = main.fitted.as_ref().unwrap();
    let rounds = BootstrapOptions {
        rounds: n_rounds,
        seed: 1,
        threads: 2,
        resampling,
    };
    let rounds = bootstrap(comparisons, fitted, &options, &rounds).unwrap();
    assert_eq!(rounds.degenerate_rounds, 0);
    let tolerance = 0.02 + 3.5 / (2.0 * n_rounds as f64).sqrt();
    for entry in &main.entries {
        let sandwich = entry.interval.unwrap();
        let found = rounds.interval(entry.model, 0.95).unwrap().unwrap();
        let ratio = found.standard_error / sandwich.standard_error;
        // A standard deviation from n rounds has a relative error of 1 / √(2 n), and the data are finite.
        assert!((ratio - 1.0).abs() < tolerance, "{ratio}");
        for (found, expected) in [(found.lower, sandwich.lower), (found.upper, sandwich.upper)] {
            assert!((found - expected).abs() < 3.0 * tolerance * sandwich.standard_error);
        }
    }
    for (feature, coefficient) in main.coefficients.iter().enumerate() {
        let found = rounds.coefficient_interval(feature, 0.95).unwrap().unwrap();
        let ratio = found.standard_error / coefficient.standard_error;
        assert!((ratio - 1.0).abs() < tolerance, "{ratio}");
    }
}

#[test]
fn many_rounds_agree_with_the_sandwich_on_regular_battles() {
    check_sandwich(
        &Comparisons::new(6, regular()).unwrap(),
        Resampling::Battles,
        CovarianceMethod::Sandwich,
        2_000,
    );
    let single = single_battles(&regular());
    let features: Vec<f64> = (0..single.len()).map(feature).collect();
    // Voters with one to three battles each, who do not always vote independently of themselves.
    let clusters: Vec<u32> = (0..single.len() as u32).map(|row| row / 2).collect();
    let columns = Columns {
        n_features: 1,
        features: &features,
        clusters: Some(&clusters),
    };
    let comparisons = Comparisons::with_columns(6, &single, columns).unwrap();
    check_sandwich(
        &comparisons,
        Resampling::Battles,
        CovarianceMethod::Sandwich,
        400,
    );
    check_sandwich(
        &comparisons,
        Resampling::Clusters,
        CovarianceMethod::ClusteredSandwich,
        400,
    );
}

#[test]
fn a_rare_model_makes_rounds_degenerate_and_they_are_counted() {
    let mut rows = regular();
    // Two battles: undrawn or one-sided in most rounds.
    rows.push(Comparison::new(0, 6, 1.0));
    rows.push(Comparison::new(0, 6, 0.0));
    let comparisons = Comparisons::new(7, rows).unwrap();
    let rounds = run(&comparisons, &BootstrapOptions::default());
    // It has a finite estimate when each of its two battles was drawn at least once: (1 − e⁻¹)² = 0.40 of the rounds.
    let share = rounds.degenerate_of[6] as f64 / 1_000.0;
    assert!((share - 0.6).abs() < 0.06, "{share}");
    assert_eq!(rounds.degenerate_rounds, rounds.degenerate_of[6]);
    assert_eq!(rounds.degenerate_share(), share);
    assert_eq!(rounds.degenerate_of[..6], [0; 6]);
    let rare = rounds.interval(6, 0.95).unwrap().unwrap();
    assert_eq!(rare.rounds, 1_000 - rounds.degenerate_of[6]);
    assert_eq!(rounds.ratings_of(6).flatten().count(), rare.rounds);

    // The differences of the others do not notice: they are fitted in every round.
    let without = run(
        &Comparisons::new(6, regular()).unwrap(),
        &BootstrapOptions::default(),
    );
    let spread = |rounds: &Bootstrap| {
        let differences = rounds
            .ratings_of(1)
            .zip(rounds.ratings_of(2))
            .map(|(x, y)| x.unwrap() - y.unwrap());
        interval_of(differences.collect(), 0.95).unwrap()
    };
    let ratio = spread(&rounds).standard_error / spread(&without).standard_error;
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn only_ties_have_no_interval_and_the_anchor_one_without_width() {
    let ties = [
        Comparison::new(0, 1, 0.5).with_count(20),
        Comparison::new(1, 2, 0.5).with_count(20),
    ];
    let rounds = run(
        &Comparisons::new(3, ties).unwrap(),
        &BootstrapOptions::default(),
    );
    assert_eq!(rounds.interval(0, 0.95), Ok(None));

    let comparisons = Comparisons::new(6, regular()).unwrap();
    let options = LeaderboardOptions {
        anchor: Anchor::Model {
            model: 2,
            rating: 1114.0,
        },
        ..LeaderboardOptions::default()
    };
    let board = leaderboard(&comparisons, &options).unwrap();
    let fitted = board.main().fitted.as_ref().unwrap();
    let few = BootstrapOptions {
        rounds: 50,
        ..BootstrapOptions::default()
    };
    let rounds = bootstrap(&comparisons, fitted, &options, &few).unwrap();
    let anchor = rounds.interval(2, 0.95).unwrap().unwrap();
    assert!((anchor.lower - 1114.0).abs() < 1e-9 && (anchor.upper - 1114.0).abs() < 1e-9);
    assert_eq!(rounds.interval(6, 0.95), Ok(None));
    assert_eq!(rounds.coefficient_interval(0, 0.95), Ok(None));
    assert!(rounds.interval(0, 95.0).is_err());
}

#[test]
fn a_round_whose_features_separate_the_outcomes_counts_against_everybody() {
    // Six battles and a feature that tells most outcomes: many rounds have no finite estimate.
    let rows = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0].map(|outcome| Comparison::new(0, 1, outcome));
    let columns = Columns {
        n_features: 1,
        features: &[1.0, -0.8, 0.6, -0.4, -0.2, 0.3],
        clusters: None,
    };
    let comparisons = Comparisons::with_columns(2, &rows, columns).unwrap();
    let rounds = run(
        &comparisons,
        &BootstrapOptions {
            rounds: 200,
            ..BootstrapOptions::default()
        },
    );
    assert!(rounds.degenerate_rounds > 50 && rounds.degenerate_rounds < 200);
    assert_eq!(rounds.degenerate_of, [rounds.degenerate_rounds; 2]);
}

#[test]
fn options_and_inputs_that_do_not_fit_are_refused() {
    let comparisons = Comparisons::new(6, regular()).unwrap();
    let options = LeaderboardOptions::default();
    let board = leaderboard(&comparisons, &options).unwrap();
    let fitted = board.main().fitted.as_ref().unwrap();
    let check = |bootstrap_options: BootstrapOptions| {
        bootstrap(&comparisons, fitted, &options, &bootstrap_options).unwrap_err()
    };
    let default = BootstrapOptions::default();
    for wrong in [
        BootstrapOptions {
            rounds: 0,
            ..default
        },
        BootstrapOptions {
            threads: 0,
            ..default
        },
    ] {
        assert!(matches!(check(wrong), Error::Option { .. }));
    }
    let clusters = BootstrapOptions {
        resampling: Resampling::Clusters,
        ..default
    };
    assert_eq!(check(clusters), Error::NoClusters);
    let fewer = Comparisons::new(2, [Comparison::new(0, 1, 0.5)]).unwrap();
    assert!(bootstrap(&fewer, fitted, &options, &default).is_err());
    // The covariance is not what the rounds are made of.
    assert!(Covariance::of(&fitted.fit, &comparisons, CovarianceMethod::Sandwich).is_ok());
}
