//! No command writes over what it reads, nor over another of its own outputs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use agon_dataset::Input;
use agon_remote::Remote;
use anyhow::anyhow;

use crate::{commands::rank::read::refused, exit_code::CommandError};

/// A path with the flag, or the word, that brought it.
pub(super) type Named<'a> = (&'static str, &'a Path);

/// A regular file, whether it is there yet or not.
struct Place {
    path: PathBuf,
    /// Device and number, which hard links share.
    inode: Option<(u64, u64)>,
}

impl Place {
    /// Nothing for what is no regular file, such as `/dev/null`: writing there replaces nothing.
    fn of(path: &Path) -> Option<Self> {
        if let Ok(metadata) = fs::metadata(path) {
            return metadata.is_file().then(|| Self {
                path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
                inode: inode(&metadata),
            });
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Some(Self {
            path: folder.join(path.file_name()?),
            inode: None,
        })
    }

    fn is(&self, other: &Self) -> bool {
        self.path == other.path || (self.inode.is_some() && self.inode == other.inode)
    }
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// Refuses outputs that are inputs, other files that are read, or each other.
///
/// # Errors
///
/// Exit code 2 for such an output; 3 for an input that leads nowhere.
pub(super) fn check(
    outputs: &[Named<'_>],
    inputs: &[String],
    others: &[Named<'_>],
) -> Result<(), CommandError> {
    let mut read: Vec<(String, Place)> = Vec::new();
    for argument in inputs {
        if Remote::is_address(argument) {
            continue;
        }
        let files = Input::from_argument(argument)
            .local_files()
            .map_err(refused)?;
        read.extend(files.iter().filter_map(|file| {
            Some((format!("the input `{}`", file.display()), Place::of(file)?))
        }));
    }
    read.extend(others.iter().filter_map(|(flag, path)| {
        Some((format!("`{flag} {}`", path.display()), Place::of(path)?))
    }));
    for (flag, path) in outputs {
        let Some(place) = Place::of(path) else {
            continue;
        };
        if let Some((name, _)) = read.iter().find(|(_, other)| other.is(&place)) {
            return Err(CommandError::usage(anyhow!(
                "`{flag} {}` would write over {name}",
                path.display()
            ))
            .with_hint("write to another file"));
        }
        read.push((format!("`{flag} {}`", path.display()), place));
    }
    Ok(())
}

/// Refuses a file of `--rejects` inside the folder that is written, which it would be lost with, or spoil.
///
/// # Errors
///
/// Exit code 2.
pub(super) fn check_outside(file: &Path, folder: &Path) -> Result<(), CommandError> {
    let parent = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (Ok(parent), Ok(target)) = (fs::canonicalize(parent), fs::canonicalize(folder)) else {
        return Ok(());
    };
    if parent.starts_with(target) {
        return Err(CommandError::usage(anyhow!(
            "`--rejects {}` lies in the folder of --output",
            file.display()
        ))
        .with_hint("write it beside the folder"));
    }
    Ok(())
}
