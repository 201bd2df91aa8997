//! Labels for the rows of a dataset: rows in, the same rows with labels out.

use std::{
    collections::BTreeMap, net::IpAddr, num::NonZeroUsize, ops::ControlFlow, path::Path,
    sync::Mutex, thread,
};

use agon_content::annotate::duplicates::{
    DuplicateLabel, DuplicateOptions, DuplicateScan, Duplicates,
};
use agon_dataset::{
    AnnotatedOptions, AnnotatedWriter, ConversationRow, ConversationSelection, Error, Input,
    InputReport, Label, Progress as Step, ReadOptions, RejectedRow, RowLabels, read_conversations,
};
use agon_domain::{Clock as _, SystemClock};
use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};

use super::{
    Chosen,
    earlier::Earlier,
    labeller::Labeller,
    summary::{self, Summary},
};
use crate::{
    app::{
        annotation::{Content, Tools, duplicate_label, outcome, prompt_text, published_style},
        pseudonym,
    },
    cli::{AnnotateArgs, GlobalArgs},
    commands::{
        aliases::AliasTable,
        outputs,
        progress::{self, Progress},
        rank::{
            inputs,
            read::{Rejects, refused},
        },
        serve::random_bytes,
    },
    exit_code::CommandError,
};

/// What stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Annotates a dataset.
pub(super) fn run(global: &GlobalArgs, args: &AnnotateArgs) -> Result<(), CommandError> {
    let chosen = Chosen::new(&args.only)?;
    let Some(output) = args.output.as_deref() else {
        return Err(
            CommandError::usage(anyhow!("no folder for the annotated dataset"))
                .with_hint("name one with --output"),
        );
    };
    let files: Vec<outputs::Named<'_>> = args
        .rejects
        .iter()
        .map(|path| ("--rejects", &**path))
        .collect();
    let read_besides: Vec<outputs::Named<'_>> = args
        .aliases
        .iter()
        .map(|path| ("--aliases", &**path))
        .collect();
    outputs::check(&files, &args.inputs, &read_besides)?;
    if let Some(rejects) = &args.rejects {
        outputs::check_outside(rejects, output)?;
    }
    let needs_scan = chosen.has_duplicates || chosen.finds_names();
    if needs_scan && args.inputs.iter().any(|input| input == STANDARD_INPUT) {
        return Err(CommandError::usage(anyhow!(
            "duplicates and the models' names are found by reading the input twice, which standard input does not allow"
        ))
        .with_hint("write it to a file first, or choose other subjects with --only"));
    }
    let aliases = args.aliases.as_deref();
    let aliases = aliases.map(AliasTable::read).transpose()?;
    let mut labeller = Labeller::new(global, args)?;
    let n_threads = args
        .threads
        .or_else(|| thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let rejects = args.rejects.as_deref().map(Rejects::create).transpose()?;
    let on_reject = |row: &RejectedRow| {
        if let Some(rejects) = &rejects {
            rejects.write(row);
        }
    };
    let scan_options = ReadOptions {
        n_threads_max: n_threads.get(),
        aliases: aliases.as_ref().map(|table| &table.aliases),
        ..ReadOptions::default()
    };
    let options = ReadOptions {
        strict: args.strict,
        checksums: true,
        n_threads_max: n_threads.get(),
        aliases: aliases.as_ref().map(|table| &table.aliases),
        rejects: rejects
            .is_some()
            .then_some(&on_reject as &(dyn Fn(&RejectedRow) + Sync)),
        ..ReadOptions::default()
    };
    let scan = if needs_scan {
        scan(global, args, &chosen, &scan_options)?
    } else {
        Scan::default()
    };
    let tools = Tools::new(scan.models.iter().map(String::as_str))
        .context("the models' names cannot be looked for")
        .map_err(CommandError::input_refused)?;
    let mut earlier = match args.update {
        true => Earlier::open(output)?,
        false => None,
    };
    let writer = AnnotatedWriter::create(
        output,
        AnnotatedOptions {
            created_at: SystemClock.now(),
            agon_version: env!("CARGO_PKG_VERSION").to_owned(),
            replace: args.update,
            facts: BTreeMap::new(),
        },
    )
    .map_err(|error| write_error(error, output))?;
    let mut work = Work {
        labelling: Labelling {
            chosen: &chosen,
            tools: &tools,
            duplicates: scan.duplicates.as_ref(),
            n_threads,
        },
        writer,
        judge_key: random_bytes()?,
        n_rows: 0,
        summary: Summary::default(),
    };
    let failed: Mutex<Option<CommandError>> = Mutex::new(None);
    let selection = ConversationSelection {
        images: !args.no_images,
        chats: true,
        columns: Vec::new(),
    };
    let mut progress = Progress::new(global.quiet, progress::BYTES);
    let report = {
        let mut on_rows =
            |rows: Vec<ConversationRow>| match work.add(&rows, earlier.as_mut(), &mut labeller) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    *failed
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                    ControlFlow::Break(())
                }
            };
        read(
            args,
            &options,
            &selection,
            &mut on_rows,
            &mut progress,
            "labelling",
        )
    };
    progress.finish();
    if let Some(rejects) = &rejects {
        rejects.finish()?;
    }
    if let Some(error) = failed
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
    {
        return Err(error);
    }
    let report = report.map_err(refused)?;
    if report.kept == 0 {
        return Err(CommandError::input_refused(anyhow!(
            "there are no rows to label"
        )));
    }
    let asked = labeller.as_ref().map(Labeller::report);
    let facts = facts(
        &work.summary,
        &chosen,
        &report,
        aliases.as_ref(),
        asked.as_ref(),
    );
    let written = work
        .writer
        .finish(facts)
        .map_err(|error| write_error(error, output))?;
    summary::print(global, &work.summary, &report, &written, asked.as_ref())
}

