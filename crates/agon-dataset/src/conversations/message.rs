//! Messages in every nesting that published sets have.
//!
//! A conversation is a list of messages `{role, content}`, a list of turns each of which is such a list, or JSON text of either.
//! `content` is a text, a list of parts `{type, text, image, …}`, or `[text, [images…]]`.

use agon_domain::Finish;

use super::{
    Cell, RowConversation, RowImage, RowMessage, RowRole, cell::REPAIRED, image::ImageReading,
};
use crate::clean::Status;

/// Reads the conversations of one row.
pub(super) struct MessageReader<'a> {
    pub(super) reading: ImageReading<'a>,
    /// The pictures of the row so far.
    pub(super) images: Vec<RowImage>,
    /// What was not understood, in words.
    pub(super) faults: Vec<String>,
}

impl MessageReader<'_> {
    /// Adds a picture of the row, or finds it among those that are there.
    pub(super) fn add_image(&mut self, cell: &Cell) -> Option<usize> {
        match self.reading.image(cell) {
            Ok(image) => {
                let image = image?;
                let known = self.images.iter().position(|known| *known == image);
                Some(known.unwrap_or_else(|| {
                    self.images.push(image);
                    self.images.len() - 1
                }))
            }
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }

    /// Adds the pictures of a cell: one, or a list of them.
    pub(super) fn add_images(&mut self, cell: &Cell) -> Vec<usize> {
        match &*cell.unpacked() {
            Cell::List(cells) => cells
                .iter()
                .filter_map(|cell| self.add_image(cell))
                .collect(),
            cell => self.add_image(cell).into_iter().collect(),
        }
    }

    /// Reads a conversation. Texts without a role are by whoever `lone` says; `may_be_plain` says whether one text may be all of it.
    pub(super) fn conversation(
        &mut self,
        cell: &Cell,
        lone: &RowRole,
        may_be_plain: bool,
    ) -> RowConversation {
        let mut conversation = RowConversation::default();
        let Some(text) = cell.as_text() else {
            self.add(&mut conversation, cell, lone);
            return conversation;
        };
        let parsed = text
            .trim_start()
            .starts_with(['[', '{'])
            .then(|| Cell::parse(text));
        match parsed {
            Some(Ok((nested, is_repaired))) if are_messages(&nested) => {
                if is_repaired {
                    self.faults.push(REPAIRED.to_owned());
                }
                self.add(&mut conversation, &nested, lone);
            }
            _ if may_be_plain => {
                conversation
                    .messages
                    .push(plain(lone, Some(text.to_owned())));
            }
            _ if text.trim().is_empty() => {}
            _ => self
                .faults
                .push("text that is no JSON of messages".to_owned()),
        }
        conversation
    }

    fn add(&mut self, conversation: &mut RowConversation, cell: &Cell, lone: &RowRole) {
        match cell {
            Cell::Null => {}
            Cell::List(items) => {
                for item in items {
                    match item {
                        // Nobody said anything, as far as the source knows.
                        Cell::Null => conversation.messages.push(plain(lone, None)),
                        Cell::Text(text) => {
                            conversation
                                .messages
                                .push(plain(lone, Some(text.to_owned())));
                        }
                        item => self.add(conversation, item, lone),
                    }
                }
            }
            Cell::Group(_) => self.add_message(conversation, cell, lone),
            other => self
                .faults
                .push(format!("{} in place of messages", other.kind())),
        }
    }

    fn add_message(&mut self, conversation: &mut RowConversation, cell: &Cell, lone: &RowRole) {
        let first = |names: &[&str]| names.iter().find_map(|name| cell.get(name));
        let Some(content) = first(&["content", "value", "text"]) else {
            self.faults.push("a message without `content`".to_owned());
            return;
        };
        let role = first(&["role", "from"]).and_then(Cell::as_text);
        let role = role.map_or_else(|| lone.clone(), role_of);
        let mut message = plain(&role, None);
        message.status = status_of(cell);
        self.add_content(&mut message, content);
        for name in ["images", "image", "attachments"] {
            if let Some(images) = cell.get(name) {
                for idx in self.add_images(images) {
                    add_once(&mut message.images, idx);
                }
            }
        }
        conversation.messages.push(message);
    }

    fn add_content(&mut self, message: &mut RowMessage, content: &Cell) {
        match content {
            Cell::Null => {}
            Cell::Text(_) | Cell::Bytes(_) => match content.as_text() {
                Some(text) => add_text(message, text),
                None => self.faults.push("bytes in place of a text".to_owned()),
            },
            Cell::List(parts) => {
                for part in parts {
                    match part {
                        // The hashes of the pictures, behind the text.
                        Cell::List(images) => {
                            for image in images {
                                if let Some(idx) = self.add_image(image) {
                                    add_once(&mut message.images, idx);
                                }
                            }
                        }
                        part => self.add_part(message, part),
                    }
                }
            }
            part @ Cell::Group(_) => self.add_part(message, part),
            other => self
                .faults
                .push(format!("{} in place of a text", other.kind())),
        }
    }

    fn add_part(&mut self, message: &mut RowMessage, part: &Cell) {
        let Cell::Group(_) = part else {
            self.add_content(message, part);
            return;
        };
        let kind = part.get("type").and_then(Cell::as_text).unwrap_or_default();
        let text = part.get("text").filter(|text| !text.is_null());
        if let Some(text) = text {
            self.add_content(message, text);
        }
        let is_image = kind.contains("image")
            || ["image", "image_url", "inline_data", "source"]
                .iter()
                .any(|name| part.get(name).is_some_and(|cell| !cell.is_null()));
        if is_image {
            if let Some(idx) = self.add_image(part) {
                add_once(&mut message.images, idx);
            }
        } else if text.is_none() && !matches!(kind, "" | "text") {
            let kind: String = kind.chars().take(40).collect();
            self.faults.push(format!("a part of the type `{kind}`"));
        }
    }
}

