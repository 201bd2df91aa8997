//! Packs: the files that hold the originals of an import one after the other, so that a million pictures are no million files.
//!
//! A pack is only ever appended to, by the one process that holds its lock, and `original_images` knows where each picture is in it.
//! What a process that was killed had appended without a row is cut off when the import goes on.

use std::{
    collections::HashMap,
    fs::{self, File, TryLockError},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::ImportId;
use crate::{Error, error::OnPath as _, folder};

/// The folder of packs in the data folder.
const FOLDER: &str = "originals";

/// The packs that this process appends to, by import; of a store in memory all that there are.
#[derive(Default)]
pub(crate) struct Packs(Mutex<HashMap<ImportId, Arc<Pack>>>);

impl std::fmt::Debug for Packs {
    // Written by hand so that no picture is ever printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packs")
    }
}

/// A pack to append to. Its file is locked for as long as it is open.
pub(crate) struct Pack {
    file: Option<(File, PathBuf)>,
    end: Mutex<End>,
}

/// Where a pack ends.
struct End {
    n_bytes: u64,
    /// How much of it is on the disk for sure.
    n_bytes_flushed: u64,
    /// All of its bytes, in memory.
    bytes: Vec<u8>,
}

impl Packs {
    fn open_ones(&self) -> MutexGuard<'_, HashMap<ImportId, Arc<Pack>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pack of an import that takes battles.
    pub(crate) fn get(&self, import: ImportId) -> Option<Arc<Pack>> {
        self.open_ones().get(&import).cloned()
    }

    /// Opens the pack of an import to append behind `n_bytes`; whatever is there behind them is cut off. `None` when another process has it open.
    ///
    /// Waits for the disk.
    pub(crate) fn open(
        &self,
        data: Option<&Path>,
        import: ImportId,
        n_bytes: u64,
    ) -> Result<Option<Arc<Pack>>, Error> {
        let mut open_ones = self.open_ones();
        if let Some(pack) = open_ones.get(&import) {
            return Ok(Some(Arc::clone(pack)));
        }
        let file = match data {
            None => None,
            Some(data) => {
                let folder = data.join(FOLDER);
                let is_new_folder = !folder
                    .try_exists()
                    .on_path("look for the folder", &folder)?;
                folder::create_private_folder(&folder)?;
                if is_new_folder {
                    folder::sync_folder(data)?;
                }
                let path = place_of(data, import);
                let file = folder::open_private_file(&path)?;
                match file.try_lock() {
                    Ok(()) => {}
                    Err(TryLockError::WouldBlock) => return Ok(None),
                    Err(TryLockError::Error(error)) => {
                        return Err(error).on_path("lock the file", path);
                    }
                }
                let n_bytes_there = file.metadata().on_path("look at the file", &path)?.len();
                if n_bytes_there < n_bytes {
                    return Err(Error::DamagedOriginals {
                        path,
                        n_bytes: n_bytes_there,
                        n_bytes_expected: n_bytes,
                    });
                }
                file.set_len(n_bytes).on_path("shorten the file", &path)?;
                folder::sync_folder(&folder)?;
                Some((file, path))
            }
        };
        let pack = Arc::new(Pack {
            file,
            end: Mutex::new(End {
                n_bytes,
                n_bytes_flushed: n_bytes,
                bytes: Vec::new(),
            }),
        });
        open_ones.insert(import, Arc::clone(&pack));
        Ok(Some(pack))
    }

    /// Lets go of the pack of an import, for others to open. In memory it stays, as there is no other place to read it from.
    pub(crate) fn close(&self, data: Option<&Path>, import: ImportId) {
        if data.is_some() {
            self.open_ones().remove(&import);
        }
    }

    /// Lets go of the pack of a finished import, which stays to be read; without a picture in it nothing stays.
    ///
    /// Waits for the disk.
    pub(crate) fn finish(&self, data: Option<&Path>, import: ImportId) -> Result<(), Error> {
        let pack = self.get(import);
        let is_empty = pack.is_some_and(|pack| pack.end().n_bytes == 0);
        if is_empty {
            return self.remove(data, import);
        }
        self.close(data, import);
        Ok(())
    }