/// What one reading of all rows finds out.
#[derive(Default)]
struct Scan {
    /// The names of all models.
    models: Vec<String>,
    duplicates: Option<Found>,
}

/// Duplicates among the rows that have a prompt.
struct Found {
    duplicates: Duplicates,
    /// The number, among all rows from 0, of each row that was compared.
    rows: Vec<usize>,
}

impl Found {
    /// The label of a row; nothing for one without a prompt.
    fn label(&self, row_idx: usize) -> Option<DuplicateLabel> {
        let idx = self.rows.binary_search(&row_idx).ok()?;
        let mut label = self.duplicates.label(idx)?;
        for row in [&mut label.cluster, &mut label.exact] {
            *row = *self.rows.get(*row)?;
        }
        Some(label)
    }
}

fn scan(
    global: &GlobalArgs,
    args: &AnnotateArgs,
    chosen: &Chosen,
    options: &ReadOptions<'_>,
) -> Result<Scan, CommandError> {
    let mut models = std::collections::BTreeSet::new();
    let mut duplicates = match chosen.has_duplicates {
        true => Some(DuplicateScan::new(DuplicateOptions::default())?),
        false => None,
    };
    let selection = ConversationSelection {
        // Pictures are told apart by their bytes.
        images: chosen.has_duplicates && !args.no_images,
        chats: true,
        columns: Vec::new(),
    };
    let (mut scanned, mut n_rows) = (Vec::new(), 0_usize);
    let mut on_rows = |rows: Vec<ConversationRow>| {
        for row in rows {
            if let Some(duplicates) = &mut duplicates {
                let content = Content::of_row(&row);
                if content.has_prompt() {
                    let image = content.first_image().map(str::as_bytes);
                    duplicates.add(&prompt_text(&content), image);
                    // A label names rows by their numbers among all.
                    scanned.push(n_rows);
                }
                n_rows += 1;
            }
            for model in row.models {
                if !models.contains(&model) {
                    models.insert(model);
                }
            }
        }
        ControlFlow::Continue(())
    };
    let mut progress = Progress::new(global.quiet, progress::BYTES);
    let read = read(
        args,
        options,
        &selection,
        &mut on_rows,
        &mut progress,
        "looking for duplicates",
    );
    progress.finish();
    read.map_err(refused)?;
    Ok(Scan {
        models: models.into_iter().collect(),
        duplicates: duplicates.map(|scan| Found {
            duplicates: scan.finish(),
            rows: scanned,
        }),
    })
}

