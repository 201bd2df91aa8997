//! Text in pictures: PP-OCR finds lines, another network reads each of them.
//!
//! 1. **Lines** (`regions.rs`): a network marks where text is; each marked area becomes a rectangle, turned as the text is.
//! 2. **Strips** (`strip.rs`): each rectangle is cut out and laid level.
//! 3. **Direction**: strips that stand upright are turned by a quarter, and a small network tells whether a strip is upside down. A strip that reads badly is read the other way round too, and the better reading stays.
//! 4. **Reading** (`reading.rs`): a network gives a character or none for each column of the strip.
//! 5. **Order** (`layout.rs`): rows from the top, in each from the left.
//!
//! Each character keeps its place in the picture, so that a part of a text can be found and painted over.

mod layout;
mod reading;
mod regions;
mod strip;

use std::{ops::Range, path::Path, sync::Arc};

use agon_content::image::Pixels;
use agon_domain::{DetectorFailure, DetectorIdentity, FindingKind, PixelBox};

use crate::{Error, Runtime, failure::internal, network::Network, weights};

pub use layout::columns;
pub(crate) use layout::is_same_row;
#[cfg(test)]
pub(crate) use layout::tests::line;
pub use strip::Corners;

/// Longest side, in pixels, that lines are looked for in at first. Longer ones find smaller text, and the time grows with their square.
const SIDE_PX: u32 = 960;

/// Where there is small text, lines are looked for once more in the picture at this size.
const SIDE_FINE_PX: u32 = 1_920;

/// Lines of fewer pixels than this, as they were looked at, are small: those that are smaller still may not have been found.
const SMALL_PX: f32 = 16.0;

/// Most lines that are read in one picture: the largest ones. A page of a book has about 50.
const LINES_MAX: usize = 400;

/// Readings below this are noise: patterns that look like writing.
const SCORE_MIN: f32 = 0.5;

/// A line of which less was read than this is told of as unread.
const SHARE_READ_MIN: f32 = 0.5;

/// Fewest characters that a line has room for, in each stretch as long as the line is high, which is with some room above and below.
const CHARS_PER_HEIGHT: f32 = 0.6;

/// A reading from this on is not tried the other way round.
const SCORE_SURE: f32 = 0.85;

/// A line of text in a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct TextLine {
    /// What it says.
    pub text: String,
    /// How sure the reading is, from 0 to 1: the mean over its characters.
    pub score: f64,
    /// The rectangle that holds it, from the upper left corner of the *text*, clockwise as one reads it.
    pub corners: Corners,
    /// The upright rectangle around it.
    pub place: PixelBox,
    /// The same as `place`, turned together with all other lines so that most of them are level: order and columns are told by it.
    pub level_place: PixelBox,
    /// Where each character of the text begins in it, in bytes, and where it is in the picture.
    pub chars: Vec<CharPlace>,
}

/// A character of a [`TextLine`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CharPlace {
    /// Where it begins in the text, in bytes.
    pub at_byte: usize,
    /// The upright rectangle around it.
    pub place: PixelBox,
}

impl TextLine {
    /// The rectangle around a part of the text, given in bytes. `None` if there is no character in it.
    pub fn place_of(&self, bytes: &Range<usize>) -> Option<PixelBox> {
        let ends = self
            .chars
            .iter()
            .skip(1)
            .map(|character| character.at_byte)
            .chain([self.text.len()]);
        self.chars
            .iter()
            .zip(ends)
            .filter(|(character, end)| character.at_byte < bytes.end && *end > bytes.start)
            .map(|(character, _)| character.place)
            .reduce(around)
    }
}

/// All text of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureText {
    /// The lines that were read, in reading order.
    pub lines: Vec<TextLine>,
    /// Where something looks like a line of text and was not read, or in small part only: another script, handwriting, or a pattern that is no text.
    pub unread: Vec<UnreadLine>,
}

/// Something like a line of text that was not read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnreadLine {
    /// The upright rectangle around it.
    pub place: PixelBox,
    /// How much of it is unread, from 0.5 to 0.99.
    pub score: f64,
}

/// The smallest rectangle that holds both.
pub(crate) fn around(left: PixelBox, right: PixelBox) -> PixelBox {
    let left_px = left.left_px.min(right.left_px);
    let top_px = left.top_px.min(right.top_px);
    PixelBox {
        left_px,
        top_px,
        width_px: (left.left_px + left.width_px).max(right.left_px + right.width_px) - left_px,
        height_px: (left.top_px + left.height_px).max(right.top_px + right.height_px) - top_px,
    }
}

/// The reader. Cheap to clone: networks are shared.
#[derive(Clone, Debug)]
pub struct Ocr {
    detection: Arc<Network>,
    direction: Arc<Network>,
    recognition: Arc<reading::Recognition>,
    identity: DetectorIdentity,
}

