//! A picture's pixels, for whoever looks at them: hashes, detectors.

use std::{fmt, ops::Range};

use ::image::RgbImage;
use agon_domain::PixelBox;
use sha2::{Digest as _, Sha256};

use super::{MediaType, encode, fit};

/// Upright 8-bit sRGB pixels without transparency, row by row from the top left.
#[derive(Clone, PartialEq, Eq)]
pub struct Pixels(RgbImage);

impl Pixels {
    /// Pixels from bytes, three for each pixel. `None` if a side is 0 or there are not exactly `width_px` × `height_px` × 3.
    pub fn new(width_px: u32, height_px: u32, rgb: Vec<u8>) -> Option<Self> {
        let n_bytes = (u64::from(width_px) * u64::from(height_px)).checked_mul(3)?;
        if n_bytes == 0 || rgb.len() as u64 != n_bytes {
            return None;
        }
        RgbImage::from_raw(width_px, height_px, rgb).map(Self)
    }

    pub(super) const fn of(picture: RgbImage) -> Self {
        Self(picture)
    }

    /// The width, at least 1.
    pub fn width_px(&self) -> u32 {
        self.0.width()
    }

    /// The height, at least 1.
    pub fn height_px(&self) -> u32 {
        self.0.height()
    }

    /// Red, green and blue of all pixels.
    pub fn as_rgb(&self) -> &[u8] {
        self.0.as_raw()
    }

    /// The same picture with no side longer than `side_max_px` (at least 1), scaled down by an area-true filter; never enlarged.
    #[must_use]
    pub fn scaled_to_fit(&self, side_max_px: u32) -> Self {
        let (width, height) = self.0.dimensions();
        let (new_width, new_height) = fit::fitted_size(width, height, side_max_px.max(1));
        if (new_width, new_height) == (width, height) {
            return self.clone();
        }
        Self(fit::scale_down(&self.0, new_width, new_height))
    }

    /// The same picture at exactly this size (sides of 0 become 1), by a triangle filter: linear when enlarging, area-true when scaling down.
    ///
    /// It is the filter that Pillow calls `BILINEAR`, which networks for pictures were fed with.
    #[must_use]
    pub fn resized(&self, width_px: u32, height_px: u32) -> Self {
        let size = (width_px.max(1), height_px.max(1));
        if size == self.0.dimensions() {
            return self.clone();
        }
        Self(fit::resample(&self.0, size.0, size.1, fit::TRIANGLE))
    }

    /// The part inside `part`. `None` if no pixel of the picture is in it.
    pub fn cropped(&self, part: PixelBox) -> Option<Self> {
        let (left, top, width, height) = self.inside(part)?;
        Some(Self(
            ::image::imageops::crop_imm(&self.0, left, top, width, height).to_image(),
        ))
    }

    /// The picture turned clockwise by quarters: 1 is 90°, 2 is 180°, 3 is 270°, and so on round.
    #[must_use]
    pub fn turned(&self, n_quarters: u32) -> Self {
        Self(match n_quarters % 4 {
            1 => ::image::imageops::rotate90(&self.0),
            2 => ::image::imageops::rotate180(&self.0),
            3 => ::image::imageops::rotate270(&self.0),
            _ => self.0.clone(),
        })
    }

    /// The picture with these parts painted over in one colour, so that nothing of them is left.
    #[must_use]
    pub fn filled(mut self, parts: &[PixelBox], rgb: [u8; 3]) -> Self {
        for part in parts {
            let (left, top, width, height) = self.inside(*part).unwrap_or_default();
            for y in top..top + height {
                for x in left..left + width {
                    self.0.put_pixel(x, y, ::image::Rgb(rgb));
                }
            }
        }
        self
    }

    /// The picture with these parts made unrecognisable: each becomes at most `n_tiles` × `n_tiles` (at least 1) flat tiles, each in its mean colour.
    ///
    /// A mosaic loses what a soft blur keeps: nothing can sharpen it back.
    #[must_use]
    pub fn blurred(mut self, parts: &[PixelBox], n_tiles: u32) -> Self {
        let n_tiles = n_tiles.max(1);
        for part in parts {
            let (left, top, width, height) = self.inside(*part).unwrap_or_default();
            let side = width.max(height).div_ceil(n_tiles).max(2) as usize;
            for tile_top in (top..top + height).step_by(side) {
                for tile_left in (left..left + width).step_by(side) {
                    let columns = tile_left..(tile_left + side as u32).min(left + width);
                    let rows = tile_top..(tile_top + side as u32).min(top + height);
                    self.flatten_tile(columns, rows);
                }
            }
        }
        self
    }

    /// Paints a part in its mean colour.
    fn flatten_tile(&mut self, columns: Range<u32>, rows: Range<u32>) {
        let n_pixels = u64::from(columns.end - columns.start) * u64::from(rows.end - rows.start);
        let mut sums = [0_u64; 3];
        for y in rows.clone() {
            for x in columns.clone() {
                for (sum, value) in sums.iter_mut().zip(self.0.get_pixel(x, y).0) {
                    *sum += u64::from(value);
                }
            }
        }
        let mean = sums.map(|sum| ((sum + n_pixels / 2) / n_pixels.max(1)) as u8);
        for y in rows {
            for x in columns.clone() {
                self.0.put_pixel(x, y, ::image::Rgb(mean));
            }
        }
    }

