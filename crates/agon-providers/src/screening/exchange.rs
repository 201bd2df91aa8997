//! One question to a screening service: sending it, asking again where that is safe, and reading a bounded answer.
//!
//! Nothing of what a service says is repeated in an error, because services echo what they were sent; only its status and codes from a list of our own are.

use std::{fmt, time::Duration};

use agon_domain::DetectorFailureKind;
use base64::Engine as _;
use bytes::Bytes;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::{
    RequestBuilder, Response, Url,
    header::{self, HeaderName, HeaderValue},
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{ApiKey, Client, Error, ErrorKind, openai::fault::retry_after};

/// The most retries that options may ask for.
pub const RETRIES_MAX: u32 = 2;

/// How much of the body of a refusal is read, in bytes.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// Limits on one question to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// From the question to its answer, retries and pauses included, in milliseconds.
    pub timeout_ms: u64,
    /// How often a question is sent again after a failure that may pass; at most [`RETRIES_MAX`].
    pub retries_max: u32,
    /// The pause before the first retry, in milliseconds; it doubles, and chance makes it up to half shorter or longer.
    pub retry_pause_ms: u64,
    /// The longest pause that a service may ask for, in milliseconds. One that asks for more is not asked again.
    pub retry_after_ms_max: u64,
    /// Bytes of an answer.
    pub answer_bytes_max: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            timeout_ms: 10_000,
            retries_max: 2,
            retry_pause_ms: 250,
            retry_after_ms_max: 5_000,
            answer_bytes_max: 1024 * 1024,
        }
    }
}

/// Where a service is and how it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceOptions {
    /// The address below which the service's paths lie, such as `https://example.cognitiveservices.azure.com`.
    pub endpoint: String,
    /// The key, token or password. `None` where the service wants none.
    pub key: Option<ApiKey>,
    /// Limits on each question.
    pub limits: CallLimits,
}

impl ServiceOptions {
    /// A service at an address, with a key and default limits.
    pub fn new(endpoint: impl Into<String>, key: Option<ApiKey>) -> Self {
        Self {
            endpoint: endpoint.into(),
            key,
            limits: CallLimits::default(),
        }
    }
}

/// How a service wants its key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Credential<'a> {
    /// In a header of this name.
    Header(&'static str),
    /// As `authorization: Bearer`.
    Bearer,
    /// As the password of this user.
    Basic(&'a str),
    /// In a header of `authorization: Bearer` when there is one.
    OptionalBearer,
}

/// Why a service gave no answer, before it is known which detector that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) kind: DetectorFailureKind,
    /// Without content and keys.
    pub(super) detail: String,
    /// Whether the same question may be answered a little later.
    pub(super) may_pass: bool,
    pub(super) retry_after: Option<Duration>,
    /// Whether the service certainly did not act on the question.
    pub(super) is_refusal: bool,
    /// The status of HTTP, when it is not success.
    pub(super) status: Option<u16>,
}

impl Trouble {
    pub(super) fn new(kind: DetectorFailureKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            may_pass: false,
            retry_after: None,
            is_refusal: false,
            status: None,
        }
    }

    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(DetectorFailureKind::Malformed, detail)
    }

    pub(super) fn unsupported(detail: impl Into<String>) -> Self {
        let mut trouble = Self::new(DetectorFailureKind::Unsupported, detail);
        trouble.is_refusal = true;
        trouble
    }

    pub(super) fn passing(mut self) -> Self {
        self.may_pass = true;
        self
    }
}

