//! Searches among what is in order.

use core::ops::Range;

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

/// The first index of a range for which `is_before` does not hold, or its end: it holds for all up
/// to some index.
#[inline(always)]
pub fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let Range {
        start: mut low,
        end: mut high,
    } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// As [`partition_point`], by the 32 lanes of a warp together: each looks at another index, so that
/// a round leaves a part of 32.
#[inline(always)]
pub fn warp_partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let Range {
        start: mut low,
        end: mut high,
    } = range;
    while low < high {
        let step = (high - low).div_ceil(WARP_SIZE as usize);
        // The last index of this lane's part.
        let index = low + (warp::lane_id() as usize + 1) * step - 1;
        let parts = warp::ballot(FULL_MASK, index < high && is_before(index)).count_ones();
        low += parts as usize * step;
        let last = low + step - 1;
        if last < high {
            high = last;
        }
    }
    low
}
