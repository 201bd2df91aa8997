//! Votes → leaderboard, as the page shows it, the API serves it and `agon rank` prints it: one document for all three.

pub mod csv;

use std::{collections::BTreeMap, sync::Arc};

use agon_dataset::InputReport;
use agon_domain::{CountedPair, Tally, Winner};
use agon_ranking::{
    Anchor, Comparison, Comparisons, Entry, LeaderboardOptions, ProvisionalReason, Status,
    UnratedReason,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::{App, AppError};

/// A pair of models with fewer battles than this is thin, as the published tables mark it.
const THIN_PAIR_BATTLES: u64 = 100;
/// A model with fewer battles than this is reported by the check `enough_battles`.
const FEW_BATTLES: u64 = 30;

/// Models that are ranked at most: the fit needs memory by their square and time by their cube.
const MODELS_MAX: usize = 5_000;

/// What a tie, or both bad, counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TieRule {
    /// Half a win for each side.
    Half,
    /// Nothing: such votes are left out of the fit.
    Drop,
}

/// What ratings are measured from.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum LocationSetting {
    /// The plain mean of the rated models has the initial rating.
    Mean,
    /// The mean of the rated models, weighted by their battles, has the initial rating.
    WeightedMean,
    /// A model has a fixed rating.
    Model {
        /// Which.
        model: String,
        /// Its rating.
        rating: f64,
    },
}

/// Everything that, with the votes, decides the leaderboard.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Settings {
    /// The version of Agon.
    pub agon_version: String,
    /// How ratings are fitted.
    pub method: String,
    /// Where the intervals come from.
    pub interval: String,
    /// Confidence level of the intervals.
    pub level: f64,
    /// What ratings are measured from, and intervals relative to.
    pub location: LocationSetting,
    /// Rating points per factor of `base` in the odds.
    pub scale: f64,
    /// Base of the odds.
    pub base: f64,
    /// Rating at the location.
    pub init: f64,
    /// What a tie counts.
    pub ties: TieRule,
    /// What both bad counts.
    pub both_bad: TieRule,
    /// Models with fewer battles are shown as provisional.
    pub min_battles: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let options = LeaderboardOptions::default();
        Self {
            agon_version: env!("CARGO_PKG_VERSION").to_owned(),
            method: "bradley-terry".to_owned(),
            interval: "sandwich".to_owned(),
            level: options.level,
            location: LocationSetting::Mean,
            scale: options.scale,
            base: options.base,
            init: options.init,
            ties: TieRule::Half,
            both_bad: TieRule::Half,
            min_battles: options.min_battles,
        }
    }
}

/// Leaderboards with what they were made of.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Board {
    /// One for each group of models that met; the first has most battles.
    pub leaderboards: Vec<LeaderboardBody>,
    /// What was read, and what became of it.
    pub input: InputBody,
    /// What is needed to repeat the run.
    pub settings: Settings,
}

/// One leaderboard.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LeaderboardBody {
    /// Which battles it is made of.
    pub category: String,
    /// Which group of models, from 1; models of different groups never met, and their ratings cannot be compared.
    pub group: usize,
    /// Whether ratings are net of style.
    pub style_control: bool,
    /// How ratings are fitted.
    pub method: String,
    /// Rated models from the highest rating down, then the provisional ones.
    pub models: Vec<ModelRow>,
    /// Coefficients of style features.
    pub style: Vec<StyleRow>,
    /// What speaks for and against trusting it.
    pub checks: Vec<Check>,
}

/// One model on a leaderboard.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ModelRow {
    /// Its name.
    pub model: String,
    /// Its rating.
    pub rating: f64,
    /// Lower end of the interval; null where none can be estimated.
    pub rating_lower: Option<f64>,
    /// Upper end of the interval; null where none can be estimated.
    pub rating_upper: Option<f64>,
    /// 1 + the number of models whose lower end lies above this upper end; null for a provisional model.
    pub rank: Option<usize>,
    /// The best place that the intervals allow.
    pub rank_upper: Option<usize>,
    /// The worst place that the intervals allow.
    pub rank_lower: Option<usize>,
    /// All its battles.
    pub battles: u64,
    /// Battles it won.
    pub wins: u64,
    /// Battles it lost.
    pub losses: u64,
    /// Battles in which both were equally good.
    pub ties: u64,
    /// Battles in which both were bad.
    pub both_bad: u64,
    /// `rated`, or `provisional`: the rating is then a guess under a weak prior, and moves nobody.
    pub status: String,
    /// Why it is provisional: `undefeated`, `winless`, `single_battle`, `other_group`, `few_battles` or `unrated`.
    pub reason: Option<String>,
    /// About how many more votes it takes until it is rated.
    pub votes_needed: Option<u64>,
    /// The same in words.
    pub note: Option<String>,
}

