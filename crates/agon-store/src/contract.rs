//! What every backend must do: each function here takes an empty store and is run on each of them by [`on_every_backend`].
//!
//! What only a folder does (files, locks, reopening) is tested in `folder_tests`.

mod imports;
mod screening;

use std::collections::{HashMap, HashSet};

use agon_domain::{
    Battle, BattleId, ConsentId, Finish, Generation, ImageId, Mode, NotRatable, Side, Sides, Turn,
    Usage, VisitId, VoterId, Winner,
};
use jiff::{SignedDuration, Timestamp};

use crate::{
    Annotation, CastVote, Consent, Counts, Error, FinishedGeneration, GenerationKey, ImageFormat,
    ImageMeta, NewBattle, NewConsent, RememberedResponse, RequestKey, Store,
};

use imports::{
    a_second_copy_of_a_battle_id_is_refused, an_image_is_recognised_by_its_original,
    an_import_counts_once_it_is_finished, an_imported_battle_reads_back_exactly,
    an_interrupted_import_goes_on_without_double_battles,
    an_interrupted_import_that_is_forgotten_leaves_no_original,
    an_original_reads_back_as_it_came_and_is_kept_once,
    ids_of_questions_are_told_apart_by_pair_and_judge,
    imported_battles_are_in_no_count_of_the_arena,
    of_several_votes_on_an_imported_battle_the_last_counts,
    what_became_of_an_original_is_remembered,
    what_cannot_be_imported_is_refused_and_leaves_nothing,
};
use screening::{
    a_case_is_destroyed_only_after_its_time, a_decision_is_replaced_by_a_newer_one,
    a_sealed_case_ends_its_battle_and_records_every_opening, a_step_of_a_report_is_taken_once,
    an_image_keeps_its_first_hashes, findings_read_back_for_the_same_content_and_version_alone,
};

/// Runs each named function on each backend.
macro_rules! on_every_backend {
    ($($name:ident)*) => {
        mod in_memory {
            use crate::Store;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(Store::in_memory().await.unwrap()).await;
                }
            )*
        }
        mod in_folder {
            use crate::Store;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let folder = tempfile::tempdir().unwrap();
                    let store = Store::open(folder.path()).await.unwrap();
                    super::$name(store.clone()).await;
                    store.close().await;
                }
            )*
        }
    };
}

on_every_backend! {
    a_consent_reads_back_and_the_newest_counts
    a_started_battle_reads_back_with_both_sides_running
    a_battle_that_may_not_start_is_refused_and_leaves_nothing
    a_turn_follows_only_complete_and_valid_answers
    an_answer_grows_and_ends_once
    every_finish_reads_back
    only_a_failed_side_is_tried_again
    a_vote_counts_once_and_the_first_one_stays
    votes_are_counted_by_month
    a_vote_needs_an_own_battle_with_valid_answers
    the_open_battle_and_the_list_of_a_visit_are_in_order
    voted_battles_come_in_pages_in_the_order_of_their_votes
    running_generations_are_marked_as_interrupted
    the_first_response_to_a_key_counts
    every_text_reads_back_exactly
    an_image_reads_back_by_its_hash
    an_image_is_recognised_by_its_original
    an_imported_battle_reads_back_exactly
    an_import_counts_once_it_is_finished
    imported_battles_are_in_no_count_of_the_arena
    a_second_copy_of_a_battle_id_is_refused
    of_several_votes_on_an_imported_battle_the_last_counts
    an_interrupted_import_goes_on_without_double_battles
    what_cannot_be_imported_is_refused_and_leaves_nothing
    labels_are_kept_by_annotator_and_replaced_by_newer_ones
    findings_read_back_for_the_same_content_and_version_alone
    a_decision_is_replaced_by_a_newer_one
    an_image_keeps_its_first_hashes
    a_sealed_case_ends_its_battle_and_records_every_opening
    a_step_of_a_report_is_taken_once
    a_case_is_destroyed_only_after_its_time
    a_secret_is_made_once
    of_64_votes_at_once_exactly_one_counts
    a_hundred_battles_at_once_are_neither_lost_nor_mixed
    a_cancelled_verb_leaves_all_or_nothing
    every_order_of_events_is_judged_as_the_rules_say
    a_saved_battle_equals_the_loaded_one
    an_interrupted_import_that_is_forgotten_leaves_no_original
    an_original_reads_back_as_it_came_and_is_kept_once
    ids_of_questions_are_told_apart_by_pair_and_judge
    what_became_of_an_original_is_remembered
}

/// The instant `seconds` after the beginning of the tests' time.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_800_000_000 + seconds)
}

pub(crate) fn visit(n: u8) -> VisitId {
    VisitId::from_bytes([n; 32])
}

fn consent_of(visit: VisitId) -> ConsentId {
    ConsentId::from_bytes([visit.as_bytes()[0]; 16])
}

