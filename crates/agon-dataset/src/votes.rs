//! Votes for a ranking: from any input to counts by ordered pair, with the fate of every row.

use std::io::Read;

use agon_domain::Tally;
use sha2::{Digest as _, Sha256};

use crate::{
    Error, Format, Input, InputReport, Progress, SkippedFile, SourceReport,
    count::{add_to_tally, near_duplicates, sums},
    decode::{
        DecodeOptions, Decoded, delimited, json, parquet,
        window::{Window, hexadecimal},
    },
    fate::Rejections,
    input::{Opened, Shape, Source, open, sources},
};

/// How votes are read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Refuse the input at its first rejected row, with [`Error::RowRejected`].
    pub strict: bool,
    /// Count rows whose id (`question_id`, `battle_id` or `id`) stood in an earlier row. Costs about as much again as the rest of the reading of Parquet, as ids are long and all different.
    pub repeated_ids: bool,
    /// Compute the SHA-256 of each source. Parquet then has to be read from first byte to last, images and all.
    pub checksums: bool,
    /// Bytes of one record in a text format that are held in memory at most.
    pub record_bytes_max: usize,
    /// Threads that decode one file at most. The result does not depend on it.
    pub n_threads_max: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            strict: false,
            repeated_ids: false,
            checksums: false,
            record_bytes_max: 256 * 1024 * 1024,
            n_threads_max: 2,
        }
    }
}

/// Votes and where they came from.
#[derive(Debug)]
pub struct Votes {
    /// The kept rows, by ordered pair. The models of one source are in the order of their names.
    pub tally: Tally,
    /// The fate of every row.
    pub report: InputReport,
}

/// Reads votes from all inputs, one after the other.
///
/// Formats are recognised by content, never by name: Parquet, tables in text (separated by commas, semicolons, tabs or bars), a JSON array of objects, JSON lines.
/// Columns are `model_a`, `model_b`, `winner`, or `left`, `right`, `winner`; `anony` and an id column are read when they are there.
/// Model names are text whatever they look like (`null`, `NA` and `None` are names in a table in text), trimmed and brought to Unicode's normal form C; whole numbers are taken as their digits.
/// Winners are read by [`agon_domain::Winner::parse`] alone.
///
/// # Errors
///
/// The first source that cannot be read, is of no known format, lacks needed columns or breaks its format, as an [`Error`] that names it.
/// A file that merely stands in a given folder and is not a table of votes is listed in [`InputReport::skipped`] instead, as long as another one is.
pub fn read_votes(
    inputs: Vec<Input>,
    options: &ReadOptions,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Votes, Error> {
    let sources = sources(inputs)?;
    let n_sources = sources.len();
    let mut tally = Tally::new();
    let mut report = InputReport::default();
    let mut id_hashes: Vec<u64> = Vec::new();
    let mut first_skipped = None;
    for (source_idx, source) in sources.into_iter().enumerate() {
        let path = source.path.clone();
        let is_incidental = source.is_incidental;
        let read = read_source(source, options, &mut |bytes_read, bytes_total, rows| {
            on_progress(Progress {
                path: &path,
                source_idx,
                n_sources,
                bytes_read,
                bytes_total,
                rows,
            });
        });
        let (mut decoded, sha256) = match read {
            Ok(read) => read,
            Err(
                error @ (Error::UnknownFormat { .. }
                | Error::MissingColumns { .. }
                | Error::NoJsonObject { .. }),
            ) if is_incidental => {
                report.skipped.push(SkippedFile {
                    path,
                    detail: error.to_string(),
                });
                first_skipped.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let mut sums = sums(&mut decoded.counters);
        add_to_tally(&decoded.counters, &mut tally);
        decoded.rejections.add_to(&mut report.rejected);
        report.rows += decoded.rows;
        report.kept += sums.kept;
        report.n_named += sums.n_named;
        id_hashes.append(&mut sums.id_hashes);
        report.sources.push(SourceReport {
            path,
            format: decoded.format,
            rows: decoded.rows,
            kept: sums.kept,
            sha256,
        });
    }
    if report.sources.is_empty()
        && let Some(error) = first_skipped
    {
        return Err(error);
    }
    if options.repeated_ids {
        let n_ids = id_hashes.len();
        id_hashes.sort_unstable();
        id_hashes.dedup();
        report.n_repeated_ids = (n_ids > 0).then(|| (n_ids - id_hashes.len()) as u64);
    }
    report.near_duplicates = near_duplicates(tally.models());
    Ok(Votes { tally, report })
}

fn read_source(
    source: Source,
    options: &ReadOptions,
    on_progress: &mut dyn FnMut(u64, Option<u64>, u64),
) -> Result<(Decoded, Option<String>), Error> {
    let path = source.path;
    let decode_options = DecodeOptions {
        strict: options.strict,
        ids: options.repeated_ids,
        record_bytes_max: options.record_bytes_max,
        n_threads_max: options.n_threads_max,
    };
    let (opened, shape) = open(&path, source.content)?;
    match (opened, shape) {
        (_, Shape::Empty) => Ok((
            Decoded {
                format: Format::Empty,
                rows: 0,
                counters: Vec::new(),
                rejections: Rejections::default(),
            },
            options.checksums.then(|| hexadecimal(&Sha256::digest(b""))),
        )),
        (Opened::File { mut file, bytes }, Shape::Parquet) => {
            let sha256 = if options.checksums {
                Some(sha256_of(&path, &mut file)?)
            } else {
                None
            };
            let decoded = parquet::read(&path, file, bytes, decode_options, &mut |read, rows| {
                on_progress(read, Some(bytes), rows);
            })?;
            Ok((decoded, sha256))
        }
        (Opened::File { mut file, bytes }, shape) => read_text(
            &path,
            &mut file,
            shape,
            options.checksums,
            decode_options,
            &mut |read, rows| on_progress(read, Some(bytes), rows),
        ),
        (Opened::Stream(mut stream), shape) => read_text(
            &path,
            &mut stream,
            shape,
            options.checksums,
            decode_options,
            &mut |read, rows| on_progress(read, None, rows),
        ),
    }
}

fn read_text(
    path: &str,
    reader: &mut dyn Read,
    shape: Shape,
    hash: bool,
    options: DecodeOptions,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<(Decoded, Option<String>), Error> {
    let mut window = Window::new(reader, hash);
    let decoded = match shape {
        Shape::JsonArray => json::read_array(path, &mut window, options, on_progress)?,
        Shape::JsonLines => json::read_lines(path, &mut window, options, on_progress)?,
        Shape::Delimited | Shape::Parquet | Shape::Empty => {
            delimited::read(path, &mut window, options, on_progress)?
        }
    };
    Ok((decoded, window.sha256()))
}

fn sha256_of(path: &str, file: &mut std::fs::File) -> Result<String, Error> {
    use std::io::Seek as _;
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer).map_err(failed)?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
    }
    file.rewind().map_err(failed)?;
    Ok(hexadecimal(&hasher.finalize()))
}

#[cfg(test)]
mod tests;
