//! A model of the time of a product, for the choice of a kernel and of the number of parts of k.
//!
//! Blocks run in waves over the multiprocessors. Each block multiplies at the speed of its kind of
//! kernel, and takes a fixed time to load and to write a tile. Parts of k are written and added at
//! the speed of memory.

use std::cmp::Ordering;

use gridstride_runtime::Device;
use matmul_kernels::{Launch, Pattern, Tile};

use crate::input::Sizes;

/// Arithmetic units of a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Fused multiply-adds in f32.
    F32,
    /// Fused multiply-adds in f64.
    F64,
    /// Tensor cores in f64.
    F64Tensor,
    /// Tensor cores in tf32.
    Tf32,
    /// Tensor cores in f16 and bf16.
    Half,
}

/// The speed of a family of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// The units that multiply.
    pub units: Units,
    /// Multiply-adds per clock of a full multiprocessor, measured on an H100.
    pub per_clock: f64,
    /// The share of these that a single block reaches.
    pub alone: f64,
    /// The most blocks for which a multiprocessor has registers.
    pub blocks: usize,
    /// Nanoseconds of a block in addition to its multiplications.
    pub start: f64,
}

impl Speed {
    /// Replaces the nanoseconds of a block in addition to its multiplications.
    pub const fn starting_in(self, start: f64) -> Speed {
        Speed { start, ..self }
    }
}

/// Multiply-adds per clock of a multiprocessor's units on compute capability 9.0, in the order of
/// [`Units`].
const H100_UNITS: [f64; 5] = [128.0, 64.0, 128.0, 1024.0, 2048.0];

/// The properties of a GPU that the model uses.
#[derive(Clone, Copy, Debug)]
pub struct Gpu {
    pub capability: (u32, u32),
    pub processors: usize,
    pub shared_memory_per_block: u32,
}

/// A GPU's rates by its compute capability.
struct Rates {
    /// Clocks per nanosecond under load.
    clock: f64,
    /// Bytes of memory that are read or written in a nanosecond.
    bytes: f64,
    /// The most threads of a multiprocessor.
    threads: usize,
    /// Multiply-adds per clock of a multiprocessor's units, in the order of [`Units`].
    units: [f64; 5],
}

impl Gpu {
    pub fn of(device: &Device) -> Gpu {
        Gpu {
            capability: device.compute_capability(),
            processors: device.processors(),
            shared_memory_per_block: device.shared_memory_per_block().unwrap_or(0),
        }
    }

    /// Returns the rates that NVIDIA's programming guide and data sheets give. Memory and clock
    /// differ between the GPUs of a capability, but hardly change which kernel is faster.
    fn rates(&self) -> Rates {
        let (clock, bytes, threads, units) = match self.capability {
            (7, 5) => (1.6, 300.0, 1024, [64.0, 2.0, 0.0, 0.0, 0.0]),
            (..=7, _) => (1.5, 800.0, 2048, [64.0, 32.0, 0.0, 0.0, 0.0]),
            (8, 0) => (1.4, 1600.0, 2048, [64.0, 32.0, 64.0, 512.0, 1024.0]),
            (8, 9) => (2.4, 800.0, 1536, [128.0, 2.0, 2.0, 256.0, 512.0]),
            (8, _) => (1.7, 700.0, 1536, [128.0, 2.0, 2.0, 256.0, 512.0]),
            (9, _) => (1.75, 2800.0, 2048, H100_UNITS),
            (10, _) => (1.9, 7000.0, 2048, [128.0, 64.0, 64.0, 1024.0, 2048.0]),
            (11.., _) => (2.4, 1600.0, 1536, [128.0, 2.0, 2.0, 256.0, 512.0]),
        };
        Rates {
            clock,
            bytes,
            threads,
            units,
        }
    }

