//! Text in pictures: PP-OCR finds lines, another network reads each of them.
//!
//! 1. **Lines** ([`regions`]): a network marks where text is; each marked area becomes a rectangle, turned as the text is.
//! 2. **Strips** ([`strip`]): each rectangle is cut out and laid level.
//! 3. **Direction**: strips that stand upright are turned by a quarter, and a small network tells whether a strip is upside down. A strip that reads badly is read the other way round too, and the better reading stays.
//! 4. **Reading** ([`reading`]): a network gives a character or none for each column of the strip.
//! 5. **Order** ([`layout`]): rows from the top, in each from the left.
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
pub use strip::Corners;

/// Longest side, in pixels, that lines are looked for in. Longer ones find smaller text, and the time grows with their square.
const SIDE_MAX_PX: u32 = 1_280;

/// Most lines that are read in one picture: the largest ones. A page of a book has about 50.
const LINES_MAX: usize = 400;

/// Readings below this are noise: patterns that look like writing.
const SCORE_MIN: f32 = 0.5;

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
        self.read(picture)
            .map_err(|detail| internal(&self.identity, &[FindingKind::PiiImage], detail))
    }

    fn read(&self, picture: &Pixels) -> Result<Vec<TextLine>, String> {
        let mut lines = Vec::new();
        let mut regions = regions::find(&self.detection, picture, SIDE_MAX_PX)?;
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
            if reading.score >= SCORE_MIN {
                lines.extend(placed(&reading, corners, picture));
            }
        }
        Ok(layout::in_reading_order(lines))
    }
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
    Some(TextLine {
        text,
        score: f64::from(reading.score).clamp(0.0, 1.0),
        corners,
        place: corners.around(size)?,
        chars,
    })
}