pub(crate) fn battle_id(n: u64) -> BattleId {
    // Spread over all bytes, so that ids do not come in the order of their numbers.
    let spread = u128::from(n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    BattleId::from_bytes(spread.to_be_bytes())
}

fn new_consent(visit: VisitId, given_at: Timestamp) -> NewConsent {
    NewConsent {
        id: consent_of(visit),
        policy_version: "2026-11".to_owned(),
        text_sha256: [7; 32],
        locale: "el-GR".to_owned(),
        given_at,
    }
}

/// Records the consent of a visit at second 0.
pub(crate) async fn admit(store: &Store, visit: VisitId) {
    store
        .record_visit_and_consent(visit, &new_consent(visit, at(0)))
        .await
        .unwrap();
}

pub(crate) fn new_battle(n: u64, visit: VisitId) -> NewBattle {
    NewBattle {
        id: battle_id(n),
        visit,
        voter: VoterId::from_bytes([9; 16]),
        consent: consent_of(visit),
        mode: Mode::Battle,
        models: Sides {
            a: "alpha".to_owned(),
            b: "beta".to_owned(),
        },
        pair_probability: 1.0 / 3.0,
        started_at: at(10),
        prompt: format!("what is {n}?"),
        image: None,
    }
}

pub(crate) fn ended(text: &str, finish: Finish) -> FinishedGeneration {
    FinishedGeneration {
        text: text.to_owned(),
        finish,
        usage: Usage {
            input_tokens: Some(12),
            output_tokens: None,
        },
        first_token_ms: Some(0),
        duration_ms: Some(u32::MAX),
        finished_at: at(20),
        failure_kind: None,
    }
}

pub(crate) fn key(n: u64, turn_idx: u32, side: Side, attempt: u32) -> GenerationKey {
    GenerationKey {
        battle: battle_id(n),
        turn_idx,
        side,
        attempt,
    }
}

/// Ends the first attempt of both sides of a turn as full answers.
pub(crate) async fn answer(store: &Store, n: u64, turn_idx: u32) {
    for side in Side::BOTH {
        store
            .finish_generation(
                key(n, turn_idx, side, 1),
                &ended(&format!("{n} {turn_idx} {}", side.as_str()), Finish::Stop),
            )
            .await
            .unwrap();
    }
}

/// Starts battle `n` of an admitted visit and answers its first turn.
pub(crate) async fn start_answered(store: &Store, n: u64, visit: VisitId) {
    store.start_battle(&new_battle(n, visit)).await.unwrap();
    answer(store, n, 0).await;
}

async fn load(store: &Store, n: u64) -> Battle {
    store.battle(battle_id(n)).await.unwrap().unwrap()
}

/// The battle that [`new_battle`] starts, as it should read back.
fn expected_battle(new: &NewBattle) -> Battle {
    Battle {
        id: new.id,
        visit: new.visit,
        voter: new.voter,
        consent: new.consent,
        mode: new.mode,
        models: new.models.clone(),
        pair_probability: new.pair_probability,
        started_at: new.started_at,
        turns: vec![Turn {
            prompt: new.prompt.clone(),
            image: new.image,
            sent_at: new.started_at,
            generations: Sides {
                a: Generation::started(1),
                b: Generation::started(1),
            },
        }],
        vote: None,
    }
}

/// Checks that the tally kept with each vote is the one counted from the votes.
pub(crate) async fn check_tally(store: &Store) {
    let (kept, sequence) = store.tally().await.unwrap();
    let (counted, counted_sequence) = store.recount().await.unwrap();
    assert_eq!(sequence, counted_sequence);
    assert_eq!(kept.total(), sequence, "the sequence has no holes");
    assert_eq!(kept.into_sorted(), counted.into_sorted());
}

macro_rules! assert_refused {
    ($result:expr, $pattern:pat $(if $guard:expr)?) => {{
        let result = $result;
        assert!(
            matches!(&result, Err($pattern) $(if $guard)?),
            "expected {}, got {result:?}",
            stringify!($pattern)
        );
        assert!(result.unwrap_err().is_refusal());
    }};
}

async fn a_consent_reads_back_and_the_newest_counts(store: Store) {
    assert_eq!(store.consent(visit(1)).await.unwrap(), None);
    let first = new_consent(visit(1), at(0));
    store
        .record_visit_and_consent(visit(1), &first)
        .await
        .unwrap();
    let expected = |new: &NewConsent| Consent {
        id: new.id,
        visit: visit(1),
        policy_version: new.policy_version.clone(),
        text_sha256: new.text_sha256,
        locale: new.locale.clone(),
        given_at: new.given_at,
    };
    assert_eq!(
        store.consent(visit(1)).await.unwrap(),
        Some(expected(&first))
    );
    // An older one that arrives later is not the newest.
    for (id, seconds) in [(200, 60), (201, 30)] {
        let again = NewConsent {
            id: ConsentId::from_bytes([id; 16]),
            policy_version: format!("version {id}"),
            ..new_consent(visit(1), at(seconds))
        };
        store
            .record_visit_and_consent(visit(1), &again)
            .await
            .unwrap();
        let newest = store.consent(visit(1)).await.unwrap().unwrap();
        assert_eq!(newest.policy_version, "version 200");
    }
    assert_eq!(
        store.consent_by_id(first.id).await.unwrap(),
        Some(expected(&first)),
        "an older one can still be read by its id"
    );
    let unknown = ConsentId::from_bytes([99; 16]);
    assert_eq!(store.consent_by_id(unknown).await.unwrap(), None);
    assert_refused!(
        store.record_visit_and_consent(visit(2), &first).await,
        Error::DuplicateId { kind: "consent" }
    );
    assert_eq!(store.consent(visit(2)).await.unwrap(), None);
    assert_eq!(
        store.counts().await.unwrap().visits,
        1,
        "a refused consent leaves no visit"
    );
}

async fn a_started_battle_reads_back_with_both_sides_running(store: Store) {
    admit(&store, visit(1)).await;
    let image = store
        .put_image(b"picture".to_vec(), &png_meta())
        .await
        .unwrap();
    let new = NewBattle {
        prompt: String::new(),
        image: Some(image),
        ..new_battle(1, visit(1))
    };
    assert_eq!(store.battle(new.id).await.unwrap(), None);
    store.start_battle(&new).await.unwrap();
    assert_eq!(load(&store, 1).await, expected_battle(&new));
    assert_eq!(
        store.counts().await.unwrap(),
        Counts {
            visits: 1,
            battles: 1,
            votes: 0,
            running_generations: 2
        }
    );
}

async fn a_battle_that_may_not_start_is_refused_and_leaves_nothing(store: Store) {
    admit(&store, visit(1)).await;
    admit(&store, visit(2)).await;
    let good = || new_battle(1, visit(1));
    let start = |battle: NewBattle| {
        let store = store.clone();
        async move { store.start_battle(&battle).await }
    };
    assert_refused!(start(new_battle(1, visit(3))).await, Error::NoConsent);
    let of_another = NewBattle {
        consent: consent_of(visit(2)),
        ..good()
    };
    assert_refused!(start(of_another).await, Error::NoConsent);
    let too_early = NewBattle {
        started_at: at(-1),
        ..good()
    };
    assert_refused!(start(too_early).await, Error::NoConsent);
    let empty = NewBattle {
        prompt: String::new(),
        ..good()
    };
    assert_refused!(start(empty).await, Error::EmptyPrompt);
    let unknown = ImageId::from_bytes([3; 32]);
    let no_image = NewBattle {
        image: Some(unknown),
        ..good()
    };
    assert_refused!(start(no_image).await, Error::UnknownImage(id) if *id == unknown);
    let against_itself = NewBattle {
        models: Sides {
            a: "alpha".to_owned(),
            b: "alpha".to_owned(),
        },
        ..good()
    };
    assert_refused!(start(against_itself).await, Error::Invalid { .. });
    for pair_probability in [0.0, -0.5, 1.000_001, f64::NAN, f64::INFINITY] {
        let improbable = NewBattle {
            pair_probability,
            ..good()
        };
        assert_refused!(start(improbable).await, Error::Invalid { .. });
    }
    assert_eq!(store.counts().await.unwrap().battles, 0);
    assert_eq!(store.counts().await.unwrap().running_generations, 0);

    start(good()).await.unwrap();
    let same_id = NewBattle {
        prompt: "another".to_owned(),
        ..new_battle(1, visit(2))
    };
    assert_refused!(start(same_id).await, Error::DuplicateId { kind: "battle" });
    assert_eq!(load(&store, 1).await, expected_battle(&good()));
}

async fn a_turn_follows_only_complete_and_valid_answers(store: Store) {
    admit(&store, visit(1)).await;
    admit(&store, visit(2)).await;
    store.start_battle(&new_battle(1, visit(1))).await.unwrap();
    let add = async |owner: VisitId, prompt: &str| {
        store.add_turn(battle_id(1), owner, prompt, 3, at(30)).await
    };
    assert_refused!(
        add(visit(1), "more").await,
        Error::NotRatable(NotRatable::Running { side: Side::A })
    );
    store
        .finish_generation(key(1, 0, Side::A, 1), &ended("one", Finish::Length))
        .await
        .unwrap();
    assert_refused!(
        add(visit(1), "more").await,
        Error::NotRatable(NotRatable::Running { side: Side::B })
    );
    store
        .finish_generation(key(1, 0, Side::B, 1), &ended("", Finish::Filtered))
        .await
        .unwrap();
    assert_refused!(
        add(visit(1), "more").await,
        Error::NotRatable(NotRatable::Invalid {
            side: Side::B,
            finish: Finish::Filtered
        })
    );
    store
        .retry_generation(battle_id(1), visit(1), Side::B, at(25))
        .await
        .unwrap();
    store
        .finish_generation(key(1, 0, Side::B, 2), &ended("two", Finish::Stop))
        .await
        .unwrap();
    assert_refused!(add(visit(1), "").await, Error::EmptyPrompt);
    assert_refused!(add(visit(2), "more").await, Error::UnknownBattle);
    assert_refused!(
        store
            .add_turn(battle_id(2), visit(1), "more", 3, at(30))
            .await,
        Error::UnknownBattle
    );

    assert_eq!(add(visit(1), "more").await.unwrap(), 1);
    let battle = load(&store, 1).await;
    assert_eq!(battle.turns.len(), 2);
    assert_eq!(
        battle.turns[1],
        Turn {
            prompt: "more".to_owned(),
            image: None,
            sent_at: at(30),
            generations: Sides {
                a: Generation::started(1),
                b: Generation::started(1),
            },
        }
    );
    answer(&store, 1, 1).await;
    assert_eq!(add(visit(1), "and more").await.unwrap(), 2);
    answer(&store, 1, 2).await;
    assert_refused!(
        add(visit(1), "too much").await,
        Error::TooManyTurns { n_turns_max: 3 }
    );
    let cast = store
        .cast_vote(battle_id(1), visit(1), Winner::Tie, at(40))
        .await
        .unwrap();
    assert_eq!(cast.vote().n_turns, 3);
    assert_refused!(add(visit(1), "late").await, Error::AlreadyVoted(vote) if vote == cast.vote());
}

async fn an_answer_grows_and_ends_once(store: Store) {
    admit(&store, visit(1)).await;
    store.start_battle(&new_battle(1, visit(1))).await.unwrap();
    let key_a = key(1, 0, Side::A, 1);
    for text in ["o", "on", "one"] {
        store.save_progress(key_a, text).await.unwrap();
        let generations = load(&store, 1).await.turns.remove(0).generations;
        assert_eq!(
            generations.a,
            Generation {
                text: text.to_owned(),
                ..Generation::started(1)
            }
        );
        assert_eq!(generations.b, Generation::started(1));
    }
    let whole = ended("one!", Finish::Stop);
    store.finish_generation(key_a, &whole).await.unwrap();
    let expected = Generation {
        text: "one!".to_owned(),
        finish: Some(Finish::Stop),
        attempt: 1,
        usage: whole.usage,
        first_token_ms: Some(0),
        duration_ms: Some(u32::MAX),
    };
    for late in [Finish::Stop, Finish::Failed] {
        assert_refused!(
            store.finish_generation(key_a, &ended("other", late)).await,
            Error::AlreadyFinished {
                finish: Finish::Stop
            }
        );
    }
    assert_refused!(
        store.save_progress(key_a, "other").await,
        Error::AlreadyFinished {
            finish: Finish::Stop
        }
    );
    assert_eq!(load(&store, 1).await.turns[0].generations.a, expected);

    for unknown in [
        key(1, 0, Side::A, 2),
        key(1, 1, Side::A, 1),
        key(2, 0, Side::A, 1),
        key(1, 0, Side::B, 0),
    ] {
        assert_refused!(
            store.finish_generation(unknown, &whole).await,
            Error::UnknownGeneration
        );
        assert_refused!(
            store.save_progress(unknown, "x").await,
            Error::UnknownGeneration
        );
    }
    let contradiction = FinishedGeneration {
        failure_kind: Some("timeout".to_owned()),
        ..ended("two", Finish::Length)
    };
    assert_refused!(
        store
            .finish_generation(key(1, 0, Side::B, 1), &contradiction)
            .await,
        Error::Invalid { .. }
    );
    assert_eq!(
        load(&store, 1).await.turns[0].generations.b,
        Generation::started(1)
    );
}

async fn every_finish_reads_back(store: Store) {
    admit(&store, visit(1)).await;
    for (n, finish) in (0..).zip(Finish::ALL) {
        store.start_battle(&new_battle(n, visit(1))).await.unwrap();
        let finished = FinishedGeneration {
            failure_kind: (!finish.is_valid()).then(|| "rate_limited".to_owned()),
            ..ended("as far as it came", finish)
        };
        store
            .finish_generation(key(n, 0, Side::B, 1), &finished)
            .await
            .unwrap();
        let generation = load(&store, n).await.turns.remove(0).generations.b;
        assert_eq!(generation.finish, Some(finish));
        assert_eq!(generation.text, "as far as it came");
    }
}

async fn only_a_failed_side_is_tried_again(store: Store) {
    admit(&store, visit(1)).await;
    store.start_battle(&new_battle(1, visit(1))).await.unwrap();
    let retry = async |owner: VisitId, side: Side| {
        store
            .retry_generation(battle_id(1), owner, side, at(25))
            .await
    };
    assert_refused!(retry(visit(1), Side::A).await, Error::NothingToRetry { .. });
    store
        .finish_generation(key(1, 0, Side::A, 1), &ended("one", Finish::Stop))
        .await
        .unwrap();
    let invalid = Finish::ALL.into_iter().filter(|finish| !finish.is_valid());
    let mut attempt = 1;
    for finish in invalid {
        store
            .finish_generation(key(1, 0, Side::B, attempt), &ended("half", finish))
            .await
            .unwrap();
        assert_refused!(retry(visit(2), Side::B).await, Error::UnknownBattle);
        assert_refused!(retry(visit(1), Side::A).await, Error::NothingToRetry { .. });
        attempt += 1;
        assert_eq!(retry(visit(1), Side::B).await.unwrap(), attempt);
        assert_refused!(retry(visit(1), Side::B).await, Error::NothingToRetry { .. });
        let generations = load(&store, 1).await.turns.remove(0).generations;
        assert_eq!(generations.b, Generation::started(attempt));
        assert_eq!(generations.a.text, "one");
        // What the replaced attempt was stays as it was.
        assert_refused!(
            store
                .finish_generation(key(1, 0, Side::B, attempt - 1), &ended("", Finish::Stop))
                .await,
            Error::AlreadyFinished { .. }
        );
    }
    store
        .finish_generation(key(1, 0, Side::B, attempt), &ended("two", Finish::Stop))
        .await
        .unwrap();
    assert_refused!(retry(visit(1), Side::B).await, Error::NothingToRetry { .. });
    store
        .cast_vote(battle_id(1), visit(1), Winner::B, at(40))
        .await
        .unwrap();
    assert_refused!(retry(visit(1), Side::B).await, Error::AlreadyVoted(_));
}

async fn a_vote_counts_once_and_the_first_one_stays(store: Store) {
    admit(&store, visit(1)).await;
    assert_eq!(store.last_sequence().await.unwrap(), 0);
    check_tally(&store).await;
    for (n, winner) in (0..).zip(Winner::ALL) {
        start_answered(&store, n, visit(1)).await;
        let seconds = 40 + i64::try_from(n).unwrap();
        let cast = store
            .cast_vote(battle_id(n), visit(1), winner, at(seconds))
            .await
            .unwrap();
        let CastVote::Recorded { vote, models } = cast else {
            panic!("{cast:?}");
        };
        assert_eq!(models, new_battle(n, visit(1)).models);
        assert_eq!(vote.sequence, n + 1);
        assert_eq!(vote.winner, winner);
        assert_eq!(vote.n_turns, 1);
        assert_eq!(vote.cast_at, at(seconds));
        for other in Winner::ALL {
            let again = store
                .cast_vote(battle_id(n), visit(1), other, at(99))
                .await
                .unwrap();
            assert_eq!(
                again,
                CastVote::AlreadyVoted {
                    vote,
                    models: models.clone()
                }
            );
        }
        assert_eq!(load(&store, n).await.vote, Some(vote));
        assert_eq!(store.last_sequence().await.unwrap(), n + 1);
        check_tally(&store).await;
    }
    let (tally, sequence) = store.tally().await.unwrap();
    assert_eq!(sequence, 4);
    let (models, pairs) = tally.into_sorted();
    assert_eq!(models, ["alpha", "beta"]);
    assert_eq!(pairs.len(), 1);
    for winner in Winner::ALL {
        assert_eq!(pairs[0].1.get(winner), 1);
    }
    let fine = at(50) + SignedDuration::from_nanos(1_999);
    start_answered(&store, 9, visit(1)).await;
    let cast = store
        .cast_vote(battle_id(9), visit(1), Winner::A, fine)
        .await
        .unwrap();
    assert_eq!(
        cast.vote().cast_at,
        at(50) + SignedDuration::from_micros(1),
        "rounded down to microseconds, in the answer as in the database"
    );
    assert_eq!(load(&store, 9).await.vote, Some(*cast.vote()));
}

async fn votes_are_counted_by_month(store: Store) {
    assert!(store.tally_by_month(0).await.unwrap().0.is_empty());
    admit(&store, visit(1)).await;
    // Both sides of midnight in UTC, and times before 1970 with fractions of a second.
    let casts = [
        ("2026-12-01T00:00:00Z", Winner::A),
        ("2026-11-30T23:59:59.999999Z", Winner::B),
        ("2026-11-01T00:00:00Z", Winner::B),
        ("1969-12-31T23:59:59.5Z", Winner::Tie),
        ("2026-12-31T23:59:59Z", Winner::BothBad),
    ];
    for (n, (time, winner)) in (0..).zip(casts) {
        start_answered(&store, n, visit(1)).await;
        let time: Timestamp = time.parse().unwrap();
        store
            .cast_vote(battle_id(n), visit(1), winner, time)
            .await
            .unwrap();
    }
    let counted = async |after: u64| -> Vec<(String, [u64; 4])> {
        let (months, sequence) = store.tally_by_month(after).await.unwrap();
        assert_eq!(sequence, 5);
        months
            .into_iter()
            .map(|month| {
                let (models, pairs) = month.tally.into_sorted();
                assert_eq!(
                    (models, pairs.len()),
                    (vec!["alpha".to_owned(), "beta".to_owned()], 1)
                );
                (
                    month.month,
                    Winner::ALL.map(|winner| pairs[0].1.get(winner)),
                )
            })
            .collect()
    };
    let month = |name: &str, counts: [(Winner, u64); 2]| {
        let of = |winner| {
            counts
                .iter()
                .filter(|(of, _)| *of == winner)
                .map(|(_, n)| n)
                .sum()
        };
        (name.to_owned(), Winner::ALL.map(of))
    };
    let nothing = (Winner::A, 0);
    assert_eq!(
        counted(0).await,
        [
            month("1969-12", [(Winner::Tie, 1), nothing]),
            month("2026-11", [(Winner::B, 2), nothing]),
            month("2026-12", [(Winner::A, 1), (Winner::BothBad, 1)]),
        ]
    );
    // Those who kept the first two votes read only the others.
    assert_eq!(
        counted(2).await,
        [
            month("1969-12", [(Winner::Tie, 1), nothing]),
            month("2026-11", [(Winner::B, 1), nothing]),
            month("2026-12", [(Winner::BothBad, 1), nothing]),
        ]
    );
    assert_eq!(counted(5).await, []);
}

async fn a_vote_needs_an_own_battle_with_valid_answers(store: Store) {
    admit(&store, visit(1)).await;
    admit(&store, visit(2)).await;
    store.start_battle(&new_battle(1, visit(1))).await.unwrap();
    let vote = async |n: u64, owner: VisitId| {
        store
            .cast_vote(battle_id(n), owner, Winner::A, at(40))
            .await
    };
    assert_refused!(vote(2, visit(1)).await, Error::UnknownBattle);
    assert_refused!(
        vote(1, visit(1)).await,
        Error::NotRatable(NotRatable::Running { side: Side::A })
    );
    store
        .finish_generation(key(1, 0, Side::A, 1), &ended("", Finish::Empty))
        .await
        .unwrap();
    store
        .finish_generation(key(1, 0, Side::B, 1), &ended("two", Finish::Stop))
        .await
        .unwrap();
    assert_refused!(
        vote(1, visit(1)).await,
        Error::NotRatable(NotRatable::Invalid {
            side: Side::A,
            finish: Finish::Empty
        })
    );
    store
        .retry_generation(battle_id(1), visit(1), Side::A, at(25))
        .await
        .unwrap();
    assert_refused!(
        vote(1, visit(1)).await,
        Error::NotRatable(NotRatable::Running { side: Side::A })
    );
    store
        .finish_generation(key(1, 0, Side::A, 2), &ended("one", Finish::Stop))
        .await
        .unwrap();
    assert_refused!(vote(1, visit(2)).await, Error::UnknownBattle);
    assert_eq!(store.last_sequence().await.unwrap(), 0);
    vote(1, visit(1)).await.unwrap();
    assert_refused!(vote(1, visit(2)).await, Error::UnknownBattle);
    check_tally(&store).await;
}

async fn the_open_battle_and_the_list_of_a_visit_are_in_order(store: Store) {
    admit(&store, visit(1)).await;
    admit(&store, visit(2)).await;
    assert_eq!(store.open_battle(visit(1)).await.unwrap(), None);
    assert_eq!(store.battles_of_visit(visit(1), 10).await.unwrap(), []);
    let image = store
        .put_image(b"picture".to_vec(), &png_meta())
        .await
        .unwrap();
    for n in 0..4_u8 {
        let new = NewBattle {
            started_at: at(i64::from(10 + n)),
            prompt: "é".repeat(usize::from(n) * 100),
            image: Some(image),
            ..new_battle(u64::from(n), visit(1))
        };
        store.start_battle(&new).await.unwrap();
        answer(&store, u64::from(n), 0).await;
        assert_eq!(
            store.open_battle(visit(1)).await.unwrap(),
            Some(battle_id(u64::from(n)))
        );
    }
    start_answered(&store, 9, visit(2)).await;
    let vote = async |n: u64| {
        store
            .cast_vote(battle_id(n), visit(1), Winner::A, at(40))
            .await
            .unwrap()
    };
    vote(3).await;
    assert_eq!(
        store.open_battle(visit(1)).await.unwrap(),
        Some(battle_id(2))
    );
    vote(1).await;
    let list = store.battles_of_visit(visit(1), 3).await.unwrap();
    let shown: Vec<_> = list
        .iter()
        .map(|summary| {
            (
                summary.id,
                summary.started_at,
                summary.first_prompt.chars().count(),
                summary.voted,
                summary.has_image,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (battle_id(3), at(13), 200, true, true),
            (battle_id(2), at(12), 200, false, true),
            (battle_id(1), at(11), 100, true, true),
        ]
    );
    vote(0).await;
    vote(2).await;
    assert_eq!(store.open_battle(visit(1)).await.unwrap(), None);
    assert_eq!(
        store.open_battle(visit(2)).await.unwrap(),
        Some(battle_id(9))
    );
    let other = store.battles_of_visit(visit(2), 10).await.unwrap();
    assert_eq!(other.len(), 1);
    assert_eq!(other[0].first_prompt, "what is 9?");
    assert!(!other[0].has_image);
}

async fn voted_battles_come_in_pages_in_the_order_of_their_votes(store: Store) {
    admit(&store, visit(1)).await;
    assert_eq!(store.voted_battles(0, 10).await.unwrap(), []);
    // Every third one fails first on one side, goes on for a turn, or has no vote.
    let n_battles = 12_u64;
    for n in 0..n_battles {
        store.start_battle(&new_battle(n, visit(1))).await.unwrap();
        if n % 3 == 0 {
            store
                .finish_generation(key(n, 0, Side::A, 1), &ended("half", Finish::Cut))
                .await
                .unwrap();
            store
                .retry_generation(battle_id(n), visit(1), Side::A, at(25))
                .await
                .unwrap();
            store
                .finish_generation(key(n, 0, Side::A, 2), &ended("whole", Finish::Stop))
                .await
                .unwrap();
            store
                .finish_generation(key(n, 0, Side::B, 1), &ended("whole", Finish::Stop))
                .await
                .unwrap();
        } else {
            answer(&store, n, 0).await;
        }
        if n % 3 == 1 {
            store
                .add_turn(battle_id(n), visit(1), "more", 9, at(30))
                .await
                .unwrap();
            answer(&store, n, 1).await;
        }
    }
    let order = [7_u64, 0, 4, 1, 9, 6, 3, 10];
    for n in order {
        store
            .cast_vote(battle_id(n), visit(1), Winner::A, at(40))
            .await
            .unwrap();
    }
    let mut expected = Vec::new();
    for n in order {
        expected.push(load(&store, n).await);
    }
    for page in 1..=9 {
        let mut read: Vec<Battle> = Vec::new();
        loop {
            let after = read
                .last()
                .map_or(0, |battle| battle.vote.unwrap().sequence);
            let battles = store.voted_battles(after, page).await.unwrap();
            assert!(battles.len() <= page as usize);
            if battles.is_empty() {
                break;
            }
            read.extend(battles);
        }
        assert_eq!(read, expected, "pages of {page}");
    }
    assert_eq!(store.voted_battles(u64::MAX, 10).await.unwrap(), []);
    assert_eq!(store.voted_battles(0, 0).await.unwrap(), []);
}

async fn running_generations_are_marked_as_interrupted(store: Store) {
    admit(&store, visit(1)).await;
    start_answered(&store, 1, visit(1)).await;
    store.start_battle(&new_battle(2, visit(1))).await.unwrap();
    store
        .save_progress(key(2, 0, Side::A, 1), "hal")
        .await
        .unwrap();
    store
        .finish_generation(key(2, 0, Side::B, 1), &ended("two", Finish::Stop))
        .await
        .unwrap();
    let untouched = load(&store, 1).await;
    assert_eq!(store.interrupt_running(at(50)).await.unwrap(), 1);
    assert_eq!(store.interrupt_running(at(51)).await.unwrap(), 0);
    assert_eq!(load(&store, 1).await, untouched);
    let generations = load(&store, 2).await.turns.remove(0).generations;
    assert_eq!(generations.a.finish, Some(Finish::Interrupted));
    assert_eq!(generations.a.text, "hal", "what had come is kept");
    assert_eq!(generations.b.finish, Some(Finish::Stop));
    assert_eq!(
        store
            .retry_generation(battle_id(2), visit(1), Side::A, at(52))
            .await
            .unwrap(),
        2
    );
}

async fn the_first_response_to_a_key_counts(store: Store) {
    admit(&store, visit(1)).await;
    admit(&store, visit(2)).await;
    let longest = "k".repeat(crate::response::REQUEST_KEY_BYTES_MAX);
    let key = |n, operation, key| RequestKey {
        visit: visit(n),
        operation,
        key,
    };
    let response = |text: &str| RememberedResponse {
        request_sha256: [text.len().to_le_bytes()[0]; 32],
        response: text.to_owned(),
    };
    let all = [
        key(1, "start_battle", "k"),
        key(2, "start_battle", "k"),
        key(1, "add_turn", "k"),
        key(1, "start_battle", longest.as_str()),
    ];
    for (n, key) in (1..).zip(all) {
        assert_eq!(store.remembered_response(key).await.unwrap(), None);
        let first = response(&"r".repeat(n));
        assert_eq!(
            store.remember_response(key, &first, at(1)).await.unwrap(),
            first
        );
        assert_eq!(
            store
                .remember_response(key, &response("another"), at(2))
                .await
                .unwrap(),
            first
        );
    }
    for (n, key) in (1..).zip(all) {
        assert_eq!(
            store.remembered_response(key).await.unwrap(),
            Some(response(&"r".repeat(n)))
        );
    }
    let too_long = format!("{longest}k");
    for bad in ["", too_long.as_str()] {
        assert_refused!(
            store
                .remember_response(key(1, "start_battle", bad), &response("r"), at(1))
                .await,
            Error::Invalid { .. }
        );
    }
}

async fn every_text_reads_back_exactly(store: Store) {
    admit(&store, visit(1)).await;
    let texts = [
        "\0".to_owned(),
        "before\0after\0".to_owned(),
        "👩🏽‍🚀🏴‍☠️ é é ﬁ".to_owned(),
        "مرحبا \u{202e}abc\u{202c} שלום".to_owned(),
        "\u{feff}\r\n\t \u{ffff}\u{10ffff}\u{fffd}".to_owned(),
        "'; DROP TABLE votes; --\" $1 ?1 %s \\x00".to_owned(),
        " ".to_owned(),
        "界".repeat(1 << 20),
    ];
    for (n, text) in (0..).zip(&texts) {
        let new = NewBattle {
            prompt: text.clone(),
            models: Sides {
                a: format!("a{text}"),
                b: format!("b{text}"),
            },
            ..new_battle(n, visit(1))
        };
        store.start_battle(&new).await.unwrap();
        store
            .save_progress(key(n, 0, Side::A, 1), text)
            .await
            .unwrap();
        let battle = load(&store, n).await;
        assert!(battle.turns[0].prompt == *text);
        assert!(battle.turns[0].generations.a.text == *text);
        assert!(battle.models == new.models);
        for side in Side::BOTH {
            store
                .finish_generation(key(n, 0, side, 1), &ended(text, Finish::Stop))
                .await
                .unwrap();
        }
        store
            .add_turn(battle_id(n), visit(1), text, 2, at(30))
            .await
            .unwrap();
        let battle = load(&store, n).await;
        assert!(battle.turns[0].generations.b.text == *text);
        assert!(battle.turns[1].prompt == *text);
    }
}

pub(crate) fn png_meta() -> ImageMeta {
    ImageMeta {
        format: ImageFormat::Png,
        width: 640,
        height: 480,
        legacy_md5: None,
        original_format: ImageFormat::Jpeg,
        created_at: at(5),
    }
}

async fn an_image_reads_back_by_its_hash(store: Store) {
    // SHA-256 of "abc", FIPS 180-2, appendix B.1.
    let abc: ImageId = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        .parse()
        .unwrap();
    assert!(store.image(abc).await.unwrap().is_none());
    assert!(store.image_meta(abc).await.unwrap().is_none());
    assert_eq!(
        store.put_image(b"abc".to_vec(), &png_meta()).await.unwrap(),
        abc
    );
    let other_meta = ImageMeta {
        original_format: ImageFormat::Gif,
        created_at: at(6),
        ..png_meta()
    };
    assert_eq!(
        store.put_image(b"abc".to_vec(), &other_meta).await.unwrap(),
        abc
    );
    let stored = store.image(abc).await.unwrap().unwrap();
    assert_eq!(stored.id, abc);
    assert_eq!(stored.bytes, b"abc");
    assert_eq!(stored.meta, png_meta(), "the first one stays");
    assert!(
        !format!("{stored:?}").contains("97, 98"),
        "bytes are not shown"
    );
    for (n, format) in (1_u8..).zip(ImageFormat::ALL) {
        let meta = ImageMeta {
            format,
            original_format: format,
            width: u32::MAX,
            height: 1,
            legacy_md5: Some([n; 16]),
            ..png_meta()
        };
        let bytes = vec![n; usize::from(n) * 100_000];
        let id = store.put_image(bytes.clone(), &meta).await.unwrap();
        let stored = store.image(id).await.unwrap().unwrap();
        assert!(stored.bytes == bytes);
        assert_eq!(stored.meta, meta);
        assert_eq!(store.image_meta(id).await.unwrap(), Some(meta));
        assert_eq!(ImageFormat::from_spelling(format.as_str()), Some(format));
        assert_eq!(
            ImageFormat::from_media_type(format.media_type()),
            Some(format)
        );
    }
    assert_refused!(
        store.put_image(Vec::new(), &png_meta()).await,
        Error::Invalid { .. }
    );
    let flat = ImageMeta {
        height: 0,
        ..png_meta()
    };
    assert_refused!(
        store.put_image(b"x".to_vec(), &flat).await,
        Error::Invalid { .. }
    );
}

async fn labels_are_kept_by_annotator_and_replaced_by_newer_ones(store: Store) {
    admit(&store, visit(1)).await;
    for n in 1..=3 {
        start_answered(&store, n, visit(1)).await;
    }
    for n in [3, 1] {
        store
            .cast_vote(battle_id(n), visit(1), Winner::A, at(40))
            .await
            .unwrap();
    }
    let label = |annotator: &str, version: u32, label: &str| Annotation {
        annotator: annotator.to_owned(),
        version,
        label: label.to_owned(),
    };
    let wanted = [("language", 1), ("style", 2)];
    assert_eq!(store.annotated_up_to(&wanted).await.unwrap(), Some(0));
    assert!(store.annotations(0, 9).await.unwrap().is_empty());
    let first = vec![label("style", 1, "{}"), label("language", 1, "\"hi\"")];
    store
        .save_annotations(&[(battle_id(3), first)], at(50))
        .await
        .unwrap();
    // The style label is there in an older version.
    assert_eq!(store.annotated_up_to(&wanted).await.unwrap(), Some(0));
    assert_eq!(
        store.annotated_up_to(&[("language", 1)]).await.unwrap(),
        Some(1)
    );
    let newer = vec![label("style", 2, "{\"a\":1}")];
    let other = vec![label("style", 2, "2"), label("language", 1, "3")];
    store
        .save_annotations(&[(battle_id(3), newer), (battle_id(1), other)], at(60))
        .await
        .unwrap();
    assert_eq!(store.annotated_up_to(&wanted).await.unwrap(), None);
    let all = store.annotations(0, 9).await.unwrap();
    assert_eq!(
        all[&battle_id(3)],
        [
            label("language", 1, "\"hi\""),
            label("style", 2, "{\"a\":1}")
        ]
    );
    assert_eq!(all.len(), 2);
    let second = store.annotations(1, u64::MAX).await.unwrap();
    assert_eq!(
        second.into_keys().collect::<Vec<_>>(),
        [battle_id(1)],
        "only votes after the first"
    );
    // A battle that is not there takes the whole call with it.
    let unknown = vec![label("style", 3, "4")];
    let refused = store
        .save_annotations(
            &[(battle_id(1), unknown.clone()), (battle_id(99), unknown)],
            at(70),
        )
        .await;
    assert!(
        matches!(refused, Err(Error::Database { .. })),
        "{refused:?}"
    );
    let all = store.annotations(0, 9).await.unwrap();
    assert_eq!(all[&battle_id(1)][1], label("style", 2, "2"));
}

async fn a_secret_is_made_once(store: Store) {
    assert_eq!(store.voter_key([1; 32]).await.unwrap(), [1; 32]);
    assert_eq!(store.voter_key([2; 32]).await.unwrap(), [1; 32]);
    assert_eq!(
        store.ensure_secret("release.key", [3; 32]).await.unwrap(),
        [3; 32]
    );
    for name in ["", ".key", "../voter.key", "a/b", "Voter.key", "a b", "1"] {
        assert_refused!(
            store.ensure_secret(name, [4; 32]).await,
            Error::Invalid { .. }
        );
    }
    let shown = format!("{store:?}");
    assert!(!shown.contains("1, 1, 1"), "{shown}");
}

async fn of_64_votes_at_once_exactly_one_counts(store: Store) {
    admit(&store, visit(1)).await;
    for n in 0..4 {
        start_answered(&store, n, visit(1)).await;
        let voters: Vec<_> = (0..64_usize)
            .map(|i| {
                let store = store.clone();
                tokio::spawn(async move {
                    store
                        .cast_vote(battle_id(n), visit(1), Winner::ALL[i % 4], at(40))
                        .await
                        .unwrap()
                })
            })
            .collect();
        let mut casts = Vec::new();
        for voter in voters {
            casts.push(voter.await.unwrap());
        }
        let n_recorded = casts
            .iter()
            .filter(|cast| matches!(cast, CastVote::Recorded { .. }))
            .count();
        assert_eq!(n_recorded, 1);
        let kept = load(&store, n).await.vote.unwrap();
        assert_eq!(kept.sequence, n + 1);
        for cast in &casts {
            assert_eq!(*cast.vote(), kept);
        }
    }
    check_tally(&store).await;
}

async fn a_hundred_battles_at_once_are_neither_lost_nor_mixed(store: Store) {
    let n_battles = 100_u64;
    let tasks: Vec<_> = (0..n_battles)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let own = visit(n.to_le_bytes()[0]);
                admit(&store, own).await;
                let new = NewBattle {
                    models: Sides {
                        a: format!("model {}", n % 7),
                        b: format!("model {}", 7 + n % 5),
                    },
                    ..new_battle(n, own)
                };
                store.start_battle(&new).await.unwrap();
                let side = async |side: Side| {
                    let key = key(n, 0, side, 1);
                    let text = format!("{n} 0 {}", side.as_str());
                    store.save_progress(key, &text[..2]).await.unwrap();
                    store
                        .finish_generation(key, &ended(&text, Finish::Stop))
                        .await
                        .unwrap();
                };
                tokio::join!(side(Side::A), side(Side::B));
                let winner = Winner::ALL[usize::from(n.to_le_bytes()[0]) % 4];
                let cast = store.cast_vote(new.id, own, winner, at(40)).await.unwrap();
                assert!(matches!(cast, CastVote::Recorded { .. }));
                assert_eq!(*cast.models(), new.models);
                (n, new, *cast.vote())
            })
        })
        .collect();
    let mut sequences = HashSet::new();
    for task in tasks {
        let (n, new, vote) = task.await.unwrap();
        assert!(sequences.insert(vote.sequence));
        let mut expected = expected_battle(&new);
        expected.vote = Some(vote);
        for side in Side::BOTH {
            let ended = ended(&format!("{n} 0 {}", side.as_str()), Finish::Stop);
            *expected.turns[0].generations.get_mut(side) = Generation {
                text: ended.text,
                finish: Some(ended.finish),
                attempt: 1,
                usage: ended.usage,
                first_token_ms: ended.first_token_ms,
                duration_ms: ended.duration_ms,
            };
        }
        assert_eq!(load(&store, n).await, expected);
    }
    assert_eq!(sequences, (1..=n_battles).collect());
    check_tally(&store).await;
    assert_eq!(
        store.counts().await.unwrap(),
        Counts {
            visits: n_battles,
            battles: n_battles,
            votes: n_battles,
            running_generations: 0
        }
    );
}

