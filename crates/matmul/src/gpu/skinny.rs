//! Products of a tall factor and a thin one.

use cuda_std::DeviceParam;
use cuda_std::host::Kernel;
use gridstride_runtime::device::{Element, LaunchConfig};
use gridstride_runtime::{Device, Result};
use matmul_kernels::{
    Factor, SKINNY_THREADS, Skinny, THIN_K_STEP, skinny_k_chunk, skinny_k_step, skinny_rows,
    skinny_shared_bytes, thin_rows, thin_shared_bytes,
};

use super::factor::{is_aligned, recast};
use super::job::Job;
use super::kernels::{HasKernels, SkinnyKernels};
use crate::MODULE;
use crate::options::Instructions;

/// The most columns of a thin factor.
pub(super) const MOST_COLUMNS: usize = 16;

/// With fewer rows the other kernels are as fast: the rows do not occupy a GPU.
pub(super) const FEWEST_ROWS: usize = 128;

/// With fewer columns, matrix instructions take as long as multiply-adds: they compute 8.
const FEWEST_COLUMNS_OF_MMA: usize = 5;

/// The most shared memory of a block: nearly all that an H100 has for a block. It is more important
/// that all of the thin factor's k fit than that a multiprocessor has a second block.
const SHARED_BYTES: u32 = 200 * 1024;

/// Whether these kernels compute an m×n result, on a device with enough shared memory.
pub(super) fn is_skinny(device: &Device, m: usize, n: usize) -> bool {
    let has_room = |is_across| {
        let (size, columns) = (size_of::<f64>() as u32, MOST_COLUMNS as u32);
        skinny_k_chunk(is_across, size, columns, u32::MAX, shared_bytes(device)) > 0
    };
    m.min(n) <= MOST_COLUMNS && m.max(n) >= FEWEST_ROWS && has_room(false) && has_room(true)
}

/// Returns the shared memory of a block.
fn shared_bytes(device: &Device) -> u32 {
    SHARED_BYTES.min(device.shared_memory_per_block().unwrap_or(0))
}

/// A product's factors by their lengths.
pub(super) struct Roles<B> {
    tall: Factor<B>,
    thin: Factor<B>,
    /// Outer indices of the tall factor and of the thin one, and those of the whole product's.
    pub rows: usize,
    pub rows_of_whole: usize,
    columns: usize,
    pub columns_of_whole: usize,
    /// The strides of C along both.
    c_stride: i64,
    c_stride_thin: i64,
    /// Whether the tall factor's rows are closer than its k.
    pub is_across: bool,
    /// Whether the tall factor can be read 16 bytes at a time, in this partition and in the whole
    /// product.
    pub is_near: bool,
}

/// The parts that k is cut into, and how much of it a block takes to shared memory at a time.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub k_part: usize,
    pub parts: usize,
    pub k_chunk: u32,
}

type SkinnyKernel<S> = &'static Kernel<(Skinny<S>,)>;

/// Computes a job that [`is_skinny`], of elements that have the type of their sums, by
/// `instructions` or simpler ones.
///
/// # Safety
/// The factors and C are of the device and have the sizes, and nothing else uses C.
pub unsafe fn compute<T: HasKernels>(
    job: &Job<T>,
    kernels: &SkinnyKernels<T::Sum>,
    instructions: Instructions,
) -> Result<()> {
    let roles = roles::<T, T::Sum>(job);
    // SAFETY: by the contract of this function, the factors and C are of the device and have
    // the sizes, and nothing else uses C, which is what the functions called ask for.
    unsafe {
        if let Some(thin) = &kernels.thin
            && instructions >= Instructions::Warp
            && let Some(cut) = thin_cut(job, &roles)
        {
            let of_columns = if roles.is_across {
                thin.across
            } else {
                thin.along
            };
            return compute_thin(job, of_columns, &roles, cut);
        }
        multiply_add(job, kernels, &roles)
    }
}

