//! What a picture's header says, by a bounded scan of our own: no decoder runs and nothing is allocated before the limits are checked.
//!
//! The scans only walk the containers (segments, chunks, blocks, directories); each is linear in the file's size.
//! On their way they note what the new encoding leaves behind: metadata, positions, content credentials, trailing data.

mod bmp;
mod directory;
mod gif;
mod jpeg;
mod png;
mod tiff;
mod webp;

use super::{ImageError, ImageLimits, ImageNote, PictureFormat};
use directory::Directory;
pub(super) use tiff::{Alpha, TiffColours, with_entries_as_grey};

/// How often the pixels of the largest accepted picture may be walked.
///
/// A progressive JPEG is walked once for each of its scans, ten as a rule; a file of a few kilobytes can ask for thousands.
const PASSES_MAX: u64 = 16;

/// What is known of a picture before it is decoded.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) format: PictureFormat,
    pub(super) width_px: u32,
    pub(super) height_px: u32,
    /// How many frames or pages it has, as far as its container tells.
    pub(super) n_frames: u32,
    /// Whether the format kept every pixel as it was.
    pub(super) is_lossless: bool,
    /// Whether the file ends early in a way that its decoder forgives.
    pub(super) is_incomplete: bool,
    /// Where the pixel data of a GIF's first frame end: the place of the empty block behind them.
    pub(super) gif_data_end: Option<usize>,
    /// The EXIF block, from its TIFF header on. A TIFF is one itself.
    pub(super) exif: Option<&'a [u8]>,
    /// The ICC profile, where the container holds it in one plain piece.
    pub(super) icc: Option<&'a [u8]>,
    /// Colour primaries, transfer function, matrix and range of a PNG's `cICP`.
    pub(super) cicp: Option<[u8; 4]>,
    /// The channels of a JPEG.
    pub(super) n_channels: u8,
    /// Whether it is a form that is not read, such as an arithmetic, lossless or hierarchical JPEG, one not of 8 bits, or of a height told later.
    pub(super) is_unsupported_form: bool,
    /// Whether a JPEG says that its ink values are stored inverted, as Adobe writes them.
    pub(super) has_adobe_marker: bool,
    /// What a TIFF says about its colours.
    pub(super) tiff: Option<TiffColours>,
    /// What the new encoding leaves behind.
    pub(super) removed: Removed,
}

/// What a file holds besides its picture.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Removed {
    /// EXIF, XMP, IPTC, comments, private blocks.
    metadata: bool,
    /// The place where it was taken.
    position: bool,
    /// Content credentials (C2PA).
    credentials: bool,
    /// Bytes behind the picture's end.
    trailing_data: bool,
}

impl Removed {
    /// Its notes.
    pub(super) fn notes(self) -> impl Iterator<Item = ImageNote> {
        [
            (self.metadata, ImageNote::MetadataRemoved),
            (self.position, ImageNote::PositionRemoved),
            (self.credentials, ImageNote::CredentialsRemoved),
            (self.trailing_data, ImageNote::TrailingDataRemoved),
        ]
        .into_iter()
        .filter_map(|(is_there, note)| is_there.then_some(note))
    }

    /// Takes in a block of EXIF.
    fn exif(&mut self, block: &[u8]) {
        self.metadata = true;
        self.position |=
            Directory::first(block).is_some_and(|directory| directory.has(directory::GPS));
    }

    /// Takes in a block of XMP.
    fn xmp(&mut self, block: &[u8]) {
        self.metadata = true;
        self.position |= holds(block, b"GPSLatitude");
    }

    /// Takes in what follows the picture's end. Zeros are padding.
    fn behind(&mut self, rest: &[u8]) {
        self.trailing_data |= rest.iter().any(|&byte| byte != 0);
    }
}

impl<'a> Header<'a> {
    fn new(format: PictureFormat) -> Self {
        Self {
            format,
            width_px: 0,
            height_px: 0,
            n_frames: 1,
            is_lossless: false,
            is_incomplete: false,
            gif_data_end: None,
            exif: None,
            icc: None,
            cicp: None,
            n_channels: 0,
            is_unsupported_form: false,
            has_adobe_marker: false,
            tiff: None,
            removed: Removed::default(),
        }
    }

    /// Takes in an EXIF block; the first one counts.
    fn add_exif(&mut self, block: &'a [u8]) {
        // Some writers put JPEG's prefix before the EXIF block in other formats too.
        let block = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
        self.removed.exif(block);
        self.exif.get_or_insert(block);
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
        PictureFormat::Jpeg => jpeg::scan(bytes, &mut header),
        PictureFormat::Png => png::scan(bytes, &mut header).map(|()| 1),
        PictureFormat::Gif => gif::scan(bytes, &mut header, limits)?.map(|()| 1),
        PictureFormat::WebP => webp::scan(bytes, &mut header, limits)?.map(|()| 1),
        PictureFormat::Bmp => bmp::scan(bytes, &mut header).map(|()| 1),
        PictureFormat::Tiff => tiff::scan(bytes, &mut header, limits)?,
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
    let work = u64::from(header.width_px) * u64::from(header.height_px) * n_passes;
    if work > limits.pixels_max.saturating_mul(PASSES_MAX) {
        return Err(too_costly(format, limits));
    }
    Ok(header)
}

pub(super) fn too_costly(format: PictureFormat, limits: &ImageLimits) -> ImageError {
    ImageError::TooCostly {
        format,
        decoded_bytes_max: limits.decoded_bytes_max,
    }
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

fn holds(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.windows(mark.len()).any(|window| window == mark)
}
