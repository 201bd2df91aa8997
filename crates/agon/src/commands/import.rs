//! `agon import`: battles of published sets and logs into the store.

use std::{
    fmt::Write as _,
    fs,
    fs::File,
    io::{self, Seek as _, Write as _},
    num::NonZeroUsize,
    ops::ControlFlow,
    path::Path,
    thread,
    time::UNIX_EPOCH,
};

use agon_content::image::ImageLimits;
use agon_dataset::{
    ConversationRow, ConversationSelection, Error, Input, InputReport, Place, Progress as Step,
    ReadOptions, Reason, RejectedRow, clean::Profile, read_conversations,
};
use agon_domain::{Clock as _, SystemClock};
use agon_remote::Remote;
use agon_store::{ImportId, NewImport, Store};
use anyhow::{Context as _, anyhow};
use sha2::{Digest as _, Sha256};
use tokio::{runtime::Runtime, sync::mpsc};

use super::{
    aliases::AliasTable,
    outputs,
    progress::{self, Progress},
    rank::{
        inputs,
        read::{Rejects, refused},
    },
    serve::{load_config, random_bytes},
};
use crate::{
    app::import::{ImportError, ImportOptions, Importer, SourceKeys, sha256_of},
    cli::{GlobalArgs, ImportArgs},
    exit_code::{CommandError, ExitCode},
    telemetry,
};

mod document;
mod print;

use document::Import;

/// The source that is not imported: the arena's own votes, in `agon rank --store all`.
const ARENA: &str = "arena";
/// How messages call standard input.
const STANDARD_INPUT: &str = "-";
/// Batches of rows that wait to be stored. Each has at most 16 MiB and one row.
const BATCHES_WAITING: usize = 1;

