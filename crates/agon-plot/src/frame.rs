//! What all plots share: the words around them, checks of numbers, and the grid.

use crate::{
    Error,
    axis::Axis,
    drawing::{Anchor, Plot, Shape},
    text::{self, Weight},
    theme::Ink,
};

/// Largest magnitude of a number on a plot.
const LARGEST: f64 = 1e15;

/// Space between the edge of the page and its content.
pub(crate) const MARGIN: f64 = 28.0;
/// Space between a column of text and its neighbour.
pub(crate) const GAP: f64 = 16.0;
/// Font size of ticks and notes.
pub(crate) const SMALL: f64 = 11.5;

const TITLE_SIZE: f64 = 19.0;
const SUBTITLE_SIZE: f64 = 13.0;

/// Viewers without Noto Sans use another font, up to a tenth wider; columns are laid out for that.
pub(crate) const FONT_SLACK: f64 = 1.08;

/// The words around a plot. Any text is safe: it is cleaned, escaped and cut to the width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// What the plot shows, in one line.
    pub title: String,
    /// What it is of: category, number of battles, method. Up to three lines.
    pub subtitle: Option<String>,
    /// Below the plot: where the data come from, and when they were current. Up to three lines.
    pub source: Option<String>,
}

/// The two ends of an interval, in the unit of the value it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Interval {
    pub(crate) fn check(self, item: impl Fn() -> String) -> Result<Self, Error> {
        finite(self.lower, || format!("the lower end of {}", item()))?;
        finite(self.upper, || format!("the upper end of {}", item()))?;
        if self.lower > self.upper {
            return Err(Error::Reversed {
                item: item(),
                lower: self.lower,
                upper: self.upper,
            });
        }
        Ok(self)
    }
}

pub(crate) fn finite(value: f64, item: impl FnOnce() -> String) -> Result<f64, Error> {
    // Not a number fails the comparison as well.
    if value.abs() <= LARGEST {
        Ok(value)
    } else {
        Err(Error::Number {
            item: item(),
            value,
        })
    }
}

pub(crate) fn within(
    value: f64,
    lowest: f64,
    highest: f64,
    item: impl FnOnce() -> String,
) -> Result<f64, Error> {
    let item = item();
    finite(value, || item.clone())?;
    if (lowest..=highest).contains(&value) {
        Ok(value)
    } else {
        Err(Error::OutOfRange {
            item,
            value,
            lowest,
            highest,
        })
    }
}

pub(crate) fn at_most(found: usize, limit: usize, item: &'static str) -> Result<(), Error> {
    if found > limit {
        Err(Error::TooMany { item, found, limit })
    } else {
        Ok(())
    }
}

/// A plot with its title and subtitle drawn, and the height at which the rest begins.
pub(crate) fn begin(caption: &Caption, width: f64) -> (Plot, f64) {
    let title = text::clean(&caption.title);
    let mut plot = Plot::new(title.clone());
    let available = width - 2.0 * MARGIN;
    let mut y = MARGIN;
    if !title.is_empty() {
        y += TITLE_SIZE;
        let fitted = text::fit_end(&title, TITLE_SIZE, Weight::Bold, available / FONT_SLACK);
        plot.draw(Shape::text(MARGIN, y - 3.0, TITLE_SIZE, fitted).bold());
        y += 4.0;
    }
    if let Some(subtitle) = &caption.subtitle {
        for line in text::wrap(
            &text::clean(subtitle),
            SUBTITLE_SIZE,
            available / FONT_SLACK,
            3,
        ) {
            y += 18.0;
            plot.draw(Shape::text(MARGIN, y - 3.0, SUBTITLE_SIZE, line).fill(Ink::Muted));
        }
    }
    (plot, y + 18.0)
}

/// Draws the source below `y` and gives the height of the page.
pub(crate) fn end(plot: &mut Plot, caption: &Caption, width: f64, mut y: f64) -> f64 {
    if let Some(source) = &caption.source {
        y += 10.0;
        for line in text::wrap(
            &text::clean(source),
            SMALL,
            (width - 2.0 * MARGIN) / FONT_SLACK,
            3,
        ) {
            y += 16.0;
            plot.draw(Shape::text(MARGIN, y - 3.0, SMALL, line).fill(Ink::Muted));
        }
    }
    y + MARGIN - 4.0
}

