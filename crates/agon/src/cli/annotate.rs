//! `agon annotate`.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Args, Subcommand};

/// `agon annotate`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Subjects: style, language, category, refusal, identity, duplicates; without --only, all of them. docs/annotation.md says what each label means and how good it is.\n\nExamples:\n  agon annotate battles.parquet -o annotated\n  agon annotate annotated -o annotated --update\n  agon annotate battles.parquet -o annotated --labeller gpt-4o --questions-max 500\n  agon annotate\n  agon annotate evaluate labelled.parquet --first human_ocr --second categories.ocr"
)]
pub struct AnnotateArgs {
    /// Another thing to do
    #[command(subcommand)]
    pub command: Option<AnnotateCommand>,
    /// Files, folders, globs or addresses with battles or chats; without any, the battles of the arena in the data folder
    #[arg(value_name = "INPUT", requires = "output")]
    pub inputs: Vec<String>,
    /// Folder for the annotated dataset, which must be empty or absent
    #[arg(long, short, value_name = "FOLDER", requires = "inputs")]
    pub output: Option<PathBuf>,
    /// Label only these subjects, separated by commas
    #[arg(long, value_name = "SUBJECT", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Take over the labels of the annotated dataset that is in the output folder, where content and annotator are the same, and replace it
    #[arg(long, requires = "output")]
    pub update: bool,
    /// Leave the bytes of pictures out of the annotated dataset
    #[arg(long, requires = "inputs")]
    pub no_images: bool,
    /// Count models under other names: a TOML file with `version`, and below `[aliases]` lines of "old name" = "new name"
    #[arg(long, value_name = "FILE", requires = "inputs")]
    pub aliases: Option<PathBuf>,
    /// End with exit code 3 when a row is rejected for a fault
    #[arg(long, requires = "inputs")]
    pub strict: bool,
    /// Write every rejected row to this file, one JSON object a line: source, row, reason, value
    #[arg(long, value_name = "FILE", requires = "inputs")]
    pub rejects: Option<PathBuf>,
    /// Ask this model of the configuration closed questions about each category
    #[arg(long, value_name = "MODEL")]
    pub labeller: Option<String>,
    /// Ask about these categories only, separated by commas
    #[arg(
        long,
        value_name = "CATEGORY",
        value_delimiter = ',',
        requires = "labeller"
    )]
    pub questions: Vec<String>,
    /// Questions that may be under way at a time
    #[arg(long, value_name = "N", default_value = "8", requires = "labeller")]
    pub questions_at_a_time: NonZeroUsize,
    /// Send at most this many requests; what is not asked stays open for the next run
    #[arg(long, value_name = "N", requires = "labeller")]
    pub questions_max: Option<u64>,
    /// Send no more requests once the model has reported this many tokens, read and written
    #[arg(long, value_name = "N", requires = "labeller")]
    pub tokens_max: Option<u64>,
    /// Work on this many threads; their number changes nothing of the result [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// What else `agon annotate` does.
#[derive(Debug, Subcommand)]
pub enum AnnotateCommand {
    /// Compare two columns of labels: precision, recall, F1, kappa, confusion, disagreements
    Evaluate(EvaluateArgs),
    /// List the annotators, their versions and what they label
    List,
}

/// `agon annotate evaluate`.
#[derive(Args, Debug)]
pub struct EvaluateArgs {
    /// Files, folders, globs or addresses
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// Column of the labels that are taken as right, by name or dotted path
    #[arg(long, value_name = "COLUMN")]
    pub first: String,
    /// Column of the labels that are compared with them
    #[arg(long, value_name = "COLUMN")]
    pub second: String,
    /// Write the disagreements to this file, as a page to read
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Disagreements shown at most
    #[arg(long, value_name = "N", default_value = "100")]
    pub disagreements_max: usize,
}
