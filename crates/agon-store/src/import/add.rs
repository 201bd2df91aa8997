//! Writing battles of an import, a batch at a time, and their images.

use std::collections::HashMap;

use agon_domain::{BattleId, ImageId, VoterId};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{
    AddedBattle, ImportId, KeptImage, NewImportedBattle, WrittenOriginal, by_side,
    check_unfinished, imported_battle_id, originals, read::category_lines, shared_battle_id,
    style_columns,
};
use crate::{
    Error, Store,
    error::{During as _, read_column},
    id_bytes, microseconds,
};

const ACTION: &str = "store imported battles";

/// Values of one statement at most; SQLite takes 32,766. Such statements are of every length, and none is kept prepared.
pub(super) const VALUES_MAX: usize = 8192;
/// Columns of each table that battles are written to.
const BATTLE_COLUMNS: usize = 24;
const MESSAGE_COLUMNS: usize = 5;
const IMAGE_COLUMNS: usize = 7;

/// A battle that is there already.
#[derive(Clone)]
struct Known {
    sequence: i64,
    row_idx: i64,
    is_of_this_import: bool,
    cast_at: Option<i64>,
    /// Its models in the order of their names.
    pair: [String; 2],
    judge: Option<VoterId>,
}

impl Known {
    /// Whether a row with its original id is a vote on it: between the same models, and by the same judge or at the same time.
    ///
    /// A judge that one of both does not name is no other one; a published set and the log that it was made from name judges differently.
    fn is_of(&self, battle: &NewImportedBattle) -> bool {
        let is_same_judge = match (self.judge, battle.judge) {
            (Some(known), Some(new)) => known == new,
            _ => true,
        };
        let is_same_time =
            self.cast_at.is_some() && self.cast_at == battle.cast_at.map(microseconds);
        self.pair == pair(battle) && (is_same_judge || is_same_time)
    }
}

/// A battle with the number it gets.
struct Numbered<'a> {
    sequence: i64,
    id: BattleId,
    is_shared_id: bool,
    row_idx: i64,
    battle: &'a NewImportedBattle,
}

impl Store {
    /// [`Store::add_imported_with`] without originals.
    ///
    /// # Errors
    ///
    /// Those of [`Store::add_imported_with`].
    pub async fn add_imported(
        &self,
        import: ImportId,
        battles: &[NewImportedBattle],
    ) -> Result<Vec<AddedBattle>, Error> {
        self.add_imported_with(import, battles, &[]).await
    }

