//! The three sinks give every row the same fate.

use super::*;
use crate::Format;

fn fixtures() -> Vec<PathBuf> {
    let folder = format!("{}/fixtures/formats", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension != "md"));
    paths.push(PathBuf::from(format!(
        "{}/fixtures/release-1",
        env!("CARGO_MANIFEST_DIR")
    )));
    paths.sort();
    paths
}

/// What a sink made of an input: the report, or the error in words; and the rejected rows as told one by one.
type Outcome = (Result<InputReport, String>, Vec<RejectedRow>);

fn outcome(
    options: ReadOptions<'_>,
    read: impl FnOnce(&ReadOptions<'_>) -> Result<InputReport, Error>,
) -> Outcome {
    let rejected = std::sync::Mutex::new(Vec::new());
    let on_reject = |row: &RejectedRow| rejected.lock().unwrap().push(row.clone());
    let options = ReadOptions {
        rejects: Some(&on_reject),
        ..options
    };
    let result = read(&options).map_err(|error| error.to_string());
    (result, rejected.into_inner().unwrap())
}

#[track_caller]
fn check(input: impl Fn() -> Input, options: ReadOptions<'_>) -> u64 {
    let what = format!("{:?} {options:?}", input());
    let votes = outcome(options, |options| {
        read_votes(vec![input()], options, &mut |_| {}).map(|votes| votes.report)
    });
    let battles = outcome(options, |options| {
        let selection = Selection::default();
        read_battles(vec![input()], options, &selection, &mut |_| {}).map(|(_, report)| report)
    });
    let mut rows = Vec::new();
    let conversations = outcome(options, |options| {
        let selection = ConversationSelection {
            images: true,
            ..ConversationSelection::default()
        };
        let mut on_rows = |batch| {
            rows.extend::<Vec<ConversationRow>>(batch);
            ControlFlow::Continue(())
        };
        read_conversations(
            vec![input()],
            options,
            &selection,
            &mut on_rows,
            &mut |_| {},
        )
    });
    assert_eq!(votes, battles, "{what}");
    assert_eq!(votes, conversations, "{what}");
    if let (Ok(report), _) = votes {
        assert_eq!(report.kept, rows.len() as u64, "{what}");
        assert_eq!(report.rows, report.kept + report.n_rejected(), "{what}");
        let places: Vec<u64> = rows.iter().map(|row| row.place.row).collect();
        // A matrix has its votes by pair, each with the line of its cell.
        let is_matrix = report.sources[0].format == Format::WinMatrix;
        assert!(is_matrix || places.is_sorted(), "{what}");
    }
    rows.len() as u64
}

#[test]
fn all_sinks_give_every_row_of_every_fixture_the_same_fate() {
    let aliases = crate::Aliases::new([("alpha".to_owned(), "alpha-2".to_owned())]).unwrap();
    let mut n_rows = 0;
    for path in fixtures() {
        for strict in [false, true] {
            for dedup in [None, Some(Dedup::Id), Some(Dedup::Content)] {
                let options = ReadOptions {
                    strict,
                    dedup,
                    aliases: Some(&aliases),
                    repeated_ids: true,
                    ..ReadOptions::default()
                };
                n_rows += check(|| Input::Path(path.clone()), options);
            }
        }
        // The same rows twice, of which dedup has to find the second.
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let bytes = std::fs::read(&path).unwrap();
            let twice = [bytes.as_slice(), &bytes].concat();
            for dedup in [Dedup::Id, Dedup::Content] {
                let options = ReadOptions {
                    dedup: Some(dedup),
                    ..ReadOptions::default()
                };
                let input = || Input::Reader {
                    name: "twice".to_owned(),
                    reader: Box::new(Cursor::new(twice.clone())),
                };
                check(input, options);
            }
        }
    }
    assert!(n_rows > 500, "{n_rows}");
}

#[test]
fn all_sinks_give_every_row_of_public_sets_the_same_fate() {
    for (path, n_rows) in [
        ("votes/lmarena-battles/battles_001_040.jsonl", 39),
        ("votes/wildvision-bench/vlm_battles.jsonl", 105),
        ("votes/pandalm/testset-v1.json", 999),
        ("votes/genai-arena/clean_battle_20240220.json", 2_060),
        ("votes/ranking-fixtures/battles-30k.parquet", 30_000),
    ] {
        let Some(bytes) = crate::votes::formats_tests::public(path) else {
            return;
        };
        let input = || Input::Reader {
            name: path.to_owned(),
            reader: Box::new(Cursor::new(bytes.clone())),
        };
        assert_eq!(check(input, ReadOptions::default()), n_rows, "{path}");
        if path.ends_with(".jsonl") || path.contains("pandalm") {
            let (rows, _) = read(input(), &ConversationSelection::default());
            let problems: Vec<_> = rows.iter().flat_map(|row| &row.problems).collect();
            // Six answers of PandaLM are `true` without quotes, which is no text.
            let n_expected = if path.contains("pandalm") { 6 } else { 0 };
            assert_eq!(problems.len(), n_expected, "{path}: {problems:?}");
            assert!(
                rows.iter().all(|row| row.conversations.len() == 2),
                "{path}"
            );
        }
    }
}
