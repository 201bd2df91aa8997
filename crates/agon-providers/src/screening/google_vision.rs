//! Google Vision: SafeSearch and faces, in one request.
//!
//! An error can sit inside an answer with HTTP 200, a zero coordinate is left out of the JSON, and boxes may reach beyond the picture.

use agon_domain::{FindingKind, FindingPlace};
use serde::Deserialize;
use serde_json::json;

use super::{
    Found, Picture, PictureLimits, ServiceLimits, ServiceOptions, Thresholds, checked_score,
    exchange::{Caller, Credential, Trouble, from_json, known_code, to_base64},
    failed_inside,
    place::clipped,
    score::score_of_likelihood,
};
use crate::{Client, Error, ErrorKind};

/// The most faces asked for.
const FACES_MAX: usize = 100;

/// The most pixels of a side that boxes can be counted in.
const SIDE_PX_MAX: u32 = 16_000;

pub(super) const LIMITS: ServiceLimits = ServiceLimits {
    picture: Some(PictureLimits {
        side_px_min: 1,
        side_px_max: SIDE_PX_MAX,
        // A request may have 10 MB, in Base64.
        bytes_max: 7 * 1024 * 1024,
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

/// What kind of secret a Google service is asked with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GoogleCredential {
    /// An API key, sent as `x-goog-api-key` and never in the address.
    #[default]
    ApiKey,
    /// An access token of a service account.
    AccessToken,
}

impl GoogleCredential {
    pub(super) const fn credential(self) -> Credential<'static> {
        match self {
            Self::ApiKey => Credential::Header("x-goog-api-key"),
            Self::AccessToken => Credential::Bearer,
        }
    }
}

/// How Google Vision is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct GoogleVisionOptions {
    /// Endpoint (usually `https://vision.googleapis.com`), key and limits.
    pub service: ServiceOptions,
    /// What the key is.
    pub credential: GoogleCredential,
    /// Whether to ask for SafeSearch.
    pub safe_search: bool,
    /// Whether to ask for faces.
    pub faces: bool,
    /// From which score `adult`, `racy`, `violence` and `face` count.
    pub thresholds: Thresholds,
}

impl GoogleVisionOptions {
    /// SafeSearch from `LIKELY`, racy pictures from `VERY_LIKELY`, and faces from 0.5.
    pub fn new(service: ServiceOptions) -> Self {
        Self {
            service,
            credential: GoogleCredential::default(),
            safe_search: true,
            faces: true,
            thresholds: Thresholds::all(0.8).with("racy", 0.95).with("face", 0.5),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct GoogleVision {
    caller: Caller,
    safe_search: bool,
    faces: bool,
    thresholds: Thresholds,
}

#[derive(Deserialize)]
struct Answer {
    responses: Vec<Response>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    error: Option<InsideError>,
    safe_search_annotation: Option<SafeSearch>,
    /// Left out when there is no face.
    #[serde(default)]
    face_annotations: Vec<Face>,
}

#[derive(Deserialize)]
struct InsideError {
    #[serde(default)]
    status: Option<String>,
}

/// `medical` and `spoof` are of no kind that is screened for.
#[derive(Deserialize)]
struct SafeSearch {
    adult: String,
    racy: String,
    violence: String,
}

/// Boxes only: what the service says of a face's mood is not read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Face {
    bounding_poly: Polygon,
    detection_confidence: f64,
}

#[derive(Deserialize)]
struct Polygon {
    vertices: Vec<Vertex>,
}

#[derive(Clone, Copy, Deserialize)]
struct Vertex {
    #[serde(default)]
    x: i64,
    #[serde(default)]
    y: i64,
}

impl GoogleVision {
    pub(super) fn new(client: &Client, options: GoogleVisionOptions) -> Result<Self, Error> {
        options
            .thresholds
            .check(&["adult", "racy", "violence", "face"])?;
        if !options.safe_search && !options.faces {
            return Err(Error::new(
                ErrorKind::Configuration,
                "the service is asked for nothing: expected `safe_search`, `faces` or both",
            ));
        }
        Ok(Self {
            caller: Caller::new(client, &options.service, options.credential.credential())?,
            safe_search: options.safe_search,
            faces: options.faces,
            thresholds: options.thresholds,
        })
    }

    pub(super) async fn screen_picture(
        &self,
        picture: &Picture,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let mut features = Vec::new();
        if self.safe_search {
            features.push(json!({"type": "SAFE_SEARCH_DETECTION"}));
        }
        if self.faces {
            features.push(json!({"type": "FACE_DETECTION", "maxResults": FACES_MAX}));
        }
        let body = json!({"requests": [{
            "image": {"content": to_base64(&picture.bytes)},
            "features": features,
        }]})
        .to_string();
        let url = self.caller.url("v1/images:annotate", &[]);
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
        let [response] = answer.responses.as_slice() else {
            return Err(Trouble::malformed(format!(
                "the answer has {} responses: expected 1",
                answer.responses.len()
            )));
        };
        if let Some(error) = &response.error {
            return Err(failed_inside(error.status.as_deref().and_then(known_code)));
        }
        let mut found = Vec::new();
        if self.safe_search {
            let safe_search = response
                .safe_search_annotation
                .as_ref()
                .ok_or_else(|| Trouble::malformed("the answer holds no `safeSearchAnnotation`"))?;
            for (category, word, kind) in [
                ("adult", &safe_search.adult, FindingKind::NsfwImage),
                ("racy", &safe_search.racy, FindingKind::NsfwImage),
                ("violence", &safe_search.violence, FindingKind::ViolentImage),
            ] {
                let score = score_of_likelihood(word).ok_or_else(|| {
                    Trouble::malformed(format!("the likelihood of `{category}` is not known"))
                })?;
                found.push(Found {
                    kind,
                    category: category.to_owned(),
                    score,
                    threshold: self.thresholds.of(category),
                    place: FindingPlace::Whole,
                });
            }
        }
        if self.faces {
            for face in &response.face_annotations {
                found.push(self.face(face, sides_px)?);
            }
        }
        Ok(found)
    }

    fn face(&self, face: &Face, sides_px: (u32, u32)) -> Result<Found, Trouble> {
        let vertices = &face.bounding_poly.vertices;
        let xs = || vertices.iter().map(|vertex| vertex.x);
        let ys = || vertices.iter().map(|vertex| vertex.y);
        let (Some(left), Some(right), Some(top), Some(bottom)) =
            (xs().min(), xs().max(), ys().min(), ys().max())
        else {
            return Err(Trouble::malformed("a face has no corners"));
        };
        Ok(Found {
            kind: FindingKind::Face,
            category: "face".to_owned(),
            score: checked_score(face.detection_confidence)?,
            threshold: self.thresholds.of("face"),
            place: FindingPlace::Picture(clipped((left, top), (right, bottom), sides_px)?),
        })
    }
}
