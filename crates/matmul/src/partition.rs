//! Partitions of products: by matrices, rows or columns of C.

use gridstride_runtime::Result;
use gridstride_runtime::device::Element;
use gridstride_runtime::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};
use ndarray::{ArrayView3, Axis};

use super::input::Product;

/// Partitions have a multiple of one of these rows or columns if there are enough: tiles, or at
/// least the groups of elements that are read together, are then the same as in the whole.
const STEPS: [usize; 3] = [256, 32, 8];

impl<'a, T, S: Copy, C> Product<'a, T, S, C> {
    /// Splits the product at an index of an axis of C.
    fn split_at(self, axis: Axis, index: usize) -> (Self, Self) {
        // A single matrix is combined with the whole batch.
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
        let behind = Product {
            a: a_behind,
            b: b_behind,
            c: c_behind,
            ..self
        };
        (Product { a, b, c, ..self }, behind)
    }
}

impl<T: Element, S: Element, C: Element> Partition for Product<'_, T, S, C> {
    fn bytes(&self) -> u64 {
        bytes_of(self.a.len(), size_of::<T>())
            .saturating_add(bytes_of(self.b.len(), size_of::<T>()))
            .saturating_add(bytes_of(self.c.len(), size_of::<C>()))
    }

    /// Never splits k, so that the sums are those of the whole.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let (batch, m, n) = self.c.dim();
        let (axis, length) = match () {
            () if batch >= count => (Axis(0), batch),
            () if m >= n => (Axis(1), m),
            () => (Axis(2), n),
        };
        let step = match axis {
            Axis(0) => 1,
            _ => *(STEPS.iter().find(|&step| length / step >= count)).unwrap_or(&1),
        };
        let ranges = equal_ranges(length, count, step);
        Ok(split_at_ranges(self, ranges, |product, index| {
            product.split_at(axis, index)
        }))
    }
}
