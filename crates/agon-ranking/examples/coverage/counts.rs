//! What is counted: how often an interval, a place or a claim held.

use agon_ranking::{
    Anchor, Board, Error, Fitted, LeaderboardOptions, SimultaneousOptions, simultaneous,
};

use crate::arenas::{MODELS, STYLE_EFFECTS};

/// Of intervals and of statements that hold together.
pub(crate) const LEVEL: f64 = 0.95;
/// Confidences from which a claim to be first is counted.
pub(crate) const CLAIM_LEVELS: [f64; 3] = [0.5, 0.8, 0.95];

/// Intervals that held, of all.
#[derive(Clone, Copy, Default)]
pub(crate) struct Share {
    pub(crate) held: u64,
    pub(crate) all: u64,
}

impl Share {
    pub(crate) fn count(&mut self, held: bool) {
        self.held += u64::from(held);
        self.all += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.held += other.held;
        self.all += other.all;
    }

    pub(crate) fn text(self) -> String {
        if self.all == 0 {
            return "–".to_owned();
        }
        format!("{:.2} %", 100.0 * self.held as f64 / self.all as f64)
    }
}

/// What was seen of one kind of interval.
#[derive(Clone)]
pub(crate) struct Coverage {
    pub(crate) arenas: u64,
    overall: Share,
    by_model: [Share; MODELS],
    coefficients: Share,
    /// Models without an interval: winless, undefeated or not met at all in that arena.
    pub(crate) absent: u64,
}

impl Default for Coverage {
    fn default() -> Self {
        Self {
            arenas: 0,
            overall: Share::default(),
            by_model: [Share::default(); MODELS],
            coefficients: Share::default(),
            absent: 0,
        }
    }
}

impl Coverage {
    pub(crate) fn count(&mut self, model: usize, truth: f64, interval: Option<(f64, f64)>) {
        let Some((lower, upper)) = interval else {
            self.absent += 1;
            return;
        };
        let held = lower <= truth && truth <= upper;
        self.overall.count(held);
        self.by_model[model].count(held);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.arenas += other.arenas;
        self.overall.add(other.overall);
        for (mine, theirs) in self.by_model.iter_mut().zip(other.by_model) {
            mine.add(theirs);
        }
        self.coefficients.add(other.coefficients);
        self.absent += other.absent;
    }

    pub(crate) fn row(&self, name: &str) -> String {
        let several = |models: std::ops::Range<usize>| {
            let mut sum = Share::default();
            for share in &self.by_model[models] {
                sum.add(*share);
            }
            sum.text()
        };
        let cells = [
            self.arenas.to_string(),
            self.overall.text(),
            self.by_model[0].text(),
            several(0..10),
            self.by_model[MODELS / 2].text(),
            self.by_model[MODELS - 1].text(),
            self.coefficients.text(),
            format!(
                "{:.3} %",
                100.0 * self.absent as f64 / (self.absent + self.overall.all).max(1) as f64
            ),
        ];
        format!("| {name} | {} |", cells.join(" | "))
    }
}

/// Kinds of interval, in the order of the table.
pub(crate) const KINDS: [&str; 6] = [
    "sandwich, mean",
    "sandwich, weighted mean",
    "model-based, mean",
    "style features: sandwich, mean",
    "style features: sandwich, weighted mean",
    "bootstrap of battles, percentiles, mean",
];

/// What was seen of statements that hold together.
#[derive(Clone, Copy, Default)]
pub(crate) struct Together {
    intervals: Share,
    places: Share,
    /// For each of [`CLAIM_LEVELS`], models that were said to be first with so much confidence; held when one is, alone.
    claims: [Share; CLAIM_LEVELS.len()],
}

impl Together {
    pub(crate) fn add(&mut self, other: &Self) {
        self.intervals.add(other.intervals);
        self.places.add(other.places);
        for (mine, theirs) in self.claims.iter_mut().zip(other.claims) {
            mine.add(theirs);
        }
    }

    pub(crate) fn row(&self, name: &str) -> String {
        let claims = self
            .claims
            .map(|share| format!("{} of {}", share.held, share.all));
        format!(
            "| {name} | {} | {} | {} | {} |",
            self.intervals.all,
            self.intervals.text(),
            self.places.text(),
            claims.join(" | ")
        )
    }
}

/// True ratings of the models in the fit, numbered like it, on the scale and under the anchor of the board.
pub(crate) fn true_ratings(
    truth: &[f64],
    fitted: &Fitted,
    options: &LeaderboardOptions,
) -> Vec<f64> {
    let weights: Vec<f64> = match options.anchor {
        Anchor::WeightedMean => fitted
            .battles_of
            .iter()
            .map(|battles| *battles as f64)
            .collect(),
        _ => vec![1.0; fitted.models.len()],
    };
    let sum: f64 = fitted
        .models
        .iter()
        .zip(&weights)
        .map(|(model, weight)| truth[*model] * weight)
        .sum();
    let location = sum / weights.iter().sum::<f64>();
    fitted
        .models
        .iter()
        .map(|model| options.init + options.points_per_nat() * (truth[*model] - location))
        .collect()
}

pub(crate) fn count_board(
    coverage: &mut Coverage,
    truth: &[f64],
    board: &Board,
    fitted: &Fitted,
    options: &LeaderboardOptions,
) {
    coverage.arenas += 1;
    let ratings = true_ratings(truth, fitted, options);
    coverage.absent += (MODELS - fitted.models.len()) as u64;
    for (model, rating) in fitted.models.iter().zip(ratings) {
        let entry = board.entries.iter().find(|entry| entry.model == *model);
        let interval = entry.and_then(|entry| entry.interval);
        coverage.count(
            *model,
            rating,
            interval.map(|interval| (interval.lower, interval.upper)),
        );
    }
    for (coefficient, effect) in board.coefficients.iter().zip(STYLE_EFFECTS) {
        coverage
            .coefficients
            .count(coefficient.lower <= effect && effect <= coefficient.upper);
    }
}

/// Tries all statements about one board that hold together.
pub(crate) fn count_together(
    together: &mut Together,
    truth: &[f64],
    fitted: &Fitted,
    options: &LeaderboardOptions,
) -> Result<(), Error> {
    let statements = simultaneous(
        fitted,
        options,
        &SimultaneousOptions {
            level: LEVEL,
            ..SimultaneousOptions::default()
        },
    )?;
    let ratings = true_ratings(truth, fitted, options);
    let mut intervals = statements.intervals.iter().zip(&ratings);
    together
        .intervals
        .count(intervals.all(|(interval, rating)| {
            interval.is_none_or(|interval| interval.lower <= *rating && *rating <= interval.upper)
        }));
    let better = |model: usize| {
        ratings
            .iter()
            .filter(|rating| **rating > ratings[model])
            .count()
    };
    let as_good = |model: usize| {
        ratings
            .iter()
            .filter(|rating| **rating >= ratings[model])
            .count()
    };
    let mut places = statements.ranks.iter().enumerate();
    together.places.count(
        places.all(|(model, rank)| rank.best <= better(model) + 1 && as_good(model) <= rank.worst),
    );
    for model in 0..ratings.len() {
        let confidence = statements.first_confidence(model);
        for (share, level) in together.claims.iter_mut().zip(CLAIM_LEVELS) {
            if confidence >= level {
                share.count(as_good(model) == 1);
            }
        }
    }
    Ok(())
}
