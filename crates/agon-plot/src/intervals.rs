//! Ratings with their intervals, one row for each model.

use crate::{
    Caption, Error, Interval, Plot,
    axis::{Axis, grouped, number, signed},
    drawing::{Anchor, Shape},
    frame::{self, FONT_SLACK, GAP, MARGIN, SMALL},
    text::{self, Weight},
    theme::Ink,
};

const WIDTH: f64 = 960.0;
const WIDEST_NAME: f64 = 290.0;
const MAX_MODELS: usize = 5000;

/// Data of [`intervals`].
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// The words around the plot.
    pub caption: Caption,
    /// Name of the axis, for example "Rating".
    pub axis: String,
    /// Confidence of the intervals in percent, 1 to 100, for example 95.
    pub confidence: f64,
    /// The models, in any order.
    pub models: Vec<RatedModel>,
}

/// One row of [`Intervals`].
#[derive(Clone, Debug, Default)]
pub struct RatedModel {
    /// Its name: any text.
    pub name: String,
    /// Its rating, in the units of the axis.
    pub rating: f64,
    /// The interval of this rating alone.
    pub interval: Option<Interval>,
    /// The interval that holds together with those of all other models; drawn thinner.
    pub simultaneous: Option<Interval>,
    /// Best and worst place that the intervals allow, from 1.
    pub ranks: Option<(u32, u32)>,
    /// Number of battles, for the tip.
    pub battles: Option<u64>,
    /// Whether the rating is an estimate that no interval can be given for in good faith; drawn apart and in grey.
    pub provisional: bool,
}

/// Draws ratings from the highest down: a dot, its interval, the range of ranks, and the numbers.
///
/// Provisional models follow below a line of their own.
/// The axis is made for the rated models; what goes beyond it ends in an arrow head, and its tip has the numbers.
///
/// # Errors
///
/// [`Error::Empty`] without models, [`Error::Number`] and [`Error::Reversed`] naming the model,
/// [`Error::OutOfRange`] for the confidence, [`Error::TooMany`] above 5000 models.
pub fn intervals(data: &Intervals) -> Result<Plot, Error> {
    let rows = rows(data)?;
    let rated = rows.iter().filter(|row| !row.model.provisional).count();
    let (row_height, size) = match rows.len() {
        0..=30 => (27.0, 13.0),
        31..=60 => (23.0, 12.5),
        _ => (20.0, 12.0),
    };

    let (low, high) = domain(&rows);
    let axis_name = text::clean(&data.axis);
    let columns = Columns::new(&rows, size);
    let (mut plot, top) = frame::begin(&data.caption, WIDTH);
    let axis = frame::horizontal_axis(low, high, columns.plot_left, columns.plot_right);
    let decimals = axis.value_decimals();
    let columns = columns.with_values(&rows, &axis_name, size, decimals);
    let axis = frame::horizontal_axis(low, high, columns.plot_left, columns.plot_right);

    // Headings, then ticks, then rows.
    let heading = top + 6.0;
    let head = |x: f64, anchor: Anchor, content: &str| {
        Shape::text_at_middle(x, heading, SMALL, content)
            .anchored(anchor)
            .fill(Ink::Muted)
    };
    if columns.has_ranks {
        plot.draw(head(columns.rank_right, Anchor::End, "Rank"));
    }
    plot.draw(head(columns.name_left, Anchor::Start, "Model"));
    let axis_name = text::fit_end(
        &axis_name,
        SMALL,
        Weight::Regular,
        columns.value_width / FONT_SLACK,
    );
    plot.draw(head(columns.value_right, Anchor::End, &axis_name));
    if columns.delta_right > columns.value_right {
        plot.draw(head(
            columns.delta_right,
            Anchor::End,
            &percent(data.confidence),
        ));
    }

    let first = top + 22.0;
    let gap = if rated > 0 && rated < rows.len() {
        46.0
    } else {
        0.0
    };
    let bottom = first + row_height * rows.len() as f64 + gap;
    frame::tick_labels(&mut plot, &axis, heading);
    frame::vertical_grid(&mut plot, &axis, first - 4.0, bottom);
    let tall = rows.len() > 15;
    if tall {
        frame::tick_labels(&mut plot, &axis, bottom + 12.0);
    }

    for (index, row) in rows.iter().enumerate() {
        let below = if row.model.provisional { gap } else { 0.0 };
        let y = first + row_height * (index as f64 + 0.5) + below;
        if row.model.provisional && index == rated && gap > 0.0 {
            let line = y - row_height / 2.0 - 14.0;
            plot.draw(
                Shape::line((MARGIN, line - 14.0), (WIDTH - MARGIN, line - 14.0))
                    .stroke(Ink::Axis, 1.0),
            );
            plot.draw(
                Shape::text_at_middle(
                    columns.name_left,
                    line + 1.0,
                    SMALL,
                    "Provisional: too little is known for a rank",
                )
                .fill(Ink::Muted),
            );
        }
        plot.mark(
            row.tip(data, decimals),
            columns.row(row, &axis, y, size, decimals),
        );
    }
    let mut y = bottom + if tall { 22.0 } else { 4.0 };
    if let Some(note) = note(&rows, &axis, data.confidence) {
        y += 20.0;
        let note = text::fit_end(&note, SMALL, Weight::Regular, WIDTH - 2.0 * MARGIN);
        plot.draw(Shape::text(columns.name_left, y - 3.0, SMALL, note).fill(Ink::Muted));
    }
    let height = frame::end(&mut plot, &data.caption, WIDTH, y);
    let description = description(&rows, rated, decimals);
    Ok(plot.finish(WIDTH, height, description))
}

