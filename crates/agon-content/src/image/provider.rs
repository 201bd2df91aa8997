//! A stored picture made smaller for a provider that takes less than the arena keeps.

use std::fmt;

use super::{ImageError, MediaType, decode_stored, encode, fit};

/// What a provider takes, as its documentation says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Largest picture **after base64**, in bytes: that is what providers measure.
    pub base64_bytes_max: u64,
    /// Longest side, in pixels. At least 1.
    pub side_max_px: u32,
}

impl ProviderLimits {
    /// The most bytes whose base64 is within the limit: base64 makes four of every three begun.
    pub const fn bytes_max(self) -> u64 {
        self.base64_bytes_max / 4 * 3
    }
}

/// A picture made to fit a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct FittedImage {
    /// The encoded picture.
    pub bytes: Vec<u8>,
    /// Of `bytes`.
    pub media_type: MediaType,
    /// Its width, in pixels.
    pub width_px: u32,
    /// Its height, in pixels.
    pub height_px: u32,
}

impl fmt::Debug for FittedImage {
    /// Leaves the picture itself out: images are never logged.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FittedImage")
            .field("media_type", &self.media_type)
            .field("width_px", &self.width_px)
            .field("height_px", &self.height_px)
            .field("n_bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// Makes a normalised picture fit a provider's limits; `None` if it does already and should be sent as it is.
///
/// Synchronous and bound by the processor, as [`super::normalise`].
///
/// # Errors
///
/// [`ImageError::CannotFit`] if it cannot be made so small; [`ImageError::Unsupported`] or [`ImageError::Broken`] if `normalised` is no picture.
pub fn fit_for_provider(
    normalised: &[u8],
    limits: ProviderLimits,
) -> Result<Option<FittedImage>, ImageError> {
    let (format, pixels) = decode_stored(normalised)?;
    let is_within = pixels.width().max(pixels.height()) <= limits.side_max_px;
    if is_within && normalised.len() as u64 <= limits.bytes_max() {
        return Ok(None);
    }
    let is_lossless = MediaType::of_normalised(normalised) == Some(MediaType::Png);
    super::contained(format, || {
        let mut notes = Vec::new();
        let has_few_colours = is_lossless && encode::has_few_colours(&pixels);
        let fitted = fit::fit(pixels, limits.side_max_px, &mut notes);
        let encoded = encode::encode(
            fitted,
            is_lossless,
            has_few_colours,
            limits.bytes_max(),
            &mut notes,
        )?;
        Ok(Some(FittedImage {
            width_px: encoded.pixels.width(),
            height_px: encoded.pixels.height(),
            bytes: encoded.bytes,
            media_type: encoded.media_type,
        }))
    })
}
