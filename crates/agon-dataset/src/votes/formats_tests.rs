//! Every published set in its own shape, with rows made up for it.

use std::{collections::BTreeMap, io::Cursor, sync::Arc};

use ::parquet::arrow::ArrowWriter;
use agon_domain::Winner;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{Field, Fields};

use super::*;
use crate::Reason;

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/formats/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn read_with(bytes: Vec<u8>, options: &ReadOptions<'_>) -> Result<Votes, Error> {
    let input = Input::Reader {
        name: "votes".to_owned(),
        reader: Box::new(Cursor::new(bytes)),
    };
    read_votes(vec![input], options, &mut |_| {})
}

fn winners(votes: &Votes) -> [u64; 4] {
    let mut sums = [0; 4];
    for (_, counts) in votes.tally.pairs() {
        for winner in Winner::ALL {
            sums[winner as usize] += counts.get(winner);
        }
    }
    sums
}

fn rejected(votes: &Votes) -> Vec<(&'static str, u64, u64)> {
    let report = &votes.report;
    let rejected = report.rejected.iter();
    rejected
        .map(|(reason, rows)| (reason.as_str(), rows.count, rows.first.row))
        .collect()
}

/// Reads the same bytes as counts and as rows, which have to agree.
#[track_caller]
fn read(bytes: Vec<u8>) -> Votes {
    let counted = read_with(bytes.clone(), &ReadOptions::default()).unwrap();
    let report = &counted.report;
    assert_eq!(report.rows, report.kept + report.n_rejected());
    assert_eq!(report.kept, counted.tally.total());
    let on_reject = |_: &RejectedRow| {};
    let by_row = ReadOptions {
        rejects: Some(&on_reject),
        ..ReadOptions::default()
    };
    let collected = read_with(bytes, &by_row).unwrap();
    assert_eq!(collected.report, counted.report);
    assert_eq!(winners(&collected), winners(&counted));
    counted
}

#[track_caller]
fn check(
    bytes: Vec<u8>,
    format: Format,
    expected: [u64; 4],
    expected_rejected: &[(&str, u64, u64)],
) -> Votes {
    let votes = read(bytes);
    assert_eq!(votes.report.sources[0].format, format);
    assert_eq!(winners(&votes), expected);
    assert_eq!(rejected(&votes), expected_rejected);
    votes
}

/// What most fixtures hold: six rows, all four winners.
const SIX: [u64; 4] = [2, 2, 1, 1];

#[test]
fn sets_with_one_winner_column_are_named_by_their_columns() {
    for (name, format) in [
        ("vision-arena-battle.jsonl", Format::VisionArenaBattle),
        ("vision-arena-bench.jsonl", Format::VisionArenaBench),
        ("chatbot-arena-33k.jsonl", Format::ChatbotArena33k),
        (
            "arena-human-preference-100k.jsonl",
            Format::HumanPreference100k,
        ),
        (
            "arena-human-preference-140k.jsonl",
            Format::HumanPreference140k,
        ),
        ("arena-expert-5k.jsonl", Format::ArenaExpert5k),
        ("search-arena-7k.jsonl", Format::SearchArena),
        ("webdev-arena.jsonl", Format::WebDevArena),
        ("wildvision-battle.jsonl", Format::WildVisionBattle),
        ("genai-arena.json", Format::GenAiArena),
    ] {
        println!("{name}");
        check(fixture(name), format, SIX, &[]);
    }
    check(
        fixture("mt-bench-human.jsonl"),
        Format::MtBenchHuman,
        [2, 2, 2, 0],
        &[],
    );
    let named = read(fixture("wildvision-battle.jsonl")).report.n_named;
    assert_eq!(named, 1);
}

