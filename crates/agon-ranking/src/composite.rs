//! Several sources of votes in one fit, each with its say.
//!
//! Not for anchoring on another arena's ratings: see [`fit_with_prior`](crate::fit_with_prior).

use std::num::NonZeroUsize;

use crate::Error;
use crate::bradley_terry::Fit;
use crate::comparisons::{Columns, Comparison, Comparisons};
use crate::covariance::{Covariance, residual, squared_scores};

/// Comparisons from one source and how much they count.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The source's comparisons; all sources number the models, features and clusters alike.
    pub comparisons: &'a Comparisons,
    /// Share of the source in the objective, whatever its number of battles; shares need not sum to 1.
    pub share: f64,
}

/// Combines sources so that each has its share of the total weight (composite Bradley-Terry).
///
/// The objective of the result is Σ share · (mean log-loss of the source), times the total number of battles: every
/// source's weights are multiplied by share / Σ shares · (all battles) / (weight of the source).
/// A penalty λ/2 · ‖θ‖² on the mean loss is therefore `ridge_strengths` = λ · (all battles), for shares that sum to 1.
///
/// # Errors
///
/// [`Error::NoBattles`] without sources or for a source without battles; [`Error::Option`] for a share that is not
/// finite and above 0; [`Error::Length`] when the sources differ in models or features; [`Error::NoClusters`] when some
/// carry clusters and some do not.
///
/// # Examples
///
/// Ten votes of experts count as much as a thousand others.
///
/// ```
/// use agon_ranking::{Comparison, Comparisons, FitOptions, Source, composite, fit};
///
/// let of = |wins, losses| {
///     Comparisons::new(
///         2,
///         [Comparison::new(0, 1, 1.0).with_count(wins), Comparison::new(0, 1, 0.0).with_count(losses)],
///     )
/// };
/// let (experts, others) = (of(8, 2)?, of(500, 500)?);
/// let both = composite(&[
///     Source { comparisons: &experts, share: 0.5 },
///     Source { comparisons: &others, share: 0.5 },
/// ])?;
/// let p = fit(&both, &FitOptions::default())?.win_probability(0, 1).expect("both are in the fit");
/// assert!((p - 0.65).abs() < 1e-12);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn composite(sources: &[Source<'_>]) -> Result<Comparisons, Error> {
    let factors = factors(sources)?;
    let Some(first) = sources.first() else {
        return Err(Error::NoBattles);
    };
    let clustered = first.comparisons.clusters().is_some();
    let mut rows = Vec::new();
    let mut features = Vec::new();
    let mut clusters = Vec::new();
    for (source, factor) in sources.iter().zip(factors) {
        let comparisons = source.comparisons;
        if comparisons.clusters().is_some() != clustered {
            return Err(Error::NoClusters);
        }
        clusters.extend_from_slice(comparisons.clusters().unwrap_or(&[]));
        append(comparisons, factor, &mut rows, &mut features);
    }
    Comparisons::with_columns(
        first.comparisons.n_models(),
        &rows,
        Columns {
            n_features: first.comparisons.n_features(),
            features: &features,
            clusters: clustered.then_some(&clusters),
        },
    )
}

