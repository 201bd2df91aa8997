//! Where whole rows go.

use std::{
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{ConversationRow, ConversationSelection};
use crate::battles::time::Unit;

/// Bytes of a batch, after which it is handed over.
pub(crate) const BATCH_BYTES: usize = 16 * 1024 * 1024;

/// Takes whole rows, and says what they are to have.
pub(crate) trait RowSink: Sync {
    /// What the rows are to have.
    fn selection(&self) -> &ConversationSelection;

    /// Takes a batch of rows in their order.
    fn take(&self, rows: Vec<ConversationRow>);

    /// Whether no more rows are wanted.
    fn is_stopped(&self) -> bool;

    /// The unit of the first time without one of its own in a source, and its row; those of this row if it is the first.
    fn first_unit(&self, source: usize, unit: Unit, row: u64) -> (Unit, u64);
}

/// Gives rows to a function until it breaks.
pub(super) struct Sink<'s, 'f> {
    selection: &'s ConversationSelection,
    on_rows: Mutex<&'f mut OnRows<'f>>,
    is_stopped: AtomicBool,
    /// The source that has a unit so far, the unit, and the row that said so.
    unit: Mutex<Option<(usize, Unit, u64)>>,
}

type OnRows<'f> = dyn FnMut(Vec<ConversationRow>) -> ControlFlow<()> + Send + 'f;

impl<'s, 'f> Sink<'s, 'f> {
    pub(super) fn new(selection: &'s ConversationSelection, on_rows: &'f mut OnRows<'f>) -> Self {
        Self {
            selection,
            on_rows: Mutex::new(on_rows),
            is_stopped: AtomicBool::new(false),
            unit: Mutex::new(None),
        }
    }
}

impl RowSink for Sink<'_, '_> {
    fn selection(&self) -> &ConversationSelection {
        self.selection
    }

    fn take(&self, rows: Vec<ConversationRow>) {
        if rows.is_empty() || self.is_stopped() {
            return;
        }
        let mut on_rows = self.on_rows.lock().unwrap_or_else(PoisonError::into_inner);
        if on_rows(rows).is_break() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn first_unit(&self, source: usize, unit: Unit, row: u64) -> (Unit, u64) {
        let mut known = self.unit.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = known.is_none_or(|(known, ..)| known != source);
        if is_new {
            *known = Some((source, unit, row));
        }
        known.map_or((unit, row), |(_, unit, row)| (unit, row))
    }
}
