//! Every model against every other: win rates, or numbers of battles.

use crate::{
    Caption, Error, Plot,
    axis::{grouped, number, short_count},
    drawing::{Anchor, Shape},
    frame::{self, FONT_SLACK, MARGIN, SMALL},
    text::{self, Weight},
    theme::{COUNT_STEPS, Ink, RATE_STEPS},
};

const MAX_MODELS: usize = 500;
const NARROWEST: f64 = 620.0;
/// From so many models on, names stand on all four sides.
const NAMES_ALL_AROUND: usize = 40;
/// Smallest text in a cell.
const SMALLEST_NUMBER: f64 = 8.5;

/// Data of [`heat_map`].
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// The words around the plot.
    pub caption: Caption,
    /// The models, in the order of rows and columns; usually the highest rating first.
    pub models: Vec<String>,
    /// What the cells show.
    pub cells: Cells,
}

/// The cells of a [`HeatMap`], row after row: the model of the row against the model of the column.
#[derive(Clone, Debug)]
pub enum Cells {
    /// Share of battles that the model of the row won or is predicted to win, 0 to 1; `None` for pairs that never met.
    WinRates {
        /// models × models values.
        values: Vec<Option<f64>>,
        /// Numbers of battles behind them for the tips, models × models values.
        battles: Option<Vec<u64>>,
    },
    /// Numbers of battles, models × models values; 0 for pairs that never met. Colours follow the logarithm.
    Battles(Vec<u64>),
}

/// Draws a matrix of coloured cells, with numbers where they fit.
///
/// Win rates go from orange (the row loses) through neutral at one half to blue (the row wins); pairs that never met are
/// hatched, and so no cell of theirs reads as a rate. The diagonal is empty.
///
/// # Errors
///
/// [`Error::Empty`] without models, [`Error::Length`] when the cells do not match them, [`Error::Number`] and
/// [`Error::OutOfRange`] naming the pair, [`Error::TooMany`] above 500 models.
pub fn heat_map(data: &HeatMap) -> Result<Plot, Error> {
    let names: Vec<String> = data.models.iter().map(|model| text::name(model)).collect();
    let shown = check(data, &names)?;
    let count = names.len();
    let (cell, name_size) = match count {
        0..=12 => (48.0, 12.5),
        13..=25 => (34.0, 12.0),
        26..=40 => (25.0, 11.5),
        41..=70 => (18.0, 11.0),
        71..=130 => (15.0, 10.5),
        _ => (13.0, 9.5),
    };
    let longest = names
        .iter()
        .map(|name| FONT_SLACK * text::width(name, name_size, Weight::Regular))
        .fold(40.0, f64::max);
    let label = longest.min(if count <= 12 { 180.0 } else { 210.0 });
    let fitted: Vec<String> = names
        .iter()
        .map(|name| text::fit_name(name, name_size, label / FONT_SLACK))
        .collect();
    let around = count >= NAMES_ALL_AROUND;
    let side = cell * count as f64;
    let left = MARGIN + label + 10.0;
    let width = (left + side + if around { label + 10.0 } else { 0.0 } + MARGIN).max(NARROWEST);

    let (mut plot, y) = frame::begin(&data.caption, width);
    let y = shown.legend(&mut plot, y);
    let top = y + label + 10.0;
    let name = |shape: Shape, index: usize| (names[index].clone(), vec![shape.fill(Ink::Text)]);
    for (index, fitted) in fitted.iter().enumerate() {
        let at = cell * (index as f64 + 0.5);
        let mut shapes = vec![
            Shape::text_at_middle(left - 8.0, top + at, name_size, fitted.as_str())
                .anchored(Anchor::End),
            Shape::text_upwards(left + at, top - 8.0, name_size, fitted.as_str()),
        ];
        if around {
            shapes.push(Shape::text_at_middle(
                left + side + 8.0,
                top + at,
                name_size,
                fitted.as_str(),
            ));
            shapes.push(
                Shape::text_upwards(left + at, top + side + 8.0, name_size, fitted.as_str())
                    .anchored(Anchor::End),
            );
        }
        for shape in shapes {
            let (tip, shapes) = name(shape, index);
            plot.mark(tip, shapes);
        }
    }

    // A hair of background between cells, less where they are small.
    let hair = if cell >= 18.0 { 1.0 } else { 0.5 };
    let number_size = (cell * 0.36).clamp(SMALLEST_NUMBER, 12.5);
    let numbers_fit = shown.widest_number(number_size) <= cell - 3.0;
    for row in 0..count {
        for column in 0..count {
            let square = Shape::rectangle(
                left + cell * column as f64 + hair / 2.0,
                top + cell * row as f64 + hair / 2.0,
                cell - hair,
                cell - hair,
            );
            if row == column {
                continue;
            }
            let value = shown.cell(row * count + column);
            let mut shapes = vec![match value.ink {
                Some((ink, _)) => square.fill(ink),
                None => square.hatched(),
            }];
            if let Some((_, ink)) = value.ink.filter(|_| numbers_fit) {
                let (x, y) = (
                    left + cell * (column as f64 + 0.5),
                    top + cell * (row as f64 + 0.5),
                );
                shapes.push(
                    Shape::text_at_middle(x, y, number_size, value.number)
                        .anchored(Anchor::Middle)
                        .fill(ink),
                );
            }
            plot.mark(
                format!("{} against {}: {}", names[row], names[column], value.words),
                shapes,
            );
        }
    }
    let bottom = top + side + if around { label + 10.0 } else { 0.0 };
    let height = frame::end(&mut plot, &data.caption, width, bottom);
    let description = format!(
        "{} of {count} models against each other, one row and one column for each. {}",
        shown.kind(),
        shown.reading()
    );
    Ok(plot.finish(width, height, description))
}

