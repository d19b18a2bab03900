//! Products of matrices on all threads of the CPU, cut into blocks for the kernels of the crates
//! `gemm-f32` and `gemm-f64`.
//!
//! Those kernels take any strides and are the fastest that we measured on large matrices, but
//! compute the product of a matrix with one or a few vectors on one thread. Such a product is bound
//! by memory bandwidth, which takes all threads.
//!
//! The cut depends only on the matrices' shapes and strides, and the order of the sums within a
//! block does not depend on the number of threads: the result has the same bits on any number of
//! threads. Processors with other vector instructions may give other bits.

mod cast;
mod element;
#[cfg(test)]
mod tests;

pub use cast::{cast, each};
pub use element::CpuScalar;
use element::{CpuResult, CpuSum};
use gridstride_runtime::Result;
use gridstride_runtime::device::{Aside, zeroed};
use gridstride_runtime::parallel::{self, Scratch};

use crate::element::{HostProduct, Scalar};
use crate::input::Product;
use gemm_common::Parallelism;
use ndarray::prelude::*;
use num_traits::{One, Zero};

/// Results with a smaller side up to this are cut here.
const NARROW: usize = 256;
/// The lengths of blocks are multiples of this, so that few of the kernels' tiles are not full.
const TILE: usize = 64;
/// Consecutive numbers to read at once if blocks are narrower than the matrix: half a page.
const RUN: usize = 512;
/// Numbers of the larger matrix in a block: enough that the start of a block costs nothing, few
/// enough for a core's cache.
const BLOCK: usize = 1 << 17;
/// Multiplications of the small products of a task.
const TASK: usize = 1 << 18;
/// From this many multiplications on, the kernels' own threads pay.
const SHARED: usize = 1 << 22;
/// From this many multiplications on, the products of a batch are computed one after the other:
/// together they would need memory for one converted matrix per thread.
const LARGE: usize = 1 << 30;

/// Computes C = alpha·A·B + beta·C for each matrix of a batch.
///
/// C is not read if beta is 0. A and B are read: k and alpha are not 0. A and B of 16 bits are
/// converted to `f32`, which is exact.
/// [`MatMul::error_factor`](crate::MatMul::error_factor) bounds the error.
pub fn gemm<T: CpuScalar>(product: HostProduct<T>) -> Result<()> {
    let Product { alpha, beta, c, .. } = product;
    let batch = c.dim().0;
    let [a, b] = [&product.a, &product.b].map(|factor| {
        let (_, rows, columns) = factor.dim();
        let factor = factor.broadcast((batch, rows, columns));
        factor.expect("a batch as large as C's, or a single matrix")
    });
    if c.is_empty() {
        return Ok(());
    }
    if c.strides()[1].abs() < c.strides()[2].abs() {
        // So that the rows of C are contiguous: Cᵀ = Bᵀ·Aᵀ.
        let swapped = [0, 2, 1];
        let (a, b) = (a.permuted_axes(swapped), b.permuted_axes(swapped));
        return products(alpha, b, a, beta, c.permuted_axes(swapped));
    }
    products(alpha, a, b, beta, c)
}

/// As [`gemm`], for a C of the type of A and B: sums are rounded at the end. Takes memory for C in
/// the type of the sums.
pub fn rounded_gemm<T: CpuScalar + CpuResult<T::Sum>>(product: HostProduct<T, T>) -> Result<()> {
    let Product {
        operation,
        alpha,
        beta,
        a,
        b,
        mut c,
    } = product;
    let mut sums = Array::from_shape_vec(c.dim(), zeroed(c.len())?).expect("C's elements");
    let (axis, length) = parallel::cut(c.shape(), BLOCK);
    if !beta.is_zero() {
        let pairs = sums.axis_chunks_iter_mut(axis, length);
        parallel::each(
            pairs.zip(c.axis_chunks_iter(axis, length)),
            |(mut sums, c)| {
                sums.zip_mut_with(&c, |sum, &c| *sum = T::wide(c));
            },
        );
    }
    gemm::<T>(Product {
        operation,
        alpha,
        beta,
        a,
        b,
        c: sums.view_mut(),
    })?;
    let pairs = c.axis_chunks_iter_mut(axis, length);
    parallel::each(
        pairs.zip(sums.axis_chunks_iter(axis, length)),
        |(mut c, sums)| {
            c.zip_mut_with(&sums, |c, &sum| *c = T::rounded(sum));
        },
    );
    Ok(())
}

