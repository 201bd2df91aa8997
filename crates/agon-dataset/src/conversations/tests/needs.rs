//! What went wrong elsewhere with votes and conversations, and what becomes of it here.

use super::{
    columns::{parquet, words},
    formats::{all, text},
    *,
};
use crate::{
    Reason,
    clean::{AgonOptions, Cleaned, Cleaner, Profile, Rule},
};

/// The rows of some lines of JSON.
fn lines(lines: &[&str]) -> (Vec<ConversationRow>, InputReport) {
    read(text("lines", &lines.join("\n")), &all())
}

fn clean(rows: &[ConversationRow], options: AgonOptions) -> Cleaned {
    let mut cleaner = Cleaner::new(Profile::Agon1(options));
    for row in rows {
        row.with_facts(&|_| Some(false), |facts| cleaner.add(facts).unwrap())
            .unwrap();
    }
    cleaner.finish()
}

/// A battle of `x` and `y` with these members beside.
fn battle(winner: &str, members: &str) -> String {
    format!(r#"{{"model_a":"x","model_b":"y","winner":"{winner}",{members}}}"#)
}

const SAID: &str = r#""conversation_a":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"conversation_b":[{"role":"user","content":"q"},{"role":"assistant","content":"b"}]"#;

#[test]
fn a_model_without_a_name_is_no_model() {
    let (rows, report) = lines(&[
        r#"{"model_a":null,"model_b":"y","winner":"tie"}"#,
        r#"{"model_b":"y","winner":"tie"}"#,
        r#"{"model_a":NaN,"model_b":"y","winner":"tie"}"#,
        r#"{"model_a":"x","model_b":"y","winner":"tie"}"#,
    ]);
    assert_eq!(rows.len(), 1);
    assert_eq!(report.rejected[&Reason::ModelMissing].count, 2);
    assert_eq!(report.rejected[&Reason::RowMalformed].first.row, 3);
    let names = arrow_array::StringArray::from(vec![None, Some(""), Some("x")]);
    let input = parquet(vec![
        ("model_a", std::sync::Arc::new(names)),
        ("model_b", words(&["y", "y", "y"])),
        ("winner", words(&["tie", "tie", "tie"])),
    ]);
    let (rows, report) = read(input, &all());
    assert_eq!(rows.len(), 1);
    assert_eq!(report.rejected[&Reason::ModelMissing].count, 2);
}

#[test]
fn a_model_does_not_meet_itself() {
    let (rows, report) = lines(&[r#"{"model_a":"m1","model_b":" m1 ","winner":"model_a"}"#]);
    assert_eq!(rows, []);
    let first = &report.rejected[&Reason::SelfBattle].first;
    assert_eq!(first.value.as_deref(), Some("m1"));
}

#[test]
fn of_two_votes_on_one_conversation_both_are_read_and_the_last_counts() {
    let first = battle(
        "model_a",
        &format!(r#""question_id":"c","tstamp":1717200000,{SAID}"#),
    );
    let again = battle(
        "model_b",
        &format!(r#""question_id":"c","tstamp":1717200060,{SAID}"#),
    );
    let (rows, _) = lines(&[&again, &first]);
    assert_eq!(rows.len(), 2);
    let cleaned = clean(&rows, AgonOptions::default());
    let verdict = cleaned.verdict(1).unwrap();
    assert_eq!(verdict.excluded_by, Some(Rule::Superseded));
    assert!(cleaned.is_kept(0));
}

#[test]
fn printed_objects_blank_answers_and_sides_of_different_length_are_found() {
    let answers = |a: &str, b: &str| {
        let side = |answer: &str| format!(r#"[{{"role":"user","content":"q"}},{answer}]"#);
        let (a, b) = (side(a), side(b));
        battle(
            "tie",
            &format!(r#""conversation_a":{a},"conversation_b":{b}"#),
        )
    };
    let said = |text: &str| format!(r#"{{"role":"assistant","content":{text}}}"#);
    let good = said("\"fine\"");
    let rows = [
        answers(&said("\"<generator object f at 0x7f>\""), &good),
        answers(&good, &said("null")),
        answers(&said("\"\""), &good),
        answers(&format!(r#"{good},{{"role":"user","content":"r"}}"#), &good),
        answers(&good, &good),
    ];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let (rows, _) = lines(&rows);
    let cleaned = clean(&rows, AgonOptions::default());
    let found: Vec<_> = (0..5)
        .map(|row| cleaned.verdict(row).unwrap().excluded_by)
        .collect();
    assert_eq!(
        found,
        [
            Some(Rule::PrintedObject),
            Some(Rule::BlankAnswer),
            Some(Rule::BlankAnswer),
            Some(Rule::UnequalMessages),
            None,
        ]
    );
}

#[test]
fn a_log_without_votes_is_read_and_is_empty() {
    let event = r#"{"tstamp":1717200000.1,"type":"chat","model":"x","state":{"messages":[]},"ip":"192.0.2.1"}"#;
    let (rows, report) = lines(&[event, event]);
    assert_eq!(rows, []);
    assert_eq!((report.rows, report.kept), (2, 0));
    assert_eq!(report.rejected[&Reason::NotAVote].count, 2);
}

#[test]
fn the_unit_of_times_is_found_and_a_mixture_is_told() {
    let at = |time: &str| battle("tie", &format!(r#""tstamp":{time}"#));
    let (rows, _) = lines(&[&at("1690000000456"), &at("\"1690000001456\"")]);
    let times: Vec<_> = rows.iter().map(|row| row.time.unwrap()).collect();
    assert_eq!(times, [1_690_000_000.456, 1_690_000_001.456]);
    let (rows, report) = lines(&[
        &at("1690000000.5"),
        &at("1690000001456"),
        &at("\"2023-07-22T04:26:40Z\""),
        &at("1690000002"),
    ]);
    assert_eq!(report.kept, 4);
    let times: Vec<_> = rows.iter().map(|row| row.time).collect();
    assert_eq!(
        times,
        [
            Some(1_690_000_000.5),
            None,
            Some(1_690_000_000.0),
            Some(1_690_000_002.0)
        ]
    );
    assert_eq!(
        rows[1].problems[0].to_string(),
        "column `tstamp`: a time in milliseconds, after seconds in row 1: one unit is expected"
    );
    assert!(rows[2].problems.is_empty() && rows[3].problems.is_empty());
    // The same in columns.
    let input = parquet(vec![
        ("model_a", words(&["x", "x"])),
        ("model_b", words(&["y", "y"])),
        ("winner", words(&["tie", "tie"])),
        ("tstamp", words(&["1690000000456", "1690000000"])),
    ]);
    let (rows, _) = read(input, &all());
    assert_eq!(rows[0].time, Some(1_690_000_000.456));
    assert_eq!((rows[1].time, rows[1].problems.len()), (None, 1));
}

#[test]
fn votes_of_one_visit_are_told_apart_and_only_the_first_can_count() {
    let selection = ConversationSelection {
        columns: vec!["evaluation_order".to_owned()],
        ..all()
    };
    let (rows, _) = read(
        path("formats/arena-human-preference-140k.jsonl"),
        &selection,
    );
    let visits: Vec<_> = rows.iter().map(|row| row.visit.as_deref()).collect();
    assert_eq!(visits[..2], [Some("s0"), Some("s0")]);
    assert_eq!(rows[1].columns, [Some(2.into())]);
    let options = AgonOptions {
        first_vote_of_visit_only: true,
        ..AgonOptions::default()
    };
    let cleaned = clean(&rows, options);
    let of_later = (0..rows.len())
        .filter(|&row| cleaned.verdict(row).unwrap().excluded_by == Some(Rule::LaterVoteOfVisit));
    let n_visits = visits
        .iter()
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    assert_eq!(of_later.count(), rows.len() - n_visits);
    assert!(n_visits < rows.len());
}

#[test]
fn categories_are_a_text_a_list_or_the_flags_of_a_group() {
    let of = |members: &str| {
        let (rows, _) = lines(&[&battle("tie", members)]);
        rows[0].categories.clone()
    };
    let named = |names: &[(&str, bool)]| {
        let names = names.iter();
        Some(
            names
                .map(|(name, is_in)| ((*name).to_owned(), *is_in))
                .collect(),
        )
    };
    assert_eq!(of(r#""category":" coding ""#), named(&[("coding", true)]));
    assert_eq!(
        of(r#""categories":["ocr","two\nlines",7]"#),
        named(&[("ocr", true), ("two lines", true)])
    );
    assert_eq!(
        of(r#""categories":{"ocr":true,"homework":false,"humor":null,"score":3}"#),
        named(&[("ocr", true), ("homework", false), ("humor", false)])
    );
    assert_eq!(
        of(r#""categories":"{\"ocr\": true}""#),
        named(&[("ocr", true)])
    );
    assert_eq!(of(r#""category":null"#), None);
    assert_eq!(of(r#""judge":"j""#), None);
}
