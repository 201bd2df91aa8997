//! Logistic regression by AdaGrad, quantised to eight bits, with thresholds from the validation part.

use std::fmt;

use agon_content::annotate::category::linear::{Class, Model, buckets, sigmoid};

use crate::{
    examples::{Example, Part},
    templates::Numbers,
};

/// Rounds over the examples, step of AdaGrad, and pull of the weights to zero.
const EPOCHS: u32 = 24;
const STEP: f64 = 0.35;
const DECAY: f64 = 2e-5;

/// How a model is made.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) n_buckets: u32,
    /// Share of right ones that the labels `true` are to have in the validation part.
    pub(crate) precision_min: f64,
    /// Share of right ones that the labels `false` are to have.
    pub(crate) absence_min: f64,
}

/// Trains one classifier for each class over shared buckets.
pub(crate) fn train(names: &[&str], examples: &[Example], choice: &Choice) -> Model {
    let rows: Vec<Vec<u32>> = examples
        .iter()
        .map(|example| buckets(&example.text, choice.n_buckets))
        .collect();
    let n_buckets = usize::try_from(choice.n_buckets).unwrap();
    let mut model = Model {
        classes: Vec::new(),
        n_buckets: choice.n_buckets,
        weights: vec![0; n_buckets * names.len()],
    };
    for (idx, name) in names.iter().enumerate() {
        let (weights, bias) = fit(idx, examples, &rows, n_buckets);
        let largest = weights
            .iter()
            .fold(1e-9_f64, |max, weight| max.max(weight.abs()));
        let scale = largest / 127.0;
        for (bucket, weight) in weights.iter().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "at most 127 by the scale")]
            let small = (weight / scale).round() as i8;
            model.weights[bucket * names.len() + idx] = small;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a file holds single precision"
        )]
        model.classes.push(Class {
            name: (*name).to_owned(),
            scale: scale as f32,
            bias: bias as f32,
            true_from: 0.5,
            false_to: 0.5,
        });
    }
    choose_thresholds(&mut model, examples, choice);
    model
}

fn fit(class: usize, examples: &[Example], rows: &[Vec<u32>], n_buckets: usize) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..examples.len())
        .filter(|&idx| examples[idx].part == Part::Train && examples[idx].labels[class].is_some())
        .collect();
    let n_true = order
        .iter()
        .filter(|&&idx| examples[idx].labels[class] == Some(true))
        .count();
    let ratio = |n: usize| f64::from(u32::try_from(n).unwrap());
    // Rare classes weigh more, by the square root, which is between counting texts and counting classes alike.
    let true_weight = (ratio(order.len() - n_true) / ratio(n_true.max(1))).sqrt();
    let mut weights = vec![0.0_f64; n_buckets];
    let mut squares = vec![1e-8_f64; n_buckets];
    let (mut bias, mut bias_square) = (0.0_f64, 1e-8_f64);
    let mut numbers = Numbers(7);
    for _ in 0..EPOCHS {
        for at in (1..order.len()).rev() {
            order.swap(at, numbers.below(at + 1));
        }
        for &idx in &order {
            let row = &rows[idx];
            let value = 1.0 / ratio(row.len().max(1)).sqrt();
            let sum: f64 = row.iter().map(|&bucket| weights[position(bucket)]).sum();
            let holds = examples[idx].labels[class] == Some(true);
            let weight = if holds { true_weight } else { 1.0 };
            let error = weight * (sigmoid(bias + value * sum) - if holds { 1.0 } else { 0.0 });
            for &bucket in row {
                let bucket = position(bucket);
                let gradient = error * value + DECAY * weights[bucket];
                squares[bucket] += gradient * gradient;
                weights[bucket] -= STEP * gradient / squares[bucket].sqrt();
            }
            bias_square += error * error;
            bias -= STEP * error / bias_square.sqrt();
        }
    }
    (weights, bias)
}

fn position(bucket: u32) -> usize {
    usize::try_from(bucket).unwrap()
}

/// The widest range of each verdict that is as right as asked for in the validation part.
fn choose_thresholds(model: &mut Model, examples: &[Example], choice: &Choice) {
    let scored: Vec<(Vec<f64>, &Example)> = examples
        .iter()
        .filter(|example| example.part == Part::Validation)
        .map(|example| (model.probabilities(&example.text), example))
        .collect();
    for (idx, class) in model.classes.iter_mut().enumerate() {
        let judged: Vec<(f64, bool)> = scored
            .iter()
            .filter_map(|(scores, example)| Some((scores[idx], example.labels[idx]?)))
            .collect();
        let share = |chosen: &dyn Fn(f64) -> bool, wanted: bool| {
            let chosen: Vec<bool> = judged
                .iter()
                .filter(|(score, _)| chosen(*score))
                .map(|(_, holds)| *holds == wanted)
                .collect();
            let n_right = chosen.iter().filter(|right| **right).count();
            f64::from(u32::try_from(n_right).unwrap())
                / f64::from(u32::try_from(chosen.len().max(1)).unwrap())
        };
        let percents = |range: std::ops::RangeInclusive<u8>| range.map(f32::from);
        class.true_from = percents(50..=95)
            .map(|percent| percent / 100.0)
            .find(|from| share(&|score| score >= f64::from(*from), true) >= choice.precision_min)
            .unwrap_or(0.95);
        class.false_to = percents(5..=49)
            .map(|percent| percent / 100.0)
            .filter(|to| share(&|score| score <= f64::from(*to), false) >= choice.absence_min)
            .last()
            .unwrap_or(0.05);
    }
}

/// Counts of one class on some examples.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) n_true: u32,
    n_said: u32,
    n_right: u32,
    n_unknown: u32,
    n_false_said: u32,
    n_false_right: u32,
}

pub(crate) fn measure<'e>(
    model: &Model,
    class: usize,
    examples: impl Iterator<Item = &'e Example>,
) -> Measured {
    let mut measured = Measured::default();
    for example in examples {
        let Some(holds) = example.labels[class] else {
            continue;
        };
        let score = model.probabilities(&example.text)[class];
        let says = score >= f64::from(model.classes[class].true_from);
        let denies = score <= f64::from(model.classes[class].false_to);
        measured.n_true += u32::from(holds);
        measured.n_said += u32::from(says);
        measured.n_right += u32::from(says && holds);
        measured.n_unknown += u32::from(!says && !denies);
        measured.n_false_said += u32::from(denies);
        measured.n_false_right += u32::from(denies && !holds);
    }
    measured
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
        write!(
            f,
            "true {:5}  unknown {:5}  precision {:.3}  recall {:.3}  right when false {:.3}",
            self.n_true,
            self.n_unknown,
            share(self.n_right, self.n_said),
            share(self.n_right, self.n_true),
            share(self.n_false_right, self.n_false_said),
        )
    }
}