    /// Stores battles of an unfinished import and the originals that were written for them, in one transaction, and says of each battle in their order what became of it.
    ///
    /// A battle that its source has is refused, with one exception: within one import, of several votes on one battle the one that was cast last counts, or of those without a time the first.
    /// The same original id between other models, or by another judge at another time, is another battle: such ids are those of questions.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownImport`] also for a finished one, [`Error::UnknownImage`], [`Error::Invalid`] for a model against itself, an empty id or a category of several lines, [`Error::Database`], [`Error::Corrupt`], [`Error::Io`].
    pub async fn add_imported_with(
        &self,
        import: ImportId,
        battles: &[NewImportedBattle],
        originals: &[WrittenOriginal],
    ) -> Result<Vec<AddedBattle>, Error> {
        for battle in battles {
            check(battle)?;
        }
        self.flush_originals(import, originals).await?;
        let mut transaction = self.database.write().await?;
        let source = check_unfinished(&mut transaction, import).await?;
        originals::insert(&mut transaction, import, originals).await?;
        check_images(&mut transaction, battles).await?;
        let ids: Vec<BattleId> = battles
            .iter()
            .map(|battle| imported_battle_id(&source, &battle.original_id))
            .collect();
        let shared_ids: Vec<BattleId> = battles
            .iter()
            .map(|battle| shared_battle_id(&source, battle))
            .collect();
        let mut known = known(&mut transaction, import, ids.iter().chain(&shared_ids)).await?;
        let last: i64 =
            sqlx::query_scalar("SELECT COALESCE(MAX(sequence), 0) FROM imported_battles")
                .fetch_one(&mut *transaction)
                .await
                .during(ACTION)?;
        let mut added = Vec::with_capacity(battles.len());
        // By number, so that of several votes on one battle in this batch only the one that counts is written.
        let mut new: HashMap<i64, Numbered<'_>> = HashMap::new();
        let mut replaced: HashMap<i64, Numbered<'_>> = HashMap::new();
        for ((battle, &id), &shared_id) in battles.iter().zip(&ids).zip(&shared_ids) {
            let row_idx = read_column(battle.row_idx, "imported_battles.row_idx", i64::try_from)?;
            let cast_at = battle.cast_at.map(microseconds);
            let is_shared_id = known.get(&id).is_some_and(|first| !first.is_of(battle));
            let id = if is_shared_id { shared_id } else { id };
            let numbered = |sequence| Numbered {
                sequence,
                id,
                is_shared_id,
                row_idx,
                battle,
            };
            let Some(first) = known.get_mut(&id) else {
                let n_new = read_column(new.len(), "imported_battles.sequence", i64::try_from)?;
                let sequence = last + 1 + n_new;
                known.insert(
                    id,
                    Known {
                        sequence,
                        row_idx,
                        is_of_this_import: true,
                        cast_at,
                        pair: pair(battle),
                        judge: battle.judge,
                    },
                );
                new.insert(sequence, numbered(sequence));
                added.push(AddedBattle::Added {
                    sequence: number(sequence)?,
                });
                continue;
            };
            let sequence = number(first.sequence)?;
            added.push(if !first.is_of_this_import {
                AddedBattle::Repeated
            } else if first.row_idx == row_idx {
                AddedBattle::Resumed { sequence }
            } else if cast_at > first.cast_at && row_idx > first.row_idx {
                let replacement = AddedBattle::Replaced {
                    sequence,
                    row_idx: number(first.row_idx)?,
                };
                (first.row_idx, first.cast_at, first.judge) = (row_idx, cast_at, battle.judge);
                let is_in_this_batch = new.contains_key(&first.sequence);
                let written = if is_in_this_batch {
                    &mut new
                } else {
                    &mut replaced
                };
                written.insert(first.sequence, numbered(first.sequence));
                replacement
            } else {
                AddedBattle::Repeated
            });
        }
        if !replaced.is_empty() {
            let mut replaced: Vec<Numbered<'_>> = replaced.into_values().collect();
            replaced.sort_unstable_by_key(|numbered| numbered.sequence);
            for numbered in &replaced {
                delete(&mut transaction, numbered.sequence).await?;
            }
            insert(&mut transaction, import, &replaced).await?;
        }
        let mut new: Vec<Numbered<'_>> = new.into_values().collect();
        new.sort_unstable_by_key(|numbered| numbered.sequence);
        insert(&mut transaction, import, &new).await?;
        transaction.commit().await.during(ACTION)?;
        Ok(added)
    }
}

/// The models of a battle in the order of their names.
fn pair(battle: &NewImportedBattle) -> [String; 2] {
    let mut pair = [battle.models.a.clone(), battle.models.b.clone()];
    pair.sort_unstable();
    pair
}

fn number(n: i64) -> Result<u64, Error> {
    read_column(n, "imported_battles.sequence", u64::try_from)
}

fn check(battle: &NewImportedBattle) -> Result<(), Error> {
    if battle.models.a == battle.models.b {
        return Err(Error::Invalid {
            field: "pair of models",
            expected: "two different models",
        });
    }
    if battle.original_id.is_empty() {
        return Err(Error::Invalid {
            field: "original id",
            expected: "a text that is not empty",
        });
    }
    let mut categories = battle.categories.iter().flatten();
    if categories.any(|(name, _)| name.is_empty() || name.contains(['\n', '\r'])) {
        return Err(Error::Invalid {
            field: "category",
            expected: "one line that is not empty",
        });
    }
    Ok(())
}

