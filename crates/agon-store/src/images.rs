//! Images by content: the bytes in a file (or in memory) named by their SHA-256, what is known of them in the database.

use std::{
    path::{Path, PathBuf},
    sync::PoisonError,
};

use agon_domain::ImageId;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use sqlx::FromRow;

use crate::{
    Error, Place, Store, blocking,
    error::{During as _, OnPath as _, read_column},
    folder, id_bytes, microseconds, timestamp,
};

/// How an image is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageFormat {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
    /// Graphics Interchange Format.
    Gif,
    /// Windows or OS/2 bitmap.
    Bmp,
    /// Tagged Image File Format.
    Tiff,
}

impl ImageFormat {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Png,
        Self::Jpeg,
        Self::Webp,
        Self::Gif,
        Self::Bmp,
        Self::Tiff,
    ];

    /// Its canonical spelling, in the database and as the file's extension.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
            Self::Gif => "gif",
            Self::Bmp => "bmp",
            Self::Tiff => "tiff",
        }
    }

    /// Its media type, for instance `image/png`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
            Self::Bmp => "image/bmp",
            Self::Tiff => "image/tiff",
        }
    }

    /// The format with this canonical spelling.
    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == text)
    }

    /// The format with this media type.
    pub fn from_media_type(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|format| format.media_type() == text)
    }
}

/// What is known of an image besides its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageMeta {
    /// How the stored bytes are encoded.
    pub format: ImageFormat,
    /// Width in pixels, upright.
    pub width: u32,
    /// Height in pixels, upright.
    pub height: u32,
    /// MD5 of the pixels, by which older datasets name images; only when imported from one.
    pub legacy_md5: Option<[u8; 16]>,
    /// What was uploaded, before normalisation.
    pub original_format: ImageFormat,
    /// When it was first stored.
    pub created_at: Timestamp,
}

/// An image as it was stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredImage {
    /// SHA-256 of its bytes.
    pub id: ImageId,
    /// Its bytes, which have been checked against the id.
    pub bytes: Vec<u8>,
    /// What is known of it.
    pub meta: ImageMeta,
}

impl std::fmt::Debug for StoredImage {
    // Written by hand so that the bytes never reach a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredImage")
            .field("id", &self.id)
            .field("n_bytes", &self.bytes.len())
            .field("meta", &self.meta)
            .finish()
    }
}

/// An image to be stored.
#[derive(Clone, PartialEq, Eq)]
pub struct NewImage {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What is known of it.
    pub meta: ImageMeta,
    /// SHA-256 of the bytes that it was made from, to recognise them when they come again.
    pub original_sha256: Option<[u8; 32]>,
}

impl std::fmt::Debug for NewImage {
    // Written by hand so that the bytes never reach a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewImage")
            .field("n_bytes", &self.bytes.len())
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}

#[derive(FromRow)]
struct ImageRow {
    format: String,
    width: i64,
    height: i64,
    n_bytes: i64,
    legacy_md5: Option<Vec<u8>>,
    original_format: String,
    created_at: i64,
}

impl ImageRow {
    fn into_meta(self) -> Result<ImageMeta, Error> {
        let format = |text: String, column| {
            read_column(text, column, |text| {
                ImageFormat::from_spelling(&text).ok_or(())
            })
        };
        Ok(ImageMeta {
            format: format(self.format, "images.format")?,
            width: read_column(self.width, "images.width", u32::try_from)?,
            height: read_column(self.height, "images.height", u32::try_from)?,
            legacy_md5: self
                .legacy_md5
                .map(|bytes| id_bytes(bytes, "images.legacy_md5"))
                .transpose()?,
            original_format: format(self.original_format, "images.original_format")?,
            created_at: timestamp(self.created_at, "images.created_at")?,
        })
    }
}

