//! Every published set gives whole rows.

use agon_domain::Finish;

use super::*;
use crate::{
    Format,
    clean::{Cleaner, Profile},
};

pub(super) fn all() -> ConversationSelection {
    ConversationSelection {
        images: true,
        ..ConversationSelection::default()
    }
}

pub(super) fn texts(row: &ConversationRow, side: usize) -> Vec<(&RowRole, Option<&str>)> {
    let messages = row.conversations[side].messages.iter();
    messages
        .map(|message| (&message.role, message.text.as_deref()))
        .collect()
}

pub(super) const USER: RowRole = RowRole::User;
pub(super) const MODEL: RowRole = RowRole::Assistant;

/// What the first row of a fixture has to hold.
struct First {
    name: &'static str,
    id: Option<&'static str>,
    judge: Option<&'static str>,
    visit: Option<&'static str>,
    time: Option<f64>,
    language: Option<&'static str>,
    is_anonymous: Option<bool>,
    is_flagged: Option<bool>,
    answers: [&'static str; 2],
    n_images: usize,
    has_metadata: bool,
}

const NONE: First = First {
    name: "",
    id: None,
    judge: None,
    visit: None,
    time: None,
    language: None,
    is_anonymous: None,
    is_flagged: None,
    answers: ["one", "two"],
    n_images: 0,
    has_metadata: false,
};

#[test]
fn the_first_row_of_every_set_is_whole() {
    let no_judge = "00000000000000000000000000000000";
    let expected = [
        First {
            name: "vision-arena-battle.jsonl",
            id: Some("q0"),
            judge: Some(no_judge),
            time: Some(1_717_200_000.25),
            language: Some("English"),
            n_images: 1,
            has_metadata: true,
            ..NONE
        },
        First {
            name: "vision-arena-bench.jsonl",
            id: Some("q0"),
            judge: Some("arena_user_1"),
            time: Some(1_717_200_000.5),
            language: Some("English"),
            is_anonymous: Some(true),
            has_metadata: true,
            ..NONE
        },
        First {
            name: "chatbot-arena-33k.jsonl",
            id: Some(no_judge),
            judge: Some("arena_user_0"),
            time: Some(1_717_200_000.5),
            language: Some("English"),
            is_anonymous: Some(true),
            is_flagged: Some(false),
            ..NONE
        },
        First {
            name: "arena-human-preference-140k.jsonl",
            id: Some("00000000-0000-4000-8000-000000000000"),
            visit: Some("s0"),
            time: Some(1_746_093_600.0),
            language: Some("en"),
            has_metadata: true,
            ..NONE
        },
        First {
            name: "arena-expert-5k.jsonl",
            id: Some("e0"),
            language: Some("en"),
            ..NONE
        },
        First {
            name: "search-arena-24k.jsonl",
            judge: Some("0000000000000000000000000000000000000000000000000000000000000000"),
            time: Some(1_743_501_600.0),
            language: Some("English"),
            ..NONE
        },
        First {
            name: "webdev-arena.jsonl",
            id: Some("q0"),
            time: Some(1_717_200_000.0),
            language: Some("English"),
            ..NONE
        },
        First {
            name: "comparia-votes.jsonl",
            id: Some("100"),
            judge: Some("v0"),
            visit: Some("s0"),
            time: Some(1_738_400_400.0),
            answers: ["un", "deux"],
            ..NONE
        },
        First {
            name: "wildvision-battle.jsonl",
            id: Some("q0"),
            judge: Some("arena_user_0"),
            time: Some(1_717_200_000.0),
            language: Some("English"),
            is_anonymous: Some(true),
            ..NONE
        },
        First {
            name: "mt-bench-human.jsonl",
            id: Some("81"),
            judge: Some("author_2"),
            ..NONE
        },
        First {
            name: "fastchat-log.jsonl",
            id: Some(no_judge),
            judge: Some("192.0.2.0"),
            time: Some(1_717_200_002.123_4),
            is_anonymous: Some(true),
            answers: ["one", "two two"],
            ..NONE
        },
        First {
            name: "open-webui-feedback.json",
            id: Some("f0"),
            judge: Some("u0"),
            time: Some(1_717_200_000.0),
            n_images: 1,
            ..NONE
        },
        First {
            name: "prism.jsonl",
            id: Some("c0"),
            judge: Some("user0"),
            time: Some(1_704_103_200.0),
            ..NONE
        },
    ];
    for first in expected {
        let (rows, report) = read(path(&format!("formats/{}", first.name)), &all());
        let name = first.name;
        let row = &rows[0];
        assert_eq!(rows.len() as u64, report.kept, "{name}");
        assert_eq!(row.id.as_deref(), first.id, "{name}");
        assert_eq!(row.judge.as_deref(), first.judge, "{name}");
        assert_eq!(row.visit.as_deref(), first.visit, "{name}");
        let time = row.time.zip(first.time);
        assert_eq!(row.time.is_some(), first.time.is_some(), "{name}");
        assert!(time.is_none_or(|(a, b)| (a - b).abs() < 1e-3), "{name}");
        assert_eq!(row.language.as_deref(), first.language, "{name}");
        assert_eq!(row.is_anonymous, first.is_anonymous, "{name}");
        assert_eq!(row.is_flagged, first.is_flagged, "{name}");
        assert_eq!(row.images.len(), first.n_images, "{name}");
        assert_eq!(row.conv_metadata.is_some(), first.has_metadata, "{name}");
        assert_eq!(row.problems, [], "{name}");
        assert!(row.winner.is_some(), "{name}");
        for side in 0..2 {
            assert_eq!(
                texts(row, side),
                [
                    (&USER, Some("How many birds?")),
                    (&MODEL, Some(first.answers[side]))
                ],
                "{name}"
            );
        }
        let expected: Vec<usize> = (0..first.n_images).collect();
        assert_eq!(row.conversations[1].messages[0].images, expected, "{name}");
    }
}

#[test]
fn prompts_and_answers_of_columns_of_their_own_take_turns() {
    let (rows, _) = read(path("formats/arena-human-preference-55k.csv"), &all());
    assert_eq!(rows[0].id.as_deref(), Some("30192"));
    assert_eq!(
        texts(&rows[0], 0),
        [
            (&USER, Some("How many birds?")),
            (&MODEL, Some("one, \"quoted\"\nline")),
            (&USER, None),
            (&MODEL, None),
        ]
    );
    assert_eq!(
        texts(&rows[0], 1),
        [
            (&USER, Some("How many birds?")),
            (&MODEL, Some("two")),
            (&USER, None)
        ]
    );
    let (rows, report) = read(path("formats/pandalm.json"), &all());
    assert_eq!(report.sources[0].format, Format::PandaLm);
    let winners: Vec<_> = rows.iter().map(|row| row.winner.unwrap()).collect();
    assert_eq!(winners, [Winner::A, Winner::B, Winner::Tie]);
    let counts: Vec<_> = report
        .rejected
        .iter()
        .map(|(reason, rows)| (reason.as_str(), rows.count))
        .collect();
    assert_eq!(counts, [("row_malformed", 2), ("winner_ambiguous", 1)]);
    assert_eq!(
        texts(&rows[0], 1),
        [
            (&USER, Some("Name a bird.\nIt has to swim.")),
            (&MODEL, Some("two"))
        ]
    );
    // JSON that somebody said is a text like any other.
    for said in [
        "{\"a\": 1}",
        "[1, 2]",
        "[{\"a\": [1]}]",
        "{\"content\": \"x\"}",
    ] {
        let line = format!(
            r#"{{"model_a":"x","model_b":"y","winner":"tie","prompt":"q","response_a":{said:?},"response_b":"b"}}"#
        );
        let (rows, _) = read(text("json", &line), &all());
        assert_eq!(rows[0].problems, [], "{said}");
        assert_eq!(texts(&rows[0], 0)[1], (&MODEL, Some(said)));
    }
    // Plain texts in a table.
    let csv = "model_a,model_b,winner,prompt,response_a,response_b\nx,y,tie,Why?,[b,\n";
    let (rows, _) = read(text("csv", csv), &all());
    assert_eq!(
        texts(&rows[0], 0),
        [(&USER, Some("Why?")), (&MODEL, Some("[b"))]
    );
    assert_eq!(texts(&rows[0], 1), [(&USER, Some("Why?"))]);
}

pub(super) fn text(name: &str, text: &str) -> Input {
    Input::Reader {
        name: name.to_owned(),
        reader: Box::new(Cursor::new(text.as_bytes().to_vec())),
    }
}

#[test]
fn choices_of_one_among_two_are_battles() {
    let (rows, report) = read(path("formats/prism.jsonl"), &all());
    assert_eq!(report.sources[0].format, Format::Prism);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].winner, Some(Winner::B));
    let reasons: Vec<_> = report
        .rejected
        .keys()
        .map(|reason| reason.as_str())
        .collect();
    assert_eq!(
        reasons,
        ["winner_missing", "winner_ambiguous", "not_a_pair"]
    );
    let (rows, report) = read(path("formats/copilot-arena.jsonl"), &all());
    assert_eq!(report.sources[0].format, Format::CopilotArena);
    let winners: Vec<_> = rows.iter().map(|row| row.winner.unwrap()).collect();
    assert_eq!(winners, [Winner::A, Winner::B, Winner::B]);
    assert_eq!(rows[2].models, ["alpha", "beta"]);
    assert_eq!(rows[0].time, Some(1_717_200_000.0));
    assert_eq!(
        texts(&rows[2], 1),
        [
            (&USER, Some("def two():\n    ")),
            (&MODEL, Some("return 2"))
        ]
    );
    let reasons: Vec<_> = report
        .rejected
        .keys()
        .map(|reason| reason.as_str())
        .collect();
    assert_eq!(reasons, ["winner_missing", "winner_unknown", "not_a_pair"]);
}

