//! How much a board hangs on few votes: the fewest votes or judges whose removal changes it, side bias, busy judges.
//!
//! Finding the smallest set of votes that changes a place is a combinatorial problem. What is computed is an upper bound
//! that is known to be one: votes are taken away in the order of their first-order influence on a difference of strengths
//! (T. Broderick, R. Giordano, R. Meager 2020, arXiv 2011.14999; for arenas: J. H. Huang et al. 2025,
//! arXiv 2508.11847), and the board is fitted again without them. "At most 9 votes" is then a fact, while it may be
//! that 8 others would have done.

mod judges;
mod side_bias;

pub use judges::{JudgeConcentration, judge_concentration, votes_of_judges};
pub use side_bias::{SideBias, Sides, side_bias, side_bias_of_fit};

use crate::Error;
use crate::bradley_terry::{Fit, FitOptions, fit_connected, sigmoid};
use crate::comparisons::{Cell, Comparisons};
use crate::components::Components;
use crate::leaderboard::Fitted;

/// How hard to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InfluenceOptions {
    /// Pairs (one inside the top, one outside) that are looked at, those fewest standard errors apart first.
    pub pairs_max: usize,
    /// Of these, pairs for which votes are really taken away: those for which fewest seem to suffice. Further pairs are
    /// only tried while nothing was found.
    pub searches_max: usize,
    /// How the board was fitted.
    pub fit: FitOptions,
}

impl Default for InfluenceOptions {
    /// Twenty pairs, three searches, no penalty.
    fn default() -> Self {
        Self {
            pairs_max: 20,
            searches_max: 3,
            fit: FitOptions::default(),
        }
    }
}

/// A small set of votes without which the top of a board is another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragility {
    /// The models that are at the top now, best first, in the numbering of the comparisons.
    pub top: Vec<usize>,
    /// The model that leaves it.
    pub leaves: usize,
    /// The model that comes in its place; `None` when `leaves` can no longer be rated without the removed votes.
    pub enters: Option<usize>,
    /// The votes to remove, in canonical order.
    pub removed: Vec<RemovedVotes>,
    /// The judges all of whose votes these are, ascending; empty when votes were asked for.
    pub judges: Vec<u32>,
    /// How many votes are removed.
    pub votes: u64,
    /// Their share of all votes of the fit.
    pub share: f64,
    /// How many units (votes or judges) the first-order approximation thought necessary, or `None` when it thought that
    /// no number suffices.
    pub predicted: Option<u64>,
    /// Whether the board was fitted without these votes and did change. Where it is `false`, every search ended
    /// without a change and nothing is claimed: `removed` is empty and `leaves`, `enters` name the nearest pair.
    pub verified: bool,
}

/// Equal votes of which some are removed.
#[derive(Clone, Debug, PartialEq)]
pub struct RemovedVotes {
    /// Index of the first model; the lower of the two.
    pub a: u32,
    /// Index of the second model.
    pub b: u32,
    /// Score of `a` in each of these votes.
    pub outcome: f64,
    /// Features of these votes, the value of `a` minus the one of `b`; empty without features.
    pub features: Vec<f64>,
    /// Who voted, where the comparisons say so.
    pub judge: Option<u32>,
    /// How many votes to remove.
    pub count: u64,
    /// How many there are.
    pub of: u64,
}

