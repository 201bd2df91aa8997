//! Why something that lies elsewhere cannot be read.

use std::io;

/// Why an address was refused, one variant for each thing that the caller can do about it.
///
/// No variant holds a credential, nor the query of an address.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read as an address: write it differently.
    #[error("`{address}` is no address that can be read: {detail}")]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The settings in the environment cannot be used: correct them.
    #[error("`{address}` cannot be reached with these settings: {detail}")]
    Settings {
        /// What should be read.
        address: String,
        /// What is wrong, with the name of the variable.
        detail: String,
    },
    /// There is nothing: correct the address.
    #[error("`{address}` is not there: {hint}")]
    NotFound {
        /// The address.
        address: String,
        /// What to look at.
        hint: String,
    },
    /// A folder has no file that could be read: name a file or another folder.
    #[error("nothing to read at `{address}`: {detail}")]
    NothingToRead {
        /// The address.
        address: String,
        /// What was looked for, and what is there.
        detail: String,
    },
    /// The server says no: give other credentials, or ask for access.
    #[error("`{address}` may not be read (the server says {status}): {hint}")]
    Forbidden {
        /// The address.
        address: String,
        /// The status of the answer.
        status: u16,
        /// Which credentials would be used.
        hint: String,
    },
    /// The bucket is in another region: name it.
    #[error("`{address}` is in another region{}: set AWS_REGION to the region of the bucket", region.as_ref().map(|region| format!(" (`{region}`)")).unwrap_or_default())]
    WrongRegion {
        /// The address.
        address: String,
        /// The right one, if the server says so.
        region: Option<String>,
    },
    /// The network or the server fails, also when tried again: try later.
    #[error("`{address}` cannot be fetched: {detail}; tried {n_tries} times")]
    Unavailable {
        /// The address.
        address: String,
        /// What happened the last time.
        detail: String,
        /// How often it was tried.
        n_tries: u32,
    },
    /// The transfer ended before its end, and cannot be taken up again: fetch the file by other means.
    #[error(
        "the transfer of `{address}` broke off after {n_bytes} bytes ({detail}), and its server cannot send the rest alone: download the file and give its path"
    )]
    Truncated {
        /// The address.
        address: String,
        /// Bytes that came.
        n_bytes: u64,
        /// What happened.
        detail: String,
    },
    /// It became another one while it was read: start again.
    #[error("`{address}` changed while it was read: start again")]
    Changed {
        /// The address.
        address: String,
    },
    /// A folder holds more files than are listed: name one below it.
    #[error("`{address}` holds more than {n_max} files: name a folder or a pattern below it")]
    TooManyFiles {
        /// The address.
        address: String,
        /// The limit.
        n_max: usize,
    },
    /// A temporary file could not be written: check space and permissions.
    #[error("cannot keep `{address}` in a temporary file")]
    Spool {
        /// The address.
        address: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The operating system gives no threads.
    #[error("cannot start the threads that fetch")]
    Threads(#[source] io::Error),
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::NotFound { .. } | Error::NothingToRead { .. } => io::ErrorKind::NotFound,
            Error::Address { .. }
            | Error::Settings { .. }
            | Error::WrongRegion { .. }
            | Error::TooManyFiles { .. } => io::ErrorKind::InvalidInput,
            Error::Forbidden { .. } => io::ErrorKind::PermissionDenied,
            Error::Unavailable { .. }
            | Error::Truncated { .. }
            | Error::Changed { .. }
            | Error::Spool { .. }
            | Error::Threads(_) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
