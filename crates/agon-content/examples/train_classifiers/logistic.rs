//! Logistic regression by AdaGrad, quantised to eight bits, with thresholds by cross-validation.

use std::fmt;

use agon_content::annotate::category::linear::{Class, Model, buckets, sigmoid};

use crate::{
    examples::{Example, FOLDS},
    templates::Numbers,
};

/// Rounds over the examples, step of AdaGrad, and pull of the weights to zero.
const EPOCHS: u32 = 24;
const STEP: f64 = 0.35;
const DECAY: f64 = 2e-5;
/// Texts that a bucket has to stand in.
const TEXTS_MIN: u32 = 3;
/// What the sums of squares begin with: the greater, the slower what is rare is learnt.
const SQUARES_START: f64 = 1.0;

/// How a model is made.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) n_buckets: u32,
    /// Share of right ones that the labels `true` are to have.
    pub(crate) precision_min: f64,
    /// Share of right ones that the labels `false` are to have.
    pub(crate) absence_min: f64,
}

/// Trains one classifier for each class over shared buckets, on the examples that `is_used` picks. Its thresholds are one half.
pub(crate) fn train(
    names: &[&str],
    examples: &[Example],
    n_buckets: u32,
    is_used: &dyn Fn(&Example) -> bool,
) -> Model {
    let used: Vec<&Example> = examples.iter().filter(|example| is_used(example)).collect();
    let mut rows: Vec<Vec<u32>> = used
        .iter()
        .map(|example| buckets(&example.text, n_buckets))
        .collect();
    // What stands in one or two texts only would be learnt by heart.
    let mut n_texts = vec![0_u32; position(n_buckets)];
    for &bucket in rows.iter().flatten() {
        n_texts[position(bucket)] += 1;
    }
    let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
    for row in &mut rows {
        row.retain(|&bucket| n_texts[position(bucket)] >= TEXTS_MIN);
    }
    let mut model = Model {
        classes: Vec::new(),
        n_buckets,
        weights: vec![0; position(n_buckets) * names.len()],
    };
    for (idx, name) in names.iter().enumerate() {
        let (weights, bias) = fit(idx, &used, &rows, &lengths, position(n_buckets));
        let largest = weights
            .iter()
            .fold(1e-9_f64, |max, weight| max.max(weight.abs()));
        let scale = largest / 127.0;
        for (bucket, weight) in weights.iter().enumerate() {
            let small = (weight / scale).round() as i8;
            model.weights[bucket * names.len() + idx] = small;
        }
        model.classes.push(Class {
            name: (*name).to_owned(),
            scale: scale as f32,
            bias: bias as f32,
            true_from: 0.5,
            false_to: 0.5,
        });
    }
    model
}

fn fit(
    class: usize,
    examples: &[&Example],
    rows: &[Vec<u32>],
    lengths: &[usize],
    n_buckets: usize,
) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..examples.len())
        .filter(|&idx| examples[idx].labels[class].is_some())
        .collect();
    let ratio = |n: usize| f64::from(u32::try_from(n).unwrap());
    let weight_of = |holds: bool| -> f64 {
        order
            .iter()
            .filter(|&&idx| examples[idx].labels[class] == Some(holds))
            .map(|&idx| examples[idx].source.weight())
            .sum()
    };
    // Rare classes weigh more, by the square root, which is between counting texts and counting classes alike.
    let true_weight = (weight_of(false) / weight_of(true).max(1.0)).sqrt();
    let mut weights = vec![0.0_f64; n_buckets];
    let mut squares = vec![SQUARES_START; n_buckets];
    let (mut bias, mut bias_square) = (0.0_f64, SQUARES_START);
    let mut numbers = Numbers(7);
    for _ in 0..EPOCHS {
        for at in (1..order.len()).rev() {
            order.swap(at, numbers.below(at + 1));
        }
        for &idx in &order {
            let row = &rows[idx];
            let value = 1.0 / ratio(lengths[idx].max(1)).sqrt();
            let sum: f64 = row.iter().map(|&bucket| weights[position(bucket)]).sum();
            let holds = examples[idx].labels[class] == Some(true);
            let weight = examples[idx].source.weight() * if holds { true_weight } else { 1.0 };
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

/// For each class the widest range of each verdict that is as right as asked for, on texts that the scoring model did not see.
pub(crate) fn choose_thresholds(
    model: &mut Model,
    names: &[&str],
    examples: &[Example],
    choice: &Choice,
    is_used: &dyn Fn(&Example) -> bool,
) {
    let mut scored: Vec<(Vec<f64>, &Example)> = Vec::new();
    for fold in 0..FOLDS {
        let is_apart =
            |example: &Example| example.source.is_for_thresholds() && example.fold == fold;
        let other = train(names, examples, choice.n_buckets, &|example| {
            is_used(example) && !is_apart(example)
        });
        scored.extend(
            examples
                .iter()
                .filter(|example| is_apart(example))
                .map(|example| (other.probabilities(&example.text), example)),
        );
    }
    for (idx, class) in model.classes.iter_mut().enumerate() {
        let judged: Vec<(f64, bool, f64)> = scored
            .iter()
            .filter_map(|(scores, example)| {
                Some((
                    scores[idx],
                    example.labels[idx]?,
                    example.source.threshold_weight(),
                ))
            })
            .collect();
        // The share of right verdicts among those that a threshold gives; 0 when it gives none.
        let share = |chosen: &dyn Fn(f64) -> bool, wanted: bool| {
            let sum = |is_counted: &dyn Fn(bool) -> bool| -> f64 {
                judged
                    .iter()
                    .filter(|(score, holds, _)| chosen(*score) && is_counted(*holds))
                    .map(|(_, _, weight)| weight)
                    .sum()
            };
            sum(&|holds| holds == wanted) / sum(&|_| true).max(1.0)
        };
        let percents = |range: std::ops::RangeInclusive<u8>| range.map(f32::from);
        class.true_from = percents(40..=95)
            .map(|percent| percent / 100.0)
            .find(|from| share(&|score| score >= f64::from(*from), true) >= choice.precision_min)
            .unwrap_or(0.95);
        class.false_to = percents(2..=49)
            .map(|percent| percent / 100.0)
            .filter(|to| *to < class.true_from)
            .rfind(|to| share(&|score| score <= f64::from(*to), false) >= choice.absence_min)
            .unwrap_or(0.02);
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

impl Measured {
    /// The harmonic mean of precision and recall; what is unknown counts as not found.
    pub(crate) fn f1(&self) -> f64 {
        2.0 * f64::from(self.n_right) / f64::from((self.n_said + self.n_true).max(1))
    }
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
            "true {:4}  unknown {:4}  precision {:.3}  recall {:.3}  F1 {:.3}  right when false {:.3}",
            self.n_true,
            self.n_unknown,
            share(self.n_right, self.n_said),
            share(self.n_right, self.n_true),
            self.f1(),
            share(self.n_false_right, self.n_false_said),
        )
    }
}
