//! GPU kernels that others build on: prefix sums and radix sort, and the parts of them that work
//! within a block. `gridstride::primitives` launches them.
#![no_std]

pub mod block;
mod scan;
mod sort;

pub use scan::{SCAN_THREADS, SCAN_TILE, Sums, sums_u32, totals_u32};
pub use sort::{
    DIGIT_BITS, DIGITS, DigitPlaces, MoveKeys, SORT_THREADS, SORT_TILE, SortParameters,
    digit_counts, digit_places, move_keys, move_pairs,
};
