//! Blocks that compute one tile of C after the other from a ring of stages: what products of 16-bit
//! numbers and of f32 in tf32 have in common on compute capability 9.0.
//!
//! A block has a warp group that copies and two that multiply. A stage of shared memory has a tile
//! of A and of B and two barriers: *full* ends a phase when the copies have come, *empty* when all
//! warps that multiply have read them. So no thread waits for others that have the same work, and
//! the copies of the next tile of C go on while sums are written. (The scheme is CUTLASS's; its
//! steps are measured in Pranjal Shankhdhar's 'Outperforming cuBLAS on H100', 2024.)

use cuda_std::mbarrier::{self, Barrier};
use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};

use crate::grid::place_in_groups;
use crate::persistent::Persistent;

/// Threads of a block, of which the first 128 copy. The host alone asks for it.
#[cfg(not(target_arch = "nvptx64"))]
pub const THREADS: u32 = 384;
/// Warps that multiply.
const READERS: u32 = 8;

/// A ring of stages in shared memory, as one thread goes through it.
pub struct Ring<const STAGES: u32> {
    first: SharedAddress,
    /// Bytes of a stage.
    pub bytes: u32,
    /// The stage at which the thread is.
    pub stage: u32,
    /// The parity of the phase of the stages' barriers.
    pub parity: u32,
}

impl<const STAGES: u32> Ring<STAGES> {
    /// Begins at the first stage, of `bytes` bytes.
    #[inline(always)]
    pub fn new(bytes: u32) -> Self {
        Ring {
            first: address(dynamic_shared_mem::<u128>()),
            bytes,
            stage: 0,
            parity: 0,
        }
    }

    /// Bytes of stages of `bytes` bytes, and of both barriers of each.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn shared_bytes(bytes: u32) -> u32 {
        STAGES * (bytes + 2 * mbarrier::BYTES)
    }

    /// Where the stage is at which the thread is.
    #[inline(always)]
    pub fn tiles(&self) -> SharedAddress {
        self.first.offset(self.stage * self.bytes)
    }

    /// Its phase ends when the copies to the stage have come.
    #[inline(always)]
    pub fn full_of(&self, stage: u32) -> Barrier {
        let behind = self.first.offset(STAGES * self.bytes);
        Barrier::at(behind.offset(stage * mbarrier::BYTES))
    }

    /// Its phase ends when all that multiply have read the stage.
    #[inline(always)]
    pub fn empty_of(&self, stage: u32) -> Barrier {
        let full = self.full_of(stage).address();
        Barrier::at(full.offset(STAGES * mbarrier::BYTES))
    }

    /// Goes on to the next stage.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.stage += 1;
        if self.stage == STAGES {
            self.stage = 0;
            self.parity ^= 1;
        }
    }
}

/// Initialises the barriers of stages of `bytes` bytes, for the threads of a block.
///
/// # Safety
/// The block has the shared memory of the [`Ring`].
#[inline(always)]
pub unsafe fn start<const STAGES: u32>(bytes: u32) {
    if thread::thread_idx_x() == 0 {
        let ring = Ring::<STAGES>::new(bytes);
        let mut stage = 0;
        while stage < STAGES {
            // SAFETY: behind the stages.
            unsafe {
                ring.full_of(stage).init(1);
                ring.empty_of(stage).init(READERS);
            }
            stage += 1;
        }
        mbarrier::publish();
    }
    thread::sync_threads();
}

/// A tile of C.
pub struct Place {
    pub row: u32,
    pub column: u32,
    /// The matrix of the batch.
    pub matrix: u32,
    /// The matrix of C: parts follow each other.
    pub result: u32,
    /// Its first k.
    pub k: u32,
    pub stages: u32,
}

/// The tiles of a product.
#[derive(Clone, Copy)]
pub struct Tiles {
    rows: u32,
    columns: u32,
    /// k of a stage.
    depth: u32,
    /// Tiles in a column that have neighbouring numbers.
    group: u32,
    down: u32,
    across: u32,
    /// All of all matrices and parts.
    pub count: u32,
}

impl Tiles {
    /// Tiles of `rows`×`columns` elements, and stages of `depth` of k.
    #[inline(always)]
    pub fn of<C: Copy>(product: &Persistent<C>, [rows, columns, depth, group]: [u32; 4]) -> Self {
        let (down, across) = (product.m.div_ceil(rows), product.n.div_ceil(columns));
        Tiles {
            rows,
            columns,
            depth,
            group,
            down,
            across,
            count: down * across * product.batch * product.parts,
        }
    }

    /// Where a tile is.
    #[inline(always)]
    pub fn place<C: Copy>(&self, product: &Persistent<C>, tile: u32) -> Place {
        let (down, across) = (self.down, self.across);
        let result = tile / (down * across);
        let (row, column) = place_in_groups(self.group, tile % (down * across), down, across);
        let k = result / product.batch * product.k_part;
        Place {
            row: row * self.rows,
            column: column * self.columns,
            matrix: result % product.batch,
            result,
            k,
            stages: product.k_part.min(product.k - k).div_ceil(self.depth),
        }
    }
}