/// Refuses battles with an image that is not stored.
async fn check_images(
    connection: &mut SqliteConnection,
    battles: &[NewImportedBattle],
) -> Result<(), Error> {
    let kept = || {
        battles
            .iter()
            .flat_map(|battle| &battle.images)
            .filter_map(|image| image.image.as_ref().ok().copied())
    };
    let normalised = kept().filter_map(|kept| match kept {
        KeptImage::Normalised(id) => Some(*id.as_bytes()),
        KeptImage::Original(_) => None,
    });
    let originals = kept().filter_map(|kept| match kept {
        KeptImage::Original(id) => Some(*id.as_bytes()),
        KeptImage::Normalised(_) => None,
    });
    check_there(
        connection,
        "SELECT id FROM images WHERE id IN (",
        normalised.collect(),
    )
    .await?;
    check_there(
        connection,
        "SELECT sha256 FROM original_images WHERE sha256 IN (",
        originals.collect(),
    )
    .await
}

/// Refuses ids that a statement, which goes on with their list, does not find.
async fn check_there(
    connection: &mut SqliteConnection,
    statement: &'static str,
    mut ids: Vec<[u8; 32]>,
) -> Result<(), Error> {
    ids.sort_unstable();
    ids.dedup();
    for ids in ids.chunks(VALUES_MAX) {
        let mut query = QueryBuilder::<Sqlite>::new(statement);
        let mut list = query.separated(", ");
        for id in ids {
            list.push_bind(id.as_slice());
        }
        list.push_unseparated(")");
        let found: Vec<Vec<u8>> = query
            .build_query_scalar()
            .persistent(false)
            .fetch_all(&mut *connection)
            .await
            .during(ACTION)?;
        if found.len() < ids.len() {
            let missing = ids
                .iter()
                .find(|id| !found.iter().any(|found| found == *id));
            if let Some(id) = missing {
                return Err(Error::UnknownImage(ImageId::from_bytes(*id)));
            }
        }
    }
    Ok(())
}

/// The battles among `ids` that are there.
async fn known<'i>(
    connection: &mut SqliteConnection,
    import: ImportId,
    ids: impl Iterator<Item = &'i BattleId>,
) -> Result<HashMap<BattleId, Known>, Error> {
    type Row = (
        Vec<u8>,
        i64,
        i64,
        Vec<u8>,
        Option<i64>,
        String,
        String,
        Option<Vec<u8>>,
    );
    let ids: Vec<&BattleId> = ids.collect();
    let mut known = HashMap::new();
    for ids in ids.chunks(VALUES_MAX) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT id, sequence, row_idx, import, cast_at, model_a, model_b, judge FROM imported_battles WHERE id IN (",
        );
        let mut list = query.separated(", ");
        for id in ids {
            list.push_bind(id.as_bytes().as_slice());
        }
        list.push_unseparated(")");
        let rows: Vec<Row> = query
            .build_query_as()
            .persistent(false)
            .fetch_all(&mut *connection)
            .await
            .during(ACTION)?;
        for (id, sequence, row_idx, of_import, cast_at, model_a, model_b, judge) in rows {
            let mut pair = [model_a, model_b];
            pair.sort_unstable();
            let judge = judge.map(|judge| id_bytes(judge, "imported_battles.judge"));
            known.insert(
                BattleId::from_bytes(id_bytes(id, "imported_battles.id")?),
                Known {
                    sequence,
                    row_idx,
                    is_of_this_import: of_import == import.as_bytes(),
                    cast_at,
                    pair,
                    judge: judge.transpose()?.map(VoterId::from_bytes),
                },
            );
        }
    }
    Ok(known)
}

async fn delete(connection: &mut SqliteConnection, sequence: i64) -> Result<(), Error> {
    for statement in [
        "DELETE FROM imported_messages WHERE battle = $1",
        "DELETE FROM imported_images WHERE battle = $1",
        "DELETE FROM imported_battles WHERE sequence = $1",
    ] {
        sqlx::query(statement)
            .bind(sequence)
            .execute(&mut *connection)
            .await
            .during(ACTION)?;
    }
    Ok(())
}

