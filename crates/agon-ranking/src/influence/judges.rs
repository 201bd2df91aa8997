//! How concentrated the votes are: whether many judges speak, or few of them often.

use crate::Error;
use crate::comparisons::Comparisons;

/// How votes are spread over judges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeConcentration {
    /// Number of judges.
    pub judges: u64,
    /// Number of votes.
    pub votes: u64,
    /// Votes of the busiest judge.
    pub busiest: u64,
    /// Share of all votes cast by the busiest hundredth of the judges, rounded up to whole judges.
    pub top_percent_share: f64,
    /// Number of equally busy judges with the same concentration: 1 / Σ s², s the judges' shares of the votes
    /// (the inverse of Simpson's 1949 index; Kish's 1965 effective size).
    pub effective_judges: f64,
    /// Gini coefficient of the votes: 0 when all judges voted equally often, near 1 when one did almost all (Gini 1912).
    pub gini: f64,
}

/// Measures how concentrated votes are, from the number of votes of each judge.
///
/// # Errors
///
/// [`Error::NoBattles`] without judges, [`Error::Count`] for a judge without votes.
///
/// # Examples
///
/// ```
/// use agon_ranking::influence::judge_concentration;
///
/// let equal = judge_concentration([5, 5, 5, 5])?;
/// assert_eq!((equal.effective_judges, equal.gini), (4.0, 0.0));
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn judge_concentration(
    votes: impl IntoIterator<Item = u64>,
) -> Result<JudgeConcentration, Error> {
    let mut votes: Vec<u64> = votes.into_iter().collect();
    if let Some(row) = votes.iter().position(|&count| count == 0) {
        return Err(Error::Count { row });
    }
    votes.sort_unstable();
    let Some(&busiest) = votes.last() else {
        return Err(Error::NoBattles);
    };
    let n = votes.len();
    let total = votes
        .iter()
        .fold(0_u64, |sum, &count| sum.saturating_add(count));
    let sum = total as f64;
    let top: f64 = votes[n - n.div_ceil(100)..]
        .iter()
        .map(|&count| count as f64)
        .sum();
    let squares: f64 = votes
        .iter()
        .map(|&count| (count as f64 / sum).powi(2))
        .sum();
    // G = Σ (2 i − n − 1) xᵢ / (n Σ x) for ascending x and i from 1.
    let spread: f64 = votes
        .iter()
        .enumerate()
        .map(|(idx, &count)| (2.0 * (idx as f64 + 1.0) - n as f64 - 1.0) * count as f64)
        .sum();
    Ok(JudgeConcentration {
        judges: n as u64,
        votes: total,
        busiest,
        top_percent_share: top / sum,
        effective_judges: 1.0 / squares,
        gini: spread / (n as f64 * sum),
    })
}

/// Each judge with the number of votes cast, in ascending order of judges.
///
/// # Errors
///
/// [`Error::NoBattles`]; [`Error::NoClusters`] when the comparisons do not say who voted.
pub fn votes_of_judges(comparisons: &Comparisons) -> Result<Vec<(u32, u64)>, Error> {
    if comparisons.is_empty() {
        return Err(Error::NoBattles);
    }
    let clusters = comparisons.clusters().ok_or(Error::NoClusters)?;
    let mut votes: Vec<(u32, u64)> = clusters
        .iter()
        .zip(comparisons.counts())
        .map(|(&judge, &count)| (judge, count))
        .collect();
    votes.sort_unstable();
    votes.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
    Ok(votes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Columns, Comparison};

    #[test]
    fn concentration_has_its_closed_forms() {
        let one = judge_concentration([7]).unwrap();
        assert_eq!(
            one,
            JudgeConcentration {
                judges: 1,
                votes: 7,
                busiest: 7,
                top_percent_share: 1.0,
                effective_judges: 1.0,
                gini: 0.0,
            }
        );
        // Shares ¼ and ¾: 1 / (1/16 + 9/16), and half the relative mean difference of 1 and 3.
        let two = judge_concentration([1, 3]).unwrap();
        assert!((two.effective_judges - 1.6).abs() < 1e-15 && (two.gini - 0.25).abs() < 1e-15);
        // 200 judges, two of whom cast 101 votes each: 202 of 400 votes, and a Gini of ½ − 1/200 … by its formula.
        let mut votes = vec![1; 198];
        votes.extend([101, 101]);
        let many = judge_concentration(votes).unwrap();
        assert!((many.top_percent_share - 202.0 / 400.0).abs() < 1e-15);
        assert!((many.gini - (202.0 / 400.0 - 2.0 / 200.0)).abs() < 1e-12);
        assert_eq!(judge_concentration([]), Err(Error::NoBattles));
        assert_eq!(judge_concentration([1, 0]), Err(Error::Count { row: 1 }));
    }

    #[test]
    fn votes_are_counted_by_judge() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(2),
            Comparison::new(1, 2, 0.0),
            Comparison::new(0, 2, 0.5),
        ];
        let columns = Columns {
            n_features: 0,
            features: &[],
            clusters: Some(&[9, 4, 9]),
        };
        let comparisons = Comparisons::with_columns(3, &rows, columns).unwrap();
        assert_eq!(votes_of_judges(&comparisons), Ok(vec![(4, 1), (9, 3)]));
        assert_eq!(
            votes_of_judges(&comparisons.without_columns()),
            Err(Error::NoClusters)
        );
        let nothing = Comparisons::new(2, []).unwrap();
        assert_eq!(votes_of_judges(&nothing), Err(Error::NoBattles));
    }
}
