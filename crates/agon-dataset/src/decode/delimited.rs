//! Tables in text: fields separated by commas, semicolons, tabs or bars, in quotes where needed (RFC 4180).
//!
//! The separator is the first of the four with which the header has the needed columns.
//! A byte order mark, `\r\n`, blank lines, and line breaks and doubled quotes inside quotes are taken as they should be.
//! A record without a quote, which is nearly every one, is cut at its separators in place.

use crate::{
    Error, Format,
    battles::{
        intern::{NO_HASH, text_hash},
        row::RowReader,
    },
    columns::{Columns, WinnerRule},
    conversations::{RowCells, RowSink, is_wanted},
    count::{Counter, RowPlace},
    decode::{
        BYTE_ORDER_MARK, DecodeOptions, Decoded, OnProgress, ROWS_BETWEEN_CHECKS, check, id_hash,
        is_false, shown_columns, window::Window,
    },
    input::without_byte_order_mark,
    layout::{
        self,
        winner::{self, Flag},
    },
};

mod chats;
mod matrix;

use chats::Chats;
use matrix::{count_matrix, read_matrix};

const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The fields of one record: field `i` ends before `ends[i]`, and one byte further the next begins.
#[derive(Debug, Default)]
struct Fields {
    /// The fields with their quotes taken away, when there were any.
    unquoted: Vec<u8>,
    ends: Vec<usize>,
    /// Whether something stands between a closing quote and the next separator.
    has_stray_text: bool,
    /// Whether a quote is open at the end of the file.
    is_unclosed: bool,
}

impl Fields {
    #[inline]
    fn get<'a>(&self, bytes: &'a [u8], idx: usize) -> &'a [u8] {
        let start = if idx == 0 { 0 } else { self.ends[idx - 1] + 1 };
        &bytes[start..self.ends[idx]]
    }
}

/// Where a record is in the window.
enum Record {
    /// In place: so many bytes, and so many with the line break.
    Plain { bytes: usize, with_break: usize },
    /// In [`Fields::unquoted`].
    Unquoted { with_break: usize },
    /// There is none any more.
    End,
}

