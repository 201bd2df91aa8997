//! The summary for reading.

use std::fmt::Write as _;

use super::document::Import;
use crate::commands::{cleaning, rank::print::visible};

/// The summary as text.
pub(super) fn table(import: &Import) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} of {} rows are battles of the source `{}` now{}",
        import.kept,
        import.rows,
        visible(&import.source_name),
        if import.resumed > 0 {
            format!(
                "; {} of them had been stored before an interruption",
                import.resumed
            )
        } else {
            String::new()
        }
    );
    for (reason, n) in &import.rejected {
        let first = import
            .rejected_first
            .get(reason)
            .map(|first| format!("; the first: {}", visible(first)))
            .unwrap_or_default();
        let _ = writeln!(text, "  {n} rejected: {reason}{first}");
    }
    if import.damaged > 0 {
        let _ = writeln!(
            text,
            "{} rows are kept of which something but the vote cannot be read",
            import.damaged
        );
    }
    let _ = writeln!(text, "{} images", import.images);
    for (problem, n) in &import.image_problems {
        let _ = writeln!(text, "  {n} not there: {problem}");
    }
    for skipped in &import.skipped {
        let _ = writeln!(text, "not read: {}", visible(&skipped.detail));
    }
    if let Some(aliases) = &import.aliases {
        let _ = writeln!(
            text,
            "aliases of version {}: {} rows with a model that is counted under another name",
            visible(&aliases.version),
            aliases.renamed_rows
        );
    }
    if let Some(audit) = &import.cleaning {
        cleaning::table(audit, &mut text);
    }
    let _ = writeln!(text, "The leaderboard: agon rank --store imported");
    text
}
