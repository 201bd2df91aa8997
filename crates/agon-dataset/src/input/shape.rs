//! What the first bytes of a source say it is.

use crate::Error;

/// Bytes looked at to recognise a format.
pub(super) const HEAD_BYTES: usize = 16 * 1024;

/// Where a tar archive says that it is one.
const TAR_MAGIC: std::ops::Range<usize> = 257..262;

/// What the first bytes promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Empty,
    Parquet,
    Delimited,
    JsonArray,
    JsonLines,
}

/// A compression of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

impl Compression {
    /// Its name in messages.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
}

/// What a source is, or what it is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recognised {
    Plain(Shape),
    Compressed(Compression),
    Zip,
}

/// Whether a source that begins so is a zip archive.
pub(super) fn is_zip(head: &[u8]) -> bool {
    // The second is an archive without a file.
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// Looks at the first bytes of a source.
pub(super) fn recognise(path: &str, head: &[u8]) -> Result<Recognised, Error> {
    let unknown = |found| {
        Err(Error::UnknownFormat {
            path: path.to_owned(),
            found,
        })
    };
    match head {
        [] => return Ok(Recognised::Plain(Shape::Empty)),
        [b'P', b'A', b'R', b'1', ..] => return Ok(Recognised::Plain(Shape::Parquet)),
        [b'P', b'A', b'R', b'E', ..] => return unknown("an encrypted Parquet file"),
        [0x1f, 0x8b, ..] => return Ok(Recognised::Compressed(Compression::Gzip)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => return Ok(Recognised::Compressed(Compression::Zstd)),
        // A frame that may be skipped, which some writers put in front.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            return Ok(Recognised::Compressed(Compression::Zstd));
        }
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            return Ok(Recognised::Compressed(Compression::Bzip2));
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            return Ok(Recognised::Compressed(Compression::Xz));
        }
        [b'7', b'z', 0xbc, 0xaf, ..] => return unknown("a 7z archive"),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => return unknown("an Arrow file"),
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => return unknown("an SQLite database"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return unknown("UTF-16 text"),
        _ if is_zip(head) => return Ok(Recognised::Zip),
        _ if head.get(TAR_MAGIC) == Some(b"ustar") => return unknown("a tar archive"),
        _ => {}
    }
    let text = without_byte_order_mark(head);
    if memchr::memchr(0, text).is_some() {
        return unknown("binary data");
    }
    Ok(Recognised::Plain(
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => Shape::JsonArray,
            Some(b'{') => Shape::JsonLines,
            _ => Shape::Delimited,
        },
    ))
}

/// The bytes without a UTF-8 byte order mark.
pub(crate) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}
