//! The flags of `agon quarantine`.

use std::path::PathBuf;

use agon_domain::CaseId;
use clap::{Args, Subcommand};

/// `agon quarantine`.
#[derive(Args, Debug)]
pub struct QuarantineArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: QuarantineCommand,
}

/// What can be done with sealed cases.
#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// Make a custodian's key: the secret one into a file, the public one on standard output
    Key(KeyArgs),
    /// List the sealed cases
    List,
    /// Show a case and everything that was done with it, without opening it
    Show(ShowArgs),
    /// Open a case with the keys of two custodians, and write what is in it to a folder
    Open(OpenArgs),
    /// Open a case and write the report for the authority to a folder; nothing is sent
    Report(ReportArgs),
    /// Open a case and hand its report in, now
    Send(SendArgs),
    /// Note what became of a report that was handed in by hand, or whose outcome was unknown
    Mark(MarkArgs),
    /// Destroy the sealed files of all cases whose time is over; the record of them stays
    Expire(ExpireArgs),
}

/// `agon quarantine key`.
#[derive(Args, Debug)]
pub struct KeyArgs {
    /// File for the secret key, which must not exist
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// `agon quarantine show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The case
    #[arg(value_name = "CASE")]
    pub case: CaseId,
}

/// Who opens a case.
#[derive(Args, Debug)]
pub struct Keys {
    /// File with a custodian's secret key; two of them are needed
    #[arg(long, value_name = "FILE", required = true, num_args = 1)]
    pub identity: Vec<PathBuf>,
}

/// `agon quarantine open`.
#[derive(Args, Debug)]
pub struct OpenArgs {
    /// The case
    #[arg(value_name = "CASE")]
    pub case: CaseId,
    /// Who opens it.
    #[command(flatten)]
    pub keys: Keys,
    /// Folder to write, which must not exist
    #[arg(long, short, value_name = "FOLDER")]
    pub output: PathBuf,
}

/// `agon quarantine report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The case
    #[arg(value_name = "CASE")]
    pub case: CaseId,
    /// Who opens it.
    #[command(flatten)]
    pub keys: Keys,
    /// Who prepares the report
    #[arg(long, value_name = "NAME")]
    pub by: String,
    /// Folder to write, which must not exist
    #[arg(long, short, value_name = "FOLDER")]
    pub output: PathBuf,
}

/// `agon quarantine send`.
#[derive(Args, Debug)]
pub struct SendArgs {
    /// The case
    #[arg(value_name = "CASE")]
    pub case: CaseId,
    /// Who opens it.
    #[command(flatten)]
    pub keys: Keys,
    /// Who sends the report
    #[arg(long, value_name = "NAME")]
    pub by: String,
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Outcome {
    /// It arrived.
    Reported,
    /// It certainly did not arrive, and may be sent again.
    NotArrived,
}

/// `agon quarantine mark`.
#[derive(Args, Debug)]
pub struct MarkArgs {
    /// The case
    #[arg(value_name = "CASE")]
    pub case: CaseId,
    /// What became of its report
    #[arg(value_enum)]
    pub outcome: Outcome,
    /// The authority's number of the report
    #[arg(long, value_name = "NUMBER", required_if_eq("outcome", "reported"))]
    pub report_id: Option<String>,
    /// Who found out
    #[arg(long, value_name = "NAME")]
    pub by: String,
}

/// `agon quarantine expire`.
#[derive(Args, Debug)]
pub struct ExpireArgs {
    /// Who destroys them
    #[arg(long, value_name = "NAME")]
    pub by: String,
}
