//! Quality on labelled texts: our own fixtures always, the large suites where `AGON_TESTDATA` is set.
//!
//! The tables are golden files, so that a change of quality shows in review.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, in its helping functions too, and says what it leaves out"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::{Path, PathBuf},
};

use agon_pii::{
    Class, Detector, Entity, Finding, Options, THRESHOLD,
    evaluate::{Absent, Case, Expected, Quality, Report, is_hit},
};
use serde_json::Value;

/// The folder of test data that is not part of the repository.
fn test_data() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests find their data by the environment"
    )]
    let folder = std::env::var("AGON_TESTDATA").ok().map(PathBuf::from);
    if folder.is_none() {
        eprintln!("AGON_TESTDATA is not set: the large suites of personal data are not run");
    }
    folder
}

fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
}

/// A case of the suite of `docs/safety.md`.
struct Labelled {
    id: String,
    /// Whether only the recognisers of the labelled entities are to run.
    narrow: bool,
    case: Case,
}

fn labelled(value: &Value) -> Labelled {
    let text = value["text"].as_str().unwrap().to_owned();
    let entity = |name: &Value| {
        Entity::parse(name.as_str().unwrap())
            .unwrap_or_else(|| panic!("no entity is called {name}"))
    };
    let expected: Vec<Expected> = value["expected"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| Expected {
            entity: entity(&one["entity"]),
            bytes: usize::try_from(one["start_byte"].as_u64().unwrap()).unwrap()
                ..usize::try_from(one["end_byte"].as_u64().unwrap()).unwrap(),
        })
        .collect();
    let absent = match value["absent"].as_array() {
        None => Absent::Unknown,
        Some(names) if names.iter().any(|name| name == "*") => Absent::Everything,
        Some(names) => Absent::Entities(names.iter().map(entity).collect()),
    };
    Labelled {
        id: value["id"].as_str().unwrap().to_owned(),
        narrow: value["scope"] == "entity",
        case: Case {
            text,
            language: value["language"].as_str().map(ToOwned::to_owned),
            expected,
            absent,
        },
    }
}

fn entities(case: &Case) -> BTreeSet<Entity> {
    let absent = match &case.absent {
        Absent::Entities(entities) => entities.clone(),
        _ => Vec::new(),
    };
    case.expected
        .iter()
        .map(|expected| expected.entity)
        .chain(absent)
        .collect()
}

/// Detectors by what they look for, built once.
#[derive(Default)]
struct Detectors(BTreeMap<Option<BTreeSet<Entity>>, Detector>);

impl Detectors {
    fn find(&mut self, case: &Case, narrow: bool, language: Option<&str>) -> Vec<Finding> {
        let entities = narrow.then(|| entities(case));
        self.0
            .entry(entities.clone())
            .or_insert_with(|| {
                let threshold = if entities.is_some() { 0.0 } else { THRESHOLD };
                Detector::new(&Options {
                    entities,
                    threshold,
                })
                .unwrap()
            })
            .find_in(&case.text, language)
    }
}

fn write_row(table: &mut String, name: &str, quality: &Quality) {
    let _ = writeln!(
        table,
        "{name:<24} {:>4}/{:<4} any name {:>4}   wrong {:>3}/{:<4} spurious {:>3}/{:<4}",
        quality.found,
        quality.expected,
        quality.found_any_name,
        quality.wrong,
        quality.negative,
        quality.spurious,
        quality.reported
    );
}

