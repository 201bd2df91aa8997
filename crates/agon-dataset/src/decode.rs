//! From bytes to rows, one module for each shape of file.

pub(crate) mod delimited;
pub(crate) mod json;
pub(crate) mod parquet;
pub(crate) mod window;

use std::path::Path;

use crate::{
    Aliases, Error, FeatureOrigin, Format,
    battles::collect::Collector,
    count::Counter,
    fate::{COLUMNS_SHOWN_MAX, Rejections, cut},
};

/// How rows are read, whatever the shape of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeOptions<'a> {
    /// Stop at the first rejected row.
    pub(crate) strict: bool,
    /// Note a hash of each id.
    pub(crate) ids: bool,
    /// Bytes of a record that are held in memory at most.
    pub(crate) record_bytes_max: usize,
    /// Threads that decode one file at most.
    pub(crate) n_threads_max: usize,
    /// Models that are counted under other names.
    pub(crate) aliases: Option<&'a Aliases>,
    /// What takes the rows; without it they are only counted.
    pub(crate) collector: Option<&'a Collector<'a>>,
    /// The folder of the source, when it is a file.
    pub(crate) folder: Option<&'a Path>,
}

/// What one source held.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) format: Format,
    pub(crate) rows: u64,
    /// Parts of the source, in no order that matters.
    pub(crate) counters: Vec<Counter>,
    pub(crate) rejections: Rejections,
    /// The names of its columns, as far as they are shown.
    pub(crate) columns: Vec<String>,
    /// What is unusual about its text.
    pub(crate) oddities: Vec<&'static str>,
    /// Where each selected feature comes from, when rows are collected.
    pub(crate) origins: Vec<FeatureOrigin>,
}

/// The names of columns, as far as they are shown.
pub(crate) fn shown_columns<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.take(COLUMNS_SHOWN_MAX).map(cut).collect()
}

/// What is said of a text that begins with a byte order mark.
pub(crate) const BYTE_ORDER_MARK: &str = "it begins with a byte order mark";

/// Told from time to time how many bytes and rows are done.
pub(crate) type OnProgress<'a> = dyn FnMut(u64, u64) + 'a;

/// Rows between two looks at limits and two reports of progress in text formats.
pub(crate) const ROWS_BETWEEN_CHECKS: u64 = 16 * 1024;

/// Whether the text of a cell says no.
pub(crate) fn is_false(text: &[u8]) -> bool {
    text.eq_ignore_ascii_case(b"false") || text == b"0"
}

/// A hash of an id that is the same on every machine.
pub(crate) fn id_hash(id: &[u8]) -> u64 {
    use std::hash::BuildHasher as _;
    foldhash::quality::FixedState::with_seed(0x0061_676f_6e00).hash_one(id)
}

/// Checks limits and, in strict mode, that nothing was rejected.
pub(crate) fn check(counter: &Counter, options: DecodeOptions<'_>) -> Result<(), Error> {
    counter.check()?;
    if options.strict
        && let Some(error) = counter.first_rejection()
    {
        return Err(error);
    }
    Ok(())
}
