//! CenterFace: one network that marks the centres of faces on a map and gives the size at each (Y. Xu, W. Yan, G. Yang, J. Luo, T. Li, J. He, "CenterFace: Joint Face Detection and Alignment Using Face as Point", Scientific Programming 2020).

use std::{path::Path, sync::Arc};

use agon_content::image::Pixels;

use super::boxes::ScoredBox;
use crate::{
    Error, Runtime,
    network::{Channels, Network, Output, planes},
    onnx_dims,
    weights::CENTERFACE,
};

/// One value of the maps stands for this many pixels each way.
const STRIDE: usize = 4;

/// Sides of the input are multiples of this.
const SIDE_STEP: u32 = 32;

/// Scores below are noise and not kept at all.
const SCORE_MIN: f32 = 0.2;

/// Most a picture is enlarged. Small faces in small pictures are found so, and more would show pixels as edges.
const ENLARGED_MAX: f64 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct CenterFace {
    network: Arc<Network>,
    sides_px: Vec<u32>,
}

impl CenterFace {
    pub(super) fn load(folder: &Path, runtime: &Runtime, sides_px: &[u32]) -> Result<Self, Error> {
        let network = Network::load(CENTERFACE, folder, runtime, |bytes| {
            onnx_dims::with_free_size(&bytes).map_err(|error| error.to_string())
        })?;
        Ok(Self {
            network: Arc::new(network),
            sides_px: sides_px
                .iter()
                .map(|side| (*side).clamp(32, 2_048))
                .collect(),
        })
    }

    pub(super) fn faces(&self, picture: &Pixels) -> Result<Vec<ScoredBox>, String> {
        let mut found = Vec::new();
        let mut looked_at = Vec::new();
        for &side_px in &self.sides_px {
            let size = input_size(picture.width_px(), picture.height_px(), side_px);
            if !looked_at.contains(&size) {
                looked_at.push(size);
                found.extend(self.look(picture, size)?);
            }
        }
        Ok(found)
    }

    fn look(
        &self,
        picture: &Pixels,
        (width, height): (u32, u32),
    ) -> Result<Vec<ScoredBox>, String> {
        let scaled = picture.resized(width, height);
        let size = (width as usize, height as usize);
        let input = planes(scaled.as_rgb(), size.0, size, Channels::Rgb, |value| value);
        let outputs =
            self.network
                .run::<4>([1, 3, size.1, size.0], input, &["537", "538", "539"])?;
        let [heat, scale, offset] = outputs.as_slice() else {
            return Err("the network gave no three maps".to_owned());
        };
        let factors = (
            picture.width_px() as f32 / width as f32,
            picture.height_px() as f32 / height as f32,
        );
        marked(heat, scale, offset, factors)
    }
}

/// The size for the network: the longer side at about `side_px`, both sides multiples of [`SIDE_STEP`].
fn input_size(width_px: u32, height_px: u32, side_px: u32) -> (u32, u32) {
    let longest = f64::from(width_px.max(height_px));
    let factor = (f64::from(side_px) / longest).min(ENLARGED_MAX);
    let side = |side: u32| {
        let steps = (f64::from(side) * factor / f64::from(SIDE_STEP)).round();
        // At most 2,048 pixels, held above.
        (steps.max(1.0) as u32) * SIDE_STEP
    };
    (side(width_px), side(height_px))
}

/// Boxes from the maps, in pixels of the picture.
fn marked(
    heat: &Output<4>,
    scale: &Output<4>,
    offset: &Output<4>,
    (x_factor, y_factor): (f32, f32),
) -> Result<Vec<ScoredBox>, String> {
    let [_, _, rows, columns] = heat.shape;
    let n_places = rows * columns;
    if heat.shape[..2] != [1, 1]
        || scale.shape != [1, 2, rows, columns]
        || offset.shape != scale.shape
    {
        return Err("the network gave maps of other sizes".to_owned());
    }
    let step = STRIDE as f32;
    let mut boxes = Vec::new();
    for (place, &score) in heat.values.iter().enumerate() {
        // Not a number is not above either.
        if score < SCORE_MIN || score.is_nan() {
            continue;
        }
        let (row, column) = ((place / columns) as f32, (place % columns) as f32);
        let height = scale.values[place].exp() * step;
        let width = scale.values[n_places + place].exp() * step;
        let y = (row + offset.values[place] + 0.5) * step;
        let x = (column + offset.values[n_places + place] + 0.5) * step;
        boxes.push(ScoredBox {
            left: (x - width / 2.0) * x_factor,
            top: (y - height / 2.0) * y_factor,
            right: (x + width / 2.0) * x_factor,
            bottom: (y + height / 2.0) * y_factor,
            score,
        });
    }
    Ok(boxes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_multiples_and_small_pictures_are_enlarged_twice_at_most() {
        for ((width, height, side), expected) in [
            ((2048, 1536, 640), (640, 480)),
            ((1536, 2048, 640), (480, 640)),
            ((100, 100, 640), (192, 192)),
            ((16_384, 1, 640), (640, 32)),
            ((1, 1, 640), (32, 32)),
        ] {
            assert_eq!(input_size(width, height, side), expected);
        }
    }

    #[test]
    fn a_mark_becomes_a_box_around_its_centre() {
        let map = |n_channels: usize, values: &[(usize, f32)]| {
            let mut output = Output {
                shape: [1, n_channels, 8, 8],
                values: vec![0.0; n_channels * 64],
            };
            for (at, value) in values {
                output.values[*at] = *value;
            }
            output
        };
        // Row 2, column 4: the centre is at (4.5, 2.5) × 4, moved by a quarter of a step to the right.
        let place = 2 * 8 + 4;
        let heat = map(1, &[(place, 0.9), (0, 0.1)]);
        let scale = map(2, &[(place, 3.0_f32.ln()), (64 + place, 2.0_f32.ln())]);
        let offset = map(2, &[(64 + place, 0.25)]);
        let boxes = marked(&heat, &scale, &offset, (2.0, 1.0)).unwrap();
        assert_eq!(boxes.len(), 1);
        let found = boxes[0];
        for (value, expected) in [
            (found.left, (19.0 - 4.0) * 2.0),
            (found.right, (19.0 + 4.0) * 2.0),
            (found.top, 10.0 - 6.0),
            (found.bottom, 10.0 + 6.0),
        ] {
            assert!((value - expected).abs() < 1e-3, "{value} {expected}");
        }
        assert!(marked(&heat, &map(1, &[]), &offset, (1.0, 1.0)).is_err());
    }
}
