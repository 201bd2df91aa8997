//! What is drawn in which colour, in light and in dark.

use crate::colour::{Rgb, along};

/// Which colours a file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white.
    Light,
    /// Light on near black.
    Dark,
    /// Light, or dark where the viewer asks for it (`prefers-color-scheme`). A PNG cannot ask and is light.
    #[default]
    Auto,
}

/// The style sheet for [`Plot::to_embedded_svg`](crate::Plot::to_embedded_svg), to be served as a file.
///
/// Colours are custom properties named `--plot-…`, written with `light-dark()`: they follow the `color-scheme` of the
/// page, so a page that lets its readers choose needs no second set of rules.
pub const STYLE_SHEET: &str = include_str!("style_sheet.css");

/// Steps of the scale of win rates: an odd number, so that one half has a step of its own.
pub(crate) const RATE_STEPS: u8 = 41;
/// Steps of the scale of counts.
pub(crate) const COUNT_STEPS: u8 = 32;
/// Colours of lines. More lines than these repeat them with another dash.
pub(crate) const SERIES: u8 = 8;

/// What a mark is painted for; the theme gives the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ink {
    Background,
    Text,
    Muted,
    Grid,
    Axis,
    Faint,
    Accent,
    AccentSoft,
    Provisional,
    Above,
    Below,
    Empty,
    Hatch,
    Series(u8),
    Rate(u8),
    OnRate(u8),
    Count(u8),
    OnCount(u8),
}

// Found by annealing over eight hues for the largest least Oklab distance under normal vision and the three kinds of
// colour blindness (Machado 2009), with a contrast of 3 to the background; the tests compute both again.
const SERIES_LIGHT: [u32; SERIES as usize] = [
    0x323dab, 0xba400b, 0x048f70, 0x773566, 0xaf9025, 0x3196df, 0x7c57d7, 0x951f23,
];
const SERIES_DARK: [u32; SERIES as usize] = [
    0x5ea1fb, 0xb16c1a, 0x1ffbc6, 0xbe7ca8, 0xf5d321, 0x87caf5, 0x9955c7, 0xf78e68,
];

// Orange to blue through the background's neutral: the pair that all common kinds of colour blindness keep apart.
const RATE_LIGHT: [Rgb; 5] = [
    Rgb::hex(0xa8480a),
    Rgb::hex(0xec9a52),
    Rgb::hex(0xf4f3f0),
    Rgb::hex(0x78a8dc),
    Rgb::hex(0x1c4f96),
];
const RATE_DARK: [Rgb; 5] = [
    Rgb::hex(0xffb46e),
    Rgb::hex(0xb8652a),
    Rgb::hex(0x353a46),
    Rgb::hex(0x3f73b5),
    Rgb::hex(0x96c6ff),
];

// Lightness falls (or rises) along the whole scale, so it reads in grey as well.
const COUNT_LIGHT: [Rgb; 6] = [
    Rgb::hex(0xf3efd2),
    Rgb::hex(0xb7d6b0),
    Rgb::hex(0x66b0ab),
    Rgb::hex(0x2f7d9a),
    Rgb::hex(0x1d4a7d),
    Rgb::hex(0x0f2350),
];
const COUNT_DARK: [Rgb; 6] = [
    Rgb::hex(0x22304f),
    Rgb::hex(0x2a5680),
    Rgb::hex(0x33809a),
    Rgb::hex(0x66b0a6),
    Rgb::hex(0xb2d8ae),
    Rgb::hex(0xf6f0c8),
];

