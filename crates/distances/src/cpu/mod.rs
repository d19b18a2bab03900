//! Distances on the CPU, on all its threads, in `f64`.

mod nearest;
mod slide;
mod slide_nearest;

use distances_kernels::Scale;
use gridstride_runtime::device::{assign, collected, require_available, zeroed, zeroed_lazily};
use gridstride_runtime::{Result, parallel};
use ndarray::ArrayView2;

use super::element::Component;
use super::input::{self, Arguments, HostPairs, HostQueries};
use super::merge::RangeNearest;
use super::options::Metric;
use super::rows::HostRows;

/// Rows of the result that a task computes: it reads each row of `b` once for all.
const LINES: usize = 8;

/// Writes the distances of all pairs.
pub fn pairs<T: Component>(pairs: &mut HostPairs<T>) -> Result<()> {
    let metric = pairs.metric;
    let scale = scale(pairs.operation, metric, pairs.arguments())?;
    let finish = |sum: f64| finish(sum, metric, scale);
    let a = Scaled::new(pairs.a, scale)?;
    let b = pairs.b.map(|b| Scaled::new(b, scale)).transpose()?;
    let (pairing, (rows, columns)) = (pairs.pairing, pairs.out.dim());
    let write = |result: &mut [f64], is_new| {
        match (&b, pairs.a.offsets) {
            (Some(b), Some(_)) => slide::distances(&a, b, pairing, (rows, columns), finish, result),
            (Some(b), None) => distances(a.rows(), b.rows(), finish, result),
            (None, _) => pairwise(a.rows(), finish, result, is_new)?,
        }
        Ok(())
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

/// Returns the nearest rows or sequences of ranges of queries and of the database, at most k of each.
pub fn nearest<T: Component>(whole: &HostQueries<T>) -> Result<Vec<RangeNearest>> {
    let scale = scale(whole.operation, whole.metric, whole.arguments())?;
    if whole.is_empty() {
        return Ok(Vec::new());
    }
    match whole.database.offsets {
        Some(_) => slide_nearest::sequences(whole, scale),
        None => nearest::rows(whole, scale),
    }
}

/// Checks all numbers, and returns the scale of the distances.
fn scale<T: Component>(
    operation: &'static str,
    metric: Metric,
    arguments: Arguments<HostRows<T>>,
) -> Result<Scale> {
    let largest = input::largest(operation, arguments)?;
    let rows = arguments.into_iter().filter_map(|(_, rows)| rows);
    let longest = rows.map(|rows| rows.longest()).max().unwrap_or(0);
    let is_root = metric == Metric::L2;
    Ok(Scale::new(largest, longest, is_root, f64::MAX_EXP - 1))
}

/// Returns the distance of a sum of squares of scaled differences.
fn finish(sum: f64, metric: Metric, scale: Scale) -> f64 {
    match metric {
        Metric::L2 => sum.sqrt() * scale.unscale,
        Metric::SquaredL2 => sum * scale.unscale,
    }
}

/// Scaled rows or sequences, in row-major order.
struct Scaled {
    values: Vec<f64>,
    count: usize,
    dim: usize,
    offsets: Option<Vec<usize>>,
}

impl Scaled {
    fn new<T: Component>(rows: HostRows<T>, scale: Scale) -> Result<Scaled> {
        let values = rows.all().into_iter();
        Ok(Scaled {
            values: collected(values.map(|&value| value.to_f64() * scale.scale))?,
            count: rows.count(),
            dim: rows.dim(),
            offsets: rows.offsets_of_all()?,
        })
    }

    fn rows(&self) -> Rows<'_> {
        Rows {
            values: &self.values,
            count: self.count,
            dim: self.dim,
        }
    }
}

/// Consecutive rows of `dim` numbers.
#[derive(Clone, Copy)]
struct Rows<'a> {
    values: &'a [f64],
    count: usize,
    dim: usize,
}

impl<'a> Rows<'a> {
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
fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
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
