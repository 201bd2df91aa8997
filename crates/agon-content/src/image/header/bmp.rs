//! The headers of a BMP (Windows GDI, `BITMAPINFOHEADER` to `BITMAPV5HEADER`, and OS/2's).

use super::{Header, u16_le, u32_le};

/// Where the second header begins.
const INFO_AT: usize = 14;

/// Reads both headers.
pub(super) fn scan<'a>(bytes: &'a [u8], header: &mut Header<'a>) -> Option<()> {
    header.is_lossless = true;
    let info_bytes = u32_le(bytes, INFO_AT)?;
    if info_bytes == 12 {
        header.width_px = u32::from(u16_le(bytes, INFO_AT + 4)?);
        header.height_px = u32::from(u16_le(bytes, INFO_AT + 6)?);
    } else {
        // Both are signed; a negative height says that the rows go from top to bottom.
        let side = |at| Some(u32_le(bytes, at)?.cast_signed());
        header.width_px = u32::try_from(side(INFO_AT + 4)?).ok()?;
        header.height_px = side(INFO_AT + 8)?.unsigned_abs();
    }
    // "MBED" as a number, so its letters lie backwards: an embedded profile.
    if info_bytes >= 124 && bytes.get(INFO_AT + 56..INFO_AT + 60) == Some(b"DEBM") {
        let at = u32_le(bytes, INFO_AT + 112)? as usize;
        let length = u32_le(bytes, INFO_AT + 116)? as usize;
        header.icc = bytes
            .get(INFO_AT.saturating_add(at)..)
            .and_then(|rest| rest.get(..length));
    }
    let stated_end = u32_le(bytes, 2)? as usize;
    // Some writers leave the size out or wrong; one that is larger than its headers is believed.
    if stated_end > INFO_AT + info_bytes as usize {
        header
            .removed
            .behind(bytes.get(stated_end..).unwrap_or_default());
    }
    Some(())
}
