//! Pixels of a TIFF whose header was checked: grey, palette, RGB, inks and YCbCr, in strips or tiles, interleaved or in planes.
//!
//! The `tiff` crate unpacks samples; what they mean is told here, because its users need profiles for inks, palettes and the kind of transparency.

use std::io::Cursor;

use ::image::{DynamicImage, ImageBuffer, Pixel};
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::{ColorType, TiffError};

use super::decode::{Samples, check_memory};
use super::header::{Alpha, Header, TiffColours, too_costly, with_entries_as_grey};
use super::{ImageError, ImageLimits, ImageNote};

/// Memory for the values of one field, such as the places of all strips, in bytes.
const FIELD_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How a TIFF says that its samples are entries of a palette.
const PALETTE: u32 = 3;

/// Reads the first page.
pub(super) fn read(
    bytes: &[u8],
    header: &Header<'_>,
    colours: &TiffColours,
    limits: &ImageLimits,
    notes: &mut Vec<ImageNote>,
) -> Result<Samples, ImageError> {
    let sample_bytes = u64::from(colours.n_bits.div_ceil(8)) * u64::from(colours.n_samples);
    let n_pixels = u64::from(header.width_px) * u64::from(header.height_px);
    // At least three bytes a pixel come out, whatever went in; planes are copied together.
    let pixel_bytes = sample_bytes.max(3) * if colours.is_planar { 2 } else { 1 };
    check_memory(n_pixels.saturating_mul(pixel_bytes), header, limits)?;
    let refuse = |error: TiffError| match error {
        TiffError::UnsupportedError(_) => ImageError::UnsupportedForm {
            format: header.format,
            source: Some(Box::new(error)),
        },
        TiffError::LimitsExceeded => too_costly(header.format, limits),
        error => ImageError::Broken {
            format: header.format,
            source: Some(Box::new(error)),
        },
    };
    let buffer_bytes = usize::try_from(limits.decoded_bytes_max).unwrap_or(usize::MAX);
    let mut decoder_limits = Limits::default();
    decoder_limits.decoding_buffer_size = buffer_bytes;
    decoder_limits.intermediate_buffer_size = buffer_bytes;
    decoder_limits.ifd_value_size = FIELD_BYTES_MAX;
    // The decoder refuses palettes (`tiff` 0.11.3), whose samples are stored as those of grey are.
    let as_grey = if colours.photometric == PALETTE {
        let as_grey = with_entries_as_grey(bytes);
        Some(as_grey.ok_or_else(|| ImageError::broken(header.format))?)
    } else {
        None
    };
    let mut decoder = Decoder::new(Cursor::new(as_grey.as_deref().unwrap_or(bytes)))
        .map_err(refuse)?
        .with_limits(decoder_limits);
    if decoder.dimensions().map_err(refuse)? != (header.width_px, header.height_px) {
        return Err(ImageError::broken(header.format));
    }
    let colour_type = decoder.colortype().map_err(refuse)?;
    let mut unpacked = DecodingResult::U8(Vec::new());
    let layout = decoder
        .read_image_to_buffer(&mut unpacked)
        .map_err(refuse)?;
    if unpacked.as_buffer(0).as_bytes().len() < layout.complete_len {
        return Err(too_costly(header.format, limits));
    }
    let n_planes = layout.planes;
    let page = Page { header, colours };
    let samples = match unpacked {
        DecodingResult::U8(samples) => {
            page.shallow(colour_type, interleaved(samples, n_planes, n_pixels))
        }
        DecodingResult::U16(samples) => {
            page.deep(colour_type, interleaved(samples, n_planes, n_pixels), notes)
        }
        _ => None,
    };
    samples.ok_or_else(|| ImageError::UnsupportedForm {
        format: header.format,
        source: None,
    })
}

