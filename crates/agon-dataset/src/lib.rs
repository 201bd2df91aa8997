//! What is read and published: vote files of every known shape, and releases in the VisionArena-Battle schema.
//!
//! Reading: [`read_votes`] takes files, folders, patterns and streams and gives counts for a ranking together with the fate of every row; [`read_battles`] gives the rows themselves, by column; [`read_conversations`] gives them one after the other, with their messages and pictures.
//! Writing: a [`ReleaseWriter`] takes [`Record`]s and gives a folder of Parquet files with a dataset card and a manifest, which [`read_votes`] reads again.
//!
//! Reading order: [`input`], [`fate`], [`votes`], [`battles`], [`conversations`], then `decode` with one module for each shape of file; [`schema`], [`record`], [`release`], and `card`.

// So that the functions of the fuzzing targets find this crate by its name in the tests too.
#[cfg(test)]
extern crate self as agon_dataset;

mod aliases;
pub mod annotated;
pub mod battles;
mod card;
pub mod clean;
mod columns;
pub mod conversations;
mod count;
mod dataset_folder;
mod decode;
pub mod error;
pub mod fate;
pub mod input;
mod layout;
pub mod record;
mod record_columns;
pub mod release;
mod repeated;
pub mod schema;
pub mod screened;
mod shards;
pub mod votes;

pub use aliases::{AliasError, Aliases};
pub use annotated::{
    AnnotatedOptions, AnnotatedSummary, AnnotatedWriter, Label, RowLabels, annotated_schema,
};
pub use battles::{
    AnswerStyle, Battles, ConversationCounter, FeatureColumn, FeatureOrigin, FeatureRequest,
    Judges, Labels, RefusedNumbers, Selection, SliceColumn, SliceValues, read_battles,
};
pub use conversations::{
    ConversationRow, ConversationSelection, RowConversation, RowImage, RowMessage, RowProblem,
    RowRole, read_conversations,
};
pub use error::Error;
pub use fate::{
    InputReport, Place, Progress, Reason, RejectedRow, RejectedRows, SkippedFile, SourceReport,
};
pub use input::{Format, Input, RandomAccess, UnpackLimits};
pub use record::{Message, Record, ReleaseImage, Role, Unpublishable};
pub use release::{Licence, ReleaseFile, ReleaseOptions, ReleaseSummary, ReleaseWriter, Screening};
pub use schema::{SCHEMA_VERSION, release_schema};
pub use screened::{
    DatasetFinding, Part, PartWriter, ScreenedParts, ScreenedSummary, check_screened_target,
    findings_schema, screened_schema,
};
pub use votes::{Dedup, ReadOptions, Votes, read_votes};
