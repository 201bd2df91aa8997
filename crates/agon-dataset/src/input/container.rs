//! Compressed sources: what is in them is read as if it stood alone, within limits.
//!
//! gzip (RFC 1952, several members), zstd (RFC 8878, several frames), bzip2 and xz are taken apart while they are read; nothing is written to a disk but Parquet, which has its directory at its end.
//! At most [`LAYERS_MAX`] compressions lie around one source, as with a `.json.gz` in a zip archive.

use std::{
    io::{self, Read, Seek as _, SeekFrom},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use liblzma::stream::{CONCATENATED, Stream as Xz};
use sha2::{Digest as _, Sha256};

use super::{
    access::{LocalFile, RandomAccess},
    shape::{Compression, HEAD_BYTES, Recognised, Shape, recognise},
};
use crate::{Error, decode::window::hexadecimal};

/// Compressions around one source, a zip archive counted as one.
pub const LAYERS_MAX: usize = 2;

/// Unpacked bytes below which [`UnpackLimits::ratio_max`] is not looked at, as small files of equal rows pack to next to nothing.
pub const RATIO_FREE_BYTES: u64 = 256 * 1024 * 1024;

/// The largest window of a zstd frame that is taken, as a power of two: 128 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Memory that unpacking xz may take: its strongest preset takes 65 MiB.
const XZ_MEMORY_BYTES_MAX: u64 = 192 * 1024 * 1024;

/// How far compressed inputs may unpack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpackLimits {
    /// Bytes that one source unpacks to.
    pub bytes_max: u64,
    /// Unpacked bytes for each packed one, looked at from [`RATIO_FREE_BYTES`] on.
    pub ratio_max: u64,
    /// Files in one archive.
    pub members_max: usize,
}

impl Default for UnpackLimits {
    fn default() -> Self {
        Self {
            bytes_max: 64 * 1024 * 1024 * 1024,
            ratio_max: 200,
            members_max: 10_000,
        }
    }
}

/// What is known of the outermost bytes of a source while it is read: how far they are, and their checksum.
#[derive(Clone, Debug)]
pub(crate) struct Outer {
    n_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    checksum: Checksum,
    pub(super) etag: Option<String>,
    /// What kept bytes from being read anywhere, where the decoder has no way of saying so.
    failure: Arc<Mutex<Option<io::Error>>>,
}

#[derive(Clone, Debug)]
pub(super) enum Checksum {
    Unwanted,
    Known(String),
    Running(Arc<Mutex<Sha256>>),
    /// Being computed by a thread of its own.
    Beside(Arc<Mutex<Option<JoinHandle<io::Result<String>>>>>),
}

impl Checksum {
    /// One that a thread of its own computes while the file is decoded.
    pub(super) fn beside(access: &Arc<dyn RandomAccess>) -> Self {
        let access = Arc::clone(access);
        let thread = std::thread::spawn(move || sha256_of(&access));
        Self::Beside(Arc::new(Mutex::new(Some(thread))))
    }
}

impl Outer {
    pub(super) fn new(bytes_total: Option<u64>, checksum: Checksum) -> Self {
        Self {
            n_read: Arc::default(),
            bytes_total,
            checksum,
            etag: None,
            failure: Arc::default(),
        }
    }

