//! Simulated arenas with known strengths: estimates find them, and intervals cover them as often as they say.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::entry;
use crate::{Anchor, Comparison, Comparisons, CovarianceMethod, LeaderboardOptions, leaderboard};

/// Strengths in nats and how eagerly each model is drawn: the last is met about forty times less than the first.
const MODELS: [(f64, f64); 8] = [
    (1.2, 1.0),
    (0.8, 0.9),
    (0.5, 0.7),
    (0.1, 0.5),
    (-0.2, 0.3),
    (-0.4, 0.2),
    (-0.9, 0.1),
    (-1.1, 0.025),
];

/// One arena of `battles` battles. Ties take up to 0.3 of what is uncertain, and leave the expected score alone.
fn arena(rng: &mut ChaCha8Rng, battles: usize) -> Comparisons {
    let total: f64 = MODELS.iter().map(|(_, share)| share).sum();
    let draw = |rng: &mut ChaCha8Rng| {
        let mut point = rng.random::<f64>() * total;
        MODELS
            .iter()
            .position(|(_, share)| {
                point -= share;
                point < 0.0
            })
            .unwrap_or(0)
    };
    let mut counts = [[[0_u64; 3]; MODELS.len()]; MODELS.len()];
    let mut drawn = 0;
    while drawn < battles {
        let (a, b) = (draw(rng), draw(rng));
        if a == b {
            continue;
        }
        let p = 1.0 / (1.0 + (MODELS[b].0 - MODELS[a].0).exp());
        let tie = 0.6 * p.min(1.0 - p);
        let point: f64 = rng.random();
        // Twice the score of `a`.
        let halves = if point < tie {
            1
        } else if point < p + tie / 2.0 {
            2
        } else {
            0
        };
        counts[a][b][halves] += 1;
        drawn += 1;
    }
    let mut rows = Vec::new();
    for (a, row) in counts.iter().enumerate() {
        for (b, cell) in row.iter().enumerate() {
            for (halves, &count) in cell.iter().enumerate().filter(|(_, count)| **count > 0) {
                let outcome = halves as f64 / 2.0;
                rows.push(Comparison::new(a as u32, b as u32, outcome).with_count(count));
            }
        }
    }
    Comparisons::new(MODELS.len(), rows).unwrap()
}

/// Share of intervals that cover the truth, over all models and arenas.
fn coverage(anchor: Anchor, covariance: CovarianceMethod) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(20_240_229);
    let options = LeaderboardOptions {
        anchor,
        covariance,
        ..LeaderboardOptions::default()
    };
    let (mut covered, mut all) = (0.0, 0.0);
    for _ in 0..300 {
        let comparisons = arena(&mut rng, 4_000);
        let board = leaderboard(&comparisons, &options).unwrap();
        let fitted = board.main().fitted.as_ref().unwrap();
        assert_eq!(fitted.models.len(), MODELS.len());
        let weight = |model: usize| match anchor {
            Anchor::WeightedMean => comparisons.record(model).battles as f64,
            _ => 1.0,
        };
        let total: f64 = (0..MODELS.len()).map(weight).sum();
        let location = MODELS
            .iter()
            .enumerate()
            .map(|(model, (truth, _))| weight(model) * truth)
            .sum::<f64>()
            / total;
        for (model, (truth, _)) in MODELS.iter().enumerate() {
            let truth = 1000.0 + options.points_per_nat() * (truth - location);
            let interval = entry(&board, model).interval.unwrap();
            all += 1.0;
            if interval.lower <= truth && truth <= interval.upper {
                covered += 1.0;
            }
        }
    }
    covered / all
}

#[test]
fn intervals_cover_as_often_as_they_say() {
    for anchor in [Anchor::Mean, Anchor::WeightedMean] {
        let share = coverage(anchor, CovarianceMethod::Sandwich);
        println!("coverage under {anchor:?}: {share:.4}");
        assert!((share - 0.95).abs() < 0.01, "{anchor:?}: {share}");
    }
    // With ties as half wins the model's own variance is too large.
    let share = coverage(Anchor::Mean, CovarianceMethod::ModelBased);
    println!("coverage of model-based intervals: {share:.4}");
    assert!(share > 0.965, "{share}");
}

#[test]
fn a_large_arena_finds_the_true_strengths() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let comparisons = arena(&mut rng, 400_000);
    let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
    let mean = MODELS.iter().map(|(truth, _)| truth).sum::<f64>() / MODELS.len() as f64;
    for (model, (truth, _)) in MODELS.iter().enumerate() {
        let entry = entry(&board, model);
        let truth = 1000.0 + LeaderboardOptions::default().points_per_nat() * (truth - mean);
        let error = entry.interval.unwrap().standard_error;
        assert!((entry.rating - truth).abs() < 4.0 * error && error < 8.0);
    }
}
