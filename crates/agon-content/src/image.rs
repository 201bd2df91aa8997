//! The one normaliser: every picture that Agon shows, sends or publishes has passed through [`normalise`], and nothing else decodes pictures.
//!
//! What comes in is any bytes; what goes out is one upright, flat, 8-bit sRGB picture as JPEG or PNG, or a refusal in words.
//! Steps, in this order:
//!
//! 1. **Kind** by the bytes, never by the name: JPEG, PNG, GIF, WebP, BMP and TIFF are read, anything else is named and refused.
//! 2. **Header** by our own bounded scan, before a decoder runs: sides, pixels, passes and memory are held against [`ImageLimits`].
//! 3. **Pixels**: first frame; CMYK and YCCK to RGB; embedded ICC profile or PNG `cICP` to sRGB; transparency over white; 16 bits to 8.
//! 4. **Fit**: the longest side to [`ImageLimits::fit_side_max_px`], by an area-true Lanczos filter; sides stay ≥ 1 pixel; nothing is ever enlarged.
//! 5. **Upright**: the EXIF orientation is applied.
//! 6. **Encoding**, so that nothing but pixels is left: no EXIF, position, XMP, IPTC, comment, profile, thumbnail, content credentials or trailing data.
//!
//! # JPEG or PNG
//!
//! A picture that came lossy (JPEG, lossy WebP, JPEG in TIFF) leaves as JPEG of quality 90 with full colour resolution.
//! One that came lossless (PNG, GIF, BMP, lossless WebP, other TIFF) leaves as PNG if it has at most 4,096 colours, or if the PNG is not larger than the JPEG (quick compression must already bring it within twice the JPEG); otherwise as JPEG.
//! If the result is larger than [`ImageLimits::encoded_bytes_max`], it becomes a JPEG whose sides shrink until it fits.
//! [`fit_for_provider`] does the same once more for a provider with tighter limits than the arena.
//!
//! The same bytes and limits give the same result on the same kind of processor and version of Agon.
//!
//! Transparency is laid over **white**, whatever lies under it: what shows on another ground only, such as white writing on transparent, is not in the result, and neither people nor models see it.
//! Writing in a single colour channel stays as it is, for whoever reads text in pictures.
//!
//! Not done here: `gAMA` and `cHRM` of PNG and the calibrated colours of BMP are ignored, as the models' own readers do; an orientation given only in XMP or in a PNG text chunk is not applied.
//!
//! `docs/images.md` lists formats, limits, identities and measured figures.

mod colour;
mod decode;
mod encode;
mod fit;
mod header;
mod pixels;
mod provider;
mod sniff;
mod tiff;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::image::RgbImage;
use agon_domain::ImageId;
use md5::Md5;
use sha2::{Digest as _, Sha256};

use crate::perceptual_hash::PerceptualHash;

pub use pixels::Pixels;
pub use provider::{FittedImage, ProviderLimits, fit_for_provider};
pub use sniff::{ForeignKind, PictureFormat};

/// How the accepted formats are listed to people.
pub const ACCEPTED_FORMATS: &str = "JPEG, PNG, WebP, GIF, BMP or TIFF";

/// What a picture may cost, and how large the result may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLimits {
    /// Largest upload, in bytes.
    pub bytes_max: u64,
    /// Most pixels, as the header states them.
    pub pixels_max: u64,
    /// Longest side, in pixels, as the header states it.
    pub side_max_px: u32,
    /// Largest decoded picture in memory, in bytes.
    pub decoded_bytes_max: u64,
    /// Longest side of the result, in pixels. Larger pictures are scaled down. At least 1.
    pub fit_side_max_px: u32,
    /// Largest result, in bytes.
    pub encoded_bytes_max: u64,
}

impl Default for ImageLimits {
    /// 20 MiB, 40 megapixels, 16,384 pixels a side and 256 MiB decoded; a result of at most 2,048 pixels a side and 3,495,253 bytes, which base64 makes 4,660,340: below the 5 MB of the strictest provider.
    fn default() -> Self {
        Self {
            bytes_max: 20 * 1024 * 1024,
            pixels_max: 40_000_000,
            side_max_px: 16_384,
            decoded_bytes_max: 256 * 1024 * 1024,
            fit_side_max_px: 2048,
            encoded_bytes_max: 3_495_253,
        }
    }
}

/// The media type of a normalised picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaType {
    /// `image/jpeg`
    Jpeg,
    /// `image/png`
    Png,
}

