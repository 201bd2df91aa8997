//! Points in time, from whatever a column holds.

use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};

/// A point in time as it stands in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Time {
    Missing,
    /// Seconds since 1970 UTC.
    Exact(f64),
    /// A number that says nothing of its unit.
    Bare(f64),
}

/// What a bare number counts since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    /// The unit by the size of a number: the ranges meet in the years 1973 and 5138, so that nothing of an arena's time is left in doubt.
    pub(crate) fn of(value: f64) -> Self {
        match value.abs() {
            size if size < 1e11 => Self::Seconds,
            size if size < 1e14 => Self::Milliseconds,
            size if size < 1e17 => Self::Microseconds,
            _ => Self::Nanoseconds,
        }
    }

    /// How many make a second.
    pub(crate) const fn per_second(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1e3,
            Self::Microseconds => 1e6,
            Self::Nanoseconds => 1e9,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}

impl Time {
    /// Reads a number, or a date and time as in RFC 3339 (`T` or a blank between them; UTC when there is no offset).
    pub(crate) fn of_text(text: &str) -> Self {
        let text = text.trim();
        if let Ok(value) = text.parse::<f64>() {
            return Self::of_number(value);
        }
        let exact = text.parse::<Timestamp>().or_else(|_| {
            text.parse::<DateTime>()
                .and_then(|civil| TimeZone::UTC.to_timestamp(civil))
        });
        exact.map_or(Self::Missing, |timestamp| {
            Self::Exact(
                timestamp.as_second() as f64 + f64::from(timestamp.subsec_nanosecond()) / 1e9,
            )
        })
    }

    /// Seconds since 1970 by the time's own size; NaN when missing.
    pub(crate) fn seconds(self) -> f64 {
        match self {
            Self::Missing => f64::NAN,
            Self::Exact(seconds) => seconds,
            Self::Bare(value) => value / Unit::of(value).per_second(),
        }
    }

    /// A number without a unit. A day of the calendar that is written as a whole number (20240105) is that day, and what lies beyond every calendar is no time.
    pub(crate) fn of_number(value: f64) -> Self {
        if let Some(seconds) = written_day_s(value) {
            Self::Exact(seconds)
        } else if value.is_finite() && value.abs() < BEYOND_TIME {
            Self::Bare(value)
        } else {
            Self::Missing
        }
    }
}

/// The end of the year 9999 in nanoseconds since 1970, rounded up: no number from here on is a time.
pub(crate) const BEYOND_TIME: f64 = 2.54e20;

/// The beginning, in seconds since 1970 UTC, of a day that is written `YYYYMMDD` as a number, from 1990 to 2099.
///
/// Seconds since 1970 of that size lie in August 1970, when nobody voted.
pub(crate) fn written_day_s(value: f64) -> Option<f64> {
    const YEARS: std::ops::RangeInclusive<i16> = 1990..=2099;
    if value.fract() != 0.0 || !(19_900_101.0..=20_991_231.0).contains(&value) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
    let digits = value as i32;
    let year = i16::try_from(digits / 10_000).ok()?;
    let month = i8::try_from(digits / 100 % 100).ok()?;
    let day = i8::try_from(digits % 100).ok()?;
    let date = Date::new(year, month, day).ok()?;
    let start = TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?;
    YEARS.contains(&year).then_some(start.as_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_shape() {
        for (text, expected) in [
            ("1690000000.5", Time::Bare(1_690_000_000.5)),
            ("1690000000456", Time::Bare(1_690_000_000_456.0)),
            ("2023-07-22T04:26:40Z", Time::Exact(1_690_000_000.0)),
            (
                "2023-07-22T06:26:40.25+02:00",
                Time::Exact(1_690_000_000.25),
            ),
            ("2023-07-22 04:26:40", Time::Exact(1_690_000_000.0)),
            (" ", Time::Missing),
            ("yesterday", Time::Missing),
            ("NaN", Time::Missing),
            ("inf", Time::Missing),
            ("1e300", Time::Missing),
            ("-1e300", Time::Missing),
            // 2024-01-05 and 2024-02-29; the others are no days, and so seconds.
            ("20240105", Time::Exact(1_704_412_800.0)),
            ("20240229", Time::Exact(1_709_164_800.0)),
            ("20240230", Time::Bare(20_240_230.0)),
            ("20241301", Time::Bare(20_241_301.0)),
            ("20240105.5", Time::Bare(20_240_105.5)),
        ] {
            assert_eq!(Time::of_text(text), expected, "{text}");
        }
    }

    #[test]
    fn the_size_of_a_number_tells_its_unit() {
        assert_eq!(Unit::of(1.69e9), Unit::Seconds);
        assert_eq!(Unit::of(1.69e12), Unit::Milliseconds);
        assert_eq!(Unit::of(1.69e15), Unit::Microseconds);
        assert_eq!(Unit::of(1.69e18), Unit::Nanoseconds);
    }
}
