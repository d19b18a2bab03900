//! Shared memory: one copy per block, uninitialised when the block starts.
//!
//! Both forms hand out raw pointers, never references: the threads of a block all hold the same
//! pointer, and only barriers order their accesses.

mod address;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use address::ELSEWHERE;
pub use address::SharedAddress;

/// Declares an array in shared memory and gives a `*mut T` to its first element:
/// `shared_array![f32; 256]`.
///
/// Every thread of a block gets the same pointer from the same place in the source, and two
/// places give two arrays. The length is a constant. The content is uninitialised: write before
/// you read, with a barrier between. `T` must be valid for any bit pattern that the kernel's
/// own writes leave there; nothing is dropped.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Reverses each block of 64 values in place.
/// #[kernel(block = 64)]
/// pub unsafe fn reverse(data: DeviceSliceMut<u32>) {
///     let tile = shared_array![u32; 64];
///     let i = thread::thread_idx_x() as usize;
///     let base = thread::block_idx_x() as usize * 64;
///     // SAFETY: `i` is below 64, and the barrier separates the writes from the reads.
///     unsafe {
///         tile.add(i).write(data.at(base + i));
///         thread::sync_threads();
///         data.set(base + i, tile.add(63 - i).read());
///     }
/// }
/// # fn main() { assert_eq!(reverse.name(), "reverse"); }
/// ```
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $length:expr) => {{
        #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared"))]
        static TILE: $crate::shared::Tile<[$element; $length]> = $crate::shared::Tile::uninit();
        TILE.as_mut_ptr() as *mut $element
    }};
}

/// The storage behind [`shared_array!`]. On the GPU its static moves to shared memory; on the host
/// the static is only a name, and the executor keeps the storage of each block.
#[doc(hidden)]
#[repr(C, align(16))]
pub struct Tile<T>(core::cell::UnsafeCell<core::mem::MaybeUninit<T>>);

// SAFETY: the storage is only reached through raw pointers, whose users order their accesses with
// barriers; on the host it is never reached at all.
unsafe impl<T> Sync for Tile<T> {}

impl<T> Tile<T> {
    #[doc(hidden)]
    pub const fn uninit() -> Self {
        Self(core::cell::UnsafeCell::new(core::mem::MaybeUninit::uninit()))
    }

    #[doc(hidden)]
    #[inline(always)]
    pub fn as_mut_ptr(&'static self) -> *mut T {
        #[cfg(target_arch = "nvptx64")]
        {
            self.0.get() as *mut T
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let layout = core::alloc::Layout::new::<T>();
            crate::host::lane().shared_static(self as *const Self as usize, layout) as *mut T
        }
    }
}

/// The block's dynamic shared memory, whose size the launch gives, as a pointer to `T`.
///
/// All calls give the same memory, which begins at a multiple of 1024 bytes.
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const {
        assert!(
            align_of::<T>() <= 1024,
            "dynamic shared memory is aligned to 1024 bytes"
        )
    };
    #[cfg(target_arch = "nvptx64")]
    {
        unsafe extern "C" {
            #[link_name = "__dynamic_smem"]
            static mut DYNAMIC: [u128; 0];
        }
        &raw mut DYNAMIC as *mut T
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        crate::host::lane().shared_dynamic() as *mut T
    }
}

/// The address of what `pointer` points to, in the block's dynamic shared memory.
///
/// On GPUs any shared memory will do; the simulator has addresses for the dynamic one only.
#[inline(always)]
pub fn address<T>(pointer: *const T) -> SharedAddress {
    #[cfg(target_arch = "nvptx64")]
    {
        let address: u32;
        // SAFETY: a conversion of addresses.
        unsafe {
            core::arch::asm!(
                "{{ .reg .u64 %shared; cvta.to.shared.u64 %shared, {pointer}; cvt.u32.u64 {address}, %shared; }}",
                pointer = in(reg64) pointer, address = out(reg32) address, options(pure, nomem),
            );
        }
        SharedAddress(address)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let lane = crate::host::lane();
        let offset = (pointer as usize).wrapping_sub(lane.shared_dynamic() as usize);
        // What lies elsewhere gets an address that is out of range, which its use reports. The end of
        // the memory is an address to count back from.
        let is_inside = offset <= lane.shared_dynamic_bytes();
        SharedAddress(if is_inside { offset as u32 } else { ELSEWHERE })
    }
}
