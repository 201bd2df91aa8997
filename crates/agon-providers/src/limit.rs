//! How long a generation may take and how large it may grow, whoever answers.
//!
//! One guard stands around every provider, so that an adapter only has to read its vendor's protocol.

use std::{pin::pin, time::Duration};

use agon_domain::Finish;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use crate::{Error, ErrorKind, GenerationEvent, GenerationStream};

/// Limits on one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the request to the first sign of the model (thinking or text), retries included, in milliseconds.
    pub first_token_ms: u64,
    /// Between two tokens, in milliseconds. Keep-alives of the protocol are not tokens.
    pub gap_ms: u64,
    /// From the request to the end, in milliseconds.
    pub total_ms: u64,
    /// After the model said that it was done, for the count of tokens that may follow, in milliseconds.
    pub trailer_ms: u64,
    /// Bytes of the answer.
    pub answer_bytes_max: usize,
    /// Bytes received, thinking and protocol included.
    pub stream_bytes_max: u64,
    /// Bytes of one event of the protocol, or of an answer that comes in one piece.
    pub event_bytes_max: usize,
    /// How often a request is sent again after a failure that may pass. Never after the first token.
    pub retries_max: u32,
    /// The pause before the first retry, in milliseconds; it doubles, and chance makes it up to half shorter or longer.
    pub retry_pause_ms: u64,
    /// The longest pause that a provider may ask for, in milliseconds. One that asks for more is not asked again.
    pub retry_after_ms_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_token_ms: 30_000,
            gap_ms: 20_000,
            total_ms: 180_000,
            trailer_ms: 2_000,
            answer_bytes_max: 256 * 1024,
            stream_bytes_max: 32 * 1024 * 1024,
            event_bytes_max: 1024 * 1024,
            retries_max: 2,
            retry_pause_ms: 500,
            retry_after_ms_max: 10_000,
        }
    }
}

struct Guard<S> {
    inner: S,
    limits: Limits,
    started_at: Instant,
    started: bool,
    /// Whether the model has given a sign of life.
    first_token: bool,
    n_answer_bytes: usize,
    visible: bool,
    /// An error that follows the event just handed out.
    pending: Option<Error>,
    ended: bool,
}

/// The same events within `limits`: one terminal event in every case, and none after it.
///
/// An answer without a single visible character ends as [`Finish::Empty`].
pub(crate) fn guard(
    inner: impl Stream<Item = GenerationEvent> + Send + 'static,
    limits: Limits,
) -> GenerationStream {
    // The clock of the limits starts when somebody listens, not when the stream is built.
    stream::once(async move {
        let guard = Guard {
            inner: Box::pin(inner),
            limits,
            started_at: Instant::now(),
            started: false,
            first_token: false,
            n_answer_bytes: 0,
            visible: false,
            pending: None,
            ended: false,
        };
        stream::unfold(guard, |mut guard| async move {
            let event = guard.next().await?;
            Some((event, guard))
        })
    })
    .flatten()
    .boxed()
}

impl<S: Stream<Item = GenerationEvent> + Unpin> Guard<S> {
    async fn next(&mut self) -> Option<GenerationEvent> {
        if self.ended {
            return None;
        }
        if let Some(error) = self.pending.take() {
            return Some(self.fail(error));
        }
        let (deadline, message) = self.deadline();
        loop {
            let next = pin!(self.inner.next());
            let Ok(event) = timeout_at(deadline, next).await else {
                return Some(self.fail(Error::new(ErrorKind::Timeout, message)));
            };
            match event {
                Some(GenerationEvent::Started) if self.started => {}
                Some(GenerationEvent::Started) => {
                    self.started = true;
                    return Some(GenerationEvent::Started);
                }
                Some(GenerationEvent::Thinking) => {
                    self.first_token = true;
                    return Some(GenerationEvent::Thinking);
                }
                Some(GenerationEvent::Text(text)) if text.is_empty() => {}
                Some(GenerationEvent::Text(text)) => return Some(self.take_text(text)),
                Some(GenerationEvent::Finished { finish, usage }) => {
                    self.ended = true;
                    let empty = !self.visible && finish.is_valid();
                    let finish = if empty { Finish::Empty } else { finish };
                    return Some(GenerationEvent::Finished { finish, usage });
                }
                Some(GenerationEvent::Failed(error)) => return Some(self.fail(error)),
                None => {
                    let error = Error::new(ErrorKind::Cut, "the answer ended without a finish");
                    return Some(self.fail(error));
                }
            }
        }
    }

    /// Until when the next event must come, and what to say when it does not.
    fn deadline(&self) -> (Instant, String) {
        let Limits {
            first_token_ms,
            gap_ms,
            total_ms,
            ..
        } = self.limits;
        let total = self.started_at + Duration::from_millis(total_ms);
        let (step, message) = if self.first_token {
            // Counted from now and not from the last token: time that the listener took is not the provider's.
            (
                Instant::now() + Duration::from_millis(gap_ms),
                format!("no token for {gap_ms} ms"),
            )
        } else {
            (
                self.started_at + Duration::from_millis(first_token_ms),
                format!("no first token within {first_token_ms} ms"),
            )
        };
        if total <= step {
            (total, format!("no end within {total_ms} ms"))
        } else {
            (step, message)
        }
    }

