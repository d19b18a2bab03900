//! The GPU kernels of gridstride's distances between rows. `gridstride::distances` launches them.
#![no_std]

mod largest;
mod number;
mod tile;

use cuda_std::prelude::*;

use largest::largest;
pub use tile::{
    CHUNK, Matrices, Parameters, THREADS, TILE_COLUMNS_F32, TILE_COLUMNS_F64, TILE_ROWS,
};
use tile::{place, place_below, shared_words, tile};

macro_rules! entries {
    ($($type:ident, $per_thread:literal, $load_a:literal, $load_b:literal, $columns:ident,
       $distances:ident, $pairwise:ident, $largest:ident;)*) => {$(
        #[doc = concat!("A tile of the distances of the rows of `a` and `b`, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// As stated in `gridstride::distances`' launch: [`THREADS`] threads, a block per tile,
        /// matrices as large as the parameters say, aligned to 16 bytes.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $distances(
            parameters: Parameters,
            Matrices { a, b }: Matrices<$type>,
            out: DeviceSliceMut<f64>,
        ) {
            let chunks = shared_array![u64; shared_words::<$type>($columns)];
            let place = place(thread::block_idx_x(), parameters.columns, $columns);
            // SAFETY: passed on to the caller.
            unsafe {
                tile::<$type, $per_thread, $load_a, $load_b, false>(parameters, a, b, out, chunks, place)
            }
        }

        #[doc = concat!("A tile of the distances of the rows of `a` to each other, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// As for the distances, with a block per tile that reaches the diagonal or lies below it.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $pairwise(
            parameters: Parameters,
            a: DeviceSlice<$type>,
            out: DeviceSliceMut<f64>,
        ) {
            let chunks = shared_array![u64; shared_words::<$type>($columns)];
            let place = place_below(thread::block_idx_x(), $columns);
            // SAFETY: passed on to the caller.
            unsafe {
                tile::<$type, $per_thread, $load_a, $load_b, true>(parameters, a, a, out, chunks, place)
            }
        }

        #[doc = concat!("The bits of the largest magnitude of `", stringify!($type), "` numbers,")]
        /// and the index of the first that is NaN or infinite: array number `number` brings the
        /// former to `found[2 * number]`, if larger than what is there, and the latter to the
        /// element behind it, if smaller.
        ///
        /// # Safety
        /// `found` has these elements; blocks are whole warps.
        #[kernel(max_block = 256)]
        pub unsafe fn $largest(number: u32, values: DeviceSlice<$type>, found: DeviceSliceMut<u64>) {
            // SAFETY: passed on to the caller.
            unsafe { largest(number, values, found) }
        }
    )*};
}

entries! {
    f32, 8, 2, 2, TILE_COLUMNS_F32, distances_f32, pairwise_f32, largest_f32;
    f64, 4, 4, 2, TILE_COLUMNS_F64, distances_f64, pairwise_f64, largest_f64;
}
