//! [`Screener`]: everything that looks at content before a model, a voter or a release does, in one order.
//!
//! One picture: lists of known images first (ours, then remote hash services), and only when they all answered "not known" everything else, local detectors before remote services.
//! A match ends it: no other detector and no other service sees the picture.
//! One text: local detectors, then remote services.
//!
//! A detector answers, or it fails: by its own word, by taking too long, by panicking, or by an answer that makes no sense.
//! Nothing here decides; [`Policy::decide`] does, and takes silence for "undecided".
//!
//! A screener needs neither a store nor HTTP. With a store, it remembers the answers of detectors of pictures and of services by content, detector and version, so that nothing is asked twice, not even after a restart.
//! Thresholds of the configuration are applied to remembered answers when they are read, so that a new threshold judges old scores.

mod asking;
pub mod build;
mod coverage;
pub mod dataset;
pub mod gate;
mod known;
mod picture;
pub mod redact;
pub mod refusals;
mod remote;
mod services;
mod text;

use std::{fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use agon_content::{detect::PictureDetector, image::Pixels, known_image};
use agon_domain::{
    Action, Clock, Decision, DetectorFailure, DetectorFailureKind, DetectorIdentity, Finding,
    FindingKind, Policy, Purpose, Screening,
};
use agon_store::{ContentKey, Disposition, Store};
use futures_util::FutureExt as _;
use tokio::{sync::Semaphore, time::timeout};

use crate::config::{Config, ScreeningConfig, ScreeningSettings, screening::RulePlace};

use asking::Asking;

pub use coverage::{Coverage, KindCoverage, Standing};
pub use known::KnownImageLists;
pub use picture::{OriginalHashes, PictureContent};
pub use remote::{Answer, KnownService, ScreeningService, ServiceFuture};
pub use text::{PersonalData, TextDetector};

/// Who looks.
#[derive(Debug, Default)]
pub struct Detectors {
    /// The lists of known images, when there are any.
    pub known_images: Option<KnownImageLists>,
    /// Local detectors of pictures.
    pub pictures: Vec<Arc<dyn PictureDetector>>,
    /// Local detectors of text.
    pub texts: Vec<Arc<dyn TextDetector>>,
    /// Remote services.
    pub services: Vec<Arc<dyn ScreeningService>>,
}

/// Looks at content. Clones share detectors, pool and memory.
#[derive(Clone)]
pub struct Screener {
    inner: Arc<Inner>,
}

struct Inner {
    detectors: Detectors,
    chat: Policy,
    release: Policy,
    coverage: Coverage,
    /// The hashes of the rules for chats and for releases.
    rules: [[u8; 32]; 2],
    tells_voters: bool,
    thresholds: Vec<(RulePlace, f64)>,
    allows_structureless: bool,
    local_limit: Duration,
    service_limit: Duration,
    pictures_pool: Arc<Semaphore>,
    texts_pool: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
    store: Option<Store>,
}

impl fmt::Debug for Screener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Screener")
            .field("detectors", &self.inner.detectors)
            .finish_non_exhaustive()
    }
}

impl Screener {
    /// A screener with these detectors and the configuration's rules, limits and thresholds.
    ///
    /// `store` is where answers are remembered; without it nothing is.
    pub fn new(
        config: &Config,
        detectors: Detectors,
        clock: Arc<dyn Clock>,
        store: Option<Store>,
    ) -> Self {
        let settings = &config.screening;
        let raw = &config.raw.screening;
        let policy = |purpose| policy(settings, purpose, &detectors);
        let (chat, release) = (policy(Purpose::Chat), policy(Purpose::Release));
        let coverage = Coverage::new(settings, &detectors, &chat, &release);
        let rules = [&chat, &release].map(|policy| rules_sha256(policy, settings, raw, &detectors));
        let is_told = |action: Action| matches!(action, Action::Warn | Action::Blur);
        let tells_voters = FindingKind::ALL
            .into_iter()
            .any(|kind| is_told(chat.action(kind, "")))
            || settings
                .chat
                .actions
                .iter()
                .any(|(_, action)| is_told(*action));
        Self {
            inner: Arc::new(Inner {
                rules,
                tells_voters,
                chat,
                release,
                coverage,
                thresholds: settings.thresholds.clone(),
                allows_structureless: raw.allow_structureless,
                local_limit: Duration::from_millis(raw.local_ms_max),
                service_limit: Duration::from_millis(raw.service_ms_max),
                pictures_pool: Arc::new(Semaphore::new(raw.at_once_max)),
                texts_pool: Arc::new(Semaphore::new(raw.at_once_max)),
                detectors,
                clock,
                store,
            }),
        }
    }

