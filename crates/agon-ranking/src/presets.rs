//! What FastChat and arena-rank publish for the same battles, and what is untrue about it.
//!
//! Not for new boards: a preset exists to check a published number, or to show why it differs.

use std::num::NonZeroUsize;

use crate::Error;
use crate::bootstrap::{BootstrapOptions, Resampling, interval_of, resample};
use crate::bradley_terry::{Fit, FitOptions, fit, fit_connected};
use crate::comparisons::{Columns, Comparison, Comparisons};
use crate::components::Components;
use crate::composite::append;
use crate::covariance::squared_scores;
use crate::interval::critical_value;
use crate::leaderboard::LeaderboardOptions;
use crate::linear_algebra::Matrix;

/// A board as another program publishes it.
#[derive(Clone, Debug, PartialEq)]
pub struct PresetBoard {
    /// Models with at least one battle, from the highest rating down.
    pub entries: Vec<PresetEntry>,
    /// Coefficients of the features; empty without features.
    pub coefficients: Vec<f64>,
    /// Share of bootstrap rounds in which some model has no finite estimate; 0 without a bootstrap.
    ///
    /// The other program reports wherever its solver stopped in such rounds; here they are left out for that model.
    pub degenerate_share: f64,
    /// What is untrue about these numbers, in full sentences. Never empty.
    pub warnings: Vec<&'static str>,
}

/// One model on such a board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PresetEntry {
    /// Index of the model.
    pub model: usize,
    /// Rating in points.
    pub rating: f64,
    /// Ends of the interval by the other program's rule; `None` where that gives none.
    pub interval: Option<(f64, f64)>,
    /// Variance of the rating by the same rule, in squared points.
    pub variance: Option<f64>,
}

/// Settings of the FastChat preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastChatOptions {
    /// The model that everything is shifted to, with its rating; FastChat takes `mixtral-8x7b-instruct-v0.1` at 1114
    /// where it is among the models, and nothing otherwise.
    pub baseline: Option<(usize, f64)>,
    /// Coverage that the percentiles are meant to have.
    pub level: f64,
    /// Rounds, seed and threads; battles are resampled, whatever is said here.
    pub bootstrap: BootstrapOptions,
}

impl Default for FastChatOptions {
    /// 100 rounds and 95 %, as FastChat; no baseline model.
    fn default() -> Self {
        Self {
            baseline: None,
            level: 0.95,
            bootstrap: BootstrapOptions {
                rounds: 100,
                ..BootstrapOptions::default()
            },
        }
    }
}

/// Settings of the arena-rank preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArenaRankOptions {
    /// Whether pairs of models are weighted by 1 / max(battles of the pair, 50).
    /// The program's own default is no without features and yes with them.
    pub reweighted: bool,
    /// Coverage that the intervals are meant to have.
    pub level: f64,
    /// Penalty ½ · `ridge_coefficients` · ‖β‖² on the *mean* loss, with features only.
    pub ridge_coefficients: f64,
}

impl ArenaRankOptions {
    /// The program's defaults for comparisons without features.
    pub fn plain() -> Self {
        Self {
            reweighted: false,
            level: 0.95,
            ridge_coefficients: 1.0,
        }
    }

    /// The program's defaults for comparisons with features.
    pub fn contextual() -> Self {
        Self {
            reweighted: true,
            ..Self::plain()
        }
    }
}

const EARLY_STOP: &str = "The program stops its solver early; these are the optima that it stops short of, by up to 0.4 points among frequent models and far more for rare ones.";
const NOT_THEIR_STREAM: &str = "The rounds are not the program's own: its random numbers cannot be repeated, so the ends agree in distribution only.";
const HUNDRED_ROUNDS: &str =
    "The ends of a percentile interval from 100 rounds are off by about a tenth of its width.";
const RIDGE: &str = "The penalty on strengths pulls every model towards the mean, rare ones most, and gives even a model that never lost a finite rating that the battles do not support.";
const CENTRED: &str = "Centred features add an advantage of side A, so the ratings depend on which model was stored as side A.";
const MERGED: &str =
    "Groups of models that never met stand on one scale, although nothing ties them together.";
const FREE_ANCHOR: &str = "The small ridge on the Hessian stands in for an anchor: the intervals are too narrow, most of all for rare models and for large numbers of battles.";
const REWEIGHTED: &str =
    "Weighting by pair changes what is estimated: it is not a correction of the unweighted rating.";
