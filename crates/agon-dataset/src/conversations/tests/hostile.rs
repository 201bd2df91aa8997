//! Files that somebody made, or that a disk or a network broke: an error with its place, bounded memory and time, and no panic.

use std::io::{self, Read, Write as _};

use super::{
    columns::{self, lists, parquet_bytes, words},
    formats::{all, texts},
    *,
};

fn bytes(bytes: &[u8]) -> Input {
    Input::Reader {
        name: "hostile".to_owned(),
        reader: Box::new(Cursor::new(bytes.to_vec())),
    }
}

/// Reads with all three sinks, which have to agree on whether there is an error.
#[track_caller]
fn attempt(content: &[u8]) -> Result<(Vec<ConversationRow>, InputReport), String> {
    let options = ReadOptions::default();
    let mut rows = Vec::new();
    let result = read_conversations(
        vec![bytes(content)],
        &options,
        &all(),
        &mut |batch| {
            rows.extend(batch);
            ControlFlow::Continue(())
        },
        &mut |_| {},
    );
    if let Ok(report) = &result {
        assert_eq!(report.rows, report.kept + report.n_rejected());
        assert_eq!(report.kept, rows.len() as u64);
    }
    let report = result.map_err(|error| {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        text
    })?;
    Ok((rows, report))
}

#[track_caller]
fn refuse(content: &[u8]) -> String {
    attempt(content).unwrap_err()
}

pub(super) fn nested() -> Vec<u8> {
    let roles = words(&["user", "assistant", "user", "assistant"]);
    let said = words(&["q", "a", "r", "b"]);
    let messages = columns::group(vec![("role", roles), ("content", said)]);
    let conversation = lists(lists(messages, 2), 1);
    let pictures = columns::group(vec![
        ("bytes", columns::binary(&[b"picture", b"other"])),
        ("path", words(&["p.png", "q.png"])),
    ]);
    parquet_bytes(vec![
        ("model_a", words(&["x", "y"])),
        ("model_b", words(&["y", "x"])),
        ("winner", words(&["model_a", "tie"])),
        ("conversation_a", conversation.clone()),
        ("conversation_b", conversation),
        ("images", lists(pictures, 1)),
    ])
}

#[test]
fn parquet_cut_anywhere_is_refused() {
    let whole = nested();
    assert_eq!(attempt(&whole).unwrap().0.len(), 2);
    for end in (4..whole.len()).step_by(13) {
        let error = refuse(&whole[..end]);
        assert!(
            error.starts_with("`hostile` is not valid Parquet: "),
            "{error}"
        );
    }
}

#[test]
fn parquet_with_any_byte_changed_gives_an_error_or_a_full_account() {
    let whole = nested();
    let mut n_refused = 0;
    for idx in (4..whole.len()).step_by(3) {
        let mut changed = whole.clone();
        changed[idx] ^= [0x01, 0x80, 0xff][idx % 3];
        n_refused += u32::from(attempt(&changed).is_err());
    }
    assert!(n_refused > 100, "{n_refused}");
}

