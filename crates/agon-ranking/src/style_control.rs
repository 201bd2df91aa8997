//! Features for style control: how two answers differ, on a scale that makes coefficients comparable.
//!
//! Not for counting headings and lists: the caller brings the counts of each side.

use std::num::NonZeroUsize;

use crate::comparisons::in_parallel;

/// How the totals of two sides become a difference between −1 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DifferenceRule {
    /// (a − b) / (a + b + 1): FastChat, and the default.
    #[default]
    PlusOne,
    /// (a − b) / (a + b), and 0 when both are 0: arena-rank's examples.
    ZeroWhenEmpty,
}

impl DifferenceRule {
    /// The normalised difference of two totals (tokens, headers, list items, bold spans).
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::PlusOne => (a - b) / (a + b + 1.0),
            Self::ZeroWhenEmpty if a + b == 0.0 => 0.0,
            Self::ZeroWhenEmpty => (a - b) / (a + b),
        }
    }
}

/// How features are brought to a common scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// Divided by the root of the mean square, not centred. The default: exchanging sides then only negates a
    /// feature, so ratings do not depend on which model was stored as side A.
    #[default]
    Uncentred,
    /// (x − mean) / standard deviation over all rows (FastChat, arena-rank; population deviation).
    ///
    /// Centring adds an advantage of side A that is tied to the coefficients: with sides stored in alphabetical order
    /// it moved ratings by 21.7 points.
    Centred,
}

/// What scaling did with one feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScaledFeature {
    /// The feature was kept, shifted and divided.
    Kept {
        /// What was subtracted; 0 when not centred.
        mean: f64,
        /// What it was then divided by.
        deviation: f64,
    },
    /// Every value is 0, or with centring the same: it was left out.
    Constant,
    /// At least one value is not a finite number: it was left out.
    NotFinite,
}

/// Scales features in row-major order (`rows × n_features`) and leaves out those that carry no information.
///
/// Returns the kept features in row-major order and what became of each. One NaN would otherwise make every
/// rating NaN, and a constant feature would make the fit impossible.
///
/// # Errors
///
/// [`Error::Length`](crate::Error::Length) when the values do not fill whole rows.
pub fn scale_features(
    features: &[f64],
    n_features: usize,
    scaling: Scaling,
) -> Result<(Vec<f64>, Vec<ScaledFeature>), crate::Error> {
    if n_features == 0 || !features.len().is_multiple_of(n_features) {
        if features.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let expected = features
            .len()
            .checked_div(n_features)
            .map_or(0, |rows| rows * n_features);
        return Err(crate::Error::Length {
            found: features.len(),
            expected,
        });
    }
    let n_rows = (features.len() / n_features) as f64;
    let fates: Vec<ScaledFeature> = (0..n_features)
        .map(|feature| {
            let column = || features.iter().skip(feature).step_by(n_features).copied();
            if !column().all(f64::is_finite) {
                return ScaledFeature::NotFinite;
            }
            let first = features.get(feature).copied().unwrap_or(0.0);
            let mean = match scaling {
                Scaling::Uncentred => 0.0,
                Scaling::Centred if column().all(|x| x == first) => return ScaledFeature::Constant,
                Scaling::Centred => column().sum::<f64>() / n_rows,
            };
            let deviation =
                (column().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n_rows).sqrt();
            if deviation > 0.0 && deviation.is_finite() {
                ScaledFeature::Kept { mean, deviation }
            } else {
                ScaledFeature::Constant
            }
        })
        .collect();
    let mut scaled = Vec::with_capacity(features.len());
    for row in features.chunks_exact(n_features) {
        for (value, fate) in row.iter().zip(&fates) {
            if let ScaledFeature::Kept { mean, deviation } = fate {
                scaled.push((value - mean) / deviation);
            }
        }
    }
    Ok((scaled, fates))
}

/// The units of features that are scaled without a centre, given by column: what [`scale_features`] divides each by, if
/// it is given the rows in which all features are finite. 1 for a feature that is 0 in all of these.
///
/// Nothing is copied, and the squares of a column are summed in the order of rows: the number of threads changes no bit.
///
/// # Panics
///
/// If the columns are not of one length.
pub fn uncentred_units(columns: &[&[f64]], n_threads: NonZeroUsize) -> Vec<f64> {
    let n_rows = columns.first().map_or(0, |column| column.len());
    // The compiler then knows that every row is in every column.
    let columns: Vec<&[f64]> = columns.iter().map(|column| &column[..n_rows]).collect();
    let share = n_rows.div_ceil(n_threads.get()).max(1);
    let mut is_complete = vec![false; n_rows];
    let rows: Vec<_> = is_complete.chunks_mut(share).zip(0..).collect();
    let n_complete: u64 = in_parallel(rows, |(is_complete, part): (&mut [bool], usize)| {
        let first = part * share;
        for (row, is_complete) in (first..).zip(is_complete.iter_mut()) {
            *is_complete = columns.iter().all(|column| column[row].is_finite());
        }
        is_complete
            .iter()
            .map(|&complete| u64::from(complete))
            .sum::<u64>()
    })
    .into_iter()
    .sum();
    let share = columns.len().div_ceil(n_threads.get()).max(1);
    let squares = in_parallel(columns.chunks(share).collect(), |columns: &[&[f64]]| {
        let mut squares = vec![0.0; columns.len()];
        for (row, _) in is_complete
            .iter()
            .enumerate()
            .filter(|(_, complete)| **complete)
        {
            for (sum, column) in squares.iter_mut().zip(columns) {
                *sum += column[row] * column[row];
            }
        }
        squares
    });
    squares
        .into_iter()
        .flatten()
        .map(|sum| (sum / n_complete as f64).sqrt())
        .map(|unit| {
            if unit > 0.0 && unit.is_finite() {
                unit
            } else {
                1.0
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_what_complete_rows_are_divided_by() {
        let columns = [
            vec![0.5, -0.25, f64::NAN, 0.125, 0.3],
            vec![1.0, f64::INFINITY, 2.0, -3.0, 0.1],
            vec![0.0, 1.0, 1.0, 0.0, 0.0],
        ];
        let complete = [0, 3, 4];
        let slices: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
        let units = uncentred_units(&slices, NonZeroUsize::MIN);
        for n_threads in 2..8 {
            let n_threads = NonZeroUsize::new(n_threads).unwrap();
            assert_eq!(uncentred_units(&slices, n_threads), units, "{n_threads}");
        }
        for (column, unit) in columns.iter().zip(units) {
            let values: Vec<f64> = complete.iter().map(|&row| column[row]).collect();
            let (_, fates) = scale_features(&values, 1, Scaling::Uncentred).unwrap();
            let expected = match fates[0] {
                ScaledFeature::Kept { deviation, .. } => deviation,
                _ => 1.0,
            };
            assert_eq!(unit, expected);
        }
        assert!(uncentred_units(&[], NonZeroUsize::MIN).is_empty());
    }
}
