//! The only input of every method: comparisons, checked once, brought into one canonical order and aggregated.
//!
//! Not for reading files, names of models or spellings of winners: those belong to the caller.

mod order;

use std::cmp::Ordering;
use std::num::NonZeroUsize;
use std::ops::Range;

use crate::Error;
use crate::bradley_terry::saturated_log_likelihood;
use order::Counted;
pub(crate) use order::in_parallel;

/// Groups that are worked on together: enough to fill vector registers, few enough to stay in the first cache.
pub(crate) const GROUPS_AT_A_TIME: usize = 512;

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

/// Battles by column, as a reader of large files has them: one entry of each column for each row.
///
/// Without a subset every row is a battle; with one, only the rows that it names are, in any order (a slice of the data
/// by language, say). A row that is named twice counts twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rows<'a> {
    /// Index of the model on side A.
    pub model_a: &'a [u32],
    /// Index of the model on side B.
    pub model_b: &'a [u32],
    /// Score of the model on side A, from 0 to 1; see [`Comparison::outcome`].
    pub scores: &'a [f64],
    /// Features by column, each the value for side A minus the one for side B; see [`Columns::features`].
    pub features: &'a [&'a [f64]],
    /// Who voted; see [`Columns::clusters`].
    pub clusters: Option<&'a [u32]>,
    /// Weight of each battle, above 0; all 1 without the column.
    pub weights: Option<&'a [f64]>,
    /// Numbers of the rows to take, from 0; all without it.
    pub subset: Option<&'a [u32]>,
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

