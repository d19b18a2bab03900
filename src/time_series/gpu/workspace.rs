//! The buffers of each phase: one list gives both the allocations and the estimate of their bytes.

use time_series_kernels::{HEADER, Summary, Sums, TILE};

use crate::device::{Element, workspace};
use crate::partition::bytes_of;
use crate::time_series::method::Method;
use crate::time_series::options::{Duplicates, TimeBuckets};

workspace! {
    /// Points that are copied from the host.
    pub struct Points<V: Element>(points: usize) {
        timestamps: i64 = points,
        values: V = points,
    }
}

workspace! {
    /// Values that the options leave, or rates.
    pub struct Prepared(points: usize) {
        values: f64 = points,
    }
}

workspace! {
    /// Columns of results.
    pub struct Columns(columns: usize, buckets: usize) {
        // A product that overflows cannot be allocated either.
        elements: f64 = columns.saturating_mul(buckets),
    }
}

workspace! {
    /// Results of a user-defined aggregate.
    pub struct Results<O: Element>(buckets: usize) {
        results: O = buckets,
    }
}

workspace! {
    /// The first timestamp of each bucket, and the first points if the pass needs them.
    pub struct Starts(buckets: usize, firsts: usize) {
        starts: i64 = buckets,
        firsts: u32 = firsts,
    }
}

workspace! {
    /// The numbers of buckets in front of each tile, and the words that tiles communicate by.
    pub struct Tiles(tiles: usize) {
        before: u32 = tiles + 1,
        progress: u64 = HEADER + tiles,
    }
}

workspace! {
    /// States of `state` bytes of `units` tiles, or of groups of tiles.
    pub struct States(units: usize, state: usize) {
        lead: u64 = (units * state).div_ceil(size_of::<u64>()),
        trail: u64 = (units * state).div_ceil(size_of::<u64>()),
    }
}

workspace! {
    /// Points of long buckets, to be sorted by value.
    pub struct Keys(points: usize) {
        keys: u64 = points,
        entries: u32 = points,
    }
}

workspace! {
    /// The same points, to be sorted by bucket.
    pub struct BucketOrder(points: usize) {
        wide: u64 = points,
        order: u32 = points,
    }
}

/// Estimates the bytes of points of the host and their aggregates if each point is a bucket.
pub fn aggregate_bytes<V: Element>(
    options: &TimeBuckets,
    methods: &[Method],
    points: usize,
) -> u64 {
    let is_prepared = methods.iter().any(Method::is_rate) || options.duplicates != Duplicates::Keep;
    let is_sorted = methods.iter().any(Method::is_percentile);
    Points::<V>::bytes(points)
        + when(is_prepared, Prepared::bytes(points))
        // Sorting needs all buffers twice.
        + when(is_sorted, 2 * (Keys::bytes(points) + BucketOrder::bytes(points)))
        + Columns::bytes(methods.len(), points)
        + pass_bytes(points, points, size_of::<Summary>())
}

/// As [`aggregate_bytes`], but for a user-defined aggregate with states of `state` bytes.
pub fn custom_bytes<V: Element, O: Element>(state: usize, points: usize) -> u64 {
    Points::<V>::bytes(points)
        + Prepared::bytes(points)
        + Results::<O>::bytes(points)
        + pass_bytes(points, points, state)
}

/// As [`aggregate_bytes`], but for the numbers of points.
pub fn counts_bytes(points: usize) -> u64 {
    bytes_of(points, size_of::<i64>())
        + Columns::bytes(1, points)
        + pass_bytes(points, 0, size_of::<Sums>())
}

fn pass_bytes(points: usize, firsts: usize, state: usize) -> u64 {
    let tiles = points.div_ceil(TILE as usize);
    Starts::bytes(points, firsts) + Tiles::bytes(tiles) + States::bytes(tiles, state)
}

fn when(condition: bool, bytes: u64) -> u64 {
    if condition { bytes } else { 0 }
}
