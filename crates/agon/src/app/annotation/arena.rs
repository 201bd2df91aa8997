//! The arena's own battles, labelled in the background once they have a vote.

use std::collections::BTreeSet;

use agon_dataset::Label;
use agon_domain::{Battle, BattleId};
use agon_store::{Annotation, Error};

use super::{ALL, Content, Registration, Tools, stored};
use crate::app::App;

/// How many battles are labelled at a time.
const PAGE_BATTLES: u32 = 16;

/// The labels that a battle lacks, by these annotators; those that it has are counted.
pub fn missing(
    registrations: &[&'static Registration],
    content: &Content<'_>,
    there: &[Annotation],
    tools: &Tools,
) -> (Vec<Label>, u64) {
    let mut n_there = 0;
    let mut labels = Vec::new();
    for registration in registrations {
        let is_there = there
            .iter()
            .any(|annotation| registration.is_current(&stored::label(annotation)));
        if is_there {
            n_there += 1;
        } else {
            labels.push(registration.label(content, tools));
        }
    }
    (labels, n_there)
}

/// What a vote is about: the turns that it counted.
pub fn voted_content(battle: &Battle) -> Content<'_> {
    Content::of_battle(battle, battle.vote.map_or(0, |vote| vote.n_turns))
}

impl App {
    /// Labels the battles with a vote that lack a label of a present annotator, and says how many were looked at.
    ///
    /// A second call while one runs waits for it.
    ///
    /// # Errors
    ///
    /// Those of the store. What was labelled before is kept.
    pub async fn annotate_votes(&self) -> Result<u64, Error> {
        let mut up_to = self.inner.annotated_up_to.lock().await;
        let mut after = match *up_to {
            Some(sequence) => sequence,
            None => {
                let wanted: Vec<(&str, u32)> = ALL
                    .iter()
                    .map(|registration| {
                        let annotator = registration.annotator;
                        (annotator.name, annotator.version)
                    })
                    .collect();
                match self.store().annotated_up_to(&wanted).await? {
                    Some(sequence) => sequence,
                    None => self.store().last_sequence().await?,
                }
            }
        };
        let mut n_battles = 0;
        while !self.inner.stopping.is_cancelled() {
            let battles = self.store().voted_battles(after, PAGE_BATTLES).await?;
            let Some(last) = battles.last().and_then(|battle| battle.vote) else {
                break;
            };
            let there = self.store().annotations(after, last.sequence).await?;
            n_battles += battles.len() as u64;
            let names = self.models().iter().map(|model| model.name.clone());
            let names: BTreeSet<String> = names.collect();
            // Labels take milliseconds of a core, which the threads of requests do not have to give.
            let labelled = tokio::task::spawn_blocking(move || label_page(&battles, &there, names));
            let labelled = match labelled.await {
                Ok(labelled) => labelled,
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            };
            let at = self.inner.clock.now();
            self.store().save_annotations(&labelled, at).await?;
            after = last.sequence;
            *up_to = Some(after);
        }
        *up_to = Some(after);
        Ok(n_battles)
    }

    /// Labels battles as they get their votes, until the server stops.
    pub async fn keep_annotated(&self) {
        loop {
            if let Err(error) = self.annotate_votes().await {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "battles were not annotated; the next vote tries again"
                );
            }
            tokio::select! {
                () = self.inner.stopping.cancelled() => return,
                () = self.inner.voted.notified() => {}
            }
        }
    }
}

fn label_page(
    battles: &[Battle],
    there: &std::collections::HashMap<BattleId, Vec<Annotation>>,
    mut names: BTreeSet<String>,
) -> Vec<(BattleId, Vec<Annotation>)> {
    for battle in battles {
        names.extend([battle.models.a.clone(), battle.models.b.clone()]);
    }
    // Names beyond what can be searched for are no arena's; the built-in ones still are.
    let Ok(tools) = Tools::new(names.iter().map(String::as_str)).or_else(|_| Tools::new([])) else {
        return Vec::new();
    };
    let none = Vec::new();
    battles
        .iter()
        .filter_map(|battle| {
            let there = there.get(&battle.id).unwrap_or(&none);
            let (labels, _) = missing(&ALL, &voted_content(battle), there, &tools);
            let labels: Vec<Annotation> = labels.iter().map(stored::annotation).collect();
            (!labels.is_empty()).then_some((battle.id, labels))
        })
        .collect()
}
