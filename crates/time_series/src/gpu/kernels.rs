//! The kernels for each type of values, and those of user-defined aggregates.

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::device::Element;
use time_series_kernels::{
    self as kernels, Bucketed, Buckets, Columns, Huge, Join, LongerBuckets, Moments, Percentiles,
    Pieces, Points, Preparation, Reports, Summary, Sums, Units,
};

/// The kernels for one type of values.
pub struct Kernels<V: 'static> {
    /// Values without duplicates, or rates.
    pub prepare: &'static Kernel<(Preparation, DeviceSlice<V>, DeviceSliceMut<f64>)>,
    /// Percentiles of short buckets.
    pub short: &'static Kernel<(Bucketed<V>, Percentiles, LongerBuckets)>,
    /// Percentiles of buckets of each class but the last, up to 32 points first.
    pub sorted: &'static Selection<V>,
    pub middle_64: &'static Selection<V>,
    pub middle_256: &'static Selection<V>,
    pub middle_1024: &'static Selection<V>,
    pub middle_2048: &'static Selection<V>,
    pub long: &'static Selection<V>,
    /// The steps of percentiles of huge buckets that read points.
    pub huge_extents: &'static Kernel<(Bucketed<V>, Huge)>,
    pub huge_histogram: &'static Kernel<(Bucketed<V>, Huge)>,
    pub huge_gather: &'static Kernel<(Bucketed<V>, Huge)>,
    /// Elements in another order.
    pub reorder: &'static Reorder<V>,
}

/// A kernel that aggregates by the library's own statistics.
pub type Reduce<V, S> = Kernel<(Points<V>, Reports, Buckets, Pieces<S>, Columns)>;
/// Such kernels for all tiles, and for those with short buckets, if there is one.
pub struct Passes<V: 'static, S: 'static> {
    pub all: &'static Reduce<V, S>,
    pub short: Option<&'static Reduce<V, S>>,
}
/// A kernel that joins what tiles left.
pub type Joining<S> = Kernel<(Units, Join<S>, Columns)>;
/// The kernel that joins any tiles, and the kernel for tiles that a launch for short buckets has
/// aggregated.
pub struct Joins<S: 'static> {
    pub all: &'static Joining<S>,
    pub short: &'static Joining<S>,
}
/// A kernel that copies elements in another order.
pub type Reorder<V> = Kernel<(DeviceSlice<V>, DeviceSlice<u32>, DeviceSliceMut<V>)>;
type Selection<V> = Kernel<(Bucketed<V>, Percentiles, DeviceSlice<u32>)>;

/// The kernels of a state for one type of values.
pub trait HasPasses<S: 'static>: Sized + 'static {
    /// From values.
    const VALUES: Passes<Self, S>;
    /// From differences of neighbouring values.
    const DIFFERENCES: Passes<Self, S>;
    const JOINS: Joins<S>;
}

macro_rules! optional {
    () => {
        None
    };
    ($kernel:expr) => {
        Some($kernel)
    };
}
macro_rules! has_passes {
    ($($type:ident $state:ident: $values:ident $($short:ident)?, $differences:ident $($short_differences:ident)?,
        $join:ident $short_join:ident;)*) => {$(
        impl HasPasses<$state> for $type {
            const VALUES: Passes<$type, $state> = Passes {
                all: &kernels::$values,
                short: optional!($(&kernels::$short)?),
            };
            const DIFFERENCES: Passes<$type, $state> = Passes {
                all: &kernels::$differences,
                short: optional!($(&kernels::$short_differences)?),
            };
            const JOINS: Joins<$state> = Joins {
                all: &kernels::$join,
                short: &kernels::$short_join,
            };
        }
    )*};
}
has_passes! {
    f32 Sums: sums_f32 short_sums_f32, sums_of_differences_f32 short_sums_of_differences_f32,
        join_sums short_join_sums;
    f64 Sums: sums_f64 short_sums_f64, sums_of_differences_f64 short_sums_of_differences_f64,
        join_sums short_join_sums;
    f32 Summary: statistics_f32 short_statistics_f32,
        statistics_of_differences_f32 short_statistics_of_differences_f32,
        join_statistics short_join_statistics;
    f64 Summary: statistics_f64 short_statistics_f64,
        statistics_of_differences_f64 short_statistics_of_differences_f64,
        join_statistics short_join_statistics;
    f32 Moments: moments_f32, moments_of_differences_f32, join_moments join_moments;
    f64 Moments: moments_f64, moments_of_differences_f64, join_moments join_moments;
}

/// A type of values that has kernels.
pub trait HasKernels:
    Element + kernels::Value + HasPasses<Sums> + HasPasses<Summary> + HasPasses<Moments>
{
    const KERNELS: Kernels<Self>;
}

macro_rules! has_kernels {
    ($($type:ident: $($kernel:ident = $name:ident)*;)*) => {$(
        impl HasKernels for $type {
            const KERNELS: Kernels<$type> = Kernels {
                $($kernel: &kernels::$name,)*
            };
        }
    )*};
}
has_kernels! {
    f32: prepare = prepare_f32 short = short_f32 sorted = sorted_f32 middle_64 = middle_64_f32
        middle_256 = middle_256_f32 middle_1024 = middle_1024_f32 middle_2048 = middle_2048_f32
        long = long_f32 huge_extents = huge_extents_f32 huge_histogram = huge_histogram_f32
        huge_gather = huge_gather_f32 reorder = reorder_f32;
    f64: prepare = prepare_f64 short = short_f64 sorted = sorted_f64 middle_64 = middle_64_f64
        middle_256 = middle_256_f64 middle_1024 = middle_1024_f64 middle_2048 = middle_2048_f64
        long = long_f64 huge_extents = huge_extents_f64 huge_histogram = huge_histogram_f64
        huge_gather = huge_gather_f64 reorder = reorder_f64;
}