/// Computes C = beta·C.
pub fn scale<S: CpuSum, C: CpuResult<S>>(beta: S, mut c: ArrayViewMut3<'_, C>) {
    if beta.is_one() || c.is_empty() {
        return;
    }
    let (axis, length) = parallel::cut(c.shape(), BLOCK);
    parallel::each(c.axis_chunks_iter_mut(axis, length), |mut c| {
        c.map_inplace(|c| {
            let scaled = match beta.is_zero() {
                true => S::zero(),
                false => beta * c.wide(),
            };
            *c = C::rounded(scaled);
        });
    });
}

fn products<T: CpuScalar>(
    alpha: T::Sum,
    a: ArrayView3<'_, T>,
    b: ArrayView3<'_, T>,
    beta: T::Sum,
    mut c: ArrayViewMut3<'_, T::Sum>,
) -> Result<()> {
    let (batch, m, k) = a.dim();
    let n = c.dim().2;
    if batch > 1
        && b.strides()[0] == 0
        && let (Some(a), Some(c)) = (a.to_slice(), c.as_slice_mut())
        && let Ok(a) = ArrayView3::from_shape((1, batch * m, k), a)
        && let Ok(c) = ArrayViewMut3::from_shape((1, batch * m, n), c)
    {
        // All products have the same B: they are the rows of one product.
        return products(alpha, a, b.slice_move(s![..1, .., ..]), beta, c);
    }

    let cut = Cut::new(m, k, n, a.stride_of(Axis(1)), b.stride_of(Axis(2)));
    let work = m.saturating_mul(k).saturating_mul(n);
    let few = batch < 4 * rayon::current_num_threads() && work >= SHARED;
    if matches!(cut, Cut::Whole) && (few || work >= LARGE || batch == 1) {
        let mut wide = Wide::<T>::default();
        for ((c, a), b) in c.outer_iter_mut().zip(a.outer_iter()).zip(b.outer_iter()) {
            block(alpha, a, b, beta, c, &mut wide, work >= SHARED)?;
        }
        return Ok(());
    }
    let most = batch.div_ceil(4 * rayon::current_num_threads());
    let together = (TASK / work.max(1)).clamp(1, most);
    let products = c.axis_chunks_iter_mut(Axis(0), together);
    let products = products.zip(a.axis_chunks_iter(Axis(0), together));
    let products = products.zip(b.axis_chunks_iter(Axis(0), together));
    let room = Scratch::new();
    parallel::try_each(products, |((mut c, a), b)| {
        let mut products = c.outer_iter_mut().zip(a.outer_iter()).zip(b.outer_iter());
        room.with(|wide| {
            products.try_for_each(|((c, a), b)| product(alpha, a, b, beta, c, cut, wide))
        })
    })
}

/// The direction in which a product is cut into blocks, with their length.
#[derive(Clone, Copy)]
enum Cut {
    Whole,
    /// Into rows of A and C.
    Rows(usize),
    /// Into columns of B and C.
    Columns(usize),
    /// Into columns of A and rows of B, whose products are summed.
    Depth(usize),
}

impl Cut {
    /// Returns the cut for sizes, the stride of A's rows and the stride of B's columns.
    fn new(m: usize, k: usize, n: usize, a_rows: isize, b_columns: isize) -> Cut {
        // For lines of `line` numbers: at least as many as the `others`, which each block reads.
        let length = |line: usize, others: usize, distance: isize| {
            let run = if distance.abs() == 1 { RUN } else { TILE };
            let least = run.max(others);
            (BLOCK / line).max(least).next_multiple_of(TILE)
        };
        let (narrow, wide) = (m.min(n), m.max(n));
        let deep = length(wide, 1, 0);
        let cut = match () {
            _ if wide <= TILE && k > 2 * deep => Cut::Depth(deep),
            // With one or two columns of A the kernels stay on one thread too.
            _ if narrow > NARROW && k <= 2 => Cut::Rows(length(n, 1, 0)),
            _ if narrow > NARROW => Cut::Whole,
            _ if m >= n => Cut::Rows(length(k, n, a_rows)),
            _ => Cut::Columns(length(k, m, b_columns)),
        };
        match cut {
            Cut::Rows(length) if length >= m => Cut::Whole,
            Cut::Columns(length) if length >= n => Cut::Whole,
            cut => cut,
        }
    }
}