async fn a_cancelled_verb_leaves_all_or_nothing(store: Store) {
    admit(&store, visit(1)).await;
    let n_battles = 150_u64;
    for n in 0..n_battles {
        let task = tokio::spawn({
            let store = store.clone();
            async move {
                start_answered(&store, n, visit(1)).await;
                store
                    .cast_vote(battle_id(n), visit(1), Winner::A, at(40))
                    .await
                    .unwrap();
            }
        });
        for _ in 0..n % 75 {
            tokio::task::yield_now().await;
        }
        task.abort();
        let _ = task.await;
    }
    let mut n_votes = 0;
    for n in 0..n_battles {
        if let Some(battle) = store.battle(battle_id(n)).await.unwrap() {
            assert_eq!(battle.turns.len(), 1);
            n_votes += u64::from(battle.vote.is_some());
        }
    }
    assert_eq!(store.last_sequence().await.unwrap(), n_votes);
    check_tally(&store).await;
    start_answered(&store, 1_000, visit(1)).await;
}

/// What may happen to a battle, in the test of all orders.
#[derive(Clone, Copy, Debug)]
enum Event {
    Vote,
    FinishA,
    FinishB,
    FailB,
    RetryB,
    AddTurn,
}

/// The rules of a battle, as small as they can be said: only the last turn can be unfinished.
#[derive(Debug)]
struct Rules {
    n_turns: u32,
    a: Answer,
    b: Answer,
    b_attempt: u32,
    vote: Option<Winner>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Running,
    Valid,
    Failed,
}

