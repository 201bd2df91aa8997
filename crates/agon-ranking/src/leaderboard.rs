//! Comparisons in, leaderboard out: who can be rated, how well they are known, and which places that supports.

use std::borrow::Cow;

use crate::Error;
use crate::bradley_terry::{Fit, FitOptions, Start, fit_connected_from};
use crate::comparisons::{Comparisons, Record};
use crate::components::{Components, ScoreGraph};
use crate::interval::{Anchor, Covariance, CovarianceMethod, critical_value};
use crate::provisional::{self, Estimate, Known, Lack};

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
}

impl Default for LeaderboardOptions {
    /// The arena's scale (400 points are odds of 10 to 1, the mean is 1000), 95 % intervals from the sandwich,
    /// no smallest number of battles.
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
    /// Estimates for the features, in their order; empty when there are none or nobody is rated.
    pub coefficients: Vec<Coefficient>,
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
}

/// Why a board rates nobody.
#[derive(Clone, Debug, PartialEq)]
pub enum UnratedReason {
    /// The group has one battle only.
    OneBattle,
    /// All results point one way: no models have scored both ways, directly or through others, by more than one tie.
    OneWay,
    /// The group can be rated without features, but not with them. Never on the main board, where it is an error.
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
/// 4. Intervals come from the covariance under the anchor in use, places from the intervals.
///
/// With [`Anchor::Model`], boards that the model is not on have the mean of their rated models at `init`.
///
/// # Errors
///
/// [`Error::NoBattles`]; [`Error::Option`]; [`Error::AnchorNotRated`]; and for the main board the errors of
/// [`fit()`](crate::fit()) and [`Covariance::of`].
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

/// Where the fit of some models can start: their earlier strengths, 0 for those that had none.
fn start_of(previous: &Leaderboard, models: &[usize], n_features: usize) -> Start {
    let mut start = Start {
        strengths: vec![0.0; models.len()],
        coefficients: vec![0.0; n_features],
    };
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
        if known && fitted.fit.coefficients.len() == n_features {
            start.coefficients.clone_from(&fitted.fit.coefficients);
        }
    }
    start
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
    if comparisons.cells().is_empty() {
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

/// The groups that met, the main one first, each with the models that can be rated.
struct Parts {
    groups: Vec<Part>,
}

struct Part {
    /// All models of the group, ascending.
    models: Vec<usize>,
    /// Those that can be rated, ascending; empty when nobody can.
    rated: Vec<usize>,
    /// Battles among the rated.
    rated_battles: u64,
    /// All battles of the group.
    battles: u64,
    strong_components: usize,
}

impl Parts {
    fn of(comparisons: &Comparisons) -> Self {
        let components = Components::of(comparisons);
        let n_models = comparisons.n_models();
        let mut strong_of = vec![usize::MAX; n_models];
        for (idx, members) in components.strong.iter().enumerate() {
            for &model in members {
                strong_of[model] = idx;
            }
        }
        let inside = battles_inside(comparisons, &strong_of, components.strong.len());

        let mut groups: Vec<Part> = components
            .connected
            .into_iter()
            .map(|models| {
                let mut strong: Vec<usize> = models.iter().map(|&model| strong_of[model]).collect();
                strong.sort_unstable();
                strong.dedup();
                let battles = models
                    .iter()
                    .map(|&model| comparisons.record(model).battles)
                    .sum::<u64>()
                    / 2;
                let mut part = Part {
                    models,
                    rated: Vec::new(),
                    rated_battles: 0,
                    battles,
                    strong_components: strong.len(),
                };
                for idx in strong {
                    let members = &components.strong[idx];
                    let Inside { battles, models } = inside[idx];
                    // Strict, so that among equals the component with the first model stays.
                    if models > 1
                        && (battles, members.len()) > (part.rated_battles, part.rated.len())
                    {
                        part.rated.clone_from(members);
                        part.rated_battles = battles;
                    }
                }
                part
            })
            .collect();
        // A stable sort: equal groups stay in the order of their first models.
        groups.sort_by_key(|part| {
            std::cmp::Reverse((part.rated_battles, part.rated.len(), part.battles))
        });
        Self { groups }
    }
}

/// What happened inside a strong component.
#[derive(Clone, Copy, Default)]
struct Inside {
    battles: u64,
    /// Models with at least [`RATED_BATTLES_MIN`] battles inside. One alone has nobody to be rated against.
    models: usize,
}

/// Battles, and models that these can rate, inside each strong component.
fn battles_inside(
    comparisons: &Comparisons,
    strong_of: &[usize],
    n_components: usize,
) -> Vec<Inside> {
    let mut inside = vec![Inside::default(); n_components];
    let mut of_model = vec![0_u64; strong_of.len()];
    for cell in comparisons.cells() {
        let (i, j) = (cell.i as usize, cell.j as usize);
        let component = strong_of[i];
        if component == strong_of[j] && component < n_components {
            inside[component].battles = inside[component].battles.saturating_add(cell.count);
            for model in [i, j] {
                of_model[model] = of_model[model].saturating_add(cell.count);
            }
        }
    }
    for (model, &battles) in of_model.iter().enumerate() {
        if battles >= RATED_BATTLES_MIN {
            inside[strong_of[model]].models += 1;
        }
    }
    inside
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
    if part.rated.is_empty() {
        unrated = Some(if part.battles > 1 {
            UnratedReason::OneWay
        } else {
            UnratedReason::OneBattle
        });
    } else {
        match fit_part(comparisons, part, options, previous) {
            Ok(found) => fitted = Some(found),
            Err(error) if is_main => return Err(error),
            Err(error) => unrated = Some(UnratedReason::NotFitted(error)),
        }
    }
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
        let estimates = fitted.fit.coefficients.iter().enumerate();
        estimates
            .map(|(feature, &estimate)| {
                let standard_error = fitted
                    .covariance
                    .coefficient_error(feature)
                    .unwrap_or(f64::INFINITY);
                let half = critical * standard_error;
                Coefficient {
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
        battles: part.battles,
        strong_components: part.strong_components,
    })
}

fn fit_part(
    comparisons: &Comparisons,
    part: &Part,
    options: &LeaderboardOptions,
    previous: Option<&Leaderboard>,
) -> Result<Fitted, Error> {
    let inside = if part.rated.len() == comparisons.n_models() {
        Cow::Borrowed(comparisons)
    } else {
        Cow::Owned(comparisons.among(&part.rated))
    };
    let battles_of: Vec<u64> = (0..part.rated.len())
        .map(|model| inside.record(model).battles)
        .collect();
    let start = previous.map(|previous| start_of(previous, &part.rated, comparisons.n_features()));
    let fit = fit_connected_from(start.as_ref(), &inside, &options.fit)?;
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
            if let Ok(position) = part.rated.binary_search(&model) {
                weights.fill(0.0);
                weights[position] = 1.0;
                origin = rating;
            }
        }
    }
    let covariance = Covariance::of(&fit, &inside, options.covariance)?.anchored(&weights)?;
    let total: f64 = weights.iter().sum();
    let location = fit
        .strengths
        .iter()
        .zip(&weights)
        .map(|(strength, weight)| strength * weight)
        .sum::<f64>()
        / total;
    Ok(Fitted {
        models: part.rated.clone(),
        fit,
        covariance,
        location,
        origin,
        battles: part.rated_battles,
        battles_of,
    })
}

/// How strengths become ratings.
struct Scale {
    points_per_nat: f64,
    location: f64,
    origin: f64,
    critical: f64,
}

impl Scale {
    fn rating(&self, strength: f64) -> f64 {
        self.origin + self.points_per_nat * (strength - self.location)
    }

