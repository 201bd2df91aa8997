//! Imports: battles of other arenas, from published sets and logs.
//!
//! They have tables of their own, and no verb for the arena's own battles and votes sees them.
//! An import is begun, given its battles in batches, each one transaction, and finished; its battles count once it is finished.
//! One that was interrupted is begun again with the same request and goes on: battles that are there are recognised by source and original id.
//!
//! Reading order: [`NewImport`], [`NewImportedBattle`], [`AddedBattle`]; `add` writes, `read` gives back; `originals` are the pictures as they came, `pack` the files that they are in.

mod add;
mod originals;
pub(crate) mod pack;
mod read;

use std::fmt;

use agon_domain::{BattleId, ImageId, Side, Sides, VoterId, Winner};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use sqlx::SqliteConnection;

use crate::{
    Error, Store, blocking,
    error::{During as _, read_column},
    id_bytes, microseconds,
};
use pack::Pack;

pub use originals::{
    NewOriginal, OriginalId, OriginalImage, OriginalMeta, OriginalState, WrittenOriginal,
};
pub use read::{ImportSummary, ImportedBattle, ImportedCounts, ImportedVote};

/// The id of an import: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImportId([u8; 16]);

impl ImportId {
    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for ImportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ImportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImportId({self})")
    }
}

/// The id under which a battle of a source is kept: the first 16 bytes of a SHA-256 of both names.
pub fn imported_battle_id(source: &str, original_id: &str) -> BattleId {
    battle_id(&[
        b"imported battle",
        source.as_bytes(),
        original_id.as_bytes(),
    ])
}

/// The id of a battle whose original id another battle of the source has: one on the same question, by another judge or between other models.
///
/// The pair counts in whatever order.
fn shared_battle_id(source: &str, battle: &NewImportedBattle) -> BattleId {
    let mut models = [battle.models.a.as_str(), battle.models.b.as_str()];
    models.sort_unstable();
    let judge = battle
        .judge
        .as_ref()
        .map(|judge| judge.as_bytes().as_slice());
    battle_id(&[
        b"imported battle of a shared id",
        source.as_bytes(),
        battle.original_id.as_bytes(),
        models[0].as_bytes(),
        models[1].as_bytes(),
        judge.unwrap_or_default(),
    ])
}

/// The first 16 bytes of a SHA-256 of some parts.
fn battle_id(parts: &[&[u8]]) -> BattleId {
    let mut hasher = Sha256::new();
    for part in parts {
        // Lengths keep "ab", "c" apart from "a", "bc".
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    BattleId::from_bytes(bytes)
}

/// An import to be begun, or to be gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewImport {
    /// Its id, new; one that goes on keeps its first.
    pub id: ImportId,
    /// The namespace of its battles' ids.
    pub source: String,
    /// A hash of everything that decides what is imported: another run with the same one is the same import.
    pub request_sha256: [u8; 32],
    /// The name of the cleaning profile.
    pub clean_profile: Option<String>,
    /// Version and SHA-256 of the table of models' other names.
    pub aliases: Option<(String, [u8; 32])>,
    /// The version of Agon that imports.
    pub program_version: String,
    /// When it starts.
    pub started_at: Timestamp,
}

/// An import that takes battles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunImport {
    /// Its id.
    pub id: ImportId,
    /// Battles that an interrupted run has stored; 0 for a new one.
    pub n_stored: u64,
}

/// One message of an imported conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMessage {
    /// Who wrote it, as `user` or `assistant`.
    pub role: String,
    /// What was written; `None` where the source has null.
    pub text: Option<String>,
}

/// The style of the answers of one side, as style control takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedStyle {
    /// Tokens of all answers.
    pub tokens: u32,
    /// Headers of all levels.
    pub headers: u32,
    /// Items of lists, ordered and not.
    pub lists: u32,
    /// Bold passages.
    pub bold: u32,
}

/// An image of an imported battle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedImage {
    /// The turn in which it was shown, from 0, where that is known.
    pub turn_idx: Option<u32>,
    /// What the source calls it.
    pub reference: Option<String>,
    /// The image, or the code of the reason why it is not there.
    pub image: Result<KeptImage, String>,
}

/// How an image of an imported battle is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeptImage {
    /// As it came. It may be shown to nobody before it is made fit.
    Original(OriginalId),
    /// Made fit while it was imported, as earlier versions did.
    Normalised(ImageId),
}

