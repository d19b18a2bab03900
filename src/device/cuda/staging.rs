//! Copies between pageable memory of the host and a GPU.
//!
//! The driver copies pageable memory through page-locked memory of its own, on one thread, and waits for each part. Here
//! several blocks of page-locked memory go round: while the GPU copies one, all threads copy the next.

use super::context::Context;
use super::memory::Allocation;
use super::stream::StreamHandle;
use crate::Result;
use crate::device::host_memory::copy_bytes;
use cust::sys::{self, cudaError_enum};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

/// Bytes of a block, and the least that is copied at once of a copy that goes on: starting threads and copies is to take
/// little of the time.
const BLOCK: usize = 16 << 20;
const LEAST: usize = 4 << 20;

/// Blocks that go round.
const BLOCKS: usize = 3;

/// Bytes from which it is faster than the driver's way.
const WORTH_IT: usize = 8 << 20;

/// Bytes that are copied at once of so many: at least four times, so that most of it runs side by side.
fn piece_of(length: usize) -> usize {
    (length / 4).clamp(LEAST, BLOCK)
}

/// The blocks of a context, which is its only user, one copy at a time.
pub struct Staging([Block; BLOCKS]);

/// Page-locked memory, and the event after the last copy from or to it.
struct Block {
    memory: NonNull<u8>,
    copied: sys::CUevent,
}

// SAFETY: the driver's memory and events may be used from any thread.
unsafe impl Send for Staging {}

impl Staging {
    /// All blocks, or none if the host has not so much memory to lock. The context must be current.
    fn new() -> Option<Staging> {
        let mut blocks = Vec::new();
        for _ in 0..BLOCKS {
            match Block::new() {
                Some(block) => blocks.push(block),
                None => {
                    // SAFETY: nothing has used them.
                    blocks.iter().for_each(|block| unsafe { block.destroy() });
                    return None;
                }
            }
        }
        blocks.try_into().ok().map(Staging)
    }

    /// # Safety
    /// The context is current, and no copy is under way.
    pub unsafe fn destroy(&self) {
        // SAFETY: passed on to the caller.
        self.0.iter().for_each(|block| unsafe { block.destroy() });
    }
}

impl Block {
    fn new() -> Option<Block> {
        let mut memory = null_mut::<c_void>();
        // SAFETY: it writes one pointer.
        let result = unsafe { sys::cuMemAllocHost_v2(&mut memory, BLOCK) };
        let memory =
            NonNull::new(memory.cast::<u8>()).filter(|_| result == cudaError_enum::CUDA_SUCCESS)?;
        let mut copied = null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: it writes one handle.
        let result = unsafe { sys::cuEventCreate(&mut copied, flags) };
        if result != cudaError_enum::CUDA_SUCCESS {
            // SAFETY: allocated above.
            unsafe { sys::cuMemFreeHost(memory.as_ptr().cast()) };
            return None;
        }
        Some(Block { memory, copied })
    }

    /// # Safety
    /// The context is current, and nothing uses the block.
    unsafe fn destroy(&self) {
        // SAFETY: made in `new`, and destroyed once by the caller's promise.
        unsafe {
            sys::cuEventDestroy_v2(self.copied);
            sys::cuMemFreeHost(self.memory.as_ptr().cast());
        }
    }

    /// Waits until the last copy has finished.
    fn wait(&self, context: &Context) -> Result<()> {
        // SAFETY: the event lives as long as the block.
        let result = unsafe { sys::cuEventSynchronize(self.copied) };
        context.check(result, "waiting for a copy")
    }

    /// Marks the stream's end as that of the block's last copy.
    fn record(&self, context: &Context, stream: &StreamHandle) -> Result<()> {
        // SAFETY: both live.
        let result = unsafe { sys::cuEventRecord(self.copied, stream.raw()) };
        context.check(result, "recording an event")
    }

    /// The first bytes.
    ///
    /// # Safety
    /// Nothing writes them meanwhile.
    unsafe fn bytes(&self, length: usize) -> &[u8] {
        debug_assert!(length <= BLOCK);
        // SAFETY: memory of that size, which the driver gave.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), length) }
    }

    /// The first bytes, to be written.
    ///
    /// # Safety
    /// Nothing else uses them meanwhile.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller promises that it is the only one"
    )]
    unsafe fn bytes_mut(&self, length: usize) -> &mut [u8] {
        debug_assert!(length <= BLOCK);
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), length) }
    }
}

