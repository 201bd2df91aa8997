//! A board as a prior.

use std::{fs, path::Path};

use anyhow::{Context as _, anyhow};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{
    app::leaderboard::{PRIOR_BATTLES, Prior, PriorSetting, Settings},
    exit_code::CommandError,
};

/// What is read of a board.
#[derive(Deserialize)]
struct BoardFile {
    leaderboards: Vec<LeaderboardFile>,
    settings: Option<SettingsFile>,
}

#[derive(Deserialize)]
struct LeaderboardFile {
    models: Vec<ModelFile>,
}

#[derive(Deserialize)]
struct ModelFile {
    model: String,
    rating: f64,
    status: String,
}

#[derive(Deserialize)]
struct SettingsFile {
    scale: f64,
    base: f64,
    init: f64,
    /// Documents of this program say it; what has none is taken for one of its fits.
    method: Option<String>,
}

/// The rated models of the first leaderboard of a board, and what the document says about it.
///
/// # Errors
///
/// Exit code 3 for a file that cannot be read, is no board, or rates nobody.
pub(super) fn read(
    path: &Path,
    battles: Option<f64>,
) -> Result<(Prior, PriorSetting), CommandError> {
    let bytes = fs::read(path)
        .with_context(|| format!("cannot read `{}`", path.display()))
        .map_err(CommandError::input_refused)?;
    let board: BoardFile = serde_json::from_slice(&bytes)
        .with_context(|| format!("`{}` is no board", path.display()))
        .map_err(|error| {
            CommandError::input_refused(error)
                .with_hint("a prior is what `agon rank --json` writes")
        })?;
    let defaults = Settings::default();
    let scale = board.settings.unwrap_or(SettingsFile {
        scale: defaults.scale,
        base: defaults.base,
        init: defaults.init,
        method: None,
    });
    if let Some(method) = scale
        .method
        .as_deref()
        .filter(|method| *method != "bradley-terry")
    {
        return Err(CommandError::input_refused(anyhow!(
            "`{}` has the method `{method}`, whose ratings are no strengths of a fit",
            path.display()
        ))
        .with_hint("a prior is a board of `--method bt`"));
    }
    let battles = battles.unwrap_or(PRIOR_BATTLES);
    let ratings = board
        .leaderboards
        .into_iter()
        .next()
        .map(|leaderboard| leaderboard.models)
        .unwrap_or_default()
        .into_iter()
        .filter(|model| model.status == "rated")
        .map(|model| (model.model, model.rating));
    let prior = Prior::new(ratings, scale.scale, scale.base, scale.init, battles)
        .with_context(|| format!("`{}`", path.display()))
        .map_err(CommandError::input_refused)?;
    let sha256 = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let setting = PriorSetting {
        path: path.display().to_string(),
        sha256,
        battles,
    };
    Ok((prior, setting))
}
