//! The data folder: who may read it, what is flushed, and the lock of the server that owns it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::Path,
};

use tempfile::NamedTempFile;

use crate::{Error, error::OnPath as _};

/// Creates a folder that only its owner may enter. One that exists stays as it is.
pub(crate) fn create_private_folder(path: &Path) -> Result<(), Error> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path).on_path("create the folder", path)
}

/// Creates an empty file that only its owner may read, or opens the one that exists.
pub(crate) fn open_private_file(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path).on_path("open the file", path)
}

/// Writes the bytes to a new temporary file in `folder`, readable by its owner alone, and flushes them to the disk.
///
/// The caller gives the file its name by a rename, so that no reader ever sees half of it.
pub(crate) fn write_temporary(folder: &Path, bytes: &[u8]) -> Result<NamedTempFile, Error> {
    let write = || -> io::Result<NamedTempFile> {
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    write().on_path("write a file in", folder)
}

/// Makes a rename or a new file in `folder` survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .on_path("flush the folder", folder)
}

/// The folder that holds `path`, which may be relative to the working folder.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent()
        .map_or(path, |parent| match parent.as_os_str().is_empty() {
            true => Path::new("."),
            false => parent,
        })
}

/// The bytes of a file, or `None` when there is no such file.
pub(crate) fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).on_path("read the file", path),
    }
}

/// Held by the one process that serves from a data folder. The system releases it when the process ends, however it ends.
#[derive(Debug)]
#[must_use = "the folder is free again as soon as the lock is dropped"]
pub struct ServingLock(
    #[expect(dead_code, reason = "held for its lock, which ends with the file")] Option<File>,
);

impl ServingLock {
    /// The lock of a store in memory, which nobody else can reach.
    pub(crate) const fn of_memory() -> Self {
        Self(None)
    }

    /// Takes the lock of the folder without waiting.
    pub(crate) fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("agon.lock");
        let file = open_private_file(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => Err(Error::AlreadyServing {
                folder: folder.to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(error).on_path("lock the file", path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_folder_that_can_be_opened() {
        for (path, expected) in [
            ("data", "."),
            ("./data", "."),
            ("some/data", "some"),
            ("/data", "/"),
            ("/", "/"),
        ] {
            assert_eq!(parent_of(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