fn read(
    args: &AnnotateArgs,
    options: &ReadOptions<'_>,
    selection: &ConversationSelection,
    on_rows: &mut (dyn FnMut(Vec<ConversationRow>) -> ControlFlow<()> + Send),
    progress: &mut Progress,
    what: &str,
) -> Result<InputReport, Error> {
    let mut on_progress = |step: Step<'_>| {
        progress.show(step.bytes_read, step.bytes_total, || {
            format!(
                "[{}/{}] {what}, {} rows",
                step.source_idx + 1,
                step.n_sources,
                step.rows
            )
        });
    };
    let inputs: Vec<Input> = inputs::inputs(&args.inputs)?;
    read_conversations(inputs, options, selection, on_rows, &mut on_progress)
}

/// The labelling and writing of rows as they come by.
struct Work<'a> {
    labelling: Labelling<'a>,
    writer: AnnotatedWriter,
    /// Drawn for this run, and forgotten after it.
    judge_key: [u8; 32],
    /// Rows of earlier batches.
    n_rows: usize,
    summary: Summary,
}

impl Work<'_> {
    /// Who voted, as it is written: a network address, which logs have, never as it stands.
    fn judge(&self, judge: &str) -> String {
        if judge.trim().parse::<IpAddr>().is_ok() {
            pseudonym::imported_voter_id(&self.judge_key, "annotate", judge.trim()).to_string()
        } else {
            judge.to_owned()
        }
    }

    fn add(
        &mut self,
        rows: &[ConversationRow],
        mut earlier: Option<&mut Earlier>,
        labeller: &mut Option<Labeller>,
    ) -> Result<(), CommandError> {
        let contents: Vec<[u8; 32]> = rows
            .iter()
            .map(|row| Content::of_row(row).sha256())
            .collect();
        let mut there = Vec::with_capacity(rows.len());
        for content in &contents {
            there.push(match &mut earlier {
                Some(earlier) => earlier.take(content)?,
                None => Vec::new(),
            });
        }
        let mut labelled = self.labelling.label(rows, self.n_rows, there);
        if let Some(labeller) = labeller {
            labeller.ask(rows, &mut labelled)?;
        }
        for ((row, sha256), labels) in rows.iter().zip(contents).zip(labelled) {
            self.summary.n_kept += labels.n_kept;
            self.summary.n_new += labels.labels.len() as u64 - labels.n_kept;
            let mut labels: RowLabels = outcome(sha256, labels.labels);
            if row.conversations.is_empty() {
                // Nothing was counted; what the source brings is better than nothing.
                labels.style = row.conv_metadata.as_ref().and_then(published_style);
            }
            labels.judge = row.judge.as_deref().map(|judge| self.judge(judge));
            self.summary.add(row, &labels);
            self.writer.push(row, &labels)?;
        }
        self.n_rows += rows.len();
        Ok(())
    }
}

/// Rows for one thread: the number of the first, the rows, and the labels that they have.
type Job<'a> = (usize, &'a [ConversationRow], Vec<Vec<Label>>);

/// What labels are made with, by any number of threads.
struct Labelling<'a> {
    chosen: &'a Chosen,
    tools: &'a Tools,
    duplicates: Option<&'a Found>,
    n_threads: NonZeroUsize,
}

