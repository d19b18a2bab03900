//! Copies between pageable memory of the host and a GPU.
//!
//! The driver copies pageable memory on one thread through its own page-locked memory, and waits
//! for each chunk. Here several blocks of page-locked memory take turns: while the GPU copies one
//! block, all threads copy the next.

use super::blocks::{Blocks, Copies};
use super::event::Event;
use super::page_locked::HostAllocation;
use super::primary::Primary;
use super::stream::Stream;
use crate::Result;
use crate::device::{copy_bytes, lock};
use crate::sync::Mutex;
use cust::event::EventFlags;
use cust::sys;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a block, which is the longest chunk.
const BLOCK: usize = 16 << 20;

/// Bytes of the shortest chunk: starting threads and copies must take little of the time.
const LEAST: usize = 4 << 20;

/// The number of bytes from which staging is faster than the driver's own copy.
const WORTH_IT: usize = 8 << 20;

/// Returns the bytes of one chunk. A copy has at least four chunks, so that most of it overlaps.
fn chunk_length(length: usize) -> usize {
    (length / 4).clamp(LEAST, BLOCK)
}

/// The staging blocks of a GPU, made for the first copy that needs them.
pub struct Staging {
    blocks: Blocks<Block>,
    primary: Arc<Primary>,
}

/// Page-locked memory, and the event after the last copy from or to it.
struct Block {
    memory: HostAllocation<u8>,
    copied: Event,
}

/// Copies on a stream between blocks and memory of the GPU. Those who make it promise that the
/// memory at `address` has all bytes that they copy.
struct CopiesOf<'a> {
    stream: &'a Stream,
    primary: &'a Arc<Primary>,
    address: sys::CUdeviceptr,
}

impl Copies for CopiesOf<'_> {
    type Block = Block;

    fn block(&self) -> Option<Block> {
        Some(Block {
            memory: HostAllocation::new(self.primary, BLOCK).ok()?,
            copied: Event::new(self.primary, EventFlags::DISABLE_TIMING).ok()?,
        })
    }

    fn write(&self, block: &mut Block, bytes: &[u8]) {
        copy_bytes(bytes, &mut block.memory.as_mut_slice()[..bytes.len()]);
    }

    fn read(&self, block: &Block, bytes: &mut [u8]) {
        copy_bytes(&block.memory.as_slice()[..bytes.len()], bytes);
    }

    fn start_in(&self, block: &mut Block, to: Range<usize>) -> Result<()> {
        let bytes = &block.memory.as_slice()[..to.len()];
        // SAFETY: `to` is a range of the bytes that are copied, and the memory at `address` has all
        // of them. `Blocks` writes to the block only after `wait_for`.
        unsafe { self.stream.copy_in(bytes, self.address + to.start as u64)? };
        block.copied.record(self.stream)
    }

    fn start_out(&self, from: Range<usize>, block: &mut Block) -> Result<()> {
        let bytes = &mut block.memory.as_mut_slice()[..from.len()];
        // SAFETY: `from` is a range of the bytes that are copied, and the memory at `address` has
        // all of them. `Blocks` accesses the block only after `wait_for`.
        unsafe { (self.stream).copy_out(self.address + from.start as u64, bytes)? };
        block.copied.record(self.stream)
    }

    fn wait_for(&self, block: &Block) -> Result<()> {
        block.copied.synchronize()
    }

    fn finish(&self) -> Result<()> {
        self.stream.synchronize()
    }
}

impl Staging {
    pub fn new(primary: &Arc<Primary>) -> Staging {
        Staging {
            blocks: Blocks::new(),
            primary: primary.clone(),
        }
    }

    /// Whether the blocks are faster than the driver's own copy.
    fn suits(&self, host: *const u8, length: usize) -> bool {
        length >= WORTH_IT && !self.is_locked(host)
    }

    fn copies<'a>(&'a self, stream: &'a Stream, address: sys::CUdeviceptr) -> CopiesOf<'a> {
        CopiesOf {
            stream,
            primary: &self.primary,
            address,
        }
    }

    /// Copies to the GPU on `stream`: through the blocks, or else by the driver. The driver's
    /// copies from page-locked memory may go on when this returns.
    ///
    /// # Safety
    /// As [`Stream::copy_in`].
    pub unsafe fn copy_in(
        &self,
        stream: &Stream,
        source: &[u8],
        address: sys::CUdeviceptr,
    ) -> Result<()> {
        if self.suits(source.as_ptr(), source.len()) {
            let copies = self.copies(stream, address);
            let chunk = chunk_length(source.len());
            if let Some(copied) = self.blocks.copy_in(&copies, source, chunk) {
                return copied;
            }
        }
        // SAFETY: the caller keeps the contract of `Stream::copy_in`, which is that of this
        // function.
        unsafe { stream.copy_in(source, address) }
    }

    /// Copies from the GPU on `stream`, like [`copy_in`](Self::copy_in).
    ///
    /// # Safety
    /// As [`Stream::copy_out`].
    pub unsafe fn copy_out(
        &self,
        stream: &Stream,
        address: sys::CUdeviceptr,
        target: &mut [u8],
    ) -> Result<()> {
        if self.suits(target.as_ptr(), target.len()) {
            let copies = self.copies(stream, address);
            let chunk = chunk_length(target.len());
            if let Some(copied) = self.blocks.copy_out(&copies, target, chunk) {
                return copied;
            }
        }
        // SAFETY: the caller keeps the contract of `Stream::copy_out`, which is that of this
        // function.
        unsafe { stream.copy_out(address, target) }
    }

    /// Whether the driver knows these bytes as page-locked memory.
    pub fn is_locked(&self, host: *const u8) -> bool {
        let Ok(_bound) = self.primary.bind() else {
            return false;
        };
        let mut kind = 0u32;
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        // SAFETY: writes one integer, and only looks at the address.
        let result = unsafe {
            sys::cuPointerGetAttribute((&raw mut kind).cast(), attribute, host.addr() as u64)
        };
        result.to_result().is_ok()
    }
}

/// Bytes of the results that go through a [`Mailboxes`].
pub const MAILBOX: usize = 4 << 10;

/// Small pieces of page-locked memory for results that calls wait for: one for each thread that
/// waits at the same time.
pub struct Mailboxes {
    free: Mutex<Vec<HostAllocation<u8>>>,
    primary: Arc<Primary>,
}

impl Mailboxes {
    pub fn new(primary: &Arc<Primary>) -> Mailboxes {
        Mailboxes {
            free: Mutex::default(),
            primary: primary.clone(),
        }
    }

    /// Returns memory of [`MAILBOX`] bytes that nothing else uses.
    pub fn take(&self) -> Result<HostAllocation<u8>> {
        let free = lock(&self.free).pop();
        free.map_or_else(|| HostAllocation::new(&self.primary, MAILBOX), Ok)
    }

    /// Takes memory back that no copy uses any more.
    pub fn put_back(&self, mailbox: HostAllocation<u8>) {
        lock(&self.free).push(mailbox);
    }
}
