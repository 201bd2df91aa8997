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
