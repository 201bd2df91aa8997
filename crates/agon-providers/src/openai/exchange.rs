//! One request on the wire: sending, retrying, reading, and cancelling when nobody listens any more.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::{Stream, stream};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::{Response, header};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{
    Endpoint,
    decode::{Close, Decoder},
    fault::{Fault, retry_after},
};
use crate::{Error, ErrorKind, GenerationEvent, Request, redaction::Redaction};

/// How much of the body of a failure is read, in bytes.
const FAULT_BYTES_MAX: usize = 64 * 1024;

/// How long the body of a failure is waited for, in milliseconds.
const FAULT_BODY_MS: u64 = 5_000;

struct Exchange {
    endpoint: Arc<Endpoint>,
    request: Request,
    redaction: Redaction,
    has_image: bool,
    rng: StdRng,
    started_at: Instant,
    n_retries: u32,
    /// Whether the model has given a sign of life, after which nothing is sent again.
    first_token: bool,
    /// Whether the last attempt reached for the endpoint, rather than being held back by the breaker.
    asked: bool,
    pending: VecDeque<GenerationEvent>,
    phase: Phase,
}

enum Phase {
    Send,
    Read(Box<Reading>),
    Ended,
}

struct Reading {
    response: Response,
    decoder: Decoder,
    n_bytes: u64,
    /// Until when the count of tokens may follow the end of the answer.
    trailer_until: Option<Instant>,
}

/// The events of one generation, without the limits that stand around every provider.
pub(super) fn events(
    endpoint: Arc<Endpoint>,
    request: Request,
    seed: u64,
) -> impl Stream<Item = GenerationEvent> + Send + 'static {
    let start = move || Exchange {
        redaction: Redaction::new(endpoint.options.api_key.clone(), &request),
        has_image: request
            .messages
            .iter()
            .any(|message| message.image.is_some()),
        endpoint,
        request,
        rng: StdRng::seed_from_u64(seed),
        started_at: Instant::now(),
        n_retries: 0,
        first_token: false,
        asked: false,
        pending: VecDeque::new(),
        phase: Phase::Send,
    };
    // Dropping the stream drops the request or response inside the state, which closes its connection.
    stream::unfold(Err(start), |state| async move {
        let mut exchange: Exchange = match state {
            Ok(exchange) => exchange,
            Err(start) => start(),
        };
        let event = exchange.next().await?;
        Some((event, Ok(exchange)))
    })
}