    /// Left, top, width and height of the part of a box that is in the picture, if any is.
    fn inside(&self, part: PixelBox) -> Option<(u32, u32, u32, u32)> {
        let width = self
            .width_px()
            .checked_sub(part.left_px)?
            .min(part.width_px);
        let height = self
            .height_px()
            .checked_sub(part.top_px)?
            .min(part.height_px);
        (width > 0 && height > 0).then_some((part.left_px, part.top_px, width, height))
    }

    /// The picture as a file that holds nothing but these pixels: PNG when they have few colours or it is not larger, else JPEG of quality 90.
    ///
    /// `None` if it is too large for both formats (65,535 pixels a side for JPEG).
    pub fn encoded(&self) -> Option<(Vec<u8>, MediaType)> {
        encode::encode_unchanged(&self.0)
    }

    /// SHA-256 over width and height, four bytes each with the highest first, and then [`Self::as_rgb`].
    ///
    /// The sides are hashed too: 4 × 2 and 2 × 4 pixels of one colour are different pictures.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::new()
            .chain_update(self.width_px().to_be_bytes())
            .chain_update(self.height_px().to_be_bytes())
            .chain_update(self.as_rgb())
            .finalize()
            .into()
    }
}

impl fmt::Debug for Pixels {
    /// Leaves the pixels out: images are never logged.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pixels")
            .field("width_px", &self.width_px())
            .field("height_px", &self.height_px())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::decode_normalised;

    fn gradient(width: u32, height: u32) -> Pixels {
        Pixels(RgbImage::from_fn(width, height, |x, y| {
            ::image::Rgb([(x * 7) as u8, (y * 11) as u8, (x * y) as u8])
        }))
    }

    fn part(left_px: u32, top_px: u32, width_px: u32, height_px: u32) -> PixelBox {
        PixelBox {
            left_px,
            top_px,
            width_px,
            height_px,
        }
    }

    #[test]
    fn a_part_is_cut_at_the_edges_and_outside_there_is_none() {
        let picture = gradient(20, 10);
        let cut = picture.cropped(part(15, 5, 100, u32::MAX)).unwrap();
        assert_eq!((cut.width_px(), cut.height_px()), (5, 5));
        assert_eq!(cut.0.get_pixel(0, 0), picture.0.get_pixel(15, 5));
        assert_eq!(picture.cropped(part(20, 0, 1, 1)), None);
        assert_eq!(picture.cropped(part(u32::MAX, u32::MAX, 1, 1)), None);
        assert_eq!(picture.cropped(part(0, 0, 0, 4)), None);
    }

    #[test]
    fn four_quarter_turns_are_none() {
        let picture = gradient(5, 3);
        let turned = picture.turned(1);
        assert_eq!((turned.width_px(), turned.height_px()), (3, 5));
        assert_eq!(turned.0.get_pixel(2, 0), picture.0.get_pixel(0, 0));
        assert_eq!(turned.turned(3), picture);
        assert_eq!(picture.turned(2).turned(2), picture);
        assert_eq!(picture.turned(8), picture);
    }

    #[test]
    fn filling_changes_the_parts_and_nothing_else() {
        let picture = gradient(20, 10);
        let filled = picture
            .clone()
            .filled(&[part(3, 2, 4, 5), part(19, 9, 9, 9)], [9, 8, 7]);
        for (x, y, pixel) in filled.0.enumerate_pixels() {
            let is_inside = ((3..7).contains(&x) && (2..7).contains(&y)) || (x, y) == (19, 9);
            let expected = if is_inside {
                [9, 8, 7]
            } else {
                picture.0.get_pixel(x, y).0
            };
            assert_eq!(pixel.0, expected, "{x}, {y}");
        }
    }

    #[test]
    fn blurring_leaves_no_more_colours_than_tiles() {
        let picture = gradient(40, 40);
        let blurred = picture.clone().blurred(&[part(8, 8, 24, 24)], 3);
        let mut inside: Vec<[u8; 3]> = Vec::new();
        for (x, y, pixel) in blurred.0.enumerate_pixels() {
            if (8..32).contains(&x) && (8..32).contains(&y) {
                inside.push(pixel.0);
            } else {
                assert_eq!(pixel, picture.0.get_pixel(x, y));
            }
        }
        inside.sort_unstable();
        inside.dedup();
        assert!(inside.len() <= 9, "{}", inside.len());
    }

    #[test]
    fn resizing_keeps_a_flat_colour_and_interpolates_between_two() {
        let flat = Pixels(RgbImage::from_pixel(7, 5, ::image::Rgb([1, 200, 77])));
        for size in [(3, 3), (20, 9), (1, 1)] {
            let resized = flat.resized(size.0, size.1);
            assert_eq!((resized.width_px(), resized.height_px()), size);
            assert!(resized.0.pixels().all(|pixel| pixel.0 == [1, 200, 77]));
        }
        let edge = Pixels::new(2, 1, vec![0, 0, 0, 200, 200, 200]).unwrap();
        let values: Vec<u8> = edge
            .resized(4, 1)
            .0
            .pixels()
            .map(|pixel| pixel.0[0])
            .collect();
        assert_eq!(values, [0, 50, 150, 200]);
    }

    #[test]
    fn a_drawing_is_encoded_without_loss() {
        let picture = gradient(30, 20);
        let (bytes, media_type) = picture.encoded().unwrap();
        assert_eq!(media_type, MediaType::Png);
        assert_eq!(decode_normalised(&bytes).unwrap(), picture);
    }
}