const MEAN_RIDGE: &str = "The penalty is on the mean loss, so it does not fade with more battles: the coefficients are several times too small, and style is hardly controlled.";
const RIDGE_LEFT_OUT: &str = "The intervals leave the penalty out of the Hessian, and take a vanishing part of it out of the gradient's covariance.";

/// The board of FastChat as of April 2025, at the optimum of its objective.
///
/// Without features: maximum likelihood, percentile intervals from a multinomial bootstrap of the counts.
/// With features: penalty ½ · 0.5 · (‖r‖² + ‖β‖²) on the summed loss, rating = 1000 + 400 r, bootstrap of rows.
/// Features are given as FastChat makes them: [`DifferenceRule::PlusOne`](crate::style_control::DifferenceRule::PlusOne)
/// and [`Scaling::Centred`](crate::style_control::Scaling::Centred). Weights of battles stay as they are; FastChat has
/// none.
///
/// # Errors
///
/// [`Error::NoBattles`]; [`Error::Option`]; [`Error::AnchorNotRated`] for a baseline without battles; without features,
/// [`Error::NotConnected`] where no optimum exists (FastChat then reports wherever its solver stopped, which cannot be
/// repeated); the errors of [`fit()`](crate::fit()).
///
/// # Examples
///
/// ```
/// use agon_ranking::presets::{FastChatOptions, fastchat};
/// use agon_ranking::{Comparison, Comparisons};
///
/// let comparisons = Comparisons::new(
///     2,
///     [Comparison::new(0, 1, 1.0).with_count(75), Comparison::new(0, 1, 0.0).with_count(25)],
/// )?;
/// let board = fastchat(&comparisons, &FastChatOptions::default())?;
/// assert!((board.entries[0].rating - (1000.0 + 200.0 * 3.0_f64.log10())).abs() < 1e-9);
/// assert!(!board.warnings.is_empty());
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn fastchat(
    comparisons: &Comparisons,
    options: &FastChatOptions,
) -> Result<PresetBoard, Error> {
    critical_value(options.level)?;
    let bootstrap = BootstrapOptions {
        resampling: Resampling::Battles,
        ..options.bootstrap
    };
    let points = LeaderboardOptions::default().points_per_nat();
    let n_models = comparisons.n_models();
    let width = n_models;
    let mut warnings = vec![EARLY_STOP, NOT_THEIR_STREAM];
    if bootstrap.rounds <= 100 {
        warnings.push(HUNDRED_ROUNDS);
    }
    let mut ratings = vec![f64::NAN; n_models];
    // Ratings by round, models without a finite one as NaN.
    let mut rounds = vec![f64::NAN; bootstrap.rounds * width];
    let mut coefficients = Vec::new();
    if comparisons.n_features() > 0 {
        warnings.extend([RIDGE, CENTRED]);
        let ln_10 = std::f64::consts::LN_10;
        let ridge = FitOptions {
            ridge_strengths: 0.5 / (ln_10 * ln_10),
            ridge_coefficients: 0.5,
            ..FitOptions::default()
        };
        let estimate = fit(comparisons, &ridge)?;
        let drawn = resample(comparisons, &estimate, &ridge, &bootstrap)?;
        for model in 0..n_models {
            ratings[model] = 1000.0 + points * estimate.strengths[model];
            for (round, strength) in drawn.ratings_of(model).enumerate() {
                rounds[round * width + model] =
                    strength.map_or(f64::NAN, |strength| 1000.0 + points * strength);
            }
        }
        coefficients = estimate.coefficients;
    } else {
        let groups = groups(comparisons)?;
        if groups.len() > 1 {
            warnings.push(MERGED);
        }
        for group in &groups {
            let n = group.models.len();
            let mut drawn = resample(
                &group.comparisons,
                &group.fit,
                &FitOptions::default(),
                &bootstrap,
            )?;
            drawn.measure_from(&group.fit.strengths, &vec![1.0; n], 0.0, 1000.0, points);
            for (position, &model) in group.models.iter().enumerate() {
                ratings[model] = 1000.0 + points * group.fit.strengths[position];
                for (round, rating) in drawn.ratings_of(position).enumerate() {
                    rounds[round * width + model] = rating.unwrap_or(f64::NAN);
                }
            }
        }
    }
    if let Some((model, rating)) = options.baseline {
        if !rating.is_finite() {
            return Err(Error::Option {
                option: "baseline rating",
                value: rating,
                expected: "a finite number",
            });
        }
        if comparisons.record(model).battles == 0 {
            return Err(Error::AnchorNotRated { model });
        }
        for row in std::iter::once(&mut ratings[..]).chain(rounds.chunks_exact_mut(width)) {
            let shift = rating - row[model];
            for value in row {
                *value += shift;
            }
        }
    }

    let present = (0..n_models).filter(|&model| comparisons.record(model).battles > 0);
    let present: Vec<usize> = present.collect();
    let degenerate = rounds
        .chunks_exact(width)
        .filter(|row| present.iter().any(|&model| !row[model].is_finite()));
    let degenerate_share = degenerate.count() as f64 / bootstrap.rounds as f64;
    let entries = present.iter().map(|&model| {
        let column = rounds.iter().skip(model).step_by(width);
        let values = column.copied().filter(|value| value.is_finite()).collect();
        let interval = interval_of(values, options.level);
        PresetEntry {
            model,
            rating: ratings[model],
            interval: interval.map(|interval| (interval.lower, interval.upper)),
            variance: interval.map(|interval| interval.standard_error.powi(2)),
        }
    });
    Ok(PresetBoard {
        entries: ordered(entries.collect()),
        coefficients,
        degenerate_share,
        warnings,
    })
}

