//! Tests of screening services against doubles on real sockets, which speak each protocol with its traps and refuse what the real service would.

mod contract;
mod cybertip;
mod moderation;
mod pictures;
mod texts;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::{
    ApiKey, ClientOptions, OpenAi, OpenAiOptions, Provider,
    openai::tests::double::{Act, Double, answer},
};

/// The key that no error may hold.
const KEY: &str = "0123456789abcdefkey";
/// The text that no error may hold.
const TEXT: &str = "Margaret writes from margaret@example.org about a diagnosis.";

fn picture() -> Picture {
    Picture {
        media_type: "image/png".to_owned(),
        bytes: Bytes::from_static(b"\x89PNG secret pixels"),
        width_px: 640,
        height_px: 480,
    }
}

/// One client for each test, as reading the machine's certificates takes a while.
fn client() -> Client {
    thread_local! {
        static CLIENT: Client = Client::new(&ClientOptions::default()).unwrap();
    }
    CLIENT.with(Clone::clone)
}

fn service(double: &Double, path: &str) -> ServiceOptions {
    ServiceOptions {
        endpoint: format!("http://{}{path}", double.address),
        key: Some(ApiKey::new(KEY)),
        limits: CallLimits {
            timeout_ms: 2_000,
            retry_pause_ms: 1,
            answer_bytes_max: 64 * 1024,
            ..CallLimits::default()
        },
    }
}

/// A service under test: how it is built, what it asks, and an answer that is one.
#[derive(Clone, Copy)]
struct Subject {
    name: &'static str,
    is_picture: bool,
    build: fn(ServiceOptions) -> ScreeningService,
    /// Below which path of the double it lies.
    path: &'static str,
    /// The request line that the double expects.
    line: &'static str,
    /// The header that must hold the key.
    key: &'static str,
    content_type: &'static str,
    good: fn() -> Value,
}

const AZURE_KEY: &str = "ocp-apim-subscription-key: 0123456789abcdefkey";
const BEARER_KEY: &str = "authorization: bearer 0123456789abcdefkey";

const SUBJECTS: [Subject; 11] = [
    Subject {
        name: "content safety, picture",
        is_picture: true,
        build: |service| {
            ScreeningService::azure_content_safety(&client(), ContentSafetyOptions::new(service))
                .unwrap()
        },
        path: "/",
        line: "post /contentsafety/image:analyze?api-version=2024-09-01 ",
        key: AZURE_KEY,
        content_type: "application/json",
        good: content_safety_answer,
    },
    Subject {
        name: "content safety, text",
        is_picture: false,
        build: |service| {
            ScreeningService::azure_content_safety(&client(), ContentSafetyOptions::new(service))
                .unwrap()
        },
        path: "",
        line: "post /contentsafety/text:analyze?api-version=2024-09-01 ",
        key: AZURE_KEY,
        content_type: "application/json",
        good: content_safety_answer,
    },
    Subject {
        name: "content moderator",
        is_picture: true,
        build: |service| {
            ScreeningService::azure_content_moderator(
                &client(),
                ContentModeratorOptions::new(service),
            )
            .unwrap()
        },
        path: "",
        line: "post /contentmoderator/moderate/v1.0/processimage/evaluate?cacheimage=false ",
        key: AZURE_KEY,
        content_type: "image/png",
        good: moderator_answer,
    },
    Subject {
        name: "google vision",
        is_picture: true,
        build: |service| {
            ScreeningService::google_vision(&client(), GoogleVisionOptions::new(service)).unwrap()
        },
        path: "",
        line: "post /v1/images:annotate ",
        key: "x-goog-api-key: 0123456789abcdefkey",
        content_type: "application/json",
        good: vision_answer,
    },
    Subject {
        name: "openai, picture",
        is_picture: true,
        build: |service| {
            ScreeningService::openai_moderation(&client(), OpenAiModerationOptions::new(service))
                .unwrap()
        },
        path: "/v1",
        line: "post /v1/moderations ",
        key: BEARER_KEY,
        content_type: "application/json",
        good: openai_answer,
    },
    Subject {
        name: "openai, text",
        is_picture: false,
        build: |service| {
            ScreeningService::openai_moderation(&client(), OpenAiModerationOptions::new(service))
                .unwrap()
        },
        path: "/v1",
        line: "post /v1/moderations ",
        key: BEARER_KEY,
        content_type: "application/json",
        good: openai_answer,
    },
    Subject {
        name: "photo dna",
        is_picture: true,
        build: |service| {
            ScreeningService::photo_dna(&client(), PhotoDnaOptions::new(service)).unwrap()
        },
        path: "/photodna/v1.0",
        line: "post /photodna/v1.0/match?enhance=false ",
        key: AZURE_KEY,
        content_type: "image/png",
        good: photo_dna_answer,
    },
    Subject {
        name: "arachnid shield",
        is_picture: true,
        build: |service| {
            let timeout_ms = service.limits.timeout_ms;
            let mut options = ArachnidShieldOptions::new(service, "arena");
            options.service.limits.timeout_ms = timeout_ms;
            ScreeningService::arachnid_shield(&client(), options).unwrap()
        },
        path: "",
        line: "post /v1/media/ ",
        // arena:0123456789abcdefkey
        key: "authorization: basic yxjlbme6mdeymzq1njc4owfiy2rlzmtleq==",
        content_type: "image/png",
        good: || json!({"classification": "no-known-match", "match_type": null, "near_match_details": [], "size_bytes": 18}),
    },
    Subject {
        name: "azure language",
        is_picture: false,
        build: |service| {
            ScreeningService::azure_language(&client(), AzureLanguageOptions::new(service)).unwrap()
        },
        path: "",
        line: "post /language/:analyze-text?api-version=2023-04-01 ",
        key: AZURE_KEY,
        content_type: "application/json",
        good: language_answer,
    },
    Subject {
        name: "presidio",
        is_picture: false,
        build: |service| {
            ScreeningService::presidio(&client(), PresidioOptions::new(service, "2.2.363")).unwrap()
        },
        path: "",
        line: "post /analyze ",
        key: BEARER_KEY,
        content_type: "application/json",
        good: || json!([{"entity_type": "EMAIL_ADDRESS", "start": 21, "end": 41, "score": 1.0, "analysis_explanation": null}]),
    },
    Subject {
        name: "google redact",
        is_picture: true,
        build: |service| {
            let bytes_max = service.limits.answer_bytes_max;
            let mut options = GoogleRedactOptions::new(service, "my-project");
            options.service.limits.answer_bytes_max = bytes_max;
            ScreeningService::google_redact(&client(), options).unwrap()
        },
        path: "",
        line: "post /v2/projects/my-project/image:redact ",
        key: BEARER_KEY,
        content_type: "application/json",
        good: redact_answer,
    },
];

