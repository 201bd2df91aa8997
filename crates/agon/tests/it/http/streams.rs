//! The answers while they are written.

use std::time::Duration;

use agon_domain::Finish;
use agon_providers::Script;
use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::Value;

use crate::test_arena::{Client, TestArena, echo, scripted};

/// Events of a stream until `end`, as name and data.
async fn events(client: &Client, id: &str, query: &str) -> Vec<(String, Value)> {
    let response = client
        .request(Method::GET, &format!("/api/v1/battles/{id}/events{query}"))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    let mut bytes = response.bytes_stream();
    while let Some(chunk) = tokio::time::timeout(Duration::from_secs(20), bytes.next())
        .await
        .unwrap()
    {
        text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
    }
    let mut events = Vec::new();
    for block in text
        .split("\n\n")
        .filter(|block| !block.starts_with(':') && !block.is_empty())
    {
        let field = |name: &str| {
            block
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        events.push((
            field("event:"),
            serde_json::from_str(&field("data:")).unwrap(),
        ));
    }
    events
}

#[tokio::test]
async fn answers_stream_and_end_with_the_status() {
    let slow = scripted(
        "slow",
        vec![
            Script::new()
                .text("one ")
                .delay_ms(250)
                .text("two ")
                .delay_ms(250)
                .text("three")
                .finish(Finish::Stop),
        ],
    );
    let arena = TestArena::with_models(vec![slow, echo("quick", "Quick: ")]).await;
    let voter = arena.voter().await;
    let id = voter.battle("hello").await;
    let events = events(&voter, &id, "").await;
    let (last, rest) = events.split_last().unwrap();
    assert_eq!(last.0, "end");
    let (status, answers) = rest.split_last().unwrap();
    assert_eq!(status.0, "status");
    assert_eq!(status.1["can_vote"], true);
    let texts: Vec<&str> = answers
        .iter()
        .map(|(_, data)| data["text"].as_str().unwrap())
        .filter(|text| text.starts_with("one"))
        .collect();
    assert!(
        texts.len() >= 3,
        "the slow answer came in pieces: {texts:?}"
    );
    assert!(
        texts.windows(2).all(|pair| pair[1].starts_with(pair[0])),
        "each event carries the whole answer: {texts:?}"
    );
    assert_eq!(*texts.last().unwrap(), "one two three");
    for (name, data) in answers {
        assert_eq!(name, "answer");
        assert!(!data.to_string().contains("slow"), "{data}");
    }
}

#[tokio::test]
async fn a_stream_that_starts_late_or_again_gets_everything() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.answered("**hello** <script>alert(1)</script>").await;
    for _ in 0..2 {
        let events = events(&voter, &id, "?render=html").await;
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["answer", "answer", "status", "end"]);
        for (_, data) in &events[..2] {
            let html = data["html"].as_str().unwrap();
            assert!(html.contains("<strong>hello</strong>"), "{html}");
            assert!(!html.contains("<script"), "{html}");
            assert_eq!(data["phase"], "finished");
        }
    }
}

#[tokio::test]
async fn answers_go_on_when_the_reader_leaves() {
    let slow = scripted(
        "slow",
        vec![
            Script::new()
                .text("start")
                .delay_ms(300)
                .text(" end")
                .finish(Finish::Stop),
        ],
    );
    let arena = TestArena::with_models(vec![slow, echo("quick", "Quick: ")]).await;
    let voter = arena.voter().await;
    let id = voter.battle("hello").await;
    let response = voter
        .request(Method::GET, &format!("/api/v1/battles/{id}/events"))
        .send()
        .await
        .unwrap();
    drop(response);
    let battle = voter.settled(&id).await;
    assert_eq!(battle["status"], "ratable");
    assert!(battle.to_string().contains("start end"));
}

#[tokio::test]
async fn swapped_models_with_the_same_answers_look_the_same() {
    // Identical scripts behind two names: nothing that is sent before the vote may differ but ids and times.
    let mut seen = Vec::new();
    for names in [["alpha", "omega"], ["omega", "alpha"]] {
        let models = names
            .iter()
            .map(|name| scripted(name, vec![Script::answer("the same")]))
            .collect();
        let arena = TestArena::with_models(models).await;
        let voter = arena.voter().await;
        let id = voter.answered("hello").await;
        let answer = voter.get(&format!("/api/v1/battles/{id}")).await;
        let headers: Vec<String> = answer
            .headers
            .iter()
            .filter(|(name, _)| *name != "date")
            .map(|(name, value)| format!("{name}: {value:?}"))
            .collect();
        let events = events(&voter, &id, "").await;
        seen.push((answer.text.replace(&id, "ID"), headers, events));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn an_unknown_rendering_is_refused() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let id = voter.battle("hello").await;
    voter
        .get(&format!("/api/v1/battles/{id}/events?render=pdf"))
        .await
        .expect_error(400, "bad_request");
}
