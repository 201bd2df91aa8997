//! Reading votes: every format, every fate.

use std::{collections::BTreeMap, fs, io::Cursor, path::Path, sync::Arc};

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding},
    file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion},
};
use agon_domain::{Tally, Winner};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int64Array, ListArray,
    RecordBatch, StringArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use sha2::{Digest as _, Sha256};

use super::*;
use crate::{Place, Reason, decode::window::hexadecimal};

type PairCounts = BTreeMap<(String, String), [u64; 4]>;

fn pairs(tally: &Tally) -> PairCounts {
    let name = |position: u32| tally.models()[position as usize].clone();
    tally
        .pairs()
        .map(|((a, b), counts)| {
            let counts = Winner::ALL.map(|winner| counts.get(winner));
            ((name(a), name(b)), counts)
        })
        .collect()
}

fn read_bytes(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Votes, Error> {
    let reader = Box::new(Cursor::new(bytes.as_ref().to_vec()));
    let input = Input::Reader {
        name: "votes".to_owned(),
        reader,
    };
    let votes = read_votes(vec![input], options, &mut |_| {})?;
    let report = &votes.report;
    assert_eq!(
        report.rows,
        report.kept + report.n_rejected(),
        "every row has a fate"
    );
    assert_eq!(report.kept, votes.tally.total(), "every kept row is a vote");
    Ok(votes)
}

fn read(bytes: impl AsRef<[u8]>) -> Votes {
    read_bytes(bytes, &ReadOptions::default()).unwrap()
}

fn refuse(bytes: impl AsRef<[u8]>) -> String {
    read_bytes(bytes, &ReadOptions::default())
        .unwrap_err()
        .to_string()
}

/// Reads `bytes` and compares the format, the votes as `a b winner…` and the rejected rows as `reason count: first place`.
#[track_caller]
fn check(bytes: impl AsRef<[u8]>, format: Format, votes: &[&str], rejected: &[&str]) {
    let read = read(bytes);
    assert_eq!(read.report.sources[0].format, format);
    let mut found: Vec<String> = pairs(&read.tally)
        .into_iter()
        .map(|((a, b), counts)| format!("{a} {b} {counts:?}"))
        .collect();
    found.sort_unstable();
    assert_eq!(found, votes);
    let found: Vec<String> = read
        .report
        .rejected
        .iter()
        .map(|(reason, rows)| format!("{reason} {}: {}", rows.count, rows.first))
        .collect();
    assert_eq!(found, rejected);
}

const FOUR: &[&str] = &["x y [1, 0, 1, 0]", "y x [0, 1, 0, 1]"];

#[test]
fn a_plain_table_is_read_in_every_dialect() {
    let plain = "model_a,model_b,winner\nx,y,model_a\ny,x,model_b\nx,y,tie\ny,x,tie (bothbad)\n";
    let csv = Format::BattlesCsv;
    check(plain, csv, FOUR, &[]);
    check(plain.replace(',', ";"), csv, FOUR, &[]);
    check(plain.replace(',', "\t"), csv, FOUR, &[]);
    check(plain.replace(',', "|"), csv, FOUR, &[]);
    check(plain.replace('\n', "\r\n"), csv, FOUR, &[]);
    check(plain.trim_end(), csv, FOUR, &[]);
    check(format!("\u{feff}{plain}"), csv, FOUR, &[]);
    check(format!("\n\r\n{plain}\n\n"), csv, FOUR, &[]);
    check(
        plain.replace("model_a,model_b,w", "left,right,w"),
        Format::Evalica,
        FOUR,
        &[],
    );
    check(
        plain.replace("model_a,model_b,w", "Model A, MODEL-B ,W"),
        csv,
        FOUR,
        &[],
    );
    let quoted = plain.replace(',', "\",\"").replace('\n', "\"\n\"");
    let quoted = format!("\u{feff}\"{}", quoted.strip_suffix('"').unwrap());
    check(&quoted, csv, FOUR, &[]);
    check(quoted.replace('\n', "\r\n"), csv, FOUR, &[]);
    check(quoted.replace(',', ";"), csv, FOUR, &[]);
}

#[test]
fn the_separator_is_the_one_that_finds_the_columns() {
    check(
        "note;model_a;model_b;winner\n\"a, b\";x;y;left\n1,5;x;y;right\n",
        Format::BattlesCsv,
        &["x y [1, 1, 0, 0]"],
        &[],
    );
}

#[test]
fn quotes_may_hold_separators_line_breaks_and_quotes() {
    check(
        "prompt,model_a,model_b,winner\n\"one,\ntwo \"\"three\"\"\n\",x,\"y, the \"\"2nd\"\"\",tie\n5\" disk,x,y,bad\n",
        Format::BattlesCsv,
        &["x y, the \"2nd\" [0, 0, 1, 0]"],
        &["winner_unknown 1: `votes`, row 2 (line 5), column `winner`, `bad`"],
    );
}

#[test]
fn rows_that_do_not_fit_the_header_are_rejected() {
    check(
        "model_a,model_b,winner\nx,y\nx,y,tie,1\nx,\"y\"z,tie\nx,y,tie\n\"x,y,tie\n",
        Format::BattlesCsv,
        &["x y [0, 0, 1, 0]"],
        &["row_malformed 4: `votes`, row 1 (line 2), `2 fields: expected 3`"],
    );
}

#[test]
fn a_quote_that_swallows_rows_is_told() {
    let swallowed = "model_a,model_b,winner\nx,y,tie\n\"x,y,tie\nx,y,tie\nx,y,tie\n";
    assert_eq!(
        refuse(swallowed),
        "`votes` is not valid CSV: the record that begins on line 3 opens a quote that is never closed"
    );
    check(
        format!("{swallowed}x,\"y\" z,tie\ny,x,tie\n"),
        Format::BattlesCsv,
        &["x y [0, 0, 1, 0]", "y x [0, 0, 1, 0]"],
        &[
            "row_malformed 1: `votes`, row 2 (line 3), `2 fields: expected 3 (over 4 lines: is a quote not closed?)`",
        ],
    );
}

#[test]
fn old_line_ends_are_refused_by_name() {
    for header in ["model_a,model_b,winner", "model_a,model_b,winner,note"] {
        let error = refuse(format!("{header}\rx,y,tie,\rx,y,tie,\r"));
        assert!(error.contains("a carriage return inside"), "{error}");
    }
}

#[test]
fn without_ids_no_number_of_repeated_ones_is_given() {
    let options = ReadOptions {
        repeated_ids: true,
        ..ReadOptions::default()
    };
    let votes = read_bytes("model_a,model_b,winner\nx,y,tie\nx,y,tie\n", &options).unwrap();
    assert_eq!(votes.report.n_repeated_ids, None);
}

#[test]
fn eight_winners_in_eight_spellings_are_all_accounted_for() {
    check(
        "left,right,winner\nx,y,left\nx,y,right\nx,y,Tie\nx,y,tie (bothbad)\nx,y,both_bad\nx,y,model_a\nx,y,left \nx,y,\n",
        Format::Evalica,
        &["x y [3, 1, 1, 2]"],
        &["winner_missing 1: `votes`, row 8 (line 9), column `winner`"],
    );
}

#[test]
fn text_that_looks_like_nothing_is_still_a_name() {
    check(
        "model_a,model_b,winner\nnull,NA,a\nNone,NaN,b\n,x,a\nx,  ,a\n",
        Format::BattlesCsv,
        &["None NaN [0, 1, 0, 0]", "null NA [1, 0, 0, 0]"],
        &["model_missing 2: `votes`, row 3 (line 4), column `model_a`"],
    );
}

#[test]
fn names_are_trimmed_and_composed_but_case_is_kept_and_reported() {
    let read = read("model_a,model_b,winner\nTülu,x,a\nTu\u{308}lu,x,a\ntülu ,x,a\n");
    assert_eq!(read.tally.models(), ["Tülu", "tülu", "x"]);
    assert_eq!(read.report.near_duplicates, [["Tülu", "tülu"]]);
    assert_eq!(
        pairs(&read.tally)[&("Tülu".to_owned(), "x".to_owned())][0],
        2
    );
}

#[test]
fn unknown_winners_are_listed_with_their_counts_and_never_ties() {
    let read = read(
        "model_a,model_b,winner\nx,y,Model C\nx,y,Model C\nx,y,won\nx,x,won\nx,x,tie\nx,y,tie\n",
    );
    let unknown = &read.report.rejected[&Reason::WinnerUnknown];
    assert_eq!(unknown.count, 4);
    assert_eq!(
        unknown.values,
        [("Model C".to_owned(), 2), ("won".to_owned(), 2)].into()
    );
    let selves = &read.report.rejected[&Reason::SelfBattle];
    assert_eq!(selves.count, 1);
    assert_eq!(
        selves.first,
        Place {
            source: "votes".to_owned(),
            row: 5,
            line: Some(6),
            column: None,
            value: Some("x".to_owned()),
        }
    );
    assert_eq!(read.report.kept, 1);
}

#[test]
fn a_shown_value_is_cut_and_cannot_steer_a_terminal() {
    let long = "é".repeat(200);
    for (winner, shown) in [
        ("\u{1b}[31mred\u{7}", "\u{fffd}[31mred\u{fffd}"),
        (long.as_str(), &long[..160]),
    ] {
        let read = read(format!("model_a,model_b,winner\nx,y,{winner}\n"));
        let first = &read.report.rejected[&Reason::WinnerUnknown].first;
        assert_eq!(first.value.as_deref(), Some(shown));
    }
}

#[test]
fn a_flood_of_different_unknown_winners_stays_bounded() {
    let mut text = "model_a,model_b,winner\n".to_owned();
    for n in 0..5_000 {
        text.push_str(&format!("x,y,w{n}\n"));
    }
    let read = read(text);
    let unknown = &read.report.rejected[&Reason::WinnerUnknown];
    assert_eq!(unknown.count, 5_000);
    assert_eq!(unknown.values.len(), crate::fate::DISTINCT_VALUES_MAX);
    assert_eq!(unknown.n_other_values, 5_000 - 20);
}

#[test]
fn bytes_that_are_not_utf_8_cost_only_their_row() {
    check(
        b"model_a,model_b,winner\nx\xff,y,a\nx,y,a\n",
        Format::BattlesCsv,
        &["x y [1, 0, 0, 0]"],
        &["row_malformed 1: `votes`, row 1 (line 2), column `model_a`, `not UTF-8: x\u{fffd}`"],
    );
}

#[test]
fn the_first_reason_in_order_is_the_one_given() {
    check(
        "model_a,model_b,winner\n,,what\n,y,\nx,x,\nx,x,what\n",
        Format::BattlesCsv,
        &[],
        &[
            "model_missing 2: `votes`, row 1 (line 2), column `model_a`",
            "winner_missing 1: `votes`, row 3 (line 4), column `winner`",
            "winner_unknown 1: `votes`, row 4 (line 5), column `winner`, `what`",
        ],
    );
}

#[test]
fn json_lines_are_read_and_a_broken_line_costs_only_itself() {
    check(
        "{\"model_a\": \"x\", \"extra\": {\"deep\": [[[1]]]}, \"model_b\": \"y\", \"winner\": \"tie\"}\n\n\
         {\"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\"\r\n\
         {\"winner\": \"model_a\", \"model_a\": \"\\u0078\", \"model_b\": \"y\"}\r\n\
         {\"winner\": null, \"model_a\": \"x\", \"model_b\": \"y\"}\n\
         {\"winner\": \"tie\", \"model_a\": null, \"model_b\": \"y\"}\n\
         {\"winner\": \"tie\", \"model_a\": \"x\"}\n\
         {\"winner\": 1, \"model_a\": \"x\", \"model_b\": \"y\"}\n\
         {\"winner\": \"tie\", \"model_a\": 1.5, \"model_b\": \"y\"}\n\
         {\"winner\": \"tie\", \"model_a\": 7, \"model_b\": \"y\"}",
        Format::BattlesJsonLines,
        &["7 y [0, 0, 1, 0]", "x y [1, 0, 1, 0]"],
        &[
            "row_malformed 2: `votes`, row 2 (line 3), `EOF while parsing an object at byte 49 of the record`",
            "model_missing 2: `votes`, row 5 (line 6), column `model_a`",
            "winner_missing 1: `votes`, row 4 (line 5), column `winner`",
            "winner_unknown 1: `votes`, row 7 (line 8), column `winner`, `1`",
        ],
    );
}

#[test]
fn a_json_array_is_read_and_a_broken_element_costs_only_itself() {
    check(
        "\u{feff} [\n {\"left\": \"x\", \"right\": \"y\", \"winner\": \"left\", \"note\": \"]},{ \\\" \\\\\"},\n\
         {\"left\": \"x\", \"right\": \"y\", \"winner\": },\n 7, \"text\",\n\
         {\"left\": \"x\", \"right\": \"y\",\n \"winner\": \"tie\", \"ids\": [[], {}]}\n]\n",
        Format::BattlesJson,
        &["x y [1, 0, 1, 0]"],
        &["row_malformed 3: `votes`, row 2 (line 3), `expected value at byte 39 of the record`"],
    );
    check("[]", Format::BattlesJson, &[], &[]);
    check(" [ \n ] ", Format::BattlesJson, &[], &[]);
}

#[test]
fn a_broken_array_is_refused_with_its_line() {
    let whole = "[{\"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\"},\n {\"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\"}]";
    for end in 1..whole.len() {
        let error = refuse(&whole[..end]);
        assert!(
            error.contains("is not valid JSON") && error.contains("on line"),
            "{error}"
        );
    }
    assert_eq!(
        refuse(format!("{whole} x")),
        "`votes` is not valid JSON: something stands behind the array on line 2"
    );
    assert_eq!(
        refuse("[{\"model_a\": \"x\"} {}]"),
        "`votes` is not valid JSON: no comma between two elements on line 1"
    );
}

#[test]
fn deep_nesting_is_skipped_without_a_stack() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    check(
        format!("[{{\"x\": {deep}, \"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\"}}]"),
        Format::BattlesJson,
        &["x y [0, 0, 1, 0]"],
        &[],
    );
    let read = read(format!(
        "{{\"model_a\": {deep}, \"model_b\": \"y\", \"winner\": \"tie\"}}\n{{\"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"a\"}}"
    ));
    assert_eq!((read.report.kept, read.report.n_rejected()), (1, 1));
}

