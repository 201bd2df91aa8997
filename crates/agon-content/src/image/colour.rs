//! Colours to 8-bit sRGB on white.

use ::image::{DynamicImage, RgbImage};
use moxcms::{
    CicpColorPrimaries, CicpProfile, ColorProfile, DataColorSpace, Layout, MatrixCoefficients,
    TransferCharacteristics, TransformExecutor, TransformOptions,
};

use super::ImageNote;

/// The largest ICC profile that is used, in bytes. Printers' profiles have one or two MiB.
const ICC_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How far a profile's result may be from sRGB and still count as sRGB, in steps of 255.
const SRGB_TOLERANCE: u8 = 2;

/// The colour space that a picture says it is in.
#[derive(Debug)]
pub(super) enum Profile {
    /// None is given, which means sRGB.
    Absent,
    /// One is given and cannot be read.
    Unusable,
    /// One is given.
    Given(Box<ColorProfile>),
}

impl Profile {
    pub(super) fn from_icc(icc: Option<&[u8]>) -> Self {
        match icc {
            None => Self::Absent,
            Some(icc) if icc.len() > ICC_BYTES_MAX => Self::Unusable,
            Some(icc) => ColorProfile::new_from_slice(icc)
                .map_or(Self::Unusable, |profile| Self::Given(Box::new(profile))),
        }
    }

    /// From the four values of a PNG's `cICP` (ITU-T H.273).
    pub(super) fn from_cicp([primaries, transfer, matrix, range]: [u8; 4]) -> Self {
        // PQ and HLG describe light up to a thousand times brighter than sRGB can: without tone mapping the picture would turn black.
        const PQ: u8 = 16;
        const HLG: u8 = 18;
        if matches!(transfer, PQ | HLG) {
            return Self::Unusable;
        }
        // PNG holds RGB with full range only.
        if matrix != 0 || range != 1 {
            return Self::Unusable;
        }
        let (Ok(color_primaries), Ok(transfer_characteristics)) = (
            CicpColorPrimaries::try_from(primaries),
            TransferCharacteristics::try_from(transfer),
        ) else {
            return Self::Unusable;
        };
        let profile = ColorProfile::new_from_cicp(CicpProfile {
            color_primaries,
            transfer_characteristics,
            matrix_coefficients: MatrixCoefficients::Identity,
            full_range: true,
        });
        if profile.red_trc.is_none() {
            return Self::Unusable;
        }
        Self::Given(Box::new(profile))
    }
}

/// Brings pixels to 8-bit sRGB on white, and notes what that changed.
pub(super) fn to_rgb8_on_white(
    pixels: DynamicImage,
    profile: Profile,
    notes: &mut Vec<ImageNote>,
) -> RgbImage {
    let is_deep = matches!(
        pixels,
        DynamicImage::ImageLuma16(_)
            | DynamicImage::ImageLumaA16(_)
            | DynamicImage::ImageRgb16(_)
            | DynamicImage::ImageRgba16(_)
    );
    if is_deep {
        notes.push(ImageNote::DepthReduced);
    }
    let has_alpha = pixels.color().has_alpha();
    let pixels = match profile {
        Profile::Absent => pixels,
        Profile::Unusable => {
            notes.push(ImageNote::ColourProfileIgnored);
            pixels
        }
        Profile::Given(profile) => {
            let (pixels, note) = convert(pixels, &profile, is_deep);
            notes.extend(note);
            pixels
        }
    };
    if !has_alpha {
        return pixels.into_rgb8();
    }
    let (width_px, height_px) = (pixels.width(), pixels.height());
    let mut is_see_through = false;
    let rgb = if is_deep {
        over_white(&pixels.into_rgba16(), 65_535_u32, &mut is_see_through)
    } else {
        over_white(&pixels.into_rgba8(), 255_u32, &mut is_see_through)
    };
    if is_see_through {
        notes.push(ImageNote::Flattened);
    }
    RgbImage::from_raw(width_px, height_px, rgb)
        // Unwrap safety: three bytes were written for each pixel.
        .expect("three bytes a pixel")
}

