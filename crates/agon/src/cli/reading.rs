//! How inputs are read, for commands that go over whole rows.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::Args;

use super::UnpackArgs;

/// How inputs are read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub struct ReadingArgs {
    /// End with exit code 3 when a row is rejected for a fault
    #[arg(long)]
    pub strict: bool,
    /// Count models under other names: a TOML file with `version`, and below `[aliases]` lines of "old name" = "new name"
    #[arg(long, value_name = "FILE")]
    pub aliases: Option<PathBuf>,
    /// Write every rejected row to this file, one JSON object a line: source, row, reason, value
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Work on this many threads; their number changes nothing of the result [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// How far compressed inputs may unpack.
    #[command(flatten)]
    pub unpack: UnpackArgs,
}

impl ReadingArgs {
    /// How many threads there are to work on.
    pub fn n_threads(&self) -> NonZeroUsize {
        self.threads
            .or_else(|| std::thread::available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN)
    }
}
