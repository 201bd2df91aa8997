//! Where whole rows go.

use std::{
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{ConversationRow, ConversationSelection};

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
}

/// Gives rows to a function until it breaks.
pub(super) struct Sink<'s, 'f> {
    selection: &'s ConversationSelection,
    on_rows: Mutex<&'f mut OnRows<'f>>,
    is_stopped: AtomicBool,
}

type OnRows<'f> = dyn FnMut(Vec<ConversationRow>) -> ControlFlow<()> + Send + 'f;

impl<'s, 'f> Sink<'s, 'f> {
    pub(super) fn new(selection: &'s ConversationSelection, on_rows: &'f mut OnRows<'f>) -> Self {
        Self {
            selection,
            on_rows: Mutex::new(on_rows),
            is_stopped: AtomicBool::new(false),
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
}
