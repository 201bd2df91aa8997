//! Golden numbers: worked examples, published tables and exact fits that the whole method has to meet.
//!
//! Our own small sets come first and need nothing; published sets are read from the folder that the environment
//! variable `AGON_TESTDATA` names, and a test that needs them says so when it is not set.

mod arena;
mod checks;
mod fixtures;
mod peers;
mod properties;
mod published;
mod simulation;
mod style;
mod ties;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{Board, Comparison, Comparisons, Entry, Leaderboard, Status};

/// A file of the test data, or nothing (and a line that says so) when the folder is not given.
#[expect(
    clippy::disallowed_methods,
    reason = "tests that read published data learn its place from the environment"
)]
fn testdata(path: &str) -> Option<PathBuf> {
    match std::env::var("AGON_TESTDATA") {
        Ok(folder) => Some(PathBuf::from(folder).join(path)),
        Err(_) => {
            println!("skipped: AGON_TESTDATA is not set, so `{path}` cannot be read");
            None
        }
    }
}

fn json(path: &PathBuf) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

/// The rows of a CSV file, its header left out.
fn csv_rows(path: &PathBuf) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader
        .records()
        .map(|record| record.unwrap().iter().map(str::to_owned).collect())
        .collect()
}

/// Battles with names, numbered in alphabetical order.
#[derive(Debug, Default)]
struct Battles {
    rows: Vec<(String, String, f64, u64)>,
}

impl Battles {
    fn add(&mut self, a: &str, b: &str, outcome: f64, count: u64) {
        if count > 0 {
            self.rows.push((a.to_owned(), b.to_owned(), outcome, count));
        }
    }

    /// Model names in the order of their indices.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .rows
            .iter()
            .flat_map(|(a, b, ..)| [a.clone(), b.clone()])
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn rows(&self) -> Vec<Comparison> {
        let names = self.names();
        let index = |name: &str| {
            names
                .binary_search_by(|other| other.as_str().cmp(name))
                .unwrap() as u32
        };
        self.rows
            .iter()
            .map(|(a, b, outcome, count)| {
                Comparison::new(index(a), index(b), *outcome).with_count(*count)
            })
            .collect()
    }

    fn comparisons(&self) -> Comparisons {
        Comparisons::new(self.names().len(), self.rows()).unwrap()
    }
}

impl FromIterator<(String, String, f64, u64)> for Battles {
    fn from_iter<T: IntoIterator<Item = (String, String, f64, u64)>>(rows: T) -> Self {
        Self {
            rows: rows.into_iter().collect(),
        }
    }
}

/// The entry of a model, wherever it stands.
#[track_caller]
fn entry(leaderboard: &Leaderboard, model: usize) -> Entry {
    let entries = leaderboard.boards.iter().flat_map(|board| &board.entries);
    *entries.clone().find(|entry| entry.model == model).unwrap()
}

/// Ratings of the rated models of a board by name.
fn rated(board: &Board, names: &[String]) -> BTreeMap<String, f64> {
    let rated = board
        .entries
        .iter()
        .filter(|entry| entry.status == Status::Rated);
    rated
        .map(|entry| (names[entry.model].clone(), entry.rating))
        .collect()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let difference = (found - expected).abs();
    // Written so that a NaN fails.
    assert!(
        difference <= tolerance,
        "{what}: found {found}, expected {expected}, off by {difference:e}"
    );
}

#[track_caller]
fn all_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (idx, (found, expected)) in found.iter().zip(expected).enumerate() {
        close(
            *found,
            *expected,
            tolerance,
            &format!("{what}, position {idx}"),
        );
    }
}
