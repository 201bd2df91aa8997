//! What speaks for and against trusting a leaderboard: the panel of checks, each passed or not, in words and in numbers.
//!
//! The formulas are those of `agon-ranking`; what counts as passed is decided here, by the constants below.
//! `docs/methods.md` has every check with formula, limit and source.

mod fit;
mod influence;
mod votes;

use std::collections::BTreeMap;

use agon_domain::CountedPair;
use agon_ranking::{
    Comparison, Comparisons, FitOptions, ProvisionalReason, Status, UnratedReason, influence::Sides,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::threads::{self, Threads};

/// A pair of models with fewer battles than this is thin, as the published tables mark it.
const THIN_PAIR_BATTLES: u64 = 100;
/// A model with fewer battles than this is reported by the check `enough_battles`.
const FEW_BATTLES: u64 = 30;

/// Something that was checked.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Check {
    /// What.
    pub check: String,
    /// Whether all is well.
    pub passed: bool,
    /// What was found.
    pub detail: String,
    /// The numbers and names behind the words, by name. Shares lie between 0 and 1.
    pub values: BTreeMap<String, CheckValue>,
}

/// A number, or a list, that a check found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum CheckValue {
    /// A count.
    Count(u64),
    /// A measure.
    Number(f64),
    /// One measure for each bin, in the order of the bins.
    Numbers(Vec<f64>),
    /// A word.
    Text(String),
    /// Names of models, or sentences.
    Texts(Vec<String>),
}

/// How much may be computed for the checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// What costs little beside the fit: everything but searches that fit again.
    #[default]
    Quick,
    /// Also the fewest votes and judges on which places hang, and the advantage of a side from a fit of its own.
    Full,
}

/// What the checks of one board look at.
#[derive(Clone, Copy)]
pub(super) struct CheckInput<'a> {
    /// The board.
    pub(super) board: &'a agon_ranking::Board,
    /// Names of all models, by index.
    pub(super) names: &'a [String],
    /// Votes by ordered pair of models.
    pub(super) pairs: &'a [CountedPair],
    /// How many groups of models there are that never met.
    pub(super) n_groups: usize,
    /// Models without a battle that counts.
    pub(super) without_battles: &'a [usize],
    /// What the fit of the board was made from; `None` where its ratings do not come from that fit.
    pub(super) fit: Option<CheckedFit<'a>>,
}

/// What the checks of a fit look at.
#[derive(Clone, Copy)]
pub(super) struct CheckedFit<'a> {
    /// The comparisons that the board was made from, with features and judges where these were read.
    pub(super) comparisons: &'a Comparisons,
    /// The same battles with their sides, without features and judges, in any order and any aggregation.
    pub(super) sided: &'a (dyn Fn() -> Vec<Comparison> + Sync),
    /// What they sum to by side, where it is known already.
    pub(super) sides: Option<&'a Sides>,
    /// How the board was fitted.
    pub(super) options: FitOptions,
    /// Confidence level of intervals and tests.
    pub(super) level: f64,
}

/// A board's fit together with what it was made from.
#[derive(Clone, Copy)]
struct Fit<'a> {
    fitted: &'a agon_ranking::Fitted,
    comparisons: &'a Comparisons,
    sided: &'a (dyn Fn() -> Vec<Comparison> + Sync),
    sides: Option<&'a Sides>,
    options: FitOptions,
    level: f64,
}

/// Every check of one board, in an order that depends neither on the effort nor on the number of threads.
pub(super) fn panel(input: &CheckInput<'_>, effort: Effort, n_threads: Threads) -> Vec<Check> {
    let mut checks = vec![connected(input)];
    checks.extend(rated(input));
    checks.extend(separation(input));
    let fit = input.of_fit();
    // What takes longest, several at a time.
    let mut of_fit = fit.map_or_else(Vec::new, |fit| {
        let pieces: [&(dyn Fn() -> Vec<Check> + Sync); 7] = [
            &|| fit::conditioned(fit.fitted).into_iter().collect(),
            &|| fit::predictions(input, &fit, effort),
            &|| fit::errors(&fit, effort).into_iter().collect(),
            &|| votes::sides(input, &fit, effort).into_iter().collect(),
            &|| votes::judges(&fit).into_iter().collect(),
            &|| match effort {
                Effort::Quick => Vec::new(),
                Effort::Full => influence::panel(input, &fit),
            },
            &|| vec![pairs(input)],
        ];
        threads::for_each(&[5, 1, 0, 3, 6, 2, 4], n_threads, |piece| pieces[piece]())
    });
    let met = of_fit.pop().unwrap_or_else(|| vec![pairs(input)]);
    if let Some(fit) = &fit {
        checks.push(fit::converged(fit.fitted));
    }
    let later = of_fit.split_off(of_fit.len().min(1));
    checks.extend(of_fit.into_iter().flatten());
    checks.extend(intervals(input));
    checks.push(enough_battles(input));
    checks.extend(met);
    checks.extend(all_models_compared(input));
    checks.extend(later.into_iter().flatten());
    checks
}

