//! Failures of detectors that are at work.

use agon_domain::{DetectorFailure, DetectorFailureKind, DetectorIdentity, FindingKind};

/// A failure inside a detector. `detail` must hold nothing of the picture.
pub(crate) fn internal(
    detector: &DetectorIdentity,
    screens_for: &[FindingKind],
    detail: String,
) -> DetectorFailure {
    DetectorFailure {
        detector: detector.clone(),
        screens_for: screens_for.to_vec(),
        kind: DetectorFailureKind::Internal,
        detail,
    }
}