    /// What follows from findings, for one purpose.
    pub fn policy(&self, purpose: Purpose) -> &Policy {
        match purpose {
            Purpose::Chat => &self.inner.chat,
            Purpose::Release => &self.inner.release,
        }
    }

    /// The hash of everything that a decision for this purpose rests on beside the content: rules, thresholds, detectors and their versions.
    pub fn rules(&self, purpose: Purpose) -> [u8; 32] {
        match purpose {
            Purpose::Chat => self.inner.rules[0],
            Purpose::Release => self.inner.rules[1],
        }
    }

    /// A decision as it is kept.
    pub fn disposition(&self, purpose: Purpose, decision: &Decision) -> Disposition {
        let found: serde_json::Map<String, serde_json::Value> = decision
            .found
            .iter()
            .map(|(kind, action)| (kind.as_str().to_owned(), action.as_str().into()))
            .collect();
        let unanswered: Vec<&str> = decision
            .unanswered
            .iter()
            .map(|kind| kind.as_str())
            .collect();
        Disposition {
            purpose,
            rules: self.rules(purpose),
            verdict: decision.verdict,
            action: decision.action,
            reasons: serde_json::json!({ "found": found, "unanswered": unanswered }).to_string(),
            decided_at: self.inner.clock.now(),
        }
    }

    /// Whether voters can be told anything of content that goes on.
    pub fn tells_voters(&self) -> bool {
        self.inner.tells_voters
    }

    /// Who looks for what, and what nobody looks for.
    pub fn coverage(&self) -> &Coverage {
        &self.inner.coverage
    }

    /// The matches of a picture with the lists here, for the evidence of a sealed case; `None` without lists.
    pub fn known_matches(&self, picture: &PictureContent) -> Option<known_image::Finding> {
        let lists = self.inner.detectors.known_images.as_ref()?;
        Some(lists.find(&picture.fingerprints, self.inner.clock.now().as_second()))
    }

    /// What all detectors say of a picture, for chats and releases.
    ///
    /// Ends within the configured limits, whatever detectors do.
    pub async fn screen_picture(&self, picture: &PictureContent) -> Screening {
        self.screen_picture_for(picture, &Purpose::ALL).await
    }

    /// The same by the detectors alone whose kinds are acted on for these purposes.
    pub async fn screen_picture_for(
        &self,
        picture: &PictureContent,
        purposes: &[Purpose],
    ) -> Screening {
        let asking = Asking {
            screener: self,
            purposes,
        };
        let mut screening = asking.known_image(picture).await;
        let is_known = screening
            .findings
            .iter()
            .any(|finding| finding.kind == FindingKind::KnownImage && finding.counts());
        let is_unsure = !screening.failures.is_empty() && asking.needs(FindingKind::KnownImage);
        if !is_known && !is_unsure {
            screening.merge(asking.local_pictures(picture).await);
            screening.merge(asking.picture_services(picture, false).await);
            asking.name_missing(&mut screening, true);
        }
        self.finish(screening)
    }

    /// What all detectors say of a text, for chats and releases. `language` is its ISO 639-1 code, where it is known.
    pub async fn screen_text(&self, text: &str, language: Option<&str>) -> Screening {
        self.screen_text_for(text, language, &Purpose::ALL).await
    }

    /// The same by the detectors alone whose kinds are acted on for these purposes.
    pub async fn screen_text_for(
        &self,
        text: &str,
        language: Option<&str>,
        purposes: &[Purpose],
    ) -> Screening {
        let asking = Asking {
            screener: self,
            purposes,
        };
        let mut screening = asking.local_texts(text, language).await;
        screening.merge(asking.text_services(text, language).await);
        asking.name_missing(&mut screening, false);
        self.finish(screening)
    }

