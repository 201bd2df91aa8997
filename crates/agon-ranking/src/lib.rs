//! Bradley-Terry and Elo ratings from pairwise comparisons, with honest uncertainty.
//!
//! Pure mathematics: numbers in, numbers out. The crate knows no names of models, reads nothing, keeps nothing, and
//! gives the same bits for the same comparisons and options.
//!
//! # The method in one page
//!
//! **Data.** A battle of models *a* and *b* has an outcome *y*: 1 when *a* won, 0 when it lost, ½ for a tie.
//! [`Comparisons`] checks battles once and reduces them to counts, so that cost does not grow with their number.
//!
//! **Model.** P(a beats b) = σ(θa − θb + xᵀβ) with σ(t) = 1 / (1 + e⁻ᵗ); x are optional features of the battle, such
//! as the difference in length ([`style_control`]) or the constant 1 for an advantage of side A.
//! [`fit`] maximises the likelihood by Newton's method and returns a [`Certificate`] of the optimum.
//!
//! **Scale.** rating = init + (scale / ln base) · (θ − location), by default 1000 and 400 points for odds of 10 to 1.
//!
//! **Existence.** A finite maximum exists exactly when every model has scored against every other, directly or through
//! others. [`leaderboard()`] rates the largest part for which this holds. A model that never lost, never won, has a
//! single battle or belongs to another group is *provisional*: it gets an estimate under a weak prior, half a win and
//! half a loss against the mean of the rated models, and never moves a rated one. Groups that never met have boards of
//! their own.
//!
//! **Uncertainty.** Intervals are θ ± z · (standard error) from the sandwich covariance H⁻¹ B H⁻¹ ([`Covariance`]),
//! which stays right when a tie counts as half a win; inverse Fisher information is then too wide.
//! Only differences of strengths can be estimated, so an interval depends on what is held fixed: the covariance is
//! always that of the [`Anchor`] in use. By default this is the plain mean of the rated models, as on the published
//! boards. [`Anchor::WeightedMean`] gives narrower intervals when some models are rare.
//! Where outcomes show no variation at all (only ties) an interval is reported as not estimable, not as one of no
//! width.
//!
//! [`bootstrap()`] draws battles or voters anew and fits every round in full; rounds in which a model has no finite
//! estimate are counted, not hidden. [`simultaneous()`] gives intervals that hold all at once, and the confidence with
//! which a model is first.
//!
//! **Several sources.** [`composite()`] gives each source of votes its share; [`fit_with_prior`] draws towards known
//! ratings. [`presets`] reproduce what FastChat and arena-rank publish, and say what is untrue about it.
//!
//! **Running arenas.** [`leaderboard_from`] starts at the board before the last votes, and takes its steps with the matrix
//! that was inverted for the intervals of that board.
//!
//! **Size.** Rows by column are brought into order in linear time ([`Comparisons::from_rows`]) and fitted in blocks, on as
//! many threads as are given, without a change of bits. From some hundred models on, Newton steps come from conjugate
//! gradients over the pairs that met, so a fit needs no matrix; intervals need three matrices of all models (each 8 MB for
//! 1,000 models, 800 MB for 10,000) and time that grows with the cube of their number; errors of differences need one more.
//!
//! **Obstacles.** What no fit in double precision can hold is left out and named, and the rest is rated:
//! [`Board::dropped`] for features, [`ProvisionalReason::WeaklyTied`] for models.
//!
//! **Places.** rank = 1 + the number of models whose lower end lies above this model's upper end ([`ranks`]).
//!
//! **Ties as outcomes.** [`ties`] fits Davidson's and Rao-Kupper's models, and the grounded one in which "both bad" is an
//! outcome of its own and gives every model an absolute level.
//!
//! **Checks.** [`influence`] finds small sets of votes and judges on which a place hangs, the bias of a side and the
//! concentration of judges; [`calibration`](mod@calibration) compares predicted with observed win rates;
//! [`compare`] sets two boards against each other.
//!
//! # Example
//!
//! ```
//! use agon_ranking::{Comparison, Comparisons, LeaderboardOptions, leaderboard};
//!
//! // Three models; counts of battles instead of single rows.
//! let comparisons = Comparisons::new(
//!     3,
//!     [
//!         Comparison::new(0, 1, 1.0).with_count(60),
//!         Comparison::new(0, 1, 0.0).with_count(30),
//!         Comparison::new(0, 1, 0.5).with_count(10),
//!         Comparison::new(1, 2, 1.0).with_count(55),
//!         Comparison::new(1, 2, 0.0).with_count(45),
//!     ],
//! )?;
//! let leaderboard = leaderboard(&comparisons, &LeaderboardOptions::default())?;
//! let board = leaderboard.main();
//! assert!(leaderboard.is_connected() && board.strong_components == 1);
//!
//! let best = &board.entries[0];
//! assert_eq!(best.model, 0);
//! assert_eq!((best.record.battles, best.record.wins), (100, 60));
//! let interval = best.interval.expect("outcomes vary, so the interval can be estimated");
//! assert!(interval.lower < best.rating && best.rating < interval.upper);
//!
//! // The difference of models 0 and 1 is known in closed form: 65 points of 100 are odds of 13 to 7.
//! let difference = board.entries[0].rating - board.entries[1].rating;
//! assert!((difference - 400.0 * (65.0_f64 / 35.0).log10()).abs() < 1e-9);
//! # Ok::<(), agon_ranking::Error>(())
//! ```
//!
//! # References
//!
//! - E. Zermelo (1929), *Die Berechnung der Turnier-Ergebnisse als ein Maximumproblem der Wahrscheinlichkeitsrechnung*.
//! - R. A. Bradley, M. E. Terry (1952), *Rank analysis of incomplete block designs I*, Biometrika 39.
//! - L. R. Ford (1957), *Solution of a ranking problem from binary comparisons* (existence).
//! - R. R. Davidson, R. J. Beaver (1977), *On extending the Bradley-Terry model to incorporate within-pair order effects*.
//! - D. R. Hunter (2004), *MM algorithms for generalized Bradley-Terry models* (uniqueness).
//! - P. J. Huber (1967), H. White (1980): the sandwich; K.-Y. Liang, S. L. Zeger (1986): clustered.
//! - A. Albert, J. A. Anderson (1984), *On the existence of maximum likelihood estimates in logistic regression models*.
//! - M. R. Hestenes, E. Stiefel (1952), *Methods of conjugate gradients for solving linear systems*.
//! - R. S. Dembo, S. C. Eisenstat, T. Steihaug (1982), *Inexact Newton methods* (how exact a step has to be).
//! - M. J. Wichura (1988), *Algorithm AS 241* (normal quantile).
//! - P. V. Rao, L. L. Kupper (1967), *Ties in paired-comparison experiments*, JASA 62; R. R. Davidson (1970), JASA 65.
//! - T. Broderick, R. Giordano, R. Meager (2020), arXiv 2011.14999 (influence of small sets of data).
//! - B. Efron (1979), *Bootstrap methods: another look at the jackknife*, Annals of Statistics 7.
//! - W. Hörmann (1993), *The generation of binomial random variates*, J. Stat. Comput. Simul. 46.
//! - R. J. Hyndman, Y. Fan (1996), *Sample quantiles in statistical packages*, American Statistician 50.
//! - M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm (2024), *Inference for ranks*, Review of Economic Studies 91.
//! - W.-L. Chiang et al. (2024), *Chatbot Arena*, arXiv 2403.04132 (ranks, style control).

