//! Parts of a search: some rows of the first set, and some of the second.

use std::ops::Range;

use crate::Result;
use crate::box_overlap::gpu::{self, HasKernels};
use crate::box_overlap::input::Problem;
use crate::partition::{Partition, equal_ranges};

/// Rows of the first set that are tested against rows of the second.
#[derive(Debug)]
pub struct Tile<'a, T: HasKernels> {
    whole: &'a Problem<'a, T>,
    pub rows: Range<usize>,
    /// None for pairs (i, j), i < j, of `rows`.
    columns: Option<Range<usize>>,
}

/// Boxes of a tile that is not cut further before it was tried: there might be very many tiles.
const FEW: usize = 256;

impl<'a, T: HasKernels> Tile<'a, T> {
    /// Tiles for some rows of the first set and all that they are to be tested against: parts of the rows, ascending,
    /// and cut further where one takes more bytes than there are.
    pub fn of_rows(
        whole: &'a Problem<'a, T>,
        rows: Range<usize>,
        parts: usize,
        bytes: Option<u64>,
    ) -> Vec<Self> {
        let end = whole.rows2();
        let tile = |rows: Range<usize>, columns| Tile {
            whole,
            rows,
            columns,
        };
        let mut ranges: Vec<_> = equal_ranges(rows.len(), parts, 1)
            .map(|range| rows.start + range.start..rows.start + range.end)
            .collect();
        if ranges.is_empty() {
            // The other set's boxes are to be looked at all the same.
            ranges.push(rows);
        }
        let mut tiles = Vec::new();
        for range in ranges {
            if whole.set2.is_some() {
                tiles.push(tile(range, Some(0..end)));
                continue;
            }
            let behind = range.end..end;
            tiles.push(tile(range.clone(), None));
            if !behind.is_empty() {
                tiles.push(tile(range, Some(behind)));
            }
        }
        match bytes {
            Some(bytes) if Self::few(whole).bytes() <= bytes => tiles
                .into_iter()
                .flat_map(|tile| tile.within(bytes))
                .collect(),
            // Without room for a few boxes that is found out at the first tile.
            _ => tiles,
        }
    }

    /// A tile that would not be cut further.
    fn few(whole: &'a Problem<'a, T>) -> Self {
        Tile {
            whole,
            rows: 0..whole.set1.boxes().len().min(FEW / 2),
            columns: Some(0..whole.rows2().min(FEW / 2)),
        }
    }

    /// The tile in pieces that take so many bytes at most, or that have few boxes.
    fn within(self, bytes: u64) -> Vec<Self> {
        let boxes = self.rows.len() + self.columns.as_ref().map_or(0, Range::len);
        if self.bytes() <= bytes || boxes <= FEW {
            return vec![self];
        }
        let pieces = self.split(2);
        pieces
            .into_iter()
            .flat_map(|piece| piece.within(bytes))
            .collect()
    }

    /// What is to be found in it, as in sets of its own.
    pub fn problem(&self) -> Problem<'_, T> {
        let set2 = self.whole.set2.as_ref().unwrap_or(&self.whole.set1);
        Problem {
            operation: self.whole.operation,
            algorithm: self.whole.algorithm,
            set1: self.whole.set1.part(self.rows.clone()),
            set2: (self.columns.clone()).map(|columns| set2.part(columns)),
        }
    }

    /// The first row of the second set, from which its indices count.
    pub fn first_column(&self) -> usize {
        self.columns.as_ref().unwrap_or(&self.rows).start
    }

    /// As few as its boxes alone take.
    pub fn bytes_of_boxes(&self) -> u64 {
        let boxes = self.rows.len() + self.columns.as_ref().map_or(0, Range::len);
        let axes = self.whole.set1.boxes().axes;
        boxes as u64 * 2 * axes as u64 * size_of::<T>() as u64
    }

    fn can_be_cut(&self) -> bool {
        self.rows.len() > 1
            || self
                .columns
                .as_ref()
                .is_some_and(|columns| columns.len() > 1)
    }
}

