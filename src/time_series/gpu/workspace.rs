//! The buffers of each phase. Each list serves both to allocate the buffers and to estimate their bytes.

use time_series_kernels::{HEADER, Summary, Sums, TILE};

use crate::Result;
use crate::device::{Buffer, Device, Element};
use crate::partition::bytes_of;
use crate::time_series::method::Method;
use crate::time_series::options::{Duplicates, TimeBuckets};

/// Makes a struct of buffers for each list, with the functions `bytes` and `allocate` of the lengths' arguments.
macro_rules! workspace {
    ($(
        $(#[$doc:meta])*
        $name:ident $(<$generic:ident>)? ($($argument:ident),*) {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $length:expr,)*
        }
    )*) => {$(
        $(#[$doc])*
        pub struct $name $(<$generic: Element>)? {
            $($(#[$field_doc])* pub $field: Buffer<$type>,)*
        }

        impl $(<$generic: Element>)? $name $(<$generic>)? {
            /// Returns the bytes of all buffers.
            pub fn bytes($($argument: usize),*) -> u64 {
                0u64 $(.saturating_add(bytes_of($length, size_of::<$type>())))*
            }

            /// Allocates all buffers.
            pub fn allocate(device: &Device $(, $argument: usize)*) -> Result<Self> {
                Ok(Self { $($field: device.alloc($length)?,)* })
            }
        }
    )*};
}

workspace! {
    /// Points that are copied from the host.
    Points<V>(points) {
        timestamps: i64 = points,
        values: V = points,
    }
    /// Values without what is left out, or rates.
    Prepared(points) {
        values: f64 = points,
    }
    /// Columns of results.
    Columns(columns, buckets) {
        // A product that overflows cannot be allocated either.
        elements: f64 = columns.saturating_mul(buckets),
    }
    /// Results of a user-defined aggregate.
    Results<O>(buckets) {
        results: O = buckets,
    }
    /// Where buckets begin: in time, and, where it is needed, among the points.
    Starts(buckets, firsts) {
        starts: i64 = buckets,
        firsts: u32 = firsts,
    }
    /// What tiles of points tell each other.
    Tiles(tiles) {
        before: u32 = tiles + 1,
        progress: u64 = HEADER + tiles,
    }
    /// States of `units` tiles, or of units of tiles, of `state` bytes each.
    States(units, state) {
        lead: u64 = (units * state).div_ceil(size_of::<u64>()),
        trail: u64 = (units * state).div_ceil(size_of::<u64>()),
    }
    /// Points of long buckets, to be sorted by value.
    Keys(points) {
        keys: u64 = points,
        entries: u32 = points,
    }
    /// The same points, to be sorted by bucket.
    BucketOrder(points) {
        wide: u64 = points,
        order: u32 = points,
    }
}

/// Estimates the bytes that points of the host and their aggregates take if each point is a bucket.
pub fn aggregate_bytes<V: Element>(
    options: &TimeBuckets,
    methods: &[Method],
    points: usize,
) -> u64 {
    let is_prepared = methods.iter().any(Method::is_rate) || options.duplicates != Duplicates::Keep;
    let is_sorted = (methods.iter()).any(|method| method.kind().percentile().is_some());
    Points::<V>::bytes(points)
        + when(is_prepared, Prepared::bytes(points))
        // Sorting needs all buffers twice.
        + when(is_sorted, 2 * (Keys::bytes(points) + BucketOrder::bytes(points)))
        + Columns::bytes(methods.len(), points)
        + pass_bytes(points, points, size_of::<Summary>())
}

/// The same for a user-defined aggregate with states of `state` bytes.
pub fn custom_bytes<V: Element, O: Element>(state: usize, points: usize) -> u64 {
    Points::<V>::bytes(points)
        + Prepared::bytes(points)
        + Results::<O>::bytes(points)
        + pass_bytes(points, points, state)
}

/// The same for the numbers of points.
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