/// The coefficient of a style feature.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StyleRow {
    /// Which feature.
    pub feature: String,
    /// Log-odds for one unit of it.
    pub coefficient: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end of its interval.
    pub upper: f64,
}

/// Something that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Check {
    /// What.
    pub check: String,
    /// Whether all is well.
    pub passed: bool,
    /// What was found.
    pub detail: String,
}

/// What was read, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct InputBody {
    /// Rows of all sources.
    pub rows: u64,
    /// Rows that became votes.
    pub kept: u64,
    /// Rows that did not, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// The first dropped row of each reason, with place and value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped_first: BTreeMap<String, String>,
    /// Winners that are in no known spelling, with their counts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown_winners: BTreeMap<String, u64>,
    /// Kept rows whose voter knew the names. They are counted in.
    pub named: u64,
    /// Kept rows whose id an earlier row has. They are counted in. Null when there are no ids.
    pub repeated_ids: Option<u64>,
    /// Groups of model names that are equal but for case. They are kept apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_duplicates: Vec<Vec<String>>,
    /// What was read.
    pub sources: Vec<SourceBody>,
    /// Files of a folder that hold no votes, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedBody>,
}

/// One source.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SourceBody {
    /// Its path, or `-` for standard input.
    pub path: String,
    /// What its content was recognised as.
    pub format: String,
    /// Its rows.
    pub rows: u64,
    /// Its rows that became votes.
    pub kept: u64,
    /// SHA-256 of its bytes.
    pub sha256: Option<String>,
}

/// A file that holds no votes.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SkippedBody {
    /// Its path.
    pub path: String,
    /// Why it was not read.
    pub detail: String,
}

impl From<&InputReport> for InputBody {
    fn from(report: &InputReport) -> Self {
        let by_reason = |pick: &dyn Fn(&agon_dataset::RejectedRows) -> String| {
            report
                .rejected
                .iter()
                .map(|(reason, rows)| (reason.as_str().to_owned(), pick(rows)))
                .collect()
        };
        Self {
            rows: report.rows,
            kept: report.kept,
            dropped: report
                .rejected
                .iter()
                .map(|(reason, rows)| (reason.as_str().to_owned(), rows.count))
                .collect(),
            dropped_first: by_reason(&|rows| rows.first.to_string()),
            unknown_winners: report
                .rejected
                .get(&agon_dataset::Reason::WinnerUnknown)
                .map(|rows| rows.values.clone())
                .unwrap_or_default(),
            named: report.n_named,
            repeated_ids: report.n_repeated_ids,
            near_duplicates: report.near_duplicates.clone(),
            sources: report
                .sources
                .iter()
                .map(|source| SourceBody {
                    path: source.path.clone(),
                    format: source.format.as_str().to_owned(),
                    rows: source.rows,
                    kept: source.kept,
                    sha256: source.sha256.clone(),
                })
                .collect(),
            skipped: report
                .skipped
                .iter()
                .map(|skipped| SkippedBody {
                    path: skipped.path.clone(),
                    detail: skipped.detail.clone(),
                })
                .collect(),
        }
    }
}

