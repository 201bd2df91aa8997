//! Ratings over time, many models at once.

use crate::{
    Caption, Error, Interval, Plot,
    axis::{Axis, number},
    drawing::{Anchor, Shape},
    frame::{self, FONT_SLACK, GAP, MARGIN, SMALL},
    labels::spread,
    text::{self, Weight},
    theme::{Ink, SERIES},
};

const WIDTH: f64 = 1000.0;
/// Width with one board, which has no time to show: on a narrow page its points are then there without scrolling.
const WIDTH_OF_ONE: f64 = 640.0;
/// From the ends of the axis of times to the first and the last board.
const INSET: f64 = 10.0;
/// Shortest axis of times.
const TIMES_MIN: f64 = 240.0;
/// The same with one board.
const TIMES_MIN_OF_ONE: f64 = 120.0;
/// Farthest that the models of one board stand apart.
const STEP_MAX: f64 = 24.0;
const LABEL_SIZE: f64 = 12.5;
const LABEL_HEIGHT: f64 = 18.0;
const WIDEST_LABEL: f64 = 250.0;
const MAX_LINES: usize = 2000;
const MAX_BOARDS: usize = 2000;
/// Up to so many lines all have colours.
const ALL_COLOURED: usize = 12;
/// Colours times dashes: more lines than these cannot be told apart.
const MOST_COLOURED: usize = SERIES as usize * DASHES.len();
const DASHES: [&str; 3] = ["", "7 4", "2 3.5"];
/// Up to so many boards each has a marker on the line.
const BOARDS_WITH_MARKERS: usize = 26;

/// Data of [`history`].
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The words around the plot.
    pub caption: Caption,
    /// Name of the axis, for example "Rating".
    pub axis: String,
    /// The boards, oldest first.
    pub boards: Vec<Board>,
    /// The models, in any order.
    pub lines: Vec<HistoryLine>,
    /// How many models have colours and labels when there are more than 12: those that are highest on the last board.
    /// At most 24, as more cannot be told apart.
    pub highlighted: usize,
}

/// One leaderboard in time.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// What stands below the axis, for example "2026-03".
    pub label: String,
    /// When it was, in days since any fixed day.
    pub day: f64,
}

/// One model through all boards.
#[derive(Clone, Debug, Default)]
pub struct HistoryLine {
    /// Its name: any text.
    pub name: String,
    /// Its rating on each board; `None` where it is not on the board, which leaves a gap in the line.
    pub ratings: Vec<Option<f64>>,
    /// The interval of each rating, or nothing at all. Drawn where there is one board alone, so that a line says nothing.
    pub intervals: Vec<Option<Interval>>,
}

