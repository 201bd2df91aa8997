//! An acknowledged vote survives whatever happens to the process.

use crate::{
    cli::serve::{QUICK_MODELS, Server},
    test_arena::Client,
};

#[tokio::test]
async fn a_vote_survives_a_kill_right_after_its_answer_twenty_times() {
    let folder = tempfile::tempdir().unwrap();
    let winners = ["model_a", "model_b", "tie", "both_bad"];
    let mut acknowledged: Vec<(String, Client, &str)> = Vec::new();
    for round in 0..20 {
        let mut server = Server::start(folder.path(), &[]).await;
        let voter = server.voter().await;
        let id = voter.answered(&format!("round {round}")).await;
        let winner = winners[round % 4];
        let vote = voter.vote(&id, winner).await.expect(200);
        assert_eq!(vote["sequence"], round + 1);
        server.kill().await;
        acknowledged.push((id, voter, winner));
    }
    let server = Server::start(folder.path(), &[]).await;
    for (id, voter, winner) in acknowledged {
        let battle = voter
            .at(&server.base)
            .get(&format!("/api/v1/battles/{id}"))
            .await
            .expect(200);
        assert_eq!(battle["vote"]["winner"], winner);
    }
    let board = Client::new(server.base.clone())
        .get("/api/v1/leaderboard")
        .await
        .expect(200);
    assert_eq!(board["input"]["kept"], 20);
}

#[tokio::test]
async fn an_answer_that_a_kill_interrupts_can_be_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let slow = QUICK_MODELS.replace("token_ms = 0", "token_ms = 200");
    let mut server = Server::start_with(&slow, folder.path(), &[]).await;
    let voter = server.voter().await;
    let id = voter
        .battle("A long question, please answer at length.")
        .await;
    server.kill().await;
    let server = Server::start(folder.path(), &[]).await;
    let voter = voter.at(&server.base);
    let battle = voter.settled(&id).await;
    assert_eq!(battle["status"], "failed", "{battle}");
    assert!(battle.to_string().contains("answer_interrupted"));
    voter
        .post(
            &format!("/api/v1/battles/{id}/retry"),
            serde_json::json!({}),
        )
        .await
        .expect(202);
    assert_eq!(voter.settled(&id).await["status"], "ratable");
    voter.vote(&id, "tie").await.expect(200);
}
