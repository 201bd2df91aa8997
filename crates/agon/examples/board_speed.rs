//! Times what a running arena computes after each vote: the board anew, with its checks, as the page shows it.
//!
//! `cargo run --release -p agon --example board_speed -- [THREADS] [MODELS,...]`

use std::{num::NonZeroUsize, time::Instant};

use agon::app::leaderboard::{InputBody, RankOptions, RunningBoard, Settings, Votes, rank};
use agon_domain::{Tally, Winner};

/// Votes of every pair on both sides, by strengths in even steps over four nats, with some unevenness.
fn votes(n_models: u32) -> Tally {
    let mut tally = Tally::new();
    let models: Vec<u32> = (0..n_models)
        .map(|model| tally.model(&format!("model-{model:04}")))
        .collect();
    for &a in &models {
        for &b in &models {
            if a != b {
                let gap = 4.0 * (f64::from(b) - f64::from(a)) / f64::from(n_models);
                let wins = 50.0 / (1.0 + (-gap).exp());
                let noise = u64::from((a * 7 + b * 13) % 11);
                tally.add(a, b, Winner::A, wins as u64 + noise);
                tally.add(a, b, Winner::B, 50 - wins as u64 + noise);
                tally.add(a, b, Winner::Tie, 10 + noise);
                tally.add(a, b, Winner::BothBad, 3);
            }
        }
    }
    tally
}

#[expect(
    clippy::print_stdout,
    reason = "a program for people: its output is the table"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let n_threads: NonZeroUsize = arguments.next().as_deref().unwrap_or("1").parse()?;
    let sizes = arguments.next().unwrap_or("19,100,250,500".to_owned());
    println!("models  pairs   scratch ms  one more ms: best  median  largest difference");
    for n_models in sizes.split(',') {
        let n_models: u32 = n_models.parse()?;
        let mut all = votes(n_models);
        let mut running = RunningBoard::of(all.clone())?;
        running.board(n_threads)?;
        let options = RankOptions {
            n_threads,
            ..RankOptions::default()
        };
        let scratch = |all: Tally| {
            let settings = Settings::default();
            rank(
                Votes::Counted(all),
                &settings,
                InputBody::default(),
                &options,
            )
        };
        let start = Instant::now();
        scratch(all.clone())?;
        let scratch_ms = start.elapsed().as_secs_f64() * 1e3;
        let mut times_ms = Vec::new();
        for n in 0..51_u32 {
            let mut vote = Tally::new();
            let (a, b) = (
                vote.model(&format!("model-{:04}", n % n_models)),
                vote.model(&format!("model-{:04}", (n + 7) % n_models)),
            );
            vote.add(a, b, Winner::ALL[n as usize % 4], 1);
            all.merge(&vote);
            let start = Instant::now();
            running.add(&vote)?;
            running.board(n_threads)?;
            times_ms.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times_ms.sort_by(f64::total_cmp);
        let (found, expected) = (running.board(n_threads)?, scratch(all)?);
        let rows = found.leaderboards[0].models.iter();
        let difference = rows
            .zip(&expected.leaderboards[0].models)
            .map(|(row, wanted)| {
                let upper = row.rating_upper.zip(wanted.rating_upper);
                let upper = upper.map_or(0.0, |(x, y)| (x - y).abs());
                (row.rating - wanted.rating).abs().max(upper)
            })
            .fold(0.0, f64::max);
        println!(
            "{n_models:6}  {:6}  {scratch_ms:10.3}  {:17.3}  {:6.3}  {difference:.1e}",
            n_models * (n_models - 1),
            times_ms[0],
            times_ms[25]
        );
    }
    Ok(())
}
