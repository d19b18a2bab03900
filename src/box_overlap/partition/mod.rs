//! The search over several devices, and within little memory.

mod split;

use std::cell::RefCell;
use std::ops::Range;

use super::gpu::{GpuSearch, HasKernels};
use super::input::Problem;
use super::output::{Overlaps, row_blocks};
use super::slices::{self, Search};
use crate::device::zeroed;
use crate::partition::{
    Partition, is_short_of_memory, least_budget, recheck, require_devices, run_partitions,
    run_splitting,
};
use crate::{Device, Result, parallel};
use split::{SearchPartition, halves};

/// Prepares a search on one device that has room for it.
type SearchOn<T> = for<'b> fn(&Device, Problem<'b, T>) -> Result<Box<dyn Search + 'b>>;

/// Prepares a search over all of the devices. A single device with room for all rows searches as a
/// whole.
pub fn search<'a, T: HasKernels>(
    devices: &[Device],
    problem: Problem<'a, T>,
    search_on: SearchOn<T>,
) -> Result<Box<dyn Search + 'a>> {
    require_devices(devices, problem.operation)?;
    let budget = least_budget(devices);
    if let ([device], None) = (devices, budget) {
        return search_on(device, problem);
    }
    let mut search = Partitioned {
        devices: devices.to_vec(),
        problem,
        search_on,
        whole: None,
    };
    if let [device] = devices
        && search.may_fit(budget)
    {
        search.whole = match GpuSearch::new(device, &search.problem) {
            Err(error) if is_short_of_memory(device, &error) => None,
            whole => Some(whole?),
        };
    }
    Ok(Box::new(search))
}

/// A search in partitions, each of which is a separate search on some device.
struct Partitioned<'a, T: HasKernels> {
    devices: Vec<Device>,
    problem: Problem<'a, T>,
    search_on: SearchOn<T>,
    /// The search as a whole, if there is one device and it has room for the search.
    whole: Option<GpuSearch<T>>,
}

/// The results of a partition.
struct Found<F> {
    rows: Range<usize>,
    /// The row of the second set from which indices count.
    first_column: usize,
    result: F,
}

impl<T: HasKernels> Partitioned<'_, T> {
    /// Whether a device's memory has room for all boxes.
    fn may_fit(&self, budget: Option<u64>) -> bool {
        let rows = 0..self.problem.rows1();
        let partitions = SearchPartition::covering(&self.problem, rows, 1, None);
        let boxes: u64 = partitions.iter().map(SearchPartition::bytes_of_boxes).sum();
        budget.is_none_or(|budget| boxes <= budget)
    }

    /// Returns the results of partitions that cover these rows. The rows of results count from
    /// `rows.start`.
    fn find<F: Send>(
        &self,
        rows: Range<usize>,
        find: impl Fn(&Device, &mut dyn Search, usize) -> Result<F> + Sync,
    ) -> Result<Vec<Found<F>>> {
        // Pairs need memory too.
        let bytes = least_budget(&self.devices).map(|budget| budget - budget / 4);
        let (start, search_on) = (rows.start, self.search_on);
        let partitions = SearchPartition::covering(&self.problem, rows, self.devices.len(), bytes);
        let work = |device: &Device, partition: &mut SearchPartition<T>| {
            let mut search = search_on(device, partition.problem())?;
            Ok(Found {
                rows: partition.rows.start - start..partition.rows.end - start,
                first_column: partition.columns().start,
                result: find(device, &mut *search, partition.rows.len())?,
            })
        };
        recheck(run_partitions(&self.devices, partitions, work), || {
            self.problem.check()
        })
    }
}

impl<T: HasKernels> Search for Partitioned<'_, T> {
    fn counts(&mut self, counts: &mut [u32]) -> Result<()> {
        if let Some(whole) = &mut self.whole {
            return whole.counts(counts);
        }
        counts.fill(0);
        let count = |_: &Device, search: &mut dyn Search, rows| slices::counts(search, rows);
        for found in self.find(0..counts.len(), count)? {
            for (count, more) in counts[found.rows].iter_mut().zip(found.result) {
                *count += more;
            }
        }
        Ok(())
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        if let Some(whole) = &mut self.whole {
            let device = &self.devices[0];
            match overlaps_within_memory(device, whole, rows.clone()) {
                Err(error) if is_short_of_memory(device, &error) => self.whole = None,
                found => return found,
            }
        }
        let found = self.find(rows.clone(), |device, search, rows| {
            overlaps_within_memory(device, search, 0..rows)
        })?;
        joined(rows.len(), found)
    }
}

/// Rows of a prepared search.
struct Rows(Range<usize>);

impl Partition for Rows {
    /// Unknown until the pairs are counted, so all rows are tried first.
    fn bytes(&self) -> u64 {
        0
    }

    fn split(self, _: usize) -> Result<Vec<Rows>> {
        Ok(match self.0.len() {
            0 | 1 => vec![self],
            _ => halves(&self.0).map(Rows).into(),
        })
    }
}

/// Finds the pairs of these rows, split into ever fewer rows if the device has no room for all
/// pairs.
fn overlaps_within_memory(
    device: &Device,
    search: &mut dyn Search,
    rows: Range<usize>,
) -> Result<Overlaps> {
    let (search, mut results) = (RefCell::new(search), Vec::new());
    let work = |_: &Device, rows: &mut Rows| search.borrow_mut().overlaps(rows.0.clone());
    run_splitting(device, Rows(rows), &work, &mut results)?;
    if results.len() == 1 {
        return Ok(results.swap_remove(0));
    }
    let mut end = 0;
    let found = results.into_iter().map(|result| {
        let start = end;
        end += result.len();
        Found {
            rows: start..end,
            first_column: 0,
            result,
        }
    });
    let found = found.collect();
    joined(end, found)
}

/// Joins the results of partitions of `rows` rows. Each row's indices are those of the partitions
/// with the row, ascending.
fn joined(rows: usize, mut found: Vec<Found<Overlaps>>) -> Result<Overlaps> {
    found.sort_by_key(|found| found.first_column);
    let mut offsets = zeroed::<usize>(rows + 1)?;
    for found in &found {
        let ends = found.result.offsets().windows(2);
        for (offset, ends) in offsets[found.rows.start + 1..].iter_mut().zip(ends) {
            *offset += ends[1] - ends[0];
        }
    }
    let mut end = 0;
    for offset in &mut offsets {
        end += *offset;
        *offset = end;
    }
    let mut indices = zeroed::<u32>(end)?;
    parallel::each(row_blocks(&offsets, &mut indices), |(block, places)| {
        let has_rows = |rows: &Range<usize>| rows.start < block.end && rows.end > block.start;
        let found: Vec<_> = found.iter().filter(|found| has_rows(&found.rows)).collect();
        let mut places = places.iter_mut();
        for row in block {
            for found in found.iter().filter(|found| found.rows.contains(&row)) {
                let indices = found.result.row(row - found.rows.start);
                for (&index, place) in indices.iter().zip(places.by_ref()) {
                    *place = found.first_column as u32 + index;
                }
            }
        }
    });
    Ok(Overlaps::new(offsets, indices))
}
