//! The work of one launch, or of a few consecutive ones.

use cuda_std::DeviceSliceMut;
use gridstride_runtime::device::{Buffer, Element, LaunchConfig};
use gridstride_runtime::{Device, Result};
use matmul_kernels::{Factor, Parts};
use num_traits::{One, Zero};

use super::kernels::{HasKernels, Output};
use crate::MODULE;
use crate::input::Sizes;
use crate::options::MatMul;

/// A product of at most [`MAX_BATCH`](super::MAX_BATCH) matrices in a device's memory.
#[derive(Clone, Copy)]
pub struct Job<'a, T: HasKernels> {
    pub device: &'a Device,
    pub options: MatMul,
    pub a: Factor<T::Bits>,
    pub b: Factor<T::Bits>,
    pub c: Output<T::Sum>,
    pub sizes: Sizes,
    /// The sizes of the whole product. They decide on the kernel, whatever the partitions.
    pub whole: Sizes,
    /// The length of a section if A and B are split into [terms](super::emulated) and one launch
    /// sums all products; `sizes.k` then counts the products of all sections. Otherwise 0.
    pub section: usize,
    pub alpha: T::Sum,
    pub beta: T::Sum,
}

/// Threads of a block that adds parts.
const ADDING_THREADS: u32 = 256;
/// The most blocks that add parts, with a stride.
const ADDING_BLOCKS: u32 = 2048;

/// The target of a kernel: C, or memory for the parts of k, each as large as C.
pub struct Target<S: Element> {
    pub c: DeviceSliceMut<S>,
    /// The alpha and beta for the kernel.
    pub alpha: S,
    pub beta: S,
    parts: Option<Buffer<S>>,
}

impl<T: HasKernels> Job<'_, T> {
    /// Returns where a kernel writes its sums of `parts` parts of k: not to C if there are several
    /// or C is rounded.
    pub fn target(&self, parts: usize) -> Result<Target<T::Sum>> {
        if let Output::Sums(c) = self.c
            && parts == 1
        {
            return Ok(Target {
                c,
                alpha: self.alpha,
                beta: self.beta,
                parts: None,
            });
        }
        let mut sums = self.device.alloc(parts * self.c.len())?;
        Ok(Target {
            c: sums.slice_mut(),
            alpha: T::Sum::one(),
            beta: T::Sum::zero(),
            parts: Some(sums),
        })
    }

    /// Adds the parts of k to C, if the kernel has not written to C.
    ///
    /// # Safety
    /// C is of the device, nothing else uses it, and a kernel writes to the target, which was made
    /// for so many parts.
    pub unsafe fn finish(&self, target: Target<T::Sum>, parts: usize) -> Result<()> {
        let Some(sums) = target.parts else {
            return Ok(());
        };
        // SAFETY: C is of the device, and nothing else uses it; the parts, each as large as C, are
        // freed after the kernel has run.
        unsafe { add_parts::<T>(self.device, self.c, &sums, parts, self.alpha, self.beta) }
    }
}

/// Computes C = alpha · the sum of `count` parts + beta·C.
///
/// # Safety
/// C is of the device, with as many elements as each part, and nothing else uses it.
pub unsafe fn add_parts<T: HasKernels>(
    device: &Device,
    c: Output<T::Sum>,
    parts: &Buffer<T::Sum>,
    count: usize,
    alpha: T::Sum,
    beta: T::Sum,
) -> Result<()> {
    let blocks = LaunchConfig::for_len(c.len(), ADDING_THREADS).grid.x;
    let config = LaunchConfig::new(blocks.min(ADDING_BLOCKS), ADDING_THREADS);
    let (parts, count) = (parts.slice(), count as u32);
    // SAFETY: C and the parts are of the device, each part has as many elements as C, and nothing
    // else uses C.
    unsafe {
        match c {
            Output::Sums(c) => {
                let task = Parts {
                    parts,
                    c,
                    alpha,
                    beta,
                    count,
                };
                device.launch(&MODULE, T::KERNELS.add_parts, config, (task,))
            }
            Output::Rounded { c, add_parts } => {
                let task = Parts {
                    parts,
                    c,
                    alpha,
                    beta,
                    count,
                };
                device.launch(&MODULE, add_parts, config, (task,))
            }
        }
    }
}
