//! What hostile clients try.

use std::time::Duration;

use agon::http::{self, connections::ConnectionLimits};
use agon_domain::Finish;
use agon_providers::Script;
use reqwest::{Method, header};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    cli::serve::{AGON, QUICK_MODELS},
    test_arena::{Client, TestArena, echo, scripted},
};

/// Longer than anything here takes when it works.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends these bytes and reads until the server closes the connection.
async fn talk(address: std::net::SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A reset is an end, too.
    let _end = timeout(PATIENCE, stream.read_to_end(&mut answer))
        .await
        .expect("the server keeps the connection open");
    answer
}

#[tokio::test]
async fn a_strangers_upload_is_refused_before_it_is_read() {
    let arena = TestArena::new().await;
    for cookie in [
        "",
        "Cookie: agon_visit=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\r\n",
    ] {
        let head = format!(
            "POST /api/v1/battles HTTP/1.1\r\nHost: x\r\n{cookie}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 20000000\r\nConnection: close\r\n\r\n"
        );
        let answer = talk(arena.address, head.as_bytes()).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.contains("consent_required"), "{answer}");
    }
}

#[tokio::test]
async fn peers_that_do_not_ask_or_do_not_read_are_dropped() {
    let arena = TestArena::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stopping = CancellationToken::new();
    let limits = ConnectionLimits {
        headers: Duration::from_millis(300),
        stall: Duration::from_millis(300),
    };
    let server = tokio::spawn(http::connections::serve(
        listener,
        http::router(arena.app.clone()),
        limits,
        stopping.clone(),
    ));
    let answer = talk(
        address,
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    )
    .await;
    assert!(answer.ends_with(b"ok\n"));
    for slow in [
        &b""[..],
        b"PRI * HT",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    ] {
        let started = Instant::now();
        talk(address, slow).await;
        assert!(started.elapsed() < PATIENCE / 2);
    }
    // Far more answers than the system's buffers hold, none of which is read.
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2_000);
    let is_dropped = async {
        while stream.write_all(&request).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, is_dropped).await.unwrap();
    let huge = format!(
        "GET / HTTP/1.1\r\nHost: x\r\nX-Huge: {}\r\n\r\n",
        "a".repeat(200_000)
    );
    let answer = talk(address, huge.as_bytes()).await;
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    stopping.cancel();
    timeout(PATIENCE, server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_vote_that_cannot_be_cast_yet_leaves_nothing_behind() {
    let slow = Script::new()
        .delay_ms(300)
        .text("done")
        .finish(Finish::Stop);
    let arena = TestArena::with_models(vec![
        scripted("one", vec![slow.clone()]),
        scripted("two", vec![slow]),
    ])
    .await;
    let voter = arena.voter().await;
    let id = voter.battle("hello").await;
    let vote = |winner: &'static str| {
        let request = voter
            .request(Method::POST, &format!("/api/v1/battles/{id}/vote"))
            .header("idempotency-key", "one")
            .json(&json!({ "winner": winner }));
        voter.send(request)
    };
    vote("tie").await.expect_error(409, "still_answering");
    voter.settled(&id).await;
    // Were the first one noted, this would be another request with the same key.
    vote("model_a").await.expect(200);
    vote("model_a").await.expect(200);
    vote("tie")
        .await
        .expect_error(409, "idempotency_key_reused");
}

#[tokio::test]
async fn bodies_are_as_large_and_as_readable_as_they_have_to_be() {
    let arena = TestArena::new().await;
    let voter = arena.voter().await;
    let long = "a".repeat(2_000_000);
    voter
        .post("/api/v1/consents", json!({ "policy_version": long }))
        .await
        .expect_error(413, "upload_too_large");
    // UTF-16 with its mark, which must not be taken for another text.
    let mut body = b"--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\n".to_vec();
    body.extend_from_slice(b"\xff\xfeh\0i\0\r\n--b--\r\n");
    let request = voter
        .request(Method::POST, "/api/v1/battles")
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=b")
        .body(body);
    voter.send(request).await.expect_error(400, "bad_request");
}

#[tokio::test]
async fn an_answer_is_not_logged_however_much_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (config, log) = (folder.path().join("agon.toml"), folder.path().join("log"));
    std::fs::write(&config, QUICK_MODELS).unwrap();
    let mut server = tokio::process::Command::new(AGON)
        .args(["serve", "-vv", "--bind", "127.0.0.1:0", "--config"])
        .arg(&config)
        .arg("--data-dir")
        .arg(folder.path().join("data"))
        .env("AGON_LOG", "trace")
        .stderr(std::fs::File::create(&log).unwrap())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let read = || std::fs::read_to_string(&log).unwrap();
    let base = timeout(PATIENCE, async {
        loop {
            let text = read();
            if let Some((_, rest)) = text.split_once(" is open at ")
                && let Some((base, _)) = rest.split_once('\n')
            {
                break base.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
    let mut voter = Client::new(base);
    let models = voter.get("/api/v1/models").await.json();
    voter
        .consent(models["policy_version"].as_str().unwrap())
        .await;
    let id = voter.battle("canary <b>prompt</b>").await;
    voter.settled(&id).await;
    // An HTML parser, which explains at length what it reads, is asked for such text only.
    voter.get(&format!("/battle/{id}")).await;
    voter
        .get(&format!("/api/v1/battles/{id}/events?render=html"))
        .await;
    server.kill().await.unwrap();
    let log = read();
    assert!(log.contains("battle started"), "{log}");
    for foreign in ["canary", "html5ever", "hyper", "reqwest"] {
        assert!(!log.contains(foreign), "{foreign}: {log}");
    }
}

#[tokio::test]
async fn an_endpoint_that_answers_with_its_own_key_shows_it_to_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("key");
    std::fs::write(&key_file, "sk-very-secret-123456\n").unwrap();
    let toml = format!(
        "[[model]]\nname = \"leaky\"\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key = {{ file = {key_file:?} }}\n"
    );
    let leaky = scripted(
        "leaky",
        vec![
            Script::new()
                .text("My key is sk-very-")
                .text("secret-1234")
                .text("56, use it!")
                .finish(Finish::Stop),
        ],
    );
    let store = agon_store::Store::in_memory().await.unwrap();
    let arena = TestArena::configured(vec![leaky, echo("sound", "Sound: ")], &toml, store).await;
    let voter = arena.voter().await;
    let id = voter.answered("hello").await;
    let battle = voter
        .get(&format!("/api/v1/battles/{id}"))
        .await
        .expect(200);
    assert_eq!(battle["status"], "failed");
    assert!(!battle.to_string().contains("sk-very"), "{battle}");
    let stored = arena.stored(&id).await;
    assert!(!format!("{stored:?}").contains("sk-very"));
}