/// Why there is no leaderboard.
#[derive(Debug, thiserror::Error)]
pub enum RankError {
    /// Nothing was left to rank.
    #[error("no battles")]
    NoBattles,
    /// The anchor is nobody's name.
    #[error("there is no model `{model}` to anchor")]
    UnknownAnchor {
        /// The name as given.
        model: String,
        /// The name most like it.
        nearest: Option<String>,
    },
    /// The anchor cannot be rated.
    #[error("the anchor `{model}` is not rated")]
    AnchorNotRated {
        /// Its name.
        model: String,
    },
    /// Nobody has so many models; the columns are probably mixed up.
    #[error("{n_models} models are too many to be ranked: at most {MODELS_MAX} are")]
    TooManyModels {
        /// How many there are.
        n_models: usize,
    },
    /// A rating or an end of its interval is beyond what a number can hold, by the scale that was asked for.
    #[error("the rating of `{model}` is too large to be written")]
    TooLarge {
        /// Whose.
        model: String,
    },
    /// The numbers refuse.
    #[error("no leaderboard can be computed")]
    Ranking(#[source] agon_ranking::Error),
}

/// Ranks the models of a tally.
///
/// The order in which votes came makes no difference: models are taken in the order of their names.
///
/// # Errors
///
/// [`RankError`].
pub fn rank(tally: Tally, settings: &Settings, input: InputBody) -> Result<Board, RankError> {
    let (names, pairs) = tally.into_sorted();
    if names.len() > MODELS_MAX {
        return Err(RankError::TooManyModels {
            n_models: names.len(),
        });
    }
    let comparisons = comparisons(names.len(), &pairs, settings).map_err(RankError::Ranking)?;
    let anchor = match &settings.location {
        LocationSetting::Mean => Anchor::Mean,
        LocationSetting::WeightedMean => Anchor::WeightedMean,
        LocationSetting::Model { model, rating } => Anchor::Model {
            model: names
                .binary_search(model)
                .map_err(|_| RankError::UnknownAnchor {
                    model: model.clone(),
                    nearest: nearest(model, &names),
                })?,
            rating: *rating,
        },
    };
    let options = LeaderboardOptions {
        scale: settings.scale,
        base: settings.base,
        init: settings.init,
        level: settings.level,
        anchor,
        min_battles: settings.min_battles,
        ..LeaderboardOptions::default()
    };
    let leaderboard =
        agon_ranking::leaderboard(&comparisons, &options).map_err(|error| match error {
            agon_ranking::Error::NoBattles => RankError::NoBattles,
            agon_ranking::Error::AnchorNotRated { model } => RankError::AnchorNotRated {
                model: names.get(model).cloned().unwrap_or_default(),
            },
            other => RankError::Ranking(other),
        })?;
    let entries = leaderboard.boards.iter().flat_map(|board| &board.entries);
    let mut entries = entries.filter(|entry| {
        let interval = entry
            .interval
            .map(|interval| (interval.lower, interval.upper));
        let (lower, upper) = interval.unwrap_or_default();
        !(entry.rating.is_finite() && lower.is_finite() && upper.is_finite())
    });
    if let Some(entry) = entries.next() {
        return Err(RankError::TooLarge {
            model: names[entry.model].clone(),
        });
    }
    let counts = counts_by_model(names.len(), &pairs);
    let n_groups = leaderboard.boards.len();
    let leaderboards = leaderboard
        .boards
        .iter()
        .enumerate()
        .map(|(idx, board)| LeaderboardBody {
            category: "overall".to_owned(),
            group: idx + 1,
            style_control: false,
            method: settings.method.clone(),
            models: board
                .entries
                .iter()
                .map(|entry| model_row(entry, &names, &counts[entry.model], board.unrated.as_ref()))
                .collect(),
            style: Vec::new(),
            checks: checks(
                board,
                &names,
                &pairs,
                n_groups,
                &leaderboard.without_battles,
            ),
        })
        .collect();
    Ok(Board {
        leaderboards,
        input,
        settings: settings.clone(),
    })
}

type Pairs = [CountedPair];

fn comparisons(
    n_models: usize,
    pairs: &Pairs,
    settings: &Settings,
) -> Result<Comparisons, agon_ranking::Error> {
    let outcome = |winner| match winner {
        Winner::A => Some(1.0),
        Winner::B => Some(0.0),
        Winner::Tie => (settings.ties == TieRule::Half).then_some(0.5),
        Winner::BothBad => (settings.both_bad == TieRule::Half).then_some(0.5),
    };
    let cells = pairs.iter().flat_map(|&((a, b), counts)| {
        Winner::ALL.into_iter().filter_map(move |winner| {
            let count = counts.get(winner);
            let outcome = outcome(winner)?;
            (count > 0).then(|| Comparison::new(a, b, outcome).with_count(count))
        })
    });
    Comparisons::new(n_models, cells)
}

/// Wins, losses, ties and both-bad of one model.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    wins: u64,
    losses: u64,
    ties: u64,
    both_bad: u64,
}

fn counts_by_model(n_models: usize, pairs: &Pairs) -> Vec<Counts> {
    let mut counts = vec![Counts::default(); n_models];
    for &((a, b), winners) in pairs {
        let (won_a, won_b) = (winners.get(Winner::A), winners.get(Winner::B));
        for (model, wins, losses) in [(a, won_a, won_b), (b, won_b, won_a)] {
            let counts = &mut counts[model as usize];
            counts.wins += wins;
            counts.losses += losses;
            counts.ties += winners.get(Winner::Tie);
            counts.both_bad += winners.get(Winner::BothBad);
        }
    }
    counts
}

