//! Votes as the methods take them: by pair of models, and row by row where counts are not enough.

use std::{borrow::Cow, collections::HashMap, ops::Range, sync::Arc};

use agon_dataset::{Battles, FeatureColumn, Judges, Place, RefusedNumbers};
use agon_domain::{CountedPair, Tally, Winner, WinnerCounts};
use agon_ranking::{
    Columns, Comparison, Comparisons,
    style_control::{ScaledFeature, Scaling, scale_features, uncentred_units},
    ties::TieCounts,
};

use super::{
    BothBadRule, LeftOutFeature, RankError, Settings, SourceBody, SourceWeight, TieRule,
    WeightSetting,
    threads::{self, Threads},
};

/// Votes to be ranked.
#[derive(Debug)]
pub enum Votes {
    /// Counted by ordered pair: all that a plain board needs.
    Counted(Tally),
    /// Row by row, with whatever columns the settings ask for.
    Rows(Box<Battles>),
}

/// What a vote counts for the model on side A in the plain model; `None` where it is left out.
pub(super) fn outcome(winner: Winner, settings: &Settings) -> Option<f64> {
    match winner {
        Winner::A => Some(1.0),
        Winner::B => Some(0.0),
        Winner::Tie => (settings.ties != TieRule::Drop).then_some(0.5),
        Winner::BothBad => (settings.both_bad != BothBadRule::Drop).then_some(0.5),
    }
}

/// Rows with everything that a fit of any part of them needs.
pub(super) struct Table {
    pub(super) battles: Battles,
    /// What each row counts for side A; NaN where it is left out.
    scores: Vec<f64>,
    /// Who voted; a row without a judge is one of its own.
    clusters: Option<Vec<u32>>,
    /// Weights above 0; NaN where there is none.
    weights: Option<Vec<f64>>,
    /// The features that have values, scaled unless that is done for each part.
    features: Vec<Feature>,
    left_out: Vec<LeftOutFeature>,
    /// The feature of the advantage of side A.
    ones: Vec<f64>,
    /// Rows of everything that has a share of its own, and that share.
    shares: Vec<Share>,
    pub(super) notes: Vec<String>,
}

/// Rows of sources that have one share together, and that share.
type Share = (Vec<Range<usize>>, f64);

struct Feature {
    name: String,
    values: Vec<f64>,
    unit: f64,
}

impl Table {
    /// Prepares rows once for all parts. The number of threads changes no bit.
    pub(super) fn new(
        mut battles: Battles,
        settings: &Settings,
        sources: &[SourceBody],
        n_threads: Threads,
    ) -> Result<Self, RankError> {
        let mut notes = Vec::new();
        let shares = shares(&battles, settings, sources)?;
        let scores = scores(&battles.winner, settings, n_threads);
        let clusters = match (settings.interval.needs_judges(), battles.judges.take()) {
            (false, _) => None,
            (true, None) => return Err(RankError::NoJudges),
            (true, Some(judges)) => Some(clusters(judges, &mut notes)?),
        };
        let weights = match (&settings.weights, battles.weights.take()) {
            (Some(WeightSetting::Column { column }), Some(values)) => {
                let expected = "numbers above 0";
                Some(weights(
                    values,
                    (column, &battles.first_text_weight),
                    expected,
                    |value| value,
                    &mut notes,
                )?)
            }
            (Some(WeightSetting::Recorded { column }), Some(values)) => Some(weights(
                values,
                (column, &battles.first_text_weight),
                "probabilities above 0 and up to 1",
                |p| if p <= 1.0 { 1.0 / p } else { f64::NAN },
                &mut notes,
            )?),
            _ => None,
        };
        for feature in &battles.features {
            if feature.n_from_conversations > 0 {
                notes.push(format!(
                    "{} was counted from the conversations in {} rows",
                    feature.name, feature.n_from_conversations
                ));
            }
        }
        let (features, left_out) = features(&mut battles, settings, sources, n_threads)?;
        // A column of times without any is none.
        if let Some(times) = &battles.times
            && times.iter().all(|time| time.is_nan())
        {
            battles.times = None;
        }
        let ones = if settings.order_effect {
            vec![1.0; battles.winner.len()]
        } else {
            Vec::new()
        };
        Ok(Self {
            battles,
            scores,
            clusters,
            weights,
            features,
            left_out,
            ones,
            shares,
            notes,
        })
    }

