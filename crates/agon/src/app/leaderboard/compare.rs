//! Two documents of boards against each other: which places and ratings moved, and how far the boards agree.
//!
//! Boards are matched by category, style control and group, models by name. The formulas are those of
//! [`agon_ranking::compare`].

mod read;

use std::collections::{BTreeMap, HashMap};

use agon_ranking::{
    Interval,
    compare::{PlacedModel, compare_boards, win_rate_correlation},
};
use serde::Serialize;

pub use read::{Document, ReadBoard, ReadError, ReadModel, read};

/// Two documents against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The earlier document.
    pub before: DocumentBody,
    /// The later document.
    pub after: DocumentBody,
    /// Confidence level of the intervals of rating differences.
    pub level: f64,
    /// One for each board that both have.
    pub boards: Vec<BoardComparison>,
    /// Boards of the earlier document that the later one lacks.
    pub only_before: Vec<BoardKey>,
    /// Boards of the later document that the earlier one lacks.
    pub only_after: Vec<BoardKey>,
    /// What limits the comparison as a whole.
    pub notes: Vec<Note>,
}

/// A document that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DocumentBody {
    /// Its path.
    pub path: String,
    /// `agon` or `catalog`.
    pub format: String,
}

/// What identifies a board in a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BoardKey {
    /// Which battles it is made of.
    pub category: String,
    /// Which group of models, from 1.
    pub group: u64,
    /// Whether ratings are net of style; null where the document does not say, which fits either.
    pub style_control: Option<bool>,
}

/// Something that limits a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// A stable name of it.
    pub code: String,
    /// The same in words.
    pub detail: String,
}

/// One board against another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoardComparison {
    /// Which board; its style control is that of the document that says it.
    #[serde(flatten)]
    pub key: BoardKey,
    /// Number of models that are rated on both. All statistics are about these.
    pub common_models: usize,
    /// How each of them moved, in the order of the later board.
    pub models: Vec<ModelMove>,
    /// Models on both of which one is provisional, in the order of names.
    pub provisional: Vec<String>,
    /// Models on the earlier board only, in the order of names.
    pub only_before: Vec<String>,
    /// Models on the later board only, in the order of names.
    pub only_after: Vec<String>,
    /// Mean of the rating differences. Far from 0 when the boards are measured from different places.
    pub mean_difference: Option<f64>,
    /// Kendall's τ-b of the ratings; null for fewer than two common models, or where all ratings are equal.
    pub kendall_tau_b: Option<f64>,
    /// Spearman's ρ of the ratings; null alike.
    pub spearman_rho: Option<f64>,
    /// Pearson's r of the ratings; null alike.
    pub pearson_r: Option<f64>,
    /// Share of the pairs of common models whose intervals do not overlap on the earlier board; null without intervals.
    pub separability_before: Option<f64>,
    /// The same of the later board.
    pub separability_after: Option<f64>,
    /// Mean over these pairs of 1 where both boards separate them alike, −1 where unlike, 0 else; null without intervals.
    pub confidence_agreement: Option<f64>,
    /// Pearson's r of the win rates; null where a document does not count battles.
    pub win_rate_correlation: Option<f64>,
    /// What limits this comparison.
    pub notes: Vec<Note>,
}

/// How one model moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelMove {
    /// Its name.
    pub model: String,
    /// Its rank before.
    pub rank_before: Option<usize>,
    /// Its rank after.
    pub rank_after: Option<usize>,
    /// Places gained: above 0 when the later rank is better.
    pub places_gained: Option<i64>,
    /// Its rating before.
    pub rating_before: f64,
    /// Its rating after.
    pub rating_after: f64,
    /// After minus before.
    pub difference: f64,
    /// Lower end of the difference's interval, for boards that share no votes; null where a board has no interval.
    pub difference_lower: Option<f64>,
    /// Upper end of it.
    pub difference_upper: Option<f64>,
    /// Whether this interval excludes 0; null without one.
    pub is_certain: Option<bool>,
}

