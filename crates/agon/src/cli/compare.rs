//! `agon rank compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::parse_level;

/// `agon rank compare`.
#[derive(Args, Debug)]
#[command(
    after_help = "Boards are matched by category, style control and group, models by name. A file with votes that is called `compare` is ranked by `agon rank ./compare`.\n\nExamples:\n  agon rank compare may.json june.json\n  agon rank votes.parquet --json | agon rank compare may.json - --format markdown"
)]
pub struct CompareArgs {
    /// Earlier boards: a document of `agon rank --json` or `--format catalog`, or `-` for standard input
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// Later boards, likewise
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Confidence level of the intervals of rating differences; without it, that of BEFORE
    #[arg(long, value_name = "SHARE", value_parser = parse_level)]
    pub level: Option<f64>,
    /// How the comparison is printed (`--json` means `--format json`)
    #[arg(long, value_enum, default_value_t = CompareFormat::Table)]
    pub format: CompareFormat,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How a comparison of boards is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Columns for reading
    Table,
    /// The whole result, for machines
    Json,
    /// One row a model, without the statistics of boards
    Csv,
    /// Markdown tables
    Markdown,
}
