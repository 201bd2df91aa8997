//! The hash itself, in the reference library's order of operations, so that single precision rounds as it does there.

use std::f64::consts::PI;

use super::{PdqHash, PerceptualHash, Turn};

/// The side of the square that a picture is reduced to.
const SIDE: usize = 64;

/// How many frequencies are kept in each direction.
const N_FREQUENCIES: usize = 16;

/// Pictures with a shorter side have no hash.
const SIDE_MIN_PX: usize = 5;

/// Quality is the sum of gradients divided by this, a constant of the reference.
const QUALITY_DIVISOR: u32 = 90;

type Square = [[f32; SIDE]; SIDE];
type Spectrum = [[f32; N_FREQUENCIES]; N_FREQUENCIES];

/// Hashes `width` × `height` pixels of three bytes each.
pub(super) fn hash(width: usize, height: usize, rgb: &[u8]) -> PerceptualHash {
    if width < SIDE_MIN_PX || height < SIDE_MIN_PX {
        return PerceptualHash {
            quality: 0,
            turned: [PdqHash::ZERO; 8],
        };
    }
    // ITU-R BT.601 luma, rounded once, as the reference's Python package has it, of which the published hashes are.
    let luma: Vec<f32> = rgb
        .as_chunks::<3>()
        .0
        .iter()
        .map(|&[red, green, blue]| {
            (0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue)) as f32
        })
        .collect();
    let square = reduce(luma, width, height);
    let spectrum = transform(&square);
    PerceptualHash {
        quality: quality(&square),
        turned: Turn::ALL.map(|turn| bits(&turned(&spectrum, turn))),
    }
}

/// Blurs with two passes of a box filter and takes 64 × 64 samples. A picture of that size stays as it is.
fn reduce(mut luma: Vec<f32>, width: usize, height: usize) -> Square {
    if (width, height) != (SIDE, SIDE) {
        let mut blurred = vec![0.0; luma.len()];
        for _ in 0..2 {
            for (from, to) in luma
                .chunks_exact(width)
                .zip(blurred.chunks_exact_mut(width))
            {
                blur_row(from, to);
            }
            blur_columns(&blurred, &mut luma, width, height);
        }
    }
    let mut square = [[0.0; SIDE]; SIDE];
    for (y, row) in square.iter_mut().enumerate() {
        for (x, sample) in row.iter_mut().enumerate() {
            // The middle of the target sample, ⌊(i + ½) · side ÷ 64⌋, in whole numbers.
            let at = |idx: usize, side: usize| (2 * idx + 1) * side / (2 * SIDE);
            *sample = luma[at(y, height) * width + at(x, width)];
        }
    }
    square
}

/// The box filter's window for a side, and how far it reaches ahead: ⌈side ÷ 128⌉ and ⌊(window + 2) ÷ 2⌋.
const fn window(side: usize) -> (usize, usize) {
    let window = side.div_ceil(2 * SIDE);
    (window, (window + 2) / 2)
}

/// The steps of the box filter along one side: what is added, what is dropped and what is written, in order.
fn steps(side: usize) -> impl Iterator<Item = (Option<usize>, Option<usize>, Option<usize>)> {
    let (window, ahead) = window(side);
    (0..side + ahead - 1).map(move |step| {
        let added = (step < side).then_some(step);
        // Sample `step` is the last that the window around `step + 1 - ahead` reaches.
        let written = (step + 1).checked_sub(ahead);
        let dropped = step.checked_sub(window);
        (added, dropped, written)
    })
}

fn blur_row(from: &[f32], to: &mut [f32]) {
    let (mut sum, mut n) = (0.0_f32, 0_u16);
    for (added, dropped, written) in steps(from.len()) {
        if let Some(at) = added {
            sum += from[at];
            n += 1;
        }
        if let Some(at) = dropped {
            sum -= from[at];
            n -= 1;
        }
        if let Some(at) = written {
            to[at] = sum / f32::from(n);
        }
    }
}

