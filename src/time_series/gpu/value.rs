//! The kernels for each type of values.

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use time_series_kernels::{
    self as kernels, Bucketed, Buckets, Columns, LongBuckets, Percentiles, Pieces, Points,
    Preparation, Progress, Summary, Sums,
};

use crate::device::Element;

/// A kernel that aggregates by the library's own statistics.
pub type Reduce<V, S> = Kernel<(Points<V>, Progress, Buckets, Pieces<S>, Columns)>;

/// What a GPU needs to know of a type of values.
pub trait HasKernels: Element + kernels::Value {
    /// Number, sum and mean.
    fn sums() -> &'static Reduce<Self, Sums>;
    /// All statistics.
    fn statistics() -> &'static Reduce<Self, Summary>;
    /// Values with duplicates left out, or rates.
    fn prepare() -> &'static Kernel<(Preparation, DeviceSlice<Self>, DeviceSliceMut<f64>)>;
    /// Percentiles of short buckets.
    fn short() -> &'static Kernel<(Bucketed<Self>, Percentiles, LongBuckets)>;
    /// Percentiles of longer ones.
    fn middle() -> &'static Kernel<(Bucketed<Self>, Percentiles, DeviceSlice<u32>)>;
    /// Keys of the points of long ones.
    fn keys() -> &'static KeysKernel<Self>;
    /// Elements in another order.
    fn reorder() -> &'static Kernel<(DeviceSlice<Self>, DeviceSlice<u32>, DeviceSliceMut<Self>)>;
}

/// A kernel that makes keys.
pub type KeysKernel<V> = Kernel<(
    Bucketed<V>,
    DeviceSlice<u32>,
    DeviceSlice<u64>,
    DeviceSliceMut<u64>,
    DeviceSliceMut<u32>,
)>;

macro_rules! has_kernels {
    ($($type:ident: $sums:ident $statistics:ident $prepare:ident $short:ident $middle:ident $keys:ident $reorder:ident;)*) => {$(
        impl HasKernels for $type {
            fn sums() -> &'static Reduce<Self, Sums> {
                &kernels::$sums
            }
            fn statistics() -> &'static Reduce<Self, Summary> {
                &kernels::$statistics
            }
            fn prepare() -> &'static Kernel<(Preparation, DeviceSlice<Self>, DeviceSliceMut<f64>)> {
                &kernels::$prepare
            }
            fn short() -> &'static Kernel<(Bucketed<Self>, Percentiles, LongBuckets)> {
                &kernels::$short
            }
            fn middle() -> &'static Kernel<(Bucketed<Self>, Percentiles, DeviceSlice<u32>)> {
                &kernels::$middle
            }
            fn keys() -> &'static KeysKernel<Self> {
                &kernels::$keys
            }
            fn reorder() -> &'static Kernel<(DeviceSlice<Self>, DeviceSlice<u32>, DeviceSliceMut<Self>)> {
                &kernels::$reorder
            }
        }
    )*};
}

has_kernels! {
    f32: sums_f32 statistics_f32 prepare_f32 short_f32 middle_f32 keys_f32 reorder_f32;
    f64: sums_f64 statistics_f64 prepare_f64 short_f64 middle_f64 keys_f64 reorder_f64;
}
