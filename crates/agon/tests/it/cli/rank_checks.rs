//! The checks of `agon rank`, as a process.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, process::Command};

use serde_json::Value;

use crate::cli::serve::AGON;

#[track_caller]
fn board(path: &Path, flags: &[&str]) -> Value {
    let output = Command::new(AGON)
        .arg("rank")
        .arg(path)
        .args(["--json", "--quiet"])
        .args(flags)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn checks(board: &Value) -> BTreeMap<String, Value> {
    board["leaderboards"][0]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| (check["check"].as_str().unwrap().to_owned(), check.clone()))
        .collect()
}

/// Battles as CSV: side A, side B, winner, and how often.
fn csv(rows: &[(&str, &str, &str, u64)]) -> String {
    let mut text = "model_a,model_b,winner\n".to_owned();
    for (a, b, winner, count) in rows {
        for _ in 0..*count {
            writeln!(text, "{a},{b},{winner}").unwrap();
        }
    }
    text
}

fn file(content: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    file
}

const CLOSE: [(&str, &str, &str, u64); 7] = [
    ("ant", "bee", "model_a", 160),
    ("bee", "ant", "model_a", 148),
    ("ant", "bee", "tie", 30),
    ("bee", "cat", "model_a", 120),
    ("cat", "bee", "model_a", 70),
    ("ant", "cat", "model_a", 110),
    ("cat", "ant", "model_a", 75),
];

#[test]
fn how_much_is_checked_can_be_chosen() {
    let votes = file(&csv(&CLOSE));
    let quick = checks(&board(votes.path(), &[]));
    assert_eq!(quick, checks(&board(votes.path(), &["--checks", "quick"])));
    for name in [
        "connected",
        "separation",
        "converged",
        "conditioned",
        "enough_battles",
        "pairs",
        "calibrated",
        "dispersion",
        "interval_agreement",
        "sides",
    ] {
        assert!(quick[name]["detail"].is_string(), "{name}");
    }
    assert!(!quick.contains_key("first_place_votes"));
    let full = checks(&board(votes.path(), &["--checks", "full"]));
    assert!(full.contains_key("first_place_votes"));
    let none = board(votes.path(), &["--checks", "none"]);
    assert_eq!(none["leaderboards"][0]["checks"], serde_json::json!([]));
    // Checks look on: they change no number of the board.
    let mut boards =
        ["quick", "full", "none"].map(|effort| board(votes.path(), &["--checks", effort]));
    for board in &mut boards {
        board["leaderboards"][0]["checks"] = Value::Null;
    }
    assert!(boards.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn without_the_votes_that_it_hangs_on_first_place_is_another_one() {
    let votes = file(&csv(&CLOSE));
    let before = board(votes.path(), &["--checks", "full"]);
    assert_eq!(before["leaderboards"][0]["models"][0]["model"], "ant");
    let check = &checks(&before)["first_place_votes"];
    let n = check["values"]["votes_to_change_first"].as_u64().unwrap();
    assert!((1..30).contains(&n), "{check}");
    assert_eq!(check["values"]["leaves"], serde_json::json!(["ant"]));
    let enters = check["values"]["enters"][0].as_str().unwrap();

    // `ant beat bee: 12 of 160`: take these away, from either side.
    let mut lines: Vec<String> = csv(&CLOSE).lines().map(ToOwned::to_owned).collect();
    for sentence in check["values"]["removed"].as_array().unwrap() {
        let (what, counts) = sentence.as_str().unwrap().split_once(": ").unwrap();
        let count: usize = counts.split_once(" of ").unwrap().0.parse().unwrap();
        let wanted = match what.split_once(" beat ") {
            Some((winner, loser)) => [
                format!("{winner},{loser},model_a"),
                format!("{loser},{winner},model_b"),
            ],
            None => {
                let (x, y) = what
                    .strip_suffix(" tied")
                    .unwrap()
                    .split_once(" and ")
                    .unwrap();
                [format!("{x},{y},tie"), format!("{y},{x},tie")]
            }
        };
        for _ in 0..count {
            let idx = lines.iter().position(|line| wanted.contains(line)).unwrap();
            lines.remove(idx);
        }
    }
    let after = board(file(&lines.join("\n")).path(), &[]);
    assert_eq!(after["leaderboards"][0]["models"][0]["model"], enters);
    // One vote fewer does not do.
    assert_eq!(lines.len() as u64, csv(&CLOSE).lines().count() as u64 - n);
}

#[test]
fn failed_checks_stand_below_the_table_in_words() {
    let votes = file(&csv(&[
        ("ant", "bee", "model_a", 26),
        ("bee", "ant", "model_a", 25),
        ("ant", "bee", "model_b", 24),
        ("bee", "ant", "model_b", 25),
    ]));
    let output = Command::new(AGON)
        .args(["rank", "--checks", "full"])
        .arg(votes.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("! first_place_votes: first place hangs on at most 3 votes (3.0% of all): without them bee is first instead of ant"),
        "{text}"
    );
}

#[test]
fn the_same_votes_have_the_same_checks_in_any_order_and_on_any_number_of_threads() {
    let content = csv(&CLOSE);
    let mut lines: Vec<&str> = content.lines().skip(1).collect();
    lines.reverse();
    let reversed = format!("model_a,model_b,winner\n{}\n", lines.join("\n"));
    let (votes, other) = (file(&content), file(&reversed));
    let flags = ["--checks", "full", "--threads", "1"];
    let expected = checks(&board(votes.path(), &flags));
    assert_eq!(checks(&board(other.path(), &flags)), expected);
    assert_eq!(
        checks(&board(
            votes.path(),
            &["--checks", "full", "--threads", "2"]
        )),
        expected
    );
}

#[test]
fn busy_judges_are_seen_where_votes_are_taken_by_judge() {
    let mut text = "model_a,model_b,winner,judge\n".to_owned();
    for judge in 0..40 {
        for (a, b, winner) in [("ant", "bee", "model_b"), ("bee", "ant", "model_a")] {
            writeln!(text, "{a},{b},{winner},j{judge}").unwrap();
        }
    }
    for _ in 0..60 {
        text.push_str("ant,bee,model_a,busy\nbee,ant,model_b,busy\n");
    }
    let votes = file(&text);
    let flags = ["--ci", "cluster", "--checks", "full"];
    let found = checks(&board(votes.path(), &flags));
    let judges = &found["judges"];
    assert_eq!(judges["passed"], false, "{judges}");
    assert_eq!(judges["values"]["judges"], 41);
    assert_eq!(judges["values"]["busiest"], 120);
    let first = &found["first_place_judges"];
    assert_eq!(first["values"]["judges_to_change_first"], 1, "{first}");
}

#[test]
fn the_shared_fixture_passes_what_it_should() {
    let Some(folder) = std::env::var_os("AGON_TESTDATA") else {
        println!("skipped: AGON_TESTDATA is not set");
        return;
    };
    let path = Path::new(&folder).join("votes/ranking-fixtures/battles-30k.parquet");
    let path = if path.exists() {
        path
    } else {
        Path::new(&folder).join("votes/ranking-fixtures/battles-30k.csv")
    };
    let found = checks(&board(&path, &["--checks", "full"]));
    for name in [
        "connected",
        "separation",
        "converged",
        "conditioned",
        "sides",
        "enough_battles",
    ] {
        assert_eq!(found[name]["passed"], true, "{}", found[name]);
    }
    for name in [
        "first_place_votes",
        "top_votes",
        "calibrated",
        "dispersion",
        "interval_agreement",
    ] {
        println!("{}", found[name]["detail"]);
    }
}
