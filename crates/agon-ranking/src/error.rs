//! What can be wrong with comparisons, options or a fit, by what a caller would do about it.

/// Everything this crate refuses.
///
/// Models and features are named by their index: the caller, who knows their names, adds them to its own message.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to rate.
    #[error("no battles: at least one comparison of two models is needed")]
    NoBattles,
    /// A comparison names a model that does not exist.
    #[error(
        "model index `{model}` in row `{row}` is out of range: expected less than `{n_models}`"
    )]
    ModelOutOfRange {
        /// The row's position in the input, from 0.
        row: usize,
        /// The index that was given.
        model: u32,
        /// The number of models that was declared.
        n_models: usize,
    },
    /// A model is compared with itself, which says nothing about any model.
    #[error("row `{row}` compares model `{model}` with itself: expected two different models")]
    SelfComparison {
        /// The row's position in the input, from 0.
        row: usize,
        /// The model on both sides.
        model: u32,
    },
    /// An outcome is not a number from 0 (the second model wins) to 1 (the first model wins).
    #[error("outcome `{outcome}` in row `{row}` is not usable: expected a number from 0 to 1")]
    Outcome {
        /// The row's position in the input, from 0.
        row: usize,
        /// The outcome that was given.
        outcome: f64,
    },
    /// A weight is not a positive finite number.
    #[error("weight `{weight}` in row `{row}` is not usable: expected a finite number above 0")]
    Weight {
        /// The row's position in the input, from 0.
        row: usize,
        /// The weight that was given.
        weight: f64,
    },
    /// A row stands for no battle at all.
    #[error("count `0` in row `{row}` is not usable: expected 1 or more")]
    Count {
        /// The row's position in the input, from 0.
        row: usize,
    },
    /// A feature is not a finite number.
    #[error("feature `{feature}` in row `{row}` is `{value}`: expected a finite number")]
    Feature {
        /// The row's position in the input, from 0.
        row: usize,
        /// The feature's position in the row, from 0.
        feature: usize,
        /// The value that was given.
        value: f64,
    },
    /// A column (features or clusters) does not have the length that the rows ask for.
    #[error("a column has `{found}` values: expected `{expected}` for the given rows")]
    Length {
        /// How many values were given.
        found: usize,
        /// How many values the rows ask for.
        expected: usize,
    },
    /// The comparisons do not tie all models together, so no finite maximum exists.
    ///
    /// [`leaderboard()`](crate::leaderboard()) splits such comparisons; a bare fit refuses them.
    #[error(
        "no finite ratings exist: the models fall into `{strong}` groups without wins both ways (`{connected}` groups that never met): expected one group"
    )]
    NotConnected {
        /// Number of groups that never met each other.
        connected: usize,
        /// Number of strongly connected components of the graph "scored against".
        strong: usize,
    },
    /// A feature is constant zero, or a combination of the models and the features before it.
    #[error("feature `{feature}` carries no information of its own: leave it out")]
    CollinearFeature {
        /// The feature's position, from 0.
        feature: usize,
    },
    /// The information matrix is singular to working precision.
    #[error(
        "the comparisons tie the models together too weakly for double precision: leave out the rarest models"
    )]
    Singular,
    /// Newton's method stopped before the gradient was small enough.
    #[error(
        "the fit did not converge in `{iterations}` iterations: gradient `{gradient_max}`, expected at most `{gradient_limit}`"
    )]
    NotConverged {
        /// Newton steps taken.
        iterations: usize,
        /// Largest absolute gradient entry reached.
        gradient_max: f64,
        /// The limit it had to meet.
        gradient_limit: f64,
    },
    /// An option is outside of what makes sense.
    #[error("option `{option}` is `{value}`: expected {expected}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// The value that was given.
        value: f64,
        /// What would be accepted.
        expected: &'static str,
    },
    /// The anchor model does not exist or cannot be rated, so nothing can be measured from it.
    #[error("model `{model}` cannot be the anchor: expected a rated model")]
    AnchorNotRated {
        /// The anchor's index.
        model: usize,
    },
    /// Errors clustered by judge were asked for, but the comparisons do not say who voted.
    #[error("the comparisons carry no clusters: give one cluster for each row")]
    NoClusters,
    /// A tie model was asked for that does not know "both bad" as an outcome.
    #[error(
        "`{battles}` battles were called both bad, which this model does not know: expected none, or the grounded model"
    )]
    BothBad {
        /// How many there are.
        battles: u64,
    },
    /// The tie parameter is at the edge of its range, where it has no interval.
    #[error("no battle was a tie: expected at least one, or a model without ties")]
    NoTies,
    /// Strengths and the tie parameter can grow together for ever and predict every result.
    #[error(
        "no finite estimate exists: wins and ties never contradict each other, expected a cycle of results with more wins than ties"
    )]
    SeparatedTies,
    /// Models cannot be placed against the bar "good enough", so no absolute level exists.
    #[error(
        "`{models}` models are not tied to the bar both ways: expected each to have passed it and failed it, directly or through others"
    )]
    NotGrounded {
        /// Number of models without a finite level.
        models: usize,
    },
    /// An absolute level was asked for of a model that measures strengths from their mean.
    #[error("this model has no absolute level: expected the grounded model")]
    NoLevel,
    /// A correlation was asked for of values that do not vary.
    #[error("the values do not vary: expected at least two different ones on both sides")]
    NoVariation,
    /// A model stands on a board twice.
    #[error("model `{model}` is on the board twice: expected each model once")]
    RepeatedModel {
        /// The model's number.
        model: usize,
    },
}
