//! A square table of wins: how often the model of the row won over the model of the column.
//!
//! A tie counts one half on both sides, so halves come in pairs.
//! A whole number of ties in both cells cannot be told from wins, and is taken for wins.

use agon_domain::Winner;

use crate::Error;

/// Models of a matrix.
const MODELS_MAX: usize = 5_000;

/// Votes in one matrix.
const VOTES_MAX: u64 = 1_000_000_000;

/// A matrix while it is read.
#[derive(Debug)]
pub(crate) struct Matrix {
    /// The models of the columns.
    names: Vec<String>,
    /// The models of the rows, by their column.
    rows: Vec<usize>,
    /// `cells[row][column]` in halves.
    cells: Vec<Vec<u64>>,
}

/// So many votes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixVotes {
    /// The model on side A, as a column.
    pub(crate) a: usize,
    /// The model on side B, as a column.
    pub(crate) b: usize,
    pub(crate) winner: Winner,
    pub(crate) n: u64,
    /// The row of the table in which the votes stand, from 1.
    pub(crate) row: u64,
}

impl Matrix {
    /// The matrix whose header and first record these are, if they are of one.
    pub(crate) fn begin(header: &[String], record: &[String]) -> Option<Self> {
        let names = header.get(1..)?;
        let is_one = names.len() >= 2
            && record.len() == header.len()
            && names.iter().all(|name| !name.is_empty())
            && names.contains(&record[0])
            && record[1..].iter().all(|cell| halves(cell).is_some());
        is_one.then(|| Self {
            names: names.to_vec(),
            rows: Vec::new(),
            cells: Vec::new(),
        })
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds a record.
    pub(crate) fn add(&mut self, path: &str, record: &[String]) -> Result<(), Error> {
        let row = self.rows.len() + 1;
        let malformed = |detail: String| Error::Malformed {
            path: path.to_owned(),
            format: "matrix of wins",
            detail: format!("row {row}: {detail}"),
        };
        if self.names.len() > MODELS_MAX {
            return Err(malformed(format!("more than {MODELS_MAX} models")));
        }
        if record.len() != self.names.len() + 1 {
            return Err(malformed(format!(
                "{} fields: expected {}",
                record.len(),
                self.names.len() + 1
            )));
        }
        let position = self.names.iter().position(|name| *name == record[0]);
        let column = position.ok_or_else(|| {
            malformed(format!(
                "`{}` is not a column",
                crate::fate::cut(&record[0])
            ))
        })?;
        if self.rows.contains(&column) {
            return Err(malformed(format!(
                "`{}` has a row already",
                crate::fate::cut(&record[0])
            )));
        }
        let mut cells = Vec::with_capacity(self.names.len());
        for (idx, cell) in record[1..].iter().enumerate() {
            if idx == column {
                // Nobody plays against itself, whatever stands there.
                cells.push(0);
                if !matches!(halves(cell), Some(0)) {
                    return Err(malformed("wins of a model over itself".to_owned()));
                }
                continue;
            }
            cells.push(halves(cell).ok_or_else(|| {
                malformed(format!(
                    "`{}` stands for the wins of `{}` over `{}`: expected a whole number, or one that ends in .5, as a tie is half a win on both sides",
                    crate::fate::cut(cell),
                    crate::fate::cut(&record[0]),
                    crate::fate::cut(&self.names[idx])
                ))
            })?);
        }
        self.rows.push(column);
        self.cells.push(cells);
        Ok(())
    }

    /// All votes, pair by pair.
    pub(crate) fn finish(self, path: &str) -> Result<Vec<MatrixVotes>, Error> {
        let malformed = |detail: String| Error::Malformed {
            path: path.to_owned(),
            format: "matrix of wins",
            detail,
        };
        if self.rows.len() != self.names.len() {
            return Err(malformed(format!(
                "{} rows and {} columns of models: expected a square",
                self.rows.len(),
                self.names.len()
            )));
        }
        let mut votes = Vec::new();
        let mut n_total = 0_u64;
        for i in 0..self.rows.len() {
            for j in i + 1..self.rows.len() {
                let (a, b) = (self.rows[i], self.rows[j]);
                let (wins_a, wins_b) = (self.cells[i][b], self.cells[j][a]);
                if wins_a % 2 != wins_b % 2 {
                    return Err(malformed(format!(
                        "half a win between `{}` and `{}` in one direction only",
                        crate::fate::cut(&self.names[a]),
                        crate::fate::cut(&self.names[b])
                    )));
                }
                for (winner, n, row) in [
                    (Winner::A, wins_a / 2, i),
                    (Winner::B, wins_b / 2, j),
                    (Winner::Tie, wins_a % 2, i),
                ] {
                    n_total = n_total.saturating_add(n);
                    if n > 0 {
                        votes.push(MatrixVotes {
                            a,
                            b,
                            winner,
                            n,
                            row: row as u64 + 1,
                        });
                    }
                }
            }
        }
        if n_total > VOTES_MAX {
            return Err(malformed(format!("more than {VOTES_MAX} votes")));
        }
        Ok(votes)
    }
}

/// A count of wins in halves; an empty cell or NaN is none.
fn halves(cell: &str) -> Option<u64> {
    let cell = cell.trim();
    if cell.is_empty() {
        return Some(0);
    }
    let value: f64 = cell.parse().ok()?;
    if value.is_nan() {
        return Some(0);
    }
    let doubled = value * 2.0;
    let is_count = (0.0..=2e12).contains(&doubled) && doubled.fract() == 0.0;
    // Within the limit, whole numbers are exact.
    is_count.then_some(doubled as u64)
}