    /// Returns the rate of a kernel.
    pub fn rate<T, S>(&self, speed: &Speed, tile: &Tile<T, S>) -> Rate {
        let rates = self.rates();
        // The time of a multiply-add is that in the units, and the rest that was measured.
        let unit = speed.units as usize;
        let rest = 1.0 / speed.per_clock - 1.0 / H100_UNITS[unit];
        let per_clock = 1.0 / (1.0 / rates.units[unit] + rest);
        // Each block takes a kilobyte more; a multiprocessor has one more than a block can have.
        let kilobyte = 1024;
        let shared = (self.shared_memory_per_block + kilobyte) / (tile.shared_bytes + kilobyte);
        let by_threads = rates.threads / tile.threads as usize;
        let blocks = speed.blocks.min(shared as usize).min(by_threads).max(1);
        // Copies of single elements cost time.
        let share = |pattern| match pattern {
            Pattern::Elements => 0.87,
            Pattern::ElementsOfK => 0.97,
            Pattern::PiecesOfK | Pattern::PiecesAcross => 1.0,
        };
        Rate {
            operations: 2.0 * per_clock * rates.clock * share(tile.a) * share(tile.b),
            blocks,
            alone: speed.alone.max(1.0 / blocks as f64),
            start: speed.start,
        }
    }

    /// Returns the fastest cut of k for these tiles and sums of type `S`.
    pub fn cut<T, S>(&self, sizes: Sizes, tile: &Tile<T, S>, rate: Rate) -> Cut {
        let bytes_added = self.rates().bytes * ADDING_SHARE;
        let tiles = sizes.m.div_ceil(tile.rows as usize) * sizes.n.div_ceil(tile.columns as usize);
        let blocks = (tiles * sizes.batch) as f64;
        let result_bytes = (sizes.batch * sizes.m * sizes.n) as f64 * size_of::<S>() as f64;
        let depth = tile.depth as usize;
        let cut_into = |wanted: usize| {
            let k_part = sizes.k.div_ceil(wanted).next_multiple_of(depth);
            let parts = sizes.k.div_ceil(k_part);
            let blocks = blocks * parts as f64;
            let full = (self.processors * rate.blocks) as f64;
            let at_once = (blocks / self.processors as f64).ceil();
            let at_once = at_once.min(rate.blocks as f64);
            let operations = 2.0 * f64::from(tile.rows) * f64::from(tile.columns) * k_part as f64;
            let multiplying = operations / rate.operations * at_once.max(1.0 / rate.alone);
            let adding = match parts {
                1 => 0.0,
                _ => ADDING_START + (2 * parts + 1) as f64 * result_bytes / bytes_added,
            };
            let waves = (blocks / full).ceil();
            let starts = match tile.kernel {
                Launch::Persistent { .. } => {
                    let elements = f64::from(tile.rows) * f64::from(tile.columns);
                    PERSISTENT_START + (waves - 1.0) * (NEXT_TILE + NEXT_ELEMENT * elements)
                }
                _ => waves * rate.start,
            };
            Cut {
                k_part,
                parts,
                nanoseconds: waves * multiplying + starts + adding,
            }
        };
        let fits =
            |cut: &Cut| cut.parts == 1 || cut.parts as f64 * result_bytes <= PARTS_BYTES as f64;
        let most = (sizes.k / (4 * depth)).clamp(1, 64);
        let counts = (1..=most).filter(|&parts| parts < 8 || parts % 4 == 0);
        let fastest = counts.map(cut_into).filter(fits).min_by(Cut::by_time);
        fastest.expect("a single part always fits")
    }
}

/// The speed of a kernel on a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Multiplications and additions that a full multiprocessor computes in a nanosecond.
    operations: f64,
    /// Blocks that a multiprocessor runs at once.
    blocks: usize,
    /// The share of `operations` that a single block reaches.
    alone: f64,
    /// Nanoseconds of a block in addition to its multiplications.
    start: f64,
}

/// The division of k into parts, and its time by the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// The length of each part but the last: a multiple of the tile's depth.
    pub k_part: usize,
    /// Parts, at least one.
    pub parts: usize,
    nanoseconds: f64,
}

/// Nanoseconds of a block in addition to its multiplications, for most kernels.
pub const BLOCK_START: f64 = 4000.0;
/// The same of a persistent block, which first makes its barriers, of each further tile, whose
/// copies go on while sums are written, and of each of its elements: on an H200, 1000 products of
/// 128×128 in 16 bits take 28.6 us by tiles of 64 columns and 32.4 by those of 256.
const PERSISTENT_START: f64 = 4500.0;
const NEXT_TILE: f64 = 400.0;
const NEXT_ELEMENT: f64 = 0.06;
/// Nanoseconds to launch the packing of a factor, and the share of the memory's bandwidth at which
/// it is read.
const PACKING_START: f64 = 3000.0;
const PACKING_SHARE: f64 = 0.5;
/// Nanoseconds to launch the addition of parts, and the share of the memory's bandwidth at which
/// parts are written and read.
const ADDING_START: f64 = 4000.0;
const ADDING_SHARE: f64 = 0.7;
/// The most bytes of all parts.
const PARTS_BYTES: usize = 1 << 30;

