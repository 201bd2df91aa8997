//! Zip archives: each file in one is a source of its own, called `archive.zip!file`.
//!
//! Only the directory at the end of an archive and the files that are read are fetched.
//! No name from an archive ever becomes a path: names are shown, and nothing is written.

use std::{
    io::{self, BufReader, Read},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::{
    Content, Opening, Source,
    access::{Cursor, RandomAccess, SEQUENTIAL_BYTES},
    container::{Checksum, Metered, Outer, Stream, UnpackLimits, Unpacked, sha256_of},
};
use crate::Error;

/// Characters of a file's name in an archive that are shown.
const NAME_CHARS_MAX: usize = 300;

/// An archive whose directory was read.
pub(crate) struct Archive {
    access: Arc<dyn RandomAccess>,
    zip: Mutex<ZipArchive<BufReader<Cursor>>>,
    sha256: OnceLock<String>,
}

/// One file in an archive.
pub(crate) struct Member {
    archive: Arc<Archive>,
    idx: usize,
}

/// The files of an archive as sources, in the order of their names; or the one source that says why not.
pub(super) fn members(
    path: &str,
    access: Arc<dyn RandomAccess>,
    is_incidental: bool,
    limits: UnpackLimits,
) -> Vec<Source> {
    listed(path, access, is_incidental, limits).unwrap_or_else(|error| {
        vec![Source {
            path: path.to_owned(),
            content: Content::Refused(Box::new(error)),
            member: None,
            is_incidental,
        }]
    })
}

fn listed(
    path: &str,
    access: Arc<dyn RandomAccess>,
    is_incidental: bool,
    limits: UnpackLimits,
) -> Result<Vec<Source>, Error> {
    let malformed = |detail: String| Error::Malformed {
        path: path.to_owned(),
        format: "zip",
        detail,
    };
    let unknown = |found| Error::UnknownFormat {
        path: path.to_owned(),
        found,
    };
    let zip =
        ZipArchive::new(BufReader::new(Cursor::new(Arc::clone(&access)))).map_err(|error| {
            match error {
                ZipError::Io(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                    Error::Read {
                        path: path.to_owned(),
                        source,
                    }
                }
                error => malformed(error.to_string()),
            }
        })?;
    if zip.len() > limits.members_max {
        return Err(Error::UnpackLimit {
            path: path.to_owned(),
            detail: format!(
                "it holds {} files, more than {}",
                zip.len(),
                limits.members_max
            ),
        });
    }
    if zip.has_duplicate_names() {
        return Err(malformed("two files in it have the same name".to_owned()));
    }
    let mut named = Vec::new();
    let mut bytes_packed = 0_u64;
    for idx in 0..zip.len() {
        let entry = zip
            .by_index_data(idx)
            .map_err(|error| malformed(error.to_string()))?;
        if entry.is_dir() || entry.is_symlink() {
            continue;
        }
        bytes_packed = bytes_packed.saturating_add(entry.compressed_size());
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let is_hidden = name.split(['/', '\\']).any(|part| {
            (part.starts_with('.') && part != "." && part != "..") || part == "__MACOSX"
        });
        if !is_hidden {
            named.push((name, idx));
        }
    }
    // Files that share bytes are how small archives claim to be huge ones.
    if bytes_packed > access.size() {
        return Err(malformed(
            "its files claim more bytes than it has".to_owned(),
        ));
    }
    if named.is_empty() {
        return Err(unknown("a zip archive without files"));
    }
    named.sort_unstable();
    let is_release = named.iter().any(|(name, _)| is_release_data(name));
    if is_release {
        named.retain(|(name, _)| is_release_data(name));
    }
    let is_incidental = is_incidental || !is_release;
    let archive = Arc::new(Archive {
        access,
        zip: Mutex::new(zip),
        sha256: OnceLock::new(),
    });
    Ok(named
        .into_iter()
        .map(|(name, idx)| Source {
            path: format!("{path}!{}", shown(&name)),
            member: Some(shown(&name)),
            content: Content::Member(Member {
                archive: Arc::clone(&archive),
                idx,
            }),
            is_incidental,
        })
        .collect())
}

/// Whether this is `data/*.parquet` of a release, which may have been packed with the folder around it.
fn is_release_data(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let (["data", file] | [_, "data", file]) = parts.as_slice() else {
        return false;
    };
    file.ends_with(".parquet")
}

/// A name that cannot steer a terminal.
fn shown(name: &str) -> String {
    name.chars()
        .take(NAME_CHARS_MAX)
        .map(|character| match character {
            character if character.is_control() => char::REPLACEMENT_CHARACTER,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => {
                char::REPLACEMENT_CHARACTER
            }
            character => character,
        })
        .collect()
}

impl Member {
    /// The bytes of the file, unpacked.
    pub(super) fn open(self, path: &str, opening: &Opening) -> Result<(Stream, Outer), Error> {
        let Self { archive, idx } = self;
        let malformed = |detail: &dyn std::fmt::Display| Error::Malformed {
            path: path.to_owned(),
            format: "zip",
            detail: detail.to_string(),
        };
        let failed = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let unknown = |found| Error::UnknownFormat {
            path: path.to_owned(),
            found,
        };
        let (start, length, method, expected) = {
            let mut zip = archive.zip.lock().unwrap_or_else(PoisonError::into_inner);
            let file = zip.by_index_raw(idx).map_err(|error| match error {
                ZipError::Io(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                    failed(source)
                }
                error => malformed(&error),
            })?;
            if file.encrypted() {
                return Err(unknown("encrypted in its zip archive"));
            }
            let expected = Expected {
                size: file.size(),
                crc32: file.crc32(),
            };
            let start = file
                .data_start()
                .ok_or_else(|| malformed(&"it cannot be found in its archive"))?;
            (start, file.compressed_size(), file.compression(), expected)
        };
        if start
            .checked_add(length)
            .is_none_or(|end| end > archive.access.size())
        {
            return Err(malformed(&"it lies beyond the end of its archive"));
        }
        let checksum = if opening.hashes(archive.access.as_ref()) {
            let known = archive.sha256.get();
            let sha256 = match known {
                Some(sha256) => sha256.clone(),
                None => {
                    let sha256 = sha256_of(&archive.access).map_err(failed)?;
                    archive.sha256.get_or_init(|| sha256).clone()
                }
            };
            Checksum::Known(sha256)
        } else {
            Checksum::Unwanted
        };
        let mut outer = Outer::new(Some(length), checksum);
        outer.etag = archive.access.etag().map(str::to_owned);
        let range = start..start + length;
        archive.access.will_read(std::slice::from_ref(&range));
        let packed = Cursor::at(Arc::clone(&archive.access), start).take(length);
        let packed = BufReader::with_capacity(SEQUENTIAL_BYTES, packed);
        let packed = Metered::new(path, packed, &outer);
        let limits = opening.limits;
        let stream: Stream = match method {
            CompressionMethod::STORE => Box::new(Checked::new(path, packed, expected)),
            CompressionMethod::DEFLATE => {
                let decoder = flate2::read::DeflateDecoder::new(packed);
                let unpacked = Unpacked::new(path, "zip", decoder, limits, &outer);
                Box::new(Checked::new(path, unpacked, expected))
            }
            CompressionMethod::ZSTD | CompressionMethod::ZSTD_DEPRECATED => {
                let decoder = zstd::stream::read::Decoder::new(packed).map_err(failed)?;
                let unpacked = Unpacked::new(path, "zip", decoder, limits, &outer);
                Box::new(Checked::new(path, unpacked, expected))
            }
            _ => return Err(unknown("packed in a way that is not known here")),
        };
        Ok((stream, outer))
    }
}

/// What the directory of an archive says of a file.
#[derive(Clone, Copy, Debug)]
struct Expected {
    size: u64,
    crc32: u32,
}

/// Holds what is read against the directory of the archive.
struct Checked<R> {
    path: String,
    reader: R,
    expected: Expected,
    crc: flate2::Crc,
    n_read: u64,
}

impl<R: Read> Checked<R> {
    fn new(path: &str, reader: R, expected: Expected) -> Self {
        Self {
            path: path.to_owned(),
            reader,
            expected,
            crc: flate2::Crc::new(),
            n_read: 0,
        }
    }

    fn contradicts(&self, detail: String) -> io::Error {
        io::Error::other(Error::Malformed {
            path: self.path.clone(),
            format: "zip",
            detail,
        })
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let n = self.reader.read(buffer)?;
        self.crc.update(&buffer[..n]);
        self.n_read += n as u64;
        let Expected { size, crc32 } = self.expected;
        if self.n_read > size || (n == 0 && self.n_read < size) {
            let than = if n == 0 { "fewer" } else { "more" };
            return Err(self.contradicts(format!(
                "it has {than} bytes than the {size} that the archive says"
            )));
        }
        if n == 0 && self.crc.sum() != crc32 {
            return Err(self.contradicts("its checksum is wrong".to_owned()));
        }
        Ok(n)
    }
}
