//! Everything that, with the votes, decides a leaderboard.

use agon_ranking::{
    LeaderboardOptions,
    elo::EloOptions,
    style_control::{DifferenceRule, Scaling},
    ties::TieModel,
};
use serde::Serialize;
use utoipa::ToSchema;

/// Battles that a model's prior rating counts as, unless told otherwise.
pub const PRIOR_BATTLES: f64 = 10.0;
/// Battles of a pair from which re-weighting divides by their number, unless told otherwise (arena-rank's constant).
pub const PAIR_BATTLES_MIN: u64 = 50;
/// Rounds of a bootstrap, unless told otherwise.
pub const BOOTSTRAP_ROUNDS: usize = 1_000;
/// Simulated boards behind simultaneous intervals.
pub const SIMULTANEOUS_DRAWS: usize = 10_000;

/// How ratings come about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Maximum likelihood of all votes at once.
    #[default]
    BradleyTerry,
    /// One pass over the votes in time order.
    Elo,
    /// Mean over opponents of the win rate against each.
    WinRate,
}

/// What a tie counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TieRule {
    /// Half a win for each side.
    #[default]
    Half,
    /// Nothing: such votes are left out of the fit.
    Drop,
    /// An outcome of its own, as Davidson has it.
    Davidson,
    /// An outcome of its own, as Rao and Kupper have it.
    RaoKupper,
    /// An outcome of its own beside both bad, which gives each model an absolute level.
    Grounded,
}

impl TieRule {
    /// The model in which a tie is an outcome of its own, if it is one.
    pub fn model(self) -> Option<TieModel> {
        match self {
            Self::Half | Self::Drop => None,
            Self::Davidson => Some(TieModel::Davidson),
            Self::RaoKupper => Some(TieModel::RaoKupper),
            Self::Grounded => Some(TieModel::GroundedRaoKupper),
        }
    }
}

/// What both bad counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BothBadRule {
    /// Half a win for each side.
    #[default]
    Half,
    /// Nothing: such votes are left out of the fit.
    Drop,
    /// A loss for both sides.
    Loss,
    /// The same as a tie, which is an outcome of its own.
    Tie,
    /// An outcome of its own.
    Outcome,
}

/// Where intervals come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// The sandwich covariance.
    #[default]
    Sandwich,
    /// The inverse Fisher information.
    Model,
    /// The sandwich covariance with the votes of one judge taken together.
    Cluster,
    /// Votes drawn anew.
    Bootstrap,
    /// Judges drawn anew, each with all votes.
    ClusterBootstrap,
    /// There are none.
    None,
}

impl IntervalMethod {
    /// Whether it has to be known who voted.
    pub const fn needs_judges(self) -> bool {
        matches!(self, Self::Cluster | Self::ClusterBootstrap)
    }

    /// Whether votes or judges are drawn anew.
    pub const fn is_bootstrap(self) -> bool {
        matches!(self, Self::Bootstrap | Self::ClusterBootstrap)
    }
}

/// Another program whose board is reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// FastChat as of April 2025.
    #[serde(rename = "fastchat")]
    FastChat,
    /// arena-rank 0.1.1.
    ArenaRank,
}

/// How the counts of two sides become a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// (a − b) / (a + b + 1), FastChat's.
    #[default]
    Relative,
    /// (a − b) / (a + b), and 0 when both are 0: that of arena-rank's examples.
    ArenaRank,
}

impl Difference {
    /// The rule as a function of the counts of side A and side B; `None` for a count below 0, to which both rules would give a wrong sign.
    pub fn function(self) -> fn(f64, f64) -> Option<f64> {
        match self {
            Self::Relative => |a, b| of_counts(DifferenceRule::PlusOne, a, b),
            Self::ArenaRank => |a, b| of_counts(DifferenceRule::ZeroWhenEmpty, a, b),
        }
    }
}

fn of_counts(rule: DifferenceRule, a: f64, b: f64) -> Option<f64> {
    (a >= 0.0 && b >= 0.0).then(|| rule.apply(a, b))
}

/// How style enters the fit.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StyleSettings {
    /// Which features, in the order of their coefficients.
    pub features: Vec<String>,
    /// How the counts of two sides become a difference.
    pub difference: Difference,
    /// Penalty ½ · ridge · ‖coefficients‖² on the summed loss; 0 for none. A preset brings its own.
    pub ridge: f64,
    /// Whether features are centred, which makes ratings depend on the sides. Presets do.
    pub centred: bool,
}

impl StyleSettings {
    pub(super) fn scaling(&self) -> Scaling {
        if self.centred {
            Scaling::Centred
        } else {
            Scaling::Uncentred
        }
    }
}

/// How much single votes count.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum WeightSetting {
    /// 1 / max(battles of the pair, `battles_min`): pairs that met often count alike.
    Pair {
        /// Battles of a pair from which on it counts as one.
        battles_min: u64,
    },
    /// The number in a column.
    Column {
        /// Which.
        column: String,
    },
    /// 1 / the probability, recorded in a column, with which the pair was drawn.
    Recorded {
        /// Which.
        column: String,
    },
}

