//! Pixels to bytes that hold nothing but the pixels.

use ::image::codecs::jpeg::JpegEncoder;
use ::image::codecs::png::{CompressionType, FilterType, PngEncoder};
use ::image::{ExtendedColorType, ImageEncoder as _, RgbImage};

use super::{ImageError, ImageNote, MediaType, fit};

/// The quality of every JPEG. 90 keeps small text legible.
const JPEG_QUALITY: u8 = 90;

/// A lossless picture with at most this many colours is a screenshot, a drawing or a diagram, which JPEG would blur.
const FEW_COLOURS: usize = 4096;

/// How much smaller the next try becomes at least, as a factor of the sides.
const SHRINK_MAX: f64 = 0.9;

/// A finished picture.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) media_type: MediaType,
    /// The pixels that were encoded.
    pub(super) pixels: RgbImage,
}

/// Whether the picture has at most [`FEW_COLOURS`] colours.
pub(super) fn has_few_colours(pixels: &RgbImage) -> bool {
    // One bit for each of the 2^24 colours.
    let mut seen = vec![0_u64; 1 << 18];
    let mut n_colours = 0;
    for &[red, green, blue] in pixels.as_raw().as_chunks::<3>().0 {
        let colour = usize::from(red) << 16 | usize::from(green) << 8 | usize::from(blue);
        let (word, bit) = (&mut seen[colour >> 6], 1 << (colour & 63));
        if *word & bit == 0 {
            *word |= bit;
            n_colours += 1;
            if n_colours > FEW_COLOURS {
                return false;
            }
        }
    }
    true
}

/// Encodes by the rule in the documentation of [`super`].
pub(super) fn encode(
    mut pixels: RgbImage,
    is_lossless: bool,
    has_few_colours: bool,
    encoded_bytes_max: u64,
    notes: &mut Vec<ImageNote>,
) -> Result<Encoded, ImageError> {
    let cannot_fit = || ImageError::CannotFit { encoded_bytes_max };
    let is_small = |bytes: &[u8]| bytes.len() as u64 <= encoded_bytes_max;
    let finished = |bytes, media_type, pixels| Encoded {
        bytes,
        media_type,
        pixels,
    };
    if has_few_colours {
        let png = encode_png(&pixels, CompressionType::Default).ok_or_else(cannot_fit)?;
        if is_small(&png) {
            return Ok(finished(png, MediaType::Png, pixels));
        }
    }
    let mut jpeg = encode_jpeg(&pixels).ok_or_else(cannot_fit)?;
    if is_lossless && !has_few_colours {
        // Packing a photograph well takes a second and loses to JPEG by far: a quick look tells.
        let quick = encode_png(&pixels, CompressionType::Fast).ok_or_else(cannot_fit)?;
        if quick.len() / 2 <= jpeg.len() && quick.len() as u64 / 2 <= encoded_bytes_max {
            let png = encode_png(&pixels, CompressionType::Default).ok_or_else(cannot_fit)?;
            if is_small(&png) && png.len() <= jpeg.len() {
                return Ok(finished(png, MediaType::Png, pixels));
            }
        }
    }
    while !is_small(&jpeg) {
        let (width, height) = pixels.dimensions();
        if width.max(height) == 1 {
            return Err(cannot_fit());
        }
        notes.push(ImageNote::Downscaled);
        let factor = (encoded_bytes_max as f64 / jpeg.len() as f64)
            .sqrt()
            .min(SHRINK_MAX);
        let side = (f64::from(width.max(height)) * factor) as u32;
        let (width, height) = fit::fitted_size(width, height, side.max(1));
        pixels = fit::scale_down(&pixels, width, height);
        jpeg = encode_jpeg(&pixels).ok_or_else(cannot_fit)?;
    }
    Ok(finished(jpeg, MediaType::Jpeg, pixels))
}

/// All pixels as they are, as PNG if they have few colours or that is not larger, and as JPEG otherwise. `None` if an encoder fails.
pub(super) fn encode_unchanged(pixels: &RgbImage) -> Option<(Vec<u8>, MediaType)> {
    if has_few_colours(pixels) {
        return Some((
            encode_png(pixels, CompressionType::Default)?,
            MediaType::Png,
        ));
    }
    let jpeg = encode_jpeg(pixels)?;
    let png = encode_png(pixels, CompressionType::Fast)?;
    Some(if png.len() <= jpeg.len() {
        (png, MediaType::Png)
    } else {
        (jpeg, MediaType::Jpeg)
    })
}

/// The grey values if every pixel is grey, which then need a third of the bytes.
fn grey_values(pixels: &RgbImage) -> Option<Vec<u8>> {
    let pixels = pixels.as_raw().as_chunks::<3>().0;
    pixels
        .iter()
        .all(|[red, green, blue]| red == green && green == blue)
        .then(|| pixels.iter().map(|pixel| pixel[0]).collect())
}

fn encode_png(pixels: &RgbImage, compression: CompressionType) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut bytes, compression, FilterType::Adaptive);
    let (width, height) = pixels.dimensions();
    match grey_values(pixels) {
        Some(grey) => encoder.write_image(&grey, width, height, ExtendedColorType::L8),
        None => encoder.write_image(pixels.as_raw(), width, height, ExtendedColorType::Rgb8),
    }
    .ok()?;
    Some(bytes)
}

fn encode_jpeg(pixels: &RgbImage) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
    let (width, height) = pixels.dimensions();
    match grey_values(pixels) {
        Some(grey) => encoder.write_image(&grey, width, height, ExtendedColorType::L8),
        None => encoder.write_image(pixels.as_raw(), width, height, ExtendedColorType::Rgb8),
    }
    .ok()?;
    Some(bytes)
}
