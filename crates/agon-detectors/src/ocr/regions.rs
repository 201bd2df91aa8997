//! From the map of where text is to turned rectangles (M. Liao, Z. Wan, C. Yao, K. Chen, X. Bai, "Real-time scene text detection with differentiable binarization", AAAI 2020).

use agon_content::image::Pixels;

use super::strip::Corners;
use crate::network::{Channels, Network, planes};

/// Sides of the network's input are multiples of this.
const SIDE_STEP: u32 = 32;

/// A picture is enlarged until its shorter side has this many pixels, as long as the limits below hold.
const SHORT_SIDE_PX: f64 = 480.0;

/// Most a picture is enlarged.
const ENLARGED_MAX: f64 = 2.0;

/// Values of the map from here on are text.
const TEXT_MIN: f32 = 0.3;

/// Mean of the map inside of a rectangle, below which it is no text.
const SCORE_MIN: f32 = 0.5;

/// The network marks the middle of a line: the marked area grows by this share of area over circumference.
const GROWTH: f32 = 1.6;

/// Rectangles with a shorter side than this, on the map, are specks.
const SIDE_MIN: f32 = 3.0;

/// White around the picture, in pixels of the input: text that touches the edge is not found well.
const MARGIN_PX: u32 = 32;

/// Where lines of text are, in no order.
pub(super) fn find(
    network: &Network,
    picture: &Pixels,
    side_max_px: u32,
) -> Result<Vec<Corners>, String> {
    let factor = factor(picture.width_px(), picture.height_px(), side_max_px);
    let scaled_side = |side: u32| ((f64::from(side) * factor).round() as u32).max(1);
    let scaled = picture.resized(
        scaled_side(picture.width_px()),
        scaled_side(picture.height_px()),
    );
    let padded = |side: u32| (side + 2 * MARGIN_PX).next_multiple_of(SIDE_STEP) as usize;
    let (width, height) = (padded(scaled.width_px()), padded(scaled.height_px()));
    let framed = framed(&scaled, width, height);
    let input = planes(&framed, width, (width, height), Channels::Bgr, |value| {
        value / 127.5 - 1.0
    });
    let outputs = network.run::<4>([1, 3, height, width], input, &[])?;
    let map = match outputs.first() {
        Some(output) if output.shape == [1, 1, height, width] => &output.values,
        _ => return Err("the network gave a map of another size".to_owned()),
    };
    let x_factor = picture.width_px() as f32 / scaled.width_px() as f32;
    let y_factor = picture.height_px() as f32 / scaled.height_px() as f32;
    let margin = MARGIN_PX as f32;
    Ok(rectangles(map, width, height)
        .into_iter()
        .map(|corners| {
            Corners(
                corners
                    .0
                    .map(|(x, y)| ((x - margin) * x_factor, (y - margin) * y_factor)),
            )
        })
        .collect())
}

fn factor(width_px: u32, height_px: u32, side_max_px: u32) -> f64 {
    let longest = f64::from(width_px.max(height_px));
    let shortest = f64::from(width_px.min(height_px));
    (SHORT_SIDE_PX / shortest)
        .clamp(1.0, ENLARGED_MAX)
        .min(f64::from(side_max_px) / longest)
}

/// The picture in a larger one, which continues its edges.
fn framed(picture: &Pixels, width: usize, height: usize) -> Vec<u8> {
    let (inner_width, inner_height) = (picture.width_px() as usize, picture.height_px() as usize);
    let margin = MARGIN_PX as usize;
    let rgb = picture.as_rgb();
    let mut framed = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        let row = y.saturating_sub(margin).min(inner_height - 1);
        for x in 0..width {
            let column = x.saturating_sub(margin).min(inner_width - 1);
            let at = (row * inner_width + column) * 3;
            framed.extend_from_slice(&rgb[at..at + 3]);
        }
    }
    framed
}

/// Rectangles around the areas of the map that are text.
fn rectangles(map: &[f32], width: usize, height: usize) -> Vec<Corners> {
    let mut found = Vec::new();
    for area in areas(map, width, height) {
        let Some(tight) = smallest_rectangle(&hull(area)) else {
            continue;
        };
        let side = tight.width().min(tight.height());
        if side < SIDE_MIN || mean_inside(map, width, height, &tight) < SCORE_MIN {
            continue;
        }
        let growth = tight.area() * GROWTH / (2.0 * (tight.width() + tight.height()));
        found.push(upright_first(grown(&tight, growth)));
    }
    found
}

