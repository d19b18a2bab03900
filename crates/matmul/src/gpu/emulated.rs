//! Products of f32 as sums of products of bf16: [`Precision::F32ByBf16x6`].
//!
//! Each number is a sum of three terms, of which the second is at most 2⁻⁸ and the third at most
//! 2⁻¹⁶ times the number. Of the nine products of terms of A and B, three are left out, which
//! together are at most 2⁻²² of the product of the numbers. Those that are equally small are summed
//! as one product along a longer k, the smallest first. Persistent blocks sum these and the first
//! 2048 products of first terms in one launch, so that C is read and written less often.
//!
//! [`Precision::F32ByBf16x6`]: crate::Precision::F32ByBf16x6

use std::ops::RangeInclusive;

use cuda_std::DeviceSliceMut;
use cuda_std::host::Kernel;
use gridstride_runtime::device::{Buffer, LaunchConfig};
use gridstride_runtime::{Device, Result};
use matmul_kernels::{Factor, Launch, SECTIONS, SPLIT_THREADS, Splitting, split_blocks};
use num_traits::One;

use super::choice::{Choice, choose};
use super::factor::{ROW_MULTIPLE, is_aligned, recast};
use super::job::Job;
use super::kernels::HasKernels;
use super::tuning::Gpu;
use super::{compute_by, tiled};
use crate::MODULE;
use crate::input::Sizes;
use crate::options::{EMULATED_CHUNK, EMULATED_SUM, Instructions};

/// The k of a stage of persistent blocks, which has no elements of two sections.
const STAGE: usize = 64;

/// Computes a product of sections in one launch; `false` if its fastest kernel cannot.
///
/// # Safety
/// The factors and C are of the device and have the sizes and sections, and nothing else uses C.
unsafe fn compute_sections<T: HasKernels>(
    job: &Job<T>,
    allowed: RangeInclusive<Instructions>,
) -> Result<bool> {
    let families = T::KERNELS.families(job.options.precision, allowed);
    let gpu = Gpu::of(job.device);
    let choice = choose(families, &gpu, job.whole, &job.a, &job.b);
    // A packed copy would not have the sections.
    let has_sections = |choice: &Choice<T>| {
        matches!(choice.tile.kernel, Launch::Persistent { .. })
            && !(choice.packs_a || choice.packs_b)
            && job.section.is_multiple_of(choice.tile.depth as usize)
    };
    let Some(choice) = choice.filter(has_sections) else {
        return Ok(false);
    };
    // SAFETY: by the contract of this function, the factors and C have the sizes of the product.
    unsafe { tiled::compute(job, &choice)? };
    Ok(true)
}

/// Computes a job in chunks of k by the kernels for the terms of the elements, with one of
/// these instructions; `false` if the device has no room for them.
///
/// Sums are added to C with rounding to the nearest, by fused multiply-adds: tensor cores
/// truncate sums, and the errors of longer sums of first terms would add up.
///
/// # Safety
/// The factors and C are of the device and have the sizes, and nothing else uses C.
pub unsafe fn compute<T: HasKernels>(
    job: &Job<T>,
    kernel: &'static Kernel<(Splitting,)>,
    allowed: RangeInclusive<Instructions>,
) -> Result<bool> {
    let Sizes { batch, m, n, k, .. } = job.sizes;
    let multiple = match *allowed.end() {
        Instructions::WarpGroup => STAGE,
        _ => ROW_MULTIPLE,
    };
    let mut beta = job.beta;
    for first in (0..k).step_by(EMULATED_CHUNK) {
        let length = EMULATED_CHUNK.min(k - first);
        let chunk = |from: Factor<T::Bits>, outer, whole, is_left| {
            let from = Factor {
                start: from.start + first as i64 * from.stride_k,
                ..from
            };
            let (lengths, section) = ([batch, outer, length], length.next_multiple_of(multiple));
            // SAFETY: by the contract of this function, the factor has this shape.
            unsafe { split::<T>(job.device, kernel, from, lengths, section, whole, is_left) }
        };
        // Freed after the kernels have run.
        let a = chunk(job.a, m, job.whole.m, true)?;
        let b = chunk(job.b, n, job.whole.n, false)?;
        let section = a.section;
        let product = |[first_of_a, first_of_b]: [usize; 2], k, section, beta| Job::<T::Term> {
            device: job.device,
            options: job.options,
            a: a.starting_at(first_of_a),
            b: b.starting_at(first_of_b),
            c: job.c,
            sizes: Sizes { k, ..job.sizes },
            whole: Sizes { k, ..job.whole },
            section,
            alpha: job.alpha,
            beta,
        };
        let first_sum = EMULATED_SUM.min(section);
        let together = product([0, 0], 5 * section + first_sum, section, beta);
        // SAFETY: by the contract of this function, C has the size of the product; A and B are copies
        // with these sections.
        let are_together = unsafe { compute_sections(&together, allowed.clone())? };
        if are_together {
            beta = T::Sum::one();
        }
        // Third by first terms, second by second and first by third; second by first terms and
        // first by second.
        let small = [
            ([0, section], 3 * section),
            ([section, section], 2 * section),
        ];
        // First by first terms, with infinities and NaN.
        let large = (0..section).step_by(EMULATED_SUM).map(|first| {
            let length = EMULATED_SUM.min(section - first);
            ([3 * section + first, first], length)
        });
        let done = if are_together { small.len() + 1 } else { 0 };
        for (firsts, k) in small.into_iter().chain(large).skip(done) {
            // SAFETY: by the contract of this function, C has the size of the product; A and B are copies
            // with these sections.
            if !unsafe { compute_by(product(firsts, k, 0, beta), allowed.clone())? } {
                return Ok(false);
            }
            beta = T::Sum::one();
        }
    }
    Ok(true)
}
/// The terms of a chunk of a factor.
struct Sections<T: HasKernels> {
    /// Holds the memory.
    _terms: Buffer<T>,
    factor: Factor<T::Bits>,
    /// The length of a section along k, a multiple of [`ROW_MULTIPLE`], with zeros at the end.
    section: usize,
}

