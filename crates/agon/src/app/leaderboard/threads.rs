//! Work on several threads, in an order that changes nothing.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// How many threads to work on.
pub type Threads = NonZeroUsize;

/// Does `n` pieces of work on so many threads, and gives their results in order.
///
/// Pieces are begun in the order of `order`, so that the largest can go first.
pub(super) fn for_each<T: Send>(
    order: &[usize],
    n_threads: Threads,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(order.len()));
    let run = || {
        while let Some(&piece) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(piece);
            results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((piece, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads.get().min(order.len()) {
            scope.spawn(run);
        }
        // This thread works too, so that one thread means no other one.
        run();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|&(piece, _)| piece);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Does the work for each part on so many threads, in whatever order.
pub(super) fn for_parts<P: Send>(parts: Vec<P>, n_threads: Threads, work: impl Fn(P) + Sync) {
    let n_threads = n_threads.get().min(parts.len());
    let parts = Mutex::new(parts.into_iter());
    // The lock must be free while a part is worked on.
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        while let Some(part) = next() {
            work(part);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads {
            scope.spawn(run);
        }
        run();
    });
}