impl Ink {
    /// Colour in the light and in the dark theme.
    pub(crate) fn colours(self) -> (Rgb, Rgb) {
        let pair = |light, dark| (Rgb::hex(light), Rgb::hex(dark));
        match self {
            Self::Background => pair(0xffffff, 0x16191f),
            Self::Text => pair(0x1a1b1e, 0xedeff3),
            Self::Muted => pair(0x5c6068, 0xa2a8b4),
            Self::Grid => pair(0xececea, 0x262b34),
            Self::Axis => pair(0xb4b6ba, 0x555c69),
            Self::Faint => pair(0xcdd0d5, 0x454c59),
            Self::Accent => pair(0x4340d8, 0xa3a5ff),
            Self::AccentSoft => pair(0xb9b8f0, 0x55579c),
            Self::Provisional => pair(0x8a8f99, 0x7c8391),
            Self::Above => pair(0x1c5fae, 0x7db4f5),
            Self::Below => pair(0xb4500c, 0xf0964a),
            Self::Empty => pair(0xfafaf9, 0x1a1d24),
            Self::Hatch => pair(0xdcdcd8, 0x343a46),
            Self::Series(index) => {
                let index = usize::from(index % SERIES);
                pair(SERIES_LIGHT[index], SERIES_DARK[index])
            }
            Self::Rate(step) => scale(step, RATE_STEPS, &RATE_LIGHT, &RATE_DARK),
            Self::Count(step) => scale(step, COUNT_STEPS, &COUNT_LIGHT, &COUNT_DARK),
            Self::OnRate(step) => on(Self::Rate(step)),
            Self::OnCount(step) => on(Self::Count(step)),
        }
    }

    /// The name in classes and custom properties.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Background => "background".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Axis => "axis".to_owned(),
            Self::Faint => "faint".to_owned(),
            Self::Accent => "accent".to_owned(),
            Self::AccentSoft => "accent-soft".to_owned(),
            Self::Provisional => "provisional".to_owned(),
            Self::Above => "above".to_owned(),
            Self::Below => "below".to_owned(),
            Self::Empty => "empty".to_owned(),
            Self::Hatch => "hatch".to_owned(),
            Self::Series(index) => format!("series-{}", index % SERIES),
            Self::Rate(step) => format!("rate-{step}"),
            Self::OnRate(step) => format!("on-rate-{step}"),
            Self::Count(step) => format!("count-{step}"),
            Self::OnCount(step) => format!("on-count-{step}"),
        }
    }
}

fn scale(step: u8, steps: u8, light: &[Rgb], dark: &[Rgb]) -> (Rgb, Rgb) {
    let position = f64::from(step) / f64::from(steps - 1);
    (along(light, position), along(dark, position))
}

