//! The only input of every method: comparisons, checked once, brought into one canonical order and aggregated.
//!
//! Not for reading files, names of models or spellings of winners: those belong to the caller.

use std::cmp::Ordering;

use crate::Error;

/// One or more equal battles: model `a` met model `b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Index of the first model (side A).
    pub a: u32,
    /// Index of the second model (side B).
    pub b: u32,
    /// Score of `a`: 1 when it won, 0 when it lost, ½ for a tie (of either kind); any value between is accepted.
    pub outcome: f64,
    /// Weight of each of these battles, above 0; 1 unless battles are re-weighted.
    pub weight: f64,
    /// How many battles these are, 1 or more.
    pub count: u64,
}

impl Comparison {
    /// One battle of weight 1.
    pub fn new(a: u32, b: u32, outcome: f64) -> Self {
        Self {
            a,
            b,
            outcome,
            weight: 1.0,
            count: 1,
        }
    }

    /// The same, standing for `count` equal battles.
    pub fn with_count(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// The same with this weight for each battle.
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }
}

/// Columns that may accompany the comparisons, one entry for each of them in the same order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns<'a> {
    /// Number of features, 0 for none.
    pub n_features: usize,
    /// Features in row-major order (`rows × n_features`), each the value for side A minus the one for side B.
    ///
    /// Exchanging the sides negates a feature. The constant feature 1 is therefore the advantage of side A.
    pub features: &'a [f64],
    /// Who voted: battles with the same number are not taken as independent by clustered errors.
    pub clusters: Option<&'a [u32]>,
}

/// What happened to one model, in battles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// All battles of the model.
    pub battles: u64,
    /// Battles with outcome 1.
    pub wins: u64,
    /// Battles with outcome 0.
    pub losses: u64,
    /// Battles with any outcome between, so ties of both kinds.
    pub ties: u64,
}

/// Equal battles of two models after aggregation; `i < j` and `outcome` is the score of `i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) i: u32,
    pub(crate) j: u32,
    pub(crate) outcome: f64,
    pub(crate) weight: f64,
    pub(crate) count: u64,
}

impl Cell {
    /// Number of battles times the weight of each.
    pub(crate) fn mass(&self) -> f64 {
        self.count as f64 * self.weight
    }
}

/// Checked comparisons in canonical order: the same set of battles gives the same bits,
/// whatever the order of rows and whichever model was side A.
///
/// # Examples
///
/// ```
/// use agon_ranking::{Comparison, Comparisons};
///
/// let one_way = Comparisons::new(2, [Comparison::new(0, 1, 1.0), Comparison::new(0, 1, 0.5)])?;
/// let the_other = Comparisons::new(2, [Comparison::new(1, 0, 0.5), Comparison::new(1, 0, 0.0)])?;
/// assert_eq!(one_way, the_other);
/// assert_eq!(one_way.record(0).wins, 1);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Comparisons {
    n_models: usize,
    n_features: usize,
    // Invariant: sorted by models, features, outcome, weight, cluster; no two cells agree in all of them.
    cells: Vec<Cell>,
    // Invariant: `cells.len() * n_features` finite values, oriented like the cells.
    features: Vec<f64>,
    // Invariant: empty, or one for each cell.
    clusters: Vec<u32>,
    records: Vec<Record>,
}

impl Comparisons {
    /// Checks and aggregates comparisons of `n_models` models without features.
    ///
    /// # Errors
    ///
    /// Refuses the first row that names an unknown model, compares a model with itself,
    /// or has an outcome outside 0 to 1, a weight that is not positive and finite, or a count of 0.
    pub fn new(
        n_models: usize,
        comparisons: impl IntoIterator<Item = Comparison>,
    ) -> Result<Self, Error> {
        let mut cells = Vec::new();
        let mut records = vec![Record::default(); n_models];
        for (row, comparison) in comparisons.into_iter().enumerate() {
            check(row, &comparison, n_models)?;
            let cell = canonical(&comparison);
            count(&mut records, &cell);
            cells.push(cell);
        }
        cells.sort_unstable_by(|x, y| compare_pair(x, y).then_with(|| compare_outcome(x, y)));
        cells.dedup_by(|next, kept| {
            let same = compare_pair(next, kept).then_with(|| compare_outcome(next, kept))
                == Ordering::Equal;
            if same {
                kept.count = kept.count.saturating_add(next.count);
            }
            same
        });
        Ok(Self {
            n_models,
            n_features: 0,
            cells,
            features: Vec::new(),
            clusters: Vec::new(),
            records,
        })
    }

