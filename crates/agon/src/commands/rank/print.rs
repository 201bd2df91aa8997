//! Leaderboards as text: for reading, for spreadsheets, for Markdown, for machines.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
};

use agon_dataset::{InputReport, SourceReport};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::{
    app::leaderboard::{Board, InputBody, LeaderboardBody, ModelRow, csv},
    cli::Format,
};

/// A board in the asked-for form.
///
/// # Errors
///
/// When it cannot be written as JSON or CSV, which does not happen for numbers that are finite.
pub(super) fn board(board: &Board, format: Format) -> anyhow::Result<String> {
    match format {
        Format::Json => Ok(format!("{}\n", serde_json::to_string_pretty(board)?)),
        Format::Csv => csv::write(board),
        Format::Table => Ok(tables(board)),
        Format::Markdown => Ok(markdown(board)),
    }
}

/// Says on standard error what was not kept.
///
/// # Errors
///
/// When standard error is gone.
pub(super) fn rejections(report: &InputReport) -> io::Result<()> {
    let mut text = String::new();
    if report.n_rejected() > 0 {
        let _ = writeln!(
            text,
            "{} of {} rows were left out:",
            report.n_rejected(),
            report.rows
        );
        for (reason, rows) in &report.rejected {
            let _ = writeln!(
                text,
                "  {} {}; the first: {}",
                rows.count,
                reason.as_str(),
                rows.first
            );
        }
    }
    if report.n_named > 0 {
        let _ = writeln!(
            text,
            "{} rows come from battles whose voter knew the names; they are counted in",
            report.n_named
        );
    }
    if let Some(n) = report.n_repeated_ids.filter(|&n| n > 0) {
        let _ = writeln!(
            text,
            "{n} rows repeat the id of an earlier row; they are counted in"
        );
    }
    for group in &report.near_duplicates {
        let _ = writeln!(
            text,
            "model names that differ only in case are kept apart: {}",
            visible(&group.join(", "))
        );
    }
    for skipped in &report.skipped {
        let _ = writeln!(text, "not read: {}", visible(&skipped.detail));
    }
    for (idx, source) in report.sources.iter().enumerate() {
        let is_same = |earlier: &&SourceReport| {
            source.rows > 0 && source.sha256.is_some() && earlier.sha256 == source.sha256
        };
        if let Some(earlier) = report.sources[..idx].iter().find(is_same) {
            let _ = writeln!(
                text,
                "`{}` holds the same bytes as `{}`; its rows are counted again",
                visible(&source.path),
                visible(&earlier.path)
            );
        }
    }
    io::stderr().write_all(text.as_bytes())
}

fn tables(board: &Board) -> String {
    let mut text = String::new();
    let n_groups = board.leaderboards.len();
    for leaderboard in &board.leaderboards {
        if n_groups > 1 {
            let _ = writeln!(
                text,
                "Group {} of {n_groups} (models of different groups never met)",
                leaderboard.group
            );
        }
        let _ = writeln!(text, "{}", table(leaderboard, board.settings.level));
        for check in leaderboard.checks.iter().filter(|check| !check.passed) {
            let _ = writeln!(text, "! {}: {}", check.check, visible(&check.detail));
        }
    }
    let _ = writeln!(text, "{}", summary(&board.input));
    text
}

fn markdown(board: &Board) -> String {
    let mut text = String::new();
    let n_groups = board.leaderboards.len();
    for leaderboard in &board.leaderboards {
        if n_groups > 1 {
            let _ = writeln!(
                text,
                "Group {} of {n_groups} (models of different groups never met)\n",
                leaderboard.group
            );
        }
        let _ = writeln!(
            text,
            "| {} |\n|--:|---|--:|:-:|--:|--:|--:|--:|--:|---|",
            headings(board.settings.level).join(" | ")
        );
        for row in &leaderboard.models {
            let cells: Vec<String> = cells(row)
                .into_iter()
                .map(|cell| markdown_text(&cell))
                .collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text.push('\n');
        for check in leaderboard.checks.iter().filter(|check| !check.passed) {
            let detail = markdown_text(&visible(&check.detail));
            let _ = writeln!(text, "- {}: {detail}", check.check);
        }
    }
    let _ = writeln!(text, "\n{}", summary(&board.input));
    text
}

fn headings(level: f64) -> [String; 10] {
    let level = format!("{}% interval", trim_zeros(&format!("{:.2}", level * 100.0)));
    [
        "Rank", "Model", "Rating", &level, "Battles", "Wins", "Losses", "Ties", "Both bad", "Note",
    ]
    .map(ToOwned::to_owned)
}

fn trim_zeros(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

fn cells(row: &ModelRow) -> [String; 10] {
    let rank = match (row.rank_upper, row.rank_lower) {
        (Some(upper), Some(lower)) if upper != lower => format!("{upper}–{lower}"),
        (Some(upper), _) => upper.to_string(),
        _ => "–".to_owned(),
    };
    let interval = match (row.rating_lower, row.rating_upper) {
        (Some(lower), Some(upper)) => format!("{lower:.1} … {upper:.1}"),
        _ => "not estimable".to_owned(),
    };
    [
        rank,
        visible(&row.model),
        format!("{:.1}", row.rating),
        interval,
        row.battles.to_string(),
        row.wins.to_string(),
        row.losses.to_string(),
        row.ties.to_string(),
        row.both_bad.to_string(),
        row.note
            .as_ref()
            .map(|note| format!("provisional: {note}"))
            .unwrap_or_default(),
    ]
}

/// Text that stands for itself in Markdown, inside a table too. An underscore inside a word does.
fn markdown_text(text: &str) -> String {
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

/// Text from a file, without the characters that steer a terminal or turn the text around them.
pub(super) fn visible(text: &str) -> String {
    text.chars()
        .map(|character| {
            let turns = matches!(
                character,
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}'
            );
            if character.is_control() || turns {
                '\u{fffd}'
            } else {
                character
            }
        })
        .collect()
}

fn table(leaderboard: &LeaderboardBody, level: f64) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_header(headings(level));
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    for row in &leaderboard.models {
        let cells = cells(row).into_iter().enumerate().map(|(idx, cell)| {
            let alignment = if matches!(idx, 1 | 9) {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            };
            Cell::new(cell).set_alignment(alignment)
        });
        table.add_row(cells);
    }
    table
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