impl WeightSetting {
    /// The column to be read.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Pair { .. } => None,
            Self::Column { column } | Self::Recorded { column } => Some(column),
        }
    }
}

/// The share of one source in the fit.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SourceWeight {
    /// Its path, or a folder above it.
    pub path: String,
    /// Its share in the objective, whatever its number of votes.
    pub weight: f64,
}

/// Known ratings that the fit is drawn towards.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PriorSetting {
    /// The board they are from.
    pub path: String,
    /// SHA-256 of that file.
    pub sha256: String,
    /// How many votes against an equal each prior rating counts as.
    pub battles: f64,
}

/// A value that a column must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Condition {
    /// The column.
    pub column: String,
    /// Its value.
    pub value: String,
}

/// Which parts of the votes get boards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct SliceSettings {
    /// Columns, each value of which gets a board.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// Categories that get a board.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// What every vote must fulfil.
    #[serde(rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The earliest time of a vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The time that votes are before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Whether each period holds the ones before it too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cumulative: bool,
}

impl SliceSettings {
    /// Whether all votes make one board.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// What makes a vote a repeated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DedupRule {
    /// The id of an earlier row.
    Id,
    /// Everything that says who judged what and when.
    Content,
}

/// What ratings are measured from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum LocationSetting {
    /// The plain mean of the rated models has the initial rating.
    #[default]
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
    pub method: Method,
    /// Another program whose board is reproduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Where the intervals come from.
    pub interval: IntervalMethod,
    /// Confidence level of the intervals.
    pub level: f64,
    /// Rounds of a bootstrap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_rounds: Option<usize>,
    /// Simulated boards behind intervals and places that hold all at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simultaneous_draws: Option<usize>,
    /// The seed, where chance has a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
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
    pub both_bad: BothBadRule,
    /// Models with fewer battles are shown as provisional.
    pub min_battles: u64,
    /// How style enters the fit, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<StyleSettings>,
    /// Penalty ½ · `ridge_strengths` · ‖strengths‖² on the summed loss; 0 for none.
    #[serde(skip_serializing_if = "is_zero")]
    pub ridge_strengths: f64,
    /// Whether the advantage of side A is estimated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub order_effect: bool,
    /// How much single votes count, where not all count alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightSetting>,
    /// Shares of the sources, where these are set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source_weights: Vec<SourceWeight>,
    /// Known ratings that the fit is drawn towards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<PriorSetting>,
    /// Largest change of a rating by one vote, of online Elo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<f64>,
    /// Which parts of the votes get boards.
    #[serde(skip_serializing_if = "SliceSettings::is_plain")]
    pub slices: SliceSettings,
    /// What made a vote a repeated one, which was then rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedup: Option<DedupRule>,
}

impl Default for Settings {
    fn default() -> Self {
        let options = LeaderboardOptions::default();
        Self {
            agon_version: env!("CARGO_PKG_VERSION").to_owned(),
            method: Method::default(),
            preset: None,
            interval: IntervalMethod::default(),
            level: options.level,
            bootstrap_rounds: None,
            simultaneous_draws: None,
            seed: None,
            location: LocationSetting::default(),
            scale: options.scale,
            base: options.base,
            init: options.init,
            ties: TieRule::default(),
            both_bad: BothBadRule::default(),
            min_battles: options.min_battles,
            style: None,
            ridge_strengths: 0.0,
            order_effect: false,
            weights: None,
            source_weights: Vec::new(),
            prior: None,
            k: None,
            slices: SliceSettings::default(),
            dedup: None,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Settings {
    /// What the method is called on a board.
    pub fn method_name(&self) -> &'static str {
        match (self.preset, self.method, self.ties) {
            (Some(Preset::FastChat), ..) => "fastchat",
            (Some(Preset::ArenaRank), ..) => "arena-rank",
            (None, Method::Elo, _) => "elo",
            (None, Method::WinRate, _) => "win-rate",
            (None, Method::BradleyTerry, TieRule::Davidson) => "davidson",
            (None, Method::BradleyTerry, TieRule::RaoKupper) => "rao-kupper",
            (None, Method::BradleyTerry, TieRule::Grounded) => "grounded-rao-kupper",
            (None, Method::BradleyTerry, TieRule::Half | TieRule::Drop) => "bradley-terry",
        }
    }

    /// Whether counts by pair of models are not enough.
    pub fn needs_rows(&self) -> bool {
        self.method == Method::Elo
            || self.style.is_some()
            || self.interval.needs_judges()
            || self
                .weights
                .as_ref()
                .is_some_and(|weights| weights.column().is_some())
            || !self.source_weights.is_empty()
            || !self.slices.is_plain()
    }

    /// Whether boards have intervals.
    pub fn has_intervals(&self) -> bool {
        self.interval != IntervalMethod::None
    }

    pub(super) fn elo_options(&self) -> EloOptions {
        EloOptions {
            k: self.k.unwrap_or(EloOptions::default().k),
            scale: self.scale,
            base: self.base,
            initial: self.init,
        }
    }
}
