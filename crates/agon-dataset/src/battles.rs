//! Battles row by row, kept by column: what a ranking needs beside counts, such as style features, slices, judges and times.
//!
//! The sibling of [`crate::votes`]: the same decoders, the same fate for every row, another thing made of the kept ones.

pub(crate) mod chunk;
pub(crate) mod collect;
pub(crate) mod conversation;
pub(crate) mod intern;
pub(crate) mod row;
pub(crate) mod time;
pub(crate) mod wanted;

use std::{fmt, ops::Range};

use agon_domain::{MarkdownCounts, Winner};

use self::{
    collect::{Collector, Product},
    wanted::Wanted,
};
use crate::{
    Error, Input, InputReport, Place, Progress, ReadOptions, count::near_duplicates,
    votes::read_all,
};

/// What to read beside models and winner.
#[derive(Clone, Default)]
pub struct Selection<'a> {
    /// The features, each a number that compares the two answers of a row.
    pub features: Vec<FeatureRequest>,
    /// Columns whose values cut the rows into slices, by name or dotted path: `language`, `categories`, `category_tag.math_v0.1.math`.
    ///
    /// `turns` also finds `turn`, `num_turns` and `conv_metadata.turns`; `language` also finds `languages`, and `category` finds `categories`.
    pub slices: Vec<String>,
    /// Whether a source may lack a slice, whose values are then missing, or have one value in some rows and many in others, of which then none are read. For looking at an input, not for ranking it.
    pub optional_slices: bool,
    /// Whether to read who voted: `judge`, else `judge_hash`, `user_id` or `visitor_id`.
    pub judge: bool,
    /// Whether to read when the vote was cast: `tstamp`, else `timestamp`, `time` or `created_at`.
    pub time: bool,
    /// A column of numbers with the weight or the sampling probability of each row.
    pub weight: Option<String>,
    /// Counts the answers of one side, for rows whose `conv_metadata` are missing. `None` leaves such features missing.
    pub conversation_features: Option<&'a ConversationCounter>,
}

impl fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection")
            .field("features", &self.features)
            .field("slices", &self.slices)
            .field("optional_slices", &self.optional_slices)
            .field("judge", &self.judge)
            .field("time", &self.time)
            .field("weight", &self.weight)
            .field(
                "conversation_features",
                &self.conversation_features.is_some(),
            )
            .finish()
    }
}

/// Counts the answers of one side of a battle, given in their order.
pub type ConversationCounter = dyn Fn(&[&str]) -> AnswerStyle + Sync;

/// How long and how formatted the answers of one side are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerStyle {
    /// Tokens of all answers.
    pub tokens: u32,
    /// Markdown elements of all answers.
    pub markdown: MarkdownCounts,
}

/// A feature to be read.
///
/// | name | numbers of a side |
/// |---|---|
/// | `length` | `conv_metadata.sum_assistant_a_tokens`, `…_b_…` |
/// | `headers` | `conv_metadata.header_count_a`, `…_b`: its members `h1` to `h6` summed |
/// | `lists` | `conv_metadata.list_count_a`, `…_b`: its members `ordered` and `unordered` summed |
/// | `bold` | `conv_metadata.bold_count_a`, `…_b`: its members `**` and `__` summed |
/// | any other NAME | `NAME_a` and `NAME_b`, else `NAME_model_a` and `NAME_model_b`, each also inside `conv_metadata`; else one column NAME that holds a minus b already |
///
/// `conv_metadata` is a group of columns, an object, JSON in a cell, or spelled out in the names of columns (`conv_metadata.bold_count_a.__`, or without `conv_metadata.`).
/// A member of a group that is absent adds nothing; one that is null or no finite number makes the feature missing in that row.
#[derive(Clone, Debug)]
pub struct FeatureRequest {
    /// Its name.
    pub name: String,
    /// What becomes of the numbers of side A and side B, such as (a − b) / (a + b + 1); `None` where it is not made for such numbers.
    pub difference: fn(f64, f64) -> Option<f64>,
}

/// A row of whose numbers a feature makes no difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefusedNumbers {
    /// The row of [`Battles`], from 0.
    pub battle: usize,
    /// The row of its source, from 1.
    pub row: u64,
    /// The line on which it begins, from 1, in text formats.
    pub line: Option<u64>,
    /// The numbers of side A and side B.
    pub numbers: [f64; 2],
}

/// Rows of refused numbers that are remembered for each feature.
pub(crate) const REFUSED_MAX: usize = 1_000_000;