/// What an event should lead to.
#[derive(Debug, PartialEq)]
enum Verdict {
    Done,
    AlreadyVoted(Winner),
    Running(Side),
    Invalid,
    AlreadyFinished,
    NothingToRetry,
}

impl Rules {
    fn why_not_ratable(&self) -> Option<Verdict> {
        if self.a == Answer::Running {
            Some(Verdict::Running(Side::A))
        } else if self.b == Answer::Running {
            Some(Verdict::Running(Side::B))
        } else {
            (self.b == Answer::Failed).then_some(Verdict::Invalid)
        }
    }

    fn apply(&mut self, event: Event, winner: Winner) -> Verdict {
        match (event, self.vote) {
            (Event::Vote | Event::RetryB | Event::AddTurn, Some(first)) => {
                Verdict::AlreadyVoted(first)
            }
            (Event::Vote, None) => self.why_not_ratable().unwrap_or_else(|| {
                self.vote = Some(winner);
                Verdict::Done
            }),
            (Event::AddTurn, None) => self.why_not_ratable().unwrap_or_else(|| {
                self.n_turns += 1;
                self.b_attempt = 1;
                (self.a, self.b) = (Answer::Running, Answer::Running);
                Verdict::Done
            }),
            (Event::RetryB, None) => {
                if self.b != Answer::Failed {
                    return Verdict::NothingToRetry;
                }
                self.b = Answer::Running;
                self.b_attempt += 1;
                Verdict::Done
            }
            (Event::FinishA, _) => Self::finish(&mut self.a, Answer::Valid),
            (Event::FinishB, _) => Self::finish(&mut self.b, Answer::Valid),
            (Event::FailB, _) => Self::finish(&mut self.b, Answer::Failed),
        }
    }

