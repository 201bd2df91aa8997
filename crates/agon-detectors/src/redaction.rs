//! Findings out of the picture: personal data painted over, faces made unrecognisable.

use agon_content::image::Pixels;
use agon_domain::{Finding, FindingKind, FindingPlace, PixelBox};

/// How much is painted over around a finding, as a share of the shorter side of its box.
pub const MARGIN: f64 = 0.15;

/// At least this much around, in pixels.
const MARGIN_MIN_PX: u32 = 2;

/// The colour that is painted over with.
const FILL: [u8; 3] = [0, 0, 0];

/// Tiles along the longer side of a blurred face. Faces are recognised from about 12 × 12 tiles on.
const FACE_TILES: u32 = 6;

/// The picture with everything that was found in parts of it gone: text and codes under an opaque fill, faces as coarse mosaics.
///
/// Findings below their thresholds are left, and so are those about the whole picture, which no painting over helps against.
#[must_use]
pub fn redact(picture: &Pixels, findings: &[Finding]) -> Pixels {
    let mut fills = Vec::new();
    let mut faces = Vec::new();
    for finding in findings.iter().filter(|finding| finding.counts()) {
        if let FindingPlace::Picture(place) = finding.place {
            let place = with_margin(place);
            if finding.kind == FindingKind::Face {
                faces.push(place);
            } else {
                fills.push(place);
            }
        }
    }
    picture
        .clone()
        .blurred(&faces, FACE_TILES)
        .filled(&fills, FILL)
}

/// A box with [`MARGIN`] around it.
pub(crate) fn with_margin(place: PixelBox) -> PixelBox {
    let shorter = place.width_px.min(place.height_px);
    // A share of a number of pixels fits.
    let margin = ((f64::from(shorter) * MARGIN).ceil() as u32).max(MARGIN_MIN_PX);
    let (left_px, top_px) = (
        place.left_px.saturating_sub(margin),
        place.top_px.saturating_sub(margin),
    );
    PixelBox {
        left_px,
        top_px,
        width_px: place
            .left_px
            .saturating_add(place.width_px)
            .saturating_add(margin)
            - left_px,
        height_px: place
            .top_px
            .saturating_add(place.height_px)
            .saturating_add(margin)
            - top_px,
    }
}

#[cfg(test)]
mod tests {
    use agon_domain::DetectorIdentity;

    use super::*;

    fn finding(kind: FindingKind, score: f64, place: FindingPlace) -> Finding {
        Finding {
            detector: DetectorIdentity::new("test", "1"),
            kind,
            category: "x".to_owned(),
            score,
            threshold: 0.5,
            place,
        }
    }

    const PLACE: PixelBox = PixelBox {
        left_px: 20,
        top_px: 20,
        width_px: 40,
        height_px: 20,
    };

    fn noise() -> Pixels {
        let rgb = (0..100 * 60 * 3_u32)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        Pixels::new(100, 60, rgb).unwrap()
    }

    fn pixel(picture: &Pixels, x: usize, y: usize) -> [u8; 3] {
        let at = (y * picture.width_px() as usize + x) * 3;
        picture.as_rgb()[at..at + 3].try_into().unwrap()
    }

    #[test]
    fn text_is_painted_over_with_a_margin_and_the_rest_stays() {
        let picture = noise();
        let redacted = redact(
            &picture,
            &[finding(
                FindingKind::PiiImage,
                0.5,
                FindingPlace::Picture(PLACE),
            )],
        );
        for y in 0..60 {
            for x in 0..100 {
                // 15 % of 20 is 3.
                let is_inside = (17..63).contains(&x) && (17..43).contains(&y);
                let expected = if is_inside {
                    FILL
                } else {
                    pixel(&picture, x, y)
                };
                assert_eq!(pixel(&redacted, x, y), expected, "{x} {y}");
            }
        }
    }

    #[test]
    fn faces_become_few_tiles() {
        let redacted = redact(
            &noise(),
            &[finding(
                FindingKind::Face,
                0.9,
                FindingPlace::Picture(PLACE),
            )],
        );
        let mut colours: Vec<[u8; 3]> = (20..40)
            .flat_map(|y| (20..60).map(move |x| (x, y)))
            .map(|(x, y)| pixel(&redacted, x, y))
            .collect();
        colours.sort_unstable();
        colours.dedup();
        assert!(colours.len() <= 6 * 4, "{}", colours.len());
    }

    #[test]
    fn findings_below_the_threshold_and_about_the_whole_change_nothing() {
        let picture = noise();
        let findings = [
            finding(FindingKind::PiiImage, 0.4, FindingPlace::Picture(PLACE)),
            finding(FindingKind::NsfwImage, 0.9, FindingPlace::Whole),
        ];
        assert_eq!(redact(&picture, &findings), picture);
    }

    #[test]
    fn margins_stop_at_the_edges_of_numbers() {
        let place = with_margin(PixelBox {
            left_px: 1,
            top_px: u32::MAX - 5,
            width_px: 10,
            height_px: u32::MAX,
        });
        assert_eq!((place.left_px, place.width_px), (0, 13));
    }
}