/// The kept rows of all sources, in the order of reading, by column.
#[derive(Clone, Debug, Default)]
pub struct Battles {
    /// The names of the models of the kept rows, each once, in the order of names.
    pub models: Vec<String>,
    /// The model on side A of each row, as a position in `models`.
    pub model_a: Vec<u32>,
    /// The model on side B of each row, as a position in `models`.
    pub model_b: Vec<u32>,
    /// What each vote says.
    pub winner: Vec<Winner>,
    /// The rows of each source, in the order of [`InputReport::sources`].
    pub sources: Vec<Range<usize>>,
    /// The features asked for, in that order.
    pub features: Vec<FeatureColumn>,
    /// Who voted, when asked for.
    pub judges: Option<Judges>,
    /// When the vote was cast, in seconds since 1970 UTC, when asked for; NaN where missing.
    ///
    /// Numbers without a unit of their own are seconds, milliseconds, microseconds or nanoseconds by their size, one unit for a source; dates in text without an offset are UTC.
    pub times: Option<Vec<f64>>,
    /// The slices asked for, in that order.
    pub slices: Vec<SliceColumn>,
    /// The weights, when asked for; NaN where missing.
    pub weights: Option<Vec<f64>>,
    /// The first value in the column of weights that is no finite number.
    pub first_text_weight: Option<Place>,
}

/// A feature of each row.
#[derive(Clone, Debug)]
pub struct FeatureColumn {
    /// The name that was asked for.
    pub name: String,
    /// Its value in each row; NaN where missing.
    pub values: Vec<f64>,
    /// Rows in which it is missing.
    pub n_missing: u64,
    /// Rows in which it was counted from the conversations.
    pub n_from_conversations: u64,
    /// Where it comes from in each source, in the order of [`InputReport::sources`].
    pub origins: Vec<FeatureOrigin>,
    /// Rows whose numbers [`FeatureRequest::difference`] does not take; the feature is missing there.
    pub n_refused: u64,
    /// The first million of them.
    pub refused: Vec<RefusedNumbers>,
    /// The first value in one of its columns that is no finite number.
    pub first_text: Option<Place>,
}

/// Where the values of a feature come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeatureOrigin {
    /// From a number, or a group of them, for each side.
    Sides,
    /// From one column that holds the difference already.
    Difference,
    /// From the conversations in every row.
    Conversations,
    /// The source has no row that can be read.
    NoRows,
}

/// Who voted, told apart and not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judges {
    /// The judge of each row, numbered from 0 in the order of first appearance; [`u32::MAX`] where missing.
    pub codes: Vec<u32>,
    /// How many there are.
    pub n_judges: u32,
}

/// Texts as codes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The distinct texts, in the order of first appearance.
    pub values: Vec<String>,
    /// The text of each row, as a position in `values`; [`u32::MAX`] where missing.
    pub codes: Vec<u32>,
}

/// The values of a column that cuts the rows into slices.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceColumn {
    /// The name that was asked for.
    pub name: String,
    /// Its values.
    pub values: SliceValues,
}

/// The values of a slice column.
#[derive(Clone, Debug, PartialEq)]
pub enum SliceValues {
    /// One text for each row. Truth values are `true` and `false`; numbers are their digits.
    One(Labels),
    /// Any number of labels for each row: the true ones of a group of truth values, or a list of texts.
    Many {
        /// The labels, at most 64: those of a group in its order, those of lists in the order of first appearance.
        labels: Vec<String>,
        /// The labels of each row: bit `i` is label `i`.
        bits: Vec<u64>,
    },
}

/// Reads battles from all inputs, one after the other, by column.
///
/// Rows are recognised, kept and rejected as by [`crate::read_votes`].
/// The result is the same for any number of threads.
///
/// # Errors
///
/// Those of [`crate::read_votes`], and the first source that lacks a selected column, mixes units of time, or has more labels than fit.
pub fn read_battles(
    inputs: Vec<Input>,
    options: &ReadOptions<'_>,
    selection: &Selection<'_>,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(Battles, InputReport), Error> {
    let wanted = Wanted::new(selection, options.dedup);
    let collector = Collector::new(&wanted, Product::Battles, options);
    let (_, mut report) = read_all(inputs, options, Some(&collector), on_progress)?;
    let battles = collector.into_battles();
    report.near_duplicates = near_duplicates(&battles.models);
    Ok((battles, report))
}

#[cfg(test)]
mod tests;
