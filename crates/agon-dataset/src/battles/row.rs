//! The wanted values of one row of a text format, found by walking through its cells.
//!
//! RowCells of a table, values of an object, and JSON inside of either are walked alike; what is not wanted is passed over.

mod whole;

use std::{borrow::Cow, collections::HashMap};

use foldhash::fast::RandomState;
use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use self::whole::Whole;
use super::{
    chunk::{Chunk, ChunkSlice, SliceKind},
    collect::Collector,
    conversation::{Conversation, add_text, content_hash, number},
    intern::{NO_HASH, text_hash},
    time::Time,
    wanted::{Use, Wanted, looked_for},
};
use crate::{
    Dedup, Error, FeatureOrigin, Place,
    count::{Code, Counter, RowPlace},
    error::found_instead,
    fate::{COLUMNS_SHOWN_MAX, cut},
};
use agon_domain::Winner;

/// Keys that are remembered as unwanted.
const KEYS_MAX: usize = 10_000;

/// A name on the way to something wanted.
#[derive(Debug)]
struct Node {
    name: String,
    uses: Vec<Use>,
    is_prefix: bool,
    children: HashMap<String, Option<usize>, RandomState>,
}

/// A value that a slice may have.
#[derive(Debug, Default)]
pub(crate) enum SliceCell {
    #[default]
    Missing,
    One(String),
    /// Labels, and whether each applies.
    Many(Vec<(String, bool)>),
}

/// Something of which the name of lowest rank that the source has counts, whether a row has a value there or not.
#[derive(Debug)]
struct Ranked<T> {
    /// The lowest rank so far in any row.
    floor: u8,
    value: Option<T>,
}

impl<T> Default for Ranked<T> {
    fn default() -> Self {
        Self {
            floor: u8::MAX,
            value: None,
        }
    }
}

impl<T> Ranked<T> {
    /// Notes that the source has the name of this rank, and tells whether it counts.
    fn see(&mut self, rank: u8) -> bool {
        if rank < self.floor {
            self.floor = rank;
            self.value = None;
        }
        rank == self.floor
    }

    fn offer(&mut self, rank: u8, value: T) {
        if self.see(rank) {
            self.value = Some(value);
        }
    }

    fn is_seen(&self) -> bool {
        self.floor != u8::MAX
    }

    fn take(&mut self) -> Option<T> {
        self.value.take()
    }
}

impl SliceCell {
    /// Adds the value to a column.
    pub(crate) fn push_to(&self, slice: &mut ChunkSlice) {
        match self {
            Self::Missing => slice.push_code(u32::MAX),
            Self::One(text) => {
                slice.be(SliceKind::One);
                let code = slice.label(text.as_bytes());
                slice.push_code(code);
            }
            Self::Many(labels) => {
                slice.be(SliceKind::Many);
                let mut bits = 0;
                for (label, applies) in labels {
                    let bit = slice.flag(label.as_bytes());
                    bits |= if *applies { bit } else { 0 };
                }
                slice.push_bits(bits);
            }
        }
    }
}

/// What one cell had of numbers and slices.
#[derive(Debug)]
pub(crate) struct RowValues {
    pub(crate) numbers: Vec<Option<f64>>,
    slices: Vec<Option<SliceCell>>,
}

impl RowValues {
    /// The value of a slice, if the cell has it.
    pub(crate) fn slice(&self, idx: usize) -> Option<&SliceCell> {
        self.slices[idx].as_ref()
    }
}

/// A sum of numbers: absent, missing (NaN) or there.
type Number = Option<f64>;

