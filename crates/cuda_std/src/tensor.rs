//! Copies of whole tiles of arrays from global to shared memory, which one thread starts, for
//! compute capability 9.0.
//!
//! A [`TensorMap`] describes an array of three axes and the tiles that are copied. The host makes
//! it and passes it as a parameter of the kernel, whose place [`tensor_map!`](crate::tensor_map)
//! gives. Elements of a tile outside of the array are zeros. A copy counts the bytes of the whole
//! tile at a [`Barrier`].
//!
//! In the simulator each block draws from the seed whether a copy is done when it is started, or
//! only when a thread waits for its barrier; until then the target has bytes that are no sensible
//! number.
//!
//! ```
//! use cuda_std::mbarrier::{self, Barrier};
//! use cuda_std::prelude::*;
//! use cuda_std::shared::{address, dynamic_shared_mem};
//! use cuda_std::tensor::{self, TensorMap};
//! use cuda_std::tensor_map;
//!
//! /// Copies the first tile of 8 rows of 32 numbers.
//! #[kernel(block = 256)]
//! pub unsafe fn first_tile(map: TensorMap, out: DeviceSliceMut<u32>) {
//!     let tile = dynamic_shared_mem::<u32>();
//!     let barrier = Barrier::at(address(tile).offset(1024));
//!     // SAFETY: the launch gives 1032 bytes, the map has such tiles, and `out` has 256 elements.
//!     unsafe {
//!         if thread::thread_idx_x() == 0 {
//!             barrier.init(1);
//!             mbarrier::publish();
//!             barrier.arrive_and_expect(1024);
//!             tensor::load(address(tile), tensor_map!(first_tile, 0, map), [0, 0, 0], barrier);
//!         }
//!         thread::sync_threads();
//!         barrier.wait(0);
//!         let i = thread::thread_idx_x() as usize;
//!         out.set(i, tile.add(i).read());
//!     }
//! }
//! # fn main() { assert_eq!(first_tile.name(), "first_tile"); }
//! ```

use crate::DeviceParam;
use crate::mbarrier::Barrier;
use crate::shared::SharedAddress;

/// An array in global memory and the tiles that are copied of it: 128 bytes in the form of the
/// device that it was made for.
// rustc passes no parameters that are aligned to more than 16 bytes: see `tensor_map!`. The host
// has the same alignment, so that structs with a map have the same layout on both sides.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap([u64; 16]);

// SAFETY: numbers, with the same layout on both sides.
unsafe impl DeviceParam for TensorMap {}

impl TensorMap {
    /// The map with this content.
    pub fn from_words(words: [u64; 16]) -> TensorMap {
        TensorMap(words)
    }

    /// The content.
    pub fn words(&self) -> &[u64; 16] {
        &self.0
    }
}

/// Where a kernel has a [`TensorMap`]: from [`tensor_map!`](crate::tensor_map).
#[derive(Clone, Copy, Debug)]
pub struct MapAddress(u64);

impl MapAddress {
    /// Used by [`tensor_map!`](crate::tensor_map).
    ///
    /// # Safety
    /// A [`TensorMap`] is there while the kernel runs.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new(address: u64) -> MapAddress {
        MapAddress(address)
    }

    /// Brings the map to the cache that copies read it from.
    #[inline(always)]
    pub fn prefetch(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: a map is there.
        unsafe {
            core::arch::asm!("prefetch.tensormap [{map}];", map = in(reg64) self.0)
        };
    }
}

