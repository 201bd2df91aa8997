//! From checked bytes to 8-bit sRGB pixels on white.

use std::io::Cursor;

use ::image::codecs::bmp::BmpDecoder;
use ::image::codecs::gif::GifDecoder;
use ::image::codecs::jpeg::JpegDecoder;
use ::image::codecs::png::PngDecoder;
use ::image::codecs::webp::WebPDecoder;
use ::image::{DynamicImage, ImageDecoder, Limits, RgbImage};
use md5::{Digest as _, Md5};
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::colour::{self, Profile};
use super::header::{Header, check_size, too_costly};
use super::{ImageError, ImageLimits, ImageNote, PictureFormat, tiff};

/// Memory for what surrounds the pixels of a PNG (texts, the unpacked colour profile), in bytes.
const PNG_METADATA_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// FastChat scales pictures to this many pixels a side before it hashes and keeps them.
const FASTCHAT_SIDE_MAX_PX: u32 = 1024;

/// Pixels as a file stores them.
pub(super) enum Samples {
    /// Grey or colours of light.
    Light(DynamicImage),
    /// Inks, four bytes a pixel, 255 = full ink.
    Inks(Vec<u8>),
}

/// A decoded picture.
pub(super) struct Decoded {
    /// 8-bit sRGB on white. Not yet fitted nor turned.
    pub(super) pixels: RgbImage,
    /// See [`super::NormalisedImage::legacy_md5`].
    pub(super) legacy_md5: Option<[u8; 16]>,
}

/// Decodes the first frame and brings its colours to 8-bit sRGB on white.
pub(super) fn decode(
    bytes: &[u8],
    header: &Header<'_>,
    limits: &ImageLimits,
    notes: &mut Vec<ImageNote>,
) -> Result<Decoded, ImageError> {
    let (samples, profile) = read_samples(bytes, header, limits, notes)?;
    match samples {
        Samples::Light(pixels) => Ok(Decoded {
            legacy_md5: legacy_md5(&pixels),
            pixels: colour::to_rgb8_on_white(pixels, profile, notes),
        }),
        Samples::Inks(inks) => {
            let rgb = colour::inks_to_rgb8(&inks, profile, notes);
            let pixels = RgbImage::from_raw(header.width_px, header.height_px, rgb)
                .ok_or_else(|| ImageError::broken(header.format))?;
            Ok(Decoded {
                pixels,
                legacy_md5: None,
            })
        }
    }
}

/// MD5 of the pixels as straight 8-bit RGBA, by which FastChat names the pictures that it keeps.
fn legacy_md5(pixels: &DynamicImage) -> Option<[u8; 16]> {
    let is_kept = pixels.width().max(pixels.height()) <= FASTCHAT_SIDE_MAX_PX;
    let is_shallow = matches!(
        pixels,
        DynamicImage::ImageLuma8(_)
            | DynamicImage::ImageLumaA8(_)
            | DynamicImage::ImageRgb8(_)
            | DynamicImage::ImageRgba8(_)
    );
    (is_kept && is_shallow).then(|| Md5::digest(pixels.to_rgba8().as_raw()).into())
}

fn read_samples(
    bytes: &[u8],
    header: &Header<'_>,
    limits: &ImageLimits,
    notes: &mut Vec<ImageNote>,
) -> Result<(Samples, Profile), ImageError> {
    let (pixels, profile) = match header.format {
        PictureFormat::Jpeg if header.n_channels == 4 => {
            return decode_ink_jpeg(bytes, header, limits);
        }
        PictureFormat::Tiff => {
            let Some(colours) = &header.tiff else {
                return Err(ImageError::broken(header.format));
            };
            let samples = tiff::read(bytes, header, colours, limits, notes)?;
            return Ok((samples, Profile::from_icc(header.icc)));
        }
        PictureFormat::Bmp => {
            let decoder = open(header, BmpDecoder::new(Cursor::new(bytes)))?;
            (
                without_empty_alpha(read_pixels(decoder, header, limits)?),
                Profile::from_icc(header.icc),
            )
        }
        PictureFormat::Jpeg => {
            let mut decoder = open(header, JpegDecoder::new(Cursor::new(bytes)))?;
            let icc = decoder.icc_profile().ok().flatten();
            (
                read_pixels(decoder, header, limits)?,
                Profile::from_icc(icc.as_deref()),
            )
        }
        PictureFormat::Png => {
            let mut metadata_limits = Limits::no_limits();
            metadata_limits.max_alloc = Some(PNG_METADATA_BYTES_MAX);
            let mut decoder = open(
                header,
                PngDecoder::with_limits(Cursor::new(bytes), metadata_limits),
            )?;
            // `cICP` goes before `iCCP`: PNG, third edition, section 4.3.
            let profile = match header.cicp {
                Some(cicp) => Profile::from_cicp(cicp),
                None => Profile::from_icc(decoder.icc_profile().ok().flatten().as_deref()),
            };
            (read_pixels(decoder, header, limits)?, profile)
        }
        PictureFormat::Gif => {
            let mut decoder = open(header, GifDecoder::new(Cursor::new(bytes)))?;
            let profile = Profile::from_icc(decoder.icc_profile().ok().flatten().as_deref());
            let pixels = match (read_pixels(decoder, header, limits), header.gif_data_end) {
                (Err(ImageError::Broken { .. }), Some(data_end)) => {
                    let padded = with_padding(bytes, data_end);
                    let decoder = open(header, GifDecoder::new(Cursor::new(padded.as_slice())))?;
                    read_pixels(decoder, header, limits)?
                }
                (result, _) => result?,
            };
            (pixels, profile)
        }
        PictureFormat::WebP => {
            let decoder = open(header, WebPDecoder::new(Cursor::new(bytes)))?;
            (
                read_pixels(decoder, header, limits)?,
                Profile::from_icc(header.icc),
            )
        }
    };
    Ok((Samples::Light(pixels), profile))
}

