//! JSON: an array of objects, or one object on each line.
//!
//! Records are cut out of the stream one at a time, so that a broken one costs only itself and memory is bounded by the largest; what is not needed of a record is skipped without being built.

mod fault;
mod record;
mod scan;

use serde::de::{DeserializeSeed as _, IgnoredAny};

use self::{
    fault::describe,
    record::{Cell, Cells, Record, RecordSeed},
    scan::Scan,
};
use crate::{
    Error, Format,
    battles::{
        intern::{NO_HASH, text_hash},
        row::RowReader,
    },
    columns::{Columns, N_SPELLINGS_MAX, Role, missing},
    conversations::RowCells,
    count::{Code, Counter, RowPlace},
    decode::{
        BYTE_ORDER_MARK, DecodeOptions, Decoded, OnProgress, ROWS_BETWEEN_CHECKS, check, id_hash,
        is_false, shown_columns, window::Window,
    },
    input::without_byte_order_mark,
    layout::{
        self, Nested, RecordLayout,
        winner::{self, Flag},
    },
};

/// What is noted while the records go by.
struct Rows<'a> {
    path: &'a str,
    options: DecodeOptions<'a>,
    counter: Counter,
    rows: u64,
    has_models: bool,
    has_winner: bool,
    oddities: Vec<&'static str>,
    /// What the records are, by the first that can be read.
    layout: RecordLayout,
    /// The published set that they are of.
    published: Option<Format>,
    /// The keys of the first record.
    keys: Vec<String>,
    has_keys: bool,
    /// Whether a record that cannot be read mentions a winner.
    has_broken_vote: bool,
    /// What takes the rows, when they are not only counted.
    reader: Option<RowReader<'a>>,
}

