//! What a battle is: the vocabulary that every other crate speaks.
//!
//! No input, no output, no wire format.
//! Time and chance come in as parameters ([`Clock`], [`rand::Rng`]).
//! Domain types are not serialisable: JSON, SQL and Parquet rows are separate types beside their boundary.
//! Ids and [`Winner`] are the exception, because each has one canonical spelling.
//!
//! Reading order: [`id`], [`model`], [`conversation`], [`battle`], [`vote`], [`voter`], [`tally`], [`sampling`], [`style`], [`finding`], [`policy`], [`clock`].

pub mod battle;
pub mod clock;
pub mod conversation;
pub mod finding;
pub mod id;
pub mod model;
pub mod policy;
pub mod sampling;
pub mod style;
pub mod tally;
pub mod vote;
pub mod voter;

pub use battle::{Battle, Mode, NotRatable, Side, Sides};
pub use clock::{Clock, ManualClock, SystemClock};
pub use conversation::{Finish, Generation, Turn, Usage};
pub use finding::{
    DetectorFailure, DetectorFailureKind, DetectorIdentity, Finding, FindingKind, FindingPlace,
    PixelBox, Screening,
};
pub use id::{BattleId, CaseId, ConsentId, ImageId, VisitId, VoterId};
pub use model::Model;
pub use policy::{Action, Decision, Policy, Purpose, Verdict};
pub use sampling::{DrawError, DrawnPair, draw_pair};
pub use style::{MarkdownCounts, StyleFeatures};
pub use tally::{CountedPair, Tally, WinnerCounts};
pub use vote::{Vote, Winner};