    /// Bytes that were read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.n_read.load(Ordering::Relaxed)
    }

    /// How many there are, when known.
    pub(crate) fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Their SHA-256 in hexadecimal, when it was asked for; and what the server calls this version, when there is a server.
    pub(crate) fn into_version(
        self,
        path: &str,
    ) -> Result<(Option<String>, Option<String>), Error> {
        let sha256 = match self.checksum {
            Checksum::Unwanted => None,
            Checksum::Known(sha256) => Some(sha256),
            Checksum::Beside(thread) => {
                let thread = thread.lock().unwrap_or_else(PoisonError::into_inner).take();
                let failed = |source| Error::Read {
                    path: path.to_owned(),
                    source,
                };
                match thread.map(JoinHandle::join) {
                    None => None,
                    Some(Ok(sha256)) => Some(sha256.map_err(failed)?),
                    Some(Err(_)) => return Err(failed(io::Error::other("the checksum gave up"))),
                }
            }
            Checksum::Running(hasher) => {
                let hasher = hasher.lock().unwrap_or_else(PoisonError::into_inner);
                Some(hexadecimal(&hasher.clone().finalize()))
            }
        };
        Ok((sha256, self.etag))
    }

    /// The error as it should be told: one that was carried through a reader is taken out, and damage that is only a failure to read is told as such.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match error {
            Error::Malformed {
                path,
                format,
                detail,
            } => {
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                match failure.take() {
                    Some(source) => Error::Read { path, source },
                    None => Error::Malformed {
                        path,
                        format,
                        detail,
                    },
                }
            }
            Error::Read { path, source } => match source.downcast::<Error>() {
                Ok(carried) => carried,
                Err(source) => Error::Read { path, source },
            },
            error => error,
        }
    }
}

/// Reads the outermost bytes of a source, and counts and hashes them.
pub(super) struct Metered<R> {
    path: String,
    reader: R,
    outer: Outer,
}

impl<R: Read> Metered<R> {
    pub(super) fn new(path: &str, reader: R, outer: &Outer) -> Self {
        Self {
            path: path.to_owned(),
            reader,
            outer: outer.clone(),
        }
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = match self.reader.read(buffer) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                // So that it is not taken for damage by a decoder further in.
                return Err(io::Error::other(Error::Read {
                    path: self.path.clone(),
                    source: error,
                }));
            }
            read => read?,
        };
        self.outer.n_read.fetch_add(n as u64, Ordering::Relaxed);
        if let Checksum::Running(hasher) = &self.outer.checksum {
            let mut hasher = hasher.lock().unwrap_or_else(PoisonError::into_inner);
            hasher.update(&buffer[..n]);
        }
        Ok(n)
    }
}

/// Notes why bytes could not be read, for a decoder that only knows damage.
pub(super) struct Watched {
    pub(super) access: Arc<dyn RandomAccess>,
    pub(super) outer: Outer,
}

impl RandomAccess for Watched {
    fn name(&self) -> &str {
        self.access.name()
    }

    fn size(&self) -> u64 {
        self.access.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.access.read_at(offset, buffer).map_err(|error| {
            let told = io::Error::new(error.kind(), error.to_string());
            if error.kind() != io::ErrorKind::Interrupted {
                let failure = &self.outer.failure;
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(error);
            }
            told
        })
    }

    fn will_read(&self, ranges: &[std::ops::Range<u64>]) {
        self.access.will_read(ranges);
    }

    fn etag(&self) -> Option<&str> {
        self.access.etag()
    }

    fn is_local(&self) -> bool {
        self.access.is_local()
    }
}

/// Reads what a decoder unpacks, within limits, and tells damage from a failure to read.
pub(super) struct Unpacked<R> {
    path: String,
    format: &'static str,
    decoder: R,
    n_unpacked: u64,
    limits: UnpackLimits,
    outer: Outer,
}

impl<R: Read> Unpacked<R> {
    pub(super) fn new(
        path: &str,
        format: &'static str,
        decoder: R,
        limits: UnpackLimits,
        outer: &Outer,
    ) -> Self {
        Self {
            path: path.to_owned(),
            format,
            decoder,
            n_unpacked: 0,
            limits,
            outer: outer.clone(),
        }
    }

