//! Whether a tie model has a finite best estimate, decided exactly from the counts.
//!
//! Up to bounded constants every log-probability is a piecewise linear function of the parameters, so the likelihood
//! has a maximum when it falls in every direction (u, t), u being that of the strengths and t that of the tie parameter.
//! A direction in which it does not fall gives every battle its outcome:
//!
//! | outcome | Davidson, Rao-Kupper | grounded |
//! |---|---|---|
//! | a wins | ua − ub ≥ c t and ≥ 0 | ua ≥ ub + t, ua ≥ 0 |
//! | tie | c t ≥ \|ua − ub\| | t ≥ \|ua − ub\|, max(ua, ub) ≥ 0 |
//! | both bad | – | ua ≤ 0, ub ≤ 0 |
//!
//! with c = 2 for Davidson and 1 for Rao-Kupper, which is only a unit of t. For t = 0 this asks for strong connectivity
//! (Ford 1957; in the grounded model the bar "good enough" is one more contestant). For t > 0 it is a system of
//! difference constraints, which has a solution exactly when its graph has no cycle of negative length
//! (Bellman 1958): when no cycle of results holds more wins than ties. t < 0 needs that no tie was seen.

use super::{TieComparisons, TieModel};
use crate::Error;
use crate::components::Components;

/// Refuses counts for which the model has no finite best estimate.
pub(super) fn check(comparisons: &TieComparisons, model: TieModel) -> Result<(), Error> {
    let total = comparisons.total();
    if total.is_empty() {
        return Err(Error::NoBattles);
    }
    if total.both_bad > 0 && !model.has_both_bad() {
        return Err(Error::BothBad {
            battles: total.both_bad,
        });
    }
    if model.has_both_bad() {
        check_grounded(comparisons)
    } else {
        check_relative(comparisons)
    }
}

/// `u[to] ≤ u[from] + length`.
#[derive(Clone, Copy)]
struct Constraint {
    from: usize,
    to: usize,
    length: i64,
}

fn check_relative(comparisons: &TieComparisons) -> Result<(), Error> {
    let n_models = comparisons.n_models();
    let halves = comparisons.to_comparisons();
    let components = Components::of(&halves);
    let idle = (0..n_models)
        .filter(|&model| halves.record(model).battles == 0)
        .count();
    if !components.is_strongly_connected() || idle > 0 {
        return Err(Error::NotConnected {
            connected: components.connected.len() + idle,
            strong: components.strong.len() + idle,
        });
    }
    if comparisons.total().ties == 0 {
        return Err(Error::NoTies);
    }
    if has_mutual_wins(comparisons) {
        return Ok(());
    }
    let constraints = constraints(comparisons);
    match longest_descent(n_models, None, &constraints) {
        None => Ok(()),
        Some(_) => Err(Error::SeparatedTies),
    }
}

fn check_grounded(comparisons: &TieComparisons) -> Result<(), Error> {
    let n_models = comparisons.n_models();
    let bar = n_models;
    let unlinked = n_models - linked_to_bar(comparisons).len();
    if unlinked > 0 {
        return Err(Error::NotGrounded { models: unlinked });
    }
    if comparisons.total().ties == 0 {
        return Err(Error::NoTies);
    }
    if has_mutual_wins(comparisons) {
        return Ok(());
    }
    let mut constraints = constraints(comparisons);
    for counts in comparisons.pairs() {
        let (a, b) = (counts.a as usize, counts.b as usize);
        for (model, wins) in [(a, counts.wins_a), (b, counts.wins_b)] {
            if wins > 0 {
                constraints.push(Constraint {
                    from: model,
                    to: bar,
                    length: 0,
                });
            }
            if counts.both_bad > 0 {
                constraints.push(Constraint {
                    from: bar,
                    to: model,
                    length: 0,
                });
            }
        }
    }
    // Solutions of difference constraints are closed under the larger of two values, so the greatest solution meets
    // max(ua, ub) ≥ 0 for every tie if any solution does. A model that nothing bounds from above has no greatest value,
    // which meets it too.
    match longest_descent(n_models + 1, Some(bar), &constraints) {
        None => Ok(()),
        Some(greatest) => {
            let free = comparisons.pairs().iter().all(|counts| {
                let reach = |model: u32| greatest[model as usize].is_none_or(|u| u >= 0);
                counts.ties == 0 || reach(counts.a) || reach(counts.b)
            });
            if free {
                Err(Error::SeparatedTies)
            } else {
                Ok(())
            }
        }
    }
}

