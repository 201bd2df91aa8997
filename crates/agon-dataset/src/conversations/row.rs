//! A whole row from its cells, by the names of the columns that they stand in.

use std::{borrow::Cow, fmt, path::Path};

use agon_domain::{Sides, Winner};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, value::RawValue};

use super::{
    Cell, ConversationRow, ConversationSelection, RowConversation, RowProblem, RowRole, RowSink,
    cell::REPAIRED, image::ImageReading, message::MessageReader,
};
use crate::{
    Place,
    battles::time::{Time, Unit},
    fate::cut,
};

/// What is said of a text that cannot be one; it counts as missing.
pub(crate) const NOT_UTF8: &str = "text that is not UTF-8";

/// Values inside of one cell of JSON.
const VALUES_MAX: usize = 4_000_000;

const IDS: [&str; 5] = [
    "question_id",
    "battle_id",
    "id",
    "conversation_id",
    "conversation_pair_id",
];
const JUDGES: [&str; 4] = ["judge", "judge_hash", "user_id", "visitor_id"];
const VISITS: [&str; 3] = ["evaluation_session_id", "session_hash", "session_id"];
const TIMES: [&str; 4] = ["tstamp", "timestamp", "time", "created_at"];
const LANGUAGES: [&str; 2] = ["language", "languages"];
const CATEGORIES: [&str; 2] = ["category", "categories"];
const ANONYMOUS: [&str; 1] = ["anony"];
const METADATA: [&str; 1] = ["conv_metadata"];
const SELECTORS: [&str; 1] = ["models"];
const MODERATION: [&str; 3] = ["openai_moderation", "has_csam_image", "flagged"];
const IMAGES: [&str; 2] = ["images", "image"];
const PROMPTS: [&str; 2] = ["prompt", "opening_msg"];
/// Both sides of what may hold the conversations, the preferred one first.
const SIDES: [[&str; 2]; 3] = [
    ["conversation_a", "conversation_b"],
    ["messages_a", "messages_b"],
    ["response_a", "response_b"],
];
/// The model of a chat.
const MODELS: [&str; 1] = ["model"];
/// Where the only conversation of a chat is, the preferred one first.
const CHATS: [&str; 3] = ["conversation", "messages", "turns"];

/// Whether a row may need the column of this name.
pub(crate) fn is_wanted(name: &str, selection: &ConversationSelection) -> bool {
    let normal = normal(name);
    let lists: [&[&str]; 14] = [
        &MODELS,
        &IDS,
        &JUDGES,
        &VISITS,
        &TIMES,
        &LANGUAGES,
        &CATEGORIES,
        &ANONYMOUS,
        &METADATA,
        &SELECTORS,
        &MODERATION,
        &IMAGES,
        &PROMPTS,
        &CHATS,
    ];
    lists.iter().any(|names| names.contains(&normal.as_ref()))
        || SIDES.iter().flatten().any(|&side| side == normal)
        || selection.columns.iter().any(|column| {
            column
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
}

/// A name without what makes no difference: case, white space around it, blanks and hyphens in place of underscores.
fn normal(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.trim().to_lowercase().replace([' ', '-'], "_"))
}

/// The cells of one row that a row may need, with the names of their columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowCells {
    cells: Vec<(String, Cell)>,
    /// What of them could not be read.
    problems: Vec<RowProblem>,
}

impl RowCells {
    /// Adds a cell. Of several in columns of one name the first counts.
    pub(crate) fn push(&mut self, name: &str, cell: Cell) {
        if self.cells.iter().any(|(known, _)| known == name) {
            self.push_problem(
                name,
                "it is there more than once: the first counts".to_owned(),
            );
        } else {
            self.cells.push((name.to_owned(), cell));
        }
    }

    /// Adds a field of a table in text, in which null is nothing at all.
    pub(crate) fn push_field(&mut self, name: &str, field: &[u8]) {
        match std::str::from_utf8(field) {
            Ok("") => self.push(name, Cell::Null),
            Ok(text) => self.push(name, Cell::Text(text.to_owned())),
            Err(_) => self.push_problem(name, NOT_UTF8.to_owned()),
        }
    }

