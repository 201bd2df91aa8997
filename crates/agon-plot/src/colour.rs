//! Colours, and the arithmetic on them: contrast, mixing, distance.

/// A colour of the sRGB space, eight bits a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rgb(pub(crate) u8, pub(crate) u8, pub(crate) u8);

pub(crate) const BLACK: Rgb = Rgb(0, 0, 0);
pub(crate) const WHITE: Rgb = Rgb(255, 255, 255);

impl Rgb {
    /// A colour from 0xrrggbb.
    pub(crate) const fn hex(value: u32) -> Self {
        let [_, red, green, blue] = value.to_be_bytes();
        Self(red, green, blue)
    }

    /// `#rrggbb`.
    pub(crate) fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// Channels in linear light, 0 to 1 (IEC 61966-2-1).
    pub(crate) fn linear(self) -> [f64; 3] {
        [self.0, self.1, self.2].map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    fn from_linear(linear: [f64; 3]) -> Self {
        let [red, green, blue] = linear.map(|value| {
            let value = value.clamp(0.0, 1.0);
            let encoded = if value <= 0.003_130_8 {
                12.92 * value
            } else {
                1.055 * value.powf(1.0 / 2.4) - 0.055
            };
            (255.0 * encoded).round() as u8
        });
        Self(red, green, blue)
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.linear();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Contrast ratio, 1 to 21 (WCAG 2.2).
    pub(crate) fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance() + 0.05, other.luminance() + 0.05);
        one.max(two) / one.min(two)
    }

    /// Black or white, whichever reads better on this colour; never below a contrast of √21 = 4.58.
    pub(crate) fn text_on(self) -> Self {
        if self.contrast(BLACK) >= self.contrast(WHITE) {
            BLACK
        } else {
            WHITE
        }
    }
}

/// Linear light to Oklab (Ottosson 2020, <https://bottosson.github.io/posts/oklab/>), in which distances match what people see.
pub(crate) fn oklab([red, green, blue]: [f64; 3]) -> [f64; 3] {
    let l = (0.412_221_470_8 * red + 0.536_332_536_3 * green + 0.051_445_992_9 * blue).cbrt();
    let m = (0.211_903_498_2 * red + 0.680_699_545_1 * green + 0.107_396_956_6 * blue).cbrt();
    let s = (0.088_302_461_9 * red + 0.281_718_837_6 * green + 0.629_978_700_5 * blue).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

fn from_oklab([lightness, a, b]: [f64; 3]) -> Rgb {
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    Rgb::from_linear([
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ])
}

/// The colour at `position` (0 to 1) along evenly spaced stops, mixed in Oklab.
pub(crate) fn along(stops: &[Rgb], position: f64) -> Rgb {
    let last = stops.len().saturating_sub(1);
    let place = position.clamp(0.0, 1.0) * last as f64;
    let index = (place.floor() as usize).min(last.saturating_sub(1));
    let part = place - index as f64;
    let (Some(from), Some(to)) = (stops.get(index), stops.get((index + 1).min(last))) else {
        return BLACK;
    };
    let (from, to) = (oklab(from.linear()), oklab(to.linear()));
    from_oklab(std::array::from_fn(|axis| {
        from[axis] + (to[axis] - from[axis]) * part
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_and_mixing_know_their_ends() {
        assert!((BLACK.contrast(WHITE) - 21.0).abs() < 1e-9);
        let blue = Rgb::hex(0x2266aa);
        assert_eq!(along(&[blue, WHITE], 0.0), blue);
        assert_eq!(along(&[blue, WHITE], 1.0), WHITE);
        assert_eq!(along(&[blue], 0.3), blue);
        assert_eq!(blue.css(), "#2266aa");
    }
}
