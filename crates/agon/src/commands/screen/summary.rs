//! What a screening came to: `screening.json`, the card, and the text for people.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::Path,
};

use agon_dataset::{InputReport, ScreenedSummary};
use agon_domain::{FindingKind, Purpose};
use serde_json::{Value, json};

use super::dataset::hexadecimal;
use crate::{
    app::screening::{Screener, Standing, dataset::Tally},
    cli::{GlobalArgs, RedactBy, ScreenArgs},
    exit_code::CommandError,
};

/// Categories that are listed in the text for people.
const CATEGORIES_SHOWN_MAX: usize = 20;

/// A screening that is done.
pub(super) struct Screened<'a> {
    pub(super) tally: &'a Tally,
    pub(super) report: &'a InputReport,
    pub(super) screener: &'a Screener,
    pub(super) args: &'a ScreenArgs,
    /// Rows that an interrupted run had done.
    pub(super) n_resumed: u64,
    pub(super) aliases: Option<Value>,
    /// In RFC 3339.
    pub(super) created_at: String,
}

impl Screened<'_> {
    fn with(&self, standing: Standing) -> Vec<FindingKind> {
        self.screener
            .coverage()
            .with(Purpose::Release, standing)
            .collect()
    }

    /// Everything that can be said without content.
    pub(super) fn facts(&self) -> BTreeMap<&'static str, Value> {
        let sources: Vec<Value> = self
            .report
            .sources
            .iter()
            .map(|source| {
                let name = Path::new(&source.path).file_name();
                json!({
                    "name": name.map(|name| name.to_string_lossy()),
                    "format": source.format.as_str(),
                    "rows": source.rows,
                    "kept": source.kept,
                    "sha256": source.sha256,
                })
            })
            .collect();
        let rejected: BTreeMap<&str, u64> = self
            .report
            .rejected
            .iter()
            .map(|(reason, rows)| (reason.as_str(), rows.count))
            .collect();
        let coverage: Vec<Value> = self
            .screener
            .coverage()
            .kinds
            .iter()
            .map(|kind| {
                let by: Vec<String> = kind.by.iter().map(ToString::to_string).collect();
                json!({
                    "kind": kind.kind.as_str(),
                    "action": kind.release_action.as_str(),
                    "standing": kind.release.as_str(),
                    "by": by,
                })
            })
            .collect();
        let spelled = |kinds: Vec<FindingKind>| -> Vec<&str> {
            kinds.into_iter().map(FindingKind::as_str).collect()
        };
        let mut facts = BTreeMap::from([
            ("agon_version", json!(env!("CARGO_PKG_VERSION"))),
            ("created_at", json!(self.created_at)),
            ("purpose", json!(Purpose::Release.as_str())),
            (
                "rules",
                json!(hexadecimal(&self.screener.rules(Purpose::Release))),
            ),
            ("redaction", json!(redaction(self.args.redact))),
            (
                "allows_unanswered",
                json!(self.screener.policy(Purpose::Release).allows_unanswered()),
            ),
            ("sources", json!(sources)),
            ("rejected", json!(rejected)),
            ("summary", json!(self.tally)),
            ("coverage", json!(coverage)),
            ("missing", json!(spelled(self.with(Standing::Missing)))),
            (
                "not_looked_for",
                json!(spelled(
                    self.screener.coverage().unseen(Purpose::Release).collect()
                )),
            ),
        ]);
        if let Some(aliases) = &self.aliases {
            facts.insert("aliases", aliases.clone());
        }
        facts
    }
}

const fn redaction(redact: RedactBy) -> &'static str {
    match redact {
        RedactBy::Mask => "mask",
        RedactBy::Replace => "replace",
        RedactBy::Pseudonymise => "pseudonymise",
        RedactBy::Drop => "drop",
    }
}

