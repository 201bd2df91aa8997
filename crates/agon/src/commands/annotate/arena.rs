//! Labels for the battles of the arena, kept in its store.

use agon_content::annotate::duplicates::{DUPLICATES_ANNOTATOR, DuplicateOptions, DuplicateScan};
use agon_dataset::Label;
use agon_domain::{Battle, Clock as _, SystemClock};
use agon_providers::RequestImage;
use agon_store::Store;
use anyhow::{Context as _, anyhow};

use super::{
    Chosen,
    labeller::Labeller,
    summary::{self, Summary},
};
use crate::{
    app::{
        annotation::{
            Tools, duplicate_label, missing, prompt_text, questions::Subject, stored, voted_content,
        },
        providers,
    },
    cli::{AnnotateArgs, GlobalArgs},
    commands::{
        progress::{self, Progress},
        serve::load_config,
    },
    exit_code::CommandError,
    telemetry,
};

/// How many battles are held in memory at a time.
const PAGE_BATTLES: u32 = 64;

/// Annotates what the arena has votes on.
pub(super) fn run(global: &GlobalArgs, args: &AnnotateArgs) -> Result<(), CommandError> {
    let chosen = Chosen::new(&args.only)?;
    telemetry::start(global);
    let config = load_config(global)?;
    if !config.data_dir.join("agon.db").is_file() {
        return Err(CommandError::input_refused(anyhow!(
            "there is no arena in `{}`",
            config.data_dir.display()
        ))
        .with_hint("name files to annotate, or the arena's data folder with --data-dir"));
    }
    let labeller = Labeller::new(global, args)?;
    let names: Vec<String> = providers::build(&config)
        .map_err(CommandError::usage)?
        .into_iter()
        .map(|(model, _)| model.name)
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let store = runtime
        .block_on(Store::open(&config.data_dir))
        .with_context(|| {
            format!(
                "cannot open the data folder `{}`",
                config.data_dir.display()
            )
        })?;
    let mut walk = Walk {
        runtime: &runtime,
        store: &store,
        progress: Progress::new(global.quiet, progress::THINGS),
    };
    let mut names: std::collections::BTreeSet<String> = names.into_iter().collect();
    let mut duplicates = match chosen.has_duplicates {
        true => Some(DuplicateScan::new(DuplicateOptions::default())?),
        false => None,
    };
    // Models that the configuration no longer has still have their answers here.
    walk.pages("looking for duplicates", |battles, _| {
        for battle in battles {
            names.extend([battle.models.a.clone(), battle.models.b.clone()]);
            if let Some(duplicates) = &mut duplicates {
                let content = voted_content(battle);
                let image = content.first_image().map(str::as_bytes);
                duplicates.add(&prompt_text(&content), image);
            }
        }
        Ok(())
    })?;
    let duplicates = duplicates.map(DuplicateScan::finish);
    let tools = Tools::new(names.iter().map(String::as_str))?;
    let mut summary = Summary::default();
    let mut n_battles = 0_usize;
    let (runtime, store) = (walk.runtime, walk.store);
    let none = Vec::new();
    walk.pages("labelling", |battles, after| {
        let last = battles
            .last()
            .and_then(|battle| battle.vote)
            .map_or(after, |vote| vote.sequence);
        let there = runtime.block_on(store.annotations(after, last))?;
        let mut new: Vec<Vec<Label>> = Vec::with_capacity(battles.len());
        for (idx, battle) in battles.iter().enumerate() {
            let content = voted_content(battle);
            let there = there.get(&battle.id).unwrap_or(&none);
            let (mut labels, n_there) = missing(&chosen.registrations, &content, there, &tools);
            summary.n_kept += n_there;
            let duplicate = duplicates
                .as_ref()
                .and_then(|found| found.label(n_battles + idx));
            if let Some(label) = duplicate {
                let label = duplicate_label(&label);
                let old = there
                    .iter()
                    .find(|old| old.annotator == DUPLICATES_ANNOTATOR.name)
                    .map(stored::label);
                if old.as_ref() == Some(&label) {
                    summary.n_kept += 1;
                } else {
                    labels.push(label);
                }
            }
            new.push(labels);
        }
        if let Some(labeller) = &labeller {
            ask(runtime, store, labeller, battles, &there, &mut new)?;
        }
        n_battles += battles.len();
        summary.n_new += new.iter().map(|labels| labels.len() as u64).sum::<u64>();
        let new: Vec<_> = battles
            .iter()
            .zip(&new)
            .filter(|(_, labels)| !labels.is_empty())
            .map(|(battle, labels)| (battle.id, labels.iter().map(stored::annotation).collect()))
            .collect();
        runtime.block_on(store.save_annotations(&new, SystemClock.now()))?;
        Ok(())
    })?;
    walk.progress.finish();
    runtime.block_on(store.close());
    if n_battles == 0 {
        return Err(CommandError::input_refused(anyhow!(
            "the arena has no battle with a vote"
        )));
    }
    let asked = labeller.as_ref().map(Labeller::report);
    summary::print_arena(global, n_battles as u64, &summary, asked.as_ref())
}

/// The battles with a vote, page by page.
struct Walk<'a> {
    runtime: &'a tokio::runtime::Runtime,
    store: &'a Store,
    progress: Progress,
}

impl Walk<'_> {
    fn pages(
        &mut self,
        what: &str,
        mut on_page: impl FnMut(&[Battle], u64) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let newest = self.runtime.block_on(self.store.last_sequence())?;
        let mut after = 0;
        loop {
            self.progress
                .show(after, Some(newest.max(after)), || what.to_owned());
            let battles = self
                .runtime
                .block_on(self.store.voted_battles(after, PAGE_BATTLES))?;
            let Some(last) = battles.last().and_then(|battle| battle.vote) else {
                return Ok(());
            };
            on_page(&battles, after)?;
            after = last.sequence;
        }
    }
}

/// Asks what is missing of a page of battles.
fn ask(
    runtime: &tokio::runtime::Runtime,
    store: &Store,
    labeller: &Labeller,
    battles: &[Battle],
    there: &std::collections::HashMap<agon_domain::BattleId, Vec<agon_store::Annotation>>,
    new: &mut [Vec<Label>],
) -> Result<(), CommandError> {
    let mut jobs = Vec::new();
    let mut subjects = Vec::new();
    for (idx, battle) in battles.iter().enumerate() {
        let content = voted_content(battle);
        let labels: Vec<Label> = there
            .get(&battle.id)
            .map(|labels| labels.iter().map(stored::label).collect())
            .unwrap_or_default();
        let missing = labeller.missing(&labels, content.has_image());
        if missing.is_empty() {
            subjects.push(None);
            continue;
        }
        let image = match battle.turns.iter().find_map(|turn| turn.image) {
            Some(id) if labeller.sees_images() => runtime.block_on(store.image(id))?,
            _ => None,
        };
        let image = image.map(|image| {
            let sha256 = *image.id.as_bytes();
            let request = RequestImage {
                media_type: image.meta.format.media_type().to_owned(),
                width_px: image.meta.width,
                height_px: image.meta.height,
                bytes: image.bytes.into(),
            };
            (sha256, request)
        });
        subjects.push(Some(Subject::new(&content, image)));
        jobs.extend(missing.into_iter().map(|question| (idx, question)));
    }
    labeller.run(&jobs, &subjects, |idx, label| new[idx].push(label))
}