impl Subject {
    fn named(name: &str) -> Self {
        SUBJECTS
            .into_iter()
            .find(|subject| subject.name == name)
            .unwrap()
    }

    /// Whether the real service would take this request; else its refusal.
    fn refusal(&self, head: &str) -> Option<Vec<Act>> {
        let head = head.to_lowercase();
        let has = |line: &str| head.lines().any(|other| other.starts_with(line));
        if !head.starts_with(self.line) {
            return Some(answer("404 Not Found", "", "no such path"));
        }
        if !has(self.key) {
            return Some(answer("401 Unauthorized", "", ""));
        }
        if !has(&format!("content-type: {}", self.content_type)) {
            let body = r#"{"error":{"code":"InvalidRequest","message":"wrong type"}}"#;
            return Some(answer("415 Unsupported Media Type", "", body));
        }
        None
    }

    /// A double that does `play` for requests that the real service would take.
    async fn double(self, play: impl Fn(usize) -> Vec<Act> + Send + Sync + 'static) -> Double {
        Double::answering(move |n, head, _| self.refusal(head).unwrap_or_else(|| play(n))).await
    }

    fn service(&self, double: &Double) -> ScreeningService {
        (self.build)(service(double, self.path))
    }

    async fn screen(&self, service: &ScreeningService) -> Result<Vec<Finding>, DetectorFailure> {
        if self.is_picture {
            service.screen_picture(&picture(), 7).await
        } else {
            service.screen_text(TEXT, Some("en"), 7).await
        }
    }

    /// What the service makes of one answer with HTTP 200, and how often it asked.
    async fn reads(self, body: Value) -> (Result<Vec<Finding>, DetectorFailure>, usize) {
        let double = self
            .double(move |_| {
                answer(
                    "200 OK",
                    "content-type: application/json\r\n",
                    &body.to_string(),
                )
            })
            .await;
        let service = self.service(&double);
        let read = self.screen(&service).await;
        (read, double.request_times().len())
    }

    /// The same answer with one change.
    async fn reads_changed(
        self,
        change: impl FnOnce(&mut Value),
    ) -> Result<Vec<Finding>, DetectorFailure> {
        let mut body = (self.good)();
        change(&mut body);
        self.reads(body).await.0
    }
}

