//! Counts by pair that grow while boards made of them are still read.

use std::sync::Arc;

use agon_domain::{CountedPair, Winner, WinnerCounts};

/// Votes that were added: on whom, with what end, and how many.
type Added = ((u32, u32), Winner, u64);

/// Counts by ordered pair, in the order of positions.
///
/// A board holds the counts that it was made of, and some hundred models have megabytes of them.
/// So there are two copies, one of which lags behind: by the time of the next vote nobody reads that one as a rule, and it takes a few additions to catch up.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    newest: Arc<Vec<CountedPair>>,
    n_votes: u64,
    /// The copy of the board before, and what it lacks.
    before: Option<Arc<Vec<CountedPair>>>,
    lacking: Vec<Added>,
}

impl Pairs {
    pub(super) fn of(pairs: Vec<CountedPair>) -> Self {
        Self {
            n_votes: pairs.iter().map(|(_, counts)| counts.total()).sum(),
            newest: Arc::new(pairs),
            ..Self::default()
        }
    }

    /// As a board takes them.
    pub(super) fn shared(&self) -> Arc<Vec<CountedPair>> {
        Arc::clone(&self.newest)
    }

    pub(super) fn all(&self) -> &[CountedPair] {
        &self.newest
    }

    pub(super) fn n_votes(&self) -> u64 {
        self.n_votes
    }

    pub(super) fn get(&self, pair: (u32, u32)) -> Option<WinnerCounts> {
        let found = self.newest.binary_search_by_key(&pair, |&(pair, _)| pair);
        Some(self.newest[found.ok()?].1)
    }

    pub(super) fn add(&mut self, added: Added) {
        self.n_votes += added.2;
        if let Some(pairs) = Arc::get_mut(&mut self.newest) {
            apply(pairs, added);
            // What lags too far behind is copied more quickly.
            if self.lacking.len() < pairs.len() {
                self.lacking.push(added);
            } else {
                self.before = None;
            }
            return;
        }
        let mut free = self.before.take();
        let mut next = match free.as_mut().and_then(Arc::get_mut) {
            Some(pairs) => {
                for &added in &self.lacking {
                    apply(pairs, added);
                }
                std::mem::take(pairs)
            }
            None => self.newest.to_vec(),
        };
        apply(&mut next, added);
        self.before = Some(std::mem::replace(&mut self.newest, Arc::new(next)));
        self.lacking.clear();
        self.lacking.push(added);
    }
}

fn apply(pairs: &mut Vec<CountedPair>, (pair, winner, n): Added) {
    let position = match pairs.binary_search_by_key(&pair, |&(pair, _)| pair) {
        Ok(position) => position,
        Err(position) => {
            pairs.insert(position, (pair, WinnerCounts::default()));
            position
        }
    };
    pairs[position].1.add(winner, n);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_same_whoever_still_reads_the_earlier_ones() {
        // Boards are kept for none, one or several votes.
        for n_kept in 0..4 {
            let mut pairs = Pairs::default();
            let mut plain = Vec::new();
            let mut readers = std::collections::VecDeque::new();
            for n in 0..60_u32 {
                let added = (
                    (n * 7 % 5, n * 3 % 4),
                    Winner::ALL[n as usize % 4],
                    u64::from(n % 3 + 1),
                );
                pairs.add(added);
                apply(&mut plain, added);
                readers.push_back((pairs.shared(), plain.clone()));
                while readers.len() > n_kept {
                    readers.pop_front();
                }
                assert_eq!(pairs.all(), plain);
                // Nobody's counts change under their eyes.
                assert!(readers.iter().all(|(kept, then)| **kept == *then));
            }
            let total: u64 = plain.iter().map(|(_, counts)| counts.total()).sum();
            assert_eq!(
                (pairs.n_votes(), Pairs::of(plain).n_votes()),
                (total, total)
            );
        }
    }

    #[test]
    fn a_copy_that_nobody_reads_is_used_again() {
        let mut pairs = Pairs::of(vec![((0, 1), WinnerCounts::default())]);
        let mut board = pairs.shared();
        let mut places = Vec::new();
        for _ in 0..6 {
            pairs.add(((0, 1), Winner::A, 1));
            board = pairs.shared();
            places.push(board.as_ptr());
        }
        drop(board);
        assert_eq!(places[0], places[2]);
        assert_eq!((places[1], places[2]), (places[3], places[4]));
        assert_ne!(places[0], places[1]);
    }
}
