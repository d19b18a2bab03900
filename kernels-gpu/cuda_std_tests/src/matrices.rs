//! Matrix instructions of a warp, for compute capability 8.0, one of them for 9.0.

use cuda_std::prelude::*;
use cuda_std::{mma, narrow, shared};

/// Two numbers of 16 bits in a word.
fn pair(low: u16, high: u16) -> u32 {
    (high as u32) << 16 | low as u32
}

macro_rules! of_numbers {
    ($($(#[$condition:meta])* $kernel:ident $function:ident, $rows:literal $k:literal,
       $input:ty, $sum:ty, [$($a:literal)*] [$($b:literal)*] [$($d:literal)*];)*) => {$(
        #[doc = concat!("D = A·B + D of [`", stringify!($function), "`](mma::", stringify!($function), "), a product per warp.")]
        ///
        /// # Safety
        /// `a`, `b` and `d` have a matrix per block, row by row.
        $(#[$condition])*
        #[kernel(block = 32)]
        pub unsafe fn $kernel(a: DeviceSlice<$input>, b: DeviceSlice<$input>, d: DeviceSliceMut<$sum>) {
            let (lane, block) = (warp::lane_id() as usize, thread::block_idx_x() as usize);
            let (g, t) = (lane / 4, lane % 4);
            // SAFETY: inside of the block's matrices.
            unsafe {
                let of_a = |i: usize| a.at((block * $rows + g + i % 2 * 8) * $k + t + i / 2 * 4);
                let of_b = |i: usize| b.at((block * $k + t + i * 4) * 8 + g);
                let place = |i: usize| (block * $rows + g + i / 2 * 8) * 8 + 2 * t + i % 2;
                let mut sums = [$(d.at(place($d))),*];
                mma::$function(&mut sums, [$(of_a($a)),*], [$(of_b($b)),*]);
                $(d.set(place($d), sums[$d]);)*
            }
        }
    )*};
}

of_numbers! {
    product_8_8_4_f64 m8n8k4_f64, 8 4, f64, f64, [0] [0] [0 1];
    #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
    product_16_8_4_f64 m16n8k4_f64, 16 4, f64, f64, [0 1] [0] [0 1 2 3];
    #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
    product_16_8_8_f64 m16n8k8_f64, 16 8, f64, f64, [0 1 2 3] [0 1] [0 1 2 3];
    product_16_8_8_tf32 m16n8k8_tf32, 16 8, u32, f32, [0 1 2 3] [0 1] [0 1 2 3];
}

macro_rules! of_pairs {
    ($($kernel:ident $function:ident;)*) => {$(
        #[doc = concat!("D = A·B + D of [`", stringify!($function), "`](mma::", stringify!($function), "), a product per warp.")]
        ///
        /// # Safety
        /// `a`, `b` and `d` have a matrix per block, row by row.
        #[kernel(block = 32)]
        pub unsafe fn $kernel(a: DeviceSlice<u16>, b: DeviceSlice<u16>, d: DeviceSliceMut<f32>) {
            let (lane, block) = (warp::lane_id() as usize, thread::block_idx_x() as usize);
            let (g, t) = (lane / 4, lane % 4);
            // SAFETY: inside of the block's matrices.
            unsafe {
                let of_a = |i: usize| {
                    let first = (block * 16 + g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
                    pair(a.at(first), a.at(first + 1))
                };
                let of_b = |i: usize| {
                    let first = (block * 16 + 2 * t + i * 8) * 8 + g;
                    pair(b.at(first), b.at(first + 8))
                };
                let place = |i: usize| (block * 16 + g + i / 2 * 8) * 8 + 2 * t + i % 2;
                let mut sums = [d.at(place(0)), d.at(place(1)), d.at(place(2)), d.at(place(3))];
                mma::$function(&mut sums, [of_a(0), of_a(1), of_a(2), of_a(3)], [of_b(0), of_b(1)]);
                unrolled! { i in [0 1 2 3] {
                    d.set(place(i), sums[i]);
                }}
            }
        }
    )*};
}

of_pairs! {
    product_16_8_16_f16 m16n8k16_f16;
    product_16_8_16_bf16 m16n8k16_bf16;
}

macro_rules! tiles {
    ($($kernel:ident $transposed:literal;)*) => {$(
        #[doc = concat!("Four 8×8 tiles through shared memory, transposed: ", stringify!($transposed), ".")]
        ///
        /// # Safety
        /// `tiles` and `out` have 32 elements, `tiles` the rows of four tiles; dynamic shared
        /// memory has 512 bytes.
        #[kernel(block = 32)]
        pub unsafe fn $kernel(tiles: DeviceSlice<[u32; 4]>, out: DeviceSliceMut<[u32; 4]>) {
            let rows = shared::dynamic_shared_mem::<u32>();
            let lane = warp::lane_id() as usize;
            // SAFETY: each lane has a row of its own, since 5 and 32 have no common factor; the
            // barrier separates writes and reads.
            unsafe {
                let place = (5 * lane + 3) % 32;
                let row = tiles.at(lane);
                unrolled! { word in [0 1 2 3] {
                    rows.add(4 * place + word).write(row[word]);
                }}
                warp::sync_warp(warp::FULL_MASK);
                let address = shared::address(rows).offset(16 * place as u32);
                out.set(lane, mma::load_tiles::<$transposed>(address));
            }
        }
    )*};
}

tiles! {
    tiles_plain false;
    tiles_transposed true;
}

/// Rounds neighbours to pairs of f16 and of bf16.
///
/// # Safety
/// `pairs` has an element per thread, `input` has two.
#[kernel]
pub unsafe fn rounded_pairs(input: DeviceSlice<[f32; 2]>, pairs: DeviceSliceMut<[u32; 2]>) {
    let i = thread::global_index();
    if i < input.len() {
        // SAFETY: below the length.
        unsafe {
            let [first, second] = input.at(i);
            pairs.set(
                i,
                [
                    narrow::f16_pair(first, second),
                    narrow::bf16_pair(first, second),
                ],
            );
        }
    }
}
