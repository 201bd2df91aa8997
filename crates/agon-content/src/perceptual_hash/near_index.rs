//! All hashes within a distance, exactly, without comparing with each.
//!
//! Multi-index hashing (M. Norouzi, A. Punjani, D. Fleet, "Fast exact search in Hamming space with multi-index hashing", IEEE Trans. PAMI 36, 2014, proposition 1; arXiv 1307.2982): cut the 256 bits into 16 slots of 16 bits.
//! If two hashes differ in at most r bits, then in some slot they differ in at most ⌊r ÷ 16⌋, or all 16 slots together would differ in more than r.
//! At r = 31 that is one bit: 17 entries of 16 tables hold every hash that can be near, and each is then compared in full.

use super::PdqHash;

const N_SLOTS: usize = 16;

/// The number of values of a slot.
const N_VALUES: usize = 1 << 16;

/// From this distance on a slot may differ in two bits, and 137 entries of 16 tables are more work than comparing with all.
const PROBED_DISTANCE_MAX: u32 = 31;

/// So many hashes that were added one by one are compared one by one, before the tables are built anew.
const N_RECENT_MAX: usize = 8192;

/// A hash that is near to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Which hash: its place in the order of adding, from 0.
    pub idx: usize,
    /// In how many bits it differs.
    pub distance: u32,
}

/// An index of hashes that finds all within a distance: the recall is 1 by construction.
///
/// It takes 96 bytes a hash and about half a mebibyte at least.
/// Building is linear in time; equal hashes are kept once, so that a million copies of one picture do not slow the search down.
#[derive(Debug, Default)]
pub struct NearIndex {
    n_hashes: usize,
    /// The distinct hashes in order.
    distinct: Vec<PdqHash>,
    /// For each distinct hash where its run begins in `places`, and the end of the last.
    runs: Vec<u32>,
    /// The places of all hashes, run by run.
    places: Vec<u32>,
    slots: Vec<SlotTable>,
    /// Hashes that the tables do not hold yet; the first has the place `n_hashes - recent.len()`.
    recent: Vec<PdqHash>,
}

/// For each value of a slot the distinct hashes that have it.
#[derive(Debug)]
struct SlotTable {
    /// Where the hashes of each value begin in `hashes`, and the end of the last.
    starts: Vec<u32>,
    hashes: Vec<u32>,
}

impl NearIndex {
    /// An index of these hashes, whose places are 0, 1, 2, ….
    ///
    /// # Panics
    ///
    /// If there are 2³² hashes or more, which need 400 GB.
    pub fn new(hashes: &[PdqHash]) -> Self {
        let n = u32::try_from(hashes.len())
            // Unwrap safety: documented above; no machine that runs this holds them.
            .expect("fewer than 2^32 hashes");
        let mut places: Vec<u32> = (0..n).collect();
        places.sort_unstable_by_key(|&place| (hashes[place as usize], place));
        let mut distinct: Vec<PdqHash> = Vec::with_capacity(hashes.len());
        let mut runs = Vec::with_capacity(hashes.len() + 1);
        for (at, &place) in (0..).zip(&places) {
            let hash = hashes[place as usize];
            if distinct.last() != Some(&hash) {
                distinct.push(hash);
                runs.push(at);
            }
        }
        runs.push(n);
        let slots = (0..N_SLOTS)
            .map(|slot| SlotTable::new(&distinct, slot))
            .collect();
        Self {
            n_hashes: hashes.len(),
            distinct,
            runs,
            places,
            slots,
            recent: Vec::new(),
        }
    }

    /// The number of hashes.
    pub const fn len(&self) -> usize {
        self.n_hashes
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.n_hashes == 0
    }

    /// Adds a hash and returns its place.
    ///
    /// Now and then this builds the tables anew, which takes a few seconds a million hashes.
    ///
    /// # Panics
    ///
    /// As [`Self::new`].
    pub fn add(&mut self, hash: PdqHash) -> usize {
        let idx = self.n_hashes;
        self.recent.push(hash);
        self.n_hashes += 1;
        // Rebuilding at a share of the whole keeps the work linear in the number added.
        if self.recent.len() > N_RECENT_MAX.max(self.n_hashes / 32) {
            *self = Self::new(&self.hashes());
        }
        idx
    }

