//! Contexts.

use crate::device::Device;
use crate::error::CudaResult;
use crate::sys::{self, CUcontext};

/// A device's primary context, which all CUDA libraries of the process share. Kept until it is
/// dropped.
#[derive(Debug)]
pub struct Context {
    inner: CUcontext,
    device: Device,
}

// SAFETY: the driver's contexts may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the primary context of a device, and makes it current on this thread.
    ///
    /// # Errors
    ///
    /// What the driver returns.
    pub fn new(device: Device) -> CudaResult<Context> {
        let mut inner = std::ptr::null_mut();
        // SAFETY: it writes one handle; the device is the driver's.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut inner, device.as_raw()) }.to_result()?;
        let context = Context { inner, device };
        CurrentContext::set_current(&context)?;
        Ok(context)
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUcontext {
        self.inner
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once, in `new`.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) };
    }
}

/// The context that is current on a thread. All other functions of this crate use it.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Makes a context current on this thread. Each thread that uses the device needs this once.
    ///
    /// # Errors
    ///
    /// What the driver returns.
    pub fn set_current(context: &Context) -> CudaResult<()> {
        // SAFETY: the handle is a context that is retained.
        unsafe { sys::cuCtxSetCurrent(context.inner) }.to_result()
    }

    /// Waits for all work of the context that is current on this thread.
    ///
    /// # Errors
    ///
    /// If work has failed, also earlier work.
    pub fn synchronize() -> CudaResult<()> {
        // SAFETY: it has no preconditions.
        unsafe { sys::cuCtxSynchronize() }.to_result()
    }
}
