//! What is done with bytes from anybody: all three readers take them, none panics, and they agree.
//!
//! Both the targets of cargo-fuzz and a test of the normal suite (`crates/agon-dataset/src/conversations/tests/mutations.rs`) call these functions.

use std::{io::Cursor, ops::ControlFlow};

use agon_dataset::{
    ConversationSelection, Dedup, Error, Input, InputReport, ReadOptions, Selection, UnpackLimits,
    read_battles, read_conversations, read_votes,
};

/// Bytes that one input may unpack to here.
const UNPACKED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Text that is taken for JSON.
pub(crate) fn json(bytes: &[u8]) {
    if bytes
        .trim_ascii_start()
        .first()
        .is_some_and(|byte| b"[{".contains(byte))
    {
        agree(bytes, true);
    }
}

/// Text that is taken for a table.
pub(crate) fn delimited(bytes: &[u8]) {
    let is_other = bytes
        .trim_ascii_start()
        .first()
        .is_none_or(|byte| b"[{".contains(byte) || !byte.is_ascii());
    if !is_other && !bytes.starts_with(b"PAR1") && !bytes.starts_with(b"PK") {
        agree(bytes, true);
    }
}

/// A Parquet file: whatever stands there, it begins and ends like one.
pub(crate) fn parquet(bytes: &[u8]) {
    if bytes.len() < 12 {
        return;
    }
    let mut bytes = bytes.to_vec();
    let length = bytes.len();
    bytes[..4].copy_from_slice(b"PAR1");
    bytes[length - 4..].copy_from_slice(b"PAR1");
    agree(&bytes, false);
}

/// A zip archive or a compressed stream.
pub(crate) fn archive(bytes: &[u8]) {
    let magics: [&[u8]; 5] = [b"PK", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ"];
    if magics.iter().any(|magic| bytes.starts_with(magic)) {
        agree(bytes, false);
    }
}

fn input(bytes: &[u8]) -> Vec<Input> {
    vec![Input::Reader {
        name: "fuzz".to_owned(),
        reader: Box::new(Cursor::new(bytes.to_vec())),
    }]
}

/// Reads the bytes in all ways.
///
/// `is_text` says that all readers look at the same bytes, so that their errors are the same; of Parquet each reads its own columns, any of which may be damaged.
fn agree(bytes: &[u8], is_text: bool) {
    for dedup in [None, Some(Dedup::Id), Some(Dedup::Content)] {
        let options = ReadOptions {
            dedup,
            record_bytes_max: 1024 * 1024,
            unpack: UnpackLimits {
                bytes_max: UNPACKED_BYTES_MAX,
                members_max: 100,
                ..UnpackLimits::default()
            },
            ..ReadOptions::default()
        };
        let votes = read_votes(input(bytes), &options, &mut |_| {}).map(|votes| votes.report);
        let selection = Selection::default();
        let battles = read_battles(input(bytes), &options, &selection, &mut |_| {});
        let battles = battles.map(|(_, report)| report);
        let selection = ConversationSelection {
            images: true,
            ..ConversationSelection::default()
        };
        let mut n_rows = 0;
        let mut on_rows = |rows: Vec<_>| {
            n_rows += rows.len() as u64;
            ControlFlow::Continue(())
        };
        let rows = read_conversations(
            input(bytes),
            &options,
            &selection,
            &mut on_rows,
            &mut |_| {},
        );
        if let Ok(report) = &rows {
            assert_eq!(report.kept, n_rows);
        }
        compare(&votes, &battles, is_text);
        compare(&votes, &rows, is_text);
        let chats = ConversationSelection {
            chats: true,
            ..selection
        };
        let mut on_rows = |_: Vec<_>| ControlFlow::Continue(());
        let chats = read_conversations(input(bytes), &options, &chats, &mut on_rows, &mut |_| {});
        if let Ok(report) = &chats {
            assert_eq!(report.rows, report.kept + report.n_rejected());
        }
    }
}

fn compare(
    one: &Result<InputReport, Error>,
    other: &Result<InputReport, Error>,
    are_errors_equal: bool,
) {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            assert_eq!(one, other);
            assert_eq!(one.rows, one.kept + one.n_rejected());
        }
        // A matrix of few bytes can stand for more rows than anybody wants one by one.
        (Ok(_), Err(error)) if error.to_string().contains("a matrix of wins") => {}
        (one, other) if are_errors_equal => {
            let text = |result: &Result<InputReport, Error>| match result {
                Ok(report) => format!("{report:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(text(one), text(other));
        }
        _ => {}
    }
}
