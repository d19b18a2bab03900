//! Copies of tiles of arrays: [`crate::tensor`] on the host.

use super::access::{Access, AccessKind, AccessSite};
use super::lane::{BlockOfCluster, Lane, lane};
use super::tensor::{Copy, TensorTiles};
use super::{Misuse, phases};
use crate::shared::SharedAddress;
use core::panic::Location;

/// # Safety
/// As of [`crate::tensor::load_to`] with the blocks, or [`crate::tensor::load`]; `map` is the address
/// of a map.
pub(crate) unsafe fn load(
    blocks: Option<u16>,
    to: SharedAddress,
    map: u64,
    at: [i32; 3],
    barrier: SharedAddress,
    site: &'static Location<'static>,
) {
    let lane = lane();
    // A second failure, in a destructor of a failed thread, would abort the process.
    if lane.is_unwinding() {
        return;
    }
    // SAFETY: the address of a map, which has these words.
    let map = unsafe { &*(map as *const [u64; 16]) };
    let Some(tiles) = TensorTiles::of_simulated(map) else {
        lane.misuse(Misuse::NotATensorMap, site)
    };
    let copy = Copy {
        tiles,
        at,
        to: to.bits() as usize,
        barrier: barrier.bits() as usize,
    };
    let blocks = blocks.unwrap_or(1 << lane.cluster_rank());
    for rank in (0..u16::BITS).filter(|rank| blocks >> rank & 1 == 1) {
        let block = lane.block_of_cluster(rank);
        let block = block.ok_or(Misuse::BeyondCluster { rank });
        // SAFETY: by the contract of this function, which is that of `crate::tensor::load_to`,
        // nobody uses the memory until the copy has ended, and the array does not change meanwhile.
        let started = block.and_then(|block| unsafe {
            copy.tell(lane, block, site);
            copy.start(block)
        });
        if let Err(misuse) = started {
            lane.misuse(misuse, site);
        }
    }
}

/// Makes the pending copies that count at the barrier at `address`.
pub(super) fn finish(block: BlockOfCluster<'_>, address: usize) -> Result<(), Misuse> {
    let Some(pending) = block.pending_tensor_tiles else {
        return Ok(());
    };
    let copies: Vec<Copy> = {
        let all = &mut pending.borrow_mut().0;
        all.extract_if(.., |copy| copy.barrier == address).collect()
    };
    // SAFETY: the contract of `load` holds until the barrier's phase has ended.
    copies
        .iter()
        .try_for_each(|copy| unsafe { copy.make(block) })
}

const COPY: &str = "a copy of a tile";

impl Copy {
    /// Tells of the write of the target, which those see that wait at the barrier.
    fn tell(&self, lane: &dyn Lane, block: BlockOfCluster<'_>, site: &'static Location<'static>) {
        lane.access(Access {
            address: block.shared().address(self.to),
            bytes: self.tiles.tile_bytes(),
            kind: AccessKind::Write,
            alignment: 1,
            site: AccessSite::Call(site),
        });
        phases::release(lane, block, self.barrier);
    }

    /// # Safety
    /// As of [`crate::tensor::load`].
    unsafe fn start(self, block: BlockOfCluster<'_>) -> Result<(), Misuse> {
        let alignment = if self.tiles.is_swizzled { 1024 } else { 128 };
        if !self.to.is_multiple_of(alignment) {
            return Err(Misuse::Misaligned {
                what: "the target of a copy of a tile",
                value: self.to,
                alignment,
            });
        }
        let Some(pending) = block.pending_tensor_tiles else {
            // SAFETY: by the contract of `crate::tensor::load`, which this function shares, the array
            // was written before the launch and does not change.
            return unsafe { self.make(block) };
        };
        for piece in (0..self.tiles.tile_bytes()).step_by(16) {
            // NaN as a float, −1 as an integer.
            block.shared().write(COPY, self.to + piece, [0xff; 16])?;
        }
        pending.borrow_mut().0.push(self);
        Ok(())
    }

    /// Makes the copy, and counts its bytes.
    ///
    /// # Safety
    /// As of [`crate::tensor::load`].
    unsafe fn make(&self, block: BlockOfCluster<'_>) -> Result<(), Misuse> {
        let TensorTiles {
            tile,
            element_bytes,
            ..
        } = self.tiles;
        let row_bytes = (tile[0] * element_bytes) as usize;
        let mut row = vec![0u8; row_bytes];
        let mut to = self.to;
        for z in 0..tile[2] {
            for y in 0..tile[1] {
                // SAFETY: by the contract of `crate::tensor::load`, which this function shares, the
                // array was written before the launch and does not change.
                unsafe { self.read_row(&mut row, i64::from(y), i64::from(z)) };
                for (piece, bytes) in row.as_chunks::<16>().0.iter().enumerate() {
                    let address = to + 16 * piece;
                    let swizzle = if self.tiles.is_swizzled {
                        address / 128 % 8 * 16
                    } else {
                        0
                    };
                    block.shared().write(COPY, address ^ swizzle, *bytes)?;
                }
                to += row_bytes;
            }
        }
        phases::complete(block, self.barrier, self.tiles.tile_bytes())
    }

    /// Reads a row of the tile. Elements outside of the array are zeros.
    ///
    /// # Safety
    /// As of [`crate::tensor::load`].
    unsafe fn read_row(&self, row: &mut [u8], y: i64, z: i64) {
        row.fill(0);
        let TensorTiles {
            address,
            lengths,
            strides,
            ..
        } = self.tiles;
        let [x, y, z] = [
            self.at[0].into(),
            i64::from(self.at[1]) + y,
            i64::from(self.at[2]) + z,
        ];
        let is_there = |index: i64, length: u64| index >= 0 && (index as u64) < length;
        if !is_there(y, lengths[1]) || !is_there(z, lengths[2]) {
            return;
        }
        let size = self.tiles.element_bytes as usize;
        for (i, element) in row.chunks_exact_mut(size).enumerate() {
            let x = x + i as i64;
            if is_there(x, lengths[0]) {
                let from = address
                    + y as u64 * strides[0]
                    + z as u64 * strides[1]
                    + x as u64 * size as u64;
                // SAFETY: an element of the array that the map describes: by the contract of
                // `crate::tensor::load`, the array was written before the launch.
                let from = unsafe { core::slice::from_raw_parts(from as *const u8, size) };
                element.copy_from_slice(from);
            }
        }
    }
}