/// A service that can be asked.
#[derive(Clone)]
pub(super) struct Caller {
    client: Client,
    base: Url,
    authorization: Option<(HeaderName, HeaderValue)>,
    pub(super) limits: CallLimits,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("host", &self.base.host_str())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Caller {
    pub(super) fn new(
        client: &Client,
        options: &ServiceOptions,
        credential: Credential<'_>,
    ) -> Result<Self, Error> {
        let base = base_url(&options.endpoint)?;
        if base.scheme() == "https"
            && let Some(problem) = client.certificates_problem()
        {
            return refuse(format!(
                "no `https://` server can be verified on this machine, install its root certificates: {problem}"
            ));
        }
        if options.limits.retries_max > RETRIES_MAX {
            return refuse(format!(
                "`{}` retries are too many: expected at most {RETRIES_MAX}",
                options.limits.retries_max
            ));
        }
        if options.limits.timeout_ms == 0 || options.limits.answer_bytes_max == 0 {
            return refuse(
                "a limit on time or size of `0` lets no answer through: expected at least 1".into(),
            );
        }
        Ok(Self {
            client: client.clone(),
            base,
            authorization: authorization(options.key.as_ref(), credential)?,
            limits: options.limits,
        })
    }

    /// An address below the endpoint. A final `/` in `path` is kept.
    pub(super) fn url(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        let joined = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&joined);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    pub(super) fn get(&self, url: Url) -> RequestBuilder {
        self.authorised(self.client.get(url))
    }

    pub(super) fn post(&self, url: Url) -> RequestBuilder {
        self.authorised(self.client.post(url))
    }

    fn authorised(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.authorization {
            Some((name, value)) => request.header(name, value.clone()),
            None => request,
        }
    }

    /// Posts a body of this media type, which may be asked twice, until `read` makes something of a successful answer or the limits are reached.
    pub(super) async fn ask<T>(
        &self,
        url: Url,
        media_type: &str,
        body: impl Into<Bytes>,
        read: impl Fn(&[u8]) -> Result<T, Trouble>,
        seed: u64,
    ) -> Result<T, Trouble> {
        let body = body.into();
        let request = || {
            self.post(url.clone())
                .header(header::CONTENT_TYPE, media_type)
                .body(body.clone())
        };
        self.ask_for_reply(request, |reply| read(&reply.success()?), seed)
            .await
    }

    /// The same for a service whose refusals are to be read too.
    pub(super) async fn ask_for_reply<T>(
        &self,
        request: impl Fn() -> RequestBuilder,
        read: impl Fn(Reply) -> Result<T, Trouble>,
        seed: u64,
    ) -> Result<T, Trouble> {
        let deadline = Instant::now() + Duration::from_millis(self.limits.timeout_ms);
        let mut rng = StdRng::seed_from_u64(seed);
        let mut n_retries = 0;
        loop {
            let reply = self.once_until(request(), deadline).await;
            let trouble = match reply.and_then(&read) {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            if !trouble.may_pass || n_retries >= self.limits.retries_max {
                return Err(trouble);
            }
            let base_ms = self.limits.retry_pause_ms.saturating_mul(1 << n_retries);
            let pause = Duration::from_millis(base_ms).mul_f64(rng.random_range(0.5..1.5));
            let asked = trouble.retry_after.unwrap_or_default();
            let pause = pause.max(asked);
            // A pause that the limit on time would cut only hides the real reason.
            if asked > Duration::from_millis(self.limits.retry_after_ms_max)
                || Instant::now() + pause >= deadline
            {
                return Err(trouble);
            }
            n_retries += 1;
            tracing::warn!(
                failure.kind = trouble.kind.as_str(),
                failure.status = trouble.status,
                pause_ms = pause.as_millis(),
                "a screening service failed and is asked again"
            );
            sleep(pause).await;
        }
    }

    /// Sends a request exactly once.
    pub(super) async fn once(&self, request: RequestBuilder) -> Result<Reply, Trouble> {
        let deadline = Instant::now() + Duration::from_millis(self.limits.timeout_ms);
        self.once_until(request, deadline).await
    }

    async fn once_until(
        &self,
        request: RequestBuilder,
        deadline: Instant,
    ) -> Result<Reply, Trouble> {
        timeout_at(deadline, self.exchange(request))
            .await
            .unwrap_or_else(|_| {
                Err(Trouble::new(
                    DetectorFailureKind::TimedOut,
                    format!("no answer within {} ms", self.limits.timeout_ms),
                ))
            })
    }

    async fn exchange(&self, request: RequestBuilder) -> Result<Reply, Trouble> {
        let unreachable =
            |detail: &str| Trouble::new(DetectorFailureKind::Unreachable, detail).passing();
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() => {
                let mut trouble = unreachable("no connection to the service");
                trouble.is_refusal = true;
                return Err(trouble);
            }
            Err(_) => return Err(unreachable("the connection broke before the answer")),
        };
        let status = response.status();
        let wait = retry_after(response.headers());
        if !status.is_success() {
            // A body that is cut or too long says nothing; the status says enough.
            let body = read_body(response, REFUSAL_BYTES_MAX)
                .await
                .unwrap_or_default();
            return Ok(Reply {
                status: status.as_u16(),
                body,
                wait,
            });
        }
        let is_encoded = response
            .headers()
            .get(header::CONTENT_ENCODING)
            .is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"));
        if is_encoded {
            return Err(Trouble::malformed(
                "the answer is compressed, which was not asked for",
            ));
        }
        Ok(Reply {
            status: status.as_u16(),
            body: read_body(response, self.limits.answer_bytes_max).await?,
            wait,
        })
    }
}

/// What a service replied, success or not.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Bytes,
    wait: Option<Duration>,
}

impl Reply {
    /// The body of a success.
    pub(super) fn success(self) -> Result<Bytes, Trouble> {
        if (200..300).contains(&self.status) {
            Ok(self.body)
        } else {
            Err(self.refusal())
        }
    }

    /// Why the service did not answer, by its status.
    pub(super) fn refusal(&self) -> Trouble {
        refusal(self.status, &self.body, self.wait)
    }
}

/// Reads a body, refusing one that is too long or breaks off.
async fn read_body(mut response: Response, bytes_max: usize) -> Result<Bytes, Trouble> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > bytes_max => {
                return Err(Trouble::malformed(format!(
                    "the answer is longer than {bytes_max} bytes"
                )));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body.into()),
            Err(_) => {
                return Err(Trouble::new(
                    DetectorFailureKind::Unreachable,
                    "the connection broke in mid-answer",
                )
                .passing());
            }
        }
    }
}

