//! The kernels of each element type.

use cuda_std::DeviceParam;
use cuda_std::host::Kernel;
use half::{bf16, f16};
use matmul_kernels::{self as kernels, Packing, Parts, Skinny, Tile};

use crate::device::{Element, Module};
use crate::matmul::element::Scalar;
use crate::matmul::options::{Instructions, Precision};
use crate::modules;

pub const MODULE: &Module = &modules::MATMUL;

/// A type of elements of A and B with kernels.
pub trait HasKernels: Scalar<Sum: DeviceParam> {
    /// The type of the elements in kernels, of the same size.
    type Bits: Element + DeviceParam;

    /// The type of the elements in kernels that only copy, of the same size.
    type Word: Element + DeviceParam;

    /// The type of the sums, to which the elements are widened if no kernel multiplies them.
    type Wide: HasKernels + Scalar<Sum = Self::Sum>;

    const KERNELS: Kernels<Self>;
}

/// Kernels with the same tiles that read A and B by different patterns.
pub type Tiles<T> = &'static [Tile<<T as HasKernels>::Bits, <T as Scalar>::Sum>];

/// A kernel that copies a factor.
type Pack<T, U> = &'static Kernel<(Packing<T, U>,)>;

/// The kernels of an element type.
pub struct Kernels<T: HasKernels> {
    /// Fused multiply-adds. If there are none, A and B are [widened](Self::widen) first.
    fma: &'static [Tiles<T>],
    /// Matrix instructions of warps.
    warp: &'static [Tiles<T>],
    /// Matrix instructions of warp groups.
    warp_group: &'static [Tiles<T>],
    /// Whether tensor cores multiply this type only in [`Precision::Tf32`].
    needs_tf32: bool,
    /// Products of a tall and a thin factor, for types that are the type of their sums.
    skinny: Option<&'static SkinnyKernels<T::Sum>>,
    /// Copies a factor to rows along k that begin at multiples of 16 bytes.
    pub pack: Option<Pack<T::Word, T::Word>>,
    /// Copies a factor in the type of its sums.
    pub widen: Option<Pack<T::Bits, T::Sum>>,
    /// Adds the sums of parts of k.
    pub add_parts: &'static Kernel<(Parts<T::Sum>,)>,
}

impl<T: HasKernels> Kernels<T> {
    /// Returns the kernels with these instructions, or with the next simpler ones. There are none
    /// if A and B have to be widened first.
    pub fn tiles(&self, precision: Precision, instructions: Instructions) -> &'static [Tiles<T>] {
        match instructions {
            _ if self.needs_tf32 && precision == Precision::Full => self.fma,
            Instructions::WarpGroup if !self.warp_group.is_empty() => self.warp_group,
            Instructions::WarpGroup | Instructions::Warp => self.warp,
            _ => self.fma,
        }
    }

    /// Returns the kernels of products of a tall and a thin factor, if there are any.
    pub fn skinny(&self, precision: Precision) -> Option<&'static SkinnyKernels<T::Sum>> {
        let is_tf32 = self.needs_tf32 && precision == Precision::Tf32;
        self.skinny.filter(|_| !is_tf32)
    }
}

impl HasKernels for f32 {
    type Bits = f32;
    type Word = u32;
    type Wide = f32;

    const KERNELS: Kernels<f32> = Kernels {
        fma: &[kernels::FMA_F32_LARGE, kernels::FMA_F32_SMALL],
        warp: &[kernels::MMA_TF32],
        warp_group: &[kernels::WGMMA_TF32],
        needs_tf32: true,
        skinny: Some(&SKINNY_F32),
        pack: Some(&kernels::pack_f32),
        widen: None,
        add_parts: &kernels::add_parts_f32,
    };
}

impl HasKernels for f64 {
    type Bits = f64;
    type Word = u64;
    type Wide = f64;

    const KERNELS: Kernels<f64> = Kernels {
        fma: &[kernels::FMA_F64],
        warp: &[kernels::MMA_F64, kernels::MMA_F64_SMALL],
        warp_group: &[],
        needs_tf32: false,
        skinny: Some(&SKINNY_F64),
        pack: None,
        widen: None,
        add_parts: &kernels::add_parts_f64,
    };
}

macro_rules! half_precision {
    ($($type:ident: $warp:ident $warp_group:ident $widen:ident;)*) => {$(
        impl HasKernels for $type {
            type Bits = u16;
            type Word = u16;
            type Wide = f32;

            const KERNELS: Kernels<$type> = Kernels {
                fma: &[],
                warp: &[kernels::$warp],
                warp_group: &[kernels::$warp_group],
                needs_tf32: false,
                skinny: None,
                pack: Some(&kernels::pack_u16),
                widen: Some(&kernels::$widen),
                add_parts: &kernels::add_parts_f32,
            };
        }
    )*};
}
half_precision! {
    f16: HALF_F16 WGMMA_F16 widen_f16;
    bf16: HALF_BF16 WGMMA_BF16 widen_bf16;
}

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
}

macro_rules! skinny {
    ($($name:ident: $type:ident, [$($along:ident $across:ident: $columns:literal)*],
        [$($along_any:ident $across_any:ident: $any_columns:literal)*];)*) => {$(
        static $name: SkinnyKernels<$type> = SkinnyKernels {
            along: &[$(($columns, &kernels::$along)),*],
            across: &[$(($columns, &kernels::$across)),*],
            along_any: &[$(($any_columns, &kernels::$along_any)),*],
            across_any: &[$(($any_columns, &kernels::$across_any)),*],
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
    ];
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
    ];
}
