//! What to do where no fit exists in double precision: leave out and name what is in the way, then fit the rest.
//!
//! Not for what has no finite optimum at all: models outside a strongly connected part never come here.

use std::borrow::Cow;

use super::parts::Part;
use super::{
    DropReason, DroppedFeature, Fitted, Leaderboard, LeaderboardOptions, RATED_BATTLES_MIN,
    fit_part,
};
use crate::Error;
use crate::bradley_terry::{FitOptions, Likelihood, fit_connected_from};
use crate::comparisons::Comparisons;
use crate::components::ScoreGraph;

/// A fit, and what it had to do without.
pub(super) struct Outcome {
    pub(super) fitted: Fitted,
    pub(super) dropped: Vec<DroppedFeature>,
    /// All comparisons without the dropped features; nothing when none was.
    pub(super) fewer_features: Option<Comparisons>,
    /// Models of the part that could not be placed, ascending.
    pub(super) weakly_tied: Vec<usize>,
}

/// Fits a part, without the features and models that make a fit impossible.
///
/// # Errors
///
/// The last error of the fit when nothing is left to leave out; at once, errors of another kind.
pub(super) fn fit_what_can_be(
    comparisons: &Comparisons,
    part: &Part,
    options: &LeaderboardOptions,
    previous: Option<&Leaderboard>,
) -> Result<Outcome, Error> {
    let mut features: Vec<usize> = (0..comparisons.n_features()).collect();
    let mut fewer_features: Option<Comparisons> = None;
    let mut dropped = Vec::new();
    let mut rated = Cow::Borrowed(&part.rated[..]);
    let mut weakly_tied = Vec::new();
    // Scores below this share of a model's battles do not count as ties to others.
    let mut shares = [1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4].into_iter();
    loop {
        let all = fewer_features.as_ref().unwrap_or(comparisons);
        let inside = if rated.len() == all.n_models() {
            Cow::Borrowed(all)
        } else {
            Cow::Owned(all.among(&rated))
        };
        let error = match fit_part(&inside, &rated, &features, options, previous) {
            Ok(fitted) => {
                return Ok(Outcome {
                    fitted,
                    dropped,
                    fewer_features,
                    weakly_tied,
                });
            }
            Err(error) => error,
        };
        if !matches!(
            error,
            Error::Singular | Error::NotConverged { .. } | Error::CollinearFeature { .. }
        ) {
            return Err(error);
        }
        if let Some((position, reason)) = feature_in_the_way(&inside, options) {
            let feature = features.remove(position);
            dropped.push(DroppedFeature { feature, reason });
            fewer_features = Some(comparisons.with_features(&features));
            continue;
        }
        let fewer = shares.find_map(|share| {
            let main = well_tied(&inside, share);
            (main.len() > 1 && main.len() < rated.len()).then_some(main)
        });
        let Some(main) = fewer else {
            return Err(error);
        };
        let kept: Vec<usize> = main.iter().map(|&position| rated[position]).collect();
        weakly_tied.extend(rated.iter().filter(|model| !kept.contains(model)));
        weakly_tied.sort_unstable();
        rated = Cow::Owned(kept);
    }
}

/// The feature without which a fit is more likely to exist, and why.
fn feature_in_the_way(
    inside: &Comparisons,
    options: &LeaderboardOptions,
) -> Option<(usize, DropReason)> {
    if inside.n_features() == 0 {
        return None;
    }
    if let Some(position) =
        Likelihood::new(inside, &options.fit, options.n_threads).collinear_feature()
    {
        return Some((position, DropReason::Collinear));
    }
    // The estimate of a coefficient that has none grows with the logarithm of 1 / penalty; all others hardly move.
    /// Growth of a coefficient, in log-odds at the root mean square of its feature, that only a separated one shows.
    const GROWTH: f64 = 0.5;
    let under = |share: f64| {
        let penalised = FitOptions {
            ridge_coefficients: options.fit.ridge_coefficients + share,
            ridge_strengths: options.fit.ridge_strengths + share,
            ..options.fit
        };
        fit_connected_from(None, None, inside, &penalised, options.n_threads).ok()
    };
    let scale = |feature: usize| {
        let column = &inside.feature_columns()[feature];
        let squares: f64 = column.iter().map(|x| x * x).sum();
        (squares / column.iter().filter(|x| **x != 0.0).count().max(1) as f64).sqrt()
    };
    let (near, far) = (under(1e-2)?, under(1e-5)?);
    let growth = near.coefficients.iter().zip(&far.coefficients).enumerate();
    growth
        .map(|(feature, (near, far))| (feature, (far - near).abs() * scale(feature)))
        .filter(|(_, growth)| *growth > GROWTH)
        .max_by(|x, y| x.1.total_cmp(&y.1).then(y.0.cmp(&x.0)))
        .map(|(feature, _)| (feature, DropReason::Separates))
}

