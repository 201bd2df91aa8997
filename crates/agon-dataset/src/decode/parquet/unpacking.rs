//! How far the pages of a file may unpack.
//!
//! A page says in its header how large it is, packed and unpacked, and the reader makes room for what it says.
//! So the headers are looked at first, and a file whose pages would unpack to far more than it holds is refused before any room is made.
//!
//! Layout of page headers: Apache Parquet format, `parquet.thrift`, in Thrift's compact protocol.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parquet::errors::ParquetError;

use crate::{UnpackLimits, input::RATIO_FREE_BYTES};

/// Bytes in which the three fields of a header that matter have room: each is a byte and a number of at most ten.
pub(super) const HEADER_BYTES: usize = 40;

/// The sum of what the pages of a file unpack to.
#[derive(Debug)]
pub(super) struct Unpacking {
    file_bytes: u64,
    n_unpacked: AtomicU64,
}

impl Unpacking {
    /// For a file of so many bytes.
    pub(super) fn new(file_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            file_bytes,
            n_unpacked: AtomicU64::new(0),
        })
    }

    /// Adds the page whose header begins `bytes`. What is no header is passed over, as the reader will say so itself.
    ///
    /// # Errors
    ///
    /// When the pages so far unpack to more than may be.
    pub(super) fn add(&self, bytes: &[u8]) -> Result<(), ParquetError> {
        let Some((unpacked, packed)) = page_sizes(bytes) else {
            return Ok(());
        };
        let ratio_max = UnpackLimits::default().ratio_max;
        // One page for itself, as a file may be read several times; and all of them together.
        let is_bomb = |unpacked: u64, packed: u64| {
            unpacked > RATIO_FREE_BYTES && unpacked > packed.saturating_mul(ratio_max)
        };
        let before = self.n_unpacked.fetch_add(unpacked, Ordering::Relaxed);
        let all = before.saturating_add(unpacked);
        if is_bomb(unpacked, packed) || is_bomb(all, self.file_bytes) {
            return Err(ParquetError::General(format!(
                "its pages unpack to more than {ratio_max} times its size (a page of {packed} bytes to {unpacked})"
            )));
        }
        Ok(())
    }
}

/// The unpacked and the packed size in a page's header.
fn page_sizes(mut bytes: &[u8]) -> Option<(u64, u64)> {
    let mut sizes = [None; 4];
    // The fields stand in the order of their numbers: kind, unpacked size, packed size, each a 32-bit number.
    for field in &mut sizes[1..] {
        let (&head, rest) = bytes.split_first()?;
        // One further than the field before, and a number.
        if head != 0x15 {
            return None;
        }
        bytes = rest;
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = bytes.split_first()?;
            bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        // Signs are folded in: 0, -1, 1, -2, …
        *field = (value & 1 == 0).then_some(value >> 1);
    }
    // There are four kinds of pages; anything else is something else.
    (sizes[1]? <= 3).then_some((sizes[2]?, sizes[3]?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(mut value: u64) -> Vec<u8> {
        value <<= 1;
        let mut bytes = vec![0x15];
        while value >= 0x80 {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    fn header(unpacked: u64, packed: u64) -> Vec<u8> {
        [number(0), number(unpacked), number(packed)].concat()
    }

    #[test]
    fn the_sizes_of_a_page_are_read_from_its_header() {
        assert_eq!(page_sizes(&header(300, 7)), Some((300, 7)));
        let largest = u64::from(u32::MAX >> 1);
        assert_eq!(
            page_sizes(&header(largest, largest)),
            Some((largest, largest))
        );
        for bytes in [&b""[..], b"PAR1", &header(300, 7)[..3], &[0x15; 40]] {
            assert_eq!(page_sizes(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn pages_that_unpack_to_far_more_than_the_file_are_refused_one_by_one_and_together() {
        let of = |file_bytes: u64| Unpacking::new(file_bytes);
        // A small file of a large page, a large one, and a small one of very many pages.
        assert!(of(1_000).add(&header(2_147_483_647, 60)).is_err());
        assert!(of(1 << 40).add(&header(2_147_483_647, 60)).is_err());
        assert!(of(1 << 40).add(&header(2_147_483_647, 1 << 30)).is_ok());
        let many = of(1_000_000);
        let n_good = (0..1_000)
            .take_while(|_| many.add(&header(1 << 20, 1_000)).is_ok())
            .count();
        assert_eq!(n_good, 256);
    }
}
