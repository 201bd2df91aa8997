//! What became of each row: kept, or rejected with a reason.
//!
//! Nothing vanishes.
//! Every row of every source is in exactly one of the counts of an [`InputReport`].

use std::{collections::BTreeMap, fmt};

use crate::Format;

/// Characters of an offending value that are shown.
pub const VALUE_CHARS_MAX: usize = 80;

/// Columns that an error about missing ones lists.
pub const COLUMNS_SHOWN_MAX: usize = 50;

/// Distinct offending values counted for each reason; all further ones are counted together.
pub const DISTINCT_VALUES_MAX: usize = 20;

/// Why a row was rejected.
///
/// When several apply, the first in this order is the one given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The row cannot be read: too few or too many fields, text that is not UTF-8, a number with a fraction in place of a name.
    RowMalformed,
    /// A model's name is null, absent or blank.
    ModelMissing,
    /// The winner is null, absent or blank.
    WinnerMissing,
    /// The winner is in no known spelling.
    WinnerUnknown,
    /// The winner is said in several ways that contradict each other: two sides are marked, or a name and a tie.
    WinnerAmbiguous,
    /// A model against itself.
    SelfBattle,
    /// Nobody voted on this conversation. Some sets publish such rows among the others; they are no fault.
    NoVote,
    /// A log's event of another kind: an answer, a like, a share. It is no fault.
    NotAVote,
    /// A rating of an answer that was not one of exactly two. Likes are not battles.
    NotAPair,
    /// A row with the same id came before, and [`crate::Dedup::Id`] was asked for.
    RepeatedId,
    /// A row with the same content came before, and [`crate::Dedup::Content`] was asked for.
    RepeatedContent,
}

impl Reason {
    /// All of them, in the order in which they are looked for.
    pub const ALL: [Self; 11] = [
        Self::RowMalformed,
        Self::ModelMissing,
        Self::WinnerMissing,
        Self::WinnerUnknown,
        Self::WinnerAmbiguous,
        Self::SelfBattle,
        Self::NoVote,
        Self::NotAVote,
        Self::NotAPair,
        Self::RepeatedId,
        Self::RepeatedContent,
    ];

    /// The code that appears in JSON and in documentation, such as `winner_unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RowMalformed => "row_malformed",
            Self::ModelMissing => "model_missing",
            Self::WinnerMissing => "winner_missing",
            Self::WinnerUnknown => "winner_unknown",
            Self::WinnerAmbiguous => "winner_ambiguous",
            Self::SelfBattle => "self_battle",
            Self::NoVote => "no_vote",
            Self::NotAVote => "not_a_vote",
            Self::NotAPair => "not_a_pair",
            Self::RepeatedId => "repeated_id",
            Self::RepeatedContent => "repeated_content",
        }
    }

    /// The reason in words, such as `unknown winner`.
    pub const fn description(self) -> &'static str {
        match self {
            Self::RowMalformed => "the row cannot be read",
            Self::ModelMissing => "no model name",
            Self::WinnerMissing => "no winner",
            Self::WinnerUnknown => "unknown winner",
            Self::WinnerAmbiguous => "a winner that contradicts itself",
            Self::SelfBattle => "a model against itself",
            Self::NoVote => "nobody voted",
            Self::NotAVote => "an event that is no vote",
            Self::NotAPair => "a rating that compares no two answers",
            Self::RepeatedId => "the id of an earlier row",
            Self::RepeatedContent => "the content of an earlier row",
        }
    }

    /// Whether the row is a fault of the input, rather than one that a sound source has too. Strict reading refuses faults alone.
    pub const fn is_fault(self) -> bool {
        !matches!(self, Self::NoVote | Self::NotAVote)
    }

    /// The same reason as a constant.
    pub(crate) const fn as_static(self) -> &'static Self {
        match self {
            Self::RowMalformed => &Self::RowMalformed,
            Self::ModelMissing => &Self::ModelMissing,
            Self::WinnerMissing => &Self::WinnerMissing,
            Self::WinnerUnknown => &Self::WinnerUnknown,
            Self::WinnerAmbiguous => &Self::WinnerAmbiguous,
            Self::SelfBattle => &Self::SelfBattle,
            Self::NoVote => &Self::NoVote,
            Self::NotAVote => &Self::NotAVote,
            Self::NotAPair => &Self::NotAPair,
            Self::RepeatedId => &Self::RepeatedId,
            Self::RepeatedContent => &Self::RepeatedContent,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where in the input something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The source as given: a path, or `-` for standard input.
    pub source: String,
    /// The row, from 1, a header not counted.
    pub row: u64,
    /// The line on which the row starts, from 1, in text formats.
    pub line: Option<u64>,
    /// The column as the source spells it, when one column is at fault.
    pub column: Option<String>,
    /// What stands there, cut to [`VALUE_CHARS_MAX`] characters; for an unreadable row, what is wrong with it.
    pub value: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, row {}", self.source, self.row)?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column `{column}`")?;
        }
        if let Some(value) = &self.value {
            write!(f, ", `{value}`")?;
        }
        Ok(())
    }
}

