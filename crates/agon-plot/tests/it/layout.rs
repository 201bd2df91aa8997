//! Where text ends up, as laid out by usvg with the embedded font: a second opinion on the crate's own arithmetic.

use std::sync::Arc;

use agon_plot::{
    Caption, Cells, HeatMap, Plot, Theme, calibration, coefficients, heat_map, history, intervals,
};
use resvg::{
    tiny_skia::Rect,
    usvg::{self, Node},
};

use crate::samples;

/// Text and box of every text of a plot, and the box of everything else.
fn boxes(plot: &Plot) -> (Vec<(String, Rect)>, Vec<Rect>) {
    let mut options = usvg::Options::default();
    for bytes in [notosans::REGULAR_TTF, notosans::BOLD_TTF] {
        options
            .fontdb_mut()
            .load_font_source(usvg::fontdb::Source::Binary(Arc::new(bytes)));
    }
    options.font_family = "Noto Sans".to_owned();
    let tree = usvg::Tree::from_str(&plot.to_svg(Theme::Light), &options)
        .expect("own SVG is read by usvg");
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    collect(tree.root(), &mut texts, &mut others);
    (texts, others)
}

fn collect(group: &usvg::Group, texts: &mut Vec<(String, Rect)>, others: &mut Vec<Rect>) {
    for node in group.children() {
        match node {
            Node::Group(group) => collect(group, texts, others),
            Node::Text(text) => {
                let content = text.chunks().iter().map(|chunk| chunk.text()).collect();
                texts.push((content, text.abs_bounding_box()));
            }
            other => others.push(other.abs_stroke_bounding_box()),
        }
    }
}

fn assert_readable(what: &str, plot: &Plot) {
    let (mut texts, others) = boxes(plot);
    assert!(!texts.is_empty(), "{what} has no text");
    let inside = |found: &Rect| {
        found.left() >= -0.01
            && found.top() >= -0.01
            && f64::from(found.right()) <= plot.width() + 0.01
            && f64::from(found.bottom()) <= plot.height() + 0.01
    };
    for (text, found) in &texts {
        assert!(
            inside(found),
            "{what}: {text:?} at {found:?} leaves {} × {}",
            plot.width(),
            plot.height()
        );
    }
    for found in &others {
        assert!(
            inside(found),
            "{what}: a shape at {found:?} leaves {} × {}",
            plot.width(),
            plot.height()
        );
    }
    texts.sort_by(|one, two| one.1.left().total_cmp(&two.1.left()));
    for (index, (one, first)) in texts.iter().enumerate() {
        for (two, second) in &texts[index + 1..] {
            if second.left() >= first.right() - 0.01 {
                break;
            }
            let apart =
                second.top() >= first.bottom() - 0.01 || first.top() >= second.bottom() - 0.01;
            assert!(
                apart,
                "{what}: {one:?} {first:?} and {two:?} {second:?} overlap"
            );
        }
    }
}

/// Every name far longer than its room, and none like another.
fn lengthen(names: &mut [String]) {
    for (index, name) in names.iter_mut().enumerate() {
        *name = format!(
            "{index}-WWW-{name}-{}",
            "with-a-very-long-tail-".repeat(1 + index % 5)
        );
    }
}

#[test]
fn intervals_are_readable() {
    for (count, provisional) in [
        (1, 0),
        (1, 1),
        (2, 1),
        (20, 3),
        (50, 0),
        (100, 12),
        (300, 30),
    ] {
        let mut data = samples::rated(count, provisional);
        assert_readable(&format!("{count} models"), &intervals(&data).unwrap());
        for model in &mut data.models {
            lengthen(std::slice::from_mut(&mut model.name));
        }
        assert_readable(&format!("{count} long models"), &intervals(&data).unwrap());
    }
}

#[test]
fn intervals_of_odd_scales_are_readable() {
    for scale in [1e-9, 1e-3, 1e3, 1e9] {
        let mut data = samples::rated(30, 3);
        data.axis = "A name of the axis that is far too long for its column".to_owned();
        for model in &mut data.models {
            model.rating *= scale;
            for interval in [&mut model.interval, &mut model.simultaneous]
                .into_iter()
                .flatten()
            {
                interval.lower *= scale;
                interval.upper *= scale;
            }
        }
        assert_readable(&format!("scale {scale}"), &intervals(&data).unwrap());
    }
}

#[test]
fn heat_maps_are_readable() {
    for count in [1, 2, 8, 20, 30, 50] {
        for (kind, mut data) in [
            ("rates", samples::win_rates(count)),
            ("counts", samples::battle_counts(count)),
        ] {
            assert_readable(&format!("{count} {kind}"), &heat_map(&data).unwrap());
            lengthen(&mut data.models);
            assert_readable(&format!("{count} long {kind}"), &heat_map(&data).unwrap());
        }
    }
}

#[test]
fn large_heat_maps_are_readable() {
    for mut data in [samples::win_rates(100), samples::battle_counts(300)] {
        lengthen(&mut data.models);
        assert_readable(
            &format!("{} models", data.models.len()),
            &heat_map(&data).unwrap(),
        );
    }
}

#[test]
fn histories_are_readable() {
    for (count, boards) in [(1, 1), (3, 2), (12, 24), (20, 200), (100, 24), (300, 60)] {
        for highlighted in [0, 12, 300] {
            let mut data = samples::over_time(count, boards);
            data.highlighted = highlighted;
            assert_readable(
                &format!("{count} lines, {highlighted} highlighted"),
                &history(&data).unwrap(),
            );
            for line in &mut data.lines {
                lengthen(std::slice::from_mut(&mut line.name));
                // All at one height, the worst case for labels at the ends.
                line.ratings
                    .iter_mut()
                    .flatten()
                    .for_each(|rating| *rating = 1000.0);
            }
            assert_readable(&format!("{count} equal lines"), &history(&data).unwrap());
        }
    }
}

#[test]
fn coefficients_and_calibration_are_readable() {
    let mut data = samples::style();
    assert_readable("coefficients", &coefficients(&data).unwrap());
    for sign in [1.0, -1.0] {
        for row in &mut data.rows {
            lengthen(std::slice::from_mut(&mut row.name));
            row.value = 0.3 * sign;
            row.interval = None;
        }
        data.below = "a long sentence about what a negative coefficient means ".repeat(3);
        data.above = "a long sentence about what a positive coefficient means ".repeat(3);
        data.unit = "a long name of a unit ".repeat(12);
        assert_readable("long coefficients", &coefficients(&data).unwrap());
    }
    assert_readable(
        "calibration",
        &calibration(&samples::predictions()).unwrap(),
    );
}

#[test]
fn long_captions_are_readable() {
    let mut data = samples::rated(3, 0);
    let long =
        "A caption that goes on and on without regard for the width of the page. ".repeat(20);
    data.caption.title = long.clone();
    data.caption.subtitle = Some(long.clone());
    data.caption.source = Some(long);
    assert_readable("long captions", &intervals(&data).unwrap());
}

#[test]
fn only_a_matrix_with_pairs_that_never_met_explains_them() {
    let of = |gap: Option<f64>| {
        let data = HeatMap {
            caption: Caption::default(),
            models: vec!["a".to_owned(), "b".to_owned()],
            cells: Cells::WinRates {
                values: vec![None, gap, Some(0.4), None],
                battles: None,
            },
        };
        heat_map(&data).unwrap().to_svg(Theme::Light)
    };
    assert!(of(None).contains("never met"));
    assert!(!of(Some(0.6)).contains("never met"));
}