    /// All hashes by place.
    fn hashes(&self) -> Vec<PdqHash> {
        let mut hashes = vec![PdqHash::ZERO; self.places.len()];
        for (run, &hash) in self.distinct.iter().enumerate() {
            for &place in self.run(run) {
                hashes[place as usize] = hash;
            }
        }
        hashes.extend(&self.recent);
        hashes
    }

    /// The places of one distinct hash.
    fn run(&self, run: usize) -> &[u32] {
        &self.places[self.runs[run] as usize..self.runs[run + 1] as usize]
    }

    /// All hashes that differ from `query` in at most `distance_max` bits: the nearest first, equally near ones by place.
    ///
    /// Up to 31 bits this takes well under a millisecond for a million hashes, above that it compares with every hash.
    pub fn within(&self, query: PdqHash, distance_max: u32) -> Vec<Neighbour> {
        let mut found = Vec::new();
        let mut keep = |run: usize, distance: u32| {
            found.extend(self.run(run).iter().map(|&place| Neighbour {
                idx: place as usize,
                distance,
            }));
        };
        if distance_max > PROBED_DISTANCE_MAX || self.distinct.len() < N_SLOTS * (N_SLOTS + 1) {
            for (run, hash) in self.distinct.iter().enumerate() {
                let distance = query.distance(*hash);
                if distance <= distance_max {
                    keep(run, distance);
                }
            }
        } else {
            let flips_max = distance_max / N_SLOTS as u32;
            for (slot, table) in self.slots.iter().enumerate() {
                for value in probes(query.slot(slot), flips_max) {
                    for &run in table.with_value(value) {
                        let hash = self.distinct[run as usize];
                        let distance = query.distance(hash);
                        if distance <= distance_max
                            // A near hash is met in several slots; the first counts.
                            && !(0..slot).any(|slot| differ(query, hash, slot) <= flips_max)
                        {
                            keep(run as usize, distance);
                        }
                    }
                }
            }
        }
        let first_recent = self.n_hashes - self.recent.len();
        for (idx, hash) in (first_recent..).zip(&self.recent) {
            let distance = query.distance(*hash);
            if distance <= distance_max {
                found.push(Neighbour { idx, distance });
            }
        }
        found.sort_unstable_by_key(|neighbour| (neighbour.distance, neighbour.idx));
        found
    }
}

/// In how many bits of a slot two hashes differ.
const fn differ(a: PdqHash, b: PdqHash, slot: usize) -> u32 {
    (a.slot(slot) ^ b.slot(slot)).count_ones()
}

/// The values that differ from `value` in at most `flips_max` bits, 0 or 1.
fn probes(value: u16, flips_max: u32) -> impl Iterator<Item = u16> {
    let n_flipped = if flips_max == 0 { 0 } else { u16::BITS };
    std::iter::once(value).chain((0..n_flipped).map(move |bit| value ^ (1 << bit)))
}

impl SlotTable {
    /// Sorts by counting: the values are few and the hashes many.
    fn new(distinct: &[PdqHash], slot: usize) -> Self {
        let mut starts = vec![0_u32; N_VALUES + 1];
        for hash in distinct {
            starts[usize::from(hash.slot(slot)) + 1] += 1;
        }
        for value in 0..N_VALUES {
            starts[value + 1] += starts[value];
        }
        let mut next = starts.clone();
        let mut hashes = vec![0; distinct.len()];
        for (run, hash) in (0..).zip(distinct) {
            let at = &mut next[usize::from(hash.slot(slot))];
            hashes[*at as usize] = run;
            *at += 1;
        }
        Self { starts, hashes }
    }

    fn with_value(&self, value: u16) -> &[u32] {
        let value = usize::from(value);
        &self.hashes[self.starts[value] as usize..self.starts[value + 1] as usize]
    }
}
