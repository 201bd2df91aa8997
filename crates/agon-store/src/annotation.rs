//! Annotations: what annotators said of battles with a vote.

use std::collections::HashMap;

use agon_domain::BattleId;
use jiff::Timestamp;

use crate::{
    Error, Store,
    error::{During as _, read_column},
    id_bytes, microseconds,
};

/// A label of one annotator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The annotator's name.
    pub annotator: String,
    /// The version of its rules.
    pub version: u32,
    /// What it said, as JSON.
    pub label: String,
}

impl Store {
    /// Keeps labels of battles, each in the place of an earlier one of the same annotator. All or none of them.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], also for a battle that is not there.
    pub async fn save_annotations(
        &self,
        annotations: &[(BattleId, Vec<Annotation>)],
        at: Timestamp,
    ) -> Result<(), Error> {
        const ACTION: &str = "save annotations";
        let mut transaction = self.database.write().await?;
        for (battle, annotations) in annotations {
            for annotation in annotations {
                sqlx::query(
                    "INSERT INTO annotations (battle, annotator, version, label, given_at) VALUES ($1, $2, $3, $4, $5) \
                     ON CONFLICT (battle, annotator) DO UPDATE SET version = excluded.version, label = excluded.label, given_at = excluded.given_at",
                )
                .bind(battle.as_bytes().as_slice())
                .bind(annotation.annotator.as_str())
                .bind(i64::from(annotation.version))
                .bind(annotation.label.as_str())
                .bind(microseconds(at))
                .execute(&mut *transaction)
                .await
                .during(ACTION)?;
            }
        }
        transaction.commit().await.during(ACTION)
    }

    /// The labels of the battles whose votes have the sequences from `after_sequence` (not itself) to `last_sequence`, in the order of the annotators' names.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn annotations(
        &self,
        after_sequence: u64,
        last_sequence: u64,
    ) -> Result<HashMap<BattleId, Vec<Annotation>>, Error> {
        const ACTION: &str = "read annotations";
        let bound = |sequence| i64::try_from(sequence).unwrap_or(i64::MAX);
        let mut transaction = self.database.read().await?;
        let rows: Vec<(Vec<u8>, String, i64, String)> = sqlx::query_as(
            "SELECT a.battle, a.annotator, a.version, a.label FROM annotations a JOIN votes v ON v.battle = a.battle \
             WHERE v.sequence > $1 AND v.sequence <= $2 ORDER BY v.sequence, a.annotator",
        )
        .bind(bound(after_sequence))
        .bind(bound(last_sequence))
        .fetch_all(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        let mut annotations: HashMap<BattleId, Vec<Annotation>> = HashMap::new();
        for (battle, annotator, version, label) in rows {
            let battle = BattleId::from_bytes(id_bytes(battle, "annotations.battle")?);
            annotations.entry(battle).or_default().push(Annotation {
                annotator,
                version: read_column(version, "annotations.version", u32::try_from)?,
                label,
            });
        }
        Ok(annotations)
    }

    /// The sequence in front of the first vote whose battle lacks a label of one of these annotators in this version; `None` when none lacks any.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn annotated_up_to(&self, annotators: &[(&str, u32)]) -> Result<Option<u64>, Error> {
        const ACTION: &str = "find what is not annotated";
        let mut first: Option<u64> = None;
        let mut transaction = self.database.read().await?;
        for (annotator, version) in annotators {
            let sequence: Option<i64> = sqlx::query_scalar(
                "SELECT MIN(v.sequence) FROM votes v WHERE NOT EXISTS \
                 (SELECT 1 FROM annotations a WHERE a.battle = v.battle AND a.annotator = $1 AND a.version = $2)",
            )
            .bind(*annotator)
            .bind(i64::from(*version))
            .fetch_one(&mut *transaction)
            .await
            .during(ACTION)?;
            if let Some(sequence) = sequence {
                let sequence = read_column(sequence, "votes.sequence", u64::try_from)?;
                let before = sequence.saturating_sub(1);
                first = Some(first.map_or(before, |first| first.min(before)));
            }
        }
        transaction.commit().await.during(ACTION)?;
        Ok(first)
    }
}
