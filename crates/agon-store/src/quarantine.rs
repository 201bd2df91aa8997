//! Sealed cases: files that this program cannot open, and a list of everything that was done with them.
//!
//! The bytes that come in are sealed already; no key ever passes through here.

use std::{path::Path, sync::PoisonError};

use agon_domain::{BattleId, CaseId, ImageId};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use sqlx::{FromRow, Sqlite, Transaction};

use crate::{
    Error, Place, Store, blocking,
    error::{During as _, OnPath as _, read_column},
    folder, id_bytes, images, microseconds, timestamp,
};

/// Where a case stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaseState {
    /// Sealed, and nobody has done anything yet.
    Sealed,
    /// A report was written to a file.
    ReportPrepared,
    /// A person began to hand the report in, and its outcome is not known yet.
    ReportSubmitting,
    /// Whether the report arrived is unknown. Only a person may go on.
    ReportParked,
    /// The report arrived.
    Reported,
    /// The sealed file was destroyed at the end of its time.
    Destroyed,
}

impl CaseState {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Sealed,
        Self::ReportPrepared,
        Self::ReportSubmitting,
        Self::ReportParked,
        Self::Reported,
        Self::Destroyed,
    ];

    /// The spelling in database and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::ReportPrepared => "report_prepared",
            Self::ReportSubmitting => "report_submitting",
            Self::ReportParked => "report_parked",
            Self::Reported => "reported",
            Self::Destroyed => "destroyed",
        }
    }

    fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// A case to be sealed.
#[derive(Clone, Debug)]
pub struct NewCase {
    /// A fresh id.
    pub id: CaseId,
    /// When.
    pub sealed_at: Timestamp,
    /// Until when it must be kept.
    pub retain_until: Timestamp,
    /// The battle that it ended, when there was one.
    pub battle: Option<BattleId>,
}

/// What is known of a case without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its id.
    pub id: CaseId,
    /// When it was sealed.
    pub sealed_at: Timestamp,
    /// Until when it must be kept.
    pub retain_until: Timestamp,
    /// The battle that it ended, when there was one.
    pub battle: Option<BattleId>,
    /// Size of the sealed file, in bytes.
    pub n_bytes: u64,
    /// Where it stands.
    pub state: CaseState,
    /// The authority's number of the report.
    pub report_id: Option<String>,
}

/// Something that was done with a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseEvent {
    /// What: a state's spelling, or `opened`.
    pub what: String,
    /// Who.
    pub who: String,
    /// When.
    pub at: Timestamp,
}

#[derive(FromRow)]
struct CaseRow {
    id: Vec<u8>,
    sealed_at: i64,
    retain_until: i64,
    battle: Option<Vec<u8>>,
    n_bytes: i64,
    state: String,
    report_id: Option<String>,
}

impl CaseRow {
    fn into_case(self) -> Result<Case, Error> {
        Ok(Case {
            id: CaseId::from_bytes(id_bytes(self.id, "quarantine_cases.id")?),
            sealed_at: timestamp(self.sealed_at, "quarantine_cases.sealed_at")?,
            retain_until: timestamp(self.retain_until, "quarantine_cases.retain_until")?,
            battle: self
                .battle
                .map(|bytes| id_bytes(bytes, "quarantine_cases.battle"))
                .transpose()?
                .map(BattleId::from_bytes),
            n_bytes: read_column(self.n_bytes, "quarantine_cases.n_bytes", u64::try_from)?,
            state: read_column(self.state, "quarantine_cases.state", |text| {
                CaseState::from_spelling(&text).ok_or(())
            })?,
            report_id: self.report_id,
        })
    }
}

const CASE_COLUMNS: &str =
    "SELECT id, sealed_at, retain_until, battle, n_bytes, state, report_id FROM quarantine_cases";