/// Lays straight-alpha RGBA over white, as 8-bit RGB, rounded once.
fn over_white<T: Copy + Into<u32>>(rgba: &[T], full: u32, is_see_through: &mut bool) -> Vec<u8> {
    let mut rgb = Vec::with_capacity(rgba.len() / 4 * 3);
    // 16-bit products reach 65,535² × 255, which needs 64 bits.
    let full = u64::from(full);
    let whole = full * full;
    for pixel in rgba.as_chunks::<4>().0 {
        let alpha = u64::from(pixel[3].into());
        *is_see_through |= alpha < full;
        for &channel in &pixel[..3] {
            let value = u64::from(channel.into()) * alpha + full * (full - alpha);
            rgb.push(((value * 255 + whole / 2) / whole) as u8);
        }
    }
    rgb
}

/// Converts to sRGB, unless the profile is sRGB already or cannot be used, and tells what there is to note.
fn convert(
    pixels: DynamicImage,
    profile: &ColorProfile,
    is_deep: bool,
) -> (DynamicImage, Option<ImageNote>) {
    let has_alpha = pixels.color().has_alpha();
    // Some writers put an RGB profile on a grey picture: grey then is equal red, green and blue.
    let as_grey = !pixels.color().has_color() && profile.color_space == DataColorSpace::Gray;
    let source = match (as_grey, has_alpha) {
        (true, true) => Layout::GrayAlpha,
        (true, false) => Layout::Gray,
        (false, true) => Layout::Rgba,
        (false, false) => Layout::Rgb,
    };
    let target = if has_alpha { Layout::Rgba } else { Layout::Rgb };
    let srgb = ColorProfile::new_srgb();
    let options = TransformOptions::default();
    let ignored = Some(ImageNote::ColourProfileIgnored);
    let Ok(shallow) = profile.create_transform_8bit(source, &srgb, target, options) else {
        return (pixels, ignored);
    };
    match is_near_srgb(&*shallow, as_grey, has_alpha) {
        Some(true) => return (pixels, None),
        Some(false) => {}
        None => return (pixels, ignored),
    }
    let Ok(deep) = profile.create_transform_16bit(source, &srgb, target, options) else {
        return (pixels, ignored);
    };
    let converted = if as_grey {
        match grey_to_srgb(&pixels, &*shallow, &*deep) {
            Some(converted) => converted,
            None => return (pixels, ignored),
        }
    } else {
        let mut converted = match (is_deep, has_alpha) {
            (false, false) => DynamicImage::ImageRgb8(pixels.into_rgb8()),
            (false, true) => DynamicImage::ImageRgba8(pixels.into_rgba8()),
            (true, false) => DynamicImage::ImageRgb16(pixels.into_rgb16()),
            (true, true) => DynamicImage::ImageRgba16(pixels.into_rgba16()),
        };
        let row = converted.width() as usize * if has_alpha { 4 } else { 3 };
        let done = match &mut converted {
            DynamicImage::ImageRgb8(samples) => in_place(&*shallow, samples, row),
            DynamicImage::ImageRgba8(samples) => in_place(&*shallow, samples, row),
            DynamicImage::ImageRgb16(samples) => in_place(&*deep, samples, row),
            DynamicImage::ImageRgba16(samples) => in_place(&*deep, samples, row),
            _ => None,
        };
        if done.is_none() {
            return (converted, ignored);
        }
        converted
    };
    (converted, Some(ImageNote::ColourConverted))
}

/// Converts row by row where the samples lie: a picture as large as the limits allow leaves no room for a second one.
fn in_place<T: Copy + Default>(
    transform: &dyn TransformExecutor<T>,
    samples: &mut [T],
    row: usize,
) -> Option<()> {
    let mut source = Vec::with_capacity(row);
    for target in samples.chunks_exact_mut(row) {
        source.clear();
        source.extend_from_slice(target);
        transform.transform(&source, target).ok()?;
    }
    Some(())
}

