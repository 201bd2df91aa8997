//! What is read and published: vote files of every known shape, and releases in the VisionArena-Battle schema.
//!
//! Reading: [`read_votes`] takes files, folders, patterns and streams and gives counts for a ranking together with the fate of every row.
//! Writing: a [`ReleaseWriter`] takes [`Record`]s and gives a folder of Parquet files with a dataset card and a manifest, which [`read_votes`] reads again.
//!
//! Reading order: [`input`], [`fate`], [`votes`], then `decode` with one module for each shape of file; [`schema`], [`record`], [`release`], and `card`.

mod card;
mod columns;
mod count;
mod decode;
pub mod error;
pub mod fate;
pub mod input;
pub mod record;
mod record_columns;
pub mod release;
pub mod schema;
pub mod votes;

pub use error::Error;
pub use fate::{InputReport, Place, Progress, Reason, RejectedRows, SkippedFile, SourceReport};
pub use input::{Format, Input};
pub use record::{Message, Record, ReleaseImage, Role, Unpublishable};
pub use release::{Licence, ReleaseFile, ReleaseOptions, ReleaseSummary, ReleaseWriter, Screening};
pub use schema::{SCHEMA_VERSION, release_schema};
pub use votes::{ReadOptions, Votes, read_votes};
