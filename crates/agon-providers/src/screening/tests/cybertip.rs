//! The CyberTipline: each step with its rule of repeating, and XML that holds nothing that was not put there.

use jiff::Timestamp;
use md5::{Digest as _, Md5};

use super::*;
use crate::{
    openai::tests::double::{chunk, head, send},
    screening::cybertip::{
        Annotation, Cybertip, CybertipOptions, FileDetails, IndustryClassification, IpCapture,
        Remedy, Report, Reporter, Step,
    },
};

fn cybertip(double: &Double) -> Cybertip {
    let options = CybertipOptions {
        service: service(double, "/ispws"),
        user: "arena".to_owned(),
    };
    Cybertip::new(&client(), &options).unwrap()
}

fn response(inside: &str) -> Vec<Act> {
    answer(
        "200 OK",
        "content-type: text/xml\r\n",
        &format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<reportResponse>{inside}</reportResponse>"
        ),
    )
}

const SUCCESS: &str =
    "<responseCode>0</responseCode><responseDescription>Success</responseDescription>";

fn at() -> Timestamp {
    "2026-12-01T16:00:00Z".parse().unwrap()
}

fn report() -> Report {
    Report {
        incident_at: at(),
        escalation: Some("a child is in danger <now>".to_owned()),
        annotations: vec![Annotation::GenerativeAi],
        url: Some("https://arena.example/battle?a=1&b=2".to_owned()),
        reporter: Reporter {
            first_name: "Zoë".to_owned(),
            last_name: "O'Neil & Sons".to_owned(),
            email: "legal@arena.example".to_owned(),
        },
        reported_identifier: Some("voter </espIdentifier><x>".to_owned()),
        ip_captures: vec![IpCapture {
            address: "2001:db8::1".parse().unwrap(),
            at: at(),
        }],
        additional_info: None,
    }
}

fn details() -> FileDetails {
    FileDetails {
        report_id: "4564654".to_owned(),
        file_id: "b0754af766b426f2928a02c651ed4b99".to_owned(),
        original_name: Some("a \"b\".png".to_owned()),
        is_viewed: true,
        is_exif_viewed: false,
        is_publicly_available: false,
        classification: Some(IndustryClassification::A2),
        original_hashes: vec![(
            "MD5".to_owned(),
            "fafa5efeaf3cbe3b23b2748d13e629a1".to_owned(),
        )],
        ip_capture: None,
        additional_info: None,
    }
}

#[tokio::test]
async fn a_report_is_written_with_every_text_escaped() {
    let double = Double::start(vec![response(&format!(
        "{SUCCESS}<reportId>4564654</reportId>"
    ))])
    .await;
    assert_eq!(
        cybertip(&double).submit(&report()).await.unwrap(),
        "4564654"
    );
    let (head, body) = double.raw_requests().swap_remove(0);
    let head = head.to_lowercase();
    assert!(head.starts_with("post /ispws/submit "), "{head}");
    assert!(
        head.contains("content-type: text/xml; charset=utf-8"),
        "{head}"
    );
    assert!(
        head.contains("authorization: basic yxjlbme6mdeymzq1njc4owfiy2rlzmtleq=="),
        "{head}"
    );
    assert_eq!(
        String::from_utf8(body).unwrap(),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><report><incidentSummary>\
         <incidentType>Child Pornography (possession, manufacture, and distribution)</incidentType>\
         <escalateToHighPriority>a child is in danger &lt;now&gt;</escalateToHighPriority>\
         <reportAnnotations><generativeAi/></reportAnnotations>\
         <incidentDateTime>2026-12-01T16:00:00Z</incidentDateTime></incidentSummary>\
         <internetDetails><webPageIncident><url>https://arena.example/battle?a=1&amp;b=2</url></webPageIncident></internetDetails>\
         <reporter><reportingPerson><firstName>Zoë</firstName><lastName>O&apos;Neil &amp; Sons</lastName><email>legal@arena.example</email></reportingPerson></reporter>\
         <personOrUserReported><espIdentifier>voter &lt;/espIdentifier&gt;&lt;x&gt;</espIdentifier>\
         <ipCaptureEvent><ipAddress>2001:db8::1</ipAddress><eventName>Upload</eventName><dateTime>2026-12-01T16:00:00Z</dateTime></ipCaptureEvent></personOrUserReported></report>"
    );
}

#[tokio::test]
async fn a_report_that_xml_cannot_hold_is_not_sent() {
    let double = Double::start(vec![Vec::new()]).await;
    for change in [
        |report: &mut Report| report.reporter.email = " ".into(),
        |report: &mut Report| report.reported_identifier = Some("a\u{0}".into()),
    ] {
        let mut report = report();
        change(&mut report);
        let failure = cybertip(&double).submit(&report).await.unwrap_err();
        assert_eq!(failure.remedy, Remedy::Correct);
    }
    assert_eq!(double.request_times().len(), 0);
}

