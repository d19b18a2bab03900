//! The kernels of each element type.

use std::ops::RangeInclusive;

use cuda_std::host::Kernel;
use cuda_std::{DeviceParam, DeviceSliceMut};
use gridstride_runtime::device::Element;
use half::{bf16, f16};
use matmul_kernels::{self as kernels, Packing, Parts, Skinny, Splitting, Tile};

use super::tuning::Units::{self, F32, F64, F64Tensor, Half, Tf32};
use super::tuning::{BLOCK_START, Speed};
use crate::element::Scalar;
use crate::options::Instructions::{self, Fma, Warp, WarpGroup};
use crate::options::Precision;

/// A type of elements of A and B with kernels.
pub trait HasKernels: Scalar<Sum: DeviceParam> {
    /// The type of the elements in kernels, of the same size.
    type Bits: Element + DeviceParam;

    /// The type of the elements in kernels that only copy, of the same size.
    type Word: Element + DeviceParam;

    /// The type of the sums, to which the elements are widened if no kernel multiplies them.
    type Wide: HasKernels + Scalar<Sum = Self::Sum>;

    /// The type of the terms into which elements are [split](Kernels::split).
    type Term: HasKernels + Scalar<Sum = Self::Sum>;

    const KERNELS: Kernels<Self>;
}

/// C in a device's memory.
#[derive(Clone, Copy)]
pub enum Output<S: 'static> {
    /// The type of the sums.
    Sums(DeviceSliceMut<S>),
    /// Bits of numbers of 16 bits.
    Rounded {
        c: DeviceSliceMut<u16>,
        /// Adds the sums of parts of k and rounds.
        add_parts: &'static Kernel<(Parts<S, u16>,)>,
    },
}

impl<S> Output<S> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Output::Sums(c) => c.len(),
            Output::Rounded { c, .. } => c.len(),
        }
    }
}

/// A type of elements of C for products of `T`.
pub trait OutputOf<T: HasKernels>: Element {
    fn output(c: DeviceSliceMut<Self>) -> Output<T::Sum>;
}

/// A kernel that computes a tile of C with each block.
pub type TileOf<T> = Tile<<T as HasKernels>::Bits, <T as Scalar>::Sum>;

/// Kernels with the same tiles, or transposed ones, that read A and B by different patterns.
pub struct Family<T: HasKernels> {
    /// The instructions that multiply.
    pub instructions: Instructions,
    /// Their speed.
    pub speed: Speed,
    pub tiles: &'static [TileOf<T>],
}

const fn family<T: HasKernels>(
    instructions: Instructions,
    speed: Speed,
    tiles: &'static [TileOf<T>],
) -> Family<T> {
    Family {
        instructions,
        speed,
        tiles,
    }
}

/// Makes a [`Speed`] with the default start-up time of a block.
const fn speed(units: Units, per_clock: f64, alone: f64, blocks: usize) -> Speed {
    Speed {
        units,
        per_clock,
        alone,
        blocks,
        start: BLOCK_START,
    }
}

/// A kernel that copies a factor.
type Pack<T, U> = &'static Kernel<(Packing<T, U>,)>;

/// The kernels of an element type.
pub struct Kernels<T: HasKernels> {
    /// The kernels of tiles. If none has fused multiply-adds, A and B are [widened](Self::widen)
    /// for them first.
    families: &'static [Family<T>],
    /// Whether tensor cores multiply this type only in [`Precision::Tf32`].
    needs_tf32: bool,
    /// Products of a matrix and a vector.
    vector: VectorKernels<T>,
    /// Products of a tall and a thin factor, for types that are the type of their sums.
    skinny: Option<&'static SkinnyKernels<T::Sum>>,
    /// Copies a factor to rows along k that begin at multiples of 16 bytes.
    pub pack: Option<Pack<T::Word, T::Word>>,
    /// Copies a factor in the type of its sums.
    pub widen: Option<Pack<T::Bits, T::Sum>>,
    /// Splits the elements of a factor into terms, for [`Precision::F32ByBf16x6`].
    pub split: Option<&'static Kernel<(Splitting,)>>,
    /// Adds the sums of parts of k.
    pub add_parts: &'static Kernel<(Parts<T::Sum, T::Sum>,)>,
}

