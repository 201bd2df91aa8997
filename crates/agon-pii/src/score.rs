//! From evidence to a score: log-odds that add up, and one place for the numbers that all rules share.
//!
//! logit = prior(shape) + ln(1 / chance of passing the check by accident) + separators as printed + words around it + language − arithmetic or code around it;
//! score = 1 / (1 + e^−logit).
//! A check that random digits pass one time in ten can therefore not make a bare number personal data.
//! The values are rounded and set by hand; `docs/safety.md` says on what they were measured.

use crate::context::Strength;

/// Bare digits: nearly always an amount, an id of something else, or arithmetic.
pub(crate) const PRIOR_BARE_DIGITS: f64 = -5.5;
/// Digits with separators between groups.
pub(crate) const PRIOR_GROUPED_DIGITS: f64 = -4.0;
/// Letters and digits in a fixed order.
pub(crate) const PRIOR_LETTERS: f64 = -3.0;
/// Letters in lower case where documents print capitals.
pub(crate) const LOWER_CASE: f64 = -1.0;
/// Arithmetic, money or code right beside the value.
pub(crate) const ARITHMETIC: f64 = -3.0;
/// More groups of digits right beside the value.
pub(crate) const MORE_GROUPS: f64 = -1.5;
/// A hyphen or slash joins the value to a word.
pub(crate) const JOINED_TO_WORD: f64 = -1.5;
/// Version, ISBN, DOI and the like in front of the value.
pub(crate) const REFERENCE: f64 = -4.0;
/// The caller's language is spoken in the issuing country.
pub(crate) const LANGUAGE_MATCHES: f64 = 1.0;
/// The caller's language is not spoken in the issuing country.
pub(crate) const LANGUAGE_DIFFERS: f64 = -0.5;
/// The issuing country is named nearby.
pub(crate) const COUNTRY_NAMED: f64 = 2.0;
/// Only another country is named nearby.
pub(crate) const OTHER_COUNTRY_NAMED: f64 = -2.0;
/// A check failed that valid documents may fail too.
pub(crate) const FAILED_CHECK: f64 = -1.5;
/// The most that a value with a failed check can have: a score of 0.7.
pub(crate) const FAILED_CHECK_MAX: f64 = 0.85;
/// Without any word nearby, a value with a failed check stays at a score below 0.4.
pub(crate) const FAILED_CHECK_ALONE_MAX: f64 = -0.6;
/// Check digits alone on bare digits, when one random value in 23 or more passes: a score below 0.4.
pub(crate) const CHECK_ALONE_MAX: f64 = -0.6;

/// Log-odds that a word nearby adds.
pub(crate) const fn of_word(strength: Strength) -> f64 {
    match strength {
        Strength::Label => 7.0,
        Strength::Beside => 6.0,
        Strength::Near => 4.0,
        Strength::SharedBeside => 5.0,
        Strength::SharedNear => 2.5,
    }
}

/// The score of log-odds, from 0 to 1.
pub(crate) fn score(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// The log-odds of a score.
pub(crate) fn log_odds(score: f64) -> f64 {
    (score / (1.0 - score)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_alone_never_makes_bare_digits_personal() {
        for one_in in [10.0_f64, 11.0, 23.0] {
            assert!(score(PRIOR_BARE_DIGITS + one_in.ln()) < 0.4);
        }
    }

    #[test]
    fn a_word_beside_bare_digits_does() {
        assert!(score(PRIOR_BARE_DIGITS + of_word(Strength::Beside)) > 0.4);
        assert!((log_odds(score(1.25)) - 1.25).abs() < 1e-9);
    }
}
