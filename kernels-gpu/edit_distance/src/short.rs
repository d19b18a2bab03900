//! Short pairs: each takes some lanes of a warp, as many as its shorter sequence needs.

use cuda_std::prelude::*;

use crate::input::Texts;
use crate::lane::{CHUNK, Edge, Lane};
use crate::{Parameters, limited};

/// Threads of a block of the kernels for short pairs.
pub const SHORT_THREADS: u32 = 128;

/// The pairs of a warp.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_arch = "nvptx64"),
    derive(bytemuck::Pod, bytemuck::Zeroable)
)]
pub struct Job {
    /// The place of the first pair in the list of pairs.
    pub first: u32,
    /// The number of pairs, at least 1.
    pub pairs: u16,
    /// The lanes of each pair: their rows are at least as many as the letters of the shorter
    /// sequence. All pairs together have at most 32.
    pub lanes: u16,
}

/// Writes the distances of the pairs of each job to their places.
///
/// # Safety
/// - The block has [`SHORT_THREADS`] threads.
/// - Each job meets what the fields of [`Job`] document, and its pairs exist in `texts` and `out`.
#[inline(always)]
pub unsafe fn short<const PLANES: usize, const WORDS: usize>(
    parameters: Parameters,
    texts: Texts,
    jobs: DeviceSlice<Job>,
    pairs: DeviceSlice<u32>,
    out: DeviceSliceMut<u32>,
) {
    let tid = thread::thread_idx_x();
    let number = thread::block_idx_x() * (SHORT_THREADS / warp::WARP_SIZE) + tid / warp::WARP_SIZE;
    if number as usize >= jobs.len() {
        return;
    }
    // SAFETY: below the length.
    let job = unsafe { jobs.at(number as usize) };
    let lanes = job.lanes as u32;
    let group = warp::lane_id() / lanes;
    let lane_of_pair = warp::lane_id() - group * lanes;
    let is_used = group < job.pairs as u32;
    // Lanes that are left over repeat the first pair, and write nothing.
    let place = job.first + if is_used { group } else { 0 };
    // SAFETY: the job's pairs are in the list, and exist.
    let (pair, (rows, columns)) = unsafe {
        let pair = pairs.at(place as usize);
        (pair, texts.pair(parameters, pair))
    };
    // The distance to an empty sequence needs no table.
    let count = if rows.length == 0 { 0 } else { columns.length };
    let (longest, shortest) = (warp::reduce_max(count), warp::reduce_min(count));
    let chunks = if longest == 0 {
        0
    } else {
        (longest as u64 + lanes as u64 - 1).div_ceil(CHUNK as u64)
    };
    let whole = (shortest / CHUNK) as u64;

    let mut lane = Lane::<PLANES, WORDS>::new(&rows, 0, lane_of_pair);
    let mut chunk = 0;
    while chunk < chunks {
        let first = (chunk * CHUNK as u64) as i64;
        let range = (0, count as i64);
        if chunk == 0 || chunk >= whole {
            lane.chunk::<false, true>(&columns, range, first, Edge::OF_TABLE);
        } else {
            lane.chunk::<false, false>(&columns, range, first, Edge::OF_TABLE);
        }
        chunk += 1;
    }

    let own = lane.height(rows.length as u64, 0);
    let mut distance = columns.length.wrapping_add(own);
    let mut other = 1;
    while other < lanes {
        distance = distance.wrapping_add(warp::shuffle_down(warp::FULL_MASK, own, other));
        other += 1;
    }
    if is_used && lane_of_pair == 0 {
        // SAFETY: the pair exists.
        unsafe { out.set(pair as usize, limited(distance, parameters.limit)) };
    }
}
