//! Reading imports back: counts, votes without texts, whole battles.

use std::collections::BTreeMap;

use agon_domain::{BattleId, ImageId, Side, Sides, Tally, VoterId, Winner};
use jiff::Timestamp;
use sqlx::FromRow;

use super::{
    ImportId, ImportedImage, ImportedMessage, ImportedStyle, KeptImage, NewImportedBattle,
    OriginalId,
};
use crate::{
    Error, Store,
    error::{During as _, read_column},
    id_bytes, timestamp,
    vote::parse_winner,
};

/// An import as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSummary {
    /// Its id.
    pub id: ImportId,
    /// The namespace of its battles' ids.
    pub source: String,
    /// The name of the cleaning profile.
    pub clean_profile: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it was finished; `None` for one that runs or was interrupted, whose battles do not count.
    pub finished_at: Option<Timestamp>,
    /// Its battles.
    pub n_battles: u64,
    /// Its battles that cleaning excludes, by the code of the rule.
    pub excluded: BTreeMap<String, u64>,
}

/// What of the imported battles does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedCounts {
    /// Battles of finished imports that cleaning excludes, by the code of the rule.
    pub excluded: BTreeMap<String, u64>,
    /// Battles of imports that are not finished.
    pub n_unfinished: u64,
}

/// The vote on an imported battle, without texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedVote {
    /// Its number among all imported battles.
    pub sequence: u64,
    /// The namespace of its id.
    pub source: String,
    /// The names of the two models, by side.
    pub models: Sides<String>,
    /// What it says.
    pub winner: Winner,
    /// The pseudonym of whoever voted.
    pub judge: Option<VoterId>,
    /// The language, as the source spells it.
    pub language: Option<String>,
    /// The categories that the source gives, in their order, and whether the battle is in each; `None` where it says nothing of them.
    pub categories: Option<Vec<(String, bool)>>,
    /// The number of turns that were judged.
    pub n_turns: Option<u32>,
    /// When it was cast.
    pub cast_at: Option<Timestamp>,
    /// The style of the answers.
    pub style: Sides<Option<ImportedStyle>>,
    /// The code of the cleaning rule that excludes it.
    pub excluded_by: Option<String>,
}

/// An imported battle with everything that is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedBattle {
    /// Its number among all imported battles.
    pub sequence: u64,
    /// The import that brought it.
    pub import: ImportId,
    /// What was imported.
    pub battle: NewImportedBattle,
    /// The code of the cleaning rule that excludes it.
    pub excluded_by: Option<String>,
    /// The codes of all cleaning rules that it breaks.
    pub flags: Vec<String>,
}

#[derive(FromRow)]
struct VoteRow {
    sequence: i64,
    source: String,
    model_a: String,
    model_b: String,
    winner: String,
    judge: Option<Vec<u8>>,
    language: Option<String>,
    categories: Option<String>,
    n_turns: Option<i64>,
    cast_at: Option<i64>,
    tokens_a: Option<i64>,
    headers_a: Option<i64>,
    lists_a: Option<i64>,
    bold_a: Option<i64>,
    tokens_b: Option<i64>,
    headers_b: Option<i64>,
    lists_b: Option<i64>,
    bold_b: Option<i64>,
    excluded_by: Option<String>,
}

macro_rules! select_votes {
    ($where:literal) => {
        concat!(
            "SELECT b.sequence, i.source, b.model_a, b.model_b, b.winner, b.judge, b.language, b.categories, b.n_turns, b.cast_at, \
             b.tokens_a, b.headers_a, b.lists_a, b.bold_a, b.tokens_b, b.headers_b, b.lists_b, b.bold_b, b.excluded_by \
             FROM imported_battles b JOIN imports i ON i.id = b.import ",
            $where
        )
    };
}

impl VoteRow {
    fn into_vote(self) -> Result<ImportedVote, Error> {
        Ok(ImportedVote {
            sequence: read_column(self.sequence, "imported_battles.sequence", u64::try_from)?,
            source: self.source,
            winner: parse_winner(&self.winner, "imported_battles.winner")?,
            judge: self
                .judge
                .map(|judge| id_bytes(judge, "imported_battles.judge").map(VoterId::from_bytes))
                .transpose()?,
            language: self.language,
            categories: self.categories.as_deref().map(categories).transpose()?,
            n_turns: count(self.n_turns, "imported_battles.n_turns")?,
            cast_at: self
                .cast_at
                .map(|at| timestamp(at, "imported_battles.cast_at"))
                .transpose()?,
            style: Sides {
                a: style([self.tokens_a, self.headers_a, self.lists_a, self.bold_a])?,
                b: style([self.tokens_b, self.headers_b, self.lists_b, self.bold_b])?,
            },
            models: Sides {
                a: self.model_a,
                b: self.model_b,
            },
            excluded_by: self.excluded_by,
        })
    }
}

