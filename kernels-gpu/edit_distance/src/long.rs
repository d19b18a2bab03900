//! Long pairs: a block of threads for each pair. The rows are cut into strips of a warp each.
//!
//! The lowest horizontal differences of a strip go to global memory, two bits a column, where the
//! strip below reads them. The warps of a block compute consecutive strips at the same time: they
//! proceed in stages of [`STAGE_COLUMNS`] columns, with a barrier after each, and a warp is two
//! stages behind the warp above, one of which makes up for the delay of the last lane. A strip
//! overwrites the differences that it has read.
//!
//! A path through an entry on diagonal j − i = o has at least |o| + |n − m − o| insertions and
//! deletions. So within a limit k, only diagonals from −(k − n + m) / 2 to (k + n − m) / 2 matter. A
//! strip has the columns in which one of its rows is on such a diagonal. It begins as if letters
//! were only inserted in the first of them; where the strip above has ended, its lowest row goes on
//! as if letters were only deleted. All entries are then lengths of some paths, and those on paths
//! within the limit are exact.

use cuda_std::prelude::*;

use crate::input::{Pair, Texts};
use crate::lane::{CHUNK, Edge, Lane};
use crate::{Parameters, limited};

/// Words of rows per lane.
const WORDS: usize = 4;

/// Rows of a strip.
pub const STRIP_ROWS: u32 = 32 * 32 * WORDS as u32;

/// The most warps of a block.
pub const MAX_WARPS: u32 = 8;

/// Columns of a stage.
pub const STAGE_COLUMNS: u32 = STAGE_CHUNKS * CHUNK;

const STAGE_CHUNKS: u32 = 4;

/// Returns the chunks in which the last lane too reaches the end of `columns` columns. A pair has
/// so many elements of edges between strips.
#[inline(always)]
pub const fn edges(columns: u32) -> u64 {
    (columns as u64 + 31).div_ceil(CHUNK as u64)
}

/// The columns of a strip.
struct Columns {
    /// The first chunk.
    first_chunk: u32,
    /// The column behind the last one; a multiple of [`CHUNK`], or the end of the table.
    end: u32,
}

impl Columns {
    /// Returns the columns of a strip of a table of `rows` × `columns`, within a limit that is not
    /// below the difference of both.
    #[inline(always)]
    fn new(strip: u32, rows: u32, columns: u32, limit: u32) -> Columns {
        let difference = columns - rows;
        let limit = limit.min(columns);
        let left = (limit - difference) / 2;
        let first_row = strip as u64 * STRIP_ROWS as u64;
        // The end of the rows, and as much to the right as to the left of both ends of the table.
        let end = (first_row + STRIP_ROWS as u64).min(rows as u64) + (left + difference) as u64;
        let end = end.div_ceil(CHUNK as u64) * CHUNK as u64;
        Columns {
            first_chunk: (first_row.saturating_sub(left as u64) / CHUNK as u64) as u32,
            end: end.min(columns as u64) as u32,
        }
    }

    /// Returns the end of the chunks in which the last lane too reaches the end.
    #[inline(always)]
    fn end_chunk(&self) -> u32 {
        edges(self.end) as u32
    }
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
    let warps = thread::block_dim_x() / warp::WARP_SIZE;
    // SAFETY: a pair per block, which exists.
    let (pair, (rows, columns)) = unsafe {
        let pair = pairs.at(thread::block_idx_x() as usize);
        (pair, texts.pair(parameters, pair.index))
    };
    let first_edge = pair.first_edge as usize;
    let (row_count, count) = (rows.length, columns.length);
    let limit = pair.limit;
    if count - row_count > limit {
        if tid == 0 {
            // SAFETY: the pair exists.
            unsafe { out.set(pair.index as usize, u32::MAX) };
        }
        return;
    }
    let strips = row_count.div_ceil(STRIP_ROWS);
    let stages = (self::edges(count) as u32).div_ceil(STAGE_CHUNKS);
    // Stages from the beginning of a warp's strip to the beginning of its next one, which follows
    // the strip of the last warp.
    let period = if warps == 1 {
        stages
    } else {
        stages.max(2 * warps)
    };
    let before_the_last = (strips.div_ceil(warps) - 1) as u64 * period as u64;
    let mut left = before_the_last + (stages + 2 * (warps - 1)) as u64;

