//! Times boards of many overlapping slices of the same battles, plain and with four style features.
//!
//! `cargo run --release -p agon-ranking --example slices -- [THREADS]`
//!
//! 2 million battles of 282 models in 29 slices of very different sizes. Slices are worked on side by side, each on one
//! thread.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use agon_ranking::{Comparisons, Error, LeaderboardOptions, Rows, leaderboard};

const MODELS: u32 = 282;
const SLICES: usize = 29;
const ROWS: u32 = 2_000_000;

/// A number that looks like chance (splitmix64; Steele, Lea & Flood 2014).
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[expect(
    clippy::print_stdout,
    reason = "a program for people: its output is the table"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n_threads: usize = std::env::args().nth(1).as_deref().unwrap_or("2").parse()?;
    let (mut model_a, mut model_b, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    let mut features = vec![Vec::new(); 4];
    let mut slices = vec![Vec::new(); SLICES];
    for row in 0..ROWS {
        let chance = |k: u64| mixed(u64::from(row) * 16 + k);
        let a = (chance(0) % u64::from(MODELS)) as u32;
        let b = (a + 1 + (chance(1) % u64::from(MODELS - 1)) as u32) % MODELS;
        let mut odds = 3.0 * (f64::from(b) - f64::from(a)) / f64::from(MODELS);
        for (f, column) in features.iter_mut().enumerate() {
            let most = if f == 0 { 2_000 } else { 40 };
            let (x, y) = (chance(2 + f as u64) % most, chance(6 + f as u64) % most);
            let value = (x as f64 - y as f64) / (x + y + 1) as f64;
            odds += 0.3 * value;
            column.push(value);
        }
        let unit = (chance(10) >> 11) as f64 / (1_u64 << 53) as f64;
        let won = unit < 1.0 / (1.0 + (-odds).exp());
        let tie = chance(11).is_multiple_of(5);
        model_a.push(a);
        model_b.push(b);
        scores.push(if tie { 0.5 } else { f64::from(u8::from(won)) });
        // The first slice holds everything, the next ones less and less.
        for (slice, rows) in slices.iter_mut().enumerate() {
            if chance(12).is_multiple_of(1 + slice as u64) {
                rows.push(row);
            }
        }
    }
    let total: usize = slices.iter().map(Vec::len).sum();
    let columns: Vec<&[f64]> = features.iter().map(|column| &column[..]).collect();
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let board = |slice: usize, features: &[&[f64]]| -> Result<usize, Error> {
        let rows = Rows {
            model_a: &model_a,
            model_b: &model_b,
            scores: &scores,
            features,
            subset: Some(&slices[slice]),
            ..Rows::default()
        };
        let comparisons = Comparisons::from_rows(MODELS as usize, rows, NonZeroUsize::MIN)?;
        Ok(leaderboard(&comparisons, &LeaderboardOptions::default())?
            .main()
            .entries
            .len())
    };
    let results: Vec<Result<usize, Error>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let slice = next.fetch_add(1, Ordering::Relaxed);
                        if slice >= SLICES {
                            return done;
                        }
                        done.push(board(slice, &[]));
                        done.push(board(slice, &columns));
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_default())
            .collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let mut boards = 0;
    for result in results {
        result?;
        boards += 1;
    }
    println!(
        "{boards} boards of {total} battles in {SLICES} slices, {n_threads} threads: {seconds:.2} s"
    );
    Ok(())
}
