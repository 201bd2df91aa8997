//! Noise: how often a label is wrong, from two annotators and no truth.
//!
//! # Method
//!
//! Take one label against all others, and let `d` be the share of rows on which the two differ.
//! On each of these one of them is wrong, so their mean error is at least `d / 2`, whatever one assumes.
//! Under random classification noise (Angluin and Laird 1988), where each row is labelled wrongly with the same probability `e < ½`, by both alike and independently of the other, they differ with probability `d = 2e(1 − e)`, hence `e = (1 − √(1 − 2d)) / 2`.
//! Annotators that make the same mistakes differ less than they err: then the estimate is too low, and the bound still holds.
//! The interval is Wilson's for `d`, carried over to `e`, which grows with `d`.

use super::{Agreement, float};

/// How often a label is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelNoise {
    /// Rows that both judged.
    pub n_compared: u64,
    /// The share of them on which the two differ.
    pub disagreement: f64,
    /// The least mean error of the two that is possible.
    pub error_min: f64,
    /// The estimate under random noise.
    pub error: f64,
    /// The 95 % interval of the estimate.
    pub error_lower: f64,
    /// Its upper end; at most ½.
    pub error_upper: f64,
}

/// Why noise cannot be estimated.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NotEstimable {
    /// No row has a label of both.
    #[error("no row has a label of both annotators")]
    NoRows,
    /// Two annotators with random noise below one half cannot differ on more than half of the rows.
    #[error("the annotators differ on `{disagreement}` of the rows: expected at most one half")]
    WorseThanChance {
        /// The share on which they differ.
        disagreement: f64,
    },
}

/// The noise of `label` against all others. The module's documentation has the method.
///
/// # Errors
///
/// [`NotEstimable`] without rows, or when the two differ on more than half of them.
pub fn label_noise<L: Ord + Clone>(
    agreement: &Agreement<L>,
    label: &L,
) -> Result<LabelNoise, NotEstimable> {
    let n_compared = agreement.n_compared();
    if n_compared == 0 {
        return Err(NotEstimable::NoRows);
    }
    let binary = agreement.binary(label);
    let n_rows = float(n_compared);
    let disagreement = float(binary.n_first_only + binary.n_second_only) / n_rows;
    if disagreement > 0.5 {
        return Err(NotEstimable::WorseThanChance { disagreement });
    }
    let (lower, upper) = wilson(disagreement, n_rows);
    Ok(LabelNoise {
        n_compared,
        disagreement,
        error_min: disagreement / 2.0,
        error: error(disagreement),
        error_lower: error(lower),
        error_upper: error(upper),
    })
}

fn error(disagreement: f64) -> f64 {
    (1.0 - (1.0 - 2.0 * disagreement.clamp(0.0, 0.5)).sqrt()) / 2.0
}

/// The 95 % interval of a share (E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209–212).
fn wilson(share: f64, n_rows: f64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let z2 = Z * Z;
    let centre = (share + z2 / (2.0 * n_rows)) / (1.0 + z2 / n_rows);
    let half = Z * (share * (1.0 - share) / n_rows + z2 / (4.0 * n_rows * n_rows)).sqrt()
        / (1.0 + z2 / n_rows);
    // Rounding must not put an end on the wrong side of the share.
    (
        (centre - half).clamp(0.0, share),
        (centre + half).clamp(share, 1.0),
    )
}
