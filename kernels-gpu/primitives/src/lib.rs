//! GPU kernels that others build on: prefix sums and radix sort, and the parts of them that work
//! within a block. `gridstride::primitives` launches them.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

pub mod block;
mod digits;
mod pass;
mod scan;
mod sort;
mod tile;
mod words;

pub use pass::{
    LONG_SORT_TILE, SHORT_SORT_TILE, SORT_THREADS, SortPass, SortValues, sort_bytes,
    sort_keys_long, sort_keys_short, sort_pairs_long, sort_pairs_short,
};
pub use scan::{SCAN_THREADS, SCAN_TILE, Sums, sums_u32, totals_u32};
pub use sort::{
    DIGIT_BITS, DIGITS, MAX_PASSES, SortBits, SortKeys, TOTALS_PER_THREAD, TOTALS_THREADS,
    digit_totals,
};
pub use words::SortWords;
