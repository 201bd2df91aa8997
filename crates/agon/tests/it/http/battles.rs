//! The life of a battle: prompt, answers, vote, reveal.

use agon_domain::{Finish, Winner};
use agon_providers::{ErrorKind, Script};
use reqwest::{Method, header};
use serde_json::json;

use crate::test_arena::{TestArena, echo, scripted};

#[tokio::test]
async fn two_anonymous_answers_then_a_vote_then_the_names() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.battle("What is a tide?").await;
    let before = voter.settled(&id).await;
    assert_eq!(before["status"], "ratable");
    assert_eq!(before["can_vote"], true);
    assert_eq!(before["vote"], serde_json::Value::Null);
    assert_eq!(before["turns"][0]["prompt"], "What is a tide?");
    let text = before.to_string();
    for tell in ["model-one", "model-two", "Makers"] {
        assert!(
            !text.contains(tell),
            "{tell} is told before the vote: {text}"
        );
    }

    let vote = voter.vote(&id, "model_a").await.expect(200);
    assert_eq!(vote["winner"], "model_a");
    assert_eq!(vote["sequence"], 1);
    let battle = arena.stored(&id).await;
    assert_eq!(vote["models"]["a"]["name"], battle.models.a);
    assert_eq!(vote["models"]["b"]["name"], battle.models.b);
    assert_eq!(
        vote["models"]["a"]["organization"],
        format!("Makers of {}", battle.models.a)
    );
    assert_eq!(battle.vote.unwrap().winner, Winner::A);
    assert!((battle.pair_probability - 1.0).abs() < 1e-12);

    let after = voter
        .get(&format!("/api/v1/battles/{id}"))
        .await
        .expect(200);
    assert_eq!(after["status"], "voted");
    assert_eq!(after["vote"], vote);
    assert_eq!(after["can_follow_up"], false);
}

#[tokio::test]
async fn all_four_votes_are_kept_as_they_were_cast() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    for (winner, expected) in [
        ("model_a", Winner::A),
        ("model_b", Winner::B),
        ("tie", Winner::Tie),
        ("both_bad", Winner::BothBad),
    ] {
        let id = voter.answered("hello").await;
        assert_eq!(voter.vote(&id, winner).await.expect(200)["winner"], winner);
        let battle = arena.stored(&id).await;
        assert_eq!(battle.vote.unwrap().winner, expected);
    }
}

#[tokio::test]
async fn a_second_vote_is_refused_with_the_first_ones_result() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.answered("hello").await;
    let first = voter.vote(&id, "model_b").await.expect(200);
    for winner in ["model_a", "model_b", "tie"] {
        let second = voter
            .vote(&id, winner)
            .await
            .expect_error(409, "already_voted");
        assert_eq!(second["vote"], first);
    }
    assert_eq!(arena.app.store().counts().await.unwrap().votes, 1);
}

#[tokio::test]
async fn the_same_request_with_an_idempotency_key_gets_the_first_answer() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.answered("hello").await;
    let vote = async |winner: &str, key: &str| {
        let request = voter
            .request(Method::POST, &format!("/api/v1/battles/{id}/vote"))
            .header("idempotency-key", key)
            .json(&json!({ "winner": winner }));
        voter.send(request).await
    };
    let first = vote("tie", "key-1").await.expect(200);
    assert_eq!(vote("tie", "key-1").await.expect(200), first);
    vote("model_a", "key-1")
        .await
        .expect_error(409, "idempotency_key_reused");
    assert_eq!(
        vote("tie", "key-2")
            .await
            .expect_error(409, "already_voted")["vote"],
        first
    );
    assert_eq!(
        vote("tie", "key-2")
            .await
            .expect_error(409, "already_voted")["vote"],
        first
    );
    vote("tie", "").await.expect_error(400, "bad_request");
    assert_eq!(arena.app.store().counts().await.unwrap().votes, 1);
}

#[tokio::test]
async fn no_vote_while_a_side_is_answering() {
    let slow = scripted("slow", vec![Script::new().text("first words").hang()]);
    let arena = TestArena::with_models(vec![slow, echo("quick", "Quick: ")]).await;
    let voter = arena.voter().await;
    let id = voter.battle("hello").await;
    let refused = voter
        .vote(&id, "model_a")
        .await
        .expect_error(409, "still_answering");
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("still answering")
    );
    let view = voter
        .get(&format!("/api/v1/battles/{id}"))
        .await
        .expect(200);
    assert_eq!(
        (&view["status"], &view["can_vote"]),
        (&json!("answering"), &json!(false))
    );
    assert!(
        view["not_ratable"]
            .as_str()
            .unwrap()
            .contains("both answers")
    );
    let answer = voter
        .post(
            &format!("/api/v1/battles/{id}/turns"),
            json!({ "prompt": "and?" }),
        )
        .await;
    answer.expect_error(409, "still_answering");
}

