//! Products of a matrix and a vector.

use gridstride_runtime::Result;
use gridstride_runtime::device::LaunchConfig;
use matmul_kernels::{VECTOR_THREADS, skinny_k_step, vector_rows};

use super::job::Job;
use super::kernels::{HasKernels, VectorKernels};
use super::skinny::{Cut, FEWEST_ROWS, Roles, launch, parts_of_k, roles};

/// The least bytes of k for the kernels *along*, whose blocks take long to start and end.
const FEWEST_BYTES_ALONG: usize = 16 << 10;

/// Computes a job of one row or column, if these kernels are the fastest. Returns `false`
/// otherwise, or if the strides do not fit.
///
/// # Safety
/// The factors and C are of the device and have the sizes, and nothing else uses C.
pub unsafe fn compute<T: HasKernels>(job: &Job<T>, kernels: &VectorKernels<T>) -> Result<bool> {
    let roles = roles::<T, T::Bits>(job);
    let Some(cut) = cut(job, &roles) else {
        return Ok(false);
    };
    let kernel = match roles.is_across {
        true => kernels.across,
        false => kernels.along,
    };
    let rows = vector_rows(roles.is_across, size_of::<T>() as u32);
    let blocks = roles.rows.div_ceil(rows as usize);
    let grid = (blocks as u32, cut.parts as u32, job.sizes.batch as u32);
    let config = LaunchConfig::new(grid, VECTOR_THREADS);
    // SAFETY: by the contract of this function, the factors and C are of the device and have
    // the sizes, and nothing else uses C. `cut` has checked that the matrix can be read
    // 16 bytes at a time, and buffers begin at multiples of 16 bytes. The cut and the launch
    // shape are those of the kernel.
    unsafe { launch(job, kernel, config, &roles, cut)? };
    Ok(true)
}

/// Returns how these kernels cut k, if they are to be taken.
fn cut<T: HasKernels>(job: &Job<T>, roles: &Roles<T::Bits>) -> Option<Cut> {
    let is_vector = roles.columns_of_whole == 1 && roles.rows_of_whole >= FEWEST_ROWS;
    if !is_vector || !roles.is_near {
        return None;
    }
    let (is_across, size) = (roles.is_across, size_of::<T>() as u32);
    let tiles = (roles.rows_of_whole).div_ceil(vector_rows(is_across, size) as usize);
    // Blocks along are in pairs in a multiprocessor.
    let blocks = if is_across { 1 } else { 2 };
    let step = skinny_k_step(is_across, size) as usize;
    let (k_part, parts) = parts_of_k(job, tiles, blocks, step);
    let is_fast = match is_across {
        true => {
            let sizes = [job.whole.batch, roles.rows_of_whole];
            is_fast_across(job.device.processors(), size, sizes, (k_part, parts))
        }
        false => job.sizes.k * size_of::<T>() >= FEWEST_BYTES_ALONG,
    };
    is_fast.then_some(Cut {
        k_part,
        parts,
        k_chunk: 0,
    })
}
/// Whether the kernel *across* is faster than the others, for a batch of matrices of so many rows,
/// of elements of `size` bytes, whose k are cut into `parts` of `k_part`.
///
/// All blocks take equally long, and a multiprocessor runs two. With at most 9/8 blocks for each
/// multiprocessor, 5/6 of the multiprocessors need one; with more, the last round may lack at most
/// an eighth of all blocks. Three of four threads have to have rows. Several parts of k have to be
/// long, or else other kernels are as fast: in `f32` and `f64` those for thin factors, in 16 bits
/// only those of tiles.
fn is_fast_across(
    processors: usize,
    size: u32,
    [batch, rows]: [usize; 2],
    (k_part, parts): (usize, usize),
) -> bool {
    let of_block = vector_rows(true, size) as usize;
    let of_matrix = rows.div_ceil(of_block);
    let blocks = of_matrix * batch * parts;
    let is_busy = match 8 * blocks <= 9 * processors {
        true => 6 * blocks >= 5 * processors,
        false => 8 * (blocks.next_multiple_of(2 * processors) - blocks) <= blocks,
    };
    let is_full = 4 * rows >= 3 * of_matrix * of_block;
    let fewest_k = if size == 2 { 256 } else { 4096 };
    is_busy && is_full && (parts == 1 || k_part >= fewest_k)
}

#[cfg(test)]
mod tests {
    use super::is_fast_across;

    #[test]
    fn vectors_across_take_whole_rounds_of_blocks() {
        for (size, batch, rows, k_part, parts, expected) in [
            // 128 blocks on 132 multiprocessors.
            (8, 1, 16_384, 4096, 4, true),
            // Parts of k that are too short, and of 16 bits.
            (4, 1, 16_384, 2048, 8, false),
            (2, 1, 16_384, 1024, 16, true),
            // 79 blocks, 137, 196, 264 and 274.
            (8, 1, 40_000, 16_384, 1, false),
            (8, 1, 70_000, 8192, 1, true),
            (4, 1, 200_000, 4096, 1, false),
            (8, 1, 135_168, 4096, 1, true),
            (8, 1, 140_000, 2048, 1, false),
            // So many blocks that the last ones do not matter.
            (4, 1, 10_000_000, 16, 1, true),
            // Blocks with few rows, and with more.
            (4, 100_000, 100, 64, 1, false),
            (4, 100_000, 1000, 64, 1, true),
            (4, 100_000, 1025, 64, 1, false),
        ] {
            let is_fast = is_fast_across(132, size, [batch, rows], (k_part, parts));
            assert_eq!(is_fast, expected, "{batch} × {rows}, {parts} of {k_part}");
        }
    }
}
