//! Models in which a tie is an outcome of its own, and both bad may be one.

use agon_ranking::{
    LeaderboardOptions,
    ties::{TieComparisons, TieCounts, TieFit, TieFitOptions, TieModel, fit_ties},
};

use super::{Plain, Run, body, options, rows, structure_checks};
use crate::app::leaderboard::{
    BothBadRule, Check, IntervalMethod, LeaderboardBody, LevelBody, LocationSetting, RankError,
    TieBody,
    standing::{Provisional, Standing, order, place_by_intervals, place_by_ratings},
    votes::Part,
};

/// One board for each group of models that met; in the grounded model one board for all, as the bar ties them together.
pub(super) fn boards(
    part: &Part<'_>,
    run: &Run<'_>,
    model: TieModel,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let options = options(part, run)?;
    let plain = Plain::of(part, run)?;
    let counts: Vec<TieCounts> = part.tie_counts(run.settings).collect();
    let mut bodies = Vec::new();
    let all = &plain.leaderboard.boards;
    let groups: Vec<&[agon_ranking::Board]> = match model {
        TieModel::GroundedRaoKupper => vec![all],
        TieModel::Davidson | TieModel::RaoKupper => all.chunks(1).collect(),
    };
    for (idx, group) in groups.into_iter().enumerate() {
        let entries = || {
            group
                .iter()
                .flat_map(|board| board.entries.iter().map(move |entry| (entry, board)))
        };
        let mut members: Vec<usize> = entries().map(|(entry, _)| entry.model).collect();
        members.sort_unstable();
        let own = counts
            .iter()
            .filter(|counts| members.binary_search(&(counts.a as usize)).is_ok())
            .copied();
        let comparisons = TieComparisons::new(part.names.len(), own)
            .map_err(|error| RankError::of(error, part.names))?;
        let (linked, inside) = comparisons.linked_part(model);
        let mut body = body(run.settings, idx + 1);
        let fitted = if linked.is_empty() {
            Err(no_part(model, members.len()))
        } else {
            fit_ties(&inside, model, &TieFitOptions::default())
        };
        let mut standings: Vec<Standing> = entries()
            .map(|(entry, board)| Standing::of(entry, board))
            .collect();
        for standing in &mut standings {
            standing.interval = None;
            standing.places = None;
            if standing.provisional.is_none() {
                standing.provisional = Some(Provisional::not_linked());
            }
        }
        body.checks = structure_checks(part, &group[0], &plain);
        match fitted {
            Ok(fit) => {
                let found = Found {
                    linked: &linked,
                    inside: &inside,
                    fit: &fit,
                };
                found
                    .place(run, &options, &mut standings, &mut body)
                    .map_err(|error| RankError::of(error, part.names))?;
            }
            // The main group decides whether there is a board at all, as in the plain model.
            Err(error) if idx == 0 => return Err(RankError::of(error, part.names)),
            Err(error) => body.checks.push(Check::new(
                "rated",
                false,
                format!("the fit fails: {error}"),
            )),
        }
        if let LocationSetting::Model { model, .. } = &run.settings.location {
            let is_provisional = standings.iter().any(|standing| {
                part.names[standing.model] == *model && standing.provisional.is_some()
            });
            if is_provisional {
                return Err(RankError::AnchorNotRated {
                    model: model.clone(),
                });
            }
        }
        order(&mut standings);
        let has_intervals = run.settings.interval != IntervalMethod::None;
        if has_intervals {
            place_by_intervals(&mut standings);
        } else {
            place_by_ratings(&mut standings);
        }
        body.models = rows(part, &standings, has_intervals);
        if run.settings.both_bad == BothBadRule::Tie {
            body.notes.push(
                "both bad is counted as a tie, which this model has as an outcome of its own"
                    .to_owned(),
            );
        }
        bodies.push(body);
    }
    Ok(bodies)
}

/// Why no two of so many models that met can be placed: each is a part of its own.
fn no_part(model: TieModel, n_models: usize) -> agon_ranking::Error {
    match model {
        TieModel::GroundedRaoKupper => agon_ranking::Error::NotGrounded { models: n_models },
        TieModel::Davidson | TieModel::RaoKupper => agon_ranking::Error::NotConnected {
            connected: 1,
            strong: n_models,
        },
    }
}