fn on(ink: Ink) -> (Rgb, Rgb) {
    let (light, dark) = ink.colours();
    (light.text_on(), dark.text_on())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::oklab;
    use std::fmt::Write as _;

    fn named() -> Vec<Ink> {
        let mut inks = vec![
            Ink::Background,
            Ink::Text,
            Ink::Muted,
            Ink::Grid,
            Ink::Axis,
            Ink::Faint,
            Ink::Accent,
            Ink::AccentSoft,
            Ink::Provisional,
            Ink::Above,
            Ink::Below,
            Ink::Empty,
            Ink::Hatch,
        ];
        inks.extend((0..SERIES).map(Ink::Series));
        inks
    }

    fn generated_style_sheet() -> String {
        let mut css = String::from(
            "/* Generated by agon-plot from the inks in theme.rs; a test keeps it so. */\n.plot {\n",
        );
        for ink in named() {
            let (light, dark) = ink.colours();
            writeln!(
                css,
                "  --plot-{}: light-dark({}, {});",
                ink.name(),
                light.css(),
                dark.css()
            )
            .unwrap();
        }
        css.push_str("  display: block;\n  max-width: 100%;\n  min-width: 40rem;\n  height: auto;\n  font-family: \"Noto Sans\", system-ui, sans-serif;\n  font-variant-numeric: tabular-nums;\n}\n.plot-wide { max-width: none; }\n");
        for ink in named() {
            let name = ink.name();
            writeln!(css, ".plot-fill-{name} {{ fill: var(--plot-{name}); }}").unwrap();
            writeln!(css, ".plot-stroke-{name} {{ stroke: var(--plot-{name}); }}").unwrap();
        }
        let rates = (0..RATE_STEPS).flat_map(|step| [Ink::Rate(step), Ink::OnRate(step)]);
        let counts = (0..COUNT_STEPS).flat_map(|step| [Ink::Count(step), Ink::OnCount(step)]);
        for ink in rates.chain(counts) {
            let (light, dark) = ink.colours();
            writeln!(
                css,
                ".plot-fill-{} {{ fill: light-dark({}, {}); }}",
                ink.name(),
                light.css(),
                dark.css()
            )
            .unwrap();
        }
        css
    }

    /// Run with `UPDATE_STYLE_SHEET=1` after a change of colours.
    #[test]
    fn the_style_sheet_is_that_of_the_inks() {
        let generated = generated_style_sheet();
        if std::env::var_os("UPDATE_STYLE_SHEET").is_some() {
            std::fs::write(
                concat!(env!("CARGO_MANIFEST_DIR"), "/src/style_sheet.css"),
                &generated,
            )
            .unwrap();
            return;
        }
        assert_eq!(
            generated, STYLE_SHEET,
            "run the test with UPDATE_STYLE_SHEET=1"
        );
    }

    fn of(ink: Ink, dark: bool) -> Rgb {
        let (light, dark_colour) = ink.colours();
        if dark { dark_colour } else { light }
    }

    #[test]
    fn text_has_a_contrast_of_four_and_a_half() {
        for dark in [false, true] {
            let background = of(Ink::Background, dark);
            for ink in [Ink::Text, Ink::Muted] {
                assert!(of(ink, dark).contrast(background) >= 4.5, "{ink:?} {dark}");
            }
            for step in 0..RATE_STEPS {
                assert!(of(Ink::Rate(step), dark).contrast(of(Ink::OnRate(step), dark)) >= 4.5);
            }
            for step in 0..COUNT_STEPS {
                assert!(of(Ink::Count(step), dark).contrast(of(Ink::OnCount(step), dark)) >= 4.5);
            }
        }
    }

    #[test]
    fn marks_that_carry_meaning_have_a_contrast_of_three() {
        for dark in [false, true] {
            let background = of(Ink::Background, dark);
            let marks = [Ink::Accent, Ink::Provisional, Ink::Above, Ink::Below];
            for ink in marks.into_iter().chain((0..SERIES).map(Ink::Series)) {
                let contrast = of(ink, dark).contrast(background);
                assert!(contrast >= 3.0, "{ink:?} {dark} {contrast}");
            }
        }
    }

    /// What a person without one kind of cone sees, on linear light, severity 1.0.
    /// Machado, Oliveira, Fernandes (2009), "A physiologically-based model for simulation of color vision deficiency".
    const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
        (
            "normal",
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        ),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    /// Distance in Oklab, times 100; about 2 can just be told apart side by side.
    fn distance(one: Rgb, two: Rgb, matrix: &[[f64; 3]; 3]) -> f64 {
        let seen = |colour: Rgb| {
            let linear = colour.linear();
            oklab(matrix.map(|row| {
                row.iter()
                    .zip(linear)
                    .map(|(weight, channel)| weight * channel)
                    .sum::<f64>()
                    .clamp(0.0, 1.0)
            }))
        };
        let (one, two) = (seen(one), seen(two));
        100.0
            * one
                .iter()
                .zip(two)
                .map(|(a, b)| (a - b).powi(2))
                .sum::<f64>()
                .sqrt()
    }

    #[test]
    fn lines_are_told_apart_without_one_kind_of_cone() {
        for dark in [false, true] {
            for (vision, matrix) in &VISIONS {
                // The rarest deficiency gets what the other two leave.
                let least = if *vision == "tritanopia" { 6.0 } else { 10.0 };
                for one in 0..SERIES {
                    for two in 0..one {
                        let apart = distance(
                            of(Ink::Series(one), dark),
                            of(Ink::Series(two), dark),
                            matrix,
                        );
                        assert!(
                            apart >= least,
                            "{vision}, dark {dark}: {one} {two} {apart:.1}"
                        );
                    }
                }
                let sides = distance(of(Ink::Above, dark), of(Ink::Below, dark), matrix);
                assert!(sides >= 10.0, "{vision} {dark} {sides}");
                let ends = distance(
                    of(Ink::Rate(8), dark),
                    of(Ink::Rate(RATE_STEPS - 9), dark),
                    matrix,
                );
                assert!(ends >= 10.0, "{vision} {dark} {ends}");
            }
        }
    }

    #[test]
    fn counts_grow_evenly_in_lightness() {
        for dark in [false, true] {
            let lightness: Vec<f64> = (0..COUNT_STEPS)
                .map(|step| oklab(of(Ink::Count(step), dark).linear())[0])
                .collect();
            let rising = lightness.windows(2).all(|pair| pair[0] < pair[1]);
            let falling = lightness.windows(2).all(|pair| pair[0] > pair[1]);
            assert!(if dark { rising } else { falling });
        }
    }
}
