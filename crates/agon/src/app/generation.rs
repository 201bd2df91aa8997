//! Answers: asked for, followed while they are written, kept when they end.
//!
//! A generation goes on when its reader leaves, so that a reload finds it; its limits on time and size end it in any case.

use std::time::Duration;

use agon_domain::{Battle, BattleId, Finish, Side, Usage};
use agon_providers::{
    Error as ProviderError, GenerationEvent, Message, Provider, Request, RequestImage,
};
use agon_store::{FinishedGeneration, GenerationKey, StoredImage};
use axum::body::Bytes;
use futures_util::StreamExt as _;
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use crate::{
    app::{App, AppError, live::Phase},
    config::{Secret, screening::AnswerScreening},
};

/// The first pause before an answer's end is written again when the store fails, in milliseconds; it doubles.
const STORE_PAUSE_MS: u64 = 100;
/// The longest pause, in milliseconds: how soon after a full disk has room again answers are kept.
const STORE_PAUSE_MS_MAX: u64 = 3_000;

/// Room for answers, taken before a battle is stored, so that no battle starts that cannot be answered.
#[derive(Debug)]
pub(super) struct GenerationPermits(OwnedSemaphorePermit);

impl GenerationPermits {
    /// Room for one answer; `None` when all is taken.
    pub(super) fn take_one(&mut self) -> Option<OwnedSemaphorePermit> {
        self.0.split(1)
    }
}

/// How an answer ended.
struct Outcome {
    text: String,
    finish: Finish,
    usage: Usage,
    first_token: Option<Duration>,
    duration: Duration,
    failure: Option<ProviderError>,
}

impl App {
    /// Takes room for `n` answers.
    ///
    /// # Errors
    ///
    /// [`AppError::Busy`] when as many run as may run.
    pub(super) fn reserve_generations(&self, n: usize) -> Result<GenerationPermits, AppError> {
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        std::sync::Arc::clone(&self.inner.generations)
            .try_acquire_many_owned(n)
            .map(GenerationPermits)
            .map_err(|_| AppError::Busy)
    }

    /// Starts the newest attempt of `side` at the last turn, which the store has as running.
    pub(super) fn start_generation(
        &self,
        battle: &Battle,
        side: Side,
        image: Option<&StoredImage>,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let Some(turn) = battle.turns.last() else {
            return;
        };
        let turn_idx = battle.turns.len() - 1;
        let attempt = turn.generations.get(side).attempt;
        let key = GenerationKey {
            battle: battle.id,
            turn_idx: u32::try_from(turn_idx).unwrap_or(u32::MAX),
            side,
            attempt,
        };
        let model = battle.models.get(side);
        let provider = self
            .models()
            .iter()
            .position(|known| known.name == *model)
            .map(|idx| self.inner.providers[idx].clone());
        let request = self.request(battle, side, image);
        let seed = self.random_seed();
        self.live().begin(battle.id, side, turn_idx, attempt);
        let secret = self.config().api_keys.get(model).cloned();
        let app = self.clone();
        self.inner.tasks.spawn(async move {
            let outcome = match provider {
                Some(provider) => {
                    let outcome = app
                        .follow(&provider, request, seed, battle_side(key), secret.as_ref())
                        .await;
                    app.screened(outcome).await
                }
                None => Outcome::failed(ProviderError::new(
                    agon_providers::ErrorKind::Configuration,
                    "the model is no longer configured",
                )),
            };
            app.keep(key, outcome).await;
            drop(permit);
        });
    }

    /// Ends an attempt that could not be started.
    pub(super) async fn fail_generation(&self, key: GenerationKey) {
        let error = ProviderError::new(
            agon_providers::ErrorKind::Configuration,
            "the conversation could not be read back",
        );
        self.keep(key, Outcome::failed(error)).await;
    }

    /// The conversation of one side so far, for its model.
    fn request(&self, battle: &Battle, side: Side, image: Option<&StoredImage>) -> Request {
        let mut messages = Vec::with_capacity(2 * battle.turns.len());
        for (idx, turn) in battle.turns.iter().enumerate() {
            let mut message = Message::user(turn.prompt.clone());
            if let Some(image) = image.filter(|image| turn.image == Some(image.id)) {
                message = message.with_image(RequestImage {
                    media_type: image.meta.format.media_type().to_owned(),
                    bytes: Bytes::copy_from_slice(&image.bytes),
                    width_px: image.meta.width,
                    height_px: image.meta.height,
                });
            }
            messages.push(message);
            if idx + 1 < battle.turns.len() {
                messages.push(Message::assistant(turn.generations.get(side).text.clone()));
            }
        }
        let generation = &self.config().raw.generation;
        let model = self
            .config()
            .raw
            .models
            .iter()
            .find(|model| model.name == *battle.models.get(side));
        let mut request = Request::new(messages);
        request.temperature = Some(
            model
                .and_then(|model| model.temperature)
                .unwrap_or(generation.temperature),
        );
        request.top_p = Some(generation.top_p);
        request.max_output_tokens = Some(
            model
                .and_then(|model| model.output_tokens_max)
                .unwrap_or(generation.output_tokens_max),
        );
        request
    }

    /// The answer as screening lets it be kept: as it is, or withheld when it is to be blocked or could not be looked at.
    async fn screened(&self, outcome: Outcome) -> Outcome {
        if outcome.text.is_empty() {
            return outcome;
        }
        match self.answer_screening() {
            AnswerScreening::Off => outcome,
            AnswerScreening::Log => {
                self.admits_answer(&outcome.text).await;
                outcome
            }
            AnswerScreening::Block if self.admits_answer(&outcome.text).await => outcome,
            AnswerScreening::Block => Outcome {
                text: String::new(),
                finish: Finish::Filtered,
                ..outcome
            },
        }
    }

