//! The pictures of imported rows: found, held against the limits by their headers, and kept as they came.
//!
//! None is decoded: [`super::normalised_image`] makes one fit when somebody first asks for it.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
};

use agon_content::image::{ImageLimits, inspect};
use agon_dataset::RowImage;
use agon_store::{
    ImportId, KeptImage, NewOriginal, OriginalId, OriginalMeta, OriginalState, Store,
    WrittenOriginal,
};
use axum::body::Bytes;
use sha2::{Digest as _, Sha256};

use crate::app::{images::picture_format, leaderboard::Threads};

/// Why a picture is not there, beside the codes of [`agon_content::image::ImageError`].
pub const IMAGE_MISSING: &str = "image_missing";
/// The source has the picture's name alone, and no folder was given in which it is looked for.
pub const IMAGE_NOT_GIVEN: &str = "image_not_given";
/// The picture's file cannot be read.
pub const IMAGE_UNREADABLE: &str = "image_unreadable";

/// The source says that moderation refused the row: its pictures are not copied.
pub const IMAGE_FLAGGED: &str = "image_flagged";

/// What the names of pictures beside a log end in.
const EXTENSIONS: [&str; 8] = ["png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff"];

/// Where pictures are looked for, and what they may cost.
#[derive(Clone, Debug)]
pub(super) struct ImageSource {
    pub(super) folder: Option<PathBuf>,
    pub(super) limits: ImageLimits,
    pub(super) n_threads: Threads,
}

/// A picture of a row.
pub(super) struct Picture {
    pub(super) image: RowImage,
    /// Whether the source says that moderation refused the row.
    pub(super) is_flagged: bool,
}

/// What is known of one picture by its bytes.
enum Found {
    Bytes {
        bytes: Bytes,
        id: OriginalId,
        legacy_md5: Option<[u8; 16]>,
    },
    Nothing(&'static str),
}

/// What became of the pictures of some rows.
pub(super) struct Kept {
    /// Of each in its order, which image it is or why it is none.
    pub(super) fates: Vec<Result<KeptImage, String>>,
    /// Those whose bytes were written for it.
    pub(super) written: Vec<WrittenOriginal>,
}

impl ImageSource {
    /// Keeps all pictures of some rows. The same bytes are kept once in a store.
    ///
    /// `on_their_way` are those that were written for rows before, which the store may not know of yet.
    pub(super) async fn keep(
        &self,
        store: &Store,
        import: ImportId,
        images: Vec<Picture>,
        on_their_way: Option<&HashSet<OriginalId>>,
    ) -> Result<Kept, agon_store::Error> {
        if images.is_empty() {
            return Ok(Kept {
                fates: Vec::new(),
                written: Vec::new(),
            });
        }
        let found = self.each(images, |image| self.find(image));
        let is_on_its_way =
            |id: &OriginalId| on_their_way.is_some_and(|written| written.contains(id));
        let mut ids: Vec<OriginalId> = found
            .iter()
            .filter_map(|found| match found {
                Found::Bytes { id, .. } if !is_on_its_way(id) => Some(*id),
                Found::Bytes { .. } | Found::Nothing(_) => None,
            })
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let known = store.original_states(&ids).await?;
        let mut fates = Vec::with_capacity(found.len());
        let mut first_seen = HashSet::new();
        let mut new = Vec::new();
        for found in found {
            match found {
                Found::Nothing(problem) => fates.push(Err(problem)),
                Found::Bytes {
                    bytes,
                    id,
                    legacy_md5,
                } => {
                    fates.push(Ok(id));
                    let is_kept = known.contains_key(&id) || is_on_its_way(&id);
                    if !is_kept && first_seen.insert(id) {
                        new.push((bytes, id, legacy_md5));
                    }
                }
            }
        }
        let inspected = self.each(new, |(bytes, id, legacy_md5)| {
            match inspect(&bytes, &self.limits) {
                Ok(picture) => Ok(NewOriginal {
                    id,
                    bytes,
                    meta: OriginalMeta {
                        format: picture_format(picture.format),
                        width: picture.width_px,
                        height: picture.height_px,
                        legacy_md5,
                    },
                }),
                Err(error) => Err((id, error.code())),
            }
        });
        let mut refused = HashMap::new();
        let mut to_write = Vec::new();
        for inspected in inspected {
            match inspected {
                Ok(original) => to_write.push(original),
                Err((id, code)) => {
                    refused.insert(id, code.to_owned());
                }
            }
        }
        for (id, state) in known {
            if let OriginalState::Refused(code) = state {
                refused.insert(id, code);
            }
        }
        let written = store.write_originals(import, to_write).await?;
        let fates = fates.into_iter().map(|fate| {
            let id = fate.map_err(ToOwned::to_owned)?;
            match refused.get(&id) {
                Some(problem) => Err(problem.clone()),
                None => Ok(KeptImage::Original(id)),
            }
        });
        Ok(Kept {
            fates: fates.collect(),
            written,
        })
    }

