//! The same rows from Parquet, nested as its columns are, and where reading ends.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{Field, Fields};
use parquet::arrow::ArrowWriter;

use super::{
    formats::{MODEL, USER, all, text, texts},
    *,
};
use crate::{Format, RandomAccess};

pub(super) fn words(words: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(words.to_vec()))
}

pub(super) fn group(members: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let fields: Fields = members
        .iter()
        .map(|(name, member)| Field::new(*name, member.data_type().clone(), true))
        .collect();
    let members = members.into_iter().map(|(_, member)| member).collect();
    Arc::new(StructArray::new(fields, members, None))
}

/// Lists of `length` items each.
pub(super) fn lists(items: ArrayRef, length: usize) -> ArrayRef {
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(vec![length; items.len() / length]);
    Arc::new(ListArray::new(field, offsets, items, None))
}

pub(super) fn binary(cells: &[&[u8]]) -> ArrayRef {
    Arc::new(BinaryArray::from(cells.to_vec()))
}

pub(super) fn parquet_bytes(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
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

pub(super) fn parquet(columns: Vec<(&str, ArrayRef)>) -> Input {
    Input::Reader {
        name: "parquet".to_owned(),
        reader: Box::new(Cursor::new(parquet_bytes(columns))),
    }
}

#[test]
fn parquet_gives_the_same_rows_in_every_nesting() {
    let roles = words(&["user", "assistant", "user", "assistant"]);
    let said = words(&["q", "a", "r", "b"]);
    let plain = || group(vec![("role", roles.clone()), ("content", said.clone())]);
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![
        Some(&b"hello world!"[..]),
        None,
        None,
        None,
    ]));
    let picture = group(vec![
        ("bytes", bytes),
        ("path", words(&["p.png", "", "", ""])),
    ]);
    let parts = group(vec![
        ("type", words(&["text", "text", "text", "text"])),
        ("text", said.clone()),
        ("image", picture),
    ]);
    let in_parts = group(vec![("role", roles.clone()), ("content", lists(parts, 1))]);
    let json = r#"[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]"#;
    let json_2 = r#"[{"role":"user","content":"r"},{"role":"assistant","content":"b"}]"#;
    for (conversation, n_images) in [
        (lists(plain(), 2), 0),
        (lists(lists(plain(), 2), 1), 0),
        (words(&[json, json_2]), 0),
        (lists(in_parts, 2), 1),
    ] {
        let columns = vec![
            ("model_a", words(&["x", "y"])),
            ("model_b", words(&["y", "x"])),
            ("winner", words(&["model_a", "tie"])),
            ("conversation_a", conversation.clone()),
            ("conversation_b", conversation),
        ];
        for images in [true, false] {
            let selection = ConversationSelection {
                images,
                ..ConversationSelection::default()
            };
            let (rows, report) = read(parquet(columns.clone()), &selection);
            assert_eq!((report.kept, rows.len()), (2, 2));
            assert_eq!(
                texts(&rows[0], 0),
                [(&USER, Some("q")), (&MODEL, Some("a"))]
            );
            assert_eq!(
                texts(&rows[1], 1),
                [(&USER, Some("r")), (&MODEL, Some("b"))]
            );
            assert_eq!(rows[0].images.len(), n_images);
            assert_eq!(rows[0].problems, []);
            if let Some(image) = rows[0].images.first() {
                assert_eq!(image.path.as_deref(), Some("p.png"));
                assert_eq!(image.bytes.is_some(), images);
                assert_eq!(rows[0].conversations[1].messages[0].images, [0]);
            }
        }
    }
}

#[test]
fn parquet_of_conversations_without_votes_is_read_when_it_is_wanted() {
    let roles = words(&["user", "assistant", "user", "assistant"]);
    let said = words(&["q", "a", "r", "b"]);
    let turns = lists(lists(group(vec![("role", roles), ("content", said)]), 2), 1);
    let models: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
    let input = parquet(vec![
        ("conversation_id", words(&["c0", "c1"])),
        ("model", models),
        ("conversation", turns),
    ]);
    let selection = ConversationSelection {
        chats: true,
        ..all()
    };
    let (rows, report) = read(input, &selection);
    assert_eq!(report.sources[0].format, Format::Chats);
    assert_eq!((report.rows, report.kept, rows.len()), (2, 1, 1));
    assert_eq!(rows[0].models, ["x"]);
    assert_eq!(
        texts(&rows[0], 0),
        [(&USER, Some("q")), (&MODEL, Some("a"))]
    );
    assert_eq!(report.rejected[&crate::Reason::ModelMissing].first.row, 2);
}

