//! The buffers of each phase: one list gives both the allocations and the estimate of their bytes.

use gridstride_primitives::sums_bytes;
use gridstride_runtime::device::{Element, workspace};
use gridstride_runtime::partition::bytes_of;
use time_series_kernels::{
    BINS, CANDIDATES, CLASSES, HugeState, LONG, REPORTS, Sums, TILE, class_start,
};

use super::method::{self, Method};
use super::options::{Duplicates, Order, TimeBuckets};
use super::states::with_smallest_bucket_state;
use super::values::Values;

workspace! {
    /// Points that are copied from the host.
    pub struct Points<V: Element>(points: usize) {
        timestamps: i64 = points,
        values: V = points,
    }
}

workspace! {
    /// Prepared values, columns, or results of a user-defined aggregate.
    pub struct Array<T: Element>(len: usize) {
        elements: T = len,
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
    /// The number of buckets of each tile, and what tiles report.
    pub struct Tiles(tiles: usize) {
        counts: u32 = tiles,
        reports: u64 = REPORTS,
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
    /// Pairs to be sorted by key.
    pub struct Pairs(len: usize) {
        keys: u64 = len,
        values: u32 = len,
    }
}

workspace! {
    /// The buckets of these points that no thread sorts, by class.
    pub struct Longer(points: usize) {
        counts: u32 = CLASSES.len(),
        list: u32 = class_start(points, CLASSES.len()),
    }
}

workspace! {
    /// State of each huge bucket in the search for percentiles.
    pub struct HugeBuckets(buckets: usize) {
        tile_counts: u32 = buckets,
        states: HugeState = buckets,
        histograms: u32 = buckets * BINS as usize,
        candidates: u64 = buckets * CANDIDATES as usize,
        tiles: u64 = buckets + 1,
    }
}

/// The computation over points.
#[derive(Clone, Copy)]
pub enum Work {
    /// The methods of the options.
    Methods,
    /// A user-defined aggregate, with the bytes of a state and of a result.
    Custom {
        state: usize,
        result: usize,
        /// Whether results of parts of a bucket are merged, so that only points of a timestamp stay
        /// together.
        cuts_buckets: bool,
    },
    /// The number of points of each bucket.
    Counts,
}

impl Work {
    pub fn cuts_buckets(self) -> bool {
        matches!(self, Work::Custom { cuts_buckets, .. } if cuts_buckets)
    }

    /// Estimates the bytes of points of the host and their results if each point is a bucket.
    pub fn bytes(self, options: &TimeBuckets, values: &Values, points: usize) -> u64 {
        let copied = match values {
            Values::F32(_) => Points::<f32>::bytes(points),
            Values::F64(_) => Points::<f64>::bytes(points),
            Values::None => Array::<i64>::bytes(points),
        };
        match self {
            Work::Methods => methods_bytes(options, copied, points),
            Work::Custom { state, result, .. } => {
                copied
                    + Array::<f64>::bytes(points)
                    + bytes_of(points, result)
                    + pass_bytes(points, points, state)
            }
            Work::Counts => {
                copied + Array::<f64>::bytes(points) + pass_bytes(points, 0, size_of::<Sums>())
            }
        }
    }
}

fn methods_bytes(options: &TimeBuckets, copied: u64, points: usize) -> u64 {
    let methods = &options.needed_methods();
    let is_prepared = methods.iter().any(Method::is_rate) || options.duplicates != Duplicates::Keep;
    let has_percentiles = methods.iter().any(Method::is_percentile);
    let huge = points / (LONG as usize + 1);
    let state = with_smallest_bucket_state!(method::state(methods), S => size_of::<S>());
    copied
        + when(is_prepared, Array::<f64>::bytes(points))
        // A sort has each of its buffers twice.
        + when(
            options.order == Order::Sort,
            copied + 2 * Pairs::bytes(points),
        )
        + when(
            has_percentiles,
            Longer::bytes(points) + HugeBuckets::bytes(huge),
        )
        + Array::<f64>::bytes(methods.len().saturating_mul(points))
        + pass_bytes(points, points, state)
}

fn pass_bytes(points: usize, firsts: usize, state: usize) -> u64 {
    let tiles = points.div_ceil(TILE as usize);
    // The bounds of tiles, and their places before and after the buckets are counted.
    let places = Array::<u32>::bytes(tiles) + 2 * sums_bytes(tiles);
    Starts::bytes(points, firsts) + Tiles::bytes(tiles) + places + States::bytes(tiles, state)
}

fn when(condition: bool, bytes: u64) -> u64 {
    if condition { bytes } else { 0 }
}
