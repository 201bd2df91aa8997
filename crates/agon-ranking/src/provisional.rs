//! Estimates for models that the fit cannot rate: given the rated ones, under a weak prior that is stated.

use std::collections::HashMap;

use crate::Error;
use crate::bradley_terry::{FitOptions, Likelihood, sigmoid};
use crate::comparisons::{Cell, Comparisons};
use crate::covariance::{Covariance, CovarianceMethod};

/// What is known before a provisional model is estimated.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    /// Strength of each rated model in nats, by model index; `None` for the others.
    pub(crate) strengths: &'a [Option<f64>],
    /// Coefficients of the features, from the fit of the rated models.
    pub(crate) coefficients: &'a [f64],
    /// Where the prior is centred: the mean of the rated models.
    pub(crate) centre: f64,
}

/// Strength of a provisional model and how uncertain it is, in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) model: usize,
    pub(crate) strength: f64,
    pub(crate) error: f64,
}

/// Estimates the given models by the maximum of likelihood times prior, with a normal approximation for the error.
///
/// The prior is half a win and half a loss against the centre for each model, so that an estimate always exists
/// (a Jeffreys-like penalty; Firth 1993 for the idea), and it fades as battles come in.
/// Battles count by their number: a common factor of the weights must not change how strong the prior is.
/// Models that met each other are estimated together, others apart.
pub(crate) fn estimate(
    comparisons: &Comparisons,
    models: &[usize],
    known: &Known<'_>,
) -> Result<Vec<Estimate>, Error> {
    /// Where counts are so uneven that double precision fails, they are brought down to this much at most.
    const BATTLES_MAX: f64 = 1e6;
    let mut estimates = Vec::with_capacity(models.len());
    for block in blocks(comparisons, models) {
        let found = match estimate_block(comparisons, &block, known, 1.0) {
            Err(Error::Singular | Error::NotConverged { .. }) => {
                let most = block.cells.iter().map(|(_, cell, ..)| cell.count).max();
                let share = BATTLES_MAX / most.unwrap_or(0).max(1) as f64;
                estimate_block(comparisons, &block, known, share.min(1.0))
            }
            other => other,
        };
        estimates.extend(found?);
    }
    Ok(estimates)
}

/// Estimates models that met each other; each battle counts as so much of one.
fn estimate_block(
    comparisons: &Comparisons,
    block: &Block,
    known: &Known<'_>,
    share: f64,
) -> Result<Vec<Estimate>, Error> {
    let n = block.members.len();
    // One more than there are members: the last stands for everything known.
    let outside = n as u32;
    let mut likelihood = Likelihood::against_known(n + 1);
    for member in 0..outside {
        likelihood.push(member, outside, -known.centre, 0.5, 0.5);
    }
    for &(cell_idx, cell, x, y) in &block.cells {
        let mass = cell.count as f64 * share;
        let mut offset = 0.0;
        for (feature, beta) in comparisons.features_of(cell_idx).zip(known.coefficients) {
            offset += feature * beta;
        }
        let strength_of = |model: u32| known.strengths[model as usize].unwrap_or(0.0);
        let (i, j) = match (x, y) {
            (Some(x), Some(y)) => (x, y),
            (Some(x), None) => {
                offset -= strength_of(cell.j);
                (x, outside)
            }
            (None, Some(y)) => {
                offset += strength_of(cell.i);
                (outside, y)
            }
            (None, None) => continue,
        };
        let (won, lost) = (mass * cell.outcome, mass * (1.0 - cell.outcome));
        likelihood.push(i, j, offset, won, lost);
    }
    let fit = likelihood.maximise(&FitOptions::default())?;
    let unit = Comparisons::new(n + 1, [])?;
    let covariance = Covariance::of(&fit, &unit, CovarianceMethod::ModelBased)?;
    let zero = fit.strengths[n];
    let members = block.members.iter().enumerate();
    Ok(members
        .map(|(member, &model)| Estimate {
            model,
            strength: fit.strengths[member] - zero,
            error: covariance.strength_error(member).unwrap_or(f64::INFINITY),
        })
        .collect())
}

/// About how many more votes a model needs until it has what it lacks.
///
/// A vote gives it with probability p, the mean over its opponents under the estimate, so 1 / p votes are expected
/// (geometric distribution).
pub(crate) fn votes_until(lacks: Lack, strength: f64, opponents: impl Iterator<Item = f64>) -> u64 {
    let (mut up, mut n) = (0.0, 0.0);
    for opponent in opponents {
        up += sigmoid(strength - opponent);
        n += 1.0;
    }
    if n == 0.0 {
        return 1;
    }
    let up: f64 = up / n;
    let p = match lacks {
        Lack::Nothing => 1.0,
        Lack::Score => up,
        Lack::Loss => 1.0 - up,
        Lack::Either => up.max(1.0 - up),
    };
    // The cast saturates, so even an absurdly small probability gives a number.
    // Less than a thousandth of a vote is no reason for another one.
    (1.0 / p - 1e-3).ceil().max(1.0) as u64
}

/// What keeps a model from being rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Only more battles of any outcome.
    Nothing,
    /// It must score against the rated models.
    Score,
    /// A rated model must score against it.
    Loss,
    /// Either of the two closes a circle.
    Either,
}

