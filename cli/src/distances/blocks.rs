//! The distances, a block of rows at a time.

use anyhow::Result;
use gridstride::Device;
use gridstride::distances::{Component, Distances, Metric};
use ndarray::{Array2, s};

use super::rows::Rows;

/// Distances that are in memory together, at least.
const TOGETHER: usize = 1 << 24;

/// Computes blocks in order.
pub struct Blocks<'a, T> {
    rows: &'a Rows<T>,
    devices: &'a [Device],
    distances: Distances,
    /// The rows of a block.
    height: usize,
    next: usize,
}

impl<'a, T: Component> Blocks<'a, T> {
    pub fn new(rows: &'a Rows<T>, devices: &'a [Device], metric: Metric) -> Blocks<'a, T> {
        let (columns, dim) = rows.second().dim();
        // Each block copies the other rows to the device: it has as many rows as a row has numbers,
        // so that the copies do not take longer than those of the distances.
        let height = (TOGETHER / columns.max(1)).max(dim).max(1);
        Blocks {
            rows,
            devices,
            distances: Distances::new().metric(metric),
            height,
            next: 0,
        }
    }

    /// Returns the number of distances in all blocks together.
    pub fn count(&self) -> u64 {
        let (rows, columns) = (self.rows.first().nrows(), self.rows.second().nrows());
        (rows as u64).saturating_mul(columns as u64)
    }

    /// Computes the next block, and returns it with its first row.
    pub fn next(&mut self) -> Option<Result<(usize, Array2<f64>)>> {
        let (first, count) = (self.next, self.rows.first().nrows());
        if first == count {
            return None;
        }
        self.next = count.min(first.saturating_add(self.height));
        let distances = match &self.rows.other {
            None if self.next - first == count => {
                self.distances.pairwise(self.devices, self.rows.first())
            }
            _ => {
                let all = self.rows.first();
                let block = all.slice(s![first..self.next, ..]);
                self.distances
                    .distances(self.devices, block, self.rows.second())
            }
        };
        Some(
            distances
                .map(|distances| (first, distances))
                .map_err(Into::into),
        )
    }
}
