//! Intervals and places that hold together: all of them are right at once as often as they say.
//!
//! Not for the usual board, whose intervals each hold on their own: of twenty such, one is expected to miss.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::Error;
use crate::bootstrap::{quantile, uniform};
use crate::interval::{critical_value, normal_quantile};
use crate::leaderboard::{Fitted, Interval, LeaderboardOptions};

/// How simultaneous statements are worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimultaneousOptions {
    /// Probability with which all intervals hold, and likewise all places; between 0 and 1.
    pub level: f64,
    /// Simulated boards, 100 or more. The confidence that is reached has an error of about ½ / √draws.
    pub draws: usize,
    /// The seed: the same seed gives the same bits.
    pub seed: u64,
}

impl Default for SimultaneousOptions {
    /// 95 %, 10,000 simulated boards, seed 0.
    fn default() -> Self {
        Self {
            level: 0.95,
            draws: 10_000,
            seed: 0,
        }
    }
}

/// The places a model may have, 1 for the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankInterval {
    /// Best place: 1 + the number of models that are certainly better.
    pub best: usize,
    /// Worst place: the number of models minus those that are certainly worse.
    pub worst: usize,
}

/// Simultaneous intervals and places of the models of one fit, numbered like the fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Simultaneous {
    /// Number of standard errors to each side of a rating, in place of 1.96.
    pub critical_rating: f64,
    /// Number of standard errors beyond which a difference of two ratings is certain.
    pub critical_difference: f64,
    /// Intervals that cover all ratings at once with the level asked for; `None` where it cannot be estimated.
    pub intervals: Vec<Option<Interval>>,
    /// Places that are all right at once with the level asked for.
    pub ranks: Vec<RankInterval>,
    n_models: usize,
    // Invariant: for each model in turn, differences to the others over their errors, 0 where they are not known.
    statistics: Vec<f64>,
    // Invariant: ascending; the largest difference of each simulated board over its error.
    maxima: Vec<f64>,
}

impl Simultaneous {
    /// Whether model `a` is certainly better than model `b`, with all such statements right at once.
    ///
    /// A model that does not exist is better than nobody.
    pub fn is_better(&self, a: usize, b: usize) -> bool {
        a < self.n_models
            && b < self.n_models
            && self.statistics[a * self.n_models + b] > self.critical_difference
    }

    /// Confidence with which a model is first: see [`Simultaneous::top_confidence`].
    pub fn first_confidence(&self, model: usize) -> f64 {
        self.top_confidence(model, 1)
    }

    /// Largest confidence with which a model can be said to have one of the first `k` places.
    ///
    /// It is that of the simultaneous places, so it may be read for any model after looking at the board. 0 when the
    /// estimate itself has it lower, and for a model that does not exist; 1 when there are no more than `k` models.
    /// A simulation of n boards cannot tell more than 1 − 1 / (n + 1).
    pub fn top_confidence(&self, model: usize, k: usize) -> f64 {
        if model >= self.n_models || k == 0 {
            return 0.0;
        }
        let Some(beaten) = self.n_models.checked_sub(k).filter(|&beaten| beaten > 0) else {
            return 1.0;
        };
        let row = &self.statistics[model * self.n_models..(model + 1) * self.n_models];
        let mut leads: Vec<f64> = row.to_vec();
        leads.sort_unstable_by(|x, y| y.total_cmp(x));
        // The model must be certainly better than so many others: the least of its largest leads decides.
        let lead = leads[beaten - 1];
        if lead <= 0.0 {
            return 0.0;
        }
        let reached = self.maxima.len() - self.maxima.partition_point(|&max| max < lead);
        1.0 - (reached + 1) as f64 / (self.maxima.len() + 1) as f64
    }
}

