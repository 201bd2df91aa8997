//! Battles: started, continued, read back.

use std::collections::HashMap;

use agon_domain::{
    Battle, BattleId, ConsentId, Finish, Generation, ImageId, Mode, Side, Sides, Turn, Usage,
    VisitId, Vote, VoterId,
};
use jiff::Timestamp;
use sqlx::{FromRow, SqliteConnection};

use crate::{
    Error, Store,
    error::{During as _, read_column},
    generation::{GenerationKey, insert_running},
    id_bytes, microseconds, timestamp,
    vote::parse_winner,
};

/// How much of a battle's first prompt its summary shows, in characters.
pub const SUMMARY_PROMPT_CHARS_MAX: u32 = 200;

/// A battle to be started, with its first turn.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBattle {
    /// Its id, new.
    pub id: BattleId,
    /// The visit that starts it.
    pub visit: VisitId,
    /// The pseudonym of whoever starts it.
    pub voter: VoterId,
    /// A consent that the visit gave.
    pub consent: ConsentId,
    /// How the two models met.
    pub mode: Mode,
    /// The names of the two models, by side; different ones.
    pub models: Sides<String>,
    /// The probability with which this unordered pair was drawn: above 0, at most 1.
    pub pair_probability: f64,
    /// When it starts.
    pub started_at: Timestamp,
    /// The first prompt. May be empty only with an image.
    pub prompt: String,
    /// The image of the first turn, stored before.
    pub image: Option<ImageId>,
}

/// A battle in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BattleSummary {
    /// Its id.
    pub id: BattleId,
    /// When it was started.
    pub started_at: Timestamp,
    /// The beginning of its first prompt, up to [`SUMMARY_PROMPT_CHARS_MAX`] characters.
    pub first_prompt: String,
    /// Whether its first turn shows an image.
    pub has_image: bool,
    /// Whether it has a vote.
    pub voted: bool,
}

macro_rules! select_battles {
    ($where:literal) => {
        concat!(
            "SELECT b.id, b.visit, b.voter, b.consent, b.mode, b.model_a, b.model_b, b.pair_probability, b.started_at, \
             v.sequence, v.winner, v.n_turns, v.cast_at FROM battles b ",
            $where
        )
    };
}

macro_rules! select_turns {
    ($where:literal) => {
        concat!(
            "SELECT t.battle, t.idx, t.prompt, t.image, t.sent_at FROM turns t ",
            $where
        )
    };
}

macro_rules! select_generations {
    ($where:literal) => {
        concat!(
            "SELECT g.battle, g.turn_idx, g.side, g.attempt, g.text, g.finish, g.input_tokens, g.output_tokens, \
             g.first_token_ms, g.duration_ms FROM generations g ",
            $where
        )
    };
}

#[derive(FromRow)]
struct BattleRow {
    id: Vec<u8>,
    visit: Vec<u8>,
    voter: Vec<u8>,
    consent: Vec<u8>,
    mode: String,
    model_a: String,
    model_b: String,
    pair_probability: f64,
    started_at: i64,
    sequence: Option<i64>,
    winner: Option<String>,
    n_turns: Option<i64>,
    cast_at: Option<i64>,
}

#[derive(FromRow)]
struct TurnRow {
    battle: Vec<u8>,
    idx: i64,
    prompt: String,
    image: Option<Vec<u8>>,
    sent_at: i64,
}

#[derive(FromRow)]
struct GenerationRow {
    battle: Vec<u8>,
    turn_idx: i64,
    side: String,
    attempt: i64,
    text: String,
    finish: Option<String>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    first_token_ms: Option<i64>,
    duration_ms: Option<i64>,
}