impl MediaType {
    /// Its spelling in HTTP and data URLs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
        }
    }

    /// The file extension, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
        }
    }

    /// The media type of normalised bytes, told by their first bytes.
    pub fn of_normalised(bytes: &[u8]) -> Option<Self> {
        match sniff::sniff(bytes) {
            Ok(PictureFormat::Jpeg) => Some(Self::Jpeg),
            Ok(PictureFormat::Png) => Some(Self::Png),
            _ => None,
        }
    }
}

/// What was done to a picture that its uploader may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ImageNote {
    /// The camera's orientation was applied: turned or mirrored.
    Rotated,
    /// Transparent parts were laid over white.
    Flattened,
    /// The picture has several frames or pages and only its first is used.
    FirstFrameOnly,
    /// It was scaled down.
    Downscaled,
    /// Its colours were converted to sRGB from an embedded profile, or from print colours (CMYK).
    ColourConverted,
    /// It has a colour profile that could not be used; colours may be off.
    ColourProfileIgnored,
    /// 16 bits a channel became 8.
    DepthReduced,
    /// The file ends before the picture does; the missing part is grey.
    Incomplete,
    /// EXIF, XMP, IPTC, comments or private blocks were left behind.
    MetadataRemoved,
    /// The place where the picture was taken was left behind.
    PositionRemoved,
    /// Content credentials (C2PA) were left behind: they vouch for the file as it was.
    CredentialsRemoved,
    /// Bytes behind the picture's end were left behind.
    TrailingDataRemoved,
}

impl ImageNote {
    /// All of them, in the order in which [`NormalisedImage::notes`] lists them.
    pub const ALL: [Self; 12] = [
        Self::Rotated,
        Self::Flattened,
        Self::FirstFrameOnly,
        Self::Downscaled,
        Self::ColourConverted,
        Self::ColourProfileIgnored,
        Self::DepthReduced,
        Self::Incomplete,
        Self::MetadataRemoved,
        Self::PositionRemoved,
        Self::CredentialsRemoved,
        Self::TrailingDataRemoved,
    ];

    /// Its stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rotated => "rotated",
            Self::Flattened => "flattened",
            Self::FirstFrameOnly => "first_frame_only",
            Self::Downscaled => "downscaled",
            Self::ColourConverted => "colour_converted",
            Self::ColourProfileIgnored => "colour_profile_ignored",
            Self::DepthReduced => "depth_reduced",
            Self::Incomplete => "incomplete",
            Self::MetadataRemoved => "metadata_removed",
            Self::PositionRemoved => "position_removed",
            Self::CredentialsRemoved => "credentials_removed",
            Self::TrailingDataRemoved => "trailing_data_removed",
        }
    }

    /// The note with this spelling.
    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|note| note.as_str() == text)
    }

    /// A sentence for the voter.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Rotated => "The picture was turned upright.",
            Self::Flattened => "Transparent parts were laid over white.",
            Self::FirstFrameOnly => "Only the first frame or page is used.",
            Self::Downscaled => "The picture was scaled down.",
            Self::ColourConverted => "Colours were converted to sRGB.",
            Self::ColourProfileIgnored => {
                "The picture's colour profile could not be used; colours may be off."
            }
            Self::DepthReduced => "16-bit colour was reduced to 8 bits.",
            Self::Incomplete => "The file is cut off; the missing part of the picture is grey.",
            Self::MetadataRemoved => "Details stored beside the picture were removed.",
            Self::PositionRemoved => "The place where the picture was taken was removed.",
            Self::CredentialsRemoved => {
                "Content credentials were removed, as they hold for the original file only."
            }
            Self::TrailingDataRemoved => "Other data behind the picture were removed.",
        }
    }
}

impl fmt::Display for ImageNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What was uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalImage {
    /// Its format.
    pub format: PictureFormat,
    /// Its size, in bytes.
    pub n_bytes: u64,
    /// Its width as stored, before turning, in pixels.
    pub width_px: u32,
    /// Its height as stored, before turning, in pixels.
    pub height_px: u32,
    /// Whether it has more than one frame or page.
    pub is_animated: bool,
    /// How many frames or pages it has, as far as its container tells; only the first was decoded.
    pub n_frames: u32,
    /// SHA-256 of the file as it was uploaded, for lists of known files.
    pub sha256: [u8; 32],
    /// MD5 of the file as it was uploaded, for lists of known files.
    pub md5: [u8; 16],
}

