//! Tests of the OpenAI format: what is sent, what is read, and what goes wrong on a real socket.

mod cassettes;
pub(crate) mod double;
mod wire;

use serde_json::json;

use super::*;
use crate::{ClientOptions, RequestImage};

fn endpoint(change: impl FnOnce(&mut OpenAiOptions)) -> Result<OpenAi, Error> {
    let client = Client::new(&ClientOptions::default()).unwrap();
    let mut options = OpenAiOptions::new("http://127.0.0.1:8081/v1", "some-model");
    change(&mut options);
    OpenAi::new(&client, options)
}

#[test]
fn requests_go_below_the_base_url() {
    let check = |base_url: &str, expected: &str| {
        assert_eq!(chat_url(base_url).unwrap().as_str(), expected);
    };
    let local = "http://127.0.0.1:8081/v1/chat/completions";
    check("http://127.0.0.1:8081/v1", local);
    check("http://127.0.0.1:8081/v1/", local);
    check(" http://127.0.0.1:8081/v1 ", local);
    check(
        "https://example.org",
        "https://example.org/chat/completions",
    );
    check(
        "https://example.org/openai/deployments/x?api-version=2",
        "https://example.org/openai/deployments/x/chat/completions?api-version=2",
    );
    check("http://[::1]:1/v1", "http://[::1]:1/v1/chat/completions");
}

#[test]
fn options_that_cannot_be_used_are_refused() {
    let check = |change: fn(&mut OpenAiOptions), expected: &str| {
        let error = endpoint(change).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(error.message.contains(expected), "{}", error.message);
        assert!(!error.message.contains("hunter2"), "{}", error.message);
    };
    check(|o| o.base_url = "127.0.0.1:8081".into(), "is not a URL");
    check(|o| o.base_url = String::new(), "is not a URL");
    check(
        |o| o.base_url = "ftp://example.org".into(),
        "is neither `http://` nor `https://`",
    );
    check(
        |o| o.base_url = "localhost:8081/v1".into(),
        "is neither `http://` nor `https://`",
    );
    check(
        |o| o.base_url = "http://me:hunter2@example.org/v1".into(),
        "holds a user name or password",
    );
    check(
        |o| o.base_url = "http://example.org/v1#x".into(),
        "holds a `#`",
    );
    check(
        |o| o.base_url = "http://example.org/v1/chat/completions/".into(),
        "which is added to it",
    );
    check(|o| o.model = " ".into(), "the model's name is empty");
    check(
        |o| o.api_key = Some(ApiKey::new("hunter2\r\nx: y")),
        "cannot be sent",
    );
    check(
        |o| o.extra_body = Map::from_iter([("stream".to_owned(), false.into())]),
        "`stream` cannot be an extra field",
    );
}

#[test]
fn a_debug_print_of_a_provider_shows_no_key() {
    let provider = endpoint(|o| o.api_key = Some(ApiKey::new("hunter2"))).unwrap();
    let shown = format!("{:?}", crate::Provider::from(provider));
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[track_caller]
fn check_body(change: fn(&mut OpenAiOptions), request: &Request, expected: &Value) {
    let OpenAi(endpoint) = endpoint(change).unwrap();
    let body = endpoint.body(request, endpoint.wants_usage()).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(&body, expected);
}

#[test]
fn a_conversation_with_an_image_is_written_as_the_format_wants_it() {
    let image = RequestImage {
        media_type: "image/png".to_owned(),
        bytes: Bytes::from_static(b"\x89PNG\r\n\x1a\n"),
        width_px: 2,
        height_px: 1,
    };
    let request = Request {
        messages: vec![
            Message::user("what is \"this\"?").with_image(image.clone()),
            Message::assistant("a cat"),
            Message::user("sure?"),
        ],
        system: Some("be brief".to_owned()),
        max_output_tokens: Some(64),
        temperature: Some(0.7),
        top_p: Some(0.95),
    };
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [
                {"type": "text", "text": "what is \"this\"?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ]},
            {"role": "assistant", "content": "a cat"},
            {"role": "user", "content": "sure?"},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 64,
        "temperature": 0.7,
        "top_p": 0.95,
    });
    check_body(|_| {}, &request, &expected);
    check_body(
        |_| {},
        &Request::new(vec![Message::user("").with_image(image)]),
        &json!({
            "model": "some-model",
            "messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ]}],
            "stream": true,
            "stream_options": {"include_usage": true},
        }),
    );
}

#[test]
fn what_a_server_dislikes_can_be_left_out_or_renamed() {
    let mut request = Request::new(vec![Message::user("hi")]);
    request.max_output_tokens = Some(5);
    check_body(
        |options| {
            options.include_usage = false;
            options.token_limit_field = TokenLimitField::MaxCompletionTokens;
            options.extra_body = Map::from_iter([("reasoning_effort".to_owned(), "low".into())]);
        },
        &request,
        &json!({
            "model": "some-model",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": true,
            "max_completion_tokens": 5,
            "reasoning_effort": "low",
        }),
    );
}