fn model_row(
    entry: &Entry,
    names: &[String],
    counts: &Counts,
    unrated: Option<&UnratedReason>,
) -> ModelRow {
    let (reason, votes_needed) = match entry.status {
        Status::Rated => (None, None),
        Status::Provisional {
            reason,
            votes_needed,
        } => (Some(reason), Some(votes_needed)),
    };
    let (code, words) = match reason {
        None => (None, None),
        Some(_) if unrated.is_some() => (
            Some("unrated"),
            Some("nobody in this group can be rated yet"),
        ),
        Some(ProvisionalReason::SingleBattle) => {
            (Some("single_battle"), Some("one battle: no rating"))
        }
        Some(ProvisionalReason::Undefeated) => (Some("undefeated"), Some("never lost or tied")),
        Some(ProvisionalReason::Winless) => (Some("winless"), Some("never won or tied")),
        Some(ProvisionalReason::OtherGroup) => (
            Some("other_group"),
            Some("only ever above, or only below, the rated models"),
        ),
        Some(ProvisionalReason::FewBattles) => (Some("few_battles"), Some("few battles")),
    };
    let note = words.map(|words| match votes_needed {
        Some(n) if n > 0 => format!(
            "{words}; about {n} more {} to be rated",
            if n == 1 { "vote" } else { "votes" }
        ),
        _ => words.to_owned(),
    });
    ModelRow {
        model: names[entry.model].clone(),
        rating: entry.rating,
        rating_lower: entry.interval.map(|interval| interval.lower),
        rating_upper: entry.interval.map(|interval| interval.upper),
        rank: entry.rank.map(|rank| rank.rank),
        rank_upper: entry.rank.map(|rank| rank.upper),
        rank_lower: entry.rank.map(|rank| rank.lower),
        battles: counts.wins + counts.losses + counts.ties + counts.both_bad,
        wins: counts.wins,
        losses: counts.losses,
        ties: counts.ties,
        both_bad: counts.both_bad,
        status: if reason.is_none() {
            "rated"
        } else {
            "provisional"
        }
        .to_owned(),
        reason: code.map(ToOwned::to_owned),
        votes_needed,
        note,
    }
}

fn checks(
    board: &agon_ranking::Board,
    names: &[String],
    pairs: &Pairs,
    n_groups: usize,
    without_battles: &[usize],
) -> Vec<Check> {
    let check = |check: &str, passed: bool, detail: String| Check {
        check: check.to_owned(),
        passed,
        detail,
    };
    let n_models = board.entries.len();
    let provisional = |wanted: ProvisionalReason| {
        let listed: Vec<&str> = board
            .entries
            .iter()
            .filter(|entry| matches!(entry.status, Status::Provisional { reason, .. } if reason == wanted))
            .map(|entry| names[entry.model].as_str())
            .collect();
        (!listed.is_empty()).then(|| listed.join(", "))
    };
    let mut checks = vec![if n_groups == 1 {
        check(
            "connected",
            true,
            format!("1 component, {}", models(n_models)),
        )
    } else {
        check(
            "connected",
            false,
            format!(
                "{n_groups} groups of models that never met; this one has {}. Ratings of different groups cannot be compared",
                models(n_models)
            ),
        )
    }];
    if let Some(reason) = &board.unrated {
        let detail = match reason {
            UnratedReason::OneBattle => "one battle: nobody can be rated".to_owned(),
            UnratedReason::OneWay => "no two models have scored against each other: all results point one way, so every difference could be without limit".to_owned(),
            UnratedReason::NotFitted(error) => format!("the fit fails: {error}"),
        };
        checks.push(check("rated", false, detail));
    }
    let separated: Vec<String> = [
        (ProvisionalReason::Undefeated, "never lost"),
        (ProvisionalReason::Winless, "never won"),
        (ProvisionalReason::SingleBattle, "one battle"),
        (
            ProvisionalReason::OtherGroup,
            "only above or only below the rated",
        ),
    ]
    .into_iter()
    .filter_map(|(reason, words)| provisional(reason).map(|listed| format!("{words}: {listed}")))
    .collect();
    if board.unrated.is_none() {
        checks.push(if separated.is_empty() {
            check(
                "separation",
                true,
                "every model has both won and lost".to_owned(),
            )
        } else {
            check("separation", false, separated.join("; "))
        });
    }
    if let Some(fitted) = &board.fitted {
        let certificate = &fitted.fit.certificate;
        checks.push(check(
            "converged",
            certificate.gradient_max <= certificate.gradient_limit,
            format!(
                "largest gradient {:.1e}, limit {:.1e}, {} Newton steps",
                certificate.gradient_max, certificate.gradient_limit, certificate.iterations
            ),
        ));
        let without_interval = board
            .entries
            .iter()
            .filter(|entry| entry.status == Status::Rated && entry.interval.is_none())
            .count();
        if without_interval > 0 {
            checks.push(check(
                "intervals",
                false,
                format!(
                    "not estimable for {}: their battles leave no variation to judge by",
                    models(without_interval)
                ),
            ));
        }
    }
    let few: Vec<&str> = board
        .entries
        .iter()
        .filter(|entry| entry.record.battles < FEW_BATTLES)
        .map(|entry| names[entry.model].as_str())
        .collect();
    checks.push(if few.is_empty() {
        check(
            "enough_battles",
            true,
            format!("every model has at least {FEW_BATTLES} battles"),
        )
    } else {
        check(
            "enough_battles",
            false,
            format!("fewer than {FEW_BATTLES} battles: {}", few.join(", ")),
        )
    });
    let (n_played, n_thin) = thin_pairs(board, pairs);
    checks.push(check(
        "pairs",
        n_thin == 0,
        format!(
            "{n_played} of {} pairs met, {n_thin} of them fewer than {THIN_PAIR_BATTLES} times",
            n_models * n_models.saturating_sub(1) / 2
        ),
    ));
    if !without_battles.is_empty() {
        let listed: Vec<&str> = without_battles
            .iter()
            .map(|&idx| names[idx].as_str())
            .collect();
        checks.push(check(
            "all_models_compared",
            false,
            format!("no battle that counts: {}", listed.join(", ")),
        ));
    }
    checks
}