    /// Checks and aggregates comparisons together with features and clusters.
    ///
    /// Rows that agree in everything are merged, so that the result does not depend on their order.
    ///
    /// # Errors
    ///
    /// As [`Comparisons::new`]; further, a column of the wrong length and a feature that is not finite.
    pub fn with_columns(
        n_models: usize,
        rows: &[Comparison],
        columns: Columns<'_>,
    ) -> Result<Self, Error> {
        let n_features = columns.n_features;
        let expected = rows.len().saturating_mul(n_features);
        if columns.features.len() != expected {
            return Err(Error::Length {
                found: columns.features.len(),
                expected,
            });
        }
        if let Some(clusters) = columns.clusters
            && clusters.len() != rows.len()
        {
            return Err(Error::Length {
                found: clusters.len(),
                expected: rows.len(),
            });
        }

        let mut raw = Vec::with_capacity(rows.len());
        let mut oriented = Vec::with_capacity(expected);
        let mut records = vec![Record::default(); n_models];
        for (row, comparison) in rows.iter().enumerate() {
            check(row, comparison, n_models)?;
            let cell = canonical(comparison);
            count(&mut records, &cell);
            raw.push(cell);
            let swapped = comparison.a > comparison.b;
            for feature in 0..n_features {
                let value = columns.features[row * n_features + feature];
                if !value.is_finite() {
                    return Err(Error::Feature {
                        row,
                        feature,
                        value,
                    });
                }
                // Adding zero turns a negative zero into a positive one: both must sort alike.
                oriented.push(if swapped { -value } else { value } + 0.0);
            }
        }

        let features_of = |row: usize| &oriented[row * n_features..(row + 1) * n_features];
        let cluster_of = |row: usize| columns.clusters.map_or(0, |clusters| clusters[row]);
        let compare = |&x: &usize, &y: &usize| {
            compare_pair(&raw[x], &raw[y])
                .then_with(|| compare_numbers(features_of(x), features_of(y)))
                .then_with(|| compare_outcome(&raw[x], &raw[y]))
                .then_with(|| cluster_of(x).cmp(&cluster_of(y)))
        };
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by(compare);

        let mut cells: Vec<Cell> = Vec::with_capacity(rows.len());
        let mut features = Vec::with_capacity(expected);
        let mut clusters = Vec::new();
        let mut previous = None;
        for row in order {
            if let (Some(before), Some(cell)) = (previous, cells.last_mut())
                && compare(&before, &row) == Ordering::Equal
            {
                cell.count = cell.count.saturating_add(raw[row].count);
                continue;
            }
            cells.push(raw[row]);
            features.extend_from_slice(features_of(row));
            if columns.clusters.is_some() {
                clusters.push(cluster_of(row));
            }
            previous = Some(row);
        }
        Ok(Self {
            n_models,
            n_features,
            cells,
            features,
            clusters,
            records,
        })
    }

    /// Comparisons with one feature, the constant 1: the advantage of side A (order effect, home advantage).
    ///
    /// Its coefficient is the log-odds by which side A is favoured (Davidson & Beaver 1977).
    ///
    /// # Errors
    ///
    /// As [`Comparisons::new`].
    pub fn with_order_effect(n_models: usize, rows: &[Comparison]) -> Result<Self, Error> {
        let ones = vec![1.0; rows.len()];
        Self::with_columns(
            n_models,
            rows,
            Columns {
                n_features: 1,
                features: &ones,
                clusters: None,
            },
        )
    }

    /// The same comparisons without features and clusters.
    pub fn without_columns(&self) -> Self {
        let mut cells = self.cells.clone();
        cells.sort_unstable_by(|x, y| compare_pair(x, y).then_with(|| compare_outcome(x, y)));
        cells.dedup_by(|next, kept| {
            let same = compare_pair(next, kept).then_with(|| compare_outcome(next, kept))
                == Ordering::Equal;
            if same {
                kept.count = kept.count.saturating_add(next.count);
            }
            same
        });
        Self {
            n_models: self.n_models,
            n_features: 0,
            cells,
            features: Vec::new(),
            clusters: Vec::new(),
            records: self.records.clone(),
        }
    }

