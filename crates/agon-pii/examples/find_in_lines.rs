//! Prints what is found in each line of standard input: number of the line, entity, score, value.
//!
//! With `--time` it prints instead how long one pass over all lines takes, as the median of several.

use std::{
    io::{BufRead as _, Write as _},
    time::Instant,
};

use agon_pii::{Detector, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines: Vec<String> = std::io::stdin().lock().lines().collect::<Result<_, _>>()?;
    let detector = Detector::new(&Options::default())?;
    let mut out = std::io::stdout().lock();
    if std::env::args().any(|argument| argument == "--time") {
        let mut seconds: Vec<f64> = (0..9)
            .map(|_| {
                let start = Instant::now();
                let found: usize = lines.iter().map(|line| detector.find(line).len()).sum();
                std::hint::black_box(found);
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        let bytes: usize = lines.iter().map(String::len).sum();
        let median = seconds[seconds.len() / 2];
        writeln!(
            out,
            "{} lines, {bytes} bytes, {:.3} ms, {:.2} MB/s",
            lines.len(),
            median * 1e3,
            bytes as f64 / median / 1e6
        )?;
        return Ok(());
    }
    for (number, line) in lines.iter().enumerate() {
        for finding in detector.find(line) {
            writeln!(
                out,
                "{number}\t{}\t{:.2}\t{}\t{:?}",
                finding.entity,
                finding.score,
                &line[finding.bytes.clone()],
                finding.evidence.word
            )?;
        }
    }
    Ok(())
}
