//! Streams and events.

use super::context::Context;
use crate::Result;
use crate::device::stream::{not_recorded, wrong_order};
use crate::device::{Device, Kind, lock};
use cust::sys::{self, cudaError_enum};
use std::fmt;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A stream that does not wait for the legacy default stream. Whoever holds it holds its context
/// too, and destroys it.
pub struct StreamHandle {
    raw: sys::CUstream,
    /// The kernel started last, for the message when waiting fails.
    last_kernel: Mutex<Option<&'static str>>,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for StreamHandle {}
// SAFETY: as above.
unsafe impl Sync for StreamHandle {}

impl StreamHandle {
    pub fn new(context: &Context) -> Result<Self> {
        let _bound = context.bind()?;
        let mut raw = null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: it writes one handle.
        let result = unsafe { sys::cuStreamCreateWithPriority(&mut raw, flags, 0) };
        context.check(result, "making a stream")?;
        Ok(Self {
            raw,
            last_kernel: Mutex::new(None),
        })
    }

    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Remembers the kernel for messages.
    pub fn set_last_kernel(&self, name: &'static str) {
        *lock(&self.last_kernel) = Some(name);
    }

    /// Waits for the stream, which is of that context.
    pub fn synchronize(&self, context: &Context) -> Result<()> {
        let _bound = context.bind()?;
        // SAFETY: the stream lives as long as `self`.
        let result = unsafe { sys::cuStreamSynchronize(self.raw) };
        if result == cudaError_enum::CUDA_SUCCESS {
            return Ok(());
        }
        let operation = match *lock(&self.last_kernel) {
            Some(kernel) => format!("waiting for a stream whose last kernel was {kernel}"),
            None => "waiting for a stream".to_string(),
        };
        context.check(result, &operation)
    }

    /// # Safety
    /// The context is current, and nothing uses the stream any more.
    pub unsafe fn destroy(&self) {
        // SAFETY: passed on to the caller.
        unsafe { sys::cuStreamDestroy_v2(self.raw) };
    }
}

/// A stream beside the main one.
pub struct UserStream {
    handle: StreamHandle,
    context: Arc<Context>,
}

impl UserStream {
    pub fn handle(&self) -> &StreamHandle {
        &self.handle
    }

    pub fn synchronize(&self) -> Result<()> {
        self.handle.synchronize(&self.context)
    }
}

impl Drop for UserStream {
    fn drop(&mut self) {
        if let Ok(_bound) = self.context.bind() {
            // Memory may only be freed in the order of the main stream while no other is at work.
            // SAFETY: the context is current, and this was the only handle.
            unsafe {
                sys::cuStreamSynchronize(self.handle.raw);
                self.handle.destroy();
            }
            self.context.remove_user_stream();
        }
    }
}

impl Context {
    pub fn new_stream(self: &Arc<Self>) -> Result<UserStream> {
        let handle = StreamHandle::new(self)?;
        self.add_user_stream();
        let stream = UserStream {
            handle,
            context: self.clone(),
        };
        // The new stream may use memory that came in the order of the main stream.
        self.synchronize()?;
        Ok(stream)
    }

    pub fn new_event(self: &Arc<Self>) -> Result<EventHandle> {
        let _bound = self.bind()?;
        let mut raw = null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT as u32;
        // SAFETY: it writes one handle.
        let result = unsafe { sys::cuEventCreate(&mut raw, flags) };
        self.check(result, "making an event")?;
        Ok(EventHandle {
            raw,
            context: self.clone(),
        })
    }
}

/// An event with timing.
pub struct EventHandle {
    raw: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for EventHandle {}
// SAFETY: as above.
unsafe impl Sync for EventHandle {}

impl EventHandle {
    pub fn device(&self) -> Device {
        Kind::Cuda(self.context.clone()).into()
    }

    pub fn record(&self, stream: &StreamHandle) -> Result<()> {
        let _bound = self.context.bind()?;
        // SAFETY: both live; that they are of one context the driver checks.
        let result = unsafe { sys::cuEventRecord(self.raw, stream.raw()) };
        self.context.check(result, "recording an event")
    }

    pub fn make_wait(&self, stream: &StreamHandle) -> Result<()> {
        let _bound = self.context.bind()?;
        // SAFETY: both live.
        let result = unsafe { sys::cuStreamWaitEvent(stream.raw(), self.raw, 0) };
        self.context
            .check(result, "waiting for an event on a stream")
    }

    pub fn synchronize(&self) -> Result<()> {
        let _bound = self.context.bind()?;
        // SAFETY: the event lives.
        let result = unsafe { sys::cuEventSynchronize(self.raw) };
        self.context.check(result, "waiting for an event")
    }

    pub fn elapsed_since(&self, start: &EventHandle) -> Result<Duration> {
        start.synchronize()?;
        self.synchronize()?;
        let _bound = self.context.bind()?;
        let mut milliseconds = 0.0;
        // SAFETY: both live, and have happened if they were recorded.
        let result = unsafe { sys::cuEventElapsedTime(&mut milliseconds, start.raw, self.raw) };
        if result == cudaError_enum::CUDA_ERROR_INVALID_HANDLE {
            return Err(not_recorded());
        }
        self.context
            .check(result, "reading the time between events")?;
        Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).map_err(|_| wrong_order())
    }
}

impl fmt::Debug for EventHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event on {}", self.context.name())
    }
}

impl Drop for EventHandle {
    fn drop(&mut self) {
        if let Ok(_bound) = self.context.bind() {
            // SAFETY: made once, destroyed once; the driver waits where it must.
            unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}