/// Returns the roles of the factors, with elements recast to `B`, a type of the same size.
pub fn roles<T: HasKernels, B: Element>(job: &Job<T>) -> Roles<B> {
    let (sizes, whole) = (job.sizes, job.whole);
    let (a, b) = (recast(job.a), recast(job.b));
    let n = sizes.n as i64;
    let (tall, thin, rows, columns, c_stride, c_stride_thin) = match whole.n <= whole.m {
        true => (a, b, sizes.m, sizes.n, n, 1),
        false => (b, a, sizes.n, sizes.m, 1, n),
    };
    let is_across = tall.stride_k != 1 && tall.stride.abs() < tall.stride_k.abs();
    let rows_of_whole = whole.m.max(whole.n);
    // A partition uses the kernel of the whole product, even if only its own rows of the tall factor
    // begin at multiples of 16 bytes.
    let is_whole_near =
        !is_across || rows == rows_of_whole || is_aligned::<B>(rows_of_whole as i64);
    Roles {
        tall,
        thin,
        rows,
        rows_of_whole,
        columns,
        columns_of_whole: whole.m.min(whole.n),
        c_stride,
        c_stride_thin,
        is_across,
        is_near: is_whole_near && reads_16_bytes(&tall, is_across),
    }
}

/// Returns the length of each part of k, a multiple of `step`, and their number: several if
/// `tiles` of the whole do not occupy all multiprocessors, each of which runs `blocks`.
pub fn parts_of_k<T: HasKernels>(
    job: &Job<T>,
    tiles: usize,
    blocks: usize,
    step: usize,
) -> (usize, usize) {
    let k = job.sizes.k;
    let wanted = job.device.processors() * blocks / (tiles * job.whole.batch).max(1);
    let most = k.div_ceil(8 * step);
    let k_part = k
        .div_ceil(wanted.clamp(1, 64).min(most))
        .next_multiple_of(step);
    (k_part, k.div_ceil(k_part))
}

/// Returns how the kernels with matrix instructions cut k, if they are to be taken: there is
/// room for all k of the thin factor, and the tiles occupy the multiprocessors.
fn thin_cut<T: HasKernels>(job: &Job<T>, roles: &Roles<T::Sum>) -> Option<Cut> {
    let is_hopper = job.device.compute_capability() == (9, 0);
    if !is_hopper || !roles.is_near || roles.columns_of_whole < FEWEST_COLUMNS_OF_MMA {
        return None;
    }
    let tiles = roles
        .rows_of_whole
        .div_ceil(thin_rows(roles.is_across) as usize);
    let (k_part, parts) = parts_of_k(job, tiles, 1, THIN_K_STEP as usize);
    let bytes = thin_shared_bytes(roles.columns_of_whole as u32, k_part as u32);
    let has_room = bytes <= job.device.shared_memory_per_block().unwrap_or(0);
    let of_block = tiles.div_ceil(job.device.processors().div_ceil(parts));
    let cut = Cut {
        k_part,
        parts,
        k_chunk: 0,
    };
    (has_room && are_balanced(of_block)).then_some(cut)
}

/// Multiplies by matrix instructions.
///
/// # Safety
/// As of [`compute`].
unsafe fn compute_thin<T: HasKernels>(
    job: &Job<T>,
    kernels: &[(u32, SkinnyKernel<T::Sum>)],
    roles: &Roles<T::Sum>,
    cut: Cut,
) -> Result<()> {
    let &(_, kernel) = of_most(kernels, roles.columns);
    let tiles = roles.rows.div_ceil(thin_rows(roles.is_across) as usize);
    let blocks = tiles.min(job.device.processors().div_ceil(cut.parts));
    let grid = (blocks as u32, cut.parts as u32, job.sizes.batch as u32);
    let bytes = thin_shared_bytes(roles.columns as u32, cut.k_part as u32);
    let config = LaunchConfig::new(grid, SKINNY_THREADS).with_shared_bytes(bytes);
    // SAFETY: by the contract of this function, which is that of `compute`, the factors and
    // C are of the device and have the sizes, and nothing else uses C. The cut and the launch
    // shape are those of the kernel.
    unsafe { launch(job, kernel, config, roles, cut) }
}