/// The card of the folder, which names its two tables to readers.
pub(super) fn card(screened: &Screened<'_>, facts: &BTreeMap<&'static str, Value>) -> String {
    let mut card = String::from(
        "---\nconfigs:\n- config_name: default\n  data_files: data/*.parquet\n- config_name: findings\n  data_files: findings/*.parquet\n---\n\n# Screened dataset\n\n`data/` holds the rows that may be published, without what was taken out of them.\n`findings/` holds where what was found, without content.\n`screening.json` holds the counts below for programs.\n\nDetectors miss some of what they look for: read samples before you publish anything.\n\n",
    );
    if facts["allows_unanswered"] == true {
        card.push_str(
            "Content was let through although nobody looked for something that is required.\n\n",
        );
    }
    card.push_str("```text\n");
    card.push_str(&text(screened));
    card.push_str("```\n");
    card
}

/// The counts for people.
fn text(screened: &Screened<'_>) -> String {
    let tally = screened.tally;
    let mut text = format!(
        "{} of {} rows may be published, {} of them without what was found\n",
        tally.rows_published, tally.rows, tally.rows_changed
    );
    if screened.n_resumed > 0 {
        text.push_str(&format!(
            "{} rows were done by a run that was interrupted\n",
            screened.n_resumed
        ));
    }
    for (reason, rows) in &screened.report.rejected {
        text.push_str(&format!(
            "  {} not read as rows: {}\n",
            rows.count,
            reason.description()
        ));
    }
    for (reason, n) in &tally.rows_left_out {
        text.push_str(&format!("  {n} left out: {reason}\n"));
    }
    text.push_str(&format!(
        "texts: {} looked at, {} changed; pictures: {} looked at, {} changed, {} unreadable, {} without bytes\n",
        tally.texts.screened,
        tally.texts.changed,
        tally.pictures.screened,
        tally.pictures.changed,
        tally.pictures_unreadable,
        tally.pictures_missing
    ));
    for (column, n) in &tally.columns_changed {
        text.push_str(&format!("`{column}` replaced in {n} rows\n"));
    }
    text.push_str("kind            what follows   found   unanswered   looked for by\n");
    for kind in &screened.screener.coverage().kinds {
        let by: Vec<String> = kind.by.iter().map(ToString::to_string).collect();
        let by = match kind.release {
            Standing::Covered => by.join(", "),
            Standing::Missing => "nobody, and that is required".to_owned(),
            Standing::NotInstalled => "nobody".to_owned(),
            Standing::SwitchedOff => "nobody: switched off".to_owned(),
        };
        let count =
            |counts: &BTreeMap<String, u64>| counts.get(kind.kind.as_str()).copied().unwrap_or(0);
        text.push_str(&format!(
            "{:<15} {:<12} {:>7}   {:>10}   {by}\n",
            kind.kind.as_str(),
            kind.release_action.as_str(),
            count(&tally.findings),
            count(&tally.unanswered),
        ));
    }
    let mut categories: Vec<(&String, &u64)> = tally.categories.iter().collect();
    categories.sort_by_key(|&(name, n)| (std::cmp::Reverse(*n), name));
    let n_more = categories.len().saturating_sub(CATEGORIES_SHOWN_MAX);
    categories.truncate(CATEGORIES_SHOWN_MAX);
    if !categories.is_empty() {
        let shown: Vec<String> = categories
            .into_iter()
            .map(|(name, n)| format!("{name} {n}"))
            .collect();
        text.push_str(&format!("found: {}", shown.join(", ")));
        if n_more > 0 {
            text.push_str(&format!(" and {n_more} more"));
        }
        text.push('\n');
    }
    for (why, detectors) in &tally.failures {
        for (detector, n) in detectors {
            text.push_str(&format!("no answer {n} times: {detector}, {why}\n"));
        }
    }
    text
}

/// Prints what became of a dataset.
pub(super) fn print(
    global: &GlobalArgs,
    screened: &Screened<'_>,
    facts: &BTreeMap<&'static str, Value>,
    written: &ScreenedSummary,
) -> Result<(), CommandError> {
    let text = if global.json {
        let mut document = json!(facts);
        document["folder"] = json!(written.folder);
        document["rows"] = json!(written.n_rows);
        document["findings"] = json!(written.n_findings);
        document["rows_resumed"] = json!(screened.n_resumed);
        document["files"] = json!(written.files);
        format!("{document:#}\n")
    } else if global.quiet {
        String::new()
    } else {
        format!(
            "{}written to {}\n",
            text(screened),
            written.folder.display()
        )
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