/// The fewest votes found whose removal changes the set of the best `top` models; 1 for first place.
///
/// An upper bound on the true minimum: see the [module](self). `fitted` is a board's fit of these comparisons.
/// The set has changed when a model outside it has a higher strength than one inside, or when one inside can no longer
/// be rated because too much of what it won is gone. Votes that a model lost are never taken from it for that purpose:
/// a leader without defeat could not be rated either, but nobody would call that losing its place.
///
/// # Errors
///
/// [`Error::Option`] unless `top` is at least 1 and less than the number of rated models, and the options at least 1;
/// [`Error::Length`] when the fit is not of these comparisons; [`Error::Singular`].
///
/// # Examples
///
/// 60 to 40: without 21 wins the other model is first.
///
/// ```
/// use agon_ranking::influence::{InfluenceOptions, fewest_votes};
/// use agon_ranking::{Comparison, Comparisons, LeaderboardOptions, leaderboard};
///
/// let comparisons = Comparisons::new(
///     2,
///     [Comparison::new(0, 1, 1.0).with_count(60), Comparison::new(0, 1, 0.0).with_count(40)],
/// )?;
/// let board = leaderboard(&comparisons, &LeaderboardOptions::default())?;
/// let fitted = board.main().fitted.as_ref().expect("both models have won");
/// let fragility = fewest_votes(&comparisons, fitted, 1, &InfluenceOptions::default())?;
/// assert!(fragility.verified);
/// assert_eq!((fragility.votes, fragility.leaves, fragility.enters), (21, 0, Some(1)));
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn fewest_votes(
    comparisons: &Comparisons,
    fitted: &Fitted,
    top: usize,
    options: &InfluenceOptions,
) -> Result<Fragility, Error> {
    Search::new(comparisons, fitted, top, options, Unit::Votes)?.run()
}

/// The fewest judges found without whose votes the set of the best `top` models changes.
///
/// As [`fewest_votes`], judges being the clusters of the comparisons. All votes of a judge are removed.
///
/// # Errors
///
/// As [`fewest_votes`]; [`Error::NoClusters`] when the comparisons do not say who voted.
pub fn fewest_judges(
    comparisons: &Comparisons,
    fitted: &Fitted,
    top: usize,
    options: &InfluenceOptions,
) -> Result<Fragility, Error> {
    Search::new(comparisons, fitted, top, options, Unit::Judges)?.run()
}

/// What is taken away as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Votes,
    Judges,
}

struct Search<'a> {
    options: &'a InfluenceOptions,
    fitted: &'a Fitted,
    /// The votes of the fit, models numbered like it.
    inside: Comparisons,
    /// Its cells by number.
    cells: Vec<Cell>,
    /// The same without judges, which a fit does not need: far fewer cells when there are no features.
    bare: Comparisons,
    /// The cell of `bare` that each cell of `inside` is part of; empty when they are the same.
    bare_cell: Vec<usize>,
    /// The best models, numbered like the fit, best first.
    top: Vec<usize>,
    is_top: Vec<bool>,
    unit: Unit,
    /// The cells of each unit: one each for votes, all of a judge's for judges.
    units: Vec<Vec<usize>>,
}

/// The fit after some votes were removed. Models outside of `models` can no longer be rated.
struct State {
    models: Vec<usize>,
    fit: Fit,
}

/// A change of the top: who leaves, and who enters unless `leaves` is only no longer rated.
#[derive(Clone, Copy)]
struct Change {
    leaves: usize,
    enters: Option<usize>,
}

/// One unit, how many of its votes to take (all of a judge's), and by how much each of them narrows the margin.
#[derive(Clone, Copy)]
struct Effect {
    unit: usize,
    count: u64,
    narrowing: f64,
}

/// How much is taken away before the board is fitted again.
#[derive(Clone, Copy)]
enum Pace {
    /// What closes the margin, to first order.
    Margin,
    /// One unit at a time: more exact, but one fit for each.
    Single,
}

/// Up to so many units are also sought one at a time, and given back one at a time where they are not needed.
const FEW: u64 = 32;

/// Units in the order of their removal, with the number of votes of each (for judges the number 1).
type Sequence = Vec<(usize, u64)>;

/// A strength must exceed another by this to be above it, in nats: less is a tie.
const ABOVE: f64 = 1e-9;

