//! Why a plot cannot be drawn: one enum, each variant naming the item at fault.

use std::path::PathBuf;

/// Why there is no plot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number is not finite, or so large that an axis for it has no meaning.
    #[error("{item} is {value}; a plot needs finite numbers of at most 1e15 either way")]
    Number {
        /// Which number, for example "the rating of gpt-4o".
        item: String,
        /// The number.
        value: f64,
    },
    /// A number lies outside the range of its kind, for example a win rate of 1.2.
    #[error("{item} is {value}, which is outside {lowest} to {highest}")]
    OutOfRange {
        /// Which number.
        item: String,
        /// The number.
        value: f64,
        /// The smallest number allowed.
        lowest: f64,
        /// The largest number allowed.
        highest: f64,
    },
    /// The lower end of an interval lies above its upper end.
    #[error("{item} runs from {lower} up to {upper}")]
    Reversed {
        /// Which interval.
        item: String,
        /// Its lower end.
        lower: f64,
        /// Its upper end.
        upper: f64,
    },
    /// Two lists that belong together have different lengths.
    #[error("{item}: expected {expected} values, found {found}")]
    Length {
        /// Which list.
        item: String,
        /// The length that the other list asks for.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// There is nothing to draw.
    #[error("there is nothing to plot")]
    Empty,
    /// More than can be drawn.
    #[error("{found} {item} are too many for one plot, which holds {limit}")]
    TooMany {
        /// What there is too much of, for example "models".
        item: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The picture would be too large to hold in memory.
    #[error(
        "a picture of {width} × {height} pixels is too large; the largest scale for this plot is {largest_scale:.2}"
    )]
    TooLarge {
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
        /// The largest scale that fits.
        largest_scale: f64,
    },
    /// The scale is not a positive number.
    #[error("a scale of {0} is not a positive number")]
    Scale(f32),
    /// Bytes given as a font are none.
    #[error("{0} holds no font that can be read")]
    Font(String),
    /// A font file cannot be read.
    #[error("the font file {path} cannot be read")]
    FontFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The SVG could not be drawn.
    #[error("the plot cannot be drawn")]
    Draw(#[source] Box<dyn std::error::Error + Send + Sync>),
}
