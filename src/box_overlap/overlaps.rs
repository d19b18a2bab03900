//! The pairs of overlapping boxes, on the host.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1};

use crate::device::{MemoryKind, zeroed};
use crate::error::During;
use crate::parallel;
use crate::{Error, Result};

/// The pairs of boxes that overlap, as compressed rows: for each box of the first set the boxes of
/// the second, ascending.
///
/// ```
/// use gridstride::Device;
/// use gridstride::box_overlap::overlaps;
/// use ndarray::array;
///
/// let set1 = array![[0, 0, 2, 2], [9, 9, 9, 9]]; // minX, minY, maxX, maxY
/// let set2 = array![[2, 2, 3, 3], [5, 5, 6, 6], [1, 0, 1, 0]];
/// let found = overlaps(&Device::auto(), set1.view(), set2.view())?;
/// assert_eq!(found.offsets().to_vec(), [0, 2, 2]);
/// assert_eq!(found.row(0).to_vec(), [0, 2]); // touching counts
/// assert_eq!(found.pairs()?, array![[0, 0], [0, 2]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlaps {
    /// One more than rows, beginning with 0.
    offsets: Vec<u64>,
    indices: Vec<u32>,
}

/// The same pairs as a matrix with a fixed number of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlapMatrix {
    /// N×limit: for each box of the first set the boxes of the second, ascending, filled up with −1.
    pub indices: Array2<i32>,
    /// How many boxes of the second set overlap each of the first. Where that is more than the limit,
    /// the row has the first of them.
    pub counts: Array1<u32>,
}

impl Overlaps {
    /// `offsets` begin with 0, do not fall, and end with the number of `indices`.
    pub(super) fn new(offsets: Vec<u64>, indices: Vec<u32>) -> Overlaps {
        debug_assert_eq!(offsets[0], 0);
        debug_assert_eq!(offsets[offsets.len() - 1], indices.len() as u64);
        Overlaps { offsets, indices }
    }

    /// The number of boxes of the first set, N.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether the first set has no boxes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of pairs.
    pub fn pair_count(&self) -> usize {
        self.indices.len()
    }

    /// Where each row begins among the [`indices`](Self::indices), and where the last one ends: N + 1
    /// numbers.
    pub fn offsets(&self) -> ArrayView1<'_, u64> {
        ArrayView1::from(&self.offsets)
    }

    /// The boxes of the second set, row after row, ascending in each.
    pub fn indices(&self) -> ArrayView1<'_, u32> {
        ArrayView1::from(&self.indices)
    }

    /// The boxes of the second set that overlap box `index` of the first, ascending.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len), as indexing an array does.
    pub fn row(&self, index: usize) -> ArrayView1<'_, u32> {
        let row = self.offsets[index] as usize..self.offsets[index + 1] as usize;
        ArrayView1::from(&self.indices[row])
    }

    /// How many boxes of the second set overlap each box of the first.
    pub fn counts(&self) -> Array1<u32> {
        // A row is no longer than the second set, whose rows are fewer than 2³¹.
        let count = |ends: &[u64]| (ends[1] - ends[0]) as u32;
        self.offsets.windows(2).map(count).collect()
    }

    /// The pairs (box of the first set, box of the second), sorted: P×2.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice.
    pub fn pairs(&self) -> Result<Array2<u32>> {
        let mut pairs = zeroed::<u32>(2 * self.pair_count()).during("overlap pairs")?;
        let mut rest = pairs.as_chunks_mut::<2>().0;
        let mut parts = Vec::new();
        for rows in self.parts() {
            let count = (self.offsets[rows.end] - self.offsets[rows.start]) as usize;
            let (part, behind) = rest.split_at_mut(count);
            parts.push((rows, part));
            rest = behind;
        }
        parallel::each(parts, |(rows, part)| {
            let mut places = part.iter_mut();
            for row in rows {
                for (&index, place) in self.row(row).iter().zip(places.by_ref()) {
                    *place = [row as u32, index];
                }
            }
        });
        let shape = (self.pair_count(), 2);
        Ok(Array2::from_shape_vec(shape, pairs).expect("two numbers a pair"))
    }

    /// The pairs as a matrix with `limit` columns.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice, [`Error::InvalidInput`] for more than 2³¹ − 1
    /// columns.
    pub fn to_matrix(&self, limit: usize) -> Result<OverlapMatrix> {
        /// Places that a thread fills in one go.
        const PLACES: usize = 1 << 14;
        let shape = (self.len(), limit);
        let size = matrix_size(MemoryKind::Host, shape)?;
        let mut indices = zeroed::<i32>(size).during(super::MATRIX)?;
        let rows = (PLACES / limit.max(1)).max(1);
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
            indices: Array2::from_shape_vec(shape, indices).expect("rows of that many columns"),
            counts: self.counts(),
        })
    }

    /// Gives up the offsets and the indices.
    pub fn into_parts(self) -> (Array1<u64>, Array1<u32>) {
        (self.offsets.into(), self.indices.into())
    }

    /// Rows that a thread takes in one go.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        const ROWS: usize = 1 << 14;
        let rows = self.len();
        (0..rows)
            .step_by(ROWS)
            .map(move |start| start..rows.min(start + ROWS))
    }
}

/// The number of elements of a matrix, refused if that is no index.
pub(super) fn matrix_size(memory: MemoryKind, (rows, limit): (usize, usize)) -> Result<usize> {
    if limit > super::boxes::MAX_ROWS {
        let message = format!(
            "a limit of {limit} columns is above {}",
            super::boxes::MAX_ROWS
        );
        return Err(Error::input(super::MATRIX, message));
    }
    let bytes = rows as u128 * limit as u128 * size_of::<i32>() as u128;
    if bytes <= isize::MAX as u128 {
        return Ok(rows * limit);
    }
    Err(Error::Allocation {
        operation: super::MATRIX,
        memory,
        requested: u64::try_from(bytes).unwrap_or(u64::MAX),
        free: None,
        total: None,
    })
}