/// Draws one line for each model, with names at the right end that never cover one another.
///
/// Lines differ in colour and marker, and from the ninth on in dash. All others are grey, and named by their tips.
/// With one board there are no lines, but points beside each other with their intervals.
///
/// # Errors
///
/// [`Error::Empty`] without boards or ratings, [`Error::Length`] when a line does not match the boards,
/// [`Error::Number`] naming the model and board, [`Error::Reversed`] for an interval that ends before it begins, [`Error::OutOfRange`] when days do not increase, [`Error::TooMany`]
/// above 2000 lines or boards.
pub fn history(data: &History) -> Result<Plot, Error> {
    let lines = checked_lines(data)?;
    let coloured = if lines.len() <= ALL_COLOURED {
        lines.len()
    } else {
        let on_last_board = lines
            .iter()
            .filter(|line| line.last_board + 1 == data.boards.len())
            .count();
        data.highlighted.min(MOST_COLOURED).min(on_last_board)
    };
    let (highlighted, others) = lines.split_at(coloured);

    let ratings = || {
        lines
            .iter()
            .flat_map(|line| line.ratings.iter().flatten().copied())
    };
    let mut low = ratings().fold(f64::INFINITY, f64::min);
    let mut high = ratings().fold(f64::NEG_INFINITY, f64::max);
    let is_one = data.boards.len() == 1;
    let width = if is_one { WIDTH_OF_ONE } else { WIDTH };
    if is_one {
        let intervals = || highlighted.iter().filter_map(|line| line.interval);
        let reach = frame::reach(high - low, intervals());
        let (lowest, highest) = (low - reach, high + reach);
        for interval in intervals() {
            low = low.min(interval.lower.max(lowest));
            high = high.max(interval.upper.min(highest));
        }
    }
    let room = 0.03 * (high - low);
    let height = if lines.len() > 40 { 580.0 } else { 440.0_f64 };
    let height = height.max(LABEL_HEIGHT * coloured as f64 + 30.0);
    let (mut plot, top) = frame::begin(&data.caption, width);
    let top = top + 20.0;
    let bottom = top + height;
    let axis = Axis::new(
        low - room,
        high + room,
        bottom,
        top,
        (height / 70.0) as usize,
    );
    let decimals = axis.value_decimals();
    let label = |line: &Line| {
        (
            text::fit_name(&line.name, LABEL_SIZE, WIDEST_LABEL),
            number(line.last, decimals),
        )
    };
    let ticks = axis
        .ticks
        .iter()
        .map(|tick| text::width(&axis.label(*tick), SMALL, Weight::Regular));
    let left = MARGIN + FONT_SLACK * ticks.fold(0.0, f64::max) + 10.0;
    let widest = |part: fn(&(String, String)) -> &String| {
        highlighted
            .iter()
            .map(|line| FONT_SLACK * text::width(part(&label(line)), LABEL_SIZE, Weight::Regular))
            .fold(0.0, f64::max)
    };
    let (name_width, value_width) = (widest(|label| &label.0), widest(|label| &label.1));
    let leader = if coloured > 0 { 46.0 } else { 12.0 };
    let times_min = if is_one { TIMES_MIN_OF_ONE } else { TIMES_MIN };
    let right = (width - MARGIN - name_width - value_width - GAP - leader).max(left + times_min);
    let time = Timeline::new(&data.boards, left, right);
    let step = (right - left - 2.0 * INSET) / coloured.saturating_sub(1).max(1) as f64;
    let step = if is_one { step.min(STEP_MAX) } else { 0.0 };

    let axis_name = text::fit_end(
        &text::clean(&data.axis),
        SMALL,
        Weight::Regular,
        right - MARGIN,
    );
    plot.draw(Shape::text(MARGIN, top - 12.0, SMALL, axis_name).fill(Ink::Muted));
    for tick in &axis.ticks {
        let y = axis.at(*tick);
        plot.draw(Shape::line((left, y), (right, y)).stroke(Ink::Grid, 1.0));
        plot.draw(
            Shape::text_at_middle(left - 10.0, y, SMALL, axis.label(*tick))
                .anchored(Anchor::End)
                .fill(Ink::Muted),
        );
    }
    plot.draw(Shape::line((left, bottom), (right, bottom)).stroke(Ink::Axis, 1.0));
    time.draw_labels(&mut plot, &data.boards, bottom, right + leader - 10.0);

    for line in others.iter().rev() {
        let mut shapes = line.strokes(&time, &axis, Ink::Faint, 1.0, "");
        shapes.extend(
            line.lone_points(&time, &axis)
                .map(|(x, y)| Shape::circle(x, y, 1.5).fill(Ink::Faint)),
        );
        plot.mark(line.tip(data, decimals), shapes);
    }
    let places = spread(
        &highlighted
            .iter()
            .map(|line| axis.at(line.last))
            .collect::<Vec<_>>(),
        LABEL_HEIGHT,
        top,
        bottom,
    );
    for (index, line) in highlighted.iter().enumerate().rev() {
        let ink = Ink::Series((index % usize::from(SERIES)) as u8);
        let dash = DASHES[index / usize::from(SERIES) % DASHES.len()];
        let mut shapes = line.strokes(&time, &axis, ink, 2.0, dash);
        let with_markers = data.boards.len() <= BOARDS_WITH_MARKERS;
        // Side by side around the middle, the highest first.
        let aside = step * (index as f64 - (coloured - 1) as f64 / 2.0);
        let every: Vec<_> = line
            .points(&time, &axis)
            .flatten()
            .map(|(x, y)| (x + aside, y))
            .collect();
        let last = every.last().copied();
        let lone: Vec<_> = line.lone_points(&time, &axis).collect();
        let marked = if with_markers {
            every
        } else {
            lone.into_iter().chain(last).collect()
        };
        if let (Some((x, _)), Some(interval)) = (last, line.interval.filter(|_| is_one)) {
            shapes.extend(frame::upright_bar(&axis, interval, x, 1.6, ink));
        }
        shapes.extend(marked.into_iter().map(|(x, y)| marker(index, x, y, ink)));
        let y = places[index];
        if let Some((x, end)) = last {
            // From the end of the line across to its label, in the same colour.
            let turn = right + 8.0;
            let elbow = right + leader - 20.0;
            let from = [
                Some((x + 6.0, end)),
                Some((turn.max(x + 6.0), end)),
                Some((elbow, y)),
                Some((elbow + 4.0, y)),
            ];
            shapes.push(Shape::path(from).stroke(ink, 0.9));
        }
        let text_left = right + leader;
        shapes.push(marker(index, text_left - 9.0, y, ink));
        let (name, value) = label(line);
        shapes.push(Shape::text_at_middle(text_left, y, LABEL_SIZE, name));
        shapes.push(
            Shape::text_at_middle(width - MARGIN, y, LABEL_SIZE, value)
                .anchored(Anchor::End)
                .fill(Ink::Muted),
        );
        plot.mark(line.tip(data, decimals), shapes);
    }

    let mut y = bottom + 30.0;
    if !others.is_empty() {
        y += 16.0;
        let note = format!("{} more models in grey", others.len());
        plot.draw(Shape::text(left, y - 3.0, SMALL, note).fill(Ink::Muted));
    }
    let page = frame::end(&mut plot, &data.caption, width, y);
    let mut description = format!(
        "Ratings of {} models on {} boards",
        lines.len(),
        data.boards.len()
    );
    if let [first, ..] = highlighted {
        description.push_str(&format!(
            "; highest on the last: {}, {}",
            first.name,
            number(first.last, decimals)
        ));
    }
    description.push('.');
    Ok(plot.finish(width, page, description))
}