#[tokio::test]
async fn submit_is_sent_once_whatever_happens() {
    let ok = format!("<reportResponse>{SUCCESS}<reportId>1</reportId></reportResponse>");
    let doctype = format!("<!DOCTYPE r [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>{ok}");
    let plays: Vec<(&str, Vec<Act>, Remedy)> = vec![
        ("a reset", vec![Act::Reset], Remedy::AskPerson),
        (
            "a cut answer",
            vec![head("200 OK", ""), chunk("<reportResponse>"), Act::Reset],
            Remedy::AskPerson,
        ),
        (
            "half an answer",
            answer("200 OK", "", &ok[..ok.len() / 2]),
            Remedy::AskPerson,
        ),
        ("silence", vec![Act::Hang], Remedy::AskPerson),
        (
            "500",
            answer("500 Internal Server Error", "", "oops"),
            Remedy::AskPerson,
        ),
        (
            "a page",
            answer("200 OK", "", "<html>ok</html>"),
            Remedy::AskPerson,
        ),
        ("no id", response(SUCCESS), Remedy::AskPerson),
        (
            "an odd id",
            response(&format!("{SUCCESS}<reportId>../1</reportId>")),
            Remedy::AskPerson,
        ),
        (
            "no code",
            response("<reportId>1</reportId>"),
            Remedy::AskPerson,
        ),
        (
            "an unknown code",
            response("<responseCode>9999</responseCode>"),
            Remedy::AskPerson,
        ),
        (
            "a document type",
            answer("200 OK", "", &doctype),
            Remedy::AskPerson,
        ),
        (
            "server code",
            response("<responseCode>1000</responseCode>"),
            Remedy::RetryLater,
        ),
        (
            "credentials code",
            response("<responseCode>2000</responseCode>"),
            Remedy::FixCredentials,
        ),
        (
            "permission code",
            response("<responseCode>3000</responseCode>"),
            Remedy::FixCredentials,
        ),
        (
            "request code",
            answer(
                "400 Bad Request",
                "",
                "<reportResponse><responseCode>4100</responseCode></reportResponse>",
            ),
            Remedy::Correct,
        ),
        (
            "state code",
            response("<responseCode>5001</responseCode>"),
            Remedy::CheckState,
        ),
        (
            "401",
            answer("401 Unauthorized", "", ""),
            Remedy::FixCredentials,
        ),
        ("404", answer("404 Not Found", "", ""), Remedy::Correct),
        (
            "429",
            answer("429 Too Many Requests", "retry-after: 0\r\n", ""),
            Remedy::RetryLater,
        ),
    ];
    for (name, play, remedy) in plays {
        let double = Double::start(vec![play]).await;
        let mut options = CybertipOptions {
            service: service(&double, "/ispws"),
            user: "arena".to_owned(),
        };
        options.service.limits.timeout_ms = 200;
        let cybertip = Cybertip::new(&client(), &options).unwrap();
        let failure = cybertip.submit(&report()).await.expect_err(name);
        assert_eq!(failure.remedy, remedy, "{name}: {failure}");
        assert_eq!(failure.step, Step::Submit);
        assert_eq!(double.request_times().len(), 1, "{name}");
        assert!(!failure.to_string().contains(KEY));
    }
}

