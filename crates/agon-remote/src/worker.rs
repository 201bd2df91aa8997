//! The threads on which requests run, for callers who know nothing of async.

use std::{
    io,
    sync::mpsc::{Receiver, channel},
};

use tokio::runtime::{Builder, Runtime};

use crate::Error;

/// Threads that wait for the network.
const THREADS: usize = 2;

/// A small runtime of its own.
#[derive(Debug)]
pub(crate) struct Worker(Option<Runtime>);

/// What a request will give.
pub(crate) struct Pending<T>(Receiver<T>);

impl Worker {
    pub(crate) fn new() -> Result<Self, Error> {
        Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("agon-remote")
            .enable_all()
            .build()
            .map(|runtime| Self(Some(runtime)))
            .map_err(Error::Threads)
    }

    /// Starts a request.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Pending<T> {
        let (sender, receiver) = channel();
        if let Some(runtime) = &self.0 {
            runtime.spawn(async move {
                // Nobody may be waiting any more.
                let _ = sender.send(request.await);
            });
        }
        Pending(receiver)
    }

    /// Runs a request to its end. Unlike a runtime's own way of waiting, this may be called from anywhere.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        self.start(request).wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Waiting for the threads is not allowed on a thread of another runtime.
            runtime.shutdown_background();
        }
    }
}

impl<T> Pending<T> {
    /// Waits for it.
    ///
    /// # Errors
    ///
    /// When the request ended without an answer, that is, panicked.
    pub(crate) fn wait(self) -> io::Result<T> {
        self.0
            .recv()
            .map_err(|_| io::Error::other("a request ended without an answer"))
    }
}
