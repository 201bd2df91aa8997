//! Leaderboards as text: for reading, for spreadsheets, for Markdown, for machines.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use agon_dataset::{InputReport, SourceReport};

use super::{html, tables};
use crate::{
    app::leaderboard::{Board, catalog, csv},
    cli::rank::Format,
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
        Format::Table => Ok(tables::terminal(board)),
        Format::Markdown => Ok(tables::markdown(board)),
        Format::Html => html::page(board),
        Format::Catalog => Ok(format!(
            "{}\n",
            serde_json::to_string_pretty(&catalog::write(board))?
        )),
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
    if report.n_strong > 0 {
        let _ = writeln!(
            text,
            "{} verdicts are strong; each counts as one win",
            report.n_strong
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
            "model names that are nearly the same are kept apart: {}",
            visible(&group.join(", "))
        );
    }
    for skipped in &report.skipped {
        let _ = writeln!(text, "not read: {}", visible(&skipped.detail));
    }
    for (idx, source) in report.sources.iter().enumerate() {
        let is_same = |earlier: &&SourceReport| {
            // The files of an archive all have its checksum.
            source.rows > 0
                && source.sha256.is_some()
                && earlier.sha256 == source.sha256
                && earlier.member == source.member
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

/// Text from a file, without the characters that steer a terminal or turn the text around them.
pub(in crate::commands) fn visible(text: &str) -> String {
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

/// Says on standard error what a format without room for words leaves out.
pub(super) fn unsaid(board: &Board) -> io::Result<()> {
    let mut text = String::new();
    for leaderboard in tables::shown(board) {
        for line in tables::omissions(leaderboard) {
            let _ = writeln!(text, "{}: {line}", visible(&leaderboard.category));
        }
    }
    for line in tables::without_boards(board) {
        let _ = writeln!(text, "{line}");
    }
    io::stderr().write_all(text.as_bytes())
}

/// Says on standard error what is untrue about the boards of a preset.
///
/// # Errors
///
/// When standard error is gone.
pub(super) fn notes(board: &Board) -> io::Result<()> {
    let mut notes: Vec<&str> = Vec::new();
    for note in board
        .leaderboards
        .iter()
        .flat_map(|leaderboard| &leaderboard.notes)
    {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    let mut text = String::new();
    for note in notes {
        let _ = writeln!(text, "untrue about these numbers: {note}");
    }
    io::stderr().write_all(text.as_bytes())
}