impl Rows<'_> {
    /// Counts the record `bytes` that begins on line `line`. Tells whether to go on.
    fn add(&mut self, bytes: &[u8], line: u64) -> bool {
        self.rows += 1;
        let place = RowPlace {
            row: self.rows,
            line: Some(line),
        };
        if let Err(error) = std::str::from_utf8(bytes) {
            let detail = format!(
                "not UTF-8 at byte {} of the record",
                error.valid_up_to() + 1
            );
            self.counter.reject_unreadable(place, &detail);
            return self.go_on();
        }
        if !self.has_keys {
            (self.layout, self.published) = layout::of_record(bytes);
            if self.layout != RecordLayout::Flat {
                self.keys = layout::keys(bytes);
            } else if self.reader.as_ref().is_some_and(RowReader::takes_chats) {
                let keys = layout::keys(bytes);
                let chats = layout::chats(keys.iter().map(String::as_str));
                if chats.is_some() {
                    self.layout = RecordLayout::Chat;
                    self.published = chats;
                    self.keys = keys;
                }
            }
            let reason = layout::without_winner(self.published);
            self.counter.set_without_winner(reason);
        }
        let Some(nested) = self.layout.flatten(bytes) else {
            return if self.layout == RecordLayout::Chat {
                self.add_chat(bytes, place)
            } else {
                self.add_flat(bytes, place)
            };
        };
        // The records need not have the keys of a battle.
        self.has_keys = true;
        self.has_models = true;
        self.has_winner = true;
        match nested {
            Nested::Vote(battle) => return self.add_flat(battle.as_bytes(), place),
            Nested::Other { reason, value } => self.counter.reject_whole(place, reason, &value),
            Nested::Unreadable(detail) => self.counter.reject_unreadable(place, &detail),
        }
        self.go_on()
    }

    /// Hands over the rows from time to time, and tells whether to go on.
    fn go_on(&mut self) -> bool {
        if let Some(reader) = &mut self.reader
            && (self.rows.is_multiple_of(ROWS_BETWEEN_CHECKS) || reader.is_full())
            && !reader.flush(&mut self.counter)
        {
            return false;
        }
        !self.options.strict || self.counter.n_faults() == 0
    }

    /// Keeps a conversation without a vote.
    fn add_chat(&mut self, bytes: &[u8], place: RowPlace) -> bool {
        self.has_keys = true;
        self.has_models = true;
        self.has_winner = true;
        if let Some(reader) = &mut self.reader
            && let Some(selection) = reader.selection_of_rows()
        {
            match RowCells::of_record(bytes, selection) {
                Ok(cells) => {
                    reader.begin_row();
                    reader.add_chat(&mut self.counter, cells, place);
                }
                Err(error) => {
                    let detail = describe(bytes, &error);
                    self.counter.reject_unreadable(place, &detail);
                }
            }
        }
        self.go_on()
    }

    /// Counts a record with the columns of a battle.
    fn add_flat(&mut self, bytes: &[u8], place: RowPlace) -> bool {
        let mut record = Record {
            keys: (!self.has_keys).then_some(&mut self.keys),
            reader: self.reader.as_mut(),
            ..Record::default()
        };
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let parsed = RecordSeed(&mut record)
            .deserialize(&mut deserializer)
            .and_then(|()| deserializer.end());
        if let Err(error) = parsed {
            self.has_broken_vote |= !self.has_keys
                && memchr::memmem::find_iter(bytes, b"\"winner\"")
                    .next()
                    .is_some();
            if !self.has_keys {
                self.keys.clear();
            }
            // What is wrong does not depend on what was looked for.
            let error = serde_json::from_slice::<IgnoredAny>(bytes)
                .err()
                .unwrap_or(error);
            let detail = describe(bytes, &error);
            self.counter.reject_unreadable(place, &detail);
            return !self.options.strict;
        }
        let Record { cells, values, .. } = record;
        if !self.has_keys {
            self.has_keys = true;
            let keys = self.keys.iter().map(String::as_str);
            if let Ok(columns) = Columns::find(self.path, keys) {
                let winner = self.keys[*columns.winner.first()].clone();
                self.counter
                    .set_columns(["model_a".to_owned(), "model_b".to_owned(), winner]);
            }
        }
        let cells = &cells;
        let rank = (0..N_SPELLINGS_MAX)
            .find(|&rank| {
                !matches!(cells[Role::ModelA as usize][rank], Cell::Absent)
                    || !matches!(cells[Role::ModelB as usize][rank], Cell::Absent)
            })
            .unwrap_or(0);
        let (cell_a, cell_b) = (
            &cells[Role::ModelA as usize][rank],
            &cells[Role::ModelB as usize][rank],
        );
        self.has_models |= !matches!(cell_a, Cell::Absent) && !matches!(cell_b, Cell::Absent);
        let a = self.model(cell_a);
        let b = self.model(cell_b);
        let winner = self.winner(cells, [a, b]);
        let is_named = match &cells[Role::Anonymous as usize][0] {
            Cell::Bool(value) => !value,
            Cell::Text(text) => is_false(text.as_bytes()),
            Cell::Number(text) => is_false(text.as_bytes()),
            _ => false,
        };
        if let Some(reader) = &mut self.reader {
            reader.begin_row();
            for (node, json) in values {
                reader.value(node, json);
            }
            let id = cells[Role::Id as usize].iter().find_map(|cell| match cell {
                Cell::Text(text) => Some(text_hash(text.as_bytes())),
                Cell::Number(text) => Some(text_hash(text.as_bytes())),
                _ => None,
            });
            let id = id.unwrap_or(NO_HASH);
            if let Some(selection) = reader.selection_of_rows()
                && Counter::would_keep(a, b, winner)
            {
                // What has been read as a record once is one.
                reader.set_cells(RowCells::of_record(bytes, selection).unwrap_or_default());
            }
            reader.end_row(&mut self.counter, [a, b, winner], place, is_named, id);
        } else {
            self.counter.row(a, b, winner, || place);
        }
        if self.reader.is_none() && Counter::would_keep(a, b, winner) {
            self.counter.add_named(u64::from(is_named));
            if self.options.ids {
                let id = cells[Role::Id as usize].iter().find_map(|cell| match cell {
                    Cell::Text(text) => Some(id_hash(text.as_bytes())),
                    Cell::Number(text) => Some(id_hash(text.as_bytes())),
                    _ => None,
                });
                if let Some(hash) = id {
                    self.counter.add_id(hash);
                }
            }
        }
        self.go_on()
    }

    /// The winner, in the first way of saying it that the record has.
    fn winner(&mut self, cells: &Cells<'_>, models: [Code; 2]) -> Code {
        let of = |role: Role| {
            let spellings = &cells[role as usize];
            spellings.iter().find(|cell| !matches!(cell, Cell::Absent))
        };
        if let Some(cell) = of(Role::Winner) {
            self.has_winner = true;
            return match cell {
                Cell::Absent | Cell::Null => Code::MISSING,
                Cell::Text(text) => self.counter.winner(text.as_bytes()),
                Cell::Number(text) => self.counter.winner(text.as_bytes()),
                Cell::Bool(value) => self.counter.winner(value.to_string().as_bytes()),
                Cell::Other(what) => self.counter.malformed(what),
            };
        }
        let flag = |role: Role| of(role).map_or(Flag::Missing, Cell::flag);
        let won = [Role::WonA, Role::WonB, Role::Tied];
        if won.iter().any(|&role| of(role).is_some()) {
            self.has_winner |= won.iter().all(|&role| of(role).is_some());
            return winner::one_hot(&mut self.counter, won.map(flag));
        }
        if let Some(cell) = of(Role::Chosen) {
            self.has_winner = true;
            let chosen = self.model(cell);
            return winner::named(&mut self.counter, chosen, flag(Role::Equal), models);
        }
        if let Some(cell) = of(Role::Score) {
            self.has_winner = true;
            return match cell {
                Cell::Absent | Cell::Null => Code::MISSING,
                Cell::Text(text) => winner::score(&mut self.counter, text.as_bytes()),
                Cell::Number(text) => winner::score(&mut self.counter, text.as_bytes()),
                Cell::Bool(value) => self.counter.malformed(&value.to_string()),
                Cell::Other(what) => {
                    let text = what.strip_suffix(": expected text").unwrap_or(what);
                    winner::score(&mut self.counter, text.as_bytes())
                }
            };
        }
        Code::MISSING
    }

    fn model(&mut self, cell: &Cell<'_>) -> Code {
        match cell {
            Cell::Absent | Cell::Null => Code::MISSING,
            Cell::Text(text) => self.counter.model(text.as_bytes()),
            Cell::Number(text) => self.counter.model(text.as_bytes()),
            Cell::Bool(value) => self.counter.malformed(&format!("{value}: expected text")),
            Cell::Other(what) => self.counter.malformed(what),
        }
    }

    fn finish(mut self, format: Format) -> Result<Decoded, Error> {
        if self.rows > 0 && !(self.has_models && self.has_winner) {
            if !self.has_keys {
                let detail = self
                    .counter
                    .first_rejection()
                    .map_or_else(String::new, |error| error.to_string());
                let path = self.path.to_owned();
                // A broken table of votes must not be taken for a file that merely lies beside one.
                return Err(if self.has_broken_vote {
                    Error::Malformed {
                        path,
                        format: "JSON",
                        detail,
                    }
                } else {
                    Error::NoJsonObject { path, detail }
                });
            }
            layout::refuse_conversations(self.path, self.keys.iter().map(String::as_str))?;
            return Err(missing(
                self.path,
                self.has_models,
                self.has_winner,
                self.keys.iter().map(String::as_str),
            ));
        }
        let origins = match &mut self.reader {
            Some(reader) => reader.finish(&mut self.counter, self.rows)?,
            None => Vec::new(),
        };
        check(&self.counter, self.options)?;
        Ok(Decoded {
            format: self.published.unwrap_or(format),
            rows: self.rows,
            columns: shown_columns(self.keys.iter().map(String::as_str)),
            oddities: self.oddities,
            rejections: self.counter.take_rejections(),
            counters: vec![self.counter],
            origins,
        })
    }
}

