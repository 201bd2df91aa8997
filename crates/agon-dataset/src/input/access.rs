//! Bytes that can be read at any place: a local file, or an object behind a network.

#[cfg(not(unix))]
use std::sync::{Mutex, PoisonError};
use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;
use parquet::{
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};

/// Bytes that are read at once when a source is read from first to last.
pub(super) const SEQUENTIAL_BYTES: usize = 256 * 1024;

/// Bytes for which memory is taken before the ones before them came.
const STEP_BYTES: usize = 16 * 1024 * 1024;
/// The same for a file of this machine, which has the bytes that it says to have: growing step by step would copy them.
const LOCAL_STEP_BYTES: usize = 256 * 1024 * 1024;

/// Bytes of known length that can be read at any place, by several threads.
pub trait RandomAccess: Send + Sync {
    /// How messages call it: a path, or an address without anything secret.
    fn name(&self) -> &str;

    /// How many bytes there are.
    fn size(&self) -> u64;

    /// Reads bytes that begin at `offset` into the front of `buffer`, and says how many: at least one, unless the end is reached or the buffer is empty.
    ///
    /// # Errors
    ///
    /// Whatever keeps the bytes from being read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Tells which bytes will be asked for soon, in this order, so that they can be fetched together and ahead of time. Nothing else is promised on either side.
    fn will_read(&self, ranges: &[Range<u64>]) {
        let _ = ranges;
    }

    /// What its server calls this version of it, if it has a server that says so.
    fn etag(&self) -> Option<&str> {
        None
    }

    /// Whether all of it can be read at about the cost of a part, so that a checksum is worth having. Untrue of what comes through a network.
    fn is_local(&self) -> bool {
        true
    }
}

impl fmt::Debug for dyn RandomAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RandomAccess")
            .field("name", &self.name())
            .field("size", &self.size())
            .finish()
    }
}

/// A file of the operating system.
pub(crate) struct LocalFile {
    name: String,
    size: u64,
    #[cfg(unix)]
    file: File,
    /// Where reading moves a position, one thread reads at a time.
    #[cfg(not(unix))]
    file: Mutex<File>,
}

impl LocalFile {
    /// A file of `size` bytes that messages call `name`.
    pub(crate) fn new(name: String, file: File, size: u64) -> Self {
        Self {
            name,
            size,
            #[cfg(unix)]
            file,
            #[cfg(not(unix))]
            file: Mutex::new(file),
        }
    }
}

impl RandomAccess for LocalFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }
}

/// Reads the bytes of `range` whole.
pub(crate) fn read_range(access: &dyn RandomAccess, range: Range<u64>) -> io::Result<Bytes> {
    let length = range.end.saturating_sub(range.start);
    if range.end > access.size() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let step_bytes = match access.is_local() {
        true => LOCAL_STEP_BYTES,
        false => STEP_BYTES,
    };
    // Memory that is new from the operating system is 0 already.
    let mut bytes = vec![0; length.min(step_bytes)];
    let mut n_done = 0;
    while n_done < length {
        if n_done == bytes.len() {
            // What a file or a server claims to have is believed step by step.
            bytes.resize(length.min(n_done + step_bytes), 0);
        }
        match access.read_at(range.start + n_done as u64, &mut bytes[n_done..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => n_done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes.into())
}

/// A cursor over bytes that can be read at any place.
#[derive(Clone)]
pub(crate) struct Cursor {
    access: Arc<dyn RandomAccess>,
    position: u64,
}

impl Cursor {
    /// A cursor at the start.
    pub(crate) fn new(access: Arc<dyn RandomAccess>) -> Self {
        Self::at(access, 0)
    }

    /// A cursor at a place.
    pub(crate) fn at(access: Arc<dyn RandomAccess>, position: u64) -> Self {
        Self { access, position }
    }

    /// A cursor at the start of what will be read to its end.
    pub(crate) fn sequential(access: Arc<dyn RandomAccess>) -> impl Read + Send {
        let all = 0..access.size();
        access.will_read(std::slice::from_ref(&all));
        io::BufReader::with_capacity(SEQUENTIAL_BYTES, Self::new(access))
    }
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_left = self.access.size().saturating_sub(self.position);
        let n_max = usize::try_from(n_left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if n_max == 0 {
            return Ok(0);
        }
        let n = self.access.read_at(self.position, &mut buffer[..n_max])?;
        self.position += n as u64;
        if n == 0 {
            // The file has become shorter since it was opened.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(n)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.access.size().checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// What Parquet's own code reads through.
pub(crate) struct Chunks<'a>(pub(crate) &'a Arc<dyn RandomAccess>);

impl Length for Chunks<'_> {
    fn len(&self) -> u64 {
        self.0.size()
    }
}

impl ChunkReader for Chunks<'_> {
    type T = io::BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(io::BufReader::new(Cursor {
            access: Arc::clone(self.0),
            position: start,
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.saturating_add(length as u64);
        let bytes = read_range(self.0.as_ref(), start..end)?;
        Ok(bytes)
    }
}
