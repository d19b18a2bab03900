//! The kernels of each element type.

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use distances_kernels::{self as kernels, Lists, Matrices, Parameters, Search, Windows};

use crate::element::Component;

/// The kernels of an element type, and the constants of their launches.
pub struct Kernels<T: 'static> {
    pub distances: &'static Distances<T>,
    pub pairwise: &'static Pairwise<T>,
    pub few_distances: &'static FewDistances<T>,
    pub few_pairwise: &'static FewPairwise<T>,
    pub slide: &'static Slide<T>,
    pub slide_paired: &'static Slide<T>,
    pub nearest: &'static Nearest<T>,
    pub largest: &'static Largest<T>,
    /// Rows of `b` in a tile.
    pub tile_columns: u32,
    /// All finite numbers are below 2 to the power of this plus one.
    pub max_exponent: i32,
    /// Converts the bits that [`Kernels::largest`] reports to the magnitude.
    pub magnitude: fn(u64) -> f64,
}

type Distances<T> = Kernel<(Parameters, Matrices<T>, DeviceSliceMut<f64>)>;
type Pairwise<T> = Kernel<(Parameters, DeviceSlice<T>, DeviceSliceMut<f64>)>;
type FewDistances<T> = Kernel<(Parameters, Matrices<T>, DeviceSliceMut<f64>, Bad)>;
type FewPairwise<T> = Kernel<(Parameters, DeviceSlice<T>, DeviceSliceMut<f64>, Bad)>;
type Bad = DeviceSliceMut<u64>;
type Slide<T> = Kernel<(Parameters, Windows<T>, Windows<T>, DeviceSliceMut<f64>)>;
type Nearest<T> = Kernel<(Parameters, Search, Matrices<T>, Lists)>;
type Largest<T> = Kernel<(Matrices<T>, DeviceSliceMut<u64>)>;

/// An element type with kernels.
pub trait HasKernels: Component {
    const KERNELS: Kernels<Self>;
}

macro_rules! has_kernels {
    ($(
        $type:ident: $distances:ident, $pairwise:ident, $few_distances:ident, $few_pairwise:ident,
        $slide:ident, $slide_paired:ident,
        $nearest:ident, $largest:ident, $tile_columns:ident;
    )*) => {$(
        impl HasKernels for $type {
            const KERNELS: Kernels<$type> = Kernels {
                distances: &kernels::$distances,
                pairwise: &kernels::$pairwise,
                few_distances: &kernels::$few_distances,
                few_pairwise: &kernels::$few_pairwise,
                slide: &kernels::$slide,
                slide_paired: &kernels::$slide_paired,
                nearest: &kernels::$nearest,
                largest: &kernels::$largest,
                tile_columns: kernels::$tile_columns,
                max_exponent: $type::MAX_EXP - 1,
                magnitude: |bits| $type::from_bits(bits as _).into(),
            };
        }
    )*};
}
has_kernels! {
    f32: distances_f32, pairwise_f32, few_distances_f32, few_pairwise_f32, slide_f32, slide_paired_f32, nearest_f32, largest_f32, TILE_COLUMNS_F32;
    f64: distances_f64, pairwise_f64, few_distances_f64, few_pairwise_f64, slide_f64, slide_paired_f64, nearest_f64, largest_f64, TILE_COLUMNS_F64;
}
