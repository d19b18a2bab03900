//! Blocks of page-locked memory from which calls copy their arrays to the GPU.

use super::event::Event;
use super::page_locked::HostAllocation;
use super::primary::Primary;
use crate::Result;
use cust::event::EventFlags;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of a block: the arrays of a large batch of sequences.
pub const BLOCK: usize = 16 << 20;

/// The most blocks of a GPU, for all calls together.
const OF_GPU: usize = 4;

/// The blocks of a GPU.
#[derive(Default)]
pub struct UploadBlocks {
    /// Blocks that no call uses, the most recently used one at the end.
    free: VecDeque<UploadBlock>,
    /// The number of all blocks.
    allocated: usize,
}

impl UploadBlocks {
    /// Returns a block from which copies may not have finished, or `None` if calls use all blocks,
    /// or the host cannot lock memory.
    pub fn take(&mut self, primary: &Arc<Primary>) -> Option<UploadBlock> {
        if self.free.is_empty() && self.allocated < OF_GPU {
            self.free.push_back(UploadBlock::new(primary).ok()?);
            self.allocated += 1;
        }
        self.free.pop_front()
    }

    pub fn put_back(&mut self, block: UploadBlock) {
        self.free.push_back(block);
    }
}

/// Page-locked memory, and the event after the last copy from it.
pub struct UploadBlock {
    pub memory: HostAllocation<u8>,
    pub copied: Event,
}

impl UploadBlock {
    fn new(primary: &Arc<Primary>) -> Result<UploadBlock> {
        Ok(UploadBlock {
            memory: HostAllocation::new(primary, BLOCK)?,
            copied: Event::new(primary, EventFlags::DISABLE_TIMING)?,
        })
    }
}

impl Drop for UploadBlock {
    fn drop(&mut self) {
        // If waiting fails, the context is lost, and its copies with it.
        let _ = self.copied.synchronize();
    }
}