/// The models of the part with most battles inside which everybody has scored a good share against everybody, directly or
/// through others; by position, ascending.
fn well_tied(inside: &Comparisons, share: f64) -> Vec<usize> {
    let parts = ScoreGraph::of_scores_above(inside, share).strong_components(inside);
    let rated = parts.into_iter().filter(|models| {
        let battles = inside.among(models);
        (0..models.len())
            .filter(|&model| battles.record(model).battles >= RATED_BATTLES_MIN)
            .count()
            > 1
    });
    rated
        .max_by_key(|models| {
            let battles = inside.among(models).n_battles();
            (battles, models.len(), std::cmp::Reverse(models[0]))
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::calibration;
    use crate::influence::{InfluenceOptions, Sides, fewest_votes, side_bias_of_fit};
    use crate::{
        BootstrapOptions, Columns, Comparison, ProvisionalReason, SimultaneousOptions, Status,
        bootstrap, leaderboard, leaderboard_from, simultaneous,
    };

    /// Four models that met often with all results, 0 the best.
    fn common(count: u64) -> Vec<Comparison> {
        let mut rows = Vec::new();
        for a in 0..4 {
            for b in a + 1..4 {
                rows.push(Comparison::new(a, b, 1.0).with_count(2 * count));
                rows.push(Comparison::new(a, b, 0.0).with_count(count));
            }
        }
        rows
    }

    #[test]
    fn long_odds_are_fitted_exactly() {
        for wins in [10_000, 1_000_000_000, 1_000_000_000_000_000] {
            let rows = (0..5_u32).flat_map(|model| {
                let won = Comparison::new(model, model + 1, 1.0).with_count(wins);
                [won, Comparison::new(model, model + 1, 0.0)]
            });
            let comparisons = Comparisons::new(6, rows).unwrap();
            let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
            let fitted = board.main().fitted.as_ref().unwrap();
            for pair in fitted.fit.strengths.windows(2) {
                let expected = (wins as f64).ln();
                assert!((pair[0] - pair[1] - expected).abs() < 1e-9 * expected);
            }
            assert!(
                board
                    .main()
                    .entries
                    .iter()
                    .all(|entry| entry.interval.is_some())
            );
        }
    }

    #[test]
    fn who_is_tied_too_weakly_is_provisional_and_moves_nobody() {
        let many = 1_000_000_000_000_000;
        let mut rows = common(many);
        let alone = leaderboard(
            &Comparisons::new(4, rows.clone()).unwrap(),
            &LeaderboardOptions::default(),
        )
        .unwrap();
        // Two that met each other as often, and the others nearly always with one result.
        rows.push(Comparison::new(4, 5, 1.0).with_count(many));
        rows.push(Comparison::new(4, 5, 0.0).with_count(many));
        rows.push(Comparison::new(0, 4, 1.0));
        rows.push(Comparison::new(5, 3, 1.0));
        let board = leaderboard(
            &Comparisons::new(6, rows).unwrap(),
            &LeaderboardOptions::default(),
        )
        .unwrap();
        let board = board.main();
        for (entry, expected) in board.entries[..4].iter().zip(&alone.main().entries) {
            assert_eq!(
                (entry.model, entry.rating),
                (expected.model, expected.rating)
            );
        }
        for entry in &board.entries[4..] {
            let reason = ProvisionalReason::WeaklyTied;
            assert!(
                matches!(entry.status, Status::Provisional { reason: found, .. } if found == reason),
                "{entry:?}"
            );
            assert!(entry.rating.is_finite());
        }
    }

    fn with_features(features: &[f64], n_features: usize) -> Result<Leaderboard, Error> {
        leaderboard(
            &comparisons(features, n_features),
            &LeaderboardOptions::default(),
        )
    }

    fn comparisons(features: &[f64], n_features: usize) -> Comparisons {
        let outcomes = [1.0, 0.0, 0.5, 1.0, 1.0, 0.0];
        let rows: Vec<Comparison> = (0..features.len() / n_features)
            .map(|row| {
                let a = row as u32 % 3;
                Comparison::new(a, (a + 1) % 3, outcomes[row % 6])
            })
            .collect();
        let columns = Columns {
            n_features,
            features,
            clusters: None,
        };
        Comparisons::with_columns(3, &rows, columns).unwrap()
    }

    #[test]
    fn what_follows_a_fit_passes_over_the_features_it_left_out() {
        let plain = |row: usize| ((row * 7) % 11) as f64 / 5.0 - 1.0;
        let kept = comparisons(&(0..120).map(plain).collect::<Vec<_>>(), 1);
        // The first feature is always 0, so it is left out.
        let both: Vec<f64> = (0..120).flat_map(|row| [0.0, plain(row)]).collect();
        let all = comparisons(&both, 2);
        let options = LeaderboardOptions::default();
        let board = leaderboard(&all, &options).unwrap();
        let expected_board = leaderboard(&kept, &options).unwrap();
        let fitted = board.main().fitted.as_ref().unwrap();
        let expected = expected_board.main().fitted.as_ref().unwrap();
        assert_eq!(
            (&fitted.features[..], &expected.features[..]),
            (&[1][..], &[0][..])
        );
        // Either all comparisons or those without the feature: both are those of the fit.
        assert_eq!(fitted.comparisons(&all).unwrap(), kept);
        assert_eq!(fitted.comparisons(&kept).unwrap(), kept);
        let fewer = kept.with_features(&[]);
        assert!(matches!(
            fitted.comparisons(&fewer),
            Err(Error::Length { .. })
        ));

        let rounds = BootstrapOptions {
            rounds: 20,
            ..BootstrapOptions::default()
        };
        assert_eq!(
            bootstrap(&all, fitted, &options, &rounds),
            bootstrap(&kept, expected, &options, &rounds)
        );
        let influence = InfluenceOptions::default();
        assert_eq!(
            fewest_votes(&all, fitted, 1, &influence).unwrap(),
            fewest_votes(&kept, expected, 1, &influence).unwrap()
        );
        let rated = fitted.comparisons(&all).unwrap();
        assert_eq!(
            calibration(&fitted.fit, &rated, 10, 0.95).unwrap(),
            calibration(&expected.fit, &kept, 10, 0.95).unwrap()
        );
        let draws = SimultaneousOptions::default();
        assert_eq!(
            simultaneous(fitted, &options, &draws).unwrap(),
            simultaneous(expected, &options, &draws).unwrap()
        );
        // A later board starts at the coefficient of the same feature.
        let again = leaderboard_from(&board, &all, &options).unwrap();
        let again = again.main().fitted.as_ref().unwrap();
        assert!((again.fit.coefficients[0] - fitted.fit.coefficients[0]).abs() < 1e-12);
        assert!(again.fit.certificate.iterations <= 2);
    }

    #[test]
    fn the_bias_of_a_side_is_told_without_a_feature_that_was_left_out() {
        // Sides are told apart only where both orders were played; a feature that is always 0 changes nothing.
        let rows: Vec<Comparison> = [(0, 1, 22), (1, 0, 24)]
            .into_iter()
            .flat_map(|(a, b, wins)| {
                [
                    Comparison::new(a, b, 1.0).with_count(wins),
                    Comparison::new(a, b, 0.0).with_count(18),
                ]
            })
            .collect();
        let columns = Columns {
            n_features: 1,
            features: &[0.0; 4],
            clusters: None,
        };
        let options = LeaderboardOptions::default();
        let of = |comparisons: &Comparisons| {
            let board = leaderboard(comparisons, &options).unwrap();
            let sides = Sides::of(rows.iter().copied());
            side_bias_of_fit(board.main().fitted.as_ref().unwrap(), &sides, 0.95).unwrap()
        };
        let with_zeros = Comparisons::with_columns(2, &rows, columns).unwrap();
        assert_eq!(
            of(&with_zeros),
            of(&Comparisons::new(2, rows.clone()).unwrap())
        );
    }

    #[test]
    fn features_in_the_way_are_left_out_and_named() {
        let outcomes = [1.0, 0.0, 0.5, 1.0, 1.0, 0.0];
        let plain = |row: usize| ((row * 7) % 11) as f64 / 5.0 - 1.0;
        let all = |extra: fn(f64) -> f64| -> Vec<f64> {
            (0..120)
                .flat_map(|row| [extra(outcomes[row % 6]), plain(row)])
                .collect()
        };
        let expected = with_features(&(0..120).map(plain).collect::<Vec<_>>(), 1).unwrap();
        for (features, reason) in [
            (all(|outcome| outcome - 0.5), DropReason::Separates),
            (all(|_| 0.0), DropReason::Collinear),
        ] {
            let board = with_features(&features, 2).unwrap();
            let dropped = DroppedFeature { feature: 0, reason };
            assert_eq!(board.main().dropped, [dropped]);
            assert_eq!(board.main().coefficients[0].feature, 1);
            for (entry, expected) in board.main().entries.iter().zip(&expected.main().entries) {
                assert_eq!(
                    (entry.model, entry.rating),
                    (expected.model, expected.rating)
                );
                assert_eq!(entry.interval, expected.interval);
            }
        }
    }
}
