//! Azure AI Content Safety: `image:analyze` and `text:analyze`, four categories by severity.

use agon_domain::{FindingKind, FindingPlace};
use serde::Deserialize;
use serde_json::json;

use super::{
    Found, Languages, Picture, PictureLimits, ServiceLimits, ServiceOptions, Thresholds,
    exchange::{Caller, Credential, Trouble, from_json, to_base64},
    place::pieces,
    score::score_of_severity,
    unknown_category,
};
use crate::{Client, Error};

/// How the service names a category, what it is called here, and what it is in a picture.
const CATEGORIES: [(&str, &str, FindingKind); 4] = [
    ("Hate", "hate", FindingKind::ViolentImage),
    ("SelfHarm", "self-harm", FindingKind::ViolentImage),
    ("Sexual", "sexual", FindingKind::NsfwImage),
    ("Violence", "violence", FindingKind::ViolentImage),
];

/// Characters of one text in a request.
const PIECE_CHARS_MAX: usize = 10_000;
/// How far neighbouring pieces of a long text overlap, in characters.
const OVERLAP_CHARS: usize = 500;

pub(super) const LIMITS: ServiceLimits = ServiceLimits {
    picture: Some(PictureLimits {
        side_px_min: 50,
        side_px_max: 2_048,
        bytes_max: 4 * 1024 * 1024,
        media_types: &[
            "image/jpeg",
            "image/png",
            "image/gif",
            "image/bmp",
            "image/tiff",
            "image/webp",
        ],
    }),
    text_chars_max: Some(10 * PIECE_CHARS_MAX),
};

/// How Azure AI Content Safety is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentSafetyOptions {
    /// Endpoint, key and limits.
    pub service: ServiceOptions,
    /// Version of the interface, such as `2024-09-01`.
    pub api_version: String,
    /// From which score `hate`, `self-harm`, `sexual` and `violence` count.
    pub thresholds: Thresholds,
    /// Languages of texts that it is tuned for; others are refused as unsupported.
    pub languages: Languages,
}

impl ContentSafetyOptions {
    /// The newest settled version; severity 4 and more counts; the eight languages that the vendor names.
    pub fn new(service: ServiceOptions) -> Self {
        Self {
            service,
            api_version: "2024-09-01".to_owned(),
            thresholds: Thresholds::all(0.67),
            languages: Languages::new(&["de", "en", "es", "fr", "it", "ja", "pt", "zh"]),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ContentSafety {
    caller: Caller,
    api_version: String,
    thresholds: Thresholds,
    languages: Languages,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    categories_analysis: Vec<Analysis>,
}

#[derive(Deserialize)]
struct Analysis {
    category: String,
    severity: u64,
}

impl ContentSafety {
    pub(super) fn new(client: &Client, options: ContentSafetyOptions) -> Result<Self, Error> {
        options
            .thresholds
            .check(&CATEGORIES.map(|(_, category, _)| category))?;
        Ok(Self {
            caller: Caller::new(
                client,
                &options.service,
                Credential::Header("ocp-apim-subscription-key"),
            )?,
            api_version: options.api_version,
            thresholds: options.thresholds,
            languages: options.languages,
        })
    }

    pub(super) async fn screen_picture(
        &self,
        picture: &Picture,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let body = json!({
            "image": {"content": to_base64(&picture.bytes)},
            "categories": CATEGORIES.map(|(name, ..)| name),
            "outputType": "FourSeverityLevels",
        });
        self.ask("image:analyze", &body, true, &FindingPlace::Whole, seed)
            .await
    }

    pub(super) async fn screen_text(
        &self,
        text: &str,
        language: Option<&str>,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        self.languages.choose(language)?;
        let mut found = Vec::new();
        for piece in pieces(text, PIECE_CHARS_MAX, OVERLAP_CHARS) {
            let body = json!({
                "text": &text[piece.bytes.clone()],
                "categories": CATEGORIES.map(|(name, ..)| name),
                "outputType": "FourSeverityLevels",
            });
            let place = piece.place(text);
            found.extend(self.ask("text:analyze", &body, false, &place, seed).await?);
        }
        Ok(found)
    }

    async fn ask(
        &self,
        verb: &str,
        body: &serde_json::Value,
        is_picture: bool,
        place: &FindingPlace,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let url = self.caller.url(
            &format!("contentsafety/{verb}"),
            &[("api-version", &self.api_version)],
        );
        let body = body.to_string();
        self.caller
            .ask(
                url,
                "application/json",
                body,
                |answer| self.read(answer, is_picture, place),
                seed,
            )
            .await
    }

    fn read(
        &self,
        answer: &[u8],
        is_picture: bool,
        place: &FindingPlace,
    ) -> Result<Vec<Found>, Trouble> {
        let answer: Answer = from_json(answer)?;
        let mut found = Vec::with_capacity(CATEGORIES.len());
        for (name, category, kind) in CATEGORIES {
            let mut of_name = answer
                .categories_analysis
                .iter()
                .filter(|analysis| analysis.category == name);
            let (Some(analysis), None) = (of_name.next(), of_name.next()) else {
                return Err(Trouble::malformed(format!(
                    "the answer does not hold the category `{name}` once"
                )));
            };
            // Pictures have the even severities only.
            if is_picture && analysis.severity % 2 == 1 {
                return Err(Trouble::malformed("a severity of a picture is odd"));
            }
            let score = score_of_severity(analysis.severity)
                .ok_or_else(|| Trouble::malformed("a severity is not from 0 to 7"))?;
            found.push(Found {
                kind: if is_picture {
                    kind
                } else {
                    FindingKind::HarmfulText
                },
                category: category.to_owned(),
                score,
                threshold: self.thresholds.of(category),
                place: place.clone(),
            });
        }
        if answer.categories_analysis.len() != CATEGORIES.len() {
            return Err(unknown_category());
        }
        Ok(found)
    }
}