/// Converts grey to colour, because grey of another tone curve is the only thing that a grey profile can say.
fn grey_to_srgb(
    pixels: &DynamicImage,
    shallow: &dyn TransformExecutor<u8>,
    deep: &dyn TransformExecutor<u16>,
) -> Option<DynamicImage> {
    let (width, height) = (pixels.width(), pixels.height());
    let mut converted = match pixels {
        DynamicImage::ImageLuma8(_) => DynamicImage::new_rgb8(width, height),
        DynamicImage::ImageLumaA8(_) => DynamicImage::new_rgba8(width, height),
        DynamicImage::ImageLuma16(_) => DynamicImage::new_rgb16(width, height),
        DynamicImage::ImageLumaA16(_) => DynamicImage::new_rgba16(width, height),
        _ => return None,
    };
    match (pixels, &mut converted) {
        (DynamicImage::ImageLuma8(grey), DynamicImage::ImageRgb8(colour)) => {
            shallow.transform(grey, colour)
        }
        (DynamicImage::ImageLumaA8(grey), DynamicImage::ImageRgba8(colour)) => {
            shallow.transform(grey, colour)
        }
        (DynamicImage::ImageLuma16(grey), DynamicImage::ImageRgb16(colour)) => {
            deep.transform(grey, colour)
        }
        (DynamicImage::ImageLumaA16(grey), DynamicImage::ImageRgba16(colour)) => {
            deep.transform(grey, colour)
        }
        _ => return None,
    }
    .ok()?;
    Some(converted)
}

/// Whether a transform to sRGB leaves a cube of sample colours as they are. `None` if it fails.
fn is_near_srgb(
    transform: &(dyn TransformExecutor<u8> + Send + Sync),
    as_grey: bool,
    has_alpha: bool,
) -> Option<bool> {
    let levels = || (0..=255_u8).step_by(15);
    let mut expected: Vec<[u8; 3]> = Vec::new();
    if as_grey {
        expected.extend(levels().map(|level| [level; 3]));
    } else {
        for red in levels() {
            for green in levels() {
                expected.extend(levels().map(|blue| [red, green, blue]));
            }
        }
    }
    let mut samples = Vec::new();
    for colour in &expected {
        samples.extend_from_slice(if as_grey { &colour[..1] } else { colour });
        if has_alpha {
            samples.push(255);
        }
    }
    let n_channels = if has_alpha { 4 } else { 3 };
    let mut converted = vec![0; expected.len() * n_channels];
    transform.transform(&samples, &mut converted).ok()?;
    Some(
        converted
            .chunks_exact(n_channels)
            .zip(&expected)
            .all(|(is, should)| {
                is.iter()
                    .zip(should)
                    .all(|(is, should)| is.abs_diff(*should) <= SRGB_TOLERANCE)
            }),
    )
}

/// Inks (255 = full ink) to sRGB, by their profile if there is a usable one, otherwise as (1 − ink) × (1 − black).
pub(super) fn inks_to_rgb8(inks: &[u8], profile: Profile, notes: &mut Vec<ImageNote>) -> Vec<u8> {
    notes.push(ImageNote::ColourConverted);
    if let Profile::Given(profile) = &profile
        && profile.color_space == DataColorSpace::Cmyk
        && let Ok(transform) = profile.create_transform_8bit(
            Layout::Rgba,
            &ColorProfile::new_srgb(),
            Layout::Rgb,
            TransformOptions::default(),
        )
    {
        let mut rgb = vec![0; inks.len() / 4 * 3];
        if transform.transform(inks, &mut rgb).is_ok() {
            return rgb;
        }
    }
    if !matches!(profile, Profile::Absent) {
        notes.push(ImageNote::ColourProfileIgnored);
    }
    let mut rgb = Vec::with_capacity(inks.len() / 4 * 3);
    for pixel in inks.as_chunks::<4>().0 {
        let light = u32::from(255 - pixel[3]);
        for &ink in &pixel[..3] {
            rgb.push(((u32::from(255 - ink) * light + 127) / 255) as u8);
        }
    }
    rgb
}
