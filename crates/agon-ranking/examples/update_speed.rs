//! Times what a running arena does after each vote: the board anew, from the one before.
//!
//! `cargo run --release -p agon-ranking --example update_speed -- [THREADS] [MODELS,...]`

use std::num::NonZeroUsize;
use std::time::Instant;

use agon_ranking::{Comparison, Comparisons, LeaderboardOptions, leaderboard, leaderboard_from};

/// Best and median of fifty times, in milliseconds.
fn times_ms<T>(mut work: impl FnMut() -> T) -> (f64, f64, T) {
    let mut times = Vec::new();
    let mut last = None;
    for _ in 0..50 {
        let start = Instant::now();
        let result = work();
        times.push(start.elapsed().as_secs_f64() * 1e3);
        last = Some(result);
    }
    times.sort_by(f64::total_cmp);
    (times[0], times[25], last.expect("there are fifty rounds"))
}

#[expect(
    clippy::print_stdout,
    reason = "a program for people: its output is the table"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let n_threads: NonZeroUsize = arguments.next().as_deref().unwrap_or("1").parse()?;
    let sizes = arguments.next().unwrap_or("19,100,250,500,1000".to_owned());
    println!(
        "models   cells  input ms  one more ms  board ms  board from ms  its median  largest difference"
    );
    for n_models in sizes.split(',') {
        let n_models: u32 = n_models.parse()?;
        let mut rows = Vec::new();
        for a in 0..n_models {
            for b in a + 1..n_models {
                // Strengths in even steps over four nats; the counts follow them, with some unevenness.
                let gap = 4.0 * f64::from(b - a) / f64::from(n_models);
                let wins = 100.0 / (1.0 + (-gap).exp());
                let noise = u64::from((a * 7 + b * 13) % 11);
                rows.push(Comparison::new(a, b, 1.0).with_count(wins as u64 + noise));
                rows.push(Comparison::new(b, a, 1.0).with_count(100 - wins as u64 + noise));
                rows.push(Comparison::new(a, b, 0.5).with_count(20 + noise));
            }
        }
        let options = LeaderboardOptions {
            n_threads,
            ..LeaderboardOptions::default()
        };
        let (input_ms, _, comparisons) =
            times_ms(|| Comparisons::new(n_models as usize, rows.iter().copied()));
        let mut comparisons = comparisons?;
        let (board_ms, _, before) = times_ms(|| leaderboard(&comparisons, &options));
        let before = before?;
        let start = Instant::now();
        comparisons.add(Comparison::new(3, 11, 1.0))?;
        let add_ms = start.elapsed().as_secs_f64() * 1e3;
        let (from_ms, median_ms, after) =
            times_ms(|| leaderboard_from(&before, &comparisons, &options));
        let (after, expected) = (after?, leaderboard(&comparisons, &options)?);
        let entries = after.main().entries.iter().zip(&expected.main().entries);
        let difference = entries
            .map(|(x, y)| {
                let half = |entry: &agon_ranking::Entry| {
                    entry
                        .interval
                        .map_or(0.0, |interval| interval.standard_error)
                };
                (x.rating - y.rating).abs().max((half(x) - half(y)).abs())
            })
            .fold(0.0, f64::max);
        println!(
            "{n_models:6}  {:6}  {input_ms:8.3}  {add_ms:11.3}  {board_ms:8.3}  {from_ms:13.3}  {median_ms:10.3}  {difference:.1e}",
            rows.len()
        );
    }
    Ok(())
}
