//! One object behind a network, read in few large pieces ahead of whoever decodes it.
//!
//! What a decoder will read is known beforehand ([`RandomAccess::will_read`]): pieces that lie close together are fetched in one request, long ones are cut, and several requests run ahead.
//! What is read without notice (the head, Parquet's footer) is fetched in small pieces, the last few of which are kept.

use std::{
    collections::VecDeque,
    io,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use agon_dataset::RandomAccess;
use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::{
    Error,
    worker::{Pending, Worker},
};

/// Bytes of one request at most.
pub(crate) const PIECE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Unwanted bytes between two wanted pieces that are fetched rather than asked around: about what a connection carries while a request travels.
const GAP_BYTES_MAX: u64 = 256 * 1024;

/// Requests that run ahead at most, and the bytes they fetch.
const PIECES_AHEAD: usize = 8;
const BYTES_AHEAD: u64 = 32 * 1024 * 1024;

/// Requests that are planned at most, which is a terabyte of text. What lies behind is fetched without a plan; only a server that lies about sizes gets so far.
const PIECES_MAX: usize = 128 * 1024;

/// Bytes of a request for what was not announced, and how many of these are kept.
const LOOSE_BYTES: u64 = 64 * 1024;
const LOOSE_KEPT: usize = 4;

/// How the bytes of one object are fetched.
pub(crate) trait Fetch: Send + Sync + 'static {
    /// Fetches exactly the bytes of a range.
    fn fetch(self: Arc<Self>, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, Error>>;

    /// What its server calls this version, as far as is known by now.
    fn etag(&self) -> Option<&str>;
}

/// An object that can be read at any place.
pub(crate) struct RemoteObject<F> {
    name: String,
    size: u64,
    fetch: Arc<F>,
    worker: Arc<Worker>,
    plan: Mutex<Arc<Plan>>,
    loose: Mutex<VecDeque<(u64, Bytes)>>,
}

/// What will be read: pieces in the order of their places, none of which overlap.
#[derive(Default)]
struct Plan(Vec<Piece>);

struct Piece {
    range: Range<u64>,
    /// How many of its bytes were announced, the gaps between them left out.
    n_wanted: u64,
    state: Mutex<State>,
}

enum State {
    Idle,
    Asked(Pending<Result<Bytes, Error>>),
    /// The bytes, and how many of the wanted ones were not read yet.
    Here(Bytes, u64),
    /// All of it was read, and it is not kept.
    Done,
}

impl<F: Fetch> RemoteObject<F> {
    /// An object of known size, of which the first bytes may be known already.
    pub(crate) fn new(
        name: String,
        size: u64,
        head: Option<Bytes>,
        fetch: Arc<F>,
        worker: Arc<Worker>,
    ) -> Self {
        Self {
            name,
            size,
            fetch,
            worker,
            plan: Mutex::default(),
            loose: Mutex::new(head.into_iter().map(|head| (0, head)).collect()),
        }
    }

    fn ask(&self, range: Range<u64>) -> Pending<Result<Bytes, Error>> {
        self.worker.start(Arc::clone(&self.fetch).fetch(range))
    }

    /// Reads from an announced piece.
    fn read_piece(
        &self,
        plan: &Plan,
        idx: usize,
        offset: u64,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        self.run_ahead(plan, idx);
        let piece = &plan.0[idx];
        let mut state = piece.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, n_left) = match std::mem::replace(&mut *state, State::Idle) {
            State::Here(bytes, n_left) => (bytes, n_left),
            State::Asked(pending) => (pending.wait()??, piece.n_wanted),
            State::Idle | State::Done => {
                let bytes = self.ask(piece.range.clone()).wait()??;
                (bytes, piece.n_wanted)
            }
        };
        let n = copy_from(&bytes, offset - piece.range.start, buffer);
        let n_left = n_left.saturating_sub(n as u64);
        *state = if n_left == 0 {
            State::Done
        } else {
            State::Here(bytes, n_left)
        };
        Ok(n)
    }

    /// Asks for the pieces that come next, this one included.
    fn run_ahead(&self, plan: &Plan, idx: usize) {
        // What lies far behind was announced and is not wanted after all.
        let behind = idx.saturating_sub(4 * PIECES_AHEAD)..idx.saturating_sub(2 * PIECES_AHEAD);
        for piece in &plan.0[behind] {
            if let Ok(mut state) = piece.state.try_lock() {
                *state = State::Done;
            }
        }
        let mut n_bytes = 0;
        for piece in plan.0[idx..].iter().take(PIECES_AHEAD) {
            n_bytes += piece.range.end - piece.range.start;
            if n_bytes > BYTES_AHEAD {
                return;
            }
            // A piece that somebody else is busy with needs no asking.
            if let Ok(mut state) = piece.state.try_lock()
                && matches!(*state, State::Idle)
            {
                *state = State::Asked(self.ask(piece.range.clone()));
            }
        }
    }

    /// Reads what was not announced.
    fn read_loose(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut loose = self.loose.lock().unwrap_or_else(PoisonError::into_inner);
        let at_hand = loose
            .iter()
            .find(|(start, bytes)| (*start..start + bytes.len() as u64).contains(&offset));
        if let Some((start, bytes)) = at_hand {
            return Ok(copy_from(bytes, offset - start, buffer));
        }
        // What is close to the end is Parquet's directory, which is read backwards.
        let start = offset.min(self.size.saturating_sub(LOOSE_BYTES));
        let wanted = (buffer.len() as u64).clamp(LOOSE_BYTES, PIECE_BYTES_MAX);
        let end = (offset + wanted).min(self.size);
        let bytes = self.ask(start..end).wait()??;
        let n = copy_from(&bytes, offset - start, buffer);
        if loose.len() == LOOSE_KEPT {
            loose.pop_front();
        }
        loose.push_back((start, bytes));
        Ok(n)
    }
}