/// Intervals and places that hold together, for the models of one board.
///
/// **Intervals**: rating ± c · (standard error), c the quantile of max |Z| over models, Z normal with the correlation of
/// the estimates (max-|t|; Hothorn, Bretz & Westfall 2008). They refer to the anchor of the board.
///
/// **Places**: all differences of two ratings get such simultaneous intervals, which no anchor enters. A model is then
/// certainly better than another when the interval lies above 0, and its places are
/// 1 + #{certainly better} … K − #{certainly worse} (Mogstad, Romano, Shaikh & Wilhelm 2024, Inference for ranks with
/// applications to mobility across neighbourhoods and academic achievement across countries, Rev. Econ. Stud. 91).
/// They contain all true places at once with at least the level asked for, as the number of battles grows.
///
/// The level is that of `simultaneous`; the scale is that of `options`. Work grows with draws × models².
///
/// # Errors
///
/// [`Error::Option`].
///
/// # Examples
///
/// ```
/// use agon_ranking::{
///     Comparison, Comparisons, LeaderboardOptions, SimultaneousOptions, leaderboard, simultaneous,
/// };
///
/// let comparisons = Comparisons::new(
///     3,
///     [
///         Comparison::new(0, 1, 1.0).with_count(700),
///         Comparison::new(0, 1, 0.0).with_count(300),
///         Comparison::new(1, 2, 1.0).with_count(505),
///         Comparison::new(1, 2, 0.0).with_count(495),
///     ],
/// )?;
/// let options = LeaderboardOptions::default();
/// let board = leaderboard(&comparisons, &options)?;
/// let fitted = board.main().fitted.as_ref().expect("all models are rated");
/// let all = simultaneous(fitted, &options, &SimultaneousOptions::default())?;
/// // Model 0 is first; nobody can tell the other two apart.
/// assert!(all.first_confidence(0) > 0.99);
/// assert_eq!((all.ranks[0].best, all.ranks[0].worst), (1, 1));
/// assert_eq!((all.ranks[1].best, all.ranks[1].worst), (2, 3));
/// assert!(all.critical_rating > 1.96);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn simultaneous(
    fitted: &Fitted,
    options: &LeaderboardOptions,
    simultaneous: &SimultaneousOptions,
) -> Result<Simultaneous, Error> {
    critical_value(simultaneous.level)?;
    if simultaneous.draws < 100 {
        return Err(Error::Option {
            option: "draws",
            value: simultaneous.draws as f64,
            expected: "100 or more",
        });
    }
    let covariance = &fitted.covariance;
    let strengths = &fitted.fit.strengths;
    let n = strengths.len();

    let errors: Vec<Option<f64>> = (0..n)
        .map(|model| covariance.strength_error(model))
        .collect();
    // Reciprocal errors of differences, 0 for those that cannot be estimated: they then never are the largest.
    let mut reciprocals = vec![0.0; n * n];
    for a in 0..n {
        for b in 0..n {
            if a != b
                && let Some(error) = covariance.difference_error(a, b)
                && error > 0.0
            {
                reciprocals[a * n + b] = 1.0 / error;
            }
        }
    }
    let statistics: Vec<f64> = (0..n * n)
        .map(|idx| (strengths[idx / n] - strengths[idx % n]) * reciprocals[idx])
        .collect();

    let root = semidefinite_root(n, |row, column| covariance.get(row, column).unwrap_or(0.0));
    let mut of_ratings = Vec::with_capacity(simultaneous.draws);
    let mut of_differences = Vec::with_capacity(simultaneous.draws);
    let mut normals = vec![0.0; n];
    let mut values = vec![0.0; n];
    let mut rng = ChaCha8Rng::seed_from_u64(simultaneous.seed);
    for _ in 0..simultaneous.draws {
        for normal in &mut normals {
            // Half a step above 0, so that the quantile is finite.
            *normal = normal_quantile(uniform(&mut rng) + f64::EPSILON / 4.0);
        }
        for (row, value) in values.iter_mut().enumerate() {
            let coefficients = &root[row * n..row * n + row + 1];
            *value = coefficients.iter().zip(&normals).map(|(c, z)| c * z).sum();
        }
        let mut max = 0.0;
        for (value, error) in values.iter().zip(&errors) {
            if let Some(error) = error
                && *error > 0.0
            {
                max = f64::max(max, value.abs() / error);
            }
        }
        of_ratings.push(max);
        let mut max = 0.0_f64;
        for a in 0..n {
            let reciprocals = &reciprocals[a * n..a * n + a];
            for (b, reciprocal) in reciprocals.iter().enumerate() {
                let t = (values[a] - values[b]).abs() * reciprocal;
                max = if t > max { t } else { max };
            }
        }
        of_differences.push(max);
    }
    of_ratings.sort_unstable_by(f64::total_cmp);
    of_differences.sort_unstable_by(f64::total_cmp);
    let at = |values: &[f64]| quantile(values, simultaneous.level).unwrap_or(f64::INFINITY);
    let critical_rating = at(&of_ratings);
    let critical_difference = at(&of_differences);

    let points = options.points_per_nat();
    let intervals = strengths
        .iter()
        .zip(&errors)
        .map(|(strength, error)| {
            let rating = fitted.origin + points * (strength - fitted.location);
            error.map(|error| {
                let standard_error = points * error;
                Interval {
                    lower: rating - critical_rating * standard_error,
                    upper: rating + critical_rating * standard_error,
                    standard_error,
                }
            })
        })
        .collect();
    let ranks = (0..n)
        .map(|model| {
            let row = &statistics[model * n..(model + 1) * n];
            let worse = row.iter().filter(|&&t| t > critical_difference).count();
            let better = row.iter().filter(|&&t| t < -critical_difference).count();
            RankInterval {
                best: 1 + better,
                worst: n - worse,
            }
        })
        .collect();
    Ok(Simultaneous {
        critical_rating,
        critical_difference,
        intervals,
        ranks,
        n_models: n,
        statistics,
        maxima: of_differences,
    })
}