/// Reads a table.
pub(crate) fn read(
    path: &str,
    window: &mut Window<'_>,
    options: DecodeOptions<'_>,
    on_progress: &mut OnProgress<'_>,
) -> Result<Decoded, Error> {
    let mut counter = Counter::new(path);
    counter.set_aliases(options.aliases);
    let mut fields = Fields::default();
    let mut line = 1_u64;
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    window.fill().map_err(failed)?;
    let mark = window.bytes().len() - without_byte_order_mark(window.bytes()).len();
    window.consume(mark);
    let mut oddities = Vec::new();
    if mark > 0 {
        oddities.push(BYTE_ORDER_MARK);
    }
    if let Some(idx) = memchr::memchr(b'\n', window.bytes())
        && window.bytes()[..idx].ends_with(b"\r")
    {
        oddities.push("its lines end in carriage return and line feed");
    }

    let (separator, header, columns) =
        match read_header(path, window, &mut fields, &mut line, options)? {
            Header::Rows(separator, header, columns) => (separator, header, columns),
            Header::Chats(separator, header, format) => {
                let chats = Chats {
                    path,
                    separator,
                    header,
                    format,
                    line,
                };
                let Some(collector) = options.collector else {
                    return Err(crate::columns::missing(
                        path,
                        false,
                        false,
                        std::iter::empty(),
                    ));
                };
                let mut decoded = chats.read(window, collector, options, on_progress)?;
                oddities.extend(separated(separator));
                decoded.oddities = oddities;
                return Ok(decoded);
            }
            Header::Matrix {
                separator,
                header,
                error,
            } => {
                let matrix = read_matrix(path, window, separator, &header, options)?;
                let Some((matrix, rows)) = matrix else {
                    return Err(error);
                };
                let mut decoded = count_matrix(path, &matrix, rows, options, counter, on_progress)?;
                oddities.extend(separated(separator));
                decoded.oddities = oddities;
                return Ok(decoded);
            }
        };
    oddities.extend(separated(separator));
    counter.set_columns(
        [columns.model_a, columns.model_b, *columns.winner.first()].map(|idx| header[idx].clone()),
    );
    let published = layout::recognise(header.iter().map(String::as_str), false);
    counter.set_without_winner(layout::without_winner(published));
    let mut reader = options
        .collector
        .map(|collector| RowReader::new(collector, path));
    let mut wanted = Vec::new();
    let mut whole = Vec::new();
    if let Some(reader) = &mut reader {
        reader.set_folder(options.folder);
        if let Some(selection) = reader.selection_of_rows() {
            let names = header.iter().enumerate();
            whole.extend(names.filter(|(_, name)| is_wanted(name, selection)));
        }
        let nodes = header.iter().map(|name| reader.root(name));
        wanted.extend(
            nodes
                .enumerate()
                .filter_map(|(idx, node)| Some((idx, node?))),
        );
        if reader.collector.rejects.is_some() {
            counter.keep_rejected_rows();
        }
    }
    let is_separator = |byte: u8| byte == separator;
    let mut row = 0_u64;
    loop {
        let record = next_record(path, window, &mut fields, is_separator, row, options)?;
        let (bytes, with_break) = match record {
            Record::End => break,
            Record::Plain { bytes, with_break } => {
                if bytes == 0 {
                    window.consume(with_break);
                    line += 1;
                    continue;
                }
                fields.ends.clear();
                let record = &window.bytes()[..bytes];
                fields.ends.extend(memchr::memchr_iter(separator, record));
                fields.ends.push(bytes);
                (record, with_break)
            }
            Record::Unquoted { with_break } => (fields.unquoted.as_slice(), with_break),
        };
        row += 1;
        let n_lines = match record {
            Record::Unquoted { with_break } => {
                let record = &window.bytes()[..with_break];
                let n_breaks = memchr::memchr_iter(b'\n', record).count();
                n_breaks as u64 + u64::from(!record.ends_with(b"\n"))
            }
            _ => 1,
        };
        if n_lines > 1 && fields.is_unclosed {
            // How many rows are in there cannot be told, so they cannot be counted as rejected either.
            return Err(Error::Malformed {
                path: path.to_owned(),
                format: "CSV",
                detail: format!(
                    "the record that begins on line {line} opens a quote that is never closed"
                ),
            });
        }
        let place = || RowPlace {
            row,
            line: Some(line),
        };
        if fields.ends.len() != header.len() {
            let mut detail = format!("{} fields: expected {}", fields.ends.len(), header.len());
            detail.push_str(&spanned(n_lines));
            counter.reject_unreadable(place(), &detail);
        } else if fields.has_stray_text {
            let detail = format!("text behind a closing quote{}", spanned(n_lines));
            counter.reject_unreadable(place(), &detail);
        } else {
            let a = counter.model(fields.get(bytes, columns.model_a));
            let b = counter.model(fields.get(bytes, columns.model_b));
            let winner = match columns.winner {
                WinnerRule::Label(idx) => counter.winner(fields.get(bytes, idx)),
                WinnerRule::OneHot(idxs) => {
                    let flags = idxs.map(|idx| Flag::of(fields.get(bytes, idx)));
                    winner::one_hot(&mut counter, flags)
                }
                WinnerRule::Named { chosen, equal } => {
                    let chosen = counter.model(fields.get(bytes, chosen));
                    let equal = equal.map_or(Flag::No, |idx| Flag::of(fields.get(bytes, idx)));
                    winner::named(&mut counter, chosen, equal, [a, b])
                }
                WinnerRule::Score(idx) => winner::score(&mut counter, fields.get(bytes, idx)),
            };
            if let Some(reader) = &mut reader {
                if reader.notes_names() {
                    for (idx, name) in header.iter().enumerate() {
                        let value = String::from_utf8_lossy(fields.get(bytes, idx));
                        reader.note_name(name, &value);
                    }
                }
                reader.begin_row();
                for &(idx, node) in &wanted {
                    reader.cell(node, fields.get(bytes, idx));
                }
                let cell = |idx: Option<usize>| idx.map(|idx| fields.get(bytes, idx));
                let is_named =
                    cell(columns.anonymous).is_some_and(|raw| is_false(raw.trim_ascii()));
                let id = cell(columns.id).map_or(NO_HASH, text_hash);
                if reader.selection_of_rows().is_some() && Counter::would_keep(a, b, winner) {
                    let mut cells = RowCells::default();
                    for &(idx, name) in &whole {
                        cells.push_field(name, fields.get(bytes, idx));
                    }
                    reader.set_cells(cells);
                }
                reader.end_row(&mut counter, [a, b, winner], place(), is_named, id);
            } else {
                counter.row(a, b, winner, place);
            }
            if reader.is_none() && Counter::would_keep(a, b, winner) {
                if let Some(idx) = columns.anonymous
                    && is_false(fields.get(bytes, idx).trim_ascii())
                {
                    counter.add_named(1);
                }
                if let Some(idx) = columns.id.filter(|_| options.ids) {
                    let id = fields.get(bytes, idx);
                    if !id.is_empty() {
                        counter.add_id(id_hash(id));
                    }
                }
            }
        }
        line += n_lines;
        window.consume(with_break);
        if options.strict && counter.n_faults() > 0 {
            break;
        }
        let is_full = reader.as_ref().is_some_and(RowReader::is_full);
        if row.is_multiple_of(ROWS_BETWEEN_CHECKS) || is_full {
            counter.check()?;
            on_progress(window.bytes_consumed(), row);
            if let Some(reader) = &mut reader
                && !reader.flush(&mut counter)
            {
                break;
            }
        }
    }
    let origins = match &mut reader {
        Some(reader) => reader.finish(&mut counter, row)?,
        None => Vec::new(),
    };
    check(&counter, options)?;
    on_progress(window.bytes_consumed(), row);
    Ok(Decoded {
        format: published.unwrap_or(Format::BattlesCsv),
        rows: row,
        columns: shown_columns(header.iter().map(String::as_str)),
        oddities,
        rejections: counter.take_rejections(),
        counters: vec![counter],
        origins,
    })
}

