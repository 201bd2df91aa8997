//! Smaller and upright.

use ::image::metadata::Orientation;
use ::image::{DynamicImage, RgbImage};

use super::ImageNote;

/// Scales `pixels` down until no side is longer than `side_max_px`; never up.
pub(super) fn fit(pixels: RgbImage, side_max_px: u32, notes: &mut Vec<ImageNote>) -> RgbImage {
    let (width, height) = fitted_size(pixels.width(), pixels.height(), side_max_px.max(1));
    if (width, height) == pixels.dimensions() {
        return pixels;
    }
    notes.push(ImageNote::Downscaled);
    scale_down(&pixels, width, height)
}

/// The size with the same aspect whose longest side is at most `side_max_px`, each side rounded and at least 1.
pub(super) fn fitted_size(width: u32, height: u32, side_max_px: u32) -> (u32, u32) {
    let longest = u64::from(width.max(height));
    if longest <= u64::from(side_max_px) {
        return (width, height);
    }
    let scaled = |side: u32| {
        let rounded = (u64::from(side) * u64::from(side_max_px) + longest / 2) / longest;
        // At most `side_max_px`, so it fits.
        rounded.max(1) as u32
    };
    (scaled(width), scaled(height))
}

/// Applies the orientation of an EXIF block. A missing or invalid one changes nothing.
pub(super) fn turn_upright(
    pixels: RgbImage,
    exif: Option<&[u8]>,
    notes: &mut Vec<ImageNote>,
) -> RgbImage {
    let orientation = exif
        .and_then(Orientation::from_exif_chunk)
        .unwrap_or(Orientation::NoTransforms);
    if orientation == Orientation::NoTransforms {
        return pixels;
    }
    notes.push(ImageNote::Rotated);
    let mut picture = DynamicImage::ImageRgb8(pixels);
    picture.apply_orientation(orientation);
    picture.into_rgb8()
}

/// How far Lanczos' filter reaches, in pixels of the smaller picture.
const LANCZOS_LOBES: f64 = 3.0;

/// The pixels that one target pixel is made of, and their weights, which sum to exactly 2^[`Filter::weight_bits`].
struct Taps {
    start: usize,
    weights: Vec<i32>,
}

/// Scales down by a separable Lanczos filter with three lobes, stretched by the scale so that every source pixel counts (C. Duchon, "Lanczos filtering in one and two dimensions", J. Appl. Meteor. 18, 1979).
pub(super) fn scale_down(source: &RgbImage, width: u32, height: u32) -> RgbImage {
    resample(source, width, height, LANCZOS)
}

/// How much a source pixel counts, by its distance in pixels of the smaller picture.
#[derive(Clone, Copy)]
pub(super) struct Filter {
    weight: fn(f64) -> f64,
    /// Beyond this distance weights are 0.
    reach: f64,
    /// Weights are integers with this many fractional bits, so that a result is the same on every machine.
    weight_bits: u32,
}

/// Sharp, and rings a little beside hard edges.
pub(super) const LANCZOS: Filter = Filter {
    weight: lanczos,
    reach: LANCZOS_LOBES,
    weight_bits: 20,
};

/// A triangle: linear interpolation when enlarging, area-true when scaling down. What Pillow calls `BILINEAR`.
pub(super) const TRIANGLE: Filter = Filter {
    weight: |x| (1.0 - x.abs()).max(0.0),
    reach: 1.0,
    // As many as Pillow has, whose result this is to the bit; there are no negative weights that could make the sums overflow.
    weight_bits: 22,
};

/// Scales to a size by a separable filter, stretched when scaling down so that every source pixel counts.
///
/// Rows first, rounded to 8 bits, then columns: memory is the source plus `width` × source height.
pub(super) fn resample(source: &RgbImage, width: u32, height: u32, filter: Filter) -> RgbImage {
    let (source_width, source_height) = source.dimensions();
    let width_bytes = width as usize * 3;
    let half = 1 << (filter.weight_bits - 1);
    let rounded = |sum: i32| (sum >> filter.weight_bits).clamp(0, 255) as u8;
    let columns = taps(source_width, width, filter);
    let mut narrow = vec![0_u8; width_bytes * source_height as usize];
    for (row, out) in source
        .as_raw()
        .chunks_exact(source_width as usize * 3)
        .zip(narrow.chunks_exact_mut(width_bytes))
    {
        for (taps, pixel) in columns.iter().zip(out.as_chunks_mut::<3>().0) {
            let mut sum = [half; 3];
            let reached = &row[taps.start * 3..];
            for (source, &weight) in reached.as_chunks::<3>().0.iter().zip(&taps.weights) {
                for (sum, &value) in sum.iter_mut().zip(source) {
                    *sum += i32::from(value) * weight;
                }
            }
            *pixel = sum.map(rounded);
        }
    }
    let mut result = Vec::with_capacity(width_bytes * height as usize);
    let mut sums = vec![half; width_bytes];
    for taps in taps(source_height, height, filter) {
        sums.fill(half);
        let reached = &narrow[taps.start * width_bytes..];
        for (row, &weight) in reached.chunks_exact(width_bytes).zip(&taps.weights) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += i32::from(value) * weight;
            }
        }
        result.extend(sums.iter().map(|&sum| rounded(sum)));
    }
    RgbImage::from_raw(width, height, result)
        // Unwrap safety: `height` rows of three bytes a pixel were written.
        .expect("three bytes a pixel")
}

