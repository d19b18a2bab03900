//! The kernels that compute a tile of C per block, each launched directly: what a call chooses
//! depends on the device.

use std::fmt::Debug;

use cuda_std::host::TensorTiles;
use cuda_std::tensor::TensorMap;
use cuda_std::{DeviceParam, DeviceSlice, DeviceSliceMut};
use gridstride::device::{Element, LaunchConfig};
use gridstride::{Device, Number};
use half::{bf16, f16};
use matmul_kernels::*;

use super::kernels::MODULE;
use test_support::{Random, with_kernels};

/// Multiples of 1/64 from -1 to 1: exact in every type, also of 16 bits, and so are sums of fewer
/// than 1024 of their products in f32.
fn random(seed: u64, count: usize) -> Vec<f64> {
    let mut random = Random(seed);
    let number = || (random.state() >> 40) as f64 % 129.0 / 64.0 - 1.0;
    std::iter::repeat_with(number).take(count).collect()
}

/// A batch of matrices in a device's memory: each outer index and k has an element of `numbers`.
struct Matrices<T: Element> {
    elements: gridstride::device::Buffer<T>,
    numbers: Vec<f64>,
    start: usize,
    stride: usize,
    stride_k: usize,
    stride_batch: usize,
}

impl<T: Element> Matrices<T> {
    /// With gaps between rows and between matrices, and elements in front, as far as the pattern
    /// allows.
    fn new(
        device: &Device,
        pattern: Pattern,
        [batch, outer, k]: [usize; 3],
        encode: fn(f64) -> T,
    ) -> Self {
        let piece = 16 / size_of::<T>();
        let (stride, stride_k) = match pattern {
            Pattern::PiecesOfK => (k.next_multiple_of(piece) + piece, 1),
            Pattern::PiecesAcross => (1, outer.next_multiple_of(piece) + piece),
            Pattern::ElementsOfK => (k + 1, 1),
            Pattern::Elements => (2, 2 * outer + 1),
        };
        let matrix = outer * stride + k * stride_k;
        let stride_batch = matrix.next_multiple_of(piece) + piece;
        // Up to the last one: what lies behind is an error of the simulator.
        let last = (batch - 1) * stride_batch + (outer - 1) * stride + (k - 1) * stride_k;
        let numbers = random((outer + 31 * k) as u64, piece + last + 1);
        let encoded: Vec<T> = numbers.iter().copied().map(encode).collect();
        Matrices {
            elements: device.buffer_from(&encoded).unwrap(),
            numbers,
            start: piece,
            stride,
            stride_k,
            stride_batch,
        }
    }

    fn factor(&self) -> Factor<T> {
        let elements: DeviceSlice<T> = self.elements.slice();
        Factor {
            elements,
            start: self.start as i64,
            stride: self.stride as i64,
            stride_k: self.stride_k as i64,
            stride_batch: self.stride_batch as i64,
        }
    }

    /// The tiles of `rows` outer indices and `depth` k, of rows of 128 bytes.
    fn tiles(
        &self,
        pattern: Pattern,
        [outer, k, batch]: [usize; 3],
        rows: u32,
        depth: u32,
    ) -> TensorTiles {
        let size = size_of::<T>();
        let (near, far, stride, tile) = match pattern {
            Pattern::PiecesAcross => (outer, k, self.stride_k, [128 / size as u32, depth, 1]),
            _ => (k, outer, self.stride, [depth, rows, 1]),
        };
        TensorTiles {
            address: self.elements.slice().as_ptr() as u64 + (self.start * size) as u64,
            element_bytes: size as u32,
            lengths: [near as u64, far as u64, batch as u64],
            strides: [stride * size, self.stride_batch * size].map(|bytes| bytes as u64),
            tile,
            is_swizzled: true,
        }
    }

    fn at(&self, batch: usize, outer: usize, k: usize) -> f64 {
        let Matrices {
            start,
            stride,
            stride_k,
            stride_batch,
            ..
        } = *self;
        self.numbers[start + batch * stride_batch + outer * stride + k * stride_k]
    }
}

