//! Page-locked memory from which the arrays of a call are copied to the GPU.
//!
//! The driver may read pageable memory after the call that starts a copy has returned, so that a
//! call would have to wait for the copy, and for all work before it. Arrays are therefore copied to
//! page-locked memory first, or written there.

use super::gpu::{Allocation, Gpu};
use super::outbox::SLOT;
use super::upload_blocks::{BLOCK, UploadBlock};
use crate::device::Element;
use crate::{Result, parallel};
use std::ops::Range;

/// The most blocks that a call fills in turn: the host is that far ahead of the GPU.
const BLOCKS: usize = 2;

/// Arrays begin at multiples of this many bytes.
const ALIGNMENT: usize = 256;

/// Copies in the order of a handle's stream. The host goes on meanwhile, until all blocks are full.
/// The GPU keeps the blocks for the next call.
pub struct Uploads {
    gpu: Gpu,
    /// The last one is being filled.
    blocks: Vec<UploadBlock>,
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

    /// Starts copies of `length` elements to the beginning of memory that belongs to the handle.
    /// Calls `fill` for consecutive ranges of the elements, each with the place that the range is
    /// copied from. `fill` writes all of the place, whose content is unspecified. Returns `None`
    /// without a call of `fill` if the elements are few enough for the stream's own slots, and if
    /// there are no blocks.
    pub fn start<T: Element>(
        &mut self,
        length: usize,
        to: &Allocation,
        fill: &mut dyn FnMut(Range<usize>, &mut [T]),
    ) -> Option<Result<()>> {
        assert!(to.is_of(&self.gpu));
        if length * size_of::<T>() <= SLOT {
            return None;
        }
        if let Err(error) = self.gpu.stream().refuse_capture() {
            return Some(Err(error));
        }
        if self.blocks.is_empty() {
            self.blocks.push(self.gpu.upload_block()?);
            if let Err(error) = self.wait_for_last() {
                return Some(Err(error));
            }
        }
        let most = BLOCK / size_of::<T>();
        let chunk = |number| parallel::chunk(number, most, length);
        let mut chunks = (0..length.div_ceil(most)).map(chunk);
        Some(chunks.try_for_each(|elements| self.start_chunk(elements, to, fill)))
    }

    /// Starts a copy of a range of elements, at most a block.
    fn start_chunk<T: Element>(
        &mut self,
        elements: Range<usize>,
        to: &Allocation,
        fill: &mut dyn FnMut(Range<usize>, &mut [T]),
    ) -> Result<()> {
        let bytes = elements.len() * size_of::<T>();
        let start = elements.start * size_of::<T>();
        if self.used + bytes > BLOCK {
            self.take_next_block()?;
        }
        let block = self.blocks.last_mut().expect("there is one");
        let place = &mut block.memory.as_mut_slice()[self.used..][..bytes];
        self.used = (self.used + bytes).next_multiple_of(ALIGNMENT);
        fill(elements, bytemuck::cast_slice_mut(place));
        // SAFETY: nothing else writes to the place before `take_next_block` has waited for the
        // event, and the block waits for it when it is dropped. Memory of the handle is freed in the
        // order of its stream.
        let started = unsafe { to.start_copy_from(&self.gpu, start, place) };
        // If the event cannot be recorded, nobody could wait for the copy.
        let stream = self.gpu.stream();
        let recorded = block
            .copied
            .record(stream)
            .or_else(|_| stream.synchronize());
        started.and(recorded)
    }

    /// Makes a block that no copy uses the last one.
    fn take_next_block(&mut self) -> Result<()> {
        let has_all = self.blocks.len() == BLOCKS;
        match (!has_all).then(|| self.gpu.upload_block()).flatten() {
            Some(block) => self.blocks.push(block),
            None => self.blocks.rotate_left(1),
        }
        self.wait_for_last()
    }

    /// Waits for the copies from the last block, which is then empty.
    fn wait_for_last(&mut self) -> Result<()> {
        // Until it is known that no copy uses the block.
        self.used = BLOCK;
        if let Some(block) = self.blocks.last() {
            block.copied.synchronize()?;
        }
        self.used = 0;
        Ok(())
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        for block in self.blocks.drain(..) {
            self.gpu.return_upload_block(block);
        }
    }
}
