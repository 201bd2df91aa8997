//! Boards of other programs, reproduced, with what is untrue about them.

use agon_ranking::{
    BootstrapOptions,
    presets::{ArenaRankOptions, FastChatOptions, PresetBoard, arena_rank, fastchat},
};

use super::{Plain, Run, body, options, rows, structure_checks};
use crate::app::leaderboard::{
    BootstrapBody, LeaderboardBody, Preset, RankError, StyleRow, WeightSetting,
    standing::{Counts, Provisional, Standing, order, place_by_intervals},
    votes::Part,
};

/// One board, as these programs make one whoever met whom.
pub(super) fn boards(
    part: &Part<'_>,
    run: &Run<'_>,
    preset: Preset,
    with_style: bool,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let settings = run.settings;
    let of_ranking = |error| RankError::of(error, part.names);
    // Weighting by pair is part of what a preset does by itself.
    let mut unweighted = settings.clone();
    unweighted.weights = None;
    let input = part.fit_input(&unweighted, with_style, &[], run.n_threads)?;
    let anchor = options(part, run)?.anchor;
    let mut body = body(settings, 1);
    let found: PresetBoard = match preset {
        Preset::FastChat => {
            let defaults = FastChatOptions::default();
            let rounds = settings
                .bootstrap_rounds
                .unwrap_or(defaults.bootstrap.rounds);
            let board = fastchat(
                &input.comparisons,
                &FastChatOptions {
                    baseline: match anchor {
                        agon_ranking::Anchor::Model { model, rating } => Some((model, rating)),
                        agon_ranking::Anchor::Mean | agon_ranking::Anchor::WeightedMean => None,
                    },
                    level: settings.level,
                    bootstrap: BootstrapOptions {
                        rounds,
                        seed: settings.seed.unwrap_or_default(),
                        threads: run.n_threads.get(),
                        ..defaults.bootstrap
                    },
                },
            )
            .map_err(of_ranking)?;
            body.bootstrap = Some(BootstrapBody {
                rounds,
                degenerate_rounds: (board.degenerate_share * rounds as f64).round() as usize,
            });
            board
        }
        Preset::ArenaRank => {
            let defaults = if with_style {
                ArenaRankOptions::contextual()
            } else {
                ArenaRankOptions::plain()
            };
            let is_weighted = matches!(settings.weights, Some(WeightSetting::Pair { .. }));
            arena_rank(
                &input.comparisons,
                &ArenaRankOptions {
                    reweighted: defaults.reweighted || is_weighted,
                    level: settings.level,
                    ..defaults
                },
            )
            .map_err(of_ranking)?
        }
    };
    let counts = Counts::by_model(part.names.len(), &part.pairs);
    let mut standings: Vec<Standing> = found
        .entries
        .iter()
        .map(|entry| {
            let battles = counts.get(entry.model).map_or(0, |counts| counts.battles());
            let missing = settings.min_battles.saturating_sub(battles);
            Standing {
                interval: entry.interval,
                provisional: (missing > 0).then(|| Provisional::few_battles(missing)),
                ..Standing::rated(entry.model, entry.rating)
            }
        })
        .collect();
    order(&mut standings);
    place_by_intervals(&mut standings);
    body.style = input
        .features
        .iter()
        .zip(&found.coefficients)
        .map(|((feature, unit), &coefficient)| StyleRow {
            feature: feature.clone(),
            coefficient,
            lower: None,
            upper: None,
            unit: *unit,
        })
        .collect();
    body.style_left_out = input.left_out;
    body.incomplete_rows = input.incomplete_rows;
    let plain = Plain::of(part, run)?;
    body.checks = structure_checks(part, plain.leaderboard.main(), &plain);
    body.models = rows(part, &standings, true);
    body.notes = found.warnings.into_iter().map(ToOwned::to_owned).collect();
    Ok(vec![body])
}
