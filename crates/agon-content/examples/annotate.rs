//! Measures the annotators on files of JSON lines: how often a language is right, and how long labels take. `benches/language.py` and `benches/style.py` run it.
//!
//! `annotate language FILE…` reads `{"lang": code, "text": …}`; `annotate style FILE…` reads `{"text": …}`.

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::{collections::BTreeMap, error::Error, fs, hint::black_box, time::Instant};

use agon_content::annotate::{
    language::{LanguageAnswer, detect_language},
    style::{Encoding, commonmark_counts, markdown_counts, text_counts},
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let mut rows = Vec::new();
    for path in arguments {
        for line in fs::read_to_string(&path)?.lines() {
            rows.push(serde_json::from_str::<Value>(line)?);
        }
    }
    match command.as_str() {
        "language" => language(&rows),
        "style" => style(&rows),
        _ => return Err("usage: annotate language|style FILE…".into()),
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
    println!(
        "{}",
        json!({"n": rows.len(), "seconds": seconds, "counts": counts, "calibration": calibration})
    );
}

/// Prints, as one JSON object, the seconds that each kind of count takes over all texts.
fn style(rows: &[Value]) {
    let texts: Vec<&str> = rows.iter().map(text_of).collect();
    let time = |count: &dyn Fn(&str)| {
        let start = Instant::now();
        for text in &texts {
            count(text);
        }
        start.elapsed().as_secs_f64()
    };
    let n_bytes: usize = texts.iter().map(|text| text.len()).sum();
    // One round warms up, and unpacks vocabularies.
    let mut seconds = Value::Null;
    for _ in 0..2 {
        seconds = json!({
            "compat": time(&|text| { black_box(markdown_counts(&[text])); }),
            "commonmark": time(&|text| { black_box(commonmark_counts(text)); }),
            "text": time(&|text| { black_box(text_counts(text)); }),
            "cl100k": time(&|text| { black_box(Encoding::Cl100k.count_tokens(text)); }),
            "o200k": time(&|text| { black_box(Encoding::O200k.count_tokens(text)); }),
        });
    }
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
