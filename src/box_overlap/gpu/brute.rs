//! Launches of the brute force.

use std::ops::Range;

use box_overlap_kernels::{
    self as box_kernels, BRUTE_ROWS, BRUTE_THREADS, BruteCount, BruteFill, BruteParameters,
    Counters,
};

use super::counting::{Counted, Counting, MODULE, Rows};
use super::kernels::HasKernels;
use super::tuning::{self, BruteShape, THREADS};
use super::workspace::Testing;
use crate::Result;
use crate::device::{Buffer, Dim3, LaunchConfig};
use crate::primitives::sums_and_total;

/// What the second pass needs of the first.
pub(super) struct Brute {
    shape: BruteShape,
    codes: Buffer<f32>,
    /// How many pairs stand before each row's with each chunk.
    sums: Buffer<u64>,
    tiles_with_pairs: Buffer<u32>,
}

impl Brute {
    /// Counts the pairs of each row.
    pub fn count<T: HasKernels>(
        search: &mut Counting<T>,
        counts: &mut Buffer<u32>,
    ) -> Result<(Brute, Rows)> {
        let (device, sets) = (search.device, search.sets);
        let rows1 = sets.rows1 as usize;
        let rows = sets.rows();
        let shape = BruteShape::new(sets.rows1, sets.rows2);
        let Testing {
            mut codes,
            mut chunk_counts,
            mut tiles_with_pairs,
            mut offsets,
        } = Testing::allocate(device, rows1, rows, shape)?;
        let parameters = BruteParameters {
            tiles: shape.tiles,
            first_block: 0,
            first_row: 0,
            end_row: sets.rows1,
        };
        // SAFETY: the sets are as they say; two codes a row, a count for each row and chunk, a bit for each
        // warp and tile; the counters are there. Buffers are of this device and freed after the kernels have
        // run.
        let sums = unsafe {
            let config = LaunchConfig::new(tuning::striding_blocks(rows), THREADS);
            let arguments = (sets, search.counters.slice(), codes.slice_mut());
            device.launch(MODULE, T::KERNELS.codes, config, arguments)?;
            let arrays = BruteCount {
                sets,
                codes: codes.slice(),
                counts: chunk_counts.slice_mut(),
                tiles_with_pairs: tiles_with_pairs.slice_mut(),
            };
            let config = config_of(shape.blocks, shape.chunks);
            device.launch(MODULE, T::KERNELS.brute_count, config, (parameters, arrays))?;
            sums_and_total(device, &chunk_counts, search.counter(Counters::PAIRS))?
        };
        let config = LaunchConfig::new(tuning::striding_blocks(rows1 + 1), THREADS);
        let arguments = (
            shape.chunks,
            sums.slice(),
            offsets.slice_mut(),
            counts.slice_mut(),
        );
        // SAFETY: a sum for each row and chunk and one for the end; otherwise as above.
        unsafe { device.launch(MODULE, &box_kernels::row_offsets, config, arguments)? };
        let pairs = search.read()?.pairs();
        let brute = Brute {
            shape,
            codes,
            sums,
            tiles_with_pairs,
        };
        Ok((brute, Rows { offsets, pairs }))
    }

    /// Writes the pairs of these rows.
    pub fn fill<T: HasKernels>(
        &self,
        search: &Counted<T>,
        rows: Range<u32>,
        indices: &mut Buffer<u32>,
    ) -> Result<()> {
        let first_block = rows.start / BRUTE_ROWS;
        let blocks = rows.end.div_ceil(BRUTE_ROWS) - first_block;
        let parameters = BruteParameters {
            tiles: self.shape.tiles,
            first_block,
            first_row: rows.start,
            end_row: rows.end,
        };
        let arrays = BruteFill {
            sets: search.sets,
            codes: self.codes.slice(),
            sums: self.sums.slice(),
            tiles_with_pairs: self.tiles_with_pairs.slice(),
            indices: indices.slice_mut(),
        };
        let config = config_of(blocks, self.shape.chunks);
        // SAFETY: as counted; the blocks cover the rows, and there is room for their pairs.
        unsafe {
            search
                .device
                .launch(MODULE, T::KERNELS.brute_fill, config, (parameters, arrays))
        }
    }
}

fn config_of(blocks: u32, chunks: u32) -> LaunchConfig {
    let grid = Dim3 {
        x: blocks,
        y: chunks,
        z: 1,
    };
    LaunchConfig::new(grid, BRUTE_THREADS)
}
