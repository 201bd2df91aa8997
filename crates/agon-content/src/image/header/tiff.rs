//! The first directory of a TIFF (TIFF 6.0 and its supplements), and what would make decoding it costly.

use std::collections::HashSet;

use super::super::{ForeignKind, ImageError, ImageLimits};
use super::directory::{Directory, GPS};
use super::{Header, Removed, jpeg, too_costly};

/// Pages beyond this many are not counted.
const N_PAGES_MAX: usize = 65_535;

mod tag {
    pub(super) const NEW_SUBFILE_TYPE: u16 = 254;
    pub(super) const WIDTH: u16 = 256;
    pub(super) const HEIGHT: u16 = 257;
    pub(super) const BITS_PER_SAMPLE: u16 = 258;
    pub(super) const COMPRESSION: u16 = 259;
    pub(super) const PHOTOMETRIC: u16 = 262;
    pub(super) const STRIP_OFFSETS: u16 = 273;
    pub(super) const SAMPLES_PER_PIXEL: u16 = 277;
    pub(super) const ROWS_PER_STRIP: u16 = 278;
    pub(super) const PLANAR: u16 = 284;
    pub(super) const STRIP_BYTE_COUNTS: u16 = 279;
    pub(super) const COLOUR_MAP: u16 = 320;
    pub(super) const TILE_WIDTH: u16 = 322;
    pub(super) const TILE_LENGTH: u16 = 323;
    pub(super) const TILE_OFFSETS: u16 = 324;
    pub(super) const TILE_BYTE_COUNTS: u16 = 325;
    pub(super) const SUB_DIRECTORIES: u16 = 330;
    pub(super) const EXTRA_SAMPLES: u16 = 338;
    pub(super) const YCBCR_COEFFICIENTS: u16 = 529;
    pub(super) const REFERENCE_BLACK_WHITE: u16 = 532;
    pub(super) const XMP: u16 = 700;
    pub(super) const ICC: u16 = 34_675;
    pub(super) const DNG_VERSION: u16 = 50_706;
    pub(super) const C2PA: u16 = 52_545;
    /// Document name, description, maker, model, page name, program, time, artist, host, copyright, IPTC, Photoshop, EXIF.
    pub(super) const METADATA: [u16; 13] = [
        269, 270, 271, 272, 285, 305, 306, 315, 316, 33_432, 33_723, 34_377, 34_665,
    ];
}

/// Compression by baseline or progressive JPEG.
const JPEG: u32 = 7;

/// What a TIFF says about its colours.
#[derive(Debug)]
pub(in super::super) struct TiffColours {
    /// How samples are to be read: 0 white is zero, 1 black is zero, 2 RGB, 3 palette, 5 inks, 6 YCbCr.
    pub(in super::super) photometric: u32,
    /// Bits of one sample.
    pub(in super::super) n_bits: u32,
    /// Samples of one pixel.
    pub(in super::super) n_samples: u32,
    /// Whether samples lie plane by plane and not pixel by pixel.
    pub(in super::super) is_planar: bool,
    /// Whether the first extra sample is transparency, and whether colours are multiplied by it.
    pub(in super::super) alpha: Option<Alpha>,
    /// Red, green and blue of all entries, 16 bits each, one colour after the other.
    pub(in super::super) palette: Vec<u32>,
    /// The shares of red, green and blue in luma.
    pub(in super::super) luma: [f32; 3],
    /// Black and white of luma, then zero and full of both colour differences.
    pub(in super::super) reference: [f32; 6],
}

/// How a TIFF stores transparency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Alpha {
    /// Colours are multiplied by it.
    Associated,
    /// Colours are as they are.
    Straight,
}