/// Multiplies by fused multiply-adds.
///
/// # Safety
/// As of [`compute`].
unsafe fn multiply_add<T: HasKernels>(
    job: &Job<T>,
    kernels: &SkinnyKernels<T::Sum>,
    roles: &Roles<T::Sum>,
) -> Result<()> {
    let is_across = roles.is_across;
    let of_columns = match (is_across, roles.is_near) {
        (false, true) => kernels.along,
        (true, true) => kernels.across,
        (false, false) => kernels.along_any,
        (true, false) => kernels.across_any,
    };
    let &(columns, kernel) = of_most(of_columns, roles.columns);
    let size = size_of::<T>() as u32;
    let bytes = shared_bytes(job.device);
    let k_chunk = skinny_k_chunk(is_across, size, columns, job.sizes.k as u32, bytes);
    let tile_rows = skinny_rows(is_across, size) as usize;
    let step = skinny_k_step(is_across, size) as usize;
    let tiles_of_whole = roles.rows_of_whole.div_ceil(tile_rows);
    let (k_part, parts) = parts_of_k(job, tiles_of_whole, 1, step);
    let processors = job.device.processors().div_ceil(parts);
    let blocks = roles.rows.div_ceil(tile_rows).min(processors);
    let grid = (blocks as u32, parts as u32, job.sizes.batch as u32);
    let config = LaunchConfig::new(grid, SKINNY_THREADS)
        .with_shared_bytes(skinny_shared_bytes(is_across, size, columns, k_chunk));
    let cut = Cut {
        k_part,
        parts,
        k_chunk,
    };
    // SAFETY: by the contract of this function, which is that of `compute`, the factors and
    // C are of the device and have the sizes, and nothing else uses C. The cut and the launch
    // shape are those of the kernel.
    unsafe { launch(job, kernel, config, roles, cut) }
}

/// Launches a kernel, and adds the parts of k if there are several.
///
/// # Safety
/// As of [`compute`]; the launch is as the kernel asks for.
pub unsafe fn launch<T: HasKernels, B: Element + DeviceParam>(
    job: &Job<T>,
    kernel: &'static Kernel<(Skinny<B, T::Sum>,)>,
    config: LaunchConfig,
    roles: &Roles<B>,
    cut: Cut,
) -> Result<()> {
    let target = job.target(cut.parts)?;
    let product = Skinny {
        tall: roles.tall,
        thin: roles.thin,
        c: target.c,
        c_start: 0,
        c_stride: roles.c_stride,
        c_stride_thin: roles.c_stride_thin,
        c_stride_batch: (job.sizes.m * job.sizes.n) as i64,
        c_stride_part: job.c.len() as i64,
        alpha: target.alpha,
        beta: target.beta,
        rows: roles.rows as u32,
        columns: roles.columns as u32,
        k: job.sizes.k as u32,
        k_part: cut.k_part as u32,
        k_chunk: cut.k_chunk,
    };
    // SAFETY: the factors and C are of the device and have the sizes, nothing else uses C, the
    // launch is as the kernel asks for, and it writes all parts of the target.
    unsafe {
        job.device.launch(&MODULE, kernel, config, (product,))?;
        job.finish(target, cut.parts)
    }
}

/// Whether the kernels with matrix instructions are the faster ones, for `tiles` tiles of a block.
///
/// A block's eight warps take a tile each. If fewer than four are left at the end, these do not have
/// enough bytes on their way, and take as long as four; the other kernels take a fifteenth longer.
fn are_balanced(tiles: usize) -> bool {
    let lost = match tiles % 8 {
        0 => 0,
        left => 4usize.saturating_sub(left),
    };
    15 * lost <= tiles
}

/// Returns the first kernel of at least so many columns.
fn of_most<K>(kernels: &[(u32, K)], columns: usize) -> &(u32, K) {
    let mut kernels = kernels.iter();
    let kernel = kernels.find(|(most, _)| columns <= *most as usize);
    kernel.expect("a kernel of the most columns")
}

/// Whether the tall factor can be read 16 bytes at a time.
fn reads_16_bytes<S>(tall: &Factor<S>, is_across: bool) -> bool {
    let (near, far) = match is_across {
        true => (tall.stride, tall.stride_k),
        false => (tall.stride_k, tall.stride),
    };
    let mut lengths = [far, tall.start, tall.stride_batch].into_iter();
    near == 1 && lengths.all(is_aligned::<S>)
}

#[cfg(test)]
mod tests {
    use super::are_balanced;

    #[test]
    fn few_tiles_at_the_end_are_left_to_multiply_adds() {
        for (tiles, expected) in [
            (1, false),
            (3, false),
            (4, true),
            (6, true),
            (8, true),
            (9, false),
            (11, false),
            (12, true),
            (49, true),
        ] {
            assert_eq!(are_balanced(tiles), expected, "{tiles}");
        }
    }
}
