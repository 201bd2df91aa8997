//! A hundred battles at once: none lost, none mixed up.

use agon_store::Store;
use serde_json::json;

use crate::test_arena::{TestArena, echo};

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_battles_at_once_are_all_kept_and_none_is_mixed_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let models = (0..5)
        .map(|n| echo(&format!("model-{n}"), &format!("m{n}: ")))
        .collect();
    let arena = TestArena::configured(
        models,
        "[limits]\nprompts_per_minute_visit = 1000\nprompts_per_minute_address = 100000",
        store,
    )
    .await;
    let winners = ["model_a", "model_b", "tie", "both_bad"];
    let mut tasks = Vec::new();
    for n in 0..100_usize {
        let voter = arena.voter().await;
        tasks.push(tokio::spawn(async move {
            let first = format!("question {n}, first");
            let second = format!("question {n}, second");
            let id = voter.answered(&first).await;
            voter
                .post(
                    &format!("/api/v1/battles/{id}/turns"),
                    json!({ "prompt": second }),
                )
                .await
                .expect(201);
            let battle = voter.settled(&id).await;
            for (turn, prompt) in [(0, &first), (1, &second)] {
                for side in ["a", "b"] {
                    let text = battle["turns"][turn]["answers"][side]["text"]
                        .as_str()
                        .unwrap();
                    assert!(
                        text.ends_with(prompt.as_str()),
                        "{text:?} does not answer {prompt:?}"
                    );
                }
            }
            let vote = voter.vote(&id, winners[n % 4]).await.expect(200);
            (n, id, vote)
        }));
    }
    let mut sequences = Vec::new();
    for task in tasks {
        let (n, id, vote) = task.await.unwrap();
        let kept = arena.stored(&id).await;
        assert_eq!(kept.turns[0].prompt, format!("question {n}, first"));
        assert_eq!(kept.vote.unwrap().winner.as_str(), winners[n % 4]);
        for (model, name) in [(&kept.models.a, "a"), (&kept.models.b, "b")] {
            assert_eq!(vote["models"][name]["name"], *model);
            let number = model.strip_prefix("model-").unwrap();
            let side = agon_domain::Side::from_spelling(name).unwrap();
            for turn in &kept.turns {
                assert_eq!(
                    turn.generations.get(side).text,
                    format!("m{number}: {}", turn.prompt)
                );
            }
        }
        sequences.push(vote["sequence"].as_u64().unwrap());
    }
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=100).collect::<Vec<_>>());
    let (tally, last) = arena.app.store().tally().await.unwrap();
    assert_eq!((tally.total(), last), (100, 100));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_battle_whose_voter_leaves_at_any_moment_is_answered_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let models = vec![echo("one", "1: "), echo("two", "2: ")];
    let limits = "[limits]\nprompts_per_minute_visit = 1000\nprompts_per_minute_address = 100000";
    let arena = TestArena::configured(models, limits, store).await;
    let voter = arena.voter().await;
    for n in 0..60_u64 {
        // The connection is dropped a little later each time: before, while and after the battle is stored.
        let patience = std::time::Duration::from_micros(200 * n);
        let _ = tokio::time::timeout(patience, voter.start(&format!("question {n}"), None)).await;
    }
    arena.app.idle().await;
    let counts = arena.app.store().counts().await.unwrap();
    assert!(counts.battles > 0, "no request came far enough");
    assert_eq!(counts.running_generations, 0, "{counts:?}");
    let list = voter.get("/api/v1/battles").await.expect(200);
    for battle in list["battles"].as_array().unwrap() {
        let battle = voter.settled(battle["id"].as_str().unwrap()).await;
        assert_eq!(battle["status"], "ratable");
    }
}