    /// Notes what of a column could not be read.
    pub(crate) fn push_problem(&mut self, column: &str, detail: String) {
        self.problems.push(problem(column, detail));
    }

    /// The needed cells of a record of JSON.
    ///
    /// # Errors
    ///
    /// What keeps the record from being one.
    pub(crate) fn of_record(
        bytes: &[u8],
        selection: &ConversationSelection,
    ) -> Result<Self, serde_json::Error> {
        let mut cells = Self::default();
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        RecordSeed(&mut cells, selection).deserialize(&mut deserializer)?;
        Ok(cells)
    }

    /// Adds a value that is well-formed, which does not make it one that can be held: it may be nested too deep, or have half of a character in it.
    fn push_json(&mut self, name: &str, json: &str) {
        // A value takes up to twenty times the memory of its text.
        let n_values = || {
            let ends = memchr::memchr3_iter(b',', b'[', b'{', json.as_bytes());
            ends.count()
        };
        if json.len() > VALUES_MAX && n_values() > VALUES_MAX {
            self.push(name, Cell::Null);
            self.push_problem(name, format!("more than {VALUES_MAX} values"));
            return;
        }
        match Cell::parse(json) {
            Ok((cell, is_repaired)) => {
                self.push(name, cell);
                if is_repaired {
                    self.push_problem(name, REPAIRED.to_owned());
                }
            }
            Err(error) => {
                let text = error.to_string();
                let text = text.split(" at line ").next().unwrap_or_default();
                self.push_problem(name, text.to_owned());
                self.push(name, Cell::Null);
            }
        }
    }

    /// The cell of the first of these columns that is there.
    fn first(&self, names: &[&str]) -> Option<(&str, &Cell)> {
        names.iter().find_map(|&wanted| {
            let mut cells = self.cells.iter();
            cells.find_map(|(name, cell)| (normal(name) == wanted).then_some((name.as_str(), cell)))
        })
    }

    /// The first of these columns that is there, as a name or a number.
    fn label(&self, names: &[&str]) -> Option<String> {
        let (_, cell) = self.first(names)?;
        Some(cell.as_label()?.into_owned())
    }

    /// The conversation of a chat is there, whatever it is.
    pub(crate) fn has_chat(&self) -> bool {
        self.first(&CHATS).is_some_and(|(_, cell)| !cell.is_null())
    }

    /// The model of a chat: `None` where the set has none, and a blank where only this row has none.
    pub(crate) fn chat_model(&self) -> Option<Cow<'_, str>> {
        let (_, cell) = self.first(&MODELS)?;
        Some(cell.as_label().unwrap_or_default())
    }

    /// The value at a dotted path, in which names may have dots of their own.
    fn at(&self, path: &str) -> Option<Value> {
        self.cells.iter().find_map(|(name, cell)| {
            let rest = path.strip_prefix(name.as_str())?;
            if rest.is_empty() {
                return Some(cell.unpacked().to_json());
            }
            below(&cell.unpacked(), rest.strip_prefix('.')?)
        })
    }
}

fn below(cell: &Cell, path: &str) -> Option<Value> {
    let Cell::Group(members) = cell else {
        return None;
    };
    members.iter().find_map(|(name, cell)| {
        let rest = path.strip_prefix(name.as_str())?;
        if rest.is_empty() {
            return Some(cell.to_json());
        }
        below(cell, rest.strip_prefix('.')?)
    })
}

struct RecordSeed<'a>(&'a mut RowCells, &'a ConversationSelection);