#[test]
fn missing_columns_are_named_with_those_that_are_there() {
    let accepted = "accepted are `model_a`, `model_b`, `winner` or `left`, `right`, `winner`";
    assert_eq!(
        refuse("a;b;winner\n1;2;tie\n"),
        format!("`votes` has no columns for the two models: found `a`, `b`, `winner`; {accepted}")
    );
    assert_eq!(
        refuse("{\"model_a\": \"x\", \"model_b\": \"y\"}\n"),
        format!("`votes` has no columns for the winner: found `model_a`, `model_b`; {accepted}")
    );
    assert_eq!(
        refuse("[{\"q\": 1}]"),
        format!("`votes` has no columns for the two models and the winner: found `q`; {accepted}")
    );
    assert_eq!(
        refuse("model_a,model_b,winner,model_a\n"),
        "`votes` has more than one column `model_a`"
    );
}

#[test]
fn what_is_no_table_of_votes_is_refused_in_words() {
    for (bytes, found) in [
        (&b"7z\xbc\xaf\x27\x1c"[..], "a 7z archive"),
        (b"\xff\xfem\0", "UTF-16 text"),
        (b"model_a\0", "binary data"),
        (b"  \n \n", "blank"),
    ] {
        let error = refuse(bytes);
        assert!(
            error.contains(&format!("`votes` is {found}: expected")),
            "{error}"
        );
    }
    let error = refuse("{\n  \"model_a\": 1\n}\n");
    assert!(
        error.contains("is not valid JSON: `votes`, row 1 (line 1)"),
        "{error}"
    );
    assert_eq!(read("").report.sources[0].format, Format::Empty);
    assert_eq!(read("model_a,model_b,winner\n").report.rows, 0);
}

