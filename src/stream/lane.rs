//! What a chunk on its way has to itself.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::device::{Buffer, PinnedBuffer, Stream};
use crate::{Device, Result};

/// What memory consists of, so that it is aligned as a device's is.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(256))]
struct Line([u8; ALIGNMENT]);

/// What each column in a lane is aligned to.
pub const ALIGNMENT: usize = 256;

/// A stream, memory of the device, and as much page-locked memory of the host: each byte there has its place here.
pub struct Lane {
    pub stream: Stream,
    pub on_device: Buffer<u8>,
    on_host: PinnedBuffer<Line>,
}

impl Lane {
    pub fn new(device: &Device, bytes: usize) -> Result<Lane> {
        let stream = device.stream()?;
        Ok(Lane {
            on_device: stream.device().alloc(bytes)?,
            on_host: device.pinned(bytes.div_ceil(ALIGNMENT))?,
            stream,
        })
    }

    /// Some of the host's bytes.
    pub fn on_host(&self, bytes: Range<usize>) -> &[u8] {
        &bytemuck::cast_slice(&self.on_host)[bytes]
    }

    /// Some of the host's bytes, to be written.
    pub fn on_host_mut(&mut self, bytes: Range<usize>) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.on_host)[bytes]
    }

    /// The address of a byte in the device's memory.
    pub fn address(&mut self, byte: usize) -> *mut u8 {
        debug_assert!(byte <= self.on_device.len());
        // SAFETY: within the memory, or at its end.
        unsafe { self.on_device.slice_mut().as_mut_ptr().add(byte) }
    }

    /// Starts a copy from the host's bytes to the device's at the same place.
    ///
    /// # Safety
    /// The host's stay as they are until the stream has done this.
    pub unsafe fn send(&mut self, bytes: Range<usize>) -> Result<()> {
        let start = bytes.start;
        let bytes = &bytemuck::cast_slice(&self.on_host)[bytes];
        // SAFETY: passed on to the caller; the lane keeps the memory until it has waited.
        unsafe { self.stream.copy_in(bytes, &mut self.on_device, start) }
    }

    /// Starts a copy from the device's bytes to the host's at the same place.
    ///
    /// # Safety
    /// The host's are left alone until the stream has done this.
    pub unsafe fn fetch(&mut self, bytes: Range<usize>) -> Result<()> {
        let start = bytes.start;
        let bytes = &mut bytemuck::cast_slice_mut(&mut self.on_host)[bytes];
        // SAFETY: passed on to the caller; the lane keeps the memory until it has waited.
        unsafe { self.stream.copy_out(&self.on_device, start, bytes) }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // Copies from and to its memory must not go on without it. If waiting fails, the context is lost, and they with
        // it.
        let _ = self.stream.synchronize();
    }
}
