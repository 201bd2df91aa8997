//! The exponential and the logarithm as the fits need them: several numbers at a time, the same bits on every machine.

use crate::wide::{self, Work};

/// e^x for x ≤ 0, to about one unit in the last place; below −708 as at −708.
///
/// Own code, as a call of the platform's library would keep the compiler from working on several numbers at once and
/// may round differently elsewhere. x = k ln 2 + r with |r| ≤ ½ ln 2 (Cody & Waite 1980), e^r by its series to r¹³.
#[inline(always)]
pub(crate) fn exp_of_negative(x: f64) -> f64 {
    /// Adding it leaves the nearest whole number in the lowest bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Written so that a NaN stays one.
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x * std::f64::consts::LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut sum = 1.0 / 6_227_020_800.0;
    for factorial in [
        479_001_600.0,
        39_916_800.0,
        3_628_800.0,
        362_880.0,
        40_320.0,
        5_040.0,
        720.0,
        120.0,
        24.0,
        6.0,
        2.0,
        1.0,
        1.0,
    ] {
        sum = sum * r + 1.0 / factorial;
    }
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// log(1 + x) for 0 ≤ x ≤ 1, to about two units in the last place.
///
/// 2 artanh(s) with s = x / (2 + x) ≤ ⅓ (Abramowitz & Stegun 1964, 4.1.27), by its series to s³⁵.
#[inline(always)]
pub(crate) fn ln_1p_of_share(x: f64) -> f64 {
    let s = x / (2.0 + x);
    let square = s * s;
    let mut sum = 1.0 / 35.0;
    for odd in [
        33.0, 31.0, 29.0, 27.0, 25.0, 23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0,
    ] {
        sum = sum * square + 1.0 / odd;
    }
    2.0 * s + 2.0 * s * square * sum
}

/// σ(d) and σ(−d), the larger of which comes from the smaller without cancellation.
#[inline(always)]
pub(crate) fn both_probabilities(d: f64) -> (f64, f64) {
    let e = exp_of_negative(-d.abs());
    let near = 1.0 / (1.0 + e);
    let far = e * near;
    if d >= 0.0 { (near, far) } else { (far, near) }
}

/// log(x) for 0 < x ≤ 1 that is not subnormal, to about two units in the last place.
///
/// x = 2ᵏ m with √½ ≤ m < √2, and log m = 2 artanh(s) with s = (m − 1) / (m + 1), |s| ≤ 0.172 (Abramowitz & Stegun 1964,
/// 4.1.27), by its series to s²¹.
#[inline(always)]
pub(crate) fn ln_of_share(x: f64) -> f64 {
    /// Mantissa of √½, rounded: what is added to the bits so that the exponent changes there and not at 1.
    const SHIFT: u64 = 0x3ff0_0000_0000_0000 - 0x3fe6_a09e_667f_3bcd;
    /// A number in whose lowest bits a small whole number can be written.
    const WHOLE: u64 = 0x4330_0000_0000_0000;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let shifted = x.to_bits().wrapping_add(SHIFT);
    let exponent = f64::from_bits(WHOLE | (shifted >> 52)) - (4_503_599_627_370_496.0 + 1023.0);
    let mantissa = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + 0x3fe6_a09e_667f_3bcd);
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let square = s * s;
    let mut sum = 1.0 / 21.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        sum = sum * square + 1.0 / odd;
    }
    let ln_mantissa = 2.0 * s + 2.0 * s * square * sum;
    exponent * LN_2_HIGH + (ln_mantissa + exponent * LN_2_LOW)
}

/// Turns log-odds into the probability of the first and of the second.
struct Probabilities<'a> {
    first: &'a mut [f64],
    second: &'a mut [f64],
}

impl Work for Probabilities<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (first, second) in self.first.iter_mut().zip(self.second) {
            (*first, *second) = both_probabilities(*first);
        }
    }
}