    pub(super) fn n_rows(&self) -> usize {
        self.battles.winner.len()
    }
}

/// Rows that one thread takes at a time.
const ROWS_AT_A_TIME: usize = 1 << 16;

/// What each row counts for side A; NaN where it is left out.
fn scores(winners: &[Winner], settings: &Settings, n_threads: Threads) -> Vec<f64> {
    let score = Winner::ALL.map(|winner| outcome(winner, settings).unwrap_or(f64::NAN));
    let mut scores = vec![0.0; winners.len()];
    let parts = scores
        .chunks_mut(ROWS_AT_A_TIME)
        .zip(winners.chunks(ROWS_AT_A_TIME))
        .collect();
    threads::for_parts(parts, n_threads, |(scores, winners): (&mut [f64], _)| {
        for (to, &winner) in scores.iter_mut().zip(winners) {
            *to = score[winner as usize];
        }
    });
    scores
}

fn clusters(judges: Judges, notes: &mut Vec<String>) -> Result<Vec<u32>, RankError> {
    let mut next = judges.n_judges;
    let mut n_missing = 0_u64;
    let codes = judges
        .codes
        .into_iter()
        .map(|code| {
            if code != u32::MAX {
                return code;
            }
            n_missing += 1;
            let own = next;
            next = next.wrapping_add(1);
            own
        })
        .collect();
    if judges.n_judges == 0 {
        return Err(RankError::NoJudges);
    }
    if n_missing > 0 {
        notes.push(format!(
            "{n_missing} rows do not say who voted; each is taken as a judge of its own"
        ));
    }
    Ok(codes)
}

fn weights(
    mut values: Vec<f64>,
    (column, first_text): (&str, &Option<Place>),
    expected: &'static str,
    weight: impl Fn(f64) -> f64,
    notes: &mut Vec<String>,
) -> Result<Vec<f64>, RankError> {
    let mut n_unusable = 0_u64;
    let mut first_unusable = None;
    for value in &mut values {
        let found = weight(*value);
        *value = if found.is_finite() && found > 0.0 {
            found
        } else {
            n_unusable += 1;
            if value.is_finite() {
                first_unusable.get_or_insert(*value);
            }
            f64::NAN
        };
    }
    if n_unusable > 0 && n_unusable == values.len() as u64 {
        let found = match (first_text, first_unusable) {
            (Some(place), _) => format!(", found {place}"),
            (None, Some(value)) => format!(", found `{value}`"),
            (None, None) => String::new(),
        };
        return Err(RankError::NoWeights {
            column: column.to_owned(),
            expected,
            found,
        });
    }
    if n_unusable > 0 {
        notes.push(format!(
            "{n_unusable} rows have no usable number in `{column}`; they are left out of the fit"
        ));
    }
    Ok(values)
}

/// A feature with larger values cannot be scaled: the squares of some hundred million of them would be beyond what a number can hold.
const FEATURE_MAX: f64 = 1e140;

