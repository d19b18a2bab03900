//! Shuffles, votes and reductions.

use cuda_std::prelude::*;

/// The mask of the lower or upper 16 lanes, whichever the lane is of.
fn half_mask(lane: u32) -> u32 {
    if lane < 16 { 0xffff } else { 0xffff_0000 }
}

macro_rules! shuffles {
    ($($shuffles:ident, $reductions:ident, $type:ty;)*) => {$(
        #[doc = concat!("All shuffles of `", stringify!($type), "`: among the whole warp idx, up, down, xor, then among its halves.")]
        ///
        /// Within a half, lanes whose source would lie in the other half read themselves.
        ///
        /// # Safety
        /// `input` and `out` have an element per thread.
        #[kernel(block = 64)]
        pub unsafe fn $shuffles(input: DeviceSlice<$type>, argument: u32, out: DeviceSliceMut<[$type; 8]>) {
            let (i, lane) = (thread::global_index(), warp::lane_id());
            let (mask, in_half) = (half_mask(lane), lane % 16);
            // SAFETY: an element per thread.
            unsafe {
                let value = input.at(i);
                let idx = warp::shuffle_idx(warp::FULL_MASK, value, (7 * lane).wrapping_add(argument));
                let up = warp::shuffle_up(warp::FULL_MASK, value, argument);
                let down = warp::shuffle_down(warp::FULL_MASK, value, argument);
                let xor = warp::shuffle_xor(warp::FULL_MASK, value, argument);
                let half_idx = warp::shuffle_idx(mask, value, lane - in_half + in_half.wrapping_add(argument) % 16);
                let distance = argument % 16;
                let delta = if in_half >= distance { distance } else { 0 };
                let half_up = warp::shuffle_up(mask, value, delta);
                let delta = if in_half + distance < 16 { distance } else { 0 };
                let half_down = warp::shuffle_down(mask, value, delta);
                let half_xor = warp::shuffle_xor(mask, value, distance);
                out.set(i, [idx, up, down, xor, half_idx, half_up, half_down, half_xor]);
            }
        }

        #[doc = concat!("Sum, minimum and maximum of each warp's `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// `input` and `out` have an element per thread.
        #[kernel(block = 64)]
        pub unsafe fn $reductions(input: DeviceSlice<$type>, out: DeviceSliceMut<[$type; 3]>) {
            let i = thread::global_index();
            // SAFETY: an element per thread.
            unsafe {
                let value = input.at(i);
                let sum = warp::reduce_sum(value);
                let least = warp::reduce_min(value);
                let greatest = warp::reduce_max(value);
                out.set(i, [sum, least, greatest]);
            }
        }
    )*};
}

shuffles! {
    shuffles_u32, reductions_u32, u32;
    shuffles_i32, reductions_i32, i32;
    shuffles_u64, reductions_u64, u64;
    shuffles_i64, reductions_i64, i64;
    shuffles_f32, reductions_f32, f32;
    shuffles_f64, reductions_f64, f64;
}

/// The wrapping product of each warp.
///
/// # Safety
/// `data` has an element per thread.
#[kernel(block = 64)]
pub unsafe fn products(data: DeviceSliceMut<u32>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe { data.set(i, warp::reduce(data.at(i), u32::wrapping_mul)) };
}

/// Ballot, all, any and matches on whether a value is below `limit`: among the warp, then among
/// its halves. The last warp may have fewer lanes.
///
/// # Safety
/// `values` and `out` have an element per thread.
#[kernel(max_block = 128)]
pub unsafe fn votes(values: DeviceSlice<u32>, limit: u32, out: DeviceSliceMut<[u32; 8]>) {
    let (i, lane) = (thread::global_index(), warp::lane_id());
    let lanes = thread::block_dim_x() - (thread::thread_idx_x() - lane);
    let full = if lanes < warp::WARP_SIZE {
        (1 << lanes) - 1
    } else {
        warp::FULL_MASK
    };
    let half = full & half_mask(lane);
    // SAFETY: an element per thread.
    unsafe {
        let value = values.at(i);
        let is_below = value < limit;
        let found = [
            warp::ballot(full, is_below),
            warp::all(full, is_below) as u32,
            warp::any(full, is_below) as u32,
            warp::match_any(full, value),
            warp::ballot(half, is_below),
            warp::all(half, is_below) as u32,
            warp::any(half, is_below) as u32,
            warp::match_any(half, value),
        ];
        out.set(i, found);
    }
}

/// Even and odd lanes vote and shuffle in different branches.
///
/// # Safety
/// `data` has an element per thread.
#[kernel(block = 64)]
pub unsafe fn divergent_halves(data: DeviceSliceMut<u32>) {
    let (i, lane) = (thread::global_index(), warp::lane_id());
    // SAFETY: an element per thread.
    unsafe {
        let value = data.at(i);
        let result = if lane % 2 == 0 {
            let found = warp::ballot(0x5555_5555, value.is_multiple_of(3));
            found ^ warp::shuffle_xor(0x5555_5555, value, 2)
        } else {
            let found = warp::ballot(0xaaaa_aaaa, value.is_multiple_of(5));
            found ^ warp::shuffle_idx(0xaaaa_aaaa, value, lane ^ 4)
        };
        data.set(i, result);
    }
}

/// Only the lanes whose value is odd take part: they find each other by a ballot and learn the
/// first one's value.
///
/// # Safety
/// `data` has an element per thread.
#[kernel(block = 64)]
pub unsafe fn first_odd(data: DeviceSliceMut<u32>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe {
        let value = data.at(i);
        let odd = warp::ballot(warp::FULL_MASK, value % 2 == 1);
        if value % 2 == 1 {
            data.set(i, warp::shuffle_idx(odd, value, odd.trailing_zeros()));
        }
    }
}

/// Each lane reads what the lane opposite wrote to shared memory, ordered by `sync_warp` alone.
///
/// # Safety
/// `data` has an element per thread.
#[kernel(block = 64)]
pub unsafe fn warp_exchange(data: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 64];
    let (i, thread, lane) = (
        thread::global_index(),
        thread::thread_idx_x(),
        warp::lane_id(),
    );
    // SAFETY: below 64, and `sync_warp` separates the writes from the reads, which stay in a warp.
    unsafe {
        tile.add(thread as usize).write(data.at(i));
        warp::sync_warp(warp::FULL_MASK);
        let whole = tile.add((thread ^ 31) as usize).read();
        warp::sync_warp(warp::FULL_MASK);
        tile.add(thread as usize).write(whole.wrapping_mul(3));
        warp::sync_warp(half_mask(lane));
        data.set(i, tile.add((thread ^ 15) as usize).read());
    }
}