    let mut strip = number;
    let mut stage = -2 * number as i32;
    let mut lane = Lane::<PLANES, WORDS>::new(&rows, strip as u64 * STRIP_ROWS as u64, lane_id);
    // This lane's share of the differences on a way through the table: down before the first column
    // of each strip, right along its last row to the first column of the next strip, and for the
    // last strip right along its upper edge, and down.
    let mut distance = 0u32;
    let mut edge = 0;
    while left > 0 {
        if strip < strips && stage >= 0 && (stage as u32) < stages {
            let own = Columns::new(strip, row_count, count, limit);
            let end_chunk = own.end_chunk();
            let is_last = strip + 1 == strips;
            let above_it = Columns::new(strip.saturating_sub(1), row_count, count, limit);
            let next_chunk = Columns::new(strip + 1, row_count, count, limit).first_chunk;
            let first_of_stage = stage as u32 * STAGE_CHUNKS;
            let end_of_stage = (first_of_stage + STAGE_CHUNKS).min(end_chunk);
            let mut chunk = first_of_stage.max(own.first_chunk);
            while chunk < end_of_stage {
                let first = chunk as u64 * CHUNK as u64;
                let mut above = Edge::OF_TABLE;
                if strip > 0 && first < above_it.end as u64 {
                    // SAFETY: two of the pair's edges, which the strip above has written at least
                    // one barrier ago.
                    unsafe {
                        if chunk == own.first_chunk {
                            edge = edges.at(first_edge + chunk as usize);
                        }
                        let mut next = 0;
                        if chunk + 1 < above_it.end_chunk() {
                            next = edges.at(first_edge + chunk as usize + 1);
                        }
                        // A lane 31 columns behind has written the column of the chunk's first step
                        // last, and the other columns in the next chunk.
                        above = Edge {
                            plus: (edge as u32) << 31 | next as u32 >> 1,
                            minus: ((edge >> 32) as u32) << 31 | (next >> 32) as u32 >> 1,
                        };
                        edge = next;
                    }
                }
                let range = ((own.first_chunk * CHUNK) as i64, own.end as i64);
                let is_whole = chunk > own.first_chunk && first + CHUNK as u64 <= own.end as u64;
                let below = if is_whole {
                    lane.chunk::<true, false>(&columns, range, first as i64, above)
                } else {
                    lane.chunk::<true, true>(&columns, range, first as i64, above)
                };
                // Shuffles do not order the lanes' reads of the edge before it is overwritten.
                warp::sync_warp(warp::FULL_MASK);
                if lane_id == warp::WARP_SIZE - 1 {
                    let both = below.plus as u64 | (below.minus as u64) << 32;
                    // SAFETY: one of the pair's edges, which all lanes of this warp have read, and which the
                    // strip below reads after a barrier.
                    unsafe { edges.set(first_edge + chunk as usize, both) };
                    if !is_last && chunk <= next_chunk {
                        // Of the first chunk, only the last bit belongs to the strip's columns; of
                        // the next strip's first chunk, it belongs to that strip's.
                        let mut mask = u32::MAX;
                        if chunk == own.first_chunk {
                            mask &= 1;
                        }
                        if chunk == next_chunk {
                            mask &= !1;
                        }
                        distance = distance.wrapping_add(below.sum(mask));
                    }
                }
                if is_last && lane_id == 0 {
                    let columns = (count as u64).saturating_sub(first).min(CHUNK as u64);
                    let mask = !((u32::MAX as u64 >> columns) as u32);
                    distance = distance.wrapping_add(above.sum(mask));
                }
                chunk += 1;
            }
            if stage as u32 == stages - 1 {
                if is_last {
                    let first_row = strip as u64 * STRIP_ROWS as u64;
                    distance = distance.wrapping_add(lane.height(row_count as u64, first_row));
                } else if lane_id == 0 {
                    distance = distance.wrapping_add(STRIP_ROWS);
                }
            }
        }
        thread::sync_threads();
        stage += 1;
        if stage as u32 == period {
            stage = 0;
            strip += warps;
            lane = Lane::new(&rows, strip as u64 * STRIP_ROWS as u64, lane_id);
        }
        left -= 1;
    }

    let distance = warp::reduce_sum(distance);
    if lane_id == 0 {
        // SAFETY: an element per warp.
        unsafe { sums.add(number as usize).write(distance) };
    }
    thread::sync_threads();
    if tid == 0 {
        let mut distance = 0u32;
        let mut other = 0;
        while other < warps as usize {
            // SAFETY: each warp wrote its sum before the barrier.
            distance = distance.wrapping_add(unsafe { sums.add(other).read() });
            other += 1;
        }
        // SAFETY: the pair exists.
        unsafe { out.set(pair.index as usize, limited(distance, limit)) };
    }
}
