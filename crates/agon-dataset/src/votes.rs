//! Votes for a ranking: from any input to counts by ordered pair, with the fate of every row.

use std::{fmt, io::Read, num::NonZeroUsize, path::Path};

use agon_domain::Tally;

use crate::{
    Aliases, Error, FeatureOrigin, Format, Input, InputReport, Progress, RejectedRow, SkippedFile,
    SourceReport,
    battles::{
        Selection,
        collect::{Collector, Product},
        wanted::Wanted,
    },
    count::{add_to_tally, near_duplicates, sums},
    decode::{DecodeOptions, Decoded, delimited, json, parquet, window::Window},
    fate::Rejections,
    input::{Body, Content, Opened, Opening, Shape, Source, UnpackLimits, open, sources},
    repeated::{Hashes, n_repeated},
};

/// Hashes of ids that are copied rather than kept by themselves.
const FEW_HASHES: usize = 1 << 16;

/// Which rows count as repeated, and are then rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dedup {
    /// Those whose id (`question_id`, `battle_id` or `id`) stood in an earlier kept row. Rows without an id are kept.
    Id,
    /// Those of which all that says who judged what and when stood in an earlier kept row: the models, the winner, the judge, the time, and the messages of both sides and the prompt, as far as the source has these columns.
    ///
    /// A source must have times, messages or prompts, as models and winners alone do not tell battles apart.
    Content,
}

/// How votes are read.
#[derive(Clone, Copy)]
pub struct ReadOptions<'a> {
    /// Refuse the input at its first rejected row, with [`Error::RowRejected`].
    pub strict: bool,
    /// Count rows whose id (`question_id`, `battle_id` or `id`) stood in an earlier row. Costs about as much again as the rest of the reading of Parquet, as ids are long and all different.
    pub repeated_ids: bool,
    /// Compute the SHA-256 of the bytes of each source as they lie there, compressed or not; for a file in a zip archive those of the archive. Parquet then has to be read from first byte to last, images and all.
    pub checksums: bool,
    /// Compute it also of remote sources of which only a part would be fetched, Parquet and zip archives, for which all of them is fetched. Their servers' ETags are noted in any case.
    pub remote_checksums: bool,
    /// How far compressed sources may unpack.
    pub unpack: UnpackLimits,
    /// Bytes of one record in a text format that are held in memory at most.
    pub record_bytes_max: usize,
    /// Threads that decode one file at most. The result does not depend on it.
    pub n_threads_max: usize,
    /// Reject repeated rows; the first of them, in the order of reading, is kept.
    pub dedup: Option<Dedup>,
    /// Models that are counted under other names.
    pub aliases: Option<&'a Aliases>,
    /// Is given every rejected row, in the order of reading.
    pub rejects: Option<&'a (dyn Fn(&RejectedRow) + Sync)>,
}

