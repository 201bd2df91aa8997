//! Which pair meets next, and with what probability.

use rand::{Rng, RngExt as _};

use crate::{Model, Sides};

/// The smallest weight above 0.
pub const WEIGHT_MIN: f64 = 1e-6;
/// The largest weight.
pub const WEIGHT_MAX: f64 = 1e6;

/// A drawn pair with its place on the sides.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnPair {
    /// Positions in the list of models, by side.
    pub models: Sides<usize>,
    /// The probability of this unordered pair under the weights in use.
    pub probability: f64,
}

/// Why no pair can be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DrawError {
    /// Fewer than two models are eligible.
    #[error("a battle needs two models with a weight above 0{}: there are {n_eligible}", if *image { " that can see images" } else { "" })]
    TooFewModels {
        /// How many are.
        n_eligible: usize,
        /// Whether they had to see images.
        image: bool,
    },
    /// A weight is neither 0 nor within [`WEIGHT_MIN`] and [`WEIGHT_MAX`].
    #[error(
        "the weight of model `{model}` is {weight}: expected 0, or a number from {WEIGHT_MIN} to {WEIGHT_MAX}"
    )]
    BadWeight {
        /// Whose.
        model: String,
        /// The weight.
        weight: f64,
    },
}

/// Whether at least two models are eligible, so that [`draw_pair`] can succeed.
pub fn can_draw(models: &[Model], image: bool) -> bool {
    eligible(models, image).count() >= 2
}

/// Positions of the models that may be drawn.
fn eligible(models: &[Model], image: bool) -> impl Iterator<Item = usize> {
    (0..models.len()).filter(move |&idx| models[idx].weight > 0.0 && (models[idx].vision || !image))
}

/// Draws two different models, the first in proportion to the weights, the second likewise among the others, and tosses a fair coin for the sides.
///
/// The probability of the unordered pair {i, j} is w_i/W · w_j/(W − w_i) + w_j/W · w_i/(W − w_j), W being the sum over the eligible models.
/// With equal weights this is 2/(n(n − 1)), the uniform draw.
/// Only models that can see images are eligible for a battle with an image.
///
/// # Errors
///
/// [`DrawError`] when fewer than two models are eligible or a weight is not usable.
pub fn draw_pair(
    models: &[Model],
    image: bool,
    rng: &mut impl Rng,
) -> Result<DrawnPair, DrawError> {
    if let Some(model) = models.iter().find(|model| !is_usable_weight(model.weight)) {
        return Err(DrawError::BadWeight {
            model: model.name.clone(),
            weight: model.weight,
        });
    }
    let eligible: Vec<usize> = eligible(models, image).collect();
    if eligible.len() < 2 {
        return Err(DrawError::TooFewModels {
            n_eligible: eligible.len(),
            image,
        });
    }
    let weight = |idx: usize| models[idx].weight;
    let first = draw_one(&eligible, weight, rng);
    let others: Vec<usize> = eligible
        .iter()
        .copied()
        .filter(|&idx| idx != first)
        .collect();
    let second = draw_one(&others, weight, rng);

    let sum_without = |left_out: usize| -> f64 {
        eligible
            .iter()
            .filter(|&&idx| idx != left_out)
            .map(|&idx| weight(idx))
            .sum()
    };
    let total: f64 = eligible.iter().map(|&idx| weight(idx)).sum();
    let ordered = |i: usize, j: usize| weight(i) / total * weight(j) / sum_without(i);
    let probability = (ordered(first, second) + ordered(second, first)).min(1.0);
    let models = if rng.random::<bool>() {
        Sides {
            a: first,
            b: second,
        }
    } else {
        Sides {
            a: second,
            b: first,
        }
    };
    Ok(DrawnPair {
        models,
        probability,
    })
}

/// Whether a model may have this weight: 0, or a number from [`WEIGHT_MIN`] to [`WEIGHT_MAX`].
///
/// The bounds keep every probability positive and finite.
pub fn is_usable_weight(weight: f64) -> bool {
    weight == 0.0 || (WEIGHT_MIN..=WEIGHT_MAX).contains(&weight)
}

