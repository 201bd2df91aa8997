//! A provider that plays a script, without any network: demo personas for an arena without models, and faults on demand for tests.

mod fact;
mod persona;
mod subject;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agon_domain::{Finish, Usage};
use futures_util::stream;
use tokio::time::sleep;

use crate::{Error, ErrorKind, GenerationEvent, GenerationStream, Limits, Request, limit};

pub use persona::Persona;

/// How quickly a persona writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The shortest time to the first token, in milliseconds.
    pub first_token_ms_min: u64,
    /// The longest time to the first token, in milliseconds.
    pub first_token_ms_max: u64,
    /// From one token to the next on average, in milliseconds.
    pub token_ms: u64,
}

impl Pace {
    /// Without any delay.
    pub const INSTANT: Self = Self {
        first_token_ms_min: 0,
        first_token_ms_max: 0,
        token_ms: 0,
    };
}

impl Default for Pace {
    /// As quick as a small model on a good day.
    fn default() -> Self {
        Self {
            first_token_ms_min: 200,
            first_token_ms_max: 600,
            token_ms: 25,
        }
    }
}

/// One step of a [`Script`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A piece of the answer.
    Text(String),
    /// The user's last message, as a piece of the answer.
    EchoPrompt,
    /// A sign that the model thinks.
    Think,
    /// A pause, in milliseconds.
    DelayMs(u64),
    /// The count of tokens that the finish will tell.
    Usage(Usage),
    /// The model ends so.
    Finish(Finish),
    /// The provider fails so.
    Fail(ErrorKind),
    /// Nothing more, for ever; a limit on time ends it.
    Hang,
}

/// What a scripted model does, step by step. A script without an end breaks off, as a cut stream does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    steps: Vec<Step>,
}

impl Script {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// A whole answer in one piece.
    pub fn answer(text: impl Into<String>) -> Self {
        Self::new().text(text).finish(Finish::Stop)
    }

    /// The same script with one more step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// A piece of the answer.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(Step::Text(text.into()))
    }

    /// The user's last message, as a piece of the answer.
    #[must_use]
    pub fn echo_prompt(self) -> Self {
        self.step(Step::EchoPrompt)
    }

    /// A sign that the model thinks.
    #[must_use]
    pub fn think(self) -> Self {
        self.step(Step::Think)
    }

    /// A pause, in milliseconds.
    #[must_use]
    pub fn delay_ms(self, ms: u64) -> Self {
        self.step(Step::DelayMs(ms))
    }

    /// The count of tokens that the finish will tell.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.step(Step::Usage(usage))
    }

    /// The model ends so.
    #[must_use]
    pub fn finish(self, finish: Finish) -> Self {
        self.step(Step::Finish(finish))
    }

    /// The provider fails so.
    #[must_use]
    pub fn fail(self, kind: ErrorKind) -> Self {
        self.step(Step::Fail(kind))
    }

    /// Nothing more, for ever.
    #[must_use]
    pub fn hang(self) -> Self {
        self.step(Step::Hang)
    }
}

/// A model that plays a script or a persona. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Scripted {
    role: Arc<Cast>,
    limits: Limits,
}

#[derive(Debug)]
enum Cast {
    Persona {
        persona: Persona,
        pace: Pace,
    },
    Scripts {
        scripts: Vec<Script>,
        n_played: AtomicUsize,
    },
}

impl Scripted {
    /// A demo model.
    pub fn persona(persona: Persona, pace: Pace) -> Self {
        Self::with(Cast::Persona { persona, pace })
    }

    /// A model that plays the same script for every request.
    pub fn script(script: Script) -> Self {
        Self::scripts(vec![script])
    }

    /// A model that plays the first script for its first request, the second for its second, and the last for all after it.
    ///
    /// Without any script it breaks off at once, every time.
    pub fn scripts(scripts: Vec<Script>) -> Self {
        Self::with(Cast::Scripts {
            scripts,
            n_played: AtomicUsize::new(0),
        })
    }

    fn with(role: Cast) -> Self {
        Self {
            role: Arc::new(role),
            limits: Limits::default(),
        }
    }

    /// The same model within other limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many requests a model with scripts has had; 0 for a persona.
    pub fn n_played(&self) -> usize {
        match &*self.role {
            Cast::Persona { .. } => 0,
            Cast::Scripts { n_played, .. } => n_played.load(Ordering::Relaxed),
        }
    }

    /// One answer; see [`crate::Provider::generate`].
    pub(crate) fn generate(&self, request: Request, seed: u64) -> GenerationStream {
        let steps = match &*self.role {
            Cast::Persona { persona, pace } => persona.steps(&request, *pace, seed),
            Cast::Scripts { scripts, n_played } => {
                let played = n_played.fetch_add(1, Ordering::Relaxed);
                let script = scripts.get(played).or(scripts.last());
                script
                    .map(|script| script.steps.clone())
                    .unwrap_or_default()
            }
        };
        let stage = Stage {
            steps: steps.into(),
            request,
            usage: Usage::default(),
            started: false,
        };
        let events = stream::unfold(stage, |mut stage| async move {
            let event = stage.next().await?;
            Some((event, stage))
        });
        limit::guard(events, self.limits)
    }
}

/// A script being played.
struct Stage {
    steps: VecDeque<Step>,
    request: Request,
    usage: Usage,
    started: bool,
}

impl Stage {
    async fn next(&mut self) -> Option<GenerationEvent> {
        loop {
            // A script that fails at once plays a provider that accepts nothing.
            if !self.started && !matches!(self.steps.front(), Some(Step::Fail(_))) {
                self.started = true;
                return Some(GenerationEvent::Started);
            }
            match self.steps.pop_front()? {
                Step::Text(text) => return Some(GenerationEvent::Text(text)),
                Step::EchoPrompt => {
                    let prompt = self.request.messages.last()?.text.clone();
                    return Some(GenerationEvent::Text(prompt));
                }
                Step::Think => return Some(GenerationEvent::Thinking),
                Step::DelayMs(ms) => sleep(Duration::from_millis(ms)).await,
                Step::Usage(usage) => self.usage = usage,
                Step::Finish(finish) => {
                    return Some(GenerationEvent::Finished {
                        finish,
                        usage: self.usage,
                    });
                }
                Step::Fail(kind) => {
                    let message = format!("the script fails with `{}`", kind.as_str());
                    return Some(GenerationEvent::Failed(Error::new(kind, message)));
                }
                Step::Hang => std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests;
