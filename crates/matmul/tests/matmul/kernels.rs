//! The kernels other than the products of large tiles: thin factors, sums of parts of k, and
//! copies.

use cuda_std::host::Kernel;
use cuda_std::{DeviceParam, DeviceSlice};
use gridstride::Device;
use gridstride::Number;
use gridstride::device::{Element, LaunchConfig, Module};
use half::{bf16, f16};
use matmul_kernels::*;

use super::tiles::has;
use test_support::{Random, gamma, module, with_kernels};

pub static MODULE: Module = module!("matmul", "ptx/matmul", "sm_70", "sm_80", "sm_90a");

/// Numbers without a pattern, from -1 to 1 and exact in f32.
pub fn random(seed: u64, count: usize) -> Vec<f64> {
    let mut random = Random(seed);
    let number = || (random.state() >> 40) as f64 / (1 << 23) as f64 - 1.0;
    std::iter::repeat_with(number).take(count).collect()
}

/// Returns the unit roundoff.
pub(super) fn unit<T: Number>() -> f64 {
    match size_of::<T>() {
        4 => f64::from(f32::EPSILON) / 2.0,
        _ => f64::EPSILON / 2.0,
    }
}

/// Where a batch of matrices lies: start, and the strides of the outer index, of k and of the
/// batch.
pub(super) type Layout = [i64; 4];

pub(super) fn place(layout: Layout, batch: usize, outer: usize, k: usize) -> usize {
    let [start, stride, stride_k, stride_batch] = layout;
    (start + batch as i64 * stride_batch + outer as i64 * stride + k as i64 * stride_k) as usize
}

pub(super) fn factor<T>(
    elements: DeviceSlice<T>,
    [start, stride, stride_k, stride_batch]: Layout,
) -> Factor<T> {
    Factor {
        elements,
        start,
        stride,
        stride_k,
        stride_batch,
    }
}

/// Elements up to the last one: what lies behind is an error of the simulator.
pub(super) fn length(layout: Layout, [batch, outer, k]: [usize; 3]) -> usize {
    let mut last = layout[0];
    for (stride, count) in [(layout[1], outer), (layout[2], k), (layout[3], batch)] {
        last += (stride * (count.max(1) as i64 - 1)).max(0);
    }
    last as usize + 1
}

/// The kernels for thin factors.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Multiply-adds.
    Ring,
    /// The same with one column.
    Vector,
    /// Matrix instructions.
    Thin,
}

#[derive(Clone, Copy, Debug)]
struct Form {
    kind: Kind,
    is_across: bool,
    is_any: bool,
    columns: u32,
}

impl Form {
    /// Returns what parts of k are multiples of.
    fn step(self, size: u32) -> u32 {
        match self.kind {
            Kind::Ring => skinny_k_step(self.is_across, size),
            // What the threads of a block read at once.
            Kind::Vector if !self.is_across => VECTOR_THREADS * 16 / size,
            Kind::Vector => skinny_k_step(true, size),
            Kind::Thin => THIN_K_STEP,
        }
    }

    fn tile(self, size: u32) -> usize {
        let rows = match self.kind {
            Kind::Ring => skinny_rows(self.is_across, size),
            Kind::Vector => vector_rows(self.is_across, size),
            Kind::Thin => thin_rows(self.is_across),
        };
        rows as usize
    }