#[test]
fn a_record_larger_than_the_limit_is_refused() {
    let options = ReadOptions {
        record_bytes_max: 1_000_000,
        ..ReadOptions::default()
    };
    let long = "x".repeat(3_000_000);
    for text in [
        format!("model_a,model_b,winner\n\"{long}"),
        format!("model_a,model_b,winner\n{long}"),
        format!("{{\"a\": \"{long}\"}}"),
        format!("[{{\"a\": \"{long}\"}}]"),
    ] {
        let error = read_bytes(text, &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 1 of `votes` is larger than 1000000 bytes"
        );
    }
}

#[test]
fn a_name_that_is_a_text_is_rejected() {
    let long = "x".repeat(2_000);
    check(
        format!("model_a,model_b,winner\n{long},y,a\nx,y,a\n"),
        Format::BattlesCsv,
        &["x y [1, 0, 0, 0]"],
        &[
            "row_malformed 1: `votes`, row 1 (line 2), column `model_a`, `a name of 2000 bytes, more than 1000`",
        ],
    );
}

#[test]
fn more_models_than_any_arena_has_are_refused() {
    let mut text = "model_a,model_b,winner\n".to_owned();
    for n in 0..=crate::count::MODELS_MAX / 2 {
        text.push_str(&format!("a{n},b{n},tie\n"));
    }
    assert_eq!(
        refuse(text),
        "`votes` names more than 100000 models: is the right column called `model_a`?"
    );
}

#[test]
fn many_models_are_counted_as_few_are() {
    let mut text = "model_a,model_b,winner\n".to_owned();
    for n in 0..1_500 {
        text.push_str(&format!("m{n},m{},model_a\nm{n},m0001,tie\n", n + 1));
    }
    let read = read(text);
    assert_eq!(read.tally.models().len(), 1_502);
    assert_eq!(read.report.kept, 3_000);
    let pairs = pairs(&read.tally);
    assert_eq!(pairs[&("m3".to_owned(), "m4".to_owned())], [1, 0, 0, 0]);
    assert_eq!(
        pairs[&("m1400".to_owned(), "m0001".to_owned())],
        [0, 0, 1, 0]
    );
}

