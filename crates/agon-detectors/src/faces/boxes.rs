//! Boxes with scores, and which of several overlapping ones stays.

use agon_domain::PixelBox;

/// Overlap, as intersection over union, from which two boxes are one face.
const SAME_FACE: f32 = 0.3;

/// How much of the smaller box lies in the larger one when both are one face, seen at two scales.
const INSIDE: f32 = 0.8;

/// Most boxes that are compared with each other, from the surest.
const BOXES_MAX: usize = 2_000;

/// A box with edges in pixels of the picture, not yet rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoredBox {
    pub(super) left: f32,
    pub(super) top: f32,
    pub(super) right: f32,
    pub(super) bottom: f32,
    pub(super) score: f32,
}

impl ScoredBox {
    fn area(&self) -> f32 {
        (self.right - self.left).max(0.0) * (self.bottom - self.top).max(0.0)
    }

    fn is_same_face(&self, other: &Self) -> bool {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        let common = width.max(0.0) * height.max(0.0);
        let (area, other_area) = (self.area(), other.area());
        common >= SAME_FACE * (area + other_area - common)
            || common >= INSIDE * area.min(other_area)
    }

    /// The box rounded outwards and cut at the edges of the picture. `None` if nothing of it is inside.
    pub(super) fn in_pixels(&self, width_px: u32, height_px: u32) -> Option<PixelBox> {
        let edge = |value: f32, max: u32| {
            if value.is_finite() {
                // Held to the picture, whose sides fit.
                Some(value.clamp(0.0, max as f32) as u32)
            } else {
                None
            }
        };
        let left_px = edge(self.left.floor(), width_px)?;
        let top_px = edge(self.top.floor(), height_px)?;
        let right_px = edge(self.right.ceil(), width_px)?;
        let bottom_px = edge(self.bottom.ceil(), height_px)?;
        (right_px > left_px && bottom_px > top_px).then(|| PixelBox {
            left_px,
            top_px,
            width_px: right_px - left_px,
            height_px: bottom_px - top_px,
        })
    }
}

/// The surest box of each face, from the surest.
pub(super) fn without_overlaps(mut boxes: Vec<ScoredBox>) -> Vec<ScoredBox> {
    boxes.retain(|found| found.area() > 0.0 && found.area().is_finite());
    boxes.sort_by(|left, right| right.score.total_cmp(&left.score));
    boxes.truncate(BOXES_MAX);
    let mut kept: Vec<ScoredBox> = Vec::new();
    for found in boxes {
        if !kept.iter().any(|other| other.is_same_face(&found)) {
            kept.push(found);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(left: f32, top: f32, right: f32, bottom: f32, score: f32) -> ScoredBox {
        ScoredBox {
            left,
            top,
            right,
            bottom,
            score,
        }
    }

    #[test]
    fn the_surest_of_overlapping_boxes_stays() {
        let sure = scored(10.0, 10.0, 50.0, 50.0, 0.9);
        let shifted = scored(15.0, 12.0, 55.0, 52.0, 0.5);
        let inside = scored(12.0, 12.0, 22.0, 22.0, 0.6);
        let elsewhere = scored(60.0, 10.0, 90.0, 50.0, 0.4);
        let beside = scored(45.0, 10.0, 80.0, 50.0, 0.3);
        let kept = without_overlaps(vec![beside, shifted, elsewhere, inside, sure]);
        assert_eq!(kept, [sure, elsewhere]);
    }

    #[test]
    fn boxes_without_area_or_with_impossible_numbers_go() {
        let nothing = scored(10.0, 10.0, 10.0, 20.0, 0.9);
        let infinite = scored(0.0, 0.0, f32::INFINITY, 5.0, 0.9);
        let none = scored(f32::NAN, 0.0, 5.0, 5.0, f32::NAN);
        assert_eq!(without_overlaps(vec![nothing, infinite, none]), []);
    }

    #[test]
    fn boxes_are_cut_at_the_edges() {
        let found = scored(-5.5, 3.2, 12.1, 99.0, 0.9);
        assert_eq!(
            found.in_pixels(10, 8),
            Some(PixelBox {
                left_px: 0,
                top_px: 3,
                width_px: 10,
                height_px: 5
            })
        );
        assert_eq!(scored(20.0, 0.0, 30.0, 5.0, 0.9).in_pixels(10, 8), None);
        assert_eq!(scored(f32::NAN, 0.0, 3.0, 5.0, 0.9).in_pixels(10, 8), None);
    }
}
