//! Pictures: severities, likelihoods, boxes, lists, and the traps of each service.

use super::*;

#[tokio::test]
async fn severities_become_scores_and_only_even_ones_are_pictures() {
    let subject = Subject::named("content safety, picture");
    let (findings, n_asked) = subject.reads((subject.good)()).await;
    assert_eq!(
        shown(&findings.unwrap()),
        [
            "violent_image hate 0 kept",
            "violent_image self-harm 0.33 kept",
            "nsfw_image sexual 0.67 counts",
            "violent_image violence 1 counts",
        ]
    );
    assert_eq!(n_asked, 1);
    for change in [
        |body: &mut Value| body["categoriesAnalysis"][0]["severity"] = json!(3),
        |body: &mut Value| body["categoriesAnalysis"][0]["severity"] = json!(8),
        |body: &mut Value| body["categoriesAnalysis"][0]["severity"] = json!(-1),
        |body: &mut Value| body["categoriesAnalysis"][0]["severity"] = json!(null),
        |body: &mut Value| body["categoriesAnalysis"][0]["category"] = json!("Sexual"),
        |body: &mut Value| body["categoriesAnalysis"] = json!([]),
        |body: &mut Value| {
            let analyses = body["categoriesAnalysis"].as_array_mut().unwrap();
            analyses.push(json!({"category": "Gore", "severity": 0}));
        },
    ] {
        let failure = subject.reads_changed(change).await.unwrap_err();
        assert_eq!(failure.kind, DetectorFailureKind::Malformed);
    }
}

#[tokio::test]
async fn content_safety_is_sent_the_picture_and_nothing_else() {
    let subject = Subject::named("content safety, picture");
    let double = subject
        .double(move |_| answer("200 OK", "", &(subject.good)().to_string()))
        .await;
    subject.screen(&subject.service(&double)).await.unwrap();
    let (_, body) = double.requests().swap_remove(0);
    assert_eq!(
        body,
        json!({
            "image": {"content": "iVBORyBzZWNyZXQgcGl4ZWxz"},
            "categories": ["Hate", "SelfHarm", "Sexual", "Violence"],
            "outputType": "FourSeverityLevels",
        })
    );
}

#[tokio::test]
async fn content_moderator_keeps_scores_and_its_verdict_on_adult_pictures_counts() {
    let subject = Subject::named("content moderator");
    let findings = subject.reads_changed(|_| {}).await.unwrap();
    assert_eq!(
        shown(&findings),
        ["nsfw_image adult 0.4 counts", "nsfw_image racy 0.9 kept"]
    );
    let findings = subject
        .reads_changed(|body| body["IsImageAdultClassified"] = json!(false))
        .await
        .unwrap();
    assert_eq!(
        shown(&findings),
        ["nsfw_image adult 0.4 kept", "nsfw_image racy 0.9 kept"]
    );
    for change in [
        |body: &mut Value| body["Status"]["Code"] = json!(3002),
        |body: &mut Value| body["Status"] = json!(null),
        |body: &mut Value| body["AdultClassificationScore"] = json!(1.5),
        |body: &mut Value| body["AdultClassificationScore"] = json!(null),
        |body: &mut Value| {
            body.as_object_mut()
                .unwrap()
                .remove("IsImageAdultClassified");
        },
    ] {
        subject.reads_changed(change).await.unwrap_err();
    }
}

#[tokio::test]
async fn google_faces_begin_at_zero_and_end_at_the_edge() {
    let subject = Subject::named("google vision");
    let findings = subject.reads_changed(|_| {}).await.unwrap();
    assert_eq!(
        shown(&findings),
        [
            "nsfw_image adult 0.95 counts",
            "nsfw_image racy 0.8 kept",
            "violent_image violence 0.2 kept",
            "face face 0.75 counts at 0,0 of 90×120",
            "face face 0.25 kept at 600,0 of 40×50",
        ]
    );
    let findings = subject
        .reads_changed(|body| {
            body["responses"][0]
                .as_object_mut()
                .unwrap()
                .remove("faceAnnotations");
        })
        .await
        .unwrap();
    assert_eq!(findings.len(), 3, "no faces are no failure");
}

