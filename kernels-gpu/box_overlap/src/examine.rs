//! Looks at all boxes once: whether they are boxes, and where their centres are.

use core::cmp::{max, min};
use cuda_std::prelude::*;

use crate::boxes::{BoxRow, Number, Sets};
use crate::counters::Counters;
use crate::domain::{half_extent, ordered};

/// Looks at the rows of both sets (of one alone if they are the same): notes the first that is no
/// box, the range of the centres, and the sum of the extents.
///
/// # Safety
/// The slices of `sets` have the rows and axes that it names; `counters` are those that
/// [`crate::start`] has left; a block has 256 threads.
#[inline(always)]
unsafe fn examine<T: Number>(sets: Sets<T>, counters: DeviceSliceMut<u64>) {
    const WARPS: usize = 8;
    let of_warps = shared_array![i64; 6 * WARPS];
    let (mut least, mut most) = ([i64::MAX; 3], [i64::MIN; 3]);
    let mut extents = 0.0f64;
    let look_at = |is_second: bool, index: usize, row: BoxRow<T>| {
        let mut is_box = true;
        unrolled! { axis in [0 1 2] {
            // A third axis that there is not has the first number twice, which then is at fault
            // already.
            let (lowest, highest) = (row.min[axis], row.max[axis]);
            is_box &= lowest <= highest;
            // An infinite limit gives an infinite centre, or none.
            let centre = 0.5 * row.low[axis] + 0.5 * row.high[axis];
            if centre.abs() <= f64::MAX {
                least[axis] = min(least[axis], ordered(centre));
                most[axis] = max(most[axis], ordered(centre));
            }
        }}
        if !is_box {
            // SAFETY: a place for each set, which all threads only take minima of.
            unsafe {
                let place = counters.address(Counters::FAULTS + is_second as usize);
                atomic::min(place, index as u64);
            }
        }
        let extent = half_extent(&row.low, &row.high);
        if extent <= f64::MAX {
            extents += extent;
        }
    };
    // SAFETY: by the contract of this function, the slices of `sets` have the rows and axes that it
    // names.
    unsafe { sets.each_row(look_at) };
    let (lane, warp) = (warp::lane_id(), thread::thread_idx_x() as usize / 32);
    unrolled! { axis in [0 1 2] {
        least[axis] = warp::reduce_min(least[axis]);
        most[axis] = warp::reduce_max(most[axis]);
    }}
    let extents = warp::reduce_sum(extents);
    if lane == 0 {
        unrolled! { axis in [0 1 2] {
            // SAFETY: six elements for each warp.
            unsafe {
                of_warps.add(axis * WARPS + warp).write(least[axis]);
                of_warps.add((axis + 3) * WARPS + warp).write(most[axis]);
            }
        }}
        // SAFETY: the place of an `f64`, to which all threads only add.
        unsafe { atomic::add_f64(counters.address(Counters::EXTENT) as *mut f64, extents) };
    }
    thread::sync_threads();
    // A thread for each of the six limits.
    let limit = thread::thread_idx_x() as usize;
    if limit < 6 {
        // SAFETY: each warp wrote its six elements before the barrier.
        let of_warp = |warp: usize| unsafe { of_warps.add(limit * WARPS + warp).read() };
        let mut best = of_warp(0);
        let mut warp = 1;
        while warp < WARPS {
            best = if limit < 3 {
                min(best, of_warp(warp))
            } else {
                max(best, of_warp(warp))
            };
            warp += 1;
        }
        // SAFETY: places that all threads only take minima or maxima of.
        unsafe {
            let place = counters.address(Counters::LOW + limit) as *mut i64;
            if limit < 3 {
                atomic::min(place, best);
            } else {
                atomic::max(place, best);
            }
        }
    }
}

macro_rules! entries {
    ($($type:ty, $name:ident;)*) => {$(
        #[doc = concat!("Looks at all rows of `", stringify!($type), "`: which is no box, where the centres are, how large boxes are.")]
        ///
        /// # Safety
        /// The slices of `sets` have the rows and axes that it names; `counters` are those that
        /// [`crate::start`] has left; a block has 256 threads.
        #[kernel(block = 256)]
        pub unsafe fn $name(sets: Sets<$type>, counters: DeviceSliceMut<u64>) {
            // SAFETY: by the contract of this kernel, the slices of `sets` have the rows and axes
            // that it names, `counters` are those that `start` has left, and the block has 256
            // threads.
            unsafe { examine(sets, counters) }
        }
    )*};
}

entries! {
    f32, examine_f32;
    f64, examine_f64;
    i32, examine_i32;
}
