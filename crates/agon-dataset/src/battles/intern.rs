//! Long texts as small numbers, by a hash of 128 bits: the texts themselves are not kept.
//!
//! Two different texts get the same number with a probability of about n² / 2¹²⁹.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher as _, BuildHasherDefault, Hasher},
    sync::{Mutex, PoisonError},
};

use foldhash::quality::FixedState;

/// A table of each stays in the second-level cache up to a few million texts.
const N_SHARDS: usize = 256;

/// The hash of a text that is missing.
pub(crate) const NO_HASH: u128 = 0;

/// A hash that is the same on every machine and never [`NO_HASH`].
pub(crate) fn hash_128(bytes: &[u8]) -> u128 {
    let half = |seed| u128::from(FixedState::with_seed(seed).hash_one(bytes));
    ((half(0x0061_676f_6e01) << 64) | half(0x0061_676f_6e02)).max(1)
}

/// The hash of a text, trimmed; [`NO_HASH`] for a blank one.
pub(crate) fn text_hash(bytes: &[u8]) -> u128 {
    let bytes = bytes.trim_ascii();
    if bytes.is_empty() {
        NO_HASH
    } else {
        hash_128(bytes)
    }
}

/// Takes a hash as it is.
#[derive(Clone, Copy, Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
}

type Shard = HashMap<u128, u32, BuildHasherDefault<AsItIs>>;

/// Numbers for hashes, given out by several threads at once.
#[derive(Debug)]
pub(crate) struct Interner {
    shards: Vec<Mutex<Shard>>,
}

impl Interner {
    /// One that knows nothing.
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..N_SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Calls `f` with the position of every hash, its shard and the shard's position; in order inside of a shard.
    fn each(&self, hashes: &[u128], mut f: impl FnMut(usize, &mut Shard, usize)) {
        let shard_of = |hash: u128| (hash >> 120) as usize % N_SHARDS;
        let mut ends = [0_u32; N_SHARDS];
        for &hash in hashes {
            ends[shard_of(hash)] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            let n = *end;
            *end = sum;
            sum += n;
        }
        let mut order = vec![0_u32; hashes.len()];
        for (position, &hash) in (0_u32..).zip(hashes) {
            let end = &mut ends[shard_of(hash)];
            order[*end as usize] = position;
            *end += 1;
        }
        let mut start = 0;
        for (idx, (shard, &end)) in self.shards.iter().zip(&ends).enumerate() {
            let part = &order[start as usize..end as usize];
            start = end;
            if part.is_empty() {
                continue;
            }
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            for &position in part {
                f(position as usize, &mut shard, idx);
            }
        }
    }

    /// The number of each hash: new ones are given out as they come. [`u32::MAX`] for [`NO_HASH`].
    pub(crate) fn numbers(&self, hashes: &[u128]) -> Vec<u32> {
        let mut numbers = vec![u32::MAX; hashes.len()];
        self.each(hashes, |position, shard, shard_idx| {
            let hash = hashes[position];
            if hash != NO_HASH {
                let n = shard.len();
                // 2³² rows do not fit into memory, let alone as many texts.
                let next = || u32::try_from(n * N_SHARDS + shard_idx).unwrap_or(u32::MAX - 1);
                numbers[position] = *shard.entry(hash).or_insert_with(next);
            }
        });
        numbers
    }

    /// Which of the hashes came before, in an earlier call or earlier in this one.
    pub(crate) fn are_repeated(&self, hashes: &[u128]) -> Vec<bool> {
        let mut are_repeated = vec![false; hashes.len()];
        self.each(hashes, |position, shard, _| {
            let hash = hashes[position];
            if hash != NO_HASH {
                match shard.entry(hash) {
                    Entry::Occupied(_) => are_repeated[position] = true,
                    Entry::Vacant(slot) => {
                        slot.insert(0);
                    }
                }
            }
        });
        are_repeated
    }
}

/// Replaces numbers by others from 0 in the order of first appearance, and tells how many there are. [`u32::MAX`] stays.
pub(crate) fn renumber(numbers: &mut [u32]) -> u32 {
    let max = numbers.iter().filter(|&&number| number != u32::MAX).max();
    let Some(&max) = max else { return 0 };
    let mut new = vec![u32::MAX; max as usize + 1];
    let mut n = 0;
    for number in numbers.iter_mut().filter(|number| **number != u32::MAX) {
        let slot = &mut new[*number as usize];
        if *slot == u32::MAX {
            *slot = n;
            n += 1;
        }
        *number = *slot;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_get_equal_numbers_and_missing_ones_none() {
        let interner = Interner::new();
        let hashes: Vec<u128> = ["x", "y", "", " x ", "z"]
            .map(|text| text_hash(text.as_bytes()))
            .into();
        let mut numbers = interner.numbers(&hashes);
        numbers.extend(interner.numbers(&hashes[1..2]));
        assert_eq!(renumber(&mut numbers), 3);
        assert_eq!(numbers, [0, 1, u32::MAX, 0, 2, 1]);
    }

    #[test]
    fn the_first_is_not_repeated() {
        let seen = Interner::new();
        assert_eq!(
            seen.are_repeated(&[5, 6, 5, NO_HASH, NO_HASH]),
            [false, false, true, false, false]
        );
        assert_eq!(seen.are_repeated(&[6, 7]), [true, false]);
    }
}
