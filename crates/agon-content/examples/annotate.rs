//! Measures the annotators on files of JSON lines: how often a language is right, and how long labels take. `benches/language.py` and `benches/style.py` run it.
//!
//! `annotate language FILE…` reads `{"lang": code, "text": …}`; `annotate style FILE…` reads `{"text": …}`; `annotate duplicates N` makes up N prompts.

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::{
    collections::BTreeMap, error::Error, fmt::Write as _, fs, hint::black_box, time::Instant,
};

use agon_content::annotate::{
    duplicates::{DuplicateOptions, DuplicateScan},
    language::{LanguageAnswer, detect_language},
    style::{Encoding, commonmark_counts, markdown_counts, text_counts},
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    if command == "duplicates" {
        return duplicates(arguments.next().unwrap_or_default().parse()?);
    }
    let mut rows = Vec::new();
    for path in arguments {
        for line in fs::read_to_string(&path)?.lines() {
            rows.push(serde_json::from_str::<Value>(line)?);
        }
    }
    match command.as_str() {
        "language" => language(&rows),
        "style" => style(&rows),
        _ => return Err("usage: annotate language|style FILE… or duplicates N".into()),
    }
    Ok(())
}

fn text_of(row: &Value) -> &str {
    row["text"].as_str().unwrap_or_default()
}

/// Prints, as one JSON object, how many texts of each language were right, what the others were taken for, and the time of all.
fn language(rows: &[Value]) {
    // The weights are unpacked at the first call.
    detect_language("unpack the weights");
    let start = Instant::now();
    let labels: Vec<_> = rows
        .iter()
        .map(|row| detect_language(text_of(row)))
        .collect();
    let seconds = start.elapsed().as_secs_f64();
    let mut counts: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    // Confidence in tenths: how many there were, and how many of them were right.
    let mut calibration = [[0_u32; 2]; 11];
    for (row, label) in rows.iter().zip(&labels) {
        let expected = row["lang"].as_str().unwrap_or_default();
        let found = match &label.answer {
            LanguageAnswer::NoLanguage(reason) => format!("{reason:?}"),
            _ => label.code().to_owned(),
        };
        if label.main().is_some() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 0 to 10"
            )]
            let tenth = &mut calibration[(label.confidence * 10.0) as usize];
            tenth[0] += 1;
            tenth[1] += u32::from(found == expected);
        }
        *counts
            .entry(expected.to_owned())
            .or_default()
            .entry(found)
            .or_default() += 1;
    }
    let n_mixed = labels
        .iter()
        .filter(|label| matches!(label.answer, LanguageAnswer::Mixed(_)))
        .count();
    println!(
        "{}",
        json!({
            "n": rows.len(),
            "seconds": seconds,
            "counts": counts,
            "calibration": calibration,
            "n_mixed": n_mixed,
        })
    );
}

/// Prints, as one JSON object, the seconds that each kind of count takes over all texts.
fn style(rows: &[Value]) {
    let texts: Vec<&str> = rows.iter().map(text_of).collect();
    // The shortest of many rounds: the first unpacks vocabularies, and others may use the processor too.
    let time = |n_rounds: u32, count: &dyn Fn(&str)| {
        (0..n_rounds).fold(f64::INFINITY, |least, _| {
            let start = Instant::now();
            for text in &texts {
                count(text);
            }
            least.min(start.elapsed().as_secs_f64())
        })
    };
    let n_bytes: usize = texts.iter().map(|text| text.len()).sum();
    let seconds = json!({
        "compat": time(200, &|text| { black_box(markdown_counts(&[text])); }),
        "commonmark": time(9, &|text| { black_box(commonmark_counts(text)); }),
        "text": time(9, &|text| { black_box(text_counts(text)); }),
        "cl100k": time(9, &|text| { black_box(Encoding::Cl100k.count_tokens(text)); }),
        "o200k": time(9, &|text| { black_box(Encoding::O200k.count_tokens(text)); }),
    });
    let mut compat = [0; 10];
    for text in &texts {
        let counts = markdown_counts(&[text]);
        let others = [
            counts.list_ordered,
            counts.list_unordered,
            counts.bold_asterisks,
            counts.bold_underscores,
        ];
        for (sum, n) in compat
            .iter_mut()
            .zip(counts.headers.into_iter().chain(others))
        {
            *sum += n;
        }
    }
    let tokens =
        |encoding: Encoding| -> u32 { texts.iter().map(|text| encoding.count_tokens(text)).sum() };
    println!(
        "{}",
        json!({
            "n": texts.len(),
            "bytes": n_bytes,
            "seconds": seconds,
            "compat": compat,
            "tokens": {"cl100k": tokens(Encoding::Cl100k), "o200k": tokens(Encoding::O200k)},
        })
    );
}

/// Prints, as one JSON object, how long two passes over `n_rows` prompts of about 400 characters take: a quarter repeat an earlier one, another quarter nearly.
fn duplicates(n_rows: u64) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut scan = DuplicateScan::new(DuplicateOptions::default())?;
    for row in 0..n_rows {
        let mut prompt = String::new();
        // The prompt of a row is that of the next even one below for half of the rows.
        let mut state = if row % 4 < 2 { row } else { row - 2 };
        for _ in 0..40 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(row % 2 + 1);
            write!(prompt, "{:x} ", state >> 32)?;
        }
        if row % 4 == 3 {
            prompt.push_str("please");
        }
        scan.add(&prompt, None);
    }
    let found = scan.finish();
    let n_repeated = (0..found.n_rows())
        .filter_map(|row| found.label(row))
        .filter(|label| label.n_cluster > 1)
        .count();
    println!(
        "{}",
        json!({
            "rows": n_rows,
            "exact": found.n_exact(),
            "clusters": found.n_clusters(),
            "repeated": n_repeated,
            "seconds": start.elapsed().as_secs_f64(),
        })
    );
    Ok(())
}