impl Record {
    fn add(&mut self, other: &Self) {
        self.battles = self.battles.saturating_add(other.battles);
        self.wins = self.wins.saturating_add(other.wins);
        self.losses = self.losses.saturating_add(other.losses);
        self.ties = self.ties.saturating_add(other.ties);
    }
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

/// Cells of one pair of models: from the end of the pair before to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) i: u32,
    pub(crate) j: u32,
    pub(crate) end: usize,
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
    // Cells by column, sorted by models, features, outcome, weight, cluster; no two agree in all of them.
    // Invariant: sorted by `(i, j)`, no pair twice, none empty; the last end is the number of cells.
    pairs: Vec<Pair>,
    // Score of the first model of the pair.
    outcomes: Vec<f64>,
    // Invariant: empty when every weight is 1.
    weights: Vec<f64>,
    counts: Vec<u64>,
    // Invariant: `n_features` columns of finite values, oriented like the pairs.
    features: Vec<Vec<f64>>,
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
        Ok(Self::from_cells(n_models, cells, records))
    }

    /// Sorts and merges checked cells without features and clusters.
    fn from_cells(n_models: usize, mut cells: Vec<Cell>, records: Vec<Record>) -> Self {
        cells.sort_unstable_by(|x, y| compare_pair(x, y).then_with(|| compare_outcome(x, y)));
        cells.dedup_by(|next, kept| {
            let same = compare_pair(next, kept).then_with(|| compare_outcome(next, kept))
                == Ordering::Equal;
            if same {
                kept.count = kept.count.saturating_add(next.count);
            }
            same
        });
        let mut sorted = Self::empty(n_models, 0);
        for cell in &cells {
            sorted.push(cell, std::iter::empty(), None);
        }
        sorted.records = records;
        sorted
    }

    fn empty(n_models: usize, n_features: usize) -> Self {
        Self {
            n_models,
            n_features,
            pairs: Vec::new(),
            outcomes: Vec::new(),
            weights: Vec::new(),
            counts: Vec::new(),
            features: vec![Vec::new(); n_features],
            clusters: Vec::new(),
            records: vec![Record::default(); n_models],
        }
    }

    /// Adds a cell that comes after all others in the canonical order; the records stay as they are.
    fn push(&mut self, cell: &Cell, features: impl Iterator<Item = f64>, cluster: Option<u32>) {
        if cell.weight != 1.0 && self.weights.is_empty() {
            self.weights.resize(self.outcomes.len(), 1.0);
            self.weights.push(cell.weight);
        } else if !self.weights.is_empty() {
            self.weights.push(cell.weight);
        }
        self.outcomes.push(cell.outcome);
        self.counts.push(cell.count);
        for (column, value) in self.features.iter_mut().zip(features) {
            column.push(value);
        }
        self.clusters.extend(cluster);
        let end = self.outcomes.len();
        match self.pairs.last_mut() {
            Some(pair) if (pair.i, pair.j) == (cell.i, cell.j) => pair.end = end,
            _ => self.pairs.push(Pair {
                i: cell.i,
                j: cell.j,
                end,
            }),
        }
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

        let by_column: Vec<Vec<f64>> = (0..n_features)
            .map(|feature| {
                let values = columns.features.iter().skip(feature);
                values.step_by(n_features).copied().collect()
            })
            .collect();
        let by_column: Vec<&[f64]> = by_column.iter().map(|column| &column[..]).collect();
        let model_a: Vec<u32> = rows.iter().map(|row| row.a).collect();
        let model_b: Vec<u32> = rows.iter().map(|row| row.b).collect();
        let scores: Vec<f64> = rows.iter().map(|row| row.outcome).collect();
        let weights: Vec<f64> = rows.iter().map(|row| row.weight).collect();
        let counts: Vec<u64> = rows.iter().map(|row| row.count).collect();
        let input = Counted {
            rows: Rows {
                model_a: &model_a,
                model_b: &model_b,
                scores: &scores,
                features: &by_column,
                clusters: columns.clusters,
                weights: Some(&weights),
                subset: None,
            },
            counts: Some(&counts),
        };
        order::order(n_models, &input, NonZeroUsize::MIN)
    }

    /// Checks, orders and aggregates battles that are given by column; the result is that of
    /// [`Comparisons::with_columns`], and the same for every number of threads.
    ///
    /// # Errors
    ///
    /// As [`Comparisons::with_columns`]; rows are named by their number in the columns. A weight of 0 is refused, as a
    /// battle that does not count has to be left out by whoever knows why.
    pub fn from_rows(
        n_models: usize,
        rows: Rows<'_>,
        n_threads: NonZeroUsize,
    ) -> Result<Self, Error> {
        order::order(n_models, &Counted { rows, counts: None }, n_threads)
    }

    /// Adds one comparison in place, as if it had been given from the start.
    ///
    /// For a running arena: a vote for a pair that met before with this outcome costs a search, any other one moves the
    /// cells behind it.
    ///
    /// # Errors
    ///
    /// As [`Comparisons::new`], for row 0. [`Error::Length`] for comparisons with features or clusters, of which the one
    /// to add has none.
    ///
    /// # Examples
    ///
    /// ```
    /// use agon_ranking::{Comparison, Comparisons};
    ///
    /// let mut votes = Comparisons::new(3, [Comparison::new(0, 1, 1.0), Comparison::new(1, 2, 0.5)])?;
    /// votes.add(Comparison::new(2, 1, 1.0))?;
    /// let at_once = [
    ///     Comparison::new(0, 1, 1.0),
    ///     Comparison::new(1, 2, 0.5),
    ///     Comparison::new(2, 1, 1.0),
    /// ];
    /// assert_eq!(votes, Comparisons::new(3, at_once)?);
    /// # Ok::<(), agon_ranking::Error>(())
    /// ```
    pub fn add(&mut self, comparison: Comparison) -> Result<(), Error> {
        check(0, &comparison, self.n_models)?;
        let columns = self.n_features + usize::from(!self.clusters.is_empty());
        if columns > 0 {
            return Err(Error::Length {
                found: 0,
                expected: columns,
            });
        }
        let cell = canonical(&comparison);
        count(&mut self.records, &cell);
        let pair = self
            .pairs
            .partition_point(|pair| (pair.i, pair.j) < (cell.i, cell.j));
        let start = pair
            .checked_sub(1)
            .map_or(0, |before| self.pairs[before].end);
        let known = self.pairs.get(pair).copied();
        let known = known.filter(|known| (known.i, known.j) == (cell.i, cell.j));
        let mut position = start;
        if let Some(known) = known {
            while position < known.end
                && compare_outcome(&self.cell_of(known, position), &cell).is_lt()
            {
                position += 1;
            }
            if position < known.end
                && compare_outcome(&self.cell_of(known, position), &cell).is_eq()
            {
                self.counts[position] = self.counts[position].saturating_add(cell.count);
                return Ok(());
            }
        } else {
            self.pairs.insert(
                pair,
                Pair {
                    i: cell.i,
                    j: cell.j,
                    end: start,
                },
            );
        }
        for pair in &mut self.pairs[pair..] {
            pair.end += 1;
        }
        if cell.weight != 1.0 && self.weights.is_empty() {
            self.weights.resize(self.outcomes.len(), 1.0);
        }
        if cell.weight != 1.0 || !self.weights.is_empty() {
            self.weights.insert(position, cell.weight);
        }
        self.outcomes.insert(position, cell.outcome);
        self.counts.insert(position, cell.count);
        Ok(())
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
        Self::from_cells(self.n_models, self.cells().collect(), self.records.clone())
    }

    /// The same battles, each weighted by 1 / max(battles of its two models, `battles_min`).
    ///
    /// Every pair that met at least `battles_min` times then counts alike; it is another estimand, not a correction
    /// (arena-rank calls it re-weighting, with 50).
    pub fn reweighted_by_pair(&self, battles_min: u64) -> Self {
        let mut weighted = self.clone();
        weighted.weights = vec![1.0; self.n_cells()];
        for (_, cells) in self.by_pair() {
            let battles = self.counts[cells.clone()]
                .iter()
                .fold(0_u64, |sum, &count| sum.saturating_add(count));
            weighted.weights[cells].fill(1.0 / battles.max(battles_min).max(1) as f64);
        }
        if weighted.weights.iter().all(|&weight| weight == 1.0) {
            weighted.weights = Vec::new();
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
        self.counts
            .iter()
            .fold(0_u64, |sum, &count| sum.saturating_add(count))
    }

    /// Sum of the battles' weights.
    pub fn total_weight(&self) -> f64 {
        self.cells().map(|cell| cell.mass()).sum()
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
        let mut groups = self.groups();
        let (mut scores, mut losses) = (Vec::new(), Vec::new());
        let mut sum = 0.0;
        loop {
            scores.clear();
            losses.clear();
            for group in groups.by_ref().take(GROUPS_AT_A_TIME) {
                let (score, loss) = group.score_and_loss(self);
                scores.push(score);
                losses.push(loss);
            }
            if scores.is_empty() {
                return sum;
            }
            sum += saturated_log_likelihood(&scores, &losses);
        }
    }

    /// Number of groups of battles that share both models and all features.
    pub fn n_groups(&self) -> usize {
        self.groups().count()
    }

    /// Number of groups of equal battles.
    pub(crate) fn n_cells(&self) -> usize {
        self.outcomes.len()
    }

    /// The pairs that met, and where the cells of each are.
    pub(crate) fn by_pair(&self) -> impl Iterator<Item = (Pair, Range<usize>)> + Clone + '_ {
        let mut start = 0;
        self.pairs.iter().map(move |&pair| {
            let cells = start..pair.end;
            start = pair.end;
            (pair, cells)
        })
    }

    pub(crate) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Whether there is no battle.
    pub(crate) fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// All cells in their order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + Clone + '_ {
        self.by_pair()
            .flat_map(move |(pair, cells)| cells.map(move |idx| self.cell_of(pair, idx)))
    }

    /// One cell; a search for its pair, so not for going through all of them.
    pub(crate) fn cell(&self, idx: usize) -> Cell {
        let pair = self.pairs.partition_point(|pair| pair.end <= idx);
        self.cell_of(self.pairs[pair], idx)
    }

    /// One cell of a known pair.
    pub(crate) fn cell_of(&self, pair: Pair, idx: usize) -> Cell {
        Cell {
            i: pair.i,
            j: pair.j,
            outcome: self.outcomes[idx],
            weight: self.weights.get(idx).copied().unwrap_or(1.0),
            count: self.counts[idx],
        }
    }

    /// Outcome of each cell for the first model of its pair.
    pub(crate) fn outcomes(&self) -> &[f64] {
        &self.outcomes
    }

    /// Weight of each battle of a cell, or nothing when all are 1.
    pub(crate) fn weights(&self) -> Option<&[f64]> {
        (!self.weights.is_empty()).then_some(&self.weights)
    }

    /// Battles of each cell.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The features by column, one entry for each cell.
    pub(crate) fn feature_columns(&self) -> &[Vec<f64>] {
        &self.features
    }

    pub(crate) fn features_of(&self, cell: usize) -> impl Iterator<Item = f64> + Clone + '_ {
        self.features.iter().map(move |column| column[cell])
    }

    /// The cluster of each cell, or nothing when rows came without.
    pub(crate) fn clusters(&self) -> Option<&[u32]> {
        (!self.clusters.is_empty()).then_some(&self.clusters)
    }

    /// Runs of cells with the same two models and the same features.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Group> + '_ {
        let (mut start, mut pair) = (0, 0);
        std::iter::from_fn(move || {
            let Pair { i, j, end: last } = *self.pairs.get(pair)?;
            let mut end = start + 1;
            while end < last
                && self
                    .features
                    .iter()
                    .all(|column| column[start] == column[end])
            {
                end += 1;
            }
            let group = Group { i, j, start, end };
            start = end;
            pair += usize::from(end == last);
            Some(group)
        })
    }

    /// The battles that are left when each cell loses so many.
    ///
    /// `removed` holds one number for each cell, at most the number of its battles.
    pub(crate) fn without(&self, removed: &[u64]) -> Self {
        let mut left = Self::empty(self.n_models, self.n_features);
        for ((idx, cell), removed) in self.cells().enumerate().zip(removed) {
            let cell = Cell {
                count: cell.count.saturating_sub(*removed),
                ..cell
            };
            if cell.count == 0 {
                continue;
            }
            count(&mut left.records, &cell);
            left.push(
                &cell,
                self.features_of(idx),
                self.clusters.get(idx).copied(),
            );
        }
        left
    }

    /// The battles among the given models only, with these models numbered in the given order.
    ///
    /// `models` holds distinct indices in ascending order, so that cells keep their order.
    pub fn among(&self, models: &[usize]) -> Self {
        let mut position = vec![u32::MAX; self.n_models];
        for (new, &old) in models.iter().enumerate() {
            position[old] = new as u32;
        }
        let mut inside = Self::empty(models.len(), self.n_features);
        for (pair, cells) in self.by_pair() {
            let (i, j) = (position[pair.i as usize], position[pair.j as usize]);
            if i == u32::MAX || j == u32::MAX {
                continue;
            }
            for idx in cells {
                let cell = Cell {
                    i,
                    j,
                    ..self.cell_of(pair, idx)
                };
                count(&mut inside.records, &cell);
                inside.push(
                    &cell,
                    self.features_of(idx),
                    self.clusters.get(idx).copied(),
                );
            }
        }
        inside
    }

    /// The same comparisons with some of their features only, numbered in the given order.
    ///
    /// Features that do not exist are passed over. For what belongs to a fit that had to leave some out
    /// ([`crate::Fitted::features`]).
    pub fn with_features(&self, features: &[usize]) -> Self {
        let kept: Vec<&[f64]> = features
            .iter()
            .filter_map(|&feature| self.features.get(feature))
            .map(|column| &column[..])
            .collect();
        let model = |of: fn(&Pair) -> u32| -> Vec<u32> {
            let pairs = self.by_pair();
            pairs
                .flat_map(|(pair, cells)| std::iter::repeat_n(of(&pair), cells.len()))
                .collect()
        };
        let (model_a, model_b) = (model(|pair| pair.i), model(|pair| pair.j));
        let rows = Rows {
            model_a: &model_a,
            model_b: &model_b,
            scores: &self.outcomes,
            features: &kept,
            clusters: self.clusters(),
            weights: self.weights(),
            subset: None,
        };
        let counts = Some(&self.counts[..]);
        // They were checked when they came in, so nothing can be wrong with them now.
        order::order(self.n_models, &Counted { rows, counts }, NonZeroUsize::MIN)
            .unwrap_or_else(|_| Self::empty(self.n_models, kept.len()))
    }
}

