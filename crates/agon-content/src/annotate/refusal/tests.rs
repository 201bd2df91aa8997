//! Refusals on our own cases, on XSTest, and on ordinary answers.

use proptest::prelude::*;
use serde_json::Value;

use super::{Refusal, RefusalLabel, refusal, refusal_category, side_refusal};
use crate::annotate::{
    category::{Category, Label},
    tests::{json_lines, shared, tab_separated},
};
use agon_domain::Sides;

fn kind(answer: &str) -> Option<Refusal> {
    refusal(answer).refusal
}

#[test]
fn refusals_and_their_near_misses_are_told_apart() {
    let mut wrong = Vec::new();
    let rows = tab_separated(include_str!("../../../fixtures/refusal/cases.tsv"));
    for row in &rows {
        let [language, expected, answer] = row.as_slice() else {
            panic!("{row:?}");
        };
        let found = refusal(answer);
        if found.refusal.map(Refusal::as_str) != Some(expected) {
            wrong.push(format!("{language} {expected}: {found:?} {answer}"));
        }
        if let Some(span) = &found.evidence {
            assert!(answer.get(span.clone()).is_some(), "{answer}");
        }
        assert!((0.0..=1.0).contains(&found.confidence));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.len() > 60);
}

#[test]
fn an_answer_without_words_is_unknown() {
    for answer in ["", " \n", "…", "🙂"] {
        let label = refusal(answer);
        assert_eq!(label.refusal, None);
        assert_eq!(label.label(), Label::Unknown);
        assert!(label.confidence.abs() < f64::EPSILON);
    }
}

#[test]
fn a_side_declines_when_one_of_its_answers_does() {
    let declines = "I'm sorry, but I can't help with that.";
    let answers = "The capital of Norway is Oslo.";
    assert_eq!(
        side_refusal(&[answers, declines]).refusal,
        Some(Refusal::Full)
    );
    assert_eq!(
        side_refusal(&[declines, answers]).refusal,
        Some(Refusal::Full)
    );
    assert_eq!(side_refusal(&[answers, ""]).refusal, Some(Refusal::None));
    assert_eq!(side_refusal(&[""]).refusal, None);
    assert_eq!(side_refusal(&[]), RefusalLabel::unknown());
}

#[test]
fn a_battle_is_a_refusal_when_either_side_declines() {
    let declines: &[&str] = &["I'm sorry, but I can't help with that."];
    let answers: &[&str] = &["The capital of Norway is Oslo."];
    let empty: &[&str] = &[""];
    for (a, b, expected) in [
        (declines, answers, Label::True),
        (answers, declines, Label::True),
        (answers, answers, Label::False),
        (empty, declines, Label::True),
        (answers, empty, Label::Unknown),
        (empty, empty, Label::Unknown),
    ] {
        let label = refusal_category(&Sides { a, b });
        assert_eq!(label.category, Category::Refusal);
        assert_eq!(label.label, expected, "{a:?} {b:?}");
    }
}

#[test]
fn typographic_apostrophes_change_nothing() {
    for answer in [
        "I'm sorry, but I can't help with that.",
        "I won't write that. It's unsafe.",
        "I'm unable to identify people.",
    ] {
        assert_eq!(kind(answer), kind(&answer.replace('\'', "’")), "{answer}");
    }
}

/// Rows of a file of comma-separated values with quotes, as Python's `csv` reads them.
fn comma_separated(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let row = rows.last_mut().unwrap();
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                row.last_mut().unwrap().push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(String::new()),
            '\n' if !is_quoted => rows.push(vec![String::new()]),
            '\r' if !is_quoted => {}
            c => row.last_mut().unwrap().push(c),
        }
    }
    rows.retain(|row| row.len() > 1);
    rows
}

#[derive(Debug, Default)]
struct Counts {
    n_right: u32,
    n_said: u32,
    n_true: u32,
}

impl Counts {
    fn add(&mut self, says: bool, holds: bool) {
        self.n_said += u32::from(says);
        self.n_true += u32::from(holds);
        self.n_right += u32::from(says && holds);
    }

    fn precision(&self) -> f64 {
        f64::from(self.n_right) / f64::from(self.n_said)
    }

    fn f1(&self) -> f64 {
        2.0 * f64::from(self.n_right) / f64::from(self.n_said + self.n_true)
    }
}