#[test]
fn the_suite_has_its_golden_table() {
    let Some(folder) = test_data() else { return };
    let cases: Vec<Labelled> = lines(&folder.join("text/pii/agon_pii_cases.jsonl"))
        .iter()
        .map(labelled)
        .collect();
    assert_eq!(cases.len(), 1156);
    let mut detectors = Detectors::default();
    let mut groups: BTreeMap<String, Report> = BTreeMap::new();
    let mut halves: BTreeMap<String, Report> = BTreeMap::new();
    let mut total = Report::default();
    let mut misses = String::new();
    for Labelled { id, narrow, case } in &cases {
        for hint in [true, false] {
            let language = case.language.as_deref().filter(|_| hint);
            let findings = detectors.find(case, *narrow, language);
            // Ambiguous values that run alone count at any score.
            let threshold = if *narrow {
                f64::MIN_POSITIVE
            } else {
                THRESHOLD
            };
            let group = format!("{}{}", &id[..1], if hint { "" } else { " no hint" });
            groups
                .entry(group)
                .or_default()
                .count(case, &findings, threshold);
            if hint {
                total.count(case, &findings, threshold);
                let half = id[1..].parse::<u32>().unwrap() % 2;
                halves
                    .entry(format!("half {half}"))
                    .or_default()
                    .count(case, &findings, threshold);
                if case.absent.is_unexpected(case, &findings, threshold) {
                    let shown: Vec<String> = findings
                        .iter()
                        .filter(|finding| finding.score >= 0.2)
                        .map(|finding| format!("{} {:.2}", finding.entity, finding.score))
                        .collect();
                    let wanted: Vec<&str> =
                        entities(case).iter().map(|entity| entity.name()).collect();
                    let _ = writeln!(misses, "{id} {wanted:?} {shown:?}");
                }
            }
        }
    }
    let mut table = String::new();
    for (name, report) in groups.iter().chain(&halves) {
        write_row(&mut table, name, &report.total);
    }
    let mut classes: BTreeMap<Class, Quality> = BTreeMap::new();
    for (entity, quality) in &total.by_entity {
        classes.entry(entity.class()).or_default().add(quality);
    }
    for (class, quality) in &classes {
        write_row(&mut table, &format!("{class:?}"), quality);
    }
    let _ = write!(table, "\nNot as labelled:\n{misses}");
    insta::assert_snapshot!("suite", table);
}

/// Whether a case went otherwise than labelled.
trait Unexpected {
    fn is_unexpected(&self, case: &Case, findings: &[Finding], threshold: f64) -> bool;
}

impl Unexpected for Absent {
    fn is_unexpected(&self, case: &Case, findings: &[Finding], threshold: f64) -> bool {
        let mut report = Report::default();
        report.count(case, findings, threshold);
        report.total.found < report.total.expected || report.total.wrong > 0
    }
}

#[test]
fn ambiguous_values_are_found_once_a_word_announces_them() {
    let Some(folder) = test_data() else { return };
    let cases: Vec<Labelled> = lines(&folder.join("text/pii/agon_pii_cases.jsonl"))
        .iter()
        .map(labelled)
        .collect();
    let mut detectors = Detectors::default();
    let (mut found, mut total, mut misses) = (0, 0, String::new());
    for Labelled { id, narrow, case } in cases {
        let [expected] = &case.expected[..] else {
            continue;
        };
        if !narrow {
            continue;
        }
        let Some(word) = agon_pii::words_of(expected.entity).next() else {
            continue;
        };
        let value = &case.text[expected.bytes.clone()];
        let text = format!("{word} {value}");
        let expected = Expected {
            entity: expected.entity,
            bytes: word.len() + 1..text.len(),
        };
        let announced = Case {
            text,
            expected: vec![expected.clone()],
            ..case
        };
        let findings = detectors.find(&announced, true, announced.language.as_deref());
        total += 1;
        if findings
            .iter()
            .any(|finding| is_hit(&expected, finding, THRESHOLD))
        {
            found += 1;
        } else {
            let _ = writeln!(
                misses,
                "{id} {} {:?}",
                expected.entity,
                findings
                    .iter()
                    .map(|finding| format!("{} {:.2}", finding.entity, finding.score))
                    .collect::<Vec<_>>()
            );
        }
    }
    insta::assert_snapshot!("suite_announced", format!("{found}/{total}\n{misses}"));
}

