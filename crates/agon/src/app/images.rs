//! Uploaded pictures: normalised in a bounded pool, then kept by content.

use std::sync::Arc;

use agon_content::image::{ImageLimits, MediaType, NormalisedImage, PictureFormat, normalise};
use agon_store::{ImageFormat, ImageMeta};
use axum::body::Bytes;
use jiff::Timestamp;
use tokio::sync::Semaphore;

use crate::app::AppError;

/// A pool for decoding, as many at a time as there are cores: a decoder takes a core and up to 256 MiB.
#[derive(Clone, Debug)]
pub struct ImagePool {
    permits: Arc<Semaphore>,
    limits: ImageLimits,
}

impl ImagePool {
    /// A pool that decodes `n_at_once` pictures at a time.
    pub fn new(n_at_once: usize, limits: ImageLimits) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(n_at_once.max(1))),
            limits,
        }
    }

    /// What a picture may cost.
    pub const fn limits(&self) -> ImageLimits {
        self.limits
    }

    /// Turns an upload into the one form that is kept, shown to models and published.
    ///
    /// # Errors
    ///
    /// [`AppError::Image`] in words that the voter can act on.
    pub async fn normalise(&self, upload: Bytes) -> Result<NormalisedImage, AppError> {
        let internal = |source: anyhow::Error| AppError::Internal {
            what: "decoding an image",
            source,
        };
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|source| internal(source.into()))?;
        let limits = self.limits;
        tokio::task::spawn_blocking(move || {
            let result = normalise(&upload, &limits);
            drop(permit);
            result
        })
        .await
        .map_err(|source| internal(source.into()))?
        .map_err(AppError::Image)
    }
}

/// What the store keeps of a picture beside its bytes.
pub fn image_meta(
    image: &NormalisedImage,
    legacy_md5: Option<[u8; 16]>,
    created_at: Timestamp,
) -> ImageMeta {
    ImageMeta {
        format: match image.media_type {
            MediaType::Jpeg => ImageFormat::Jpeg,
            MediaType::Png => ImageFormat::Png,
        },
        width: image.width_px,
        height: image.height_px,
        legacy_md5,
        original_format: picture_format(image.original.format),
        created_at,
    }
}

/// The format of a picture as the store spells it.
pub fn picture_format(format: PictureFormat) -> ImageFormat {
    match format {
        PictureFormat::Jpeg => ImageFormat::Jpeg,
        PictureFormat::Png => ImageFormat::Png,
        PictureFormat::Gif => ImageFormat::Gif,
        PictureFormat::WebP => ImageFormat::Webp,
        PictureFormat::Bmp => ImageFormat::Bmp,
        PictureFormat::Tiff => ImageFormat::Tiff,
    }
}