/// Covariance of the fit of [`composite()`] with the scores of each source centred on their own mean.
///
/// The sources disagree about the optimum, so the scores of one do not sum to 0 there: their sum is a systematic part
/// that does not vary, and is taken out (arena-rank's composite fit does the same). Sources count as independent, which
/// is not so when one is part of another.
///
/// # Errors
///
/// As [`composite()`]; [`Error::Length`] when the fit has another number of models or features; [`Error::Singular`].
pub fn composite_covariance(fit: &Fit, sources: &[Source<'_>]) -> Result<Covariance, Error> {
    let factors = factors(sources)?;
    let n_models = fit.strengths.len();
    let n = n_models + fit.coefficients.len();
    // Each source's own centring takes the place of that for the penalty, which pulls on the sum of all scores.
    let mut unpenalised = fit.clone();
    unpenalised.penalty_gradient.fill(0.0);
    let mut meat: Option<crate::linear_algebra::Matrix> = None;
    for (source, factor) in sources.iter().zip(factors) {
        let comparisons = source.comparisons;
        let given = comparisons.n_models() + comparisons.n_features();
        if given != n || comparisons.n_models() != n_models {
            return Err(Error::Length {
                found: given,
                expected: n,
            });
        }
        let mut score = vec![0.0; n];
        for (idx, cell) in comparisons.cells().enumerate() {
            let residual =
                cell.count as f64 * residual(&unpenalised, &cell, comparisons.features_of(idx));
            score[cell.i as usize] += residual;
            score[cell.j as usize] -= residual;
            for (f, x) in comparisons.features_of(idx).enumerate() {
                score[n_models + f] += residual * x;
            }
        }
        let squares = squared_scores(&unpenalised, comparisons, NonZeroUsize::MIN);
        let battles = comparisons.n_battles() as f64;
        let sum = meat.get_or_insert_with(|| crate::linear_algebra::Matrix::zeros(n));
        for column in 0..n {
            for row in 0..n {
                let centred = squares.get(row, column) - score[row] * score[column] / battles;
                sum.add(row, column, factor * factor * centred);
            }
        }
    }
    Covariance::with_meat(fit, &composite(sources)?, meat, NonZeroUsize::MIN)
}

/// What each source's weights are multiplied by.
fn factors(sources: &[Source<'_>]) -> Result<Vec<f64>, Error> {
    let Some(first) = sources.first() else {
        return Err(Error::NoBattles);
    };
    let (mut shares, mut battles) = (0.0, 0.0);
    for source in sources {
        if !(source.share.is_finite() && source.share > 0.0) {
            return Err(Error::Option {
                option: "share",
                value: source.share,
                expected: "a finite number above 0",
            });
        }
        if source.comparisons.n_battles() == 0 {
            return Err(Error::NoBattles);
        }
        for (found, expected) in [
            (source.comparisons.n_models(), first.comparisons.n_models()),
            (
                source.comparisons.n_features(),
                first.comparisons.n_features(),
            ),
        ] {
            if found != expected {
                return Err(Error::Length { found, expected });
            }
        }
        shares += source.share;
        battles += source.comparisons.n_battles() as f64;
    }
    Ok(sources
        .iter()
        .map(|source| source.share / shares * battles / source.comparisons.total_weight())
        .collect())
}

/// Adds all cells as rows, their weights multiplied by a factor.
pub(crate) fn append(
    comparisons: &Comparisons,
    factor: f64,
    rows: &mut Vec<Comparison>,
    features: &mut Vec<f64>,
) {
    for (idx, cell) in comparisons.cells().enumerate() {
        rows.push(
            Comparison::new(cell.i, cell.j, cell.outcome)
                .with_count(cell.count)
                .with_weight(cell.weight * factor),
        );
        features.extend(comparisons.features_of(idx));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CovarianceMethod, FitOptions, fit};

    fn pair(wins: u64, losses: u64) -> Comparisons {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(wins),
            Comparison::new(0, 1, 0.0).with_count(losses),
        ];
        Comparisons::new(2, rows).unwrap()
    }

    #[test]
    fn shares_count_and_battles_do_not() {
        let (few, many) = (pair(9, 1), pair(3_000, 7_000));
        for (share, expected) in [(0.5, 0.6), (0.25, 0.45), (1.0 / 3.0, 0.5)] {
            let sources = [
                Source {
                    comparisons: &few,
                    share: 4.0 * share,
                },
                Source {
                    comparisons: &many,
                    share: 4.0 * (1.0 - share),
                },
            ];
            let both = composite(&sources).unwrap();
            assert!((both.total_weight() - 10_010.0).abs() < 1e-6);
            let fit = fit(&both, &FitOptions::default()).unwrap();
            assert!((fit.win_probability(0, 1).unwrap() - expected).abs() < 1e-12);
            // Var p̂ = Σ share² p (1 − p) / n over sources, each with its own p; θ = logit p divides by p (1 − p).
            let covariance = composite_covariance(&fit, &sources).unwrap();
            let variance = share * share * 0.9 * 0.1 / 10.0
                + (1.0 - share) * (1.0 - share) * 0.3 * 0.7 / 10_000.0;
            let error = variance.sqrt() / (expected * (1.0 - expected));
            let found = covariance.difference_error(0, 1).unwrap();
            assert!((found / error - 1.0).abs() < 1e-9, "{found} {error}");
        }
    }

    #[test]
    fn one_source_is_itself() {
        let only = pair(30, 20);
        let sources = [Source {
            comparisons: &only,
            share: 3.0,
        }];
        assert_eq!(composite(&sources).unwrap(), only);
        let fit = fit(&only, &FitOptions::default()).unwrap();
        let plain = Covariance::of(&fit, &only, CovarianceMethod::Sandwich).unwrap();
        let own = composite_covariance(&fit, &sources).unwrap();
        let ratio = own.difference_error(0, 1).unwrap() / plain.difference_error(0, 1).unwrap();
        assert!((ratio - 1.0).abs() < 1e-12);
    }

    #[test]
    fn sources_that_do_not_fit_together_are_refused() {
        let one = pair(3, 2);
        let three = Comparisons::new(3, [Comparison::new(0, 1, 0.5)]).unwrap();
        let empty = Comparisons::new(2, []).unwrap();
        let columns = Columns {
            clusters: Some(&[1]),
            ..Columns::default()
        };
        let clustered =
            Comparisons::with_columns(2, &[Comparison::new(0, 1, 0.5)], columns).unwrap();
        let check = |other: &Comparisons, share| {
            composite(&[
                Source {
                    comparisons: &one,
                    share: 1.0,
                },
                Source {
                    comparisons: other,
                    share,
                },
            ])
            .unwrap_err()
        };
        assert!(matches!(check(&three, 1.0), Error::Length { .. }));
        assert_eq!(check(&empty, 1.0), Error::NoBattles);
        assert_eq!(check(&clustered, 1.0), Error::NoClusters);
        for share in [0.0, -1.0, f64::NAN] {
            assert!(matches!(check(&one, share), Error::Option { .. }));
        }
        assert_eq!(composite(&[]), Err(Error::NoBattles));
    }
}
