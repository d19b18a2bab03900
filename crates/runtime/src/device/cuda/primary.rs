//! A GPU's primary context, which all other modules here build on.

use super::words::words;
use crate::device::available::MemoryState;
use crate::device::info::Properties;
use crate::device::present::is_present;
use crate::device::{DeviceId, DeviceInfo, DeviceKind, DriverState, lock};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::{Error, Result};
use cust::context::{Bound, Context, CurrentContext};
use cust::device::{Device as CustDevice, DeviceAttribute};
use cust::error::{CudaError, CudaResult};
use cust::sys;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, PoisonError};

/// The primary context of a GPU, which other CUDA libraries in the process use too.
pub struct Primary {
    name: String,
    context: Arc<Context>,
    device: CustDevice,
    properties: Properties,
    /// Graphs that are captured at present. Only those who hold the gate change it.
    captures: AtomicUsize,
    captures_gate: Mutex<()>,
    capture_ended: Condvar,
}

/// Initialises the driver, and returns the number of GPUs or the reason why there are none.
pub fn count() -> Result<usize, String> {
    driver_state().count()
}

/// Initialises the driver at the first call, and returns its state.
pub fn driver_state() -> DriverState {
    static STATE: LazyLock<DriverState> = LazyLock::new(|| {
        if let Err(error) = cust::driver::load_status() {
            let reason = error.to_string();
            return DriverState::Missing { reason };
        }
        let count = cust::init(cust::CudaFlags::empty()).and_then(|()| CustDevice::num_devices());
        match count {
            Ok(count) => DriverState::Ready {
                gpus: count as usize,
            },
            Err(error) => DriverState::Failed {
                code: code_of(error),
                reason: reason(error),
            },
        }
    });
    STATE.clone()
}

/// Returns the driver's code of the error that just occurred. cust's enum lacks the codes of newer
/// drivers.
pub fn code_of(error: CudaError) -> u32 {
    cust::driver::last_error().unwrap_or(error as u32)
}

/// Returns the error that just occurred in words.
fn reason(error: CudaError) -> String {
    cust::driver::last_error().map_or_else(|| error.to_string(), words)
}

/// Turns the driver's error into one that names the operation and the device. The operation is
/// formatted only for an error: formatting takes as long as some of the driver's calls.
fn check<T>(result: CudaResult<T>, operation: impl fmt::Display, device: &str) -> Result<T> {
    result.map_err(|error| {
        let code = code_of(error);
        Error::Driver {
            operation: operation.to_string(),
            device: device.to_string(),
            code,
            message: words(code),
        }
    })
}

