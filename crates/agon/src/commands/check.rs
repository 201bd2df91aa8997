//! `agon check`: what an input is, what of it would be ranked, and what would not.

use std::{
    io::{self, Write as _},
    num::NonZeroUsize,
    path::Path,
    thread,
};

use agon_dataset::{
    Battles, Error, Input, InputReport, Progress as Step, ReadOptions, RejectedRow, Selection,
    read_battles,
};
use agon_remote::Remote;
use anyhow::anyhow;

use super::{
    aliases::AliasTable,
    cleaning, outputs,
    progress::{self, Progress},
    rank::read::{Rejects, refused},
};
use crate::{
    app::import::clean::AuditBody,
    cli::{CheckArgs, GlobalArgs},
    exit_code::CommandError,
};

mod document;
mod print;
mod sources;

use document::Check;
use sources::{Sources, Unreadable};

/// Reads votes and reports on them.
///
/// # Errors
///
/// Exit code 3 for an input that cannot be read, after all others are reported on, or that has no battles, and under `--strict` for one with a row that is rejected for a fault.
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
    // What leads nowhere is told of with all that cannot be read.
    let leads_somewhere = |input: &&String| {
        Remote::is_address(input) || Input::from_argument(input).local_files().is_ok()
    };
    let inputs: Vec<String> = args
        .inputs
        .iter()
        .filter(leads_somewhere)
        .cloned()
        .collect();
    outputs::check(&outputs, &inputs, &read_besides)?;
    let aliases = args.aliases.as_deref();
    let aliases = aliases.map(AliasTable::read).transpose()?;
    let options = ReadOptions {
        repeated_ids: true,
        checksums: true,
        unpack: args.unpack.limits(),
        n_threads_max: n_threads.get(),
        aliases: aliases.as_ref().map(|table| &table.aliases),
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
    let mut sources = Sources::new(&args.inputs, args.clean.is_some())?;
    let rejects = args.rejects.as_deref();
    let mut unreadable = Vec::new();
    let mut read = read(&sources, &options, &selection, rejects, &mut on_progress)?;
    if read.is_err() && sources.is_many() {
        unreadable = sources.take_out_unreadable(&options, &selection, &mut on_progress);
        if !unreadable.is_empty() && !sources.is_empty() {
            read = self::read(&sources, &options, &selection, rejects, &mut on_progress)?;
        }
    }
    let cleaned = match &args.clean {
        Some(profile) if read.is_ok() => {
            let inputs = sources.inputs().map_err(refused)?;
            let cleaned = cleaning::clean(inputs, &options, profile, n_threads, &mut on_progress)?;
            Some(cleaned)
        }
        _ => None,
    };
    progress.finish();
    let (battles, report) = read.map_err(|error| with_unreadable(refused(error), &unreadable))?;
    let aliases = aliases.map(|table| table.body(report.n_renamed));
    let check = Check {
        cleaning: cleaned.map(|cleaned| AuditBody::from(&cleaned.audit)),
        ..Check::new(&battles, &report, aliases, unreadable.clone())
    };
    let text = if global.json {
        format!("{}\n", serde_json::to_string_pretty(&check)?)
    } else {
        print::table(&check)
    };
    io::stdout().write_all(text.as_bytes())?;
    if !unreadable.is_empty() {
        let error = anyhow!(
            "{} {} cannot be read",
            unreadable.len(),
            if unreadable.len() == 1 {
                "source"
            } else {
                "sources"
            }
        );
        return Err(with_unreadable(
            CommandError::input_refused(error),
            &unreadable,
        ));
    }
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

/// Reads all that is left of the sources, and writes what is rejected.
fn read(
    sources: &Sources,
    options: &ReadOptions<'_>,
    selection: &Selection<'_>,
    rejects: Option<&Path>,
    on_progress: &mut dyn FnMut(Step<'_>),
) -> Result<Result<(Battles, InputReport), Error>, CommandError> {
    let rejects = rejects.map(Rejects::create).transpose()?;
    let on_reject = |row: &RejectedRow| {
        if let Some(rejects) = &rejects {
            rejects.write(row);
        }
    };
    let options = ReadOptions {
        rejects: rejects
            .is_some()
            .then_some(&on_reject as &(dyn Fn(&RejectedRow) + Sync)),
        ..*options
    };
    let read = sources
        .inputs()
        .and_then(|inputs| read_battles(inputs, &options, selection, on_progress));
    if let Some(rejects) = &rejects {
        rejects.finish()?;
    }
    Ok(read)
}

/// The error with a line for each source that cannot be read.
fn with_unreadable(error: CommandError, unreadable: &[Unreadable]) -> CommandError {
    unreadable.iter().fold(error, |error, source| {
        error.with_hint(format!("`{}`: {}", source.path, source.detail))
    })
}
