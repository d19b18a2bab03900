//! The search over several devices, and within little memory.

use std::ops::Range;

use super::search::{Problem, Search};
use super::tile::{Found, Tile};
use super::{Coordinate, Overlaps};
use crate::device::zeroed;
use crate::parallel;
use crate::partition::{is_short_of_memory, least_budget, recheck, require_devices, run_parts};
use crate::{Device, Result};

/// A search over all of the devices. One that has room for it goes its own way.
pub fn search<'a, T: Coordinate>(
    devices: &[Device],
    problem: Problem<'a, T>,
) -> Result<Box<dyn Search + 'a>> {
    require_devices(devices, problem.operation)?;
    let budget = least_budget(devices);
    if let ([device], None) = (devices, budget) {
        return T::search_on(device, problem);
    }
    let divided = Divided {
        devices: devices.to_vec(),
        problem,
    };
    Ok(match devices {
        [device] if divided.may_fit(budget) => Box::new(within_memory::search(device, divided)?),
        _ => Box::new(divided),
    })
}

/// A search in tiles, each of which some device does as a search of its own.
struct Divided<'a, T: Coordinate> {
    devices: Vec<Device>,
    problem: Problem<'a, T>,
}

impl<T: Coordinate> Divided<'_, T> {
    /// Whether all boxes have room in a device's memory.
    fn may_fit(&self, budget: Option<u64>) -> bool {
        let rows = 0..self.problem.set1.boxes().len();
        let tiles = Tile::of_rows(&self.problem, rows, 1, None);
        let boxes: u64 = tiles.iter().map(Tile::bytes_of_boxes).sum();
        budget.is_none_or(|budget| boxes <= budget)
    }

    /// What is found in tiles with these rows.
    fn find<F: Send>(
        &self,
        rows: Range<usize>,
        find: impl Fn(&Device, &mut dyn Search, Range<usize>) -> Result<F> + Sync,
    ) -> Result<Vec<Found<F>>> {
        // Pairs need room too.
        let bytes = least_budget(&self.devices).map(|budget| budget - budget / 4);
        let tiles = Tile::of_rows(&self.problem, rows, self.devices.len(), bytes);
        let work = |device: &Device, tile: &mut Tile<T>| {
            let mut search = T::search_on(device, tile.problem())?;
            Found::new(tile, find(device, &mut *search, 0..tile.rows.len()))
        };
        recheck(run_parts(&self.devices, tiles, work), || {
            self.problem.check()
        })
    }
}

impl<T: Coordinate> Search for Divided<'_, T> {
    fn counts(&mut self) -> Result<Vec<u32>> {
        let rows = self.problem.set1.boxes().len();
        let mut counts = zeroed::<u32>(rows)?;
        for tile in self.find(0..rows, |_, search, _| search.counts())? {
            for (count, more) in counts[tile.rows].iter_mut().zip(tile.found) {
                *count += more;
            }
        }
        Ok(counts)
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        let tiles = self.find(rows.clone(), |device, search, rows| {
            let mut found = Vec::new();
            in_pieces(device, search, rows, &mut found)?;
            put_together(found)
        })?;
        let columns = tiles.into_iter().map(|tile| Found {
            rows: tile.rows.start - rows.start..tile.rows.end - rows.start,
            ..tile
        });
        side_by_side(rows.len(), columns.collect())
    }
}

/// The pairs of these rows, in ever smaller pieces if there is no room on the device for all.
fn in_pieces(
    device: &Device,
    search: &mut dyn Search,
    rows: Range<usize>,
    found: &mut Vec<Overlaps>,
) -> Result<()> {
    let error = match search.overlaps(rows.clone()) {
        Ok(overlaps) => {
            found.push(overlaps);
            return Ok(());
        }
        Err(error) => error,
    };
    // Unless it was the search itself that had no room.
    if rows.len() < 2 || !is_short_of_memory(device, &error) || search.counts().is_err() {
        return Err(error);
    }
    let middle = rows.start + rows.len() / 2;
    in_pieces(device, search, rows.start..middle, found)?;
    in_pieces(device, search, middle..rows.end, found)
}