/// Finds the wanted values of the rows of one source, and keeps them by column.
pub(crate) struct RowReader<'a> {
    pub(crate) collector: &'a Collector<'a>,
    path: &'a str,
    nodes: Vec<Node>,
    numbers: Vec<Number>,
    /// Texts in place of numbers in this row, with the names of their columns.
    texts: Vec<(usize, String, String)>,
    judge: Ranked<u128>,
    judge_text: Vec<u8>,
    time: Ranked<Time>,
    slices: Vec<Ranked<SliceCell>>,
    conversations: [Ranked<Conversation>; 2],
    prompt: Option<Vec<u8>>,
    seen: Seen,
    chunk: Chunk,
    seq: u64,
    positions: Vec<u32>,
    /// Names of the first row, and of those the ones with numbers.
    names: Vec<String>,
    numeric_names: Vec<String>,
    has_names: bool,
    whole: Whole<'a>,
}

/// What the source has had so far.
#[derive(Debug, Default)]
struct Seen {
    numbers: Vec<bool>,
    /// Whether a kept row had text in place of a number.
    texts: Vec<bool>,
    has_content: bool,
}

impl<'a> RowReader<'a> {
    /// A reader for the source `path`.
    pub(crate) fn new(collector: &'a Collector<'a>, path: &'a str) -> Self {
        let wanted = collector.wanted;
        let n_slices = wanted.selection.slices.len();
        Self {
            collector,
            path,
            nodes: vec![Node {
                name: String::new(),
                uses: Vec::new(),
                is_prefix: true,
                children: HashMap::default(),
            }],
            numbers: vec![None; wanted.n_numbers],
            texts: Vec::new(),
            judge: Ranked::default(),
            judge_text: Vec::new(),
            time: Ranked::default(),
            slices: (0..n_slices).map(|_| Ranked::default()).collect(),
            conversations: [Ranked::default(), Ranked::default()],
            prompt: None,
            seen: Seen {
                numbers: vec![false; wanted.n_numbers],
                texts: vec![false; wanted.n_numbers],
                ..Seen::default()
            },
            chunk: collector.chunk(),
            seq: 0,
            positions: Vec::new(),
            names: Vec::new(),
            numeric_names: Vec::new(),
            has_names: false,
            whole: Whole::new(collector.source_idx()),
        }
    }

    fn wanted(&self) -> &'a Wanted<'a> {
        self.collector.wanted
    }

    /// The node of a top-level name, if something at or below it is wanted.
    pub(crate) fn root(&mut self, name: &str) -> Option<usize> {
        self.child(0, name)
    }

    /// Whether names and numbers are still to be noted.
    pub(crate) fn notes_names(&self) -> bool {
        !self.has_names
    }

    /// Notes a name of the first row, with its value, for messages.
    pub(crate) fn note_name(&mut self, name: &str, value: &str) {
        if self.has_names {
            return;
        }
        if self.names.len() < COLUMNS_SHOWN_MAX {
            self.names.push(cut(name));
        }
        self.note_numbers(name, value.trim());
    }

    fn note_numbers(&mut self, name: &str, value: &str) {
        if self.numeric_names.len() >= COLUMNS_SHOWN_MAX {
            return;
        }
        if value.starts_with('{') {
            let mut members = Vec::new();
            let mut deserializer = serde_json::Deserializer::from_str(value);
            let _ = deserializer.deserialize_map(EachMember(|key: &str, value: &str| {
                members.push((format!("{name}.{key}"), value.to_owned()));
            }));
            // As deep as groups are nested anywhere; an object made to be deep is not followed.
            let is_deep = name.matches('.').count() > 3;
            for (name, value) in members.iter().filter(|_| !is_deep) {
                self.note_numbers(name, value);
            }
        } else if value.parse::<f64>().is_ok() {
            self.numeric_names.push(cut(name));
        }
    }

    /// The node of a dotted name whose parts are groups, if something at or below it is wanted.
    pub(crate) fn path_root(&mut self, name: &str) -> Option<usize> {
        // A node knows its whole name, so that a name of several parts can stand at the top.
        self.child(0, name)
    }

