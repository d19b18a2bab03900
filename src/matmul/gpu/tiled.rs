//! Products by kernels whose blocks compute a tile of C each.

use matmul_kernels::{Factor, Pattern, Product, Tile};

use super::factor::fits;
use super::job::Job;
use super::kernels::MODULE;
use super::kernels::{HasKernels, Tiles};
use super::pack::{Packed, pack};
use super::tuning::{self, Cut, TileSizes};
use crate::device::LaunchConfig;
use crate::matmul::input::Sizes;
use crate::matmul::options::Instructions;
use crate::{Error, Result};

/// A kernel, how k is split for it, and which factors are packed first.
pub struct Choice<T: HasKernels> {
    tile: &'static Tile<T::Bits, T::Sum>,
    cut: Cut,
    packs_a: bool,
    packs_b: bool,
}

impl<T: HasKernels> Job<'_, T> {
    /// Returns the kernel that is expected to be the fastest, with the packing that it needs; `None` if the device has no
    /// room for any.
    pub fn choose(&self, tiles: &[Tiles<T>], instructions: Instructions) -> Option<Choice<T>> {
        let Sizes { batch, m, n, k } = self.whole;
        let processors = self.device.processors();
        let (size, precision) = (size_of::<T>(), self.options.precision);
        let room = self.device.shared_memory_per_block().unwrap_or(0);
        let mut best: Option<Choice<T>> = None;
        let all = tiles.iter().copied().flatten();
        for tile in all.filter(|tile| tile.shared_bytes <= room) {
            let packs_a = !fits(&self.a, m, k, tile.a);
            let packs_b = !fits(&self.b, n, k, tile.b);
            let can_pack = |pattern| {
                T::KERNELS.pack.is_some()
                    && matches!(pattern, Pattern::PiecesOfK | Pattern::ElementsOfK)
            };
            if packs_a && !can_pack(tile.a) || packs_b && !can_pack(tile.b) {
                continue;
            }
            let rate =
                tuning::rate(size, precision, instructions, tile.columns).reading(tile.a, tile.b);
            let tile_sizes = TileSizes {
                rows: tile.rows,
                columns: tile.columns,
                depth: tile.depth,
            };
            let mut cut = tuning::cut(
                self.whole,
                tile_sizes,
                rate,
                processors,
                size_of::<T::Sum>(),
            );
            for (packs, factor, outer) in [(packs_a, &self.a, m), (packs_b, &self.b, n)] {
                if packs {
                    let copies = if factor.stride_batch == 0 { 1 } else { batch };
                    cut = cut.after_packing(copies * outer * k * size);
                }
            }
            if best
                .as_ref()
                .is_none_or(|best| cut.is_faster_than(&best.cut))
            {
                best = Some(Choice {
                    tile,
                    cut,
                    packs_a,
                    packs_b,
                });
            }
        }
        best
    }

    /// Computes the job by a kernel of tiles.
    ///
    /// # Safety
    /// The factors and C are of the device and have the sizes, and nothing else uses C.
    pub unsafe fn run_tiled(&self, choice: &Choice<T>) -> Result<()> {
        let Sizes { batch, m, n, k } = self.sizes;
        let (mut a, mut b) = (None, None);
        // SAFETY: the factors are there.
        unsafe {
            if choice.packs_a {
                a = pack::<T>(self.device, self.a, (batch, m, k))?;
            }
            if choice.packs_b {
                b = pack::<T>(self.device, self.b, (batch, n, k))?;
            }
        }
        let factors = (
            a.as_ref().map_or(self.a, Packed::factor),
            b.as_ref().map_or(self.b, Packed::factor),
        );
        // SAFETY: passed on to the caller. Copies are freed after the kernels have run.
        unsafe { self.launch(choice, factors) }
    }

    /// # Safety
    /// As of [`run_tiled`](Self::run_tiled); the factors, or their copies, fit the kernel's patterns.
    unsafe fn launch(
        &self,
        choice: &Choice<T>,
        (a, b): (Factor<T::Bits>, Factor<T::Bits>),
    ) -> Result<()> {
        let (Cut { k_part, parts, .. }, tile) = (choice.cut, choice.tile);
        let Sizes { batch, m, n, k } = self.sizes;
        let tiles = m.div_ceil(tile.rows as usize) * n.div_ceil(tile.columns as usize);
        let tiles = u32::try_from(tiles).map_err(|_| {
            let message = format!("a result of {m}×{n} has more tiles than a grid can have blocks");
            Error::input(self.operation, message)
        })?;
        let config = LaunchConfig::new((tiles, parts as u32, batch as u32), tile.threads)
            .with_shared_bytes(tile.shared_bytes);
        let launch = |c, alpha, beta| {
            let product = Product {
                a,
                b,
                c,
                m: m as u32,
                n: n as u32,
                k: k as u32,
                k_part: k_part as u32,
                alpha,
                beta,
            };
            // SAFETY: passed on to the caller.
            unsafe { self.device.launch(MODULE, tile.kernel, config, (product,)) }
        };
        // SAFETY: passed on to the caller.
        unsafe { self.in_parts(parts, launch) }
    }
}