/// The board of arena-rank 0.1.1, at the optimum of its objective.
///
/// Without features: maximum likelihood; intervals from (H + λI)⁻¹ B (H + λI)⁻¹ without an anchor, λ = 1e-5 · N, or 1e-5
/// as soon as battles are weighted. With features: a penalty on the mean loss, and λ = 1e-5 · N on all of H, from which
/// the penalty is left out. Features are given as its examples make them:
/// [`DifferenceRule::ZeroWhenEmpty`](crate::style_control::DifferenceRule::ZeroWhenEmpty) and
/// [`Scaling::Centred`](crate::style_control::Scaling::Centred).
///
/// # Errors
///
/// [`Error::NoBattles`]; [`Error::Option`]; [`Error::NotConnected`] where no optimum exists, or, with features, where
/// groups never met (arena-rank then reports wherever its solver stopped); the errors of [`fit()`](crate::fit()).
///
/// # Examples
///
/// ```
/// use agon_ranking::presets::{ArenaRankOptions, arena_rank};
/// use agon_ranking::{Comparison, Comparisons};
///
/// let comparisons = Comparisons::new(
///     2,
///     [Comparison::new(0, 1, 1.0).with_count(75), Comparison::new(0, 1, 0.0).with_count(25)],
/// )?;
/// let board = arena_rank(&comparisons, &ArenaRankOptions::plain())?;
/// assert!((board.entries[0].rating - (1000.0 + 200.0 * 3.0_f64.log10())).abs() < 1e-9);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn arena_rank(
    comparisons: &Comparisons,
    options: &ArenaRankOptions,
) -> Result<PresetBoard, Error> {
    /// `hessian_reg` of the program.
    const HESSIAN_RIDGE: f64 = 1e-5;
    /// `min_pair_count` of the program.
    const PAIR_BATTLES_MIN: u64 = 50;
    let critical = critical_value(options.level)?;
    if comparisons.is_empty() {
        return Err(Error::NoBattles);
    }
    let reweighted;
    let mut used = comparisons;
    let mut warnings = vec![EARLY_STOP, FREE_ANCHOR];
    if options.reweighted {
        warnings.push(REWEIGHTED);
        reweighted = comparisons.reweighted_by_pair(PAIR_BATTLES_MIN);
        used = &reweighted;
    }
    let battles = used.n_battles() as f64;
    let mut parts = Vec::new();
    let mut coefficients = Vec::new();
    let ridge;
    if used.n_features() > 0 {
        if options.ridge_coefficients > 0.0 {
            warnings.extend([MEAN_RIDGE, RIDGE_LEFT_OUT]);
        }
        warnings.push(CENTRED);
        // Weights are brought to mean 1, so that the penalty on the mean loss is N times as large on the summed one.
        let scaled = scaled(used, battles / used.total_weight())?;
        let on_sum = FitOptions {
            ridge_coefficients: options.ridge_coefficients * battles,
            ..FitOptions::default()
        };
        let fit = fit(&scaled, &on_sum)?;
        let n_models = fit.strengths.len();
        let n = n_models + fit.coefficients.len();
        let mut hessian = fit.information.matrix();
        let mut unpenalised = fit.clone();
        unpenalised.penalty_gradient.fill(0.0);
        let mut meat = squared_scores(&unpenalised, &scaled, NonZeroUsize::MIN);
        for row in 0..n {
            hessian.add(row, row, HESSIAN_RIDGE * battles);
            if row >= n_models {
                hessian.add(row, row, -on_sum.ridge_coefficients);
                for column in n_models..n {
                    let product =
                        fit.coefficients[row - n_models] * fit.coefficients[column - n_models];
                    meat.add(
                        row,
                        column,
                        -options.ridge_coefficients * options.ridge_coefficients * product,
                    );
                }
            }
        }
        coefficients.clone_from(&fit.coefficients);
        parts.push(((0..n_models).collect::<Vec<_>>(), fit, hessian, meat));
        ridge = HESSIAN_RIDGE * battles;
    } else {
        let weighted = used.weights().is_some();
        ridge = if weighted {
            HESSIAN_RIDGE
        } else {
            HESSIAN_RIDGE * battles
        };
        let groups = groups(used)?;
        if groups.len() > 1 {
            warnings.push(MERGED);
        }
        for group in groups {
            let mut hessian = group.fit.information.matrix();
            for row in 0..hessian.n() {
                hessian.add(row, row, ridge);
            }
            let meat = squared_scores(&group.fit, &group.comparisons, NonZeroUsize::MIN);
            parts.push((group.models, group.fit, hessian, meat));
        }
    }

    let points = LeaderboardOptions::default().points_per_nat();
    let mut entries = Vec::new();
    for (models, fit, hessian, meat) in parts {
        let variances = variances(hessian, &meat, models.len(), ridge)?;
        for (position, &model) in models.iter().enumerate() {
            let rating = 1000.0 + points * fit.strengths[position];
            let variance = variances[position] * points * points;
            let half = critical * variance.sqrt();
            entries.push(PresetEntry {
                model,
                rating,
                interval: Some((rating - half, rating + half)),
                variance: Some(variance),
            });
        }
    }
    Ok(PresetBoard {
        entries: ordered(entries),
        coefficients,
        degenerate_share: 0.0,
        warnings,
    })
}