struct Row<'a> {
    model: &'a RatedModel,
    name: String,
}

fn rows(data: &Intervals) -> Result<Vec<Row<'_>>, Error> {
    if data.models.is_empty() {
        return Err(Error::Empty);
    }
    frame::at_most(data.models.len(), MAX_MODELS, "models")?;
    frame::within(data.confidence, 1.0, 100.0, || {
        "the confidence in percent".to_owned()
    })?;
    let mut rows = Vec::with_capacity(data.models.len());
    for model in &data.models {
        let name = text::name(&model.name);
        frame::finite(model.rating, || format!("the rating of {name}"))?;
        for interval in [model.interval, model.simultaneous].into_iter().flatten() {
            interval.check(|| format!("the interval of {name}"))?;
        }
        rows.push(Row { model, name });
    }
    rows.sort_by(|one, two| {
        let (a, b) = (one.model, two.model);
        a.provisional
            .cmp(&b.provisional)
            .then_with(|| b.rating.total_cmp(&a.rating))
            .then_with(|| one.name.cmp(&two.name))
    });
    Ok(rows)
}

/// The range of the axis: all rated models, and of intervals and provisional estimates what does not dwarf the differences between them.
fn domain(rows: &[Row]) -> (f64, f64) {
    let any_rated = rows.iter().any(|row| !row.model.provisional);
    let shown = || {
        rows.iter()
            .filter(|row| !any_rated || !row.model.provisional)
    };
    let lowest = shown()
        .map(|row| row.model.rating)
        .fold(f64::INFINITY, f64::min);
    let highest = shown()
        .map(|row| row.model.rating)
        .fold(f64::NEG_INFINITY, f64::max);
    let usual = shown().filter_map(|row| row.model.interval.or(row.model.simultaneous));
    let reach = frame::reach(highest - lowest, usual);
    let (mut low, mut high) = (lowest, highest);
    for row in shown() {
        for interval in [row.model.interval, row.model.simultaneous]
            .into_iter()
            .flatten()
        {
            low = low.min(interval.lower.max(lowest - reach));
            high = high.max(interval.upper.min(highest + reach));
        }
    }
    for row in rows {
        let rating = row.model.rating;
        if (lowest - reach..=highest + reach).contains(&rating) {
            (low, high) = (low.min(rating), high.max(rating));
        }
    }
    let room = 0.03 * (high - low);
    (low - room, high + room)
}

