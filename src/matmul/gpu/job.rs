//! The work of one launch, or of a few consecutive ones.

use cuda_std::DeviceSliceMut;
use matmul_kernels::{Factor, Parts};
use num_traits::{One, Zero};

use super::kernels::{HasKernels, MODULE, Output};
use crate::device::{Buffer, LaunchConfig};
use crate::matmul::input::Sizes;
use crate::matmul::options::MatMul;
use crate::{Device, Result};

/// A product of at most [`MAX_BATCH`](super::MAX_BATCH) matrices in a device's memory.
#[derive(Clone, Copy)]
pub struct Job<'a, T: HasKernels> {
    /// The public operation, for errors.
    pub operation: &'static str,
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

impl<T: HasKernels> Job<'_, T> {
    /// Computes the job by a kernel that sums `parts` parts of k, which are added afterwards if
    /// there are several or C is rounded. `launch` gets C, or memory for the parts, each as large as C, and the
    /// alpha and beta for the kernel.
    ///
    /// # Safety
    /// The factors and C are of the device and have the sizes, nothing else uses C, and the kernel
    /// writes to the memory that `launch` gets.
    pub unsafe fn in_parts(
        &self,
        parts: usize,
        launch: impl FnOnce(DeviceSliceMut<T::Sum>, T::Sum, T::Sum) -> Result<()>,
    ) -> Result<()> {
        if let Output::Sums(c) = self.c
            && parts == 1
        {
            return launch(c, self.alpha, self.beta);
        }
        let mut sums = self.device.alloc(parts * self.c.len())?;
        launch(sums.slice_mut(), T::Sum::one(), T::Sum::zero())?;
        // SAFETY: the caller vouches for C; the parts are freed after the kernels have run.
        unsafe { self.add_parts(&sums, parts, self.alpha) }
    }

    /// Computes C = alpha · the sum of `count` parts + beta·C.
    ///
    /// # Safety
    /// C is of the device, with as many elements as each part, and nothing else uses it.
    pub unsafe fn add_parts(
        &self,
        parts: &Buffer<T::Sum>,
        count: usize,
        alpha: T::Sum,
    ) -> Result<()> {
        let blocks = LaunchConfig::for_len(self.c.len(), ADDING_THREADS).grid.x;
        let config = LaunchConfig::new(blocks.min(ADDING_BLOCKS), ADDING_THREADS);
        let (parts, beta, count) = (parts.slice(), self.beta, count as u32);
        // SAFETY: the caller vouches for C and the parts.
        unsafe {
            match self.c {
                Output::Sums(c) => {
                    let task = Parts {
                        parts,
                        c,
                        alpha,
                        beta,
                        count,
                    };
                    (self.device).launch(MODULE, T::KERNELS.add_parts, config, (task,))
                }
                Output::Rounded { c, add_parts } => {
                    let task = Parts {
                        parts,
                        c,
                        alpha,
                        beta,
                        count,
                    };
                    self.device.launch(MODULE, add_parts, config, (task,))
                }
            }
        }
    }
}