async fn insert(
    connection: &mut SqliteConnection,
    import: ImportId,
    battles: &[Numbered<'_>],
) -> Result<(), Error> {
    for battles in battles.chunks(VALUES_MAX / BATTLE_COLUMNS) {
        QueryBuilder::<Sqlite>::new(
            "INSERT INTO imported_battles (sequence, id, import, row_idx, original_id, model_a, model_b, winner, judge, \
             is_anonymous, language, n_turns, cast_at, tokens_a, headers_a, lists_a, bold_a, tokens_b, headers_b, lists_b, \
             bold_b, flags, categories, is_shared_id) ",
        )
        .push_values(battles, |mut row, numbered| {
            let battle = numbered.battle;
            row.push_bind(numbered.sequence)
                .push_bind(numbered.id.as_bytes().as_slice())
                .push_bind(import.as_bytes().as_slice())
                .push_bind(numbered.row_idx)
                .push_bind(battle.original_id.as_str())
                .push_bind(battle.models.a.as_str())
                .push_bind(battle.models.b.as_str())
                .push_bind(battle.winner.as_str())
                .push_bind(battle.judge.as_ref().map(|judge| judge.as_bytes().as_slice()))
                .push_bind(battle.is_anonymous)
                .push_bind(battle.language.as_deref())
                .push_bind(battle.n_turns.map(i64::from))
                .push_bind(battle.cast_at.map(microseconds));
            for (_, &style) in by_side(&battle.style) {
                for count in style_columns(style) {
                    row.push_bind(count);
                }
            }
            row.push_bind("")
                .push_bind(battle.categories.as_deref().map(category_lines))
                .push_bind(numbered.is_shared_id);
        })
        .build()
        .persistent(false)
        .execute(&mut *connection)
        .await
        .during(ACTION)?;
    }
    insert_messages(connection, battles).await?;
    insert_images(connection, battles).await
}

async fn insert_messages(
    connection: &mut SqliteConnection,
    battles: &[Numbered<'_>],
) -> Result<(), Error> {
    let messages: Vec<_> = battles
        .iter()
        .flat_map(|numbered| {
            by_side(&numbered.battle.conversations)
                .into_iter()
                .flat_map(move |(side, messages)| {
                    (0_i64..)
                        .zip(messages)
                        .map(move |(idx, message)| (numbered.sequence, side, idx, message))
                })
        })
        .collect();
    for messages in messages.chunks(VALUES_MAX / MESSAGE_COLUMNS) {
        QueryBuilder::<Sqlite>::new(
            "INSERT INTO imported_messages (battle, side, idx, role, text) ",
        )
        .push_values(messages, |mut row, &(battle, side, idx, message)| {
            row.push_bind(battle)
                .push_bind(side)
                .push_bind(idx)
                .push_bind(message.role.as_str())
                .push_bind(message.text.as_deref());
        })
        .build()
        .persistent(false)
        .execute(&mut *connection)
        .await
        .during(ACTION)?;
    }
    Ok(())
}

async fn insert_images(
    connection: &mut SqliteConnection,
    battles: &[Numbered<'_>],
) -> Result<(), Error> {
    let images: Vec<_> = battles
        .iter()
        .flat_map(|numbered| {
            (0_i64..)
                .zip(&numbered.battle.images)
                .map(move |(idx, image)| (numbered.sequence, idx, image))
        })
        .collect();
    for images in images.chunks(VALUES_MAX / IMAGE_COLUMNS) {
        QueryBuilder::<Sqlite>::new(
            "INSERT INTO imported_images (battle, idx, turn_idx, reference, original, image, problem) ",
        )
        .push_values(images, |mut row, &(battle, idx, image)| {
            let (original, id, problem) = match &image.image {
                Ok(KeptImage::Original(id)) => (Some(id.as_bytes().as_slice()), None, None),
                Ok(KeptImage::Normalised(id)) => (None, Some(id.as_bytes().as_slice()), None),
                Err(problem) => (None, None, Some(problem.as_str())),
            };
            row.push_bind(battle)
                .push_bind(idx)
                .push_bind(image.turn_idx.map(i64::from))
                .push_bind(image.reference.as_deref())
                .push_bind(original)
                .push_bind(id)
                .push_bind(problem);
        })
        .build()
        .persistent(false)
        .execute(&mut *connection)
        .await
        .during(ACTION)?;
    }
    Ok(())
}
