//! What a picture's header says, by a bounded scan of our own: no decoder runs and nothing is allocated before the limits are checked.
//!
//! The scans only walk the containers (segments, chunks, blocks); each is linear in the file's size.

use super::{ImageError, ImageLimits, PictureFormat};

/// What is known of a picture before it is decoded.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) format: PictureFormat,
    pub(super) width_px: u32,
    pub(super) height_px: u32,
    /// Whether it has more than one frame.
    pub(super) is_animated: bool,
    /// Whether the format kept every pixel as it was.
    pub(super) is_lossless: bool,
    /// Whether the file ends early in a way that its decoder forgives.
    pub(super) is_incomplete: bool,
    /// Where the pixel data of a GIF's first frame end: the place of the empty block behind them.
    pub(super) gif_data_end: Option<usize>,
    /// The EXIF block, from its TIFF header on.
    pub(super) exif: Option<&'a [u8]>,
    /// The ICC profile, where the container holds it in one plain piece.
    pub(super) icc: Option<&'a [u8]>,
    /// Colour primaries, transfer function, matrix and range of a PNG's `cICP`.
    pub(super) cicp: Option<[u8; 4]>,
    /// The channels of a JPEG.
    pub(super) n_channels: u8,
    /// Whether it is a JPEG whose way of coding is not read: arithmetic, lossless, hierarchical, not 8 bits, or of a height told later.
    pub(super) is_unsupported_form: bool,
    /// Whether a JPEG says that its ink values are stored inverted, as Adobe writes them.
    pub(super) has_adobe_marker: bool,
}

impl Header<'_> {
    fn new(format: PictureFormat) -> Self {
        Self {
            format,
            width_px: 0,
            height_px: 0,
            is_animated: false,
            is_lossless: false,
            is_incomplete: false,
            gif_data_end: None,
            exif: None,
            icc: None,
            cicp: None,
            n_channels: 0,
            is_unsupported_form: false,
            has_adobe_marker: false,
        }
    }
}

/// Reads the header and holds it against the limits.
pub(super) fn read<'a>(
    bytes: &'a [u8],
    format: PictureFormat,
    limits: &ImageLimits,
) -> Result<Header<'a>, ImageError> {
    let mut header = Header::new(format);
    let scanned = match format {
        PictureFormat::Jpeg => scan_jpeg(bytes, &mut header),
        PictureFormat::Png => scan_png(bytes, &mut header).map(|()| 1),
        PictureFormat::Gif => scan_gif(bytes, &mut header, limits)?.map(|()| 1),
        PictureFormat::WebP => scan_webp(bytes, &mut header, limits)?.map(|()| 1),
    };
    if header.is_unsupported_form {
        return Err(ImageError::UnsupportedForm {
            format,
            source: None,
        });
    }
    let n_passes = scanned.ok_or_else(|| ImageError::broken(format))?;
    if header.width_px == 0 || header.height_px == 0 {
        return Err(ImageError::broken(format));
    }
    check_size(header.width_px, header.height_px, limits)?;
    // A progressive JPEG is walked once for each of its scans, ten as a rule; a file of a few kilobytes can ask for thousands.
    let work = u64::from(header.width_px) * u64::from(header.height_px) * n_passes;
    if work > limits.pixels_max.saturating_mul(16) {
        return Err(ImageError::TooCostly {
            format,
            decoded_bytes_max: limits.decoded_bytes_max,
        });
    }
    Ok(header)
}

/// Holds a stated size against the limits.
pub(super) fn check_size(
    width_px: u32,
    height_px: u32,
    limits: &ImageLimits,
) -> Result<(), ImageError> {
    if width_px.max(height_px) > limits.side_max_px {
        return Err(ImageError::SideTooLong {
            width_px,
            height_px,
            side_max_px: limits.side_max_px,
        });
    }
    if u64::from(width_px) * u64::from(height_px) > limits.pixels_max {
        return Err(ImageError::TooManyPixels {
            width_px,
            height_px,
            pixels_max: limits.pixels_max,
        });
    }
    Ok(())
}

