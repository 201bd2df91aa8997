//! Whole rows with their conversations and pictures, one after the other: what an import, an annotation or a screening needs.
//!
//! The third sibling of [`crate::votes`] and [`crate::battles`]: the same decoders, the same fate for every row, another thing made of the kept ones.
//! Rows go by in batches that are bounded in rows and in bytes; nothing of a batch is kept once it is handed over.
//!
//! A row is told by the names of its columns alone, whatever file they are in: `cell` is a value as any format holds it, `message` finds messages and pictures in it, `row` puts a row together, `sink` hands rows over.

pub(crate) mod cell;
mod image;
mod message;
mod row;
pub(crate) mod sink;

use std::ops::ControlFlow;

use agon_domain::{Sides, Winner};
use bytes::Bytes;
use serde_json::Value;

use self::sink::Sink;
use crate::{
    Error, Input, InputReport, Place, Progress, ReadOptions,
    battles::{
        Selection,
        collect::{Collector, Product},
        wanted::Wanted,
    },
    clean::{Facts, MessageFacts, Status},
    count::near_duplicates,
    record::Role,
    votes::read_all,
};

pub(crate) use self::{
    cell::Cell,
    row::{NOT_UTF8, RowCells, RowHead, is_wanted, row},
    sink::{BATCH_BYTES, RowSink},
};

/// What to read of each row beside what every row has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationSelection {
    /// Whether the bytes of pictures are read. Without them a picture has its name in the source alone, and its bytes are not even fetched from Parquet.
    pub images: bool,
    /// Whether sets without votes are taken too, each of whose rows is one conversation or one prompt. Otherwise they are refused.
    pub chats: bool,
    /// Further columns, by name or dotted path, as JSON.
    pub columns: Vec<String>,
}

/// One row: a battle with its vote, or a conversation of a set without votes.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationRow {
    /// Where it stands. `column` and `value` are not set.
    pub place: Place,
    /// Its source, as a position in [`InputReport::sources`].
    pub source: usize,
    /// Its id: `question_id`, `battle_id` or `id`, else `conversation_id` or `conversation_pair_id`.
    pub id: Option<String>,
    /// The names of the models after [`ReadOptions::aliases`]: two of a battle, one of a chat, none where a set holds prompts alone.
    pub models: Vec<String>,
    /// What the vote says; `None` for rows of a set without votes alone.
    pub winner: Option<Winner>,
    /// Who voted, as the source names them: `judge`, else `judge_hash`, `user_id` or `visitor_id`.
    pub judge: Option<String>,
    /// The visit in which the vote was cast: `evaluation_session_id`, else `session_hash` or `session_id`.
    pub visit: Option<String>,
    /// When the vote was cast, in seconds since 1970 UTC. A number without a unit is taken by its size; one in another unit than the first of its source is a problem, and no time.
    pub time: Option<f64>,
    /// The language as the source spells it; the first one of a list. The whole list is had by [`ConversationSelection::columns`].
    pub language: Option<String>,
    /// The categories that the source gives in `category`, else in `categories`, and whether the row is in each: of a text or a list of texts it is, of a group of flags in those that are set. Names are on one line. `None` where it says nothing of them.
    pub categories: Option<Vec<(String, bool)>>,
    /// Whether the names were hidden until the vote, where the source says so.
    pub is_anonymous: Option<bool>,
    /// Whether moderation flagged the row, where the source says so.
    pub is_flagged: Option<bool>,
    /// What the two selectors of models held, in a log of FastChat: empty texts in an anonymous battle.
    pub selectors: Option<Sides<Option<String>>>,
    /// The conversations: two of a battle, side A first, and one of a chat; none where the source has none.
    pub conversations: Vec<RowConversation>,
    /// The pictures of the row, each once, those of the column of images first.
    pub images: Vec<RowImage>,
    /// The style counts that the source brings, as it nests them.
    pub conv_metadata: Option<Value>,
    /// The values of [`ConversationSelection::columns`], in that order; `None` where the row has no such column.
    pub columns: Vec<Option<Value>>,
    /// What of the row could not be read. Its vote counts all the same, as it does where only votes are read.
    pub problems: Vec<RowProblem>,
}

/// The messages of one side in their order, those of all turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowConversation {
    /// The messages.
    pub messages: Vec<RowMessage>,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct RowMessage {
    /// Who wrote it.
    pub role: RowRole,
    /// Its text, the parts of it on lines of their own; `None` where the source has null.
    pub text: Option<String>,
    /// Its pictures, as positions in [`ConversationRow::images`].
    pub images: Vec<usize>,
    /// How it ended, of an answer, where the source says so.
    pub status: Status,
}

/// Who wrote a message of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowRole {
    /// The voter.
    User,
    /// The model.
    Assistant,
    /// Whoever set the models up.
    System,
    /// Anybody else, as the source spells it: a tool, for one.
    Other(String),
}

impl RowRole {
    /// Its usual spelling, or the source's own.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Other(role) => role,
        }
    }

    /// The role in a battle, if it has one.
    pub const fn in_battle(&self) -> Option<Role> {
        match self {
            Self::User => Some(Role::User),
            Self::Assistant => Some(Role::Assistant),
            Self::System | Self::Other(_) => None,
        }
    }
}