fn begin<'a>(
    path: &'a str,
    window: &mut Window<'_>,
    options: DecodeOptions<'a>,
) -> Result<Rows<'a>, Error> {
    window.fill().map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let mark = window.bytes().len() - without_byte_order_mark(window.bytes()).len();
    window.consume(mark);
    let oddities = (mark > 0).then_some(BYTE_ORDER_MARK).into_iter().collect();
    let mut counter = Counter::new(path);
    counter.set_aliases(options.aliases);
    let mut reader = options
        .collector
        .map(|collector| RowReader::new(collector, path));
    if let Some(reader) = &mut reader {
        reader.set_folder(options.folder);
    }
    if options
        .collector
        .is_some_and(|collector| collector.rejects.is_some())
    {
        counter.keep_rejected_rows();
    }
    Ok(Rows {
        path,
        options,
        counter,
        rows: 0,
        has_models: false,
        has_winner: false,
        oddities,
        layout: RecordLayout::Flat,
        published: None,
        keys: Vec::new(),
        has_keys: false,
        has_broken_vote: false,
        reader,
    })
}

fn fill(rows: &Rows<'_>, window: &mut Window<'_>) -> Result<(), Error> {
    if window.bytes().len() > rows.options.record_bytes_max {
        return Err(Error::RecordTooLarge {
            place: format!("row {} of `{}`", rows.rows + 1, rows.path),
            bytes_max: rows.options.record_bytes_max,
        });
    }
    window.fill().map_err(|source| Error::Read {
        path: rows.path.to_owned(),
        source,
    })
}

