//! Products by kernels that compute a tile of C per block.

use cuda_std::DeviceSliceMut;
use cuda_std::host::Kernel;
use matmul_kernels::{Factor, Launch, Product};

use super::choice::Choice;
use super::factor::pack;
use super::job::Job;
use super::kernels::{HasKernels, MODULE, Output};
use super::tuning::Cut;
use crate::device::LaunchConfig;
use crate::matmul::element::Scalar;
use crate::matmul::input::Sizes;
use crate::{Error, Result};

/// A kernel with a block for each tile that writes elements `C`.
type BlockKernel<T, C> =
    &'static Kernel<(Product<<T as HasKernels>::Bits, <T as Scalar>::Sum, C>,)>;

impl<T: HasKernels> Job<'_, T> {
    /// Computes the job by a kernel of tiles.
    ///
    /// # Safety
    /// The factors and C are of the device and have the sizes, and nothing else uses C.
    pub unsafe fn run_tiled(&self, choice: &Choice<T>) -> Result<()> {
        let Sizes { batch, m, n, k, .. } = self.sizes;
        let Choice { tile, cut, .. } = *choice;
        let packed = |packs: bool, from: Factor<T::Bits>, outer: usize| {
            let Some(kernel) = T::KERNELS.pack.filter(|_| packs) else {
                return Ok((None, from));
            };
            // SAFETY: the caller vouches for the factor.
            let copy = unsafe { pack(self.device, kernel, from, (batch, outer, k)) };
            copy.map(|(copy, factor)| (Some(copy), factor))
        };
        // The copies are freed after the kernels have run.
        let (_copy_of_a, a) = packed(choice.packs_a, self.a, m)?;
        let (_copy_of_b, b) = packed(choice.packs_b, self.b, n)?;
        let per_matrix = m.div_ceil(tile.rows as usize) * n.div_ceil(tile.columns as usize);
        let too_many = |_| {
            let message = format!("a result of {m}×{n} has more tiles than a grid can have blocks");
            Error::input(self.operation, message)
        };
        let tiles = u32::try_from(per_matrix).map_err(too_many)?;
        let config = LaunchConfig::new((tiles, cut.parts as u32, batch as u32), tile.threads)
            .with_shared_bytes(tile.shared_bytes);
        let of_blocks = |sums: BlockKernel<T, T::Sum>| {
            let launch = |c, alpha, beta| {
                let product = self.product(cut, (a, b), c, alpha, beta);
                // SAFETY: the caller vouches for the memory; the factors fit the patterns.
                unsafe { self.device.launch(MODULE, sums, config, (product,)) }
            };
            // SAFETY: the caller vouches for the memory.
            unsafe { self.in_parts(cut.parts, launch) }
        };
        match (tile.kernel, self.c) {
            (Launch::Block(sums), _) => of_blocks(sums),
            (Launch::Rounding { rounded, .. }, Output::Rounded { c, .. }) if cut.parts == 1 => {
                let product = self.product(cut, (a, b), c, self.alpha, self.beta);
                // SAFETY: the caller vouches for the memory; the factors fit the patterns.
                unsafe { self.device.launch(MODULE, rounded, config, (product,)) }
            }
            (Launch::Rounding { sums, .. }, _) => of_blocks(sums),
            (Launch::Persistent { sums, rounded }, _) => {
                let tiles = i32::try_from(per_matrix * batch * cut.parts).map_err(too_many)?;
                // SAFETY: the caller vouches for the memory; the factors fit the patterns.
                unsafe { self.run_persistent(tile, sums, rounded, cut, tiles, (a, b)) }
            }
        }
    }

    /// Returns the argument of a kernel with a block for each tile and part of k.
    fn product<C>(
        &self,
        cut: Cut,
        (a, b): (Factor<T::Bits>, Factor<T::Bits>),
        c: DeviceSliceMut<C>,
        alpha: T::Sum,
        beta: T::Sum,
    ) -> Product<T::Bits, T::Sum, C> {
        let Sizes { m, n, k, .. } = self.sizes;
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
}
