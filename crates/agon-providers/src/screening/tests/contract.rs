//! Undecided is never clean: under every fault every service fails, soon, and without repeating what it was sent.

use super::*;
use crate::openai::tests::double::{chunk, head, send};

/// A fault, the kind of failure that it has to be, and how often it is asked under it.
struct Fault {
    name: &'static str,
    play: fn(&str) -> Vec<Act>,
    kind: DetectorFailureKind,
    n_asked: usize,
}

fn echo(status: &str, headers: &str) -> Vec<Act> {
    // Services echo what they were sent.
    answer(
        status,
        headers,
        &json!({"error": {"code": TEXT, "message": format!("{KEY} {TEXT} secret pixels")}})
            .to_string(),
    )
}

const FAULTS: [Fault; 22] = {
    use DetectorFailureKind as Kind;
    [
        Fault {
            name: "429",
            play: |_| echo("429 Too Many Requests", "retry-after: 0\r\n"),
            kind: Kind::RateLimited,
            n_asked: 3,
        },
        Fault {
            name: "429 for long",
            play: |_| echo("429 Too Many Requests", "retry-after: 60\r\n"),
            kind: Kind::RateLimited,
            n_asked: 1,
        },
        Fault {
            name: "a used quota",
            play: |_| {
                answer(
                    "429 Too Many Requests",
                    "",
                    r#"{"error":{"code":"insufficient_quota"}}"#,
                )
            },
            kind: Kind::RateLimited,
            n_asked: 1,
        },
        Fault {
            name: "500",
            play: |_| echo("500 Internal Server Error", ""),
            kind: Kind::Unreachable,
            n_asked: 3,
        },
        Fault {
            name: "503",
            play: |_| echo("503 Service Unavailable", ""),
            kind: Kind::RateLimited,
            n_asked: 3,
        },
        Fault {
            name: "504",
            play: |_| echo("504 Gateway Timeout", ""),
            kind: Kind::TimedOut,
            n_asked: 3,
        },
        Fault {
            name: "401",
            play: |_| echo("401 Unauthorized", ""),
            kind: Kind::BadCredentials,
            n_asked: 1,
        },
        Fault {
            name: "403",
            play: |_| echo("403 Forbidden", ""),
            kind: Kind::BadCredentials,
            n_asked: 1,
        },
        Fault {
            name: "400",
            play: |_| echo("400 Bad Request", ""),
            kind: Kind::Unsupported,
            n_asked: 1,
        },
        Fault {
            name: "413",
            play: |_| echo("413 Payload Too Large", ""),
            kind: Kind::Unsupported,
            n_asked: 1,
        },
        Fault {
            name: "404",
            play: |_| echo("404 Not Found", ""),
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "a redirection",
            play: |_| answer("302 Found", "location: /elsewhere\r\n", ""),
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "an empty body",
            play: |_| answer("200 OK", "", ""),
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "no content",
            play: |_| answer("204 No Content", "", ""),
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "a page",
            play: |_| {
                answer(
                    "200 OK",
                    "content-type: text/html\r\n",
                    "<html>all is well</html>",
                )
            },
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "an error with 200",
            play: |_| echo("200 OK", ""),
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "deep JSON",
            play: |_| answer("200 OK", "", &"[".repeat(10_000)),
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "half of the JSON",
            play: |good| answer("200 OK", "", good.get(..good.len() / 2).unwrap()),
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "a cut body",
            play: |good| {
                vec![send(format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: 9999\r\nconnection: close\r\n\r\n{good}"
                ))]
            },
            kind: Kind::Unreachable,
            n_asked: 3,
        },
        Fault {
            name: "a cut chunk",
            play: |good| vec![head("200 OK", ""), chunk(good), Act::Reset],
            kind: Kind::Unreachable,
            n_asked: 3,
        },
        Fault {
            name: "too much",
            play: |good| answer("200 OK", "", &format!("{good}{}", " ".repeat(70_000))),
            kind: Kind::Malformed,
            n_asked: 1,
        },
        Fault {
            name: "a compressed body",
            play: |good| answer("200 OK", "content-encoding: gzip\r\n", good),
            kind: Kind::Malformed,
            n_asked: 1,
        },
    ]
};

