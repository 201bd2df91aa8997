//! Whole rows, for whoever wants them, beside what is kept of each row by column.

use std::path::Path;

use agon_domain::Winner;

use super::RowReader;
use crate::{
    ConversationRow, ConversationSelection, Dedup, Place,
    battles::{
        conversation::{add_text, content_hash},
        intern::{NO_HASH, text_hash},
    },
    conversations::{RowCells, RowHead, row},
    count::{Counter, RowPlace},
};

/// What whole rows are put together from.
#[derive(Default)]
pub(super) struct Whole<'a> {
    /// The folder of the source, when it is a file.
    folder: Option<&'a Path>,
    source_idx: usize,
    /// The cells of the present row.
    cells: RowCells,
    /// Which of the further columns were there so far.
    pub(super) has_columns: Vec<bool>,
}

impl Whole<'_> {
    /// Nothing yet of the source at this position.
    pub(super) fn new(source_idx: usize) -> Self {
        Self {
            source_idx,
            ..Self::default()
        }
    }
}

impl<'a> RowReader<'a> {
    /// Sets the folder of the source, in which its pictures may be.
    pub(crate) fn set_folder(&mut self, folder: Option<&'a Path>) {
        self.whole.folder = folder;
    }

    /// What whole rows are to have, when somebody wants them.
    pub(crate) fn selection_of_rows(&self) -> Option<&'a ConversationSelection> {
        Some(self.collector.rows?.selection())
    }

    /// Takes the cells of the present row, for whoever wants it whole.
    pub(crate) fn set_cells(&mut self, cells: RowCells) {
        self.whole.cells = cells;
    }

    /// Whether so much waits that it is to be handed over.
    pub(crate) fn is_full(&self) -> bool {
        self.chunk.is_full()
    }

    /// The present row as a whole, if somebody wants it.
    pub(super) fn whole_row(
        &mut self,
        models: Vec<String>,
        winner: Option<Winner>,
        place: RowPlace,
    ) -> Option<ConversationRow> {
        let sink = self.collector.rows?;
        let whole = &mut self.whole;
        let head = RowHead {
            place: Place {
                source: self.path.to_owned(),
                row: place.row,
                line: place.line,
                column: None,
                value: None,
            },
            source: whole.source_idx,
            models,
            winner,
            folder: whole.folder,
        };
        let row = row(head, &std::mem::take(&mut whole.cells), sink);
        whole.has_columns.resize(row.columns.len(), false);
        for (has_column, value) in whole.has_columns.iter_mut().zip(&row.columns) {
            *has_column |= value.is_some();
        }
        Some(row)
    }

    /// Whether conversations without a vote are wanted too.
    pub(crate) fn takes_chats(&self) -> bool {
        self.selection_of_rows()
            .is_some_and(|selection| selection.chats)
    }

    /// Gives a conversation without a vote its fate, and keeps it if it is kept.
    pub(crate) fn add_chat(&mut self, counter: &mut Counter, cells: RowCells, place: RowPlace) {
        self.has_names = true;
        if !cells.has_chat() {
            counter.reject_unreadable(place, "no conversation");
            return;
        }
        let model = cells
            .chat_model()
            .map(|name| counter.model(name.as_bytes()));
        let mut models = Vec::new();
        if let Some(model) = model {
            let Some(name) = counter.name_of(model) else {
                counter.reject_model(model, place);
                return;
            };
            models.push(name.to_owned());
        }
        self.set_cells(cells);
        let Some(row) = self.whole_row(models, None, place) else {
            return;
        };
        self.seen.has_content = true;
        let collector = self.collector;
        let chunk = &mut self.chunk;
        if collector.wanted.dedup.is_some() {
            chunk.places.push(place);
        }
        if collector.ids {
            let id = row
                .id
                .as_ref()
                .map_or(NO_HASH, |id| text_hash(id.as_bytes()));
            chunk.ids.push(id);
        }
        if collector.wanted.dedup == Some(Dedup::Content) {
            chunk.contents.push(chat_hash(&row));
        }
        chunk.push_row(row);
    }
}

/// The hash of all that tells a conversation without a vote apart.
fn chat_hash(row: &ConversationRow) -> u128 {
    let mut content = Vec::new();
    add_text(&mut content, row.models.concat().as_bytes());
    let judge = row.judge.as_deref().unwrap_or_default();
    add_text(&mut content, judge.as_bytes());
    let time = row.time.unwrap_or(f64::NAN);
    content.extend_from_slice(&time.to_bits().to_le_bytes());
    let messages = row.conversations.iter().flat_map(|side| &side.messages);
    for message in messages {
        let text = message.text.as_deref().unwrap_or_default();
        add_text(&mut content, text.as_bytes());
    }
    content_hash(&content)
}