impl Store {
    /// Starts a battle: the battle, its first turn, and both generations running at their first attempt.
    ///
    /// # Errors
    ///
    /// [`Error::NoConsent`], [`Error::EmptyPrompt`], [`Error::UnknownImage`], [`Error::DuplicateId`], [`Error::Invalid`] for a model against itself or a probability outside (0, 1], [`Error::Database`].
    pub async fn start_battle(&self, battle: &NewBattle) -> Result<(), Error> {
        const ACTION: &str = "start a battle";
        check_new(battle)?;
        let mut transaction = self.database.write().await?;
        let consented: Option<i64> = sqlx::query_scalar(
            "SELECT 1 FROM consents WHERE id = $1 AND visit = $2 AND given_at <= $3",
        )
        .bind(battle.consent.as_bytes().as_slice())
        .bind(battle.visit.as_bytes().as_slice())
        .bind(microseconds(battle.started_at))
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        if consented.is_none() {
            return Err(Error::NoConsent);
        }
        if let Some(image) = battle.image {
            let known: Option<i64> = sqlx::query_scalar("SELECT 1 FROM images WHERE id = $1")
                .bind(image.as_bytes().as_slice())
                .fetch_optional(&mut *transaction)
                .await
                .during(ACTION)?;
            if known.is_none() {
                return Err(Error::UnknownImage(image));
            }
        }
        let inserted = sqlx::query(
            "INSERT INTO battles (id, visit, voter, consent, mode, model_a, model_b, pair_probability, started_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING",
        )
        .bind(battle.id.as_bytes().as_slice())
        .bind(battle.visit.as_bytes().as_slice())
        .bind(battle.voter.as_bytes().as_slice())
        .bind(battle.consent.as_bytes().as_slice())
        .bind(mode_spelling(battle.mode))
        .bind(battle.models.a.as_str())
        .bind(battle.models.b.as_str())
        .bind(battle.pair_probability)
        .bind(microseconds(battle.started_at))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        if inserted.rows_affected() == 0 {
            return Err(Error::DuplicateId { kind: "battle" });
        }
        let turn = NewTurn {
            battle: battle.id,
            idx: 0,
            prompt: &battle.prompt,
            image: battle.image,
            at: battle.started_at,
        };
        insert_turn(&mut transaction, &turn).await.during(ACTION)?;
        transaction.commit().await.during(ACTION)
    }

    /// Adds a turn, with both generations running at their first attempt, and returns its position.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyPrompt`], [`Error::UnknownBattle`] (also for another visit's), [`Error::AlreadyVoted`], [`Error::NotRatable`] unless every answer so far is complete and valid, [`Error::TooManyTurns`], [`Error::Database`], [`Error::Corrupt`].
    pub async fn add_turn(
        &self,
        battle: BattleId,
        visit: VisitId,
        prompt: &str,
        n_turns_max: u32,
        at: Timestamp,
    ) -> Result<u32, Error> {
        const ACTION: &str = "add a turn";
        if prompt.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let mut transaction = self.database.write().await?;
        let stored = load_own_open_battle(&mut transaction, battle, visit).await?;
        stored.check_ratable().map_err(Error::NotRatable)?;
        let idx = read_column(stored.turns.len(), "turns.idx", u32::try_from)?;
        if idx >= n_turns_max {
            return Err(Error::TooManyTurns { n_turns_max });
        }
        let turn = NewTurn {
            battle,
            idx,
            prompt,
            image: None,
            at,
        };
        insert_turn(&mut transaction, &turn).await.during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        Ok(idx)
    }