/// The features that have values, and the others. What is scaled without a centre is scaled here, by all rows at once, so that coefficients of different parts have one unit.
fn features(
    battles: &mut Battles,
    settings: &Settings,
    sources: &[SourceBody],
    n_threads: Threads,
) -> Result<(Vec<Feature>, Vec<LeftOutFeature>), RankError> {
    let Some(style) = &settings.style else {
        return Ok((Vec::new(), Vec::new()));
    };
    let mut features = Vec::new();
    let mut left_out = Vec::new();
    let mut first_text = None;
    let columns = std::mem::take(&mut battles.features);
    let order: Vec<usize> = (0..columns.len()).collect();
    let extents = threads::for_each(&order, n_threads, |idx| Extent::of(&columns[idx].values));
    for (column, extent) in columns.into_iter().zip(extents) {
        if let Some(refused) = column.refused.first() {
            let ranges = battles.sources.iter().zip(sources);
            let source = ranges
                .filter(|(range, _)| range.contains(&refused.battle))
                .map(|(_, source)| source.path.clone())
                .next();
            return Err(negative(&column, refused, source.unwrap_or_default()));
        }
        if extent.largest > FEATURE_MAX {
            left_out.push(LeftOutFeature {
                feature: column.name,
                reason: "out_of_range".to_owned(),
            });
        } else if extent.has_values {
            features.push(Feature {
                name: column.name,
                values: column.values,
                unit: 1.0,
            });
        } else {
            first_text = first_text.or(column.first_text);
            left_out.push(LeftOutFeature {
                feature: column.name,
                reason: "missing".to_owned(),
            });
        }
    }
    if features.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|out| out.feature.as_str()).collect();
        if left_out.iter().all(|out| out.reason == "out_of_range") {
            return Err(RankError::NoFeatures {
                detail: format!(
                    "{} has values beyond {FEATURE_MAX:e}, which no fit can hold",
                    names.join(", ")
                ),
            });
        }
        let found = first_text.map_or_else(String::new, |place| format!("; found {place}"));
        return Err(RankError::NoFeatures {
            detail: format!(
                "no row has a usable number for {}: expected a number for each side (`NAME_a` and `NAME_b`), or one that is the difference (`NAME`){found}",
                names.join(", ")
            ),
        });
    }
    if style.scaling() == Scaling::Centred {
        return Ok((features, left_out));
    }
    let columns: Vec<&[f64]> = features.iter().map(|feature| &feature.values[..]).collect();
    let units = uncentred_units(&columns, n_threads);
    let mut parts = Vec::new();
    for (feature, unit) in features.iter_mut().zip(units) {
        feature.unit = unit;
        let values = feature.values.chunks_mut(ROWS_AT_A_TIME);
        parts.extend(values.map(|values| (values, unit)));
    }
    threads::for_parts(parts, n_threads, |(values, unit): (&mut [f64], f64)| {
        for value in values {
            *value /= unit;
        }
    });
    Ok((features, left_out))
}

/// The error for numbers that are no counts, with the first of them.
fn negative(column: &FeatureColumn, refused: &RefusedNumbers, source: String) -> RankError {
    let (side, value) = match refused.numbers {
        [a, _] if a < 0.0 => ("a", a),
        [_, b] => ("b", b),
    };
    RankError::NegativeCounts {
        feature: column.name.clone(),
        side,
        value,
        place: Box::new(Place {
            source,
            row: refused.row,
            line: refused.line,
            column: None,
            value: None,
        }),
        n_rows: column.n_refused,
    }
}

/// How far the values of a feature go.
struct Extent {
    /// The largest absolute value of the finite ones.
    largest: f64,
    has_values: bool,
}

impl Extent {
    fn of(values: &[f64]) -> Self {
        let mut extent = Self {
            largest: 0.0,
            has_values: false,
        };
        for &value in values.iter().filter(|value| value.is_finite()) {
            extent.largest = extent.largest.max(value.abs());
            extent.has_values = true;
        }
        extent
    }
}

/// The votes that make one board, or one for each group that met.
pub(super) struct Part<'a> {
    pub(super) names: &'a [String],
    /// By ordered pair, in the order of positions.
    pub(super) pairs: Arc<Vec<CountedPair>>,
    pub(super) table: Option<&'a Table>,
    /// The rows, ascending; all without it.
    pub(super) rows: Option<Vec<u32>>,
}

/// What a fit is made of.
#[derive(Debug)]
pub(super) struct FitInput {
    pub(super) comparisons: Comparisons,
    /// The features of the fit, each with its unit.
    pub(super) features: Vec<(String, f64)>,
    pub(super) left_out: Vec<LeftOutFeature>,
    /// Rows that lack a feature or a weight; `None` where nothing can be lacking.
    pub(super) incomplete_rows: Option<u64>,
    /// The sources by themselves with their shares, where shares are set.
    pub(super) sources: Vec<(Comparisons, f64)>,
}

impl<'a> Part<'a> {
    /// All votes of a tally, which has been sorted.
    pub(super) fn counted(names: &'a [String], pairs: Arc<Vec<CountedPair>>) -> Self {
        Self {
            names,
            pairs,
            table: None,
            rows: None,
        }
    }

