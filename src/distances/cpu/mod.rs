//! Distances on the CPU, on all its threads, in `f64`.

use distances_kernels::Scale;
use ndarray::{ArrayView2, ArrayViewMut2};

use super::element::Component;
use super::input::{self, DevicePairs, HostPairs, Pairs};
use super::options::Metric;
use crate::device::{DeviceArray, assign, collected, require_available, zeroed, zeroed_lazily};
use crate::{Result, parallel};

/// Rows of the result that a task computes: it reads each row of `b` once for all.
pub const LINES: usize = 8;

pub fn host<T: Component>(pairs: &mut HostPairs<T>) -> Result<()> {
    let (operation, metric) = (pairs.operation, pairs.metric);
    let mut largest = input::largest(operation, "a", pairs.a)?;
    if let Some(b) = pairs.b {
        largest = largest.max(input::largest(operation, "b", b)?);
    }
    let scale = Scale::new(
        largest,
        pairs.a.ncols(),
        metric == Metric::L2,
        f64::MAX_EXP - 1,
    );
    let finish = |sum: f64| finish(sum, metric, scale);
    let a_values = scaled(pairs.a, scale)?;
    let b_values = pairs.b.map(|b| scaled(b, scale)).transpose()?;
    let a = Rows::new(pairs.a, &a_values);
    let b = (pairs.b.zip(b_values.as_deref())).map(|(b, values)| Rows::new(b, values));
    let write = |result: &mut [f64], is_new| match b {
        Some(b) => {
            distances(a, b, finish, result);
            Ok(())
        }
        None => pairwise(a, finish, result, is_new),
    };
    if let Some(places) = pairs.out.as_slice_mut() {
        return write(places, pairs.is_new);
    }
    let mut result = zeroed(pairs.out.len())?;
    write(&mut result, false)?;
    let result = ArrayView2::from_shape(pairs.out.raw_dim(), &result).expect("as many");
    assign(pairs.out.view_mut(), &result);
    Ok(())
}

/// Returns the distance of a sum of squares of scaled differences.
pub fn finish(sum: f64, metric: Metric, scale: Scale) -> f64 {
    match metric {
        Metric::L2 => sum.sqrt() * scale.unscale,
        Metric::SquaredL2 => sum * scale.unscale,
    }
}

/// Writes the distances of rows in the memory of a CPU device, which are copied.
pub fn device<T: Component>(pairs: DevicePairs<T>) -> Result<()> {
    let DevicePairs { a, b, out, .. } = pairs;
    let (a, b) = (a.download()?, b.map(DeviceArray::download).transpose()?);
    let mut result = zeroed_lazily(out.len())?;
    let places = ArrayViewMut2::from_shape(out.raw_dim(), &mut result);
    host(&mut Pairs {
        operation: pairs.operation,
        metric: pairs.metric,
        a: a.view(),
        b: b.as_ref().map(|b| b.view()),
        out: places.expect("a distance for each pair"),
        is_new: true,
    })?;
    out.inner_mut().copy_from(&result)
}

/// Returns the scaled numbers in row-major order.
pub fn scaled<T: Component>(view: ArrayView2<T>, scale: Scale) -> Result<Vec<f64>> {
    collected(view.iter().map(|&value| value.to_f64() * scale.scale))
}

/// Consecutive rows of `dim` numbers.
#[derive(Clone, Copy)]
struct Rows<'a> {
    values: &'a [f64],
    count: usize,
    dim: usize,
}

impl<'a> Rows<'a> {
    fn new<T>(view: ArrayView2<T>, values: &'a [f64]) -> Rows<'a> {
        let (count, dim) = view.dim();
        Rows { values, count, dim }
    }

    fn row(self, i: usize) -> &'a [f64] {
        &self.values[i * self.dim..][..self.dim]
    }
}

/// Writes `finish` of the squared distances of all rows of `a` to all rows of `b`.
fn distances(a: Rows, b: Rows, finish: impl Fn(f64) -> f64 + Sync, result: &mut [f64]) {
    if result.is_empty() {
        return;
    }
    let blocks = result.chunks_mut(LINES * b.count).enumerate();
    parallel::each(blocks, |(block, lines)| {
        fill(lines, block * LINES, a, b, b.count, &finish);
    });
}

/// As [`distances`], of the rows of `a` to each other. Each pair is computed once. The pages of a
/// new result are allocated when they are written.
fn pairwise(
    a: Rows,
    finish: impl Fn(f64) -> f64 + Sync,
    result: &mut [f64],
    is_new: bool,
) -> Result<()> {
    let n = a.count;
    let blocks = n.div_ceil(LINES);
    // Each block's rows up to the diagonal, the longest first: no thread is left alone at the end.
    let end = |block: usize| n.min((block + 1) * LINES);
    let of_result = if is_new { n } else { 0 };
    let numbers = n.saturating_mul(of_result + n / 2);
    require_available(numbers.saturating_mul(size_of::<f64>()))?;
    let mut below = parallel::try_map((0..blocks).rev(), |block| {
        let first = block * LINES;
        let mut lines = zeroed_lazily((end(block) - first) * end(block))?;
        fill(&mut lines, first, a, a, end(block), &finish);
        Ok(lines)
    })?;
    below.reverse();
    if result.is_empty() {
        return Ok(());
    }
    let lines = result.chunks_mut(LINES * n).enumerate();
    parallel::each(lines, |(block, lines)| {
        let (first, own) = (block * LINES, end(block));
        for (line, source) in lines
            .chunks_exact_mut(n)
            .zip(below[block].chunks_exact(own))
        {
            line[..own].copy_from_slice(source);
        }
        // The columns behind the diagonal are rows of later blocks.
        for later in block + 1..blocks {
            for (row, source) in below[later].chunks_exact(end(later)).enumerate() {
                for (line, &distance) in lines.chunks_exact_mut(n).zip(&source[first..own]) {
                    line[later * LINES + row] = distance;
                }
            }
        }
    });
    Ok(())
}

/// Writes the rows of the result from `first` on, each of `width` distances.
fn fill(
    lines: &mut [f64],
    first: usize,
    a: Rows,
    b: Rows,
    width: usize,
    finish: &impl Fn(f64) -> f64,
) {
    for j in 0..width {
        for (i, line) in lines.chunks_exact_mut(width).enumerate() {
            line[j] = finish(squared_distance(a.row(first + i), b.row(j)));
        }
    }
}

/// Sums in eight lanes, for vector instructions with the same order of additions on every machine.
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    let square = |(&a, &b): (&f64, &f64)| (a - b).powi(2);
    let (a_lanes, a_rest) = a.as_chunks::<8>();
    let (b_lanes, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for (sum, pair) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += square(pair);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(square).sum();
    sums.iter().sum::<f64>() + rest
}
