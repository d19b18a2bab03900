//! The kernels for each type of numbers.

use cuda_std::host::Kernel;
use cuda_std::{DeviceParam, DeviceSliceMut};
use half::{bf16, f16};
use matmul_kernels::{self as kernels, Factor, Parts, Tile};

use super::pack::{FactorSizes, Packed};
use super::skinny::{self, SkinnyKernels};
use super::{Job, MODULE};
use crate::device::{Buffer, Element, LaunchConfig};
use crate::matmul::{Instructions, Number, Precision, Sum};
use crate::{Device, Result};

/// What a GPU needs to know of a type of A and B.
pub trait HasKernels: Number {
    /// The type that stands for it in kernels.
    type Bits: Element;

    /// The kernels of tiles for these instructions: none if A and B have to be widened first.
    fn tiles(precision: Precision, instructions: Instructions) -> &'static [Tiles<Self>];

    /// A copy of a factor, if there is a kernel for that.
    ///
    /// # Safety
    /// As of [`Packed::new`].
    unsafe fn pack(
        device: &Device,
        from: Factor<Self::Bits>,
        sizes: FactorSizes,
    ) -> Result<Option<Packed<Self::Bits>>>;

    /// Whether [`pack`](Self::pack) gives one.
    const CAN_PACK: bool;

    /// Whether products of a tall factor and a thin one in this precision have kernels of their own.
    fn has_skinny(precision: Precision) -> bool;

    /// Computes a product by those kernels.
    ///
    /// # Safety
    /// As of [`skinny::run`], with a precision that has them.
    unsafe fn run_skinny(job: &Job<Self>) -> Result<()>;

    /// A copy of a factor in the type of sums, if that is another type.
    ///
    /// # Safety
    /// As of [`Packed::new`].
    unsafe fn widen(
        device: &Device,
        from: Factor<Self::Bits>,
        sizes: FactorSizes,
    ) -> Result<Option<Packed<Self::Sum>>>;
}

/// Kernels of the same tiles, which differ in how they read A and B.
pub type Tiles<T> = &'static [Tile<<T as HasKernels>::Bits, <T as Number>::Sum>];

/// What a GPU needs to know of a type of C.
pub trait HasSumKernels: Sum + DeviceParam + HasKernels<Bits = Self> {
    /// The kernels for products of a tall factor and a thin one.
    fn skinny() -> &'static SkinnyKernels<Self>;

    /// The kernel that adds parts.
    fn adding() -> &'static Kernel<(Parts<Self>,)>;
}

impl HasSumKernels for f32 {
    fn skinny() -> &'static SkinnyKernels<f32> {
        &skinny::F32
    }

    fn adding() -> &'static Kernel<(Parts<f32>,)> {
        &kernels::add_parts_f32
    }
}

impl HasSumKernels for f64 {
    fn skinny() -> &'static SkinnyKernels<f64> {
        &skinny::F64
    }

    fn adding() -> &'static Kernel<(Parts<f64>,)> {
        &kernels::add_parts_f64
    }
}

/// Threads of a block that adds parts.
const ADDING_THREADS: u32 = 256;
/// Blocks that add parts with a stride, at most.
const ADDING_BLOCKS: u32 = 2048;

/// C = alpha · the sum of so many parts + beta·C.
///
/// # Safety
/// C is of the device, with as many elements as each part, and nothing else uses it.
pub(super) unsafe fn add_parts<S: HasSumKernels>(
    device: &Device,
    parts: &Buffer<S>,
    count: usize,
    c: DeviceSliceMut<S>,
    (alpha, beta): (S, S),
) -> Result<()> {
    let task = Parts {
        parts: parts.slice(),
        c,
        alpha,
        beta,
        count: count as u32,
    };
    let blocks = LaunchConfig::for_len(c.len(), ADDING_THREADS).grid.x;
    let config = LaunchConfig::new(blocks.min(ADDING_BLOCKS), ADDING_THREADS);
    // SAFETY: passed on to the caller.
    unsafe { device.launch(MODULE, S::adding(), config, (task,)) }
}

