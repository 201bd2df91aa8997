//! `agon rank` as a process.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::cli::serve::AGON;

pub(super) fn rank(arguments: &[&str], stdin: Option<&[u8]>) -> Output {
    run("rank", arguments, stdin)
}

/// A command with its arguments, as a process that reads `stdin` or nothing.
pub(super) fn run(command: &str, arguments: &[&str], stdin: Option<&[u8]>) -> Output {
    let mut child = Command::new(AGON)
        .arg(command)
        .args(arguments)
        .stdin(if stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some(bytes) = stdin {
        child.stdin.take().unwrap().write_all(bytes).unwrap();
    }
    child.wait_with_output().unwrap()
}

#[track_caller]
pub(super) fn json(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A file in a folder of its own.
pub(super) fn file(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

pub(super) fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Ten battles of a against b, 6 : 2, one tie and one both bad, in four formats.
pub(super) const CSV: &str = "model_a,model_b,winner\na,b,model_a\na,b,model_a\na,b,model_a\nb,a,model_b\nb,a,model_b\nb,a,model_b\na,b,model_b\nb,a,model_a\na,b,tie\nb,a,tie (bothbad)\n";

fn rows() -> Vec<Value> {
    let mut reader = csv::Reader::from_reader(CSV.as_bytes());
    reader
        .records()
        .map(|record| {
            let record = record.unwrap();
            serde_json::json!({ "model_a": record[0], "model_b": record[1], "winner": record[2] })
        })
        .collect()
}

#[test]
fn every_format_gives_the_same_board() {
    let lines: String = rows().iter().map(|row| format!("{row}\n")).collect();
    let array = serde_json::to_string(&rows()).unwrap();
    let semicolons = CSV.replace(',', ";");
    let expected = json(&rank(&["-", "--json"], Some(CSV.as_bytes())))["leaderboards"].clone();
    // 7 : 3 with both kinds of tie as half a win each.
    let rating = expected[0]["models"][0]["rating"].as_f64().unwrap();
    assert!(
        (rating - (1000.0 + 200.0 * (7.0_f64 / 3.0).log10())).abs() < 1e-6,
        "{rating}"
    );
    for content in [
        CSV,
        &semicolons,
        &lines,
        &array,
        &format!("\u{feff}{CSV}"),
        &CSV.replace('\n', "\r\n"),
    ] {
        // The name promises nothing: formats are told by content.
        let (_folder, path) = file("votes.dat", content);
        let board = json(&rank(&[path_text(&path), "--json"], None));
        assert_eq!(board["leaderboards"], expected, "{content}");
        assert_eq!(board["input"]["rows"], 10);
        assert_eq!(
            json(&rank(&["-", "--json"], Some(content.as_bytes())))["leaderboards"],
            expected
        );
    }
}

#[test]
fn every_row_has_a_visible_fate() {
    let (_folder, path) = file(
        "votes.csv",
        &format!(
            "{CSV}a,b,maybe\na,b,\n,b,model_a\na,a,tie\n a , b ,Model A\nnull,NA,tie\nnull,NA,tie\n"
        ),
    );
    let output = rank(&[path_text(&path), "--json"], None);
    let board = json(&output);
    assert_eq!(board["input"]["rows"], 17);
    assert_eq!(board["input"]["kept"], 13);
    assert_eq!(
        board["input"]["dropped"],
        serde_json::json!({ "model_missing": 1, "self_battle": 1, "winner_missing": 1, "winner_unknown": 1 })
    );
    assert_eq!(
        board["input"]["unknown_winners"],
        serde_json::json!({ "maybe": 1 })
    );
    let names: Vec<&str> = board["leaderboards"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|board| board["models"].as_array().unwrap())
        .map(|model| model["model"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"null") && names.contains(&"NA"),
        "names are text: {names:?}"
    );
    let told = text(&output.stderr);
    assert!(
        told.contains("4 of 17 rows were left out") && told.contains("`maybe`"),
        "{told}"
    );

    let strict = rank(&[path_text(&path), "--strict"], None);
    assert_eq!(strict.status.code(), Some(3));
    let told = text(&strict.stderr);
    for part in ["votes.csv", "row 11", "`maybe`", "model_a", "both_bad"] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
}

#[test]
fn input_that_cannot_be_ranked_is_refused_with_exit_code_3() {
    for (content, part) in [
        ("", "no rows"),
        ("model_a,model_b,winner\n", "no battles"),
        ("model_a,model_b,winner\na,a,tie\n", "no battles"),
        ("x,y\n1,2\n", "found `x`, `y`"),
        ("[1, 2", "JSON"),
        ("PAR1 this is not Parquet PAR1", "Parquet"),
    ] {
        let (_folder, path) = file("votes.csv", content);
        let output = rank(&[path_text(&path)], None);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{content:?}: {told}");
        assert!(told.contains(part), "{content:?}: {told}");
        assert!(output.stdout.is_empty());
    }
    let missing = rank(&["/no/such/file.csv"], None);
    assert_eq!(missing.status.code(), Some(3), "{}", text(&missing.stderr));
    assert!(text(&missing.stderr).contains("/no/such/file.csv"));
}

#[test]
fn an_anchor_fixes_one_model_and_an_unknown_one_is_refused() {
    let (_folder, path) = file("votes.csv", CSV);
    let board = json(&rank(
        &[path_text(&path), "--anchor", "b=1114", "--json"],
        None,
    ));
    let models = board["leaderboards"][0]["models"].as_array().unwrap();
    let of = |name: &str| models.iter().find(|model| model["model"] == name).unwrap();
    assert!((of("b")["rating"].as_f64().unwrap() - 1114.0).abs() < 1e-9);
    assert!(
        (of("a")["rating"].as_f64().unwrap() - 1114.0 - 400.0 * (7.0_f64 / 3.0).log10()).abs()
            < 1e-6
    );
    assert_eq!(
        board["settings"]["location"],
        serde_json::json!({ "kind": "model", "model": "b", "rating": 1114.0 })
    );
    let output = rank(&[path_text(&path), "--anchor", "bb=1114"], None);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("hint: did you mean `b`?"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(
        rank(&[path_text(&path), "--anchor", "b"], None)
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        rank(&[path_text(&path), "--level", "95"], None)
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn ties_can_be_left_out() {
    let (_folder, path) = file("votes.csv", CSV);
    let board = json(&rank(
        &[
            path_text(&path),
            "--ties",
            "drop",
            "--both-bad",
            "drop",
            "--json",
        ],
        None,
    ));
    let rating = board["leaderboards"][0]["models"][0]["rating"]
        .as_f64()
        .unwrap();
    assert!(
        (rating - (1000.0 + 200.0 * 3.0_f64.log10())).abs() < 1e-6,
        "{rating}"
    );
    assert_eq!(
        board["leaderboards"][0]["models"][0]["ties"], 1,
        "what was left out of the fit is still counted"
    );
}

#[test]
fn groups_undefeated_and_winless_models_are_reported_and_distort_nobody() {
    let (_folder, path) = file("votes.csv", CSV);
    let alone = json(&rank(&[path_text(&path), "--json"], None));
    let more = format!(
        "{CSV}u,a,model_a\nu,b,model_a\na,w,model_a\nb,w,model_a\nx,y,model_a\nx,y,model_b\nx,y,tie\n"
    );
    let (_folder, path) = file("votes.csv", &more);
    let board = json(&rank(&[path_text(&path), "--json"], None));
    let main = &board["leaderboards"][0]["models"];
    for idx in 0..2 {
        for field in [
            "model",
            "rating",
            "rating_lower",
            "rating_upper",
            "rank",
            "status",
        ] {
            assert_eq!(
                main[idx][field], alone["leaderboards"][0]["models"][idx][field],
                "{field}"
            );
        }
    }
    let of = |name: &str| {
        main.as_array()
            .unwrap()
            .iter()
            .find(|model| model["model"] == name)
            .unwrap()
    };
    assert_eq!(
        (&of("u")["status"], &of("u")["reason"]),
        (&"provisional".into(), &"undefeated".into())
    );
    assert_eq!(
        (&of("w")["status"], &of("w")["reason"]),
        (&"provisional".into(), &"winless".into())
    );
    assert_eq!(
        board["leaderboards"][1]["models"].as_array().unwrap().len(),
        2,
        "x and y never met the others"
    );
    let connected = &board["leaderboards"][0]["checks"][0];
    assert_eq!(
        (&connected["check"], &connected["passed"]),
        (&"connected".into(), &false.into())
    );
}

#[test]
fn the_same_votes_in_any_order_and_on_any_side_give_the_same_bytes() {
    let (_folder, path) = file("votes.csv", CSV);
    let header = "model_a,model_b,winner\n";
    let mut lines: Vec<&str> = CSV.lines().skip(1).collect();
    lines.reverse();
    let reversed = format!("{header}{}\n", lines.join("\n"));
    let (_folder_2, path_2) = file("votes.csv", &reversed);
    let board =
        |path: &Path| json(&rank(&[path_text(path), "--json"], None))["leaderboards"].to_string();
    assert_eq!(board(&path), board(&path_2));
    let swapped: String = lines
        .iter()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let winner = match cells[2] {
                "model_a" => "model_b",
                "model_b" => "model_a",
                tie => tie,
            };
            format!("{},{},{winner}\n", cells[1], cells[0])
        })
        .collect();
    let (_folder_3, path_3) = file("votes.csv", &format!("{header}{swapped}"));
    assert_eq!(board(&path), board(&path_3));
}

#[test]
fn every_output_form_holds_every_model() {
    let (folder, path) = file(
        "votes.csv",
        &CSV.replace(",b,", ",b|pipe,").replace("\nb,", "\nb|pipe,"),
    );
    for format in ["table", "json", "csv", "markdown"] {
        let target = folder.path().join(format);
        let output = rank(
            &[
                path_text(&path),
                "--format",
                format,
                "-o",
                path_text(&target),
            ],
            None,
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
        let written = std::fs::read_to_string(&target).unwrap();
        assert!(written.contains("pipe"), "{format}: {written}");
    }
    let markdown = std::fs::read_to_string(folder.path().join("markdown")).unwrap();
    assert!(markdown.contains("b\\|pipe"), "{markdown}");
    let mut reader = csv::Reader::from_path(folder.path().join("csv")).unwrap();
    assert_eq!(reader.records().count(), 2);
}

#[test]
fn folders_and_globs_are_read_together() {
    let (folder, path) = file("one.csv", CSV);
    std::fs::write(
        folder.path().join("two.jsonl"),
        "{\"model_a\":\"a\",\"model_b\":\"b\",\"winner\":\"model_a\"}\n",
    )
    .unwrap();
    let pattern = folder.path().join("*.*");
    for input in [path_text(folder.path()), path_text(&pattern)] {
        let board = json(&rank(&[input, "--json"], None));
        assert_eq!(board["input"]["rows"], 11);
        assert_eq!(board["input"]["sources"].as_array().unwrap().len(), 2);
    }
    let nothing = folder.path().join("*.parquet");
    assert_eq!(rank(&[path_text(&nothing)], None).status.code(), Some(3));
    let _ = path;
}

#[test]
fn the_published_boards_are_met() {
    let Some(data) = std::env::var_os("AGON_TESTDATA").map(PathBuf::from) else {
        println!("not run: AGON_TESTDATA is not set");
        return;
    };
    let fixtures = data.join("votes/ranking-fixtures");
    let board = json(&rank(
        &[path_text(&fixtures.join("battles-30k.parquet")), "--json"],
        None,
    ));
    let expected: Value =
        serde_json::from_slice(&std::fs::read(fixtures.join("bt_30k.json")).unwrap()).unwrap();
    let models = board["leaderboards"][0]["models"].as_array().unwrap();
    assert_eq!(models.len(), 19);
    for (idx, name) in expected["names"].as_array().unwrap().iter().enumerate() {
        let model = models.iter().find(|model| model["model"] == *name).unwrap();
        for (field, key) in [
            ("rating", "elo"),
            ("rating_lower", "lower"),
            ("rating_upper", "upper"),
        ] {
            let (found, right) = (
                model[field].as_f64().unwrap(),
                expected["exact"][key][idx].as_f64().unwrap(),
            );
            assert!(
                (found - right).abs() < 1e-6,
                "{name} {field}: {found} against {right}"
            );
        }
        assert_eq!(model["rank"], expected["exact"]["rank_ub"][idx]);
        assert_eq!(model["battles"], expected["battles"][idx]);
    }
}

#[test]
fn names_from_a_file_steer_neither_the_terminal_nor_markdown() {
    let (_folder, path) = file(
        "votes.csv",
        "model_a,model_b,winner\n\u{1b}[31mx,<b>*y*</b>,model_a\n<b>*y*</b>,\u{1b}[31mx,model_a\n\u{1b}[31mX,<b>*y*</b>,tie\n\u{202e}z,gpt_4,tie\n",
    );
    for format in ["table", "markdown"] {
        let output = rank(&[path_text(&path), "--format", format], None);
        assert!(output.status.success());
        for told in [text(&output.stdout), text(&output.stderr)] {
            assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told}");
        }
        let told = text(&output.stdout);
        assert!(told.contains("gpt_4"), "{told}");
        assert_eq!(told.contains("<b>*y*"), format == "table", "{told}");
    }
}

#[test]
fn the_same_bytes_twice_are_told() {
    let (folder, path) = file("votes.csv", CSV);
    let copy = folder.path().join("copy.csv");
    std::fs::copy(&path, &copy).unwrap();
    let output = rank(&[path_text(&path), path_text(&copy), "--json"], None);
    let board = json(&output);
    assert_eq!(board["input"]["kept"], 20);
    assert_eq!(board["input"]["repeated_ids"], Value::Null);
    let told = text(&output.stderr);
    assert!(
        told.contains("holds the same bytes as") && told.contains("copy.csv"),
        "{told}"
    );
}

#[test]
fn a_rating_beyond_all_numbers_and_models_beyond_all_arenas_are_refused() {
    let mut odds = CSV.to_owned();
    odds.push_str(&"a,b,model_a\n".repeat(10_000));
    let output = rank(&["-", "--json", "--scale", "1e308"], Some(odds.as_bytes()));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("too large to be written"));
    let mut many = String::from("model_a,model_b,winner\n");
    for n in 0..10_001 {
        many.push_str(&format!("x{n},y,tie\n"));
    }
    let output = rank(&["-", "--json"], Some(many.as_bytes()));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("10002 models are too many"));
}

/// The votes of the sample in the README.
fn sample() -> String {
    let mut csv = "model_a,model_b,winner\n".to_owned();
    for (a, b, even) in [
        ("aurora", "basalt", "tie"),
        ("basalt", "cobalt", "tie"),
        ("aurora", "cobalt", "both_bad"),
    ] {
        csv.push_str(&format!(
            "{a},{b},model_a\n{b},{a},model_b\n{a},{b},model_a\n"
        ));
        csv.push_str(&format!("{a},{b},model_b\n{a},{b},{even}\n"));
    }
    csv.push_str("dune,aurora,model_a\nbasalt,dune,model_b\ncobalt,aurora,left is better\n");
    csv
}

#[test]
fn the_sample_in_the_readme_is_what_is_printed() {
    let readme = include_str!("../../../../../README.md");
    let start = readme.find("$ agon rank votes.csv\n").unwrap();
    let sample_text = &readme[start + "$ agon rank votes.csv\n".len()..];
    let sample_text = &sample_text[..sample_text.find("```").unwrap()];
    let (folder, _path) = file("votes.csv", &sample());
    let output = Command::new(AGON)
        .args(["rank", "votes.csv"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    // On a terminal both streams stand one after the other.
    assert_eq!(text(&output.stderr) + &text(&output.stdout), sample_text);
}
