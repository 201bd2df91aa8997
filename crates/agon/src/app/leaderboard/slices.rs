//! Which parts of the votes get boards: by the values of columns, by periods, under conditions.

use std::{borrow::Cow, collections::HashMap};

use agon_dataset::{Labels, SliceColumn, SliceValues};
use jiff::{
    Timestamp,
    civil::{Date, ISOWeekDate, Weekday},
    tz::TimeZone,
};

use super::{Condition, RankError, Settings, votes::Table};

/// What the board of all votes is called.
pub const OVERALL: &str = "overall";
/// The name of the column with categories.
pub const CATEGORY: &str = "category";
/// Parts at most; more come from a column that cuts nothing, such as one of ids.
const SLICES_MAX: usize = 20_000;

const SECONDS_A_DAY: f64 = 86_400.0;

/// A stretch of time that votes are cut by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A day.
    Day,
    /// A week of ISO 8601, from Monday.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl Unit {
    /// The unit of that name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "day" => Some(Self::Day),
            "week" => Some(Self::Week),
            "month" => Some(Self::Month),
            "year" => Some(Self::Year),
            _ => None,
        }
    }

    /// The first day of a period as it is written, in days since 1970.
    pub fn first_day(self, period: &str) -> Option<f64> {
        let date = match self {
            Self::Day => period.parse::<Date>().ok()?,
            Self::Week => {
                let (year, week) = period.split_once("-W")?;
                ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday)
                    .ok()?
                    .date()
            }
            Self::Month => format!("{period}-01").parse::<Date>().ok()?,
            Self::Year => format!("{period}-01-01").parse::<Date>().ok()?,
        };
        let start = TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?;
        Some(start.as_second() as f64 / SECONDS_A_DAY)
    }

    fn label(self, date: Date) -> String {
        match self {
            Self::Day => date.to_string(),
            Self::Week => {
                let week = date.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Self::Month => format!("{:04}-{:02}", date.year(), date.month()),
            Self::Year => format!("{:04}", date.year()),
        }
    }
}

/// A part of the votes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slice {
    /// What its boards carry as `category`.
    pub(super) category: String,
    /// The column and its value; none for all votes.
    pub(super) cut: Option<(String, String)>,
    rows: RowsOf,
}

/// How the rows of a part are found. Those that can be in several parts are found when they are needed.
#[derive(Clone, Debug, PartialEq)]
enum RowsOf {
    All,
    These(Vec<u32>),
    /// Those with a label, which is a bit of the column at that position.
    Label(usize, u32),
    /// Those whose period, in the list of that unit, is at most this one.
    UpTo(usize, u32),
}

/// All parts of the votes that get a board, the one of all votes first.
pub(super) struct Slices {
    pub(super) slices: Vec<Slice>,
    /// The rows that fulfil all conditions; all without it.
    base: Option<Vec<u32>>,
    /// Periods of each row for cumulative boards, in the order of time.
    periods: Vec<Vec<u32>>,
    pub(super) notes: Vec<String>,
}

impl Slices {
    /// Cuts a table as the settings ask.
    pub(super) fn of(table: &Table, settings: &Settings) -> Result<Self, RankError> {
        let wanted = &settings.slices;
        let mut slices = Self {
            slices: Vec::new(),
            base: None,
            periods: Vec::new(),
            notes: Vec::new(),
        };
        for condition in &wanted.conditions {
            slices.require(table, condition)?;
        }
        slices.limit_time(table, settings)?;
        if wanted.categories.is_empty() || wanted.categories.iter().any(|name| name == OVERALL) {
            slices.slices.push(Slice {
                category: OVERALL.to_owned(),
                cut: None,
                rows: RowsOf::All,
            });
        }
        let categories = wanted.categories.iter().filter(|name| *name != OVERALL);
        for category in categories {
            slices.category(table, category)?;
        }
        for column in &wanted.by {
            match Unit::parse(column) {
                Some(unit) => slices.by_period(table, unit, column, wanted.cumulative)?,
                None => slices.by_column(table, column)?,
            }
        }
        if slices.slices.len() > SLICES_MAX {
            return Err(RankError::TooManySlices {
                n_slices: slices.slices.len(),
                n_slices_max: SLICES_MAX,
            });
        }
        // A category that was asked for by name and by its column is one part.
        let mut known = std::collections::HashSet::new();
        slices
            .slices
            .retain(|slice| known.insert(slice.category.clone()));
        Ok(slices)
    }