/// A battle to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NewImportedBattle {
    /// Its position among the votes that the import reads, from 0; the same in another run.
    pub row_idx: u64,
    /// Its id in the source; not empty.
    pub original_id: String,
    /// The names of the two models, by side; different ones.
    pub models: Sides<String>,
    /// What the vote says.
    pub winner: Winner,
    /// The pseudonym of whoever voted.
    pub judge: Option<VoterId>,
    /// Whether the names were hidden until the vote, where the source says so.
    pub is_anonymous: Option<bool>,
    /// The language, as the source spells it.
    pub language: Option<String>,
    /// The categories that the source gives, in their order, and whether the battle is in each; `None` where it says nothing of them.
    pub categories: Option<Vec<(String, bool)>>,
    /// The number of turns that were judged.
    pub n_turns: Option<u32>,
    /// When the vote was cast.
    pub cast_at: Option<Timestamp>,
    /// The style of the answers.
    pub style: Sides<Option<ImportedStyle>>,
    /// What was said on each side.
    pub conversations: Sides<Vec<ImportedMessage>>,
    /// The images, in their order.
    pub images: Vec<ImportedImage>,
}

/// What became of a battle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedBattle {
    /// It is kept under this number.
    Added {
        /// Its number among all imported battles.
        sequence: u64,
    },
    /// An interrupted run of the same import has stored it.
    Resumed {
        /// Its number among all imported battles.
        sequence: u64,
    },
    /// It is a later vote of the same import on a battle that was there, whose vote it replaces.
    Replaced {
        /// Its number among all imported battles.
        sequence: u64,
        /// The row whose vote no longer counts.
        row_idx: u64,
    },
    /// The source already has this battle, which stays as it is.
    Repeated,
}

impl AddedBattle {
    /// The number of the battle among all imported ones, when this vote is the one that counts.
    pub const fn sequence(self) -> Option<u64> {
        match self {
            Self::Added { sequence }
            | Self::Resumed { sequence }
            | Self::Replaced { sequence, .. } => Some(sequence),
            Self::Repeated => None,
        }
    }
}

/// What cleaning says of a battle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportVerdict {
    /// The number of the battle.
    pub sequence: u64,
    /// The code of the rule that excludes it; `None` for one that is kept.
    pub excluded_by: Option<&'static str>,
    /// The codes of all rules that it breaks.
    pub flags: Vec<&'static str>,
}

/// One thing that an import read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportInput {
    /// Its name, as given.
    pub name: String,
    /// What it was recognised as.
    pub format: String,
    /// SHA-256 of its bytes, in hexadecimal, where it was read whole.
    pub sha256: Option<String>,
    /// Its rows.
    pub n_rows: u64,
    /// Its rows that are votes.
    pub n_kept: u64,
}

/// How an import ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedImport {
    /// When.
    pub finished_at: Timestamp,
    /// Rows that were read.
    pub n_rows: u64,
    /// What was read, in the order of reading.
    pub inputs: Vec<ImportInput>,
    /// Rows that were rejected, by the code of the reason.
    pub rejected: Vec<(String, u64)>,
    /// Images that are not there, by the code of the reason.
    pub image_problems: Vec<(String, u64)>,
}

impl Store {
    /// Begins an import, or goes on with an interrupted one of the same source and request.
    ///
    /// # Errors
    ///
    /// [`Error::RunningImport`] while another process imports into this source, [`Error::UnfinishedImport`] when an import of this source with another request was interrupted, [`Error::Invalid`] for a source without a name, [`Error::Database`], [`Error::Corrupt`], [`Error::Io`].
    pub async fn begin_import(&self, import: &NewImport) -> Result<BegunImport, Error> {
        const ACTION: &str = "begin an import";
        if import.source.trim().is_empty() {
            return Err(Error::Invalid {
                field: "name of the source",
                expected: "a name that is not empty",
            });
        }
        let mut transaction = self.database.write().await?;
        let unfinished: Option<(Vec<u8>, Vec<u8>)> = sqlx::query_as(
            "SELECT id, request_sha256 FROM imports WHERE source = $1 AND finished_at IS NULL",
        )
        .bind(import.source.as_str())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        if let Some((id, request_sha256)) = unfinished {
            let id = ImportId(id_bytes(id, "imports.id")?);
            // Whoever runs it holds its pack.
            self.open_pack(&mut transaction, id, &import.source).await?;
            if request_sha256 != import.request_sha256 {
                self.packs.close(self.folder(), id);
                return Err(Error::UnfinishedImport {
                    source_name: import.source.clone(),
                });
            }
            let n_stored: i64 =
                sqlx::query_scalar("SELECT COUNT(*) FROM imported_battles WHERE import = $1")
                    .bind(id.0.as_slice())
                    .fetch_one(&mut *transaction)
                    .await
                    .during(ACTION)?;
            transaction.commit().await.during(ACTION)?;
            return Ok(BegunImport {
                id,
                n_stored: read_column(n_stored, "COUNT(*)", u64::try_from)?,
            });
        }
        let (version, sha256) = import.aliases.clone().unzip();
        let inserted = sqlx::query(
            "INSERT INTO imports (id, source, request_sha256, clean_profile, aliases_version, aliases_sha256, \
             program_version, started_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING",
        )
        .bind(import.id.0.as_slice())
        .bind(import.source.as_str())
        .bind(import.request_sha256.as_slice())
        .bind(import.clean_profile.as_deref())
        .bind(version)
        .bind(sha256.as_ref().map(<[u8; 32]>::as_slice))
        .bind(import.program_version.as_str())
        .bind(microseconds(import.started_at))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        if inserted.rows_affected() == 0 {
            return Err(Error::DuplicateId { kind: "import" });
        }
        self.open_pack(&mut transaction, import.id, &import.source)
            .await?;
        transaction.commit().await.during(ACTION)?;
        Ok(BegunImport {
            id: import.id,
            n_stored: 0,
        })
    }

