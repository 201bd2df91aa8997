//! The OpenAI chat completions format, which most servers speak: what to send, and where.
//!
//! Wire format: `POST {base_url}/chat/completions` with `stream: true`, answered by server-sent events; an image travels as a data URL.

mod breaker;
mod decode;
mod exchange;
pub(crate) mod fault;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use base64::Engine as _;
use breaker::Breaker;
use bytes::Bytes;
use reqwest::Url;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    ApiKey, Client, Error, ErrorKind, GenerationStream, Limits, Message, Request, Role, limit,
};

/// What counts as the end of an answer that states no `finish_reason`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndRule {
    /// Nothing does: without a `finish_reason` the answer is cut.
    FinishReason,
    /// The `[DONE]` marker does. Some servers send no more than that.
    #[default]
    DoneMarker,
    /// A clean close of the stream does too, once there is text. A broken connection never does.
    Close,
}

/// The name of the field that holds the most tokens an answer may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenLimitField {
    /// `max_tokens`, which nearly all servers read.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which newer models of OpenAI insist on.
    MaxCompletionTokens,
}

/// How one model at one endpoint is reached.
#[derive(Clone, Debug)]
pub struct OpenAiOptions {
    /// The address below which `chat/completions` lies, such as `http://127.0.0.1:8081/v1`.
    pub base_url: String,
    /// The model's name at this endpoint.
    pub model: String,
    /// The key, when the endpoint wants one.
    pub api_key: Option<ApiKey>,
    /// Whether to ask for the count of tokens. A server that refuses the question is asked again without it.
    pub include_usage: bool,
    /// The name of the field for the token limit.
    pub token_limit_field: TokenLimitField,
    /// What counts as the end of an answer that states no `finish_reason`.
    pub end_rule: EndRule,
    /// Further fields of the request, such as `reasoning_effort`.
    pub extra_body: Map<String, Value>,
    /// Limits on each generation.
    pub limits: Limits,
}

impl OpenAiOptions {
    /// A model at an endpoint, with defaults for everything else.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            include_usage: true,
            token_limit_field: TokenLimitField::default(),
            end_rule: EndRule::default(),
            extra_body: Map::new(),
            limits: Limits::default(),
        }
    }
}

/// One model at one OpenAI-compatible endpoint. Clones are the same one.
#[derive(Clone, Debug)]
pub struct OpenAi(Arc<Endpoint>);

#[derive(Debug)]
struct Endpoint {
    client: Client,
    url: Url,
    authorization: Option<reqwest::header::HeaderValue>,
    options: OpenAiOptions,
    /// Whether the server has refused `stream_options` before.
    refuses_stream_options: AtomicBool,
    breaker: Breaker,
}

/// Fields that the request itself decides on.
const RESERVED_FIELDS: [&str; 9] = [
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
];

impl OpenAi {
    /// Checks the options; nothing is sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] when the address, the key, the model's name or an extra field cannot be used.
    pub fn new(client: &Client, options: OpenAiOptions) -> Result<Self, Error> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Configuration, message));
        let url = chat_url(&options.base_url)?;
        if url.scheme() == "https"
            && let Some(problem) = client.certificates_problem()
        {
            return refuse(format!(
                "no `https://` server can be verified on this machine, install its root certificates: {problem}"
            ));
        }
        if options.model.trim().is_empty() {
            return refuse("the model's name is empty: expected its name at the endpoint".into());
        }
        if let Some(field) = RESERVED_FIELDS
            .into_iter()
            .find(|field| options.extra_body.contains_key(*field))
        {
            return refuse(format!(
                "`{field}` cannot be an extra field: the request sets it"
            ));
        }
        let authorization = options.api_key.as_ref().map(ApiKey::bearer).transpose()?;
        Ok(Self(Arc::new(Endpoint {
            client: client.clone(),
            url,
            authorization,
            options,
            refuses_stream_options: AtomicBool::new(false),
            breaker: Breaker::default(),
        })))
    }

    /// One answer; see [`crate::Provider::generate`].
    pub(crate) fn generate(&self, request: Request, seed: u64) -> GenerationStream {
        let limits = self.0.options.limits;
        limit::guard(exchange::events(Arc::clone(&self.0), request, seed), limits)
    }
}

/// The address that requests go to.
fn chat_url(base_url: &str) -> Result<Url, Error> {
    let refuse = |problem: &str| {
        // The address is not repeated: it may hold a password.
        let message = format!(
            "the base URL {problem}: expected an address such as `http://127.0.0.1:8081/v1`"
        );
        Err(Error::new(ErrorKind::Configuration, message))
    };
    let Ok(mut url) = Url::parse(base_url.trim()) else {
        return refuse("is not a URL");
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refuse("is neither `http://` nor `https://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("holds a user name or password");
    }
    if url.fragment().is_some() {
        return refuse("holds a `#`");
    }
    if url
        .path()
        .trim_end_matches('/')
        .ends_with("/chat/completions")
    {
        return refuse("ends in `/chat/completions`, which is added to it");
    }
    let Ok(mut segments) = url.path_segments_mut() else {
        return refuse("has no path");
    };
    segments.pop_if_empty().extend(["chat", "completions"]);
    drop(segments);
    Ok(url)
}

impl Endpoint {
    fn wants_usage(&self) -> bool {
        self.options.include_usage && !self.refuses_stream_options.load(Ordering::Relaxed)
    }

    /// The body of the request, as JSON.
    fn body(&self, request: &Request, include_usage: bool) -> Result<Bytes, Error> {
        let system = request.system.as_deref().map(|text| WireMessage {
            role: "system",
            content: Content::Text(text),
        });
        let (max_tokens, max_completion_tokens) = match self.options.token_limit_field {
            TokenLimitField::MaxTokens => (request.max_output_tokens, None),
            TokenLimitField::MaxCompletionTokens => (None, request.max_output_tokens),
        };
        let body = Body {
            model: &self.options.model,
            messages: system
                .into_iter()
                .chain(request.messages.iter().map(wire_message))
                .collect(),
            stream: true,
            stream_options: include_usage.then_some(StreamOptions {
                include_usage: true,
            }),
            max_tokens,
            max_completion_tokens,
            temperature: request.temperature,
            top_p: request.top_p,
            extra: &self.options.extra_body,
        };
        serde_json::to_vec(&body)
            .map(Bytes::from)
            .map_err(|source| {
                Error::new(
                    ErrorKind::RejectedRequest,
                    "the request cannot be written as JSON",
                )
                .with_source(source)
            })
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

fn wire_message(message: &Message) -> WireMessage<'_> {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    // Plain text stays a string: not every server reads a list of parts.
    let Some(image) = &message.image else {
        return WireMessage {
            role,
            content: Content::Text(&message.text),
        };
    };
    let mut parts = Vec::new();
    if !message.text.is_empty() {
        parts.push(Part::Text {
            text: &message.text,
        });
    }
    let mut url = format!("data:{};base64,", image.media_type);
    base64::engine::general_purpose::STANDARD.encode_string(&image.bytes, &mut url);
    parts.push(Part::ImageUrl {
        image_url: ImageUrl { url },
    });
    WireMessage {
        role,
        content: Content::Parts(parts),
    }
}

#[cfg(test)]
pub(crate) mod tests;
