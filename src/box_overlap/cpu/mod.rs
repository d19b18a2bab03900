//! The search on all cores of the CPU.

mod brute_force;
mod curve;
mod finder;
mod group;
mod lanes;
mod rows;
mod tree;
mod walk;

use std::ops::Range;

use rayon::prelude::*;

use super::boxes::{Boxes, Packed};
use super::search::{Problem, Search};
use super::{Algorithm, Coordinate, Overlaps};
use crate::Result;
use brute_force::BruteForce;
use lanes::Lanes;
use finder::{Finder, Found, Wanted, reserve};
use rows::{all_counts, all_pairs, sort_rows};
use walk::Indexed;

/// The most rows that a thread takes in one go.
const PART: usize = 512;

/// Parts per thread at least, if there are as many rows: some rows have many more pairs than others.
const PARTS_PER_THREAD: usize = 8;

/// A search on the CPU.
pub(super) struct CpuSearch<'a, T: Coordinate> {
    set1: Packed<'a, T>,
    /// The number of boxes of the second set.
    length: usize,
    finder: Box<dyn Finder<T>>,
}

impl<'a, T: Lanes> CpuSearch<'a, T> {
    /// Checks the boxes, and prepares the second set.
    pub fn new(problem: Problem<'a, T>) -> Result<Self> {
        let operation = problem.operation;
        let set1 = problem.set1.boxes();
        set1.check(operation, problem.name1())?;
        if let Some(set2) = &problem.set2 {
            set2.boxes().check(operation, "set2")?;
        }
        let (set2, is_self) = match &problem.set2 {
            Some(set2) => (set2.boxes(), false),
            None => (set1, true),
        };
        let algorithm = match problem.algorithm {
            Algorithm::Auto => Algorithm::Indexed,
            algorithm => algorithm,
        };
        let finder = match set2.axes {
            2 => prepare::<T, 2>(algorithm, set2, is_self)?,
            _ => prepare::<T, 3>(algorithm, set2, is_self)?,
        };
        Ok(CpuSearch { length: set2.len(), finder, set1: problem.set1 })
    }

    /// The pairs of rows of the first set, part by part.
    fn find(&self, rows: Range<usize>, wanted: Wanted) -> Result<Vec<Found>> {
        let set1 = self.set1.boxes();
        let width = 2 * set1.axes;
        let wished = rows.len() / (rayon::current_num_threads() * PARTS_PER_THREAD);
        let part = wished.clamp(1, PART);
        let numbers = &set1.numbers[rows.start * width..rows.end * width];
        let parts = numbers.par_chunks(part * width).enumerate().map(|(i, numbers)| {
            let part_of_set1 = Boxes { numbers, axes: set1.axes };
            let mut found = self.finder.find(part_of_set1, rows.start + i * part, wanted)?;
            sort_rows(&mut found, self.length)?;
            Ok(found)
        });
        parts.collect()
    }
}

fn prepare<T: Lanes, const AXES: usize>(
    algorithm: Algorithm,
    set2: Boxes<'_, T>,
    is_self: bool,
) -> Result<Box<dyn Finder<T>>> {
    Ok(match algorithm {
        Algorithm::BruteForce => Box::new(BruteForce::<T, AXES>::new(set2, is_self)?),
        _ => Box::new(Indexed::<T, AXES>::new(set2, is_self)?),
    })
}

impl<T: Lanes> Search for CpuSearch<'_, T> {
    fn counts(&mut self) -> Result<Vec<u32>> {
        let rows = 0..self.set1.boxes().len();
        all_counts(self.find(rows, Wanted::Counts)?)
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        all_pairs(self.find(rows, Wanted::CountsAndIndices)?)
    }
}

/// As many elements, made by all cores.
fn collect<U: Send>(count: usize, element: impl Fn(usize) -> U + Send + Sync) -> Result<Vec<U>> {
    let mut elements = Vec::new();
    reserve(&mut elements, count)?;
    // There is room already: this allocates nothing.
    (0..count).into_par_iter().with_min_len(1 << 10).map(element).collect_into_vec(&mut elements);
    Ok(elements)
}
