//! What cleaning found, for reading, and the reading of rows for it.

use std::{fmt::Write as _, ops::ControlFlow};

use agon_dataset::{
    ConversationSelection, Error, Input, Progress as Step, ReadOptions,
    clean::{Cleaned, MixedTimeUnits, Profile},
    read_conversations,
};
use comfy_table::{Cell, CellAlignment, Table, presets};

use super::rank::read::refused;
use crate::{
    app::{
        import::clean::{AuditBody, RowCleaner, RuleBody},
        leaderboard::Threads,
    },
    exit_code::CommandError,
};

/// Reads all rows with their conversations, and judges each that is a vote, in the order in which other readers keep them.
///
/// The bytes of pictures are not read: a picture is told by its name in the source.
///
/// # Errors
///
/// Exit code 3 for an input that cannot be read, and for times in more than one unit.
pub(super) fn clean(
    inputs: Vec<Input>,
    options: &ReadOptions<'_>,
    profile: &Profile,
    n_threads: Threads,
    on_progress: &mut dyn FnMut(Step<'_>),
) -> Result<Cleaned, CommandError> {
    let options = ReadOptions {
        rejects: None,
        checksums: false,
        repeated_ids: false,
        ..*options
    };
    let mut cleaner = RowCleaner::new(profile.clone(), n_threads);
    let mut mixed: Option<MixedTimeUnits> = None;
    let mut on_rows = |rows: Vec<_>| match cleaner.add(&rows) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            mixed = Some(error);
            ControlFlow::Break(())
        }
    };
    read_conversations(
        inputs,
        &options,
        &ConversationSelection::default(),
        &mut on_rows,
        on_progress,
    )
    .map_err(|error: Error| refused(error))?;
    match mixed {
        Some(error) => Err(CommandError::input_refused(error)),
        None => Ok(cleaner.finish()),
    }
}

/// The counts as text.
pub(super) fn table(audit: &AuditBody, text: &mut String) {
    let _ = writeln!(
        text,
        "\ncleaning by {}: {} of {} rows are kept, {} flagged as excluded",
        audit.profile,
        audit.kept,
        audit.rows,
        audit.rows - audit.kept
    );
    let number = |n: u64| Cell::new(n).set_alignment(CellAlignment::Right);
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_header(["Rule", "First", "All", "Meaning"].map(Cell::new));
    for rule in &audit.rules {
        table.add_row([
            Cell::new(rule.rule),
            number(rule.first),
            number(rule.total),
            Cell::new(rule.meaning),
        ]);
    }
    let _ = writeln!(text, "{table}");
    for RuleBody {
        rule,
        meaning,
        total,
        ..
    } in &audit.notes
    {
        let _ = writeln!(text, "  {total} noted and kept: {rule}, {meaning}");
    }
    for (n, what) in [
        (
            audit.anonymity_unknown,
            "do not say whether the names were hidden, and are taken to have hidden them",
        ),
        (
            audit.without_conversations,
            "have no conversations, so that rules about messages do not see them",
        ),
        (
            audit.without_identity,
            "have answers on which no identity annotator has run",
        ),
        (
            audit.uncapped,
            "escape the daily cap, as judge or time is missing",
        ),
        (
            audit.bad_times,
            "have a time that is none, which counts as missing",
        ),
    ] {
        if n > 0 {
            let _ = writeln!(text, "  {n} rows {what}");
        }
    }
}
