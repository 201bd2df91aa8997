//! Releases: the schema, the bytes, the numbers of the card, and the way back.

use std::{collections::BTreeMap, fs, fs::File, path::Path};

use agon_domain::{
    Battle, BattleId, ConsentId, Finish, Generation, ImageId, MarkdownCounts, Mode, NotRatable,
    Side, Sides, StyleFeatures, Turn, VisitId, Vote, VoterId, Winner,
};
use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::Int64Type};
use jiff::{SignedDuration, Timestamp};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;
use crate::{Format, Input, Message, ReadOptions, ReleaseImage, Role, Unpublishable, read_votes};

fn start() -> Timestamp {
    "2026-11-29T23:00:00.25Z".parse().unwrap()
}

fn picture(n: u8) -> ReleaseImage {
    ReleaseImage::new(vec![n; 100 + usize::from(n)], "png")
}

fn generation(text: &str) -> Generation {
    Generation {
        text: text.to_owned(),
        finish: Some(Finish::Stop),
        ..Generation::started(1)
    }
}

fn battle(n: u8) -> Battle {
    let models = ["alpha", "beta", "gamma"];
    let turn = |idx: u8| Turn {
        prompt: format!("prompt {n}.{idx}"),
        image: (idx == 0 && n.is_multiple_of(2)).then(|| picture(n / 4).id()),
        sent_at: start(),
        generations: Sides {
            a: generation(&format!("answer a {n}.{idx} — ü")),
            b: generation(&format!("answer b {n}.{idx}")),
        },
    };
    let n_turns = 1 + n % 3;
    Battle {
        id: BattleId::from_bytes([n; 16]),
        visit: VisitId::from_bytes([0; 32]),
        voter: VoterId::from_bytes([n % 5; 16]),
        consent: ConsentId::from_bytes([0; 16]),
        mode: Mode::Battle,
        models: Sides {
            a: models[usize::from(n % 3)].to_owned(),
            b: models[usize::from((n + 1) % 3)].to_owned(),
        },
        pair_probability: 1.0 / 3.0,
        started_at: start(),
        // One turn more than the vote counted.
        turns: (0..=n_turns).map(turn).collect(),
        vote: Some(Vote {
            sequence: u64::from(n) + 1,
            winner: Winner::ALL[usize::from(n % 4)],
            n_turns: u32::from(n_turns),
            cast_at: start() + SignedDuration::from_mins(i64::from(n) * 60),
        }),
    }
}

fn style(n: u8) -> StyleFeatures {
    let markdown = MarkdownCounts {
        headers: [0, u32::from(n), 0, 0, 0, 6],
        list_ordered: 2,
        list_unordered: 3,
        bold_asterisks: 4,
        bold_underscores: 5,
    };
    StyleFeatures {
        assistant_tokens: Sides { a: 10, b: 20 },
        context_tokens: Sides { a: 30, b: 40 },
        user_tokens: 50,
        n_turns: u32::from(1 + n % 3),
        markdown: Sides {
            a: markdown,
            b: MarkdownCounts::default(),
        },
    }
}

fn record(n: u8) -> Record {
    let image = n.is_multiple_of(2).then(|| picture(n / 4));
    let style = (n > 0).then(|| style(n));
    let mut record = Record::from_battle(
        &battle(n),
        format!("voter-{}", n % 5),
        style.as_ref(),
        image,
    )
    .unwrap();
    record.consent_version = Some(if n < 10 { "2026-01" } else { "2026-02" }.to_owned());
    record
}

fn options() -> ReleaseOptions {
    ReleaseOptions::new(start(), "0.1.0")
}

fn write(folder: &Path, n_records: u8, options: ReleaseOptions) -> ReleaseSummary {
    let mut writer = ReleaseWriter::create(folder, options).unwrap();
    for n in 0..n_records {
        writer.push(&record(n)).unwrap();
    }
    writer.leave_out("no_vote", 3);
    writer.finish().unwrap()
}

fn batches(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    reader.map(Result::unwrap).collect()
}