fn copy_from(bytes: &Bytes, offset: u64, buffer: &mut [u8]) -> usize {
    let rest = usize::try_from(offset)
        .ok()
        .and_then(|offset| bytes.get(offset..))
        .unwrap_or_default();
    let n = rest.len().min(buffer.len());
    buffer[..n].copy_from_slice(&rest[..n]);
    n
}

impl<F: Fetch> RandomAccess for RemoteObject<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        let plan = Arc::clone(&self.plan.lock().unwrap_or_else(PoisonError::into_inner));
        let idx = plan.0.partition_point(|piece| piece.range.end <= offset);
        match plan.0.get(idx) {
            Some(piece) if piece.range.start <= offset => {
                self.read_piece(&plan, idx, offset, buffer)
            }
            _ => self.read_loose(offset, buffer),
        }
    }

    fn will_read(&self, ranges: &[Range<u64>]) {
        if self.size <= LOOSE_BYTES {
            // It comes in one request in any case.
            return;
        }
        let pieces = pieces(ranges, self.size)
            .into_iter()
            .map(|(range, n_wanted)| Piece {
                range,
                n_wanted,
                state: Mutex::new(State::Idle),
            })
            .collect();
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(Plan(pieces));
    }

    fn etag(&self) -> Option<&str> {
        self.fetch.etag()
    }

    fn is_local(&self) -> bool {
        false
    }
}

/// Cuts and joins ranges to requests of a good size, each with the number of bytes that are wanted of it.
fn pieces(ranges: &[Range<u64>], size: u64) -> Vec<(Range<u64>, u64)> {
    let mut ranges: Vec<Range<u64>> = ranges
        .iter()
        .map(|range| range.start..range.end.min(size))
        .filter(|range| range.start < range.end)
        .collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut pieces: Vec<(Range<u64>, u64)> = Vec::new();
    for mut range in ranges {
        if pieces.len() >= PIECES_MAX {
            break;
        }
        if let Some((last, n_wanted)) = pieces.last_mut() {
            range.start = range.start.max(last.end);
            if range.start >= range.end {
                continue;
            }
            if range.start - last.end <= GAP_BYTES_MAX && range.end - last.start <= PIECE_BYTES_MAX
            {
                *n_wanted += range.end - range.start;
                last.end = range.end;
                continue;
            }
        }
        while range.end - range.start > PIECE_BYTES_MAX && pieces.len() < PIECES_MAX {
            let end = range.start + PIECE_BYTES_MAX;
            pieces.push((range.start..end, PIECE_BYTES_MAX));
            range.start = end;
        }
        let n_wanted = range.end - range.start;
        if n_wanted <= PIECE_BYTES_MAX {
            pieces.push((range, n_wanted));
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_ranges_are_one_request_and_long_ones_several() {
        const MIB: u64 = 1024 * 1024;
        let size = 100 * MIB;
        let one = |range: Range<u64>| vec![range];
        let cases = [
            (vec![10..20, 30..40], vec![(10..40, 20)]),
            (vec![30..40, 10..20, 15..35], vec![(10..40, 30)]),
            (
                vec![0..10, MIB..MIB + 10],
                vec![(0..10, 10), (MIB..MIB + 10, 10)],
            ),
            (
                one(0..20 * MIB),
                vec![
                    (0..8 * MIB, 8 * MIB),
                    (8 * MIB..16 * MIB, 8 * MIB),
                    (16 * MIB..20 * MIB, 4 * MIB),
                ],
            ),
            (one(99 * MIB..u64::MAX), vec![(99 * MIB..size, MIB)]),
            (vec![5..5, size..size + 1], vec![]),
        ];
        assert_eq!(pieces(&one(0..u64::MAX), u64::MAX).len(), PIECES_MAX);
        for (ranges, expected) in cases {
            assert_eq!(pieces(&ranges, size), expected);
        }
    }
}