#[test]
fn strict_reading_stops_at_the_first_rejected_row_and_says_what_is_accepted() {
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    #[track_caller]
    fn check(bytes: &[u8], options: &ReadOptions, expected: &str) {
        let error = read_bytes(bytes, options).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    check(
        b"model_a,model_b,winner\nx,y,tie\nx,y,Model C\n,,\n",
        &strict,
        "`votes`, row 2 (line 3), column `winner`, `Model C`: unknown winner: expected `model_a`, `model_b`, `tie` or `both_bad`",
    );
    check(
        b"[{\"model_a\": \"x\", \"model_b\": \"x\", \"winner\": \"tie\"}, {",
        &strict,
        "`votes`, row 1 (line 1), `x`: a model against itself: expected two different models",
    );
    check(
        b"{\"model_a\": \"x\", \"model_b\": null, \"winner\": \"tie\"}\n{",
        &strict,
        "`votes`, row 1 (line 1), column `model_b`: no model name: expected the name of a model",
    );
    let parquet = battles_parquet(&PLAIN_ROWS, WriterProperties::builder());
    check(
        &parquet,
        &strict,
        "`votes`, row 3, column `winner`: no winner: expected `model_a`, `model_b`, `tie` or `both_bad`",
    );
    assert_eq!(
        read_bytes("model_a,model_b,winner\nx,y,tie\n", &strict)
            .unwrap()
            .report
            .kept,
        1
    );
}

#[test]
fn battles_with_known_names_and_repeated_ids_are_kept_and_counted() {
    let options = ReadOptions {
        repeated_ids: true,
        ..ReadOptions::default()
    };
    let csv = "question_id,model_a,model_b,winner,anony\n1,x,y,tie,True\n2,x,y,tie,False\n1,x,y,tie,false\n1,x,,tie,0\n,x,y,tie,\n";
    let json = "{\"id\": 1, \"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\", \"anony\": true}\n\
                {\"id\": 2, \"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\", \"anony\": false}\n\
                {\"id\": 1, \"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\", \"anony\": \"False\"}\n";
    for text in [csv, json] {
        let report = read_bytes(text, &options).unwrap().report;
        assert_eq!(
            (report.n_named, report.n_repeated_ids),
            (2, Some(1)),
            "{text}"
        );
    }
    assert_eq!(read(csv).report.n_repeated_ids, None);
    // The second file repeats all ids of the first.
    let inputs = ["one", "two"].map(|name| Input::Reader {
        name: name.to_owned(),
        reader: Box::new(Cursor::new(json)),
    });
    let report = read_votes(inputs.into(), &options, &mut |_| {})
        .unwrap()
        .report;
    assert_eq!((report.rows, report.n_repeated_ids), (6, Some(4)));
}

#[test]
fn checksums_are_of_the_whole_content() {
    let options = ReadOptions {
        checksums: true,
        ..ReadOptions::default()
    };
    let text = "\u{feff}model_a,model_b,winner\nx,y,tie\n";
    let report = read_bytes(text, &options).unwrap().report;
    let expected = hexadecimal(&Sha256::digest(text));
    assert_eq!(report.sources[0].sha256.as_deref(), Some(expected.as_str()));
    let parquet = battles_parquet(&PLAIN_ROWS, WriterProperties::builder());
    let report = read_bytes(&parquet, &options).unwrap().report;
    let expected = hexadecimal(&Sha256::digest(&parquet));
    assert_eq!(report.sources[0].sha256.as_deref(), Some(expected.as_str()));
}

#[test]
fn long_files_are_read_across_the_edges_of_the_window() {
    let mut csv = "model_a,prompt,model_b,winner\r\n".to_owned();
    let mut json = "[".to_owned();
    let n = 30_000_u64;
    for row in 0..n {
        // Lengths that are no divisor of the window's size put its edges anywhere in a record.
        let filler = "é\"\"\n,".repeat(usize::try_from(row % 7).unwrap());
        csv.push_str(&format!("x,\"{filler}\",y,model_a\r\n"));
        let filler = "\\\\\\\"\\u00e9]}".repeat(usize::try_from(row % 5).unwrap());
        json.push_str(&format!(
            "{}{{\"p\": \"{filler}\", \"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"model_b\"}}",
            if row > 0 { ",\n" } else { "" }
        ));
    }
    json.push(']');
    let csv = read(csv);
    assert_eq!(pairs(&csv.tally).values().next(), Some(&[n, 0, 0, 0]));
    assert_eq!(csv.report.n_rejected(), 0);
    let lines = json.trim_matches(['[', ']']).replace(",\n", "\n");
    for text in [json, lines] {
        let read = read(text);
        assert_eq!(pairs(&read.tally).values().next(), Some(&[0, n, 0, 0]));
        assert_eq!(read.report.n_rejected(), 0);
    }
}

#[test]
fn text_cut_anywhere_gives_an_answer() {
    let text = "model_a,\"model_b\",winner\r\nx,\"y \"\"z\",tie\r\n\"a\n\",b,model_a\r\n";
    for end in 0..text.len() {
        // Whatever the answer is, the sums of a report are checked inside.
        let _ = read_bytes(&text[..end], &ReadOptions::default());
    }
    let text = "{\"model_a\": \"\\ud83d\\ude00\", \"model_b\": \"y\", \"winner\": \"tie\", \"n\": [1.5e3, {}]}\n".repeat(2);
    for end in 0..text.len() {
        let _ = read_bytes(&text[..end], &ReadOptions::default());
    }
}

// ---- Parquet ----

type Row = (
    Option<&'static str>,
    Option<&'static str>,
    Option<&'static str>,
);

const PLAIN_ROWS: [Row; 8] = [
    (Some("x"), Some("y"), Some("model_a")),
    (Some("y"), Some("x"), Some("tie (bothbad)")),
    (Some("x"), Some("y"), None),
    (None, Some("y"), Some("tie")),
    (Some("x"), Some(" "), Some("tie")),
    (Some("x"), Some("x"), Some("tie")),
    (Some("x"), Some("y"), Some("won")),
    (Some("y"), Some(" x "), Some("model_b")),
];

const PLAIN_VOTES: &[&str] = &["x y [1, 0, 0, 0]", "y x [0, 1, 0, 1]"];

const PLAIN_REJECTED: &[&str] = &[
    "model_missing 2: `votes`, row 4, column `model_a`",
    "winner_missing 1: `votes`, row 3, column `winner`",
    "winner_unknown 1: `votes`, row 7, column `winner`, `won`",
    "self_battle 1: `votes`, row 6, `x`",
];

fn text_column(values: impl IntoIterator<Item = Option<&'static str>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

fn write(columns: Vec<(&str, ArrayRef)>, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn battles_parquet(rows: &[Row], properties: WriterPropertiesBuilder) -> Vec<u8> {
    let columns = vec![
        ("winner", text_column(rows.iter().map(|row| row.2))),
        ("model_b", text_column(rows.iter().map(|row| row.1))),
        ("model_a", text_column(rows.iter().map(|row| row.0))),
    ];
    write(columns, properties)
}

#[test]
fn parquet_is_read_in_every_encoding() {
    let new = WriterProperties::builder;
    for (name, properties) in [
        ("dictionary", new()),
        ("plain", new().set_dictionary_enabled(false)),
        (
            "small row groups",
            new().set_max_row_group_row_count(Some(3)),
        ),
        (
            "small pages",
            new()
                .set_data_page_row_count_limit(2)
                .set_write_batch_size(1),
        ),
        (
            "dictionary that overflows",
            new()
                .set_dictionary_page_size_limit(1)
                .set_write_batch_size(1),
        ),
        (
            "version 2",
            new().set_writer_version(WriterVersion::PARQUET_2_0),
        ),
        (
            "version 2, delta",
            new()
                .set_writer_version(WriterVersion::PARQUET_2_0)
                .set_dictionary_enabled(false),
        ),
        (
            "delta length",
            new()
                .set_dictionary_enabled(false)
                .set_encoding(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        ),
        ("snappy", new().set_compression(Compression::SNAPPY)),
        (
            "zstd",
            new().set_compression(Compression::ZSTD(Default::default())),
        ),
        (
            "gzip",
            new().set_compression(Compression::GZIP(Default::default())),
        ),
        (
            "brotli",
            new().set_compression(Compression::BROTLI(Default::default())),
        ),
        ("lz4", new().set_compression(Compression::LZ4_RAW)),
    ] {
        let bytes = battles_parquet(&PLAIN_ROWS, properties);
        // The name shows which case failed.
        println!("{name}");
        check(&bytes, Format::BattlesParquet, PLAIN_VOTES, PLAIN_REJECTED);
    }
}

#[test]
fn parquet_columns_of_whole_numbers_are_names() {
    let columns = vec![
        (
            "left",
            Arc::new(Int64Array::from(vec![Some(1), Some(2), None])) as ArrayRef,
        ),
        (
            "right",
            Arc::new(Int64Array::from(vec![2, 1, 1])) as ArrayRef,
        ),
        (
            "winner",
            text_column([Some("left"), Some("tie"), Some("tie")]),
        ),
    ];
    for properties in [
        WriterProperties::builder(),
        WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_dictionary_enabled(false),
    ] {
        check(
            write(columns.clone(), properties),
            Format::Evalica,
            &["1 2 [1, 0, 0, 0]", "2 1 [0, 0, 1, 0]"],
            &["model_missing 1: `votes`, row 3, column `left`"],
        );
    }
}

#[test]
fn parquet_numbers_are_read_by_their_annotation() {
    let winner = || text_column([Some("tie"), Some("tie")]);
    let large = Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX])) as ArrayRef;
    let medium = Arc::new(UInt32Array::from(vec![u32::MAX, 7])) as ArrayRef;
    for properties in [
        WriterProperties::builder(),
        WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED),
    ] {
        let text = properties
            .clone()
            .set_column_encoding("winner".into(), Encoding::PLAIN);
        let columns = vec![
            ("model_a", Arc::clone(&large)),
            ("model_b", Arc::clone(&medium)),
            ("winner", winner()),
        ];
        check(
            write(columns, text),
            Format::BattlesParquet,
            &[
                "18446744073709551615 4294967295 [0, 0, 1, 0]",
                "18446744073709551615 7 [0, 0, 1, 0]",
            ],
            &[],
        );
    }
    let days = Arc::new(Date32Array::from(vec![1, 2])) as ArrayRef;
    let columns = vec![
        ("model_a", days),
        ("model_b", Arc::clone(&medium)),
        ("winner", winner()),
    ];
    assert_eq!(
        refuse(write(columns, WriterProperties::builder())),
        "column `model_a` of `votes` holds dates, times or decimal fractions: expected text"
    );
    // Data frames turn ids and truth values into such columns.
    let columns = vec![
        ("model_a", large),
        ("model_b", medium),
        ("winner", winner()),
        (
            "id",
            Arc::new(Float64Array::from(vec![1.0, 1.0])) as ArrayRef,
        ),
        ("anony", Arc::new(Int64Array::from(vec![0, 1])) as ArrayRef),
    ];
    let options = ReadOptions {
        repeated_ids: true,
        ..ReadOptions::default()
    };
    let votes = read_bytes(write(columns, WriterProperties::builder()), &options).unwrap();
    assert_eq!(
        (votes.report.n_named, votes.report.n_repeated_ids),
        (1, Some(1))
    );
}

