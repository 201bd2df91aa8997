//! What an endpoint answers, as generation events, without input or output.
//!
//! Servers that call themselves compatible differ in almost every detail; each known quirk has a folder under `tests/cassettes/openai/`.

use agon_domain::{Finish, Usage};
use serde_json::Value;

use super::{EndRule, fault::Fault};
use crate::{
    Error, ErrorKind, GenerationEvent,
    redaction::Redaction,
    sse::{SseDecoder, SseEvent},
};

/// How the connection ended.
#[derive(Debug)]
pub(super) enum Close {
    /// As the protocol wants it.
    Clean,
    /// In the middle of something.
    Broken(Error),
}

/// The state between two chunks of one answer.
pub(super) struct Decoder {
    format: Format,
    end_rule: EndRule,
    event_bytes_max: usize,
    has_image: bool,
    redaction: Redaction,
    finish: Option<Finish>,
    usage: Usage,
    has_text: bool,
    ended: bool,
}

/// What the body turns out to be. The content type says little: some servers send events as plain text, or JSON as events.
enum Format {
    /// Only white space so far.
    Unknown(Vec<u8>),
    Events(SseDecoder),
    Json(Vec<u8>),
}

impl Decoder {
    pub(super) fn new(
        end_rule: EndRule,
        event_bytes_max: usize,
        has_image: bool,
        redaction: Redaction,
    ) -> Self {
        Self {
            format: Format::Unknown(Vec::new()),
            end_rule,
            event_bytes_max,
            has_image,
            redaction,
            finish: None,
            usage: Usage::default(),
            has_text: false,
            ended: false,
        }
    }

    /// Whether the model has said that it is done, so that only a count of tokens may follow.
    pub(super) const fn has_finish(&self) -> bool {
        self.finish.is_some()
    }

