//! Coefficients of a regression, such as those of style control, around a zero line.

use crate::{
    Caption, Error, Interval, Plot,
    axis::{number, signed},
    drawing::{Anchor, Shape},
    frame::{self, FONT_SLACK, GAP, MARGIN, SMALL},
    text::{self, Weight},
    theme::Ink,
};

const WIDTH: f64 = 820.0;
const WIDEST_NAME: f64 = 260.0;
const ROW: f64 = 34.0;
const SIZE: f64 = 13.0;
/// Room of an arrow and its distance from the zero line.
const ARROW: f64 = 28.0;
const MAX_ROWS: usize = 1000;

/// Data of [`coefficients`].
#[derive(Clone, Debug, Default)]
pub struct Coefficients {
    /// The words around the plot.
    pub caption: Caption,
    /// Unit of the values, for example "log-odds for one standard deviation".
    pub unit: String,
    /// What a value below zero means, for example "favours the shorter answer". May be empty.
    pub below: String,
    /// What a value above zero means. May be empty.
    pub above: String,
    /// The coefficients, drawn in this order.
    pub rows: Vec<Coefficient>,
}

/// One row of [`Coefficients`].
#[derive(Clone, Debug, Default)]
pub struct Coefficient {
    /// What it belongs to, for example "length". Any text.
    pub name: String,
    /// Its value, in the unit of the plot.
    pub value: f64,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// Draws one row for each coefficient. A hollow dot tells that the interval holds zero.
///
/// # Errors
///
/// [`Error::Empty`] without rows, [`Error::Number`] and [`Error::Reversed`] naming the row, [`Error::TooMany`] above
/// 1000 rows.
pub fn coefficients(data: &Coefficients) -> Result<Plot, Error> {
    if data.rows.is_empty() {
        return Err(Error::Empty);
    }
    frame::at_most(data.rows.len(), MAX_ROWS, "coefficients")?;
    let names: Vec<String> = data.rows.iter().map(|row| text::name(&row.name)).collect();
    let (mut low, mut high) = (0.0_f64, 0.0_f64);
    for (row, name) in data.rows.iter().zip(&names) {
        let value = frame::finite(row.value, || format!("the coefficient of {name}"))?;
        (low, high) = (low.min(value), high.max(value));
        if let Some(interval) = row.interval {
            let interval = interval.check(|| format!("the interval of {name}"))?;
            (low, high) = (low.min(interval.lower), high.max(interval.upper));
        }
    }
    let room = 0.08 * (high - low);
    let width_of = |text: &str| FONT_SLACK * text::width(text, SIZE, Weight::Regular);
    let name_width = names
        .iter()
        .map(|name| width_of(name))
        .fold(40.0, f64::max)
        .min(WIDEST_NAME);
    let left = MARGIN + name_width + GAP + 8.0;
    let draft = frame::horizontal_axis(low - room, high + room, left, WIDTH - MARGIN - 160.0);
    let decimals = draft.value_decimals();
    let values: Vec<String> = data
        .rows
        .iter()
        .map(|row| value_text(row, decimals))
        .collect();
    let value_width = values
        .iter()
        .map(|value| width_of(value))
        .fold(0.0, f64::max);
    let right = (WIDTH - MARGIN - value_width - frame::TICK_REACH - 4.0).max(left + 120.0);
    let axis = frame::horizontal_axis(low - room, high + room, left, right);

    let (mut plot, top) = frame::begin(&data.caption, WIDTH);
    let zero = axis.at(0.0);
    let heading = top + 4.0;
    // Each side gets the room that the page has there, also beyond the axis.
    let side = |words: &str, room: f64| {
        let words = text::clean(words);
        (!words.is_empty())
            .then(|| text::fit_end(&words, SMALL, Weight::Regular, (room - ARROW) / FONT_SLACK))
    };
    if let Some(below) = side(&data.below, zero - MARGIN) {
        plot.draw(
            Shape::text_at_middle(zero - 10.0, heading, SMALL, format!("← {below}"))
                .anchored(Anchor::End)
                .fill(Ink::Below),
        );
    }
    if let Some(above) = side(&data.above, WIDTH - MARGIN - zero) {
        plot.draw(
            Shape::text_at_middle(zero + 10.0, heading, SMALL, format!("{above} →"))
                .fill(Ink::Above),
        );
    }
    let first = top + 18.0;
    let bottom = first + ROW * data.rows.len() as f64;
    frame::vertical_grid(&mut plot, &axis, first, bottom);
    plot.draw(Shape::line((zero, first - 6.0), (zero, bottom)).stroke(Ink::Axis, 1.5));
    frame::tick_labels(&mut plot, &axis, bottom + 14.0);
    let unit = text::fit_end(
        &text::clean(&data.unit),
        SMALL,
        Weight::Regular,
        (right - left) / FONT_SLACK,
    );
    plot.draw(
        Shape::text_at_middle((left + right) / 2.0, bottom + 33.0, SMALL, unit)
            .anchored(Anchor::Middle)
            .fill(Ink::Muted),
    );
    for (index, (row, name)) in data.rows.iter().zip(&names).enumerate() {
        let y = first + ROW * (index as f64 + 0.5);
        let ink = if row.value < 0.0 {
            Ink::Below
        } else {
            Ink::Above
        };
        let open = row
            .interval
            .is_none_or(|interval| interval.lower <= 0.0 && interval.upper >= 0.0);
        let fitted = text::fit_name(name, SIZE, name_width / FONT_SLACK);
        let mut shapes = vec![Shape::text_at_middle(MARGIN, y, SIZE, fitted)];
        if let Some(interval) = row.interval {
            shapes.extend(frame::bar(&axis, interval, y, 2.5, ink));
        }
        shapes.push(frame::dot(axis.at(row.value), y, 5.5, ink, open));
        shapes.push(
            Shape::text_at_middle(WIDTH - MARGIN, y, SIZE, values[index].clone())
                .anchored(Anchor::End),
        );
        let mut tip = format!("{name}: {}", number(row.value, decimals));
        if let Some(interval) = row.interval {
            tip.push_str(&format!(
                ", interval {} to {}",
                number(interval.lower, decimals),
                number(interval.upper, decimals)
            ));
        }
        plot.mark(tip, shapes);
    }
    let height = frame::end(&mut plot, &data.caption, WIDTH, bottom + 40.0);
    let description = format!(
        "{} coefficients with their intervals around zero.",
        names.len()
    );
    Ok(plot.finish(WIDTH, height, description))
}

fn value_text(row: &Coefficient, decimals: usize) -> String {
    let value = signed(row.value, decimals);
    match row.interval {
        Some(interval) => format!(
            "{value} ({} to {})",
            number(interval.lower, decimals),
            number(interval.upper, decimals)
        ),
        None => value,
    }
}