#[test]
fn a_wrong_beginning_and_a_wrong_end_are_refused() {
    let mut whole = nested();
    let length = whole.len();
    whole[length - 1] = b'2';
    assert!(refuse(&whole).starts_with("`hostile` is not valid Parquet: "));
    let mut whole = nested();
    whole[3] = b'2';
    assert!(refuse(&whole).contains("expected Parquet, CSV"));
    // A directory that claims to be longer than the file.
    let mut whole = nested();
    whole[length - 8..length - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(refuse(&whole).starts_with("`hostile` is not valid Parquet: "));
}

/// A line without an end.
struct Endless {
    n_left: u64,
    n_read: std::sync::Arc<std::sync::atomic::AtomicU64>,
    head: &'static [u8],
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = if self.head.is_empty() {
            let n = usize::try_from(self.n_left).unwrap_or(usize::MAX);
            let n = n.min(buffer.len());
            buffer[..n].fill(b'x');
            self.n_left -= n as u64;
            n
        } else {
            self.head.read(buffer)?
        };
        let counter = &self.n_read;
        counter.fetch_add(n as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(n)
    }
}

#[test]
fn a_line_of_a_gigabyte_is_refused_before_it_is_read() {
    for head in [
        &b"{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"prompt\":\""[..],
        b"[{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"prompt\":\"",
        b"model_a,model_b,winner,prompt\nx,y,tie,",
        b"model_a,model_b,winner,prompt\nx,y,tie,\"",
        b"model_a,",
    ] {
        let n_read = std::sync::Arc::default();
        let reader = Endless {
            n_left: 1 << 30,
            n_read: std::sync::Arc::clone(&n_read),
            head,
        };
        let options = ReadOptions {
            record_bytes_max: 1 << 20,
            ..ReadOptions::default()
        };
        let input = Input::Reader {
            name: "line".to_owned(),
            reader: Box::new(reader),
        };
        let error = read_conversations(
            vec![input],
            &options,
            &all(),
            &mut |_| ControlFlow::Continue(()),
            &mut |_| {},
        )
        .unwrap_err();
        assert!(matches!(error, Error::RecordTooLarge { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with("row 1 of `line` is larger than 1048576 bytes"),
            "{text}"
        );
        // What was read is what was held at most.
        let n_read = n_read.load(std::sync::atomic::Ordering::Relaxed);
        assert!(n_read <= 4 << 20, "{n_read}");
    }
}

const VOTE: &str = r#""model_a":"x","model_b":"y","winner":"tie""#;

#[test]
fn what_is_nested_too_deep_is_told_and_the_vote_is_kept() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let line = format!("{{{VOTE},\"conversation_a\":{deep},\"conversation_b\":[],\"id\":\"i\"}}");
    let (rows, _) = attempt(line.as_bytes()).unwrap();
    assert_eq!(rows[0].id.as_deref(), Some("i"));
    let problem = rows[0].problems[0].to_string();
    assert_eq!(problem, "column `conversation_a`: recursion limit exceeded");
    // The same as a text in a text.
    let line = format!("{{{VOTE},\"conversation_a\":\"{deep}\",\"conversation_b\":[]}}");
    let (rows, _) = attempt(line.as_bytes()).unwrap();
    let problem = rows[0].problems[0].to_string();
    assert_eq!(
        problem,
        "column `conversation_a`: text that is no JSON of messages"
    );
}

#[test]
fn a_value_of_millions_of_values_is_not_built() {
    let many = format!("[{}1]", "1,".repeat(4_000_001));
    let line = format!("{{{VOTE},\"conv_metadata\":{many}}}");
    let (rows, _) = attempt(line.as_bytes()).unwrap();
    assert_eq!(rows[0].conv_metadata, None);
    let problem = rows[0].problems[0].to_string();
    assert_eq!(problem, "column `conv_metadata`: more than 4000000 values");
}

#[test]
fn a_broken_first_record_leaves_no_columns_behind() {
    let broken = format!("{{{VOTE},\"prompt\":\"\u{1}\"}}");
    let (_, report) = attempt(format!("{broken}\n{{{VOTE}}}\n").as_bytes()).unwrap();
    assert_eq!(report.sources[0].columns, ["model_a", "model_b", "winner"]);
    let first = &report.rejected[&crate::Reason::RowMalformed].first;
    assert!(
        first
            .value
            .as_deref()
            .unwrap()
            .starts_with("control character")
    );
}

#[test]
fn what_is_no_utf_8_is_named_with_its_place() {
    let good = format!("{{{VOTE}}}\n");
    let bad = format!("{{{VOTE},\"prompt\":\"a?\"}}\n");
    let mut content = [good.as_bytes(), bad.as_bytes(), good.as_bytes()].concat();
    let idx = content.iter().position(|&byte| byte == b'?').unwrap();
    content[idx] = 0xff;
    let (rows, report) = attempt(&content).unwrap();
    assert_eq!(rows.len(), 2);
    let first = &report.rejected[&crate::Reason::RowMalformed].first;
    assert_eq!((first.row, first.line), (2, Some(2)));
    assert_eq!(
        first.value.as_deref(),
        Some("not UTF-8 at byte 56 of the record")
    );
    let csv = b"model_a,model_b,winner,prompt,response_a,response_b\nx,y,tie,\xff,a,b\n";
    let (rows, _) = attempt(csv).unwrap();
    assert_eq!(
        rows[0].problems[0].to_string(),
        "column `prompt`: text that is not UTF-8"
    );
    assert_eq!(texts(&rows[0], 0).len(), 1);
    // In Parquet it is missing from its row alone.
    let mut whole = nested();
    let idx = whole
        .windows(7)
        .position(|part| part == b"\x01\0\0\0q\x01\0")
        .unwrap();
    whole[idx + 4] = 0xff;
    let (rows, _) = attempt(&whole).unwrap();
    assert_eq!(
        rows[0].problems[0].to_string(),
        "column `conversation_a`: text that is not UTF-8"
    );
    assert_eq!(rows[1].problems, []);
}

#[test]
fn bytes_of_zero_are_text_where_they_may_be_and_told_where_not() {
    let escaped = format!("{{{VOTE},\"conversation_a\":[\"a\\u0000b\"],\"conversation_b\":[]}}");
    let (rows, _) = attempt(escaped.as_bytes()).unwrap();
    assert_eq!(texts(&rows[0], 0)[0].1, Some("a\0b"));
    let raw = format!(
        "{{{VOTE}}}\n{}\n{{{VOTE},\"prompt\":\"a\0b\"}}\n",
        " ".repeat(20_000)
    );
    let (rows, report) = attempt(raw.as_bytes()).unwrap();
    assert_eq!(rows.len(), 1);
    let first = &report.rejected[&crate::Reason::RowMalformed].first;
    assert_eq!((first.row, first.line), (2, Some(3)));
    let csv = format!(
        "model_a,model_b,winner,prompt,response_a,response_b\n{}x,y,tie,a\0b,c,d\n",
        "x,y,tie,p,a,b\n".repeat(2_000)
    );
    let (rows, _) = attempt(csv.as_bytes()).unwrap();
    assert_eq!(texts(rows.last().unwrap(), 0)[0].1, Some("a\0b"));
    assert!(refuse(b"model_a,model_b,winner\nx\0,y,tie\n").contains("binary data"));
}

#[test]
fn bare_words_for_numbers_that_are_none_are_named() {
    for (word, shown) in [
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("nan", "nan"),
        ("inf", "inf"),
    ] {
        let good = format!("{{{VOTE}}}\n");
        let bad = format!("{{{VOTE},\n\"conv_metadata\":{{\"a\":{word}}}}}");
        let lines = format!("{good}{}\n", bad.replace('\n', ""));
        let array = format!("[{{{VOTE}}},{bad}]");
        for content in [lines, array] {
            let (rows, report) = attempt(content.as_bytes()).unwrap();
            assert_eq!(rows.len(), 1);
            let first = &report.rejected[&crate::Reason::RowMalformed].first;
            let value = first.value.as_deref().unwrap();
            let place = content.rfind(word).unwrap() - content.rfind("{\"model_a").unwrap() + 1;
            let expected =
                format!("`{shown}` at byte {place} of the record: expected a number or null");
            assert_eq!(value, expected, "{content}");
        }
    }
    // A word that only looks so is none of these.
    let (_, report) = attempt(format!("{{{VOTE}}}\n{{{VOTE},\"a\":Nano}}\n").as_bytes()).unwrap();
    let first = &report.rejected[&crate::Reason::RowMalformed].first;
    assert!(
        first
            .value
            .as_deref()
            .unwrap()
            .starts_with("expected value")
    );
}

#[test]
fn columns_of_the_wrong_type_are_told_and_the_votes_are_kept() {
    use arrow_array::{ArrayRef, BooleanArray, Int64Array};
    let numbers: ArrayRef = std::sync::Arc::new(Int64Array::from(vec![7, 8]));
    let truths: ArrayRef = std::sync::Arc::new(BooleanArray::from(vec![true, false]));
    let content = parquet_bytes(vec![
        ("model_a", words(&["x", "y"])),
        ("model_b", words(&["y", "x"])),
        ("winner", words(&["model_a", "tie"])),
        ("conversation_a", numbers.clone()),
        ("conversation_b", lists(numbers.clone(), 1)),
        ("images", numbers),
        ("judge", truths),
        ("language", lists(words(&["English", "French"]), 1)),
    ]);
    let (rows, _) = attempt(&content).unwrap();
    let problems: Vec<String> = rows[0].problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "column `images`: a number in place of a picture",
            "column `conversation_a`: a number in place of messages",
            "column `conversation_b`: a number in place of messages",
        ]
    );
    assert_eq!(rows[1].language.as_deref(), Some("French"));
    // Those that the vote itself needs are refused, as everywhere.
    let content = parquet_bytes(vec![
        ("model_a", lists(words(&["x", "y"]), 1)),
        ("model_b", words(&["y", "x"])),
        ("winner", words(&["model_a", "tie"])),
    ]);
    assert!(refuse(&content).contains("column `model_a` of `hostile` holds nested values"));
}

