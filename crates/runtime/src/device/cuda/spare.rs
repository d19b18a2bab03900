//! Freed memory that a stream keeps for its next allocations.
//!
//! The driver takes 0.5 µs to allocate and as long to free, and a call on little data has about ten
//! temporary buffers. Calls that are repeated allocate the same sizes again.

use crate::device::lock;
use crate::sync::Mutex;
use cust::sys;
use std::collections::VecDeque;

/// The most bytes of an allocation that is kept.
const LARGEST: u64 = 1 << 20;

/// The most allocations that a stream keeps.
const MOST: usize = 32;

/// Allocations that were freed in the order of a stream. Only the same stream may use their memory
/// again: its work then comes after the work before the memory was freed.
///
/// Memory is used again for exactly as many bytes, so that tools which check the bounds of accesses
/// see the true ones.
pub struct Spare {
    /// Sizes and addresses; the longest unused come first. Empty once the stream is destroyed.
    allocations: Mutex<VecDeque<(u64, sys::CUdeviceptr)>>,
    /// The stream, which exists as long as there are allocations.
    stream: sys::CUstream,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for Spare {}
// SAFETY: the allocations are behind a lock, and the driver's calls are thread-safe, so several
// threads may use one at once.
unsafe impl Sync for Spare {}

impl Spare {
    /// Keeps the memory of `stream`, which calls [`free`](Self::free) before it is destroyed.
    pub fn new(stream: sys::CUstream) -> Spare {
        Spare {
            allocations: Mutex::default(),
            stream,
        }
    }

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

    /// Frees all memory in the order of the stream. The context must be current.
    pub fn free(&self) {
        self.free_locked(&mut lock(&self.allocations));
    }

    /// Frees all memory, and waits until it is free. The context must be current.
    pub fn free_and_wait(&self) {
        let mut allocations = lock(&self.allocations);
        if allocations.is_empty() {
            return;
        }
        self.free_locked(&mut allocations);
        // SAFETY: the stream exists: its owner calls `free` first, which waits for the lock. A
        // failure shows in the next allocation.
        unsafe { sys::cuStreamSynchronize(self.stream) };
    }

    /// Frees memory while the lock is held, so that the stream's owner waits for other threads.
    fn free_locked(&self, allocations: &mut VecDeque<(u64, sys::CUdeviceptr)>) {
        for (_, address) in allocations.drain(..) {
            // SAFETY: allocated from a pool, freed once, and used last by work of this stream, or
            // work that this stream has waited for.
            unsafe { sys::cuMemFreeAsync(address, self.stream) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    fn addresses(spare: &Spare) -> Vec<sys::CUdeviceptr> {
        let allocations = lock(&spare.allocations);
        allocations.iter().map(|(_, address)| *address).collect()
    }

    #[test]
    fn memory_serves_allocations_of_its_size() {
        let spare = Spare::new(null_mut());
        assert_eq!(spare.take(8), None);
        for (bytes, address) in [(8, 1), (16, 2), (8, 3)] {
            assert_eq!(spare.put(bytes, address), None);
        }
        assert_eq!(spare.take(4), None);
        assert_eq!(
            [8, 8, 8].map(|bytes| spare.take(bytes)),
            [Some(3), Some(1), None]
        );
        assert_eq!(addresses(&spare), [2]);
        assert_eq!(spare.take(16), Some(2));
        assert_eq!(spare.take(16), None);
    }

    #[test]
    fn few_and_small_allocations_are_kept() {
        let spare = Spare::new(null_mut());
        assert_eq!(spare.put(LARGEST + 1, 7), Some(7));
        assert_eq!(spare.put(LARGEST, 0), None);
        let put = |address| spare.put(8, address);
        let freed: Vec<_> = (1..=MOST as u64).filter_map(put).collect();
        // The longest unused.
        assert_eq!(freed, [0]);
        assert_eq!(addresses(&spare).len(), MOST);
    }
}

#[cfg(all(test, shuttle))]
mod model {
    use super::*;
    use crate::sync::thread;
    use std::collections::BTreeSet;
    use std::ptr::null_mut;
    use std::sync::Arc;

    /// Several threads take and put memory of one size: no address belongs to two of them, and
    /// none is lost.
    #[test]
    fn memory_has_one_owner() {
        let model = || {
            let spare = Arc::new(Spare::new(null_mut()));
            let owned = Arc::new(Mutex::new(BTreeSet::new()));
            let threads = [100, 200, 300].map(|new| {
                let (spare, owned) = (spare.clone(), owned.clone());
                thread::spawn(move || {
                    for number in 0..3 {
                        let address = spare.take(8).unwrap_or(new + number);
                        assert!(lock(&owned).insert(address), "{address} has two owners");
                        assert!(lock(&owned).remove(&address));
                        assert_eq!(spare.put(8, address), None);
                    }
                })
            });
            for thread in threads {
                thread.join().expect("the thread ends");
            }
            let kept: Vec<_> = lock(&spare.allocations).iter().copied().collect();
            let different: BTreeSet<_> = kept.iter().collect();
            assert!((1..=3).contains(&kept.len()) && different.len() == kept.len());
        };
        shuttle::check_random(model, 2000);
    }
}