impl<T: HasKernels> Kernels<T> {
    /// Returns the kernels with one of these instructions, or with the next simpler ones. There are
    /// none if A and B have to be widened first.
    pub fn families(
        &self,
        precision: Precision,
        allowed: RangeInclusive<Instructions>,
    ) -> impl Iterator<Item = &'static Family<T>> + use<T> {
        let (mut least, mut most) = allowed.into_inner();
        if self.needs_tf32 && precision == Precision::Full {
            (least, most) = (Instructions::Fma, Instructions::Fma);
        }
        let families = self.families.iter();
        let best = families.map(|family| family.instructions);
        if let Some(best) = best.filter(|&instructions| instructions <= most).max() {
            least = least.min(best);
        }
        let is_allowed = move |family: &&Family<T>| (least..=most).contains(&family.instructions);
        self.families.iter().filter(is_allowed)
    }

    /// Returns the kernels of products of a matrix and a vector, unless `precision` is tf32.
    pub fn vector(&self, precision: Precision) -> Option<&VectorKernels<T>> {
        (!self.is_tf32(precision)).then_some(&self.vector)
    }

    /// Returns the kernels of products of a tall and a thin factor, if there are any.
    pub fn skinny(&self, precision: Precision) -> Option<&'static SkinnyKernels<T::Sum>> {
        self.skinny.filter(|_| !self.is_tf32(precision))
    }

    fn is_tf32(&self, precision: Precision) -> bool {
        self.needs_tf32 && precision == Precision::Tf32
    }
}

impl HasKernels for f32 {
    type Bits = f32;
    type Word = u32;
    type Wide = f32;
    type Term = bf16;

    const KERNELS: Kernels<f32> = Kernels {
        families: &[
            family(Fma, speed(F32, 108.0, 1.0, 1), kernels::FMA_F32_LARGE),
            family(Fma, speed(F32, 72.0, 0.45, 4), kernels::FMA_F32_SMALL),
            family(Fma, speed(F32, 50.0, 0.1, 16), kernels::FMA_F32_TINY),
            family(Warp, speed(Tf32, 240.0, 0.8, 2), kernels::MMA_TF32),
            family(Warp, speed(Tf32, 235.0, 1.0, 4), kernels::SMALL_TF32),
            family(WarpGroup, speed(Tf32, 700.0, 1.0, 1), kernels::WGMMA_TF32),
            family(
                WarpGroup,
                speed(Tf32, 900.0, 1.0, 1),
                kernels::MIXED_TF32_LARGE,
            ),
            family(WarpGroup, speed(Tf32, 800.0, 1.0, 1), kernels::MIXED_TF32),
        ],
        needs_tf32: true,
        vector: VectorKernels {
            along: &kernels::vector_f32_along,
            across: &kernels::vector_f32_across,
        },
        skinny: Some(&SKINNY_F32),
        pack: Some(&kernels::pack_f32),
        widen: None,
        split: Some(&kernels::split_f32),
        add_parts: &kernels::add_parts_f32,
    };
}

impl HasKernels for f64 {
    type Bits = f64;
    type Word = u64;
    type Wide = f64;
    type Term = f64;

    const KERNELS: Kernels<f64> = Kernels {
        families: &[
            family(Fma, speed(F64, 57.0, 0.6, 2), kernels::FMA_F64),
            // Nothing else runs on a multiprocessor while a block starts or writes its tile.
            family(
                Warp,
                speed(F64Tensor, 125.0, 1.0, 1).starting_in(6100.0),
                kernels::MMA_F64,
            ),
            family(
                Warp,
                speed(F64Tensor, 120.0, 0.6, 2),
                kernels::MMA_F64_MEDIUM,
            ),
            family(
                Warp,
                speed(F64Tensor, 114.0, 0.6, 3),
                kernels::MMA_F64_SMALL,
            ),
            family(Warp, speed(F64Tensor, 70.0, 0.15, 10), kernels::TINY_F64),
        ],
        needs_tf32: false,
        vector: VectorKernels {
            along: &kernels::vector_f64_along,
            across: &kernels::vector_f64_across,
        },
        skinny: Some(&SKINNY_F64),
        pack: None,
        widen: None,
        split: None,
        add_parts: &kernels::add_parts_f64,
    };
}

macro_rules! half_precision {
    ($(
        $type:ident: $warp:ident $small:ident $wide:ident $narrow:ident $along:ident $across:ident $widen:ident
            $round:ident;
    )*) => {$(
        impl HasKernels for $type {
            type Bits = u16;
            type Word = u16;
            type Wide = f32;
            type Term = $type;

            const KERNELS: Kernels<$type> = Kernels {
                families: &[
                    family(Warp, speed(Half, 900.0, 0.9, 2), kernels::$warp),
                    family(Warp, speed(Half, 500.0, 1.0, 4), kernels::$small),
                    family(WarpGroup, speed(Half, 1600.0, 1.0, 1), kernels::$wide),
                    family(WarpGroup, speed(Half, 1230.0, 1.0, 1), kernels::$narrow),
                ],
                needs_tf32: false,
                vector: VectorKernels {
                    along: &kernels::$along,
                    across: &kernels::$across,
                },
                skinny: None,
                pack: Some(&kernels::pack_u16),
                widen: Some(&kernels::$widen),
                split: None,
                add_parts: &kernels::add_parts_f32,
            };
        }

        impl OutputOf<$type> for $type {
            fn output(c: DeviceSliceMut<$type>) -> Output<f32> {
                // SAFETY: the same memory, as the elements' bits.
                let c = unsafe { DeviceSliceMut::from_raw_parts(c.as_mut_ptr().cast(), c.len()) };
                Output::Rounded { c, add_parts: &kernels::$round }
            }
        }

        impl OutputOf<$type> for f32 {
            fn output(c: DeviceSliceMut<f32>) -> Output<f32> {
                Output::Sums(c)
            }
        }
    )*};
}
half_precision! {
    f16: HALF_F16 SMALL_F16 PERSISTENT_F16 PERSISTENT_F16_NARROW vector_f16_along vector_f16_across widen_f16
        add_parts_to_f16;
    bf16: HALF_BF16 SMALL_BF16 PERSISTENT_BF16 PERSISTENT_BF16_NARROW vector_bf16_along vector_bf16_across
        widen_bf16 add_parts_to_bf16;
}

