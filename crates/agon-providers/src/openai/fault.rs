//! What a failure says, sorted into kinds.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::{Error, ErrorKind, redaction::Redaction};

/// What a provider says about a failure of its own.
#[derive(Debug, Default)]
pub(super) struct Fault {
    status: Option<u16>,
    message: String,
    /// `code`, `type` and the like, in lower case, which classify better than prose.
    codes: String,
}

impl Fault {
    /// From the `error` value inside an answer or event.
    pub(super) fn from_error(error: &Value) -> Self {
        let mut fault = Self::default();
        fault.read(error);
        fault
    }

    /// From the status and body of an answer that is not a success.
    pub(super) fn from_answer(status: u16, body: &[u8]) -> Self {
        let mut fault = Self {
            status: Some(status),
            ..Self::default()
        };
        match serde_json::from_slice::<Value>(body) {
            Ok(body) => fault.read(body.get("error").unwrap_or(&body)),
            Err(_) => fault.message = prose(body),
        }
        // The status line counts more than a code inside.
        fault.status = Some(status);
        fault
    }

    /// From the data of an event named `error`.
    pub(super) fn from_data(data: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(data) {
            Ok(body) => Self::from_error(body.get("error").unwrap_or(&body)),
            Err(_) => Self {
                message: prose(data),
                ..Self::default()
            },
        }
    }

    fn read(&mut self, error: &Value) {
        match error {
            Value::String(message) => self.message.clone_from(message),
            Value::Object(fields) => {
                self.message = ["message", "detail", "error", "msg"]
                    .iter()
                    .find_map(|name| match fields.get(*name)? {
                        Value::String(message) => Some(message.clone()),
                        Value::Null => None,
                        other => Some(other.to_string()),
                    })
                    .unwrap_or_default();
                for name in ["code", "type", "status"] {
                    match fields.get(name) {
                        Some(Value::String(code)) => self.read_code(code),
                        Some(Value::Number(code)) => self.read_code(&code.to_string()),
                        _ => {}
                    }
                }
            }
            Value::Array(errors) => {
                if let Some(first) = errors.first() {
                    self.read(first.get("error").unwrap_or(first));
                }
            }
            _ => {}
        }
    }

    fn read_code(&mut self, code: &str) {
        if let Ok(status) = code.parse()
            && (400..600).contains(&status)
        {
            self.status.get_or_insert(status);
            return;
        }
        if !self.codes.is_empty() {
            self.codes.push(' ');
        }
        self.codes.push_str(&code.to_lowercase());
    }

    /// Whether the server objects to the question for the count of tokens.
    pub(super) fn is_about_stream_options(&self) -> bool {
        matches!(self.status, Some(400 | 422))
            && (self.message.contains("stream_options") || self.message.contains("include_usage"))
    }

    fn kind(&self, has_image: bool) -> ErrorKind {
        let message = self.message.to_lowercase();
        let status = self.status.unwrap_or(0);
        let codes_hold = |words: &[&str]| words.iter().any(|word| self.codes.contains(word));
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let is_refusal = status == 0 || (400..500).contains(&status) && status != 429;
        if is_refusal
            && (codes_hold(&["content_filter", "content_policy", "moderation", "safety"])
                || says(&["content management policy", "content policy", "flagged"]))
        {
            return ErrorKind::FilteredContent;
        }
        if status == 402
            || codes_hold(&["insufficient_quota", "billing", "payment"])
            || says(&[
                "insufficient credit",
                "insufficient balance",
                "exceeded your current quota",
                "payment required",
            ])
        {
            return ErrorKind::Payment;
        }
        if has_image
            && says(&["image", "multimodal", "multi-modal", "vision", "mmproj"])
            && (is_refusal || says(&["support"]))
        {
            return ErrorKind::ImageRejected;
        }
        if matches!(status, 401 | 403)
            || codes_hold(&[
                "invalid_api_key",
                "authentication",
                "permission",
                "unauthorized",
            ])
        {
            return ErrorKind::BadCredentials;
        }
        if status == 429 || codes_hold(&["rate_limit", "too_many_requests", "resource_exhausted"]) {
            return ErrorKind::RateLimited;
        }
        if matches!(status, 408 | 504 | 524) || codes_hold(&["timeout"]) {
            return ErrorKind::Timeout;
        }
        if status >= 500 {
            return ErrorKind::Overloaded;
        }
        if status == 413 && has_image {
            return ErrorKind::ImageRejected;
        }
        if status >= 300
            || codes_hold(&[
                "invalid_request",
                "bad_request",
                "badrequest",
                "not_found",
                "context_length",
            ])
        {
            return ErrorKind::RejectedRequest;
        }
        // An error that says no more than that there is one.
        ErrorKind::Overloaded
    }

    /// The failure as the rest of the program knows it.
    pub(super) fn into_error(self, has_image: bool, redaction: &Redaction) -> Error {
        let kind = self.kind(has_image);
        let mut message = match self.status {
            Some(status @ 300..400) => format!(
                "the provider redirects (status `{status}`), which is not followed: expected the final address as base URL"
            ),
            Some(status) => format!("the provider answered with status `{status}`"),
            None => "the provider sent an error".to_owned(),
        };
        for part in [&self.codes, &self.message] {
            if !part.is_empty() {
                message.push_str(": ");
                message.push_str(&redaction.quote(part));
            }
        }
        let mut error = Error::new(kind, message);
        error.status = self.status;
        error
    }
}

/// What a body that is not JSON says: text as it is, a page or bytes by name only.
fn prose(body: &[u8]) -> String {
    match std::str::from_utf8(body) {
        Ok(text) if text.trim_start().starts_with('<') => "an HTML or XML page".to_owned(),
        Ok(text) => text.trim().to_owned(),
        Err(_) => format!("{} bytes that are not text", body.len()),
    }
}

/// How long the headers of an answer ask to wait.
///
/// `retry-after-ms`, else `retry-after` in seconds or as a date, which is read against the answer's own `date`, so that no clock is needed.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let instant = |text: &str| Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp());
    let wait = instant(after)?.duration_since(instant(text("date")?)?);
    // A date in the past asks for no wait.
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}
