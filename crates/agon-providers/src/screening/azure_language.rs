//! Azure Language: personal data in text (`PiiEntityRecognition`).
//!
//! A document can have failed inside an answer with HTTP 200; every place is held against the text that was sent.

use agon_domain::{FindingKind, FindingPlace};
use serde::Deserialize;
use serde_json::json;

use super::{
    Found, Languages, ServiceLimits, ServiceOptions, Thresholds, checked_score,
    exchange::{Caller, Credential, Trouble, from_json, known_code},
    failed_inside,
    place::{Piece, pieces},
};
use crate::{Client, Error, ErrorKind};

/// Code points of one document; the vendor's limit of 5,120 text elements is never fewer.
const PIECE_CHARS_MAX: usize = 5_000;
/// How far neighbouring documents of a long text overlap, in code points: more than any entity is long.
const OVERLAP_CHARS: usize = 200;
/// Documents of one request.
const PIECES_MAX: usize = 5;

pub(super) const LIMITS: ServiceLimits = ServiceLimits {
    picture: None,
    text_chars_max: Some(100_000),
};

/// How Azure Language is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct AzureLanguageOptions {
    /// Endpoint, key and limits.
    pub service: ServiceOptions,
    /// Version of the interface, such as `2023-04-01`.
    pub api_version: String,
    /// Version of the model. A dated one keeps findings comparable; `latest` moves.
    pub model_version: String,
    /// What is looked for, in the vendor's words; empty for the vendor's default.
    pub pii_categories: Vec<String>,
    /// Whether to look for health data (`phi`) beside.
    pub is_health: bool,
    /// From which confidence each category counts.
    pub thresholds: Thresholds,
    /// The languages it is asked about; others are refused as unsupported.
    pub languages: Languages,
}

impl AzureLanguageOptions {
    /// The settled version, its default categories, from a confidence of 0.5, in languages that the vendor names.
    pub fn new(service: ServiceOptions) -> Self {
        Self {
            service,
            api_version: "2023-04-01".to_owned(),
            model_version: "latest".to_owned(),
            pii_categories: Vec::new(),
            is_health: false,
            thresholds: Thresholds::all(0.5),
            languages: Languages::new(&[
                "de", "en", "es", "fr", "it", "ja", "ko", "pt-BR", "pt-PT", "zh-hans",
            ]),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct AzureLanguage {
    caller: Caller,
    options: AzureLanguageOptions,
}

#[derive(Deserialize)]
struct Answer {
    kind: String,
    results: Results,
}

#[derive(Deserialize)]
struct Results {
    documents: Vec<Document>,
    #[serde(default)]
    errors: Vec<DocumentError>,
}

#[derive(Deserialize)]
struct DocumentError {
    error: InsideError,
}

#[derive(Deserialize)]
struct InsideError {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    innererror: Option<InnerError>,
}

#[derive(Deserialize)]
struct InnerError {
    #[serde(default)]
    code: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    id: String,
    entities: Vec<Entity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entity {
    text: String,
    category: String,
    offset: usize,
    length: usize,
    confidence_score: f64,
}

impl AzureLanguage {
    pub(super) fn new(client: &Client, options: AzureLanguageOptions) -> Result<Self, Error> {
        options.thresholds.check_values()?;
        let is_name = |name: &String| is_category(name);
        if !options.pii_categories.iter().all(is_name) {
            return Err(Error::new(
                ErrorKind::Configuration,
                "a category is not one: expected letters and digits, such as `Email`",
            ));
        }
        Ok(Self {
            caller: Caller::new(
                client,
                &options.service,
                Credential::Header("ocp-apim-subscription-key"),
            )?,
            options,
        })
    }

    pub(super) async fn screen_text(
        &self,
        text: &str,
        language: Option<&str>,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let language = self.options.languages.choose(language)?;
        let url = self.caller.url(
            "language/:analyze-text",
            &[("api-version", &self.options.api_version)],
        );
        let mut found: Vec<Found> = Vec::new();
        for pieces in pieces(text, PIECE_CHARS_MAX, OVERLAP_CHARS).chunks(PIECES_MAX) {
            let body = self.body(text, pieces, language);
            let of_pieces = self
                .caller
                .ask(
                    url.clone(),
                    "application/json",
                    body,
                    |answer| self.read(answer, text, pieces),
                    seed,
                )
                .await?;
            // What lies in an overlap is found twice.
            for one in of_pieces {
                if !found
                    .iter()
                    .any(|other| other.place == one.place && other.category == one.category)
                {
                    found.push(one);
                }
            }
        }
        Ok(found)
    }

    fn body(&self, text: &str, pieces: &[Piece], language: &str) -> String {
        let documents: Vec<_> = pieces
            .iter()
            .enumerate()
            .map(|(n, piece)| {
                json!({"id": n.to_string(), "language": language, "text": &text[piece.bytes.clone()]})
            })
            .collect();
        let mut parameters = json!({
            "modelVersion": self.options.model_version,
            "domain": if self.options.is_health { "phi" } else { "none" },
            "stringIndexType": "UnicodeCodePoint",
            // The vendor must not keep the text either.
            "loggingOptOut": true,
        });
        if !self.options.pii_categories.is_empty() {
            parameters["piiCategories"] = json!(self.options.pii_categories);
        }
        json!({
            "kind": "PiiEntityRecognition",
            "parameters": parameters,
            "analysisInput": {"documents": documents},
        })
        .to_string()
    }

    fn read(&self, answer: &[u8], text: &str, pieces: &[Piece]) -> Result<Vec<Found>, Trouble> {
        let answer: Answer = from_json(answer)?;
        if answer.kind != "PiiEntityRecognitionResults" {
            return Err(Trouble::malformed("the answer is of another kind"));
        }
        if let Some(failed) = answer.results.errors.first() {
            let inner = failed.error.innererror.as_ref();
            let code = inner
                .and_then(|inner| inner.code.as_deref())
                .and_then(known_code)
                .or_else(|| failed.error.code.as_deref().and_then(known_code));
            return Err(failed_inside(code));
        }
        if answer.results.documents.len() != pieces.len() {
            return Err(Trouble::malformed(format!(
                "the answer has {} documents of {}",
                answer.results.documents.len(),
                pieces.len()
            )));
        }
        let mut found = Vec::new();
        for (n, piece) in pieces.iter().enumerate() {
            let document = answer
                .results
                .documents
                .iter()
                .find(|document| document.id == n.to_string())
                .ok_or_else(|| Trouble::malformed("a document has no answer"))?;
            for entity in &document.entities {
                found.push(self.found(entity, text, piece)?);
            }
        }
        Ok(found)
    }

    fn found(&self, entity: &Entity, text: &str, piece: &Piece) -> Result<Found, Trouble> {
        let end = entity.offset.saturating_add(entity.length);
        let place = piece.part(text, entity.offset..end)?;
        if let FindingPlace::Text { bytes, .. } = &place
            && text[bytes.clone()] != entity.text
        {
            return Err(Trouble::malformed(
                "a place in the answer does not hold what was found there",
            ));
        }
        if !is_category(&entity.category) {
            return Err(super::unknown_category());
        }
        Ok(Found {
            kind: FindingKind::PiiText,
            category: entity.category.clone(),
            score: checked_score(entity.confidence_score)?,
            threshold: self.options.thresholds.of(&entity.category),
            place,
        })
    }
}

/// Whether a text may stand as a category: a word, so that an answer cannot put content there.
fn is_category(name: &str) -> bool {
    (1..=60).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
