//! Copies between pageable memory of the host and a GPU.
//!
//! The driver copies pageable memory on one thread through its own page-locked memory, and waits
//! for each chunk. Here several blocks of page-locked memory take turns: while the GPU copies one
//! block, all threads copy the next.

use super::memory::HostAllocation;
use super::primary::Primary;
use super::stream::{Event, Stream};
use crate::Result;
use crate::device::{copy_bytes, lock};
use cust::sys::{self, cudaError_enum};
use std::sync::{Arc, Mutex, OnceLock};

/// Bytes of a block, which is the longest chunk.
const BLOCK: usize = 16 << 20;

/// Bytes of the shortest chunk: starting threads and copies must take little of the time.
const LEAST: usize = 4 << 20;

/// The number of blocks.
const BLOCKS: usize = 3;

/// The number of bytes from which staging is faster than the driver's own copy.
const WORTH_IT: usize = 8 << 20;

/// Returns the bytes of one chunk. A copy has at least four chunks, so that most of it overlaps.
fn chunk_length(length: usize) -> usize {
    (length / 4).clamp(LEAST, BLOCK)
}

/// The staging blocks of a GPU, made for the first copy that needs them.
pub struct Staging {
    /// `None` if the host cannot lock so much memory.
    blocks: OnceLock<Option<Mutex<[Block; BLOCKS]>>>,
    primary: Arc<Primary>,
}

/// Page-locked memory, and the event after the last copy from or to it.
struct Block {
    memory: HostAllocation<u8>,
    copied: Event,
}

impl Staging {
    pub fn new(primary: &Arc<Primary>) -> Staging {
        Staging {
            blocks: OnceLock::new(),
            primary: primary.clone(),
        }
    }

    /// Runs a copy on a stream with the blocks and waits. Returns `None` if the driver's own copy
    /// is better: if the host's bytes are few or page-locked, or if another copy uses the blocks.
    fn with_blocks(
        &self,
        stream: &Stream,
        host: *const u8,
        length: usize,
        copy: impl FnOnce(&mut [Block; BLOCKS]) -> Result<()>,
    ) -> Option<Result<()>> {
        if length < WORTH_IT || self.is_locked(host) {
            return None;
        }
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
        let block = |_| {
            Some(Block {
                memory: HostAllocation::new(&self.primary, BLOCK).ok()?,
                copied: Event::new(&self.primary, flags).ok()?,
            })
        };
        let make = || {
            let blocks: Option<Vec<Block>> = (0..BLOCKS).map(block).collect();
            blocks?.try_into().ok().map(Mutex::new)
        };
        // Waiting for the lock could be a deadlock: the copy that holds it may belong to this
        // thread, which runs other tasks while that copy waits for all threads.
        let mut blocks = self.blocks.get_or_init(make).as_ref()?.try_lock().ok()?;
        let copied = copy(&mut blocks);
        // Also after a failure: copies that were started must not go on in the next user's blocks.
        let waited = stream.synchronize();
        Some(copied.and(waited))
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
        let staged = self.with_blocks(stream, source.as_ptr(), source.len(), |blocks| {
            let length = chunk_length(source.len());
            for (number, chunk) in source.chunks(length).enumerate() {
                let block = &mut blocks[number % BLOCKS];
                block.copied.synchronize()?;
                let bytes = &mut block.memory.as_mut_slice()[..chunk.len()];
                copy_bytes(chunk, bytes);
                // SAFETY: within the memory; the block does not change before its event.
                unsafe { stream.copy_in(bytes, address + (number * length) as u64)? };
                block.copied.record(stream)?;
            }
            Ok(())
        });
        // SAFETY: passed on to the caller.
        staged.unwrap_or_else(|| unsafe { stream.copy_in(source, address) })
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
        let (length, chunk_length) = (target.len(), chunk_length(target.len()));
        let fetch = |block: &mut Block, chunk: usize| {
            let from = chunk * chunk_length;
            if from >= length {
                return Ok(());
            }
            block.copied.synchronize()?;
            let bytes = &mut block.memory.as_mut_slice()[..chunk_length.min(length - from)];
            // SAFETY: within the memory; the block is not accessed before its event.
            unsafe { stream.copy_out(address + from as u64, bytes)? };
            block.copied.record(stream)
        };
        let staged = self.with_blocks(stream, target.as_ptr(), length, |blocks| {
            for (chunk, block) in blocks.iter_mut().enumerate() {
                fetch(block, chunk)?;
            }
            for (chunk, target) in target.chunks_mut(chunk_length).enumerate() {
                let block = &mut blocks[chunk % BLOCKS];
                block.copied.synchronize()?;
                copy_bytes(&block.memory.as_slice()[..target.len()], target);
                fetch(block, chunk + BLOCKS)?;
            }
            Ok(())
        });
        // SAFETY: passed on to the caller.
        staged.unwrap_or_else(|| unsafe { stream.copy_out(address, target) })
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
        result == cudaError_enum::CUDA_SUCCESS
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
