//! Tests with the real models, on pictures that are not part of the repository.
//!
//! `AGON_TEST_DETECTORS` names a folder that `scripts/fetch-detectors` filled, and `AGON_TESTDATA` the further test data; where one is absent, the tests that need it say so and pass.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "clippy takes helpers of integration tests for shipped code"
)]

#[path = "models/faces.rs"]
mod faces;
#[path = "models/nsfw.rs"]
mod nsfw;
#[path = "models/ocr.rs"]
mod ocr;
#[path = "models/pii.rs"]
mod pii;

use std::{
    fs,
    path::{Path, PathBuf},
};

use agon_content::image::{ImageLimits, Pixels, decode_normalised, normalise};
use agon_detectors::Runtime;

/// The folder of installed models, if there is one.
fn models() -> Option<PathBuf> {
    folder("AGON_TEST_DETECTORS")
}

/// The folder of pictures in the further test data, if there is one.
fn pictures() -> Option<PathBuf> {
    Some(folder("AGON_TESTDATA")?.join("images"))
}

fn folder(variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        eprintln!("{variable} is not set: what needs it is not tested");
    }
    folder
}

fn runtime() -> Runtime {
    Runtime::new(2)
}

/// The pixels of a file, without the loss of encoding them anew where they need not be.
fn read(path: &Path) -> Pixels {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    decode_normalised(&bytes).unwrap_or_else(|_| {
        let normal = normalise(&bytes, &ImageLimits::default())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        decode_normalised(&normal.bytes).unwrap()
    })
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}
