//! Streams, and the work that is put on them.

use super::event::Event;
use super::outbox::{Outbox, SLOT};
use super::primary::Primary;
use super::spare::Spare;
use crate::device::lock;
use crate::sync::Mutex;
use crate::{Error, Result};
use cust::event::EventFlags;
use cust::stream::Stream as CustStream;
use cust::sys;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// A stream that does not wait for the legacy default stream, or the stream of another library.
pub struct Stream {
    inner: CustStream,
    /// The end of the present work, recorded before another stream waits for this one.
    end: Event,
    /// The most recently started kernel, for the message when waiting fails.
    last_kernel: Mutex<Option<&'static str>>,
    /// Memory of the driver's pool.
    pub spare: Arc<Spare>,
    /// Page-locked memory for copies of few bytes.
    outbox: Outbox,
    primary: Arc<Primary>,
}

impl Stream {
    pub fn new(primary: &Arc<Primary>) -> Result<Stream> {
        // SAFETY: cust copies and sets no memory here.
        let inner = unsafe { CustStream::non_blocking_in(primary.context()) };
        Stream::with(primary.check(inner, "creating a stream")?, primary)
    }

    /// # Safety
    /// `raw` is a stream of the context, and exists as long as the result.
    pub unsafe fn from_raw(primary: &Arc<Primary>, raw: *mut c_void) -> Result<Stream> {
        // SAFETY: the stream exists as long as the result by the contract of this function, and
        // cust copies and sets no memory here.
        let inner = unsafe { CustStream::from_raw(raw.cast()) };
        Stream::with(inner, primary)
    }

    fn with(inner: CustStream, primary: &Arc<Primary>) -> Result<Stream> {
        Ok(Stream {
            end: Event::new(primary, EventFlags::DISABLE_TIMING)?,
            last_kernel: Mutex::new(None),
            spare: Arc::new(Spare::new(inner.as_inner())),
            outbox: Outbox::default(),
            inner,
            primary: primary.clone(),
        })
    }

    pub fn primary(&self) -> &Arc<Primary> {
        &self.primary
    }

    pub fn inner(&self) -> &CustStream {
        &self.inner
    }

    pub fn raw(&self) -> sys::CUstream {
        self.inner.as_inner()
    }

    /// Refuses to go on if another library captures a graph of the stream: copies from memory that is
    /// used again would copy something else when the graph is launched.
    pub fn refuse_capture(&self) -> Result<()> {
        let mut status = 0;
        // SAFETY: the stream lives as long as `self`, and one number is written.
        let ask = || unsafe { sys::cuStreamIsCapturing(self.raw(), &mut status) }.to_result();
        self.primary
            .call("asking whether a stream is captured", ask)?;
        match status {
            0 => Ok(()),
            _ => Err(Error::input(
                "copying to the GPU",
                "another library captures a graph of the stream: upload what the call needs before, or \
                 capture with Device::capture",
            )),
        }
    }

    /// Stores the name of a kernel for messages.
    pub fn set_last_kernel(&self, name: &'static str) {
        *lock(&self.last_kernel) = Some(name);
    }

