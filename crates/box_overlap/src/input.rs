//! Sets of boxes, on the host or in a device's memory, and the checks of all arguments.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use gridstride_runtime::device::{DeviceArray, MemoryKind, packed};
use gridstride_runtime::error::During;
use gridstride_runtime::parallel;
use gridstride_runtime::{Device, Error, Number, Result};
use ndarray::{ArrayView2, Ix2};

use super::options::Algorithm;

/// The most rows of a set: matrices have `i32` indices.
const MAX_ROWS: usize = i32::MAX as usize;

/// Rows of a task.
const CHUNK: usize = 1 << 14;

/// Two sets of boxes, or one, with checked shapes.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<S> {
    /// The name of the call, for errors.
    pub operation: &'static str,
    pub algorithm: Algorithm,
    pub set1: S,
    /// `None` for pairs (i, j), i < j, of the first set.
    pub set2: Option<S>,
}

/// Sets of boxes on the host.
pub type Problem<'a, T> = Arguments<Packed<'a, T>>;

/// Sets of boxes in a device's memory.
pub type DeviceProblem<'a, T> = Arguments<&'a DeviceArray<T, Ix2>>;

impl<S> Arguments<S> {
    /// Returns the second set, which may be the first.
    pub fn any_set2(&self) -> &S {
        self.set2.as_ref().unwrap_or(&self.set1)
    }

    /// Returns the sets with their names for messages.
    pub fn named_sets(&self) -> impl Iterator<Item = (&'static str, &S)> {
        named(&self.set1, self.set2.as_ref())
    }
}

impl<'a, T: Number> Problem<'a, T> {
    pub fn new(
        operation: &'static str,
        algorithm: Algorithm,
        set1: ArrayView2<'a, T>,
        set2: Option<ArrayView2<'a, T>>,
    ) -> Result<Self> {
        require_axes(operation, set1.dim(), set2.map(|set2| set2.dim()))?;
        Ok(Problem {
            operation,
            algorithm,
            set1: Packed::new(set1).during(operation)?,
            set2: set2.map(Packed::new).transpose().during(operation)?,
        })
    }

    pub fn rows1(&self) -> usize {
        self.set1.boxes().len()
    }

    /// Fails for the first row that is no box.
    pub fn check(&self) -> Result<()> {
        self.named_sets()
            .try_for_each(|(name, set)| set.boxes().check(self.operation, name))
    }
}

impl<'a, T: Number> DeviceProblem<'a, T> {
    /// Checks the devices and the shapes.
    pub fn new(
        operation: &'static str,
        algorithm: Algorithm,
        set1: &'a DeviceArray<T, Ix2>,
        set2: Option<&'a DeviceArray<T, Ix2>>,
    ) -> Result<Self> {
        if let Some(set2) = set2 {
            set1.device().require_same(set2.device(), operation)?;
        }
        let shape = |set: &DeviceArray<T, Ix2>| (set.shape()[0], set.shape()[1]);
        require_axes(operation, shape(set1), set2.map(shape))?;
        Ok(DeviceProblem {
            operation,
            algorithm,
            set1,
            set2,
        })
    }

    /// Returns the handle on whose stream the search runs.
    pub fn device(&self) -> &'a Device {
        self.set1.device()
    }

    pub fn rows1(&self) -> usize {
        self.set1.shape()[0]
    }

    /// Copies the sets to the host.
    pub fn download(&self) -> Result<Problem<'static, T>> {
        let download = |set: &DeviceArray<T, Ix2>| {
            let numbers = Cow::Owned(set.buffer().to_vec()?);
            Ok(Packed::all(numbers, (set.shape()[0], set.shape()[1])))
        };
        Ok(Problem {
            operation: self.operation,
            algorithm: self.algorithm,
            set1: download(self.set1)?,
            set2: self.set2.map(download).transpose()?,
        })
    }
}

/// Returns one or two sets, with their names for messages.
fn named<S>(set1: S, set2: Option<S>) -> impl Iterator<Item = (&'static str, S)> {
    let name1 = if set2.is_some() { "set1" } else { "set" };
    let set2 = set2.map(|set2| ("set2", set2));
    std::iter::once((name1, set1)).chain(set2)
}

/// Fails unless rows have the length of boxes, with the same number of axes in both sets.
fn require_axes(
    operation: &'static str,
    shape1: (usize, usize),
    shape2: Option<(usize, usize)>,
) -> Result<()> {
    for (name, (rows, columns)) in named(shape1, shape2) {
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
    }
    let Some(shape2) = shape2.filter(|shape2| shape1.1 != shape2.1) else {
        return Ok(());
    };
    let [set1, set2] = [("set1", shape1), ("set2", shape2)].map(|(name, (rows, columns))| {
        let dimensions = columns / 2;
        format!("{name} is {rows}×{columns}, boxes in {dimensions} dimensions")
    });
    let message = format!("{set1}, but {set2}: both sets must have the same number of dimensions");
    Err(Error::Shape { operation, message })
}

