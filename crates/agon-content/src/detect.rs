//! What a detector of pictures is: pixels in, findings out.
//!
//! Detectors that need a model are in `agon-detectors`, those that ask a service in `agon-providers`.

use agon_domain::{DetectorFailure, DetectorIdentity, Finding, FindingKind};

use crate::image::Pixels;

/// Looks at one picture. Synchronous and without state that a picture could change.
pub trait PictureDetector: Send + Sync + std::fmt::Debug {
    /// Name and version, as in its findings.
    fn identity(&self) -> &DetectorIdentity;

    /// What it answers for.
    fn screens_for(&self) -> &[FindingKind];

    /// Everything found in this upright picture, those below the threshold that are worth keeping too.
    ///
    /// # Errors
    ///
    /// A failure when the detector cannot tell; no findings mean that there is nothing to find.
    fn find(&self, picture: &Pixels) -> Result<Vec<Finding>, DetectorFailure>;
}
