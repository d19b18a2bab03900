//! A GPU's handles, what they share, and the memory of buffers.

use super::borrowed::Borrowed;
use super::event::Event;
use super::graph::{Graph, Recording};
use super::memory::Pool;
use super::modules::Modules;
use super::outbox::SLOT;
use super::page_locked::HostAllocation;
use super::primary::{self, Primary};
use super::spare::Spare;
use super::staging::{MAILBOX, Mailboxes, Staging};
use super::stream::Stream;
use super::upload_blocks::{UploadBlock, UploadBlocks};
use crate::device::available::no_memory;
use crate::device::host_allocation::ForeignOwner;
use crate::device::info::Properties;
use crate::device::{DeviceInfo, DeviceKind, Element, LaunchConfig, MemoryKind, Module, lock};
use crate::sync::Mutex;
use crate::{Error, Result};
use cuda_std::host::ConstantStatic;
use cust::error::{CudaError, CudaResult};
use cust::event::EventFlags;
use cust::sys;
use std::ffi::c_void;
use std::sync::{Arc, Weak};

/// The most idle streams that a GPU keeps. Making a stream takes as long as several launches.
const SIDE_STREAMS: usize = 16;

/// A handle to a GPU, whose work is ordered on a stream.
#[derive(Clone)]
pub struct Gpu {
    owner: Arc<Owner>,
    stream: Arc<Stream>,
    /// Whether a graph records the work instead of the stream doing it.
    records: bool,
}

/// The state that all handles of a GPU share.
struct Owner {
    pool: Pool,
    staging: Staging,
    mailboxes: Mailboxes,
    upload_blocks: Mutex<UploadBlocks>,
    borrowed: Borrowed,
    modules: Modules,
    main_stream: Arc<Stream>,
    /// The memory that the streams keep for their next allocations.
    spares: Mutex<Vec<Weak<Spare>>>,
    /// Streams whose launches may use buffers of any handle: see [`Gpu::use_any_buffer`].
    unordered: Mutex<Vec<Arc<Stream>>>,
    /// Idle streams for calls that work on several.
    side_streams: Mutex<Vec<Arc<Stream>>>,
    primary: Arc<Primary>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // No work may use the fields when they are dropped. If waiting fails, the context is lost,
        // and its work with it.
        let _ = self.primary.synchronize();
        if let Ok(_bound) = self.primary.bind() {
            self.main_stream.spare.free();
            // These streams live on until after the pool.
            lock(&self.side_streams)
                .iter()
                .for_each(|stream| stream.spare.free());
        }
    }
}

