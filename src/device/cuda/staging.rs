//! Copies between pageable memory of the host and a GPU.
//!
//! The driver copies pageable memory through its own page-locked memory, on one thread, and waits for each piece. Here
//! several blocks of page-locked memory take turns: while the GPU copies one, all threads copy the next.

use super::primary::Primary;
use super::stream::{Event, Stream, Timing};
use crate::Result;
use crate::device::{copy_bytes, lock};
use cust::sys::{self, cudaError_enum};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex};

/// Bytes of a block, which is the longest piece.
const BLOCK: usize = 16 << 20;

/// Bytes of the shortest piece: starting threads and copies must take little of the time.
const LEAST: usize = 4 << 20;

/// The number of blocks.
const BLOCKS: usize = 3;

/// The number of bytes from which staging is faster than the driver's own copy.
const WORTH_IT: usize = 8 << 20;

/// Returns the bytes of one piece: a copy has at least four, so that most of it overlaps.
fn piece_length(length: usize) -> usize {
    (length / 4).clamp(LEAST, BLOCK)
}

/// The staging blocks of a GPU, made for the first copy that needs them.
///
/// One copy uses them at a time. Another copy meanwhile goes the driver's way: waiting might be for a
/// copy of the same thread, which in turn waits for all threads.
pub struct Staging {
    state: Mutex<State>,
    primary: Arc<Primary>,
}

enum State {
    NotMade,
    Idle([Block; BLOCKS]),
    /// In use by a copy, or not to be had.
    Absent,
}

/// Page-locked memory, and the event after the last copy from or to it.
struct Block {
    memory: NonNull<u8>,
    copied: Event,
    primary: Arc<Primary>,
}

// SAFETY: the driver's memory may be used from any thread; the copy that holds the block is its only user.
unsafe impl Send for Block {}

impl Block {
    fn new(primary: &Arc<Primary>) -> Option<Block> {
        let _bound = primary.bind().ok()?;
        let copied = Event::new(primary, Timing::Off).ok()?;
        let mut memory = null_mut::<c_void>();
        // SAFETY: writes one pointer.
        let result = unsafe { sys::cuMemAllocHost_v2(&mut memory, BLOCK) };
        let memory =
            NonNull::new(memory.cast::<u8>()).filter(|_| result == cudaError_enum::CUDA_SUCCESS)?;
        Some(Block {
            memory,
            copied,
            primary: primary.clone(),
        })
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

impl Drop for Block {
    fn drop(&mut self) {
        if let Ok(_bound) = self.primary.bind() {
            // SAFETY: made in `new` and freed once. The copy that used it has waited for its stream.
            unsafe { sys::cuMemFreeHost(self.memory.as_ptr().cast()) };
        }
    }
}

/// Blocks that go back when the guard is dropped.
struct Taken<'a> {
    staging: &'a Staging,
    blocks: Option<[Block; BLOCKS]>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(blocks) = self.blocks.take() {
            *lock(&self.staging.state) = State::Idle(blocks);
        }
    }
}

impl Staging {
    pub fn new(primary: &Arc<Primary>) -> Staging {
        Staging {
            state: Mutex::new(State::NotMade),
            primary: primary.clone(),
        }
    }

    /// Takes the blocks, if no other copy has them and the host can lock so much memory.
    fn take(&self) -> Option<Taken<'_>> {
        let mut state = lock(&self.state);
        let blocks = match std::mem::replace(&mut *state, State::Absent) {
            State::NotMade => {
                let blocks: Option<Vec<Block>> =
                    (0..BLOCKS).map(|_| Block::new(&self.primary)).collect();
                blocks?.try_into().ok()
            }
            State::Idle(blocks) => Some(blocks),
            State::Absent => None,
        };
        blocks.map(|blocks| Taken {
            staging: self,
            blocks: Some(blocks),
        })
    }

    /// Runs a copy on a stream with the blocks and waits, if they help: if the host's bytes are many
    /// and not page-locked already. The context must be current.
    fn with_blocks(
        &self,
        stream: &Stream,
        host: *const u8,
        length: usize,
        copy: impl FnOnce(&[Block; BLOCKS]) -> Result<()>,
    ) -> Option<Result<()>> {
        if length < WORTH_IT || is_locked(host) {
            return None;
        }
        let taken = self.take()?;
        let copied = copy(taken.blocks.as_ref()?);
        // Also if it failed: what was begun must not go on in blocks that others have.
        let waited = stream.synchronize();
        Some(copied.and(waited))
    }

    /// Copies to the GPU through the blocks, on `stream`, and waits. `None` if the driver's own copy
    /// is better. The context must be current.
    ///
    /// # Safety
    /// The memory at `address` has as many bytes as `source`.
    pub unsafe fn copy_in(
        &self,
        stream: &Stream,
        source: &[u8],
        address: sys::CUdeviceptr,
    ) -> Option<Result<()>> {
        self.with_blocks(stream, source.as_ptr(), source.len(), |blocks| {
            let length = piece_length(source.len());
            let pieces = source.chunks(length).zip(blocks.iter().cycle());
            for (number, (piece, block)) in pieces.enumerate() {
                block.copied.synchronize()?;
                // SAFETY: the copy that used it has finished, and nobody else has the blocks.
                let bytes = unsafe { block.bytes_mut(piece.len()) };
                copy_bytes(piece, bytes);
                // SAFETY: within the memory; the block stays as it is until its event has been waited
                // for.
                unsafe { stream.copy_in(bytes, address + (number * length) as u64)? };
                block.copied.record(stream)?;
            }
            Ok(())
        })
    }

    /// Copies from the GPU through the blocks, on `stream`, and waits. `None` if the driver's own copy
    /// is better. The context must be current.
    ///
    /// # Safety
    /// The memory at `address` has as many bytes as `target`.
    pub unsafe fn copy_out(
        &self,
        stream: &Stream,
        address: sys::CUdeviceptr,
        target: &mut [u8],
    ) -> Option<Result<()>> {
        let (length, piece_length) = (target.len(), piece_length(target.len()));
        let fetch = |block: &Block, piece: usize| {
            let from = piece * piece_length;
            if from >= length {
                return Ok(());
            }
            block.copied.synchronize()?;
            // SAFETY: the copy that used it has finished, and what it brought has been taken.
            let bytes = unsafe { block.bytes_mut(piece_length.min(length - from)) };
            // SAFETY: within the memory; the block is left alone until its event has been waited for.
            unsafe { stream.copy_out(address + from as u64, bytes)? };
            block.copied.record(stream)
        };
        self.with_blocks(stream, target.as_ptr(), length, |blocks| {
            for (piece, block) in blocks.iter().enumerate() {
                fetch(block, piece)?;
            }
            let pieces = target.chunks_mut(piece_length).zip(blocks.iter().cycle());
            for (piece, (target, block)) in pieces.enumerate() {
                block.copied.synchronize()?;
                // SAFETY: the copy to it has finished.
                copy_bytes(unsafe { block.bytes(target.len()) }, target);
                fetch(block, piece + BLOCKS)?;
            }
            Ok(())
        })
    }
}

/// Whether the driver knows these bytes as page-locked memory.
fn is_locked(host: *const u8) -> bool {
    let mut kind = 0u32;
    // SAFETY: writes one integer, and looks at the address alone.
    let result = unsafe {
        sys::cuPointerGetAttribute(
            (&raw mut kind).cast(),
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            host.addr() as u64,
        )
    };
    result == cudaError_enum::CUDA_SUCCESS
}