impl Labelling<'_> {
    /// The labels of a batch that begins with row `first`, by as many threads as there are.
    fn label(
        &self,
        rows: &[ConversationRow],
        first: usize,
        there: Vec<Vec<Label>>,
    ) -> Vec<Labelled> {
        let chunk = rows.len().div_ceil(self.n_threads.get()).max(1);
        let mut there = there.into_iter();
        let jobs: Vec<Job<'_>> = rows
            .chunks(chunk)
            .enumerate()
            .map(|(idx, rows)| {
                let there = there.by_ref().take(rows.len()).collect();
                (first + idx * chunk, rows, there)
            })
            .collect();
        thread::scope(|scope| {
            let threads: Vec<_> = jobs
                .into_iter()
                .map(|(first, rows, there)| {
                    scope.spawn(move || {
                        let rows = rows.iter().zip(there).enumerate();
                        rows.map(|(idx, (row, there))| self.label_row(first + idx, row, there))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| match thread.join() {
                    Ok(labels) => labels,
                    // A bug of an annotator, which the main thread shows as its own.
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        })
    }

    fn label_row(&self, row_idx: usize, row: &ConversationRow, mut there: Vec<Label>) -> Labelled {
        let content = Content::of_row(row);
        let mut labels = Vec::new();
        let mut n_kept = 0;
        for registration in &self.chosen.registrations {
            let is_same = |label: &Label| {
                // What depends on the names of the set's models is out of date when these are others.
                registration.is_current(label) && !registration.needs_names
            };
            match there.iter().position(is_same) {
                Some(idx) => {
                    labels.push(there.swap_remove(idx));
                    n_kept += 1;
                }
                None => labels.push(registration.label(&content, self.tools)),
            }
        }
        if let Some(label) = self.duplicates.and_then(|found| found.label(row_idx)) {
            labels.push(duplicate_label(&label));
        }
        // What was not asked for this time stays, unless it is out of date or needs all rows at once.
        for label in there {
            if crate::app::annotation::is_worth_keeping(&label, &labels) {
                labels.push(label);
                n_kept += 1;
            }
        }
        Labelled { labels, n_kept }
    }
}

/// The labels of one row.
#[derive(Debug, Default)]
pub(super) struct Labelled {
    pub(super) labels: Vec<Label>,
    /// How many of them were there already.
    pub(super) n_kept: u64,
}

fn facts(
    summary: &Summary,
    chosen: &Chosen,
    report: &InputReport,
    aliases: Option<&AliasTable>,
    asked: Option<&Value>,
) -> BTreeMap<&'static str, Value> {
    let annotators: Vec<Value> = chosen
        .registrations
        .iter()
        .map(|registration| {
            json!({
                "name": registration.annotator.name,
                "version": registration.annotator.version,
            })
        })
        .collect();
    let sources: Vec<Value> = report
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
    let rejected: BTreeMap<&str, u64> = report
        .rejected
        .iter()
        .map(|(reason, rows)| (reason.as_str(), rows.count))
        .collect();
    let mut facts = BTreeMap::from([
        ("annotators", annotators.into()),
        ("sources", sources.into()),
        ("rejected", json!(rejected)),
        ("summary", summary.json()),
    ]);
    if let Some(aliases) = aliases {
        facts.insert("aliases", json!(aliases.body(report.n_renamed)));
    }
    if let Some(asked) = asked {
        facts.insert("labeller", asked.clone());
    }
    facts
}

fn write_error(error: Error, output: &Path) -> CommandError {
    match error {
        Error::TargetNotEmpty { .. } => CommandError::usage(error).with_hint(
            "choose another folder, or replace the annotated dataset that is there with --update",
        ),
        Error::TargetNotARelease { .. } => CommandError::usage(anyhow!(
            "`{}` holds something else than an annotated dataset",
            output.display()
        ))
        .with_hint("choose another folder"),
        other => CommandError::from(other),
    }
}
