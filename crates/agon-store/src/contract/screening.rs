//! Findings, decisions, hashes of images and sealed cases, on every backend.

use agon_domain::{
    Action, CaseId, DetectorIdentity, Finding, FindingKind, FindingPlace, ImageId, PixelBox,
    Purpose, Verdict,
};

use super::{admit, at, battle_id, png_meta, start_answered, visit};
use crate::{CaseState, ContentKey, Disposition, Error, ImageHashes, NewCase, Store};

fn findings(detector: &DetectorIdentity) -> Vec<Finding> {
    let finding = |kind, place| Finding {
        detector: detector.clone(),
        kind,
        category: "\"odd\" \u{0} name".to_owned(),
        score: 0.1 + 0.2,
        threshold: 1.0 / 3.0,
        place,
    };
    vec![
        finding(FindingKind::NsfwImage, FindingPlace::Whole),
        finding(
            FindingKind::PiiText,
            FindingPlace::Text {
                bytes: 0..usize::MAX,
                chars: 3..4,
            },
        ),
        finding(
            FindingKind::Face,
            FindingPlace::Picture(PixelBox {
                left_px: 0,
                top_px: u32::MAX,
                width_px: 1,
                height_px: 2,
            }),
        ),
    ]
}

pub(super) async fn findings_read_back_for_the_same_content_and_version_alone(store: Store) {
    let detector = DetectorIdentity::new("open-nsfw", "1");
    let picture = ContentKey::picture([1; 32]);
    let saved = findings(&detector);
    assert_eq!(
        store
            .remembered_screening(picture, &detector)
            .await
            .unwrap(),
        None
    );
    store
        .remember_screening(picture, &detector, &saved, at(1))
        .await
        .unwrap();
    assert_eq!(
        store
            .remembered_screening(picture, &detector)
            .await
            .unwrap(),
        Some(saved)
    );
    let newer = DetectorIdentity::new("open-nsfw", "2");
    let other = DetectorIdentity::new("center-face", "1");
    for (content, detector) in [
        (picture, &newer),
        (picture, &other),
        (ContentKey::picture([2; 32]), &detector),
        (ContentKey::text([1; 32], None), &detector),
        (ContentKey::text([1; 32], Some("de")), &detector),
    ] {
        assert_eq!(
            store.remembered_screening(content, detector).await.unwrap(),
            None,
            "{content:?} {detector}"
        );
    }
    // An answer of a newer version takes the older one's place; nothing found is an answer.
    store
        .remember_screening(picture, &newer, &[], at(2))
        .await
        .unwrap();
    assert_eq!(
        store.remembered_screening(picture, &newer).await.unwrap(),
        Some(Vec::new())
    );
    assert_eq!(
        store
            .remembered_screening(picture, &detector)
            .await
            .unwrap(),
        None
    );
}

pub(super) async fn a_decision_is_replaced_by_a_newer_one(store: Store) {
    let text = ContentKey::text([1; 32], None);
    let decided = |purpose, verdict, seconds| Disposition {
        purpose,
        rules: [9; 32],
        verdict,
        action: Action::Warn,
        reasons: "{}".to_owned(),
        decided_at: at(seconds),
    };
    let first = decided(Purpose::Chat, Verdict::Undecided, 1);
    let release = decided(Purpose::Release, Verdict::Block, 1);
    store
        .save_dispositions(&[(text, first), (text, release.clone())])
        .await
        .unwrap();
    let second = decided(Purpose::Chat, Verdict::Allow, 2);
    store
        .save_dispositions(&[(text, second.clone())])
        .await
        .unwrap();
    assert_eq!(
        store.disposition(text, Purpose::Chat).await.unwrap(),
        Some(second)
    );
    assert_eq!(
        store.disposition(text, Purpose::Release).await.unwrap(),
        Some(release)
    );
    let picture = ContentKey::picture([1; 32]);
    assert_eq!(
        store.disposition(picture, Purpose::Chat).await.unwrap(),
        None
    );
}

pub(super) async fn an_image_keeps_its_first_hashes(store: Store) {
    let image = store
        .put_image(b"bytes".to_vec(), &png_meta())
        .await
        .unwrap();
    assert_eq!(store.image_hashes(image).await.unwrap(), None);
    let first = ImageHashes {
        original_md5: [1; 16],
        original_sha256: [2; 32],
        pixel_sha256: [3; 32],
        pdq: [4; 32],
        pdq_quality: 100,
    };
    let second = ImageHashes {
        pdq_quality: 0,
        ..first
    };
    store.keep_image_hashes(image, &first).await.unwrap();
    store.keep_image_hashes(image, &second).await.unwrap();
    assert_eq!(store.image_hashes(image).await.unwrap(), Some(first));
    let unknown = ImageId::from_bytes([7; 32]);
    let refused = store.keep_image_hashes(unknown, &first).await;
    assert!(
        matches!(refused, Err(Error::Database { .. })),
        "{refused:?}"
    );
}

