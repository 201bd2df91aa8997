//! Boards of parts of the votes, and over time.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::rank::{file, json as document, path_text, rank, text};

/// Battles of four models in two languages, with categories as a group of flags, over three months.
///
/// Who wins follows from the row's number alone.
fn rows() -> Vec<Value> {
    let models = ["alpha", "beta", "gamma", "delta"];
    (0..600_usize)
        .map(|row| {
            let first = row % 4;
            let second = (first + 1 + (row / 4) % 3) % 4;
            // A fixed mixture in which each model wins and loses, the first ones more often.
            let draw = (row * 7919 + row / 3) % 100;
            let winner = match draw {
                0..10 => "tie",
                10..16 => "both_bad",
                _ if draw < 58 + 8 * second - 8 * first => "model_a",
                _ => "model_b",
            };
            let month = 1 + row * 3 / 600;
            let mut battle = json!({
                "model_a": models[first],
                "model_b": models[second],
                "winner": winner,
                "language": if row % 3 == 0 { "German" } else { "English" },
                "categories": { "ocr": row % 2 == 0, "humor": row % 5 == 0, "rare": row == 17 },
                "judge": format!("judge {}", row % 40),
                "tstamp": format!("2024-{month:02}-{:02}T12:00:00Z", 1 + row % 28),
                "turn": 1 + row % 11 / 10,
            });
            if row == 5 {
                battle["language"] = Value::Null;
            }
            battle
        })
        .collect()
}

fn lines<'a>(rows: impl IntoIterator<Item = &'a Value>) -> String {
    rows.into_iter().map(|row| format!("{row}\n")).collect()
}

fn votes() -> (tempfile::TempDir, PathBuf) {
    file("votes.jsonl", &lines(&rows()))
}

/// The boards of one category.
fn boards<'a>(document: &'a Value, category: &str) -> Vec<&'a Value> {
    document["leaderboards"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|board| board["category"] == category)
        .collect()
}

fn categories(document: &Value) -> Vec<&str> {
    document["leaderboards"]
        .as_array()
        .unwrap()
        .iter()
        .map(|board| board["category"].as_str().unwrap())
        .collect()
}

/// The models of the only board of a document that is made of some rows by themselves.
fn alone(is_in: impl Fn(&Value) -> bool) -> Value {
    let rows = rows();
    let own = lines(rows.iter().filter(|row| is_in(row)));
    let document = document(&rank(&["-", "--json"], Some(own.as_bytes())));
    document["leaderboards"][0]["models"].clone()
}

#[test]
fn each_value_of_a_column_has_the_board_of_its_rows() {
    let (_folder, path) = votes();
    let found = document(&rank(
        &[path_text(&path), "--by", "language", "--json"],
        None,
    ));
    assert_eq!(
        categories(&found),
        ["overall", "language=English", "language=German"]
    );
    for language in ["English", "German"] {
        let board = &boards(&found, &format!("language={language}"))[0];
        assert_eq!(board["models"], alone(|row| row["language"] == language));
    }
    assert_eq!(boards(&found, "overall")[0]["models"], alone(|_| true));
    let slices = found["slices"].as_array().unwrap();
    assert_eq!(slices.len(), 3);
    assert_eq!(slices[1]["column"], "language");
    assert_eq!(slices[1]["value"], "English");
    assert_eq!(slices[1]["status"], "ranked");
    assert_eq!(slices[0]["battles"], 600);
    assert!(
        found["notes"]
            .to_string()
            .contains("1 rows have no `language`")
    );
    assert_eq!(found["settings"]["slices"], json!({ "by": ["language"] }));
}

#[test]
fn a_row_can_have_several_categories_and_thin_ones_are_listed() {
    let (_folder, path) = votes();
    let found = document(&rank(
        &[path_text(&path), "--by", "category", "--json"],
        None,
    ));
    let mut listed = categories(&found);
    listed.sort_unstable();
    assert_eq!(listed, ["humor", "ocr", "overall"]);
    assert_eq!(
        boards(&found, "ocr")[0]["models"],
        alone(|row| row["categories"]["ocr"] == true)
    );
    let slices = found["slices"].as_array().unwrap();
    let rare = slices
        .iter()
        .find(|slice| slice["category"] == "rare")
        .unwrap();
    assert_eq!(rare["status"], "not_ranked");
    assert_eq!(rare["battles"], 1);
    assert!(
        rare["reason"].as_str().unwrap().contains("one battle"),
        "{rare}"
    );

    let named = document(&rank(
        &[path_text(&path), "--category", "humor,overall", "--json"],
        None,
    ));
    assert_eq!(categories(&named), ["overall", "humor"]);
    let only = document(&rank(
        &[path_text(&path), "--category", "ocr", "--json"],
        None,
    ));
    assert_eq!(categories(&only), ["ocr"]);
    let unknown = rank(&[path_text(&path), "--category", "poetry"], None);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("there are: overall, humor, ocr, rare"));
    let table = rank(&[path_text(&path), "--by", "category"], None);
    let told = text(&table.stdout);
    assert!(told.contains("no board for rare (1 votes)"), "{told}");
}