/// Checked cells.
enum Shown<'a> {
    Rates {
        values: &'a [Option<f64>],
        battles: Option<&'a [u64]>,
    },
    Battles {
        values: &'a [u64],
        most: u64,
    },
}

struct Cell {
    /// Colours of the cell and of the number on it; none for pairs that never met.
    ink: Option<(Ink, Ink)>,
    number: String,
    words: String,
}

fn check<'a>(data: &'a HeatMap, names: &[String]) -> Result<Shown<'a>, Error> {
    let count = names.len();
    if count == 0 {
        return Err(Error::Empty);
    }
    frame::at_most(count, MAX_MODELS, "models")?;
    let length = |item: &str, found: usize| {
        if found == count * count {
            Ok(())
        } else {
            Err(Error::Length {
                item: item.to_owned(),
                expected: count * count,
                found,
            })
        }
    };
    match &data.cells {
        Cells::WinRates { values, battles } => {
            length("the win rates", values.len())?;
            if let Some(battles) = battles {
                length("the numbers of battles", battles.len())?;
            }
            for (index, value) in values.iter().enumerate() {
                if let Some(value) = value {
                    frame::within(*value, 0.0, 1.0, || {
                        format!(
                            "the win rate of {} against {}",
                            names[index / count],
                            names[index % count]
                        )
                    })?;
                }
            }
            Ok(Shown::Rates {
                values,
                battles: battles.as_deref(),
            })
        }
        Cells::Battles(values) => {
            length("the numbers of battles", values.len())?;
            let off_diagonal = values
                .iter()
                .enumerate()
                .filter(|(index, _)| index / count != index % count);
            let most = off_diagonal.map(|(_, value)| *value).max().unwrap_or(0);
            Ok(Shown::Battles { values, most })
        }
    }
}

