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

/// All leaderboards of a board. What is null in JSON is empty here; names are as they are.
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
                leaderboard.category.clone(),
                leaderboard.group.to_string(),
                optional(row.rank),
                optional(row.rank_upper),
                optional(row.rank_lower),
                row.model.clone(),
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
                optional(row.note.as_ref()),
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