#[tokio::test]
async fn google_errors_inside_a_success_are_failures() {
    let subject = Subject::named("google vision");
    let failure = subject
        .reads_changed(|body| {
            body["responses"][0] =
                json!({"error": {"code": 3, "status": "INVALID_ARGUMENT", "message": TEXT}});
        })
        .await
        .unwrap_err();
    assert_eq!(failure.kind, DetectorFailureKind::Unsupported);
    assert_eq!(
        failure.detail,
        "the service could not judge it: code `INVALID_ARGUMENT`"
    );
    for change in [
        // An error beside an answer is an error.
        |body: &mut Value| body["responses"][0]["error"] = json!({"code": 14}),
        |body: &mut Value| body["responses"][0]["safeSearchAnnotation"]["adult"] = json!("UNKNOWN"),
        |body: &mut Value| body["responses"][0]["safeSearchAnnotation"]["adult"] = json!("RATHER"),
        |body: &mut Value| {
            body["responses"][0]
                .as_object_mut()
                .unwrap()
                .remove("safeSearchAnnotation");
        },
        |body: &mut Value| body["responses"] = json!([]),
        |body: &mut Value| {
            body["responses"][0]["faceAnnotations"][0]["boundingPoly"] = json!({"vertices": []});
        },
        |body: &mut Value| {
            body["responses"][0]["faceAnnotations"][0]["boundingPoly"] =
                json!({"vertices": [{"x": 9000}, {"x": 9100, "y": 40}]});
        },
        |body: &mut Value| {
            body["responses"][0]["faceAnnotations"][0]["detectionConfidence"] = json!(7);
        },
    ] {
        subject.reads_changed(change).await.unwrap_err();
    }
}

#[tokio::test]
async fn google_redaction_gives_a_finding_for_each_box() {
    let subject = Subject::named("google redact");
    let findings = subject.reads_changed(|_| {}).await.unwrap();
    assert_eq!(
        shown(&findings),
        [
            "pii_image EMAIL_ADDRESS 0.8 counts at 0,0 of 100×20",
            "pii_image EMAIL_ADDRESS 0.8 counts at 5,30 of 10×10",
        ]
    );
    let findings = subject
        .reads_changed(|body| body["inspectResult"] = json!({}))
        .await
        .unwrap();
    assert_eq!(findings, []);
    for change in [
        |body: &mut Value| {
            body.as_object_mut().unwrap().remove("inspectResult");
        },
        |body: &mut Value| body["inspectResult"]["findingsTruncated"] = json!(true),
        |body: &mut Value| body["inspectResult"]["findings"][0]["location"] = json!({}),
        |body: &mut Value| {
            body["inspectResult"]["findings"][0]["infoType"]["name"] = json!("SECRET");
        },
        |body: &mut Value| {
            body["inspectResult"]["findings"][0]["likelihood"] = json!("LIKELIHOOD_UNSPECIFIED");
        },
    ] {
        subject.reads_changed(change).await.unwrap_err();
    }
}

#[tokio::test]
async fn photo_dna_has_judged_under_code_3000_only() {
    let subject = Subject::named("photo dna");
    assert_eq!(subject.reads_changed(|_| {}).await.unwrap(), []);
    for (code, kind, n_asked) in [
        (3002, DetectorFailureKind::Unsupported, 1),
        (3004, DetectorFailureKind::Unreachable, 3),
        (3206, DetectorFailureKind::Unsupported, 1),
        (3208, DetectorFailureKind::Unsupported, 1),
        (3001, DetectorFailureKind::Malformed, 1),
        (0, DetectorFailureKind::Malformed, 1),
    ] {
        let mut body = (subject.good)();
        body["Status"]["Code"] = json!(code);
        let (read, asked) = subject.reads(body).await;
        assert_eq!((read.unwrap_err().kind, asked), (kind, n_asked), "{code}");
    }
}

fn matched(source: &str, violations: &Value) -> impl FnOnce(&mut Value) + use<> {
    let flag = json!({"Source": source, "Violations": violations, "MatchDistance": 179, "AdvancedInfo": [{"Key": "MatchId", "Value": "1"}]});
    move |body| {
        body["IsMatch"] = json!(true);
        body["MatchDetails"]["MatchFlags"] = json!([flag]);
    }
}

