//! A progress bar on standard error, for work that takes longer than a second.

use std::{
    io::{self, IsTerminal as _},
    time::Instant,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long work may take before the bar appears, in milliseconds.
const SHOWN_AFTER_MS: u128 = 1000;

/// Counted in bytes, with rate and time left.
pub(super) const BYTES: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
/// Counted in things, with rate and time left.
pub(super) const THINGS: &str = "{msg} {wide_bar} {pos}/{len} {per_sec} {eta}";

/// The bar; invisible when standard error is no terminal, or when nothing but errors is wanted.
pub(super) struct Progress {
    started: Instant,
    bar: Option<ProgressBar>,
    is_wanted: bool,
    template: &'static str,
}

impl Progress {
    /// A bar that looks like `template`, [`BYTES`] or [`THINGS`].
    pub(super) fn new(quiet: bool, template: &'static str) -> Self {
        Self {
            started: Instant::now(),
            bar: None,
            is_wanted: !quiet && io::stderr().is_terminal(),
            template,
        }
    }

    /// Says how far the work is. The message is made only when it is shown.
    pub(super) fn show(
        &mut self,
        position: u64,
        total: Option<u64>,
        message: impl FnOnce() -> String,
    ) {
        let is_due = self.bar.is_some() || self.started.elapsed().as_millis() >= SHOWN_AFTER_MS;
        if !self.is_wanted || !is_due {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(self.template) {
                bar.set_style(style);
            }
            bar
        });
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_message(message());
        bar.set_position(position);
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
