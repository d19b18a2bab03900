//! Freed memory that a stream keeps for its next allocations.
//!
//! The driver takes 0.5 µs to allocate and as long to free, and a call on little data has about ten
//! temporary buffers. Calls that are repeated allocate the same sizes again.

use crate::device::lock;
use cust::sys;
use std::collections::VecDeque;
use std::sync::Mutex;

/// The most bytes of an allocation that is kept.
const LARGEST: u64 = 1 << 20;

/// The most allocations that a stream keeps.
const MOST: usize = 32;

/// Allocations that were freed in the order of a stream. Only the same stream may use their memory
/// again: its work then comes after the work before the memory was freed.
///
/// Memory is used again for exactly as many bytes, so that tools which check the bounds of accesses
/// see the true ones.
#[derive(Default)]
pub struct Spare {
    /// Sizes and addresses; the longest unused come first.
    allocations: Mutex<VecDeque<(u64, sys::CUdeviceptr)>>,
}

impl Spare {
    /// Returns the most recently freed memory of this size.
    pub fn take(&self, bytes: u64) -> Option<sys::CUdeviceptr> {
        if bytes > LARGEST {
            return None;
        }
        let mut allocations = lock(&self.allocations);
        let place = allocations.iter().rposition(|free| free.0 == bytes)?;
        allocations.remove(place).map(|(_, address)| address)
    }

    /// Keeps memory, and returns memory that has to be freed: the same if it is too large, or the
    /// longest unused if there are too many allocations.
    pub fn put(&self, bytes: u64, address: sys::CUdeviceptr) -> Option<sys::CUdeviceptr> {
        if bytes > LARGEST {
            return Some(address);
        }
        let mut allocations = lock(&self.allocations);
        allocations.push_back((bytes, address));
        match allocations.len() > MOST {
            true => allocations.pop_front().map(|(_, address)| address),
            false => None,
        }
    }

    /// Returns all memory, which has to be freed.
    pub fn take_all(&self) -> impl Iterator<Item = sys::CUdeviceptr> {
        let all = std::mem::take(&mut *lock(&self.allocations));
        all.into_iter().map(|(_, address)| address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_serves_allocations_of_its_size() {
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
    fn few_and_small_allocations_are_kept() {
        let spare = Spare::default();
        assert_eq!(spare.put(LARGEST + 1, 7), Some(7));
        assert_eq!(spare.put(LARGEST, 0), None);
        let put = |address| spare.put(8, address);
        let freed: Vec<_> = (1..=MOST as u64).filter_map(put).collect();
        // The longest unused.
        assert_eq!(freed, [0]);
        assert_eq!(spare.take_all().count(), MOST);
    }
}