    fn interval(&self, rating: f64, error_nats: f64) -> Interval {
        let standard_error = self.points_per_nat * error_nats;
        let half = self.critical * standard_error;
        Interval {
            lower: rating - half,
            upper: rating + half,
            standard_error,
        }
    }
}

fn rated_entries(
    comparisons: &Comparisons,
    fitted: &Fitted,
    scale: &Scale,
    min_battles: u64,
    entries: &mut Vec<Entry>,
) {
    let start = entries.len();
    for (idx, &model) in fitted.models.iter().enumerate() {
        let rating = scale.rating(fitted.fit.strengths[idx]);
        let record = comparisons.record(model);
        let missing = min_battles.saturating_sub(record.battles);
        // Battles with models outside the fit do not count here: those must not change anybody's state.
        let status = match (missing, fitted.battles_of[idx]) {
            (_, ..RATED_BATTLES_MIN) => Status::Provisional {
                reason: ProvisionalReason::SingleBattle,
                votes_needed: missing.max(1),
            },
            (0, _) => Status::Rated,
            _ => Status::Provisional {
                reason: ProvisionalReason::FewBattles,
                votes_needed: missing,
            },
        };
        let interval = fitted
            .covariance
            .strength_error(idx)
            .map(|error| scale.interval(rating, error));
        entries.push(Entry {
            model,
            rating,
            interval,
            rank: None,
            record,
            status,
        });
    }
    let mut ranked: Vec<&mut Entry> = entries[start..]
        .iter_mut()
        .filter(|entry| entry.status == Status::Rated)
        .collect();
    let intervals: Vec<_> = ranked
        .iter()
        .map(|entry| {
            entry
                .interval
                .map(|interval| (interval.lower, interval.upper))
        })
        .collect();
    for (entry, rank) in ranked.iter_mut().zip(ranks(&intervals)) {
        entry.rank = Some(rank);
    }
}

fn provisional_entries(
    comparisons: &Comparisons,
    part: &Part,
    fitted: Option<&Fitted>,
    scale: &Scale,
    min_battles: u64,
    entries: &mut Vec<Entry>,
) -> Result<(), Error> {
    let rated: &[usize] = fitted.map_or(&[], |fitted| &fitted.models);
    let others: Vec<usize> = part
        .models
        .iter()
        .copied()
        .filter(|model| rated.binary_search(model).is_err())
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let mut strengths = vec![None; comparisons.n_models()];
    let mut coefficients: &[f64] = &[];
    if let Some(fitted) = fitted {
        for (&model, &strength) in fitted.models.iter().zip(&fitted.fit.strengths) {
            strengths[model] = Some(strength);
        }
        coefficients = &fitted.fit.coefficients;
    }
    let centre = match fitted {
        Some(fitted) => {
            fitted.fit.strengths.iter().sum::<f64>() / fitted.fit.strengths.len() as f64
        }
        None => 0.0,
    };
    let known = Known {
        strengths: &strengths,
        coefficients,
        centre,
    };
    let estimates = provisional::estimate(comparisons, &others, &known)?;
    let has_scored = ScoreGraph::reversed(comparisons).reachable_from(rated);
    let was_scored_against = ScoreGraph::of(comparisons).reachable_from(rated);
    for &Estimate {
        model,
        strength,
        error,
    } in &estimates
    {
        let record = comparisons.record(model);
        let lacks = match (has_scored[model], was_scored_against[model]) {
            // Nobody is rated although somebody tied: one more battle of any outcome is all that is missing.
            _ if record.ties > 0 && rated.is_empty() => Lack::Nothing,
            _ if record.battles == record.wins => Lack::Loss,
            _ if record.battles == record.losses => Lack::Score,
            (true, true) => Lack::Nothing,
            (true, false) => Lack::Loss,
            (false, true) => Lack::Score,
            (false, false) => Lack::Either,
        };
        let reason = if record.battles <= 1 {
            ProvisionalReason::SingleBattle
        } else if record.battles == record.wins {
            ProvisionalReason::Undefeated
        } else if record.battles == record.losses {
            ProvisionalReason::Winless
        } else {
            ProvisionalReason::OtherGroup
        };
        let votes = match fitted {
            Some(fitted) => {
                provisional::votes_until(lacks, strength, fitted.fit.strengths.iter().copied())
            }
            None => {
                let opponents = estimates.iter().filter(|other| other.model != model);
                provisional::votes_until(lacks, strength, opponents.map(|other| other.strength))
            }
        };
        let rating = scale.rating(strength);
        entries.push(Entry {
            model,
            rating,
            interval: Some(scale.interval(rating, error)),
            rank: None,
            record,
            status: Status::Provisional {
                reason,
                votes_needed: votes.max(min_battles.saturating_sub(record.battles)),
            },
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comparison;

    fn three_models() -> Comparisons {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(30),
            Comparison::new(0, 1, 0.0).with_count(20),
            Comparison::new(1, 2, 1.0).with_count(4),
            Comparison::new(1, 2, 0.0).with_count(2),
        ];
        Comparisons::new(4, rows).unwrap()
    }

    #[test]
    fn few_battles_change_the_display_and_not_the_fit() {
        let plain = leaderboard(&three_models(), &LeaderboardOptions::default()).unwrap();
        let options = LeaderboardOptions {
            min_battles: 50,
            ..LeaderboardOptions::default()
        };
        let strict = leaderboard(&three_models(), &options).unwrap();
        let last = strict.main().entries[2];
        assert_eq!(last.model, 2);
        let expected = Status::Provisional {
            reason: ProvisionalReason::FewBattles,
            votes_needed: 44,
        };
        assert_eq!((last.status, last.rank), (expected, None));
        for entry in &plain.main().entries {
            let other = strict
                .main()
                .entries
                .iter()
                .find(|other| other.model == entry.model)
                .unwrap();
            assert_eq!(
                (entry.rating, entry.interval),
                (other.rating, other.interval)
            );
        }
        assert_eq!(strict.without_battles, [3]);
    }

    #[test]
    fn only_rated_models_take_places() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(900),
            Comparison::new(0, 1, 0.0).with_count(100),
            Comparison::new(1, 2, 1.0).with_count(900),
            Comparison::new(1, 2, 0.0).with_count(100),
            Comparison::new(3, 0, 1.0).with_count(40),
        ];
        let board = leaderboard(
            &Comparisons::new(4, rows).unwrap(),
            &LeaderboardOptions::default(),
        )
        .unwrap();
        let places: Vec<_> = board
            .main()
            .entries
            .iter()
            .map(|entry| (entry.model, entry.rank.map(|rank| rank.rank)))
            .collect();
        assert_eq!(
            places,
            [(0, Some(1)), (1, Some(2)), (2, Some(3)), (3, None)]
        );
        assert_eq!(board.main().strong_components, 2);
        assert_eq!(
            (
                board.main().battles,
                board.main().fitted.as_ref().unwrap().battles
            ),
            (2040, 2000)
        );
    }

    #[test]
    fn an_anchor_that_is_not_rated_is_refused() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(2),
            Comparison::new(0, 1, 0.0),
            Comparison::new(2, 0, 1.0),
            Comparison::new(4, 5, 1.0),
            Comparison::new(4, 5, 0.0),
        ];
        let comparisons = Comparisons::new(6, rows).unwrap();
        let anchored = |model| {
            let anchor = Anchor::Model {
                model,
                rating: 1200.0,
            };
            leaderboard(
                &comparisons,
                &LeaderboardOptions {
                    anchor,
                    ..LeaderboardOptions::default()
                },
            )
        };
        // Provisional, without battles, unknown.
        for model in [2, 3, 6, usize::MAX] {
            assert_eq!(anchored(model), Err(Error::AnchorNotRated { model }));
        }
        let board = anchored(4).unwrap();
        // The anchor stands on the second board; the first keeps its mean at the initial rating.
        let sum: f64 = board.main().entries[..2]
            .iter()
            .map(|entry| entry.rating)
            .sum();
        assert!((sum - 2000.0).abs() < 1e-9);
        let anchor = board.boards[1]
            .entries
            .iter()
            .find(|entry| entry.model == 4)
            .unwrap();
        assert!((anchor.rating - 1200.0).abs() < 1e-9);
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let default = LeaderboardOptions::default();
        for options in [
            LeaderboardOptions {
                scale: 0.0,
                ..default
            },
            LeaderboardOptions {
                scale: f64::NAN,
                ..default
            },
            LeaderboardOptions {
                base: 1.0,
                ..default
            },
            LeaderboardOptions {
                init: f64::INFINITY,
                ..default
            },
            LeaderboardOptions {
                level: 95.0,
                ..default
            },
            LeaderboardOptions {
                anchor: Anchor::Model {
                    model: 0,
                    rating: f64::NAN,
                },
                ..default
            },
        ] {
            assert!(
                matches!(
                    leaderboard(&three_models(), &options),
                    Err(Error::Option { .. })
                ),
                "{options:?}"
            );
        }
    }

    #[test]
    fn scale_base_and_init_only_change_the_units() {
        let default = leaderboard(&three_models(), &LeaderboardOptions::default()).unwrap();
        let options = LeaderboardOptions {
            scale: 1.0,
            base: std::f64::consts::E,
            init: 0.0,
            ..LeaderboardOptions::default()
        };
        let nats = leaderboard(&three_models(), &options).unwrap();
        let points = 400.0 / 10.0_f64.ln();
        for (x, y) in default.main().entries.iter().zip(&nats.main().entries) {
            assert!((x.rating - 1000.0 - points * y.rating).abs() < 1e-9);
            let (x, y) = (
                x.interval.unwrap().standard_error,
                y.interval.unwrap().standard_error,
            );
            assert!((x - points * y).abs() < 1e-9);
        }
    }

    #[test]
    fn only_ties_leave_places_open() {
        let rows = [
            Comparison::new(0, 1, 0.5).with_count(4),
            Comparison::new(1, 2, 0.5).with_count(4),
        ];
        let board = leaderboard(
            &Comparisons::new(3, rows).unwrap(),
            &LeaderboardOptions::default(),
        )
        .unwrap();
        for entry in &board.main().entries {
            assert_eq!(
                (entry.rating, entry.interval, entry.status),
                (1000.0, None, Status::Rated)
            );
            assert_eq!(
                entry.rank,
                Some(Rank {
                    rank: 1,
                    upper: 1,
                    lower: 3
                })
            );
        }
    }

    #[test]
    fn a_single_tie_rates_nobody() {
        let tie = Comparisons::new(2, [Comparison::new(0, 1, 0.5)]).unwrap();
        let board = leaderboard(&tie, &LeaderboardOptions::default()).unwrap();
        assert_eq!(board.main().unrated, Some(UnratedReason::OneBattle));
        let expected = Status::Provisional {
            reason: ProvisionalReason::SingleBattle,
            votes_needed: 1,
        };
        assert!(
            board
                .main()
                .entries
                .iter()
                .all(|entry| entry.status == expected && entry.rating == 1000.0)
        );
    }

    #[test]
    fn a_small_group_that_features_cannot_fit_does_not_spoil_the_main_board() {
        let mut rows = Vec::new();
        let mut features = Vec::new();
        for battle in 0..60_u32 {
            rows.push(Comparison::new(
                battle % 2,
                1 - battle % 2,
                f64::from(battle % 3) / 2.0,
            ));
            features.push(f64::from(battle % 7) - 3.0);
        }
        for outcome in [1.0, 0.0] {
            rows.push(Comparison::new(2, 3, outcome));
            features.push(0.0);
        }
        let columns = crate::Columns {
            n_features: 1,
            features: &features,
            clusters: None,
        };
        let comparisons = Comparisons::with_columns(4, &rows, columns).unwrap();
        let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
        assert_eq!(board.main().coefficients.len(), 1);
        let reason = UnratedReason::NotFitted(Error::CollinearFeature { feature: 0 });
        assert_eq!(board.boards[1].unrated, Some(reason));
        assert_eq!(board.boards[1].entries.len(), 2);
    }

    #[test]
    fn models_with_one_tie_have_no_say_and_leave_nobody_rated_alone() {
        // Two rated models, 3 : 1, and one that tied with the first once.
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(3),
            Comparison::new(0, 1, 0.0),
            Comparison::new(0, 2, 0.5),
        ];
        let options = LeaderboardOptions::default();
        for anchor in [Anchor::Mean, Anchor::WeightedMean] {
            let options = LeaderboardOptions { anchor, ..options };
            let with = leaderboard(&Comparisons::new(3, rows).unwrap(), &options).unwrap();
            let mean: f64 = with
                .main()
                .entries
                .iter()
                .filter(|entry| entry.status == Status::Rated)
                .map(|entry| entry.rating)
                .sum::<f64>()
                / 2.0;
            if anchor == Anchor::Mean {
                assert!((mean - 1000.0).abs() < 1e-9, "{mean}");
                let half = 200.0 * 3.0_f64.log10();
                assert!((with.main().entries[0].rating - 1000.0 - half).abs() < 1e-9);
            }
        }
        // One model that tied with two others, once each: nothing here could be rated.
        let star = Comparisons::new(3, [Comparison::new(0, 1, 0.5), Comparison::new(0, 2, 0.5)]);
        let board = leaderboard(&star.unwrap(), &options).unwrap();
        assert_eq!(board.main().unrated, Some(UnratedReason::OneWay));
        assert!(
            board
                .main()
                .entries
                .iter()
                .all(|entry| entry.status != Status::Rated)
        );
    }
}