    fn child(&mut self, node: usize, key: &str) -> Option<usize> {
        if let Some(&child) = self.nodes[node].children.get(key) {
            return child;
        }
        let name = if node == 0 {
            key.to_owned()
        } else {
            format!("{}.{key}", self.nodes[node].name)
        };
        let uses = self.wanted().uses(&name).to_vec();
        let is_prefix = self.wanted().is_prefix(&name);
        let child = (!uses.is_empty() || is_prefix).then(|| {
            self.nodes.push(Node {
                name,
                uses,
                is_prefix,
                children: HashMap::default(),
            });
            self.nodes.len() - 1
        });
        let children = &mut self.nodes[node].children;
        if child.is_some() || children.len() < KEYS_MAX {
            children.insert(key.to_owned(), child);
        }
        child
    }

    /// Forgets the values of the row before.
    pub(crate) fn begin_row(&mut self) {
        self.numbers.fill(None);
        self.texts.clear();
        self.judge.value = None;
        self.time.value = None;
        for slice in &mut self.slices {
            slice.value = None;
        }
        for conversation in &mut self.conversations {
            conversation.value = None;
        }
        self.prompt = None;
    }

    /// Takes the text of a cell of a table.
    pub(crate) fn cell(&mut self, node: usize, raw: &[u8]) {
        let text = String::from_utf8_lossy(raw);
        self.text(node, &text);
    }

    /// Takes a text: JSON is walked where something below is wanted; else it is a value.
    fn text(&mut self, node: usize, text: &str) {
        let trimmed = text.trim();
        let is_slice = |wanted: &Use| matches!(wanted, Use::Slice { .. });
        let has_slice = self.nodes[node].uses.iter().any(is_slice);
        let is_json = trimmed.starts_with('{') && (self.nodes[node].is_prefix || has_slice)
            || trimmed.starts_with('[') && has_slice;
        if is_json && serde_json::from_str::<&RawValue>(trimmed).is_ok() {
            self.uses(node, |this, wanted| {
                this.conversation(wanted, text);
            });
            self.compound(node, trimmed);
            return;
        }
        self.uses(node, |this, wanted| {
            this.conversation(wanted, text);
            match wanted {
                Use::Number(number) => {
                    let value = trimmed.parse().unwrap_or(f64::NAN);
                    if !f64::is_finite(value) && !trimmed.is_empty() {
                        this.note_text(node, number, trimmed);
                    }
                    this.number(number, value);
                }
                Use::Slice { slice, rank } => {
                    this.slices[slice].see(rank);
                    if !trimmed.is_empty() {
                        let cell = SliceCell::One(trimmed.to_owned());
                        this.slices[slice].offer(rank, cell);
                    }
                }
                Use::Judge { rank } => this.judge(rank, trimmed),
                Use::Time { rank } => this.time(rank, Time::of_text(trimmed)),
                Use::Conversation { .. } | Use::Prompt => {}
            }
        });
    }

    fn uses(&mut self, node: usize, mut f: impl FnMut(&mut Self, Use)) {
        for idx in 0..self.nodes[node].uses.len() {
            let wanted = self.nodes[node].uses[idx];
            f(self, wanted);
        }
    }

    fn number(&mut self, number: usize, value: f64) {
        self.seen.numbers[number] = true;
        let value = if value.is_finite() { value } else { f64::NAN };
        let sum = &mut self.numbers[number];
        *sum = Some(sum.unwrap_or(0.0) + value);
    }

    /// Notes the first text that stands where a number should be.
    fn note_text(&mut self, node: usize, number: usize, text: &str) {
        if self.seen.texts[number] {
            return;
        }
        let name = self.nodes[node].name.clone();
        self.texts.push((number, name, cut(text)));
    }

    fn judge(&mut self, rank: u8, text: &str) {
        let hash = text_hash(text.as_bytes());
        if self.judge.see(rank) && hash != NO_HASH {
            self.judge_text = text.as_bytes().to_vec();
            self.judge.offer(rank, hash);
        }
    }

    fn time(&mut self, rank: u8, time: Time) {
        self.seen.has_content = true;
        self.time.offer(rank, time);
    }