struct Line<'a> {
    name: String,
    ratings: &'a [Option<f64>],
    /// The last rating, its interval, and the board that has it.
    last: f64,
    interval: Option<Interval>,
    last_board: usize,
}

/// The lines that have a rating at all: first those of the newest board, from the highest rating down.
fn checked_lines(data: &History) -> Result<Vec<Line<'_>>, Error> {
    frame::at_most(data.lines.len(), MAX_LINES, "models")?;
    frame::at_most(data.boards.len(), MAX_BOARDS, "boards")?;
    let mut before: Option<f64> = None;
    for board in &data.boards {
        let day = frame::finite(board.day, || {
            format!("the day of board {}", text::name(&board.label))
        })?;
        if let Some(lowest) = before.filter(|before| day <= *before) {
            return Err(Error::OutOfRange {
                item: format!(
                    "the day of board {}, which must be after the one before it,",
                    text::name(&board.label)
                ),
                value: day,
                lowest,
                highest: f64::INFINITY,
            });
        }
        before = Some(day);
    }
    let mut lines = Vec::with_capacity(data.lines.len());
    for line in &data.lines {
        let name = text::name(&line.name);
        if line.ratings.len() != data.boards.len() {
            return Err(Error::Length {
                item: format!("the ratings of {name}"),
                expected: data.boards.len(),
                found: line.ratings.len(),
            });
        }
        if !line.intervals.is_empty() && line.intervals.len() != data.boards.len() {
            return Err(Error::Length {
                item: format!("the intervals of {name}"),
                expected: data.boards.len(),
                found: line.intervals.len(),
            });
        }
        for (board, interval) in data.boards.iter().zip(&line.intervals) {
            if let Some(interval) = interval {
                interval.check(|| {
                    format!(
                        "the interval of {name} on board {}",
                        text::name(&board.label)
                    )
                })?;
            }
        }
        let mut latest = None;
        for (index, rating) in line.ratings.iter().enumerate() {
            if let Some(rating) = rating {
                let item = || {
                    format!(
                        "the rating of {name} on board {}",
                        text::name(&data.boards[index].label)
                    )
                };
                latest = Some((index, frame::finite(*rating, item)?));
            }
        }
        if let Some((last_board, last)) = latest {
            lines.push(Line {
                name,
                ratings: &line.ratings,
                last,
                interval: line.intervals.get(last_board).copied().flatten(),
                last_board,
            });
        }
    }
    if lines.is_empty() {
        return Err(Error::Empty);
    }
    lines.sort_by(|one, two| {
        two.last_board
            .cmp(&one.last_board)
            .then_with(|| two.last.total_cmp(&one.last))
            .then_with(|| one.name.cmp(&two.name))
    });
    Ok(lines)
}