    /// The same battles, each weighted by 1 / max(battles of its two models, `battles_min`).
    ///
    /// Every pair that met at least `battles_min` times then counts alike; it is another estimand, not a correction
    /// (arena-rank calls it re-weighting, with 50).
    pub fn reweighted_by_pair(&self, battles_min: u64) -> Self {
        let mut weighted = self.clone();
        for pair in weighted
            .cells
            .chunk_by_mut(|x, y| compare_pair(x, y) == Ordering::Equal)
        {
            let battles = pair
                .iter()
                .fold(0_u64, |sum, cell| sum.saturating_add(cell.count));
            let weight = 1.0 / battles.max(battles_min).max(1) as f64;
            for cell in pair {
                cell.weight = weight;
            }
        }
        weighted
    }

    /// Number of models, those without a battle included.
    pub fn n_models(&self) -> usize {
        self.n_models
    }

    /// Number of features of each comparison.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of battles.
    pub fn n_battles(&self) -> u64 {
        self.cells
            .iter()
            .fold(0_u64, |sum, cell| sum.saturating_add(cell.count))
    }

    /// Sum of the battles' weights.
    pub fn total_weight(&self) -> f64 {
        self.cells.iter().map(Cell::mass).sum()
    }

    /// What happened to one model; all zero for a model without battles.
    ///
    /// A model that does not exist has no battles.
    pub fn record(&self, model: usize) -> Record {
        self.records.get(model).copied().unwrap_or_default()
    }

    /// Largest possible log-likelihood of any model for these comparisons:
    /// each group of battles with the same two models and the same features has its own probability.
    ///
    /// The deviance of a fit is twice the difference between this and the fit's log-likelihood
    /// (McCullagh & Nelder 1989, §2.3). Comparisons with an order effect keep both orders apart, as R's grouped data do.
    pub fn saturated_log_likelihood(&self) -> f64 {
        let mut sum = 0.0;
        for group in self.groups() {
            let (score, mass) = group.score_and_mass(&self.cells);
            for part in [score, mass - score] {
                if part > 0.0 {
                    sum += part * (part / mass).ln();
                }
            }
        }
        sum
    }

    /// Number of groups of battles that share both models and all features.
    pub fn n_groups(&self) -> usize {
        self.groups().count()
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(crate) fn features_of(&self, cell: usize) -> &[f64] {
        &self.features[cell * self.n_features..(cell + 1) * self.n_features]
    }

    /// The cluster of each cell, or nothing when rows came without.
    pub(crate) fn clusters(&self) -> Option<&[u32]> {
        (!self.clusters.is_empty()).then_some(&self.clusters)
    }

    /// Runs of cells with the same two models and the same features.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Group> + '_ {
        let mut start = 0;
        std::iter::from_fn(move || {
            if start == self.cells.len() {
                return None;
            }
            let mut end = start + 1;
            while end < self.cells.len()
                && compare_pair(&self.cells[start], &self.cells[end]) == Ordering::Equal
                && self.features_of(start) == self.features_of(end)
            {
                end += 1;
            }
            let group = Group { start, end };
            start = end;
            Some(group)
        })
    }

    /// The battles that are left when each cell loses so many.
    ///
    /// `removed` holds one number for each cell, at most the number of its battles.
    pub(crate) fn without(&self, removed: &[u64]) -> Self {
        let mut left = Self {
            n_models: self.n_models,
            n_features: self.n_features,
            cells: Vec::with_capacity(self.cells.len()),
            features: Vec::with_capacity(self.features.len()),
            clusters: Vec::new(),
            records: vec![Record::default(); self.n_models],
        };
        for (idx, (cell, removed)) in self.cells.iter().zip(removed).enumerate() {
            let cell = Cell {
                count: cell.count.saturating_sub(*removed),
                ..*cell
            };
            if cell.count == 0 {
                continue;
            }
            count(&mut left.records, &cell);
            left.cells.push(cell);
            left.features.extend_from_slice(self.features_of(idx));
            if let Some(clusters) = self.clusters() {
                left.clusters.push(clusters[idx]);
            }
        }
        left
    }