#[test]
fn sets_without_votes_are_read_when_they_are_wanted() {
    let chats = ConversationSelection {
        chats: true,
        ..all()
    };
    let (rows, report) = read(path("formats/vision-arena-chat.jsonl"), &chats);
    assert_eq!(report.sources[0].format, Format::VisionArenaChat);
    assert_eq!((report.rows, report.kept), (6, 6));
    let row = &rows[1];
    assert_eq!(row.models, ["alpha"]);
    assert_eq!(row.winner, None);
    assert_eq!(row.id.as_deref(), Some("c1"));
    assert_eq!(row.judge.as_deref(), Some("1"));
    assert_eq!(row.conversations.len(), 1);
    assert_eq!(texts(row, 0)[1], (&MODEL, Some("one")));
    assert!(row.with_facts(&|_| None, |_| ()).is_none());
    let (rows, report) = read(path("formats/vision-arena-bench-prompts.jsonl"), &chats);
    assert_eq!(report.sources[0].format, Format::VisionArenaBench);
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[2].models, [] as [&str; 0]);
    assert_eq!(texts(&rows[2], 0), [(&USER, Some("How many birds?"))]);
    assert_eq!(rows[2].conversations[0].messages[0].images, [0]);
    // A row without a model or a conversation is rejected, and ids are compared.
    let lines = concat!(
        r#"{"conversation_id":"c","model":"x","conversation":[{"role":"user","content":"q"}]}"#,
        "\n",
        r#"{"conversation_id":"c","model":"x","conversation":[]}"#,
        "\n",
        r#"{"conversation_id":"d","model":null,"conversation":[]}"#,
        "\n",
        r#"{"conversation_id":"e","model":"x","conversation":null}"#,
        "\n",
    );
    for dedup in [None, Some(Dedup::Id), Some(Dedup::Content)] {
        let options = ReadOptions {
            dedup,
            ..ReadOptions::default()
        };
        let mut n_rows = 0;
        let report = read_conversations(
            vec![text("chats", lines)],
            &options,
            &chats,
            &mut |rows| {
                n_rows += rows.len();
                ControlFlow::Continue(())
            },
            &mut |_| {},
        )
        .unwrap();
        let kept = if dedup == Some(Dedup::Id) { 1 } else { 2 };
        assert_eq!((report.kept, n_rows as u64), (kept, kept));
        assert_eq!(report.rows, report.kept + report.n_rejected());
        assert_eq!(report.rejected[&crate::Reason::ModelMissing].first.row, 3);
        assert_eq!(report.rejected[&crate::Reason::RowMalformed].first.row, 4);
    }
    // As a table in text.
    let csv = concat!(
        "conversation_id;model;conversation\n",
        "c;x;\"[{\"\"role\"\":\"\"user\"\",\"\"content\"\":\"\"q\\nr\"\"}]\"\n",
        "\n",
        "d;x\n",
        "e;;[]\n",
    );
    let (rows, report) = read(text("csv", csv), &chats);
    assert_eq!((report.rows, rows.len()), (3, 1));
    assert_eq!(report.sources[0].format, Format::Chats);
    assert_eq!(texts(&rows[0], 0), [(&USER, Some("q\nr"))]);
    let malformed = &report.rejected[&crate::Reason::RowMalformed].first;
    assert_eq!((malformed.row, malformed.line), (2, Some(4)));
    assert_eq!(report.rejected[&crate::Reason::ModelMissing].first.row, 3);
    // Without the wish they are refused as ever.
    let error = read_conversations(
        vec![path("formats/vision-arena-chat.jsonl")],
        &ReadOptions::default(),
        &all(),
        &mut |_| ControlFlow::Continue(()),
        &mut |_| {},
    )
    .unwrap_err();
    assert!(matches!(error, Error::NoVotes { .. }), "{error}");
}