/// A picture as the source has it; it has not been decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowImage {
    /// Its bytes, when they were asked for and are there.
    pub bytes: Option<Bytes>,
    /// Its name or address in the source. It is text from outside: nothing was opened by it, but for the pictures beside a log of FastChat.
    pub path: Option<String>,
    /// The MD5 by which a log of FastChat names it, 32 hexadecimal digits: that of its pixels, not of its bytes.
    pub md5: Option<String>,
    /// Its media type, such as `image/png`, where the source says so.
    pub media_type: Option<String>,
}

impl RowImage {
    /// What tells it from other pictures: the SHA-256 of its bytes in hexadecimal, else the MD5, else its name in the source.
    pub fn id(&self) -> Option<String> {
        use sha2::{Digest as _, Sha256};
        match &self.bytes {
            Some(bytes) => Some(crate::decode::window::hexadecimal(&Sha256::digest(bytes))),
            None => self.md5.clone().or_else(|| self.path.clone()),
        }
    }
}

/// Something of a row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column `{column}`: {detail}")]
pub struct RowProblem {
    /// The column.
    pub column: String,
    /// What stands there and what is expected.
    pub detail: String,
}

impl ConversationRow {
    /// The names of the two models of a battle.
    pub fn sides(&self) -> Option<Sides<&str>> {
        match self.models.as_slice() {
            [a, b] => Some(Sides { a, b }),
            _ => None,
        }
    }

    /// Gives the facts of a battle to `f`; `None` for a row without a vote.
    ///
    /// `identity` says of each message what [`MessageFacts::identity`] is to be, `None` where no annotator has run.
    /// Messages of neither voter nor model are left out.
    pub fn with_facts<R>(
        &self,
        identity: &dyn Fn(&RowMessage) -> Option<bool>,
        f: impl FnOnce(&Facts<'_>) -> R,
    ) -> Option<R> {
        let winner = self.winner?;
        let models = self.sides()?;
        let ids: Vec<Option<String>> = self.images.iter().map(RowImage::id).collect();
        let images: Vec<Vec<Vec<&str>>> = self
            .conversations
            .iter()
            .map(|conversation| {
                let messages = conversation.messages.iter();
                let of_message = |message: &RowMessage| {
                    let of_image = |&idx: &usize| ids.get(idx)?.as_deref();
                    message.images.iter().filter_map(of_image).collect()
                };
                messages.map(of_message).collect()
            })
            .collect();
        let sides: Vec<Vec<MessageFacts<'_>>> = self
            .conversations
            .iter()
            .zip(&images)
            .map(|(conversation, images)| {
                let messages = conversation.messages.iter().zip(images);
                messages
                    .filter_map(|(message, images)| {
                        Some(MessageFacts {
                            role: message.role.in_battle()?,
                            text: message.text.as_deref(),
                            images,
                            status: message.status,
                            identity: identity(message),
                        })
                    })
                    .collect()
            })
            .collect();
        let messages = match sides.as_slice() {
            [a, b] => Some(Sides {
                a: a.as_slice(),
                b: b.as_slice(),
            }),
            _ => None,
        };
        let selectors = self.selectors.as_ref().map(|selectors| Sides {
            a: selectors.a.as_deref(),
            b: selectors.b.as_deref(),
        });
        Some(f(&Facts {
            id: self.id.as_deref(),
            models,
            selectors,
            winner,
            judge: self.judge.as_deref(),
            visit: self.visit.as_deref(),
            time: self.time,
            language: self.language.as_deref(),
            is_anonymous: self.is_anonymous,
            is_refused: self.is_flagged,
            messages,
        }))
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let messages = self.conversations.iter().flat_map(|side| &side.messages);
        let texts: usize = messages
            .map(|message| message.text.as_ref().map_or(0, String::len) + 64)
            .sum();
        let images = self.images.iter();
        let images: usize = images
            .map(|image| image.bytes.as_ref().map_or(0, Bytes::len) + 128)
            .sum();
        let columns: usize = self.columns.iter().flatten().map(cell::json_bytes).sum();
        let metadata = self.conv_metadata.as_ref().map_or(0, cell::json_bytes);
        512 + texts + images + columns + metadata
    }
}

/// Reads whole rows from all inputs, one after the other, and gives the kept ones to `on_rows` in their order.
///
/// Rows are recognised, kept and rejected as by [`crate::read_votes`], and `options` mean the same.
/// A batch has at most some ten thousand rows and about 16 MiB: it is handed over once it has them, of Parquet after a block of 8 MiB or one row.
/// Memory is bounded by one batch and what its decoder holds: of Parquet pages of one row group, of text one record, of which [`ReadOptions::record_bytes_max`] is the limit.
/// When `on_rows` breaks, reading ends there, and the report tells of the rows that were read so far.
///
/// # Errors
///
/// Those of [`crate::read_votes`], and [`Error::MissingSelected`] for a source in no row of which a selected column stands.
/// What was handed over before an error was read well.
pub fn read_conversations(
    inputs: Vec<Input>,
    options: &ReadOptions<'_>,
    selection: &ConversationSelection,
    on_rows: &mut (dyn FnMut(Vec<ConversationRow>) -> ControlFlow<()> + Send),
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<InputReport, Error> {
    let by_column = Selection::default();
    let wanted = Wanted::new(&by_column, options.dedup);
    let sink = Sink::new(selection, on_rows);
    let collector = Collector::new(&wanted, Product::Tally, options).with_rows(&sink);
    let (_, mut report) = read_all(inputs, options, Some(&collector), on_progress)?;
    report.near_duplicates = near_duplicates(collector.into_tally().models());
    Ok(report)
}

#[cfg(test)]
mod tests;
