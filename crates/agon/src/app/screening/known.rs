//! The lists of known abuse images as a detector.

use agon_content::known_image::{
    Finding as KnownFinding, Fingerprints, HashList, KnownHash, KnownImages, MatchKind,
    PerceptualCheck,
};
use agon_domain::{
    DetectorFailure, DetectorFailureKind, DetectorIdentity, Finding, FindingKind, FindingPlace,
};
use sha2::{Digest as _, Sha256};

use crate::app::screening::Answer;

/// Hash lists, ready to be searched, under one name and version.
#[derive(Debug)]
pub struct KnownImageLists {
    images: KnownImages,
    identity: DetectorIdentity,
    compares_looks: bool,
}

impl KnownImageLists {
    /// Makes lists searchable. Takes seconds for a million entries.
    pub fn new(lists: Vec<HashList>) -> Self {
        let mut digest = Sha256::new();
        for list in &lists {
            digest.update(format!("{:?} {:?}", list.name, list.version));
            for entry in &list.entries {
                digest.update(format!("{:?} {:?}", entry.hash, entry.standing));
            }
        }
        let compares_looks = lists
            .iter()
            .flat_map(|list| &list.entries)
            .any(|entry| matches!(entry.hash, KnownHash::Pdq(_)));
        let version: String = digest.finalize()[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            images: KnownImages::new(lists),
            identity: DetectorIdentity::new("known-images", version),
            compares_looks,
        }
    }

    /// `known-images`, with a version that changes with any entry of any list.
    pub const fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    /// How many entries there are, in all lists.
    pub fn n_entries(&self) -> usize {
        self.images
            .lists()
            .iter()
            .map(|list| list.entries.len())
            .sum()
    }

    /// All matches at a time, in seconds since 1970.
    pub fn find(&self, picture: &Fingerprints, now_s: i64) -> KnownFinding {
        self.images.find(picture, now_s)
    }

    /// The same as a detector's answer. The findings name neither list nor line: those are evidence.
    ///
    /// A picture with too little structure is not cleared by lists of looks, unless `allows_structureless`.
    pub fn answer(&self, picture: &Fingerprints, now_s: i64, allows_structureless: bool) -> Answer {
        let found = self.find(picture, now_s);
        let is_unsure = matches!(found.perceptual, PerceptualCheck::QualityTooLow { .. })
            && self.compares_looks
            && !allows_structureless;
        if !found.is_known() && is_unsure {
            return Err(DetectorFailure {
                detector: self.identity.clone(),
                screens_for: vec![FindingKind::KnownImage],
                kind: DetectorFailureKind::Unsupported,
                detail: "the picture has too little structure to be compared by its looks"
                    .to_owned(),
            });
        }
        Ok(found
            .matches
            .iter()
            .map(|found| Finding {
                detector: self.identity.clone(),
                kind: FindingKind::KnownImage,
                category: match found.kind {
                    MatchKind::Md5 => "md5",
                    MatchKind::Sha256 => "sha256",
                    MatchKind::Pdq { .. } => "pdq",
                }
                .to_owned(),
                score: 1.0,
                threshold: 1.0,
                place: FindingPlace::Whole,
            })
            .collect())
    }
}
