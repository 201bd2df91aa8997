//! QR codes and barcodes: what they say, and where they are.
//!
//! QR (also micro and rectangular), Data Matrix, PDF417, EAN, UPC, Code 39, 93, 128, Codabar, ITF, RSS anywhere in the picture; Aztec only near its middle.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agon_content::image::Pixels;
use agon_domain::PixelBox;
use rxing::{BarcodeFormat, DecodeHints, Exceptions, RXingResult};

use crate::grey;

/// Longest side that is looked at, in pixels. Codes are made to be read from afar, and the time grows with the area.
const SIDE_MAX_PX: u32 = 1_280;

/// How far a code reaches beyond the marks that it is found by, as a share of their distance: in the smallest QR code the middle of a corner mark is 3.5 modules from the edge and 14 from the next one.
const REACH: f32 = 0.25;

/// How alike two rows of pixels are that belong to one barcode: mean difference of brightness.
const ROWS_ALIKE: u32 = 40;

/// A code in a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// What it says.
    pub text: String,
    /// The kind of code in words, such as `qrcode` or `ean 13`.
    pub format: String,
    /// The upright rectangle around it.
    pub place: PixelBox,
}

/// All codes that can be read. One that is damaged, blurred or smaller than about two pixels a module is none.
///
/// # Errors
///
/// What went wrong, in words that hold nothing of the picture.
pub fn read_codes(picture: &Pixels) -> Result<Vec<Code>, String> {
    let scaled = picture.scaled_to_fit(SIDE_MAX_PX);
    let (width, height) = (scaled.width_px(), scaled.height_px());
    let grey = grey::of(scaled.as_rgb());
    let luma = grey.clone();
    // The reader is other people's code, and one picture must not take the process with it.
    let found = catch_unwind(AssertUnwindSafe(move || {
        let mut hints = DecodeHints {
            TryHarder: Some(true),
            ..DecodeHints::default()
        };
        rxing::helpers::detect_multiple_in_luma_with_hints(luma, width, height, &mut hints)
    }))
    .map_err(|_| "the reader of codes panicked".to_owned())?;
    let found = match found {
        Ok(found) => found,
        Err(
            Exceptions::NotFoundException(_)
            | Exceptions::ChecksumException(_)
            | Exceptions::FormatException(_),
        ) => Vec::new(),
        // Other errors are about the reader's own arithmetic on patterns that are no codes.
        Err(_) => Vec::new(),
    };
    let factors = (
        picture.width_px() as f32 / width as f32,
        picture.height_px() as f32 / height as f32,
    );
    let mut codes: Vec<Code> = found
        .iter()
        .filter_map(|result| {
            let edges = edges(result, &grey, width, height)?;
            let code = Code {
                text: result.getText().to_owned(),
                format: result.getBarcodeFormat().to_string(),
                place: in_picture(edges, factors, picture)?,
            };
            (!code.text.is_empty()).then_some(code)
        })
        .collect();
    codes.sort_by_key(|code| (code.place.top_px, code.place.left_px));
    codes.dedup();
    Ok(codes)
}

/// Left, top, right and bottom of a code, from the marks that it was found by.
fn edges(result: &RXingResult, grey: &[u8], width: u32, height: u32) -> Option<[f32; 4]> {
    let points: Vec<(f32, f32)> = result
        .getPoints()
        .iter()
        .map(|point| (point.x, point.y))
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let ends = |of: fn(&(f32, f32)) -> f32| {
        let low = points.iter().map(of).fold(f32::INFINITY, f32::min);
        let high = points.iter().map(of).fold(f32::NEG_INFINITY, f32::max);
        (low <= high).then_some((low, high))
    };
    let (left, right) = ends(|point| point.0)?;
    let (top, bottom) = ends(|point| point.1)?;
    let reach = REACH * (right - left).max(bottom - top).max(8.0);
    if is_striped(*result.getBarcodeFormat()) {
        // Found on one line across the stripes: the code reaches as far as the lines beside it look the same.
        let (left, right, top, bottom) = (
            (left - reach / 2.0).max(0.0),
            right + reach / 2.0,
            top.max(0.0),
            bottom,
        );
        return Some(if right - left >= bottom - top {
            let (first, last) = alike(grey, width, height, (top, bottom), (left, right), false);
            [left, first, right, last]
        } else {
            let (first, last) = alike(grey, width, height, (left, right), (top, bottom), true);
            [first, top - reach / 2.0, last, bottom + reach / 2.0]
        });
    }
    Some([left - reach, top - reach, right + reach, bottom + reach])
}

/// How far lines beside `start..end` look like the one in their middle, over `along`. Columns when `is_upright`.
fn alike(
    grey: &[u8],
    width: u32,
    height: u32,
    (start, end): (f32, f32),
    along: (f32, f32),
    is_upright: bool,
) -> (f32, f32) {
    let (n_lines, n_values) = if is_upright {
        (width, height)
    } else {
        (height, width)
    };
    let along = along.0.max(0.0) as u32..(along.1.max(0.0) as u32).min(n_values);
    let at = |line: u32, value: u32| {
        let (x, y) = if is_upright {
            (line, value)
        } else {
            (value, line)
        };
        grey[(y * width + x) as usize]
    };
    let middle = (f32::midpoint(start, end).max(0.0) as u32).min(n_lines.saturating_sub(1));
    let is_alike = |line: u32| {
        let sum: u32 = along
            .clone()
            .map(|value| u32::from(at(line, value).abs_diff(at(middle, value))))
            .sum();
        sum <= ROWS_ALIKE * along.len() as u32
    };
    let mut first = middle;
    while first > 0 && is_alike(first - 1) {
        first -= 1;
    }
    let mut last = middle;
    while last + 1 < n_lines && is_alike(last + 1) {
        last += 1;
    }
    (first as f32, (last + 1) as f32)
}

