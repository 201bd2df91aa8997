//! `agon import`.

use std::{num::NonZeroUsize, path::PathBuf};

use agon_dataset::clean::Profile;
use clap::Args;

use super::UnpackArgs;

/// `agon import`.
#[derive(Args, Debug)]
#[command(
    after_help = "Every row is kept or rejected with a reason. An import that was interrupted goes on when the same command is run again. Imported votes are never on the arena's own leaderboard: `agon rank --store imported` ranks them.\n\nExamples:\n  agon import 'logs/*-conv.json' --images logs/serve_images --clean agon-1\n  agon import hf://datasets/ORG/NAME --source NAME\n  agon rank --store imported --style-control"
)]
pub struct ImportArgs {
    /// Files, folders, globs, addresses, or `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// Folder with the pictures of logs of FastChat, each named by the MD5 in the log
    #[arg(long, value_name = "FOLDER")]
    pub images: Option<PathBuf>,
    /// Where the battles come from: within a source, a battle id is taken once
    #[arg(long, value_name = "NAME", default_value = "import", value_parser = parse_source)]
    pub source: String,
    /// Judge every row by this cleaning profile, `agon-1` or `fastchat-2025-04`; what it excludes is kept and flagged
    #[arg(long, value_name = "PROFILE", value_parser = parse_profile)]
    pub clean: Option<Profile>,
    /// Refuse the input at the first row that is rejected for a fault, and import nothing
    #[arg(long)]
    pub strict: bool,
    /// Name models otherwise: a TOML file with `version`, and below `[aliases]` lines of "old name" = "new name"
    #[arg(long, value_name = "FILE")]
    pub aliases: Option<PathBuf>,
    /// Write every rejected row to this file, one JSON object a line: source, row, reason, value
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Forget an interrupted import of this source and begin anew
    #[arg(long)]
    pub restart: bool,
    /// Work on this many threads; their number changes nothing of the result [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// How far compressed inputs may unpack.
    #[command(flatten)]
    pub unpack: UnpackArgs,
}

/// The cleaning profile of this name.
pub(super) fn parse_profile(text: &str) -> Result<Profile, String> {
    Profile::from_name(text).map_err(|error| error.to_string())
}

fn parse_source(text: &str) -> Result<String, String> {
    /// Characters of a source's name.
    const CHARS_MAX: usize = 100;
    let name = text.trim();
    if name.is_empty() || name.chars().any(char::is_control) || name.chars().count() > CHARS_MAX {
        return Err(format!(
            "expected a name of 1 to {CHARS_MAX} characters, none of them a control character"
        ));
    }
    Ok(name.to_owned())
}
