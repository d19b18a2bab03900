//! Counts of the pairs of page-locked boxes, whose copies overlap with the search.
//!
//! A stream copies the second set and then the first, in chunks. As soon as the second set has
//! arrived, the handle's stream builds the tree over it, and then searches in it for one chunk after
//! the other, beside the following copies. A third stream copies counts back.
//!
//! Order of the streams:
//! - The handle's stream waits for the copies of the second set and of each chunk. What is copied to
//!   the device is copied once, so no copy waits for memory to become free.
//! - The stream that copies back waits for the search of each chunk, whose counts have a buffer of
//!   their own. The host waits for this stream before counts are copied again.
//! - Buffers of the search are allocated and freed in the order of the handle's stream. Those that
//!   are copied are freed, and the caller's arrays returned, after the host has waited for the other
//!   two streams, also after an error: see [`Device::side_streams`].

use box_overlap_kernels::{Counters, Sets};
use cuda_std::DeviceSlice;
use gridstride_runtime::device::{Buffer, DeviceArray, Event, SideStreams};
use gridstride_runtime::partition::is_short_of_memory;
use gridstride_runtime::{Device, Result};
use ndarray::Ix2;

use super::counting::{self, Counting};
use super::indexed::{DeferredRows, Tree, sorted};
use super::kernels::HasKernels;
use crate::input::{DeviceProblem, Packed, Problem};
use crate::tuning;
use crate::workspace::Searching;

/// The streams that copy to the device and from it.
const TO: usize = 0;
const FROM: usize = 1;

/// Writes the number of each row's pairs. Returns `false` if the boxes are too few for chunks, or
/// their copies cannot overlap with kernels, or the memory does not suffice for all boxes.
pub fn host_counts<T: HasKernels>(
    device: &Device,
    problem: &Problem<T>,
    counts: &mut [u32],
) -> Result<bool> {
    let Some(set2) = &problem.set2 else {
        return Ok(false);
    };
    let [rows1, rows2] = [&problem.set1, set2].map(|set| set.boxes().len());
    // First, since it asks nothing of the driver.
    let Some(chunk) = tuning::chunk_rows(problem.algorithm, rows1, rows2) else {
        return Ok(false);
    };
    let are_locked = [&problem.set1, set2]
        .iter()
        .all(|set| device.copies_beside_kernels(set.boxes().numbers));
    if !are_locked || !device.copies_beside_kernels(counts) {
        return Ok(false);
    }
    match count(device, problem, set2, chunk, counts) {
        // Counts are not read, so that others may replace them.
        Err(error) if is_short_of_memory(device, &error) => Ok(false),
        counted => counted.map(|()| true),
    }
}

/// Writes the number of each row's pairs, searched in chunks of `chunk` rows of the first set, which
/// has at least as many.
fn count<T: HasKernels>(
    device: &Device,
    problem: &Problem<T>,
    set2: &Packed<T>,
    chunk: usize,
    counts: &mut [u32],
) -> Result<()> {
    let (boxes1, boxes2) = (problem.set1.boxes(), set2.boxes());
    let (rows1, width) = (boxes1.len(), 2 * boxes1.axes);
    let array = |rows| DeviceArray::from_buffer(device.alloc(rows * width)?, Ix2(rows, width));
    let (mut set1, mut set2) = (array(rows1)?, array(boxes2.len())?);
    let chunks = rows1.div_ceil(chunk);
    let found = (0..chunks).map(|_| device.alloc(chunk));
    let mut found = found.collect::<Result<Vec<_>>>()?;
    // Declared after the buffers that it copies: dropped, and waited for, before them.
    let mut streams = device.side_streams();
    streams.open(2)?;
    let to = streams.on(TO);
    let copy = |array: &mut DeviceArray<T, Ix2>, start, numbers: &[T]| {
        // SAFETY: the boxes are borrowed until `streams` has waited, and kernels that read them wait
        // for the event.
        unsafe { (array.inner_mut()).start_copy_from(to, start, numbers)? };
        let event = device.event()?;
        to.record(&event)?;
        Ok(event)
    };
    let set2_arrived = copy(&mut set2, 0, boxes2.numbers)?;
    let of_chunks = boxes1.numbers.chunks(chunk * width).enumerate();
    let arrived =
        of_chunks.map(|(number, numbers)| copy(&mut set1, number * chunk * width, numbers));
    let arrived = Arrived {
        set2: set2_arrived,
        chunks: arrived.collect::<Result<_>>()?,
    };
    let resident = DeviceProblem {
        operation: problem.operation,
        algorithm: problem.algorithm,
        set1: &set1,
        set2: Some(&set2),
    };
    if search(&resident, &streams, &arrived, &mut found, counts)? {
        return Ok(());
    }
    // All boxes are on the device, or will be.
    streams.finish()?;
    let mut all = device.alloc(rows1)?;
    super::counts(&resident, &mut all)?;
    all.copy_to(counts)
}

