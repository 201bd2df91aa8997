//! Secrets in files of the data folder, never in the database: who has a backup of the database has no key.

use std::{fs::File, io::Read as _, path::Path, sync::PoisonError};

use crate::{Error, Place, Store, blocking, error::OnPath as _, folder};

/// The file of the key that turns an address into a voter's pseudonym.
const VOTER_KEY: &str = "voter.key";
const SECRET_BYTES: usize = 32;

impl Store {
    /// The key that turns an address into a voter's pseudonym: `new_bytes` when there is none yet, else the one that there is.
    ///
    /// # Errors
    ///
    /// As [`Store::ensure_secret`].
    pub async fn voter_key(&self, new_bytes: [u8; 32]) -> Result<[u8; 32], Error> {
        self.ensure_secret(VOTER_KEY, new_bytes).await
    }

    /// The secret with this file name: `new_bytes` (32 random ones) when there is none yet, else the one that there is.
    ///
    /// It appears whole or not at all, and of several processes that create it at once all get the same one.
    /// A file that is damaged or that others may read is refused rather than replaced.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a name that is not lower-case letters, digits, `-` and `.`, and starts with a letter; [`Error::BadSecret`], [`Error::Io`].
    pub async fn ensure_secret(&self, name: &str, new_bytes: [u8; 32]) -> Result<[u8; 32], Error> {
        let is_name = name.starts_with(|first: char| first.is_ascii_lowercase())
            && name
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'));
        if !is_name {
            return Err(Error::Invalid {
                field: "name of a secret",
                expected: "lower-case letters, digits, `-` and `.`, a letter first",
            });
        }
        match &*self.place {
            Place::Folder(folder) => {
                let (folder, path) = (folder.clone(), folder.join(name));
                blocking(move || ensure(&folder, &path, &new_bytes)).await
            }
            Place::Memory { secrets, .. } => {
                let mut secrets = secrets.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(*secrets.entry(name.to_owned()).or_insert(new_bytes))
            }
        }
    }
}

fn ensure(folder: &Path, path: &Path, new_bytes: &[u8; 32]) -> Result<[u8; 32], Error> {
    let exists = path.try_exists().on_path("look for the secret", path)?;
    if !exists {
        let file = folder::write_temporary(folder, new_bytes)?;
        match file.persist_noclobber(path) {
            Ok(_) => folder::sync_folder(folder)?,
            // Another process was faster; its secret counts.
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error).on_path("create the secret", path),
        }
    }
    read(path)
}

fn read(path: &Path) -> Result<[u8; 32], Error> {
    let bad = |problem: String| Error::BadSecret {
        path: path.to_owned(),
        problem,
    };
    let mut file = File::open(path).on_path("open the secret", path)?;
    let metadata = file.metadata().on_path("inspect the secret", path)?;
    if !metadata.is_file() {
        return Err(bad("it is not a file".to_owned()));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(bad(format!(
                "its mode is `{mode:03o}`, which lets others use it: expected `600`"
            )));
        }
    }
    if metadata.len() != SECRET_BYTES as u64 {
        return Err(bad(format!(
            "it has `{}` bytes: expected {SECRET_BYTES}",
            metadata.len()
        )));
    }
    let mut bytes = [0; SECRET_BYTES];
    file.read_exact(&mut bytes)
        .on_path("read the secret", path)?;
    Ok(bytes)
}