impl<'a> Search<'a> {
    fn new(
        comparisons: &Comparisons,
        fitted: &'a Fitted,
        top: usize,
        options: &'a InfluenceOptions,
        unit: Unit,
    ) -> Result<Self, Error> {
        let n_models = fitted.models.len();
        for (option, value) in [
            ("pairs_max", options.pairs_max),
            ("searches_max", options.searches_max),
        ] {
            if value == 0 {
                return Err(Error::Option {
                    option,
                    value: 0.0,
                    expected: "1 or more",
                });
            }
        }
        if top == 0 || top >= n_models {
            return Err(Error::Option {
                option: "top",
                value: top as f64,
                expected: "at least 1, and fewer than there are rated models",
            });
        }
        let inside = fitted.comparisons(comparisons)?;
        let n_cells = inside.n_cells();
        let (bare, bare_cell) = without_judges(&inside);
        let units = match unit {
            Unit::Votes => (0..n_cells).map(|cell| vec![cell]).collect(),
            Unit::Judges => {
                let clusters = inside.clusters().ok_or(Error::NoClusters)?;
                let mut order: Vec<usize> = (0..n_cells).collect();
                order.sort_by_key(|&cell| clusters[cell]);
                order
                    .chunk_by(|&x, &y| clusters[x] == clusters[y])
                    .map(<[usize]>::to_vec)
                    .collect()
            }
        };
        let mut order: Vec<usize> = (0..n_models).collect();
        order.sort_by(|&x, &y| fitted.fit.strengths[y].total_cmp(&fitted.fit.strengths[x]));
        order.truncate(top);
        let mut is_top = vec![false; n_models];
        for &model in &order {
            is_top[model] = true;
        }
        Ok(Self {
            options,
            fitted,
            cells: inside.cells().collect(),
            inside,
            bare,
            bare_cell,
            top: order,
            is_top,
            unit,
            units,
        })
    }

    fn run(&self) -> Result<Fragility, Error> {
        let start = State {
            models: (0..self.fitted.models.len()).collect(),
            fit: self.fitted.fit.clone(),
        };
        let untouched = vec![0; self.cells.len()];
        let mut pairs = Vec::new();
        for (inner, outer) in self.nearest_pairs()? {
            let effects = self.effects(&start, &untouched, inner, outer)?;
            let margin = start.fit.strengths[inner] - start.fit.strengths[outer];
            pairs.push((units_for(&effects, margin), inner, outer));
        }
        // A stable sort: among equals the nearer pair comes first; what seems impossible comes last.
        pairs.sort_by_key(|(units, ..)| units.unwrap_or(u64::MAX));

        // Judges are counted when they were asked for; among equal numbers the fewer votes win.
        let size = |fragility: &Fragility| (fragility.judges.len(), fragility.votes);
        let mut best: Option<Fragility> = None;
        for (searched, &(predicted, inner, outer)) in pairs.iter().enumerate() {
            // Further pairs are only of interest as long as nothing was found.
            if searched >= self.options.searches_max && best.is_some() {
                break;
            }
            let Some(sequence) = self.search(&start, inner, outer, Pace::Margin)? else {
                continue;
            };
            let mut found = self.shortest(&sequence, predicted)?;
            if found.units(self.unit) <= FEW
                && let Some(sequence) = self.search(&start, inner, outer, Pace::Single)?
            {
                let other = self.shortest(&sequence, predicted)?;
                if size(&other) < size(&found) {
                    found = other;
                }
            }
            if best.as_ref().is_none_or(|best| size(&found) < size(best)) {
                best = Some(found);
            }
        }
        if best.is_none() {
            // Nobody can be brought above anybody: what is left is to take every point from a model at the top.
            for &model in &self.top {
                let found = self.shortest(&self.points_of(model), None)?;
                if found.verified && best.as_ref().is_none_or(|best| size(&found) < size(best)) {
                    best = Some(found);
                }
            }
        }
        if let Some(best) = best {
            return Ok(best);
        }
        let (predicted, inner, outer) = pairs[0];
        let nothing = Change {
            leaves: inner,
            enters: Some(outer),
        };
        Ok(self.fragility(&untouched, Vec::new(), nothing, predicted, false))
    }

