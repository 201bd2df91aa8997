//! How published files spell their columns and their winners.
//!
//! A published set is recognised by the names of its columns, or of the keys of its first record, never by the name of its file.
//! Sets whose rows are flat are read by the roles of their columns ([`crate::columns`]); records that nest their votes ([`copilot`], [`fastchat`], [`open_webui`], [`pandalm`], [`prism`]) are turned into flat ones first; a [`matrix`] of wins has no rows at all.

pub(crate) mod copilot;
pub(crate) mod fastchat;
pub(crate) mod matrix;
pub(crate) mod open_webui;
pub(crate) mod pandalm;
pub(crate) mod prism;
pub(crate) mod verdict;
pub(crate) mod winner;

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::{Error, Format, fate::Reason};

/// The members of a record, unread.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// What is known of a record that nests its vote.
pub(crate) enum Nested {
    /// The vote as a flat record with the columns of a battle.
    Vote(String),
    /// The record is something else, as it should be.
    Other {
        /// Why it is no vote.
        reason: Reason,
        /// What it is.
        value: String,
    },
    /// The record cannot be read.
    Unreadable(String),
}

/// What one record of JSON is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordLayout {
    /// The columns are keys.
    Flat,
    /// An event of a FastChat log.
    FastChatLog,
    /// Feedback exported from Open WebUI.
    OpenWebUiFeedback,
    /// A pair of PandaLM.
    PandaLm,
    /// A conversation of PRISM.
    Prism,
    /// An outcome of Copilot Arena.
    CopilotArena,
    /// A conversation without a vote.
    Chat,
}

impl RecordLayout {
    /// Turns a record that nests its vote into a flat one; `None` for one that is flat.
    pub(crate) fn flatten(self, bytes: &[u8]) -> Option<Nested> {
        Some(match self {
            Self::Flat | Self::Chat => return None,
            Self::FastChatLog => fastchat::flatten(bytes),
            Self::OpenWebUiFeedback => open_webui::flatten(bytes),
            Self::PandaLm => pandalm::flatten(bytes),
            Self::Prism => prism::flatten(bytes),
            Self::CopilotArena => copilot::flatten(bytes),
        })
    }
}

/// A published set and the columns that no other set has together.
struct Mark {
    format: Format,
    /// All of these are there.
    all: &'static [&'static str],
    /// None of these is.
    none: &'static [&'static str],
}

const SIDES: [&str; 2] = ["conversation_a", "conversation_b"];

/// The marks, the most particular first.
const MARKS: &[Mark] = &[
    Mark {
        format: Format::VisionArenaBench,
        all: &[
            "judge",
            SIDES[0],
            SIDES[1],
            "images",
            "conv_metadata",
            "turn",
            "anony",
        ],
        none: &["categories"],
    },
    Mark {
        format: Format::VisionArenaBattle,
        all: &["judge", SIDES[0], SIDES[1], "images", "conv_metadata"],
        none: &[],
    },
    Mark {
        format: Format::ChatbotArena33k,
        all: &[SIDES[0], SIDES[1], "openai_moderation", "toxic_chat_tag"],
        none: &[],
    },
    Mark {
        format: Format::HumanPreference55k,
        all: &[
            "prompt",
            "response_a",
            "response_b",
            "winner_model_a",
            "winner_model_b",
        ],
        none: &["winner"],
    },
    Mark {
        format: Format::HumanPreference100k,
        all: &[
            SIDES[0],
            SIDES[1],
            "judge_hash",
            "dedup_tag",
            "category_tag",
        ],
        none: &[],
    },
    Mark {
        format: Format::HumanPreference140k,
        all: &[
            "full_conversation",
            "evaluation_session_id",
            "evaluation_order",
        ],
        none: &[],
    },
    Mark {
        format: Format::ArenaExpert5k,
        all: &["full_conversation", "evaluation_order", "occupational_tags"],
        none: &[],
    },
    Mark {
        format: Format::SearchArena,
        all: &["messages_a", "messages_b", "system_a_metadata"],
        none: &[],
    },
    Mark {
        // The earlier release of seven thousand votes.
        format: Format::SearchArena,
        all: &["messages_a", "messages_b", "conv_metadata"],
        none: &[],
    },
    Mark {
        format: Format::CompariaVotes,
        all: &["chosen_model_name", "both_equal"],
        none: &["winner"],
    },
    Mark {
        format: Format::CompariaChoices,
        all: &["choice"],
        none: &["winner"],
    },
    Mark {
        format: Format::WildVisionBattle,
        all: &["question_id", SIDES[0], SIDES[1], "image", "anony"],
        none: &[],
    },
    Mark {
        format: Format::MtBenchHuman,
        all: &["question_id", "judge", SIDES[0], SIDES[1], "turn"],
        none: &["tstamp", "anony", "timestamp"],
    },
];

