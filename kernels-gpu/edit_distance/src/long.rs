//! Long pairs: a block of threads for each pair. The rows are cut into strips of a warp each.
//!
//! The lowest horizontal differences of a strip go to global memory, two bits a column, where the
//! strip below reads them. The warps of a block compute consecutive strips at the same time: they
//! proceed in stages of [`STAGE_COLUMNS`] columns, with a barrier after each, and a warp is two
//! stages behind the warp above, one of which makes up for the delay of the last lane. A strip
//! overwrites the differences that it has read.

use cuda_std::prelude::*;

use crate::Parameters;
use crate::input::{Pair, Texts};
use crate::lane::{CHUNK, Edge, Lane};

/// Words of rows per lane.
const WORDS: usize = 4;

/// Rows of a strip.
pub const STRIP_ROWS: u32 = 32 * 32 * WORDS as u32;

/// The most warps of a block.
pub const MAX_WARPS: u32 = 16;

/// Columns of a stage.
pub const STAGE_COLUMNS: u32 = STAGE_CHUNKS * CHUNK;

const STAGE_CHUNKS: u32 = 4;

/// Returns the chunks in which the last lane too reaches the end of `columns` columns. A pair has
/// so many elements of edges between strips.
#[inline(always)]
pub const fn edges(columns: u32) -> u64 {
    (columns as u64 + 31).div_ceil(CHUNK as u64)
}

/// Writes the distance of the block's pair to its place.
///
/// # Safety
/// - The block has up to [`MAX_WARPS`] whole warps, for each of which there is an element at
///   `sums` in shared memory.
/// - The pair exists in `texts` and `out`, its shorter sequence is not empty, and it has as many
///   elements of `edges` as [`edges`] says, which other blocks do not use.
#[inline(always)]
pub unsafe fn long<const PLANES: usize>(
    parameters: Parameters,
    texts: Texts,
    pairs: DeviceSlice<Pair>,
    edges: DeviceSliceMut<u64>,
    out: DeviceSliceMut<u32>,
    sums: *mut u32,
) {
    let tid = thread::thread_idx_x();
    let (number, lane_id) = (tid / warp::WARP_SIZE, warp::lane_id());
    let warps = (thread::block_dim_x() / warp::WARP_SIZE) as u64;
    // SAFETY: a pair per block, which exists.
    let (pair, (rows, columns)) = unsafe {
        let pair = pairs.at(thread::block_idx_x() as usize);
        (pair, texts.pair(parameters, pair.index))
    };
    let first_edge = pair.first_edge as usize;
    let count = columns.length;
    let whole = (count / CHUNK) as u64;
    let chunks = self::edges(count);
    let strips = rows.length.div_ceil(STRIP_ROWS) as u64;
    let stages = chunks.div_ceil(STAGE_CHUNKS as u64);
    // Stages from the beginning of a warp's strip to the beginning of its next one, which follows
    // the strip of the last warp.
    let period = if warps == 1 {
        stages
    } else {
        stages.max(2 * warps)
    };
    let mut left = (strips.div_ceil(warps) - 1) * period + stages + 2 * (warps - 1);

    let mut strip = number as u64;
    let mut stage = -2 * number as i64;
    let mut first_row = strip * STRIP_ROWS as u64;
    let mut lane = Lane::<PLANES, WORDS>::new(&rows, first_row, lane_id);
    let mut height = 0u32;
    let mut edge = 0;
    while left > 0 {
        if strip < strips && stage >= 0 && (stage as u64) < stages {
            let mut chunk = stage as u64 * STAGE_CHUNKS as u64;
            let end = (chunk + STAGE_CHUNKS as u64).min(chunks);
            if stage == 0 && strip > 0 {
                // SAFETY: the pair's first edge.
                edge = unsafe { edges.at(first_edge) };
            }
            while chunk < end {
                let mut above = Edge::OF_TABLE;
                if strip > 0 {
                    let mut next = 0;
                    if chunk + 1 < chunks {
                        // SAFETY: one of the pair's edges, which the strip above has written at
                        // least one barrier ago.
                        next = unsafe { edges.at(first_edge + chunk as usize + 1) };
                    }
                    // A lane 31 columns behind has written the column of the chunk's first step
                    // last, and the other columns in the next chunk.
                    above = Edge {
                        plus: (edge as u32) << 31 | next as u32 >> 1,
                        minus: ((edge >> 32) as u32) << 31 | (next >> 32) as u32 >> 1,
                    };
                    edge = next;
                }
                let first = (chunk * CHUNK as u64) as i64;
                let below = if chunk == 0 || chunk >= whole {
                    lane.chunk::<true, true>(&columns, count, first, above)
                } else {
                    lane.chunk::<true, false>(&columns, count, first, above)
                };
                if lane_id == warp::WARP_SIZE - 1 {
                    let both = below.plus as u64 | (below.minus as u64) << 32;
                    // SAFETY: one of the pair's edges, which this warp has read, and which the
                    // strip below reads after a barrier.
                    unsafe { edges.set(first_edge + chunk as usize, both) };
                }
                chunk += 1;
            }
            if stage as u64 == stages - 1 {
                height = height.wrapping_add(lane.height(rows.length as u64, first_row));
            }
        }
        thread::sync_threads();
        stage += 1;
        if stage as u64 == period {
            stage = 0;
            strip += warps;
            first_row = strip * STRIP_ROWS as u64;
            lane = Lane::new(&rows, first_row, lane_id);
        }
        left -= 1;
    }

    let height = warp::reduce_sum(height);
    if lane_id == 0 {
        // SAFETY: an element per warp.
        unsafe { sums.add(number as usize).write(height) };
    }
    thread::sync_threads();
    if tid == 0 {
        let mut distance = count;
        let mut other = 0;
        while other < warps as usize {
            // SAFETY: written before the barrier.
            distance = distance.wrapping_add(unsafe { sums.add(other).read() });
            other += 1;
        }
        // SAFETY: the pair exists.
        unsafe { out.set(pair.index as usize, parameters.limited(distance)) };
    }
}