/// A lower triangular C, row by row, with C Cᵀ = V for a positive semidefinite V.
///
/// Cholesky with columns left at 0 where nothing remains to be explained (Higham 1990, Analysis of the Cholesky
/// decomposition of a semi-definite matrix): V is singular, as only differences of strengths are known.
fn semidefinite_root(n: usize, get: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    /// Less than this share of a variance is rounding error.
    const NOTHING: f64 = 1e-11;
    let mut root = vec![0.0; n * n];
    for column in 0..n {
        let own = &root[column * n..column * n + column];
        let rest = get(column, column) - own.iter().map(|c| c * c).sum::<f64>();
        if rest <= NOTHING * get(column, column) {
            continue;
        }
        let pivot = rest.sqrt();
        root[column * n + column] = pivot;
        for row in column + 1..n {
            let explained: f64 = root[row * n..row * n + column]
                .iter()
                .zip(&root[column * n..column * n + column])
                .map(|(x, y)| x * y)
                .sum();
            root[row * n + column] = (get(row, column) - explained) / pivot;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Anchor, Comparison, Comparisons, leaderboard};

    fn board(rows: &[Comparison], n_models: usize, options: &LeaderboardOptions) -> Fitted {
        let comparisons = Comparisons::new(n_models, rows.iter().copied()).unwrap();
        let board = leaderboard(&comparisons, options).unwrap();
        board.main().fitted.clone().unwrap()
    }

    fn pair(a: u32, b: u32, wins: u64, losses: u64) -> [Comparison; 2] {
        [
            Comparison::new(a, b, 1.0).with_count(wins),
            Comparison::new(a, b, 0.0).with_count(losses),
        ]
    }

    #[test]
    fn the_root_of_a_singular_matrix_gives_it_back() {
        // V = A Aᵀ of rank 2 in four dimensions.
        let a = [[1.0, 0.5], [2.0, 1.0], [-0.3, 0.7], [0.0, 0.0]];
        let v = |row: usize, column: usize| a[row][0] * a[column][0] + a[row][1] * a[column][1];
        let root = semidefinite_root(4, v);
        for row in 0..4 {
            for column in 0..4 {
                let product: f64 = (0..4)
                    .map(|k| root[row * 4 + k] * root[column * 4 + k])
                    .sum();
                assert!((product - v(row, column)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn two_models_have_one_difference_and_so_the_usual_critical_value() {
        let options = LeaderboardOptions::default();
        let fitted = board(&pair(0, 1, 60, 40), 2, &options);
        let all = simultaneous(&fitted, &options, &SimultaneousOptions::default()).unwrap();
        let usual = critical_value(0.95).unwrap();
        assert!((all.critical_difference - usual).abs() < 0.05);
        assert!((all.critical_rating - usual).abs() < 0.05);
        // One-sided probability of the estimate: Φ(t) two-sided 1 − 2 (1 − Φ(t)).
        let t = fitted.fit.strengths[0] * 2.0 / fitted.covariance.difference_error(0, 1).unwrap();
        let confidence = all.first_confidence(0);
        let back = critical_value(confidence).unwrap();
        assert!((back - t).abs() < 0.06, "{back} {t}");
        assert_eq!(all.first_confidence(1), 0.0);
        assert_eq!(all.top_confidence(1, 2), 1.0);
        assert_eq!(all.top_confidence(2, 1), 0.0);
        assert_eq!(all.is_better(0, 1), t > all.critical_difference);
    }

    #[test]
    fn independent_models_have_the_closed_form() {
        // Models 1 to 4 met only model 0, their anchor, equally often: their errors are independent of each other.
        let rows: Vec<_> = (1..5).flat_map(|model| pair(0, model, 500, 500)).collect();
        let options = LeaderboardOptions {
            anchor: Anchor::Model {
                model: 0,
                rating: 1000.0,
            },
            ..LeaderboardOptions::default()
        };
        let fitted = board(&rows, 5, &options);
        let many = SimultaneousOptions {
            draws: 40_000,
            ..SimultaneousOptions::default()
        };
        let all = simultaneous(&fitted, &options, &many).unwrap();
        // Each of four must hold with 0.95^(1/4) (Šidák 1967).
        let expected = critical_value(0.95_f64.powf(0.25)).unwrap();
        assert!(
            (all.critical_rating - expected).abs() < 0.03,
            "{}",
            all.critical_rating
        );
        assert!(all.critical_difference > all.critical_rating);
        assert!(
            all.ranks
                .iter()
                .all(|rank| (rank.best, rank.worst) == (1, 5))
        );
        let anchor = all.intervals[0].unwrap();
        assert!((anchor.upper - anchor.lower).abs() < 1e-9);
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_no_anchor_changes_places() {
        let rows: Vec<_> = (0..4)
            .flat_map(|model| pair(model, model + 1, 130, 70))
            .collect();
        let mean = LeaderboardOptions::default();
        let model = LeaderboardOptions {
            anchor: Anchor::Model {
                model: 3,
                rating: 1000.0,
            },
            ..mean
        };
        let options = SimultaneousOptions::default();
        let of = |leaderboard_options: &LeaderboardOptions, seed| {
            let fitted = board(&rows, 5, leaderboard_options);
            simultaneous(
                &fitted,
                leaderboard_options,
                &SimultaneousOptions { seed, ..options },
            )
            .unwrap()
        };
        let first = of(&mean, 0);
        assert_eq!(first, of(&mean, 0));
        assert_ne!(first.critical_difference, of(&mean, 1).critical_difference);
        let other = of(&model, 0);
        assert_eq!(first.ranks, other.ranks);
        assert!((first.critical_difference - other.critical_difference).abs() < 0.08);
        assert_eq!(first.first_confidence(0) > 0.95, first.ranks[0].worst == 1);
    }

    #[test]
    fn what_cannot_be_estimated_has_any_place() {
        let mut rows = pair(0, 1, 900, 100).to_vec();
        // Model 2 only tied with an equal: no residual to judge it by.
        rows.push(Comparison::new(2, 3, 0.5).with_count(50));
        rows.extend(pair(0, 3, 50, 50));
        let options = LeaderboardOptions::default();
        let fitted = board(&rows, 4, &options);
        let all = simultaneous(&fitted, &options, &SimultaneousOptions::default()).unwrap();
        assert_eq!(all.intervals[2], None);
        assert_eq!((all.ranks[2].best, all.ranks[2].worst), (1, 4));
        assert!(all.is_better(0, 1) && !all.is_better(2, 1));
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let options = LeaderboardOptions::default();
        let fitted = board(&pair(0, 1, 60, 40), 2, &options);
        let default = SimultaneousOptions::default();
        for wrong in [
            SimultaneousOptions {
                level: 1.0,
                ..default
            },
            SimultaneousOptions {
                draws: 10,
                ..default
            },
        ] {
            assert!(simultaneous(&fitted, &options, &wrong).is_err());
        }
    }

    #[test]
    fn all_places_are_covered_at_once_as_often_as_stated() {
        // Eight models, neighbours 0.25 nats apart except for two that are equal in strength: hard to order.
        let truth: [f64; 8] = [1.0, 0.75, 0.5, 0.25, 0.0, 0.0, -0.5, -1.0];
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let options = LeaderboardOptions::default();
        let few = SimultaneousOptions {
            draws: 600,
            ..SimultaneousOptions::default()
        };
        let (mut places, mut ratings, mut resolved) = (0, 0, 0);
        const ARENAS: usize = 200;
        for _ in 0..ARENAS {
            let mut rows = Vec::new();
            for a in 0..8_u32 {
                for b in a + 1..8 {
                    let p = 1.0 / (1.0 + (truth[b as usize] - truth[a as usize]).exp());
                    let wins = (0..60).filter(|_| uniform(&mut rng) < p).count() as u64;
                    rows.extend(
                        pair(a, b, wins, 60 - wins)
                            .into_iter()
                            .filter(|r| r.count > 0),
                    );
                }
            }
            let fitted = board(&rows, 8, &options);
            let all = simultaneous(&fitted, &options, &few).unwrap();
            let hold = (0..8).all(|model| {
                // With equals, a model has every place from 1 + #better to K − #worse.
                let better = truth.iter().filter(|&&other| other > truth[model]).count();
                let worse = truth.iter().filter(|&&other| other < truth[model]).count();
                all.ranks[model].best <= 1 + better && all.ranks[model].worst >= 8 - worse
            });
            places += usize::from(hold);
            resolved += all
                .ranks
                .iter()
                .filter(|rank| rank.worst - rank.best < 7)
                .count();
            let mean = truth.iter().sum::<f64>() / 8.0;
            let cover = all.intervals.iter().zip(truth).all(|(interval, truth)| {
                let truth = 1000.0 + options.points_per_nat() * (truth - mean);
                interval.is_some_and(|interval| interval.lower <= truth && truth <= interval.upper)
            });
            ratings += usize::from(cover);
        }
        let share = |count: usize| count as f64 / ARENAS as f64;
        println!(
            "all places right in {:.3} of arenas, all ratings in {:.3}",
            share(places),
            share(ratings)
        );
        // Two hundred arenas leave an error of 0.015; places are conservative by construction.
        assert!(share(places) >= 0.93);
        assert!((share(ratings) - 0.95).abs() < 0.045);
        assert!(
            resolved > 6 * ARENAS,
            "places that say nothing would cover too"
        );
    }
}
