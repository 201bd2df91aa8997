//! A folder with a dataset: written beside its target, and renamed into place whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::{Error, ReleaseFile, decode::window::hexadecimal};

/// A folder under way.
#[derive(Debug)]
pub(crate) struct DatasetFolder {
    target: PathBuf,
    /// Removed with all that is in it unless the folder was moved out of it.
    temporary: TempDir,
    folder: PathBuf,
    /// What the manifests of this kind of folder call themselves.
    schema: &'static str,
    replace: bool,
}

impl DatasetFolder {
    /// Begins a folder that ends as `target`, which must not exist, be empty, or hold an earlier one of the same `schema` that `replace` allows to replace.
    ///
    /// # Errors
    ///
    /// [`Error::TargetNotEmpty`], [`Error::TargetNotARelease`] or [`Error::Write`].
    pub(crate) fn create(
        target: &Path,
        schema: &'static str,
        replace: bool,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Write {
            path: target.to_owned(),
            source,
        };
        // What a link leads to is replaced, not the link.
        let resolved = match fs::symlink_metadata(target) {
            Ok(metadata) if metadata.is_symlink() => fs::canonicalize(target).map_err(failed)?,
            _ => target.to_owned(),
        };
        let target = resolved.as_path();
        check_target(target, schema, replace)?;
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(failed)?;
        let temporary = tempfile::Builder::new()
            .prefix(".release-")
            .tempdir_in(parent)
            .map_err(failed)?;
        // A folder of its own inside: the outer one can be entered by nobody else, which a dataset should not be.
        let inner = temporary.path().join("release");
        fs::create_dir_all(inner.join("data")).map_err(failed)?;
        Ok(Self {
            target: target.to_owned(),
            temporary,
            folder: inner,
            schema,
            replace,
        })
    }

    /// Where it is until it is in place.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Where it will be.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Writes a file of text.
    pub(crate) fn write_text(&self, name: &str, text: &str) -> Result<ReleaseFile, Error> {
        let path = self.folder.join(name);
        File::create(&path)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            })
            .map_err(|source| Error::Write { path, source })?;
        Ok(ReleaseFile {
            path: name.to_owned(),
            bytes: text.len() as u64,
            sha256: hexadecimal(&Sha256::digest(text)),
            rows: None,
        })
    }

    /// Makes it what is found at the target.
    ///
    /// # Errors
    ///
    /// Those of [`DatasetFolder::create`]. The target is then as it was.
    pub(crate) fn move_into_place(&self) -> Result<(), Error> {
        // Somebody may have put something there in the meantime.
        check_target(&self.target, self.schema, self.replace)?;
        let failed = |source| Error::Write {
            path: self.target.clone(),
            source,
        };
        let old = self.temporary.path().join("replaced");
        let is_there = self.target.exists();
        if is_there {
            // The old one goes with the temporary folder when the new one is in place.
            fs::rename(&self.target, &old).map_err(failed)?;
        }
        fs::rename(&self.folder, &self.target).map_err(|source| {
            if is_there {
                // If putting the old one back fails too, the first error still says what happened.
                let _ = fs::rename(&old, &self.target);
            }
            failed(source)
        })
    }
}

/// Checks that a dataset may go to `folder`.
fn check_target(folder: &Path, schema: &str, replace: bool) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: folder.to_owned(),
        source,
    };
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    if !replace {
        return Err(Error::TargetNotEmpty {
            path: folder.to_owned(),
        });
    }
    foreign(folder, schema).map_or(Ok(()), |detail| {
        Err(Error::TargetNotARelease {
            path: folder.to_owned(),
            detail,
        })
    })
}

/// What is in a folder that a release did not put there, in words. Replacing would delete it.
fn foreign(folder: &Path, schema: &str) -> Option<String> {
    let listed = fs::read(folder.join("manifest.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
        .filter(|manifest| manifest["schema"] == schema)
        .and_then(|manifest| {
            let files = manifest["files"].as_array()?;
            files
                .iter()
                .map(|file| Some(folder.join(file["path"].as_str()?)))
                .collect::<Option<Vec<_>>>()
        });
    let Some(mut expected) = listed else {
        return Some("it has no `manifest.json` of a release".to_owned());
    };
    let mut folders: Vec<PathBuf> = [folder.to_owned(), folder.join("data")]
        .into_iter()
        .chain(
            expected
                .iter()
                .filter_map(|file| file.parent().map(Path::to_owned)),
        )
        .filter(|inside| inside.starts_with(folder))
        .collect();
    folders.sort();
    folders.dedup();
    expected.push(folder.join("manifest.json"));
    expected.extend(folders.iter().cloned());
    for inside in folders {
        let Ok(entries) = fs::read_dir(&inside) else {
            return Some(format!("`{}` cannot be listed", inside.display()));
        };
        for entry in entries {
            let Ok(entry) = entry else {
                return Some(format!("`{}` cannot be listed", inside.display()));
            };
            let path = entry.path();
            if !expected.contains(&path) {
                return Some(format!(
                    "`{}` is not a file of the release that is there",
                    path.display()
                ));
            }
        }
    }
    None
}
