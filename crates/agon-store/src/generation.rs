//! Generations: how answers grow, end and are tried again.

use agon_domain::{BattleId, Finish, Side, Usage, VisitId};
use jiff::Timestamp;
use sqlx::SqliteConnection;

use crate::{
    Error, Store,
    battle::load_own_open_battle,
    error::{During as _, read_column},
    microseconds,
};

/// Which generation: one attempt of one side at one turn of one battle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GenerationKey {
    /// The battle.
    pub battle: BattleId,
    /// The turn, from 0.
    pub turn_idx: u32,
    /// The side.
    pub side: Side,
    /// The attempt, from 1.
    pub attempt: u32,
}

/// How a generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedGeneration {
    /// The whole answer, or as far as it came.
    pub text: String,
    /// How it ended.
    pub finish: Finish,
    /// Tokens, as far as the provider told.
    pub usage: Usage,
    /// From the request to the first token, in milliseconds.
    pub first_token_ms: Option<u32>,
    /// From the request to the end, in milliseconds.
    pub duration_ms: Option<u32>,
    /// When.
    pub finished_at: Timestamp,
    /// What kind of failure it was, for operators; never with a valid finish.
    pub failure_kind: Option<String>,
}

impl Store {
    /// Keeps the answer as far as it has come, in case the server stops.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownGeneration`], [`Error::AlreadyFinished`], [`Error::Database`].
    pub async fn save_progress(&self, key: GenerationKey, text: &str) -> Result<(), Error> {
        const ACTION: &str = "save an unfinished answer";
        let mut transaction = self.database.write().await?;
        let updated = sqlx::query(
            "UPDATE generations SET text = $1 \
             WHERE battle = $2 AND turn_idx = $3 AND side = $4 AND attempt = $5 AND finish IS NULL",
        )
        .bind(text)
        .bind(key.battle.as_bytes().as_slice())
        .bind(i64::from(key.turn_idx))
        .bind(key.side.as_str())
        .bind(i64::from(key.attempt))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        if updated.rows_affected() == 0 {
            return Err(why_not_running(&mut transaction, key).await?);
        }
        transaction.commit().await.during(ACTION)
    }

    /// Ends a generation. An end is final: the first counts, a later one is refused.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownGeneration`], [`Error::AlreadyFinished`], [`Error::Invalid`] for a failure kind with a valid finish, [`Error::Database`].
    pub async fn finish_generation(
        &self,
        key: GenerationKey,
        finished: &FinishedGeneration,
    ) -> Result<(), Error> {
        const ACTION: &str = "finish a generation";
        if finished.failure_kind.is_some() && finished.finish.is_valid() {
            return Err(Error::Invalid {
                field: "failure kind of a valid answer",
                expected: "none",
            });
        }
        let mut transaction = self.database.write().await?;
        let updated = sqlx::query(
            "UPDATE generations SET text = $1, finish = $2, failure_kind = $3, input_tokens = $4, output_tokens = $5, \
             first_token_ms = $6, duration_ms = $7, finished_at = $8 \
             WHERE battle = $9 AND turn_idx = $10 AND side = $11 AND attempt = $12 AND finish IS NULL",
        )
        .bind(finished.text.as_str())
        .bind(finished.finish.as_str())
        .bind(finished.failure_kind.as_deref())
        .bind(finished.usage.input_tokens.map(i64::from))
        .bind(finished.usage.output_tokens.map(i64::from))
        .bind(finished.first_token_ms.map(i64::from))
        .bind(finished.duration_ms.map(i64::from))
        .bind(microseconds(finished.finished_at))
        .bind(key.battle.as_bytes().as_slice())
        .bind(i64::from(key.turn_idx))
        .bind(key.side.as_str())
        .bind(i64::from(key.attempt))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        if updated.rows_affected() == 0 {
            return Err(why_not_running(&mut transaction, key).await?);
        }
        transaction.commit().await.during(ACTION)
    }

    /// Starts another attempt of one side at the last turn, and returns its number.
    ///
    /// The other side's answer stays, and so does the failed attempt.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownBattle`] (also for another visit's), [`Error::AlreadyVoted`], [`Error::NothingToRetry`] when that side's newest answer runs or is valid, [`Error::Database`], [`Error::Corrupt`].
    pub async fn retry_generation(
        &self,
        battle: BattleId,
        visit: VisitId,
        side: Side,
        at: Timestamp,
    ) -> Result<u32, Error> {
        const ACTION: &str = "retry a generation";
        let mut transaction = self.database.write().await?;
        let stored = load_own_open_battle(&mut transaction, battle, visit).await?;
        let turn = stored.turns.last().ok_or(Error::Corrupt {
            column: "turns.battle",
        })?;
        let newest = turn.generations.get(side);
        match newest.finish {
            None => {
                return Err(Error::NothingToRetry {
                    reason: "the answer is still running",
                });
            }
            Some(finish) if finish.is_valid() => {
                return Err(Error::NothingToRetry {
                    reason: "the answer is complete",
                });
            }
            Some(_) => {}
        }
        let key = GenerationKey {
            battle,
            turn_idx: read_column(stored.turns.len() - 1, "turns.idx", u32::try_from)?,
            side,
            attempt: newest.attempt.saturating_add(1),
        };
        insert_running(&mut transaction, key, at)
            .await
            .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        Ok(key.attempt)
    }

    /// Marks every generation without a finish as interrupted, and returns how many there were.
    ///
    /// For the start of a server, which holds the [`crate::ServingLock`] and runs no generation yet.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn interrupt_running(&self, at: Timestamp) -> Result<u64, Error> {
        const ACTION: &str = "mark interrupted generations";
        let mut transaction = self.database.write().await?;
        let updated = sqlx::query(
            "UPDATE generations SET finish = $1, finished_at = $2 WHERE finish IS NULL",
        )
        .bind(Finish::Interrupted.as_str())
        .bind(microseconds(at))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        Ok(updated.rows_affected())
    }
}

/// Inserts an attempt before its first token.
pub(crate) async fn insert_running(
    connection: &mut SqliteConnection,
    key: GenerationKey,
    at: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO generations (battle, turn_idx, side, attempt, text, started_at) VALUES ($1, $2, $3, $4, '', $5)",
    )
    .bind(key.battle.as_bytes().as_slice())
    .bind(i64::from(key.turn_idx))
    .bind(key.side.as_str())
    .bind(i64::from(key.attempt))
    .bind(microseconds(at))
    .execute(connection)
    .await?;
    Ok(())
}

/// The refusal for a generation that is not running.
async fn why_not_running(
    connection: &mut SqliteConnection,
    key: GenerationKey,
) -> Result<Error, Error> {
    let finish: Option<Option<String>> = sqlx::query_scalar(
        "SELECT finish FROM generations WHERE battle = $1 AND turn_idx = $2 AND side = $3 AND attempt = $4",
    )
    .bind(key.battle.as_bytes().as_slice())
    .bind(i64::from(key.turn_idx))
    .bind(key.side.as_str())
    .bind(i64::from(key.attempt))
    .fetch_optional(connection)
    .await
    .during("read a generation")?;
    Ok(
        match finish.map(|text| text.and_then(|text| Finish::from_spelling(&text))) {
            None => Error::UnknownGeneration,
            Some(Some(finish)) => Error::AlreadyFinished { finish },
            Some(None) => Error::Corrupt {
                column: "generations.finish",
            },
        },
    )
}