impl Ocr {
    /// Loads three networks from a folder of installed models.
    ///
    /// # Errors
    ///
    /// [`Error::Absent`] if one is not installed, or what is wrong with a file.
    pub fn load(folder: &Path, runtime: &Runtime) -> Result<Self, Error> {
        Ok(Self {
            detection: Arc::new(Network::load(weights::OCR_DETECTION, folder, runtime, Ok)?),
            direction: Arc::new(Network::load(weights::OCR_DIRECTION, folder, runtime, Ok)?),
            recognition: Arc::new(reading::Recognition::load(folder, runtime)?),
            identity: DetectorIdentity::new("pp-ocr", "det4-rec6-1"),
        })
    }

    /// Its name and version.
    pub const fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    /// All lines of text, in reading order.
    ///
    /// # Errors
    ///
    /// A failure when a network does not run.
    pub fn read_text(&self, picture: &Pixels) -> Result<Vec<TextLine>, DetectorFailure> {
        self.read(picture).map(|text| text.lines)
    }

    /// All lines of text, and where there is something like text that was not read.
    ///
    /// # Errors
    ///
    /// A failure when a network does not run.
    pub fn read(&self, picture: &Pixels) -> Result<PictureText, DetectorFailure> {
        self.read_regions(picture)
            .map_err(|detail| internal(&self.identity, &[FindingKind::PiiImage], detail))
    }

    /// Where text is. A second, finer look is taken only where the first one saw small text, as most pictures have none.
    fn regions(&self, picture: &Pixels) -> Result<Vec<Corners>, String> {
        let regions = regions::find(&self.detection, picture, SIDE_PX)?;
        let longest = picture.width_px().max(picture.height_px());
        let small = SMALL_PX * longest as f32 / SIDE_PX as f32;
        let is_small = |corners: &Corners| corners.width().min(corners.height()) < small;
        if longest > SIDE_PX && regions.iter().any(is_small) {
            regions::find(&self.detection, picture, SIDE_FINE_PX)
        } else {
            Ok(regions)
        }
    }

    fn read_regions(&self, picture: &Pixels) -> Result<PictureText, String> {
        let size = (picture.width_px(), picture.height_px());
        let (mut lines, mut unread) = (Vec::new(), Vec::new());
        let mut regions = self.regions(picture)?;
        if regions.len() > LINES_MAX {
            regions.sort_by(|left, right| right.area().total_cmp(&left.area()));
            regions.truncate(LINES_MAX);
        }
        for corners in regions {
            let level = corners.level();
            let Some(strip) = strip::cut(picture, &level) else {
                continue;
            };
            let is_upside_down = strip::is_upside_down(&self.direction, &strip)?;
            let turn = |is_turned: bool| {
                if is_turned {
                    (strip.turned(2), level.upside_down())
                } else {
                    (strip.clone(), level)
                }
            };
            let (turned, corners) = turn(is_upside_down);
            let mut best = (self.recognition.read(&turned)?, corners);
            if best.0.score < SCORE_SURE {
                let (turned, corners) = turn(!is_upside_down);
                let other = self.recognition.read(&turned)?;
                if other.score > best.0.score {
                    best = (other, corners);
                }
            }
            let (reading, corners) = best;
            let share_read = share_read(&reading, &corners);
            if share_read < SHARE_READ_MIN
                && let Some(place) = corners.around(size)
            {
                unread.push(UnreadLine {
                    place,
                    score: f64::from(1.0 - share_read).min(0.99),
                });
            }
            if reading.score >= SCORE_MIN {
                lines.extend(placed(&reading, corners, picture));
            }
        }
        Ok(PictureText {
            lines: layout::in_reading_order(lines, size),
            unread,
        })
    }
}

/// How much of a line was read, from 0 to 1: the score, less when there are fewer characters than fit in.
fn share_read(reading: &reading::Reading, corners: &Corners) -> f32 {
    let n_chars = reading
        .chars
        .iter()
        .filter(|character| !character.text.trim().is_empty())
        .count();
    let room = (corners.width() / corners.height().max(1.0) * CHARS_PER_HEIGHT).max(1.0);
    reading.score * (n_chars as f32 / room).min(1.0)
}

/// A reading with places in the picture. `None` if it says nothing.
fn placed(reading: &reading::Reading, corners: Corners, picture: &Pixels) -> Option<TextLine> {
    let mut text = String::new();
    let mut chars = Vec::new();
    let size = (picture.width_px(), picture.height_px());
    for character in &reading.chars {
        let place = corners.part(character.start, character.end).around(size)?;
        chars.push(CharPlace {
            at_byte: text.len(),
            place,
        });
        text.push_str(&character.text);
    }
    (!text.trim().is_empty()).then_some(())?;
    let place = corners.around(size)?;
    Some(TextLine {
        text,
        score: f64::from(reading.score).clamp(0.0, 1.0),
        corners,
        place,
        level_place: place,
        chars,
    })
}
