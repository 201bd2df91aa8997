//! Comparisons of boards as text: for reading, for spreadsheets, for Markdown, for machines.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _},
};

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use csv::Writer;

use super::super::{
    print::visible,
    tables::{markdown_text, trim_zeros},
};
use crate::{
    app::leaderboard::{
        compare::{BoardComparison, BoardKey, Comparison, ModelMove, Note},
        csv::text_cell,
    },
    cli::CompareFormat,
};

/// The columns of the CSV, in their order: a contract.
const COLUMNS: [&str; 14] = [
    "category",
    "group",
    "style_control",
    "model",
    "found",
    "rank_before",
    "rank_after",
    "places_gained",
    "rating_before",
    "rating_after",
    "difference",
    "difference_lower",
    "difference_upper",
    "is_certain",
];

/// A comparison in the asked-for form.
///
/// # Errors
///
/// When it cannot be written as JSON or CSV, which does not happen for numbers that are finite.
pub(super) fn comparison(comparison: &Comparison, format: CompareFormat) -> anyhow::Result<String> {
    match format {
        CompareFormat::Json => Ok(format!("{}\n", serde_json::to_string_pretty(comparison)?)),
        CompareFormat::Csv => csv(comparison),
        CompareFormat::Table => Ok(text(comparison, false)),
        CompareFormat::Markdown => Ok(text(comparison, true)),
    }
}

/// What limits a comparison, a line each: what CSV has no room for.
pub(super) fn unsaid(comparison: &Comparison) -> Vec<String> {
    let all = comparison.notes.iter().map(|note| note.detail.clone());
    let own = comparison.boards.iter().flat_map(|board| {
        let notes = board.notes.iter();
        notes.map(|note| format!("{}: {}", board.key, note.detail))
    });
    all.chain(own).map(|line| visible(&line)).collect()
}

