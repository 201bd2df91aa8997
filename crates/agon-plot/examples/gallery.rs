//! Draws every kind of plot from made-up data, to look at: `cargo run -p agon-plot --example gallery -- FOLDER`.

use std::{error::Error, fs, path::PathBuf};

use agon_plot::{Fonts, Plot, Theme, calibration, coefficients, heat_map, history, intervals};

#[path = "../tests/it/samples.rs"]
mod samples;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(
        std::env::args_os()
            .nth(1)
            .ok_or("give a folder to write to")?,
    );
    fs::create_dir_all(&folder)?;
    let fonts = Fonts::embedded();
    let draw = |name: &str, plot: Plot| -> Result<(), Box<dyn Error>> {
        for (suffix, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
            fs::write(
                folder.join(format!("{name}-{suffix}.png")),
                plot.to_png(theme, 1.5, &fonts)?,
            )?;
        }
        fs::write(folder.join(format!("{name}.svg")), plot.to_svg(Theme::Auto))?;
        Ok(())
    };
    for count in [20, 100] {
        draw(
            &format!("intervals-{count}"),
            intervals(&samples::rated(count, count / 10))?,
        )?;
        draw(
            &format!("win-rates-{count}"),
            heat_map(&samples::win_rates(count))?,
        )?;
        draw(
            &format!("battles-{count}"),
            heat_map(&samples::battle_counts(count))?,
        )?;
        draw(
            &format!("history-{count}"),
            history(&samples::over_time(count, 24))?,
        )?;
    }
    draw("win-rates-8", heat_map(&samples::win_rates(8))?)?;
    draw("history-6", history(&samples::over_time(6, 9))?)?;
    draw("coefficients", coefficients(&samples::style())?)?;
    draw("calibration", calibration(&samples::predictions())?)?;
    Ok(())
}
