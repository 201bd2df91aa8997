//! Votes from the store: `agon rank --store`.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use agon_dataset::{Aliases, InputReport};
use agon_store::Store;
use anyhow::{Context as _, anyhow};

use crate::{
    app::{
        import::stored::{StoreSelection, UNFINISHED, stored_votes},
        leaderboard::{InputBody, Settings, Votes},
    },
    cli::{
        GlobalArgs,
        rank::{InputArgs, StoreVotes},
    },
    commands::serve::load_config,
    exit_code::CommandError,
};

/// Reads the votes of the arena in the data folder.
///
/// # Errors
///
/// Exit code 2 for what votes of a store do not have, 3 where there is no arena.
pub(super) fn read(
    global: &GlobalArgs,
    args: &InputArgs,
    which: StoreVotes,
    settings: &Settings,
    aliases: Option<&Aliases>,
) -> Result<(Votes, InputReport, InputBody), CommandError> {
    if let Some(column) = settings
        .weights
        .as_ref()
        .and_then(|weights| weights.column())
    {
        return Err(CommandError::usage(anyhow!(
            "votes of the store have no column `{column}` with weights"
        )));
    }
    let selection = StoreSelection {
        live: which != StoreVotes::Imported,
        imported: which != StoreVotes::Live,
        source: args.source.clone(),
        keep_flagged: args.keep_flagged,
        aliases: aliases.cloned(),
    };
    let config = load_config(global)?;
    let folder = &config.data_dir;
    if !folder.join("agon.db").is_file() {
        return Err(CommandError::input_refused(anyhow!(
            "there is no arena in `{}`",
            folder.display()
        ))
        .with_hint("name its data folder with --data-dir"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let stored = runtime.block_on(async {
        let store = Store::open(folder)
            .await
            .with_context(|| format!("cannot open the data folder `{}`", folder.display()))?;
        let stored = stored_votes(&store, &selection, settings).await?;
        store.close().await;
        Ok::<_, CommandError>(stored)
    })?;
    let report = InputReport {
        rows: stored.input.rows,
        kept: stored.input.kept,
        n_renamed: stored.n_renamed,
        ..InputReport::default()
    };
    Ok((stored.votes, report, stored.input))
}

/// Says on standard error which votes cleaning leaves out, by rule; those that reading rejects are told by the report.
///
/// # Errors
///
/// When standard error is gone.
pub(super) fn left_out(input: &InputBody, report: &InputReport) -> io::Result<()> {
    let is_rejected = |code: &str| report.rejected.keys().any(|reason| reason.as_str() == code);
    let rules: Vec<_> = input
        .dropped
        .iter()
        .filter(|(code, _)| !is_rejected(code) && *code != UNFINISHED)
        .collect();
    let n: u64 = rules.iter().map(|(_, n)| **n).sum();
    let mut text = String::new();
    if n > 0 {
        let _ = writeln!(
            text,
            "{n} of {} votes are left out by cleaning:",
            input.rows
        );
    }
    for (rule, n) in rules {
        let _ = writeln!(text, "  {n} {rule}");
    }
    if let Some(n) = input.dropped.get(UNFINISHED) {
        let _ = writeln!(
            text,
            "{n} of {} votes are left out as their import is not finished",
            input.rows
        );
    }
    io::stderr().write_all(text.as_bytes())
}
