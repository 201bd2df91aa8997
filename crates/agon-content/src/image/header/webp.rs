//! The chunks of a WebP (RFC 9649).

use super::super::{ImageError, ImageLimits};
use super::{Header, check_size, u16_le, u24_le, u32_le};

/// Walks the chunks.
pub(super) fn scan<'a>(
    bytes: &'a [u8],
    header: &mut Header<'a>,
    limits: &ImageLimits,
) -> Result<Option<()>, ImageError> {
    let mut at = 12;
    let mut is_first = true;
    let mut n_frames = 0_u32;
    let mut has_lossy = false;
    let mut has_lossless = false;
    // The container states its size; decoders read to the end of the file all the same, so the walk does too.
    let stated_end = u32_le(bytes, 4).map_or(bytes.len(), |size| {
        (size as usize).saturating_add(8).min(bytes.len())
    });
    header.removed.behind(&bytes[stated_end..]);
    while let (Some(name), Some(length)) = (bytes.get(at..at + 4), u32_le(bytes, at + 4)) {
        let body_at = at + 8;
        let end = body_at.saturating_add(length as usize);
        let Some(body) = bytes.get(body_at..end.min(bytes.len())) else {
            break;
        };
        match name {
            b"VP8X" if is_first => {
                let (Some(width), Some(height)) = (u24_le(body, 4), u24_le(body, 7)) else {
                    return Ok(None);
                };
                (header.width_px, header.height_px) = (width + 1, height + 1);
            }
            b"VP8 " | b"VP8L" => {
                let Some((width, height)) = webp_bitstream_size(name, body) else {
                    return Ok(None);
                };
                // The picture inside may be larger than the canvas says, and the decoder makes room for it.
                check_size(width, height, limits)?;
                if is_first {
                    (header.width_px, header.height_px) = (width, height);
                }
                has_lossy |= name == b"VP8 ";
                has_lossless |= name == b"VP8L";
            }
            b"ANMF" => {
                n_frames += 1;
                if n_frames == 1 {
                    let mut inner = 16;
                    while let (Some(name), Some(length)) =
                        (body.get(inner..inner + 4), u32_le(body, inner + 4))
                    {
                        let part = body.get(inner + 8..).unwrap_or_default();
                        if matches!(name, b"VP8 " | b"VP8L") {
                            let Some((width, height)) = webp_bitstream_size(name, part) else {
                                return Ok(None);
                            };
                            check_size(width, height, limits)?;
                            has_lossy |= name == b"VP8 ";
                            has_lossless |= name == b"VP8L";
                        }
                        inner = inner
                            .saturating_add(8)
                            .saturating_add(length as usize)
                            .saturating_add(length as usize & 1);
                    }
                }
            }
            b"EXIF" if end <= bytes.len() => header.add_exif(body),
            b"XMP " => header.removed.xmp(body),
            b"C2PA" => header.removed.credentials = true,
            b"ICCP" => {
                if header.icc.is_none() && end <= bytes.len() {
                    header.icc = Some(body);
                }
            }
            b"ALPH" | b"ANIM" => {}
            _ => header.removed.metadata = true,
        }
        is_first = false;
        at = end.saturating_add(length as usize & 1);
    }
    header.n_frames = n_frames.max(1);
    header.is_lossless = has_lossless && !has_lossy;
    Ok((!is_first).then_some(()))
}

/// Width and height that a WebP bitstream states.
fn webp_bitstream_size(name: &[u8], body: &[u8]) -> Option<(u32, u32)> {
    if name == b"VP8L" {
        let bits = u32_le(body, 1)?;
        Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
    } else {
        let width = u16_le(body, 6)? & 0x3fff;
        let height = u16_le(body, 8)? & 0x3fff;
        Some((u32::from(width), u32::from(height)))
    }
}
