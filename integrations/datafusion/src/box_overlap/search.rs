//! One search of the library, and the rows that follow from it. Blocks its thread.

use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::metrics::{Count, Time};
use gridstride::Device;
use gridstride::box_overlap::BoxOverlap;

use super::boxes::{AnyBoxes, ArrowCoordinate, Boxes};
use super::output::{Output, Sink, state};
use super::parameters::{BoxJoinType, EXEC_NAME, Placement};
use super::rows::Rows;
use super::slices::Slices;
use crate::config::{self, DeviceName};
use crate::error::external;
use crate::memory;

/// The bytes that a row takes in a search besides the row: its number of pairs, whether there are
/// any, and its index.
pub const ROW_BYTES: usize = 9;

/// The bytes that a pair takes on the host besides the rows: in the library's result and in the
/// indices of both sides.
pub const PAIR_BYTES: usize = 12;

/// Takes the rows of pairs: those of the first set, and those of the second.
type Emit<'a> = dyn Fn(&[u32], &[u32]) -> Result<()> + 'a;

/// All searches of a partition.
#[derive(Clone)]
pub struct Search {
    /// Opening a device takes long: the searches do it, on threads that may block.
    pub device: DeviceName,
    pub join: BoxJoinType,
    pub placement: Placement,
    pub batch_pairs: usize,
    pub sink: Sink,
    /// The number of the library's calls.
    pub searches: Count,
    /// The time in the library's calls, with copies from and to the device.
    pub search_time: Time,
}

/// Rows with their boxes.
#[derive(Debug)]
pub struct Side {
    /// The rows.
    pub rows: Rows,
    /// The boxes that are not null.
    pub boxes: AnyBoxes,
}

impl Search {
    /// Finds the overlapping boxes of two sets of rows, and sends the rows of the join. `bin` is
    /// the bin of joins by tiles, else unused.
    pub fn run(
        &self,
        left: &Side,
        right: &Side,
        bin: i32,
        memory: &MemoryReservation,
    ) -> Result<()> {
        match (&left.boxes, &right.boxes) {
            (AnyBoxes::F32(a), AnyBoxes::F32(b)) => self.join(left, right, [a, b], bin, memory),
            (AnyBoxes::F64(a), AnyBoxes::F64(b)) => self.join(left, right, [a, b], bin, memory),
            (AnyBoxes::I32(a), AnyBoxes::I32(b)) => self.join(left, right, [a, b], bin, memory),
            _ => internal_err!("{EXEC_NAME}: two types of coordinates"),
        }
    }

    fn device(&self) -> Result<Device> {
        config::open(self.device).map_err(external(EXEC_NAME))
    }

    fn join<T: ArrowCoordinate>(
        &self,
        left: &Side,
        right: &Side,
        [a, b]: [&Boxes<T>; 2],
        bin: i32,
        memory: &MemoryReservation,
    ) -> Result<()> {
        let output = Output {
            sink: &self.sink,
            left: &left.rows,
            right: &right.rows,
        };
        let matched = match self.join {
            BoxJoinType::Inner if matches!(self.placement, Placement::ReplicateLeft) => {
                let pairs = |right: &[u32], left: &[u32]| output.pairs(left, right);
                self.pairs([b, a], bin, memory, &pairs)?;
                return Ok(());
            }
            BoxJoinType::Inner | BoxJoinType::Left => {
                self.pairs([a, b], bin, memory, &|left, right| {
                    output.pairs(left, right)
                })?
            }
            BoxJoinType::LeftSemi | BoxJoinType::LeftAnti => self.matched([a, b])?,
        };
        if self.join == BoxJoinType::Inner {
            return Ok(());
        }
        self.left_rows(&output, left.rows.len(), a, &matched, bin)
    }

    /// Passes the rows of all pairs of two sets of boxes, and returns whether each box of the first
    /// has any. The rows of the second set are indexed.
    fn pairs<T: ArrowCoordinate>(
        &self,
        [a, b]: [&Boxes<T>; 2],
        bin: i32,
        memory: &MemoryReservation,
        emit: &Emit,
    ) -> Result<Vec<bool>> {
        if a.len() == 0 || b.len() == 0 {
            return Ok(vec![false; a.len()]);
        }
        let device = self.device()?;
        self.searches.add(1);
        let timer = self.search_time.timer();
        let mut slices = Slices::new(&device, [a, b], self.batch_pairs)?;
        timer.done();
        let matched = slices.counts().iter().map(|&count| count > 0).collect();
        let memory = memory.new_empty();
        let wanted = pairs_of_a_slice(slices.counts(), self.batch_pairs);
        let granted = reserve_pairs(slices.counts(), wanted, &memory)?;
        if granted < wanted {
            let _timer = self.search_time.timer();
            self.searches.add(1);
            drop(slices);
            slices = Slices::new(&device, [a, b], granted)?;
        }
        loop {
            let timer = self.search_time.timer();
            let slice = slices.next().transpose()?;
            timer.done();
            let Some(slice) = slice else {
                return Ok(matched);
            };
            let offsets = slice.overlaps.offsets();
            let others = slice.overlaps.indices();
            let (mut rows_a, mut rows_b) = (Vec::new(), Vec::new());
            rows_a.reserve_exact(others.len());
            rows_b.reserve_exact(others.len());
            for (i, ends) in slice.rows.zip(offsets.windows(2)) {
                for &j in others.slice(gridstride::ndarray::s![ends[0]..ends[1]]) {
                    let j = j as usize;
                    if let Placement::Tiles(tiling) = &self.placement
                        && tiling.bin_of_pair(a.get(i), b.get(j)) != bin
                    {
                        continue;
                    }
                    rows_a.push(a.row(i));
                    rows_b.push(b.row(j));
                }
            }
            emit(&rows_a, &rows_b)?;
        }
    }

