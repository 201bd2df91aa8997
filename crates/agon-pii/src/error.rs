//! What can go wrong: only what a caller asks for, never a text.

/// Why a detector or a redaction was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The threshold is no score.
    #[error("the threshold is `{0}`; accepted are numbers from 0 to 1")]
    Threshold(f64),
    /// The list of entities is empty.
    #[error("the list of entities to look for is empty; leave it out to look for all of them")]
    NoEntity,
    /// A key is too short to keep pseudonyms from being guessed.
    #[error("the key of pseudonyms has `{0}` bytes; accepted are 16 or more")]
    Key(usize),
    /// Findings belong to another text.
    #[error(
        "a finding ends at byte `{end}` of a text of `{len}` bytes, or cuts a character; pass the findings of this text"
    )]
    ForeignFinding {
        /// Where the finding ends.
        end: usize,
        /// How long the text is.
        len: usize,
    },
    /// The shapes do not compile, which is a mistake in this crate.
    #[error("the shapes of the entities do not compile: {0}")]
    Shapes(String),
    /// The words cannot be searched, which is a mistake in this crate.
    #[error("the words of the entities cannot be searched: {0}")]
    Words(String),
}
