//! Originals: pictures of imported battles as they came, by the SHA-256 of their bytes.
//!
//! They are made fit to be shown when somebody first asks for one, which takes a decoder hundreds of times as long as an import takes to keep it.
//! Nothing but what was made of them may reach a browser, a model or a release.

use std::{collections::HashMap, fmt};

use agon_domain::ImageId;
use bytes::Bytes;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{ImportId, add::VALUES_MAX};
use crate::{
    Error, ImageFormat, Store, blocking,
    error::{During as _, read_column},
    id_bytes,
};

/// The SHA-256 of a picture's bytes as they came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OriginalId([u8; 32]);

impl OriginalId {
    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for OriginalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for OriginalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OriginalId({self})")
    }
}

/// What a picture's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalMeta {
    /// How it is encoded.
    pub format: ImageFormat,
    /// Its width in pixels, before turning.
    pub width: u32,
    /// Its height in pixels, before turning.
    pub height: u32,
    /// MD5 of the pixels, by which older datasets name images, where the source has it.
    pub legacy_md5: Option<[u8; 16]>,
}

/// A picture to be kept as it came.
#[derive(Clone, PartialEq, Eq)]
pub struct NewOriginal {
    /// The SHA-256 of its bytes.
    pub id: OriginalId,
    /// Its bytes; at least one.
    pub bytes: Bytes,
    /// What its header says; at least one pixel.
    pub meta: OriginalMeta,
}

impl fmt::Debug for NewOriginal {
    // Written by hand so that the bytes never reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewOriginal")
            .field("id", &self.id)
            .field("n_bytes", &self.bytes.len())
            .field("meta", &self.meta)
            .finish()
    }
}

/// A picture whose bytes are written, and which the database does not know yet: [`Store::add_imported_with`] tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenOriginal {
    id: OriginalId,
    meta: OriginalMeta,
    position: u64,
    n_bytes: u64,
}

impl WrittenOriginal {
    /// The SHA-256 of its bytes.
    pub const fn id(&self) -> OriginalId {
        self.id
    }
}

/// A picture as it came.
#[derive(Clone, PartialEq, Eq)]
pub struct OriginalImage {
    /// The SHA-256 of its bytes.
    pub id: OriginalId,
    /// Its bytes, which have been checked against the id. They are not fit to be shown.
    pub bytes: Vec<u8>,
    /// What its header says.
    pub meta: OriginalMeta,
}

impl fmt::Debug for OriginalImage {
    // Written by hand so that the bytes never reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginalImage")
            .field("id", &self.id)
            .field("n_bytes", &self.bytes.len())
            .field("meta", &self.meta)
            .finish()
    }
}

/// What is known of an original besides its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginalState {
    /// Nobody has asked for it.
    Untried,
    /// It was made fit, and is this image.
    Normalised(ImageId),
    /// It cannot be made fit, by the code of the reason.
    Refused(String),
}

