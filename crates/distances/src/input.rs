//! The pairs and the queries of a call, and all checks of its arguments.

use distances_kernels::{MAX_DIM, MAX_NEAREST, TILE_COLUMNS_F32, TILE_COLUMNS_F64};
use gridstride_runtime::device::{Buffer, Element, zeroed_lazily};
use gridstride_runtime::{Error, Number, Result};
use ndarray::{Array2, ArrayViewMut2};

use super::options::Metric;
use super::rows::{CopiedRows, DeviceRows, HostRows, Numbers, Rows};

/// Rows or sequences `R` that are compared, and the place for their distances.
pub struct Pairs<R, Out> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub metric: Metric,
    pub a: R,
    /// `None` for the distances of the rows of `a` to each other.
    pub b: Option<R>,
    pub pairing: Pairing,
    /// N×M, or N×1 for [`Pairing::Each`].
    pub out: Out,
    /// Whether the host allocates the pages of `out` when they are written.
    pub is_new: bool,
}

/// Pairs of host arrays.
pub type HostPairs<'a, T> = Pairs<HostRows<'a, T>, ArrayViewMut2<'a, f64>>;

/// Pairs in a device's memory. The result is row-major.
pub type DevicePairs<'a, T> = Pairs<DeviceRows<'a, T>, &'a mut Buffer<f64>>;

/// Pairs that were copied from a device's memory.
pub type CopiedPairs<'a, T> = Pairs<CopiedRows<'a, T>, Array2<f64>>;

/// The rows or sequences that are compared.
#[derive(Clone, Copy, PartialEq)]
pub enum Pairing {
    /// All of `a` with all of `b`.
    All,
    /// Each of `a` with the one of `b` that has its index.
    Each,
}

/// The names and the rows of both arguments, the second of which may be the first one again.
pub type Arguments<R> = [(&'static str, Option<R>); 2];

impl<R: Copy, Out> Pairs<R, Out> {
    pub fn arguments(&self) -> Arguments<R> {
        [("a", Some(self.a)), ("b", self.b)]
    }

    /// Returns the same call for rows in another memory, and with another place for the distances.
    pub fn with<S, P>(&self, a: S, b: Option<S>, out: P, is_new: bool) -> Pairs<S, P> {
        Pairs {
            operation: self.operation,
            metric: self.metric,
            a,
            b,
            pairing: self.pairing,
            out,
            is_new,
        }
    }
}

impl<M: Numbers, Out> Pairs<Rows<M, &[usize]>, Out> {
    /// Checks how long and how many the rows are, and returns the shape of the result.
    pub fn shape(&self) -> Result<(usize, usize)> {
        let (operation, a, b) = (self.operation, self.a, self.b.unwrap_or(self.a));
        require_equal_dims(operation, ["a", "b"], a, b)?;
        let (rows, columns) = (a.count(), b.count());
        match self.pairing {
            Pairing::All => Ok((rows, columns)),
            Pairing::Each if rows == columns => Ok((rows, 1)),
            Pairing::Each => {
                let message =
                    format!("a has {rows} sequences and b {columns}: pairs need as many of both");
                Err(Error::Shape { operation, message })
            }
        }
    }

    /// Checks that the result has an element for each distance.
    pub fn require_out(&self, out: &[usize]) -> Result<()> {
        let (rows, columns) = self.shape()?;
        let axes = match self.pairing {
            Pairing::All => 2,
            Pairing::Each => 1,
        };
        let (expected, out) = (&[rows, columns][..axes], &out[..axes]);
        if out == expected {
            return Ok(());
        }
        let text = |lengths: &[usize]| match lengths {
            [length] => length.to_string(),
            _ => format!("{}×{}", lengths[0], lengths[1]),
        };
        let (operation, expected, out) = (self.operation, text(expected), text(out));
        let message = format!("the distances are {expected}, but out is {out}");
        Err(Error::Shape { operation, message })
    }

    /// Checks that kernels can count the numbers and the pairs.
    pub fn require_kernels(&self) -> Result<()> {
        if self.pairing == Pairing::Each && i32::try_from(self.a.count()).is_err() {
            return Err(too_many(self.operation, (self.a.count(), 1)));
        }
        require_kernels(self.operation, self.arguments())
    }
}

impl<T: Element> DevicePairs<'_, T> {
    /// Copies the rows to the host, with room for the distances.
    pub fn download(&self) -> Result<CopiedPairs<'_, T>> {
        let distances = zeroed_lazily(self.out.len())?;
        let out = Array2::from_shape_vec(self.shape()?, distances);
        let out = out.expect("a distance for each pair");
        let b = self.b.map(|b| b.download()).transpose()?;
        Ok(self.with(self.a.download()?, b, out, true))
    }
}

