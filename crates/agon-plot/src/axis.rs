//! A linear axis: round ticks, positions, and numbers with as many decimals as the step needs.

/// The narrowest axis, relative to the numbers on it: below this, doubles have too few digits for ticks.
const NARROWEST: f64 = 1e-6;

/// A linear map of values to positions, with ticks at round values.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
    /// Tick values inside the axis, in increasing order.
    pub(crate) ticks: Vec<f64>,
    /// Decimals that tell neighbouring ticks apart.
    pub(crate) decimals: usize,
}

impl Axis {
    /// An axis of at least `low` to `high`, drawn from position `start` to `end`, with about `wanted` ticks.
    pub(crate) fn new(low: f64, high: f64, start: f64, end: f64, wanted: usize) -> Self {
        let (low, high) = widened(low, high);
        let step = round_step((high - low) / wanted.max(1) as f64);
        let first = (low / step).ceil();
        let last = (high / step).floor();
        let count = (last - first).clamp(0.0, 100.0) as usize;
        let ticks = (0..=count)
            .map(|index| (first + index as f64) * step)
            .collect();
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        Self {
            low,
            high,
            start,
            end,
            ticks,
            decimals,
        }
    }

    /// The position of a value. Values beyond the ends lie beyond the ends.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)
    }

    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    pub(crate) fn high(&self) -> f64 {
        self.high
    }

    pub(crate) fn label(&self, tick: f64) -> String {
        number(tick, self.decimals)
    }

    /// Decimals for values read off this axis: about three digits across its span.
    pub(crate) fn value_decimals(&self) -> usize {
        (2.0 - (self.high - self.low).log10().floor()).clamp(0.0, 6.0) as usize
    }
}

fn widened(low: f64, high: f64) -> (f64, f64) {
    let middle = low + (high - low) / 2.0;
    let narrowest = NARROWEST * middle.abs().max(1.0);
    if high - low >= narrowest {
        (low, high)
    } else {
        // One value has no scale of its own; a hundredth of it, at least one, gives ticks and decimals of a usual kind.
        let half = (0.01 * middle.abs()).max(1.0);
        (middle - half, middle + half)
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `raw`.
fn round_step(raw: f64) -> f64 {
    let power = 10_f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= raw * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// A number with fixed decimals, a true minus sign, and no negative zero.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.*}", decimals, value.abs());
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if value < 0.0 && !is_zero {
        format!("−{text}")
    } else {
        text
    }
}

/// A number that always has a sign.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let text = number(value, decimals);
    if text.starts_with('−') || value <= 0.0 {
        text
    } else {
        format!("+{text}")
    }
}

/// A count in at most four characters: 999, 1.2k, 45k, 3.1M.
pub(crate) fn short_count(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["", "k", "M", "G", "T", "P"] {
        if value < 999.5 {
            return if unit.is_empty() || value >= 9.95 {
                format!("{value:.0}{unit}")
            } else {
                format!("{value:.1}{unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.0}E")
}

/// A count with commas between thousands.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::new(983.0, 1312.0, 0.0, 100.0, 6);
        assert_eq!(axis.ticks, [1000.0, 1100.0, 1200.0, 1300.0]);
        assert_eq!(axis.label(1000.0), "1000");
        let axis = Axis::new(-0.13, 0.42, 0.0, 100.0, 6);
        assert_eq!(axis.ticks.len(), 6);
        assert_eq!(axis.label(axis.ticks[0]), "−0.1");
    }

    #[test]
    fn no_range_is_too_narrow_or_too_wide() {
        for (low, high) in [
            (0.0, 0.0),
            (1e15, 1e15),
            (-1e15, 1e15),
            (1.0, 1.0 + f64::EPSILON),
            (0.0, 1e-300),
        ] {
            let axis = Axis::new(low, high, 0.0, 100.0, 6);
            assert!(
                !axis.ticks.is_empty() && axis.ticks.len() < 20,
                "{low} {high}"
            );
            assert!(axis.at(low).is_finite() && axis.at(high).is_finite());
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(number(-0.0001, 2), "0.00");
        assert_eq!(number(-12.5, 1), "−12.5");
        assert_eq!(signed(3.0, 0), "+3");
        assert_eq!(
            [0, 999, 1000, 9949, 9950, 999_499, 1_234_567].map(short_count),
            ["0", "999", "1.0k", "9.9k", "10k", "999k", "1.2M"]
        );
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
