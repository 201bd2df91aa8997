//! The arena labels its own battles.

use agon_store::Annotation;
use serde_json::Value;

use crate::test_arena::{TestArena, echo};

/// The labels of all battles with a vote, in the order of the votes.
async fn labels(arena: &TestArena) -> Vec<Vec<Annotation>> {
    let store = arena.app.store();
    let battles = store.voted_battles(0, 100).await.unwrap();
    let mut labels = store.annotations(0, u64::MAX).await.unwrap();
    battles
        .iter()
        .map(|battle| labels.remove(&battle.id).unwrap_or_default())
        .collect()
}

#[track_caller]
fn label(labels: &[Annotation], annotator: &str) -> Value {
    let label = labels
        .iter()
        .find(|label| label.annotator == annotator)
        .unwrap_or_else(|| panic!("no label of {annotator}"));
    serde_json::from_str(&label.label).unwrap()
}

#[tokio::test]
async fn battles_are_labelled_once_they_have_a_vote() {
    let arena = TestArena::with_models(vec![
        echo("model-x", "You asked for this: "),
        echo("model-y", "You wanted to know: "),
    ])
    .await;
    let voter = arena.voter().await;
    let french = voter
        .answered("Quelle est la hauteur de la tour Eiffel et qui a décidé de la construire ?")
        .await;
    let open = voter.answered("This one gets no vote.").await;
    voter.vote(&french, "model_a").await.expect(200);
    assert_eq!(arena.app.annotate_votes().await.unwrap(), 1);
    assert_eq!(arena.app.annotate_votes().await.unwrap(), 0);
    let first = labels(&arena).await;
    assert_eq!(first.len(), 1);
    assert_eq!(label(&first[0], "language")["prompt"]["name"], "French");
    assert_eq!(label(&first[0], "style-compat")["a"]["turns"], 1);
    // The next vote labels its own battle alone, and what is there stays.
    voter.vote(&open, "tie").await.expect(200);
    assert_eq!(arena.app.annotate_votes().await.unwrap(), 1);
    let second = labels(&arena).await;
    assert_eq!(second[0], first[0]);
    assert_eq!(label(&second[1], "language")["prompt"]["name"], "English");
    // A label of an older version is given anew after a restart, which looks for what is out of date.
    let store = arena.app.store();
    let battle = store.voted_battles(0, 1).await.unwrap().remove(0);
    let old = Annotation {
        annotator: "language".to_owned(),
        version: 4_000_000_000,
        label: "\"from another version\"".to_owned(),
    };
    store
        .save_annotations(&[(battle.id, vec![old])], battle.started_at)
        .await
        .unwrap();
    let models = vec![echo("model-x", ""), echo("model-y", "")];
    let restarted = TestArena::configured(models, "", store.clone()).await;
    assert_eq!(restarted.app.annotate_votes().await.unwrap(), 2);
    assert_eq!(labels(&arena).await, second);
}