    /// Removes the pack of an import of which nothing is needed.
    ///
    /// Waits for the disk.
    pub(crate) fn remove(&self, data: Option<&Path>, import: ImportId) -> Result<(), Error> {
        if let Some(data) = data {
            let path = place_of(data, import);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).on_path("remove the file", path);
                }
                _ => {}
            }
        }
        // Only now may another process open it, which makes it anew.
        self.open_ones().remove(&import);
        Ok(())
    }

    /// The bytes at a place of a pack; fewer when it ends there.
    ///
    /// Waits for the disk.
    pub(crate) fn read(
        &self,
        data: Option<&Path>,
        import: ImportId,
        position: u64,
        n_bytes: u64,
    ) -> Result<Vec<u8>, Error> {
        let Some(data) = data else {
            let pack = self.get(import);
            return Ok(pack.map_or_else(Vec::new, |pack| {
                let end = pack.end();
                let from = usize::try_from(position).unwrap_or(usize::MAX);
                let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
                let bytes = end.bytes.get(from..).unwrap_or_default();
                bytes[..n_bytes.min(bytes.len())].to_vec()
            }));
        };
        let path = place_of(data, import);
        let mut bytes = Vec::new();
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(bytes),
            Err(error) => return Err(error).on_path("open the file", path),
        };
        file.seek(SeekFrom::Start(position))
            .and_then(|_| file.take(n_bytes).read_to_end(&mut bytes))
            .on_path("read the file", path)?;
        Ok(bytes)
    }
}

impl Pack {
    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends pictures, and returns the place of the first one. They are not yet on the disk.
    ///
    /// Waits for the disk.
    pub(crate) fn append<'b>(
        &self,
        pictures: impl Iterator<Item = &'b [u8]>,
    ) -> Result<u64, Error> {
        let mut end = self.end();
        let first = end.n_bytes;
        let Some((file, path)) = &self.file else {
            for bytes in pictures {
                end.bytes.extend_from_slice(bytes);
            }
            end.n_bytes = end.bytes.len() as u64;
            return Ok(first);
        };
        let mut file = file;
        file.seek(SeekFrom::Start(first))
            .on_path("write the file", path)?;
        // A failure leaves the end where it was, so that what comes next is written over what is there of this.
        let mut n_bytes = first;
        for bytes in pictures {
            file.write_all(bytes).on_path("write the file", path)?;
            n_bytes += bytes.len() as u64;
        }
        end.n_bytes = n_bytes;
        Ok(first)
    }

    /// Brings everything up to `n_bytes` to the disk.
    ///
    /// Waits for the disk.
    pub(crate) fn flush(&self, n_bytes: u64) -> Result<(), Error> {
        let Some((file, path)) = &self.file else {
            return Ok(());
        };
        let n_bytes_written = {
            let end = self.end();
            if end.n_bytes_flushed >= n_bytes {
                return Ok(());
            }
            end.n_bytes
        };
        // Without the lock, so that more is appended meanwhile.
        file.sync_data().on_path("flush the file", path)?;
        let mut end = self.end();
        end.n_bytes_flushed = end.n_bytes_flushed.max(n_bytes_written);
        Ok(())
    }
}

/// The file of a pack.
pub(crate) fn place_of(data: &Path, import: ImportId) -> PathBuf {
    data.join(FOLDER).join(format!("{import}.pack"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_that_lost_bytes_is_not_appended_to() {
        let data = tempfile::tempdir().unwrap();
        let import = ImportId::from_bytes([7; 16]);
        let open = |n_bytes| Packs::default().open(Some(data.path()), import, n_bytes);
        drop(open(0).unwrap());
        fs::write(place_of(data.path(), import), b"12345").unwrap();
        match open(6) {
            Err(Error::DamagedOriginals {
                n_bytes: 5,
                n_bytes_expected: 6,
                ..
            }) => {}
            other => panic!("{:?}", other.map(|pack| pack.is_some())),
        }
        assert!(open(4).unwrap().is_some());
        assert_eq!(fs::read(place_of(data.path(), import)).unwrap(), b"1234");
    }
}