/// Samples pixel by pixel, whether they lay so or plane by plane.
fn interleaved<T: Copy>(samples: Vec<T>, n_planes: usize, n_pixels: u64) -> Vec<T> {
    let n_pixels = n_pixels as usize;
    if n_planes < 2 || samples.len() < n_planes * n_pixels {
        return samples;
    }
    (0..n_pixels)
        .flat_map(|pixel| (0..n_planes).map(move |plane| plane * n_pixels + pixel))
        .map(|at| samples[at])
        .collect()
}

struct Page<'a, 'b> {
    header: &'a Header<'b>,
    colours: &'a TiffColours,
}

impl Page<'_, '_> {
    /// A picture from samples, `None` if their number is wrong.
    fn buffer<P: Pixel>(
        &self,
        samples: Vec<P::Subpixel>,
    ) -> Option<ImageBuffer<P, Vec<P::Subpixel>>> {
        let (width, height) = (self.header.width_px, self.header.height_px);
        let n_samples = u64::from(width) * u64::from(height) * u64::from(P::CHANNEL_COUNT);
        if samples.len() as u64 != n_samples {
            return None;
        }
        ImageBuffer::from_raw(width, height, samples)
    }

    /// Of up to 8 bits a sample.
    fn shallow(&self, colour_type: ColorType, mut samples: Vec<u8>) -> Option<Samples> {
        let has_palette = self.colours.photometric == PALETTE;
        let picture = match colour_type {
            ColorType::Gray(8) if has_palette => self.with_palette(&samples)?,
            ColorType::Gray(n_bits @ (1 | 2 | 4)) if has_palette => {
                self.with_palette(&self.unpacked(&samples, n_bits)?)?
            }
            ColorType::Gray(8) => DynamicImage::ImageLuma8(self.buffer(samples)?),
            ColorType::Gray(n_bits @ (1 | 2 | 4)) => {
                let full = (1 << n_bits) - 1;
                let mut levels = self.unpacked(&samples, n_bits)?;
                for level in &mut levels {
                    *level *= 255 / full;
                }
                DynamicImage::ImageLuma8(self.buffer(levels)?)
            }
            ColorType::Multiband {
                bit_depth: 8,
                num_samples: 2,
            } if self.colours.alpha.is_some() && self.colours.photometric == 1 => {
                self.divide_by_alpha(&mut samples, 2, 255);
                DynamicImage::ImageLumaA8(self.buffer(samples)?)
            }
            ColorType::RGB(8) => DynamicImage::ImageRgb8(self.buffer(samples)?),
            ColorType::RGBA(8) => {
                self.divide_by_alpha(&mut samples, 4, 255);
                DynamicImage::ImageRgba8(self.buffer(samples)?)
            }
            ColorType::YCbCr(8) => {
                for pixel in samples.as_chunks_mut::<3>().0 {
                    *pixel = self.ycbcr_to_rgb(*pixel);
                }
                DynamicImage::ImageRgb8(self.buffer(samples)?)
            }
            ColorType::CMYK(8) => return self.inks(samples),
            _ => return None,
        };
        Some(Samples::Light(picture))
    }

    /// Of 16 bits a sample.
    fn deep(
        &self,
        colour_type: ColorType,
        mut samples: Vec<u16>,
        notes: &mut Vec<ImageNote>,
    ) -> Option<Samples> {
        let picture = match colour_type {
            ColorType::Gray(16) if self.colours.photometric != PALETTE => {
                DynamicImage::ImageLuma16(self.buffer(samples)?)
            }
            ColorType::Multiband {
                bit_depth: 16,
                num_samples: 2,
            } if self.colours.alpha.is_some() && self.colours.photometric == 1 => {
                self.divide_by_alpha(&mut samples, 2, 65_535);
                DynamicImage::ImageLumaA16(self.buffer(samples)?)
            }
            ColorType::RGB(16) => DynamicImage::ImageRgb16(self.buffer(samples)?),
            ColorType::RGBA(16) => {
                self.divide_by_alpha(&mut samples, 4, 65_535);
                DynamicImage::ImageRgba16(self.buffer(samples)?)
            }
            ColorType::CMYK(16) => {
                notes.push(ImageNote::DepthReduced);
                return self.inks(samples.into_iter().map(to_8_bits).collect());
            }
            _ => return None,
        };
        Some(Samples::Light(picture))
    }