    /// Every unit with a vote in which the model scored.
    fn points_of(&self, model: usize) -> Sequence {
        let scored = |idx: usize| {
            let cell = &self.cells[idx];
            (cell.i as usize == model && cell.outcome > 0.0)
                || (cell.j as usize == model && cell.outcome < 1.0)
        };
        let units = self.units.iter().enumerate();
        units
            .filter(|(_, cells)| cells.iter().any(|&cell| scored(cell)))
            .map(|(unit, cells)| match self.unit {
                Unit::Votes => (unit, self.cells[cells[0]].count),
                Unit::Judges => (unit, 1),
            })
            .collect()
    }

    /// Pairs of one model inside and one outside the top, in ascending order of standard errors between them.
    fn nearest_pairs(&self) -> Result<Vec<(usize, usize)>, Error> {
        let fit = &self.fitted.fit;
        let mut factor = fit.information.matrix();
        if let Some(ground) = fit.ground {
            factor.ground(ground);
        }
        factor.factor().map_err(|_| Error::Singular)?;
        let mut inverse = factor.inverse();
        if let Some(ground) = fit.ground {
            inverse.set(ground, ground, 0.0);
        }
        let mut pairs = Vec::new();
        for &inner in &self.top {
            for outer in (0..fit.strengths.len()).filter(|&model| !self.is_top[model]) {
                let variance = inverse.get(inner, inner) + inverse.get(outer, outer)
                    - 2.0 * inverse.get(inner, outer);
                let margin = fit.strengths[inner] - fit.strengths[outer];
                pairs.push((
                    margin / variance.max(f64::MIN_POSITIVE).sqrt(),
                    inner,
                    outer,
                ));
            }
        }
        pairs.sort_by(|x, y| x.0.total_cmp(&y.0));
        pairs.truncate(self.options.pairs_max);
        Ok(pairs
            .into_iter()
            .map(|(_, inner, outer)| (inner, outer))
            .collect())
    }

    /// Units whose removal brings `outer` nearer to `inner`, the most effective first.
    ///
    /// Without one battle, H⁻¹ (its score) is taken from the estimate, to first order; the score is w (y − p) z with
    /// z = (eₐ − e_b, x).
    fn effects(
        &self,
        state: &State,
        removed: &[u64],
        inner: usize,
        outer: usize,
    ) -> Result<Vec<Effect>, Error> {
        let fit = &state.fit;
        let mut position = vec![None; self.inside.n_models()];
        for (local, &model) in state.models.iter().enumerate() {
            position[model] = Some(local);
        }
        let (Some(local_inner), Some(local_outer)) = (position[inner], position[outer]) else {
            return Ok(Vec::new());
        };
        let n_models = fit.strengths.len();
        let mut factor = fit.information.matrix();
        let mut direction = vec![0.0; n_models + fit.coefficients.len()];
        direction[local_inner] = 1.0;
        direction[local_outer] = -1.0;
        if let Some(ground) = fit.ground {
            factor.ground(ground);
            direction[ground] = 0.0;
        }
        factor.factor().map_err(|_| Error::Singular)?;
        factor.solve(&mut direction);

        let mut effects = Vec::new();
        for (unit, cells) in self.units.iter().enumerate() {
            let (mut narrowing, mut count) = (0.0, 0_u64);
            for &idx in cells {
                let cell = &self.cells[idx];
                let left = cell.count - removed[idx];
                let (Some(i), Some(j)) = (position[cell.i as usize], position[cell.j as usize])
                else {
                    continue;
                };
                let features = self.inside.features_of(idx);
                let mut d = fit.strengths[i] - fit.strengths[j];
                let mut lever = direction[i] - direction[j];
                for (f, x) in features.enumerate() {
                    d += x * fit.coefficients[f];
                    lever += x * direction[n_models + f];
                }
                let each = cell.weight * (cell.outcome - sigmoid(d)) * lever;
                match self.unit {
                    Unit::Votes => narrowing = each,
                    Unit::Judges => narrowing += left as f64 * each,
                }
                count = count.saturating_add(left);
            }
            if count > 0 && narrowing > 0.0 {
                let count = match self.unit {
                    Unit::Votes => count,
                    Unit::Judges => 1,
                };
                effects.push(Effect {
                    unit,
                    count,
                    narrowing,
                });
            }
        }
        effects.sort_by(|x, y| y.narrowing.total_cmp(&x.narrowing));
        Ok(effects)
    }

