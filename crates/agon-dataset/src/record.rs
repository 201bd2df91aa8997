//! One row of a release, before it is written.
//!
//! A record is a type of this boundary, not of the domain: it holds what the public columns hold, already pseudonymous and decided upon.

use agon_domain::{Battle, ImageId, NotRatable, Side, Sides, StyleFeatures, Winner};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::schema::CATEGORIES;

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The voter.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Its spelling in the column `role`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who wrote it.
    pub role: Role,
    /// What was written.
    pub content: String,
}

/// A picture as it is published: embedded bytes under a name that only says what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseImage {
    bytes: Vec<u8>,
    extension: String,
    id: ImageId,
}

impl ReleaseImage {
    /// A picture with its bytes and the file extension of their format, such as `png`. Anything but lower-case letters and digits is left out of the extension.
    pub fn new(bytes: Vec<u8>, extension: &str) -> Self {
        let id = ImageId::from_bytes(Sha256::digest(&bytes).into());
        let extension = extension
            .chars()
            .filter(|character| character.is_ascii_lowercase() || character.is_ascii_digit())
            .take(8)
            .collect();
        Self {
            bytes,
            extension,
            id,
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its id, the SHA-256 of its bytes.
    pub fn id(&self) -> ImageId {
        self.id
    }

    /// What stands in the column `path`: the id and the extension. Never a path of the machine that wrote it.
    pub fn path(&self) -> String {
        if self.extension.is_empty() {
            self.id.to_string()
        } else {
            format!("{}.{}", self.id, self.extension)
        }
    }
}

/// One row of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The voter's published pseudonym, in the column `judge`.
    pub judge: String,
    /// What the vote says.
    pub winner: Winner,
    /// The language of the first prompt by its English name; `None`, written as null, when no annotator has run.
    pub language: Option<String>,
    /// The ten flags in the order of [`crate::schema::CATEGORIES`]; `None`, written as null, for each that no annotator has decided.
    pub categories: [Option<bool>; CATEGORIES.len()],
    /// The picture of the battle. A battle of text alone has an empty list, never null.
    pub images: Vec<ReleaseImage>,
    /// The battle's id.
    pub question_id: String,
    /// The names of the models.
    pub models: Sides<String>,
    /// The turns that the vote counted, by side: each is a list of messages. Their number is the column `num_turns`.
    pub conversations: Sides<Vec<Vec<Message>>>,
    /// When the vote was cast, in the column `tstamp` as seconds since 1970.
    pub cast_at: Timestamp,
    /// What `conv_metadata` says; with `None` its leaves are null but for the number of turns.
    pub style: Option<StyleFeatures>,
    /// The version of the consent that the battle rests on. Not a column: the dataset card counts it.
    pub consent_version: Option<String>,
}

/// Why a battle cannot become a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unpublishable {
    /// Nobody voted.
    #[error("the battle has no vote")]
    NoVote,
    /// A turn that the vote counted is not complete and valid.
    #[error("the battle is not ratable")]
    NotRatable(#[source] NotRatable),
    /// The vote counts turns that are not there.
    #[error("the vote counts {n_counted} turns: the battle has {n_turns}")]
    TurnsMissing {
        /// Turns of the vote.
        n_counted: u32,
        /// Turns of the battle.
        n_turns: usize,
    },
    /// The battle shows a picture that was not given.
    #[error("the image `{id}` of the battle is missing")]
    ImageMissing {
        /// Which.
        id: ImageId,
    },
    /// The picture that was given is another than the battle shows.
    #[error("the image `{id}` is not the battle's")]
    ImageOther {
        /// The one that was given.
        id: ImageId,
    },
}

impl Unpublishable {
    /// The reason's code, in manifests.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NoVote => "no_vote",
            Self::NotRatable(_) => "not_ratable",
            Self::TurnsMissing { .. } => "turns_missing",
            Self::ImageMissing { .. } => "image_missing",
            Self::ImageOther { .. } => "image_other",
        }
    }
}

impl Record {
    /// A record of a battle's vote and of the turns that it counted; later turns are left out.
    ///
    /// Language and categories are null until an annotator says more, and the consent's version is for the caller to set.
    ///
    /// # Errors
    ///
    /// [`Unpublishable`] with the reason.
    pub fn from_battle(
        battle: &Battle,
        judge: String,
        style: Option<&StyleFeatures>,
        image: Option<ReleaseImage>,
    ) -> Result<Self, Unpublishable> {
        let vote = battle.vote.ok_or(Unpublishable::NoVote)?;
        let n_counted = vote.n_turns as usize;
        let turns = battle
            .turns
            .get(..n_counted)
            .ok_or(Unpublishable::TurnsMissing {
                n_counted: vote.n_turns,
                n_turns: battle.turns.len(),
            })?;
        let counted = Battle {
            turns: turns.to_vec(),
            ..battle.clone()
        };
        counted.check_ratable().map_err(Unpublishable::NotRatable)?;
        let shown = turns.iter().find_map(|turn| turn.image);
        match (shown, &image) {
            (Some(id), None) => return Err(Unpublishable::ImageMissing { id }),
            (shown, Some(image)) if shown != Some(image.id) => {
                return Err(Unpublishable::ImageOther { id: image.id });
            }
            _ => {}
        }
        let conversation = |side: Side| {
            turns
                .iter()
                .map(|turn| {
                    vec![
                        Message {
                            role: Role::User,
                            content: turn.prompt.clone(),
                        },
                        Message {
                            role: Role::Assistant,
                            content: turn.generations.get(side).text.clone(),
                        },
                    ]
                })
                .collect()
        };
        Ok(Self {
            judge,
            winner: vote.winner,
            language: None,
            categories: [None; CATEGORIES.len()],
            images: image.into_iter().collect(),
            question_id: battle.id.to_string(),
            models: battle.models.clone(),
            conversations: Sides {
                a: conversation(Side::A),
                b: conversation(Side::B),
            },
            cast_at: vote.cast_at,
            style: style.copied(),
            consent_version: None,
        })
    }

    /// The number of turns.
    pub fn n_turns(&self) -> usize {
        self.conversations.a.len()
    }

    /// What makes the record contradict itself, in words.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.question_id.trim().is_empty() {
            return Some("it has no id".to_owned());
        }
        if self.judge.trim().is_empty() {
            return Some("it has no judge".to_owned());
        }
        for (side, name) in self.models.iter() {
            if name.trim().is_empty() {
                return Some(format!("the model of side {} has no name", side.as_str()));
            }
        }
        if self.models.a == self.models.b {
            return Some(format!("`{}` meets itself", self.models.a));
        }
        let (n_a, n_b) = (self.conversations.a.len(), self.conversations.b.len());
        if n_a != n_b || n_a == 0 {
            return Some(format!(
                "side a has {n_a} turns and side b {n_b}: expected as many, and at least one"
            ));
        }
        if let Some(style) = &self.style
            && style.n_turns as usize != n_a
        {
            return Some(format!(
                "its style features count {} turns: it has {n_a}",
                style.n_turns
            ));
        }
        None
    }

    /// The bytes of its cells, before any compression.
    pub(crate) fn bytes(&self) -> usize {
        let messages = |conversation: &Vec<Vec<Message>>| -> usize {
            conversation
                .iter()
                .flatten()
                .map(|message| message.content.len() + 32)
                .sum()
        };
        let images: usize = self.images.iter().map(|image| image.bytes.len() + 80).sum();
        messages(&self.conversations.a) + messages(&self.conversations.b) + images + 512
    }
}