/// Checks a product with parts of k of `k_part`: every element of every part, without rounding.
fn check<T, S>(
    device: &Device,
    tile: &Tile<T, S>,
    encode: fn(f64) -> T,
    [batch, m, k, n]: [usize; 4],
    k_part: usize,
    beta: f64,
) where
    T: Element + DeviceParam,
    S: Number + DeviceParam + Debug,
{
    let a = Matrices::new(device, tile.a, [batch, m, k], encode);
    let b = Matrices::new(device, tile.b, [batch, n, k], encode);
    let parts = k.div_ceil(k_part);
    let before = random(7, parts * batch * m * n);
    let to_s: Vec<S> = before.iter().copied().map(S::from_f64).collect();
    let mut c = device.buffer_from(&to_s).unwrap();
    let (alpha, beta_s) = (S::from_f64(0.5), S::from_f64(beta));
    let tiles = m.div_ceil(tile.rows as usize) * n.div_ceil(tile.columns as usize);
    let grid = |blocks: usize| match tile.kernel {
        Launch::Block(_) | Launch::Rounding { .. } => (tiles as u32, parts as u32, batch as u32),
        Launch::Persistent { .. } => (blocks as u32, 1, 1),
    };
    // Fewer blocks than tiles, if there are several.
    let blocks = (tiles * parts * batch).div_ceil(2);
    let config = LaunchConfig::new(grid(blocks), tile.threads).with_shared_bytes(tile.shared_bytes);
    // SAFETY: the buffers are those of the product, laid out as the patterns say.
    let launched = unsafe {
        match tile.kernel {
            Launch::Block(kernel) | Launch::Rounding { sums: kernel, .. } => {
                let sizes = [m, k, n];
                let product = of_blocks([&a, &b], c.slice_mut(), sizes, k_part, alpha, beta_s);
                device.launch(&MODULE, kernel, config, (product,))
            }
            Launch::Persistent { sums, .. } => {
                let sizes = [batch, m, k, n];
                let product = persistent(c.slice_mut(), sizes, k_part, alpha, beta_s);
                let [of_a, of_b] = maps(device, tile, [&a, &b], sizes);
                device.launch(&MODULE, sums, config, (of_a, of_b, product))
            }
        }
    };
    launched.unwrap();
    for (place, result) in c.to_vec().unwrap().into_iter().enumerate() {
        let (row, column) = (place / n % m, place % n);
        let (part, matrix) = (place / (n * m) / batch, place / (n * m) % batch);
        let range = part * k_part..k.min((part + 1) * k_part);
        let sum: f64 = range
            .map(|l| a.at(matrix, row, l) * b.at(matrix, column, l))
            .sum();
        let expected = 0.5 * sum + beta * before[place];
        assert_eq!(
            result.to_f64(),
            expected,
            "{device} {} {batch}×{m}×{k}×{n}, parts of {k_part}: {part}, {matrix}, {row}, {column}",
            tile.kernel.name()
        );
    }
}

/// The product of a kernel with a block for each tile.
fn of_blocks<T: Element, C, S>(
    [a, b]: [&Matrices<T>; 2],
    c: DeviceSliceMut<C>,
    [m, k, n]: [usize; 3],
    k_part: usize,
    alpha: S,
    beta: S,
) -> Product<T, S, C> {
    Product {
        a: a.factor(),
        b: b.factor(),
        c,
        m: m as u32,
        n: n as u32,
        k: k as u32,
        k_part: k_part as u32,
        alpha,
        beta,
    }
}

/// The product of a kernel with persistent blocks, of matrices that are all of the batch.
fn persistent<C, S>(
    c: DeviceSliceMut<C>,
    [batch, m, k, n]: [usize; 4],
    k_part: usize,
    alpha: S,
    beta: S,
) -> Persistent<C, S> {
    Persistent {
        c,
        m: m as u32,
        n: n as u32,
        k: k as u32,
        k_part: k_part as u32,
        parts: k.div_ceil(k_part) as u32,
        batch: batch as u32,
        section: 0,
        a_step: 1,
        b_step: 1,
        alpha,
        beta,
    }
}

/// The maps of the tiles of A and B.
fn maps<T: Element, S>(
    device: &Device,
    tile: &Tile<T, S>,
    [a, b]: [&Matrices<T>; 2],
    [batch, m, k, n]: [usize; 4],
) -> [TensorMap; 2] {
    let map = |of: &Matrices<T>, pattern, outer, rows| {
        let tiles = of.tiles(pattern, [outer, k, batch], rows, tile.depth);
        device.tensor_map(&tiles).unwrap()
    };
    [
        map(a, tile.a, m, tile.rows),
        map(b, tile.b, n, tile.columns),
    ]
}

