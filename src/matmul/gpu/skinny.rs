//! Launches of the kernels for products of a tall factor and a thin one.

use cuda_std::host::Kernel;
use matmul_kernels::{
    self as kernels, Factor, SKINNY_THREADS, Skinny, skinny_k_chunk, skinny_k_step, skinny_rows,
    skinny_shared_bytes,
};

use super::kernels::HasSumKernels;
use super::{Job, MODULE};
use crate::device::LaunchConfig;
use crate::{Device, Result};

/// The most columns of a thin factor.
pub(super) const MOST_COLUMNS: usize = 16;

/// Rows below which the other kernels are as good: fewer do not occupy a GPU.
const FEWEST_ROWS: usize = 128;

/// Shared memory of a block, at most: nearly all that an H100 has for one. That all of the thin factor's k fit matters
/// more than a second block.
const SHARED_BYTES: u32 = 200 * 1024;

/// A kernel of so many columns.
type OfColumns<T> = (u32, &'static Kernel<(Skinny<T>,)>);

/// The kernels of a type, those of fewer columns first.
pub struct SkinnyKernels<T: 'static> {
    along: &'static [OfColumns<T>],
    across: &'static [OfColumns<T>],
    along_any: &'static [OfColumns<T>],
    across_any: &'static [OfColumns<T>],
}

/// Those of f32.
pub(super) static F32: SkinnyKernels<f32> = SkinnyKernels {
    along: &[
        (1, &kernels::skinny_f32_along_1),
        (2, &kernels::skinny_f32_along_2),
        (4, &kernels::skinny_f32_along_4),
        (8, &kernels::skinny_f32_along_8),
        (12, &kernels::skinny_f32_along_12),
        (16, &kernels::skinny_f32_along_16),
    ],
    across: &[
        (1, &kernels::skinny_f32_across_1),
        (2, &kernels::skinny_f32_across_2),
        (4, &kernels::skinny_f32_across_4),
        (8, &kernels::skinny_f32_across_8),
        (12, &kernels::skinny_f32_across_12),
        (16, &kernels::skinny_f32_across_16),
    ],
    along_any: &[
        (1, &kernels::skinny_f32_along_any_1),
        (4, &kernels::skinny_f32_along_any_4),
        (16, &kernels::skinny_f32_along_any_16),
    ],
    across_any: &[
        (1, &kernels::skinny_f32_across_any_1),
        (4, &kernels::skinny_f32_across_any_4),
        (16, &kernels::skinny_f32_across_any_16),
    ],
};

/// Those of f64.
pub(super) static F64: SkinnyKernels<f64> = SkinnyKernels {
    along: &[
        (1, &kernels::skinny_f64_along_1),
        (2, &kernels::skinny_f64_along_2),
        (4, &kernels::skinny_f64_along_4),
        (8, &kernels::skinny_f64_along_8),
        (12, &kernels::skinny_f64_along_12),
        (16, &kernels::skinny_f64_along_16),
    ],
    across: &[
        (1, &kernels::skinny_f64_across_1),
        (2, &kernels::skinny_f64_across_2),
        (4, &kernels::skinny_f64_across_4),
        (8, &kernels::skinny_f64_across_8),
        (12, &kernels::skinny_f64_across_12),
        (16, &kernels::skinny_f64_across_16),
    ],
    along_any: &[
        (1, &kernels::skinny_f64_along_any_1),
        (4, &kernels::skinny_f64_along_any_4),
        (16, &kernels::skinny_f64_along_any_16),
    ],
    across_any: &[
        (1, &kernels::skinny_f64_across_any_1),
        (4, &kernels::skinny_f64_across_any_4),
        (16, &kernels::skinny_f64_across_any_16),
    ],
};

/// Whether a result of so many rows and columns is one for these kernels, on a device that has the memory for them.
pub(super) fn is_skinny(device: &Device, m: usize, n: usize) -> bool {
    let has_room = |is_across| {
        let (size, columns) = (size_of::<f64>() as u32, MOST_COLUMNS as u32);
        skinny_k_chunk(is_across, size, columns, u32::MAX, shared_bytes(device)) > 0
    };
    m.min(n) <= MOST_COLUMNS && m.max(n) >= FEWEST_ROWS && has_room(false) && has_room(true)
}