#[test]
fn parquet_tells_named_battles_and_repeated_ids() {
    let options = ReadOptions {
        repeated_ids: true,
        ..ReadOptions::default()
    };
    let columns = vec![
        ("model_a", text_column([Some("x"); 4])),
        ("model_b", text_column([Some("y"); 4])),
        (
            "winner",
            text_column([Some("tie"), Some("tie"), Some("tie"), None]),
        ),
        (
            "anony",
            Arc::new(BooleanArray::from(vec![
                Some(true),
                Some(false),
                None,
                Some(false),
            ])) as ArrayRef,
        ),
        (
            "question_id",
            text_column([Some("q"), Some("q"), None, Some("q")]),
        ),
    ];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for dictionary in [false, true] {
            let properties = WriterProperties::builder()
                .set_writer_version(version)
                .set_dictionary_enabled(dictionary);
            let report = read_bytes(write(columns.clone(), properties), &options)
                .unwrap()
                .report;
            assert_eq!((report.n_named, report.n_repeated_ids), (1, Some(1)));
        }
    }
}

fn messages(n: usize) -> StructArray {
    let fields = Fields::from(vec![
        Field::new("role", DataType::Utf8, true),
        Field::new("content", DataType::Utf8, true),
    ]);
    let column = || Arc::new(StringArray::from(vec!["text"; n])) as ArrayRef;
    StructArray::new(fields, vec![column(), column()], None)
}