#[tokio::test]
async fn a_match_is_a_finding_and_a_test_picture_is_an_alarm() {
    let subject = Subject::named("photo dna");
    let findings = subject
        .reads_changed(matched("NCMEC", &json!(["A1", "B2", "Z9"])))
        .await
        .unwrap();
    assert_eq!(
        shown(&findings),
        [
            "known_image A1 1 counts",
            "known_image B2 1 counts",
            "known_image unclassified 1 counts",
        ]
    );
    let failure = subject
        .reads_changed(matched("Test", &json!(["A1"])))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, DetectorFailureKind::Internal);
    assert!(failure.detail.starts_with("alarm: "), "{}", failure.detail);
    // A match without details is one all the same.
    let findings = subject
        .reads_changed(|body| {
            body["IsMatch"] = json!(true);
            body["MatchDetails"] = json!(null);
        })
        .await
        .unwrap();
    assert_eq!(shown(&findings), ["known_image unclassified 1 counts"]);
    // An answer that contradicts itself is none.
    let failure = subject
        .reads_changed(|body| {
            matched("NCMEC", &json!(["A1"]))(body);
            body["IsMatch"] = json!(false);
        })
        .await
        .unwrap_err();
    assert_eq!(failure.kind, DetectorFailureKind::Malformed);
}

#[tokio::test]
async fn edge_hashes_are_matched_five_at_a_time_and_each_needs_a_verdict() {
    let double = Double::answering(|_, head, body| {
        assert!(head.starts_with("POST /photodna/v1.0/MatchHash "), "{head}");
        let hashes: Vec<Value> = serde_json::from_slice(body).unwrap();
        if hashes.len() > 5 {
            return answer("400 Bad Request", "", "");
        }
        let results: Vec<Value> = hashes
            .iter()
            .map(|hash| {
                assert_eq!(hash["DataRepresentation"], "PreHashV2");
                let mut result = photo_dna_answer();
                match hash["Value"].as_str().unwrap() {
                    "YmFk" => matched("NCMEC", &json!(["A2"]))(&mut result),
                    "b2Rk" => result["Status"]["Code"] = json!(3206),
                    _ => {}
                }
                result
            })
            .collect();
        answer(
            "200 OK",
            "",
            &json!({"TrackingId": "t", "MatchResults": results}).to_string(),
        )
    })
    .await;
    let service = Subject::named("photo dna").service(&double);
    let hash = |text: &str| EdgeHash(text.as_bytes().to_vec());
    let mut hashes = vec![hash("fine"); 6];
    hashes.push(hash("bad"));
    let answers = service.match_edge_hashes(&hashes, 7).await.unwrap();
    assert_eq!(
        answers.iter().map(Vec::len).collect::<Vec<_>>(),
        [0, 0, 0, 0, 0, 0, 1]
    );
    assert_eq!(double.request_times().len(), 2);
    hashes[0] = hash("odd");
    let failure = service.match_edge_hashes(&hashes, 7).await.unwrap_err();
    assert_eq!(failure.kind, DetectorFailureKind::Unsupported);
    assert_eq!(format!("{:?}", hash("bad")), "EdgeHash(3 bytes)");
}

#[tokio::test]
async fn fewer_results_than_hashes_are_no_answer() {
    let double = Double::answering(|_, _, _| {
        answer(
            "200 OK",
            "",
            &json!({"MatchResults": [photo_dna_answer()]}).to_string(),
        )
    })
    .await;
    let service = Subject::named("photo dna").service(&double);
    let hashes = [EdgeHash(vec![1]), EdgeHash(vec![2])];
    let failure = service.match_edge_hashes(&hashes, 7).await.unwrap_err();
    assert_eq!(failure.kind, DetectorFailureKind::Malformed);
    let other = Subject::named("google vision").service(&double);
    let failure = other.match_edge_hashes(&hashes, 7).await.unwrap_err();
    assert_eq!(failure.kind, DetectorFailureKind::Unsupported);
}

#[tokio::test]
async fn arachnid_shield_matches_or_does_not() {
    let subject = Subject::named("arachnid shield");
    assert_eq!(subject.reads_changed(|_| {}).await.unwrap(), []);
    let findings = subject
        .reads_changed(|body| {
            body["classification"] = json!("csam");
            body["match_type"] = json!("near");
        })
        .await
        .unwrap();
    assert_eq!(shown(&findings), ["known_image csam 1 counts"]);
    for change in [
        |body: &mut Value| body["classification"] = json!("csam"),
        |body: &mut Value| body["match_type"] = json!("exact"),
        |body: &mut Value| body["classification"] = json!("test"),
        |body: &mut Value| body["size_bytes"] = json!(17),
    ] {
        let failure = subject.reads_changed(change).await.unwrap_err();
        assert_eq!(failure.kind, DetectorFailureKind::Malformed);
    }
}
