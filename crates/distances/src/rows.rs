//! The arguments of distances: rows of numbers, or sequences of windows, which are such rows.

use gridstride_runtime::device::{DeviceArray, Element, collected};
use gridstride_runtime::partition::bytes_of;
use gridstride_runtime::{Device, Result};
use ndarray::{Array2, ArrayBase, ArrayView2, Axis, Ix2, ViewRepr, s};

use super::windows::{DeviceWindows, Windows};

/// Rows in an array `M`, or sequences of them.
#[derive(Clone, Copy)]
pub struct Rows<M, O> {
    pub numbers: M,
    /// Index of the first row of each sequence, and at the end the number of rows. `None` if each row
    /// is compared by itself.
    pub offsets: Option<O>,
}

/// Rows on the host. The view is written so that a longer lifetime converts to a shorter one.
pub type HostRows<'a, T> = Rows<ArrayBase<ViewRepr<&'a T>, Ix2, T>, &'a [usize]>;

/// Rows in a device's memory.
pub type DeviceRows<'a, T> = Rows<&'a DeviceArray<T, Ix2>, &'a [usize]>;

/// Rows that were copied from a device's memory.
pub type CopiedRows<'a, T> = Rows<Array2<T>, &'a [usize]>;

/// Numbers in the memory of the host or of a device.
pub trait Numbers: Copy {
    /// Returns the rows, and the numbers of each.
    fn size(&self) -> (usize, usize);
}

impl<T> Numbers for ArrayBase<ViewRepr<&T>, Ix2, T> {
    fn size(&self) -> (usize, usize) {
        self.dim()
    }
}

impl<T: Element> Numbers for &DeviceArray<T, Ix2> {
    fn size(&self) -> (usize, usize) {
        (self.shape()[0], self.shape()[1])
    }
}

impl<M: Numbers> Rows<M, &[usize]> {
    /// Returns the number of rows, or of sequences.
    pub fn count(&self) -> usize {
        let rows = self.numbers.size().0;
        self.offsets.map_or(rows, |offsets| offsets.len() - 1)
    }

    /// Returns the numbers of each row.
    pub fn dim(&self) -> usize {
        self.numbers.size().1
    }

    /// Returns the numbers of a row, or of the longest sequence.
    pub fn longest(&self) -> usize {
        let rows = self
            .offsets
            .map_or(Some(1), |offsets| lengths(offsets).max());
        rows.unwrap_or(0).saturating_mul(self.dim())
    }

    /// Returns the first sequence of more than `most` numbers.
    pub fn first_longer(&self, most: usize) -> Option<usize> {
        let dim = self.dim();
        lengths(self.offsets?).position(|rows| rows.saturating_mul(dim) > most)
    }
}

/// Returns the rows of each sequence.
fn lengths(offsets: &[usize]) -> impl Iterator<Item = usize> {
    offsets.windows(2).map(|pair| pair[1] - pair[0])
}

impl<'a, T: Element> HostRows<'a, T> {
    /// Returns all rows: those of these sequences.
    pub fn all(&self) -> ArrayView2<'a, T> {
        match self.offsets {
            Some(offsets) => {
                let range = offsets[0]..offsets[offsets.len() - 1];
                self.numbers.slice_move(s![range, ..])
            }
            None => self.numbers,
        }
    }

    /// Returns the offsets of sequences in [`all`](Self::all).
    pub fn offsets_of_all(&self) -> Result<Option<Vec<usize>>> {
        let from_zero = |offsets: &[usize]| collected(offsets.iter().map(|end| end - offsets[0]));
        self.offsets.map(from_zero).transpose()
    }

    /// Returns the bytes that these take on a device.
    pub fn bytes(&self) -> u64 {
        let offsets = self.offsets.map_or(0, <[usize]>::len);
        bytes_of(self.all().len(), size_of::<T>())
            .saturating_add(bytes_of(offsets, size_of::<u64>()))
    }

    /// Splits the rows, or the sequences, at an index.
    pub fn split_at(self, index: usize) -> (Self, Self) {
        if let Some(offsets) = self.offsets {
            let with = |offsets| Rows {
                offsets: Some(offsets),
                ..self
            };
            return (with(&offsets[..=index]), with(&offsets[index..]));
        }
        let (before, behind) = self.numbers.split_at(Axis(0), index);
        (HostRows::from(before), HostRows::from(behind))
    }

    /// Copies the rows to a device.
    pub fn upload(&self, device: &Device) -> Result<Rows<DeviceArray<T, Ix2>, Vec<usize>>> {
        Ok(Rows {
            numbers: device.upload(&self.all())?,
            offsets: self.offsets_of_all()?,
        })
    }
}

impl<T: Element> Rows<DeviceArray<T, Ix2>, Vec<usize>> {
    pub fn view(&self) -> DeviceRows<'_, T> {
        Rows {
            numbers: &self.numbers,
            offsets: self.offsets.as_deref(),
        }
    }
}

impl<'a, T: Element> DeviceRows<'a, T> {
    pub fn device(&self) -> &'a Device {
        self.numbers.device()
    }

    /// Copies the rows to the host.
    pub fn download(&self) -> Result<CopiedRows<'a, T>> {
        Ok(Rows {
            numbers: self.numbers.download()?,
            offsets: self.offsets,
        })
    }
}

impl<T> CopiedRows<'_, T> {
    pub fn view(&self) -> HostRows<'_, T> {
        Rows {
            numbers: self.numbers.view(),
            offsets: self.offsets,
        }
    }
}

impl<'a, T> From<ArrayView2<'a, T>> for HostRows<'a, T> {
    fn from(numbers: ArrayView2<'a, T>) -> Self {
        Rows {
            numbers,
            offsets: None,
        }
    }
}

impl<'a, T> From<Windows<'a, T>> for HostRows<'a, T> {
    fn from(windows: Windows<'a, T>) -> Self {
        Rows {
            numbers: windows.rows,
            offsets: Some(windows.offsets),
        }
    }
}

impl<'a, T: Element> From<&'a DeviceArray<T, Ix2>> for DeviceRows<'a, T> {
    fn from(numbers: &'a DeviceArray<T, Ix2>) -> Self {
        Rows {
            numbers,
            offsets: None,
        }
    }
}

impl<'a, T: Element> From<DeviceWindows<'a, T>> for DeviceRows<'a, T> {
    fn from(windows: DeviceWindows<'a, T>) -> Self {
        Rows {
            numbers: windows.rows,
            offsets: Some(windows.offsets),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_sequence_and_the_first_that_is_too_long() {
        let number = Array2::from_elem((1, 1), 0.0f32);
        let rows = |offsets, dim| Rows {
            numbers: number.broadcast((17, dim)).unwrap(),
            offsets: Some(offsets),
        };
        let offsets: &[usize] = &[5, 7, 7, 12, 17];
        assert_eq!(
            [rows(offsets, 1).longest(), rows(&offsets[..3], 1).longest()],
            [5, 2]
        );
        assert_eq!([rows(&[5], 1).longest(), rows(&[], 1).longest()], [0, 0]);
        assert_eq!(rows(offsets, 3).first_longer(15), None);
        assert_eq!(rows(offsets, 3).first_longer(14), Some(2));
        assert_eq!(rows(offsets, 3).first_longer(5), Some(0));
        let dim = isize::MAX as usize / 17;
        assert_eq!(rows(&offsets[2..], dim).first_longer(14), Some(0));
        assert_eq!(rows(&[0, 0], dim).first_longer(0), None);
    }
}
