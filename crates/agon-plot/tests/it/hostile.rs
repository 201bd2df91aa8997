//! Names and numbers from outside: nothing breaks out of the SVG, nothing panics, nothing is dropped in silence.

use agon_plot::{
    Board, Calibration, CalibrationBin, Caption, Cells, Coefficient, Coefficients, Error, HeatMap,
    History, HistoryLine, Interval, Intervals, Plot, RatedModel, STYLE_SHEET, Theme, calibration,
    coefficients, heat_map, history, intervals,
};
use proptest::prelude::*;

use crate::samples;

fn all_kinds() -> Vec<Plot> {
    [
        intervals(&samples::rated(12, 2)),
        heat_map(&samples::win_rates(6)),
        heat_map(&samples::battle_counts(6)),
        history(&samples::over_time(20, 12)),
        coefficients(&samples::style()),
        calibration(&samples::predictions()),
    ]
    .into_iter()
    .map(|plot| plot.expect("samples are valid"))
    .collect()
}

#[test]
fn names_stay_text() {
    let mut data = samples::rated(3, 0);
    data.caption.title = "</title><script>alert(1)</script>".to_owned();
    data.models[0].name = "\" onload=\"alert(1)".to_owned();
    data.models[1].name = "<!--]]>&lt;\u{202e}evil\u{2066}\u{0}\u{7}\u{fffe}".to_owned();
    data.models[2].name = "\u{200b}".to_owned();
    let plot = intervals(&data).unwrap();
    for svg in [
        plot.to_svg(Theme::Auto),
        plot.to_embedded_svg("x\" onload=\"y"),
    ] {
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert!(
            !document
                .descendants()
                .any(|node| node.has_tag_name("script"))
        );
        assert!(
            !document
                .descendants()
                .flat_map(|node| node.attributes())
                .any(|attribute| attribute.name().starts_with("on"))
        );
        let texts: Vec<&str> = document
            .descendants()
            .filter(|node| node.tag_name().name() == "text")
            .filter_map(|node| node.text())
            .collect();
        assert!(texts.contains(&"\" onload=\"alert(1)"), "{texts:?}");
        assert!(texts.contains(&"<!--]]>&lt;evil"), "{texts:?}");
        assert!(texts.contains(&"(no name)"), "{texts:?}");
    }
}

