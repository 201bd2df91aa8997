//! `agon rank compare` as a process.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::cli::serve::AGON;

fn agon(arguments: &[&str]) -> Output {
    Command::new(AGON)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[track_caller]
fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn refusal(arguments: &[&str], code: i32) -> String {
    let output = agon(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(output.stdout.is_empty());
    message
}

/// Files in a folder of their own.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A board of votes, each `a b wins losses`, half of them on each side.
    fn board(&self, name: &str, votes: &[(&str, &str, u64, u64)]) -> String {
        let mut csv = "model_a,model_b,winner\n".to_owned();
        for (a, b, wins, losses) in votes {
            for idx in 0..*wins {
                let row = if idx % 2 == 0 {
                    format!("{a},{b},model_a")
                } else {
                    format!("{b},{a},model_b")
                };
                writeln!(csv, "{row}").unwrap();
            }
            for idx in 0..*losses {
                let row = if idx % 2 == 0 {
                    format!("{a},{b},model_b")
                } else {
                    format!("{b},{a},model_a")
                };
                writeln!(csv, "{row}").unwrap();
            }
        }
        let votes = self.write(&format!("{name}.csv"), &csv);
        let board: PathBuf = self.0.path().join(format!("{name}.json"));
        let board = board.to_str().unwrap().to_owned();
        text(&agon(&["rank", &votes, "--json", "--quiet", "-o", &board]));
        board
    }
}

#[test]
fn two_boards_of_two_models_are_compared_as_by_hand() {
    let folder = Folder::new();
    let may = folder.board("may", &[("ant", "bee", 60, 40)]);
    let june = folder.board("june", &[("ant", "bee", 90, 110)]);
    let found: Value =
        serde_json::from_str(&text(&agon(&["rank", "compare", &may, &june, "--json"]))).unwrap();
    let board = &found["boards"][0];
    assert_eq!(board["category"], "overall");
    assert_eq!(board["common_models"], 2);
    assert_eq!(board["kendall_tau_b"], -1.0);
    assert!((board["spearman_rho"].as_f64().unwrap() + 1.0).abs() < 1e-12);
    assert!((board["win_rate_correlation"].as_f64().unwrap() + 1.0).abs() < 1e-12);
    // Now bee leads: it is the first row.
    let bee = &board["models"][0];
    assert_eq!(bee["model"], "bee");
    // A rating lies half of the difference from the mean: 200 · log10 of the odds.
    let before = 1000.0 - 200.0 * 1.5_f64.log10();
    let after = 1000.0 + 200.0 * (110.0_f64 / 90.0).log10();
    let number = |name: &str| bee[name].as_f64().unwrap();
    assert!((number("rating_before") - before).abs() < 1e-9);
    assert!((number("difference") - (after - before)).abs() < 1e-9);
    // The error of half a log-odds is ½ √(1/wins + 1/losses), in points 400 / ln 10 of that.
    let error =
        |wins: f64, losses: f64| 400.0 / 10.0_f64.ln() / 2.0 * (1.0 / wins + 1.0 / losses).sqrt();
    let half = 1.959_963_984_540_054 * error(40.0, 60.0).hypot(error(90.0, 110.0));
    assert!((number("difference_upper") - (after - before) - half).abs() < 1e-6);
    assert!((number("difference_lower") - (after - before) + half).abs() < 1e-6);
    assert_eq!(bee["is_certain"], json!(after - before > half));
    assert_eq!(found["notes"], json!([]));
}

#[test]
fn what_moved_and_what_is_missing_is_told_in_every_format() {
    let folder = Folder::new();
    let before = folder.board(
        "before",
        &[
            ("ant", "bee", 600, 400),
            ("bee", "cat", 700, 300),
            ("cat", "dog|x", 550, 450),
        ],
    );
    let after = folder.board(
        "after",
        &[
            ("bee", "ant", 800, 200),
            ("ant", "cat", 700, 300),
            ("eel", "cat", 500, 500),
            ("fox", "eel", 3, 0),
        ],
    );
    let table = text(&agon(&["rank", "compare", &before, &after]));
    for expected in [
        "overall: 3 models rated on both",
        "only before: dog|x",
        "only after: eel, fox",
        "Kendall tau-b 0.333",
        "agreement with confidence",
        "pairs told apart before",
    ] {
        assert!(table.contains(expected), "{expected}\n{table}");
    }
    let bee = table.lines().find(|line| line.contains("bee")).unwrap();
    assert!(
        bee.contains("2 → 1") && bee.contains("+1") && bee.contains('*'),
        "{bee}"
    );

    let markdown = text(&agon(&[
        "rank", "compare", &before, &after, "--format", "markdown",
    ]));
    assert!(markdown.contains("| 2 → 1 | +1 | bee |"), "{markdown}");
    assert!(markdown.contains("- only before: dog\\|x"), "{markdown}");

    let csv = text(&agon(&[
        "rank", "compare", &before, &after, "--format", "csv",
    ]));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let found: Vec<(&str, &str)> = rows.iter().map(|row| (&row[3], &row[4])).collect();
    assert_eq!(
        found,
        [
            ("bee", "both"),
            ("ant", "both"),
            ("cat", "both"),
            ("dog|x", "only_before"),
            ("eel", "only_after"),
            ("fox", "only_after")
        ]
    );
    // -o writes the same bytes.
    let target = folder.0.path().join("out.csv");
    text(&agon(&[
        "rank",
        "compare",
        &before,
        &after,
        "--format",
        "csv",
        "-o",
        target.to_str().unwrap(),
    ]));
    assert_eq!(std::fs::read_to_string(target).unwrap(), csv);
}

#[test]
fn a_catalog_can_be_compared_and_standard_input_read() {
    let folder = Folder::new();
    let board = folder.board("board", &[("ant", "bee", 60, 40), ("bee", "cat", 60, 40)]);
    let catalog = folder.write(
        "catalog.json",
        &json!({
            "full": {
                "ant": { "rating": 1200.0, "rating_q975": 1210.0, "rating_q025": 1190.0 },
                "bee": { "rating": 1100.0, "rating_q975": 1110.0, "rating_q025": 1090.0 },
                "zebra": { "rating": 1000.0, "rating_q975": 1010.0, "rating_q025": 990.0 },
            },
            "math": {},
        })
        .to_string(),
    );
    let mut child = Command::new(AGON)
        .args(["rank", "compare", &catalog, "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&std::fs::read(&board).unwrap())
        .unwrap();
    let found: Value = serde_json::from_str(&text(&child.wait_with_output().unwrap())).unwrap();
    assert_eq!(found["before"]["format"], "catalog");
    assert_eq!(found["only_before"][0]["category"], "math");
    let compared = &found["boards"][0];
    assert_eq!(
        (&compared["category"], &compared["style_control"]),
        (&json!("overall"), &json!(false))
    );
    assert_eq!(compared["only_before"], json!(["zebra"]));
    assert_eq!(compared["only_after"], json!(["cat"]));
    assert_eq!(compared["separability_before"], 1.0);
    assert_eq!(compared["win_rate_correlation"], Value::Null);
    assert!(compared["mean_difference"].as_f64().unwrap() < 0.0);

    assert!(refusal(&["rank", "compare", "-", "-"], 2).contains("cannot both be standard input"));
}

#[test]
fn what_is_no_board_is_refused_with_its_place() {
    let folder = Folder::new();
    let good = folder.board("good", &[("ant", "bee", 60, 40)]);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&good).unwrap()).unwrap();
    let mut broken = document.clone();
    broken["leaderboards"][0]["models"][1]["rating"] = json!("high");
    let broken = folder.write("broken.json", &broken.to_string());
    let message = refusal(&["rank", "compare", &good, &broken], 3);
    assert!(
        message.contains("broken.json") && message.contains("`leaderboards[0].models[1].rating`"),
        "{message}"
    );
    assert!(message.contains("hint: "), "{message}");

    let votes = folder.write("votes.csv", "model_a,model_b,winner\nant,bee,model_a\n");
    let message = refusal(&["rank", "compare", &votes, &good], 3);
    assert!(
        message.contains("not JSON") && message.contains("agon rank VOTES --json"),
        "{message}"
    );
    let array = folder.write("array.json", "[]");
    assert!(refusal(&["rank", "compare", &array, &good], 3).contains("neither `leaderboards`"));
    let missing = folder.0.path().join("missing.json");
    assert!(
        refusal(&["rank", "compare", &good, missing.to_str().unwrap()], 3).contains("missing.json")
    );

    let mut other = document;
    other["leaderboards"][0]["category"] = json!("math");
    let other = folder.write("other.json", &other.to_string());
    let message = refusal(&["rank", "compare", &good, &other], 3);
    assert!(message.contains("no board in common"), "{message}");
    assert!(
        message.contains("good.json` has overall") && message.contains("other.json` has math"),
        "{message}"
    );
}

#[test]
fn ranking_is_as_before_and_a_file_called_compare_can_be_ranked() {
    let folder = Folder::new();
    folder.write(
        "compare",
        "model_a,model_b,winner\nant,bee,model_a\nant,bee,model_b\n",
    );
    let output = Command::new(AGON)
        .args(["rank", "./compare", "--json"])
        .current_dir(folder.0.path())
        .output()
        .unwrap();
    let board: Value = serde_json::from_str(&text(&output)).unwrap();
    assert_eq!(board["input"]["kept"], 2);
    refusal(&["rank"], 2);
    refusal(&["rank", "compare"], 2);
    let board = folder.write("board.json", &text(&output));
    let compared = text(&agon(&["--json", "rank", "compare", &board, &board]));
    assert_eq!(
        text(&agon(&["rank", "compare", &board, &board, "--json"])),
        compared
    );
    for before in ["--json", "--quiet"] {
        let message = refusal(&["rank", before, "compare", &board, &board], 2);
        assert!(
            message.contains("agon rank compare BEFORE AFTER --json"),
            "{message}"
        );
    }
}

#[test]
fn the_published_vision_boards_agree_with_each_other() {
    let Some(data) = std::env::var_os("AGON_TESTDATA") else {
        println!("skipped: AGON_TESTDATA is not set");
        return;
    };
    let folder = Path::new(&data).join("leaderboards/arena-catalog");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (plain, style) = (
        path("leaderboard-vision.json"),
        path("leaderboard-vision-style-control.json"),
    );
    let found: Value =
        serde_json::from_str(&text(&agon(&["rank", "compare", &plain, &style, "--json"]))).unwrap();
    assert_eq!(found["boards"].as_array().unwrap().len(), 10);
    let overall = found["boards"]
        .as_array()
        .unwrap()
        .iter()
        .find(|board| board["category"] == "overall")
        .unwrap();
    assert_eq!(overall["common_models"], 87);
    assert!(overall["spearman_rho"].as_f64().unwrap() > 0.9, "{overall}");
    // Every bound of these files is symmetric.
    assert_eq!(overall["notes"], json!([]));
    let itself: Value =
        serde_json::from_str(&text(&agon(&["rank", "compare", &plain, &plain, "--json"]))).unwrap();
    assert_eq!(itself["boards"][0]["kendall_tau_b"], 1.0);
}

#[test]
fn ratings_and_win_rates_are_said_to_have_no_unit_in_common() {
    let folder = Folder::new();
    let votes = [("ant", "bee", 60, 40), ("bee", "cat", 50, 30)];
    let points = folder.board("points", &votes);
    let (csv, rates) = (
        points.replace(".json", ".csv"),
        folder.write("rates.json", ""),
    );
    text(&agon(&[
        "rank", &csv, "--method", "win-rate", "--json", "--quiet", "-o", &rates,
    ]));
    let found: Value = serde_json::from_str(&text(&agon(&[
        "rank", "compare", &points, &rates, "--json",
    ])))
    .unwrap();
    let codes: Vec<_> = found["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"units_differ"), "{codes:?}");
    // CSV has no room for it: standard error has.
    let output = agon(&["rank", "compare", &points, &rates, "--format", "csv"]);
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(
        said.contains("differences between them mean nothing"),
        "{said}"
    );
    assert!(!text(&output).contains("mean nothing"));
    let quiet = agon(&[
        "rank", "compare", &points, &rates, "--format", "csv", "--quiet",
    ]);
    assert!(quiet.stderr.is_empty());
}

#[test]
fn a_board_that_is_ranked_gets_the_hint_to_compare() {
    let folder = Folder::new();
    let board = folder.board("may", &[("ant", "bee", 60, 40)]);
    let message = refusal(&["rank", &board], 3);
    assert!(
        message.contains("is a board, not votes") && message.contains("agon rank compare"),
        "{message}"
    );
}

#[test]
fn names_that_look_like_formulas_are_text_in_tables_for_spreadsheets() {
    let folder = Folder::new();
    let board = folder.board("formulas", &[("=1+1", "@SUM(A1)", 60, 40)]);
    let votes = board.replace(".json", ".csv");
    let table = text(&agon(&["rank", &votes, "--format", "csv", "--quiet"]));
    let moves = text(&agon(&[
        "rank", "compare", &board, &board, "--format", "csv", "--quiet",
    ]));
    for text in [&table, &moves] {
        assert!(text.contains(",'=1+1,"), "{text}");
        assert!(text.contains(",'@SUM(A1),"), "{text}");
    }
    // JSON keeps names as they are.
    assert!(
        std::fs::read_to_string(&board)
            .unwrap()
            .contains("\"=1+1\"")
    );
}
