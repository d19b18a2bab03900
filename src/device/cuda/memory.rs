//! Memory of the GPU, and page-locked memory of the host.

use super::context::Context;
use super::stream::StreamHandle;
use crate::device::available::{ALLOCATION, require_available};
use crate::device::{DeviceId, Element, MemoryKind};
use crate::{Error, Result};
use cust::sys::{self, cudaError_enum};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Memory of a GPU.
pub struct Allocation {
    context: Arc<Context>,
    /// 0 for no memory: the driver does not allocate 0 bytes.
    address: sys::CUdeviceptr,
    bytes: u64,
}

/// One part in so many of a GPU's memory is what a context keeps, once it is freed, for its next allocations, at most but
/// for a part of [`STEP`].
const KEPT: u64 = 8;

/// How exactly a pool knows what it has to keep.
const STEP: u64 = 1 << 28;

/// A context's own pool of memory, from which buffers come in the order of the main stream. That
/// is fast, and freeing need not wait for the work that uses the memory.
pub struct Pool {
    raw: sys::CUmemoryPool,
    /// Bytes of the allocations that there are.
    in_use: AtomicU64,
    /// What the driver was told to hold: the memory in use counts.
    threshold: AtomicU64,
    /// Bytes to keep beyond those in use.
    kept: u64,
}

impl Pool {
    /// A pool, or none where the driver has no pools. The context must be current.
    pub fn new(device: sys::CUdevice) -> Option<Pool> {
        let mut supported = 0;
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        // SAFETY: it writes one integer.
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
        // SAFETY: it writes one handle, for properties as the driver wants them.
        let result = unsafe { sys::cuMemPoolCreate(&mut raw, &properties) };
        if result != cudaError_enum::CUDA_SUCCESS {
            return None;
        }
        let mut total = 0;
        // SAFETY: it writes one number. A failure leaves 0, and nothing is kept.
        unsafe { sys::cuDeviceTotalMem_v2(&mut total, device) };
        let pool = Pool {
            raw,
            in_use: AtomicU64::new(0),
            threshold: AtomicU64::new(0),
            kept: total as u64 / KEPT,
        };
        pool.hold(0);
        Some(pool)
    }

    /// Counts what was allocated.
    fn add(&self, bytes: u64) {
        self.hold(self.in_use.fetch_add(bytes, Relaxed) + bytes);
    }

    /// Counts what is freed.
    fn subtract(&self, bytes: u64) {
        self.hold(self.in_use.fetch_sub(bytes, Relaxed) - bytes);
    }

    /// Has the driver keep what is in use and some more. Beyond that, waiting for the GPU gives freed memory back to
    /// the system, which takes milliseconds, and so does getting it again. The context must be current.
    fn hold(&self, in_use: u64) {
        let mut threshold = in_use.next_multiple_of(STEP) + self.kept;
        if self.threshold.swap(threshold, Relaxed) != threshold {
            let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            // SAFETY: the attribute is 64 bits wide. A failure only means that other amounts are kept.
            unsafe { sys::cuMemPoolSetAttribute(self.raw, attribute, (&raw mut threshold).cast()) };
        }
    }

    /// # Safety
    /// The context is current, and all memory from the pool has been freed.
    pub unsafe fn destroy(&self) {
        // SAFETY: passed on to the caller.
        unsafe { sys::cuMemPoolDestroy(self.raw) };
    }
}

impl Context {
    /// Allocates memory; its content is unspecified.
    pub fn allocate(self: &Arc<Self>, bytes: usize) -> Result<Allocation> {
        let mut address = 0;
        if bytes > 0 {
            let _bound = self.bind()?;
            let mut result = self.try_allocate(&mut address, bytes);
            if result == cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY {
                // Memory freed in the order of the stream is there once the stream is done, and what is kept can be
                // had in other pieces.
                self.synchronize()?;
                if let Some(pool) = self.pool() {
                    // SAFETY: the pool lives as long as the context. A failure shows in the allocation.
                    unsafe { sys::cuMemPoolTrimTo(pool.raw, 0) };
                }
                result = self.try_allocate(&mut address, bytes);
            }
            if result == cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY {
                return Err(self.no_memory(bytes));
            }
            self.check(result, "allocating memory")?;
            if let Some(pool) = self.pool() {
                pool.add(bytes as u64);
            }
        }
        let allocation = Allocation {
            context: self.clone(),
            address,
            bytes: bytes as u64,
        };
        if bytes > 0 && self.has_user_streams() {
            // They do not wait for the main stream, in whose order the memory comes.
            self.synchronize()?;
        }
        Ok(allocation)
    }

