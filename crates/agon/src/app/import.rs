//! Importing: whole rows of published sets and logs become battles of the store.
//!
//! [`Importer`] takes rows in batches, as [`agon_dataset::read_conversations`] gives them.
//! A batch's pictures are written as they came, then one transaction has its battles, while the next batch is worked on; when it is done, nothing of it is in memory but eight bytes a row, and what cleaning keeps of it.
//! At the end cleaning's verdicts are written and the import is finished, from when on its battles count.
//!
//! Whoever voted is kept as a keyed hash, never by the name or the address in the source.

pub mod clean;
mod identity;
mod images;
mod originals;
pub mod stored;
mod style;

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
};

use agon_content::image::ImageLimits;
use agon_dataset::{
    ConversationRow, InputReport, Place, Reason, RowImage, RowRole,
    clean::{Cleaned, MixedTimeUnits, Profile},
};
use agon_domain::{Sides, VoterId};
use agon_store::{
    AddedBattle, FinishedImport, ImportId, ImportInput, ImportVerdict, ImportedImage,
    ImportedMessage, ImportedStyle, NewImportedBattle, OriginalId, Store,
};
use jiff::Timestamp;
use tokio::task::JoinHandle;

use self::{
    clean::RowCleaner,
    images::{ImageSource, Picture},
};
use crate::app::{leaderboard::Threads, pseudonym};

pub use identity::{SourceKeys, sha256_of};
pub use images::{IMAGE_FLAGGED, IMAGE_MISSING, IMAGE_NOT_GIVEN, IMAGE_UNREADABLE};
pub use originals::{ImportedImageError, normalised_image};
pub use style::answer_style;

/// What is told of a row whose vote counts instead of an earlier one on the same battle.
const REPLACES: &str = "an earlier vote on this battle no longer counts; the one in this row does";

/// Verdicts written in one transaction.
const VERDICTS_MAX: usize = 10_000;

/// How rows are imported.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The namespace of the battles' ids.
    pub source: String,
    /// The folder with the pictures of a log of FastChat.
    pub images: Option<PathBuf>,
    /// What a picture may cost.
    pub image_limits: ImageLimits,
    /// The cleaning profile.
    pub profile: Option<Profile>,
    /// The key of the voters' pseudonyms.
    pub voter_key: [u8; 32],
    /// Threads to work on. Their number changes nothing of the result.
    pub n_threads: Threads,
    /// Whether the first picture that is not there, but for one that moderation refused, ends the import.
    pub strict: bool,
}

/// Why an import cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The store failed.
    #[error("the battles cannot be stored")]
    Store(#[from] agon_store::Error),
    /// Cleaning cannot tell what unit times are in.
    #[error("the rows cannot be cleaned")]
    Times(#[from] MixedTimeUnits),
    /// A picture cannot be kept, and all have to be.
    #[error("{place}: a picture cannot be kept: `{problem}`")]
    Picture {
        /// Its row.
        place: Box<Place>,
        /// The code of the reason.
        problem: String,
    },
}

/// What became of the rows of an import, beside the report of the reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// Battles that this run has stored.
    pub added: u64,
    /// Battles that an interrupted run of the same import had stored.
    pub resumed: u64,
    /// Rows whose battle id the source has already.
    pub repeated: u64,
    /// Rows of which something but the vote could not be read.
    pub damaged: u64,
    /// Pictures that were kept.
    pub images: u64,
    /// Pictures that are not there, by the code of the reason.
    pub image_problems: BTreeMap<String, u64>,
}

/// Takes rows into the store.
#[derive(Debug)]
pub struct Importer {
    store: Store,
    import: ImportId,
    source: String,
    voter_key: [u8; 32],
    images: ImageSource,
    cleaner: Option<RowCleaner>,
    keys: SourceKeys,
    /// The number of the battle of each row; 0 where it has none.
    sequences: Vec<u64>,
    strict: bool,
    /// The batch that is being stored.
    storing: Option<Storing>,
    counts: ImportCounts,
}

