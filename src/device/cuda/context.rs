//! A GPU's primary context.

use super::check;
use super::memory::Pool;
use super::module::PresentModule;
use super::staging::Shelf;
use super::stream::StreamHandle;
use crate::device::{DeviceInfo, DeviceKind, lock};
use crate::{Error, Result};
use cust::device::{Device as CustDevice, DeviceAttribute};
use cust::sys;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

/// The primary context of a GPU, shared by all that was made for its ordinal.
pub struct Context {
    name: String,
    raw: sys::CUcontext,
    device: CustDevice,
    ordinal: usize,
    compute_capability: (u32, u32),
    multiprocessors: usize,
    total_memory: u64,
    shared_memory_per_block: u32,
    pool: Option<Pool>,
    /// Made right after the context itself.
    main_stream: Option<StreamHandle>,
    /// Streams beside the main one.
    user_streams: AtomicUsize,
    modules: Mutex<HashMap<usize, PresentModule>>,
    /// For copies from and to pageable memory.
    shelf: Mutex<Shelf>,
}

// SAFETY: the driver's contexts and functions may be used from any thread; the rest is.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// Initialises the driver, once, and keeps its answer.
fn initialize() -> Result<(), String> {
    static RESULT: OnceLock<Result<(), String>> = OnceLock::new();
    RESULT
        .get_or_init(|| {
            cust::driver::load_status().map_err(|error| error.to_string())?;
            cust::init(cust::CudaFlags::empty()).map_err(|error| {
                cust::driver::last_error()
                    .map_or_else(|| error.to_string(), cust::driver::error_text)
            })
        })
        .clone()
}

/// The number of GPUs, or why there are none.
pub fn device_count() -> Result<usize, String> {
    initialize()?;
    let count = CustDevice::num_devices().map_err(|error| error.to_string())?;
    Ok(count as usize)
}

