//! Whether votes were cast evenly: by side, and by judge.

use std::borrow::Cow;

use agon_ranking::influence::{
    SideBias, Sides, judge_concentration, side_bias, side_bias_of_fit, votes_of_judges,
};

use super::{Check, CheckInput, Effort, Fit, counted, grouped, percent};

/// An advantage of a side below this share of the points is no reason to distrust, however certain it is.
const SIDE_SLACK: f64 = 0.01;
/// One judge with more than this share of the votes is a reason to distrust.
const BUSIEST_MAX: f64 = 0.1;
/// Fewer equally busy judges than this leave errors by judge uncertain (Cameron & Miller 2015, §VI).
const JUDGES_MIN: f64 = 30.0;

/// The advantage of side A, with its test.
pub(super) fn sides(input: &CheckInput<'_>, fit: &Fit<'_>, effort: Effort) -> Option<Check> {
    let fitted = fit.fitted;
    let step = || {
        let sides = match fit.sides {
            Some(sides) => Cow::Borrowed(sides),
            None => Cow::Owned(Sides::of((fit.sided)())),
        };
        side_bias_of_fit(fitted, &sides, fit.level)
    };
    let exact = || {
        let mut is_rated = vec![false; input.names.len()];
        for &model in &fitted.models {
            is_rated[model] = true;
        }
        // Other groups must not become the main board of this fit.
        let mut rows = (fit.sided)();
        rows.retain(|row| is_rated[row.a as usize] && is_rated[row.b as usize]);
        side_bias(input.names.len(), &rows, None, fit.level)
    };
    let (bias, basis) = match effort {
        Effort::Quick => (step(), "one step"),
        Effort::Full => (exact(), "fit"),
    };
    let Ok(bias) = bias else {
        // With features the step does not exist, and says nothing about the votes.
        if effort == Effort::Quick && !fitted.fit.coefficients.is_empty() {
            return None;
        }
        return Some(Check::new(
            "sides",
            false,
            "sides and models cannot be told apart: a preference for one side would look like strength",
        ));
    };
    Some(side_check(&bias, basis, fit.level))
}

fn side_check(bias: &SideBias, basis: &str, level: f64) -> Check {
    let coefficient = &bias.coefficient;
    let certain = coefficient.lower > 0.0 || coefficient.upper < 0.0;
    let passed = !certain || (bias.score - 0.5).abs() < SIDE_SLACK;
    let z = if coefficient.standard_error > 0.0 {
        coefficient.estimate / coefficient.standard_error
    } else {
        0.0
    };
    // Two-sided, under the normal approximation: P(|Z| > |z|) = erfc(|z| / √2).
    let p = libm::erfc(z.abs() / std::f64::consts::SQRT_2);
    let verdict = match (certain, passed) {
        (false, _) => "no preference for a side is found",
        (true, true) => "a preference for a side is certain, but too small to matter",
        (true, false) => "voters prefer a side",
    };
    Check::new(
        "sides",
        passed,
        format!(
            "{verdict}: side A scores {} against an equal ({}% interval {} to {}; z {z:.2}, p {p:.2})",
            percent(bias.score),
            super::level_text(level),
            percent(bias.score_lower),
            percent(bias.score_upper)
        ),
    )
    .with("score_a", bias.score)
    .with("score_a_lower", bias.score_lower)
    .with("score_a_upper", bias.score_upper)
    .with("log_odds", coefficient.estimate)
    .with("standard_error", coefficient.standard_error)
    .with("z", z)
    .with("p", p)
    .with("share_a", bias.share)
    .with("basis", basis)
}

/// How votes are spread over judges; nothing where it is not known who voted.
pub(super) fn judges(fit: &Fit<'_>) -> Option<Check> {
    let votes = votes_of_judges(fit.comparisons).ok()?;
    let found = judge_concentration(votes.into_iter().map(|(_, count)| count)).ok()?;
    let busiest = found.busiest as f64 / found.votes as f64;
    let few = found.effective_judges < JUDGES_MIN;
    let passed = !few && busiest <= BUSIEST_MAX;
    let mut detail = format!(
        "{} cast {}; the busiest cast {} ({}), the busiest hundredth {}; as concentrated as {:.1} equally busy judges",
        counted(found.judges, "judge"),
        counted(found.votes, "vote"),
        grouped(found.busiest),
        percent(busiest),
        percent(found.top_percent_share),
        found.effective_judges
    );
    if few {
        detail.push_str(&format!(
            ", fewer than the {JUDGES_MIN} that intervals by judge need"
        ));
    }
    Some(
        Check::new("judges", passed, detail)
            .with("judges", found.judges)
            .with("votes", found.votes)
            .with("busiest", found.busiest)
            .with("busiest_share", busiest)
            .with("top_percent_share", found.top_percent_share)
            .with("effective_judges", found.effective_judges)
            .with("gini", found.gini),
    )
}