impl<'de> DeserializeSeed<'de> for RecordSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RecordSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if is_wanted(&name, self.1) {
                let raw: &'de RawValue = map.next_value()?;
                self.0.push_json(&name, raw.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// What is known of a row beside its cells.
pub(crate) struct RowHead<'a> {
    pub(crate) place: Place,
    pub(crate) source: usize,
    pub(crate) models: Vec<String>,
    pub(crate) winner: Option<Winner>,
    /// The folder of the source, when it is a file.
    pub(crate) folder: Option<&'a Path>,
}

/// Puts a row together.
pub(crate) fn row(head: RowHead<'_>, cells: &RowCells, sink: &dyn RowSink) -> ConversationRow {
    let selection = sink.selection();
    let mut problems = cells.problems.clone();
    let mut reader = MessageReader {
        reading: ImageReading {
            bytes: selection.images,
            folder: head.folder,
        },
        images: Vec::new(),
        faults: Vec::new(),
    };
    let mut shown = Vec::new();
    for name in IMAGES {
        if let Some((name, cell)) = cells.first(&[name]) {
            shown.extend(reader.add_images(cell));
            note(&mut problems, name, &mut reader);
        }
    }
    let mut conversations = if head.winner.is_some() {
        sides(cells, &mut reader, &mut problems)
    } else {
        chat(cells, &mut reader, &mut problems)
    };
    show(&mut conversations, &shown);
    let time = time(cells, sink, (head.source, head.place.row), &mut problems);
    let metadata = cells.first(&METADATA).map(|(_, cell)| cell.unpacked());
    ConversationRow {
        place: head.place,
        source: head.source,
        id: cells.label(&IDS),
        models: head.models,
        winner: head.winner,
        judge: cells.label(&JUDGES),
        visit: cells.label(&VISITS),
        time,
        language: language(cells),
        categories: categories(cells),
        is_anonymous: cells.first(&ANONYMOUS).and_then(|(_, cell)| cell.as_bool()),
        is_flagged: is_flagged(cells),
        selectors: selectors(cells),
        conversations,
        images: reader.images,
        conv_metadata: metadata
            .filter(|metadata| !metadata.is_null())
            .map(|metadata| metadata.to_json()),
        columns: selection
            .columns
            .iter()
            .map(|path| cells.at(path))
            .collect(),
        problems,
    }
}

/// When the vote was cast, in seconds since 1970 UTC. A number in another unit than the first of its source is none.
fn time(
    cells: &RowCells,
    sink: &dyn RowSink,
    (source, row): (usize, u64),
    problems: &mut Vec<RowProblem>,
) -> Option<f64> {
    let (name, cell) = cells.first(&TIMES)?;
    let time = cell.as_time();
    match time {
        Time::Missing => {
            if cell.as_label().is_some() {
                let detail = format!("{} in place of a point in time", cell.kind());
                problems.push(problem(name, detail));
            }
            return None;
        }
        Time::Exact(_) => {}
        Time::Bare(value) => {
            let unit = Unit::of(value);
            let (first, first_row) = sink.first_unit(source, unit, row);
            if first != unit {
                let detail = format!(
                    "a time in {}, after {} in row {first_row}: one unit is expected",
                    unit.as_str(),
                    first.as_str()
                );
                problems.push(problem(name, detail));
                return None;
            }
        }
    }
    Some(time.seconds())
}

fn problem(column: &str, detail: String) -> RowProblem {
    RowProblem {
        column: cut(column),
        detail,
    }
}

fn note(problems: &mut Vec<RowProblem>, column: &str, reader: &mut MessageReader<'_>) {
    for detail in reader.faults.drain(..) {
        let problem = problem(column, detail);
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}

/// The conversations of a battle, in the first pair of columns that is there.
fn sides(
    cells: &RowCells,
    reader: &mut MessageReader<'_>,
    problems: &mut Vec<RowProblem>,
) -> Vec<RowConversation> {
    for [name_a, name_b] in SIDES {
        let found = [name_a, name_b].map(|name| cells.first(&[name]));
        let [Some(a), Some(b)] = found else {
            if let Some((name, _)) = found.into_iter().flatten().next() {
                let detail = "the other side has no such column".to_owned();
                problems.push(problem(name, detail));
            }
            continue;
        };
        let is_response = name_a == "response_a";
        let prompt = cells.first(&PROMPTS).filter(|_| is_response);
        return [a, b]
            .map(|(name, cell)| {
                let answers = reader.conversation(cell, &RowRole::Assistant, is_response);
                note(problems, name, reader);
                let Some((prompt_name, prompt)) = prompt else {
                    return answers;
                };
                let prompts = reader.conversation(prompt, &RowRole::User, true);
                note(problems, prompt_name, reader);
                turns(prompts, answers)
            })
            .into();
    }
    Vec::new()
}

/// Prompts and answers in turn.
fn turns(prompts: RowConversation, answers: RowConversation) -> RowConversation {
    let mut messages = Vec::new();
    let mut answers = answers.messages.into_iter();
    for prompt in prompts.messages {
        messages.push(prompt);
        messages.extend(answers.next());
    }
    messages.extend(answers);
    RowConversation { messages }
}

/// The only conversation of a row.
fn chat(
    cells: &RowCells,
    reader: &mut MessageReader<'_>,
    problems: &mut Vec<RowProblem>,
) -> Vec<RowConversation> {
    let Some((name, cell)) = cells.first(&CHATS) else {
        return Vec::new();
    };
    let conversation = reader.conversation(cell, &RowRole::User, false);
    note(problems, name, reader);
    vec![conversation]
}

/// Gives the pictures of the row to the first message of the voter on each side, unless the messages say themselves whose they are.
fn show(conversations: &mut [RowConversation], shown: &[usize]) {
    let is_told = conversations
        .iter()
        .flat_map(|conversation| &conversation.messages)
        .any(|message| message.images.iter().any(|idx| shown.contains(idx)));
    if is_told || shown.is_empty() {
        return;
    }
    for conversation in conversations {
        let mut messages = conversation.messages.iter_mut();
        if let Some(message) = messages.find(|message| message.role == RowRole::User) {
            message.images.splice(0..0, shown.iter().copied());
        }
    }
}

fn language(cells: &RowCells) -> Option<String> {
    let (_, cell) = cells.first(&LANGUAGES)?;
    match &*cell.unpacked() {
        Cell::List(labels) => Some(labels.first()?.as_label()?.into_owned()),
        cell => Some(cell.as_label()?.into_owned()),
    }
}

/// The categories of a row, and whether it is in each: those of a text or a list of texts, and the flags of a group.
fn categories(cells: &RowCells) -> Option<Vec<(String, bool)>> {
    let (_, cell) = cells.first(&CATEGORIES)?;
    let on_one_line = |name: &str| name.split_whitespace().collect::<Vec<_>>().join(" ");
    let named: Vec<(String, bool)> = match &*cell.unpacked() {
        Cell::List(labels) => labels
            .iter()
            .filter_map(Cell::as_text)
            .map(|name| (on_one_line(name), true))
            .collect(),
        Cell::Group(flags) => flags
            .iter()
            .filter(|(_, flag)| matches!(flag, Cell::Bool(_) | Cell::Null))
            .map(|(name, flag)| (on_one_line(name), *flag == Cell::Bool(true)))
            .collect(),
        cell => vec![(on_one_line(&cell.as_label()?), true)],
    };
    let named = named.into_iter().filter(|(name, _)| !name.is_empty());
    Some(named.collect())
}

/// Whether anything of moderation says that the row is flagged.
fn is_flagged(cells: &RowCells) -> Option<bool> {
    MODERATION
        .iter()
        .filter_map(|name| flagged_in(&cells.first(&[name])?.1.unpacked()))
        .reduce(|a, b| a || b)
}

fn flagged_in(cell: &Cell) -> Option<bool> {
    match cell {
        Cell::Group(_) => cell.get("flagged")?.as_bool(),
        // One verdict for each turn.
        Cell::List(cells) => cells.iter().filter_map(flagged_in).reduce(|a, b| a || b),
        cell => cell.as_bool(),
    }
}

fn selectors(cells: &RowCells) -> Option<Sides<Option<String>>> {
    let (_, cell) = cells.first(&SELECTORS)?;
    let Cell::List(names) = &*cell.unpacked() else {
        return None;
    };
    let [a, b] = names.as_slice() else {
        return None;
    };
    let name = |cell: &Cell| cell.as_text().map(str::to_owned);
    Some(Sides {
        a: name(a),
        b: name(b),
    })
}