    /// The rows of a part; `None` for all.
    pub(super) fn rows(&self, slice: &Slice, table: &Table) -> Option<Vec<u32>> {
        let base = || -> Cow<'_, [u32]> {
            match &self.base {
                Some(rows) => rows.into(),
                None => (0..).take(table.n_rows()).collect::<Vec<u32>>().into(),
            }
        };
        match &slice.rows {
            RowsOf::All => self.base.clone(),
            RowsOf::These(rows) => Some(rows.clone()),
            RowsOf::Label(column, bit) => {
                let SliceValues::Many { bits, .. } = &table.battles.slices[*column].values else {
                    return Some(Vec::new());
                };
                let has = |row: &u32| bits[*row as usize] >> bit & 1 == 1;
                Some(base().iter().copied().filter(has).collect())
            }
            RowsOf::UpTo(list, last) => {
                let periods = &self.periods[*list];
                let is_in = |row: &u32| periods[*row as usize] <= *last;
                Some(base().iter().copied().filter(is_in).collect())
            }
        }
    }

    /// A guess at how many rows a part has, to begin with the largest.
    pub(super) fn size(&self, slice: &Slice, table: &Table) -> usize {
        match &slice.rows {
            RowsOf::These(rows) => rows.len(),
            RowsOf::All | RowsOf::Label(..) | RowsOf::UpTo(..) => {
                self.base.as_ref().map_or(table.n_rows(), Vec::len)
            }
        }
    }

    fn keep(&mut self, table: &Table, mut is_kept: impl FnMut(u32) -> bool) {
        let rows = match self.base.take() {
            Some(mut rows) => {
                rows.retain(|&row| is_kept(row));
                rows
            }
            None => (0..)
                .take(table.n_rows())
                .filter(|&row| is_kept(row))
                .collect(),
        };
        self.base = Some(rows);
    }

    fn require(&mut self, table: &Table, condition: &Condition) -> Result<(), RankError> {
        let (_, column) = column(table, &condition.column)?;
        let unknown = |known: &[String]| RankError::UnknownValue {
            column: condition.column.clone(),
            value: condition.value.clone(),
            nearest: super::error::nearest(&condition.value, known),
        };
        match &column.values {
            SliceValues::One(labels) => {
                let code = position(&labels.values, &condition.value)
                    .ok_or_else(|| unknown(&labels.values))?;
                self.keep(table, |row| labels.codes[row as usize] == code);
            }
            SliceValues::Many { labels, bits } => {
                let bit = position(labels, &condition.value).ok_or_else(|| unknown(labels))?;
                self.keep(table, |row| bits[row as usize] >> bit & 1 == 1);
            }
        }
        Ok(())
    }

    fn limit_time(&mut self, table: &Table, settings: &Settings) -> Result<(), RankError> {
        let wanted = &settings.slices;
        if wanted.since.is_none() && wanted.until.is_none() {
            return Ok(());
        }
        let times = table.battles.times.as_ref().ok_or(RankError::NoTimes)?;
        let bound = |text: &Option<String>| text.as_deref().map(seconds).transpose();
        let (since, until) = (bound(&wanted.since)?, bound(&wanted.until)?);
        let mut n_without = 0_u64;
        self.keep(table, |row| {
            let time = times[row as usize];
            n_without += u64::from(time.is_nan());
            !time.is_nan()
                && since.is_none_or(|since| time >= since)
                && until.is_none_or(|until| time < until)
        });
        if n_without > 0 {
            self.notes.push(format!(
                "{n_without} rows do not say when the vote was cast; they are left out, as a time was asked for"
            ));
        }
        Ok(())
    }

    fn category(&mut self, table: &Table, category: &str) -> Result<(), RankError> {
        let (idx, column) = column(table, CATEGORY)?;
        let labels = match &column.values {
            SliceValues::One(labels) => &labels.values,
            SliceValues::Many { labels, .. } => labels,
        };
        // A category of the votes that is called as all votes are has its board's name.
        let own_overall = category_name(OVERALL);
        let label = match position(labels, category) {
            None if category == own_overall => OVERALL,
            _ => category,
        };
        let Some(code) = position(labels, label) else {
            let mut known: Vec<String> = labels.iter().map(|label| category_name(label)).collect();
            known.sort_unstable();
            return Err(RankError::UnknownCategory {
                category: category.to_owned(),
                known,
            });
        };
        let rows = match &column.values {
            SliceValues::Many { .. } => RowsOf::Label(idx, code),
            SliceValues::One(labels) => {
                let has = |row: &u32| labels.codes[*row as usize] == code;
                RowsOf::These(match &self.base {
                    Some(rows) => rows.iter().copied().filter(has).collect(),
                    None => (0..).take(table.n_rows()).filter(has).collect(),
                })
            }
        };
        self.slices.push(Slice {
            category: category.to_owned(),
            cut: Some((CATEGORY.to_owned(), label.to_owned())),
            rows,
        });
        Ok(())
    }

    fn by_column(&mut self, table: &Table, name: &str) -> Result<(), RankError> {
        let (idx, column) = column(table, name)?;
        match &column.values {
            SliceValues::One(labels) => {
                let order = in_order(&labels.values);
                self.by_labels(table, name, labels, &order);
            }
            SliceValues::Many { labels, .. } => {
                for (bit, label) in (0..).zip(labels) {
                    self.slices
                        .push(slice(name, label, RowsOf::Label(idx, bit)));
                }
            }
        }
        Ok(())
    }

    fn by_labels(&mut self, table: &Table, name: &str, labels: &Labels, order: &[u32]) {
        let mut rows_of: Vec<Vec<u32>> = vec![Vec::new(); labels.values.len()];
        let mut n_without = 0_u64;
        let mut sort = |row: u32| match rows_of.get_mut(labels.codes[row as usize] as usize) {
            Some(rows) => rows.push(row),
            None => n_without += 1,
        };
        match &self.base {
            Some(rows) => rows.iter().copied().for_each(&mut sort),
            None => (0..).take(table.n_rows()).for_each(&mut sort),
        }
        if n_without > 0 {
            self.notes.push(format!(
                "{n_without} rows have no `{name}`; they are on no board of it"
            ));
        }
        for &code in order {
            let rows = std::mem::take(&mut rows_of[code as usize]);
            if !rows.is_empty() {
                let value = &labels.values[code as usize];
                self.slices.push(slice(name, value, RowsOf::These(rows)));
            }
        }
    }

    fn by_period(
        &mut self,
        table: &Table,
        unit: Unit,
        name: &str,
        cumulative: bool,
    ) -> Result<(), RankError> {
        let times = table.battles.times.as_ref().ok_or(RankError::NoTimes)?;
        let labels = periods(times, unit)?;
        if !cumulative {
            let order: Vec<u32> = (0..).take(labels.values.len()).collect();
            self.by_labels(table, name, &labels, &order);
            return Ok(());
        }
        let list = self.periods.len();
        let in_use = |code: u32| match &self.base {
            Some(rows) => rows.iter().any(|&row| labels.codes[row as usize] == code),
            None => true,
        };
        for (code, value) in (0..).zip(&labels.values) {
            if in_use(code) {
                self.slices
                    .push(slice(name, value, RowsOf::UpTo(list, code)));
            }
        }
        self.periods.push(labels.codes);
        Ok(())
    }
}

