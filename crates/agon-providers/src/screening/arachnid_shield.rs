//! Arachnid Shield of the Canadian Centre for Child Protection: known abuse images, by the picture.

use agon_domain::{FindingKind, FindingPlace};
use serde::Deserialize;

use super::{
    Found, Picture, PictureLimits, ServiceLimits, ServiceOptions,
    exchange::{Caller, Credential, Trouble, from_json},
    unknown_category,
};
use crate::{Client, Error};

pub(super) const LIMITS: ServiceLimits = ServiceLimits {
    picture: Some(PictureLimits {
        side_px_min: 1,
        side_px_max: u32::MAX,
        bytes_max: 64 * 1024 * 1024,
        media_types: &[
            "image/jpeg",
            "image/png",
            "image/gif",
            "image/bmp",
            "image/tiff",
            "image/webp",
        ],
    }),
    text_chars_max: None,
};

/// How Arachnid Shield is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ArachnidShieldOptions {
    /// Endpoint (usually `https://shield.projectarachnid.com`), password and limits. The vendor asks for 60 s.
    pub service: ServiceOptions,
    /// The user name.
    pub user: String,
}

impl ArachnidShieldOptions {
    /// An account at the service, with the time that the vendor asks for.
    pub fn new(mut service: ServiceOptions, user: impl Into<String>) -> Self {
        service.limits.timeout_ms = 60_000;
        Self {
            service,
            user: user.into(),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ArachnidShield {
    caller: Caller,
}

#[derive(Deserialize)]
struct Answer {
    classification: String,
    match_type: Option<String>,
    size_bytes: Option<u64>,
}

impl ArachnidShield {
    pub(super) fn new(client: &Client, options: ArachnidShieldOptions) -> Result<Self, Error> {
        Ok(Self {
            caller: Caller::new(client, &options.service, Credential::Basic(&options.user))?,
        })
    }

    pub(super) async fn screen_picture(
        &self,
        picture: &Picture,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let url = self.caller.url("v1/media/", &[]);
        self.caller
            .ask(
                url,
                &picture.media_type,
                picture.bytes.clone(),
                |answer| read(answer, picture.bytes.len()),
                seed,
            )
            .await
    }
}

fn read(answer: &[u8], n_bytes: usize) -> Result<Vec<Found>, Trouble> {
    let answer: Answer = from_json(answer)?;
    if answer
        .size_bytes
        .is_some_and(|size| usize::try_from(size) != Ok(n_bytes))
    {
        return Err(Trouble::malformed("the answer is about another picture"));
    }
    let category = match (answer.classification.as_str(), answer.match_type.as_deref()) {
        ("no-known-match", None) => return Ok(Vec::new()),
        (known @ ("csam" | "harmful-abusive-material"), Some("exact" | "near")) => known,
        ("no-known-match" | "csam" | "harmful-abusive-material", _) => {
            return Err(Trouble::malformed(
                "the classification and the type of match contradict each other",
            ));
        }
        _ => return Err(unknown_category()),
    };
    Ok(vec![Found {
        kind: FindingKind::KnownImage,
        category: category.to_owned(),
        score: 1.0,
        threshold: 1.0,
        place: FindingPlace::Whole,
    }])
}
