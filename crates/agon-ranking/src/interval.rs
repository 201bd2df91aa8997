//! What ratings are measured from, and the normal quantile that turns standard errors into intervals.

use crate::Error;

/// What ratings are measured from. Only differences of strengths can be estimated, so something has to be held fixed;
/// the location of ratings and their covariance are always taken under the same anchor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Anchor {
    /// The plain mean of the models in the fit is the initial rating. The default: it is what the published boards
    /// (FastChat, arena-rank) do, so that ratings agree with theirs without a shift, and it does not change when only
    /// the numbers of battles do.
    ///
    /// Its price: the mean contains the rarest models, and their uncertainty enters every interval
    /// (five rare models among 100 raised the median standard error by a tenth).
    #[default]
    Mean,
    /// The mean of the models in the fit, weighted by their battles, is the initial rating.
    ///
    /// Rare models hardly enter it, so intervals are the narrowest and a new model moves nobody.
    WeightedMean,
    /// One model has a given rating; its interval has no width, and all others are relative to it.
    Model {
        /// Index of the model.
        model: usize,
        /// The rating it shall have.
        rating: f64,
    },
}

/// The number of standard errors to each side of a two-sided interval: Φ⁻¹(½ + level / 2).
///
/// # Errors
///
/// [`Error::Option`] unless the level lies between 0 and 1, both excluded.
pub fn critical_value(level: f64) -> Result<f64, Error> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::Option {
            option: "level",
            value: level,
            expected: "a number between 0 and 1, both excluded",
        });
    }
    // The upper tail is half of what the level leaves out; its quantile is minus that of the upper end.
    Ok(-normal_quantile((1.0 - level) / 2.0))
}

/// Quantile of the standard normal distribution, Φ⁻¹(p), for 0 < p < 1; ±∞ at the ends and NaN outside.
///
/// Algorithm AS 241, PPND16 (Wichura 1988, Applied Statistics 37, 477–484): relative error about 1e-16.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRAL_NUMERATOR, &CENTRAL_DENOMINATOR);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return if q < 0.0 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    let r = (-tail.ln()).sqrt();
    let value = if r <= 5.0 {
        ratio(r - 1.6, &MIDDLE_NUMERATOR, &MIDDLE_DENOMINATOR)
    } else {
        ratio(r - 5.0, &FAR_NUMERATOR, &FAR_DENOMINATOR)
    };
    if q < 0.0 { -value } else { value }
}

/// Quotient of two polynomials, coefficients from the constant term up.
fn ratio(x: f64, numerator: &[f64; 8], denominator: &[f64; 8]) -> f64 {
    let horner =
        |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    horner(numerator) / horner(denominator)
}

// Coefficients of AS 241: central region, tails, far tails.
const CENTRAL_NUMERATOR: [f64; 8] = [
    3.387_132_872_796_366_5,
    1.331_416_678_917_843_8e2,
    1.971_590_950_306_551_3e3,
    1.373_169_376_550_946e4,
    4.592_195_393_154_987e4,
    6.726_577_092_700_87e4,
    3.343_057_558_358_813e4,
    2.509_080_928_730_122_7e3,
];
const CENTRAL_DENOMINATOR: [f64; 8] = [
    1.0,
    4.231_333_070_160_091e1,
    6.871_870_074_920_579e2,
    5.394_196_021_424_751e3,
    2.121_379_430_158_659_7e4,
    3.930_789_580_009_271e4,
    2.872_908_573_572_194_3e4,
    5.226_495_278_852_545e3,
];
const MIDDLE_NUMERATOR: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    2.417_807_251_774_506e-1,
    2.272_384_498_926_918_4e-2,
    7.745_450_142_783_414e-4,
];
const MIDDLE_DENOMINATOR: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    6.897_673_349_851e-1,
    1.481_039_764_274_800_8e-1,
    1.519_866_656_361_645_7e-2,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const FAR_NUMERATOR: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    2.965_605_718_285_048_7e-1,
    2.653_218_952_657_612_4e-2,
    1.242_660_947_388_078_4e-3,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const FAR_DENOMINATOR: [f64; 8] = [
    1.0,
    5.998_322_065_558_88e-1,
    1.369_298_809_227_358e-1,
    1.487_536_129_085_061_5e-2,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_quantile_has_full_double_precision() {
        // From the definition, with 60-digit arithmetic for the binary numbers nearest to these.
        for (p, expected) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_081_7),
            (0.9, 1.281_551_565_544_600_5),
            (0.95, 1.644_853_626_951_472_7),
            (0.975, 1.959_963_984_540_054_2),
            (0.995, 2.575_829_303_548_901),
            (0.025, -1.959_963_984_540_054_2),
            (1e-10, -6.361_340_902_404_056),
            (1e-100, -21.273_453_560_965_324),
            (1e-300, -37.047_096_299_361_2),
        ] {
            let found = normal_quantile(p);
            assert!(
                (found - expected).abs() <= 1e-15 * f64::max(1.0, expected.abs()),
                "{p}: {found}"
            );
        }
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(1.5).is_nan() && normal_quantile(f64::NAN).is_nan());
    }

    #[test]
    fn a_level_is_between_zero_and_one() {
        assert!((critical_value(0.95).unwrap() - 1.959_963_984_540_054).abs() < 1e-14);
        for level in [0.0, 1.0, -0.5, 95.0, f64::NAN] {
            assert!(matches!(
                critical_value(level),
                Err(Error::Option {
                    option: "level",
                    ..
                })
            ));
        }
    }
}
