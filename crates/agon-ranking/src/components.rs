//! Which models the comparisons tie together, in one direction and in both.
//!
//! A finite maximum of the Bradley-Terry likelihood exists exactly when the directed graph
//! "a scored against b" (a tie scores both ways) is strongly connected (Ford 1957; Zermelo 1929).

use std::ops::Range;

use crate::comparisons::{Comparisons, Pair};

/// The groups that comparisons fall into. Models without a battle belong to none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// Groups of models that met, directly or through others; each in ascending order, the groups by their first model.
    pub connected: Vec<Vec<usize>>,
    /// Groups inside which every model has scored against every other, directly or through others; ordered alike.
    pub strong: Vec<Vec<usize>>,
}

impl Components {
    /// Finds the groups, in time linear in the number of pairs that met.
    pub fn of(comparisons: &Comparisons) -> Self {
        if let Some(all) = mutually_tied(comparisons) {
            return Self {
                connected: vec![all.clone()],
                strong: vec![all],
            };
        }
        let graph = ScoreGraph::of(comparisons);
        Self {
            connected: connected(comparisons),
            strong: graph.strong_components(comparisons),
        }
    }

    /// Whether all models that have a battle form one strongly connected group.
    pub fn is_strongly_connected(&self) -> bool {
        self.strong.len() <= 1
    }
}

/// The representative of a model's group in a union-find forest, with path halving.
fn root(parents: &mut [usize], mut model: usize) -> usize {
    while parents[model] != model {
        parents[model] = parents[parents[model]];
        model = parents[model];
    }
    model
}

/// All models with a battle, when pairs in which both scored tie them together: a short way for the usual arena, which
/// looks at as many pairs as it needs and no more.
fn mutually_tied(comparisons: &Comparisons) -> Option<Vec<usize>> {
    let n_models = comparisons.n_models();
    let active: Vec<usize> = (0..n_models)
        .filter(|&model| comparisons.record(model).battles > 0)
        .collect();
    let mut parents: Vec<usize> = (0..n_models).collect();
    let mut ties_missing = active.len().checked_sub(1)?;
    for (pair, cells) in comparisons.by_pair() {
        if ties_missing == 0 {
            break;
        }
        let x = root(&mut parents, pair.i as usize);
        let y = root(&mut parents, pair.j as usize);
        let outcomes = &comparisons.outcomes()[cells];
        if x != y && outcomes.iter().any(|&y| y > 0.0) && outcomes.iter().any(|&y| y < 1.0) {
            parents[x.max(y)] = x.min(y);
            ties_missing -= 1;
        }
    }
    (ties_missing == 0).then_some(active)
}

/// Groups that met, by union-find.
fn connected(comparisons: &Comparisons) -> Vec<Vec<usize>> {
    let n_models = comparisons.n_models();
    let mut parents: Vec<usize> = (0..n_models).collect();
    for pair in comparisons.pairs() {
        let x = root(&mut parents, pair.i as usize);
        let y = root(&mut parents, pair.j as usize);
        // The lower index becomes the root, so that the groups come out ordered by their first model.
        parents[x.max(y)] = x.min(y);
    }
    let mut position = vec![usize::MAX; n_models];
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for model in 0..n_models {
        if comparisons.record(model).battles == 0 {
            continue;
        }
        let root = root(&mut parents, model);
        if position[root] == usize::MAX {
            position[root] = groups.len();
            groups.push(Vec::new());
        }
        groups[position[root]].push(model);
    }
    groups
}

/// The directed graph with an edge from a model to each one it has scored against.
#[derive(Clone, Debug)]
pub(crate) struct ScoreGraph {
    // Invariant: the targets of model `m` are `targets[starts[m]..starts[m + 1]]`.
    starts: Vec<usize>,
    targets: Vec<usize>,
}

impl ScoreGraph {
    pub(crate) fn of(comparisons: &Comparisons) -> Self {
        Self::from_edges(comparisons.n_models(), edges(comparisons))
    }

    /// The graph without scores that are no more than a share of all that one of the two models did.
    pub(crate) fn of_scores_above(comparisons: &Comparisons, share: f64) -> Self {
        let score_and_loss = |(pair, cells): (Pair, Range<usize>)| {
            let (mut score, mut loss) = (0.0, 0.0);
            for cell in cells.map(|idx| comparisons.cell_of(pair, idx)) {
                score += cell.mass() * cell.outcome;
                loss += cell.mass() * (1.0 - cell.outcome);
            }
            (pair.i as usize, pair.j as usize, score, loss)
        };
        let pairs: Vec<_> = comparisons.by_pair().map(score_and_loss).collect();
        let mut mass = vec![0.0; comparisons.n_models()];
        for &(i, j, score, loss) in &pairs {
            mass[i] += score + loss;
            mass[j] += score + loss;
        }
        let edges = pairs.iter().flat_map(|&(i, j, score, loss)| {
            let limit = share * f64::max(mass[i], mass[j]);
            let forward = (score > limit).then_some((i, j));
            let backward = (loss > limit).then_some((j, i));
            forward.into_iter().chain(backward)
        });
        Self::from_edges(comparisons.n_models(), edges)
    }

