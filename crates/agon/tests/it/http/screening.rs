//! Screening in the running arena: what goes on, what is refused, what is sealed, and what never reaches a model.

use std::{
    collections::VecDeque,
    io::Cursor,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use agon::app::{
    quarantine::{self, Evidence, Identity},
    screening::{
        Answer, Detectors, KnownImageLists, PersonalData, PictureContent, ScreeningService,
        ServiceFuture, TextDetector,
    },
};
use agon_content::{
    detect::PictureDetector,
    image::{ImageLimits, Pixels, normalise},
    known_image::HashList,
};
use agon_domain::{
    DetectorFailure, DetectorFailureKind, DetectorIdentity, Finding, FindingKind, FindingPlace,
    Finish,
};
use agon_providers::{Provider, Script, Scripted};
use agon_store::Store;
use image::{ImageFormat, Rgb, RgbImage};
use jiff::SignedDuration;
use serde_json::Value;

use crate::test_arena::{Client, TestArena, config, scripted};

/// What a scripted detector does with the next picture or text.
#[derive(Clone, Copy, Debug)]
enum Does {
    Find(f64),
    Fail(DetectorFailureKind),
    Panic,
}

/// A detector that does what it is told, in order; the last order stays.
#[derive(Debug)]
struct Told {
    identity: DetectorIdentity,
    kinds: Vec<FindingKind>,
    orders: Mutex<VecDeque<Does>>,
    n_asked: AtomicUsize,
}

impl Told {
    fn new(kind: FindingKind, orders: &[Does]) -> Arc<Self> {
        Arc::new(Self {
            identity: DetectorIdentity::new(format!("told-{kind}"), "1"),
            kinds: vec![kind],
            orders: Mutex::new(orders.iter().copied().collect()),
            n_asked: AtomicUsize::new(0),
        })
    }

    fn n_asked(&self) -> usize {
        self.n_asked.load(Ordering::SeqCst)
    }

    fn answer(&self) -> Answer {
        self.n_asked.fetch_add(1, Ordering::SeqCst);
        let order = {
            let mut orders = self.orders.lock().unwrap();
            match orders.len() {
                1 => orders[0],
                _ => orders.pop_front().unwrap(),
            }
        };
        match order {
            Does::Find(score) => Ok(vec![Finding {
                detector: self.identity.clone(),
                kind: self.kinds[0],
                category: "told".to_owned(),
                score,
                threshold: 0.5,
                place: FindingPlace::Whole,
            }]),
            Does::Fail(kind) => Err(DetectorFailure {
                detector: self.identity.clone(),
                screens_for: self.kinds.clone(),
                kind,
                detail: "told to".to_owned(),
            }),
            Does::Panic => panic!("told to"),
        }
    }
}

impl PictureDetector for Told {
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

impl TextDetector for Told {
    fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    fn screens_for(&self) -> &[FindingKind] {
        &self.kinds
    }

    fn find(&self, _: &str, _: Option<&str>) -> Answer {
        self.answer()
    }
}

impl ScreeningService for Told {
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
        Box::pin(async { self.answer() })
    }

    fn screen_text<'a>(&'a self, _: &'a str, _: Option<&'a str>) -> ServiceFuture<'a> {
        Box::pin(async { self.answer() })
    }
}

