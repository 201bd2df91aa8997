//! The whole way over a real socket: faults, retries, limits, cancelling.

use std::{sync::LazyLock, time::Duration};

use agon_domain::{Finish, Usage};
use futures_util::{StreamExt as _, future::join_all};
use tokio::time::{Instant, timeout};

use super::{
    super::*,
    cassettes::show,
    double::{Act, Double, answer, chunk, events_head, head, send, stop, token},
};
use crate::{ClientOptions, GenerationEvent, Provider, RequestImage};

const KEY: &str = "sk-live-hunter2hunter2";
const MODEL: &str = "gpt-secret-9000";
const PROMPT: &str = "Where did Margaret hide the inheritance money?";

/// Limits small enough to wait for.
fn quick() -> Limits {
    Limits {
        first_token_ms: 2_000,
        gap_ms: 500,
        total_ms: 4_000,
        trailer_ms: 100,
        retry_pause_ms: 10,
        retry_after_ms_max: 200,
        ..Limits::default()
    }
}

/// Made once: loading the system's certificates takes longer than some of the limits here.
static CLIENT: LazyLock<Client> = LazyLock::new(|| Client::new(&ClientOptions::default()).unwrap());

fn provider(double: &Double, change: impl FnOnce(&mut OpenAiOptions)) -> Provider {
    let mut options = OpenAiOptions::new(double.base_url(), MODEL);
    options.api_key = Some(ApiKey::new(KEY));
    options.limits = quick();
    change(&mut options);
    OpenAi::new(&CLIENT, options).unwrap().into()
}

fn request() -> Request {
    Request::new(vec![Message::user(PROMPT)])
}

async fn events(provider: &Provider, request: Request) -> Vec<GenerationEvent> {
    provider.generate(request, 1).collect().await
}

/// The events of one play, as lines, and how many requests there were.
async fn play(acts: Vec<Vec<Act>>) -> (Vec<String>, usize) {
    let double = Double::start(acts).await;
    let events = events(&provider(&double, |_| {}), request()).await;
    (events.iter().map(show).collect(), double.requests().len())
}

#[tokio::test]
async fn an_answer_arrives_token_by_token() {
    let (lines, n_requests) = play(vec![vec![
        events_head(),
        token("The "),
        token("end."),
        stop(),
    ]])
    .await;
    assert_eq!(
        lines,
        [
            "started",
            "text \"The \"",
            "text \"end.\"",
            "finished stop input=- output=-"
        ]
    );
    assert_eq!(n_requests, 1);
}