#[test]
fn one_hot_winners_have_exactly_one_column_set() {
    let expected = [("winner_missing", 1, 4), ("winner_ambiguous", 1, 5)];
    let votes = check(
        fixture("arena-human-preference-55k.csv"),
        Format::HumanPreference55k,
        [1, 2, 1, 0],
        &expected,
    );
    let first = &votes.report.rejected[&Reason::WinnerAmbiguous].first;
    assert_eq!(first.column.as_deref(), Some("winner_model_a"));
    assert_eq!(first.value.as_deref(), Some("1, 1, 0"));
    // The same as whole numbers, fractions and truth values in Parquet.
    let flags: [[i32; 3]; 6] = [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, 0],
        [1, 1, 0],
        [0, 1, 0],
    ];
    let column = |kind: usize, side: usize| -> ArrayRef {
        let cells = flags.iter().map(|row: &[i32; 3]| row[side]);
        match kind {
            0 => Arc::new(cells.map(i64::from).collect::<Int64Array>()),
            1 => Arc::new(cells.map(f64::from).collect::<Float64Array>()),
            2 => Arc::new(cells.collect::<Int32Array>()),
            _ => Arc::new(cells.map(|cell| Some(cell == 1)).collect::<BooleanArray>()),
        }
    };
    for kind in 0..4 {
        let mut columns = models();
        columns.push(("prompt", text([Some("[\"p\"]"); 6])));
        columns.push(("response_a", text([Some("[\"a\"]"); 6])));
        columns.push(("response_b", text([Some("[\"b\", null]"); 6])));
        columns.push(("winner_model_a", column(kind, 0)));
        columns.push(("winner_model_b", column(kind, 1)));
        columns.push(("winner_tie", column(kind, 2)));
        check(
            write(columns),
            Format::HumanPreference55k,
            [1, 2, 1, 0],
            &expected,
        );
    }
}

#[test]
fn a_winner_given_by_name_is_a_side() {
    let expected = [
        ("winner_missing", 1, 3),
        ("winner_unknown", 1, 4),
        ("winner_ambiguous", 1, 5),
    ];
    let votes = check(
        fixture("comparia-votes.jsonl"),
        Format::CompariaVotes,
        [1, 1, 1, 0],
        &expected,
    );
    let unknown = &votes.report.rejected[&Reason::WinnerUnknown];
    assert_eq!(unknown.first.column.as_deref(), Some("chosen_model_name"));
    assert_eq!(unknown.values, BTreeMap::from([("delta".to_owned(), 1)]));
    let mut columns = models();
    columns[0].0 = "model_a_name";
    columns[1].0 = "model_b_name";
    let chosen = [
        Some("alpha"),
        None,
        None,
        Some("delta"),
        Some("beta"),
        Some(" beta"),
    ];
    columns.push(("chosen_model_name", text(chosen)));
    let equal = BooleanArray::from(vec![false, true, false, false, true, false]);
    columns.push(("both_equal", Arc::new(equal)));
    check(
        write(columns),
        Format::CompariaVotes,
        [1, 1, 1, 0],
        &expected,
    );
}

#[test]
fn conversations_without_a_vote_are_no_fault() {
    let expected = [("no_vote", 1, 5)];
    let votes = check(
        fixture("comparia-choices.jsonl"),
        Format::CompariaChoices,
        [2, 1, 1, 1],
        &expected,
    );
    assert!(!votes.report.rejected.contains_key(&Reason::WinnerMissing));
    let expected = [("no_vote", 2, 2)];
    check(
        fixture("search-arena-24k.jsonl"),
        Format::SearchArena,
        [1, 1, 1, 1],
        &expected,
    );
    let mut columns = models();
    let labels = ["model_a", "", "tie", "tie (bothbad)", "", "model_b"];
    let labels = labels.map(|label| Some(label).filter(|label| !label.is_empty()));
    columns.push(("winner", text(labels)));
    columns.push(("messages_a", conversation(6, false)));
    columns.push(("messages_b", conversation(6, false)));
    columns.push(("system_a_metadata", text([Some("{}"); 6])));
    check(write(columns), Format::SearchArena, [1, 1, 1, 1], &expected);
    // Strict reading takes them, and still refuses what is wrong.
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    let votes = read_with(fixture("search-arena-24k.jsonl"), &strict).unwrap();
    assert_eq!(votes.report.kept, 4);
    let error = read_with(fixture("comparia-votes.jsonl"), &strict).unwrap_err();
    assert!(matches!(error, Error::RowRejected { .. }), "{error}");
}

