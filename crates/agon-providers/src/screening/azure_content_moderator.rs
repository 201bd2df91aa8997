//! Azure Content Moderator: `ProcessImage/Evaluate`, adult and racy pictures. The vendor has given it up for Content Safety; the seed arena used it.

use agon_domain::{FindingKind, FindingPlace};
use serde::Deserialize;

use super::{
    Found, Picture, PictureLimits, ServiceLimits, ServiceOptions, Thresholds, checked_score,
    exchange::{Caller, Credential, Trouble, from_json},
    photo_dna::Status,
};
use crate::{Client, Error};

pub(super) const LIMITS: ServiceLimits = ServiceLimits {
    picture: Some(PictureLimits {
        side_px_min: 128,
        side_px_max: u32::MAX,
        bytes_max: 4 * 1024 * 1024,
        media_types: &[
            "image/gif",
            "image/jpeg",
            "image/png",
            "image/bmp",
            "image/tiff",
        ],
    }),
    text_chars_max: None,
};

/// How Azure Content Moderator is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentModeratorOptions {
    /// Endpoint, key and limits.
    pub service: ServiceOptions,
    /// From which score `adult` and `racy` count.
    pub thresholds: Thresholds,
    /// Whether a category that the service itself calls found counts whatever its score.
    pub trusts_flags: bool,
}

impl ContentModeratorOptions {
    /// What the seed arena did: the service's own verdict on adult pictures decides, racy ones are kept and decide nothing.
    pub fn new(service: ServiceOptions) -> Self {
        Self {
            service,
            thresholds: Thresholds::all(Thresholds::NEVER),
            trusts_flags: true,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ContentModerator {
    caller: Caller,
    thresholds: Thresholds,
    trusts_flags: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    adult_classification_score: f64,
    is_image_adult_classified: bool,
    racy_classification_score: f64,
    is_image_racy_classified: bool,
    status: Status,
}

impl ContentModerator {
    pub(super) fn new(client: &Client, options: ContentModeratorOptions) -> Result<Self, Error> {
        options.thresholds.check(&["adult", "racy"])?;
        Ok(Self {
            caller: Caller::new(
                client,
                &options.service,
                Credential::Header("ocp-apim-subscription-key"),
            )?,
            thresholds: options.thresholds,
            trusts_flags: options.trusts_flags,
        })
    }

    pub(super) async fn screen_picture(
        &self,
        picture: &Picture,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let url = self.caller.url(
            "contentmoderator/moderate/v1.0/ProcessImage/Evaluate",
            &[("CacheImage", "false")],
        );
        self.caller
            .ask(
                url,
                &picture.media_type,
                picture.bytes.clone(),
                |answer| self.read(answer),
                seed,
            )
            .await
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<Found>, Trouble> {
        let answer: Answer = from_json(answer)?;
        answer.status.check()?;
        [
            (
                "adult",
                answer.adult_classification_score,
                answer.is_image_adult_classified,
                // Racy pictures are flagged far more often; only the verdict on adult ones decides by itself.
                self.trusts_flags,
            ),
            (
                "racy",
                answer.racy_classification_score,
                answer.is_image_racy_classified,
                false,
            ),
        ]
        .into_iter()
        .map(|(category, score, is_flagged, trusts_flag)| {
            let score = checked_score(score)?;
            let threshold = self.thresholds.of(category);
            Ok(Found {
                kind: FindingKind::NsfwImage,
                category: category.to_owned(),
                score,
                // The service's own threshold is not told; its verdict says that it is no higher than the score.
                threshold: if is_flagged && trusts_flag {
                    threshold.min(score)
                } else {
                    threshold
                },
                place: FindingPlace::Whole,
            })
        })
        .collect()
    }
}
