//! The choice of a kernel of tiles.

use matmul_kernels::{Factor, Pattern};

use super::factor::fits;
use super::kernels::{Family, HasKernels, TileOf};
use super::tuning::{Cut, Gpu};
use crate::input::Sizes;

/// A kernel, how to split k for it, and which factors to pack first.
pub struct Choice<T: HasKernels> {
    pub tile: &'static TileOf<T>,
    pub cut: Cut,
    pub packs_a: bool,
    pub packs_b: bool,
}

/// Returns the fastest kernel by the model for a product of these sizes, with the packing that it
/// needs; `None` if the GPU has too little shared memory for all of them. The factors may be those of
/// a partition: only how they lie in memory counts.
pub fn choose<T: HasKernels>(
    families: impl Iterator<Item = &'static Family<T>>,
    gpu: &Gpu,
    sizes: Sizes,
    a: &Factor<T::Bits>,
    b: &Factor<T::Bits>,
) -> Option<Choice<T>> {
    let Sizes {
        batch,
        m,
        n,
        k,
        singles,
    } = sizes;
    let needs_packing = |factor: &Factor<T::Bits>, outer, pattern| {
        let can_pack = matches!(pattern, Pattern::PiecesOfK | Pattern::ElementsOfK);
        match fits(factor, outer, k, pattern) {
            true => Some(false),
            false => (can_pack && T::KERNELS.pack.is_some()).then_some(true),
        }
    };
    let choice = |(family, tile): (&'static Family<T>, &'static TileOf<T>)| {
        let packs_a = needs_packing(a, m, tile.a)?;
        let packs_b = needs_packing(b, n, tile.b)?;
        let rate = gpu.rate(&family.speed, tile);
        let mut cut = gpu.cut(sizes, tile, rate);
        for (packs, is_single, outer) in [(packs_a, singles[0], m), (packs_b, singles[1], n)] {
            if packs {
                // Not the factor's stride: it may be of a partition with one of many matrices.
                let copies = if is_single { 1 } else { batch };
                // Views whose strides are 0 may have more elements than memory has bytes.
                let elements = copies.saturating_mul(outer).saturating_mul(k);
                cut = cut.after_packing(gpu, elements.saturating_mul(size_of::<T>()));
            }
        }
        Some(Choice {
            tile,
            cut,
            packs_a,
            packs_b,
        })
    };
    families
        .flat_map(|family| family.tiles.iter().map(move |tile| (family, tile)))
        .filter(|(_, tile)| tile.shared_bytes <= gpu.shared_memory_per_block)
        .filter_map(choice)
        .min_by(|a, b| a.cut.by_time(&b.cut))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use cuda_std::DeviceSlice;
    use half::f16;

    use super::*;
    use crate::options::{Instructions, Precision};

    /// Compute capability, multiprocessors, and kilobytes of shared memory of a block: T4, A100,
    /// A40, L40S, H100, B200, RTX 5090.
    const GPUS: [((u32, u32), usize, u32); 7] = [
        ((7, 5), 40, 64),
        ((8, 0), 108, 163),
        ((8, 6), 84, 99),
        ((8, 9), 142, 99),
        ((9, 0), 132, 227),
        ((10, 0), 148, 227),
        ((12, 0), 170, 99),
    ];

    /// Batches and sizes of square products.
    const CASES: [(usize, usize); 11] = [
        (1000, 32),
        (1000, 64),
        (1000, 128),
        (1, 128),
        (1, 256),
        (1, 512),
        (1, 1024),
        (1, 2048),
        (1, 4096),
        (1, 8192),
        (1, 16_384),
    ];

    /// Writes the choices for row-major matrices, with the parts of k; none if A and B are widened
    /// first.
    fn write_choices<T: HasKernels>(table: &mut String, name: &str, precision: Precision) {
        for (capability, processors, kilobytes) in GPUS {
            let gpu = Gpu {
                capability,
                processors,
                shared_memory_per_block: kilobytes << 10,
            };
            for (batch, size) in CASES {
                let sizes = Sizes {
                    batch,
                    m: size,
                    n: size,
                    k: size,
                    singles: [batch == 1; 2],
                };
                let length = size as i64;
                let factor = |stride, stride_k| Factor {
                    // SAFETY: no elements.
                    elements: unsafe { DeviceSlice::from_raw_parts(std::ptr::null(), 0) },
                    start: 0,
                    stride,
                    stride_k,
                    stride_batch: length * length,
                };
                let (a, b) = (factor(length, 1), factor(1, length));
                let choice =
                    (Instructions::Auto.allowed(capability).into_iter()).find_map(|allowed| {
                        let families = T::KERNELS.families(precision, allowed);
                        choose(families, &gpu, sizes, &a, &b)
                    });
                let (major, minor) = capability;
                write!(table, "{name} {major}.{minor} {batch}x{size}: ").unwrap();
                match choice {
                    Some(choice) => {
                        *table += choice.tile.kernel.name();
                        if choice.packs_a || choice.packs_b {
                            *table += " packed";
                        }
                        if choice.cut.parts > 1 {
                            write!(table, " in {} parts", choice.cut.parts).unwrap();
                        }
                    }
                    None => *table += "none",
                }
                *table += "\n";
            }
        }
    }

    /// A partition of one matrix has no stride from matrix to matrix.
    #[test]
    fn a_part_of_a_batch_has_the_kernel_of_the_whole() {
        let gpu = Gpu {
            capability: (9, 0),
            processors: 132,
            shared_memory_per_block: 227 << 10,
        };
        let sizes = Sizes {
            batch: 2,
            m: 513,
            n: 257,
            k: 20_001,
            singles: [false; 2],
        };
        let chosen = |sizes, is_whole: bool| {
            let factor = |stride, stride_k, length| Factor {
                // SAFETY: no elements.
                elements: unsafe { DeviceSlice::from_raw_parts(std::ptr::null(), 0) },
                start: 0,
                stride,
                stride_k,
                stride_batch: if is_whole { length } else { 0 },
            };
            let a = factor(20_001, 1, 513 * 20_001);
            let b = factor(1, 257, 257 * 20_001);
            let instructions = Instructions::Fma..=Instructions::Fma;
            let families = f32::KERNELS.families(Precision::Full, instructions);
            let choice = choose::<f32>(families, &gpu, sizes, &a, &b).unwrap();
            (choice.tile.kernel.name(), choice.cut.parts)
        };
        assert_eq!(chosen(sizes, true), chosen(sizes, false));
        // With factors that are packed once for the batch, another kernel is faster.
        let singles = [true; 2];
        assert_ne!(
            chosen(sizes, true),
            chosen(Sizes { singles, ..sizes }, false)
        );
    }

    #[test]
    fn choices_are_those_of_the_table() {
        let mut table = String::new();
        write_choices::<f32>(&mut table, "f32", Precision::Full);
        write_choices::<f32>(&mut table, "tf32", Precision::Tf32);
        write_choices::<f64>(&mut table, "f64", Precision::Full);
        write_choices::<f16>(&mut table, "f16", Precision::Full);
        let expected = include_str!("choices.txt");
        let changed: Vec<_> = (table.lines().zip(expected.lines()))
            .filter(|(now, before)| now != before)
            .collect();
        assert!(
            table == expected,
            "choices have changed: {changed:#?}; if they are better, write them to choices.txt:\n{table}"
        );
    }
}