    fn finish(answer: &mut Answer, end: Answer) -> Verdict {
        if *answer != Answer::Running {
            return Verdict::AlreadyFinished;
        }
        *answer = end;
        Verdict::Done
    }
}

async fn every_order_of_events_is_judged_as_the_rules_say(store: Store) {
    const EVENTS: [Event; 6] = [
        Event::Vote,
        Event::FinishA,
        Event::FinishB,
        Event::FailB,
        Event::RetryB,
        Event::AddTurn,
    ];
    // On a disk each step is flushed, so the long orders are tried in memory.
    let length = if store.folder().is_some() { 3 } else { 5 };
    admit(&store, visit(1)).await;
    let mut n_votes = 0;
    for n in 0..6_u64.pow(length) {
        store.start_battle(&new_battle(n, visit(1))).await.unwrap();
        let mut rules = Rules {
            n_turns: 1,
            a: Answer::Running,
            b: Answer::Running,
            b_attempt: 1,
            vote: None,
        };
        let mut order = Vec::new();
        for step in 0..length {
            let event = EVENTS[usize::try_from(n / 6_u64.pow(step) % 6).unwrap()];
            order.push(event);
            let winner = Winner::ALL[usize::try_from(step % 4).unwrap()];
            let (turn_idx, attempt) = (rules.n_turns - 1, rules.b_attempt);
            let verdict = happen(&store, n, event, winner, turn_idx, attempt).await;
            assert_eq!(verdict, rules.apply(event, winner), "{order:?}");
        }
        let battle = load(&store, n).await;
        assert_eq!(battle.turns.len(), rules.n_turns as usize, "{order:?}");
        let last = battle.turns.last().unwrap();
        let is = |generation: &Generation| match generation.finish {
            None => Answer::Running,
            Some(finish) if finish.is_valid() => Answer::Valid,
            Some(_) => Answer::Failed,
        };
        assert_eq!(is(&last.generations.a), rules.a, "{order:?}");
        assert_eq!(is(&last.generations.b), rules.b, "{order:?}");
        assert_eq!(last.generations.b.attempt, rules.b_attempt, "{order:?}");
        assert_eq!(
            battle.vote.map(|vote| (vote.winner, vote.n_turns)),
            rules.vote.map(|winner| (winner, rules.n_turns)),
            "{order:?}"
        );
        n_votes += u64::from(rules.vote.is_some());
    }
    assert_eq!(store.last_sequence().await.unwrap(), n_votes);
    assert!(n_votes > 0);
    check_tally(&store).await;
}