macro_rules! sums {
    ($($type:ident)*) => {$(
        impl OutputOf<$type> for $type {
            fn output(c: DeviceSliceMut<$type>) -> Output<$type> {
                Output::Sums(c)
            }
        }
    )*};
}
sums! { f32 f64 }

/// The kernels of products of a matrix and a vector.
pub struct VectorKernels<T: HasKernels> {
    /// For long sums, of matrices whose k are neighbours.
    pub along: VectorKernel<T>,
    /// For many rows, which are neighbours.
    pub across: VectorKernel<T>,
}

type VectorKernel<T> = &'static Kernel<(Skinny<<T as HasKernels>::Bits, <T as Scalar>::Sum>,)>;

/// The most columns of a kernel, and the kernel.
type OfColumns<T> = (u32, &'static Kernel<(Skinny<T>,)>);

/// The kernels of products of a tall and a thin factor, by ascending numbers of columns.
pub struct SkinnyKernels<T: 'static> {
    /// For tall factors whose k are neighbours.
    pub along: &'static [OfColumns<T>],
    /// For tall factors whose rows are neighbours.
    pub across: &'static [OfColumns<T>],
    /// For tall factors of any strides, closer along k.
    pub along_any: &'static [OfColumns<T>],
    /// For tall factors of any strides, closer along rows.
    pub across_any: &'static [OfColumns<T>],
    /// By matrix instructions.
    pub thin: Option<ThinKernels<T>>,
}

/// The kernels of products of a tall and a thin factor by matrix instructions, for compute
/// capability 9.0.
pub struct ThinKernels<T: 'static> {
    /// For tall factors whose k are neighbours.
    pub along: &'static [OfColumns<T>],
    /// For tall factors whose rows are neighbours.
    pub across: &'static [OfColumns<T>],
}

macro_rules! skinny {
    ($($name:ident: $type:ty, [$($along:ident $across:ident: $columns:literal)*],
        [$($along_any:ident $across_any:ident: $any_columns:literal)*], $thin:expr;)*) => {$(
        static $name: SkinnyKernels<$type> = SkinnyKernels {
            along: &[$(($columns, &kernels::$along)),*],
            across: &[$(($columns, &kernels::$across)),*],
            along_any: &[$(($any_columns, &kernels::$along_any)),*],
            across_any: &[$(($any_columns, &kernels::$across_any)),*],
            thin: $thin,
        };
    )*};
}
skinny! {
    SKINNY_F32: f32, [
        skinny_f32_along_1 skinny_f32_across_1: 1
        skinny_f32_along_2 skinny_f32_across_2: 2
        skinny_f32_along_4 skinny_f32_across_4: 4
        skinny_f32_along_8 skinny_f32_across_8: 8
        skinny_f32_along_12 skinny_f32_across_12: 12
        skinny_f32_along_16 skinny_f32_across_16: 16
    ], [
        skinny_f32_along_any_1 skinny_f32_across_any_1: 1
        skinny_f32_along_any_4 skinny_f32_across_any_4: 4
        skinny_f32_along_any_16 skinny_f32_across_any_16: 16
    ], None;
    SKINNY_F64: f64, [
        skinny_f64_along_1 skinny_f64_across_1: 1
        skinny_f64_along_2 skinny_f64_across_2: 2
        skinny_f64_along_4 skinny_f64_across_4: 4
        skinny_f64_along_8 skinny_f64_across_8: 8
        skinny_f64_along_12 skinny_f64_across_12: 12
        skinny_f64_along_16 skinny_f64_across_16: 16
    ], [
        skinny_f64_along_any_1 skinny_f64_across_any_1: 1
        skinny_f64_along_any_4 skinny_f64_across_any_4: 4
        skinny_f64_along_any_16 skinny_f64_across_any_16: 16
    ], Some(ThinKernels {
        along: &[(8, &kernels::thin_f64_along_8), (16, &kernels::thin_f64_along_16)],
        across: &[(8, &kernels::thin_f64_across_8), (16, &kernels::thin_f64_across_16)],
    });
}
