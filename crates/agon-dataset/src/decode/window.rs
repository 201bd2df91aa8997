//! A window that moves over a stream of text and grows to hold the record in front.

use std::{
    fmt,
    io::{self, Read},
};

/// Bytes read at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// The bytes of a stream that are at hand.
pub(crate) struct Window<'a> {
    reader: &'a mut dyn Read,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_at_end: bool,
    bytes_consumed: u64,
}

impl fmt::Debug for Window<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("bytes_consumed", &self.bytes_consumed)
            .finish_non_exhaustive()
    }
}

impl<'a> Window<'a> {
    /// A window over `reader` with nothing at hand yet.
    pub(crate) fn new(reader: &'a mut dyn Read) -> Self {
        Self {
            reader,
            buffer: vec![0; CHUNK_BYTES],
            start: 0,
            end: 0,
            is_at_end: false,
            bytes_consumed: 0,
        }
    }

    /// The bytes at hand.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether no more bytes will come.
    #[inline]
    pub(crate) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Bytes left behind.
    pub(crate) fn bytes_consumed(&self) -> u64 {
        self.bytes_consumed
    }

    /// Leaves the first `n` bytes behind.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        self.start += n;
        self.bytes_consumed += n as u64;
    }

    /// Reads more bytes behind the ones at hand.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            // Doubling keeps the sum of all rescans of a long record proportional to its length.
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        while self.end < self.buffer.len() && !self.is_at_end {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_at_end = true,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
