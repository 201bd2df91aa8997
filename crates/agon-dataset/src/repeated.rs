//! How many of many hashes came before.

use std::num::NonZeroUsize;

/// Bits of a hash that choose its part: the table of a part of ten million hashes stays in the second level of cache.
const PART_BITS: u32 = 9;

/// Hashes from which on a part is so uneven that a table would be slow.
const PART_HASHES_MAX: usize = 1 << 19;

/// Fewer hashes than this are not worth another thread.
const THREAD_HASHES_MIN: usize = 100_000;

/// Hashes, dealt out by their highest bits as they come, so that those that can be equal lie together.
#[derive(Debug, Default)]
pub(crate) struct Hashes {
    /// None before the first hash.
    parts: Vec<Vec<u64>>,
}

impl Hashes {
    /// Adds one.
    #[inline]
    pub(crate) fn push(&mut self, hash: u64) {
        let part = (hash >> (u64::BITS - PART_BITS)) as usize;
        match self.parts.get_mut(part) {
            Some(part) => part.push(hash),
            None => self.push_first(part, hash),
        }
    }

    #[cold]
    fn push_first(&mut self, part: usize, hash: u64) {
        self.parts.resize(1 << PART_BITS, Vec::new());
        self.parts[part].push(hash);
    }

    /// Adds those of another.
    pub(crate) fn extend(&mut self, other: &Self) {
        for &hash in other.parts.iter().flatten() {
            self.push(hash);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }
}

/// How many of the hashes equal an earlier one.
pub(crate) fn n_repeated(hashes: &[Hashes], n_threads: NonZeroUsize) -> u64 {
    let n_hashes: usize = hashes.iter().map(Hashes::len).sum();
    let n_parts = 1_usize << PART_BITS;
    let n_threads = if n_hashes < THREAD_HASHES_MIN {
        1
    } else {
        n_threads.get().min(n_parts)
    };
    let count = |thread: usize| {
        let mut table = Vec::new();
        (thread..n_parts)
            .step_by(n_threads)
            .map(|part| {
                let same: Vec<&[u64]> = hashes
                    .iter()
                    .filter_map(|hashes| hashes.parts.get(part).map(Vec::as_slice))
                    .collect();
                n_repeated_in_part(&same, &mut table)
            })
            .sum::<u64>()
    };
    std::thread::scope(|scope| {
        let count = &count;
        let others: Vec<_> = (1..n_threads)
            .map(|thread| (thread, scope.spawn(move || count(thread))))
            .collect();
        let mut n = count(0);
        for (thread, other) in others {
            n += other.join().unwrap_or_else(|_| count(thread));
        }
        n
    })
}

/// Counts with a table of open addresses; 0 marks an empty slot.
fn n_repeated_in_part(part: &[&[u64]], table: &mut Vec<u64>) -> u64 {
    let n_hashes: usize = part.iter().map(|hashes| hashes.len()).sum();
    if n_hashes > PART_HASHES_MAX {
        // Sorting is never slow.
        let mut sorted = part.concat();
        sorted.sort_unstable();
        return sorted.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    }
    let n_slots = (2 * n_hashes).next_power_of_two().max(2);
    table.clear();
    table.resize(n_slots, 0);
    let mask = n_slots - 1;
    let mut n = 0;
    for &hash in part.iter().copied().flatten() {
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
                let all: Vec<u64> = (0..n).map(|i| hash(i % n_distinct)).collect();
                let mut sorted = all.clone();
                sorted.sort_unstable();
                sorted.dedup();
                // Whoever read them, and on however many threads they are counted.
                let mut hashes = [Hashes::default(), Hashes::default(), Hashes::default()];
                for (i, &hash) in all.iter().enumerate() {
                    hashes[i % 2].push(hash);
                }
                assert_eq!(hashes[0].len() + hashes[1].len(), all.len());
                let [first, second, _] = &hashes;
                let mut both = Hashes::default();
                both.extend(first);
                both.extend(second);
                assert_eq!(
                    n_repeated(&[both], NonZeroUsize::MIN),
                    n - sorted.len() as u64
                );
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
