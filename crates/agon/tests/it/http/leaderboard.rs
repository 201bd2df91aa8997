//! The leaderboard, at once after each vote.

use crate::test_arena::TestArena;

#[tokio::test]
async fn an_arena_without_votes_has_an_empty_board() {
    let arena = TestArena::new().await;
    let board = arena
        .stranger()
        .get("/api/v1/leaderboard")
        .await
        .expect(200);
    assert_eq!(board["leaderboards"].as_array().unwrap().len(), 0);
    assert_eq!(board["input"]["kept"], 0);
    assert_eq!(arena.stranger().get("/leaderboard").await.status, 200);
}

#[tokio::test]
async fn each_vote_counts_at_once() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    // The model called model-one wins twice of three, whichever side it is on.
    for n in 1..=12_u64 {
        let id = voter.answered("hello").await;
        let battle = arena.stored(&id).await;
        let one_is_a = battle.models.a == "model-one";
        let one_wins = n % 3 != 0;
        voter
            .vote(
                &id,
                if one_is_a == one_wins {
                    "model_a"
                } else {
                    "model_b"
                },
            )
            .await
            .expect(200);
        let board = arena
            .stranger()
            .get("/api/v1/leaderboard")
            .await
            .expect(200);
        assert_eq!(board["input"]["kept"], n);
    }
    let board = arena
        .stranger()
        .get("/api/v1/leaderboard")
        .await
        .expect(200);
    let models = &board["leaderboards"][0]["models"];
    assert_eq!(models[0]["model"], "model-one");
    assert_eq!(models[0]["wins"], 8);
    assert_eq!(models[0]["status"], "rated");
    // Two models: rating difference = 400 log10(8/4); mean 1000.
    let expected = 1000.0 + 200.0 * 2.0_f64.log10();
    let rating = models[0]["rating"].as_f64().unwrap();
    assert!(
        (rating - expected).abs() < 1e-6,
        "{rating} against {expected}"
    );
    // The sandwich of a single pair: variance of θa − θb is Σ(y−p)² / (Σp(1−p))² = 1/(n p (1−p)).
    let half_width = 1.959_963_984_540_054 * 200.0 / 10.0_f64.ln()
        * (1.0_f64 / (12.0 * (2.0 / 3.0) * (1.0 / 3.0))).sqrt();
    let upper = models[0]["rating_upper"].as_f64().unwrap();
    assert!(
        (upper - rating - half_width).abs() < 1e-6,
        "{} against {half_width}",
        upper - rating
    );
    let page = arena.stranger().get("/leaderboard").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("model-one"));
}
