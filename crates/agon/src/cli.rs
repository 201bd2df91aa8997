//! Every command and flag on one page.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub mod annotate;
pub mod check;
pub mod compare;
pub mod detectors;
pub mod import;
pub mod quarantine;
pub mod rank;
pub mod reading;
pub mod screen;
pub mod unpack;

pub use annotate::{AnnotateArgs, AnnotateCommand, EvaluateArgs};
pub use check::CheckArgs;
pub use compare::{CompareArgs, CompareFormat};
pub use detectors::{DetectorsArgs, DetectorsCommand};
pub use import::ImportArgs;
pub use quarantine::{QuarantineArgs, QuarantineCommand};
pub use rank::RankArgs;
pub use reading::ReadingArgs;
pub use screen::{
    EvaluateScreeningArgs, FailOn, KeepRows, RedactBy, RulesArgs, ScreenArgs, ScreenCommand,
};
pub use unpack::UnpackArgs;

/// What the user typed.
#[derive(Debug, Parser)]
#[command(
    name = "agon",
    version,
    about = "A self-hosted vision arena: battles, leaderboards and releases in one binary",
    after_help = "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 input refused; 4 something was found (`agon screen --fail-on`)."
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
    Rank(Box<RankArgs>),
    /// Check vote files: what they are, which rows would be ranked, and why the others would not
    Check(CheckArgs),
    /// Take battles from published sets and logs into the store, beside the arena's own
    Import(Box<ImportArgs>),
    /// Label conversations: language, categories, style, refusals, identity leaks, duplicates
    Annotate(Box<AnnotateArgs>),
    /// Look through datasets for personal data and harmful content, and write what may be published
    Screen(Box<ScreenArgs>),
    /// Install and check the model files that local detectors look with
    Detectors(DetectorsArgs),
    /// Write the arena's votes as a dataset in the VisionArena-Battle schema
    Release(ReleaseArgs),
    /// Sealed cases: list, open by two people, report, destroy after their time
    Quarantine(Box<QuarantineArgs>),
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

/// `agon release`.
#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// Folder to write, which must be empty or absent
    #[arg(long, short, value_name = "FOLDER", required = true)]
    pub output: PathBuf,
    /// Release battles too that were not looked at for everything that has to be looked for; the card says so
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