/// Why two documents cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// No board is in both.
    #[error("the documents have no board in common")]
    NothingInCommon {
        /// The boards of the earlier one.
        before: Vec<BoardKey>,
        /// The boards of the later one.
        after: Vec<BoardKey>,
    },
    /// The numbers refuse.
    #[error("the boards cannot be compared")]
    Ranking(#[from] agon_ranking::Error),
}

/// Compares two documents. `level` is that of the intervals of differences; without it, that of the earlier document.
///
/// # Errors
///
/// [`CompareError`].
pub fn compare(
    (before_path, before): (&str, &Document),
    (after_path, after): (&str, &Document),
    level: Option<f64>,
) -> Result<Comparison, CompareError> {
    let level = level.unwrap_or(before.level);
    let notes = notes(before, after);
    let mut boards = Vec::new();
    let mut is_matched = vec![false; after.boards.len()];
    let mut only_before = Vec::new();
    for old in &before.boards {
        let mut found = false;
        for (idx, new) in after.boards.iter().enumerate() {
            if old.matches(new) {
                found = true;
                is_matched[idx] = true;
                boards.push(board(before, old, after, new, level)?);
            }
        }
        if !found {
            only_before.push(old.key());
        }
    }
    if boards.is_empty() {
        let keys = |document: &Document| document.boards.iter().map(ReadBoard::key).collect();
        return Err(CompareError::NothingInCommon {
            before: keys(before),
            after: keys(after),
        });
    }
    let body = |path: &str, document: &Document| DocumentBody {
        path: path.to_owned(),
        format: document.format.to_owned(),
    };
    let unmatched = after.boards.iter().zip(is_matched);
    Ok(Comparison {
        before: body(before_path, before),
        after: body(after_path, after),
        level,
        boards,
        only_before,
        only_after: unmatched
            .filter(|(_, is_matched)| !is_matched)
            .map(|(board, _)| board.key())
            .collect(),
        notes,
    })
}

impl ReadBoard {
    fn key(&self) -> BoardKey {
        BoardKey {
            category: self.category.clone(),
            group: self.group,
            style_control: self.style_control,
        }
    }

    /// A document that does not say whether style is controlled for is compared with both kinds.
    fn matches(&self, other: &Self) -> bool {
        let styles = self.style_control.zip(other.style_control);
        self.category == other.category
            && self.group == other.group
            && styles.is_none_or(|(own, other)| own == other)
    }
}

impl std::fmt::Display for BoardKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.category)?;
        if self.style_control == Some(true) {
            write!(formatter, ", style control")?;
        }
        if self.group > 1 {
            write!(formatter, ", group {}", self.group)?;
        }
        Ok(())
    }
}