    /// Reads the answer to its end and shows it as it comes, unless answers are screened before they are shown.
    async fn follow(
        &self,
        provider: &Provider,
        request: Request,
        seed: u64,
        (battle, side): (BattleId, Side),
        secret: Option<&Secret>,
    ) -> Outcome {
        let started = Instant::now();
        let mut text = String::new();
        let mut first_token = None;
        let is_held_back = self.answer_screening() == AnswerScreening::Block;
        let mut events = provider.generate(request, seed);
        while let Some(event) = events.next().await {
            match event {
                GenerationEvent::Started => {}
                GenerationEvent::Thinking => self.live().update(battle, side, |answer| {
                    if answer.text.is_empty() {
                        answer.phase = Phase::Thinking;
                    }
                }),
                GenerationEvent::Text(piece) => {
                    first_token.get_or_insert_with(|| started.elapsed());
                    // A NUL is no text, and not every database keeps one.
                    let piece = if piece.contains('\0') {
                        piece.replace('\0', "\u{fffd}")
                    } else {
                        piece
                    };
                    text.push_str(&piece);
                    if secret.is_some_and(|secret| is_told(secret, &text, piece.len())) {
                        self.live()
                            .update(battle, side, |answer| answer.text.clear());
                        return Outcome {
                            duration: started.elapsed(),
                            ..Outcome::failed(ProviderError::new(
                                agon_providers::ErrorKind::MalformedResponse,
                                "the answer holds the endpoint's own key",
                            ))
                        };
                    }
                    self.live().update(battle, side, |answer| {
                        if !is_held_back {
                            answer.text.push_str(&piece);
                        }
                        answer.phase = Phase::Streaming;
                    });
                }
                GenerationEvent::Finished { finish, usage } => {
                    return Outcome {
                        text,
                        finish,
                        usage,
                        first_token,
                        duration: started.elapsed(),
                        failure: None,
                    };
                }
                GenerationEvent::Failed(error) => {
                    return Outcome {
                        text,
                        finish: error.finish(),
                        usage: Usage::default(),
                        first_token,
                        duration: started.elapsed(),
                        failure: Some(error),
                    };
                }
            }
        }
        // A provider's stream ends with a terminal event; should one not, the answer has no end.
        Outcome {
            text,
            finish: Finish::Cut,
            usage: Usage::default(),
            first_token,
            duration: started.elapsed(),
            failure: None,
        }
    }

    /// Writes the end of an answer to the store, then tells those who watch.
    async fn keep(&self, key: GenerationKey, outcome: Outcome) {
        let finish = outcome.finish;
        metrics::counter!("agon_generations_total", "finish" => finish.as_str()).increment(1);
        if let Some(first_token) = outcome.first_token {
            metrics::histogram!("agon_first_token_seconds").record(first_token.as_secs_f64());
        }
        metrics::histogram!("agon_generation_seconds").record(outcome.duration.as_secs_f64());
        if let Some(error) = &outcome.failure {
            // Neither the battle nor the side is named, because that would tie a model to a battle that is not voted on.
            tracing::warn!(error.kind = error.kind.as_str(), error.message = %error.message, http.status = error.status, "a generation failed");
        }
        let finished = FinishedGeneration {
            text: outcome.text,
            finish,
            usage: outcome.usage,
            first_token_ms: outcome.first_token.map(millis),
            duration_ms: Some(millis(outcome.duration)),
            finished_at: self.inner.clock.now(),
            failure_kind: outcome.failure.map(|error| error.kind.as_str().to_owned()),
        };
        let mut pause = Duration::from_millis(STORE_PAUSE_MS);
        // Given up only at the stop, after which the next start marks it as interrupted: a battle whose answer never ends could neither be voted on nor be asked again.
        // How many wait is bounded by their places among the running answers.
        loop {
            match self.store().finish_generation(key, &finished).await {
                Ok(()) => break,
                Err(error) if error.is_refusal() || self.inner.stopping.is_cancelled() => {
                    tracing::error!(battle.id = %key.battle, error = %error, "an answer could not be kept");
                    break;
                }
                Err(error) => {
                    tracing::warn!(battle.id = %key.battle, error = %error, "an answer could not be kept yet");
                    let _is_stopping =
                        tokio::time::timeout(pause, self.inner.stopping.cancelled()).await;
                    pause = (pause * 2).min(Duration::from_millis(STORE_PAUSE_MS_MAX));
                }
            }
        }
        self.live().end(key.battle, key.side, finish);
    }
}

impl Outcome {
    fn failed(error: ProviderError) -> Self {
        Self {
            text: String::new(),
            finish: error.finish(),
            usage: Usage::default(),
            first_token: None,
            duration: Duration::ZERO,
            failure: Some(error),
        }
    }
}

/// Whether the endpoint's own key stands in an answer whose last `n_new_bytes` are new.
///
/// A model cannot know the key, but an endpoint does, and a hostile or broken one may send it back.
fn is_told(secret: &Secret, text: &str, n_new_bytes: usize) -> bool {
    let secret = secret.expose().as_bytes();
    let from = text.len().saturating_sub(n_new_bytes + secret.len());
    text.as_bytes()[from..]
        .windows(secret.len())
        .any(|window| window == secret)
}

const fn battle_side(key: GenerationKey) -> (BattleId, Side) {
    (key.battle, key.side)
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
