//! `agon screen`.

use std::{num::NonZeroU64, path::PathBuf};

use agon_domain::FindingKind;
use clap::{Args, Subcommand, ValueEnum};

use super::ReadingArgs;

/// `agon screen`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Kinds: known_image, nsfw_image, violent_image, face, pii_text, pii_image, harmful_text, probe. Actions: off, log, warn, blur, block. docs/screening.md says what each flag does and what the folder holds.\n\nExit codes beside those of every command: 4 what --fail-on names was found; the folder is written all the same.\n\nExamples:\n  agon screen battles.parquet -o screened\n  agon screen battles.parquet -o screened --detectors models --hash-list known.csv\n  agon screen logs/*.json -o screened --only pii_text --redact pseudonymise --fail-on any\n  agon screen evaluate labelled.jsonl"
)]
pub struct ScreenArgs {
    /// Another thing to do
    #[command(subcommand)]
    pub command: Option<ScreenCommand>,
    /// Files, folders, globs, addresses, or `-` for standard input, with battles or chats
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<String>,
    /// Folder for the screened dataset, which must be empty or absent
    #[arg(long, short, value_name = "FOLDER", required = true)]
    pub output: Option<PathBuf>,
    /// Who looks, and what follows.
    #[command(flatten)]
    pub rules: RulesArgs,
    /// What stands in a text instead of what is taken out
    #[arg(long, value_enum, value_name = "HOW", default_value = "replace")]
    pub redact: RedactBy,
    /// Keep these rows too, without what was found in them: `blocked`, `undecided`. A known image is never kept
    #[arg(long, value_enum, value_name = "ROWS", value_delimiter = ',')]
    pub keep: Vec<KeepRows>,
    /// End with exit code 4 when one of these kinds is found, `any` is, or a row is `undecided`
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Replace the screened dataset that is in the output folder, and forget unfinished work with other settings
    #[arg(long)]
    pub force: bool,
    /// Rows after which work is kept for a run that goes on after an interruption
    #[arg(long, value_name = "N", default_value = "20000")]
    pub checkpoint_rows: NonZeroU64,
    /// How inputs are read.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// Who looks, and what follows: the section `[screening]` of the configuration, and these flags over it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Rules")]
pub struct RulesArgs {
    /// What follows for a kind or a category of it, over `[screening.release]`: `face=block`, `pii_text/URL=log`
    #[arg(long, value_name = "KIND=ACTION", value_delimiter = ',', value_parser = parse_rule)]
    pub policy: Vec<(String, String)>,
    /// Look for these kinds only; nothing else is looked for, required or told
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub only: Vec<FindingKind>,
    /// Score from which a finding counts, for a kind or a category: `pii_text=0.6`
    #[arg(long, value_name = "KIND=SCORE", value_delimiter = ',', value_parser = parse_threshold)]
    pub threshold: Vec<(String, f64)>,
    /// Folder with model files, instead of the one that `agon detectors install` fills
    #[arg(long, value_name = "FOLDER")]
    pub detectors: Option<PathBuf>,
    /// List of hashes of known images, CSV or JSON; more than once for more
    #[arg(long, value_name = "FILE")]
    pub hash_list: Vec<PathBuf>,
    /// List of words and patterns for texts; more than once for more
    #[arg(long, value_name = "FILE")]
    pub word_list: Vec<PathBuf>,
    /// Publish content although nobody looked for something that is required; the summary says so
    #[arg(long)]
    pub allow_unanswered: bool,
}

/// What stands instead of what is taken out of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RedactBy {
    /// As many blocks (█) as there were characters
    Mask,
    /// What it is, with a number that is the same for the same value in a row: `[EMAIL_ADDRESS_1]`
    Replace,
    /// What it is, with letters that are the same for the same value in the whole dataset; their key is forgotten
    Pseudonymise,
    /// Nothing
    Drop,
}

/// Rows that are kept although they would be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeepRows {
    /// Rows that the policy blocks
    Blocked,
    /// Rows of which something required was not looked at
    Undecided,
}

/// What ends a run with exit code 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// Anything that counts.
    Any,
    /// A row that is undecided.
    Undecided,
    /// A finding of this kind.
    Kind(FindingKind),
}

impl std::str::FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "any" => Ok(Self::Any),
            "undecided" => Ok(Self::Undecided),
            kind => kind
                .parse()
                .map(Self::Kind)
                .map_err(|error| format!("{error}; or `any`, or `undecided`")),
        }
    }
}

/// What else `agon screen` does.
#[derive(Debug, Subcommand)]
pub enum ScreenCommand {
    /// Measure detectors on labelled texts and pictures: recall and precision by entity, language, face size
    Evaluate(EvaluateScreeningArgs),
}

/// `agon screen evaluate`.
#[derive(Args, Debug)]
#[command(
    after_help = "docs/screening.md describes the labels and what counts as found.\n\nExamples:\n  agon screen evaluate agon_pii_cases.jsonl\n  agon screen evaluate pictures/ --detectors models --json"
)]
pub struct EvaluateScreeningArgs {
    /// Labelled texts (JSON lines), or folders of pictures with a `labels.json`
    #[arg(required = true, value_name = "LABELLED")]
    pub inputs: Vec<PathBuf>,
    /// Folder with model files, instead of the one that `agon detectors install` fills
    #[arg(long, value_name = "FOLDER")]
    pub detectors: Option<PathBuf>,
}

fn parse_pair(text: &str, example: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((place, value)) if !place.is_empty() && !value.is_empty() => {
            Ok((place.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!("`{text}` is not like `{example}`")),
    }
}

fn parse_rule(text: &str) -> Result<(String, String), String> {
    parse_pair(text, "face=block")
}

fn parse_threshold(text: &str) -> Result<(String, f64), String> {
    let (place, score) = parse_pair(text, "pii_text=0.6")?;
    match score.parse::<f64>() {
        Ok(score) if (0.0..=1.0).contains(&score) => Ok((place, score)),
        _ => Err(format!("`{score}` is not a number from 0 to 1")),
    }
}
