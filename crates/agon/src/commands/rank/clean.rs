//! `agon rank --clean`: votes that a cleaning profile excludes are left out.
//!
//! The inputs are read twice: for what a ranking needs, and whole.
//! Both readings keep the same rows in the same order, so that a verdict belongs to a row by its number.

use std::{collections::BTreeMap, num::NonZeroUsize};

use agon_dataset::{
    Aliases, Battles, Progress as Step, ReadOptions, SliceValues, clean::Cleaned, clean::Profile,
};
use anyhow::anyhow;

use super::inputs;
use crate::{
    app::leaderboard::{InputBody, Votes},
    cli::rank::RankArgs,
    commands::{
        cleaning,
        progress::{self, Progress},
        rank::read::{dedup, refused},
    },
    exit_code::CommandError,
};

/// Leaves out what the profile excludes, and counts it by rule in [`InputBody::dropped`].
///
/// # Errors
///
/// Exit code 2 for standard input, which cannot be read twice; 3 for an input that cannot be read, and for one that changes meanwhile.
pub(super) fn clean(
    args: &RankArgs,
    profile: &Profile,
    votes: Votes,
    input: &mut InputBody,
    aliases: Option<&Aliases>,
    n_threads: NonZeroUsize,
    quiet: bool,
) -> Result<Votes, CommandError> {
    let Votes::Rows(mut battles) = votes else {
        return Ok(votes);
    };
    let options = ReadOptions {
        dedup: dedup(args),
        aliases,
        unpack: args.input.unpack.limits(),
        n_threads_max: n_threads.get(),
        ..ReadOptions::default()
    };
    let mut progress = Progress::new(quiet, progress::BYTES);
    let mut on_progress = |step: Step<'_>| {
        progress.show(step.bytes_read, step.bytes_total, || {
            format!(
                "[{}/{}] {} rows cleaned",
                step.source_idx + 1,
                step.n_sources,
                step.rows
            )
        });
    };
    let cleaned = cleaning::clean(
        inputs::inputs(&args.inputs).map_err(refused)?,
        &options,
        profile,
        n_threads,
        &mut on_progress,
    );
    progress.finish();
    let cleaned = cleaned?;
    if cleaned.n_rows() != battles.winner.len() {
        return Err(CommandError::input_refused(anyhow!(
            "{} of {} votes can be cleaned: the others have no row of their own, or the input changed while it was read",
            cleaned.n_rows(),
            battles.winner.len()
        )));
    }
    for (range, source) in battles.sources.iter().zip(&mut input.sources) {
        source.kept = range.clone().filter(|&row| cleaned.is_kept(row)).count() as u64;
    }
    input.kept = cleaned.audit.kept;
    for count in cleaned.audit.rules.iter().filter(|count| count.first > 0) {
        *input
            .dropped
            .entry(count.rule.as_str().to_owned())
            .or_default() += count.first;
    }
    retain(&mut battles, &cleaned);
    Ok(Votes::Rows(battles))
}

/// Refuses inputs that cannot be read twice.
pub(super) fn check(args: &RankArgs) -> Result<(), CommandError> {
    if args.input.clean.is_some() && args.inputs.iter().any(|input| input == "-") {
        return Err(CommandError::usage(anyhow!(
            "`--clean` reads the input twice, which standard input cannot be"
        ))
        .with_hint("write it to a file and give that"));
    }
    Ok(())
}

/// Keeps the rows that cleaning keeps, and the models that they have.
fn retain(battles: &mut Battles, cleaned: &Cleaned) {
    fn keep<T>(values: &mut Vec<T>, cleaned: &Cleaned) {
        let mut row = 0;
        values.retain(|_| {
            row += 1;
            cleaned.is_kept(row - 1)
        });
    }
    let mut n_kept = 0;
    for range in &mut battles.sources {
        let n = range.clone().filter(|&row| cleaned.is_kept(row)).count();
        *range = n_kept..n_kept + n;
        n_kept += n;
    }
    keep(&mut battles.model_a, cleaned);
    keep(&mut battles.model_b, cleaned);
    keep(&mut battles.winner, cleaned);
    for feature in &mut battles.features {
        // In ascending order; what is beyond those that are remembered stays refused.
        let n_before = feature.refused.len();
        let mut n_kept_before = 0;
        let mut row = 0;
        feature.refused.retain_mut(|refused| {
            n_kept_before += (row..refused.battle)
                .filter(|&row| cleaned.is_kept(row))
                .count();
            row = refused.battle;
            let is_kept = cleaned.is_kept(refused.battle);
            refused.battle = n_kept_before;
            is_kept
        });
        feature.n_refused -= (n_before - feature.refused.len()) as u64;
        keep(&mut feature.values, cleaned);
        feature.n_missing = feature.values.iter().filter(|value| value.is_nan()).count() as u64;
        feature.n_from_conversations = feature.n_from_conversations.min(n_kept as u64);
    }
    if let Some(judges) = &mut battles.judges {
        keep(&mut judges.codes, cleaned);
        let mut numbers = BTreeMap::new();
        for code in judges.codes.iter_mut().filter(|code| **code != u32::MAX) {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *code = *numbers.entry(*code).or_insert(next);
        }
        judges.n_judges = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    }
    for column in [&mut battles.times, &mut battles.weights]
        .into_iter()
        .flatten()
    {
        keep(column, cleaned);
    }
    for slice in &mut battles.slices {
        match &mut slice.values {
            SliceValues::One(labels) => keep(&mut labels.codes, cleaned),
            SliceValues::Many { bits, .. } => keep(bits, cleaned),
        }
    }
    // A model that is left without a row is on no board.
    let mut has_row = vec![false; battles.models.len()];
    for &model in battles.model_a.iter().chain(&battles.model_b) {
        has_row[model as usize] = true;
    }
    let mut positions = vec![0_u32; has_row.len()];
    let mut models = Vec::new();
    for (idx, name) in std::mem::take(&mut battles.models).into_iter().enumerate() {
        if has_row[idx] {
            positions[idx] = u32::try_from(models.len()).unwrap_or(u32::MAX);
            models.push(name);
        }
    }
    battles.models = models;
    for model in battles.model_a.iter_mut().chain(&mut battles.model_b) {
        *model = positions[*model as usize];
    }
}
