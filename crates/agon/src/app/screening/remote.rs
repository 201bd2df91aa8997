//! What a remote service that screens content is to the application.

use std::fmt;

use agon_content::image::{MediaType, ProviderLimits, fit_for_provider};
use agon_domain::{DetectorFailure, DetectorFailureKind, DetectorIdentity, Finding, FindingKind};
use agon_providers::{RequestImage, screening as wire};
use futures_util::future::BoxFuture;

use crate::app::screening::{PictureContent, text_sha256};

/// A detector's findings, or its failure to tell.
pub type Answer = Result<Vec<Finding>, DetectorFailure>;

/// An [`Answer`] on its way.
pub type ServiceFuture<'a> = BoxFuture<'a, Answer>;

/// Asks somebody else's machine about pictures, texts or both.
///
/// A service that knows hashes of abuse images has [`FindingKind::KnownImage`] among its kinds of pictures, and is asked before all others.
pub trait ScreeningService: Send + Sync + fmt::Debug {
    /// Name and version, as in its findings.
    fn identity(&self) -> &DetectorIdentity;

    /// What it answers for in pictures; nothing when it does not look at pictures.
    fn picture_kinds(&self) -> &[FindingKind];

    /// What it answers for in text; nothing when it does not read text.
    fn text_kinds(&self) -> &[FindingKind];

    /// Asks about a picture. Dropping the future gives up.
    fn screen_picture<'a>(&'a self, picture: &'a PictureContent) -> ServiceFuture<'a>;

    /// Asks about a text in a language (ISO 639-1), where it is known. Dropping the future gives up.
    fn screen_text<'a>(&'a self, text: &'a str, language: Option<&'a str>) -> ServiceFuture<'a>;
}

/// A service that speaks one of the known protocols.
#[derive(Clone, Debug)]
pub struct KnownService {
    wire: wire::ScreeningService,
    picture_kinds: Vec<FindingKind>,
    text_kinds: Vec<FindingKind>,
}

impl KnownService {
    /// The service behind this client.
    pub fn new(wire: wire::ScreeningService) -> Self {
        Self {
            picture_kinds: wire.screens_for_subject(true),
            text_kinds: wire.screens_for_subject(false),
            wire,
        }
    }

    /// The picture within the service's limits, made smaller where that is needed.
    async fn fitted(&self, picture: &PictureContent) -> Result<RequestImage, DetectorFailure> {
        let as_it_is = RequestImage {
            media_type: picture.media_type.as_str().to_owned(),
            bytes: picture.bytes.clone(),
            width_px: picture.width_px,
            height_px: picture.height_px,
        };
        let Some(limits) = self.wire.limits().picture else {
            return Ok(as_it_is);
        };
        let is_within = picture.width_px.max(picture.height_px) <= limits.side_px_max
            && picture.bytes.len() <= limits.bytes_max;
        if is_within {
            return Ok(as_it_is);
        }
        let bytes = picture.bytes.clone();
        let limits = ProviderLimits {
            // Sizes of providers are measured after Base64, which makes four of every three bytes.
            base64_bytes_max: (limits.bytes_max as u64 / 3).saturating_mul(4),
            side_max_px: limits.side_px_max,
        };
        let fitted = tokio::task::spawn_blocking(move || fit_for_provider(&bytes, limits)).await;
        match fitted {
            Ok(Ok(Some(fitted))) => Ok(RequestImage {
                media_type: MediaType::as_str(fitted.media_type).to_owned(),
                bytes: fitted.bytes.into(),
                width_px: fitted.width_px,
                height_px: fitted.height_px,
            }),
            Ok(Ok(None)) => Ok(as_it_is),
            Ok(Err(_)) | Err(_) => Err(DetectorFailure {
                detector: self.wire.identity().clone(),
                screens_for: self.picture_kinds.clone(),
                kind: DetectorFailureKind::Unsupported,
                detail: "the picture cannot be made to fit the service's limits".to_owned(),
            }),
        }
    }
}

impl ScreeningService for KnownService {
    fn identity(&self) -> &DetectorIdentity {
        self.wire.identity()
    }

    fn picture_kinds(&self) -> &[FindingKind] {
        &self.picture_kinds
    }

    fn text_kinds(&self) -> &[FindingKind] {
        &self.text_kinds
    }

    fn screen_picture<'a>(&'a self, picture: &'a PictureContent) -> ServiceFuture<'a> {
        Box::pin(async move {
            let fitted = self.fitted(picture).await?;
            self.wire
                .screen_picture(&fitted, seed(&picture.sha256))
                .await
        })
    }

    fn screen_text<'a>(&'a self, text: &'a str, language: Option<&'a str>) -> ServiceFuture<'a> {
        Box::pin(async move {
            let seed = seed(&text_sha256(text));
            self.wire.screen_text(text, language, seed).await
        })
    }
}

/// What spreads retries in time: any number that differs from content to content.
fn seed(sha256: &[u8; 32]) -> u64 {
    sha256
        .iter()
        .take(8)
        .fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}
