//! Votes: cast once, numbered without holes, counted as they come.

use agon_domain::{BattleId, Sides, Tally, VisitId, Vote, Winner};
use jiff::Timestamp;
use sqlx::SqliteConnection;

use crate::{
    Error, Store,
    battle::{load_own_battle, load_own_vote},
    error::{During as _, read_column},
    microseconds,
};

/// What became of a vote, with the names that it reveals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CastVote {
    /// It counts, and it is on the disk.
    Recorded {
        /// The vote.
        vote: Vote,
        /// The two models, by side.
        models: Sides<String>,
    },
    /// The battle already had a vote, which stays as it is.
    AlreadyVoted {
        /// The first vote.
        vote: Vote,
        /// The two models, by side.
        models: Sides<String>,
    },
}

impl CastVote {
    /// The vote that counts, whether this one or an earlier one.
    pub const fn vote(&self) -> &Vote {
        match self {
            Self::Recorded { vote, .. } | Self::AlreadyVoted { vote, .. } => vote,
        }
    }

    /// The two models, by side.
    pub const fn models(&self) -> &Sides<String> {
        match self {
            Self::Recorded { models, .. } | Self::AlreadyVoted { models, .. } => models,
        }
    }
}

/// The votes of one month.
#[derive(Clone, Debug)]
pub struct MonthTally {
    /// The month in UTC, as `2026-11`.
    pub month: String,
    /// Its votes by ordered pair.
    pub tally: Tally,
}

impl Store {
    /// Casts the vote of a battle, which must be one of the visit's own and have only complete and valid answers.
    ///
    /// The check and the vote are one transaction. When this returns the vote is on the disk.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownBattle`] (also for another visit's), [`Error::NotRatable`], [`Error::Database`], [`Error::Corrupt`].
    pub async fn cast_vote(
        &self,
        battle: BattleId,
        visit: VisitId,
        winner: Winner,
        at: Timestamp,
    ) -> Result<CastVote, Error> {
        const ACTION: &str = "cast a vote";
        // A vote never changes, so one that is there is answered by a reader: a flood of repeated votes does not hold up the writer.
        let mut transaction = self.database.read().await?;
        let first = load_own_vote(&mut transaction, battle, visit).await?;
        transaction.commit().await.during(ACTION)?;
        if let Some((vote, models)) = first {
            return Ok(CastVote::AlreadyVoted { vote, models });
        }
        let mut transaction = self.database.write().await?;
        let stored = load_own_battle(&mut transaction, battle, visit).await?;
        let models = stored.models.clone();
        if let Some(vote) = stored.vote {
            return Ok(CastVote::AlreadyVoted { vote, models });
        }
        stored.check_ratable().map_err(Error::NotRatable)?;
        // Rounded as the database rounds it, so that this vote equals the one read later.
        let cast_at = Timestamp::from_microsecond(microseconds(at)).unwrap_or(at);
        let vote = Vote {
            sequence: last_sequence(&mut transaction).await? + 1,
            winner,
            n_turns: read_column(stored.turns.len(), "votes.n_turns", u32::try_from)?,
            cast_at,
        };
        sqlx::query("INSERT INTO votes (sequence, battle, winner, n_turns, cast_at) VALUES ($1, $2, $3, $4, $5)")
            .bind(read_column(vote.sequence, "votes.sequence", i64::try_from)?)
            .bind(battle.as_bytes().as_slice())
            .bind(vote.winner.as_str())
            .bind(i64::from(vote.n_turns))
            .bind(microseconds(vote.cast_at))
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
        sqlx::query(
            "INSERT INTO tallies (model_a, model_b, winner, n) VALUES ($1, $2, $3, 1) \
             ON CONFLICT (model_a, model_b, winner) DO UPDATE SET n = tallies.n + 1",
        )
        .bind(models.a.as_str())
        .bind(models.b.as_str())
        .bind(vote.winner.as_str())
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        Ok(CastVote::Recorded { vote, models })
    }