fn list_of(lengths: &[usize], values: ArrayRef) -> ListArray {
    let field = Field::new("element", values.data_type().clone(), true);
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    ListArray::new(Arc::new(field), offsets, values, None)
}

#[test]
fn both_nestings_of_conversations_are_passed_over_and_pictures_are_not_read() {
    let flat = list_of(&[2, 4], Arc::new(messages(6)));
    let nested = list_of(
        &[1, 2],
        Arc::new(list_of(&[2, 2, 2], Arc::new(messages(6)))),
    );
    let metadata = StructArray::new(
        Fields::from(vec![Field::new("turns", DataType::Int64, true)]),
        vec![Arc::new(Int64Array::from(vec![1, 2]))],
        None,
    );
    let picture = vec![0xab; 100_000];
    let images = StructArray::new(
        Fields::from(vec![Field::new("bytes", DataType::Binary, true)]),
        vec![Arc::new(BinaryArray::from(vec![
            picture.as_slice(),
            picture.as_slice(),
        ]))],
        None,
    );
    let images = list_of(&[1, 1], Arc::new(images));
    for conversation in [flat, nested] {
        let columns = vec![
            ("judge", text_column([Some("j"); 2])),
            ("winner", text_column([Some("model_a"), Some("tie")])),
            ("images", Arc::new(images.clone()) as ArrayRef),
            ("model_a", text_column([Some("x"); 2])),
            ("model_b", text_column([Some("y"); 2])),
            ("conversation_a", Arc::new(conversation.clone()) as ArrayRef),
            ("conversation_b", Arc::new(conversation) as ArrayRef),
            ("conv_metadata", Arc::new(metadata.clone()) as ArrayRef),
        ];
        let properties = WriterProperties::builder().set_dictionary_enabled(false);
        let mut bytes = write(columns, properties);
        // If the pictures were read, their broken pages would show.
        let start = bytes.windows(4).position(|four| four == [0xab; 4]).unwrap();
        bytes[start..start + 100_010].fill(0xff);
        check(bytes, Format::VisionArenaBattle, &["x y [1, 0, 1, 0]"], &[]);
    }
}

#[test]
fn parquet_columns_of_the_wrong_kind_are_named() {
    let text = || text_column([Some("x")]);
    let list = Arc::new(list_of(&[1], Arc::new(StringArray::from(vec!["x"])))) as ArrayRef;
    let columns = vec![("model_a", list), ("model_b", text()), ("winner", text())];
    assert_eq!(
        refuse(write(columns, WriterProperties::builder())),
        "column `model_a` of `votes` holds nested values: expected text"
    );
    let bools = Arc::new(BooleanArray::from(vec![true])) as ArrayRef;
    let columns = vec![("model_a", text()), ("model_b", text()), ("winner", bools)];
    assert_eq!(
        refuse(write(columns, WriterProperties::builder())),
        "column `winner` of `votes` holds BOOLEAN values: expected text"
    );
    let columns = vec![("model_a", text()), ("other", text())];
    let error = refuse(write(columns, WriterProperties::builder()));
    assert!(error.contains("found `model_a`, `other`"), "{error}");
}

#[test]
fn threads_make_no_difference() {
    let rows: Vec<Row> = PLAIN_ROWS.iter().copied().cycle().take(120_001).collect();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(7_001));
    let bytes = battles_parquet(&rows, properties);
    let by = |n_threads_max| {
        let options = ReadOptions {
            n_threads_max,
            ..ReadOptions::default()
        };
        let votes = read_bytes(&bytes, &options).unwrap();
        (
            votes.report,
            votes.tally.models().to_vec(),
            pairs(&votes.tally),
        )
    };
    let one = by(1);
    assert_eq!(one.0.rows, 120_001);
    for n in [2, 3, 64] {
        assert_eq!(by(n), one);
    }
}

#[test]
fn damaged_parquet_gives_an_error_or_a_full_account() {
    let rows: Vec<Row> = PLAIN_ROWS.iter().copied().cycle().take(300).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(100));
    let whole = battles_parquet(&rows, properties);
    for end in (4..whole.len()).step_by(7) {
        let error = refuse(&whole[..end]);
        assert!(
            error.starts_with("`votes` is not valid Parquet: "),
            "{error}"
        );
    }
    let mut n_refused = 0;
    for idx in 4..whole.len() {
        let mut bytes = whole.clone();
        bytes[idx] ^= [0x01, 0x80, 0xff][idx % 3];
        // The sums of a report are checked inside.
        n_refused += u32::from(read_bytes(&bytes, &ReadOptions::default()).is_err());
    }
    assert!(n_refused > 100, "{n_refused}");
}

#[test]
fn a_stream_that_breaks_is_an_error_that_names_it() {
    struct Broken(Cursor<Vec<u8>>);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::other("unplugged")),
                n => Ok(n),
            }
        }
    }
    let csv = "model_a,model_b,winner\n".to_owned() + &"x,y,tie\n".repeat(10_000);
    let parquet = battles_parquet(&PLAIN_ROWS, WriterProperties::builder());
    for bytes in [csv.into_bytes(), parquet] {
        let input = Input::Reader {
            name: "-".to_owned(),
            reader: Box::new(Broken(Cursor::new(bytes))),
        };
        let error = read_votes(vec![input], &ReadOptions::default(), &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "cannot read `-`");
    }
}