impl Store {
    /// All imports, the earliest first.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn imports(&self) -> Result<Vec<ImportSummary>, Error> {
        const ACTION: &str = "list the imports";
        type Row = (Vec<u8>, String, Option<String>, i64, Option<i64>);
        let mut transaction = self.database.read().await?;
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, source, clean_profile, started_at, finished_at FROM imports ORDER BY started_at, id",
        )
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        let mut imports = Vec::with_capacity(rows.len());
        for (id, source, clean_profile, started_at, finished_at) in rows {
            let counts: Vec<(Option<String>, i64)> = sqlx::query_as(
                "SELECT excluded_by, COUNT(*) FROM imported_battles WHERE import = $1 GROUP BY excluded_by",
            )
            .bind(id.as_slice())
            .fetch_all(&mut *transaction)
            .await
            .during(ACTION)?;
            let mut n_battles = 0;
            let mut excluded = BTreeMap::new();
            for (rule, n) in counts {
                let n = read_column(n, "COUNT(*)", u64::try_from)?;
                n_battles += n;
                if let Some(rule) = rule {
                    excluded.insert(rule, n);
                }
            }
            imports.push(ImportSummary {
                id: ImportId::from_bytes(id_bytes(id, "imports.id")?),
                source,
                clean_profile,
                started_at: timestamp(started_at, "imports.started_at")?,
                finished_at: finished_at
                    .map(|at| timestamp(at, "imports.finished_at"))
                    .transpose()?,
                n_battles,
                excluded,
            });
        }
        transaction.commit().await.during(ACTION)?;
        Ok(imports)
    }

    /// The names of all sources with votes that count, in their order.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn imported_sources(&self) -> Result<Vec<String>, Error> {
        const ACTION: &str = "list the sources";
        let mut transaction = self.database.read().await?;
        let sources =
            sqlx::query_scalar("SELECT DISTINCT source FROM imported_tallies ORDER BY source")
                .fetch_all(&mut *transaction)
                .await
                .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        Ok(sources)
    }

    /// The votes of finished imports that cleaning keeps, by ordered pair: of one source, or of all.
    ///
    /// The time does not grow with the number of votes.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn imported_tally(&self, source: Option<&str>) -> Result<Tally, Error> {
        const ACTION: &str = "count the imported votes";
        let mut transaction = self.database.read().await?;
        let rows: Vec<(String, String, String, i64)> = sqlx::query_as(
            "SELECT model_a, model_b, winner, SUM(n) AS n FROM imported_tallies WHERE $1 IS NULL OR source = $1 \
             GROUP BY model_a, model_b, winner ORDER BY model_a, model_b, winner",
        )
        .bind(source)
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        let mut tally = Tally::new();
        for (model_a, model_b, winner, n) in rows {
            let (a, b) = (tally.model(&model_a), tally.model(&model_b));
            let n = read_column(n, "imported_tallies.n", u64::try_from)?;
            tally.add(a, b, parse_winner(&winner, "imported_tallies.winner")?, n);
        }
        Ok(tally)
    }

    /// What of the imported battles does not count: of one source, or of all.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn imported_counts(&self, source: Option<&str>) -> Result<ImportedCounts, Error> {
        const ACTION: &str = "count the imported votes";
        let mut transaction = self.database.read().await?;
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT excluded_by, SUM(n) AS n FROM imported_exclusions WHERE $1 IS NULL OR source = $1 GROUP BY excluded_by",
        )
        .bind(source)
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        let n_unfinished: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM imported_battles b JOIN imports i ON i.id = b.import \
             WHERE i.finished_at IS NULL AND ($1 IS NULL OR i.source = $1)",
        )
        .bind(source)
        .fetch_one(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        Ok(ImportedCounts {
            excluded: rows
                .into_iter()
                .map(|(rule, n)| {
                    Ok((
                        rule,
                        read_column(n, "imported_exclusions.n", u64::try_from)?,
                    ))
                })
                .collect::<Result<_, Error>>()?,
            n_unfinished: read_column(n_unfinished, "COUNT(*)", u64::try_from)?,
        })
    }

    /// Up to `n_max` votes of finished imports after the one numbered `after`, in the order of import, those that cleaning excludes too.
    ///
    /// For a walk over all of them, begin with 0 and go on with the last one's number until none comes.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn imported_votes(&self, after: u64, n_max: u32) -> Result<Vec<ImportedVote>, Error> {
        const ACTION: &str = "read imported votes";
        let Ok(after) = i64::try_from(after) else {
            return Ok(Vec::new());
        };
        let mut transaction = self.database.read().await?;
        let rows: Vec<VoteRow> = sqlx::query_as(select_votes!(
            "WHERE b.sequence > $1 AND i.finished_at IS NOT NULL ORDER BY b.sequence LIMIT $2"
        ))
        .bind(after)
        .bind(i64::from(n_max))
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        rows.into_iter().map(VoteRow::into_vote).collect()
    }

    /// The imported battle with this id, whether its import is finished or not.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn imported_battle(&self, id: BattleId) -> Result<Option<ImportedBattle>, Error> {
        const ACTION: &str = "read an imported battle";
        type Image = (
            Option<i64>,
            Option<String>,
            Option<Vec<u8>>,
            Option<Vec<u8>>,
            Option<String>,
        );
        type Rest = (Vec<u8>, i64, String, Option<bool>, String);
        let mut transaction = self.database.read().await?;
        let row: Option<VoteRow> = sqlx::query_as(select_votes!("WHERE b.id = $1"))
            .bind(id.as_bytes().as_slice())
            .fetch_optional(&mut *transaction)
            .await
            .during(ACTION)?;
        let Some(row) = row else { return Ok(None) };
        let sequence = row.sequence;
        let (import, row_idx, original_id, is_anonymous, flags): Rest = sqlx::query_as(
            "SELECT import, row_idx, original_id, is_anonymous, flags FROM imported_battles WHERE sequence = $1",
        )
        .bind(sequence)
        .fetch_one(&mut *transaction)
        .await
        .during(ACTION)?;
        let messages: Vec<(String, String, Option<String>)> = sqlx::query_as(
            "SELECT side, role, text FROM imported_messages WHERE battle = $1 ORDER BY side, idx",
        )
        .bind(sequence)
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        let images: Vec<Image> =
            sqlx::query_as(
                "SELECT turn_idx, reference, original, image, problem FROM imported_images WHERE battle = $1 ORDER BY idx",
            )
            .bind(sequence)
            .fetch_all(&mut *transaction)
            .await
            .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        let mut conversations = Sides::<Vec<ImportedMessage>>::default();
        for (side, role, text) in messages {
            let messages = match Side::from_spelling(&side) {
                Some(Side::A) => &mut conversations.a,
                Some(Side::B) => &mut conversations.b,
                None => {
                    return Err(Error::Corrupt {
                        column: "imported_messages.side",
                    });
                }
            };
            messages.push(ImportedMessage { role, text });
        }
        let images = images
            .into_iter()
            .map(|(turn_idx, reference, original, image, problem)| {
                Ok(ImportedImage {
                    turn_idx: count(turn_idx, "imported_images.turn_idx")?,
                    reference,
                    image: match (original, image, problem) {
                        (Some(id), None, None) => Ok(KeptImage::Original(OriginalId::from_bytes(
                            id_bytes(id, "imported_images.original")?,
                        ))),
                        (None, Some(id), None) => Ok(KeptImage::Normalised(ImageId::from_bytes(
                            id_bytes(id, "imported_images.image")?,
                        ))),
                        (None, None, Some(problem)) => Err(problem),
                        _ => {
                            return Err(Error::Corrupt {
                                column: "imported_images.image",
                            });
                        }
                    },
                })
            })
            .collect::<Result<_, Error>>()?;
        let vote = row.into_vote()?;
        Ok(Some(ImportedBattle {
            sequence: vote.sequence,
            import: ImportId::from_bytes(id_bytes(import, "imported_battles.import")?),
            battle: NewImportedBattle {
                row_idx: read_column(row_idx, "imported_battles.row_idx", u64::try_from)?,
                original_id,
                models: vote.models,
                winner: vote.winner,
                judge: vote.judge,
                is_anonymous,
                language: vote.language,
                categories: vote.categories,
                n_turns: vote.n_turns,
                cast_at: vote.cast_at,
                style: vote.style,
                conversations,
                images,
            },
            excluded_by: vote.excluded_by,
            flags: flags.split_whitespace().map(ToOwned::to_owned).collect(),
        }))
    }
}