/// For each connected area of text, the first and last pixel of each of its rows, which have the same hull as all its pixels.
fn areas(map: &[f32], width: usize, height: usize) -> Vec<Vec<(i32, i32)>> {
    let is_text = |at: usize| map[at] > TEXT_MIN;
    let mut seen = vec![false; map.len()];
    let mut areas = Vec::new();
    let mut waiting = Vec::new();
    for start in 0..width * height {
        if seen[start] || !is_text(start) {
            continue;
        }
        seen[start] = true;
        waiting.push(start);
        let mut rows: std::collections::BTreeMap<i32, (i32, i32)> =
            std::collections::BTreeMap::new();
        while let Some(at) = waiting.pop() {
            // Sides of at most some thousand pixels fit.
            let (x, y) = ((at % width) as i32, (at / width) as i32);
            let ends = rows.entry(y).or_insert((x, x));
            *ends = (ends.0.min(x), ends.1.max(x));
            for down in -1..=1 {
                for across in -1..=1 {
                    let (x, y) = (x + across, y + down);
                    if x < 0 || y < 0 || x >= width as i32 || y >= height as i32 {
                        continue;
                    }
                    let next = y as usize * width + x as usize;
                    if !seen[next] && is_text(next) {
                        seen[next] = true;
                        waiting.push(next);
                    }
                }
            }
        }
        areas.push(
            rows.into_iter()
                // The outer corners of the pixels.
                .flat_map(|(y, (first, last))| {
                    [(first, y), (last + 1, y), (first, y + 1), (last + 1, y + 1)]
                })
                .collect(),
        );
    }
    areas
}

