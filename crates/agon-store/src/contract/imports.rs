//! What every backend must do with imports.

use std::collections::BTreeMap;

use agon_domain::{Sides, VoterId, Winner};

use super::{at, png_meta as png};
use crate::{
    AddedBattle, BegunImport, Counts, Error, FinishedImport, ImageMeta, ImportId, ImportInput,
    ImportVerdict, ImportedImage, ImportedMessage, ImportedStyle, KeptImage, NewImage, NewImport,
    NewImportedBattle, NewOriginal, OriginalId, OriginalMeta, OriginalState, Store,
    imported_battle_id,
};

fn import(n: u8, source: &str) -> NewImport {
    NewImport {
        id: ImportId::from_bytes([n; 16]),
        source: source.to_owned(),
        request_sha256: [n; 32],
        clean_profile: Some("agon-1".to_owned()),
        aliases: Some(("2026-12".to_owned(), [3; 32])),
        program_version: "0.1.0".to_owned(),
        started_at: at(i64::from(n)),
    }
}

fn battle(row_idx: u64, original_id: &str) -> NewImportedBattle {
    NewImportedBattle {
        row_idx,
        original_id: original_id.to_owned(),
        models: Sides {
            a: "alpha".to_owned(),
            b: "beta".to_owned(),
        },
        winner: Winner::A,
        judge: Some(VoterId::from_bytes([4; 16])),
        is_anonymous: Some(true),
        language: Some("English".to_owned()),
        categories: Some(vec![
            ("ocr".to_owned(), true),
            ("homework".to_owned(), false),
        ]),
        n_turns: Some(1),
        cast_at: Some(at(100)),
        style: Sides {
            a: Some(ImportedStyle {
                tokens: 7,
                headers: 1,
                lists: 2,
                bold: 3,
            }),
            b: None,
        },
        conversations: Sides {
            a: vec![
                message("user", Some("what is \0 this?\u{1F600}")),
                message("assistant", Some("")),
            ],
            b: vec![message("user", Some("what")), message("assistant", None)],
        },
        images: Vec::new(),
    }
}

fn message(role: &str, text: Option<&str>) -> ImportedMessage {
    ImportedMessage {
        role: role.to_owned(),
        text: text.map(ToOwned::to_owned),
    }
}

fn finished() -> FinishedImport {
    FinishedImport {
        finished_at: at(500),
        n_rows: 3,
        inputs: vec![ImportInput {
            name: "votes.jsonl".to_owned(),
            format: "fastchat-log".to_owned(),
            sha256: None,
            n_rows: 3,
            n_kept: 2,
        }],
        rejected: vec![("not_a_vote".to_owned(), 1)],
        image_problems: vec![("image_missing".to_owned(), 2)],
    }
}

async fn n_imported(store: &Store) -> u64 {
    let tally = store.imported_tally(None).await.unwrap();
    let (_, pairs) = tally.into_sorted();
    pairs.iter().map(|(_, counts)| counts.total()).sum()
}