#[test]
fn parts_of_content_tell_the_web_development_arena() {
    for (has_parts, format) in [(true, Format::WebDevArena), (false, Format::BattlesParquet)] {
        let mut columns = models();
        let labels = [
            "model_a",
            "model_b",
            "tie",
            "tie (bothbad)",
            "model_a",
            "model_b",
        ];
        columns.push(("winner", text(labels.map(Some))));
        columns.push(("conversation_a", conversation(6, has_parts)));
        columns.push(("conversation_b", conversation(6, has_parts)));
        check(write(columns), format, SIX, &[]);
    }
}

#[test]
fn scores_and_labels_of_sides_are_winners() {
    check(
        fixture("evalica.csv"),
        Format::Evalica,
        [2, 1, 2, 0],
        &[("winner_missing", 1, 6)],
    );
    let expected = [("winner_missing", 1, 6), ("winner_unknown", 1, 5)];
    check(
        fixture("scores.csv"),
        Format::BattlesCsv,
        [2, 1, 1, 0],
        &expected,
    );
    let mut columns = models();
    let scores = [Some(1.0), Some(0.0), Some(0.5), Some(1.0), Some(2.0), None];
    columns.push(("outcome", Arc::new(Float64Array::from(scores.to_vec()))));
    check(
        write(columns),
        Format::BattlesParquet,
        [2, 1, 1, 0],
        &expected,
    );
    // A number in a column of labels may be anything, and is none of these.
    let votes = read(b"model_a,model_b,winner\nx,y,1\nx,y,0\nx,y,tie\n".to_vec());
    assert_eq!(rejected(&votes), [("winner_unknown", 2, 1)]);
}

#[test]
fn strong_verdicts_count_once() {
    let votes = check(
        fixture("verdicts.jsonl"),
        Format::BattlesJsonLines,
        [2, 2, 1, 0],
        &[("winner_unknown", 1, 6)],
    );
    assert_eq!(votes.report.n_strong, 2);
    let mut columns = models();
    let verdicts = ["A>>B", "A>B", "A=B", "[[B>A]]", "B>>A", "A or B"];
    columns.push(("winner", text(verdicts.map(Some))));
    let votes = check(
        write(columns),
        Format::BattlesParquet,
        [2, 2, 1, 0],
        &[("winner_unknown", 1, 6)],
    );
    assert_eq!(votes.report.n_strong, 2);
}

#[test]
fn votes_of_a_log_are_battles_and_other_events_are_not() {
    let votes = check(
        fixture("fastchat-log.jsonl"),
        Format::FastChatLog,
        [2, 1, 1, 1],
        &[
            ("row_malformed", 1, 12),
            ("self_battle", 1, 11),
            ("not_a_vote", 5, 1),
        ],
    );
    assert_eq!(votes.report.n_named, 1);
    let events = &votes.report.rejected[&Reason::NotAVote].values;
    let expected = [("chat", 2), ("flag", 1), ("share", 1), ("upvote", 1)];
    let expected = expected.map(|(kind, n)| (kind.to_owned(), n));
    assert_eq!(*events, BTreeMap::from(expected));
    let ids = ReadOptions {
        repeated_ids: true,
        ..ReadOptions::default()
    };
    let votes = read_with(fixture("fastchat-log.jsonl"), &ids).unwrap();
    assert_eq!(votes.report.n_repeated_ids, Some(0));
    // As the remote logger sends it.
    check(
        fixture("fastchat-log-remote.jsonl"),
        Format::FastChatLog,
        [1, 1, 1, 1],
        &[("not_a_vote", 2, 1)],
    );
}

