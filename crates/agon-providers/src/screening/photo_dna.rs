//! `PhotoDNA`: known abuse images, by the picture (`Match`) or by an edge hash made elsewhere (`MatchHash`).

use std::fmt;

use agon_domain::{DetectorFailureKind, FindingKind, FindingPlace};
use serde::Deserialize;
use serde_json::json;

use super::{
    Found, Picture, PictureLimits, ServiceLimits, ServiceOptions,
    exchange::{Caller, Credential, Trouble, from_json, to_base64},
};
use crate::{Client, Error};

/// The most hashes in one request.
const HASHES_MAX: usize = 5;

/// The only code under which there is a verdict.
const CODE_JUDGED: u32 = 3000;

pub(super) const LIMITS: ServiceLimits = ServiceLimits {
    picture: Some(PictureLimits {
        side_px_min: 160,
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

/// How `PhotoDNA` is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct PhotoDnaOptions {
    /// Endpoint, key and limits. The endpoint ends before `/Match`.
    pub service: ServiceOptions,
}

impl PhotoDnaOptions {
    /// The vendor's address up to its version.
    pub const ENDPOINT: &'static str = "https://api.microsoftmoderator.com/photodna/v1.0";

    /// The service at this endpoint, usually [`Self::ENDPOINT`].
    pub const fn new(service: ServiceOptions) -> Self {
        Self { service }
    }
}

/// An edge hash in the form `PreHashV2`, as the vendor's library makes it.
#[derive(Clone, PartialEq, Eq)]
pub struct EdgeHash(pub Vec<u8>);

impl fmt::Debug for EdgeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EdgeHash({} bytes)", self.0.len())
    }
}

#[derive(Clone, Debug)]
pub(super) struct PhotoDna {
    caller: Caller,
}

/// The status inside an answer. HTTP 200 alone says nothing.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Status {
    code: u32,
}

impl Status {
    /// Whether the service has judged at all.
    pub(super) fn check(&self) -> Result<(), Trouble> {
        let trouble = |kind, detail: &str| {
            Trouble::new(
                kind,
                format!(
                    "the service gave no verdict: code `{}`, {detail}",
                    self.code
                ),
            )
        };
        Err(match self.code {
            CODE_JUDGED => return Ok(()),
            3002 => trouble(DetectorFailureKind::Unsupported, "a bad parameter"),
            3004 => trouble(DetectorFailureKind::Unreachable, "an unknown fault").passing(),
            3206 => trouble(DetectorFailureKind::Unsupported, "not a picture to it"),
            3208 => trouble(
                DetectorFailureKind::Unsupported,
                "the picture's size is out of its range",
            ),
            _ => trouble(DetectorFailureKind::Malformed, "which is not known"),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Judged {
    status: Status,
    is_match: bool,
    #[serde(default)]
    match_details: Option<MatchDetails>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MatchDetails {
    #[serde(default)]
    match_flags: Option<Vec<MatchFlag>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MatchFlag {
    source: String,
    #[serde(default)]
    violations: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HashAnswer {
    match_results: Vec<Judged>,
}

impl PhotoDna {
    pub(super) fn new(client: &Client, options: PhotoDnaOptions) -> Result<Self, Error> {
        Ok(Self {
            caller: Caller::new(
                client,
                &options.service,
                Credential::Header("ocp-apim-subscription-key"),
            )?,
        })
    }

    pub(super) async fn screen_picture(
        &self,
        picture: &Picture,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let url = self.caller.url("Match", &[("enhance", "false")]);
        self.caller
            .ask(
                url,
                &picture.media_type,
                picture.bytes.clone(),
                |answer| read(&from_json(answer)?),
                seed,
            )
            .await
    }

    pub(super) async fn match_hashes(
        &self,
        hashes: &[EdgeHash],
        seed: u64,
    ) -> Result<Vec<Vec<Found>>, Trouble> {
        let url = self.caller.url("MatchHash", &[]);
        let mut answers = Vec::with_capacity(hashes.len());
        for hashes in hashes.chunks(HASHES_MAX) {
            let body: Vec<_> = hashes
                .iter()
                .map(|hash| json!({"DataRepresentation": "PreHashV2", "Value": to_base64(&hash.0)}))
                .collect();
            let body = serde_json::Value::from(body).to_string();
            let found: Vec<Vec<Found>> = self
                .caller
                .ask(
                    url.clone(),
                    "application/json",
                    body,
                    |answer| {
                        let answer: HashAnswer = from_json(answer)?;
                        if answer.match_results.len() != hashes.len() {
                            return Err(Trouble::malformed(format!(
                                "the answer has {} results for {} hashes",
                                answer.match_results.len(),
                                hashes.len()
                            )));
                        }
                        answer.match_results.iter().map(read).collect()
                    },
                    seed,
                )
                .await?;
            answers.extend(found);
        }
        Ok(answers)
    }
}

/// One finding for each violation that a match is listed under.
fn read(judged: &Judged) -> Result<Vec<Found>, Trouble> {
    judged.status.check()?;
    let flags = judged
        .match_details
        .as_ref()
        .and_then(|details| details.match_flags.as_deref())
        .unwrap_or_default();
    if !judged.is_match {
        return if flags.is_empty() {
            Ok(Vec::new())
        } else {
            Err(Trouble::malformed(
                "the answer says that nothing matched and lists matches",
            ))
        };
    }
    let is_test = |flag: &MatchFlag| flag.source.eq_ignore_ascii_case("test");
    if !flags.is_empty() && flags.iter().all(is_test) {
        // A failure and no finding, so that nothing can make a report of it.
        tracing::error!("PhotoDNA matched one of the vendor's own test pictures");
        return Err(Trouble::new(
            DetectorFailureKind::Internal,
            "alarm: the picture is one of the vendor's own test pictures; either somebody tests this arena, or its key is for tests only. It is not to be reported",
        ));
    }
    let mut categories: Vec<&str> = flags
        .iter()
        .filter(|flag| !is_test(flag))
        .flat_map(|flag| flag.violations.as_deref().unwrap_or_default())
        .map(|violation| match violation.as_str() {
            known @ ("A1" | "A2" | "B1" | "B2") => known,
            _ => "unclassified",
        })
        .collect();
    if categories.is_empty() {
        categories.push("unclassified");
    }
    categories.sort_unstable();
    categories.dedup();
    Ok(categories
        .into_iter()
        .map(|category| Found {
            kind: FindingKind::KnownImage,
            category: category.to_owned(),
            score: 1.0,
            threshold: 1.0,
            place: FindingPlace::Whole,
        })
        .collect())
}