    /// The events that `chunk` completes. After a terminal one there is none.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<GenerationEvent> {
        let mut events = Vec::new();
        if !self.ended
            && let Err(error) = self.try_push(chunk, &mut events)
        {
            self.fail(error, &mut events);
        }
        events
    }

    /// The events that the end of the body completes, the last of which is terminal unless there was one before.
    pub(super) fn close(&mut self, close: Close) -> Vec<GenerationEvent> {
        let mut events = Vec::new();
        if !self.ended
            && let Err(error) = self.try_close(close, &mut events)
        {
            self.fail(error, &mut events);
        }
        events
    }

    fn fail(&mut self, error: Error, events: &mut Vec<GenerationEvent>) {
        self.ended = true;
        events.push(GenerationEvent::Failed(error));
    }

    fn try_push(&mut self, chunk: &[u8], events: &mut Vec<GenerationEvent>) -> Result<(), Error> {
        match &mut self.format {
            Format::Unknown(head) => {
                head.extend_from_slice(chunk);
                let start = head
                    .iter()
                    .position(|byte| !b"\xef\xbb\xbf \t\r\n".contains(byte));
                let Some(start) = start else {
                    return if head.len() > self.event_bytes_max {
                        Err(self.too_long())
                    } else {
                        Ok(())
                    };
                };
                let head = std::mem::take(head);
                match head[start] {
                    b'{' | b'[' => self.format = Format::Json(Vec::new()),
                    b'<' => return Err(malformed("the provider sent an HTML or XML page")),
                    0..=0x1f | 0x7f..=0xff => {
                        return Err(malformed("the provider sent bytes that are not text"));
                    }
                    _ => self.format = Format::Events(SseDecoder::new(self.event_bytes_max)),
                }
                // White space before JSON is nothing; before events it may be blank lines, which are nothing either.
                self.try_push(&head[start..], events)
            }
            Format::Json(body) => {
                if body.len() + chunk.len() > self.event_bytes_max {
                    return Err(self.too_long());
                }
                body.extend_from_slice(chunk);
                Ok(())
            }
            Format::Events(decoder) => {
                let (complete, too_long) = decoder.push(chunk);
                for event in complete {
                    self.take_event(&event, events)?;
                    if self.ended {
                        return Ok(());
                    }
                }
                match too_long {
                    Some(_) => Err(self.too_long()),
                    None => Ok(()),
                }
            }
        }
    }

    fn try_close(&mut self, close: Close, events: &mut Vec<GenerationEvent>) -> Result<(), Error> {
        let is_clean = matches!(close, Close::Clean);
        match &mut self.format {
            Format::Unknown(_) => {}
            Format::Json(body) => {
                let body = std::mem::take(body);
                // Half a document from a broken connection says nothing about the protocol.
                if is_clean || serde_json::from_slice::<Value>(&body).is_ok() {
                    self.take_documents(&body, events)?;
                    return if self.ended {
                        Ok(())
                    } else {
                        self.take_done(events)
                    };
                }
            }
            Format::Events(decoder) => {
                let last = decoder.finish();
                let has_foreign_lines = decoder.has_only_foreign_lines();
                if let Some(event) = last {
                    // Half an event is what a cut looks like, so its fault is the cut.
                    let is_whole = is_whole(&event.data);
                    if is_whole {
                        self.take_event(&event, events)?;
                        if self.ended {
                            return Ok(());
                        }
                    }
                } else if has_foreign_lines && is_clean {
                    return Err(malformed(
                        "the provider sent text that is not an event stream",
                    ));
                }
            }
        }
        match close {
            _ if self.finish.is_some() => self.take_done(events),
            Close::Clean if self.end_rule == EndRule::Close && self.has_text => {
                self.take_done(events)
            }
            Close::Clean => Err(Error::new(
                ErrorKind::Cut,
                "the provider closed the stream without a finish reason",
            )),
            Close::Broken(error) => Err(error),
        }
    }

    fn too_long(&self) -> Error {
        let message = format!(
            "the provider sent an event of more than {} bytes",
            self.event_bytes_max
        );
        Error::new(ErrorKind::TooLarge, message)
    }

    /// The end that the protocol states.
    fn take_done(&mut self, events: &mut Vec<GenerationEvent>) -> Result<(), Error> {
        let finish = match self.finish {
            Some(finish) => finish,
            None if self.end_rule == EndRule::FinishReason => {
                let message = "the provider ended the stream without a finish reason";
                return Err(Error::new(ErrorKind::Cut, message));
            }
            None => Finish::Stop,
        };
        self.ended = true;
        events.push(GenerationEvent::Finished {
            finish,
            usage: self.usage,
        });
        Ok(())
    }

    fn take_event(
        &mut self,
        event: &SseEvent,
        events: &mut Vec<GenerationEvent>,
    ) -> Result<(), Error> {
        let data = event.data.trim_ascii();
        if event.name == "error" {
            return Err(Fault::from_data(data).into_error(self.has_image, &self.redaction));
        }
        let (documents, is_done) = split_done(data);
        self.take_documents(documents, events)?;
        if is_done && !self.ended {
            self.take_done(events)?;
        }
        Ok(())
    }

    /// JSON documents one after the other; usually there is one.
    fn take_documents(
        &mut self,
        data: &[u8],
        events: &mut Vec<GenerationEvent>,
    ) -> Result<(), Error> {
        for document in serde_json::Deserializer::from_slice(data).into_iter::<Value>() {
            let document = document.map_err(|source| {
                // The position is told, the content is not: it may be the answer.
                let message = format!(
                    "the provider sent data that is not JSON (line {}, column {} of {} bytes)",
                    source.line(),
                    source.column(),
                    data.len()
                );
                malformed(message)
            })?;
            self.take_chunk(&document, events)?;
        }
        Ok(())
    }

    fn take_chunk(
        &mut self,
        chunk: &Value,
        events: &mut Vec<GenerationEvent>,
    ) -> Result<(), Error> {
        if let Value::Array(chunks) = chunk {
            // One server wraps its errors in a list.
            return chunks
                .iter()
                .try_for_each(|chunk| self.take_chunk(chunk, events));
        }
        let has = |name: &str| chunk.get(name).filter(|value| !value.is_null());
        let is_error_object = chunk.get("object").is_some_and(|object| object == "error");
        if let Some(error) = has("error").or(is_error_object.then_some(chunk)) {
            return Err(Fault::from_error(error).into_error(self.has_image, &self.redaction));
        }
        if let Some(usage) = has("usage") {
            self.take_usage(usage);
        }
        let Some(choices) = has("choices") else {
            // Pings and notes of the server's own; the answer is nowhere but in choices.
            let is_answerless_failure = has("detail").is_some() || has("message").is_some();
            if is_answerless_failure && has("id").is_none() {
                return Err(Fault::from_error(chunk).into_error(self.has_image, &self.redaction));
            }
            return Ok(());
        };
        let Some(choices) = choices.as_array() else {
            return Err(malformed("the provider sent `choices` that are not a list"));
        };
        for choice in choices {
            // One answer was asked for; a second one would be mixed into it.
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.take_choice(choice, events)?;
            }
        }
        Ok(())
    }

    fn take_usage(&mut self, usage: &Value) {
        let count = |name: &str| u32::try_from(usage.get(name)?.as_u64()?).ok();
        // Some servers count along in every chunk; the last count is the whole.
        self.usage.input_tokens = count("prompt_tokens").or(self.usage.input_tokens);
        self.usage.output_tokens = count("completion_tokens").or(self.usage.output_tokens);
    }

    fn take_choice(
        &mut self,
        choice: &Value,
        events: &mut Vec<GenerationEvent>,
    ) -> Result<(), Error> {
        let has = |name: &str| choice.get(name).filter(|value| !value.is_null());
        if let Some(error) = has("error") {
            return Err(Fault::from_error(error).into_error(self.has_image, &self.redaction));
        }
        if let Some(delta) = has("delta").or(has("message")) {
            const THOUGHTS: [&str; 4] = [
                "reasoning_content",
                "reasoning",
                "thinking",
                "reasoning_details",
            ];
            let thinks = THOUGHTS.iter().any(|name| {
                delta.get(*name).is_some_and(|thought| match thought {
                    Value::String(text) => !text.is_empty(),
                    Value::Array(parts) => !parts.is_empty(),
                    Value::Object(fields) => !fields.is_empty(),
                    _ => false,
                })
            });
            if thinks {
                events.push(GenerationEvent::Thinking);
            }
            self.take_content(delta.get("content").unwrap_or(&Value::Null), events)?;
            // A refusal is what the model says, in a field of its own.
            if let Some(Value::String(refusal)) = delta.get("refusal") {
                self.take_text(refusal, events);
            }
        }
        if let Some(Value::String(text)) = has("text") {
            self.take_text(text, events);
        }
        match has("finish_reason") {
            None => Ok(()),
            Some(Value::String(reason)) if reason.is_empty() => Ok(()),
            Some(Value::String(reason)) => {
                self.finish = Some(self.finish_of(reason)?);
                Ok(())
            }
            Some(_) => Err(malformed(
                "the provider sent a `finish_reason` that is not text",
            )),
        }
    }

    fn take_content(
        &mut self,
        content: &Value,
        events: &mut Vec<GenerationEvent>,
    ) -> Result<(), Error> {
        match content {
            Value::Null => Ok(()),
            Value::String(text) => {
                self.take_text(text, events);
                Ok(())
            }
            Value::Array(parts) => parts
                .iter()
                .try_for_each(|part| self.take_part(part, events)),
            Value::Object(_) => self.take_part(content, events),
            Value::Bool(_) | Value::Number(_) => {
                Err(malformed("the provider sent `content` that is not text"))
            }
        }
    }

    fn take_part(&mut self, part: &Value, events: &mut Vec<GenerationEvent>) -> Result<(), Error> {
        if let Value::String(text) = part {
            self.take_text(text, events);
            return Ok(());
        }
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
        match (kind, part.get("text"), part.get("refusal")) {
            ("thinking" | "reasoning", ..) => events.push(GenerationEvent::Thinking),
            ("text" | "output_text", Some(Value::String(text)), _)
            | ("refusal", _, Some(Value::String(text))) => self.take_text(text, events),
            // What cannot be shown would make a battle unfair if it were dropped in silence.
            _ => {
                let kind = self.redaction.quote(kind);
                return Err(malformed(format!(
                    "the provider sent a part of type {kind}: expected `text`"
                )));
            }
        }
        Ok(())
    }

    fn take_text(&mut self, text: &str, events: &mut Vec<GenerationEvent>) {
        if !text.is_empty() {
            self.has_text = true;
            self.redaction.add_answer(text);
            events.push(GenerationEvent::Text(text.to_owned()));
        }
    }

    fn finish_of(&self, reason: &str) -> Result<Finish, Error> {
        match reason.to_ascii_lowercase().as_str() {
            // No tool was offered, so a call of one is an end like any other; without text it counts as empty.
            "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "complete"
            | "completed" | "tool_calls" | "function_call" => Ok(Finish::Stop),
            "length" | "max_tokens" | "max_output_tokens" | "model_length" => Ok(Finish::Length),
            "content_filter" | "safety" | "sensitive" | "prohibited_content" | "recitation" => {
                Ok(Finish::Filtered)
            }
            "error" | "abort" | "aborted" | "network_error" | "insufficient_system_resource" => {
                let message = format!("the provider gave up: finish reason `{reason}`");
                Err(Error::new(ErrorKind::Overloaded, message))
            }
            _ => Err(malformed(format!(
                "the provider sent the finish reason {}: expected `stop`, `length` or `content_filter`",
                self.redaction.quote(reason)
            ))),
        }
    }
}

/// The JSON documents of an event, and whether the end marker follows them.
///
/// Usually it is either one document or the marker; a server that forgets blank lines glues them together.
fn split_done(data: &[u8]) -> (&[u8], bool) {
    match data.trim_ascii().strip_suffix(b"[DONE]") {
        Some(documents) if documents.is_empty() || documents.ends_with(b"\n") => (documents, true),
        _ => (data, false),
    }
}

/// Whether an event that the end of the stream left open is complete all the same.
fn is_whole(data: &[u8]) -> bool {
    let (documents, is_done) = split_done(data);
    let mut n_documents = 0;
    let all_parse = serde_json::Deserializer::from_slice(documents)
        .into_iter::<serde::de::IgnoredAny>()
        .inspect(|_| n_documents += 1)
        .all(|document| document.is_ok());
    all_parse && (is_done || n_documents > 0)
}

fn malformed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::MalformedResponse, message)
}
