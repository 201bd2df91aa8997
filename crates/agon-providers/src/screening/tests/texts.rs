//! Personal data in texts: places, long texts, languages, and errors inside a success.

use super::*;
use crate::screening::place::{clipped, pieces};

#[tokio::test]
async fn places_are_in_bytes_and_code_points() {
    for (name, expected) in [
        (
            "azure language",
            &[
                "pii_text Person 0.9 counts bytes 0..8 chars 0..8",
                "pii_text Email 0.8 counts bytes 21..41 chars 21..41",
            ][..],
        ),
        (
            "presidio",
            &["pii_text EMAIL_ADDRESS 1 counts bytes 21..41 chars 21..41"],
        ),
    ] {
        let findings = Subject::named(name).reads_changed(|_| {}).await.unwrap();
        assert_eq!(shown(&findings), expected);
    }
    let body = json!([{"entity_type": "PERSON", "start": 2, "end": 5, "score": 0.3}]);
    let double = Double::start(vec![answer("200 OK", "", &body.to_string())]).await;
    let service = Subject::named("presidio").service(&double);
    let findings = service
        .screen_text("é😀Zoë", Some("en-US"), 7)
        .await
        .unwrap();
    assert_eq!(
        shown(&findings),
        ["pii_text PERSON 0.3 kept bytes 6..10 chars 2..5"]
    );
    assert_eq!(
        double.requests()[0].1,
        json!({"text": "é😀Zoë", "language": "en"})
    );
}

#[tokio::test]
async fn a_document_that_failed_inside_a_success_is_a_failure() {
    let subject = Subject::named("azure language");
    let failure = subject
        .reads_changed(|body| {
            body["results"]["documents"] = json!([]);
            body["results"]["errors"] = json!([{"id": "0", "error": {"code": "InvalidArgument", "message": TEXT, "innererror": {"code": "UnsupportedLanguageCode", "message": TEXT}}}]);
        })
        .await
        .unwrap_err();
    assert_eq!(failure.kind, DetectorFailureKind::Unsupported);
    assert_eq!(
        failure.detail,
        "the service could not judge it: code `UnsupportedLanguageCode`"
    );
    for change in [
        // No error and no document either.
        |body: &mut Value| body["results"]["documents"] = json!([]),
        |body: &mut Value| body["results"]["documents"][0]["id"] = json!("1"),
        |body: &mut Value| body["kind"] = json!("SentimentAnalysisResults"),
        // Counted in another unit than code points.
        |body: &mut Value| body["results"]["documents"][0]["entities"][1]["offset"] = json!(22),
        |body: &mut Value| body["results"]["documents"][0]["entities"][1]["length"] = json!(2000),
        |body: &mut Value| body["results"]["documents"][0]["entities"][1]["length"] = json!(0),
        |body: &mut Value| {
            body["results"]["documents"][0]["entities"][1]["offset"] = json!(u64::MAX);
        },
        |body: &mut Value| body["results"]["documents"][0]["entities"][1]["category"] = json!(TEXT),
        |body: &mut Value| {
            body["results"]["documents"][0]["entities"][1]["confidenceScore"] = json!(2);
        },
    ] {
        let failure = subject.reads_changed(change).await.unwrap_err();
        assert_eq!(failure.kind, DetectorFailureKind::Malformed);
    }
}

#[tokio::test]
async fn presidio_places_outside_the_text_are_no_answer() {
    let subject = Subject::named("presidio");
    for (start, end) in [(0, 1000), (5, 5), (9, 3)] {
        let failure = subject
            .reads_changed(|body| {
                body[0]["start"] = json!(start);
                body[0]["end"] = json!(end);
            })
            .await
            .unwrap_err();
        assert_eq!(failure.kind, DetectorFailureKind::Malformed);
    }
    subject
        .reads_changed(|body| body[0]["entity_type"] = json!("margaret@example.org"))
        .await
        .unwrap_err();
    assert_eq!(subject.reads(json!([])).await.0.unwrap(), []);
}

