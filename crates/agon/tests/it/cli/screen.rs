//! `agon screen` as a process: what is published, what is left out, and what goes on after an interruption.

use std::{
    io::{BufRead as _, BufReader, Cursor},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::rank::{self, json as output_json, path_text, run, text};
use crate::cli::serve::AGON;

/// Personal data that is planted, none of which may be anywhere in the output.
const PLANTED: [&str; 7] = [
    "mara.lindqvist@example.com",
    "4111 1111 1111 1111",
    "DE89 3704 0044 0532 0130 00",
    "203.0.113.77",
    "jonas.berg@example.org",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "picture-of-mara.lindqvist",
];

fn battle(id: &str, prompt: &str, a: &str, b: &str) -> Value {
    let side = |answer: &str| json!([[{ "role": "user", "content": prompt }, { "role": "assistant", "content": answer }]]);
    json!({
        "question_id": id, "model_a": "gamma-7b", "model_b": "delta-9b", "winner": "model_a",
        "judge": "j1", "tstamp": 1_717_200_000.5, "images": [],
        "conversation_a": side(a), "conversation_b": side(b),
    })
}

fn png(shade: u8) -> Vec<u8> {
    let image = image::RgbImage::from_fn(96, 64, |x, y| {
        image::Rgb([
            u8::try_from(2 * x).unwrap(),
            u8::try_from(3 * y).unwrap(),
            shade.wrapping_mul(u8::try_from((x / 8 + y / 8) % 5).unwrap()),
        ])
    });
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A battle with a picture, whose bytes are as tools write them to JSON.
fn with_picture(mut battle: Value, picture: &[u8]) -> Value {
    battle["images"] = json!([{ "bytes": picture, "path": "picture-of-mara.lindqvist.png" }]);
    battle
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// Five battles: personal data in prompt and answers, none, a secret, a voter and an id that are personal, and a picture.
fn mixed() -> Vec<Value> {
    let mut personal = battle(
        "jonas.berg@example.org",
        "Who am I?",
        "I do not know that.",
        "Somebody who asks.",
    );
    personal["judge"] = json!("203.0.113.77");
    vec![
        battle(
            "q1",
            "Write to mara.lindqvist@example.com that my card is 4111 1111 1111 1111.",
            "Dear mara.lindqvist@example.com, the card is 4111-1111-1111-1111.",
            "I would rather not.",
        ),
        battle(
            "q2",
            "Why is the sky blue?",
            "Because of the scattering of light.",
            "Air scatters short waves more.",
        ),
        battle(
            "q3",
            "My IBAN is DE89 3704 0044 0532 0130 00",
            "Use the token ghp_16C7e42F292c6912E7710c838347Ae178B4a then.",
            "Thank you.",
        ),
        personal,
        with_picture(
            battle(
                "q5",
                "What is this?",
                "A pattern of colours.",
                "Some squares.",
            ),
            &png(9),
        ),
    ]
}

struct Set {
    folder: tempfile::TempDir,
    input: PathBuf,
    output: PathBuf,
}

impl Set {
    fn new(rows: &[Value]) -> Self {
        let (folder, input) = rank::file("battles.jsonl", &lines(rows));
        let output = folder.path().join("screened");
        Self {
            folder,
            input,
            output,
        }
    }

    /// The arguments, with an empty folder of models so that nothing that is installed here counts.
    fn arguments(&self, flags: &[&str]) -> Vec<String> {
        let models = self.folder.path().join("models");
        std::fs::create_dir_all(&models).unwrap();
        let mut arguments: Vec<String> = [
            path_text(&self.input),
            "-o",
            path_text(&self.output),
            "--data-dir",
            path_text(self.folder.path()),
        ]
        .map(ToOwned::to_owned)
        .to_vec();
        if !flags.contains(&"--detectors") {
            arguments.extend(["--detectors".to_owned(), path_text(&models).to_owned()]);
        }
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        arguments
    }

    fn screen(&self, flags: &[&str]) -> Output {
        let arguments = self.arguments(flags);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run("screen", &arguments, None)
    }

    #[track_caller]
    fn summary(&self, flags: &[&str]) -> Value {
        let mut flags = flags.to_vec();
        flags.push("--json");
        output_json(&self.screen(&flags))
    }

    fn rows(&self) -> Vec<agon_dataset::ConversationRow> {
        let selection = agon_dataset::ConversationSelection {
            images: true,
            chats: true,
            columns: Vec::new(),
        };
        let mut found = Vec::new();
        agon_dataset::read_conversations(
            vec![agon_dataset::Input::from_argument(path_text(
                &self.output.join("data"),
            ))],
            &agon_dataset::ReadOptions::default(),
            &selection,
            &mut |rows| {
                found.extend(rows);
                ControlFlow::Continue(())
            },
            &mut |_| {},
        )
        .unwrap();
        found
    }

    fn texts(&self) -> Vec<String> {
        let rows = self.rows();
        let sides = rows.iter().flat_map(|row| &row.conversations);
        sides
            .flat_map(|side| &side.messages)
            .filter_map(|message| message.text.clone())
            .collect()
    }

    /// Reads the output back with Python, which looks for everything that was planted.
    fn read_back(&self) -> Option<Value> {
        let Some(python) = std::env::var_os("AGON_TEST_PYTHON") else {
            println!("not run: reading back with Python, because AGON_TEST_PYTHON is not set");
            return None;
        };
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../scripts/read_back_screened.py"
        );
        let output = Command::new(python)
            .arg(script)
            .arg(&self.output)
            .args(PLANTED)
            .output()
            .unwrap();
        Some(output_json(&output))
    }
}

/// Nothing that was planted is in `bytes`.
#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    for planted in PLANTED {
        let has = bytes
            .windows(planted.len())
            .any(|window| window == planted.as_bytes());
        assert!(!has, "{planted} is in {what}");
    }
}