/// A picture fit to be stored, shown, sent to models and published.
#[derive(Clone, PartialEq, Eq)]
pub struct NormalisedImage {
    /// The encoded picture.
    pub bytes: Vec<u8>,
    /// Of `bytes`.
    pub media_type: MediaType,
    /// Its width, in pixels.
    pub width_px: u32,
    /// Its height, in pixels.
    pub height_px: u32,
    /// SHA-256 of `bytes`.
    pub sha256: [u8; 32],
    /// SHA-256 of the sides and pixels that were encoded, see [`Pixels::sha256`]: the same for the same pixels in PNG and BMP.
    pub pixel_sha256: [u8; 32],
    /// MD5 of the pixels that were uploaded, as straight 8-bit RGBA: the name that FastChat gives a picture in its logs and folders.
    ///
    /// Exact for the PNG files that FastChat keeps, which joins them to its logs.
    /// `None` where FastChat keeps no such picture: a side over 1,024 pixels, 16 bits a channel, print colours.
    /// Sides are not part of it, and MD5 is no protection: never an identity.
    pub legacy_md5: Option<[u8; 16]>,
    /// What it looks like, to find it again scaled, re-encoded or turned.
    pub perceptual_hash: PerceptualHash,
    /// What it was made from.
    pub original: OriginalImage,
    /// What was done to it, in the order of [`ImageNote::ALL`], each at most once.
    pub notes: Vec<ImageNote>,
}

impl NormalisedImage {
    /// Its identity: the SHA-256 of its normalised bytes.
    pub const fn id(&self) -> ImageId {
        ImageId::from_bytes(self.sha256)
    }

    /// Whether `note` applies to it.
    pub fn has_note(&self, note: ImageNote) -> bool {
        self.notes.contains(&note)
    }
}

impl fmt::Debug for NormalisedImage {
    /// Leaves the picture itself out: images are never logged.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NormalisedImage")
            .field("id", &self.id())
            .field("media_type", &self.media_type)
            .field("width_px", &self.width_px)
            .field("height_px", &self.height_px)
            .field("n_bytes", &self.bytes.len())
            .field("original", &self.original)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

/// Why a picture is refused. Each variant is something else to do for whoever uploaded it.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file has no bytes: choose it again.
    #[error("the file is empty, {ACCEPTED_FORMATS} is accepted")]
    Empty,
    /// Too many bytes: make it smaller.
    #[error("the file has `{n_bytes}` bytes, at most {bytes_max} are accepted")]
    TooLarge {
        /// How many it has.
        n_bytes: u64,
        /// How many it may have.
        bytes_max: u64,
    },
    /// Not a picture of an accepted format: convert it or take a screenshot.
    #[error("the file seems to be `{found}`, {ACCEPTED_FORMATS} is accepted")]
    Unsupported {
        /// What it seems to be.
        found: ForeignKind,
    },
    /// An accepted format in a form that is not read (such as arithmetic-coded JPEG): save it anew.
    #[error("an unusual form of `{}` that is not read, save it as a common JPEG or PNG", format.name())]
    UnsupportedForm {
        /// Its format.
        format: PictureFormat,
        /// What the decoder said.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// Too many pixels: scale it down.
    #[error("the picture has `{width_px}`×`{height_px}` pixels, at most {pixels_max} are accepted")]
    TooManyPixels {
        /// Its width.
        width_px: u32,
        /// Its height.
        height_px: u32,
        /// How many pixels it may have.
        pixels_max: u64,
    },
    /// A side is too long: cut it into parts or scale it down.
    #[error(
        "the picture has `{width_px}`×`{height_px}` pixels, at most {side_max_px} a side are accepted"
    )]
    SideTooLong {
        /// Its width.
        width_px: u32,
        /// Its height.
        height_px: u32,
        /// How long a side may be.
        side_max_px: u32,
    },
    /// Decoding needs too much memory or work: save it anew, with 8 bits a channel or smaller.
    #[error("decoding a {} needs too much memory or work, at most {decoded_bytes_max} bytes are spent", format.name())]
    TooCostly {
        /// Its format.
        format: PictureFormat,
        /// How much memory it may need.
        decoded_bytes_max: u64,
    },
    /// Damaged: open and save it anew, or take a screenshot.
    #[error("the {} is damaged and cannot be decoded", format.name())]
    Broken {
        /// Its format.
        format: PictureFormat,
        /// What the decoder said.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The result cannot be made as small as the arena asks: the operator's limit is too low.
    #[error("the picture cannot be encoded in `{encoded_bytes_max}` bytes")]
    CannotFit {
        /// How large the result may be.
        encoded_bytes_max: u64,
    },
}