/// Checks the kernel that rounds: exact sums are rounded once.
fn check_rounded(
    device: &Device,
    tile: &Tile<u16, f32>,
    encode: fn(f64) -> u16,
    [batch, m, k, n]: [usize; 4],
    beta: f64,
) {
    let a = Matrices::new(device, tile.a, [batch, m, k], encode);
    let b = Matrices::new(device, tile.b, [batch, n, k], encode);
    let before = random(7, batch * m * n);
    let bits: Vec<u16> = before.iter().copied().map(encode).collect();
    let mut c = device.buffer_from(&bits).unwrap();
    let k_part = k.next_multiple_of(tile.depth as usize);
    let (alpha, beta_s) = (0.5, beta as f32);
    let tiles = m.div_ceil(tile.rows as usize) * n.div_ceil(tile.columns as usize);
    let config = |grid: (u32, u32, u32)| {
        LaunchConfig::new(grid, tile.threads).with_shared_bytes(tile.shared_bytes)
    };
    // SAFETY: the buffers are those of the product, laid out as the patterns say.
    let (name, launched) = unsafe {
        match tile.kernel {
            Launch::Rounding { rounded, .. } => {
                let sizes = [m, k, n];
                let product = of_blocks([&a, &b], c.slice_mut(), sizes, k_part, alpha, beta_s);
                let config = config((tiles as u32, 1, batch as u32));
                let launched = device.launch(&MODULE, rounded, config, (product,));
                (rounded.name(), launched)
            }
            Launch::Persistent {
                rounded: Some(rounded),
                ..
            } => {
                let sizes = [batch, m, k, n];
                let product = persistent(c.slice_mut(), sizes, k_part, alpha, beta_s);
                let [of_a, of_b] = maps(device, tile, [&a, &b], sizes);
                // Fewer blocks than tiles, if there are several.
                let config = config(((tiles * batch).div_ceil(2) as u32, 1, 1));
                let launched = device.launch(&MODULE, rounded, config, (of_a, of_b, product));
                (rounded.name(), launched)
            }
            _ => panic!("{} rounds nothing", tile.kernel.name()),
        }
    };
    launched.unwrap();
    for (place, bits) in c.to_vec().unwrap().into_iter().enumerate() {
        let (matrix, row, column) = (place / (m * n), place / n % m, place % n);
        let products = (0..k).map(|l| a.at(matrix, row, l) * b.at(matrix, column, l));
        let expected = 0.5 * products.sum::<f64>() + beta * before[place];
        // A sum of 0 may have either sign.
        let is_same = bits == encode(expected) || expected == 0.0 && bits << 1 == 0;
        assert!(
            is_same,
            "{device} {name} {batch}×{m}×{k}×{n}: {matrix}, {row}, {column}: {bits:#x} instead of {expected}"
        );
    }
}

/// Checks a family of kernels, with tails in every direction, several tiles, more stages than there
/// are places for, parts and batches.
fn check_all<T, S>(device: &Device, tiles: &[Tile<T, S>], encode: fn(f64) -> T)
where
    T: Element + DeviceParam,
    S: Number + DeviceParam + Debug,
{
    let piece = 16 / size_of::<T>();
    for tile in tiles {
        // What the patterns ask of the lengths.
        let of_outer = |pattern, length: usize| match pattern {
            Pattern::PiecesAcross => length.next_multiple_of(piece),
            _ => length,
        };
        let is_in_pieces = [tile.a, tile.b].contains(&Pattern::PiecesOfK);
        let of_k = |length: usize| match is_in_pieces {
            true => length.next_multiple_of(piece),
            false => length,
        };
        let (rows, columns) = (tile.rows as usize, tile.columns as usize);
        let depth = tile.depth as usize;
        let cases = [
            ([1, 1, 1, 1], depth, 0.0),
            ([2, rows + 1, depth + 1, columns - 3], 2 * depth, 1.0),
            ([1, rows, 6 * depth, columns], 6 * depth, 0.0),
            ([2, 9, 3 * depth - 1, columns + 2], 2 * depth, -2.0),
        ];
        for ([batch, m, k, n], k_part, beta) in cases {
            let (m, n) = (of_outer(tile.a, m), of_outer(tile.b, n));
            check(device, tile, encode, [batch, m, of_k(k), n], k_part, beta);
        }
    }
}

