//! Labelled texts: what is found of what is in them.
//!
//! Two forms are read, one JSON object a line, told apart by their fields: those with `expected` say what is where, and those with `entities` where one kind of value stands, as tests of recognisers do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use agon_pii::{
    Detector, Entity, Options, THRESHOLD,
    evaluate::{Absent, Case, Expected, Quality, Report},
};
use serde_json::{Value, json};

use super::bad_labels;
use crate::exit_code::CommandError;

/// A labelled text.
struct Labelled {
    case: Case,
    /// The group of cases: the first letter of its id, or the name of a recogniser.
    group: String,
    /// Only these are looked for, at any score: the value by itself may be several things.
    only: Option<BTreeSet<Entity>>,
}

/// The counts as JSON, and as a table for people.
pub(super) fn evaluate(path: &Path) -> Result<(Value, String), CommandError> {
    let text = fs::read_to_string(path)
        .map_err(|error| bad_labels(path, None, &format!("cannot be read: {error}")))?;
    let mut detectors: BTreeMap<Option<BTreeSet<Entity>>, Detector> = BTreeMap::new();
    let mut report = Report::default();
    let mut groups: BTreeMap<String, Report> = BTreeMap::new();
    let mut n_texts = 0;
    let lines = (1..).zip(text.lines());
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let labelled = serde_json::from_str(line)
            .map_err(|error| error.to_string())
            .and_then(|value| labelled(&value))
            .map_err(|detail| bad_labels(path, Some(number), &detail))?;
        let threshold = match labelled.only {
            Some(_) => f64::MIN_POSITIVE,
            None => THRESHOLD,
        };
        let detector = match detectors.entry(labelled.only.clone()) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let options = Options {
                    entities: labelled.only.clone(),
                    threshold: if labelled.only.is_some() {
                        0.0
                    } else {
                        THRESHOLD
                    },
                };
                entry.insert(Detector::new(&options)?)
            }
        };
        let case = &labelled.case;
        let findings = detector.find_in(&case.text, case.language.as_deref());
        report.count(case, &findings, threshold);
        groups
            .entry(labelled.group)
            .or_default()
            .count(case, &findings, threshold);
        n_texts += 1;
    }
    if n_texts == 0 {
        return Err(bad_labels(path, None, "there is no labelled text in it"));
    }
    let slices = |slices: &mut dyn Iterator<Item = (String, Quality)>| -> Vec<(String, Quality)> {
        slices.collect()
    };
    let parts = [
        ("total", vec![("all".to_owned(), report.total)]),
        (
            "group",
            slices(
                &mut groups
                    .into_iter()
                    .map(|(name, report)| (name, report.total)),
            ),
        ),
        (
            "entity",
            slices(
                &mut report
                    .by_entity
                    .iter()
                    .map(|(entity, quality)| (entity.name().to_owned(), *quality)),
            ),
        ),
        (
            "language",
            slices(&mut report.by_language.into_iter().map(named)),
        ),
        (
            "country",
            slices(&mut report.by_country.into_iter().map(named)),
        ),
    ];
    let mut document = json!({ "texts": n_texts });
    let mut table = format!(
        "{n_texts} texts; a hit is the same entity, at least 80 % of its place, at most one and a half times as long\n"
    );
    for (by, slices) in parts {
        document[by] = slices
            .iter()
            .map(|(name, quality)| (name.clone(), json_of(quality)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        table.push_str(&format!(
            "\n{by:<26} found           recall    precision  wrong\n"
        ));
        for (name, quality) in slices {
            table.push_str(&row(&name, &quality));
        }
    }
    Ok((document, table))
}

/// A slice of what has no name of its own.
fn named((name, quality): (String, Quality)) -> (String, Quality) {
    let name = if name.is_empty() {
        "none".to_owned()
    } else {
        name
    };
    (name, quality)
}

fn row(name: &str, quality: &Quality) -> String {
    let share = |part: usize, whole: usize| super::share(part as u64, whole as u64);
    format!(
        "{name:<26} {:>5} of {:<5}  {:>8}  {:>8}   {} of {}\n",
        quality.found,
        quality.expected,
        share(quality.found, quality.expected),
        share(quality.reported - quality.spurious, quality.reported),
        quality.wrong,
        quality.negative,
    )
}

fn json_of(quality: &Quality) -> Value {
    json!({
        "expected": quality.expected,
        "found": quality.found,
        "found_any_name": quality.found_any_name,
        "reported": quality.reported,
        "spurious": quality.spurious,
        "negative": quality.negative,
        "wrong": quality.wrong,
        "recall": quality.recall(),
        "precision": quality.precision(),
    })
}

fn labelled(value: &Value) -> Result<Labelled, String> {
    if value["entities"].is_array() {
        of_recogniser(value)
    } else if value["expected"].is_array() {
        of_suite(value)
    } else {
        Err("it has neither `expected` nor `entities`".to_owned())
    }
}

fn entity(name: &Value) -> Result<Entity, String> {
    let name = name.as_str().ok_or("an entity is no text")?;
    Entity::parse(name).ok_or_else(|| format!("no entity is called `{name}`"))
}

/// Positions of a text in bytes, from those in bytes or in code points.
fn place(
    text: &str,
    start: &Value,
    end: &Value,
    in_chars: bool,
) -> Result<std::ops::Range<usize>, String> {
    let number = |value: &Value| {
        value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
    };
    let bad = || format!("`{start}` to `{end}` is no place in the text");
    let (Some(start_at), Some(end_at)) = (number(start), number(end)) else {
        return Err(bad());
    };
    let byte = |at: usize| {
        if in_chars {
            let mut starts = text.char_indices().map(|(byte, _)| byte);
            starts
                .nth(at)
                .or_else(|| (text.chars().count() == at).then_some(text.len()))
        } else {
            Some(at)
        }
    };
    match (byte(start_at), byte(end_at)) {
        (Some(start), Some(end)) if text.get(start..end).is_some() => Ok(start..end),
        _ => Err(bad()),
    }
}

/// `{"id", "text", "language", "expected": [{"entity", "start_byte", "end_byte"}], "absent", "scope"}`.
fn of_suite(value: &Value) -> Result<Labelled, String> {
    let text = value["text"].as_str().ok_or("`text` is missing")?;
    let mut expected = Vec::new();
    for one in value["expected"].as_array().into_iter().flatten() {
        let in_chars = one["start_byte"].is_null();
        let (start, end) = if in_chars {
            (&one["start"], &one["end"])
        } else {
            (&one["start_byte"], &one["end_byte"])
        };
        expected.push(Expected {
            entity: entity(&one["entity"])?,
            bytes: place(text, start, end, in_chars)?,
        });
    }
    let absent = match value["absent"].as_array() {
        None => Absent::Unknown,
        Some(names) if names.iter().any(|name| name == "*") => Absent::Everything,
        Some(names) => Absent::Entities(names.iter().map(entity).collect::<Result<_, _>>()?),
    };
    let only = (value["scope"] == "entity").then(|| {
        let absent = match &absent {
            Absent::Entities(entities) => entities.clone(),
            _ => Vec::new(),
        };
        let expected = expected.iter().map(|expected: &Expected| expected.entity);
        expected.chain(absent).collect()
    });
    let id = value["id"].as_str().unwrap_or_default();
    Ok(Labelled {
        group: id.chars().take(1).collect(),
        only,
        case: Case {
            text: text.to_owned(),
            language: value["language"].as_str().map(ToOwned::to_owned),
            expected,
            absent,
        },
    })
}

/// `{"recognizer", "entities": [one], "text", "expected_res": [[start, end]]}`, in code points and in English.
fn of_recogniser(value: &Value) -> Result<Labelled, String> {
    let text = value["text"].as_str().or_else(|| value["iban"].as_str());
    let text = text.ok_or("`text` is missing")?;
    let entity = entity(&value["entities"][0])?;
    let places = value["expected_positions"]
        .as_array()
        .or_else(|| value["expected_res"].as_array())
        .ok_or("`expected_res` is missing")?;
    let expected: Vec<Expected> = places
        .iter()
        .map(|at| {
            Ok(Expected {
                entity,
                bytes: place(text, &at[0], &at[1], true)?,
            })
        })
        .collect::<Result<_, String>>()?;
    Ok(Labelled {
        group: value["recognizer"].as_str().unwrap_or_default().to_owned(),
        only: Some([entity].into()),
        case: Case {
            text: text.to_owned(),
            language: Some("en".to_owned()),
            absent: if expected.is_empty() {
                Absent::Entities(vec![entity])
            } else {
                Absent::Unknown
            },
            expected,
        },
    })
}