/// A batch that is being stored.
#[derive(Debug)]
struct Storing {
    stored: JoinHandle<Result<Vec<AddedBattle>, agon_store::Error>>,
    /// The rows of its battles, with their places.
    rows: Vec<(u64, Place)>,
    /// The pictures that were written for it.
    written: HashSet<OriginalId>,
}

impl Importer {
    /// Goes on with an import that has been begun.
    pub fn new(store: Store, import: ImportId, options: ImportOptions, keys: SourceKeys) -> Self {
        Self {
            store,
            import,
            source: options.source,
            voter_key: options.voter_key,
            images: ImageSource {
                folder: options.images,
                limits: options.image_limits,
                n_threads: options.n_threads,
            },
            cleaner: options
                .profile
                .map(|profile| RowCleaner::new(profile, options.n_threads)),
            keys,
            sequences: Vec::new(),
            strict: options.strict,
            storing: None,
            counts: ImportCounts::default(),
        }
    }

    /// Imports the next rows, and waits until those before them are stored. What of them is refused as a second copy is given to `on_repeated`.
    ///
    /// Needs a runtime of several threads, so that a batch is stored while the next one is worked on.
    ///
    /// # Errors
    ///
    /// [`ImportError`]; each batch is then in the store as a whole or not at all.
    pub async fn add(
        &mut self,
        mut rows: Vec<ConversationRow>,
        on_repeated: &mut dyn FnMut(&Place),
    ) -> Result<(), ImportError> {
        // Cleaning looks at the pictures' bytes for their ids, so it comes before they are taken.
        if let Some(cleaner) = &mut self.cleaner {
            cleaner.add(&rows)?;
        }
        let mut pictures = Vec::new();
        let mut named = Vec::with_capacity(rows.len());
        for row in &mut rows {
            let images = std::mem::take(&mut row.images);
            named.push(
                images
                    .iter()
                    .enumerate()
                    .map(|(idx, image)| (turn_of(row, idx), name_of(image)))
                    .collect::<Vec<_>>(),
            );
            let is_flagged = row.is_flagged == Some(true);
            pictures.extend(
                images
                    .into_iter()
                    .map(|image| Picture { image, is_flagged }),
            );
        }
        let on_their_way = self.storing.as_ref().map(|storing| &storing.written);
        let kept = self
            .images
            .keep(&self.store, self.import, pictures, on_their_way)
            .await?;
        let styles = self.images.each(rows.iter().collect(), style::styles);
        let mut fates = kept.fates.into_iter();
        let first_row = self.sequences.len() as u64;
        let mut battles = Vec::with_capacity(rows.len());
        let mut places = Vec::with_capacity(rows.len());
        for (((row_idx, row), named), style) in (first_row..).zip(rows).zip(named).zip(styles) {
            self.counts.damaged += u64::from(!row.problems.is_empty());
            let mut images = Vec::with_capacity(named.len());
            for (turn_idx, reference) in named {
                let Some(image) = fates.next() else { break };
                match &image {
                    Ok(_) => self.counts.images += 1,
                    Err(problem) => {
                        if self.strict && problem != IMAGE_FLAGGED {
                            return Err(ImportError::Picture {
                                place: Box::new(row.place),
                                problem: problem.clone(),
                            });
                        }
                        *self
                            .counts
                            .image_problems
                            .entry(problem.clone())
                            .or_default() += 1;
                    }
                }
                images.push(ImportedImage {
                    turn_idx,
                    reference,
                    image,
                });
            }
            let place = row.place.clone();
            self.sequences.push(0);
            if let Some(battle) = self.battle(row_idx, row, images, style) {
                places.push((row_idx, place));
                battles.push(battle);
            }
        }
        self.settle(on_repeated).await?;
        let written = kept.written.iter().map(|written| written.id()).collect();
        let (store, import, originals) = (self.store.clone(), self.import, kept.written);
        self.storing = Some(Storing {
            stored: tokio::spawn(async move {
                store.add_imported_with(import, &battles, &originals).await
            }),
            rows: places,
            written,
        });
        Ok(())
    }

