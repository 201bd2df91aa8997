//! The plain model: maximum likelihood, with style, order effect, weights and shares where these are asked for.

use std::borrow::Cow;

use agon_ranking::{
    Anchor, BootstrapOptions, Comparisons, Covariance, DropReason, Fitted, LeaderboardOptions,
    Resampling, SimultaneousOptions, Source, bootstrap, composite, composite_covariance,
    critical_value, influence::Sides, leaderboard, leaderboard_from, simultaneous,
};

use super::{Run, body, options, rows};
use crate::app::leaderboard::{
    BootstrapBody, IntervalMethod, LeaderboardBody, LeftOutFeature, RankError, SimultaneousBody,
    StyleRow,
    checks::{self, CheckInput, CheckedFit},
    standing::{Standing, place_by_intervals, place_by_ratings},
    votes::{FitInput, Part},
};

/// The boards of the plain model.
pub(super) fn boards(
    part: &Part<'_>,
    run: &Run<'_>,
    with_style: bool,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let mut input = part.fit_input(run.settings, with_style, &[], run.n_threads)?;
    if !input.sources.is_empty() {
        let composed = composite(&sources(&input.sources));
        input.comparisons = composed.map_err(|error| RankError::of(error, part.names))?;
    }
    Ok(boards_of(part, run, &input, None, None)?.0)
}

/// The boards of what a fit is made of, and the leaderboard behind them. The fit starts where `previous` ended.
///
/// `sides` are the same battles by side, where they are known already.
pub(super) fn boards_of(
    part: &Part<'_>,
    run: &Run<'_>,
    input: &FitInput,
    sides: Option<&Sides>,
    previous: Option<&agon_ranking::Leaderboard>,
) -> Result<(Vec<LeaderboardBody>, agon_ranking::Leaderboard), RankError> {
    let options = options(part, run)?;
    let leaderboard = match previous {
        Some(previous) => leaderboard_from(previous, &input.comparisons, &options),
        None => leaderboard(&input.comparisons, &options),
    }
    .map_err(|error| RankError::of(error, part.names))?;
    let n_groups = leaderboard.boards.len();
    let mut bodies = Vec::with_capacity(n_groups);
    for (idx, board) in leaderboard.boards.iter().enumerate() {
        let mut body = body(run.settings, idx + 1);
        let mut standings: Vec<Standing> = board
            .entries
            .iter()
            .map(|entry| Standing::of(entry, board))
            .collect();
        body.style = board
            .coefficients
            .iter()
            .filter_map(|coefficient| {
                let (feature, unit) = input.features.get(coefficient.feature)?;
                Some(StyleRow {
                    feature: feature.clone(),
                    coefficient: coefficient.estimate,
                    lower: finite(coefficient.lower),
                    upper: finite(coefficient.upper),
                    unit: *unit,
                })
            })
            .collect();
        body.style_left_out.clone_from(&input.left_out);
        body.style_left_out
            .extend(board.dropped.iter().filter_map(|dropped| {
                let (feature, _) = input.features.get(dropped.feature)?;
                Some(LeftOutFeature {
                    feature: feature.clone(),
                    reason: match dropped.reason {
                        DropReason::Collinear => "collinear",
                        DropReason::Separates => "separates",
                    }
                    .to_owned(),
                })
            }));
        body.incomplete_rows = input.incomplete_rows;
        let mut has_intervals = true;
        // What is checked against the fit has its features only.
        let mut checked_comparisons = Cow::Borrowed(&input.comparisons);
        if let Some(fitted) = &board.fitted {
            let own = Intervals {
                part,
                run,
                options: &options,
                input,
                fitted,
            };
            has_intervals = own.replace(&mut standings, &mut body)?;
            checked_comparisons = own.of_the_fit(&input.comparisons);
        }
        if let Some(effort) = run.checks {
            let checked = CheckInput {
                board,
                names: part.names,
                pairs: &part.pairs,
                n_groups,
                without_battles: &leaderboard.without_battles,
                fit: Some(CheckedFit {
                    comparisons: &checked_comparisons,
                    sided: &|| part.cells(run.settings).collect(),
                    sides,
                    options: options.fit,
                    level: options.level,
                }),
            };
            body.checks = checks::panel(&checked, effort, run.n_threads);
        }
        body.models = rows(part, &standings, has_intervals);
        bodies.push(body);
    }
    Ok((bodies, leaderboard))
}

fn sources(sources: &[(Comparisons, f64)]) -> Vec<Source<'_>> {
    sources
        .iter()
        .map(|(comparisons, share)| Source {
            comparisons,
            share: *share,
        })
        .collect()
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

/// What replaces the intervals of the leaderboard, where others were asked for.
struct Intervals<'a> {
    part: &'a Part<'a>,
    run: &'a Run<'a>,
    options: &'a LeaderboardOptions,
    input: &'a FitInput,
    fitted: &'a Fitted,
}

