//! A GPU with everything that belongs to it, as handles share it, and its memory.

use super::modules::Modules;
use super::pool::Pool;
use super::primary::{self, Primary};
use super::staging::Staging;
use super::stream::{Event, Stream, Timing};
use crate::device::available::ALLOCATION;
use crate::device::{
    DeviceId, DeviceInfo, Element, LaunchConfig, MemoryKind, Module, lock, require_available,
};
use crate::{Error, Result};
use cust::sys::{self, cudaError_enum};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex, Weak};

/// A GPU, and the stream on which the work of this handle is ordered.
#[derive(Clone)]
pub struct Gpu {
    owner: Arc<Owner>,
    stream: Arc<Stream>,
}

/// What all handles of a GPU share.
struct Owner {
    pool: Pool,
    staging: Staging,
    modules: Modules,
    main_stream: Arc<Stream>,
    /// Streams with launches that may use buffers of any handle: [`Gpu::use_any_buffer`].
    unordered: Mutex<Vec<Arc<Stream>>>,
    primary: Arc<Primary>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // The fields go next, and no work may need them then. If waiting fails, the context is lost
        // and its work with it.
        let _ = self.primary.synchronize();
    }
}

impl Gpu {
    /// Returns a handle of GPU `ordinal` on its main stream, opening the GPU if nothing holds it.
    pub fn open(ordinal: usize) -> Result<Gpu> {
        static OPEN: Mutex<Vec<Weak<Owner>>> = Mutex::new(Vec::new());
        let unavailable = |reason| Error::Unavailable {
            device: format!("cuda:{ordinal}"),
            reason,
        };
        let count = primary::count().map_err(unavailable)?;
        if ordinal >= count {
            let reason = format!("the driver reports {count} GPUs, numbered from 0");
            return Err(unavailable(reason));
        }
        let mut open = lock(&OPEN);
        // The driver's count never changes.
        open.resize_with(count, Weak::new);
        let owner = match open[ordinal].upgrade() {
            Some(owner) => owner,
            None => {
                let primary = Primary::new(ordinal)?;
                let owner = Arc::new(Owner {
                    pool: Pool::new(&primary),
                    staging: Staging::new(&primary),
                    modules: Modules::new(&primary),
                    main_stream: Arc::new(Stream::new(&primary)?),
                    unordered: Mutex::default(),
                    primary,
                });
                open[ordinal] = Arc::downgrade(&owner);
                owner
            }
        };
        let stream = owner.main_stream.clone();
        Ok(Gpu { owner, stream })
    }

    pub fn ordinal(&self) -> usize {
        self.owner.primary.ordinal()
    }

    pub fn compute_capability(&self) -> (u32, u32) {
        self.owner.primary.compute_capability()
    }

    pub fn shared_memory_per_block(&self) -> u32 {
        self.owner.primary.shared_memory_per_block()
    }

    pub fn multiprocessors(&self) -> usize {
        self.owner.primary.multiprocessors()
    }

    /// Bytes.
    pub fn total_memory(&self) -> u64 {
        self.owner.primary.total_memory()
    }

    pub fn info(&self) -> DeviceInfo {
        self.owner.primary.info()
    }

    /// Returns a handle of the same GPU on a new stream.
    pub fn with_new_stream(&self) -> Result<Gpu> {
        Ok(Gpu {
            owner: self.owner.clone(),
            stream: Arc::new(Stream::new(&self.owner.primary)?),
        })
    }

    /// Returns a handle of the same GPU on the stream of another library.
    ///
    /// # Safety
    /// As of [`Stream::from_raw`].
    pub unsafe fn with_raw_stream(&self, raw: *mut c_void) -> Result<Gpu> {
        Ok(Gpu {
            owner: self.owner.clone(),
            // SAFETY: passed on to the caller.
            stream: Arc::new(unsafe { Stream::from_raw(&self.owner.primary, raw)? }),
        })
    }

    /// Whether the work of both handles is ordered on the same stream.
    pub fn shares_stream(&self, other: &Gpu) -> bool {
        self.is_on(&other.stream)
    }

    /// Makes later work of this handle wait for the present work of another one, on the GPU.
    pub fn wait_for(&self, other: &Gpu) -> Result<()> {
        self.stream.wait_for(&other.stream)
    }

    /// Waits for the stream on the host.
    pub fn synchronize(&self) -> Result<()> {
        self.stream.synchronize()
    }

    /// Whether the stream has nothing left to do, or has failed.
    pub fn is_idle(&self) -> bool {
        self.stream.is_idle()
    }

    pub fn event(&self) -> Result<Event> {
        Event::new(&self.owner.primary, Timing::On)
    }

    pub fn record(&self, event: &Event) -> Result<()> {
        event.record(&self.stream)
    }