fn board(
    before: &Document,
    old: &ReadBoard,
    after: &Document,
    new: &ReadBoard,
    level: f64,
) -> Result<BoardComparison, CompareError> {
    let names = Names::of(old, new);
    let old_by_name: HashMap<&str, &ReadModel> = by_name(old);
    let new_by_name: HashMap<&str, &ReadModel> = by_name(new);
    let rated_on_both = |name: &str| {
        let is_rated = |models: &HashMap<&str, &ReadModel>| {
            models.get(name).is_some_and(|model| model.is_rated)
        };
        is_rated(&old_by_name) && is_rated(&new_by_name)
    };
    let place = |document: &Document, board: &ReadBoard| {
        let models = board.models.iter();
        models
            .filter(|model| rated_on_both(&model.name))
            .map(|model| placed(names.number(&model.name), model, document.level))
            .collect::<Result<Vec<PlacedModel>, _>>()
    };
    let (placed_before, placed_after) = (place(before, old)?, place(after, new)?);
    let found = compare_boards(&placed_before, &placed_after, level)?;

    let mut models = Vec::with_capacity(found.moves.len());
    let mut rates: (Vec<Option<f64>>, Vec<Option<f64>>) = Default::default();
    for moved in &found.moves {
        let name = names.sorted[moved.model];
        let (Some(then), Some(now)) = (old_by_name.get(name), new_by_name.get(name)) else {
            continue;
        };
        rates.0.push(then.win_rate);
        rates.1.push(now.win_rate);
        let interval = moved.interval;
        models.push(ModelMove {
            model: name.to_owned(),
            rank_before: moved.rank_before,
            rank_after: moved.rank_after,
            places_gained: moved.places_gained,
            rating_before: then.rating,
            rating_after: now.rating,
            difference: moved.difference,
            difference_lower: interval.map(|interval| interval.lower),
            difference_upper: interval.map(|interval| interval.upper),
            is_certain: interval.map(|interval| interval.lower > 0.0 || interval.upper < 0.0),
        });
    }
    let only = |own: &HashMap<&str, &ReadModel>, other: &HashMap<&str, &ReadModel>| {
        let names = names.sorted.iter();
        names
            .filter(|name| own.contains_key(**name) && !other.contains_key(**name))
            .map(|name| (*name).to_owned())
            .collect::<Vec<String>>()
    };
    let on_both = names
        .sorted
        .iter()
        .filter(|name| old_by_name.contains_key(**name) && new_by_name.contains_key(**name));
    let has_intervals =
        |placed: &[PlacedModel]| placed.iter().any(|model| model.interval.is_some());
    let (intervals_before, intervals_after) =
        (has_intervals(&placed_before), has_intervals(&placed_after));
    let mut comparison = BoardComparison {
        key: BoardKey {
            style_control: old.style_control.or(new.style_control),
            ..old.key()
        },
        common_models: models.len(),
        provisional: on_both
            .filter(|name| !rated_on_both(name))
            .map(|name| (*name).to_owned())
            .collect(),
        only_before: only(&old_by_name, &new_by_name),
        only_after: only(&new_by_name, &old_by_name),
        mean_difference: (!models.is_empty()).then_some(found.mean_difference),
        models,
        kendall_tau_b: found.kendall,
        spearman_rho: found.spearman,
        pearson_r: found.pearson,
        separability_before: found.separability_before.filter(|_| intervals_before),
        separability_after: found.separability_after.filter(|_| intervals_after),
        confidence_agreement: found
            .confidence_agreement
            .filter(|_| intervals_before && intervals_after),
        win_rate_correlation: win_rate_correlation(&rates.0, &rates.1).ok(),
        notes: Vec::new(),
    };
    if comparison.common_models == 0 {
        comparison.notes.push(Note::new(
            "no_common_models",
            "no model is rated on both boards; groups are matched by number, and a group's number can change",
        ));
    } else if comparison
        .models
        .iter()
        .all(|model| model.is_certain.is_none())
    {
        comparison.notes.push(Note::new(
            "no_intervals",
            "a board has no intervals, so differences have none",
        ));
    }
    if is_lopsided(old) || is_lopsided(new) {
        comparison.notes.push(Note::new(
            "lopsided_intervals",
            "an interval is not symmetric about its rating; its half width is taken for differences",
        ));
    }
    Ok(comparison)
}

/// Names of all models of two boards in order: a model's number is its position.
struct Names<'a> {
    sorted: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn of(old: &'a ReadBoard, new: &'a ReadBoard) -> Self {
        let models = old.models.iter().chain(&new.models);
        let mut sorted: Vec<&str> = models.map(|model| model.name.as_str()).collect();
        sorted.sort_unstable();
        sorted.dedup();
        Self { sorted }
    }

    fn number(&self, name: &str) -> usize {
        self.sorted.partition_point(|other| *other < name)
    }
}

fn by_name(board: &ReadBoard) -> HashMap<&str, &ReadModel> {
    let models = board.models.iter();
    models.map(|model| (model.name.as_str(), model)).collect()
}