impl fmt::Debug for ReadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOptions")
            .field("strict", &self.strict)
            .field("repeated_ids", &self.repeated_ids)
            .field("checksums", &self.checksums)
            .field("remote_checksums", &self.remote_checksums)
            .field("unpack", &self.unpack)
            .field("record_bytes_max", &self.record_bytes_max)
            .field("n_threads_max", &self.n_threads_max)
            .field("dedup", &self.dedup)
            .field("aliases", &self.aliases.map(Aliases::len))
            .field("rejects", &self.rejects.is_some())
            .finish()
    }
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self {
            strict: false,
            repeated_ids: false,
            checksums: false,
            remote_checksums: false,
            unpack: UnpackLimits::default(),
            record_bytes_max: 256 * 1024 * 1024,
            n_threads_max: 2,
            dedup: None,
            aliases: None,
            rejects: None,
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
/// Columns are `model_a`, `model_b`, `winner`, or `left`, `right`, `winner`, or those of another published set, each of which [`Format`] names; `anony` and an id column are read when they are there.
/// Model names are text whatever they look like (`null`, `NA` and `None` are names in a table in text), trimmed and brought to Unicode's normal form C; whole numbers are taken as their digits.
/// Winners are read by [`agon_domain::Winner::parse`], verdicts in five steps as `A>>B` beside; where a set has the winner in several columns, as a name or as a score, its rule is that of the set.
///
/// # Errors
///
/// The first source that cannot be read, is of no known format, lacks needed columns or breaks its format, as an [`Error`] that names it.
/// A file that merely stands in a given folder and is not a table of votes is listed in [`InputReport::skipped`] instead, as long as another one is.
pub fn read_votes(
    inputs: Vec<Input>,
    options: &ReadOptions<'_>,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Votes, Error> {
    let selection = Selection::default();
    let wanted = Wanted::new(&selection, options.dedup);
    // Repeated rows are found in order, and rejected ones told in order, by what collects rows.
    let collector = (options.dedup.is_some() || options.rejects.is_some())
        .then(|| Collector::new(&wanted, Product::Tally, options));
    let (mut tally, mut report) = read_all(inputs, options, collector.as_ref(), on_progress)?;
    if let Some(collector) = collector {
        tally = collector.into_tally();
    }
    report.near_duplicates = near_duplicates(tally.models());
    Ok(Votes { tally, report })
}

/// Reads all sources. Without a collector, votes are counted at once; with one, it has the rows afterwards, and the tally is empty.
pub(crate) fn read_all(
    inputs: Vec<Input>,
    options: &ReadOptions<'_>,
    collector: Option<&Collector<'_>>,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(Tally, InputReport), Error> {
    let sources = sources(inputs, options.unpack)?;
    let n_sources = sources.len();
    let mut tally = Tally::new();
    let mut report = InputReport::default();
    let mut id_hashes: Vec<Hashes> = Vec::new();
    let mut first_skipped = None;
    for (source_idx, source) in sources.into_iter().enumerate() {
        let path = source.path.clone();
        let is_incidental = source.is_incidental;
        let member = source.member.clone();
        if let Some(collector) = collector {
            collector.begin(&path);
        }
        let read = read_source(
            source,
            options,
            collector,
            &mut |bytes_read, bytes_total, rows| {
                on_progress(Progress {
                    path: &path,
                    source_idx,
                    n_sources,
                    bytes_read,
                    bytes_total,
                    rows,
                });
            },
        );
        let (mut decoded, (sha256, etag)) = match read {
            Ok(read) => read,
            Err(
                error @ (Error::UnknownFormat { .. }
                | Error::MissingColumns { .. }
                | Error::NoVotes { .. }
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
        let mut time_unit = None;
        if let Some(collector) = collector {
            let outcome = collector.end(&decoded.origins)?;
            decoded.rejections.merge(outcome.repeated);
            time_unit = outcome.time_unit;
            sums.kept = outcome.kept;
            sums.n_named = outcome.n_named;
            sums.id_hashes = vec![collector.take_id_hashes()];
        } else {
            add_to_tally(&decoded.counters, &mut tally);
        }
        decoded.rejections.add_to(&mut report.rejected);
        report.rows += decoded.rows;
        report.kept += sums.kept;
        report.n_named += sums.n_named;
        report.n_strong += sums.noted.n_strong;
        report.n_renamed += sums.noted.n_renamed;
        for hashes in sums.id_hashes {
            match id_hashes.first_mut() {
                // Many small sources shall not have as many times the room for one.
                Some(first) if hashes.len() < FEW_HASHES => first.extend(&hashes),
                _ => id_hashes.push(hashes),
            }
        }
        report.sources.push(SourceReport {
            path,
            format: decoded.format,
            rows: decoded.rows,
            kept: sums.kept,
            sha256,
            member,
            columns: decoded.columns,
            time_unit,
            oddities: decoded.oddities,
            etag,
        });
        if collector.is_some_and(Collector::is_stopped) {
            break;
        }
    }
    if report.sources.is_empty()
        && let Some(error) = first_skipped
    {
        return Err(error);
    }
    if options.repeated_ids && id_hashes.iter().any(|hashes| hashes.len() > 0) {
        let n_threads = NonZeroUsize::new(options.n_threads_max).unwrap_or(NonZeroUsize::MIN);
        report.n_repeated_ids = Some(n_repeated(&id_hashes, n_threads));
    }
    Ok((tally, report))
}

/// The SHA-256 of a source, and what its server calls this version of it.
type Version = (Option<String>, Option<String>);

fn read_source(
    source: Source,
    options: &ReadOptions<'_>,
    collector: Option<&Collector<'_>>,
    on_progress: &mut dyn FnMut(u64, Option<u64>, u64),
) -> Result<(Decoded, Version), Error> {
    let path = source.path;
    let folder = match &source.content {
        Content::File(path) => path.parent().map(Path::to_owned),
        _ => None,
    };
    let decode_options = DecodeOptions {
        strict: options.strict,
        ids: options.repeated_ids,
        record_bytes_max: options.record_bytes_max,
        n_threads_max: options.n_threads_max,
        aliases: options.aliases,
        collector,
        folder: folder.as_deref(),
    };
    let opening = Opening {
        limits: options.unpack,
        checksums: options.checksums,
        remote_checksums: options.remote_checksums,
    };
    let Opened { body, outer } = open(&path, source.content, &opening)?;
    let decoded = match body {
        Body::Empty => Ok(Decoded {
            format: Format::Empty,
            rows: 0,
            counters: Vec::new(),
            rejections: Rejections::default(),
            columns: Vec::new(),
            oddities: Vec::new(),
            origins: collector.map_or_else(Vec::new, |collector| {
                vec![FeatureOrigin::NoRows; collector.wanted.features.len()]
            }),
        }),
        Body::Parquet(file) => {
            let bytes_total = file.size();
            parquet::read(&path, file, decode_options, &mut |read, rows| {
                on_progress(read, Some(bytes_total), rows);
            })
        }
        Body::Text(shape, mut reader) => {
            read_text(&path, &mut reader, shape, decode_options, &mut |_, rows| {
                on_progress(outer.bytes_read(), outer.bytes_total(), rows);
            })
        }
    }
    .map_err(|error| outer.explain(error))?;
    let version = outer.into_version(&path)?;
    Ok((decoded, version))
}

fn read_text(
    path: &str,
    reader: &mut dyn Read,
    shape: Shape,
    options: DecodeOptions<'_>,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<Decoded, Error> {
    let mut window = Window::new(reader);
    match shape {
        Shape::JsonArray => json::read_array(path, &mut window, options, on_progress),
        Shape::JsonLines => json::read_lines(path, &mut window, options, on_progress),
        Shape::Delimited | Shape::Parquet | Shape::Empty => {
            delimited::read(path, &mut window, options, on_progress)
        }
    }
}

#[cfg(test)]
pub(crate) mod formats_tests;
#[cfg(test)]
mod tests;