impl<T> CopiedPairs<'_, T> {
    pub fn view(&mut self) -> HostPairs<'_, T> {
        Pairs {
            operation: self.operation,
            metric: self.metric,
            a: self.a.view(),
            b: self.b.as_ref().map(|b| b.view()),
            pairing: self.pairing,
            out: self.out.view_mut(),
            is_new: self.is_new,
        }
    }
}

/// Queries, and the rows or sequences among which the nearest are searched.
#[derive(Clone, Copy)]
pub struct Queries<R> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub metric: Metric,
    pub queries: R,
    pub database: R,
    /// The number of nearest rows for each query.
    pub k: usize,
    /// The index of the first query in the call.
    pub first_query: usize,
    /// The index of the first row of the database in the call.
    pub first_row: usize,
}

/// Queries of host arrays: some of those of a call.
pub type HostQueries<'a, T> = Queries<HostRows<'a, T>>;

/// Queries in a device's memory.
pub type DeviceQueries<'a, T> = Queries<DeviceRows<'a, T>>;

/// Queries that were copied from a device's memory.
pub type CopiedQueries<'a, T> = Queries<CopiedRows<'a, T>>;

impl<R: Copy> Queries<R> {
    pub fn arguments(&self) -> Arguments<R> {
        [
            ("queries", Some(self.queries)),
            ("database", Some(self.database)),
        ]
    }
}

impl<M: Numbers> Queries<Rows<M, &[usize]>> {
    /// Checks that rows are as long as queries, and that there are k.
    pub fn check(&self) -> Result<()> {
        let (operation, k, count) = (self.operation, self.k, self.database.count());
        let names = ["queries", "database"];
        require_equal_dims(operation, names, self.queries, self.database)?;
        if k <= count {
            return Ok(());
        }
        let what = match self.database.offsets {
            Some(_) => "sequence",
            None => "row",
        };
        let plural = if count == 1 { "" } else { "s" };
        let message = format!(
            "k is {k}, but the database has {count} {what}{plural}: ask for at most as many"
        );
        Err(Error::input(operation, message))
    }

    /// Checks as [`check`](Self::check) for the k of existing results, which have to be N×k.
    pub fn with_columns(self, indices: &[usize], distances: &[usize]) -> Result<Self> {
        let (operation, count) = (self.operation, self.queries.count());
        if indices != distances || indices[0] != count {
            let message = format!(
                "there are {count} queries, but indices is {}×{} and distances is {}×{}: both need \
                 a row for each query and a column for each of its nearest rows",
                indices[0], indices[1], distances[0], distances[1]
            );
            return Err(Error::Shape { operation, message });
        }
        let k = indices[1];
        let queries = Queries { k, ..self };
        queries.check().map(|()| queries)
    }

    /// Returns how many rows are found for each query: fewer than k if these are not all rows.
    pub fn columns(&self) -> usize {
        self.k.min(self.database.count())
    }

    /// Whether nothing is searched.
    pub fn is_empty(&self) -> bool {
        self.k == 0 || self.queries.count() == 0
    }

    /// Checks that kernels can select k rows, and count the rows and their numbers.
    pub fn require_kernels(&self) -> Result<()> {
        let (operation, k, rows) = (self.operation, self.k, self.database.count());
        if k > MAX_NEAREST as usize {
            let message = format!(
                "k is {k}, more than the {MAX_NEAREST} that kernels select: take the device cpu, \
                 or sort the rows of distances"
            );
            return Err(Error::input(operation, message));
        }
        let narrow = TILE_COLUMNS_F32.min(TILE_COLUMNS_F64) as usize;
        if i32::try_from(rows.div_ceil(narrow)).is_err() {
            return Err(too_many(operation, (self.queries.count(), rows)));
        }
        require_kernels(operation, self.arguments())
    }
}

impl<T: Element> DeviceQueries<'_, T> {
    /// Copies the rows to the host.
    pub fn download(&self) -> Result<CopiedQueries<'_, T>> {
        Ok(Queries {
            operation: self.operation,
            metric: self.metric,
            queries: self.queries.download()?,
            database: self.database.download()?,
            k: self.k,
            first_query: self.first_query,
            first_row: self.first_row,
        })
    }
}

impl<T> CopiedQueries<'_, T> {
    pub fn view(&self) -> HostQueries<'_, T> {
        Queries {
            operation: self.operation,
            metric: self.metric,
            queries: self.queries.view(),
            database: self.database.view(),
            k: self.k,
            first_query: self.first_query,
            first_row: self.first_row,
        }
    }
}