/// What to add to a fault of a record that goes over several lines: it may have swallowed other rows.
fn spanned(n_lines: u64) -> String {
    if n_lines > 1 {
        format!(" (over {n_lines} lines: is a quote not closed?)")
    } else {
        String::new()
    }
}

/// What is said of a table whose separator is not the comma.
const fn separated(separator: u8) -> Option<&'static str> {
    match separator {
        b';' => Some("its fields are separated by semicolons"),
        b'\t' => Some("its fields are separated by tabs"),
        b'|' => Some("its fields are separated by bars"),
        _ => None,
    }
}

/// What the first record that is not blank says.
enum Header {
    /// The separator, the names and which of them are needed.
    Rows(u8, Vec<String>, Columns),
    /// The separator and the names of a set of conversations without votes that is wanted.
    Chats(u8, Vec<String>, Format),
    /// The needed columns are not there; it may still be the header of a matrix.
    Matrix {
        separator: u8,
        header: Vec<String>,
        /// What to say when it is not.
        error: Error,
    },
}

/// The fields of a record that was taken apart, as text.
fn texts(fields: &Fields) -> Vec<String> {
    let text = |idx| {
        String::from_utf8_lossy(fields.get(&fields.unquoted, idx))
            .trim()
            .to_owned()
    };
    (0..fields.ends.len()).map(text).collect()
}

/// Finds the separator with which the first record that is not blank names the needed columns.
fn read_header(
    path: &str,
    window: &mut Window<'_>,
    fields: &mut Fields,
    line: &mut u64,
    options: DecodeOptions<'_>,
) -> Result<Header, Error> {
    let is_any = |byte: u8| SEPARATORS.contains(&byte);
    let with_break = loop {
        match next_record(path, window, fields, is_any, 0, options)? {
            Record::End => {
                return Err(Error::UnknownFormat {
                    path: path.to_owned(),
                    found: "blank",
                });
            }
            Record::Plain { bytes, with_break }
                if window.bytes()[..bytes].trim_ascii().is_empty() =>
            {
                window.consume(with_break);
                *line += 1;
            }
            Record::Plain { with_break, .. } | Record::Unquoted { with_break } => break with_break,
        }
    };
    let record = &window.bytes()[..with_break];
    let has_bare_return = memchr::memchr_iter(b'\r', record)
        .any(|idx| record.get(idx + 1).is_some_and(|&byte| byte != b'\n'));
    if has_bare_return {
        return Err(Error::UnknownFormat {
            path: path.to_owned(),
            found: "text with a carriage return inside its first line, as old line ends are",
        });
    }
    let mut best: Option<(u8, Vec<String>, Error)> = None;
    for separator in SEPARATORS {
        split(record, |byte| byte == separator, true, fields);
        let names = texts(fields);
        match Columns::find(path, names.iter().map(String::as_str)) {
            Ok(columns) => {
                *line += memchr::memchr_iter(b'\n', record).count() as u64;
                window.consume(with_break);
                return Ok(Header::Rows(separator, names, columns));
            }
            Err(error @ (Error::AmbiguousColumn { .. } | Error::NoVotes { .. })) => {
                let rows = options.collector.and_then(|collector| collector.rows);
                let takes_chats = rows.map(RowSink::selection).is_some_and(|rows| rows.chats);
                let format = layout::chats(names.iter().map(String::as_str));
                if let Some(format) = format.filter(|_| takes_chats) {
                    *line += memchr::memchr_iter(b'\n', record).count() as u64;
                    window.consume(with_break);
                    return Ok(Header::Chats(separator, names, format));
                }
                return Err(error);
            }
            Err(error) => {
                if best
                    .as_ref()
                    .is_none_or(|(_, most, _)| names.len() > most.len())
                {
                    best = Some((separator, names, error));
                }
            }
        }
    }
    let Some((separator, header, error)) = best else {
        return Err(crate::columns::missing(
            path,
            false,
            false,
            std::iter::empty(),
        ));
    };
    window.consume(with_break);
    Ok(Header::Matrix {
        separator,
        header,
        error,
    })
}

