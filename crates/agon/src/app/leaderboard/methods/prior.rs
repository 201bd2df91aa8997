//! The plain model drawn towards known ratings.

use std::collections::BTreeMap;

use agon_ranking::{Covariance, Fit, FitOptions, Start, critical_value, fit_with_prior};

use super::{Plain, Run, body, options, rows, structure_checks};
use crate::app::leaderboard::{
    IntervalMethod, LeaderboardBody, LeftOutFeature, RankError, StyleRow,
    standing::{Counts, Provisional, Standing, order, place_by_intervals, place_by_ratings},
    votes::{FitInput, Part},
};

/// Known strengths, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    strengths: BTreeMap<String, f64>,
    /// What a vote against an equal says is worth a quarter (the Fisher information p (1 − p) at p = ½).
    precision: f64,
}

impl Prior {
    /// Strengths of ratings on a scale of `scale` points for a factor of `base` in the odds, `init` being 0.
    ///
    /// Each counts as that many votes against an equal.
    ///
    /// # Errors
    ///
    /// [`RankError::Prior`] without any rating, or with one that is no number.
    pub fn new(
        ratings: impl IntoIterator<Item = (String, f64)>,
        scale: f64,
        base: f64,
        init: f64,
        battles: f64,
    ) -> Result<Self, RankError> {
        /// The information of a vote between equals.
        const OF_A_VOTE: f64 = 0.25;
        let points = scale / base.ln();
        let strengths: BTreeMap<String, f64> = ratings
            .into_iter()
            .map(|(model, rating)| (model, (rating - init) / points))
            .collect();
        if strengths.is_empty() {
            return Err(RankError::Prior {
                detail: "it rates nobody",
            });
        }
        if !strengths.values().all(|strength| strength.is_finite()) {
            return Err(RankError::Prior {
                detail: "a rating is not a finite number",
            });
        }
        Ok(Self {
            strengths,
            precision: OF_A_VOTE * battles,
        })
    }

    /// The strength of each name; the mean of the known ones for a name that is not among them.
    fn of(&self, names: &[String]) -> (Vec<f64>, usize) {
        let mean = self.strengths.values().sum::<f64>() / self.strengths.len() as f64;
        let mut n_unknown = 0;
        let strengths = names
            .iter()
            .map(|name| {
                self.strengths.get(name).copied().unwrap_or_else(|| {
                    n_unknown += 1;
                    mean
                })
            })
            .collect();
        (strengths, n_unknown)
    }
}

/// One board: the prior ties everybody together.
pub(super) fn boards(
    part: &Part<'_>,
    run: &Run<'_>,
    prior: &Prior,
    with_style: bool,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let settings = run.settings;
    let of_ranking = |error| RankError::of(error, part.names);
    let leaderboard_options = options(part, run)?;
    let (strengths, n_unknown) = prior.of(part.names);
    let fit_options = FitOptions {
        ridge_strengths: prior.precision,
        ..leaderboard_options.fit
    };
    let mut excluded: Vec<LeftOutFeature> = Vec::new();
    let (input, fit): (FitInput, Fit) = loop {
        let input = part.fit_input(settings, with_style, &excluded, run.n_threads)?;
        if input.comparisons.n_battles() == 0 {
            return Err(RankError::NoBattles);
        }
        let start = Start {
            strengths: strengths.clone(),
            coefficients: vec![0.0; input.features.len()],
        };
        match fit_with_prior(&start, &input.comparisons, &fit_options) {
            Ok(fit) => break (input, fit),
            // A feature that others say too is left out, as on a board without a prior.
            Err(agon_ranking::Error::CollinearFeature { feature })
                if feature < input.features.len() =>
            {
                excluded.push(LeftOutFeature {
                    feature: input.features[feature].0.clone(),
                    reason: "collinear".to_owned(),
                });
            }
            Err(error) => return Err(of_ranking(error)),
        }
    };
    let covariance = Covariance::of(&fit, &input.comparisons, leaderboard_options.covariance)
        .map_err(of_ranking)?;
    let critical = critical_value(settings.level).map_err(of_ranking)?;
    let points = leaderboard_options.points_per_nat();
    let has_intervals = settings.interval != IntervalMethod::None;
    let counts = Counts::by_model(part.names.len(), &part.pairs);
    let mut standings = Vec::new();
    for (model, counts) in counts.iter().enumerate() {
        if counts.battles() == 0 {
            continue;
        }
        let rating = settings.init + points * fit.strengths[model];
        let missing = settings.min_battles.saturating_sub(counts.battles());
        standings.push(Standing {
            interval: covariance
                .strength_error(model)
                .filter(|_| has_intervals)
                .map(|error| {
                    let half = critical * points * error;
                    (rating - half, rating + half)
                }),
            provisional: (missing > 0).then(|| Provisional::few_battles(missing)),
            ..Standing::rated(model, rating)
        });
    }
    order(&mut standings);
    if has_intervals {
        place_by_intervals(&mut standings);
    } else {
        place_by_ratings(&mut standings);
    }
    let mut body = body(settings, 1);
    body.style = input
        .features
        .iter()
        .zip(&fit.coefficients)
        .enumerate()
        .map(|(idx, ((feature, unit), &coefficient))| {
            let half = covariance
                .coefficient_error(idx)
                .filter(|_| has_intervals)
                .map(|error| critical * error);
            StyleRow {
                feature: feature.clone(),
                coefficient,
                lower: half.map(|half| coefficient - half),
                upper: half.map(|half| coefficient + half),
                unit: *unit,
            }
        })
        .collect();
    body.style_left_out = input.left_out;
    body.incomplete_rows = input.incomplete_rows;
    let plain = Plain::of(part, run)?;
    body.checks = structure_checks(part, plain.leaderboard.main(), &plain);
    body.models = rows(part, &standings, has_intervals);
    if n_unknown > 0 {
        body.notes.push(format!(
            "{n_unknown} models are not on the prior's board; they are drawn towards its mean"
        ));
    }
    Ok(vec![body])
}
