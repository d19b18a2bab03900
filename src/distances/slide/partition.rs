//! Partitions of slide distances: by sequences of `a` or `b`.

use ndarray::Axis;

use super::input::{HostSlides, Pairing, Slides};
use super::windows::Windows;
use crate::Result;
use crate::distances::element::Component;
use crate::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};

impl<'a, T: Component> HostSlides<'a, T> {
    /// Splits the distances at a row, or at a column if the axis is 1.
    fn split_at(self, axis: Axis, index: usize) -> (Self, Self) {
        let split = |windows: Windows<'a, T>, is_split| match is_split {
            true => windows.split_at(index),
            false => (windows, windows),
        };
        let (a, a_behind) = split(self.a, axis == Axis(0));
        let (b, b_behind) = split(self.b, axis == Axis(1) || self.pairs == Pairing::Each);
        let (out, out_behind) = self.out.split_at(axis, index);
        let behind = Slides {
            a: a_behind,
            b: b_behind,
            out: out_behind,
            ..self
        };
        (Slides { a, b, out, ..self }, behind)
    }
}

impl<T: Component> Partition for HostSlides<'_, T> {
    fn bytes(&self) -> u64 {
        let numbers =
            [self.a, self.b].map(|windows| bytes_of(windows.rows().len(), size_of::<T>()));
        let offsets = [self.a, self.b].map(|windows| bytes_of(windows.len() + 1, size_of::<u64>()));
        (numbers.into_iter().chain(offsets)).fold(
            bytes_of(self.out.len(), size_of::<f64>()),
            u64::saturating_add,
        )
    }

    /// Splits the rows or the columns of the result, whichever are more.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let (rows, columns) = self.out.dim();
        let (axis, length) = match self.pairs == Pairing::Each || rows >= columns {
            true => (Axis(0), rows),
            false => (Axis(1), columns),
        };
        let ranges = equal_ranges(length, count, 1);
        Ok(split_at_ranges(self, ranges, |slides, index| {
            slides.split_at(axis, index)
        }))
    }
}
