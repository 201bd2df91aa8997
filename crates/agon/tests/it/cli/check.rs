//! `agon check` as a process.

use std::process::Output;

use super::rank::{CSV, file, json, path_text, rank, run, text};

fn check(arguments: &[&str], stdin: Option<&[u8]>) -> Output {
    run("check", arguments, stdin)
}

/// Seven rows, of which three are votes.
const MIXED: &str = "\u{feff}question_id;model_a;model_b;winner;judge;language;tstamp\r\n\
    q1;gpt-4;claude;model_a;j1;English;1717200000\r\n\
    q2;GPT 4;claude;tie;j1;French;1717286400.5\r\n\
    q2;gpt-4;claude;model_b;;English;1717286401\r\n\
    q4;gpt-4;claude;maybe;j2;English;1717286402\r\n\
    q5;gpt-4;claude;maybe;j2;English;1717286402\r\n\
    q6;gpt-4;gpt-4;tie;j2;English;1717286402\r\n\
    q7;;claude;tie;j2;English;1717286402\r\n";

#[test]
fn a_check_says_what_an_input_is_and_what_becomes_of_each_row() {
    let (folder, path) = file("anything.bin", MIXED);
    let rejects = folder.path().join("rejects.jsonl");
    let output = check(
        &[path_text(&path), "--json", "--rejects", path_text(&rejects)],
        None,
    );
    let found = json(&output);
    assert_eq!(
        (found["rows"].as_u64(), found["kept"].as_u64()),
        (Some(7), Some(3))
    );
    let source = &found["sources"][0];
    assert_eq!(source["format"], "battles-csv");
    assert_eq!(source["time_unit"], "seconds");
    assert_eq!(source["columns"][6], "tstamp");
    assert_eq!(source["oddities"].as_array().unwrap().len(), 3, "{source}");
    let rejected: Vec<_> = found["rejected"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rejected| {
            let first = &rejected["first"];
            (
                rejected["reason"].as_str().unwrap(),
                rejected["rows"].as_u64().unwrap(),
                first["row"].as_u64().unwrap(),
                first["line"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rejected,
        [
            ("model_missing", 1, 7, 8),
            ("winner_unknown", 2, 4, 5),
            ("self_battle", 1, 6, 7)
        ]
    );
    assert_eq!(found["rejected"][1]["values"]["maybe"], 2);
    assert_eq!(found["repeated_ids"], 1);
    assert_eq!(found["near_duplicates"][0][0], "GPT 4");
    assert_eq!(found["models"]["claude"], 3);
    assert_eq!(found["winners"]["tie"], 1);
    assert_eq!(found["times"]["first"], "2024-06-01T00:00:00Z");
    assert_eq!(found["times"]["last"], "2024-06-02T00:00:01Z");
    assert_eq!(found["judges"]["judges"], 1);
    assert_eq!(found["judges"]["missing"], 1);
    assert_eq!(found["languages"]["rows"]["French"], 1);
    let rejects = std::fs::read_to_string(rejects).unwrap();
    assert_eq!(rejects.lines().count(), 4);

    let output = check(&["-"], Some(MIXED.as_bytes()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for expected in [
        "3 of 7 rows are votes on 3 models",
        "it begins with a byte order mark",
        "2 `maybe`",
        "GPT 4, gpt-4",
        "languages: English 2, French 1; 0 rows without",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn a_strict_check_fails_on_faults_and_reports_all_the_same() {
    let output = check(&["-", "--strict", "--json"], Some(MIXED.as_bytes()));
    assert_eq!(output.status.code(), Some(3));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["kept"], 3);
    assert!(text(&output.stderr).contains("4 of 7 rows are rejected"));
    let output = check(&["-", "--strict"], Some(CSV.as_bytes()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Rows that nobody voted on are no fault.
    let choices = "{\"model_a\":\"x\",\"model_b\":\"y\",\"choice\":\"a_better\"}\n{\"model_a\":\"x\",\"model_b\":\"y\",\"choice\":null}\n";
    let output = check(&["-", "--strict", "--json"], Some(choices.as_bytes()));
    let found = json(&output);
    assert_eq!(found["sources"][0]["format"], "comparia-choices");
    assert_eq!(found["rejected"][0]["reason"], "no_vote");
    assert_eq!(found["rejected"][0]["is_fault"], false);
    assert!(found["times"].is_null() && found["judges"].is_null() && found["languages"].is_null());
}

#[test]
fn sources_of_different_kinds_are_checked_together() {
    let lists = "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"languages\":[\"English\",\"French\"]}\n";
    let (folder, first) = file("lists", lists);
    let second = folder.path().join("plain");
    std::fs::write(&second, "model_a,model_b,winner,language\nx,y,tie,en\n").unwrap();
    let third = folder.path().join("none");
    std::fs::write(&third, CSV).unwrap();
    let paths = [path_text(&first), path_text(&second), path_text(&third)];
    let found = json(&check(&[paths[0], paths[1], paths[2], "--json"], None));
    assert_eq!(found["kept"], 12);
    assert!(found["languages"].is_null(), "{found}");
    let found = json(&check(&[paths[0], paths[2], paths[2], "--json"], None));
    assert_eq!(found["languages"]["rows"]["French"], 1);
    assert_eq!(found["sources"][2]["same_as"], paths[2]);
}

#[test]
fn what_is_no_votes_is_refused() {
    for (content, expected) in [
        (
            "conversation_id,model,conversation,images\nc,x,y,\n",
            "vision-arena-chat",
        ),
        ("model_a,model_b,winner\n", "there are no battles"),
        ("a,b\n1,2\n", "has no columns for"),
    ] {
        let output = check(&["-"], Some(content.as_bytes()));
        assert_eq!(output.status.code(), Some(3), "{content}");
        let message = text(&output.stderr);
        assert!(message.contains(expected), "{content}: {message}");
    }
}

#[test]
fn aliases_are_applied_and_stand_in_the_result() {
    let (folder, votes) = file("votes.csv", CSV);
    let table = folder.path().join("aliases.toml");
    std::fs::write(
        &table,
        "version = \"2026-12\"\n[aliases]\n\"b\" = \"beta\"\n",
    )
    .unwrap();
    let flags = [path_text(&votes), "--aliases", path_text(&table), "--json"];
    let checked = json(&check(&flags, None));
    assert_eq!(checked["models"]["beta"], 10);
    assert_eq!(checked["aliases"]["renamed_rows"], 10);
    let ranked = json(&rank(&flags, None));
    assert_eq!(ranked["input"]["aliases"], checked["aliases"]);
    assert_eq!(ranked["input"]["aliases"]["version"], "2026-12");
    assert_eq!(ranked["input"]["aliases"]["names"]["b"], "beta");
    assert_eq!(ranked["leaderboards"][0]["models"][1]["model"], "beta");
    for (content, expected) in [
        ("[aliases]\n", "is no file of aliases"),
        (
            "version = \"1\"\n[aliases]\na = \"b\"\nb = \"c\"\n",
            "cannot be applied",
        ),
    ] {
        std::fs::write(&table, content).unwrap();
        let output = check(&flags, None);
        assert_eq!(output.status.code(), Some(2), "{content}");
        assert!(
            text(&output.stderr).contains(expected),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_source_that_cannot_be_read_does_not_hide_the_others() {
    let (folder, good) = file("a.csv", CSV);
    let path = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let bad = path("b.csv", "a,b\n1,2\n");
    let broken = path("c.json", "[{\"model_a\": ");
    let other = path("d.csv", "model_a,model_b,winner\nx,y,tie\nx,y,maybe\n");
    let rejects = folder.path().join("rejects.jsonl");
    let output = check(
        &[
            path_text(&good),
            &bad,
            "/nowhere/at/all.csv",
            &broken,
            "-",
            &other,
            "--json",
            "--rejects",
            path_text(&rejects),
        ],
        Some(CSV.as_bytes()),
    );
    assert_eq!(output.status.code(), Some(3));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["kept"], 21);
    assert_eq!(found["sources"][1]["path"], "-");
    let unreadable: Vec<_> = found["unreadable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["path"].as_str().unwrap())
        .collect();
    assert_eq!(unreadable, [&bad, "/nowhere/at/all.csv", &broken]);
    let message = text(&output.stderr);
    assert!(
        message.contains("3 sources cannot be read") && message.contains("has no columns for"),
        "{message}"
    );
    let rejects = std::fs::read_to_string(rejects).unwrap();
    assert_eq!(rejects.lines().count(), 1, "{rejects}");
    // A folder is taken apart: what holds no votes is passed over as ever.
    let shown = check(&[path_text(folder.path())], None);
    assert_eq!(shown.status.code(), Some(3));
    let shown = text(&shown.stdout);
    assert!(
        shown.contains("cannot be read:") && shown.contains("11 of 12 rows are votes"),
        "{shown}"
    );
    // When nothing can be read, the first error is the one that is told.
    let output = check(&[&bad, &broken], None);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("has no columns for"));
}

#[test]
fn a_profile_says_what_it_would_exclude_by_rule() {
    let row = |id: u32, answer: &str, anony: bool| {
        let side = |answer: &str| serde_json::json!([{"role": "user", "content": format!("q{id}")}, {"role": "assistant", "content": answer}]);
        serde_json::json!({
            "question_id": id, "model_a": "x", "model_b": "y", "winner": "tie", "judge": "j", "anony": anony,
            "tstamp": 1_717_200_000 + 90_000 * id, "conversation_a": side(answer), "conversation_b": side("fine"),
        })
        .to_string()
    };
    let lines = [
        row(1, "an answer", true),
        row(2, "", true),
        row(3, "I am Claude, made by Anthropic.", true),
        row(4, "an answer", false),
        "{\"model_a\":\"x\",\"model_b\":\"x\",\"winner\":\"tie\"}".to_owned(),
    ];
    let content = lines.join("\n");
    let (_folder, path) = file("votes.jsonl", &content);
    let found = json(&check(
        &[path_text(&path), "--clean", "agon-1", "--json"],
        None,
    ));
    let audit = &found["cleaning"];
    assert_eq!(
        (audit["rows"].as_u64(), audit["kept"].as_u64()),
        (Some(4), Some(1))
    );
    for (rule, n) in [("blank_answer", 1), ("identity_leak", 1), ("named", 1)] {
        let rules = audit["rules"].as_array().unwrap();
        let found = rules.iter().find(|found| found["rule"] == rule).unwrap();
        assert_eq!(found["first"], n, "{rule}");
    }
    // The other profile looks at words, and keeps those who knew the names. Standard input is read twice too.
    let output = check(
        &["-", "--clean", "fastchat-2025-04"],
        Some(content.as_bytes()),
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("cleaning by fastchat-2025-04: 2 of 4 rows are kept"),
        "{shown}"
    );
    let output = check(&["-", "--clean", "nobody-1"], Some(content.as_bytes()));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("expected `fastchat-2025-04` or `agon-1`"));
    let ranked = json(&check(&[path_text(&path), "--json"], None));
    assert!(ranked["cleaning"].is_null());
}

#[test]
fn how_far_an_input_may_unpack_is_for_the_caller_to_say() {
    let (_folder, path) = file("votes.csv", "");
    std::fs::write(&path, super::rank_inputs::gzip()).unwrap();
    for (flags, expected) in [
        (&["--unpack-max", "1KiB"][..], 0),
        (&["--unpack-max", "10"], 3),
        (&["--unpack-max", "10GB"], 2),
        (&["--unpack-ratio-max", "0"], 2),
    ] {
        let all = [&[path_text(&path)], flags].concat();
        for command in ["check", "rank"] {
            let output = run(command, &all, None);
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(expected), "{flags:?}: {message}");
        }
    }
}