/// Checks that the rows or windows of both arguments have the same length.
fn require_equal_dims<M: Numbers>(
    operation: &'static str,
    [left, right]: [&str; 2],
    a: Rows<M, &[usize]>,
    b: Rows<M, &[usize]>,
) -> Result<()> {
    if a.dim() == b.dim() {
        return Ok(());
    }
    let message = match a.offsets {
        Some(_) => format!(
            "the windows of {left} have {} numbers and those of {right} {}: they must have the \
             same length",
            a.dim(),
            b.dim()
        ),
        None => format!(
            "{left} is {}×{} and {right} is {}×{}: their rows must have the same length",
            a.count(),
            a.dim(),
            b.count(),
            b.dim()
        ),
    };
    Err(Error::Shape { operation, message })
}

/// Returns the largest magnitude, or the error of the first row that is not finite.
pub fn largest<T: Number + Element>(
    operation: &'static str,
    arguments: Arguments<HostRows<T>>,
) -> Result<f64> {
    let mut largest = 0.0f64;
    for (name, rows) in arguments {
        let Some(rows) = rows else { continue };
        for (i, row) in rows.all().outer_iter().enumerate() {
            // Becomes NaN if a value is NaN or infinite, without a branch per value.
            let mut sum = 0.0;
            for value in row.iter().map(|&value| value.to_f64().abs()) {
                largest = largest.max(value);
                sum += value * 0.0;
            }
            if sum != 0.0 {
                return Err(not_finite(operation, name, i));
            }
        }
    }
    Ok(largest)
}

/// Fails if an array in a device's memory has a row that is not finite: `bad` has the complement of
/// the index of its first such number, or 0.
pub fn require_finite<T: Element>(
    operation: &'static str,
    arguments: Arguments<DeviceRows<T>>,
    bad: [u64; 2],
) -> Result<()> {
    for ((name, rows), bad) in arguments.into_iter().zip(bad) {
        if let Some(rows) = rows.filter(|_| bad != 0) {
            return Err(not_finite(operation, name, !bad as usize / rows.dim()));
        }
    }
    Ok(())
}

fn not_finite(operation: &'static str, name: &str, row: usize) -> Error {
    let message = format!(
        "row {row} of {name} has a value that is NaN or infinite: all numbers must be finite"
    );
    Error::input_at(operation, "rows", row, message)
}

/// Checks all numbers, and then what kernels can count: for the error of a call of which some
/// partition has failed.
pub fn recheck<T: Number + Element>(
    operation: &'static str,
    arguments: Arguments<HostRows<T>>,
) -> Result<()> {
    largest(operation, arguments)?;
    require_kernels(operation, arguments)
}

/// Checks that kernels can count the numbers of each row and sequence, with `i32`.
fn require_kernels<M: Numbers>(
    operation: &'static str,
    arguments: Arguments<Rows<M, &[usize]>>,
) -> Result<()> {
    let most = MAX_DIM as usize;
    for (name, rows) in arguments {
        let Some(rows) = rows else { continue };
        let dim = rows.dim();
        if dim > most {
            let message =
                format!("rows of {dim} numbers are longer than {most}: take the device cpu");
            return Err(Error::input(operation, message));
        }
        if let (Some(index), Some(offsets)) = (rows.first_longer(most), rows.offsets) {
            let windows = offsets[index + 1] - offsets[index];
            let message = format!(
                "sequence {index} of {name} has {windows} windows of {dim} numbers, more than \
                 {most} numbers: take the device cpu"
            );
            return Err(Error::input_at(operation, "sequences", index, message));
        }
    }
    Ok(())
}

fn too_many(operation: &'static str, (rows, columns): (usize, usize)) -> Error {
    let message = format!("{rows}×{columns} distances are more than one launch computes");
    Error::input(operation, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_that_is_too_long_is_named() {
        let number = Array2::from_elem((1, 1), 0.0f32);
        let offsets = [0, 4, 4 + (1 << 27)];
        let arguments = |dim| {
            let numbers = number.broadcast((4 + (1 << 27), dim)).unwrap();
            let offsets = Some(&offsets[..]);
            [("a", None), ("b", Some(Rows { numbers, offsets }))]
        };
        assert!(require_kernels("slide_paired", arguments(15)).is_ok());
        let error = require_kernels("slide_paired", arguments(16)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "slide_paired: sequence 1 of b has 134217728 windows of 16 numbers, more than \
             2147483632 numbers: take the device cpu"
        );
    }
}