#[tokio::test]
async fn a_language_that_a_service_does_not_read_is_not_screened() {
    for subject in SUBJECTS.into_iter().filter(|subject| {
        ["content safety, text", "azure language", "presidio"].contains(&subject.name)
    }) {
        let double = subject.double(|_| Vec::new()).await;
        let service = subject.service(&double);
        for language in [Some("xh"), None] {
            let failure = service.screen_text(TEXT, language, 7).await.unwrap_err();
            assert_eq!(
                failure.kind,
                DetectorFailureKind::Unsupported,
                "{}",
                subject.name
            );
        }
        assert_eq!(double.request_times().len(), 0);
    }
    let languages = Languages::new(&["en", "pt-BR"]).when_unknown("en");
    assert_eq!(languages.choose(None).unwrap(), "en");
    assert_eq!(languages.choose(Some("EN_us")).unwrap(), "en");
    assert_eq!(languages.choose(Some("pt-br")).unwrap(), "pt-BR");
    languages.choose(Some("pt-PT")).unwrap_err();
}

#[tokio::test]
async fn a_long_text_is_sent_in_documents_that_overlap() {
    // Answers each document with every number that is in it.
    let double = Double::answering(|_, _, body| {
        let body: Value = serde_json::from_slice(body).unwrap();
        let documents: Vec<Value> = body["analysisInput"]["documents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|document| {
                let text: Vec<char> = document["text"].as_str().unwrap().chars().collect();
                assert!(text.len() <= 5_000);
                let entities: Vec<Value> = text
                    .windows(4)
                    .enumerate()
                    .filter(|(_, window)| *window == ['4', '2', '4', '2'])
                    .map(|(at, _)| json!({"text": "4242", "category": "PhoneNumber", "offset": at, "length": 4, "confidenceScore": 0.8}))
                    .collect();
                json!({"id": document["id"], "entities": entities})
            })
            .collect();
        assert!(documents.len() <= 5);
        let results = json!({"documents": documents, "errors": [], "modelVersion": "x"});
        answer("200 OK", "", &json!({"kind": "PiiEntityRecognitionResults", "results": results}).to_string())
    })
    .await;
    let service = Subject::named("azure language").service(&double);
    let mut text: Vec<char> = vec!['é'; 30_000];
    // On the border of two documents, in an overlap, and in the second request.
    for at in [4_998, 4_900, 27_000] {
        text.splice(at..at + 4, "4242".chars());
    }
    let text: String = text.into_iter().collect();
    let findings = service.screen_text(&text, Some("de"), 7).await.unwrap();
    let mut places = shown(&findings);
    places.sort();
    assert_eq!(
        places,
        [
            "pii_text PhoneNumber 0.8 counts bytes 53984..53988 chars 26992..26996".replace(
                "53984..53988 chars 26992..26996",
                &format!("{}..{} chars 27000..27004", 27_000 * 2 - 8, 27_000 * 2 - 4)
            ),
            format!(
                "pii_text PhoneNumber 0.8 counts bytes {}..{} chars 4900..4904",
                4_900 * 2,
                4_900 * 2 + 4
            ),
            format!(
                "pii_text PhoneNumber 0.8 counts bytes {}..{} chars 4998..5002",
                4_998 * 2 - 4,
                4_998 * 2
            ),
        ]
    );
    assert_eq!(double.request_times().len(), 2);
}

#[test]
fn pieces_cover_a_text_and_overlap() {
    let text = "äbcdéfghij";
    let shown: Vec<&str> = pieces(text, 4, 1)
        .into_iter()
        .map(|piece| &text[piece.bytes])
        .collect();
    assert_eq!(shown, ["äbcd", "défg", "ghij"]);
    assert_eq!(pieces("", 4, 1).len(), 1);
    assert_eq!(pieces("abcd", 4, 1).len(), 1);
}

#[test]
fn boxes_are_clipped_to_the_picture() {
    let at = clipped((-5, -5), (10, 10), (8, 8)).unwrap();
    assert_eq!(
        (at.left_px, at.top_px, at.width_px, at.height_px),
        (0, 0, 8, 8)
    );
    clipped((8, 0), (9, 9), (8, 8)).unwrap_err();
    clipped((i64::MIN, 0), (i64::MAX, 0), (8, 8)).unwrap_err();
}

#[tokio::test]
async fn a_long_text_is_judged_piece_by_piece() {
    let subject = Subject::named("content safety, text");
    let double = subject
        .double(move |_| answer("200 OK", "", &(subject.good)().to_string()))
        .await;
    let service = subject.service(&double);
    let findings = service
        .screen_text(&"a ".repeat(10_000), Some("en"), 7)
        .await
        .unwrap();
    assert_eq!(double.request_times().len(), 3);
    assert_eq!(
        shown(&findings)[11],
        "harmful_text violence 1 counts bytes 19000..20000 chars 19000..20000"
    );
}