impl Context {
    /// The context of GPU `ordinal`, made if nothing holds it.
    pub fn open(ordinal: usize) -> Result<Arc<Context>> {
        static OPEN: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());
        let unavailable = |reason| Error::Unavailable {
            device: format!("cuda:{ordinal}"),
            reason,
        };
        let count = device_count().map_err(unavailable)?;
        if ordinal >= count {
            let reason = format!("the driver counts {count} GPUs, from 0");
            return Err(unavailable(reason));
        }
        let mut open = lock(&OPEN);
        // The driver's count never changes.
        open.resize_with(count, Weak::new);
        if let Some(context) = open[ordinal].upgrade() {
            return Ok(context);
        }
        let context = Arc::new(Self::new(ordinal)?);
        open[ordinal] = Arc::downgrade(&context);
        Ok(context)
    }

    fn new(ordinal: usize) -> Result<Context> {
        let name = format!("cuda:{ordinal}");
        let of_cust = |error: cust::error::CudaError| Error::Unavailable {
            device: name.clone(),
            reason: cust::driver::last_error()
                .map_or_else(|| error.to_string(), cust::driver::error_text),
        };
        let device = CustDevice::get_device(ordinal as u32).map_err(of_cust)?;
        let attribute = |attribute| device.get_attribute(attribute).map_err(of_cust);
        let compute_capability = (
            attribute(DeviceAttribute::ComputeCapabilityMajor)? as u32,
            attribute(DeviceAttribute::ComputeCapabilityMinor)? as u32,
        );
        let multiprocessors = attribute(DeviceAttribute::MultiprocessorCount)? as usize;
        let total_memory = device.total_memory().map_err(of_cust)? as u64;
        let shared_memory_per_block = {
            let mut bytes = 0;
            // cust's list of attributes lacks this one.
            let opt_in =
                sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
            // SAFETY: it writes one integer; the device is the driver's.
            let result = unsafe { sys::cuDeviceGetAttribute(&mut bytes, opt_in, device.as_raw()) };
            check(result, "reading the shared memory's size", &name)?;
            bytes as u32
        };
        let mut raw = null_mut();
        // SAFETY: it writes one handle; the device is the driver's.
        let result = unsafe { sys::cuDevicePrimaryCtxRetain(&mut raw, device.as_raw()) };
        check(result, "making the primary context", &name)?;
        let mut context = Context {
            name,
            raw,
            device,
            ordinal,
            compute_capability,
            multiprocessors,
            total_memory,
            shared_memory_per_block,
            pool: None,
            main_stream: None,
            user_streams: AtomicUsize::new(0),
            modules: Mutex::new(HashMap::new()),
            shelf: Mutex::default(),
        };
        let pool = {
            let _bound = context.bind()?;
            Pool::new(device.as_raw())
        };
        context.pool = pool;
        context.main_stream = Some(StreamHandle::new(&context)?);
        Ok(context)
    }

    /// `cuda:0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub fn compute_capability(&self) -> (u32, u32) {
        self.compute_capability
    }

    pub fn shared_memory_per_block(&self) -> u32 {
        self.shared_memory_per_block
    }

    pub fn multiprocessors(&self) -> usize {
        self.multiprocessors
    }

    /// Bytes.
    pub fn total_memory(&self) -> u64 {
        self.total_memory
    }

    pub fn main_stream(&self) -> &StreamHandle {
        self.main_stream
            .as_ref()
            .expect("made before the context is given out")
    }

    /// Waits for the main stream.
    pub fn synchronize(&self) -> Result<()> {
        self.main_stream().synchronize(self)
    }

    pub fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref()
    }

    /// Whether work may run on other streams than the main one.
    pub fn has_user_streams(&self) -> bool {
        self.user_streams.load(Ordering::Acquire) > 0
    }

    pub fn add_user_stream(&self) {
        self.user_streams.fetch_add(1, Ordering::AcqRel);
    }

    pub fn remove_user_stream(&self) {
        self.user_streams.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn modules(&self) -> MutexGuard<'_, HashMap<usize, PresentModule>> {
        lock(&self.modules)
    }

    pub fn shelf(&self) -> MutexGuard<'_, Shelf> {
        lock(&self.shelf)
    }

    /// Makes the context current on this thread until the guard is dropped.
    pub fn bind(&self) -> Result<Bound<'_>> {
        // SAFETY: the context is retained as long as `self` lives.
        let result = unsafe { sys::cuCtxPushCurrent_v2(self.raw) };
        self.check(result, "making the context current")?;
        Ok(Bound {
            context: self,
            not_send: PhantomData,
        })
    }

    /// Turns a result code into an error that names the operation.
    pub fn check(&self, result: sys::CUresult, operation: &str) -> Result<()> {
        check(result, operation, &self.name)
    }

    /// Bytes of memory that are free, and in all.
    pub fn memory(&self) -> Option<(u64, u64)> {
        let _bound = self.bind().ok()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: it writes two integers.
        let result = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
        self.check(result, "asking for free memory").ok()?;
        Some((free as u64, total as u64))
    }

    pub fn info(&self) -> DeviceInfo {
        let memory = self.memory();
        DeviceInfo {
            kind: DeviceKind::Cuda {
                ordinal: self.ordinal,
            },
            name: self
                .device
                .name()
                .unwrap_or_else(|_| "a GPU without a name".to_string()),
            compute_capability: Some(self.compute_capability),
            total_memory: memory.map(|(_, total)| total),
            free_memory: memory.map(|(free, _)| free),
            processors: self.multiprocessors,
            shared_memory_per_block: Some(self.shared_memory_per_block),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Streams and modules belong to the context: they go first, while it is current.
        if let Ok(_bound) = self.bind() {
            // SAFETY: the context is current.
            unsafe { sys::cuCtxSynchronize() };
            if let Some(pool) = &self.pool {
                // SAFETY: allocations keep the context alive, so all have been freed.
                unsafe { pool.destroy() };
            }
            if let Some(staging) = self.shelf().take() {
                // SAFETY: the context is current, and all has been waited for.
                unsafe { staging.destroy() };
            }
            if let Some(stream) = &self.main_stream {
                // SAFETY: the last owner of the context is the last user of its main stream.
                unsafe { stream.destroy() };
            }
            for (_, module) in self.modules().drain() {
                // SAFETY: launches keep the context alive, and their work has been waited for.
                unsafe { module.unload() };
            }
        }
        // SAFETY: retained once in `new`.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) };
    }
}

/// A context that is current on this thread.
pub struct Bound<'a> {
    context: &'a Context,
    /// The driver's stack of contexts is the thread's: the guard must not leave it.
    not_send: PhantomData<*mut ()>,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        let mut popped = null_mut();
        // SAFETY: pushed by `bind` on this thread, which the guard cannot leave.
        unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        debug_assert_eq!(
            popped, self.context.raw,
            "contexts are popped in reverse order"
        );
    }
}
