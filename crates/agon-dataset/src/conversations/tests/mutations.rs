//! The seeds of the fuzzing targets, changed at random and bounded, through the same functions: no panic, and all readers agree.

use std::path::Path;

use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;

#[path = "../../../../../fuzz/entries.rs"]
mod entries;

/// Texts that mean something to one of the formats.
const TOKENS: [&[u8]; 24] = [
    b"\"",
    b",",
    b"\n",
    b"\r\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b"\\",
    b"\\ud800",
    b"null",
    b"NaN",
    b"-1",
    b"1e999",
    b"\xff",
    b"\0",
    b"winner",
    b"model_a",
    b"tie",
    b"\xef\xbb\xbf",
    b"PAR1",
    b"\x15\xff\xff\xff\xff\x0f",
    b"PK\x01\x02",
];

fn seeds(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Changes a few places.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], rng: &mut ChaCha20Rng) {
    for _ in 0..rng.random_range(1..4) {
        if bytes.is_empty() {
            return;
        }
        let idx = rng.random_range(0..bytes.len());
        match rng.random_range(0..6) {
            0 => bytes[idx] = rng.next_u32() as u8,
            1 => bytes[idx] ^= 1 << rng.random_range(0..8),
            2 => bytes.truncate(idx),
            3 => {
                let end = (idx + rng.random_range(1..40)).min(bytes.len());
                bytes.drain(idx..end);
            }
            4 => {
                let token = TOKENS[rng.random_range(0..TOKENS.len())];
                bytes.splice(idx..idx, token.iter().copied());
            }
            _ if other.is_empty() => {}
            _ => {
                let start = rng.random_range(0..other.len());
                let end = (start + rng.random_range(1..200)).min(other.len());
                bytes.splice(idx..idx, other[start..end].iter().copied());
            }
        }
    }
}

/// `AGON_MUTATIONS=N` makes N times as many, and other ones for each N.
#[expect(
    clippy::disallowed_methods,
    reason = "a longer run is asked for from outside of the test"
)]
fn run(seeds: &[Vec<u8>], n_each: usize, entry: fn(&[u8])) {
    let times = std::env::var("AGON_MUTATIONS").map_or(1, |times| times.parse().unwrap());
    let mut rng = ChaCha20Rng::seed_from_u64(20_241_123 + times);
    let n_each = n_each * usize::try_from(times).unwrap();
    for seed in seeds {
        entry(seed);
        for _ in 0..n_each {
            let mut bytes = seed.clone();
            let other = &seeds[rng.random_range(0..seeds.len())];
            mutate(&mut bytes, other, &mut rng);
            entry(&bytes);
        }
    }
}

#[test]
fn json_changed_at_random_is_read_alike_by_all() {
    run(&seeds("fixtures/formats"), 12, entries::json);
}

#[test]
fn tables_changed_at_random_are_read_alike_by_all() {
    run(&seeds("fixtures/formats"), 40, entries::delimited);
}

#[test]
fn parquet_changed_at_random_gives_an_error_or_a_full_account() {
    let mut all = seeds("fixtures/release-1/data");
    all.push(super::hostile::nested());
    run(&all, 60, entries::parquet);
}

#[test]
fn archives_changed_at_random_give_an_error_or_a_full_account() {
    run(&seeds("../../fuzz/seeds/archive"), 80, entries::archive);
}
