//! Logs, on standard error.
//!
//! Messages read alone and carry dotted fields (`battle.id`, `duration_ms`).
//! Never logged: a prompt, an answer, an image, an address, a key, or a model's name together with a battle that is not yet voted on.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

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
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .try_init();
}