    async fn ask_local_picture(
        &self,
        detector: &Arc<dyn PictureDetector>,
        pixels: &Arc<Pixels>,
    ) -> Result<Vec<Finding>, (DetectorFailureKind, String)> {
        let (detector, pixels) = (Arc::clone(detector), Arc::clone(pixels));
        self.in_pool(&self.inner.pictures_pool, move || {
            detector
                .find(&pixels)
                .map_err(|failure| (failure.kind, failure.detail))
        })
        .await
    }

    /// A service's answer, remembered or fresh, within its time.
    async fn ask_service(
        &self,
        content: ContentKey<'_>,
        service: &Arc<dyn ScreeningService>,
        kinds: &[FindingKind],
        asking: ServiceFuture<'_>,
    ) -> Answer {
        if let Some(findings) = self.remembered(content, service.identity()).await {
            return Ok(findings);
        }
        let answer = match timeout(
            self.inner.service_limit,
            AssertUnwindSafe(asking).catch_unwind(),
        )
        .await
        {
            Ok(Ok(answer)) => answer.map_err(|failure| (failure.kind, failure.detail)),
            Ok(Err(_panic)) => Err(panicked()),
            Err(_elapsed) => Err(timed_out(self.inner.service_limit)),
        };
        let answer = checked(service.identity(), kinds, answer);
        self.remember(content, service.identity(), &answer).await;
        answer
    }

    /// Runs `work` on a thread that may be busy for long, within the time for local detectors, which counts the wait for a free place too.
    ///
    /// Work that takes longer keeps its place until it ends: there are never more threads at work than places.
    async fn in_pool<T: Send + 'static>(
        &self,
        pool: &Arc<Semaphore>,
        work: impl FnOnce() -> Result<T, (DetectorFailureKind, String)> + Send + 'static,
    ) -> Result<T, (DetectorFailureKind, String)> {
        let limit = self.inner.local_limit;
        let running = async {
            let permit = Arc::clone(pool)
                .acquire_owned()
                .await
                .map_err(|error| (DetectorFailureKind::Internal, error.to_string()))?;
            tokio::task::spawn_blocking(move || {
                let result = work();
                drop(permit);
                result
            })
            .await
            // What a panic says may hold content.
            .unwrap_or_else(|_| Err(panicked()))
        };
        timeout(limit, running)
            .await
            .unwrap_or_else(|_| Err(timed_out(limit)))
    }

    /// Applies the configured thresholds, and counts.
    fn finish(&self, mut screening: Screening) -> Screening {
        for finding in &mut screening.findings {
            let of_category = self.inner.thresholds.iter().find(|((kind, category), _)| {
                *kind == finding.kind && category.as_deref() == Some(finding.category.as_str())
            });
            let of_kind = || {
                self.inner
                    .thresholds
                    .iter()
                    .find(|((kind, category), _)| *kind == finding.kind && category.is_none())
            };
            if let Some((_, threshold)) = of_category.or_else(of_kind) {
                finding.threshold = *threshold;
            }
        }
        let given_up =
            |failure: &&DetectorFailure| failure.kind != DetectorFailureKind::NotInstalled;
        for failure in screening.failures.iter().filter(given_up) {
            metrics::counter!(
                "agon_screening_failures_total",
                "detector" => failure.detector.name.clone(),
                "failure" => failure.kind.as_str()
            )
            .increment(1);
        }
        screening
    }

    async fn remembered(
        &self,
        content: ContentKey<'_>,
        detector: &DetectorIdentity,
    ) -> Option<Vec<Finding>> {
        let store = self.inner.store.as_ref()?;
        match store.remembered_screening(content, detector).await {
            Ok(findings) => findings,
            Err(error) => {
                // Asking again is always right.
                tracing::warn!(%error, detector.name = %detector.name, "remembered findings could not be read");
                None
            }
        }
    }

    /// Remembers an answer; a failure is none.
    async fn remember(
        &self,
        content: ContentKey<'_>,
        detector: &DetectorIdentity,
        answer: &Answer,
    ) {
        let (Some(store), Ok(findings)) = (&self.inner.store, answer) else {
            return;
        };
        let at = self.inner.clock.now();
        if let Err(error) = store
            .remember_screening(content, detector, findings, at)
            .await
        {
            tracing::warn!(%error, detector.name = %detector.name, "findings could not be remembered");
        }
    }
}

