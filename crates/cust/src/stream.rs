//! Streams.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::error::CudaResult;
use crate::function::{BlockSize, Function, GridSize};
use crate::sys::{self, CUstream, CUstream_flags};

/// How a stream works with others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct StreamFlags(u32);

impl StreamFlags {
    /// No flags. [`Stream::new`] takes it as [`NON_BLOCKING`](Self::NON_BLOCKING).
    pub const DEFAULT: Self = Self(0);
    /// The stream does not wait for the legacy default stream, nor that for the stream.
    pub const NON_BLOCKING: Self = Self(CUstream_flags::CU_STREAM_NON_BLOCKING as u32);
}

/// A queue of a device's work.
#[derive(Debug)]
pub struct Stream {
    inner: CUstream,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream, always as [`NON_BLOCKING`](StreamFlags::NON_BLOCKING). Lower numbers have a
    /// higher priority.
    ///
    /// # Errors
    ///
    /// What the driver returns.
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let flags = flags.0 | StreamFlags::NON_BLOCKING.0;
        let mut inner = null_mut();
        // SAFETY: it writes one handle.
        unsafe { sys::cuStreamCreateWithPriority(&mut inner, flags, priority.unwrap_or(0)) }
            .to_result()?;
        Ok(Self { inner })
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

    /// Starts a kernel; see [`launch!`](crate::launch).
    ///
    /// # Errors
    ///
    /// What the driver returns. Errors in the kernel are those of a later call.
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
        // SAFETY: the function and the stream live, and the driver writes to no argument; the rest
        // is passed on.
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
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and destroyed once.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.inner) };
    }
}
