//! Leaderboards as CSV: one row a model, the same for `agon rank --format csv` and for the page's download.

use ::csv::Writer;

use crate::app::leaderboard::Board;

/// The columns, in their order: a contract; new ones come last.
pub const COLUMNS: [&str; 21] = [
    "category",
    "group",
    "rank",
    "rank_upper",
    "rank_lower",
    "model",
    "rating",
    "rating_lower",
    "rating_upper",
    "battles",
    "wins",
    "losses",
    "ties",
    "both_bad",
    "status",
    "reason",
    "votes_needed",
    "note",
    "style_control",
    "method",
    "rank_change",
];

/// A cell of text. A spreadsheet takes one that begins like a formula for one, and runs it: such a text gets an apostrophe before it, unless it is a number.
pub fn text_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{1b}']);
    if is_formula && text.parse::<f64>().is_err() {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

/// All leaderboards of a board. What is null in JSON is empty here; names are as they are, but for those that [`text_cell`] makes harmless.
///
/// # Errors
///
/// None in practice: the rows are written to memory and have one length.
pub fn write(board: &Board) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for leaderboard in &board.leaderboards {
        for row in &leaderboard.models {
            writer.write_record([
                text_cell(&leaderboard.category),
                leaderboard.group.to_string(),
                optional(row.rank),
                optional(row.rank_upper),
                optional(row.rank_lower),
                text_cell(&row.model),
                row.rating.to_string(),
                optional(row.rating_lower),
                optional(row.rating_upper),
                row.battles.to_string(),
                row.wins.to_string(),
                row.losses.to_string(),
                row.ties.to_string(),
                row.both_bad.to_string(),
                row.status.clone(),
                optional(row.reason.as_ref()),
                optional(row.votes_needed),
                text_cell(row.note.as_deref().unwrap_or_default()),
                leaderboard.style_control.to_string(),
                leaderboard.method.clone(),
                optional(row.rank_change),
            ])?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::text_cell;

    #[test]
    fn what_a_spreadsheet_would_run_is_text_and_numbers_stay_numbers() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\u{1b}[31m", "'\u{1b}[31m"),
            ("-12.5", "-12.5"),
            ("+3e2", "+3e2"),
            ("gpt-4o", "gpt-4o"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(text_cell(text), expected);
        }
    }
}
