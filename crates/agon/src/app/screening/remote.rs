//! What a remote service that screens content is to the application.

use std::fmt;

use agon_domain::{DetectorFailure, DetectorIdentity, Finding, FindingKind};
use futures_util::future::BoxFuture;

use crate::app::screening::PictureContent;

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