/// The columns of GenAI-Arena's cleaned battles, all of them.
const GENAI_ARENA: [&str; 6] = ["model_a", "model_b", "winner", "judge", "anony", "tstamp"];

/// The columns that Evalica reads, all of them.
const EVALICA: [&str; 3] = ["left", "right", "winner"];

/// The published set that has these columns, if it is one.
///
/// `has_parts` says that the content of a message is a list of parts, which is all that tells the web development arena from others.
pub(crate) fn recognise<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    has_parts: bool,
) -> Option<Format> {
    let has = |wanted: &str| names.clone().any(|name| name == wanted);
    let is_exactly =
        |wanted: &[&str]| names.clone().count() == wanted.len() && wanted.iter().all(|&n| has(n));
    if is_exactly(&GENAI_ARENA) {
        return Some(Format::GenAiArena);
    }
    if is_exactly(&EVALICA) {
        return Some(Format::Evalica);
    }
    let mark = MARKS.iter().find(|mark| {
        mark.all.iter().all(|&name| has(name)) && !mark.none.iter().any(|&name| has(name))
    });
    mark.map(|mark| mark.format).or_else(|| {
        let is_web = has_parts && SIDES.iter().all(|&name| has(name)) && !has("images");
        is_web.then_some(Format::WebDevArena)
    })
}

/// The set of conversations or prompts without votes that has these columns, if it is one.
pub(crate) fn chats<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Option<Format> {
    let has = |wanted: &str| names.clone().any(|name| name == wanted);
    if has("model_a") || has("model_a_name") || has("left") {
        return None;
    }
    if has("conversation_id") && has("model") && has("conversation") {
        return Some(if has("images") {
            Format::VisionArenaChat
        } else {
            Format::Chats
        });
    }
    let is_bench = has("turns") && has("question_id") && has("images");
    is_bench.then_some(Format::VisionArenaBench)
}

/// Refuses sets of conversations without votes, by their columns.
///
/// # Errors
///
/// [`Error::NoVotes`].
pub(crate) fn refuse_conversations<'a>(
    path: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Error> {
    let has = |wanted: &str| names.clone().any(|name| name == wanted);
    if let Some(format) = chats(names.clone()) {
        return Err(Error::NoVotes {
            path: path.to_owned(),
            format: match format {
                Format::Chats => "a set of conversations",
                format => format.as_str(),
            },
            found: match format {
                Format::VisionArenaBench => {
                    "each row is a prompt; the first version of this set had the votes"
                }
                _ => "each row is a conversation with one model",
            },
        });
    }
    if has("refers_to_conv_id") && has("liked") {
        return Err(Error::NoVotes {
            path: path.to_owned(),
            format: "comparia-reactions",
            found: "each row is a like of one answer, which is not a comparison of two",
        });
    }
    Ok(())
}

/// The keys of a record of JSON, in alphabetical order.
pub(crate) fn keys(bytes: &[u8]) -> Vec<String> {
    let members: Members<'_> = serde_json::from_slice(bytes).unwrap_or_default();
    members.into_keys().collect()
}

/// What a record of JSON is, and which set its keys are of.
pub(crate) fn of_record(bytes: &[u8]) -> (RecordLayout, Option<Format>) {
    let Ok(members) = serde_json::from_slice::<Members<'_>>(bytes) else {
        return (RecordLayout::Flat, None);
    };
    if fastchat::is_event(&members) {
        return (RecordLayout::FastChatLog, Some(Format::FastChatLog));
    }
    if open_webui::is_feedback(&members) {
        return (
            RecordLayout::OpenWebUiFeedback,
            Some(Format::OpenWebUiFeedback),
        );
    }
    if pandalm::is_pair(&members) {
        return (RecordLayout::PandaLm, Some(Format::PandaLm));
    }
    if prism::is_conversation(&members) {
        return (RecordLayout::Prism, Some(Format::Prism));
    }
    if copilot::is_outcome(&members) {
        return (RecordLayout::CopilotArena, Some(Format::CopilotArena));
    }
    let has_parts = members.get("conversation_a").is_some_and(|value| {
        #[derive(serde::Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            content: &'a RawValue,
        }
        serde_json::from_str::<Vec<Message<'_>>>(value.get()).is_ok_and(|messages| {
            messages
                .first()
                .is_some_and(|message| message.content.get().starts_with('['))
        })
    });
    let format = recognise(members.keys().map(String::as_str), has_parts);
    (RecordLayout::Flat, format)
}

/// Why a row of this set has no winner when the cell is empty.
pub(crate) const fn without_winner(format: Option<Format>) -> Reason {
    match format {
        // Conversations nobody voted on are published among the others.
        Some(Format::SearchArena | Format::CompariaChoices) => Reason::NoVote,
        _ => Reason::WinnerMissing,
    }
}
