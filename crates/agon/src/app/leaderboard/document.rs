//! The document that the page shows, the API serves and `agon rank` prints.

use std::collections::BTreeMap;

use agon_dataset::InputReport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Check, Met, Settings};

/// Leaderboards with what they were made of.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Board {
    /// One for each group of models that met; the first has most battles.
    pub leaderboards: Vec<LeaderboardBody>,
    /// What was read, and what became of it.
    pub input: InputBody,
    /// Everything that is needed to repeat the run.
    pub settings: Settings,
    /// What became of each part of the votes that was to get a board, where parts were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceBody>,
    /// How ratings went from one period to the next, where periods were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryBody>,
    /// What a reader should know about how this was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A part of the votes that was to get a board.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SliceBody {
    /// What its boards carry as `category`.
    pub category: String,
    /// The column that it was cut by; null for all votes.
    pub column: Option<String>,
    /// The value of the column; null for all votes.
    pub value: Option<String>,
    /// Its votes.
    pub battles: u64,
    /// `ranked`, or `not_ranked`: it has no boards then.
    pub status: String,
    /// Why it has no boards.
    pub reason: Option<String>,
}

/// Ratings over time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HistoryBody {
    /// `day`, `week`, `month` or `year`.
    pub unit: String,
    /// Whether each period holds the ones before it too.
    pub cumulative: bool,
    /// Whether ratings are net of style.
    pub style_control: bool,
    /// The periods, the earliest first.
    pub periods: Vec<String>,
    /// One series for each model that is on the first board of some period, in the order of names.
    pub models: Vec<HistorySeries>,
}

/// The ratings of one model over time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HistorySeries {
    /// Its name.
    pub model: String,
    /// One entry for each period; null where the model is not rated.
    pub points: Vec<Option<HistoryPoint>>,
}

/// The rating of a model in one period.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HistoryPoint {
    /// Its rating.
    pub rating: f64,
    /// Lower end of the interval.
    pub rating_lower: Option<f64>,
    /// Upper end of the interval.
    pub rating_upper: Option<f64>,
    /// Its rank.
    pub rank: Option<usize>,
    /// Its battles.
    pub battles: u64,
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
    /// Features that were asked for and are not in the fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub style_left_out: Vec<LeftOutFeature>,
    /// Votes that are not in the fit because they lack a feature or a weight, which the models' battles still count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete_rows: Option<u64>,
    /// How readily people call a tie, where a tie is an outcome of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tie: Option<TieBody>,
    /// What the bootstrap went through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapBody>,
    /// What speaks for and against trusting it.
    pub checks: Vec<Check>,
    /// What a reader should know about these numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Who met whom, where a picture shows it; not written.
    #[serde(skip)]
    #[schema(ignore)]
    pub pairs: Met,
}

/// The parameter of a model with ties.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TieBody {
    /// `nu` of Davidson's model, above 0, or `eta` of Rao and Kupper's, above 1.
    pub parameter: String,
    /// Its estimate.
    pub estimate: f64,
    /// Lower end of its interval.
    pub lower: Option<f64>,
    /// Upper end of its interval.
    pub upper: Option<f64>,
}

/// What a bootstrap went through.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BootstrapBody {
    /// Its rounds.
    pub rounds: usize,
    /// Rounds in which some model had no finite estimate; they say nothing about that model.
    pub degenerate_rounds: usize,
}

/// A feature that is not in a fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LeftOutFeature {
    /// Which.
    pub feature: String,
    /// Why: `missing` (no row has it), `out_of_range` (it has values too large for any fit), `constant` (it is the same on both sides in every row), `collinear` (the models and other features say the same), or `separates` (with the others it predicts outcomes without exception, so it has no finite coefficient).
    pub reason: String,
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
    /// Why it is provisional: `undefeated`, `winless`, `single_battle`, `other_group`, `few_battles`, `weakly_tied`, `not_linked` or `unrated`.
    pub reason: Option<String>,
    /// About how many more votes it takes until it is rated.
    pub votes_needed: Option<u64>,
    /// The same in words.
    pub note: Option<String>,
    /// Places won (above 0) or lost against the board without style control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_change: Option<i64>,
    /// Intervals and places that hold for all models at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simultaneous: Option<SimultaneousBody>,
    /// The probability that an answer of the model is good enough by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub good_enough: Option<LevelBody>,
}

/// What holds for all models at once.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SimultaneousBody {
    /// Lower end of the interval; null where none can be estimated.
    pub rating_lower: Option<f64>,
    /// Upper end of the interval; null where none can be estimated.
    pub rating_upper: Option<f64>,
    /// The best place.
    pub rank_upper: usize,
    /// The worst place.
    pub rank_lower: usize,
    /// Confidence with which the model is first, from 0 to 1.
    pub first_confidence: f64,
}

/// A probability with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LevelBody {
    /// The estimate.
    pub probability: f64,
    /// Lower end of its interval; null where none can be estimated.
    pub lower: Option<f64>,
    /// Upper end of its interval; null where none can be estimated.
    pub upper: Option<f64>,
}

/// The coefficient of a style feature.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StyleRow {
    /// Which feature.
    pub feature: String,
    /// Log-odds for one unit of it.
    pub coefficient: f64,
    /// Lower end of its interval; null where there is none.
    pub lower: Option<f64>,
    /// Upper end of its interval; null where there is none.
    pub upper: Option<f64>,
    /// What one unit is, in the feature's own numbers; 1 for the advantage of side A.
    pub unit: f64,
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
    /// Kept rows whose id an earlier row has. They are counted in. Null when there are no ids, and when they were not read, as of votes behind an address.
    pub repeated_ids: Option<u64>,
    /// Groups of model names that are nearly the same: equal letters and digits, whatever their case. They are kept apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_duplicates: Vec<Vec<String>>,
    /// Models that are counted under other names, when `agon rank --aliases` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub aliases: Option<AliasBody>,
    /// What was read.
    pub sources: Vec<SourceBody>,
    /// Files of a folder that hold no votes, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedBody>,
}

/// A table of names of models that are counted under other names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AliasBody {
    /// The version that the table gives itself.
    pub version: String,
    /// SHA-256 of its file.
    pub sha256: String,
    /// The new name of each old one.
    pub names: BTreeMap<String, String>,
    /// Kept rows in which a model was renamed.
    pub renamed_rows: u64,
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
    /// SHA-256 of its bytes as they lie there: of the compressed file, or of the whole archive.
    pub sha256: Option<String>,
    /// What its server calls this version of it, for a source behind an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The file in an archive that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
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
            aliases: None,
            sources: report
                .sources
                .iter()
                .map(|source| SourceBody {
                    path: source.path.clone(),
                    format: source.format.as_str().to_owned(),
                    rows: source.rows,
                    kept: source.kept,
                    sha256: source.sha256.clone(),
                    etag: source.etag.clone(),
                    member: source.member.clone(),
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