impl Store {
    /// Those of some originals that are kept, with what is known of each.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn original_states(
        &self,
        ids: &[OriginalId],
    ) -> Result<HashMap<OriginalId, OriginalState>, Error> {
        const ACTION: &str = "find an image";
        type Row = (Vec<u8>, Option<Vec<u8>>, Option<String>);
        let mut transaction = self.database.read().await?;
        let mut states = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(VALUES_MAX) {
            let mut query = QueryBuilder::<Sqlite>::new(
                "SELECT o.sha256, n.image, o.problem FROM original_images o \
                 LEFT JOIN image_originals n ON n.sha256 = o.sha256 WHERE o.sha256 IN (",
            );
            let mut list = query.separated(", ");
            for id in ids {
                list.push_bind(id.0.as_slice());
            }
            list.push_unseparated(")");
            let rows: Vec<Row> = query
                .build_query_as()
                .persistent(false)
                .fetch_all(&mut *transaction)
                .await
                .during(ACTION)?;
            for (id, image, problem) in rows {
                let id = OriginalId(id_bytes(id, "original_images.sha256")?);
                let state = match (image, problem) {
                    (Some(image), _) => OriginalState::Normalised(ImageId::from_bytes(id_bytes(
                        image,
                        "image_originals.image",
                    )?)),
                    (None, Some(problem)) => OriginalState::Refused(problem),
                    (None, None) => OriginalState::Untried,
                };
                states.insert(id, state);
            }
        }
        transaction.commit().await.during(ACTION)?;
        Ok(states)
    }

    /// Appends pictures to the file of an import that takes battles. They are kept once [`Store::add_imported_with`] is told of them, and not before.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownImport`] for one that was not begun by this store, [`Error::Invalid`] for no bytes or no pixels, [`Error::Io`].
    pub async fn write_originals(
        &self,
        import: ImportId,
        originals: Vec<NewOriginal>,
    ) -> Result<Vec<WrittenOriginal>, Error> {
        if originals.is_empty() {
            return Ok(Vec::new());
        }
        let is_empty =
            |new: &NewOriginal| new.bytes.is_empty() || new.meta.width == 0 || new.meta.height == 0;
        if originals.iter().any(is_empty) {
            return Err(Error::Invalid {
                field: "image",
                expected: "at least one byte and one pixel",
            });
        }
        let pack = self.packs.get(import).ok_or(Error::UnknownImport)?;
        blocking(move || {
            let mut position = pack.append(originals.iter().map(|new| &*new.bytes))?;
            let written = originals.into_iter().map(|new| {
                let n_bytes = new.bytes.len() as u64;
                let written = WrittenOriginal {
                    id: new.id,
                    meta: new.meta,
                    position,
                    n_bytes,
                };
                position += n_bytes;
                written
            });
            Ok(written.collect())
        })
        .await
    }

    /// Brings written originals to the disk, before the database is told of them.
    pub(super) async fn flush_originals(
        &self,
        import: ImportId,
        originals: &[WrittenOriginal],
    ) -> Result<(), Error> {
        let ends = originals.iter().map(|new| new.position + new.n_bytes);
        let Some(end) = ends.max() else {
            return Ok(());
        };
        let pack = self.packs.get(import).ok_or(Error::UnknownImport)?;
        blocking(move || pack.flush(end)).await
    }

    /// An original as it came, its bytes checked against its id.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedImage`] when the bytes are gone or changed, [`Error::Io`], [`Error::Database`], [`Error::Corrupt`].
    pub async fn original(&self, id: OriginalId) -> Result<Option<OriginalImage>, Error> {
        const ACTION: &str = "read an image";
        type Row = (Vec<u8>, i64, i64, String, i64, i64, Option<Vec<u8>>);
        let mut transaction = self.database.read().await?;
        let row: Option<Row> = sqlx::query_as(
            "SELECT pack, position, n_bytes, format, width, height, legacy_md5 FROM original_images WHERE sha256 = $1",
        )
        .bind(id.0.as_slice())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        let Some((pack, position, n_bytes, format, width, height, legacy_md5)) = row else {
            return Ok(None);
        };
        let pack = ImportId(id_bytes(pack, "original_images.pack")?);
        let position = read_column(position, "original_images.position", u64::try_from)?;
        let n_bytes = read_column(n_bytes, "original_images.n_bytes", u64::try_from)?;
        let meta = OriginalMeta {
            format: read_column(format, "original_images.format", |format| {
                ImageFormat::from_spelling(&format).ok_or(())
            })?,
            width: read_column(width, "original_images.width", u32::try_from)?,
            height: read_column(height, "original_images.height", u32::try_from)?,
            legacy_md5: legacy_md5
                .map(|md5| id_bytes(md5, "original_images.legacy_md5"))
                .transpose()?,
        };
        let (packs, data) = (self.packs.clone(), self.folder().map(ToOwned::to_owned));
        let bytes = blocking(move || packs.read(data.as_deref(), pack, position, n_bytes)).await?;
        let hash = crate::images::hash(&bytes);
        if hash.as_bytes() != id.as_bytes() {
            return Err(Error::DamagedImage(ImageId::from_bytes(id.0)));
        }
        Ok(Some(OriginalImage { id, bytes, meta }))
    }

    /// Remembers that an original cannot be made fit, so that it is not tried again; what was made fit stays so.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn refuse_original(&self, id: OriginalId, problem: &str) -> Result<(), Error> {
        const ACTION: &str = "write what is wrong with an image";
        let mut transaction = self.database.write().await?;
        sqlx::query("UPDATE original_images SET problem = $1 WHERE sha256 = $2")
            .bind(problem)
            .bind(id.0.as_slice())
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
        transaction.commit().await.during(ACTION)
    }
}

/// Tells the database of written originals. One that came twice at the same time stays where it was first.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    import: ImportId,
    originals: &[WrittenOriginal],
) -> Result<(), Error> {
    let number = |n, column| read_column(n, column, i64::try_from);
    for new in originals {
        sqlx::query(
            "INSERT INTO original_images (sha256, pack, position, n_bytes, format, width, height, legacy_md5) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (sha256) DO NOTHING",
        )
        .bind(new.id.0.as_slice())
        .bind(import.as_bytes().as_slice())
        .bind(number(new.position, "original_images.position")?)
        .bind(number(new.n_bytes, "original_images.n_bytes")?)
        .bind(new.meta.format.as_str())
        .bind(i64::from(new.meta.width))
        .bind(i64::from(new.meta.height))
        .bind(new.meta.legacy_md5.as_ref().map(<[u8; 16]>::as_slice))
        .execute(&mut *connection)
        .await
        .during("store imported battles")?;
    }
    Ok(())
}
