//! The memory that a GPU's buffers come from.

use super::primary::Primary;
use super::stream::Stream;
use super::threshold::Threshold;
use cust::device::DeviceAttribute;
use cust::error::CudaResult;
use cust::sys;
use std::ptr::null_mut;
use std::sync::Arc;

/// The pool keeps up to one `KEPT`th of the GPU's memory, once freed, for later allocations.
const KEPT: u64 = 8;

/// Allocates and frees memory in the order of a stream, so that freeing need not wait for the work
/// on the memory.
pub struct Pool {
    /// `None` if the driver has no pools.
    raw: Option<sys::CUmemoryPool>,
    /// Bytes in use, and bytes that the driver was told to hold.
    threshold: Threshold,
    primary: Arc<Primary>,
}

// SAFETY: the driver's pools may be used from any thread.
unsafe impl Send for Pool {}
// SAFETY: the driver's calls are thread-safe, so several threads may use one at once; the threshold
// has a lock.
unsafe impl Sync for Pool {}

impl Pool {
    pub fn new(primary: &Arc<Primary>) -> Pool {
        let _bound = primary.bind();
        let pool = Pool {
            raw: make(primary),
            threshold: Threshold::new(primary.properties().total_memory / KEPT),
            primary: primary.clone(),
        };
        pool.threshold.allocate(0, |bytes| pool.hold(bytes));
        pool
    }

    /// Allocates memory for later work of `stream`. The context must be current.
    pub fn allocate(&self, stream: &Stream, bytes: usize) -> CudaResult<u64> {
        if let Some(address) = stream.spare.take(bytes as u64) {
            self.threshold.reuse(bytes as u64);
            return Ok(address);
        }
        let mut address = 0;
        // SAFETY: writes one address; pool and stream live.
        let result = unsafe {
            match self.raw {
                Some(pool) => sys::cuMemAllocFromPoolAsync(&mut address, bytes, pool, stream.raw()),
                None => sys::cuMemAlloc_v2(&mut address, bytes),
            }
        };
        result.to_result()?;
        let hold = |bytes| self.hold(bytes);
        self.threshold.allocate(bytes as u64, hold);
        Ok(address)
    }

    /// Returns all kept memory to the system. The context must be current.
    pub fn trim(&self) {
        if let Some(pool) = self.raw {
            // SAFETY: the pool lives. A failure shows in the next allocation.
            unsafe { sys::cuMemPoolTrimTo(pool, 0) };
        }
    }

    /// Frees memory after the present work of `stream`. The context must be current.
    ///
    /// # Safety
    /// The memory came from `allocate` with the same `bytes`, is freed once, and is used only by
    /// work on `stream` or work that `stream` waits for.
    pub unsafe fn free(&self, stream: &Stream, address: sys::CUdeviceptr, bytes: u64) {
        // SAFETY: by the contract of this function, the memory came from `allocate`, is freed once,
        // and is used only by work that the stream does before. Without pools the driver frees at
        // once, after all work.
        unsafe {
            match self.raw {
                Some(_) => match stream.spare.put(bytes, address) {
                    Some(address) => sys::cuMemFreeAsync(address, stream.raw()),
                    None => return self.threshold.spare(bytes),
                },
                None => {
                    sys::cuCtxSynchronize();
                    sys::cuMemFree_v2(address)
                }
            }
        };
        self.threshold.free(bytes, |bytes| self.hold(bytes));
    }

    /// Sets the driver's threshold to `bytes`. Beyond the threshold, waiting for the GPU returns
    /// freed memory to the system, which takes milliseconds, and so does allocating it again. The
    /// context must be current.
    fn hold(&self, mut bytes: u64) {
        let Some(pool) = self.raw else { return };
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the attribute has 64 bits. If this fails, the driver keeps other amounts.
        unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut bytes).cast()) };
    }
}

/// Makes a pool of the driver, if the driver has pools. The context must be current.
fn make(primary: &Primary) -> Option<sys::CUmemoryPool> {
    let device = primary.device();
    let supported = device.get_attribute(DeviceAttribute::MemoryPoolsSupported);
    if matches!(supported, Err(_) | Ok(0)) {
        return None;
    }
    let properties = sys::CUmemPoolProps {
        allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: device.as_raw(),
        },
        win32SecurityAttributes: null_mut(),
        reserved: [0; 64],
    };
    let mut raw = null_mut();
    // SAFETY: writes one handle, for properties of the driver's type.
    let created = unsafe { sys::cuMemPoolCreate(&mut raw, &properties) }.to_result();
    created.ok().map(|()| raw)
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let (Some(pool), Ok(_bound)) = (self.raw, self.primary.bind()) {
            // SAFETY: allocations keep the pool's owner alive, so all have been freed.
            unsafe { sys::cuMemPoolDestroy(pool) };
        }
    }
}
