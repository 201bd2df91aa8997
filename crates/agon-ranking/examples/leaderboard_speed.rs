//! Times a whole leaderboard: every pair of models with wins, losses and ties, fitted with intervals and places.
//!
//! `cargo run --release -p agon-ranking --example leaderboard_speed`

use std::time::Instant;

use agon_ranking::{
    Comparison, Comparisons, Covariance, CovarianceMethod, FitOptions, LeaderboardOptions, fit,
    leaderboard,
};

#[expect(
    clippy::print_stdout,
    reason = "a program for people: its output is the table"
)]
fn main() -> Result<(), agon_ranking::Error> {
    println!("models   cells  input ms  fit ms  covariance ms  leaderboard ms  iterations");
    for n_models in [19_u32, 100, 250, 500] {
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
        let mut input_ms = f64::INFINITY;
        let mut fit_ms = f64::INFINITY;
        let mut covariance_ms = f64::INFINITY;
        let mut leaderboard_ms = f64::INFINITY;
        let mut iterations = 0;
        for _ in 0..7 {
            let start = Instant::now();
            let comparisons = Comparisons::new(n_models as usize, rows.iter().copied())?;
            input_ms = input_ms.min(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            let fit = fit(&comparisons, &FitOptions::default())?;
            fit_ms = fit_ms.min(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            Covariance::of(&fit, &comparisons, CovarianceMethod::Sandwich)?;
            covariance_ms = covariance_ms.min(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            let board = leaderboard(&comparisons, &LeaderboardOptions::default())?;
            leaderboard_ms = leaderboard_ms.min(start.elapsed().as_secs_f64() * 1e3);
            iterations = board
                .main()
                .fitted
                .as_ref()
                .map_or(0, |fitted| fitted.fit.certificate.iterations);
        }
        println!(
            "{n_models:6}  {:6}  {input_ms:8.3}  {fit_ms:6.3}  {covariance_ms:13.3}  {leaderboard_ms:14.3}  {iterations:10}",
            rows.len()
        );
    }
    Ok(())
}
