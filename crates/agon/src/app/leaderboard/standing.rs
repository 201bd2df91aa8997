//! Where a model stands, whatever the method, and the row that tells it.

use agon_domain::{CountedPair, Winner};
use agon_ranking::{Board, Entry, ProvisionalReason, Status, ranks};

use super::{LevelBody, ModelRow, SimultaneousBody};

/// Wins, losses, ties and both-bad of one model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    wins: u64,
    losses: u64,
    ties: u64,
    both_bad: u64,
}

impl Counts {
    /// Those of every model.
    pub(super) fn by_model(n_models: usize, pairs: &[CountedPair]) -> Vec<Self> {
        let mut counts = vec![Self::default(); n_models];
        for &((a, b), winners) in pairs {
            let (won_a, won_b) = (winners.get(Winner::A), winners.get(Winner::B));
            for (model, wins, losses) in [(a, won_a, won_b), (b, won_b, won_a)] {
                let counts = &mut counts[model as usize];
                counts.wins += wins;
                counts.losses += losses;
                counts.ties += winners.get(Winner::Tie);
                counts.both_bad += winners.get(Winner::BothBad);
            }
        }
        counts
    }

    pub(super) fn battles(self) -> u64 {
        self.wins + self.losses + self.ties + self.both_bad
    }
}

/// Where a model stands.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) model: usize,
    pub(super) rating: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// Best and worst place as the intervals allow; without intervals, the place by rating twice.
    pub(super) places: Option<(usize, usize)>,
    pub(super) provisional: Option<Provisional>,
    pub(super) simultaneous: Option<SimultaneousBody>,
    pub(super) good_enough: Option<LevelBody>,
}

/// Why a model is not rated.
#[derive(Clone, Debug)]
pub(super) struct Provisional {
    code: &'static str,
    words: &'static str,
    votes_needed: Option<u64>,
}

impl Provisional {
    /// Fewer battles than were asked for.
    pub(super) fn few_battles(votes_needed: u64) -> Self {
        Self {
            code: "few_battles",
            words: "few battles",
            votes_needed: Some(votes_needed),
        }
    }

    /// What a tie model cannot place.
    pub(super) fn not_linked() -> Self {
        Self {
            code: "not_linked",
            words: "its results do not tie it to the rated models both ways; placed with a tie as half a win",
            votes_needed: None,
        }
    }

    fn of(entry: &Entry, board: &Board) -> Option<Self> {
        let Status::Provisional {
            reason,
            votes_needed,
        } = entry.status
        else {
            return None;
        };
        let (code, words) = match reason {
            _ if board.unrated.is_some() => ("unrated", "nobody in this group can be rated yet"),
            ProvisionalReason::SingleBattle => ("single_battle", "one battle: no rating"),
            ProvisionalReason::Undefeated => ("undefeated", "never lost or tied"),
            ProvisionalReason::Winless => ("winless", "never won or tied"),
            ProvisionalReason::OtherGroup => (
                "other_group",
                "only ever above, or only below, the rated models",
            ),
            ProvisionalReason::FewBattles => ("few_battles", "few battles"),
            ProvisionalReason::WeaklyTied => (
                "weakly_tied",
                "results of one way too few to place it beside the rated models",
            ),
        };
        Some(Self {
            code,
            words,
            votes_needed: Some(votes_needed),
        })
    }

    fn note(&self) -> String {
        match self.votes_needed {
            Some(n) if n > 0 => format!(
                "{}; about {n} more {} to be rated",
                self.words,
                if n == 1 { "vote" } else { "votes" }
            ),
            _ => self.words.to_owned(),
        }
    }
}

impl Standing {
    /// Where an entry of a board stands.
    pub(super) fn of(entry: &Entry, board: &Board) -> Self {
        Self {
            interval: entry
                .interval
                .map(|interval| (interval.lower, interval.upper)),
            places: entry.rank.map(|rank| (rank.rank, rank.lower)),
            provisional: Provisional::of(entry, board),
            ..Self::rated(entry.model, entry.rating)
        }
    }

    /// A rated model, without interval and place yet.
    pub(super) fn rated(model: usize, rating: f64) -> Self {
        Self {
            model,
            rating,
            interval: None,
            places: None,
            provisional: None,
            simultaneous: None,
            good_enough: None,
        }
    }

    pub(super) fn row(&self, names: &[String], counts: &[Counts], has_intervals: bool) -> ModelRow {
        let counts = counts.get(self.model).copied().unwrap_or_default();
        let bounds = self.places.filter(|_| has_intervals);
        ModelRow {
            model: names.get(self.model).cloned().unwrap_or_default(),
            rating: self.rating,
            rating_lower: self.interval.map(|(lower, _)| lower),
            rating_upper: self.interval.map(|(_, upper)| upper),
            rank: self.places.map(|(best, _)| best),
            rank_upper: bounds.map(|(best, _)| best),
            rank_lower: bounds.map(|(_, worst)| worst),
            battles: counts.battles(),
            wins: counts.wins,
            losses: counts.losses,
            ties: counts.ties,
            both_bad: counts.both_bad,
            status: if self.provisional.is_none() {
                "rated"
            } else {
                "provisional"
            }
            .to_owned(),
            reason: self
                .provisional
                .as_ref()
                .map(|provisional| provisional.code.to_owned()),
            votes_needed: self
                .provisional
                .as_ref()
                .and_then(|provisional| provisional.votes_needed),
            note: self.provisional.as_ref().map(Provisional::note),
            rank_change: None,
            simultaneous: self.simultaneous.clone(),
            good_enough: self.good_enough.clone(),
        }
    }
}

/// Orders standings, rated models from the highest rating down, then the others likewise; among equals, by position.
pub(super) fn order(standings: &mut [Standing]) {
    standings.sort_by(|x, y| {
        x.provisional
            .is_some()
            .cmp(&y.provisional.is_some())
            .then_with(|| y.rating.total_cmp(&x.rating))
            .then_with(|| x.model.cmp(&y.model))
    });
}

/// Gives the rated models their places by their intervals.
pub(super) fn place_by_intervals(standings: &mut [Standing]) {
    let mut rated: Vec<&mut Standing> = standings
        .iter_mut()
        .filter(|standing| standing.provisional.is_none())
        .collect();
    let intervals: Vec<_> = rated.iter().map(|standing| standing.interval).collect();
    for (standing, rank) in rated.iter_mut().zip(ranks(&intervals)) {
        standing.places = Some((rank.rank, rank.lower));
    }
}

/// Gives the rated models their places by their ratings alone: 1 + the number of models with a higher one.
pub(super) fn place_by_ratings(standings: &mut [Standing]) {
    let mut rated: Vec<&mut Standing> = standings
        .iter_mut()
        .filter(|standing| standing.provisional.is_none())
        .collect();
    // Without width, the rule for intervals is that for numbers.
    let numbers: Vec<_> = rated
        .iter()
        .map(|standing| Some((standing.rating, standing.rating)))
        .collect();
    for (standing, rank) in rated.iter_mut().zip(ranks(&numbers)) {
        standing.places = Some((rank.rank, rank.rank));
    }
}
