//! Agreement: how far two annotators say the same of the same things, and what that says about either.
//!
//! Two columns of labels become a table of counts ([`Agreement`]), and from it follow accuracy, Cohen's kappa, and, for each label, precision, recall and F1.
//! Things that one of the two could not judge are counted apart and enter nothing else.
//! Neither column is taken for the truth, except in [`Agreement::binary`], where the second is what the first is measured against.
//!
//! References: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960) 37–46;
//! J. L. Fleiss, J. Cohen and B. S. Everitt, "Large sample standard errors of kappa and weighted kappa", Psychological Bulletin 72 (1969) 323–327;
//! D. Angluin and P. Laird, "Learning from noisy examples", Machine Learning 2 (1988) 343–370, for the model of [`label_noise`].

mod noise;

use std::collections::{BTreeMap, BTreeSet};

pub use self::noise::{LabelNoise, NotEstimable, label_noise};

/// Two columns that are not about the same things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the columns have `{first}` and `{second}` labels: expected as many")]
pub struct DifferentLengths {
    /// Length of the first.
    pub first: usize,
    /// Length of the second.
    pub second: usize,
}

/// How two columns of labels agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement<L> {
    /// Every label that either column has, ascending.
    labels: Vec<L>,
    /// How often each pair of labels was given, the first column's label first.
    counts: BTreeMap<(L, L), u64>,
    /// Rows with different labels, ascending.
    disagreements: Vec<usize>,
    /// Rows that only one column, or none, has a label for.
    n_unknown: u64,
}

/// One label against all others, the second column taken for the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Binary {
    /// Both have the label.
    pub n_both: u64,
    /// Only the first has it: false alarms.
    pub n_first_only: u64,
    /// Only the second has it: misses.
    pub n_second_only: u64,
    /// Neither has it.
    pub n_neither: u64,
}

impl Binary {
    /// The share of the first's labels that are right; `None` when it never gave the label.
    pub fn precision(&self) -> Option<f64> {
        share(self.n_both, self.n_both + self.n_first_only)
    }

    /// The share of the second's labels that the first has too; `None` when the second never gave it.
    pub fn recall(&self) -> Option<f64> {
        share(self.n_both, self.n_both + self.n_second_only)
    }

    /// The harmonic mean of precision and recall; `None` when nobody gave the label.
    pub fn f1(&self) -> Option<f64> {
        share(
            2 * self.n_both,
            2 * self.n_both + self.n_first_only + self.n_second_only,
        )
    }
}

/// Compares two columns row by row; `None` is a label that is not known.
///
/// # Errors
///
/// [`DifferentLengths`] with both.
pub fn agreement<L: Ord + Clone>(
    first: &[Option<L>],
    second: &[Option<L>],
) -> Result<Agreement<L>, DifferentLengths> {
    if first.len() != second.len() {
        return Err(DifferentLengths {
            first: first.len(),
            second: second.len(),
        });
    }
    let mut counts = BTreeMap::new();
    let mut disagreements = Vec::new();
    let mut n_unknown = 0;
    for (row, pair) in first.iter().zip(second).enumerate() {
        let (Some(a), Some(b)) = pair else {
            n_unknown += 1;
            continue;
        };
        if a != b {
            disagreements.push(row);
        }
        *counts.entry((a.clone(), b.clone())).or_insert(0) += 1;
    }
    let labels: BTreeSet<L> = counts
        .keys()
        .flat_map(|(a, b)| [a.clone(), b.clone()])
        .collect();
    Ok(Agreement {
        labels: labels.into_iter().collect(),
        counts,
        disagreements,
        n_unknown,
    })
}

impl<L: Ord + Clone> Agreement<L> {
    /// Every label that either column has, ascending: rows and columns of the confusion.
    pub fn labels(&self) -> &[L] {
        &self.labels
    }

    /// How often the first said `first` where the second said `second`.
    pub fn count(&self, first: &L, second: &L) -> u64 {
        self.counts
            .get(&(first.clone(), second.clone()))
            .copied()
            .unwrap_or(0)
    }