const SCHEMA: &str = "\
judge: Utf8
winner: Utf8
num_turns: Int64
language: Utf8
categories: struct<captioning: Boolean, code: Boolean, creative_writing: Boolean, diagram: Boolean, entity_recognition: Boolean, homework: Boolean, humor: Boolean, is_code: Boolean, ocr: Boolean, refusal: Boolean>
images: list<struct<bytes: Binary, path: Utf8>>
question_id: Utf8
model_a: Utf8
model_b: Utf8
conversation_a: list<list<struct<role: Utf8, content: Utf8>>>
conversation_b: list<list<struct<role: Utf8, content: Utf8>>>
tstamp: Float64
conv_metadata: struct<sum_assistant_a_tokens: Int64, sum_assistant_b_tokens: Int64, context_a_tokens: Int64, context_b_tokens: Int64, sum_user_tokens: Int64, turns: Int64, header_count_a: struct<h1: Int64, h2: Int64, h3: Int64, h4: Int64, h5: Int64, h6: Int64>, header_count_b: struct<h1: Int64, h2: Int64, h3: Int64, h4: Int64, h5: Int64, h6: Int64>, list_count_a: struct<ordered: Int64, unordered: Int64>, list_count_b: struct<ordered: Int64, unordered: Int64>, bold_count_a: struct<**: Int64, __: Int64>, bold_count_b: struct<**: Int64, __: Int64>>
";

fn describe(data_type: &arrow_schema::DataType) -> String {
    use arrow_schema::DataType::{List, Struct};
    match data_type {
        List(element) => format!("list<{}>", describe(element.data_type())),
        Struct(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|member| format!("{}: {}", member.name(), describe(member.data_type())))
                .collect();
            format!("struct<{}>", members.join(", "))
        }
        other => other.to_string(),
    }
}

#[test]
fn the_schema_is_the_public_one_in_code_and_in_the_file() {
    let text = |schema: &arrow_schema::Schema| -> String {
        schema
            .fields()
            .iter()
            .map(|field| format!("{}: {}\n", field.name(), describe(field.data_type())))
            .collect()
    };
    assert_eq!(text(&release_schema()), SCHEMA);
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("r"), 2, options());
    let batch = &batches(&folder.path().join("r/data/train-00000-of-00001.parquet"))[0];
    assert_eq!(text(&batch.schema()), SCHEMA);
}

#[test]
fn the_metadata_tells_python_what_the_columns_are() {
    let schema = release_schema();
    let text = &schema.metadata()["huggingface"];
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let features = &value["info"]["features"];
    assert_eq!(features["images"], serde_json::json!([{"_type": "Image"}]));
    assert_eq!(features["num_turns"]["dtype"], "int64");
    assert_eq!(
        features["conversation_a"][0][0]["content"]["dtype"],
        "string"
    );
    assert_eq!(
        features["conv_metadata"]["bold_count_a"]["**"]["dtype"],
        "int64"
    );
    assert_eq!(features["categories"]["ocr"]["dtype"], "bool");
    let place = |name: &str| text.find(&format!("\"{name}\"")).unwrap();
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    assert!(
        names.is_sorted_by_key(|name| place(name)),
        "the order of the columns is kept"
    );
}

#[test]
fn a_record_holds_the_turns_that_the_vote_counted() {
    let record = record(4);
    assert_eq!(record.n_turns(), 2);
    let message = |role, content: &str| Message {
        role,
        content: content.to_owned(),
    };
    assert_eq!(
        record.conversations.a[1],
        [
            message(Role::User, "prompt 4.1"),
            message(Role::Assistant, "answer a 4.1 — ü"),
        ]
    );
    assert_eq!(record.images, [picture(1)]);
    assert_eq!(record.question_id, "04".repeat(16));
}

