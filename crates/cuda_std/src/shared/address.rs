//! Addresses in dynamic shared memory.

/// An address in the block's dynamic shared memory, as asynchronous copies and matrix instructions
/// take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAddress(pub(super) u32);

/// The address of what is not in the dynamic shared memory.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) const ELSEWHERE: u32 = u32::MAX;

impl SharedAddress {
    /// The address `bytes` behind this one.
    #[inline(always)]
    pub fn offset(self, bytes: u32) -> SharedAddress {
        #[cfg(not(target_arch = "nvptx64"))]
        if self.0 == ELSEWHERE {
            return self;
        }
        SharedAddress(self.0.wrapping_add(bytes))
    }

    /// The address as a number: on the host it counts from the start of the dynamic shared memory.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0
    }
}