#[test]
fn ten_thousand_columns_and_columns_that_are_there_twice_are_no_hindrance() {
    let names: Vec<String> = (0..10_000).map(|n| format!("c{n}")).collect();
    let mut columns: Vec<_> = names[..2_000]
        .iter()
        .map(|name| (name.as_str(), words(&["z"])))
        .collect();
    columns.extend([
        ("model_a", words(&["x"])),
        ("model_b", words(&["y"])),
        ("winner", words(&["tie"])),
        ("conversation_a", words(&["[\"a\"]"])),
        ("conversation_b", words(&["[\"b\"]"])),
    ]);
    let (rows, _) = attempt(&parquet_bytes(columns)).unwrap();
    assert_eq!(texts(&rows[0], 1)[0].1, Some("b"));
    let members: Vec<String> = names.iter().map(|name| format!("\"{name}\":1")).collect();
    let line = format!("{{{VOTE},{}}}", members.join(","));
    assert_eq!(attempt(line.as_bytes()).unwrap().0.len(), 1);
    // Twice: of a vote's own columns an error, of others the first with a note.
    let twice = r#""conversation_a":["a"],"conversation_a":["c"],"conversation_b":["b"]"#;
    let (rows, _) = attempt(format!("{{{VOTE},{twice}}}").as_bytes()).unwrap();
    assert_eq!(texts(&rows[0], 0)[0].1, Some("a"));
    assert_eq!(
        rows[0].problems[0].to_string(),
        "column `conversation_a`: it is there more than once: the first counts"
    );
    let csv = "model_a,model_a,model_b,winner\nx,x,y,tie\n";
    assert!(refuse(csv.as_bytes()).contains("more than one column `model_a`"));
    let csv = "model_a,model_b,winner,response_a,response_b,response_a\nx,y,tie,a,b,c\n";
    let (rows, _) = attempt(csv.as_bytes()).unwrap();
    assert_eq!(texts(&rows[0], 0)[0].1, Some("a"));
    assert_eq!(rows[0].problems.len(), 1);
}