/// A picture with structure, another one for each seed.
fn picture(seed: u32) -> Vec<u8> {
    let image = RgbImage::from_fn(160, 120, |x, y| {
        let wave = |a: u32, b: u32| {
            let phase = f64::from(x * (a + seed % 7) + y * b + seed * 31) / 40.0;
            ((phase.sin() + 1.0) * 127.0) as u8
        };
        Rgb([wave(3, 5), wave(7, 2 + seed % 5), wave(2, 9)])
    });
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// An arena with spies for models.
struct Watched {
    arena: TestArena,
    spies: [Scripted; 2],
}

impl Watched {
    async fn new(toml: &str, detectors: Detectors) -> Self {
        Self::with_store(toml, detectors, Store::in_memory().await.unwrap()).await
    }

    async fn with_store(toml: &str, detectors: Detectors, store: Store) -> Self {
        let spies = [(); 2].map(|()| {
            Scripted::script(
                Script::new()
                    .text("Seen: ")
                    .echo_prompt()
                    .finish(Finish::Stop),
            )
        });
        let models = ["model-one", "model-two"]
            .into_iter()
            .zip(&spies)
            .map(|(name, spy)| {
                let (model, _) = scripted(name, Vec::new());
                (model, Provider::from(spy.clone()))
            })
            .collect();
        let config = config(toml, Path::new("unused"));
        let arena = TestArena::screened(models, config, store, detectors).await;
        Self { arena, spies }
    }

    fn n_asked(&self) -> usize {
        self.spies.iter().map(Scripted::n_played).sum()
    }
}

fn looking(detector: &Arc<Told>) -> Detectors {
    Detectors {
        pictures: vec![Arc::clone(detector) as _],
        ..Detectors::default()
    }
}

fn reading(detector: &Arc<Told>) -> Detectors {
    Detectors {
        texts: vec![Arc::clone(detector) as _],
        ..Detectors::default()
    }
}

fn custodians() -> ([Identity; 2], String) {
    let people = [(); 2].map(|()| Identity::generate());
    let toml = format!(
        "[screening.quarantine]\ncustodians = [\"{}\", \"{}\"]\n",
        people[0].to_public(),
        people[1].to_public()
    );
    (people, toml)
}

/// A list that holds the picture, by its looks and by its file.
fn listed(upload: &[u8]) -> KnownImageLists {
    let image = normalise(upload, &ImageLimits::default()).unwrap();
    let md5: String = image
        .original
        .md5
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let csv = format!(
        "signal_type,signal_str\nmd5,{md5}\npdq,{}\n",
        image.perceptual_hash.hash()
    );
    KnownImageLists::new(vec![
        HashList::parse("made up", "1", csv.as_bytes()).unwrap(),
    ])
}

#[tokio::test]
async fn a_picture_that_is_to_be_blocked_reaches_no_model_and_leaves_nothing() {
    let detector = Told::new(FindingKind::NsfwImage, &[Does::Find(0.9)]);
    let watched = Watched::new("", looking(&detector)).await;
    let voter = watched.arena.voter().await;
    let body = voter
        .start("What is this?", Some(&picture(1)))
        .await
        .expect_error(422, "picture_refused");
    let text = body.to_string();
    for secret in ["0.9", "nsfw", "told", "score"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    watched.arena.app.idle().await;
    assert_eq!(watched.n_asked(), 0);
    assert_eq!(watched.arena.app.store().counts().await.unwrap().battles, 0);
    // Text alone is not held up by what pictures are looked at for.
    let id = voter.answered("What is a tide?").await;
    voter.vote(&id, "tie").await.expect(200);
    assert_eq!(watched.n_asked(), 2);
}

#[tokio::test]
async fn what_nobody_could_tell_of_reaches_no_model() {
    let unsure = [
        Does::Fail(DetectorFailureKind::TimedOut),
        Does::Fail(DetectorFailureKind::Internal),
        Does::Panic,
        Does::Find(f64::NAN),
        Does::Find(1.5),
    ];
    let detector = Told::new(FindingKind::NsfwImage, &unsure);
    let watched = Watched::new("", looking(&detector)).await;
    let voter = watched.arena.voter().await;
    for n in 0..5 {
        let answer = voter.start("What is this?", Some(&picture(n))).await;
        assert_eq!(answer.headers["retry-after"], "30");
        answer.expect_error(503, "not_screened");
    }
    watched.arena.app.idle().await;
    assert_eq!(detector.n_asked(), 5);
    assert_eq!(watched.n_asked(), 0);
}

#[tokio::test]
async fn a_required_kind_that_nobody_looks_for_is_undecided_until_the_operator_says_so() {
    let required = "[screening.chat.actions]\nharmful_text = \"block\"\n";
    let watched = Watched::new(required, Detectors::default()).await;
    let voter = watched.arena.voter().await;
    voter
        .start("What is a tide?", None)
        .await
        .expect_error(503, "not_screened");
    assert_eq!(watched.n_asked(), 0);
    let ready = voter.get("/readyz").await.expect(200);
    assert_eq!(
        ready["screening"]["harmful_text"]["chat"]["standing"],
        "missing"
    );
    let allowed = format!("[screening.chat]\nallow_unanswered = true\n{required}");
    let watched = Watched::new(&allowed, Detectors::default()).await;
    watched
        .arena
        .voter()
        .await
        .answered("What is a tide?")
        .await;
    assert_eq!(watched.n_asked(), 2);
    let strict = format!("[screening]\nready_needs_coverage = true\n{required}");
    let watched = Watched::new(&strict, Detectors::default()).await;
    let ready = watched.arena.stranger().get("/readyz").await.expect(503);
    assert_eq!(ready["ready"], false);
}

#[tokio::test]
async fn each_kind_of_refusal_has_one_message() {
    let mut messages = Vec::new();
    for (kind, code) in [
        (FindingKind::HarmfulText, "text_refused"),
        (FindingKind::PiiText, "personal_data"),
    ] {
        let detector = Told::new(kind, &[Does::Find(0.6), Does::Find(0.99)]);
        let toml = format!("[screening.chat.actions]\n{kind} = \"block\"\n");
        let watched = Watched::new(&toml, reading(&detector)).await;
        let voter = watched.arena.voter().await;
        let first = voter.start("one", None).await.expect_error(422, code);
        let second = voter.start("two", None).await.expect_error(422, code);
        assert_eq!(first, second);
        messages.push(first["error"]["message"].clone());
        assert_eq!(watched.n_asked(), 0);
    }
    assert_ne!(messages[0], messages[1]);
}

#[tokio::test]
async fn a_further_turn_is_screened_before_it_is_sent() {
    let orders = [Does::Find(0.1), Does::Find(0.9)];
    let detector = Told::new(FindingKind::HarmfulText, &orders);
    let toml = "[screening.chat.actions]\nharmful_text = \"block\"\n";
    let watched = Watched::new(toml, reading(&detector)).await;
    let voter = watched.arena.voter().await;
    let id = voter.answered("harmless").await;
    let turns = format!("/api/v1/battles/{id}/turns");
    voter
        .post(&turns, serde_json::json!({ "prompt": "harmful" }))
        .await
        .expect_error(422, "text_refused");
    watched.arena.app.idle().await;
    assert_eq!(watched.n_asked(), 2);
    assert_eq!(watched.arena.stored(&id).await.turns.len(), 1);
    // What was refused changes nothing about the battle.
    voter.vote(&id, "model_a").await.expect(200);
}

#[tokio::test]
async fn a_warning_is_shown_and_the_battle_goes_on() {
    let detector = Told::new(FindingKind::HarmfulText, &[Does::Find(0.9)]);
    let toml = "[screening.chat.actions]\nharmful_text = \"warn\"\n";
    let watched = Watched::new(toml, reading(&detector)).await;
    let voter = watched.arena.voter().await;
    let body = voter.start("odd", None).await.expect(201);
    let notice = "The text may be unsuitable for this arena. Both models read it.";
    assert_eq!(body["turns"][0]["notices"], serde_json::json!([notice]));
    let id = body["id"].as_str().unwrap();
    voter.settled(id).await;
    let page = voter.get(&format!("/battle/{id}")).await;
    assert!(page.text.contains(notice), "{}", page.text);
    voter.vote(id, "tie").await.expect(200);
}

#[tokio::test]
async fn personal_data_is_taken_out_before_a_prompt_is_kept_or_sent() {
    let toml = "[screening.chat.actions]\npii_text = \"blur\"\n";
    let detectors = Detectors {
        texts: vec![Arc::new(PersonalData::new(None).unwrap())],
        ..Detectors::default()
    };
    let watched = Watched::new(toml, detectors).await;
    let voter = watched.arena.voter().await;
    let id = voter
        .answered("Write to ana.lopez@example.org, please.")
        .await;
    let body = voter
        .get(&format!("/api/v1/battles/{id}"))
        .await
        .expect(200);
    assert_eq!(
        body["turns"][0]["prompt"],
        "Write to [EMAIL_ADDRESS], please."
    );
    assert_eq!(
        body["turns"][0]["notices"],
        serde_json::json!(["Personal data was taken out of the text before it was sent."])
    );
    assert!(!body.to_string().contains("ana.lopez"), "{body}");
}

#[tokio::test]
async fn by_default_a_voter_may_write_an_address() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter
        .answered("Write to ana.lopez@example.org, please.")
        .await;
    let body = voter
        .get(&format!("/api/v1/battles/{id}"))
        .await
        .expect(200);
    assert_eq!(body["turns"][0]["notices"], serde_json::json!([]));
    let ready = voter.get("/readyz").await.expect(200);
    let of = |kind: &str, purpose: &str| ready["screening"][kind][purpose].clone();
    assert_eq!(of("pii_text", "chat")["standing"], "covered");
    assert_eq!(of("pii_text", "chat")["action"], "log");
    assert_eq!(of("nsfw_image", "chat")["standing"], "not_installed");
    assert_eq!(of("nsfw_image", "release")["standing"], "missing");
}

#[tokio::test]
async fn a_known_image_is_sealed_shown_to_nobody_and_looked_at_by_nobody_else() {
    let upload = picture(5);
    let local = Told::new(FindingKind::NsfwImage, &[Does::Find(0.1)]);
    let remote = Told::new(FindingKind::ViolentImage, &[Does::Find(0.1)]);
    let (people, toml) = custodians();
    let detectors = Detectors {
        known_images: Some(listed(&upload)),
        pictures: vec![local.clone()],
        services: vec![remote.clone()],
        ..Detectors::default()
    };
    let watched = Watched::new(&toml, detectors).await;
    let voter = watched.arena.voter().await;
    let refused = voter
        .start("What is this?", Some(&upload))
        .await
        .expect_error(422, "picture_refused");
    watched.arena.app.idle().await;
    assert_eq!(watched.n_asked() + local.n_asked() + remote.n_asked(), 0);
    let store = watched.arena.app.store();
    assert_eq!(store.counts().await.unwrap().battles, 0);
    // The answer is the one that every refused picture gets.
    let other = Told::new(FindingKind::NsfwImage, &[Does::Find(0.9)]);
    let second = Watched::new("", looking(&other)).await;
    let plain = second.arena.voter().await;
    let plain = plain.start("What is this?", Some(&upload)).await;
    assert_eq!(plain.expect_error(422, "picture_refused"), refused);

    let cases = store.cases().await.unwrap();
    assert_eq!(cases.len(), 1);
    assert_eq!(
        cases[0].retain_until.duration_since(cases[0].sealed_at),
        SignedDuration::from_hours(365 * 24)
    );
    let at = cases[0].sealed_at;
    let sealed = store
        .open_case(cases[0].id, "ana and bo", at)
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&sealed);
    assert!(!text.contains("What is this?") && !text.contains("made up"));
    let opened = quarantine::open(&sealed, [&people[1], &people[0]]).unwrap();
    let (evidence, files) = Evidence::unpack(&opened).unwrap();
    assert_eq!(evidence.prompt, "What is this?");
    assert_eq!(evidence.address.as_deref(), Some("127.0.0.1"));
    assert_eq!(evidence.matches.len(), 2);
    assert_eq!(evidence.matches[0].list, "made up");
    assert_eq!(files[0], ("upload".to_owned(), upload));
    // Another picture goes on as before.
    voter
        .start("And this?", Some(&picture(6)))
        .await
        .expect(201);
    assert_eq!(local.n_asked(), 1);
}

