//! `agon serve` as a process.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::test_arena::Client;

/// The built binary.
pub(crate) const AGON: &str = env!("CARGO_BIN_EXE_agon");

/// Two scripted models that answer at once.
pub(crate) const QUICK_MODELS: &str = "[limits]\nprompts_per_minute_visit = 10000\nprompts_per_minute_address = 10000\n[[model]]\nname = \"quick-one\"\nprovider = \"scripted\"\npersona = \"demo-terse\"\nvision = true\ntoken_ms = 0\n[[model]]\nname = \"quick-two\"\nprovider = \"scripted\"\npersona = \"demo-structured\"\nvision = true\ntoken_ms = 0\n";

/// A running server. Dropping it kills the process.
pub(crate) struct Server {
    child: tokio::process::Child,
    pub(crate) base: String,
    policy_version: String,
    /// Holds the configuration.
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts with two quick scripted models on a free port.
    pub(crate) async fn start(data_dir: &Path, arguments: &[&str]) -> Self {
        Self::start_with(QUICK_MODELS, data_dir, arguments).await
    }

    pub(crate) async fn start_with(config: &str, data_dir: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agon.toml");
        std::fs::write(&path, config).unwrap();
        let mut child = tokio::process::Command::new(AGON)
            .args(["serve", "--bind", "127.0.0.1:0", "--config"])
            .arg(&path)
            .arg("--data-dir")
            .arg(data_dir)
            .args(arguments)
            .env_remove("AGON_LOG")
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let base = loop {
            let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line())
                .await
                .unwrap()
                .unwrap();
            let line = line.expect("the server stopped before it said where it listens");
            if let Some((_, base)) = line.split_once(" is open at ") {
                break base.to_owned();
            }
        };
        // The pipe is read on, so that the server never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let models = Client::new(base.clone())
            .get("/api/v1/models")
            .await
            .expect(200);
        Self {
            child,
            base,
            policy_version: models["policy_version"].as_str().unwrap().to_owned(),
            _folder: folder,
        }
    }

    /// A visitor who has accepted the terms.
    pub(crate) async fn voter(&self) -> Client {
        let mut client = Client::new(self.base.clone());
        client.consent(&self.policy_version).await;
        client
    }

    /// SIGKILL: the process gets no chance to write anything.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGTERM, and the exit code.
    pub(crate) async fn terminate(&mut self) -> Option<i32> {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").arg(&pid).status().unwrap().success());
        tokio::time::timeout(Duration::from_secs(30), self.child.wait())
            .await
            .unwrap()
            .unwrap()
            .code()
    }
}

fn agon(arguments: &[&str]) -> Child {
    Command::new(AGON)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_server_stops_in_order_and_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]).await;
    let voter = server.voter().await;
    let id = voter.answered("hello").await;
    voter.vote(&id, "tie").await.expect(200);
    assert_eq!(server.terminate().await, Some(0));
    let server = Server::start(folder.path(), &[]).await;
    let battle = voter
        .at(&server.base)
        .get(&format!("/api/v1/battles/{id}"))
        .await
        .expect(200);
    assert_eq!(battle["vote"]["winner"], "tie");
}

#[tokio::test]
async fn only_one_server_owns_a_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start(folder.path(), &[]).await;
    let output = agon(&[
        "serve",
        "--bind",
        "127.0.0.1:0",
        "--data-dir",
        folder.path().to_str().unwrap(),
    ])
    .wait_with_output()
    .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("another server is using the data folder"),
        "{message}"
    );
}

#[tokio::test]
async fn health_readiness_and_metrics_answer_and_name_no_model() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]).await;
    let voter = server.voter().await;
    let id = voter.answered("hello").await;
    voter.vote(&id, "tie").await.expect(200);
    let operator = Client::new(server.base.clone());
    assert_eq!(operator.get("/healthz").await.text, "ok\n");
    let ready = operator.get("/readyz").await.expect(200);
    assert_eq!(ready["ready"], true);
    assert_eq!(
        ready["screening"]["known_image"]["chat"]["standing"],
        "not_installed"
    );
    let metrics = operator.get("/metrics").await.text;
    for name in [
        "agon_battles_started_total 1",
        "agon_votes_total{winner=\"tie\"} 1",
        "agon_generations_total{finish=\"stop\"} 2",
        "agon_http_request_duration_seconds",
    ] {
        assert!(metrics.contains(name), "{name} is not in {metrics}");
    }
    assert!(!metrics.contains("quick-"), "{metrics}");
}

#[test]
fn the_effective_configuration_is_shown_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agon.toml");
    std::fs::write(&path, "[[model]]\nname = \"m\"\nprovider = \"openai\"\nbase_url = \"https://example.org/v1\"\napi_key = { env = \"SOME_KEY\" }\n").unwrap();
    let output = Command::new(AGON)
        .args(["serve", "--check-config", "--config"])
        .arg(&path)
        .args(["--data-dir", "/nowhere"])
        .env("SOME_KEY", "sk-very-secret")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for part in [
        "SOME_KEY",
        "https://example.org/v1",
        "turns_max",
        "/nowhere",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("sk-very-secret"));
    let reread: toml::Table = text.parse().unwrap();
    assert_eq!(reread["model"][0]["name"].as_str(), Some("m"));
}

#[test]
fn wrong_usage_is_exit_code_2_with_the_nearest_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agon.toml");
    std::fs::write(&path, "[server]\nbnd = \"x\"\n").unwrap();
    let output = Command::new(AGON)
        .args(["serve", "--config"])
        .arg(&path)
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("bnd") && message.contains("hint: did you mean `bind`?"),
        "{message}"
    );
    let output = Command::new(AGON)
        .args(["serve", "--no-such-flag"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[tokio::test]
async fn whoever_starts_a_server_can_read_its_address_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = tokio::process::Command::new(AGON)
        .args(["serve", "--json", "--bind", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let document: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(document["demo"], true);
    let client = Client::new(document["url"].as_str().unwrap().to_owned());
    assert_eq!(client.get("/healthz").await.text, "ok\n");
}