    /// Takes units away until the top changes. Nothing when it does not.
    fn search(
        &self,
        start: &State,
        inner: usize,
        outer: usize,
        pace: Pace,
    ) -> Result<Option<Sequence>, Error> {
        /// Rounds of removing and fitting again after which the search is given up.
        const ROUNDS: usize = 40;
        /// By how much more of the margin each round aims at than the one before: the approximation falls short when
        /// many votes go.
        const PUSH: f64 = 0.25;
        let mut sequence = Sequence::new();
        let mut removed = vec![0; self.cells.len()];
        let mut state: Option<State> = None;
        for round in 0..ROUNDS {
            let now = state.as_ref().unwrap_or(start);
            let effects = self.effects(now, &removed, inner, outer)?;
            if effects.is_empty() {
                return Ok(None);
            }
            let strength = |model: usize| {
                let local = now.models.binary_search(&model).ok();
                local.map(|local| now.fit.strengths[local])
            };
            let (Some(x), Some(y)) = (strength(inner), strength(outer)) else {
                return Ok(None);
            };
            let mut aim = match pace {
                Pace::Margin => (x - y) * (1.0 + PUSH * round as f64),
                Pace::Single => 0.0,
            };
            for (taken, effect) in effects.iter().enumerate() {
                if taken > 0 && aim <= 0.0 {
                    break;
                }
                let needed = (aim / effect.narrowing).ceil().max(1.0);
                // A share of a vote cannot be taken; the conversion saturates.
                let count = effect.count.min(needed as u64);
                aim -= count as f64 * effect.narrowing;
                self.take(&mut removed, effect.unit, count);
                sequence.push((effect.unit, count));
            }
            match self.refit(&removed)? {
                None => return Ok(Some(sequence)),
                Some(after) => {
                    if self.change(&after).is_some() {
                        return Ok(Some(sequence));
                    }
                    state = Some(after);
                }
            }
        }
        Ok(None)
    }

    fn take(&self, removed: &mut [u64], unit: usize, count: u64) {
        for &cell in &self.units[unit] {
            match self.unit {
                Unit::Votes => removed[cell] += count,
                Unit::Judges => removed[cell] = self.cells[cell].count,
            }
        }
    }

    /// The fit without the removed votes; `None` when nobody can be rated any more.
    fn refit(&self, removed: &[u64]) -> Result<Option<State>, Error> {
        let kept = if self.bare_cell.is_empty() {
            self.bare.without(removed)
        } else {
            let mut merged = vec![0; self.bare.n_cells()];
            for (&cell, count) in self.bare_cell.iter().zip(removed) {
                merged[cell] += count;
            }
            self.bare.without(&merged)
        };
        if kept.is_empty() {
            return Ok(None);
        }
        let all: Vec<usize> = (0..kept.n_models()).collect();
        if self.options.fit.ridge_strengths > 0.0 {
            let fit = fit_connected(&kept, &self.options.fit)?;
            return Ok(Some(State { models: all, fit }));
        }
        let components = Components::of(&kept);
        let mut main: Option<(u64, &Vec<usize>)> = None;
        for members in components.strong.iter().filter(|members| members.len() > 1) {
            let battles = if members.len() == kept.n_models() {
                kept.n_battles()
            } else {
                kept.among(members).n_battles()
            };
            // One battle rates nobody, as on the board.
            if battles > 1 && main.is_none_or(|(most, _)| battles > most) {
                main = Some((battles, members));
            }
        }
        let Some((_, members)) = main else {
            return Ok(None);
        };
        let models = members.clone();
        let fit = if models.len() == kept.n_models() {
            fit_connected(&kept, &self.options.fit)?
        } else {
            fit_connected(&kept.among(&models), &self.options.fit)?
        };
        Ok(Some(State { models, fit }))
    }

