//! Products of matrices on the CPU, on all its threads, by the kernels of the crates `gemm-f32` and
//! `gemm-f64`: we cut a product into blocks, they compute one.
//!
//! Those kernels take any strides and are the fastest of what we measured on large matrices, but a
//! product of a matrix with a vector, or with a few of them, stays on one thread there. Such a product
//! is as fast as memory can be read, which takes all threads.
//!
//! How a product is cut depends on the matrices' shapes and strides alone, and sums within a block are in the
//! same order on any number of threads: so the result is the same, bit for bit, on any number of them.
//! It may differ between processors, whose vector instructions differ.

mod element;
#[cfg(test)]
mod tests;

pub use element::CpuScalar;
use element::CpuSum;

use crate::Result;
use crate::device::zeroed;
use crate::matmul::element::HostProduct;
use crate::matmul::input::Product;
use crate::parallel::{self, Scratch};
use gemm_common::Parallelism;
use ndarray::prelude::*;
use num_traits::{One, Zero};

/// The smaller side of a result up to which the product is cut here.
const NARROW: usize = 256;
/// What the lengths of blocks are multiples of, so that few of the kernels' tiles are not full.
const TILE: usize = 64;
/// Numbers in a row that are read at once where blocks are narrower than the matrix: half a page.
const RUN: usize = 512;
/// Numbers of the larger matrix in a block: enough that starting it costs nothing, few enough for a
/// core's cache.
const BLOCK: usize = 1 << 17;
/// Multiplications of small products that a thread takes in one go.
const TASK: usize = 1 << 18;
/// Multiplications in a product from which the kernels' own threads pay.
const SHARED: usize = 1 << 22;
/// Multiplications in a product from which the products of a batch are computed one after the other:
/// together they would need room for as many converted matrices as there are threads.
const LARGE: usize = 1 << 30;

/// `c = alpha · a · b + beta · c`, for each matrix of a batch.
///
/// The shapes are batch × m × k, batch × k × n and batch × m × n, with any strides. As in BLAS, `c` is
/// not read where `beta` is zero, nor are `a` and `b` where `alpha` is; NaN and infinities in what is
/// read go into the result. `a` and `b` of 16 bits are converted to `f32`, exactly, and summed up there.
///
/// Each element differs from the exact one by at most γ_{k+2} · (|alpha| · |a| · |b| + |beta| · |c|), of
/// the unit roundoff of `T::Sum`, unless numbers overflow or underflow.
///
/// # Errors
/// [`Error::Allocation`](crate::Error::Allocation) if there is no memory for converted matrices.
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
    if a.dim().2 == 0 || alpha.is_zero() {
        scale(beta, c);
        return Ok(());
    }
    if c.strides()[1].abs() < c.strides()[2].abs() {
        // So that the rows of `c` are the contiguous ones: cᵀ = bᵀ · aᵀ.
        let swapped = [0, 2, 1];
        let (a, b) = (a.permuted_axes(swapped), b.permuted_axes(swapped));
        return products(alpha, b, a, beta, c.permuted_axes(swapped));
    }
    products(alpha, a, b, beta, c)
}

/// `c = beta · c`.
fn scale<S: CpuSum>(beta: S, mut c: ArrayViewMut3<'_, S>) {
    if beta.is_one() {
        return;
    }
    let (axis, length) = parallel::cut(c.shape(), BLOCK);
    parallel::each(c.axis_chunks_iter_mut(axis, length), |mut c| {
        c.map_inplace(|c| *c = if beta.is_zero() { S::zero() } else { beta * *c });
    });
}

