//! Comparisons in, leaderboard out: who can be rated, how well they are known, and which places that supports.

mod entries;
mod obstacles;
mod parts;

use std::borrow::Cow;
use std::num::NonZeroUsize;

use crate::Error;
use crate::bradley_terry::{Fit, FitOptions, Start, fit_connected_from};
use crate::comparisons::{Comparisons, Record};
use crate::covariance::{Covariance, CovarianceMethod};
use crate::interval::{Anchor, critical_value};
use crate::linear_algebra::Matrix;
use entries::{Scale, provisional_entries, rated_entries};
use parts::{Part, Parts};

/// How ratings are scaled, anchored and bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeaderboardOptions {
    /// Rating difference at which the odds are `base` to 1.
    pub scale: f64,
    /// See `scale`.
    pub base: f64,
    /// The rating of the location that [`Anchor`] names.
    pub init: f64,
    /// Coverage of the intervals, between 0 and 1.
    pub level: f64,
    /// What ratings and their intervals are measured from.
    pub anchor: Anchor,
    /// Models with fewer battles are shown as provisional. They stay in the fit: only the display changes.
    pub min_battles: u64,
    /// Where the intervals come from.
    pub covariance: CovarianceMethod,
    /// How the rated models are fitted.
    pub fit: FitOptions,
    /// Threads to work on. Their number changes no bit of the result.
    pub n_threads: NonZeroUsize,
}

impl Default for LeaderboardOptions {
    /// The arena's scale (400 points are odds of 10 to 1, the mean is 1000), 95 % intervals from the sandwich,
    /// no smallest number of battles,
    /// one thread.
    fn default() -> Self {
        Self {
            scale: 400.0,
            base: 10.0,
            init: 1000.0,
            level: 0.95,
            anchor: Anchor::default(),
            min_battles: 0,
            covariance: CovarianceMethod::default(),
            fit: FitOptions::default(),
            n_threads: NonZeroUsize::MIN,
        }
    }
}

impl LeaderboardOptions {
    /// Rating points for one nat of strength: scale / ln base.
    pub fn points_per_nat(&self) -> f64 {
        self.scale / self.base.ln()
    }
}

/// Battles among the rated models that a model needs to be one of them: a single one leaves no residual to judge it by.
const RATED_BATTLES_MIN: u64 = 2;

/// Everything that comparisons say about their models.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaderboard {
    /// One board for each group of models that met, directly or through others.
    ///
    /// Never empty. The first is the main one: most battles in its fit, then most models, then the first model.
    /// Ratings of different boards cannot be compared.
    pub boards: Vec<Board>,
    /// Models without any battle, in ascending order. Nothing can be said about them.
    pub without_battles: Vec<usize>,
}

impl Leaderboard {
    /// The main board.
    pub fn main(&self) -> &Board {
        &self.boards[0]
    }

    /// Whether every model that has a battle met every other, directly or through others.
    pub fn is_connected(&self) -> bool {
        self.boards.len() == 1
    }
}

/// The models of one group that met.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// Rated models from the highest rating down, then provisional ones likewise.
    pub entries: Vec<Entry>,
    /// The fit behind the ratings; `None` when nobody can be rated.
    pub fitted: Option<Fitted>,
    /// Why nobody is rated; `None` when somebody is.
    pub unrated: Option<UnratedReason>,
    /// Estimates for the features in the fit, in their order; empty when there are none or nobody is rated.
    pub coefficients: Vec<Coefficient>,
    /// Features that had to be left out, in the order in which they were.
    pub dropped: Vec<DroppedFeature>,
    /// All battles of the group.
    pub battles: u64,
    /// Number of parts inside which models scored both ways. More than 1 means that some outcomes are separated:
    /// models outside the main part cannot be rated.
    pub strong_components: usize,
}

/// The fit behind a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Indices of the models in the fit, ascending: strength `i` of the fit is that of model `models[i]`.
    pub models: Vec<usize>,
    /// Indices of the features in the fit, ascending: coefficient `i` of the fit is that of feature `features[i]`.
    ///
    /// All of them, unless some had to be left out; [`Fitted::comparisons`] makes the comparisons that belong to the fit.
    pub features: Vec<usize>,
    /// Strengths in nats with mean 0, coefficients and the certificate of convergence.
    pub fit: Fit,
    /// Covariance in nats under the anchor in use, numbered like the fit.
    pub covariance: Covariance,
    /// The strength whose rating is `origin`.
    pub location: f64,
    /// Rating of the location: the initial rating, or the anchor model's.
    pub origin: f64,
    /// Battles in the fit: those of the models among themselves.
    pub battles: u64,
    /// Battles of each model in the fit, numbered like the fit.
    pub battles_of: Vec<u64>,
}

