//! A table in text that is a matrix of wins.

use super::{Fields, Record, next_record, split, texts};
use crate::{
    Error, Format,
    battles::{intern::NO_HASH, row::RowReader},
    count::{Code, Counter, RowPlace},
    decode::{
        DecodeOptions, Decoded, OnProgress, ROWS_BETWEEN_CHECKS, check, shown_columns,
        window::Window,
    },
    layout::matrix::{Matrix, MatrixVotes},
};

/// Votes of a matrix that become rows, where rows are needed: a few bytes could stand for any number.
const MATRIX_ROWS_MAX: u64 = 10_000_000;

/// A matrix as it was read: the models, and the votes of each pair.
pub(super) type MatrixRows = (Vec<String>, Vec<MatrixVotes>);

/// Reads the rest of the table as a matrix of wins, if its first record is of one.
pub(super) fn read_matrix(
    path: &str,
    window: &mut Window<'_>,
    separator: u8,
    header: &[String],
    options: DecodeOptions<'_>,
) -> Result<Option<MatrixRows>, Error> {
    let mut fields = Fields::default();
    let mut matrix: Option<Matrix> = None;
    let mut row = 0;
    loop {
        let record = next_record(
            path,
            window,
            &mut fields,
            |byte| byte == separator,
            row,
            options,
        );
        let record = match record {
            Ok(record) => record,
            // A table of something else, whatever is wrong with it.
            Err(_) if matrix.is_none() => return Ok(None),
            Err(error) => return Err(error),
        };
        let (bytes, with_break) = match record {
            Record::End => break,
            Record::Plain { bytes, with_break } => (bytes, with_break),
            Record::Unquoted { with_break } => (with_break, with_break),
        };
        let record = &window.bytes()[..bytes];
        if record.trim_ascii().is_empty() {
            window.consume(with_break);
            continue;
        }
        split(record, |byte| byte == separator, true, &mut fields);
        let record = texts(&fields);
        window.consume(with_break);
        row += 1;
        if matrix.is_none() {
            matrix = Matrix::begin(header, &record);
        }
        let Some(matrix) = &mut matrix else {
            return Ok(None);
        };
        matrix.add(path, &record)?;
    }
    let Some(matrix) = matrix else {
        return Ok(None);
    };
    let names = matrix.names().to_vec();
    Ok(Some((names, matrix.finish(path)?)))
}

/// Counts the votes of a matrix, each as a row.
pub(super) fn count_matrix(
    path: &str,
    names: &[String],
    votes: Vec<MatrixVotes>,
    options: DecodeOptions<'_>,
    mut counter: Counter,
    on_progress: &mut OnProgress<'_>,
) -> Result<Decoded, Error> {
    let models: Vec<_> = names
        .iter()
        .map(|name| counter.model(name.as_bytes()))
        .collect();
    let twice = |idx: &usize| {
        let position = models[*idx].position();
        models[..*idx]
            .iter()
            .any(|code| code.position() == position)
    };
    if let Some(idx) = (0..models.len()).find(twice) {
        return Err(Error::AmbiguousColumn {
            path: path.to_owned(),
            column: crate::fate::cut(&names[idx]),
        });
    }
    let mut reader = options
        .collector
        .map(|collector| RowReader::new(collector, path));
    let n_votes: u64 = votes.iter().map(|votes| votes.n).sum();
    if reader.is_some() && n_votes > MATRIX_ROWS_MAX {
        return Err(Error::Malformed {
            path: path.to_owned(),
            format: "matrix of wins",
            detail: format!(
                "{n_votes} votes, more than the {MATRIX_ROWS_MAX} that are kept as rows"
            ),
        });
    }
    let mut rows = 0;
    for MatrixVotes {
        a,
        b,
        winner,
        n,
        row,
    } in votes
    {
        let (a, b) = (models[a], models[b]);
        let Some(reader) = &mut reader else {
            rows += n;
            counter.rows(a, b, winner, n);
            continue;
        };
        for _ in 0..n {
            rows += 1;
            reader.begin_row();
            let place = RowPlace { row, line: None };
            reader.end_row(
                &mut counter,
                [a, b, Code::of(winner)],
                place,
                false,
                NO_HASH,
            );
            if rows.is_multiple_of(ROWS_BETWEEN_CHECKS) && !reader.flush(&mut counter) {
                break;
            }
        }
    }
    let origins = match &mut reader {
        Some(reader) => reader.finish(&mut counter, rows)?,
        None => Vec::new(),
    };
    check(&counter, options)?;
    on_progress(0, rows);
    Ok(Decoded {
        format: Format::WinMatrix,
        rows,
        columns: shown_columns(names.iter().map(String::as_str)),
        oddities: Vec::new(),
        rejections: counter.take_rejections(),
        counters: vec![counter],
        origins,
    })
}