#[tokio::test]
async fn the_request_carries_key_body_and_type() {
    let double = Double::start(vec![vec![events_head(), token("x"), stop()]]).await;
    let image = RequestImage {
        media_type: "image/webp".to_owned(),
        bytes: Bytes::from_static(b"RIFF"),
        width_px: 3,
        height_px: 4,
    };
    let request = Request::new(vec![Message::user("what?").with_image(image)]);
    events(&provider(&double, |_| {}), request).await;
    let (head, body) = double.requests().remove(0);
    let head = head.to_lowercase();
    assert!(
        head.starts_with("post /v1/chat/completions http/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains(&format!("\r\nauthorization: bearer {KEY}\r\n")),
        "{head}"
    );
    assert!(
        head.contains("\r\ncontent-type: application/json\r\n"),
        "{head}"
    );
    assert!(!head.contains("accept-encoding"), "{head}");
    assert_eq!(
        body["messages"][0]["content"][1]["image_url"]["url"],
        "data:image/webp;base64,UklGRg=="
    );
    assert_eq!(body["model"], MODEL);
}

#[tokio::test]
async fn no_key_sends_no_authorization() {
    let double = Double::start(vec![vec![events_head(), token("x"), stop()]]).await;
    events(
        &provider(&double, |options| options.api_key = None),
        request(),
    )
    .await;
    assert!(
        !double.requests()[0]
            .0
            .to_lowercase()
            .contains("authorization")
    );
}

/// One way in which a provider can fail, and what is to become of it.
struct Fault {
    name: &'static str,
    acts: Vec<Act>,
    kind: ErrorKind,
    finish: Finish,
    text: &'static str,
    n_requests: usize,
}

fn fault(
    name: &'static str,
    acts: Vec<Act>,
    kind: ErrorKind,
    finish: Finish,
    text: &'static str,
    n_requests: usize,
) -> Fault {
    Fault {
        name,
        acts,
        kind,
        finish,
        text,
        n_requests,
    }
}

fn faults() -> Vec<Fault> {
    use ErrorKind as K;
    use Finish::{Cut, Failed, Filtered};
    let vendor = |code: &str, message: &str| {
        format!(
            "{{\"error\":{{\"message\":\"{message} ({MODEL}, key {KEY}, you wrote: {PROMPT})\",\"type\":\"x\",\"code\":\"{code}\"}}}}"
        )
    };
    let json = "content-type: application/json\r\n";
    let plain =
        |status: &str, code: &str, message: &str| answer(status, json, &vendor(code, message));
    let first = || vec![events_head(), token("One")];
    let then = |mut acts: Vec<Act>, more: Vec<Act>| {
        acts.extend(more);
        acts
    };
    let html = "<html><head><title>502</title></head></html>";
    vec![
        fault("no header", vec![Act::Hang], K::Timeout, Failed, "", 1),
        fault(
            "half a header",
            vec![send("HTTP/1.1 200 O"), Act::Hang],
            K::Timeout,
            Failed,
            "",
            1,
        ),
        fault(
            "header, no body",
            vec![events_head(), Act::Hang],
            K::Timeout,
            Failed,
            "",
            1,
        ),
        fault(
            "keep-alives only",
            then(
                vec![events_head()],
                (0..40)
                    .flat_map(|_| [chunk(": ping\n\n"), Act::PauseMs(20)])
                    .chain([Act::Hang])
                    .collect(),
            ),
            K::Timeout,
            Failed,
            "",
            1,
        ),
        fault(
            "one token, then silence",
            then(first(), vec![Act::Hang]),
            K::Timeout,
            Cut,
            "One",
            1,
        ),
        fault(
            "one token, then keep-alives",
            then(
                first(),
                (0..40)
                    .flat_map(|_| [chunk(": ping\n\n"), Act::PauseMs(20)])
                    .chain([Act::Hang])
                    .collect(),
            ),
            K::Timeout,
            Cut,
            "One",
            1,
        ),
        fault(
            "reset in mid-token",
            then(
                first(),
                vec![
                    chunk("data: {\"choices\":[{\"delta\":{\"con"),
                    Act::PauseMs(20),
                    Act::Reset,
                ],
            ),
            K::Cut,
            Cut,
            "One",
            1,
        ),
        fault(
            "cut UTF-8, end without the last chunk",
            then(first(), vec![send(b"8\r\ndata: \xc3".to_vec())]),
            K::Cut,
            Cut,
            "One",
            1,
        ),
        fault(
            "clean end without a finish",
            then(first(), vec![send("0\r\n\r\n")]),
            K::Cut,
            Cut,
            "One",
            1,
        ),
        fault(
            "wrong length",
            vec![send(
                "HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"One\"}}]}\n\n",
            )],
            K::Cut,
            Cut,
            "One",
            1,
        ),
        fault(
            "end before any token",
            vec![events_head(), send("0\r\n\r\n")],
            K::Cut,
            Cut,
            "",
            3,
        ),
        fault(
            "reset before the header",
            vec![Act::Reset],
            K::Connect,
            Failed,
            "",
            3,
        ),
        fault(
            "nonsense instead of HTTP",
            vec![send("SSH-2.0-OpenSSH\r\n")],
            K::Connect,
            Failed,
            "",
            3,
        ),
        fault(
            "401",
            plain("401 Unauthorized", "invalid_api_key", "Incorrect API key"),
            K::BadCredentials,
            Failed,
            "",
            1,
        ),
        fault(
            "403",
            plain("403 Forbidden", "", "no access"),
            K::BadCredentials,
            Failed,
            "",
            1,
        ),
        fault(
            "402",
            plain("402 Payment Required", "", "pay"),
            K::Payment,
            Failed,
            "",
            1,
        ),
        fault(
            "404",
            plain("404 Not Found", "model_not_found", "no such model"),
            K::RejectedRequest,
            Failed,
            "",
            1,
        ),
        fault(
            "400",
            plain("400 Bad Request", "context_length_exceeded", "too long"),
            K::RejectedRequest,
            Failed,
            "",
            1,
        ),
        fault(
            "400 filter",
            plain("400 Bad Request", "content_filter", "filtered"),
            K::FilteredContent,
            Filtered,
            "",
            1,
        ),
        fault(
            "413",
            plain("413 Payload Too Large", "", "too large"),
            K::RejectedRequest,
            Failed,
            "",
            1,
        ),
        fault(
            "429",
            plain("429 Too Many Requests", "rate_limit_exceeded", "slow down"),
            K::RateLimited,
            Failed,
            "",
            3,
        ),
        fault(
            "429 quota",
            plain(
                "429 Too Many Requests",
                "insufficient_quota",
                "You exceeded your current quota",
            ),
            K::Payment,
            Failed,
            "",
            1,
        ),
        fault(
            "429 for an hour",
            answer("429 Too Many Requests", "retry-after: 3600\r\n", ""),
            K::RateLimited,
            Failed,
            "",
            1,
        ),
        fault(
            "500",
            plain("500 Internal Server Error", "server_error", "boom"),
            K::Overloaded,
            Failed,
            "",
            3,
        ),
        fault(
            "502 HTML",
            answer("502 Bad Gateway", "content-type: text/html\r\n", html),
            K::Overloaded,
            Failed,
            "",
            3,
        ),
        fault(
            "503",
            answer("503 Service Unavailable", "", ""),
            K::Overloaded,
            Failed,
            "",
            3,
        ),
        fault(
            "504",
            answer("504 Gateway Timeout", "", ""),
            K::Timeout,
            Failed,
            "",
            3,
        ),
        fault(
            "529",
            plain("529 Overloaded", "overloaded_error", "busy"),
            K::Overloaded,
            Failed,
            "",
            3,
        ),
        fault(
            "500 without the body it announces",
            vec![send("HTTP/1.1 500 X\r\ncontent-length: 50\r\n\r\nhalf")],
            K::Overloaded,
            Failed,
            "",
            3,
        ),
        fault(
            "200 HTML",
            answer("200 OK", "content-type: text/html\r\n", html),
            K::MalformedResponse,
            Failed,
            "",
            1,
        ),
        fault(
            "200 JSON error",
            plain("200 OK", "rate_limit_exceeded", "slow"),
            K::RateLimited,
            Failed,
            "",
            3,
        ),
        fault(
            "200 stream of one error",
            vec![
                events_head(),
                chunk(&format!(
                    "data: {}\n\ndata: [DONE]\n\n",
                    vendor("400", "This model is not a multimodal model")
                )),
                send("0\r\n\r\n"),
            ],
            K::RejectedRequest,
            Failed,
            "",
            1,
        ),
        fault(
            "error in mid-answer",
            then(
                first(),
                vec![
                    chunk(&format!("data: {}\n\n", vendor("server_error", "boom"))),
                    send("0\r\n\r\n"),
                ],
            ),
            K::Overloaded,
            Failed,
            "One",
            1,
        ),
        fault(
            "redirect",
            answer(
                "302 Found",
                "location: http://127.0.0.1:1/elsewhere\r\n",
                "",
            ),
            K::RejectedRequest,
            Failed,
            "",
            1,
        ),
        fault(
            "redirect 307",
            answer(
                "307 Temporary Redirect",
                "location: http://127.0.0.1:1/elsewhere\r\n",
                "",
            ),
            K::RejectedRequest,
            Failed,
            "",
            1,
        ),
        fault(
            "gzip declared",
            vec![
                head("200 OK", "content-encoding: gzip\r\n"),
                send(b"4\r\n\x1f\x8b\x08\x00\r\n0\r\n\r\n".to_vec()),
            ],
            K::MalformedResponse,
            Failed,
            "",
            1,
        ),
        fault(
            "gzip undeclared",
            vec![
                events_head(),
                send(b"4\r\n\x1f\x8b\x08\x00\r\n0\r\n\r\n".to_vec()),
            ],
            K::MalformedResponse,
            Failed,
            "",
            1,
        ),
        fault(
            "garbage",
            vec![
                events_head(),
                send(b"4\r\n\x00\xff\xfe\x01\r\n0\r\n\r\n".to_vec()),
            ],
            K::MalformedResponse,
            Failed,
            "",
            1,
        ),
        fault(
            "204",
            vec![send("HTTP/1.1 204 No Content\r\n\r\n")],
            K::Cut,
            Cut,
            "",
            3,
        ),
    ]
}

#[tokio::test]
async fn every_fault_has_one_kind_and_leaks_nothing() {
    let checks = faults().into_iter().map(|fault| async move {
        let double = Double::start(vec![fault.acts]).await;
        let events = events(&provider(&double, |_| {}), request()).await;
        let name = fault.name;
        let Some(GenerationEvent::Failed(error)) = events.last() else {
            panic!("{name}: {events:?}");
        };
        assert_eq!(error.kind, fault.kind, "{name}: {error}");
        assert_eq!(error.finish(), fault.finish, "{name}: {error}");
        assert_eq!(error.partial, !fault.text.is_empty(), "{name}");
        let text: String = events
            .iter()
            .filter_map(|event| match event {
                GenerationEvent::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(text, fault.text, "{name}");
        let n_terminal = events.iter().filter(|event| event.is_terminal()).count();
        assert_eq!(n_terminal, 1, "{name}: {events:?}");
        assert_eq!(double.requests().len(), fault.n_requests, "{name}: {error}");
        let log = format!("{error} {error:?}").to_lowercase();
        for secret in [KEY, "hunter2", "margaret", "inheritance"] {
            assert!(!log.contains(secret), "{name}: {log}");
        }
        let shown = error.user_message().to_lowercase();
        for secret in [KEY, MODEL, "gpt", "openai", "margaret", "127.0.0.1"] {
            assert!(!shown.contains(secret), "{name}: {shown}");
        }
    });
    join_all(checks).await;
}

#[tokio::test]
async fn an_image_that_a_model_cannot_take_is_named_as_such() {
    let check = async |status: &str, message: &str, kind: ErrorKind| {
        let body = format!("{{\"error\":{{\"message\":\"{message}\"}}}}");
        let double = Double::start(vec![answer(status, "", &body)]).await;
        let image = RequestImage {
            media_type: "image/png".to_owned(),
            bytes: Bytes::from_static(b"x"),
            width_px: 1,
            height_px: 1,
        };
        let request = Request::new(vec![Message::user("hm?").with_image(image)]);
        let events = events(&provider(&double, |_| {}), request).await;
        let Some(GenerationEvent::Failed(error)) = events.last() else {
            panic!("{events:?}");
        };
        assert_eq!(error.kind, kind, "{error}");
    };
    check(
        "400 Bad Request",
        "This model is not a multimodal model",
        ErrorKind::ImageRejected,
    )
    .await;
    check(
        "500 Server Error",
        "image input is not supported - hint: you may need to provide the mmproj",
        ErrorKind::ImageRejected,
    )
    .await;
    check("413 Too Large", "body too big", ErrorKind::ImageRejected).await;
    check(
        "400 Bad Request",
        "unknown model",
        ErrorKind::RejectedRequest,
    )
    .await;
    check(
        "500 Server Error",
        "vision worker crashed",
        ErrorKind::Overloaded,
    )
    .await;
}

#[tokio::test]
async fn nobody_listening_is_a_connection_error() {
    let double = Double::start(vec![]).await;
    let provider = provider(&double, |_| {});
    drop(double);
    // The listener is gone once its task has been dropped.
    tokio::task::yield_now().await;
    let events = events(&provider, request()).await;
    let Some(GenerationEvent::Failed(error)) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(error.kind, ErrorKind::Connect);
    assert!(!format!("{error:?}").contains("http://"), "{error:?}");
}

#[tokio::test]
async fn a_failure_that_passes_is_retried_before_the_first_token() {
    let busy = || answer("503 Service Unavailable", "", "");
    let good = || vec![events_head(), token("x"), stop()];
    let (lines, n_requests) = play(vec![busy(), busy(), good()]).await;
    assert_eq!(
        lines,
        ["started", "text \"x\"", "finished stop input=- output=-"]
    );
    assert_eq!(n_requests, 3);

    // A stream that had begun without a token counts as not begun, and is announced once.
    let begun = vec![
        events_head(),
        chunk("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n"),
        Act::Reset,
    ];
    let (lines, n_requests) = play(vec![begun, good()]).await;
    assert_eq!(
        lines,
        ["started", "text \"x\"", "finished stop input=- output=-"]
    );
    assert_eq!(n_requests, 2);

    // Thinking that was shown is a first token.
    let thought = vec![
        events_head(),
        chunk("data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}\n\n"),
        send("0\r\n\r\n"),
    ];
    let (lines, n_requests) = play(vec![thought, good()]).await;
    assert_eq!(lines[..2], ["started", "thinking"]);
    assert!(lines[2].starts_with("failed cut"), "{lines:?}");
    assert_eq!(n_requests, 1);
}

#[tokio::test]
async fn an_endpoint_that_keeps_failing_is_left_alone() {
    let double = Double::start(vec![answer("503 Service Unavailable", "", "")]).await;
    let busy = provider(&double, |_| {});
    for (n_requests, status) in [(3, Some(503)), (5, Some(503)), (5, None), (5, None)] {
        let events = events(&busy, request()).await;
        let Some(GenerationEvent::Failed(error)) = events.last() else {
            panic!("{events:?}");
        };
        assert_eq!(error.kind, ErrorKind::Overloaded);
        assert_eq!(error.status, status);
        assert_eq!(error.retry_after.is_some(), status.is_none());
        assert_eq!(double.requests().len(), n_requests);
    }

    // Time that ran out counts as well.
    let double = Double::start(vec![vec![events_head(), Act::Hang]]).await;
    let silent = provider(&double, |options| options.limits.first_token_ms = 100);
    join_all((0..5).map(|_| events(&silent, request()))).await;
    let n_requests = double.requests().len();
    let lines: Vec<_> = events(&silent, request()).await.iter().map(show).collect();
    assert_eq!(
        lines,
        ["failed overloaded the provider keeps failing and is left alone for a while"]
    );
    assert_eq!(double.requests().len(), n_requests);

    // What the request itself is to blame for does not count.
    let double = Double::start(vec![answer("400 Bad Request", "", "")]).await;
    let strict = provider(&double, |_| {});
    for _ in 0..8 {
        events(&strict, request()).await;
    }
    assert_eq!(double.requests().len(), 8);
}

#[tokio::test]
async fn a_wait_that_the_provider_asks_for_is_kept() {
    let double = Double::start(vec![
        answer("429 Too Many Requests", "retry-after-ms: 150\r\n", ""),
        answer(
            "429 Too Many Requests",
            "date: Mon, 01 Jan 2024 00:00:01 GMT\r\nretry-after: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
            "",
        ),
        vec![events_head(), token("x"), stop()],
    ])
    .await;
    let events = events(&provider(&double, |_| {}), request()).await;
    assert_eq!(events.last().unwrap().finish(), Some(Finish::Stop));
    let times = double.request_times();
    assert!(times[1] - times[0] >= Duration::from_millis(150));
    assert_eq!(times.len(), 3);
}

#[test]
fn waits_are_read_in_seconds_milliseconds_and_as_dates() {
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
    let check = |headers: &[(&'static str, &'static str)], expected_ms: Option<u64>| {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        let wait = super::super::fault::retry_after(&headers);
        assert_eq!(wait, expected_ms.map(Duration::from_millis), "{headers:?}");
    };
    check(&[], None);
    check(&[("retry-after", "3")], Some(3_000));
    check(&[("retry-after", "0.5")], Some(500));
    check(&[("retry-after", "3"), ("retry-after-ms", "40")], Some(40));
    check(&[("retry-after", "soon")], None);
    check(&[("retry-after", "-1")], None);
    check(&[("retry-after", "1e300")], None);
    check(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], None);
    check(
        &[
            ("date", "Wed, 21 Oct 2015 07:27:50 GMT"),
            ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ],
        Some(10_000),
    );
}

#[tokio::test]
async fn a_server_that_does_not_know_stream_options_is_asked_again_without() {
    let refusal = answer(
        "400 Bad Request",
        "",
        "{\"error\":{\"message\":\"Unrecognized request argument supplied: stream_options\"}}",
    );
    let good = vec![events_head(), token("x"), stop()];
    let double = Double::start(vec![refusal, good]).await;
    let provider = provider(&double, |_| {});
    for _ in 0..2 {
        let events = events(&provider, request()).await;
        assert_eq!(events.last().unwrap().finish(), Some(Finish::Stop));
    }
    let asked: Vec<bool> = double
        .requests()
        .iter()
        .map(|(_, body)| body.get("stream_options").is_some())
        .collect();
    // The second generation knows better from the start.
    assert_eq!(asked, [true, false, false]);
}

#[tokio::test]
async fn an_empty_answer_is_empty_and_an_open_end_does_not_keep_anybody_waiting() {
    let (lines, _) = play(vec![vec![events_head(), token(" \n"), stop()]]).await;
    assert_eq!(lines.last().unwrap(), "finished empty input=- output=-");

    let reason =
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
    let usage =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":1}}\n\n";
    let double = Double::start(vec![vec![
        events_head(),
        chunk(reason),
        chunk(usage),
        Act::Hang,
    ]])
    .await;
    let provider = provider(&double, |options| {
        options.limits = Limits {
            trailer_ms: 100,
            ..Limits::default()
        };
    });
    let start = Instant::now();
    let open_end = events(&provider, request()).await;
    assert_eq!(
        show(open_end.last().unwrap()),
        "finished stop input=4 output=1"
    );
    assert!(start.elapsed() < Duration::from_secs(10));

    // A connection that breaks after the end has not broken the answer.
    let (lines, _) = play(vec![vec![
        events_head(),
        chunk(reason),
        Act::PauseMs(20),
        Act::Reset,
    ]])
    .await;
    assert_eq!(lines.last().unwrap(), "finished stop input=- output=-");
}

#[tokio::test]
async fn a_json_answer_to_a_streaming_request_is_taken_as_one_text() {
    let body = "{\"choices\":[{\"message\":{\"content\":\"All at once.\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}";
    let (lines, _) = play(vec![answer(
        "200 OK",
        "content-type: application/json\r\n",
        body,
    )])
    .await;
    assert_eq!(
        lines,
        [
            "started",
            "text \"All at once.\"",
            "finished stop input=3 output=4"
        ]
    );
}

#[tokio::test]
async fn a_flood_is_cut_within_bounds_and_the_provider_is_let_go() {
    let text = "a".repeat(1000);
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let comment = ": ping\n\n".repeat(100);
    let line = "a".repeat(10_000);
    for (flood, limit, answer_bytes) in [
        (
            event.as_str(),
            "the answer is longer than 262144 bytes",
            262_144,
        ),
        (
            comment.as_str(),
            "the provider sent more than 3000000 bytes",
            0,
        ),
        (
            line.as_str(),
            "the provider sent an event of more than 1048576 bytes",
            0,
        ),
    ] {
        let flood = format!("{:x}\r\n{flood}\r\n", flood.len());
        let mut double =
            Double::start(vec![vec![events_head(), Act::Flood(flood.into_bytes())]]).await;
        let provider = provider(&double, |options| {
            options.limits = Limits {
                stream_bytes_max: 3_000_000,
                ..Limits::default()
            }
        });
        let events = events(&provider, request()).await;
        let n_bytes: usize = events
            .iter()
            .map(|event| match event {
                GenerationEvent::Text(text) => text.len(),
                _ => 0,
            })
            .sum();
        assert_eq!(n_bytes, answer_bytes);
        let Some(GenerationEvent::Failed(error)) = events.last() else {
            panic!("{limit}");
        };
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::TooLarge, limit)
        );
        assert_eq!(error.finish(), Finish::Cut);
        timeout(Duration::from_secs(1), double.closed.recv())
            .await
            .expect("the provider is let go");
    }
}