fn case(n: u8) -> NewCase {
    NewCase {
        id: CaseId::from_bytes([n; 16]),
        sealed_at: at(10),
        retain_until: at(1_000),
        battle: None,
    }
}

pub(super) async fn a_sealed_case_ends_its_battle_and_records_every_opening(store: Store) {
    admit(&store, visit(1)).await;
    start_answered(&store, 1, visit(1)).await;
    assert!(!store.is_ended(battle_id(1)).await.unwrap());
    let new = NewCase {
        battle: Some(battle_id(1)),
        ..case(1)
    };
    store.seal_case(&new, b"sealed".to_vec()).await.unwrap();
    assert!(store.is_ended(battle_id(1)).await.unwrap());
    let again = store.seal_case(&new, b"other".to_vec()).await;
    assert!(again.is_err(), "{again:?}");
    for who in ["ana and bo", "bo and cy"] {
        let bytes = store.open_case(new.id, who, at(20)).await.unwrap();
        assert_eq!(bytes, b"sealed");
    }
    let (kept, events) = store.case(new.id).await.unwrap().unwrap();
    assert_eq!(kept.battle, Some(battle_id(1)));
    assert_eq!(kept.state, CaseState::Sealed);
    assert_eq!(kept.n_bytes, 6);
    assert_eq!(store.cases().await.unwrap(), [kept]);
    let said: Vec<(&str, &str)> = events
        .iter()
        .map(|event| (event.what.as_str(), event.who.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            ("sealed", "the arena"),
            ("opened", "ana and bo"),
            ("opened", "bo and cy")
        ]
    );
    let unknown = store
        .open_case(CaseId::from_bytes([9; 16]), "ana", at(20))
        .await;
    assert!(matches!(unknown, Err(Error::UnknownCase(_))), "{unknown:?}");
    // What was sealed is no longer shown, and the battle can still be read.
    let image = store
        .put_image(b"bytes".to_vec(), &png_meta())
        .await
        .unwrap();
    store.remove_image_bytes(image).await.unwrap();
    store.remove_image_bytes(image).await.unwrap();
    let gone = store.image(image).await;
    assert!(matches!(gone, Err(Error::DamagedImage(_))), "{gone:?}");
}

pub(super) async fn a_step_of_a_report_is_taken_once(store: Store) {
    use CaseState::{ReportParked, ReportPrepared, ReportSubmitting, Reported, Sealed};
    let new = case(1);
    store.seal_case(&new, b"sealed".to_vec()).await.unwrap();
    let step = async |from: &[CaseState], to, number| {
        store
            .advance_case(new.id, from, to, number, "ana", at(30))
            .await
    };
    step(&[Sealed], ReportPrepared, None).await.unwrap();
    step(&[ReportPrepared], ReportSubmitting, None)
        .await
        .unwrap();
    let twice = step(&[ReportPrepared], ReportSubmitting, None).await;
    assert!(
        matches!(
            twice,
            Err(Error::WrongCaseState {
                state: "report_submitting",
                ..
            })
        ),
        "{twice:?}"
    );
    step(&[ReportSubmitting], ReportParked, None).await.unwrap();
    step(&[ReportParked], Reported, Some("4564654"))
        .await
        .unwrap();
    let (kept, events) = store.case(new.id).await.unwrap().unwrap();
    assert_eq!(kept.report_id.as_deref(), Some("4564654"));
    assert_eq!(events.len(), 5);
    let nobody = store
        .advance_case(new.id, &[Reported], Reported, None, " ", at(30))
        .await;
    assert!(matches!(nobody, Err(Error::Invalid { .. })), "{nobody:?}");
}

pub(super) async fn a_case_is_destroyed_only_after_its_time(store: Store) {
    let new = case(1);
    store.seal_case(&new, b"sealed".to_vec()).await.unwrap();
    let early = store.destroy_case(new.id, "ana", at(999)).await;
    assert!(
        matches!(early, Err(Error::CaseRetained { .. })),
        "{early:?}"
    );
    assert!(store.open_case(new.id, "ana", at(999)).await.is_ok());
    store.destroy_case(new.id, "ana", at(1_000)).await.unwrap();
    let gone = store.open_case(new.id, "ana", at(1_001)).await;
    assert!(matches!(gone, Err(Error::UnknownCase(_))), "{gone:?}");
    let twice = store.destroy_case(new.id, "ana", at(1_001)).await;
    assert!(
        matches!(twice, Err(Error::WrongCaseState { .. })),
        "{twice:?}"
    );
    let (kept, events) = store.case(new.id).await.unwrap().unwrap();
    assert_eq!(kept.state, CaseState::Destroyed);
    assert_eq!(
        events.last().map(|event| event.what.as_str()),
        Some("destroyed")
    );
}
