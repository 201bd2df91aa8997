//! Normalises pictures and says what became of each, with processor time and peak memory; as `--mutate N` it does so with damaged copies.
//!
//! `cargo run --release -p agon-content --example normalise_images -- FOLDER` prints a line for each file below the folder.
//! `--out FOLDER` keeps the results, named by file, for a look or for another decoder.
//! `--mutate 100000` damages files at random (bits, bytes, cuts, copied and repeated runs) and prints totals, the slowest and the largest; it fails where one takes more than 2 s.
//! Every panic of a decoder is printed by the standard hook although the normaliser contains it.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "an example prints and may stop at the first fault"
)]

#[path = "timing/processor_time.rs"]
mod processor_time;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agon_content::image::{ImageLimits, normalise};

use processor_time::processor_time;

/// The longest that one file may take, of processor time.
const LONGEST: Duration = Duration::from_secs(2);

/// The largest seed that is mutated, in bytes: small files are where headers, not pixels, take the hits.
const SEED_BYTES_MAX: u64 = 400_000;

struct Options {
    folder: PathBuf,
    out: Option<PathBuf>,
    n_mutated: u64,
    seed: u64,
}

fn options() -> Option<Options> {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options {
        folder: PathBuf::from(arguments.next()?),
        out: None,
        n_mutated: 0,
        seed: 1,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--out" => options.out = Some(PathBuf::from(value)),
            "--mutate" => options.n_mutated = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(options)
}

fn main() {
    let Some(options) = options() else {
        eprintln!("usage: normalise_images FOLDER [--out FOLDER] [--mutate N] [--seed N]");
        return;
    };
    let files = files_below(&options.folder);
    if options.n_mutated == 0 {
        for path in &files {
            report(path, options.out.as_deref());
        }
    } else {
        mutate(&files, options.n_mutated, options.seed);
    }
    println!("peak memory {} MiB", peak_memory_mib());
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn report(path: &Path, out: Option<&Path>) {
    let bytes = std::fs::read(path).unwrap();
    let start = processor_time();
    let result = normalise(&bytes, &ImageLimits::default());
    let ms = processor_time().saturating_sub(start).as_secs_f64() * 1000.0;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match result {
        Ok(image) => {
            let notes: Vec<&str> = image.notes.iter().map(|note| note.as_str()).collect();
            println!(
                "{name}: {} {}×{} -> {} {}×{}, {} bytes, {} in {ms:.1} ms",
                image.original.format.name(),
                image.original.width_px,
                image.original.height_px,
                image.media_type.extension(),
                image.width_px,
                image.height_px,
                image.bytes.len(),
                notes.join(" "),
            );
            if let Some(out) = out {
                let name = format!("{name}.{}", image.media_type.extension());
                std::fs::write(out.join(name), &image.bytes).unwrap();
            }
        }
        Err(error) => println!("{name}: {} ({error}) in {ms:.1} ms", error.code()),
    }
}

/// A xorshift generator: the same seed damages the same files alike.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }
}

fn damaged(seed: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut file = seed.to_vec();
    for _ in 0..=chance.below(6) {
        // Headers decide most, so that half of the hits go there.
        let reach = if chance.below(2) == 0 {
            file.len().min(600)
        } else {
            file.len()
        };
        let at = chance.below(reach);
        match chance.below(7) {
            0 => file[at] ^= 1 << chance.below(8),
            1 => file[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][chance.below(6)],
            2 => file.truncate(at.max(1)),
            3 => {
                let from = chance.below(file.len());
                let length = chance.below(64).min(file.len() - from.max(at));
                file.copy_within(from..from + length, at);
            }
            4 => {
                let length = chance.below(64).min(file.len() - at);
                let run = file[at..at + length].to_vec();
                file.splice(at..at, run);
            }
            5 => {
                let end = (at + 4).min(file.len());
                let value = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff_u32][chance.below(5)];
                file[at..end].copy_from_slice(&value.to_be_bytes()[..end - at]);
            }
            _ => {
                let end = (at + 1 + chance.below(16)).min(file.len());
                file.drain(at..end);
                if file.is_empty() {
                    file.push(0);
                }
            }
        }
    }
    file
}

fn mutate(files: &[PathBuf], n_mutated: u64, seed: u64) {
    let seeds: Vec<Vec<u8>> = files
        .iter()
        .filter(|path| {
            path.metadata()
                .is_ok_and(|data| data.len() <= SEED_BYTES_MAX)
        })
        .map(|path| std::fs::read(path).unwrap())
        .filter(|bytes| !bytes.is_empty())
        .collect();
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut slowest, mut n_slow) = (Duration::ZERO, 0);
    let start = Instant::now();
    for _ in 0..n_mutated {
        let at = chance.below(seeds.len());
        let file = damaged(&seeds[at], &mut chance);
        let one = processor_time();
        let code = match normalise(&file, &ImageLimits::default()) {
            Ok(_) => "read",
            Err(error) => error.code(),
        };
        *codes.entry(code).or_default() += 1;
        let time = processor_time().saturating_sub(one);
        slowest = slowest.max(time);
        if time > LONGEST {
            n_slow += 1;
            eprintln!("{} bytes took {time:?}: {code}", file.len());
        }
    }
    println!(
        "{n_mutated} mutated from {} files in {:.0} s: {codes:?}; the slowest took {} ms, {n_slow} more than 2 s",
        seeds.len(),
        start.elapsed().as_secs_f64(),
        slowest.as_millis()
    );
    assert_eq!(n_slow, 0, "files took too long");
}

/// The most memory that the process ever had, where the system tells.
fn peak_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next())
        .and_then(|kib| kib.parse::<u64>().ok())
        .map_or(0, |kib| kib / 1024)
}
