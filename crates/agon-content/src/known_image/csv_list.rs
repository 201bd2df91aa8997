//! Lists as CSV with a header: the form of `threatexchange dataset --print-signals --csv`, in which `collab`, `category` and `tags` may be missing and `quality` may be added.

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{EntryError, KnownHash, ListEntry, ListError, Standing, line_at, standing_of_quality};
use crate::hexadecimal::shortened;

/// Where each column stands.
#[derive(Default)]
struct Columns {
    signal_type: Option<usize>,
    signal_str: Option<usize>,
    collab: Option<usize>,
    category: Option<usize>,
    tags: Option<usize>,
    quality: Option<usize>,
}

impl Columns {
    fn read(header: &StringRecord) -> Result<Self, ListError> {
        let mut columns = Self::default();
        for (idx, name) in header.iter().enumerate() {
            let unknown = || ListError::Column {
                column: shortened(name),
            };
            let column = match name {
                "signal_type" => &mut columns.signal_type,
                "signal_str" => &mut columns.signal_str,
                "collab" => &mut columns.collab,
                "category" => &mut columns.category,
                "tags" => &mut columns.tags,
                "quality" => &mut columns.quality,
                _ => return Err(unknown()),
            };
            if column.replace(idx).is_some() {
                return Err(unknown());
            }
        }
        Ok(columns)
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<ListEntry>, ListError> {
    let mut reader = ReaderBuilder::new()
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let wrong_csv = |source: csv::Error| ListError::Csv {
        line: line_of(text, (1, 0), source.position()).0,
        source,
    };
    let columns = Columns::read(reader.headers().map_err(wrong_csv)?)?;
    let missing = |column| ListError::NoColumn { column };
    let signal_type = columns.signal_type.ok_or_else(|| missing("signal_type"))?;
    let signal_str = columns.signal_str.ok_or_else(|| missing("signal_str"))?;
    let mut entries = Vec::new();
    let mut place = (1, 0);
    for record in reader.records() {
        let record = record.map_err(wrong_csv)?;
        place = line_of(text, place, record.position());
        let line = place.0;
        let wrong_entry = |source| ListError::Entry { line, source };
        // A record has as many fields as the header, or the reader would have refused it.
        let field = |column: Option<usize>| column.and_then(|idx| record.get(idx)).unwrap_or("");
        let hash = KnownHash::parse(field(Some(signal_type)), field(Some(signal_str)))
            .map_err(wrong_entry)?;
        let quality = quality(field(columns.quality)).map_err(wrong_entry)?;
        let standing = match (
            category(field(columns.category)).map_err(wrong_entry)?,
            hash,
        ) {
            (Standing::Active, KnownHash::Pdq(_)) => quality,
            (standing, _) => standing,
        };
        let labels = [columns.collab, columns.category, columns.tags]
            .into_iter()
            .flat_map(|column| field(column).split_whitespace())
            .map(str::to_owned)
            .collect();
        entries.push(ListEntry {
            hash,
            line,
            id: None,
            labels,
            standing,
        });
    }
    Ok(entries)
}

/// The line and the byte at which a record begins, counted on from an earlier line and byte.
///
/// The reader's own line is that of the empty lines in front of the record.
fn line_of(
    text: &str,
    (line, counted_to): (usize, usize),
    position: Option<&csv::Position>,
) -> (usize, usize) {
    let at = position.map_or(counted_to, |position| position.byte() as usize);
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let n_empty = rest
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
        .count();
    let at = at + n_empty;
    let passed = text.as_bytes().get(counted_to..at).unwrap_or_default();
    (line + line_at(passed, passed.len()) - 1, at)
}

/// ThreatExchange's categories of opinion; none given means that the image is known.
fn category(text: &str) -> Result<Standing, EntryError> {
    match text {
        "" | "POSITIVE_CLASS" | "INVESTIGATION_SEED" => Ok(Standing::Active),
        "NEGATIVE_CLASS" => Ok(Standing::Harmless),
        _ => Err(EntryError::Value {
            field: "category",
            text: shortened(text),
            accepted: "POSITIVE_CLASS, INVESTIGATION_SEED, NEGATIVE_CLASS or nothing",
        }),
    }
}

fn quality(text: &str) -> Result<Standing, EntryError> {
    if text.is_empty() {
        return Ok(Standing::Active);
    }
    text.parse()
        .ok()
        .filter(|&quality| quality <= 100)
        .map(standing_of_quality)
        .ok_or_else(|| EntryError::Value {
            field: "quality",
            text: shortened(text),
            accepted: "0 to 100 or nothing",
        })
}
