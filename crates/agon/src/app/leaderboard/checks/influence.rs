//! On how few votes, and judges, a place hangs. Every number was verified by fitting without them.

use agon_ranking::influence::{Fragility, InfluenceOptions, fewest_judges, fewest_votes};

use super::{Check, CheckInput, Fit, counted, grouped, percent};

/// The set of best models that is watched beside first place.
const TOP: usize = 5;
/// A place that fewer votes than this decide is fragile.
const VOTES_MIN: u64 = 10;
/// So is one that less than this share of all votes decides.
const SHARE_MIN: f64 = 0.001;
/// A place that fewer judges than this decide is fragile.
const JUDGES_MIN: usize = 3;

/// What is removed to change a place.
#[derive(Clone, Copy)]
enum Unit {
    Votes,
    Judges,
}

/// Votes and judges behind first place and behind the set of the best five.
pub(super) fn panel(input: &CheckInput<'_>, fit: &Fit<'_>) -> Vec<Check> {
    let n_rated = fit.fitted.models.len();
    let mut checks = Vec::new();
    for unit in [Unit::Votes, Unit::Judges] {
        for top in [1, TOP] {
            if top < n_rated {
                checks.extend(fragility(input, fit, unit, top));
            }
        }
    }
    checks
}

/// `None` where it is not known who voted, and where the search cannot be made.
fn fragility(input: &CheckInput<'_>, fit: &Fit<'_>, unit: Unit, top: usize) -> Option<Check> {
    let options = InfluenceOptions {
        fit: fit.options,
        ..InfluenceOptions::default()
    };
    let find = match unit {
        Unit::Votes => fewest_votes,
        Unit::Judges => fewest_judges,
    };
    let found = find(fit.comparisons, fit.fitted, top, &options);
    Some(describe(input, unit, top, &found.ok()?))
}

fn describe(input: &CheckInput<'_>, unit: Unit, top: usize, found: &Fragility) -> Check {
    let place = if top == 1 {
        "first place".to_owned()
    } else {
        format!("the set of the best {top}")
    };
    let (name, count, noun) = match (unit, top) {
        (Unit::Votes, 1) => ("first_place_votes", "votes_to_change_first", "votes"),
        (Unit::Votes, _) => ("top_votes", "votes_to_change_top", "votes"),
        (Unit::Judges, 1) => ("first_place_judges", "judges_to_change_first", "judges"),
        (Unit::Judges, _) => ("top_judges", "judges_to_change_top", "judges"),
    };
    let best = input.named(found.top.iter().copied());
    if !found.verified {
        let detail = format!("no {noun} were found whose removal changes {place}");
        return Check::new(name, true, detail)
            .with("top", best)
            .with("top_size", top);
    }
    let (units, fragile) = match unit {
        Unit::Votes => (
            found.votes,
            found.votes < VOTES_MIN || found.share < SHARE_MIN,
        ),
        Unit::Judges => (found.judges.len() as u64, found.judges.len() < JUDGES_MIN),
    };
    let votes = format!(
        "{} ({} of all)",
        counted(found.votes, "vote"),
        percent(found.share)
    );
    let what = match unit {
        Unit::Votes => votes,
        Unit::Judges => format!("{} with {votes}", counted(units, "judge")),
    };
    let leaves = input.name(found.leaves);
    let change = match found.enters.map(|model| input.name(model)) {
        Some(enters) if top == 1 => format!("{enters} is first instead of {leaves}"),
        Some(enters) => format!("{enters} takes the place of {leaves} in it"),
        None => format!("{leaves} can no longer be rated"),
    };
    let detail = format!(
        "{place} hangs on at most {what}: without {} {change}",
        if units == 1 { "it" } else { "them" }
    );
    let mut check = Check::new(name, !fragile, detail)
        .with(count, units)
        .with("votes", found.votes)
        .with("share", found.share)
        .with("top", best)
        .with("top_size", top)
        .with("leaves", input.named([found.leaves]))
        .with("enters", input.named(found.enters));
    if let Unit::Votes = unit {
        check = check.with("removed", removed(input, found));
    }
    if let Some(predicted) = found.predicted {
        check = check.with("predicted", predicted);
    }
    check
}

/// Which votes are removed, as sentences, so that anybody can repeat it.
fn removed(input: &CheckInput<'_>, found: &Fragility) -> Vec<String> {
    let votes = found.removed.iter();
    votes
        .map(|votes| {
            let (a, b) = (input.name(votes.a as usize), input.name(votes.b as usize));
            let (count, of) = (grouped(votes.count), grouped(votes.of));
            if votes.outcome == 1.0 {
                format!("{a} beat {b}: {count} of {of}")
            } else if votes.outcome == 0.0 {
                format!("{b} beat {a}: {count} of {of}")
            } else {
                format!("{a} and {b} tied: {count} of {of}")
            }
        })
        .collect()
}