/// Events recorded behind the copies of the boxes.
struct Arrived {
    set2: Event,
    chunks: Vec<Event>,
}

/// A searched chunk.
struct Searched<'a, T: HasKernels> {
    search: Counting<'a, T>,
    examined: Counting<'a, T>,
    /// Rows that are left to warps.
    left: Buffer<u64>,
}

impl<T: HasKernels> Searched<'_, T> {
    /// Waits for the search. Returns the number of the rows left to warps, or `None` if a row is no
    /// box.
    fn rows_left(&self) -> Result<Option<usize>> {
        if has_fault(&self.examined)? {
            return Ok(None);
        }
        let counters = self.search.counters.to_vec()?;
        Ok(Some(counters[Counters::LEFT] as usize))
    }
}

/// Waits for the examination of boxes. Returns whether a row is no box.
fn has_fault<T: HasKernels>(examined: &Counting<T>) -> Result<bool> {
    let counters = examined.counters.to_vec()?;
    let faults = &counters[Counters::FAULTS..][..2];
    Ok(faults.iter().any(|&row| row != Counters::NO_FAULT))
}

/// Searches in chunks of the rows that have `arrived`, into the buffers `found` and then `counts`.
///
/// Returns `false` if a row is no box, which a search in the whole names, or if so many rows are
/// left to warps that a search in the whole chooses the algorithm. This shows in the first chunk
/// already, unless the rows are in a particular order: the rest is copied meanwhile.
fn search<T: HasKernels>(
    problem: &DeviceProblem<T>,
    streams: &SideStreams,
    arrived: &Arrived,
    found: &mut [Buffer<u32>],
    counts: &mut [u32],
) -> Result<bool> {
    let (device, all, from) = (problem.device(), counting::sets(problem), streams.on(FROM));
    let (chunk, rows2) = (found[0].len(), all.rows2 as usize);
    // All chunks have the same number of rows: the last one begins among those of the one before.
    let last = counts.len() - chunk;

    device.wait(&arrived.set2)?;
    let set2 = alone(&all, all.set2, all.rows2);
    // SAFETY: the second set, which has arrived when kernels read it.
    let base = unsafe { Counting::of_sets(problem, set2)? };
    let order = sorted(&base)?;
    let Searching {
        tree: words,
        mut slots,
        left,
    } = Searching::allocate(device, chunk, rows2)?;
    // The queries of a chunk go before the rows of the tree.
    let mut tree = Tree::build(&base, order, words)?.with_queries(device, chunk)?;
    let mut lefts = vec![left];
    for _ in 1..found.len() {
        lefts.push(device.alloc(chunk)?);
    }

    let mut searched: Vec<Searched<T>> = Vec::with_capacity(found.len());
    let places = found.iter_mut().zip(counts.chunks_mut(chunk));
    for ((number, (found, target)), left) in places.enumerate().zip(lefts) {
        device.wait(&arrived.chunks[number])?;
        let sets = part(&all, (number * chunk).min(last), chunk);
        // SAFETY: rows of the first set, which have arrived when kernels read them.
        let examined = unsafe { Counting::of_sets(problem, alone(&sets, sets.set1, sets.rows1))? };
        let rows = sorted(&examined)?;
        // After the launches for this chunk, which run while the host waits.
        if number == 1 && (has_fault(&base)? || searched[0].rows_left()? != Some(0)) {
            return Ok(false);
        }
        let mut this = Searched {
            search: Counting {
                problem,
                device,
                sets,
                counters: device.alloc(Counters::COUNT)?,
            },
            examined,
            left,
        };
        // SAFETY: all buffers were made for this handle, on whose stream they are also freed. The
        // tree is of the second set, its queries are the chunk's, and the buffers have room for the
        // chunk.
        unsafe {
            tree.set_queries(device, &rows)?;
            // Starts with the counters that the tree was built from, in which no rows are left to
            // warps yet.
            (this.search.counters).start_copy_of(device, &base.counters, 0)?;
            tree.find(&mut this.search, found, &mut slots, &mut this.left)?;
        }
        let event = device.event()?;
        device.record(&event)?;
        from.wait(&event)?;
        // SAFETY: the counts are borrowed until the host has waited for the stream, and the buffer
        // is not written before that. Nothing of the last chunk is before its target but rows of
        // the chunk before.
        unsafe { found.start_copy_to(from, chunk - target.len(), target)? };
        searched.push(this);
    }

    let mut rows_left = vec![];
    for this in &searched {
        match this.rows_left()? {
            Some(left) if left <= tuning::few_left(chunk) => rows_left.push(left),
            _ => return Ok(false),
        }
    }
    streams.on(FROM).synchronize()?;
    let places = found.iter_mut().zip(counts.chunks_mut(chunk));
    for ((mut this, left), (found, target)) in searched.into_iter().zip(rows_left).zip(places) {
        if left > 0 {
            let rows = this.left.truncated(left);
            DeferredRows::count(&mut this.search, &tree, rows, found)?;
            found.copy_part_to(chunk - target.len(), target)?;
        }
    }
    Ok(true)
}