impl Shown<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Rates { .. } => "Win rates",
            Self::Battles { .. } => "Numbers of battles",
        }
    }

    fn reading(&self) -> &'static str {
        match self {
            Self::Rates { .. } if self.has_gaps() => {
                "A cell is the share that the model of the row wins against the model of the column; hatched: never met."
            }
            Self::Rates { .. } => {
                "A cell is the share that the model of the row wins against the model of the column."
            }
            Self::Battles { .. } if self.has_gaps() => {
                "Colours follow the logarithm; hatched: never met."
            }
            Self::Battles { .. } => "Colours follow the logarithm.",
        }
    }

    /// Whether some pair never met: predictions know no such pair.
    fn has_gaps(&self) -> bool {
        let n_cells = match self {
            Self::Rates { values, .. } => values.len(),
            Self::Battles { values, .. } => values.len(),
        };
        let is_gap = |index: usize| match self {
            Self::Rates { values, .. } => values[index].is_none(),
            Self::Battles { values, .. } => values[index] == 0,
        };
        let n_models = n_cells.isqrt();
        // Nobody meets itself.
        (0..n_cells).any(|index| index / n_models != index % n_models && is_gap(index))
    }

    fn cell(&self, index: usize) -> Cell {
        let never = || Cell {
            ink: None,
            number: String::new(),
            words: "never met".to_owned(),
        };
        match self {
            Self::Rates { values, battles } => {
                let Some(rate) = values[index] else {
                    return never();
                };
                let mut words = format!("wins {} %", number(100.0 * rate, 1));
                if let Some(battles) = battles {
                    words.push_str(&format!(" of {} battles", grouped(battles[index])));
                }
                let step = rate_step(rate);
                Cell {
                    ink: Some((Ink::Rate(step), Ink::OnRate(step))),
                    number: number(100.0 * rate, 0),
                    words,
                }
            }
            Self::Battles { values, most } => {
                let battles = values[index];
                if battles == 0 {
                    return never();
                }
                let step = count_step(battles, *most);
                Cell {
                    ink: Some((Ink::Count(step), Ink::OnCount(step))),
                    number: short_count(battles),
                    words: format!("{} battles", grouped(battles)),
                }
            }
        }
    }

    /// Width of the widest number in a cell.
    fn widest_number(&self, size: f64) -> f64 {
        let width = |text: &str| text::width(text, size, Weight::Regular);
        match self {
            Self::Rates { .. } => width("100"),
            Self::Battles { values, most } => {
                let drawn = values.iter().filter(|value| **value <= *most);
                drawn
                    .map(|value| width(&short_count(*value)))
                    .fold(0.0, f64::max)
            }
        }
    }

    /// A bar of the scale with its numbers, and the swatch of pairs that never met; gives the height below it.
    fn legend(&self, plot: &mut Plot, y: f64) -> f64 {
        let bar = 12.0;
        let steps = match self {
            Self::Rates { .. } => RATE_STEPS,
            Self::Battles { .. } => COUNT_STEPS,
        };
        // Whole pixels, or the steps would seem to differ.
        let each = match self {
            Self::Rates { .. } => 6.0,
            Self::Battles { .. } => 8.0,
        };
        let length = each * f64::from(steps);
        for step in 0..steps {
            let ink = match self {
                Self::Rates { .. } => Ink::Rate(step),
                Self::Battles { .. } => Ink::Count(step),
            };
            plot.draw(Shape::rectangle(MARGIN + each * f64::from(step), y, each, bar).fill(ink));
        }
        let middle = y + bar + 11.0;
        for (position, label) in self.legend_labels() {
            let x = MARGIN + length * position;
            let anchor = if position < 0.01 {
                Anchor::Start
            } else if position > 0.99 {
                Anchor::End
            } else {
                Anchor::Middle
            };
            plot.draw(
                Shape::text_at_middle(x, middle, SMALL, label)
                    .anchored(anchor)
                    .fill(Ink::Muted),
            );
        }
        let swatch = MARGIN + length + 28.0;
        let has_gaps = self.has_gaps();
        if has_gaps {
            plot.draw(Shape::rectangle(swatch, y, 22.0, bar).hatched());
            plot.draw(
                Shape::text_at_middle(swatch + 30.0, y + bar / 2.0, SMALL, "never met")
                    .fill(Ink::Muted),
            );
        }
        let note = match self {
            Self::Rates { .. } => "Row wins against column, %",
            Self::Battles { .. } => "Battles, logarithmic",
        };
        plot.draw(
            Shape::text_at_middle(
                swatch + if has_gaps { 104.0 } else { 0.0 },
                y + bar / 2.0,
                SMALL,
                note,
            )
            .fill(Ink::Muted),
        );
        y + bar + 34.0
    }

    fn legend_labels(&self) -> Vec<(f64, String)> {
        match self {
            Self::Rates { .. } => [0.0, 0.25, 0.5, 0.75, 1.0]
                .map(|rate| (rate, number(100.0 * rate, 0)))
                .to_vec(),
            Self::Battles { most: 0 | 1, .. } => vec![(0.0, "1".to_owned())],
            Self::Battles { most, .. } => {
                let largest = (*most as f64).ln();
                let mut labels = vec![(0.0, "1".to_owned())];
                let mut last = 0.0;
                let mut power = 10_u64;
                // Powers of ten with room around them; the largest count closes the scale.
                while power < *most {
                    let position = (power as f64).ln() / largest;
                    if position - last >= 0.16 && position <= 0.82 {
                        labels.push((position, short_power(power)));
                        last = position;
                    }
                    power = power.saturating_mul(10);
                }
                labels.push((1.0, short_count(*most)));
                labels
            }
        }
    }
}

fn short_power(power: u64) -> String {
    short_count(power).replace(".0", "")
}

fn rate_step(rate: f64) -> u8 {
    (rate * f64::from(RATE_STEPS - 1)).round() as u8
}

/// The step of a count on a logarithmic scale from 1 to the largest count.
fn count_step(battles: u64, most: u64) -> u8 {
    if most <= 1 {
        return 0;
    }
    let position = (battles.min(most) as f64).ln() / (most as f64).ln();
    (position * f64::from(COUNT_STEPS - 1)).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_half_is_neutral_and_the_scales_reach_their_ends() {
        assert_eq!([0.0, 0.5, 1.0].map(rate_step), [0, 20, 40]);
        assert_eq!(count_step(1, 1000), 0);
        assert_eq!(count_step(1000, 1000), COUNT_STEPS - 1);
        assert_eq!(count_step(u64::MAX, 1000), COUNT_STEPS - 1);
    }
}
