//! Stores with votes in them, cast without asking anybody.

use agon_domain::{
    BattleId, ConsentId, Finish, Mode, Side, Sides, Usage, VisitId, VoterId, Winner,
};
use agon_store::{FinishedGeneration, GenerationKey, NewBattle, NewConsent, Store};
use jiff::Timestamp;

/// A vote: the models by side, who won, and when.
pub(crate) type CastVote<'a> = (&'a str, &'a str, Winner, Timestamp);

/// Casts these votes in this order.
pub(crate) async fn cast(store: &Store, votes: impl IntoIterator<Item = CastVote<'_>>) {
    let visit = VisitId::from_bytes([1; 32]);
    let consent = ConsentId::from_bytes([2; 16]);
    let first = Timestamp::UNIX_EPOCH;
    let given = NewConsent {
        id: consent,
        policy_version: "1".to_owned(),
        text_sha256: [3; 32],
        locale: "en".to_owned(),
        given_at: first,
    };
    store.record_visit_and_consent(visit, &given).await.unwrap();
    cast_from(store, 1, votes).await;
}

/// Casts more votes, in battles that are numbered from `first`, after [`cast`] has made the visit.
pub(crate) async fn cast_from(
    store: &Store,
    first: u128,
    votes: impl IntoIterator<Item = CastVote<'_>>,
) {
    let visit = VisitId::from_bytes([1; 32]);
    let consent = ConsentId::from_bytes([2; 16]);
    for (n, (a, b, winner, at)) in (first..).zip(votes) {
        let battle = BattleId::from_bytes(n.to_be_bytes());
        let new = NewBattle {
            id: battle,
            visit,
            voter: VoterId::from_bytes([4; 16]),
            consent,
            mode: Mode::Battle,
            models: Sides {
                a: a.to_owned(),
                b: b.to_owned(),
            },
            pair_probability: 0.1,
            started_at: at,
            prompt: "hello".to_owned(),
            image: None,
        };
        store.start_battle(&new).await.unwrap();
        for side in Side::BOTH {
            let key = GenerationKey {
                battle,
                turn_idx: 0,
                side,
                attempt: 1,
            };
            let ended = FinishedGeneration {
                text: "An answer.".to_owned(),
                finish: Finish::Stop,
                usage: Usage::default(),
                first_token_ms: None,
                duration_ms: None,
                finished_at: at,
                failure_kind: None,
            };
            store.finish_generation(key, &ended).await.unwrap();
        }
        store.cast_vote(battle, visit, winner, at).await.unwrap();
    }
}

/// Votes on models whose strengths are apart by a third of a nat, by a fixed sequence of numbers, over `n_months` months.
pub(crate) fn contest<'a>(
    models: &'a [String],
    n_votes: u64,
    n_months: i64,
) -> impl Iterator<Item = CastVote<'a>> {
    let mut state = 42_u64;
    // Knuth's generator of 64 bits; the high half is even enough for a test.
    let mut draw = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let start: Timestamp = "2026-01-05T12:00:00Z".parse().unwrap();
    let n_models = models.len() as u64;
    (0..n_votes).map(move |n| {
        let a = draw(n_models);
        let b = (a + 1 + draw(n_models - 1)) % n_models;
        let ahead = (b as f64 - a as f64) / 3.0;
        let share = 1.0 / (1.0 + (-ahead).exp());
        let chance = draw(1_000_000) as f64 / 1e6;
        let winner = match draw(10) {
            0 => Winner::Tie,
            1 => Winner::BothBad,
            _ if chance < share => Winner::A,
            _ => Winner::B,
        };
        let month = n_months * i64::try_from(n).unwrap() / i64::try_from(n_votes).unwrap();
        let at = start + jiff::SignedDuration::from_hours(24 * 30 * month);
        (
            models[a as usize].as_str(),
            models[b as usize].as_str(),
            winner,
            at,
        )
    })
}
