//! The pairs of overlapping boxes, on the host.

use std::fmt;
use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{MemoryKind, collected, zeroed};
use gridstride_runtime::error::During;
use gridstride_runtime::parallel;
use gridstride_runtime::short::Short;
use ndarray::{Array1, Array2, ArrayView1};

use super::input::matrix_size;

/// The pairs of overlapping boxes as compressed rows: for each box of the first set the boxes of
/// the second, ascending.
///
/// ```
/// use gridstride::{Device, box_overlap::overlaps};
/// use ndarray::array;
///
/// let set1 = array![[0, 0, 2, 2], [9, 9, 9, 9]]; // minX, minY, maxX, maxY
/// let set2 = array![[2, 2, 3, 3], [5, 5, 6, 6], [1, 0, 1, 0]];
/// let found = overlaps(&Device::auto(), set1.view(), set2.view())?;
/// assert_eq!(found.offsets(), [0, 2, 2]);
/// assert_eq!(found.row(0).to_vec(), [0, 2]); // touching counts
/// assert_eq!(found.pairs()?, array![[0, 0], [0, 2]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "Unchecked")
)]
pub struct Overlaps {
    /// N + 1 offsets, beginning with 0.
    offsets: Vec<usize>,
    indices: Vec<u32>,
}

/// The pairs of overlapping boxes as a matrix with a fixed number of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OverlapMatrix {
    /// N×limit: for each box of the first set the boxes of the second, ascending, padded with −1.
    pub indices: Array2<i32>,
    /// The number of boxes of the second set that overlap each box of the first. If a count is
    /// above the limit, the row has the first `limit` boxes.
    pub counts: Array1<u32>,
}

/// [`Overlaps`] that were read.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Unchecked {
    offsets: Vec<usize>,
    indices: Vec<u32>,
}

#[cfg(feature = "serde")]
impl TryFrom<Unchecked> for Overlaps {
    type Error = gridstride_runtime::Error;

    fn try_from(read: Unchecked) -> Result<Overlaps> {
        let Unchecked { offsets, indices } = read;
        gridstride_runtime::offsets::check("Overlaps", &offsets, indices.len(), "indices")?;
        Ok(Overlaps { offsets, indices })
    }
}

/// Formats only the first of many offsets and indices.
impl fmt::Debug for Overlaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlaps")
            .field("offsets", &Short(&self.offsets))
            .field("indices", &Short(&self.indices))
            .finish()
    }
}

impl Overlaps {
    /// `offsets` begin with 0, never decrease, and end with the number of `indices`.
    pub(super) fn new(offsets: Vec<usize>, indices: Vec<u32>) -> Overlaps {
        debug_assert_eq!(offsets[0], 0);
        debug_assert_eq!(offsets[offsets.len() - 1], indices.len());
        Overlaps { offsets, indices }
    }

    /// Returns the number of boxes of the first set, N.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether the first set has no boxes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of pairs.
    pub fn pair_count(&self) -> usize {
        self.indices.len()
    }

    /// Returns where each row begins among the [`indices`](Self::indices), and where the last row
    /// ends: N + 1 numbers.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Returns the boxes of the second set, row after row, ascending in each.
    pub fn indices(&self) -> ArrayView1<'_, u32> {
        ArrayView1::from(&self.indices)
    }

    /// Returns the boxes of the second set that overlap box `index` of the first, ascending.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len), as indexing an array does.
    pub fn row(&self, index: usize) -> ArrayView1<'_, u32> {
        ArrayView1::from(&self.indices[self.offsets[index]..self.offsets[index + 1]])
    }

    /// Returns the number of boxes of the second set that overlap each box of the first.
    pub fn counts(&self) -> Array1<u32> {
        self.row_lengths().collect()
    }

    /// As [`counts`](Self::counts), as an iterator, so that callers can allocate with an error.
    pub(super) fn row_lengths(&self) -> impl ExactSizeIterator<Item = u32> {
        // A row is no longer than the second set, whose rows are fewer than 2³¹.
        let length = |ends: &[usize]| (ends[1] - ends[0]) as u32;
        self.offsets.windows(2).map(length)
    }

    /// Returns the pairs (box of the first set, box of the second), sorted: P×2.
    ///
    /// # Errors
    /// [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the memory does not suffice.
    pub fn pairs(&self) -> Result<Array2<u32>> {
        let mut pairs = zeroed::<u32>(2 * self.pair_count()).during("pairs")?;
        let blocks = row_blocks(&self.offsets, pairs.as_chunks_mut::<2>().0);
        parallel::each(blocks, |(rows, places)| {
            let mut places = places.iter_mut();
            for row in rows {
                for (&index, place) in self.row(row).iter().zip(places.by_ref()) {
                    *place = [row as u32, index];
                }
            }
        });
        let shape = (self.pair_count(), 2);
        Ok(Array2::from_shape_vec(shape, pairs).expect("two numbers a pair"))
    }

    /// Returns the pairs as a matrix with `limit` columns.
    ///
    /// # Errors
    /// The errors of [`pairs`](Self::pairs), and [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for
    /// more than 2³¹ − 1 columns.
    pub fn to_matrix(&self, limit: usize) -> Result<OverlapMatrix> {
        self.matrix("to_matrix", limit)
    }

    /// As [`to_matrix`](Self::to_matrix), for another operation.
    pub(super) fn matrix(&self, operation: &'static str, limit: usize) -> Result<OverlapMatrix> {
        /// Elements of a task.
        const ELEMENTS: usize = 1 << 14;
        let shape = (self.len(), limit);
        let size = matrix_size(operation, MemoryKind::Host, shape)?;
        let mut indices = zeroed::<i32>(size).during(operation)?;
        let rows = (ELEMENTS / limit.max(1)).max(1);
        let chunks = indices.chunks_mut(rows * limit.max(1)).enumerate();
        parallel::each(chunks, |(chunk, places)| {
            for (i, places) in places.chunks_mut(limit.max(1)).enumerate() {
                places.fill(-1);
                for (place, &index) in places.iter_mut().zip(self.row(chunk * rows + i)) {
                    *place = index as i32;
                }
            }
        });
        Ok(OverlapMatrix {
            indices: Array2::from_shape_vec(shape, indices).expect("rows of `limit` columns"),
            counts: collected(self.row_lengths()).during(operation)?.into(),
        })
    }

    /// Converts the pairs to their offsets and indices.
    pub fn into_parts(self) -> (Vec<usize>, Array1<u32>) {
        (self.offsets, self.indices.into())
    }
}

/// Splits the places for the pairs of all rows into blocks of rows, which tasks fill.
pub(super) fn row_blocks<'a, T>(
    offsets: &[usize],
    mut places: &'a mut [T],
) -> Vec<(Range<usize>, &'a mut [T])> {
    const ROWS: usize = 1 << 12;
    let rows = offsets.len() - 1;
    let block = |start: usize| {
        let rows = start..rows.min(start + ROWS);
        let pairs = offsets[rows.end] - offsets[rows.start];
        let places = places.split_off_mut(..pairs);
        (rows, places.expect("a place for each pair"))
    };
    (0..rows).step_by(ROWS).map(block).collect()
}
