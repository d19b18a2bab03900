//! The GPU kernels of gridstride's edit distance. `gridstride::edit_distance` launches them.
//!
//! Source: G. Myers, 'A fast bit-vector algorithm for approximate string matching based on dynamic
//! programming', in the form of H. Hyyrö, 'A bit-vector algorithm for computing Levenshtein and
//! Damerau edit distances'. Neighbouring entries of the table of distances differ by −1, 0 or 1, so
//! that two bits describe a difference, and a few instructions compute 32 entries of a column.
//!
//! A warp computes a table along its diagonals. Each lane keeps the differences of consecutive rows
//! in registers, and in each step computes its next column, one column behind the lane above, whose
//! lowest horizontal differences it gets by a shuffle.
#![no_std]

mod input;
mod lane;
mod long;
mod short;

use cuda_std::prelude::*;

pub use input::{Pair, Texts};
pub use long::{MAX_WARPS, STAGE_COLUMNS, STRIP_ROWS, edges};
pub use short::{Job, SHORT_THREADS};

/// The arguments that all pairs of a launch share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Bits of a packed letter of `a`: 1, 2, 4 or 8.
    pub a_bits: u32,
    /// Bits of a packed letter of `b`.
    pub b_bits: u32,
    /// The largest distance of interest of short pairs: `u32::MAX` replaces larger distances.
    pub limit: u32,
}

fn limited(distance: u32, limit: u32) -> u32 {
    if distance <= limit {
        distance
    } else {
        u32::MAX
    }
}

macro_rules! entries {
    ($($short_1:ident $short_2:ident $short_4:ident $long:ident: $planes:literal;)*) => {
        entries! { @short $($short_1: $planes, 1; $short_2: $planes, 2; $short_4: $planes, 4;)* }
        $(
            #[doc = concat!("Distances of long pairs, with letters of up to ", $planes, " bits.")]
            ///
            /// # Safety
            /// As stated in `gridstride::edit_distance`' launch: a block of up to [`MAX_WARPS`]
            /// whole warps for each pair, whose shorter sequence is not empty. `texts`, `edges` and
            /// `out` have what each [`Pair`] names.
            #[kernel(max_block = 256)]
            pub unsafe fn $long(
                parameters: Parameters,
                texts: Texts,
                pairs: DeviceSlice<Pair>,
                edges: DeviceSliceMut<u64>,
                out: DeviceSliceMut<u32>,
            ) {
                let sums = shared_array![u32; MAX_WARPS as usize];
                // SAFETY: `long` asks for what this kernel asks of block, pair, edges and result.
                // `sums` has an element for each of the `MAX_WARPS` warps.
                unsafe { long::long::<$planes>(parameters, texts, pairs, edges, out, sums) }
            }
        )*
    };
    (@short $($name:ident: $planes:literal, $words:literal;)*) => {$(
        #[doc = concat!("Distances of short pairs, with letters of up to ", $planes, " bits and ",
            $words, " words of rows per lane.")]
        ///
        /// # Safety
        /// As stated in `gridstride::edit_distance`' launch: a warp for each job, blocks of
        /// [`SHORT_THREADS`] threads. `pairs`, `texts` and `out` have what each [`Job`] names.
        #[kernel(max_block = 128)]
        pub unsafe fn $name(
            parameters: Parameters,
            texts: Texts,
            jobs: DeviceSlice<Job>,
            pairs: DeviceSlice<u32>,
            out: DeviceSliceMut<u32>,
        ) {
            // SAFETY: by the contract of this kernel, the block has `SHORT_THREADS` threads, and
            // the jobs and the pairs that they name are in `texts` and `out`.
            unsafe { short::short::<$planes, $words>(parameters, texts, jobs, pairs, out) }
        }
    )*};
}

entries! {
    short_2_1 short_2_2 short_2_4 long_2: 2;
    short_4_1 short_4_2 short_4_4 long_4: 4;
    short_8_1 short_8_2 short_8_4 long_8: 8;
}
