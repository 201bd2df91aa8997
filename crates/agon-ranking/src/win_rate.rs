//! Average win rate: the plainest score, for comparison with ratings.

use crate::comparisons::Comparisons;

/// Mean over the opponents a model met of its win rate against each, a tie counting as half a win.
///
/// `None` for a model without battles. Each opponent counts alike, however often they met; weights enter the rate
/// against one opponent. It depends on who met whom, which a rating corrects for.
///
/// # Examples
///
/// ```
/// use agon_ranking::{Comparison, Comparisons, average_win_rates};
///
/// let comparisons = Comparisons::new(3, [Comparison::new(0, 1, 1.0), Comparison::new(0, 2, 0.5)])?;
/// assert_eq!(average_win_rates(&comparisons), [Some(0.75), Some(0.0), Some(0.5)]);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn average_win_rates(comparisons: &Comparisons) -> Vec<Option<f64>> {
    let mut sums = vec![0.0; comparisons.n_models()];
    let mut opponents = vec![0_u32; comparisons.n_models()];
    for (pair, cells) in comparisons.by_pair() {
        let (mut mass, mut score) = (0.0, 0.0);
        for cell in cells.map(|idx| comparisons.cell_of(pair, idx)) {
            mass += cell.mass();
            score += cell.mass() * cell.outcome;
        }
        let (i, j) = (pair.i as usize, pair.j as usize);
        sums[i] += score / mass;
        sums[j] += 1.0 - score / mass;
        opponents[i] += 1;
        opponents[j] += 1;
    }
    sums.iter()
        .zip(opponents)
        .map(|(sum, met)| (met > 0).then(|| sum / f64::from(met)))
        .collect()
}