    /// The context must be current.
    fn try_allocate(&self, address: &mut sys::CUdeviceptr, bytes: usize) -> sys::CUresult {
        match self.pool() {
            // SAFETY: it writes one address; pool and stream live as long as the context.
            Some(pool) => unsafe {
                sys::cuMemAllocFromPoolAsync(address, bytes, pool.raw, self.main_stream().raw())
            },
            // SAFETY: it writes one address.
            None => unsafe { sys::cuMemAlloc_v2(address, bytes) },
        }
    }

    /// The error of the GPU's memory.
    fn no_memory(&self, bytes: usize) -> Error {
        let memory = self.memory();
        Error::Allocation {
            operation: ALLOCATION,
            memory: MemoryKind::Device(DeviceId::cuda(self.ordinal())),
            requested: bytes as u64,
            free: memory.map(|(free, _)| free),
            total: memory.map(|(_, total)| total),
        }
    }
}

impl Allocation {
    /// The address of the first byte, of the GPU.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Sets the first `bytes` bytes to zero, on the main stream.
    pub fn fill_zero(&self, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let _bound = self.context.bind()?;
        let stream = self.context.main_stream().raw();
        // SAFETY: the allocation has that many bytes, and lives until the stream has done this,
        // since freeing waits.
        let result = unsafe { sys::cuMemsetD8Async(self.address, 0, bytes, stream) };
        self.context.check(result, "setting memory to zero")?;
        if self.context.has_user_streams() {
            // They do not wait for the main stream, and may use the memory next.
            self.context.synchronize()?;
        }
        Ok(())
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Copies `source` to the GPU, on the main stream, and waits.
    pub fn copy_from(&self, source: &[u8]) -> Result<()> {
        let stream = self.context.main_stream();
        // SAFETY: `source` is borrowed until the wait is over.
        let started = unsafe { self.start_copy_from(stream, source) };
        started.and(self.context.synchronize())
    }

    /// Copies from the GPU, from byte `start` on, into `target`, on the main stream, and waits.
    pub fn copy_to(&self, start: usize, target: &mut [u8]) -> Result<()> {
        let stream = self.context.main_stream();
        // SAFETY: `target` is borrowed until the wait is over.
        let started = unsafe { self.start_copy_to(stream, start, target) };
        started.and(self.context.synchronize())
    }

    /// Starts a copy to the GPU on `stream`; if the host's memory is pageable and large, does it.
    ///
    /// # Safety
    /// As of [`copy_from_on`](Self::copy_from_on).
    pub unsafe fn start_copy_from(&self, stream: &StreamHandle, source: &[u8]) -> Result<()> {
        let _bound = self.context.bind()?;
        match self.copy_from_staged(stream, source) {
            Some(copied) => copied,
            // SAFETY: passed on to the caller.
            None => unsafe { self.copy_from_on(stream, 0, source) },
        }
    }

    /// Starts a copy from the GPU, from byte `start` on, on `stream`; if the host's memory is pageable and large, does
    /// it.
    ///
    /// # Safety
    /// As of [`copy_to_on`](Self::copy_to_on).
    pub unsafe fn start_copy_to(
        &self,
        stream: &StreamHandle,
        start: usize,
        target: &mut [u8],
    ) -> Result<()> {
        let _bound = self.context.bind()?;
        match self.copy_to_staged(stream, start, target) {
            Some(copied) => copied,
            // SAFETY: passed on to the caller.
            None => unsafe { self.copy_to_on(stream, start, target) },
        }
    }

    /// Starts a copy to the GPU, from byte `start` on, on `stream`.
    ///
    /// # Safety
    /// `source` is at most as long as the allocation from there on, and stays as it is until the stream
    /// has done this.
    pub unsafe fn copy_from_on(
        &self,
        stream: &StreamHandle,
        start: usize,
        source: &[u8],
    ) -> Result<()> {
        if source.is_empty() {
            return Ok(());
        }
        let _bound = self.context.bind()?;
        // SAFETY: both have that many bytes; the rest is passed on to the caller.
        let result = unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                self.address + start as u64,
                source.as_ptr().cast(),
                source.len(),
                stream.raw(),
            )
        };
        self.context.check(result, "copying to the GPU")
    }

    /// Starts a copy from the GPU, from byte `start` on, on `stream`.
    ///
    /// # Safety
    /// `target` is at most as long as the allocation from there on, and nothing else touches it until the
    /// stream has done this.
    pub unsafe fn copy_to_on(
        &self,
        stream: &StreamHandle,
        start: usize,
        target: &mut [u8],
    ) -> Result<()> {
        if target.is_empty() {
            return Ok(());
        }
        let _bound = self.context.bind()?;
        // SAFETY: both have that many bytes; the rest is passed on to the caller.
        let result = unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                target.as_mut_ptr().cast(),
                self.address + start as u64,
                target.len(),
                stream.raw(),
            )
        };
        self.context.check(result, "copying from the GPU")
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.address == 0 {
            return;
        }
        let Ok(_bound) = self.context.bind() else {
            return;
        };
        let pool = self.context.pool();
        if pool.is_none() || self.context.has_user_streams() {
            // Streams other than the main one may still use the memory.
            // SAFETY: the context is current.
            unsafe { sys::cuCtxSynchronize() };
        }
        // SAFETY: allocated in this context, the same way, and freed once. Only the main stream can
        // still use the memory, and freeing takes its turn there.
        unsafe {
            match pool {
                Some(_) => sys::cuMemFreeAsync(self.address, self.context.main_stream().raw()),
                None => sys::cuMemFree_v2(self.address),
            }
        };
        if let Some(pool) = pool {
            pool.subtract(self.bytes);
        }
    }
}

