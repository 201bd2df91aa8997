//! Measures the reader: the median time of several reads of each file, in this process and warm.
//!
//! ```text
//! cargo run --release -p agon-dataset --example time_reader -- FILE…
//! ```

use std::{error::Error, io::Write as _, time::Instant};

use agon_dataset::{FeatureRequest, Input, ReadOptions, Selection, read_battles, read_votes};

const READS: usize = 11;

/// Whether votes are counted, or kept row by row with the four features of style control.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counts,
    Style,
}

fn main() -> Result<(), Box<dyn Error>> {
    let one_thread = ReadOptions {
        n_threads_max: 1,
        ..ReadOptions::default()
    };
    // What `agon rank` asks for.
    let everything = ReadOptions {
        repeated_ids: true,
        checksums: true,
        ..ReadOptions::default()
    };
    let variants = [
        ("two threads", Kind::Counts, ReadOptions::default()),
        ("one thread", Kind::Counts, one_thread),
        (
            "one thread, repeated ids",
            Kind::Counts,
            ReadOptions {
                repeated_ids: true,
                ..one_thread
            },
        ),
        (
            "one thread, checksum",
            Kind::Counts,
            ReadOptions {
                checksums: true,
                ..one_thread
            },
        ),
        (
            "two threads, repeated ids, checksum",
            Kind::Counts,
            everything,
        ),
        ("one thread, style", Kind::Style, one_thread),
        (
            "two threads, style, repeated ids, checksum",
            Kind::Style,
            everything,
        ),
    ];
    let selection = Selection {
        features: ["length", "headers", "lists", "bold"]
            .map(|name| FeatureRequest {
                name: name.to_owned(),
                difference: |a, b| Some((a - b) / (a + b + 1.0)),
            })
            .into(),
        ..Selection::default()
    };
    for path in std::env::args().skip(1) {
        for (name, kind, options) in &variants {
            let mut times = Vec::new();
            let mut rows = 0;
            for _ in 0..READS {
                let start = Instant::now();
                let inputs = vec![Input::from_argument(&path)];
                rows = match kind {
                    Kind::Counts => read_votes(inputs, options, &mut |_| {})?.report.rows,
                    Kind::Style => {
                        let (_, report) = read_battles(inputs, options, &selection, &mut |_| {})?;
                        report.rows
                    }
                };
                times.push(start.elapsed());
            }
            times.sort_unstable();
            let milliseconds = times[READS / 2].as_secs_f64() * 1e3;
            let least = times[0].as_secs_f64() * 1e3;
            writeln!(
                std::io::stdout(),
                "{path}: {rows} rows, {name}: {milliseconds:.2} ms, at best {least:.2} ms"
            )?;
        }
    }
    Ok(())
}