/// Imports battles.
///
/// # Errors
///
/// Exit code 2 for flags that cannot be used, and when another import of the source was interrupted; 3 for an input that cannot be read, has no battles, or has a row rejected for a fault under `--strict`, of which then nothing is imported.
pub fn run(global: &GlobalArgs, args: &ImportArgs) -> Result<(), CommandError> {
    telemetry::start(global);
    let config = load_config(global)?;
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
    if args.source == ARENA {
        return Err(CommandError::usage(anyhow!(
            "`--source {ARENA}` is the name of the arena's own votes"
        ))
        .with_hint("name the set, such as --source wildvision"));
    }
    if let Some(folder) = args.images.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(CommandError::usage(anyhow!(
            "`--images {}` is no folder",
            folder.display()
        )));
    }
    let aliases = args.aliases.as_deref();
    let aliases = aliases.map(AliasTable::read).transpose()?;
    let mut keys = SourceKeys::default();
    let spooled = spool(&args.inputs)?;
    let spooled_sha256 = spooled.as_ref().map(|(_, sha256)| sha256.clone());
    if let Some(sha256) = &spooled_sha256 {
        keys.insert(STANDARD_INPUT, sha256.clone());
    }
    let rejects = args.rejects.as_deref().map(Rejects::create).transpose()?;
    // One thread works on a batch while another one stores the one before.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let clock = SystemClock;
    let (store, voter_key, begun, other_profiles) = runtime.block_on(async {
        let store = Store::open(&config.data_dir).await.with_context(|| {
            format!(
                "cannot open the data folder `{}`",
                config.data_dir.display()
            )
        })?;
        let voter_key = store.voter_key(random_bytes()?).await?;
        if args.restart {
            store
                .discard_unfinished_import(&args.source)
                .await
                .map_err(unfinished)?;
        }
        let earlier = store.imports().await?;
        let profile = args.clean.as_ref().map(Profile::name);
        let mut other_profiles: Vec<String> = earlier
            .into_iter()
            .filter(|import| import.source == args.source && import.finished_at.is_some())
            .filter(|import| import.clean_profile.as_deref() != profile)
            .map(|import| import.clean_profile.unwrap_or_else(|| "none".to_owned()))
            .collect();
        other_profiles.sort_unstable();
        other_profiles.dedup();
        let body = aliases.as_ref().map(|table| table.body(0));
        let new = NewImport {
            id: new_id()?,
            source: args.source.clone(),
            request_sha256: request(
                args,
                spooled_sha256.as_deref(),
                body.as_ref().map(|body| body.sha256.as_str()),
            ),
            clean_profile: args.clean.as_ref().map(|profile| profile.name().to_owned()),
            aliases: body.map(|body| (body.version, digest_of(&body.sha256))),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: clock.now(),
        };
        let begun = store.begin_import(&new).await.map_err(unfinished)?;
        Ok::<_, CommandError>((store, voter_key, begun, other_profiles))
    })?;
    let options = ImportOptions {
        source: args.source.clone(),
        images: args.images.clone(),
        image_limits: ImageLimits::default(),
        profile: args.clean.clone(),
        voter_key,
        n_threads,
        strict: args.strict,
    };
    let mut importer = Importer::new(store.clone(), begun.id, options, keys);
    let on_reject = |row: &RejectedRow| {
        if let Some(rejects) = &rejects {
            rejects.write(row);
        }
    };
    let read_options = ReadOptions {
        strict: args.strict,
        checksums: true,
        unpack: args.unpack.limits(),
        n_threads_max: n_threads.get(),
        aliases: aliases.as_ref().map(|table| &table.aliases),
        rejects: rejects
            .is_some()
            .then_some(&on_reject as &(dyn Fn(&RejectedRow) + Sync)),
        ..ReadOptions::default()
    };
    let imported = all_inputs(&args.inputs, spooled.as_ref().map(|(file, _)| file))
        .map_err(|error| Stopped::Read(error).into_error())
        .map_err(|error| (error, true))
        .and_then(|inputs| {
            import(
                &runtime,
                &mut importer,
                inputs,
                &read_options,
                global.quiet,
                &on_reject,
            )
            .map_err(|stopped| {
                let is_input = stopped.is_input();
                (stopped.into_error(), is_input)
            })
        });
    let report = match imported {
        Ok(report) if report.kept > 0 && report.kept == importer.n_rows() => Ok(report),
        Ok(report) if report.kept > 0 => Err((
            CommandError::input_refused(anyhow!(
                "{} of {} votes come without a row of their own",
                report.kept - importer.n_rows().min(report.kept),
                report.kept
            ))
            .with_hint("a table of wins has no battles; agon rank ranks it as it is"),
            true,
        )),
        Ok(_) => Err((
            CommandError::input_refused(anyhow!("there are no battles")),
            true,
        )),
        Err(stopped) => Err(stopped),
    };
    let finished = runtime.block_on(async {
        let finished = match report {
            Ok(report) => {
                let (counts, cleaned) = importer.finish(&report, clock.now()).await?;
                Ok((report, counts, cleaned))
            }
            Err((error, is_input)) => {
                // Of an input that is refused nothing stays; what the machine interrupted can go on.
                if is_input {
                    store.discard_unfinished_import(&args.source).await?;
                    Err(error)
                } else {
                    Err(error.with_hint("run the same command again, and it goes on from there"))
                }
            }
        };
        store.close().await;
        finished
    });
    if let Some(rejects) = &rejects {
        rejects.finish()?;
    }
    let (report, counts, cleaned) = finished?;
    let document = Import::new(
        begun.id,
        args,
        &report,
        &counts,
        cleaned.as_ref(),
        aliases.map(|table| table.body(report.n_renamed)),
    );
    let text = if global.json {
        format!("{}\n", serde_json::to_string_pretty(&document)?)
    } else if global.quiet {
        String::new()
    } else {
        print::table(&document)
    };
    io::stdout().write_all(text.as_bytes())?;
    let n_repeated = report.rejected.get(&Reason::RepeatedId);
    let n_repeated = counts.repeated + n_repeated.map_or(0, |rows| rows.count);
    let mut warnings = String::new();
    if n_repeated > document.kept {
        let _ = writeln!(
            warnings,
            "warning: {n_repeated} of {} rows are battles that are there already: a second copy of the set",
            report.rows
        );
    }
    if n_repeated > 0 && !other_profiles.is_empty() {
        let _ = writeln!(
            warnings,
            "warning: battles that are there already keep the verdicts of the profile that they were imported with ({}): to judge them by another one, import the set into another --source",
            other_profiles.join(", ")
        );
    }
    if !global.quiet {
        io::stderr().write_all(warnings.as_bytes())?;
    }
    Ok(())
}

/// What ended an import early.
enum Stopped {
    Read(Error),
    Store(ImportError),
}

impl Stopped {
    /// Whether the input is at fault, and not the machine.
    fn is_input(&self) -> bool {
        match self {
            Self::Read(Error::Read { source, .. }) => matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
            ),
            Self::Read(_) | Self::Store(ImportError::Times(_) | ImportError::Picture { .. }) => {
                true
            }
            Self::Store(ImportError::Store(_)) => false,
        }
    }

    fn into_error(self) -> CommandError {
        match self {
            Self::Read(error) => refused(error),
            Self::Store(error @ ImportError::Times(_)) => CommandError::input_refused(error),
            Self::Store(error @ ImportError::Picture { .. }) => CommandError::input_refused(error)
                .with_hint("without --strict the battle is kept and the picture counted by reason"),
            Self::Store(error) => CommandError::from(error),
        }
    }
}