    pub fn wait(&self, event: &Event) -> Result<()> {
        event.make_wait(&self.stream)
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// As of [`Modules::launch`].
    pub unsafe fn launch(
        &self,
        module: &'static Module,
        kernel: &'static str,
        config: LaunchConfig,
        addresses: &mut [*mut c_void],
    ) -> Result<()> {
        let modules = &self.owner.modules;
        // SAFETY: passed on to the caller.
        unsafe { modules.launch(&self.stream, module, kernel, config, addresses) }
    }

    /// Lets launches on this handle's stream use buffers of any handle. From now on the stream waits
    /// for each allocation, and freeing waits for the stream, on the GPU.
    pub fn use_any_buffer(&self) -> Result<()> {
        let mut unordered = lock(&self.owner.unordered);
        if !unordered.iter().any(|stream| self.is_on(stream)) {
            // Memory may have been allocated in the order of any stream. Later allocations wait for the lock.
            self.owner.primary.synchronize()?;
            unordered.push(self.stream.clone());
        }
        Ok(())
    }

    /// Ends [`use_any_buffer`](Self::use_any_buffer), once such launches have finished.
    pub fn use_own_buffers(&self) {
        let is_unordered = lock(&self.owner.unordered)
            .iter()
            .any(|stream| self.is_on(stream));
        if is_unordered {
            // If waiting fails, the context is lost and its work with it.
            let _ = self.synchronize();
            lock(&self.owner.unordered).retain(|stream| !self.is_on(stream));
        }
    }

    fn is_on(&self, stream: &Arc<Stream>) -> bool {
        Arc::ptr_eq(stream, &self.stream)
    }

    /// The other streams whose launches may use buffers of this handle.
    fn unordered(&self) -> Vec<Arc<Stream>> {
        let mut streams = lock(&self.owner.unordered).clone();
        streams.retain(|stream| !self.is_on(stream));
        streams
    }

    /// Makes streams whose launches may use buffers of this handle wait for its present work.
    fn publish(&self) -> Result<()> {
        let streams = self.unordered();
        streams
            .iter()
            .try_for_each(|stream| stream.wait_for(&self.stream))
    }

    /// Allocates memory in the order of the stream; its content is unspecified.
    pub fn allocate(&self, bytes: usize) -> Result<Allocation> {
        let mut address = 0;
        if bytes > 0 {
            let Owner { pool, primary, .. } = &*self.owner;
            let _bound = primary.bind()?;
            let mut allocated = pool.allocate(&self.stream, bytes);
            if allocated == Err(cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY) {
                // Memory freed in the order of a stream is there once the stream is done, and memory
                // that is kept can be had in other pieces.
                primary.synchronize()?;
                pool.trim();
                allocated = pool.allocate(&self.stream, bytes);
            }
            address = match allocated {
                Ok(address) => address,
                Err(cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY) => return Err(self.no_memory(bytes)),
                Err(result) => {
                    primary.check(result, "allocating memory")?;
                    0
                }
            };
        }
        let allocation = Allocation {
            gpu: self.clone(),
            address,
            bytes: bytes as u64,
        };
        self.publish()?;
        Ok(allocation)
    }

    /// The error of the GPU's memory.
    fn no_memory(&self, bytes: usize) -> Error {
        let memory = self.owner.primary.memory();
        Error::Allocation {
            operation: ALLOCATION,
            memory: MemoryKind::Device(DeviceId::cuda(self.ordinal())),
            requested: bytes as u64,
            free: memory.map(|(free, _)| free),
            total: memory.map(|(_, total)| total),
        }
    }
}

/// Memory of a GPU, freed in the order of its handle's stream.
pub struct Allocation {
    gpu: Gpu,
    /// 0 for no memory: the driver does not allocate 0 bytes.
    address: sys::CUdeviceptr,
    bytes: u64,
}

impl Allocation {
    /// The address of the first byte, of the GPU.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Passes the memory to another handle of the same GPU, whose stream waits for this one's.
    pub fn pass_to(&mut self, gpu: &Gpu) -> Result<()> {
        if !gpu.shares_stream(&self.gpu) {
            gpu.wait_for(&self.gpu)?;
            self.gpu = gpu.clone();
        }
        Ok(())
    }

    /// Sets the first `bytes` bytes to zero.
    pub fn fill_zero(&self, bytes: usize) -> Result<()> {
        assert!(bytes as u64 <= self.bytes);
        // SAFETY: the memory has that many bytes, and freeing it takes its turn on the stream.
        unsafe { self.gpu.stream.fill_zero(self.address, bytes)? };
        self.gpu.publish()
    }