impl Store {
    /// Keeps sealed bytes as a new case and ends its battle, if it has one. The file is on the disk before the database knows of it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for no bytes, [`Error::Io`], [`Error::Database`].
    pub async fn seal_case(&self, case: &NewCase, sealed: Vec<u8>) -> Result<(), Error> {
        const ACTION: &str = "keep a sealed case";
        if sealed.is_empty() {
            return Err(Error::Invalid {
                field: "sealed case",
                expected: "at least one byte",
            });
        }
        let n_bytes = read_column(sealed.len(), "quarantine_cases.n_bytes", i64::try_from)?;
        let sha256: [u8; 32] = Sha256::digest(&sealed).into();
        match &*self.place {
            Place::Folder(folder) => {
                let (folder, id) = (folder.join("quarantine"), case.id);
                blocking(move || {
                    folder::create_private_folder(&folder)?;
                    folder::sync_folder(folder::parent_of(&folder))?;
                    let path = sealed_path(&folder, id);
                    folder::write_temporary(&folder, &sealed)?
                        .persist_noclobber(&path)
                        .map_err(|error| error.error)
                        .on_path("keep the sealed case", &path)?;
                    folder::sync_folder(&folder)
                })
                .await?;
            }
            Place::Memory { sealed: kept, .. } => {
                // A case that is there stays as it is, and the database refuses the second one.
                kept.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .entry(case.id)
                    .or_insert(sealed);
            }
        }
        let battle = case.battle.as_ref().map(|id| id.as_bytes().as_slice());
        let mut transaction = self.database.write().await?;
        sqlx::query(
            "INSERT INTO quarantine_cases (id, sealed_at, retain_until, battle, sealed_sha256, n_bytes, state) \
             VALUES ($1, $2, $3, $4, $5, $6, 'sealed')",
        )
        .bind(case.id.as_bytes().as_slice())
        .bind(microseconds(case.sealed_at))
        .bind(microseconds(case.retain_until))
        .bind(battle)
        .bind(sha256.as_slice())
        .bind(n_bytes)
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        add_event(
            &mut transaction,
            case.id,
            "sealed",
            "the arena",
            case.sealed_at,
        )
        .await?;
        if let Some(battle) = battle {
            sqlx::query(
                "INSERT INTO ended_battles (battle, ended_at) VALUES ($1, $2) ON CONFLICT (battle) DO NOTHING",
            )
            .bind(battle)
            .bind(microseconds(case.sealed_at))
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
        }
        transaction.commit().await.during(ACTION)
    }

