//! Rows in, the rows that may be published and all findings out.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use agon_content::image::ImageLimits;
use agon_dataset::{
    ConversationRow, ConversationSelection, Error, InputReport, PartWriter, Progress as Step,
    ReadOptions, RejectedRow, ScreenedParts, check_screened_target, read_conversations,
};
use agon_domain::{Clock as _, Purpose, SystemClock};
use anyhow::anyhow;
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

use super::{
    rules,
    summary::{self, Screened},
    work::Work,
};
use crate::{
    app::{
        annotation::Content,
        screening::{
            Screener,
            dataset::{Keep, RowScreening, ScreenedRow, Tally},
        },
    },
    cli::{FailOn, GlobalArgs, KeepRows, RedactBy, ScreenArgs},
    commands::{
        aliases::AliasTable,
        outputs,
        progress::{self, Progress},
        rank::{
            inputs,
            read::{Rejects, refused},
        },
    },
    exit_code::{CommandError, ExitCode},
    telemetry,
};

/// Rows that are looked at between two shows of the progress.
const CHUNK_ROWS: usize = 256;
/// Bytes of input after which a part is finished.
const PART_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Seconds after which a part is finished.
const PART_SECONDS_MAX: u64 = 60;

/// Screens a dataset.
pub(super) fn run(global: &GlobalArgs, args: &ScreenArgs) -> Result<(), CommandError> {
    telemetry::start(global);
    let Some(output) = args.output.as_deref() else {
        return Err(
            CommandError::usage(anyhow!("no folder for the screened dataset"))
                .with_hint("name one with --output"),
        );
    };
    let reading = &args.reading;
    check_outputs(args)?;
    if let Some(rejects) = &reading.rejects {
        outputs::check_outside(rejects, output)?;
    }
    let n_threads = reading.n_threads();
    let config = rules::config(global, &args.rules, n_threads.get())?;
    check_screened_target(output, args.force).map_err(write_error)?;
    let aliases = reading.aliases.as_deref();
    let aliases = aliases.map(AliasTable::read).transpose()?;
    let screener = rules::screener(&config)?;
    let keep = Keep {
        blocked: args.keep.contains(&KeepRows::Blocked),
        undecided: args.keep.contains(&KeepRows::Undecided),
    };
    let work = Work::open(output, settings(args, &screener)?, args.force)?;
    let screening = RowScreening {
        replacement: replacement(args.redact, &work.key)?,
        keep,
        images: ImageLimits::default(),
        key: work.key,
        screener,
    };
    let rejects = reading
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
        strict: reading.strict,
        checksums: true,
        n_threads_max: n_threads.get(),
        unpack: reading.unpack.limits(),
        aliases: aliases.as_ref().map(|table| &table.aliases),
        rejects: rejects
            .is_some()
            .then_some(&on_reject as &(dyn Fn(&RejectedRow) + Sync)),
        ..ReadOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(n_threads.get())
        .enable_all()
        .build()?;
    let mut pass = Pass {
        runtime: &runtime,
        screening: &screening,
        n_resumed: work.rows_done,
        work,
        part: None,
        n_rows: 0,
        rows_sha256: [0; 32],
        n_at_once: n_threads.get() * 2,
        part_rows_max: args.checkpoint_rows.get(),
        quiet: global.quiet,
    };
    let report = pass.read(args, &options)?;
    if let Some(rejects) = &rejects {
        rejects.finish()?;
    }
    if report.kept == 0 {
        return Err(CommandError::input_refused(anyhow!(
            "there are no rows to screen"
        )));
    }
    let n_resumed = pass.n_resumed;
    let work = pass.finish()?;
    let screened = Screened {
        tally: &work.tally,
        report: &report,
        screener: &screening.screener,
        args,
        n_resumed,
        aliases: aliases
            .as_ref()
            .map(|table| json!(table.body(report.n_renamed))),
        created_at: SystemClock.now().to_string(),
    };
    let facts = screened.facts();
    let card = summary::card(&screened, &facts);
    let parts = ScreenedParts {
        parts: &work.parts,
        texts: &[
            ("screening.json", format!("{:#}\n", json!(facts))),
            ("README.md", card),
        ],
        created_at: screened.created_at.clone(),
        agon_version: env!("CARGO_PKG_VERSION"),
        facts: facts.clone(),
    };
    let written = parts.assemble(output, args.force).map_err(write_error)?;
    summary::print(global, &screened, &facts, &written)?;
    let found = found(&args.fail_on, &work.tally);
    work.remove()?;
    match found {
        None => Ok(()),
        Some(what) => Err(CommandError {
            error: anyhow!("--fail-on: {what}"),
            hints: Vec::new(),
            exit_code: ExitCode::Found,
        }),
    }
}

