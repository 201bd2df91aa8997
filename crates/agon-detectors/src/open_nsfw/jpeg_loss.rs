//! What saving as JPEG and loading again does to pixels, without any file in between.
//!
//! The network was trained on pictures that were scaled down and saved as JPEG once more, and its scores move by up to a tenth without that step.
//! The arithmetic is that of libjpeg's slow integer transforms at quality 75 with halved colour (ITU-T T.81, annexes A and K; C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications", ICASSP 1989), so that the result is the one of Pillow, bit for bit.
//! Packing the numbers into a file loses nothing, so it is left out.

/// The side of a block that is transformed at once.
const BLOCK: usize = 8;

/// Table K.1, for brightness, halved as quality 75 does.
const LUMINANCE: [i32; 64] = halved([
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113,
    92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
]);

/// Table K.2, for colour, halved as quality 75 does.
const CHROMINANCE: [i32; 64] = halved([
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
]);

const fn halved(mut table: [i32; 64]) -> [i32; 64] {
    let mut idx = 0;
    while idx < 64 {
        table[idx] = (table[idx] * 50 + 50) / 100;
        idx += 1;
    }
    table
}

/// Fractional bits of the constants of the transforms.
const CONST_BITS: u32 = 13;
/// Fractional bits kept between rows and columns.
const PASS_BITS: u32 = 2;

/// One colour channel.
struct Plane {
    side: usize,
    values: Vec<u8>,
}

/// The pixels of a square picture, its side a multiple of 16, as they come back from a JPEG file of quality 75.
pub(super) fn applied(rgb: &[u8], side: usize) -> Vec<u8> {
    debug_assert!(side.is_multiple_of(2 * BLOCK) && rgb.len() == side * side * 3);
    let [luma, blue, red] = to_ycc(rgb, side);
    let luma = transformed(&luma, &LUMINANCE);
    let blue = doubled(&transformed(&halved_plane(&blue), &CHROMINANCE));
    let red = doubled(&transformed(&halved_plane(&red), &CHROMINANCE));
    to_rgb(&luma, &blue, &red)
}

/// Red, green, blue to brightness and two colours, with 16 fractional bits.
fn to_ycc(rgb: &[u8], side: usize) -> [Plane; 3] {
    const HALF: i32 = 1 << 15;
    const CENTRE: i32 = (128 << 16) + HALF - 1;
    let channel = |weights: [i32; 3], offset: i32| Plane {
        side,
        values: rgb
            .as_chunks::<3>()
            .0
            .iter()
            .map(|pixel| {
                let sum: i32 = pixel
                    .iter()
                    .zip(weights)
                    .map(|(value, weight)| i32::from(*value) * weight)
                    .sum();
                clamped((sum + offset) >> 16)
            })
            .collect(),
    };
    [
        channel([19_595, 38_470, 7_471], HALF),
        channel([-11_059, -21_709, 32_768], CENTRE),
        channel([32_768, -27_439, -5_329], CENTRE),
    ]
}

fn to_rgb(luma: &Plane, blue: &Plane, red: &Plane) -> Vec<u8> {
    const HALF: i32 = 1 << 15;
    let mut rgb = Vec::with_capacity(luma.values.len() * 3);
    for ((luma, blue), red) in luma.values.iter().zip(&blue.values).zip(&red.values) {
        let luma = i32::from(*luma);
        let (blue, red) = (i32::from(*blue) - 128, i32::from(*red) - 128);
        rgb.push(clamped(luma + ((91_881 * red + HALF) >> 16)));
        rgb.push(clamped(
            luma + ((-22_554 * blue - 46_802 * red + HALF) >> 16),
        ));
        rgb.push(clamped(luma + ((116_130 * blue + HALF) >> 16)));
    }
    rgb
}

/// Means of two by two values. Halves are rounded down and up in turn, as a bias would show.
fn halved_plane(plane: &Plane) -> Plane {
    let side = plane.side / 2;
    let at = |x: usize, y: usize| u32::from(plane.values[y * plane.side + x]);
    let mut values = Vec::with_capacity(side * side);
    for y in 0..side {
        for x in 0..side {
            let (left, top) = (2 * x, 2 * y);
            let sum = at(left, top) + at(left + 1, top) + at(left, top + 1) + at(left + 1, top + 1);
            let bias = if x % 2 == 0 { 1 } else { 2 };
            // Four bytes and at most 2, shifted by two bits, fit a byte.
            values.push(((sum + bias) >> 2) as u8);
        }
    }
    Plane { side, values }
}

/// Twice the size, each value ¾ of the nearer and ¼ of the farther neighbour in both directions.
fn doubled(plane: &Plane) -> Plane {
    let half = plane.side;
    let side = half * 2;
    let mut values = vec![0; side * side];
    for y in 0..side {
        let near = y / 2;
        let far = if y % 2 == 0 {
            near.saturating_sub(1)
        } else {
            (near + 1).min(half - 1)
        };
        let column = |x: usize| {
            3 * u32::from(plane.values[near * half + x]) + u32::from(plane.values[far * half + x])
        };
        for x in 0..half {
            let this = column(x);
            let left = column(x.saturating_sub(1));
            let right = column((x + 1).min(half - 1));
            values[y * side + 2 * x] = ((3 * this + left + 8) >> 4) as u8;
            values[y * side + 2 * x + 1] = ((3 * this + right + 7) >> 4) as u8;
        }
    }
    Plane { side, values }
}

