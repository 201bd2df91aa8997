//! `agon import` as a process, case by case: pictures made fit when they are asked for, ids of questions, categories, other names, two at once, and what is written.

use std::{fmt::Write as _, path::Path, process::Command};

use agon::app::{
    images::ImagePool,
    import::{ImportedImageError, normalised_image},
};
use agon_content::image::ImageLimits;
use agon_domain::Winner;
use agon_store::{
    ImageFormat, ImportId, KeptImage, NewImport, OriginalState, Store, imported_battle_id,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::rank::{json, path_text, run, text};
use crate::{cli::serve::AGON, voted};

/// A folder with a file of rows and room for a store.
struct Set {
    folder: tempfile::TempDir,
}

impl Set {
    fn new(rows: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let set = Self { folder };
        set.write("rows.jsonl", rows);
        set
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, rows: &[Value]) -> String {
        let mut lines = String::new();
        for row in rows {
            writeln!(lines, "{row}").unwrap();
        }
        let path = self.path(name);
        std::fs::write(&path, lines).unwrap();
        path
    }

    fn import(&self, name: &str, flags: &[&str]) -> std::process::Output {
        let (file, data) = (self.path(name), self.path("data"));
        run(
            "import",
            &[&[&*file, "--data-dir", &data][..], flags].concat(),
            None,
        )
    }

    fn rank(&self, which: &str, flags: &[&str]) -> std::process::Output {
        let data = self.path("data");
        let all = [&["--store", which, "--data-dir", &data][..], flags].concat();
        run("rank", &all, None)
    }
}

fn row(id: &str, a: &str, b: &str, winner: &str) -> Value {
    json!({
        "question_id": id, "model_a": a, "model_b": b, "winner": winner,
        "conversation_a": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
        "conversation_b": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "b"}],
    })
}

fn with(mut row: Value, member: &str, value: Value) -> Value {
    row[member] = value;
    row
}

fn picture(row: Value, bytes: &[u8]) -> Value {
    with(
        row,
        "images",
        json!([{"bytes": STANDARD.encode(bytes), "path": "p.png"}]),
    )
}

fn png(side: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let pixels = image::RgbImage::from_pixel(side, 4, image::Rgb([200, 30, 30]));
    pixels
        .write_to(
            &mut std::io::Cursor::new(&mut bytes),
            image::ImageFormat::Png,
        )
        .unwrap();
    bytes
}

