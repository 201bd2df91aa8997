//! What detectors say of content: findings, and failures to find anything out.
//!
//! A detector that failed is not a detector that found nothing: [`Screening`] keeps both, and [`crate::policy`] decides.

use std::{fmt, ops::Range, str::FromStr};

/// The name and version of a detector, as every finding carries them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DetectorIdentity {
    /// Lower case words with hyphens, for example `open-nsfw`.
    pub name: String,
    /// Version of its weights, lists or rules together with its code; another text means that older findings are out of date.
    pub version: String,
}

impl DetectorIdentity {
    /// An identity from its two texts.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
        }
    }
}

impl fmt::Display for DetectorIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.name, self.version)
    }
}

/// What content is screened for. Policies, coverage and counts are by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// A picture on a list of known abuse images.
    KnownImage,
    /// A sexual or pornographic picture.
    NsfwImage,
    /// A violent picture, or one of self-harm.
    ViolentImage,
    /// A face.
    Face,
    /// Personal data or a secret in text.
    PiiText,
    /// Personal data or a secret in a picture: its text, QR codes and barcodes.
    PiiImage,
    /// Text that moderation objects to.
    HarmfulText,
    /// Text that asks which model answers, or tries to give the models other instructions. Flagged, as it is no harm to anyone.
    Probe,
}

impl FindingKind {
    /// All of them, in the order in which they are screened for.
    pub const ALL: [Self; 8] = [
        Self::KnownImage,
        Self::NsfwImage,
        Self::ViolentImage,
        Self::Face,
        Self::PiiText,
        Self::PiiImage,
        Self::HarmfulText,
        Self::Probe,
    ];

    /// The spelling in configuration, API, database and findings files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KnownImage => "known_image",
            Self::NsfwImage => "nsfw_image",
            Self::ViolentImage => "violent_image",
            Self::Face => "face",
            Self::PiiText => "pii_text",
            Self::PiiImage => "pii_image",
            Self::HarmfulText => "harmful_text",
            Self::Probe => "probe",
        }
    }

    /// Whether it is about pictures; the others are about text.
    pub const fn is_about_pictures(self) -> bool {
        !matches!(self, Self::PiiText | Self::HarmfulText | Self::Probe)
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A text that is no [`FindingKind`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{value}` is not something to screen for: expected `known_image`, `nsfw_image`, `violent_image`, `face`, `pii_text`, `pii_image`, `harmful_text` or `probe`"
)]
pub struct UnknownFindingKind {
    /// The text as given, cut to 80 characters.
    pub value: String,
}

impl FromStr for FindingKind {
    type Err = UnknownFindingKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownFindingKind {
                value: text.chars().take(80).collect(),
            })
    }
}

/// A rectangle of a picture, in pixels of the upright normalised picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PixelBox {
    /// From the left edge.
    pub left_px: u32,
    /// From the upper edge.
    pub top_px: u32,
    /// At least 1.
    pub width_px: u32,
    /// At least 1.
    pub height_px: u32,
}

/// Where a finding is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingPlace {
    /// The whole text or picture.
    Whole,
    /// A part of a text.
    Text {
        /// In UTF-8 bytes.
        bytes: Range<usize>,
        /// In code points.
        chars: Range<usize>,
    },
    /// A part of a picture. A turned line of text has the rectangle around it.
    Picture(PixelBox),
}

/// What a detector found. It holds no content: not the text found, not the pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Who found it.
    pub detector: DetectorIdentity,
    /// What it is.
    pub kind: FindingKind,
    /// The finer kind in the detector's common terms: an entity such as `EMAIL_ADDRESS`, a category such as `sexual`, `face`.
    pub category: String,
    /// From 0 to 1.
    pub score: f64,
    /// The score from which the detector calls it found; findings below are kept for later judgement and decide nothing.
    pub threshold: f64,
    /// Where.
    pub place: FindingPlace,
}

impl Finding {
    /// Whether the score reaches the threshold.
    pub fn counts(&self) -> bool {
        self.score >= self.threshold
    }
}

/// Why a detector gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DetectorFailureKind {
    /// It is required and not there: weights or configuration are missing.
    NotInstalled,
    /// No answer in time.
    TimedOut,
    /// No connection, or it broke.
    Unreachable,
    /// The service is overloaded or over quota.
    RateLimited,
    /// The service refuses the credentials.
    BadCredentials,
    /// The service refuses this content: its size, type or language.
    Unsupported,
    /// The answer is not what the protocol says.
    Malformed,
    /// Something else went wrong inside the detector.
    Internal,
}

impl DetectorFailureKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::NotInstalled,
        Self::TimedOut,
        Self::Unreachable,
        Self::RateLimited,
        Self::BadCredentials,
        Self::Unsupported,
        Self::Malformed,
        Self::Internal,
    ];

    /// The spelling in API, database, metrics and findings files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotInstalled => "not_installed",
            Self::TimedOut => "timed_out",
            Self::Unreachable => "unreachable",
            Self::RateLimited => "rate_limited",
            Self::BadCredentials => "bad_credentials",
            Self::Unsupported => "unsupported",
            Self::Malformed => "malformed",
            Self::Internal => "internal",
        }
    }

    /// Whether asking again later may help without anybody changing anything.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::TimedOut | Self::Unreachable | Self::RateLimited)
    }
}

/// A detector that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectorFailure {
    /// Which one.
    pub detector: DetectorIdentity,
    /// What it should have looked for.
    pub screens_for: Vec<FindingKind>,
    /// Why.
    pub kind: DetectorFailureKind,
    /// What the operator should know, without content, keys or addresses of voters.
    pub detail: String,
}

/// What all detectors said of one text or picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screening {
    /// Who answered, and for what: these kinds are covered.
    pub answered: Vec<(DetectorIdentity, Vec<FindingKind>)>,
    /// What they found, those below their thresholds too.
    pub findings: Vec<Finding>,
    /// Who gave no answer.
    pub failures: Vec<DetectorFailure>,
}

impl Screening {
    /// Whether some detector answered for this kind.
    pub fn covers(&self, kind: FindingKind) -> bool {
        self.answered.iter().any(|(_, kinds)| kinds.contains(&kind))
    }

    /// Adds what one detector said.
    pub fn add(
        &mut self,
        detector: &DetectorIdentity,
        screens_for: &[FindingKind],
        answer: Result<Vec<Finding>, DetectorFailure>,
    ) {
        match answer {
            Ok(findings) => {
                self.answered.push((detector.clone(), screens_for.to_vec()));
                self.findings.extend(findings);
            }
            Err(failure) => self.failures.push(failure),
        }
    }

    /// Adds everything of another one.
    pub fn merge(&mut self, other: Self) {
        self.answered.extend(other.answered);
        self.findings.extend(other.findings);
        self.failures.extend(other.failures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_back_from_its_spelling() {
        for kind in FindingKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("nsfw".parse::<FindingKind>().is_err());
    }

    #[test]
    fn a_failure_covers_nothing() {
        let detector = DetectorIdentity::new("open-nsfw", "1");
        let mut screening = Screening::default();
        screening.add(
            &detector,
            &[FindingKind::NsfwImage],
            Err(DetectorFailure {
                detector: detector.clone(),
                screens_for: vec![FindingKind::NsfwImage],
                kind: DetectorFailureKind::TimedOut,
                detail: String::new(),
            }),
        );
        assert!(!screening.covers(FindingKind::NsfwImage));
        screening.add(&detector, &[FindingKind::NsfwImage], Ok(Vec::new()));
        assert!(screening.covers(FindingKind::NsfwImage));
    }
}
