//! Google Sensitive Data Protection, `image:redact`: personal data in pictures, with boxes.
//!
//! The redacted picture of the answer is not used: the redaction is Agon's own, so that it can be verified.

use agon_domain::{FindingKind, FindingPlace};
use serde::Deserialize;
use serde_json::json;

use super::{
    Found, GoogleCredential, Picture, PictureLimits, ServiceLimits, ServiceOptions, Thresholds,
    exchange::{Caller, Trouble, from_json, to_base64},
    place::clipped,
    score::score_of_likelihood,
};
use crate::{Client, Error, ErrorKind};

/// Bytes of a picture: half a megabyte of data a request, in the vendor's words, and 4 MB of picture.
const PICTURE_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(super) const LIMITS: ServiceLimits = ServiceLimits {
    picture: Some(PictureLimits {
        side_px_min: 1,
        side_px_max: 16_000,
        bytes_max: PICTURE_BYTES_MAX,
        // SVG is answered without any redaction, and so is not in this list.
        media_types: &["image/jpeg", "image/png", "image/bmp"],
    }),
    text_chars_max: None,
};

/// How Google's image redaction is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct GoogleRedactOptions {
    /// Endpoint (usually `https://dlp.googleapis.com`), access token and limits.
    pub service: ServiceOptions,
    /// What the key is.
    pub credential: GoogleCredential,
    /// The project that is billed.
    pub project: String,
    /// What is looked for, in the vendor's words, such as `EMAIL_ADDRESS`.
    pub info_types: Vec<String>,
    /// From which score each of `info_types` counts.
    pub thresholds: Thresholds,
}

impl GoogleRedactOptions {
    /// Common personal data, from `POSSIBLE`, with room for a picture in the answer.
    pub fn new(mut service: ServiceOptions, project: impl Into<String>) -> Self {
        service.limits.answer_bytes_max = 32 * 1024 * 1024;
        Self {
            service,
            credential: GoogleCredential::AccessToken,
            project: project.into(),
            info_types: [
                "CREDIT_CARD_NUMBER",
                "DATE_OF_BIRTH",
                "EMAIL_ADDRESS",
                "IBAN_CODE",
                "IP_ADDRESS",
                "PASSPORT",
                "PERSON_NAME",
                "PHONE_NUMBER",
                "STREET_ADDRESS",
            ]
            .map(ToOwned::to_owned)
            .to_vec(),
            thresholds: Thresholds::all(0.5),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct GoogleRedact {
    caller: Caller,
    project: String,
    info_types: Vec<String>,
    thresholds: Thresholds,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    inspect_result: InspectResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InspectResult {
    /// Left out when there are none.
    #[serde(default)]
    findings: Vec<WireFinding>,
    #[serde(default)]
    findings_truncated: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFinding {
    info_type: InfoType,
    likelihood: String,
    location: Location,
}

#[derive(Deserialize)]
struct InfoType {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(default)]
    content_locations: Vec<ContentLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentLocation {
    image_location: Option<ImageLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageLocation {
    #[serde(default)]
    bounding_boxes: Vec<WireBox>,
}

/// A zero is left out of the JSON.
#[derive(Deserialize)]
struct WireBox {
    #[serde(default)]
    top: u32,
    #[serde(default)]
    left: u32,
    #[serde(default)]
    width: u32,
    #[serde(default)]
    height: u32,
}

impl GoogleRedact {
    pub(super) fn new(client: &Client, options: GoogleRedactOptions) -> Result<Self, Error> {
        let refuse = |message: &str| Err(Error::new(ErrorKind::Configuration, message));
        let is_name = |text: &str, also: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || also.contains(c))
        };
        if !is_name(&options.project, "-:.") {
            return refuse("the project is not one: expected a name such as `my-project`");
        }
        if options.info_types.is_empty()
            || !options.info_types.iter().all(|name| is_name(name, "_"))
        {
            return refuse(
                "the info types are not usable: expected at least one such as `EMAIL_ADDRESS`",
            );
        }
        let names: Vec<&str> = options.info_types.iter().map(String::as_str).collect();
        options.thresholds.check(&names)?;
        Ok(Self {
            caller: Caller::new(client, &options.service, options.credential.credential())?,
            project: options.project,
            info_types: options.info_types,
            thresholds: options.thresholds,
        })
    }

    pub(super) async fn screen_picture(
        &self,
        picture: &Picture,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let kind = match picture.media_type.as_str() {
            "image/png" => "IMAGE_PNG",
            "image/bmp" => "IMAGE_BMP",
            _ => "IMAGE_JPEG",
        };
        let names: Vec<_> = self
            .info_types
            .iter()
            .map(|name| json!({"name": name}))
            .collect();
        let redactions: Vec<_> = names.iter().map(|name| json!({"infoType": name})).collect();
        let body = json!({
            // The thresholds judge; the service is asked for everything that it sees.
            "inspectConfig": {"infoTypes": names, "minLikelihood": "VERY_UNLIKELY", "includeQuote": false},
            "imageRedactionConfigs": redactions,
            "includeFindings": true,
            "byteItem": {"type": kind, "data": to_base64(&picture.bytes)},
        })
        .to_string();
        let url = self
            .caller
            .url(&format!("v2/projects/{}/image:redact", self.project), &[]);
        self.caller
            .ask(
                url,
                "application/json",
                body,
                |answer| self.read(answer, (picture.width_px, picture.height_px)),
                seed,
            )
            .await
    }

    fn read(&self, answer: &[u8], sides_px: (u32, u32)) -> Result<Vec<Found>, Trouble> {
        let answer: Answer = from_json(answer)?;
        if answer.inspect_result.findings_truncated {
            return Err(Trouble::malformed(
                "the answer holds only a part of the findings",
            ));
        }
        let mut found = Vec::new();
        for finding in &answer.inspect_result.findings {
            let category = self
                .info_types
                .iter()
                .find(|name| **name == finding.info_type.name)
                .ok_or_else(super::unknown_category)?;
            let score = score_of_likelihood(&finding.likelihood)
                .ok_or_else(|| Trouble::malformed("the likelihood of a finding is not known"))?;
            let boxes: Vec<&WireBox> = finding
                .location
                .content_locations
                .iter()
                .filter_map(|location| location.image_location.as_ref())
                .flat_map(|location| &location.bounding_boxes)
                .collect();
            if boxes.is_empty() {
                return Err(Trouble::malformed("a finding has no place"));
            }
            for at in boxes {
                let corner = (i64::from(at.left), i64::from(at.top));
                let far = (
                    corner.0 + i64::from(at.width),
                    corner.1 + i64::from(at.height),
                );
                found.push(Found {
                    kind: FindingKind::PiiImage,
                    category: category.clone(),
                    score,
                    threshold: self.thresholds.of(category),
                    place: FindingPlace::Picture(clipped(corner, far, sides_px)?),
                });
            }
        }
        Ok(found)
    }
}