/// The identity of a text.
pub fn text_sha256(text: &str) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(text.as_bytes()).into()
}

/// The rules for a purpose: what the operator wrote, and defaults for the rest.
///
/// In chats a default holds only while something looks for the kind; a kind that the operator named holds in any case.
fn policy(settings: &ScreeningSettings, purpose: Purpose, detectors: &Detectors) -> Policy {
    let rules = settings.purpose(purpose);
    let mut policy = Policy::default().allowing_unanswered(rules.allows_unanswered);
    for kind in FindingKind::ALL {
        let is_looked_for = !detectors.that_look_for(kind).is_empty();
        if !rules.names(kind) && (is_looked_for || ScreeningSettings::default_is_required(purpose))
        {
            policy = policy.with(kind, ScreeningSettings::default_action(purpose, kind));
        }
    }
    for ((kind, category), action) in &rules.actions {
        policy = match category {
            Some(category) => policy.with_category(*kind, category, *action),
            None => policy.with(*kind, *action),
        };
    }
    policy
}

/// The hash of rules, thresholds and detectors.
fn rules_sha256(
    policy: &Policy,
    settings: &ScreeningSettings,
    raw: &ScreeningConfig,
    detectors: &Detectors,
) -> [u8; 32] {
    let mut names: Vec<String> = FindingKind::ALL
        .into_iter()
        .flat_map(|kind| detectors.that_look_for(kind))
        .map(|detector| detector.to_string())
        .collect();
    names.sort_unstable();
    names.dedup();
    text_sha256(&format!(
        "{policy:?} {:?} {} {names:?}",
        settings.thresholds, raw.allow_structureless
    ))
}

impl Detectors {
    /// Who looks for a kind.
    pub fn that_look_for(&self, kind: FindingKind) -> Vec<DetectorIdentity> {
        let lists = self
            .known_images
            .iter()
            .filter(|_| kind == FindingKind::KnownImage)
            .map(|lists| lists.identity().clone());
        let pictures = self
            .pictures
            .iter()
            .filter(|detector| detector.screens_for().contains(&kind))
            .map(|detector| detector.identity().clone());
        let texts = self
            .texts
            .iter()
            .filter(|detector| detector.screens_for().contains(&kind))
            .map(|detector| detector.identity().clone());
        let services = self
            .services
            .iter()
            .filter(|service| {
                service.picture_kinds().contains(&kind) || service.text_kinds().contains(&kind)
            })
            .map(|service| service.identity().clone());
        lists.chain(pictures).chain(texts).chain(services).collect()
    }
}

/// An answer that makes sense, or the failure to give one under the detector's own name.
///
/// A score that is no number from 0 to 1 would compare as below every threshold, and an answer about something else covers nothing.
fn checked(
    detector: &DetectorIdentity,
    screens_for: &[FindingKind],
    answer: Result<Vec<Finding>, (DetectorFailureKind, String)>,
) -> Answer {
    let answer = answer.and_then(|findings| {
        let makes_sense = findings.iter().all(|finding| {
            (0.0..=1.0).contains(&finding.score)
                // Above 1 is allowed: such findings are kept and decide nothing.
                && finding.threshold.ge(&0.0)
                && screens_for.contains(&finding.kind)
        });
        if makes_sense {
            Ok(findings)
        } else {
            Err((
                DetectorFailureKind::Malformed,
                "a finding has a score outside 0 to 1, or is of a kind that the detector does not look for".to_owned(),
            ))
        }
    });
    answer.map_err(|(kind, detail)| DetectorFailure {
        detector: detector.clone(),
        screens_for: screens_for.to_vec(),
        kind,
        detail,
    })
}

fn panicked() -> (DetectorFailureKind, String) {
    (DetectorFailureKind::Internal, "it panicked".to_owned())
}

fn timed_out(limit: Duration) -> (DetectorFailureKind, String) {
    (
        DetectorFailureKind::TimedOut,
        format!("no answer within {} ms", limit.as_millis()),
    )
}
