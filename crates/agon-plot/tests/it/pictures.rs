//! PNG: the same bytes each time, bounded, and never an error for want of a glyph.

use agon_plot::{Error, Fonts, MAX_SIDE, Theme, heat_map, intervals};

use crate::samples;

/// Names of the chunks of a PNG, in order.
fn chunks(png: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = &png[8..];
    while rest.len() >= 12 {
        let length = u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        names.push(String::from_utf8_lossy(&rest[4..8]).into_owned());
        rest = &rest[12 + length..];
    }
    names
}

#[test]
fn the_same_plot_gives_the_same_bytes() {
    let draw = || {
        intervals(&samples::rated(4, 1))
            .unwrap()
            .to_png(Theme::Dark, 1.0, &Fonts::embedded())
            .unwrap()
    };
    let png = draw();
    assert_eq!(png, draw());
    assert!(
        chunks(&png)
            .iter()
            .all(|name| matches!(name.as_str(), "IHDR" | "IDAT" | "IEND"))
    );
}

#[test]
fn sides_follow_the_scale_and_every_pixel_is_covered() {
    let plot = intervals(&samples::rated(2, 0)).unwrap();
    let png = plot.to_png(Theme::Light, 0.73, &Fonts::embedded()).unwrap();
    let pixels = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
    assert_eq!(
        f64::from(pixels.width()),
        (plot.width() * f64::from(0.73_f32)).ceil()
    );
    assert_eq!(
        f64::from(pixels.height()),
        (plot.height() * f64::from(0.73_f32)).ceil()
    );
    assert!(pixels.pixels().iter().all(|pixel| pixel.alpha() == 255));
}

#[test]
fn text_is_drawn() {
    let dark = |png: &[u8]| {
        let pixels = resvg::tiny_skia::Pixmap::decode_png(png).unwrap();
        pixels
            .pixels()
            .iter()
            .filter(|pixel| pixel.red() < 80 && pixel.green() < 80 && pixel.blue() < 80)
            .count()
    };
    let mut data = samples::rated(2, 0);
    let with = intervals(&data)
        .unwrap()
        .to_png(Theme::Light, 1.0, &Fonts::embedded())
        .unwrap();
    for model in &mut data.models {
        model.name = "i".to_owned();
    }
    let without = intervals(&data)
        .unwrap()
        .to_png(Theme::Light, 1.0, &Fonts::embedded())
        .unwrap();
    assert!(dark(&with) > dark(&without) + 100);
}

#[test]
fn pictures_are_bounded() {
    let plot = heat_map(&samples::win_rates(2)).unwrap();
    let fonts = Fonts::embedded();
    let Err(Error::TooLarge {
        width,
        largest_scale,
        ..
    }) = plot.to_png(Theme::Light, 100.0, &fonts)
    else {
        panic!("too large")
    };
    assert!(width > MAX_SIDE && largest_scale > 1.0 && largest_scale * plot.width() <= MAX_SIDE);
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(
            plot.to_png(Theme::Light, scale, &fonts),
            Err(Error::Scale(_))
        ));
    }
    assert!(plot.to_png(Theme::Light, 1e-9, &fonts).is_ok());
}

#[test]
fn a_script_without_a_font_is_no_error() {
    let mut data = samples::rated(2, 0);
    data.models[0].name = "模型-甲 نموذج 🦀".to_owned();
    let plot = intervals(&data).unwrap();
    assert!(plot.to_png(Theme::Light, 0.5, &Fonts::embedded()).is_ok());
    assert!(
        plot.to_png(Theme::Light, 0.5, &Fonts::embedded().with_system_fonts())
            .is_ok()
    );
}

#[test]
fn fonts_of_the_caller_are_checked() {
    assert!(
        matches!(Fonts::embedded().with_font("noise", vec![1, 2, 3]), Err(Error::Font(name)) if name == "noise")
    );
    assert!(matches!(
        Fonts::embedded().with_font_file("/no/such/font.ttf".as_ref()),
        Err(Error::FontFile { .. })
    ));
    let fonts = Fonts::embedded()
        .with_font("italic", notosans::ITALIC_TTF.to_vec())
        .unwrap();
    assert!(format!("{fonts:?}").contains('3'));
}