/// Page-locked memory of the host.
pub struct HostAllocation<T> {
    context: Arc<Context>,
    pointer: NonNull<T>,
    length: usize,
    owned: PhantomData<T>,
}

// SAFETY: it owns its memory, as a vector does.
unsafe impl<T: Send> Send for HostAllocation<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostAllocation<T> {}

impl<T: Element> HostAllocation<T> {
    /// Memory for `length` elements, all bytes zero.
    pub fn new(context: &Arc<Context>, length: usize) -> Result<Self> {
        let mut pointer = null_mut::<c_void>();
        let bytes = length.saturating_mul(size_of::<T>());
        if bytes > 0 {
            require_available(bytes)?;
            let _bound = context.bind()?;
            // SAFETY: it writes one pointer.
            let result = unsafe { sys::cuMemAllocHost_v2(&mut pointer, bytes) };
            if result == cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY {
                return Err(Error::Allocation {
                    operation: ALLOCATION,
                    memory: MemoryKind::PageLocked,
                    requested: bytes as u64,
                    free: None,
                    total: None,
                });
            }
            context.check(result, "allocating page-locked memory")?;
            // SAFETY: just allocated with that size. The driver aligns to pages.
            unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        }
        let pointer = NonNull::new(pointer.cast::<T>()).unwrap_or(NonNull::dangling());
        Ok(Self {
            context: context.clone(),
            pointer,
            length,
            owned: PhantomData,
        })
    }

    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `length` initialised elements, or dangling for none.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }
}

impl<T> Drop for HostAllocation<T> {
    fn drop(&mut self) {
        if self.length == 0 || size_of::<T>() == 0 {
            return;
        }
        if let Ok(_bound) = self.context.bind() {
            // SAFETY: allocated in `new` and freed once; stream scopes have waited for copies.
            unsafe { sys::cuMemFreeHost(self.pointer.as_ptr().cast()) };
        }
    }
}
