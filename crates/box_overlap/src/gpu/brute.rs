//! Launches of the brute force.

use std::ops::Range;

use box_overlap_kernels::{
    self as box_kernels, BRUTE_ROWS, BRUTE_THREADS, BruteCount, BruteParameters, Counters,
};
use gridstride_primitives::sums_and_total;
use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, LaunchConfig};

use super::counting::{Counted, Counting, Rows};
use super::kernels::HasKernels;
use crate::MODULE;
use crate::tuning::{self, BruteShape, THREADS};
use crate::workspace::Testing;

/// The results of the first pass.
pub(super) struct Brute {
    shape: BruteShape,
    codes: Buffer<f32>,
    /// The number of pairs before those of each row with each chunk.
    sums: Buffer<u64>,
    tiles_with_pairs: Buffer<u32>,
}

impl Brute {
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
        // SAFETY: there are two codes for each row, a count for each row and chunk, and a bit for
        // each warp and tile. The buffers are on this device and freed after the kernels have run.
        let sums = unsafe {
            let config = LaunchConfig::new(tuning::striding_blocks(rows), THREADS);
            let arguments = (sets, search.counters.slice(), codes.slice_mut());
            device.launch(&MODULE, T::KERNELS.codes, config, arguments)?;
            let arrays = BruteCount {
                sets,
                codes: codes.slice(),
                counts: chunk_counts.slice_mut(),
                tiles_with_pairs: tiles_with_pairs.slice_mut(),
            };
            let config = LaunchConfig::new((shape.blocks, shape.chunks), BRUTE_THREADS);
            device.launch(
                &MODULE,
                T::KERNELS.brute_count,
                config,
                (parameters, arrays),
            )?;
            sums_and_total(device, &chunk_counts, search.counter(Counters::PAIRS))?
        };
        let config = LaunchConfig::new(tuning::striding_blocks(rows1 + 1), THREADS);
        let results = (offsets.slice_mut(), counts.slice_mut());
        let arguments = (shape.chunks, sums.slice(), results.0, results.1);
        // SAFETY: there is a sum for each row and chunk, and one for the end; the buffers are on
        // this device and freed after the kernel has run.
        unsafe { device.launch(&MODULE, &box_kernels::row_offsets, config, arguments)? };
        let pairs = search.read()?.pairs;
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
        let arguments = (
            parameters,
            search.sets,
            self.codes.slice(),
            self.sums.slice(),
            self.tiles_with_pairs.slice(),
            indices.slice_mut(),
        );
        let config = LaunchConfig::new((blocks, self.shape.chunks), BRUTE_THREADS);
        let (device, kernel) = (&search.device, T::KERNELS.brute_fill);
        // SAFETY: codes, sums and bits are those that `count` has written for these sets; the
        // blocks cover the rows, and `indices` has room for their pairs.
        unsafe { device.launch(&MODULE, kernel, config, arguments) }
    }
}