    /// Waits until the last batch is stored, and notes what became of its battles.
    ///
    /// # Errors
    ///
    /// [`ImportError::Store`].
    pub async fn settle(&mut self, on_repeated: &mut dyn FnMut(&Place)) -> Result<(), ImportError> {
        let Some(storing) = self.storing.take() else {
            return Ok(());
        };
        let added = match storing.stored.await {
            Ok(added) => added?,
            Err(error) => std::panic::resume_unwind(
                error
                    .try_into_panic()
                    .unwrap_or_else(|error| Box::new(error.to_string())),
            ),
        };
        tracing::debug!(n_rows = storing.rows.len(), "stored a batch");
        for ((row_idx, place), fate) in storing.rows.iter().zip(added) {
            let row = usize::try_from(*row_idx).unwrap_or(usize::MAX);
            match fate {
                AddedBattle::Added { .. } => self.counts.added += 1,
                AddedBattle::Resumed { .. } => self.counts.resumed += 1,
                AddedBattle::Replaced { row_idx, .. } => {
                    // The earlier vote is the one that no longer counts.
                    self.counts.repeated += 1;
                    self.number(usize::try_from(row_idx).unwrap_or(usize::MAX), 0);
                    on_repeated(&Place {
                        value: Some(REPLACES.to_owned()),
                        ..place.clone()
                    });
                }
                AddedBattle::Repeated => {
                    self.counts.repeated += 1;
                    on_repeated(place);
                }
            }
            if let Some(sequence) = fate.sequence() {
                self.number(row, sequence);
            }
        }
        Ok(())
    }

    fn number(&mut self, row: usize, sequence: u64) {
        if let Some(number) = self.sequences.get_mut(row) {
            *number = sequence;
        }
    }

    fn battle(
        &mut self,
        row_idx: u64,
        row: ConversationRow,
        images: Vec<ImportedImage>,
        style: Sides<Option<ImportedStyle>>,
    ) -> Option<NewImportedBattle> {
        let models = row.sides()?.map(ToOwned::to_owned);
        let original_id = match row.id.filter(|id| !id.is_empty()) {
            Some(id) => id,
            None => self.keys.id(&row.place),
        };
        let n_turns = row.conversations.first().map(|conversation| {
            let messages = conversation.messages.iter();
            let n = messages
                .filter(|message| message.role == RowRole::User)
                .count();
            u32::try_from(n).unwrap_or(u32::MAX)
        });
        let mut sides = row.conversations.into_iter().map(|conversation| {
            let messages = conversation.messages.into_iter();
            messages
                .map(|message| ImportedMessage {
                    role: match message.role {
                        RowRole::User => "user".to_owned(),
                        RowRole::Assistant => "assistant".to_owned(),
                        RowRole::System => "system".to_owned(),
                        RowRole::Other(role) => role,
                    },
                    text: message.text,
                })
                .collect()
        });
        Some(NewImportedBattle {
            row_idx,
            original_id,
            models,
            winner: row.winner?,
            judge: row.judge.map(|judge| self.judge(&judge)),
            is_anonymous: row.is_anonymous,
            language: row.language,
            categories: row.categories,
            n_turns,
            cast_at: row.time.and_then(timestamp),
            style,
            conversations: Sides {
                a: sides.next().unwrap_or_default(),
                b: sides.next().unwrap_or_default(),
            },
            images,
        })
    }

    fn judge(&self, judge: &str) -> VoterId {
        pseudonym::imported_voter_id(&self.voter_key, &self.source, judge)
    }

    /// Rows that were given so far.
    pub fn n_rows(&self) -> u64 {
        self.sequences.len() as u64
    }