/// An axis from `start` to `end` whose tick labels have room beside each other.
pub(crate) fn horizontal_axis(low: f64, high: f64, start: f64, end: f64) -> Axis {
    let mut wanted = 8;
    loop {
        let axis = Axis::new(low, high, start, end, wanted);
        let widest = axis
            .ticks
            .iter()
            .map(|tick| text::width(&axis.label(*tick), SMALL, Weight::Regular))
            .fold(0.0, f64::max);
        let room = match axis.ticks.as_slice() {
            [first, second, ..] => axis.at(*second) - axis.at(*first),
            _ => f64::INFINITY,
        };
        if widest * FONT_SLACK + GAP <= room || wanted == 1 {
            return axis;
        }
        wanted -= 1;
    }
}

/// Vertical grid lines from `top` to `bottom`.
pub(crate) fn vertical_grid(plot: &mut Plot, axis: &Axis, top: f64, bottom: f64) {
    for tick in &axis.ticks {
        let x = axis.at(*tick);
        plot.draw(Shape::line((x, top), (x, bottom)).stroke(Ink::Grid, 1.0));
    }
}

/// How far tick labels may reach beyond the ends of a horizontal axis; a label that is longer is left out.
pub(crate) const TICK_REACH: f64 = 20.0;

/// Tick labels with their capitals centred on `middle`.
pub(crate) fn tick_labels(plot: &mut Plot, axis: &Axis, middle: f64) {
    let (start, end) = (
        axis.at(axis.low()) - TICK_REACH,
        axis.at(axis.high()) + TICK_REACH,
    );
    for tick in &axis.ticks {
        let (x, label) = (axis.at(*tick), axis.label(*tick));
        let half = FONT_SLACK * text::width(&label, SMALL, Weight::Regular) / 2.0;
        if x - half < start || x + half > end {
            continue;
        }
        plot.draw(
            Shape::text_at_middle(x, middle, SMALL, label)
                .anchored(Anchor::Middle)
                .fill(Ink::Muted),
        );
    }
}

/// A dot, filled or hollow.
pub(crate) fn dot(x: f64, y: f64, radius: f64, ink: Ink, hollow: bool) -> Shape {
    if hollow {
        Shape::circle(x, y, radius - 0.75)
            .fill(Ink::Background)
            .stroke(ink, 1.5)
    } else {
        Shape::circle(x, y, radius).fill(ink)
    }
}

/// How far beyond the ratings an axis follows intervals: half of the span of the ratings, or three usual intervals where these lie close together.
pub(crate) fn reach(span: f64, intervals: impl Iterator<Item = Interval>) -> f64 {
    let mut widths: Vec<f64> = intervals
        .map(|interval| interval.upper - interval.lower)
        .collect();
    widths.sort_by(f64::total_cmp);
    let usual = widths.get(widths.len() / 2).copied().unwrap_or(0.0);
    (0.5 * span).max(3.0 * usual)
}

/// An interval on a horizontal axis, with arrow heads where it goes beyond the axis.
pub(crate) fn bar(axis: &Axis, interval: Interval, y: f64, width: f64, ink: Ink) -> Vec<Shape> {
    let (start, end) = (axis.at(axis.low()), axis.at(axis.high()));
    let left = axis.at(interval.lower).clamp(start, end);
    let right = axis.at(interval.upper).clamp(start, end);
    let mut shapes = vec![Shape::line((left, y), (right, y)).stroke(ink, width)];
    let head = 3.5;
    if interval.lower < axis.low() {
        shapes.push(
            Shape::polygon(&[
                (start - 5.0, y),
                (start + 1.0, y - head),
                (start + 1.0, y + head),
            ])
            .fill(ink),
        );
    }
    if interval.upper > axis.high() {
        shapes.push(
            Shape::polygon(&[(end + 5.0, y), (end - 1.0, y - head), (end - 1.0, y + head)])
                .fill(ink),
        );
    }
    shapes
}

/// The same upright, on an axis from below to above.
pub(crate) fn upright_bar(
    axis: &Axis,
    interval: Interval,
    x: f64,
    width: f64,
    ink: Ink,
) -> Vec<Shape> {
    let (bottom, top) = (axis.at(axis.low()), axis.at(axis.high()));
    let lower = axis.at(interval.lower).clamp(top, bottom);
    let upper = axis.at(interval.upper).clamp(top, bottom);
    let mut shapes = vec![Shape::line((x, lower), (x, upper)).stroke(ink, width)];
    let head = 3.5;
    let mut beyond = |end: f64, outwards: f64| {
        shapes.push(
            Shape::polygon(&[
                (x, end + 5.0 * outwards),
                (x - head, end - outwards),
                (x + head, end - outwards),
            ])
            .fill(ink),
        );
    };
    if interval.lower < axis.low() {
        beyond(bottom, 1.0);
    }
    if interval.upper > axis.high() {
        beyond(top, -1.0);
    }
    shapes
}
