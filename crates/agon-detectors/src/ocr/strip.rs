//! Turned rectangles, and the strips of picture in them.

use agon_content::image::Pixels;
use agon_domain::PixelBox;

use crate::network::{Channels, Network, planes};

/// From this ratio of height to width on, a rectangle holds text that runs up or down.
const UPRIGHT: f32 = 1.5;

/// The network for directions sees this much of a strip.
const DIRECTION_SIZE: (usize, usize) = (192, 48);

/// From this on it is believed that a strip is upside down.
const UPSIDE_DOWN_MIN: f32 = 0.9;

/// Longest strip that is cut out, in pixels; longer ones are cut out smaller.
const STRIP_MAX_PX: f32 = 4_096.0;

/// Four corners of a rectangle that may be turned, clockwise from the upper left one as its text is read, each (x, y) in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corners(pub [(f32, f32); 4]);

impl Corners {
    /// Along the text.
    pub(super) fn width(&self) -> f32 {
        distance(self.0[0], self.0[1])
    }

    /// Across the text.
    pub(super) fn height(&self) -> f32 {
        distance(self.0[0], self.0[3])
    }

    pub(super) fn area(&self) -> f32 {
        self.width() * self.height()
    }

    /// The same rectangle, begun at another corner if its text runs up or down, so that it is wider than high.
    pub(super) fn level(&self) -> Self {
        let [a, b, c, d] = self.0;
        if self.height() >= UPRIGHT * self.width() {
            // Most text that is not level was turned with the picture, to either side; here it runs downwards.
            Self([b, c, d, a])
        } else {
            *self
        }
    }

    /// The same rectangle read from the other end.
    pub(super) const fn upside_down(&self) -> Self {
        let [a, b, c, d] = self.0;
        Self([c, d, a, b])
    }

    /// By how many quarters, clockwise, the text is turned.
    pub(super) fn n_quarters(&self) -> u32 {
        let [a, b, ..] = self.0;
        let (across, down) = (b.0 - a.0, b.1 - a.1);
        if across.abs() >= down.abs() {
            if across >= 0.0 { 0 } else { 2 }
        } else if down > 0.0 {
            1
        } else {
            3
        }
    }

    /// The part between two places along the text, from 0 (begin) to 1 (end).
    pub(super) fn part(&self, start: f32, end: f32) -> Self {
        let [a, b, c, d] = self.0;
        let on = |from: (f32, f32), to: (f32, f32), share: f32| {
            (
                from.0 + (to.0 - from.0) * share,
                from.1 + (to.1 - from.1) * share,
            )
        };
        Self([
            on(a, b, start),
            on(a, b, end),
            on(d, c, end),
            on(d, c, start),
        ])
    }

    /// The upright rectangle around it, cut at the edges of a picture. `None` if nothing of it is inside.
    pub(super) fn around(&self, (width_px, height_px): (u32, u32)) -> Option<PixelBox> {
        let edges = |values: [f32; 4], max: u32| {
            let low = values.iter().copied().fold(f32::INFINITY, f32::min);
            let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            if !(low.is_finite() && high.is_finite()) {
                return None;
            }
            let start = low.floor().clamp(0.0, max as f32) as u32;
            let end = high.ceil().clamp(0.0, max as f32) as u32;
            (end > start).then_some((start, end - start))
        };
        let (left_px, width_px) = edges(self.0.map(|corner| corner.0), width_px)?;
        let (top_px, height_px) = edges(self.0.map(|corner| corner.1), height_px)?;
        Some(PixelBox {
            left_px,
            top_px,
            width_px,
            height_px,
        })
    }
}

fn distance(from: (f32, f32), to: (f32, f32)) -> f32 {
    (to.0 - from.0).hypot(to.1 - from.1)
}

/// The pixels in a rectangle, laid level. What lies outside of the picture is its nearest edge. `None` if it is empty.
pub(super) fn cut(picture: &Pixels, corners: &Corners) -> Option<Pixels> {
    let (width, height) = (corners.width(), corners.height());
    let shrink = (STRIP_MAX_PX / width.max(height)).min(1.0);
    let columns = (width * shrink).round() as u32;
    let rows = (height * shrink).round() as u32;
    if columns == 0 || rows == 0 {
        return None;
    }
    let [a, b, _, d] = corners.0;
    let mut rgb = Vec::with_capacity(columns as usize * rows as usize * 3);
    for row in 0..rows {
        let down = (row as f32 + 0.5) / rows as f32;
        for column in 0..columns {
            let along = (column as f32 + 0.5) / columns as f32;
            let x = a.0 + (b.0 - a.0) * along + (d.0 - a.0) * down;
            let y = a.1 + (b.1 - a.1) * along + (d.1 - a.1) * down;
            rgb.extend(sampled(picture, x - 0.5, y - 0.5));
        }
    }
    Pixels::new(columns, rows, rgb)
}