    /// Returns the blocks for `rows` rows if there may be `blocks`, and the bytes of shared memory.
    fn launch(self, size: u32, blocks: u32, product: [u32; 4]) -> (u32, u32) {
        let [rows, columns, k_part, chunk] = product;
        match self.kind {
            Kind::Ring => {
                let bytes = skinny_shared_bytes(self.is_across, size, self.columns, chunk);
                (blocks, bytes)
            }
            Kind::Vector => (rows.div_ceil(vector_rows(self.is_across, size)), 0),
            Kind::Thin => (blocks, thin_shared_bytes(columns, k_part)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    rows: usize,
    columns: usize,
    k: usize,
    /// Parts of k in steps, and chunks of it.
    part: usize,
    chunk: usize,
    batch: usize,
    blocks: u32,
    beta: f64,
    /// Whether a row of C lies across memory.
    is_turned: bool,
    tall: Layout,
    thin: Layout,
}

fn check<T: Number + DeviceParam>(
    device: &Device,
    kernel: &Kernel<(Skinny<T>,)>,
    form: Form,
    case: Case,
) {
    check_of(device, kernel, form, case, T::from_f64, T::to_f64);
}

/// As [`check`], of factors with elements of another type than the sums.
fn check_of<B: Element + DeviceParam, T: Number + DeviceParam>(
    device: &Device,
    kernel: &Kernel<(Skinny<B, T>,)>,
    form: Form,
    case: Case,
    rounded: impl Fn(f64) -> B,
    value: impl Fn(B) -> f64,
) {
    let [rows, columns, k, batch] = [case.rows, case.columns, case.k, case.batch];
    let size = size_of::<B>() as u32;
    let step = form.step(size) as usize;
    let k_part = case.part * step;
    let parts = k.div_ceil(k_part).max(1);
    let to_t = |values: Vec<f64>| -> Vec<T> { values.into_iter().map(T::from_f64).collect() };
    let elements =
        |seed, length| -> Vec<B> { random(seed, length).into_iter().map(&rounded).collect() };
    let tall = elements(1, length(case.tall, [batch, rows, k]));
    let thin = elements(2, length(case.thin, [batch, columns, k]));
    let before = random(3, parts * batch * rows * columns);
    let (c_stride, c_stride_thin) = match case.is_turned {
        true => (1, rows),
        false => (columns, 1),
    };
    let tall_buffer = device.buffer_from(&tall).unwrap();
    let thin_buffer = device.buffer_from(&thin).unwrap();
    let mut c = device.buffer_from(&to_t(before.clone())).unwrap();
    let alpha = 0.75;
    let chunk = (case.chunk * step) as u32;
    let product = Skinny {
        tall: factor(tall_buffer.slice(), case.tall),
        thin: factor(thin_buffer.slice(), case.thin),
        c: c.slice_mut(),
        c_start: 0,
        c_stride: c_stride as i64,
        c_stride_thin: c_stride_thin as i64,
        c_stride_batch: (rows * columns) as i64,
        c_stride_part: (batch * rows * columns) as i64,
        alpha: T::from_f64(alpha),
        beta: T::from_f64(case.beta),
        rows: rows as u32,
        columns: columns as u32,
        k: k as u32,
        k_part: k_part as u32,
        k_chunk: chunk,
    };
    const { assert!(SKINNY_THREADS == VECTOR_THREADS) };
    let sizes = [rows as u32, columns as u32, k_part as u32, chunk];
    let (blocks, shared_bytes) = form.launch(size, case.blocks, sizes);
    let config = LaunchConfig::new((blocks, parts as u32, batch as u32), SKINNY_THREADS)
        .with_shared_bytes(shared_bytes);
    // SAFETY: the buffers are those of the product.
    unsafe { device.launch(&MODULE, kernel, config, (product,)) }.unwrap();
    let after = c.to_vec().unwrap();
    for part in 0..parts {
        for b in 0..batch {
            for i in 0..rows {
                for j in 0..columns {
                    let (mut sum, mut magnitude) = (0.0, 0.0);
                    for l in part * k_part..k.min((part + 1) * k_part) {
                        let product = value(tall[place(case.tall, b, i, l)])
                            * value(thin[place(case.thin, b, j, l)]);
                        sum += product;
                        magnitude += product.abs();
                    }
                    let at = (part * batch + b) * rows * columns + i * c_stride + j * c_stride_thin;
                    let old = case.beta * before[at];
                    let expected = alpha * sum + old;
                    let bound = gamma(k + 8, unit::<T>()) * (magnitude + old.abs());
                    let difference = (after[at].to_f64() - expected).abs();
                    assert!(
                        difference <= bound,
                        "{device} {kernel:?} {case:?}: part {part}, matrix {b}, row {i}, column {j}: \
                         {} instead of {expected}",
                        after[at].to_f64()
                    );
                }
            }
        }
    }
}

/// Cases for a kernel: tails in every direction, several tiles a block, parts and chunks of k,
/// batches.
fn cases(form: Form, size: u32) -> Vec<Case> {
    let vector = if form.is_any { 1 } else { 16 / size as usize };
    let (tile, step) = (form.tile(size), form.step(size) as usize);
    let all = form.columns as usize;
    let shapes = [
        // rows, columns, k, part, chunk, batch, blocks, beta, turned
        (1, 1, 1, 1, 1, 1, 1, 0.0, false),
        (tile + 5, all, 3 * step - 3, 3, 3, 1, 1, 0.0, false),
        (2 * tile + 1, all, 5 * step + 1, 6, 2, 2, 2, 0.5, true),
        (tile - 3, all.div_ceil(2), 4 * step, 2, 1, 2, 3, -1.0, false),
        (37, all, 0, 1, 1, 1, 1, 0.5, false),
        // More tiles than a block has warps.
        (9 * tile + 3, all, step + 3, 2, 1, 1, 1, 0.0, true),
    ];
    let mut cases = Vec::new();
    for (index, (rows, columns, k, part, chunk, batch, blocks, beta, is_turned)) in
        shapes.into_iter().enumerate()
    {
        let (outer, k_i) = (rows as i64, k as i64);
        let up = |count: i64| (count as u64 + 1).next_multiple_of(vector as u64) as i64;
        let tall = match (form.is_any, form.is_across, index % 3) {
            // Neither is next to each other, and the rows are in reverse.
            (true, _, 0) => {
                let stride = 2 * k_i + 1;
                [(outer - 1) * stride, -stride, 2, outer * stride + 1]
            }
            (_, false, _) => {
                let stride = up(k_i);
                [vector as i64, stride, 1, up(outer * stride)]
            }
            (_, true, _) => {
                let stride = up(outer);
                [vector as i64, 1, stride, up(k_i * stride)]
            }
        };
        let thin = match (form.kind, index) {
            // Read 16 bytes at a time.
            (Kind::Vector, 2..4) => [vector as i64, k_i + 2, 1, 0],
            (_, 0 | 2 | 4) => [1, 1, columns as i64 + 1, (columns as i64 + 1) * k_i],
            _ => [3, k_i + 2, 1, 0],
        };
        cases.push(Case {
            rows,
            columns,
            k,
            part,
            chunk,
            batch,
            blocks,
            beta,
            is_turned,
            tall,
            thin,
        });
    }
    cases
}

macro_rules! thin_factors {
    ($($test:ident, $type:ty, $is_across:literal, $is_any:literal: $($kernel:ident $columns:literal),*;)*) => {$(
        #[test]
        fn $test() {
            for device in with_kernels() {
                $(
                    let form = Form { kind: Kind::Ring, is_across: $is_across, is_any: $is_any, columns: $columns };
                    for case in cases(form, size_of::<$type>() as u32) {
                        check(&device, &$kernel, form, case);
                    }
                )*
            }
        }
    )*};
}

thin_factors! {
    f32_along, f32, false, false: skinny_f32_along_1 1, skinny_f32_along_2 2, skinny_f32_along_4 4,
        skinny_f32_along_8 8, skinny_f32_along_12 12, skinny_f32_along_16 16;
    f64_along, f64, false, false: skinny_f64_along_1 1, skinny_f64_along_2 2, skinny_f64_along_4 4,
        skinny_f64_along_8 8, skinny_f64_along_12 12, skinny_f64_along_16 16;
    f32_across, f32, true, false: skinny_f32_across_1 1, skinny_f32_across_2 2, skinny_f32_across_4 4,
        skinny_f32_across_8 8, skinny_f32_across_12 12, skinny_f32_across_16 16;
    f64_across, f64, true, false: skinny_f64_across_1 1, skinny_f64_across_2 2, skinny_f64_across_4 4,
        skinny_f64_across_8 8, skinny_f64_across_12 12, skinny_f64_across_16 16;
    f32_along_any, f32, false, true: skinny_f32_along_any_1 1, skinny_f32_along_any_4 4,
        skinny_f32_along_any_16 16;
    f64_along_any, f64, false, true: skinny_f64_along_any_1 1, skinny_f64_along_any_4 4,
        skinny_f64_along_any_16 16;
    f32_across_any, f32, true, true: skinny_f32_across_any_1 1, skinny_f32_across_any_4 4,
        skinny_f32_across_any_16 16;
    f64_across_any, f64, true, true: skinny_f64_across_any_1 1, skinny_f64_across_any_4 4,
        skinny_f64_across_any_16 16;
}

#[test]
fn vectors() {
    for device in with_kernels() {
        for is_across in [false, true] {
            let form = Form {
                kind: Kind::Vector,
                is_across,
                is_any: false,
                columns: 1,
            };
            for case in cases(form, 4) {
                let kernel = [&vector_f32_along, &vector_f32_across][usize::from(is_across)];
                check(&device, kernel, form, case);
            }
            for case in cases(form, 8) {
                let kernel = [&vector_f64_along, &vector_f64_across][usize::from(is_across)];
                check(&device, kernel, form, case);
            }
            for case in cases(form, 2) {
                let kernel = [&vector_f16_along, &vector_f16_across][usize::from(is_across)];
                let rounded = |number| f16::from_f64(number).to_bits();
                let value = |bits| f16::from_bits(bits).to_f64();
                check_of(&device, kernel, form, case, rounded, value);
                let kernel = [&vector_bf16_along, &vector_bf16_across][usize::from(is_across)];
                let rounded = |number| bf16::from_f64(number).to_bits();
                let value = |bits| bf16::from_bits(bits).to_f64();
                check_of(&device, kernel, form, case, rounded, value);
            }
        }
    }
}

/// A vector of a one, and a matrix with every number.
#[test]
fn every_number_of_16_bits_is_multiplied() {
    for device in with_kernels() {
        for (kernel, one, exponent_bits) in [
            (&vector_f16_across, f16::ONE.to_bits(), 5),
            (&vector_bf16_across, bf16::ONE.to_bits(), 8),
        ] {
            let all: Vec<u16> = (0..=u16::MAX).collect();
            let tall = device.buffer_from(&all).unwrap();
            let thin = device.buffer_from(&[one]).unwrap();
            let mut c = device.zeros::<f32>(all.len()).unwrap();
            let rows = all.len() as u32;
            let product = Skinny {
                tall: factor(tall.slice(), [0, 1, i64::from(rows), 0]),
                thin: factor(thin.slice(), [0, 1, 1, 0]),
                c: c.slice_mut(),
                c_start: 0,
                c_stride: 1,
                c_stride_thin: 1,
                c_stride_batch: 0,
                c_stride_part: 0,
                alpha: 1.0,
                beta: 0.0,
                rows,
                columns: 1,
                k: 1,
                k_part: 1,
                k_chunk: 0,
            };
            let config = LaunchConfig::new(rows.div_ceil(vector_rows(true, 2)), VECTOR_THREADS);
            // SAFETY: the buffers are those of the product.
            unsafe { device.launch(&MODULE, kernel, config, (product,)) }.unwrap();
            let special = 0x7fff & !((1 << (15 - exponent_bits)) - 1);
            for (bits, result) in all.into_iter().zip(c.to_vec().unwrap()) {
                if bits & 0x7fff > special {
                    assert!(result.is_nan(), "{device} {kernel:?} {bits:#x}");
                } else {
                    assert_eq!(
                        result,
                        value_of(bits, exponent_bits),
                        "{device} {kernel:?} {bits:#x}"
                    );
                }
            }
        }
    }
}

#[test]
fn thin_factors_by_matrix_instructions() {
    for device in with_kernels().filter(|device| has(device, (9, 0))) {
        for (kernel, is_across, columns) in [
            (&thin_f64_along_8, false, 8),
            (&thin_f64_along_16, false, 16),
            (&thin_f64_across_8, true, 8),
            (&thin_f64_across_16, true, 16),
        ] {
            let form = Form {
                kind: Kind::Thin,
                is_across,
                is_any: false,
                columns,
            };
            for case in cases(form, 8) {
                check(&device, kernel, form, case);
            }
        }
    }
}

#[test]
fn chunks_are_as_large_as_the_memory() {
    // All of k if there is room, with what it is padded to.
    assert_eq!(skinny_k_chunk(false, 8, 12, 784, 160 << 10), 832);
    assert_eq!(skinny_k_chunk(false, 4, 12, 784, 160 << 10), 896);
    assert_eq!(skinny_k_chunk(true, 8, 12, 0, 160 << 10), 32);
    for (is_across, size, columns) in [(false, 4, 16), (true, 4, 1), (false, 8, 2), (true, 8, 12)] {
        let step = skinny_k_step(is_across, size);
        for bytes in [0, 70_000, 100_000, 166_912] {
            let chunk = skinny_k_chunk(is_across, size, columns, 1 << 30, bytes);
            let needed = |chunk| skinny_shared_bytes(is_across, size, columns, chunk);
            assert!(chunk == 0 || needed(chunk) <= bytes);
            assert!(needed(chunk + step) > bytes);
        }
    }
}

fn check_parts<T: Number + DeviceParam>(device: &Device, kernel: &Kernel<(Parts<T, T>,)>) {
    // Odd numbers of elements are added one by one, others as 16-byte vectors.
    for (elements, count, beta) in [(1, 1, 0.0), (36, 3, 0.5), (1023, 9, 0.0), (1000, 4, -2.0)] {
        let parts = random(1, elements * count);
        let before = random(2, elements);
        let to_t = |values: &[f64]| -> Vec<T> { values.iter().copied().map(T::from_f64).collect() };
        let parts_buffer = device.buffer_from(&to_t(&parts)).unwrap();
        let mut c = device.buffer_from(&to_t(&before)).unwrap();
        let task = Parts {
            parts: parts_buffer.slice(),
            c: c.slice_mut(),
            alpha: T::from_f64(1.5),
            beta: T::from_f64(beta),
            count: count as u32,
        };
        // SAFETY: the buffers are those of the task.
        unsafe { device.launch(&MODULE, kernel, LaunchConfig::new(2, 256), (task,)) }.unwrap();
        for (index, result) in c.to_vec().unwrap().into_iter().enumerate() {
            let parts: Vec<f64> = (0..count)
                .map(|part| parts[part * elements + index])
                .collect();
            let expected = 1.5 * parts.iter().sum::<f64>() + beta * before[index];
            let magnitude = 1.5 * parts.iter().map(|part| part.abs()).sum::<f64>() + beta.abs();
            let bound = gamma(count + 4, unit::<T>()) * magnitude;
            let difference = (result.to_f64() - expected).abs();
            assert!(
                difference <= bound,
                "{device} {kernel:?}, {index} of {elements}"
            );
        }
    }
}

#[test]
fn parts_are_added() {
    for device in with_kernels() {
        check_parts(&device, &add_parts_f32);
        check_parts(&device, &add_parts_f64);
    }
}

fn check_packing<T: Element + PartialEq, U: Element + PartialEq + std::fmt::Debug>(
    device: &Device,
    kernel: &Kernel<(Packing<T, U>,)>,
    element: impl Fn(usize) -> T,
    value: impl Fn(T) -> U,
) {
    let sizes = [
        [1, 1, 2, 1],
        [64, 128, 128, 1],
        [65, 67, 72, 2],
        [130, 30, 32, 2],
    ];
    for [outer, k, k_padded, batch] in sizes {
        let (o, l) = (outer as i64, k as i64);
        let layouts = [
            [0, l, 1, o * l],
            [2, l + l % 2, 1, o * (l + l % 2) + 2],
            [1, l + 1, 1, o * (l + 1)],
            [0, 1, o, o * l],
            [2, 1, o + o % 2, l * (o + o % 2) + 2],
            [3, 1, o + 2, l * (o + 2) + 1],
            [0, 3, 3 * o + 1, 3 * o * l + l],
            [(o - 1) * (2 * l + 1), -(2 * l + 1), 2, o * (2 * l + 1)],
        ];
        for layout in layouts {
            let elements: Vec<T> = (0..length(layout, [batch, outer, k]))
                .map(&element)
                .collect();
            let from = device.buffer_from(&elements).unwrap();
            let untouched = value(element(1));
            let untouched = vec![untouched; batch * outer * k_padded];
            let mut to = device.buffer_from(&untouched).unwrap();
            let task = Packing {
                from: factor(from.slice(), layout),
                to: to.slice_mut(),
                outer: outer as u32,
                k: k as u32,
                k_padded: k_padded as u32,
            };
            let blocks = pack_blocks(outer as u32, k_padded as u32);
            let config = LaunchConfig::new((blocks, 1, batch as u32), PACK_THREADS);
            // SAFETY: the buffers are those of the task.
            unsafe { device.launch(&MODULE, kernel, config, (task,)) }.unwrap();
            let to = to.to_vec().unwrap();
            for (index, result) in to.into_iter().enumerate() {
                let (row, l) = (index / k_padded, index % k_padded);
                let (b, row) = (row / outer, row % outer);
                let expected = match l < k {
                    true => value(elements[place(layout, b, row, l)]),
                    false => U::zeroed(),
                };
                assert_eq!(
                    result, expected,
                    "{device} {kernel:?} {layout:?}: {b}, {row}, {l}"
                );
            }
        }
    }
}

#[test]
fn factors_are_packed() {
    for device in with_kernels() {
        let any = |index: usize| (index as u32).wrapping_mul(0x9e37_79b9);
        check_packing(&device, &pack_f32, any, |bits| bits);
        let any = |index| (any(index) >> 16) as u16;
        check_packing(&device, &pack_u16, any, |bits| bits);
    }
}

/// The number with the bits of a binary float of 16 bits, by its definition. NaN are none of them.
fn value_of(bits: u16, exponent_bits: u32) -> f32 {
    let fraction_bits = 15 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let exponent = i32::from(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    let fraction = f64::from(bits & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    let value = match exponent {
        0 => fraction * 2f64.powi(1 - bias),
        _ if exponent == (1 << exponent_bits) - 1 => f64::INFINITY,
        _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
    };
    value.copysign(if bits >> 15 == 1 { -1.0 } else { 1.0 }) as f32
}

#[test]
fn numbers_of_16_bits_are_widened() {
    for device in with_kernels() {
        for (kernel, exponent_bits) in [(&widen_f16, 5), (&widen_bf16, 8)] {
            let fraction = (1 << (15 - exponent_bits)) - 1;
            let special = 0x7fff & !fraction;
            let number = |bits: u16| match bits & special == special {
                true => bits & !fraction,
                false => bits,
            };
            // Some bits; all follow below.
            let some = |index| number((index as u16).wrapping_mul(5));
            let value = |bits| value_of(bits, exponent_bits);
            check_packing(&device, kernel, some, value);
            let all: Vec<u16> = (0..=u16::MAX).map(number).collect();
            let from = device.buffer_from(&all).unwrap();
            let mut to = device.zeros::<f32>(all.len()).unwrap();
            let task = Packing {
                from: factor(from.slice(), [0, 256, 1, 0]),
                to: to.slice_mut(),
                outer: 256,
                k: 256,
                k_padded: 256,
            };
            let config = LaunchConfig::new(pack_blocks(256, 256), PACK_THREADS);
            // SAFETY: the buffers are those of the task.
            unsafe { device.launch(&MODULE, kernel, config, (task,)) }.unwrap();
            for (bits, result) in all.into_iter().zip(to.to_vec().unwrap()) {
                assert_eq!(result.to_bits(), value(bits).to_bits(), "{bits:#x}");
            }
        }
    }
}
