//! Distances on the CPU, on all its threads, in `f64`.

use crate::Result;
use crate::device::{require_available, zeroed_lazily};
use crate::parallel;

/// Lines of the result that a thread computes together: each row of `b` is read once for all.
const LINES: usize = 8;

/// Rows of `dim` numbers, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub values: &'a [f64],
    pub count: usize,
    pub dim: usize,
}

impl<'a> Rows<'a> {
    fn row(self, i: usize) -> &'a [f64] {
        &self.values[i * self.dim..][..self.dim]
    }
}

/// Writes `finish` of the squared distances of all rows of `a` to all rows of `b`, line after line.
pub(super) fn distances(a: Rows, b: Rows, finish: impl Fn(f64) -> f64 + Sync, result: &mut [f64]) {
    if result.is_empty() {
        return;
    }
    let blocks = result.chunks_mut(LINES * b.count).enumerate();
    parallel::each(blocks, |(block, lines)| {
        fill(lines, block * LINES, a, b, b.count, &finish);
    });
}

/// The same for the rows of `a` to each other, each pair computed once.
///
/// # Errors
/// [`Error::Allocation`](crate::Error::Allocation) for the lower half of them, which stands twice in memory.
pub(super) fn pairwise(
    a: Rows,
    finish: impl Fn(f64) -> f64 + Sync,
    result: &mut [f64],
) -> Result<()> {
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