#[test]
fn ten_thousand_columns_are_no_hindrance() {
    let names: Vec<String> = (0..10_000).map(|n| format!("c{n}")).collect();
    let header = names.join(",");
    let csv = format!(
        "{header},model_a,model_b,winner\n{}x,y,tie\n",
        "1,".repeat(10_000)
    );
    check(csv, Format::BattlesCsv, &["x y [0, 0, 1, 0]"], &[]);
    let error = refuse(format!("{header}\n"));
    assert!(error.len() < 1_000, "only the first columns are named");
    let columns: Vec<(&str, ArrayRef)> = names[..2_000]
        .iter()
        .map(String::as_str)
        .chain(["model_a", "model_b", "winner"])
        .map(|name| {
            (
                name,
                text_column([Some(if name == "model_b" { "y" } else { "a" })]),
            )
        })
        .collect();
    check(
        write(columns, WriterProperties::builder()),
        Format::BattlesParquet,
        &["a y [1, 0, 0, 0]"],
        &[],
    );
}

#[test]
fn parquet_columns_that_are_there_twice_are_refused() {
    let columns = ["model_a", "model_b", "winner", "winner"];
    let columns = columns.map(|name| (name, text_column([Some("x")])));
    assert_eq!(
        refuse(write(columns.into(), WriterProperties::builder())),
        "`votes` has more than one column `winner`"
    );
}

#[test]
fn the_first_published_format_is_still_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/release-1");
    let votes = read_paths(&[path.to_owned()]).unwrap();
    assert_eq!(votes.report.sources[0].format, Format::VisionArenaBattle);
    assert_eq!((votes.report.kept, votes.report.n_rejected()), (12, 0));
    assert_eq!(winners(&votes.tally), [3; 4]);
    assert_eq!(
        votes.tally.models(),
        [
            "alpha-vision",
            "beta-vision",
            "delta-vision",
            "gamma-vision"
        ]
    );
}

// ---- files and folders ----

fn write_file(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read_paths(arguments: &[String]) -> Result<Votes, Error> {
    let inputs = arguments
        .iter()
        .map(|path| Input::from_argument(path))
        .collect();
    read_votes(inputs, &ReadOptions::default(), &mut |_| {})
}

#[test]
fn files_folders_and_patterns_are_read_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let table = "model_a,model_b,winner\nx,y,tie\n";
    write_file(folder.path(), "votes/b.parquet", table);
    write_file(
        folder.path(),
        "votes/a.json",
        "[{\"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\"}]",
    );
    write_file(folder.path(), "votes/.hidden.csv", table);
    write_file(folder.path(), "votes/README.md", "# Votes\n\nRead me.\n");
    write_file(folder.path(), "votes/picture.png", b"\x89PNG\r\n\x1a\n\0\0");
    let votes = read_paths(&[at("votes")]).unwrap();
    let read: Vec<_> = votes
        .report
        .sources
        .iter()
        .map(|source| (source.path.clone(), source.format))
        .collect();
    assert_eq!(
        read,
        [
            (at("votes/a.json"), Format::BattlesJson),
            (at("votes/b.parquet"), Format::BattlesCsv),
        ]
    );
    let skipped: Vec<_> = votes
        .report
        .skipped
        .iter()
        .map(|file| file.path.clone())
        .collect();
    assert_eq!(skipped, [at("votes/README.md"), at("votes/picture.png")]);
    assert_eq!(votes.report.kept, 2);

    let votes = read_paths(&[at("votes/[ab].*"), at("votes/b.parquet")]).unwrap();
    assert_eq!(votes.report.kept, 3);
    let error = read_paths(&[at("votes/*.csv")]).unwrap_err();
    assert!(matches!(error, Error::NothingToRead { .. }), "{error}");
    let error = read_paths(&[at("nowhere.csv")]).unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error}");
    write_file(folder.path(), "mixed/a.csv", table);
    write_file(
        folder.path(),
        "mixed/b.csv",
        table.replace(',', ";").replace("model_", "Model "),
    );
    write_file(
        folder.path(),
        "mixed/c.csv",
        "left\tright\twinner\nx\ty\tright\n",
    );
    write_file(
        folder.path(),
        "mixed/d",
        battles_parquet(&PLAIN_ROWS, WriterProperties::builder()),
    );
    let votes = read_paths(&[at("mixed")]).unwrap();
    assert_eq!((votes.report.kept, votes.report.sources.len()), (6, 4));
    // A file that is a table of votes but broken is not passed over.
    write_file(folder.path(), "mixed/e.json", "[{\"model_a\": \"x\"");
    let error = read_paths(&[at("mixed")]).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
    let error = read_paths(&[at("votes/README.md")]).unwrap_err();
    assert!(matches!(error, Error::MissingColumns { .. }), "{error}");
}

#[test]
fn a_folder_may_hold_json_that_is_no_votes_but_no_broken_votes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    write_file(folder.path(), "a.csv", "model_a,model_b,winner\nx,y,tie\n");
    write_file(
        folder.path(),
        "package.json",
        "{\n \"name\": \"votes\"\n}\n",
    );
    write_file(folder.path(), "sizes.json", "[1, 2]");
    let votes = read_paths(std::slice::from_ref(&path)).unwrap();
    assert_eq!((votes.report.kept, votes.report.skipped.len()), (1, 2));
    write_file(
        folder.path(),
        "votes.json",
        "[{\"model_a\": \"x\", \"model_b\": \"y\", \"winner\": \"tie\", \"score\": NaN}]",
    );
    let error = read_paths(&[path]).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_pattern_passes_names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    let table = "model_a,model_b,winner\nx,y,tie\n";
    let odd = folder
        .path()
        .join(std::ffi::OsStr::from_bytes(b"caf\xe9.csv"));
    fs::write(odd, table).unwrap();
    write_file(folder.path(), "deep/er/b.csv", table);
    write_file(folder.path(), "deep/a.csv", table);
    write_file(folder.path(), "deep/.c.csv", table);
    let check = |pattern: &str, n: usize| {
        let pattern = folder.path().join(pattern).display().to_string();
        let votes = read_paths(&[pattern]).unwrap();
        assert_eq!(votes.report.sources.len(), n);
    };
    check("*.csv", 1);
    check("d*/*.csv", 1);
    check("**/*.csv", 3);
    check("deep/.*.csv", 1);
    check("d[e]ep/../deep/?.csv", 1);
}