/// Reads on a thread of its own and stores what comes, a batch at a time.
fn import(
    runtime: &Runtime,
    importer: &mut Importer,
    inputs: Vec<Input>,
    options: &ReadOptions<'_>,
    quiet: bool,
    on_reject: &(dyn Fn(&RejectedRow) + Sync),
) -> Result<InputReport, Stopped> {
    let selection = ConversationSelection {
        images: true,
        ..ConversationSelection::default()
    };
    let mut on_repeated = |place: &Place| {
        on_reject(&RejectedRow {
            reason: Reason::RepeatedId,
            place: place.clone(),
        });
    };
    let (sender, mut receiver) = mpsc::channel::<Vec<ConversationRow>>(BATCHES_WAITING);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
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
            let mut on_rows = |rows| match sender.blocking_send(rows) {
                Ok(()) => ControlFlow::Continue(()),
                // Storing has failed.
                Err(_) => ControlFlow::Break(()),
            };
            let report =
                read_conversations(inputs, options, &selection, &mut on_rows, &mut on_progress);
            progress.finish();
            report
        });
        let stored = runtime.block_on(async {
            while let Some(rows) = receiver.recv().await {
                importer.add(rows, &mut on_repeated).await?;
            }
            importer.settle(&mut on_repeated).await
        });
        // Lets a reader go that waits to hand over more.
        drop(receiver);
        let report = match reader.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        stored.map_err(Stopped::Store)?;
        report.map_err(Stopped::Read)
    })
}

/// Standard input in a temporary file with its SHA-256, when it is among the inputs: rows without an id are told by all of its bytes.
fn spool(arguments: &[String]) -> Result<Option<(File, String)>, CommandError> {
    if !arguments.iter().any(|argument| argument == STANDARD_INPUT) {
        return Ok(None);
    }
    let spooled = || -> io::Result<(File, String)> {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut io::stdin(), &mut file)?;
        file.rewind()?;
        let digest = sha256_of(&mut file)?;
        file.rewind()?;
        Ok((file, digest))
    };
    let spooled = spooled().context("cannot keep standard input in a temporary file")?;
    Ok(Some(spooled))
}

fn all_inputs(arguments: &[String], spooled: Option<&File>) -> Result<Vec<Input>, Error> {
    let mut all = Vec::new();
    for argument in arguments {
        match spooled.filter(|_| argument == STANDARD_INPUT) {
            Some(file) => {
                let file = file.try_clone().map_err(|source| Error::Read {
                    path: STANDARD_INPUT.to_owned(),
                    source,
                })?;
                all.push(Input::Reader {
                    name: STANDARD_INPUT.to_owned(),
                    reader: Box::new(file),
                });
            }
            None => all.extend(inputs::inputs(std::slice::from_ref(argument))?),
        }
    }
    Ok(all)
}

/// A hash of everything that decides what is imported: files by path, size and time of change.
fn request(
    args: &ImportArgs,
    spooled_sha256: Option<&str>,
    aliases_sha256: Option<&str>,
) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let mut add = |part: &str| {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    for argument in &args.inputs {
        add(argument);
        if argument == STANDARD_INPUT || Remote::is_address(argument) {
            continue;
        }
        for path in Input::from_argument(argument)
            .local_files()
            .unwrap_or_default()
        {
            add(&version_of(&path));
        }
    }
    add(spooled_sha256.unwrap_or_default());
    add(aliases_sha256.unwrap_or_default());
    add(args.clean.as_ref().map_or("", |profile| profile.name()));
    let images = args.images.as_deref().map(canonical);
    add(images.as_deref().unwrap_or_default());
    hasher.finalize().into()
}

fn canonical(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    path.to_string_lossy().into_owned()
}

fn version_of(path: &Path) -> String {
    let metadata = fs::metadata(path).ok();
    let changed = metadata.as_ref().and_then(|metadata| {
        let changed = metadata.modified().ok()?;
        changed.duration_since(UNIX_EPOCH).ok()
    });
    format!(
        "{}|{:?}|{changed:?}",
        canonical(path),
        metadata.map(|metadata| metadata.len())
    )
}

fn new_id() -> Result<ImportId, CommandError> {
    let mut id = [0; 16];
    id.copy_from_slice(&random_bytes()?[..16]);
    Ok(ImportId::from_bytes(id))
}

/// The bytes of a SHA-256 in hexadecimal, which the table of aliases has made itself.
fn digest_of(digits: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = std::str::from_utf8(pair)
            .ok()
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
            .unwrap_or_default();
    }
    bytes
}

fn unfinished(error: agon_store::Error) -> CommandError {
    if matches!(error, agon_store::Error::RunningImport { .. }) {
        return CommandError::usage(error)
            .with_hint("wait until it has ended, or name another --source");
    }
    if matches!(error, agon_store::Error::DamagedOriginals { .. }) {
        return CommandError::from(error).with_hint(
            "pictures that the import had kept are gone: put the file back, or begin again with --restart",
        );
    }
    if matches!(error, agon_store::Error::UnfinishedImport { .. }) {
        CommandError {
            error: error.into(),
            hints: vec![
                "run the interrupted command again to go on with it, with --restart to forget it, or name another --source".to_owned(),
            ],
            exit_code: ExitCode::Usage,
        }
    } else {
        error.into()
    }
}