#[tokio::test]
async fn a_picture_that_becomes_known_ends_its_conversation() {
    let upload = picture(7);
    let store = Store::in_memory().await.unwrap();
    let first = Watched::with_store("", Detectors::default(), store.clone()).await;
    let voter = first.arena.voter().await;
    let started = voter
        .start("What is this?", Some(&upload))
        .await
        .expect(201);
    let id = started["id"].as_str().unwrap().to_owned();
    voter.settled(&id).await;
    first.arena.app.idle().await;
    // The arena starts again with a list.
    let (people, toml) = custodians();
    let detectors = Detectors {
        known_images: Some(listed(&upload)),
        ..Detectors::default()
    };
    let second = Watched::with_store(&toml, detectors, store.clone()).await;
    let voter = voter.at(&second.arena.url(""));
    let ended = async |path: &str, body: Value| {
        let answer = voter
            .post(&format!("/api/v1/battles/{id}{path}"), body)
            .await;
        answer.expect_error(409, "conversation_ended")
    };
    let said = ended("/turns", serde_json::json!({ "prompt": "And now?" })).await;
    assert_eq!(said["error"]["message"], "This conversation has ended");
    ended("/vote", serde_json::json!({ "winner": "tie" })).await;
    voter
        .get(&format!("/api/v1/battles/{id}"))
        .await
        .expect_error(409, "conversation_ended");
    assert_eq!(voter.get(&format!("/battle/{id}/image")).await.status, 409);
    assert_eq!(voter.get("/").await.status, 200);
    second.arena.app.idle().await;
    assert_eq!(second.n_asked(), 0);
    let cases = store.cases().await.unwrap();
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0].battle.map(|id| id.to_string()), Some(id));
    let sealed = store
        .open_case(cases[0].id, "ana and bo", cases[0].sealed_at)
        .await
        .unwrap();
    let opened = quarantine::open(&sealed, [&people[0], &people[1]]).unwrap();
    let (evidence, files) = Evidence::unpack(&opened).unwrap();
    assert_eq!(evidence.address, None);
    assert_eq!(files[0].0, "normalised");
}

