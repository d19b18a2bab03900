//! The kernels for each type of coordinates.

use box_overlap_kernels::{
    self as kernels, BruteCount, BruteParameters, Few, Find, Keys, Leaves, RowParameters,
    RowSearch, Sets,
};
use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::Number;

type Counters = DeviceSliceMut<u64>;
type SampleRows<T> = (RowParameters, RowSearch<T>, Counters);
type CountRows<T> = (RowParameters, RowSearch<T>, DeviceSliceMut<u32>);
type FillRows<T> = (RowParameters, RowSearch<T>, Sums, DeviceSliceMut<u64>);
type Sums = DeviceSlice<u64>;

/// The kernels for one type of coordinates. The kernel crate documents their parameters.
pub struct Kernels<T: 'static> {
    pub few: &'static Kernel<(Few<T>,)>,
    pub examine: &'static Kernel<(Sets<T>, Counters)>,
    pub keys: &'static Kernel<(u32, Keys<T>)>,
    pub leaves: &'static Kernel<(Leaves<T>,)>,
    pub find: &'static Kernel<(Find<T>,)>,
    pub sample_rows: &'static Kernel<SampleRows<T>>,
    pub count_rows: &'static Kernel<CountRows<T>>,
    pub fill_rows: &'static Kernel<FillRows<T>>,
    pub codes: &'static Kernel<(Sets<T>, DeviceSlice<u64>, DeviceSliceMut<f32>)>,
    pub brute_count: &'static Kernel<(BruteParameters, BruteCount<T>)>,
    pub brute_fill: &'static Kernel<BruteFill<T>>,
}

/// The parameters, the sets, their codes, the prefix sums of the counts, the tiles with pairs, and
/// room for the indices.
type BruteFill<T> = (
    BruteParameters,
    Sets<T>,
    DeviceSlice<f32>,
    DeviceSlice<u64>,
    DeviceSlice<u32>,
    DeviceSliceMut<u32>,
);

/// A type of coordinates with kernels.
pub trait HasKernels: Number {
    const KERNELS: Kernels<Self>;
}

macro_rules! has_kernels {
    ($($type:ident: $few:ident $examine:ident $keys:ident $leaves:ident $find:ident
        $sample_rows:ident $count_rows:ident $fill_rows:ident $codes:ident $brute_count:ident $brute_fill:ident;)*) => {$(
        impl HasKernels for $type {
            const KERNELS: Kernels<$type> = Kernels {
                few: &kernels::$few,
                examine: &kernels::$examine,
                keys: &kernels::$keys,
                leaves: &kernels::$leaves,
                find: &kernels::$find,
                sample_rows: &kernels::$sample_rows,
                count_rows: &kernels::$count_rows,
                fill_rows: &kernels::$fill_rows,
                codes: &kernels::$codes,
                brute_count: &kernels::$brute_count,
                brute_fill: &kernels::$brute_fill,
            };
        }
    )*};
}

has_kernels! {
    f32: few_f32 examine_f32 keys_f32 leaves_f32 find_f32
        sample_rows_f32 count_rows_f32 fill_rows_f32 codes_f32 brute_count_f32 brute_fill_f32;
    f64: few_f64 examine_f64 keys_f64 leaves_f64 find_f64
        sample_rows_f64 count_rows_f64 fill_rows_f64 codes_f64 brute_count_f64 brute_fill_f64;
    i32: few_i32 examine_i32 keys_i32 leaves_i32 find_i32
        sample_rows_i32 count_rows_i32 fill_rows_i32 codes_i32 brute_count_i32 brute_fill_i32;
}
