//! Products by blocks that compute one tile of C after the other.

use cuda_std::host::TensorTiles;
use cuda_std::tensor::TensorMap;
use cuda_std::{DeviceParam, DeviceSliceMut};
use gridstride_runtime::Result;
use gridstride_runtime::device::{Element, LaunchConfig};
use matmul_kernels::{Factor, Pattern, Persistent, PersistentKernel, SECTIONS, Tile};

use super::job::Job;
use super::kernels::{HasKernels, Output};
use super::tuning::Cut;
use crate::MODULE;
use crate::input::Sizes;

/// The arguments that launches for sums and for rounded elements share.
struct Common {
    a: TensorMap,
    b: TensorMap,
    /// 1 if a factor has a matrix for each of the batch, else 0.
    steps: [u32; 2],
    cut: Cut,
    config: LaunchConfig,
}

/// Computes a job by the kernels for sums and for rounded elements of such tiles, of which
/// there are `tiles`.
///
/// # Safety
/// The factors and C are of the device and have the sizes, the factors fit the tile's patterns,
/// and nothing else uses C.
pub unsafe fn compute<T: HasKernels>(
    job: &Job<T>,
    tile: &Tile<T::Bits, T::Sum>,
    sums: PersistentKernel<T::Sum, T::Sum>,
    rounded: Option<PersistentKernel<u16, T::Sum>>,
    cut: Cut,
    tiles: usize,
    (a, b): (Factor<T::Bits>, Factor<T::Bits>),
) -> Result<()> {
    let Sizes { batch, m, n, k, .. } = job.sizes;
    let k = match job.section {
        0 => k,
        section => SECTIONS * section,
    };
    let map = |factor, outer, rows, pattern| {
        let tiles = tensor_tiles(factor, [outer, k, batch], [rows, tile.depth], pattern);
        job.device.tensor_map(&tiles)
    };
    let blocks = tiles.min(job.device.processors()) as u32;
    let common = Common {
        a: map(&a, m, tile.rows, tile.a)?,
        b: map(&b, n, tile.columns, tile.b)?,
        steps: [&a, &b].map(|factor| u32::from(factor.stride_batch != 0)),
        cut,
        config: LaunchConfig::new(blocks, tile.threads).with_shared_bytes(tile.shared_bytes),
    };
    // SAFETY: the factors and C are of the device, have the sizes and fit the patterns, and nothing
    // else uses C; the kernel writes all parts of the target.
    unsafe {
        if let Output::Rounded { c, .. } = job.c
            && let Some(rounded) = rounded
            && cut.parts == 1
        {
            return launch(job, &common, rounded, c, job.alpha, job.beta);
        }
        let target = job.target(cut.parts)?;
        launch(job, &common, sums, target.c, target.alpha, target.beta)?;
        job.finish(target, cut.parts)
    }
}

/// Launches the kernel with C, or memory for the parts of k.
///
/// # Safety
/// As of [`compute`].
unsafe fn launch<T: HasKernels, C: Element + DeviceParam>(
    job: &Job<T>,
    common: &Common,
    kernel: PersistentKernel<C, T::Sum>,
    c: DeviceSliceMut<C>,
    alpha: T::Sum,
    beta: T::Sum,
) -> Result<()> {
    let Sizes { batch, m, n, k, .. } = job.sizes;
    let [a_step, b_step] = common.steps;
    let product = Persistent {
        c,
        m: m as u32,
        n: n as u32,
        k: k as u32,
        k_part: common.cut.k_part as u32,
        parts: common.cut.parts as u32,
        batch: batch as u32,
        section: job.section as u32,
        a_step,
        b_step,
        alpha,
        beta,
    };
    let arguments = (common.a, common.b, product);
    // SAFETY: the factors and C are of the device, have the sizes and fit the patterns, and nothing
    // else uses C.
    unsafe { (job.device).launch(&MODULE, kernel, common.config, arguments) }
}
/// The tiles of `rows` outer indices and `depth` k of a factor: `outer` indices, `k`, and `batch`
/// matrices.
fn tensor_tiles<T>(
    factor: &Factor<T>,
    [outer, k, batch]: [usize; 3],
    [rows, depth]: [u32; 2],
    pattern: Pattern,
) -> TensorTiles {
    let size = size_of::<T>() as u64;
    let bytes = |stride: i64| stride as u64 * size;
    let matrices = if factor.stride_batch == 0 { 1 } else { batch };
    // Rows of shared memory have 128 bytes: all of a tile's k, or a part of its outer indices.
    let (near, far, stride, tile) = match pattern {
        Pattern::PiecesAcross => (outer, k, factor.stride_k, [128 / size as u32, depth, 1]),
        _ => (k, outer, factor.stride, [depth, rows, 1]),
    };
    TensorTiles {
        address: factor.elements.as_ptr() as u64 + bytes(factor.start),
        element_bytes: size as u32,
        lengths: [near as u64, far as u64, matrices as u64],
        // The third stride of a single matrix is not used, but must be possible.
        strides: match matrices {
            1 => [bytes(stride); 2],
            _ => [bytes(stride), bytes(factor.stride_batch)],
        },
        tile,
        is_swizzled: true,
    }
}