impl Store {
    /// Stores an image and returns its id, the SHA-256 of its bytes.
    ///
    /// The bytes are on the disk before the database knows of them.
    /// Storing the same bytes again is one image, with what was known of it first; a file that was damaged meanwhile is replaced.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for no bytes or no pixels, [`Error::Io`], [`Error::Database`].
    pub async fn put_image(&self, bytes: Vec<u8>, meta: &ImageMeta) -> Result<ImageId, Error> {
        let image = NewImage {
            bytes,
            meta: meta.clone(),
            original_sha256: None,
        };
        let ids = self.put_images(vec![image]).await?;
        ids.into_iter().next().ok_or(Error::Corrupt {
            column: "images.id",
        })
    }

    /// Stores several images as [`Store::put_image`] stores one, in one transaction, and returns their ids in their order.
    ///
    /// The originals that they came from are remembered, for [`Store::images_of_originals`].
    ///
    /// # Errors
    ///
    /// As [`Store::put_image`]; some files are then written, and the database knows of none.
    pub async fn put_images(&self, images: Vec<NewImage>) -> Result<Vec<ImageId>, Error> {
        const ACTION: &str = "store an image";
        let mut rows = Vec::with_capacity(images.len());
        for image in &images {
            let meta = &image.meta;
            if image.bytes.is_empty() || meta.width == 0 || meta.height == 0 {
                return Err(Error::Invalid {
                    field: "image",
                    expected: "at least one byte and one pixel",
                });
            }
            let n_bytes = read_column(image.bytes.len(), "images.n_bytes", i64::try_from)?;
            rows.push((meta.clone(), n_bytes, image.original_sha256));
        }
        let ids = match &*self.place {
            Place::Folder(folder) => {
                let folder = folder.join("images");
                blocking(move || write_all(&folder, &images)).await?
            }
            Place::Memory { images: kept, .. } => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                images
                    .into_iter()
                    .map(|image| {
                        let id = hash(&image.bytes);
                        kept.insert(id, image.bytes);
                        id
                    })
                    .collect()
            }
        };
        let mut transaction = self.database.write().await?;
        for (id, (meta, n_bytes, original_sha256)) in ids.iter().zip(rows) {
            sqlx::query(
                "INSERT INTO images (id, format, width, height, n_bytes, legacy_md5, original_format, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE \
                 SET legacy_md5 = COALESCE(images.legacy_md5, excluded.legacy_md5)",
            )
            .bind(id.as_bytes().as_slice())
            .bind(meta.format.as_str())
            .bind(i64::from(meta.width))
            .bind(i64::from(meta.height))
            .bind(n_bytes)
            .bind(meta.legacy_md5.as_ref().map(<[u8; 16]>::as_slice))
            .bind(meta.original_format.as_str())
            .bind(microseconds(meta.created_at))
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
            if let Some(original_sha256) = original_sha256 {
                sqlx::query(
                    "INSERT INTO image_originals (sha256, image) VALUES ($1, $2) ON CONFLICT (sha256) DO NOTHING",
                )
                .bind(original_sha256.as_slice())
                .bind(id.as_bytes().as_slice())
                .execute(&mut *transaction)
                .await
                .during(ACTION)?;
            }
        }
        transaction.commit().await.during(ACTION)?;
        Ok(ids)
    }

    /// The images that came of originals with these SHA-256, as far as they are remembered, in their order.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn images_of_originals(
        &self,
        originals: &[[u8; 32]],
    ) -> Result<Vec<Option<ImageId>>, Error> {
        const ACTION: &str = "find an image";
        let mut transaction = self.database.read().await?;
        let mut found = Vec::with_capacity(originals.len());
        for original in originals {
            let id: Option<Vec<u8>> =
                sqlx::query_scalar("SELECT image FROM image_originals WHERE sha256 = $1")
                    .bind(original.as_slice())
                    .fetch_optional(&mut *transaction)
                    .await
                    .during(ACTION)?;
            let id = id.map(|id| id_bytes(id, "image_originals.image"));
            found.push(id.transpose()?.map(ImageId::from_bytes));
        }
        transaction.commit().await.during(ACTION)?;
        Ok(found)
    }

    /// What is known of an image, without its bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn image_meta(&self, id: ImageId) -> Result<Option<ImageMeta>, Error> {
        let row = self.image_row(id).await?;
        row.map(ImageRow::into_meta).transpose()
    }

    /// An image, its bytes checked against its id.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedImage`] when the bytes are gone or changed, [`Error::Io`], [`Error::Database`], [`Error::Corrupt`].
    pub async fn image(&self, id: ImageId) -> Result<Option<StoredImage>, Error> {
        let Some(row) = self.image_row(id).await? else {
            return Ok(None);
        };
        let n_bytes = read_column(row.n_bytes, "images.n_bytes", usize::try_from)?;
        let meta = row.into_meta()?;
        let bytes = match &*self.place {
            Place::Folder(folder) => {
                let (_, path) = place_of(&folder.join("images"), id, meta.format);
                blocking(move || folder::read_if_present(&path)).await?
            }
            Place::Memory { images, .. } => images
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&id)
                .cloned(),
        };
        match bytes {
            Some(bytes) if bytes.len() == n_bytes && hash(&bytes) == id => {
                Ok(Some(StoredImage { id, bytes, meta }))
            }
            _ => Err(Error::DamagedImage(id)),
        }
    }

    async fn image_row(&self, id: ImageId) -> Result<Option<ImageRow>, Error> {
        const ACTION: &str = "read an image";
        let mut transaction = self.database.read().await?;
        let row = sqlx::query_as(
            "SELECT format, width, height, n_bytes, legacy_md5, original_format, created_at FROM images WHERE id = $1",
        )
        .bind(id.as_bytes().as_slice())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        Ok(row)
    }
}