/// The place of a kernel's parameter that is a [`TensorMap`](crate::tensor::TensorMap):
/// `tensor_map!(kernel, number, parameter)`, with the kernel's name, the parameter's number from 0,
/// where a slice counts as two, and its name. Only in the kernel's own body.
///
/// Copies read the map where the launch has put it, so that it must not be copied to a thread's
/// stack, as a reference to the parameter would.
#[macro_export]
macro_rules! tensor_map {
    ($kernel:ident, $number:literal, $parameter:ident) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            let _ = $parameter;
            let address: u64;
            // SAFETY: the address of a parameter, which the kernel's entry has under this name; the
            // comment tells cuda_builder of its alignment.
            unsafe {
                core::arch::asm!(concat!("// cuda_builder paramalign ", stringify!($number), " 64"));
                core::arch::asm!(
                    concat!(
                        "{{ .reg .u64 %parameter; mov.b64 %parameter, ", stringify!($kernel), "_param_",
                        stringify!($number), "; cvta.param.u64 {address}, %parameter; }}"
                    ),
                    address = out(reg64) address, options(pure, nomem),
                );
                $crate::tensor::MapAddress::new(address)
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let map: &$crate::tensor::TensorMap = &$parameter;
            // SAFETY: the parameter is there while this thread of the kernel runs. Copies decode it
            // when they are started.
            unsafe { $crate::tensor::MapAddress::new(core::ptr::from_ref(map) as u64) }
        }
    }};
}

/// Starts the copy of the tile whose first element has the index `at`, in the order of the map's
/// axes, to shared memory. It counts at `barrier`.
///
/// # Safety
/// `to` begins as many bytes of dynamic shared memory as a tile has, at a multiple of 128 (1024 if
/// rows are swizzled), which nobody uses until the barrier's phase has ended. Earlier accesses to
/// these bytes are over: a barrier orders them before this call, and threads that wrote called
/// [`wgmma::publish`](crate::wgmma::publish) before that barrier. The array was written before the
/// launch and does not change meanwhile. The block does not end before.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load(to: SharedAddress, map: MapAddress, at: [i32; 3], barrier: Barrier) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: by the contract of this function, the target has room for the tile, its earlier
    // accesses are over, nobody uses it until the barrier's phase has ended, and neither the array
    // nor the block ends before.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [{map}, {{{x}, {y}, {z}}}], [{barrier}];",
            to = in(reg32) to.bits(), map = in(reg64) map.0, x = in(reg32) at[0], y = in(reg32) at[1],
            z = in(reg32) at[2], barrier = in(reg32) barrier.address().bits(),
        )
    };
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: by the contract of this function, the target has room for the tile, its earlier
    // accesses are over, nobody uses it until the barrier's phase has ended, and neither the array
    // nor the block ends before.
    unsafe {
        crate::host::tensor_copies::load(
            None,
            to,
            map.0,
            at,
            barrier.address(),
            core::panic::Location::caller(),
        )
    };
}

/// As [`load`], to the same place in the shared memory of each block of the
/// [cluster](crate::cluster) whose bit in `blocks`, by its rank, is set. In each of these blocks the
/// copy counts at the barrier at the same place.
///
/// # Safety
/// As of [`load`], for all these blocks, which have begun.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_to(
    blocks: u16,
    to: SharedAddress,
    map: MapAddress,
    at: [i32; 3],
    barrier: Barrier,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller keeps the contract of `load` for all these blocks, which have begun.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{to}], [{map}, {{{x}, {y}, {z}}}], [{barrier}], {blocks};",
            to = in(reg32) to.bits(), map = in(reg64) map.0, x = in(reg32) at[0], y = in(reg32) at[1],
            z = in(reg32) at[2], barrier = in(reg32) barrier.address().bits(), blocks = in(reg16) blocks,
        )
    };
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller keeps the contract of `load` for all these blocks, which have begun.
    unsafe {
        crate::host::tensor_copies::load(
            Some(blocks),
            to,
            map.0,
            at,
            barrier.address(),
            core::panic::Location::caller(),
        )
    };
}

#[cfg(not(target_arch = "nvptx64"))]
impl crate::host::TensorTiles {
    /// The map that the simulator takes.
    pub fn simulated(&self) -> TensorMap {
        TensorMap::from_words(self.simulated_words())
    }
}