/// Replaces log-odds d by σ(d), and writes σ(−d) beside them.
pub(crate) fn probabilities(log_odds: &mut [f64], others: &mut Vec<f64>) {
    others.resize(log_odds.len(), 0.0);
    wide::run(Probabilities {
        first: log_odds,
        second: others,
    });
}

/// Scores and losses of groups of battles, of which the largest possible log-likelihoods are summed.
struct Saturated<'a> {
    scores: &'a [f64],
    losses: &'a [f64],
}

impl Work for Saturated<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        const LANES: usize = 4;
        let term = |score: f64, loss: f64| {
            let mass = score + loss;
            let part = |part: f64| {
                let share = part / mass;
                // What never happened adds nothing; its logarithm is not looked at.
                let share = if share < f64::MIN_POSITIVE {
                    1.0
                } else {
                    share
                };
                part * ln_of_share(share)
            };
            part(score) + part(loss)
        };
        let (score_chunks, score_rest) = self.scores.as_chunks::<LANES>();
        let (loss_chunks, loss_rest) = self.losses.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (scores, losses) in score_chunks.iter().zip(loss_chunks) {
            for lane in 0..LANES {
                sums[lane] += term(scores[lane], losses[lane]);
            }
        }
        let rest = score_rest.iter().zip(loss_rest);
        let rest: f64 = rest.map(|(&score, &loss)| term(score, loss)).sum();
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
    }
}

/// Σ s log(s / (s + l)) + l log(l / (s + l)) for groups with score s and loss l, not both of which are 0.
pub(crate) fn saturated_log_likelihood(scores: &[f64], losses: &[f64]) -> f64 {
    wide::run(Saturated { scores, losses })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_and_the_logarithm_agree_with_the_library() {
        assert_eq!(exp_of_negative(0.0), 1.0);
        for step in 0..200_000 {
            let x = -f64::from(step) * 0.003_517;
            let (found, expected) = (exp_of_negative(x), x.exp());
            assert!(
                (found / expected - 1.0).abs() < 5e-16,
                "{x}: {found} {expected}"
            );
            let (found, expected) = (ln_1p_of_share(expected), expected.ln_1p());
            assert!(
                (found - expected).abs() <= 5e-16 * expected,
                "{x}: {found} {expected}"
            );
        }
        assert!(exp_of_negative(-1e300) < 1e-300 && exp_of_negative(f64::NAN).is_nan());
    }

    #[test]
    fn the_logarithm_of_a_share_agrees_with_the_library() {
        assert_eq!(ln_of_share(1.0), 0.0);
        let mut x = 1.0_f64;
        for step in 0..200_000 {
            let expected = x.ln();
            assert!(
                (ln_of_share(x) - expected).abs() <= 5e-16 * expected.abs(),
                "{x}: {} {expected}",
                ln_of_share(x)
            );
            x *= 0.996_5 + f64::from(step % 7) * 1e-5;
            if x < 1e-300 {
                x = 0.999_999_999;
            }
        }
    }

    #[test]
    fn many_at_once_are_what_each_one_is() {
        let log_odds: Vec<f64> = (0..1003).map(|n| (f64::from(n) - 500.0) / 25.0).collect();
        let (mut first, mut second) = (log_odds.clone(), Vec::new());
        probabilities(&mut first, &mut second);
        for ((d, p), q) in log_odds.into_iter().zip(first).zip(second) {
            assert_eq!((p, q), both_probabilities(d));
        }
        let scores = [3.0, 0.0, 7.5, 1.0, 2.0, 4.0, 0.5];
        let losses = [1.0, 2.0, 0.0, 1.0, 6.0, 4.0, 1e9];
        let expected: f64 = (0..7)
            .map(|idx| {
                let part = |part: f64| {
                    let share: f64 = part / (scores[idx] + losses[idx]);
                    if part > 0.0 { part * share.ln() } else { 0.0 }
                };
                part(scores[idx]) + part(losses[idx])
            })
            .sum();
        assert!((saturated_log_likelihood(&scores, &losses) - expected).abs() < 1e-13);
    }
}