impl Intervals<'_> {
    /// Whether there are intervals afterwards.
    fn replace(
        &self,
        standings: &mut [Standing],
        body: &mut LeaderboardBody,
    ) -> Result<bool, RankError> {
        let settings = self.run.settings;
        let of_ranking = |error| RankError::of(error, self.part.names);
        let mut shared = None;
        match settings.interval {
            IntervalMethod::None => {
                for standing in standings.iter_mut() {
                    standing.interval = None;
                }
                for row in &mut body.style {
                    (row.lower, row.upper) = (None, None);
                }
                place_by_ratings(standings);
                return Ok(false);
            }
            IntervalMethod::Bootstrap | IntervalMethod::ClusterBootstrap => {
                self.bootstrap(standings, body).map_err(of_ranking)?;
                place_by_intervals(standings);
            }
            IntervalMethod::Sandwich if !self.input.sources.is_empty() => {
                let covariance = self.of_sources().map_err(of_ranking)?;
                self.by(&covariance, standings, body).map_err(of_ranking)?;
                place_by_intervals(standings);
                shared = Some(Fitted {
                    covariance,
                    ..self.fitted.clone()
                });
            }
            IntervalMethod::Sandwich | IntervalMethod::Model | IntervalMethod::Cluster => {}
        }
        if let Some(draws) = settings.simultaneous_draws {
            let fitted = shared.as_ref().unwrap_or(self.fitted);
            let all = simultaneous(
                fitted,
                self.options,
                &SimultaneousOptions {
                    level: settings.level,
                    draws,
                    seed: settings.seed.unwrap_or_default(),
                },
            )
            .map_err(of_ranking)?;
            for standing in standings.iter_mut() {
                let Ok(position) = fitted.models.binary_search(&standing.model) else {
                    continue;
                };
                let interval = all.intervals[position];
                standing.simultaneous = Some(SimultaneousBody {
                    rating_lower: interval.map(|interval| interval.lower),
                    rating_upper: interval.map(|interval| interval.upper),
                    rank_upper: all.ranks[position].best,
                    rank_lower: all.ranks[position].worst,
                    first_confidence: all.first_confidence(position),
                });
            }
        }
        Ok(true)
    }

    fn bootstrap(
        &self,
        standings: &mut [Standing],
        body: &mut LeaderboardBody,
    ) -> Result<(), agon_ranking::Error> {
        let settings = self.run.settings;
        let resampling = if settings.interval == IntervalMethod::ClusterBootstrap {
            Resampling::Clusters
        } else {
            Resampling::Battles
        };
        let defaults = BootstrapOptions::default();
        let rounds = bootstrap(
            &self.of_the_fit(&self.input.comparisons),
            self.fitted,
            self.options,
            &BootstrapOptions {
                rounds: settings.bootstrap_rounds.unwrap_or(defaults.rounds),
                seed: settings.seed.unwrap_or(defaults.seed),
                threads: self.run.n_threads.get(),
                resampling,
            },
        )?;
        for standing in standings.iter_mut() {
            if let Ok(position) = self.fitted.models.binary_search(&standing.model) {
                standing.interval = rounds
                    .interval(position, settings.level)?
                    .map(|interval| (interval.lower, interval.upper));
            }
        }
        for (feature, row) in body.style.iter_mut().enumerate() {
            let interval = rounds.coefficient_interval(feature, settings.level)?;
            row.lower = interval.map(|interval| interval.lower);
            row.upper = interval.map(|interval| interval.upper);
        }
        body.bootstrap = Some(BootstrapBody {
            rounds: rounds.rounds,
            degenerate_rounds: rounds.degenerate_rounds,
        });
        Ok(())
    }

    /// Comparisons with the features of the fit only.
    fn of_the_fit<'c>(&self, comparisons: &'c Comparisons) -> Cow<'c, Comparisons> {
        if self.fitted.features.len() == comparisons.n_features() {
            Cow::Borrowed(comparisons)
        } else {
            Cow::Owned(comparisons.with_features(&self.fitted.features))
        }
    }

    /// The covariance with the scores of each source about their own mean, under the anchor in use.
    fn of_sources(&self) -> Result<Covariance, agon_ranking::Error> {
        let inside: Vec<(Comparisons, f64)> = self
            .input
            .sources
            .iter()
            .map(|(comparisons, share)| {
                let inside = comparisons.among(&self.fitted.models);
                (self.of_the_fit(&inside).into_owned(), *share)
            })
            .filter(|(comparisons, _)| comparisons.n_battles() > 0)
            .collect();
        let covariance = composite_covariance(&self.fitted.fit, &sources(&inside))?;
        let weights: Vec<f64> = (0..)
            .zip(&self.fitted.models)
            .map(
                |(position, &model): (usize, &usize)| match self.options.anchor {
                    // As in the leaderboard: a model with a single battle has no say in the location.
                    _ if self.fitted.battles_of[position] < 2 => 0.0,
                    Anchor::Model { model: anchor, .. }
                        if self.fitted.models.binary_search(&anchor).is_ok() =>
                    {
                        f64::from(u8::from(model == anchor))
                    }
                    Anchor::WeightedMean => self.fitted.battles_of[position] as f64,
                    Anchor::Mean | Anchor::Model { .. } => 1.0,
                },
            )
            .collect();
        covariance.anchored(&weights)
    }

    fn by(
        &self,
        covariance: &Covariance,
        standings: &mut [Standing],
        body: &mut LeaderboardBody,
    ) -> Result<(), agon_ranking::Error> {
        let critical = critical_value(self.options.level)?;
        let points = self.options.points_per_nat();
        for standing in standings.iter_mut() {
            if let Ok(position) = self.fitted.models.binary_search(&standing.model) {
                standing.interval = covariance.strength_error(position).map(|error| {
                    let half = critical * points * error;
                    (standing.rating - half, standing.rating + half)
                });
            }
        }
        for (feature, row) in body.style.iter_mut().enumerate() {
            let half = covariance
                .coefficient_error(feature)
                .map(|error| critical * error);
            row.lower = half.map(|half| row.coefficient - half);
            row.upper = half.map(|half| row.coefficient + half);
        }
        Ok(())
    }
}
