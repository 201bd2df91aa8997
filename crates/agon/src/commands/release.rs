//! `agon release`: the store's votes as a dataset folder.

mod screened;

use std::{fs, io::Write as _, path::Path, sync::Arc};

use agon_dataset::{
    Error, Label, Licence, Record, ReleaseImage, ReleaseOptions, ReleaseSummary, ReleaseWriter,
    RowLabels, Screening, Unpublishable,
};
use agon_domain::{Battle, Clock as _, Purpose, SystemClock, Winner};
use agon_store::{Annotation, Store};
use anyhow::{Context as _, anyhow};
use serde_json::json;

use crate::{
    app::{
        annotation::{self, Tools, stored},
        providers, pseudonym,
        screening::{Screener, Standing},
    },
    cli::{GlobalArgs, ReleaseArgs},
    commands::{
        progress::{self, Progress},
        serve::{load_config, random_bytes},
    },
    config::Config,
    exit_code::CommandError,
    telemetry,
};

use screened::{Admitted, LeftOut, ReleaseScreening};

/// How many battles are held in memory at a time.
const PAGE_BATTLES: u32 = 64;

/// Writes a release.
///
/// # Errors
///
/// Exit code 2 for a target or a configuration that cannot be used; 3 when there is no vote that may be released; 1 for everything else.
pub fn run(global: &GlobalArgs, args: ReleaseArgs) -> Result<(), CommandError> {
    telemetry::start(global);
    let config = load_config(global)?;
    let release_key = match &args.release_key {
        Some(path) => read_key(path)?,
        None => random_bytes()?,
    };
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
    let progress = Progress::new(global.quiet, progress::THINGS);
    let (summary, screening) = runtime.block_on(release(&config, &args, &release_key, progress))?;
    print_summary(global, &summary, &screening)
}

async fn release(
    config: &Config,
    args: &ReleaseArgs,
    release_key: &[u8; 32],
    mut progress: Progress,
) -> Result<(ReleaseSummary, ReleaseScreening), CommandError> {
    let store = Store::open(&config.data_dir).await.with_context(|| {
        format!(
            "cannot open the data folder `{}`",
            config.data_dir.display()
        )
    })?;
    let created_at = args.created_at.unwrap_or_else(|| SystemClock.now());
    let screener = Screener::from_config(config, Arc::new(SystemClock), Some(store.clone()))
        .map_err(CommandError::usage)?;
    let mut screening = ReleaseScreening::new(screener, store.clone(), args.allow_unscreened);
    let mut options = options(config, args, created_at);
    let detectors = screening.detectors();
    if !detectors.is_empty() {
        options.screening = Screening::Detectors(detectors);
    }
    let mut writer = ReleaseWriter::create(&args.output, options).map_err(release_error)?;
    let mut n_undecided = 0_u64;
    let newest = store.last_sequence().await?;
    let models = providers::build(config).map_err(CommandError::usage)?;
    let tools = Tools::new(models.iter().map(|(model, _)| model.name.as_str()))?;
    let none = Vec::new();
    let mut after = 0;
    loop {
        progress.show(after, Some(newest.max(after)), || "battles".to_owned());
        let battles = store.voted_battles(after, PAGE_BATTLES).await?;
        let Some(last) = battles.last().and_then(|battle| battle.vote) else {
            break;
        };
        let labels = store.annotations(after, last.sequence).await?;
        after = last.sequence;
        for battle in &battles {
            let admitted = match screening.admit(battle).await? {
                Ok(admitted) => admitted,
                Err(reason) => {
                    n_undecided += u64::from(reason == LeftOut::Undecided);
                    writer.leave_out(reason.as_str(), 1);
                    continue;
                }
            };
            // What was changed is labelled anew: labels are those of the text that is published.
            let there = labels
                .get(&battle.id)
                .filter(|_| !admitted.was_changed)
                .unwrap_or(&none);
            let labels = labels_of(&admitted.battle, there, &tools);
            match record(&store, admitted, &labels, release_key).await? {
                Ok(record) => writer.push(&record).map_err(release_error)?,
                Err(reason) => writer.leave_out(reason.as_str(), 1),
            }
        }
    }
    progress.finish();
    store.close().await;
    match writer.finish() {
        Ok(summary) => Ok((summary, screening)),
        Err(error @ Error::EmptyRelease) if n_undecided > 0 => {
            let missing: Vec<&str> = screening
                .coverage()
                .with(Purpose::Release, Standing::Missing)
                .map(|kind| kind.as_str())
                .collect();
            Err(CommandError::input_refused(error)
                .with_hint(format!("{n_undecided} battles are not fully screened; nothing looks for: {}", missing.join(", ")))
                .with_hint("install detectors, switch kinds off in `[screening.release.actions]`, or read the battles yourself and pass --allow-unscreened; the dataset card will say that it is unscreened"))
        }
        Err(error) => Err(release_error(error)),
    }
}