/// Whether a device has instructions of this compute capability.
pub(super) fn has(device: &Device, capability: (u32, u32)) -> bool {
    (device.info().compute_capability).is_some_and(|found| match capability {
        // Those of warp groups are in 9.0 alone.
        (9, 0) => found == capability,
        _ => found >= capability,
    })
}

#[test]
fn tiles_of_multiply_adds_are_exact() {
    for device in with_kernels() {
        check_all(&device, FMA_F32_TINY, |number| number as f32);
        check_all(&device, FMA_F32_SMALL, |number| number as f32);
    }
}

#[test]
fn small_tiles_are_exact() {
    for device in with_kernels().filter(|device| has(device, (8, 0))) {
        check_all(&device, SMALL_F16, |number| f16::from_f64(number).to_bits());
        check_all(&device, SMALL_BF16, |number| {
            bf16::from_f64(number).to_bits()
        });
        check_all(&device, SMALL_TF32, |number| number as f32);
        check_all(&device, TINY_F64, |number| number);
    }
}

/// Checks the kernels of a family that round.
fn check_all_rounded(device: &Device, tiles: &[Tile<u16, f32>], encode: fn(f64) -> u16) {
    for tile in tiles {
        // Multiples of 8 and others, as far as the patterns allow.
        let of_outer = |pattern, length: usize| match pattern {
            Pattern::PiecesAcross => length.next_multiple_of(8),
            _ => length,
        };
        for ([batch, m, k, n], beta) in [
            ([1, 64, 64, 64], 0.0),
            ([2, 65, 72, 130], 0.0),
            ([2, 3, 8, 67], 0.0),
            ([1, 70, 200, 9], -1.0),
        ] {
            let (m, n) = (of_outer(tile.a, m), of_outer(tile.b, n));
            check_rounded(device, tile, encode, [batch, m, k, n], beta);
        }
    }
}

#[test]
fn small_tiles_round_once() {
    for device in with_kernels().filter(|device| has(device, (8, 0))) {
        check_all_rounded(&device, SMALL_F16, |number| f16::from_f64(number).to_bits());
        check_all_rounded(&device, SMALL_BF16, |number| {
            bf16::from_f64(number).to_bits()
        });
    }
}

/// What calls choose for large products on compute capability 8.0 to 8.9, 10 and 12.
#[test]
fn large_tiles_are_exact() {
    for device in with_kernels().filter(|device| has(device, (8, 0))) {
        check_all(&device, HALF_F16, |number| f16::from_f64(number).to_bits());
        check_all(&device, HALF_BF16, |number| {
            bf16::from_f64(number).to_bits()
        });
        check_all(&device, MMA_TF32, |number| number as f32);
    }
    for device in with_kernels().filter(|device| has(device, (9, 0))) {
        check_all(&device, WGMMA_TF32, |number| number as f32);
    }
}

#[test]
fn tiles_with_a_factor_in_registers_are_exact() {
    for device in with_kernels().filter(|device| has(device, (9, 0))) {
        check_all(&device, MIXED_TF32, |number| number as f32);
        check_all(&device, MIXED_TF32_LARGE, |number| number as f32);
    }
}

/// Among them C that is read in pairs, and one by one where its rows have an odd length.
#[test]
fn persistent_tiles_are_exact() {
    for device in with_kernels().filter(|device| has(device, (9, 0))) {
        for tiles in [PERSISTENT_F16, PERSISTENT_F16_NARROW] {
            check_all(&device, tiles, |number| f16::from_f64(number).to_bits());
        }
        for tiles in [PERSISTENT_BF16, PERSISTENT_BF16_NARROW] {
            check_all(&device, tiles, |number| bf16::from_f64(number).to_bits());
        }
    }
}

#[test]
fn persistent_tiles_round_once() {
    for device in with_kernels().filter(|device| has(device, (9, 0))) {
        for tiles in [PERSISTENT_F16, PERSISTENT_F16_NARROW] {
            check_all_rounded(&device, tiles, |number| f16::from_f64(number).to_bits());
        }
        for tiles in [PERSISTENT_BF16, PERSISTENT_BF16_NARROW] {
            check_all_rounded(&device, tiles, |number| bf16::from_f64(number).to_bits());
        }
    }
}
