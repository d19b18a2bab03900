//! The search on all cores of the CPU.

use std::ops::Range;

use rayon::prelude::*;

use super::boxes::{Packed, overlap};
use super::search::{Problem, Search};
use super::{Coordinate, Overlaps};
use crate::Result;

/// A search on the CPU.
pub(super) struct CpuSearch<'a, T: Coordinate> {
    set1: Packed<'a, T>,
    /// None for pairs (i, j), i < j, of the first set.
    set2: Option<Packed<'a, T>>,
}

impl<'a, T: Coordinate> CpuSearch<'a, T> {
    /// Checks the boxes.
    pub fn new(problem: Problem<'a, T>) -> Result<Self> {
        let operation = problem.operation;
        problem.set1.boxes().check(operation, problem.name1())?;
        if let Some(set2) = &problem.set2 {
            set2.boxes().check(operation, "set2")?;
        }
        Ok(CpuSearch {
            set1: problem.set1,
            set2: problem.set2,
        })
    }

    fn row(&self, i: usize) -> impl Iterator<Item = u32> {
        let row = self.set1.boxes().row(i);
        let (set2, first) = match &self.set2 {
            Some(set2) => (set2.boxes(), 0),
            None => (self.set1.boxes(), i + 1),
        };
        (first..set2.len())
            .filter(move |&j| overlap(row, set2.row(j)))
            .map(|j| j as u32)
    }
}

impl<T: Coordinate> Search for CpuSearch<'_, T> {
    fn counts(&mut self) -> Result<Vec<u32>> {
        let rows = 0..self.set1.boxes().len();
        Ok(rows
            .into_par_iter()
            .map(|i| self.row(i).count() as u32)
            .collect())
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        let (mut offsets, mut indices) = (vec![0], vec![]);
        for i in rows {
            indices.extend(self.row(i));
            offsets.push(indices.len() as u64);
        }
        Ok(Overlaps::new(offsets, indices))
    }
}
