//! `OpenAI` moderation: thirteen categories of text, six of which are looked for in pictures too.
//!
//! A category whose `category_applied_input_types` does not name the input was not looked for in it: its score is no answer.

use std::collections::BTreeMap;

use agon_domain::{FindingKind, FindingPlace};
use serde::Deserialize;
use serde_json::json;

use super::{
    Found, Picture, PictureLimits, ServiceLimits, ServiceOptions, Thresholds, checked_score,
    exchange::{Caller, Credential, Trouble, from_json, to_base64},
    unknown_category,
};
use crate::{Client, Error, ErrorKind};

/// The categories, and what those are that are looked for in pictures.
const CATEGORIES: [(&str, Option<FindingKind>); 13] = [
    ("harassment", None),
    ("harassment/threatening", None),
    ("hate", None),
    ("hate/threatening", None),
    ("illicit", None),
    ("illicit/violent", None),
    ("self-harm", Some(FindingKind::ViolentImage)),
    ("self-harm/instructions", Some(FindingKind::ViolentImage)),
    ("self-harm/intent", Some(FindingKind::ViolentImage)),
    ("sexual", Some(FindingKind::NsfwImage)),
    ("sexual/minors", None),
    ("violence", Some(FindingKind::ViolentImage)),
    ("violence/graphic", Some(FindingKind::ViolentImage)),
];

const PICTURE_LIMITS: PictureLimits = PictureLimits {
    side_px_min: 1,
    side_px_max: u32::MAX,
    bytes_max: 20 * 1024 * 1024,
    media_types: &["image/jpeg", "image/png", "image/gif", "image/webp"],
};

const TEXT_CHARS_MAX: usize = 100_000;

/// How the moderation of `OpenAI`, or a service that speaks the same, is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAiModerationOptions {
    /// Endpoint (usually `https://api.openai.com/v1`), key and limits.
    pub service: ServiceOptions,
    /// The model. A dated name such as `omni-moderation-2024-09-26` keeps verdicts comparable; `-latest` moves.
    pub model: String,
    /// Whether the model looks at pictures.
    pub sees_pictures: bool,
    /// From which score each category counts.
    pub thresholds: Thresholds,
    /// Whether a category that the service itself calls found counts whatever its score.
    pub trusts_flags: bool,
}

impl OpenAiModerationOptions {
    /// The multimodal model, each category from 0.5 or where the service flags it.
    pub fn new(service: ServiceOptions) -> Self {
        Self {
            service,
            model: "omni-moderation-latest".to_owned(),
            sees_pictures: true,
            thresholds: Thresholds::all(0.5),
            trusts_flags: true,
        }
    }

    /// What FastChat blocks on; see [`Thresholds::fastchat`].
    #[must_use]
    pub fn fastchat(mut self, has_claude: bool) -> Self {
        self.thresholds = Thresholds::fastchat(has_claude);
        self.trusts_flags = true;
        self
    }
}

#[derive(Clone, Debug)]
pub(super) struct OpenAiModeration {
    caller: Caller,
    model: String,
    sees_pictures: bool,
    thresholds: Thresholds,
    trusts_flags: bool,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Judged>,
}

#[derive(Deserialize)]
struct Judged {
    flagged: bool,
    categories: BTreeMap<String, Option<bool>>,
    category_scores: BTreeMap<String, Option<f64>>,
    /// Older models, which read text only, do not send it.
    #[serde(default)]
    category_applied_input_types: Option<BTreeMap<String, Vec<String>>>,
}

impl OpenAiModeration {
    pub(super) fn new(client: &Client, options: OpenAiModerationOptions) -> Result<Self, Error> {
        options
            .thresholds
            .check(&CATEGORIES.map(|(category, _)| category))?;
        if options.model.trim().is_empty() {
            return Err(Error::new(
                ErrorKind::Configuration,
                "the model's name is empty: expected one such as `omni-moderation-latest`",
            ));
        }
        Ok(Self {
            caller: Caller::new(client, &options.service, Credential::OptionalBearer)?,
            model: options.model,
            sees_pictures: options.sees_pictures,
            thresholds: options.thresholds,
            trusts_flags: options.trusts_flags,
        })
    }

    pub(super) fn service_limits(&self) -> ServiceLimits {
        ServiceLimits {
            picture: self.sees_pictures.then_some(PICTURE_LIMITS),
            text_chars_max: Some(TEXT_CHARS_MAX),
        }
    }

    pub(super) async fn screen_picture(
        &self,
        picture: &Picture,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let url = format!(
            "data:{};base64,{}",
            picture.media_type,
            to_base64(&picture.bytes)
        );
        let input = json!([{"type": "image_url", "image_url": {"url": url}}]);
        self.ask(&input, true, seed).await
    }

    pub(super) async fn screen_text(&self, text: &str, seed: u64) -> Result<Vec<Found>, Trouble> {
        self.ask(&json!(text), false, seed).await
    }

    async fn ask(
        &self,
        input: &serde_json::Value,
        is_picture: bool,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let url = self.caller.url("moderations", &[]);
        let body = json!({"model": self.model, "input": input}).to_string();
        self.caller
            .ask(
                url,
                "application/json",
                body,
                |answer| self.read(answer, is_picture),
                seed,
            )
            .await
    }

    fn read(&self, answer: &[u8], is_picture: bool) -> Result<Vec<Found>, Trouble> {
        let answer: Answer = from_json(answer)?;
        let [judged] = answer.results.as_slice() else {
            return Err(Trouble::malformed(format!(
                "the answer has {} results: expected 1",
                answer.results.len()
            )));
        };
        let is_known = |name: &String| CATEGORIES.iter().any(|(category, _)| category == name);
        if !judged.category_scores.keys().all(is_known) || !judged.categories.keys().all(is_known) {
            return Err(unknown_category());
        }
        let input_type = if is_picture { "image" } else { "text" };
        let mut found = Vec::new();
        let mut is_any_flagged = false;
        for (category, kind) in CATEGORIES {
            let is_flagged = judged.categories.get(category).copied().flatten();
            is_any_flagged |= is_flagged == Some(true);
            let kind = if is_picture {
                kind
            } else {
                Some(FindingKind::HarmfulText)
            };
            let Some(kind) = kind else { continue };
            // Older text models have eleven categories and send `null` or nothing for the others.
            let is_younger = category.starts_with("illicit");
            let (Some(score), Some(is_flagged)) = (
                judged.category_scores.get(category).copied().flatten(),
                is_flagged,
            ) else {
                if is_younger && !is_picture && !self.model.starts_with("omni") {
                    continue;
                }
                return Err(Trouble::malformed(format!(
                    "the answer holds no score or no verdict for `{category}`"
                )));
            };
            let is_applied = match &judged.category_applied_input_types {
                Some(types) => types
                    .get(category)
                    .is_some_and(|types| types.iter().any(|name| name == input_type)),
                None => !is_picture,
            };
            if !is_applied {
                return Err(Trouble::malformed(format!(
                    "`{category}` was not looked for in the {input_type}: its score is no answer"
                )));
            }
            let score = checked_score(score)?;
            let threshold = self.thresholds.of(category);
            found.push(Found {
                kind,
                category: category.to_owned(),
                score,
                // The service's own threshold is not told; its verdict says that it is no higher than the score.
                threshold: if is_flagged && self.trusts_flags {
                    threshold.min(score)
                } else {
                    threshold
                },
                place: FindingPlace::Whole,
            });
        }
        if judged.flagged && !is_any_flagged {
            return Err(Trouble::malformed(
                "the answer is flagged without a category",
            ));
        }
        Ok(found)
    }
}
