//! What every device does: find out how many pairs each row has, and write those of any rows.

use std::ops::Range;

use super::boxes::Packed;
use super::{Algorithm, Coordinate, Overlaps};
use crate::Result;

/// What is looked for.
#[derive(Debug)]
pub struct Problem<'a, T: Coordinate> {
    pub(super) operation: &'static str,
    pub(super) algorithm: Algorithm,
    pub(super) set1: Packed<'a, T>,
    /// None for pairs (i, j), i < j, of the first set.
    pub(super) set2: Option<Packed<'a, T>>,
}

impl<T: Coordinate> Problem<'_, T> {
    /// The name of the first set in messages.
    pub(super) fn name1(&self) -> &'static str {
        match self.set2 {
            Some(_) => "set1",
            None => "set",
        }
    }

    /// The number of boxes of the second set, which may be the first.
    pub(super) fn rows2(&self) -> usize {
        let set2 = self.set2.as_ref().unwrap_or(&self.set1);
        set2.boxes().len()
    }

    /// Fails for the first row that is no box.
    pub(super) fn check(&self) -> Result<()> {
        self.set1.boxes().check(self.operation, self.name1())?;
        match &self.set2 {
            Some(set2) => set2.boxes().check(self.operation, "set2"),
            None => Ok(()),
        }
    }
}

/// A search on a device. Boxes are checked when it is made, or when it is used first.
pub trait Search {
    /// How many boxes overlap each box of the first set.
    fn counts(&mut self) -> Result<Vec<u32>>;

    /// The pairs of these rows of the first set, with offsets that begin with 0.
    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps>;
}
