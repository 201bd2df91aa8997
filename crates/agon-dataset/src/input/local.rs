//! Files, folders and patterns of this machine.

use std::{
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use glob::Pattern;

use super::{Content, Source};
use crate::Error;

/// As in a shell, hidden files are matched by patterns that say so only.
const MATCH_OPTIONS: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The paths that match a pattern, in the order of their names.
///
/// Only the patterns are the `glob` crate's: its walk through folders panics at a name that is not UTF-8.
pub(super) fn matching(pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let parsed = |text: &str| {
        Pattern::new(text).map_err(|source| Error::BadPattern {
            pattern: pattern.to_owned(),
            source,
        })
    };
    parsed(pattern)?;
    let mut found = vec![PathBuf::new()];
    for component in Path::new(pattern).components() {
        let part = match component {
            Component::Normal(part) => part.to_str().filter(|part| part.contains(['*', '?', '['])),
            _ => None,
        };
        let mut next = Vec::new();
        match part {
            None => {
                let paths = found.into_iter().map(|path| path.join(component));
                next.extend(paths.filter(|path| fs::symlink_metadata(path).is_ok()));
            }
            Some("**") => {
                for path in found {
                    add_folders(path, &mut next)?;
                }
            }
            Some(part) => {
                let part = parsed(part)?;
                for path in found {
                    let names = names_in(&path)?;
                    let names = names
                        .into_iter()
                        .filter(|name| part.matches_with(&name.to_string_lossy(), MATCH_OPTIONS));
                    next.extend(names.map(|name| path.join(name)));
                }
            }
        }
        found = next;
    }
    Ok(found)
}

/// A folder and all that are in it, hidden ones and links left out.
fn add_folders(folder: PathBuf, all: &mut Vec<PathBuf>) -> Result<(), Error> {
    let names = names_in(&folder)?;
    let below: Vec<PathBuf> = names
        .into_iter()
        .filter(|name| !name.as_encoded_bytes().starts_with(b"."))
        .map(|name| folder.join(name))
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()))
        .collect();
    all.push(folder);
    for folder in below {
        add_folders(folder, all)?;
    }
    Ok(())
}

/// The names in a folder, sorted; none where there is no folder.
fn names_in(folder: &Path) -> Result<Vec<OsString>, Error> {
    let here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let names = fs::read_dir(here).and_then(|entries| {
        entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<Vec<_>>>()
    });
    match names {
        Ok(mut names) => {
            names.sort_unstable();
            Ok(names)
        }
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        Err(source) => Err(Error::Read {
            path: here.display().to_string(),
            source,
        }),
    }
}

/// Adds a file, or the files of a folder.
pub(super) fn add_path(path: PathBuf, sources: &mut Vec<Source>) -> Result<(), Error> {
    let metadata = fs::metadata(&path).map_err(|source| Error::Read {
        path: path.display().to_string(),
        source,
    })?;
    if !metadata.is_dir() {
        sources.push(Source {
            path: path.display().to_string(),
            content: Content::File(path),
            member: None,
            is_incidental: false,
        });
        return Ok(());
    }
    let data = path.join("data");
    let mut files = if data.is_dir() {
        files_in(&data)?
    } else {
        Vec::new()
    };
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "parquet")
    });
    let is_release = !files.is_empty();
    if !is_release {
        files = files_in(&path)?;
    }
    if files.is_empty() {
        return Err(Error::NothingToRead {
            input: path.display().to_string(),
            detail: "the folder has neither `data/*.parquet` nor other files",
        });
    }
    sources.extend(files.into_iter().map(|file| Source {
        path: file.display().to_string(),
        content: Content::File(file),
        member: None,
        is_incidental: !is_release,
    }));
    Ok(())
}

/// The files of a folder, hidden ones left out, in the order of their names.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: folder.display().to_string(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    files.sort_unstable();
    Ok(files)
}