#[tokio::test]
async fn undecided_is_never_clean() {
    for subject in SUBJECTS {
        for fault in &FAULTS {
            let good = (subject.good)().to_string();
            let play = fault.play;
            let double = subject.double(move |_| play(&good)).await;
            let service = subject.service(&double);
            let what = format!("{} under {}", subject.name, fault.name);
            let failure = subject.screen(&service).await.expect_err(&what);
            assert_eq!(failure.kind, fault.kind, "{what}: {}", failure.detail);
            assert_eq!(double.request_times().len(), fault.n_asked, "{what}");
            assert_eq!(&failure.detector, service.identity());
            assert_eq!(
                failure.screens_for,
                service.screens_for_subject(subject.is_picture)
            );
            assert!(!failure.screens_for.is_empty(), "{what}");
            for secret in [KEY, "Margaret", "margaret", "pixels"] {
                assert!(
                    !failure.detail.contains(secret),
                    "{what}: {}",
                    failure.detail
                );
            }
        }
    }
}

#[tokio::test]
async fn a_service_that_is_silent_or_never_ends_is_left_in_time() {
    for subject in SUBJECTS {
        for play in [
            vec![Act::Hang],
            vec![head("200 OK", ""), chunk("{"), Act::Hang],
        ] {
            let double = subject.double(move |_| play.clone()).await;
            let mut options = service(&double, subject.path);
            options.limits.timeout_ms = 60;
            let failure = subject.screen(&(subject.build)(options)).await.unwrap_err();
            assert_eq!(
                failure.kind,
                DetectorFailureKind::TimedOut,
                "{}",
                subject.name
            );
            assert_eq!(failure.detail, "no answer within 60 ms");
        }
        let double = subject
            .double(|_| {
                vec![
                    head("200 OK", ""),
                    Act::Flood(format!("1000\r\n{}\r\n", " ".repeat(0x1000)).into_bytes()),
                ]
            })
            .await;
        let failure = subject.screen(&subject.service(&double)).await.unwrap_err();
        assert_eq!(
            failure.kind,
            DetectorFailureKind::Malformed,
            "{}",
            subject.name
        );
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_is_unreachable() {
    for subject in SUBJECTS {
        let double = subject.double(|_| Vec::new()).await;
        let options = service(&double, subject.path);
        drop(double);
        tokio::task::yield_now().await;
        let failure = subject.screen(&(subject.build)(options)).await.unwrap_err();
        assert_eq!(
            failure.kind,
            DetectorFailureKind::Unreachable,
            "{}",
            subject.name
        );
    }
}

#[tokio::test]
async fn a_fault_that_passes_is_survived() {
    for subject in SUBJECTS {
        let good = (subject.good)().to_string();
        let double = subject
            .double(move |n| match n {
                0 => answer("429 Too Many Requests", "retry-after-ms: 5\r\n", ""),
                1 => vec![Act::Reset],
                _ => answer("200 OK", "", &good),
            })
            .await;
        let service = subject.service(&double);
        let findings = subject.screen(&service).await.expect(subject.name);
        assert_eq!(double.request_times().len(), 3, "{}", subject.name);
        for finding in findings {
            assert_eq!(&finding.detector, service.identity());
            assert!(service.screens_for().contains(&finding.kind));
            assert_eq!(finding.kind.is_about_pictures(), subject.is_picture);
            assert!((0.0..=1.0).contains(&finding.score));
        }
    }
}

#[tokio::test]
async fn the_double_refuses_what_the_real_service_would() {
    for subject in SUBJECTS {
        let double = subject.double(|_| answer("200 OK", "", "{}")).await;
        let mut options = service(&double, subject.path);
        options.key = Some(ApiKey::new("another"));
        let failure = subject.screen(&(subject.build)(options)).await.unwrap_err();
        assert_eq!(
            failure.kind,
            DetectorFailureKind::BadCredentials,
            "{}",
            subject.name
        );
    }
}

#[tokio::test]
async fn what_a_service_does_not_take_is_not_sent() {
    for subject in SUBJECTS {
        let double = subject.double(|_| answer("200 OK", "", "{}")).await;
        let service = subject.service(&double);
        let mut failures = Vec::new();
        if let Some(limits) = service.limits().picture {
            let mut odd = picture();
            odd.media_type = "image/svg+xml".to_owned();
            failures.push(service.screen_picture(&odd, 7).await);
            odd = picture();
            odd.bytes = vec![0; limits.bytes_max + 1].into();
            failures.push(service.screen_picture(&odd, 7).await);
            odd = picture();
            odd.width_px = limits.side_px_min - 1;
            failures.push(service.screen_picture(&odd, 7).await);
        } else {
            failures.push(service.screen_picture(&picture(), 7).await);
        }
        match service.limits().text_chars_max {
            Some(chars_max) => failures.push(
                service
                    .screen_text(&"x".repeat(chars_max + 1), Some("en"), 7)
                    .await,
            ),
            None => failures.push(service.screen_text(TEXT, Some("en"), 7).await),
        }
        for failure in failures {
            let failure = failure.expect_err(subject.name);
            assert_eq!(failure.kind, DetectorFailureKind::Unsupported);
        }
        assert_eq!(double.request_times().len(), 0, "{}", subject.name);
    }
}

#[test]
fn options_that_cannot_be_used_are_refused_without_showing_the_key() {
    let check = |change: fn(&mut ServiceOptions), expected: &str| {
        let mut options = ServiceOptions::new("http://127.0.0.1:1", Some(ApiKey::new("hunter2")));
        change(&mut options);
        let error =
            ScreeningService::azure_content_safety(&client(), ContentSafetyOptions::new(options))
                .unwrap_err();
        assert_eq!(error.kind, crate::ErrorKind::Configuration);
        assert!(error.message.contains(expected), "{}", error.message);
        assert!(!error.message.contains("hunter2"), "{}", error.message);
    };
    check(|o| o.endpoint = "nowhere".into(), "is not a URL");
    check(|o| o.endpoint = "ftp://x".into(), "is neither");
    check(
        |o| o.endpoint = "http://me:hunter2@x".into(),
        "holds a user name",
    );
    check(|o| o.endpoint = "http://x/?a=hunter2".into(), "holds a `?`");
    check(|o| o.key = None, "wants a key");
    check(|o| o.key = Some(ApiKey::new("hunter2\n")), "cannot be sent");
    check(|o| o.limits.retries_max = 3, "`3` retries are too many");
    check(|o| o.limits.timeout_ms = 0, "at least 1");
    let service = || ServiceOptions::new("http://127.0.0.1:1", Some(ApiKey::new("hunter2")));
    for (thresholds, expected) in [
        (Thresholds::all(0.0), "`0` is not a threshold"),
        (Thresholds::all(1.5), "`1.5` is not a threshold"),
        (Thresholds::all(f64::NAN), "`NaN` is not a threshold"),
        (
            Thresholds::all(0.5).with("sexy", 0.5),
            "`sexy` is not a category",
        ),
    ] {
        let mut options = ContentSafetyOptions::new(service());
        options.thresholds = thresholds;
        let error = ScreeningService::azure_content_safety(&client(), options).unwrap_err();
        assert!(error.message.contains(expected), "{}", error.message);
    }
    let shown = format!(
        "{:?}",
        ScreeningService::presidio(&client(), PresidioOptions::new(service(), "1")).unwrap()
    );
    assert!(!shown.contains("hunter2"), "{shown}");
}