#[tokio::test]
async fn a_picture_without_structure_is_not_cleared_by_lists_of_looks() {
    let (_, toml) = custodians();
    let flat = {
        let mut bytes = Cursor::new(Vec::new());
        RgbImage::from_pixel(160, 120, Rgb([9, 9, 9]))
            .write_to(&mut bytes, ImageFormat::Png)
            .unwrap();
        bytes.into_inner()
    };
    let lists = || Detectors {
        known_images: Some(listed(&picture(1))),
        ..Detectors::default()
    };
    let watched = Watched::new(&toml, lists()).await;
    let voter = watched.arena.voter().await;
    voter
        .start("What is this?", Some(&flat))
        .await
        .expect_error(422, "not_screenable");
    assert_eq!(watched.n_asked(), 0);
    let allowed = format!("[screening]\nallow_structureless = true\n{toml}");
    let watched = Watched::new(&allowed, lists()).await;
    let voter = watched.arena.voter().await;
    voter.start("What is this?", Some(&flat)).await.expect(201);
}

#[tokio::test]
async fn a_hash_service_that_fails_leaves_a_picture_undecided_whatever_the_lists_say() {
    let service = Told::new(
        FindingKind::KnownImage,
        &[
            Does::Fail(DetectorFailureKind::RateLimited),
            Does::Find(0.0),
        ],
    );
    let local = Told::new(FindingKind::NsfwImage, &[Does::Find(0.1)]);
    let (_, toml) = custodians();
    let detectors = Detectors {
        known_images: Some(listed(&picture(1))),
        services: vec![service],
        pictures: vec![local.clone()],
        ..Detectors::default()
    };
    let watched = Watched::new(&toml, detectors).await;
    let voter = watched.arena.voter().await;
    let send = async || voter.start("What is this?", Some(&picture(2))).await;
    send().await.expect_error(503, "not_screened");
    assert_eq!(local.n_asked(), 0);
    send().await.expect(201);
    assert_eq!(local.n_asked(), 1);
}