/// The colour between four pixels; (0, 0) is the middle of the first one.
fn sampled(picture: &Pixels, x: f32, y: f32) -> [u8; 3] {
    let (width, height) = (picture.width_px() as usize, picture.height_px() as usize);
    let x = x.clamp(0.0, (width - 1) as f32);
    let y = y.clamp(0.0, (height - 1) as f32);
    let (left, top) = (x as usize, y as usize);
    let (right, bottom) = ((left + 1).min(width - 1), (top + 1).min(height - 1));
    let (across, down) = (x - left as f32, y - top as f32);
    let rgb = picture.as_rgb();
    std::array::from_fn(|channel| {
        let at = |x: usize, y: usize| f32::from(rgb[(y * width + x) * 3 + channel]);
        let upper = at(left, top) * (1.0 - across) + at(right, top) * across;
        let lower = at(left, bottom) * (1.0 - across) + at(right, bottom) * across;
        (upper * (1.0 - down) + lower * down).round() as u8
    })
}

/// Whether a level strip is upside down.
pub(super) fn is_upside_down(network: &Network, strip: &Pixels) -> Result<bool, String> {
    let (width, height) = DIRECTION_SIZE;
    let natural = (height as f32 * strip.width_px() as f32 / strip.height_px() as f32).ceil();
    let scaled = strip.resized((natural as u32).min(width as u32), height as u32);
    let input = planes(
        scaled.as_rgb(),
        scaled.width_px() as usize,
        DIRECTION_SIZE,
        Channels::Bgr,
        |value| value / 127.5 - 1.0,
    );
    let outputs = network.run::<2>([1, 3, height, width], input, &[])?;
    match outputs.first().map(|output| output.values.as_slice()) {
        Some([_, upside_down]) => Ok(*upside_down > UPSIDE_DOWN_MIN),
        _ => Err("the network gave no two directions".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Pixels {
        let rgb = (0..30 * 20)
            .flat_map(|at| [(at % 30 * 8) as u8, (at / 30 * 12) as u8, 0])
            .collect();
        Pixels::new(30, 20, rgb).unwrap()
    }

    #[test]
    fn an_upright_rectangle_is_cut_out_pixel_by_pixel() {
        let corners = Corners([(3.0, 4.0), (13.0, 4.0), (13.0, 9.0), (3.0, 9.0)]);
        let expected = picture()
            .cropped(PixelBox {
                left_px: 3,
                top_px: 4,
                width_px: 10,
                height_px: 5,
            })
            .unwrap();
        assert_eq!(cut(&picture(), &corners), Some(expected.clone()));
        assert_eq!(
            cut(&picture(), &corners.upside_down()),
            Some(expected.turned(2))
        );
    }

    #[test]
    fn a_standing_rectangle_is_laid_level() {
        let corners = Corners([(3.0, 4.0), (7.0, 4.0), (7.0, 14.0), (3.0, 14.0)]);
        let upright = cut(&picture(), &corners).unwrap();
        let level = cut(&picture(), &corners.level()).unwrap();
        assert_eq!((level.width_px(), level.height_px()), (10, 4));
        assert_eq!(level, upright.turned(3));
    }

    #[test]
    fn parts_lie_along_the_text_whichever_way_it_runs() {
        let corners = Corners([(0.0, 0.0), (10.0, 0.0), (10.0, 4.0), (0.0, 4.0)]);
        let half = |corners: Corners| corners.part(0.0, 0.5).around((30, 20)).unwrap();
        assert_eq!((half(corners).left_px, half(corners).width_px), (0, 5));
        let turned = half(corners.upside_down());
        assert_eq!((turned.left_px, turned.width_px), (5, 5));
    }

    #[test]
    fn rectangles_outside_or_without_numbers_are_none() {
        let outside = Corners([(40.0, 0.0), (50.0, 0.0), (50.0, 4.0), (40.0, 4.0)]);
        assert_eq!(outside.around((30, 20)), None);
        let odd = Corners([(f32::NAN, 0.0), (50.0, 0.0), (50.0, 4.0), (40.0, 4.0)]);
        assert_eq!(odd.around((30, 20)), None);
        assert_eq!(cut(&picture(), &Corners([(1.0, 1.0); 4])), None);
    }
}