#[tokio::test]
async fn a_failed_side_cannot_be_voted_on_and_is_retried_alone() {
    let flaky = scripted(
        "flaky",
        vec![
            Script::new().text("half an ans").fail(ErrorKind::Cut),
            Script::answer("A whole answer."),
        ],
    );
    let arena = TestArena::with_models(vec![flaky, echo("sound", "Sound: ")]).await;
    let voter = arena.voter().await;
    let id = voter.battle("hello").await;
    let failed = voter.settled(&id).await;
    assert_eq!(
        (&failed["status"], &failed["can_retry"]),
        (&json!("failed"), &json!(true))
    );
    voter
        .vote(&id, "tie")
        .await
        .expect_error(409, "answer_incomplete");
    let side = if failed["turns"][0]["answers"]["a"]["finish"] == "cut" {
        "a"
    } else {
        "b"
    };
    let other = if side == "a" { "b" } else { "a" };
    let broken = &failed["turns"][0]["answers"][side];
    assert_eq!(
        broken["text"], "half an ans",
        "a failure is a state, never text"
    );
    assert_eq!(broken["problem"]["code"], "answer_cut");

    voter
        .post(&format!("/api/v1/battles/{id}/retry"), json!({}))
        .await
        .expect(202);
    let healed = voter.settled(&id).await;
    assert_eq!(healed["status"], "ratable");
    assert_eq!(
        healed["turns"][0]["answers"][side]["text"],
        "A whole answer."
    );
    assert_eq!(healed["turns"][0]["answers"][side]["attempt"], 2);
    assert_eq!(
        healed["turns"][0]["answers"][other], failed["turns"][0]["answers"][other],
        "the good answer stays"
    );
    voter
        .post(&format!("/api/v1/battles/{id}/retry"), json!({}))
        .await
        .expect_error(409, "nothing_to_retry");
    voter.vote(&id, "tie").await.expect(200);
}

#[tokio::test]
async fn an_answer_that_ends_badly_is_told_without_naming_anyone() {
    for (kind, finish) in [
        (ErrorKind::BadCredentials, Finish::Failed),
        (ErrorKind::Overloaded, Finish::Failed),
        (ErrorKind::FilteredContent, Finish::Filtered),
    ] {
        let bad = scripted("tell-tale-model", vec![Script::new().fail(kind)]);
        let arena = TestArena::with_models(vec![bad, echo("other", "Other: ")]).await;
        let voter = arena.voter().await;
        let id = voter.battle("hello").await;
        let battle = voter.settled(&id).await;
        let text = battle.to_string();
        assert!(text.contains(finish.as_str()), "{text}");
        assert!(!text.contains("tell-tale"), "{text}");
    }
}

#[tokio::test]
async fn several_turns_carry_each_sides_own_history() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.answered("first").await;
    voter
        .post(
            &format!("/api/v1/battles/{id}/turns"),
            json!({ "prompt": "second" }),
        )
        .await
        .expect(201);
    let battle = voter.settled(&id).await;
    assert_eq!(battle["turns"].as_array().unwrap().len(), 2);
    for side in ["a", "b"] {
        let first = battle["turns"][0]["answers"][side]["text"]
            .as_str()
            .unwrap();
        let second = battle["turns"][1]["answers"][side]["text"]
            .as_str()
            .unwrap();
        assert!(first.ends_with(": first"), "{first}");
        assert!(second.ends_with(": second"), "{second}");
        assert_eq!(first[..3], second[..3], "a side stays the same model");
    }
    voter.vote(&id, "model_b").await.expect(200);
    let kept = arena.stored(&id).await;
    assert_eq!(kept.vote.unwrap().n_turns, 2);
    let late = voter
        .post(
            &format!("/api/v1/battles/{id}/turns"),
            json!({ "prompt": "third" }),
        )
        .await;
    late.expect_error(409, "already_voted");
}

#[tokio::test]
async fn another_visit_sees_and_votes_nothing() {
    let arena = TestArena::new().await;
    let (owner, other) = (arena.voter().await, arena.voter().await);
    let id = owner.answered("my secret question").await;
    for path in [
        format!("/api/v1/battles/{id}"),
        format!("/api/v1/battles/{id}/events"),
        format!("/battle/{id}/image"),
    ] {
        other.get(&path).await.expect_error(404, "unknown_battle");
    }
    other
        .vote(&id, "model_a")
        .await
        .expect_error(404, "unknown_battle");
    other
        .post(
            &format!("/api/v1/battles/{id}/turns"),
            json!({ "prompt": "x" }),
        )
        .await
        .expect_error(404, "unknown_battle");
    other
        .post(&format!("/api/v1/battles/{id}/retry"), json!({}))
        .await
        .expect_error(404, "unknown_battle");
    owner.vote(&id, "model_a").await.expect(200);
}