#[test]
fn a_battle_that_must_not_be_published_says_why() {
    #[track_caller]
    fn check(
        change: impl FnOnce(&mut Battle),
        image: Option<ReleaseImage>,
        expected: Unpublishable,
    ) {
        let mut battle = battle(4);
        change(&mut battle);
        let error = Record::from_battle(&battle, "v".to_owned(), None, image).unwrap_err();
        assert_eq!(error, expected);
    }
    let image = || Some(picture(1));
    check(|battle| battle.vote = None, image(), Unpublishable::NoVote);
    check(
        |battle| battle.turns[1].generations.b.finish = Some(Finish::Failed),
        image(),
        Unpublishable::NotRatable(NotRatable::Invalid {
            side: Side::B,
            finish: Finish::Failed,
        }),
    );
    check(
        |battle| battle.vote.as_mut().unwrap().n_turns = 0,
        image(),
        Unpublishable::NotRatable(NotRatable::NoTurn),
    );
    check(
        |battle| battle.turns.truncate(1),
        image(),
        Unpublishable::TurnsMissing {
            n_counted: 2,
            n_turns: 1,
        },
    );
    let id = picture(1).id();
    check(|_| {}, None, Unpublishable::ImageMissing { id });
    let id = picture(9).id();
    check(|_| {}, Some(picture(9)), Unpublishable::ImageOther { id });
    check(
        |battle| battle.turns[0].image = None,
        Some(picture(9)),
        Unpublishable::ImageOther { id },
    );
    // A turn behind the vote may be in any state.
    let mut battle = battle(4);
    battle.turns[2].generations.a.finish = None;
    assert!(Record::from_battle(&battle, "v".to_owned(), None, image()).is_ok());
}

#[test]
fn every_column_holds_what_the_record_says() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("r");
    let mut writer = ReleaseWriter::create(&target, options()).unwrap();
    let mut annotated = record(4);
    annotated.language = Some("German".to_owned());
    annotated.categories[8] = Some(true);
    annotated.categories[9] = Some(false);
    writer.push(&annotated).unwrap();
    let mut bare = record(7);
    bare.style = None;
    writer.push(&bare).unwrap();
    writer.finish().unwrap();
    let batch = &batches(&target.join("data/train-00000-of-00001.parquet"))[0];
    let text = |name: &str, row: usize| {
        let column = batch.column_by_name(name).unwrap().as_string::<i32>();
        column.is_valid(row).then(|| column.value(row).to_owned())
    };
    assert_eq!(text("judge", 0).as_deref(), Some("voter-4"));
    assert_eq!(text("winner", 0).as_deref(), Some("model_a"));
    assert_eq!(text("winner", 1).as_deref(), Some("tie (bothbad)"));
    assert_eq!(text("language", 0).as_deref(), Some("German"));
    assert_eq!(text("language", 1), None);
    assert_eq!(text("model_a", 0).as_deref(), Some("beta"));
    assert_eq!(text("model_b", 0).as_deref(), Some("gamma"));
    let tstamp = batch.column_by_name("tstamp").unwrap();
    let tstamp = tstamp
        .as_primitive::<arrow_array::types::Float64Type>()
        .value(0);
    assert!((tstamp - start().as_microsecond() as f64 / 1e6 - 4.0 * 3_600.0).abs() < 1e-6);
    let categories = batch.column_by_name("categories").unwrap().as_struct();
    let flag = |name: &str, row: usize| {
        let column = categories.column_by_name(name).unwrap().as_boolean();
        column.is_valid(row).then(|| column.value(row))
    };
    assert_eq!(
        (flag("ocr", 0), flag("refusal", 0), flag("code", 0)),
        (Some(true), Some(false), None)
    );
    assert_eq!(flag("ocr", 1), None);
    let images = batch.column_by_name("images").unwrap().as_list::<i32>();
    assert_eq!((images.value_length(0), images.value_length(1)), (1, 0));
    assert!(
        images.is_valid(1),
        "a battle of text alone has an empty list"
    );
    let image = images.value(0);
    let image = image.as_struct();
    assert_eq!(
        image.column(0).as_binary::<i32>().value(0),
        picture(1).bytes()
    );
    let path = image.column(1).as_string::<i32>().value(0).to_owned();
    assert_eq!(
        path,
        format!("{}.png", hexadecimal(&Sha256::digest(picture(1).bytes())))
    );
    let turns = batch
        .column_by_name("conversation_b")
        .unwrap()
        .as_list::<i32>()
        .value(0);
    assert_eq!(turns.len(), 2);
    let messages = turns.as_list::<i32>().value(1);
    let messages = messages.as_struct();
    assert_eq!(messages.column(0).as_string::<i32>().value(1), "assistant");
    assert_eq!(
        messages.column(1).as_string::<i32>().value(1),
        "answer b 4.1"
    );
    let metadata = batch.column_by_name("conv_metadata").unwrap().as_struct();
    let number = |group: Option<&str>, name: &str, row: usize| {
        let inside = match group {
            Some(group) => metadata.column_by_name(group).unwrap().as_struct(),
            None => metadata,
        };
        let column = inside
            .column_by_name(name)
            .unwrap()
            .as_primitive::<Int64Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    for (group, name, expected) in [
        (None, "sum_assistant_a_tokens", 10),
        (None, "sum_assistant_b_tokens", 20),
        (None, "context_a_tokens", 30),
        (None, "context_b_tokens", 40),
        (None, "sum_user_tokens", 50),
        (None, "turns", 2),
        (Some("header_count_a"), "h2", 4),
        (Some("header_count_a"), "h6", 6),
        (Some("header_count_b"), "h6", 0),
        (Some("list_count_a"), "ordered", 2),
        (Some("list_count_a"), "unordered", 3),
        (Some("bold_count_a"), "**", 4),
        (Some("bold_count_a"), "__", 5),
    ] {
        assert_eq!(number(group, name, 0), Some(expected), "{group:?} {name}");
        let without_style = (name == "turns").then_some(2);
        assert_eq!(number(group, name, 1), without_style, "{group:?} {name}");
    }
}