/// Reads the first directory. Returns how often the pixels are walked, or `None` if it is broken.
pub(super) fn scan<'a>(
    bytes: &'a [u8],
    header: &mut Header<'a>,
    limits: &ImageLimits,
) -> Result<Option<u64>, ImageError> {
    let Some(directory) = Directory::first(bytes) else {
        return Ok(None);
    };
    if is_camera_raw(directory) {
        return Err(ImageError::Unsupported {
            found: ForeignKind::CameraRaw,
        });
    }
    let (Some(width_px), Some(height_px)) =
        (directory.number(tag::WIDTH), directory.number(tag::HEIGHT))
    else {
        return Ok(None);
    };
    (header.width_px, header.height_px) = (width_px, height_px);
    super::check_size(width_px, height_px, limits)?;
    let compression = directory.number(tag::COMPRESSION).unwrap_or(1);
    header.is_lossless = compression != JPEG;
    header.n_frames = count_pages(directory);
    header.exif = Some(bytes);
    header.icc = directory.bytes(tag::ICC);
    header.removed = removed(directory);
    let Some(colours) = colours(directory) else {
        return Ok(None);
    };
    let sample_bytes = u64::from(colours.n_bits.div_ceil(8)) * u64::from(colours.n_samples);
    header.tiff = Some(colours);
    scan_pieces(
        bytes,
        directory,
        &Cost {
            header,
            limits,
            is_jpeg: compression == JPEG,
            pixel_bytes: sample_bytes,
        },
    )
}

/// The file with its palette's entries called levels of grey, so that a decoder that knows no palettes hands them out.
pub(in super::super) fn with_entries_as_grey(bytes: &[u8]) -> Option<Vec<u8>> {
    const BLACK_IS_ZERO: u16 = 1;
    Directory::first(bytes)?.block_with(tag::PHOTOMETRIC, BLACK_IS_ZERO)
}

/// Cameras' raw files are TIFFs whose first picture is a small copy, or whose pixels are of one colour each.
fn is_camera_raw(directory: Directory<'_>) -> bool {
    const COLOUR_FILTER_ARRAY: u32 = 32_803;
    const LINEAR_RAW: u32 = 34_892;
    let is_small_copy = directory
        .number(tag::NEW_SUBFILE_TYPE)
        .is_some_and(|kind| kind & 1 == 1)
        && directory.has(tag::SUB_DIRECTORIES);
    is_small_copy
        || directory.has(tag::DNG_VERSION)
        || matches!(
            directory.number(tag::PHOTOMETRIC),
            Some(COLOUR_FILTER_ARRAY | LINEAR_RAW)
        )
}

fn count_pages(first: Directory<'_>) -> u32 {
    // Directories may point at each other in a circle.
    let mut seen = HashSet::new();
    let mut directory = Some(first);
    let mut n_pages = 0;
    while let Some(page) = directory {
        n_pages += 1;
        directory = page
            .next_at()
            .filter(|&at| seen.len() < N_PAGES_MAX && seen.insert(at))
            .and_then(|_| page.next());
    }
    n_pages
}

fn removed(directory: Directory<'_>) -> Removed {
    let position = directory.has(GPS);
    let mut removed = Removed {
        metadata: position || tag::METADATA.into_iter().any(|tag| directory.has(tag)),
        position,
        credentials: directory.has(tag::C2PA),
        trailing_data: false,
    };
    if let Some(xmp) = directory.bytes(tag::XMP) {
        removed.xmp(xmp);
    }
    removed
}

fn colours(directory: Directory<'_>) -> Option<TiffColours> {
    let bits = directory.numbers(tag::BITS_PER_SAMPLE);
    let alpha = match directory.number(tag::EXTRA_SAMPLES) {
        Some(1) => Some(Alpha::Associated),
        Some(2) => Some(Alpha::Straight),
        _ => None,
    };
    let fractions = |tag| directory.fractions(tag).unwrap_or_default();
    Some(TiffColours {
        photometric: directory.number(tag::PHOTOMETRIC)?,
        n_bits: bits.map_or(Some(1), |bits| bits.into_iter().max())?,
        n_samples: directory.number(tag::SAMPLES_PER_PIXEL).unwrap_or(1).max(1),
        is_planar: directory.number(tag::PLANAR) == Some(2),
        alpha,
        palette: directory.numbers(tag::COLOUR_MAP).unwrap_or_default(),
        // ITU-R BT.601 and full range are the defaults (TIFF 6.0, section 21), and stand in for values that cannot be meant.
        luma: fractions(tag::YCBCR_COEFFICIENTS)
            .try_into()
            .ok()
            .filter(|luma: &[f32; 3]| luma.iter().all(|share| (0.01..1.0).contains(share)))
            .unwrap_or([0.299, 0.587, 0.114]),
        reference: fractions(tag::REFERENCE_BLACK_WHITE)
            .try_into()
            .ok()
            .filter(|reference: &[f32; 6]| {
                let pairs = reference.as_chunks::<2>().0;
                pairs.iter().all(|[black, white]| white - black >= 1.0)
            })
            .unwrap_or([0.0, 255.0, 128.0, 255.0, 128.0, 255.0]),
    })
}

