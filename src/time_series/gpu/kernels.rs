//! The kernels for each type of values.

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use time_series_kernels::{
    self as kernels, Bucketed, Buckets, Columns, LongBuckets, Percentiles, Pieces, Points,
    Preparation, Progress, Summary, Sums,
};

use crate::device::{Element, Module};
use crate::modules;

/// The module of all kernels but those of user-defined aggregates.
pub const MODULE: &Module = &modules::TIME_SERIES;

/// The kernels for one type of values.
pub struct Kernels<V: 'static> {
    /// Number, sum and mean.
    pub sums: &'static Reduce<V, Sums>,
    /// All statistics.
    pub statistics: &'static Reduce<V, Summary>,
    /// Values without duplicates, or rates.
    pub prepare: &'static Kernel<(Preparation, DeviceSlice<V>, DeviceSliceMut<f64>)>,
    /// Percentiles of short buckets.
    pub short: &'static Kernel<(Bucketed<V>, Percentiles, LongBuckets)>,
    /// Percentiles of longer buckets.
    pub middle: &'static Kernel<(Bucketed<V>, Percentiles, DeviceSlice<u32>)>,
    /// Keys of the points of long buckets.
    pub keys: &'static Keys<V>,
    /// Elements in another order.
    pub reorder: &'static Reorder<V>,
}

/// A kernel that aggregates by the library's own statistics.
pub type Reduce<V, S> = Kernel<(Points<V>, Progress, Buckets, Pieces<S>, Columns)>;
/// A kernel that copies elements in another order.
pub type Reorder<V> = Kernel<(DeviceSlice<V>, DeviceSlice<u32>, DeviceSliceMut<V>)>;
type Keys<V> = Kernel<(
    Bucketed<V>,
    DeviceSlice<u32>,
    DeviceSlice<u64>,
    DeviceSliceMut<u64>,
    DeviceSliceMut<u32>,
)>;

/// A type of values that there are kernels for.
pub trait HasKernels: Element + kernels::Value {
    const KERNELS: Kernels<Self>;
}

macro_rules! has_kernels {
    ($($type:ident: $($kernel:ident = $name:ident)*;)*) => {$(
        impl HasKernels for $type {
            const KERNELS: Kernels<$type> = Kernels { $($kernel: &kernels::$name,)* };
        }
    )*};
}
has_kernels! {
    f32: sums = sums_f32 statistics = statistics_f32 prepare = prepare_f32 short = short_f32
        middle = middle_f32 keys = keys_f32 reorder = reorder_f32;
    f64: sums = sums_f64 statistics = statistics_f64 prepare = prepare_f64 short = short_f64
        middle = middle_f64 keys = keys_f64 reorder = reorder_f64;
}