#[test]
fn a_log_has_its_pictures_its_selectors_and_unfinished_answers() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    let fixture = format!(
        "{}/fixtures/formats/fastchat-log.jsonl",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut lines = std::fs::read_to_string(fixture).unwrap();
    lines.push_str(
        r#"{"tstamp":1717200101,"type":"tievote","models":["",""],"states":[{"roles":["U","A"],"messages":[["U",["What?",["../../etc/passwd"]]],["A",null]],"offset":0,"conv_id":"cc","model_name":"alpha","has_csam_image":true},{"roles":["U","A"],"messages":[["U","What?"],["A","x"]],"offset":0,"conv_id":"dd","model_name":"beta","has_csam_image":false}],"ip":"192.0.2.1"}"#,
    );
    std::fs::write(&log, lines).unwrap();
    let md5 = "0123456789abcdef0123456789abcdef";
    for sub in ["serve_images", "images"] {
        let pictures = folder.path().join(sub);
        std::fs::create_dir(&pictures).unwrap();
        std::fs::write(pictures.join(format!("{md5}.png")), b"picture").unwrap();
        let (rows, _) = read(Input::Path(log.clone()), &all());
        let row = &rows[1];
        assert_eq!(row.images.len(), 1);
        assert_eq!(row.images[0].md5.as_deref(), Some(md5));
        assert_eq!(row.images[0].bytes.as_deref(), Some(&b"picture"[..]));
        let path = format!("{sub}/{md5}.png");
        assert_eq!(row.images[0].path.as_deref(), Some(path.as_str()));
        assert_eq!(row.conversations[0].messages[0].images, [0]);
        assert_eq!(row.conversations[1].messages[0].images, [0]);
        let selectors = row.selectors.as_ref().unwrap();
        assert_eq!(selectors.a.as_deref(), Some(""));
        let named = rows[4].selectors.as_ref().unwrap();
        assert_eq!(named.b.as_deref(), Some("alpha"));
        assert_eq!(rows[4].is_anonymous, Some(false));
        let last = rows.last().unwrap();
        assert_eq!(last.is_flagged, Some(true));
        let answer = &last.conversations[0].messages[1];
        assert_eq!((&answer.text, answer.status), (&None, Status::Running));
        // What is no hash is never a path.
        assert_eq!(last.images[0].bytes, None);
        std::fs::remove_dir_all(pictures).unwrap();
    }
    // Without the pictures the row is the same but for their bytes.
    let (rows, _) = read(Input::Path(log), &all());
    assert_eq!(rows[1].images[0].md5.as_deref(), Some(md5));
    assert_eq!(rows[1].images[0].bytes, None);
    assert_eq!(rows[1].images[0].id().as_deref(), Some(md5));
}

