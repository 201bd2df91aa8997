//! The report for reading.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _},
};

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::document::{Check, First};
use crate::commands::{cleaning, rank::print::visible};

/// Lines of a list before the rest is only counted.
const LINES_MAX: usize = 20;

/// The report as text.
pub(super) fn table(check: &Check) -> String {
    let mut text = String::new();
    let mut sources = start(&["Source", "Format", "Rows", "Kept", "Times"], &[2, 3]);
    for source in &check.sources {
        sources.add_row([
            Cell::new(visible(&source.path)),
            Cell::new(source.format),
            number(source.rows),
            number(source.kept),
            Cell::new(source.time_unit.unwrap_or("none")),
        ]);
    }
    let _ = writeln!(text, "{sources}");
    for source in &check.sources {
        let path = visible(&source.path);
        for oddity in &source.oddities {
            let _ = writeln!(text, "`{path}`: {oddity}");
        }
        if let Some(earlier) = &source.same_as {
            let earlier = visible(earlier);
            let _ = writeln!(text, "`{path}` holds the same bytes as `{earlier}`");
        }
    }
    for source in &check.sources {
        if !source.columns.is_empty() {
            let columns = visible(&source.columns.join(", "));
            let _ = writeln!(text, "columns of `{}`: {columns}", visible(&source.path));
        }
    }
    for skipped in &check.skipped {
        let _ = writeln!(text, "not read: {}", visible(&skipped.detail));
    }
    for source in &check.unreadable {
        let path = visible(&source.path);
        let _ = writeln!(
            text,
            "cannot be read: `{path}`: {}",
            visible(&source.detail)
        );
    }
    let _ = writeln!(
        text,
        "\n{} of {} rows are votes on {} models",
        check.kept,
        check.rows,
        check.models.len()
    );
    for (winner, n) in &check.winners {
        let _ = writeln!(text, "  {n} {winner}");
    }
    rejected(check, &mut text);
    facts(check, &mut text);
    if let Some(audit) = &check.cleaning {
        cleaning::table(audit, &mut text);
    }
    text
}

fn rejected(check: &Check, text: &mut String) {
    if check.rejected.is_empty() {
        return;
    }
    let mut table = start(&["Rejected", "Rows", "Meaning", "First"], &[1]);
    for rejected in &check.rejected {
        table.add_row([
            Cell::new(rejected.reason),
            number(rejected.rows),
            Cell::new(rejected.meaning),
            Cell::new(visible(&place(&rejected.first))),
        ]);
    }
    let _ = writeln!(text, "\n{table}");
    for rejected in &check.rejected {
        let lists_values = rejected.reason == "winner_unknown" || rejected.reason == "not_a_vote";
        if !lists_values {
            continue;
        }
        let _ = writeln!(text, "{}:", rejected.meaning);
        for (value, n) in &rejected.values {
            let _ = writeln!(text, "  {n} `{}`", visible(value));
        }
        if rejected.other_values > 0 {
            let _ = writeln!(text, "  {} others", rejected.other_values);
        }
    }
}

fn facts(check: &Check, text: &mut String) {
    text.push('\n');
    let _ = match &check.times {
        Some(times) => writeln!(
            text,
            "times: {} to {}; {} rows without",
            times.first.as_deref().unwrap_or("before all years"),
            times.last.as_deref().unwrap_or("after all years"),
            times.missing
        ),
        None => writeln!(text, "times: none"),
    };
    let _ = match &check.judges {
        Some(judges) => writeln!(
            text,
            "judges: {}, of whom one voted {} times; {} rows without",
            judges.judges, judges.most_votes, judges.missing
        ),
        None => writeln!(text, "judges: none"),
    };
    let _ = match &check.languages {
        Some(languages) => {
            let mut rows: Vec<_> = languages.rows.iter().collect();
            rows.sort_by_key(|&(label, &n)| (std::cmp::Reverse(n), label));
            let shown: Vec<String> = rows
                .iter()
                .take(LINES_MAX)
                .map(|(label, n)| format!("{} {n}", visible(label)))
                .collect();
            let more = rows.len().saturating_sub(LINES_MAX);
            let more = if more > 0 {
                format!(", {more} others")
            } else {
                String::new()
            };
            writeln!(
                text,
                "languages: {}{more}; {} rows without",
                shown.join(", "),
                languages.missing
            )
        }
        None => writeln!(text, "languages: none"),
    };
    let _ = match check.repeated_ids {
        Some(0) => writeln!(text, "ids: no id occurs twice"),
        Some(n) => writeln!(text, "ids: {n} rows repeat the id of an earlier row"),
        None => writeln!(text, "ids: none"),
    };
    if check.named > 0 {
        let _ = writeln!(
            text,
            "{} rows come from battles whose voter knew the names",
            check.named
        );
    }
    if check.strong > 0 {
        let _ = writeln!(
            text,
            "{} verdicts are strong; each counts as one win",
            check.strong
        );
    }
    if let Some(aliases) = &check.aliases {
        let _ = writeln!(
            text,
            "aliases of version {}: {} rows with a model that is counted under another name",
            visible(&aliases.version),
            aliases.renamed_rows
        );
    }
    for group in &check.near_duplicates {
        let _ = writeln!(
            text,
            "model names that are nearly the same are kept apart: {}",
            visible(&group.join(", "))
        );
    }
}

fn place(first: &First) -> String {
    let mut text = format!("{}, row {}", first.source, first.row);
    if let Some(line) = first.line {
        let _ = write!(text, " (line {line})");
    }
    if let Some(column) = &first.column {
        let _ = write!(text, ", column {column}");
    }
    if let Some(value) = &first.value {
        let _ = write!(text, ": `{value}`");
    }
    text
}

fn start(headings: &[&str], numeric: &[usize]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_header(headings.iter().enumerate().map(|(idx, heading)| {
            let heading = Cell::new(heading);
            if numeric.contains(&idx) {
                heading.set_alignment(CellAlignment::Right)
            } else {
                heading
            }
        }));
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

fn number(n: u64) -> Cell {
    Cell::new(n).set_alignment(CellAlignment::Right)
}