fn u16_be(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u24_le(bytes: &[u8], at: usize) -> Option<u32> {
    let [a, b, c] = *bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, 0]))
}

fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Walks the segments of a JPEG to its end. Returns the number of scans, or `None` if no frame is stated.
fn scan_jpeg<'a>(bytes: &'a [u8], header: &mut Header<'a>) -> Option<u64> {
    let mut at = 2;
    let mut n_scans = 0_u64;
    header.is_incomplete = true;
    while let Some(offset) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|&byte| byte == 0xff))
    {
        at += offset + 1;
        let Some(&marker) = bytes.get(at) else { break };
        match marker {
            // A filler byte: the marker follows.
            0xff => continue,
            0xd9 => {
                header.is_incomplete = false;
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
            0xe1 if header.exif.is_none() => header.exif = body.strip_prefix(b"Exif\0\0"),
            0xee if body.starts_with(b"Adobe") => header.has_adobe_marker = true,
            0xda => n_scans += 1,
            _ => {}
        }
        // What follows a scan's header are coded pixels, in which only real marks have no zero behind 0xff: the loop finds them.
        at += 1 + length;
    }
    (header.n_channels > 0).then_some(n_scans)
}

/// Walks the chunks of a PNG.
fn scan_png<'a>(bytes: &'a [u8], header: &mut Header<'a>) -> Option<()> {
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
            b"acTL" => header.is_animated |= u32_be(body, 0).is_some_and(|n_frames| n_frames > 1),
            b"eXIf" if header.exif.is_none() => header.exif = Some(strip_exif_prefix(body)),
            b"cICP" if header.cicp.is_none() => header.cicp = body.try_into().ok(),
            b"IEND" => break,
            _ => {}
        }
        at = end + 4;
    }
    (!is_first).then_some(())
}

/// Walks the blocks of a GIF as far as its second frame.
fn scan_gif<'a>(
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
    let mut n_frames = 0;
    loop {
        let is_frame = bytes.get(at) == Some(&0x2c);
        match bytes.get(at) {
            Some(0x21) => at += 2,
            Some(0x2c) => {
                let (Some(width), Some(height), Some(&flags)) = (
                    u16_le(bytes, at + 5),
                    u16_le(bytes, at + 7),
                    bytes.get(at + 9),
                ) else {
                    break;
                };
                n_frames += 1;
                if n_frames > 1 {
                    header.is_animated = true;
                    break;
                }
                // A frame may state a larger size than the picture, and the decoder makes room for it.
                check_size(u32::from(width), u32::from(height), limits)?;
                at += 11 + colour_table_bytes(flags);
            }
            // The end, a cut or an unknown block: the decoder says whether it matters.
            _ => break,
        }
        // Sub-blocks, each with its length in front, up to an empty one.
        while let Some(&length) = bytes.get(at) {
            if length == 0 && is_frame {
                header.gif_data_end = Some(at);
            }
            at += 1 + usize::from(length);
            if length == 0 {
                break;
            }
        }
    }
    Ok(Some(()))
}

fn colour_table_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 {
        0
    } else {
        3 << ((flags & 7) + 1)
    }
}

/// Walks the chunks of a WebP.
fn scan_webp<'a>(
    bytes: &'a [u8],
    header: &mut Header<'a>,
    limits: &ImageLimits,
) -> Result<Option<()>, ImageError> {
    let mut at = 12;
    let mut is_first = true;
    let mut n_frames = 0;
    let mut has_lossy = false;
    let mut has_lossless = false;
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
            b"EXIF" if header.exif.is_none() && end <= bytes.len() => {
                header.exif = Some(strip_exif_prefix(body));
            }
            b"ICCP" if header.icc.is_none() && end <= bytes.len() => header.icc = Some(body),
            _ => {}
        }
        is_first = false;
        at = end.saturating_add(length as usize & 1);
    }
    header.is_animated = n_frames > 1;
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

/// Some writers put JPEG's prefix before the EXIF block in other formats too.
fn strip_exif_prefix(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"Exif\0\0").unwrap_or(body)
}