impl ImageError {
    /// Every code, for tables of codes.
    pub const CODES: [&'static str; 8] = [
        "image_empty",
        "image_too_large",
        "image_unsupported",
        "image_too_many_pixels",
        "image_side_too_long",
        "image_too_costly",
        "image_broken",
        "image_cannot_fit",
    ];

    /// Its stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "image_empty",
            Self::TooLarge { .. } => "image_too_large",
            Self::Unsupported { .. } | Self::UnsupportedForm { .. } => "image_unsupported",
            Self::TooManyPixels { .. } => "image_too_many_pixels",
            Self::SideTooLong { .. } => "image_side_too_long",
            Self::TooCostly { .. } => "image_too_costly",
            Self::Broken { .. } => "image_broken",
            Self::CannotFit { .. } => "image_cannot_fit",
        }
    }

    /// What happened and what to do, in plain sentences for the voter.
    pub fn voter_message(&self) -> String {
        match self {
            Self::Empty => "The file is empty. Please choose it again.".to_owned(),
            Self::TooLarge { n_bytes, bytes_max } => format!(
                "The file has {}, and pictures of up to {} can be read. Please make it smaller, or take a screenshot of it.",
                mebibytes(*n_bytes, true),
                mebibytes(*bytes_max, false)
            ),
            Self::Unsupported { found } => format!(
                "This looks like {found}, and only {ACCEPTED_FORMATS} can be read here. {}",
                found.hint()
            ),
            Self::UnsupportedForm { format, .. } => format!(
                "This is an unusual kind of {} that cannot be read here. Please open it in a picture viewer and save it anew, or take a screenshot of it.",
                format.name()
            ),
            Self::TooManyPixels {
                width_px,
                height_px,
                pixels_max,
            } => format!(
                "The picture has {width_px} × {height_px} pixels, and up to {} megapixels can be read. Please scale it down, or cut out the part that matters.",
                pixels_max / 1_000_000
            ),
            Self::SideTooLong {
                width_px,
                height_px,
                side_max_px,
            } => format!(
                "The picture has {width_px} × {height_px} pixels, and up to {side_max_px} pixels a side can be read. Please scale it down, or cut out the part that matters."
            ),
            Self::TooCostly { .. } => "The picture needs too much memory to be read. Please save it anew as a common JPEG or PNG, or scale it down.".to_owned(),
            Self::Broken { format, .. } => format!(
                "The file looks like a {} picture, but it is damaged. Please open it in a picture viewer and save it anew, or take a screenshot of it.",
                format.name()
            ),
            Self::CannotFit { .. } => {
                "The picture cannot be made small enough for this arena. Please try a simpler one.".to_owned()
            }
        }
    }

    fn broken(format: PictureFormat) -> Self {
        Self::Broken {
            format,
            source: None,
        }
    }
}

/// `n_bytes` in MiB for people, rounded so that a refused size never reads as the accepted one.
fn mebibytes(n_bytes: u64, round_up: bool) -> String {
    const TENTH: u64 = 1024 * 1024 / 10;
    let tenths = if round_up {
        n_bytes.div_ceil(TENTH)
    } else {
        n_bytes / TENTH
    };
    if tenths % 10 == 0 {
        format!("{} MB", tenths / 10)
    } else {
        format!("{}.{} MB", tenths / 10, tenths % 10)
    }
}

/// Makes an uploaded picture fit to be stored, shown, sent and published. The module's documentation lists the steps.
///
/// Synchronous and bound by the processor: about a tenth to half a second of one core for a photograph.
/// Memory is bounded by a small multiple of [`ImageLimits::decoded_bytes_max`].
///
/// # Errors
///
/// An [`ImageError`] that says why the picture is refused and, by [`ImageError::voter_message`], what to do instead.
pub fn normalise(bytes: &[u8], limits: &ImageLimits) -> Result<NormalisedImage, ImageError> {
    let format = kind_within(bytes, limits)?;
    contained(format, || normalise_format(bytes, format, limits))
}

/// What the header of a picture says, see [`inspect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InspectedImage {
    /// Its format.
    pub format: PictureFormat,
    /// Its width as stored, before turning, in pixels.
    pub width_px: u32,
    /// Its height as stored, before turning, in pixels.
    pub height_px: u32,
}