/// Each block to frequencies, rounded to multiples of the table, and back.
fn transformed(plane: &Plane, table: &[i32; 64]) -> Plane {
    let mut values = vec![0; plane.values.len()];
    for top in (0..plane.side).step_by(BLOCK) {
        for left in (0..plane.side).step_by(BLOCK) {
            let mut block = [0_i32; 64];
            for (idx, value) in block.iter_mut().enumerate() {
                let at = (top + idx / BLOCK) * plane.side + left + idx % BLOCK;
                *value = i32::from(plane.values[at]) - 128;
            }
            forward(&mut block);
            for (value, step) in block.iter_mut().zip(table) {
                let divisor = step * 8;
                let rounded = (value.abs() + divisor / 2) / divisor;
                *value = value.signum() * rounded * step;
            }
            backward(&mut block);
            for (idx, value) in block.iter().enumerate() {
                let at = (top + idx / BLOCK) * plane.side + left + idx % BLOCK;
                values[at] = clamped(value + 128);
            }
        }
    }
    Plane {
        side: plane.side,
        values,
    }
}

fn clamped(value: i32) -> u8 {
    value.clamp(0, 255) as u8
}

/// Divides by a power of two, halves upwards.
const fn descaled(value: i32, n_bits: u32) -> i32 {
    (value + (1 << (n_bits - 1))) >> n_bits
}

/// The rotation by π/8 that both transforms share.
const fn even(first: i32, second: i32) -> (i32, i32) {
    let both = (first + second) * 4_433;
    (both + first * 6_270, both - second * 15_137)
}

/// The odd half that both transforms share: four values to four sums with [`CONST_BITS`] fractional bits.
const fn odd(values: [i32; 4]) -> [i32; 4] {
    let [v0, v1, v2, v3] = values;
    let z5 = (v0 + v2 + v1 + v3) * 9_633;
    let z1 = -(v0 + v3) * 7_373;
    let z2 = -(v1 + v2) * 20_995;
    let z3 = z5 - (v0 + v2) * 16_069;
    let z4 = z5 - (v1 + v3) * 3_196;
    [
        v0 * 2_446 + z1 + z3,
        v1 * 16_819 + z2 + z4,
        v2 * 25_172 + z2 + z3,
        v3 * 12_299 + z1 + z4,
    ]
}

fn forward(block: &mut [i32; 64]) {
    for pass in 0..2 {
        for line in 0..BLOCK {
            let at = |idx: usize| {
                if pass == 0 {
                    line * BLOCK + idx
                } else {
                    idx * BLOCK + line
                }
            };
            let d = std::array::from_fn::<i32, 8, _>(|idx| block[at(idx)]);
            let (t10, t13) = (d[0] + d[7] + d[3] + d[4], d[0] + d[7] - d[3] - d[4]);
            let (t11, t12) = (d[1] + d[6] + d[2] + d[5], d[1] + d[6] - d[2] - d[5]);
            let (two, six) = even(t13, t12);
            let [seven, five, three, one] =
                odd([d[3] - d[4], d[2] - d[5], d[1] - d[6], d[0] - d[7]]);
            let n_bits = if pass == 0 {
                block[at(0)] = (t10 + t11) << PASS_BITS;
                block[at(4)] = (t10 - t11) << PASS_BITS;
                CONST_BITS - PASS_BITS
            } else {
                block[at(0)] = descaled(t10 + t11, PASS_BITS);
                block[at(4)] = descaled(t10 - t11, PASS_BITS);
                CONST_BITS + PASS_BITS
            };
            for (idx, value) in [
                (2, two),
                (6, six),
                (7, seven),
                (5, five),
                (3, three),
                (1, one),
            ] {
                block[at(idx)] = descaled(value, n_bits);
            }
        }
    }
}

fn backward(block: &mut [i32; 64]) {
    for pass in 0..2 {
        for line in 0..BLOCK {
            let at = |idx: usize| {
                if pass == 0 {
                    idx * BLOCK + line
                } else {
                    line * BLOCK + idx
                }
            };
            let d = std::array::from_fn::<i32, 8, _>(|idx| block[at(idx)]);
            let (t3, t2) = even(d[2], d[6]);
            let (t0, t1) = ((d[0] + d[4]) << CONST_BITS, (d[0] - d[4]) << CONST_BITS);
            let evens = [t0 + t3, t1 + t2, t1 - t2, t0 - t3];
            let [o3, o2, o1, o0] = odd([d[7], d[5], d[3], d[1]]);
            let n_bits = if pass == 0 {
                CONST_BITS - PASS_BITS
            } else {
                CONST_BITS + PASS_BITS + 3
            };
            for (idx, (even, odd)) in evens.into_iter().zip([o0, o1, o2, o3]).enumerate() {
                block[at(idx)] = descaled(even + odd, n_bits);
                block[at(7 - idx)] = descaled(even - odd, n_bits);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_loss_is_that_of_pillow() {
        let side = 224;
        let rgb: Vec<u8> = (0..side * side)
            .flat_map(|at| {
                let (x, y) = (at % side, at / side);
                [
                    (x * y / 3) as u8,
                    (x * 5 + y) as u8,
                    ((x / 9 + y / 7) % 2 * 200) as u8,
                ]
            })
            .collect();
        let after = applied(&rgb, side);
        let hash: String = Sha256::digest(&after)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        // Written by scripts/nsfw-reference.py.
        let golden = include_str!("../../tests/golden/open_nsfw_scenes.json");
        assert!(golden.contains(&hash), "{hash}");
    }

    #[test]
    fn flat_grey_is_kept() {
        for value in [0, 77, 128, 255] {
            let rgb = vec![value; 32 * 32 * 3];
            assert_eq!(applied(&rgb, 32), rgb);
        }
    }
}
