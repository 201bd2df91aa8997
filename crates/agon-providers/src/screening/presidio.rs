//! A Presidio analyzer: personal data in text (`POST /analyze`).

use agon_domain::FindingKind;
use serde::Deserialize;
use serde_json::json;

use super::{
    Found, Languages, ServiceLimits, ServiceOptions, Thresholds, checked_score,
    exchange::{Caller, Credential, Trouble, from_json},
    place::pieces,
};
use crate::{Client, Error, ErrorKind};

/// How a Presidio analyzer is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct PresidioOptions {
    /// Endpoint, a token when one stands in front of the analyzer, and limits.
    pub service: ServiceOptions,
    /// What runs there, such as `2.2.363`; it becomes the version in findings, as the analyzer does not tell.
    pub version: String,
    /// Entities to look for; empty for all that the analyzer knows.
    pub entities: Vec<String>,
    /// From which score each entity counts.
    pub thresholds: Thresholds,
    /// Languages for which the analyzer has a model; others are refused as unsupported.
    pub languages: Languages,
    /// Characters of a text that it is given.
    pub text_chars_max: usize,
}

impl PresidioOptions {
    /// English, all entities, from a score of 0.4, texts of up to 100,000 characters.
    pub fn new(service: ServiceOptions, version: impl Into<String>) -> Self {
        Self {
            service,
            version: version.into(),
            entities: Vec::new(),
            thresholds: Thresholds::all(0.4),
            languages: Languages::new(&["en"]),
            text_chars_max: 100_000,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Presidio {
    caller: Caller,
    options: PresidioOptions,
}

#[derive(Deserialize)]
struct Entity {
    entity_type: String,
    start: usize,
    end: usize,
    score: f64,
}

impl Presidio {
    pub(super) fn new(client: &Client, options: PresidioOptions) -> Result<Self, Error> {
        options.thresholds.check_values()?;
        if !options.entities.iter().all(|name| is_entity(name)) {
            return Err(Error::new(
                ErrorKind::Configuration,
                "an entity is not one: expected capitals, digits and `_`, such as `EMAIL_ADDRESS`",
            ));
        }
        Ok(Self {
            caller: Caller::new(client, &options.service, Credential::OptionalBearer)?,
            options,
        })
    }

    pub(super) const fn service_limits(&self) -> ServiceLimits {
        ServiceLimits {
            picture: None,
            text_chars_max: Some(self.options.text_chars_max),
        }
    }

    pub(super) async fn screen_text(
        &self,
        text: &str,
        language: Option<&str>,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let language = self.options.languages.choose(language)?;
        let mut body = json!({"text": text, "language": language});
        if !self.options.entities.is_empty() {
            body["entities"] = json!(self.options.entities);
        }
        let body = body.to_string();
        let url = self.caller.url("analyze", &[]);
        self.caller
            .ask(
                url,
                "application/json",
                body,
                |answer| self.read(answer, text),
                seed,
            )
            .await
    }

    fn read(&self, answer: &[u8], text: &str) -> Result<Vec<Found>, Trouble> {
        let entities: Vec<Entity> = from_json(answer)?;
        let chars_max = self.options.text_chars_max.max(1);
        let whole = pieces(text, chars_max, 0).swap_remove(0);
        entities
            .iter()
            .map(|entity| {
                if !is_entity(&entity.entity_type) {
                    return Err(super::unknown_category());
                }
                Ok(Found {
                    kind: FindingKind::PiiText,
                    category: entity.entity_type.clone(),
                    score: checked_score(entity.score)?,
                    threshold: self.options.thresholds.of(&entity.entity_type),
                    place: whole.part(text, entity.start..entity.end)?,
                })
            })
            .collect()
    }
}

/// Whether a text may stand as an entity: a word, so that an answer cannot put content there.
fn is_entity(name: &str) -> bool {
    (1..=60).contains(&name.len())
        && name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