/// The columns that have to be read for the parts.
pub fn columns(settings: &Settings) -> Vec<String> {
    let wanted = &settings.slices;
    let mut columns: Vec<String> = Vec::new();
    let names = wanted
        .by
        .iter()
        .filter(|name| Unit::parse(name).is_none())
        .chain(wanted.conditions.iter().map(|condition| &condition.column));
    for name in names {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let needs_categories = wanted.categories.iter().any(|name| name != OVERALL);
    if needs_categories && !columns.iter().any(|name| name == CATEGORY) {
        columns.push(CATEGORY.to_owned());
    }
    columns
}

/// Whether the times of votes have to be read for the parts.
pub fn needs_times(settings: &Settings) -> bool {
    let wanted = &settings.slices;
    wanted.since.is_some()
        || wanted.until.is_some()
        || wanted.by.iter().any(|name| Unit::parse(name).is_some())
}

/// A date (its beginning, UTC) or a time with its offset, in seconds since 1970.
///
/// # Errors
///
/// [`RankError::Date`].
pub fn seconds(text: &str) -> Result<f64, RankError> {
    // A date would be read from a time too, without its hours and its offset.
    let is_date = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    let time = if is_date {
        text.parse::<Date>()
            .and_then(|date| TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)))
    } else {
        text.parse::<Timestamp>()
    };
    time.map(|time| time.as_second() as f64 + f64::from(time.subsec_nanosecond()) / 1e9)
        .map_err(|_| RankError::Date {
            text: text.to_owned(),
        })
}

/// What the board of a category is called: as the category, but for one that has the name of all votes, which is called as a value of any other column is.
fn category_name(value: &str) -> String {
    if value == OVERALL {
        format!("{CATEGORY}={OVERALL}")
    } else {
        value.to_owned()
    }
}

fn slice(column: &str, value: &str, rows: RowsOf) -> Slice {
    Slice {
        category: if column == CATEGORY {
            category_name(value)
        } else {
            format!("{column}={value}")
        },
        cut: Some((column.to_owned(), value.to_owned())),
        rows,
    }
}