/// What the labels of a battle come down to. What the arena has not labelled yet is labelled here.
fn labels_of(battle: &Battle, there: &[Annotation], tools: &Tools) -> RowLabels {
    let content = annotation::voted_content(battle);
    let (mut labels, _) = annotation::missing(&annotation::ALL, &content, there, tools);
    let is_new =
        |old: &Label, labels: &[Label]| labels.iter().all(|label| label.annotator != old.annotator);
    for old in there.iter().map(stored::label) {
        if is_new(&old, &labels) {
            labels.push(old);
        }
    }
    annotation::outcome(content.sha256(), labels)
}

/// A battle's record, or why it is left out.
async fn record(
    store: &Store,
    admitted: Admitted,
    labels: &RowLabels,
    release_key: &[u8; 32],
) -> Result<Result<Record, Unpublishable>, CommandError> {
    let battle = &admitted.battle;
    let image = admitted
        .image
        .map(|(bytes, format)| ReleaseImage::new(bytes, format.as_str()));
    let judge = pseudonym::published_id(release_key, battle.voter);
    let record = match Record::from_battle(battle, judge, labels.style.as_ref(), image) {
        Ok(record) => record,
        Err(reason) => return Ok(Err(reason)),
    };
    let consent = store.consent_by_id(battle.consent).await?;
    Ok(Ok(Record {
        language: labels.language.clone(),
        categories: labels.categories,
        consent_version: consent.map(|consent| consent.policy_version),
        ..record
    }))
}

fn options(config: &Config, args: &ReleaseArgs, created_at: jiff::Timestamp) -> ReleaseOptions {
    let release = &config.raw.release;
    let mut options = ReleaseOptions::new(created_at, env!("CARGO_PKG_VERSION"));
    if let Some(name) = args.name.as_ref().or(release.name.as_ref()) {
        options.title.clone_from(name);
    }
    options.replace = args.replace;
    options.contact.clone_from(&config.raw.arena.contact);
    if let Some(terms) = &release.license_terms {
        options.licence = Licence {
            id: release.license.clone(),
            name: release
                .license_name
                .clone()
                .unwrap_or_else(|| release.license.clone()),
            terms: terms.clone(),
        };
    }
    options
}

fn release_error(error: Error) -> CommandError {
    match error {
        Error::TargetNotEmpty { .. } => CommandError::usage(error).with_hint(
            "choose another folder, or replace the release that is there with --replace",
        ),
        Error::TargetNotARelease { .. } => {
            CommandError::usage(error).with_hint("choose another folder")
        }
        Error::EmptyRelease => CommandError::input_refused(error)
            .with_hint("the arena has no vote that can be released"),
        other => CommandError::from(other),
    }
}

fn read_key(path: &Path) -> Result<[u8; 32], CommandError> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the release key `{}`", path.display()))
        .map_err(CommandError::usage)?;
    // A visit's id has the same form: 64 hexadecimal digits.
    text.trim()
        .parse::<agon_domain::VisitId>()
        .map(|id| *id.as_bytes())
        .map_err(|_| {
            CommandError::usage(anyhow!(
                "the release key `{}` does not hold 64 lower-case hexadecimal digits",
                path.display()
            ))
        })
}

fn print_summary(
    global: &GlobalArgs,
    summary: &ReleaseSummary,
    screening: &ReleaseScreening,
) -> Result<(), CommandError> {
    let detectors = screening.detectors();
    let left_out: u64 = summary.left_out.values().sum();
    let text = if global.json {
        let winners: serde_json::Map<_, _> = Winner::ALL
            .into_iter()
            .zip(summary.winners)
            .map(|(winner, n)| (winner.as_str().to_owned(), n.into()))
            .collect();
        let document = json!({
            "folder": summary.folder,
            "battles": summary.n_battles,
            "models": summary.n_models,
            "voters": summary.n_voters,
            "images": summary.n_images,
            "winners": winners,
            "left_out": summary.left_out,
            "screened": !detectors.is_empty(),
            "detectors": detectors,
            "texts_changed": screening.changed.n_texts,
            "pictures_changed": screening.changed.n_pictures,
            "files": summary.files,
        });
        format!("{}\n", serde_json::to_string_pretty(&document)?)
    } else if global.quiet {
        String::new()
    } else {
        let folder = summary.folder.display();
        let mut text = format!(
            "{} battles of {} models by {} voters, with {} images, in {folder}\n{left_out} battles were left out\n",
            summary.n_battles, summary.n_models, summary.n_voters, summary.n_images
        );
        for (reason, n) in &summary.left_out {
            text.push_str(&format!("  {n} {reason}\n"));
        }
        text.push_str(&format!(
            "{} texts and {} pictures were changed before they were written\n",
            screening.changed.n_texts, screening.changed.n_pictures
        ));
        if detectors.is_empty() {
            text.push_str(&format!("UNSCREENED: not everything that has to be looked for was. Read {folder}/README.md, then the data.\n"));
        } else {
            text.push_str(&format!("screened by {}\n", detectors.join(", ")));
        }
        text.push_str(&format!("The leaderboard: agon rank {folder}\n"));
        text
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
