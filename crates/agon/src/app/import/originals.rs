//! Originals made fit: the one way from a picture as it was imported to one that may be shown, sent or published.

use agon_store::{KeptImage, NewImage, OriginalId, OriginalState, Store, StoredImage};
use jiff::Timestamp;

use crate::app::{
    AppError,
    images::{ImagePool, image_meta},
};

/// Why an imported picture cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ImportedImageError {
    /// It cannot be made fit, by the code of [`agon_content::image::ImageError`].
    #[error("the picture cannot be made fit to be shown: `{0}`")]
    Refused(String),
    /// The store failed, or the picture's bytes are gone.
    #[error("the picture cannot be read from the store")]
    Store(#[from] agon_store::Error),
    /// The pool of decoders failed.
    #[error("the picture cannot be decoded now")]
    Pool(#[source] AppError),
}

/// The picture of an imported battle as it may be shown, sent to a model or published.
///
/// The first time it is decoded within the limits of `pool` and encoded anew, and what became of it is kept, an error too; from then on it is read.
/// Two who ask at the same time both decode, and store one picture, as the same bytes become the same ones.
///
/// # Errors
///
/// [`ImportedImageError`].
pub async fn normalised_image(
    store: &Store,
    pool: &ImagePool,
    image: KeptImage,
    now: Timestamp,
) -> Result<StoredImage, ImportedImageError> {
    let id = match image {
        KeptImage::Normalised(id) => id,
        KeptImage::Original(original) => {
            let state = store.original_states(&[original]).await?.remove(&original);
            match state {
                Some(OriginalState::Normalised(id)) => id,
                Some(OriginalState::Refused(code)) => {
                    return Err(ImportedImageError::Refused(code));
                }
                Some(OriginalState::Untried) => {
                    return normalise(store, pool, original, now).await;
                }
                None => return Err(gone(original)),
            }
        }
    };
    let stored = store.image(id).await?;
    stored.ok_or_else(|| agon_store::Error::UnknownImage(id).into())
}

async fn normalise(
    store: &Store,
    pool: &ImagePool,
    id: OriginalId,
    now: Timestamp,
) -> Result<StoredImage, ImportedImageError> {
    let original = store.original(id).await?.ok_or_else(|| gone(id))?;
    let legacy_md5 = original.meta.legacy_md5;
    let normalised = match pool.normalise(original.bytes.into()).await {
        Ok(normalised) => normalised,
        Err(AppError::Image(error)) => {
            store.refuse_original(id, error.code()).await?;
            return Err(ImportedImageError::Refused(error.code().to_owned()));
        }
        Err(error) => return Err(ImportedImageError::Pool(error)),
    };
    let meta = image_meta(&normalised, legacy_md5, now);
    let stored = StoredImage {
        id: normalised.id(),
        bytes: normalised.bytes,
        meta,
    };
    store
        .put_images(vec![NewImage {
            bytes: stored.bytes.clone(),
            meta: stored.meta.clone(),
            original_sha256: Some(*id.as_bytes()),
        }])
        .await?;
    Ok(stored)
}

fn gone(id: OriginalId) -> ImportedImageError {
    let id = agon_domain::ImageId::from_bytes(*id.as_bytes());
    agon_store::Error::UnknownImage(id).into()
}