/// Refuses outputs that are inputs.
fn check_outputs(args: &ScreenArgs) -> Result<(), CommandError> {
    let written: Vec<outputs::Named<'_>> = args
        .reading
        .rejects
        .iter()
        .map(|path| ("--rejects", &**path))
        .collect();
    let read = args
        .reading
        .aliases
        .iter()
        .map(|path| ("--aliases", &**path));
    let hash_lists = args
        .rules
        .hash_list
        .iter()
        .map(|path| ("--hash-list", &**path));
    let word_lists = args
        .rules
        .word_list
        .iter()
        .map(|path| ("--word-list", &**path));
    let read: Vec<outputs::Named<'_>> = read.chain(hash_lists).chain(word_lists).collect();
    outputs::check(&written, &args.inputs, &read)
}

/// The hash of everything that the result depends on beside the rows.
fn settings(args: &ScreenArgs, screener: &Screener) -> Result<String, CommandError> {
    let aliases = match &args.reading.aliases {
        Some(path) => Some(Sha256::digest(std::fs::read(path)?).to_vec()),
        None => None,
    };
    let kept = [KeepRows::Blocked, KeepRows::Undecided].map(|rows| args.keep.contains(&rows));
    let settings = json!({
        "agon_version": env!("CARGO_PKG_VERSION"),
        "rules": screener.rules(Purpose::Release),
        "inputs": args.inputs,
        "redact": format!("{:?}", args.redact),
        "keep": kept,
        "strict": args.reading.strict,
        "aliases": aliases,
    });
    Ok(hexadecimal(&Sha256::digest(settings.to_string())))
}

/// Bytes in lower-case hexadecimal.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn replacement(redact: RedactBy, key: &[u8; 32]) -> Result<agon_pii::Policy, CommandError> {
    Ok(match redact {
        RedactBy::Mask => agon_pii::Policy::Mask('█'),
        RedactBy::Replace => agon_pii::Policy::Number,
        RedactBy::Pseudonymise => agon_pii::Policy::pseudonym(key)?,
        RedactBy::Drop => agon_pii::Policy::Drop,
    })
}