impl<T: HasKernels> Sections<T> {
    /// Returns the factor that begins at this k, counted over all sections.
    fn starting_at(&self, k: usize) -> Factor<T::Bits> {
        let start = k as i64 * self.factor.stride_k;
        Factor {
            start,
            ..self.factor
        }
    }
}

/// Splits the elements of a factor, `batch` matrices of `outer` indices and `k`, into terms in
/// sections of this length. A's sections are in reverse. The factor may be a part of one with `whole`
/// outer indices.
///
/// # Safety
/// The factor is in the device's memory.
unsafe fn split<T: HasKernels>(
    device: &Device,
    kernel: &'static Kernel<(Splitting,)>,
    from: Factor<T::Bits>,
    [batch, outer, k]: [usize; 3],
    section: usize,
    whole: usize,
    is_left: bool,
) -> Result<Sections<T::Term>> {
    let is_single = from.stride_batch == 0;
    let batch = if is_single { 1 } else { batch };
    let mut terms = device.alloc::<T::Term>(batch * SECTIONS * outer * section)?;
    // The copy has the order of the factor if its kernels, which are chosen for the whole, then read
    // 16 bytes at a time.
    let is_across = from.stride.unsigned_abs() < from.stride_k.unsigned_abs()
        && is_aligned::<T::Term>(outer as i64)
        && is_aligned::<T::Term>(whole as i64);
    // The axis with contiguous elements comes first: k, or the outer index if `is_across`.
    let order = |along: usize, across: usize| match is_across {
        false => [along, across],
        true => [across, along],
    };
    let [near, far] = order(1, 0).map(|axis| [from.stride, from.stride_k][axis]);
    let matrix = SECTIONS * outer * section;
    let (row, next_section) = match is_across {
        false => (SECTIONS * section, section),
        true => (outer, outer * section),
    };
    let padded = order(section, outer).map(|length| length as u32);
    let to = terms.slice_mut();
    let task = Splitting {
        from: recast(from).elements,
        start: from.start,
        strides: [near, far, from.stride_batch],
        // SAFETY: the same memory, as the bits of terms.
        to: unsafe { DeviceSliceMut::from_raw_parts(to.as_mut_ptr().cast(), to.len()) },
        to_strides: [row, next_section, matrix].map(|stride| stride as u64),
        lengths: order(k, outer).map(|length| length as u32),
        padded,
        is_reversed: u32::from(is_left),
    };
    let config = LaunchConfig::new((split_blocks(padded), 1, batch as u32), SPLIT_THREADS);
    // SAFETY: a block for each tile; the copy has room, and by the contract
    // of this function the factor has this shape.
    unsafe { device.launch(&MODULE, kernel, config, (task,))? };
    let [stride_k, stride] = order(1, row).map(|stride| stride as i64);
    let factor = Factor {
        elements: terms.slice(),
        start: 0,
        stride,
        stride_k,
        stride_batch: if is_single { 0 } else { matrix as i64 },
    };
    Ok(Sections {
        factor: recast(factor),
        _terms: terms,
        section,
    })
}