/// Shared memory that a block may take on a device.
fn shared_bytes(device: &Device) -> u32 {
    SHARED_BYTES.min(device.shared_memory_per_block().unwrap_or(0))
}

/// Computes the job.
///
/// # Safety
/// As of [`Job::run`]; it [`is_skinny`].
pub(super) unsafe fn run<S: HasSumKernels>(job: &Job<S>) -> Result<()> {
    let sizes = job.sizes;
    let is_thin_right = job.whole.n <= job.whole.m;
    let (tall, thin, rows, columns) = if is_thin_right {
        (job.a, job.b, sizes.m, sizes.n)
    } else {
        (job.b, job.a, sizes.n, sizes.m)
    };
    let (c_stride, c_stride_thin) = if is_thin_right {
        (sizes.n as i64, 1)
    } else {
        (1, sizes.n as i64)
    };
    let is_across = tall.stride_k != 1 && tall.stride.abs() < tall.stride_k.abs();
    let kernels = S::skinny();
    let of_columns = match (is_across, is_aligned(&tall, is_across)) {
        (false, true) => kernels.along,
        (true, true) => kernels.across,
        (false, false) => kernels.along_any,
        (true, false) => kernels.across_any,
    };
    let &(kernel_columns, kernel) = of_columns
        .iter()
        .find(|(most, _)| columns <= *most as usize)
        .expect("there is one of the most columns");

    let (size, k) = (size_of::<S>() as u32, sizes.k as u32);
    let bytes = shared_bytes(job.device);
    let k_chunk = skinny_k_chunk(is_across, size, kernel_columns, k, bytes);
    let tile_rows = skinny_rows(is_across, size) as usize;
    let step = skinny_k_step(is_across, size) as usize;
    let processors = job.device.processors();
    // Parts of k where tiles are too few to occupy all multiprocessors.
    let tiles_of_whole = job.whole.m.max(job.whole.n).div_ceil(tile_rows);
    let wanted = (processors / (tiles_of_whole * job.whole.batch).max(1)).clamp(1, 64);
    let most_parts = sizes.k.div_ceil(8 * step);
    let k_part = sizes
        .k
        .div_ceil(wanted.min(most_parts))
        .next_multiple_of(step);
    let parts = sizes.k.div_ceil(k_part);

    let tiles = rows.div_ceil(tile_rows);
    let blocks = tiles.min(processors.div_ceil(parts)) as u32;
    let config = LaunchConfig::new((blocks, parts as u32, sizes.batch as u32), SKINNY_THREADS)
        .with_shared_bytes(skinny_shared_bytes(
            is_across,
            size,
            kernel_columns,
            k_chunk,
        ));
    let launch = |c, alpha, beta| {
        let product = Skinny {
            tall,
            thin,
            c,
            c_start: 0,
            c_stride,
            c_stride_thin,
            c_stride_batch: (sizes.m * sizes.n) as i64,
            c_stride_part: job.c.len() as i64,
            alpha,
            beta,
            rows: rows as u32,
            columns: columns as u32,
            k,
            k_part: k_part as u32,
            k_chunk,
        };
        // SAFETY: passed on to the caller.
        unsafe { job.device.launch(MODULE, kernel, config, (product,)) }
    };
    // SAFETY: passed on to the caller.
    unsafe { job.in_parts(parts, launch) }
}

/// Whether the tall factor can be read in pieces of 16 bytes.
fn is_aligned<S>(tall: &Factor<S>, is_across: bool) -> bool {
    let piece = 16 / size_of::<S>() as i64;
    let (near, far) = if is_across {
        (tall.stride, tall.stride_k)
    } else {
        (tall.stride_k, tall.stride)
    };
    near == 1
        && [far, tall.start, tall.stride_batch]
            .iter()
            .all(|distance| distance % piece == 0)
}