/// What of `--fail-on` was found, in words.
fn found(fail_on: &[FailOn], tally: &Tally) -> Option<String> {
    let counted =
        |counts: &BTreeMap<String, u64>, name: &str| counts.get(name).copied().unwrap_or(0);
    let found: Vec<String> = fail_on
        .iter()
        .filter_map(|what| {
            let (n, what) = match what {
                FailOn::Any => (tally.findings.values().sum(), "findings".to_owned()),
                FailOn::Undecided => (
                    counted(&tally.verdicts, "undecided"),
                    "undecided rows".to_owned(),
                ),
                FailOn::Kind(kind) => (
                    counted(&tally.findings, kind.as_str()),
                    format!("findings of `{kind}`"),
                ),
            };
            (n > 0).then(|| format!("{n} {what}"))
        })
        .collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// How far the work is, for whoever watches.
struct Shown {
    progress: Progress,
    started: Instant,
    bytes_read: u64,
    bytes_total: Option<u64>,
    source: String,
    n_screened: u64,
}

impl Shown {
    fn new(quiet: bool) -> Self {
        Self {
            progress: Progress::new(quiet, progress::BYTES),
            started: Instant::now(),
            bytes_read: 0,
            bytes_total: None,
            source: String::new(),
            n_screened: 0,
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        self.bytes_read = step.bytes_read;
        self.bytes_total = step.bytes_total;
        self.source = format!("[{}/{}]", step.source_idx + 1, step.n_sources);
        self.draw();
    }

    fn draw(&mut self) {
        let seconds = self.started.elapsed().as_secs_f64();
        // Rows of a dataset are far below 2^52.
        let rate = self.n_screened as f64 / seconds.max(1e-3);
        let (source, n) = (&self.source, self.n_screened);
        self.progress.show(self.bytes_read, self.bytes_total, || {
            format!("{source} screening, {n} rows, {rate:.1} rows/s")
        });
    }
}

/// A part under way.
struct OpenPart {
    writer: PartWriter,
    tally: Tally,
    n_bytes: usize,
    n_rows: u64,
    begun: Instant,
}

/// The screening and writing of rows as they come by.
struct Pass<'a> {
    runtime: &'a Runtime,
    screening: &'a RowScreening,
    work: Work,
    /// Rows that an earlier run has done.
    n_resumed: u64,
    part: Option<OpenPart>,
    /// Rows that have come by.
    n_rows: u64,
    /// The hash of these.
    rows_sha256: [u8; 32],
    n_at_once: usize,
    part_rows_max: u64,
    quiet: bool,
}

impl Pass<'_> {
    /// Reads and screens all rows.
    fn read(
        &mut self,
        args: &ScreenArgs,
        options: &ReadOptions<'_>,
    ) -> Result<InputReport, CommandError> {
        let selection = ConversationSelection {
            images: true,
            chats: true,
            columns: Vec::new(),
        };
        let inputs = inputs::inputs(&args.inputs).map_err(refused)?;
        let shown = Mutex::new(Shown::new(self.quiet));
        let failed: Mutex<Option<CommandError>> = Mutex::new(None);
        let mut on_rows = |rows: Vec<ConversationRow>| match self.add(rows, &shown) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                ControlFlow::Break(())
            }
        };
        let mut on_progress = |step: Step<'_>| {
            shown
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .step(&step);
        };
        let report =
            read_conversations(inputs, options, &selection, &mut on_rows, &mut on_progress);
        let shown = shown.into_inner().unwrap_or_else(PoisonError::into_inner);
        shown.progress.finish();
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        report.map_err(refused)
    }

    fn add(
        &mut self,
        rows: Vec<ConversationRow>,
        shown: &Mutex<Shown>,
    ) -> Result<(), CommandError> {
        let mut rows = rows.into_iter();
        loop {
            let mut chunk = Vec::new();
            let room = self.part_rows_max - self.part.as_ref().map_or(0, |part| part.n_rows);
            let mut n_bytes = 0;
            while (chunk.len() as u64) < room && chunk.len() < CHUNK_ROWS {
                let Some(row) = rows.next() else {
                    break;
                };
                self.hash(&row);
                if self.n_rows > self.n_resumed {
                    n_bytes += picture_bytes(&row);
                    chunk.push(row);
                } else if self.n_rows == self.n_resumed {
                    self.check_resumed()?;
                }
            }
            if chunk.is_empty() {
                return Ok(());
            }
            let n = chunk.len() as u64;
            self.screen(chunk, n_bytes)?;
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.n_screened += n;
            shown.draw();
        }
    }

    /// Takes a row into the hash of all.
    fn hash(&mut self, row: &ConversationRow) {
        let mut hash = Sha256::new();
        hash.update(self.rows_sha256);
        hash.update(Content::of_row(row).sha256());
        hash.update(row.id.as_deref().unwrap_or_default());
        self.rows_sha256 = hash.finalize().into();
        self.n_rows += 1;
    }

    /// Whether the rows so far are those of the work that goes on.
    fn check_resumed(&self) -> Result<(), CommandError> {
        if self.n_rows == self.n_resumed && self.rows_sha256 == self.work.rows_sha256 {
            return Ok(());
        }
        Err(CommandError::usage(anyhow!(
            "the input is not the one that the unfinished work was begun with: its first {} rows are others",
            self.n_resumed
        ))
        .with_hint("begin again with --force"))
    }

    fn screen(&mut self, rows: Vec<ConversationRow>, n_bytes: usize) -> Result<(), CommandError> {
        let mut part = match self.part.take() {
            Some(part) => part,
            None => OpenPart {
                writer: PartWriter::create(&self.work.next_part(), env!("CARGO_PKG_VERSION"))?,
                tally: Tally::default(),
                n_bytes: 0,
                n_rows: 0,
                begun: Instant::now(),
            },
        };
        part.n_rows += rows.len() as u64;
        part.n_bytes += n_bytes;
        let screening = self.screening;
        let n_at_once = self.n_at_once;
        self.runtime.block_on(async {
            let mut screened =
                stream::iter(rows.into_iter().map(|row| screening.screen(row))).buffered(n_at_once);
            while let Some(row) = screened.next().await {
                write(&mut part, &row)?;
            }
            Ok::<(), Error>(())
        })?;
        let is_full = part.n_rows >= self.part_rows_max
            || part.n_bytes >= PART_BYTES_MAX
            || part.begun.elapsed().as_secs() >= PART_SECONDS_MAX;
        self.part = Some(part);
        if is_full {
            self.finish_part()?;
        }
        Ok(())
    }

    fn finish_part(&mut self) -> Result<(), CommandError> {
        let Some(part) = self.part.take() else {
            return Ok(());
        };
        let written = part.writer.finish()?;
        self.work
            .finish_part(written, part.tally, self.n_rows, self.rows_sha256)?;
        tracing::debug!(rows = self.n_rows, "work is kept");
        Ok(())
    }

    /// Ends the last part, and checks that all rows of an earlier run came by again.
    fn finish(mut self) -> Result<Work, CommandError> {
        if self.n_rows < self.n_resumed {
            self.check_resumed()?;
        }
        self.finish_part()?;
        Ok(self.work)
    }
}

fn write(part: &mut OpenPart, row: &ScreenedRow) -> Result<(), Error> {
    part.tally.add(&row.tally);
    if let Some((published, labels)) = &row.published {
        part.writer.push(published, labels)?;
    }
    part.writer
        .push_findings(&row.place, row.fate.as_str(), &row.findings)
}

fn picture_bytes(row: &ConversationRow) -> usize {
    let pictures = row.images.iter();
    pictures
        .map(|image| image.bytes.as_ref().map_or(0, |bytes| bytes.len()))
        .sum()
}

fn write_error(error: Error) -> CommandError {
    match error {
        Error::TargetNotEmpty { .. } => CommandError::usage(error).with_hint(
            "choose another folder, or replace the screened dataset that is there with --force",
        ),
        Error::TargetNotARelease { .. } => {
            CommandError::usage(error).with_hint("choose another folder")
        }
        other => CommandError::from(other),
    }
}
