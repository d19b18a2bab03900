//! A GPU's primary context, on which everything else of a GPU stands.

use crate::device::{DeviceInfo, DeviceKind};
use crate::{Error, Result};
use cust::device::{Device as CustDevice, DeviceAttribute};
use cust::sys::{self, cudaError_enum};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

/// The primary context of a GPU, which other CUDA libraries in the process use too.
pub struct Primary {
    name: String,
    raw: sys::CUcontext,
    device: CustDevice,
    ordinal: usize,
    compute_capability: (u32, u32),
    multiprocessors: usize,
    total_memory: u64,
    shared_memory_per_block: u32,
}

// SAFETY: the driver's contexts may be used from any thread; the other fields are plain values.
unsafe impl Send for Primary {}
// SAFETY: as above.
unsafe impl Sync for Primary {}

/// Initialises the driver once and keeps its answer.
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

/// Returns the number of GPUs, or the reason why there are none.
pub fn count() -> Result<usize, String> {
    initialize()?;
    let count = CustDevice::num_devices().map_err(|error| error.to_string())?;
    Ok(count as usize)
}

/// Turns a result code into an error that names the operation and the device.
fn check(result: sys::CUresult, operation: &str, device: &str) -> Result<()> {
    if result == cudaError_enum::CUDA_SUCCESS {
        return Ok(());
    }
    // cust's enum lacks the codes of newer drivers.
    let code = cust::driver::last_error().unwrap_or(result as u32);
    Err(Error::Driver {
        operation: operation.to_string(),
        device: device.to_string(),
        code,
        message: cust::driver::error_text(code),
    })
}

impl Primary {
    /// Retains the context of GPU `ordinal`, which exists.
    pub fn new(ordinal: usize) -> Result<Arc<Primary>> {
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
            // SAFETY: writes one integer; the device is the driver's.
            let result = unsafe { sys::cuDeviceGetAttribute(&mut bytes, opt_in, device.as_raw()) };
            check(result, "reading the shared memory size", &name)?;
            bytes as u32
        };
        let mut raw = null_mut();
        // SAFETY: writes one handle; the device is the driver's.
        let result = unsafe { sys::cuDevicePrimaryCtxRetain(&mut raw, device.as_raw()) };
        check(result, "creating the primary context", &name)?;
        Ok(Arc::new(Primary {
            name,
            raw,
            device,
            ordinal,
            compute_capability,
            multiprocessors,
            total_memory,
            shared_memory_per_block,
        }))
    }

    /// `cuda:0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub fn raw_device(&self) -> sys::CUdevice {
        self.device.as_raw()
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

    /// Makes the context current on this thread until the guard is dropped.
    pub fn bind(&self) -> Result<Bound<'_>> {
        // SAFETY: the context is retained as long as `self` lives.
        let result = unsafe { sys::cuCtxPushCurrent_v2(self.raw) };
        self.check(result, "making the context current")?;
        Ok(Bound {
            primary: self,
            not_send: PhantomData,
        })
    }

    /// Turns a result code into an error that names the operation.
    pub fn check(&self, result: sys::CUresult, operation: &str) -> Result<()> {
        check(result, operation, &self.name)
    }

    /// Waits for all streams of the context.
    pub fn synchronize(&self) -> Result<()> {
        let _bound = self.bind()?;
        // SAFETY: the context is current.
        let result = unsafe { sys::cuCtxSynchronize() };
        self.check(result, "waiting for all streams")
    }

    /// Returns the bytes of memory that are free, and all bytes.
    pub fn memory(&self) -> Option<(u64, u64)> {
        let _bound = self.bind().ok()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two integers.
        let result = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
        self.check(result, "reading the free memory").ok()?;
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
                .unwrap_or_else(|_| "unnamed GPU".to_string()),
            compute_capability: Some(self.compute_capability),
            total_memory: memory.map(|(_, total)| total),
            free_memory: memory.map(|(free, _)| free),
            processors: self.multiprocessors,
            shared_memory_per_block: Some(self.shared_memory_per_block),
        }
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: retained once in `new`; what belongs to the context keeps `self` alive.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) };
    }
}

/// A context that is current on this thread.
pub struct Bound<'a> {
    primary: &'a Primary,
    /// The driver's stack of contexts is the thread's: the guard must not leave it.
    not_send: PhantomData<*mut ()>,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        let mut popped = null_mut();
        // SAFETY: pushed by `bind` on this thread, which the guard cannot leave.
        unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        debug_assert_eq!(
            popped, self.primary.raw,
            "contexts are popped in reverse order"
        );
    }
}
