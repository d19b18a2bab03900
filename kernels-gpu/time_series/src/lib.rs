//! GPU kernels of time-series aggregation, and [`Aggregate`], for kernels of custom aggregates.
//! `gridstride::time_series` launches them.
#![no_std]

#[macro_use]
mod statistic;

mod aggregate;
mod exact_sum;
mod floor;
mod heads;
mod join;
mod kernels;
mod keys;
mod long;
mod moments;
mod percentiles;
mod points;
mod prepare;
mod reduce;
mod reports;
mod round;
mod rows;
mod scale;
mod search;
mod segments;
mod series;
mod short;
mod stage;
mod statistics;
mod summary;
mod sums;
mod tile;
mod work;

#[doc(hidden)]
pub use cuda_std;

pub use aggregate::{Aggregate, Point};
pub use exact_sum::ExactSum;
pub use floor::Floor;
pub use join::{Join, Units, join, shared_bytes as join_shared_bytes};
pub use kernels::*;
pub use keys::{Bucketed, Percentiles, interpolated};
pub use moments::Moments;
pub use percentiles::{
    BINS, CANDIDATES, CLASSES, HUGE_THREADS, HUGE_TILE, Huge, HugeState, LONG, LONG_THREADS,
    LongerBuckets, ROUNDS, SELECT_THREADS, class_start, huge_begin, huge_choose, huge_extents_f32,
    huge_extents_f64, huge_finish, huge_gather_f32, huge_gather_f64, huge_histogram_f32,
    huge_histogram_f64, huge_tiles, long_f32, long_f64, middle_64_f32, middle_64_f64,
    middle_256_f32, middle_256_f64, middle_1024_f32, middle_1024_f64, middle_2048_f32,
    middle_2048_f64, short_f32, short_f64, sorted_f32, sorted_f64,
};
pub use points::{
    ABSENT, Absent, Differences, NoValues, Points, Source, THREADS, TILE, Value, Values,
};
pub use prepare::{Duplicates, Preparation, prepare_f32, prepare_f64};
pub use reduce::{Buckets, Results, reduce, shared_bytes as reduce_shared_bytes};
pub use reports::{REPORTS, Report, Reports, TOTAL};
pub use round::{ROUND_THREADS, round};
pub use rows::{
    Counts, Filling, GAP, Repeated, fill_buckets, filled_lengths, keep_buckets, keep_results,
    kept_indices, pick_f64, pick_i64, pick_previous, reorder_f32, reorder_f64, reorder_i64,
    series_keys, time_keys,
};
pub use segments::Pieces;
pub use series::{BOUND_THREADS, bound_tiles, buckets_of_series, mark_series};
pub use statistic::{Accuracy, State, Statistic, Unit};
pub use statistics::{StatesOf, Statistics};
pub use summary::{Summaries, Summary};
pub use sums::Sums;