/// Findings in one line each.
fn shown(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| {
            let place = match &finding.place {
                agon_domain::FindingPlace::Whole => String::new(),
                agon_domain::FindingPlace::Text { bytes, chars } => {
                    format!(" bytes {bytes:?} chars {chars:?}")
                }
                agon_domain::FindingPlace::Picture(at) => format!(
                    " at {},{} of {}×{}",
                    at.left_px, at.top_px, at.width_px, at.height_px
                ),
            };
            format!(
                "{} {} {} {}{place}",
                finding.kind,
                finding.category,
                finding.score,
                if finding.counts() { "counts" } else { "kept" }
            )
        })
        .collect()
}

fn content_safety_answer() -> Value {
    json!({"categoriesAnalysis": [
        {"category": "Hate", "severity": 0},
        {"category": "SelfHarm", "severity": 2},
        {"category": "Sexual", "severity": 4},
        {"category": "Violence", "severity": 6},
    ]})
}

fn moderator_answer() -> Value {
    json!({
        "CacheID": "x", "Result": true, "TrackingId": "t",
        "AdultClassificationScore": 0.4, "IsImageAdultClassified": true,
        "RacyClassificationScore": 0.9, "IsImageRacyClassified": true,
        "AdvancedInfo": [{"Key": "ImageSizeInBytes", "Value": "18"}],
        "Status": {"Code": 3000, "Description": "OK", "Exception": null},
    })
}

fn vision_answer() -> Value {
    json!({"responses": [{
        "safeSearchAnnotation": {"adult": "VERY_LIKELY", "spoof": "UNKNOWN", "medical": "UNKNOWN", "violence": "UNLIKELY", "racy": "LIKELY"},
        "faceAnnotations": [{
            // The left upper corner is at zero, which is left out.
            "boundingPoly": {"vertices": [{}, {"x": 90}, {"x": 90, "y": 120}, {"y": 120}]},
            "fdBoundingPoly": {"vertices": []}, "landmarks": [], "detectionConfidence": 0.75, "joyLikelihood": "VERY_LIKELY",
        }, {
            "boundingPoly": {"vertices": [{"x": 600, "y": -5}, {"x": 700, "y": -5}, {"x": 700, "y": 50}, {"x": 600, "y": 50}]},
            "detectionConfidence": 0.25,
        }],
    }]})
}

fn openai_answer() -> Value {
    let mut categories = serde_json::Map::new();
    let mut scores = serde_json::Map::new();
    let mut types = serde_json::Map::new();
    for (category, is_for_pictures) in [
        ("harassment", false),
        ("harassment/threatening", false),
        ("hate", false),
        ("hate/threatening", false),
        ("illicit", false),
        ("illicit/violent", false),
        ("self-harm", true),
        ("self-harm/instructions", true),
        ("self-harm/intent", true),
        ("sexual", true),
        ("sexual/minors", false),
        ("violence", true),
        ("violence/graphic", true),
    ] {
        categories.insert(category.into(), json!(false));
        scores.insert(category.into(), json!(0.01));
        // The double answers for a text beside the picture here; the trap is tested by itself.
        let applied = if is_for_pictures {
            json!(["text", "image"])
        } else {
            json!(["text"])
        };
        types.insert(category.into(), applied);
    }
    json!({"id": "modr-1", "model": "omni-moderation-2024-09-26", "results": [{
        "flagged": false, "categories": categories, "category_scores": scores, "category_applied_input_types": types,
    }]})
}

fn photo_dna_answer() -> Value {
    json!({
        "Status": {"Code": 3000, "Description": "OK", "Exception": null},
        "TrackingId": "t", "ContentId": null, "IsMatch": false,
        "MatchDetails": {"AdvancedInfo": [], "MatchFlags": []},
        "EvaluateResponse": null, "XPartnerCustomerId": null,
    })
}

fn language_answer() -> Value {
    json!({"kind": "PiiEntityRecognitionResults", "results": {
        "documents": [{"id": "0", "redactedText": "…", "warnings": [], "entities": [
            {"text": "Margaret", "category": "Person", "offset": 0, "length": 8, "confidenceScore": 0.9},
            {"text": "margaret@example.org", "category": "Email", "offset": 21, "length": 20, "confidenceScore": 0.8},
        ]}],
        "errors": [], "modelVersion": "2025-02-01",
    }})
}

fn redact_answer() -> Value {
    json!({"redactedImage": "aGk=", "inspectResult": {"findings": [{
        "infoType": {"name": "EMAIL_ADDRESS"}, "likelihood": "LIKELY",
        // Zeros are left out here too.
        "location": {"contentLocations": [{"imageLocation": {"boundingBoxes": [{"width": 100, "height": 20}, {"left": 5, "top": 30, "width": 10, "height": 10}]}}]},
    }]}})
}