    /// A battle with the newest attempt of each side, whoever it belongs to: compare [`Battle::visit`] before showing it.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn battle(&self, id: BattleId) -> Result<Option<Battle>, Error> {
        let mut transaction = self.database.read().await?;
        let battle = load_battle(&mut transaction, id).await?;
        transaction.commit().await.during("read a battle")?;
        Ok(battle)
    }

    /// The newest battle of a visit that has no vote, to be shown again after a reload.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn open_battle(&self, visit: VisitId) -> Result<Option<BattleId>, Error> {
        const ACTION: &str = "find the open battle";
        let mut transaction = self.database.read().await?;
        let id: Option<Vec<u8>> = sqlx::query_scalar(
            "SELECT b.id FROM battles b WHERE b.visit = $1 \
             AND NOT EXISTS (SELECT 1 FROM votes v WHERE v.battle = b.id) \
             ORDER BY b.started_at DESC, b.id DESC LIMIT 1",
        )
        .bind(visit.as_bytes().as_slice())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        id.map(|id| Ok(BattleId::from_bytes(id_bytes(id, "battles.id")?)))
            .transpose()
    }

    /// Up to `n_max` battles of a visit, the newest first.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn battles_of_visit(
        &self,
        visit: VisitId,
        n_max: u32,
    ) -> Result<Vec<BattleSummary>, Error> {
        const ACTION: &str = "list the battles of a visit";
        let mut transaction = self.database.read().await?;
        let rows: Vec<(Vec<u8>, i64, String, bool, bool)> = sqlx::query_as(
            "SELECT b.id, b.started_at, substr(t.prompt, 1, $2), t.image IS NOT NULL, v.sequence IS NOT NULL \
             FROM battles b JOIN turns t ON t.battle = b.id AND t.idx = 0 LEFT JOIN votes v ON v.battle = b.id \
             WHERE b.visit = $1 ORDER BY b.started_at DESC, b.id DESC LIMIT $3",
        )
        .bind(visit.as_bytes().as_slice())
        .bind(i64::from(SUMMARY_PROMPT_CHARS_MAX))
        .bind(i64::from(n_max))
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        rows.into_iter()
            .map(|(id, started_at, first_prompt, has_image, voted)| {
                Ok(BattleSummary {
                    id: BattleId::from_bytes(id_bytes(id, "battles.id")?),
                    started_at: timestamp(started_at, "battles.started_at")?,
                    first_prompt,
                    has_image,
                    voted,
                })
            })
            .collect()
    }

    /// Up to `n_max` battles with a vote after the one numbered `after_sequence`, in the order of their votes.
    ///
    /// For a walk over all of them, begin with 0 and go on with the sequence of the last one's vote until none comes.
    /// Memory is that of one page.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn voted_battles(
        &self,
        after_sequence: u64,
        n_max: u32,
    ) -> Result<Vec<Battle>, Error> {
        const ACTION: &str = "read battles";
        let Ok(after) = i64::try_from(after_sequence) else {
            return Ok(Vec::new());
        };
        let mut transaction = self.database.read().await?;
        let battles: Vec<BattleRow> = sqlx::query_as(select_battles!(
            "JOIN votes v ON v.battle = b.id WHERE v.sequence > $1 ORDER BY v.sequence LIMIT $2"
        ))
        .bind(after)
        .bind(i64::from(n_max))
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        let Some(last) = battles.last().and_then(|row| row.sequence) else {
            return Ok(Vec::new());
        };
        let turns = sqlx::query_as(select_turns!(
            "JOIN votes v ON v.battle = t.battle WHERE v.sequence > $1 AND v.sequence <= $2"
        ))
        .bind(after)
        .bind(last)
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        let generations = sqlx::query_as(select_generations!(
            "JOIN votes v ON v.battle = g.battle WHERE v.sequence > $1 AND v.sequence <= $2"
        ))
        .bind(after)
        .bind(last)
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        assemble(battles, turns, generations)
    }
}

/// The battle with this id when it belongs to the visit.
pub(crate) async fn load_own_battle(
    connection: &mut SqliteConnection,
    id: BattleId,
    visit: VisitId,
) -> Result<Battle, Error> {
    load_battle(connection, id)
        .await?
        .filter(|battle| battle.visit == visit)
        .ok_or(Error::UnknownBattle)
}

/// The vote and the models of the battle with this id, when it belongs to the visit and has one. Reads no text.
pub(crate) async fn load_own_vote(
    connection: &mut SqliteConnection,
    id: BattleId,
    visit: VisitId,
) -> Result<Option<(Vote, Sides<String>)>, Error> {
    let row: Option<BattleRow> = sqlx::query_as(select_battles!(
        "JOIN votes v ON v.battle = b.id WHERE b.id = $1 AND b.visit = $2"
    ))
    .bind(id.as_bytes().as_slice())
    .bind(visit.as_bytes().as_slice())
    .fetch_optional(connection)
    .await
    .during("read a vote")?;
    let Some(row) = row else { return Ok(None) };
    let battle = row.into_battle(Vec::new())?;
    Ok(battle.vote.map(|vote| (vote, battle.models)))
}