    /// How the top differs from what it was, if it does.
    fn change(&self, state: &State) -> Option<Change> {
        let mut is_rated = vec![false; self.is_top.len()];
        let mut lowest: Option<(f64, usize)> = None;
        let mut highest: Option<(f64, usize)> = None;
        for (&model, &strength) in state.models.iter().zip(&state.fit.strengths) {
            is_rated[model] = true;
            if self.is_top[model] {
                if lowest.is_none_or(|(value, _)| strength < value) {
                    lowest = Some((strength, model));
                }
            } else if highest.is_none_or(|(value, _)| strength > value) {
                highest = Some((strength, model));
            }
        }
        if let Some(&leaves) = self.top.iter().rev().find(|&&model| !is_rated[model]) {
            return Some(Change {
                leaves,
                enters: None,
            });
        }
        match (lowest, highest) {
            (Some((low, leaves)), Some((high, enters))) if high > low + ABOVE => Some(Change {
                leaves,
                enters: Some(enters),
            }),
            _ => None,
        }
    }

    /// The shortest beginning of the sequence that changes the top, found by halving, and its description.
    ///
    /// Where a longer beginning fails after a shorter one succeeded, halving may miss the shortest; what it finds holds.
    fn shortest(&self, sequence: &Sequence, predicted: Option<u64>) -> Result<Fragility, Error> {
        let total: u64 = sequence.iter().map(|(_, count)| count).sum();
        let (mut too_few, mut enough) = (0, total);
        let mut found = self.beginning(sequence, total)?;
        while enough - too_few > 1 {
            let middle = too_few + (enough - too_few) / 2;
            let tried = self.beginning(sequence, middle)?;
            if tried.1.is_some() {
                enough = middle;
                found = tried;
            } else {
                too_few = middle;
            }
        }
        let (mut removed, mut change) = found;
        if enough <= FEW {
            // What the first units were taken for may have become unnecessary by the last.
            for &(unit, _) in sequence {
                while let Some(fewer) = self.given_back(&removed, unit) {
                    let tried = self.change_without(&fewer)?;
                    if tried.is_none() {
                        break;
                    }
                    (removed, change) = (fewer, tried);
                }
            }
        }
        let judges = match (self.unit, self.inside.clusters()) {
            (Unit::Judges, Some(clusters)) => {
                let mut judges: Vec<u32> = (0..removed.len())
                    .filter(|&cell| removed[cell] > 0)
                    .map(|cell| clusters[cell])
                    .collect();
                judges.sort_unstable();
                judges.dedup();
                judges
            }
            _ => Vec::new(),
        };
        let verified = change.is_some();
        let change = change.unwrap_or(Change {
            leaves: self.top[self.top.len() - 1],
            enters: None,
        });
        Ok(self.fragility(&removed, judges, change, predicted, verified))
    }

    /// What is removed by the first `count` units of a sequence, and the change that makes.
    fn beginning(
        &self,
        sequence: &Sequence,
        mut count: u64,
    ) -> Result<(Vec<u64>, Option<Change>), Error> {
        let mut removed = vec![0; self.cells.len()];
        for &(unit, of) in sequence {
            let taken = of.min(count);
            if taken == 0 {
                break;
            }
            self.take(&mut removed, unit, taken);
            count -= taken;
        }
        let change = self.change_without(&removed)?;
        Ok((removed, change))
    }