#[tokio::test]
async fn steps_that_do_no_harm_twice_are_repeated() {
    let double = Double::start(vec![
        vec![Act::Reset],
        answer("503 Service Unavailable", "", ""),
        response(SUCCESS),
    ])
    .await;
    cybertip(&double).status(7).await.unwrap();
    assert_eq!(double.request_times().len(), 3);
    let double = Double::start(vec![vec![Act::Reset], response(SUCCESS)]).await;
    cybertip(&double).describe(&details(), 7).await.unwrap();
    let (_, body) = double.raw_requests().swap_remove(1);
    assert_eq!(
        String::from_utf8(body).unwrap(),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><fileDetails><reportId>4564654</reportId>\
         <fileId>b0754af766b426f2928a02c651ed4b99</fileId><originalFileName>a &quot;b&quot;.png</originalFileName>\
         <fileViewedByEsp>true</fileViewedByEsp><exifViewedByEsp>false</exifViewedByEsp><publiclyAvailable>false</publiclyAvailable>\
         <industryClassification>A2</industryClassification>\
         <originalFileHash hashType=\"MD5\">fafa5efeaf3cbe3b23b2748d13e629a1</originalFileHash></fileDetails>"
    );
    let done = "<reportDoneResponse><responseCode>0</responseCode><reportId>4564654</reportId><files><fileId>a1</fileId><fileId>b2</fileId></files></reportDoneResponse>";
    let double = Double::start(vec![
        response("<responseCode>1000</responseCode>"),
        answer("200 OK", "", done),
    ])
    .await;
    let files = cybertip(&double).finish("4564654", 7).await.unwrap();
    assert_eq!(files, ["a1", "b2"]);
    let (head, body) = double.raw_requests().swap_remove(1);
    assert!(head.starts_with("POST /ispws/finish "), "{head}");
    assert!(
        String::from_utf8(body)
            .unwrap()
            .contains("name=\"id\"\r\n\r\n4564654\r\n")
    );
    // A step that the service refuses is not repeated.
    let double = Double::start(vec![response("<responseCode>5001</responseCode>")]).await;
    let failure = cybertip(&double).finish("4564654", 7).await.unwrap_err();
    assert_eq!(
        (failure.remedy, failure.code),
        (Remedy::CheckState, Some(5001))
    );
    assert_eq!(double.request_times().len(), 1);
    // One that stays unanswered is given up.
    let double = Double::start(vec![vec![Act::Reset]]).await;
    let failure = cybertip(&double).status(7).await.unwrap_err();
    assert_eq!(failure.remedy, Remedy::RetryLater);
    assert_eq!(double.request_times().len(), 3);
}

#[tokio::test]
async fn retract_is_sent_once() {
    let double = Double::start(vec![vec![Act::Reset]]).await;
    let failure = cybertip(&double).retract("1").await.unwrap_err();
    assert_eq!(failure.remedy, Remedy::AskPerson);
    assert_eq!(double.request_times().len(), 1);
    let double = Double::start(vec![response(SUCCESS)]).await;
    cybertip(&double).retract("1").await.unwrap();
}

#[tokio::test]
async fn a_file_whose_md5_comes_back_wrong_is_sent_once_more() {
    let uploaded = |hash: &str| {
        response(&format!(
            "{SUCCESS}<reportId>1</reportId><fileId>f1</fileId><hash>{hash}</hash>"
        ))
    };
    let bytes = Bytes::from_static(b"pixels");
    let md5: String = Md5::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let wrong = "0".repeat(32);
    for (plays, expected, n_sent) in [
        (vec![uploaded(&md5)], Ok(false), 1),
        (vec![uploaded(&md5.to_uppercase())], Ok(false), 1),
        (vec![uploaded(&wrong), uploaded(&md5)], Ok(true), 2),
        (vec![vec![Act::Reset], uploaded(&md5)], Ok(true), 2),
        (vec![uploaded(&wrong)], Err(Remedy::AskPerson), 2),
        (vec![response(SUCCESS)], Err(Remedy::AskPerson), 2),
        (
            vec![response("<responseCode>4100</responseCode>")],
            Err(Remedy::Correct),
            1,
        ),
    ] {
        let double = Double::start(plays).await;
        let result = cybertip(&double)
            .upload("4564654", "a.png", bytes.clone())
            .await;
        assert_eq!(
            result
                .map(|file| file.is_second_attempt)
                .map_err(|failure| failure.remedy),
            expected
        );
        let requests = double.raw_requests();
        assert_eq!(requests.len(), n_sent);
        let (head, body) = &requests[0];
        assert!(
            head.to_lowercase()
                .contains("content-type: multipart/form-data"),
            "{head}"
        );
        let body = String::from_utf8_lossy(body);
        assert!(body.contains("name=\"id\"\r\n\r\n4564654\r\n"), "{body}");
        assert!(body.contains("name=\"file\"; filename=\"a.png\""), "{body}");
        assert!(body.contains("\r\n\r\npixels\r\n"), "{body}");
    }
}

#[tokio::test]
async fn hostile_xml_is_no_answer() {
    let deep = "<a>".repeat(1_000);
    for body in [
        deep.as_str(),
        "<reportResponse><responseCode>0</responseCode></reportResponse><reportResponse/><b>",
        "<reportResponse><responseCode>0</responseCode>",
        "<reportResponse><responseCode>&x;0</responseCode></reportResponse>",
        "<reportResponse><responseCode>zero</responseCode></reportResponse>",
        "<other><responseCode>0</responseCode></other>",
        "<reportResponse><x><responseCode>0</responseCode></x></reportResponse>",
        "",
    ] {
        let double = Double::start(vec![vec![send(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ))]])
        .await;
        let failure = cybertip(&double).retract("1").await.expect_err(body);
        assert_eq!(failure.remedy, Remedy::AskPerson, "{body}");
    }
}