/// What the pieces of a TIFF, its strips or tiles, are held against.
struct Cost<'a, 'b> {
    header: &'a Header<'b>,
    limits: &'a ImageLimits,
    is_jpeg: bool,
    pixel_bytes: u64,
}

/// Checks that the pieces cannot ask for more work or memory than the file's size and the picture's size allow.
///
/// Many pieces may point at the same bytes, and each piece of JPEG states a size of its own, for which its decoder makes room.
fn scan_pieces(
    bytes: &[u8],
    directory: Directory<'_>,
    cost: &Cost<'_, '_>,
) -> Result<Option<u64>, ImageError> {
    let (width_px, height_px) = (cost.header.width_px, cost.header.height_px);
    let is_tiled = directory.has(tag::TILE_WIDTH);
    let (piece_width, piece_height, offsets, counts) = if is_tiled {
        (
            directory.number(tag::TILE_WIDTH),
            directory.number(tag::TILE_LENGTH),
            directory.numbers(tag::TILE_OFFSETS),
            directory.numbers(tag::TILE_BYTE_COUNTS),
        )
    } else {
        let rows = directory.number(tag::ROWS_PER_STRIP).unwrap_or(height_px);
        (
            Some(width_px),
            Some(rows.min(height_px)),
            directory.numbers(tag::STRIP_OFFSETS),
            directory.numbers(tag::STRIP_BYTE_COUNTS),
        )
    };
    let (Some(piece_width), Some(piece_height), Some(offsets), Some(counts)) =
        (piece_width, piece_height, offsets, counts)
    else {
        return Ok(None);
    };
    let piece_pixels = u64::from(piece_width) * u64::from(piece_height);
    if piece_pixels == 0 || offsets.len() != counts.len() {
        return Ok(None);
    }
    let piece_bytes = piece_pixels.saturating_mul(cost.pixel_bytes);
    if piece_bytes > cost.limits.decoded_bytes_max {
        return Err(too_costly(cost.header.format, cost.limits));
    }
    let total: u64 = counts.iter().copied().map(u64::from).sum();
    if total > bytes.len() as u64 {
        return Ok(None);
    }
    // Tiles reach beyond the picture, so that many small pictures' worth of them may be stated.
    let n_pixels = u64::from(width_px) * u64::from(height_px);
    let n_piece_pixels = piece_pixels.saturating_mul(offsets.len() as u64);
    let mut n_passes = n_piece_pixels.div_ceil(n_pixels);
    if cost.is_jpeg {
        for (&offset, &count) in offsets.iter().zip(&counts) {
            let Some(piece) = bytes
                .get(offset as usize..)
                .and_then(|rest| rest.get(..count as usize))
            else {
                return Ok(None);
            };
            let mut inner = Header::new(cost.header.format);
            let Some(n_scans) = jpeg::scan(piece, &mut inner) else {
                return Ok(None);
            };
            if inner.is_unsupported_form {
                return Ok(None);
            }
            if inner.width_px > piece_width.next_multiple_of(16)
                || inner.height_px > piece_height.next_multiple_of(16)
            {
                return Ok(None);
            }
            n_passes = n_passes.max(n_scans);
        }
    }
    Ok(Some(n_passes))
}
