//! Votes counted by ordered pair of models: all that a plain leaderboard needs.

use std::collections::HashMap;

use crate::Winner;

/// How often each winner was voted for in one ordered pair (the first model on side A).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WinnerCounts([u64; 4]);

impl WinnerCounts {
    /// The count of one winner.
    pub const fn get(&self, winner: Winner) -> u64 {
        self.0[winner as usize]
    }

    /// Adds `n` votes for `winner`.
    pub const fn add(&mut self, winner: Winner, n: u64) {
        self.0[winner as usize] += n;
    }

    /// All votes.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// An ordered pair of models, by position, with its counts.
pub type CountedPair = ((u32, u32), WinnerCounts);

/// Votes counted by ordered pair.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    models: Vec<String>,
    positions: HashMap<String, u32>,
    pairs: HashMap<(u32, u32), WinnerCounts>,
}

impl Tally {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The position of a model, which is added when it is new.
    pub fn model(&mut self, name: &str) -> u32 {
        if let Some(&position) = self.positions.get(name) {
            return position;
        }
        let position = u32::try_from(self.models.len()).unwrap_or(u32::MAX);
        self.models.push(name.to_owned());
        self.positions.insert(name.to_owned(), position);
        position
    }

    /// Adds `n` votes for `winner` in battles of the model at position `a` on side A against the one at `b` on side B.
    pub fn add(&mut self, a: u32, b: u32, winner: Winner, n: u64) {
        self.pairs.entry((a, b)).or_default().add(winner, n);
    }

    /// The models' names, by position.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// All votes.
    pub fn total(&self) -> u64 {
        self.pairs.values().map(WinnerCounts::total).sum()
    }

    /// The counts of each ordered pair, by position, in no particular order.
    pub fn pairs(&self) -> impl Iterator<Item = ((u32, u32), WinnerCounts)> + '_ {
        self.pairs.iter().map(|(&pair, &counts)| (pair, counts))
    }

    /// Adds all votes of another tally.
    pub fn merge(&mut self, other: &Self) {
        let positions: Vec<u32> = other.models.iter().map(|name| self.model(name)).collect();
        for ((a, b), counts) in other.pairs() {
            for winner in Winner::ALL {
                let n = counts.get(winner);
                if n > 0 {
                    self.add(positions[a as usize], positions[b as usize], winner, n);
                }
            }
        }
    }

    /// The same votes with models in the order of their names and pairs in the order of their positions, so that sums over them do not depend on the order in which votes came.
    pub fn into_sorted(self) -> (Vec<String>, Vec<CountedPair>) {
        let mut order: Vec<u32> = (0..).take(self.models.len()).collect();
        order.sort_unstable_by(|&i, &j| self.models[i as usize].cmp(&self.models[j as usize]));
        let mut new_positions = vec![0_u32; order.len()];
        for (new, &old) in (0..).zip(&order) {
            new_positions[old as usize] = new;
        }
        let mut pairs: Vec<_> = self
            .pairs
            .iter()
            .map(|(&(a, b), &counts)| {
                (
                    (new_positions[a as usize], new_positions[b as usize]),
                    counts,
                )
            })
            .collect();
        pairs.sort_unstable_by_key(|&(pair, _)| pair);
        let mut models = self.models;
        models.sort_unstable();
        (models, pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sorted_tally_does_not_depend_on_the_order_of_votes() {
        let votes = [
            ("b", "a", Winner::A),
            ("a", "c", Winner::BothBad),
            ("b", "a", Winner::A),
            ("c", "b", Winner::Tie),
        ];
        let count = |votes: &mut dyn Iterator<Item = &(&str, &str, Winner)>| {
            let mut tally = Tally::new();
            for (a, b, winner) in votes {
                let (a, b) = (tally.model(a), tally.model(b));
                tally.add(a, b, *winner, 1);
            }
            assert_eq!(tally.total(), 4);
            tally.into_sorted()
        };
        let forwards = count(&mut votes.iter());
        assert_eq!(forwards, count(&mut votes.iter().rev()));
        assert_eq!(forwards.0, ["a", "b", "c"]);
        assert_eq!(forwards.1[1].0, (1, 0));
        assert_eq!(forwards.1[1].1.get(Winner::A), 2);
    }

    #[test]
    fn merging_adds_by_name() {
        let mut one = Tally::new();
        let (x, y) = (one.model("x"), one.model("y"));
        one.add(x, y, Winner::A, 2);
        let mut two = Tally::new();
        let (y, x) = (two.model("y"), two.model("x"));
        two.add(x, y, Winner::A, 3);
        two.add(y, x, Winner::B, 1);
        one.merge(&two);
        let (models, pairs) = one.into_sorted();
        assert_eq!(models, ["x", "y"]);
        assert_eq!(pairs[0].1.get(Winner::A), 5);
        assert_eq!(pairs[1].1.get(Winner::B), 1);
    }
}
