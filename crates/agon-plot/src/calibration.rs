//! Predicted against observed win rates.

use crate::{
    Caption, Error, Interval, Plot,
    axis::{grouped, number},
    drawing::{Anchor, Shape},
    frame::{self, MARGIN, SMALL},
    theme::Ink,
};

const SIDE: f64 = 440.0;
const LEFT: f64 = MARGIN + 58.0;
const WIDTH: f64 = LEFT + SIDE + 20.0 + MARGIN;
const STRIP: f64 = 46.0;
const MAX_BINS: usize = 1000;

/// Data of [`calibration`].
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// The words around the plot.
    pub caption: Caption,
    /// The bins, in any order.
    pub bins: Vec<CalibrationBin>,
}

/// Battles with about the same prediction.
#[derive(Clone, Copy, Debug, Default)]
pub struct CalibrationBin {
    /// Mean predicted win rate, 0 to 1.
    pub predicted: f64,
    /// Observed win rate, 0 to 1.
    pub observed: f64,
    /// Interval of the observed rate, within 0 to 1.
    pub interval: Option<Interval>,
    /// Number of battles.
    pub battles: u64,
}

/// Draws observed over predicted win rates, with the diagonal on which a calibrated prediction lies, and below it how many
/// battles each bin has.
///
/// # Errors
///
/// [`Error::Empty`] without bins, [`Error::Number`], [`Error::OutOfRange`] and [`Error::Reversed`] naming the bin,
/// [`Error::TooMany`] above 1000 bins.
pub fn calibration(data: &Calibration) -> Result<Plot, Error> {
    let bins = checked_bins(data)?;
    let (mut plot, top) = frame::begin(&data.caption, WIDTH);
    let left = LEFT;
    let right = left + SIDE;
    let top = top + 10.0;
    let bottom = top + SIDE;
    let at = |predicted: f64, observed: f64| (left + SIDE * predicted, bottom - SIDE * observed);

    for step in 0..=5 {
        let rate = f64::from(step) / 5.0;
        let (x, y) = at(rate, rate);
        plot.draw(Shape::line((x, top), (x, bottom)).stroke(Ink::Grid, 1.0));
        plot.draw(Shape::line((left, y), (right, y)).stroke(Ink::Grid, 1.0));
        let label = format!("{} %", number(100.0 * rate, 0));
        plot.draw(
            Shape::text_at_middle(left - 10.0, y, SMALL, label.clone())
                .anchored(Anchor::End)
                .fill(Ink::Muted),
        );
        plot.draw(
            Shape::text_at_middle(x, bottom + STRIP + 26.0, SMALL, label)
                .anchored(Anchor::Middle)
                .fill(Ink::Muted),
        );
    }
    plot.draw(Shape::line(at(0.0, 0.0), at(1.0, 1.0)).dashed(Ink::Axis, 1.5, "5 4"));
    plot.draw(
        Shape::text_upwards(
            MARGIN + 6.0,
            (top + bottom) / 2.0,
            SMALL + 0.5,
            "Observed win rate",
        )
        .anchored(Anchor::Middle),
    );
    plot.draw(
        Shape::text_at_middle(
            (left + right) / 2.0,
            bottom + STRIP + 47.0,
            SMALL + 0.5,
            "Predicted win rate",
        )
        .anchored(Anchor::Middle),
    );

    let most = bins.iter().map(|bin| bin.battles).max().unwrap_or(0).max(1) as f64;
    let strip = bottom + 12.0 + STRIP;
    plot.draw(Shape::line((left, strip), (right, strip)).stroke(Ink::Axis, 1.0));
    plot.draw(
        Shape::text_at_middle(left - 10.0, strip - 8.0, SMALL, "Battles")
            .anchored(Anchor::End)
            .fill(Ink::Muted),
    );
    let bar = (SIDE / bins.len() as f64 * 0.5).clamp(1.0, 16.0);
    for bin in &bins {
        let (x, y) = at(bin.predicted, bin.observed);
        let height = STRIP * bin.battles as f64 / most;
        let mut shapes = vec![
            Shape::rectangle(x - bar / 2.0, strip - height, bar, height).fill(Ink::AccentSoft),
        ];
        if let Some(interval) = bin.interval {
            let (_, low) = at(0.0, interval.lower);
            let (_, high) = at(0.0, interval.upper);
            shapes.push(Shape::line((x, low), (x, high)).stroke(Ink::Accent, 1.5));
        }
        shapes.push(frame::dot(x, y, 4.0, Ink::Accent, false));
        let mut tip = format!(
            "predicted {} %, observed {} %",
            number(100.0 * bin.predicted, 1),
            number(100.0 * bin.observed, 1)
        );
        if let Some(interval) = bin.interval {
            tip.push_str(&format!(
                " ({} to {})",
                number(100.0 * interval.lower, 1),
                number(100.0 * interval.upper, 1)
            ));
        }
        tip.push_str(&format!(", {} battles", grouped(bin.battles)));
        plot.mark(tip, shapes);
    }
    let height = frame::end(&mut plot, &data.caption, WIDTH, bottom + STRIP + 58.0);
    let furthest = bins
        .iter()
        .map(|bin| (bin.observed - bin.predicted).abs())
        .fold(0.0, f64::max);
    let description = format!(
        "Observed against predicted win rates in {} bins. Furthest from the diagonal: {} percentage points.",
        bins.len(),
        number(100.0 * furthest, 1)
    );
    Ok(plot.finish(WIDTH, height, description))
}

/// The bins by prediction.
fn checked_bins(data: &Calibration) -> Result<Vec<CalibrationBin>, Error> {
    if data.bins.is_empty() {
        return Err(Error::Empty);
    }
    frame::at_most(data.bins.len(), MAX_BINS, "bins")?;
    for (index, bin) in data.bins.iter().enumerate() {
        let item = |what: &str| format!("the {what} of bin {}", index + 1);
        frame::within(bin.predicted, 0.0, 1.0, || item("prediction"))?;
        frame::within(bin.observed, 0.0, 1.0, || item("observed rate"))?;
        if let Some(interval) = bin.interval {
            interval.check(|| item("interval"))?;
            frame::within(interval.lower, 0.0, 1.0, || item("lower end"))?;
            frame::within(interval.upper, 0.0, 1.0, || item("upper end"))?;
        }
    }
    let mut bins = data.bins.clone();
    bins.sort_by(|one, two| {
        one.predicted
            .total_cmp(&two.predicted)
            .then_with(|| one.battles.cmp(&two.battles))
    });
    Ok(bins)
}
