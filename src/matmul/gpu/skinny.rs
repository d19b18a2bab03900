//! Products of a tall factor and a thin one.

use matmul_kernels::{
    Factor, SKINNY_THREADS, Skinny, skinny_k_chunk, skinny_k_step, skinny_rows, skinny_shared_bytes,
};

use super::factor::{is_aligned, recast};
use super::job::Job;
use super::kernels::{HasKernels, MODULE, SkinnyKernels};
use crate::device::LaunchConfig;
use crate::{Device, Result};

/// The most columns of a thin factor.
pub(super) const MOST_COLUMNS: usize = 16;

/// With fewer rows the other kernels are as fast: the rows do not occupy a GPU.
const FEWEST_ROWS: usize = 128;

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

impl<T: HasKernels> Job<'_, T> {
    /// Computes a job that [`is_skinny`], of elements that have the type of their sums.
    ///
    /// # Safety
    /// The factors and C are of the device and have the sizes, and nothing else uses C.
    pub unsafe fn run_skinny(&self, kernels: &SkinnyKernels<T::Sum>) -> Result<()> {
        let sizes = self.sizes;
        let (a, b) = (recast::<_, T::Sum>(self.a), recast(self.b));
        let is_thin_right = self.whole.n <= self.whole.m;
        let n = sizes.n as i64;
        let (tall, thin, rows, columns, c_stride, c_stride_thin) = match is_thin_right {
            true => (a, b, sizes.m, sizes.n, n, 1),
            false => (b, a, sizes.n, sizes.m, 1, n),
        };
        let is_across = tall.stride_k != 1 && tall.stride.abs() < tall.stride_k.abs();
        let of_columns = match (is_across, reads_16_bytes(&tall, is_across)) {
            (false, true) => kernels.along,
            (true, true) => kernels.across,
            (false, false) => kernels.along_any,
            (true, false) => kernels.across_any,
        };
        let &(kernel_columns, kernel) = of_columns
            .iter()
            .find(|(most, _)| columns <= *most as usize)
            .expect("a kernel of the most columns");

        let (size, k) = (size_of::<T>() as u32, sizes.k as u32);
        let bytes = shared_bytes(self.device);
        let k_chunk = skinny_k_chunk(is_across, size, kernel_columns, k, bytes);
        let tile_rows = skinny_rows(is_across, size) as usize;
        let step = skinny_k_step(is_across, size) as usize;
        let processors = self.device.processors();
        // Parts of k if the tiles do not occupy all multiprocessors.
        let tiles_of_whole = self.whole.m.max(self.whole.n).div_ceil(tile_rows);
        let wanted = (processors / (tiles_of_whole * self.whole.batch).max(1)).clamp(1, 64);
        let most_parts = sizes.k.div_ceil(8 * step);
        let k_part = sizes.k.div_ceil(wanted.min(most_parts));
        let k_part = k_part.next_multiple_of(step);
        let parts = sizes.k.div_ceil(k_part);

        let tiles = rows.div_ceil(tile_rows);
        let blocks = tiles.min(processors.div_ceil(parts)) as u32;
        let shared_bytes = skinny_shared_bytes(is_across, size, kernel_columns, k_chunk);
        let config = LaunchConfig::new((blocks, parts as u32, sizes.batch as u32), SKINNY_THREADS)
            .with_shared_bytes(shared_bytes);
        let launch = |c, alpha, beta| {
            let product = Skinny {
                tall,
                thin,
                c,
                c_start: 0,
                c_stride,
                c_stride_thin,
                c_stride_batch: (sizes.m * sizes.n) as i64,
                c_stride_part: self.c.len() as i64,
                alpha,
                beta,
                rows: rows as u32,
                columns: columns as u32,
                k,
                k_part: k_part as u32,
                k_chunk,
            };
            // SAFETY: the caller vouches for the memory.
            unsafe { self.device.launch(MODULE, kernel, config, (product,)) }
        };
        // SAFETY: the caller vouches for the memory.
        unsafe { self.in_parts(parts, launch) }
    }
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