#[test]
fn answers_of_xstest_are_told_apart() {
    let Some(bytes) = shared("text/refusal/xstest_v2_completions_gpt4.csv") else {
        return;
    };
    let rows = comma_separated(&String::from_utf8(bytes).unwrap());
    let mut full = Counts::default();
    let mut any = Counts::default();
    let mut wrong = Vec::new();
    for row in &rows[1..] {
        let (id, answer, label) = (&row[0], &row[3], row[7].as_str());
        let found = kind(answer).unwrap();
        let is_full = label == "2_full_refusal";
        let is_any = is_full || label == "3_partial_refusal";
        if label != "3_partial_refusal" {
            full.add(found != Refusal::None, is_full);
            if (found != Refusal::None) != is_full {
                wrong.push(format!("{id} {label} {found:?}"));
            }
        }
        any.add(found != Refusal::None, is_any);
    }
    println!("full refusals: {full:?}, F1 {:.4}", full.f1());
    println!("full and partial: {any:?}, F1 {:.4}", any.f1());
    assert_eq!(any.n_true, 220);
    // The figures of docs/annotation.md. The goal is 0.95.
    assert!(full.f1() >= 0.97 && full.precision() >= 0.99, "{wrong:#?}");
    assert!(any.f1() >= 0.96 && any.precision() >= 0.99, "{wrong:#?}");
}

#[test]
fn ordinary_answers_are_no_refusals() {
    let (Some(answers), Some(battles)) = (
        shared("text/style/o3-mini_001_250.jsonl"),
        shared("votes/lmarena-battles/battles_001_040.jsonl"),
    ) else {
        return;
    };
    let mut alarms = Vec::new();
    let rows = json_lines(&answers);
    assert_eq!(rows.len(), 250);
    for row in &rows {
        let answer = row["messages"][1]["content"]["answer"].as_str().unwrap();
        let found = refusal(answer);
        if let Some(span) = found.evidence {
            alarms.push(format!("{:?} {}", found.refusal, &answer[span]));
        }
    }
    assert!(alarms.is_empty(), "{alarms:#?}");
    let mut of_battles = Vec::new();
    for row in json_lines(&battles) {
        let texts = |side: &str| -> Vec<String> {
            row[side]
                .as_array()
                .unwrap()
                .iter()
                .filter(|message| message["role"] == "assistant")
                .map(|message| message["content"].as_str().unwrap().to_owned())
                .collect()
        };
        for side in ["conversation_a", "conversation_b"] {
            for answer in texts(side) {
                let found = refusal(&answer);
                if let Some(span) = found.evidence {
                    of_battles.push((
                        row["is_refusal"] == Value::Bool(true),
                        row["category_tag"]["refusal_v0.2"] == Value::Bool(true),
                        format!("{side} {:?} {}", found.refusal, &answer[span]),
                    ));
                }
            }
        }
    }
    // One that people call a refusal too, one that the arena's classifier does, and one that asks for a statement on a politician.
    let verdicts: Vec<(bool, bool)> = of_battles
        .iter()
        .map(|(person, machine, _)| (*person, *machine))
        .collect();
    assert_eq!(
        verdicts,
        [(false, false), (false, true), (true, true)],
        "{of_battles:#?}"
    );
}

#[test]
fn an_answer_is_judged_in_bounded_time() {
    let answer = "I can't say much about the weather in Bergen, so here is a list: ".repeat(2_000);
    let _ = refusal(&answer);
    let start = std::time::Instant::now();
    let _ = refusal(&answer);
    let long = start.elapsed();
    println!("{long:?} for an answer of {} bytes", answer.len());
    assert!(long.as_secs() < 5, "{long:?}");
}

proptest! {
    #[test]
    fn any_text_is_judged_and_its_evidence_is_a_part_of_it(
        text in prop_oneof![
            any::<String>(),
            "(I’m sorry|Sorry|\"|“|```|İ|ẞ|抱歉，|Es tut mir leid)[ ,]{0,2}(but I can’t help|I won't|我无法提供|kann ich nicht helfen)[ .\"”`]{0,3}\\PC{0,40}",
        ],
    ) {
        let found = refusal(&text);
        prop_assert!((0.0..=1.0).contains(&found.confidence));
        if let Some(span) = found.evidence {
            prop_assert!(text.get(span).is_some_and(|passage| !passage.is_empty()));
        }
    }
}
