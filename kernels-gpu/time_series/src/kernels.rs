//! The kernels that aggregate, and how custom aggregates get theirs.

use cuda_std::prelude::*;

use crate::aggregate::Aggregate;
use crate::join::{Join, Units, join, join_neighbours};
use crate::moments::Moments;
use crate::points::{Differences, NoValues, Points, Values};
use crate::reduce::{Buckets, Results, reduce};
use crate::reports::Reports;
use crate::segments::Pieces;
use crate::statistic::Statistic;
use crate::statistics::{StatesOf, Statistics};
use crate::summary::{Summaries, Summary};
use crate::sums::Sums;

/// Columns of statistics, one after the other.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Columns {
    /// Room for all columns.
    pub elements: DeviceSliceMut<f64>,
    /// Stride between columns, in elements.
    pub stride: usize,
    /// The column of each statistic, 4 bits for each from the lowest ones on; 15 for none.
    pub places: u64,
    /// The number of values less the divisor of a variance.
    pub ddof: f64,
}

impl Columns {
    /// The [`places`](Self::places) of these statistics, all different, one column after the other.
    pub const fn places(statistics: &[Statistic]) -> u64 {
        let mut places = u64::MAX;
        let mut column = 0;
        while column < statistics.len() {
            let shift = 4 * statistics[column] as u32;
            places = places & !(0xf << shift) | (column as u64) << shift;
            column += 1;
        }
        places
    }
}

impl<S: Statistics + 'static> Results<StatesOf<S>> for Columns {
    #[inline(always)]
    unsafe fn write(&self, _: &StatesOf<S>, bucket: usize, state: S) {
        // All threads take the same of these branches.
        macro_rules! write_columns {
            ($($(#[$doc:meta])* $constant:ident = $name:ident, $($row:tt),*;)*) => {$(
                let statistic = Statistic::$name;
                let column = self.places >> (4 * statistic as u32) & 0xf;
                if S::has(statistic) && column != 0xf {
                    let place = bucket + column as usize * self.stride;
                    // SAFETY: by the contract of `Results::write`, each column has room for the bucket.
                    unsafe { self.elements.set(place, state.statistic(statistic, self.ddof)) };
                }
            )*};
        }
        for_each_statistic!(write_columns);
    }
}

/// Results of an aggregate in the order of buckets.
struct Rows<A: Aggregate>(DeviceSliceMut<A::Output>);

impl<A: Aggregate> Clone for Rows<A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Aggregate> Copy for Rows<A> {}

impl<A: Aggregate> Results<A> for Rows<A> {
    #[inline(always)]
    unsafe fn write(&self, aggregate: &A, bucket: usize, state: A::State) {
        // SAFETY: by the contract of `Results::write`, there is room for the bucket, which no other
        // thread else writes.
        unsafe { self.0.set(bucket, aggregate.finish(state)) };
    }
}