impl Fitted {
    /// The comparisons of the fit: battles of its models among themselves, with its features, numbered like the fit.
    ///
    /// `all` are those that the leaderboard was made from, with all features or with those of the fit only.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when they lack a model or a feature of the fit.
    pub fn comparisons(&self, all: &Comparisons) -> Result<Comparisons, Error> {
        let reduced = all.n_features() == self.features.len();
        let n_features = match self.features.last() {
            Some(&last) if !reduced => last + 1,
            _ => self.features.len(),
        };
        let n_models = self.models.last().map_or(0, |&last| last + 1);
        if all.n_models() < n_models || all.n_features() < n_features {
            return Err(Error::Length {
                found: all.n_models() + all.n_features(),
                expected: n_models + n_features,
            });
        }
        let inside = all.among(&self.models);
        Ok(if reduced {
            inside
        } else {
            inside.with_features(&self.features)
        })
    }
}

/// One model on a board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Index of the model.
    pub model: usize,
    /// Rating in points.
    pub rating: f64,
    /// Interval of the rating; `None` where it cannot be estimated, which is not an interval without width.
    pub interval: Option<Interval>,
    /// Places among the rated models; `None` for a provisional model.
    pub rank: Option<Rank>,
    /// What happened to the model in all its battles.
    pub record: Record,
    /// Whether the rating is one, or a guess.
    pub status: Status,
}

/// An interval around a rating, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// The standard error it was made of.
    pub standard_error: f64,
}

/// Whether a model is rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has a finite best estimate from its battles alone.
    Rated,
    /// It has not, or not enough battles. Its rating and interval are those of [`ProvisionalReason`].
    Provisional {
        /// Why.
        reason: ProvisionalReason,
        /// About how many more votes it takes until it is rated.
        votes_needed: u64,
    },
}

/// Why a model is provisional.
///
/// Where no finite best estimate exists, the rating is one given the rated models under a weak prior,
/// half a win and half a loss against their mean, and the interval is the normal approximation around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProvisionalReason {
    /// It has one battle only, or one only with the rated models. If that was a tie, its rating is that of the fit, and
    /// it has no interval: one battle leaves no residual to judge it by.
    SingleBattle,
    /// It never lost and never tied.
    Undefeated,
    /// It never won and never tied.
    Winless,
    /// It belongs to a group that has only won, or only lost, against the rated models.
    OtherGroup,
    /// It has fewer battles than asked for. Rating and interval come from the fit.
    FewBattles,
    /// Results against the rated models go both ways, but those of one way are so few beside the others that no fit in
    /// double precision finds where it stands.
    WeaklyTied,
}

/// A feature that is not in a fit, as no fit with it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedFeature {
    /// Index of the feature.
    pub feature: usize,
    /// Why.
    pub reason: DropReason,
}

/// Why a feature is not in a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It is always 0, or a combination of the models and the features before it: it carries no information of its own.
    Collinear,
    /// Together with the rest of the model it predicts outcomes without exception: its coefficient has no finite estimate
    /// (Albert & Anderson 1984).
    Separates,
}

/// Why a board rates nobody.
#[derive(Clone, Debug, PartialEq)]
pub enum UnratedReason {
    /// The group has one battle only.
    OneBattle,
    /// All results point one way: no models have scored both ways, directly or through others, by more than one tie.
    OneWay,
    /// No part of the group can be rated in double precision, not even without features.
    NotFitted(Error),
}

/// The places that a model's interval supports, 1 for the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The published place: 1 + the number of models whose lower end lies above this upper end.
    pub rank: usize,
    /// Best place the intervals allow, which is the same number.
    pub upper: usize,
    /// Worst place the intervals allow: 1 + the number of other models whose upper end lies above this lower end.
    pub lower: usize,
}

/// A feature's coefficient: log-odds for one unit of the feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Index of the feature.
    pub feature: usize,
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end of its interval.
    pub upper: f64,
}