fn is_striped(format: BarcodeFormat) -> bool {
    !matches!(
        format,
        BarcodeFormat::AZTEC
            | BarcodeFormat::DATA_MATRIX
            | BarcodeFormat::MAXICODE
            | BarcodeFormat::PDF_417
            | BarcodeFormat::QR_CODE
            | BarcodeFormat::MICRO_QR_CODE
            | BarcodeFormat::RECTANGULAR_MICRO_QR_CODE
    )
}

fn in_picture(
    [left, top, right, bottom]: [f32; 4],
    factors: (f32, f32),
    picture: &Pixels,
) -> Option<PixelBox> {
    let span = |start: f32, end: f32, factor: f32, max: u32| {
        let start = (start * factor).floor().clamp(0.0, max as f32) as u32;
        let end = (end * factor).ceil().clamp(0.0, max as f32) as u32;
        (end > start).then_some((start, end - start))
    };
    let (left_px, width_px) = span(left, right, factors.0, picture.width_px())?;
    let (top_px, height_px) = span(top, bottom, factors.1, picture.height_px())?;
    Some(PixelBox {
        left_px,
        top_px,
        width_px,
        height_px,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use rxing::{BarcodeFormat, MultiFormatWriter, Writer as _};

    use super::*;

    /// A code drawn at a place of a white picture, and where it is.
    pub(crate) fn drawn(
        text: &str,
        format: BarcodeFormat,
        (width, height): (i32, i32),
    ) -> (Pixels, PixelBox) {
        let matrix = MultiFormatWriter
            .encode(text, &format, width, height)
            .unwrap();
        let (canvas_width, canvas_height) = (640_u32, 480_u32);
        let (left, top) = (150, 90);
        let mut rgb = vec![255; (canvas_width * canvas_height * 3) as usize];
        let (mut low, mut high) = ((u32::MAX, u32::MAX), (0, 0));
        for y in 0..matrix.getHeight() {
            for x in 0..matrix.getWidth() {
                if matrix.get(x, y) {
                    let (x, y) = (left + x, top + y);
                    let at = ((y * canvas_width + x) * 3) as usize;
                    rgb[at..at + 3].fill(0);
                    low = (low.0.min(x), low.1.min(y));
                    high = (high.0.max(x + 1), high.1.max(y + 1));
                }
            }
        }
        let place = PixelBox {
            left_px: low.0,
            top_px: low.1,
            width_px: high.0 - low.0,
            height_px: high.1 - low.1,
        };
        (
            Pixels::new(canvas_width, canvas_height, rgb).unwrap(),
            place,
        )
    }

    fn holds(outer: PixelBox, inner: PixelBox, slack_px: u32) -> bool {
        outer.left_px <= inner.left_px + slack_px
            && outer.top_px <= inner.top_px + slack_px
            && outer.left_px + outer.width_px + slack_px >= inner.left_px + inner.width_px
            && outer.top_px + outer.height_px + slack_px >= inner.top_px + inner.height_px
    }

    #[test]
    fn codes_are_read_and_their_boxes_hold_them_whichever_way_they_stand() {
        for (text, format, size) in [
            ("mailto:ana@example.com", BarcodeFormat::QR_CODE, (200, 200)),
            (
                "https://example.com/a?b=1",
                BarcodeFormat::DATA_MATRIX,
                (120, 120),
            ),
            ("ORDER-12345", BarcodeFormat::CODE_128, (300, 80)),
            ("4006381333931", BarcodeFormat::EAN_13, (300, 90)),
        ] {
            let (picture, place) = drawn(text, format, size);
            for n_quarters in 0..4 {
                let turned = picture.turned(n_quarters);
                let codes = read_codes(&turned).unwrap();
                let code = codes
                    .iter()
                    .find(|code| code.text == text)
                    .unwrap_or_else(|| panic!("{format} turned {n_quarters}: {codes:?}"));
                let (width, height) = (picture.width_px(), picture.height_px());
                let (left, top) = (place.left_px, place.top_px);
                let (right, bottom) = (left + place.width_px, top + place.height_px);
                let (left_px, top_px, is_upright) = match n_quarters {
                    0 => (left, top, false),
                    1 => (height - bottom, left, true),
                    2 => (width - right, height - bottom, false),
                    _ => (top, width - right, true),
                };
                let expected = PixelBox {
                    left_px,
                    top_px,
                    width_px: if is_upright {
                        place.height_px
                    } else {
                        place.width_px
                    },
                    height_px: if is_upright {
                        place.width_px
                    } else {
                        place.height_px
                    },
                };
                assert!(
                    holds(code.place, expected, 2),
                    "{format} turned {n_quarters}: {:?} {expected:?}",
                    code.place
                );
            }
        }
    }

    #[test]
    fn pictures_without_codes_have_none() {
        for side in [1, 2, 40, 300] {
            let flat = Pixels::new(side, side, vec![200; (side * side * 3) as usize]).unwrap();
            assert_eq!(read_codes(&flat), Ok(Vec::new()));
        }
        let stripes = (0..300 * 200)
            .flat_map(|at| [if at / 7 % 2 == 0 { 0 } else { 255 }; 3])
            .collect();
        let stripes = Pixels::new(300, 200, stripes).unwrap();
        assert!(read_codes(&stripes).is_ok());
    }
}