    /// All cases, from the oldest.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn cases(&self) -> Result<Vec<Case>, Error> {
        const ACTION: &str = "list the sealed cases";
        let mut transaction = self.database.read().await?;
        let rows: Vec<CaseRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{CASE_COLUMNS} ORDER BY sealed_at, id"
        )))
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        rows.into_iter().map(CaseRow::into_case).collect()
    }

    /// A case with everything that was done with it, from the first.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn case(&self, id: CaseId) -> Result<Option<(Case, Vec<CaseEvent>)>, Error> {
        const ACTION: &str = "read a sealed case";
        let mut transaction = self.database.read().await?;
        let row: Option<CaseRow> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!("{CASE_COLUMNS} WHERE id = $1")))
                .bind(id.as_bytes().as_slice())
                .fetch_optional(&mut *transaction)
                .await
                .during(ACTION)?;
        let events: Vec<(String, String, i64)> = sqlx::query_as(
            "SELECT what, who, at FROM quarantine_events WHERE quarantined = $1 ORDER BY sequence",
        )
        .bind(id.as_bytes().as_slice())
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        let Some(row) = row else { return Ok(None) };
        let events = events
            .into_iter()
            .map(|(what, who, at)| {
                Ok(CaseEvent {
                    what,
                    who,
                    at: timestamp(at, "quarantine_events.at")?,
                })
            })
            .collect::<Result<_, Error>>()?;
        Ok(Some((row.into_case()?, events)))
    }

    /// The sealed bytes of a case, checked against what was kept. The opening is recorded before the bytes are read.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownCase`], [`Error::DamagedCase`] when the file is gone or changed, [`Error::Io`], [`Error::Database`].
    pub async fn open_case(&self, id: CaseId, who: &str, at: Timestamp) -> Result<Vec<u8>, Error> {
        const ACTION: &str = "record the opening of a case";
        let mut transaction = self.database.write().await?;
        let sha256: Option<Vec<u8>> = sqlx::query_scalar(
            "SELECT sealed_sha256 FROM quarantine_cases WHERE id = $1 AND state <> 'destroyed'",
        )
        .bind(id.as_bytes().as_slice())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        let sha256: [u8; 32] = id_bytes(
            sha256.ok_or(Error::UnknownCase(id))?,
            "quarantine_cases.sealed_sha256",
        )?;
        add_event(&mut transaction, id, "opened", who, at).await?;
        transaction.commit().await.during(ACTION)?;
        let bytes = match &*self.place {
            Place::Folder(folder) => {
                let path = sealed_path(&folder.join("quarantine"), id);
                blocking(move || folder::read_if_present(&path)).await?
            }
            Place::Memory { sealed, .. } => sealed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&id)
                .cloned(),
        };
        bytes
            .filter(|bytes| <[u8; 32]>::from(Sha256::digest(bytes)) == sha256)
            .ok_or(Error::DamagedCase(id))
    }

    /// Notes a step of a case's report. A step is taken only from one of the states in `from`, so that of two people at once one is refused.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownCase`], [`Error::WrongCaseState`], [`Error::Invalid`] for no name, [`Error::Database`].
    pub async fn advance_case(
        &self,
        id: CaseId,
        from: &[CaseState],
        to: CaseState,
        report_id: Option<&str>,
        who: &str,
        at: Timestamp,
    ) -> Result<(), Error> {
        const ACTION: &str = "note a step of a case";
        if who.trim().is_empty() {
            return Err(Error::Invalid {
                field: "person who acts on a case",
                expected: "a name",
            });
        }
        let mut transaction = self.database.write().await?;
        let state: Option<String> =
            sqlx::query_scalar("SELECT state FROM quarantine_cases WHERE id = $1")
                .bind(id.as_bytes().as_slice())
                .fetch_optional(&mut *transaction)
                .await
                .during(ACTION)?;
        let state = read_column(
            state.ok_or(Error::UnknownCase(id))?,
            "quarantine_cases.state",
            |text| CaseState::from_spelling(&text).ok_or(()),
        )?;
        if !from.contains(&state) {
            return Err(Error::WrongCaseState {
                id,
                state: state.as_str(),
            });
        }
        sqlx::query(
            "UPDATE quarantine_cases SET state = $2, report_id = COALESCE($3, report_id) WHERE id = $1",
        )
        .bind(id.as_bytes().as_slice())
        .bind(to.as_str())
        .bind(report_id)
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        add_event(&mut transaction, id, to.as_str(), who, at).await?;
        transaction.commit().await.during(ACTION)
    }

    /// Destroys the sealed file of a case whose time is over. The case and what was done with it stay on record.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownCase`], [`Error::CaseRetained`] before its time, [`Error::WrongCaseState`] when it is destroyed or its report's outcome is open, [`Error::Io`], [`Error::Database`].
    pub async fn destroy_case(&self, id: CaseId, who: &str, at: Timestamp) -> Result<(), Error> {
        let (case, _) = self.case(id).await?.ok_or(Error::UnknownCase(id))?;
        if at < case.retain_until {
            return Err(Error::CaseRetained {
                id,
                until: case.retain_until,
            });
        }
        let endable = [
            CaseState::Sealed,
            CaseState::ReportPrepared,
            CaseState::Reported,
        ];
        if !endable.contains(&case.state) {
            return Err(Error::WrongCaseState {
                id,
                state: case.state.as_str(),
            });
        }
        // The file goes first: after a crash in between, the same command finds a case that it can go on with.
        match &*self.place {
            Place::Folder(folder) => {
                let folder = folder.join("quarantine");
                blocking(move || {
                    remove(&sealed_path(&folder, id))?;
                    folder::sync_folder(&folder)
                })
                .await?;
            }
            Place::Memory { sealed, .. } => {
                sealed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&id);
            }
        }
        self.advance_case(id, &endable, CaseState::Destroyed, None, who, at)
            .await
    }

    /// Whether a battle was ended by a sealed case.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn is_ended(&self, battle: BattleId) -> Result<bool, Error> {
        const ACTION: &str = "look for an ended battle";
        let mut transaction = self.database.read().await?;
        let n: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM ended_battles WHERE battle = $1")
            .bind(battle.as_bytes().as_slice())
            .fetch_one(&mut *transaction)
            .await
            .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        Ok(n > 0)
    }

    /// Removes the bytes of an image, after they were sealed. What is known of it stays, so that battles can still be read; [`Store::image`] then says that it is damaged.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::Database`], [`Error::Corrupt`].
    pub async fn remove_image_bytes(&self, id: ImageId) -> Result<(), Error> {
        let Some(meta) = self.image_meta(id).await? else {
            return Ok(());
        };
        match &*self.place {
            Place::Folder(folder) => {
                let (folder, path) = images::place_of(&folder.join("images"), id, meta.format);
                blocking(move || {
                    remove(&path)?;
                    folder::sync_folder(&folder)
                })
                .await
            }
            Place::Memory { images, .. } => {
                images
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&id);
                Ok(())
            }
        }
    }
}

async fn add_event(
    transaction: &mut Transaction<'static, Sqlite>,
    id: CaseId,
    what: &str,
    who: &str,
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO quarantine_events (quarantined, what, who, at) VALUES ($1, $2, $3, $4)",
    )
    .bind(id.as_bytes().as_slice())
    .bind(what)
    .bind(who)
    .bind(microseconds(at))
    .execute(&mut **transaction)
    .await
    .during("record what was done with a case")?;
    Ok(())
}

fn sealed_path(folder: &Path, id: CaseId) -> std::path::PathBuf {
    folder.join(format!("{id}.sealed"))
}

/// Removes a file; one that is gone already is no error.
fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result.on_path("remove the file", path),
    }
}
