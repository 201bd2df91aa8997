//! A battle between two real models, when `scripts/real-models.py` runs them: through the API, and through the page when there is a browser.
//!
//! `AGON_TEST_REAL_MODELS_CONFIG` names the configuration that the script wrote.

use std::time::{Duration, Instant};

use crate::{browser::Browser, cli::serve::Server};

/// How long two small models may take for an answer on two slow cores.
const PATIENCE: Duration = Duration::from_secs(300);

fn config() -> Option<String> {
    match std::env::var("AGON_TEST_REAL_MODELS_CONFIG") {
        Ok(path) => Some(std::fs::read_to_string(path).unwrap()),
        Err(_) => {
            println!(
                "not run: AGON_TEST_REAL_MODELS_CONFIG is not set (see scripts/real-models.py --run)"
            );
            None
        }
    }
}

#[tokio::test]
async fn two_real_models_answer_and_are_revealed() {
    let Some(config) = config() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&config, folder.path(), &[]).await;
    let voter = server.voter().await;
    let started = Instant::now();
    let id = voter.battle("Name three colours of the rainbow.").await;
    let battle = loop {
        let battle = voter
            .get(&format!("/api/v1/battles/{id}"))
            .await
            .expect(200);
        if battle["status"] != "answering" {
            break battle;
        }
        assert!(started.elapsed() < PATIENCE, "{battle}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(battle["status"], "ratable", "{battle}");
    for side in ["a", "b"] {
        let text = battle["turns"][0]["answers"][side]["text"]
            .as_str()
            .unwrap();
        assert!(text.trim().len() > 3, "{battle}");
    }
    let vote = voter.vote(&id, "both_bad").await.expect(200);
    let names: Vec<&str> = ["a", "b"]
        .iter()
        .map(|side| vote["models"][side]["name"].as_str().unwrap())
        .collect();
    assert_ne!(names[0], names[1]);
    for name in names {
        assert!(config.contains(name), "{name} is not in {config}");
    }
    println!(
        "two real models answered in {:.1} s",
        started.elapsed().as_secs_f64()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_real_models_meet_on_the_page() {
    let Some(config) = config() else { return };
    let Some(browser) = Browser::start(1280, 900, true).await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&config, folder.path(), &[]).await;
    browser.agree(&server.base).await;
    browser.ask("What is the capital of France?").await;
    browser
        .wait_at_most("#votes button[value=tie]:not(:disabled)", PATIENCE)
        .await
        .click()
        .await
        .unwrap();
    let result = browser.text(".result").await;
    let n_named = config
        .lines()
        .filter_map(|line| line.strip_prefix("name = "))
        .filter(|name| result.contains(name.trim_matches('"')))
        .count();
    assert_eq!(n_named, 2, "{result}");
}

#[test]
fn a_real_model_is_asked_closed_questions() {
    let Some(config) = config() else { return };
    let path = std::env::var("AGON_TEST_REAL_MODELS_CONFIG").unwrap();
    let name = config
        .lines()
        .find_map(|line| line.strip_prefix("name = "))
        .unwrap()
        .trim_matches('"');
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("battles.jsonl");
    let rows: String = [
        "Tell me a joke about a cat.",
        "Write a function that adds two numbers.",
    ]
    .iter()
    .map(|prompt| {
        let side = |answer: &str| {
            serde_json::json!([[{ "role": "user", "content": prompt }, { "role": "assistant", "content": answer }]])
        };
        let row = serde_json::json!({
            "model_a": "a", "model_b": "b", "winner": "tie",
            "conversation_a": side("Here it is."), "conversation_b": side("I will not do that."),
        });
        format!("{row}\n")
    })
    .collect();
    std::fs::write(&input, rows).unwrap();
    let started = Instant::now();
    let output = std::process::Command::new(crate::cli::serve::AGON)
        .args(["annotate", "--json", "--config", &path, "--labeller", name])
        .args(["--questions", "humor,creative_writing"])
        .args(["--questions-at-a-time", "1"])
        .arg("--data-dir")
        .arg(folder.path())
        .arg("-o")
        .arg(folder.path().join("annotated"))
        .arg(&input)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let asked = &summary["labeller"];
    let n = |what: &str| asked[what].as_u64().unwrap();
    // A model this small may well say something else than yes or no; then there is no label.
    assert_eq!(n("answered") + n("unreadable"), 4, "{asked}");
    assert!(n("requests") >= 4 && n("tokens") > 0, "{asked}");
    println!(
        "a real model: {} of 4 questions answered, {} unreadable, {} requests in {:.1} s",
        n("answered"),
        n("unreadable"),
        n("requests"),
        started.elapsed().as_secs_f64()
    );
}