impl Owner {
    /// Frees the memory that streams keep for their next allocations, and waits until it is free.
    /// The context must be current.
    fn free_spares(&self) {
        // Other threads can open streams meanwhile.
        let spares = lock(&self.spares).clone();
        for spare in spares.iter().filter_map(Weak::upgrade) {
            spare.free_and_wait();
        }
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
                    mailboxes: Mailboxes::new(&primary),
                    upload_blocks: Mutex::default(),
                    borrowed: Borrowed::new(&primary),
                    modules: Modules::new(&primary),
                    main_stream: Arc::new(Stream::new(&primary)?),
                    spares: Mutex::default(),
                    unordered: Mutex::default(),
                    side_streams: Mutex::default(),
                    primary,
                });
                open[ordinal] = Arc::downgrade(&owner);
                owner
            }
        };
        let stream = owner.main_stream.clone();
        Ok(Gpu::on(owner, stream))
    }

    /// Returns a handle on a stream of the GPU, which does work at once.
    fn on(owner: Arc<Owner>, stream: Arc<Stream>) -> Gpu {
        let mut spares = lock(&owner.spares);
        spares.retain(|spare| spare.strong_count() > 0);
        if !spares
            .iter()
            .any(|spare| spare.as_ptr() == Arc::as_ptr(&stream.spare))
        {
            spares.push(Arc::downgrade(&stream.spare));
        }
        drop(spares);
        let records = false;
        Gpu {
            owner,
            stream,
            records,
        }
    }

    pub fn properties(&self) -> &Properties {
        self.owner.primary.properties()
    }

    pub fn info(&self) -> DeviceInfo {
        self.owner.primary.info()
    }

    /// Returns the stream on which the work of this handle is ordered.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    pub fn with_new_stream(&self) -> Result<Gpu> {
        let stream = Stream::new(&self.owner.primary)?;
        Ok(Gpu::on(self.owner.clone(), Arc::new(stream)))
    }

    /// Returns a handle on an idle stream of the GPU, a kept one if there is one.
    pub fn on_side_stream(&self) -> Result<Gpu> {
        let kept = lock(&self.owner.side_streams).pop();
        match kept {
            Some(stream) => Ok(Gpu::on(self.owner.clone(), stream)),
            None => self.with_new_stream(),
        }
    }

    /// Keeps this handle's stream, which is idle, for [`on_side_stream`](Self::on_side_stream).
    pub fn keep_side_stream(&self) {
        let mut kept = lock(&self.owner.side_streams);
        if kept.len() < SIDE_STREAMS {
            kept.push(self.stream.clone());
        }
    }

    /// Returns a block for uploads, if there is one: see [`UploadBlocks::take`].
    pub fn upload_block(&self) -> Option<UploadBlock> {
        lock(&self.owner.upload_blocks).take(&self.owner.primary)
    }

    /// Takes back a block for uploads.
    pub fn return_upload_block(&self, block: UploadBlock) {
        lock(&self.owner.upload_blocks).put_back(block);
    }

    /// Whether the driver knows the first and the last of these bytes as page-locked memory.
    pub fn is_locked(&self, bytes: &[u8]) -> bool {
        let ends = [bytes.first(), bytes.last()];
        let staging = &self.owner.staging;
        ends.iter()
            .all(|end| end.is_some_and(|byte| staging.is_locked(byte)))
    }

    /// Returns a handle of the same GPU on the stream of another library.
    ///
    /// # Safety
    /// As [`Stream::from_raw`].
    pub unsafe fn with_raw_stream(&self, raw: *mut c_void) -> Result<Gpu> {
        // SAFETY: the caller keeps the contract of `Stream::from_raw`: `raw` is a stream of the
        // context, and exists as long as the handle.
        let stream = unsafe { Stream::from_raw(&self.owner.primary, raw)? };
        Ok(Gpu::on(self.owner.clone(), Arc::new(stream)))
    }

    /// Whether the work of both handles is ordered on the same stream.
    pub fn shares_stream(&self, other: &Gpu) -> bool {
        self.is_on(&other.stream)
    }

    pub fn event(&self) -> Result<Event> {
        Event::new(&self.owner.primary, EventFlags::DEFAULT)
    }

    /// Allocates page-locked memory for `length` elements whose values are unspecified.
    pub fn page_locked<T: Element>(&self, length: usize) -> Result<HostAllocation<T>> {
        HostAllocation::new(&self.owner.primary, length)
    }

    /// Begins to record work in a graph: the work of [`recorded_by`](Self::recorded_by).
    pub fn record(&self) -> Result<Recording> {
        Recording::begin(&self.owner.primary)
    }

    /// Returns the handle whose launches, copies and fills are recorded instead of started.
    pub fn recorded_by(&self, recording: &Recording) -> Gpu {
        Gpu {
            owner: self.owner.clone(),
            stream: recording.stream().clone(),
            records: true,
        }
    }

    /// Starts the work of a graph.
    ///
    /// # Safety
    /// As [`Graph::launch`].
    pub unsafe fn launch_graph(&self, graph: &mut Graph) -> Result<()> {
        // SAFETY: the caller keeps the contract of `Graph::launch`: the memory that the work uses
        // is allocated until the stream has done the work.
        unsafe { graph.launch(&self.stream)? };
        self.publish()
    }

    /// Returns the blocks of a kernel that a multiprocessor runs at a time, and the registers of a
    /// thread.
    pub fn occupancy(
        &self,
        module: &'static Module,
        kernel: &'static str,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<(u32, u32)> {
        let modules = &self.owner.modules;
        modules.occupancy(module, kernel, threads, shared_bytes)
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// As [`Modules::launch`].
    pub unsafe fn launch(
        &self,
        module: &'static Module,
        kernel: &'static str,
        config: LaunchConfig,
        addresses: &mut [*mut c_void],
    ) -> Result<()> {
        let (modules, stream) = (&self.owner.modules, &self.stream);
        // SAFETY: the caller keeps the contract of `Modules::launch`: the addresses are those of
        // the kernel's arguments, and the kernel's own contract holds.
        unsafe { modules.launch(stream, module, kernel, config, addresses) }
    }

    /// Starts a copy to a variable of a module.
    ///
    /// # Safety
    /// As [`Modules::set`].
    pub unsafe fn set_constant(
        &self,
        module: &'static Module,
        constant: &'static ConstantStatic,
        value: *const u8,
    ) -> Result<()> {
        let (modules, stream) = (&self.owner.modules, &self.stream);
        // SAFETY: the caller keeps the contract of `Modules::set`: `value` points to a value of the
        // variable's type, and no kernel on another stream reads the variable.
        unsafe { modules.set(stream, module, constant, value) }
    }

    /// Fails with what the driver says of an operation that failed.
    pub(super) fn check(&self, result: CudaResult<()>, operation: &str) -> Result<()> {
        self.owner.primary.check(result, operation)
    }

    /// Sets the stack of each thread whose kernel calls functions that the compiler cannot know.
    pub fn set_stack_size(&self, bytes: usize) -> Result<()> {
        let limit = sys::CUlimit::CU_LIMIT_STACK_SIZE;
        // SAFETY: the context is current.
        let set = || unsafe { sys::cuCtxSetLimit(limit, bytes) }.to_result();
        let operation = format_args!("setting stacks of {bytes} bytes");
        self.owner.primary.call(operation, set)
    }

    /// Lets launches on this handle's stream use buffers of any handle. From now on the stream
    /// waits for each allocation, and freeing waits for the stream, on the GPU. The first call waits
    /// for captures of other threads, or fails on a thread of rayon.
    pub fn use_any_buffer(&self) -> Result<()> {
        if self.uses_any_buffer() {
            return Ok(());
        }
        let primary = &self.owner.primary;
        // Waiting for all streams fails while one is captured, and so does the capture.
        let _none_begins = primary.between_captures("launch on a stream")?;
        let mut unordered = lock(&self.owner.unordered);
        // Another thread may have been faster.
        if !unordered.iter().any(|stream| self.is_on(stream)) {
            // Existing buffers may be of any stream. Later allocations wait for the lock.
            primary.synchronize()?;
            unordered.push(self.stream.clone());
        }
        Ok(())
    }

    fn uses_any_buffer(&self) -> bool {
        lock(&self.owner.unordered)
            .iter()
            .any(|stream| self.is_on(stream))
    }

    /// Ends [`use_any_buffer`](Self::use_any_buffer), after the launches have finished.
    pub fn use_own_buffers(&self) {
        if self.uses_any_buffer() {
            // If waiting fails, the context is lost, and its work with it.
            let _ = self.stream.synchronize();
            lock(&self.owner.unordered).retain(|stream| !self.is_on(stream));
        }
    }

    fn is_on(&self, stream: &Arc<Stream>) -> bool {
        Arc::ptr_eq(stream, &self.stream)
    }

    /// Returns the other streams whose launches may use buffers of this handle.
    fn unordered(&self) -> Vec<Arc<Stream>> {
        let mut streams = lock(&self.owner.unordered).clone();
        streams.retain(|stream| !self.is_on(stream));
        streams
    }

    /// Makes streams whose launches may use buffers of this handle wait for its present work.
    /// Recorded work is not present: they wait when the graph is launched.
    fn publish(&self) -> Result<()> {
        if self.records {
            return Ok(());
        }
        let wait = |stream: &Arc<Stream>| stream.wait_for(&self.stream);
        self.unordered().iter().try_for_each(wait)
    }

    /// Allocates memory in the order of the stream. Its content is unspecified.
    pub fn allocate(&self, bytes: usize) -> Result<Allocation> {
        let mut address = 0;
        if bytes > 0 {
            let Owner { pool, primary, .. } = &*self.owner;
            let _bound = primary.bind()?;
            let mut allocated = pool.allocate(&self.stream, bytes);
            if allocated == Err(CudaError::OutOfMemory) {
                // Memory freed in the order of a stream becomes free when the stream has finished,
                // and kept memory can be allocated in other sizes.
                self.owner.free_spares();
                if !primary.synchronize_unless_captured()? {
                    self.stream.synchronize()?;
                }
                pool.trim();
                allocated = pool.allocate(&self.stream, bytes);
            }
            if allocated == Err(CudaError::OutOfMemory) {
                let memory = MemoryKind::Device(self.properties().id);
                return Err(no_memory(memory, bytes as u64, primary.memory()));
            }
            address = primary.check(allocated, "allocating memory")?;
        }
        let allocation = Allocation {
            gpu: self.clone(),
            address,
            bytes: bytes as u64,
            owner: None,
        };
        self.publish()?;
        Ok(allocation)
    }

    /// Takes memory of another library, which `owner` keeps.
    ///
    /// # Safety
    /// As [`Memory::foreign`](crate::device::memory::Memory::foreign).
    pub unsafe fn borrow(
        &self,
        address: *mut u8,
        bytes: usize,
        owner: ForeignOwner,
    ) -> Result<Allocation> {
        self.owner.borrowed.give_back();
        let address = if bytes == 0 { 0 } else { address.addr() as u64 };
        if bytes > 0 {
            self.require_own(address)?;
        }
        Ok(Allocation {
            gpu: self.clone(),
            address,
            bytes: bytes as u64,
            owner: Some(owner),
        })
    }

    /// Fails unless the driver knows the address as memory of this GPU.
    fn require_own(&self, address: sys::CUdeviceptr) -> Result<()> {
        let _bound = self.owner.primary.bind()?;
        let mut ordinal = 0i32;
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        // SAFETY: writes one integer, and only looks at the address.
        let known =
            unsafe { sys::cuPointerGetAttribute((&raw mut ordinal).cast(), attribute, address) };
        let place = DeviceKind::Cuda {
            ordinal: ordinal as usize,
        };
        let message = if known.to_result().is_err() {
            "the driver does not know the address as memory of a GPU".to_string()
        } else if place != self.properties().id.kind {
            format!("the memory is that of {place}")
        } else {
            return Ok(());
        };
        Err(Error::input("buffer from raw memory", message))
    }

    /// Drops the owners of memory of other libraries whose work has finished.
    pub fn give_back(&self) {
        self.owner.borrowed.give_back();
    }

    /// Waits for all streams of the GPU's context.
    pub fn synchronize_all(&self) -> Result<()> {
        let primary = &self.owner.primary;
        // Waiting for all streams fails while one is captured, and so does the capture.
        let none_begins = primary.between_captures("waiting for all streams")?;
        let waited = primary.synchronize();
        drop(none_begins);
        self.give_back();
        waited
    }
}

