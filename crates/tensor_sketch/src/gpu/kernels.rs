//! The kernels for each type of entries.

use std::ptr::NonNull;

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::Real;
use gridstride_runtime::device::{Buffer, Element};
use tensor_sketch_kernels::fourier::number::{Pair32, Pair64};
use tensor_sketch_kernels::fourier::{Number, chunks, compose, inverse, operators, windows};
use tensor_sketch_kernels::{self as direct, Parameters};

/// A type of entries for which there are kernels.
pub trait HasKernels: Real {
    /// The same type in kernels.
    type Number: Number<Pair: Element> + Send + Sync;

    const KERNELS: Kernels<Self>;
}

/// Two numbers of a lane in memory.
pub type Pair<T> = <<T as HasKernels>::Number as Number>::Pair;

/// Matrices as composition takes them: 1 and matrices in `f32`, or 0 and matrices in `f64`.
pub type Stored = (u32, DeviceSlice<Pair32>, DeviceSlice<Pair64>);

/// The kernels for a type of entries.
pub struct Kernels<T: HasKernels> {
    /// The table of operators.
    pub operators: &'static Operators,
    /// The matrices of chunks, by tuple length and depth, both from 1.
    pub chunks: &'static [&'static [&'static Chunks<Pair<T>>]],
    /// The inverse transform.
    pub inverse: &'static Inverse<T>,
    /// The direct form, by values per thread. Only `f32` has it.
    pub direct: Option<&'static [(u32, &'static Direct<T>)]>,
    /// Passes the matrices of chunks to composition.
    pub stored: fn(&Buffer<Pair<T>>) -> Stored,
}

pub type Operators = Kernel<(
    operators::Parameters,
    DeviceSlice<u32>,
    DeviceSlice<[f64; 2]>,
    DeviceSliceMut<u128>,
)>;
pub type Chunks<Pair> = Kernel<(chunks::Parameters, chunks::Arrays<Pair>)>;
pub type Compose = Kernel<(
    compose::Parameters,
    DeviceSlice<compose::Run>,
    DeviceSlice<Pair32>,
    DeviceSlice<Pair64>,
    DeviceSliceMut<Pair64>,
)>;
pub type Inverse<T> = Kernel<(
    inverse::Parameters,
    DeviceSlice<Pair64>,
    DeviceSlice<[f64; 2]>,
    DeviceSlice<inverse::Scale>,
    DeviceSliceMut<T>,
)>;
pub type Windows = Kernel<(windows::Parameters, windows::Arrays)>;
pub type Direct<T> = Kernel<(Parameters, direct::Arrays<T>)>;

macro_rules! has_kernels {
    ($($type:ident: $operators:ident, $inverse:ident, [$([$($chunks:ident)*])*], $stored:expr,
        $direct:expr;)*) => {$(
        impl HasKernels for $type {
            type Number = $type;

            const KERNELS: Kernels<$type> = Kernels {
                operators: &operators::$operators,
                chunks: &[$(&[$(&chunks::$chunks),*]),*],
                inverse: &inverse::$inverse,
                direct: $direct,
                stored: $stored,
            };
        }
    )*};
}
has_kernels! {
    f32: operators_f32, inverse_f32, [
        [chunks_f32_1_1]
        [chunks_f32_2_1 chunks_f32_2_2]
        [chunks_f32_3_1 chunks_f32_3_2 chunks_f32_3_3]
        [chunks_f32_4_1 chunks_f32_4_2 chunks_f32_4_3 chunks_f32_4_4]
        [chunks_f32_5_1 chunks_f32_5_2 chunks_f32_5_3]
        [chunks_f32_6_1 chunks_f32_6_2 chunks_f32_6_3]
        [chunks_f32_7_1 chunks_f32_7_2 chunks_f32_7_3]
        [chunks_f32_8_1 chunks_f32_8_2 chunks_f32_8_3]
    ], |singles| (1, singles.slice(), nothing()), Some(DIRECT);
    f64: operators_f64, inverse_f64, [
        [chunks_f64_1_1]
        [chunks_f64_2_1 chunks_f64_2_2]
        [chunks_f64_3_1 chunks_f64_3_2 chunks_f64_3_3]
        [chunks_f64_4_1 chunks_f64_4_2 chunks_f64_4_3]
        [chunks_f64_5_1 chunks_f64_5_2]
        [chunks_f64_6_1 chunks_f64_6_2]
        [chunks_f64_7_1 chunks_f64_7_2]
        [chunks_f64_8_1 chunks_f64_8_2]
    ], |doubles| (0, nothing(), doubles.slice()), None;
}

macro_rules! direct {
    ($($name:ident: $values:literal)*) => {
        &[$(($values, &direct::$name)),*]
    };
}
const DIRECT: &[(u32, &Direct<f32>)] = direct! {
    direct_1: 1 direct_2: 2 direct_3: 3 direct_4: 4 direct_6: 6
    direct_8: 8 direct_12: 12 direct_16: 16 direct_24: 24 direct_32: 32
};

macro_rules! by_tuple {
    ($module:ident: $($name:ident)*) => {
        [$(&$module::$name),*]
    };
}
/// Composition of matrices, by tuple length from 1.
pub const COMPOSE: [&Compose; 8] = by_tuple! {
    compose: compose_1 compose_2 compose_3 compose_4 compose_5 compose_6 compose_7 compose_8
};
/// Sliding windows, by tuple length from 1.
pub const WINDOWS: [&Windows; 8] = by_tuple! {
    windows: windows_1 windows_2 windows_3 windows_4 windows_5 windows_6 windows_7 windows_8
};

/// Returns a slice that kernels do not read.
pub fn nothing<T: Copy>() -> DeviceSlice<T> {
    // SAFETY: there is no element.
    unsafe { DeviceSlice::from_raw_parts(NonNull::dangling().as_ptr(), 0) }
}