    fn inks(&self, inks: Vec<u8>) -> Option<Samples> {
        let n_inks = u64::from(self.header.width_px) * u64::from(self.header.height_px) * 4;
        (inks.len() as u64 == n_inks).then_some(Samples::Inks(inks))
    }

    /// One number for each pixel, from rows that begin at whole bytes.
    fn unpacked(&self, rows: &[u8], n_bits: u8) -> Option<Vec<u8>> {
        let (width, height) = (
            self.header.width_px as usize,
            self.header.height_px as usize,
        );
        let per_byte = usize::from(8 / n_bits);
        let row_bytes = width.div_ceil(per_byte);
        if rows.len() != row_bytes * height {
            return None;
        }
        let mask = (1 << n_bits) - 1;
        Some(
            rows.chunks_exact(row_bytes)
                .flat_map(|row| {
                    (0..width).map(move |x| {
                        let shift = 8 - n_bits as usize * (x % per_byte + 1);
                        row[x / per_byte] >> shift & mask
                    })
                })
                .collect(),
        )
    }

    /// Colours of entries of the palette. An entry beyond it makes the picture unusable.
    fn with_palette(&self, entries: &[u8]) -> Option<DynamicImage> {
        let palette = &self.colours.palette;
        let n_colours = palette.len() / 3;
        // Values are of 16 bits; writers that misread this put 8 bits there.
        let is_shallow = palette.iter().all(|&value| value < 256);
        let colours: Vec<[u8; 3]> = (0..n_colours)
            .map(|entry| {
                [0, 1, 2].map(|channel| {
                    let value = palette[channel * n_colours + entry];
                    if is_shallow {
                        value as u8
                    } else {
                        to_8_bits(value.min(65_535) as u16)
                    }
                })
            })
            .collect();
        let mut rgb = Vec::with_capacity(entries.len() * 3);
        for &entry in entries {
            rgb.extend(colours.get(usize::from(entry))?);
        }
        Some(DynamicImage::ImageRgb8(self.buffer(rgb)?))
    }

    /// Undoes the multiplication of colours by their transparency, where there is one.
    fn divide_by_alpha<T>(&self, samples: &mut [T], n_channels: usize, full: u32)
    where
        T: Copy + Into<u32> + TryFrom<u32>,
    {
        if self.colours.alpha != Some(Alpha::Associated) {
            return;
        }
        for pixel in samples.chunks_exact_mut(n_channels) {
            let alpha: u32 = pixel[n_channels - 1].into();
            for channel in &mut pixel[..n_channels - 1] {
                let value: u32 = (*channel).into();
                let straight = (value * full + alpha / 2).checked_div(alpha).unwrap_or(0);
                if let Ok(straight) = T::try_from(straight.min(full)) {
                    *channel = straight;
                }
            }
        }
    }

    /// TIFF 6.0, section 21.
    fn ycbcr_to_rgb(&self, [y, cb, cr]: [u8; 3]) -> [u8; 3] {
        let reference = self.colours.reference;
        let scaled = |value: u8, black: f32, white: f32, range: f32| {
            (f32::from(value) - black) * range / (white - black)
        };
        let y = scaled(y, reference[0], reference[1], 255.0);
        let cb = scaled(cb, reference[2], reference[3], 127.0);
        let cr = scaled(cr, reference[4], reference[5], 127.0);
        let [luma_red, luma_green, luma_blue] = self.colours.luma;
        let red = cr * (2.0 - 2.0 * luma_red) + y;
        let blue = cb * (2.0 - 2.0 * luma_blue) + y;
        let green = (y - luma_blue * blue - luma_red * red) / luma_green;
        // A float becomes the nearest representable integer, so the conversion also clamps.
        [red, green, blue].map(|value| (value + 0.5) as u8)
    }
}

/// 16 bits to 8, rounded.
const fn to_8_bits(value: u16) -> u8 {
    ((value as u32 * 255 + 32_767) / 65_535) as u8
}