#[test]
fn embedded_plots_obey_a_strict_policy() {
    for plot in all_kinds() {
        let svg = plot.to_embedded_svg("one");
        let document = roxmltree::Document::parse(&svg).unwrap();
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            assert!(!matches!(
                node.tag_name().name(),
                "style" | "script" | "foreignObject" | "image" | "use"
            ));
            for attribute in node.attributes() {
                assert_ne!(attribute.name(), "style");
                if attribute.name() == "class" {
                    for class in attribute.value().split(' ') {
                        assert!(
                            STYLE_SHEET.contains(&format!(".{class} {{")),
                            "{class} has no rule"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn plots_of_one_page_share_no_ids() {
    let plot = heat_map(&samples::win_rates(6)).unwrap();
    let ids = |id: &str| -> Vec<String> {
        let svg = plot.to_embedded_svg(id);
        let document = roxmltree::Document::parse(&svg).unwrap();
        document
            .descendants()
            .filter_map(|node| node.attribute("id"))
            .map(str::to_owned)
            .collect()
    };
    let (one, two) = (ids("one"), ids("two"));
    assert_eq!(one.len(), 3);
    assert!(one.iter().all(|id| !two.contains(id)));
}

#[test]
fn plots_speak_to_screen_readers() {
    for plot in all_kinds() {
        let svg = plot.to_svg(Theme::Light);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("role"), Some("img"));
        for (name, id) in [("title", "plot-title"), ("desc", "plot-desc")] {
            let node = root
                .children()
                .find(|node| node.tag_name().name() == name)
                .unwrap();
            assert_eq!(node.attribute("id"), Some(id));
            assert!(node.text().is_some_and(|text| !text.is_empty()));
        }
        let marks = document
            .descendants()
            .filter(|node| node.tag_name().name() == "g");
        for mark in marks {
            assert_eq!(
                mark.first_element_child()
                    .map(|child| child.tag_name().name()),
                Some("title")
            );
        }
    }
}

#[test]
fn only_the_automatic_theme_has_a_style() {
    let plot = intervals(&samples::rated(3, 1)).unwrap();
    assert!(
        plot.to_svg(Theme::Auto)
            .contains("@media (prefers-color-scheme: dark)")
    );
    for theme in [Theme::Light, Theme::Dark] {
        let svg = plot.to_svg(theme);
        assert!(!svg.contains("<style") && !svg.contains("class="));
    }
}

#[test]
fn the_order_of_models_does_not_matter() {
    let mut data = samples::rated(40, 5);
    let before = intervals(&data).unwrap().to_svg(Theme::Auto);
    data.models.reverse();
    assert_eq!(before, intervals(&data).unwrap().to_svg(Theme::Auto));
    let mut data = samples::over_time(40, 12);
    let before = history(&data).unwrap().to_svg(Theme::Auto);
    data.lines.reverse();
    assert_eq!(before, history(&data).unwrap().to_svg(Theme::Auto));
}

#[test]
fn bad_numbers_are_named() {
    let mut data = samples::rated(3, 0);
    data.models[1].rating = f64::NAN;
    let message = intervals(&data).unwrap_err().to_string();
    assert!(
        message.contains(&format!("the rating of {}", data.models[1].name)),
        "{message}"
    );

    let mut data = samples::rated(3, 0);
    data.models[2].interval = Some(Interval {
        lower: 1.0,
        upper: f64::INFINITY,
    });
    assert!(
        matches!(intervals(&data), Err(Error::Number { item, .. }) if item.starts_with("the upper end of"))
    );
    data.models[2].interval = Some(Interval {
        lower: 2.0,
        upper: 1.0,
    });
    assert!(matches!(intervals(&data), Err(Error::Reversed { .. })));

    let mut data = samples::win_rates(3);
    let Cells::WinRates { values, .. } = &mut data.cells else {
        panic!("rates")
    };
    values[1] = Some(1.01);
    assert!(matches!(heat_map(&data), Err(Error::OutOfRange { .. })));
    data.models.pop();
    assert!(matches!(
        heat_map(&data),
        Err(Error::Length {
            expected: 4,
            found: 9,
            ..
        })
    ));

    let mut data = samples::over_time(3, 3);
    data.boards[2].day = data.boards[1].day;
    assert!(matches!(history(&data), Err(Error::OutOfRange { .. })));

    assert!(matches!(
        intervals(&Intervals::default()),
        Err(Error::Empty)
    ));
    assert!(matches!(history(&History::default()), Err(Error::Empty)));
    assert!(matches!(
        coefficients(&Coefficients::default()),
        Err(Error::Empty)
    ));
    assert!(matches!(
        calibration(&Calibration::default()),
        Err(Error::Empty)
    ));
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -3000.0..3000.0,
        2 => 0.0..=1.0,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, -0.0, 1e15, -1e15, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, 0.5]),
    ]
}

fn interval() -> impl Strategy<Value = Option<Interval>> {
    prop::option::of((number(), number()).prop_map(|(one, two)| {
        if one <= two {
            Interval {
                lower: one,
                upper: two,
            }
        } else {
            Interval {
                lower: two,
                upper: one,
            }
        }
    }))
}

fn caption() -> impl Strategy<Value = Caption> {
    (
        any::<String>(),
        prop::option::of(any::<String>()),
        prop::option::of(any::<String>()),
    )
        .prop_map(|(title, subtitle, source)| Caption {
            title,
            subtitle,
            source,
        })
}

/// A plot, or an error that says something; never a panic, never a number that is none.
fn judge(result: Result<Plot, Error>) -> Result<(), TestCaseError> {
    match result {
        Ok(plot) => {
            for svg in [plot.to_svg(Theme::Auto), plot.to_embedded_svg("a")] {
                let document = match roxmltree::Document::parse(&svg) {
                    Ok(document) => document,
                    Err(error) => return Err(TestCaseError::fail(format!("{error}: {svg}"))),
                };
                for attribute in document.descendants().flat_map(|node| node.attributes()) {
                    let value = attribute.value();
                    prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
                }
            }
        }
        Err(error) => prop_assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_ratings(
        caption in caption(),
        axis in any::<String>(),
        confidence in number(),
        models in prop::collection::vec(
            (any::<String>(), number(), interval(), interval(), prop::option::of(any::<(u32, u32)>()), any::<(Option<u64>, bool)>()),
            0..6,
        ),
    ) {
        let models = models
            .into_iter()
            .map(|(name, rating, interval, simultaneous, ranks, (battles, provisional))| RatedModel {
                name, rating, interval, simultaneous, ranks, battles, provisional,
            })
            .collect();
        judge(intervals(&Intervals { caption, axis, confidence, models }))?;
    }

    #[test]
    fn any_cells(
        caption in caption(),
        models in prop::collection::vec(any::<String>(), 0..4),
        rates in prop::collection::vec(prop::option::of(prop_oneof![9 => 0.0..=1.0, 1 => any::<f64>()]), 9),
        counts in prop::collection::vec(any::<u64>(), 9),
        as_counts in any::<bool>(),
    ) {
        let cells = models.len() * models.len();
        let counts = counts[..cells].to_vec();
        let cells = if as_counts {
            Cells::Battles(counts)
        } else {
            Cells::WinRates { values: rates[..cells].to_vec(), battles: Some(counts) }
        };
        judge(heat_map(&HeatMap { caption, models, cells }))?;
    }

    #[test]
    fn any_history(
        caption in caption(),
        axis in any::<String>(),
        days in prop::collection::vec((any::<String>(), number()), 0..4),
        lines in prop::collection::vec((any::<String>(), prop::collection::vec(prop::option::of(number()), 4)), 0..20),
        highlighted in any::<usize>(),
        sorted in prop::bool::weighted(0.8),
    ) {
        let mut boards: Vec<Board> = days.into_iter().map(|(label, day)| Board { label, day }).collect();
        if sorted {
            boards.sort_by(|one, two| one.day.total_cmp(&two.day));
        }
        let lines = lines
            .into_iter()
            .map(|(name, ratings)| HistoryLine {
                name,
                ratings: ratings[..boards.len()].to_vec(),
                intervals: ratings[..boards.len()]
                    .iter()
                    .zip(ratings.iter().cycle().skip(1))
                    .map(|(one, two)| {
                        let (one, two) = (*one).zip(*two)?;
                        Some(Interval { lower: one.min(two), upper: one.max(two) })
                    })
                    .collect(),
            })
            .collect();
        judge(history(&History { caption, axis, boards, lines, highlighted }))?;
    }

    #[test]
    fn any_coefficients(
        caption in caption(),
        words in any::<[String; 3]>(),
        rows in prop::collection::vec((any::<String>(), number(), interval()), 0..5),
    ) {
        let [unit, below, above] = words;
        let rows = rows.into_iter().map(|(name, value, interval)| Coefficient { name, value, interval }).collect();
        judge(coefficients(&Coefficients { caption, unit, below, above, rows }))?;
    }

    #[test]
    fn any_bins(
        caption in caption(),
        bins in prop::collection::vec((0.0..=1.0, prop_oneof![9 => 0.0..=1.0, 1 => any::<f64>()], any::<u64>()), 0..5),
    ) {
        let bins = bins
            .into_iter()
            .map(|(predicted, observed, battles)| CalibrationBin { predicted, observed, interval: None, battles })
            .collect();
        judge(calibration(&Calibration { caption, bins }))?;
    }
}
