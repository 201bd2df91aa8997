//! A directory of fields, as TIFF has it and EXIF borrows it (TIFF 6.0, section 2). Classic TIFF only: offsets of 32 bits.

/// The tag of the directory that holds the position.
pub(super) const GPS: u16 = 0x8825;

/// The most values of one field that are read.
const N_VALUES_MAX: usize = 1 << 20;

/// One directory in a block of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Directory<'a> {
    block: &'a [u8],
    is_big_endian: bool,
    /// Where its fields begin.
    at: usize,
    n_fields: u16,
}

impl<'a> Directory<'a> {
    /// The first directory of a block that begins with TIFF's header.
    pub(super) fn first(block: &'a [u8]) -> Option<Self> {
        let is_big_endian = match block.first_chunk()? {
            b"II\x2a\0" => false,
            b"MM\0\x2a" => true,
            _ => return None,
        };
        let header = Self {
            block,
            is_big_endian,
            at: 0,
            n_fields: 0,
        };
        header.directory_at(header.u32(4)?)
    }

    fn directory_at(self, at: u32) -> Option<Self> {
        let at = at as usize;
        Some(Self {
            n_fields: self.u16(at)?,
            at: at + 2,
            ..self
        })
    }

    /// The place of the next directory, or `None` if this is the last.
    pub(super) fn next_at(self) -> Option<u32> {
        self.u32(self.at + usize::from(self.n_fields) * 12)
            .filter(|&at| at != 0)
    }

    /// The next directory.
    pub(super) fn next(self) -> Option<Self> {
        self.directory_at(self.next_at()?)
    }

    fn u16(self, at: usize) -> Option<u16> {
        let bytes = *self.block.get(at..)?.first_chunk()?;
        Some(if self.is_big_endian {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        })
    }

    fn u32(self, at: usize) -> Option<u32> {
        let bytes = *self.block.get(at..)?.first_chunk()?;
        Some(if self.is_big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    /// Where the field with this tag begins.
    fn field(self, tag: u16) -> Option<usize> {
        (0..usize::from(self.n_fields))
            .map(|field| self.at + field * 12)
            .find(|&at| self.u16(at) == Some(tag))
    }

    /// Whether there is a field with this tag.
    pub(super) fn has(self, tag: u16) -> bool {
        self.field(tag).is_some()
    }

    /// The whole block with the one number of 16 bits of this field changed. `None` if there is no such field.
    pub(super) fn block_with(self, tag: u16, number: u16) -> Option<Vec<u8>> {
        const SHORT: u16 = 3;
        let at = self.field(tag)?;
        if self.u16(at + 2) != Some(SHORT) {
            return None;
        }
        let bytes = if self.is_big_endian {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        };
        let mut block = self.block.to_vec();
        block.get_mut(at + 8..at + 10)?.copy_from_slice(&bytes);
        Some(block)
    }

    /// All bytes of a field, and how many bytes one of its values has. `None` if the field is missing or reaches beyond the block.
    fn value(self, tag: u16) -> Option<(&'a [u8], usize)> {
        let at = self.field(tag)?;
        let value_bytes = match self.u16(at + 2)? {
            // BYTE, ASCII, SBYTE, UNDEFINED.
            1 | 2 | 6 | 7 => 1,
            // SHORT, SSHORT.
            3 | 8 => 2,
            // LONG, SLONG, FLOAT, IFD.
            4 | 9 | 11 | 13 => 4,
            // RATIONAL, SRATIONAL, DOUBLE.
            5 | 10 | 12 => 8,
            _ => return None,
        };
        let length = (self.u32(at + 4)? as usize).checked_mul(value_bytes)?;
        // Up to four bytes lie in the field itself.
        let start = if length <= 4 {
            at + 8
        } else {
            self.u32(at + 8)? as usize
        };
        let bytes = self.block.get(start..)?.get(..length)?;
        Some((bytes, value_bytes))
    }

    /// The bytes of a field.
    pub(super) fn bytes(self, tag: u16) -> Option<&'a [u8]> {
        Some(self.value(tag)?.0)
    }

    /// The whole numbers of a field; `None` if it is missing, broken or of another type.
    pub(super) fn numbers(self, tag: u16) -> Option<Vec<u32>> {
        let (bytes, value_bytes) = self.value(tag)?;
        if bytes.len() / value_bytes > N_VALUES_MAX {
            return None;
        }
        let place = |idx: usize| Self {
            block: &bytes[idx * value_bytes..],
            ..self
        };
        let n_values = 0..bytes.len() / value_bytes;
        match value_bytes {
            1 => Some(bytes.iter().copied().map(u32::from).collect()),
            2 => n_values
                .map(|idx| place(idx).u16(0).map(u32::from))
                .collect(),
            4 => n_values.map(|idx| place(idx).u32(0)).collect(),
            _ => None,
        }
    }

    /// The first whole number of a field.
    pub(super) fn number(self, tag: u16) -> Option<u32> {
        self.numbers(tag)?.first().copied()
    }

    /// The fractions of a field.
    pub(super) fn fractions(self, tag: u16) -> Option<Vec<f32>> {
        let (bytes, 8) = self.value(tag)? else {
            return None;
        };
        let halves = Self {
            block: bytes,
            ..self
        };
        (0..bytes.len().min(64) / 8)
            .map(|idx| Some(halves.u32(idx * 8)? as f32 / halves.u32(idx * 8 + 4)? as f32))
            .collect()
    }
}