/// The battle with this id when it belongs to the visit and has no vote.
pub(crate) async fn load_own_open_battle(
    connection: &mut SqliteConnection,
    id: BattleId,
    visit: VisitId,
) -> Result<Battle, Error> {
    let battle = load_own_battle(connection, id, visit).await?;
    match battle.vote {
        Some(vote) => Err(Error::AlreadyVoted(vote)),
        None => Ok(battle),
    }
}

async fn load_battle(
    connection: &mut SqliteConnection,
    id: BattleId,
) -> Result<Option<Battle>, Error> {
    const ACTION: &str = "read a battle";
    let battles: Vec<BattleRow> = sqlx::query_as(select_battles!(
        "LEFT JOIN votes v ON v.battle = b.id WHERE b.id = $1"
    ))
    .bind(id.as_bytes().as_slice())
    .fetch_all(&mut *connection)
    .await
    .during(ACTION)?;
    if battles.is_empty() {
        return Ok(None);
    }
    let turns = sqlx::query_as(select_turns!("WHERE t.battle = $1"))
        .bind(id.as_bytes().as_slice())
        .fetch_all(&mut *connection)
        .await
        .during(ACTION)?;
    let generations = sqlx::query_as(select_generations!("WHERE g.battle = $1"))
        .bind(id.as_bytes().as_slice())
        .fetch_all(&mut *connection)
        .await
        .during(ACTION)?;
    Ok(assemble(battles, turns, generations)?.pop())
}

fn check_new(battle: &NewBattle) -> Result<(), Error> {
    if battle.prompt.is_empty() && battle.image.is_none() {
        return Err(Error::EmptyPrompt);
    }
    if battle.models.a == battle.models.b {
        return Err(Error::Invalid {
            field: "pair of models",
            expected: "two different models",
        });
    }
    // Written so that NaN is refused too.
    if !(battle.pair_probability > 0.0 && battle.pair_probability <= 1.0) {
        return Err(Error::Invalid {
            field: "probability of the pair",
            expected: "a number above 0 and at most 1",
        });
    }
    Ok(())
}

struct NewTurn<'a> {
    battle: BattleId,
    idx: u32,
    prompt: &'a str,
    image: Option<ImageId>,
    at: Timestamp,
}

async fn insert_turn(
    connection: &mut SqliteConnection,
    turn: &NewTurn<'_>,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO turns (battle, idx, prompt, image, sent_at) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(turn.battle.as_bytes().as_slice())
    .bind(i64::from(turn.idx))
    .bind(turn.prompt)
    .bind(turn.image.as_ref().map(|image| image.as_bytes().as_slice()))
    .bind(microseconds(turn.at))
    .execute(&mut *connection)
    .await?;
    for side in Side::BOTH {
        let key = GenerationKey {
            battle: turn.battle,
            turn_idx: turn.idx,
            side,
            attempt: 1,
        };
        insert_running(&mut *connection, key, turn.at).await?;
    }
    Ok(())
}

