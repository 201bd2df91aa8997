//! Plots of leaderboards: document in, [`agon_plot::Plot`] out, for pages and for `agon rank --plot` alike.

mod pool;

use std::{collections::HashMap, fmt};

use agon_plot::{
    Calibration, CalibrationBin, Caption, Cells, Coefficient, Coefficients, HeatMap, History,
    HistoryLine, Interval, Intervals, Plot, RatedModel, calibration, coefficients, heat_map,
    history, intervals,
};

use crate::app::leaderboard::{
    Board, CheckValue, HistoryBody, LeaderboardBody, Method, Settings, TieRule, slices,
};

pub use pool::{PlotFormat, PlotPool, PlotSource};

/// Lines of a history that stand out where there are many.
const HIGHLIGHTED: usize = 10;

/// What a plot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlotKind {
    /// Ratings with their intervals.
    Intervals,
    /// Win rates of each pair.
    WinRates,
    /// Win rates of each pair as the ratings predict them.
    Predicted,
    /// Battles of each pair.
    Battles,
    /// Ratings over time.
    History,
    /// Predicted and observed wins.
    Calibration,
    /// Coefficients of style features.
    Coefficients,
}

impl PlotKind {
    /// Every kind, in the order in which pages list them.
    pub const ALL: [Self; 7] = [
        Self::Intervals,
        Self::WinRates,
        Self::Predicted,
        Self::Battles,
        Self::History,
        Self::Calibration,
        Self::Coefficients,
    ];

    /// Its name in addresses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intervals => "intervals",
            Self::WinRates => "win-rates",
            Self::Predicted => "predicted",
            Self::Battles => "battles",
            Self::History => "history",
            Self::Calibration => "calibration",
            Self::Coefficients => "coefficients",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Why there is no plot.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The document does not hold what the plot shows.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// It cannot be drawn.
    #[error("the plot cannot be drawn")]
    Draw(#[from] agon_plot::Error),
    /// There is more to draw than this server draws while others wait.
    #[error("{found} {what} are too many for this plot, which holds {limit}")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: usize,
        /// How much there may be.
        limit: usize,
    },
    /// As many plots are drawn as may be drawn at once.
    #[error("many plots are being drawn")]
    Busy,
    /// The drawing broke off.
    #[error("the drawing broke off")]
    BrokenOff(#[source] tokio::task::JoinError),
}

/// What a document lacks for a plot of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Nobody is on the board.
    Models,
    /// Nobody is rated by a model that predicts win rates.
    Predictions,
    /// Who met whom was not kept.
    Pairs,
    /// There are no ratings over time.
    History,
    /// There is no check of the calibration.
    Calibration,
    /// The fit has no features.
    Coefficients,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Models => "there is no model to draw",
            Self::Predictions => {
                "win rates are predicted only for two or more models that are rated by Bradley-Terry without an outcome of its own for ties"
            }
            Self::Pairs => "no two models have met",
            Self::History => "there are no ratings over time yet",
            Self::Calibration => {
                "the calibration is not known: it needs a fit of Bradley-Terry and its check `calibrated`"
            }
            Self::Coefficients => "the fit has no features, and so no coefficients",
        })
    }
}

impl std::error::Error for Missing {}

/// Draws one board of a document, or its history.
///
/// # Errors
///
/// [`PlotError::Missing`] when the document does not hold it, [`PlotError::Draw`] when there is too much of it.
pub fn draw(
    board: &Board,
    leaderboard: &LeaderboardBody,
    kind: PlotKind,
) -> Result<Plot, PlotError> {
    if leaderboard.models.is_empty() {
        return Err(Missing::Models.into());
    }
    let plot = match kind {
        PlotKind::Intervals => intervals(&of_intervals(board, leaderboard)),
        PlotKind::WinRates | PlotKind::Battles => {
            heat_map(&of_pairs(board, leaderboard, kind == PlotKind::Battles)?)
        }
        PlotKind::Predicted => heat_map(&of_predictions(board, leaderboard)?),
        PlotKind::History => {
            let series = board.history.first().ok_or(Missing::History)?;
            return draw_history(series, board.input.kept, &board.settings);
        }
        PlotKind::Calibration => calibration(&of_calibration(board, leaderboard)?),
        PlotKind::Coefficients => coefficients(&of_coefficients(board, leaderboard)?),
    };
    Ok(plot?)
}

