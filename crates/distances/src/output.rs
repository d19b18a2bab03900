//! The nearest rows of queries, on the host, and the places for them.

use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, zeroed_lazily};
use ndarray::{Array2, ArrayViewMut2};

/// The k nearest rows of each of N queries, the nearest first. Of rows at the same distance, those
/// with smaller indices come first.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Nearest {
    /// N×k: the rows of the database.
    pub indices: Array2<u64>,
    /// N×k: their distances, in ascending order.
    pub distances: Array2<f64>,
}

impl Nearest {
    /// Returns zeros, whose pages are allocated when they are written.
    pub(super) fn zeros(queries: usize, k: usize) -> Result<Nearest> {
        let (shape, elements) = ((queries, k), queries.saturating_mul(k));
        let expected = "a place for each nearest row";
        let (indices, distances) = (zeroed_lazily(elements)?, zeroed_lazily(elements)?);
        Ok(Nearest {
            indices: Array2::from_shape_vec(shape, indices).expect(expected),
            distances: Array2::from_shape_vec(shape, distances).expect(expected),
        })
    }

    pub(super) fn places(&mut self) -> HostPlaces<'_> {
        Places {
            indices: self.indices.view_mut(),
            distances: self.distances.view_mut(),
        }
    }
}

/// The arrays that the indices and the distances of nearest rows are written to.
pub struct Places<I, D> {
    pub indices: I,
    pub distances: D,
}

/// Places in host arrays.
pub type HostPlaces<'a> = Places<ArrayViewMut2<'a, u64>, ArrayViewMut2<'a, f64>>;

/// Places in a device's memory, row-major.
pub type DevicePlaces<'a> = Places<&'a mut Buffer<u64>, &'a mut Buffer<f64>>;

impl DevicePlaces<'_> {
    /// Copies results of the host to these places.
    pub fn upload(self, nearest: &Nearest) -> Result<()> {
        let expected = "row-major";
        (self.indices).copy_from(nearest.indices.as_slice().expect(expected))?;
        (self.distances).copy_from(nearest.distances.as_slice().expect(expected))
    }
}
