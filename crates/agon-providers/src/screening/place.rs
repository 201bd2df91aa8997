//! Where things are: pieces of long texts, places in code points and bytes, boxes in pixels.

use std::ops::Range;

use agon_domain::{FindingPlace, PixelBox};

use super::exchange::Trouble;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) bytes: Range<usize>,
    pub(super) chars: Range<usize>,
}

impl Piece {
    /// The place of a finding about the whole piece of `text`.
    pub(super) fn place(&self, text: &str) -> FindingPlace {
        if self.bytes == (0..text.len()) {
            FindingPlace::Whole
        } else {
            FindingPlace::Text {
                bytes: self.bytes.clone(),
                chars: self.chars.clone(),
            }
        }
    }

    /// The place of code points of this piece, counted from its start.
    pub(super) fn part(&self, text: &str, chars: Range<usize>) -> Result<FindingPlace, Trouble> {
        let outside = || Trouble::malformed("a place in the answer is outside the text");
        if chars.start >= chars.end || chars.end > self.chars.len() {
            return Err(outside());
        }
        let piece = &text[self.bytes.clone()];
        let byte_at = |n: usize| {
            piece
                .char_indices()
                .map(|(at, _)| at)
                .chain([piece.len()])
                .nth(n)
                .map(|at| self.bytes.start + at)
                .ok_or_else(outside)
        };
        Ok(FindingPlace::Text {
            bytes: byte_at(chars.start)?..byte_at(chars.end)?,
            chars: self.chars.start + chars.start..self.chars.start + chars.end,
        })
    }
}

/// The text in pieces of at most `chars_max` code points, each of which repeats the end of the one before, so that what lies on a border is whole in one of them.
pub(super) fn pieces(text: &str, chars_max: usize, overlap_chars: usize) -> Vec<Piece> {
    let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let n_chars = starts.len();
    starts.push(text.len());
    let step = chars_max - overlap_chars;
    let mut pieces = Vec::new();
    let mut start = 0;
    loop {
        let end = (start + chars_max).min(n_chars);
        pieces.push(Piece {
            bytes: starts[start]..starts[end],
            chars: start..end,
        });
        if end == n_chars {
            return pieces;
        }
        start += step;
    }
}

/// The part of a rectangle that lies in a picture. Services draw faces that the edge cuts beyond it.
pub(super) fn clipped(
    (left, top): (i64, i64),
    (right, bottom): (i64, i64),
    (width_px, height_px): (u32, u32),
) -> Result<PixelBox, Trouble> {
    let clip = |value: i64, side: u32| u32::try_from(value.clamp(0, i64::from(side))).ok();
    let sides = (
        clip(left, width_px),
        clip(top, height_px),
        clip(right, width_px),
        clip(bottom, height_px),
    );
    match sides {
        (Some(left_px), Some(top_px), Some(right), Some(bottom))
            if left_px < right && top_px < bottom =>
        {
            Ok(PixelBox {
                left_px,
                top_px,
                width_px: right - left_px,
                height_px: bottom - top_px,
            })
        }
        _ => Err(Trouble::malformed(
            "a box in the answer is empty or outside the picture",
        )),
    }
}