impl<T: HasKernels> Partition for Tile<'_, T> {
    fn bytes(&self) -> u64 {
        let columns = self.columns.as_ref().unwrap_or(&self.rows).len();
        let search = gpu::bytes(self.whole.algorithm, self.rows.len(), columns);
        self.bytes_of_boxes() + search
    }

    /// In halves of its longer side. Two halves of one set are searched each, and one against the other.
    fn split(self, _: usize) -> Vec<Self> {
        if !self.can_be_cut() {
            return vec![self];
        }
        let whole = self.whole;
        let tile = |rows: &Range<usize>, columns: Option<Range<usize>>| Tile {
            whole,
            rows: rows.clone(),
            columns,
        };
        match &self.columns {
            None => {
                let [front, behind] = halves(&self.rows);
                vec![
                    tile(&front, None),
                    tile(&front, Some(behind.clone())),
                    tile(&behind, None),
                ]
            }
            Some(columns) if columns.len() > self.rows.len() => halves(columns)
                .map(|half| tile(&self.rows, Some(half)))
                .into(),
            columns => halves(&self.rows)
                .map(|half| tile(&half, columns.clone()))
                .into(),
        }
    }
}

/// Splits a range in the middle.
pub fn halves(range: &Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + range.len() / 2;
    [range.start..middle, middle..range.end]
}

/// What was found in a tile.
pub struct Found<F> {
    pub rows: Range<usize>,
    pub first_column: usize,
    pub found: F,
}

impl<F> Found<F> {
    pub fn new<T: HasKernels>(tile: &Tile<'_, T>, found: Result<F>) -> Result<Found<F>> {
        Ok(Found {
            rows: tile.rows.clone(),
            first_column: tile.first_column(),
            found: found?,
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayView2};

    use super::*;
    use crate::box_overlap::options::Algorithm;

    fn problem<'a>(
        set1: ArrayView2<'a, i32>,
        set2: Option<ArrayView2<'a, i32>>,
    ) -> Problem<'a, i32> {
        Problem::new("overlaps", Algorithm::Auto, set1, set2).unwrap()
    }

    /// How often tiles have each pair.
    fn covered(tiles: &[Tile<i32>], rows: usize, columns: usize) -> Array2<i32> {
        let mut times = Array2::zeros((rows, columns));
        for tile in tiles {
            for i in tile.rows.clone() {
                let of_columns = match &tile.columns {
                    Some(columns) => columns.clone(),
                    None => i + 1..tile.rows.end,
                };
                of_columns.for_each(|j| times[[i, j]] += 1);
            }
        }
        times
    }

    #[test]
    fn each_pair_is_in_one_tile() {
        let set = Array2::zeros((13, 4));
        for (rows1, rows2) in [(13, 9), (1, 13), (13, 1), (2, 2)] {
            let set1 = set.slice(ndarray::s![..rows1, ..]);
            let set2 = set.slice(ndarray::s![..rows2, ..]);
            let two = problem(set1, Some(set2));
            let one = problem(set1, None);
            for (parts, bytes) in [
                (1, None),
                (3, None),
                (40, None),
                (1, Some(100)),
                (2, Some(0)),
            ] {
                let tiles = Tile::of_rows(&two, 0..rows1, parts, bytes);
                assert_eq!(
                    covered(&tiles, rows1, rows2),
                    Array2::<i32>::ones((rows1, rows2))
                );
                for start in 0..rows1 {
                    let tiles = Tile::of_rows(&one, start..rows1, parts, bytes);
                    let expected = Array2::from_shape_fn((rows1, rows1), |(i, j)| {
                        i32::from(i >= start && j > i)
                    });
                    assert_eq!(covered(&tiles, rows1, rows1), expected);
                }
            }
        }
        let none = problem(set.slice(ndarray::s![..0, ..]), Some(set.view()));
        assert_eq!(Tile::of_rows(&none, 0..0, 3, None).len(), 1);
    }
}
