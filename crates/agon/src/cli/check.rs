//! `agon check`.

use std::{num::NonZeroUsize, path::PathBuf};

use agon_dataset::clean::Profile;
use clap::Args;

use super::{UnpackArgs, import::parse_profile};

/// `agon check`.
#[derive(Args, Debug)]
#[command(
    after_help = "Nothing is ranked and nothing is written but what --rejects asks for. A source that cannot be read is told of, the others are checked all the same, and the exit code is 3. Published sets are recognised by their columns, never by the names of files: docs/dataset.md lists them.\n\nExamples:\n  agon check votes.csv\n  agon check 'data/*.parquet' --strict --rejects rejected.jsonl\n  agon check export.json --json"
)]
pub struct CheckArgs {
    /// Files, folders, globs, addresses, or `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// End with exit code 3 when a row is rejected for a fault; the report is printed all the same
    #[arg(long)]
    pub strict: bool,
    /// Count models under other names: a TOML file with `version`, and below `[aliases]` lines of "old name" = "new name"
    #[arg(long, value_name = "FILE")]
    pub aliases: Option<PathBuf>,
    /// Say what this cleaning profile, `agon-1` or `fastchat-2025-04`, would exclude, and by which rule
    #[arg(long, value_name = "PROFILE", value_parser = parse_profile)]
    pub clean: Option<Profile>,
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