fn placed(
    number: usize,
    model: &ReadModel,
    level: f64,
) -> Result<PlacedModel, agon_ranking::Error> {
    let interval = match model.bounds {
        None => None,
        Some(bounds) => Some(Interval {
            lower: bounds.0,
            upper: bounds.1,
            standard_error: read::standard_error(bounds, level)?,
        }),
    };
    Ok(PlacedModel {
        model: number,
        rating: model.rating,
        interval,
        rank: model.rank,
    })
}

/// Whether some interval is clearly not symmetric, as those of a bootstrap are not.
fn is_lopsided(board: &ReadBoard) -> bool {
    /// By this share of the half width the middle may lie off; files round.
    const SLACK: f64 = 0.05;
    board.models.iter().any(|model| {
        model.is_rated
            && model.bounds.is_some_and(|(lower, upper)| {
                let (middle, half) = ((lower + upper) / 2.0, (upper - lower) / 2.0);
                (model.rating - middle).abs() > SLACK * half + 1e-6
            })
    })
}

impl Note {
    fn new(code: &str, detail: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            detail: detail.into(),
        }
    }
}

fn notes(before: &Document, after: &Document) -> Vec<Note> {
    let mut notes = Vec::new();
    let shared = before
        .sources
        .iter()
        .filter(|source| after.sources.contains(source))
        .count();
    if shared > 0 {
        let files = if shared == 1 { "file" } else { "files" };
        notes.push(Note::new(
            "shared_votes",
            format!(
                "both were made from {shared} vote {files} with the same bytes: the intervals of differences are made for boards that share no votes, and are too wide"
            ),
        ));
    } else if before.sources.is_empty() || after.sources.is_empty() {
        notes.push(Note::new(
            "votes_unknown",
            "a document does not say which votes it was made from: where both share votes, the intervals of differences are too wide",
        ));
    }
    if before.settings.is_empty() || after.settings.is_empty() {
        notes.push(Note::new(
            "settings_unknown",
            "a document does not say how it was made: where scale or location differ, differences of ratings say little",
        ));
        return notes;
    }
    let different = different_settings(&before.settings, &after.settings);
    let differs = |names: &[&str]| different.iter().any(|(name, _)| names.contains(name));
    let by_share = |document: &Document| {
        document
            .settings
            .get("method")
            .and_then(serde_json::Value::as_str)
            == Some("win-rate")
    };
    if by_share(before) != by_share(after) {
        notes.push(Note::new(
            "units_differ",
            "one board has ratings in points and the other win rates: differences between them mean nothing; places, correlations and agreement do",
        ));
    } else if differs(&["scale", "base"]) {
        notes.push(Note::new(
            "scale_differs",
            "the boards have different scales: differences of ratings mean nothing; places, correlations and agreement do",
        ));
    }
    if differs(&["location", "init"]) {
        notes.push(Note::new(
            "location_differs",
            "the boards are measured from different places: differences of ratings hold that shift; places, correlations and agreement do not",
        ));
    }
    if !different.is_empty() {
        let listed: Vec<String> = different
            .iter()
            .map(|(name, values)| format!("{name} ({values})"))
            .collect();
        notes.push(Note::new(
            "settings_differ",
            format!("settings that differ: {}", listed.join(", ")),
        ));
    }
    notes
}

/// Settings with other values, `before → after`; what one document does not have stands as `none`.
fn different_settings<'a>(
    before: &'a BTreeMap<String, serde_json::Value>,
    after: &'a BTreeMap<String, serde_json::Value>,
) -> Vec<(&'a str, String)> {
    let mut names: Vec<&str> = before
        .keys()
        .chain(after.keys())
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names.dedup();
    let text = |settings: &BTreeMap<String, serde_json::Value>, name: &str| match settings.get(name)
    {
        None | Some(serde_json::Value::Null) => "none".to_owned(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    names
        .into_iter()
        .map(|name| (name, text(before, name), text(after, name)))
        .filter(|(_, before, after)| before != after)
        .map(|(name, before, after)| (name, format!("{before} → {after}")))
        .collect()
}

#[cfg(test)]
mod tests;