    /// The battles among the given models only, with these models numbered in the given order.
    ///
    /// `models` holds distinct indices in ascending order, so that cells keep their order.
    pub(crate) fn among(&self, models: &[usize]) -> Self {
        let mut position = vec![u32::MAX; self.n_models];
        for (new, &old) in models.iter().enumerate() {
            position[old] = new as u32;
        }
        let mut inside = Self {
            n_models: models.len(),
            n_features: self.n_features,
            cells: Vec::new(),
            features: Vec::new(),
            clusters: Vec::new(),
            records: vec![Record::default(); models.len()],
        };
        for (idx, cell) in self.cells.iter().enumerate() {
            let (i, j) = (position[cell.i as usize], position[cell.j as usize]);
            if i == u32::MAX || j == u32::MAX {
                continue;
            }
            let cell = Cell { i, j, ..*cell };
            count(&mut inside.records, &cell);
            inside.cells.push(cell);
            inside.features.extend_from_slice(self.features_of(idx));
            if let Some(clusters) = self.clusters() {
                inside.clusters.push(clusters[idx]);
            }
        }
        inside
    }
}

/// A run of cells with the same models and features.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Group {
    /// Weighted score of the first model, and the weight it was achieved in.
    pub(crate) fn score_and_mass(self, cells: &[Cell]) -> (f64, f64) {
        let (mut score, mut mass) = (0.0, 0.0);
        for cell in &cells[self.start..self.end] {
            score += cell.mass() * cell.outcome;
            mass += cell.mass();
        }
        (score, mass)
    }
}

pub(crate) fn check(row: usize, comparison: &Comparison, n_models: usize) -> Result<(), Error> {
    for model in [comparison.a, comparison.b] {
        if model as usize >= n_models {
            return Err(Error::ModelOutOfRange {
                row,
                model,
                n_models,
            });
        }
    }
    if comparison.a == comparison.b {
        return Err(Error::SelfComparison {
            row,
            model: comparison.a,
        });
    }
    if !(0.0..=1.0).contains(&comparison.outcome) {
        return Err(Error::Outcome {
            row,
            outcome: comparison.outcome,
        });
    }
    if !(comparison.weight.is_finite() && comparison.weight > 0.0) {
        return Err(Error::Weight {
            row,
            weight: comparison.weight,
        });
    }
    if comparison.count == 0 {
        return Err(Error::Count { row });
    }
    Ok(())
}

/// Names the model with the lower index first.
///
/// The outcome passes through the winner's score, which is at least ½: subtracting it from 1 is exact,
/// and so `(a, b, y)` and `(b, a, 1 - y)` arrive at the same bits even where `1 - y` had to be rounded.
fn canonical(comparison: &Comparison) -> Cell {
    let (winner, score) = if comparison.outcome >= 0.5 {
        (comparison.a, comparison.outcome)
    } else {
        (comparison.b, 1.0 - comparison.outcome)
    };
    let i = comparison.a.min(comparison.b);
    let j = comparison.a.max(comparison.b);
    // At a tie both ways of orienting agree, so it does not matter who is called the winner.
    let outcome = if winner == i { score } else { 1.0 - score };
    Cell {
        i,
        j,
        outcome,
        weight: comparison.weight,
        count: comparison.count,
    }
}

fn count(records: &mut [Record], cell: &Cell) {
    for (model, outcome) in [(cell.i, cell.outcome), (cell.j, 1.0 - cell.outcome)] {
        let record = &mut records[model as usize];
        record.battles = record.battles.saturating_add(cell.count);
        if outcome == 1.0 {
            record.wins = record.wins.saturating_add(cell.count);
        } else if outcome == 0.0 {
            record.losses = record.losses.saturating_add(cell.count);
        } else {
            record.ties = record.ties.saturating_add(cell.count);
        }
    }
}

fn compare_pair(x: &Cell, y: &Cell) -> Ordering {
    (x.i, x.j).cmp(&(y.i, y.j))
}

fn compare_outcome(x: &Cell, y: &Cell) -> Ordering {
    x.outcome
        .total_cmp(&y.outcome)
        .then_with(|| x.weight.total_cmp(&y.weight))
}

