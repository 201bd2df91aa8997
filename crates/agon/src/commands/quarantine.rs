//! `agon quarantine`: sealed cases, opened by two people, reported by a person.
//!
//! What a case holds is written to a folder that only its owner may enter, and nowhere else.

mod send;

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use age::secrecy::ExposeSecret as _;
use agon_domain::{CaseId, Clock as _, SystemClock};
use agon_store::{Case, CaseState, Store};
use anyhow::{Context as _, anyhow};
use serde_json::json;

use crate::{
    app::quarantine::{self, Evidence, Identity, NamedFile, report},
    cli::{
        GlobalArgs, QuarantineCommand,
        quarantine::{KeyArgs, Keys, MarkArgs, Outcome, ReportArgs},
    },
    commands::serve::load_config,
    config::Config,
    exit_code::CommandError,
    telemetry,
};

/// What an opened case holds.
struct Opened {
    evidence: Evidence,
    files: Vec<NamedFile>,
}

impl Opened {
    /// The file that a report attaches: the upload as it came, or what was kept of it.
    fn attached(&self) -> Option<&NamedFile> {
        let named = |wanted: &str| self.files.iter().find(|(name, _)| name == wanted);
        named("upload").or_else(|| named("normalised"))
    }
}

/// Runs `agon quarantine`.
///
/// # Errors
///
/// Exit code 2 for keys that do not open the case and for steps that do not follow, 3 for a case that is not there or is damaged, 1 for everything else.
pub fn run(global: &GlobalArgs, command: &QuarantineCommand) -> Result<(), CommandError> {
    telemetry::start(global);
    if let QuarantineCommand::Key(args) = command {
        return make_key(global, args);
    }
    let config = load_config(global)?;
    if !config.data_dir.join("agon.db").is_file() {
        return Err(CommandError::input_refused(anyhow!(
            "there is no arena in `{}`",
            config.data_dir.display()
        ))
        .with_hint("name its data folder with --data-dir"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let store = Store::open(&config.data_dir).await?;
        let result = run_on(global, &config, &store, command).await;
        store.close().await;
        result
    })
}

async fn run_on(
    global: &GlobalArgs,
    config: &Config,
    store: &Store,
    command: &QuarantineCommand,
) -> Result<(), CommandError> {
    match command {
        QuarantineCommand::Key(_) => Ok(()),
        QuarantineCommand::List => list(global, store).await,
        QuarantineCommand::Show(args) => show(global, store, args.case).await,
        QuarantineCommand::Open(args) => {
            let opened = open(store, args.case, &args.keys).await?;
            write_folder(&args.output, &contents(&opened)?)?;
            say(
                global,
                &json!({ "case": args.case.to_string(), "folder": args.output }),
                &format!("opened into {}", args.output.display()),
            )
        }
        QuarantineCommand::Report(args) => prepare(global, config, store, args).await,
        QuarantineCommand::Send(args) => send::run(global, config, store, args).await,
        QuarantineCommand::Mark(args) => mark(global, store, args).await,
        QuarantineCommand::Expire(args) => expire(global, store, &args.by).await,
    }
}

/// A new identity in a file that only its owner may read.
fn make_key(global: &GlobalArgs, args: &KeyArgs) -> Result<(), CommandError> {
    let identity = Identity::generate();
    let public = identity.to_public().to_string();
    let text = format!(
        "# public key: {public}\n{}\n",
        identity.to_string().expose_secret()
    );
    write_private(&args.output, text.as_bytes()).map_err(CommandError::usage)?;
    say(global, &json!({ "public_key": public }), &public)
}

async fn list(global: &GlobalArgs, store: &Store) -> Result<(), CommandError> {
    let cases = store.cases().await?;
    let mut text = format!("{} sealed cases", cases.len());
    for case in &cases {
        text.push_str(&format!(
            "\n{}  sealed {}  kept until {}  {}",
            case.id,
            case.sealed_at,
            case.retain_until,
            case.state.as_str()
        ));
    }
    let cases: Vec<_> = cases.iter().map(case_json).collect();
    say(global, &json!({ "cases": cases }), &text)
}

async fn show(global: &GlobalArgs, store: &Store, id: CaseId) -> Result<(), CommandError> {
    let (case, events) = store
        .case(id)
        .await?
        .ok_or_else(|| CommandError::input_refused(agon_store::Error::UnknownCase(id)))?;
    let mut text = format!(
        "case {id}: {}\nsealed {}, kept until {}, {} bytes",
        case.state.as_str(),
        case.sealed_at,
        case.retain_until,
        case.n_bytes
    );
    if let Some(number) = &case.report_id {
        text.push_str(&format!("\nreport {number}"));
    }
    for event in &events {
        text.push_str(&format!("\n{}  {} by {}", event.at, event.what, event.who));
    }
    let events: Vec<_> = events
        .iter()
        .map(|event| json!({ "at": event.at.to_string(), "what": event.what, "who": event.who }))
        .collect();
    let mut document = case_json(&case);
    document["events"] = events.into();
    say(global, &document, &text)
}

fn case_json(case: &Case) -> serde_json::Value {
    json!({
        "case": case.id.to_string(),
        "sealed_at": case.sealed_at.to_string(),
        "retain_until": case.retain_until.to_string(),
        "battle": case.battle.map(|id| id.to_string()),
        "bytes": case.n_bytes,
        "state": case.state.as_str(),
        "report_id": case.report_id,
    })
}

/// Opens a case. The opening is on record, with both public keys, before anything is read.
async fn open(store: &Store, id: CaseId, keys: &Keys) -> Result<Opened, CommandError> {
    let [first, second] = keys.identity.as_slice() else {
        return Err(CommandError::usage(anyhow!(
            "{} keys are given: a case is opened with the keys of two custodians",
            keys.identity.len()
        ))
        .with_hint("pass --identity FILE twice"));
    };
    let identities = [read_identity(first)?, read_identity(second)?];
    let names = identities
        .each_ref()
        .map(|identity| identity.to_public().to_string());
    let who = format!("{} and {}", names[0], names[1]);
    let sealed = store
        .open_case(id, &who, SystemClock.now())
        .await
        .map_err(refused)?;
    let packed =
        quarantine::open(&sealed, [&identities[0], &identities[1]]).map_err(CommandError::usage)?;
    let (evidence, files) = Evidence::unpack(&packed).map_err(CommandError::input_refused)?;
    Ok(Opened { evidence, files })
}

/// The files of an opened case, with the document as JSON.
fn contents(opened: &Opened) -> Result<Vec<NamedFile>, CommandError> {
    let mut files = vec![(
        "evidence.json".to_owned(),
        serde_json::to_vec_pretty(&opened.evidence)?,
    )];
    files.extend(opened.files.iter().cloned());
    Ok(files)
}

async fn prepare(
    global: &GlobalArgs,
    config: &Config,
    store: &Store,
    args: &ReportArgs,
) -> Result<(), CommandError> {
    let reporter =
        report::reporter(&config.raw.screening.quarantine).map_err(CommandError::usage)?;
    let opened = open(store, args.case, &args.keys).await?;
    let document = report::report(&opened.evidence, reporter)?.document()?;
    // The numbers are the authority's to give: whoever hands the report in by hand puts them here.
    let details = report::file_details(&opened.evidence, "REPORT-ID", "FILE-ID")?.document()?;
    let mut files = vec![
        ("report.xml".to_owned(), document.into_bytes()),
        ("file-details.xml".to_owned(), details.into_bytes()),
    ];
    files.extend(opened.attached().cloned());
    write_folder(&args.output, &files)?;
    let from = [CaseState::Sealed, CaseState::ReportPrepared];
    store
        .advance_case(
            args.case,
            &from,
            CaseState::ReportPrepared,
            None,
            &args.by,
            SystemClock.now(),
        )
        .await
        .map_err(refused)?;
    say(
        global,
        &json!({ "case": args.case.to_string(), "folder": args.output, "sent": false }),
        &format!(
            "the report is in {}; nothing was sent",
            args.output.display()
        ),
    )
}

async fn mark(global: &GlobalArgs, store: &Store, args: &MarkArgs) -> Result<(), CommandError> {
    let (from, to): (&[CaseState], CaseState) = match args.outcome {
        Outcome::Reported => (
            &[
                CaseState::Sealed,
                CaseState::ReportPrepared,
                CaseState::ReportSubmitting,
                CaseState::ReportParked,
            ],
            CaseState::Reported,
        ),
        Outcome::NotArrived => (
            &[CaseState::ReportSubmitting, CaseState::ReportParked],
            CaseState::ReportPrepared,
        ),
    };
    let number = args.report_id.as_deref();
    store
        .advance_case(args.case, from, to, number, &args.by, SystemClock.now())
        .await
        .map_err(refused)?;
    show(global, store, args.case).await
}

async fn expire(global: &GlobalArgs, store: &Store, by: &str) -> Result<(), CommandError> {
    let now = SystemClock.now();
    let mut destroyed = Vec::new();
    let mut open_outcome = Vec::new();
    for case in store.cases().await? {
        if case.state == CaseState::Destroyed || now < case.retain_until {
            continue;
        }
        match store.destroy_case(case.id, by, now).await {
            Ok(()) => destroyed.push(case.id.to_string()),
            Err(agon_store::Error::WrongCaseState { .. }) => {
                open_outcome.push(case.id.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut text = format!("{} cases were destroyed", destroyed.len());
    for id in &open_outcome {
        text.push_str(&format!(
            "\n{id} was kept: the outcome of its report is open"
        ));
    }
    say(
        global,
        &json!({ "destroyed": destroyed, "kept": open_outcome }),
        &text,
    )
}

/// The identity in a file: its first line that is no comment.
fn read_identity(path: &Path) -> Result<Identity, CommandError> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the key `{}`", path.display()))
        .map_err(CommandError::usage)?;
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .and_then(|line| line.parse().ok())
        .ok_or_else(|| {
            CommandError::usage(anyhow!(
                "`{}` holds no secret key: expected a line `AGE-SECRET-KEY-1…`",
                path.display()
            ))
        })
}

/// Writes files into a new folder that only its owner may enter.
fn write_folder(folder: &Path, files: &[NamedFile]) -> Result<(), CommandError> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder
        .create(folder)
        .with_context(|| format!("cannot create the folder `{}`", folder.display()))
        .map_err(CommandError::usage)?;
    for (name, bytes) in files {
        write_private(&folder.join(name), bytes)?;
    }
    Ok(())
}

/// Writes a new file that only its owner may read.
fn write_private(path: &PathBuf, bytes: &[u8]) -> Result<(), anyhow::Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
        .open(path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .with_context(|| format!("cannot write `{}`", path.display()))
}

/// A refusal of the store, with its exit code.
fn refused(error: agon_store::Error) -> CommandError {
    match error {
        agon_store::Error::UnknownCase(_) | agon_store::Error::DamagedCase(_) => {
            CommandError::input_refused(error)
        }
        agon_store::Error::WrongCaseState { .. } => CommandError::usage(error).with_hint(
            "`agon quarantine show` tells what was done; `mark` notes what a person found out",
        ),
        error if error.is_refusal() => CommandError::usage(error),
        error => error.into(),
    }
}

fn say(global: &GlobalArgs, document: &serde_json::Value, text: &str) -> Result<(), CommandError> {
    let text = if global.json {
        format!("{}\n", serde_json::to_string_pretty(document)?)
    } else {
        format!("{text}\n")
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