fn csv(comparison: &Comparison) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for board in &comparison.boards {
        let style = optional(board.key.style_control);
        let start = [
            text_cell(&board.key.category),
            board.key.group.to_string(),
            style,
        ];
        for row in &board.models {
            let cells = [
                text_cell(&row.model),
                "both".to_owned(),
                optional(row.rank_before),
                optional(row.rank_after),
                optional(row.places_gained),
                row.rating_before.to_string(),
                row.rating_after.to_string(),
                row.difference.to_string(),
                optional(row.difference_lower),
                optional(row.difference_upper),
                optional(row.is_certain),
            ];
            writer.write_record(start.iter().chain(&cells))?;
        }
        for (found, models) in [
            ("provisional", &board.provisional),
            ("only_before", &board.only_before),
            ("only_after", &board.only_after),
        ] {
            for model in models {
                let mut cells = vec![text_cell(model), found.to_owned()];
                cells.resize(COLUMNS.len() - start.len(), String::new());
                writer.write_record(start.iter().chain(&cells))?;
            }
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn text(comparison: &Comparison, is_markdown: bool) -> String {
    let plain = |text: &str| {
        if is_markdown {
            markdown_text(&visible(text))
        } else {
            visible(text)
        }
    };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "Before: {}. After: {}.",
        plain(&comparison.before.path),
        plain(&comparison.after.path)
    );
    for board in &comparison.boards {
        let (start, end) = if is_markdown { ("## ", "\n") } else { ("", "") };
        let models = if board.common_models == 1 {
            "model"
        } else {
            "models"
        };
        let _ = writeln!(
            text,
            "\n{start}{}: {} {models} rated on both{end}",
            plain(&board.key.to_string()),
            board.common_models
        );
        if !board.models.is_empty() {
            if is_markdown {
                markdown_table(&mut text, board, comparison.level);
            } else {
                let _ = writeln!(text, "{}", table(board, comparison.level));
            }
        }
        lines(
            &mut text,
            is_markdown,
            statistics(board)
                .into_iter()
                .chain(names(board))
                .map(|line| plain(&line)),
        );
        lines(
            &mut text,
            is_markdown,
            notes(&board.notes).map(|line| plain(&line)),
        );
    }
    let missing = [
        ("only before", &comparison.only_before),
        ("only after", &comparison.only_after),
    ];
    let missing = missing.into_iter().filter(|(_, keys)| !keys.is_empty());
    let missing = missing.map(|(place, keys)| {
        let listed: Vec<String> = keys.iter().map(BoardKey::to_string).collect();
        plain(&format!("boards {place}: {}", listed.join("; ")))
    });
    let last: Vec<String> = missing
        .chain(notes(&comparison.notes).map(|line| plain(&line)))
        .collect();
    if !last.is_empty() {
        text.push('\n');
        lines(&mut text, is_markdown, last.into_iter());
    }
    text
}

fn lines(text: &mut String, is_markdown: bool, lines: impl Iterator<Item = String>) {
    let mut is_first = true;
    for line in lines {
        if is_markdown && is_first && !text.ends_with("\n\n") {
            text.push('\n');
        }
        is_first = false;
        let start = if is_markdown { "- " } else { "" };
        let _ = writeln!(text, "{start}{line}");
    }
}

fn notes(notes: &[Note]) -> impl Iterator<Item = String> {
    notes
        .iter()
        .map(|note| format!("! {}: {}", note.code, note.detail))
}

/// What holds for the two boards as a whole; what cannot be computed is left out.
fn statistics(board: &BoardComparison) -> Vec<String> {
    let three = |name: &str, value: Option<f64>| value.map(|value| format!("{name} {value:.3}"));
    let correlations = [
        three("Kendall tau-b", board.kendall_tau_b),
        three("Spearman rho", board.spearman_rho),
        three("Pearson r", board.pearson_r),
        three("win rates r", board.win_rate_correlation),
    ];
    let share =
        |name: &str, value: Option<f64>| value.map(|value| format!("{name} {:.1}%", 100.0 * value));
    let agreement = [
        share("pairs told apart before", board.separability_before),
        share("after", board.separability_after),
        three("agreement with confidence", board.confidence_agreement),
    ];
    let mean = [board
        .mean_difference
        .map(|mean| format!("mean difference {mean:+.1}"))];
    [&correlations[..], &agreement[..], &mean[..]]
        .into_iter()
        .map(|group| group.iter().flatten().cloned().collect::<Vec<_>>())
        .filter(|group| !group.is_empty())
        .map(|group| group.join(", "))
        .collect()
}

fn names(board: &BoardComparison) -> impl Iterator<Item = String> {
    [
        ("provisional on one of them", &board.provisional),
        ("only before", &board.only_before),
        ("only after", &board.only_after),
    ]
    .into_iter()
    .filter(|(_, models)| !models.is_empty())
    .map(|(what, models)| format!("{what}: {}", models.join(", ")))
}

fn headings(level: f64) -> [String; 7] {
    let level = format!("{}% interval", trim_zeros(&format!("{:.2}", level * 100.0)));
    [
        "Rank",
        "Places",
        "Model",
        "Before",
        "After",
        "Difference",
        &level,
    ]
    .map(ToOwned::to_owned)
}

fn cells(row: &ModelMove) -> [String; 7] {
    let rank = |rank: Option<usize>| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    let places = match row.places_gained {
        Some(0) => "=".to_owned(),
        Some(places) => format!("{places:+}"),
        None => "–".to_owned(),
    };
    let interval = match (row.difference_lower, row.difference_upper) {
        (Some(lower), Some(upper)) => {
            let mark = if row.is_certain == Some(true) {
                " *"
            } else {
                ""
            };
            format!("{lower:+.1} … {upper:+.1}{mark}")
        }
        _ => "not estimable".to_owned(),
    };
    [
        format!("{} → {}", rank(row.rank_before), rank(row.rank_after)),
        places,
        visible(&row.model),
        format!("{:.1}", row.rating_before),
        format!("{:.1}", row.rating_after),
        format!("{:+.1}", row.difference),
        interval,
    ]
}

fn table(board: &BoardComparison, level: f64) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_header(headings(level));
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    for row in &board.models {
        let cells = cells(row).into_iter().enumerate().map(|(idx, cell)| {
            let alignment = if idx == 2 {
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

fn markdown_table(text: &mut String, board: &BoardComparison, level: f64) {
    let _ = writeln!(
        text,
        "| {} |\n|--:|--:|---|--:|--:|--:|--:|",
        headings(level).join(" | ")
    );
    for row in &board.models {
        let cells: Vec<String> = cells(row)
            .into_iter()
            .map(|cell| markdown_text(&cell))
            .collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}