#[tokio::test]
async fn a_listener_who_leaves_ends_the_request_at_once() {
    // Before the header, after the header, and after a token.
    for acts in [
        vec![Act::Hang],
        vec![events_head(), Act::Hang],
        vec![events_head(), token("x"), Act::Hang],
    ] {
        let n_events = acts.len() - 1;
        let mut double = Double::start(vec![acts]).await;
        let provider = provider(&double, |options| options.limits = Limits::default());
        let mut events = provider.generate(request(), 1);
        for _ in 0..n_events {
            events.next().await.unwrap();
        }
        let more = timeout(Duration::from_millis(100), events.next()).await;
        assert!(more.is_err(), "{more:?}");
        let left_at = Instant::now();
        drop(events);
        let closed_at = timeout(Duration::from_secs(1), double.closed.recv())
            .await
            .expect("the connection is closed within a second")
            .unwrap();
        assert!(closed_at - left_at < Duration::from_secs(1));
    }
}

#[tokio::test]
async fn nothing_is_sent_before_somebody_listens() {
    let double = Double::start(vec![vec![events_head(), token("x"), stop()]]).await;
    let unheard = provider(&double, |_| {}).generate(request(), 1);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(double.requests().len(), 0);
    drop(unheard);
}

#[tokio::test]
async fn a_hundred_generations_at_once_are_not_mixed_up() {
    // The double answers every request with the same stream; each side must get the whole of it.
    let double = Double::start(vec![vec![
        events_head(),
        token("one "),
        Act::PauseMs(20),
        token("two"),
        stop(),
    ]])
    .await;
    let provider = provider(&double, |options| options.limits = Limits::default());
    let all = join_all((0..100).map(|_| events(&provider, request()))).await;
    for events in all {
        assert!(matches!(
            events.last(),
            Some(GenerationEvent::Finished {
                finish: Finish::Stop,
                usage: Usage {
                    input_tokens: None,
                    output_tokens: None
                }
            })
        ));
        assert_eq!(events.len(), 4, "{events:?}");
    }
}
