//! Products on GPUs and in the simulator.

mod cast;
mod choice;
mod emulated;
mod factor;
mod host;
mod job;
mod kernels;
mod overlapped;
mod persistent;
mod skinny;
mod tiled;
mod tuning;
mod vector;

use std::ops::RangeInclusive;

use cuda_std::DeviceSliceMut;
use gridstride_runtime::{Error, Result};
use matmul_kernels::Factor;
use num_traits::Zero;

pub use self::cast::cast;
use self::choice::choose;
use self::factor::{pack, recast};
pub use self::host::host;
use self::job::{Job, add_parts};
pub use self::kernels::{HasKernels, OutputOf};
pub use self::overlapped::{Panels, in_panels};
use self::tuning::Gpu;
use super::element::ResidentProduct;
use super::input::{DeviceMatrices, Sizes};
use super::options::{Instructions, MatMul, Precision};

/// The most matrices of a batch that one launch computes: below the limit of a grid, and such that
/// the next launch's C begins at a multiple of 16 bytes, whatever the type of its elements.
const MAX_BATCH: usize = 65_528;
const _: () = assert!(MAX_BATCH.is_multiple_of(8));

/// Computes a product of arrays in the memory of C's device.
pub fn device<T: HasKernels, C: OutputOf<T>>(
    options: MatMul,
    product: ResidentProduct<T, C>,
) -> Result<()> {
    let whole = product.sizes;
    run(options, product, whole)
}

/// Computes `product`, which may be a partition, with the kernel for the `whole` product.
fn run<T: HasKernels, C: OutputOf<T>>(
    options: MatMul,
    product: ResidentProduct<T, C>,
    whole: Sizes,
) -> Result<()> {
    let sizes = product.sizes;
    let Sizes { batch, m, n, .. } = sizes;
    let a = factor(&product.a, [1, 2]);
    let b = factor(&product.b, [2, 1]);
    for first in (0..batch).step_by(MAX_BATCH) {
        let count = (batch - first).min(MAX_BATCH);
        let of_batch = |factor: Factor<T::Bits>| Factor {
            start: factor.start + first as i64 * factor.stride_batch,
            ..factor
        };
        assert!(product.start_of_c + batch * m * n <= product.c.len());
        // SAFETY: the elements of these matrices of C.
        let c = unsafe {
            let c = product.c.slice_mut();
            let start = product.start_of_c + first * m * n;
            let start = c.as_mut_ptr().wrapping_add(start);
            DeviceSliceMut::from_raw_parts(start, count * m * n)
        };
        let job = Job::<T> {
            device: product.device,
            options,
            a: of_batch(a),
            b: of_batch(b),
            c: C::output(c),
            sizes: Sizes {
                batch: count,
                ..sizes
            },
            whole,
            section: 0,
            alpha: product.alpha,
            beta: product.beta,
        };
        // SAFETY: the factors and C are within their buffers, and C is borrowed mutably.
        unsafe { compute(&job)? };
    }
    Ok(())
}

/// Returns the matrices as a factor, with the given axes as outer indices and as k.
fn factor<T: HasKernels>(matrices: &DeviceMatrices<T>, [outer, k]: [usize; 2]) -> Factor<T::Bits> {
    let strides = matrices.strides.map(|stride| stride as i64);
    let (mut stride, mut stride_k) = (strides[outer], strides[k]);
    let lengths = matrices.shape.map(|length| length as i64);
    // The stride of a single row or column is never used: take one that fits most kernels.
    if lengths[k] == 1 {
        stride_k = 1.max(stride * lengths[outer]);
    }
    if lengths[outer] == 1 {
        stride = 1.max(stride_k * lengths[k]);
    }
    recast(Factor {
        elements: matrices.elements.slice(),
        start: matrices.start as i64,
        stride,
        stride_k,
        stride_batch: if lengths[0] == 1 { 0 } else { strides[0] },
    })
}

/// Computes C = β·C for a product whose A and B are not read.
pub fn scale<T: HasKernels, C: OutputOf<T>>(product: ResidentProduct<T, C>) -> Result<()> {
    let none = product.device.alloc(0)?;
    let (c, beta) = (C::output(product.c.slice_mut()), product.beta);
    // Not alpha, whose product with an empty sum may be NaN.
    // SAFETY: there are no parts, and C is all of its buffer, which is borrowed mutably.
    unsafe { add_parts::<T>(product.device, c, &none, 0, T::Sum::zero(), beta) }
}

/// # Safety
/// The factors and C are of the device and have these sizes, and nothing else uses C.
unsafe fn compute<T: HasKernels>(job: &Job<T>) -> Result<()> {
    let capability = job.device.compute_capability();
    for allowed in job.options.instructions.allowed(capability) {
        // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
        if unsafe { compute_by(*job, allowed)? } {
            return Ok(());
        }
    }
    Err(Error::Unavailable {
        device: job.device.to_string(),
        reason: "no kernel multiplies matrices of this type and these strides".into(),
    })
}

/// Computes the job by one of these instructions; `false` if the device has no room for the kernels.
///
/// # Safety
/// As for [`compute`].
unsafe fn compute_by<T: HasKernels>(
    mut job: Job<T>,
    allowed: RangeInclusive<Instructions>,
) -> Result<bool> {
    let Sizes { batch, m, n, k, .. } = job.sizes;
    if *allowed.end() == Instructions::Fma {
        // There are no other kernels of fused multiply-adds.
        job.options.precision = Precision::Full;
    }
    let precision = job.options.precision;
    if let Some(kernels) = T::KERNELS.vector(precision)
        // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
        && unsafe { vector::compute(&job, kernels)? }
    {
        return Ok(true);
    }
    if let Some(kernels) = T::KERNELS.skinny(precision)
        && skinny::is_skinny(job.device, job.whole.m, job.whole.n)
    {
        // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
        unsafe { skinny::compute(&job, kernels, *allowed.end())? };
        return Ok(true);
    }
    if let Some(kernel) = T::KERNELS.split
        && precision == Precision::F32ByBf16x6
    {
        // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
        return unsafe { emulated::compute(&job, kernel, allowed) };
    }
    let mut families = T::KERNELS.families(precision, allowed.clone()).peekable();
    if families.peek().is_some() {
        let gpu = Gpu::of(job.device);
        let Some(choice) = choose(families, &gpu, job.whole, &job.a, &job.b) else {
            return Ok(false);
        };
        // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
        unsafe { tiled::compute(&job, &choice)? };
        return Ok(true);
    }
    let Some(kernel) = T::KERNELS.widen else {
        return Ok(false);
    };
    let widen = |from, outer| {
        // SAFETY: by the contract of this function, the factors have the sizes of the product.
        unsafe { pack::<T::Sum, _, _, _>(job.device, kernel, from, (batch, outer, k)) }
    };
    // The copies are freed after the kernels have run.
    let (_copy_of_a, a) = widen(job.a, m)?;
    let (_copy_of_b, b) = widen(job.b, n)?;
    let wide = Job::<T::Wide> {
        device: job.device,
        options: job.options,
        a: recast(a),
        b: recast(b),
        c: job.c,
        sizes: job.sizes,
        whole: job.whole,
        section: 0,
        alpha: job.alpha,
        beta: job.beta,
    };
    // SAFETY: by the contract of this function, C has the size of the product; A and B are copies
    // of the same sizes.
    unsafe { compute_by(wide, allowed) }
}