#[test]
fn what_was_planted_is_nowhere_in_the_output() {
    let set = Set::new(&mixed());
    let output = set.screen(&["--only", "pii_text", "-vv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_clean("standard output", &output.stdout);
    assert_clean("standard error", &output.stderr);
    let rows = set.rows();
    assert_eq!(rows.len(), 5);
    assert_clean("the rows", format!("{rows:?}").as_bytes());
    for row in &rows {
        for image in &row.images {
            assert_clean("a picture", image.bytes.as_deref().unwrap());
        }
    }
    for file in ["screening.json", "README.md", "manifest.json"] {
        assert_clean(file, &std::fs::read(set.output.join(file)).unwrap());
    }
    let summary: Value =
        serde_json::from_slice(&std::fs::read(set.output.join("screening.json")).unwrap()).unwrap();
    let counts = &summary["summary"];
    assert_eq!(counts["rows"], 5);
    assert_eq!(counts["rows_published"], 5);
    assert_eq!(counts["rows_changed"], 3);
    assert_eq!(
        counts["columns_changed"],
        json!({ "judge": 1, "question_id": 1 })
    );
    let categories = counts["categories"].as_object().unwrap();
    for (category, n) in [
        ("pii_text/EMAIL_ADDRESS", 4),
        ("pii_text/CREDIT_CARD", 3),
        ("pii_text/IBAN_CODE", 2),
    ] {
        assert_eq!(categories[category], n, "{categories:?}");
    }
    assert!(
        !set.output.with_file_name(".screened.screening").exists(),
        "the work is forgotten when it is done"
    );
    if let Some(report) = set.read_back() {
        assert_eq!(report["data"]["rows"], 5, "{report}");
        assert_eq!(report["data"]["pictures"], 1, "{report}");
        let columns = report["findings"]["columns"].as_array().unwrap();
        assert_eq!(columns.len(), 27, "{columns:?}");
    }
}

#[test]
fn a_value_has_one_placeholder_in_a_row() {
    let set = Set::new(&mixed());
    set.summary(&["--only", "pii_text"]);
    let texts = set.texts();
    assert_eq!(
        texts[0],
        "Write to [EMAIL_ADDRESS_1] that my card is [CREDIT_CARD_1]."
    );
    assert_eq!(
        texts[1],
        "Dear [EMAIL_ADDRESS_1], the card is [CREDIT_CARD_1]."
    );
    assert_eq!(texts[2], texts[0], "both sides have the same prompt");
    assert_eq!(texts[4], "Why is the sky blue?");
}

#[test]
fn texts_are_redacted_as_asked() {
    for (how, expected) in [
        (
            "mask",
            "Write to ██████████████████████████ that my card is ███████████████████.",
        ),
        ("drop", "Write to  that my card is ."),
    ] {
        let set = Set::new(&mixed());
        set.summary(&["--only", "pii_text", "--redact", how]);
        assert_eq!(set.texts()[0], expected);
    }
    let set = Set::new(&mixed());
    set.summary(&["--only", "pii_text", "--redact", "pseudonymise"]);
    let first = set.texts()[0].clone();
    assert!(first.starts_with("Write to [EMAIL_ADDRESS_"), "{first}");
    set.summary(&["--only", "pii_text", "--redact", "pseudonymise", "--force"]);
    assert_ne!(first, set.texts()[0], "another run has another key");
}

#[test]
fn a_picture_that_nobody_looked_at_is_left_out_and_told() {
    let set = Set::new(&mixed());
    let summary = set.summary(&[]);
    assert_eq!(summary["rows"], 4);
    assert_eq!(
        summary["summary"]["rows_left_out"],
        json!({ "undecided/known_image": 1 })
    );
    let missing = summary["missing"].as_array().unwrap();
    for kind in ["known_image", "nsfw_image"] {
        assert!(missing.contains(&json!(kind)), "{missing:?}");
    }
    let table = set.screen(&["--force"]);
    assert!(
        text(&table.stdout).contains("nobody, and that is required"),
        "{}",
        text(&table.stdout)
    );

    let again = set.screen(&[]);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("--force"));

    let kept = set.summary(&["--force", "--keep", "undecided"]);
    assert_eq!(kept["rows"], 5);
    let allowed = set.summary(&["--force", "--allow-unanswered"]);
    assert_eq!(allowed["rows"], 5);
    assert_eq!(allowed["summary"]["verdicts"], json!({ "allow": 5 }));
    let card = std::fs::read_to_string(set.output.join("README.md")).unwrap();
    assert!(
        card.contains("was let through although nobody looked"),
        "{card}"
    );
}

#[test]
fn an_exit_code_says_what_was_found() {
    let set = Set::new(&mixed());
    for (kinds, code) in [
        ("pii_text", 4),
        ("any", 4),
        ("undecided", 4),
        ("face,pii_text", 4),
        ("harmful_text", 0),
    ] {
        let output = set.screen(&["--force", "--fail-on", kinds]);
        assert_eq!(output.status.code(), Some(code), "{kinds}");
        assert!(set.output.join("manifest.json").is_file());
    }
    let clean = Set::new(&mixed()[1..2]);
    let output = clean.screen(&["--fail-on", "any,undecided"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = clean.screen(&["--force", "--fail-on", "nudity"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`nudity`"));
}

#[test]
fn a_known_image_leaves_its_row_out_whatever_is_kept() {
    let known = png(9);
    let rows = [
        mixed().remove(4),
        with_picture(
            battle("q6", "And this?", "Other squares.", "Colours again."),
            &png(77),
        ),
    ];
    let set = Set::new(&rows);
    let list = set.folder.path().join("known.csv");
    let sha256: String = Sha256::digest(&known)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    std::fs::write(&list, format!("signal_type,signal_str\nsha256,{sha256}\n")).unwrap();
    let summary = set.summary(&[
        "--only",
        "known_image",
        "--hash-list",
        path_text(&list),
        "--keep",
        "blocked,undecided",
    ]);
    assert_eq!(
        summary["summary"]["rows_left_out"],
        json!({ "blocked/known_image": 1 })
    );
    assert_eq!(summary["summary"]["findings"], json!({ "known_image": 1 }));
    let rows = set.rows();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].id.as_deref(), Some("q6"));
}

#[test]
fn what_the_policy_blocks_is_left_out_or_kept_without_it() {
    let set = Set::new(&mixed());
    let flags = ["--only", "pii_text", "--policy", "pii_text/IBAN_CODE=block"];
    let summary = set.summary(&flags);
    assert_eq!(
        summary["summary"]["rows_left_out"],
        json!({ "blocked/pii_text": 1 })
    );
    assert_eq!(summary["rows"], 4);
    let mut keep = flags.to_vec();
    keep.extend(["--keep", "blocked", "--force"]);
    assert_eq!(set.summary(&keep)["rows"], 5);
    assert!(set.texts().contains(&"My IBAN is [IBAN_CODE_1]".to_owned()));

    for (flag, value, expected) in [
        ("--policy", "pii_text=hide", "`hide`"),
        ("--policy", "faces=blur", "`faces`"),
        (
            "--policy",
            "face=quarantine",
            "only known images are sealed",
        ),
        ("--threshold", "pii_text=2", "from 0 to 1"),
        ("--only", "nudity", "`nudity`"),
    ] {
        let output = set.screen(&[flag, value, "--force"]);
        assert_eq!(output.status.code(), Some(2), "{value}");
        assert!(
            text(&output.stderr).contains(expected),
            "{value}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_threshold_decides_what_counts() {
    let set = Set::new(&mixed());
    let summary = set.summary(&[
        "--only",
        "pii_text",
        "--threshold",
        "pii_text/EMAIL_ADDRESS=1",
    ]);
    assert!(summary["summary"]["categories"]["pii_text/EMAIL_ADDRESS"].is_null());
    assert!(set.texts()[0].contains("mara.lindqvist@example.com"));
}

/// Rows enough that a run can be ended while it is at work.
fn many(n: usize) -> Vec<Value> {
    (0..n)
        .map(|n| {
            battle(
                &format!("q{n}"),
                &format!("Write to user{n}@example.com about topic {n}."),
                &format!("Done: user{n}@example.com has the text about topic {n}."),
                "I would rather not.",
            )
        })
        .collect()
}

#[test]
fn a_run_that_was_killed_goes_on() {
    let set = Set::new(&many(3000));
    let flags = [
        "--only",
        "pii_text",
        "--checkpoint-rows",
        "50",
        "--threads",
        "1",
    ];
    let mut child = Command::new(AGON)
        .arg("screen")
        .args(set.arguments(&flags))
        .arg("-v")
        .env_remove("AGON_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    // The second part that is finished is told of.
    let told = stderr
        .lines()
        .map_while(Result::ok)
        .filter(|line| line.contains("work is kept"))
        .nth(1);
    assert!(told.is_some());
    child.kill().unwrap();
    assert!(
        !child.wait().unwrap().success(),
        "it ended before it was killed"
    );
    assert!(!set.output.exists());

    let other = set.screen(&["--only", "pii_text", "--redact", "mask"]);
    assert_eq!(other.status.code(), Some(2), "{}", text(&other.stderr));
    assert!(text(&other.stderr).contains("unfinished work"));

    let rows = many(3000);
    let mut changed = rows.clone();
    changed.swap(0, 1);
    std::fs::write(&set.input, lines(&changed)).unwrap();
    let other = set.screen(&flags);
    assert_eq!(other.status.code(), Some(2), "{}", text(&other.stderr));
    assert!(text(&other.stderr).contains("is not the one"));
    std::fs::write(&set.input, lines(&rows)).unwrap();

    let summary = set.summary(&flags);
    let n_resumed = summary["rows_resumed"].as_u64().unwrap();
    assert!((100..3000).contains(&n_resumed), "{n_resumed}");
    assert_eq!(summary["rows"], 3000);
    assert_eq!(summary["summary"]["rows_changed"], 3000);
    assert_eq!(
        summary["summary"]["categories"]["pii_text/EMAIL_ADDRESS"],
        9000
    );
    let ids: Vec<String> = set.rows().into_iter().filter_map(|row| row.id).collect();
    let expected: Vec<String> = (0..3000).map(|n| format!("q{n}")).collect();
    assert_eq!(ids, expected);
}

fn labelled() -> String {
    let case = |id: &str, text: &str, entity: &str, value: &str| {
        let start = text.find(value).unwrap();
        json!({
            "id": id, "text": text, "language": "en",
            "expected": [{ "entity": entity, "start_byte": start, "end_byte": start + value.len() }],
        })
    };
    lines(&[
        case(
            "U1",
            "Write to ana@example.com",
            "EMAIL_ADDRESS",
            "ana@example.com",
        ),
        case(
            "U2",
            "My card is 4111 1111 1111 1111",
            "CREDIT_CARD",
            "4111 1111 1111 1111",
        ),
        case("U3", "She lives in Leeds", "DATE_OF_BIRTH", "Leeds"),
        json!({ "id": "F1", "text": "Two plus two is four", "language": "en", "expected": [], "absent": ["*"] }),
        json!({ "id": "F2", "text": "Ask bob@example.com", "language": "en", "expected": [], "absent": ["*"] }),
        json!({ "recognizer": "card", "entities": ["CREDIT_CARD"], "text": "4111-1111-1111-1111", "expected_res": [[0, 19]] }),
    ])
}

#[test]
fn labelled_texts_are_measured() {
    let (folder, path) = rank::file("labelled.jsonl", &labelled());
    let arguments = ["evaluate", path_text(&path), "--json"];
    let report = output_json(&run("screen", &arguments, None));
    let report = &report["inputs"][0];
    assert_eq!(report["texts"], 6);
    let total = &report["total"]["all"];
    assert_eq!(
        (&total["expected"], &total["found"]),
        (&json!(4), &json!(3))
    );
    assert_eq!(
        (&total["negative"], &total["wrong"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(report["entity"]["DATE_OF_BIRTH"]["recall"], 0.0);
    assert_eq!(report["language"]["en"]["recall"], 0.75);
    let output = run("screen", &arguments[..2], None);
    let table = text(&output.stdout).replace(path_text(folder.path()), "FOLDER");
    insta::assert_snapshot!("screen_evaluate_texts", table);

    for (line, expected) in [
        ("{\"text\": \"x\"}", "line 1"),
        (
            "{\"text\": \"x\", \"expected\": [{\"entity\": \"SHOE_SIZE\", \"start\": 0, \"end\": 1}]}",
            "`SHOE_SIZE`",
        ),
        (
            "{\"text\": \"x\", \"expected\": [{\"entity\": \"EMAIL_ADDRESS\", \"start\": 0, \"end\": 9}]}",
            "no place in the text",
        ),
        ("", "no labelled text"),
    ] {
        std::fs::write(&path, line).unwrap();
        let output = run("screen", &arguments, None);
        assert_eq!(output.status.code(), Some(3), "{line}");
        assert!(
            text(&output.stderr).contains(expected),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn the_large_suites_have_their_figures() {
    let Some(data) = std::env::var_os("AGON_TESTDATA") else {
        println!("not run: the large suites, because AGON_TESTDATA is not set");
        return;
    };
    let pii = Path::new(&data).join("text/pii");
    let (suite, recognisers) = (
        pii.join("agon_pii_cases.jsonl"),
        pii.join("presidio_cases.jsonl"),
    );
    let report = output_json(&run(
        "screen",
        &[
            "evaluate",
            path_text(&suite),
            path_text(&recognisers),
            "--json",
        ],
        None,
    ));
    let figures: Vec<String> = (0..2)
        .flat_map(|idx| {
            let groups = report["inputs"][idx]["group"].as_object().unwrap().clone();
            groups.into_iter().map(|(name, quality)| {
                format!(
                    "{name}: {} of {} found, {} of {} wrong",
                    quality["found"], quality["expected"], quality["wrong"], quality["negative"]
                )
            })
        })
        .collect();
    insta::assert_snapshot!("screen_evaluate_suites", figures.join("\n"));
}

/// A folder with one empty picture, labelled.
fn labelled_pictures() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.png"), png(3)).unwrap();
    let labels = json!({ "pictures": [{ "file": "a.png", "faces": [], "text": "", "pii": [] }] });
    std::fs::write(folder.path().join("labels.json"), labels.to_string()).unwrap();
    folder
}

#[test]
fn what_no_model_is_there_for_is_not_measured_and_told() {
    let folder = labelled_pictures();
    let models = tempfile::tempdir().unwrap();
    let arguments = [
        "evaluate",
        path_text(folder.path()),
        "--detectors",
        path_text(models.path()),
        "--json",
    ];
    let report = output_json(&run("screen", &arguments, None));
    let report = &report["inputs"][0];
    assert_eq!(report["pictures"], 1);
    let reasons = report["not_measured"].to_string();
    assert!(reasons.contains("text: the model file"), "{reasons}");

    std::fs::write(folder.path().join("labels.json"), "{\"pictures\": [{}]}").unwrap();
    let output = run("screen", &arguments, None);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("missing field `file`"));
}

/// The folders of pictures and of models that are not part of the repository.
fn pictures_and_models() -> Option<(PathBuf, PathBuf)> {
    let folder = |variable: &str| {
        let folder = std::env::var_os(variable).map(PathBuf::from);
        if folder.is_none() {
            println!("not run: {variable} is not set");
        }
        folder
    };
    Some((
        folder("AGON_TESTDATA")?.join("images"),
        folder("AGON_TEST_DETECTORS")?,
    ))
}

#[test]
fn faces_and_personal_data_in_pictures_are_gone() {
    let Some((pictures, models)) = pictures_and_models() else {
        return;
    };
    let rows: Vec<Value> = ["faces/obama.jpg", "pii/ocr_test.png"]
        .into_iter()
        .map(|name| {
            let picture = std::fs::read(pictures.join(name)).unwrap();
            with_picture(battle(name, "What is it?", "A picture.", "This."), &picture)
        })
        .collect();
    let set = Set::new(&rows);
    let flags = [
        "--detectors",
        path_text(&models),
        "--only",
        "face,pii_image",
    ];
    let summary = set.summary(&flags);
    assert_eq!(summary["rows"], 2, "{summary:#}");
    assert_eq!(summary["summary"]["pictures"]["changed"], 2);
    assert_eq!(summary["summary"]["findings"]["face"], 1);
    assert_eq!(
        summary["summary"]["categories"]["pii_image/EMAIL_ADDRESS"],
        1
    );

    let again = Set {
        input: set.output.join("data"),
        output: set.folder.path().join("again"),
        ..set
    };
    let summary = again.summary(&flags);
    assert_eq!(summary["summary"]["findings"], json!({}), "{summary:#}");
    assert_eq!(summary["rows"], 2);
}

#[test]
fn labelled_pictures_are_measured() {
    let Some((pictures, models)) = pictures_and_models() else {
        return;
    };
    let folder = labelled_pictures();
    for name in ["faces/obama.jpg", "ocr/latin.jpg", "pii/ocr_test.png"] {
        let file = Path::new(name).file_name().unwrap();
        std::fs::copy(pictures.join(name), folder.path().join(file)).unwrap();
    }
    let labels = json!({ "pictures": [
        { "file": "a.png", "faces": [], "text": "", "pii": [] },
        { "file": "obama.jpg", "faces": [{ "left_px": 349, "top_px": 142, "width_px": 268, "height_px": 267 }] },
        { "file": "latin.jpg", "text": "Alphabetum in mundo hodie frequentissime adhibitum est alphabetum Latinum." },
        { "file": "ocr_test.png", "pii": ["PHONE_NUMBER", "EMAIL_ADDRESS", "IBAN_CODE"] },
    ]});
    std::fs::write(folder.path().join("labels.json"), labels.to_string()).unwrap();
    let report = output_json(&run(
        "screen",
        &[
            "evaluate",
            path_text(folder.path()),
            "--detectors",
            path_text(&models),
            "--json",
        ],
        None,
    ));
    let report = &report["inputs"][0];
    let recall = |what: &Value| what["recall"].as_f64().unwrap();
    assert_eq!(recall(&report["faces"]["160 px and more"]), 1.0, "{report}");
    assert_eq!(recall(&report["pii"]["EMAIL_ADDRESS"]), 1.0, "{report}");
    assert_eq!(recall(&report["pii"]["IBAN_CODE"]), 0.0, "{report}");
    assert!(report["text"]["characters"].as_u64().unwrap() > 60);
    assert!(report["text"]["errors"].as_u64().unwrap() <= 3, "{report}");
}