/// Codes that services put into refusals. Others are not repeated.
const KNOWN_CODES: [&str; 24] = [
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INVALID_ARGUMENT",
    "InternalError",
    "InternalServerError",
    "InvalidArgument",
    "InvalidDocument",
    "InvalidImageFormat",
    "InvalidImageSize",
    "InvalidRequest",
    "InvalidRequestBody",
    "InvalidResourceName",
    "NotFound",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "ResourceNotFound",
    "ServerBusy",
    "TooManyRequests",
    "UNAUTHENTICATED",
    "Unauthorized",
    "UnsupportedLanguageCode",
    "insufficient_quota",
    "invalid_api_key",
    "rate_limit_exceeded",
];

/// A code that may be repeated.
pub(super) fn known_code(code: &str) -> Option<&'static str> {
    KNOWN_CODES.into_iter().find(|known| *known == code)
}

fn code_in(body: &[u8]) -> Option<&'static str> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = body.get("error")?;
    // Google puts its word into `status` beside a number in `code`.
    ["code", "status", "type"]
        .iter()
        .find_map(|name| known_code(error.get(*name)?.as_str()?))
}

fn refusal(status: u16, body: &[u8], wait: Option<Duration>) -> Trouble {
    let (kind, may_pass) = match status {
        401 | 403 | 407 => (DetectorFailureKind::BadCredentials, false),
        402 => (DetectorFailureKind::RateLimited, false),
        429 | 503 | 529 => (DetectorFailureKind::RateLimited, true),
        408 | 504 => (DetectorFailureKind::TimedOut, true),
        500.. => (DetectorFailureKind::Unreachable, true),
        400 | 406 | 411..=415 | 422 => (DetectorFailureKind::Unsupported, false),
        // Redirections, which are not followed, and addresses without a service.
        _ => (DetectorFailureKind::Malformed, false),
    };
    let code = code_in(body);
    // A quota that is used up does not come back within seconds.
    let may_pass = may_pass && code != Some("insufficient_quota");
    let mut detail = format!("the service answered with status `{status}`");
    if (300..400).contains(&status) {
        detail.push_str(", a redirection, which is not followed: expected the final address");
    }
    if let Some(code) = code {
        detail.push_str(&format!(" and code `{code}`"));
    }
    Trouble {
        kind,
        detail,
        may_pass,
        retry_after: wait,
        is_refusal: status < 500 && status != 408,
        status: Some(status),
    }
}

/// An answer in JSON. What it is instead is not said, because it may be what was sent.
pub(super) fn from_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Trouble> {
    serde_json::from_slice(body).map_err(|error| {
        let problem = match error.classify() {
            serde_json::error::Category::Data => "has fields missing or of another type",
            serde_json::error::Category::Eof => "breaks off",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => "is not JSON",
        };
        Trouble::malformed(format!(
            "the answer {problem} (line {}, column {})",
            error.line(),
            error.column()
        ))
    })
}

/// The bytes in Base64, as JSON takes them.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Configuration, message))
}

fn base_url(endpoint: &str) -> Result<Url, Error> {
    // The address is not repeated: it may hold a password.
    let problem = match Url::parse(endpoint.trim()) {
        Err(_) => "is not a URL",
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            "is neither `http://` nor `https://`"
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            "holds a user name or password"
        }
        Ok(url) if url.query().is_some() || url.fragment().is_some() => "holds a `?` or `#`",
        Ok(url) => return Ok(url),
    };
    refuse(format!(
        "the endpoint {problem}: expected an address such as `https://example.cognitiveservices.azure.com`"
    ))
}

fn authorization(
    key: Option<&ApiKey>,
    credential: Credential<'_>,
) -> Result<Option<(HeaderName, HeaderValue)>, Error> {
    let Some(key) = key else {
        return match credential {
            Credential::OptionalBearer => Ok(None),
            _ => refuse("the service wants a key and has none: expected one".into()),
        };
    };
    // The checks on what a key may hold are those of every provider.
    let bearer = key.bearer()?;
    Ok(Some(match credential {
        Credential::Bearer | Credential::OptionalBearer => (header::AUTHORIZATION, bearer),
        Credential::Header(name) => (
            HeaderName::from_static(name),
            sensitive(key.expose().to_owned())?,
        ),
        Credential::Basic(user) => {
            if user.is_empty() || user.contains(':') {
                return refuse(
                    "the user name is empty or holds a `:`: expected the one that the service gave"
                        .into(),
                );
            }
            let pair = to_base64(format!("{user}:{}", key.expose()).as_bytes());
            (header::AUTHORIZATION, sensitive(format!("Basic {pair}"))?)
        }
    }))
}

fn sensitive(value: String) -> Result<HeaderValue, Error> {
    let Ok(mut value) = HeaderValue::try_from(value) else {
        return refuse("the key holds a character that cannot be sent".into());
    };
    value.set_sensitive(true);
    Ok(value)
}
