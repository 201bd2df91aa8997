//! `agon check`: what an input is, what of it would be ranked, and what would not.

use std::{
    io::{self, Write as _},
    num::NonZeroUsize,
    thread,
};

use agon_dataset::{Progress as Step, ReadOptions, RejectedRow, Selection, read_battles};
use anyhow::anyhow;

use super::{
    aliases::AliasTable,
    outputs,
    progress::{self, Progress},
    rank::{
        inputs,
        read::{Rejects, refused},
    },
};
use crate::{
    cli::{CheckArgs, GlobalArgs},
    exit_code::CommandError,
};

mod document;
mod print;

use document::Check;

/// Reads votes and reports on them.
///
/// # Errors
///
/// Exit code 3 for an input that cannot be read or has no battles, and under `--strict` for one with a row that is rejected for a fault.
pub fn run(global: &GlobalArgs, args: &CheckArgs) -> Result<(), CommandError> {
    let n_threads = args
        .threads
        .or_else(|| thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let outputs: Vec<outputs::Named<'_>> = args
        .rejects
        .iter()
        .map(|path| ("--rejects", &**path))
        .collect();
    let read_besides: Vec<outputs::Named<'_>> = args
        .aliases
        .iter()
        .map(|path| ("--aliases", &**path))
        .collect();
    outputs::check(&outputs, &args.inputs, &read_besides)?;
    let aliases = args.aliases.as_deref();
    let aliases = aliases.map(AliasTable::read).transpose()?;
    let rejects = args.rejects.as_deref().map(Rejects::create).transpose()?;
    let on_reject = |row: &RejectedRow| {
        if let Some(rejects) = &rejects {
            rejects.write(row);
        }
    };
    let options = ReadOptions {
        repeated_ids: true,
        checksums: true,
        n_threads_max: n_threads.get(),
        aliases: aliases.as_ref().map(|table| &table.aliases),
        rejects: rejects
            .is_some()
            .then_some(&on_reject as &(dyn Fn(&RejectedRow) + Sync)),
        ..ReadOptions::default()
    };
    let selection = Selection {
        slices: vec!["language".to_owned()],
        optional_slices: true,
        judge: true,
        time: true,
        ..Selection::default()
    };
    let mut progress = Progress::new(global.quiet, progress::BYTES);
    let mut on_progress = |step: Step<'_>| {
        progress.show(step.bytes_read, step.bytes_total, || {
            format!(
                "[{}/{}] {} rows",
                step.source_idx + 1,
                step.n_sources,
                step.rows
            )
        });
    };
    let read = inputs::inputs(&args.inputs)
        .and_then(|inputs| read_battles(inputs, &options, &selection, &mut on_progress));
    progress.finish();
    if let Some(rejects) = &rejects {
        rejects.finish()?;
    }
    let (battles, report) = read.map_err(refused)?;
    let aliases = aliases.map(|table| table.body(report.n_renamed));
    let check = Check::new(&battles, &report, aliases);
    let text = if global.json {
        format!("{}\n", serde_json::to_string_pretty(&check)?)
    } else {
        print::table(&check)
    };
    io::stdout().write_all(text.as_bytes())?;
    if report.kept == 0 {
        return Err(CommandError::input_refused(anyhow!("there are no battles")));
    }
    let n_faults = check.n_faults();
    if args.strict && n_faults > 0 {
        let error = anyhow!("{n_faults} of {} rows are rejected", report.rows);
        return Err(CommandError::input_refused(error));
    }
    Ok(())
}
