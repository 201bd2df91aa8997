//! Vote files that lie elsewhere: on web servers, in object stores, on the Hugging Face hub.
//!
//! [`Remote::resolve`] turns an address into inputs of `agon-dataset`, which decodes them as it does files.
//! Of Parquet, only the columns that are needed are fetched, in few requests that run ahead of the decoder; text is fetched from first byte to last in the same way.
//!
//! | Address | Means |
//! |---|---|
//! | `https://…`, `http://…` | one file |
//! | `s3://BUCKET/KEY`, `gs://BUCKET/KEY`, `az://CONTAINER/KEY` | one object; or, when there is none of this name, what lies below it like files in a folder; or a pattern such as `s3://BUCKET/votes/*.parquet` |
//! | `hf://datasets/ORG/NAME[@REVISION][/PATH]` | a file, a folder or a pattern in a dataset of the hub |
//!
//! A folder is read as one on a disk is: `data/*.parquet` when there are any, or else every file right in it.
//! Credentials come from the [`Environment`] alone, and are in no message.
//!
//! Reading order: `address`, [`Remote`], `folder`, then `web`, `bucket` and `hub` with one module for each kind of address; `object` is how bytes are fetched.

mod address;
mod bucket;
mod environment;
mod error;
mod folder;
mod hub;
mod object;
mod web;
mod worker;

use std::{sync::Arc, time::Duration};

use agon_dataset::Input;

pub use address::shown;
pub use environment::Environment;
pub use error::Error;

use address::Address;
use worker::Worker;

/// How long is waited, and how often something is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// For a connection.
    pub connect: Duration,
    /// For a server to begin its answer, and then between two pieces of it.
    pub silence: Duration,
    /// For one whole piece of at most 8 MiB, from an object store.
    pub piece: Duration,
    /// Before the first new try; each further one waits twice as long.
    pub backoff: Duration,
    /// New tries after a failure that may pass.
    pub n_retries: u32,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            piece: Duration::from_secs(120),
            backoff: Duration::from_millis(250),
            n_retries: 4,
        }
    }
}

/// Finds and opens what lies elsewhere. Requests run on two threads of its own, so that it can be used from anywhere.
#[derive(Debug)]
pub struct Remote {
    worker: Arc<Worker>,
    environment: Environment,
    waits: Waits,
}

impl Remote {
    /// A finder with the credentials in `environment`.
    ///
    /// # Errors
    ///
    /// [`Error::Threads`] when no thread can be started.
    pub fn new(environment: Environment, waits: Waits) -> Result<Self, Error> {
        Ok(Self {
            worker: Arc::new(Worker::new()?),
            environment,
            waits,
        })
    }

    /// Whether an argument is an address rather than a path: whether it begins with a scheme and `://`.
    pub fn is_address(argument: &str) -> bool {
        address::scheme(argument).is_some()
    }

    /// The inputs that an address stands for, in the order of their names; nothing when the argument is no address.
    ///
    /// # Errors
    ///
    /// An address that cannot be read as one, leads nowhere, or may not be read.
    pub fn resolve(&self, argument: &str) -> Result<Option<Vec<Input>>, Error> {
        let Some(address) = Address::parse(argument)? else {
            return Ok(None);
        };
        match address {
            Address::Web(url) => web::resolve(self, url),
            Address::Bucket(bucket) => bucket::resolve(self, &bucket),
            Address::Hub(dataset) => hub::resolve(self, &dataset),
        }
        .map(Some)
    }
}
