//! Memory of the GPU, and page-locked memory of the host.

use super::context::Context;
use super::stream::StreamHandle;
use crate::device::Element;
use crate::{Error, Result};
use cust::sys::{self, cudaError_enum};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Memory of a GPU.
pub struct Allocation {
    context: Arc<Context>,
    /// 0 for no memory: the driver does not allocate 0 bytes.
    address: sys::CUdeviceptr,
}

impl Context {
    /// Allocates memory; its content is unspecified.
    pub fn allocate(self: &Arc<Self>, bytes: usize) -> Result<Allocation> {
        let mut address = 0;
        if bytes > 0 {
            let _bound = self.bind()?;
            // SAFETY: it writes one address.
            let result = unsafe { sys::cuMemAlloc_v2(&mut address, bytes) };
            self.check_allocation(result, bytes)?;
        }
        Ok(Allocation {
            context: self.clone(),
            address,
        })
    }

    fn check_allocation(&self, result: sys::CUresult, bytes: usize) -> Result<()> {
        if result != cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY {
            return self.check(result, "allocating memory");
        }
        let memory = self.memory();
        Err(Error::Allocation {
            device: self.name().to_string(),
            requested: bytes as u64,
            free: memory.map(|(free, _)| free),
            total: memory.map(|(_, total)| total),
        })
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
        self.context.check(result, "setting memory to zero")
    }

    /// Copies `source` to the GPU, on the main stream, and waits.
    pub fn copy_from(&self, source: &[u8]) -> Result<()> {
        let stream = self.context.main_stream();
        // SAFETY: `source` is borrowed until the wait is over.
        let started = unsafe { self.copy_from_on(stream, source) };
        started.and(stream.synchronize())
    }

    /// Copies from the GPU into `target`, on the main stream, and waits.
    pub fn copy_to(&self, target: &mut [u8]) -> Result<()> {
        let stream = self.context.main_stream();
        // SAFETY: `target` is borrowed until the wait is over.
        let started = unsafe { self.copy_to_on(stream, target) };
        started.and(stream.synchronize())
    }

    /// Starts a copy to the GPU on `stream`.
    ///
    /// # Safety
    /// `source` is at most as long as the allocation, and stays as it is until the stream has done
    /// this.
    pub unsafe fn copy_from_on(&self, stream: &StreamHandle, source: &[u8]) -> Result<()> {
        if source.is_empty() {
            return Ok(());
        }
        let _bound = self.context.bind()?;
        // SAFETY: both have that many bytes; the rest is passed on to the caller.
        let result = unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                self.address,
                source.as_ptr().cast(),
                source.len(),
                stream.raw(),
            )
        };
        self.context.check(result, "copying to the GPU")
    }

    /// Starts a copy from the GPU on `stream`.
    ///
    /// # Safety
    /// `target` is at most as long as the allocation, and nothing else touches it until the stream
    /// has done this.
    pub unsafe fn copy_to_on(&self, stream: &StreamHandle, target: &mut [u8]) -> Result<()> {
        if target.is_empty() {
            return Ok(());
        }
        let _bound = self.context.bind()?;
        // SAFETY: both have that many bytes; the rest is passed on to the caller.
        let result = unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                target.as_mut_ptr().cast(),
                self.address,
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
        if let Ok(_bound) = self.context.bind() {
            // SAFETY: allocated in this context and freed once. Non-blocking streams may still use
            // the memory, so wait for the whole context first.
            unsafe {
                sys::cuCtxSynchronize();
                sys::cuMemFree_v2(self.address);
            }
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
            let _bound = context.bind()?;
            // SAFETY: it writes one pointer.
            let result = unsafe { sys::cuMemAllocHost_v2(&mut pointer, bytes) };
            context.check_allocation(result, bytes)?;
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
