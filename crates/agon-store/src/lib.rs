//! What is kept: visits, consents, battles and votes in a database, images by content hash, secrets in files.
//!
//! [`Store`] is one cheap handle whose methods are verbs of the domain, each one transaction.
//! What the verbs promise:
//!
//! - A battle has at most one vote, and only when both answers of every turn are complete and valid. [`Store::cast_vote`] decides that inside the transaction that writes the vote, and the vote is on the disk before it returns.
//! - Votes are numbered from 1 without holes.
//! - A battle rests on a consent that the same visit gave before it.
//! - A generation ends once. A retry is a new attempt; the failed one is kept.
//! - Imported battles have tables of their own: no verb for the arena's battles and votes sees them. A battle id occurs once in a source, and the battles of an import count once it is finished.
//! - Texts come back exactly as they went in, NUL characters included. Timestamps are kept to the microsecond, rounded down, which is as fine as an [`agon_domain::Clock`] tells.
//!
//! The data folder holds `agon.db` (SQLite), `images/`, `originals/` with the pictures of imports as they came, `quarantine/` once something was sealed, one file for each secret, and `agon.lock`, which the server holds.
//! Other processes may read, and write, while a server runs.
//!
//! Reading order: [`Store`], [`battle`], [`generation`], [`vote`], [`visit`], [`images`], [`import`], [`response`], [`screening`], [`quarantine`], [`secret`].

pub mod annotation;
pub mod battle;
pub mod generation;
pub mod images;
pub mod import;
pub mod quarantine;
pub mod response;
pub mod screening;
pub mod secret;
pub mod visit;
pub mod vote;

mod error;
mod folder;
mod sqlite;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod folder_tests;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use agon_domain::{CaseId, ImageId};
use jiff::Timestamp;

pub use annotation::Annotation;
pub use battle::{BattleSummary, NewBattle};
pub use error::Error;
pub use folder::ServingLock;
pub use generation::{FinishedGeneration, GenerationKey};
pub use images::{ImageFormat, ImageMeta, NewImage, StoredImage};
pub use import::{
    AddedBattle, BegunImport, FinishedImport, ImportId, ImportInput, ImportSummary, ImportVerdict,
    ImportedBattle, ImportedCounts, ImportedImage, ImportedMessage, ImportedStyle, ImportedVote,
    KeptImage, NewImport, NewImportedBattle, NewOriginal, OriginalId, OriginalImage, OriginalMeta,
    OriginalState, WrittenOriginal, imported_battle_id,
};
pub use quarantine::{Case, CaseEvent, CaseState, NewCase};
pub use response::{RememberedResponse, RequestKey};
pub use screening::{ContentKey, Disposition, ImageHashes};
pub use visit::{Consent, NewConsent};
pub use vote::{CastVote, MonthTally};

use error::{During as _, OnPath as _, read_column};
use sqlite::Connections;

/// Everything that one arena keeps. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    database: Connections,
    place: Arc<Place>,
    packs: Arc<import::pack::Packs>,
}

/// Where that is kept which is not in the database.
enum Place {
    Folder(PathBuf),
    Memory {
        images: Mutex<HashMap<ImageId, Vec<u8>>>,
        secrets: Mutex<HashMap<String, [u8; 32]>>,
        sealed: Mutex<HashMap<CaseId, Vec<u8>>>,
    },
}

impl std::fmt::Debug for Place {
    // Written by hand so that neither a secret nor an image is ever printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
            Self::Memory { .. } => f.write_str("Memory"),
        }
    }
}

/// How much is kept, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Visits that gave a consent.
    pub visits: u64,
    /// Battles, voted on or not.
    pub battles: u64,
    /// Votes.
    pub votes: u64,
    /// Generations without a finish.
    pub running_generations: u64,
}

