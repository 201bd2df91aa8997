//! Measures the reader: the median time of several reads of each file, in this process and warm.
//!
//! ```text
//! cargo run --release -p agon-dataset --example time_reader -- FILE…
//! ```

use std::{error::Error, time::Instant};

use agon_dataset::{Input, ReadOptions, read_votes};

const READS: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let variants = [
        ("two threads", ReadOptions::default()),
        (
            "one thread",
            ReadOptions {
                n_threads_max: 1,
                ..ReadOptions::default()
            },
        ),
        (
            "one thread, repeated ids",
            ReadOptions {
                n_threads_max: 1,
                repeated_ids: true,
                ..ReadOptions::default()
            },
        ),
        (
            "one thread, checksum",
            ReadOptions {
                n_threads_max: 1,
                checksums: true,
                ..ReadOptions::default()
            },
        ),
    ];
    for path in std::env::args().skip(1) {
        for (name, options) in &variants {
            let mut times = Vec::new();
            let mut rows = 0;
            for _ in 0..READS {
                let start = Instant::now();
                let votes = read_votes(vec![Input::from_argument(&path)], options, &mut |_| {})?;
                times.push(start.elapsed());
                rows = votes.report.rows;
            }
            times.sort_unstable();
            let milliseconds = times[READS / 2].as_secs_f64() * 1e3;
            let mut out = std::io::stdout();
            std::io::Write::write_fmt(
                &mut out,
                format_args!("{path}: {rows} rows, {name}: {milliseconds:.2} ms\n"),
            )?;
        }
    }
    Ok(())
}