/// A fit of the models that it can place.
struct Found<'a> {
    linked: &'a [usize],
    inside: &'a TieComparisons,
    fit: &'a TieFit,
}

impl Found<'_> {
    fn place(
        &self,
        run: &Run<'_>,
        options: &LeaderboardOptions,
        standings: &mut [Standing],
        body: &mut LeaderboardBody,
    ) -> Result<(), agon_ranking::Error> {
        let settings = run.settings;
        let covariance = self.fit.covariance(self.inside, options.covariance)?;
        let mut battles = vec![0_u64; self.linked.len()];
        for counts in self.inside.pairs() {
            for model in [counts.a, counts.b] {
                battles[model as usize] += counts.battles();
            }
        }
        let anchor = match options.anchor {
            agon_ranking::Anchor::Model { model, rating } => self
                .linked
                .binary_search(&model)
                .ok()
                .map(|position| (position, rating)),
            agon_ranking::Anchor::Mean | agon_ranking::Anchor::WeightedMean => None,
        };
        let weights: Vec<f64> = (0..self.linked.len())
            .map(|position| match (anchor, options.anchor) {
                (Some((anchor, _)), _) => f64::from(u8::from(position == anchor)),
                (None, agon_ranking::Anchor::WeightedMean) => battles[position] as f64,
                (None, _) => 1.0,
            })
            .collect();
        let anchored = covariance.anchored(&weights)?;
        let total: f64 = weights.iter().sum();
        let location = self
            .fit
            .strengths
            .iter()
            .zip(&weights)
            .map(|(strength, weight)| strength * weight)
            .sum::<f64>()
            / total;
        let origin = anchor.map_or(options.init, |(_, rating)| rating);
        let points = options.points_per_nat();
        let rating = |strength: f64| origin + points * (strength - location);
        let estimates = self.fit.strength_estimates(&anchored, settings.level)?;
        let levels = match self.fit.model {
            TieModel::GroundedRaoKupper => Some(
                self.fit
                    .good_enough_estimates(&covariance, settings.level)?,
            ),
            TieModel::Davidson | TieModel::RaoKupper => None,
        };
        let has_intervals = settings.interval != IntervalMethod::None;
        for standing in standings.iter_mut() {
            let Ok(position) = self.linked.binary_search(&standing.model) else {
                continue;
            };
            standing.rating = rating(self.fit.strengths[position]);
            standing.interval = estimates[position]
                .filter(|_| has_intervals)
                .map(|estimate| (rating(estimate.lower), rating(estimate.upper)));
            let missing = settings.min_battles.saturating_sub(battles[position]);
            standing.provisional = (missing > 0).then(|| Provisional::few_battles(missing));
            standing.good_enough = levels.as_ref().and_then(|levels| {
                let level = levels[position].filter(|_| has_intervals);
                Some(LevelBody {
                    probability: self.fit.good_enough_probability(position)?,
                    lower: level.map(|level| level.lower),
                    upper: level.map(|level| level.upper),
                })
            });
        }
        let tie = self.fit.tie_estimate(&covariance, settings.level)?;
        let bound = |number: f64| Some(number).filter(|number| has_intervals && number.is_finite());
        body.tie = Some(TieBody {
            parameter: match self.fit.model {
                TieModel::Davidson => "nu",
                TieModel::RaoKupper | TieModel::GroundedRaoKupper => "eta",
            }
            .to_owned(),
            estimate: tie.estimate,
            lower: bound(tie.lower),
            upper: bound(tie.upper),
        });
        let certificate = &self.fit.certificate;
        body.checks.push(Check::new(
            "converged",
            certificate.gradient_max <= certificate.gradient_limit,
            format!(
                "largest gradient {:.1e}, limit {:.1e}, {} Newton steps",
                certificate.gradient_max, certificate.gradient_limit, certificate.iterations
            ),
        ));
        if let agon_ranking::ties::Optimum::Local { starts, agreeing } = self.fit.optimum {
            body.checks.push(Check::new(
                "optimum",
                agreeing > 1,
                format!(
                    "the best of several maxima that may exist: {agreeing} of {starts} starts ended here"
                ),
            ));
        }
        Ok(())
    }
}
