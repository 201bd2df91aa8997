//! One request, many vendors: [`Provider::generate`] turns a [`Request`] into a stream of [`GenerationEvent`]s.
//!
//! What it is not for: which model answers (the domain draws that), what is kept (the store), and what voters see (the application).
//! The environment, the file system and the clock are not read; keys, limits and seeds come in by value.
//!
//! Reading order: [`request`], [`event`], [`error`], [`limit`], [`api_key`], [`client`], [`openai`], [`scripted`].
//!
//! ```
//! use agon_providers::{GenerationEvent, Message, Pace, Persona, Provider, Request, Scripted};
//! use futures_util::StreamExt as _;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let provider = Provider::from(Scripted::persona(Persona::Terse, Pace::INSTANT));
//! let request = Request::new(vec![Message::user("what is a tide?")]);
//! let mut answer = String::new();
//! let mut events = provider.generate(request, 7);
//! while let Some(event) = events.next().await {
//!     match event {
//!         GenerationEvent::Text(piece) => answer.push_str(&piece),
//!         GenerationEvent::Failed(error) => panic!("{error}"),
//!         _ => {}
//!     }
//! }
//! assert!(answer.contains("tide"));
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod api_key;
pub mod client;
pub mod error;
pub mod event;
pub mod limit;
pub mod openai;
mod redaction;
pub mod request;
pub mod screening;
pub mod scripted;
mod sse;

use futures_util::StreamExt as _;

pub use api_key::ApiKey;
pub use client::{Client, ClientOptions};
pub use error::{Error, ErrorKind};
pub use event::{GenerationEvent, GenerationStream};
pub use limit::Limits;
pub use openai::{EndRule, OpenAi, OpenAiOptions, TokenLimitField};
pub use request::{Message, Request, RequestImage, Role};
pub use scripted::{Pace, Persona, Script, Scripted, Step};

/// The vendor protocol and endpoint that serves a model.
///
/// The set is closed, so this is an enum and not a trait.
#[derive(Clone, Debug)]
pub enum Provider {
    /// An OpenAI-compatible chat endpoint.
    OpenAi(OpenAi),
    /// A script, played without any network.
    Scripted(Scripted),
}

impl Provider {
    /// One model producing one answer.
    ///
    /// Nothing is sent before the stream is first polled; dropping the stream cancels the request at once.
    /// It yields exactly one terminal event ([`GenerationEvent::Finished`] or [`GenerationEvent::Failed`]), which is its last.
    /// `seed` spreads retries in time, and chooses among a persona's phrases; the same seed gives the same choices.
    pub fn generate(&self, request: Request, seed: u64) -> GenerationStream {
        if let Err(error) = request.check() {
            return futures_util::stream::iter([GenerationEvent::Failed(error)]).boxed();
        }
        match self {
            Self::OpenAi(provider) => provider.generate(request, seed),
            Self::Scripted(provider) => provider.generate(request, seed),
        }
    }
}

impl From<OpenAi> for Provider {
    fn from(provider: OpenAi) -> Self {
        Self::OpenAi(provider)
    }
}

impl From<Scripted> for Provider {
    fn from(provider: Scripted) -> Self {
        Self::Scripted(provider)
    }
}
