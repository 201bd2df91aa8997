//! Votes → leaderboard, as the page shows it, the API serves it and `agon rank` prints it: one document for all three.
//!
//! Reading order: [`Settings`], [`Board`], `votes` (what fits are made of), `slices` (which parts get boards), `methods`.

pub mod catalog;
mod checks;
pub mod compare;
pub mod csv;
mod document;
mod error;
pub mod history;
mod met;
mod methods;
mod running;
mod settings;
pub mod slices;
mod standing;
mod threads;
mod votes;

use std::sync::Arc;

pub use checks::{Check, CheckValue, Effort};
pub use document::{
    AliasBody, Board, BootstrapBody, HistoryBody, HistoryPoint, HistorySeries, InputBody,
    LeaderboardBody, LeftOutFeature, LevelBody, ModelRow, SimultaneousBody, SkippedBody, SliceBody,
    SourceBody, StyleRow, TieBody,
};
pub use error::RankError;
pub use met::{Met, PairCounts};
pub use methods::Prior;
pub use running::{KeptBoard, RunningBoard};
pub use settings::{
    BOOTSTRAP_ROUNDS, BothBadRule, Condition, DedupRule, Difference, IntervalMethod,
    LocationSetting, Method, PAIR_BATTLES_MIN, PRIOR_BATTLES, Preset, PriorSetting,
    SIMULTANEOUS_DRAWS, Settings, SliceSettings, SourceWeight, StyleSettings, TieRule,
    WeightSetting,
};
pub use threads::Threads;
pub use votes::Votes;

use methods::Run;
use slices::{OVERALL, Slice, Slices};
use votes::{Part, Table};

/// Models that are ranked at most: intervals need memory by their square (3.2 GB for so many) and time by their cube.
const MODELS_MAX: usize = 10_000;

/// What a run needs beside votes and settings, and what changes no number.
#[derive(Debug)]
pub struct RankOptions {
    /// The ratings of [`Settings::prior`].
    pub prior: Option<Prior>,
    /// Threads to work on. Their number changes no bit of the result.
    pub n_threads: Threads,
    /// How much may be computed for the checks; `None` for no checks.
    pub checks: Option<Effort>,
    /// Whether boards keep who met whom, for pictures.
    pub keep_pairs: bool,
}

impl Default for RankOptions {
    /// No prior, one thread, quick checks.
    fn default() -> Self {
        Self {
            prior: None,
            n_threads: Threads::MIN,
            checks: Some(Effort::default()),
            keep_pairs: false,
        }
    }
}

/// Ranks the models of votes.
///
/// The order in which votes came makes no difference, but for online Elo without times: models are taken in the order of their names.
///
/// # Errors
///
/// [`RankError`]. A part of the votes that cannot be ranked is listed in [`Board::slices`] instead, unless no part can be.
pub fn rank(
    votes: Votes,
    settings: &Settings,
    input: InputBody,
    options: &RankOptions,
) -> Result<Board, RankError> {
    match votes {
        Votes::Counted(tally) => {
            let (names, pairs) = tally.into_sorted();
            check_models(names.len())?;
            let run = Run {
                settings,
                prior: options.prior.as_ref(),
                n_threads: options.n_threads,
                checks: options.checks,
                keep_pairs: options.keep_pairs,
            };
            let part = Part::counted(&names, Arc::new(pairs));
            Ok(Board {
                leaderboards: methods::boards(&part, OVERALL, &run)?,
                input,
                settings: settings.clone(),
                slices: Vec::new(),
                history: Vec::new(),
                notes: Vec::new(),
            })
        }
        Votes::Rows(battles) => {
            check_models(battles.models.len())?;
            let table = Table::new(*battles, settings, &input.sources, options.n_threads)?;
            rank_rows(&table, settings, input, options)
        }
    }
}

fn check_models(n_models: usize) -> Result<(), RankError> {
    if n_models > MODELS_MAX {
        return Err(RankError::TooManyModels { n_models });
    }
    Ok(())
}

fn rank_rows(
    table: &Table,
    settings: &Settings,
    input: InputBody,
    options: &RankOptions,
) -> Result<Board, RankError> {
    if table.n_rows() == 0 {
        return Err(RankError::NoBattles);
    }
    let slices = Slices::of(table, settings)?;
    let n_slices = slices.slices.len();
    let n_threads = options.n_threads.get();
    let run = Run {
        settings,
        prior: options.prior.as_ref(),
        // Parts share the threads; what is left goes into each.
        n_threads: Threads::new(n_threads / n_slices.clamp(1, n_threads)).unwrap_or(Threads::MIN),
        checks: options.checks,
        keep_pairs: options.keep_pairs,
    };
    let mut order: Vec<usize> = (0..n_slices).collect();
    order.sort_by_key(|&idx| std::cmp::Reverse(slices.size(&slices.slices[idx], table)));
    let ranked = threads::for_each(&order, options.n_threads, |idx| {
        let slice = &slices.slices[idx];
        let part = Part::of(table, slices.rows(slice, table));
        (
            part.n_votes(),
            methods::boards(&part, &slice.category, &run),
        )
    });

    let mut board = Board {
        leaderboards: Vec::new(),
        input,
        settings: settings.clone(),
        slices: Vec::new(),
        history: Vec::new(),
        notes: table.notes.iter().chain(&slices.notes).cloned().collect(),
    };
    let mut first_error = None;
    for (slice, (battles, ranked)) in slices.slices.iter().zip(ranked) {
        // All votes are no part: whether they can be ranked, and as what, is for the caller to see.
        let result = match ranked {
            Ok(boards) if slice.cut.is_some() && !has_ratings(&boards) => Err(unrated(&boards)),
            Ok(boards) => Ok(boards),
            Err(error) => {
                let reason = reason(&error);
                first_error.get_or_insert(error);
                Err(reason)
            }
        };
        let reason = match result {
            Ok(boards) => {
                board.leaderboards.extend(boards);
                None
            }
            Err(reason) => Some(reason),
        };
        board.slices.push(slice_body(slice, battles, reason));
    }
    if board.leaderboards.is_empty()
        && let Some(error) = first_error
    {
        return Err(error);
    }
    if settings.slices.is_plain() {
        board.slices.clear();
    }
    board.history = history::of(&board);
    Ok(board)
}

fn has_ratings(boards: &[LeaderboardBody]) -> bool {
    boards
        .iter()
        .flat_map(|board| &board.models)
        .any(|row| row.rank.is_some())
}

/// Why nobody is rated, in the words of the check that says so.
fn unrated(boards: &[LeaderboardBody]) -> String {
    boards
        .iter()
        .flat_map(|board| &board.checks)
        .find(|check| check.check == "rated" && !check.passed)
        .map_or_else(
            || "nobody can be rated".to_owned(),
            |check| check.detail.clone(),
        )
}

/// An error with its cause in one line.
fn reason(error: &RankError) -> String {
    match error {
        RankError::Ranking(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

fn slice_body(slice: &Slice, battles: u64, reason: Option<String>) -> SliceBody {
    SliceBody {
        category: slice.category.clone(),
        column: slice.cut.as_ref().map(|(column, _)| column.clone()),
        value: slice.cut.as_ref().map(|(_, value)| value.clone()),
        battles,
        status: if reason.is_none() {
            "ranked"
        } else {
            "not_ranked"
        }
        .to_owned(),
        reason,
    }
}
