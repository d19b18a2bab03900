//! Streams and memory for one chunk each.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::device::{Buffer, PinnedBuffer, Stream};
use crate::{Device, Result};

/// The unit of the host's memory, for the alignment.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(256))]
struct Line([u8; ALIGNMENT]);

/// The alignment of each column in a lane.
pub const ALIGNMENT: usize = 256;

/// A stream, memory of the device, and as much page-locked memory of the host. A column starts at the same byte in both.
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

    /// Returns some of the host's bytes.
    pub fn on_host(&self, bytes: Range<usize>) -> &[u8] {
        &bytemuck::cast_slice(&self.on_host)[bytes]
    }

    /// Returns some of the host's bytes for writing.
    pub fn on_host_mut(&mut self, bytes: Range<usize>) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.on_host)[bytes]
    }

    /// Returns the address of a byte in the device's memory.
    pub fn address(&mut self, byte: usize) -> *mut u8 {
        debug_assert!(byte <= self.on_device.len());
        // SAFETY: within the memory, or at its end.
        unsafe { self.on_device.slice_mut().as_mut_ptr().add(byte) }
    }

    /// Starts a copy from the host's bytes to the device's at the same place.
    ///
    /// # Safety
    /// The host's bytes do not change until the stream has done this.
    pub unsafe fn send(&mut self, bytes: Range<usize>) -> Result<()> {
        let start = bytes.start;
        let bytes = &bytemuck::cast_slice(&self.on_host)[bytes];
        // SAFETY: passed on to the caller; the lane keeps the memory until it has waited.
        unsafe {
            self.on_device
                .start_copy_from(self.stream.device(), start, bytes)
        }
    }

    /// Starts a copy from the device's bytes to the host's at the same place.
    ///
    /// # Safety
    /// Nothing accesses the host's bytes until the stream has done this.
    pub unsafe fn fetch(&mut self, bytes: Range<usize>) -> Result<()> {
        let start = bytes.start;
        let bytes = &mut bytemuck::cast_slice_mut(&mut self.on_host)[bytes];
        // SAFETY: passed on to the caller; the lane keeps the memory until it has waited.
        unsafe {
            self.on_device
                .start_copy_to(self.stream.device(), start, bytes)
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // Copies from and to its memory must not go on without it. If waiting fails, the context is lost, and they with
        // it.
        let _ = self.stream.synchronize();
    }
}