#[test]
fn a_release_reads_back_as_the_same_votes() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("r");
    let summary = write(&target, 40, options());
    let votes = read_votes(
        vec![Input::Path(target.clone())],
        &ReadOptions {
            strict: true,
            repeated_ids: true,
            ..ReadOptions::default()
        },
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(votes.report.sources[0].format, Format::VisionArenaBattle);
    assert_eq!(votes.report.n_repeated_ids, Some(0));
    let mut expected: BTreeMap<(String, String), [u64; 4]> = BTreeMap::new();
    for n in 0..40 {
        let Sides { a, b } = record(n).models;
        expected.entry((a, b)).or_default()[usize::from(n % 4)] += 1;
    }
    let names = votes.tally.models();
    let found: BTreeMap<(String, String), [u64; 4]> = votes
        .tally
        .pairs()
        .map(|((a, b), counts)| {
            let pair = (names[a as usize].clone(), names[b as usize].clone());
            (pair, Winner::ALL.map(|winner| counts.get(winner)))
        })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(
        (summary.n_battles, summary.n_models, summary.n_voters),
        (40, 3, 5)
    );
    assert_eq!(summary.winners, [10; 4]);
    assert_eq!(summary.n_images, 10);
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for part in ["", "data"] {
        for entry in fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let small = || ReleaseOptions {
        row_group_rows_max: 3,
        shard_bytes_max: 20_000,
        ..options()
    };
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let summary = write(&one, 40, small());
    write(&two, 40, small());
    let files = contents(&one);
    assert_eq!(files, contents(&two));
    let names: Vec<&String> = files.keys().collect();
    assert_eq!(
        names[..2],
        ["README.md", "data/train-00000-of-00002.parquet"]
    );
    assert_eq!(names.len(), 2 + 2);
    for file in &summary.files {
        let content = &files[&file.path];
        assert_eq!(file.bytes, content.len() as u64);
        assert_eq!(file.sha256, hexadecimal(&Sha256::digest(content)));
    }
    let rows: u64 = summary.files.iter().filter_map(|file| file.rows).sum();
    assert_eq!(rows, 40);
    let votes = read_votes(vec![Input::Path(one)], &ReadOptions::default(), &mut |_| {}).unwrap();
    assert_eq!((votes.report.kept, votes.report.sources.len()), (40, 2));
}

#[test]
fn row_groups_are_bounded_by_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("r");
    let mut writer = ReleaseWriter::create(
        &target,
        ReleaseOptions {
            row_group_bytes_max: 100_000,
            ..options()
        },
    )
    .unwrap();
    for n in 0..8 {
        let mut record = record(n);
        record.images = vec![ReleaseImage::new(
            vec![n; if n == 5 { 300_000 } else { 40_000 }],
            "webp",
        )];
        writer.push(&record).unwrap();
    }
    writer.finish().unwrap();
    let file = File::open(target.join("data/train-00000-of-00001.parquet")).unwrap();
    let metadata = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .metadata()
        .clone();
    let rows: Vec<i64> = metadata
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    assert_eq!(rows, [2, 2, 1, 1, 2]);
    assert!(
        metadata.row_groups()[0]
            .column(0)
            .column_index_offset()
            .is_some()
    );
}

