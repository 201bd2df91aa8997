//! Reading votes: counts where they are enough, rows where the settings need more.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    num::NonZeroUsize,
    path::Path,
    sync::{Mutex, PoisonError},
};

use agon_dataset::{
    Aliases, Battles, Dedup, Error, FeatureRequest, Input, InputReport, Progress as Step,
    ReadOptions, RejectedRow, Selection, read_battles, read_votes,
};
use agon_remote::Remote;
use anyhow::Context as _;

use crate::{
    app::{
        import::answer_style,
        leaderboard::{Method, Settings, Votes, slices},
    },
    cli::rank::{DedupBy, RankArgs},
    commands::{
        progress::{self, Progress},
        rank::inputs,
    },
    exit_code::CommandError,
};

/// Reads all votes.
///
/// # Errors
///
/// Exit code 3 for an input that cannot be read, or has a rejected row under `--strict`.
pub(super) fn read(
    args: &RankArgs,
    settings: &Settings,
    aliases: Option<&Aliases>,
    n_threads: NonZeroUsize,
    quiet: bool,
) -> Result<(Votes, InputReport), CommandError> {
    let rejects = args
        .input
        .rejects
        .as_deref()
        .map(Rejects::create)
        .transpose()?;
    let on_reject = |row: &RejectedRow| {
        if let Some(rejects) = &rejects {
            rejects.write(row);
        }
    };
    let options = ReadOptions {
        strict: args.input.strict,
        // Behind an address the ids would travel for this count alone, and they are most of what does.
        repeated_ids: !args.inputs.iter().any(|input| Remote::is_address(input)),
        checksums: true,
        n_threads_max: n_threads.get(),
        unpack: args.input.unpack.limits(),
        dedup: dedup(args),
        aliases,
        rejects: rejects
            .is_some()
            .then_some(&on_reject as &(dyn Fn(&RejectedRow) + Sync)),
        ..ReadOptions::default()
    };
    let mut progress = Progress::new(quiet, progress::BYTES);
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
    let read = inputs::inputs(&args.inputs).and_then(|inputs| {
        // Rows that are left out by their number have to be there as rows.
        if settings.needs_rows() || args.input.clean.is_some() {
            rows(settings, inputs, &options, &mut on_progress)
                .map(|(battles, report)| (Votes::Rows(Box::new(battles)), report))
        } else {
            read_votes(inputs, &options, &mut on_progress)
                .map(|votes| (Votes::Counted(votes.tally), votes.report))
        }
    });
    progress.finish();
    if let Some(rejects) = &rejects {
        rejects.finish()?;
    }
    read.map_err(refused)
}

/// Which rows count as repeated.
pub(super) fn dedup(args: &RankArgs) -> Option<Dedup> {
    args.input.dedup.map(|by| match by {
        DedupBy::Id => Dedup::Id,
        DedupBy::Content => Dedup::Content,
    })
}

/// Reads rows with the columns that the settings need.
fn rows(
    settings: &Settings,
    inputs: Vec<Input>,
    options: &ReadOptions<'_>,
    on_progress: &mut dyn FnMut(Step<'_>),
) -> Result<(Battles, InputReport), Error> {
    let selection = Selection {
        features: settings
            .style
            .iter()
            .flat_map(|style| {
                style.features.iter().map(|name| FeatureRequest {
                    name: name.clone(),
                    difference: style.difference.function(),
                })
            })
            .collect(),
        slices: slices::columns(settings),
        optional_slices: false,
        judge: settings.interval.needs_judges(),
        time: slices::needs_times(settings) || settings.method == Method::Elo,
        weight: settings
            .weights
            .as_ref()
            .and_then(|weights| weights.column())
            .map(ToOwned::to_owned),
        conversation_features: Some(&answer_style),
    };
    read_battles(inputs, options, &selection, on_progress)
}

/// A file of rejected rows, one JSON object a line.
pub(in crate::commands) struct Rejects {
    path: std::path::PathBuf,
    state: Mutex<RejectsState>,
}

struct RejectsState {
    file: BufWriter<File>,
    /// The first write that failed; no more are tried.
    error: Option<std::io::Error>,
}

impl Rejects {
    pub(in crate::commands) fn create(path: &Path) -> Result<Self, CommandError> {
        let file =
            File::create(path).with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(RejectsState {
                file: BufWriter::new(file),
                error: None,
            }),
        })
    }

    pub(in crate::commands) fn write(&self, row: &RejectedRow) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.error.is_some() {
            return;
        }
        let line = serde_json::json!({
            "source": row.place.source,
            "row": row.place.row,
            "reason": row.reason.as_str(),
            "value": row.place.value,
        });
        if let Err(error) = writeln!(state.file, "{line}") {
            state.error = Some(error);
        }
    }

    pub(in crate::commands) fn finish(&self) -> Result<(), CommandError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match state.error.take() {
            Some(error) => Err(error),
            None => state.file.flush(),
        };
        written.with_context(|| format!("cannot write `{}`", self.path.display()))?;
        Ok(())
    }
}

pub(in crate::commands) fn refused(error: Error) -> CommandError {
    // A path or an address that leads nowhere is the caller's; a disk or a network that fails is not.
    let is_machine = matches!(
        &error,
        Error::Read { source, .. } if !matches!(
            source.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::InvalidInput
        )
    );
    let is_row = matches!(error, Error::RowRejected { .. });
    let error = if is_machine {
        CommandError::from(error)
    } else {
        CommandError::input_refused(error)
    };
    if is_row {
        error.with_hint("without --strict such rows are left out and counted")
    } else {
        error
    }
}