#[test]
fn a_folder_of_many_schemas_is_read_file_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        std::fs::write(folder.path().join(name), content).unwrap();
    };
    write("a.parquet", &nested());
    write("b.csv", b"left,right,winner\nx,y,left\n");
    write("c.jsonl", format!("{{{VOTE}}}\n").as_bytes());
    write("d.json", b"{\"what\": \"no votes\"}");
    write("e.txt", b"just text\nof two lines\n");
    let (rows, report) = read(Input::Path(folder.path().to_owned()), &all());
    let sources: Vec<usize> = rows.iter().map(|row| row.source).collect();
    assert_eq!(sources, [0, 0, 1, 2]);
    assert_eq!(report.sources.len(), 3);
    assert_eq!(report.skipped.len(), 2, "{:?}", report.skipped);
    // One that is broken is not passed over.
    write("f.parquet", &nested()[..100]);
    let error = read_conversations(
        vec![Input::Path(folder.path().to_owned())],
        &ReadOptions::default(),
        &all(),
        &mut |_| ControlFlow::Continue(()),
        &mut |_| {},
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("f.parquet` is not valid Parquet"),
        "{error}"
    );
}

#[test]
fn what_stands_behind_the_end_of_gzip_is_told() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder
        .write_all(format!("{{{VOTE}}}\n").as_bytes())
        .unwrap();
    let packed = encoder.finish().unwrap();
    let twice = [packed.clone(), packed.clone()].concat();
    assert_eq!(attempt(&twice).unwrap().0.len(), 2);
    for garbage in [&b"garbage"[..], b"\0\0\0\0", b"\n"] {
        let error = refuse(&[&packed, garbage].concat());
        assert!(
            error.contains("is not valid gzip: something that is no gzip stands behind its end")
                || error.contains("is not valid gzip: it ends too early"),
            "{error}"
        );
    }
}

