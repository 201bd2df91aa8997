//! The chunks of a PNG (W3C, third edition).

use super::{Header, u32_be};

/// Walks the chunks.
pub(super) fn scan<'a>(bytes: &'a [u8], header: &mut Header<'a>) -> Option<()> {
    header.is_lossless = true;
    let mut at = 8;
    let mut is_first = true;
    while let Some(length) = u32_be(bytes, at) {
        let name: &[u8] = bytes.get(at + 4..at + 8)?;
        if is_first {
            if name != b"IHDR" {
                return None;
            }
            header.width_px = u32_be(bytes, at + 8)?;
            header.height_px = u32_be(bytes, at + 12)?;
            is_first = false;
        }
        let end = (at + 8).checked_add(length as usize)?;
        // A cut chunk ends the walk: whether it matters is the decoder's to say.
        let Some(body) = bytes.get(at + 8..end) else {
            break;
        };
        match name {
            b"acTL" => header.n_frames = u32_be(body, 0).unwrap_or(1).max(1),
            b"eXIf" => header.add_exif(body),
            b"cICP" if header.cicp.is_none() => header.cicp = body.try_into().ok(),
            b"iTXt" | b"tEXt" | b"zTXt" => header.removed.xmp(body),
            b"caBX" => header.removed.credentials = true,
            b"IEND" => {
                header
                    .removed
                    .behind(bytes.get(end + 4..).unwrap_or_default());
                break;
            }
            _ if is_about_pixels(name) => {}
            _ => header.removed.metadata = true,
        }
        at = end + 4;
    }
    (!is_first).then_some(())
}

/// Whether a chunk holds pixels or says how to show them.
fn is_about_pixels(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 18] = [
        b"IHDR", b"PLTE", b"IDAT", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"bKGD",
        b"hIST", b"pHYs", b"sPLT", b"cICP", b"mDCV", b"cLLI", b"fcTL", b"fdAT",
    ];
    NAMES.contains(&name)
}