fn column<'a>(table: &'a Table, name: &str) -> Result<(usize, &'a SliceColumn), RankError> {
    let columns = &table.battles.slices;
    columns
        .iter()
        .enumerate()
        .find(|(_, column)| column.name == name)
        .ok_or_else(|| RankError::NoColumn {
            column: name.to_owned(),
        })
}

fn position(values: &[String], value: &str) -> Option<u32> {
    (0..)
        .zip(values)
        .find(|(_, own)| *own == value)
        .map(|(code, _)| code)
}

/// Codes in the order of their values: as numbers when all are, else as texts.
fn in_order(values: &[String]) -> Vec<u32> {
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| {
            value
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
        })
        .collect();
    let mut order: Vec<u32> = (0..).take(values.len()).collect();
    match numbers {
        Some(numbers) => order.sort_by(|&x, &y| {
            numbers[x as usize]
                .total_cmp(&numbers[y as usize])
                .then_with(|| values[x as usize].cmp(&values[y as usize]))
        }),
        None => order.sort_by(|&x, &y| values[x as usize].cmp(&values[y as usize])),
    }
    order
}

/// The period of each time, in the order of time.
fn periods(times: &[f64], unit: Unit) -> Result<Labels, RankError> {
    /// A day in no year that anybody counts in.
    const NO_DAY: i64 = i64::MIN;
    let day_of = |time: f64| {
        if time.is_nan() {
            NO_DAY
        } else {
            (time / SECONDS_A_DAY).floor() as i64
        }
    };
    let mut days: Vec<i64> = times.iter().map(|&time| day_of(time)).collect();
    days.sort_unstable();
    days.dedup();
    let mut values: Vec<String> = Vec::new();
    let mut code_of: HashMap<i64, u32> = HashMap::new();
    for day in days {
        if day == NO_DAY {
            code_of.insert(day, u32::MAX);
            continue;
        }
        let date = Timestamp::from_second(day.saturating_mul(SECONDS_A_DAY as i64))
            .map_err(|_| RankError::Date {
                text: format!("day {day} since 1970"),
            })
            .map(|time| TimeZone::UTC.to_datetime(time).date())?;
        let label = unit.label(date);
        if values.last() != Some(&label) {
            values.push(label);
        }
        code_of.insert(day, (values.len() - 1) as u32);
    }
    let codes = times
        .iter()
        .map(|&time| code_of.get(&day_of(time)).copied().unwrap_or(u32::MAX))
        .collect();
    Ok(Labels { values, codes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_in_the_order_of_time_and_of_the_calendar() {
        let at = |text: &str| seconds(text).unwrap();
        let times = [
            at("2024-12-31T23:59:59Z"),
            at("2023-06-01"),
            f64::NAN,
            at("2024-12-30"),
            at("2025-01-01"),
            at("1969-12-31T12:00:00Z"),
        ];
        let of = |unit| periods(&times, unit).unwrap();
        let months = of(Unit::Month);
        assert_eq!(months.values, ["1969-12", "2023-06", "2024-12", "2025-01"]);
        assert_eq!(months.codes, [2, 1, u32::MAX, 2, 3, 0]);
        // The last days of a year can be in the first week of the next.
        let weeks = of(Unit::Week);
        assert_eq!(weeks.values, ["1970-W01", "2023-W22", "2025-W01"]);
        assert_eq!(weeks.codes, [2, 1, u32::MAX, 2, 2, 0]);
        assert_eq!(of(Unit::Year).values, ["1969", "2023", "2024", "2025"]);
        assert_eq!(of(Unit::Day).values.len(), 5);
        for (unit, period, day) in [
            (Unit::Day, "1970-02-01", 31.0),
            (Unit::Week, "1970-W02", 4.0),
            (Unit::Month, "1970-02", 31.0),
            (Unit::Year, "1971", 365.0),
        ] {
            assert_eq!(unit.first_day(period), Some(day));
        }
    }

    #[test]
    fn dates_begin_at_midnight_and_times_need_an_offset() {
        assert_eq!(seconds("1970-01-02").unwrap(), 86_400.0);
        assert_eq!(seconds("1970-01-01T01:00:00+01:00").unwrap(), 0.0);
        assert_eq!(seconds("1970-01-02T06:00:00+01:00").unwrap(), 104_400.0);
        assert_eq!(seconds("1970-01-01T00:00:00.5Z").unwrap(), 0.5);
        for wrong in ["", "yesterday", "2024-13-01", "2024-01-01T00:00:00"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_in_their_order() {
        let texts = |values: &[&str]| -> Vec<String> {
            values.iter().map(|value| (*value).to_owned()).collect()
        };
        assert_eq!(in_order(&texts(&["10", "9", "1"])), [2, 1, 0]);
        assert_eq!(in_order(&texts(&["10", "9", "x"])), [0, 1, 2]);
    }
}