pub(super) async fn an_imported_battle_reads_back_exactly(store: Store) {
    let begun = store.begin_import(&import(1, "logs")).await.unwrap();
    let meta = png();
    let ids = store
        .put_images(vec![NewImage {
            bytes: vec![1, 2, 3],
            meta,
            original_sha256: Some([8; 32]),
        }])
        .await
        .unwrap();
    let mut first = battle(0, "q1");
    first.images = vec![
        ImportedImage {
            turn_idx: Some(0),
            reference: Some("0a1b".to_owned()),
            image: Ok(KeptImage::Normalised(ids[0])),
        },
        ImportedImage {
            turn_idx: None,
            reference: None,
            image: Err("image_missing".to_owned()),
        },
    ];
    let mut second = battle(1, "q2");
    (second.judge, second.cast_at, second.language) = (None, None, None);
    second.categories = None;
    second.conversations = Sides {
        a: Vec::new(),
        b: Vec::new(),
    };
    let added = store
        .add_imported(begun.id, &[first.clone(), second.clone()])
        .await
        .unwrap();
    assert_eq!(
        added,
        [
            AddedBattle::Added { sequence: 1 },
            AddedBattle::Added { sequence: 2 }
        ]
    );
    let verdict = ImportVerdict {
        sequence: 2,
        excluded_by: Some("no_user_turn"),
        flags: vec!["no_user_turn", "unequal_messages"],
    };
    store.judge_imported(begun.id, &[verdict]).await.unwrap();
    let read = store
        .imported_battle(imported_battle_id("logs", "q1"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((read.sequence, read.import), (1, begun.id));
    assert_eq!((read.excluded_by, read.flags.len()), (None, 0));
    assert_eq!(read.battle, first);
    let read = store
        .imported_battle(imported_battle_id("logs", "q2"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(read.battle, second);
    assert_eq!(read.excluded_by.as_deref(), Some("no_user_turn"));
    assert_eq!(read.flags, ["no_user_turn", "unequal_messages"]);
    assert_eq!(
        store
            .imported_battle(imported_battle_id("other", "q1"))
            .await
            .unwrap(),
        None
    );
}

pub(super) async fn an_import_counts_once_it_is_finished(store: Store) {
    let begun = store.begin_import(&import(1, "logs")).await.unwrap();
    store
        .add_imported(
            begun.id,
            &[battle(0, "q1"), battle(1, "q2"), battle(2, "q3")],
        )
        .await
        .unwrap();
    assert_eq!(n_imported(&store).await, 0);
    assert_eq!(store.imported_votes(0, 10).await.unwrap(), []);
    assert_eq!(store.imported_counts(None).await.unwrap().n_unfinished, 3);
    let verdict = ImportVerdict {
        sequence: 2,
        excluded_by: Some("failed"),
        flags: vec!["failed"],
    };
    store.judge_imported(begun.id, &[verdict]).await.unwrap();
    store.finish_import(begun.id, &finished()).await.unwrap();
    assert_eq!(n_imported(&store).await, 2);
    let counts = store.imported_counts(Some("logs")).await.unwrap();
    assert_eq!(counts.excluded, BTreeMap::from([("failed".to_owned(), 1)]));
    assert_eq!(counts.n_unfinished, 0);
    let other = store.imported_counts(Some("other")).await.unwrap();
    assert_eq!(other.excluded.len(), 0);
    let votes = store.imported_votes(0, 2).await.unwrap();
    assert_eq!(votes.len(), 2);
    assert_eq!(votes[1].excluded_by.as_deref(), Some("failed"));
    assert_eq!(store.imported_votes(2, 2).await.unwrap()[0].sequence, 3);
    let imports = store.imports().await.unwrap();
    assert_eq!(imports[0].n_battles, 3);
    assert_eq!(imports[0].finished_at, Some(at(500)));
    // It takes nothing more.
    for error in [
        store
            .add_imported(begun.id, &[battle(3, "q4")])
            .await
            .unwrap_err(),
        store.judge_imported(begun.id, &[]).await.unwrap_err(),
        store
            .finish_import(begun.id, &finished())
            .await
            .unwrap_err(),
    ] {
        assert!(matches!(error, Error::UnknownImport), "{error}");
    }
}

pub(super) async fn imported_battles_are_in_no_count_of_the_arena(store: Store) {
    let begun = store.begin_import(&import(1, "logs")).await.unwrap();
    store
        .add_imported(begun.id, &[battle(0, "q1")])
        .await
        .unwrap();
    store.finish_import(begun.id, &finished()).await.unwrap();
    assert_eq!(store.counts().await.unwrap(), Counts::default());
    let (tally, sequence) = store.tally().await.unwrap();
    assert_eq!((tally.models().len(), sequence), (0, 0));
    assert_eq!(store.tally_by_month(0).await.unwrap().0.len(), 0);
    assert_eq!(store.voted_battles(0, 10).await.unwrap(), []);
    let id = imported_battle_id("logs", "q1");
    assert_eq!(store.battle(id).await.unwrap(), None);
}

pub(super) async fn a_second_copy_of_a_battle_id_is_refused(store: Store) {
    let first = store.begin_import(&import(1, "logs")).await.unwrap();
    let mut other = battle(1, "q1");
    other.winner = Winner::B;
    let added = store
        .add_imported(first.id, &[battle(0, "q1"), other.clone()])
        .await
        .unwrap();
    assert_eq!(
        added,
        [AddedBattle::Added { sequence: 1 }, AddedBattle::Repeated]
    );
    let added = store.add_imported(first.id, &[other]).await.unwrap();
    assert_eq!(added, [AddedBattle::Repeated]);
    store.finish_import(first.id, &finished()).await.unwrap();
    let second = store.begin_import(&import(2, "logs")).await.unwrap();
    let mut later = battle(0, "q1");
    later.cast_at = Some(at(900));
    let added = store
        .add_imported(second.id, &[later, battle(1, "q2")])
        .await
        .unwrap();
    assert_eq!(
        added,
        [AddedBattle::Repeated, AddedBattle::Added { sequence: 2 }]
    );
    store.finish_import(second.id, &finished()).await.unwrap();
    // The same id of another source is another battle.
    let third = store.begin_import(&import(3, "elsewhere")).await.unwrap();
    let added = store
        .add_imported(third.id, &[battle(0, "q1")])
        .await
        .unwrap();
    assert_eq!(added, [AddedBattle::Added { sequence: 3 }]);
    store.finish_import(third.id, &finished()).await.unwrap();
    assert_eq!(n_imported(&store).await, 3);
}

pub(super) async fn of_several_votes_on_an_imported_battle_the_last_counts(store: Store) {
    let begun = store.begin_import(&import(1, "logs")).await.unwrap();
    let vote = |row_idx: u64, second: Option<i64>, winner| NewImportedBattle {
        winner,
        cast_at: second.map(at),
        ..battle(row_idx, "q1")
    };
    let rows = [
        vote(0, None, Winner::A),
        vote(1, Some(10), Winner::B),
        vote(2, Some(5), Winner::A),
    ];
    let added = store.add_imported(begun.id, &rows).await.unwrap();
    let expected = [
        AddedBattle::Added { sequence: 1 },
        AddedBattle::Replaced {
            sequence: 1,
            row_idx: 0,
        },
        AddedBattle::Repeated,
    ];
    assert_eq!(added, expected);
    // In a batch of its own too.
    let last = vote(3, Some(20), Winner::Tie);
    let added = store
        .add_imported(begun.id, std::slice::from_ref(&last))
        .await
        .unwrap();
    assert_eq!(
        added,
        [AddedBattle::Replaced {
            sequence: 1,
            row_idx: 1
        }]
    );
    // The same rows again, after an interruption.
    let added = store.add_imported(begun.id, &rows).await.unwrap();
    assert_eq!(added, [AddedBattle::Repeated; 3]);
    let added = store
        .add_imported(begun.id, std::slice::from_ref(&last))
        .await
        .unwrap();
    assert_eq!(added, [AddedBattle::Resumed { sequence: 1 }]);
    let read = store
        .imported_battle(imported_battle_id("logs", "q1"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(read.battle, last);
    store.finish_import(begun.id, &finished()).await.unwrap();
    assert_eq!(n_imported(&store).await, 1);
}

pub(super) async fn an_interrupted_import_goes_on_without_double_battles(store: Store) {
    let request = import(1, "logs");
    let begun = store.begin_import(&request).await.unwrap();
    store
        .add_imported(begun.id, &[battle(0, "q1"), battle(1, "q2")])
        .await
        .unwrap();
    // Another run has another id and time; what makes it the same is the request.
    let again = NewImport {
        id: ImportId::from_bytes([7; 16]),
        started_at: at(50),
        ..request.clone()
    };
    assert_eq!(
        store.begin_import(&again).await.unwrap(),
        BegunImport {
            id: begun.id,
            n_stored: 2
        }
    );
    let added = store
        .add_imported(
            begun.id,
            &[battle(0, "q1"), battle(1, "q2"), battle(2, "q3")],
        )
        .await
        .unwrap();
    let expected = [
        AddedBattle::Resumed { sequence: 1 },
        AddedBattle::Resumed { sequence: 2 },
        AddedBattle::Added { sequence: 3 },
    ];
    assert_eq!(added, expected);
    let other = NewImport {
        request_sha256: [9; 32],
        ..again.clone()
    };
    let error = store.begin_import(&other).await.unwrap_err();
    assert!(matches!(error, Error::UnfinishedImport { .. }), "{error}");
    // Another source is free.
    store.begin_import(&import(4, "elsewhere")).await.unwrap();
    assert_eq!(store.discard_unfinished_import("logs").await.unwrap(), 3);
    assert_eq!(store.discard_unfinished_import("logs").await.unwrap(), 0);
    let begun = store.begin_import(&other).await.unwrap();
    assert_eq!((begun.id, begun.n_stored), (other.id, 0));
    let added = store
        .add_imported(begun.id, &[battle(0, "q1")])
        .await
        .unwrap();
    assert_eq!(added, [AddedBattle::Added { sequence: 1 }]);
}

pub(super) async fn what_cannot_be_imported_is_refused_and_leaves_nothing(store: Store) {
    let nameless = NewImport {
        source: " ".to_owned(),
        ..import(1, "logs")
    };
    let error = store.begin_import(&nameless).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    let begun = store.begin_import(&import(1, "logs")).await.unwrap();
    let mut itself = battle(1, "q2");
    itself.models.b.clone_from(&itself.models.a);
    let mut unknown_image = battle(1, "q2");
    unknown_image.images.push(ImportedImage {
        turn_idx: Some(0),
        reference: None,
        image: Ok(KeptImage::Original(OriginalId::from_bytes([5; 32]))),
    });
    for bad in [itself, battle(1, ""), unknown_image] {
        store
            .add_imported(begun.id, &[battle(0, "q1"), bad])
            .await
            .unwrap_err();
    }
    let unknown = ImportId::from_bytes([99; 16]);
    let error = store
        .add_imported(unknown, &[battle(0, "q1")])
        .await
        .unwrap_err();
    assert!(matches!(error, Error::UnknownImport), "{error}");
    assert_eq!(store.imported_counts(None).await.unwrap().n_unfinished, 0);
}

pub(super) async fn an_image_is_recognised_by_its_original(store: Store) {
    let image = |n: u8, legacy_md5| NewImage {
        bytes: vec![n; 10],
        meta: ImageMeta {
            legacy_md5,
            ..png()
        },
        original_sha256: Some([n; 32]),
    };
    let ids = store
        .put_images(vec![
            image(1, None),
            image(2, Some([2; 16])),
            image(1, None),
        ])
        .await
        .unwrap();
    assert_eq!(ids[0], ids[2]);
    let found = store
        .images_of_originals(&[[2; 32], [3; 32], [1; 32]])
        .await
        .unwrap();
    assert_eq!(found, [Some(ids[1]), None, Some(ids[0])]);
    // What an older dataset calls it is learned later, and then stays.
    for md5 in [[6; 16], [7; 16]] {
        store.put_images(vec![image(1, Some(md5))]).await.unwrap();
        let meta = store.image_meta(ids[0]).await.unwrap().unwrap();
        assert_eq!(meta.legacy_md5, Some([6; 16]));
    }
    assert_eq!(store.image(ids[1]).await.unwrap().unwrap().bytes, [2; 10]);
}

fn original(n: u8) -> NewOriginal {
    let bytes = vec![n; 10 + usize::from(n)];
    NewOriginal {
        id: OriginalId::from_bytes(*crate::images::hash(&bytes).as_bytes()),
        bytes: bytes.into(),
        meta: OriginalMeta {
            format: crate::ImageFormat::Png,
            width: 4,
            height: 3,
            legacy_md5: (n == 2).then_some([2; 16]),
        },
    }
}

fn showing(row_idx: u64, original_id: &str, shown: &[OriginalId]) -> NewImportedBattle {
    let image = |id: &OriginalId| ImportedImage {
        turn_idx: Some(0),
        reference: None,
        image: Ok(KeptImage::Original(*id)),
    };
    NewImportedBattle {
        images: shown.iter().map(image).collect(),
        ..battle(row_idx, original_id)
    }
}

pub(super) async fn an_original_reads_back_as_it_came_and_is_kept_once(store: Store) {
    let begun = store.begin_import(&import(1, "logs")).await.unwrap();
    let (first, second) = (original(1), original(2));
    let written = store
        .write_originals(begun.id, vec![first.clone(), second.clone()])
        .await
        .unwrap();
    // What is written is not kept before the database knows of it.
    assert_eq!(store.original(first.id).await.unwrap(), None);
    let battles = [showing(0, "q1", &[first.id, second.id])];
    store.add_imported(begun.id, &battles).await.unwrap_err();
    store
        .add_imported_with(begun.id, &battles, &written)
        .await
        .unwrap();
    // The same bytes again, by an import that did not look for them.
    let again = store
        .write_originals(begun.id, vec![second.clone()])
        .await
        .unwrap();
    let other = [showing(1, "q2", &[second.id])];
    store
        .add_imported_with(begun.id, &other, &again)
        .await
        .unwrap();
    store.finish_import(begun.id, &finished()).await.unwrap();
    for new in [&first, &second] {
        let read = store.original(new.id).await.unwrap().unwrap();
        assert_eq!((&*read.bytes, &read.meta), (&*new.bytes, &new.meta));
    }
    let states = store
        .original_states(&[first.id, OriginalId::from_bytes([9; 32])])
        .await
        .unwrap();
    assert_eq!(states.len(), 1);
    assert_eq!(states[&first.id], OriginalState::Untried);
    let read = store
        .imported_battle(imported_battle_id("logs", "q1"))
        .await
        .unwrap();
    assert_eq!(read.unwrap().battle, battles[0]);
    // A finished import takes no more.
    let error = store.write_originals(begun.id, vec![original(3)]).await;
    if store.folder().is_some() {
        assert!(matches!(error, Err(Error::UnknownImport)), "{error:?}");
    }
}

pub(super) async fn what_became_of_an_original_is_remembered(store: Store) {
    let begun = store.begin_import(&import(1, "logs")).await.unwrap();
    let (good, bad) = (original(1), original(2));
    let ids = [good.id, bad.id];
    let written = store
        .write_originals(begun.id, vec![good.clone(), bad.clone()])
        .await
        .unwrap();
    store
        .add_imported_with(begun.id, &[showing(0, "q1", &ids)], &written)
        .await
        .unwrap();
    let image = NewImage {
        bytes: vec![7; 5],
        meta: png(),
        original_sha256: Some(*good.id.as_bytes()),
    };
    let made = store.put_images(vec![image]).await.unwrap()[0];
    store.refuse_original(bad.id, "image_broken").await.unwrap();
    let states = store.original_states(&ids).await.unwrap();
    assert_eq!(states[&good.id], OriginalState::Normalised(made));
    let refused = OriginalState::Refused("image_broken".to_owned());
    assert_eq!(states[&bad.id], refused);
}

pub(super) async fn an_interrupted_import_that_is_forgotten_leaves_no_original(store: Store) {
    let first = store.begin_import(&import(1, "logs")).await.unwrap();
    let (shared, own) = (original(1), original(2));
    let written = store
        .write_originals(first.id, vec![shared.clone(), own.clone()])
        .await
        .unwrap();
    store
        .add_imported_with(
            first.id,
            &[showing(0, "q1", &[shared.id, own.id])],
            &written,
        )
        .await
        .unwrap();
    let other = store.begin_import(&import(2, "elsewhere")).await.unwrap();
    store
        .add_imported(other.id, &[showing(0, "q1", &[shared.id])])
        .await
        .unwrap();
    assert_eq!(store.discard_unfinished_import("logs").await.unwrap(), 1);
    // The other import still has its picture.
    let read = store.original(shared.id).await.unwrap().unwrap();
    assert_eq!(read.bytes, shared.bytes);
    assert_eq!(store.original(own.id).await.unwrap(), None);
    assert_eq!(
        store.discard_unfinished_import("elsewhere").await.unwrap(),
        1
    );
}

pub(super) async fn ids_of_questions_are_told_apart_by_pair_and_judge(store: Store) {
    let begun = store.begin_import(&import(1, "bench")).await.unwrap();
    let vote = |row_idx: u64, b: &str, judge: Option<u8>, second: Option<i64>| {
        let mut battle = battle(row_idx, "question");
        battle.models.b = b.to_owned();
        battle.judge = judge.map(|judge| VoterId::from_bytes([judge; 16]));
        battle.cast_at = second.map(at);
        battle
    };
    let swapped = |mut battle: NewImportedBattle| {
        let Sides { a, b } = battle.models;
        battle.models = Sides { a: b, b: a };
        battle
    };
    let rows = [
        vote(0, "beta", Some(1), None),
        vote(1, "gamma", Some(1), None),
        vote(2, "beta", Some(2), None),
        // Second copies: the same pair in either order by the same judge, or by one whom only one row names.
        swapped(vote(3, "beta", Some(1), None)),
        vote(4, "gamma", Some(1), None),
        vote(5, "beta", None, None),
    ];
    let added = store.add_imported(begun.id, &rows).await.unwrap();
    let sequences: Vec<_> = added.iter().map(|added| added.sequence()).collect();
    assert_eq!(sequences, [Some(1), Some(2), Some(3), None, None, None]);
    // The same rows again are the same battles.
    let again = store.add_imported(begun.id, &rows).await.unwrap();
    assert_eq!(again[1], AddedBattle::Resumed { sequence: 2 });
    assert_eq!(again[2], AddedBattle::Resumed { sequence: 3 });
    store.finish_import(begun.id, &finished()).await.unwrap();
    assert_eq!(n_imported(&store).await, 3);
    // In another order, and from another import, too.
    let second = store.begin_import(&import(2, "bench")).await.unwrap();
    let added = store
        .add_imported(
            second.id,
            &[rows[2].clone(), rows[1].clone(), rows[0].clone()],
        )
        .await
        .unwrap();
    assert_eq!(added, [AddedBattle::Repeated; 3]);
    // A set and the log that it was made from name judges differently, and times alike.
    let third = store.begin_import(&import(3, "logs")).await;
    let third = third.unwrap();
    let added = store
        .add_imported(
            third.id,
            &[
                vote(0, "beta", Some(1), Some(50)),
                vote(1, "beta", Some(2), Some(50)),
            ],
        )
        .await
        .unwrap();
    assert_eq!(added[1], AddedBattle::Repeated);
}