#[test]
fn conditions_and_times_limit_every_board() {
    let (_folder, path) = votes();
    let found = document(&rank(
        &[
            path_text(&path),
            "--where",
            "language=English",
            "--where",
            "turn=1",
            "--since",
            "2024-02-01",
            "--until",
            "2024-03-01T00:00:00Z",
            "--json",
        ],
        None,
    ));
    let expected = alone(|row| {
        row["language"] == "English"
            && row["turn"] == 1
            && row["tstamp"].as_str().unwrap().starts_with("2024-02")
    });
    assert_eq!(found["leaderboards"][0]["models"], expected);
    for (flags, code, part) in [
        (["--where", "language=Englsh"], 2, "did you mean `English`?"),
        (["--where", "colour=red"], 3, "colour"),
        (["--since", "2030-01-01"], 3, "none of them fulfils"),
    ] {
        let output = rank(&[path_text(&path), flags[0], flags[1]], None);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {told}");
        assert!(told.contains(part), "{flags:?}: {told}");
    }
}

#[test]
fn periods_make_a_history() {
    let (_folder, path) = votes();
    let found = document(&rank(&[path_text(&path), "--by", "month", "--json"], None));
    let history = &found["history"][0];
    assert_eq!(history["unit"], "month");
    assert_eq!(history["periods"], json!(["2024-01", "2024-02", "2024-03"]));
    let february = alone(|row| row["tstamp"].as_str().unwrap().starts_with("2024-02"));
    for series in history["models"].as_array().unwrap() {
        let row = february
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["model"] == series["model"])
            .unwrap();
        assert_eq!(series["points"][1]["rating"], row["rating"]);
        assert_eq!(series["points"][1]["rating_lower"], row["rating_lower"]);
        assert_eq!(series["points"][1]["battles"], row["battles"]);
    }
    let all = document(&rank(
        &[path_text(&path), "--by", "month", "--cumulative", "--json"],
        None,
    ));
    assert_eq!(all["history"][0]["cumulative"], true);
    assert_eq!(
        boards(&all, "month=2024-02")[0]["models"],
        alone(|row| row["tstamp"].as_str().unwrap() < "2024-03")
    );
    assert_eq!(
        boards(&all, "month=2024-03")[0]["models"],
        boards(&all, "overall")[0]["models"]
    );
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let (_folder, path) = votes();
    let bytes = |threads: &str| {
        let flags = [
            path_text(&path),
            "--by",
            "category,language,month,judge",
            "--ci",
            "cluster",
            "--threads",
            threads,
            "--json",
        ];
        let output = rank(&flags, None);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let one = bytes("1");
    for threads in ["2", "5"] {
        assert!(one == bytes(threads), "{threads} threads give other bytes");
    }
}

#[test]
fn the_catalog_has_every_category() {
    let (_folder, path) = votes();
    let catalog = document(&rank(
        &[path_text(&path), "--by", "category", "--format", "catalog"],
        None,
    ));
    let names: Vec<&String> = catalog.as_object().unwrap().keys().collect();
    assert_eq!(names, ["humor", "ocr", "overall"]);
    assert_eq!(catalog["ocr"].as_object().unwrap().len(), 4);
}