    /// Copies `source` to the GPU and waits.
    pub fn copy_from(&self, source: &[u8]) -> Result<()> {
        // SAFETY: `source` is borrowed until the wait is over.
        let started = unsafe { self.start_copy_from(&self.gpu, 0, source) };
        started.and(self.gpu.synchronize())
    }

    /// Copies from the GPU, from byte `start` on, into `target` and waits.
    pub fn copy_to(&self, start: usize, target: &mut [u8]) -> Result<()> {
        // SAFETY: `target` is borrowed until the wait is over.
        let started = unsafe { self.start_copy_to(&self.gpu, start, target) };
        started.and(self.gpu.synchronize())
    }

    /// Starts a copy to the GPU, to byte `start` and following, on the stream of `on`. Large copies
    /// from pageable memory have finished when this returns.
    ///
    /// # Safety
    /// `source` does not change, and the allocation is not freed, before the stream has done this.
    pub unsafe fn start_copy_from(&self, on: &Gpu, start: usize, source: &[u8]) -> Result<()> {
        assert!((start + source.len()) as u64 <= self.bytes);
        let _bound = self.gpu.owner.primary.bind()?;
        let address = self.address + start as u64;
        // SAFETY: the memory has that many bytes; the rest is passed on to the caller.
        unsafe {
            match self.gpu.owner.staging.copy_in(&on.stream, source, address) {
                Some(copied) => copied,
                None => on.stream.copy_in(source, address),
            }
        }
    }

    /// Starts a copy of the first `bytes` bytes of another allocation of the GPU, on the stream of `on`.
    ///
    /// # Safety
    /// Neither allocation is freed, and nothing else writes to them, before the stream has done this.
    pub unsafe fn start_copy_of(&self, on: &Gpu, source: &Allocation, bytes: usize) -> Result<()> {
        assert!(bytes as u64 <= self.bytes.min(source.bytes));
        // SAFETY: both have that many bytes, and two allocations do not overlap; the rest is passed on.
        unsafe { on.stream.copy_within(source.address, self.address, bytes)? };
        on.publish()
    }

    /// Starts a copy from the GPU, from byte `start` on, on the stream of `on`. Large copies to
    /// pageable memory have finished when this returns.
    ///
    /// # Safety
    /// Nothing else accesses `target`, and the allocation is not freed, before the stream has done this.
    pub unsafe fn start_copy_to(&self, on: &Gpu, start: usize, target: &mut [u8]) -> Result<()> {
        assert!((start + target.len()) as u64 <= self.bytes);
        let _bound = self.gpu.owner.primary.bind()?;
        let address = self.address + start as u64;
        // SAFETY: the memory has that many bytes; the rest is passed on to the caller.
        unsafe {
            match self.gpu.owner.staging.copy_out(&on.stream, address, target) {
                Some(copied) => copied,
                None => on.stream.copy_out(address, target),
            }
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let Owner { pool, primary, .. } = &*self.gpu.owner;
        if self.address == 0 {
            return;
        }
        let Ok(_bound) = primary.bind() else {
            return;
        };
        for stream in self.gpu.unordered() {
            if self.gpu.stream.wait_for(&stream).is_err() {
                // If waiting fails, the context is lost and its work with it.
                let _ = stream.synchronize();
            }
        }
        // SAFETY: allocated in `Gpu::allocate` and freed once. Other streams that used the memory have
        // made this one wait: `Device::ordered_with`, or above.
        unsafe { pool.free(&self.gpu.stream, self.address, self.bytes) };
    }
}

/// Page-locked memory of the host.
pub struct HostAllocation<T> {
    /// Keeps the context.
    primary: Arc<Primary>,
    pointer: NonNull<T>,
    length: usize,
    owned: PhantomData<T>,
}

// SAFETY: owns its memory, as a vector does.
unsafe impl<T: Send> Send for HostAllocation<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostAllocation<T> {}

impl<T: Element> HostAllocation<T> {
    /// Memory for `length` elements, all bytes zero.
    pub fn new(gpu: &Gpu, length: usize) -> Result<Self> {
        let primary = &gpu.owner.primary;
        let mut pointer = null_mut::<c_void>();
        let bytes = length.saturating_mul(size_of::<T>());
        if bytes > 0 {
            require_available(bytes)?;
            let _bound = primary.bind()?;
            // SAFETY: writes one pointer.
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
            primary.check(result, "allocating page-locked memory")?;
            // SAFETY: just allocated with that size. The driver aligns to pages.
            unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        }
        let pointer = NonNull::new(pointer.cast::<T>()).unwrap_or(NonNull::dangling());
        Ok(Self {
            primary: primary.clone(),
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
        if let Ok(_bound) = self.primary.bind() {
            // SAFETY: allocated in `new` and freed once; stream scopes have waited for copies.
            unsafe { sys::cuMemFreeHost(self.pointer.as_ptr().cast()) };
        }
    }
}