#[tokio::test]
async fn a_picture_is_looked_at_once_even_after_a_restart_and_again_by_a_new_version() {
    let folder = tempfile::tempdir().unwrap();
    let upload = picture(3);
    let run = async |detector: &Arc<Told>, toml: &str, status: u16| {
        let store = Store::open(folder.path()).await.unwrap();
        let watched = Watched::with_store(toml, looking(detector), store.clone()).await;
        let voter: Client = watched.arena.voter().await;
        for _ in 0..2 {
            let answer = voter.start("What is this?", Some(&upload)).await;
            assert_eq!(answer.status.as_u16(), status, "{}", answer.text);
        }
        watched.arena.app.idle().await;
        store.close().await;
    };
    let detector = Told::new(FindingKind::NsfwImage, &[Does::Find(0.4)]);
    run(&detector, "", 201).await;
    assert_eq!(detector.n_asked(), 1);
    run(&detector, "", 201).await;
    assert_eq!(detector.n_asked(), 1);
    // A stricter threshold judges the score that is there.
    let strict = "[screening.thresholds]\nnsfw_image = 0.3\n";
    run(&detector, strict, 422).await;
    assert_eq!(detector.n_asked(), 1);
    let newer = Arc::new(Told {
        identity: DetectorIdentity::new("told-nsfw_image", "2"),
        kinds: vec![FindingKind::NsfwImage],
        orders: Mutex::new([Does::Find(0.9)].into()),
        n_asked: AtomicUsize::new(0),
    });
    run(&newer, "", 422).await;
    assert_eq!(newer.n_asked(), 1);
}