fn taps(source: u32, target: u32, filter: Filter) -> Vec<Taps> {
    let scale = f64::from(source) / f64::from(target);
    let reach = filter.reach * scale.max(1.0);
    (0..target)
        .map(|idx| {
            let centre = (f64::from(idx) + 0.5) * scale;
            let start = (centre - reach).floor().max(0.0) as usize;
            let end = ((centre + reach).ceil() as usize).min(source as usize);
            let raw: Vec<f64> = (start..end)
                .map(|at| (filter.weight)((at as f64 + 0.5 - centre) / scale.max(1.0)))
                .collect();
            let total: f64 = raw.iter().sum();
            let one = f64::from(1 << filter.weight_bits);
            let mut weights: Vec<i32> = raw
                .iter()
                .map(|weight| (weight / total * one).round() as i32)
                .collect();
            // A flat area must keep its exact colour, so what rounding left over goes to the middle.
            let left_over = (1 << filter.weight_bits) - weights.iter().sum::<i32>();
            let middle = weights.len() / 2;
            if let Some(weight) = weights.get_mut(middle) {
                *weight += left_over;
            }
            Taps { start, weights }
        })
        .collect()
}

fn lanczos(x: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    if x.abs() >= LANCZOS_LOBES {
        return 0.0;
    }
    let angle = std::f64::consts::PI * x;
    LANCZOS_LOBES * angle.sin() * (angle / LANCZOS_LOBES).sin() / (angle * angle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::image::Rgb;

    #[test]
    fn sides_keep_their_aspect_and_never_vanish() {
        for ((width, height, side_max_px), expected) in [
            ((1920, 1080, 1024), (1024, 576)),
            ((1080, 1920, 1024), (576, 1024)),
            ((333, 1000, 1024), (333, 1000)),
            ((2048, 2048, 2048), (2048, 2048)),
            ((4000, 3000, 2048), (2048, 1536)),
            ((4000, 10, 2048), (2048, 5)),
            ((5000, 3, 2048), (2048, 1)),
            ((3, 5000, 2048), (1, 2048)),
            ((16_384, 1, 2048), (2048, 1)),
            ((16_384, 1, 1), (1, 1)),
            ((1, 1, 1), (1, 1)),
        ] {
            assert_eq!(fitted_size(width, height, side_max_px), expected);
        }
    }

    #[test]
    fn weights_sum_to_one_everywhere() {
        for (source, target) in [(4000, 2048), (2049, 2048), (16_384, 1), (5, 5), (3, 1)] {
            for taps in taps(source, target, LANCZOS) {
                assert_eq!(taps.weights.iter().sum::<i32>(), 1 << LANCZOS.weight_bits);
                assert!(taps.start + taps.weights.len() <= source as usize);
            }
        }
    }

    #[test]
    fn a_flat_picture_keeps_its_exact_colour() {
        let flat = RgbImage::from_pixel(301, 97, Rgb([255, 1, 128]));
        let small = scale_down(&flat, 100, 32);
        assert!(small.pixels().all(|pixel| *pixel == Rgb([255, 1, 128])));
    }

    #[test]
    fn a_fine_chessboard_becomes_grey_and_a_coarse_one_stays() {
        let fine = RgbImage::from_fn(400, 400, |x, y| Rgb([((x + y) % 2 * 255) as u8; 3]));
        let small = scale_down(&fine, 100, 100);
        assert!(small.pixels().all(|pixel| pixel.0[0].abs_diff(127) <= 2));
        let coarse = RgbImage::from_fn(400, 400, |x, y| {
            Rgb([((x / 200 + y / 200) % 2 * 255) as u8; 3])
        });
        let small = scale_down(&coarse, 100, 100);
        assert_eq!(small.get_pixel(20, 20).0, [0; 3]);
        assert_eq!(small.get_pixel(80, 20).0, [255; 3]);
    }
}