    /// Returns whether each box of the first set overlaps any of the second.
    fn matched<T: ArrowCoordinate>(&self, [a, b]: [&Boxes<T>; 2]) -> Result<Vec<bool>> {
        if a.len() == 0 || b.len() == 0 {
            return Ok(vec![false; a.len()]);
        }
        let device = self.device()?;
        self.searches.add(1);
        let timer = self.search_time.timer();
        let _turn = config::turn(&device);
        let counts = BoxOverlap::new().counts(&device, a.view(), b.view());
        timer.done();
        let counts = counts.map_err(external(EXEC_NAME))?;
        Ok(counts.iter().map(|&count| count > 0).collect())
    }

    /// Sends the rows of the left table that the join returns by themselves.
    fn left_rows<T: ArrowCoordinate>(
        &self,
        output: &Output,
        rows: usize,
        boxes: &Boxes<T>,
        matched: &[bool],
        bin: i32,
    ) -> Result<()> {
        let wanted = self.join == BoxJoinType::LeftSemi;
        let mut rows_by_state = [const { Vec::new() }; 3];
        let mut bins = Vec::new();
        let mut next = 0;
        for (index, &matched) in matched.iter().enumerate() {
            let row = boxes.row(index);
            if !wanted {
                rows_by_state[state::DONE as usize].extend(next..row);
            }
            next = row + 1;
            let known = match &self.placement {
                Placement::Tiles(tiling) if tiling.home(boxes.get(index)) != bin => {
                    matched.then_some(state::WITNESS)
                }
                Placement::Tiles(tiling) if !matched => {
                    tiling.bins(boxes.get(index), &mut bins);
                    if bins.len() > 1 {
                        Some(state::CANDIDATE)
                    } else {
                        (!wanted).then_some(state::DONE)
                    }
                }
                _ => (matched == wanted).then_some(state::DONE),
            };
            if let Some(known) = known {
                rows_by_state[known as usize].push(row);
            }
        }
        if !wanted {
            rows_by_state[state::DONE as usize].extend(next..rows as u32);
        }
        for (state, rows) in (0..).zip(&rows_by_state) {
            output.left_rows(rows, state)?;
        }
        Ok(())
    }
}

/// Returns the most pairs of a slice: `most`, unless a row has more, or all rows have fewer.
fn pairs_of_a_slice(counts: &[u32], most: usize) -> usize {
    let row = counts.iter().copied().max().unwrap_or(0) as usize;
    let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    row.max(most.min(all as usize))
}

/// Reserves memory for `pairs` pairs at a time, or for fewer if there is less memory, but for all
/// pairs of one row. Returns the number of pairs.
fn reserve_pairs(
    counts: &[u32],
    mut pairs: usize,
    reservation: &MemoryReservation,
) -> Result<usize> {
    let least = pairs_of_a_slice(counts, 1);
    loop {
        match memory::grow(reservation, pairs * PAIR_BYTES) {
            Ok(()) => return Ok(pairs),
            Err(error) if pairs <= least => return Err(error),
            Err(_) => pairs = (pairs / 2).max(least),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::*;

    #[test]
    fn slices_have_as_many_pairs_as_the_memory_allows() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(100 * PAIR_BYTES));
        let counts = [3, 70, 0, 900, 27];
        assert_eq!(pairs_of_a_slice(&counts, 5000), 1000);
        assert_eq!(pairs_of_a_slice(&counts, 10), 900);
        let memory = MemoryConsumer::new("test").register(&pool);
        assert!(reserve_pairs(&counts, 1000, &memory).is_err());
        assert_eq!(reserve_pairs(&counts[..3], 300, &memory).unwrap(), 75);
        assert_eq!(pool.reserved(), 75 * PAIR_BYTES);
        memory.free();
        assert_eq!(reserve_pairs(&counts[..3], 320, &memory).unwrap(), 80);
    }
}
