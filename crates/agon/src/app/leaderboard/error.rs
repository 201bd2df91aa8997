//! Why there is no leaderboard.

use super::MODELS_MAX;

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
    /// The votes do not say who cast them.
    #[error("the votes do not say who cast them")]
    NoJudges,
    /// The votes do not say when they were cast.
    #[error("the votes do not say when they were cast")]
    NoTimes,
    /// No column of style features holds a number.
    #[error("no style feature can be used: {detail}")]
    NoFeatures {
        /// What is wrong with each.
        detail: String,
    },
    /// No column of weights holds one.
    #[error("no row has a usable weight in `{column}`: expected {expected}{found}")]
    NoWeights {
        /// The column.
        column: String,
        /// What a weight is.
        expected: &'static str,
        /// The first value that is none, with its place as far as it is known, in words.
        found: String,
    },
    /// A relative difference is one of counts.
    #[error(
        "the style feature `{feature}` is `{value}` for side {side} in {place}: a relative difference is made of counts, 0 or more (rows with less: {n_rows})"
    )]
    NegativeCounts {
        /// Which.
        feature: String,
        /// The side of the first count below 0: `a` or `b`.
        side: &'static str,
        /// That count.
        value: f64,
        /// Where it stands.
        place: Box<agon_dataset::Place>,
        /// Rows with a count below 0.
        n_rows: u64,
    },
    /// A category that no vote has.
    #[error("no vote has the category `{category}`")]
    UnknownCategory {
        /// The name as given.
        category: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A value that no vote has.
    #[error("no vote has `{value}` in `{column}`")]
    UnknownValue {
        /// The column.
        column: String,
        /// The value as given.
        value: String,
        /// The value most like it.
        nearest: Option<String>,
    },
    /// A column that was not read.
    #[error("there is no column `{column}`")]
    NoColumn {
        /// Its name.
        column: String,
    },
    /// A column that tells every vote from every other cuts nothing.
    #[error("the votes fall into {n_slices} parts: at most {n_slices_max} get boards")]
    TooManySlices {
        /// How many there are.
        n_slices: usize,
        /// How many there may be.
        n_slices_max: usize,
    },
    /// Neither a date nor a time.
    #[error(
        "`{text}` is neither a date, such as 2024-05-31, nor a time with its offset, such as 2024-05-31T18:00:00Z"
    )]
    Date {
        /// The text as given.
        text: String,
    },
    /// A board that cannot be a prior.
    #[error("the board cannot be a prior: {detail}")]
    Prior {
        /// What is wrong with it.
        detail: &'static str,
    },
    /// A share was given to something that is not among the sources.
    #[error("{detail}")]
    Sources {
        /// What does not fit together.
        detail: String,
    },
    /// The numbers refuse.
    #[error("no leaderboard can be computed")]
    Ranking(#[source] agon_ranking::Error),
}

impl RankError {
    /// The library's refusal, with the names of models where it has numbers.
    pub(super) fn of(error: agon_ranking::Error, names: &[String]) -> Self {
        match error {
            agon_ranking::Error::NoBattles => Self::NoBattles,
            agon_ranking::Error::AnchorNotRated { model } => Self::AnchorNotRated {
                model: names.get(model).cloned().unwrap_or_default(),
            },
            other => Self::Ranking(other),
        }
    }
}

/// The name most like the given one, if any is like it.
pub(super) fn nearest(given: &str, names: &[String]) -> Option<String> {
    names
        .iter()
        .map(|name| (strsim::osa_distance(given, name), name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(2))
        .min()
        .map(|(_, name)| name.clone())
}
