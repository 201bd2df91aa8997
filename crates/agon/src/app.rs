//! [`App`]: what requests, commands and jobs share, and its verbs.
//!
//! A verb checks, asks the store, and starts what has to run; HTTP knows nothing of how.

pub mod annotation;
mod battle;
mod error;
mod generation;
pub mod images;
pub mod import;
pub mod leaderboard;
pub mod limits;
pub mod live;
pub mod plots;
pub mod providers;
pub mod pseudonym;
pub mod quarantine;
mod rating_history;
pub mod screening;
pub mod terms;
mod views;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use agon_domain::{Clock, Model};
use agon_providers::Provider;
use agon_store::Store;
use metrics_exporter_prometheus::PrometheusHandle;
use rand::Rng as _;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng as _};
use tokio::sync::{Mutex as AsyncMutex, Notify, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use error::AppError;
pub use rating_history::RatingHistory;
pub use terms::Terms;
pub use views::{
    AnswerView, BattleStatus, BattleView, HistoryEntry, Problem, Reveal, RevealedModel, TurnView,
};

use crate::config::Config;
use images::ImagePool;
use leaderboard::KeptBoard;
use limits::RateLimits;
use live::LiveBattles;
use plots::PlotPool;
use quarantine::Custodians;
use rating_history::KeptHistory;
use screening::{Screener, refusals::Refusals};

/// What requests, commands and jobs share. Clones are handles to the same arena.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    terms: Terms,
    models: Vec<Model>,
    /// By position, as `models`.
    providers: Vec<Provider>,
    store: Store,
    clock: Arc<dyn Clock>,
    rng: Mutex<ChaCha20Rng>,
    voter_key: [u8; 32],
    images: ImagePool,
    screener: Screener,
    custodians: Option<Custodians>,
    refusals: Refusals,
    live: LiveBattles,
    limits: RateLimits,
    generations: Arc<Semaphore>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    board: KeptBoard,
    rating_history: Arc<AsyncMutex<KeptHistory>>,
    plots: PlotPool,
    /// Told of every vote, for whoever works after it.
    voted: Notify,
    /// The newest vote whose battle is annotated, with all before it; `None` until that was looked up.
    annotated_up_to: AsyncMutex<Option<u64>>,
    metrics: Option<PrometheusHandle>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("models", &self.inner.models.len())
            .finish_non_exhaustive()
    }
}

/// What an [`App`] is made of.
#[derive(Debug)]
pub struct AppParts {
    /// The configuration.
    pub config: Config,
    /// The terms in force.
    pub terms: Terms,
    /// The models with their providers.
    pub models: Vec<(Model, Provider)>,
    /// The store.
    pub store: Store,
    /// Who looks at content.
    pub screener: Screener,
    /// Who can open sealed cases; needed as soon as known images are looked for.
    pub custodians: Option<Custodians>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where chance starts: from the system in production, fixed in tests.
    pub seed: [u8; 32],
    /// The key of the voters' pseudonyms.
    pub voter_key: [u8; 32],
    /// Renders the figures, when a recorder is installed.
    pub metrics: Option<PrometheusHandle>,
}

impl App {
    /// An arena made of these parts.
    pub fn new(parts: AppParts) -> Self {
        let (models, providers) = parts.models.into_iter().unzip();
        let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let limits = &parts.config.raw.limits;
        let image_limits = agon_content::image::ImageLimits {
            bytes_max: limits.upload_bytes_max as u64,
            ..agon_content::image::ImageLimits::default()
        };
        Self {
            inner: Arc::new(Inner {
                images: ImagePool::new(n_cores, image_limits),
                limits: RateLimits::new(limits),
                refusals: Refusals::new(parts.config.raw.screening.refusals_per_hour_max),
                screener: parts.screener,
                custodians: parts.custodians,
                generations: Arc::new(Semaphore::new(limits.generations_max)),
                live: LiveBattles::default(),
                tasks: TaskTracker::new(),
                stopping: CancellationToken::new(),
                board: KeptBoard::default(),
                rating_history: Arc::default(),
                // Half of the cores, so that plots never hold up answers.
                plots: PlotPool::new(n_cores / 2),
                voted: Notify::new(),
                annotated_up_to: AsyncMutex::default(),
                rng: Mutex::new(ChaCha20Rng::from_seed(parts.seed)),
                config: parts.config,
                terms: parts.terms,
                models,
                providers,
                store: parts.store,
                clock: parts.clock,
                voter_key: parts.voter_key,
                metrics: parts.metrics,
            }),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The name on every page.
    pub fn arena_name(&self) -> &str {
        &self.inner.config.raw.arena.name
    }

    /// The terms in force.
    pub fn terms(&self) -> &Terms {
        &self.inner.terms
    }

    /// The models that can meet.
    pub fn models(&self) -> &[Model] {
        &self.inner.models
    }

    /// Whether every model is scripted, which each page then says.
    pub fn is_demo(&self) -> bool {
        self.models().iter().all(|model| model.scripted)
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Who looks at content, and for what.
    pub fn screener(&self) -> &Screener {
        &self.inner.screener
    }

    /// The answers that are being written.
    pub fn live(&self) -> &LiveBattles {
        &self.inner.live
    }

    /// Cancelled when the server stops: streams end, nothing new starts.
    pub fn stopping(&self) -> CancellationToken {
        self.inner.stopping.clone()
    }

    /// Starts nothing more, and waits for the answers that are being written, at most `grace`.
    ///
    /// What still runs then is marked as interrupted at the next start, and can be asked for again.
    pub async fn stop(&self, grace: std::time::Duration) {
        self.inner.stopping.cancel();
        self.inner.tasks.close();
        if tokio::time::timeout(grace, self.inner.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                n_running = self.inner.tasks.len(),
                "stopped while answers were being written"
            );
        }
    }

    /// Waits until no answer is being written. For tests and orderly ends.
    pub async fn idle(&self) {
        while !self.inner.tasks.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Forgets what rate limits no longer need, and sums up the figures that nobody has asked for; to be called now and then.
    pub fn forget_idle_visitors(&self) {
        self.inner.limits.forget_idle();
        self.inner.refusals.forget_old(self.inner.clock.now());
        if let Some(metrics) = &self.inner.metrics {
            // Until then every single observation is kept.
            metrics.run_upkeep();
        }
    }

    /// The figures in Prometheus' text format; empty without a recorder.
    pub fn render_metrics(&self) -> String {
        self.inner
            .metrics
            .as_ref()
            .map(PrometheusHandle::render)
            .unwrap_or_default()
    }

    /// Takes from the arena's one source of chance.
    pub fn with_rng<T>(&self, take: impl FnOnce(&mut ChaCha20Rng) -> T) -> T {
        take(
            &mut self
                .inner
                .rng
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn random_seed(&self) -> u64 {
        self.with_rng(|rng| rng.next_u64())
    }
}
