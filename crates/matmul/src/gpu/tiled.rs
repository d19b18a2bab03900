//! Products by kernels that compute a tile of C per block.

use cuda_std::DeviceSliceMut;
use gridstride_runtime::Result;
use gridstride_runtime::device::LaunchConfig;
use matmul_kernels::{Factor, Launch, Product};

use super::choice::Choice;
use super::factor::pack;
use super::job::Job;
use super::kernels::{HasKernels, Output};
use super::persistent;
use super::tuning::Cut;
use crate::MODULE;
use crate::input::Sizes;

/// Computes a job by a kernel of tiles.
///
/// # Safety
/// The factors and C are of the device and have the sizes, and nothing else uses C.
pub unsafe fn compute<T: HasKernels>(job: &Job<T>, choice: &Choice<T>) -> Result<()> {
    let Sizes { batch, m, n, k, .. } = job.sizes;
    let Choice { tile, cut, .. } = *choice;
    let packed = |packs: bool, from: Factor<T::Bits>, outer: usize| {
        let Some(kernel) = T::KERNELS.pack.filter(|_| packs) else {
            return Ok((None, from));
        };
        // SAFETY: the factor is of the device and has these sizes.
        let copy = unsafe { pack(job.device, kernel, from, (batch, outer, k)) };
        copy.map(|(copy, factor)| (Some(copy), factor))
    };
    // The copies are freed after the kernels have run.
    let (_copy_of_a, a) = packed(choice.packs_a, job.a, m)?;
    let (_copy_of_b, b) = packed(choice.packs_b, job.b, n)?;
    let per_matrix = m.div_ceil(tile.rows as usize) * n.div_ceil(tile.columns as usize);
    // C and its parts are in memory, so there are fewer tiles than 2³¹.
    let grid = (per_matrix as u32, cut.parts as u32, batch as u32);
    let config = LaunchConfig::new(grid, tile.threads).with_shared_bytes(tile.shared_bytes);
    let sums = match (tile.kernel, job.c) {
        (Launch::Block(sums), _) => sums,
        (Launch::Rounding { rounded, .. }, Output::Rounded { c, .. }) if cut.parts == 1 => {
            let product = product(job, cut, (a, b), c, job.alpha, job.beta);
            // SAFETY: the factors and C are of the device, have the sizes and fit the patterns, and
            // nothing else uses C.
            return unsafe { job.device.launch(&MODULE, rounded, config, (product,)) };
        }
        (Launch::Rounding { sums, .. }, _) => sums,
        (Launch::Persistent { sums, rounded }, _) => {
            let tiles = per_matrix * batch * cut.parts;
            // SAFETY: the factors and C are of the device, have the sizes and fit the patterns, and
            // nothing else uses C.
            return unsafe { persistent::compute(job, tile, sums, rounded, cut, tiles, (a, b)) };
        }
    };
    let target = job.target(cut.parts)?;
    let product = product(job, cut, (a, b), target.c, target.alpha, target.beta);
    // SAFETY: the factors and C are of the device, have the sizes and fit the patterns, and nothing
    // else uses C; the kernel writes all parts of the target.
    unsafe {
        job.device.launch(&MODULE, sums, config, (product,))?;
        job.finish(target, cut.parts)
    }
}

/// Returns the argument of a kernel with a block for each tile and part of k.
fn product<T: HasKernels, C>(
    job: &Job<T>,
    cut: Cut,
    (a, b): (Factor<T::Bits>, Factor<T::Bits>),
    c: DeviceSliceMut<C>,
    alpha: T::Sum,
    beta: T::Sum,
) -> Product<T::Bits, T::Sum, C> {
    let Sizes { m, n, k, .. } = job.sizes;
    Product {
        a,
        b,
        c,
        m: m as u32,
        n: n as u32,
        k: k as u32,
        k_part: cut.k_part as u32,
        alpha,
        beta,
    }
}