/// Places from intervals: rank = 1 + #{j : lower_j > upper_i}, strict.
///
/// The arena's rule, which ties and skips (1, 1, 3, 3, 5); for places that hold together see Mogstad et al. 2024.
/// A model without an interval can be anywhere. Intervals are `(lower, upper)`.
///
/// # Examples
///
/// ```
/// use agon_ranking::ranks;
///
/// let places = ranks(&[Some((1000.0, 1010.0)), Some((990.0, 1000.0)), Some((960.0, 980.0))]);
/// assert_eq!(places.iter().map(|place| place.rank).collect::<Vec<_>>(), [1, 1, 3]);
/// ```
pub fn ranks(intervals: &[Option<(f64, f64)>]) -> Vec<Rank> {
    let bounds =
        |interval: &Option<(f64, f64)>| interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let sorted = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let lowers = sorted(
        intervals
            .iter()
            .map(|interval| bounds(interval).0)
            .collect(),
    );
    let uppers = sorted(
        intervals
            .iter()
            .map(|interval| bounds(interval).1)
            .collect(),
    );
    let above =
        |values: &[f64], limit: f64| values.len() - values.partition_point(|&value| value <= limit);
    intervals
        .iter()
        .map(|interval| {
            let (lower, upper) = bounds(interval);
            let rank = 1 + above(&lowers, upper);
            // The model's own upper end is among those above its lower end, unless the interval has no width.
            let itself = usize::from(upper > lower);
            Rank {
                rank,
                upper: rank,
                lower: 1 + above(&uppers, lower) - itself,
            }
        })
        .collect()
}

/// Computes all boards.
///
/// 1. Models are grouped by who met whom; each group is a board of its own.
/// 2. In each group the part with most battles in which every model has scored against every other, directly or
///    through others, is rated: there, and only there, a finite maximum exists (Ford 1957). A model tied to it by a
///    single battle is placed by the fit but not rated, and has no say in the location, as one battle leaves no
///    residual to judge it by.
///    Only battles among the rated models enter the fit, so nobody else can move them.
/// 3. All others are provisional: see [`ProvisionalReason`].
/// 4. A feature that cannot be in the fit is left out and named ([`Board::dropped`]). Models that no fit in double
///    precision places are provisional ([`ProvisionalReason::WeaklyTied`]); odds of a million to one in a row are no such
///    case.
/// 5. Intervals come from the covariance under the anchor in use, places from the intervals.
///
/// With [`Anchor::Model`], boards that the model is not on have the mean of their rated models at `init`.
///
/// # Errors
///
/// [`Error::NoBattles`]; [`Error::Option`]; [`Error::AnchorNotRated`]; [`Error::NoClusters`].
///
/// # Examples
///
/// Model 2 has beaten both others and never lost. It moves nobody.
///
/// ```
/// use agon_ranking::{Comparison, Comparisons, LeaderboardOptions, ProvisionalReason, Status, leaderboard};
///
/// let comparisons = Comparisons::new(
///     3,
///     [
///         Comparison::new(0, 1, 1.0).with_count(9),
///         Comparison::new(0, 1, 0.0).with_count(1),
///         Comparison::new(2, 0, 1.0).with_count(2),
///         Comparison::new(2, 1, 1.0).with_count(2),
///     ],
/// )?;
/// let board = leaderboard(&comparisons, &LeaderboardOptions::default())?;
/// let first = board.main().entries[0];
/// assert_eq!(first.model, 0);
/// assert!((first.rating - (1000.0 + 200.0 * 9.0_f64.log10())).abs() < 1e-9);
/// let last = board.main().entries[2];
/// assert!(matches!(last.status, Status::Provisional { reason: ProvisionalReason::Undefeated, .. }));
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn leaderboard(
    comparisons: &Comparisons,
    options: &LeaderboardOptions,
) -> Result<Leaderboard, Error> {
    compute(comparisons, options, None)
}

/// Computes all boards as [`leaderboard()`] does, with fits that start at those of an earlier leaderboard.
///
/// For a running arena: after one more vote two cheap steps reach the new optimum. Models may have been added since, as
/// long as those that were there keep their indices. The optimum and its certificate are the same, so ratings agree with
/// those of [`leaderboard()`] to about 1e-9 points; the last bits depend on the start.
///
/// # Errors
///
/// As [`leaderboard()`].
///
/// # Examples
///
/// ```
/// use agon_ranking::{Comparison, Comparisons, LeaderboardOptions, leaderboard, leaderboard_from};
///
/// let mut rows = vec![
///     Comparison::new(0, 1, 1.0).with_count(60),
///     Comparison::new(0, 1, 0.0).with_count(40),
/// ];
/// let options = LeaderboardOptions::default();
/// let before = leaderboard(&Comparisons::new(2, rows.clone())?, &options)?;
/// rows.push(Comparison::new(0, 1, 0.5));
/// let comparisons = Comparisons::new(2, rows)?;
/// let after = leaderboard_from(&before, &comparisons, &options)?;
/// let expected = leaderboard(&comparisons, &options)?;
/// assert!((after.main().entries[0].rating - expected.main().entries[0].rating).abs() < 1e-9);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn leaderboard_from(
    previous: &Leaderboard,
    comparisons: &Comparisons,
    options: &LeaderboardOptions,
) -> Result<Leaderboard, Error> {
    compute(comparisons, options, Some(previous))
}