async fn happen(
    store: &Store,
    n: u64,
    event: Event,
    winner: Winner,
    turn_idx: u32,
    b_attempt: u32,
) -> Verdict {
    let (id, own) = (battle_id(n), visit(1));
    let result = match event {
        Event::Vote => store.cast_vote(id, own, winner, at(40)).await.map(Some),
        Event::FinishA => store
            .finish_generation(key(n, turn_idx, Side::A, 1), &ended("one", Finish::Stop))
            .await
            .map(|()| None),
        Event::FinishB => store
            .finish_generation(
                key(n, turn_idx, Side::B, b_attempt),
                &ended("two", Finish::Stop),
            )
            .await
            .map(|()| None),
        Event::FailB => store
            .finish_generation(
                key(n, turn_idx, Side::B, b_attempt),
                &ended("", Finish::Failed),
            )
            .await
            .map(|()| None),
        Event::RetryB => store
            .retry_generation(id, own, Side::B, at(30))
            .await
            .map(|_| None),
        Event::AddTurn => store
            .add_turn(id, own, "more", 99, at(30))
            .await
            .map(|_| None),
    };
    match result {
        Ok(None | Some(CastVote::Recorded { .. })) => Verdict::Done,
        Ok(Some(CastVote::AlreadyVoted { vote, .. })) | Err(Error::AlreadyVoted(vote)) => {
            Verdict::AlreadyVoted(vote.winner)
        }
        Err(Error::NotRatable(NotRatable::Running { side })) => Verdict::Running(side),
        Err(Error::NotRatable(NotRatable::Invalid {
            side: Side::B,
            finish: Finish::Failed,
        })) => Verdict::Invalid,
        Err(Error::AlreadyFinished { .. }) => Verdict::AlreadyFinished,
        Err(Error::NothingToRetry { .. }) => Verdict::NothingToRetry,
        Err(error) => panic!("{error:?}"),
    }
}

