//! Methods without a fit: online Elo and the average win rate. Neither has intervals.

use agon_domain::Winner;
use agon_ranking::{Comparison, Scored, average_scores, average_win_rates, elo, online_scored};

use super::{Plain, Run, body, rows, structure_checks};
use crate::app::leaderboard::{
    BothBadRule, LeaderboardBody, RankError, Settings, TieRule,
    standing::{Counts, Provisional, Standing, order, place_by_ratings},
    votes::{Part, outcome},
};

/// What a vote counts for both sides; `None` where it is left out.
fn scores(winner: Winner, settings: &Settings) -> Option<(f64, f64)> {
    if winner == Winner::BothBad && settings.both_bad == BothBadRule::Loss {
        return Some((0.0, 0.0));
    }
    outcome(winner, settings).map(|score| (score, 1.0 - score))
}

/// One board: a rating is a number for every model, whomever it met.
pub(super) fn elo_boards(
    part: &Part<'_>,
    run: &Run<'_>,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let settings = run.settings;
    let Some(table) = part.table else {
        return Err(RankError::NoBattles);
    };
    let mut notes = Vec::new();
    let battles = &table.battles;
    let mut order: Vec<u32> = part.row_numbers(table);
    match &battles.times {
        None => notes.push("the votes do not say when they were cast; they are replayed in the order of rows, on which online Elo depends".to_owned()),
        Some(times) => {
            let n_without = order
                .iter()
                .filter(|&&row| times[row as usize].is_nan())
                .count();
            if n_without > 0 {
                notes.push(format!("{n_without} votes do not say when they were cast; all are replayed in the order of rows, on which online Elo depends"));
            } else {
                // Stable: votes of the same time stay in the order of rows.
                order.sort_by(|&x, &y| times[x as usize].total_cmp(&times[y as usize]));
                notes.push("votes are replayed in the order of time, on which online Elo depends".to_owned());
            }
        }
    }
    let n_models = part.names.len();
    let of_ranking = |error| RankError::of(error, part.names);
    let options = settings.elo_options();
    let of_row = |&row: &u32| {
        let row = row as usize;
        (
            battles.model_a[row],
            battles.model_b[row],
            battles.winner[row],
        )
    };
    let ratings = if settings.both_bad == BothBadRule::Loss {
        let battles = order.iter().map(of_row).filter_map(|(a, b, winner)| {
            let (score_a, score_b) = scores(winner, settings)?;
            Some(Scored {
                a,
                b,
                score_a,
                score_b,
                count: 1,
            })
        });
        online_scored(n_models, battles, &options)
    } else {
        let battles = order
            .iter()
            .map(of_row)
            .filter_map(|(a, b, winner)| Some(Comparison::new(a, b, outcome(winner, settings)?)));
        elo::online(n_models, battles, &options)
    }
    .map_err(of_ranking)?;
    let ratings = ratings.into_iter().map(Some).collect();
    one_board(part, run, ratings, notes)
}

/// One board of the mean over opponents of the win rate against each.
pub(super) fn win_rate_boards(
    part: &Part<'_>,
    run: &Run<'_>,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let settings = run.settings;
    let of_ranking = |error| RankError::of(error, part.names);
    let rates = if settings.both_bad == BothBadRule::Loss {
        let cells = part.pairs.iter().flat_map(|&((a, b), counts)| {
            Winner::ALL.into_iter().filter_map(move |winner| {
                let (score_a, score_b) = scores(winner, settings)?;
                let count = counts.get(winner);
                (count > 0).then_some(Scored {
                    a,
                    b,
                    score_a,
                    score_b,
                    count,
                })
            })
        });
        average_scores(part.names.len(), cells).map_err(of_ranking)?
    } else {
        average_win_rates(&part.plain_comparisons(settings).map_err(of_ranking)?)
    };
    let note = "a win rate depends on whom a model met, which a rating corrects for".to_owned();
    one_board(part, run, rates, vec![note])
}

fn one_board(
    part: &Part<'_>,
    run: &Run<'_>,
    numbers: Vec<Option<f64>>,
    notes: Vec<String>,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let settings = run.settings;
    let counts = Counts::by_model(part.names.len(), &part.pairs);
    let mut standings = Vec::new();
    for (model, (number, counts)) in numbers.into_iter().zip(&counts).enumerate() {
        let Some(number) = number.filter(|_| counts.battles() > 0) else {
            continue;
        };
        let missing = settings.min_battles.saturating_sub(counts.battles());
        standings.push(Standing {
            provisional: (missing > 0).then(|| Provisional::few_battles(missing)),
            ..Standing::rated(model, number)
        });
    }
    if standings.is_empty() {
        return Err(RankError::NoBattles);
    }
    order(&mut standings);
    place_by_ratings(&mut standings);
    let mut body = body(settings, 1);
    // Who met whom is checked where anything counts as a win.
    if settings.ties != TieRule::Drop || part.n_votes() > 0 {
        match Plain::of(part, run) {
            Ok(plain) => {
                body.checks = structure_checks(part, plain.leaderboard.main(), &plain);
            }
            Err(RankError::NoBattles) => {}
            Err(error) => return Err(error),
        }
    }
    body.models = rows(part, &standings, false);
    body.notes = notes;
    Ok(vec![body])
}
