//! Plots of leaderboards as SVG and PNG, from plain numbers.
//!
//! Five kinds: [`intervals`], [`heat_map`], [`history()`], [`coefficients()`] and [`calibration()`].
//! Each takes a struct of numbers and names and returns a [`Plot`], which is written as a file
//! ([`Plot::to_svg`]), into an HTML page ([`Plot::to_embedded_svg`] with [`STYLE_SHEET`]) or as pixels
//! ([`Plot::to_png`]).
//!
//! What holds for all of them:
//!
//! - Names are hostile: they are escaped, freed of control and direction characters, and cut to the room there is. The
//!   whole name is in the tip of its mark.
//! - A number that is not finite is an error that names its item; nothing is left out in silence.
//! - Nothing is told by colour alone, lines and scales hold up under the common kinds of colour blindness, and text has a
//!   contrast of at least 4.5 in both themes.
//! - Text is text, sized by the metrics of the embedded font, so that labels do not overlap.
//! - The same data give the same bytes.
//!
//! # Example
//!
//! ```
//! use agon_plot::{Caption, Fonts, Interval, Intervals, RatedModel, Theme, intervals};
//!
//! let plot = intervals(&Intervals {
//!     caption: Caption { title: "Leaderboard".into(), ..Caption::default() },
//!     axis: "Rating".into(),
//!     confidence: 95.0,
//!     models: vec![RatedModel {
//!         name: "model-a".into(),
//!         rating: 1043.0,
//!         interval: Some(Interval { lower: 1031.0, upper: 1055.0 }),
//!         ..RatedModel::default()
//!     }],
//! })?;
//! assert!(plot.to_svg(Theme::Light).contains("model-a"));
//! assert!(plot.to_png(Theme::Dark, 2.0, &Fonts::embedded())?.starts_with(b"\x89PNG"));
//! # Ok::<(), agon_plot::Error>(())
//! ```

mod axis;
mod calibration;
mod coefficients;
mod colour;
mod drawing;
mod error;
mod frame;
mod heat_map;
mod history;
mod intervals;
mod labels;
mod picture;
mod text;
mod theme;

pub use calibration::{Calibration, CalibrationBin, calibration};
pub use coefficients::{Coefficient, Coefficients, coefficients};
pub use drawing::Plot;
pub use error::Error;
pub use frame::{Caption, Interval};
pub use heat_map::{Cells, HeatMap, heat_map};
pub use history::{Board, History, HistoryLine, history};
pub use intervals::{Intervals, RatedModel, intervals};
pub use picture::{Fonts, MAX_SIDE};
pub use theme::{STYLE_SHEET, Theme};