/// A run of cells with the same models and features.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) i: u32,
    pub(crate) j: u32,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Group {
    /// The cells of the group.
    pub(crate) fn cells(self, comparisons: &Comparisons) -> impl Iterator<Item = Cell> + '_ {
        let Self { i, j, start, end } = self;
        (start..end).map(move |idx| comparisons.cell_of(Pair { i, j, end }, idx))
    }

    /// Weight of what the first model won and of what it lost, a tie being half of each.
    pub(crate) fn score_and_loss(self, comparisons: &Comparisons) -> (f64, f64) {
        let (mut score, mut loss) = (0.0, 0.0);
        for idx in self.start..self.end {
            let weight = comparisons.weights.get(idx).copied().unwrap_or(1.0);
            let mass = comparisons.counts[idx] as f64 * weight;
            score += mass * comparisons.outcomes[idx];
            loss += mass * (1.0 - comparisons.outcomes[idx]);
        }
        (score, loss)
    }
}

pub(crate) fn check(row: usize, comparison: &Comparison, n_models: usize) -> Result<(), Error> {
    let Comparison {
        a,
        b,
        outcome,
        weight,
        count,
    } = *comparison;
    check_row(row, [a, b], outcome, weight, count, n_models)
}

fn check_row(
    row: usize,
    models: [u32; 2],
    outcome: f64,
    weight: f64,
    count: u64,
    n_models: usize,
) -> Result<(), Error> {
    for model in models {
        if model as usize >= n_models {
            return Err(Error::ModelOutOfRange {
                row,
                model,
                n_models,
            });
        }
    }
    if models[0] == models[1] {
        return Err(Error::SelfComparison {
            row,
            model: models[0],
        });
    }
    if !(0.0..=1.0).contains(&outcome) {
        return Err(Error::Outcome { row, outcome });
    }
    if !(weight.is_finite() && weight > 0.0) {
        return Err(Error::Weight { row, weight });
    }
    if count == 0 {
        return Err(Error::Count { row });
    }
    Ok(())
}

/// Names the model with the lower index first.
fn canonical(comparison: &Comparison) -> Cell {
    Cell {
        i: comparison.a.min(comparison.b),
        j: comparison.a.max(comparison.b),
        outcome: canonical_outcome(comparison.a > comparison.b, comparison.outcome),
        weight: comparison.weight,
        count: comparison.count,
    }
}

/// The score of the model with the lower index, given that of side A, which has the higher one if `swapped`.
///
/// It passes through the winner's score, which is at least ½: subtracting it from 1 is exact,
/// and so `(a, b, y)` and `(b, a, 1 - y)` arrive at the same bits even where `1 - y` had to be rounded.
/// At a tie both ways of orienting agree, so it does not matter who is called the winner.
fn canonical_outcome(swapped: bool, outcome: f64) -> f64 {
    let a_won = outcome >= 0.5;
    let score = if a_won { outcome } else { 1.0 - outcome };
    if a_won == swapped { 1.0 - score } else { score }
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

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests;
