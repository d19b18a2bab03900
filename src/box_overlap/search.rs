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
}

/// A search on a device. Boxes are checked when it is made, or when it is used first.
pub trait Search {
    /// How many boxes overlap each box of the first set.
    fn counts(&mut self) -> Result<Vec<u32>>;

    /// The pairs of these rows of the first set, with offsets that begin with 0.
    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps>;
}