    /// The limit that is passed, in words.
    fn passed_limit(&self) -> Option<String> {
        let UnpackLimits {
            bytes_max,
            ratio_max,
            ..
        } = self.limits;
        if self.n_unpacked > bytes_max {
            return Some(format!("it unpacks to more than {bytes_max} bytes"));
        }
        let n_packed = self.outer.bytes_read();
        if self.n_unpacked > RATIO_FREE_BYTES
            && self.n_unpacked > n_packed.saturating_mul(ratio_max)
        {
            return Some(format!(
                "it unpacks to more than {ratio_max} times its size ({} bytes from {n_packed})",
                self.n_unpacked
            ));
        }
        None
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = match self.decoder.read(buffer) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Error>()) => {
                return Err(error);
            }
            Err(error) => {
                let detail = if error.kind() == io::ErrorKind::UnexpectedEof {
                    "it ends too early".to_owned()
                } else if self.format == "gzip"
                    && self.n_unpacked > 0
                    && error.kind() == io::ErrorKind::InvalidInput
                {
                    // The decoder takes what stands behind the first member for another.
                    "something that is no gzip stands behind its end".to_owned()
                } else {
                    error.to_string()
                };
                return Err(io::Error::other(Error::Malformed {
                    path: self.path.clone(),
                    format: self.format,
                    detail,
                }));
            }
        };
        self.n_unpacked += n as u64;
        if let Some(detail) = self.passed_limit() {
            return Err(io::Error::other(Error::UnpackLimit {
                path: self.path.clone(),
                detail,
            }));
        }
        Ok(n)
    }
}

/// A stream.
pub(super) type Stream = Box<dyn Read + Send>;

fn decoder(
    path: &str,
    compression: Compression,
    stream: Stream,
    limits: UnpackLimits,
    outer: &Outer,
) -> io::Result<Stream> {
    let name = compression.as_str();
    Ok(match compression {
        Compression::Gzip => {
            let decoder = flate2::read::MultiGzDecoder::new(stream);
            Box::new(Unpacked::new(path, name, decoder, limits, outer))
        }
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(stream)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(Unpacked::new(path, name, decoder, limits, outer))
        }
        Compression::Bzip2 => {
            let decoder = bzip2::read::MultiBzDecoder::new(stream);
            Box::new(Unpacked::new(path, name, decoder, limits, outer))
        }
        Compression::Xz => {
            let xz = Xz::new_stream_decoder(XZ_MEMORY_BYTES_MAX, CONCATENATED)?;
            let decoder = liblzma::read::XzDecoder::new_stream(stream, xz);
            Box::new(Unpacked::new(path, name, decoder, limits, outer))
        }
    })
}

/// Unwraps a stream until it is of a shape that can be decoded; `n_layers` are around it already.
pub(super) fn unwrap(
    path: &str,
    mut stream: Stream,
    mut n_layers: usize,
    limits: UnpackLimits,
    outer: &Outer,
) -> Result<(Stream, Shape), Error> {
    let failed = |source| {
        outer.explain(Error::Read {
            path: path.to_owned(),
            source,
        })
    };
    let nested = |found| Error::UnknownFormat {
        path: path.to_owned(),
        found,
    };
    loop {
        let mut head = Vec::new();
        (&mut stream)
            .take(HEAD_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(failed)?;
        let recognised = recognise(path, &head)?;
        stream = Box::new(io::Cursor::new(head).chain(stream));
        match recognised {
            Recognised::Plain(shape) => return Ok((stream, shape)),
            Recognised::Zip => return Err(nested("a zip archive inside of another container")),
            Recognised::Compressed(_) if n_layers == LAYERS_MAX => {
                return Err(nested("compressed more than twice"));
            }
            Recognised::Compressed(compression) => {
                n_layers += 1;
                stream = decoder(path, compression, stream, limits, outer).map_err(failed)?;
            }
        }
    }
}

/// Writes a stream to a temporary file without a name.
pub(super) fn spool(path: &str, stream: &mut dyn Read) -> io::Result<Arc<dyn RandomAccess>> {
    let mut file = tempfile::tempfile()?;
    let bytes = io::copy(stream, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Arc::new(LocalFile::new(path.to_owned(), file, bytes)))
}

/// The SHA-256 of all bytes in hexadecimal.
pub(super) fn sha256_of(access: &Arc<dyn RandomAccess>) -> io::Result<String> {
    let mut reader = super::access::Cursor::sequential(Arc::clone(access));
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(&hasher.finalize())),
            Ok(n) => hasher.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