/// Provisional models that met each other, with all their battles.
struct Block {
    members: Vec<usize>,
    /// Cell, and the position of its two models among the members if they are.
    cells: Vec<(usize, Cell, Option<u32>, Option<u32>)>,
}

fn blocks(comparisons: &Comparisons, models: &[usize]) -> Vec<Block> {
    let position: HashMap<usize, usize> = models
        .iter()
        .enumerate()
        .map(|(idx, &model)| (model, idx))
        .collect();
    let mut parents: Vec<usize> = (0..models.len()).collect();
    fn root(parents: &mut [usize], mut idx: usize) -> usize {
        while parents[idx] != idx {
            parents[idx] = parents[parents[idx]];
            idx = parents[idx];
        }
        idx
    }
    let mut involved = Vec::new();
    for (idx, cell) in comparisons.cells().enumerate() {
        let x = position.get(&(cell.i as usize)).copied();
        let y = position.get(&(cell.j as usize)).copied();
        if let (Some(x), Some(y)) = (x, y) {
            let (x, y) = (root(&mut parents, x), root(&mut parents, y));
            parents[x.max(y)] = x.min(y);
        }
        if x.is_some() || y.is_some() {
            involved.push((idx, cell, x, y));
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_of = vec![usize::MAX; models.len()];
    let mut member_of = vec![0_u32; models.len()];
    for idx in 0..models.len() {
        let root = root(&mut parents, idx);
        if block_of[root] == usize::MAX {
            block_of[root] = blocks.len();
            blocks.push(Block {
                members: Vec::new(),
                cells: Vec::new(),
            });
        }
        block_of[idx] = block_of[root];
        let block = &mut blocks[block_of[idx]];
        member_of[idx] = block.members.len() as u32;
        block.members.push(models[idx]);
    }
    for (idx, cell, x, y) in involved {
        if let Some(any) = x.or(y) {
            blocks[block_of[any]].cells.push((
                idx,
                cell,
                x.map(|x| member_of[x]),
                y.map(|y| member_of[y]),
            ));
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comparison;

    /// One model against a known one of strength 0, with the prior centred there: a binomial with an extra half each way.
    #[track_caller]
    fn check(wins: u64, losses: u64) {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(wins),
            Comparison::new(1, 0, 1.0).with_count(losses),
        ];
        let rows = rows.into_iter().filter(|row| row.count > 0);
        let comparisons = Comparisons::new(2, rows).unwrap();
        let known = Known {
            strengths: &[None, Some(0.0)],
            coefficients: &[],
            centre: 0.0,
        };
        let estimates = estimate(&comparisons, &[0], &known).unwrap();
        let (won, lost) = (wins as f64 + 0.5, losses as f64 + 0.5);
        assert!((estimates[0].strength - (won / lost).ln()).abs() < 1e-9);
        assert!((estimates[0].error - (1.0 / won + 1.0 / lost).sqrt()).abs() < 1e-8);
    }

    #[test]
    fn one_opponent_agrees_with_the_closed_form() {
        check(10, 0);
        check(0, 3);
        check(1, 0);
        check(5, 5);
        check(100_000, 0);
    }

    #[test]
    fn the_prior_is_centred_on_the_rated_models() {
        let rows = [
            Comparison::new(0, 1, 1.0).with_count(1),
            Comparison::new(0, 1, 0.0).with_count(1),
        ];
        let comparisons = Comparisons::new(2, rows).unwrap();
        let known = Known {
            strengths: &[None, Some(3.0)],
            coefficients: &[],
            centre: 3.0,
        };
        assert!((estimate(&comparisons, &[0], &known).unwrap()[0].strength - 3.0).abs() < 1e-9);
    }

    #[test]
    fn models_that_met_are_estimated_together_and_others_apart() {
        // 0 beat 1, which beat the known 3; 2 lost to 3 and must not notice the others.
        let rows = [
            Comparison::new(0, 1, 1.0),
            Comparison::new(1, 3, 1.0),
            Comparison::new(2, 3, 0.0),
        ];
        let comparisons = Comparisons::new(4, rows).unwrap();
        let known = Known {
            strengths: &[None, None, None, Some(0.0)],
            coefficients: &[],
            centre: 0.0,
        };
        let together = estimate(&comparisons, &[0, 1, 2], &known).unwrap();
        assert!(together[0].strength > together[1].strength && together[1].strength > 0.0);
        let apart = estimate(&comparisons, &[2], &known).unwrap();
        assert_eq!(together[2], apart[0]);
    }

    #[test]
    fn the_rarer_what_is_lacking_the_more_votes_it_takes() {
        let far_above = 11.0_f64.ln();
        assert_eq!(votes_until(Lack::Loss, far_above, [0.0].into_iter()), 12);
        assert_eq!(votes_until(Lack::Score, far_above, [0.0].into_iter()), 2);
        assert_eq!(votes_until(Lack::Nothing, far_above, [0.0].into_iter()), 1);
        assert_eq!(votes_until(Lack::Either, 0.0, [0.0].into_iter()), 2);
        assert_eq!(votes_until(Lack::Loss, 1e9, [0.0].into_iter()), u64::MAX);
        assert_eq!(votes_until(Lack::Loss, 0.0, std::iter::empty()), 1);
    }
}
