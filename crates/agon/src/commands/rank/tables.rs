//! Leaderboards for reading: as columns in a terminal, and as Markdown.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _},
};

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::print::visible;
use crate::app::leaderboard::{Board, InputBody, LeaderboardBody, Method, ModelRow, StyleRow};

/// A column of a board: what it is called, whether it is text, and its cell of a row.
pub(super) struct Column {
    pub(super) heading: String,
    pub(super) is_text: bool,
    pub(super) cell: Box<dyn Fn(&ModelRow) -> String>,
}

impl Column {
    fn number(heading: &str, cell: impl Fn(&ModelRow) -> String + 'static) -> Self {
        Self {
            heading: heading.to_owned(),
            is_text: false,
            cell: Box::new(cell),
        }
    }

    fn text(heading: &str, cell: impl Fn(&ModelRow) -> String + 'static) -> Self {
        Self {
            is_text: true,
            ..Self::number(heading, cell)
        }
    }
}

/// The columns of a board; those that would be empty are left out.
pub(super) fn columns(board: &Board, leaderboard: &LeaderboardBody) -> Vec<Column> {
    let settings = &board.settings;
    let decimals = if settings.method == Method::WinRate {
        3
    } else {
        1
    };
    let level = format!("{}%", trim_zeros(&format!("{:.2}", settings.level * 100.0)));
    let any = |has: fn(&ModelRow) -> bool| leaderboard.models.iter().any(has);
    let mut columns = vec![Column::number("Rank", rank)];
    if leaderboard.style_control {
        columns.push(Column::number("Change", |row| {
            row.rank_change.map_or_else(String::new, change)
        }));
    }
    columns.push(Column::text("Model", |row| visible(&row.model)));
    let rating = if settings.method == Method::WinRate {
        "Win rate"
    } else {
        "Rating"
    };
    columns.push(Column::number(rating, move |row| {
        format!("{:.decimals$}", row.rating)
    }));
    if settings.has_intervals() {
        columns.push(Column::number(&format!("{level} interval"), |row| {
            interval(row.rating_lower, row.rating_upper)
        }));
    }
    if any(|row| row.simultaneous.is_some()) {
        columns.push(Column::number(&format!("{level} all at once"), |row| {
            row.simultaneous.as_ref().map_or_else(String::new, |all| {
                interval(all.rating_lower, all.rating_upper)
            })
        }));
        columns.push(Column::number("Places", |row| {
            row.simultaneous
                .as_ref()
                .map_or_else(String::new, |all| places(all.rank_upper, all.rank_lower))
        }));
        columns.push(Column::number("First", |row| {
            row.simultaneous
                .as_ref()
                .map_or_else(String::new, |all| percent(all.first_confidence))
        }));
    }
    if any(|row| row.good_enough.is_some()) {
        columns.push(Column::number("Good enough", |row| {
            row.good_enough.as_ref().map_or_else(String::new, |level| {
                match (level.lower, level.upper) {
                    (Some(lower), Some(upper)) => format!(
                        "{} ({} … {})",
                        percent(level.probability),
                        percent(lower),
                        percent(upper)
                    ),
                    _ => percent(level.probability),
                }
            })
        }));
    }
    columns.extend([
        Column::number("Battles", |row| row.battles.to_string()),
        Column::number("Wins", |row| row.wins.to_string()),
        Column::number("Losses", |row| row.losses.to_string()),
        Column::number("Ties", |row| row.ties.to_string()),
        Column::number("Both bad", |row| row.both_bad.to_string()),
    ]);
    columns.push(Column::text("Note", |row| {
        row.note
            .as_ref()
            .map(|note| format!("provisional: {note}"))
            .unwrap_or_default()
    }));
    columns
}

fn rank(row: &ModelRow) -> String {
    match (row.rank_upper, row.rank_lower, row.rank) {
        (Some(upper), Some(lower), _) => places(upper, lower),
        (_, _, Some(rank)) => rank.to_string(),
        _ => "–".to_owned(),
    }
}