    /// All votes of anonymous battles by ordered pair, and the sequence of the newest vote among them.
    ///
    /// The time does not grow with the number of votes.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn tally(&self) -> Result<(Tally, u64), Error> {
        self.tally_from(
            "SELECT model_a, model_b, winner, n FROM tallies ORDER BY model_a, model_b, winner",
        )
        .await
    }

    /// The same as [`Store::tally`], counted from the votes themselves: slow, to check the other.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn recount(&self) -> Result<(Tally, u64), Error> {
        self.tally_from(
            "SELECT b.model_a, b.model_b, v.winner, COUNT(*) AS n FROM votes v JOIN battles b ON b.id = v.battle \
             WHERE b.mode = 'battle' GROUP BY b.model_a, b.model_b, v.winner ORDER BY b.model_a, b.model_b, v.winner",
        )
        .await
    }

    /// Votes of anonymous battles by the month in which they were cast (UTC), the earliest month first, and the sequence of
    /// the newest vote; only votes with a sequence above `after`, so that who keeps what came before reads each vote once.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn tally_by_month(&self, after: u64) -> Result<(Vec<MonthTally>, u64), Error> {
        const ACTION: &str = "count the votes by month";
        let mut transaction = self.database.read().await?;
        // The remainder of a time before 1970 is negative: its second is the one below.
        let rows: Vec<(Option<String>, String, String, String, i64)> = sqlx::query_as(
            "SELECT strftime('%Y-%m', v.cast_at / 1000000 - (v.cast_at % 1000000 < 0), 'unixepoch') AS month, \
             b.model_a, b.model_b, v.winner, COUNT(*) AS n FROM votes v JOIN battles b ON b.id = v.battle \
             WHERE v.sequence > $1 AND b.mode = 'battle' \
             GROUP BY month, b.model_a, b.model_b, v.winner ORDER BY month, b.model_a, b.model_b, v.winner",
        )
        .bind(read_column(after, "votes.sequence", i64::try_from)?)
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        let sequence = last_sequence(&mut transaction).await?;
        transaction.commit().await.during(ACTION)?;
        let mut months: Vec<MonthTally> = Vec::new();
        for (month, model_a, model_b, winner, n) in rows {
            let month = month.ok_or(Error::Corrupt {
                column: "votes.cast_at",
            })?;
            if months.last().is_none_or(|last| last.month != month) {
                months.push(MonthTally {
                    month,
                    tally: Tally::new(),
                });
            }
            if let Some(MonthTally { tally, .. }) = months.last_mut() {
                let (a, b) = (tally.model(&model_a), tally.model(&model_b));
                let n = read_column(n, "COUNT(*)", u64::try_from)?;
                tally.add(a, b, parse_winner(&winner, "votes.winner")?, n);
            }
        }
        Ok((months, sequence))
    }

    /// The sequence of the newest vote; 0 before the first.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn last_sequence(&self) -> Result<u64, Error> {
        let mut transaction = self.database.read().await?;
        let sequence = last_sequence(&mut transaction).await?;
        transaction.commit().await.during("read the last vote")?;
        Ok(sequence)
    }

    async fn tally_from(&self, statement: &'static str) -> Result<(Tally, u64), Error> {
        const ACTION: &str = "count the votes";
        let mut transaction = self.database.read().await?;
        let rows: Vec<(String, String, String, i64)> = sqlx::query_as(statement)
            .fetch_all(&mut *transaction)
            .await
            .during(ACTION)?;
        let sequence = last_sequence(&mut transaction).await?;
        transaction.commit().await.during(ACTION)?;
        let mut tally = Tally::new();
        for (model_a, model_b, winner, n) in rows {
            let (a, b) = (tally.model(&model_a), tally.model(&model_b));
            let n = read_column(n, "tallies.n", u64::try_from)?;
            tally.add(a, b, parse_winner(&winner, "tallies.winner")?, n);
        }
        Ok((tally, sequence))
    }
}

/// The winner with this canonical spelling. The looser spellings of vote files have no place in the database.
pub(crate) fn parse_winner(text: &str, column: &'static str) -> Result<Winner, Error> {
    Winner::ALL
        .into_iter()
        .find(|winner| winner.as_str() == text)
        .ok_or(Error::Corrupt { column })
}

async fn last_sequence(connection: &mut SqliteConnection) -> Result<u64, Error> {
    let sequence: i64 = sqlx::query_scalar("SELECT COALESCE(MAX(sequence), 0) FROM votes")
        .fetch_one(connection)
        .await
        .during("read the last vote")?;
    read_column(sequence, "votes.sequence", u64::try_from)
}
