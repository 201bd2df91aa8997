//! Whole rows: the same fates as elsewhere, every format, hostile files, and what went wrong in other programs.

use std::{io::Cursor, path::PathBuf};

use super::*;
use crate::{Dedup, RejectedRow, read_battles, read_votes};

mod agreement;
mod columns;
mod formats;
mod hostile;
mod mutations;
mod needs;

fn path(name: &str) -> Input {
    Input::Path(PathBuf::from(format!(
        "{}/fixtures/{name}",
        env!("CARGO_MANIFEST_DIR")
    )))
}

fn read(input: Input, selection: &ConversationSelection) -> (Vec<ConversationRow>, InputReport) {
    let mut rows = Vec::new();
    let report = read_conversations(
        vec![input],
        &ReadOptions::default(),
        selection,
        &mut |batch| {
            rows.extend(batch);
            ControlFlow::Continue(())
        },
        &mut |_| {},
    )
    .unwrap();
    (rows, report)
}

#[test]
fn a_release_is_read_row_by_row() {
    let selection = ConversationSelection {
        images: true,
        columns: vec!["categories.ocr".to_owned(), "num_turns".to_owned()],
        ..ConversationSelection::default()
    };
    let (rows, report) = read(path("release-1"), &selection);
    assert_eq!((report.kept, rows.len()), (12, 12));
    let first = &rows[0];
    assert_eq!(first.place.row, 1);
    assert_eq!(first.models.len(), 2);
    assert!(first.id.is_some() && first.judge.is_some() && first.time.is_some());
    assert_eq!(first.columns[1], Some(1.into()));
    assert_eq!(first.conversations.len(), 2);
    let messages = &first.conversations[0].messages;
    assert_eq!(messages[0].role, RowRole::User);
    assert_eq!(messages[0].text.as_deref(), Some("What is this?"));
    assert_eq!(messages[1].role, RowRole::Assistant);
    let with_image = rows.iter().find(|row| !row.images.is_empty()).unwrap();
    assert!(with_image.images[0].bytes.is_some());
    assert!(with_image.images[0].path.is_some());
    for side in &with_image.conversations {
        assert_eq!(side.messages[0].images, [0]);
        assert!(side.messages[1].images.is_empty());
    }
    assert!(with_image.conv_metadata.is_some());
    assert!(rows.iter().all(|row| row.problems.is_empty()));
    // Without the bytes everything else is the same.
    let (plain, _) = read(path("release-1"), &ConversationSelection::default());
    assert_eq!(plain.len(), 12);
    for (plain, row) in plain.iter().zip(&rows) {
        assert_eq!(plain.conversations, row.conversations);
        assert_eq!(plain.images.len(), row.images.len());
        let names = plain.images.iter().zip(&row.images);
        assert!(
            names
                .clone()
                .all(|(plain, image)| plain.bytes.is_none() && plain.path == image.path)
        );
    }
}