/// The same along columns, all of them at once, because memory lies in rows.
fn blur_columns(from: &[f32], to: &mut [f32], width: usize, height: usize) {
    let mut sums = vec![0.0_f32; width];
    let mut n = 0_u16;
    for (added, dropped, written) in steps(height) {
        if let Some(at) = added {
            for (sum, value) in sums.iter_mut().zip(&from[at * width..]) {
                *sum += value;
            }
            n += 1;
        }
        if let Some(at) = dropped {
            for (sum, value) in sums.iter_mut().zip(&from[at * width..]) {
                *sum -= value;
            }
            n -= 1;
        }
        if let Some(at) = written {
            let n = f32::from(n);
            for (value, sum) in to[at * width..].iter_mut().zip(&sums) {
                *value = sum / n;
            }
        }
    }
}

/// The sum of all differences between neighbours, in whole percent of white, scaled to 100.
fn quality(square: &Square) -> u8 {
    // A float becomes the integer towards zero, as in the reference.
    let step = |a: f32, b: f32| ((a - b) * 100.0 / 255.0) as i32;
    let mut sum = 0;
    for (y, row) in square.iter().enumerate() {
        for (x, &value) in row.iter().enumerate() {
            if let Some(below) = square.get(y + 1) {
                sum += step(value, below[x]).unsigned_abs();
            }
            if let Some(&right) = row.get(x + 1) {
                sum += step(value, right).unsigned_abs();
            }
        }
    }
    // At most 100, so it fits.
    (sum / QUALITY_DIVISOR).min(100) as u8
}

/// Frequencies 1 to 16 of a discrete cosine transform of type II in both directions.
fn transform(square: &Square) -> Spectrum {
    // The scale is a float in the reference, the cosine and the product are doubles.
    let scale = f64::from((2.0 / SIDE as f64).sqrt() as f32);
    let mut cosines = [[0.0_f32; SIDE]; N_FREQUENCIES];
    for (i, row) in cosines.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            let angle = (PI / 2.0 / SIDE as f64) * (i + 1) as f64 * (2 * j + 1) as f64;
            *value = (scale * angle.cos()) as f32;
        }
    }
    let mut half = [[0.0_f32; SIDE]; N_FREQUENCIES];
    for (cosines, half) in cosines.iter().zip(&mut half) {
        for (cosine, row) in cosines.iter().zip(square) {
            for (sum, value) in half.iter_mut().zip(row) {
                *sum += cosine * value;
            }
        }
    }
    let mut spectrum = [[0.0_f32; N_FREQUENCIES]; N_FREQUENCIES];
    for (half, row) in half.iter().zip(&mut spectrum) {
        for (cosines, value) in cosines.iter().zip(row) {
            for (half, cosine) in half.iter().zip(cosines) {
                *value += half * cosine;
            }
        }
    }
    spectrum
}

/// The spectrum that the turned picture would have: a flip changes the sign of the odd waves across it, a diagonal exchanges the directions.
fn turned(spectrum: &Spectrum, turn: Turn) -> Spectrum {
    let mut result = [[0.0; N_FREQUENCIES]; N_FREQUENCIES];
    for (i, row) in spectrum.iter().enumerate() {
        for (j, &value) in row.iter().enumerate() {
            // Index 0 is frequency 1, an odd wave.
            let (odd_i, odd_j) = (i % 2 == 0, j % 2 == 0);
            let is_negative = match turn {
                Turn::Original | Turn::FlipPlus1 => false,
                Turn::Rotate90 | Turn::FlipY => odd_j,
                Turn::Rotate270 | Turn::FlipX => odd_i,
                Turn::Rotate180 | Turn::FlipMinus1 => odd_i != odd_j,
            };
            let is_transposed = matches!(
                turn,
                Turn::Rotate90 | Turn::Rotate270 | Turn::FlipPlus1 | Turn::FlipMinus1
            );
            let (i, j) = if is_transposed { (j, i) } else { (i, j) };
            result[i][j] = if is_negative { -value } else { value };
        }
    }
    result
}

/// Bit 16 · i + j is set where the frequency is above the median, which is the 128th smallest of 256.
fn bits(spectrum: &Spectrum) -> PdqHash {
    let mut sorted: Vec<f32> = spectrum.iter().flatten().copied().collect();
    let (_, &mut median, _) = sorted.select_nth_unstable_by(127, f32::total_cmp);
    spectrum
        .iter()
        .flatten()
        .enumerate()
        .filter(|&(_, &value)| value > median)
        .fold(PdqHash::ZERO, |hash, (bit, _)| hash.with_bit(bit))
}
