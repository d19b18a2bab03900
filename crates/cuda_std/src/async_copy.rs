//! Copies from global to shared memory that run while the thread goes on.
//!
//! A thread starts copies, closes what it has started since the last time into a group with
//! [`commit`], and waits with [`wait`] until all but its latest groups have arrived. What others of
//! its block copied is there after they have waited and a barrier has followed.
//!
//! On GPUs before compute capability 8.0 a copy is done when its call returns. In the simulator
//! each block draws from the seed whether it does its copies so, or as late as it may: when they
//! are waited for. Until then the target has bytes that are no sensible number.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::{async_copy, shared};
//!
//! /// Reverses each block of 64 values.
//! #[kernel(block = 64)]
//! pub unsafe fn reverse(data: DeviceSlice<u32>, out: DeviceSliceMut<u32>) {
//!     let tile = shared::dynamic_shared_mem::<u32>();
//!     let i = thread::thread_idx_x() as usize;
//!     let base = thread::block_idx_x() as usize * 64;
//!     // SAFETY: the launch gives 256 bytes and 64 values a block; the barrier follows the wait.
//!     unsafe {
//!         let to = shared::address(tile).offset(4 * i as u32);
//!         async_copy::copy::<4>(to, data.address(base + i).cast(), true);
//!         async_copy::commit();
//!         async_copy::wait::<0>();
//!         thread::sync_threads();
//!         out.set(base + i, tile.add(63 - i).read());
//!     }
//! }
//! # fn main() { assert_eq!(reverse.name(), "reverse"); }
//! ```

use crate::shared::SharedAddress;

/// Starts a copy of `BYTES` bytes, which are 4, 8 or 16, from global to shared memory; if it
/// `is_there` not, zeros are written and `from` is not read.
///
/// # Safety
/// Both addresses must be multiples of `BYTES`; `to` must be that many bytes of the block's dynamic
/// shared memory, which nobody reads or writes until the copy has been waited for, and `from`
/// initialised global memory that nobody writes meanwhile, unless it is not there.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn copy<const BYTES: usize>(to: SharedAddress, from: *const u8, is_there: bool) {
    const { assert!(BYTES == 4 || BYTES == 8 || BYTES == 16) };
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    {
        let bytes = if is_there { BYTES as u32 } else { 0 };
        // SAFETY: by the contract of this function, both addresses are multiples of `BYTES`, `to`
        // is memory that nobody uses until the copy has been waited for, and `from` is initialised
        // and unchanged unless it is not there.
        unsafe {
            match BYTES {
                4 => core::arch::asm!(
                    "cp.async.ca.shared.global [{to}], [{from}], 4, {bytes};",
                    to = in(reg32) to.bits(), from = in(reg64) from, bytes = in(reg32) bytes,
                ),
                8 => core::arch::asm!(
                    "cp.async.ca.shared.global [{to}], [{from}], 8, {bytes};",
                    to = in(reg32) to.bits(), from = in(reg64) from, bytes = in(reg32) bytes,
                ),
                _ => core::arch::asm!(
                    "cp.async.cg.shared.global [{to}], [{from}], 16, {bytes};",
                    to = in(reg32) to.bits(), from = in(reg64) from, bytes = in(reg32) bytes,
                ),
            }
        }
    }
    #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
    // SAFETY: by the contract of this function, `from` has `BYTES` initialised bytes, which `to` has
    // room for.
    unsafe {
        copy_now::<BYTES>(to, from, is_there)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: by the contract of this function, both addresses are multiples of `BYTES`, `to` is
    // memory that nobody uses until the copy has been waited for, and `from` is initialised and
    // unchanged unless it is not there.
    unsafe {
        crate::host::lane().copy_async(
            to.bits(),
            is_there.then_some(from),
            BYTES,
            core::panic::Location::caller(),
        )
    };
}

/// The same, done when it returns.
///
/// # Safety
/// As of [`copy`].
#[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
#[inline(always)]
unsafe fn copy_now<const BYTES: usize>(to: SharedAddress, from: *const u8, is_there: bool) {
    let from = from.cast::<u32>();
    let mut words = [0u32; 4];
    // SAFETY: the caller keeps the contract of `copy`, which this function shares.
    unsafe {
        crate::unrolled! { word in [0 1 2 3] {
            if is_there && 4 * word < BYTES {
                words[word] = from.add(word).read();
            }
        }}
        crate::unrolled! { word in [0 1 2 3] {
            if 4 * word < BYTES {
                core::arch::asm!(
                    "st.shared.b32 [{to}], {value};",
                    to = in(reg32) to.bits() + 4 * word as u32, value = in(reg32) words[word],
                );
            }
        }}
    }
}

/// Closes the copies that this thread has started since the last call into a group, which may be
/// empty.
#[inline(always)]
pub fn commit() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    // SAFETY: it only counts.
    unsafe {
        core::arch::asm!("cp.async.commit_group;")
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::lane().commit_copies();
}

/// Waits until all but the latest `PENDING` groups of this thread have arrived.
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
    // SAFETY: it only waits.
    unsafe {
        core::arch::asm!("cp.async.wait_group {pending};", pending = const PENDING)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::lane().wait_for_copies(PENDING);
}