struct Columns {
    has_ranks: bool,
    rank_right: f64,
    name_left: f64,
    name_width: f64,
    plot_left: f64,
    plot_right: f64,
    value_right: f64,
    value_width: f64,
    delta_right: f64,
}

impl Columns {
    fn new(rows: &[Row], size: f64) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            FONT_SLACK
                * texts
                    .map(|text| text::width(&text, size, Weight::Regular))
                    .fold(0.0, f64::max)
        };
        let rank_width = widest(&mut rows.iter().filter_map(rank_text));
        let has_ranks = rank_width > 0.0;
        let rank_right = MARGIN + if has_ranks { rank_width.max(32.0) } else { 0.0 };
        let name_left = rank_right + if has_ranks { GAP } else { 0.0 };
        let name_width =
            widest(&mut rows.iter().map(|row| row.name.clone())).clamp(40.0, WIDEST_NAME);
        Self {
            has_ranks,
            rank_right,
            name_left,
            name_width,
            plot_left: name_left + name_width + GAP + 4.0,
            plot_right: WIDTH - MARGIN - 140.0,
            value_right: WIDTH - MARGIN,
            value_width: 44.0,
            delta_right: WIDTH - MARGIN,
        }
    }

    /// The same with room for the numbers at the right.
    fn with_values(mut self, rows: &[Row], axis_name: &str, size: f64, decimals: usize) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            FONT_SLACK
                * texts
                    .map(|text| text::width(&text, size, Weight::Regular))
                    .fold(0.0, f64::max)
        };
        let value = widest(&mut rows.iter().map(|row| number(row.model.rating, decimals)));
        let heading = FONT_SLACK * text::width(axis_name, SMALL, Weight::Regular);
        self.value_width = value.max(heading.clamp(44.0, 130.0));
        let delta = widest(&mut rows.iter().filter_map(|row| delta_text(row, decimals)));
        self.delta_right = WIDTH - MARGIN;
        self.value_right = self.delta_right - if delta > 0.0 { delta + GAP - 4.0 } else { 0.0 };
        self.plot_right = self.value_right - self.value_width - frame::TICK_REACH - 4.0;
        // Absurdly wide numbers take the room of the plot, but never all of it.
        if self.plot_right < self.plot_left + 160.0 {
            self.name_width = (self.plot_right - 160.0 - GAP - 4.0 - self.name_left).max(60.0);
            self.plot_left = self.name_left + self.name_width + GAP + 4.0;
        }
        self
    }

    fn row(&self, row: &Row, axis: &Axis, y: f64, size: f64, decimals: usize) -> Vec<Shape> {
        let model = row.model;
        let (ink, words) = if model.provisional {
            (Ink::Provisional, Ink::Muted)
        } else {
            (Ink::Accent, Ink::Text)
        };
        let mut shapes = Vec::new();
        if let Some(ranks) = rank_text(row) {
            shapes.push(
                Shape::text_at_middle(self.rank_right, y, size, ranks)
                    .anchored(Anchor::End)
                    .fill(Ink::Muted),
            );
        }
        let name = text::fit_name(&row.name, size, self.name_width / FONT_SLACK);
        // Leads the eye from the name to its dot and on to the number.
        let from = self.name_left + FONT_SLACK * text::width(&name, size, Weight::Regular) + 8.0;
        shapes.push(Shape::line((from, y), (self.plot_right + 8.0, y)).stroke(Ink::Grid, 1.0));
        shapes.push(Shape::text_at_middle(self.name_left, y, size, name).fill(words));
        if let Some(interval) = model.simultaneous {
            shapes.extend(frame::bar(axis, interval, y, 1.0, ink));
        }
        if let Some(interval) = model.interval {
            let soft = if model.provisional {
                Ink::Provisional
            } else {
                Ink::AccentSoft
            };
            let width = if model.provisional { 1.5 } else { 9.0 };
            shapes.extend(frame::bar(axis, interval, y, width, soft));
        }
        if (axis.low()..=axis.high()).contains(&model.rating) {
            shapes.push(frame::dot(
                axis.at(model.rating),
                y,
                3.8,
                ink,
                model.provisional,
            ));
        } else if model.interval.is_none() {
            let point = Interval {
                lower: model.rating,
                upper: model.rating,
            };
            shapes.extend(frame::bar(axis, point, y, 1.5, ink));
        }
        shapes.push(
            Shape::text_at_middle(self.value_right, y, size, number(model.rating, decimals))
                .anchored(Anchor::End)
                .fill(words),
        );
        if let Some(delta) = delta_text(row, decimals) {
            shapes.push(
                Shape::text_at_middle(self.delta_right, y, size, delta)
                    .anchored(Anchor::End)
                    .fill(Ink::Muted),
            );
        }
        shapes
    }
}