    /// Some rows of a table.
    pub(super) fn of(table: &'a Table, rows: Option<Vec<u32>>) -> Self {
        let battles = &table.battles;
        let pairs = match &rows {
            Some(rows) => count_pairs(battles, rows.iter().map(|&row| row as usize), rows.len()),
            None => count_pairs(battles, 0..table.n_rows(), table.n_rows()),
        };
        Self {
            names: &battles.models,
            pairs: Arc::new(pairs),
            table: Some(table),
            rows,
        }
    }

    /// All votes.
    pub(super) fn n_votes(&self) -> u64 {
        self.pairs.iter().map(|(_, counts)| counts.total()).sum()
    }

    /// Rows of the table that the part has.
    pub(super) fn n_rows(&self) -> usize {
        self.rows
            .as_ref()
            .map_or_else(|| self.table.map_or(0, Table::n_rows), Vec::len)
    }

    /// The rows of the part, in the order of reading.
    pub(super) fn row_numbers(&self, table: &Table) -> Vec<u32> {
        match &self.rows {
            Some(rows) => rows.clone(),
            None => (0..).take(table.n_rows()).collect(),
        }
    }

    /// Votes by pair for the plain model.
    pub(super) fn plain_comparisons(
        &self,
        settings: &Settings,
    ) -> Result<Comparisons, agon_ranking::Error> {
        Comparisons::new(self.names.len(), self.cells(settings))
    }

    pub(super) fn cells(&self, settings: &Settings) -> impl Iterator<Item = Comparison> {
        self.pairs.iter().flat_map(move |&((a, b), counts)| {
            Winner::ALL.into_iter().filter_map(move |winner| {
                let count = counts.get(winner);
                let outcome = outcome(winner, settings)?;
                (count > 0).then(|| Comparison::new(a, b, outcome).with_count(count))
            })
        })
    }

    /// Votes by pair for a model in which ties are outcomes of their own.
    pub(super) fn tie_counts(&self, settings: &Settings) -> impl Iterator<Item = TieCounts> {
        let both_bad = settings.both_bad;
        self.pairs.iter().filter_map(move |&((a, b), counts)| {
            let bad = counts.get(Winner::BothBad);
            let (as_ties, as_bad) = match both_bad {
                BothBadRule::Drop => (0, 0),
                BothBadRule::Outcome => (0, bad),
                BothBadRule::Half | BothBadRule::Loss | BothBadRule::Tie => (bad, 0),
            };
            let counts = TieCounts {
                wins_a: counts.get(Winner::A),
                wins_b: counts.get(Winner::B),
                ties: counts.get(Winner::Tie) + as_ties,
                both_bad: as_bad,
                ..TieCounts::new(a, b)
            };
            (counts.battles() > 0).then_some(counts)
        })
    }

    /// What the fit of this part is made of, with style or without, but for some features.
    pub(super) fn fit_input(
        &self,
        settings: &Settings,
        with_style: bool,
        excluded: &[LeftOutFeature],
        n_threads: Threads,
    ) -> Result<FitInput, RankError> {
        let of_ranking = |error| RankError::of(error, self.names);
        let n_models = self.names.len();
        let is_counted = !with_style
            && settings.source_weights.is_empty()
            && self
                .table
                .is_none_or(|table| table.clusters.is_none() && table.weights.is_none());
        let mut input = if is_counted {
            self.counted_input(settings).map_err(of_ranking)?
        } else if let Some(table) = self.table {
            let rows = RowsInput::new(self, table, settings, with_style, excluded)?;
            let comparisons = rows
                .comparisons(n_models, &rows.subset, n_threads)
                .map_err(of_ranking)?;
            let mut sources = Vec::new();
            for (ranges, share) in &table.shares {
                let is_of = |row: &u32| ranges.iter().any(|range| range.contains(&(*row as usize)));
                let subset: Vec<u32> = rows.subset.iter().copied().filter(is_of).collect();
                if !subset.is_empty() {
                    let source = rows
                        .comparisons(n_models, &subset, n_threads)
                        .map_err(of_ranking)?;
                    sources.push((source, *share));
                }
            }
            FitInput {
                comparisons,
                features: rows.names,
                left_out: rows.left_out,
                incomplete_rows: rows.incomplete_rows,
                sources,
            }
        } else {
            return Err(RankError::NoBattles);
        };
        if let Some(WeightSetting::Pair { battles_min }) = settings.weights {
            input.comparisons = input.comparisons.reweighted_by_pair(battles_min);
            for (source, _) in &mut input.sources {
                *source = source.reweighted_by_pair(battles_min);
            }
        }
        Ok(input)
    }

