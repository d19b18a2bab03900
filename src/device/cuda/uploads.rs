//! Page-locked memory from which the arrays of a call are copied to the GPU.
//!
//! The driver may read pageable memory after the call that starts a copy has returned, so that a
//! call would have to wait for the copy, and for all work before it. Arrays are therefore copied to
//! page-locked memory first.

use super::gpu::{Allocation, Gpu};
use super::memory::HostAllocation;
use super::outbox::SLOT;
use super::primary::Primary;
use super::stream::Event;
use crate::Result;
use crate::device::copy_bytes;
use cust::sys;
use std::sync::Arc;

/// Bytes of a block: the arrays of a large batch of sequences.
const BLOCK: usize = 16 << 20;

/// The blocks that a call fills in turn: the host is that far ahead of the GPU.
const BLOCKS: usize = 2;

/// Arrays begin at multiples of this many bytes.
const ALIGNMENT: usize = 256;

/// Page-locked memory, and the event after the last copy from it.
pub struct Block {
    memory: HostAllocation<u8>,
    copied: Event,
}

impl Block {
    pub fn new(primary: &Arc<Primary>) -> Result<Block> {
        Ok(Block {
            memory: HostAllocation::new(primary, BLOCK)?,
            copied: Event::new(primary, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?,
        })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // If waiting fails, the context is lost, and its copies with it.
        let _ = self.copied.synchronize();
    }
}

/// Copies on a handle's stream for which nobody waits. The GPU keeps the blocks for the next call.
pub struct Uploads {
    gpu: Gpu,
    /// The last one is being filled.
    blocks: Vec<Block>,
    /// The bytes of the last block that are in use.
    used: usize,
}

impl Uploads {
    /// Locks no memory before the first copy.
    pub fn new(gpu: &Gpu) -> Uploads {
        Uploads {
            gpu: gpu.clone(),
            blocks: Vec::new(),
            used: 0,
        }
    }

    /// Starts a copy to the beginning of memory that belongs to the handle. The source may change
    /// when this returns. Returns `None` if the source is short enough for the stream's own
    /// slots or too long for a block, or if the host cannot lock memory.
    pub fn start(&mut self, source: &[u8], to: &Allocation) -> Option<Result<()>> {
        if !(SLOT + 1..=BLOCK).contains(&source.len()) {
            return None;
        }
        if self.blocks.is_empty() || self.used + source.len() > BLOCK {
            match self.next_block()? {
                Ok(()) => self.used = 0,
                Err(error) => return Some(Err(error)),
            }
        }
        let block = self.blocks.last_mut()?;
        let place = &mut block.memory.as_mut_slice()[self.used..][..source.len()];
        self.used = (self.used + source.len()).next_multiple_of(ALIGNMENT);
        copy_bytes(source, place);
        // SAFETY: nothing else writes to the place before `next_block` has waited for the event,
        // and the block waits for it when it is dropped. Memory of the handle is freed in the order
        // of its stream.
        let started = unsafe { to.start_copy_from(&self.gpu, 0, place) };
        // If the event cannot be recorded, nobody could wait for the copy.
        let stream = self.gpu.stream();
        let recorded = block
            .copied
            .record(stream)
            .or_else(|_| stream.synchronize());
        Some(started.and(recorded))
    }

    /// Makes a block that no copy uses the last one.
    fn next_block(&mut self) -> Option<Result<()>> {
        let has_all = self.blocks.len() == BLOCKS;
        match (!has_all).then(|| self.gpu.upload_block()) {
            Some(Ok(block)) => self.blocks.push(block),
            _ if self.blocks.is_empty() => return None,
            _ => self.blocks.rotate_left(1),
        }
        self.blocks.last().map(|block| block.copied.synchronize())
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        for block in self.blocks.drain(..) {
            self.gpu.keep_upload_block(block);
        }
    }
}
