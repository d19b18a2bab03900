//! Streams and memory for one chunk each.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use gridstride_runtime::device::{Buffer, PinnedBuffer, Stream};
use gridstride_runtime::{Device, Result};

/// The unit of the host's memory, which aligns it.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(256))]
struct Line([u8; ALIGNMENT]);

/// The alignment of each column in a slot.
pub const ALIGNMENT: usize = 256;

/// A stream, memory of the device, and the same amount of page-locked memory of the host. A column
/// starts at the same byte in both.
pub struct Slot {
    pub stream: Stream,
    pub on_device: Buffer<u8>,
    on_host: PinnedBuffer<Line>,
}

impl Slot {
    pub fn new(device: &Device, bytes: usize) -> Result<Slot> {
        let stream = device.stream()?;
        Ok(Slot {
            on_device: stream.device().alloc(bytes)?,
            on_host: device.pinned(bytes.div_ceil(ALIGNMENT))?,
            stream,
        })
    }

    pub fn on_host(&self, bytes: Range<usize>) -> &[u8] {
        &bytemuck::cast_slice(&self.on_host)[bytes]
    }

    pub fn on_host_mut(&mut self, bytes: Range<usize>) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.on_host)[bytes]
    }

    pub fn address(&mut self, byte: usize) -> *mut u8 {
        debug_assert!(byte <= self.on_device.len());
        // SAFETY: the byte is within the memory, or at its end.
        unsafe { self.on_device.slice_mut().as_mut_ptr().add(byte) }
    }

    /// Starts a copy from the host's bytes to the same bytes of the device.
    ///
    /// # Safety
    /// The host's bytes must not change until the stream has made the copy.
    pub unsafe fn send(&mut self, bytes: Range<usize>) -> Result<()> {
        let start = bytes.start;
        let bytes = &bytemuck::cast_slice(&self.on_host)[bytes];
        // SAFETY: by the contract of this function, the host's bytes do not change until the stream
        // has made the copy; the slot keeps the memory until the stream is done.
        unsafe {
            self.on_device
                .start_copy_from(self.stream.device(), start, bytes)
        }
    }

    /// Starts a copy from the device's bytes to the same bytes of the host.
    ///
    /// # Safety
    /// Nothing may access the host's bytes until the stream has made the copy.
    pub unsafe fn fetch(&mut self, bytes: Range<usize>) -> Result<()> {
        let start = bytes.start;
        let bytes = &mut bytemuck::cast_slice_mut(&mut self.on_host)[bytes];
        // SAFETY: by the contract of this function, nothing accesses the host's bytes until the
        // stream has made the copy; the slot keeps the memory until the stream is done.
        unsafe {
            self.on_device
                .start_copy_to(self.stream.device(), start, bytes)
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Copies must end before the memory is freed. If waiting fails, the context and the copies
        // are lost.
        let _ = self.stream.synchronize();
    }
}