/// One of `candidates`, which are not empty, in proportion to their weights.
fn draw_one(candidates: &[usize], weight: impl Fn(usize) -> f64, rng: &mut impl Rng) -> usize {
    let total: f64 = candidates.iter().map(|&idx| weight(idx)).sum();
    let mut left = rng.random::<f64>() * total;
    for &idx in candidates {
        left -= weight(idx);
        if left < 0.0 {
            return idx;
        }
    }
    // Rounding can leave a crumb above the last weight.
    candidates[candidates.len() - 1]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng as _};

    use super::*;

    fn model(name: &str, weight: f64, vision: bool) -> Model {
        Model {
            name: name.to_owned(),
            organization: None,
            license: None,
            vision,
            weight,
            scripted: true,
        }
    }

    #[test]
    fn pairs_come_as_often_as_their_recorded_probability_and_sides_are_fair() {
        // The reference arena's example: weights 4, 2, 2, 2.
        let models = [
            model("a", 4.0, true),
            model("b", 2.0, true),
            model("c", 2.0, true),
            model("d", 2.0, true),
        ];
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts: HashMap<(usize, usize), (u32, f64)> = HashMap::new();
        let mut first_on_a = 0_u32;
        let n = 40_000;
        for _ in 0..n {
            let pair = draw_pair(&models, false, &mut rng).unwrap();
            let Sides { a, b } = pair.models;
            assert_ne!(a, b);
            first_on_a += u32::from(a < b);
            let entry = counts
                .entry((a.min(b), a.max(b)))
                .or_insert((0, pair.probability));
            entry.0 += 1;
            assert!((entry.1 - pair.probability).abs() < 1e-12);
        }
        assert_eq!(counts.len(), 6);
        let sum: f64 = counts.values().map(|(_, probability)| probability).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        for (pair, (count, probability)) in &counts {
            let share = f64::from(*count) / f64::from(n);
            assert!(
                (share - probability).abs() < 0.01,
                "{pair:?}: {share} against {probability}"
            );
        }
        // .233 for pairs with the heavy model, .098 to .101 without: arena-behaviour.md §1.7.
        assert!((counts[&(0, 1)].1 - 0.2333).abs() < 0.0005);
        assert!((counts[&(1, 2)].1 - 0.1).abs() < 0.0005);
        let share = f64::from(first_on_a) / f64::from(n);
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }

    #[test]
    fn equal_weights_draw_uniformly() {
        let models: Vec<Model> = (0..5)
            .map(|idx| model(&idx.to_string(), 1.0, true))
            .collect();
        let pair = draw_pair(&models, true, &mut ChaCha8Rng::seed_from_u64(7)).unwrap();
        assert!((pair.probability - 0.1).abs() < 1e-12);
    }

    #[test]
    fn an_image_needs_two_models_that_see() {
        let models = [
            model("a", 1.0, true),
            model("b", 1.0, false),
            model("c", 0.0, true),
        ];
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert!(draw_pair(&models, false, &mut rng).is_ok());
        let error = draw_pair(&models, true, &mut rng).unwrap_err();
        assert_eq!(
            error,
            DrawError::TooFewModels {
                n_eligible: 1,
                image: true
            }
        );
        assert_eq!(
            error.to_string(),
            "a battle needs two models with a weight above 0 that can see images: there are 1"
        );
    }

    #[test]
    fn an_unusable_weight_is_named() {
        for weight in [-1.0, 1e-9, 1e7, f64::NAN, f64::INFINITY] {
            let models = [model("a", 1.0, true), model("b", weight, true)];
            let error = draw_pair(&models, false, &mut ChaCha8Rng::seed_from_u64(3)).unwrap_err();
            assert!(matches!(error, DrawError::BadWeight { model, .. } if model == "b"));
        }
    }

    #[test]
    fn extreme_weights_stay_finite() {
        let models = [
            model("a", WEIGHT_MAX, true),
            model("b", WEIGHT_MIN, true),
            model("c", WEIGHT_MIN, true),
        ];
        let pair = draw_pair(&models, false, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
        assert!(
            (pair.probability - 0.5).abs() < 1e-9,
            "{}",
            pair.probability
        );
    }
}
