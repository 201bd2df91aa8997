//! The methods that make boards of votes: each composes what `agon-ranking` computes.

mod bradley_terry;
mod online;
mod preset;
mod prior;
mod ties;

use agon_ranking::{Anchor, CovarianceMethod, LeaderboardOptions};

use super::{
    Check, Effort, IntervalMethod, LeaderboardBody, LocationSetting, Met, Method, RankError,
    Settings,
    checks::{self, CheckInput},
    error::nearest,
    standing::{Counts, Standing},
    threads::{self, Threads},
    votes::{FitInput, Part},
};
pub use prior::Prior;

/// Rows up to which the style-controlled board and the plain one are made at the same time.
const ROWS_AT_ONCE_MAX: usize = 1_000_000;

/// What all boards of a run have in common.
pub(super) struct Run<'a> {
    pub(super) settings: &'a Settings,
    pub(super) prior: Option<&'a Prior>,
    /// Threads for one part of the votes.
    pub(super) n_threads: Threads,
    /// How much may be computed for the checks; `None` for no checks.
    pub(super) checks: Option<Effort>,
    /// Whether boards keep who met whom.
    pub(super) keep_pairs: bool,
}

/// The boards of a part of the votes: one for each group of models that met.
///
/// With style control, the boards that it is compared with come after those with it.
pub(super) fn boards(
    part: &Part<'_>,
    category: &str,
    run: &Run<'_>,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let settings = run.settings;
    let with_style = settings.style.is_some();
    // Both at once where they are small: one after the other they would leave threads idle.
    let n_at_once = if part.n_rows() <= ROWS_AT_ONCE_MAX {
        run.n_threads
    } else {
        Threads::MIN
    };
    let order: &[usize] = if with_style { &[0, 1] } else { &[0] };
    let mut made = threads::for_each(order, n_at_once, |idx| {
        of_method(part, run, with_style && idx == 0)
    })
    .into_iter();
    let mut boards = made.next().unwrap_or(Err(RankError::NoBattles))?;
    if let Some(plain) = made.next() {
        let plain = plain?;
        for board in &mut boards {
            board.style_control = true;
            compare_places(board, &plain);
        }
        boards.extend(plain);
    }
    finish(&mut boards, part, category, run)?;
    Ok(boards)
}

/// The boards of counts that grew since `previous` was made of them: as [`boards`] makes them, but for the last digits, which depend on where a fit starts.
///
/// Only for settings under which counts by pair are enough and the plain model is fitted.
pub(super) fn boards_again(
    part: &Part<'_>,
    sides: &agon_ranking::influence::Sides,
    input: &FitInput,
    previous: Option<&agon_ranking::Leaderboard>,
    category: &str,
    run: &Run<'_>,
) -> Result<(Vec<LeaderboardBody>, agon_ranking::Leaderboard), RankError> {
    let (mut boards, leaderboard) =
        bradley_terry::boards_of(part, run, input, Some(sides), previous)?;
    finish(&mut boards, part, category, run)?;
    Ok((boards, leaderboard))
}

/// What boards of every method have in common.
fn finish(
    boards: &mut [LeaderboardBody],
    part: &Part<'_>,
    category: &str,
    run: &Run<'_>,
) -> Result<(), RankError> {
    for board in boards.iter_mut() {
        category.clone_into(&mut board.category);
        if run.keep_pairs {
            board.pairs = Met::new(part.names, &part.pairs);
        }
        if run.checks.is_none() {
            board.checks.clear();
        }
    }
    match boards.iter().find_map(unwritable) {
        Some(model) => Err(RankError::TooLarge { model }),
        None => Ok(()),
    }
}

fn of_method(
    part: &Part<'_>,
    run: &Run<'_>,
    with_style: bool,
) -> Result<Vec<LeaderboardBody>, RankError> {
    let settings = run.settings;
    if let Some(preset) = settings.preset {
        return preset::boards(part, run, preset, with_style);
    }
    match settings.method {
        Method::Elo => online::elo_boards(part, run),
        Method::WinRate => online::win_rate_boards(part, run),
        Method::BradleyTerry => match (settings.ties.model(), run.prior) {
            (Some(model), _) => ties::boards(part, run, model),
            (None, Some(prior)) => prior::boards(part, run, prior, with_style),
            (None, None) => bradley_terry::boards(part, run, with_style),
        },
    }
}

/// Says how many places each model won or lost by style control.
fn compare_places(board: &mut LeaderboardBody, plain: &[LeaderboardBody]) {
    for row in &mut board.models {
        let before = plain
            .iter()
            .flat_map(|board| &board.models)
            .find(|other| other.model == row.model)
            .and_then(|other| other.rank);
        row.rank_change = before
            .zip(row.rank)
            .and_then(|(before, now)| Some(i64::try_from(before).ok()? - i64::try_from(now).ok()?));
    }
}

