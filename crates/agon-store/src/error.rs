//! What can go wrong with the store, by what a caller would do about it.

use std::{error, fmt, io, path::PathBuf};

use agon_domain::{CaseId, Finish, ImageId, NotRatable, Vote};
use jiff::Timestamp;

/// A failure or a refusal of the store.
///
/// The refusals are answers to the voter; [`Error::is_refusal`] tells them from failures of the machine or the data.
/// No message holds a prompt, an answer or a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such battle, or it belongs to another visit, which is not told apart.
    #[error("there is no such battle in this visit")]
    UnknownBattle,
    /// The visit gave no such consent, or gave it after the battle's start.
    #[error("this visit gave no such consent before the battle")]
    NoConsent,
    /// The battle has its vote, which stays as it is.
    #[error("the battle already has a vote: `{}`", .0.winner)]
    AlreadyVoted(Vote),
    /// An answer is still running, or failed.
    #[error("the battle is not ready for a vote or another turn")]
    NotRatable(#[source] NotRatable),
    /// The battle has as many turns as it may have.
    #[error("the battle already has `{n_turns_max}` turns, the most that are accepted")]
    TooManyTurns {
        /// The limit that was given.
        n_turns_max: u32,
    },
    /// Nothing was asked.
    #[error("the prompt is empty: expected a text, or an image in the first turn")]
    EmptyPrompt,
    /// The newest answer of that side is running or valid.
    #[error("there is nothing to retry: {reason}")]
    NothingToRetry {
        /// What the newest answer is instead of failed.
        reason: &'static str,
    },
    /// No image with this id was stored.
    #[error("there is no image `{0}`")]
    UnknownImage(ImageId),
    /// There is no such attempt.
    #[error("there is no such generation")]
    UnknownGeneration,
    /// The attempt has its finish, which stays as it is.
    #[error("the generation already ended: `{}`", finish.as_str())]
    AlreadyFinished {
        /// How it ended.
        finish: Finish,
    },
    /// There is no such import, or it is finished and takes no more battles.
    #[error("there is no such unfinished import")]
    UnknownImport,
    /// An import of this source was interrupted, and another one is to begin.
    #[error(
        "an import into the source `{source_name}` was interrupted, and this one reads something else"
    )]
    UnfinishedImport {
        /// The name of the source.
        source_name: String,
    },
    /// There is no such case, or its sealed file was destroyed.
    #[error("there is no sealed case `{0}`")]
    UnknownCase(CaseId),
    /// The case is not where this step begins.
    #[error("the case `{id}` is `{state}`, from where this cannot be done")]
    WrongCaseState {
        /// Which.
        id: CaseId,
        /// Where it stands.
        state: &'static str,
    },
    /// The case has to be kept for longer.
    #[error("the case `{id}` has to be kept until {until}")]
    CaseRetained {
        /// Which.
        id: CaseId,
        /// Until when.
        until: Timestamp,
    },
    /// Another process imports into this source.
    #[error("another import into the source `{source_name}` is running")]
    RunningImport {
        /// The name of the source.
        source_name: String,
    },
    /// An id that must be new is taken.
    #[error("there is already a {kind} with this id")]
    DuplicateId {
        /// Of what kind the id is, in words.
        kind: &'static str,
    },
    /// A value that no correct caller passes.
    #[error("the {field} cannot be stored: expected {expected}")]
    Invalid {
        /// Which value, in words.
        field: &'static str,
        /// What would be accepted.
        expected: &'static str,
    },
    /// Another process serves from this folder.
    #[error("another server is using the data folder `{}`: stop it, or choose another folder", folder.display())]
    AlreadyServing {
        /// The data folder.
        folder: PathBuf,
    },
    /// The database was written by a newer version of Agon.
    #[error(
        "the database `{}` was written by a newer version of Agon: it has schema `{found}`, this version knows up to `{newest_known}`",
        path.display()
    )]
    NewerDatabase {
        /// The database file.
        path: PathBuf,
        /// The newest schema version that it has.
        found: i64,
        /// The newest schema version that this program knows.
        newest_known: i64,
    },
    /// A secret's file is not one that may be trusted. It is never replaced, because pseudonyms depend on it.
    #[error("the secret `{}` cannot be used: {problem}", path.display())]
    BadSecret {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what would be accepted.
        problem: String,
    },
    /// The file with an import's pictures lacks some that were written to it.
    #[error("`{}` has {n_bytes} bytes where {n_bytes_expected} were written", path.display())]
    DamagedOriginals {
        /// Which file.
        path: PathBuf,
        /// What it has.
        n_bytes: u64,
        /// What the database says.
        n_bytes_expected: u64,
    },
    /// The bytes of an image are gone, or are not those that were stored.
    #[error("the stored bytes of image `{0}` are missing or damaged")]
    DamagedImage(ImageId),
    /// The file of a sealed case is gone, or is not the one that was kept.
    #[error("the sealed file of case `{0}` is missing or damaged")]
    DamagedCase(CaseId),
    /// A row holds what this program never writes.
    #[error("the stored value of `{column}` cannot be read")]
    Corrupt {
        /// Table and column.
        column: &'static str,
    },
    /// The database failed.
    #[error("the database failed to {action}")]
    Database {
        /// What was to be done, in words.
        action: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn error::Error + Send + Sync>,
    },
    /// A file could not be read or written.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was to be done, in words.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Whether the store works and refused the request, rather than failed.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::UnknownBattle
            | Self::NoConsent
            | Self::AlreadyVoted(_)
            | Self::NotRatable(_)
            | Self::TooManyTurns { .. }
            | Self::EmptyPrompt
            | Self::NothingToRetry { .. }
            | Self::UnknownImage(_)
            | Self::UnknownGeneration
            | Self::AlreadyFinished { .. }
            | Self::UnknownCase(_)
            | Self::WrongCaseState { .. }
            | Self::CaseRetained { .. }
            | Self::DuplicateId { .. }
            | Self::UnknownImport
            | Self::UnfinishedImport { .. }
            | Self::RunningImport { .. }
            | Self::Invalid { .. } => true,
            Self::AlreadyServing { .. }
            | Self::NewerDatabase { .. }
            | Self::BadSecret { .. }
            | Self::DamagedImage(_)
            | Self::DamagedOriginals { .. }
            | Self::DamagedCase(_)
            | Self::Corrupt { .. }
            | Self::Database { .. }
            | Self::Io { .. } => false,
        }
    }
}

/// Says what was being done when a call below failed.
pub(crate) trait During<T> {
    /// Adds `action`, which completes the sentence "the database failed to …".
    fn during(self, action: &'static str) -> Result<T, Error>;
}

impl<T> During<T> for Result<T, sqlx::Error> {
    fn during(self, action: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::Database {
            action,
            source: Box::new(source),
        })
    }
}

/// Says which file was being used when a call below failed.
pub(crate) trait OnPath<T> {
    /// Adds `action`, which completes the sentence "cannot … `path`".
    fn on_path(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T, Error>;
}

impl<T> OnPath<T> for io::Result<T> {
    fn on_path(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T, Error> {
        self.map_err(|source| Error::Io {
            action,
            path: path.into(),
            source,
        })
    }
}

/// A conversion from a stored value, or the column that holds what it should not.
pub(crate) fn read_column<T, U, E: fmt::Debug>(
    value: T,
    column: &'static str,
    convert: impl FnOnce(T) -> Result<U, E>,
) -> Result<U, Error> {
    convert(value).map_err(|_| Error::Corrupt { column })
}
