//! Influence, bias, judges, calibration and the grounded tie model on the reference sets of published and simulated votes.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Instant;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

use super::{close, testdata};
use crate::calibration::{calibration, condition_number, rated_comparisons};
use crate::influence::{
    Fragility, InfluenceOptions, fewest_judges, fewest_votes, judge_concentration, side_bias,
    votes_of_judges,
};
use crate::ties::{Optimum, TieComparisons, TieCounts, TieFitOptions, TieModel, fit_ties};
use crate::{
    Columns, Comparison, Comparisons, CovarianceMethod, Fitted, LeaderboardOptions, leaderboard,
};

/// The large fixture: comparisons with judges, the rows they came from, and counts of all four outcomes.
struct Large {
    names: Vec<String>,
    rows: Vec<Comparison>,
    judges: Vec<u32>,
    outcomes: TieComparisons,
}

fn large() -> Option<Large> {
    let path = testdata("votes/ranking-fixtures/battles-30k.parquet")?;
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let mut battles = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let text = |name: &str| {
            let idx = row.get_column_iter().position(|(column, _)| column == name);
            row.get_string(idx.unwrap()).unwrap().clone()
        };
        battles.push(["model_a", "model_b", "winner", "judge"].map(text));
    }
    let mut names: Vec<String> = battles
        .iter()
        .flat_map(|[a, b, ..]| [a.clone(), b.clone()])
        .collect();
    names.sort();
    names.dedup();
    let index = |name: &String| names.binary_search(name).unwrap() as u32;
    let mut numbers = BTreeMap::new();
    let (mut rows, mut judges, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for [a, b, winner, judge] in &battles {
        let (a, b) = (index(a), index(b));
        let mut count = TieCounts::new(a, b);
        let outcome = match winner.as_str() {
            "model_a" => {
                count.wins_a = 1;
                1.0
            }
            "model_b" => {
                count.wins_b = 1;
                0.0
            }
            "tie" => {
                count.ties = 1;
                0.5
            }
            "tie (bothbad)" => {
                count.both_bad = 1;
                0.5
            }
            other => panic!("unknown winner {other}"),
        };
        rows.push(Comparison::new(a, b, outcome));
        counts.push(count);
        let next = numbers.len() as u32;
        judges.push(*numbers.entry(judge.clone()).or_insert(next));
    }
    let outcomes = TieComparisons::new(names.len(), counts).unwrap();
    Some(Large {
        names,
        rows,
        judges,
        outcomes,
    })
}

fn fitted(comparisons: &Comparisons) -> Fitted {
    let board = leaderboard(comparisons, &LeaderboardOptions::default()).unwrap();
    board.main().fitted.clone().unwrap()
}

#[test]
fn the_large_fixture_has_a_few_votes_and_judges_on_which_its_places_hang() {
    let Some(large) = large() else {
        return;
    };
    let plain = Comparisons::new(large.names.len(), large.rows.iter().copied()).unwrap();
    let columns = Columns {
        n_features: 0,
        features: &[],
        clusters: Some(&large.judges),
    };
    let judged = Comparisons::with_columns(large.names.len(), &large.rows, columns).unwrap();
    let fit = fitted(&plain);
    let options = InfluenceOptions::default();
    let report = |what: &str, top: usize, fragility: &Fragility, start: Instant| {
        println!(
            "top {top}: {} votes of {what} ({:.4} %), {} judges, `{}` leaves, {:?} predicted, {:.0} ms",
            fragility.votes,
            100.0 * fragility.share,
            fragility.judges.len(),
            large.names[fragility.leaves],
            fragility.predicted,
            start.elapsed().as_secs_f64() * 1e3
        );
        assert!(fragility.verified && fragility.votes > 0 && fragility.share < 0.05);
        assert_eq!(fragility.top.len(), top);
    };
    for top in [1, 3, 5, 8] {
        let start = Instant::now();
        let votes = fewest_votes(&plain, &fit, top, &options).unwrap();
        report("single votes", top, &votes, start);
        if ![1, 8].contains(&top) {
            continue;
        }
        let start = Instant::now();
        let judges = fewest_judges(&judged, &fit, top, &options).unwrap();
        report("whole judges", top, &judges, start);
        // A judge takes along votes that help the other side.
        assert!(judges.judges.len() as u64 <= judges.votes);
    }

    let votes = votes_of_judges(&judged).unwrap();
    let spread = judge_concentration(votes.iter().map(|&(_, count)| count)).unwrap();
    println!("{spread:?}");
    assert_eq!((spread.judges, spread.votes), (12_904, 30_000));

    // The generator has no advantage of a side.
    let bias = side_bias(large.names.len(), &large.rows, Some(&large.judges), 0.999).unwrap();
    println!("{bias:?}");
    assert!(bias.score_lower < 0.5 && 0.5 < bias.score_upper);
    assert!(bias.score_upper - bias.score_lower < 0.03);
}

