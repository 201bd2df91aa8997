//! What can go wrong when votes are read or a release is written.

use std::{io, path::PathBuf};

use crate::fate::{Place, Reason};

/// Why an input was refused or a release not written.
///
/// One variant for each thing that the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing is there to be read: give another path or pattern.
    #[error("nothing to read at `{input}`: {detail}")]
    NothingToRead {
        /// The path or pattern as given.
        input: String,
        /// What was looked for.
        detail: &'static str,
    },
    /// A glob pattern that cannot be read as one: write it differently.
    #[error("`{pattern}` is not a glob pattern")]
    BadPattern {
        /// The pattern as given.
        pattern: String,
        /// Where it breaks.
        #[source]
        source: glob::PatternError,
    },
    /// The operating system refused: check the path and its permissions.
    #[error("cannot read `{path}`")]
    Read {
        /// What was read.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The content is of no known format: convert the file.
    #[error("`{path}` is {found}: expected Parquet, CSV, a JSON array of objects or JSON lines")]
    UnknownFormat {
        /// What was read.
        path: String,
        /// What it looks like.
        found: &'static str,
    },
    /// A compressed input unpacks to more than is taken, as those do that are made to fill disks: unpack it first when it is meant to be that large.
    #[error("`{path}` is not read: {detail}; if that is meant, unpack it and give what is in it")]
    UnpackLimit {
        /// What was read.
        path: String,
        /// The limit and what passes it.
        detail: String,
    },
    /// Needed columns are missing: rename them.
    #[error(
        "`{path}` has no columns for {missing}: found {}; accepted are `model_a`, `model_b`, `winner` or `left`, `right`, `winner`",
        list(found)
    )]
    MissingColumns {
        /// What was read.
        path: String,
        /// What is missing, in words.
        missing: &'static str,
        /// The columns that are there, the first [`crate::fate::COLUMNS_SHOWN_MAX`] of them.
        found: Vec<String>,
    },
    /// The source is known and has no votes: give another.
    #[error("`{path}` has no votes: it is {format}, {found}")]
    NoVotes {
        /// What was read.
        path: String,
        /// The set that it is.
        format: &'static str,
        /// What its rows are, in words.
        found: &'static str,
    },
    /// A selected column is missing: select another, or rename it.
    #[error("`{path}` has nothing for the {what} `{name}`: {detail}")]
    MissingSelected {
        /// What was read.
        path: String,
        /// What was selected: a feature, a slice or a weight.
        what: &'static str,
        /// Its name.
        name: String,
        /// The names that would do, and the first [`crate::fate::COLUMNS_SHOWN_MAX`] of the columns that are there.
        detail: String,
    },
    /// A column of times counts in more than one unit: bring it into one.
    #[error(
        "the times of `{path}` are {expected} in row {first_row} and {found} in row {row}: one unit is expected"
    )]
    MixedTimeUnits {
        /// What was read.
        path: String,
        /// The unit of the first number.
        expected: &'static str,
        /// Its row, from 1.
        first_row: u64,
        /// The first other unit.
        found: &'static str,
        /// Its row, from 1.
        row: u64,
    },
    /// More labels than make slices: select another column.
    #[error("column `{column}` of `{path}` has more than {n_max} different labels")]
    TooManyLabels {
        /// What was read.
        path: String,
        /// The column.
        column: String,
        /// The limit.
        n_max: usize,
    },
    /// Nothing tells rows of the same content from battles of the same models: compare by id, or not at all.
    #[error(
        "`{path}` has no times, messages or prompts, without which rows of equal content cannot be told from battles that ended alike"
    )]
    NoContentToCompare {
        /// What was read.
        path: String,
    },
    /// Two columns claim to be the same thing: remove one.
    #[error("`{path}` has more than one column `{column}`")]
    AmbiguousColumn {
        /// What was read.
        path: String,
        /// The name that is there twice.
        column: String,
    },
    /// A column holds something else than it should: convert it.
    #[error("column `{column}` of `{path}` holds {found}: expected {expected}")]
    ColumnType {
        /// What was read.
        path: String,
        /// The column.
        column: String,
        /// Its type.
        found: String,
        /// What would be read.
        expected: &'static str,
    },
    /// The bytes do not follow the format: the file is damaged or cut short, get it again.
    #[error("`{path}` is not {}: {detail}", valid(format))]
    Malformed {
        /// What was read.
        path: String,
        /// The format that its first bytes promise: its name, such as `Parquet`, or what it is in several words, such as `matrix of wins`.
        format: &'static str,
        /// What is wrong, with the place as far as it is known.
        detail: String,
    },
    /// It begins like JSON, and has not one object that can be read: give another file.
    #[error("`{path}` is not valid JSON: {detail}")]
    NoJsonObject {
        /// What was read.
        path: String,
        /// What is wrong with the first.
        detail: String,
    },
    /// A row was rejected and the caller asked to stop at the first: correct the row.
    #[error("{place}: {}{}", reason.description(), accepted(reason))]
    RowRejected {
        /// Where.
        place: Place,
        /// Why.
        reason: &'static Reason,
    },
    /// More model names than any arena has: the columns are probably mixed up.
    #[error("`{path}` names more than {n_max} models: is the right column called `model_a`?")]
    TooManyModels {
        /// What was read.
        path: String,
        /// The limit.
        n_max: usize,
    },
    /// One record is larger than is ever held in memory: split the file by records.
    #[error("{place} is larger than {bytes_max} bytes")]
    RecordTooLarge {
        /// Where.
        place: String,
        /// The limit in bytes.
        bytes_max: usize,
    },
    /// The target of a release has something in it: choose another folder, or say that it may be replaced.
    #[error("`{}` exists and is not empty", path.display())]
    TargetNotEmpty {
        /// The target.
        path: PathBuf,
    },
    /// What should be replaced is no release: choose another folder.
    #[error("`{}` is not replaced: {detail}", path.display())]
    TargetNotARelease {
        /// The target.
        path: PathBuf,
        /// What is there that is not of a release.
        detail: String,
    },
    /// A release was told to hold nothing: there is nothing to publish.
    #[error("no battle was given to the release")]
    EmptyRelease,
    /// A record contradicts itself: leave it out or correct it.
    #[error("battle `{question_id}` cannot be published: {detail}")]
    UnfitRecord {
        /// Its id.
        question_id: String,
        /// What is wrong.
        detail: String,
    },
    /// The operating system refused to write: check space and permissions.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// What was written.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The records could not be encoded: a fault of this program.
    #[error("cannot encode `{}`", path.display())]
    Encode {
        /// What was written.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What was looked for and what is there, in words; of columns of numbers alone, or of all.
pub(crate) fn found_instead(looked_for: &str, are_numbers: bool, found: &[String]) -> String {
    let kind = if are_numbers {
        "columns of numbers"
    } else {
        "columns"
    };
    format!("looked for {looked_for}; {kind} are {}", list(found))
}

/// What a file of a format is: valid Parquet, but a valid matrix of wins.
fn valid(format: &str) -> String {
    let article = if format.contains(' ') { "a " } else { "" };
    format!("{article}valid {format}")
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn accepted(reason: &Reason) -> &'static str {
    match reason {
        Reason::WinnerMissing | Reason::WinnerUnknown => {
            ": expected `model_a`, `model_b`, `tie` or `both_bad`"
        }
        Reason::ModelMissing => ": expected the name of a model",
        Reason::SelfBattle => ": expected two different models",
        Reason::RowMalformed
        | Reason::WinnerAmbiguous
        | Reason::NoVote
        | Reason::NotAVote
        | Reason::NotAPair
        | Reason::RepeatedId
        | Reason::RepeatedContent => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_its_format_is_told_in_good_english() {
        for (format, expected) in [
            ("Parquet", "`votes` is not valid Parquet: it ends too early"),
            ("gzip", "`votes` is not valid gzip: it ends too early"),
            (
                "matrix of wins",
                "`votes` is not a valid matrix of wins: it ends too early",
            ),
        ] {
            let error = Error::Malformed {
                path: "votes".to_owned(),
                format,
                detail: "it ends too early".to_owned(),
            };
            assert_eq!(error.to_string(), expected);
        }
    }
}
