//! The pictures of imported rows: found, made fit by the one normaliser, and kept by content.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
};

use agon_content::image::{ImageLimits, normalise};
use agon_dataset::RowImage;
use agon_domain::ImageId;
use agon_store::{NewImage, Store};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::app::{images::image_meta, leaderboard::Threads};

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

/// The bytes of a picture that is to be decoded.
struct Original {
    bytes: Vec<u8>,
    legacy_md5: Option<[u8; 16]>,
}

/// What is known of one picture before it is decoded.
enum Found {
    Bytes {
        bytes: Vec<u8>,
        sha256: [u8; 32],
        legacy_md5: Option<[u8; 16]>,
    },
    Nothing(&'static str),
}

impl ImageSource {
    /// Keeps all pictures of some rows, and says of each in its order which image it is or why it is none.
    ///
    /// The same bytes are decoded once, in this batch and in all imports into this store.
    pub(super) async fn keep(
        &self,
        store: &Store,
        images: Vec<Picture>,
        now: Timestamp,
    ) -> Result<Vec<Result<ImageId, String>>, agon_store::Error> {
        if images.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.each(images, |image| self.find(image));
        let mut originals: Vec<[u8; 32]> = found
            .iter()
            .filter_map(|found| match found {
                Found::Bytes { sha256, .. } => Some(*sha256),
                Found::Nothing(_) => None,
            })
            .collect();
        originals.sort_unstable();
        originals.dedup();
        let known = store.images_of_originals(&originals).await?;
        let mut kept: HashMap<[u8; 32], Result<ImageId, String>> = originals
            .iter()
            .zip(known)
            .filter_map(|(original, id)| Some((*original, Ok(id?))))
            .collect();
        let mut fates = Vec::with_capacity(found.len());
        let mut new: HashMap<[u8; 32], Original> = HashMap::new();
        for found in found {
            match found {
                Found::Nothing(problem) => fates.push(Err(problem)),
                Found::Bytes {
                    bytes,
                    sha256,
                    legacy_md5,
                } => {
                    fates.push(Ok(sha256));
                    if !kept.contains_key(&sha256) {
                        new.entry(sha256).or_insert(Original { bytes, legacy_md5 });
                    }
                }
            }
        }
        // In one order, so that another run writes the same.
        let mut new: Vec<_> = new.into_iter().collect();
        new.sort_unstable_by_key(|(sha256, _)| *sha256);
        let normalised = self.each(new, |(sha256, original)| {
            let image = normalise(&original.bytes, &self.limits).map_err(|error| error.code());
            (sha256, original.legacy_md5, image)
        });
        let mut to_store = Vec::new();
        for (sha256, legacy_md5, image) in normalised {
            match image {
                Ok(image) => to_store.push(NewImage {
                    meta: image_meta(&image, legacy_md5, now),
                    bytes: image.bytes,
                    original_sha256: Some(sha256),
                }),
                Err(code) => {
                    kept.insert(sha256, Err(code.to_owned()));
                }
            }
        }
        let of: Vec<_> = to_store
            .iter()
            .filter_map(|image| image.original_sha256)
            .collect();
        for (sha256, id) in of.into_iter().zip(store.put_images(to_store).await?) {
            kept.insert(sha256, Ok(id));
        }
        Ok(fates
            .into_iter()
            .map(|fate| match fate {
                Err(problem) => Err(problem.to_owned()),
                Ok(sha256) => kept
                    .get(&sha256)
                    .cloned()
                    .unwrap_or_else(|| Err(IMAGE_UNREADABLE.to_owned())),
            })
            .collect())
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
                sha256: Sha256::digest(&bytes).into(),
                bytes,
                legacy_md5,
            },
            Err(problem) => Found::Nothing(problem),
        }
    }

    /// Does something with each, on several threads, and gives the results in the order of what they were made of.
    fn each<T: Send, R: Send>(&self, items: Vec<T>, f: impl Fn(T) -> R + Sync) -> Vec<R> {
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

/// The bytes of a picture in the folder, one more than accepted at most: the normaliser then says that it is too large.
fn read(folder: &Path, md5: &str, bytes_max: u64) -> Result<Vec<u8>, &'static str> {
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
            Some(Ok(_)) => Ok(bytes),
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
