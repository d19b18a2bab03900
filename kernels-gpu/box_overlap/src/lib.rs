//! The GPU kernels of gridstride's box overlap. `gridstride::box_overlap` launches them and states
//! what they find.
#![no_std]

mod boxes;
mod brute;
mod build;
mod counters;
mod cursor;
mod curve;
mod domain;
mod examine;
mod few;
mod keys;
mod levels;
mod output;
mod queries;
mod rows;
mod target;
mod tree;

pub use boxes::Sets;
pub use brute::{
    BRUTE_ROWS, BRUTE_THREADS, BRUTE_TILE, BruteCount, BruteParameters, brute_count_f32,
    brute_count_f64, brute_count_i32, brute_fill_f32, brute_fill_f64, brute_fill_i32, codes_f32,
    codes_f64, codes_i32,
};
pub use build::{BUILD_THREADS, Leaves, Levels, leaves_f32, leaves_f64, leaves_i32, levels};
pub use counters::{Counters, start};
pub use examine::{examine_f32, examine_f64, examine_i32};
pub use few::{FEW_ROWS, FEW_STATUS, FEW_THREADS, FEW_WORDS, Few, few_f32, few_f64, few_i32};
pub use keys::{Keys, key_bits, keys_f32, keys_f64, keys_i32};
pub use levels::{CHILDREN, LEVELS_A_LAUNCH, MAX_LEVELS, entries, nodes, tree_words};
pub use output::{matrix, pair_list, row_offsets};
pub use queries::{
    Find, RowRange, SLOTS, VISITS, WriteRows, append_rows, find_f32, find_f64, find_i32, write_rows,
};
pub use rows::{
    PACKET_LEVEL, PlaceRows, RowCounts, RowParameters, RowSearch, count_rows_f32, count_rows_f64,
    count_rows_i32, fill_rows_f32, fill_rows_f64, fill_rows_i32, place_rows, row_counts,
    sample_rows_f32, sample_rows_f64, sample_rows_i32,
};