#[test]
fn texts_of_an_established_detector_have_their_golden_table() {
    let Some(folder) = test_data() else { return };
    let mut detectors: BTreeMap<Entity, Detector> = BTreeMap::new();
    let mut rows: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let mut misses = String::new();
    for (line, value) in lines(&folder.join("text/pii/presidio_cases.jsonl"))
        .iter()
        .enumerate()
    {
        let text = value["text"]
            .as_str()
            .or_else(|| value["iban"].as_str())
            .unwrap();
        let entity = Entity::parse(value["entities"][0].as_str().unwrap()).unwrap();
        let detector = detectors.entry(entity).or_insert_with(|| {
            Detector::new(&Options {
                entities: Some([entity].into()),
                threshold: 0.0,
            })
            .unwrap()
        });
        let findings = detector.find_in(text, Some("en"));
        let places = value["expected_positions"]
            .as_array()
            .or_else(|| value["expected_res"].as_array())
            .unwrap();
        let expected: BTreeSet<(u64, u64)> = places
            .iter()
            .map(|place| (place[0].as_u64().unwrap(), place[1].as_u64().unwrap()))
            .collect();
        let row = rows.entry(entity.name().to_owned()).or_default();
        let near = |place: &(u64, u64), finding: &Finding| {
            let (start, end) = (finding.chars.start as u64, finding.chars.end as u64);
            start >= place.0 && end == place.1 && start - place.0 <= 1
        };
        let found = expected
            .iter()
            .filter(|place| findings.iter().any(|finding| near(place, finding)))
            .count();
        let spurious = findings
            .iter()
            .filter(|finding| !expected.iter().any(|place| near(place, finding)))
            .count();
        row[0] += found;
        row[1] += expected.len();
        row[2] += usize::from(spurious > 0);
        row[3] += 1;
        if found < expected.len() || spurious > 0 {
            let _ = writeln!(
                misses,
                "line {} {entity}: expected {expected:?}, found {:?}",
                line + 1,
                findings
                    .iter()
                    .map(|finding| finding.chars.clone())
                    .collect::<Vec<_>>()
            );
        }
    }
    let mut table = String::new();
    for (name, [found, expected, spurious, texts]) in rows {
        let _ = writeln!(
            table,
            "{name:<16} places {found}/{expected}, texts with others {spurious}/{texts}"
        );
    }
    insta::assert_snapshot!("presidio", format!("{table}\n{misses}"));
}

#[test]
fn ordinary_answers_hold_almost_nothing() {
    let Some(folder) = test_data() else { return };
    let detector = Detector::new(&Options::default()).unwrap();
    let mut table = String::new();
    let mut texts = Vec::new();
    for value in lines(&folder.join("text/style/o3-mini_001_250.jsonl")) {
        texts.push(
            value["messages"].as_array().unwrap().last().unwrap()["content"]["answer"]
                .as_str()
                .map_or_else(
                    || value["messages"].as_array().unwrap().last().unwrap()["content"].to_string(),
                    ToOwned::to_owned,
                ),
        );
    }
    let answers = texts.len();
    for value in lines(&folder.join("votes/lmarena-battles/battles_001_040.jsonl")) {
        for side in ["conversation_a", "conversation_b"] {
            for turn in value[side]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|turn| turn["role"] == "assistant")
            {
                texts.push(turn["content"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    let _ = writeln!(
        table,
        "{answers} answers, {} of battles",
        texts.len() - answers
    );
    let mut counts: BTreeMap<Entity, usize> = BTreeMap::new();
    for text in &texts {
        for finding in detector.find(text) {
            *counts.entry(finding.entity).or_default() += 1;
        }
    }
    // The texts belong to others, so that only numbers are kept of them.
    for (entity, count) in counts {
        let _ = writeln!(table, "{entity} {count}");
    }
    insta::assert_snapshot!("answers", table);
}
