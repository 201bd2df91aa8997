//! The segments of a JPEG (ITU-T T.81, annex B).

use super::{Header, u16_be};

/// Walks the segments to the end. Returns the number of scans, or `None` if no frame is stated.
pub(super) fn scan<'a>(bytes: &'a [u8], header: &mut Header<'a>) -> Option<u64> {
    let mut at = 2;
    let mut n_scans = 0_u64;
    header.is_incomplete = true;
    while let Some(offset) = bytes.get(at..).and_then(|rest| memchr::memchr(0xff, rest)) {
        at += offset + 1;
        let Some(&marker) = bytes.get(at) else { break };
        match marker {
            // A filler byte: the marker follows.
            0xff => continue,
            0xd9 => {
                header.is_incomplete = false;
                header.removed.behind(&bytes[at + 1..]);
                break;
            }
            // A stuffed zero, restart marks and marks without a body.
            0x00 | 0x01 | 0xd0..=0xd8 => {
                at += 1;
                continue;
            }
            _ => {}
        }
        let Some(length) = u16_be(bytes, at + 1).map(usize::from) else {
            break;
        };
        let Some(body) = bytes.get(at + 3..at + 1 + length) else {
            break;
        };
        match marker {
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) && header.n_channels == 0 => {
                header.height_px = u32::from(u16_be(body, 1)?);
                header.width_px = u32::from(u16_be(body, 3)?);
                header.n_channels = *body.get(5)?;
                // Baseline, extended and progressive, with Huffman codes.
                let is_read = matches!(marker, 0xc0..=0xc2);
                header.is_unsupported_form = !is_read || body[0] != 8 || header.height_px == 0;
            }
            0xda => n_scans += 1,
            0xe1..=0xef | 0xfe => application_segment(marker, body, header),
            _ => {}
        }
        // What follows a scan's header are coded pixels, in which only real marks have no zero behind 0xff: the loop finds them.
        at += 1 + length;
    }
    (header.n_channels > 0).then_some(n_scans)
}

/// Takes in a segment for applications or a comment.
fn application_segment<'a>(marker: u8, body: &'a [u8], header: &mut Header<'a>) {
    match marker {
        0xe1 if body.starts_with(b"Exif\0\0") => header.add_exif(body),
        0xe1 => header.removed.xmp(body),
        // The colour profile and Adobe's mark say how to read the pixels.
        0xe2 if body.starts_with(b"ICC_PROFILE\0") => {}
        0xee if body.starts_with(b"Adobe") => header.has_adobe_marker = true,
        // Boxes of JUMBF (ISO 19566-5), which content credentials come in.
        0xeb if super::holds(body, b"c2pa") => header.removed.credentials = true,
        _ => header.removed.metadata = true,
    }
}