mod bootstrap;
mod bradley_terry;
pub mod calibration;
pub mod compare;
mod comparisons;
mod components;
mod composite;
mod covariance;
pub mod elo;
mod error;
pub mod influence;
mod interval;
mod leaderboard;
mod linear_algebra;
pub mod presets;
mod provisional;
mod scored;
mod simultaneous;
pub mod style_control;
pub mod ties;
mod wide;
mod win_rate;

#[cfg(test)]
mod golden;

pub use bootstrap::{
    Bootstrap, BootstrapInterval, BootstrapOptions, Resampling, bootstrap, quantile,
};
pub use bradley_terry::{Certificate, Fit, FitOptions, Start, fit, fit_with_prior, refit_from};
pub use comparisons::{Columns, Comparison, Comparisons, Record, Rows};
pub use components::Components;
pub use composite::{Source, composite, composite_covariance};
pub use covariance::{Covariance, CovarianceMethod};
pub use error::Error;
pub use interval::{Anchor, critical_value, normal_quantile};
pub use leaderboard::{
    Board, Coefficient, DropReason, DroppedFeature, Entry, Fitted, Interval, Leaderboard,
    LeaderboardOptions, ProvisionalReason, Rank, Status, UnratedReason, leaderboard,
    leaderboard_from, ranks,
};
pub use scored::{Scored, average_scores, online_scored};
pub use simultaneous::{RankInterval, Simultaneous, SimultaneousOptions, simultaneous};
pub use win_rate::average_win_rates;