/// The convex hull, counter-clockwise (A. Andrew, "Another efficient algorithm for convex hulls in two dimensions", 1979).
fn hull(mut points: Vec<(i32, i32)>) -> Vec<(i32, i32)> {
    points.sort_unstable();
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let is_right_turn = |a: (i32, i32), b: (i32, i32), c: (i32, i32)| {
        let side = |from: i32, to: i32| i64::from(to) - i64::from(from);
        side(a.0, b.0) * side(a.1, c.1) - side(a.1, b.1) * side(a.0, c.0) <= 0
    };
    let half = |points: &mut dyn Iterator<Item = (i32, i32)>| {
        let mut chain: Vec<(i32, i32)> = Vec::new();
        for point in points {
            while let [.., a, b] = chain.as_slice() {
                if is_right_turn(*a, *b, point) {
                    chain.pop();
                } else {
                    break;
                }
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut whole = half(&mut points.iter().copied());
    whole.extend(half(&mut points.iter().rev().copied()));
    whole
}

/// The smallest rectangle around a convex hull: one of its sides lies on a side of the hull (H. Freeman, R. Shapira, 1975).
fn smallest_rectangle(hull: &[(i32, i32)]) -> Option<Corners> {
    let mut best: Option<(f32, Corners)> = None;
    for (idx, from) in hull.iter().enumerate() {
        let to = hull[(idx + 1) % hull.len()];
        let (dx, dy) = ((to.0 - from.0) as f32, (to.1 - from.1) as f32);
        let length = dx.hypot(dy);
        if length == 0.0 {
            continue;
        }
        let along = (dx / length, dy / length);
        let (mut low, mut high) = ((f32::MAX, f32::MAX), (f32::MIN, f32::MIN));
        for point in hull {
            let (x, y) = (point.0 as f32, point.1 as f32);
            let u = x * along.0 + y * along.1;
            let v = y * along.0 - x * along.1;
            low = (low.0.min(u), low.1.min(v));
            high = (high.0.max(u), high.1.max(v));
        }
        let area = (high.0 - low.0) * (high.1 - low.1);
        if best.is_none_or(|(smallest, _)| area < smallest) {
            let corner = |u: f32, v: f32| (u * along.0 - v * along.1, u * along.1 + v * along.0);
            best = Some((
                area,
                Corners([
                    corner(low.0, low.1),
                    corner(high.0, low.1),
                    corner(high.0, high.1),
                    corner(low.0, high.1),
                ]),
            ));
        }
    }
    best.map(|(_, corners)| corners)
}

/// The mean of the map over the pixels whose middles are in the rectangle.
fn mean_inside(map: &[f32], width: usize, height: usize, corners: &Corners) -> f32 {
    let [a, b, _, d] = corners.0;
    let (across, down) = ((b.0 - a.0, b.1 - a.1), (d.0 - a.0, d.1 - a.1));
    let (across_2, down_2) = (
        across.0 * across.0 + across.1 * across.1,
        down.0 * down.0 + down.1 * down.1,
    );
    let Some(place) = corners.around((width as u32, height as u32)) else {
        return 0.0;
    };
    let (mut sum, mut n_pixels) = (0.0, 0_u32);
    for y in place.top_px..place.top_px + place.height_px {
        for x in place.left_px..place.left_px + place.width_px {
            let (dx, dy) = (x as f32 + 0.5 - a.0, y as f32 + 0.5 - a.1);
            let u = (dx * across.0 + dy * across.1) / across_2;
            let v = (dx * down.0 + dy * down.1) / down_2;
            if (0.0..=1.0).contains(&u) && (0.0..=1.0).contains(&v) {
                sum += map[y as usize * width + x as usize];
                n_pixels += 1;
            }
        }
    }
    sum / n_pixels.max(1) as f32
}

/// The rectangle with every side moved outwards.
fn grown(corners: &Corners, by: f32) -> Corners {
    let [a, b, _, d] = corners.0;
    let unit = |from: (f32, f32), to: (f32, f32)| {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(f32::MIN_POSITIVE);
        (dx / length * by, dy / length * by)
    };
    let (across, down) = (unit(a, b), unit(a, d));
    let moved = |corner: (f32, f32), right: f32, low: f32| {
        (
            corner.0 + right * across.0 + low * down.0,
            corner.1 + right * across.1 + low * down.1,
        )
    };
    let [a, b, c, d] = corners.0;
    Corners([
        moved(a, -1.0, -1.0),
        moved(b, 1.0, -1.0),
        moved(c, 1.0, 1.0),
        moved(d, -1.0, 1.0),
    ])
}

/// The same rectangle begun at the corner from which its upper side runs most nearly to the right.
fn upright_first(corners: Corners) -> Corners {
    let mut best = corners;
    let mut turned = corners;
    for _ in 0..4 {
        let [a, b, c, d] = turned.0;
        turned = Corners([b, c, d, a]);
        let slope = |corners: &Corners| {
            let [a, b, ..] = corners.0;
            (b.0 - a.0) / corners.width().max(f32::MIN_POSITIVE)
        };
        if slope(&turned) > slope(&best) {
            best = turned;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map_of(width: usize, height: usize, is_text: impl Fn(f32, f32) -> bool) -> Vec<f32> {
        (0..width * height)
            .map(|at| {
                let (x, y) = ((at % width) as f32 + 0.5, (at / width) as f32 + 0.5);
                if is_text(x, y) { 0.9 } else { 0.05 }
            })
            .collect()
    }

    fn is_near(value: f32, expected: f32, tolerance: f32) {
        assert!((value - expected).abs() <= tolerance, "{value} {expected}");
    }

    #[test]
    fn two_level_lines_become_two_grown_rectangles() {
        let map = map_of(100, 60, |x, y| {
            (10.0..80.0).contains(&x) && ((10.0..20.0).contains(&y) || (35.0..45.0).contains(&y))
        });
        let found = rectangles(&map, 100, 60);
        assert_eq!(found.len(), 2);
        // 70 × 10: area over circumference is 700 / 160, times 1.6 is 7.
        let [a, b, c, _] = found[0].0;
        is_near(a.0, 3.0, 0.01);
        is_near(a.1, 3.0, 0.01);
        is_near(b.0, 87.0, 0.01);
        is_near(c.1, 27.0, 0.01);
    }

    #[test]
    fn a_turned_line_keeps_its_angle() {
        for degrees in [-60.0_f32, -30.0, -10.0, 10.0, 30.0, 40.0] {
            let (sine, cosine) = degrees.to_radians().sin_cos();
            let map = map_of(200, 200, |x, y| {
                let (dx, dy) = (x - 100.0, y - 100.0);
                (dx * cosine + dy * sine).abs() < 60.0 && (dy * cosine - dx * sine).abs() < 6.0
            });
            let found = rectangles(&map, 200, 200);
            assert_eq!(found.len(), 1, "{degrees}");
            let level = found[0].level();
            let [a, b, ..] = level.0;
            let angle = (b.1 - a.1).atan2(b.0 - a.0).to_degrees();
            let off = (angle - degrees + 540.0) % 180.0;
            assert!(off.min(180.0 - off) < 3.0, "{degrees} {angle}");
            is_near(level.width(), 120.0 + 17.5, 8.0);
        }
    }

    #[test]
    fn specks_and_faint_areas_are_no_text() {
        let speck = map_of(50, 50, |x, y| {
            (10.0..12.0).contains(&x) && (10.0..12.0).contains(&y)
        });
        assert_eq!(rectangles(&speck, 50, 50), []);
        let faint: Vec<f32> = map_of(50, 50, |x, y| x < 40.0 && y < 20.0)
            .into_iter()
            .map(|value| value / 2.25)
            .collect();
        assert_eq!(rectangles(&faint, 50, 50), []);
        assert_eq!(rectangles(&vec![0.0; 2500], 50, 50), []);
        assert_eq!(rectangles(&vec![f32::NAN; 2500], 50, 50), []);
    }

    #[test]
    fn pictures_are_scaled_within_limits() {
        is_near(factor(4000, 3000, 960) as f32, 0.24, 1e-6);
        is_near(factor(250, 40, 960) as f32, 2.0, 1e-6);
        is_near(factor(700, 400, 960) as f32, 1.2, 1e-6);
        is_near(factor(16_384, 1, 960) as f32, 960.0 / 16_384.0, 1e-6);
    }
}