/// Memory of a GPU, freed in the order of its handle's stream.
pub struct Allocation {
    gpu: Gpu,
    /// 0 for no memory: the driver does not allocate 0 bytes.
    address: sys::CUdeviceptr,
    bytes: u64,
    /// The owner of memory that comes from another library.
    owner: Option<ForeignOwner>,
}

impl Allocation {
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Whether the memory is freed in the order of a handle's stream.
    pub fn is_of(&self, gpu: &Gpu) -> bool {
        self.gpu.shares_stream(gpu)
    }

    /// Passes the memory to another handle of the same GPU, whose stream waits for this one's.
    pub fn pass_to(&mut self, gpu: &Gpu) -> Result<()> {
        if !gpu.shares_stream(&self.gpu) {
            gpu.stream.wait_for(&self.gpu.stream)?;
            self.gpu = gpu.clone();
        }
        Ok(())
    }

    /// Sets the first `bytes` bytes to zero on the stream of `on`: of the handle that owns the
    /// memory, or of one that records the work of that handle.
    pub fn fill_zero(&self, on: &Gpu, bytes: usize) -> Result<()> {
        assert!(bytes as u64 <= self.bytes);
        // SAFETY: the memory has `bytes` bytes, and freeing is ordered on the same stream, or waits
        // for the graph.
        unsafe { on.stream.fill_zero(self.address, bytes)? };
        on.publish()
    }