#[test]
fn rows_of_a_log_have_judges_times_and_conversations() {
    let count = |answers: &[&str]| crate::AnswerStyle {
        tokens: answers.iter().map(|text| text.len() as u32).sum(),
        ..crate::AnswerStyle::default()
    };
    let selection = Selection {
        features: vec![crate::FeatureRequest {
            name: "length".to_owned(),
            difference: |a, b| Some(a - b),
        }],
        judge: true,
        time: true,
        conversation_features: Some(&count),
        ..Selection::default()
    };
    let input = Input::Reader {
        name: "log".to_owned(),
        reader: Box::new(Cursor::new(fixture("fastchat-log.jsonl"))),
    };
    let (battles, report) = crate::read_battles(
        vec![input],
        &ReadOptions::default(),
        &selection,
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(report.kept, 5);
    assert_eq!(battles.judges.unwrap().n_judges, 3);
    // `one` against `two two`.
    assert_eq!(battles.features[0].values, [-4.0; 5]);
    let times = battles.times.unwrap();
    assert!((times[0] - 1_717_200_002.123_4).abs() < 1e-3, "{times:?}");
}

#[test]
fn likes_are_battles_only_beside_one_other_answer() {
    let votes = check(
        fixture("open-webui-feedback.json"),
        Format::OpenWebUiFeedback,
        [2, 1, 0, 0],
        &[
            ("winner_unknown", 1, 9),
            ("self_battle", 1, 8),
            ("not_a_pair", 4, 3),
        ],
    );
    let pairs: Vec<_> = votes.tally.pairs().map(|(pair, _)| pair).collect();
    assert_eq!(pairs.len(), 3);
}

#[test]
fn a_square_of_wins_is_votes() {
    let votes = check(
        fixture("win-matrix.csv"),
        Format::WinMatrix,
        [3 + 2, 1 + 4 + 1, 1, 0],
        &[],
    );
    assert_eq!(votes.report.rows, 12);
    let semicolons = String::from_utf8(fixture("win-matrix.csv")).unwrap();
    let semicolons = semicolons.replace(',', ";").replace('\n', "\r\n");
    check(
        semicolons.into_bytes(),
        Format::WinMatrix,
        [5, 6, 1, 0],
        &[],
    );
    for (table, expected) in [
        (",x,y\nx,,1\n", "1 rows and 2 columns"),
        (",x,y\nx,,1\nx,,1\n", "`x` has a row already"),
        (",x,y\nx,,1\nz,1,\n", "`z` is not a column"),
        (",x,y\nx,,0.5\ny,1,\n", "half a win between `x` and `y`"),
        (
            ",x,y\nx,,1\ny,-1,\n",
            "is not a valid matrix of wins: row 2: `-1` stands for the wins of `y` over `x`: expected a whole number",
        ),
        (
            ",x,y\nx,,1\ny,0.3,\n",
            "`0.3` stands for the wins of `y` over `x`",
        ),
        (",x,y\nx,3,1\ny,1,\n", "wins of a model over itself"),
        (",x,y\nx,,1e300\ny,1,\n", "has no columns for"),
        (",x,y\nx,,1\ny,1\n", "2 fields: expected 3"),
        ("a,b\n1,2\n", "has no columns for"),
    ] {
        let error = read_with(table.into(), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{table:?}: {error}");
    }
}

#[test]
fn a_matrix_never_becomes_more_rows_than_fit() {
    let table = b",x,y\nx,,100000000\ny,1,\n".to_vec();
    let votes = read_with(table.clone(), &ReadOptions::default()).unwrap();
    assert_eq!(votes.report.kept, 100_000_001);
    let on_reject = |_: &RejectedRow| {};
    let by_row = ReadOptions {
        rejects: Some(&on_reject),
        ..ReadOptions::default()
    };
    let error = read_with(table, &by_row).unwrap_err();
    assert!(error.to_string().contains("100000001 votes"), "{error}");
}

#[test]
fn sets_without_votes_are_refused_by_name() {
    for (name, expected) in [
        ("vision-arena-chat.jsonl", "it is vision-arena-chat"),
        ("comparia-reactions.jsonl", "it is comparia-reactions"),
    ] {
        let error = read_with(fixture(name), &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::NoVotes { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let columns = vec![
        ("images", text([None; 2])),
        ("conversation_id", text([Some("c"); 2])),
        ("model", text([Some("alpha"); 2])),
        ("conversation", conversation(2, false)),
    ];
    let error = read_with(write(columns), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::NoVotes { .. }), "{error}");
}

#[test]
fn aliases_are_applied_before_rows_are_judged() {
    let pairs = [("beta", "alpha-2"), ("gamma ", "alpha")];
    let pairs = pairs.map(|(old, new)| (old.to_owned(), new.to_owned()));
    let aliases = Aliases::new(pairs).unwrap();
    let on_reject = |_: &RejectedRow| {};
    let mut columns = models();
    let labels = ["model_a", "model_b", "tie", "tie", "model_a", "model_b"];
    columns.push(("winner", text(labels.map(Some))));
    for bytes in [
        fixture("mt-bench-human.jsonl"),
        write(columns),
        fixture("comparia-votes.jsonl"),
    ] {
        for rejects in [None, Some(&on_reject as &(dyn Fn(&RejectedRow) + Sync))] {
            let options = ReadOptions {
                aliases: Some(&aliases),
                rejects,
                ..ReadOptions::default()
            };
            let votes = read_with(bytes.clone(), &options).unwrap();
            let report = &votes.report;
            assert_eq!(votes.tally.models(), ["alpha", "alpha-2"]);
            // gamma against alpha, from either side, is now a model against itself.
            let n_self = report
                .rejected
                .get(&Reason::SelfBattle)
                .map_or(0, |rows| rows.count);
            if votes.report.sources[0].format == Format::CompariaVotes {
                assert_eq!((report.kept, n_self), (3, 0));
            } else {
                assert_eq!((report.kept, n_self), (4, 2));
            }
            assert_eq!(report.n_renamed, report.kept);
        }
    }
    // A name stands for the side under its old name and under its new one.
    let options = ReadOptions {
        aliases: Some(&aliases),
        ..ReadOptions::default()
    };
    let csv = "model_a_name,model_b_name,chosen_model_name\nbeta,delta,beta\nbeta,delta,alpha-2\n";
    let votes = read_with(csv.into(), &options).unwrap();
    assert_eq!(winners(&votes), [2, 0, 0, 0]);
}

#[test]
fn fixtures_cut_anywhere_give_an_answer() {
    let folder = format!("{}/fixtures/formats", env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for length in (0..bytes.len()).step_by(7) {
            if let Ok(votes) = read_with(bytes[..length].to_vec(), &ReadOptions::default()) {
                let report = &votes.report;
                assert_eq!(report.rows, report.kept + report.n_rejected());
                assert_eq!(report.kept, votes.tally.total());
            }
        }
    }
}

#[test]
fn broken_events_cost_only_themselves() {
    let first = "{\"type\":\"chat\",\"tstamp\":1,\"state\":{}}\n";
    for event in [
        r#"{"type":"leftvote","tstamp":1}"#,
        r#"{"type":"leftvote","tstamp":1,"states":[]}"#,
        r#"{"type":"leftvote","tstamp":1,"states":[{},{},{}]}"#,
        r#"{"type":"leftvote","tstamp":1,"states":[null,null],"models":["",""]}"#,
        r#"{"type":"leftvote","tstamp":1,"states":[{"model_name":"x"},{"model_name":7}]}"#,
        r#"{"type":"leftvote","states":[{"model_name":"x"},{}],"models":[null,null]}"#,
        r#"{"type":"leftvote","states":[{"model_name":"x","offset":-1},{}]}"#,
        r#"{"type":7,"states":[{"model_name":"x"},{}]}"#,
        r#"{"tstamp":1}"#,
        "[]",
        "7",
    ] {
        let good = r#"{"type":"tievote","states":[{"model_name":"x"},{"model_name":"y","messages":[[],["USER"],["USER",7],7,["ASSISTANT",[1]]]}]}"#;
        let votes = read(format!("{first}{event}\n{good}\n").into_bytes());
        assert_eq!(winners(&votes), [0, 0, 1, 0], "{event}");
        assert_eq!(votes.report.rows, 3, "{event}");
    }
}

// ---- Parquet ----

fn models() -> Vec<(&'static str, ArrayRef)> {
    let a = ["alpha", "beta", "gamma", "alpha", "beta", "gamma"];
    let b = ["beta", "gamma", "alpha", "gamma", "alpha", "beta"];
    vec![
        ("model_a", text(a.map(Some))),
        ("model_b", text(b.map(Some))),
    ]
}

fn text<const N: usize>(cells: [Option<&str>; N]) -> ArrayRef {
    Arc::new(StringArray::from(cells.to_vec()))
}

/// A column of conversations of one message, its content a text or a list of one part.
fn conversation(n: usize, has_parts: bool) -> ArrayRef {
    let words = |word: &str| -> ArrayRef { Arc::new(StringArray::from(vec![word; n])) };
    let group = |members: Vec<(&str, ArrayRef)>| -> ArrayRef {
        let fields: Fields = members
            .iter()
            .map(|(name, member)| Field::new(*name, member.data_type().clone(), true))
            .collect();
        let members = members.into_iter().map(|(_, member)| member).collect();
        Arc::new(StructArray::new(fields, members, None))
    };
    let list = |items: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(vec![1; n]);
        Arc::new(ListArray::new(field, offsets, items, None))
    };
    let content = if has_parts {
        list(group(vec![("type", words("text")), ("text", words("Hi"))]))
    } else {
        words("Hi")
    };
    list(group(vec![("role", words("user")), ("content", content)]))
}

fn write(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

// ---- public data, where it is at hand ----

#[expect(
    clippy::disallowed_methods,
    reason = "tests take the folder of public test data from the environment"
)]
pub(crate) fn public(path: &str) -> Option<Vec<u8>> {
    match std::env::var("AGON_TESTDATA") {
        Ok(folder) => Some(std::fs::read(format!("{folder}/{path}")).unwrap()),
        Err(_) => {
            println!("AGON_TESTDATA is not set: `{path}` is not read");
            None
        }
    }
}

#[test]
fn public_sets_are_named_and_counted() {
    for (path, format, expected) in [
        (
            "votes/genai-arena/clean_battle_20240220.json",
            Format::GenAiArena,
            // One more both bad is of a model against itself.
            [759, 744, 130, 427],
        ),
        (
            "votes/lmarena-battles/battles_001_040.jsonl",
            Format::BattlesJsonLines,
            [15, 7, 7, 10],
        ),
        (
            "votes/wildvision-bench/vlm_battles.jsonl",
            Format::BattlesJsonLines,
            [72, 26, 7, 0],
        ),
        (
            "votes/pandalm/testset-v1.json",
            Format::PandaLm,
            [422, 472, 105, 0],
        ),
    ] {
        let Some(bytes) = public(path) else { return };
        let votes = read(bytes);
        assert_eq!(votes.report.sources[0].format, format, "{path}");
        assert_eq!(winners(&votes), expected, "{path}");
    }
    for (name, n) in [("simple", 16), ("food", 30)] {
        let Some(bytes) = public(&format!("votes/evalica/{name}.csv")) else {
            return;
        };
        let votes = read(bytes);
        assert_eq!(votes.report.sources[0].format, Format::Evalica);
        assert_eq!(votes.report.kept, n);
    }
    // The verdicts beside the winners of WildVision-Bench, in five steps.
    let Some(bytes) = public("votes/wildvision-bench/vlm_battles.jsonl") else {
        return;
    };
    let text = String::from_utf8(bytes).unwrap();
    let text = text
        .replace("\"winner\":", "\"other\":")
        .replace("\"label\":", "\"verdict\":");
    let votes = read(text.into_bytes());
    assert_eq!(winners(&votes), [72, 26, 7, 0]);
    assert_eq!(votes.report.n_strong, 41 + 6);
}