macro_rules! own {
    ($($(#[$doc:meta])* $name:ident: $state:ty, $value:ty, $source:ty, $short:literal, $blocks:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As of [`reduce`](crate::reduce).
        // More blocks hide more of each other's waits than the registers would that they cost: of all
        // statistics, 6 of short buckets instead of 5 gain 11% though rare paths spill. 5 of long ones
        // instead of 4 (96 registers instead of 128) gain 10%: on an H200, 0.93 ms instead of 1.03 for
        // 10⁸ points in buckets of 10⁶.
        #[kernel(max_block = 128, min_blocks = $blocks)]
        pub unsafe fn $name(
            points: Points<$value>,
            reports: Reports,
            buckets: Buckets,
            pieces: Pieces<$state>,
            columns: Columns,
        ) {
            // SAFETY: the caller keeps the contract of `reduce`, which this function shares.
            unsafe {
                reduce::<_, _, $value, $source, $short>(StatesOf::NEW, points, reports, buckets, pieces, columns)
            }
        }
    )*};
    (joining $($(#[$doc:meta])* $name:ident: $state:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As of [`join`](crate::join).
        #[kernel(block = 128)]
        pub unsafe fn $name(units: Units, pieces: Join<$state>, columns: Columns) {
            // SAFETY: the caller keeps the contract of `join`, which this function shares.
            unsafe { join(StatesOf::NEW, units, pieces, columns) }
        }
    )*};
    (joining short $($(#[$doc:meta])* $name:ident: $state:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As of `join_neighbours`.
        #[kernel(block = 128)]
        pub unsafe fn $name(units: Units, Join { pieces, .. }: Join<$state>, columns: Columns) {
            // SAFETY: the caller keeps the contract of `join_neighbours`, which this function shares.
            unsafe { join_neighbours(StatesOf::NEW, units, pieces, columns) }
        }
    )*};
}

own! {
    /// Number, sum and mean of `f64`.
    sums_f64: Sums, f64, Values, false, 6;
    /// As [`sums_f64`], of tiles with short buckets.
    short_sums_f64: Sums, f64, Values, true, 8;
    /// Number, sum and mean of `f32`.
    sums_f32: Sums, f32, Values, false, 6;
    /// As [`sums_f32`], of tiles with short buckets.
    short_sums_f32: Sums, f32, Values, true, 8;
    /// All statistics of `f64`.
    statistics_f64: Summary, f64, Values, false, 5;
    /// As [`statistics_f64`], of tiles with short buckets.
    short_statistics_f64: Summary, f64, Values, true, 6;
    /// All statistics of `f32`.
    statistics_f32: Summary, f32, Values, false, 5;
    /// As [`statistics_f32`], of tiles with short buckets.
    short_statistics_f32: Summary, f32, Values, true, 6;
    /// As [`sums_f64`], of differences.
    sums_of_differences_f64: Sums, f64, Differences, false, 6;
    /// As [`sums_of_differences_f64`], of tiles with short buckets.
    short_sums_of_differences_f64: Sums, f64, Differences, true, 8;
    /// As [`sums_f32`], of differences.
    sums_of_differences_f32: Sums, f32, Differences, false, 6;
    /// As [`sums_of_differences_f32`], of tiles with short buckets.
    short_sums_of_differences_f32: Sums, f32, Differences, true, 8;
    /// As [`statistics_f64`], of differences.
    statistics_of_differences_f64: Summary, f64, Differences, false, 5;
    /// As [`statistics_of_differences_f64`], of tiles with short buckets.
    short_statistics_of_differences_f64: Summary, f64, Differences, true, 6;
    /// As [`statistics_f32`], of differences.
    statistics_of_differences_f32: Summary, f32, Differences, false, 5;
    /// As [`statistics_of_differences_f32`], of tiles with short buckets.
    short_statistics_of_differences_f32: Summary, f32, Differences, true, 6;
    /// All statistics of `f64` with skewness and kurtosis.
    moments_f64: Moments, f64, Values, false, 4;
    /// All statistics of `f32` with skewness and kurtosis.
    moments_f32: Moments, f32, Values, false, 4;
    /// As [`moments_f64`], of differences.
    moments_of_differences_f64: Moments, f64, Differences, false, 4;
    /// As [`moments_f32`], of differences.
    moments_of_differences_f32: Moments, f32, Differences, false, 4;
    /// The number of points, whatever their values.
    counts: Sums, f32, NoValues, false, 6;
}

own! { joining
    /// Joins [`Sums`].
    join_sums: Sums;
    /// Joins [`Summary`].
    join_statistics: Summary;
    /// Joins [`Moments`].
    join_moments: Moments;
}

own! { joining short
    /// Joins [`Sums`] of tiles with short buckets.
    short_join_sums: Sums;
    /// Joins [`Summary`] of tiles with short buckets.
    short_join_statistics: Summary;
}

/// An aggregate as a parameter of kernels: one without data alone would have no size.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameter<A> {
    aggregate: A,
    size: u32,
}

impl<A> Parameter<A> {
    /// With this aggregate.
    pub const fn new(aggregate: A) -> Parameter<A> {
        Parameter { aggregate, size: 0 }
    }
}

/// The body of the reduce kernel that [`aggregate_kernels!`](crate::aggregate_kernels) defines.
///
/// # Safety
/// The contract of [`reduce`](crate::reduce), with an element of `results` for each bucket.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn reduce_rows<A: Aggregate>(
    Parameter { aggregate, .. }: Parameter<A>,
    points: Points<f64>,
    reports: Reports,
    buckets: Buckets,
    pieces: Pieces<A::State>,
    results: DeviceSliceMut<A::Output>,
) {
    // SAFETY: by the contract of this function, that of `reduce`, points, reports, buckets and
    // pieces are as `reduce` asks, and `results` has room for each bucket.
    unsafe {
        reduce::<_, _, f64, Values, false>(
            aggregate,
            points,
            reports,
            buckets,
            pieces,
            Rows::<A>(results),
        )
    }
}

/// The body of the join kernel that [`aggregate_kernels!`](crate::aggregate_kernels) defines.
///
/// # Safety
/// The contract of [`join`](crate::join), with an element of `results` for each bucket.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn join_rows<A: Aggregate>(
    Parameter { aggregate, .. }: Parameter<A>,
    units: Units,
    pieces: Join<A::State>,
    results: DeviceSliceMut<A::Output>,
) {
    // SAFETY: by the contract of this function, that of `join`, units and pieces are as `join`
    // asks, and `results` has room for each bucket.
    unsafe { join(aggregate, units, pieces, Rows::<A>(results)) }
}

