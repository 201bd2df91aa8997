//! Nothing is asked of a model before the terms were accepted.

use serde_json::json;

use crate::test_arena::TestArena;

#[tokio::test]
async fn a_stranger_cannot_start_a_battle() {
    let arena = TestArena::new().await;
    let stranger = arena.stranger();
    stranger
        .start("hello", None)
        .await
        .expect_error(403, "consent_required");
    assert_eq!(arena.app.store().counts().await.unwrap().battles, 0);

    let mut forger = arena.stranger();
    forger.cookie = Some(format!("agon_visit={}", "ab".repeat(32)));
    forger
        .start("hello", None)
        .await
        .expect_error(403, "consent_required");
    forger.cookie = Some("agon_visit=not-a-secret".to_owned());
    forger
        .start("hello", None)
        .await
        .expect_error(403, "consent_required");
    assert_eq!(arena.app.store().counts().await.unwrap().battles, 0);
}

#[tokio::test]
async fn only_the_terms_in_force_can_be_accepted() {
    let arena = TestArena::new().await;
    let stranger = arena.stranger();
    let answer = stranger
        .post("/api/v1/consents", json!({ "policy_version": "1999" }))
        .await;
    answer.expect_error(409, "consent_outdated");
    stranger
        .post("/api/v1/consents", json!({ "version": "x" }))
        .await
        .expect_error(400, "bad_request");
    stranger
        .post("/api/v1/consents", json!([]))
        .await
        .expect_error(400, "bad_request");
}

#[tokio::test]
async fn a_battle_rests_on_the_version_of_the_terms_that_was_accepted() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.battle("hello").await;
    let battle = arena.stored(&id).await;
    let consent = arena
        .app
        .store()
        .consent(battle.visit)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(battle.consent, consent.id);
    assert_eq!(consent.policy_version, arena.app.terms().version);
    assert_eq!(consent.text_sha256, arena.app.terms().text_sha256);
}

#[tokio::test]
async fn the_cookie_is_not_in_the_store() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.battle("hello").await;
    let battle = arena.stored(&id).await;
    assert!(!voter.cookie.unwrap().contains(&battle.visit.to_string()));
}
