//! The columns of a file's points while they are read.

use std::collections::TryReserveError;
use std::mem;

use anyhow::{Result, anyhow};
use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;

use crate::memory::room_for;

/// The capacity of a chunk, in points. glibc's malloc returns memory of this size to the system when
/// the chunk is dropped; it may keep up to 32 MiB.
const CHUNK: usize = 1 << 23;

/// Points in the order in which they are added.
pub struct Columns {
    /// Points that a chunk has room for.
    chunk_size: usize,
    /// Values of each point.
    width: usize,
    chunks: Vec<Chunk>,
    /// Series and numbers of successive points.
    runs: Vec<(u32, u32)>,
    /// Whether points have to be moved so that those of each series are together.
    is_scattered: bool,
}

struct Chunk {
    timestamps: Vec<i64>,
    /// The values of each column.
    values: Vec<Vec<f64>>,
}

/// Timestamps, the values of each column, and where each series begins.
pub type Grouped = (Vec<i64>, Vec<Vec<f64>>, Vec<usize>);

impl Columns {
    /// Begins without points, each of which will have `width` values.
    pub fn new(width: usize) -> Columns {
        Columns::with_chunks(width, CHUNK)
    }

    fn with_chunks(width: usize, chunk_size: usize) -> Columns {
        Columns {
            chunk_size,
            width,
            chunks: Vec::new(),
            runs: Vec::new(),
            is_scattered: false,
        }
    }

    /// Returns the number of points.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|&(_, count)| u64::from(count)).sum()
    }

    /// Adds points of some series, the points of each together: runs of a series and a number of
    /// points.
    ///
    /// # Errors
    /// If the memory does not suffice. The columns are then incomplete.
    pub fn add(
        &mut self,
        timestamps: &[i64],
        values: &[Vec<f64>],
        runs: impl Iterator<Item = (u32, u32)>,
    ) -> Result<(), TryReserveError> {
        for (series, count) in runs {
            match self.runs.last_mut() {
                Some((last, sum)) if *last == series && sum.checked_add(count).is_some() => {
                    *sum += count;
                }
                last => {
                    self.is_scattered |= last.is_some_and(|(last, _)| *last > series);
                    self.runs.try_reserve(1)?;
                    self.runs.push((series, count));
                }
            }
        }
        let chunk = self.chunk(timestamps.len())?;
        chunk.timestamps.try_reserve(timestamps.len())?;
        for (column, values) in chunk.values.iter_mut().zip(values) {
            column.try_reserve(values.len())?;
        }
        chunk.timestamps.extend_from_slice(timestamps);
        for (column, values) in chunk.values.iter_mut().zip(values) {
            column.extend_from_slice(values);
        }
        Ok(())
    }

    /// A chunk for so many more points. As long as nothing has to be moved, there is a single one.
    fn chunk(&mut self, count: usize) -> Result<&mut Chunk, TryReserveError> {
        let has_room =
            |chunk: &Chunk| chunk.timestamps.capacity() - chunk.timestamps.len() >= count;
        let last = self.chunks.last();
        if !last.is_some_and(|last| !self.is_scattered || has_room(last)) {
            let mut chunk = Chunk {
                timestamps: Vec::new(),
                values: vec![Vec::new(); self.width],
            };
            if self.is_scattered {
                let size = self.chunk_size.max(count);
                chunk.timestamps.try_reserve_exact(size)?;
                for values in &mut chunk.values {
                    values.try_reserve_exact(size)?;
                }
            }
            self.chunks.push(chunk);
        }
        Ok(self.chunks.last_mut().expect("there is one"))
    }

    /// Brings the points of each of the series together, in the order in which they were added:
    /// timestamps, values, and where each series begins, with the number of points at the end.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn group(mut self, series: usize) -> Result<Grouped> {
        let mut offsets = zeros(series + 1)?;
        for &(series, count) in &self.runs {
            offsets[series as usize + 1] += count as usize;
        }
        for i in 1..offsets.len() {
            offsets[i] += offsets[i - 1];
        }
        if !self.is_scattered {
            let none = || Chunk {
                timestamps: Vec::new(),
                values: vec![Vec::new(); self.width],
            };
            let Chunk { timestamps, values } = self.chunks.pop().unwrap_or_else(none);
            return Ok((timestamps, values, offsets));
        }
        // One column after the other, and what has been moved is dropped, which takes little more
        // memory than the points.
        let timestamps = self
            .chunks
            .iter_mut()
            .map(|chunk| mem::take(&mut chunk.timestamps));
        let timestamps = moved(timestamps, &self.runs, &offsets)?;
        let (chunks, runs) = (&mut self.chunks, &self.runs);
        let values = (0..self.width).map(|column| {
            let values = chunks
                .iter_mut()
                .map(|chunk| mem::take(&mut chunk.values[column]));
            moved(values, runs, &offsets)
        });
        let values = values.collect::<Result<_>>()?;
        Ok((timestamps, values, offsets))
    }
}

/// Moves runs of elements to their series, which begin at `offsets`.
fn moved<T: Copy + Zeroable>(
    chunks: impl Iterator<Item = Vec<T>>,
    runs: &[(u32, u32)],
    offsets: &[usize],
) -> Result<Vec<T>> {
    let mut places = room_for(offsets.len())?;
    places.extend_from_slice(offsets);
    let mut moved = zeros(offsets[offsets.len() - 1])?;
    let mut runs = runs.iter().copied();
    let mut run = (0, 0);
    for chunk in chunks {
        let mut rest = chunk.as_slice();
        while !rest.is_empty() {
            if run.1 == 0 {
                run = runs.next().expect("each element is in a run");
            }
            let count = rest.len().min(run.1 as usize);
            let place = &mut places[run.0 as usize];
            moved[*place..*place + count].copy_from_slice(&rest[..count]);
            *place += count;
            run.1 -= count as u32;
            rest = &rest[count..];
        }
    }
    Ok(moved)
}

/// Returns zeros, to which the system gives memory as they are first written.
fn zeros<T: Zeroable>(count: usize) -> Result<Vec<T>> {
    let zeros = try_zeroed_vec(count);
    zeros.map_err(|()| {
        let bytes = size_of::<T>();
        anyhow!(
            "there is no memory for {count} elements of {bytes} bytes: give smaller files, or free some memory"
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Columns;

    proptest! {
        /// Parts of runs, in chunks that are smaller and larger than the parts.
        #[test]
        fn points_of_a_series_are_brought_together(
            parts in prop::collection::vec(prop::collection::vec((0..4u32, 1..5u32), 0..4), 0..20),
            chunk_size in 1..40usize,
        ) {
            let mut columns = Columns::with_chunks(1, chunk_size);
            let mut expected = vec![Vec::new(); 4];
            let mut next = 0;
            for runs in parts {
                let start = next;
                for &(series, count) in &runs {
                    let end = next + i64::from(count);
                    expected[series as usize].extend(next..end);
                    next = end;
                }
                let timestamps: Vec<_> = (start..next).collect();
                let values: Vec<_> = timestamps.iter().map(|&time| time as f64).collect();
                columns.add(&timestamps, &[values], runs.into_iter()).unwrap();
            }
            let (timestamps, values, offsets) = columns.group(4).unwrap();
            for (series, expected) in expected.iter().enumerate() {
                let places = offsets[series]..offsets[series + 1];
                prop_assert_eq!(&timestamps[places.clone()], &expected[..]);
                prop_assert!(values[0][places].iter().zip(expected).all(|(a, &b)| *a == b as f64));
            }
            prop_assert_eq!(offsets[4], timestamps.len());
        }
    }
}
