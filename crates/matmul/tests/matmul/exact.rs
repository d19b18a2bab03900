//! Every kernel of tiles with exact products, launched directly: which of them a call takes depends
//! on sizes and devices.

use cuda_std::DeviceParam;
use gridstride::device::LaunchConfig;
use gridstride::matmul::{Instructions, MatMul};
use gridstride::{Device, Number};
use matmul_kernels::{
    FMA_F32_LARGE, FMA_F32_SMALL, FMA_F64, Launch, MMA_F64, MMA_F64_MEDIUM, MMA_F64_SMALL, Pattern,
    Product, Tile,
};

use super::has_instructions;
use super::kernels::{Layout, MODULE, factor, length, place, random, unit};
use test_support::{gamma, with_kernels};

#[derive(Clone, Copy, Debug)]
struct Case {
    m: usize,
    n: usize,
    k: usize,
    /// The length of the parts of k.
    part: usize,
    batch: usize,
    beta: f64,
}

/// Whole tiles, tiles that end after one vector or miss the last one, more k than the stages have
/// room for, parts of k, no k, and batches.
fn cases<T>(tile: &Tile<T, T>) -> [Case; 5] {
    let [rows, columns, depth] = [tile.rows, tile.columns, tile.depth].map(|size| size as usize);
    let vector = 16 / size_of::<T>();
    let case = |m, n, k, part, batch, beta| Case {
        m,
        n,
        k,
        part,
        batch,
        beta,
    };
    [
        case(rows, columns, 7 * depth, 7 * depth, 1, 0.0),
        case(vector, vector, vector, depth, 2, 0.5),
        case(
            rows + vector,
            columns - vector,
            2 * depth - vector,
            depth,
            1,
            0.0,
        ),
        case(
            rows - vector,
            columns + vector,
            3 * depth + vector,
            2 * depth,
            2,
            -1.0,
        ),
        case(2 * vector, columns, 0, depth, 1, 0.5),
    ]
}

/// Where a factor lies that a kernel with this pattern can read.
fn layout(pattern: Pattern, vector: usize, outer: usize, k: usize) -> Layout {
    let (vector, outer, k) = (vector as i64, outer as i64, k as i64);
    match pattern {
        // Neither is next to each other, and the outer indices are in reverse.
        Pattern::Elements => {
            let stride = 2 * k + 1;
            [(outer - 1) * stride, -stride, 2, outer * stride + 1]
        }
        Pattern::ElementsOfK => [1, k + 1, 1, outer * (k + 1) + 3],
        Pattern::PiecesOfK => [vector, k + vector, 1, outer * (k + vector)],
        Pattern::PiecesAcross => [vector, 1, outer + vector, k * (outer + vector) + vector],
    }
}

fn check<T: Number + DeviceParam>(device: &Device, tile: &Tile<T, T>, case: Case) {
    let Case { m, n, k, batch, .. } = case;
    let vector = 16 / size_of::<T>();
    let (a_layout, b_layout) = (layout(tile.a, vector, m, k), layout(tile.b, vector, n, k));
    let parts = k.div_ceil(case.part).max(1);
    let a = random(1, length(a_layout, [batch, m, k]));
    let b = random(2, length(b_layout, [batch, n, k]));
    let before = random(3, parts * batch * m * n);
    let upload = |values: &[f64]| {
        let values: Vec<T> = values.iter().copied().map(T::from_f64).collect();
        device.buffer_from(&values).unwrap()
    };
    let (a_buffer, b_buffer, mut c) = (upload(&a), upload(&b), upload(&before));
    let alpha = 0.75;
    let product = Product {
        a: factor(a_buffer.slice(), a_layout),
        b: factor(b_buffer.slice(), b_layout),
        c: c.slice_mut(),
        m: m as u32,
        n: n as u32,
        k: k as u32,
        k_part: case.part as u32,
        alpha: T::from_f64(alpha),
        beta: T::from_f64(case.beta),
    };
    let tiles = m.div_ceil(tile.rows as usize) * n.div_ceil(tile.columns as usize);
    let config = LaunchConfig::new((tiles as u32, parts as u32, batch as u32), tile.threads)
        .with_shared_bytes(tile.shared_bytes);
    let Launch::Block(kernel) = tile.kernel else {
        panic!("kernels of exact products launch a block for each tile");
    };
    // SAFETY: the buffers are those of the product, and the layouts fit the patterns.
    unsafe { device.launch(&MODULE, kernel, config, (product,)) }.unwrap();
    let after = c.to_vec().unwrap();
    for (at, result) in after.into_iter().enumerate() {
        let (i, j) = (at / n % m, at % n);
        let (matrix, part) = (at / (m * n) % batch, at / (m * n * batch));
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for l in part * case.part..k.min((part + 1) * case.part) {
            let product = a[place(a_layout, matrix, i, l)] * b[place(b_layout, matrix, j, l)];
            sum += product;
            magnitude += product.abs();
        }
        let old = case.beta * before[at];
        let expected = alpha * sum + old;
        // A sum has at most k roundings, alpha and beta have three, and the reference, whose
        // roundings are no larger, has as many.
        let bound = gamma(2 * k + 6, unit::<T>()) * (magnitude + old.abs());
        let difference = (result.to_f64() - expected).abs();
        assert!(
            difference <= bound,
            "{device} {:?} {case:?}: part {part}, matrix {matrix}, row {i}, column {j}: {} instead \
             of {expected}",
            tile.kernel,
            result.to_f64(),
        );
    }
}

fn every_kernel<T: Number + DeviceParam>(instructions: Instructions, tiles: &[Tile<T, T>]) {
    let with = MatMul::new().instructions(instructions);
    for device in with_kernels().filter(|device| has_instructions(device, with)) {
        let room = device.info().shared_memory_per_block.unwrap();
        for tile in tiles.iter().filter(|tile| tile.shared_bytes <= room) {
            for case in cases(tile) {
                check(&device, tile, case);
            }
        }
    }
}

macro_rules! tables {
    ($($test:ident: $instructions:ident $table:ident;)*) => {$(
        #[test]
        fn $test() {
            every_kernel(Instructions::$instructions, $table);
        }
    )*};
}

tables! {
    fma_f32_large: Fma FMA_F32_LARGE;
    fma_f32_small: Fma FMA_F32_SMALL;
    fma_f64: Fma FMA_F64;
    mma_f64: Warp MMA_F64;
    mma_f64_medium: Warp MMA_F64_MEDIUM;
    mma_f64_small: Warp MMA_F64_SMALL;
}
