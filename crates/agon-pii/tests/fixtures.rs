//! Texts made for this crate: what is to be found in them, and what is not, on every machine.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helping functions too"
)]

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use agon_pii::{
    Detector, Entity, Options,
    evaluate::{Absent, Case, Expected, Report, evaluate},
};
use serde_json::Value;

/// The fixtures of one file: texts with the entity and the value in them, or with the entity that is not in them.
fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{file}: {error}: {line}"));
            let text = line["text"].as_str().unwrap().to_owned();
            let entity = line["entity"].as_str().map(|name| {
                Entity::parse(name).unwrap_or_else(|| panic!("no entity is called {name}"))
            });
            let expected: Vec<Expected> = line["value"]
                .as_str()
                .map(|value| {
                    let start = text
                        .find(value)
                        .unwrap_or_else(|| panic!("{file}: `{value}` is not in `{text}`"));
                    Expected {
                        entity: entity.unwrap(),
                        bytes: start..start + value.len(),
                    }
                })
                .into_iter()
                .collect();
            let absent = match entity {
                _ if !expected.is_empty() => Absent::Unknown,
                Some(entity) => Absent::Entities(vec![entity]),
                None => Absent::Everything,
            };
            Case {
                text,
                language: line["language"].as_str().map(ToOwned::to_owned),
                expected,
                absent,
            }
        })
        .collect()
}

fn report(cases: &[Case], with_language: bool) -> (Report, String) {
    let detector = Detector::new(&Options::default()).unwrap();
    let mut misses = String::new();
    let report = evaluate(cases, |case| {
        let findings = detector.find_in(
            &case.text,
            case.language.as_deref().filter(|_| with_language),
        );
        let mut alone = Report::default();
        alone.count(case, &findings, agon_pii::THRESHOLD);
        if alone.total.found < alone.total.expected || alone.total.wrong > 0 {
            let shown: Vec<String> = findings
                .iter()
                .map(|finding| format!("{} {:.2}", finding.entity, finding.score))
                .collect();
            let _ = writeln!(misses, "{} {shown:?}", case.text);
        }
        findings
    });
    (report, misses)
}

#[test]
fn national_numbers_are_found_and_their_twins_are_not() {
    let cases = cases("national.jsonl");
    let (with, misses) = report(&cases, true);
    assert_eq!(
        (with.total.found, with.total.wrong),
        (with.total.expected, 0),
        "{misses}"
    );
    let (without, misses) = report(&cases, false);
    assert!(without.total.recall().unwrap() >= 0.95, "{misses}");
    assert_eq!(
        without.total.found_any_name, without.total.expected,
        "{misses}"
    );
}

#[test]
fn documents_are_found_by_shape_and_word() {
    let (with, misses) = report(&cases("documents.jsonl"), true);
    assert_eq!(
        (with.total.found, with.total.wrong),
        (with.total.expected, 0),
        "{misses}"
    );
}

#[test]
fn what_has_the_same_form_everywhere_is_found() {
    let cases = cases("worldwide.jsonl");
    for with_language in [true, false] {
        let (report, misses) = report(&cases, with_language);
        assert_eq!(
            (report.total.found, report.total.wrong),
            (report.total.expected, 0),
            "{misses}"
        );
    }
}

#[test]
fn secrets_are_found_and_placeholders_are_not() {
    let (report, misses) = report(&cases("secrets.jsonl"), true);
    assert_eq!(
        (report.total.found, report.total.wrong),
        (report.total.expected, 0),
        "{misses}"
    );
}

#[test]
fn evasions_are_seen_through() {
    let (report, misses) = report(&cases("evasions.jsonl"), true);
    assert_eq!(
        (report.total.found, report.total.wrong),
        (report.total.expected, 0),
        "{misses}"
    );
}

#[test]
fn harmless_texts_stay_quiet() {
    let cases = cases("harmless.jsonl");
    for with_language in [true, false] {
        let (report, misses) = report(&cases, with_language);
        assert_eq!(report.total.wrong, 0, "{misses}");
    }
}

#[test]
fn every_entity_has_a_fixture() {
    let mut n_hits: BTreeMap<Entity, usize> =
        Entity::ALL.iter().map(|entity| (*entity, 0)).collect();
    for file in [
        "national.jsonl",
        "documents.jsonl",
        "worldwide.jsonl",
        "secrets.jsonl",
        "evasions.jsonl",
    ] {
        for case in cases(file) {
            for expected in case.expected {
                *n_hits.entry(expected.entity).or_default() += 1;
            }
        }
    }
    // A date is looked for on request only.
    let without: Vec<&str> = n_hits
        .iter()
        .filter(|(entity, hits)| **hits == 0 && **entity != Entity::DateTime)
        .map(|(entity, _)| entity.name())
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn the_documentation_names_every_entity() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/safety.md");
    let page = std::fs::read_to_string(page).unwrap();
    let missing: Vec<&str> = Entity::ALL
        .iter()
        .map(|entity| entity.name())
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/safety.md does not name {missing:?}"
    );
}