impl Line<'_> {
    fn points(&self, time: &Timeline, axis: &Axis) -> impl Iterator<Item = Option<(f64, f64)>> {
        self.ratings
            .iter()
            .enumerate()
            .map(|(board, rating)| rating.map(|rating| (time.at(board), axis.at(rating))))
    }

    /// The line, where two boards after one another have a rating.
    fn strokes(
        &self,
        time: &Timeline,
        axis: &Axis,
        ink: Ink,
        width: f64,
        dash: &'static str,
    ) -> Vec<Shape> {
        if self
            .ratings
            .windows(2)
            .any(|pair| pair[0].is_some() && pair[1].is_some())
        {
            vec![Shape::path(self.points(time, axis)).dashed(ink, width, dash)]
        } else {
            Vec::new()
        }
    }

    /// Points without a neighbour, which no line shows.
    fn lone_points(&self, time: &Timeline, axis: &Axis) -> impl Iterator<Item = (f64, f64)> {
        let has = |index: Option<usize>| {
            index
                .and_then(|index| self.ratings.get(index))
                .is_some_and(Option::is_some)
        };
        self.points(time, axis)
            .enumerate()
            .filter(move |(index, _)| !has(index.checked_sub(1)) && !has(index.checked_add(1)))
            .filter_map(|(_, point)| point)
    }

    fn tip(&self, data: &History, decimals: usize) -> String {
        format!(
            "{}: {} on {}",
            self.name,
            number(self.last, decimals),
            text::name(&data.boards[self.last_board].label)
        )
    }
}

struct Timeline {
    positions: Vec<f64>,
}

impl Timeline {
    fn new(boards: &[Board], left: f64, right: f64) -> Self {
        let first = boards.first().map_or(0.0, |board| board.day);
        let span = boards.last().map_or(0.0, |board| board.day) - first;
        let at = |day: f64| {
            if span > 0.0 {
                left + INSET + (day - first) / span * (right - left - 2.0 * INSET)
            } else {
                (left + right) / 2.0
            }
        };
        Self {
            positions: boards.iter().map(|board| at(board.day)).collect(),
        }
    }

    fn at(&self, board: usize) -> f64 {
        self.positions[board]
    }

    /// Labels of boards, the last one first, as many as have room beside each other.
    fn draw_labels(&self, plot: &mut Plot, boards: &[Board], bottom: f64, limit: f64) {
        let mut next = limit;
        for (board, x) in boards.iter().zip(&self.positions).rev() {
            plot.draw(Shape::line((*x, bottom), (*x, bottom + 4.0)).stroke(Ink::Axis, 1.0));
            let label = text::fit_name(&text::name(&board.label), SMALL, 110.0);
            let half = FONT_SLACK * text::width(&label, SMALL, Weight::Regular) / 2.0;
            if x + half <= next && x - half >= MARGIN / 2.0 {
                plot.draw(
                    Shape::text_at_middle(*x, bottom + 17.0, SMALL, label)
                        .anchored(Anchor::Middle)
                        .fill(Ink::Muted),
                );
                next = x - half - GAP;
            }
        }
    }
}