impl HasKernels for f32 {
    type Bits = f32;
    const CAN_PACK: bool = true;

    fn tiles(precision: Precision, instructions: Instructions) -> &'static [Tiles<f32>] {
        static FMA: [Tiles<f32>; 2] = [kernels::FMA_F32_LARGE, kernels::FMA_F32_SMALL];
        static WARP: [Tiles<f32>; 1] = [kernels::MMA_TF32];
        static WARP_GROUP: [Tiles<f32>; 1] = [kernels::WGMMA_TF32];
        match (precision, instructions) {
            (Precision::Tf32, Instructions::WarpGroup) => &WARP_GROUP,
            (Precision::Tf32, Instructions::Warp) => &WARP,
            _ => &FMA,
        }
    }

    unsafe fn pack(
        device: &Device,
        from: Factor<f32>,
        sizes: FactorSizes,
    ) -> Result<Option<Packed<f32>>> {
        // SAFETY: passed on to the caller.
        unsafe { Packed::new(device, &kernels::pack_f32, from, sizes) }.map(Some)
    }

    fn has_skinny(precision: Precision) -> bool {
        precision == Precision::Full
    }

    unsafe fn run_skinny(job: &Job<f32>) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { skinny::run(job) }
    }

    unsafe fn widen(_: &Device, _: Factor<f32>, _: FactorSizes) -> Result<Option<Packed<f32>>> {
        Ok(None)
    }
}

impl HasKernels for f64 {
    type Bits = f64;
    const CAN_PACK: bool = false;

    fn tiles(_: Precision, instructions: Instructions) -> &'static [Tiles<f64>] {
        static FMA: [Tiles<f64>; 1] = [kernels::FMA_F64];
        static WARP: [Tiles<f64>; 1] = [kernels::MMA_F64];
        match instructions {
            Instructions::Fma => &FMA,
            _ => &WARP,
        }
    }

    unsafe fn pack(_: &Device, _: Factor<f64>, _: FactorSizes) -> Result<Option<Packed<f64>>> {
        Ok(None)
    }

    fn has_skinny(_: Precision) -> bool {
        true
    }

    unsafe fn run_skinny(job: &Job<f64>) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { skinny::run(job) }
    }

    unsafe fn widen(_: &Device, _: Factor<f64>, _: FactorSizes) -> Result<Option<Packed<f64>>> {
        Ok(None)
    }
}

macro_rules! of_16_bits {
    ($($type:ident: $warp:ident $warp_group:ident $widen:ident;)*) => {$(
        impl HasKernels for $type {
            type Bits = u16;
            const CAN_PACK: bool = true;

            fn tiles(_: Precision, instructions: Instructions) -> &'static [Tiles<$type>] {
                static WARP: [Tiles<$type>; 1] = [kernels::$warp];
                static WARP_GROUP: [Tiles<$type>; 1] = [kernels::$warp_group];
                match instructions {
                    Instructions::WarpGroup => &WARP_GROUP,
                    Instructions::Warp => &WARP,
                    _ => &[],
                }
            }

            unsafe fn pack(
                device: &Device,
                from: Factor<u16>,
                sizes: FactorSizes,
            ) -> Result<Option<Packed<u16>>> {
                // SAFETY: passed on to the caller.
                unsafe { Packed::new(device, &kernels::pack_u16, from, sizes) }.map(Some)
            }

            fn has_skinny(_: Precision) -> bool {
                false
            }

            unsafe fn run_skinny(job: &Job<$type>) -> Result<()> {
                Err(job.no_kernel())
            }

            unsafe fn widen(
                device: &Device,
                from: Factor<u16>,
                sizes: FactorSizes,
            ) -> Result<Option<Packed<f32>>> {
                // SAFETY: passed on to the caller.
                unsafe { Packed::new(device, &kernels::$widen, from, sizes) }.map(Some)
            }
        }
    )*};
}
of_16_bits! {
    f16: HALF_F16 WGMMA_F16 widen_f16;
    bf16: HALF_BF16 WGMMA_BF16 widen_bf16;
}