/// Holds kind and header of a picture against the limits, and decodes nothing.
///
/// For pictures that are kept as they came until somebody asks for them: [`normalise`] refuses whatever this refuses, and may refuse what this accepts, as broken pixels are only seen by decoding.
/// Linear in the size of the file, which it walks at about a gigabyte a second.
///
/// # Errors
///
/// The [`ImageError`] that [`normalise`] would give.
pub fn inspect(bytes: &[u8], limits: &ImageLimits) -> Result<InspectedImage, ImageError> {
    let format = kind_within(bytes, limits)?;
    contained(format, || {
        let header = header::read(bytes, format, limits)?;
        Ok(InspectedImage {
            format,
            width_px: header.width_px,
            height_px: header.height_px,
        })
    })
}

/// The kind of a file that is not too large.
fn kind_within(bytes: &[u8], limits: &ImageLimits) -> Result<PictureFormat, ImageError> {
    let n_bytes = bytes.len() as u64;
    if n_bytes == 0 {
        return Err(ImageError::Empty);
    }
    if n_bytes > limits.bytes_max {
        return Err(ImageError::TooLarge {
            n_bytes,
            bytes_max: limits.bytes_max,
        });
    }
    sniff::sniff(bytes).map_err(|found| ImageError::Unsupported { found })
}

fn normalise_format(
    bytes: &[u8],
    format: PictureFormat,
    limits: &ImageLimits,
) -> Result<NormalisedImage, ImageError> {
    let header = header::read(bytes, format, limits)?;
    let mut notes: Vec<ImageNote> = header.removed.notes().collect();
    if header.n_frames > 1 {
        notes.push(ImageNote::FirstFrameOnly);
    }
    if header.is_incomplete {
        notes.push(ImageNote::Incomplete);
    }
    let decoded = decode::decode(bytes, &header, limits, &mut notes)?;
    let has_few_colours = header.is_lossless && encode::has_few_colours(&decoded.pixels);
    let fitted = fit::fit(decoded.pixels, limits.fit_side_max_px, &mut notes);
    let upright = fit::turn_upright(fitted, header.exif, &mut notes);
    let encoded = encode::encode(
        upright,
        header.is_lossless,
        has_few_colours,
        limits.encoded_bytes_max,
        &mut notes,
    )?;
    notes.sort_unstable();
    notes.dedup();
    let pixels = Pixels::of(encoded.pixels);
    Ok(NormalisedImage {
        sha256: Sha256::digest(&encoded.bytes).into(),
        pixel_sha256: pixels.sha256(),
        legacy_md5: decoded.legacy_md5,
        perceptual_hash: PerceptualHash::of(&pixels),
        bytes: encoded.bytes,
        media_type: encoded.media_type,
        width_px: pixels.width_px(),
        height_px: pixels.height_px(),
        original: OriginalImage {
            format,
            n_bytes: bytes.len() as u64,
            width_px: header.width_px,
            height_px: header.height_px,
            is_animated: header.n_frames > 1,
            n_frames: header.n_frames,
            sha256: Sha256::digest(bytes).into(),
            md5: Md5::digest(bytes).into(),
        },
        notes,
    })
}

/// The pixels of a picture that [`normalise`] made, for detectors.
///
/// # Errors
///
/// [`ImageError::Unsupported`] or [`ImageError::Broken`] if the bytes are not such a picture.
pub fn decode_normalised(bytes: &[u8]) -> Result<Pixels, ImageError> {
    let (format, pixels) = decode_stored(bytes)?;
    match format {
        PictureFormat::Jpeg | PictureFormat::Png => Ok(Pixels::of(pixels)),
        _ => Err(ImageError::broken(format)),
    }
}

/// Decodes what was normalised before; it is bounded all the same, as files may be damaged on a disk.
fn decode_stored(bytes: &[u8]) -> Result<(PictureFormat, RgbImage), ImageError> {
    let format = sniff::sniff(bytes).map_err(|found| ImageError::Unsupported { found })?;
    let limits = ImageLimits::default();
    contained(format, || {
        let header = header::read(bytes, format, &limits)?;
        let decoded = decode::decode(bytes, &header, &limits, &mut Vec::new())?;
        Ok((format, decoded.pixels))
    })
}

/// Runs decoders, which read hostile bytes and are other people's code.
///
/// They are written not to panic, and if one does all the same, one upload fails and not the server.
fn contained<T>(
    format: PictureFormat,
    work: impl FnOnce() -> Result<T, ImageError>,
) -> Result<T, ImageError> {
    // Nothing is shared with the closure but bytes and limits, which it only reads.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(ImageError::broken(format)))
}

#[cfg(test)]
pub(crate) mod tests;