    fn take_text(&mut self, mut text: String) -> GenerationEvent {
        self.first_token = true;
        let room = self.limits.answer_bytes_max - self.n_answer_bytes;
        if text.len() > room {
            text.truncate(text.floor_char_boundary(room));
            let message = format!(
                "the answer is longer than {} bytes",
                self.limits.answer_bytes_max
            );
            self.pending = Some(Error::new(ErrorKind::TooLarge, message));
        }
        self.n_answer_bytes += text.len();
        self.visible |= text.chars().any(is_visible);
        if text.is_empty()
            && let Some(error) = self.pending.take()
        {
            return self.fail(error);
        }
        GenerationEvent::Text(text)
    }

    fn fail(&mut self, mut error: Error) -> GenerationEvent {
        self.ended = true;
        error.partial = self.n_answer_bytes > 0;
        GenerationEvent::Failed(error)
    }
}

/// Whether a character leaves a mark on the page. Zero-width characters do not.
fn is_visible(c: char) -> bool {
    !c.is_whitespace()
        && !c.is_control()
        && !matches!(
            c,
            '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{00ad}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Request, Script, Scripted};

    /// Plays `script` under `limits` on paused time; each event with its time in milliseconds.
    async fn play(script: Script, limits: Limits) -> Vec<(u128, String)> {
        let provider = Scripted::script(script).with_limits(limits);
        let start = Instant::now();
        provider
            .generate(Request::new(vec![Message::user("hello")]), 1)
            .map(|event| {
                let shown = match event {
                    GenerationEvent::Started => "started".to_owned(),
                    GenerationEvent::Thinking => "thinking".to_owned(),
                    GenerationEvent::Text(text) => format!("text {text}"),
                    GenerationEvent::Finished { finish, .. } => finish.as_str().to_owned(),
                    GenerationEvent::Failed(error) => format!(
                        "{} {} {error}",
                        error.kind.as_str(),
                        error.finish().as_str()
                    ),
                };
                (start.elapsed().as_millis(), shown)
            })
            .collect()
            .await
    }

    #[track_caller]
    fn same(actual: &[(u128, String)], expected: &[(u128, &str)]) {
        let actual: Vec<(u128, &str)> = actual
            .iter()
            .map(|(ms, text)| (*ms, text.as_str()))
            .collect();
        assert_eq!(actual, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_token_must_come_in_time() {
        same(
            &play(Script::new().hang(), Limits::default()).await,
            &[
                (0, "started"),
                (30_000, "timeout failed no first token within 30000 ms"),
            ],
        );
    }

    #[tokio::test(start_paused = true)]
    async fn thinking_is_a_sign_of_life() {
        let script = Script::new()
            .delay_ms(29_000)
            .think()
            .delay_ms(19_000)
            .think()
            .delay_ms(19_000)
            .text("a")
            .finish(Finish::Stop);
        same(
            &play(script, Limits::default()).await,
            &[
                (0, "started"),
                (29_000, "thinking"),
                (48_000, "thinking"),
                (67_000, "text a"),
                (67_000, "stop"),
            ],
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_after_a_token_is_bounded() {
        same(
            &play(Script::new().text("a").hang(), Limits::default()).await,
            &[
                (0, "started"),
                (0, "text a"),
                (20_000, "timeout cut no token for 20000 ms"),
            ],
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_whole_is_bounded_even_when_tokens_keep_coming() {
        let mut script = Script::new();
        for _ in 0..1000 {
            script = script.text("a ").delay_ms(7_000);
        }
        let events = play(script, Limits::default()).await;
        assert_eq!(events.len(), 28);
        same(
            &events[27..],
            &[(180_000, "timeout cut no end within 180000 ms")],
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_outgrows_the_limit_is_cut_between_characters() {
        let limits = Limits {
            answer_bytes_max: 5,
            ..Limits::default()
        };
        let script = || Script::new().text("abc");
        same(
            &play(script().text("üü").text("never"), limits).await,
            &[
                (0, "started"),
                (0, "text abc"),
                (0, "text ü"),
                (0, "too_large cut the answer is longer than 5 bytes"),
            ],
        );
        same(
            &play(script().text("de").text("f"), limits).await,
            &[
                (0, "started"),
                (0, "text abc"),
                (0, "text de"),
                (0, "too_large cut the answer is longer than 5 bytes"),
            ],
        );
        same(
            &play(script().text("de").finish(Finish::Stop), limits).await[3..],
            &[(0, "stop")],
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_without_a_visible_character_is_empty() {
        for text in ["", " \n\t", "\u{200b}\u{feff}\u{a0}"] {
            for finish in [Finish::Stop, Finish::Length] {
                let script = Script::new().text(text).finish(finish);
                let events = play(script, Limits::default()).await;
                same(&events[events.len() - 1..], &[(0, "empty")]);
            }
        }
        let script = Script::new().finish(Finish::Filtered);
        same(
            &play(script, Limits::default()).await[1..],
            &[(0, "filtered")],
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_terminal_event_gets_one() {
        same(
            &play(Script::new().text("a"), Limits::default()).await[2..],
            &[(0, "cut cut the answer ended without a finish")],
        );
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_the_listener_takes_is_not_counted_as_silence() {
        let script = Script::new()
            .text("a")
            .delay_ms(15_000)
            .text("b")
            .finish(Finish::Stop);
        let provider = Scripted::script(script);
        let mut events = provider.generate(Request::new(vec![Message::user("hello")]), 1);
        let mut texts = String::new();
        let mut finish = None;
        while let Some(event) = events.next().await {
            finish = event.finish();
            if let GenerationEvent::Text(text) = event {
                texts.push_str(&text);
                tokio::time::sleep(Duration::from_millis(19_000)).await;
            }
        }
        assert_eq!((texts.as_str(), finish), ("ab", Some(Finish::Stop)));
    }
}
