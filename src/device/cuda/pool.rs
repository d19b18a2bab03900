//! The memory that buffers of a GPU come from.

use super::primary::Primary;
use super::stream::Stream;
use cust::sys::{self, cudaError_enum};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The pool keeps this fraction of the GPU's memory, once freed, for later allocations.
const KEPT: u64 = 8;

/// The granularity in bytes with which the pool's threshold follows the memory in use.
const STEP: u64 = 1 << 28;

/// Memory that is allocated and freed in the order of a stream: that is fast, and freeing need not
/// wait for the work that uses the memory.
pub struct Pool {
    /// `None` where the driver has no pools.
    raw: Option<sys::CUmemoryPool>,
    /// Bytes allocated at present.
    in_use: AtomicU64,
    /// Bytes that the driver was told to hold, those in use included.
    threshold: AtomicU64,
    /// Bytes to keep beyond those in use.
    kept: u64,
    primary: Arc<Primary>,
}

// SAFETY: the driver's pools may be used from any thread.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    pub fn new(primary: &Arc<Primary>) -> Pool {
        let pool = Pool {
            raw: make(primary),
            in_use: AtomicU64::new(0),
            threshold: AtomicU64::new(0),
            kept: primary.total_memory() / KEPT,
            primary: primary.clone(),
        };
        if let Ok(_bound) = primary.bind() {
            pool.hold(0);
        }
        pool
    }

    /// Allocates memory that `stream` may use from here on.
    pub fn allocate(
        &self,
        stream: &Stream,
        bytes: usize,
    ) -> Result<sys::CUdeviceptr, sys::CUresult> {
        let mut address = 0;
        let result = match self.raw {
            // SAFETY: writes one address; pool and stream live.
            Some(pool) => unsafe {
                sys::cuMemAllocFromPoolAsync(&mut address, bytes, pool, stream.raw())
            },
            // SAFETY: writes one address.
            None => unsafe { sys::cuMemAlloc_v2(&mut address, bytes) },
        };
        if result != cudaError_enum::CUDA_SUCCESS {
            return Err(result);
        }
        let bytes = bytes as u64;
        self.hold(self.in_use.fetch_add(bytes, Relaxed) + bytes);
        Ok(address)
    }

    /// Gives all memory that is kept back to the system. The context must be current.
    pub fn trim(&self) {
        if let Some(pool) = self.raw {
            // SAFETY: the pool lives. A failure shows in the next allocation.
            unsafe { sys::cuMemPoolTrimTo(pool, 0) };
        }
    }

    /// Frees memory once `stream` has done its present work. The context must be current.
    ///
    /// # Safety
    /// The memory came from `allocate` with as many bytes, is freed once, and only work that `stream`
    /// has, or waits for, still uses it.
    pub unsafe fn free(&self, stream: &Stream, address: sys::CUdeviceptr, bytes: u64) {
        // SAFETY: passed on to the caller. Without pools the driver frees at once, after all work.
        unsafe {
            match self.raw {
                Some(_) => sys::cuMemFreeAsync(address, stream.raw()),
                None => {
                    sys::cuCtxSynchronize();
                    sys::cuMemFree_v2(address)
                }
            }
        };
        self.hold(self.in_use.fetch_sub(bytes, Relaxed) - bytes);
    }

    /// Has the driver keep the memory in use and some more. Beyond that, waiting for the GPU gives
    /// freed memory back to the system, which takes milliseconds, and so does getting it again. The
    /// context must be current.
    fn hold(&self, in_use: u64) {
        let Some(pool) = self.raw else { return };
        let mut threshold = in_use.next_multiple_of(STEP) + self.kept;
        if self.threshold.swap(threshold, Relaxed) != threshold {
            let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            // SAFETY: the attribute is 64 bits wide. A failure only means that other amounts are kept.
            unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast()) };
        }
    }
}

/// A new pool of the driver, if it has pools.
fn make(primary: &Primary) -> Option<sys::CUmemoryPool> {
    let _bound = primary.bind().ok()?;
    let device = primary.raw_device();
    let mut supported = 0;
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    // SAFETY: writes one integer.
    let result = unsafe { sys::cuDeviceGetAttribute(&mut supported, attribute, device) };
    if result != cudaError_enum::CUDA_SUCCESS || supported == 0 {
        return None;
    }
    let properties = sys::CUmemPoolProps {
        allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: device,
        },
        win32SecurityAttributes: null_mut(),
        reserved: [0; 64],
    };
    let mut raw = null_mut();
    // SAFETY: writes one handle, for properties as the driver wants them.
    let result = unsafe { sys::cuMemPoolCreate(&mut raw, &properties) };
    (result == cudaError_enum::CUDA_SUCCESS).then_some(raw)
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let (Some(pool), Ok(_bound)) = (self.raw, self.primary.bind()) {
            // SAFETY: allocations keep the pool's owner alive, so all have been freed.
            unsafe { sys::cuMemPoolDestroy(pool) };
        }
    }
}