/// Categories from their lines, as [`category_lines`] writes them.
fn categories(text: &str) -> Result<Vec<(String, bool)>, Error> {
    let category = |line: &str| {
        let (name, is_in) = match (line.strip_prefix('+'), line.strip_prefix('-')) {
            (Some(name), _) => (name, true),
            (None, Some(name)) => (name, false),
            (None, None) => {
                return Err(Error::Corrupt {
                    column: "imported_battles.categories",
                });
            }
        };
        Ok((name.to_owned(), is_in))
    };
    text.lines().map(category).collect()
}

/// Categories as they are kept: one a line, after `+` when the battle is in it, and after `-` when it is not.
pub(super) fn category_lines(categories: &[(String, bool)]) -> String {
    let line = |(name, is_in): &(String, bool)| format!("{}{name}", if *is_in { '+' } else { '-' });
    categories.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn count(n: Option<i64>, column: &'static str) -> Result<Option<u32>, Error> {
    n.map(|n| read_column(n, column, u32::try_from)).transpose()
}

fn style(counts: [Option<i64>; 4]) -> Result<Option<ImportedStyle>, Error> {
    let column = "imported_battles.tokens_a";
    Ok(
        match (
            count(counts[0], column)?,
            count(counts[1], column)?,
            count(counts[2], column)?,
            count(counts[3], column)?,
        ) {
            (Some(tokens), Some(headers), Some(lists), Some(bold)) => Some(ImportedStyle {
                tokens,
                headers,
                lists,
                bold,
            }),
            (None, None, None, None) => None,
            _ => return Err(Error::Corrupt { column }),
        },
    )
}