impl Cut {
    /// Adds the time to pack `bytes` bytes before.
    pub fn after_packing(self, gpu: &Gpu, bytes: usize) -> Cut {
        let packing = PACKING_START + bytes as f64 / (gpu.rates().bytes * PACKING_SHARE);
        Cut {
            nanoseconds: self.nanoseconds + packing,
            ..self
        }
    }

    pub fn by_time(&self, other: &Cut) -> Ordering {
        self.nanoseconds.total_cmp(&other.nanoseconds)
    }
}

/// The fewest bytes of A, B and C whose copies overlap with kernels. The bus takes 0.6 ms for them,
/// an H200 about 0.2 ms to start the work of all panels.
const OVERLAPPED_BYTES: f64 = 32.0 * 1048576.0;
/// Panels have a multiple of the rows of every tile, so that their tiles are those of the whole.
pub const PANEL_ROWS: usize = 256;
/// The fewest elements of C in a panel: 32 tiles of 128×256.
const PANEL_ELEMENTS: usize = 1 << 20;
/// Four panels are a wave of an H200, and the tiles of one more take the places of those that end.
pub const COMPUTE_STREAMS: usize = 5;
/// The most panels: the first is copied before anything is computed, the last after everything, and
/// the start of each takes a few microseconds.
const MOST_PANELS: usize = 32;

/// Returns the number of panels of rows in which a product's A and C are copied while others are
/// computed, at least 2; `None` if the product is too small for that, or a batch. `sizes_of_elements`
/// are the bytes of an element of A and B, and of C.
pub fn panels(sizes: Sizes, [of_factors, of_c]: [usize; 2]) -> Option<usize> {
    let Sizes { batch, m, n, k, .. } = sizes;
    let bytes =
        |rows: usize, columns: usize, size: usize| rows as f64 * columns as f64 * size as f64;
    let all = bytes(m, k, of_factors) + bytes(k, n, of_factors) + bytes(m, n, of_c);
    if batch != 1 || n < PANEL_ROWS || all < OVERLAPPED_BYTES {
        return None;
    }
    let rows = PANEL_ELEMENTS.div_ceil(n).next_multiple_of(PANEL_ROWS);
    let panels = (m / rows).min(MOST_PANELS);
    (panels >= 2).then_some(panels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes_of(m: usize, n: usize, k: usize) -> Sizes {
        Sizes {
            batch: 1,
            m,
            n,
            k,
            singles: [true; 2],
        }
    }

    fn cut_of(m: usize, n: usize, k: usize) -> Cut {
        let sizes = sizes_of(m, n, k);
        let tile = &matmul_kernels::FMA_F32_LARGE[0];
        let gpu = Gpu {
            capability: (9, 0),
            processors: 132,
            shared_memory_per_block: 227 << 10,
        };
        let speed = Speed {
            units: Units::F32,
            per_clock: 108.0,
            alone: 1.0,
            blocks: 1,
            start: BLOCK_START,
        };
        gpu.cut(sizes, tile, gpu.rate(&speed, tile))
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
    fn panels_are_for_large_products() {
        let panels = |m, n, k, element| {
            let sizes = sizes_of(m, n, k);
            panels(sizes, [element; 2])
        };
        assert_eq!(panels(4096, 4096, 4096, 4), Some(16));
        assert_eq!(panels(16_384, 16_384, 16_384, 8), Some(32));
        assert_eq!(panels(2048, 2048, 2048, 4), Some(4));
        // A panel has at least a million elements of C.
        assert_eq!(panels(4096, 1024, 4096, 4), Some(4));
        assert_eq!(panels(100_000, 300, 100, 4), Some(27));
        // Few bytes, few columns, a single panel, and sizes whose product overflows.
        assert_eq!(panels(1024, 1024, 1024, 8), None);
        assert_eq!(panels(100_000_000, 8, 8, 8), None);
        assert_eq!(panels(300, 100_000, 4096, 2), None);
        assert_eq!(panels(usize::MAX, usize::MAX, 1, 2), Some(32));
        let batch = Sizes {
            batch: 2,
            singles: [false; 2],
            ..sizes_of(4096, 4096, 4096)
        };
        assert_eq!(super::panels(batch, [4; 2]), None);
    }
}