/// Any battle that the verbs can make: up to three turns, up to three attempts a side, with or without a vote.
mod any_battle {
    use agon_domain::{Finish, Sides, Usage, Winner};
    use jiff::Timestamp;
    use proptest::{collection::vec, prelude::*};

    use super::{FinishedGeneration, NewBattle, visit};

    #[derive(Clone, Debug)]
    pub(super) struct Story {
        pub(super) new: NewBattle,
        /// For each turn: its prompt, its time, and the ends of the attempts of each side, of which only the last is valid.
        pub(super) turns: Vec<(String, Timestamp, Sides<Vec<FinishedGeneration>>)>,
        pub(super) vote: Option<(Winner, Timestamp)>,
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => vec(any::<char>(), 1..40).prop_map(String::from_iter),
            1 => "[ -~\n]{1,200}",
        ]
    }

    fn time() -> impl Strategy<Value = Timestamp> {
        (1_800_000_000_000_000_i64..4_000_000_000_000_000)
            .prop_map(|microseconds| Timestamp::from_microsecond(microseconds).unwrap())
    }

    fn end(valid: bool) -> impl Strategy<Value = FinishedGeneration> {
        let finishes: Vec<Finish> = Finish::ALL
            .into_iter()
            .filter(|finish| finish.is_valid() == valid)
            .collect();
        let numbers = any::<[Option<u32>; 4]>();
        (
            prop_oneof![text(), Just(String::new())],
            proptest::sample::select(finishes),
            numbers,
            time(),
            proptest::option::of(text()),
        )
            .prop_map(move |(text, finish, numbers, finished_at, failure_kind)| {
                FinishedGeneration {
                    text,
                    finish,
                    usage: Usage {
                        input_tokens: numbers[0],
                        output_tokens: numbers[1],
                    },
                    first_token_ms: numbers[2],
                    duration_ms: numbers[3],
                    finished_at,
                    failure_kind: failure_kind.filter(|_| !valid),
                }
            })
    }

    fn attempts() -> impl Strategy<Value = Vec<FinishedGeneration>> {
        (vec(end(false), 0..3), end(true)).prop_map(|(mut failed, valid)| {
            failed.push(valid);
            failed
        })
    }

    pub(super) fn story() -> impl Strategy<Value = Story> {
        let turn = (text(), time(), attempts(), attempts())
            .prop_map(|(prompt, at, a, b)| (prompt, at, Sides { a, b }));
        let vote = (proptest::sample::select(Winner::ALL.to_vec()), time());
        (
            vec(turn, 1..4),
            proptest::option::of(vote),
            f64::MIN_POSITIVE..=1.0,
            text(),
            text(),
            any::<[u8; 16]>(),
        )
            .prop_filter("two models", |(_, _, _, a, b, _)| a != b)
            .prop_map(|(turns, vote, pair_probability, a, b, voter)| Story {
                new: NewBattle {
                    models: Sides { a, b },
                    pair_probability,
                    started_at: turns[0].1,
                    prompt: turns[0].0.clone(),
                    voter: agon_domain::VoterId::from_bytes(voter),
                    ..super::new_battle(0, visit(1))
                },
                turns,
                vote,
            })
    }
}