/// One row that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRow {
    /// Why.
    pub reason: Reason,
    /// Where, and what stands there.
    pub place: Place,
}

/// The rows that were rejected for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRows {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Place,
    /// The distinct offending values with their counts, at most [`DISTINCT_VALUES_MAX`].
    pub values: BTreeMap<String, u64>,
    /// Rows whose value is not listed in `values` because there were too many distinct ones.
    pub n_other_values: u64,
}

impl RejectedRows {
    fn add_value(&mut self, value: &str, n: u64) {
        if let Some(count) = self.values.get_mut(value) {
            *count += n;
        } else if self.values.len() < DISTINCT_VALUES_MAX {
            self.values.insert(value.to_owned(), n);
        } else {
            self.n_other_values += n;
        }
    }
}

/// One source that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceReport {
    /// The source as given: a path, or `-` for standard input.
    pub path: String,
    /// What its content was recognised as.
    pub format: Format,
    /// Its rows.
    pub rows: u64,
    /// The rows that were kept.
    pub kept: u64,
    /// SHA-256 of its bytes as they lie there, in lower-case hexadecimal, when asked for: of the compressed file, and of the whole archive for a file in one.
    pub sha256: Option<String>,
    /// The file in a zip archive that it is.
    pub member: Option<String>,
    /// The names of its columns, or the keys of its first record, the first [`COLUMNS_SHOWN_MAX`] of them.
    pub columns: Vec<String>,
    /// What its times are given in: `seconds`, `milliseconds`, `microseconds`, `nanoseconds`, or `dates`, when they were read and there are any.
    pub time_unit: Option<&'static str>,
    /// What is unusual about its text, in words: a byte order mark, another separator than the comma, line ends of two bytes.
    pub oddities: Vec<&'static str>,
    /// What its server calls this version of it, for a remote source. Of Parquet behind a network there is no checksum unless [`crate::ReadOptions::remote_checksums`] asks for it, as only a part is fetched.
    pub etag: Option<String>,
}

/// A file of a folder that holds no votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// Its path.
    pub path: String,
    /// Why it was not read, as an error message.
    pub detail: String,
}

/// What was read, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputReport {
    /// Rows of all sources.
    pub rows: u64,
    /// Rows that became votes.
    pub kept: u64,
    /// Rows that did not, by reason. Their counts and `kept` sum to `rows`.
    pub rejected: BTreeMap<Reason, RejectedRows>,
    /// Kept rows whose column `anony` says that the names were known to the voter. They are kept, as some published tables rate them too.
    pub n_named: u64,
    /// Kept rows with a model that is counted under another name, when [`crate::ReadOptions::aliases`] has some.
    pub n_renamed: u64,
    /// Kept rows whose verdict says that the winner is much better (`A>>B`). They count once, as all others.
    pub n_strong: u64,
    /// Kept rows whose id stood in an earlier row already, when [`crate::ReadOptions::repeated_ids`] asks for it and a kept row has an id. They are kept.
    pub n_repeated_ids: Option<u64>,
    /// Groups of model names that are nearly the same: equal letters and digits, whatever their case. They are kept apart.
    pub near_duplicates: Vec<Vec<String>>,
    /// What was read, in the order of reading.
    pub sources: Vec<SourceReport>,
    /// Files of a folder that hold no votes, in the order of their names.
    pub skipped: Vec<SkippedFile>,
}

