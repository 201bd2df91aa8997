//! A picture's pixels, for whoever looks at them: hashes, detectors.

use std::fmt;

use ::image::RgbImage;
use sha2::{Digest as _, Sha256};

use super::fit;

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
