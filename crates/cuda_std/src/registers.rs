//! Registers that a warp group gives away or takes, for compute capability 9.0.
//!
//! A block of such a kernel starts with as many registers for each thread as a multiprocessor has
//! for it: 168 in blocks of 384 threads. If its warp groups do different work, one that needs few
//! calls [`keep`], so that another one can [`take`] more. All 128 threads of a warp group make the
//! call together, early; counts are multiples of 8 from 24 to 256, below the first count to keep and
//! above it to take, and the block's sum must not be above 65 536. Between two calls of a warp
//! group its threads meet at a barrier. The instructions are undefined otherwise.
//!
//! The assembler has to know how many registers a block starts with, by
//! `#[kernel(max_block = …, min_blocks = 1)]`, else it ignores the calls and says so. In the simulator
//! they do nothing.

/// Gives away all but `COUNT` registers of each thread.
///
/// # Safety
/// The warp group keeps the rules of the [module](self).
#[inline(always)]
pub unsafe fn keep<const COUNT: u32>() {
    const { assert!(COUNT >= 24 && COUNT <= 256 && COUNT.is_multiple_of(8)) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: by the contract of this function, the warp group keeps the rules. No register changes
    // that the compiler uses, since the assembler knows the new number.
    unsafe {
        core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {count};", count = const COUNT)
    };
}

/// Waits until each thread has `COUNT` registers.
///
/// # Safety
/// As of [`keep`].
#[inline(always)]
pub unsafe fn take<const COUNT: u32>() {
    const { assert!(COUNT >= 24 && COUNT <= 256 && COUNT.is_multiple_of(8)) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: by the contract of this function, the warp group keeps the rules. No register changes
    // that the compiler uses, since the assembler knows the new number.
    unsafe {
        core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {count};", count = const COUNT)
    };
}