impl InputReport {
    /// Rows that were rejected, for whatever reason.
    pub fn n_rejected(&self) -> u64 {
        self.rejected.values().map(|rejected| rejected.count).sum()
    }
}

/// How far the reading of one source has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The source.
    pub path: &'a str,
    /// Its position among all sources, from 0.
    pub source_idx: usize,
    /// How many sources there are.
    pub n_sources: usize,
    /// Bytes of this source that are done.
    pub bytes_read: u64,
    /// Bytes of this source, when known.
    pub bytes_total: Option<u64>,
    /// Rows of this source that are done.
    pub rows: u64,
}

/// The rejected rows of one source, or of one part of it, while they are counted.
#[derive(Debug, Default)]
pub(crate) struct Rejections(BTreeMap<Reason, RejectedRows>);

impl Rejections {
    /// Counts one row. The place is only built for the first of its reason.
    pub(crate) fn add(
        &mut self,
        reason: Reason,
        value: Option<&str>,
        place: impl FnOnce() -> Place,
    ) {
        let rejected = self.0.entry(reason).or_insert_with(|| RejectedRows {
            count: 0,
            first: place(),
            values: BTreeMap::new(),
            n_other_values: 0,
        });
        rejected.count += 1;
        match value {
            Some(value) => rejected.add_value(value, 1),
            None if reason == Reason::WinnerUnknown => rejected.n_other_values += 1,
            None => {}
        }
    }

    /// The first of all rejected rows that are faults.
    pub(crate) fn first(&self) -> Option<(Reason, &Place)> {
        self.0
            .iter()
            .filter(|(reason, _)| reason.is_fault())
            .map(|(&reason, rejected)| (reason, &rejected.first))
            .min_by_key(|(_, place)| place.row)
    }

    /// How many of them are faults.
    pub(crate) fn n_faults(&self) -> u64 {
        self.0
            .iter()
            .filter(|(reason, _)| reason.is_fault())
            .map(|(_, rejected)| rejected.count)
            .sum()
    }

    /// Adds these to a report; the ones that are there already came first.
    pub(crate) fn add_to(self, all: &mut BTreeMap<Reason, RejectedRows>) {
        for (reason, rejected) in self.0 {
            match all.get_mut(&reason) {
                None => {
                    all.insert(reason, rejected);
                }
                Some(known) => {
                    known.count += rejected.count;
                    known.n_other_values += rejected.n_other_values;
                    for (value, n) in rejected.values {
                        known.add_value(&value, n);
                    }
                }
            }
        }
    }

    /// Adds the ones of another part of the same source, in whatever order the parts come.
    pub(crate) fn merge(&mut self, other: Self) {
        for (&reason, rejected) in &other.0 {
            if let Some(known) = self.0.get_mut(&reason)
                && rejected.first.row < known.first.row
            {
                known.first = rejected.first.clone();
            }
        }
        other.add_to(&mut self.0);
    }
}

/// The first [`VALUE_CHARS_MAX`] characters of a text, control characters and those that turn the direction of text replaced: what is shown may come from anybody and must not steer a terminal.
pub(crate) fn cut(text: &str) -> String {
    text.chars()
        .take(VALUE_CHARS_MAX)
        .map(|character| match character {
            character if character.is_control() => char::REPLACEMENT_CHARACTER,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => {
                char::REPLACEMENT_CHARACTER
            }
            character => character,
        })
        .collect()
}
