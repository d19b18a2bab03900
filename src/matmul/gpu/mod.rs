//! Products on GPUs and in the simulator.

mod cast;
mod choice;
mod emulated;
mod factor;
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
use matmul_kernels::Factor;
use ndarray::ArrayView3;
use num_traits::Zero;

pub use self::cast::cast;
use self::choice::choose;
use self::factor::{OnDevice, factor, pack, recast};
use self::job::Job;
pub use self::kernels::{HasKernels, OutputOf};
use self::tuning::Gpu;
use super::element::{HostProduct, ResidentProduct};
use super::input::{DeviceProduct, Product, Sizes};
use super::options::{Instructions, MatMul, Precision};
use crate::device::assign;
use crate::{Device, Error, Result};

/// The most matrices of a batch that one launch computes: below the limit of a grid, and such that
/// the next launch's C begins at a multiple of 16 bytes, whatever the type of its elements.
const MAX_BATCH: usize = 65_528;
const _: () = assert!(MAX_BATCH.is_multiple_of(8));

/// Computes a partition of a product of host arrays, with the kernel for the `whole` product.
pub fn host<T: HasKernels, C: OutputOf<T>>(
    options: MatMul,
    device: &Device,
    whole: Sizes,
    product: HostProduct<T, C>,
) -> Result<()> {
    let sizes = product.sizes();
    let (operation, alpha, beta, mut c) =
        (product.operation, product.alpha, product.beta, product.c);
    require_countable(operation, sizes)?;
    if sizes.k == 0 || alpha.is_zero() {
        // A and B are not read, so the device is not needed.
        let is_zero = beta.is_zero();
        c.mapv_inplace(|c| if is_zero { C::zeroed() } else { c.scaled(beta) });
        return Ok(());
    }
    let product = Product { c, ..product };
    match overlapped::Plan::new(device, &product) {
        Some(plan) => overlapped::host(options, device, whole, product, &plan),
        None => in_sequence(options, device, whole, product),
    }
}

/// Computes a product as [`host`], whose copies and kernels run one after the other.
fn in_sequence<T: HasKernels, C: OutputOf<T>>(
    options: MatMul,
    device: &Device,
    whole: Sizes,
    product: HostProduct<T, C>,
) -> Result<()> {
    let sizes = product.sizes();
    let (beta, mut c) = (product.beta, product.c);
    let a = OnDevice::upload(device, product.a)?;
    let b = OnDevice::upload(device, product.b)?;
    let mut result = match beta.is_zero() {
        true => device.alloc(c.len())?,
        false => device.upload(&c)?.into_buffer(),
    };
    let on_device = DeviceProduct {
        operation: product.operation,
        device,
        alpha: product.alpha,
        a: a.matrices(),
        b: b.matrices(),
        beta,
        c: &mut result,
        start_of_c: 0,
        sizes,
    };
    run(options, on_device, whole)?;
    match c.as_slice_mut() {
        Some(c) => result.copy_to(c),
        None => {
            let result = result.to_vec()?;
            let result = ArrayView3::from_shape(c.dim(), &result).expect("the shape of C");
            assign(c, &result);
            Ok(())
        }
    }
}

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
    let (operation, sizes) = (product.operation, product.sizes);
    let Sizes { batch, m, n, .. } = sizes;
    if batch == 0 || m == 0 || n == 0 {
        return Ok(());
    }
    require_countable(operation, sizes)?;
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
            operation,
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
        unsafe { job.run()? };
    }
    Ok(())
}

/// Fails for sizes that do not fit the 32 bits in which kernels count rows, columns and k.
fn require_countable(operation: &'static str, sizes: Sizes) -> Result<()> {
    for (name, size) in [("m", sizes.m), ("n", sizes.n), ("k", sizes.k)] {
        if size > i32::MAX as usize {
            let message = format!("{name} is {size}; kernels count to {}", i32::MAX);
            return Err(Error::input(operation, message));
        }
    }
    Ok(())
}

impl<T: HasKernels> Job<'_, T> {
    /// # Safety
    /// The factors and C are of the device and have these sizes, and nothing else uses C.
    unsafe fn run(&self) -> Result<()> {
        let asked = self.options.instructions;
        let capability = self.device.compute_capability();
        let allowed = tuning::instructions(asked, capability);
        if allowed.is_empty() {
            let (major, minor) = capability;
            return Err(self.unavailable(&format!(
                "its compute capability {major}.{minor} lacks the instructions {asked:?}"
            )));
        }
        if self.sizes.k == 0 || self.alpha.is_zero() {
            let none = self.device.alloc(0)?;
            // Not alpha, whose product with an empty sum may be NaN.
            // SAFETY: there are no parts, and by the contract of this function C has the sizes.
            return unsafe { self.add_parts(&none, 0, T::Sum::zero()) };
        }
        for allowed in allowed {
            // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
            if unsafe { self.run_by(allowed)? } {
                return Ok(());
            }
        }
        Err(self.unavailable("no kernel multiplies matrices of this type and these strides"))
    }

    /// Computes the job by one of these instructions; `false` if the device has no room for the kernels.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn run_by(mut self, allowed: RangeInclusive<Instructions>) -> Result<bool> {
        let Sizes { batch, m, n, k, .. } = self.sizes;
        if *allowed.end() == Instructions::Fma {
            // There are no other kernels of fused multiply-adds.
            self.options.precision = Precision::Full;
        }
        let precision = self.options.precision;
        if let Some(kernels) = T::KERNELS.vector(precision)
            // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
            && unsafe { self.run_vector(kernels)? }
        {
            return Ok(true);
        }
        if let Some(kernels) = T::KERNELS.skinny(precision)
            && skinny::is_skinny(self.device, self.whole.m, self.whole.n)
        {
            // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
            unsafe { self.run_skinny(kernels, *allowed.end())? };
            return Ok(true);
        }
        if let Some(kernel) = T::KERNELS.split
            && precision == Precision::F32ByBf16x6
        {
            // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
            return unsafe { self.run_emulated(kernel, allowed) };
        }
        let mut families = T::KERNELS.families(precision, allowed.clone()).peekable();
        if families.peek().is_some() {
            let gpu = Gpu::of(self.device);
            let Some(choice) = choose(families, &gpu, self.whole, &self.a, &self.b) else {
                return Ok(false);
            };
            // SAFETY: by the contract of this function, the factors and C are of the device and have the sizes.
            unsafe { self.run_tiled(&choice)? };
            return Ok(true);
        }
        let Some(kernel) = T::KERNELS.widen else {
            return Ok(false);
        };
        let widen = |from, outer| {
            // SAFETY: the caller vouches for the factors.
            unsafe { pack::<T::Sum, _, _, _>(self.device, kernel, from, (batch, outer, k)) }
        };
        // The copies are freed after the kernels have run.
        let (_copy_of_a, a) = widen(self.a, m)?;
        let (_copy_of_b, b) = widen(self.b, n)?;
        let wide = Job::<T::Wide> {
            operation: self.operation,
            device: self.device,
            options: self.options,
            a: recast(a),
            b: recast(b),
            c: self.c,
            sizes: self.sizes,
            whole: self.whole,
            section: 0,
            alpha: self.alpha,
            beta: self.beta,
        };
        // SAFETY: the caller vouches for C, and A and B are copies of the same sizes.
        unsafe { wide.run_by(allowed) }
    }

    fn unavailable(&self, reason: &str) -> Error {
        let (device, reason) = (self.device.to_string(), reason.into());
        Error::Unavailable { device, reason }
    }
}
