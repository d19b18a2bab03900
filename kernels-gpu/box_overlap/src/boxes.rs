//! Boxes as they come, and as the searches use them.
//!
//! Most tests are made on *filter boxes*: six `f32` each, made of the numbers by a map that never
//! falls (the same for minima and maxima). If two boxes overlap, so do their filter boxes. For
//! `f32` the map is the identity, and nothing is left to do; for other types what the filter lets
//! through is tested on the numbers themselves.

use core::cmp::PartialOrd;
use cuda_std::prelude::*;

use crate::domain::Domain;

/// Two sets of boxes, row-major without gaps, minima before maxima. For the search within a set the
/// second is the first again, with `above` set.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Sets<T> {
    /// The first set.
    pub set1: DeviceSlice<T>,
    /// The second set.
    pub set2: DeviceSlice<T>,
    /// Rows of the first set.
    pub rows1: u32,
    /// Rows of the second set.
    pub rows2: u32,
    /// 2 or 3.
    pub axes: u32,
    /// 1 if only pairs (i, j) with i < j count, else 0.
    pub above: u32,
}

/// A type of coordinates.
pub trait Number: Copy + PartialOrd {
    /// Whether filter boxes are the boxes themselves.
    const EXACT: bool;
    /// The same number.
    fn to_f64(self) -> f64;
    /// Returns the coordinate's value in filter boxes; NaN only for NaN, which overlaps nothing.
    #[inline(always)]
    fn filtered(self, domain: &Domain, axis: usize) -> f32 {
        domain.place(self.to_f64(), axis) as f32
    }
}

impl Number for f32 {
    const EXACT: bool = true;

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }

    #[inline(always)]
    fn filtered(self, _: &Domain, _: usize) -> f32 {
        self
    }
}

impl Number for f64 {
    const EXACT: bool = false;

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Number for i32 {
    const EXACT: bool = false;

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl<T> Sets<T> {
    /// Rows of both sets, or of one if they are the same.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.first_row2() as usize + self.rows2 as usize
    }

    /// Where the second set's rows begin if those of both are counted.
    #[inline(always)]
    pub fn first_row2(&self) -> u32 {
        if self.above != 0 { 0 } else { self.rows1 }
    }
}

impl<T: Number> Sets<T> {
    /// Calls `f` for this thread's rows of both sets, or of one alone if they are the same: with
    /// whether it is the second set, the row's number there, and its numbers.
    ///
    /// One set after the other: of an address in one or the other LLVM would not know that it is
    /// global memory.
    ///
    /// # Safety
    /// `set1` and `set2` have the rows and axes that the other fields name.
    #[inline(always)]
    pub unsafe fn each_row(&self, mut f: impl FnMut(bool, usize, BoxRow<T>)) {
        for index in thread::grid_stride(self.rows1 as usize) {
            // SAFETY: below the number of rows.
            f(false, index, unsafe {
                BoxRow::read(self.set1, index, self.axes as usize)
            });
        }
        if self.above == 0 {
            for index in thread::grid_stride(self.rows2 as usize) {
                // SAFETY: below the number of rows.
                f(true, index, unsafe {
                    BoxRow::read(self.set2, index, self.axes as usize)
                });
            }
        }
    }

    /// The filter box of a row of the first set.
    ///
    /// # Safety
    /// `row` is below `rows1`.
    #[inline(always)]
    pub unsafe fn filter_box1(&self, row: u32, domain: &Domain) -> FilterBox {
        let axes = self.axes as usize;
        // SAFETY: by the contract of this function, `row` is below `rows1`.
        unsafe { BoxRow::read(self.set1, row as usize, axes) }.filtered(domain, axes)
    }

    /// The filter box of a row of the second set.
    ///
    /// # Safety
    /// `row` is below `rows2`.
    #[inline(always)]
    pub unsafe fn filter_box2(&self, row: u32, domain: &Domain) -> FilterBox {
        let axes = self.axes as usize;
        // SAFETY: by the contract of this function, `row` is below `rows2`.
        unsafe { BoxRow::read(self.set2, row as usize, axes) }.filtered(domain, axes)
    }

    /// Whether row i of the first set and j of the second are a pair, if their filter boxes
    /// overlap.
    ///
    /// # Safety
    /// `i` is below `rows1`, and `j` below `rows2`.
    #[inline(always)]
    pub unsafe fn confirmed(&self, i: u32, j: u32) -> bool {
        if self.above != 0 && j <= i {
            return false;
        }
        // SAFETY: by the contract of this function, `i` is below `rows1`, and `j` below `rows2`.
        T::EXACT || unsafe { self.overlap(i, j) }
    }

    /// Whether row i of the first set and j of the second overlap.
    ///
    /// # Safety
    /// `i` is below `rows1`, and `j` below `rows2`.
    #[inline(always)]
    pub unsafe fn overlap(&self, i: u32, j: u32) -> bool {
        let axes = self.axes as usize;
        let (a, b) = (i as usize * 2 * axes, j as usize * 2 * axes);
        let mut result = true;
        unrolled! { axis in [0 1 2] {
            if axis < axes {
                // SAFETY: the sets have the rows.
                unsafe {
                    result &= self.set1.at(a + axis) <= self.set2.at(b + axes + axis);
                    result &= self.set1.at(a + axes + axis) >= self.set2.at(b + axis);
                }
            }
        }}
        result
    }
}

/// A box in registers. Two axes have a third on which all boxes are the same point.
#[derive(Clone, Copy)]
pub struct BoxRow<T> {
    pub min: [T; 3],
    pub max: [T; 3],
    /// The same numbers.
    pub low: [f64; 3],
    /// The same numbers.
    pub high: [f64; 3],
}

impl<T: Number> BoxRow<T> {
    /// # Safety
    /// The set has such a row.
    #[inline(always)]
    unsafe fn read(set: DeviceSlice<T>, row: usize, axes: usize) -> BoxRow<T> {
        let start = row * 2 * axes;
        // SAFETY: the set has the row.
        let first = unsafe { set.at(start) };
        let mut numbers = BoxRow {
            min: [first; 3],
            max: [first; 3],
            low: [0.0; 3],
            high: [0.0; 3],
        };
        unrolled! { axis in [0 1 2] {
            if axis < axes {
                // SAFETY: the set has the row, which is 2 · `axes` numbers from `start` on, and
                // `axis` is below `axes`.
                let (min, max) = unsafe { (set.at(start + axis), set.at(start + axes + axis)) };
                (numbers.min[axis], numbers.max[axis]) = (min, max);
                (numbers.low[axis], numbers.high[axis]) = (min.to_f64(), max.to_f64());
            }
        }}
        numbers
    }

    #[inline(always)]
    fn filtered(&self, domain: &Domain, axes: usize) -> FilterBox {
        let mut filter = FilterBox {
            min: [0.0; 3],
            max: [0.0; 3],
        };
        unrolled! { axis in [0 1 2] {
            if axis < axes {
                filter.min[axis] = self.min[axis].filtered(domain, axis);
                filter.max[axis] = self.max[axis].filtered(domain, axis);
            }
        }}
        filter
    }
}

/// A box of the filter.
#[derive(Clone, Copy, Debug)]
pub struct FilterBox {
    pub min: [f32; 3],
    pub max: [f32; 3],
}
