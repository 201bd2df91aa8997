//! PDQ: a picture's hash that hardly changes when the picture is scaled, blurred or re-encoded, and what can be found by it.
//!
//! The algorithm is Meta's PDQ ("The TMK+PDQF Video-Hashing Algorithm and the PDQ Image-Hashing Algorithm", ThreatExchange repository, `hashing/hashing.pdf`), written anew; it gives the bits and the quality of the reference library in C++.
//! 256 bits say which of the 16 × 16 lowest frequencies are above their median; two pictures are alike when at most [`DISTANCE_MAX`] bits differ.
//!
//! **A hash of low quality says nothing.** Pictures without structure (one colour, text on white) have hashes that hang on rounding.
//! Below [`QUALITY_MIN`] a hash is kept but matches nothing ([`PerceptualHash::is_reliable`]); such pictures rest on exact hashes alone, and whoever records a check has to say so.
//!
//! **One preparation.** The picture is made upright and laid on white by [`crate::image::normalise`], then scaled to at most [`PREPARED_SIDE_MAX_PX`] a side, then hashed.
//! Hashes of another preparation differ by 4 to 12 bits; [`VERSION`] changes with it.
//!
//! What PDQ is not for: crops, borders and overlays change it beyond recognition.
//!
//! [`NearIndex`] finds all hashes within a distance among millions.

mod near_index;
mod pdq;

use std::fmt;
use std::str::FromStr;

use crate::image::Pixels;

pub use near_index::{NearIndex, Neighbour};

/// The version of preparation and hashing together. Hashes of different versions are compared with a few bits of error.
pub const VERSION: u32 = 1;

/// Two pictures count as alike up to this many differing bits, the threshold that PDQ's authors recommend.
pub const DISTANCE_MAX: u32 = 31;

/// The lowest quality at which a hash may match, the threshold that PDQ's authors recommend.
pub const QUALITY_MIN: u8 = 50;

/// The longest side of a picture when it is hashed, in pixels.
pub const PREPARED_SIDE_MAX_PX: u32 = 512;

/// The 256 bits of a PDQ hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PdqHash {
    /// Bits 255 to 192 first, so that the order is that of the hexadecimal spelling.
    words: [u64; 4],
}

impl PdqHash {
    /// The hash that stands for "no hash": a picture too small for one. It never matches.
    pub const ZERO: Self = Self { words: [0; 4] };

    /// From 32 bytes, bit 255 first, as the hexadecimal spelling has them.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_be_bytes(*bytes);
        }
        Self { words }
    }

    /// Its 32 bytes, bit 255 first.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.words) {
            *bytes = word.to_be_bytes();
        }
        bytes
    }

    /// The number of differing bits, 0 to 256.
    pub fn distance(self, other: Self) -> u32 {
        self.words
            .iter()
            .zip(other.words)
            .map(|(a, b)| (a ^ b).count_ones())
            .sum()
    }

    /// The hash with bit `bit` (0 to 255) set.
    fn with_bit(mut self, bit: usize) -> Self {
        self.words[3 - bit / 64] |= 1 << (bit % 64);
        self
    }

    /// One of its sixteen runs of 16 bits, `slot` 0 to 15.
    const fn slot(self, slot: usize) -> u16 {
        // The cast keeps the lowest 16 bits, which is meant.
        (self.words[slot / 4] >> (slot % 4 * 16)) as u16
    }
}

impl fmt::Display for PdqHash {
    /// 64 lower-case hexadecimal digits, bit 255 first.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words
            .iter()
            .try_for_each(|word| write!(formatter, "{word:016x}"))
    }
}

impl fmt::Debug for PdqHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PdqHash({self})")
    }
}

/// Why a text is no PDQ hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no PDQ hash: 64 hexadecimal digits are needed")]
pub struct PdqParseError {
    /// The text, shortened.
    pub text: String,
}

impl FromStr for PdqHash {
    type Err = PdqParseError;

    /// Reads 64 hexadecimal digits of either case, without prefix or blanks.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        crate::hexadecimal::parse::<32>(text)
            .map(Self::from_bytes)
            .ok_or_else(|| PdqParseError {
                text: crate::hexadecimal::shortened(text),
            })
    }
}

/// A turn or flip of a picture, by PDQ's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Turn {
    /// As it is.
    Original,
    /// A quarter turn counter-clockwise.
    Rotate90,
    /// Half a turn.
    Rotate180,
    /// A quarter turn clockwise.
    Rotate270,
    /// Top and bottom exchanged.
    FlipX,
    /// Left and right exchanged.
    FlipY,
    /// Mirrored at the falling diagonal: rows become columns.
    FlipPlus1,
    /// Mirrored at the rising diagonal.
    FlipMinus1,
}

impl Turn {
    /// All of them, in the order of [`PerceptualHash::turned`].
    pub const ALL: [Self; 8] = [
        Self::Original,
        Self::Rotate90,
        Self::Rotate180,
        Self::Rotate270,
        Self::FlipX,
        Self::FlipY,
        Self::FlipPlus1,
        Self::FlipMinus1,
    ];

    /// Its stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Rotate90 => "rotate90",
            Self::Rotate180 => "rotate180",
            Self::Rotate270 => "rotate270",
            Self::FlipX => "flip_x",
            Self::FlipY => "flip_y",
            Self::FlipPlus1 => "flip_plus1",
            Self::FlipMinus1 => "flip_minus1",
        }
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A picture's PDQ hash with its quality and the hashes that its turns and flips would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerceptualHash {
    /// How much structure the picture has, 0 to 100.
    pub quality: u8,
    /// The hashes of its turns and flips, in the order of [`Turn::ALL`]; the first is the picture's own.
    pub turned: [PdqHash; 8],
}

impl PerceptualHash {
    /// Prepares a normalised picture and hashes it.
    ///
    /// A picture with a side under 5 pixels has [`PdqHash::ZERO`] and quality 0.
    pub fn of(picture: &Pixels) -> Self {
        Self::of_full_size(&picture.scaled_to_fit(PREPARED_SIDE_MAX_PX))
    }

    /// Hashes a picture as large as it is, as the reference library does with what it is given.
    pub fn of_full_size(picture: &Pixels) -> Self {
        pdq::hash(
            picture.width_px() as usize,
            picture.height_px() as usize,
            picture.as_rgb(),
        )
    }

    /// The picture's own hash.
    pub const fn hash(&self) -> PdqHash {
        self.turned[0]
    }

    /// Whether the hash has enough structure to match anything.
    pub fn is_reliable(&self) -> bool {
        self.quality >= QUALITY_MIN && self.hash() != PdqHash::ZERO
    }

    /// The closest turn or flip to `other`, if this hash is reliable and at most [`DISTANCE_MAX`] bits differ.
    ///
    /// `other` must be the hash of a picture that was reliable itself.
    pub fn matches(&self, other: PdqHash) -> Option<(Turn, u32)> {
        if !self.is_reliable() || other == PdqHash::ZERO {
            return None;
        }
        Turn::ALL
            .into_iter()
            .zip(self.turned)
            .map(|(turn, hash)| (turn, hash.distance(other)))
            .min_by_key(|&(_, distance)| distance)
            .filter(|&(_, distance)| distance <= DISTANCE_MAX)
    }
}

#[cfg(test)]
pub(crate) mod tests;