    fn counted_input(&self, settings: &Settings) -> Result<FitInput, agon_ranking::Error> {
        let (comparisons, features) = if settings.order_effect {
            let cells: Vec<Comparison> = self.cells(settings).collect();
            let ones = vec![1.0; cells.len()];
            let columns = Columns {
                n_features: 1,
                features: &ones,
                clusters: None,
            };
            (
                Comparisons::with_columns(self.names.len(), &cells, columns)?,
                vec![(ORDER_EFFECT.to_owned(), 1.0)],
            )
        } else {
            (self.plain_comparisons(settings)?, Vec::new())
        };
        Ok(FitInput {
            comparisons,
            features,
            left_out: Vec::new(),
            incomplete_rows: None,
            sources: Vec::new(),
        })
    }
}

/// What the advantage of side A is called among the features.
pub(super) const ORDER_EFFECT: &str = "order_effect";

/// Columns for a fit by row.
struct RowsInput<'a> {
    table: &'a Table,
    subset: Vec<u32>,
    columns: Vec<Cow<'a, [f64]>>,
    names: Vec<(String, f64)>,
    left_out: Vec<LeftOutFeature>,
    incomplete_rows: Option<u64>,
}

impl<'a> RowsInput<'a> {
    fn new(
        part: &Part<'_>,
        table: &'a Table,
        settings: &Settings,
        with_style: bool,
        excluded: &[LeftOutFeature],
    ) -> Result<Self, RankError> {
        let is_excluded =
            |feature: &str| excluded.iter().any(|excluded| excluded.feature == feature);
        let used: &[Feature] = if with_style { &table.features } else { &[] };
        let can_lack = with_style || table.weights.is_some();
        let mut n_incomplete = 0;
        let mut take = |row: usize| {
            if table.scores[row].is_nan() {
                return false;
            }
            let lacks = table
                .weights
                .as_ref()
                .is_some_and(|weights| weights[row].is_nan())
                || used.iter().any(|feature| !feature.values[row].is_finite());
            n_incomplete += u64::from(lacks);
            !lacks
        };
        let subset: Vec<u32> = match &part.rows {
            Some(rows) => rows
                .iter()
                .copied()
                .filter(|&row| take(row as usize))
                .collect(),
            None => (0..)
                .take(table.n_rows())
                .filter(|&row: &u32| take(row as usize))
                .collect(),
        };
        let mut input = Self {
            table,
            subset,
            columns: Vec::new(),
            names: Vec::new(),
            left_out: if with_style {
                table.left_out.clone()
            } else {
                Vec::new()
            },
            incomplete_rows: can_lack.then_some(n_incomplete),
        };
        let centred = settings.style.as_ref().is_some_and(|style| style.centred);
        for feature in used.iter().filter(|feature| !is_excluded(&feature.name)) {
            input.add(feature, centred)?;
        }
        input.left_out.extend_from_slice(excluded);
        if settings.order_effect && !is_excluded(ORDER_EFFECT) {
            input.columns.push((&table.ones[..]).into());
            input.names.push((ORDER_EFFECT.to_owned(), 1.0));
        }
        Ok(input)
    }