/// All products of a batch.
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
        // All with the same `b`: the rows of one product.
        return products(alpha, a, b.slice_move(s![..1, .., ..]), beta, c);
    }

    let cut = Cut::of(m, k, n, a.stride_of(Axis(1)), b.stride_of(Axis(2)));
    let work = m.saturating_mul(k).saturating_mul(n);
    let few = batch < 4 * rayon::current_num_threads() && work >= SHARED;
    if matches!(cut, Cut::Whole) && (few || work >= LARGE || batch == 1) {
        let mut wide = Wide::default();
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

/// How a product is cut into blocks.
#[derive(Clone, Copy)]
enum Cut {
    Whole,
    /// Into so many rows of `a` and `c`.
    Rows(usize),
    /// Into so many columns of `b` and `c`.
    Columns(usize),
    /// Into so many columns of `a` and rows of `b`, whose products are added up.
    Depth(usize),
}

impl Cut {
    /// For sizes, the distance of the rows of `a` and that of the columns of `b`.
    fn of(m: usize, k: usize, n: usize, a_rows: isize, b_columns: isize) -> Cut {
        // Of lines of `line` numbers. At least as many as the `others`, which each block takes in anew.
        let length = |line: usize, others: usize, distance: isize| {
            let run = if distance.abs() == 1 { RUN } else { TILE };
            let least = run.max(others);
            (BLOCK / line).max(least).next_multiple_of(TILE)
        };
        let (narrow, wide) = (m.min(n), m.max(n));
        let deep = length(wide, 1, 0);
        let cut = match () {
            _ if wide <= TILE && k > 2 * deep => Cut::Depth(deep),
            // With one or two columns of `a` the kernels stay on one thread too.
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

/// One product, on threads of its own if it is cut.
fn product<T: CpuScalar>(
    alpha: T::Sum,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    beta: T::Sum,
    mut c: ArrayViewMut2<'_, T::Sum>,
    cut: Cut,
    wide: &mut Wide<T::Sum>,
) -> Result<()> {
    let work = a.len().saturating_mul(c.ncols());
    // Where there are fewer blocks than threads, the others help. It does not change the result.
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
                let part = ArrayViewMut2::from_shape((m, n), part).expect("m · n of them");
                room.with(|wide| block(one, a, b, zero, part, wide, false))
            })?;
            let (sum, others) = parts.split_at_mut(m * n);
            for part in others.chunks_exact(m * n) {
                for (sum, &part) in sum.iter_mut().zip(part) {
                    *sum = *sum + part;
                }
            }
            for (c, &sum) in c.iter_mut().zip(&*sum) {
                *c = if beta.is_zero() {
                    alpha * sum
                } else {
                    alpha * sum + beta * *c
                };
            }
            Ok(())
        }
    }
}

/// Room for the matrices of a product in the type of its sums.
struct Wide<S> {
    a: Vec<S>,
    b: Vec<S>,
}

impl<S> Default for Wide<S> {
    fn default() -> Self {
        Wide {
            a: Vec::new(),
            b: Vec::new(),
        }
    }
}

/// One block by the kernels, on all threads or on this one.
fn block<T: CpuScalar>(
    alpha: T::Sum,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    beta: T::Sum,
    c: ArrayViewMut2<'_, T::Sum>,
    wide: &mut Wide<T::Sum>,
    threads: bool,
) -> Result<()> {
    // As many as there are.
    let parallelism = if threads {
        Parallelism::Rayon(0)
    } else {
        Parallelism::None
    };
    let a = T::widened(a, &mut wide.a, threads)?;
    let b = T::widened(b, &mut wide.b, threads)?;
    by_kernel(alpha, a, b, beta, c, parallelism);
    Ok(())
}

/// The call of a kernel, none of whose sizes may be zero.
fn by_kernel<S: CpuSum>(
    alpha: S,
    a: ArrayView2<'_, S>,
    b: ArrayView2<'_, S>,
    beta: S,
    c: ArrayViewMut2<'_, S>,
    parallelism: Parallelism,
) {
    // The kernels want the columns of `c` contiguous: cᵀ = bᵀ · aᵀ.
    let (mut a, mut b, mut c) = match c.strides() {
        [rows, columns] if columns.abs() < rows.abs() => {
            (b.reversed_axes(), a.reversed_axes(), c.reversed_axes())
        }
        _ => (a, b, c),
    };
    // And these strides not negative: both sides are turned around.
    for axis in [Axis(0), Axis(1)] {
        if c.stride_of(axis) < 0 {
            c.invert_axis(axis);
            if axis == Axis(0) {
                a.invert_axis(axis)
            } else {
                b.invert_axis(axis)
            }
        }
    }
    if a.stride_of(Axis(1)) < 0 {
        a.invert_axis(Axis(1));
        b.invert_axis(Axis(0));
    }
    let ((m, k), n) = (a.dim(), c.ncols());
    assert!(
        b.dim() == (k, n) && c.nrows() == m,
        "shapes that do not fit each other"
    );
    let kernel = S::kernel();
    // SAFETY: the views reach all elements that their strides lead to within the shapes, which fit as
    // just checked, and `c`, borrowed for this call alone, overlaps no other. `kernel` is one that this
    // processor can run.
    unsafe {
        kernel(
            m,
            n,
            k,
            c.as_mut_ptr(),
            c.stride_of(Axis(1)),
            c.stride_of(Axis(0)),
            // Whether it reads `c`.
            !beta.is_zero(),
            a.as_ptr(),
            a.stride_of(Axis(1)),
            a.stride_of(Axis(0)),
            b.as_ptr(),
            b.stride_of(Axis(1)),
            b.stride_of(Axis(0)),
            // Their `alpha` belongs to `c`.
            beta,
            alpha,
            false,
            false,
            false,
            parallelism,
        );
    }
}