/// Draws ratings over time, made of `n_votes` votes.
///
/// # Errors
///
/// [`PlotError::Missing`] when nobody is rated in any period, [`PlotError::Draw`] when there is too much of it.
pub fn draw_history(
    series: &HistoryBody,
    n_votes: u64,
    settings: &Settings,
) -> Result<Plot, PlotError> {
    let unit = slices::Unit::parse(&series.unit);
    let boards: Vec<_> = series
        .periods
        .iter()
        .map(|period| {
            Some(agon_plot::Board {
                label: period.clone(),
                day: unit?.first_day(period)?,
            })
        })
        .collect::<Option<_>>()
        .ok_or(Missing::History)?;
    let lines: Vec<HistoryLine> = series
        .models
        .iter()
        .map(|model| HistoryLine {
            name: model.model.clone(),
            ratings: model
                .points
                .iter()
                .map(|point| point.as_ref().map(|point| point.rating))
                .collect(),
            intervals: model
                .points
                .iter()
                .map(|point| {
                    let point = point.as_ref()?;
                    let (lower, upper) = point.rating_lower.zip(point.rating_upper)?;
                    Some(Interval { lower, upper })
                })
                .collect(),
        })
        .collect();
    if lines
        .iter()
        .all(|line| line.ratings.iter().all(Option::is_none))
    {
        return Err(Missing::History.into());
    }
    Ok(history(&History {
        caption: Caption {
            title: "Ratings over time".to_owned(),
            subtitle: Some(if series.cumulative {
                format!("all votes up to the end of each {}", series.unit)
            } else {
                format!("the votes of each {} by themselves", series.unit)
            }),
            source: Some(format!("{n_votes} votes, agon {}", settings.agon_version)),
        },
        axis: axis(settings),
        boards,
        lines,
        highlighted: HIGHLIGHTED,
    })?)
}

fn caption(board: &Board, leaderboard: &LeaderboardBody, title: &str) -> Caption {
    let mut subtitle = leaderboard.category.clone();
    if leaderboard.style_control {
        subtitle.push_str(", net of style");
    }
    let is_first = |other: &&LeaderboardBody| {
        other.category == leaderboard.category && other.style_control == leaderboard.style_control
    };
    if board.leaderboards.iter().filter(is_first).count() > 1 {
        subtitle.push_str(&format!(", group {}", leaderboard.group));
    }
    Caption {
        title: title.to_owned(),
        subtitle: Some(subtitle),
        source: Some(format!(
            "{} votes, {}, agon {}",
            board.input.kept, leaderboard.method, board.settings.agon_version
        )),
    }
}

fn interval(lower: Option<f64>, upper: Option<f64>) -> Option<Interval> {
    Some(Interval {
        lower: lower?,
        upper: upper?,
    })
}

fn axis(settings: &Settings) -> String {
    if settings.method == Method::WinRate {
        "Win rate"
    } else {
        "Rating"
    }
    .to_owned()
}

fn of_intervals(board: &Board, leaderboard: &LeaderboardBody) -> Intervals {
    let place = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
    Intervals {
        caption: caption(board, leaderboard, "Ratings"),
        axis: axis(&board.settings),
        confidence: board.settings.level * 100.0,
        models: leaderboard
            .models
            .iter()
            .map(|row| RatedModel {
                name: row.model.clone(),
                rating: row.rating,
                interval: interval(row.rating_lower, row.rating_upper),
                simultaneous: row
                    .simultaneous
                    .as_ref()
                    .and_then(|all| interval(all.rating_lower, all.rating_upper)),
                ranks: row
                    .rank_upper
                    .zip(row.rank_lower)
                    .map(|(best, worst)| (place(best), place(worst))),
                battles: Some(row.battles),
                provisional: row.rank.is_none(),
            })
            .collect(),
    }
}

fn of_coefficients(board: &Board, leaderboard: &LeaderboardBody) -> Result<Coefficients, Missing> {
    if leaderboard.style.is_empty() {
        return Err(Missing::Coefficients);
    }
    Ok(Coefficients {
        caption: caption(board, leaderboard, "What sways votes"),
        unit: "log-odds for one unit of the feature".to_owned(),
        below: "the side with less wins".to_owned(),
        above: "the side with more wins".to_owned(),
        rows: leaderboard
            .style
            .iter()
            .map(|row| Coefficient {
                name: row.feature.replace('_', " "),
                value: row.coefficient,
                interval: interval(row.lower, row.upper),
            })
            .collect(),
    })
}