/// Models that met, with the battles among them and their fit.
struct FittedGroup {
    models: Vec<usize>,
    comparisons: Comparisons,
    fit: Fit,
}

/// A fit for each group that met; both programs put them side by side, the mean of each at 0.
fn groups(comparisons: &Comparisons) -> Result<Vec<FittedGroup>, Error> {
    if comparisons.is_empty() {
        return Err(Error::NoBattles);
    }
    let components = Components::of(comparisons);
    if components.strong.len() != components.connected.len() {
        return Err(Error::NotConnected {
            connected: components.connected.len(),
            strong: components.strong.len(),
        });
    }
    let groups = components.connected.into_iter().map(|models| {
        let comparisons = comparisons.among(&models);
        let fit = fit_connected(&comparisons, &FitOptions::default())?;
        Ok(FittedGroup {
            models,
            comparisons,
            fit,
        })
    });
    groups.collect()
}

/// The same comparisons with all weights multiplied.
fn scaled(comparisons: &Comparisons, factor: f64) -> Result<Comparisons, Error> {
    let mut rows: Vec<Comparison> = Vec::with_capacity(comparisons.n_cells());
    let mut features = Vec::new();
    append(comparisons, factor, &mut rows, &mut features);
    let columns = Columns {
        n_features: comparisons.n_features(),
        features: &features,
        clusters: comparisons.clusters(),
    };
    Comparisons::with_columns(comparisons.n_models(), &rows, columns)
}

/// Diagonal of (H + λI)⁻¹ B (H + λI)⁻¹, given the lower triangle of H + λI and a full B.
///
/// Adding a number to all strengths changes no battle, so neither H nor B sees that direction, and (H + λI)⁻¹ has 1 / λ
/// there. It is taken out before the product: B would take it out too, but at the price of half the digits.
fn variances(
    mut hessian: Matrix,
    meat: &Matrix,
    n_models: usize,
    ridge: f64,
) -> Result<Vec<f64>, Error> {
    hessian.factor().map_err(|_| Error::Singular)?;
    let mut bread = hessian.inverse();
    for column in 0..n_models {
        for row in 0..n_models {
            bread.add(row, column, -1.0 / (ridge * n_models as f64));
        }
    }
    let covariance = bread.sandwich(meat);
    Ok((0..covariance.n())
        .map(|idx| covariance.get(idx, idx).max(0.0))
        .collect())
}

fn ordered(mut entries: Vec<PresetEntry>) -> Vec<PresetEntry> {
    entries.sort_by(|x, y| {
        y.rating
            .total_cmp(&x.rating)
            .then_with(|| x.model.cmp(&y.model))
    });
    entries
}
