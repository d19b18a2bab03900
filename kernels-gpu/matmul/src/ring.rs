//! Stages of tiles of A and B of 16-bit numbers: copied by one thread, read by the matrix
//! instructions of warp groups.

use cuda_std::mbarrier::{self, Barrier};
use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};
use cuda_std::tensor::{self, MapAddress};
use cuda_std::wgmma::Operand;

use crate::swizzled::{ATOM, ROW_BYTES};

/// Rows of a tile.
pub const ROWS: u32 = 128;
/// k of a stage: 128 bytes.
pub const DEPTH: u32 = 64;
/// A ring of stages in shared memory, as one thread goes through it.
pub struct Ring<const COLUMNS: u32, const STAGES: u32> {
    first: SharedAddress,
    /// The stage at which the thread is.
    pub stage: u32,
    /// The parity of the phase of the stages' barriers.
    pub parity: u32,
}

impl<const COLUMNS: u32, const STAGES: u32> Ring<COLUMNS, STAGES> {
    /// Bytes of a tile of A.
    pub const BYTES_A: u32 = ROWS * ROW_BYTES;
    /// Bytes of a stage.
    pub const STAGE: u32 = (ROWS + COLUMNS) * ROW_BYTES;
    /// Stages, and both barriers of each.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const BYTES: u32 = STAGES * (Self::STAGE + 2 * mbarrier::BYTES);

    /// Begins at the first stage.
    #[inline(always)]
    pub fn new() -> Self {
        Ring {
            first: address(dynamic_shared_mem::<u128>()),
            stage: 0,
            parity: 0,
        }
    }

    /// The tile of A, which that of B follows.
    #[inline(always)]
    pub fn tiles(&self) -> SharedAddress {
        self.first.offset(self.stage * Self::STAGE)
    }

    /// Its phase ends when the copies to the stage have come.
    #[inline(always)]
    pub fn full_of(&self, stage: u32) -> Barrier {
        let behind = self.first.offset(STAGES * Self::STAGE);
        Barrier::at(behind.offset(stage * mbarrier::BYTES))
    }

    /// Its phase ends when all that multiply have read the stage.
    #[inline(always)]
    pub fn empty_of(&self, stage: u32) -> Barrier {
        Barrier::at(
            self.full_of(stage)
                .address()
                .offset(STAGES * mbarrier::BYTES),
        )
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

/// Starts the copies of a tile of `OUTER` outer indices, from an outer index, a k and a matrix on.
///
/// # Safety
/// As of [`tensor::load`].
#[inline(always)]
pub unsafe fn load<const OUTER: u32, const ACROSS: bool>(
    to: SharedAddress,
    map: MapAddress,
    [outer, k, matrix]: [i32; 3],
    full: Barrier,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        if !ACROSS {
            tensor::load(to, map, [k, outer, matrix], full);
            return;
        }
        // A row of shared memory has 64 outer indices.
        unrolled! { part in [0 1 2 3] {
            let part = part as u32;
            if part * 64 < OUTER {
                let to = to.offset(part * 64 * ROW_BYTES);
                tensor::load(to, map, [outer + 64 * part as i32, k, matrix], full);
            }
        }}
    }
}

/// A tile of A or B from an outer index on, a multiple of 64.
#[inline(always)]
pub fn operand<const ACROSS: bool>(tile: SharedAddress, outer: u32) -> Operand {
    let start = tile.offset(outer * ROW_BYTES);
    match ACROSS {
        true => Operand::across_k(start, DEPTH / 8 * ATOM, ATOM),
        false => Operand::along_k(start, ATOM),
    }
}

/// Bytes between the parts of a tile that follow each other in k, of which a stage has four.
pub const fn next(across: bool) -> u32 {
    if across { 2 * ATOM } else { 32 }
}
