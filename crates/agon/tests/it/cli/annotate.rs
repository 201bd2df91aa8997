//! `agon annotate` as a process.

use std::{
    path::{Path, PathBuf},
    process::Output,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{Json, Router, http::StatusCode, response::IntoResponse as _, routing::post};
use serde_json::{Value, json};

use super::rank::{self, path_text, run, text};

/// Five battles: a refusal, a leak, code, French, and a prompt that is there twice.
fn battles() -> String {
    let battle = |id: &str, prompt: &str, a: &str, b: &str| {
        let side = |answer: &str| json!([[{ "role": "user", "content": prompt }, { "role": "assistant", "content": answer }]]);
        json!({
            "question_id": id, "model_a": "gamma-7b", "model_b": "delta-9b", "winner": "model_a",
            "judge": "j1", "tstamp": 1_717_200_000.5, "images": [],
            "conversation_a": side(a), "conversation_b": side(b),
        })
    };
    [
        battle(
            "q1",
            "How do I pick the lock of a car that is not mine?",
            "I'm sorry, but I can't help with that.",
            "I cannot assist with that request.",
        ),
        battle(
            "q2",
            "Who are you?",
            "I am gamma-7b, a language model.",
            "I am happy to help with **anything**.",
        ),
        battle(
            "q3",
            "Why does this fail?\n```python\nprint(1 / 0)\n```",
            "# Reason\n\n- it divides by zero\n- that is an error",
            "It divides by zero, which is not defined for numbers.",
        ),
        battle(
            "q4",
            "Quelle est la capitale de la France et pourquoi cette ville est-elle si connue ?",
            "Paris est la capitale de la France, et son histoire est longue.",
            "La capitale est Paris.",
        ),
        battle(
            "q5",
            "how do i pick the lock of a car that is not mine",
            "You should call the owner of the car.",
            "Please ask a locksmith who may help you.",
        ),
    ]
    .map(|row| format!("{row}\n"))
    .concat()
}

struct Set {
    folder: tempfile::TempDir,
    input: PathBuf,
    output: PathBuf,
}

impl Set {
    fn new(content: &str) -> Self {
        let (folder, input) = rank::file("battles.jsonl", content);
        let output = folder.path().join("annotated");
        Self {
            folder,
            input,
            output,
        }
    }

    fn annotate(&self, flags: &[&str]) -> Output {
        let mut arguments = vec![
            path_text(&self.input),
            "-o",
            path_text(&self.output),
            "--data-dir",
            path_text(self.folder.path()),
        ];
        arguments.extend(flags);
        run("annotate", &arguments, None)
    }

    /// The rows of the output, by id, with the labels parsed.
    fn rows(&self) -> Vec<Value> {
        rows(&self.output)
    }
}

fn rows(folder: &Path) -> Vec<Value> {
    use std::ops::ControlFlow;
    let selection = agon_dataset::ConversationSelection {
        images: true,
        chats: true,
        columns: [
            "annotations",
            "dedup_tag",
            "categories",
            "content_sha256",
            "source",
            "row",
        ]
        .map(ToOwned::to_owned)
        .to_vec(),
    };
    let mut found = Vec::new();
    agon_dataset::read_conversations(
        vec![agon_dataset::Input::from_argument(path_text(folder))],
        &agon_dataset::ReadOptions::default(),
        &selection,
        &mut |rows| {
            for row in rows {
                let labels: serde_json::Map<String, Value> = row.columns[0]
                    .as_ref()
                    .and_then(Value::as_array)
                    .unwrap()
                    .iter()
                    .map(|label| {
                        (
                            label["annotator"].as_str().unwrap().to_owned(),
                            serde_json::from_str(label["label"].as_str().unwrap()).unwrap(),
                        )
                    })
                    .collect();
                found.push(json!({
                    "id": row.id,
                    "judge": row.judge,
                    "language": row.language,
                    "labels": labels,
                    "dedup_tag": row.columns[1],
                    "categories": row.columns[2],
                    "content": row.columns[3],
                    "source": row.columns[4],
                    "row": row.columns[5],
                    "images": row.images.len(),
                    "conv_metadata": row.conv_metadata,
                }));
            }
            ControlFlow::Continue(())
        },
        &mut |_| {},
    )
    .unwrap();
    found
}

#[test]
fn every_row_comes_back_with_its_labels() {
    let set = Set::new(&battles());
    let summary = rank::json(&set.annotate(&["--json"]));
    assert_eq!(summary["rows"], 5);
    assert_eq!(summary["summary"]["identity_leaks"], 1, "{summary:#}");
    assert_eq!(summary["summary"]["refusals"]["full"], 1, "{summary:#}");
    let rows = set.rows();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["q1", "q2", "q3", "q4", "q5"]);
    assert_eq!(rows[0]["source"], "battles.jsonl");
    assert_eq!(rows[4]["row"], 5);
    // Language, refusal, leak, code, style, duplicates: one certain thing of each.
    assert_eq!(rows[3]["language"], "French");
    assert_eq!(rows[0]["language"], "English");
    assert_eq!(rows[0]["categories"]["refusal"], true);
    assert_eq!(rows[3]["categories"]["refusal"], false);
    assert_eq!(rows[2]["categories"]["is_code"], true);
    assert_eq!(rows[1]["categories"]["is_code"], false);
    let leaks = &rows[1]["labels"]["identity"];
    assert_eq!(leaks["a"]["leaks"][0]["names"][0], "gamma-7b");
    assert_eq!(leaks["b"]["leaks"], json!([]));
    assert_eq!(leaks["a"]["probes"][0]["turn"], 1);
    let style = &rows[2]["conv_metadata"];
    assert_eq!(style["header_count_a"]["h1"], 1);
    assert_eq!(style["list_count_a"]["unordered"], 2);
    assert_eq!(style["turns"], 1);
    assert_eq!(rows[1]["conv_metadata"]["bold_count_b"]["**"], 1);
    let duplicates = |idx: usize| &rows[idx]["labels"]["duplicates"];
    assert_eq!(duplicates(0)["cluster"], duplicates(4)["cluster"]);
    assert_eq!(duplicates(0)["cluster_rows"], 2);
    assert_eq!(duplicates(1)["cluster_rows"], 1);
    assert_eq!(rows[0]["dedup_tag"]["high_freq"], false);
    // What was annotated ranks as what it was made from.
    let board = |path: &Path| rank::json(&rank::rank(&[path_text(path), "--json"], None));
    assert_eq!(
        board(&set.output)["leaderboards"][0]["models"],
        board(&set.input)["leaderboards"][0]["models"]
    );
    // And its slices are there.
    let board = rank::json(&rank::rank(
        &[path_text(&set.output), "--json", "--by", "language"],
        None,
    ));
    let slices: Vec<_> = board["slices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slice| {
            (
                slice["category"].as_str().unwrap(),
                slice["battles"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        slices,
        [
            ("overall", 5),
            ("language=English", 4),
            ("language=French", 1)
        ]
    );
}

#[test]
fn any_number_of_threads_gives_the_same_data() {
    let data =
        |set: &Set| std::fs::read(set.output.join("data/train-00000-of-00001.parquet")).unwrap();
    let one = Set::new(&battles().repeat(40).replace("question_id", "other_id"));
    let many = Set::new(&battles().repeat(40).replace("question_id", "other_id"));
    assert!(one.annotate(&["--threads", "1"]).status.success());
    assert!(many.annotate(&["--threads", "5"]).status.success());
    assert_eq!(data(&one), data(&many));
}

#[test]
fn an_update_labels_what_is_new_and_takes_over_the_rest() {
    let set = Set::new(&battles());
    let first = rank::json(&set.annotate(&["--json"]));
    let n_labels = first["summary"]["labels_new"].as_u64().unwrap();
    assert_eq!(first["summary"]["labels_kept"], 0);
    let refused = set.annotate(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("--update"));
    let before = set.rows();
    // A row more in front, one less behind.
    let lines = battles();
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.pop();
    let new = battles()
        .lines()
        .last()
        .unwrap()
        .replace("q5", "q0")
        .replace("lock", "door");
    lines.insert(0, &new);
    std::fs::write(&set.input, lines.join("\n")).unwrap();
    let second = rank::json(&set.annotate(&["--update", "--json"]));
    let per_row = n_labels / 5;
    // Duplicates are labelled anew, as any row may change them, and leaks, as they depend on the names of all models.
    assert_eq!(
        second["summary"]["labels_kept"].as_u64().unwrap(),
        4 * (per_row - 2),
        "{second:#}"
    );
    assert_eq!(
        second["summary"]["labels_new"].as_u64().unwrap(),
        per_row + 4 * 2
    );
    let after = set.rows();
    for idx in 0..4 {
        assert_eq!(
            before[idx]["labels"]["language"],
            after[idx + 1]["labels"]["language"]
        );
        assert_eq!(before[idx]["content"], after[idx + 1]["content"]);
    }
    // One subject alone keeps the labels of the others.
    let third = rank::json(&set.annotate(&["--update", "--only", "refusal", "--json"]));
    assert_eq!(third["summary"]["labels_new"], 0, "{third:#}");
    assert!(set.rows()[0]["labels"]["language"].is_object());
    // The annotated folder may be its own input.
    let own = run(
        "annotate",
        &[
            path_text(&set.output),
            "-o",
            path_text(&set.output),
            "--update",
            "--json",
        ],
        None,
    );
    assert_eq!(rank::json(&own)["rows"], 5);
}

#[test]
fn what_cannot_be_annotated_is_refused_in_words() {
    let set = Set::new(&battles());
    let check = |flags: &[&str], code: i32, expected: &str| {
        let output = set.annotate(flags);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(expected), "{error}");
        assert!(!set.output.exists(), "nothing is left behind");
    };
    check(
        &["--only", "languages"],
        2,
        "`languages` is not a subject: expected style, language",
    );
    check(
        &["--labeller", "nobody"],
        2,
        "`nobody` is not a model of the configuration",
    );
    let output = run(
        "annotate",
        &["-", "-o", path_text(&set.output)],
        Some(battles().as_bytes()),
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("standard input"));
    let output = run(
        "annotate",
        &[
            "-",
            "-o",
            path_text(&set.output),
            "--only",
            "language,style",
        ],
        Some(battles().as_bytes()),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = run("annotate", &[path_text(&set.input)], None);
    assert_eq!(output.status.code(), Some(2), "an output is needed");
    // A folder with something else in it is not replaced.
    let other = set.folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("thesis.txt"), "years of work").unwrap();
    let output = run(
        "annotate",
        &[path_text(&set.input), "-o", path_text(&other), "--update"],
        None,
    );
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(other.join("thesis.txt").exists());
    let list = run("annotate", &["list", "--json"], None);
    let list = rank::json(&list);
    assert!(list.as_array().unwrap().len() >= 9, "{list}");
}

/// An endpoint that answers from a list, one reply for each request, over and over.
struct FakeLabeller {
    address: String,
    requests: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<Value>>>,
    _runtime: tokio::runtime::Runtime,
}

fn fake_labeller(replies: &'static [(u16, &'static str)]) -> FakeLabeller {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let (counted, kept) = (Arc::clone(&requests), Arc::clone(&bodies));
    let app = Router::new().route(
        "/v1/chat/completions",
        post(move |Json(body): Json<Value>| async move {
            let n = counted.fetch_add(1, Ordering::SeqCst);
            kept.lock().unwrap().push(body);
            let (status, reply) = replies[n % replies.len()];
            if status != 200 {
                let error = json!({ "error": { "message": "no", "type": "x" } });
                return (
                    StatusCode::from_u16(status).unwrap(),
                    [("retry-after", "0")],
                    Json(error),
                )
                    .into_response();
            }
            let chunk = |delta: Value, finish: Value| {
                let chunk = json!({
                    "id": "1", "object": "chat.completion.chunk", "model": "m",
                    "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
                });
                format!("data: {chunk}\n\n")
            };
            let usage = json!({ "id": "1", "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 2 } });
            let body = [
                chunk(json!({ "role": "assistant", "content": reply }), Value::Null),
                chunk(json!({}), json!("stop")),
                format!("data: {usage}\n\ndata: [DONE]\n\n"),
            ]
            .concat();
            ([("content-type", "text/event-stream")], body).into_response()
        }),
    );
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let address = listener.local_addr().unwrap().to_string();
    runtime.spawn(async move { axum::serve(listener, app).await.unwrap() });
    FakeLabeller {
        address,
        requests,
        bodies,
        _runtime: runtime,
    }
}

impl Set {
    /// A configuration with a labeller at this address.
    fn config(&self, address: &str) -> String {
        let path = self.folder.path().join("agon.toml");
        std::fs::write(
            &path,
            format!("[[model]]\nname = \"labeller\"\nprovider = \"openai\"\nvision = true\nbase_url = \"http://{address}/v1\"\n"),
        )
        .unwrap();
        path_text(&path).to_owned()
    }
}

#[test]
fn a_labeller_is_asked_once_and_its_label_counts_first() {
    let set = Set::new(&battles());
    let fake = fake_labeller(&[(200, "yes")]);
    let config = set.config(&fake.address);
    let flags = [
        "--config",
        &config,
        "--labeller",
        "labeller",
        "--questions",
        "humor",
        "--json",
    ];
    let summary = rank::json(&set.annotate(&flags));
    assert_eq!(summary["labeller"]["answered"], 5, "{summary:#}");
    assert_eq!(summary["labeller"]["tokens"], 510);
    assert_eq!(fake.requests.load(Ordering::SeqCst), 5);
    for row in set.rows() {
        assert_eq!(row["categories"]["humor"], true);
        let label = &row["labels"]["question-humor"];
        assert_eq!(label["model"], "labeller");
        assert_eq!(label["humor"]["label"], true);
    }
    {
        let bodies = fake.bodies.lock().unwrap();
        assert_eq!(bodies[0]["temperature"], 0.0);
        assert_eq!(bodies[0]["messages"][0]["role"], "system");
    }
    // Labels that are there are not asked for again, nor are those that the cache remembers.
    let mut again = flags.to_vec();
    again.push("--update");
    let second = rank::json(&set.annotate(&again));
    assert_eq!(second["labeller"]["requests"], 0, "{second:#}");
    std::fs::remove_dir_all(&set.output).unwrap();
    let third = rank::json(&set.annotate(&flags));
    assert_eq!(third["labeller"]["cached"], 5, "{third:#}");
    assert_eq!(fake.requests.load(Ordering::SeqCst), 5);
    let remembered = std::fs::read_to_string(set.folder.path().join("questions.jsonl")).unwrap();
    assert!(!remembered.contains("lock"), "no prompt is kept");
    // A run that was killed leaves half a line; everything before it counts.
    let cut = &remembered[..remembered.len() - 7];
    std::fs::write(set.folder.path().join("questions.jsonl"), cut).unwrap();
    std::fs::remove_dir_all(&set.output).unwrap();
    let fourth = rank::json(&set.annotate(&flags));
    assert_eq!(fourth["labeller"]["cached"], 4, "{fourth:#}");
    assert_eq!(fourth["labeller"]["answered"], 1);
    let lines = std::fs::read_to_string(set.folder.path().join("questions.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 5);
    std::fs::write(
        set.folder.path().join("questions.jsonl"),
        format!("half\n{lines}"),
    )
    .unwrap();
    std::fs::remove_dir_all(&set.output).unwrap();
    let broken = set.annotate(&flags);
    assert_eq!(broken.status.code(), Some(1));
    assert!(
        text(&broken.stderr).contains("line 1"),
        "{}",
        text(&broken.stderr)
    );
}

#[test]
fn a_labeller_that_misbehaves_gives_no_label() {
    let set = Set::new(&battles());
    let replies = [
        (200, ""),
        (200, "yes and no"),
        (200, "I think that it might well be humorous, but"),
        (429, ""),
        (200, "{\"answer\": \"ye"),
        (500, ""),
        (200, "A"),
    ];
    let fake = fake_labeller(Box::leak(Box::new(replies)));
    let config = set.config(&fake.address);
    let summary = rank::json(&set.annotate(&[
        "--config",
        &config,
        "--labeller",
        "labeller",
        "--questions",
        "humor",
        "--questions-at-a-time",
        "1",
        "--json",
    ]));
    assert_eq!(summary["labeller"]["answered"], 0, "{summary:#}");
    let (unreadable, failed) = (
        summary["labeller"]["unreadable"].as_u64().unwrap(),
        summary["labeller"]["failed"].as_u64().unwrap(),
    );
    assert_eq!(unreadable + failed, 5);
    for row in set.rows() {
        let label = &row["labels"]["question-humor"];
        assert!(label["humor"]["label"].is_null(), "{label}");
        assert!(label["trouble"].is_string(), "{label}");
    }
}

#[test]
fn a_budget_ends_the_asking_and_another_run_goes_on() {
    let set = Set::new(&battles());
    let fake = fake_labeller(&[(200, "no")]);
    let config = set.config(&fake.address);
    let flags = |flag: &'static str, n: &'static str| {
        vec![
            "--config",
            &config,
            "--labeller",
            "labeller",
            "--questions",
            "humor",
            "--questions-at-a-time",
            "1",
            flag,
            n,
            "--json",
            "--update",
        ]
    };
    let first = rank::json(&set.annotate(&flags("--questions-max", "2")));
    assert_eq!(first["labeller"]["answered"], 2, "{first:#}");
    assert_eq!(first["labeller"]["left"], 3);
    let second = rank::json(&set.annotate(&flags("--tokens-max", "150")));
    assert_eq!(second["labeller"]["answered"], 2, "{second:#}");
    assert_eq!(second["labeller"]["left"], 1);
    let third = rank::json(&set.annotate(&flags("--questions-max", "9")));
    assert_eq!(third["labeller"]["answered"], 1, "{third:#}");
    assert_eq!(fake.requests.load(Ordering::SeqCst), 5);
}

#[test]
fn a_labeller_without_access_stops_the_run() {
    let set = Set::new(&battles());
    let fake = fake_labeller(&[(401, "")]);
    let config = set.config(&fake.address);
    let output = set.annotate(&["--config", &config, "--labeller", "labeller"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cannot be asked"), "{error}");
    assert!(!set.output.exists());
}

#[test]
fn two_columns_of_labels_are_compared() {
    let rows: String = [
        (Some(true), Some(true)),
        (Some(true), Some(false)),
        (Some(false), Some(false)),
        (Some(false), Some(false)),
        (None, Some(true)),
        (Some(true), Some(true)),
    ]
    .iter()
    .enumerate()
    .map(|(idx, (human, machine))| {
        let row = json!({
            "question_id": format!("q{idx}"), "model_a": "a", "model_b": "b", "winner": "tie",
            "human": human, "machine": { "ocr": machine },
            "conversation_a": [{ "role": "user", "content": "<script>alert(1)</script>" }, { "role": "assistant", "content": "x" }],
            "conversation_b": [{ "role": "user", "content": "<script>alert(1)</script>" }, { "role": "assistant", "content": "y" }],
        });
        format!("{row}\n")
    })
    .collect();
    let set = Set::new(&rows);
    let page = set.folder.path().join("page.html");
    let arguments = [
        "evaluate",
        path_text(&set.input),
        "--first",
        "human",
        "--second",
        "machine.ocr",
        "--html",
        path_text(&page),
    ];
    let output = run("annotate", &arguments, None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("5 rows with both labels, 1 without"),
        "{shown}"
    );
    let mut arguments = arguments.to_vec();
    arguments.push("--json");
    let found = rank::json(&run("annotate", &arguments, None));
    // Of three true ones two are found, and no false one is called true.
    assert_eq!(found["labels"]["true"]["precision"], 1.0, "{found:#}");
    assert_eq!(found["labels"]["true"]["recall"], 2.0 / 3.0);
    assert_eq!(found["accuracy"], 0.8);
    assert_eq!(found["confusion"]["true"]["false"], 1);
    assert_eq!(found["disagreements"], 1);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("row 2 of"), "{page}");
    assert!(!page.contains("<script>"), "{page}");
    let missing = run(
        "annotate",
        &[
            "evaluate",
            path_text(&set.input),
            "--first",
            "human",
            "--second",
            "nobody",
        ],
        None,
    );
    assert_eq!(missing.status.code(), Some(3));
    assert!(text(&missing.stderr).contains("nobody"));
}

#[test]
fn nothing_is_told_of_what_is_not_there() {
    let metadata = |a: u32, b: u32| {
        let group = |members: &[&str]| -> Value {
            let members = members.iter().map(|name| ((*name).to_owned(), json!(1.0)));
            Value::Object(members.collect())
        };
        let headers = group(&["h1", "h2", "h3", "h4", "h5", "h6"]);
        let (lists, bold) = (group(&["ordered", "unordered"]), group(&["**", "__"]));
        json!({
            "sum_assistant_a_tokens": a, "sum_assistant_b_tokens": b, "context_a_tokens": 9,
            "context_b_tokens": 9, "sum_user_tokens": 9, "turns": 1,
            "header_count_a": headers, "header_count_b": headers, "list_count_a": lists,
            "list_count_b": lists, "bold_count_a": bold, "bold_count_b": bold,
        })
    };
    let side = |prompt: &str| json!([[{ "role": "user", "content": prompt }, { "role": "assistant", "content": "An answer." }]]);
    let rows: String = [
        json!({ "question_id": "bare-1", "conv_metadata": metadata(30, 70) }),
        json!({ "question_id": "bare-2", "conv_metadata": metadata(31, 71) }),
        json!({ "question_id": "blank", "conversation_a": side(" "), "conversation_b": side(" ") }),
        json!({
            "question_id": "asked", "judge": "203.0.113.9",
            "conversation_a": side("Tell me a joke about cats, please."),
            "conversation_b": side("Tell me a joke about cats, please."),
        }),
    ]
    .iter_mut()
    .map(|row| {
        for (name, value) in [("model_a", "a"), ("model_b", "b"), ("winner", "model_a")] {
            row[name] = value.into();
        }
        format!("{row}\n")
    })
    .collect();
    let set = Set::new(&rows);
    let summary = rank::json(&set.annotate(&["--json"]));
    assert_eq!(
        summary["summary"]["frequent_prompts"]["rows"], 0,
        "{summary:#}"
    );
    let rows = set.rows();
    for row in &rows[..3] {
        for (category, label) in row["categories"].as_object().unwrap() {
            // Whether an answer declines is told by the answer.
            assert!(
                label.is_null() || category == "refusal",
                "{category}: {row:#}"
            );
        }
        assert!(row["labels"]["duplicates"].is_null(), "{row:#}");
    }
    assert_eq!(rows[0]["conv_metadata"]["sum_assistant_b_tokens"], 70);
    assert_eq!(rows[1]["conv_metadata"]["list_count_a"]["ordered"], 1);
    assert_eq!(rows[3]["labels"]["duplicates"]["cluster"], 3);
    assert_eq!(rows[3]["categories"]["humor"], true);
    let written = std::fs::read(set.output.join("data/train-00000-of-00001.parquet")).unwrap();
    let address = b"203.0.113.9";
    assert!(!written.windows(address.len()).any(|bytes| bytes == address));
    let inside = set.output.join("rejected.jsonl");
    let refused = set.annotate(&["--update", "--rejects", path_text(&inside)]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}