#[tokio::test]
async fn bad_requests_are_refused_in_words() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    voter
        .start("  \n ", None)
        .await
        .expect_error(422, "prompt_empty");
    voter
        .start(&"x".repeat(30_001), None)
        .await
        .expect_error(422, "prompt_too_long");
    voter
        .start("a\0b", None)
        .await
        .expect_error(422, "prompt_unprintable");
    let id = voter.answered(&"é".repeat(30_000)).await;
    for winner in ["model_c", "", "A", "tie (bothbad)"] {
        let refused = voter
            .vote(&id, winner)
            .await
            .expect_error(400, "bad_request");
        assert!(
            refused["error"]["message"]
                .as_str()
                .unwrap()
                .contains("both_bad"),
            "{refused}"
        );
    }
    let path = format!("/api/v1/battles/{id}/vote");
    voter
        .post(&path, json!({ "winner": "tie", "extra": 1 }))
        .await
        .expect_error(400, "bad_request");
    voter
        .send(voter.request(Method::POST, &path).body("winner=tie"))
        .await
        .expect_error(400, "bad_request");
    voter
        .get("/api/v1/battles/zzz")
        .await
        .expect_error(404, "unknown_battle");
    voter
        .send(voter.request(Method::DELETE, &path))
        .await
        .expect_error(405, "method_not_allowed");
}

#[tokio::test]
async fn a_page_of_another_site_cannot_vote() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.answered("hello").await;
    let path = format!("/api/v1/battles/{id}/vote");
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("origin", "https://evil.example"),
    ] {
        let request = voter
            .request(Method::POST, &path)
            .header(name, value)
            .json(&json!({ "winner": "tie" }));
        voter.send(request).await.expect_error(403, "cross_site");
    }
    assert_eq!(arena.app.store().counts().await.unwrap().votes, 0);
}

#[tokio::test]
async fn too_many_prompts_are_refused_with_the_time_to_come_back() {
    let store = agon_store::Store::in_memory().await.unwrap();
    let models = vec![echo("one", "1"), echo("two", "2")];
    let arena =
        TestArena::configured(models, "[limits]\nprompts_per_minute_visit = 2", store).await;
    let voter = arena.voter().await;
    for _ in 0..2 {
        voter.start("hello", None).await.expect(201);
    }
    let refused = voter.start("hello", None).await;
    let seconds: u64 = refused.headers[header::RETRY_AFTER]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=60).contains(&seconds));
    refused.expect_error(429, "rate_limited");
}

#[tokio::test]
async fn the_sides_are_a_fair_coin() {
    let store = agon_store::Store::in_memory().await.unwrap();
    let models = vec![echo("one", "1"), echo("two", "2")];
    let arena = TestArena::configured(
        models,
        "[limits]\nprompts_per_minute_visit = 100000\nprompts_per_minute_address = 100000",
        store,
    )
    .await;
    let voter = arena.voter().await;
    let mut n_one_first = 0;
    for _ in 0..200 {
        let id = voter.battle("hello").await;
        let battle = arena.stored(&id).await;
        n_one_first += u32::from(battle.models.a == "one");
    }
    // Within four standard deviations of 100; the seed is fixed.
    assert!((72..=128).contains(&n_one_first), "{n_one_first}");
}

#[tokio::test]
async fn battles_are_dated_by_the_arenas_clock_and_pseudonyms_change_with_the_half_year() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let store = arena.app.store();
    let first = voter.answered("hello").await;
    let vote = voter.vote(&first, "tie").await.expect(200);
    assert_eq!(vote["cast_at"], crate::test_arena::START);
    arena
        .clock
        .advance(jiff::SignedDuration::from_hours(40 * 24));
    let second = voter.answered("hello").await;
    let voter_of = async |id: &str| {
        store
            .battle(id.parse().unwrap())
            .await
            .unwrap()
            .unwrap()
            .voter
    };
    assert_ne!(voter_of(&first).await, voter_of(&second).await);
}

#[tokio::test]
async fn a_visit_lists_its_own_battles_with_names_only_after_the_vote() {
    let arena = TestArena::new().await;
    let (voter, other) = (arena.voter().await, arena.voter().await);
    let first = voter.answered("first question").await;
    voter.vote(&first, "model_a").await.expect(200);
    arena.clock.advance(jiff::SignedDuration::from_secs(1));
    let second = voter.answered("second question").await;
    let list = voter.get("/api/v1/battles").await.expect(200);
    let battles = list["battles"].as_array().unwrap();
    assert_eq!(battles.len(), 2);
    assert_eq!(
        (
            &battles[0]["id"],
            &battles[0]["winner"],
            &battles[0]["model_a"]
        ),
        (&json!(second), &json!(null), &json!(null))
    );
    assert_eq!(
        (&battles[1]["prompt"], &battles[1]["winner"]),
        (&json!("first question"), &json!("model_a"))
    );
    assert!(
        battles[1]["model_b"]
            .as_str()
            .unwrap()
            .starts_with("model-")
    );
    assert_eq!(
        other.get("/api/v1/battles").await.expect(200)["battles"],
        json!([])
    );
    arena
        .stranger()
        .get("/api/v1/battles")
        .await
        .expect_error(403, "consent_required");
}

#[tokio::test]
async fn the_terms_can_be_read_and_accepted_by_a_program() {
    let arena = TestArena::new().await;
    let mut program = arena.stranger();
    let terms = program.get("/api/v1/terms").await.expect(200);
    assert!(terms["text"].as_str().unwrap().contains("Deletion"));
    program
        .consent(terms["policy_version"].as_str().unwrap())
        .await;
    program.start("hello", None).await.expect(201);
}