/// A model with a number that JSON cannot hold.
fn unwritable(board: &LeaderboardBody) -> Option<String> {
    let is_writable = |number: Option<f64>| number.is_none_or(f64::is_finite);
    board
        .models
        .iter()
        .find(|row| {
            !(row.rating.is_finite()
                && is_writable(row.rating_lower)
                && is_writable(row.rating_upper))
        })
        .map(|row| row.model.clone())
}

/// A body without models.
fn body(settings: &Settings, group: usize) -> LeaderboardBody {
    LeaderboardBody {
        category: String::new(),
        group,
        style_control: false,
        method: settings.method_name().to_owned(),
        models: Vec::new(),
        style: Vec::new(),
        style_left_out: Vec::new(),
        incomplete_rows: None,
        tie: None,
        bootstrap: None,
        checks: Vec::new(),
        notes: Vec::new(),
        pairs: Met::default(),
    }
}

/// Rows of a board; places are bounded where there are intervals.
fn rows(part: &Part<'_>, standings: &[Standing], has_intervals: bool) -> Vec<super::ModelRow> {
    let counts = Counts::by_model(part.names.len(), &part.pairs);
    standings
        .iter()
        .map(|standing| standing.row(part.names, &counts, has_intervals))
        .collect()
}

/// How ratings are scaled, anchored and bounded, with the anchor as a position.
fn options(part: &Part<'_>, run: &Run<'_>) -> Result<LeaderboardOptions, RankError> {
    let settings = run.settings;
    let anchor = match &settings.location {
        LocationSetting::Mean => Anchor::Mean,
        LocationSetting::WeightedMean => Anchor::WeightedMean,
        LocationSetting::Model { model, rating } => Anchor::Model {
            model: part
                .names
                .binary_search(model)
                .map_err(|_| RankError::UnknownAnchor {
                    model: model.clone(),
                    nearest: nearest(model, part.names),
                })?,
            rating: *rating,
        },
    };
    let defaults = LeaderboardOptions::default();
    Ok(LeaderboardOptions {
        scale: settings.scale,
        base: settings.base,
        init: settings.init,
        level: settings.level,
        anchor,
        min_battles: settings.min_battles,
        covariance: covariance(settings.interval),
        fit: agon_ranking::FitOptions {
            ridge_strengths: settings.ridge_strengths,
            ridge_coefficients: settings.style.as_ref().map_or(0.0, |style| style.ridge),
            ..defaults.fit
        },
        n_threads: run.n_threads,
    })
}

fn covariance(interval: IntervalMethod) -> CovarianceMethod {
    match interval {
        IntervalMethod::Model => CovarianceMethod::ModelBased,
        IntervalMethod::Cluster => CovarianceMethod::ClusteredSandwich,
        IntervalMethod::Sandwich
        | IntervalMethod::Bootstrap
        | IntervalMethod::ClusterBootstrap
        | IntervalMethod::None => CovarianceMethod::Sandwich,
    }
}

/// What can be checked of a board without its fit: who met whom, and how often.
///
/// For methods whose numbers do not come from the plain fit.
fn structure_checks(part: &Part<'_>, board: &agon_ranking::Board, plain: &Plain) -> Vec<Check> {
    let of_the_fit = ["converged", "intervals", "separation", "rated"];
    let input = CheckInput {
        board,
        names: part.names,
        pairs: &part.pairs,
        n_groups: plain.leaderboard.boards.len(),
        without_battles: &plain.leaderboard.without_battles,
        fit: None,
    };
    checks::panel(&input, Effort::Quick, Threads::MIN)
        .into_iter()
        .filter(|check| !of_the_fit.contains(&check.check.as_str()))
        .collect()
}

/// The plain board of a part, for its groups and for whom another method cannot place.
struct Plain {
    leaderboard: agon_ranking::Leaderboard,
}

impl Plain {
    fn of(part: &Part<'_>, run: &Run<'_>) -> Result<Self, RankError> {
        let of_ranking = |error| RankError::of(error, part.names);
        let comparisons = part.plain_comparisons(run.settings).map_err(of_ranking)?;
        let options = LeaderboardOptions {
            // Nothing is measured from the anchor here, and it need not be one that the plain model can rate.
            anchor: Anchor::Mean,
            covariance: CovarianceMethod::Sandwich,
            ..options(part, run)?
        };
        Ok(Self {
            leaderboard: agon_ranking::leaderboard(&comparisons, &options).map_err(of_ranking)?,
        })
    }
}