#[test]
fn records_that_contradict_themselves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = ReleaseWriter::create(&folder.path().join("r"), options()).unwrap();
    #[track_caller]
    fn check(writer: &mut ReleaseWriter, change: impl FnOnce(&mut Record), expected: &str) {
        let mut record = record(4);
        change(&mut record);
        let error = writer.push(&record).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let writer = &mut writer;
    check(writer, |record| record.judge.clear(), "it has no judge");
    check(writer, |record| record.question_id.clear(), "it has no id");
    check(
        writer,
        |record| record.models.b = " ".to_owned(),
        "the model of side b has no name",
    );
    check(
        writer,
        |record| record.models.b = "beta".to_owned(),
        "`beta` meets itself",
    );
    check(
        writer,
        |record| record.conversations.a.truncate(1),
        "side a has 1 turns and side b 2",
    );
    check(
        writer,
        |record| record.style = Some(style(2)),
        "its style features count 3 turns: it has 2",
    );
    writer.push(&record(4)).unwrap();
    check(writer, |_| {}, "its id is there already");
}

#[test]
fn the_target_is_only_touched_at_the_end_and_only_when_it_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("deep/r");
    let mut writer = ReleaseWriter::create(&target, options()).unwrap();
    writer.push(&record(1)).unwrap();
    assert!(!target.exists());
    drop(writer);
    assert_eq!(
        fs::read_dir(folder.path().join("deep")).unwrap().count(),
        0,
        "nothing is left behind"
    );

    let empty = ReleaseWriter::create(&target, options()).unwrap();
    assert!(matches!(empty.finish(), Err(Error::EmptyRelease)));

    fs::create_dir_all(&target).unwrap();
    write(&target, 3, options());
    let before = contents(&target);
    let error = ReleaseWriter::create(&target, options()).unwrap_err();
    assert!(matches!(error, Error::TargetNotEmpty { .. }), "{error}");
    assert_eq!(contents(&target), before);

    let replacing = || ReleaseOptions {
        replace: true,
        ..options()
    };
    write(&target, 4, replacing());
    assert_ne!(contents(&target), before);
    assert_eq!(fs::read_dir(folder.path().join("deep")).unwrap().count(), 1);

    // What a release did not write is not deleted with it.
    for name in [".git", "data/more.parquet"] {
        let foreign = target.join(name);
        fs::write(&foreign, "mine").unwrap();
        let error = ReleaseWriter::create(&target, replacing()).unwrap_err();
        assert!(matches!(error, Error::TargetNotARelease { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
        fs::remove_file(foreign).unwrap();
    }
    let extension = folder.path().join("extension");
    fs::create_dir_all(extension.join("data")).unwrap();
    fs::write(extension.join("manifest.json"), "{\"name\": \"mine\"}").unwrap();
    let error = ReleaseWriter::create(&extension, replacing()).unwrap_err();
    assert!(matches!(error, Error::TargetNotARelease { .. }), "{error}");

    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let before = contents(&target);
        write(&link, 5, replacing());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_ne!(contents(&target), before);
    }

    let other = folder.path().join("photos");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("cat.jpg"), "cat").unwrap();
    let error = ReleaseWriter::create(&other, replacing()).unwrap_err();
    assert!(matches!(error, Error::TargetNotARelease { .. }), "{error}");
    assert!(other.join("cat.jpg").exists());
}

