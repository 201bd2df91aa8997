//! Leaderboards as one page that needs nothing else: no script, no font, no picture from elsewhere.

use askama::Template;

use super::{
    plots,
    print::visible,
    tables::{closing, columns, remarks, shown, title},
};
use crate::app::leaderboard::{Board, LeaderboardBody};

#[derive(Template)]
#[template(path = "board.html")]
struct Page {
    version: &'static str,
    title: &'static str,
    method: String,
    /// Styles that pictures on the page need.
    plot_styles: &'static str,
    sections: Vec<Section>,
    closing: Vec<String>,
    settings: String,
}

struct Section {
    id: String,
    heading: String,
    caption: String,
    /// A picture as SVG, made here.
    plot: Option<String>,
    columns: Vec<Heading>,
    rows: Vec<Vec<Cell>>,
    remarks: Vec<String>,
}

struct Heading {
    heading: String,
    is_text: bool,
}

struct Cell {
    text: String,
    is_text: bool,
    /// Whether it names the row.
    is_name: bool,
}

/// The page.
///
/// # Errors
///
/// None in practice: it is written to memory.
pub(super) fn page(board: &Board) -> anyhow::Result<String> {
    let sections: Vec<Section> = shown(board)
        .enumerate()
        .map(|(idx, leaderboard)| section(board, leaderboard, idx))
        .collect();
    let settings = serde_json::json!({ "settings": board.settings, "input": board.input });
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        title: "Leaderboard",
        method: method(board),
        plot_styles: agon_plot::STYLE_SHEET,
        sections,
        closing: closing(board),
        settings: visible_lines(&serde_json::to_string_pretty(&settings)?),
    };
    Ok(page.render()?)
}

fn section(board: &Board, leaderboard: &LeaderboardBody, idx: usize) -> Section {
    let columns = columns(board, leaderboard);
    let n_rated = leaderboard
        .models
        .iter()
        .filter(|row| row.rank.is_some())
        .count();
    Section {
        id: format!("board-{}", idx + 1),
        heading: title(board, leaderboard).unwrap_or_else(|| "All votes".to_owned()),
        caption: format!(
            "{n_rated} rated of {} models, best first. A rank that is a range says which places the intervals allow.",
            leaderboard.models.len()
        ),
        // A board that is too large to draw still has its table.
        plot: plots::of_intervals(board, leaderboard)
            .ok()
            .map(|plot| plot.to_embedded_svg(&idx.to_string())),
        rows: leaderboard
            .models
            .iter()
            .map(|row| {
                columns
                    .iter()
                    .map(|column| Cell {
                        text: (column.cell)(row),
                        is_text: column.is_text,
                        is_name: column.heading == "Model",
                    })
                    .collect()
            })
            .collect(),
        columns: columns
            .into_iter()
            .map(|column| Heading {
                heading: column.heading,
                is_text: column.is_text,
            })
            .collect(),
        remarks: remarks(leaderboard),
    }
}

/// How the ratings were made, in a line.
fn method(board: &Board) -> String {
    let settings = &board.settings;
    let mut text = format!("{} from {} votes", settings.method_name(), board.input.kept);
    if settings.style.is_some() {
        text.push_str(", net of style");
    }
    if settings.has_intervals() {
        text.push_str(&format!(
            ", {} % intervals",
            (settings.level * 1e4).round() / 100.0
        ));
    }
    text
}

/// As [`visible`], with its lines.
fn visible_lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}