#[test]
fn reading_ends_where_nothing_more_is_wanted() {
    let names = vec!["x"; 9_000];
    let others = vec!["y"; 9_000];
    let columns = vec![
        ("model_a", words(&names)),
        ("model_b", words(&others)),
        ("winner", words(&vec!["tie"; 9_000])),
        ("conversation_a", words(&vec!["[]"; 9_000])),
        ("conversation_b", words(&vec!["[]"; 9_000])),
    ];
    let lines = "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\"}\n".repeat(40_000);
    for (input, n_all) in [(parquet(columns), 9_000), (text("lines", &lines), 40_000)] {
        let mut batches = Vec::new();
        let report = read_conversations(
            vec![input, text("more", "never read")],
            &ReadOptions::default(),
            &all(),
            &mut |rows| {
                batches.push(rows.len() as u64);
                ControlFlow::Break(())
            },
            &mut |_| {},
        )
        .unwrap();
        assert_eq!(batches.len(), 1);
        assert!(batches[0] <= n_all);
        assert_eq!(report.sources.len(), 1);
        assert_eq!(report.rows, report.kept + report.n_rejected());
        assert!(report.kept >= batches[0], "{report:?}");
    }
}

#[test]
fn a_column_that_is_nowhere_is_an_error_and_one_that_is_somewhere_is_not() {
    let lines = "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\"}\n{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"tag\":{\"a.b\":{\"c\":1}}}\n";
    let selection = |column: &str| ConversationSelection {
        columns: vec![column.to_owned()],
        ..all()
    };
    let (rows, _) = read(text("lines", lines), &selection("tag.a.b.c"));
    assert_eq!(rows[0].columns, [None]);
    assert_eq!(rows[1].columns, [Some(1.into())]);
    let columns = vec![
        ("model_a", words(&["x"])),
        ("model_b", words(&["y"])),
        ("winner", words(&["tie"])),
    ];
    for input in [text("lines", lines), parquet(columns)] {
        let error = read_conversations(
            vec![input],
            &ReadOptions::default(),
            &selection("nowhere"),
            &mut |_| ControlFlow::Continue(()),
            &mut |_| {},
        )
        .unwrap_err();
        assert!(matches!(error, Error::MissingSelected { .. }), "{error}");
        assert!(
            error.to_string().contains("the column `nowhere`"),
            "{error}"
        );
    }
}

/// Bytes at hand that count how many of them are read.
struct Counted(Vec<u8>, AtomicUsize);

impl RandomAccess for Counted {
    fn name(&self) -> &str {
        "counted"
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let start = usize::try_from(offset).unwrap().min(self.0.len());
        let n = buffer.len().min(self.0.len() - start);
        buffer[..n].copy_from_slice(&self.0[start..start + n]);
        self.1.fetch_add(n, Ordering::Relaxed);
        Ok(n)
    }
}

#[test]
fn the_bytes_of_pictures_are_only_fetched_when_they_are_wanted() {
    let bytes = vec![b'p'; 1 << 20];
    let picture = group(vec![
        ("bytes", binary(&[&bytes])),
        ("path", words(&["p.png"])),
    ]);
    let content = parquet_bytes(vec![
        ("model_a", words(&["x"])),
        ("model_b", words(&["y"])),
        ("winner", words(&["tie"])),
        ("image", picture),
    ]);
    for images in [false, true] {
        let object = Arc::new(Counted(content.clone(), AtomicUsize::new(0)));
        let input = Input::Object {
            object: Arc::clone(&object) as Arc<dyn RandomAccess>,
            is_incidental: false,
        };
        let selection = ConversationSelection {
            images,
            ..ConversationSelection::default()
        };
        let (rows, _) = read(input, &selection);
        assert_eq!(rows[0].images[0].path.as_deref(), Some("p.png"));
        assert_eq!(rows[0].images[0].bytes.is_some(), images);
        let n_read = object.1.load(Ordering::Relaxed);
        assert_eq!(n_read >= 1 << 20, images, "{n_read}");
        assert!(images || n_read < 300_000, "{n_read}");
    }
}