    /// Opens the pack of an unfinished import behind the last picture that is known of it.
    async fn open_pack(
        &self,
        connection: &mut SqliteConnection,
        import: ImportId,
        source: &str,
    ) -> Result<std::sync::Arc<Pack>, Error> {
        let end: i64 = sqlx::query_scalar(
            "SELECT COALESCE(MAX(position + n_bytes), 0) FROM original_images WHERE pack = $1",
        )
        .bind(import.0.as_slice())
        .fetch_one(connection)
        .await
        .during("find the images of an import")?;
        let end = read_column(end, "original_images.position", u64::try_from)?;
        let (packs, data) = (self.packs.clone(), self.folder().map(ToOwned::to_owned));
        let pack = blocking(move || packs.open(data.as_deref(), import, end)).await?;
        pack.ok_or_else(|| Error::RunningImport {
            source_name: source.to_owned(),
        })
    }

    /// Writes what cleaning says of battles of an unfinished import. Battles that are not named are kept and have no flag.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownImport`] also for a finished one, [`Error::Database`].
    pub async fn judge_imported(
        &self,
        import: ImportId,
        verdicts: &[ImportVerdict],
    ) -> Result<(), Error> {
        const ACTION: &str = "write what cleaning says";
        let mut transaction = self.database.write().await?;
        check_unfinished(&mut transaction, import).await?;
        for verdict in verdicts {
            sqlx::query(
                "UPDATE imported_battles SET excluded_by = $1, flags = $2 WHERE sequence = $3 AND import = $4",
            )
            .bind(verdict.excluded_by)
            .bind(verdict.flags.join(" "))
            .bind(read_column(
                verdict.sequence,
                "imported_battles.sequence",
                i64::try_from,
            )?)
            .bind(import.0.as_slice())
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
        }
        transaction.commit().await.during(ACTION)
    }

