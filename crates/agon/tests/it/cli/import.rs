//! `agon import` as a process: FastChat's vision logs with their folder of pictures, made here, into a store and out of it as boards.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use agon::app::{images::ImagePool, import::normalised_image};
use agon_content::image::ImageLimits;
use agon_domain::Winner;
use agon_store::{Store, imported_battle_id};
use serde_json::{Value, json};

use super::rank::{json, path_text, run, text};
use crate::cli::serve::AGON;

/// A log with its pictures, and what of it should count.
struct Logs {
    folder: tempfile::TempDir,
    /// What the cleaned file of this log is: the rows that `agon-1` keeps.
    cleaned: Vec<Value>,
    /// Votes in the log that are no fault of reading.
    n_votes: u64,
    n_flagged: u64,
    n_events: u64,
}

const MODELS: [&str; 4] = ["falcon-vl", "heron-vl", "ibis-vl", "wren-vl"];

/// What becomes of a vote of the log.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Sound,
    Blank,
    Leak,
    Named,
}

impl Logs {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> String {
        self.path("data").to_str().unwrap().to_owned()
    }

    fn import(&self, flags: &[&str]) -> Output {
        let (log, images, data) = (
            self.path("vision-tmp-2026-05-01-conv.json"),
            self.path("pictures"),
            self.data(),
        );
        let mut arguments = vec![path_text(&log), "--images", path_text(&images)];
        arguments.extend(["--data-dir", &data]);
        arguments.extend(flags);
        run("import", &arguments, None)
    }

    fn rank_store(&self, flags: &[&str]) -> Output {
        let data = self.data();
        let mut arguments = vec!["--store", "imported", "--data-dir", &data];
        arguments.extend(flags);
        run("rank", &arguments, None)
    }
}

fn md5(n: usize) -> String {
    format!("{n:032x}")
}

/// A day of a vision arena: 90 votes of 30 voters on five pictures, with rows that cleaning excludes, events that are no votes, and a picture that is missing and one that is broken.
fn logs() -> Logs {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("pictures");
    std::fs::create_dir(&images).unwrap();
    for n in 0..5_u8 {
        let picture =
            image::RgbaImage::from_pixel(8 + u32::from(n), 6, image::Rgba([n, 9, 9, 255]));
        picture
            .save(images.join(format!("{}.png", md5(usize::from(n)))))
            .unwrap();
    }
    std::fs::write(images.join(format!("{}.png", md5(6))), b"not a picture").unwrap();
    let mut state = 7_u64;
    let mut draw = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % n as u64).unwrap()
    };
    let mut log = String::new();
    let mut cleaned = Vec::new();
    let (mut n_votes, mut n_flagged, mut n_events) = (0, 0, 0);
    for row in 0..90_usize {
        let a = draw(4);
        let b = (a + 1 + draw(3)) % 4;
        let kind = match row % 15 {
            3 => Kind::Blank,
            7 => Kind::Leak,
            11 => Kind::Named,
            _ => Kind::Sound,
        };
        let (vote, winner) = [
            ("leftvote", "model_a"),
            ("rightvote", "model_b"),
            ("tievote", "tie"),
            ("bothbad_vote", "tie (bothbad)"),
        ][if draw(10) < 7 {
            usize::from(draw(10) < 4 + a)
        } else {
            2 + draw(2)
        }];
        let prompt = format!("What is in picture {row}?");
        let mut answer = |model: usize, side: usize| match kind {
            Kind::Blank if side == 1 => " \n".to_owned(),
            Kind::Leak if side == 0 => "I am ChatGPT, a model made by OpenAI.".to_owned(),
            _ => format!(
                "# A bird\n\nIt is {}**bird** number {row}.{}",
                "a very long-winded description of a ".repeat(draw(4) + model),
                "\n- feathers".repeat(draw(3))
            ),
        };
        let answers = [answer(a, 0), answer(b, 1)];
        // The fifth picture was never kept, the sixth is broken.
        let picture = md5(draw(7));
        let conversation = |model: usize, side: usize| {
            json!({
                "template_name": model, "system_message": "", "roles": ["user", "assistant"],
                "messages": [
                    ["user", [prompt, [picture]]],
                    ["assistant", answers[side]],
                ],
                "offset": 0, "conv_id": format!("{row:031x}{side}"), "model_name": MODELS[model],
                "has_csam_image": false,
            })
        };
        let tstamp = 1_777_600_000.25 + 60.0 * row as f64;
        let ip = format!("198.51.100.{}", row % 30);
        let states = [conversation(a, 0), conversation(b, 1)];
        let selectors = if kind == Kind::Named {
            [MODELS[a], MODELS[b]]
        } else {
            ["", ""]
        };
        for state in &states {
            let chat = json!({
                "tstamp": tstamp - 1.0, "type": "chat", "model": state["model_name"], "gen_params": {},
                "start": tstamp - 9.0, "finish": tstamp - 1.0, "state": state, "ip": ip,
            });
            writeln!(log, "{chat}").unwrap();
            n_events += 1;
        }
        let event = json!({"tstamp": tstamp, "type": vote, "models": selectors, "states": states, "ip": ip});
        writeln!(log, "{event}").unwrap();
        n_votes += 1;
        if kind != Kind::Sound {
            n_flagged += 1;
            continue;
        }
        let messages = |side: usize| {
            json!([
                {"role": "user", "content": prompt},
                {"role": "assistant", "content": answers[side]},
            ])
        };
        cleaned.push(json!({
            "question_id": format!("{row:031x}0"), "model_a": MODELS[a], "model_b": MODELS[b],
            "winner": winner, "judge": format!("arena_user_{ip}"), "turn": 1, "anony": true,
            "conversation_a": messages(0), "conversation_b": messages(1), "tstamp": tstamp,
        }));
    }
    std::fs::write(folder.path().join("vision-tmp-2026-05-01-conv.json"), log).unwrap();
    std::fs::write(
        folder.path().join("cleaned.json"),
        serde_json::to_string(&cleaned).unwrap(),
    )
    .unwrap();
    Logs {
        folder,
        cleaned,
        n_votes,
        n_flagged,
        n_events,
    }
}

