//! Plots of leaderboards as files.

use std::{fs, path::Path};

use agon_plot::{Fonts, Plot, Theme};
use anyhow::{Context as _, anyhow};

use super::tables;
use crate::{
    app::{
        leaderboard::{Board, LeaderboardBody},
        plots::{self, Missing, PlotError},
    },
    cli::rank::{PlotArg, PlotKind},
    exit_code::CommandError,
};

/// Pixels for each unit of a plot: twice what screens had once, for those of today and for print.
const PIXELS_A_UNIT: f32 = 2.0;

impl From<PlotKind> for plots::PlotKind {
    fn from(kind: PlotKind) -> Self {
        match kind {
            PlotKind::Intervals => Self::Intervals,
            PlotKind::History => Self::History,
            PlotKind::Coefficients => Self::Coefficients,
            PlotKind::WinRates => Self::WinRates,
            PlotKind::Predicted => Self::Predicted,
            PlotKind::Battles => Self::Battles,
            PlotKind::Calibration => Self::Calibration,
        }
    }
}

/// Whether a plot shows who met whom.
pub(super) fn needs_pairs(plots: &[PlotArg]) -> bool {
    plots
        .iter()
        .any(|plot| matches!(plot.kind, PlotKind::WinRates | PlotKind::Battles))
}

/// Writes every plot that was asked for.
///
/// # Errors
///
/// Exit code 2 for a plot of something that the document does not have, 1 when a file cannot be written.
pub(super) fn write(board: &Board, plots: &[PlotArg]) -> Result<(), CommandError> {
    for plot in plots {
        write_one(board, plot)?;
    }
    Ok(())
}

fn write_one(board: &Board, wanted: &PlotArg) -> Result<(), CommandError> {
    let plot = draw(board, wanted.kind).map_err(CommandError::usage)?;
    let bytes = if wanted.is_png {
        plot.to_png(
            Theme::Light,
            PIXELS_A_UNIT,
            &Fonts::embedded().with_system_fonts(),
        )
        .context("the plot cannot be drawn as PNG")?
    } else {
        plot.to_svg(Theme::Auto).into_bytes()
    };
    write_file(&wanted.path, &bytes)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(())
}

fn draw(board: &Board, kind: PlotKind) -> anyhow::Result<Plot> {
    let first = tables::shown(board)
        .next()
        .ok_or_else(|| anyhow!("there is no board to draw"))?;
    plots::draw(board, first, kind.into()).map_err(|error| match error {
        PlotError::Missing(missing) => match option_for(missing) {
            Some(hint) => anyhow!("{missing}: {hint}"),
            None => missing.into(),
        },
        other => other.into(),
    })
}

/// What to add to the command line.
fn option_for(missing: Missing) -> Option<&'static str> {
    match missing {
        Missing::History => Some("add `--by day`, `week`, `month` or `year`"),
        Missing::Coefficients => Some("add `--style-control` or `--order-effect`"),
        Missing::Calibration => Some(
            "predictions are checked for Bradley-Terry boards, not with `--checks none`; with many battles and style control add `--checks full`",
        ),
        Missing::Models | Missing::Predictions | Missing::Pairs => None,
    }
}

/// The ratings of a board with their intervals.
///
/// # Errors
///
/// When there is nothing, or too much, to draw.
pub(super) fn of_intervals(
    board: &Board,
    leaderboard: &LeaderboardBody,
) -> Result<Plot, PlotError> {
    plots::draw(board, leaderboard, plots::PlotKind::Intervals)
}