#[tokio::test]
async fn whoever_is_refused_again_and_again_waits() {
    let detector = Told::new(FindingKind::HarmfulText, &[Does::Find(0.9)]);
    let toml = "[screening.chat.actions]\nharmful_text = \"block\"\n";
    let watched = Watched::new(toml, reading(&detector)).await;
    let voter = watched.arena.voter().await;
    let send = async || voter.start("harmful", None).await;
    send().await.expect_error(422, "text_refused");
    send().await.expect_error(422, "text_refused");
    let answer = send().await;
    assert_eq!(answer.headers["retry-after"], "5");
    answer.expect_error(429, "too_many_refusals");
    assert_eq!(detector.n_asked(), 2);
    watched.arena.clock.advance(SignedDuration::from_secs(5));
    send().await.expect_error(422, "text_refused");
    assert_eq!(detector.n_asked(), 3);
}

#[tokio::test]
async fn an_answer_that_is_to_be_blocked_is_neither_shown_nor_kept() {
    // The prompt, then the two answers.
    let orders = [Does::Find(0.1), Does::Find(0.9)];
    let detector = Told::new(FindingKind::HarmfulText, &orders);
    let toml = "[screening.chat]\nanswers = \"block\"\n[screening.chat.actions]\nharmful_text = \"block\"\n";
    let watched = Watched::new(toml, reading(&detector)).await;
    let voter = watched.arena.voter().await;
    let id = voter.battle("harmless").await;
    let body = voter.settled(&id).await;
    assert_eq!(body["status"], "failed");
    for side in ["a", "b"] {
        let answer = &body["turns"][0]["answers"][side];
        assert_eq!(answer["finish"], "filtered");
        assert_eq!(answer["text"], "");
    }
}