#[test]
fn a_board_of_the_store_equals_the_board_of_the_cleaned_file() {
    let logs = logs();
    let imported = json(&logs.import(&["--clean", "agon-1", "--json"]));
    assert_eq!(imported["kept"], logs.n_votes);
    assert_eq!(imported["rejected"]["not_a_vote"], logs.n_events);
    assert_eq!(imported["rows"], logs.n_votes + logs.n_events);
    let audit = &imported["cleaning"];
    assert_eq!(audit["profile"], "agon-1");
    assert_eq!(audit["kept"], logs.n_votes - logs.n_flagged, "{audit}");
    let rules: Vec<_> = audit["rules"].as_array().unwrap().iter().collect();
    for (rule, n) in [("blank_answer", 6), ("identity_leak", 6), ("named", 6)] {
        let found = rules.iter().find(|found| found["rule"] == rule).unwrap();
        assert_eq!(found["first"], n, "{rule}");
    }
    let cleaned = logs.path("cleaned.json");
    for flags in [
        &[][..],
        &["--style-control"],
        &["--ci", "cluster"],
        &["--method", "elo"],
        &["--ties", "davidson"],
        &["--order-effect"],
        &["--by", "turns,day"],
    ] {
        let with_json = [flags, &["--json"]].concat();
        let of_store = logs.rank_store(&with_json);
        let warning = text(&of_store.stderr);
        assert!(
            warning.contains("18 of 90 votes are left out by cleaning")
                && warning.contains("6 identity_leak"),
            "{warning}"
        );
        let of_store = json(&of_store);
        let of_file = [&[path_text(&cleaned)], &with_json[..]].concat();
        let of_file = json(&run("rank", &of_file, None));
        assert_eq!(of_store["input"]["kept"], logs.cleaned.len());
        assert_eq!(of_store["input"]["dropped"]["blank_answer"], 6);
        assert_eq!(of_store["slices"], of_file["slices"], "{flags:?}");
        let mut of_store = of_store["leaderboards"].clone();
        let mut of_file = of_file["leaderboards"].clone();
        for board in [&mut of_store, &mut of_file]
            .into_iter()
            .flat_map(|boards| boards.as_array_mut().unwrap())
        {
            // How many counts were made for the file is of no board.
            board.as_object_mut().unwrap().remove("notes");
        }
        assert_eq!(of_store, of_file, "{flags:?}");
    }
    // The log itself, cleaned while it is ranked, gives the same.
    let log = logs.path("vision-tmp-2026-05-01-conv.json");
    let of_log = json(&run(
        "rank",
        &[path_text(&log), "--clean", "agon-1", "--json"],
        None,
    ));
    let of_file = json(&run("rank", &[path_text(&cleaned), "--json"], None));
    assert_eq!(of_log["leaderboards"], of_file["leaderboards"]);
    assert_eq!(of_log["input"]["dropped"]["named"], 6);
    // With what is flagged it is another one.
    let all = json(&logs.rank_store(&["--keep-flagged", "--json"]));
    assert_eq!(all["input"]["kept"], logs.n_votes);
    assert_ne!(all["leaderboards"], of_file["leaderboards"]);
}

