//! Times as numbers: their unit, and the day they fall on.

use crate::battles::time::{BEYOND_TIME, written_day_s};

/// The unit of a number that says when something was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Days, written as numbers of eight digits: 20240105.
    WrittenDays,
}

impl TimeUnit {
    /// The unit of a time, by its size: up to 10^11 are seconds (the year 5138), up to 10^14 milliseconds, up to 10^17 microseconds, more nanoseconds; a whole number such as 20240105 is a day. `None` for what is negative, no number, or after the year 9999.
    pub fn of(time: f64) -> Option<Self> {
        if !(0.0..BEYOND_TIME).contains(&time) {
            None
        } else if written_day_s(time).is_some() {
            Some(Self::WrittenDays)
        } else if time < 1e11 {
            Some(Self::Seconds)
        } else if time < 1e14 {
            Some(Self::Milliseconds)
        } else if time < 1e17 {
            Some(Self::Microseconds)
        } else {
            Some(Self::Nanoseconds)
        }
    }

    /// A time in this unit in seconds.
    pub fn to_seconds(self, time: f64) -> f64 {
        match self {
            Self::Seconds => time,
            Self::Milliseconds => time / 1e3,
            Self::Microseconds => time / 1e6,
            Self::Nanoseconds => time / 1e9,
            Self::WrittenDays => written_day_s(time).unwrap_or(f64::NAN),
        }
    }

    /// Its name in English.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
            Self::WrittenDays => "days such as 20240105",
        }
    }
}

/// Times in different units: convert them to one.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the time {value} of row {row} is in {}, those before are in {}", found.as_str(), expected.as_str())]
pub struct MixedTimeUnits {
    /// The unit of the first time.
    pub expected: TimeUnit,
    /// The unit of this one.
    pub found: TimeUnit,
    /// The time.
    pub value: f64,
    /// The number of its row, from 0.
    pub row: usize,
}

/// The day, counted from 1970-01-01, on which a time falls `offset_s` seconds east of UTC. `None` for NaN.
pub(super) fn day(time_s: f64, offset_s: i32) -> Option<i64> {
    const DAY_S: f64 = 86_400.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "times are below 10^17 seconds"
    )]
    let day = ((time_s + f64::from(offset_s)) / DAY_S).floor() as i64;
    (!time_s.is_nan()).then_some(day)
}
