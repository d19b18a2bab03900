//! Launches of the brute force.

use std::ops::Range;

use box_overlap_kernels::{
    self as box_kernels, BRUTE_ROWS, BRUTE_THREADS, BruteCount, BruteFill, BruteParameters,
    Counters, Sets,
};

use super::tuning::{self, BruteShape, THREADS};
use super::{Counted, How, Known, MODULE, counter};
use crate::box_overlap::Coordinate;
use crate::device::{Buffer, Dim3, LaunchConfig};
use crate::primitives::sums_and_total;
use crate::{Device, Result};

/// What the second pass needs of the first.
pub(super) struct Brute {
    shape: BruteShape,
    codes: Buffer<f32>,
    /// How many pairs stand before each row's with each chunk.
    sums: Buffer<u64>,
    tiles_with_pairs: Buffer<u32>,
}

impl Brute {
    pub fn count<T: Coordinate>(
        device: &Device,
        sets: Sets<T>,
        mut counters: Buffer<u64>,
        read: impl Fn(&Buffer<u64>) -> Result<Known>,
    ) -> Result<Counted<T>> {
        let rows1 = sets.rows1 as usize;
        let rows = sets.rows();
        let shape = BruteShape::new(sets.rows1, sets.rows2);
        let mut codes = device.alloc::<f32>(2 * rows)?;
        let mut parts = device.alloc::<u32>(rows1 * shape.chunks as usize)?;
        let mut tiles_with_pairs = device.alloc::<u32>(shape.words())?;
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
            let arguments = (sets, counters.slice(), codes.slice_mut());
            device.launch(MODULE, T::KERNELS.codes, config, arguments)?;
            let arrays = BruteCount {
                sets,
                codes: codes.slice(),
                counts: parts.slice_mut(),
                tiles_with_pairs: tiles_with_pairs.slice_mut(),
            };
            let config = config_of(shape.blocks, shape.chunks);
            device.launch(MODULE, T::KERNELS.brute_count, config, (parameters, arrays))?;
            sums_and_total(&parts, counter(&mut counters, Counters::PAIRS))?
        };
        let mut offsets = device.alloc::<u64>(rows1 + 1)?;
        let mut counts = device.alloc::<u32>(rows1)?;
        let config = LaunchConfig::new(tuning::striding_blocks(rows1 + 1), THREADS);
        let arguments = (
            shape.chunks,
            sums.slice(),
            offsets.slice_mut(),
            counts.slice_mut(),
        );
        // SAFETY: a sum for each row and chunk and one for the end; otherwise as above.
        unsafe { device.launch(MODULE, &box_kernels::row_offsets, config, arguments)? };
        let pairs = read(&counters)?.pairs();
        Ok(Counted {
            device: device.clone(),
            sets,
            offsets,
            counts,
            pairs,
            how: How::Brute(Box::new(Brute {
                shape,
                codes,
                sums,
                tiles_with_pairs,
            })),
        })
    }

    /// Writes the pairs of these rows.
    pub fn fill<T: Coordinate>(
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