/// Reads one object on each line.
pub(crate) fn read_lines(
    path: &str,
    window: &mut Window<'_>,
    options: DecodeOptions<'_>,
    on_progress: &mut OnProgress<'_>,
) -> Result<Decoded, Error> {
    let mut rows = begin(path, window, options)?;
    let mut line = 1_u64;
    // Bytes of the window that are known to hold no line break.
    let mut n_searched = 0;
    loop {
        let bytes = window.bytes();
        let found = memchr::memchr(b'\n', &bytes[n_searched..]).map(|idx| n_searched + idx);
        if found.is_none() && !window.is_at_end() {
            n_searched = bytes.len();
            fill(&rows, window)?;
            continue;
        }
        n_searched = 0;
        let record = &bytes[..found.unwrap_or(bytes.len())];
        let is_blank = record.iter().all(u8::is_ascii_whitespace);
        if !is_blank && !rows.add(record, line) {
            break;
        }
        let Some(idx) = found else { break };
        window.consume(idx + 1);
        line += 1;
        if rows.rows.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            rows.counter.check()?;
            on_progress(window.bytes_consumed(), rows.rows);
        }
    }
    on_progress(window.bytes_consumed(), rows.rows);
    rows.finish(Format::BattlesJsonLines)
}

/// Reads one array of objects.
pub(crate) fn read_array(
    path: &str,
    window: &mut Window<'_>,
    options: DecodeOptions<'_>,
    on_progress: &mut OnProgress<'_>,
) -> Result<Decoded, Error> {
    let mut rows = begin(path, window, options)?;
    let mut line = 1_u64;
    let malformed = |line: u64, detail: &str| Error::Malformed {
        path: path.to_owned(),
        format: "JSON",
        detail: format!("{detail} on line {line}"),
    };
    skip_blank(&rows, window, &mut line)?;
    // The caller has seen the bracket.
    window.consume(1);
    skip_blank(&rows, window, &mut line)?;
    let mut is_first = true;
    loop {
        match window.bytes().first() {
            None => return Err(malformed(line, "the array is not closed: the file ends")),
            Some(b']') => {
                window.consume(1);
                break;
            }
            Some(b',') if !is_first => {
                window.consume(1);
                skip_blank(&rows, window, &mut line)?;
            }
            Some(_) if !is_first => {
                return Err(malformed(line, "no comma between two elements"));
            }
            Some(_) => {}
        }
        is_first = false;
        let mut scan = Scan::default();
        let length = loop {
            if let Some(length) = scan.end_of_element(window.bytes(), window.is_at_end()) {
                break length;
            }
            if window.is_at_end() {
                return Err(malformed(
                    line,
                    "the file ends inside the element that begins",
                ));
            }
            fill(&rows, window)?;
        };
        if length == 0 {
            return Err(malformed(line, "an element is missing"));
        }
        let element = &window.bytes()[..length];
        let go_on = rows.add(element, line);
        line += memchr::memchr_iter(b'\n', element).count() as u64;
        window.consume(length);
        if !go_on {
            return rows.finish(Format::BattlesJson);
        }
        skip_blank(&rows, window, &mut line)?;
        if rows.rows.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            rows.counter.check()?;
            on_progress(window.bytes_consumed(), rows.rows);
        }
    }
    skip_blank(&rows, window, &mut line)?;
    if !window.bytes().is_empty() {
        return Err(malformed(line, "something stands behind the array"));
    }
    on_progress(window.bytes_consumed(), rows.rows);
    rows.finish(Format::BattlesJson)
}

fn skip_blank(rows: &Rows<'_>, window: &mut Window<'_>, line: &mut u64) -> Result<(), Error> {
    loop {
        let bytes = window.bytes();
        let n_blank = bytes
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())
            .unwrap_or(bytes.len());
        *line += memchr::memchr_iter(b'\n', &bytes[..n_blank]).count() as u64;
        let is_done = n_blank < bytes.len() || window.is_at_end();
        window.consume(n_blank);
        if is_done {
            return Ok(());
        }
        fill(rows, window)?;
    }
}
