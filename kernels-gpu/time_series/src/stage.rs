//! Buckets on their way out of a block.

use crate::segments::Exchange;

/// Places of a [`Stage`], and the last one.
const STAGE: usize = 64;
pub const LAST: u32 = STAGE as u32 - 1;

/// Bytes of a stage and an exchange of states.
pub const fn bytes<S>() -> usize {
    Stage::<S>::BYTES + Exchange::<S>::BYTES
}

/// Some buckets on their way out: neighbours in memory are written by neighbouring threads. A
/// head's place is its number among those of the tile less that of the first one that is here.
pub struct Stage<S> {
    /// Of the bucket that ends at the head: at place 0, of what goes out before or belongs to an
    /// earlier tile.
    pub states: *mut S,
    /// The head, as a point of the tile.
    pub firsts: *mut u32,
}

impl<S> Stage<S> {
    /// Bytes of shared memory: a multiple of 16.
    pub const BYTES: usize = STAGE * (size_of::<S>() + size_of::<u32>());

    /// Wraps shared memory of at least the stage's bytes at `start`.
    ///
    /// # Safety
    /// They are there, and aligned for the state.
    #[inline(always)]
    pub unsafe fn new(memory: *mut u8) -> Stage<S> {
        // SAFETY: by the contract of this function, the bytes of both arrays are there, and the
        // second one begins within them.
        unsafe {
            Stage {
                states: memory.cast(),
                firsts: memory.add(STAGE * size_of::<S>()).cast(),
            }
        }
    }
}