    /// Writes what cleaning says and finishes the import, all of whose rows are settled.
    ///
    /// # Errors
    ///
    /// [`ImportError::Store`]; the import is then unfinished, and can be gone on with.
    pub async fn finish(
        mut self,
        report: &InputReport,
        now: Timestamp,
    ) -> Result<(ImportCounts, Option<Cleaned>), ImportError> {
        let cleaned = self.cleaner.take().map(RowCleaner::finish);
        if let Some(cleaned) = &cleaned {
            let mut verdicts = Vec::new();
            for (row, &sequence) in self.sequences.iter().enumerate() {
                let Some(verdict) = cleaned.verdict(row).filter(|_| sequence > 0) else {
                    continue;
                };
                if verdict.flags.is_empty() && verdict.excluded_by.is_none() {
                    continue;
                }
                verdicts.push(ImportVerdict {
                    sequence,
                    excluded_by: verdict.excluded_by.map(|rule| rule.as_str()),
                    flags: verdict.flags.iter().map(|rule| rule.as_str()).collect(),
                });
                if verdicts.len() == VERDICTS_MAX {
                    self.store.judge_imported(self.import, &verdicts).await?;
                    verdicts.clear();
                }
            }
            self.store.judge_imported(self.import, &verdicts).await?;
        }
        let rejected = report
            .rejected
            .iter()
            .map(|(reason, rows)| (reason.as_str().to_owned(), rows.count));
        let repeated = (self.counts.repeated > 0)
            .then(|| (Reason::RepeatedId.as_str().to_owned(), self.counts.repeated));
        let finished = FinishedImport {
            finished_at: now,
            n_rows: report.rows,
            inputs: report
                .sources
                .iter()
                .map(|source| ImportInput {
                    name: source.path.clone(),
                    format: source.format.as_str().to_owned(),
                    sha256: source.sha256.clone(),
                    n_rows: source.rows,
                    n_kept: source.kept,
                })
                .collect(),
            rejected: rejected.chain(repeated).collect(),
            image_problems: self.counts.image_problems.clone().into_iter().collect(),
        };
        self.store.finish_import(self.import, &finished).await?;
        Ok((self.counts, cleaned))
    }
}

/// The turn in which the picture at this position is shown first, on side A or else on side B.
fn turn_of(row: &ConversationRow, idx: usize) -> Option<u32> {
    row.conversations.iter().find_map(|conversation| {
        let mut n_turns = 0_u32;
        for message in &conversation.messages {
            if message.role == RowRole::User {
                n_turns += 1;
            }
            if message.images.contains(&idx) {
                return Some(n_turns.saturating_sub(1));
            }
        }
        None
    })
}

/// What the source calls a picture: the last part of its name, as a path may tell of the machine that wrote it.
fn name_of(image: &RowImage) -> Option<String> {
    let path = image.path.as_deref();
    let name = path.and_then(|path| path.rsplit(['/', '\\']).next());
    image
        .md5
        .as_deref()
        .or(name)
        .filter(|name| !name.is_empty())
        .map(|name| name.chars().take(200).collect())
}

/// A time in seconds, rounded to the microsecond; `None` beyond all years.
fn timestamp(seconds: f64) -> Option<Timestamp> {
    let microseconds = (seconds * 1e6).round();
    // Rust cuts what is beyond the range, and jiff refuses it.
    microseconds
        .is_finite()
        .then(|| Timestamp::from_microsecond(microseconds as i64).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_to_the_microsecond() {
        let at = timestamp(1_717_286_400.123_456_7).unwrap();
        assert_eq!(at.as_microsecond(), 1_717_286_400_123_457);
        assert_eq!(timestamp(f64::NAN), None);
        assert_eq!(timestamp(1e30), None);
    }

    #[test]
    fn a_picture_is_called_by_its_name_and_not_by_its_path() {
        let image = |path: &str| RowImage {
            path: Some(path.to_owned()),
            ..RowImage::default()
        };
        assert_eq!(
            name_of(&image("/home/someone/cat.png")).as_deref(),
            Some("cat.png")
        );
        assert_eq!(name_of(&image("")), None);
    }
}
