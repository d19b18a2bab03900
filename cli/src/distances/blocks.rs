//! The distances, a block of rows at a time.

use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::distances::{Component, Distances, Metric};
use ndarray::{Array2, s};
use program::report::timed;

use super::rows::Rows;

/// Distances that are in memory together, at least.
const TOGETHER: usize = 1 << 24;

/// Computes blocks in order.
pub struct Blocks<'a, T> {
    rows: &'a Rows<T>,
    devices: &'a [Device],
    distances: Distances,
    /// Whether pairs that are in an earlier block are left out.
    is_upper: bool,
    /// Whether a block is computed while the one before is taken.
    is_concurrent: bool,
    /// The rows of a block.
    height: usize,
    next: usize,
}

/// Distances of consecutive rows to consecutive columns.
pub struct Block {
    pub first_row: usize,
    pub first_column: usize,
    pub distances: Array2<f64>,
}

impl<'a, T: Component> Blocks<'a, T> {
    /// If rows are compared with each other and `is_whole` is false, a block leaves out the columns
    /// before its first row: their distances are in earlier blocks.
    pub fn new(
        rows: &'a Rows<T>,
        devices: &'a [Device],
        metric: Metric,
        is_whole: bool,
    ) -> Blocks<'a, T> {
        let (columns, dim) = (rows.second().len(), rows.second().view().ncols());
        // Each block copies the other rows to the device: it has as many rows as a row has numbers,
        // so that the copies do not take longer than those of the distances.
        let height = (TOGETHER / columns.max(1)).max(dim).max(1);
        Blocks {
            rows,
            devices,
            distances: Distances::new().metric(metric),
            is_upper: rows.other.is_none() && !is_whole,
            // The CPU's threads compute and write: there is nothing to gain, and writing would wait
            // for them.
            is_concurrent: devices
                .iter()
                .all(|device| matches!(device.kind(), DeviceKind::Cuda { .. })),
            height,
            next: 0,
        }
    }

    /// Returns the number of rows in all blocks together.
    pub fn row_count(&self) -> u64 {
        self.rows.first.len() as u64
    }

    /// Calls `take` with each block in order; on GPUs a thread computes the next one meanwhile.
    /// Returns how long computing took.
    pub fn for_each(mut self, mut take: impl FnMut(Block) -> Result<()>) -> Result<Duration> {
        if !self.is_concurrent {
            let mut time = Duration::ZERO;
            while let Some(block) = timed(&mut time, || self.next()) {
                take(block?)?;
            }
            return Ok(time);
        }
        thread::scope(|scope| {
            // A block waits in the thread, so that no more than two are in memory.
            let (sender, receiver) = sync_channel(0);
            let thread = thread::Builder::new().name("distances".into());
            let thread = thread.spawn_scoped(scope, move || {
                let mut time = Duration::ZERO;
                while let Some(block) = timed(&mut time, || self.next()) {
                    let is_last = block.is_err();
                    // Nobody receives after an error of `take`.
                    if sender.send(block).is_err() || is_last {
                        break;
                    }
                }
                time
            });
            let thread = thread.context("computing needs a thread")?;
            // Before the thread is waited for, the receiver is dropped.
            receiver.into_iter().try_for_each(|block| take(block?))?;
            Ok(thread.join().expect("computing does not panic"))
        })
    }

    /// Computes the next block.
    fn next(&mut self) -> Option<Result<Block>> {
        let (first_row, count) = (self.next, self.rows.first.len());
        if first_row == count {
            return None;
        }
        self.next = count.min(first_row.saturating_add(self.height));
        let first_column = if self.is_upper { first_row } else { 0 };
        let (with, devices) = (&self.distances, self.devices);
        let (rows, columns) = (&self.rows.first, self.rows.second());
        let sequences = rows.sequences(first_row..self.next);
        let others = columns.sequences(first_column..columns.len());
        let distances = match (sequences, others) {
            (Some(sequences), Some(others)) => sequences
                .windows()
                .and_then(|windows| with.slide_distances(devices, windows, others.windows()?)),
            _ if self.rows.other.is_none() && self.next - first_row == count => {
                with.pairwise(devices, rows.view())
            }
            _ => {
                let (rows, columns) = (rows.view(), columns.view());
                let rows = rows.slice(s![first_row..self.next, ..]);
                with.distances(devices, rows, columns.slice(s![first_column.., ..]))
            }
        };
        let block = distances.map(|distances| Block {
            first_row,
            first_column,
            distances,
        });
        Some(block.map_err(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::super::nearest::Nearest;
    use super::super::rows::RowSet;
    use super::super::windows::Offsets;
    use super::*;
    use files::npy::Stored;

    fn rows() -> Rows<f64> {
        let rows = Stored {
            rows: Array2::from_shape_fn((7, 3), |(i, j)| ((i * 5 + j * 3) % 7) as f64),
            is_fortran: false,
            type_name: "f64",
        };
        let first = RowSet {
            rows,
            offsets: None,
        };
        Rows { first, other: None }
    }

    /// Returns the number of distances that were computed, and what is known of them.
    fn found(
        rows: &Rows<f64>,
        is_whole: bool,
        is_concurrent: bool,
        height: usize,
    ) -> (usize, Nearest) {
        let devices = [Device::cpu()];
        let mut blocks = Blocks::new(rows, &devices, Metric::L2, is_whole);
        (blocks.height, blocks.is_concurrent) = (height, is_concurrent);
        let (mut count, mut nearest) = (0, Nearest::new(true));
        let take = |block: Block| {
            count += block.distances.len();
            nearest.add(&block);
            Ok(())
        };
        blocks.for_each(take).unwrap();
        (count, nearest)
    }

    fn assert_equal(found: &Nearest, expected: &Nearest) {
        let range = |of: &Nearest| [of.least, of.greatest, of.mean()];
        assert_eq!(range(found), range(expected));
        let pairs = |of: &Nearest| -> Vec<_> {
            let pairs = of.pairs.iter();
            pairs
                .map(|pair| (pair.distance, pair.row, pair.column))
                .collect()
        };
        assert_eq!(pairs(found), pairs(expected));
    }

    #[test]
    fn upper_blocks_have_all_pairs() {
        let rows = rows();
        let (_, expected) = found(&rows, true, false, 7);
        for (height, upper) in [(1, 28), (2, 7 * 2 + 5 * 2 + 3 * 2 + 1), (7, 49)] {
            for (is_whole, is_concurrent, computed) in [
                (true, false, 49),
                (true, true, 49),
                (false, false, upper),
                (false, true, upper),
            ] {
                let (count, nearest) = found(&rows, is_whole, is_concurrent, height);
                assert_eq!((count, nearest.count), (computed, 21));
                assert_equal(&nearest, &expected);
            }
        }
    }

    #[test]
    fn blocks_of_sequences_have_all_pairs() {
        let mut rows = rows();
        rows.first.offsets = Some(Offsets(vec![0, 2, 3, 4, 7]));
        let (_, expected) = found(&rows, true, false, 4);
        for height in 1..=4 {
            for is_whole in [false, true] {
                let (_, nearest) = found(&rows, is_whole, false, height);
                assert_eq!(nearest.count, 6);
                assert_equal(&nearest, &expected);
            }
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        for is_concurrent in [false, true] {
            let (rows, devices) = (rows(), [Device::cpu()]);
            let mut blocks = Blocks::new(&rows, &devices, Metric::L2, true);
            (blocks.height, blocks.is_concurrent) = (1, is_concurrent);
            let mut count = 0;
            let done = blocks.for_each(|_| {
                count += 1;
                bail!("the disk is full")
            });
            assert_eq!(done.unwrap_err().to_string(), "the disk is full");
            assert_eq!(count, 1);
        }
    }
}
