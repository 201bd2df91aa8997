//! Logs, on standard error.
//!
//! Messages read alone and carry dotted fields (`battle.id`, `duration_ms`).
//! Never logged: a prompt, an answer, an image, an address, a key, or a model's name together with a battle that is not yet voted on.

use std::io::IsTerminal as _;

use tracing::{Level, Metadata, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, filter::filter_fn, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::cli::GlobalArgs;

/// Starts logging: `AGON_LOG` (as `tracing`'s filter), else by `--quiet` and `-v`.
///
/// Colours only on a terminal and without `NO_COLOR`.
pub fn start(global: &GlobalArgs) {
    let by_flags = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn,agon=info",
        (false, 1) => "info,agon=debug,agon_store=debug,agon_providers=debug",
        (false, _) => "debug",
    };
    let filter = EnvFilter::try_from_env("AGON_LOG").unwrap_or_else(|_| EnvFilter::new(by_flags));
    let colours = std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    // A second start (tests in one process) keeps the first subscriber.
    let _ = tracing_subscriber::registry()
        .with(
            tracing_subscriber::fmt::layer()
                .with_writer(std::io::stderr)
                .with_ansi(colours),
        )
        .with(filter)
        .with(filter_fn(may_be_logged).with_max_level_hint(LevelFilter::TRACE))
        .try_init();
}

/// Whether a message may be logged at all, whatever was asked for.
///
/// Agon's own crates keep to the list above. Libraries do not know it: at debug level the HTML parser writes out the answers that it reads, and the HTTP client which endpoint is asked right after a battle began.
fn may_be_logged(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let is_of = |name: &str| {
        target
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::") || rest.starts_with('_'))
    };
    is_of("agon") || (*metadata.level() <= Level::INFO && !is_of("html5ever"))
}
