//! What a local detector of text is, and the one for personal data.

use std::fmt;

use agon_content::moderation::{ProbeDetector, WordDetector};
use agon_domain::{DetectorFailure, DetectorIdentity, Finding, FindingKind, FindingPlace};

use crate::app::screening::Answer;

/// Reads one text. Synchronous, in time linear in the text.
pub trait TextDetector: Send + Sync + fmt::Debug {
    /// Name and version, as in its findings.
    fn identity(&self) -> &DetectorIdentity;

    /// What it answers for.
    fn screens_for(&self) -> &[FindingKind];

    /// Everything found in this text. `language` is its ISO 639-1 code, where it is known.
    ///
    /// # Errors
    ///
    /// A failure when the detector cannot tell.
    fn find(&self, text: &str, language: Option<&str>) -> Answer;
}

/// Personal data and secrets, by `agon-pii`.
#[derive(Debug)]
pub struct PersonalData {
    detector: agon_pii::Detector,
    identity: DetectorIdentity,
}

impl PersonalData {
    /// The detector for everything in its catalogue, from this score on; its own threshold without one.
    ///
    /// # Errors
    ///
    /// [`agon_pii::Error`] for a threshold outside 0 to 1.
    pub fn new(threshold: Option<f64>) -> Result<Self, agon_pii::Error> {
        let mut options = agon_pii::Options::default();
        if let Some(threshold) = threshold {
            options.threshold = threshold;
        }
        let detector = agon_pii::Detector::new(&options)?;
        let identity = detector.identity();
        Ok(Self {
            identity: DetectorIdentity::new(identity.name, identity.version),
            detector,
        })
    }
}

impl TextDetector for PersonalData {
    fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    fn screens_for(&self) -> &[FindingKind] {
        &[FindingKind::PiiText]
    }

    fn find(&self, text: &str, language: Option<&str>) -> Result<Vec<Finding>, DetectorFailure> {
        let threshold = self.detector.identity().threshold;
        let found = self.detector.find_in(text, language);
        Ok(found
            .into_iter()
            .map(|found| Finding {
                detector: self.identity.clone(),
                kind: FindingKind::PiiText,
                category: found.entity.name().to_owned(),
                score: found.score,
                threshold,
                place: FindingPlace::Text {
                    bytes: found.bytes,
                    chars: found.chars,
                },
            })
            .collect())
    }
}

impl TextDetector for WordDetector {
    fn identity(&self) -> &DetectorIdentity {
        self.identity()
    }

    fn screens_for(&self) -> &[FindingKind] {
        self.screens_for()
    }

    fn find(&self, text: &str, _: Option<&str>) -> Answer {
        Ok(self.find(text))
    }
}

impl TextDetector for ProbeDetector {
    fn identity(&self) -> &DetectorIdentity {
        self.identity()
    }

    fn screens_for(&self) -> &[FindingKind] {
        self.screens_for()
    }

    fn find(&self, text: &str, _: Option<&str>) -> Answer {
        Ok(self.find(text))
    }
}
