//! Buckets on their way out of a block.

use crate::segments::Exchange;

/// Entries of a [`Stage`], and the last one.
const STAGE: usize = 64;
pub const LAST: u32 = STAGE as u32 - 1;

/// Bytes of a stage and an exchange of states.
pub const fn bytes<S>() -> usize {
    Stage::<S>::BYTES + Exchange::<S>::BYTES
}

/// A buffer in shared memory for up to 63 finished buckets, so that neighbouring threads write
/// neighbouring results. The entry of a head is its number in the tile minus `from`, the number of
/// the first head of this round.
pub struct Stage<S> {
    /// `states[i]` is the state of the bucket that ends at head `from + i`. `states[0]` belongs to
    /// the bucket before head `from`, which an earlier round wrote or an earlier tile began.
    pub states: *mut S,
    /// The head, as a point of the tile.
    pub firsts: *mut u32,
}

impl<S> Stage<S> {
    /// Bytes of shared memory: a multiple of 16.
    pub const BYTES: usize = STAGE * (size_of::<S>() + size_of::<u32>());

    /// Uses `BYTES` bytes of shared memory from `memory` on.
    ///
    /// # Safety
    /// `memory` points to at least `BYTES` bytes of shared memory, aligned for `S`.
    #[inline(always)]
    pub unsafe fn new(memory: *mut u8) -> Stage<S> {
        // SAFETY: by the contract of this function, `memory` has `BYTES` bytes, those of both
        // arrays, and the second one begins within them.
        unsafe {
            Stage {
                states: memory.cast(),
                firsts: memory.add(STAGE * size_of::<S>()).cast(),
            }
        }
    }
}