/// The marker of a line, one of eight outlines.
fn marker(index: usize, x: f64, y: f64, ink: Ink) -> Shape {
    let r = 4.0;
    match index % 8 {
        0 => Shape::circle(x, y, r - 0.2).fill(ink),
        1 => Shape::rectangle(x - 3.4, y - 3.4, 6.8, 6.8).fill(ink),
        2 => Shape::polygon(&[
            (x, y - r - 0.6),
            (x + r + 0.4, y + r - 0.8),
            (x - r - 0.4, y + r - 0.8),
        ])
        .fill(ink),
        3 => Shape::polygon(&[
            (x, y - r - 0.8),
            (x + r + 0.8, y),
            (x, y + r + 0.8),
            (x - r - 0.8, y),
        ])
        .fill(ink),
        4 => Shape::circle(x, y, r - 0.6)
            .fill(Ink::Background)
            .stroke(ink, 1.8),
        5 => Shape::rectangle(x - 3.0, y - 3.0, 6.0, 6.0)
            .fill(Ink::Background)
            .stroke(ink, 1.8),
        6 => Shape::polygon(&[
            (x, y + r + 0.6),
            (x + r + 0.4, y - r + 0.8),
            (x - r - 0.4, y - r + 0.8),
        ])
        .fill(ink),
        _ => Shape::polygon(&[
            (x, y - r - 0.4),
            (x + r + 0.4, y),
            (x, y + r + 0.4),
            (x - r - 0.4, y),
        ])
        .fill(Ink::Background)
        .stroke(ink, 1.6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Theme;

    /// A history of one month.
    fn one_month(ratings: &[f64]) -> History {
        History {
            boards: vec![Board {
                label: "2026-03".to_owned(),
                day: 0.0,
            }],
            lines: ratings
                .iter()
                .map(|&rating| HistoryLine {
                    name: format!("model of {rating}"),
                    ratings: vec![Some(rating)],
                    intervals: vec![Some(Interval {
                        lower: rating - 12.0,
                        upper: rating + 9.0,
                    })],
                })
                .collect(),
            ..History::default()
        }
    }

    /// The number of an attribute of an element.
    fn attribute(element: &str, name: &str) -> f64 {
        let start = element.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        let text = element[start..].split('"').next().unwrap();
        text.parse().unwrap()
    }

    #[test]
    fn the_one_point_of_a_model_and_its_interval_are_seen_on_a_narrow_page() {
        for ratings in [&[1200.0][..], &[1000.0, 1040.0, 1080.0]] {
            let plot = history(&one_month(ratings)).unwrap();
            let svg = plot.to_svg(Theme::Light);
            let title = format!("model of {}", ratings[ratings.len() - 1]);
            let mark = svg
                .split("<g")
                .find(|group| group.contains(&format!("<title>{title}:")))
                .unwrap();
            let elements: Vec<&str> = mark.split('<').collect();
            let point = elements.iter().find(|e| e.starts_with("circle")).unwrap();
            let (x, y) = (attribute(point, "cx"), attribute(point, "cy"));
            // 390 pixels less the margins of the page.
            assert!(x < 340.0, "{x}: {mark}");
            assert!(attribute(point, "r") > 3.0);
            let bar = elements
                .iter()
                .find(|e| e.starts_with("line") && attribute(e, "x1") == attribute(e, "x2"))
                .unwrap();
            assert!((attribute(bar, "x1") - x).abs() < 0.1, "{mark}");
            let (y1, y2) = (attribute(bar, "y1"), attribute(bar, "y2"));
            let (top, bottom) = (y1.min(y2), y1.max(y2));
            // 9 points above the rating and 12 below it.
            assert!(top < y && y < bottom, "{mark}");
            let ratio = (bottom - y) / (y - top);
            assert!((ratio - 12.0 / 9.0).abs() < 0.05, "{ratio}: {mark}");
        }
    }

    #[test]
    fn models_of_one_board_stand_side_by_side() {
        let plot = history(&one_month(&[1000.0, 1000.0, 1000.0])).unwrap();
        let svg = plot.to_svg(Theme::Light);
        let mut positions: Vec<f64> = svg
            .split('<')
            .filter(|e| e.starts_with("line"))
            .filter(|e| attribute(e, "x1") == attribute(e, "x2"))
            .filter(|e| (attribute(e, "y1") - attribute(e, "y2")).abs() > 10.0)
            .map(|e| attribute(e, "x1"))
            .collect();
        positions.sort_by(f64::total_cmp);
        positions.dedup();
        assert_eq!(positions.len(), 3, "{positions:?}");
    }

    #[test]
    fn intervals_that_do_not_match_the_boards_or_are_reversed_are_refused() {
        let mut data = one_month(&[1000.0]);
        data.lines[0].intervals.push(None);
        assert!(matches!(history(&data), Err(Error::Length { .. })));
        data.lines[0].intervals = vec![Some(Interval {
            lower: 2.0,
            upper: 1.0,
        })];
        assert!(matches!(history(&data), Err(Error::Reversed { .. })));
    }
}
