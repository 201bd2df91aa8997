//! The lines of a board.

use super::parts::Part;
use super::{Entry, Fitted, Interval, ProvisionalReason, RATED_BATTLES_MIN, Status, ranks};
use crate::Error;
use crate::comparisons::Comparisons;
use crate::components::ScoreGraph;
use crate::provisional::{self, Estimate, Known, Lack};

/// How strengths become ratings.
pub(super) struct Scale {
    pub(super) points_per_nat: f64,
    pub(super) location: f64,
    pub(super) origin: f64,
    pub(super) critical: f64,
}

impl Scale {
    fn rating(&self, strength: f64) -> f64 {
        self.origin + self.points_per_nat * (strength - self.location)
    }

    fn interval(&self, rating: f64, error_nats: f64) -> Interval {
        let standard_error = self.points_per_nat * error_nats;
        let half = self.critical * standard_error;
        Interval {
            lower: rating - half,
            upper: rating + half,
            standard_error,
        }
    }
}

/// The lines of the models in the fit, with their places.
pub(super) fn rated_entries(
    comparisons: &Comparisons,
    fitted: &Fitted,
    scale: &Scale,
    min_battles: u64,
    entries: &mut Vec<Entry>,
) {
    let start = entries.len();
    for (idx, &model) in fitted.models.iter().enumerate() {
        let rating = scale.rating(fitted.fit.strengths[idx]);
        let record = comparisons.record(model);
        let missing = min_battles.saturating_sub(record.battles);
        // Battles with models outside the fit do not count here: those must not change anybody's state.
        let status = match (missing, fitted.battles_of[idx]) {
            (_, ..RATED_BATTLES_MIN) => Status::Provisional {
                reason: ProvisionalReason::SingleBattle,
                votes_needed: missing.max(1),
            },
            (0, _) => Status::Rated,
            _ => Status::Provisional {
                reason: ProvisionalReason::FewBattles,
                votes_needed: missing,
            },
        };
        let interval = fitted
            .covariance
            .strength_error(idx)
            .map(|error| scale.interval(rating, error));
        entries.push(Entry {
            model,
            rating,
            interval,
            rank: None,
            record,
            status,
        });
    }
    let mut ranked: Vec<&mut Entry> = entries[start..]
        .iter_mut()
        .filter(|entry| entry.status == Status::Rated)
        .collect();
    let intervals: Vec<_> = ranked
        .iter()
        .map(|entry| {
            entry
                .interval
                .map(|interval| (interval.lower, interval.upper))
        })
        .collect();
    for (entry, rank) in ranked.iter_mut().zip(ranks(&intervals)) {
        entry.rank = Some(rank);
    }
}

/// The lines of all others.
pub(super) fn provisional_entries(
    comparisons: &Comparisons,
    part: &Part,
    fitted: Option<&Fitted>,
    weakly_tied: &[usize],
    scale: &Scale,
    min_battles: u64,
    entries: &mut Vec<Entry>,
) -> Result<(), Error> {
    let rated: &[usize] = fitted.map_or(&[], |fitted| &fitted.models);
    let others: Vec<usize> = part
        .models
        .iter()
        .copied()
        .filter(|model| rated.binary_search(model).is_err())
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let mut strengths = vec![None; comparisons.n_models()];
    let mut coefficients: &[f64] = &[];
    if let Some(fitted) = fitted {
        for (&model, &strength) in fitted.models.iter().zip(&fitted.fit.strengths) {
            strengths[model] = Some(strength);
        }
        coefficients = &fitted.fit.coefficients;
    }
    let centre = match fitted {
        Some(fitted) => {
            fitted.fit.strengths.iter().sum::<f64>() / fitted.fit.strengths.len() as f64
        }
        None => 0.0,
    };
    let known = Known {
        strengths: &strengths,
        coefficients,
        centre,
    };
    let estimates = provisional::estimate(comparisons, &others, &known)?;
    let has_scored = ScoreGraph::reversed(comparisons).reachable_from(rated);
    let was_scored_against = ScoreGraph::of(comparisons).reachable_from(rated);
    for &Estimate {
        model,
        strength,
        error,
    } in &estimates
    {
        let record = comparisons.record(model);
        let lacks = match (has_scored[model], was_scored_against[model]) {
            // Nobody is rated although somebody tied: one more battle of any outcome is all that is missing.
            _ if record.ties > 0 && rated.is_empty() => Lack::Nothing,
            _ if record.battles == record.wins => Lack::Loss,
            _ if record.battles == record.losses => Lack::Score,
            (true, true) if weakly_tied.contains(&model) && strength > centre => Lack::Loss,
            (true, true) if weakly_tied.contains(&model) => Lack::Score,
            (true, true) => Lack::Nothing,
            (true, false) => Lack::Loss,
            (false, true) => Lack::Score,
            (false, false) => Lack::Either,
        };
        let reason = if record.battles <= 1 {
            ProvisionalReason::SingleBattle
        } else if record.battles == record.wins {
            ProvisionalReason::Undefeated
        } else if record.battles == record.losses {
            ProvisionalReason::Winless
        } else if weakly_tied.contains(&model) {
            ProvisionalReason::WeaklyTied
        } else {
            ProvisionalReason::OtherGroup
        };
        let votes = match fitted {
            Some(fitted) => {
                provisional::votes_until(lacks, strength, fitted.fit.strengths.iter().copied())
            }
            None => {
                let opponents = estimates.iter().filter(|other| other.model != model);
                provisional::votes_until(lacks, strength, opponents.map(|other| other.strength))
            }
        };
        let rating = scale.rating(strength);
        entries.push(Entry {
            model,
            rating,
            interval: Some(scale.interval(rating, error)),
            rank: None,
            record,
            status: Status::Provisional {
                reason,
                votes_needed: votes.max(min_battles.saturating_sub(record.battles)),
            },
        });
    }
    Ok(())
}
