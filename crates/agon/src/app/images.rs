//! Uploaded pictures: normalised in a bounded pool, then kept by content.

use std::sync::Arc;

use agon_content::image::{ImageLimits, NormalisedImage, normalise};
use axum::body::Bytes;
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