/// Puts rows of the three tables together, in the order of the battles.
fn assemble(
    battles: Vec<BattleRow>,
    turns: Vec<TurnRow>,
    generations: Vec<GenerationRow>,
) -> Result<Vec<Battle>, Error> {
    let mut generations_of: HashMap<(Vec<u8>, i64, Side), Generation> = HashMap::new();
    for mut row in generations {
        let side = Side::from_spelling(&row.side).ok_or(Error::Corrupt {
            column: "generations.side",
        })?;
        let key = (std::mem::take(&mut row.battle), row.turn_idx, side);
        let generation = row.into_generation()?;
        let is_newest = generations_of
            .get(&key)
            .is_none_or(|other| other.attempt < generation.attempt);
        if is_newest {
            generations_of.insert(key, generation);
        }
    }
    let mut turns_of: HashMap<Vec<u8>, Vec<(i64, Turn)>> = HashMap::new();
    for row in turns {
        let mut generation = |side| {
            generations_of
                .remove(&(row.battle.clone(), row.idx, side))
                .ok_or(Error::Corrupt {
                    column: "generations.turn_idx",
                })
        };
        let turn = Turn {
            generations: Sides {
                a: generation(Side::A)?,
                b: generation(Side::B)?,
            },
            prompt: row.prompt,
            image: row
                .image
                .map(|image| id_bytes(image, "turns.image").map(ImageId::from_bytes))
                .transpose()?,
            sent_at: timestamp(row.sent_at, "turns.sent_at")?,
        };
        turns_of
            .entry(row.battle)
            .or_default()
            .push((row.idx, turn));
    }
    battles
        .into_iter()
        .map(|row| {
            let mut turns = turns_of.remove(&row.id).unwrap_or_default();
            turns.sort_by_key(|&(idx, _)| idx);
            row.into_battle(turns.into_iter().map(|(_, turn)| turn).collect())
        })
        .collect()
}

impl BattleRow {
    fn into_battle(self, turns: Vec<Turn>) -> Result<Battle, Error> {
        let vote = match (self.sequence, self.winner, self.n_turns, self.cast_at) {
            (None, None, None, None) => None,
            (Some(sequence), Some(winner), Some(n_turns), Some(cast_at)) => Some(Vote {
                sequence: read_column(sequence, "votes.sequence", u64::try_from)?,
                winner: parse_winner(&winner, "votes.winner")?,
                n_turns: read_column(n_turns, "votes.n_turns", u32::try_from)?,
                cast_at: timestamp(cast_at, "votes.cast_at")?,
            }),
            _ => {
                return Err(Error::Corrupt {
                    column: "votes.sequence",
                });
            }
        };
        Ok(Battle {
            id: BattleId::from_bytes(id_bytes(self.id, "battles.id")?),
            visit: VisitId::from_bytes(id_bytes(self.visit, "battles.visit")?),
            voter: VoterId::from_bytes(id_bytes(self.voter, "battles.voter")?),
            consent: ConsentId::from_bytes(id_bytes(self.consent, "battles.consent")?),
            mode: parse_mode(&self.mode)?,
            models: Sides {
                a: self.model_a,
                b: self.model_b,
            },
            pair_probability: self.pair_probability,
            started_at: timestamp(self.started_at, "battles.started_at")?,
            turns,
            vote,
        })
    }
}

impl GenerationRow {
    fn into_generation(self) -> Result<Generation, Error> {
        let optional = |value: Option<i64>, column| {
            value
                .map(|value| read_column(value, column, u32::try_from))
                .transpose()
        };
        Ok(Generation {
            text: self.text,
            finish: self
                .finish
                .map(|text| {
                    Finish::from_spelling(&text).ok_or(Error::Corrupt {
                        column: "generations.finish",
                    })
                })
                .transpose()?,
            attempt: read_column(self.attempt, "generations.attempt", u32::try_from)?,
            usage: Usage {
                input_tokens: optional(self.input_tokens, "generations.input_tokens")?,
                output_tokens: optional(self.output_tokens, "generations.output_tokens")?,
            },
            first_token_ms: optional(self.first_token_ms, "generations.first_token_ms")?,
            duration_ms: optional(self.duration_ms, "generations.duration_ms")?,
        })
    }
}

const fn mode_spelling(mode: Mode) -> &'static str {
    match mode {
        Mode::Battle => "battle",
    }
}

fn parse_mode(text: &str) -> Result<Mode, Error> {
    match text {
        "battle" => Ok(Mode::Battle),
        _ => Err(Error::Corrupt {
            column: "battles.mode",
        }),
    }
}