impl Store {
    /// Opens the store in `folder`, which is created when it is missing (readable by its owner alone), as is everything in it.
    ///
    /// # Errors
    ///
    /// [`Error::NewerDatabase`], [`Error::Io`], [`Error::Database`].
    pub async fn open(folder: &Path) -> Result<Self, Error> {
        let folder = folder.to_owned();
        let path = folder.join("agon.db");
        // Held while the schema is brought up to date, so that two processes do not both do so.
        let opening = {
            let (folder, path) = (folder.clone(), path.clone());
            blocking(move || {
                let is_new = !folder
                    .try_exists()
                    .on_path("look for the folder", &folder)?;
                folder::create_private_folder(&folder)?;
                if is_new {
                    folder::sync_folder(folder::parent_of(&folder))?;
                }
                folder::create_private_folder(&folder.join("images"))?;
                let lock_path = folder.join("agon.open.lock");
                let lock = folder::open_private_file(&lock_path)?;
                lock.lock().on_path("lock the file", lock_path)?;
                folder::open_private_file(&path)?;
                folder::sync_folder(&folder)?;
                Ok(lock)
            })
            .await?
        };
        let database = Connections::open(&path).await?;
        drop(opening);
        Ok(Self {
            database,
            place: Arc::new(Place::Folder(folder)),
            packs: Arc::default(),
        })
    }

    /// A store that ends with its last handle: the same code on a database in memory.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn in_memory() -> Result<Self, Error> {
        Ok(Self {
            database: Connections::in_memory().await?,
            place: Arc::new(Place::Memory {
                images: Mutex::default(),
                secrets: Mutex::default(),
                sealed: Mutex::default(),
            }),
            packs: Arc::default(),
        })
    }

    /// Claims the data folder for one server, until the lock is dropped or the process ends. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyServing`], [`Error::Io`].
    pub fn lock_for_serving(&self) -> Result<ServingLock, Error> {
        match &*self.place {
            Place::Folder(folder) => ServingLock::take(folder),
            Place::Memory { .. } => Ok(ServingLock::of_memory()),
        }
    }

    /// The data folder, or `None` in memory.
    pub fn folder(&self) -> Option<&Path> {
        match &*self.place {
            Place::Folder(folder) => Some(folder),
            Place::Memory { .. } => None,
        }
    }

    /// Waits for the verbs in progress and closes. Every later verb fails. What was acknowledged is safe without it.
    pub async fn close(&self) {
        self.database.close().await;
    }

    /// How much is kept.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn counts(&self) -> Result<Counts, Error> {
        const ACTION: &str = "count";
        let mut transaction = self.database.read().await?;
        let (visits, battles, votes, running): (i64, i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT COUNT(*) FROM visits), (SELECT COUNT(*) FROM battles), (SELECT COUNT(*) FROM votes), \
             (SELECT COUNT(*) FROM generations WHERE finish IS NULL)",
        )
        .fetch_one(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        let count = |n| read_column(n, "COUNT(*)", u64::try_from);
        Ok(Counts {
            visits: count(visits)?,
            battles: count(battles)?,
            votes: count(votes)?,
            running_generations: count(running)?,
        })
    }
}

/// Microseconds since 1970, the form of every timestamp in the database.
fn microseconds(timestamp: Timestamp) -> i64 {
    timestamp.as_microsecond()
}

/// The timestamp of a column that holds microseconds.
fn timestamp(microseconds: i64, column: &'static str) -> Result<Timestamp, Error> {
    read_column(microseconds, column, Timestamp::from_microsecond)
}

/// The bytes of an id's column.
fn id_bytes<const N: usize>(bytes: Vec<u8>, column: &'static str) -> Result<[u8; N], Error> {
    read_column(bytes, column, <[u8; N]>::try_from)
}

/// Runs what waits for the disk on a thread that may wait.
async fn blocking<T: Send + 'static>(
    f: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(f).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(error) => Err(error.into()).on_path("use", "the data folder"),
        },
    }
}
