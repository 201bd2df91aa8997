//! Times ordering, fit and intervals of 1 to 30 million battles with four features, made up from a seed.
//!
//! `cargo run --release -p agon-ranking --example scaling -- [THREADS] [MILLIONS,...] [MODELS] [FEATURES]`

use std::num::NonZeroUsize;
use std::time::Instant;

use agon_ranking::{
    Anchor, Comparisons, Covariance, FitOptions, LeaderboardOptions, Rows, leaderboard,
};

/// Numbers that look like chance (splitmix64; Steele, Lea & Flood 2014).
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Battles by column.
struct Battles {
    model_a: Vec<u32>,
    model_b: Vec<u32>,
    scores: Vec<f64>,
    features: Vec<Vec<f64>>,
}

fn battles(n_rows: usize, n_models: u32, n_features: usize) -> Battles {
    let mut chance = Sequence(7);
    let mut battles = Battles {
        model_a: Vec::with_capacity(n_rows),
        model_b: Vec::with_capacity(n_rows),
        scores: Vec::with_capacity(n_rows),
        features: vec![Vec::with_capacity(n_rows); n_features],
    };
    for _ in 0..n_rows {
        let a = (chance.next() % u64::from(n_models)) as u32;
        let b = (a + 1 + (chance.next() % u64::from(n_models - 1)) as u32) % n_models;
        let mut odds = 3.0 * (f64::from(b) - f64::from(a)) / f64::from(n_models);
        for (f, column) in battles.features.iter_mut().enumerate() {
            // Counts of the two sides, compared as style control does.
            let most = if f == 0 { 2_000 } else { 40 };
            let (x, y) = (chance.next() % most, chance.next() % most);
            let value = (x as f64 - y as f64) / (x + y + 1) as f64;
            odds += value * 0.5 / (f as f64 + 1.0);
            column.push(value);
        }
        let tie = chance.unit() < 0.2;
        let won = chance.unit() < 1.0 / (1.0 + (-odds).exp());
        battles.model_a.push(a);
        battles.model_b.push(b);
        battles
            .scores
            .push(if tie { 0.5 } else { f64::from(u8::from(won)) });
    }
    battles
}

/// Most memory the process had so far, in MB; 0 where the system does not say.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}

/// Processor time of all threads so far, in milliseconds; 0 where the system does not say.
fn processor_ms() -> u64 {
    /// Of Linux, on every machine that this is likely to run on.
    const TICKS_PER_SECOND: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum::<u64>()
        * 1_000
        / TICKS_PER_SECOND
}

fn current_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}

#[expect(
    clippy::print_stdout,
    reason = "a program for people: its output is the table"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |idx: usize, default: &str| arguments.get(idx).map_or(default.to_owned(), Clone::clone);
    let n_threads: NonZeroUsize = argument(0, "2").parse()?;
    let n_models: u32 = argument(2, "250").parse()?;
    let n_features: usize = argument(3, "4").parse()?;
    println!("{n_threads} threads, {n_models} models, {n_features} features");
    println!(
        "million rows  order ms  fit ms  covariance ms  order+leaderboard ms  of processors ms  extra MB  steps"
    );
    for millions in argument(1, "1,3,10,30").split(',') {
        let n_rows = (millions.parse::<f64>()? * 1e6) as usize;
        let battles = battles(n_rows, n_models, n_features);
        let columns: Vec<&[f64]> = battles.features.iter().map(|column| &column[..]).collect();
        let rows = Rows {
            model_a: &battles.model_a,
            model_b: &battles.model_b,
            scores: &battles.scores,
            features: &columns,
            ..Rows::default()
        };
        let before = current_mb();
        let options = LeaderboardOptions {
            n_threads,
            anchor: Anchor::Mean,
            fit: FitOptions::default(),
            ..LeaderboardOptions::default()
        };
        let processors_before = processor_ms();
        let start = Instant::now();
        let comparisons = Comparisons::from_rows(n_models as usize, rows, n_threads)?;
        let order_processors_ms = processor_ms() - processors_before;
        let order_ms = start.elapsed().as_secs_f64() * 1e3;
        let board = leaderboard(&comparisons, &options)?;
        let whole_ms = start.elapsed().as_secs_f64() * 1e3;
        let processors = format!(
            "{order_processors_ms}+{}",
            processor_ms() - processors_before - order_processors_ms
        );
        let extra = peak_mb().saturating_sub(before);
        let fitted = board.main().fitted.as_ref().ok_or("nobody is rated")?;
        let start = Instant::now();
        Covariance::of(&fitted.fit, &comparisons, options.covariance)?;
        let covariance_ms = start.elapsed().as_secs_f64() * 1e3;
        println!(
            "{millions:>12}  {order_ms:8.0}  {:6.0}  {covariance_ms:13.0}  {whole_ms:20.0}  {processors:>16}  {extra:8}  {:5}",
            whole_ms - order_ms,
            fitted.fit.certificate.iterations,
        );
    }
    Ok(())
}
