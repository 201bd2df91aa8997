//! Lists as CSV with a header: the form of `threatexchange dataset --print-signals --csv`, in which `collab`, `category` and `tags` may be missing and `quality` may be added.

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{EntryError, KnownHash, ListEntry, ListError, Standing, standing_of_quality};
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
    let at_line = |line: Option<u64>| line.map_or(1, |line| line as usize);
    let wrong_csv = |source: csv::Error| ListError::Csv {
        line: at_line(source.position().map(csv::Position::line)),
        source,
    };
    let columns = Columns::read(reader.headers().map_err(wrong_csv)?)?;
    let missing = |column| ListError::NoColumn { column };
    let signal_type = columns.signal_type.ok_or_else(|| missing("signal_type"))?;
    let signal_str = columns.signal_str.ok_or_else(|| missing("signal_str"))?;
    let mut entries = Vec::new();
    for record in reader.records() {
        let record = record.map_err(wrong_csv)?;
        let line = at_line(record.position().map(csv::Position::line));
        let wrong_entry = |source| ListError::Entry { line, source };
        // A record has as many fields as the header, or the reader would have refused it.
        let field = |column: Option<usize>| column.and_then(|idx| record.get(idx)).unwrap_or("");
        let hash = KnownHash::parse(field(Some(signal_type)), field(Some(signal_str)))
            .map_err(wrong_entry)?;
        let quality = quality(field(columns.quality)).map_err(wrong_entry)?;
        let standing = match (category(field(columns.category)).map_err(wrong_entry)?, hash) {
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