    /// Adds a feature unless it says nothing in these rows.
    fn add(&mut self, feature: &'a Feature, centred: bool) -> Result<(), RankError> {
        let values: Vec<f64> = if centred {
            let own = self.subset.iter().map(|&row| feature.values[row as usize]);
            own.collect()
        } else {
            Vec::new()
        };
        let mut unit = feature.unit;
        let column = if centred {
            let (scaled, fates) =
                scale_features(&values, 1, Scaling::Centred).map_err(RankError::Ranking)?;
            match fates.first() {
                Some(ScaledFeature::Kept { deviation, .. }) => {
                    unit = *deviation;
                    let mut column = vec![0.0; feature.values.len()];
                    for (&row, value) in self.subset.iter().zip(scaled) {
                        column[row as usize] = value;
                    }
                    Some(column.into())
                }
                _ => None,
            }
        } else {
            let says_something = self
                .subset
                .iter()
                .any(|&row| feature.values[row as usize] != 0.0);
            says_something.then(|| (&feature.values[..]).into())
        };
        match column {
            Some(column) => {
                self.columns.push(column);
                self.names.push((feature.name.clone(), unit));
            }
            None => self.left_out.push(LeftOutFeature {
                feature: feature.name.clone(),
                reason: "constant".to_owned(),
            }),
        }
        Ok(())
    }

    fn comparisons(
        &self,
        n_models: usize,
        subset: &[u32],
        n_threads: Threads,
    ) -> Result<Comparisons, agon_ranking::Error> {
        let features: Vec<&[f64]> = self.columns.iter().map(AsRef::as_ref).collect();
        let battles = &self.table.battles;
        Comparisons::from_rows(
            n_models,
            agon_ranking::Rows {
                model_a: &battles.model_a,
                model_b: &battles.model_b,
                scores: &self.table.scores,
                features: &features,
                clusters: self.table.clusters.as_deref(),
                weights: self.table.weights.as_deref(),
                // Rows ascend, so as many as there are means all of them.
                subset: (subset.len() < self.table.n_rows()).then_some(subset),
            },
            n_threads,
        )
    }
}

/// The rows of everything that has a share, and the share.
fn shares(
    battles: &Battles,
    settings: &Settings,
    sources: &[SourceBody],
) -> Result<Vec<Share>, RankError> {
    let mut shares: Vec<Share> = settings
        .source_weights
        .iter()
        .map(|source| (Vec::new(), source.weight))
        .collect();
    if shares.is_empty() {
        return Ok(shares);
    }
    for (source, range) in sources.iter().zip(&battles.sources) {
        let is_meant = |weight: &SourceWeight| {
            source
                .path
                .strip_prefix(weight.path.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut meant = (0..)
            .zip(&settings.source_weights)
            .filter(|(_, weight)| is_meant(weight));
        let Some((idx, _)) = meant.next() else {
            return Err(RankError::Sources {
                detail: format!("`{}` has no share", source.path),
            });
        };
        if meant.next().is_some() {
            return Err(RankError::Sources {
                detail: format!("`{}` has more than one share", source.path),
            });
        }
        if let Some((ranges, _)) = shares.get_mut::<usize>(idx) {
            ranges.push(range.clone());
        }
    }
    for (weight, (ranges, _)) in settings.source_weights.iter().zip(&shares) {
        if ranges.is_empty() {
            return Err(RankError::Sources {
                detail: format!("there is no source `{}`", weight.path),
            });
        }
    }
    Ok(shares)
}

/// Counts rows by ordered pair, in the order of positions.
fn count_pairs(
    battles: &Battles,
    rows: impl Iterator<Item = usize>,
    n_rows: usize,
) -> Vec<CountedPair> {
    let n_models = battles.models.len();
    // A table of all pairs is faster, where it is not mostly empty.
    if n_models * n_models <= n_rows.max(1 << 12) {
        let mut table = vec![WinnerCounts::default(); n_models * n_models];
        for row in rows {
            let (a, b) = (battles.model_a[row] as usize, battles.model_b[row] as usize);
            table[a * n_models + b].add(battles.winner[row], 1);
        }
        let positions = (0_u32..)
            .take(n_models)
            .flat_map(|a| (0_u32..).take(n_models).map(move |b| (a, b)));
        return positions
            .zip(table)
            .filter(|(_, counts)| counts.total() > 0)
            .collect();
    }
    let mut counts: HashMap<(u32, u32), WinnerCounts> = HashMap::new();
    for row in rows {
        counts
            .entry((battles.model_a[row], battles.model_b[row]))
            .or_default()
            .add(battles.winner[row], 1);
    }
    let mut pairs: Vec<CountedPair> = counts.into_iter().collect();
    pairs.sort_unstable_by_key(|&(pair, _)| pair);
    pairs
}