    /// Finishes an import: from now on its battles count, those that cleaning excludes apart.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownImport`] also for a finished one, [`Error::Database`].
    pub async fn finish_import(
        &self,
        import: ImportId,
        finished: &FinishedImport,
    ) -> Result<(), Error> {
        const ACTION: &str = "finish an import";
        let number = |n: u64, column| read_column(n, column, i64::try_from);
        let mut transaction = self.database.write().await?;
        check_unfinished(&mut transaction, import).await?;
        for (idx, input) in (0_i64..).zip(&finished.inputs) {
            sqlx::query(
                "INSERT INTO import_inputs (import, idx, name, format, sha256, n_rows, n_kept) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            )
            .bind(import.0.as_slice())
            .bind(idx)
            .bind(input.name.as_str())
            .bind(input.format.as_str())
            .bind(input.sha256.as_deref())
            .bind(number(input.n_rows, "import_inputs.n_rows")?)
            .bind(number(input.n_kept, "import_inputs.n_kept")?)
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
        }
        let counts = (finished.rejected.iter().map(|count| ("rejected", count)))
            .chain(finished.image_problems.iter().map(|count| ("image", count)));
        for (kind, (reason, n)) in counts {
            sqlx::query(
                "INSERT INTO import_counts (import, kind, reason, n) VALUES ($1, $2, $3, $4)",
            )
            .bind(import.0.as_slice())
            .bind(kind)
            .bind(reason.as_str())
            .bind(number(*n, "import_counts.n")?)
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
        }
        sqlx::query("UPDATE imports SET finished_at = $1, n_rows = $2 WHERE id = $3")
            .bind(microseconds(finished.finished_at))
            .bind(number(finished.n_rows, "imports.n_rows")?)
            .bind(import.0.as_slice())
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
        for statement in [
            "INSERT INTO imported_tallies (source, model_a, model_b, winner, n) \
             SELECT i.source, b.model_a, b.model_b, b.winner, COUNT(*) FROM imported_battles b \
             JOIN imports i ON i.id = b.import WHERE b.import = $1 AND b.excluded_by IS NULL \
             GROUP BY i.source, b.model_a, b.model_b, b.winner \
             ON CONFLICT (source, model_a, model_b, winner) DO UPDATE SET n = imported_tallies.n + excluded.n",
            "INSERT INTO imported_exclusions (source, excluded_by, n) \
             SELECT i.source, b.excluded_by, COUNT(*) FROM imported_battles b \
             JOIN imports i ON i.id = b.import WHERE b.import = $1 AND b.excluded_by IS NOT NULL \
             GROUP BY i.source, b.excluded_by \
             ON CONFLICT (source, excluded_by) DO UPDATE SET n = imported_exclusions.n + excluded.n",
        ] {
            sqlx::query(statement)
                .bind(import.0.as_slice())
                .execute(&mut *transaction)
                .await
                .during(ACTION)?;
        }
        transaction.commit().await.during(ACTION)?;
        let (packs, data) = (self.packs.clone(), self.folder().map(ToOwned::to_owned));
        blocking(move || packs.finish(data.as_deref(), import)).await
    }

    /// Forgets the interrupted import of a source with its battles and the images that no other import has, and returns how many battles these were; 0 where there is none.
    ///
    /// # Errors
    ///
    /// [`Error::RunningImport`] while another process goes on with it, [`Error::Database`], [`Error::Corrupt`], [`Error::Io`].
    pub async fn discard_unfinished_import(&self, source: &str) -> Result<u64, Error> {
        const ACTION: &str = "forget an interrupted import";
        let mut transaction = self.database.write().await?;
        let id: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT id FROM imports WHERE source = $1 AND finished_at IS NULL")
                .bind(source)
                .fetch_optional(&mut *transaction)
                .await
                .during(ACTION)?;
        let Some(id) = id else { return Ok(0) };
        let import = ImportId(id_bytes(id.clone(), "imports.id")?);
        self.open_pack(&mut transaction, import, source).await?;
        let n_battles: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM imported_battles WHERE import = $1")
                .bind(id.as_slice())
                .fetch_one(&mut *transaction)
                .await
                .during(ACTION)?;
        for statement in [
            "DELETE FROM imported_messages WHERE battle IN (SELECT sequence FROM imported_battles WHERE import = $1)",
            "DELETE FROM imported_images WHERE battle IN (SELECT sequence FROM imported_battles WHERE import = $1)",
            "DELETE FROM imported_battles WHERE import = $1",
            "DELETE FROM original_images WHERE pack = $1 \
             AND NOT EXISTS (SELECT 1 FROM imported_images WHERE original = original_images.sha256)",
            "DELETE FROM imports WHERE id = $1",
        ] {
            sqlx::query(statement)
                .bind(id.as_slice())
                .execute(&mut *transaction)
                .await
                .during(ACTION)?;
        }
        let has_images: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM original_images WHERE pack = $1)")
                .bind(id.as_slice())
                .fetch_one(&mut *transaction)
                .await
                .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        if has_images {
            self.packs.close(self.folder(), import);
        } else {
            let (packs, data) = (self.packs.clone(), self.folder().map(ToOwned::to_owned));
            blocking(move || packs.remove(data.as_deref(), import)).await?;
        }
        read_column(n_battles, "COUNT(*)", u64::try_from)
    }
}

/// The source of an import that takes battles.
async fn check_unfinished(
    connection: &mut SqliteConnection,
    import: ImportId,
) -> Result<String, Error> {
    let source: Option<String> =
        sqlx::query_scalar("SELECT source FROM imports WHERE id = $1 AND finished_at IS NULL")
            .bind(import.0.as_slice())
            .fetch_optional(connection)
            .await
            .during("find an import")?;
    source.ok_or(Error::UnknownImport)
}

/// The columns of a side's style, in the order of the table.
fn style_columns(style: Option<ImportedStyle>) -> [Option<i64>; 4] {
    match style {
        Some(style) => [style.tokens, style.headers, style.lists, style.bold]
            .map(|count| Some(i64::from(count))),
        None => [None; 4],
    }
}

/// Both sides with their spellings.
fn by_side<T>(sides: &Sides<T>) -> [(&'static str, &T); 2] {
    [(Side::A.as_str(), &sides.a), (Side::B.as_str(), &sides.b)]
}