/// A context's blocks, made when they are first needed. A copy takes them, and another one that comes meanwhile goes the
/// driver's way: to wait might be for a copy of the same thread, which waits for all threads in the middle of it.
#[derive(Default)]
pub struct Shelf {
    was_made: bool,
    blocks: Option<Staging>,
}

impl Shelf {
    /// The blocks, at the end.
    pub fn take(&mut self) -> Option<Staging> {
        self.blocks.take()
    }
}

/// Blocks that go back when they are dropped.
struct Taken<'a> {
    context: &'a Context,
    blocks: Option<Staging>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.context.shelf().blocks = self.blocks.take();
    }
}

impl Context {
    /// Runs a copy on a stream with the blocks, and waits, if they help: if the host's bytes are many and not page-locked
    /// already. The context must be current.
    fn with_staging(
        &self,
        stream: &StreamHandle,
        host: *const u8,
        length: usize,
        copy: impl FnOnce(&[Block; BLOCKS]) -> Result<()>,
    ) -> Option<Result<()>> {
        if length < WORTH_IT || is_locked(host) {
            return None;
        }
        let mut shelf = self.shelf();
        if !shelf.was_made {
            shelf.was_made = true;
            shelf.blocks = Staging::new();
        }
        let taken = Taken {
            context: self,
            blocks: Some(shelf.blocks.take()?),
        };
        drop(shelf);
        let copied = taken.blocks.as_ref().map(|blocks| copy(&blocks.0));
        // Also if it failed: what was begun must not go on in blocks that others have.
        let waited = stream.synchronize(self);
        copied.map(|copied| copied.and(waited))
    }
}

/// Whether the driver knows these bytes as page-locked memory.
fn is_locked(host: *const u8) -> bool {
    let mut kind = 0u32;
    // SAFETY: it writes one integer, and looks at the address alone.
    let result = unsafe {
        sys::cuPointerGetAttribute(
            (&raw mut kind).cast(),
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            host.addr() as u64,
        )
    };
    result == cudaError_enum::CUDA_SUCCESS
}

impl Allocation {
    /// Copies to the GPU by blocks, on `stream`, and waits, if that is faster than the driver's way. The context must be
    /// current.
    pub fn copy_from_staged(&self, stream: &StreamHandle, source: &[u8]) -> Option<Result<()>> {
        let context = self.context();
        context.with_staging(stream, source.as_ptr(), source.len(), |blocks| {
            let length = piece_of(source.len());
            let pieces = source.chunks(length).zip(blocks.iter().cycle());
            for (number, (piece, block)) in pieces.enumerate() {
                block.wait(context)?;
                // SAFETY: the copy that used it has finished, and nobody else has the blocks.
                let bytes = unsafe { block.bytes_mut(piece.len()) };
                copy_bytes(piece, bytes);
                // SAFETY: the block stays as it is until its event has been waited for.
                unsafe { self.copy_from_on(stream, number * length, bytes)? };
                block.record(context, stream)?;
            }
            Ok(())
        })
    }

    /// Copies from the GPU, from byte `start` on, by blocks, on `stream`, and waits, if that is faster than the driver's
    /// way. The context must be current.
    pub fn copy_to_staged(
        &self,
        stream: &StreamHandle,
        start: usize,
        target: &mut [u8],
    ) -> Option<Result<()>> {
        let context = self.context();
        let (length, piece_length) = (target.len(), piece_of(target.len()));
        let fetch = |block: &Block, piece: usize| {
            let from = piece * piece_length;
            if from >= length {
                return Ok(());
            }
            block.wait(context)?;
            // SAFETY: the copy that used it has finished, and what it brought has been taken.
            let bytes = unsafe { block.bytes_mut(piece_length.min(length - from)) };
            // SAFETY: the block is left alone until its event has been waited for.
            unsafe { self.copy_to_on(stream, start + from, bytes)? };
            block.record(context, stream)
        };
        context.with_staging(stream, target.as_ptr(), length, |blocks| {
            for (piece, block) in blocks.iter().enumerate() {
                fetch(block, piece)?;
            }
            let pieces = target.chunks_mut(piece_length).zip(blocks.iter().cycle());
            for (piece, (target, block)) in pieces.enumerate() {
                block.wait(context)?;
                // SAFETY: the copy to it has finished.
                copy_bytes(unsafe { block.bytes(target.len()) }, target);
                fetch(block, piece + BLOCKS)?;
            }
            Ok(())
        })
    }
}