/// A BMP that is transparent everywhere was written by a program that left the field empty: it is shown opaque, as browsers do.
fn without_empty_alpha(pixels: DynamicImage) -> DynamicImage {
    match pixels {
        DynamicImage::ImageRgba8(pixels) if pixels.pixels().all(|pixel| pixel.0[3] == 0) => {
            DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(pixels).into_rgb8())
        }
        pixels => pixels,
    }
}

/// A GIF with a small block of zeros behind the pixel data of its first frame.
///
/// The decoder takes data whose end falls on the end of a byte for truncated, as long runs of one colour have them (`gif` 0.14.2).
/// What follows the end is skipped; data that have no end gain at most three codes, which do not fill a picture.
fn with_padding(bytes: &[u8], data_end: usize) -> Vec<u8> {
    const PADDING: [u8; 5] = [4, 0, 0, 0, 0];
    [&bytes[..data_end], &PADDING, &bytes[data_end..]].concat()
}

fn open<D>(header: &Header<'_>, opened: Result<D, ::image::ImageError>) -> Result<D, ImageError> {
    opened.map_err(|error| refuse(header.format, error))
}

fn read_pixels(
    mut decoder: impl ImageDecoder,
    header: &Header<'_>,
    limits: &ImageLimits,
) -> Result<DynamicImage, ImageError> {
    // The decoder's own reading of the header is checked as well, lest a file show the two different sizes.
    let (width_px, height_px) = decoder.dimensions();
    check_size(width_px, height_px, limits)?;
    if (width_px, height_px) != (header.width_px, header.height_px) {
        return Err(ImageError::broken(header.format));
    }
    check_memory(decoder.total_bytes(), header, limits)?;
    let mut decoder_limits = Limits::no_limits();
    decoder_limits.max_image_width = Some(limits.side_max_px);
    decoder_limits.max_image_height = Some(limits.side_max_px);
    decoder_limits.max_alloc = Some(limits.decoded_bytes_max);
    decoder
        .set_limits(decoder_limits)
        .and_then(|()| DynamicImage::from_decoder(decoder))
        .map_err(|error| refuse(header.format, error))
}

pub(super) fn check_memory(
    decoded_bytes: u64,
    header: &Header<'_>,
    limits: &ImageLimits,
) -> Result<(), ImageError> {
    if decoded_bytes > limits.decoded_bytes_max {
        return Err(too_costly(header.format, limits));
    }
    Ok(())
}

fn refuse(format: PictureFormat, error: ::image::ImageError) -> ImageError {
    match error {
        ::image::ImageError::Unsupported(_) => ImageError::UnsupportedForm {
            format,
            source: Some(Box::new(error)),
        },
        _ => ImageError::Broken {
            format,
            source: Some(Box::new(error)),
        },
    }
}

/// Decodes a JPEG of four channels, CMYK or YCCK, to inks.
///
/// The `image` crate knows neither the profile of inks nor that only files with Adobe's mark store them inverted.
fn decode_ink_jpeg(
    bytes: &[u8],
    header: &Header<'_>,
    limits: &ImageLimits,
) -> Result<(Samples, Profile), ImageError> {
    let broken = |error: zune_jpeg::errors::DecodeErrors| {
        use zune_jpeg::errors::DecodeErrors;
        match error {
            DecodeErrors::Unsupported(_) => ImageError::UnsupportedForm {
                format: header.format,
                source: Some(Box::new(error)),
            },
            error => ImageError::Broken {
                format: header.format,
                source: Some(Box::new(error)),
            },
        }
    };
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(limits.side_max_px as usize)
        .set_max_height(limits.side_max_px as usize);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    if decoder.dimensions() != Some((header.width_px as usize, header.height_px as usize)) {
        return Err(ImageError::broken(header.format));
    }
    let n_pixels = u64::from(header.width_px) * u64::from(header.height_px);
    check_memory(n_pixels * 4, header, limits)?;
    let is_ycck = match decoder.input_colorspace() {
        Some(ColorSpace::CMYK) => false,
        Some(ColorSpace::YCCK) => true,
        _ => {
            return Err(ImageError::UnsupportedForm {
                format: header.format,
                source: None,
            });
        }
    };
    // Asking for the stored colour space switches all conversion off.
    let stored = if is_ycck {
        ColorSpace::YCCK
    } else {
        ColorSpace::CMYK
    };
    decoder.set_options(options.jpeg_set_out_colorspace(stored));
    let mut inks = decoder.decode().map_err(broken)?;
    if is_ycck {
        for pixel in inks.as_chunks_mut::<4>().0 {
            *pixel = ycck_to_stored_inks(*pixel);
        }
    }
    if header.has_adobe_marker {
        for ink in &mut inks {
            *ink = 255 - *ink;
        }
    }
    let profile = Profile::from_icc(decoder.icc_profile().as_deref());
    Ok((Samples::Inks(inks), profile))
}

/// One YCCK pixel to the CMYK that was stored: the three colours by the JFIF equations and then complemented, black as it is (Adobe technical note 5116, section 18).
fn ycck_to_stored_inks([y, cb, cr, k]: [u8; 4]) -> [u8; 4] {
    let (y, cb, cr) = (f32::from(y), f32::from(cb) - 128.0, f32::from(cr) - 128.0);
    // A float becomes the nearest representable integer, so the conversion also clamps.
    let complement = |value: f32| 255 - (value + 0.5) as u8;
    [
        complement(y + 1.402 * cr),
        complement(y - 0.344_136 * cb - 0.714_136 * cr),
        complement(y + 1.772 * cb),
        k,
    ]
}