#[test]
fn without_a_profile_all_votes_of_a_log_count() {
    let logs = logs();
    json(&logs.import(&["--json"]));
    let log = logs.path("vision-tmp-2026-05-01-conv.json");
    let of_log = json(&run("rank", &[path_text(&log), "--json"], None));
    let of_store = json(&logs.rank_store(&["--json"]));
    assert_eq!(of_store["leaderboards"], of_log["leaderboards"]);
    assert_eq!(of_store["input"]["kept"], logs.n_votes);
    // The arena itself has no votes.
    let data = logs.data();
    let live = run("rank", &["--store", "live", "--data-dir", &data], None);
    assert_eq!(live.status.code(), Some(3), "{}", text(&live.stderr));
    let both = json(&run(
        "rank",
        &["--store", "all", "--data-dir", &data, "--json"],
        None,
    ));
    assert_eq!(both["leaderboards"], of_log["leaderboards"]);
}

#[test]
fn a_second_copy_of_a_battle_is_refused_and_counted() {
    let logs = logs();
    json(&logs.import(&["--json"]));
    let before = json(&logs.rank_store(&["--json"]));
    let rejects = logs.path("rejects.jsonl");
    let again = json(&logs.import(&["--json", "--rejects", path_text(&rejects)]));
    assert_eq!(again["kept"], 0);
    assert_eq!(again["rejected"]["repeated_id"], logs.n_votes);
    let lines = std::fs::read_to_string(rejects).unwrap();
    let n_repeated = lines.lines().filter(|line| line.contains("repeated_id"));
    assert_eq!(n_repeated.count() as u64, logs.n_votes);
    // The cleaned file holds the same battles.
    let cleaned = logs.path("cleaned.json");
    let data = logs.data();
    let of_file = json(&run(
        "import",
        &[path_text(&cleaned), "--data-dir", &data, "--json"],
        None,
    ));
    assert_eq!(of_file["rejected"]["repeated_id"], logs.cleaned.len());
    assert_eq!(json(&logs.rank_store(&["--json"])), before);
    // In another source they are others.
    let elsewhere = json(&logs.import(&["--source", "elsewhere", "--json"]));
    assert_eq!(elsewhere["kept"], logs.n_votes);
    let both = json(&logs.rank_store(&["--json"]));
    assert_eq!(both["input"]["kept"], 2 * logs.n_votes);
    assert_eq!(both["input"]["sources"][0]["path"], "store:elsewhere");
    let one = json(&logs.rank_store(&["--source", "import", "--json"]));
    assert_eq!(one["leaderboards"], before["leaderboards"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_are_shown_normalised_and_whoever_voted_is_not_named() {
    let logs = logs();
    let imported = json(&logs.import(&["--json"]));
    let n_images = imported["images"].as_u64().unwrap();
    let problems = |code: &str| imported["image_problems"][code].as_u64().unwrap_or(0);
    let n_missing = problems("image_missing");
    let n_broken = problems("image_unsupported");
    assert_eq!(n_images + n_missing + n_broken, logs.n_votes, "{imported}");
    assert!(n_images > 40 && n_missing > 0 && n_broken > 0, "{imported}");
    let store = Store::open(&logs.path("data")).await.unwrap();
    let mut judges = std::collections::HashSet::new();
    let pool = ImagePool::new(1, ImageLimits::default());
    let now = jiff::Timestamp::UNIX_EPOCH;
    for row in 0..90_usize {
        let id = imported_battle_id("import", &format!("{row:031x}0"));
        let found = store.imported_battle(id).await.unwrap().unwrap();
        assert_eq!(found.battle.n_turns, Some(1));
        assert_eq!(found.battle.conversations.b.len(), 2);
        judges.insert(found.battle.judge.unwrap());
        let picture = &found.battle.images[0];
        let reference = picture.reference.clone().unwrap();
        if let Ok(kept) = &picture.image {
            let shown = normalised_image(&store, &pool, *kept, now).await;
            let stored = shown.unwrap();
            let n = stored.meta.legacy_md5.unwrap()[15];
            assert_eq!(reference, md5(usize::from(n)));
            assert_eq!(stored.meta.width, 8 + u32::from(n));
        }
        assert_eq!(picture.turn_idx, Some(0));
    }
    assert_eq!(judges.len(), 30);
    let first = imported_battle_id("import", &format!("{:031x}0", 0));
    let first = store.imported_battle(first).await.unwrap().unwrap();
    assert_eq!(
        first.battle.models.a.len(),
        first.battle.models.a.trim().len()
    );
    assert!(Winner::ALL.contains(&first.battle.winner));
    store.close().await;
    for name in ["agon.db", "agon.db-wal"] {
        let bytes = std::fs::read(logs.path("data").join(name)).unwrap_or_default();
        let has_address = bytes.windows(11).any(|window| window == b"198.51.100.");
        assert!(!has_address, "{name} holds an address");
    }
}

#[test]
fn an_import_that_is_killed_goes_on_without_double_battles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("votes.jsonl");
    let n_rows = 40_000_u64;
    let mut lines = String::new();
    for row in 0..n_rows {
        let winner = ["model_a", "model_b", "tie"][usize::try_from(row * 7 % 3).unwrap()];
        let (a, b) = (row % 5, (row + 1 + row / 5 % 4) % 5);
        writeln!(
            lines,
            r#"{{"question_id":"q{row}","model_a":"m{a}","model_b":"m{b}","winner":"{winner}","judge":"j{}","tstamp":{},"conversation_a":[{{"role":"user","content":"q"}},{{"role":"assistant","content":"a"}}],"conversation_b":[{{"role":"user","content":"q"}},{{"role":"assistant","content":"b"}}]}}"#,
            row % 1000,
            1_777_600_000 + row
        )
        .unwrap();
    }
    std::fs::write(&path, lines).unwrap();
    let data = folder.path().join("data");
    let arguments = [path_text(&path), "--data-dir", path_text(&data), "--json"];
    let mut child = Command::new(AGON)
        .arg("import")
        .args(arguments)
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let stored = stderr
        .lines()
        .map_while(Result::ok)
        .find(|line| line.contains("stored a batch"));
    assert!(stored.is_some(), "nothing was stored");
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it ended before the kill");
    // Nothing of it counts yet.
    let rank_store = |flags: &[&str]| {
        let all = [
            &["--store", "imported", "--data-dir", path_text(&data)],
            flags,
        ]
        .concat();
        run("rank", &all, None)
    };
    assert_eq!(rank_store(&[]).status.code(), Some(3));
    // Something else is not mixed with it.
    let other = folder.path().join("other.csv");
    std::fs::write(&other, super::rank::CSV).unwrap();
    let refused = run(
        "import",
        &[path_text(&other), "--data-dir", path_text(&data)],
        None,
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--restart"));
    let imported = json(&run("import", &arguments, None));
    let resumed = imported["resumed"].as_u64().unwrap();
    assert!(resumed > 0 && resumed < n_rows, "{resumed}");
    assert_eq!(imported["kept"], n_rows);
    assert_eq!(imported["rejected"], json!({}));
    let of_store = json(&rank_store(&["--json"]));
    let of_file = json(&run("rank", &[path_text(&path), "--json"], None));
    assert_eq!(of_store["leaderboards"], of_file["leaderboards"]);
    assert_eq!(of_store["input"]["kept"], n_rows);
}

#[test]
fn rows_without_an_id_are_told_by_their_file_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let data = folder.path().join("data");
    let import = |input: &str, stdin: Option<&[u8]>| {
        let arguments = [input, "--data-dir", path_text(&data), "--json"];
        json(&run("import", &arguments, stdin))
    };
    let first = write("first.csv", super::rank::CSV);
    assert_eq!(import(&first, None)["kept"], 10);
    // The same bytes under another name, and from standard input, are the same battles.
    let copy = write("copy.csv", super::rank::CSV);
    assert_eq!(import(&copy, None)["rejected"]["repeated_id"], 10);
    let piped = import("-", Some(super::rank::CSV.as_bytes()));
    assert_eq!(piped["rejected"]["repeated_id"], 10);
    // Other bytes are others, although rows say the same.
    let other = write("other.csv", &format!("{}a,b,tie\n", super::rank::CSV));
    assert_eq!(import(&other, None)["kept"], 11);
    // A table of wins has its votes by cell.
    let matrix = write("matrix.csv", ",a,b\na,0,3\nb,2,0\n");
    assert_eq!(import(&matrix, None)["kept"], 5);
    assert_eq!(import(&matrix, None)["rejected"]["repeated_id"], 5);
}

#[test]
fn a_refused_import_leaves_nothing() {
    let logs = logs();
    let broken = logs.path("broken.csv");
    std::fs::write(
        &broken,
        "question_id,model_a,model_b,winner\n1,a,b,tie\n2,a,b,maybe\n3,a,a,tie\n",
    )
    .unwrap();
    let data = logs.data();
    let rejects = logs.path("rejects.jsonl");
    let flags = [
        path_text(&broken),
        "--data-dir",
        &data,
        "--rejects",
        path_text(&rejects),
    ];
    let output = run("import", &[&flags[..], &["--strict"]].concat(), None);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let output = run("rank", &["--store", "imported", "--data-dir", &data], None);
    assert_eq!(output.status.code(), Some(3));
    // Without --strict each row has its fate, and what was refused is no obstacle.
    let imported = json(&run("import", &[&flags[..], &["--json"]].concat(), None));
    assert_eq!(imported["rows"], 3);
    assert_eq!(imported["kept"], 1);
    assert_eq!(imported["rejected"]["winner_unknown"], 1);
    assert_eq!(imported["rejected"]["self_battle"], 1);
    assert_eq!(
        std::fs::read_to_string(&rejects).unwrap().lines().count(),
        2
    );
    for (arguments, expected) in [
        (vec![path_text(&broken), "--clean", "best"], 2),
        (vec![path_text(&broken), "--images", "/nowhere/at/all"], 2),
        (vec![path_text(&broken), "--source", " "], 2),
        (vec!["/nowhere/at/all.csv"], 3),
    ] {
        let all = [&arguments[..], &["--data-dir", &data]].concat();
        let output = run("import", &all, None);
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}");
    }
}

#[test]
fn aliases_name_models_and_stand_in_the_result() {
    let logs = logs();
    let table = logs.path("aliases.toml");
    std::fs::write(
        &table,
        "version = \"2026-12\"\n[aliases]\n\"wren-vl\" = \"wren\"\n",
    )
    .unwrap();
    let imported = json(&logs.import(&["--aliases", path_text(&table), "--json"]));
    assert!(imported["aliases"]["renamed_rows"].as_u64().unwrap() > 0);
    let board = json(&logs.rank_store(&["--json"]));
    let names: Vec<_> = board["leaderboards"][0]["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["model"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"wren") && !names.contains(&"wren-vl"),
        "{names:?}"
    );
}

#[test]
fn of_several_votes_on_a_battle_the_last_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("votes.csv");
    std::fs::write(
        &path,
        "question_id,model_a,model_b,winner,tstamp\nq,a,b,model_a,1700000000\nr,a,b,model_b,1700000001\nq,a,b,model_b,1700000009\n",
    )
    .unwrap();
    let data = folder.path().join("data");
    let arguments = [path_text(&path), "--data-dir", path_text(&data)];
    for (profile, expected) in [
        ("fastchat-2025-04", "voted_again"),
        ("agon-1", "superseded"),
    ] {
        let source = ["--source", profile, "--clean", profile, "--json"];
        let imported = json(&run("import", &[&arguments[..], &source].concat(), None));
        assert_eq!(imported["kept"], 2);
        assert_eq!(imported["rejected"]["repeated_id"], 1);
        assert!(
            imported["cleaning"].to_string().contains(expected),
            "{imported}"
        );
        let all = ["--store", "imported", "--source", profile];
        let all = [&all[..], &["--data-dir", path_text(&data), "--json"]].concat();
        let board = json(&run("rank", &all, None));
        assert_eq!(board["input"]["kept"], 2, "{board}");
        // Both votes that count are for b, so that neither model can be rated.
        assert_eq!(board["leaderboards"][0]["models"][0]["wins"], 2);
    }
    assert!(Path::new(&data).join("agon.db").is_file());
}
