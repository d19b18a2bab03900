//! Allocations in kernels, and the sizes of shared memory.

#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

/// Allocates on the device's heap, of 8 MiB unless the host sets `CU_LIMIT_MALLOC_HEAP_SIZE`.
///
/// It is the global allocator of kernels, so that `alloc`'s types work in them. Allocations
/// are slow, since all threads of the device share the heap.
///
/// If the heap has no room left, the thread prints a message with its place and the number of
/// bytes. Functions such as `Vec::try_reserve` then return an error; all others end the launch with
/// a trap.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug, Default)]
pub struct CUDAAllocator;

/// Addresses of [`malloc`] are multiples of this.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
const ALIGN: usize = 16;

// On the host, the functions of the C library.
unsafe extern "C" {
    /// Returns the address of `size` bytes of the device's heap, a multiple of 16, or null if there
    /// is no room left.
    ///
    /// # Safety
    /// Sound for every size.
    pub fn malloc(size: usize) -> *mut c_void;

    /// Gives back what [`malloc`] returned in any thread, or does nothing for null.
    ///
    /// # Safety
    /// Nobody uses the memory any more.
    pub fn free(ptr: *mut c_void);
}

// `realloc` is the default one: it copies the old capacity, of which a `Vec` may use a part. The
// device's heap has no `realloc` that could do without.
// SAFETY: blocks of the device's heap, which are apart, large enough and aligned: where more
// alignment is asked for than the heap gives, the block is larger, and the word before the returned
// address says where it begins.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
unsafe impl GlobalAlloc for CUDAAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = allocate(layout);
        if start.is_null() {
            report_no_room(layout.size());
        }
        start
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let block = if layout.align() <= ALIGN {
            start
        } else {
            // SAFETY: `alloc` wrote it.
            unsafe { start.cast::<*mut u8>().sub(1).read() }
        };
        // SAFETY: `malloc` returned it, and nobody uses it any more.
        unsafe { free(block.cast()) }
    }
}

/// Returns a block of the heap, or null if there is no room.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
#[inline]
fn allocate(layout: Layout) -> *mut u8 {
    if layout.align() <= ALIGN {
        // SAFETY: it has no preconditions.
        return unsafe { malloc(layout.size()) }.cast();
    }
    let Some(bytes) = layout.size().checked_add(layout.align()) else {
        return core::ptr::null_mut();
    };
    // SAFETY: it has no preconditions.
    let block: *mut u8 = unsafe { malloc(bytes) }.cast();
    if block.is_null() {
        return block;
    }
    // At least 16 bytes further, since both are multiples of 16 and the second is not the
    // first.
    let offset = layout.align() - block as usize % layout.align();
    // SAFETY: `offset` is at most the alignment, so that both are in the block.
    unsafe {
        let start = block.add(offset);
        start.cast::<*mut u8>().sub(1).write(block);
        start
    }
}

/// Prints what a thread could not allocate. The message needs no heap.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
#[cold]
#[inline(never)]
fn report_no_room(bytes: usize) {
    use crate::thread;

    #[repr(C)]
    struct Arguments {
        block: [u32; 3],
        thread: [u32; 3],
        bytes: u64,
    }
    let arguments = Arguments {
        block: [
            thread::block_idx_x(),
            thread::block_idx_y(),
            thread::block_idx_z(),
        ],
        thread: [
            thread::thread_idx_x(),
            thread::thread_idx_y(),
            thread::thread_idx_z(),
        ],
        bytes: bytes as u64,
    };
    let format =
        c"block (%u, %u, %u), thread (%u, %u, %u): no room for %llu bytes on the device's \
                   heap (CU_LIMIT_MALLOC_HEAP_SIZE)\n";
    // SAFETY: the format takes six 32-bit numbers and a 64-bit one, as they lie in the struct. The
    // call copies both.
    unsafe { crate::io::vprintf(format.as_ptr().cast(), (&raw const arguments).cast()) };
}

/// The global allocator of kernels.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
#[global_allocator]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;

/// Compares byte ranges like C's `memcmp`. `==` and `cmp` of byte slices call it.
///
/// # Safety
/// Both addresses are those of `size` bytes.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, size: usize) -> i32 {
    for i in 0..size {
        // SAFETY: below the size.
        let (a, b) = unsafe { (*a.add(i), *b.add(i)) };
        if a != b {
            return a as i32 - b as i32;
        }
    }
    0
}

macro_rules! sizes {
    ($($(#[$doc:meta])* $name:ident = $register:literal, $host:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let bytes: u32;
                // SAFETY: it reads a special register.
                unsafe {
                    core::arch::asm!(
                        concat!("mov.u32 {}, ", $register, ";"), out(reg32) bytes, options(pure, nomem),
                    )
                };
                bytes
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                $host
            }
        }
    )*};
}

sizes! {
    /// Bytes of dynamic shared memory of the block.
    dynamic_smem_size = "%dynamic_smem_size", crate::host::lane().shared_dynamic_bytes() as u32;
    /// Bytes of shared memory of the block, static and dynamic. The simulator, where static shared
    /// memory is made on first use, returns the dynamic ones.
    total_smem_size = "%total_smem_size", crate::host::lane().shared_dynamic_bytes() as u32;
}
