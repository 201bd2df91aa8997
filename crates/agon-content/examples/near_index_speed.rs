//! Times the index of near hashes: building, and searching by radius 31, on random hashes and on heaps of near-duplicates; and hashing itself.
//!
//! `cargo run --release -p agon-content --example near_index_speed -- 1000000 100000` takes the numbers of hashes and queries.
//! Searches during which the system gave the core to another process are left out, where it tells; hashing is timed by processor time.
//! A third number says how many of the searches are compared with looking at every hash; it fails at the first that differs.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example prints and may stop at the first fault"
)]

#[path = "timing/processor_time.rs"]
mod processor_time;

use std::time::{Duration, Instant};

use agon_content::image::Pixels;
use agon_content::perceptual_hash::{DISTANCE_MAX, NearIndex, PdqHash, PerceptualHash};

use processor_time::processor_time;

/// A xorshift generator: the same figures each time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn hash(&mut self) -> PdqHash {
        let mut bytes = [0; 32];
        for part in bytes.as_chunks_mut::<8>().0 {
            *part = self.next().to_be_bytes();
        }
        PdqHash::from_bytes(bytes)
    }

    /// `hash` with up to 40 bits changed.
    fn near(&mut self, hash: PdqHash) -> PdqHash {
        let mut bytes = hash.to_bytes();
        for _ in 0..self.next() % 41 {
            let bit = (self.next() >> 20) as usize % 256;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        PdqHash::from_bytes(bytes)
    }
}

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok());
    let n_hashes: usize = numbers.next().unwrap_or(1_000_000);
    let n_queries: usize = numbers.next().unwrap_or(100_000);
    let n_checked: usize = numbers.next().unwrap_or(200);
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let random: Vec<PdqHash> = (0..n_hashes).map(|_| chance.hash()).collect();
    measure("random", &random, n_queries, n_checked, &mut chance);
    let centres: Vec<PdqHash> = (0..n_hashes / 100 + 1).map(|_| chance.hash()).collect();
    let heaps: Vec<PdqHash> = (0..n_hashes)
        .map(|_| {
            let centre = centres[(chance.next() >> 20) as usize % centres.len()];
            chance.near(centre)
        })
        .collect();
    measure("heaps of 100", &heaps, n_queries, n_checked, &mut chance);
    time_hashing();
}

fn measure(
    name: &str,
    hashes: &[PdqHash],
    n_queries: usize,
    n_checked: usize,
    chance: &mut Chance,
) {
    let start = Instant::now();
    let index = NearIndex::new(hashes);
    let build_ms = start.elapsed().as_millis();
    let mut times_us = Vec::with_capacity(n_queries);
    let (mut n_found, mut n_interrupted) = (0, 0);
    for query_idx in 0..n_queries {
        // Every second query is near to one that is there.
        let query = if query_idx % 2 == 0 {
            let known = hashes[(chance.next() >> 20) as usize % hashes.len()];
            chance.near(known)
        } else {
            chance.hash()
        };
        let (found, time) = uninterrupted(|| index.within(query, DISTANCE_MAX));
        match time {
            Some(time) => times_us.push(time.as_micros()),
            None => n_interrupted += 1,
        }
        n_found += found.len();
        if query_idx < n_checked {
            let mut expected: Vec<(u32, usize)> = hashes
                .iter()
                .enumerate()
                .map(|(idx, hash)| (query.distance(*hash), idx))
                .filter(|&(distance, _)| distance <= DISTANCE_MAX)
                .collect();
            expected.sort_unstable();
            let found: Vec<(u32, usize)> = found
                .iter()
                .map(|neighbour| (neighbour.distance, neighbour.idx))
                .collect();
            assert_eq!(found, expected, "query {query_idx}");
        }
    }
    times_us.sort_unstable();
    let at = |share: f64| times_us[((times_us.len() - 1) as f64 * share) as usize];
    println!(
        "{name}: {} hashes built in {build_ms} ms; {n_queries} searches found {n_found}, {n_interrupted} were interrupted, of the others: median {} µs, p99 {} µs, longest {} µs; {n_checked} checked against all",
        hashes.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn time_hashing() {
    let (width, height) = (4000, 3000);
    let rgb = (0..width * height * 3)
        .map(|idx: u32| (idx.wrapping_mul(2_654_435_761) >> 25) as u8)
        .collect();
    let picture = Pixels::new(width, height, rgb).unwrap();
    const N_ROUNDS: u32 = 20;
    let time = |name: &str, hash: &dyn Fn() -> PerceptualHash| {
        let start = processor_time();
        assert!((0..N_ROUNDS).all(|_| hash().quality <= 100));
        let one = processor_time().saturating_sub(start) / N_ROUNDS;
        println!("{name}: {:.1} ms", one.as_secs_f64() * 1000.0);
    };
    time("12 megapixels at full size", &|| {
        PerceptualHash::of_full_size(&picture)
    });
    time("12 megapixels prepared", &|| PerceptualHash::of(&picture));
    let fitted = picture.scaled_to_fit(2048);
    time("2048 × 1536 prepared", &|| PerceptualHash::of(&fitted));
}

/// Does `work` and times it; no time if another process had the core meanwhile.
fn uninterrupted<T>(work: impl FnOnce() -> T) -> (T, Option<Duration>) {
    let n_before = n_interruptions();
    let start = Instant::now();
    let result = work();
    let time = start.elapsed();
    (result, (n_interruptions() == n_before).then_some(time))
}

/// How often another process got the core although this one had work, where the system tells.
fn n_interruptions() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}
