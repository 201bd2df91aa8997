//! Configuration and flags → who looks, and what follows.

use std::{path::Path, sync::Arc};

use agon_domain::{Action, FindingKind, SystemClock};
use anyhow::Context as _;

use crate::{
    app::screening::{Screener, build},
    cli::{GlobalArgs, RulesArgs},
    commands::serve::load_config,
    config::{
        Config,
        screening::{HashListConfig, PurposeConfig, WordListConfig, rule_place},
    },
    exit_code::CommandError,
};

/// How long a local detector may take at least, in milliseconds: nobody waits for a page here, and a busy machine is no reason to leave rows out.
const LOCAL_MS_MAX: u64 = 300_000;

/// The configuration with the flags over it.
///
/// # Errors
///
/// Exit code 2 with the key, the value and what is accepted.
pub(super) fn config(
    global: &GlobalArgs,
    args: &RulesArgs,
    n_threads: usize,
) -> Result<Config, CommandError> {
    let mut config = load_config(global)?;
    let flags = PurposeConfig {
        actions: args.policy.iter().cloned().collect(),
        ..PurposeConfig::default()
    };
    let flags = flags
        .check("screening.release.actions")
        .map_err(CommandError::usage)?;
    let screening = &mut config.screening;
    let release = &mut screening.release;
    release.allows_unanswered |= args.allow_unanswered;
    for (place, action) in flags.actions {
        release.actions.retain(|(other, _)| *other != place);
        release.actions.push((place, action));
    }
    if !args.only.is_empty() {
        let is_wanted = |kind: &FindingKind| args.only.contains(kind);
        release.actions.retain(|((kind, _), _)| is_wanted(kind));
        let others = FindingKind::ALL.into_iter().filter(|kind| !is_wanted(kind));
        release
            .actions
            .extend(others.map(|kind| ((kind, None), Action::Off)));
    }
    for (key, threshold) in &args.threshold {
        let place = rule_place("screening.thresholds", key).map_err(CommandError::usage)?;
        screening.thresholds.retain(|(other, _)| *other != place);
        screening.thresholds.push((place, *threshold));
    }
    screening.check_entities().map_err(CommandError::usage)?;
    if let Some(folder) = &args.detectors {
        check_folder(folder)?;
        screening.detectors_dir.clone_from(folder);
    }
    let raw = &mut config.raw.screening;
    raw.at_once_max = raw.at_once_max.max(n_threads);
    raw.local_ms_max = raw.local_ms_max.max(LOCAL_MS_MAX);
    let hash_lists = args.hash_list.iter().map(|file| HashListConfig {
        file: file.clone(),
        name: None,
        version: None,
    });
    raw.hash_lists.extend(hash_lists);
    let word_lists = args.word_list.iter();
    raw.word_lists
        .extend(word_lists.map(|file| WordListConfig { file: file.clone() }));
    Ok(config)
}

/// Refuses a folder for model files that is none.
///
/// # Errors
///
/// Exit code 2.
pub(super) fn check_folder(folder: &Path) -> Result<(), CommandError> {
    if folder.is_dir() {
        return Ok(());
    }
    Err(CommandError::usage(anyhow::anyhow!(
        "`--detectors {}` is no folder",
        folder.display()
    ))
    .with_hint("fill one with `agon detectors install`"))
}

/// Everyone who looks under this configuration. A known image is left out here, not sealed: that is done where it comes in.
///
/// # Errors
///
/// Exit code 2 with the key and the file that cannot be used.
pub(super) fn screener(config: &Config) -> Result<Screener, CommandError> {
    let detectors = build::detectors(config)
        .context("screening cannot begin")
        .map_err(CommandError::usage)?;
    Ok(Screener::new(
        config,
        detectors,
        Arc::new(SystemClock),
        None,
    ))
}
