//! Contexts.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::device::Device;
use crate::error::CudaResult;
use crate::sys::{self, CUcontext, CUresult};

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
    /// The error that the driver returns.
    pub fn new(device: Device) -> CudaResult<Context> {
        let context = Context::retain(device)?;
        CurrentContext::set_current(&context)?;
        Ok(context)
    }

    /// Retains the primary context of a device. [`bind`](Self::bind) makes it current.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn retain(device: Device) -> CudaResult<Context> {
        let mut inner = std::ptr::null_mut();
        // SAFETY: it writes one handle; the device is the driver's.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut inner, device.as_raw()) }.to_result()?;
        Ok(Context { inner, device })
    }

    /// Makes the context current on this thread until the result is dropped, after which the
    /// context from before is current again.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use cust::event::{Event, EventFlags};
    /// use cust::prelude::*;
    ///
    /// # fn main() -> Result<(), cust::error::CudaError> {
    /// cust::init(CudaFlags::empty())?;
    /// let context = Arc::new(Context::retain(Device::get_device(0)?)?);
    /// let event = Event::new_in(&context, EventFlags::DEFAULT)?;
    /// let _bound = context.bind()?;
    /// event.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn bind(&self) -> CudaResult<Bound<'_>> {
        Bound::new(self.inner)
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
    /// The error that the driver returns.
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

/// A context that [`Context::bind`] has made current on this thread. Values are dropped in reverse
/// order.
#[derive(Debug)]
pub struct Bound<'a> {
    /// The handle keeps the value on its thread.
    context: CUcontext,
    of: PhantomData<&'a Context>,
}

impl Bound<'_> {
    fn new(context: CUcontext) -> CudaResult<Self> {
        // SAFETY: the driver refuses handles that are no contexts.
        unsafe { sys::cuCtxPushCurrent_v2(context) }.to_result()?;
        let of = PhantomData;
        Ok(Self { context, of })
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // SAFETY: takes away the context from `new`, and writes its handle.
        let result = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        // A driver that has shut down pops nothing.
        debug_assert!(
            result != CUresult::CUDA_SUCCESS || popped == self.context,
            "contexts are popped in reverse order"
        );
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
    /// The same context, if it is a primary one.
    kept: Option<Arc<Context>>,
}

// SAFETY: the driver's contexts may be used from any thread.
unsafe impl Send for Owner {}
// SAFETY: a shared reference only reads the handle, and the driver's calls are thread-safe.
unsafe impl Sync for Owner {}

impl Owner {
    /// No context.
    pub(crate) const NONE: Self = Self {
        context: std::ptr::null_mut(),
        kept: None,
    };

    /// Makes an object by a call while a context is current.
    pub(crate) fn make<T>(
        context: &Arc<Context>,
        call: impl FnOnce(Self) -> CudaResult<T>,
    ) -> CudaResult<T> {
        let _bound = context.bind()?;
        call(Self {
            context: context.inner,
            kept: Some(context.clone()),
        })
    }

    /// Returns the context that is current on this thread.
    pub(crate) fn current() -> CudaResult<Self> {
        let mut owner = Self::NONE;
        // SAFETY: it writes one handle.
        unsafe { sys::cuCtxGetCurrent(&mut owner.context) }.to_result()?;
        if owner.context.is_null() {
            return Ok(owner);
        }
        let mut device = 0;
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
        let primary = Context::retain(Device { device })?;
        owner.kept = (primary.inner == owner.context).then(|| Arc::new(primary));
        Ok(owner)
    }

    pub(crate) fn is_none(&self) -> bool {
        self.context.is_null()
    }

    /// Destroys the object by a call while this context is current. After that the context may go.
    pub(crate) fn destroy(&mut self, call: impl FnOnce() -> CUresult) -> CudaResult<()> {
        let bound = Bound::new(self.context)?;
        let result = call();
        drop(bound);
        result.to_result()?;
        self.release();
        Ok(())
    }

    /// Keeps the context no longer.
    pub(crate) fn release(&mut self) {
        self.kept = None;
    }
}
