//! Times bootstraps with full refits, a board after one more vote, and simultaneous places.
//!
//! `cargo run --release -p agon-ranking --example bootstrap_speed`

use std::time::Instant;

use agon_ranking::{
    BootstrapOptions, Columns, Comparison, Comparisons, LeaderboardOptions, SimultaneousOptions,
    bootstrap, leaderboard, leaderboard_from, simultaneous,
};

/// The best of several runs, in milliseconds.
fn best_of<T>(
    runs: usize,
    mut work: impl FnMut() -> Result<T, agon_ranking::Error>,
) -> Result<f64, agon_ranking::Error> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        std::hint::black_box(work()?);
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}

/// Battles of models with strengths in even steps, about `battles` of them, as counts.
fn counts(n_models: u32, battles: u64) -> Vec<Comparison> {
    let pairs = u64::from(n_models) * u64::from(n_models - 1) / 2;
    let each = battles as f64 / pairs as f64;
    let mut rows = Vec::new();
    for a in 0..n_models {
        for b in a + 1..n_models {
            let gap = 4.0 * f64::from(b - a) / f64::from(n_models);
            let p = 0.75 / (1.0 + (-gap).exp());
            let noise = f64::from((a * 7 + b * 13) % 11) / 11.0;
            for (outcome, share) in [(1.0, p), (0.0, 0.75 - p), (0.5, 0.25)] {
                let count = (each * share + noise) as u64;
                if count > 0 {
                    rows.push(Comparison::new(a, b, outcome).with_count(count));
                }
            }
        }
    }
    rows
}

#[expect(
    clippy::print_stdout,
    reason = "a program for people: its output is the table"
)]
fn main() -> Result<(), agon_ranking::Error> {
    let options = LeaderboardOptions::default();
    let plain_rows = counts(19, 30_000);
    let plain = Comparisons::new(19, plain_rows.iter().copied())?;
    let mut rows = Vec::new();
    for row in &plain_rows {
        rows.extend(std::iter::repeat_n(row.with_count(1), row.count as usize));
    }
    // Four features with many values and no pattern that the outcomes follow.
    let mut state = 1_u64;
    let features: Vec<f64> = (0..4 * rows.len())
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1 << 23) as f64 - 1.0
        })
        .collect();
    let columns = Columns {
        n_features: 4,
        features: &features,
        clusters: None,
    };
    let style = Comparisons::with_columns(19, &rows, columns)?;
    println!("1,000 rounds, full refits          battles  threads        ms");
    for (name, comparisons) in [("plain", &plain), ("four features", &style)] {
        let board = leaderboard(comparisons, &options)?;
        let Some(fitted) = &board.main().fitted else {
            continue;
        };
        for threads in [1, 2] {
            let rounds = BootstrapOptions {
                threads,
                ..BootstrapOptions::default()
            };
            let ms = best_of(3, || bootstrap(comparisons, fitted, &options, &rounds))?;
            println!(
                "{name:33}  {:8}  {threads:7}  {ms:8.1}",
                comparisons.n_battles()
            );
        }
        let ms = best_of(5, || leaderboard(comparisons, &options))?;
        println!(
            "{name:33}  {:8}  board    {ms:8.3}",
            comparisons.n_battles()
        );
        let ms = best_of(3, || {
            simultaneous(fitted, &options, &SimultaneousOptions::default())
        })?;
        println!(
            "{name:33}  {:8}  places   {ms:8.1}",
            comparisons.n_battles()
        );
    }

    let mut rows = counts(250, 2_000_000);
    let before = leaderboard(&Comparisons::new(250, rows.iter().copied())?, &options)?;
    rows.push(Comparison::new(3, 200, 0.0));
    let comparisons = Comparisons::new(250, rows.iter().copied())?;
    let cold = best_of(7, || leaderboard(&comparisons, &options))?;
    let warm = best_of(7, || leaderboard_from(&before, &comparisons, &options))?;
    let after = leaderboard_from(&before, &comparisons, &options)?;
    let iterations = after
        .main()
        .fitted
        .as_ref()
        .map_or(0, |fitted| fitted.fit.certificate.iterations);
    println!(
        "250 models, one vote more: {cold:.2} ms from 0, {warm:.2} ms from before ({iterations} steps)"
    );
    if let Some(fitted) = &after.main().fitted {
        let ms = best_of(1, || {
            simultaneous(fitted, &options, &SimultaneousOptions::default())
        })?;
        println!("250 models, 10,000 simulated boards: {ms:.0} ms");
    }
    Ok(())
}
