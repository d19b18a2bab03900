//! Streams.

use std::borrow::Borrow;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use crate::context::{Context, Owner};
use crate::error::{CudaError, CudaResult};
use crate::event::Event;
use crate::function::{BlockSize, Function, GridSize};
use crate::sys::{self, CUstream, CUstream_flags};

/// The ordering of a stream with others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct StreamFlags(u32);

impl StreamFlags {
    /// No flags.
    pub const DEFAULT: Self = Self(0);
    /// The stream does not wait for the default stream, nor that for the stream. [`Stream::new`]
    /// ignores it.
    pub const NON_BLOCKING: Self = Self(CUstream_flags::CU_STREAM_NON_BLOCKING as u32);

    /// Returns the driver's number.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// Options of a wait for an event. The driver has only the default.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct StreamWaitEventFlags(u32);

impl StreamWaitEventFlags {
    /// No flags.
    pub const DEFAULT: Self = Self(0);
}

/// A queue of a device's work. It waits for copies of this crate, and they wait for it.
#[derive(Debug)]
pub struct Stream {
    inner: CUstream,
    owner: Owner,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: the driver's calls are thread-safe, so several threads may use one at once.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream in the context that is current on this thread. Lower numbers have a higher
    /// priority.
    ///
    /// As in cust, the stream is never [`NON_BLOCKING`](StreamFlags::NON_BLOCKING), whatever the
    /// flags: copies run in the default stream, and safe functions could read elements that a
    /// kernel has yet to write.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let flags = flags.bits() & !StreamFlags::NON_BLOCKING.bits();
        Self::of(Owner::current()?, flags, priority.unwrap_or(0))
    }

    /// Makes a [`NON_BLOCKING`](StreamFlags::NON_BLOCKING) stream in a context that need not be
    /// current.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    ///
    /// # Safety
    ///
    /// While the stream has work, no function of this crate copies or sets memory that the work
    /// uses.
    pub unsafe fn non_blocking_in(context: &Arc<Context>) -> CudaResult<Self> {
        let flags = StreamFlags::NON_BLOCKING.bits();
        Owner::make(context, |owner| Self::of(owner, flags, 0))
    }

    /// Returns a stream of another library. Dropping the value does not destroy the stream.
    ///
    /// # Safety
    ///
    /// The stream exists as long as the value. While the stream has work, no function of this crate
    /// copies or sets memory that the work uses.
    pub unsafe fn from_raw(inner: CUstream) -> Self {
        let owner = Owner::NONE;
        Self { inner, owner }
    }

    fn of(owner: Owner, flags: u32, priority: i32) -> CudaResult<Self> {
        let mut inner = null_mut();
        // SAFETY: it writes one handle.
        unsafe { sys::cuStreamCreateWithPriority(&mut inner, flags, priority) }.to_result()?;
        Ok(Self { inner, owner })
    }

    /// Returns the flags of the stream.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn get_flags(&self) -> CudaResult<StreamFlags> {
        let mut flags = 0;
        // SAFETY: it writes one integer; the stream lives.
        unsafe { sys::cuStreamGetFlags(self.inner, &mut flags) }.to_result()?;
        Ok(StreamFlags(flags))
    }

    /// Returns the priority of the stream, which the driver has clamped to what the device has.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn get_priority(&self) -> CudaResult<i32> {
        let mut priority = 0;
        // SAFETY: it writes one integer; the stream lives.
        unsafe { sys::cuStreamGetPriority(self.inner, &mut priority) }.to_result()?;
        Ok(priority)
    }

    /// Makes later work of this stream wait for the work before an event, without waiting on the
    /// host. The event may be dropped at once, and may be passed by value as in cust 0.3.2.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn wait_event(
        &self,
        event: impl Borrow<Event>,
        flags: StreamWaitEventFlags,
    ) -> CudaResult<()> {
        // SAFETY: the stream and the event live.
        unsafe { sys::cuStreamWaitEvent(self.inner, event.borrow().as_inner(), flags.0) }
            .to_result()
    }

    /// Waits for all work of the stream.
    ///
    /// # Errors
    ///
    /// If work has failed, also earlier work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the stream lives.
        unsafe { sys::cuStreamSynchronize(self.inner) }.to_result()
    }

    /// Returns whether all work of the stream is done, without waiting.
    ///
    /// # Errors
    ///
    /// As [`synchronize`](Self::synchronize).
    pub fn is_idle(&self) -> CudaResult<bool> {
        // SAFETY: the stream lives.
        match unsafe { sys::cuStreamQuery(self.inner) }.to_result() {
            Err(CudaError::NotReady) => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Starts a kernel; see [`launch!`](crate::launch).
    ///
    /// # Errors
    ///
    /// The error that the driver returns. Errors in the kernel are those of a later call.
    ///
    /// # Safety
    ///
    /// `arguments` point to values of the kernel's parameter types, in order. The kernel's own
    /// contract holds until it has finished.
    pub unsafe fn launch<G: Into<GridSize>, B: Into<BlockSize>>(
        &self,
        function: &Function<'_>,
        grid_size: G,
        block_size: B,
        shared_mem_bytes: u32,
        arguments: &[*mut c_void],
    ) -> CudaResult<()> {
        let (grid, block) = (grid_size.into(), block_size.into());
        // SAFETY: the function and the stream live, and the driver writes to no argument; by the
        // contract of this function, `arguments` point to values of the kernel's parameter types,
        // in order. The kernel's own contract holds until it has finished.
        let result = unsafe {
            sys::cuLaunchKernel(
                function.to_raw(),
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_mem_bytes,
                self.inner,
                arguments.as_ptr().cast_mut(),
                null_mut(),
            )
        };
        result.to_result()
    }

    /// Returns the driver's handle.
    pub fn as_inner(&self) -> CUstream {
        self.inner
    }

    fn free(&mut self) -> CudaResult<()> {
        if self.owner.is_none() {
            return Ok(());
        }
        // SAFETY: made in `of`, and destroyed once.
        let destroy = || unsafe { sys::cuStreamDestroy_v2(self.inner) };
        self.owner.destroy(destroy)
    }
}

destroyed! { [] Stream }

/// The work of streams that events mark.
impl Event {
    /// Puts the event behind all work that `stream` has so far. Replaces an earlier record.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both live.
        unsafe { sys::cuEventRecord(self.as_inner(), stream.as_inner()) }.to_result()
    }
}