    fn conversation(&mut self, wanted: Use, text: &str) {
        match wanted {
            Use::Conversation { side, rank } => {
                self.conversations[side].see(rank);
                self.seen.has_content = true;
                // Of the three names only `response` may be a plain answer.
                let may_be_plain = rank == 2;
                let conversation = Conversation::of_text(text, may_be_plain);
                if !conversation.messages.is_empty() {
                    self.conversations[side].offer(rank, conversation);
                }
            }
            Use::Prompt => {
                self.seen.has_content = true;
                self.prompt = Some(text.trim().as_bytes().to_vec());
            }
            _ => {}
        }
    }

    /// Takes a value in JSON, known to be well-formed.
    pub(crate) fn value(&mut self, node: usize, json: &str) {
        let json = json.trim();
        match json.as_bytes().first() {
            Some(b'"') => {
                if let Ok(text) = serde_json::from_str::<Cow<'_, str>>(json) {
                    self.text(node, &text);
                }
            }
            Some(b'{' | b'[') => {
                self.uses(node, |this, wanted| this.conversation(wanted, json));
                self.compound(node, json);
            }
            Some(b'n') | None => self.null(node),
            Some(b't' | b'f') => {
                self.uses(node, |this, wanted| match wanted {
                    // A truth value is no number.
                    Use::Number(number) => {
                        this.note_text(node, number, json);
                        this.number(number, f64::NAN);
                    }
                    Use::Slice { slice, rank } => {
                        this.slices[slice].see(rank);
                        this.slices[slice].offer(rank, SliceCell::One(json.to_owned()));
                    }
                    _ => {}
                });
            }
            Some(_) => self.text(node, json),
        }
    }

    fn null(&mut self, node: usize) {
        self.uses(node, |this, wanted| match wanted {
            Use::Number(number) => this.number(number, f64::NAN),
            Use::Slice { slice, rank } => {
                this.slices[slice].see(rank);
            }
            Use::Conversation { side, rank } => {
                this.conversations[side].see(rank);
                this.seen.has_content = true;
            }
            Use::Time { rank } => this.time(rank, Time::Missing),
            Use::Prompt => this.seen.has_content = true,
            Use::Judge { rank } => {
                this.judge.see(rank);
            }
        });
    }

    /// Takes an object or a list.
    fn compound(&mut self, node: usize, json: &str) {
        let mut slice_cell: Option<Vec<(String, bool)>> = None;
        let has_slice = self.nodes[node]
            .uses
            .iter()
            .any(|wanted| matches!(wanted, Use::Slice { .. }));
        if json.starts_with('{') {
            let mut flags = Vec::new();
            let mut deserializer = serde_json::Deserializer::from_str(json);
            let _ = deserializer.deserialize_map(EachMember(|key: &str, value: &str| {
                if has_slice {
                    let value = value.trim();
                    if matches!(value, "true" | "false" | "null") {
                        flags.push((key.to_owned(), value == "true"));
                    }
                }
                if let Some(child) = self.child(node, key) {
                    self.value(child, value);
                }
            }));
            slice_cell = Some(flags);
        } else if has_slice {
            let mut labels = Vec::new();
            let mut deserializer = serde_json::Deserializer::from_str(json);
            let _ = deserializer.deserialize_seq(EachElement(|value: &str| {
                let text = serde_json::from_str::<Cow<'_, str>>(value);
                labels.extend(text.ok().map(|text| (text.into_owned(), true)));
            }));
            slice_cell = Some(labels);
        }
        self.uses(node, |this, wanted| {
            if let Use::Slice { slice, rank } = wanted {
                this.slices[slice].see(rank);
                let labels = slice_cell.clone().unwrap_or_default();
                this.slices[slice].offer(rank, SliceCell::Many(labels));
            }
        });
    }

    /// Gives the row its fate, and keeps its values if it is kept.
    pub(crate) fn end_row(
        &mut self,
        counter: &mut Counter,
        [a, b, winner]: [Code; 3],
        place: RowPlace,
        is_named: bool,
        id: u128,
    ) {
        self.has_names = true;
        if !Counter::would_keep(a, b, winner) {
            counter.reject(a, b, winner, place);
            return;
        }
        counter.note(a, b, winner, 1);
        let collector = self.collector;
        let wanted = collector.wanted;
        let selection = wanted.selection;
        let winner_of = Winner::ALL[winner.position() as usize % Winner::ALL.len()];
        if collector.rows.is_some() {
            let names = [a, b].map(|code| counter.models()[code.position() as usize].clone());
            let row = self.whole_row(names.into(), Some(winner_of), place);
            row.into_iter().for_each(|row| self.chunk.push_row(row));
        }
        let chunk = &mut self.chunk;
        for (number, column, value) in self.texts.drain(..) {
            if std::mem::replace(&mut self.seen.texts[number], true) {
                continue;
            }
            let place = Place {
                source: self.path.to_owned(),
                row: place.row,
                line: place.line,
                column: Some(column),
                value: Some(value),
            };
            chunk.texts.push((number, place));
        }
        chunk.model_a.push(a.position());
        chunk.model_b.push(b.position());
        chunk.winner.push(winner_of);
        if wanted.dedup.is_some() {
            chunk.places.push(place);
        }
        chunk.is_named.push(is_named);
        if collector.ids {
            chunk.ids.push(id);
        }
        let time = self.time.take().unwrap_or(Time::Missing);
        let conversations = self.conversations.each_mut().map(Ranked::take);
        if wanted.dedup == Some(Dedup::Content) {
            let mut content = Vec::new();
            let models = counter.models();
            add_text(&mut content, models[a.position() as usize].as_bytes());
            add_text(&mut content, models[b.position() as usize].as_bytes());
            content.push(winner.position() as u8);
            let judge = self.judge.value.map_or(&[][..], |_| &self.judge_text);
            add_text(&mut content, judge);
            content.extend_from_slice(&time.seconds().to_bits().to_le_bytes());
            for conversation in conversations.iter().flatten() {
                conversation.add_to_content(&mut content);
            }
            add_text(&mut content, self.prompt.as_deref().unwrap_or_default());
            chunk.contents.push(content_hash(&content));
        }
        if selection.judge {
            chunk
                .judge_hashes
                .push(self.judge.take().unwrap_or(NO_HASH));
        }
        if selection.time {
            chunk.times.push(time, place.row);
        }
        if let Some(number) = wanted.weight {
            chunk.weights.push(self.numbers[number].unwrap_or(f64::NAN));
        }
        let mut styles = None;
        for (idx, (places, request)) in wanted.features.iter().zip(&selection.features).enumerate()
        {
            let numbers = &self.numbers;
            let pair = places
                .sides
                .iter()
                .find_map(|&[a, b]| numbers[a].zip(numbers[b]));
            let difference = places
                .differences
                .iter()
                .find_map(|&number| numbers[number]);
            let mut value = match (pair, difference) {
                (Some((a, b)), _) => {
                    chunk.difference((idx, request), [a, b], chunk.features[idx].len(), place)
                }
                (None, Some(difference)) => difference,
                (None, None) => f64::NAN,
            };
            if value.is_nan()
                && let Some(counted) = places.counted
                && let Some(counter) = selection.conversation_features
                && let [Some(a), Some(b)] = &conversations
            {
                let [a, b] = *styles.get_or_insert_with(|| {
                    [a, b].map(|conversation| {
                        let answers = conversation.answers();
                        (!answers.is_empty()).then(|| counter(&answers))
                    })
                });
                if let (Some(a), Some(b)) = (a, b) {
                    let numbers = [number(&a, counted), number(&b, counted)];
                    let battle = chunk.features[idx].len();
                    value = chunk.difference((idx, request), numbers, battle, place);
                    chunk.n_from_conversations[idx] += u64::from(value.is_finite());
                }
            }
            let value = if value.is_finite() { value } else { f64::NAN };
            chunk.features[idx].push(value);
        }
        for (slice, cell) in chunk.slices.iter_mut().zip(&mut self.slices) {
            cell.take().unwrap_or_default().push_to(slice);
        }
    }

    /// The numbers and slices of what was read since the row began.
    pub(crate) fn take_values(&mut self) -> RowValues {
        RowValues {
            numbers: self.numbers.clone(),
            slices: self.slices.iter_mut().map(Ranked::take).collect(),
        }
    }

    /// Hands over what there is so far. Tells whether it is of use to go on.
    pub(crate) fn flush(&mut self, counter: &mut Counter) -> bool {
        let chunk = std::mem::replace(&mut self.chunk, self.collector.chunk());
        self.collector
            .submit(self.seq, chunk, counter, &mut self.positions);
        self.seq += 1;
        !self.collector.has_failed()
    }

    /// Checks that everything selected was there, and tells where each feature came from.
    pub(crate) fn finish(
        &mut self,
        counter: &mut Counter,
        rows: u64,
    ) -> Result<Vec<FeatureOrigin>, Error> {
        self.flush(counter);
        let wanted = self.wanted();
        let selection = wanted.selection;
        if rows == 0 || !self.has_names {
            return Ok(vec![FeatureOrigin::NoRows; selection.features.len()]);
        }
        let missing = |what, name: &str, looked_for: String, numeric: bool| {
            let found = if numeric {
                &self.numeric_names
            } else {
                &self.names
            };
            Error::MissingSelected {
                path: self.path.to_owned(),
                what,
                name: name.to_owned(),
                detail: found_instead(&looked_for, numeric, found),
            }
        };
        let seen = &self.seen;
        let mut origins = Vec::new();
        for (places, request) in wanted.features.iter().zip(&selection.features) {
            let is_counted = places.counted.is_some()
                && selection.conversation_features.is_some()
                && self.conversations.iter().all(Ranked::is_seen);
            let origin = if places
                .sides
                .iter()
                .any(|&[a, b]| seen.numbers[a] && seen.numbers[b])
            {
                FeatureOrigin::Sides
            } else if places
                .differences
                .iter()
                .any(|&number| seen.numbers[number])
            {
                FeatureOrigin::Difference
            } else if is_counted {
                FeatureOrigin::Conversations
            } else {
                let name = &request.name;
                return Err(missing("feature", name, looked_for(name), true));
            };
            origins.push(origin);
        }
        let mut slices = selection.slices.iter().zip(&self.slices);
        if let Some((name, _)) = slices.find(|(_, slice)| !slice.is_seen())
            && !selection.optional_slices
        {
            return Err(missing("slice", name, format!("`{name}`"), false));
        }
        if let (Some(name), Some(number)) = (&selection.weight, wanted.weight)
            && !seen.numbers[number]
        {
            return Err(missing("weight", name, format!("`{name}`"), true));
        }
        let columns = self.selection_of_rows().map(|selection| &selection.columns);
        let mut columns = columns.into_iter().flatten().zip(&self.whole.has_columns);
        if let Some((name, _)) = columns.find(|(_, has_column)| !**has_column) {
            return Err(missing("column", name, format!("`{name}`"), false));
        }
        if wanted.dedup == Some(Dedup::Content) && !seen.has_content {
            return Err(Error::NoContentToCompare {
                path: self.path.to_owned(),
            });
        }
        Ok(origins)
    }
}

/// Calls a function with each key and value of an object.
struct EachMember<F>(F);

impl<'de, F: FnMut(&str, &str)> Visitor<'de> for EachMember<F> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let value: &RawValue = map.next_value()?;
            (self.0)(&key, value.get());
        }
        Ok(())
    }
}

/// Calls a function with each element of a list.
struct EachElement<F>(F);

impl<'de, F: FnMut(&str)> Visitor<'de> for EachElement<F> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element::<&RawValue>()? {
            (self.0)(value.get());
        }
        Ok(())
    }
}