pub(crate) fn hash(bytes: &[u8]) -> ImageId {
    ImageId::from_bytes(Sha256::digest(bytes).into())
}

/// The folder and the file of an image: `ab/cdef….png`, so that no folder holds more than a 256th of them.
pub(crate) fn place_of(images: &Path, id: ImageId, format: ImageFormat) -> (PathBuf, PathBuf) {
    let digits = id.to_string();
    let (first, rest) = digits.split_at(2);
    let folder = images.join(first);
    let path = folder.join(format!("{rest}.{}", format.as_str()));
    (folder, path)
}

/// How many images are written at once: the wait is for the disk, which takes several flushes together.
const WRITERS: usize = 8;

/// Writes the files of all images; when it returns, files and folders are on the disk.
fn write_all(images: &Path, new: &[NewImage]) -> Result<Vec<ImageId>, Error> {
    let ids = if let [image] = new {
        vec![write(images, image)?]
    } else {
        let n_each = new.len().div_ceil(WRITERS).max(1);
        std::thread::scope(|scope| {
            let writers: Vec<_> = new
                .chunks(n_each)
                .map(|chunk| {
                    scope.spawn(|| -> Result<Vec<ImageId>, Error> {
                        chunk.iter().map(|image| write(images, image)).collect()
                    })
                })
                .collect();
            let mut ids = Vec::with_capacity(new.len());
            for writer in writers {
                match writer.join() {
                    Ok(written) => ids.extend(written?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok::<_, Error>(ids)
        })?
    };
    let mut folders: Vec<PathBuf> = ids
        .iter()
        .zip(new)
        .map(|(id, image)| place_of(images, *id, image.meta.format).0)
        .collect();
    folders.sort_unstable();
    folders.dedup();
    for folder in folders {
        folder::sync_folder(&folder)?;
    }
    Ok(ids)
}

/// Writes the file of one image. Its folder is left to be flushed.
fn write(images: &Path, image: &NewImage) -> Result<ImageId, Error> {
    let bytes = &image.bytes;
    let id = hash(bytes);
    let (folder, path) = place_of(images, id, image.meta.format);
    let is_new_folder = !folder
        .try_exists()
        .on_path("look for the folder", &folder)?;
    folder::create_private_folder(&folder)?;
    if is_new_folder {
        folder::sync_folder(images)?;
    }
    // A file that is there and whole needs no second writing, and nor does its place need a second flush: it was flushed by whoever wrote it or is flushed here.
    if folder::read_if_present(&path)?.as_deref() != Some(bytes.as_slice()) {
        let file = folder::write_temporary(&folder, bytes)?;
        file.persist(&path)
            .map_err(|error| error.error)
            .on_path("write the image", &path)?;
    }
    Ok(id)
}