#[test]
fn sources_have_shares() {
    let of = |wins: usize, losses: usize| {
        let mut votes = String::from("model_a,model_b,winner\n");
        votes.push_str(&"a,b,model_a\n".repeat(wins));
        votes.push_str(&"a,b,model_b\n".repeat(losses));
        votes
    };
    let (folder, experts) = file("experts.csv", &of(8, 2));
    let others = folder.path().join("others.csv");
    std::fs::write(&others, of(500, 500)).unwrap();
    let shares = format!("{}=0.5", path_text(&others));
    let own = format!("{}=0.5", path_text(&experts));
    for flags in [
        vec!["--source-weight", "1,1"],
        vec!["--source-weight", &shares, "--source-weight", &own],
    ] {
        let arguments: Vec<&str> = [path_text(&experts), path_text(&others), "--json"]
            .into_iter()
            .chain(flags)
            .collect();
        let found = document(&rank(&arguments, None));
        // Half of 8 : 2 and half of 1 : 1 is 65 : 35.
        let rating = found["leaderboards"][0]["models"][0]["rating"]
            .as_f64()
            .unwrap();
        assert!(
            (rating - (1000.0 + 200.0 * (65.0_f64 / 35.0).log10())).abs() < 1e-9,
            "{rating}"
        );
        // Var p̂ = Σ share² p (1 − p) / n, and θ = logit p; the anchor is the mean of the two.
        let variance: f64 = 0.25 * 0.8 * 0.2 / 10.0 + 0.25 * 0.25 / 1000.0;
        let half = 1.959_963_984_540_054 * 200.0 / 10.0_f64.ln() * variance.sqrt() / (0.65 * 0.35);
        let upper = found["leaderboards"][0]["models"][0]["rating_upper"]
            .as_f64()
            .unwrap();
        assert!((upper - rating - half).abs() < 1e-6, "{}", upper - rating);
        assert_eq!(
            found["settings"]["source_weights"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
    }
}

#[test]
fn repeated_rows_can_be_rejected_and_rejected_rows_written() {
    let (folder, path) = file(
        "votes.csv",
        "id,model_a,model_b,winner\n1,a,b,model_a\n1,a,b,model_a\n2,b,a,model_a\n3,a,a,tie\n",
    );
    let rejects = folder.path().join("rejects.jsonl");
    let found = document(&rank(
        &[
            path_text(&path),
            "--dedup",
            "id",
            "--rejects",
            path_text(&rejects),
            "--json",
        ],
        None,
    ));
    assert_eq!(found["input"]["kept"], 2);
    assert_eq!(
        found["input"]["dropped"],
        json!({ "repeated_id": 1, "self_battle": 1 })
    );
    let written: Vec<Value> = std::fs::read_to_string(&rejects)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(written.len(), 2);
    assert_eq!(written[0]["reason"], "repeated_id");
    assert_eq!(written[0]["row"], 2);
    assert_eq!(written[1]["reason"], "self_battle");
}

#[test]
fn a_category_called_overall_and_one_with_a_comma_can_be_had() {
    let rows: Vec<Value> = rows()
        .into_iter()
        .enumerate()
        .map(|(idx, mut row)| {
            let category = ["overall", "coding, hard", "math"][idx % 3];
            row["category"] = json!(category);
            row.as_object_mut().unwrap().remove("categories");
            row
        })
        .collect();
    let (_folder, path) = file("votes.jsonl", &lines(&rows));
    let found = document(&rank(
        &[
            path_text(&path),
            "--category",
            "overall,category=overall,\"coding, hard\"",
            "--category",
            "math",
            "--json",
        ],
        None,
    ));
    assert_eq!(
        categories(&found),
        ["overall", "category=overall", "coding, hard", "math"]
    );
    let battles: Vec<_> = found["slices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slice| slice["battles"].clone())
        .collect();
    assert_eq!(battles, [600, 200, 200, 200]);
    let own = lines(rows.iter().filter(|row| row["category"] == "overall"));
    let alone = document(&rank(&["-", "--json"], Some(own.as_bytes())));
    assert_eq!(
        boards(&found, "category=overall")[0]["models"],
        alone["leaderboards"][0]["models"]
    );
    // The same parts by their column.
    let by = document(&rank(
        &[path_text(&path), "--by", "category", "--json"],
        None,
    ));
    assert_eq!(
        categories(&by),
        ["overall", "category=overall", "coding, hard", "math"]
            .into_iter()
            .collect::<Vec<_>>()
            .into_iter()
            .filter(|name| *name == "overall")
            .chain(["coding, hard", "math", "category=overall"])
            .collect::<Vec<_>>()
    );
    let refused = rank(&[path_text(&path), "--category", "poetry"], None);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("category=overall, coding, hard, math"));
}

#[test]
fn a_blank_value_is_no_condition() {
    let (_folder, path) = votes();
    for value in ["language=", "language=  "] {
        let refused = rank(&[path_text(&path), "--where", value], None);
        assert_eq!(refused.status.code(), Some(2), "{value}");
        let message = text(&refused.stderr);
        assert!(
            message.contains("expected a value after `language=`"),
            "{message}"
        );
    }
}

#[test]
fn days_that_are_written_as_numbers_are_days() {
    let mut rows = rows();
    let by_text = document(&rank(
        &["-", "--by", "month", "--json"],
        Some(lines(&rows).as_bytes()),
    ));
    for row in &mut rows {
        let day = row["tstamp"].as_str().unwrap()[..10].replace('-', "");
        row["tstamp"] = json!(day.parse::<u64>().unwrap());
    }
    let found = document(&rank(
        &["-", "--by", "month", "--json"],
        Some(lines(&rows).as_bytes()),
    ));
    assert_eq!(found["slices"], by_text["slices"]);
    assert_eq!(found["slices"][1]["value"], "2024-01");
}