    /// The table of counts: a row for each label of the first, a column for each of the second, in the order of [`Agreement::labels`].
    pub fn confusion(&self) -> Vec<Vec<u64>> {
        self.labels
            .iter()
            .map(|a| self.labels.iter().map(|b| self.count(a, b)).collect())
            .collect()
    }

    /// Rows that both labelled.
    pub fn n_compared(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Rows left out because a label is not known.
    pub const fn n_unknown(&self) -> u64 {
        self.n_unknown
    }

    /// The rows with different labels, ascending.
    pub fn disagreements(&self) -> &[usize] {
        &self.disagreements
    }

    /// The share of rows with the same label; `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        let n_same = self
            .labels
            .iter()
            .map(|label| self.count(label, label))
            .sum();
        share(n_same, self.n_compared())
    }

    /// Cohen's kappa, `(p_o − p_e) / (1 − p_e)`: agreement beyond what the two rates of labels give by chance (Cohen 1960).
    ///
    /// `None` without rows, and when both gave one and the same label throughout, as chance then explains everything.
    pub fn kappa(&self) -> Option<f64> {
        let observed = self.accuracy()?;
        let expected = self.expected()?;
        (expected < 1.0).then(|| (observed - expected) / (1.0 - expected))
    }

    /// The standard error of kappa in large samples (Fleiss, Cohen and Everitt 1969, formula 13). `None` when kappa is.
    pub fn kappa_standard_error(&self) -> Option<f64> {
        let kappa = self.kappa()?;
        let expected = self.expected()?;
        let n_rows = float(self.n_compared());
        let rates: Vec<(f64, f64)> = self.labels.iter().map(|label| self.rates(label)).collect();
        let (mut same, mut different) = (0.0, 0.0);
        for (i, a) in self.labels.iter().enumerate() {
            for (j, b) in self.labels.iter().enumerate() {
                let p = float(self.count(a, b)) / n_rows;
                if i == j {
                    let term = 1.0 - (rates[i].0 + rates[i].1) * (1.0 - kappa);
                    same += p * term * term;
                } else {
                    // The row's label as the second gave it, and the column's as the first did.
                    let term = rates[i].1 + rates[j].0;
                    different += p * term * term;
                }
            }
        }
        let last = kappa - expected * (1.0 - kappa);
        let variance = (same + (1.0 - kappa).powi(2) * different - last * last)
            / (n_rows * (1.0 - expected).powi(2));
        Some(variance.max(0.0).sqrt())
    }

    /// `label` against all others, the second column taken for the truth.
    pub fn binary(&self, label: &L) -> Binary {
        let mut binary = Binary::default();
        for ((a, b), n_rows) in &self.counts {
            *match (a == label, b == label) {
                (true, true) => &mut binary.n_both,
                (true, false) => &mut binary.n_first_only,
                (false, true) => &mut binary.n_second_only,
                (false, false) => &mut binary.n_neither,
            } += n_rows;
        }
        binary
    }

    /// The mean F1 of all labels that anybody gave; `None` without rows.
    pub fn macro_f1(&self) -> Option<f64> {
        let scores: Vec<f64> = self
            .labels
            .iter()
            .filter_map(|label| self.binary(label).f1())
            .collect();
        (!scores.is_empty()).then(|| {
            scores.iter().sum::<f64>() / float(u64::try_from(scores.len()).unwrap_or(u64::MAX))
        })
    }

    /// Agreement by chance, `Σ p(label, first) · p(label, second)`.
    fn expected(&self) -> Option<f64> {
        (self.n_compared() > 0).then(|| {
            self.labels
                .iter()
                .map(|label| {
                    let (first, second) = self.rates(label);
                    first * second
                })
                .sum()
        })
    }

    /// How often each column has the label.
    fn rates(&self, label: &L) -> (f64, f64) {
        let n_rows = float(self.n_compared());
        let count = |of: &dyn Fn(&(L, L)) -> bool| {
            float(
                self.counts
                    .iter()
                    .filter(|(pair, _)| of(pair))
                    .map(|(_, n_rows)| n_rows)
                    .sum(),
            )
        };
        (
            count(&|(a, _)| a == label) / n_rows,
            count(&|(_, b)| b == label) / n_rows,
        )
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

const fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
