//! A table in text of conversations without votes, for whoever wants whole rows.

use super::{Fields, Record, next_record, spanned, split};
use crate::{
    Error, Format,
    battles::{collect::Collector, row::RowReader},
    conversations::{RowCells, is_wanted},
    count::{Counter, RowPlace},
    decode::{
        DecodeOptions, Decoded, OnProgress, ROWS_BETWEEN_CHECKS, check, shown_columns,
        window::Window,
    },
};

/// A table whose header was read.
pub(super) struct Chats<'a> {
    pub(super) path: &'a str,
    pub(super) separator: u8,
    pub(super) header: Vec<String>,
    pub(super) format: Format,
    /// The line behind the header, from 1.
    pub(super) line: u64,
}

impl Chats<'_> {
    /// Reads its rows.
    pub(super) fn read(
        &self,
        window: &mut Window<'_>,
        collector: &Collector<'_>,
        options: DecodeOptions<'_>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Decoded, Error> {
        let mut counter = Counter::new(self.path);
        counter.set_columns(["model", "model", "winner"].map(str::to_owned));
        counter.set_aliases(options.aliases);
        let mut reader = RowReader::new(collector, self.path);
        reader.set_folder(options.folder);
        if collector.rejects.is_some() {
            counter.keep_rejected_rows();
        }
        let is_separator = |byte: u8| byte == self.separator;
        let mut fields = Fields::default();
        let mut line = self.line;
        let mut row = 0;
        loop {
            let record = next_record(self.path, window, &mut fields, is_separator, row, options)?;
            let with_break = match record {
                Record::End => break,
                Record::Plain { with_break, .. } | Record::Unquoted { with_break } => with_break,
            };
            let record = &window.bytes()[..with_break];
            let n_breaks = memchr::memchr_iter(b'\n', record).count() as u64;
            let n_lines = n_breaks + u64::from(!record.ends_with(b"\n"));
            if !record.trim_ascii().is_empty() {
                row += 1;
                let place = RowPlace {
                    row,
                    line: Some(line),
                };
                split(record, is_separator, true, &mut fields);
                if fields.is_unclosed && n_lines > 1 {
                    return Err(Error::Malformed {
                        path: self.path.to_owned(),
                        format: "CSV",
                        detail: format!(
                            "the record that begins on line {line} opens a quote that is never closed"
                        ),
                    });
                }
                match self.fault(&fields) {
                    Some(detail) => {
                        let detail = format!("{detail}{}", spanned(n_lines));
                        counter.reject_unreadable(place, &detail);
                    }
                    None => {
                        reader.begin_row();
                        let cells = self.cells(&fields, &reader);
                        reader.add_chat(&mut counter, cells, place);
                    }
                }
            }
            line += n_lines;
            window.consume(with_break);
            check(&counter, options)?;
            let is_due = row.is_multiple_of(ROWS_BETWEEN_CHECKS) || reader.is_full();
            if is_due && !reader.flush(&mut counter) {
                break;
            }
        }
        let origins = reader.finish(&mut counter, row)?;
        on_progress(window.bytes_consumed(), row);
        Ok(Decoded {
            format: self.format,
            rows: row,
            columns: shown_columns(self.header.iter().map(String::as_str)),
            oddities: Vec::new(),
            rejections: counter.take_rejections(),
            counters: vec![counter],
            origins,
        })
    }

    fn fault(&self, fields: &Fields) -> Option<String> {
        let n_expected = self.header.len();
        if fields.ends.len() != n_expected {
            return Some(format!(
                "{} fields: expected {n_expected}",
                fields.ends.len()
            ));
        }
        fields
            .has_stray_text
            .then(|| "text behind a closing quote".to_owned())
    }

    fn cells(&self, fields: &Fields, reader: &RowReader<'_>) -> RowCells {
        let mut cells = RowCells::default();
        let Some(selection) = reader.selection_of_rows() else {
            return cells;
        };
        let names = self.header.iter().enumerate();
        for (idx, name) in names.filter(|(_, name)| is_wanted(name, selection)) {
            cells.push_field(name, fields.get(&fields.unquoted, idx));
        }
        cells
    }
}