/// Finds the next record, reading on where needed.
#[inline]
fn next_record(
    path: &str,
    window: &mut Window<'_>,
    fields: &mut Fields,
    is_separator: impl Fn(u8) -> bool + Copy,
    row: u64,
    options: DecodeOptions<'_>,
) -> Result<Record, Error> {
    loop {
        let bytes = window.bytes();
        match memchr::memchr2(b'\n', b'"', bytes) {
            Some(idx) if bytes[idx] == b'\n' => {
                fields.has_stray_text = false;
                let record = &bytes[..idx];
                return Ok(Record::Plain {
                    bytes: record.strip_suffix(b"\r").unwrap_or(record).len(),
                    with_break: idx + 1,
                });
            }
            Some(_) => {
                if let Some(with_break) = split(bytes, is_separator, window.is_at_end(), fields) {
                    return Ok(Record::Unquoted { with_break });
                }
            }
            None if window.is_at_end() => {
                if bytes.is_empty() {
                    return Ok(Record::End);
                }
                fields.has_stray_text = false;
                return Ok(Record::Plain {
                    bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes).len(),
                    with_break: bytes.len(),
                });
            }
            None => {}
        }
        if bytes.len() > options.record_bytes_max {
            return Err(Error::RecordTooLarge {
                place: format!("row {} of `{path}`", row + 1),
                bytes_max: options.record_bytes_max,
            });
        }
        window.fill().map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
    }
}

/// Cuts the first record of `bytes` into fields and takes quotes away. `None` when its end is not at hand.
///
/// A quote counts only where a field begins; elsewhere it stands for itself.
fn split(
    bytes: &[u8],
    is_separator: impl Fn(u8) -> bool,
    is_at_end: bool,
    fields: &mut Fields,
) -> Option<usize> {
    fields.unquoted.clear();
    fields.ends.clear();
    fields.has_stray_text = false;
    fields.is_unclosed = false;
    let mut idx = 0;
    loop {
        let mut is_quoted = false;
        if bytes.get(idx) == Some(&b'"') {
            is_quoted = true;
            idx += 1;
            loop {
                let Some(length) = memchr::memchr(b'"', &bytes[idx..]) else {
                    if !is_at_end {
                        return None;
                    }
                    // A quote that is never closed: the rest of the file is one broken record.
                    fields.has_stray_text = true;
                    fields.is_unclosed = true;
                    fields.ends.push(fields.unquoted.len());
                    return Some(bytes.len());
                };
                fields.unquoted.extend_from_slice(&bytes[idx..idx + length]);
                idx += length + 1;
                match bytes.get(idx) {
                    Some(b'"') => {
                        fields.unquoted.push(b'"');
                        idx += 1;
                    }
                    Some(_) => break,
                    None if is_at_end => break,
                    None => return None,
                }
            }
        }
        let rest = &bytes[idx..];
        let length = rest
            .iter()
            .position(|&byte| byte == b'\n' || is_separator(byte));
        if length.is_none() && !is_at_end {
            return None;
        }
        let text = &rest[..length.unwrap_or(rest.len())];
        let ends_record = length.is_none_or(|length| rest[length] == b'\n');
        let text = match text.strip_suffix(b"\r") {
            Some(text) if ends_record => text,
            _ => text,
        };
        if is_quoted {
            fields.has_stray_text |= !text.trim_ascii().is_empty();
        } else {
            fields.unquoted.extend_from_slice(text);
        }
        fields.ends.push(fields.unquoted.len());
        if ends_record {
            return Some(idx + length.map_or(rest.len(), |length| length + 1));
        }
        fields.unquoted.push(b',');
        idx += length.unwrap_or(0) + 1;
    }
}