    /// The same removal with one vote of the unit left in (all of a judge's); `None` when nothing of it is removed, or
    /// nothing else is.
    fn given_back(&self, removed: &[u64], unit: usize) -> Option<Vec<u64>> {
        let mut fewer = removed.to_vec();
        let mut gave = false;
        for &cell in &self.units[unit] {
            if fewer[cell] > 0 {
                gave = true;
                fewer[cell] -= match self.unit {
                    Unit::Votes => 1,
                    Unit::Judges => fewer[cell],
                };
            }
        }
        (gave && fewer.iter().any(|&count| count > 0)).then_some(fewer)
    }

    /// How the top changes without the removed votes, if it does.
    fn change_without(&self, removed: &[u64]) -> Result<Option<Change>, Error> {
        Ok(match self.refit(removed)? {
            Some(state) => self.change(&state),
            None => Some(Change {
                leaves: self.top[self.top.len() - 1],
                enters: None,
            }),
        })
    }

    fn fragility(
        &self,
        removed: &[u64],
        judges: Vec<u32>,
        change: Change,
        predicted: Option<u64>,
        verified: bool,
    ) -> Fragility {
        let name = |model: usize| self.fitted.models[model];
        let clusters = self.inside.clusters();
        let cells = self.cells.iter().enumerate();
        let removed: Vec<RemovedVotes> = cells
            .filter(|(idx, _)| removed[*idx] > 0)
            .map(|(idx, cell)| RemovedVotes {
                a: name(cell.i as usize) as u32,
                b: name(cell.j as usize) as u32,
                outcome: cell.outcome,
                features: self.inside.features_of(idx).collect(),
                judge: clusters.map(|clusters| clusters[idx]),
                count: removed[idx],
                of: cell.count,
            })
            .collect();
        let votes = removed.iter().map(|votes| votes.count).sum::<u64>();
        Fragility {
            top: self.top.iter().map(|&model| name(model)).collect(),
            leaves: name(change.leaves),
            enters: change.enters.map(name),
            removed,
            judges,
            votes,
            share: votes as f64 / self.inside.n_battles() as f64,
            predicted,
            verified,
        }
    }
}

/// The same battles without judges, and which of its cells each cell has become part of; nothing where none was merged.
fn without_judges(comparisons: &Comparisons) -> (Comparisons, Vec<usize>) {
    if comparisons.clusters().is_none() || comparisons.n_features() > 0 {
        return (comparisons.clone(), Vec::new());
    }
    let bare = comparisons.without_columns();
    let same =
        |x: &Cell, y: &Cell| (x.i, x.j, x.outcome, x.weight) == (y.i, y.j, y.outcome, y.weight);
    // Both are in the same order, judges coming last in it, so that parts of a cell follow each other.
    let merged: Vec<Cell> = bare.cells().collect();
    let mut position = 0;
    let mut part_of = Vec::with_capacity(comparisons.n_cells());
    for cell in comparisons.cells() {
        while !same(&cell, &merged[position]) {
            position += 1;
        }
        part_of.push(position);
    }
    (bare, part_of)
}

impl Fragility {
    fn units(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Votes => self.votes,
            Unit::Judges => self.judges.len() as u64,
        }
    }
}

/// How many units it takes to narrow the margin to nothing, to first order; `None` when all together do not.
fn units_for(effects: &[Effect], mut margin: f64) -> Option<u64> {
    let mut units = 0_u64;
    for effect in effects {
        let needed = (margin / effect.narrowing).ceil().max(1.0) as u64;
        if needed <= effect.count {
            return Some(units.saturating_add(needed));
        }
        units = units.saturating_add(effect.count);
        margin -= effect.count as f64 * effect.narrowing;
    }
    None
}

#[cfg(test)]
mod tests;