impl Exchange {
    async fn next(&mut self) -> Option<GenerationEvent> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                self.report(&event);
                if let GenerationEvent::Failed(error) = &event
                    && let Some(pause) = self.pause_before_retry(error)
                {
                    tracing::warn!(
                        error.kind = error.kind.as_str(),
                        error.status = error.status,
                        pause_ms = pause.as_millis(),
                        "a provider failed before its first token and is asked again"
                    );
                    self.pending.clear();
                    self.phase = Phase::Send;
                    sleep(pause).await;
                    continue;
                }
                self.first_token |=
                    matches!(event, GenerationEvent::Thinking | GenerationEvent::Text(_));
                if event.is_terminal() {
                    self.pending.clear();
                    self.phase = Phase::Ended;
                }
                return Some(event);
            }
            match &mut self.phase {
                Phase::Send => {
                    if let Err(error) = self.send().await {
                        self.pending.push_back(GenerationEvent::Failed(error));
                    }
                }
                Phase::Read(reading) => {
                    let stream_bytes_max = self.endpoint.options.limits.stream_bytes_max;
                    let trailer_ms = self.endpoint.options.limits.trailer_ms;
                    self.pending
                        .extend(reading.read(stream_bytes_max, trailer_ms).await);
                }
                Phase::Ended => return None,
            }
        }
    }

    /// Tells the breaker how the endpoint does.
    fn report(&self, event: &GenerationEvent) {
        let breaker = &self.endpoint.breaker;
        match event {
            GenerationEvent::Thinking | GenerationEvent::Text(_) if !self.first_token => {
                breaker.succeeded();
            }
            GenerationEvent::Failed(error) if self.asked && error.kind.is_retryable() => {
                breaker.failed(Instant::now());
            }
            _ => {}
        }
    }

    /// How long to wait before the request is sent again; `None` when it is not.
    fn pause_before_retry(&mut self, error: &Error) -> Option<Duration> {
        let limits = &self.endpoint.options.limits;
        let may_pass = error.kind.is_retryable() && self.endpoint.breaker.is_closed();
        if self.first_token || !may_pass || self.n_retries >= limits.retries_max {
            return None;
        }
        let base_ms = limits
            .retry_pause_ms
            .saturating_mul(1 << self.n_retries.min(16));
        let pause = Duration::from_millis(base_ms).mul_f64(self.rng.random_range(0.5..1.5));
        let asked = error.retry_after.unwrap_or_default();
        if asked > Duration::from_millis(limits.retry_after_ms_max) {
            return None;
        }
        let pause = pause.max(asked);
        // A pause that the limit on the first token would cut only hides the real reason.
        if self.started_at.elapsed() + pause >= Duration::from_millis(limits.first_token_ms) {
            return None;
        }
        self.n_retries += 1;
        Some(pause)
    }

    async fn send(&mut self) -> Result<(), Error> {
        if let Err(wait) = self.endpoint.breaker.admit(Instant::now()) {
            self.asked = false;
            let message = "the provider keeps failing and is left alone for a while";
            let mut error = Error::new(ErrorKind::Overloaded, message);
            error.retry_after = Some(wait);
            return Err(error);
        }
        self.asked = true;
        let include_usage = self.endpoint.wants_usage();
        let response = self.post(include_usage).await?;
        if response.status().is_success() {
            return self.start_reading(response);
        }
        let (fault, wait) = read_fault(response).await;
        if include_usage && fault.is_about_stream_options() {
            self.endpoint
                .refuses_stream_options
                .store(true, Ordering::Relaxed);
            let response = self.post(false).await?;
            if response.status().is_success() {
                return self.start_reading(response);
            }
            let (fault, wait) = read_fault(response).await;
            return Err(self.error(fault, wait));
        }
        Err(self.error(fault, wait))
    }

    async fn post(&self, include_usage: bool) -> Result<Response, Error> {
        let body = self.endpoint.body(&self.request, include_usage)?;
        let mut request = self
            .endpoint
            .client
            .post(self.endpoint.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream, application/json")
            .body(body);
        if let Some(authorization) = &self.endpoint.authorization {
            request = request.header(header::AUTHORIZATION, authorization.clone());
        }
        request.send().await.map_err(|source| {
            let message = if source.is_connect() && source.is_timeout() {
                "no connection to the provider in time"
            } else if source.is_connect() {
                "no connection to the provider"
            } else {
                "the connection to the provider broke before its answer"
            };
            Error::new(ErrorKind::Connect, message).with_source(source.without_url())
        })
    }

    fn start_reading(&mut self, response: Response) -> Result<(), Error> {
        let encoding = response
            .headers()
            .get(header::CONTENT_ENCODING)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .filter(|encoding| !encoding.eq_ignore_ascii_case("identity"));
        if let Some(encoding) = encoding {
            let message = format!(
                "the provider compressed its answer with {}, which was not asked for",
                self.redaction.quote(&encoding)
            );
            return Err(Error::new(ErrorKind::MalformedResponse, message));
        }
        let options = &self.endpoint.options;
        let decoder = Decoder::new(
            options.end_rule,
            options.limits.event_bytes_max,
            self.has_image,
            self.redaction.clone(),
        );
        self.phase = Phase::Read(Box::new(Reading {
            response,
            decoder,
            n_bytes: 0,
            trailer_until: None,
        }));
        self.pending.push_back(GenerationEvent::Started);
        Ok(())
    }

    fn error(&self, fault: Fault, wait: Option<Duration>) -> Error {
        let mut error = fault.into_error(self.has_image, &self.redaction);
        error.retry_after = wait;
        error
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // The limit on the first token stands around this stream and ends it by dropping it.
        let limit = Duration::from_millis(self.endpoint.options.limits.first_token_ms);
        let is_waiting = !self.first_token && !matches!(self.phase, Phase::Ended);
        if is_waiting && self.asked && self.started_at.elapsed() >= limit {
            self.endpoint.breaker.failed(Instant::now());
        }
    }
}

impl Reading {
    /// The events of the next chunk, or of the end.
    async fn read(&mut self, stream_bytes_max: u64, trailer_ms: u64) -> Vec<GenerationEvent> {
        let chunk = match self.trailer_until {
            None => self.response.chunk().await,
            // A server that keeps the connection open after the end must not keep the voter waiting.
            Some(until) => match timeout_at(until, self.response.chunk()).await {
                Ok(chunk) => chunk,
                Err(_) => return self.decoder.close(Close::Clean),
            },
        };
        match chunk {
            Ok(Some(chunk)) => {
                self.n_bytes += chunk.len() as u64;
                if self.n_bytes > stream_bytes_max {
                    let message = format!("the provider sent more than {stream_bytes_max} bytes");
                    let error = Error::new(ErrorKind::TooLarge, message);
                    return vec![GenerationEvent::Failed(error)];
                }
                let events = self.decoder.push(&chunk);
                if self.decoder.has_finish() && self.trailer_until.is_none() {
                    self.trailer_until = Some(Instant::now() + Duration::from_millis(trailer_ms));
                }
                events
            }
            Ok(None) => self.decoder.close(Close::Clean),
            Err(source) => {
                let message = "the connection to the provider broke in mid-answer";
                let error = Error::new(ErrorKind::Cut, message).with_source(source.without_url());
                self.decoder.close(Close::Broken(error))
            }
        }
    }
}

/// What an answer that is not a success says, as far as it comes in time.
async fn read_fault(mut response: Response) -> (Fault, Option<Duration>) {
    let status = response.status().as_u16();
    let wait = retry_after(response.headers());
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= FAULT_BYTES_MAX {
                break;
            }
        }
    };
    // A body that does not come says nothing; the status says enough.
    let _in_time = timeout(Duration::from_millis(FAULT_BODY_MS), read).await;
    body.truncate(FAULT_BYTES_MAX);
    (Fault::from_answer(status, &body), wait)
}