    pub fn last_kernel(&self) -> Option<&'static str> {
        *lock(&self.last_kernel)
    }

    /// Waits for the stream on the host.
    pub fn synchronize(&self) -> Result<()> {
        let operation = fmt::from_fn(|f| match self.last_kernel() {
            Some(kernel) => write!(f, "waiting for a stream whose last kernel was {kernel}"),
            None => f.write_str("waiting for a stream"),
        });
        self.primary.call(operation, || self.inner.synchronize())
    }

    /// Whether all work has finished or failed, so that waiting returns at once.
    pub fn is_idle(&self) -> bool {
        let idle = self.primary.bind().map(|_bound| self.inner.is_idle());
        !matches!(idle, Ok(Ok(false)))
    }

    /// Makes later work of this stream wait for the present work of another one, on the GPU.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        // If another thread records the same event in between, the wait only covers more work.
        other.end.record(other)?;
        other.end.make_wait(self)
    }

    /// Calls a driver's function on `bytes` bytes, if there are any.
    fn start(
        &self,
        bytes: usize,
        operation: impl fmt::Display,
        call: impl FnOnce() -> sys::CUresult,
    ) -> Result<()> {
        match bytes {
            0 => Ok(()),
            _ => self.primary.call(operation, || call().to_result()),
        }
    }

    /// Sets `bytes` bytes to zero.
    ///
    /// # Safety
    /// The memory at `address` has `bytes` bytes, and is freed only after the stream has done this.
    pub unsafe fn fill_zero(&self, address: sys::CUdeviceptr, bytes: usize) -> Result<()> {
        // SAFETY: by the contract of this function, the memory has `bytes` bytes and is freed only
        // after the stream has done this.
        let call = || unsafe { sys::cuMemsetD8Async(address, 0, bytes, self.raw()) };
        self.start(bytes, "setting memory to zero", call)
    }

    /// Starts a copy to the GPU.
    ///
    /// # Safety
    /// The memory at `address` has the length of `source`. Until the stream has done this, neither
    /// is freed, and `source` does not change.
    pub unsafe fn copy_in(&self, source: &[u8], address: sys::CUdeviceptr) -> Result<()> {
        let (from, bytes) = (source.as_ptr(), source.len());
        // SAFETY: `from` has the length of `source`. By the contract of this function, so has the
        // memory at `address`, and until the stream has done this neither is freed and `source`
        // does not change.
        unsafe { self.copy_in_bytes(from, bytes, address, "copying to the GPU") }
    }

    /// Copies bytes to the GPU in the order of the stream. The source may change when this returns:
    /// copies of more than [`SLOT`] bytes have finished then. An error names `operation`.
    ///
    /// # Safety
    /// `source` points to `bytes` bytes, which may be padding, and the memory at `address` has as
    /// many. It is freed only after the stream has done this.
    pub unsafe fn upload(
        &self,
        source: *const u8,
        bytes: usize,
        address: sys::CUdeviceptr,
        operation: impl fmt::Display + Copy,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if bytes <= SLOT {
            // SAFETY: by the contract of this function, both ends have `bytes` bytes, and the
            // memory at `address` is freed only after the copy.
            let copied = unsafe {
                (self.outbox).copy_in(
                    &self.primary,
                    &self.inner,
                    source,
                    bytes,
                    address,
                    operation,
                )
            };
            if let Some(started) = copied {
                return started;
            }
        }
        // SAFETY: both ends have `bytes` bytes by the contract of this function. The source does
        // not change before the wait below has finished.
        let started = unsafe { self.copy_in_bytes(source, bytes, address, operation) };
        started.and(self.synchronize())
    }

    /// Starts a copy to the GPU of bytes that may be padding. An error names `operation`.
    ///
    /// # Safety
    /// As of [`copy_in`](Self::copy_in), of the `bytes` bytes at `source`.
    pub unsafe fn copy_in_bytes(
        &self,
        source: *const u8,
        bytes: usize,
        address: sys::CUdeviceptr,
        operation: impl fmt::Display,
    ) -> Result<()> {
        let from = source.cast();
        // SAFETY: by the contract of this function, both ends have `bytes` bytes, and until the
        // stream has done this neither is freed and the source does not change.
        let call = || unsafe { sys::cuMemcpyHtoDAsync_v2(address, from, bytes, self.raw()) };
        self.start(bytes, operation, call)
    }

    /// Starts a copy from the GPU.
    ///
    /// # Safety
    /// The memory at `address` has the length of `target`. Until the stream has done this, neither
    /// is freed, and nothing else accesses `target`.
    pub unsafe fn copy_out(&self, address: sys::CUdeviceptr, target: &mut [u8]) -> Result<()> {
        let (to, bytes) = (target.as_mut_ptr().cast(), target.len());
        // SAFETY: by the contract of this function, the memory at `address` has the length of
        // `target`, and until the stream has done this neither is freed and nothing else accesses
        // `target`.
        let call = || unsafe { sys::cuMemcpyDtoHAsync_v2(to, address, bytes, self.raw()) };
        self.start(bytes, "copying from the GPU", call)
    }

    /// Starts a copy within the GPU.
    ///
    /// # Safety
    /// Both ranges of `bytes` bytes are allocated and do not overlap. Until the stream has done
    /// this, neither is freed, and nothing else writes to them.
    pub unsafe fn copy_within(
        &self,
        from: sys::CUdeviceptr,
        to: sys::CUdeviceptr,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: by the contract of this function, both ranges are allocated, do not overlap, and
        // are neither freed nor written by others until the stream has done this.
        let call = || unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, self.raw()) };
        self.start(bytes, "copying within the GPU", call)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let Ok(_bound) = self.primary.bind() else {
            return;
        };
        if self.outbox.is_used() {
            // Copies from its memory may not have finished. If waiting fails, the context is lost,
            // and its copies with it.
            let _ = self.synchronize();
        }
        self.spare.free();
    }
}

impl Event {
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.record_on(&stream.inner)
    }

    pub fn make_wait(&self, stream: &Stream) -> Result<()> {
        self.make_stream_wait(&stream.inner)
    }
}