/// The pairs of rows that follow each other.
fn put_together(mut found: Vec<Overlaps>) -> Result<Overlaps> {
    if found.len() == 1 {
        return Ok(found.swap_remove(0));
    }
    let rows = found.iter().map(Overlaps::len).sum();
    let mut next = 0;
    let of_rows = found.into_iter().map(|found| {
        let rows = next..next + found.len();
        next = rows.end;
        Found {
            rows,
            first_column: 0,
            found,
        }
    });
    side_by_side(rows, of_rows.collect())
}

/// Rows that a thread copies in one go.
const ROWS: usize = 1 << 12;

/// The pairs of so many rows, from tiles that have each pair once: each row's indices are those of its tiles, ascending.
fn side_by_side(rows: usize, mut tiles: Vec<Found<Overlaps>>) -> Result<Overlaps> {
    tiles.sort_by_key(|tile| tile.first_column);
    let mut offsets = zeroed::<u64>(rows + 1)?;
    for tile in &tiles {
        let counts = tile.found.offsets();
        for (i, row) in tile.rows.clone().enumerate() {
            offsets[row + 1] += counts[i + 1] - counts[i];
        }
    }
    let mut end = 0;
    for offset in &mut offsets {
        end += *offset;
        *offset = end;
    }
    let mut indices = zeroed::<u32>(end as usize)?;
    let mut rest = &mut indices[..];
    let mut blocks = Vec::new();
    for start in (0..rows).step_by(ROWS) {
        let block = start..rows.min(start + ROWS);
        let pairs = (offsets[block.end] - offsets[block.start]) as usize;
        let (places, behind) = rest.split_at_mut(pairs);
        blocks.push((block, places));
        rest = behind;
    }
    parallel::each(blocks, |(block, places)| {
        let with_rows =
            |tile: &&Found<Overlaps>| tile.rows.start < block.end && tile.rows.end > block.start;
        let tiles: Vec<_> = tiles.iter().filter(with_rows).collect();
        let mut places = places.iter_mut();
        for row in block {
            for tile in tiles.iter().filter(|tile| tile.rows.contains(&row)) {
                let indices = tile.found.row(row - tile.rows.start);
                for (&index, place) in indices.iter().zip(places.by_ref()) {
                    *place = tile.first_column as u32 + index;
                }
            }
        }
    });
    Ok(Overlaps::new(offsets, indices))
}

/// A device that may have room for all.
mod within_memory {
    use super::*;
    use crate::box_overlap::gpu::GpuSearch;

    /// Begins with the search as it is on a device with room for it.
    pub fn search<'a, T: Coordinate>(
        device: &Device,
        divided: Divided<'a, T>,
    ) -> Result<WithinMemory<'a, T>> {
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

    pub struct WithinMemory<'a, T: Coordinate> {
        device: Device,
        /// None once it was found that there is no room for it.
        whole: Option<GpuSearch<T>>,
        divided: Divided<'a, T>,
    }

    impl<T: Coordinate> Search for WithinMemory<'_, T> {
        fn counts(&mut self) -> Result<Vec<u32>> {
            if let Some(whole) = &mut self.whole {
                let counts = whole.counts();
                if self.keeps(&counts) {
                    return counts;
                }
            }
            self.divided.counts()
        }

        fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
            if let Some(whole) = &mut self.whole {
                let mut found = Vec::new();
                let done = in_pieces(&self.device, whole, rows.clone(), &mut found);
                if self.keeps(&done) {
                    return done.and_then(|()| put_together(found));
                }
            }
            self.divided.overlaps(rows)
        }
    }

    impl<T: Coordinate> WithinMemory<'_, T> {
        /// Gives the search of all up if the device has no room for it.
        fn keeps<R>(&mut self, result: &Result<R>) -> bool {
            let is_short = |error| is_short_of_memory(&self.device, error);
            if result.as_ref().err().is_some_and(is_short) {
                self.whole = None;
            }
            self.whole.is_some()
        }
    }
}
