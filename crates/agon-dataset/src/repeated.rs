//! How many of many hashes came before.

use std::num::NonZeroUsize;

/// Hashes in one part at most, as long as they are spread evenly: a table of twice as many slots stays in the first two levels of cache.
const PART_HASHES: usize = 8_192;

/// Bits of a hash that choose its part, at most.
const PART_BITS_MAX: u32 = 11;

/// How many of the hashes equal an earlier one.
///
/// They are dealt out by their highest bits into parts that fit into the cache, which is several times as fast as sorting.
pub(crate) fn n_repeated(hashes: &[u64], n_threads: NonZeroUsize) -> u64 {
    let n_parts_wanted = hashes.len().div_ceil(PART_HASHES).max(1);
    let bits = n_parts_wanted
        .next_power_of_two()
        .trailing_zeros()
        .min(PART_BITS_MAX);
    // Shifting by all 64 bits is not defined, so the last bit goes by itself.
    let part_of = |hash: u64| (hash >> 1 >> (63 - bits)) as usize;
    let n_parts = 1_usize << bits;
    let mut ends = vec![0_usize; n_parts];
    for &hash in hashes {
        ends[part_of(hash)] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        let n = *end;
        *end = sum;
        sum += n;
    }
    let mut dealt = vec![0_u64; hashes.len()];
    for &hash in hashes {
        let end = &mut ends[part_of(hash)];
        dealt[*end] = hash;
        *end += 1;
    }
    let count = |parts: std::ops::Range<usize>| {
        let mut table = Vec::new();
        let mut n = 0;
        let mut start = parts.start.checked_sub(1).map_or(0, |before| ends[before]);
        for &end in &ends[parts] {
            n += n_repeated_in_part(&dealt[start..end], &mut table);
            start = end;
        }
        n
    };
    let n_threads = if hashes.len() < 100_000 {
        1
    } else {
        n_threads.get().min(n_parts)
    };
    let share = n_parts.div_ceil(n_threads);
    std::thread::scope(|scope| {
        let count = &count;
        let others: Vec<_> = (1..n_threads)
            .map(|thread| {
                let parts = (thread * share).min(n_parts)..((thread + 1) * share).min(n_parts);
                (parts.clone(), scope.spawn(move || count(parts)))
            })
            .collect();
        let mut n = count(0..share.min(n_parts));
        for (parts, other) in others {
            n += other.join().unwrap_or_else(|_| count(parts));
        }
        n
    })
}

/// Counts with a table of open addresses; 0 marks an empty slot.
fn n_repeated_in_part(part: &[u64], table: &mut Vec<u64>) -> u64 {
    if part.len() > 16 * PART_HASHES {
        // So uneven that a table would be slow: sorting never is.
        let mut sorted = part.to_vec();
        sorted.sort_unstable();
        return sorted.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    }
    let n_slots = (2 * part.len()).next_power_of_two().max(2);
    table.clear();
    table.resize(n_slots, 0);
    let mask = n_slots - 1;
    let mut n = 0;
    for &hash in part {
        let hash = hash.max(1);
        // The slot is cut to the table, so nothing is lost that matters.
        let mut slot = hash as usize & mask;
        loop {
            match table[slot] {
                0 => {
                    table[slot] = hash;
                    break;
                }
                known if known == hash => {
                    n += 1;
                    break;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_hashes_are_counted_as_by_sorting() {
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        for n in [0, 1, 2, 1_000, 20_000, 300_000_u64] {
            for n_distinct in [1, 7, 15_000, 299_999] {
                let hashes: Vec<u64> = (0..n).map(|i| hash(i % n_distinct)).collect();
                let mut sorted = hashes.clone();
                sorted.sort_unstable();
                sorted.dedup();
                for threads in [1, 2, 3] {
                    let threads = NonZeroUsize::new(threads).unwrap();
                    assert_eq!(
                        n_repeated(&hashes, threads),
                        n - sorted.len() as u64,
                        "{n} {n_distinct}"
                    );
                }
            }
        }
    }
}
