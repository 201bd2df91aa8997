//! `agon release` as a process: refused, written, read back, ranked.

use std::{
    io::Cursor,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::{
    cli::serve::{AGON, Server},
    test_arena::Client,
};

fn run(arguments: &[&str]) -> Output {
    Command::new(AGON)
        .args(arguments)
        .env_remove("AGON_LOG")
        .output()
        .unwrap()
}

fn release(data_dir: &Path, target: &Path, more: &[&str]) -> Output {
    let mut arguments = vec![
        "release",
        "--data-dir",
        data_dir.to_str().unwrap(),
        "-o",
        target.to_str().unwrap(),
        "--json",
    ];
    arguments.extend_from_slice(more);
    run(&arguments)
}

#[track_caller]
fn json(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn picture() -> Vec<u8> {
    let image = image::RgbImage::from_fn(40, 30, |x, y| {
        image::Rgb([
            u8::try_from(6 * x).unwrap(),
            u8::try_from(8 * y).unwrap(),
            90,
        ])
    });
    let mut bytes = Cursor::new(Vec::new());
    image
        .write_to(&mut bytes, image::ImageFormat::Jpeg)
        .unwrap();
    bytes.into_inner()
}

/// An arena with 24 votes, three of them over two turns and a third with a picture, and one battle without a vote.
async fn arena(folder: &Path) -> (Server, Value) {
    let server = Server::start(folder, &[]).await;
    let voter = server.voter().await;
    let winners = [
        "model_a", "model_b", "tie", "both_bad", "model_a", "model_b",
    ];
    for n in 0..24_usize {
        let image = (n % 3 == 0).then(picture);
        let body = voter
            .start(
                &format!("Question {n}: \"quotes\", ünïcödé 🎨, עברית"),
                image.as_deref(),
            )
            .await
            .expect(201);
        let id = body["id"].as_str().unwrap().to_owned();
        voter.settled(&id).await;
        if n % 8 == 1 {
            voter
                .post(
                    &format!("/api/v1/battles/{id}/turns"),
                    serde_json::json!({ "prompt": "And then?" }),
                )
                .await
                .expect(201);
            voter.settled(&id).await;
        }
        voter.vote(&id, winners[n % 6]).await.expect(200);
    }
    voter.battle("never voted on").await;
    let board = Client::new(server.base.clone())
        .get("/api/v1/leaderboard")
        .await
        .expect(200);
    (server, board)
}

#[tokio::test]
async fn a_release_needs_an_arena() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("release");
    let output = release(folder.path(), &target, &[]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("there is no arena in"));
    assert!(!target.exists());
}

#[tokio::test]
async fn a_release_gives_the_leaderboard_of_the_page_and_is_read_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let target = folder.path().join("release");
    // Released while the server runs, as an operator would.
    let (server, board) = arena(&data_dir).await;
    let summary = json(&release(&data_dir, &target, &["--allow-unscreened"]));
    assert_eq!(summary["battles"], 24);
    assert_eq!(summary["models"], 2);
    assert_eq!(summary["voters"], 1);
    assert_eq!(
        summary["images"], 1,
        "the same picture eight times is one image"
    );

    let ranked = json(&run(&["rank", target.to_str().unwrap(), "--json"]));
    assert_eq!(ranked["leaderboards"], board["leaderboards"]);
    assert_eq!(
        ranked["input"]["sources"][0]["format"],
        "vision-arena-battle"
    );

    let card = std::fs::read_to_string(target.join("README.md")).unwrap();
    for part in [
        "unscreened",
        "num_examples: 24",
        "quick-one",
        "quick-two",
        "agon rank",
    ] {
        assert!(
            card.to_lowercase().contains(part),
            "{part} is not in {card}"
        );
    }
    for (bytes, name) in [
        (b"127.0.0.1".as_slice(), "the address"),
        (b"never voted on", "a battle without a vote"),
    ] {
        for entry in std::fs::read_dir(target.join("data")).unwrap() {
            let file = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(
                !file.windows(bytes.len()).any(|window| window == bytes),
                "{name} is in the release"
            );
        }
    }

    let again = release(&data_dir, &target, &["--allow-unscreened"]);
    assert_eq!(again.status.code(), Some(2), "{}", told(&again));
    assert!(told(&again).contains("--replace"));
    json(&release(
        &data_dir,
        &target,
        &["--allow-unscreened", "--replace"],
    ));
    drop(server);

    let Some(python) = std::env::var_os("AGON_TEST_PYTHON") else {
        println!("not run: reading back with Python, because AGON_TEST_PYTHON is not set");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/read_back.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&target)
        .output()
        .unwrap();
    let report = json(&output);
    assert_eq!(report["rows"], 24, "{report}");
}

#[tokio::test]
async fn the_same_votes_key_and_time_give_the_same_bytes_and_another_key_other_judges() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let (server, _) = arena(&data_dir).await;
    drop(server);
    let key = folder.path().join("key");
    std::fs::write(&key, format!("{}\n", "20".repeat(32))).unwrap();
    let fixed = [
        "--allow-unscreened",
        "--created-at",
        "2026-11-30T12:00:00Z",
        "--release-key",
        key.to_str().unwrap(),
    ];
    let mut files = Vec::new();
    for name in ["one", "two"] {
        let target = folder.path().join(name);
        let summary = json(&release(&data_dir, &target, &fixed));
        files.push((
            summary["files"].clone(),
            std::fs::read(target.join("README.md")).unwrap(),
        ));
    }
    assert_eq!(files[0], files[1]);
    let other = json(&release(
        &data_dir,
        &folder.path().join("three"),
        &fixed[..3],
    ));
    assert_ne!(
        other["files"], files[0].0,
        "a fresh key makes other pseudonyms"
    );

    std::fs::write(&key, "too short").unwrap();
    let output = release(&data_dir, &folder.path().join("four"), &fixed);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("64 lower-case hexadecimal digits"));
}

#[tokio::test]
async fn a_release_takes_out_personal_data_and_leaves_out_what_nobody_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let target = folder.path().join("release");
    let server = Server::start(&data_dir, &[]).await;
    let voter = server.voter().await;
    let id = voter
        .answered("Write to ana.lopez@example.org, please.")
        .await;
    voter.vote(&id, "tie").await.expect(200);
    let started = voter.start("What is this?", Some(&picture())).await;
    let id = started.expect(201)["id"].as_str().unwrap().to_owned();
    voter.settled(&id).await;
    voter.vote(&id, "model_a").await.expect(200);
    let summary = json(&release(&data_dir, &target, &[]));
    assert_eq!(summary["battles"], 1);
    assert_eq!(
        summary["left_out"],
        serde_json::json!({ "screening_undecided": 1 })
    );
    assert!(summary["texts_changed"].as_u64().unwrap() >= 1, "{summary}");
    assert_eq!(summary["screened"], true);
    let card = std::fs::read_to_string(target.join("README.md")).unwrap();
    assert!(card.contains("- agon-pii "), "{card}");
    // The picture goes in by the operator's explicit word only, and the card then says what it is.
    let allowed = json(&release(
        &data_dir,
        &target,
        &["--allow-unscreened", "--replace"],
    ));
    assert_eq!(allowed["battles"], 2);
    assert_eq!(allowed["screened"], false);
    let card = std::fs::read_to_string(target.join("README.md")).unwrap();
    assert!(card.contains("Unscreened: do not publish as is"), "{card}");
}
