//! Detectors that look at pictures with local models: nudity, faces, text, codes.
//!
//! Weights come from files that the operator fetched; nothing here opens a connection.

pub mod codes;
mod error;
pub mod faces;
mod failure;
mod grey;
mod network;
pub mod ocr;
mod onnx_dims;
pub mod open_nsfw;
pub mod picture_pii;
pub mod redaction;
pub mod weights;

pub use codes::{Code, read_codes};
pub use error::Error;
pub use faces::{Face, FaceOptions, Faces};
pub use network::Runtime;
pub use ocr::{CharPlace, Ocr, PictureText, TextLine, UnreadLine};
pub use open_nsfw::{OpenNsfw, OpenNsfwOptions};
pub use picture_pii::{PiiInPicture, Redaction};
pub use redaction::redact;