#[test]
fn the_large_fixture_is_described_by_its_fit() {
    let Some(large) = large() else {
        return;
    };
    let comparisons = Comparisons::new(large.names.len(), large.rows.iter().copied()).unwrap();
    let fit = fitted(&comparisons);
    let inside = rated_comparisons(&comparisons, &fit.models).unwrap();
    let found = calibration(&fit.fit, &inside, 10, 0.95).unwrap();
    let condition = condition_number(&fit.fit).unwrap();
    println!(
        "calibration error {:.4}, deviance {:.1} and χ² {:.1} on {}, condition {condition:.1}",
        found.calibration_error, found.deviance, found.pearson, found.degrees_of_freedom
    );
    assert!(found.calibration_error < 0.02);
    assert!(found.dispersion.unwrap() < 1.2);
    assert!(condition > 1.0 && condition < 1e4);
    // The optimum has every model's score equal to its expectation, so all residuals cancel.
    let battles: u64 = found.pairs.iter().map(|pair| pair.battles).sum();
    assert_eq!(battles, 30_000);
    let signed = found.bins.iter().map(|bin| bin.battles).sum::<u64>();
    assert_eq!(signed, 30_000);
    for model in 0..fit.models.len() as u32 {
        let gap: f64 = found
            .pairs
            .iter()
            .filter(|pair| pair.a == model || pair.b == model)
            .map(|pair| {
                let sign = if pair.a == model { 1.0 } else { -1.0 };
                sign * pair.battles as f64 * (pair.observed - pair.predicted)
            })
            .sum();
        close(gap, 0.0, 1e-6, "expected minus observed score");
    }
}

#[test]
fn the_large_fixture_has_levels_under_the_grounded_model() {
    let Some(large) = large() else {
        return;
    };
    let options = TieFitOptions::default();
    let merged = large.outcomes.with_both_bad_as_ties();
    for (model, counts) in [
        (TieModel::Davidson, &merged),
        (TieModel::RaoKupper, &merged),
        (TieModel::GroundedRaoKupper, &large.outcomes),
    ] {
        let start = Instant::now();
        let fit = fit_ties(counts, model, &options).unwrap();
        let covariance = fit.covariance(counts, CovarianceMethod::Sandwich).unwrap();
        let elapsed = start.elapsed();
        let tie = fit.tie_estimate(&covariance, 0.95).unwrap();
        println!(
            "{model:?}: tie {:.4} ({:.4} to {:.4}), {:?}, gradient {:.1e}, {} steps, {:.1} ms",
            tie.estimate,
            tie.lower,
            tie.upper,
            fit.optimum,
            fit.certificate.gradient_max,
            fit.certificate.iterations,
            elapsed.as_secs_f64() * 1e3
        );
        assert!(fit.certificate.gradient_max <= fit.certificate.gradient_limit);
        if model != TieModel::GroundedRaoKupper {
            assert_eq!(fit.optimum, Optimum::Global);
            continue;
        }
        assert!(matches!(fit.optimum, Optimum::Local { starts, agreeing } if starts == agreeing));
        let levels = fit.good_enough_estimates(&covariance, 0.95).unwrap();
        for (name, level) in large.names.iter().zip(&levels) {
            let level = level.unwrap();
            println!(
                "  {name}: good enough {:.3} ({:.3} to {:.3})",
                level.estimate, level.lower, level.upper
            );
            assert!(0.0 < level.lower && level.upper < 1.0);
        }
        // Expected and seen numbers of "both bad" agree to what a model that need not reproduce them leaves.
        let (mut expected, mut seen) = (0.0, 0.0);
        for pair in counts.pairs() {
            let p = fit.probabilities(pair.a as usize, pair.b as usize).unwrap();
            expected += pair.battles() as f64 * p.both_bad;
            seen += pair.both_bad as f64;
        }
        println!("  both bad: {expected:.1} expected, {seen} seen");
        close(expected / seen, 1.0, 0.03, "both bad");
    }
}