#[test]
fn a_release_folder_is_its_data_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = battles_parquet(&PLAIN_ROWS, WriterProperties::builder());
    write_file(folder.path(), "data/train-00001-of-00002.parquet", &parquet);
    write_file(folder.path(), "data/train-00000-of-00002.parquet", &parquet);
    write_file(
        folder.path(),
        "votes.csv",
        "model_a,model_b,winner\nx,y,tie\n",
    );
    let votes = read_paths(&[folder.path().display().to_string()]).unwrap();
    assert_eq!(votes.report.rows, 16);
    assert!(
        votes.report.sources[0]
            .path
            .ends_with("train-00000-of-00002.parquet")
    );
    assert_eq!(votes.report.rejected[&Reason::ModelMissing].count, 4);
}

#[test]
fn a_folder_without_any_votes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let error = read_paths(std::slice::from_ref(&path)).unwrap_err();
    assert!(matches!(error, Error::NothingToRead { .. }), "{error}");
    write_file(folder.path(), "notes.txt", "nothing\n");
    let error = read_paths(&[path]).unwrap_err();
    assert!(matches!(error, Error::MissingColumns { .. }), "{error}");
}

#[test]
fn progress_ends_at_the_whole_of_each_source() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "model_a,model_b,winner\n".to_owned();
    text.push_str(&"x,y,tie\n".repeat(40_000));
    write_file(folder.path(), "a.csv", &text);
    let parquet = battles_parquet(&PLAIN_ROWS, WriterProperties::builder());
    write_file(folder.path(), "b.parquet", &parquet);
    let mut seen = Vec::new();
    let inputs = vec![Input::Path(folder.path().to_owned())];
    read_votes(inputs, &ReadOptions::default(), &mut |progress| {
        assert_eq!(progress.n_sources, 2);
        seen.push((
            progress.source_idx,
            progress.bytes_read,
            progress.bytes_total,
            progress.rows,
        ));
    })
    .unwrap();
    let csv_bytes = text.len() as u64;
    assert_eq!(seen.iter().filter(|step| step.0 == 0).count(), 3);
    assert!(seen.contains(&(0, csv_bytes, Some(csv_bytes), 40_000)));
    let parquet_bytes = parquet.len() as u64;
    assert_eq!(
        seen.last(),
        Some(&(1, parquet_bytes, Some(parquet_bytes), 8))
    );
}

// ---- public data, where it is at hand ----

#[expect(
    clippy::disallowed_methods,
    reason = "tests take the folder of public test data from the environment"
)]
fn test_data(path: &str) -> Option<String> {
    match std::env::var("AGON_TESTDATA") {
        Ok(folder) => Some(format!("{folder}/{path}")),
        Err(_) => {
            println!("AGON_TESTDATA is not set: `{path}` is not read");
            None
        }
    }
}

fn winners(tally: &Tally) -> [u64; 4] {
    pairs(tally).values().fold([0; 4], |mut sums, counts| {
        sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        sums
    })
}

#[test]
fn genai_arena_has_its_published_counts() {
    let Some(path) = test_data("votes/genai-arena/clean_battle_20240220.json") else {
        return;
    };
    let votes = read_paths(&[path]).unwrap();
    // 428 are published as both bad: one of them is of a model against itself.
    assert_eq!(winners(&votes.tally), [759, 744, 130, 427]);
    assert_eq!(votes.report.rejected[&Reason::SelfBattle].count, 1);
    assert_eq!(votes.report.n_rejected(), 1);
    assert_eq!(votes.tally.models().len(), 13);
    assert_eq!(votes.report.kept - votes.report.n_named, 1_515);
}

#[test]
fn lmarena_battles_have_their_published_counts() {
    let Some(path) = test_data("votes/lmarena-battles/battles_001_040.jsonl") else {
        return;
    };
    let votes = read_paths(&[path]).unwrap();
    assert_eq!(winners(&votes.tally), [15, 7, 7, 10]);
    assert_eq!(votes.report.n_named, 0);
    assert_eq!(votes.report.sources[0].format, Format::BattlesJsonLines);
}

#[test]
fn evalica_tables_are_read_whole() {
    for (name, n) in [("simple", 16), ("food", 30)] {
        let Some(path) = test_data(&format!("votes/evalica/{name}.csv")) else {
            return;
        };
        let votes = read_paths(&[path]).unwrap();
        assert_eq!((votes.report.kept, votes.report.n_rejected()), (n, 0));
    }
}

#[test]
fn thirty_thousand_battles_have_their_pair_counts() {
    let Some(path) = test_data("votes/ranking-fixtures/battles-30k.parquet") else {
        return;
    };
    let votes = read_paths(&[path]).unwrap();
    assert_eq!(winners(&votes.tally), [10_782, 10_529, 4_930, 3_759]);
    // The table counts a win of A as 1, of B as 0 and either tie as 0.5.
    let expected =
        fs::read_to_string(test_data("votes/ranking-fixtures/bt_30k_counts.csv").unwrap()).unwrap();
    let mut table: BTreeMap<(String, String), [u64; 3]> = BTreeMap::new();
    for line in expected.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let outcome = match fields[2] {
            "1.0" => 0,
            "0.0" => 1,
            _ => 2,
        };
        table
            .entry((fields[0].to_owned(), fields[1].to_owned()))
            .or_default()[outcome] += fields[3].parse::<u64>().unwrap();
    }
    let found: BTreeMap<(String, String), [u64; 3]> = pairs(&votes.tally)
        .into_iter()
        .map(|(pair, [a, b, tie, both_bad])| (pair, [a, b, tie + both_bad]))
        .collect();
    assert_eq!(found, table);
}