/// Returns rows of one of the sets as if both sets were these.
fn alone<T: HasKernels>(sets: &Sets<T>, set: DeviceSlice<T>, rows: u32) -> Sets<T> {
    Sets {
        set1: set,
        set2: set,
        rows1: rows,
        rows2: rows,
        above: 1,
        ..*sets
    }
}

/// Returns sets of which the first has some rows of that of `sets`.
fn part<T: HasKernels>(sets: &Sets<T>, start: usize, rows: usize) -> Sets<T> {
    let width = 2 * sets.axes as usize;
    assert!((start + rows) * width <= sets.set1.len());
    let first = sets.set1.as_ptr().wrapping_add(start * width);
    Sets {
        // SAFETY: some of these elements.
        set1: unsafe { DeviceSlice::from_raw_parts(first, rows * width) },
        rows1: rows as u32,
        ..*sets
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::options::{Algorithm, BoxOverlap};
    use gridstride_runtime::device::device_for_tests;
    use gridstride_runtime::random::random;
    use gridstride_runtime::{Error, Number};

    const ROWS: [usize; 2] = [700, 600];
    const CHUNK: usize = 256;

    /// Returns boxes of this extent at random places in a cube, or in a square.
    fn scattered<T: Number>(rows: usize, seed: u64, axes: usize, extent: f64) -> Array2<T> {
        let mut bits = random(seed);
        let mut boxes = Array2::from_elem((rows, 2 * axes), T::from_f64(0.0));
        for mut row in boxes.rows_mut() {
            for axis in 0..axes {
                let place = (bits() >> 40) as f64 / (1 << 14) as f64;
                row[axis] = T::from_f64(place);
                row[axes + axis] = T::from_f64(place + extent);
            }
        }
        boxes
    }

    fn counted<T: HasKernels>(set1: &Array2<T>, set2: &Array2<T>) -> Result<Vec<u32>> {
        let device = device_for_tests();
        let (algorithm, views) = (Algorithm::Indexed, (set1.view(), set2.view()));
        let problem = Problem::new("test", algorithm, views.0, Some(views.1))?;
        let mut counts = vec![u32::MAX; set1.nrows()];
        let set2 = problem.set2.as_ref().unwrap();
        count(&device, &problem, set2, CHUNK, &mut counts)?;
        Ok(counts)
    }

    fn check<T: HasKernels + crate::Coordinate>(set1: &Array2<T>, set2: &Array2<T>) {
        let expected = BoxOverlap::new().counts(&Device::cpu(), set1.view(), set2.view());
        assert_eq!(counted(set1, set2).unwrap(), expected.unwrap().to_vec());
    }

    fn sets<T: Number>(axes: usize, extent: f64) -> [Array2<T>; 2] {
        [1, 2].map(|set| scattered(ROWS[set - 1], set as u64, axes, extent))
    }

    #[test]
    fn chunks_are_counted_as_the_whole() {
        for (axes, extent) in [(3, 150.0), (2, 30.0)] {
            let [set1, set2] = sets::<f32>(axes, extent);
            check(&set1, &set2);
        }
        let [set1, set2] = sets::<f64>(3, 150.0);
        check(&set1, &set2);
        // Later chunks are far from the second set, which determines the tree's domain.
        let [mut set1, set2] = sets::<i32>(2, 30.0);
        set1.rows_mut()
            .into_iter()
            .skip(2 * CHUNK)
            .for_each(|mut row| row += 1_000_000_000);
        check(&set1, &set2);
    }

    #[test]
    fn rows_with_many_pairs_are_counted() {
        for giants in [
            vec![3],
            vec![CHUNK + 3],
            vec![CHUNK + 3, CHUNK + 5],
            vec![650],
        ] {
            let [mut set1, set2] = sets::<f32>(3, 100.0);
            for giant in giants {
                set1.row_mut(giant)
                    .assign(&ndarray::arr1(&[0.0, 0.0, 0.0, 900.0, 900.0, 900.0]));
            }
            check(&set1, &set2);
        }
    }

    #[test]
    fn the_first_row_that_is_no_box_is_named() {
        for (rows, expected) in [([300, 650], 300), ([5, 300], 5), ([650, 699], 650)] {
            let [mut set1, set2] = sets::<f32>(3, 100.0);
            rows.iter().for_each(|&row| set1[[row, 1]] = f32::NAN);
            let error = counted(&set1, &set2).unwrap_err();
            assert!(
                matches!(error, Error::InvalidInput { index: Some(row), .. } if row == expected),
                "{error:?}"
            );
        }
        // The second set, which is examined for the tree.
        let [set1, mut set2] = sets::<f32>(3, 100.0);
        set2[[5, 1]] = f32::NAN;
        let error = counted(&set1, &set2).unwrap_err();
        assert!(
            matches!(error, Error::InvalidInput { index: Some(5), .. }),
            "{error:?}"
        );
    }
}