fn places(upper: usize, lower: usize) -> String {
    if upper == lower {
        upper.to_string()
    } else {
        format!("{upper}–{lower}")
    }
}

fn change(places: i64) -> String {
    match places {
        0 => "=".to_owned(),
        1.. => format!("+{places}"),
        _ => format!("−{}", places.unsigned_abs()),
    }
}

fn interval(lower: Option<f64>, upper: Option<f64>) -> String {
    match (lower, upper) {
        (Some(lower), Some(upper)) => format!("{lower:.1} … {upper:.1}"),
        _ => "not estimable".to_owned(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

pub(super) fn trim_zeros(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

/// The boards that are shown: with style control, those with it; the ones they are compared with are in the JSON document.
pub(super) fn shown(board: &Board) -> impl Iterator<Item = &LeaderboardBody> {
    let with_style = board.settings.style.is_some();
    board
        .leaderboards
        .iter()
        .filter(move |leaderboard| leaderboard.style_control == with_style)
}

/// What stands above a board, when there is more than one.
pub(super) fn title(board: &Board, leaderboard: &LeaderboardBody) -> Option<String> {
    let n_groups = shown(board)
        .filter(|other| other.category == leaderboard.category)
        .count();
    let has_categories = shown(board).any(|other| other.category != leaderboard.category)
        || !board.slices.is_empty();
    let mut parts = Vec::new();
    if has_categories {
        parts.push(visible(&leaderboard.category));
    }
    if n_groups > 1 {
        parts.push(format!(
            "Group {} of {n_groups} (models of different groups never met)",
            leaderboard.group
        ));
    }
    (!parts.is_empty()).then(|| parts.join(": "))
}

/// What is not in the fit of a board, one line each.
pub(super) fn omissions(leaderboard: &LeaderboardBody) -> Vec<String> {
    let mut lines: Vec<String> = leaderboard
        .style_left_out
        .iter()
        .map(|out| {
            format!(
                "{} is not in the fit: {}",
                visible(&out.feature),
                match out.reason.as_str() {
                    "missing" => "no row has it",
                    "out_of_range" => "it has values too large for any fit",
                    "constant" => "it is the same on both sides in every row",
                    "collinear" => "the models and the features before it say the same",
                    "separates" => "with the others it predicts outcomes without exception",
                    other => other,
                }
            )
        })
        .collect();
    if let Some(n) = leaderboard.incomplete_rows.filter(|&n| n > 0) {
        lines.push(format!(
            "{n} votes are not in the fit, as they lack a feature or a weight"
        ));
    }
    lines
}

/// What stands below a board, one line each.
pub(super) fn remarks(leaderboard: &LeaderboardBody) -> Vec<String> {
    let mut lines: Vec<String> = leaderboard.style.iter().map(coefficient).collect();
    lines.extend(omissions(leaderboard));
    if let Some(tie) = &leaderboard.tie {
        let bounds = match (tie.lower, tie.upper) {
            (Some(lower), Some(upper)) => format!(" ({lower:.4} … {upper:.4})"),
            _ => String::new(),
        };
        lines.push(format!("{} {:.4}{bounds}", tie.parameter, tie.estimate));
    }
    if let Some(bootstrap) = leaderboard
        .bootstrap
        .as_ref()
        .filter(|bootstrap| bootstrap.degenerate_rounds > 0)
    {
        lines.push(format!(
            "in {} of {} rounds of the bootstrap some model had no finite rating",
            bootstrap.degenerate_rounds, bootstrap.rounds
        ));
    }
    lines.extend(
        leaderboard
            .checks
            .iter()
            .filter(|check| !check.passed)
            .map(|check| format!("{}: {}", check.check, visible(&check.detail))),
    );
    lines.extend(leaderboard.notes.iter().cloned());
    lines
}

fn coefficient(row: &StyleRow) -> String {
    let bounds = match (row.lower, row.upper) {
        (Some(lower), Some(upper)) => format!(" ({lower:.4} … {upper:.4})"),
        _ => String::new(),
    };
    format!(
        "{} {:.4}{bounds}",
        visible(&row.feature.replace('_', " ")),
        row.coefficient
    )
}

/// The parts that have no board, and what else was left out of all of them, one line each.
pub(super) fn without_boards(board: &Board) -> Vec<String> {
    let mut lines: Vec<String> = board
        .slices
        .iter()
        .filter_map(|slice| {
            let reason = slice.reason.as_ref()?;
            Some(format!(
                "no board for {} ({} votes): {}",
                visible(&slice.category),
                slice.battles,
                visible(reason)
            ))
        })
        .collect();
    lines.extend(board.notes.iter().map(|note| visible(note)));
    lines
}

/// What stands below all boards, one line each.
pub(super) fn closing(board: &Board) -> Vec<String> {
    let mut lines = without_boards(board);
    lines.push(summary(&board.input));
    lines
}

fn summary(input: &InputBody) -> String {
    let dropped: u64 = input.dropped.values().sum();
    let mut text = format!(
        "{} rows, {} kept, {dropped} left out",
        input.rows, input.kept
    );
    if dropped > 0 {
        let reasons: Vec<String> = input
            .dropped
            .iter()
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        let _ = write!(text, " ({})", reasons.join(", "));
    }
    text
}

/// All boards as columns in a terminal.
pub(super) fn terminal(board: &Board) -> String {
    let mut text = String::new();
    for leaderboard in shown(board) {
        if let Some(title) = title(board, leaderboard) {
            let _ = writeln!(text, "{title}");
        }
        let _ = writeln!(text, "{}", table(board, leaderboard));
        for line in remarks(leaderboard) {
            let _ = writeln!(text, "! {line}");
        }
    }
    for line in closing(board) {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn table(board: &Board, leaderboard: &LeaderboardBody) -> Table {
    let columns = columns(board, leaderboard);
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_header(columns.iter().map(|column| &column.heading));
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    for row in &leaderboard.models {
        table.add_row(columns.iter().map(|column| {
            Cell::new((column.cell)(row)).set_alignment(if column.is_text {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            })
        }));
    }
    table
}

/// All boards as Markdown.
pub(super) fn markdown(board: &Board) -> String {
    let mut text = String::new();
    for leaderboard in shown(board) {
        if let Some(title) = title(board, leaderboard) {
            let _ = writeln!(text, "{}\n", markdown_text(&title));
        }
        let columns = columns(board, leaderboard);
        let headings: Vec<&str> = columns
            .iter()
            .map(|column| column.heading.as_str())
            .collect();
        let rules: Vec<&str> = columns
            .iter()
            .map(|column| if column.is_text { "---" } else { "--:" })
            .collect();
        let _ = writeln!(text, "| {} |\n|{}|", headings.join(" | "), rules.join("|"));
        for row in &leaderboard.models {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| markdown_text(&(column.cell)(row)))
                .collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text.push('\n');
        for line in remarks(leaderboard) {
            let _ = writeln!(text, "- {}", markdown_text(&line));
        }
        text.push('\n');
    }
    for line in closing(board) {
        let _ = writeln!(text, "{}\n", markdown_text(&line));
    }
    text
}

/// Text that stands for itself in Markdown, inside a table too. An underscore inside a word does.
pub(super) fn markdown_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut is_in_word = false;
    for character in text.chars() {
        let steers = matches!(
            character,
            '\\' | '|' | '`' | '*' | '~' | '<' | '[' | ']' | '&'
        );
        if steers || (character == '_' && !is_in_word) {
            escaped.push('\\');
        }
        escaped.push(character);
        is_in_word = character.is_alphanumeric();
    }
    escaped
}
