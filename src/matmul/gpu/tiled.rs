//! Products by kernels that compute a tile of C per block.

use matmul_kernels::{Factor, Launch, Pattern, Product, Tile};

use super::factor::{fits, pack};
use super::job::Job;
use super::kernels::{HasKernels, MODULE, Tiles};
use super::tuning::{self, Cut};
use crate::device::LaunchConfig;
use crate::matmul::input::Sizes;
use crate::matmul::options::Instructions;
use crate::{Error, Result};

/// A kernel, how to split k for it, and which factors to pack first.
pub struct Choice<T: HasKernels> {
    tile: &'static Tile<T::Bits, T::Sum>,
    cut: Cut,
    packs_a: bool,
    packs_b: bool,
}

impl<T: HasKernels> Job<'_, T> {
    /// Returns the fastest kernel by the model, with the packing that it needs; `None` if the
    /// device has too little shared memory for all of them.
    pub fn choose(&self, tiles: &[Tiles<T>], instructions: Instructions) -> Option<Choice<T>> {
        let Sizes { batch, m, n, k } = self.whole;
        let processors = self.device.processors();
        let (size, precision) = (size_of::<T>(), self.options.precision);
        let room = self.device.shared_memory_per_block().unwrap_or(0);
        let needs_packing = |factor: &Factor<T::Bits>, outer, pattern| {
            let can_pack = matches!(pattern, Pattern::PiecesOfK | Pattern::ElementsOfK);
            match fits(factor, outer, k, pattern) {
                true => Some(false),
                false => (can_pack && T::KERNELS.pack.is_some()).then_some(true),
            }
        };
        let choice = |tile: &'static Tile<T::Bits, T::Sum>| {
            let packs_a = needs_packing(&self.a, m, tile.a)?;
            let packs_b = needs_packing(&self.b, n, tile.b)?;
            let rate = tuning::rate(size, precision, instructions, tile.columns);
            let rate = rate.reading(tile.a, tile.b);
            let mut cut = tuning::cut(self.whole, tile, rate, processors);
            for (packs, factor, outer) in [(packs_a, &self.a, m), (packs_b, &self.b, n)] {
                if packs {
                    let copies = if factor.stride_batch == 0 { 1 } else { batch };
                    cut = cut.after_packing(copies * outer * k * size);
                }
            }
            Some(Choice {
                tile,
                cut,
                packs_a,
                packs_b,
            })
        };
        let all = tiles.iter().copied().flatten();
        all.filter(|tile| tile.shared_bytes <= room)
            .filter_map(choice)
            .min_by(|a, b| a.cut.by_time(&b.cut))
    }

    /// Computes the job by a kernel of tiles.
    ///
    /// # Safety
    /// The factors and C are of the device and have the sizes, and nothing else uses C.
    pub unsafe fn run_tiled(&self, choice: &Choice<T>) -> Result<()> {
        let Sizes { batch, m, n, k } = self.sizes;
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
        let kernel = match tile.kernel {
            Launch::Block(kernel) => kernel,
            Launch::Persistent { sums, rounded } => {
                let tiles = i32::try_from(per_matrix * batch * cut.parts).map_err(too_many)?;
                // SAFETY: the caller vouches for the memory; the factors fit the patterns.
                return unsafe { self.run_persistent(tile, sums, rounded, cut, tiles, (a, b)) };
            }
        };
        let tiles = u32::try_from(per_matrix).map_err(too_many)?;
        let config = LaunchConfig::new((tiles, cut.parts as u32, batch as u32), tile.threads)
            .with_shared_bytes(tile.shared_bytes);
        let launch = |c, alpha, beta| {
            let product = Product {
                a,
                b,
                c,
                m: m as u32,
                n: n as u32,
                k: k as u32,
                k_part: cut.k_part as u32,
                alpha,
                beta,
            };
            // SAFETY: the caller vouches for the memory; the factors fit the patterns.
            unsafe { self.device.launch(MODULE, kernel, config, (product,)) }
        };
        // SAFETY: the caller vouches for the memory.
        unsafe { self.in_parts(cut.parts, launch) }
    }
}
