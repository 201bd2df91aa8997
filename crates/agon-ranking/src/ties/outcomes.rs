//! Log-probabilities of the outcomes of one battle under the tie models, with first and second derivatives.

use super::{Outcome, TieModel};

/// A function of (θa, θb, ψ) at one point: value, gradient and Hessian.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Jet {
    pub(super) value: f64,
    pub(super) gradient: [f64; 3],
    pub(super) hessian: [[f64; 3]; 3],
}

impl Jet {
    /// A linear function with the given value and gradient.
    fn linear(value: f64, gradient: [f64; 3]) -> Self {
        Self {
            value,
            gradient,
            hessian: [[0.0; 3]; 3],
        }
    }

    /// `self + factor · other`.
    fn plus(mut self, factor: f64, other: &Self) -> Self {
        self.value += factor * other.value;
        for row in 0..3 {
            self.gradient[row] += factor * other.gradient[row];
            for column in 0..3 {
                self.hessian[row][column] += factor * other.hessian[row][column];
            }
        }
        self
    }

    /// log Σ exp of functions, without overflow: its gradient is their mean gradient under the softmax weights,
    /// its Hessian their mean Hessian plus the covariance of their gradients.
    fn log_sum_exp<const N: usize>(parts: [Self; N]) -> Self {
        let max = parts
            .iter()
            .fold(f64::NEG_INFINITY, |max, part| max.max(part.value));
        let mut weights = parts.map(|part| (part.value - max).exp());
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        let mut jet = Self {
            value: max + sum.ln(),
            ..Self::default()
        };
        for (part, weight) in parts.iter().zip(weights) {
            for row in 0..3 {
                jet.gradient[row] += weight * part.gradient[row];
            }
        }
        for (part, weight) in parts.iter().zip(weights) {
            for row in 0..3 {
                for column in 0..3 {
                    let spread = (part.gradient[row] - jet.gradient[row])
                        * (part.gradient[column] - jet.gradient[column]);
                    jet.hessian[row][column] += weight * (part.hessian[row][column] + spread);
                }
            }
        }
        jet
    }
}

/// log(exp(k τ) − 1) for τ > 0, concave in τ.
fn log_excess(k: f64, tau: f64) -> Jet {
    let rest = (-k * tau).exp();
    // 1 − exp(−k τ) without cancellation near τ = 0.
    let share = -(-k * tau).exp_m1();
    let mut jet = Jet::linear(k * tau + share.ln(), [0.0, 0.0, k / share]);
    jet.hessian[2][2] = -k * k * rest / (share * share);
    jet
}

/// log P of every outcome of a battle of a and b, in the order of [`Outcome::ALL`].
///
/// ψ is ln 2ν for Davidson's model and ln η > 0 for the others. The last entry only has a meaning in the grounded model;
/// elsewhere it is −∞ and must not be used.
pub(super) fn log_probabilities(model: TieModel, a: f64, b: f64, psi: f64) -> [Jet; 4] {
    let impossible = Jet::linear(f64::NEG_INFINITY, [0.0; 3]);
    let theta_a = Jet::linear(a, [1.0, 0.0, 0.0]);
    let theta_b = Jet::linear(b, [0.0, 1.0, 0.0]);
    let raised_a = Jet::linear(a + psi, [1.0, 0.0, 1.0]);
    let raised_b = Jet::linear(b + psi, [0.0, 1.0, 1.0]);
    let bar = Jet::default();
    match model {
        TieModel::Davidson => {
            let tie = Jet::linear((a + b) / 2.0 + psi, [0.5, 0.5, 1.0]);
            let all = Jet::log_sum_exp([theta_a, theta_b, tie]);
            [
                theta_a.plus(-1.0, &all),
                theta_b.plus(-1.0, &all),
                tie.plus(-1.0, &all),
                impossible,
            ]
        }
        TieModel::RaoKupper => {
            let for_a = Jet::log_sum_exp([theta_a, raised_b]);
            let for_b = Jet::log_sum_exp([theta_b, raised_a]);
            let win_a = theta_a.plus(-1.0, &for_a);
            let win_b = theta_b.plus(-1.0, &for_b);
            // πa πb (η² − 1) / ((πa + η πb) (πb + η πa)).
            let tie = log_excess(2.0, psi).plus(1.0, &win_a).plus(1.0, &win_b);
            [win_a, win_b, tie, impossible]
        }
        TieModel::GroundedRaoKupper => {
            let for_a = Jet::log_sum_exp([theta_a, raised_b, bar]);
            let for_b = Jet::log_sum_exp([theta_b, raised_a, bar]);
            let all = Jet::log_sum_exp([theta_a, theta_b, bar]);
            let win_a = theta_a.plus(-1.0, &for_a);
            let win_b = theta_b.plus(-1.0, &for_b);
            // The rest, 1 − P(a) − P(b) − P(both bad), is (η − 1) πa πb (1 / A + 1 / B) / S with A, B and S the
            // denominators of P(a), P(b) and P(both bad): a sum of positive terms, where the difference would cancel.
            let both = Jet::log_sum_exp([for_a, for_b]);
            let tie = log_excess(1.0, psi)
                .plus(1.0, &win_a)
                .plus(1.0, &win_b)
                .plus(1.0, &both)
                .plus(-1.0, &all);
            [win_a, win_b, tie, bar.plus(-1.0, &all)]
        }
    }
}

