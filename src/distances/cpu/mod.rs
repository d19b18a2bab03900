//! Distances on the CPU, on all its threads, in `f64`.

use ndarray::{ArrayView2, ArrayViewMut2};

use super::element::Component;
use super::input::{self, DeviceTile, Tile};
use super::options::Metric;
use super::scale::Scale;
use crate::device::{DeviceArray, assign, collected, require_available, zeroed, zeroed_lazily};
use crate::{Result, parallel};

/// Lines of the result that a thread computes together: each row of `b` is read once for all.
const LINES: usize = 8;

/// Writes the distances of a tile.
pub fn host<T: Component>(tile: &mut Tile<T>) -> Result<()> {
    let (operation, metric) = (tile.operation, tile.metric);
    let mut largest = input::largest(operation, "a", tile.a)?;
    if let Some(b) = tile.b {
        largest = largest.max(input::largest(operation, "b", b)?);
    }
    let scale = Scale::new(largest, tile.a.ncols(), metric, f64::MAX_EXP - 1);
    let finish = |sum: f64| match metric {
        Metric::L2 => sum.sqrt() * scale.unscale,
        Metric::SquaredL2 => sum * scale.unscale,
    };
    let a = scaled(tile.a, scale)?;
    let b = tile.b.map(|b| scaled(b, scale)).transpose()?;
    let a = Rows::new(tile.a, &a);
    let b = tile.b.zip(b.as_deref()).map(|(view, b)| Rows::new(view, b));
    let write = |result: &mut [f64]| match b {
        Some(b) => {
            distances(a, b, finish, result);
            Ok(())
        }
        None => pairwise(a, finish, result),
    };
    if let Some(places) = tile.out.as_slice_mut() {
        return write(places);
    }
    let mut result = zeroed(tile.out.len())?;
    write(&mut result)?;
    let result = ArrayView2::from_shape(tile.out.raw_dim(), &result).expect("as many");
    assign(tile.out.view_mut(), &result);
    Ok(())
}

/// Copies the rows from the memory of a CPU device, and their distances back.
pub fn device<T: Component>(tile: DeviceTile<T>) -> Result<()> {
    let DeviceTile { a, b, out, .. } = tile;
    let (a, b) = (a.download()?, b.map(DeviceArray::download).transpose()?);
    let mut result = zeroed_lazily(out.len())?;
    let places = ArrayViewMut2::from_shape(out.raw_dim(), &mut result);
    host(&mut Tile {
        operation: tile.operation,
        metric: tile.metric,
        a: a.view(),
        b: b.as_ref().map(|b| b.view()),
        out: places.expect("a distance for each pair"),
    })?;
    out.buffer_mut().copy_from(&result)
}

/// Returns all numbers, scaled, row after row.
fn scaled<T: Component>(view: ArrayView2<T>, scale: Scale) -> Result<Vec<f64>> {
    collected(view.iter().map(|&value| value.to_f64() * scale.scale))
}

/// Rows of `dim` numbers, one after the other.
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

/// Writes `finish` of the squared distances of all rows of `a` to all rows of `b`, line after line.
fn distances(a: Rows, b: Rows, finish: impl Fn(f64) -> f64 + Sync, result: &mut [f64]) {
    if result.is_empty() {
        return;
    }
    let blocks = result.chunks_mut(LINES * b.count).enumerate();
    parallel::each(blocks, |(block, lines)| {
        fill(lines, block * LINES, a, b, b.count, &finish);
    });
}

/// Writes those of the rows of `a` to each other, each pair computed once.
///
/// # Errors
/// [`Error::Allocation`](crate::Error::Allocation) if there is no room for a second copy of the
/// lower half.
fn pairwise(a: Rows, finish: impl Fn(f64) -> f64 + Sync, result: &mut [f64]) -> Result<()> {
    let n = a.count;
    let blocks = n.div_ceil(LINES);
    // The lines of each block up to the block's end. The long ones first, so that no thread is left
    // alone at the end.
    let end = |block: usize| n.min((block + 1) * LINES);
    // With the result, whose pages are made when they are written to.
    let numbers = n.saturating_mul(n + n / 2);
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
        // Their columns further on are the rows of later blocks.
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

/// The lines from `first` on, each of `width` distances.
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

/// Sums in eight lanes, which lets the compiler use vector instructions without changing the order
/// of the additions from machine to machine.
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
