//! Simulated arenas: who meets whom, and how battles end.

use std::num::NonZeroUsize;

use agon_ranking::{Comparison, Comparisons, Rows};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

pub(crate) const MODELS: usize = 100;
pub(crate) const STRENGTH_SD: f64 = 0.6;
/// Four times the share of ties among equals; over all battles about 29 per cent are ties then.
pub(crate) const TIE_FACTOR: f64 = 1.36;
pub(crate) const FEWEST_BATTLES: f64 = 15.0;
pub(crate) const MOST_BATTLES: f64 = 90_000.0;
pub(crate) const MOST_BATTLES_WITH_STYLE: f64 = 9_000.0;
pub(crate) const MODELS_OF_SMALL: usize = 20;
pub(crate) const BATTLES_EACH_OF_SMALL: f64 = 3_000.0;
/// Effects of length, headers, list items and bold text on the log-odds, as normalised differences.
pub(crate) const STYLE_EFFECTS: [f64; 4] = [0.55, 0.06, 0.10, 0.08];
/// How far models differ in style, and how far answers of one model do, as differences of logarithms.
pub(crate) const STYLE_SD_OF_MODELS: f64 = 0.4;
pub(crate) const STYLE_SD_OF_ANSWERS: f64 = 1.0;
/// A standard normal number (Box and Muller 1958).
pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Expected battles of each model, and their cumulated sums for drawing.
pub(crate) struct Popularity {
    cumulated: Vec<f64>,
    pub(crate) battles: usize,
}

impl Popularity {
    pub(crate) fn up_to(most: f64) -> Self {
        let step = (most / FEWEST_BATTLES).ln() / (MODELS - 1) as f64;
        let mut sum = 0.0;
        let cumulated = (0..MODELS).map(|model| {
            sum += FEWEST_BATTLES * (step * model as f64).exp();
            sum
        });
        let cumulated: Vec<f64> = cumulated.collect();
        Self {
            cumulated,
            battles: (sum / 2.0) as usize,
        }
    }

    pub(crate) fn equal(models: usize, battles_each: f64) -> Self {
        let cumulated = (1..=models).map(|n| n as f64 * battles_each).collect();
        Self {
            cumulated,
            battles: (models as f64 * battles_each / 2.0) as usize,
        }
    }

    pub(crate) fn models(&self) -> usize {
        self.cumulated.len()
    }

    pub(crate) fn model(&self, rng: &mut ChaCha8Rng) -> usize {
        let last = self.models() - 1;
        let target = rng.random::<f64>() * self.cumulated[last];
        self.cumulated
            .partition_point(|&sum| sum <= target)
            .min(last)
    }

    pub(crate) fn pair(&self, rng: &mut ChaCha8Rng) -> (usize, usize) {
        loop {
            let (a, b) = (self.model(rng), self.model(rng));
            if a != b {
                return (a, b);
            }
        }
    }
}

/// Twice the score of side A, whose expectation is 2 / (1 + exp(−gap)).
pub(crate) fn halves(gap: f64, rng: &mut ChaCha8Rng) -> usize {
    let p = 1.0 / (1.0 + (-gap).exp());
    let tie = TIE_FACTOR * p * (1.0 - p);
    let roll: f64 = rng.random();
    if roll < tie {
        1
    } else if roll < p + tie / 2.0 {
        2
    } else {
        0
    }
}

pub(crate) fn strengths(models: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..models).map(|_| STRENGTH_SD * normal(rng)).collect()
}

/// Battles of models with these strengths, as counts.
pub(crate) fn plain_arena(
    truth: &[f64],
    popularity: &Popularity,
    rng: &mut ChaCha8Rng,
) -> Result<Comparisons, agon_ranking::Error> {
    let models = popularity.models();
    let mut counts = vec![0_u64; models * models * 3];
    for _ in 0..popularity.battles {
        let (a, b) = popularity.pair(rng);
        counts[(a * models + b) * 3 + halves(truth[a] - truth[b], rng)] += 1;
    }
    let rows = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(idx, count)| {
            let (pair, halves) = (idx / 3, idx % 3);
            Comparison::new(
                (pair / models) as u32,
                (pair % models) as u32,
                halves as f64 / 2.0,
            )
            .with_count(*count)
        });
    Comparisons::new(models, rows)
}

pub(crate) fn style_arena(
    popularity: &Popularity,
    rng: &mut ChaCha8Rng,
) -> Result<(Vec<f64>, Comparisons), agon_ranking::Error> {
    let truth = strengths(popularity.models(), rng);
    // Strong models write longer and with more structure, so that style left out would bias strengths.
    let style: Vec<[f64; 4]> = truth
        .iter()
        .map(|strength| std::array::from_fn(|_| STYLE_SD_OF_MODELS * normal(rng) + 0.3 * strength))
        .collect();
    let (mut model_a, mut model_b, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    let mut features: [Vec<f64>; 4] = Default::default();
    for _ in 0..popularity.battles {
        let (a, b) = popularity.pair(rng);
        let mut gap = truth[a] - truth[b];
        for (idx, column) in features.iter_mut().enumerate() {
            // (a − b) / (a + b) of two log-normal totals.
            let logarithms = style[a][idx] - style[b][idx] + STYLE_SD_OF_ANSWERS * normal(rng);
            let difference = (logarithms / 2.0).tanh();
            gap += STYLE_EFFECTS[idx] * difference;
            column.push(difference);
        }
        model_a.push(a as u32);
        model_b.push(b as u32);
        scores.push(halves(gap, rng) as f64 / 2.0);
    }
    let features = features.each_ref().map(Vec::as_slice);
    let rows = Rows {
        model_a: &model_a,
        model_b: &model_b,
        scores: &scores,
        features: &features,
        clusters: None,
        weights: None,
        subset: None,
    };
    Ok((
        truth,
        Comparisons::from_rows(MODELS, rows, NonZeroUsize::MIN)?,
    ))
}