/// How to read the bars, where it is not plain.
fn note(rows: &[Row], axis: &Axis, confidence: f64) -> Option<String> {
    let mut parts = Vec::new();
    if rows.iter().any(|row| row.model.simultaneous.is_some()) {
        parts.push(format!(
            "Box: {} interval of one model",
            percent(confidence)
        ));
        parts.push("line: interval that holds for all models at once".to_owned());
    }
    let beyond = |interval: Interval| interval.lower < axis.low() || interval.upper > axis.high();
    let bars = |row: &Row| [row.model.interval, row.model.simultaneous];
    if rows.iter().flat_map(bars).flatten().any(beyond) {
        parts.push("arrow: goes on beyond the axis".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join("  ·  "))
}

/// A confidence as "95 %" or "99.9 %".
fn percent(confidence: f64) -> String {
    let decimals = usize::from((confidence - confidence.round()).abs() > 0.05);
    format!("{} %", number(confidence, decimals))
}

fn rank_text(row: &Row) -> Option<String> {
    let (best, worst) = row.model.ranks.filter(|_| !row.model.provisional)?;
    Some(if best == worst {
        best.to_string()
    } else {
        format!("{best}–{worst}")
    })
}

fn delta_text(row: &Row, decimals: usize) -> Option<String> {
    let interval = row.model.interval?;
    let up = signed(interval.upper - row.model.rating, decimals);
    let down = signed(interval.lower - row.model.rating, decimals);
    Some(format!("{up} / {down}"))
}

impl Row<'_> {
    fn tip(&self, data: &Intervals, decimals: usize) -> String {
        let model = self.model;
        let mut tip = format!("{}: {}", self.name, number(model.rating, decimals));
        let mut add = |text: String| {
            tip.push_str(", ");
            tip.push_str(&text);
        };
        if let Some(interval) = model.interval {
            add(format!(
                "{} interval {} to {}",
                percent(data.confidence),
                number(interval.lower, decimals),
                number(interval.upper, decimals)
            ));
        }
        if let Some(interval) = model.simultaneous {
            add(format!(
                "simultaneous {} to {}",
                number(interval.lower, decimals),
                number(interval.upper, decimals)
            ));
        }
        if let Some(ranks) = rank_text(self) {
            add(format!("rank {ranks}"));
        }
        if let Some(battles) = model.battles {
            add(format!("{} battles", grouped(battles)));
        }
        if model.provisional {
            add("provisional".to_owned());
        }
        tip
    }
}

fn description(rows: &[Row], rated: usize, decimals: usize) -> String {
    let mut text = format!("{} models from the highest rating down", rows.len());
    if let Some(first) = rows.first().filter(|_| rated > 0) {
        text.push_str(&format!(
            "; highest: {}, {}",
            first.name,
            number(first.model.rating, decimals)
        ));
    }
    if rated > 1 {
        let last = &rows[rated - 1];
        text.push_str(&format!(
            "; lowest: {}, {}",
            last.name,
            number(last.model.rating, decimals)
        ));
    }
    if rated < rows.len() {
        text.push_str(&format!("; {} provisional", rows.len() - rated));
    }
    text.push('.');
    text
}