/// Probabilities of all outcomes in the order of [`Outcome::ALL`].
pub(super) fn probabilities(model: TieModel, a: f64, b: f64, psi: f64) -> [f64; 4] {
    let jets = log_probabilities(model, a, b, psi);
    Outcome::ALL.map(|outcome| {
        if outcome == Outcome::BothBad && !model.has_both_bad() {
            0.0
        } else {
            jets[outcome as usize].value.exp()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODELS: [TieModel; 3] = [
        TieModel::Davidson,
        TieModel::RaoKupper,
        TieModel::GroundedRaoKupper,
    ];
    const POINTS: [[f64; 3]; 6] = [
        [0.0, 0.0, 0.7],
        [1.5, -0.4, 0.2],
        [-2.0, 0.3, 1.9],
        [3.0, 2.5, 0.05],
        [-4.0, -4.5, 2.5],
        [6.0, -7.0, 3.0],
    ];

    #[test]
    fn probabilities_sum_to_one_and_follow_the_published_formulas() {
        for [a, b, psi] in POINTS {
            let (pa, pb, eta): (f64, f64, f64) = (a.exp(), b.exp(), psi.exp());
            let root = eta * (pa * pb).sqrt();
            let davidson = pa + pb + root;
            let rao_kupper = [pa / (pa + eta * pb), pb / (pb + eta * pa)];
            let grounded = [
                pa / (pa + eta * pb + 1.0),
                pb / (pb + eta * pa + 1.0),
                1.0 / (1.0 + pa + pb),
            ];
            let expected = [
                [pa / davidson, pb / davidson, root / davidson, 0.0],
                [
                    rao_kupper[0],
                    rao_kupper[1],
                    1.0 - rao_kupper[0] - rao_kupper[1],
                    0.0,
                ],
                [
                    grounded[0],
                    grounded[1],
                    1.0 - grounded.iter().sum::<f64>(),
                    grounded[2],
                ],
            ];
            for (model, expected) in MODELS.into_iter().zip(expected) {
                let found = probabilities(model, a, b, psi);
                assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-14);
                for (found, expected) in found.into_iter().zip(expected) {
                    assert!((found - expected).abs() < 1e-14, "{model:?} {a} {b} {psi}");
                    assert!((0.0..=1.0).contains(&found));
                }
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_finite_differences() {
        const STEP: f64 = 1e-5;
        for model in MODELS {
            for point in POINTS {
                let at = |point: [f64; 3]| log_probabilities(model, point[0], point[1], point[2]);
                let jets = at(point);
                for axis in 0..3 {
                    let (mut up, mut down) = (point, point);
                    up[axis] += STEP;
                    down[axis] -= STEP;
                    let (up, down) = (at(up), at(down));
                    for outcome in Outcome::ALL {
                        if outcome == Outcome::BothBad && !model.has_both_bad() {
                            continue;
                        }
                        let idx = outcome as usize;
                        let slope = (up[idx].value - down[idx].value) / (2.0 * STEP);
                        let close = |x: f64, y: f64| (x - y).abs() < 1e-6 * (1.0 + y.abs());
                        assert!(
                            close(slope, jets[idx].gradient[axis]),
                            "{model:?} {point:?}"
                        );
                        for row in 0..3 {
                            let bend =
                                (up[idx].gradient[row] - down[idx].gradient[row]) / (2.0 * STEP);
                            let found = jets[idx].hessian[row][axis];
                            assert!(close(bend, found), "{model:?} {point:?}: {bend} {found}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_small_tie_parameter_leaves_a_small_positive_tie() {
        for model in [TieModel::RaoKupper, TieModel::GroundedRaoKupper] {
            let found = probabilities(model, 0.3, -0.2, 1e-14);
            assert!(found[2] > 0.0 && found[2] < 1e-14, "{found:?}");
        }
    }

    /// Largest eigenvalue sign of the Hessian of log P(tie), by testing a few directions.
    fn bends_up(model: TieModel, point: [f64; 3], direction: [f64; 3]) -> bool {
        let tie = log_probabilities(model, point[0], point[1], point[2])[Outcome::Tie as usize];
        let mut sum = 0.0;
        for row in 0..3 {
            for column in 0..3 {
                sum += direction[row] * tie.hessian[row][column] * direction[column];
            }
        }
        sum > 1e-9
    }

    #[test]
    fn only_the_grounded_tie_is_not_log_concave() {
        let directions = [
            [1.0, -1.0, 0.0],
            [1.0, 1.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0],
            [1.0, 0.0, 1.0],
            [1.0, -1.0, 1.0],
        ];
        for point in POINTS {
            for direction in directions {
                assert!(!bends_up(TieModel::Davidson, point, direction));
                assert!(!bends_up(TieModel::RaoKupper, point, direction));
            }
        }
        // With weak models and a wide tie, log P(tie) is nearly log (πa + πb): convex in the difference.
        let weak = [-4.0, -4.5, 6.0];
        assert!(bends_up(TieModel::GroundedRaoKupper, weak, directions[0]));
    }
}
