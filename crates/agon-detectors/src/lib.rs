//! Detectors that look at pictures with local models: nudity, faces, text, codes.
//!
//! Weights come from files that the operator fetched; nothing here opens a connection.

mod error;
pub mod faces;
mod failure;
mod network;
mod onnx_dims;
pub mod ocr;
pub mod open_nsfw;
pub mod weights;

pub use error::Error;
pub use faces::{Face, FaceOptions, Faces};
pub use network::Runtime;
pub use ocr::{CharPlace, Ocr, TextLine};
pub use open_nsfw::{OpenNsfw, OpenNsfwOptions};