    /// The graph with every edge turned round.
    pub(crate) fn reversed(comparisons: &Comparisons) -> Self {
        Self::from_edges(
            comparisons.n_models(),
            edges(comparisons).map(|(from, to)| (to, from)),
        )
    }

    fn from_edges(n_models: usize, edges: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        let mut starts = vec![0; n_models + 1];
        for (from, _) in edges.clone() {
            starts[from + 1] += 1;
        }
        for model in 0..n_models {
            starts[model + 1] += starts[model];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[n_models]];
        for (from, to) in edges {
            targets[next[from]] = to;
            next[from] += 1;
        }
        Self { starts, targets }
    }

    fn targets_of(&self, model: usize) -> &[usize] {
        &self.targets[self.starts[model]..self.starts[model + 1]]
    }

    /// Which models can be reached from any of the given ones, these included.
    pub(crate) fn reachable_from(&self, models: &[usize]) -> Vec<bool> {
        let mut reached = vec![false; self.starts.len() - 1];
        let mut open = models.to_vec();
        for &model in models {
            reached[model] = true;
        }
        while let Some(model) = open.pop() {
            for &target in self.targets_of(model) {
                if !reached[target] {
                    reached[target] = true;
                    open.push(target);
                }
            }
        }
        reached
    }

    /// Strongly connected components by Tarjan's algorithm (Tarjan 1972), with its own stack instead of recursion.
    pub(crate) fn strong_components(&self, comparisons: &Comparisons) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let n_models = comparisons.n_models();
        let mut order = vec![UNSEEN; n_models];
        let mut low = vec![0; n_models];
        let mut on_stack = vec![false; n_models];
        let mut stack = Vec::new();
        let mut calls: Vec<(usize, usize)> = Vec::new();
        let mut next_order = 0;
        let mut components = Vec::new();
        for first in 0..n_models {
            if order[first] != UNSEEN || comparisons.record(first).battles == 0 {
                continue;
            }
            calls.push((first, self.starts[first]));
            while let Some(&mut (model, ref mut edge)) = calls.last_mut() {
                if order[model] == UNSEEN {
                    order[model] = next_order;
                    low[model] = next_order;
                    next_order += 1;
                    stack.push(model);
                    on_stack[model] = true;
                }
                if *edge < self.starts[model + 1] {
                    let target = self.targets[*edge];
                    *edge += 1;
                    if order[target] == UNSEEN {
                        calls.push((target, self.starts[target]));
                    } else if on_stack[target] {
                        low[model] = low[model].min(order[target]);
                    }
                    continue;
                }
                calls.pop();
                if let Some(&(caller, _)) = calls.last() {
                    low[caller] = low[caller].min(low[model]);
                }
                if low[model] == order[model] {
                    let mut component = Vec::new();
                    while let Some(member) = stack.pop() {
                        on_stack[member] = false;
                        component.push(member);
                        if member == model {
                            break;
                        }
                    }
                    component.sort_unstable();
                    components.push(component);
                }
            }
        }
        components.sort_unstable();
        components
    }
}

/// "From scored against to", once for each run of cells of one pair and direction.
fn edges(comparisons: &Comparisons) -> impl Iterator<Item = (usize, usize)> + Clone + '_ {
    comparisons.by_pair().flat_map(|(pair, cells)| {
        let outcomes = &comparisons.outcomes()[cells];
        let (i, j) = (pair.i as usize, pair.j as usize);
        let forward = outcomes.iter().any(|&y| y > 0.0).then_some((i, j));
        let backward = outcomes.iter().any(|&y| y < 1.0).then_some((j, i));
        forward.into_iter().chain(backward)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comparison;

    #[track_caller]
    fn check(
        n_models: usize,
        rows: &[(u32, u32, f64)],
        connected: &[&[usize]],
        strong: &[&[usize]],
    ) {
        let rows = rows
            .iter()
            .map(|&(a, b, outcome)| Comparison::new(a, b, outcome));
        let components = Components::of(&Comparisons::new(n_models, rows).unwrap());
        assert_eq!(components.connected, connected);
        assert_eq!(components.strong, strong);
    }

    #[test]
    fn groups_follow_who_scored_against_whom() {
        check(0, &[], &[], &[]);
        check(2, &[], &[], &[]);
        check(2, &[(0, 1, 1.0)], &[&[0, 1]], &[&[0], &[1]]);
        check(2, &[(0, 1, 0.5)], &[&[0, 1]], &[&[0, 1]]);
        check(2, &[(0, 1, 1.0), (0, 1, 0.0)], &[&[0, 1]], &[&[0, 1]]);
        // A circle of wins, and a model that only lost to it.
        check(
            4,
            &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 3, 1.0)],
            &[&[0, 1, 2, 3]],
            &[&[0, 1, 2], &[3]],
        );
        // Two groups that never met, interleaved; model 4 has no battle.
        check(
            5,
            &[(0, 2, 0.5), (1, 3, 1.0)],
            &[&[0, 2], &[1, 3]],
            &[&[0, 2], &[1], &[3]],
        );
    }

    #[test]
    fn a_long_circle_does_not_exhaust_the_stack() {
        let n: u32 = 100_000;
        let rows = (0..n).map(|model| Comparison::new(model, (model + 1) % n, 1.0));
        let components = Components::of(&Comparisons::new(n as usize, rows).unwrap());
        assert!(components.is_strongly_connected());
    }
}