/// Makes the kernels of a custom [`Aggregate`] in the user's kernel crate, under names that must be
/// unique in the crate, and on the host a static that names them for
/// `gridstride::time_series::Custom`.
///
/// ```
/// use cuda_std::prelude::*;
/// use time_series_kernels::{Aggregate, Point, aggregate_kernels};
///
/// /// The sum of squares.
/// #[derive(Clone, Copy, DeviceParam)]
/// pub struct Energy;
///
/// impl Aggregate for Energy {
///     type State = f64;
///     type Output = f64;
///     fn empty(&self) -> f64 { 0.0 }
///     fn push(&self, energy: f64, point: Point) -> f64 { energy + point.value * point.value }
///     fn merge(&self, earlier: f64, later: f64) -> f64 { earlier + later }
///     fn finish(&self, energy: f64) -> f64 { energy }
/// }
///
/// aggregate_kernels! {
///     /// The kernels of [`Energy`].
///     pub static ENERGY: Energy = energy_reduce, energy_join;
/// }
/// # fn main() { assert_eq!(ENERGY.reduce().name(), "energy_reduce"); }
/// ```
#[macro_export]
macro_rules! aggregate_kernels {
    ($(#[$doc:meta])* pub static $name:ident: $aggregate:ty = $reduce:ident, $join:ident;) => {
        /// Aggregates points.
        ///
        /// # Safety
        /// As `time_series_kernels::reduce`.
        #[$crate::cuda_std::kernel(max_block = 128)]
        pub unsafe fn $reduce(
            aggregate: $crate::Parameter<$aggregate>,
            points: $crate::Points<f64>,
            reports: $crate::Reports,
            buckets: $crate::Buckets,
            pieces: $crate::Pieces<<$aggregate as $crate::Aggregate>::State>,
            results: $crate::cuda_std::DeviceSliceMut<<$aggregate as $crate::Aggregate>::Output>,
        ) {
            // SAFETY: the caller keeps the contract of `time_series_kernels::reduce`, which this
            // function shares.
            unsafe { $crate::reduce_rows(aggregate, points, reports, buckets, pieces, results) }
        }

        /// Joins what tiles left.
        ///
        /// # Safety
        /// As `time_series_kernels::join`.
        #[$crate::cuda_std::kernel(block = 128)]
        pub unsafe fn $join(
            aggregate: $crate::Parameter<$aggregate>,
            units: $crate::Units,
            pieces: $crate::Join<<$aggregate as $crate::Aggregate>::State>,
            results: $crate::cuda_std::DeviceSliceMut<<$aggregate as $crate::Aggregate>::Output>,
        ) {
            // SAFETY: the caller keeps the contract of `time_series_kernels::join`, which this
            // function shares.
            unsafe { $crate::join_rows(aggregate, units, pieces, results) }
        }

        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub static $name: $crate::Kernels<$aggregate> = $crate::Kernels::new(&$reduce, &$join);
    };
}

aggregate_kernels! {
    /// The kernels of [`Summaries`].
    pub static SUMMARIES: Summaries = summaries_reduce, summaries_join;
}

aggregate_kernels! {
    /// The kernels whose results are [`Moments`].
    pub static MOMENTS: StatesOf<Moments> = states_of_moments_reduce, states_of_moments_join;
}

/// The kernels of an aggregate, made by [`aggregate_kernels!`](crate::aggregate_kernels).
#[cfg(not(target_arch = "nvptx64"))]
pub struct Kernels<A: Aggregate> {
    reduce: &'static ReduceKernel<A>,
    join: &'static JoinKernel<A>,
}

#[cfg(not(target_arch = "nvptx64"))]
/// A kernel that aggregates points.
pub type ReduceKernel<A> = cuda_std::host::Kernel<(
    Parameter<A>,
    Points<f64>,
    Reports,
    Buckets,
    Pieces<<A as Aggregate>::State>,
    DeviceSliceMut<<A as Aggregate>::Output>,
)>;

#[cfg(not(target_arch = "nvptx64"))]
/// A kernel that joins what tiles left.
pub type JoinKernel<A> = cuda_std::host::Kernel<(
    Parameter<A>,
    Units,
    Join<<A as Aggregate>::State>,
    DeviceSliceMut<<A as Aggregate>::Output>,
)>;

#[cfg(not(target_arch = "nvptx64"))]
impl<A: Aggregate> Kernels<A> {
    #[doc(hidden)]
    pub const fn new(reduce: &'static ReduceKernel<A>, join: &'static JoinKernel<A>) -> Kernels<A> {
        Kernels { reduce, join }
    }

    /// The kernel that aggregates points.
    pub fn reduce(&self) -> &'static ReduceKernel<A> {
        self.reduce
    }

    /// The kernel that joins what tiles left.
    pub fn join(&self) -> &'static JoinKernel<A> {
        self.join
    }
}
