//! What is labelled: one battle or chat, whether it comes from a file or from the arena.

use std::cell::OnceCell;

use agon_content::annotate::{
    Message, Role,
    style::{ConversationStyle, conversation_style},
};
use agon_dataset::{ConversationRow, RowRole};
use agon_domain::{Battle, Side, Sides};
use sha2::{Digest as _, Sha256};

/// One conversation, or the two of a battle.
#[derive(Debug)]
pub struct Content<'a> {
    conversations: Vec<Vec<Message<'a>>>,
    /// What tells its pictures apart, in their order.
    images: Vec<String>,
    /// Whether a picture could not be read, so that nobody knows whether there is one.
    has_unread_image: bool,
    /// Counted once for all annotators of style.
    styles: OnceCell<Vec<ConversationStyle>>,
}

impl<'a> Content<'a> {
    /// Of a row of a dataset. Messages of neither voter nor model are not labelled.
    pub fn of_row(row: &'a ConversationRow) -> Self {
        let message = |message: &'a agon_dataset::RowMessage| {
            let role = match message.role {
                RowRole::User => Role::User,
                RowRole::Assistant => Role::Assistant,
                RowRole::System | RowRole::Other(_) => return None,
            };
            let text = message.text.as_deref().unwrap_or_default();
            Some(Message { role, text })
        };
        let conversations = row.conversations.iter();
        Self {
            conversations: conversations
                .map(|conversation| conversation.messages.iter().filter_map(message).collect())
                .collect(),
            images: row
                .images
                .iter()
                .map(|image| image.id().unwrap_or_default())
                .collect(),
            has_unread_image: row
                .problems
                .iter()
                .any(|problem| problem.column.contains("image")),
            styles: OnceCell::new(),
        }
    }

    /// Of a battle of the arena: the first `n_turns` turns, those that a vote counted.
    pub fn of_battle(battle: &'a Battle, n_turns: u32) -> Self {
        let n_turns = usize::try_from(n_turns).unwrap_or(usize::MAX);
        let turns = &battle.turns[..battle.turns.len().min(n_turns)];
        let side = |side: Side| -> Vec<Message<'a>> {
            turns
                .iter()
                .flat_map(|turn| {
                    [
                        Message {
                            role: Role::User,
                            text: &turn.prompt,
                        },
                        Message {
                            role: Role::Assistant,
                            text: &turn.generations.get(side).text,
                        },
                    ]
                })
                .collect()
        };
        Self {
            conversations: vec![side(Side::A), side(Side::B)],
            images: turns
                .iter()
                .filter_map(|turn| turn.image.map(|id| id.to_string()))
                .collect(),
            has_unread_image: false,
            styles: OnceCell::new(),
        }
    }

    /// The conversations: one of a chat, two of a battle, side A first.
    pub fn conversations(&self) -> &[Vec<Message<'a>>] {
        &self.conversations
    }

    /// Whether a picture belongs to it.
    pub fn has_image(&self) -> bool {
        !self.images.is_empty()
    }

    /// Whether it may have a picture that could not be read.
    pub fn has_unread_image(&self) -> bool {
        self.has_unread_image
    }

    /// Whether the user asked something: with words or with a picture. A row of a set without conversations has no prompt.
    pub fn has_prompt(&self) -> bool {
        let mut prompts = self.prompts().into_iter();
        self.has_image() || prompts.any(|prompt| !prompt.trim().is_empty())
    }

    /// What the user wrote, from first to last: that of side A, which is that of both in all but broken data.
    pub fn prompts(&self) -> Vec<&'a str> {
        self.of_role(0, Role::User)
    }

    /// What each side answered, from first to last; nothing for the second side of a chat.
    pub fn answers(&self) -> Sides<Vec<&'a str>> {
        Sides {
            a: self.of_role(0, Role::Assistant),
            b: self.of_role(1, Role::Assistant),
        }
    }

    fn of_role(&self, idx: usize, role: Role) -> Vec<&'a str> {
        let messages = self.conversations.get(idx).into_iter().flatten();
        messages
            .filter(|message| message.role == role)
            .map(|message| message.text)
            .collect()
    }

    /// The style of each conversation.
    pub fn styles(&self) -> &[ConversationStyle] {
        self.styles.get_or_init(|| {
            let conversations = self.conversations.iter();
            conversations
                .map(|conversation| conversation_style(conversation))
                .collect()
        })
    }

    /// What labels are given for: the SHA-256 of every message and picture, their order and their roles.
    pub fn sha256(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        let mut add = |tag: u8, bytes: &[u8]| {
            // Lengths keep texts apart that would be one when joined.
            hasher.update([tag]);
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for conversation in &self.conversations {
            add(b'c', &[]);
            for message in conversation {
                let tag = match message.role {
                    Role::User => b'u',
                    Role::Assistant => b'a',
                };
                add(tag, message.text.as_bytes());
            }
        }
        for image in &self.images {
            add(b'i', image.as_bytes());
        }
        hasher.finalize().into()
    }

    /// What tells its first picture from others.
    pub fn first_image(&self) -> Option<&str> {
        self.images.first().map(String::as_str)
    }
}
