//! The labels of an annotated dataset that is there already, taken over row by row.

use std::{
    collections::{HashMap, VecDeque},
    ops::ControlFlow,
    path::Path,
    sync::mpsc,
    thread,
};

use agon_dataset::{ConversationSelection, Error, Input, Label, ReadOptions, read_conversations};
use serde_json::Value;

use crate::{commands::rank::read::refused, exit_code::CommandError};

/// Rows that are held in wait of the row that they belong to. An update whose rows moved farther than this is labelled anew there.
const WAITING_MAX: usize = 20_000;

/// A row of it.
struct EarlierRow {
    content_sha256: String,
    labels: Vec<Label>,
}

/// The rows of an annotated dataset in their order.
pub(super) struct Earlier {
    rows: mpsc::Receiver<Result<Vec<EarlierRow>, Error>>,
    /// Rows that were read and not taken, by content; several may have the same.
    waiting: HashMap<String, VecDeque<Vec<Label>>>,
    /// Their contents in the order of reading, the taken ones among them.
    order: VecDeque<String>,
    n_waiting: usize,
    is_at_end: bool,
}

impl Earlier {
    /// Opens the dataset in `folder`; nothing when there is none.
    pub(super) fn open(folder: &Path) -> Result<Option<Self>, CommandError> {
        if !folder.join("manifest.json").is_file() {
            return Ok(None);
        }
        let data = folder.join("data");
        let (sender, rows) = mpsc::sync_channel(1);
        // The reader hands rows over at its own pace, and this end takes them at another.
        thread::Builder::new()
            .name("earlier-labels".to_owned())
            .spawn(move || {
                let selection = ConversationSelection {
                    images: false,
                    chats: true,
                    columns: vec!["content_sha256".to_owned(), "annotations".to_owned()],
                };
                let mut on_rows = |rows: Vec<agon_dataset::ConversationRow>| {
                    let rows = rows.into_iter().map(|row| earlier_row(&row.columns));
                    match sender.send(Ok(rows.collect())) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(mpsc::SendError(_)) => ControlFlow::Break(()),
                    }
                };
                let inputs = vec![Input::from_argument(&data.to_string_lossy())];
                let options = ReadOptions::default();
                let read =
                    read_conversations(inputs, &options, &selection, &mut on_rows, &mut |_| {});
                if let Err(error) = read {
                    // Nobody listens when the labelling failed first.
                    let _ = sender.send(Err(error));
                }
            })?;
        Ok(Some(Self {
            rows,
            waiting: HashMap::new(),
            order: VecDeque::new(),
            n_waiting: 0,
            is_at_end: false,
        }))
    }

    /// The labels that were given for this content, or none.
    pub(super) fn take(&mut self, content_sha256: &[u8; 32]) -> Result<Vec<Label>, CommandError> {
        let key: String = content_sha256
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        while !self.waiting.contains_key(&key) && !self.is_at_end && self.n_waiting < WAITING_MAX {
            match self.rows.recv() {
                Ok(rows) => {
                    for row in rows.map_err(refused)? {
                        self.order.push_back(row.content_sha256.clone());
                        let waiting = self.waiting.entry(row.content_sha256).or_default();
                        waiting.push_back(row.labels);
                        self.n_waiting += 1;
                    }
                }
                Err(mpsc::RecvError) => self.is_at_end = true,
            }
        }
        let taken = self.take_waiting(&key);
        // Rows that are gone from the input would fill the room for good.
        if taken.is_none() && self.n_waiting >= WAITING_MAX {
            for _ in 0..WAITING_MAX / 2 {
                let Some(oldest) = self.order.pop_front() else {
                    break;
                };
                let _ = self.take_waiting(&oldest);
            }
        }
        Ok(taken.unwrap_or_default())
    }

    fn take_waiting(&mut self, key: &str) -> Option<Vec<Label>> {
        let waiting = self.waiting.get_mut(key)?;
        let labels = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(key);
        }
        self.n_waiting -= usize::from(labels.is_some());
        labels
    }
}

fn earlier_row(columns: &[Option<Value>]) -> EarlierRow {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let content = columns.first().and_then(Option::as_ref).and_then(text);
    let labels = columns.get(1).and_then(Option::as_ref);
    let labels = labels.and_then(Value::as_array).into_iter().flatten();
    EarlierRow {
        // A row without it belongs to no content and is never taken.
        content_sha256: content.unwrap_or_default(),
        labels: labels
            .filter_map(|label| {
                Some(Label {
                    annotator: text(&label["annotator"])?,
                    version: u32::try_from(label["version"].as_u64()?).ok()?,
                    label: text(&label["label"])?,
                })
            })
            .collect(),
    }
}