/// How many unordered pairs of a board's models met, and how many of those fewer than [`THIN_PAIR_BATTLES`] times.
fn thin_pairs(board: &agon_ranking::Board, pairs: &Pairs) -> (usize, usize) {
    let on_board: std::collections::HashSet<usize> =
        board.entries.iter().map(|entry| entry.model).collect();
    let mut battles: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for &((a, b), counts) in pairs {
        if on_board.contains(&(a as usize)) {
            *battles.entry((a.min(b), a.max(b))).or_default() += counts.total();
        }
    }
    let n_thin = battles.values().filter(|&&n| n < THIN_PAIR_BATTLES).count();
    (battles.len(), n_thin)
}

fn models(n: usize) -> String {
    if n == 1 {
        "1 model".to_owned()
    } else {
        format!("{n} models")
    }
}

fn nearest(given: &str, names: &[String]) -> Option<String> {
    names
        .iter()
        .map(|name| (strsim::osa_distance(given, name), name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(2))
        .min()
        .map(|(_, name)| name.clone())
}

impl App {
    /// The leaderboard of all votes, the newest included. Computed again only when there is a new vote.
    ///
    /// # Errors
    ///
    /// [`AppError::Store`]; [`AppError::Internal`] when the numbers refuse.
    pub async fn leaderboard(&self) -> Result<Arc<Board>, AppError> {
        let newest = self
            .store()
            .last_sequence()
            .await
            .map_err(AppError::Store)?;
        if let Some((sequence, board)) = &*self.inner.board.read().await
            && *sequence == newest
        {
            return Ok(Arc::clone(board));
        }
        let (tally, sequence) = self.store().tally().await.map_err(AppError::Store)?;
        let n_votes = tally.total();
        let input = InputBody {
            rows: n_votes,
            kept: n_votes,
            sources: vec![SourceBody {
                path: "this arena".to_owned(),
                format: "store".to_owned(),
                rows: n_votes,
                kept: n_votes,
                sha256: None,
            }],
            ..InputBody::default()
        };
        let settings = Settings::default();
        let board = match rank(tally, &settings, input.clone()) {
            Ok(board) => board,
            // Before the first vote there is nothing to rank, which is no failure.
            Err(RankError::NoBattles) => Board {
                leaderboards: Vec::new(),
                input,
                settings,
            },
            Err(error) => {
                return Err(AppError::Internal {
                    what: "ranking the votes",
                    source: error.into(),
                });
            }
        };
        let board = Arc::new(board);
        let mut kept = self.inner.board.write().await;
        // Another request may have been faster with a newer vote.
        if kept.as_ref().is_none_or(|(known, _)| *known < sequence) {
            *kept = Some((sequence, Arc::clone(&board)));
        }
        Ok(board)
    }
}