/// Models that passed the bar and failed it, directly or through others, ascending.
fn linked_to_bar(comparisons: &TieComparisons) -> Vec<usize> {
    let n_models = comparisons.n_models();
    let bar = n_models;
    let mut at_least = Vec::new();
    for counts in comparisons.pairs() {
        let (a, b) = (counts.a as usize, counts.b as usize);
        if counts.wins_a > 0 {
            at_least.extend([(a, b), (a, bar)]);
        }
        if counts.wins_b > 0 {
            at_least.extend([(b, a), (b, bar)]);
        }
        if counts.ties > 0 {
            at_least.extend([(a, b), (b, a), (a, bar), (b, bar)]);
        }
        if counts.both_bad > 0 {
            at_least.extend([(bar, a), (bar, b)]);
        }
    }
    let forward = reachable(n_models + 1, bar, at_least.iter().copied());
    let backward = reachable(n_models + 1, bar, at_least.iter().map(|&(x, y)| (y, x)));
    (0..n_models)
        .filter(|&model| forward[model] && backward[model])
        .collect()
}

/// The models that can be placed against each other, by their battles among themselves alone; ascending.
pub(super) fn linked(comparisons: &TieComparisons, model: TieModel) -> Vec<usize> {
    if !model.has_both_bad() {
        let halves = comparisons.to_comparisons();
        let battles = |members: &Vec<usize>| halves.among(members).n_battles();
        let strong = Components::of(&halves).strong;
        // The first of equally large ones: `max_by_key` would take the last.
        let largest = strong.into_iter().rev().max_by_key(battles);
        return largest
            .filter(|members| members.len() > 1)
            .unwrap_or_default();
    }
    // A battle with a model that is left out can be what tied another one to the bar, so leaving out goes on until
    // nothing changes.
    let mut models: Vec<usize> = (0..comparisons.n_models()).collect();
    loop {
        let inside = comparisons.among(&models);
        let kept: Vec<usize> = linked_to_bar(&inside)
            .into_iter()
            .map(|model| models[model])
            .collect();
        if kept.len() == models.len() {
            return models;
        }
        models = kept;
    }
}

/// Two models that beat each other are a cycle of two wins: the usual case, which needs no search.
fn has_mutual_wins(comparisons: &TieComparisons) -> bool {
    comparisons
        .pairs()
        .iter()
        .any(|counts| counts.wins_a > 0 && counts.wins_b > 0)
}

/// What wins and ties ask of the strengths for t = 1, in units in which c = 1.
fn constraints(comparisons: &TieComparisons) -> Vec<Constraint> {
    let mut constraints = Vec::new();
    let mut push = |from: u32, to: u32, length: i64| {
        constraints.push(Constraint {
            from: from as usize,
            to: to as usize,
            length,
        });
    };
    for counts in comparisons.pairs() {
        if counts.wins_a > 0 {
            push(counts.a, counts.b, -1);
        }
        if counts.wins_b > 0 {
            push(counts.b, counts.a, -1);
        }
        if counts.ties > 0 {
            push(counts.a, counts.b, 1);
            push(counts.b, counts.a, 1);
        }
    }
    constraints
}

/// Shortest distances from `source` (from anywhere when `None`), or nothing when a cycle of negative length is reached.
///
/// Bellman's iteration (Bellman 1958). A node that cannot be reached has no distance.
fn longest_descent(
    n: usize,
    source: Option<usize>,
    constraints: &[Constraint],
) -> Option<Vec<Option<i64>>> {
    let mut distance = vec![source.is_none().then_some(0); n];
    if let Some(source) = source {
        distance[source] = Some(0);
    }
    // No path without a cycle is shorter than this: below it there is a negative cycle, usually long before n rounds.
    let lowest = -(n as i64);
    for _ in 0..n {
        let mut changed = false;
        for constraint in constraints {
            let Some(from) = distance[constraint.from] else {
                continue;
            };
            let through = from + constraint.length;
            if distance[constraint.to].is_none_or(|known| through < known) {
                if through < lowest {
                    return None;
                }
                distance[constraint.to] = Some(through);
                changed = true;
            }
        }
        if !changed {
            return Some(distance);
        }
    }
    None
}

fn reachable(n: usize, start: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<bool> {
    let mut targets = vec![Vec::new(); n];
    for (from, to) in edges {
        targets[from].push(to);
    }
    let mut reached = vec![false; n];
    reached[start] = true;
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        for &target in &targets[node] {
            if !reached[target] {
                reached[target] = true;
                open.push(target);
            }
        }
    }
    reached
}