/// Where the fit of some models and features can start: their earlier values, 0 for those that had none.
///
/// Further the inverse of the information there, when it is about the same models and features.
fn start_of<'a>(
    previous: &'a Leaderboard,
    models: &[usize],
    features: &[usize],
) -> (Start, Option<&'a Matrix>) {
    let mut start = Start {
        strengths: vec![0.0; models.len()],
        coefficients: vec![0.0; features.len()],
    };
    let mut inverse = None;
    for fitted in previous
        .boards
        .iter()
        .filter_map(|board| board.fitted.as_ref())
    {
        let mut known = false;
        for (&model, &strength) in fitted.models.iter().zip(&fitted.fit.strengths) {
            if let Ok(position) = models.binary_search(&model) {
                start.strengths[position] = strength;
                known = true;
            }
        }
        if !known {
            continue;
        }
        for (&feature, &coefficient) in fitted.features.iter().zip(&fitted.fit.coefficients) {
            if let Ok(position) = features.binary_search(&feature) {
                start.coefficients[position] = coefficient;
            }
        }
        if fitted.models == models && fitted.features == features {
            inverse = fitted.covariance.inverse_information();
        }
    }
    (start, inverse)
}

fn compute(
    comparisons: &Comparisons,
    options: &LeaderboardOptions,
    previous: Option<&Leaderboard>,
) -> Result<Leaderboard, Error> {
    check_scale(options.scale, options.base)?;
    if !options.init.is_finite() {
        return Err(Error::Option {
            option: "init",
            value: options.init,
            expected: "a finite number",
        });
    }
    let critical = critical_value(options.level)?;
    if comparisons.is_empty() {
        return Err(Error::NoBattles);
    }
    if let Anchor::Model { model, rating } = options.anchor {
        if !rating.is_finite() {
            return Err(Error::Option {
                option: "anchor rating",
                value: rating,
                expected: "a finite number",
            });
        }
        if comparisons.record(model).battles == 0 {
            return Err(Error::AnchorNotRated { model });
        }
    }

    let parts = Parts::of(comparisons);
    let mut boards = Vec::with_capacity(parts.groups.len());
    for (position, part) in parts.groups.iter().enumerate() {
        boards.push(board(
            comparisons,
            part,
            position == 0,
            options,
            critical,
            previous,
        )?);
    }
    let without_battles = (0..comparisons.n_models())
        .filter(|&model| comparisons.record(model).battles == 0)
        .collect();
    Ok(Leaderboard {
        boards,
        without_battles,
    })
}

/// Refuses constants that make no scale.
pub(crate) fn check_scale(scale: f64, base: f64) -> Result<(), Error> {
    if !(scale.is_finite() && scale > 0.0) {
        return Err(Error::Option {
            option: "scale",
            value: scale,
            expected: "a finite number above 0",
        });
    }
    if !(base.is_finite() && base > 1.0) {
        return Err(Error::Option {
            option: "base",
            value: base,
            expected: "a finite number above 1",
        });
    }
    Ok(())
}