    fn find(&self, picture: Picture) -> Found {
        if picture.is_flagged {
            return Found::Nothing(IMAGE_FLAGGED);
        }
        let image = picture.image;
        let digits = image.md5.as_deref().filter(|md5| is_md5(md5));
        let legacy_md5 = digits.and_then(md5_bytes);
        let bytes = match (image.bytes, digits, &self.folder) {
            (Some(bytes), ..) => Ok(bytes),
            (None, Some(md5), Some(folder)) => read(folder, md5, self.limits.bytes_max),
            (None, ..) => Err(IMAGE_NOT_GIVEN),
        };
        match bytes {
            Ok(bytes) => Found::Bytes {
                id: OriginalId::from_bytes(Sha256::digest(&bytes).into()),
                bytes,
                legacy_md5,
            },
            Err(problem) => Found::Nothing(problem),
        }
    }

    /// Does something with each, on several threads, and gives the results in the order of what they were made of.
    pub(super) fn each<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        f: impl Fn(T) -> R + Sync,
    ) -> Vec<R> {
        let n = items.len();
        // Taken one by one, as a large picture takes a hundred times as long as a small one.
        let items = Mutex::new(items.into_iter().enumerate());
        let next = || {
            items
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .next()
        };
        let work = || {
            let mut done = Vec::new();
            while let Some((idx, item)) = next() {
                done.push((idx, f(item)));
            }
            done
        };
        let mut done: Vec<(usize, R)> = thread::scope(|scope| {
            let workers: Vec<_> = (0..self.n_threads.get().min(n))
                .map(|_| scope.spawn(work))
                .collect();
            workers
                .into_iter()
                .flat_map(|worker| match worker.join() {
                    Ok(done) => done,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        });
        done.sort_unstable_by_key(|(idx, _)| *idx);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

/// Whether a text is 32 hexadecimal digits, so that no name from a log becomes a path that leads elsewhere.
fn is_md5(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn md5_bytes(digits: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

/// The bytes of a picture in the folder, one more than accepted at most: which is then too large.
fn read(folder: &Path, md5: &str, bytes_max: u64) -> Result<Bytes, &'static str> {
    for extension in EXTENSIONS {
        let path = folder.join(format!("{md5}.{extension}"));
        // Opening a pipe would wait for somebody who writes.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(IMAGE_UNREADABLE);
        }
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => return Err(IMAGE_UNREADABLE),
        };
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let mut bytes = Vec::new();
        let mut file = file.take(bytes_max.saturating_add(1));
        return match is_file.then(|| file.read_to_end(&mut bytes)) {
            Some(Ok(_)) => Ok(bytes.into()),
            Some(Err(_)) | None => Err(IMAGE_UNREADABLE),
        };
    }
    Err(IMAGE_MISSING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_32_hexadecimal_digits_name_a_file() {
        for (text, expected) in [
            ("0123456789abcdefABCDEF0123456789", true),
            ("../../../../../../../../etc/pass", false),
            ("0123456789abcdef0123456789abcde", false),
            ("", false),
        ] {
            assert_eq!(is_md5(text), expected, "{text}");
        }
        let digits = "00ff0102030405060708090a0b0c0d0e";
        assert_eq!(md5_bytes(digits).map(|bytes| bytes[1]), Some(255));
    }
}