/// Whether this is messages, rather than JSON that somebody said.
fn are_messages(cell: &Cell) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| cell.get(name).is_some());
    match cell {
        Cell::List(items) => items
            .iter()
            .all(|item| matches!(item, Cell::Null | Cell::Text(_)) || are_messages(item)),
        Cell::Group(_) => has(&["role", "from"]) && has(&["content", "value", "text"]),
        _ => false,
    }
}

fn plain(role: &RowRole, text: Option<String>) -> RowMessage {
    RowMessage {
        role: role.clone(),
        text,
        images: Vec::new(),
        status: Status::Unknown,
    }
}

fn add_once(images: &mut Vec<usize>, idx: usize) {
    if !images.contains(&idx) {
        images.push(idx);
    }
}

/// Adds a part of a text on a line of its own.
fn add_text(message: &mut RowMessage, part: &str) {
    let text = message.text.get_or_insert_default();
    crate::battles::conversation::add_part(part, text);
}

fn role_of(role: &str) -> RowRole {
    match role.trim().to_lowercase().as_str() {
        "user" | "human" | "prompter" => RowRole::User,
        "assistant" | "model" | "gpt" | "bot" | "model_response" | "ai" => RowRole::Assistant,
        "system" | "developer" => RowRole::System,
        _ => RowRole::Other(role.trim().to_owned()),
    }
}

/// How an answer ended, where its message says so.
fn status_of(message: &Cell) -> Status {
    let has_error = message.get("error").is_some_and(|error| {
        !matches!(error, Cell::Null | Cell::Bool(false))
            && error.as_text().is_none_or(|text| !text.is_empty())
    });
    if has_error {
        return Status::Ended(Finish::Failed);
    }
    let reason = ["finish_reason", "finish", "stop_reason"]
        .iter()
        .find_map(|name| message.get(name)?.as_text());
    match reason.map(str::trim) {
        Some("stop" | "end_turn" | "eos" | "stop_sequence") => Status::Ended(Finish::Stop),
        Some("length" | "max_tokens") => Status::Ended(Finish::Length),
        Some("content_filter" | "filtered" | "refusal" | "safety") => {
            Status::Ended(Finish::Filtered)
        }
        Some("error" | "failed") => Status::Ended(Finish::Failed),
        Some("empty") => Status::Ended(Finish::Empty),
        Some("cut") => Status::Ended(Finish::Cut),
        Some("interrupted") => Status::Ended(Finish::Interrupted),
        _ => match message.get("done").and_then(Cell::as_bool) {
            Some(false) => Status::Running,
            _ => Status::Unknown,
        },
    }
}