/// Counts by row and column of a matrix of the models.
fn battles_of_pairs(leaderboard: &LeaderboardBody) -> (Vec<u64>, Vec<Option<f64>>) {
    let n = leaderboard.models.len();
    let position: HashMap<&str, usize> = leaderboard
        .models
        .iter()
        .enumerate()
        .map(|(idx, row)| (row.model.as_str(), idx))
        .collect();
    let mut battles = vec![0_u64; n * n];
    let mut rates = vec![None; n * n];
    for pair in leaderboard.pairs.counts() {
        let (Some(&a), Some(&b)) = (
            position.get(pair.model.as_str()),
            position.get(pair.opponent.as_str()),
        ) else {
            continue;
        };
        battles[a * n + b] = pair.battles();
        rates[a * n + b] = pair.win_rate();
    }
    (battles, rates)
}

fn names(leaderboard: &LeaderboardBody) -> Vec<String> {
    leaderboard
        .models
        .iter()
        .map(|row| row.model.clone())
        .collect()
}

fn of_pairs(
    board: &Board,
    leaderboard: &LeaderboardBody,
    counts: bool,
) -> Result<HeatMap, Missing> {
    if leaderboard.pairs.is_empty() {
        return Err(Missing::Pairs);
    }
    let (battles, values) = battles_of_pairs(leaderboard);
    let (title, cells) = if counts {
        ("Battles of each pair", Cells::Battles(battles))
    } else {
        (
            "Win rates",
            Cells::WinRates {
                values,
                battles: Some(battles),
            },
        )
    };
    Ok(HeatMap {
        caption: caption(board, leaderboard, title),
        models: names(leaderboard),
        cells,
    })
}

/// Whether two models or more are rated by numbers that say how often one beats another.
pub fn has_predictions(leaderboard: &LeaderboardBody, settings: &Settings) -> bool {
    let n_rated = leaderboard.models.iter().filter(|row| row.rank.is_some());
    settings.method == Method::BradleyTerry
        && matches!(settings.ties, TieRule::Half | TieRule::Drop)
        && n_rated.count() >= 2
}

/// The rated models only: a provisional rating is a guess, and predicts nothing in good faith.
fn of_predictions(board: &Board, leaderboard: &LeaderboardBody) -> Result<HeatMap, Missing> {
    if !has_predictions(leaderboard, &board.settings) {
        return Err(Missing::Predictions);
    }
    let rated: Vec<_> = leaderboard
        .models
        .iter()
        .filter(|row| row.rank.is_some())
        .collect();
    // The odds of a against b are base^((rating a − rating b) / scale), see docs/methods.md.
    let nats_a_point = board.settings.base.ln() / board.settings.scale;
    let mut values = Vec::with_capacity(rated.len() * rated.len());
    for (idx, row) in rated.iter().enumerate() {
        for (other, opponent) in rated.iter().enumerate() {
            let ahead = (row.rating - opponent.rating) * nats_a_point;
            values.push((idx != other).then(|| 1.0 / (1.0 + (-ahead).exp())));
        }
    }
    Ok(HeatMap {
        caption: caption(board, leaderboard, "Predicted win rates"),
        models: rated.iter().map(|row| row.model.clone()).collect(),
        cells: Cells::WinRates {
            values,
            battles: None,
        },
    })
}

fn of_calibration(board: &Board, leaderboard: &LeaderboardBody) -> Result<Calibration, Missing> {
    let check = leaderboard
        .checks
        .iter()
        .find(|check| check.check == "calibrated")
        .ok_or(Missing::Calibration)?;
    let column = |name: &str| match check.values.get(name) {
        Some(CheckValue::Numbers(numbers)) => numbers.as_slice(),
        _ => &[],
    };
    let bins = column("bin_predicted")
        .iter()
        .zip(column("bin_observed"))
        .zip(
            column("bin_observed_lower")
                .iter()
                .zip(column("bin_observed_upper")),
        )
        .zip(column("bin_battles"))
        .map(
            |(((&predicted, &observed), (&lower, &upper)), &battles)| CalibrationBin {
                predicted,
                observed,
                interval: Some(Interval { lower, upper }),
                battles: battles as u64,
            },
        )
        .collect();
    Ok(Calibration {
        caption: caption(board, leaderboard, "Predicted and observed wins"),
        bins,
    })
}
