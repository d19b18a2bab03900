//! Prefix sums among the threads of a block.

use core::ops::Add;
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE, WarpNumber};

/// An integer that prefix sums are made of.
pub trait Summand: WarpNumber + Add<Output = Self> {
    /// Nothing.
    const ZERO: Self;
}

impl Summand for u32 {
    const ZERO: u32 = 0;
}

impl Summand for u64 {
    const ZERO: u64 = 0;
}

/// The sum of the values of this lane and all lower ones of its warp.
#[inline(always)]
pub fn warp_inclusive_sum<T: Summand>(value: T) -> T {
    let lane = warp::lane_id();
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let below = warp::shuffle_up(FULL_MASK, sum, distance);
        if lane >= distance {
            sum = sum + below;
        }
        distance *= 2;
    }
    sum
}

/// The sum of the values of all lower threads of a one-dimensional block, and that of all threads.
///
/// It has a barrier before it writes to `warp_sums`, which may be in use until then; it is to be
/// used for something else only behind the next barrier.
///
/// # Safety
/// `warp_sums` points to an element of shared memory for each warp of the block, which consists of
/// whole warps; all its threads call this.
#[inline(always)]
pub unsafe fn exclusive_sum<T: Summand>(value: T, warp_sums: *mut T) -> (T, T) {
    let thread = thread::thread_idx_x();
    let (warp, lane) = (thread / WARP_SIZE, thread % WARP_SIZE);
    let warps = thread::block_dim_x() / WARP_SIZE;
    let inclusive = warp_inclusive_sum(value);
    let before_in_warp = warp::shuffle_up(FULL_MASK, inclusive, 1);
    let mut before = T::ZERO;
    if lane != 0 {
        before = before_in_warp;
    }
    thread::sync_threads();
    if lane == WARP_SIZE - 1 {
        // SAFETY: an element for each warp, which this thread alone writes.
        unsafe { warp_sums.add(warp as usize).write(inclusive) };
    }
    thread::sync_threads();
    let mut total = T::ZERO;
    let mut other = 0;
    while other < warps {
        // SAFETY: each warp wrote its sum before the barrier.
        let sum = unsafe { warp_sums.add(other as usize).read() };
        if other < warp {
            before = before + sum;
        }
        total = total + sum;
        other += 1;
    }
    (before, total)
}
