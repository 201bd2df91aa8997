//! The panel of checks, in the words of the page.

use crate::app::leaderboard::{Check, CheckValue};

/// Entries of a list that are shown; the API has them all.
const LISTED_MAX: usize = 6;

/// What each check says when it is passed.
const TITLES: &[(&str, &str)] = &[
    ("connected", "All models are connected by battles."),
    ("rated", "Ratings can be computed."),
    ("separation", "Every model has scored both ways."),
    ("converged", "The fit has reached its optimum."),
    ("optimum", "The fit has one optimum."),
    ("conditioned", "The fit is numerically sound."),
    ("intervals", "Every rating has a range."),
    ("enough_battles", "Every model has enough battles."),
    ("pairs", "Every pair has met often."),
    (
        "all_models_compared",
        "Every model has a battle that counts.",
    ),
    ("calibrated", "Ratings predict how often favourites win."),
    (
        "dispersion",
        "One number for each model explains the votes.",
    ),
    (
        "interval_agreement",
        "Ranges are as wide as the model expects.",
    ),
    ("sides", "Voters prefer neither side."),
    ("judges", "Votes come from many voters."),
    (
        "first_place_votes",
        "First place does not hang on a few votes.",
    ),
    ("top_votes", "The best five do not hang on a few votes."),
    (
        "first_place_judges",
        "First place does not hang on a few voters.",
    ),
    ("top_judges", "The best five do not hang on a few voters."),
];

/// A check as the page lists it.
pub(super) struct ListedCheck {
    pub(super) passed: bool,
    pub(super) title: String,
    pub(super) detail: String,
    /// The numbers behind the words: name and value.
    pub(super) values: Vec<(String, String)>,
}

impl From<&Check> for ListedCheck {
    fn from(check: &Check) -> Self {
        let title = TITLES
            .iter()
            .find(|(name, _)| *name == check.check)
            .map_or(check.check.as_str(), |(_, title)| title);
        Self {
            passed: check.passed,
            title: if check.passed {
                title.to_owned()
            } else {
                format!("Not passed: {}", lower_first(title))
            },
            detail: check.detail.clone(),
            values: check
                .values
                .iter()
                .filter_map(|(name, value)| Some((name.replace('_', " "), words(value)?)))
                .collect(),
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_lowercase().chain(characters).collect())
        .unwrap_or_default()
}

/// A value in words; `None` for measures by bin, which the plot of the calibration shows.
fn words(value: &CheckValue) -> Option<String> {
    match value {
        CheckValue::Count(count) => Some(count.to_string()),
        CheckValue::Number(number) => Some(measure(*number)),
        CheckValue::Numbers(_) => None,
        CheckValue::Text(text) => Some(text.clone()),
        CheckValue::Texts(texts) if texts.is_empty() => Some("none".to_owned()),
        CheckValue::Texts(texts) => {
            let mut text = texts[..texts.len().min(LISTED_MAX)].join(", ");
            if texts.len() > LISTED_MAX {
                text.push_str(&format!(" and {} more", texts.len() - LISTED_MAX));
            }
            Some(text)
        }
    }
}

/// A number with about four digits that count.
fn measure(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || (1e-3..1e6).contains(&size) {
        let decimals = if size >= 100.0 {
            1
        } else if size >= 1.0 {
            2
        } else {
            4
        };
        let text = format!("{number:.decimals$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    } else {
        format!("{number:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name that stands in the source of the checks, so that a new check without a title fails here.
    fn names_of_checks() -> Vec<String> {
        let sources = [
            include_str!("../../../app/leaderboard/checks.rs"),
            include_str!("../../../app/leaderboard/checks/fit.rs"),
            include_str!("../../../app/leaderboard/checks/influence.rs"),
            include_str!("../../../app/leaderboard/checks/votes.rs"),
            include_str!("../../../app/leaderboard/methods.rs"),
            include_str!("../../../app/leaderboard/methods/ties.rs"),
        ];
        let mut names = Vec::new();
        for source in sources {
            for (at, call) in source.match_indices("Check::new(") {
                let arguments = source[at + call.len()..].trim_start();
                if let Some(text) = arguments.strip_prefix('"') {
                    names.extend(text.split('"').next().map(str::to_owned));
                }
            }
        }
        // These four are chosen by a table.
        names.extend(
            [
                "first_place_votes",
                "top_votes",
                "first_place_judges",
                "top_judges",
            ]
            .map(str::to_owned),
        );
        names
    }

    #[test]
    fn every_check_has_a_title() {
        let names = names_of_checks();
        assert!(names.len() > 18, "the source was not understood: {names:?}");
        for name in &names {
            assert!(
                TITLES.iter().any(|(known, _)| known == name),
                "the check `{name}` has no title"
            );
        }
        for (known, _) in TITLES {
            assert!(
                names.iter().any(|name| name == known),
                "there is no check `{known}`"
            );
        }
    }

    #[test]
    fn a_failed_check_says_so_and_numbers_are_short() {
        let check = Check {
            check: "sides".to_owned(),
            passed: false,
            detail: "voters prefer a side".to_owned(),
            values: [
                ("score_a".to_owned(), CheckValue::Number(0.512_345_6)),
                ("p".to_owned(), CheckValue::Number(0.000_012)),
                (
                    "models".to_owned(),
                    CheckValue::Texts((1..=9).map(|n| format!("m{n}")).collect()),
                ),
                ("votes".to_owned(), CheckValue::Number(1234.0)),
                ("bins".to_owned(), CheckValue::Numbers(vec![0.5, 12.34])),
            ]
            .into(),
        };
        let listed = ListedCheck::from(&check);
        assert_eq!(listed.title, "Not passed: voters prefer neither side.");
        let value = |name: &str| {
            let found = listed.values.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("score a"), Some("0.5123"));
        assert_eq!(value("p"), Some("1.2e-5"));
        assert_eq!(value("models"), Some("m1, m2, m3, m4, m5, m6 and 3 more"));
        assert_eq!(value("votes"), Some("1234"));
        assert_eq!(value("bins"), None);
    }
}
