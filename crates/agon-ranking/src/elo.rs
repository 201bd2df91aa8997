//! Online Elo: one pass over battles in time order.
//!
//! Not a substitute for the fit: the result depends on the order, and it comes without uncertainty.

use crate::Error;
use crate::comparisons::Comparison;

/// The constants of online Elo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EloOptions {
    /// Largest change of a rating by one battle.
    pub k: f64,
    /// Rating difference at which the odds are `base` to 1.
    pub scale: f64,
    /// See `scale`.
    pub base: f64,
    /// Rating before the first battle.
    pub initial: f64,
}

impl Default for EloOptions {
    /// The arena's constants: K = 4, scale 400, base 10, initial 1000.
    fn default() -> Self {
        Self {
            k: 4.0,
            scale: 400.0,
            base: 10.0,
            initial: 1000.0,
        }
    }
}

impl EloOptions {
    /// Refuses constants that make no sense.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (option, value) in [("k", self.k), ("initial", self.initial)] {
            if !value.is_finite() {
                return Err(Error::Option {
                    option,
                    value,
                    expected: "a finite number",
                });
            }
        }
        crate::leaderboard::check_scale(self.scale, self.base)
    }
}

/// Ratings after all battles, in the order given.
///
/// Rₐ ← Rₐ + K (y − E), E = 1 / (1 + base^((R_b − Rₐ) / scale)), and R_b by the opposite amount (Elo 1978).
/// A comparison with a count is replayed that often; one with a weight uses K × weight.
///
/// # Errors
///
/// As [`Comparisons::new`](crate::Comparisons::new) for each row;
/// [`Error::Option`] for constants that are not finite, or a scale or base that make no sense.
///
/// # Examples
///
/// ```
/// use agon_ranking::{Comparison, elo};
///
/// let ratings = elo::online(2, [Comparison::new(0, 1, 1.0)], &elo::EloOptions::default())?;
/// assert_eq!(ratings, [1002.0, 998.0]);
/// # Ok::<(), agon_ranking::Error>(())
/// ```
pub fn online(
    n_models: usize,
    battles: impl IntoIterator<Item = Comparison>,
    options: &EloOptions,
) -> Result<Vec<f64>, Error> {
    options.check()?;
    let mut ratings = vec![options.initial; n_models];
    for (row, battle) in battles.into_iter().enumerate() {
        crate::comparisons::check(row, &battle, n_models)?;
        let (a, b) = (battle.a as usize, battle.b as usize);
        for _ in 0..battle.count {
            let expected =
                1.0 / (1.0 + options.base.powf((ratings[b] - ratings[a]) / options.scale));
            let change = options.k * battle.weight * (battle.outcome - expected);
            ratings[a] += change;
            ratings[b] -= change;
        }
    }
    Ok(ratings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_constants_are_checked() {
        let battle = Comparison::new(0, 1, 1.0);
        let default = EloOptions::default();
        assert_eq!(online(2, [], &default), Ok(vec![1000.0, 1000.0]));
        assert!(matches!(
            online(2, [battle, Comparison::new(1, 1, 1.0)], &default),
            Err(Error::SelfComparison { row: 1, .. })
        ));
        for options in [
            EloOptions {
                k: f64::NAN,
                ..default
            },
            EloOptions {
                scale: 0.0,
                ..default
            },
            EloOptions {
                base: 1.0,
                ..default
            },
            EloOptions {
                initial: f64::INFINITY,
                ..default
            },
        ] {
            assert!(matches!(
                online(2, [battle], &options),
                Err(Error::Option { .. })
            ));
        }
    }

    #[test]
    fn a_count_is_replayed() {
        let battle = Comparison::new(0, 1, 1.0);
        let default = EloOptions::default();
        assert_eq!(
            online(2, [battle.with_count(3)], &default),
            online(2, [battle; 3], &default)
        );
    }
}
