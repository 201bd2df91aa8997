//! Who met whom, for pictures of pairs.

use std::{collections::BTreeMap, sync::Arc};

use agon_domain::{CountedPair, Winner};

/// Who met whom.
///
/// A view of the counts that a board was made from: pairs are brought together only when somebody looks, as many models
/// have tens of thousands of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Met {
    names: Arc<[String]>,
    pairs: Arc<Vec<CountedPair>>,
}

impl Met {
    pub(super) fn new(names: &[String], pairs: &Arc<Vec<CountedPair>>) -> Self {
        Self {
            names: names.into(),
            pairs: Arc::clone(pairs),
        }
    }

    /// Whether nobody met anybody, or it was not kept.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Every pair from the view of both, in the order of names.
    pub fn counts(&self) -> Vec<PairCounts> {
        let mut met: BTreeMap<(u32, u32), [u64; 3]> = BTreeMap::new();
        for &((a, b), counts) in self.pairs.iter() {
            let (won, lost) = (counts.get(Winner::A), counts.get(Winner::B));
            let ties = counts.get(Winner::Tie) + counts.get(Winner::BothBad);
            for (pair, counts) in [((a, b), [won, lost, ties]), ((b, a), [lost, won, ties])] {
                let sums = met.entry(pair).or_default();
                for (sum, count) in sums.iter_mut().zip(counts) {
                    *sum += count;
                }
            }
        }
        met.into_iter()
            .map(|((model, opponent), [wins, losses, ties])| PairCounts {
                model: self.names[model as usize].clone(),
                opponent: self.names[opponent as usize].clone(),
                wins,
                losses,
                ties,
            })
            .collect()
    }
}

/// What happened between a model and one opponent, on whichever sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairCounts {
    /// The model.
    pub model: String,
    /// Its opponent.
    pub opponent: String,
    /// Battles that the model won.
    pub wins: u64,
    /// Battles that the opponent won.
    pub losses: u64,
    /// Battles in which both were equally good, or both were bad.
    pub ties: u64,
}

impl PairCounts {
    /// All battles.
    pub fn battles(&self) -> u64 {
        self.wins + self.losses + self.ties
    }

    /// The model's win rate, a tie as half a win; `None` without battles.
    pub fn win_rate(&self) -> Option<f64> {
        let battles = self.battles();
        (battles > 0).then(|| (self.wins as f64 + self.ties as f64 / 2.0) / battles as f64)
    }
}