    /// Copies `source` to the GPU in the order of the stream. `source` may change when this returns:
    /// copies of more than [`SLOT`] bytes have finished then.
    pub fn copy_from(&self, source: &[u8]) -> Result<()> {
        let (gpu, length) = (&self.gpu, source.len());
        assert!(length as u64 <= self.bytes);
        gpu.stream.refuse_capture()?;
        if length <= SLOT {
            let (from, operation) = (source.as_ptr(), "copying to the GPU");
            // SAFETY: both have these bytes, and freeing is ordered on the same stream.
            return unsafe { gpu.stream.upload(from, length, self.address, operation) };
        }
        // SAFETY: the bytes are borrowed until the wait below has finished.
        let started = unsafe { self.start_copy_from(gpu, 0, source) };
        started.and(gpu.stream.synchronize())
    }

    /// Copies the bytes from byte `start` on to `target`, and waits.
    pub fn copy_to(&self, start: usize, target: &mut [u8]) -> Result<()> {
        let (gpu, length) = (&self.gpu, target.len());
        if (1..=MAILBOX).contains(&length) {
            // Results that calls wait for: the driver takes 2 µs longer to copy them to memory that
            // is not page-locked.
            let mut mailbox = gpu.owner.mailboxes.take()?;
            let place = &mut mailbox.as_mut_slice()[..length];
            // SAFETY: nothing else accesses the place until the wait below has finished.
            let copied = unsafe { self.start_copy_to(gpu, start, place) };
            copied.and(gpu.stream.synchronize())?;
            target.copy_from_slice(place);
            gpu.owner.mailboxes.put_back(mailbox);
            return Ok(());
        }
        // SAFETY: `target` is borrowed until the wait below has finished.
        let started = unsafe { self.start_copy_to(gpu, start, target) };
        started.and(gpu.stream.synchronize())
    }