/// Computes one product, on all threads if it is cut.
fn product<T: CpuScalar>(
    alpha: T::Sum,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    beta: T::Sum,
    mut c: ArrayViewMut2<'_, T::Sum>,
    cut: Cut,
    wide: &mut Wide<T>,
) -> Result<()> {
    let work = a.len().saturating_mul(c.ncols());
    // Idle threads help if there are too few blocks, which does not change the result.
    let blocks = match cut {
        Cut::Rows(length) => c.nrows().div_ceil(length),
        Cut::Columns(length) => c.ncols().div_ceil(length),
        Cut::Whole | Cut::Depth(_) => usize::MAX,
    };
    let threads = blocks < rayon::current_num_threads() && work / blocks >= SHARED;
    let room = Scratch::new();
    let of_block = |(c, a, b)| room.with(|wide| block(alpha, a, b, beta, c, wide, threads));
    match cut {
        Cut::Whole => block(alpha, a, b, beta, c, wide, threads),
        Cut::Rows(length) => {
            let blocks = c.axis_chunks_iter_mut(Axis(0), length);
            let blocks = blocks.zip(a.axis_chunks_iter(Axis(0), length));
            parallel::try_each(blocks.map(|(c, a)| (c, a, b)), of_block)
        }
        Cut::Columns(length) => {
            let blocks = c.axis_chunks_iter_mut(Axis(1), length);
            let blocks = blocks.zip(b.axis_chunks_iter(Axis(1), length));
            parallel::try_each(blocks.map(|(c, b)| (c, a, b)), of_block)
        }
        Cut::Depth(length) => {
            let (m, n) = c.dim();
            let (one, zero) = (T::Sum::one(), T::Sum::zero());
            let mut parts = zeroed::<T::Sum>(a.ncols().div_ceil(length) * m * n)?;
            let blocks = parts
                .chunks_exact_mut(m * n)
                .zip(a.axis_chunks_iter(Axis(1), length))
                .zip(b.axis_chunks_iter(Axis(0), length));
            parallel::try_each(blocks, |((part, a), b)| {
                let part = ArrayViewMut2::from_shape((m, n), part).expect("m·n sums");
                room.with(|wide| block(one, a, b, zero, part, wide, false))
            })?;
            let (sum, others) = parts.split_at_mut(m * n);
            for part in others.chunks_exact(m * n) {
                for (sum, &part) in sum.iter_mut().zip(part) {
                    *sum = *sum + part;
                }
            }
            for (c, &sum) in c.iter_mut().zip(&*sum) {
                let product = alpha * sum;
                *c = if beta.is_zero() {
                    product
                } else {
                    product + beta * *c
                };
            }
            Ok(())
        }
    }
}

/// Memory for A and B in the type of the sums.
type Wide<T> = [Vec<<T as Scalar>::Sum>; 2];

/// Computes one block by the kernels, on all threads or on this one.
fn block<T: CpuScalar>(
    alpha: T::Sum,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    beta: T::Sum,
    mut c: ArrayViewMut2<'_, T::Sum>,
    [wide_a, wide_b]: &mut Wide<T>,
    threads: bool,
) -> Result<()> {
    let parallelism = match threads {
        true => Parallelism::Rayon(0), // All threads.
        false => Parallelism::None,
    };
    let mut a = T::widened(a, wide_a, threads)?;
    let mut b = T::widened(b, wide_b, threads)?;
    if c.stride_of(Axis(1)).abs() < c.stride_of(Axis(0)).abs() {
        // So that the columns of C are contiguous, as the kernels want: Cᵀ = Bᵀ·Aᵀ.
        (a, b) = (b.reversed_axes(), a.reversed_axes());
        c = c.reversed_axes();
    }
    // They also want strides of C that are not negative: both sides are reversed.
    if c.stride_of(Axis(0)) < 0 {
        c.invert_axis(Axis(0));
        a.invert_axis(Axis(0));
    }
    if c.stride_of(Axis(1)) < 0 {
        c.invert_axis(Axis(1));
        b.invert_axis(Axis(1));
    }
    if a.stride_of(Axis(1)) < 0 {
        a.invert_axis(Axis(1));
        b.invert_axis(Axis(0));
    }
    let _aside = threads.then(Aside::new);
    T::Sum::multiply(alpha, a, b, beta, c, parallelism);
    Ok(())
}
