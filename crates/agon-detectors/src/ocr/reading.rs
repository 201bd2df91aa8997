//! What a level strip says: characters by column, repeated and empty ones left out (connectionist temporal classification: A. Graves, S. Fernández, F. Gomez, J. Schmidhuber, ICML 2006).

use std::path::Path;

use agon_content::image::Pixels;

use crate::{
    Error, Runtime,
    network::{Channels, Network, planes},
    weights::OCR_RECOGNITION,
};

/// Strips are brought to this height.
const HEIGHT_PX: usize = 48;

/// Narrower strips are filled up to this width, as in training.
const WIDTH_MIN_PX: usize = 320;

/// Wider ones are squeezed to this: about 200 characters.
const WIDTH_MAX_PX: usize = 4_096;

/// The network and its alphabet.
#[derive(Debug)]
pub(super) struct Recognition {
    network: Network,
    /// The character of each class; the first class is "none".
    alphabet: Vec<String>,
}

/// What a strip says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) chars: Vec<ReadChar>,
    /// The mean over characters, 0 without any.
    pub(super) score: f32,
}

/// A character and where it is along the strip, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReadChar {
    pub(super) text: String,
    pub(super) start: f32,
    pub(super) end: f32,
}

impl Recognition {
    pub(super) fn load(folder: &Path, runtime: &Runtime) -> Result<Self, Error> {
        let network = Network::load(OCR_RECOGNITION, folder, runtime, Ok)?;
        let Some(characters) = network.metadata("character") else {
            return Err(Error::BadModel {
                name: OCR_RECOGNITION.name,
                detail: "it carries no alphabet".to_owned(),
            });
        };
        let alphabet = [String::new()]
            .into_iter()
            .chain(characters.split('\n').map(ToOwned::to_owned))
            .chain([" ".to_owned()])
            .collect();
        Ok(Self { network, alphabet })
    }

    pub(super) fn read(&self, strip: &Pixels) -> Result<Reading, String> {
        let natural = HEIGHT_PX as f32 * strip.width_px() as f32 / strip.height_px() as f32;
        let filled = (natural.ceil() as usize).clamp(1, WIDTH_MAX_PX);
        let width = filled.max(WIDTH_MIN_PX).next_multiple_of(8);
        let scaled = strip.resized(filled as u32, HEIGHT_PX as u32);
        let input = planes(
            scaled.as_rgb(),
            filled,
            (width, HEIGHT_PX),
            Channels::Bgr,
            |value| value / 127.5 - 1.0,
        );
        let outputs = self
            .network
            .run::<3>([1, 3, HEIGHT_PX, width], input, &[])?;
        match outputs.first() {
            Some(output) if output.shape[0] == 1 && output.shape[2] == self.alphabet.len() => {
                let share_filled = filled as f32 / width as f32;
                Ok(decoded(&output.values, &self.alphabet, share_filled))
            }
            _ => Err(
                "the network gave another number of characters than its alphabet has".to_owned(),
            ),
        }
    }
}

/// Characters from the shares of each class in each column. `share_filled` is how much of the columns the strip fills.
fn decoded(shares: &[f32], alphabet: &[String], share_filled: f32) -> Reading {
    let n_columns = shares.len() / alphabet.len();
    let mut found: Vec<(usize, f32, usize, usize)> = Vec::new();
    let mut last = 0;
    for (column, shares) in shares.chunks_exact(alphabet.len()).enumerate() {
        let (class, share) =
            shares
                .iter()
                .copied()
                .enumerate()
                .fold((0, f32::MIN), |best, (class, share)| {
                    if share > best.1 { (class, share) } else { best }
                });
        if class != 0 {
            match found.last_mut() {
                Some(found) if class == last => {
                    found.1 = found.1.max(share);
                    found.3 = column;
                }
                _ => found.push((class, share, column, column)),
            }
        }
        last = class;
    }
    if found.is_empty() {
        return Reading {
            chars: Vec::new(),
            score: 0.0,
        };
    }
    let along = |columns: f32| (columns / n_columns as f32 / share_filled).clamp(0.0, 1.0);
    let middle = |(_, _, first, last): &(usize, f32, usize, usize)| (first + last + 1) as f32 / 2.0;
    let chars = found
        .iter()
        .enumerate()
        .map(|(idx, this)| {
            // A character reaches half way to its neighbours, and the outermost ones to the ends.
            let start = idx.checked_sub(1).map_or(0.0, |before| {
                along((middle(&found[before]) + middle(this)) / 2.0)
            });
            let end = found
                .get(idx + 1)
                .map_or(1.0, |after| along((middle(this) + middle(after)) / 2.0));
            ReadChar {
                text: alphabet[this.0].clone(),
                start,
                end,
            }
        })
        .collect();
    let score = found.iter().map(|(_, share, ..)| share).sum::<f32>() / found.len() as f32;
    Reading { chars, score }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(classes: &[usize]) -> Reading {
        let alphabet = ["", "a", "b", " "].map(ToOwned::to_owned);
        let shares: Vec<f32> = classes
            .iter()
            .flat_map(|class| (0..4).map(|idx| if idx == *class { 0.8 } else { 0.05 }))
            .collect();
        decoded(&shares, &alphabet, 1.0)
    }

    fn text(reading: &Reading) -> String {
        reading
            .chars
            .iter()
            .map(|character| character.text.as_str())
            .collect()
    }

    #[test]
    fn repeated_classes_are_one_character_unless_nothing_is_between() {
        assert_eq!(text(&read(&[0, 1, 1, 0, 1, 2, 2, 3, 2, 0])), "aab b");
        assert_eq!(text(&read(&[0, 0, 0])), "");
        assert_eq!(text(&read(&[])), "");
    }

    #[test]
    fn characters_meet_half_way_and_fill_the_strip() {
        let reading = read(&[0, 1, 0, 0, 0, 2, 2, 0]);
        let places: Vec<(f32, f32)> = reading
            .chars
            .iter()
            .map(|character| (character.start, character.end))
            .collect();
        // Middles at 1.5 and 6 of 8 columns.
        assert_eq!(places, [(0.0, 3.75 / 8.0), (3.75 / 8.0, 1.0)]);
        assert!((reading.score - 0.8).abs() < 1e-6);
    }
}