fn boards(output: &std::process::Output) -> Value {
    let mut boards = json(output)["leaderboards"].clone();
    for board in boards.as_array_mut().unwrap() {
        // How many counts were made for the file is of no board.
        board.as_object_mut().unwrap().remove("notes");
    }
    boards
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_is_made_fit_when_it_is_first_asked_for() {
    let whole = png(8);
    // Its header is in order, its pixels are not.
    let mut broken = png(9);
    let idat = broken.windows(4).position(|name| name == b"IDAT").unwrap();
    broken[idat + 6..idat + 14].fill(0xaa);
    let set = Set::new(&[
        picture(row("1", "x", "y", "model_a"), &whole),
        picture(row("2", "x", "y", "tie"), &broken),
        picture(row("3", "x", "y", "model_b"), &whole),
    ]);
    let imported = json(&set.import("rows.jsonl", &["--json"]));
    assert_eq!(
        (&imported["images"], &imported["kept"]),
        (&json!(3), &json!(3))
    );
    let store = Store::open(Path::new(&set.path("data"))).await.unwrap();
    let kept = async |id: &str| {
        let battle = store.imported_battle(imported_battle_id("import", id));
        let battle = battle.await.unwrap().unwrap();
        *battle.battle.images[0].image.as_ref().unwrap()
    };
    let first = kept("1").await;
    let KeptImage::Original(id) = first else {
        panic!("{first:?}")
    };
    assert_eq!(kept("3").await, first);
    assert_eq!(&*store.original(id).await.unwrap().unwrap().bytes, whole);
    let pool = ImagePool::new(1, ImageLimits::default());
    let now = Timestamp::UNIX_EPOCH;
    let shown = normalised_image(&store, &pool, first, now).await.unwrap();
    assert_eq!((shown.meta.width, shown.meta.format), (8, ImageFormat::Png));
    assert_eq!(store.image(shown.id).await.unwrap().unwrap(), shown);
    // From now on it is only read: the original is needed no more.
    for pack in std::fs::read_dir(set.path("data/originals")).unwrap() {
        std::fs::write(pack.unwrap().path(), b"").unwrap();
    }
    let again = normalised_image(&store, &pool, first, now).await.unwrap();
    assert_eq!(again, shown);
    let second = kept("2").await;
    let gone = normalised_image(&store, &pool, second, now).await;
    assert!(matches!(
        gone,
        Err(ImportedImageError::Store(agon_store::Error::DamagedImage(
            _
        )))
    ));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_that_cannot_be_made_fit_is_told_by_its_reason_and_not_tried_again() {
    let mut broken = png(9);
    let idat = broken.windows(4).position(|name| name == b"IDAT").unwrap();
    broken[idat + 6..idat + 14].fill(0xaa);
    let set = Set::new(&[picture(row("1", "x", "y", "tie"), &broken)]);
    assert_eq!(json(&set.import("rows.jsonl", &["--json"]))["images"], 1);
    let store = Store::open(Path::new(&set.path("data"))).await.unwrap();
    let battle = store.imported_battle(imported_battle_id("import", "1"));
    let battle = battle.await.unwrap().unwrap().battle;
    let kept = *battle.images[0].image.as_ref().unwrap();
    let pool = ImagePool::new(1, ImageLimits::default());
    for _ in 0..2 {
        let refused = normalised_image(&store, &pool, kept, Timestamp::UNIX_EPOCH).await;
        let Err(ImportedImageError::Refused(code)) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(code, "image_broken");
    }
    let KeptImage::Original(id) = kept else {
        panic!("{kept:?}")
    };
    let states = store.original_states(&[id]).await.unwrap();
    let refused = OriginalState::Refused("image_broken".to_owned());
    assert_eq!(states[&id], refused);
    store.close().await;
    // What is known of it is said at once in the next import.
    let next = json(&set.import("rows.jsonl", &["--source", "next", "--json"]));
    assert_eq!(next["image_problems"]["image_broken"], 1);
}

#[test]
fn under_strict_a_picture_that_cannot_be_kept_refuses_the_input() {
    let set = Set::new(&[
        picture(row("1", "x", "y", "model_a"), &png(8)),
        picture(row("2", "x", "y", "tie"), b"no picture at all"),
    ]);
    let refused = set.import("rows.jsonl", &["--strict"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{message}");
    assert!(
        message.contains("row 2") && message.contains("`image_unsupported`"),
        "{message}"
    );
    assert_eq!(set.rank("imported", &[]).status.code(), Some(3));
    // Nothing of it stays, its pictures neither.
    let packs = std::fs::read_dir(set.path("data/originals")).unwrap();
    assert_eq!(packs.count(), 0);
    let kept = json(&set.import("rows.jsonl", &["--json"]));
    assert_eq!(kept["kept"], 2);
    assert_eq!(kept["image_problems"]["image_unsupported"], 1);
}

#[test]
fn ids_of_questions_lose_no_battle() {
    let judged = |id: &str, b: &str, judge: &str, winner: &str| {
        with(row(id, "x", b, winner), "judge", json!(judge))
    };
    let rows = [
        judged("q1", "y", "anna", "model_a"),
        judged("q1", "z", "anna", "model_b"),
        judged("q1", "y", "bert", "model_b"),
        judged("q2", "y", "anna", "tie"),
        judged("q1", "z", "anna", "model_b"),
    ];
    let set = Set::new(&rows);
    for (source, flags) in [("plain", &[][..]), ("cleaned", &["--clean", "agon-1"])] {
        let flags = [&["--source", source, "--json"], flags].concat();
        let imported = json(&set.import("rows.jsonl", &flags));
        assert_eq!(imported["kept"], 4, "{imported}");
        assert_eq!(imported["rejected"]["repeated_id"], 1);
        let again = json(&set.import("rows.jsonl", &flags));
        assert_eq!(again["kept"], 0);
        assert_eq!(again["rejected"]["repeated_id"], 5);
        let ranked = json(&set.rank("imported", &["--source", source, "--json"]));
        assert_eq!(ranked["input"]["kept"], 4);
    }
    let Some(data) = std::env::var_os("AGON_TESTDATA") else {
        eprintln!("AGON_TESTDATA is not set: the published set is left out");
        return;
    };
    let bench = Path::new(&data).join("votes/wildvision-bench/vlm_battles.jsonl");
    let set = Set::new(&[]);
    let all = [path_text(&bench), "--data-dir", &set.path("data"), "--json"];
    let imported = json(&run("import", &all, None));
    assert_eq!(
        (&imported["rows"], &imported["kept"]),
        (&json!(105), &json!(105))
    );
    let of_file = run("rank", &[path_text(&bench), "--json"], None);
    assert_eq!(boards(&set.rank("imported", &["--json"])), boards(&of_file));
}

/// Forty battles of three models, each in some of three categories and cast by one of two judges.
fn categorised() -> Vec<Value> {
    (0..40_usize)
        .map(|n| {
            let models = ["x", "y", "z"];
            let (a, b) = (models[n % 3], models[(n + 1 + n / 3 % 2) % 3]);
            let winner = ["model_a", "model_b", "tie", "model_b"][n * 7 % 4];
            let categories =
                json!({"ocr": n % 2 == 0, "homework": n % 3 == 0, "humor": n % 5 == 0});
            with(
                with(
                    row(&format!("q{n}"), a, b, winner),
                    "categories",
                    categories,
                ),
                "judge",
                json!(format!("j{}", n % 2)),
            )
        })
        .collect()
}

#[test]
fn categories_cut_the_votes_of_a_store_as_those_of_the_file() {
    let set = Set::new(&categorised());
    json(&set.import("rows.jsonl", &["--json"]));
    let file = set.path("rows.jsonl");
    for flags in [
        &["--by", "category"][..],
        &["--category", "ocr", "--category", "overall"],
        &["--where", "category=homework"],
    ] {
        let flags = [flags, &["--json"]].concat();
        let of_file = run("rank", &[&[&*file], &flags[..]].concat(), None);
        let of_store = set.rank("imported", &flags);
        assert_eq!(boards(&of_store), boards(&of_file), "{flags:?}");
    }
    // A column with one text a row is cut in the same way.
    let one: Vec<Value> = (0..30)
        .map(|n| {
            let winner = ["model_a", "model_b", "tie"][n % 3];
            let row = row(&format!("q{n}"), "x", ["y", "z"][n / 3 % 2], winner);
            with(row, "category", json!(["writing", "coding"][n / 6 % 2]))
        })
        .collect();
    let file = set.write("one.jsonl", &one);
    json(&set.import("one.jsonl", &["--source", "one", "--json"]));
    let of_file = run("rank", &[&file, "--by", "category", "--json"], None);
    let of_store = set.rank(
        "imported",
        &["--source", "one", "--by", "category", "--json"],
    );
    assert_eq!(boards(&of_store), boards(&of_file));
    // Without any there is no such column.
    set.write("none.jsonl", &[row("1", "x", "y", "tie")]);
    json(&set.import("none.jsonl", &["--source", "none", "--json"]));
    let none = set.rank("imported", &["--source", "none", "--by", "category"]);
    assert_eq!(none.status.code(), Some(3), "{}", text(&none.stderr));
}

#[test]
fn a_model_that_was_renamed_after_its_votes_is_one_model() {
    // ING-37: the store keeps the names of the sources, and a table brings old and new together.
    let rows: Vec<Value> = (0..12)
        .map(|n| {
            let a = if n < 6 { "bard" } else { "palm-2" };
            let winner = ["model_a", "model_b", "tie"][n % 3];
            row(&format!("q{n}"), a, "x", winner)
        })
        .chain([row("self", "bard", "palm-2", "model_a")])
        .collect();
    let set = Set::new(&rows);
    json(&set.import("rows.jsonl", &["--json"]));
    let table = set.path("aliases.toml");
    std::fs::write(
        &table,
        "version = \"2026-12\"\n[aliases]\n\"bard\" = \"palm-2\"\n",
    )
    .unwrap();
    {
        let flags = ["--aliases", &table, "--json"];
        let ranked = json(&set.rank("imported", &flags));
        let names: Vec<&str> = ranked["leaderboards"][0]["models"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| model["model"].as_str().unwrap())
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(names.contains(&"palm-2") && names.contains(&"x"));
        assert_eq!(ranked["input"]["aliases"]["version"], "2026-12");
        assert_eq!(ranked["input"]["aliases"]["renamed_rows"], 7);
        assert_eq!(ranked["input"]["dropped"]["self_battle"], 1);
        assert_eq!(ranked["input"]["kept"], 12);
        let file = set.path("rows.jsonl");
        let of_file = [&[&*file], &flags[..]].concat();
        let of_file = json(&run("rank", &of_file, None));
        assert_eq!(ranked["leaderboards"], of_file["leaderboards"]);
    }
    // Rows, and not counts, go through the same table.
    let by_turns = ["--aliases", &table, "--by", "turns", "--json"];
    let ranked = json(&set.rank("imported", &by_turns));
    assert_eq!(ranked["input"]["aliases"]["renamed_rows"], 7);
    assert_eq!(ranked["input"]["dropped"]["self_battle"], 1);
    // Without it they are two, as the votes say.
    let plain = json(&set.rank("imported", &["--json"]));
    let n_models = plain["leaderboards"][0]["models"].as_array().unwrap().len();
    assert_eq!(n_models, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_arenas_own_votes_and_imported_ones_are_weighted_as_two_sources() {
    let rows: Vec<Value> = (0..9)
        .map(|n| {
            let winner = if n < 6 { "model_a" } else { "model_b" };
            row(&format!("q{n}"), "x", "y", winner)
        })
        .collect();
    let set = Set::new(&rows);
    json(&set.import("rows.jsonl", &["--json"]));
    let store = Store::open(Path::new(&set.path("data"))).await.unwrap();
    let at = Timestamp::UNIX_EPOCH;
    let votes = [Winner::B, Winner::B, Winner::A].map(|winner| ("x", "y", winner, at));
    voted::cast(&store, votes).await;
    store.close().await;
    let rating_of_x = |flags: &[&str]| {
        let flags = [flags, &["--json"]].concat();
        let ranked = json(&set.rank("all", &flags));
        let paths: Vec<_> = ranked["input"]["sources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|source| source["path"].clone())
            .collect();
        assert_eq!(paths, ["store:arena", "store:import"]);
        let models = ranked["leaderboards"][0]["models"].as_array().unwrap();
        let x = models.iter().find(|model| model["model"] == "x").unwrap();
        x["rating"].as_f64().unwrap()
    };
    let mean = rating_of_x(&[]);
    let even = rating_of_x(&[
        "--source-weight",
        "store:arena=1",
        "--source-weight",
        "store:import=1",
    ]);
    let in_order = rating_of_x(&["--source-weight", "1", "--source-weight", "1"]);
    // 7 : 5 for x by votes; 1/3 and 2/3 of each source by shares, which is even.
    let difference = |rating: f64| 2.0 * (rating - 1000.0);
    assert!(
        (difference(mean) - 400.0 * (7.0_f64 / 5.0).log10()).abs() < 1e-6,
        "{mean}"
    );
    assert!(difference(even).abs() < 1e-6, "{even}");
    assert!((in_order - even).abs() < 1e-9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_import_into_a_source_waits_for_the_first() {
    let set = Set::new(&[row("1", "x", "y", "tie")]);
    let store = Store::open(Path::new(&set.path("data"))).await.unwrap();
    let running = NewImport {
        id: ImportId::from_bytes([1; 16]),
        source: "import".to_owned(),
        request_sha256: [1; 32],
        clean_profile: None,
        aliases: None,
        program_version: "0.1.0".to_owned(),
        started_at: Timestamp::UNIX_EPOCH,
    };
    store.begin_import(&running).await.unwrap();
    for flags in [&[][..], &["--restart"]] {
        let refused = set.import("rows.jsonl", flags);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(
            message.contains("another import into the source `import` is running")
                && message.contains("--source"),
            "{message}"
        );
    }
    // Another source is free, and this one is once nobody holds it.
    json(&set.import("rows.jsonl", &["--source", "other", "--json"]));
    store.close().await;
    drop(store);
    let interrupted = set.import("rows.jsonl", &[]);
    assert_eq!(interrupted.status.code(), Some(2));
    assert!(text(&interrupted.stderr).contains("--restart"));
    let imported = json(&set.import("rows.jsonl", &["--restart", "--json"]));
    assert_eq!(imported["kept"], 1);
}

#[test]
fn a_second_import_by_another_profile_says_that_verdicts_stay() {
    let set = Set::new(&[row("1", "x", "y", "tie"), row("2", "x", "x ", "tie")]);
    json(&set.import("rows.jsonl", &["--json"]));
    let again = set.import("rows.jsonl", &["--clean", "agon-1"]);
    let warning = text(&again.stderr);
    assert!(
        warning.contains("keep the verdicts of the profile that they were imported with (none)")
            && warning.contains("--source"),
        "{warning}"
    );
    let same = set.import("rows.jsonl", &[]);
    assert!(text(&same.stderr).contains("(agon-1)"));
}

/// Votes of one address, in two logs as two workers write them.
fn two_logs(set: &Set) {
    for (worker, name) in ["a-conv.json", "b-conv.json"].iter().enumerate() {
        let rows: Vec<Value> = (0..6)
            .map(|n| {
                let state = |model: &str, side: &str| {
                    json!({
                        "template_name": model, "system_message": "", "roles": ["user", "assistant"],
                        "messages": [["user", format!("question {worker} {n}")], ["assistant", "an answer"]],
                        "offset": 0, "conv_id": format!("{worker}{n}{side}"), "model_name": model,
                    })
                };
                // From an hour before midnight in UTC, twenty minutes apart.
                let tstamp = 1_777_590_000.0 + 1200.0 * f64::from(n) + 60.0 * worker as f64;
                json!({
                    "tstamp": tstamp, "type": "leftvote", "models": ["", ""],
                    "states": [state("x", "l"), state("y", "r")], "ip": "198.51.100.7",
                })
            })
            .collect();
        set.write(name, &rows);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_is_one_judge_in_all_logs_of_an_import() {
    // ING-29: the daily cap counts over both, and the store has one pseudonym.
    let set = Set::new(&[]);
    two_logs(&set);
    let logs = set.path("*-conv.json");
    let data = set.path("data");
    let flags = [&*logs, "--clean", "agon-1", "--data-dir", &data, "--json"];
    let imported = json(&run("import", &flags, None));
    assert_eq!(imported["kept"], 12, "{imported}");
    let rules = imported["cleaning"]["rules"].as_array().unwrap();
    let capped = rules.iter().find(|rule| rule["rule"] == "daily_cap");
    // Six votes before midnight and six after it: five of each UTC day count.
    assert_eq!(capped.unwrap()["first"], 2);
    let store = Store::open(Path::new(&data)).await.unwrap();
    let votes = store.imported_votes(0, 100).await.unwrap();
    let judges: std::collections::HashSet<_> = votes.iter().map(|vote| vote.judge).collect();
    assert_eq!((votes.len(), judges.len()), (12, 1));
    store.close().await;
}

#[test]
fn days_are_those_of_utc_wherever_the_machine_stands() {
    // ING-28
    let set = Set::new(&[]);
    two_logs(&set);
    let check = |zone: &str| {
        let output = Command::new(AGON)
            .args(["check", &set.path("a-conv.json"), &set.path("b-conv.json")])
            .args(["--clean", "agon-1", "--json"])
            .env("TZ", zone)
            .output()
            .unwrap();
        json(&output)["cleaning"].clone()
    };
    let expected = check("UTC");
    let rules = expected["rules"].as_array().unwrap();
    let capped = rules.iter().find(|rule| rule["rule"] == "daily_cap");
    assert_eq!(capped.unwrap()["first"], 2);
    for zone in ["Asia/Tokyo", "America/Los_Angeles", "XXX-13:30"] {
        assert_eq!(check(zone), expected, "{zone}");
    }
}

#[test]
fn what_has_no_number_is_written_as_null() {
    // ING-34: without anything that varies there is no interval, and shares of nothing are none.
    let set = Set::new(&[
        row("1", "x", "y", "model_a"),
        row("2", "x", "y", "model_a"),
        row("3", "z", "y", "tie (bothbad)"),
    ]);
    json(&set.import("rows.jsonl", &["--clean", "agon-1", "--json"]));
    let file = set.path("rows.jsonl");
    for output in [
        set.rank("imported", &["--json"]),
        set.rank("imported", &["--style-control", "--json"]),
        run("rank", &[&file, "--ties", "drop", "--json"], None),
        run("check", &[&file, "--clean", "agon-1", "--json"], None),
        set.import("rows.jsonl", &["--source", "again", "--json"]),
    ] {
        let written = text(&output.stdout);
        // A parser that takes `NaN` would hide it, so the text is looked at too.
        for word in ["NaN", "Infinity"] {
            assert!(!written.contains(word), "{word} in {written}");
        }
        if output.status.success() {
            serde_json::from_str::<Value>(&written).unwrap();
        }
    }
    let board = json(&set.rank("imported", &["--json"]));
    let models = board["leaderboards"][0]["models"].as_array().unwrap();
    assert!(
        models.iter().any(|model| model["rating_lower"].is_null()),
        "{board}"
    );
}
