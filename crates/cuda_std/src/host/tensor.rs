//! Copies of tiles of arrays: [`crate::tensor`] on the host.

use super::access::{Access, AccessKind, AccessSite};
use super::lane::{BlockOfCluster, Lane, lane};
use super::{Misuse, mbarrier};
use crate::mbarrier::Barrier;
use crate::shared::SharedAddress;
use crate::tensor::TensorMap;
use core::panic::Location;

/// What a [`TensorMap`] is made of: an array of three axes, the one whose elements are neighbours
/// first, and the tiles that kernels copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorTiles {
    /// The address of the first element, a multiple of 16.
    pub address: u64,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub element_bytes: u32,
    /// Elements of each axis: 1 to 2³².
    pub lengths: [u64; 3],
    /// Bytes from an element to the next one along the second and the third axis: multiples of 16
    /// below 2⁴⁰.
    pub strides: [u64; 2],
    /// Elements of a tile along each axis: 1 to 256. Rows along the first axis have a multiple of
    /// 16 bytes, and 128 bytes if they are swizzled.
    pub tile: [u32; 3],
    /// Whether the pieces of 16 bytes of a row of 128 bytes stand in shared memory at places that
    /// are exclusive or'ed with the row's number, as matrix instructions of warp groups take them.
    pub is_swizzled: bool,
}

/// Marks the maps of the simulator.
const MARK: u64 = 0x6772_6964_0000_0000;

impl TensorTiles {
    /// Fails with a sentence if no map can describe these tiles.
    pub fn check(&self) -> Result<(), String> {
        // Before the ranges are checked, the product may need more than 32 bits.
        let row_bytes = u64::from(self.tile[0]) * u64::from(self.element_bytes);
        let is_stride = |stride: &u64| stride.is_multiple_of(16) && *stride < 1 << 40;
        let problem = match () {
            () if !matches!(self.element_bytes, 1 | 2 | 4 | 8) => {
                format!(
                    "elements have {} bytes, not 1, 2, 4 or 8",
                    self.element_bytes
                )
            }
            () if !self.address.is_multiple_of(16) => {
                format!("the address {:#x} is no multiple of 16", self.address)
            }
            () if !self
                .lengths
                .iter()
                .all(|length| (1..=1 << 32).contains(length)) =>
            {
                format!("the lengths {:?} are not within 1 to 2³²", self.lengths)
            }
            () if !self.strides.iter().all(is_stride) => {
                format!(
                    "the strides {:?} are not multiples of 16 bytes below 2⁴⁰",
                    self.strides
                )
            }
            () if !self.tile.iter().all(|length| (1..=256).contains(length)) => {
                format!("the tile's lengths {:?} are not within 1 to 256", self.tile)
            }
            () if !row_bytes.is_multiple_of(16) => {
                format!("a tile's rows of {row_bytes} bytes are no multiple of 16")
            }
            () if self.is_swizzled && row_bytes != 128 => {
                format!("swizzled rows have {row_bytes} bytes, not 128")
            }
            () => return Ok(()),
        };
        Err(problem)
    }

    /// The map that the simulator takes.
    pub fn simulated(&self) -> TensorMap {
        let mut words = [0; 16];
        words[0] = MARK | u64::from(self.element_bytes) << 1 | u64::from(self.is_swizzled);
        words[1] = self.address;
        words[2..5].copy_from_slice(&self.lengths);
        words[5..7].copy_from_slice(&self.strides);
        words[7..10].copy_from_slice(&self.tile.map(u64::from));
        TensorMap::from_words(words)
    }

    fn of_simulated(map: &TensorMap) -> Option<TensorTiles> {
        let words = map.words();
        (words[0] >> 32 == MARK >> 32).then(|| TensorTiles {
            address: words[1],
            element_bytes: words[0] as u32 >> 1,
            lengths: [words[2], words[3], words[4]],
            strides: [words[5], words[6]],
            tile: [words[7], words[8], words[9]].map(|length| length as u32),
            is_swizzled: words[0] & 1 == 1,
        })
    }

    fn tile_bytes(&self) -> usize {
        self.tile.iter().product::<u32>() as usize * self.element_bytes as usize
    }
}

/// A copy that has been started.
#[derive(Clone, Copy, Debug)]
struct Copy {
    tiles: TensorTiles,
    at: [i32; 3],
    to: usize,
    barrier: usize,
}

/// The copies of tiles of a block that are not done.
#[derive(Debug, Default)]
pub struct Pending(Vec<Copy>);

/// # Safety
/// As of [`crate::tensor::load_to`] with the blocks, or [`crate::tensor::load`]; `map` is the address
/// of a map.
pub(crate) unsafe fn load(
    blocks: Option<u16>,
    to: SharedAddress,
    map: u64,
    at: [i32; 3],
    barrier: Barrier,
    site: &'static Location<'static>,
) {
    let lane = lane();
    // A second failure, in a destructor of a failed thread, would abort the process.
    if lane.is_unwinding() {
        return;
    }
    // SAFETY: the caller vouches for it.
    let map = unsafe { &*(map as *const TensorMap) };
    let Some(tiles) = TensorTiles::of_simulated(map) else {
        lane.misuse(Misuse::NotATensorMap, site)
    };
    let copy = Copy {
        tiles,
        at,
        to: to.bits() as usize,
        barrier: barrier.address().bits() as usize,
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
            site: AccessSite::Call(site),
        });
        mbarrier::release(lane, block, self.barrier);
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
            // SAFETY: the caller keeps the contract of `crate::tensor::load`, which this function
            // shares.
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
                // SAFETY: the caller keeps the contract of `crate::tensor::load`, which this
                // function shares.
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
        mbarrier::complete(block, self.barrier, self.tiles.tile_bytes())
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
                // SAFETY: an element of the array that the map describes, which the caller vouches
                // for.
                let from = unsafe { core::slice::from_raw_parts(from as *const u8, size) };
                element.copy_from_slice(from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILES: TensorTiles = TensorTiles {
        address: 64,
        element_bytes: 4,
        lengths: [100, 10, 1],
        strides: [400, 4000],
        tile: [32, 8, 1],
        is_swizzled: true,
    };

    #[track_caller]
    fn refused(tiles: TensorTiles, said: &str) {
        let problem = tiles.check().unwrap_err();
        assert!(problem.contains(said), "{problem}");
    }

    #[test]
    fn tiles_of_any_numbers_are_checked() {
        assert_eq!(TILES.check(), Ok(()));
        let tile = |tile| TensorTiles { tile, ..TILES };
        refused(tile([u32::MAX, 8, 1]), "are not within 1 to 256");
        refused(tile([1 << 30, 8, 1]), "are not within 1 to 256");
        refused(tile([0, 8, 1]), "are not within 1 to 256");
        refused(tile([3, 8, 1]), "rows of 12 bytes are no multiple of 16");
        refused(tile([16, 8, 1]), "swizzled rows have 64 bytes, not 128");
        let element_bytes = u32::MAX;
        refused(
            TensorTiles {
                element_bytes,
                ..TILES
            },
            "elements have 4294967295 bytes",
        );
    }
}
