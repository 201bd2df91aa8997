//! Exact Davidson fits and evalica's Newman scores of the reference sets; real votes under all three models.

use super::{close, csv_rows, json, numbers, testdata};
use crate::ties::{TieComparisons, TieCounts, TieFit, TieFitOptions, TieModel, fit_ties};

/// Counts of evalica's sets or of the 30k set, numbered like the names.
fn counted(set: &str, names: &[String]) -> TieComparisons {
    let (path, by_score) = match set {
        "30k" => ("votes/ranking-fixtures/bt_30k_counts.csv".to_owned(), true),
        _ => (format!("votes/evalica/{set}.csv"), false),
    };
    let index = |name: &str| names.iter().position(|other| other == name).unwrap() as u32;
    let rows = csv_rows(&testdata(&path).unwrap());
    let counts = rows.iter().map(|row| {
        let mut counts = TieCounts::new(index(&row[0]), index(&row[1]));
        let count = if by_score { row[3].parse().unwrap() } else { 1 };
        match row[2].as_str() {
            "left" | "1.0" => counts.wins_a = count,
            "right" | "0.0" => counts.wins_b = count,
            "tie" | "0.5" => counts.ties = count,
            other => panic!("unknown outcome {other}"),
        }
        counts
    });
    TieComparisons::new(names.len(), counts).unwrap()
}

fn fitted(comparisons: &TieComparisons, model: TieModel) -> TieFit {
    fit_ties(comparisons, model, &TieFitOptions::default()).unwrap()
}

#[test]
fn davidson_agrees_with_the_exact_fits_and_with_newman() {
    // The exact fits stop at a gradient of up to 2e-6; evalica stops at changes of 1e-6 or after 100 steps.
    for (set, exact_tolerance, newman_tolerance) in [
        ("simple", 1e-5, 1e-4),
        ("food", 1e-8, 1e-6),
        ("30k", 1e-8, 1e-6),
    ] {
        let Some(path) = testdata(&format!("votes/ranking-fixtures/bt_{set}.json")) else {
            return;
        };
        let fixture = json(&path);
        let names: Vec<String> = fixture["names"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        let comparisons = counted(set, &names);
        let fit = fitted(&comparisons, TieModel::Davidson);

        let exact = &fixture["exact_davidson"];
        let theta = numbers(&exact["theta"]);
        let largest = fit
            .strengths
            .iter()
            .zip(&theta)
            .fold(0.0, |max, (x, y)| f64::max(max, (x - y).abs()));
        println!(
            "{set}: {largest:.1e} nats from the exact fit, gradient {:.1e}, {} steps",
            fit.certificate.gradient_max, fit.certificate.iterations
        );
        close(largest, 0.0, exact_tolerance, set);
        close(fit.tie, exact["v"].as_f64().unwrap(), exact_tolerance, "ν");

        let newman = &fixture["peers"]["evalica_newman"];
        let scores: Vec<f64> = numbers(&newman["score"])
            .iter()
            .map(|score| score.ln())
            .collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        for (strength, score) in fit.strengths.iter().zip(scores) {
            close(*strength, score - mean, newman_tolerance, "Newman's score");
        }
        close(
            fit.tie,
            newman["v"].as_f64().unwrap(),
            newman_tolerance,
            "Newman's ν",
        );
        if set != "30k" {
            let golden = csv_rows(&testdata(&format!("votes/evalica/{set}-golden.csv")).unwrap());
            let scores: Vec<(usize, f64)> = golden
                .iter()
                .filter(|row| row[0] == "newman")
                .map(|row| {
                    let model = names.iter().position(|name| *name == row[1]).unwrap();
                    (model, row[2].parse::<f64>().unwrap().ln())
                })
                .collect();
            assert_eq!(scores.len(), names.len());
            let mean = scores.iter().map(|(_, score)| score).sum::<f64>() / scores.len() as f64;
            for (model, score) in scores {
                close(
                    fit.strengths[model],
                    score - mean,
                    newman_tolerance,
                    "golden score",
                );
            }
        }
    }
}