#[test]
fn half_of_a_surrogate_pair_is_replaced_and_told() {
    let line = format!(
        r#"{{{VOTE},"conversation_a":[{{"role":"user","content":"a\ud83d b \ud83d\ude00 \\ud83d"}}],"conversation_b":[],"id":"i"}}"#
    );
    let (rows, _) = attempt(line.as_bytes()).unwrap();
    let row = &rows[0];
    assert_eq!(texts(row, 0)[0].1, Some("a\u{fffd} b \u{1f600} \\ud83d"));
    assert_eq!(row.id.as_deref(), Some("i"));
    assert_eq!(
        row.problems[0].to_string(),
        "column `conversation_a`: half of a surrogate pair, replaced by U+FFFD"
    );
    // Inside of a table too, where the cell is JSON.
    let csv =
        "model_a,model_b,winner,prompt,response_a,response_b\nx,y,tie,\"[\"\"a\\ud83d\"\"]\",b,c\n";
    let (rows, _) = attempt(csv.as_bytes()).unwrap();
    assert_eq!(texts(&rows[0], 0)[0].1, Some("a\u{fffd}"));
    assert_eq!(rows[0].problems.len(), 1, "once for both sides");
}

#[test]
fn a_text_of_parquet_that_is_not_utf8_is_missing_from_its_row_alone() {
    let roles = words(&["user", "assistant", "user", "assistant"]);
    let said = words(&["q", "MARKER", "r", "b"]);
    let messages = columns::group(vec![("role", roles), ("content", said)]);
    let conversation = lists(messages, 2);
    for (judges, column) in [(["j", "k"], "conversation_b"), (["MARKER", "k"], "judge")] {
        let mut columns = vec![
            ("model_a", words(&["x", "y"])),
            ("model_b", words(&["y", "x"])),
            ("winner", words(&["model_a", "tie"])),
            ("judge", words(&judges)),
        ];
        if column == "conversation_b" {
            columns.push(("conversation_a", conversation.clone()));
            columns.push(("conversation_b", conversation.clone()));
        }
        let mut content = parquet_bytes(columns);
        let places: Vec<usize> = content
            .windows(6)
            .enumerate()
            .filter_map(|(at, window)| (window == b"MARKER").then_some(at))
            .collect();
        for at in places {
            content[at + 2] = 0xff;
        }
        let (rows, report) = attempt(&content).unwrap();
        assert_eq!((report.rows, report.kept), (2, 2));
        let expected = RowProblem {
            column: column.to_owned(),
            detail: "text that is not UTF-8".to_owned(),
        };
        assert!(rows[0].problems.contains(&expected), "{rows:?}");
        assert_eq!(rows[1].problems, []);
        assert_eq!(rows[1].judge.as_deref(), Some("k"));
        if column == "conversation_b" {
            assert_eq!(texts(&rows[0], 1)[1].1, None);
            assert_eq!(texts(&rows[1], 1)[1].1, Some("b"));
        } else {
            assert_eq!(rows[0].judge, None);
        }
    }
}
