//! Every command and flag on one page.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// What the user typed.
#[derive(Debug, Parser)]
#[command(
    name = "agon",
    version,
    about = "A self-hosted vision arena: battles, leaderboards and releases in one binary",
    after_help = "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 input refused."
)]
pub struct Cli {
    /// What goes for every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// Which command.
    #[command(subcommand)]
    pub command: Command,
}

/// What goes for every command.
#[derive(Args, Clone, Debug)]
pub struct GlobalArgs {
    /// Configuration file; else `agon.toml` in the working folder, then in the XDG configuration folder
    #[arg(long, global = true, value_name = "FILE", env = "AGON_CONFIG")]
    pub config: Option<PathBuf>,
    /// Folder that holds the arena's data; else the XDG data folder
    #[arg(long, global = true, value_name = "FOLDER", env = "AGON_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Print errors only
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on standard error; twice for debugging
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the arena: web pages, API, leaderboard
    Serve(ServeArgs),
    /// Rank models from votes: files in, leaderboard out
    Rank(RankArgs),
    /// Write the arena's votes as a dataset in the VisionArena-Battle schema
    Release(ReleaseArgs),
}

/// `agon serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Address to listen on, over the configuration
    #[arg(long, value_name = "HOST:PORT")]
    pub bind: Option<String>,
    /// Print the effective configuration without secrets, and stop
    #[arg(long)]
    pub check_config: bool,
}

/// `agon rank`.
#[derive(Args, Debug)]
#[command(
    after_help = "Formats are recognised by content: Parquet, CSV (comma, semicolon, tab), JSON array, JSON lines.\n\nExamples:\n  agon rank votes.csv\n  agon rank 'data/*.parquet' --anchor claude-3-haiku-20240307=1000 --format markdown\n  zcat votes.jsonl.gz | agon rank - --json"
)]
pub struct RankArgs {
    /// Files, folders, globs, or `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// Fix one model's rating; without it the location is set as `--location` says
    #[arg(long, value_name = "MODEL=RATING", value_parser = parse_anchor)]
    pub anchor: Option<AnchorArg>,
    /// What lies at `--init` when no model is anchored, and what intervals are relative to
    #[arg(long, value_enum, default_value_t = Location::Mean, conflicts_with = "anchor")]
    pub location: Location,
    /// What a tie counts
    #[arg(long, value_enum, default_value_t = Ties::Half)]
    pub ties: Ties,
    /// What both bad counts
    #[arg(long, value_enum, default_value_t = Ties::Half)]
    pub both_bad: Ties,
    /// Confidence level of the intervals
    #[arg(long, default_value_t = 0.95, value_name = "SHARE", value_parser = parse_level)]
    pub level: f64,
    /// Rating points per factor of `--base` in the odds
    #[arg(long, default_value_t = 400.0, value_parser = parse_positive)]
    pub scale: f64,
    /// Base of the odds
    #[arg(long, default_value_t = 10.0, value_parser = parse_base)]
    pub base: f64,
    /// Rating at the location
    #[arg(long, default_value_t = 1000.0, value_parser = parse_finite, allow_negative_numbers = true)]
    pub init: f64,
    /// List models with fewer battles as provisional
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub min_battles: u64,
    /// Refuse the input at the first rejected row
    #[arg(long)]
    pub strict: bool,
    /// How the leaderboard is printed (`--json` means `--format json`)
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Where the ratings lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Location {
    /// The plain mean of the rated models
    Mean,
    /// The mean weighted by battles: rare models do not widen everyone's interval
    WeightedMean,
}

/// What a tie or both bad counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ties {
    /// Half a win for each side, as the reference arena has it
    Half,
    /// Nothing: such votes are left out of the fit
    Drop,
}

/// How a leaderboard is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for reading
    Table,
    /// The whole result, for machines
    Json,
    /// One row a model
    Csv,
    /// A Markdown table
    Markdown,
}

/// `--anchor MODEL=RATING`.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorArg {
    /// Whose rating is fixed.
    pub model: String,
    /// At what.
    pub rating: f64,
}

/// `agon release`.
#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// Folder to write, which must be empty or absent
    #[arg(long, short, value_name = "FOLDER", required = true)]
    pub output: PathBuf,
    /// Release although no detector has screened the content; the card says so
    #[arg(long)]
    pub allow_unscreened: bool,
    /// Replace the release that is in the folder
    #[arg(long)]
    pub replace: bool,
    /// File with the 32-byte key (as 64 hexadecimal digits) that makes the judge column; without it a fresh key is drawn and forgotten
    #[arg(long, value_name = "FILE")]
    pub release_key: Option<PathBuf>,
    /// When the release says it was made, as RFC 3339; without it, now. With `--release-key`, the same votes give the same bytes
    #[arg(long, value_name = "TIMESTAMP")]
    pub created_at: Option<jiff::Timestamp>,
    /// Name of the dataset, for the card
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

fn parse_anchor(text: &str) -> Result<AnchorArg, String> {
    // A model's name may hold `=`; a rating cannot.
    let (model, rating) = text
        .rsplit_once('=')
        .ok_or("expected MODEL=RATING, such as gpt-4o=1200")?;
    let rating = parse_finite(rating)?;
    let model = model.trim();
    if model.is_empty() {
        return Err("expected a model's name before `=`".to_owned());
    }
    Ok(AnchorArg {
        model: model.to_owned(),
        rating,
    })
}

fn parse_finite(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("`{text}` is not a finite number")),
    }
}

fn parse_positive(text: &str) -> Result<f64, String> {
    parse_finite(text).and_then(|number| {
        if number > 0.0 {
            Ok(number)
        } else {
            Err(format!("`{text}` is not above 0"))
        }
    })
}

fn parse_base(text: &str) -> Result<f64, String> {
    parse_finite(text).and_then(|number| {
        if number > 1.0 {
            Ok(number)
        } else {
            Err(format!("`{text}` is not above 1"))
        }
    })
}

fn parse_level(text: &str) -> Result<f64, String> {
    parse_finite(text).and_then(|number| {
        if number > 0.0 && number < 1.0 {
            Ok(number)
        } else {
            Err(format!("`{text}` is not between 0 and 1"))
        }
    })
}