impl Check {
    pub(super) fn new(check: &str, passed: bool, detail: impl Into<String>) -> Self {
        Self {
            check: check.to_owned(),
            passed,
            detail: detail.into(),
            values: BTreeMap::new(),
        }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &str, value: impl Into<CheckValue>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }
}

impl From<u64> for CheckValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for CheckValue {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for CheckValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Vec<f64>> for CheckValue {
    fn from(numbers: Vec<f64>) -> Self {
        Self::Numbers(numbers)
    }
}

impl From<&str> for CheckValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<String>> for CheckValue {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl<'a> CheckInput<'a> {
    fn of_fit(&self) -> Option<Fit<'a>> {
        let checked = self.fit?;
        Some(Fit {
            fitted: self.board.fitted.as_ref()?,
            comparisons: checked.comparisons,
            sided: checked.sided,
            sides: checked.sides,
            options: checked.options,
            level: checked.level,
        })
    }

    fn name(&self, model: usize) -> &str {
        &self.names[model]
    }

    fn named(&self, models: impl IntoIterator<Item = usize>) -> Vec<String> {
        models
            .into_iter()
            .map(|model| self.name(model).to_owned())
            .collect()
    }
}

fn connected(input: &CheckInput<'_>) -> Check {
    let n_models = input.board.entries.len();
    let check = if input.n_groups == 1 {
        Check::new(
            "connected",
            true,
            format!("1 component, {}", counted(n_models as u64, "model")),
        )
    } else {
        Check::new(
            "connected",
            false,
            format!(
                "{} groups of models that never met; this one has {}. Ratings of different groups cannot be compared",
                input.n_groups,
                counted(n_models as u64, "model")
            ),
        )
    };
    check
        .with("groups", input.n_groups)
        .with("models", n_models)
        .with("strong_components", input.board.strong_components)
}

fn rated(input: &CheckInput<'_>) -> Option<Check> {
    let detail = match input.board.unrated.as_ref()? {
        UnratedReason::OneBattle => "one battle: nobody can be rated".to_owned(),
        UnratedReason::OneWay => "no two models have scored against each other: all results point one way, so every difference could be without limit".to_owned(),
        UnratedReason::NotFitted(error) => format!("the fit fails: {error}"),
    };
    Some(Check::new("rated", false, detail))
}

fn separation(input: &CheckInput<'_>) -> Option<Check> {
    if input.board.unrated.is_some() {
        return None;
    }
    let mut words = Vec::new();
    let mut values = Vec::new();
    for (reason, code, meaning) in [
        (ProvisionalReason::Undefeated, "undefeated", "never lost"),
        (ProvisionalReason::Winless, "winless", "never won"),
        (
            ProvisionalReason::SingleBattle,
            "single_battle",
            "one battle",
        ),
        (
            ProvisionalReason::OtherGroup,
            "other_group",
            "only above or only below the rated",
        ),
        (
            ProvisionalReason::WeaklyTied,
            "weakly_tied",
            "tied to the rated by too few results of one way",
        ),
    ] {
        let is_wanted = |status: Status| matches!(status, Status::Provisional { reason: found, .. } if found == reason);
        let entries = input.board.entries.iter();
        let listed = input.named(
            entries
                .filter(|entry| is_wanted(entry.status))
                .map(|entry| entry.model),
        );
        if !listed.is_empty() {
            words.push(format!("{meaning}: {}", listed.join(", ")));
            values.push((code, listed));
        }
    }
    let mut check = if words.is_empty() {
        Check::new(
            "separation",
            true,
            "every model has scored both ways; a tie counts both ways",
        )
    } else {
        Check::new("separation", false, words.join("; "))
    };
    for (code, listed) in values {
        check = check.with(code, listed);
    }
    Some(check)
}

fn intervals(input: &CheckInput<'_>) -> Option<Check> {
    let entries = input.board.entries.iter();
    let without = input.named(
        entries
            .filter(|entry| entry.status == Status::Rated && entry.interval.is_none())
            .map(|entry| entry.model),
    );
    if without.is_empty() {
        return None;
    }
    let detail = format!(
        "not estimable for {}: their battles leave no variation to judge by",
        counted(without.len() as u64, "model")
    );
    Some(Check::new("intervals", false, detail).with("models", without))
}

fn enough_battles(input: &CheckInput<'_>) -> Check {
    let entries = || input.board.entries.iter();
    let few = input.named(
        entries()
            .filter(|entry| entry.record.battles < FEW_BATTLES)
            .map(|entry| entry.model),
    );
    let fewest = entries().map(|entry| entry.record.battles).min();
    let check = if few.is_empty() {
        Check::new(
            "enough_battles",
            true,
            format!("every model has at least {FEW_BATTLES} battles"),
        )
    } else {
        Check::new(
            "enough_battles",
            false,
            format!("fewer than {FEW_BATTLES} battles: {}", few.join(", ")),
        )
        .with("models", few)
    };
    check
        .with("fewest", fewest.unwrap_or_default())
        .with("limit", FEW_BATTLES)
}

fn pairs(input: &CheckInput<'_>) -> Check {
    let mut on_board = vec![false; input.names.len()];
    for entry in &input.board.entries {
        on_board[entry.model] = true;
    }
    let met = battles_of_pairs(input.pairs, &on_board);
    let n_thin = met.iter().filter(|&&n| n < THIN_PAIR_BATTLES).count();
    let n_models = input.board.entries.len();
    let possible = n_models * n_models.saturating_sub(1) / 2;
    Check::new(
        "pairs",
        n_thin == 0,
        format!(
            "{} of {possible} pairs met, {n_thin} of them fewer than {THIN_PAIR_BATTLES} times",
            met.len(),
        ),
    )
    .with("possible", possible)
    .with("met", met.len())
    .with("thin", n_thin)
    .with("limit", THIN_PAIR_BATTLES)
}

/// Battles of every pair of models on the board that met, on whichever sides.
fn battles_of_pairs(pairs: &[CountedPair], on_board: &[bool]) -> Vec<u64> {
    /// Entries of a table of all pairs for each one that met, above which sorting is quicker.
    const TABLE_SHARE: usize = 8;
    let is_inside = |model: u32| on_board[model as usize];
    let inside = pairs
        .iter()
        .filter(|((a, b), _)| is_inside(*a) && is_inside(*b))
        .map(|&((a, b), counts)| ((a.min(b), a.max(b)), counts.total()))
        .filter(|&(_, battles)| battles > 0);
    let n_models = on_board.len();
    if n_models.saturating_mul(n_models) <= pairs.len().saturating_mul(TABLE_SHARE) {
        let mut table = vec![0; n_models * n_models];
        for ((i, j), battles) in inside {
            table[i as usize * n_models + j as usize] += battles;
        }
        table.retain(|&battles| battles > 0);
        return table;
    }
    let mut battles: Vec<((u32, u32), u64)> = inside.collect();
    battles.sort_unstable();
    battles
        .chunk_by(|x, y| x.0 == y.0)
        .map(|pair| pair.iter().map(|(_, count)| count).sum())
        .collect()
}

fn all_models_compared(input: &CheckInput<'_>) -> Option<Check> {
    if input.without_battles.is_empty() {
        return None;
    }
    let listed = input.named(input.without_battles.iter().copied());
    let detail = format!("no battle that counts: {}", listed.join(", "));
    Some(Check::new("all_models_compared", false, detail).with("models", listed))
}

/// `1 vote`, `2 votes`, `12,345 votes`.
fn counted(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(n))
}

/// `12,345`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `95`, or `99.5`: a level in percent.
fn level_text(level: f64) -> String {
    let text = format!("{:.3}", 100.0 * level);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `4.2%`; three decimals where a share is small.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 1.0 && percent > 0.0 {
        format!("{percent:.3}%")
    } else {
        format!("{percent:.1}%")
    }
}

#[cfg(test)]
mod tests;
