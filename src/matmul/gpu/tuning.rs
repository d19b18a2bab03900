//! The choice of a kernel for a product, and of the number of parts of k.
//!
//! The choice has the least time by a simple model: blocks run in waves over the multiprocessors.
//! Each block multiplies at the rate that was measured for its kind of kernel, and takes a fixed
//! time to load and to write a tile. Parts of k are written and added at the speed of memory.

use std::cmp::Ordering;

use matmul_kernels::{Pattern, Tile};

use crate::matmul::input::Sizes;
use crate::matmul::options::{Instructions, Precision};

/// Nanoseconds to launch the packing of a factor, and bytes that it packs in a nanosecond.
const PACKING_START: f64 = 3000.0;
const PACKING_BYTES: f64 = 1400.0;

/// The measured speed of a kind of kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Multiplications and additions that a full multiprocessor computes in a nanosecond.
    pub(super) operations: f64,
    /// Blocks that a multiprocessor runs at once.
    pub(super) blocks: usize,
    /// The share of `operations` that a single block reaches.
    pub(super) alone: f64,
}

impl Rate {
    /// Returns the rate for the patterns of A and B: copies of single elements cost time.
    pub(super) fn reading(self, a: Pattern, b: Pattern) -> Rate {
        let share = |pattern| match pattern {
            Pattern::Elements => 0.87,
            Pattern::ElementsOfK => 0.97,
            Pattern::PiecesOfK | Pattern::PiecesAcross => 1.0,
        };
        Rate {
            operations: self.operations * share(a) * share(b),
            ..self
        }
    }
}

/// How k is cut into parts, and the time by the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// The length of each part but the last: a multiple of the tile's depth.
    pub(super) k_part: usize,
    /// Parts, at least one.
    pub(super) parts: usize,
    nanoseconds: f64,
}

/// Nanoseconds of a block in addition to its multiplications.
const BLOCK_START: f64 = 4000.0;
/// Nanoseconds to launch the addition of parts, and bytes of parts written or read in a nanosecond.
const ADDING_START: f64 = 4000.0;
const ADDING_BYTES: f64 = 2000.0;
/// The most bytes of all parts.
const PARTS_BYTES: usize = 1 << 30;

/// Returns the rate measured on an H100. Other GPUs have other rates, but hardly in another order.
pub(super) fn rate(
    element_bytes: usize,
    precision: Precision,
    instructions: Instructions,
    columns: u32,
) -> Rate {
    let (operations, blocks, alone) = match (element_bytes, instructions) {
        (8, Instructions::Fma) => (200.0, 2, 0.6),
        (8, _) if columns < 128 => (400.0, 2, 0.6),
        (8, _) => (440.0, 1, 1.0),
        (4, _) if precision == Precision::Full && columns < 256 => (280.0, 4, 0.3),
        (4, _) if precision == Precision::Full => (380.0, 1, 1.0),
        (4, Instructions::WarpGroup) => (2800.0, 1, 1.0),
        (4, _) => (850.0, 2, 0.6),
        (_, Instructions::WarpGroup) => (5600.0, 1, 1.0),
        (_, _) => (2500.0, 2, 0.6),
    };
    Rate {
        operations,
        blocks,
        alone,
    }
}

/// Returns the fastest cut of k for these tiles and sums of type `S`.
pub(super) fn cut<T, S>(sizes: Sizes, tile: &Tile<T, S>, rate: Rate, processors: usize) -> Cut {
    let tiles = sizes.m.div_ceil(tile.rows as usize) * sizes.n.div_ceil(tile.columns as usize);
    let blocks = (tiles * sizes.batch) as f64;
    let result_bytes = (sizes.batch * sizes.m * sizes.n) as f64 * size_of::<S>() as f64;
    let depth = tile.depth as usize;
    let cut_into = |wanted: usize| {
        let k_part = sizes.k.div_ceil(wanted).next_multiple_of(depth);
        let parts = sizes.k.div_ceil(k_part);
        let blocks = blocks * parts as f64;
        let full = (processors * rate.blocks) as f64;
        let at_once = (blocks / processors as f64).ceil().min(rate.blocks as f64);
        let operations = 2.0 * f64::from(tile.rows) * f64::from(tile.columns) * k_part as f64;
        let of_block = operations / rate.operations * at_once.max(1.0 / rate.alone) + BLOCK_START;
        let adding = match parts {
            1 => 0.0,
            _ => ADDING_START + (2 * parts + 1) as f64 * result_bytes / ADDING_BYTES,
        };
        Cut {
            k_part,
            parts,
            nanoseconds: (blocks / full).ceil() * of_block + adding,
        }
    };
    let fits = |cut: &Cut| cut.parts == 1 || cut.parts as f64 * result_bytes <= PARTS_BYTES as f64;
    let most = (sizes.k / (4 * depth)).clamp(1, 64);
    let counts = (1..=most).filter(|&parts| parts < 8 || parts % 4 == 0);
    let fastest = counts.map(cut_into).filter(fits).min_by(Cut::by_time);
    fastest.expect("a single part always fits")
}

impl Cut {
    /// Adds the time to pack `bytes` bytes before.
    pub(super) fn after_packing(self, bytes: usize) -> Cut {
        Cut {
            nanoseconds: self.nanoseconds + PACKING_START + bytes as f64 / PACKING_BYTES,
            ..self
        }
    }

    pub(super) fn by_time(&self, other: &Cut) -> Ordering {
        self.nanoseconds.total_cmp(&other.nanoseconds)
    }
}

/// Returns the instructions for a GPU; `None` if its compute capability lacks those `asked` for.
pub(super) fn instructions(
    asked: Instructions,
    compute_capability: (u32, u32),
) -> Option<Instructions> {
    let best = match compute_capability {
        (9, 0) => Instructions::WarpGroup,
        capability if capability >= (8, 0) => Instructions::Warp,
        _ => Instructions::Fma,
    };
    match asked {
        Instructions::Auto => Some(best),
        asked => (asked <= best).then_some(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_of(m: usize, n: usize, k: usize) -> Cut {
        let sizes = Sizes { batch: 1, m, n, k };
        let tile = &matmul_kernels::FMA_F32_LARGE[0];
        let rate = rate(4, Precision::Full, Instructions::Fma, tile.columns);
        cut(sizes, tile, rate, 132)
    }

    #[test]
    fn k_is_cut_where_tiles_are_few() {
        assert_eq!(cut_of(8192, 8192, 8192).parts, 1);
        assert!(cut_of(256, 256, 1 << 20).parts > 16);
        assert_eq!(cut_of(256, 256, 16).parts, 1);
    }

    #[test]
    fn parts_cover_k_in_multiples_of_the_depth() {
        for k in [1, 15, 16, 17, 1000, 4096, 99_999] {
            let cut = cut_of(300, 300, k);
            let depth = matmul_kernels::FMA_F32_LARGE[0].depth as usize;
            assert_eq!(cut.k_part % depth, 0);
            assert!(cut.k_part * cut.parts >= k && cut.k_part * (cut.parts - 1) < k);
        }
    }

    #[test]
    fn instructions_are_those_of_the_capability() {
        use Instructions::{Auto, Fma, Warp, WarpGroup};

        assert_eq!(instructions(Auto, (9, 0)), Some(WarpGroup));
        assert_eq!(instructions(Auto, (10, 0)), Some(Warp));
        assert_eq!(instructions(Warp, (7, 5)), None);
        assert_eq!(instructions(Fma, (9, 0)), Some(Fma));
    }
}
