//! Whatever detectors and services do, and in whichever order: no picture goes on without a complete "allow".

use std::{path::Path, sync::Arc, time::Duration};

use agon::app::screening::{
    Answer, Detectors, PictureContent, Screener, ScreeningService, ServiceFuture,
};
use agon_content::{
    detect::PictureDetector,
    image::{ImageLimits, Pixels, normalise},
};
use agon_domain::{
    DetectorFailure, DetectorFailureKind, DetectorIdentity, Finding, FindingKind, FindingPlace,
    Purpose, SystemClock, Verdict,
};
use futures_util::future::join_all;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;

use crate::test_arena::config;

/// How many cases run without `AGON_TEST_SCREENING_CASES`.
const N_CASES: u64 = 10_000;
/// How many run at the same time.
const N_AT_ONCE: usize = 100;
/// What has to be answered for, and blocks when it is found.
const REQUIRED: [FindingKind; 3] = [
    FindingKind::KnownImage,
    FindingKind::NsfwImage,
    FindingKind::Face,
];

/// What one detector does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    /// Says that nothing is there.
    Clear,
    /// Finds something below its threshold.
    Doubt,
    /// Finds it.
    Find,
    Fail(DetectorFailureKind),
    Panic,
    /// Gives a score that is none.
    Nonsense,
    /// Answers about something else.
    Stray,
    /// Never answers.
    Hang,
}

#[derive(Debug)]
struct Random {
    identity: DetectorIdentity,
    kind: FindingKind,
    kinds: [FindingKind; 1],
    does: Does,
    pause: Duration,
}

impl Random {
    fn draw(rng: &mut ChaCha20Rng, idx: usize, is_service: bool) -> Arc<Self> {
        let kinds = if is_service {
            &REQUIRED[..]
        } else {
            &REQUIRED[1..]
        };
        let kind = kinds[rng.random_range(0..kinds.len())];
        let failure = DetectorFailureKind::ALL[rng.random_range(0..DetectorFailureKind::ALL.len())];
        // Clear often, so that complete answers occur.
        let does = match rng.random_range(0..16) {
            0 => Does::Doubt,
            1 => Does::Find,
            2 => Does::Fail(failure),
            3 => Does::Panic,
            4 => Does::Nonsense,
            5 => Does::Stray,
            6 if is_service => Does::Hang,
            _ => Does::Clear,
        };
        Arc::new(Self {
            identity: DetectorIdentity::new(format!("random-{idx}"), "1"),
            kind,
            kinds: [kind],
            does,
            pause: Duration::from_micros(rng.random_range(0..3000)),
        })
    }

    /// Whether it tells, and whether what it tells lets the picture go on.
    fn clears(&self) -> bool {
        matches!(self.does, Does::Clear | Does::Doubt)
    }

    fn answer(&self) -> Answer {
        let found = |kind, score| {
            Ok(vec![Finding {
                detector: self.identity.clone(),
                kind,
                category: "x".to_owned(),
                score,
                threshold: 0.5,
                place: FindingPlace::Whole,
            }])
        };
        match self.does {
            Does::Clear | Does::Hang => Ok(Vec::new()),
            Does::Doubt => found(self.kind, 0.4),
            Does::Find => found(self.kind, 0.6),
            Does::Nonsense => found(self.kind, f64::NAN),
            Does::Stray => found(FindingKind::PiiText, 0.1),
            Does::Fail(kind) => Err(DetectorFailure {
                detector: self.identity.clone(),
                screens_for: self.kinds.to_vec(),
                kind,
                detail: String::new(),
            }),
            // A panic without a message on standard error.
            Does::Panic => std::panic::resume_unwind(Box::new(())),
        }
    }
}

impl PictureDetector for Random {
    fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    fn screens_for(&self) -> &[FindingKind] {
        &self.kinds
    }

    fn find(&self, _: &Pixels) -> Answer {
        self.answer()
    }
}

impl ScreeningService for Random {
    fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    fn picture_kinds(&self) -> &[FindingKind] {
        &self.kinds
    }

    fn text_kinds(&self) -> &[FindingKind] {
        &[]
    }

    fn screen_picture<'a>(&'a self, _: &'a PictureContent) -> ServiceFuture<'a> {
        Box::pin(async {
            if self.does == Does::Hang {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(self.pause).await;
            self.answer()
        })
    }

    fn screen_text<'a>(&'a self, _: &'a str, _: Option<&'a str>) -> ServiceFuture<'a> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Runs a case; says whether the picture went on, after checking that it might.
async fn run(seed: u64, settings: &agon::config::Config, picture: &PictureContent) -> bool {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let n_local = rng.random_range(0..4);
    let n_services = rng.random_range(0..5);
    let local: Vec<_> = (0..n_local)
        .map(|idx| Random::draw(&mut rng, idx, false))
        .collect();
    let services: Vec<_> = (0..n_services)
        .map(|idx| Random::draw(&mut rng, 10 + idx, true))
        .collect();
    let detectors = Detectors {
        pictures: local.iter().map(|one| Arc::clone(one) as _).collect(),
        services: services.iter().map(|one| Arc::clone(one) as _).collect(),
        ..Detectors::default()
    };
    let screener = Screener::new(settings, detectors, Arc::new(SystemClock), None);
    let screening = screener.screen_picture_for(picture, &[Purpose::Chat]).await;
    let decision = screener.policy(Purpose::Chat).decide(&screening, true);
    let went_on = decision.verdict == Verdict::Allow;
    // What may be, told from what the detectors do and from nothing that the screener says.
    let all = || local.iter().chain(&services);
    let is_found = all().any(|one| one.does == Does::Find);
    let is_answered = |kind| all().any(|one| one.kind == kind && one.clears());
    let known_is_whole = all()
        .filter(|one| one.kind == FindingKind::KnownImage)
        .all(|one| one.clears());
    let may_go_on = !is_found && known_is_whole && REQUIRED.into_iter().all(is_answered);
    assert!(
        may_go_on || !went_on,
        "seed {seed}: {decision:?} from {local:?} and {services:?}"
    );
    went_on
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_picture_goes_on_without_a_complete_allow() {
    let n_cases = std::env::var("AGON_TEST_SCREENING_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(N_CASES);
    let toml = "[screening]\nservice_ms_max = 20\nlocal_ms_max = 200\n[screening.chat.actions]\nknown_image = \"block\"\nnsfw_image = \"block\"\nface = \"block\"\n";
    let settings = config(toml, Path::new("unused"));
    let picture = {
        let pixels = Pixels::new(8, 8, vec![90; 8 * 8 * 3]).unwrap();
        let (bytes, _) = pixels.encoded().unwrap();
        PictureContent::from(&normalise(&bytes, &ImageLimits::default()).unwrap())
    };
    let mut n_went_on = 0;
    let seeds: Vec<u64> = (0..n_cases).collect();
    for seeds in seeds.chunks(N_AT_ONCE) {
        let cases = seeds.iter().map(|seed| run(*seed, &settings, &picture));
        n_went_on += join_all(cases)
            .await
            .into_iter()
            .filter(|went| *went)
            .count();
    }
    println!("{n_went_on} of {n_cases} pictures went on, each with a complete allow");
    assert!(
        n_went_on > 0,
        "a test in which nothing goes on shows nothing"
    );
}
