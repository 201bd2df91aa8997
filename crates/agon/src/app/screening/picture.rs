//! A picture as it is screened.

use std::fmt;

use agon_content::{
    image::{ImageError, MediaType, NormalisedImage, decode_normalised},
    known_image::Fingerprints,
    perceptual_hash::PerceptualHash,
};
use axum::body::Bytes;
use md5::Md5;
use sha2::{Digest as _, Sha256};

/// A normalised picture with what lists and services know it by.
#[derive(Clone)]
pub struct PictureContent {
    /// The normalised bytes.
    pub bytes: Bytes,
    /// Of `bytes`.
    pub media_type: MediaType,
    /// Width, in pixels.
    pub width_px: u32,
    /// Height, in pixels.
    pub height_px: u32,
    /// SHA-256 of `bytes`: what answers are remembered by.
    pub sha256: [u8; 32],
    /// What lists of known images are searched for.
    pub fingerprints: Fingerprints,
}

impl fmt::Debug for PictureContent {
    /// Leaves the picture and its hashes out.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PictureContent")
            .field("media_type", &self.media_type)
            .field("width_px", &self.width_px)
            .field("height_px", &self.height_px)
            .field("n_bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl From<&NormalisedImage> for PictureContent {
    fn from(image: &NormalisedImage) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(&image.bytes),
            media_type: image.media_type,
            width_px: image.width_px,
            height_px: image.height_px,
            sha256: image.sha256,
            fingerprints: Fingerprints::from(image),
        }
    }
}

impl PictureContent {
    /// A picture that was normalised before, from its bytes alone.
    ///
    /// The hashes of the file that was uploaded are `original` where they are known, and otherwise those of `bytes`.
    /// Decodes the picture, which takes some tens of milliseconds of a core: call it on a thread that may block.
    ///
    /// # Errors
    ///
    /// [`ImageError`] when `bytes` is no normalised picture.
    pub fn of_normalised(
        bytes: Bytes,
        original: Option<OriginalHashes>,
    ) -> Result<Self, ImageError> {
        let pixels = decode_normalised(&bytes)?;
        let sha256: [u8; 32] = Sha256::digest(&bytes).into();
        let original = original.unwrap_or_else(|| OriginalHashes {
            md5: Md5::digest(&bytes).into(),
            sha256,
        });
        Ok(Self {
            // Only JPEG and PNG are decoded above.
            media_type: MediaType::of_normalised(&bytes).unwrap_or(MediaType::Png),
            width_px: pixels.width_px(),
            height_px: pixels.height_px(),
            sha256,
            fingerprints: Fingerprints {
                original_md5: original.md5,
                original_sha256: original.sha256,
                normalised_sha256: sha256,
                perceptual_hash: PerceptualHash::of(&pixels),
            },
            bytes,
        })
    }
}

/// The hashes of a file as it was uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalHashes {
    /// MD5.
    pub md5: [u8; 16],
    /// SHA-256.
    pub sha256: [u8; 32],
}