    /// Starts a copy to the GPU, to byte `start` and following, on the stream of `on`. Large copies
    /// from pageable memory have finished when this returns.
    ///
    /// # Safety
    /// `source` does not change, and the allocation is not freed, before the stream has done this.
    pub unsafe fn start_copy_from(&self, on: &Gpu, start: usize, source: &[u8]) -> Result<()> {
        assert!((start + source.len()) as u64 <= self.bytes);
        let (staging, address) = (&self.gpu.owner.staging, self.address + start as u64);
        // SAFETY: the memory has these bytes; by the contract of this function, `source` does not
        // change and the memory is not freed before the stream has done this.
        unsafe { staging.copy_in(&on.stream, source, address) }
    }

    /// Starts a copy to the GPU from page-locked memory, to byte `start` and following, on the
    /// stream of `on`.
    ///
    /// # Safety
    /// As [`start_copy_from`](Self::start_copy_from).
    pub unsafe fn start_copy_from_locked(
        &self,
        on: &Gpu,
        start: usize,
        source: &HostAllocation<u8>,
    ) -> Result<()> {
        let source = source.as_slice();
        assert!((start + source.len()) as u64 <= self.bytes);
        // SAFETY: the memory has these bytes; by the contract of this function, `source` does not
        // change and the memory is not freed before the stream has done this.
        unsafe { on.stream.copy_in(source, self.address + start as u64) }
    }

    /// Starts a copy of `bytes` bytes of `source`, from byte `start` on, on the stream of `on`.
    ///
    /// # Safety
    /// Before the stream has done this, neither is freed, and nothing else writes to them.
    pub unsafe fn start_copy_of(
        &self,
        on: &Gpu,
        source: &Allocation,
        start: usize,
        bytes: usize,
    ) -> Result<()> {
        assert!(bytes as u64 <= self.bytes && (start + bytes) as u64 <= source.bytes);
        let from = source.address + start as u64;
        // SAFETY: both have these bytes, and allocations do not overlap; by the contract of this
        // function, neither is freed or written before the stream has done this.
        unsafe { on.stream.copy_within(from, self.address, bytes)? };
        on.publish()
    }

    /// Starts a copy from the GPU, from byte `start` on, on the stream of `on`. Large copies to
    /// pageable memory have finished when this returns.
    ///
    /// # Safety
    /// Before the stream has done this, nothing else accesses `target` or frees the allocation.
    pub unsafe fn start_copy_to(&self, on: &Gpu, start: usize, target: &mut [u8]) -> Result<()> {
        assert!((start + target.len()) as u64 <= self.bytes);
        let (staging, address) = (&self.gpu.owner.staging, self.address + start as u64);
        // SAFETY: the memory has these bytes; by the contract of this function, nothing else
        // accesses `target` and the memory is not freed before the stream has done this.
        unsafe { staging.copy_out(&on.stream, address, target) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let Owner {
            pool,
            borrowed,
            primary,
            ..
        } = &*self.gpu.owner;
        if self.address == 0 {
            return;
        }
        let Ok(_bound) = primary.bind() else {
            return;
        };
        for stream in self.gpu.unordered() {
            if self.gpu.stream.wait_for(&stream).is_err() {
                // If waiting fails, the context is lost, and its work with it.
                let _ = stream.synchronize();
            }
        }
        if let Some(owner) = self.owner.take() {
            return borrowed.keep(&self.gpu.stream, owner);
        }
        // SAFETY: allocated in `Gpu::allocate` and freed once. Other streams that used the memory
        // have made this one wait: see `Device::ordered_with`, or above.
        unsafe { pool.free(&self.gpu.stream, self.address, self.bytes) };
    }
}
