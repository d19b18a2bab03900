//! Freed memory that a stream keeps for its next allocations.
//!
//! The driver takes 0.5 µs to allocate and as long to free, and a call on little data has about ten
//! temporary buffers. Calls that are repeated allocate the same sizes again.

use crate::device::lock;
use cust::sys;
use std::collections::VecDeque;
use std::sync::Mutex;

/// The most bytes of a block that is kept.
const LARGEST: u64 = 1 << 20;

/// The most blocks that a stream keeps.
const BLOCKS: usize = 32;

/// Blocks that were freed in the order of a stream, with their sizes. Only the same stream may use
/// them again: its work on a block then comes after the work before the block was freed.
///
/// A block serves allocations of exactly its size, so that tools which check the bounds of accesses
/// see the true ones.
#[derive(Default)]
pub struct Spare {
    /// The longest unused come first.
    blocks: Mutex<VecDeque<(u64, sys::CUdeviceptr)>>,
}

impl Spare {
    /// Returns a block of this size, the most recently freed one.
    pub fn take(&self, bytes: u64) -> Option<sys::CUdeviceptr> {
        if bytes > LARGEST {
            return None;
        }
        let mut blocks = lock(&self.blocks);
        let place = blocks.iter().rposition(|block| block.0 == bytes)?;
        blocks.remove(place).map(|(_, address)| address)
    }

    /// Keeps a block, and returns one that has to be freed: the block itself if it is too large, or
    /// the longest unused one if there are too many.
    pub fn put(&self, bytes: u64, address: sys::CUdeviceptr) -> Option<sys::CUdeviceptr> {
        if bytes > LARGEST {
            return Some(address);
        }
        let mut blocks = lock(&self.blocks);
        blocks.push_back((bytes, address));
        match blocks.len() > BLOCKS {
            true => blocks.pop_front().map(|(_, address)| address),
            false => None,
        }
    }

    /// Returns all blocks, which have to be freed.
    pub fn take_all(&self) -> impl Iterator<Item = sys::CUdeviceptr> {
        let blocks = std::mem::take(&mut *lock(&self.blocks));
        blocks.into_iter().map(|(_, address)| address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_serve_allocations_of_their_size() {
        let spare = Spare::default();
        assert_eq!(spare.take(8), None);
        for (bytes, address) in [(8, 1), (16, 2), (8, 3)] {
            assert_eq!(spare.put(bytes, address), None);
        }
        assert_eq!(spare.take(4), None);
        assert_eq!(
            [8, 8, 8].map(|bytes| spare.take(bytes)),
            [Some(3), Some(1), None]
        );
        assert_eq!(spare.take_all().collect::<Vec<_>>(), [2]);
        assert_eq!(spare.take(16), None);
    }

    #[test]
    fn few_and_small_blocks_are_kept() {
        let spare = Spare::default();
        assert_eq!(spare.put(LARGEST + 1, 7), Some(7));
        assert_eq!(spare.put(LARGEST, 0), None);
        let put = |address| spare.put(8, address);
        let freed: Vec<_> = (1..=BLOCKS as u64).filter_map(put).collect();
        // The longest unused.
        assert_eq!(freed, [0]);
        assert_eq!(spare.take_all().count(), BLOCKS);
    }
}