impl Primary {
    /// Retains the context of GPU `ordinal`, which exists.
    pub fn new(ordinal: usize) -> Result<Arc<Primary>> {
        let name = format!("cuda:{ordinal}");
        let unavailable = |error: CudaError| Error::Unavailable {
            device: name.clone(),
            reason: reason(error),
        };
        let device = CustDevice::get_device(ordinal as u32).map_err(unavailable)?;
        let attribute = |attribute| device.get_attribute(attribute).map_err(unavailable);
        let properties = Properties {
            id: DeviceId {
                kind: DeviceKind::Cuda { ordinal },
                number: 0,
            },
            compute_capability: (
                attribute(DeviceAttribute::ComputeCapabilityMajor)? as u32,
                attribute(DeviceAttribute::ComputeCapabilityMinor)? as u32,
            ),
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)? as usize,
            total_memory: device.total_memory().map_err(unavailable)? as u64,
            shared_memory_per_block: check(
                device.get_attribute(DeviceAttribute::MaxSharedMemoryPerBlockOptin),
                "reading the shared memory size",
                &name,
            )? as u32,
            threads_per_multiprocessor: check(
                device.get_attribute(DeviceAttribute::MaxThreadsPerMultiprocessor),
                "reading the threads of a multiprocessor",
                &name,
            )? as u32,
        };
        let context = Context::retain(device);
        let context = check(context, "creating the primary context", &name)?;
        Ok(Arc::new(Primary {
            name,
            context: Arc::new(context),
            device,
            properties,
            captures: AtomicUsize::new(0),
            captures_gate: Mutex::new(()),
            capture_ended: Condvar::new(),
        }))
    }

    /// Returns the device's name in messages, for example `cuda:0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub fn device(&self) -> CustDevice {
        self.device
    }

    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Counts a capture that is about to begin.
    pub fn begin_capture(&self) {
        let _gate = lock(&self.captures_gate);
        self.captures.fetch_add(1, Relaxed);
    }

    /// Counts a capture that has ended.
    pub fn end_capture(&self) {
        let _gate = lock(&self.captures_gate);
        self.captures.fetch_sub(1, Relaxed);
        self.capture_ended.notify_all();
    }

    /// Waits until no graph of this GPU is captured. No capture begins while the guard lives.
    ///
    /// Fails instead of waiting for a capture of this thread, or on a thread of rayon: that runs tasks
    /// of others while it waits for its own, so that the capture may only end after this returns.
    pub fn between_captures(&self, operation: &'static str) -> Result<MutexGuard<'_, ()>> {
        let gate = lock(&self.captures_gate);
        if self.is_captured() {
            if is_present() {
                let message = "this call waits until no graph is captured, and this thread captures \
                               one: call it before or after the capture";
                return Err(Error::input(operation, message));
            }
            if rayon::current_thread_index().is_some() {
                let message = "a thread of rayon cannot wait for the end of a capture: call this \
                               after the capture, or outside of parallel iterators and thread pools";
                return Err(Error::input(operation, message));
            }
        }
        let captured = |_: &mut ()| self.is_captured();
        let waited = self.capture_ended.wait_while(gate, captured);
        Ok(waited.unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a graph is captured: waiting for all streams would then fail, and the capture too.
    fn is_captured(&self) -> bool {
        self.captures.load(Relaxed) > 0
    }

    /// Makes the context current on this thread until the guard is dropped.
    pub fn bind(&self) -> Result<Bound<'_>> {
        self.check(self.context.bind(), "making the context current")
    }

    /// Turns the driver's error into one that names the operation.
    pub fn check<T>(&self, result: CudaResult<T>, operation: impl fmt::Display) -> Result<T> {
        check(result, operation, &self.name)
    }

    /// Calls the driver with the context current. An error names the operation.
    pub fn call<T>(
        &self,
        operation: impl fmt::Display,
        call: impl FnOnce() -> CudaResult<T>,
    ) -> Result<T> {
        let _bound = self.bind()?;
        self.check(call(), operation)
    }

    /// Waits for all streams of the context.
    pub fn synchronize(&self) -> Result<()> {
        self.call("waiting for all streams", CurrentContext::synchronize)
    }

    /// Waits for all streams of the context, unless a graph is captured. Returns whether it has
    /// waited. No capture begins meanwhile.
    pub fn synchronize_unless_captured(&self) -> Result<bool> {
        let _none_begins = lock(&self.captures_gate);
        match self.is_captured() {
            true => Ok(false),
            false => self.synchronize().map(|()| true),
        }
    }

    /// Returns the GPU's memory at present, if the driver reports it.
    pub fn memory(&self) -> Option<MemoryState> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two integers.
        let read = || unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }.to_result();
        self.call("reading the free memory", read).ok()?;
        Some(MemoryState {
            free: free as u64,
            total: total as u64,
        })
    }

    pub fn info(&self) -> DeviceInfo {
        let memory = self.memory();
        let name = self.device.name();
        let properties = &self.properties;
        DeviceInfo {
            kind: properties.id.kind,
            name: name.unwrap_or_else(|_| "unnamed GPU".to_string()),
            compute_capability: Some(properties.compute_capability),
            total_memory: memory.map(|memory| memory.total),
            free_memory: memory.map(|memory| memory.free),
            processors: properties.multiprocessors,
            shared_memory_per_block: Some(properties.shared_memory_per_block),
        }
    }
}
