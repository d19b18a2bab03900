//! The search over several devices, and within little memory.

mod join;
mod tile;

use std::cell::RefCell;
use std::ops::Range;

use super::gpu::{GpuSearch, HasKernels};
use super::input::Problem;
use super::output::Overlaps;
use super::slices::{self, Search};
use crate::partition::{
    Partition, in_pieces, is_short_of_memory, least_budget, recheck, require_devices, run_parts,
};
use crate::{Device, Result};
use join::{in_order, side_by_side};
use tile::{Found, Tile, halves};

/// Prepares a search on one device that has room for it.
type SearchOn<T> = for<'b> fn(&Device, Problem<'b, T>) -> Result<Box<dyn Search + 'b>>;

/// Prepares a search over all of the devices. A single device with room for all rows searches as a whole.
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
    let divided = Divided {
        devices: devices.to_vec(),
        problem,
        search_on,
    };
    Ok(match devices {
        [device] if divided.may_fit(budget) => Box::new(WithinMemory::new(device, divided)?),
        _ => Box::new(divided),
    })
}

/// A search in tiles, each of which is a search on some device.
struct Divided<'a, T: HasKernels> {
    devices: Vec<Device>,
    problem: Problem<'a, T>,
    search_on: SearchOn<T>,
}

impl<T: HasKernels> Divided<'_, T> {
    /// Whether all boxes have room in a device's memory.
    fn may_fit(&self, budget: Option<u64>) -> bool {
        let rows = 0..self.problem.set1.boxes().len();
        let tiles = Tile::of_rows(&self.problem, rows, 1, None);
        let boxes: u64 = tiles.iter().map(Tile::bytes_of_boxes).sum();
        budget.is_none_or(|budget| boxes <= budget)
    }

    /// Returns what is found in tiles with these rows.
    fn find<F: Send>(
        &self,
        rows: Range<usize>,
        find: impl Fn(&Device, &mut dyn Search, usize) -> Result<F> + Sync,
    ) -> Result<Vec<Found<F>>> {
        // Pairs need room too.
        let bytes = least_budget(&self.devices).map(|budget| budget - budget / 4);
        let tiles = Tile::of_rows(&self.problem, rows, self.devices.len(), bytes);
        let work = |device: &Device, tile: &mut Tile<T>| {
            let mut search = (self.search_on)(device, tile.problem())?;
            Found::new(tile, find(device, &mut *search, tile.rows.len()))
        };
        recheck(run_parts(&self.devices, tiles, work), || {
            self.problem.check()
        })
    }
}

impl<T: HasKernels> Search for Divided<'_, T> {
    fn counts(&mut self, counts: &mut [u32]) -> Result<()> {
        counts.fill(0);
        for tile in self.find(0..counts.len(), |_, search, rows| {
            slices::counts(search, rows)
        })? {
            for (count, more) in counts[tile.rows].iter_mut().zip(tile.found) {
                *count += more;
            }
        }
        Ok(())
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        let tiles = self.find(rows.clone(), |device, search, rows| {
            overlaps_in_pieces(device, search, 0..rows)
        })?;
        let columns = tiles.into_iter().map(|tile| Found {
            rows: tile.rows.start - rows.start..tile.rows.end - rows.start,
            ..tile
        });
        side_by_side(rows.len(), columns.collect())
    }
}

/// Rows of a search that is prepared.
struct Rows(Range<usize>);

impl Partition for Rows {
    /// Only known once the pairs are counted: all rows are tried first.
    fn bytes(&self) -> u64 {
        0
    }

    fn split(self, _: usize) -> Vec<Rows> {
        match self.0.len() {
            0 | 1 => vec![self],
            _ => halves(&self.0).map(Rows).into(),
        }
    }
}

/// Finds the pairs of these rows, in ever smaller pieces if there is no room on the device for all.
fn overlaps_in_pieces(
    device: &Device,
    search: &mut dyn Search,
    rows: Range<usize>,
) -> Result<Overlaps> {
    search.prepare()?;
    let (search, mut found) = (RefCell::new(search), Vec::new());
    let work = |_: &Device, rows: &mut Rows| search.borrow_mut().overlaps(rows.0.clone());
    in_pieces(device, Rows(rows), &work, &mut found)?;
    in_order(found)
}

/// A search on a device that may have room for all.
struct WithinMemory<'a, T: HasKernels> {
    device: Device,
    /// `None` once it was found that there is no room for it.
    whole: Option<GpuSearch<T>>,
    divided: Divided<'a, T>,
}

impl<'a, T: HasKernels> WithinMemory<'a, T> {
    fn new(device: &Device, divided: Divided<'a, T>) -> Result<Self> {
        let whole = match GpuSearch::new(device, &divided.problem) {
            Ok(whole) => Some(whole),
            Err(error) if is_short_of_memory(device, &error) => None,
            Err(error) => return Err(error),
        };
        Ok(WithinMemory {
            device: device.clone(),
            whole,
            divided,
        })
    }

    /// Gives the search as a whole up if the device has no room for it.
    fn keeps<R>(&mut self, result: &Result<R>) -> bool {
        let is_short = |error| is_short_of_memory(&self.device, error);
        if result.as_ref().err().is_some_and(is_short) {
            self.whole = None;
        }
        self.whole.is_some()
    }
}

impl<T: HasKernels> Search for WithinMemory<'_, T> {
    fn counts(&mut self, counts: &mut [u32]) -> Result<()> {
        if let Some(whole) = &mut self.whole {
            let done = whole.counts(counts);
            if self.keeps(&done) {
                return done;
            }
        }
        self.divided.counts(counts)
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        if let Some(whole) = &mut self.whole {
            let found = overlaps_in_pieces(&self.device, whole, rows.clone());
            if self.keeps(&found) {
                return found;
            }
        }
        self.divided.overlaps(rows)
    }
}