#[test]
fn the_card_counts_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("r");
    write(&target, 40, options());
    let card = fs::read_to_string(target.join("README.md")).unwrap();
    for expected in [
        "pretty_name: \"Battles of a vision arena\"\nlicense: \"other\"\nlicense_name: \"not decided\"\nsize_categories:\n- n<1K\n",
        "    path: data/train-*\n",
        "    num_examples: 40\n",
        "  - name: images\n    list: image\n",
        "  - name: conversation_a\n    list:\n      list:\n      - name: role\n        dtype: string\n",
        "    - name: bold_count_b\n      struct:\n      - name: '**'\n        dtype: int64\n",
        "40 battles of anonymous models on the same prompts, each with one vote: 3 models by 5 voters.",
        "20 with a picture (10 different pictures), 20 of text alone.",
        "from 2026-11-29 to 2026-12-01 (UTC)",
        "**Unscreened: do not publish as is.** No detector has looked",
        "| `tie (bothbad)` | 10 | 25.0 % |\n",
        "| 1 | 14 |\n| 2 | 13 |\n| 3 | 13 |\n",
        "| alpha | 27 | 14 | 13 |\n| beta | 27 | 13 | 14 |\n| gamma | 26 | 13 | 13 |\n",
        "Not annotated: the column `language` is null.",
        "for style control: annotated for 39 of 40 battles",
        "a fair coin decides",
        "HMAC-SHA-256",
        "| 2026-01 | 10 |\n| 2026-02 | 30 |\n",
        "| `no\\_vote` | 3 |\n",
        "agon rank FOLDER",
        "Made at 2026-11-29T23:00:00.25Z.",
        "The operator has named no contact for deletion.",
    ] {
        assert!(card.contains(expected), "{expected:?} is not in\n{card}");
    }
    assert!(!card.contains(&folder.path().display().to_string()));
}

#[test]
fn the_card_says_what_the_operator_states_and_escapes_names() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("r");
    let options = ReleaseOptions {
        title: "Zoo: \"animals\"\n---".to_owned(),
        contact: Some("data@example.org".to_owned()),
        screening: Screening::Detectors(vec!["faces 1.0".to_owned()]),
        licence: Licence {
            id: "cc-by-4.0".to_owned(),
            name: "Creative Commons Attribution 4.0".to_owned(),
            terms: "Say where it is from.".to_owned(),
        },
        ..options()
    };
    let mut writer = ReleaseWriter::create(&target, options).unwrap();
    let mut record = record(1);
    record.language = Some("Norwegian".to_owned());
    record.models.a = "a|b <script>".to_owned();
    writer.push(&record).unwrap();
    writer.finish().unwrap();
    let card = fs::read_to_string(target.join("README.md")).unwrap();
    for expected in [
        "pretty_name: \"Zoo: \\\"animals\\\" ---\"\nlicense: \"cc-by-4.0\"\nlanguage:\n- 'no'\n",
        "| a\\|b \\<script> | 1 | 1 | 0 |",
        "- faces 1.0\n",
        "Creative Commons Attribution 4.0 (`cc-by-4.0`)\n\nSay where it is from.\n",
        "writes to data@example.org.",
        "| Norwegian | 1 |",
        "No battle was left out.",
    ] {
        assert!(card.contains(expected), "{expected:?} is not in\n{card}");
    }
    assert!(!card.contains("Unscreened"));
}

#[test]
fn the_manifest_lists_every_file_and_what_was_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("r");
    let summary = write(&target, 40, options());
    let text = fs::read_to_string(target.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["rows"], 40);
    assert_eq!(manifest["schema_version"], "1");
    assert_eq!(manifest["agon_version"], "0.1.0");
    assert_eq!(manifest["created_at"], "2026-11-29T23:00:00.25Z");
    assert_eq!(manifest["screened"], false);
    assert_eq!(manifest["left_out"], serde_json::json!({"no_vote": 3}));
    assert_eq!(
        manifest["consent_versions"],
        serde_json::json!({"2026-01": 10, "2026-02": 30})
    );
    assert_eq!(manifest["winners"]["tie (bothbad)"], 10);
    let files = manifest["files"].as_array().unwrap();
    assert_eq!(files.len(), summary.files.len());
    assert_eq!(files[0]["path"], "data/train-00000-of-00001.parquet");
    assert_eq!(files[0]["rows"], 40);
    assert_eq!(files[0]["sha256"], summary.files[0].sha256);
    assert_eq!(files[1]["path"], "README.md");
    let id: ImageId = picture(1).path().trim_end_matches(".png").parse().unwrap();
    assert_eq!(id, picture(1).id());
}
