//! Products in parts, for several devices and for little memory.

use ndarray::{ArrayView3, ArrayViewMut3, Axis};

use super::Number;
use super::shapes::Sizes;
use crate::spread::{Part, bytes_of, equal_ranges, split};

/// Some of the matrices, rows or columns of a product.
pub struct PartOfProduct<'a, T: Number> {
    pub a: ArrayView3<'a, T>,
    pub b: ArrayView3<'a, T>,
    pub c: ArrayViewMut3<'a, T::Sum>,
}

/// Rows and columns of parts are multiples of one of these where there are enough of them: tiles, or at least what is
/// read at once, are then the same as in the whole.
const STEPS: [usize; 3] = [256, 32, 8];

impl<'a, T: Number> PartOfProduct<'a, T> {
    pub fn sizes(&self) -> Sizes {
        let (batch, m, n) = self.c.dim();
        let k = self.a.dim().2;
        Sizes { batch, m, n, k }
    }

    /// The part up to an index of C's axis, and the rest.
    fn split_at(self, axis: Axis, index: usize) -> (Self, Self) {
        // A single matrix goes with all of the batch.
        let split = |factor: ArrayView3<'a, T>, own: Axis| {
            if axis == own || axis == Axis(0) && factor.dim().0 > 1 {
                factor.split_at(axis, index)
            } else {
                (factor, factor)
            }
        };
        let (a, a_behind) = split(self.a, Axis(1));
        let (b, b_behind) = split(self.b, Axis(2));
        let (c, c_behind) = self.c.split_at(axis, index);
        let behind = PartOfProduct {
            a: a_behind,
            b: b_behind,
            c: c_behind,
        };
        (PartOfProduct { a, b, c }, behind)
    }
}

impl<T: Number> Part for PartOfProduct<'_, T> {
    fn bytes(&self) -> u64 {
        bytes_of(self.a.len(), size_of::<T>())
            .saturating_add(bytes_of(self.b.len(), size_of::<T>()))
            .saturating_add(bytes_of(self.c.len(), size_of::<T::Sum>()))
    }

    /// k is never cut, so that sums are those of the whole.
    fn cut(self, parts: usize) -> Vec<Self> {
        let (batch, m, n) = self.c.dim();
        let (axis, length) = match () {
            () if batch >= parts => (Axis(0), batch),
            () if m >= n => (Axis(1), m),
            () => (Axis(2), n),
        };
        let step = match axis {
            Axis(0) => 1,
            _ => STEPS
                .into_iter()
                .find(|step| length / step >= parts)
                .unwrap_or(1),
        };
        split(self, equal_ranges(length, parts, step), |part, index| {
            part.split_at(axis, index)
        })
    }
}