fn compare_numbers(x: &[f64], y: &[f64]) -> Ordering {
    x.iter()
        .zip(y)
        .map(|(x, y)| x.total_cmp(y))
        .find(|&order| order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(row: Comparison, expected: &Error) {
        let good = Comparison::new(0, 1, 1.0);
        let refused = Comparisons::new(2, [good, row]).unwrap_err();
        assert_eq!(refused.to_string(), expected.to_string());
        let refused = Comparisons::with_columns(2, &[good, row], Columns::default()).unwrap_err();
        assert_eq!(refused.to_string(), expected.to_string());
    }

    #[test]
    fn what_is_no_comparison_is_refused() {
        let row = 1;
        let good = Comparison::new(0, 1, 1.0);
        check_refused(
            Comparison::new(1, 1, 1.0),
            &Error::SelfComparison { row, model: 1 },
        );
        check_refused(
            Comparison::new(0, 2, 1.0),
            &Error::ModelOutOfRange {
                row,
                model: 2,
                n_models: 2,
            },
        );
        check_refused(
            Comparison::new(7, 0, 1.0),
            &Error::ModelOutOfRange {
                row,
                model: 7,
                n_models: 2,
            },
        );
        for outcome in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            check_refused(
                Comparison::new(0, 1, outcome),
                &Error::Outcome { row, outcome },
            );
        }
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            check_refused(good.with_weight(weight), &Error::Weight { row, weight });
        }
        check_refused(good.with_count(0), &Error::Count { row });
    }

    #[test]
    fn columns_must_fit_the_rows() {
        let rows = [Comparison::new(0, 1, 1.0), Comparison::new(1, 0, 1.0)];
        let check =
            |columns: Columns<'_>| Comparisons::with_columns(2, &rows, columns).unwrap_err();
        let short = Columns {
            n_features: 2,
            features: &[0.0; 3],
            clusters: None,
        };
        assert_eq!(
            check(short),
            Error::Length {
                found: 3,
                expected: 4
            }
        );
        let clusters = Columns {
            clusters: Some(&[1]),
            ..Columns::default()
        };
        assert_eq!(
            check(clusters),
            Error::Length {
                found: 1,
                expected: 2
            }
        );
        let infinite = Columns {
            n_features: 1,
            features: &[0.0, f64::INFINITY],
            clusters: None,
        };
        assert_eq!(
            check(infinite),
            Error::Feature {
                row: 1,
                feature: 0,
                value: f64::INFINITY
            }
        );
    }

    #[test]
    fn equal_battles_are_merged_and_counted() {
        let rows = [
            Comparison::new(0, 1, 1.0),
            Comparison::new(1, 0, 0.0),
            Comparison::new(0, 1, 0.5).with_count(3),
            Comparison::new(2, 0, 1.0).with_weight(2.0),
        ];
        let comparisons = Comparisons::new(4, rows).unwrap();
        assert_eq!(comparisons.cells().len(), 3);
        assert_eq!(comparisons.n_battles(), 6);
        assert_eq!(comparisons.total_weight(), 7.0);
        assert_eq!(
            comparisons.record(0),
            Record {
                battles: 6,
                wins: 2,
                losses: 1,
                ties: 3
            }
        );
        assert_eq!(
            comparisons.record(1),
            Record {
                battles: 5,
                wins: 0,
                losses: 2,
                ties: 3
            }
        );
        assert_eq!(
            comparisons.record(2),
            Record {
                battles: 1,
                wins: 1,
                losses: 0,
                ties: 0
            }
        );
        assert_eq!(comparisons.record(3), Record::default());
        assert_eq!(comparisons.record(99), Record::default());
    }

    #[test]
    fn an_outcome_that_no_binary_number_equals_survives_a_change_of_sides() {
        for outcome in [0.1, 0.3, 1e-17, 0.7, 1.0 / 3.0] {
            let one = Comparisons::new(2, [Comparison::new(0, 1, outcome)]).unwrap();
            let other = Comparisons::new(2, [Comparison::new(1, 0, 1.0 - outcome)]).unwrap();
            assert_eq!(one, other);
        }
    }

    #[test]
    fn counts_beyond_the_largest_number_do_not_wrap() {
        let rows = [Comparison::new(0, 1, 1.0).with_count(u64::MAX); 2];
        assert_eq!(Comparisons::new(2, rows).unwrap().record(0).wins, u64::MAX);
    }

    #[test]
    fn pairs_that_met_often_weigh_as_much_as_each_other() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(100),
            Comparison::new(1, 2, 0.5).with_count(10),
        ];
        let weighted = Comparisons::new(3, rows).unwrap().reweighted_by_pair(50);
        let weights: Vec<f64> = weighted.cells().iter().map(|cell| cell.weight).collect();
        assert_eq!(weights, [0.01, 0.02]);
    }
}
