//! The blocks of a GIF (CompuServe, version 89a).

use super::super::{ImageError, ImageLimits};
use super::{Header, check_size, u16_le};

/// Walks the blocks to the end.
pub(super) fn scan<'a>(
    bytes: &'a [u8],
    header: &mut Header<'a>,
    limits: &ImageLimits,
) -> Result<Option<()>, ImageError> {
    header.is_lossless = true;
    let (Some(width), Some(height), Some(&flags)) =
        (u16_le(bytes, 6), u16_le(bytes, 8), bytes.get(10))
    else {
        return Ok(None);
    };
    header.width_px = u32::from(width);
    header.height_px = u32::from(height);
    let mut at = 13 + colour_table_bytes(flags);
    let mut n_frames = 0_u32;
    loop {
        let mut is_first_frame = false;
        match bytes.get(at) {
            Some(0x21) => {
                extension(bytes, at, header);
                at += 2;
            }
            Some(0x2c) => {
                let (Some(width), Some(height), Some(&flags)) = (
                    u16_le(bytes, at + 5),
                    u16_le(bytes, at + 7),
                    bytes.get(at + 9),
                ) else {
                    break;
                };
                is_first_frame = n_frames == 0;
                n_frames += 1;
                if is_first_frame {
                    // A frame may state a larger size than the picture, and the decoder makes room for it.
                    check_size(u32::from(width), u32::from(height), limits)?;
                }
                at += 11 + colour_table_bytes(flags);
            }
            Some(0x3b) => {
                header.removed.behind(&bytes[at + 1..]);
                break;
            }
            // A cut or an unknown block: the decoder says whether it matters.
            _ => break,
        }
        // Sub-blocks, each with its length in front, up to an empty one.
        while let Some(&length) = bytes.get(at) {
            if length == 0 && is_first_frame {
                header.gif_data_end = Some(at);
            }
            at += 1 + usize::from(length);
            if length == 0 {
                break;
            }
        }
    }
    header.n_frames = n_frames.max(1);
    Ok(Some(()))
}

/// Takes in an extension block: comments, texts and what applications write are metadata, timing and repetition are not.
fn extension(bytes: &[u8], at: usize, header: &mut Header<'_>) {
    match bytes.get(at + 1) {
        Some(0xff) => match bytes.get(at + 3..at + 14) {
            Some(b"NETSCAPE2.0" | b"ANIMEXTS1.0" | b"ICCRGBG1012") => {}
            Some(name) if name.starts_with(b"C2PA") => header.removed.credentials = true,
            _ => header.removed.metadata = true,
        },
        Some(0xf9) => {}
        _ => header.removed.metadata = true,
    }
}

fn colour_table_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 {
        0
    } else {
        3 << ((flags & 7) + 1)
    }
}
