//! Copies in chunks through a few blocks of memory that take turns.

use crate::Result;
use crate::sync::Mutex;
use std::ops::Range;
use std::sync::OnceLock;

/// The number of blocks.
pub const BLOCKS: usize = 3;

/// The operations of a device for copies through blocks.
pub trait Copies {
    /// Memory of the host, and the event after the device's last copy from or to it.
    type Block;

    /// Makes a block. Returns `None` if the host has no memory for it.
    fn block(&self) -> Option<Self::Block>;

    /// Writes bytes to the beginning of a block.
    fn write(&self, block: &mut Self::Block, bytes: &[u8]);

    /// Reads bytes from the beginning of a block.
    fn read(&self, block: &Self::Block, bytes: &mut [u8]);

    /// Starts a copy from the beginning of a block to these bytes of the device.
    fn start_in(&self, block: &mut Self::Block, to: Range<usize>) -> Result<()>;

    /// Starts a copy from these bytes of the device to the beginning of a block.
    fn start_out(&self, from: Range<usize>, block: &mut Self::Block) -> Result<()>;

    /// Waits until the device has done the last copy that was started with the block.
    fn wait_for(&self, block: &Self::Block) -> Result<()>;

    /// Waits until the device has done all copies that were started.
    fn finish(&self) -> Result<()>;
}

/// Blocks that are made for the first copy.
pub struct Blocks<B> {
    /// `None` if the host has no memory for them.
    blocks: OnceLock<Option<Mutex<[B; BLOCKS]>>>,
}

impl<B> Blocks<B> {
    pub fn new() -> Blocks<B> {
        Blocks {
            blocks: OnceLock::new(),
        }
    }

    /// Copies `source` to the device in chunks of `chunk` bytes, and waits. Returns `None` if there
    /// are no blocks, or if another copy uses them.
    pub fn copy_in(
        &self,
        copies: &impl Copies<Block = B>,
        source: &[u8],
        chunk: usize,
    ) -> Option<Result<()>> {
        self.with(copies, |blocks| {
            for (number, bytes) in source.chunks(chunk).enumerate() {
                let (block, start) = (&mut blocks[number % BLOCKS], number * chunk);
                copies.wait_for(block)?;
                copies.write(block, bytes);
                copies.start_in(block, start..start + bytes.len())?;
            }
            Ok(())
        })
    }

    /// Copies from the device to `target`, like [`copy_in`](Self::copy_in).
    pub fn copy_out(
        &self,
        copies: &impl Copies<Block = B>,
        target: &mut [u8],
        chunk: usize,
    ) -> Option<Result<()>> {
        let length = target.len();
        let fetch = |block: &mut B, number: usize| {
            let start = number * chunk;
            if start >= length {
                return Ok(());
            }
            copies.wait_for(block)?;
            copies.start_out(start..length.min(start + chunk), block)
        };
        self.with(copies, |blocks| {
            for (number, block) in blocks.iter_mut().enumerate() {
                fetch(block, number)?;
            }
            for (number, bytes) in target.chunks_mut(chunk).enumerate() {
                let block = &mut blocks[number % BLOCKS];
                copies.wait_for(block)?;
                copies.read(block, bytes);
                fetch(block, number + BLOCKS)?;
            }
            Ok(())
        })
    }

    fn with(
        &self,
        copies: &impl Copies<Block = B>,
        copy: impl FnOnce(&mut [B; BLOCKS]) -> Result<()>,
    ) -> Option<Result<()>> {
        let make = || {
            let blocks: Option<Vec<B>> = (0..BLOCKS).map(|_| copies.block()).collect();
            blocks?.try_into().ok().map(Mutex::new)
        };
        // Waiting for the lock could be a deadlock: the copy that holds it may belong to this
        // thread, which runs other tasks while that copy waits for all threads.
        let mut blocks = self.blocks.get_or_init(make).as_ref()?.try_lock().ok()?;
        let copied = copy(&mut blocks);
        // Also after a failure: copies that were started must not go on in the next user's blocks.
        let waited = copies.finish();
        Some(copied.and(waited))
    }
}

#[cfg(all(test, shuttle))]
mod model;