async fn a_saved_battle_equals_the_loaded_one(store: Store) {
    use proptest::{
        strategy::{Strategy as _, ValueTree as _},
        test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
    };
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    admit(&store, visit(1)).await;
    let n_stories = if store.folder().is_some() { 20 } else { 200 };
    let mut voted: HashMap<u64, Battle> = HashMap::new();
    for n in 0..n_stories {
        let mut story = any_battle::story().new_tree(&mut runner).unwrap().current();
        story.new.id = battle_id(n);
        let expected = tell(&store, n, &story).await;
        assert_eq!(load(&store, n).await, expected, "{story:?}");
        if let Some(vote) = expected.vote {
            voted.insert(vote.sequence, expected);
        }
    }
    for battle in store.voted_battles(0, 10_000).await.unwrap() {
        assert_eq!(voted.remove(&battle.vote.unwrap().sequence), Some(battle));
    }
    assert!(voted.is_empty());
    check_tally(&store).await;
}

/// Makes a story happen, and returns the battle that should come of it.
async fn tell(store: &Store, n: u64, story: &any_battle::Story) -> Battle {
    store.start_battle(&story.new).await.unwrap();
    let mut expected = expected_battle(&story.new);
    expected.turns.clear();
    for (turn_idx, (prompt, sent_at, attempts)) in (0..).zip(&story.turns) {
        if turn_idx > 0 {
            let idx = store
                .add_turn(battle_id(n), visit(1), prompt, 3, *sent_at)
                .await
                .unwrap();
            assert_eq!(idx, turn_idx);
        }
        for (side, ends) in attempts.iter() {
            for (attempt, end) in (1..).zip(ends) {
                if attempt > 1 {
                    let retried = store
                        .retry_generation(battle_id(n), visit(1), side, *sent_at)
                        .await
                        .unwrap();
                    assert_eq!(retried, attempt);
                }
                store
                    .finish_generation(key(n, turn_idx, side, attempt), end)
                    .await
                    .unwrap();
            }
        }
        expected.turns.push(Turn {
            prompt: prompt.clone(),
            image: None,
            sent_at: *sent_at,
            generations: attempts.clone().map(|ends| {
                let attempt = u32::try_from(ends.len()).unwrap();
                let last = ends.into_iter().next_back().unwrap();
                Generation {
                    text: last.text,
                    finish: Some(last.finish),
                    attempt,
                    usage: last.usage,
                    first_token_ms: last.first_token_ms,
                    duration_ms: last.duration_ms,
                }
            }),
        });
    }
    if let Some((winner, cast_at)) = story.vote {
        let cast = store
            .cast_vote(battle_id(n), visit(1), winner, cast_at)
            .await
            .unwrap();
        assert_eq!(cast.vote().cast_at, cast_at);
        expected.vote = Some(*cast.vote());
    }
    expected
}
