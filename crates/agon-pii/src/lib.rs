//! Finds personal data and secrets in text, and says how sure it is and why.
//!
//! ```
//! use agon_pii::{Detector, Options, Policy, redact};
//!
//! # fn main() -> Result<(), agon_pii::Error> {
//! let detector = Detector::new(&Options::default())?;
//! let text = "My CPF is 721.191.097-61, write to ana@example.com.";
//! let findings = detector.find(text);
//! assert_eq!(findings.len(), 2);
//! assert_eq!(findings[0].entity.name(), "BR_CPF");
//! let redacted = redact(text, &findings, &Policy::Number)?;
//! assert_eq!(redacted.text, "My CPF is [BR_CPF_1], write to [EMAIL_ADDRESS_1].");
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//!
//! 1. [`normalise`](self): wide, styled and native digits become ASCII, invisible characters go, and places are remembered.
//! 2. One pass finds all words that announce something; one automaton of all shapes runs from the start of each word; a few
//!    recognisers read what is no shape (mail, links, addresses of machines, telephone numbers, keys, documents' lines).
//! 3. Evidence adds up in log-odds: form, check digits, words nearby, the country named, arithmetic around.
//!    A check that one number in ten passes by accident adds little, which is what keeps bare numbers quiet.
//! 4. Overlaps are settled: the surest and longest stays.
//!
//! Pure: no input or output, no clock, no randomness, nothing learnt at run time. Time is linear in the text, whatever it holds.
//! What is found, how well, and what is not, is in `docs/safety.md`.

mod checksum;
mod context;
mod detector;
mod entity;
mod error;
pub mod evaluate;
mod evasion;
mod finding;
mod normalise;
mod recogniser;
mod redact;
mod score;
mod shapes;
mod work;

pub use context::Strength;
pub use detector::{Detector, Identity, Options, THRESHOLD};
pub use entity::{Class, Country, Entity};
pub use error::Error;
pub use finding::{Evidence, Finding, Verdict};
pub use recogniser::words_of;
pub use redact::{Key, Numbers, Policy, Redacted, Span, redact};