fn board(
    comparisons: &Comparisons,
    part: &Part,
    is_main: bool,
    options: &LeaderboardOptions,
    critical: f64,
    previous: Option<&Leaderboard>,
) -> Result<Board, Error> {
    let mut unrated = None;
    let mut fitted = None;
    let mut dropped = Vec::new();
    let mut weakly_tied = Vec::new();
    let mut used = Cow::Borrowed(comparisons);
    if part.rated.is_empty() {
        unrated = Some(if part.battles > 1 {
            UnratedReason::OneWay
        } else {
            UnratedReason::OneBattle
        });
    } else {
        match obstacles::fit_what_can_be(comparisons, part, options, previous) {
            Ok(outcome) => {
                fitted = Some(outcome.fitted);
                dropped = outcome.dropped;
                weakly_tied = outcome.weakly_tied;
                if let Some(fewer) = outcome.fewer_features {
                    used = Cow::Owned(fewer);
                }
            }
            Err(
                error @ (Error::Singular
                | Error::NotConverged { .. }
                | Error::CollinearFeature { .. }),
            ) => unrated = Some(UnratedReason::NotFitted(error)),
            Err(error) if is_main => return Err(error),
            Err(error) => unrated = Some(UnratedReason::NotFitted(error)),
        }
    }
    let comparisons = &*used;
    if let Anchor::Model { model, .. } = options.anchor {
        let rated = fitted
            .as_ref()
            .is_some_and(|fitted| fitted.models.contains(&model));
        if part.models.contains(&model) && !rated {
            return Err(Error::AnchorNotRated { model });
        }
    }

    let scale = Scale {
        points_per_nat: options.points_per_nat(),
        location: fitted.as_ref().map_or(0.0, |fitted| fitted.location),
        origin: fitted.as_ref().map_or(options.init, |fitted| fitted.origin),
        critical,
    };
    let mut entries = Vec::with_capacity(part.models.len());
    if let Some(fitted) = &fitted {
        rated_entries(
            comparisons,
            fitted,
            &scale,
            options.min_battles,
            &mut entries,
        );
    }
    provisional_entries(
        comparisons,
        part,
        fitted.as_ref(),
        &weakly_tied,
        &scale,
        options.min_battles,
        &mut entries,
    )?;
    entries.sort_by(|x, y| {
        let provisional = |entry: &Entry| entry.status != Status::Rated;
        provisional(x)
            .cmp(&provisional(y))
            .then_with(|| y.rating.total_cmp(&x.rating))
            .then_with(|| x.model.cmp(&y.model))
    });

    let coefficients = fitted.as_ref().map_or_else(Vec::new, |fitted| {
        let estimates = fitted.fit.coefficients.iter().zip(&fitted.features);
        estimates
            .enumerate()
            .map(|(position, (&estimate, &feature))| {
                let standard_error = fitted
                    .covariance
                    .coefficient_error(position)
                    .unwrap_or(f64::INFINITY);
                let half = critical * standard_error;
                Coefficient {
                    feature,
                    estimate,
                    standard_error,
                    lower: estimate - half,
                    upper: estimate + half,
                }
            })
            .collect()
    });
    Ok(Board {
        entries,
        fitted,
        unrated,
        coefficients,
        dropped,
        battles: part.battles,
        strong_components: part.strong_components,
    })
}

/// Fits the battles among the rated models, numbered by their position in `rated`; features likewise.
fn fit_part(
    inside: &Comparisons,
    rated: &[usize],
    features: &[usize],
    options: &LeaderboardOptions,
    previous: Option<&Leaderboard>,
) -> Result<Fitted, Error> {
    let battles_of: Vec<u64> = (0..rated.len())
        .map(|model| inside.record(model).battles)
        .collect();
    let start = previous.map(|previous| start_of(previous, rated, features));
    let fit = fit_connected_from(
        start.as_ref().map(|(start, _)| start),
        start.as_ref().and_then(|(_, inverse)| *inverse),
        inside,
        &options.fit,
        options.n_threads,
    )?;
    let mut origin = options.init;
    // A model tied in by a single battle is placed by the fit but not rated, so it has no say in where the ratings lie.
    let mut weights: Vec<f64> = battles_of
        .iter()
        .map(|&battles| match options.anchor {
            _ if battles < RATED_BATTLES_MIN => 0.0,
            Anchor::WeightedMean => battles as f64,
            Anchor::Mean | Anchor::Model { .. } => 1.0,
        })
        .collect();
    match options.anchor {
        Anchor::Mean | Anchor::WeightedMean => {}
        Anchor::Model { model, rating } => {
            if let Ok(position) = rated.binary_search(&model) {
                weights.fill(0.0);
                weights[position] = 1.0;
                origin = rating;
            }
        }
    }
    let covariance = Covariance::on_threads(&fit, inside, options.covariance, options.n_threads)?
        .anchored(&weights)?;
    let total: f64 = weights.iter().sum();
    let location = fit
        .strengths
        .iter()
        .zip(&weights)
        .map(|(strength, weight)| strength * weight)
        .sum::<f64>()
        / total;
    Ok(Fitted {
        models: rated.to_vec(),
        features: features.to_vec(),
        fit,
        covariance,
        location,
        origin,
        battles: inside.n_battles(),
        battles_of,
    })
}

#[cfg(test)]
mod tests;