/// Fails unless the output has one element for each row.
pub fn require_counts(operation: &'static str, rows: usize, places: usize) -> Result<()> {
    if rows == places {
        return Ok(());
    }
    let message = format!("there are {rows} counts, but out has {places} elements");
    Err(Error::Shape { operation, message })
}

/// Returns the number of elements of a matrix. Fails for matrices that are too large.
pub fn matrix_size(
    operation: &'static str,
    memory: MemoryKind,
    (rows, limit): (usize, usize),
) -> Result<usize> {
    if limit > MAX_ROWS {
        let message = format!("a limit of {limit} columns is above {MAX_ROWS}");
        return Err(Error::input(operation, message));
    }
    let bytes = rows as u128 * limit as u128 * size_of::<i32>() as u128;
    if bytes <= isize::MAX as u128 {
        return Ok(rows * limit);
    }
    Err(Error::Allocation {
        operation,
        memory,
        requested: u64::try_from(bytes).unwrap_or(u64::MAX),
        free: None,
        total: None,
    })
}

/// Returns the error of a row that is no box, for the first axis with wrong limits.
pub fn no_box<T: Number>(operation: &'static str, name: &str, row: usize, numbers: &[T]) -> Error {
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
        "rows",
        row,
        format!("row {row} of {name} is no box: along {axis} {what} (the columns are {columns})"),
    )
}

/// Boxes in row-major order without gaps: all minima of a box, then all its maxima.
#[derive(Clone, Copy, Debug)]
pub struct Boxes<'a, T> {
    pub numbers: &'a [T],
    pub axes: usize,
}

impl<'a, T: Number> Boxes<'a, T> {
    pub fn len(&self) -> usize {
        self.numbers.len() / (2 * self.axes)
    }

    pub fn rows(&self, rows: Range<usize>) -> Boxes<'a, T> {
        let width = 2 * self.axes;
        Boxes {
            numbers: &self.numbers[rows.start * width..rows.end * width],
            axes: self.axes,
        }
    }

    pub fn row(&self, index: usize) -> &'a [T] {
        let width = 2 * self.axes;
        &self.numbers[index * width..][..width]
    }

    /// Fails for the first row that is no box.
    pub fn check(&self, operation: &'static str, name: &str) -> Result<()> {
        let width = 2 * self.axes;
        let first = parallel::find_first(self.len().div_ceil(CHUNK), &|chunk| {
            let rows = parallel::chunk(chunk, CHUNK, self.len());
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
fn is_box<T: Number>(row: &[T]) -> bool {
    let (minima, maxima) = row.split_at(row.len() / 2);
    minima.iter().zip(maxima).all(|(min, max)| min <= max)
}

/// Whether two boxes overlap; touching counts.
#[inline(always)]
pub fn overlap<T: Number>(a: &[T], b: &[T]) -> bool {
    let (a_min, a_max) = a.split_at(a.len() / 2);
    let (b_min, b_max) = b.split_at(b.len() / 2);
    let mut axes = a_min.iter().zip(a_max).zip(b_min.iter().zip(b_max));
    axes.all(|((a_min, a_max), (b_min, b_max))| a_min <= b_max && a_max >= b_min)
}

/// Rows of a contiguous set of boxes, which is borrowed from the view if possible, and shared by all
/// partitions.
#[derive(Clone, Debug)]
pub struct Packed<'a, T: Number> {
    numbers: Arc<Cow<'a, [T]>>,
    axes: usize,
    rows: Range<usize>,
}

impl<'a, T: Number> Packed<'a, T> {
    /// Copies a view with gaps. The shape must have been checked.
    pub fn new(view: ArrayView2<'a, T>) -> Result<Self> {
        let numbers = match view.to_slice() {
            Some(numbers) => Cow::Borrowed(numbers),
            None => Cow::Owned(packed(&view)?),
        };
        Ok(Packed::all(numbers, view.dim()))
    }

    fn all(numbers: Cow<'a, [T]>, (rows, columns): (usize, usize)) -> Self {
        Packed {
            numbers: Arc::new(numbers),
            axes: columns / 2,
            rows: 0..rows,
        }
    }

    pub fn boxes(&self) -> Boxes<'_, T> {
        let all = Boxes {
            numbers: &self.numbers,
            axes: self.axes,
        };
        all.rows(self.rows.clone())
    }

    /// Returns some rows of the whole set.
    pub fn with_rows(&self, rows: &Range<usize>) -> Self {
        Packed {
            rows: rows.clone(),
            ..self.clone()
        }
    }
}
