//! Sets of boxes on the host: their types, their shapes, and what makes a row a box.

use std::borrow::Cow;
use std::ops::Range;

use ndarray::ArrayView2;

use crate::device::{Element, packed};
use crate::parallel;
use crate::{Error, Result};

/// The most rows of a set: they are numbered with `i32` in the matrix form.
pub(super) const MAX_ROWS: usize = i32::MAX as usize;

/// Rows that a thread looks at in one go.
const BLOCK: usize = 1 << 14;

/// `f32`, `f64` or `i32`: the type of a box's coordinates.
///
/// Sealed: there is no fourth one.
pub trait Coordinate: Element + PartialOrd + std::fmt::Debug + super::sealed::Sealed {
    /// The name of the type, for messages.
    const NAME: &'static str;

    /// The same number.
    fn to_f64(self) -> f64;
}

macro_rules! coordinate {
    ($($type:ident)*) => {$(
        impl Coordinate for $type {
            const NAME: &'static str = stringify!($type);

            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}
coordinate! { f32 f64 i32 }

/// The number of axes of rows with so many columns, or what the shape should be.
pub(super) fn axes(operation: &'static str, name: &str, shape: (usize, usize)) -> Result<usize> {
    let (rows, columns) = shape;
    if columns != 4 && columns != 6 {
        let message = format!(
            "{name} is {rows}×{columns}: a box is a row of 6 numbers, minX, minY, minZ, maxX, maxY, maxZ, \
             or of 4 without Z"
        );
        return Err(Error::Shape { operation, message });
    }
    if rows > MAX_ROWS {
        let message = format!("{name} has {rows} rows, more than {MAX_ROWS}");
        return Err(Error::input(operation, message));
    }
    Ok(columns / 2)
}

/// Fails unless boxes of both sets have the same number of axes.
pub(super) fn same_axes(
    operation: &'static str,
    set1: (usize, usize),
    set2: (usize, usize),
) -> Result<()> {
    if axes(operation, "set1", set1)? == axes(operation, "set2", set2)? {
        return Ok(());
    }
    let described = |name: &str, (rows, columns): (usize, usize)| {
        format!(
            "{name} is {rows}×{columns}, boxes in {} dimensions",
            columns / 2
        )
    };
    let message = format!(
        "{}, but {}: both sets must have the same number of dimensions",
        described("set1", set1),
        described("set2", set2)
    );
    Err(Error::Shape { operation, message })
}

/// The error of a row that is no box, for the first axis along which its limits are wrong.
pub(super) fn no_box<T: Coordinate>(
    operation: &'static str,
    name: &str,
    row: usize,
    numbers: &[T],
) -> Error {
    let (minima, maxima) = numbers.split_at(numbers.len() / 2);
    let ordered = |(min, max): (&T, &T)| min <= max;
    let axis = minima.iter().zip(maxima).position(|pair| !ordered(pair));
    let axis = axis.expect("a row that is no box");
    let (min, max) = (minima[axis], maxima[axis]);
    let what = match min.partial_cmp(&max) {
        None => format!("the minimum is {min:?} and the maximum {max:?}, but NaN is no limit"),
        Some(_) => format!("the minimum {min:?} is above the maximum {max:?}"),
    };
    let axis = ["x", "y", "z"][axis];
    let columns = match numbers.len() {
        4 => "minX, minY, maxX, maxY",
        _ => "minX, minY, minZ, maxX, maxY, maxZ",
    };
    Error::input_at(
        operation,
        row,
        format!("row {row} of {name} is no box: along {axis} {what} (the columns are {columns})"),
    )
}

/// Boxes in row-major order without gaps: all minima of a box, then all its maxima.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boxes<'a, T> {
    pub numbers: &'a [T],
    pub axes: usize,
}

impl<'a, T: Coordinate> Boxes<'a, T> {
    pub fn len(&self) -> usize {
        self.numbers.len() / (2 * self.axes)
    }

    pub fn row(&self, index: usize) -> &'a [T] {
        let width = 2 * self.axes;
        &self.numbers[index * width..][..width]
    }

    /// Fails for the first row that is no box.
    pub fn check(&self, operation: &'static str, name: &str) -> Result<()> {
        let width = 2 * self.axes;
        let first = parallel::find_first(self.len().div_ceil(BLOCK), &|block| {
            let rows = parallel::chunk(block, BLOCK, self.len());
            let mut numbers = self.numbers[rows.start * width..].chunks_exact(width);
            rows.zip(&mut numbers)
                .find_map(|(row, numbers)| (!is_box(numbers)).then_some(row))
        });
        first.map_or(Ok(()), |row| {
            Err(no_box(operation, name, row, self.row(row)))
        })
    }
}

/// Whether a row's minima are at most its maxima, which NaN never is.
fn is_box<T: Coordinate>(row: &[T]) -> bool {
    let (minima, maxima) = row.split_at(row.len() / 2);
    minima.iter().zip(maxima).all(|(min, max)| min <= max)
}

/// Whether two boxes overlap; touching counts.
#[inline(always)]
pub(super) fn overlap<T: Coordinate>(a: &[T], b: &[T]) -> bool {
    let (a_min, a_max) = a.split_at(a.len() / 2);
    let (b_min, b_max) = b.split_at(b.len() / 2);
    let mut axes = a_min.iter().zip(a_max).zip(b_min.iter().zip(b_max));
    axes.all(|((a_min, a_max), (b_min, b_max))| a_min <= b_max && a_max >= b_min)
}

/// A set of boxes that is contiguous: borrowed if the view was, else copied.
#[derive(Debug)]
pub(super) struct Packed<'a, T: Coordinate> {
    numbers: Cow<'a, [T]>,
    axes: usize,
}

impl<'a, T: Coordinate> Packed<'a, T> {
    /// The shape must have been checked.
    pub fn new(view: ArrayView2<'a, T>) -> Result<Self> {
        let axes = view.ncols() / 2;
        let numbers = match view.to_slice() {
            Some(numbers) => Cow::Borrowed(numbers),
            None => Cow::Owned(packed(&view)?),
        };
        Ok(Packed { numbers, axes })
    }

    pub fn boxes(&self) -> Boxes<'_, T> {
        Boxes {
            numbers: &self.numbers,
            axes: self.axes,
        }
    }

    /// Some rows, where they are.
    pub fn part(&self, rows: Range<usize>) -> Packed<'_, T> {
        let width = 2 * self.axes;
        Packed {
            numbers: Cow::Borrowed(&self.numbers[rows.start * width..rows.end * width]),
            axes: self.axes,
        }
    }
}
