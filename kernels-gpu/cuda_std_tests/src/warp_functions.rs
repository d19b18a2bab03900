//! The functions of a warp under Rust-CUDA's names.

use cuda_std::prelude::*;
use cuda_std::warp::{WarpReductionOp, WarpShuffleValue};
use cuda_std::{bf16, f16};

/// The four shuffles of a value, and whether their source is in the group.
///
/// # Safety
/// All lanes of the mask call it.
unsafe fn shuffled<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    argument: u32,
    width: u32,
) -> [(T, bool); 4] {
    // SAFETY: by the contract of this function, all lanes of the mask call it.
    unsafe {
        [
            warp::warp_shuffle_idx(mask, value, argument, width),
            warp::warp_shuffle_up(mask, value, argument, width),
            warp::warp_shuffle_down(mask, value, argument, width),
            warp::warp_shuffle_xor(mask, value, argument, width),
        ]
    }
}

macro_rules! shuffles {
    ($($name:ident, $type:ty;)*) => {$(
        #[doc = concat!("The shuffles of `", stringify!($type), "`: idx, up, down, xor; a bit of `is_there` for each.")]
        ///
        /// # Safety
        /// An element per thread.
        #[kernel(block = 32)]
        pub unsafe fn $name(
            input: DeviceSlice<$type>,
            argument: u32,
            width: u32,
            out: DeviceSliceMut<[$type; 4]>,
            is_there: DeviceSliceMut<u32>,
        ) {
            let i = thread::global_index();
            // SAFETY: an element per thread, and all lanes are here.
            unsafe {
                let found = shuffled(warp::FULL_MASK, input.at(i), argument, width);
                out.set(i, found.map(|(value, _)| value));
                let bits = found.map(|(_, is_there)| is_there as u32);
                is_there.set(i, bits[0] | bits[1] << 1 | bits[2] << 2 | bits[3] << 3);
            }
        }
    )*};
}

shuffles! {
    warp_shuffles_u8, u8;
    warp_shuffles_i8, i8;
    warp_shuffles_u16, u16;
    warp_shuffles_i16, i16;
    warp_shuffles_u32, u32;
    warp_shuffles_i32, i32;
    warp_shuffles_u64, u64;
    warp_shuffles_i64, i64;
    warp_shuffles_u128, u128;
    warp_shuffles_i128, i128;
    warp_shuffles_f32, f32;
    warp_shuffles_f64, f64;
    warp_shuffles_f16, f16;
    warp_shuffles_bf16, bf16;
}

/// Votes on whether a value is odd, among the lanes of two masks, then the lanes that are here and
/// this lane's number.
///
/// # Safety
/// An element per thread.
#[kernel(block = 32)]
pub unsafe fn warp_votes(input: DeviceSlice<u32>, masks: [u32; 2], out: DeviceSliceMut<[u32; 5]>) {
    let lane = warp::lane_id();
    let mask = masks[(masks[0] >> lane & 1 == 0) as usize];
    if mask >> lane & 1 == 0 {
        return;
    }
    // SAFETY: an element per thread; the lanes of each mask are here.
    unsafe {
        let is_odd = input.at(lane as usize) % 2 == 1;
        let found = [
            warp::warp_vote_all(mask, is_odd) as u32,
            warp::warp_vote_any(mask, is_odd) as u32,
            warp::warp_vote_ballot(mask, is_odd),
            warp::activemask(),
            warp::lane_id(),
        ];
        warp::sync_warp(mask);
        out.set(lane as usize, found);
    }
}

macro_rules! matches {
    ($($name:ident, $type:ty;)*) => {$(
        #[doc = concat!("The lanes of the mask with the same `", stringify!($type), "`, and the mask if all have.")]
        ///
        /// # Safety
        /// An element per lane.
        #[kernel(block = 32)]
        pub unsafe fn $name(input: DeviceSlice<$type>, mask: u32, out: DeviceSliceMut<[u32; 3]>) {
            let lane = warp::lane_id();
            if mask >> lane & 1 == 1 {
                // SAFETY: an element per lane; the lanes of the mask are here.
                unsafe {
                    let value = input.at(lane as usize);
                    let any = warp::warp_match_any(mask, value);
                    let all = warp::warp_match_all(mask, value);
                    out.set(lane as usize, [any, all.is_some() as u32, all.unwrap_or(0)]);
                }
            }
        }
    )*};
}

matches! {
    warp_matches_u32, u32;
    warp_matches_i32, i32;
    warp_matches_u64, u64;
    warp_matches_i64, i64;
    warp_matches_f32, f32;
    warp_matches_f64, f64;
}

macro_rules! reductions {
    ($($name:ident, $type:ty;)*) => {$(
        #[doc = concat!("All reductions of `", stringify!($type), "` among the lanes of the mask.")]
        ///
        /// # Safety
        /// An element per lane.
        #[kernel(block = 32)]
        pub unsafe fn $name(input: DeviceSlice<$type>, mask: u32, out: DeviceSliceMut<[$type; 6]>) {
            let lane = warp::lane_id();
            if mask >> lane & 1 == 1 {
                // SAFETY: an element per lane; the lanes of the mask are here.
                unsafe {
                    let value = input.at(lane as usize);
                    let found = [
                        warp::warp_reduce(mask, value, WarpReductionOp::Add),
                        warp::warp_reduce(mask, value, WarpReductionOp::Min),
                        warp::warp_reduce(mask, value, WarpReductionOp::Max),
                        warp::warp_reduce(mask, value, WarpReductionOp::And),
                        warp::warp_reduce(mask, value, WarpReductionOp::Or),
                        warp::warp_reduce(mask, value, WarpReductionOp::Xor),
                    ];
                    out.set(lane as usize, found);
                }
            }
        }
    )*};
}

reductions! {
    warp_reductions_u32, u32;
    warp_reductions_i32, i32;
}

/// A shuffle in groups of a width that there is none of.
///
/// # Safety
/// Always.
#[kernel(block = 32)]
pub unsafe fn wrong_width(width: u32) {
    // SAFETY: all lanes are here.
    unsafe { warp::warp_shuffle_idx(warp::FULL_MASK, 1, 0, width) };
}
