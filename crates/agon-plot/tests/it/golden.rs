//! Small plots in full, so that a change of the output is seen in review.

use agon_plot::{Theme, calibration, coefficients, heat_map, history, intervals};

use crate::samples;

#[test]
fn small_plots_are_as_they_were() {
    insta::assert_snapshot!(
        "intervals",
        intervals(&samples::rated(3, 1))
            .unwrap()
            .to_svg(Theme::Auto)
    );
    insta::assert_snapshot!(
        "win_rates",
        heat_map(&samples::win_rates(3))
            .unwrap()
            .to_embedded_svg("rates")
    );
    insta::assert_snapshot!(
        "battles",
        heat_map(&samples::battle_counts(2))
            .unwrap()
            .to_svg(Theme::Light)
    );
    insta::assert_snapshot!(
        "history",
        history(&samples::over_time(2, 3))
            .unwrap()
            .to_svg(Theme::Dark)
    );
    insta::assert_snapshot!(
        "coefficients",
        coefficients(&samples::style())
            .unwrap()
            .to_svg(Theme::Light)
    );
    insta::assert_snapshot!(
        "calibration",
        calibration(&samples::predictions())
            .unwrap()
            .to_svg(Theme::Light)
    );
}
