//! Contexts.

use crate::device::Device;
use crate::error::CudaResult;
use crate::sys::{self, CUcontext, CUdevice, CUresult};

/// A device's primary context, which all CUDA libraries of the process share. Kept until this value
/// is dropped, and so is every stream, event, module and buffer that was made in the context.
#[derive(Debug)]
pub struct Context {
    inner: CUcontext,
    device: Device,
}

// SAFETY: the driver's contexts may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: the driver's calls are thread-safe, so several threads may use one at once.
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

    fn free(&mut self) -> CudaResult<()> {
        // SAFETY: retained once, in `new`.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) }.to_result()
    }
}

destroyed! { [] Context }

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

/// The context that an object was made in. The driver destroys an object only while its context is
/// current, and a value may be dropped on a thread without one.
///
/// The owner keeps a primary context: the driver would destroy the object with it, and could give
/// the handles of both to others.
#[derive(Debug)]
pub(crate) struct Owner {
    context: CUcontext,
    /// The device, if this is its primary context.
    device: Option<CUdevice>,
}

// SAFETY: the driver's contexts may be used from any thread.
unsafe impl Send for Owner {}
// SAFETY: a shared reference only reads the handle, and the driver's calls are thread-safe.
unsafe impl Sync for Owner {}

impl Owner {
    /// No context.
    pub(crate) const NONE: Self = Self {
        context: std::ptr::null_mut(),
        device: None,
    };

    /// Returns the context that is current on this thread.
    pub(crate) fn current() -> CudaResult<Self> {
        let mut owner = Self::NONE;
        // SAFETY: it writes one handle.
        unsafe { sys::cuCtxGetCurrent(&mut owner.context) }.to_result()?;
        if owner.context.is_null() {
            return Ok(owner);
        }
        let (mut device, mut primary) = (0, std::ptr::null_mut());
        // SAFETY: it writes one device.
        unsafe { sys::cuCtxGetDevice(&mut device) }.to_result()?;
        let (mut flags, mut is_active) = (0, 0);
        // SAFETY: it writes two numbers; the device is the driver's.
        unsafe { sys::cuDevicePrimaryCtxGetState(device, &mut flags, &mut is_active) }
            .to_result()?;
        if is_active == 0 {
            // Another library's context, which the library keeps. Retaining would make one.
            return Ok(owner);
        }
        // SAFETY: it writes one handle; the device is the driver's.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut primary, device) }.to_result()?;
        owner.device = Some(device);
        if primary != owner.context {
            owner.release();
        }
        Ok(owner)
    }

    /// Destroys the object by a call while this context is current. After that the context may go.
    pub(crate) fn destroy(&mut self, call: impl FnOnce() -> CUresult) -> CudaResult<()> {
        // SAFETY: the driver refuses handles that are no contexts.
        unsafe { sys::cuCtxPushCurrent_v2(self.context) }.to_result()?;
        let result = call();
        let mut popped = std::ptr::null_mut();
        // SAFETY: it takes away the context from above, and writes its handle. After an error the
        // object is gone all the same.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        result.to_result()?;
        self.release();
        Ok(())
    }

    /// Keeps the context no longer.
    pub(crate) fn release(&mut self) {
        if let Some(device) = self.device.take() {
            // SAFETY: retained once, in `current`. An error has nobody to go to.
            let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(device) };
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.release();
    }
}