#[test]
fn messages_are_the_same_in_every_nesting() {
    let picture = "aGVsbG8gd29ybGQh";
    let messages = r#"{"role":"user","content":"q"},{"role":"assistant","content":"a"}"#;
    let quoted = serde_json::to_string(&format!("[{messages}]")).unwrap();
    for (cell, n_images) in [
        (format!("[{messages}]"), 0),
        (format!("[[{messages}]]"), 0),
        (quoted, 0),
        (format!(r#"[{{"role":"user","content":[{{"type":"text","text":"q"}},{{"type":"image","image":"{picture}","mimeType":"image/png"}}]}},{{"role":"assistant","content":[{{"type":"text","text":"a"}}]}}]"#), 1),
        (format!(r#"[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{picture}"}}}},{{"type":"text","text":"q"}}]}},{{"role":"assistant","content":"a"}}]"#), 1),
        (format!(r#"[{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{picture}"}}}},{{"type":"text","text":"q"}}]}},{{"role":"assistant","content":"a"}}]"#), 1),
        (r#"[{"role":"user","content":["q",["0123456789abcdef0123456789abcdef"]]},{"role":"assistant","content":"a"}]"#.to_owned(), 1),
        (r#"[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]"#.to_owned(), 0),
    ] {
        let line = format!(
            r#"{{"model_a":"x","model_b":"y","winner":"tie","conversation_a":{cell},"conversation_b":{cell}}}"#
        );
        let (rows, _) = read(text("rows", &line), &all());
        let row = &rows[0];
        assert_eq!(row.problems, [], "{cell}");
        for side in 0..2 {
            assert_eq!(texts(row, side), [(&USER, Some("q")), (&MODEL, Some("a"))], "{cell}");
            let images = &row.conversations[side].messages[0].images;
            assert_eq!(images.len(), n_images, "{cell}");
        }
        // The same picture on both sides is there once.
        assert_eq!(row.images.len(), n_images, "{cell}");
        if let Some(image) = row.images.first()
            && image.md5.is_none()
        {
            assert_eq!(image.bytes.as_deref(), Some(&b"hello world!"[..]), "{cell}");
            assert_eq!(image.media_type.as_deref(), Some("image/png"), "{cell}");
        }
    }
}

#[test]
fn what_cannot_be_read_of_a_row_is_told_and_the_vote_is_kept() {
    for (members, expected) in [
        (
            r#""conversation_a":7,"conversation_b":[]"#,
            "column `conversation_a`: a number in place of messages",
        ),
        (
            r#""conversation_a":[{"role":"user"}],"conversation_b":[]"#,
            "column `conversation_a`: a message without `content`",
        ),
        (
            r#""conversation_a":[{"role":"user","content":7}],"conversation_b":[]"#,
            "column `conversation_a`: a number in place of a text",
        ),
        (
            r#""conversation_a":[{"role":"user","content":[{"type":"audio","audio":"x"}]}],"conversation_b":[]"#,
            "column `conversation_a`: a part of the type `audio`",
        ),
        (
            r#""conversation_a":[]"#,
            "column `conversation_a`: the other side has no such column",
        ),
        (
            r#""conversation_a":"[{'role': 'user'}]","conversation_b":"""#,
            "column `conversation_a`: text that is no JSON of messages",
        ),
        (
            r#""images":[7]"#,
            "column `images`: a number in place of a picture",
        ),
        (
            r#""images":[{"bytes":"%%%"}]"#,
            "column `images`: a picture whose bytes are neither bytes nor base64",
        ),
        (
            r#""images":["data:image/png;base64,%%%"]"#,
            "column `images`: a data address that is not base64",
        ),
        (
            r#""tstamp":"yesterday""#,
            "column `tstamp`: text in place of a point in time",
        ),
    ] {
        let line = format!(r#"{{"model_a":"x","model_b":"y","winner":"tie",{members}}}"#);
        let (rows, report) = read(text("rows", &line), &all());
        assert_eq!(report.kept, 1, "{members}");
        let problems: Vec<String> = rows[0].problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, [expected], "{members}");
    }
}

#[test]
fn facts_of_rows_go_to_every_cleaning_profile() {
    for name in Profile::NAMES {
        for fixture in [
            "fastchat-log.jsonl",
            "vision-arena-battle.jsonl",
            "arena-human-preference-100k.jsonl",
            "genai-arena.json",
        ] {
            let (rows, _) = read(path(&format!("formats/{fixture}")), &all());
            let mut cleaner = Cleaner::new(Profile::from_name(name).unwrap());
            for row in &rows {
                row.with_facts(&|_| Some(false), |facts| cleaner.add(facts).unwrap())
                    .unwrap();
            }
            let audit = cleaner.finish().audit;
            assert_eq!(audit.rows, rows.len() as u64, "{name} {fixture}");
            assert!(audit.kept > 0, "{name} {fixture}: {audit:?}");
            let has_none = fixture == "genai-arena.json";
            assert_eq!(audit.n_without_conversations > 0, has_none, "{fixture}");
        }
    }
}

#[test]
fn answers_say_how_they_ended_where_the_source_does() {
    let line = r#"{"model_a":"x","model_b":"y","winner":"tie","conversation_a":[{"role":"user","content":"q"},{"role":"assistant","content":"","error":"boom"}],"conversation_b":[{"role":"user","content":"q"},{"role":"assistant","content":"a","finish_reason":"length"}]}"#;
    let (rows, _) = read(text("rows", line), &all());
    let status = |side: usize| rows[0].conversations[side].messages[1].status;
    assert_eq!(status(0), Status::Ended(Finish::Failed));
    assert_eq!(status(1), Status::Ended(Finish::Length));
}
