//! From what services say (severities, words of likelihood) to scores from 0 to 1, and from scores to what counts.

use std::collections::BTreeMap;

use crate::{Error, ErrorKind};

/// The version of the maps in this module. It is part of every identity, so that findings by an older map are out of date.
pub const SCORE_MAP_VERSION: u32 = 1;

/// The score of a severity from 0 to 7: pairs fold to 0, 2, 4, 6, which are 0, 0.33, 0.67, 1. `None` for other numbers.
pub fn score_of_severity(severity: u64) -> Option<f64> {
    match severity {
        0 | 1 => Some(0.0),
        2 | 3 => Some(0.33),
        4 | 5 => Some(0.67),
        6 | 7 => Some(1.0),
        _ => None,
    }
}

/// The score of a word of likelihood in Google's services. `None` for `UNKNOWN`, which is no score, and for other words.
pub fn score_of_likelihood(word: &str) -> Option<f64> {
    match word {
        "VERY_UNLIKELY" => Some(0.05),
        "UNLIKELY" => Some(0.2),
        "POSSIBLE" => Some(0.5),
        "LIKELY" => Some(0.8),
        "VERY_LIKELY" => Some(0.95),
        _ => None,
    }
}

/// The score from which each category of a service counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    otherwise: f64,
    table: BTreeMap<String, f64>,
}

impl Thresholds {
    /// A threshold that no score reaches: findings are kept and decide nothing.
    pub const NEVER: f64 = 2.0;

    /// The same threshold for all categories.
    pub const fn all(threshold: f64) -> Self {
        Self {
            otherwise: threshold,
            table: BTreeMap::new(),
        }
    }

    /// Sets the threshold of one category.
    #[must_use]
    pub fn with(mut self, category: &str, threshold: f64) -> Self {
        self.table.insert(category.to_owned(), threshold);
        self
    }

    /// What FastChat blocks on: `sexual` above 0.3, or above 0.2 where a Claude model is in the battle, beside what the service itself flags.
    pub fn fastchat(has_claude: bool) -> Self {
        // It compares with `>`, findings with `>=`.
        let sexual = if has_claude { 0.2_f64 } else { 0.3_f64 };
        Self::all(Self::NEVER).with("sexual", sexual.next_up())
    }

    /// The threshold of a category.
    pub fn of(&self, category: &str) -> f64 {
        self.table.get(category).copied().unwrap_or(self.otherwise)
    }

    /// Refuses what is no category of the service and what is no threshold.
    pub(super) fn check(&self, categories: &[&str]) -> Result<(), Error> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Configuration, message));
        if let Some(category) = self
            .table
            .keys()
            .find(|category| !categories.contains(&category.as_str()))
        {
            let category: String = category.chars().take(80).collect();
            let expected = categories.join("`, `");
            return refuse(format!(
                "`{category}` is not a category of the service: expected `{expected}`"
            ));
        }
        self.check_values()
    }

    /// Refuses what is no threshold.
    pub(super) fn check_values(&self) -> Result<(), Error> {
        let is_usable = |value: f64| {
            value > 0.0 && (value <= 1.0 || (value >= Self::NEVER && value.is_finite()))
        };
        match self
            .table
            .values()
            .chain([&self.otherwise])
            .find(|value| !is_usable(**value))
        {
            Some(value) => Err(Error::new(
                ErrorKind::Configuration,
                format!(
                    "`{value}` is not a threshold: expected more than 0 and at most 1, or {} for never",
                    Self::NEVER
                ),
            )),
            None => Ok(()),
        }
    }
}
